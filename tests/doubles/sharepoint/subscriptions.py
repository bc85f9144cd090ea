"""Change notifications: a handshake when they are asked for, a word without content when a library or list changes.

https://learn.microsoft.com/graph/api/resources/subscription: at most 42,300 minutes for drives and lists,
`updated` only. Of changed rights only drives tell, where that was asked for.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import aiohttp

from tests.doubles.sharepoint.rows import site_id
from tests.doubles.sharepoint.state import Library
from tests.doubles.sharepoint.tenant import Tenant
from tests.doubles.sharepoint.wire import Asked, Json, Reply, error

LONGEST = timedelta(minutes=42_300)


@dataclass(slots=True)
class Subscription:
    """One subscription."""

    id: str
    row: Json
    library: Library
    security: bool  # permission changes were asked for as well
    told: int  # the number of the last change that was told


@dataclass(slots=True)
class Subscriptions:
    """Everything below /subscriptions."""

    tenant: Tenant
    all: dict[str, Subscription] = field(default_factory=dict)
    deaf: bool = False  # nothing is delivered

    async def answer(self, asked: Asked, path: str) -> Reply:
        name = path.removeprefix("/subscriptions").strip("/")
        match asked.method, name:
            case "POST", "":
                return await self._create(asked)
            case "GET", "":
                return Reply(200, {"value": [each.row for each in self.all.values()]})
        known = self.all.get(name)
        if known is None:
            return error(404, "ResourceNotFound")
        match asked.method:
            case "PATCH":
                wanted = asked.json.get("expirationDateTime", "")
                if (problem := self._too_long(wanted)) is not None:
                    return problem
                known.row["expirationDateTime"] = wanted
                return Reply(200, known.row)
            case "DELETE":
                del self.all[name]
                return Reply(204)
        return Reply(200, known.row)

    async def _create(self, asked: Asked) -> Reply:
        wanted = asked.json
        library = self._library(wanted.get("resource", ""))
        if library is None or wanted.get("changeType") != "updated" or len(wanted.get("clientState", "")) > 128:
            return error(400, "InvalidRequest", "resource, changeType or clientState")
        if (problem := self._too_long(wanted.get("expirationDateTime", ""))) is not None:
            return problem
        if not await self._shakes_hands(wanted.get("notificationUrl", "")):
            return error(400, "ValidationError", "Subscription validation request failed")
        row = {"id": self.tenant.ids.guid(), **wanted}
        row.pop("clientState", None)  # never told again
        asks = "includesecuritywebhooks" in asked.headers.get("prefer", "").casefold()
        security = asks and "drives/" in row["resource"]
        kept = Subscription(row["id"], {**row, "clientState": None}, library, security, self.tenant.number)
        self.all[row["id"]] = kept
        self._states[row["id"]] = wanted.get("clientState", "")
        return Reply(201, kept.row)

    _states: dict[str, str] = field(default_factory=dict)

    def _library(self, resource: str) -> Library | None:
        resource = resource.strip("/")
        if match := re.fullmatch(r"drives/([^/]+)/root", resource):
            return self.tenant.drives.get(match[1])
        if match := re.fullmatch(r"sites/([^/]+)/lists/([^/]+)", resource):
            webs = (
                web for site in self.tenant.collections for web in site.webs if site_id(self.tenant, web) == match[1]
            )
            return next((each for web in webs for each in web.lists if each.id == match[2]), None)
        return None

    def _too_long(self, moment: str) -> Reply | None:
        try:
            ends = datetime.fromisoformat(moment.replace("Z", "+00:00"))
        except ValueError:
            return error(400, "InvalidRequest", "expirationDateTime")
        if not self.tenant.at < ends <= self.tenant.at + LONGEST:
            return error(400, "InvalidRequest", "Subscription expiration can only be 42300 minutes in the future")
        return None

    async def _shakes_hands(self, url: str) -> bool:
        word = f"Validation: {secrets.token_urlsafe(8)} & more"
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
            try:
                async with session.post(url, params={"validationToken": word}) as response:
                    kind = response.headers.get("Content-Type", "")
                    return response.status == 200 and kind.startswith("text/plain") and await response.text() == word
            except (aiohttp.ClientError, TimeoutError, ValueError):
                return False

    def due(self) -> list[tuple[str, Json]]:
        """What would be delivered now: addresses and bodies. Asking takes them off."""
        found = []
        for each in list(self.all.values()):
            if datetime.fromisoformat(each.row["expirationDateTime"].replace("Z", "+00:00")) < self.tenant.at:
                del self.all[each.id]
                continue
            new = [change for change in each.library.log if change.number > each.told]
            each.told = self.tenant.number
            if any(not change.sharing or each.security for change in new) and not self.deaf:
                body = {"value": [self.notice(each)]}
                found.append((str(each.row["notificationUrl"]), body))
        return found

    def notice(self, each: Subscription) -> Json:
        """The word itself: no item, only that something happened."""
        return {
            "subscriptionId": each.id, "clientState": self._states[each.id], "resource": each.row["resource"],
            "changeType": "updated", "tenantId": self.tenant.id, "resourceData": None,
            "subscriptionExpirationDateTime": each.row["expirationDateTime"],
        }  # fmt: skip

    async def deliver(self) -> list[int]:
        """Tell everybody who wants to know; the statuses that came back."""
        statuses = []
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
            for url, body in self.due():
                async with session.post(url, json=body) as response:
                    statuses.append(response.status)
        return statuses
