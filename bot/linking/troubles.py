"""Why linking does not go on, in words that say what to do and nothing about anybody else. Pure."""

from __future__ import annotations

from bot.linking.pages import Page, trouble

_AGAIN = "Ask for a new one with /footnote link in Slack."


def spent() -> Page:
    """A secret that is worth nothing any more, or never was."""
    return trouble("This link can't be used", f"It was used already, or has had its time. {_AGAIN}", 410)


def over() -> Page:
    """A "this wasn't me" that was said already, or too late."""
    return trouble(
        "That can't be done any more",
        "It was done already, or the notice is too old. /footnote unlink in Slack takes a link off, and so does your "
        "administrator.",
        410,
    )


def elsewhere() -> Page:
    """A way back that another browser went out on."""
    return trouble(
        "This sign-in does not belong to this browser",
        f"It was begun in another browser, or has had its time. Nothing was linked. {_AGAIN}",
        400,
    )


def forged() -> Page:
    """A form that is not the one we showed."""
    return trouble(
        "That did not come from our page",
        f"Nothing was linked. Go back to the page with both accounts and press its button, or begin again. {_AGAIN}",
        403,
    )


def not_accepted(why: str) -> Page:
    """What a provider sent back does not prove a login."""
    if why == "denied":
        return trouble("You were not signed in", f"The sign-in was cancelled or refused. {_AGAIN}", 400)
    return trouble(
        "The sign-in could not be verified",
        f"What came back does not prove who you are, so nothing was linked. {_AGAIN}",
        400,
    )


def another_slack() -> Page:
    """The Slack account is not the one the link was made for."""
    return trouble(
        "This link was made for another Slack account",
        "You are signed in to Slack as somebody else than the person who asked for it. Nothing was linked, and both "
        "were told. If somebody sent you this link, tell your administrator.",
        403,
    )


def unknown(line: str) -> Page:
    """A login of nobody in the directory; `line` is for an administrator."""
    return trouble(
        "The company directory does not know this account",
        "You are signed in, but no person of the directory has this account. Send your administrator the line below: "
        "he imports you, or binds it to you with `footnote person link`.",
        403,
        line,
    )


def not_a_member() -> Page:
    """An account, or a person, that is closed or no full member."""
    return trouble(
        "This account can't be linked",
        "Only active full members can link themselves. Ask your administrator.",
        403,
    )


def kept_off(why: str) -> Page:
    """One of the two had a link that was taken off a while ago; `why` is the sentence that Slack would say."""
    return trouble("This can't be linked yet", why, 403)


def no_refresh() -> Page:
    """The provider gave nothing by which to ask again."""
    return trouble(
        "The company sign-in is not set up for this",
        "It does not let Footnote ask later whether your account is still open (offline access). An administrator has "
        "to allow that at the identity provider.",
        502,
    )


def bound_elsewhere() -> Page:
    """One of the two is bound to something else."""
    return trouble(
        "One of the two accounts is linked already",
        "The company account has another Slack account, or this Slack account is somebody else's. Take that link off "
        "first with /footnote unlink there, or ask your administrator.",
        409,
    )
