"""Pages, lists, labels and locked files: what of them is read, by whom, and what is left out."""

from __future__ import annotations

import pytest

from tests.doubles.sharepoint.wire import status
from tests.sharepoint_house import Office


async def exact(here: Office) -> None:
    """Nobody sees what he may not, nobody misses anything."""
    assert await here.house.over() == []
    assert await here.house.under() == []


async def test_pages_of_every_kind_are_read_each_with_its_rights(here: Office) -> None:
    """ONX 9318, ONX 9321, SPD 8822: classic ones are not known to the page API, and one broken part fails a page."""
    tenant, web = here.house.tenant, here.site.web
    tenant.page(web, "Modern", "<p>modernwords</p>")
    tenant.page(web, "Classic", "<p>classicwords</p>", classic=True)
    broken = tenant.page(web, "Broken", "<p>brokenwords</p>")
    broken.corrupt = True
    tenant.break_inheritance(broken, copy=False)
    tenant.grant(broken, here.cleo)
    report = await here.house.sync()

    assert report.complete, report.problems
    assert await here.house.names(here.asha) == {"handbook.md", "Modern.aspx", "Classic.aspx"}
    assert await here.house.names(here.cleo) == {"Broken.aspx"}
    assert all(here.house.stored(words) for words in ("modernwords", "classicwords", "brokenwords"))


@pytest.mark.parametrize("code", [400, 404])
@pytest.mark.parametrize("what", ["file", "page"])
async def test_what_does_not_tell_its_labels_is_left_out_where_labels_can_keep_it_out(
    here: Office, code: int, what: str
) -> None:
    tenant, house = here.house.tenant, here.house
    house.settings["excluded_labels"] = ["Secret"]
    marked = (
        tenant.file(here.site.web.lists[0], "marked.md", "wordsofamarkedone")
        if what == "file"
        else tenant.page(here.site.web, "Marked", "<p>wordsofamarkedone</p>")
    )
    place = "/listItem" if what == "file" else rf"/items/{marked.number}\b"
    fault = house.vendor.fault(place, status(code))
    await house.sync()
    assert marked.name not in await house.names(here.asha)
    assert not house.stored("wordsofamarkedone")

    house.vendor.mend(fault)
    await house.sync()
    assert marked.name in await house.names(here.asha)


async def test_a_locked_file_is_not_read_although_its_columns_are_not_told(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    locked = tenant.file(here.site.web.lists[0], "locked.md", "wordsofalockedfile")
    locked.label, locked.encrypted = "Secret", True
    house.vendor.fault("/listItem", status(404))
    await house.sync()

    assert await house.names(here.asha) == {"handbook.md"}
    assert not house.stored("wordsofalockedfile")


@pytest.mark.parametrize(
    ("said", "excluded"),
    [
        ({"_DisplayName": "Secret"}, "Secret"),
        ({"_IpLabelId": "11111111-2222-3333-4444-555555555555"}, "11111111-2222-3333-4444-555555555555"),
        ({"_ComplianceTag": "Keep seven years"}, "keep seven years"),
        ({"ContentType": "Contract"}, "contract"),
        ({"Tags": "travel;#Secret"}, "SECRET"),
    ],
    ids=["label", "label by id", "retention", "content type", "tag"],
)
async def test_a_document_with_a_label_that_is_left_out_is_not_read_and_goes(
    here: Office, said: dict[str, str], excluded: str
) -> None:
    tenant, house = here.house.tenant, here.house
    house.settings["excluded_labels"] = [excluded]
    marked = tenant.file(here.site.web.lists[0], "marked.md", "wordsofamarkedfile")
    tenant.set_fields(marked, **said)
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md"}
    assert not house.stored("wordsofamarkedfile")

    tenant.set_fields(marked, **dict.fromkeys(said, ""))
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md", "marked.md"}

    tenant.set_fields(marked, **said)
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md"}


@pytest.mark.parametrize("told", ["by its columns", "by Graph"])
async def test_a_locked_file_is_left_out_and_stops_nothing(here: Office, told: str) -> None:
    tenant, house = here.house.tenant, here.house
    locked = tenant.file(here.site.web.lists[0], "locked.md", "wordsofalockedfile")
    if told == "by Graph":
        locked.label, locked.encrypted = "Confidential", True
    else:
        tenant.set_fields(locked, _HasEncryptedContent="1")
        locked.encrypted = True
    report = await house.sync()

    assert report.complete
    assert [each.reason for each in report.skipped] == ["it is encrypted"]
    assert not house.stored("wordsofalockedfile")
    await exact(here)


async def test_items_of_a_list_have_the_readers_of_their_folder_or_their_own(here: Office) -> None:
    """EC 3491: of lists as of libraries; and a column that looks something up elsewhere is not shown."""
    tenant, house = here.house.tenant, here.house
    tasks = tenant.library(here.site.web, "Tasks", template=100)
    closed = tenant.folder(tasks, "Closed")
    tenant.break_inheritance(closed, copy=False)
    tenant.grant(closed, here.cleo)
    looked_up = {"LookupId": 4, "LookupValue": "secretproject"}
    tenant.item(tasks, Title="plain", Project=looked_up, Others=[looked_up])
    tenant.item(tasks, closed, Title="inside")
    own = tenant.item(tasks, Title="own")
    tenant.break_inheritance(own, copy=False)
    tenant.grant(own, here.ben)
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md", "plain"}
    assert await house.names(here.ben) == {"handbook.md", "plain", "own"}
    assert await house.names(here.cleo) == {"inside"}
    assert house.stored("plain")
    assert not house.stored("secretproject")

    tenant.restore_inheritance(closed)
    tenant.delete(own)
    await house.sync()
    assert await house.names(here.asha) == {"handbook.md", "plain", "inside"}
    await exact(here)


async def test_what_is_attached_to_items_is_not_read_and_each_run_says_so(here: Office) -> None:
    tenant, house = here.house.tenant, here.house
    tasks = tenant.library(here.site.web, "Tasks", template=100)
    item = tenant.item(tasks, Title="With a file", Attachments=True)
    tenant.item(tasks, Title="Without one", Attachments=False)
    for hurried in (True, False):
        report = await house.sync(hurried=hurried)
        assert [each for each in report.problems if "'Tasks'" in each and each.endswith("is not read (1)")]

    tenant.set_fields(item, Attachments=False)
    assert (await house.sync()).problems == ()


async def test_what_has_rights_of_its_own_keeps_them_when_it_is_moved(here: Office) -> None:
    tenant, library = here.house.tenant, here.site.web.lists[0]
    closed = tenant.folder(library, "Closed")
    tenant.break_inheritance(closed, copy=False)
    tenant.grant(closed, here.ben)
    own = tenant.file(library, "own.md", "With rights of its own", closed)
    tenant.break_inheritance(own, copy=False)
    tenant.grant(own, here.cleo)
    await here.house.sync()
    tenant.move(own, library)
    await here.house.sync()

    assert await here.house.names(here.cleo) == {"own.md"}
    await exact(here)
