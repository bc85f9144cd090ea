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
    "answer for everyone only where everyone there may read the sources; otherwise the answer is for you alone. "
    "`/footnote link` binds your account and `/footnote unlink` takes that off; `/footnote sources` says what is "
    "searched, `/footnote privacy` what is kept, and `/footnote help admin` what administrators can do."
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
TOO_ALIKE = "You have asked nearly the same many times in the last minute. Please wait a minute, then ask me again."
WORKSPACE_FULL = "Very many questions are waiting at the moment. Please ask again in a few minutes."

POINTED = "I have answered you in a direct message."
STOPPED = "Stopped. Ask me again whenever you like."
SHARE_ASKED = "Everybody in the place where you asked will see this answer, now and later."
SHARED = "Shared."
SHARED_PERHAPS = "I could not see whether it was shared. Please look there; I don't post it a second time."
NOT_SHARED = "This answer can't be shared there. You can still read it here."
DELETE_ASKED = "It is deleted for everybody."
DELETED = "Deleted."
THANKED = "Thank you. That helps to make answers better."
NOT_YOURS = "Only the person who asked can do that."
OVER = "That can't be done with this answer any more. Ask me again."
TRY_AGAIN = "That did not work. Please try again in a minute."
NOT_DIRECTLY = "Choose “Ask about this” again on a message; this form has expired."

HOME_TITLE = "Footnote"
HOME_LINKED = "Your account is linked. I know what you may read."
HOME_UNLINKED = "Your account is not linked yet, so I can't tell what you may read. Write `/footnote link`."
HOME_ASK = "Your question, if the message is not the question itself"
HOME_NO_SOURCES = "Nothing is searched yet."
HOME_RECENT = "What you asked of late"
HOME_NONE = "Nothing yet."
ASK_TITLE = "Ask about this"
ASK_ALONE = "The answer comes to you alone, in a direct message."
REASONS_TITLE = "What was wrong?"
REASONS = (
    ("wrong", "It is wrong"),
    ("old", "It is out of date"),
    ("missed", "It misses what I asked"),
    ("source", "The source does not say so"),
    ("hard", "It is hard to understand"),
)
REASONS_WORDS = "Anything else? Only those who review answers read it."
