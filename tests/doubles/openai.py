"""An endpoint that speaks OpenAI's chat completions, on this machine. It answers what a test tells it to."""

from __future__ import annotations

import re
from collections.abc import Callable

from aiohttp import web

from tests.doubles.vendor import Json, Refusal, Vendor

KEY = "sk-test-key"
CHAT = "/v1/chat/completions"
_PASSAGE = re.compile(r'<passage id="([^"]+)">\n(.*?)\n</passage>', re.DOTALL)


class OpenAI(Vendor):
    """The double; `writes` is given the user's message and the passages in it, by id."""

    paths = (CHAT,)

    def __init__(self, writes: Callable[[str, dict[str, str]], str] = lambda _question, _passages: "NO ANSWER") -> None:
        super().__init__()
        self.writes = writes
        self.key: str | None = KEY
        self.newer = False  # wants the words of OpenAI's newer models

    def allowed(self, request: web.Request) -> None:
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            raise Refusal(401, "Incorrect API key provided")

    async def right(self, path: str, body: Json) -> Json:
        if not body.get("model") or not body.get("messages"):
            raise Refusal(400, "you must provide a model parameter")
        if self.newer and ("max_tokens" in body or body.get("temperature", 1) != 1):
            raise Refusal(400, "Unsupported parameter: use max_completion_tokens")
        asked = body["messages"][-1]["content"]
        text = self.writes(asked, dict(_PASSAGE.findall(asked)))
        return {
            "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
            "object": "chat.completion",
            "created": 1741570283,
            "model": f"{body['model']}-2026-01-01",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text, "refusal": None, "annotations": []},
                    "logprobs": None,
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": len(asked.split()), "completion_tokens": len(text.split()), "total_tokens": 0},
            "service_tier": "default",
        }
