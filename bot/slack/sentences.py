"""The fixed sentences that people are told in Slack, besides those of `bot.answering.outcome`. A text between
backticks is shown as code. None holds a count, a title or an error.
"""

from __future__ import annotations

WORKING = "is looking through the documents that you can read…"
COMMAND_TAKEN = "Looking through the documents that you can read…"
DOING = "One moment…"
HELP = (
    "Ask me in a direct message, mention me in a channel, or write `/footnote` and your question. I search only the "
    "documents that you may read, and every sentence of an answer cites the one that it rests on. In a channel I "
    "answer for everyone only where everyone there may read the sources; otherwise the answer is for you alone."
)
PRIVACY = (
    "Only documents that you may read are searched for you. In a channel everybody sees an answer only if everybody "
    "there may read all that it rests on; else it is for you alone. What was asked and answered is kept sealed in an "
    "audit record."
)
NO_WORDS = "I can read text only. Write me your question in words."
LINKED_BY_ADMIN = (
    "Your administrator links accounts. Send them this line, with your address in place of PERSON: "
    "`footnote person link PERSON {account}`"
)
UNLINKED_BY_ADMIN = (
    "Your administrator takes links off. Send them this line, with your address in place of PERSON: "
    "`footnote person unlink PERSON {account}`"
)
NOT_YET = "I can't do that here yet. `/footnote help` says what I can do."
PERSON_FULL = "You have several questions waiting already. I answer those first; ask me again after that."
WORKSPACE_FULL = "Very many questions are waiting at the moment. Please ask again in a few minutes."
