"""What is asked for and how often, as it was reported of others: nothing by the document that goes by the list."""

from __future__ import annotations

import re

from tests.sharepoint_house import Office


async def test_rights_cost_by_the_object_that_has_its_own_and_not_by_the_document(here: Office) -> None:
    """EC 1443 (90), EC 2407 (91), msgraph-sdk-go 899 (108): flags by the list, links of what has some alone."""
    tenant, library = here.house.tenant, here.site.web.lists[0]
    files = [tenant.file(library, f"{number}.md", f"Number {number}") for number in range(30)]
    for each in files[:2]:
        tenant.grant(each, here.cleo)
    tenant.link(files[2], here.cleo)
    await here.house.sync()

    asked = here.house.vendor.count.asked
    flags = [each for each in asked if re.search(r"items\(\d+\)\?.*HasUniqueRoleAssignments", each)]
    rights = [each for each in asked if re.search(r"items\(\d+\)/roleassignments", each)]
    links = [each for each in asked if re.search(r"items/\w+/permissions", each)]
    assert (len(flags), len(rights), len(links)) == (0, 3, 1)


async def test_nothing_of_rights_is_asked_between_two_looks_where_nothing_changed(here: Office) -> None:
    """EC 1443 (90)."""
    await here.house.sync()
    here.house.vendor.count.clear()
    await here.house.sync(hurried=False)

    assert not [each for each in here.house.vendor.count.asked if "_api" in each or "/permissions" in each]
