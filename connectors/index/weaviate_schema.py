"""The layout of the index in Weaviate, and what is read back of it at every start.

An index is two collections. `NAME_vN` holds the passages, one object each; the alias `NAME` points at the one that
serves. `NAME_vN_heads` holds one object for each version of a document, its *head*: which writing of the version
counts. Weaviate has no transactions, but one object is written whole: a version changes with its head.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connectors.index.lexical import ANALYSER
from connectors.ports import IndexIdentity

LAYOUT = f"weaviate/1, {ANALYSER}"

Json = dict[str, Any]

_FIELD: Json = {"dataType": ["text"], "indexFilterable": True, "indexSearchable": False, "tokenization": "field"}
_NUMBER: Json = {"dataType": ["int"], "indexFilterable": True, "indexRangeFilters": False}
_RANGED: Json = {"dataType": ["int"], "indexFilterable": True, "indexRangeFilters": True}
_KEPT: Json = {"dataType": ["text"], "indexFilterable": False, "indexSearchable": False, "tokenization": "field"}

# Texts that are compared are written in ASCII without white space at their ends (`field` trims it); what is only given
# back is one JSON text, so that every character comes back as it was: the gate compares digests.
PROPERTIES: Mapping[str, Json] = {
    "scope": _NUMBER,
    # As text: the server keeps the numbers of a list as doubles, which are exact to 2**53 only.
    "containers": {"dataType": ["text[]"], "indexFilterable": True, "indexSearchable": False, "tokenization": "field"},
    "effective_from": _RANGED,
    "effective_to": _RANGED,
    "superseded": _NUMBER,
    "trust": _NUMBER,
    "source": _FIELD,
    "document": _FIELD,
    "version": _FIELD,
    "edition": _FIELD,  # document and version
    "spine": {"dataType": ["uuid"], "indexFilterable": True},
    "head": {"dataType": ["uuid"], "indexFilterable": False},
    "generation": _NUMBER,  # which writing of the version the object belongs to
    "parent": _FIELD,
    "digest": _FIELD,
    "vector_key": _FIELD,
    "place": _FIELD,  # of scope, ancestors and containers: whether a move has reached this object
    # Words as `lexical` settled them, the same as the embedded index ranks by; nothing is left for the server to split.
    "words": {"dataType": ["text"], "indexFilterable": True, "indexSearchable": True, "tokenization": "whitespace"},
    "codes": {"dataType": ["text[]"], "indexFilterable": True, "indexSearchable": False, "tokenization": "field"},
    "chunk": _KEPT,
    "body": _KEPT,
    "ancestors": _KEPT,
}
HEAD_PROPERTIES: Mapping[str, Json] = {
    "edition": _FIELD,
    "generation": {"dataType": ["int"], "indexFilterable": False, "indexRangeFilters": False},
}
_COMPARED = ("dataType", "indexFilterable", "indexSearchable", "indexRangeFilters", "tokenization")
_BM25 = {"k1": 1.2, "b": 0.75}


@dataclass(frozen=True, slots=True)
class Names:
    """The two collections of one index."""

    passages: str

    @property
    def heads(self) -> str:
        return f"{self.passages}_heads"

    @property
    def number(self) -> int:
        return int(self.passages.rpartition("_v")[2])


def names(alias: str, number: int) -> Names:
    """The collections of the index with this number under an alias."""
    return Names(f"{alias}_v{number}")


def passages(name: str, identity: IndexIdentity, replication: int) -> Json:
    """The collection of passages as it is created."""
    return {
        "class": name,
        "description": json.dumps(described(identity), sort_keys=True),
        "vectorizer": "none",
        "vectorIndexType": "hnsw",
        # Fewer readable passages than the cutoff are compared one by one, so that what few may read is found exactly.
        "vectorIndexConfig": {"distance": "cosine", "flatSearchCutoff": 40_000, "filterStrategy": "acorn"},
        "invertedIndexConfig": {"bm25": _BM25, "stopwords": {"preset": "none"}},
        **_spread(replication),
        "properties": [{"name": name, **wanted} for name, wanted in PROPERTIES.items()],
    }


def heads(name: str, replication: int) -> Json:
    """The collection of heads as it is created."""
    return {
        "class": name,
        "vectorizer": "none",
        "vectorIndexType": "hnsw",
        "vectorIndexConfig": {"skip": True, "distance": "cosine"},
        **_spread(replication),
        "properties": [{"name": name, **wanted} for name, wanted in HEAD_PROPERTIES.items()],
    }


def _spread(replication: int) -> Json:
    # One shard: word statistics are those of the whole index, and every node with a copy has all of it.
    return {"shardingConfig": {"desiredCount": 1}, "replicationConfig": {"factor": replication}}


def described(identity: IndexIdentity) -> Json:
    """What the passages were made with; kept in the collection's description."""
    return {
        "model": identity.model,
        "dimensions": identity.dimensions,
        "schema": identity.schema,
        "layout": LAYOUT,
    }


def identity_of(live: Mapping[str, Any]) -> Json:
    """What a collection says it was made with; empty when it was not made by us."""
    try:
        read = json.loads(live.get("description") or "")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def difference(live: Mapping[str, Any]) -> str | None:
    """How a live collection of passages differs from the layout, in a few words; None where it does not."""
    found = {each["name"]: each for each in live.get("properties", ())}
    for name, wanted in PROPERTIES.items():
        if name not in found:
            return f"property {name!r} is missing"
        for key in _COMPARED:
            if key in wanted and found[name].get(key) != wanted[key]:
                return f"{key} of {name!r} is {found[name].get(key)!r} instead of {wanted[key]!r}"
    if strange := sorted(found.keys() - PROPERTIES.keys()):
        return f"property {strange[0]!r} is not part of it"
    inverted = live.get("invertedIndexConfig", {})
    if (preset := inverted.get("stopwords", {}).get("preset")) != "none":
        return f"stop words are {preset!r} instead of 'none'"
    if any(inverted.get("bm25", {}).get(key) != wanted for key, wanted in _BM25.items()):
        return f"bm25 is {inverted.get('bm25')}"
    if (distance := live.get("vectorIndexConfig", {}).get("distanceMetric")) != "cosine":
        return f"the distance is {distance!r} instead of 'cosine'"
    return None
