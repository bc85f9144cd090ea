"""Commands on hosted models, as an admin types them, against a double in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.__main__ import cli
from tests.doubles.cohere import KEY

ROOT = Path(__file__).parents[2]
COHERE = {"EMBEDDER": "cohere", "RERANKER": "cohere", "WRITER": "cohere"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.doubles.cohere"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def run(data: Path, url: str, *arguments: str, **more: str) -> Result:
    given = {"DATA": str(data), "COHERE_BASE_URL": f"{url}/v1", "COHERE_API_KEY": KEY, **COHERE, **more}
    environ = {f"FOOTNOTE_{name}": value for name, value in given.items()}
    return CliRunner().invoke(cli, arguments, env=environ, prog_name="footnote")


def test_a_folder_is_synced_asked_and_traced_on_hosted_models(tmp_path: Path, url: str) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nEvery employee has 28 days of annual leave.\n")
    (folder / "access.toml").write_text('readers = ["grp:staff"]\n')
    (folder / "directory.toml").write_text('[people."asha@example.com"]\nname = "Asha"\ngroups = ["grp:staff"]\n')
    data = tmp_path / "data"

    assert run(data, url, "source", "add", "files", "corp", "--path", str(folder)).exit_code == 0
    synced = run(data, url, "sync", "--json")
    question = "How many days of annual leave does an employee have?"
    asked = run(data, url, "ask", question, "--as", "asha@example.com", "--json")
    answer = json.loads(asked.stdout)
    trace = json.loads(run(data, url, "trace", "show", answer["trace_id"], "--json").stdout)
    checked = [json.loads(line) for line in run(data, url, "check", "--json").stdout.splitlines()]

    assert synced.exit_code == 0, synced.output
    assert answer["outcome"] == "answered", asked.output
    assert "28 days" in answer["text"]
    assert "write.output_tokens" in json.dumps(trace)
    assert {line["check"] for line in checked if line["ok"]} >= {"embedder", "reranker", "writer"}


def test_a_wrong_key_is_said_once_and_without_the_key(tmp_path: Path, url: str) -> None:
    result = run(tmp_path, url, "check", "--json", COHERE_API_KEY="co-wrong-key")
    lines = {line["check"]: line for line in map(json.loads, result.stdout.splitlines())}

    assert result.exit_code == 1
    assert "FOOTNOTE_COHERE_API_KEY" in lines["writer"]["problem"]
    assert "co-wrong-key" not in result.output
