"""Whose account of Slack a login is of."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bot.linking.proof import slack_account
from connectors.chat import Account, Workspace
from connectors.errors import Skip
from connectors.logins import Login

TEAM, OTHER_TEAM, NORTHWIND, SOUTHWIND, ASHA = "T0NORTHWIND", "T0NORTHLABS", "E0NORTHWIND", "E0SOUTHWIND", "U0ASHA"
INSTALLED = {
    "in one workspace of it": Workspace(TEAM, "U0BOT", enterprise=NORTHWIND),
    "in all of it": Workspace(NORTHWIND, "U0BOT", enterprise=NORTHWIND),
}
ALONE = Workspace(TEAM, "U0BOT")


@dataclass
class Slack:
    """A workspace that knows Asha alone."""

    us: Workspace
    enterprise: str | None = NORTHWIND
    team: str = TEAM

    async def workspace(self) -> Workspace:
        return self.us

    async def account(self, user: str) -> Account:
        if user != ASHA:
            raise Skip("user_not_found")
        return Account(ASHA, self.team, True, True, False, False, self.enterprise)


async def of(slack: Slack, **claims: str) -> tuple[str, str]:
    named = {f"https://slack.com/{name}": value for name, value in claims.items()}
    return await slack_account(Login("https://slack.com", ASHA, named), slack)  # type: ignore[arg-type]


@pytest.mark.parametrize("us", INSTALLED.values(), ids=INSTALLED)
@pytest.mark.parametrize(
    "claims",
    [
        {"enterprise_id": NORTHWIND, "team_id": TEAM},
        {"enterprise_id": NORTHWIND, "team_id": OTHER_TEAM},
        {"enterprise_id": NORTHWIND},
        {"team_id": TEAM},  # the workspace that we are in, or that Slack says is his
        {"team_id": NORTHWIND, "enterprise_id": NORTHWIND},
    ],
)
async def test_in_an_organisation_an_account_is_the_organisations(us: Workspace, claims: dict[str, str]) -> None:
    assert await of(Slack(us), user_id=ASHA, **claims) == (NORTHWIND, ASHA)


@pytest.mark.parametrize("us", INSTALLED.values(), ids=INSTALLED)
@pytest.mark.parametrize(
    "claims",
    [
        {"enterprise_id": SOUTHWIND, "team_id": TEAM},
        {"enterprise_id": SOUTHWIND, "team_id": SOUTHWIND},
        {"team_id": OTHER_TEAM},  # nobody says of what organisation that workspace is
        {},
    ],
)
async def test_a_login_of_elsewhere_is_of_no_account_of_the_organisation(us: Workspace, claims: dict[str, str]) -> None:
    assert (await of(Slack(us), user_id=ASHA, **claims))[0] != NORTHWIND


@pytest.mark.parametrize("user", ["U0EVE", ""])
async def test_without_the_organisation_slack_has_to_know_the_user_there(user: str) -> None:
    us = INSTALLED["in all of it"]

    assert await of(Slack(us), user_id=user, team_id=OTHER_TEAM) == (OTHER_TEAM, user)
    assert await of(Slack(us, enterprise=SOUTHWIND, team=OTHER_TEAM), user_id=ASHA, team_id=OTHER_TEAM) == (
        OTHER_TEAM,
        ASHA,
    )


async def test_a_workspace_by_itself_is_what_an_account_is_of() -> None:
    slack = Slack(ALONE, enterprise=None)

    assert await of(slack, user_id=ASHA, team_id=TEAM) == (TEAM, ASHA)
    assert await of(slack, user_id=ASHA, team_id=OTHER_TEAM, enterprise_id=TEAM) == (OTHER_TEAM, ASHA)
    assert await of(slack, user_id=ASHA) == ("", ASHA)
