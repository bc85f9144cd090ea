"""The only place where principals of SharePoint are made, for documents and askers alike; and what a login name means.

Ids of the directory are compared in lower case. The tenant is part of every principal, so that two tenants never meet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from policies.names import Principal

_SYSTEM = "sp"
_GUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ID = re.compile(r"[0-9a-z][0-9a-z.-]{0,127}")
_EVERYBODY_INSIDE = "9908e57b-4444-4a0e-af96-e8ca83c0a0e5"  # everyone except external users, as a tenant's claim
_ENTRA = "c:0t.c|tenant|"
_M365 = "c:0o.c|federateddirectoryclaimprovider|"
_GRID = "c:0-.f|rolemanager|spo-grid-all-users/"
_MEMBERSHIP = "i:0#.f|membership|"
_EVERYONE = "c:0(.s|true"
_LINK = re.compile(r"sharinglinks\.(?P<item>[0-9a-f-]{36})\.(?P<kind>[^.]+)\.(?P<link>[0-9a-f-]{36})")
_NOBODY = (
    "c:0u.c|tenant|",  # visitors of an anonymous link, as a group
    "i:0#.f|membership|urn:spo:",  # anonymous visitors, guests of a shared link that nobody signed in for
    "urn:spo:",
    "c:0+.w",  # groups and people of an old Windows domain
    "c:0!.s|",
    "i:0#.w|",
    "i:0i.t|",  # apps
    "i:0).w|",
    "i:0e.t|",
    "app@sharepoint",
    "nt service\\",
    "nt authority\\",
    "sharepoint\\",
)
"""How login names begin that are nobody who asks: machines, apps, plumbing, and bearers of a link."""


@dataclass(frozen=True, slots=True)
class Names:
    """The principals of one tenant."""

    tenant: str

    def user(self, oid: str) -> Principal:
        """A person, by the id of the directory."""
        return self._of("u", oid)

    def group(self, guid: str) -> Principal:
        """The members of a group or the holders of a directory role."""
        return self._of("g", guid)

    def owners(self, guid: str) -> Principal:
        """The owners of a group, who are not its members by that."""
        return self._of("go", guid)

    @property
    def insiders(self) -> Principal:
        """Everyone except external users."""
        return self._of("eeeu", self.tenant)

    @property
    def everyone(self) -> Principal:
        """Everyone, as SharePoint calls it."""
        return self._of("every", self.tenant)

    def site_group(self, site: str, number: int) -> Principal:
        """A group that one site collection made for itself; its number means nothing in another."""
        return self._of("sg", f"{site}/{number}")

    def admins(self, site: str) -> Principal:
        """The administrators of a site collection."""
        return self._of("sca", site)

    def _of(self, kind: str, native: str) -> Principal:
        return Principal.of_source(_SYSTEM, self.tenant.casefold(), kind, native.casefold())


def same(identity: str) -> str:
    """An id as it is compared: GUIDs are written in either case and with or without braces, by the same service."""
    bare = identity.strip().strip("{}")
    return bare.casefold() if _GUID.fullmatch(bare.casefold()) else bare


def group_number(principal: Principal) -> int | None:
    """Which of its site's groups a principal is; None where it is none."""
    parts = principal.name.split(":")
    return int(parts[3].rpartition("/")[2]) if parts[0] == _SYSTEM and parts[2] == "sg" else None


def owned_group(principal: Principal) -> str | None:
    """The group whose owners a principal is; None where it is something else."""
    parts = principal.name.split(":")
    return parts[3] if parts[0] == _SYSTEM and parts[2] == "go" else None


# ---------------------------------------------------------------- what a login name means


@dataclass(frozen=True, slots=True)
class Means:
    """The login name is these principals, whoever reads it."""

    principals: frozenset[Principal]


@dataclass(frozen=True, slots=True)
class Person:
    """The login name is a person's; whose account that is, only the directory knows."""

    upn: str


@dataclass(frozen=True, slots=True)
class Nobody:
    """The login name is nobody's who could ask: the assignment restricts and grants to none."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """A login name of a form that is not known: it grants nothing, and is counted."""

    login: str


Meaning = Means | Person | Nobody | Unheard


def meaning(login: str, names: Names) -> Meaning:
    """What a login name of a role assignment or of a group's member means. Groups of a site are not told by name."""
    text = login.strip().casefold()
    if text == _EVERYONE:
        return Means(frozenset([names.everyone, names.insiders]))  # whoever is inside is everyone, too
    if text.startswith(_GRID):
        return _insiders(text.removeprefix(_GRID), names)
    if text.startswith(_M365):
        return _m365(login, text.removeprefix(_M365), names)
    if text.startswith(_NOBODY) or text in ("", "system account"):
        return Nobody()
    if text.startswith(_ENTRA):
        return _entra(login, text.removeprefix(_ENTRA), names)
    if text.startswith(_MEMBERSHIP) and "@" in text:
        return Person(text.removeprefix(_MEMBERSHIP))
    return Unheard(login)


def _insiders(tenant: str, names: Names) -> Meaning:
    ours = names.tenant.casefold()
    known = _GUID.fullmatch(ours) is None or tenant == ours  # a tenant given by its domain can't be compared
    return Means(frozenset([names.insiders])) if known else Nobody()


def _m365(login: str, named: str, names: Names) -> Meaning:
    guid = named.removesuffix("_o")
    if _ID.fullmatch(guid) is None:
        return Unheard(login)
    return Means(frozenset([names.owners(guid) if named.endswith("_o") else names.group(guid)]))


def _entra(login: str, guid: str, names: Names) -> Meaning:
    if guid == _EVERYBODY_INSIDE:
        return Means(frozenset([names.insiders]))
    return Means(frozenset([names.group(guid)])) if _ID.fullmatch(guid) else Unheard(login)


@dataclass(frozen=True, slots=True)
class SharingLink:
    """Which link a group of a site stands for."""

    item: str
    kind: str
    link: str


def sharing_link(group: str) -> SharingLink | None:
    """The link that a site's group stands for, by the group's login name; None for other groups."""
    found = _LINK.fullmatch(group.strip().casefold())
    return None if found is None else SharingLink(found["item"], found["kind"], found["link"])
