"""Mail, over a real connection to a server on this machine."""

from __future__ import annotations

import pytest

from connectors.errors import Skip, Stop, Transient
from connectors.mail import MailServer
from tests.doubles.mail import FakeMail

FROM, TO = "footnote@example.com", "asha@example.com"


async def test_a_message_is_handed_over_as_plain_text() -> None:
    mail = FakeMail()
    async with mail.open() as address:
        await MailServer(address, FROM, in_clear=True).send(TO, "It was linked", "Grüße.\n\nhttps://x.example/link\n")

    [came] = mail.came
    assert (came["From"], came["To"], came["Subject"]) == (FROM, TO, "It was linked")
    assert came["Auto-Submitted"] == "auto-generated"
    assert came.get_content_type() == "text/plain"
    assert came.get_content().split() == ["Grüße.", "https://x.example/link"]


async def test_an_address_that_nobody_has_is_passed_over() -> None:
    mail = FakeMail(refuses="550 no such user")
    async with mail.open() as address:
        with pytest.raises(Skip):
            await MailServer(address, FROM, in_clear=True).send(TO, "s", "t")
        with pytest.raises(Skip):
            await MailServer(address, FROM, in_clear=True).send("x@example.com\nBcc: y@example.com", "s", "t")

    assert mail.came == []


async def test_a_server_that_is_away_is_said_so_without_a_word_of_the_message() -> None:
    with pytest.raises(Transient) as caught:
        await MailServer("smtp://127.0.0.1:1", FROM, in_clear=True).send(TO, "SECRET", "SECRET")

    assert "SECRET" not in str(caught.value)
    assert TO not in str(caught.value)


async def test_a_server_that_has_no_tls_gets_nothing() -> None:
    mail = FakeMail()
    async with mail.open() as address:
        with pytest.raises(Stop):
            await MailServer(address, FROM).send(TO, "s", "t")

    assert mail.came == []
