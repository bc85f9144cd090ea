"""Mail through one server: plain text to one person, over TLS. Port `Mail`.

Whether a message arrives nobody knows. No error holds a word of one, an address or the password.
"""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from connectors.errors import Skip, Stop, Transient

_SECONDS = 10.0  # for each answer of the server


class MailServer:
    """Hands messages to a server at `smtps://[USER@]HOST[:PORT]`, or at `smtp://…`, which is then asked for TLS."""

    def __init__(self, address: str, sender: str, password: str | None = None, *, in_clear: bool = False) -> None:
        """`in_clear`: without TLS, as is good on this machine alone."""
        self._in_clear = in_clear
        self._parts = urlsplit(address)
        self._sender = sender
        self._password = password

    async def send(self, to: str, subject: str, text: str) -> None:
        """Hand over one message."""
        message = EmailMessage()
        try:
            message["From"], message["To"], message["Subject"] = self._sender, to, subject
        except ValueError as error:
            raise Skip("nobody has such an address") from error
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text)
        try:
            await asyncio.to_thread(self._hand_over, message)
        except smtplib.SMTPRecipientsRefused as error:
            raise Skip("the mail server knows no such address") from error
        except (smtplib.SMTPAuthenticationError, smtplib.SMTPNotSupportedError, ssl.SSLError) as error:
            raise Stop(f"the mail server can't be used ({type(error).__name__}); check FOOTNOTE_MAIL_SERVER") from error
        except OSError as error:  # of which smtplib's own are
            raise Transient(f"the mail server did not take a message ({type(error).__name__})") from error

    def _hand_over(self, message: EmailMessage) -> None:
        host, port, context = self._parts.hostname or "", self._parts.port, ssl.create_default_context()
        if self._parts.scheme == "smtps":
            server: smtplib.SMTP = smtplib.SMTP_SSL(host, port or 465, timeout=_SECONDS, context=context)
        else:
            server = smtplib.SMTP(host, port or 587, timeout=_SECONDS)
        with server:
            if self._parts.scheme == "smtp" and not self._in_clear:
                server.starttls(context=context)
            if self._parts.username:
                server.login(unquote(self._parts.username), self._password or "")
            server.send_message(message)
