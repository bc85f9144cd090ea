"""A folder of files as a source."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from connectors.errors import Skip, Stop, Transient
from connectors.records import AccessChanged, Checkpoint, Skipped
from connectors.sources.files import FilesSource
from policies.facts import ScopeState
from policies.names import DocumentId, Principal
from tests.connectors.conformance.source_suite import AT, SourceSuite, Tenant, cursor_of, told, upserts
from tests.unprivileged import as_an_ordinary_user


@dataclass(slots=True)
class Folder:
    """A folder with an access.toml, as `SourceSuite` acts on it."""

    path: Path
    rules: dict[str, str] = field(default_factory=dict)

    @property
    def source(self) -> FilesSource:
        return FilesSource("files", self.path)

    def write(self, name: str, text: str) -> None:
        (self.path / f"{name}.md").parent.mkdir(parents=True, exist_ok=True)
        (self.path / f"{name}.md").write_text(text)

    def delete(self, name: str) -> None:
        (self.path / f"{name}.md").unlink()

    def grant(self, name: str, *groups: str) -> None:
        self.state(name, f"readers = {json.dumps([f'grp:{group}' for group in groups])}")

    def break_rights(self, name: str) -> None:
        self.state(name, 'readers = "grp:staff"')

    def break_walk(self) -> None:
        (self.path / "/".join(["deep"] * 70)).mkdir(parents=True)  # deeper than a walk goes; a test's user may be root

    def document(self, name: str) -> DocumentId:
        return DocumentId("files", f"{name}.md")

    def principal(self, group: str) -> Principal:
        return Principal.group(group)

    def state(self, name: str, lines: str) -> None:
        self.rules[f"{name}.md"] = lines
        self.access("\n".join(f'["{path}"]\n{lines}' for path, lines in self.rules.items()))

    def access(self, text: str) -> None:
        (self.path / "access.toml").write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    place = tmp_path / "docs"
    place.mkdir()
    return Folder(place)


class TestFilesSource(SourceSuite):
    @pytest.fixture
    def tenant(self, folder: Folder) -> Tenant:
        return folder


async def skipped(folder: Folder) -> dict[str, str]:
    return {c.document.key: c.reason for c in await told(folder.source) if isinstance(c, Skipped)}


async def keys(folder: Folder) -> set[str]:
    return {document.key for document in upserts(await told(folder.source))}


async def test_a_document_is_told_with_all_that_is_known_of_it(folder: Folder) -> None:
    folder.write("travel/policy", "Text.")
    folder.access(
        """
        url = "https://intranet.example.com/docs/"
        [travel]
        readers = ["grp:staff"]
        effective_from = 2026-04-01
        owner = "people-ops"
        labels = ["travel"]
        ["travel/policy.md"]
        version = "v14"
        title = "Travel policy"
        effective_to = "2026-12-31"
        status = "Superseded"
        """
    )

    document = upserts(await told(folder.source))[DocumentId("files", "travel/policy.md")].document

    assert document.version == "v14"
    assert document.title == "Travel policy"
    assert document.url == "https://intranet.example.com/docs/travel/policy.md"
    assert (str(document.effective_from), str(document.effective_to)) == ("2026-04-01", "2026-12-31")
    assert (document.status, document.owner, document.labels) == ("superseded", "people-ops", ("travel",))
    assert (document.scope_root, document.ancestors) == ("travel", ("travel",))
    assert document.media_type == "text/markdown"


async def test_without_a_version_the_content_is_the_version(folder: Folder) -> None:
    folder.write("a", "Alpha.")

    document = upserts(await told(folder.source))[folder.document("a")].document

    assert document.version == document.revision[:12]
    assert len(document.revision) == 64
    assert document.url == (folder.path / "a.md").as_uri()


async def test_only_documents_are_told(folder: Folder) -> None:
    for name in ("a.md", ".hidden.md", ".git/b.md", "access.toml", "directory.toml", "c.exe", "d", "sub/access.toml"):
        (folder.path / name).parent.mkdir(exist_ok=True)
        (folder.path / name).write_text("")

    assert await keys(folder) == {"a.md"}
    assert set(await skipped(folder)) == {"c.exe", "d", "sub/access.toml"}


async def test_no_link_is_followed(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("Secret.")
    folder.write("hr/pay", "Pay.")
    (folder.path / "file.md").symlink_to(tmp_path / "outside" / "secret.md")
    (folder.path / "folder").symlink_to(tmp_path / "outside")
    (folder.path / "inside.md").symlink_to(folder.path / "hr" / "pay.md")
    (folder.path / "loop").symlink_to(folder.path)

    assert await keys(folder) == {"hr/pay.md"}
    assert set(await skipped(folder)) == {"file.md", "folder", "inside.md", "loop"}


async def test_a_pipe_is_passed_over(folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe.md")

    assert set(await skipped(folder)) == {"pipe.md"}


async def test_a_name_that_is_not_text_is_passed_over(folder: Folder) -> None:
    os.close(os.open(os.fsencode(folder.path) + b"/bad\xff.md", os.O_CREAT | os.O_WRONLY))

    assert set(await skipped(folder)) == {"bad�.md"}


async def test_what_cannot_be_read_is_said_and_the_walk_is_not_complete(folder: Folder) -> None:
    folder.write("a", "Alpha.")
    folder.write("shut/b", "Beta.")
    (folder.path / "a.md").chmod(0)
    folder.write("open/deep/c", "Gamma.")
    folder.write("open/shut/d", "Delta.")
    (folder.path / "shut").chmod(0)
    (folder.path / "open" / "shut").chmod(0)

    with as_an_ordinary_user():
        changes = await told(folder.source)
    (folder.path / "shut").chmod(0o700)
    (folder.path / "open" / "shut").chmod(0o700)

    assert changes[-1] == Checkpoint(cursor_of(changes), complete=False)
    assert {c.document.key for c in changes if isinstance(c, Skipped)} == {"a.md", "shut", "open/shut"}


async def test_a_folder_that_is_gone_stops_the_walk(folder: Folder) -> None:
    folder.path.rmdir()

    with pytest.raises(Stop, match="is gone"):
        await told(folder.source)


async def test_an_unchanged_file_is_not_read_again(folder: Folder) -> None:
    folder.write("a", "Alpha.")
    cursor = cursor_of(await told(folder.source))
    told_before = json.loads(cursor)
    told_before["files"]["a.md"][-1] = "f" * 64  # what the cursor says is what is told

    again = upserts(await told(folder.source, json.dumps(told_before)))[folder.document("a")].document

    assert again.revision == "f" * 64


@pytest.mark.parametrize("keep_times", [False, True])
async def test_an_edit_is_noticed_also_when_size_and_time_are_kept(folder: Folder, keep_times: bool) -> None:
    folder.write("a", "Alpha.")
    cursor = cursor_of(await told(folder.source))
    before = (folder.path / "a.md").stat()
    folder.write("a", "Omega.")
    if keep_times:
        os.utime(folder.path / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))

    body = await upserts(await told(folder.source, cursor))[folder.document("a")].document.read()

    assert body == b"Omega."


async def test_a_file_written_just_before_the_walk_is_read_again_by_the_next(folder: Folder) -> None:
    folder.write("a", "Alpha.")
    written = datetime.fromtimestamp((folder.path / "a.md").stat().st_mtime, UTC)

    racy = [c async for c in folder.source.changes(None, written + timedelta(seconds=1))]
    settled = [c async for c in folder.source.changes(None, written + timedelta(seconds=3))]

    assert json.loads(cursor_of(racy))["files"] == {}
    assert set(json.loads(cursor_of(settled))["files"]) == {"a.md"}


async def test_a_text_is_never_read_under_the_name_of_another(folder: Folder) -> None:
    folder.write("a", "Alpha.")
    document = upserts(await told(folder.source))[folder.document("a")].document
    folder.write("a", "Omega.")

    with pytest.raises(Transient, match="next sync"):
        await document.read()

    folder.delete("a")
    with pytest.raises(Skip, match="can't be read"):
        await document.read()


async def test_known_documents_come_before_new_texts(folder: Folder) -> None:
    folder.write("z", "Zeta.")
    cursor = cursor_of(await told(folder.source))
    folder.write("a", "Alpha.")

    assert [document.key for document in upserts(await told(folder.source, cursor))] == ["z.md", "a.md"]


async def test_a_scope_that_is_no_longer_stated_is_closed_first(folder: Folder) -> None:
    folder.write("hr/pay", "Pay.")
    folder.access('["hr/pay.md"]\nreaders = ["grp:hr"]\n[hr]\nreaders = ["grp:staff"]')
    cursor = cursor_of(await told(folder.source))
    folder.access('[hr]\nreaders = ["grp:staff"]')

    first = (await told(folder.source, cursor))[0]

    assert isinstance(first, AccessChanged)
    assert (first.rules.root, first.rules.state) == ("hr/pay.md", ScopeState.GONE)


async def test_problems_of_the_access_file_are_told(folder: Folder) -> None:
    folder.write("a", "Alpha.")
    folder.access('["a.md"]\nreader = ["grp:staff"]\n["b.md"]\nreaders = ["grp:staff"]')

    told_now = await skipped(folder)

    assert "unknown key 'reader'" in told_now["access.toml"]
    assert "['b.md'] names no file or folder" in told_now["access.toml"]
    assert "who may read it is unknown" in told_now["a.md"]
    assert await keys(folder) == set()


async def test_an_empty_source_is_a_complete_walk(folder: Folder) -> None:
    changes = await told(folder.source)

    assert [type(change).__name__ for change in changes] == ["AccessChanged", "Checkpoint"]
    assert AT.tzinfo is UTC


async def test_rules_stand_in_the_folders_above_them_and_a_folder_s_in_itself(folder: Folder) -> None:
    folder.write("hr/pay/bands", "Bands.")
    folder.write("top", "Top.")
    paths = (".", "hr", "hr/pay", "hr/pay/bands.md", "top.md")
    folder.access("\n".join(f'["{path}"]\nreaders = ["grp:staff"]' for path in paths))

    rules = {
        change.rules.root: change.rules for change in await told(folder.source) if isinstance(change, AccessChanged)
    }

    assert {path: rules[path].containers for path in paths} == {
        ".": (),
        "hr": ("hr",),
        "hr/pay": ("hr", "hr/pay"),
        "hr/pay/bands.md": ("hr", "hr/pay"),
        "top.md": (),
    }
