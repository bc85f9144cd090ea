"""Words of passages and questions, and BM25 over what an asker may read.

Words are settled here, once, for both sides: the full-text table takes them as they come. No word is left out of the
index ("not covered" keeps its "not"); a question loses only words that say nothing on their own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from threading import local
from typing import TYPE_CHECKING

import numpy as np
import Stemmer

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANALYSER = "words/1 snowball-english"  # part of an index's identity: a change of words asks for a new index

_WORD = re.compile(r"[^\W_]+")
_LONGEST_WORD = 64
_MOST_WORDS = 64  # of a question
_K1, _B = 1.2, 0.75

# Function words that change no rule. "not", "no", "if", "only", "without", "until", "may" and "must" do, and stay.
_SAY_NOTHING = frozenset(
    (
        "a an and are as at be been being by do does did for from had has have he her his how i in is it its me my of "
        "on or our she so that the their them there they this those these to us was we were what when where which who "
        "whom whose why you your can could would should will about am s t"
    ).split()
)

_stemmers = local()  # a stemmer is not safe across threads


def words_of(text: str) -> list[str]:
    """The stems of a text, in order, each as often as it occurs."""
    found = [
        word for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()) if len(word) <= _LONGEST_WORD
    ]
    return _stems(found)


def passage_words(header: str, text: str) -> list[str]:
    """The stems a passage is found by; those of its header, which names what it is about, count twice."""
    return words_of(f"{header}\n{header}\n{text}")


def question_words(text: str) -> list[str]:
    """The distinct stems that a question is searched by."""
    found = _WORD.findall(unicodedata.normalize("NFKC", text[:20_000]).casefold())
    telling = [word for word in found if word not in _SAY_NOTHING] or found
    return list(dict.fromkeys(_stems([word for word in telling if len(word) <= _LONGEST_WORD])))[:_MOST_WORDS]


def _stems(words: list[str]) -> list[str]:
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        stemmer = _stemmers.english = Stemmer.Stemmer("english")
    return list(stemmer.stemWords(words))


def bm25(
    postings: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float32]]],
    allowed: NDArray[np.bool_],
    lengths: NDArray[np.float32],
) -> NDArray[np.float32]:
    """The BM25 score of every row; rows not allowed have none and are counted in no statistic, so that what an asker
    may not read moves nothing in his results. The inverse document frequency is Weaviate's: ln(1 + (N-n+.5)/(n+.5))."""
    scores = np.zeros(len(allowed), np.float32)
    total = int(np.count_nonzero(allowed))
    if not total:
        return scores
    mean = float(lengths[allowed].mean()) or 1.0
    for rows, counts in postings.values():
        readable = allowed[rows]
        rows, counts = rows[readable], counts[readable]
        if not len(rows):
            continue
        weight = np.float32(np.log1p((total - len(rows) + 0.5) / (len(rows) + 0.5)))
        norm = _K1 * (1 - _B + _B * lengths[rows] / mean)
        scores[rows] += weight * counts * np.float32(_K1 + 1) / (counts + norm)
    return scores
