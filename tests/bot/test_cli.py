"""The command line on a small folder: what is printed, what a script reads, and the exit statuses."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.__main__ import cli
from bot.commands.people import _parts

FOLDER = {
    "travel.md": "# Travel\n\n## 2.1 Flights\n\nFlights abroad are booked 14 days ahead through the approved portal.\n",
    "pay.md": "# Pay\n\n## 1 Bands\n\nBand four pays 61,000 euros a year.\n",
    "old/travel.md": "# Travel\n\n## 2.1 Flights\n\nFlights abroad are booked 7 days ahead.\n",
    "stray.md": "# Stray\n\nNobody may read this.\n",
    "access.toml": """
["travel.md"]
readers = ["grp:everyone"]
version = "v2"
effective_from = 2026-04-01
url = "https://intranet.example.com/travel"
["old"]
readers = ["grp:everyone"]
version = "v1"
status = "superseded"
effective_to = 2026-03-31
["pay.md"]
readers_all = [["grp:hr"], ["grp:finance"]]
version = "v1"
""",
    "directory.toml": """
[people."asha@example.com"]
name = "Asha"
groups = ["grp:staff"]
[people."marta@example.com"]
name = "Marta"
groups = ["grp:staff", "grp:hr", "grp:finance"]
[people."dario@example.com"]
name = "Dario"
active = false
groups = ["grp:staff"]
[groups."grp:everyone"]
includes = ["grp:staff"]
""",
}

Run = Callable[..., Result]


def written(folder: Path) -> Path:
    for name, text in FOLDER.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def runner(data: Path) -> Run:
    def run(*arguments: str, stdin: str | None = None, **settings: str) -> Result:
        environ = {"FOOTNOTE_DATA": str(data)} | {f"FOOTNOTE_{name}": value for name, value in settings.items()}
        return CliRunner().invoke(cli, arguments, input=stdin, env=environ, prog_name="footnote")

    return run


@pytest.fixture(scope="module")
def tenant(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path, Path]:
    """A synced folder: how to run a command on it, the folder, the data directory."""
    folder, data = written(tmp_path_factory.mktemp("folder")), tmp_path_factory.mktemp("data")
    run = runner(data)
    assert run("source", "add", "files", "corp", "--path", str(folder)).exit_code == 0
    assert run("sync").exit_code == 0
    return run, folder, data


@pytest.fixture(scope="module")
def run(tenant: tuple[Run, Path, Path]) -> Run:
    return tenant[0]


def one(result: Result, status: int = 0) -> dict[str, Any]:
    assert result.exit_code == status, result.output
    [line] = result.stdout.splitlines()
    loaded: dict[str, Any] = json.loads(line)
    return loaded


def lines(result: Result, status: int = 0) -> list[dict[str, Any]]:
    assert result.exit_code == status, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


# ---------------------------------------------------------------- asking


def test_an_answer_is_one_object_with_citations_that_resolve(run: Run) -> None:
    answer = one(run("ask", "How early are flights abroad booked?", "--as", "asha@example.com", "--json"))

    assert set(answer) >= {"outcome", "text", "citations", "trace_id", "audience", "notes"}
    assert answer["outcome"] == "answered"
    [cited] = answer["citations"]
    assert f"[{cited['label']}]" in answer["text"]
    assert cited["chunk_id"] == "corp:travel.md@v2#2.1"
    assert (cited["document"], cited["version"], cited["section"]) == ("corp:travel.md", "v2", "2.1")
    assert cited["url"].startswith("https://intranet.example.com/travel")
    assert answer["audience"]["visible_to"] == "asker"


def test_a_person_reads_the_answer_with_links_and_the_trace(run: Run) -> None:
    result = run("ask", "How early are flights abroad booked?", "--as", "asha@example.com")

    assert result.exit_code == 0
    assert "14 days" in result.stdout
    assert "https://intranet.example.com/travel" in result.stdout
    assert "trace tr-" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_stranger_is_unlinked(run: Run) -> None:
    answer = one(run("ask", "How early are flights booked?", "--as", "zoe@example.com", "--json"))

    assert answer["outcome"] == "unlinked"
    assert answer["citations"] == []


def test_somebody_disabled_is_refused(run: Run) -> None:
    answer = one(run("ask", "How early are flights booked?", "--as", "dario@example.com", "--json"))

    assert answer["outcome"] == "refused"


def test_search_shows_what_the_person_may_read_and_nothing_else(run: Run) -> None:
    asha = one(run("search", "band four pays", "--as", "asha@example.com", "--json"))
    marta = one(run("search", "band four pays", "--as", "marta@example.com", "--json"))

    assert {"corp:travel.md@v2#2.1"} == {each["chunk_id"] for each in asha["results"]}
    assert marta["results"][0]["chunk_id"] == "corp:pay.md@v1#1"
    assert set(marta["results"][0]) >= {"chunk_id", "title", "url", "section", "version", "score", "ranks"}


def test_search_on_a_day_finds_what_was_in_force_then(run: Run) -> None:
    then = one(run("search", "flights abroad", "--as", "asha@example.com", "--on", "2026-03-01", "--json"))

    assert {each["chunk_id"] for each in then["results"]} == {"corp:old/travel.md@v1#2.1"}


def test_a_batch_is_answered_in_order_one_line_each(run: Run) -> None:
    asked = [
        {"text": "flights abroad", "as": "asha@example.com", "limit": 1},
        {"text": "band four", "as": "marta@example.com", "limit": 1},
        {"text": "flights abroad", "as": "zoe@example.com"},
    ]
    stdin = "\n".join(json.dumps(each) for each in asked)

    found = lines(run("search", "--batch", "-", stdin=stdin))

    keys = [[each["chunk_id"] for each in one_found["results"]] for one_found in found]
    assert keys == [["corp:travel.md@v2#2.1"], ["corp:pay.md@v1#1"], []]


def test_a_bad_line_of_a_batch_gets_an_error_and_the_others_go_on(run: Run) -> None:
    stdin = '{"as": "asha@example.com", "document": "travel.md"}\nnot json\n[]\n{"document": "travel.md"}\n'

    found = lines(run("why", "--batch", "-", stdin=stdin), 2)

    assert [sorted(each)[0] for each in found] == ["allowed", "error", "error", "error"]


def test_half_a_character_in_a_line_is_that_lines_error(run: Run) -> None:
    asked = [
        {"text": "Are flights booked ahead \ud800?", "as": "asha@example.com"},
        {"text": "Are flights booked ahead?", "as": "\ud800@example.com"},
        {"text": "Are flights booked ahead?", "as": "asha@example.com", "in": "private:\ud800"},
        {"text": "Are flights booked ahead?", "as": "asha@example.com", "in": 7},
    ]

    found = lines(run("search", "--batch", "-", stdin="\n".join(map(json.dumps, asked))), 2)

    assert [key for each in found for key in each] == ["error"] * 4


def test_a_file_that_is_no_text_is_told_apart_and_not_a_crash(run: Run, tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.jsonl"
    rubbish.write_bytes(b"\xff\xfe\x00{")

    assert lines(run("why", "--batch", str(rubbish)), 2)[0]["error"].startswith("not JSON")
    assert lines(run("trace", "verify", str(rubbish), "--json"), 1)[0]["status"] == "truncated"


def test_a_misspelt_key_of_a_batch_is_an_error_and_a_foreign_one_is_not(run: Run) -> None:
    asked = [{"As": "asha@example.com", "document": "x"}, {"as": "asha@example.com", "document": "x", "id": 7}]

    found = lines(run("why", "--batch", "-", stdin="\n".join(map(json.dumps, asked))), 2)

    assert found[0]["error"] == "'As' is not read; did you mean 'as'?"
    assert found[1]["allowed"] is False


def test_an_answer_that_could_not_be_made_ends_with_3(tenant: tuple[Run, Path, Path], tmp_path: Path) -> None:
    data = shutil.copytree(tenant[2], tmp_path / "data")
    with closing(sqlite3.connect(data / "index.sqlite")) as index:
        index.execute("drop table passages")
        index.commit()

    answered = runner(data)("ask", "How early are flights booked?", "--as", "asha@example.com", "--json")

    assert answered.exit_code == 3


def test_a_batch_of_why_ends_with_0_whatever_the_answers(run: Run) -> None:
    stdin = "\n".join(
        json.dumps({"as": f"{who}@example.com", "document": "corp:pay.md"}) for who in ("asha", "marta", "zoe")
    )

    assert [each["allowed"] for each in lines(run("why", "--batch", "-", stdin=stdin))] == [False, True, False]


# ---------------------------------------------------------------- who may read what


def test_why_says_yes_with_the_clauses_that_are_held(run: Run) -> None:
    verdict = one(run("why", "marta@example.com", "corp:pay.md", "--json"))

    assert verdict["allowed"] is True
    assert sorted(verdict["clauses"]) == [["grp:finance"], ["grp:hr"]]
    assert verdict["policy_version"]
    assert verdict["verified_at"]


def test_why_says_no_with_status_1_and_the_check(run: Run) -> None:
    verdict = one(run("why", "asha@example.com", "pay.md", "--json"), 1)

    assert verdict["allowed"] is False
    assert verdict["check"] == "access-satisfied"


def test_why_knows_the_person_by_principal_too(run: Run) -> None:
    assert one(run("why", "usr:Marta@example.com", "corp:pay.md", "--json"))["allowed"] is True


@pytest.mark.parametrize(("person", "document"), [("zoe@example.com", "pay.md"), ("marta@example.com", "none.md")])
def test_why_of_something_unknown_is_no(run: Run, person: str, document: str) -> None:
    verdict = one(run("why", person, document, "--json"), 1)

    assert (verdict["allowed"], verdict["check"]) == (False, "known")


def test_a_document_that_no_rule_names_is_readable_by_nobody(run: Run) -> None:
    assert one(run("who", "stray.md", "--json"))["people"] == []
    assert one(run("why", "marta@example.com", "stray.md", "--json"), 1)["allowed"] is False


def test_who_names_the_principals_and_the_people(run: Run) -> None:
    readers = one(run("who", "corp:travel.md", "--json"))

    assert readers["clauses"] == [["grp:everyone"]]
    assert readers["people"] == ["asha@example.com", "marta@example.com"]


def test_who_says_why_it_is_nobody(run: Run) -> None:
    assert "nobody, because no source has a document 'misspelt.md'" in run("who", "misspelt.md").stdout


def test_a_document_that_could_be_several_is_asked_back(run: Run) -> None:
    assert one(run("who", "travel.md", "--json"))["document"] == "corp:travel.md"

    result = run("who", "corp:travel.md#2.1", "--json")

    assert one(result)["document"] == "corp:travel.md"


# ---------------------------------------------------------------- sources and people


def test_the_state_of_a_source_is_told(run: Run) -> None:
    [state] = lines(run("source", "list", "--json"))

    assert (state["name"], state["kind"], state["state"]) == ("corp", "files", "active")
    assert state["documents"] == 4
    assert state["chunks"] >= 4
    assert state["last_run"]
    assert state["lag_seconds"] >= 0
    assert state["problems"] == []


def test_syncing_again_changes_nothing(run: Run) -> None:
    [report] = lines(run("sync", "--json"))

    assert set(report) >= {"source", "run_id", "seen", "upserted", "deleted", "access_changed", "moved", "unchanged"}
    assert (report["upserted"], report["deleted"], report["complete"]) == (0, 0, True)
    assert report["skipped"] == []


def test_adding_the_same_source_again_changes_nothing_and_another_is_refused(
    tenant: tuple[Run, Path, Path], tmp_path: Path
) -> None:
    run, folder, _ = tenant

    assert run("source", "add", "files", "corp", "--path", str(folder)).exit_code == 0
    assert run("source", "add", "files", "corp", "--path", str(tmp_path)).exit_code == 2
    assert run("source", "add", "files", "a b", "--path", str(folder)).exit_code == 2


def test_people_come_with_the_folder_and_are_linked_and_unlinked(run: Run) -> None:
    assert len(lines(run("person", "list", "--json"))) == 3

    linked = one(run("person", "link", "asha@example.com", "slack:T1:U1", "--json"))
    gone = one(run("person", "unlink", "asha@example.com", "slack:T1:U1", "--json"))

    assert linked["identities"] == {"slack:T1": "U1"}
    assert gone["identities"] == {}
    assert run("person", "unlink", "asha@example.com", "slack:T1").exit_code == 1
    assert run("person", "link", "zoe@example.com", "slack:T1:U2").exit_code == 2
    assert run("person", "link", "asha@example.com", "U2").exit_code == 2
    run("person", "link", "asha@example.com", "slack:T1:U1")
    assert run("person", "link", "marta@example.com", "slack:T1:U1").exit_code == 2
    assert "asha@example.com" in run("person", "link", "marta@example.com", "slack:T1:U1").stderr
    run("person", "unlink", "asha@example.com", "slack:T1:U1")


@pytest.mark.parametrize(
    ("account", "parts"),
    [
        ("slack:T1:U1", ("slack:T1", "U1")),
        ("confluence:wiki:712020:5b10-ac8d", ("confluence:wiki", "712020:5b10-ac8d")),
        ("confluence:wiki:5b10ac8d", ("confluence:wiki", "5b10ac8d")),
        ("oidc:https://id.example.com:8443/a:asha", ("oidc:https://id.example.com:8443/a", "asha")),
        ("U2", ("U2:", "")),
        ("slack:U2", ("slack:U2", "")),
        ("slack::U2", ("slack:", "")),
    ],
)
def test_an_account_is_written_as_provider_instance_and_id(account: str, parts: tuple[str, str]) -> None:
    assert _parts(account) == parts


def test_a_directory_file_that_is_named_and_no_good_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text("[people\n")

    assert run("person", "import", str(tmp_path / "people.toml")).exit_code == 2
    assert len(lines(run("person", "list", "--json"))) == 3


def test_somebody_who_left_a_group_is_out_with_the_next_sync(tmp_path: Path) -> None:
    folder, run = written(tmp_path / "folder"), runner(tmp_path / "data")
    run("source", "add", "files", "corp", "--path", str(folder))
    run("sync")
    before = one(run("why", "marta@example.com", "corp:pay.md", "--json"))

    (folder / "directory.toml").write_text(FOLDER["directory.toml"].replace(', "grp:hr", "grp:finance"', ""))
    run("sync")

    assert before["allowed"] is True
    assert one(run("why", "marta@example.com", "corp:pay.md", "--json"), 1)["allowed"] is False


def test_a_removed_source_is_not_answered_from(tmp_path: Path) -> None:
    folder, run = written(tmp_path / "folder"), runner(tmp_path / "data")
    (folder / "directory.toml").rename(tmp_path / "directory.toml")
    run("person", "import", str(tmp_path / "directory.toml"))
    run("source", "add", "files", "corp", "--path", str(folder))
    run("sync")

    assert one(run("search", "flights", "--as", "asha@example.com", "--json"))["results"]
    assert run("source", "remove", "corp").exit_code == 0
    assert lines(run("source", "list", "--json")) == []
    assert one(run("search", "flights", "--as", "asha@example.com", "--json"))["results"] == []


def test_a_paused_source_is_not_synced(tmp_path: Path) -> None:
    folder, run = written(tmp_path / "folder"), runner(tmp_path / "data")
    run("source", "add", "files", "corp", "--path", str(folder))

    assert one(run("source", "pause", "corp", "--json"))["state"] == "paused"
    assert lines(run("sync", "--json")) == []
    assert "No active source" in run("sync").stderr
    assert run("sync", "corp").exit_code == 2
    assert one(run("source", "resume", "corp", "--json"))["state"] == "active"
    assert len(lines(run("sync", "--json"))) == 1


def test_a_directory_that_is_broken_lets_nobody_in(tmp_path: Path) -> None:
    folder, run = written(tmp_path / "folder"), runner(tmp_path / "data")
    run("source", "add", "files", "corp", "--path", str(folder))
    (folder / "directory.toml").write_text("[people\n")

    result = run("sync")

    assert result.exit_code == 3
    assert "directory.toml" in result.stderr
    assert lines(run("person", "list", "--json")) == []


# ---------------------------------------------------------------- traces


def test_every_question_leaves_a_trace_that_verifies(run: Run) -> None:
    answer = one(run("ask", "How early are flights booked?", "--as", "asha@example.com", "--json"))

    traces = [each["trace_id"] for each in lines(run("trace", "list", "--person", "asha@example.com", "--json"))]
    shown = one(run("trace", "show", answer["trace_id"], "--json"))

    assert answer["trace_id"] in traces
    assert shown["outcome"] == answer["outcome"]
    assert "flights" not in json.dumps(shown)
    assert one(run("trace", "verify", "--json"))["ok"] is True


def test_an_export_verifies_and_an_edited_one_does_not(run: Run, tmp_path: Path) -> None:
    run("ask", "How early are flights booked?", "--as", "asha@example.com")
    exported = run("trace", "export").stdout
    (tmp_path / "good").write_text(exported)
    (tmp_path / "bad").write_text(exported.replace('"answered"', '"abstained"', 1))

    assert run("trace", "verify", str(tmp_path / "good")).exit_code == 0
    assert one(run("trace", "verify", str(tmp_path / "bad"), "--json"), 1)["ok"] is False


def test_an_unknown_trace_is_wrong_usage(run: Run) -> None:
    assert run("trace", "show", "tr-none").exit_code == 2
    assert run("trace", "replay", "tr-none").exit_code == 2


# ---------------------------------------------------------------- evaluating and checking


def test_an_evaluation_is_scored_saved_and_compared(run: Run, tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    golden.write_text(
        '{"id": "a", "text": "How early are flights abroad booked?", "as": "asha@example.com", '
        '"relevant": ["corp:travel.md#2.1"], "outcome": "answered", "must_say": ["14  DAYS"], '
        '"forbidden": ["61,000"]}\n'
        '{"id": "b", "text": "What does band four pay?", "as": "zoe@example.com", "outcome": "unlinked"}\n'
    )

    first = one(run("eval", str(golden), "--json"))
    second = one(run("eval", str(golden), "--against", first["run"], "--json"))

    assert first["retrieval"]["recall@5"] == 1.0
    assert set(first["retrieval"]) >= {"recall@10", "precision@10", "mrr", "ndcg@10"}
    assert first["leaks"] == 0
    assert [each["right"] for each in first["per_question"]] == [True, True]
    assert second["against"]["regressions"] == []


def test_a_leak_ends_an_evaluation_with_status_1(run: Run, tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    golden.write_text('{"id": "a", "text": "band four", "as": "marta@example.com", "forbidden": ["corp:pay.md"]}\n')

    assert one(run("eval", str(golden), "--json"), 1)["leaks"] == 1


@pytest.mark.parametrize("text", ["", "{}", "nonsense", '{"id": "a", "text": "b", "as": "c@d.e", "relevent": []}'])
def test_a_golden_set_that_is_wrong_is_named(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "golden.jsonl").write_text(text)

    result = run("eval", str(tmp_path / "golden.jsonl"))

    assert result.exit_code == 2
    assert "golden.jsonl" in result.stderr


def test_check_finds_everything_in_order(run: Run) -> None:
    found = lines(run("check", "--json"))

    assert all(each["ok"] for each in found)
    assert {"settings", "policy", "ledger", "index", "audit record"} <= {each["check"] for each in found}


# ---------------------------------------------------------------- usage


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask",),
        ("ask", "why"),
        ("ask", "why", "--as", "nobody"),
        ("ask", "why", "--as", "asha@example.com", "--in", "somewhere"),
        ("ask", "why", "--as", "asha@example.com", "--on", "yesterday"),
        ("search", "why", "--as", "asha@example.com", "--limit", "0"),
        ("why", "asha@example.com"),
        ("sync", "none"),
        ("source", "show", "none"),
        ("source", "remove", "none"),
        ("trace", "list", "--since", "yesterday"),
        ("nonsense",),
    ],
)
def test_wrong_usage_is_one_sentence_on_standard_error_and_status_2(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.strip()


def test_a_wrong_setting_is_status_2_and_named(run: Run) -> None:
    result = run("source", "list", MODES="offline")

    assert result.exit_code == 2
    assert "FOOTNOTE_MODE" in result.stderr


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    heavy = {"numpy", "sqlalchemy", "onnxruntime", "rich", "aiohttp", "asyncio", "structlog", "spacy", "pydantic"}
    program = (
        "import sys; from click.testing import CliRunner as R; from bot.__main__ import cli\n"
        "import click.testing\n"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_program_itself_runs_beside_another_on_the_same_data(tenant: tuple[Run, Path, Path]) -> None:
    _, _, data = tenant
    environ = {**os.environ, "FOOTNOTE_DATA": str(data)}
    command = [sys.executable, "-m", "bot", "why", "marta@example.com", "corp:pay.md", "--json"]

    both = [subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=60)[0] for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert [json.loads(answer)["allowed"] for answer in answers] == [True, True]
