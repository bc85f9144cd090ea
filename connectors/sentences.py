"""Where sentences begin and end, the same for the chunker, the writer and the grounding of claims.

The rules are sentencex's (Wikimedia, MIT). A line that ends without punctuation, such as a list item or a table row,
is a sentence too.
"""

from __future__ import annotations

from sentencex import get_sentence_boundaries

_LONGEST = 20_000  # characters looked at in one piece; longer texts are cut at lines first


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, trimmed; each occurs in the text as it stands."""
    found: list[str] = []
    for line in text.splitlines():
        for start in range(0, len(line), _LONGEST):
            piece = line[start : start + _LONGEST]
            found += [boundary["text"].strip() for boundary in get_sentence_boundaries("en", piece)]
    return [sentence for sentence in found if sentence]
