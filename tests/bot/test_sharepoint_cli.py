"""A SharePoint from the command line: added, synced, asked by several people, and what happens when it changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.__main__ import cli
from tests.doubles.sharepoint.apart import served_apart
from tests.doubles.sharepoint.simulator import SharePoint
from tests.doubles.sharepoint.state import Collection, Item, User
from tests.doubles.sharepoint.wire import status

QUESTION = "How early are flights abroad booked?"
TRAVEL = "# Travel\n\n## 2.1 Flights\n\nFlights abroad are booked 14 days ahead through the approved portal.\n"


@dataclass(slots=True)
class Company:
    """A tenant that is served, and the command line on a data directory of its own."""

    vendor: SharePoint
    site: Collection
    file: Item
    people: dict[str, User]
    folder: Path

    def run(self, *arguments: str) -> Result:
        """A command of footnote."""
        environ = {"FOOTNOTE_DATA": str(self.folder / "data")}
        return CliRunner().invoke(cli, arguments, env=environ, prog_name="footnote")

    def one(self, *arguments: str, status: int = 0) -> dict[str, Any]:
        """The one object that a command prints."""
        result = self.run(*arguments, "--json")
        assert result.exit_code == status, result.output
        [line] = result.stdout.splitlines()
        found: dict[str, Any] = json.loads(line)
        return found

    def add(self, *more: str, name: str = "intranet") -> Result:
        """`source add sharepoint` for the site."""
        (self.folder / "app.pem").write_text(self.vendor.pem)
        return self.run(
            "source", "add", "sharepoint", name, "--tenant", self.vendor.tenant.id, "--client-id", self.vendor.client,
            "--certificate-file", str(self.folder / "app.pem"), "--graph-url", self.vendor.graph_url, "--login-url",
            self.vendor.login_url, "--site", self.vendor.site_url(self.site.path), *more,
        )  # fmt: skip

    def import_people(self) -> None:
        """The directory, with everybody's account of the tenant."""
        lines = []
        for name, user in self.people.items():
            lines += [f'[people."{name}@contoso.example"]', f'name = "{name}"',
                      f'identities = {{ "entra:{self.vendor.tenant.id}" = "{user.oid}" }}']  # fmt: skip
        (self.folder / "directory.toml").write_text("\n".join(lines))
        result = self.run("person", "import", str(self.folder / "directory.toml"))
        assert result.exit_code == 0, result.output

    def ask(self, name: str) -> dict[str, Any]:
        return self.one("ask", QUESTION, "--as", f"{name}@contoso.example")


@pytest.fixture
def company(tmp_path: Path) -> Iterator[Company]:
    """Asha may read it through a group of groups; Ben by name; Cleo may not; Gus is no one's."""
    with ExitStack() as stack:
        vendor = stack.enter_context(served_apart())
        tenant = vendor.tenant
        people = {name: tenant.person(name) for name in ("asha", "ben", "cleo")}
        inner = tenant.group("inner", people["asha"])
        site = tenant.site("hr")
        tenant.add(site.site_group("Visitors"), tenant.group("outer", inner), people["ben"])
        file = tenant.file(site.web.lists[0], "travel #1 & more.md", TRAVEL)
        yield Company(vendor, site, file, people, tmp_path)


def test_a_sharepoint_from_the_first_command_to_a_revocation(company: Company) -> None:
    added = company.add()
    assert added.exit_code == 0, added.output
    company.import_people()
    synced = company.one("sync", "intranet")
    assert (synced["complete"], synced["upserted"]) == (True, 1)

    answer = company.ask("asha")
    assert answer["outcome"] == "answered"
    [cited] = answer["citations"]
    document = cited["document"]
    assert document.endswith(company.file.unique_id)
    assert cited["url"].startswith(f"{company.vendor.tenant.host}/sites/hr/Shared%20Documents/travel%20%231")
    assert "tempauth" not in cited["url"]
    assert company.ask("ben")["outcome"] == "answered"
    assert company.ask("cleo")["outcome"] == "abstained"
    assert company.one("why", "asha@contoso.example", document)["allowed"]
    assert not company.one("why", "cleo@contoso.example", document, status=1)["allowed"]
    assert company.one("who", document)["people"] == ["asha@contoso.example", "ben@contoso.example"]

    tenant = company.vendor.tenant
    tenant.take_out(company.site.site_group("Visitors"), company.people["ben"])
    tenant.grant(company.file, company.people["cleo"])
    synced = company.one("sync", "intranet")
    assert synced["complete"]
    assert company.ask("ben")["outcome"] == "abstained"
    assert company.ask("cleo")["outcome"] == "answered"


def test_a_group_that_somebody_leaves_counts_for_the_next_question(company: Company) -> None:
    assert company.add().exit_code == 0
    company.import_people()
    company.one("sync", "intranet")
    assert company.ask("asha")["outcome"] == "answered"

    tenant = company.vendor.tenant
    tenant.leave(next(each for each in tenant.groups.values() if each.name == "inner"), company.people["asha"])

    assert company.ask("asha")["outcome"] == "abstained"


def test_somebody_disabled_at_the_tenant_is_answered_nothing(company: Company) -> None:
    assert company.add().exit_code == 0
    company.import_people()
    company.one("sync", "intranet")
    company.vendor.tenant.disable(company.people["ben"])

    assert company.ask("ben")["outcome"] != "answered"


def test_show_tells_every_feed_and_how_long_a_grant_may_be_stale(company: Company) -> None:
    assert company.add("--lease", "12h").exit_code == 0
    company.one("sync", "intranet")
    shown = company.one("source", "show", "intranet")

    assert shown["documents"] == 1
    assert shown["feeds"]
    assert {"feed", "every_seconds", "last", "lag_seconds"} <= set(shown["feeds"][0])
    assert 0 < shown["stale_grant_bound_seconds"] <= 12 * 3600


def test_an_app_that_may_not_read_rights_is_refused_with_the_grant_that_is_missing(company: Company) -> None:
    company.vendor.fault("roleassignments", status(403, "accessDenied"))
    result = company.add()

    assert result.exit_code != 0
    assert "fullcontrol" in result.output.casefold().replace(" ", "")
    assert company.vendor.site_url("/sites/hr") in result.output


def test_a_secret_instead_of_a_certificate_is_refused_in_a_sentence(company: Company) -> None:
    result = company.run(
        "source", "add", "sharepoint", "intranet", "--tenant", company.vendor.tenant.id, "--client-id",
        company.vendor.client, "--client-secret-env", "SECRET", "--site", company.vendor.site_url("/sites/hr"),
    )  # fmt: skip

    assert result.exit_code == 2
    assert "certificate" in result.stderr
    assert "Traceback" not in result.output
