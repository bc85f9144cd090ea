"""The pages that people see while they link: plain HTML without scripts, pictures or anything from elsewhere. Pure.

Everything that came from outside is escaped where it is put in. One stylesheet, whose digest the content security
policy names; nothing else may run or load.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from hashlib import sha256
from html import escape

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5a6675;--paper:#fff;--ground:#f2f4f7;--line:#d9dfe7;--mark:#1f4f8f;
--on-mark:#fff;--bad:#a3241c}
@media (prefers-color-scheme:dark){:root{--ink:#e8ecf2;--soft:#a3afbe;--paper:#1a212b;--ground:#10151c;--line:#323d4b;
--mark:#7fb2f5;--on-mark:#0d1b2d;--bad:#ff9a91}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--ground);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;padding:1.5rem}
main{width:100%;max-width:34rem;background:var(--paper);border:1px solid var(--line);border-radius:.9rem;
padding:2rem 2rem 1.75rem}
.name{margin:0 0 1.25rem;color:var(--soft);font-weight:600;letter-spacing:.02em}
h1{margin:0 0 .75rem;font-size:1.45rem;line-height:1.25}
h1.bad{color:var(--bad)}
p{margin:.75rem 0}
ol.steps{display:flex;gap:.5rem;list-style:none;margin:0 0 1.25rem;padding:0;font-size:.85rem;color:var(--soft)}
ol.steps li{flex:1;border-top:.25rem solid var(--line);padding-top:.35rem}
ol.steps li.done{border-color:var(--mark)}
ol.steps li[aria-current]{border-color:var(--mark);color:var(--ink);font-weight:600}
dl{margin:1.25rem 0;border:1px solid var(--line);border-radius:.6rem}
dl>div{padding:.8rem 1rem}
dl>div+div{border-top:1px solid var(--line)}
dt{font-size:.85rem;color:var(--soft)}
dd{margin:.1rem 0 0;font-weight:600;overflow-wrap:anywhere}
dd small{display:block;font-weight:400;color:var(--soft)}
code{background:var(--ground);border-radius:.3rem;padding:.1rem .35rem;overflow-wrap:anywhere}
form{display:inline}
.go{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.5rem}
button,a.button{font:inherit;font-weight:600;display:inline-block;cursor:pointer;text-decoration:none;
border-radius:.55rem;padding:.65rem 1.2rem;border:2px solid var(--mark);background:var(--mark);color:var(--on-mark)}
button.quiet{background:transparent;color:var(--ink);border-color:var(--line)}
button:focus-visible,a:focus-visible{outline:3px solid var(--mark);outline-offset:3px}
.small{font-size:.88rem;color:var(--soft)}
"""
STYLE_DIGEST = "sha256-" + base64.b64encode(sha256(_STYLE.encode()).digest()).decode()
_STEPS = ("Slack account", "Company account", "Confirm")


@dataclass(frozen=True, slots=True)
class Page:
    """A page and its status."""

    html: str
    status: int = 200


@dataclass(frozen=True, slots=True)
class Named:
    """An account as a person recognises it."""

    name: str
    detail: str


def start(token: str, account: str) -> Page:
    """What a followed link shows: nothing has happened yet."""
    return _page(
        "Link your Slack account",
        f"""<p>Footnote answers with what <strong>you</strong> may read, so it has to know who you are. You will sign in
twice, to Slack and to your company account, and then confirm that both are yours.</p>
<p class="small">This link was made for the Slack account <code>{escape(account)}</code> and works once. If you did not
ask for it yourself with <code>/footnote link</code>, close this page.</p>
<div class="go"><form method="post" action="/link/start">
<input type="hidden" name="token" value="{escape(token)}">
<button>Continue with Slack</button></form></div>""",
        step=0,
    )


def onwards(address: str, where: str, step: int) -> Page:
    """On the way to a provider. A page of its own: a form may only lead to ourselves."""
    safe = escape(address)
    return _page(
        f"Taking you to {escape(where)}",
        f"""<p>If nothing happens, go on yourself.</p>
<div class="go"><a class="button" href="{safe}">Continue to {escape(where)}</a></div>""",
        step=step,
        head=f'<meta http-equiv="refresh" content="0; url={safe}">',
    )


def consent(slack: Named, company: Named, csrf: str) -> Page:
    """Both accounts by name, and the one button that links them."""
    return _page(
        "Are both accounts yours?",
        f"""<dl><div><dt>Slack account</dt><dd>{escape(slack.name)}<small>{escape(slack.detail)}</small></dd></div>
<div><dt>Company account</dt><dd>{escape(company.name)}<small>{escape(company.detail)}</small></dd></div></dl>
<p>Whoever writes from this Slack account will be answered with everything that the company account may read.
<strong>Link them only if both are your own.</strong></p>
<div class="go"><form method="post" action="/link/confirm"><input type="hidden" name="csrf" value="{escape(csrf)}">
<button>Link these two accounts</button></form>
<form method="post" action="/link/cancel"><input type="hidden" name="csrf" value="{escape(csrf)}">
<button class="quiet">No, cancel</button></form></div>""",
        step=2,
    )


def done(slack: Named, company: Named) -> Page:
    """It is linked."""
    return _page(
        "Your accounts are linked",
        f"""<dl><div><dt>Slack account</dt><dd>{escape(slack.name)}</dd></div>
<div><dt>Company account</dt><dd>{escape(company.name)}</dd></div></dl>
<p>Go back to Slack and ask your question. I have sent you a message there; it has a button in case this was not you.
<code>/footnote unlink</code> takes the link off again.</p>""",
        step=3,
    )


def not_mine(handle: str, account: str) -> Page:
    """From a mail: was it not him?"""
    return _page(
        "Was this link not your doing?",
        f"""<p>The Slack account <code>{escape(account)}</code> is linked to your company account. If you did not
do that, take the link off: nobody is answered in your name from it any more, and your administrators are told.</p>
<div class="go"><form method="post" action="/link/not-me"><input type="hidden" name="handle" value="{escape(handle)}">
<button>It wasn't me: take it off</button></form></div>""",
    )


def taken_off() -> Page:
    """It was not him."""
    return _page("The link is taken off", "<p>Your administrators are told. You can close this page.</p>")


def cancelled() -> Page:
    """He said no."""
    return _page("Nothing was linked", "<p>You can close this page. <code>/footnote link</code> begins again.</p>")


def trouble(title: str, text: str, status: int, code: str = "") -> Page:
    """Why it does not go on, and what to do. `code`: a line to pass on to an administrator."""
    line = f"<p><code>{escape(code)}</code></p>" if code else ""
    return _page(escape(title), f"<p>{escape(text)}</p>{line}", status=status, bad=True)


def _page(
    title: str, body: str, *, step: int | None = None, status: int = 200, head: str = "", bad: bool = False
) -> Page:
    steps = "" if step is None else _progress(step)
    shown = ' class="bad"' if bad else ""
    html = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} · Footnote</title>{head}<style>{_STYLE}</style></head>\n"
        f'<body><main><p class="name">Footnote</p>{steps}<h1{shown}>{title}</h1>\n{body}\n</main></body></html>\n'
    )
    return Page(html, status)


def _progress(step: int) -> str:
    items = []
    for number, name in enumerate(_STEPS):
        if number == step:
            items.append(f'<li aria-current="step">{number + 1}. {name}</li>')
        elif number < step:
            items.append(f'<li class="done">{number + 1}. {name}</li>')
        else:
            items.append(f"<li>{number + 1}. {name}</li>")
    return f'<ol class="steps" aria-label="Steps">{"".join(items)}</ol>'
