"""Any endpoint that speaks OpenAI's chat completions, as a writer: a hosted one, a gateway, or a model of one's own.

Only what such endpoints have in common is used: messages, temperature, seed, a bound on tokens. Citations are ids in
brackets behind each sentence. A sentence without one, or with one that was never given out, is dropped by grounding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from connectors.errors import DoorError, Transient
from connectors.http import Answer, Limits, Site, refusal
from connectors.models.prompt import LONGEST, MARKED_RULES, MOST_TOKENS, SEED, Said, Sheet, draft_of, marked, version
from connectors.records import Draft, Evidence
from connectors.usage import Spent, Tell

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)  # some endpoints leave it in the text
_THINKING = 4  # times as many tokens where thoughts count as well
_UNITS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
_FINISHED = {"stop", "length", "content_filter", "tool_calls", "function_call"}


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """Where it is, the key if it has one, and whom to tell what was spent."""

    site: Site
    key: str | None
    tell: Tell


class OpenAIWriter:
    """Implements `ports.Writer`."""

    prompt = version(MARKED_RULES, str(MOST_TOKENS))

    def __init__(self, endpoint: Endpoint, model: str, limits: Limits) -> None:
        self._endpoint = endpoint
        self._name = model
        self._limits = limits
        self._newer = False  # found out by asking, once

    @property
    def model(self) -> str:
        """Named in the trace."""
        return f"openai/{self._name}"

    async def write(self, question: str, parts: Sequence[str], evidence: Sequence[Evidence]) -> Draft:
        """Have the question answered from the evidence. What is cut short, refused or unmarked claims nothing that
        holds."""
        sheet = Sheet.of(question, parts, evidence)
        if not sheet.passages:
            return Draft((), (), sheet.parts, self.model)
        content, units = await self._ask(
            [{"role": "system", "content": MARKED_RULES}, {"role": "user", "content": sheet.marked()}], MOST_TOKENS
        )
        text, finish = _chosen(content)
        said: list[Said] = marked(text, sheet) if finish == "stop" and len(text) <= LONGEST else []
        draft = draft_of(said, sheet, self.model + _resolved(content.get("model"), self._name))
        return replace(draft, usage=units, finish=finish, request=_id(content.get("id")))

    async def ping(self) -> None:
        """Have a word written; raises the DoorError family when that can't be done."""
        await self._ask([{"role": "user", "content": "Say: ready"}], 16)

    async def _ask(self, messages: list[dict[str, str]], tokens: int) -> tuple[Mapping[str, Any], dict[str, int]]:
        endpoint = self._endpoint
        try:
            newer = self._newer  # as it was: another question may find out meanwhile
            answer = await self._sent(messages, tokens, newer)
            if answer.status in (400, 422) and not newer:
                answer = await self._sent(messages, tokens, True)
                self._newer = answer.ok
            if not answer.ok:
                raise refusal(answer, "FOOTNOTE_OPENAI_API_KEY")
            content = answer.json()
            if not isinstance(content, dict):
                raise Transient(f"{endpoint.site.name} answered in a shape that nobody knows")
        except DoorError:
            endpoint.tell(Spent("write", self._name, {}, failed=True))
            raise
        units = _billed(content.get("usage"))
        endpoint.tell(Spent("write", self._name, units, retries=answer.attempts - 1))
        return content, units

    async def _sent(self, messages: list[dict[str, str]], tokens: int, newer: bool) -> Answer:
        # Newer models of OpenAI's own refuse the words that every other endpoint has, and think before they write.
        bounds = (
            {"max_completion_tokens": _THINKING * tokens}
            if newer
            else {"max_tokens": tokens, "temperature": 0, "seed": SEED}
        )
        body = {"model": self._name, "messages": messages, "stream": False, **bounds}
        headers = {"Authorization": f"Bearer {self._endpoint.key}"} if self._endpoint.key else {}
        return await self._endpoint.site.request(
            "POST", "chat/completions", json=body, headers=headers, repeatable=True, limits=self._limits
        )


def _billed(usage: object) -> dict[str, int]:
    found = usage if isinstance(usage, dict) else {}
    counts = {ours: found.get(theirs) for theirs, ours in _UNITS.items()}
    return {unit: count for unit, count in counts.items() if _is_count(count)}


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _chosen(content: Mapping[str, Any]) -> tuple[str, str]:
    """What was written, and why the writing stopped. Raises Transient where there is nothing of the kind."""
    choices = content.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise Transient("the endpoint answered in a shape that nobody knows")
    text, finish = choice["message"].get("content"), choice.get("finish_reason")
    if choice["message"].get("refusal"):
        text = ""
    known = finish if isinstance(finish, str) and finish in _FINISHED else "stop" if finish is None else "other"
    return (_THOUGHT.sub("", text, count=1) if isinstance(text, str) else ""), known


def _resolved(value: object, name: str) -> str:
    """Which model answered, where a name stands for the newest of several."""
    told = _id(value)
    return f" as {told}" if told and told != name else ""


def _id(value: object) -> str:
    """The endpoint's id of a request, where it is one."""
    return value if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9._:\-]{1,100}", value) else ""
