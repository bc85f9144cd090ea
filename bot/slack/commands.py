"""Commands that are carried out rather than answered from documents: linking, and administering."""

from __future__ import annotations

from dataclasses import dataclass

from bot.linking.linking import Holder, Linking
from bot.slack.incoming import Asked
from connectors.chat import Message


@dataclass(frozen=True, slots=True)
class Commands:
    """Which words of `/footnote` are commands, and what each does. Replies are for the person who gave it alone."""

    linking: Linking | None

    def takes(self, text: str) -> bool:
        """Whether the text is a command of these."""
        return self.linking is not None and text.casefold() in ("link", "unlink")

    async def reply(self, asked: Asked) -> Message:
        """Carry it out."""
        assert self.linking is not None  # noqa: S101 - `takes` said so
        holder = Holder(asked.asker_team, asked.asker)
        return await (self.linking.offer(holder) if asked.text.casefold() == "link" else self.linking.unlink(holder))
