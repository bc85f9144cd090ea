"""The gate where documents come in: may this text be stored, and sent to whoever makes the vectors?

What is not known to be fit stays out: drafts, words for a status that nobody explained, text that speaks to the model.
Hidden text never gets here as text; that it was there is remembered as suspicion.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from connectors.ports import Detector, Verdict
from connectors.records import Block, Chunk, ParsedRecord, Removal, SourceDocument, Table
from policies.facts import Trust
from policies.names import ChunkId

ADMITTED = frozenset({"current", "active", "published", "superseded"})  # superseded is not wrong: it counts by date
EXCLUDED_LABELS = frozenset({"footnote-exclude", "do-not-index", "noindex"})
SECRET = "[secret removed]"  # noqa: S105 - what stands where one was

_ORDER = (Trust.CLEAN, Trust.SUSPECT, Trust.QUARANTINED)
_LONGEST_NAME = 1_500  # of document and version as they are written: passages are traced by them and their section
_LONGEST_HIDDEN = 20_000  # characters of one piece of hidden text that detectors look at

# Formats that vendors publish for secret scanners, and what follows a word that says it is one.
_SECRETS = re.compile(
    r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----(?:[\s\S]{0,8000}?-----END (?:[A-Z]+ )?PRIVATE KEY-----)?"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,251}\b|\bgithub_pat_[A-Za-z0-9_]{60,251}\b|\bglpat-[A-Za-z0-9_\-]{20,64}\b"
    r"|\bxox[abeoprs]-[A-Za-z0-9\-]{10,250}|\bxapp-[A-Za-z0-9\-]{10,250}"
    r"|\bAIza[A-Za-z0-9_\-]{35}\b|\bsk_live_[A-Za-z0-9]{16,99}\b|\bsk-(?:proj-|ant-)?[A-Za-z0-9_\-]{20,250}"
    r"|\beyJ[A-Za-z0-9_\-]{10,2000}\.eyJ[A-Za-z0-9_\-]{10,4000}\.[A-Za-z0-9_\-]{10,1000}"
)
_STATED = re.compile(
    r"(?P<word>\b(?:password|passwd|passphrase|api[ _-]?key|access[ _-]?token|client[ _-]?secret|secret[ _-]?key)\b"
    r"[\"']?\s{0,3}(?:[:=]|\bis\b)\s{0,3}[\"']?)(?P<value>[^\s\"'<>,;|]{6,200})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A passage that may be stored and sent to the embedder, and what is to be thought of it."""

    chunk: Chunk
    trust: Trust


@dataclass(frozen=True, slots=True)
class Judged:
    """The passages of a document after the gate."""

    admitted: tuple[Admitted, ...]
    trust: Trust  # of the document: the worst of what was admitted, at least suspect where something was kept out
    notices: tuple[str, ...]


def refusal(document: SourceDocument, excluded: frozenset[str] = EXCLUDED_LABELS) -> str | None:
    """Why a document may not be read at all; None where it may. Asked before its content is fetched."""
    if len(str(ChunkId(document.id, document.version, "-"))) > _LONGEST_NAME:
        return "its path and version are too long to be traced; give it a shorter name or fewer folders"
    if not document.version.isprintable():
        return "its version holds characters that can't be seen"
    labels = sorted({label.casefold() for label in document.labels} & excluded)
    if labels:
        return f"its label {labels[0]!r} keeps it out"
    if document.status == "draft":
        return "it is a draft"
    if document.status not in ADMITTED:
        return f"its status {document.status!r} is not one of {', '.join(sorted(ADMITTED))}"
    return None


def without_secrets(record: ParsedRecord) -> tuple[ParsedRecord, int]:
    """The record with keys and passwords taken out, before anything is cut, named by digest or sent; and how many."""
    blocks, count = [], 0
    for block in record.blocks:
        clean, found = _clean_block(block)
        blocks.append(clean)
        count += found
    return (replace(record, blocks=tuple(blocks)), count) if count else (record, 0)


async def judge(chunks: Sequence[Chunk], removals: Sequence[Removal], detector: Detector) -> Judged:
    """Keep what may be indexed. A passage that is quarantined is neither indexed nor embedded, only recorded."""
    hidden = [removal.text[:_LONGEST_HIDDEN] for removal in removals]
    told = [f"{' › '.join(chunk.heading_path)}\n{chunk.text}" for chunk in chunks]
    verdicts = await detector.trust([*told, *hidden])
    if len(verdicts) != len(told) + len(hidden):
        verdicts = [Verdict(Trust.QUARANTINED, ("detector-failed",))] * (len(told) + len(hidden))
    of_chunks, of_hidden = verdicts[: len(told)], verdicts[len(told) :]
    notices = [
        f"passage {chunk.id.section!r} is kept out: {', '.join(verdict.rules)}"
        for chunk, verdict in zip(chunks, of_chunks, strict=True)
        if verdict.trust is Trust.QUARANTINED
    ]
    if removals:
        kinds = sorted({removal.kind.value for removal in removals})
        notices.append(f"hidden text was taken out: {', '.join(kinds)}")
    kept_out = any(verdict.trust is Trust.QUARANTINED for verdict in verdicts)
    floor = Trust.SUSPECT if kept_out or any(v.trust is not Trust.CLEAN for v in of_hidden) else Trust.CLEAN
    admitted = tuple(
        Admitted(chunk, worst(verdict.trust, floor))
        for chunk, verdict in zip(chunks, of_chunks, strict=True)
        if verdict.trust is not Trust.QUARANTINED
    )
    return Judged(admitted, worst(floor, *(each.trust for each in admitted)), tuple(notices))


def worst(*trusts: Trust) -> Trust:
    """The least trusting of these."""
    return max(trusts, key=_ORDER.index)


def _clean_block(block: Block) -> tuple[Block, int]:
    text, found = _clean(block.text)
    items = tuple(_clean(item)[0] for item in block.items)
    table = block.table
    if table is None:
        return replace(block, text=text, items=items), found
    rows = [_clean_row(table.headers, row) for row in table.rows]
    found = sum(count for _, count in rows)
    clean = Table(table.headers, tuple(row for row, _ in rows), _clean(table.caption)[0])
    lines = "\n".join(" | ".join(cells) for cells in (table.headers, *clean.rows))
    return replace(block, text=lines if found else text, items=items, table=clean), found


def _clean_row(headers: Sequence[str], cells: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """A cell under a header such as `Password` is one where it looks like one."""
    cleaned = [_clean_cell(header, cell) for header, cell in zip(headers, cells, strict=True)]
    return tuple(cell for cell, _ in cleaned), sum(found for _, found in cleaned)


def _clean_cell(header: str, cell: str) -> tuple[str, int]:
    stated = _STATED.fullmatch(f"{header}: {cell}")
    return (SECRET, 1) if stated and _looks_secret(stated["value"]) else _clean(cell)


def _clean(text: str) -> tuple[str, int]:
    text, found = _SECRETS.subn(SECRET, text)
    stated = 0

    def masked(match: re.Match[str]) -> str:
        nonlocal stated
        if not _looks_secret(match["value"]):
            return match[0]
        stated += 1
        return match["word"] + SECRET

    return _STATED.sub(masked, text), found + stated


def _looks_secret(value: str) -> bool:
    """Not a word of a sentence, such as in "the password is required" or "password: see the vault"."""
    kinds = (any(map(str.islower, value)), any(map(str.isupper, value)), any(map(str.isdigit, value)))
    return not value.startswith("[secret") and (sum(kinds) >= 2 or bool(re.search(r"\w[!@#$%^&*]\w", value)))
