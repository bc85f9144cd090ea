"""Who somebody is in Confluence at this moment: asked for the asker alone, by his account, never by a name.

Who may not open the product at all is nobody there, whatever grants still name him. What can't be told counts as no.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from connectors.ports import Membership
from connectors.sources.confluence.client import Client, Json, Lost, text_of
from connectors.sources.confluence.principals import SUPER_GROUP, Principals
from policies.facts import Kind
from policies.names import Principal

_GONE = Membership(active=False, principals=frozenset())
_NO_PEOPLE = frozenset({"app", "customer", "anonymous", "unknown"})
_ACTIVE = frozenset({"active", "current"})
_USES = frozenset({"use", "administer"})
_NOT_THERE = frozenset({400, 404, 405, 410})
_KNOWN_FOR = timedelta(minutes=5)  # which groups give the product


@dataclass(slots=True)
class CloudRights:
    """Port `Rights` on Cloud."""

    client: Client
    principals: Principals
    everyone: frozenset[Principal]
    rules_everybody: bool = False
    _access: tuple[datetime, Mapping[str, frozenset[str]]] | None = None  # when read; group ids by what they give

    @property
    def provider(self) -> str:
        return f"confluence:{self.principals.instance}"

    async def membership(self, account: str, kind: Kind, now: datetime) -> Membership:
        """Everything that the account is; raises DoorError where a part of it can't be had."""
        told = await self._account(account)
        if told is None or text_of(told, "accountId") not in ("", account):
            return _GONE
        status = text_of(told, "accountStatus")
        if text_of(told, "accountType") in _NO_PEOPLE or (status and status.casefold() not in _ACTIVE):
            return _GONE
        groups = await _groups(self.client, {"accountId": account}, "id")
        guest = _is_guest(told)
        may_use, licensed, admin = await self._product(told, groups, now)
        p = self.principals
        if not guest and not may_use:  # to the product he is anybody from the street
            return Membership(active=True, principals=frozenset({p.anonymous}))
        found = {p.user(account), p.anonymous, p.authenticated, *map(p.group, groups)}
        found |= {p.licensed} if licensed and not guest else set()
        found |= {p.admins} if admin and not guest else set()
        return Membership(active=True, principals=frozenset(found))

    async def _account(self, account: str) -> Json | None:
        """What the site says of an account; None where there is none. Who can be listed in bulk only is asked so."""
        told: Json | None = None
        try:
            expand = {"accountId": account, "expand": "operations,isExternalCollaborator"}
            answer = await self.client.get("rest/api/user", expand)
            told = answer if isinstance(answer, dict) else None
        except Lost as error:
            if error.status not in (404, 410):
                raise
        if told is not None and text_of(told, "accountStatus"):
            return told
        try:
            asked = await self.client.post("api/v2/users-bulk", {"accountIds": [account]})
        except Lost as error:
            # Without that list, who is found by himself is as he says; else his groups are all there is to know.
            return told if told is not None or error.status not in _NOT_THERE else {}
        rows = asked.get("results") if isinstance(asked, dict) else None
        known = [row for row in rows or () if isinstance(row, dict) and text_of(row, "accountId") == account]
        return {**known[0], **(told or {})} if known else told

    async def _product(self, told: Json, groups: frozenset[str], now: datetime) -> tuple[bool, bool, bool]:
        """Whether the account may open the product, holds a licence, and administers it."""
        operations = told.get("operations")
        if isinstance(operations, list) and operations:
            rows = [each for each in operations if isinstance(each, dict)]
            names = {text_of(row, "operation") for row in rows if text_of(row, "targetType") == "application"}
            may_use = bool(names & {"use", "administer"})
            return may_use, may_use, "administer" in names
        giving = await self._giving(now)
        if giving is None:
            return False, False, False  # nobody may tell us: what can't be told counts as no
        admin = bool(groups & giving["admin"])
        if giving["user"] != giving["all"]:
            licensed = admin or bool(groups & giving["user"])
            return licensed, licensed, admin
        # The site does not tell which groups give the product: whoever is in one has it, and grants by name count.
        return True, bool(groups), admin and giving["admin"] != giving["all"]

    async def _giving(self, now: datetime) -> Mapping[str, frozenset[str]] | None:
        """The groups that let their members use or administer the product, and all there are; None where we may not
        know."""
        if self._access is not None and now - self._access[0] < _KNOWN_FOR:
            return self._access[1]
        found: dict[str, frozenset[str]] = {}
        for name, params in (("all", {}), ("user", {"accessType": "user"}), ("admin", {"accessType": "admin"})):
            held: set[str] = set()
            try:
                async for page in self.client.counted("rest/api/group", params):
                    held |= {text_of(row, "id") for row in page}
            except Lost as error:
                if error.status not in _NOT_THERE:
                    return None
            found[name] = frozenset(held - {""})
        self._access = (now, found)
        return found


