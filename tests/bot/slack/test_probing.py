"""Who asks nearly the same again and again, and who only asks much."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.slack.probing import MOST, Probing, Verdict

ASHA, BEN = "slack:T1:U0ASHA", "slack:T1:U0BEN"


def asked(texts: list[str], now: datetime, asker: str = ASHA, each: float = 1.5) -> list[Verdict]:
    """The verdicts on these, one after the other."""
    probing = Probing()
    return [probing.verdict(asker, text, now + timedelta(seconds=each * at)) for at, text in enumerate(texts)]


def test_t073_forty_that_are_nearly_the_same_in_a_minute_are_too_many(now: datetime) -> None:
    found = asked([f"Is person {number} being dismissed?" for number in range(40)], now)

    assert found == [*["few"] * MOST, "first too many", *["too many"] * (39 - MOST)]


def test_forty_different_ones_are_few(now: datetime) -> None:
    words = "travel badge claims payer denial bonus leave laptop".split()
    texts = [f"{one} of {other} {number}" for number, one in enumerate(words) for other in words if one != other]

    assert set(asked(texts[:40], now)) == {"few"}


def test_the_same_now_and_then_is_few(now: datetime) -> None:
    assert set(asked(["What is the bonus?"] * 40, now, each=6)) == {"few"}


def test_after_a_minute_he_is_answered_and_nobody_else_ever_waited(now: datetime) -> None:
    probing, text = Probing(), "What is the bonus?"
    for _ in range(2 * MOST):
        probing.verdict(ASHA, text, now)

    assert probing.verdict(BEN, text, now) == "few"
    assert probing.verdict(ASHA, "Which airfare needs approval?", now) == "few"
    assert probing.verdict(ASHA, text, now) == "too many"
    assert probing.verdict(ASHA, text, now + timedelta(minutes=1)) == "few"


def test_who_goes_on_is_told_of_once_an_hour(now: datetime) -> None:
    found = asked(["What is the bonus?"] * 600, now, each=1.0)

    assert found.count("first too many") == 1
