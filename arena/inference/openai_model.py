"""Models behind OpenAI-compatible servers, `kind = "api"`: one streamed chat completion an answer, images as data URLs.

A stream that ends without a `finish_reason` was cut.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any

from arena.inference.base import CardTable, ModelKind, Stripped, Text
from arena.inference.endpoint import Endpoint, KeyRedaction
from arena.inference.limits import ATTEMPTS, WHOLE, check_limits, cost, most_usage
from arena.inference.openai_client import (
    PASSING,
    Call,
    OpenAIClient,
    Retries,
    Tokens,
    Trouble,
    counted,
    data_url,
)
from arena.io.strict_json import storable
from arena.types import (
    Conversation,
    Generation,
    ModelCard,
    ModelError,
    ModelTrouble,
    Secret,
    Turn,
    Usage,
    pass_over,
)
from arena.validation import must_be

_LOG = logging.getLogger(__name__)
_RETRIES = Retries(attempts=ATTEMPTS, patience=10.0)
MOST_CHARACTERS = 100_000
"""Most characters of an answer; a server that sends more is broken."""
_MOST_BYTES = 20_000_000
_ENDS = frozenset(("stop", "length", "eos_token", "stop_sequence"))
"""Finish reasons of a whole answer, as OpenAI and text-generation-inference call them."""
_OPTIONAL = ("stream_options", "max_tokens")
"""Fields that some servers refuse; the request is then repeated without them, or with a newer name."""
_SAME: tuple[ModelTrouble, ...] = ("slow", "bad reply", "too big", "refused", "spent")
"""Troubles of a call that are those of a model; with any other the model is down."""

_VARIABLE = re.compile(r"([A-Za-z_]\w*)?", re.ASCII)
_JOINER = "\u2060"
"""Word joiner: invisible, and part of no tokenizer's control token."""
_CONTROL = re.compile(
    r"<\|?/?[A-Za-z_][\w ./:-]{0,40}\|>|<\|[^<>|\n]{1,40}\|?>"  # <|im_end|>, <|user|>, <|eot_id|>
    r"|<｜[^<>\n]{1,40}｜>"  # DeepSeek
    r"|</?(?:s|bos|eos|pad|unk|image|img|video|audio|image_soft_token|fake_token_around_image|end_of_utterance"
    r"|start_of_turn|end_of_turn|start_of_image|end_of_image|IMG_CONTEXT|image_placeholder|global-img|row_\d+_col_\d+)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|IMG|IMG_BREAK|IMG_END)\]|<</?SYS>>",
    re.IGNORECASE,
)
"""Control tokens: what would end a turn, begin another or stand for an image."""


class ApiTable(CardTable, frozen=True):
    """Keys of a server's model."""

    model: Text
    address: Text
    key_from: Annotated[
        Stripped,
        must_be(
            "the name of an environment variable, as in OPENAI_API_KEY",
            _VARIABLE.fullmatch,
            hidden="a key",
        ),
    ] = ""

    def own(self, secret: Callable[[str], Secret]) -> dict[str, Any]:
        """Address and key. Raises EndpointError."""
        key = secret(self.key_from) if self.key_from else Secret("")
        return {"address": Endpoint(self.address, key).shown, "key": key}


class _Answer(Call):
    """State of one attempt."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self.pieces = 0
        self.characters = 0
        self.finish: str | None = None
        self.tokens: Tokens | None = None
        """Tokens so far, by the server's own count."""
        self._redaction = KeyRedaction(endpoint)
        self._half = ""
        """First half of a surrogate pair, whose second half may come with the next event."""

    def take(self, event: Mapping[str, Any]) -> str:
        """Take an event and return its new text, without what may become the key. Raises Trouble."""
        self.tokens = counted(event.get("usage")) or self.tokens
        choices = event.get("choices")
        if not choices:
            return ""
        choice = choices[0]
        self.finish = choice.get("finish_reason") or self.finish
        text = (choice.get("delta") or {}).get("content") or ""
        if not isinstance(text, str):
            raise TypeError("content is no text")
        self.pieces += bool(text)
        self.characters += len(text)
        if self.characters > MOST_CHARACTERS:
            raise Trouble("too big", f"the server's answer has over {MOST_CHARACTERS:,} characters")
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return self._redaction.take(storable(text.removesuffix(self._half)))

    def ended(self) -> str:
        """The last text. Raises ModelError if the answer is not whole."""
        if self.finish == "content_filter":
            raise ModelError("refused", "the server's content filter stopped the answer")
        if self.finish not in _ENDS:
            raise ModelError(
                "cut", "the stream ended before the answer was whole (no finish_reason)"
            )
        return self._redaction.take(storable(self._half)) + self._redaction.rest


