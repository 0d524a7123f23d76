"""Models behind OpenAI-compatible servers, `kind = "api"`: one streamed chat completion an answer, images as data URLs.

A stream that ends without a `finish_reason` or `[DONE]` was cut. Any `finish_reason` after text is an end; an answer
that was cut at the limit of tokens is kept and marked. An answer without text besides thinking is a failure.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any

from arena.inference.base import CardTable, ModelKind, Stripped, Text
from arena.inference.endpoint import Endpoint, EndpointError, KeyRedaction
from arena.inference.limits import ATTEMPTS, WHOLE, check_limits, cost, most_usage
from arena.inference.messages import Message, ending, read_message
from arena.inference.openai_client import Call, OpenAIClient, data_url
from arena.inference.trouble import PASSING, Retries, Tokens, Trouble, counted
from arena.io.strict_json import storable
from arena.thinking import Loading, Thought, parted, says_something
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
"""The most characters of an answer; a server that sends more is broken."""
_MOST_BYTES = 20_000_000
LOADING_SECONDS = 180.0
"""The longest wait for a server that is loading its model."""
_UNNAMED = "unnamed"
"""The finish reason of an end without a name."""
_LAST_SECONDS = 5.0
"""The longest wait for the token counts after an answer's end."""
_OPTIONAL = ("stream_options", "max_tokens")
"""The fields that some servers refuse; the request is then repeated without them, or with a newer name."""
_KINDS: Mapping[str, ModelTrouble] = {
    "slow": "slow",
    "bad reply": "bad reply",
    "too big": "too big",
    "refused": "refused",
    "field": "refused",
    "spent": "spent",
}
"""The troubles of a model by those of a call; with any other the model is down."""

VISITOR = "visitor"
"""Each visitor's own key, in place of a variable's name."""
_VARIABLE = re.compile(r"([A-Za-z_]\w*)?", re.ASCII)
_ROUTER = re.compile(
    r"https://router\.huggingface\.co/v1/?|http://(127\.0\.0\.1|localhost):\d{1,5}/v1/?", re.ASCII
)
"""The addresses that visitors' keys may be sent to: the router, or this machine."""
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
"""Control tokens, which would end a turn, begin another or mean an image."""


class ApiTable(CardTable, frozen=True):
    """Keys of a server's model."""

    model: Text
    address: Text
    key_from: Annotated[
        Stripped,
        must_be(
            f'the name of an environment variable, as in OPENAI_API_KEY, or "{VISITOR}"',
            _VARIABLE.fullmatch,
            hidden="a key",
        ),
    ] = ""

    def other_fields(self, secret: Callable[[str], Secret]) -> dict[str, Any]:
        """Returns the address and the key. Raises EndpointError."""
        key = secret(self.key_from) if self.key_from else Secret("")
        is_visitors = self.key_from == VISITOR
        if is_visitors and not _ROUTER.fullmatch(self.address):
            raise EndpointError(
                f'key_from is "{VISITOR}", but visitors\' keys are only sent to Hugging Face. The address must be '
                "https://router.huggingface.co/v1."
            )
        address = Endpoint(self.address, key).address
        return {"address": address, "key": key, "visitor_key": is_visitors}


