"""How well documents are read: words and table cells of every sample against what its ground truth says.

    python tests/bench/parsers.py [--worst N] [--diff NAME]

`FOOTNOTE_BENCH_DATA` names the folder that holds `parsers/` (default `../shared/data`). Prints a line a file: words by
longest common sequence, table cells by F1, milliseconds; then the mean by folder.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import re
import time
from collections import Counter, defaultdict
from html import unescape
from pathlib import Path

from connectors.errors import Skip
from connectors.records import ParsedRecord
from connectors.sync.parse import SandboxedParser, find_tesseract

_DATA = Path(os.environ.get("FOOTNOTE_BENCH_DATA", "../shared/data")) / "parsers"
_WORD = re.compile(r"\w+")


def told(record: ParsedRecord) -> list[str]:
    """Every line of the record: title, headings where they change, blocks."""
    lines = [record.title or ""]
    path: tuple[str, ...] = ()
    for block in record.blocks:
        if block.heading_path != path:
            common = next(
                (i for i, (a, b) in enumerate(zip(path, block.heading_path, strict=False)) if a != b),
                min(len(path), len(block.heading_path)),
            )
            lines += block.heading_path[common:]
            path = block.heading_path
        if block.table and block.table.caption:
            lines.append(block.table.caption)
        lines += block.text.splitlines()
    return lines


def cells_of(record: ParsedRecord) -> Counter[str]:
    """The cells of all tables."""
    tables = [block.table for block in record.blocks if block.table]
    return Counter(
        key for table in tables for row in (table.headers, *table.rows) for cell in row if (key := _key(cell))
    )


def truth(text: str) -> tuple[list[str], Counter[str]]:
    """The lines and the table cells of a Markdown ground truth."""
    text = unescape(re.sub(r"<!--.*?-->", "", text, flags=re.S)).replace("\\_", "_").replace("\\|", "¦")
    text = re.sub(r"!?\[([^\]]*)\]\([^)\s]*(?:\s\"[^\"]*\")?\)", r"\1", text)
    lines: list[str] = []
    cells: Counter[str] = Counter()
    for line in text.splitlines():
        if re.match(r"^\s*\|.*\|\s*$", line):
            parts = [part.strip() for part in line.strip().strip("|").split("|")]
            if all(re.fullmatch(r":?-+:?", part) for part in parts if part):
                continue
            cells.update(key for part in parts if (key := _key(part)))
            lines.append(" ".join(parts))
        else:
            lines.append(line)
    return lines, cells


def _key(cell: str) -> str:
    return " ".join(_WORD.findall(cell.lower()))


def words(lines: list[str]) -> list[str]:
    """The words, in order."""
    return _WORD.findall("\n".join(lines).lower())


def f1(one: Counter[str], other: Counter[str]) -> float | None:
    """Overlap of two bags; None when the truth has no tables."""
    if not other:
        return None
    both = sum((one & other).values())
    return 2 * both / (sum(one.values()) + sum(other.values()))


def samples() -> list[tuple[str, Path, Path]]:
    """Group, document, ground truth."""
    found: list[tuple[str, Path, Path]] = []
    for path in sorted((_DATA / "docling").rglob("*.md")):
        folder = path.parent.parent if path.parent.name == "groundtruth" else path.parent
        source = folder / (path.stem if "." in path.stem else path.stem + ".pdf")
        if source.exists():
            found.append((f"docling/{folder.name}", source, path))
    for name in ("manual", "tools"):
        for ending in ("md", "html", "docx", "pdf"):
            folder = _DATA / "hr-manual-4-formats"
            found.append((f"hr-manual/{ending}", folder / f"{name}.{ending}", folder / f"{name}.md"))
    return found


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--worst", type=int, default=200)
    options.add_argument("--diff", default="")
    chosen = options.parse_args()
    rows: list[tuple[float, float | None, float, str, str]] = []
    async with SandboxedParser(tesseract=find_tesseract()) as parser:
        await parser.locks()
        for group, source, path in samples():
            if chosen.diff and chosen.diff not in source.name:
                continue
            started = time.perf_counter()
            try:
                record = await parser.parse(source.read_bytes(), "", source.name)
            except Skip as skip:
                print(f"{group}/{source.name}: {skip}")
                continue
            spent = (time.perf_counter() - started) * 1000
            lines, cells = truth(path.read_text())
            ours, theirs = words(told(record)), words(lines)
            score = difflib.SequenceMatcher(None, ours, theirs, autojunk=False).ratio()
            rows.append((score, f1(cells_of(record), cells), spent, group, source.name))
            if chosen.diff:
                print("\n".join(difflib.unified_diff(lines, told(record), "truth", "ours", lineterm="", n=0)))
    groups: dict[str, list[tuple[float, float | None, float]]] = defaultdict(list)
    for score, table, spent, group, name in sorted(rows, key=lambda row: min(row[0], row[1] or 1.0))[: chosen.worst]:
        print(f"{score:6.3f} {'     -' if table is None else f'{table:6.3f}'} {spent:8.1f} ms  {group}/{name}")
    for score, table, spent, group, _ in rows:
        groups[group].append((score, table, spent))
    print("\n words  tables   median ms")
    for group, scores in sorted(groups.items()):
        tables = [table for _, table, _ in scores if table is not None]
        mean = f"{sum(tables) / len(tables):6.3f}" if tables else "     -"
        times = sorted(spent for _, _, spent in scores)
        words_mean = sum(score for score, _, _ in scores) / len(scores)
        print(f"{words_mean:6.3f} {mean} {times[len(times) // 2]:9.1f}  {group} ({len(scores)})")


if __name__ == "__main__":
    asyncio.run(main())
