"""Commands that are carried out rather than answered from documents: linking, and administering."""

from __future__ import annotations

import json
from dataclasses import dataclass

from bot.linking import notices
from bot.linking.linking import Holder, Linking
from bot.slack import grammar
from bot.slack.administering import Administering
from bot.slack.blocks import sentence
from bot.slack.incoming import Asked
from connectors.chat import Message


@dataclass(frozen=True, slots=True)
class Commands:
    """Which words of `/footnote` are commands, and what each does. Replies are for the person who gave it alone."""

    linking: Linking | None
    administering: Administering | None = None

    def takes(self, text: str) -> bool:
        """Whether the text is a command of these."""
        word = text.casefold()
        if word in ("link", "unlink"):
            return self.linking is not None
        if self.administering is None:
            return False
        return word == "sources" or grammar.line(text) is not None

    async def reply(self, asked: Asked) -> Message:
        """Carry it out."""
        holder, word = Holder(asked.asker_team, asked.asker), asked.text.casefold()
        if self.linking is not None and word == "link":
            return await self.linking.offer(holder)
        if self.linking is not None and word == "unlink":
            return await self.linking.unlink(holder)
        line = grammar.line(asked.text)
        if self.administering is None or (line is None and word != "sources"):
            return sentence(notices.NOT_A_COMMAND)
        if line is None:
            return await self.administering.searched()
        # The key that tells a second delivery of a command is the trigger that opens a form for it.
        trigger = asked.keys[0].partition(":")[2] if asked.keys else ""
        return await self.administering.do(holder, line, asked.text, trigger)

    async def alert(self, account: str) -> None:
        """Tell administrators of somebody who asks nearly the same again and again."""
        if self.administering is not None:
            await self.administering.doors.administrators.tell(sentence(notices.PROBING.format(account=account)))

    async def submitted(self, holder: Holder, kind: str, fields: str) -> Message:
        """The form for a new source was sent off; `fields` is a JSON object of what stands in it."""
        if self.administering is None:
            return sentence(notices.NOT_A_COMMAND)
        return await self.administering.add(holder, kind, json.loads(fields))

    async def pressed(self, holder: Holder, deed: str, secret: str) -> Message:
        """One of our buttons was pressed: "This wasn't me", or the one that goes on with what was shown."""
        if deed == "not me" and self.linking is not None:
            return await self.linking.not_me(holder, secret)
        if deed == "confirm" and self.administering is not None:
            return await self.administering.do(holder, grammar.Confirm(secret), "confirm")
        return sentence(notices.NOT_A_COMMAND)
