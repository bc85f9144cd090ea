"""The only constructor of Confluence's principals, for documents and askers alike; ids are the vendor's stable ones.

People go by accountId (Cloud) or userKey (Data Center), groups by id (Cloud) or by their exact name (Data Center, which
has nothing else). Neither e-mail nor display name is ever a key.
"""

from __future__ import annotations

from dataclasses import dataclass

from policies.names import Principal

SYSTEM = "cf"
SUPER_GROUP = "confluence-administrators"
"""Members of exactly this group see everything on a Data Center."""

_ALL = "all"


@dataclass(frozen=True, slots=True)
class Principals:
    """Tokens of one configured source: ids of two sources never meet."""

    instance: str

    def user(self, account: str) -> Principal:
        """Somebody, by accountId or userKey."""
        return Principal.of_source(SYSTEM, self.instance, "u", account)

    def group(self, group: str) -> Principal:
        """A group, by its id or, on Data Center, its exact name."""
        return Principal.of_source(SYSTEM, self.instance, "g", group)

    @property
    def licensed(self) -> Principal:
        """Everybody with a licence, guests excepted."""
        return Principal.of_source(SYSTEM, self.instance, "lic", _ALL)

    @property
    def authenticated(self) -> Principal:
        """Everybody who is signed in."""
        return Principal.of_source(SYSTEM, self.instance, "auth", _ALL)

    @property
    def anonymous(self) -> Principal:
        """Anybody: what the whole internet may read."""
        return Principal.of_source(SYSTEM, self.instance, "anon", _ALL)

    @property
    def admins(self) -> Principal:
        """Administrators of the product."""
        return Principal.of_source(SYSTEM, self.instance, "padm", _ALL)

    @property
    def supers(self) -> Principal:
        """Who sees everything on a Data Center."""
        return Principal.of_source(SYSTEM, self.instance, "super", _ALL)

    def access_class(self, name: str) -> Principal | None:
        """What an access class of Cloud means; None for those that let nobody in who may ask here."""
        match name.casefold():
            case "all-licensed-users":
                return self.licensed
            case "authenticated-users":
                return self.authenticated
            case "anonymous-users":
                return self.anonymous
            case "all-product-admins":
                return self.admins
            case _:
                return None