class _Channel:
    """A text of an answer, which comes in pieces; they can be stored and don't contain the key."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._redaction = KeyRedaction(endpoint)
        self._half = ""
        """The first half of a surrogate pair; the second half may come with the next piece."""

    def take(self, piece: str) -> str:
        """Returns the next text, except an end that may become the key."""
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return self._redaction.take(storable(text.removesuffix(self._half)))

    def end(self) -> str:
        return self._redaction.take(storable(self._half)) + self._redaction.rest


class _Answer(Call):
    """The state of an attempt."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self.pieces = 0
        self.characters = 0
        self.finish = ""
        self.is_over = False
        """Whether the last piece was an end without text, since some servers name an end with each piece."""
        self.tokens: Tokens | None = None
        """The tokens so far, by the server's own count."""
        self._text = _Channel(endpoint)
        self._thinking = _Channel(endpoint)
        self._refusal = _Channel(endpoint)
        self._texts: list[str] = []
        self._thought = 0
        self._refused: list[str] = []
        self._has_calls = False

    @property
    def is_whole(self) -> bool:
        """Whether the server has marked the answer's end, and not as a failure."""
        return (bool(self.finish) or self.is_done) and ending(self.finish) != "failed"

    @property
    def cut(self) -> bool:
        return ending(self.finish) == "cut"

    def take(self, event: Mapping[str, Any]) -> Iterator[str]:
        """Yields the new text and thinking of an event, except an end that may become the key. Raises Trouble."""
        self.tokens = counted(event.get("usage")) or self.tokens
        choice = _choice(event.get("choices"))
        if choice is None:
            return
        finish = _finish(choice.get("finish_reason"))
        self.finish = finish or self.finish
        plain = {"content": choice.get("text")}
        message = read_message(choice.get("delta") or choice.get("message") or plain)
        self._has_calls = self._has_calls or message.has_calls
        self.is_over = bool(finish) and not message.text
        yield from self._pieces(message)

    def _pieces(self, message: Message) -> Iterator[str]:
        self.pieces += bool(message.text)
        self.characters += len(message.text) + len(message.refusal)
        if self.characters > MOST_CHARACTERS:
            raise Trouble("too big", f"the server's answer has over {MOST_CHARACTERS:,} characters")
        if message.refusal:
            self._refused.append(self._refusal.take(message.refusal))
        if message.thinking:
            self._thought += len(message.thinking)
            if self._thought <= MOST_CHARACTERS and (text := self._thinking.take(message.thinking)):
                yield Thought(text)
        if text := self._text.take(message.text):
            self._texts.append(text)
            yield text

    def ended(self) -> Iterator[str]:
        """Yields the last text. Raises ModelError if the answer is not whole, or empty."""
        if ending(self.finish) == "filtered":
            raise ModelError("refused", "the server's content filter stopped the answer")
        if not self.is_whole:
            words = f"the server ended the answer with {self.finish[:40]!r}"
            without = "the answer ended early (no finish_reason)"
            raise ModelError("cut", words if self.finish else without)
        if thought := self._thinking.end():
            yield Thought(thought)
        last = self._text.end()
        text = "".join([*self._texts, last])
        if says_something(text):
            if last:
                yield last
            return
        refused = "".join([*self._refused, self._refusal.end()])
        if not says_something(refused):
            raise ModelError("blank", self._why_blank(text))
        yield refused

    def _why_blank(self, text: str) -> str:
        if self._thought or parted(text).thinking:
            spent = "all its tokens went into thinking. Raise max_tokens"
            only = "the model thought but said nothing"
            return f"there is no answer: {spent if self.cut else only}"
        if self._has_calls:
            return "there is no answer: the model called a tool but said nothing"
        return "there is no answer: the model's text is empty"


def _choice(choices: object) -> Mapping[str, Any] | None:
    """Returns the first choice of an event; None if it has none.

    Raises TypeError for anything but a list of choices.
    """
    if not choices:
        return None
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise TypeError("choices are no list of objects")
    return next((choice for choice in choices if choice.get("index") in (None, 0, "0")), None)


