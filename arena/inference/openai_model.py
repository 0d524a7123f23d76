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
from arena.inference.limits import ATTEMPTS, WHOLE_ANSWER_TIMEOUTS, check_limits, cost, most_usage
from arena.inference.messages import Message, ending, read_message
from arena.inference.openai_client import Call, OpenAIClient, data_url
from arena.inference.trouble import PASSING, Retries, Tokens, Trouble, token_counts
from arena.io.strict_json import storable
from arena.thinking import Loading, Thought, says_something, split_thinking
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
"""The most bytes of a reply."""
LOADING_SECONDS = 180.0
"""The longest wait for a server that is loading its model."""
_LOADING_PAUSE = 1.0
"""The least seconds between two looks at it, whatever the server asks."""
_UNNAMED = "unnamed"
"""The finish reason of an end without a name."""
_COUNT_SECONDS = 5.0
"""The longest wait for the token counts, which may come after an answer's end."""
_OPTIONAL_FIELDS = ("stream_options", "max_tokens")
"""The fields that some servers refuse; the request is then repeated without them, or with a newer name."""
_MODEL_TROUBLES: Mapping[str, ModelTrouble] = {
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
_VARIABLE_NAME = re.compile(r"([A-Za-z_]\w*)?", re.ASCII)
_ROUTER_ADDRESS = re.compile(
    r"https://router\.huggingface\.co/v1/?|http://(127\.0\.0\.1|localhost):\d{1,5}/v1/?", re.ASCII
)
"""The addresses that visitors' keys may be sent to: the router, or this machine."""
_JOINER = "\u2060"
"""Word joiner: invisible, and part of no tokenizer's control token."""
_CONTROL_TOKEN = re.compile(
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
            _VARIABLE_NAME.fullmatch,
            hidden="a key",
        ),
    ] = ""

    def other_fields(self, secret: Callable[[str], Secret]) -> dict[str, Any]:
        """Returns the address and the key. Raises EndpointError.

        `secret` returns the key in a variable; for VISITOR, the operator's own if nobody else visits, else none.
        """
        key = secret(self.key_from) if self.key_from else Secret("")
        is_visitors = self.key_from == VISITOR
        if is_visitors and not _ROUTER_ADDRESS.fullmatch(self.address):
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
        """Returns the next text, but withholds its end if that may be the beginning of the key."""
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
        """The number of pieces with text, thinking or a refusal."""
        self.characters = 0
        """The length of its text and refusal."""
        self.thinking_characters = 0
        self.finish = ""
        """The finish reason; "" before the end."""
        self.ended_without_text = False
        """Whether the last choice had a finish reason and no text, so that only token counts can follow.

        After a finish reason beside text, more text may come: some servers give one in every event.
        """
        self.tokens: Tokens | None = None
        """The tokens so far, by the server's own count."""
        self._text = _Channel(endpoint)
        self._thinking = _Channel(endpoint)
        self._refusal = _Channel(endpoint)
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._has_calls = False

    @property
    def has_begun(self) -> bool:
        """Whether the model has written anything, by what came or by the server's count."""
        return self.pieces > 0 or (self.tokens is not None and self.tokens.completion > 0)

    def is_unread(self, trouble: Trouble) -> bool:
        """Whether the model has read nothing: it is still being loaded, or doesn't take a field."""
        return trouble.kind in ("loading", "field") and not self.has_begun

    @property
    def is_whole(self) -> bool:
        """Whether the server has marked the answer's end, and not as a failure."""
        return (bool(self.finish) or self.is_done) and ending(self.finish) != "failed"

    @property
    def has_named_end(self) -> bool:
        """Whether the answer is whole and has a finish reason."""
        return bool(self.finish) and self.is_whole

    @property
    def is_cut(self) -> bool:
        return ending(self.finish) == "cut"

    def take(self, event: Mapping[str, Any]) -> Iterator[str]:
        """Yields the new text and thinking of an event, as `_Channel.take` does. Raises Trouble."""
        self.tokens = token_counts(event.get("usage")) or self.tokens
        choice = _choice(event.get("choices"))
        if choice is None:
            return
        finish = _finish_text(choice.get("finish_reason"))
        self.finish = finish or self.finish
        completion = {"content": choice.get("text")}  # the form of servers without chat
        message = read_message(choice.get("delta") or choice.get("message") or completion)
        self._has_calls = self._has_calls or message.has_calls
        self.ended_without_text = bool(finish) and not message.text
        yield from self._pieces(message)

    def _pieces(self, message: Message) -> Iterator[str]:
        if message.text or message.thinking or message.refusal:
            self.pieces += 1
        self.characters += len(message.text) + len(message.refusal)
        if self.characters > MOST_CHARACTERS:
            raise Trouble("too big", f"the server's answer has over {MOST_CHARACTERS:,} characters")
        if message.refusal:
            self._refusals.append(self._refusal.take(message.refusal))
        if message.thinking:
            self.thinking_characters += len(message.thinking)
            is_short = self.thinking_characters <= MOST_CHARACTERS
            if is_short and (thought := self._thinking.take(message.thinking)):
                yield Thought(thought)
        if text := self._text.take(message.text):
            self._texts.append(text)
            yield text

    def last_pieces(self) -> Iterator[str]:
        """Yields the last text and thinking; if the answer has no text, its refusal.

        Raises ModelError if the answer is not whole, or if there is neither.
        """
        if ending(self.finish) == "filtered":
            raise ModelError("refused", "the server's content filter stopped the answer")
        if not self.is_whole:
            words = "the answer ended early (no finish_reason)"
            if self.finish:
                words = f"the server ended the answer with {self.finish[:40]!r}"
            raise ModelError("cut", words)
        if thought := self._thinking.end():
            yield Thought(thought)
        last_text = self._text.end()
        text = "".join([*self._texts, last_text])
        if says_something(text):
            if last_text:
                yield last_text
            return
        refusal = "".join([*self._refusals, self._refusal.end()])
        if not says_something(refusal):
            raise ModelError("blank", self._why_blank(text))
        yield refusal

    def _why_blank(self, text: str) -> str:
        has_thinking = self.thinking_characters or split_thinking(text).thinking
        if has_thinking and self.is_cut:
            return "there is no answer: all its tokens went into thinking. Raise max_tokens"
        if has_thinking:
            return "there is no answer: the model thought but said nothing"
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