class ApiVLM:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self._dropped: set[str] = set()
        self._endpoint = Endpoint(card.address, card.key)
        self._client = OpenAIClient(self._endpoint, card.timeout, most=_MOST_BYTES)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def stream(
        self, turns: Conversation, settings: Generation, note: Callable[[Usage], None] = pass_over
    ) -> AsyncGenerator[str, None]:
        """Yield the answer as it comes, as `VLM.stream` says; retries only while no word has come."""
        check_limits(self.card, turns)
        await self._client.open()
        deadline = asyncio.get_running_loop().time() + WHOLE * self.card.timeout
        attempt = 1
        while True:
            answer = _Answer(self._endpoint)
            try:
                async with aclosing(self._attempt(turns, settings, answer, deadline)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except Trouble as error:
                trouble = error
            finally:
                if answer.sent:
                    note(self._usage(turns, settings, answer))
            if refused := [field for field in _OPTIONAL if field in trouble.named - self._dropped]:
                self._dropped.add(refused[0])
                continue
            _LOG.info("%s: %s (attempt %d)", self.card.name, trouble, attempt)
            if (
                trouble.kind == "slow"
                or answer.pieces
                or not await _RETRIES.another(attempt, trouble)
            ):
                same: ModelTrouble | None = next(
                    (kind for kind in _SAME if kind == trouble.kind), None
                )
                cut = answer.pieces and trouble.kind in PASSING - {"slow"}
                raise ModelError("cut" if cut else same or "down", trouble.words)
            attempt += 1

    async def answers(
        self,
        conversations: Sequence[Conversation],
        settings: Generation,
        note: Callable[[Usage], None] = pass_over,
    ) -> tuple[str, ...]:
        return tuple(
            [
                "".join([piece async for piece in self.stream(turns, settings, note)])
                for turns in conversations
            ]
        )

    async def _attempt(
        self, turns: Conversation, settings: Generation, answer: _Answer, deadline: float
    ) -> AsyncGenerator[str, None]:
        content = await asyncio.to_thread(self._body, turns, settings)
        try:
            async with aclosing(self._client.stream(content, answer)) as events:
                while (event := await self._next(events, deadline)) is not None:
                    if text := answer.take(event):
                        yield text
            if text := answer.ended():
                yield text
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise Trouble("bad reply", "the server sent what is no chat completion") from error

    async def _next(
        self, events: AsyncGenerator[Mapping[str, Any], None], deadline: float
    ) -> Mapping[str, Any] | None:
        """The next event, None after the last; a server that only keeps the connection open is slow."""
        try:
            async with asyncio.timeout_at(
                min(deadline, asyncio.get_running_loop().time() + self.card.timeout)
            ):
                return await anext(events, None)
        except TimeoutError as error:
            within = f"within {self.card.timeout:g} seconds, or no end within ten times that"
            raise Trouble("slow", f"no word from the server {within}") from error

    def _body(self, turns: Conversation, settings: Generation) -> bytes:
        card = self.card
        room = "max_completion_tokens" if "max_tokens" in self._dropped else "max_tokens"
        system = [{"role": "system", "content": card.system}] if card.system else []
        messages = [*system, *map(_message, turns)]
        body: dict[str, Any] = {
            "model": card.model,
            "messages": messages,
            "stream": True,
            room: settings.max_tokens,
        }
        if "stream_options" not in self._dropped:
            body["stream_options"] = {"include_usage": True}
        chosen = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": settings.seed,
        }
        body |= {name: value for name, value in chosen.items() if value is not None}
        return json.dumps(body).encode()

    def _usage(self, turns: Conversation, settings: Generation, answer: _Answer) -> Usage:
        """Usage as the server counted; without a count to the end, estimated from what was sent and received."""
        prompt, completion = answer.tokens or (most_usage(self.card, turns, settings).prompt, 0)
        if not (answer.tokens and answer.finish):
            completion = max(completion, answer.pieces, answer.characters // 4)
        return Usage(prompt, completion, cost(self.card.price, prompt, completion))


API = ModelKind(ApiTable, lambda card, _: ApiVLM(card))


def _message(turn: Turn) -> dict[str, Any]:
    said = neutralised if turn.role == "user" else str
    if not turn.images:
        return {"role": turn.role, "content": said(turn.text)}
    content = [
        {"type": "text", "text": said(part)}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": data_url(part)}}
        for part in turn.parts
    ]
    return {"role": turn.role, "content": content}


def neutralised(text: str) -> str:
    """The text with each control token broken, so that it reads the same; a local processor does it by itself."""
    return _CONTROL.sub(lambda match: match[0][0] + _JOINER + match[0][1:], text)
