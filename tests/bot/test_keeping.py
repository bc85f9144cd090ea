"""Directory files of several sources: whom they list, and who gives way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from bot.errors import Unusable
from bot.keeping import add_source, change_state, import_directory, sync_named
from bot.looking import who, why
from bot.settings import Settings
from bot.wiring import App, open_app
from connectors.errors import Stop
from tests.blank import blank_data


@pytest.fixture
async def app(tmp_path: Path, now: datetime) -> AsyncIterator[App]:
    async with open_app(Settings.read({"FOOTNOTE_DATA": blank_data(tmp_path / "data")}), clock=lambda: now) as opened:
        yield opened


def folder(path: Path, **people: str) -> str:
    path.mkdir()
    tables = [f'[people."{name}@example.com"]\nname = "{name}"\ngroups = ["{group}"]' for name, group in people.items()]
    (path / "directory.toml").write_text("\n".join(tables))
    (path / "note.md").write_text("# Note\n\nThe gate opens at nine.\n")
    (path / "access.toml").write_text('readers = ["grp:a"]\n')
    return str(path)


async def groups(app: App) -> dict[str, tuple[str, ...]]:
    return {record.name: record.groups for record in await app.people.list()}


async def test_two_folders_bring_their_people_side_by_side(app: App, tmp_path: Path) -> None:
    await add_source(app.keeping, "one", "files", {"path": folder(tmp_path / "one", asha="grp:a")})
    await add_source(app.keeping, "two", "files", {"path": folder(tmp_path / "two", ben="grp:b")})

    assert await groups(app) == {"asha": ("grp:a",), "ben": ("grp:b",)}


async def test_a_person_of_two_folders_belongs_to_the_first(app: App, tmp_path: Path) -> None:
    await add_source(app.keeping, "one", "files", {"path": folder(tmp_path / "one", asha="grp:a")})
    await add_source(app.keeping, "two", "files", {"path": folder(tmp_path / "two", asha="grp:b", ben="grp:b")})
    await sync_named(app.keeping, "two")

    assert await groups(app) == {"asha": ("grp:a",), "ben": ("grp:b",)}


async def test_a_file_that_somebody_imports_takes_its_people_over(app: App, tmp_path: Path) -> None:
    await add_source(app.keeping, "one", "files", {"path": folder(tmp_path / "one", asha="grp:a", ben="grp:a")})
    folder(tmp_path / "two", asha="grp:b")

    await import_directory(app.keeping, tmp_path / "two" / "directory.toml")
    await sync_named(app.keeping, "one")

    assert await groups(app) == {"asha": ("grp:b",), "ben": ("grp:a",)}


async def test_importing_the_file_of_a_source_changes_nothing(app: App, tmp_path: Path) -> None:
    await add_source(app.keeping, "one", "files", {"path": folder(tmp_path / "one", asha="grp:a")})
    await import_directory(app.keeping, tmp_path / "one" / "directory.toml")
    (tmp_path / "one" / "directory.toml").write_text('[people."asha@example.com"]\nname = "asha"\n')
    await sync_named(app.keeping, "one")

    assert await groups(app) == {"asha": ()}


async def test_a_file_that_another_contradicts_lists_nobody(app: App, tmp_path: Path) -> None:
    await add_source(app.keeping, "one", "files", {"path": folder(tmp_path / "one", asha="grp:a")})
    await add_source(app.keeping, "two", "files", {"path": folder(tmp_path / "two", ben="grp:a")})
    account = 'identities = { "slack:T" = "U1" }\n'
    with (tmp_path / "one" / "directory.toml").open("a") as file:
        file.write(f"\n{account}")
    await sync_named(app.keeping, "one")
    (tmp_path / "two" / "directory.toml").write_text(f'[people."ben@example.com"]\nname = "ben"\n{account}')

    with pytest.raises(Stop, match="belongs to somebody else"):
        await sync_named(app.keeping, "two")

    assert await groups(app) == {"asha": ("grp:a",)}


async def test_a_file_gives_no_groups_to_people_of_another(app: App, tmp_path: Path) -> None:
    await add_source(app.keeping, "one", "files", {"path": folder(tmp_path / "one", asha="grp:staff")})
    path = folder(tmp_path / "two", ben="grp:staff")
    with (tmp_path / "two" / "directory.toml").open("a") as file:
        file.write('\n[groups."grp:a"]\nincludes = ["grp:staff"]\n')
    await add_source(app.keeping, "two", "files", {"path": path})
    await sync_named(app.keeping, "one")

    assert (await who(app.looking, "one:note.md", app.clock())).people == ("ben@example.com",)


async def test_people_go_with_the_source_that_brought_them(app: App, tmp_path: Path) -> None:
    await add_source(app.keeping, "one", "files", {"path": folder(tmp_path / "one", asha="grp:a")})
    await change_state(app.keeping, "one", "removed")

    assert await groups(app) == {}


async def test_people_stay_while_another_source_reads_the_same_folder(app: App, tmp_path: Path) -> None:
    path = folder(tmp_path / "one", asha="grp:a")
    for name in ("one", "two"):
        await add_source(app.keeping, name, "files", {"path": path})
    await change_state(app.keeping, "two", "removed")

    assert await groups(app) == {"asha": ("grp:a",)}


async def test_a_name_that_two_documents_have_is_asked_back(app: App, tmp_path: Path, now: datetime) -> None:
    for name in ("one", "two"):
        await add_source(app.keeping, name, "files", {"path": folder(tmp_path / name, **{name: "grp:a"})})
        await sync_named(app.keeping, name)

    with pytest.raises(Unusable, match=r"one:note\.md, two:note\.md"):
        await why(app.looking, "one@example.com", "note.md", now)
    assert (await who(app.looking, "two:note.md", now)).people == ("one@example.com", "two@example.com")
