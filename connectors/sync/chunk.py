"""A parsed record cut into passages along its structure: small sections whole, a rule with its exceptions, a table row
with its headers.

Deterministic, and local: an edit of one section leaves the ids of all passages elsewhere as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import PurePosixPath

from connectors.codes import codes_of, section_code
from connectors.digests import passage_digest, text_digest
from connectors.records import Attributes, Block, Chunk, Form, ParsedRecord, SourceDocument
from connectors.sentences import sentences
from connectors.sync.section import HeadingPath, number_of, section_names
from connectors.sync.table import Row, as_text, rows_of
from policies.names import ChunkId

TARGET = 900  # characters of a passage; longer sections are cut
MOST = 1_800  # characters that a rule may have with its exceptions before it is cut after all; models read about 2,000
EXPAND = 2_400  # characters of the sections that are read together around a passage
LONGEST_OVERLAP = 250  # characters of the one sentence repeated where the next one refers to it
WHOLE_TABLE = 1_400  # characters up to which a table is a passage as a whole, besides its rows
ROWS_ALONE = 200  # rows; a table with more has several rows a passage

_EXCEPTION = re.compile(
    r"[\W_]*(?:exceptions?|exempt(?:ions?)?|except|excluded|however|unless|provided that|provided,|notwithstanding|"
    r"otherwise|but|only if|in (?:that|this|such) (?:case|event)s?|not covered|limitations?|"
    r"(?:this|these|the above|the)[\w\s]{0,40} (?:does|do) not apply)\b",
    re.IGNORECASE,
)
_REFERS_BACK = re.compile(r"(?:this|these|those|they|it|such|that|the (?:same|above|latter|former))\b", re.IGNORECASE)
_EXCEPTION_HEADING = re.compile(r"[\W\d_]*(?:exceptions?|exemptions?|exclusions?|limitations?)\b", re.IGNORECASE)
_REVISION = re.compile(r"\d+|[0-9a-f]{12,64}")  # a source's counter or digest, which says nothing to a reader


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of text that may stand in one passage."""

    text: str
    form: Form
    page: int | None

    @property
    def atoms(self) -> list[str]:
        """What it may be cut into: sentences, items or rows."""
        return sentences(self.text) if self.form is Form.TEXT else self.text.splitlines()

    @property
    def joint(self) -> str:
        """What stands between atoms."""
        return " " if self.form is Form.TEXT else "\n"


@dataclass(frozen=True, slots=True)
class _Section:
    path: HeadingPath
    name: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class _Cut:
    """A passage before it is named in full."""

    text: str
    form: Form
    page: int | None
    row: Row | None = None
    alone: bool = False  # nothing is to be read around it


def chunk(record: ParsedRecord, document: SourceDocument) -> tuple[Chunk, ...]:
    """The passages of a document in reading order; none for a document without text."""
    sections, names = _sections(record)
    title = title_of(record, document)
    attributes = Attributes(
        title=title,
        url=document.url,
        effective_from=document.effective_from,
        effective_to=document.effective_to,
        superseded=document.status == "superseded",
        owner=document.owner,
        labels=document.labels,
    )
    parents = _parents(sections, names)
    taken = {section.name for section in sections} | set(names.values())
    chunks: list[Chunk] = []
    for place, section in enumerate(sections):
        exceptions = sections[place + 1] if place + 1 < len(sections) else None
        for name, cut in _named(section.name, _cuts(section, exceptions), taken):
            heading = section.path + ((cut.row.caption,) if cut.row and cut.row.caption else ())
            lead = " › ".join((title, *heading))
            made = Chunk(
                id=ChunkId(document.id, document.version, name),
                parent=name if cut.alone else parents[section.name],
                ordinal=len(chunks),
                heading_path=section.path,
                text=cut.text,
                lead=lead,
                header=_header(lead, document),
                codes=_codes(section.path, cut.text),
                page=cut.page,
                form=cut.form,
                digest="",
                vector_key=text_digest(lead, cut.text),
                attributes=_leading_to(section.path, attributes, document),
            )
            chunks.append(replace(made, digest=passage_digest(made.passage)))
    return tuple(chunks)


def _leading_to(path: HeadingPath, attributes: Attributes, document: SourceDocument) -> Attributes:
    """With the address of the section itself, where its source has one."""
    anchor = document.anchor(path[-1]) if document.anchor and path else ""
    return replace(attributes, url=f"{attributes.url}#{anchor}") if anchor else attributes