def _finish_text(reason: object) -> str:
    """Returns a finish reason as a text; some servers send an object or a number. "" if there is none."""
    if isinstance(reason, dict):
        reason = reason.get("type") or _UNNAMED
    if not reason:
        return ""
    if isinstance(reason, int | float):
        return _UNNAMED
    if not isinstance(reason, str):
        raise TypeError("finish_reason is no text")
    return reason


class ApiVLM:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self._dropped_fields: set[str] = set()
        """The optional fields that the server has refused."""
        self._endpoint = Endpoint(card.address, card.key)
        self._client = OpenAIClient(self._endpoint, card.timeout, most_bytes=_MOST_BYTES)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def stream(
        self, turns: Conversation, settings: Generation, note: Callable[[Usage], None] = pass_over
    ) -> AsyncGenerator[str, None]:
        """Yields the answer in pieces, as in `VLM.stream`; retries only before the first word or thought.

        A try without the fields that a server refuses, or after it has loaded its model, is no further attempt.
        """
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
                answer.is_sent = answer.is_sent and not answer.is_unread(error)
            finally:  # an answer, a trouble and a reader that has gone away all cost
                if answer.is_sent:
                    note(self._usage(turns, settings, answer))
            if not answer.has_begun and self._drop_field(trouble):
                continue
            _LOG.info("%s: %s (attempt %d)", self.card.name, trouble, attempt)
            is_loading = trouble.kind == "loading" and not answer.has_begun
            if is_loading and clock() < loaded_by:
                yield Loading()
                pause = _RETRIES.seconds_to_wait(attempt, trouble.wait)
                await asyncio.sleep(max(pause, _LOADING_PAUSE))
                continue
            is_final = answer.has_begun or trouble.kind in ("slow", "loading")
            if is_final or not await _RETRIES.wait_to_retry(attempt, trouble):
                raise _model_error(trouble, answer)
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

    def _drop_field(self, trouble: Trouble) -> bool:
        """Leaves an optional field that the server refused out of the next requests; returns False if none is new."""
        if trouble.kind == "too big":  # its words name the limit of tokens, and don't refuse it
            return False
        for field in _OPTIONAL_FIELDS:
            if field in trouble.fields and field not in self._dropped_fields:
                self._dropped_fields.add(field)
                return True
        return False

    async def _attempt(
        self, turns: Conversation, settings: Generation, answer: _Answer
    ) -> AsyncGenerator[str, None]:
        """Yields the pieces of one attempt. Raises Trouble, and ModelError for an answer that cannot be used."""
        content = await asyncio.to_thread(self._body, turns, settings)
        most_seconds = WHOLE_ANSWER_TIMEOUTS * self.card.timeout
        deadline = asyncio.get_running_loop().time() + most_seconds
        try:
            try:
                async with aclosing(self._client.stream(content, answer)) as events:
                    while (event := await self._next_event(events, deadline, answer)) is not None:
                        for piece in answer.take(event):
                            yield piece
            except Trouble:
                # After the end of an answer with words, a failure only concerns the token counts.
                has_words = answer.characters > 0
                if not has_words or not answer.has_named_end:
                    raise
            for piece in answer.last_pieces():
                yield piece
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise Trouble("bad reply", "the server's reply isn't a chat completion") from error

    async def _next_event(
        self, events: AsyncGenerator[Mapping[str, Any], None], deadline: float, answer: _Answer
    ) -> Mapping[str, Any] | None:
        """Returns the next event, None after the last.

        A server that only keeps the connection open is slow; after an answer's end, its silence ends the stream.
        """
        patience = _COUNT_SECONDS if answer.ended_without_text else self.card.timeout
        patience_end = asyncio.get_running_loop().time() + patience
        try:
            async with asyncio.timeout_at(min(deadline, patience_end)):
                return await anext(events, None)
        except TimeoutError as error:
            if answer.ended_without_text:
                return None
            # ten: WHOLE_ANSWER_TIMEOUTS in a word
            limit = f"{self.card.timeout:g} seconds, or didn't finish within ten times that"
            raise Trouble("slow", f"the server was silent for {limit}") from error

    def _body(self, turns: Conversation, settings: Generation) -> bytes:
        """Returns the JSON of a request, without the fields that the server has refused."""
        card = self.card
        limit_field = "max_tokens"
        if limit_field in self._dropped_fields:
            limit_field = "max_completion_tokens"  # the newer name
        system = [{"role": "system", "content": card.system}] if card.system else []
        messages = [*system, *map(_api_message, turns)]
        body: dict[str, Any] = {
            "model": card.model,
            "messages": messages,
            "stream": True,
            limit_field: settings.max_tokens,
        }
        if "stream_options" not in self._dropped_fields:
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
        tokens = answer.tokens
        if tokens is None:
            tokens = Tokens(most_usage(self.card, turns, settings).prompt, 0)
        completion = tokens.completion
        if answer.tokens is None or not answer.finish:
            # The server counted nothing, or only what came before this count. A piece has at least one token, and a
            # token has about 4 characters.
            characters = answer.characters + answer.thinking_characters
            completion = max(completion, answer.pieces, characters // 4)
        spent = cost(self.card.price, tokens.prompt, completion)
        return Usage(tokens.prompt, completion, spent, answer.is_cut)


def _model_error(trouble: Trouble, answer: _Answer) -> ModelError:
    """Returns a call's trouble as the model's error, with the server's own reason."""
    words = trouble.words
    if trouble.kind == "loading":
        words = f"the model was still loading after {LOADING_SECONDS:g} seconds. Try again later"
    if trouble.reason:
        words = f"{words}. The server says: {trouble.reason!r}"
    # a silent server is slow, also after text
    is_interrupted = trouble.kind in PASSING and trouble.kind != "slow"
    if answer.has_begun and is_interrupted:
        return ModelError("cut", words, trouble.status)
    return ModelError(_MODEL_TROUBLES.get(trouble.kind, "down"), words, trouble.status)


def _api_message(turn: Turn) -> dict[str, Any]:
    as_text = neutralise if turn.role == "user" else str
    if not turn.images:
        return {"role": turn.role, "content": as_text(turn.text)}
    content = [
        {"type": "text", "text": as_text(part)}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": data_url(part)}}
        for part in turn.parts
    ]
    return {"role": turn.role, "content": content}


def neutralise(text: str) -> str:
    """Returns a text with each control token broken, which reads the same; a local processor does this itself."""
    return _CONTROL_TOKEN.sub(_break_token, text)


def _break_token(match: re.Match[str]) -> str:
    token = match[0]
    return token[0] + _JOINER + token[1:]


API = ModelKind(ApiTable, lambda card, _: ApiVLM(card))
