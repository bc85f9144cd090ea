"""Being told by Graph that something in a library or list changed: what is believed, and asking to be told.

A notification says where and not what; it means that the library's delta, or the list, is to be read now. It is
believed for its secret, which Graph repeats from the subscription.
https://learn.microsoft.com/graph/change-notifications-delivery-webhooks
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from connectors.errors import DoorError
from connectors.ports import Event, Memory
from connectors.sources.sharepoint.client import Client, Refused
from connectors.sources.sharepoint.principals import same
from connectors.sources.sharepoint.scopes import moment_of
from connectors.sources.sharepoint.webs import LIBRARY, Listing

LONGEST = timedelta(minutes=42_300)  # of a subscription to a library or list, as Graph allows
_REFUSED_FOR = timedelta(hours=24)  # that one which was refused is not asked for again
_RENEWED = LONGEST / 2
_MOST_EVENTS = 1_000  # of one request
_NOTE = "subscription:"


def client_state(secret: str, source: str) -> str:
    """What Graph is asked to repeat with each notification: known to nobody who does not hold the app's secret."""
    return hmac.new(sha256(secret.encode()).digest(), f"graph:{source}".encode(), sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class GraphHook:
    """Port `Hook`: the receiving end, which verifies and does nothing else."""

    state: str

    def events(self, headers: Mapping[str, str], query: Mapping[str, str], body: bytes) -> Sequence[Event] | None:
        """The libraries and lists that changed, by what carries our secret; None where nothing does. Graph puts what
        it tells of several sources into one request. The handshake, which has a `validationToken` in its query, tells
        nothing."""
        if "validationToken" in query and not body.strip():
            return ()
        try:
            told = json.loads(body)["value"]
        except (ValueError, KeyError, TypeError):
            return None
        if not isinstance(told, list) or not 0 < len(told) <= _MOST_EVENTS:
            return None
        ours = [each for each in told if isinstance(each, dict) and self._is_ours(each)]
        if not ours:
            return None
        return [Event(_key(each), str(each.get("changeType") or "updated")[:60], closes=False) for each in ours]

    def _is_ours(self, told: Mapping[str, Any]) -> bool:
        said = told.get("clientState")
        return isinstance(said, str) and hmac.compare_digest(said.encode(), self.state.encode())


_DRIVE = re.compile(r"/?drives/([^/]+)/root", re.IGNORECASE)
# SharePoint's own webhooks tell of a list by its id alone, and so do examples of Graph's:
# https://learn.microsoft.com/azure/event-grid/share-point-events
_LIST = re.compile(r"(?:/?sites/.+/lists/)?(\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?)", re.IGNORECASE)


def of_drive(drive: str) -> str:
    """What an event of a drive is about, as a hint's key."""
    return f"drive:{drive}"


def of_list(list_id: str) -> str:
    """What an event of a list or of the pages of a site is about, as a hint's key."""
    return f"list:{same(list_id)}"


def told_as(listing: Listing) -> str:
    """The key of hints about a library or list."""
    return of_drive(listing.drive) if listing.kind == LIBRARY else of_list(listing.id)


def resource_of(listing: Listing) -> str:
    """What Graph is asked to watch for a library or list."""
    if listing.kind == LIBRARY:
        return f"drives/{listing.drive}/root"
    return f"sites/{listing.web.graph}/lists/{listing.id}"


def _key(told: Mapping[str, Any]) -> str:
    resource = str(told.get("resource") or "")
    if found := _DRIVE.fullmatch(resource):
        return of_drive(found[1])
    found = _LIST.fullmatch(resource)
    return of_list(found[1]) if found else ""


def challenge(query: Mapping[str, str]) -> str | None:
    """What to answer, as plain text and within ten seconds, when Graph asks whether we are there."""
    said = query.get("validationToken")
    return said if said and len(said) <= 4_096 else None


# ---------------------------------------------------------------- asking to be told


@dataclass(slots=True)
class Subscriptions:
    """What Graph was asked to tell of, one subscription a library or list."""

    client: Client
    memory: Memory
    address: str  # where it is to call, https
    state: str

    async def keep(self, resources: Mapping[str, str], now: datetime) -> list[str]:
        """Have a subscription for each of these resources (by container), renewed at half of its life; returns what
        went wrong, which costs nothing but time: everything is looked at anyway."""
        problems: list[str] = []
        known = {name.removeprefix(_NOTE): text for name, text in (await self.memory.notes(_NOTE)).items()}
        for container, resource in resources.items():
            what = "library" if _DRIVE.fullmatch(resource) else "list"
            problem = self._refused_lately(known.get(container), now)
            try:
                if problem is None:
                    await self._one(container, resource, known.get(container), now)
            except DoorError as error:
                problem = str(error)
                if isinstance(error, Refused) and not _read(known.get(container))[0]:
                    await self._keep(container, {"refused": problem, "until": (now + _REFUSED_FOR).isoformat()})
            if problem is not None:
                problems.append(f"Graph is not going to tell of changes in a {what}: {problem}")
        for container in known.keys() - resources.keys():
            await self._end(container, known[container])
        return problems

    async def _one(self, container: str, resource: str, known: str | None, now: datetime) -> None:
        held, ends, made_with = _read(known)
        same = made_with == self._digest
        if same and held and ends is not None and ends - now > _RENEWED:
            return
        until = now + LONGEST - timedelta(minutes=10)
        if same and held and ends is not None and ends > now and await self._renewed(held, until):
            await self._note(container, held, until)
            return
        body = {
            "changeType": "updated",
            "notificationUrl": self.address,
            "resource": resource,
            "expirationDateTime": _written(until),
            "clientState": self.state,
        }
        # Also of changed rights, where the service offers that: of drives.
        prefer = "includesecuritywebhooks" if _DRIVE.fullmatch(resource) else ""
        made = await self.client.graph("subscriptions", method="POST", body=body, prefer=prefer, units=2.0)
        await self._note(container, str(made.get("id") or ""), until)
        if held and not same:  # what it repeats is not believed any more, or it calls where nobody is
            await self._delete(held)

    async def _renewed(self, held: str, until: datetime) -> bool:
        try:
            await self.client.graph(
                f"subscriptions/{held}", method="PATCH", body={"expirationDateTime": _written(until)}, units=2.0
            )
        except Refused as error:
            if error.status not in (404, 410):
                raise
            return False
        return True

    async def _end(self, container: str, known: str) -> None:
        held, _, _ = _read(known)
        if held:
            await self._delete(held)
        await self.memory.keep_note(_NOTE + container, None)

    async def _delete(self, held: str) -> None:
        with suppress(DoorError):  # it ends by itself
            await self.client.graph(f"subscriptions/{held}", method="DELETE", units=2.0)

    @property
    def _digest(self) -> str:
        """Of what a subscription is made with and can't be changed in it: the secret, which goes with the app's
        certificate, and the address."""
        return sha256(f"{self.state}\n{self.address}".encode()).hexdigest()

    def _refused_lately(self, known: str | None, now: datetime) -> str | None:
        """Why Graph refused a subscription of this kind a while ago: it is not asked in every run."""
        held, ends, made_with = _read(known)
        if known is None or held or ends is None or not now < ends <= now + _REFUSED_FOR or made_with != self._digest:
            return None
        return str(json.loads(known).get("refused") or "refused")

    async def _note(self, container: str, held: str, until: datetime) -> None:
        if held:
            await self._keep(container, {"id": held, "until": until.isoformat()})
        else:
            await self.memory.keep_note(_NOTE + container, None)

    async def _keep(self, container: str, said: Mapping[str, str]) -> None:
        await self.memory.keep_note(_NOTE + container, json.dumps({**said, "with": self._digest}))


def _read(note: str | None) -> tuple[str, datetime | None, str]:
    """A subscription's id, when it ends, and what it was made with."""
    try:
        said = json.loads(note or "{}")
        return str(said.get("id") or ""), moment_of(said.get("until")), str(said.get("with") or "")
    except (ValueError, AttributeError):
        return "", None, ""


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.0000000Z")
