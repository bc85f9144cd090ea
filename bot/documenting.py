"""Writes docs/settings.md and docs/commands.md from the table of settings and the commands themselves.

`python -m bot.documenting` rewrites both; a test holds them equal to the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from bot.__main__ import cli
from bot.settings import rows

_SETTINGS = """# Settings

Environment variables, read once when a command starts. Nothing has to be set for `footnote demo`, `sync` and `ask` on
a files source. Each may also be read from a file: `NAME_FILE` names it, which suits mounted secrets. Empty means not
set. An unknown name with the prefix is an error that names the nearest known one, unless a source keeps its secret
there (`--secret-env`). Addresses have to be `https`, except on this machine.

| setting | type | default | meaning |
|---|---|---|---|
"""

_COMMANDS = """# Commands

`--json` prints one JSON object, or one a line where there are several; without it, tables for people. Results go to
standard output, everything else to standard error. Exit status: 0 done · 1 the answer is no (a failed check, a broken
chain, `why` for somebody who may not) · 2 wrong usage or settings · 3 an outside system failed.

With `--batch`, a line that can't be used gets `{"error": …}` as its line, the others are answered all the same, and the
exit status is 2. In a batch, a `why` that says no does not change the exit status.

Every command works beside a running `serve` on the same data directory.
"""

_STATE = (
    "`{name, kind, state, documents, chunks, last_run, lag_seconds, problems: [{document, reason}], "
    "feeds: [{feed, every_seconds, last, lag_seconds}], stale_grant_bound_seconds}`; `document` of a problem is empty "
    "where it is about the whole source, and a subtree's id where that is closed"
)
_PERSON = "`{person, name, kind, active, groups, identities}`"
_ASK = (
    "`{outcome, text, citations, trace_id, audience, notes}`. `outcome` is `answered`, `abstained`, `unlinked`, "
    "`refused` or `busy`; `citations` is `[{label, chunk_id, document, version, section, title, url, page?, quote, "
    "supported}]`, whose labels stand in `text` as `[S1]`; `audience` is `{place, visible_to: asker|everyone, reason}`"
)
SHAPES = {
    "footnote ask": _ASK,
    "footnote check": "lines `{check, ok, detail, problem, fix}`",
    "footnote demo": "lines as of `ask`",
    "footnote eval": (
        "`{run, retrieval: {recall@k, precision@k, mrr, ndcg@10}, answers, leaks, per_question, against?}`"
    ),
    "footnote index check": (
        "lines `{source, expected, held, missing, extra, wrong_scope, wrong_text, examples, ok, repaired?}`"
    ),
    "footnote keys list": "`{newest, configured: [key], sealed: {place: {key: values}}}`",
    "footnote keys rotate": "lines `{place, resealed, fresh, closed}`",
    "footnote ledger copy": "`{from, to, tables: {name: rows}, rows, chain: {status, records, problem}, already}`",
    "footnote person import": "`{people, groups, places}`",
    "footnote person link": _PERSON,
    "footnote person list": f"lines {_PERSON}",
    "footnote person match": (
        "`{source, accounts, left_out, matched: [{email, account, bound}], conflicts: [{email, reason}], "
        "unmatched: [email], applied}`; `accounts`, `left_out` and `applied` are numbers"
    ),
    "footnote person unlink": _PERSON,
    "footnote reindex": "`{before, now, passages, embedded, to_read_again}`",
    "footnote search": "`{results: [{chunk_id, title, url, section, version, score, ranks}], trace_id}`",
    "footnote source add confluence": (
        "`{name, kind, state, base_url, edition, auth, secret, spaces, lease, live_check, "
        "findings: [{check, ok, problem, fix, essential}]}`; `state` is `refused` where it was not added"
    ),
    "footnote source add files": "`{name, kind, state, path}`",
    "footnote source add sharepoint": (
        "`{name, kind, state, findings: [{check, ok, problem, fix, essential}], tenant, client_id, sites, …}`; "
        "`state` is `refused` where it was not added"
    ),
    "footnote source list": f"lines {_STATE}",
    "footnote source pause": "`{name, kind, state}`",
    "footnote source remove": "`{name, kind, state}`",
    "footnote source resume": "`{name, kind, state}`",
    "footnote source show": _STATE,
    "footnote sync": (
        "lines `{source, run_id, seen, upserted, deleted, access_changed, moved, unchanged, "
        "skipped: [{document, reason}], complete, seconds}`"
    ),
    "footnote trace list": "lines `{trace_id, at, asker, outcome, …}`",
    "footnote trace show": "`{trace_id, begin, end, …}`",
    "footnote trace verify": "`{ok, …}`",
    "footnote trace replay": "`{trace_id, same, …}`",
    "footnote who": "`{clauses: [[principal]], people}`",
    "footnote why": "`{allowed, check, reason, clauses, policy_version, verified_at}`",
}
"""What `--json` prints, by command."""


def settings_page() -> str:
    """docs/settings.md as it has to read."""
    lines = [f"| `{row.name}` | {row.kind} | {row.default} | {row.meaning} |" for row in rows()]
    return _SETTINGS + "\n".join(lines) + "\n"


def commands_page() -> str:
    """docs/commands.md as it has to read."""
    return _COMMANDS + "".join(_section(path, command) for path, command in commands())


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its whole name, in order."""
    yield from _below("footnote", cli)


def _below(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from _below(f"{path} {name}", command.commands[name])
    else:
        yield path, command


def _section(path: str, command: click.Command) -> str:
    context = click.Context(command, info_name=path, help_option_names=cli.context_settings["help_option_names"])
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    options = [each for each in command.get_params(context) if isinstance(each, click.Option) and each.name != "help"]
    records = [record for each in options if (record := each.get_help_record(context))]
    lines = "".join(f"| `{_cell(name)}` | {_cell(meaning)} |\n" for name, meaning in records)
    listed = f"\n| option | |\n|---|---|\n{lines}" if lines else ""
    shape = f"\n`--json`: {SHAPES[path]}\n" if path in SHAPES else ""
    return f"\n## {path}\n\n    {usage}\n\n{_told(command)}\n{listed}{shape}"


def _told(command: click.Command) -> str:
    paragraphs = (command.help or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def write(docs: Path) -> None:
    """Rewrite both pages in a folder."""
    (docs / "settings.md").write_text(settings_page(), encoding="utf-8")
    (docs / "commands.md").write_text(commands_page(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parents[1] / "docs")