def _finish(reason: object) -> str:
    """Returns a finish reason as a text; some servers send an object or a number. "" if there is none."""
    if isinstance(reason, dict):
        reason = reason.get("type") or _UNNAMED
    if isinstance(reason, int | float) and reason:
        return _UNNAMED
    if not isinstance(reason or "", str):
        raise TypeError("finish_reason is no text")
    return str(reason or "")


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
        """Yields the answer in pieces, as in `VLM.stream`; retries only before the first word."""
        check_limits(self.card, turns)
        await self._client.open()
        clock = asyncio.get_running_loop().time
        loaded_by = clock() + LOADING_SECONDS
        attempt = 1
        while True:
            answer = _Answer(self._endpoint)
            try:
                async with aclosing(self._attempt(turns, settings, answer)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except Trouble as error:
                trouble = error
            finally:
                if answer.sent:
                    note(self._usage(turns, settings, answer))
            if refused := [field for field in _OPTIONAL if field in trouble.fields - self._dropped]:
                self._dropped.add(refused[0])
                continue
            _LOG.info("%s: %s (attempt %d)", self.card.name, trouble, attempt)
            if trouble.kind == "loading" and not answer.pieces and clock() < loaded_by:
                yield Loading()
                await asyncio.sleep(_RETRIES.wait(attempt, trouble.wait))
                continue
            if (
                trouble.kind in ("slow", "loading")
                or answer.pieces
                or not await _RETRIES.another(attempt, trouble)
            ):
                raise _error(trouble, answer)
            attempt += 1

    async def answers(
        self,
        conversations: Sequence[Conversation],
        settings: Generation,
        note: Callable[[Usage], None] = pass_over,
    ) -> tuple[str, ...]:
        answers = []
        for turns in conversations:
            pieces = [piece async for piece in self.stream(turns, settings, note)]
            answers.append("".join(piece for piece in pieces if not isinstance(piece, Thought)))
        return tuple(answers)

    async def _attempt(
        self, turns: Conversation, settings: Generation, answer: _Answer
    ) -> AsyncGenerator[str, None]:
        content = await asyncio.to_thread(self._body, turns, settings)
        deadline = asyncio.get_running_loop().time() + WHOLE * self.card.timeout
        try:
            try:
                async with aclosing(self._client.stream(content, answer)) as events:
                    while (event := await self._next(events, deadline, answer)) is not None:
                        for piece in answer.take(event):
                            yield piece
            except Trouble:
                if not (answer.pieces and answer.finish and answer.is_whole):
                    raise  # A failure after the end only concerns the token counts.
            for piece in answer.ended():
                yield piece
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise Trouble("bad reply", "the server's reply isn't a chat completion") from error

    async def _next(
        self, events: AsyncGenerator[Mapping[str, Any], None], deadline: float, answer: _Answer
    ) -> Mapping[str, Any] | None:
        """Returns the next event, None after the last; a server that only keeps the connection open is slow."""
        patience = _LAST_SECONDS if answer.is_over else self.card.timeout
        try:
            async with asyncio.timeout_at(
                min(deadline, asyncio.get_running_loop().time() + patience)
            ):
                return await anext(events, None)
        except TimeoutError as error:
            limit = f"{self.card.timeout:g} seconds, or didn't finish within ten times that"
            raise Trouble("slow", f"the server was silent for {limit}") from error

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
        """Returns the usage by the server's count, or else an estimate from the request and the answer."""
        prompt, completion = answer.tokens or (most_usage(self.card, turns, settings).prompt, 0)
        if not (answer.tokens and answer.finish):
            completion = max(completion, answer.pieces, answer.characters // 4)
        spent = cost(self.card.price, prompt, completion)
        return Usage(prompt, completion, spent, answer.cut)


def _error(trouble: Trouble, answer: _Answer) -> ModelError:
    """Returns a call's trouble as the model's error, with the server's own reason."""
    words = trouble.words
    if trouble.kind == "loading":
        words = f"the model was still loading after {LOADING_SECONDS:g} seconds. Try again later"
    if trouble.reason:
        words = f"{words}. The server says: {trouble.reason!r}"
    if answer.pieces and trouble.kind in PASSING - {"slow"}:
        return ModelError("cut", words, trouble.status)
    return ModelError(_KINDS.get(trouble.kind, "down"), words, trouble.status)


API = ModelKind(ApiTable, lambda card, _: ApiVLM(card))


def _message(turn: Turn) -> dict[str, Any]:
    as_text = neutralised if turn.role == "user" else str
    if not turn.images:
        return {"role": turn.role, "content": as_text(turn.text)}
    content = [
        {"type": "text", "text": as_text(part)}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": data_url(part)}}
        for part in turn.parts
    ]
    return {"role": turn.role, "content": content}


def neutralised(text: str) -> str:
    """Returns a text with each control token broken, which reads the same; a local processor does this itself."""
    return _CONTROL.sub(lambda match: match[0][0] + _JOINER + match[0][1:], text)
