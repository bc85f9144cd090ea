"""Prints what the detectors of personal data and of injection are worth, on data that is not part of this project.

    FOOTNOTE_BENCH_DATA=../shared/data .venv/bin/python tests/bench/detectors.py

Personal data: rows of presidio-research (MIT), split by template: every other template, by number, was tuned on, the
others were not, except that half of those was looked at once. A span counts when kinds agree and the two stretches
share at least half of what they cover together. Injection: deepset/prompt-injections (Apache-2.0) and NotInject (MIT);
false alarms are also counted on pages of two policy collections, in stretches of 1,000 characters.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from connectors.injection import Detectors, badger
from connectors.pii import Presidio
from policies.facts import Trust
from policies.injection import signals

DATA = Path(os.environ.get("FOOTNOTE_BENCH_DATA", "../shared/data"))
KINDS = ("PERSON", "EMAIL_ADDRESS", "PHONE_NUMBER", "IBAN_CODE", "CREDIT_CARD", "US_SSN")


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / path).read_text(encoding="utf-8").splitlines()]


def pages() -> list[str]:
    texts = [
        path.read_text(encoding="utf-8")
        for folder in ("handbook-gsa-tts/md", "policy-versions/md")
        for path in sorted((DATA / folder).rglob("*.md"))
    ]
    return [text[start : start + 1_000] for text in texts for start in range(0, len(text), 1_000)]


Stretch = tuple[int, int, str]


def same(one: Stretch, two: Stretch) -> bool:
    shared = min(one[1], two[1]) - max(one[0], two[0])
    return one[2] == two[2] and shared > 0 and 2 * shared >= max(one[1], two[1]) - min(one[0], two[0])


def scores(right: int, wrong: int, missed: int) -> str:
    precision, recall = right / max(right + wrong, 1), right / max(right + missed, 1)
    f2 = 5 * precision * recall / max(4 * precision + recall, 1e-9)
    return f"{precision:9.3f} {recall:7.3f} {f2:6.3f}"


def personal(detector: Presidio, sentences: Sequence[dict[str, Any]], name: str) -> None:
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    for sentence in sentences:
        gold = [(span["start"], span["end"], span["type"]) for span in sentence["spans"] if span["type"] in KINDS]
        for span in detector.find(sentence["text"]):
            if span.kind not in KINDS or span.score < 0.4:
                continue
            found = (span.start, span.end, span.kind)
            hit = next((other for other in gold if same(found, other)), None)
            if hit:
                gold.remove(hit)
                right[span.kind] += 1
            else:
                wrong[span.kind] += 1
        missed.update(kind for _, _, kind in gold)
    print(f"\n{name}: {len(sentences)} sentences\n{'kind':16}{'n':>5} precision  recall     F2")
    for kind in KINDS:
        count = right[kind] + missed[kind]
        print(f"{kind:16}{count:5} {scores(right[kind], wrong[kind], missed[kind])}")
    total = right.total() + missed.total()
    print(f"{'all':16}{total:5} {scores(right.total(), wrong.total(), missed.total())}")


def speed(detector: Presidio, texts: Sequence[str]) -> None:
    cold, warm, people = [], [], 0
    for text in texts:
        for times in (cold, warm):
            before = time.process_time()
            spans = detector.find(text[:600])
            times.append(1_000 * (time.process_time() - before))
        people += sum(span.kind == "PERSON" for span in spans)
    cold.sort()
    warm.sort()
    print(
        f"\n600 characters of a policy page: first time p50 {cold[len(cold) // 2]:.1f} ms of CPU, p95 "
        f"{cold[len(cold) * 95 // 100]:.1f}; again p50 {warm[len(warm) // 2]:.2f}; {people} names on {len(texts)} pages"
    )


def injection(name: str, texts: Sequence[str]) -> None:
    before = time.process_time()
    verdicts = asyncio.run(Detectors(seconds=600).trust(texts))
    spent = 1_000 * (time.process_time() - before) / len(texts)
    counts = Counter(verdict.trust for verdict in verdicts)
    ours = sum(bool(signals(text)) for text in texts)
    theirs = sum(bool(badger(text)) for text in texts)
    shares = [counts[Trust.QUARANTINED], counts[Trust.QUARANTINED] + counts[Trust.SUSPECT], ours, theirs]
    print(f"{name:34}{len(texts):6}" + "".join(f"{share / len(texts):12.4f}" for share in shares) + f"{spent:9.1f}")


def family(text: str) -> str:
    """A coarse kind of attack, by what it opens with or says."""
    lowered = text.lower()
    if any(word in lowered for word in ("act as", "fungier", "auftreten", "agieren", "pretend", "imagine", "you are ")):
        return "role play"
    if any(
        word in lowered
        for word in ("ignor", "forget", "vergiss", "vergessen", "disregard", "olvid", "oubli", "забуд", "zaborav")
    ):
        return "override"
    return "no word of its own"


def main() -> None:
    detector = Presidio()
    detector.load()
    sentences = rows("pii/presidio_synth_part.jsonl")
    templates = sorted({sentence["template_id"] for sentence in sentences})
    tuned, others = set(templates[::2]), templates[1::2]
    seen = set(others[::2])
    personal(detector, [each for each in sentences if each["template_id"] in tuned], "tuned on")
    personal(detector, [each for each in sentences if each["template_id"] in seen], "looked at once")
    personal(detector, [each for each in sentences if each["template_id"] not in tuned | seen], "not looked at")
    personal(detector, sentences, "all")
    stretches = pages()
    speed(detector, stretches[::40])

    print(
        f"\n{'injection':34}{'n':>6}{'quarantined':>12}{'+ suspect':>12}{'our rules':>12}{'promptb.':>12}{'ms CPU':>9}"
    )
    attacks = rows("injection/attacks.jsonl")
    injection("attacks, all (recall)", [each["text"] for each in attacks])
    for split in ("train", "test"):
        injection(f"  {split} split", [each["text"] for each in attacks if each["split"] == split])
    for kind in ("override", "role play", "no word of its own"):
        injection(f"  {kind}", [each["text"] for each in attacks if family(each["text"]) == kind])
    benign = rows("injection/benign.jsonl")
    injection("questions (false alarms)", [each["text"] for each in benign if each["source"] == "deepset"])
    injection("NotInject (false alarms)", [each["text"] for each in benign if each["source"] == "NotInject"])
    injection("policy passages (false alarms)", stretches)


if __name__ == "__main__":
    main()
