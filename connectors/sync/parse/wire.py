"""Records as JSON between the worker and its parent. JSON, because what a worker sends may have been written by a
hostile document, and reading it must not be able to run anything."""

from __future__ import annotations

import json
from typing import Any

from connectors.records import Block, Form, Hidden, ParsedRecord, Removal, Table


def to_json(record: ParsedRecord) -> bytes:
    """The record as UTF-8 JSON."""
    return json.dumps(
        {
            "title": record.title,
            "blocks": [_block(block) for block in record.blocks],
            "removals": [[removal.kind.value, removal.text] for removal in record.removals],
            "notices": record.notices,
        },
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode("utf-8", "replace")


def from_json(body: bytes) -> ParsedRecord:
    """The reverse of `to_json`. Raises ValueError for anything else."""
    try:
        told = json.loads(body)
        return ParsedRecord(
            None if told["title"] is None else str(told["title"]),
            tuple(_unblock(block) for block in told["blocks"]),
            tuple(Removal(Hidden(kind), str(text)) for kind, text in told["removals"]),
            tuple(str(notice) for notice in told["notices"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("the worker answered with something that is no record") from error


def _block(block: Block) -> list[Any]:
    table = block.table and [block.table.headers, block.table.rows, block.table.caption]
    return [block.form.value, block.heading_path, block.text, table, block.page, block.items]


def _unblock(told: list[Any]) -> Block:
    form, path, text, table, page, items = told
    return Block(
        Form(form),
        _strings(path),
        str(text),
        _untable(table) if table else None,
        None if page is None else int(page),
        _strings(items),
    )


def _untable(told: list[Any]) -> Table:
    headers, rows, caption = told
    table = Table(_strings(headers), tuple(_strings(row) for row in rows), str(caption))
    if any(len(row) != len(table.headers) for row in table.rows):
        raise ValueError("a row has not as many cells as there are headers")
    return table


def _strings(told: list[Any]) -> tuple[str, ...]:
    return tuple(str(each) for each in told)
