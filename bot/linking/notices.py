"""What people are told in Slack about links. Pure builders; every name stands in typed text, never parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.slack.blocks import sentence
from connectors.chat import Message

NOT_ME = "link_not_me"
"""The action of the button "This wasn't me"."""

NO_LINKING = (
    "Your administrator links accounts. Send them this line, with your address in place of PERSON: "
    "`footnote person link PERSON {account}`"
)
NO_UNLINKING = (
    "Your administrator takes links off. Send them this line, with your address in place of PERSON: "
    "`footnote person unlink PERSON {account}`"
)
NOT_YOU = (
    "Only full members of this workspace can link themselves. Guests, apps and people of other organisations are "
    "linked by an administrator, where that is wanted."
)
HELD = (
    "Somebody said of this account that a link was not theirs, so it can't be linked again today. Ask an administrator."
)
UNLINKED = (
    "Your account is not linked any more. I answer you again once you have linked it with `/footnote link`, in ten "
    "minutes at the earliest."
)
RESTS = "The link of this account was taken off a moment ago. Ten minutes after that it can be linked again."
NOT_LINKED = "Your account is not linked, so there is nothing to take off. `/footnote link` links it."
WRONG_SLACK = (
    "Somebody who is signed in to Slack with another account followed the link that I made for you. Nothing was "
    "linked. Don't pass such a link on; if you did not ask for one, tell your administrator."
)
FOLLOWED_ANOTHERS = (
    "You followed a link that I made for somebody else's Slack account, and signed in to Slack with your own. Nothing "
    "was linked. If somebody sent you that link, tell your administrator: they may have wanted to ask in your name."
)
PROBING = (
    "The Slack account {account} asks nearly the same again and again. Until it lets a minute pass it is not answered. "
    "`footnote trace list` tells what was asked."
)
NOT_A_COMMAND = "I can't do that here any more. `/footnote help` says what I can do."
NOT_ME_DONE = (
    "I have taken the link off and told your administrators. Nobody is answered in your name from this account."
)
NOT_ME_USED = "This button has had its time. `/footnote unlink` takes a link off."


def offered(address: str, minutes: int) -> Message:
    """The way to the pages, for the person who asked alone."""
    words = (
        "Let's find out what you may read. You sign in to Slack and to your company account, and confirm that both are "
        f"yours. The link is for you alone and works once, for {minutes} minutes."
    )
    return _with(words, _button("Link my account", "link_open", url=address, style="primary"), aside=f" {address}")


def linked(company: str, by: str, handle: str) -> Message:
    """It was linked; whoever did not do that can say so at once."""
    words = (
        f"This Slack account is now linked to the company account {company} ({by}). "
        "You get answers from what it may read."
    )
    return _with(words, _button("This wasn't me", NOT_ME, value=handle, style="danger"))


MAIL_SUBJECT = "Your company account was linked in Slack"


def mailed(account: str, company: str, address: str) -> str:
    """The same by mail, to the holder of the company account."""
    return (
        f"The Slack account {account} was just linked to your company account {company}. Whoever writes from it is "
        "answered with what you may read.\n\nIf that was you, there is nothing to do. If it was not, open this address "
        f"and press the button there. It takes the link off and tells the administrators:\n\n{address}\n"
    )


def disowned(account: str, company: str) -> Message:
    """For administrators."""
    return sentence(
        f"The holder of the Slack account {account} says that linking it to {company} was not his doing. The link is "
        "taken off, and the account can't be linked by itself for a day. `footnote trace list` tells what was asked."
    )


def other_address(login: str, email: str) -> Message:
    """For administrators."""
    return sentence(
        f"The login {login} was bound to {email} by that address, and has another one now. It stays bound. If it is "
        "not that person's any more, take it off with `footnote person unlink`."
    )


def _with(words: str, button: Mapping[str, Any], aside: str = "") -> Message:
    said = sentence(words)
    blocks = (*said.blocks, {"type": "actions", "elements": [button]})
    return replace(said, text=said.text + aside, blocks=blocks)


def _button(text: str, action: str, *, url: str = "", value: str = "", style: str = "") -> Mapping[str, Any]:
    more = {"url": url} if url else {}
    more |= {"value": value} if value else {}
    more |= {"style": style} if style else {}
    return {
        "type": "button",
        "text": {"type": "plain_text", "text": text, "emoji": False},
        "action_id": action,
        **more,
    }