def title_of(record: ParsedRecord, document: SourceDocument) -> str:
    """What the source calls the document, else what it calls itself, else its file's name in words."""
    stem = PurePosixPath(document.id.key).stem
    words = re.sub(r"[-_\s]+", " ", stem).strip() or document.id.key
    return document.title or record.title or words[:1].upper() + words[1:]


# ---------------------------------------------------------------- sections


def _sections(record: ParsedRecord) -> tuple[list[_Section], Mapping[HeadingPath, str]]:
    told = [block for block in record.blocks if block.text.strip() or block.table or block.items]
    runs = [(path, tuple(blocks)) for path, blocks in groupby(told, key=lambda block: block.heading_path)]
    names, named = section_names([path for path, _ in runs])
    return [_Section(path, name, blocks) for (path, blocks), name in zip(runs, names, strict=True)], named


def _parents(sections: Sequence[_Section], names: Mapping[HeadingPath, str]) -> dict[str, str]:
    """What each section is read together with: the outermost heading above it that is still small, or itself."""
    sizes: Counter[HeadingPath] = Counter()
    for section in sections:
        size = sum(len(block.text) for block in section.blocks)
        for depth in range(1, len(section.path) + 1):
            sizes[section.path[:depth]] += size
    parents = {}
    for section in sections:
        above = (section.path[:depth] for depth in range(1, len(section.path)))
        small = next((path for path in above if sizes[path] <= EXPAND), None)
        parents[section.name] = names[small] if small else section.name
    return parents


def _named(section: str, cuts: Sequence[_Cut], taken: set[str]) -> Iterator[tuple[str, _Cut]]:
    """A row by its first cell where that is a name of its own; all else is counted, the first bearing the bare name."""
    cells = Counter(cut.row.name for cut in cuts if cut.row)
    count = 0
    for cut in cuts:
        name = f"{section}/{cut.row.name}" if cut.row and cut.row.name and cells[cut.row.name] == 1 else ""
        if not name or name in taken:
            count += 1
            name = section if count == 1 else f"{section}~{count}"
        taken.add(name)
        yield name, cut


def _header(lead: str, document: SourceDocument) -> str:
    told = [] if _REVISION.fullmatch(document.version) else [f"version {document.version}"]
    if document.status == "superseded":
        told.append("superseded")
    match document.effective_from, document.effective_to:
        case None, None:
            pass
        case first, None:
            told.append(f"in force from {first}")
        case None, last:
            told.append(f"in force until {last}")
        case first, last:
            told.append(f"in force from {first} to {last}")
    return lead + (f" ({', '.join(told)})" if told else "")


def _codes(path: HeadingPath, text: str) -> tuple[str, ...]:
    numbers = [section_code(number) for heading in path[-1:] if (number := number_of(heading))]
    return tuple(dict.fromkeys([*numbers, *codes_of(" › ".join(path) + "\n" + text)]))


# ---------------------------------------------------------------- cutting one section


def _cuts(section: _Section, after: _Section | None) -> list[_Cut]:
    cuts = [_joined(group) for group in _packed(_groups(_pieces(section.blocks)))]
    if after and cuts and _excepts(section, after):
        told = "\n\n".join(piece.text for piece in _pieces(after.blocks))
        whole = f"{cuts[-1].text}\n\n{after.path[-1]}: {told}"
        if told and len(whole) <= MOST:
            cuts[-1] = _Cut(whole, Form.TEXT, cuts[-1].page)
    for block in section.blocks:
        if block.table:
            cuts += _row_cuts(block)
    return cuts


def _excepts(rule: _Section, after: _Section) -> bool:
    """Whether the section after a rule holds its exceptions under a heading of their own."""
    below = after.path[:-1] in (rule.path, rule.path[:-1]) and len(after.path) > 1
    return below and bool(rule.path) and bool(_EXCEPTION_HEADING.match(after.path[-1]))


def _row_cuts(block: Block) -> Iterator[_Cut]:
    table = block.table
    if table is None or (len(table.rows) < 2 and len(as_text(table)) <= MOST):
        return
    whole = len(as_text(table)) <= WHOLE_TABLE
    rows = [row for row in rows_of(table) if row.text]
    if len(rows) <= ROWS_ALONE:
        yield from (_Cut(row.text, Form.TABLE, block.page, row, alone=not whole) for row in rows)
        return
    for texts in _filled([row.text for row in rows], "\n"):
        yield _Cut("\n".join(texts), Form.TABLE, block.page, Row("", "", table.caption), alone=True)