@dataclass(frozen=True, slots=True)
class _Product:
    """Whom a Data Center lets use the product at all; None: it does not say."""

    users: frozenset[str]
    groups: frozenset[str]
    anonymous: bool


@dataclass(slots=True)
class ServerRights:
    """Port `Rights` on Data Center. `product_groups`: whose members may use it, where a version before 9.3 does not
    tell; without them, whoever is in any group."""

    client: Client
    principals: Principals
    everyone: frozenset[Principal]
    product_groups: frozenset[str] = frozenset()
    rules_everybody: bool = False
    _product: tuple[datetime, _Product | None] | None = None

    @property
    def provider(self) -> str:
        return f"confluence:{self.principals.instance}"

    async def membership(self, account: str, kind: Kind, now: datetime) -> Membership:
        """Everything that the account is; raises DoorError where a part of it can't be had."""
        try:
            told = await self.client.get("rest/api/user", {"key": account, "expand": "status"})
        except Lost as error:
            if error.status in (404, 410):
                return _GONE
            raise
        if not isinstance(told, dict) or text_of(told, "userKey") not in ("", account):
            return _GONE
        status = text_of(told, "status")
        if status and status.casefold() not in _ACTIVE:
            return _GONE
        groups = await _groups(self.client, {"key": account}, "name")
        product, p = await self._uses(now), self.principals
        if product is None:
            may_use, anonymous = bool(groups & self.product_groups if self.product_groups else groups), True
        else:
            may_use, anonymous = account in product.users or bool(groups & product.groups), product.anonymous
        if not may_use:
            return Membership(active=True, principals=frozenset({p.anonymous} if anonymous else ()))
        found = {p.user(account), p.authenticated, p.licensed, *map(p.group, groups)}
        found |= {p.anonymous}  # whoever is signed in reads what is open to anybody
        found |= {p.supers} if SUPER_GROUP in groups else set()
        return Membership(active=True, principals=frozenset(found))

    async def _uses(self, now: datetime) -> _Product | None:
        if self._product is None or now - self._product[0] >= _KNOWN_FOR:
            self._product = (now, await self._read_uses())
        return self._product[1]

    async def _read_uses(self) -> _Product | None:
        """The global permissions, since 9.3; raises DoorError where they are there and we may not read them."""
        path = "rest/api/permissions"
        try:
            told = await self.client.get(path, {"start": "0", "limit": "200"})
        except Lost as error:
            if error.status in (404, 405, 410):
                return None
            raise
        if isinstance(told, dict) and isinstance(told.get("results"), list):
            rows = [row async for page in self.client.counted(path) for row in page]
        elif isinstance(told, list):
            rows = told
        else:
            raise Lost("the server's answer about global permissions makes no sense", 200)
        users: set[str] = set()
        groups: set[str] = set()
        anonymous = False
        for row in (row for row in rows if isinstance(row, dict)):
            operation, subject = row.get("operation"), row.get("subject")
            if not isinstance(operation, dict) or not isinstance(subject, dict):
                continue
            if operation.get("targetType") != "application" or operation.get("operationKey") not in _USES:
                continue
            match text_of(subject, "type").casefold():
                case "group":
                    groups.add(text_of(subject, "name"))
                case "user" | "known":
                    users.add(text_of(subject, "userKey"))
                case "anonymous":
                    anonymous = True
        return _Product(frozenset(users - {""}), frozenset(groups - {""}), anonymous)


async def _groups(client: Client, who: Mapping[str, str], field_name: str) -> frozenset[str]:
    """Every group that somebody is in, through others too; raises where the list can't be had whole."""
    found: set[str] = set()
    async for page in client.counted("rest/api/user/memberof", dict(who)):
        found |= {text_of(row, field_name) for row in page}
    return frozenset(found - {""})


def _is_guest(told: Json) -> bool:
    flags = ("isGuest", "isExternalCollaborator", "externalCollaborator")
    return any(told.get(flag) is True for flag in flags) or text_of(told, "accountType") == "guest"