def _pieces(blocks: Sequence[Block]) -> list[_Piece]:
    pieces: list[_Piece] = []
    for block in blocks:
        match block.form:
            case Form.TABLE if block.table:
                text = as_text(block.table)
                if len(text) <= WHOLE_TABLE or (len(block.table.rows) < 2 and len(text) <= MOST):
                    pieces.append(_Piece(text, block.form, block.page))
            case Form.LIST:
                text = block.text.strip() or "\n".join(f"- {item}" for item in block.items)
                pieces.append(_Piece(text, block.form, block.page))
            case Form.CODE:
                pieces.append(_Piece(block.text.strip("\n"), block.form, block.page))
            case _:
                paragraphs = re.split(r"\n\s*\n", block.text.strip())
                pieces += [_Piece(each, block.form, block.page) for each in paragraphs]
    return [piece for piece in pieces if piece.text.strip()]


def _groups(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """Pieces that are read together or misread: a rule and its exceptions, a lead-in and its list."""
    groups: list[list[_Piece]] = []
    for piece in pieces:
        if groups and _bound(groups[-1][-1], piece):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return groups


def _bound(before: _Piece, piece: _Piece) -> bool:
    leads_in = before.text.rstrip().endswith((":", ":**", ":*"))
    lists = piece.form is Form.LIST and before.form is Form.TEXT
    return leads_in or lists or bool(_EXCEPTION.match(piece.text))


def _packed(groups: Sequence[list[_Piece]]) -> list[list[_Piece]]:
    packed: list[list[_Piece]] = []
    for group in groups:
        if _length(group) > MOST:
            packed += [[piece] for piece in _split(group)]
        elif packed and _length([*packed[-1], *group]) <= TARGET:
            packed[-1] = [*packed[-1], *group]
        else:
            packed.append([*_overlap(packed[-1] if packed else [], group), *group])
    return packed


def _length(pieces: Sequence[_Piece]) -> int:
    return sum(len(piece.text) + 2 for piece in pieces) - 2


def _overlap(before: Sequence[_Piece], group: Sequence[_Piece]) -> list[_Piece]:
    """The last sentence of the passage before, where the next one begins by referring to it."""
    if not before or before[-1].form is not Form.TEXT or not _REFERS_BACK.match(group[0].text):
        return []
    last = before[-1].atoms[-1]
    return [_Piece(last, Form.TEXT, before[-1].page)] if len(last) <= LONGEST_OVERLAP else []


def _split(group: Sequence[_Piece]) -> Iterator[_Piece]:
    """A group too long for one passage, cut between sentences, items or rows; what follows a lead-in repeats it."""
    lead = ""
    for piece in group:
        runs = _filled(_glued(piece), piece.joint, TARGET - len(lead))
        for count, run in enumerate(runs):
            text = piece.joint.join(run)
            if lead and (count or piece is not group[0]):
                text = f"{lead}\n{text}"
            yield _Piece(text, piece.form, piece.page)
        last = piece.atoms[-1] if piece.form is Form.TEXT else ""
        lead = last if last and len(last) <= LONGEST_OVERLAP else lead


def _glued(piece: _Piece) -> list[str]:
    """Atoms, an exception joined to what it modifies; one longer than a passage is cut at words."""
    glued: list[str] = []
    for atom in piece.atoms:
        if glued and _EXCEPTION.match(atom) and len(glued[-1]) + len(atom) < MOST:
            glued[-1] += piece.joint + atom
        elif len(atom) > MOST:
            glued += _words_cut(atom)
        else:
            glued.append(atom)
    return glued


def _words_cut(text: str) -> Iterator[str]:
    while len(text) > TARGET:
        at = text.rfind(" ", TARGET // 2, TARGET)
        at = at if at > 0 else TARGET
        yield text[:at].strip()
        text = text[at:].strip()
    if text:
        yield text


def _filled(texts: Sequence[str], joint: str, limit: int = TARGET) -> Iterator[list[str]]:
    run: list[str] = []
    for text in texts:
        if run and sum(len(each) + len(joint) for each in run) + len(text) > limit:
            yield run
            run = []
        run.append(text)
    if run:
        yield run


def _joined(pieces: Sequence[_Piece]) -> _Cut:
    forms = {piece.form for piece in pieces}
    form = forms.pop() if len(forms) == 1 else Form.TEXT
    return _Cut("\n\n".join(piece.text for piece in pieces), form, pieces[0].page)
