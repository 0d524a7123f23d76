"""Client of an OpenAI-compatible server, for models under test and for judges: addresses, sending, errors, retries.

The operator's endpoint is trusted. A user's is not: it must be https on the public internet; its host is resolved once,
checked, and connected to at the checked addresses only. Redirects are never followed, replies are bounded.
Errors are in our own words: a server's error text may echo the key. Of a model that the server does not know, its
sentence is repeated, shortened and without secrets.
"""

import asyncio
import base64
import json
import math
import random
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeVar

import httpx2

from arena.inference.endpoint import Endpoint, EndpointError
from arena.inference.thread_share import StrangersNetwork
from arena.io.fetch import Fetcher, FetchError
from arena.io.strict_json import storable

T = TypeVar("T")

MOST_BYTES = 400_000
_MOST_LINE = 1_000_000
_MOST_VALUES = 5_000
"""Most commas of one event: an event with more holds no words, and `json` blocks everything else while it parses."""
_CONNECT_SECONDS = 10.0
_LONGEST_BACKOFF = 8.0
_STEPS = 1_000
_AT_ONCE = 20
"""Chunks and events read of one reply per second, and in one burst: faster ones wait at the server."""
_HEADERS = ("accept", "content-length", "content-type", "transfer-encoding")
"""Headers that go out as openai sets them; its others may reveal the operator's environment."""
_HELD_BACK = "held-back"
"""Placeholder key for openai; only the transport adds the real key."""
_SENT = "http11.send_request_body.complete"
_RUN = frozenset((200, 504, 524))
"""Statuses after which the model may have run: an answer, or a proxy that waited for one in vain."""
_DATA = re.compile(rb"^data:(.+)", re.MULTILINE)


class Call:
    """One request: what it costs, and how fast its reply is read."""

    def __init__(self) -> None:
        self.sent = False
        """Whether the whole request was sent and not refused, so that it costs at least its prompt."""
        self._due = 0.0

    async def trace(self, event: str, _: object) -> None:
        """Note, by an event of the connection, that the whole request was sent."""
        self.sent = self.sent or event == _SENT

    async def step(self) -> None:
        """Wait until one more chunk or event may be read: a server that sends tiny pieces holds up nobody."""
        now = asyncio.get_running_loop().time()
        self._due = max(self._due, now - _AT_ONCE / _STEPS) + 1 / _STEPS
        if self._due > now:
            await asyncio.sleep(self._due - now)


_CALL: ContextVar[Call] = ContextVar("call")


class _ReplyError(httpx2.RemoteProtocolError):
    """A reply that is not read; says why."""


class PinnedTransport(httpx2.AsyncBaseTransport):
    """HTTP transport to one endpoint only; it adds the key and limits the size of replies."""

    def __init__(
        self, endpoint: Endpoint, connections: int | None, fetcher: Fetcher | None, most: int
    ) -> None:
        self._most = most
        self._endpoint = endpoint
        self._url = httpx2.URL(endpoint.base_url)
        self._fetcher = (fetcher or Fetcher()) if endpoint.owner is not None else None
        self._pinned: Sequence[str] = ()
        self._transport = httpx2.AsyncHTTPTransport(
            verify=self._fetcher.tls if self._fetcher else self._url.scheme == "https",
            trust_env=self._fetcher is None,
            limits=httpx2.Limits(
                max_connections=connections, max_keepalive_connections=connections or 20
            ),
        )
        if self._fetcher:
            pool: Any = self._transport._pool
            pool._network_backend = StrangersNetwork(pool._network_backend)

    async def resolve(self) -> None:
        """Resolve and check a user's host, once. Raises EndpointError."""
        if not self._fetcher:
            return
        try:
            self._pinned = await self._fetcher.public_addresses(self._url.raw_host.decode())
        except FetchError as error:
            raise EndpointError(f"the address: {error}") from error

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request to a pinned address of the host, and to the next one if it cannot be reached."""
        if (request.url.scheme, request.url.netloc) != (self._url.scheme, self._url.netloc):
            raise httpx2.UnsupportedProtocol("the request is for another host")
        for address in self._pinned[:-1]:
            with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._send(request, address)
        return await self._send(request, self._pinned[-1] if self._pinned else None)

    async def _send(self, request: httpx2.Request, address: str | None) -> httpx2.Response:
        headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
        headers |= {
            "host": self._url.netloc.decode(),
            "accept-encoding": "identity",
            "user-agent": "stereoscope",
        }
        if self._endpoint.key:
            name, value = self._endpoint.credentials
            headers[name] = value.reveal()
        call = _CALL.get(None) or Call()
        url = request.url
        extensions = {**request.extensions, "trace": call.trace}
        if self._fetcher:
            url = url.copy_with(host=address, port=self._fetcher.port)
            extensions["sni_hostname"] = self._url.raw_host.decode()
        pinned = httpx2.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=extensions
        )
        response = await self._transport.handle_async_request(pinned)
        call.sent = response.status_code in _RUN
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await stream.aclose()
            raise _ReplyError("a compressed reply though none was asked for")
        response.stream = _Bounded(stream, self._most, call)
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """Body of a reply: at most so many bytes, and no more chunks a second than others on the loop can bear."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int, call: Call) -> None:
        self._stream = stream
        self._most = most
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            await self._call.step()
            size += len(piece)
            if size > self._most:
                raise _ReplyError(f"a reply of more than {self._most:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class Tokens(NamedTuple):
    """Tokens of a call as the server counted them."""

    prompt: int
    completion: int


TroubleKind = Literal[
    "again",
    "busy",
    "slow",
    "bad reply",
    "too big",
    "refused",
    "field",
    "spent",
    "hopeless",
    "unknown",
]
PASSING = frozenset[TroubleKind](("again", "busy", "slow", "bad reply"))
STOPPING = frozenset[TroubleKind](("spent", "hopeless", "unknown"))


@dataclass(eq=False)
class Trouble(Exception):
    """A call without a (whole) answer, in our own words.

    again (the server or the network failed), busy (too many calls at the moment), slow and bad reply pass. too big and
    refused concern this prompt only; field: the model does not take a field that was sent; spent: the account is empty;
    unknown: the server has no such model, or not any more; hopeless: no call will succeed.
    """

    kind: TroubleKind
    words: str
    wait: float | None = None
    """Seconds that the server asks to wait."""
    tokens: Tokens | None = None
    named: frozenset[str] = frozenset()
    """Fields of a request that the server's error names."""

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, kw_only=True)
class Retries:
    """Retry policy: as long a wait as the server asks for, else short growing ones."""

    attempts: int = 8
    backoff: float = 0.05
    """Seconds before the second attempt; tripled before each further one, up to 8."""
    patience: float = 120.0
    """Maximum seconds to wait, whatever the server asks for."""

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait after an attempt (from 1), with jitter: calls that failed together do not retry together."""
        if asked is not None:
            return min(asked, self.patience) + self.backoff * random.uniform(0.0, 0.5)
        return min(self.backoff * 3 ** (attempt - 1), _LONGEST_BACKOFF) * random.uniform(0.5, 1.0)

    async def another(self, attempt: int, trouble: Trouble) -> bool:
        """Wait before the next attempt; return False if there is none."""
        if trouble.kind not in PASSING or attempt >= self.attempts:
            return False
        await asyncio.sleep(self.wait(attempt, trouble.wait))
        return True


_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|h|m|s)", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BAD_REQUEST = (400, 413, 422)
_KEY_REFUSED = re.compile(r"api.?key|authenticat|credential|unauthori[sz]ed")
_QUOTA = re.compile(r"insufficient_quota|billing|credit|exceeded your current quota|payment")
_MODEL = re.compile(
    r"model_?not_?found|unknown_?model|invalid_?model|deployment_?not_?found|(?:invalid|not a valid) model"
    r"|no endpoints found"
    r"|\b(?:models?|deployment)\b(?:(?!\b(?:models?|deployment)\b).)*"
    r"(?:not found|not exist|not a valid|unknown|not supported by|not available)"
)
_RETIRED = re.compile(
    r"decommission|deprecated|retired|sunset|discontinued|end[ -]of[ -]life|no longer (?:supported|available|offered)"
    r"|shut down"
)
_NO_ACCESS = re.compile(r"(?:not|n['’]t) have access|no access|access to (?:the )?model")
_IS_ABOUT_MODEL = re.compile(
    r"\b(?:models?|deployment)\b|model_|deployment_|modelnot|deploymentnot"
)
_PAGE = re.compile(r"\s*<")
_SECRET = re.compile(
    r"(?i:bearer|basic)\s+[^\s'\",)]{4,}+|\b(?:sk|pk|gsk|xai|hf|key|org|proj)[-_][\w-]{6,}+|\b[A-Za-z0-9+/_]{32,}+={0,2}"
    r"|(?i:https?://)[^\s/]{0,200}@"
)
"""What looks like a key, a token or an account in a server's sentence."""
_MOST_READ = 4000
_MOST_SENTENCE = 200
"""Characters that are repeated of a server's sentence."""
_POLICY = re.compile(
    r"content_?(filter|policy)|content management policy|responsible_?ai|safety|invalid_prompt|flagged"
)
_LENGTH = re.compile(
    r"context.?length|maximum context|too (?:long|large|many)|string_above_max|reduce the length"
)
_FIELD = re.compile(
    r"unsupported|unrecognized|not support|extra inputs|unknown (field|parameter|name)|unexpected (field|keyword)"
)
_FIELDS = frozenset(
    "temperature max_tokens max_completion_tokens n seed response_format stream_options".split()
)
_WORD = re.compile(r"\w+")


def refusal(
    status: int,
    headers: Mapping[str, str],
    body: object,
    redacted: Callable[[str], str] = lambda text: text,
) -> Trouble:
    """The Trouble of an HTTP status other than 200, with its headers and decoded body.

    `redacted` takes the endpoint's key out of a text.
    """
    error = body.get("error", body) if isinstance(body, dict) else body
    said = (
        json.dumps(error)[:5000].lower() if isinstance(error, dict) else str(error)[:5000].lower()
    )
    if status == 402 or (status in (403, 429) and _QUOTA.search(said)):
        return Trouble("spent", "the account has no quota or credit left; add some, then resume")
    if status in (404, 410) or (status == 403 and _lacks_model(said)):
        return Trouble("unknown", _unknown_model(status, said, _sentence(error, redacted)))
    if status in (401, 403) or (status in _BAD_REQUEST and _KEY_REFUSED.search(said)):
        return Trouble(
            "hopeless",
            f"the server does not accept the key ({status}); check it and what it may use",
        )
    if status == 429:
        return Trouble("busy", "the server's rate limit (429)", asked_wait(headers))
    if status in (408, 409, 425) or status >= 500:
        return Trouble("again", f"an error of the server ({status})", asked_wait(headers))
    if status in _BAD_REQUEST:
        return _bad_request(status, said, error, redacted)
    return Trouble(
        "hopeless", f"the server answered {status}, as no chat completion does; check the address"
    )


def _bad_request(status: int, said: str, error: object, redacted: Callable[[str], str]) -> Trouble:
    """Distinguish a request that is wrong for every prompt from one that is wrong for this prompt only."""
    field = error.get("param") if isinstance(error, dict) else None
    named = _FIELDS & set(_WORD.findall(said))
    if _POLICY.search(said):
        return Trouble("refused", "the server's content policy refuses this prompt")
    if status == 413 or _LENGTH.search(said):
        return Trouble("too big", "the prompt is too long for the model", named=named)
    if field in _FIELDS or _FIELD.search(said):
        name = field if isinstance(field, str) and field in _FIELDS else "a field of the request"
        words = f"the model does not take {name}; choose another judge, or have it probed anew"
        return Trouble("field", words, named=named)
    if _lacks_model(said) and not named:
        return Trouble("unknown", _unknown_model(status, said, _sentence(error, redacted)))
    return Trouble("refused", f"the server refuses this prompt ({status})", named=named)


def _lacks_model(said: str) -> bool:
    """Whether an error says that the server has no such model, not any more, or not for this key."""
    gone = _RETIRED.search(said) or _NO_ACCESS.search(said)
    return bool(_MODEL.search(said) or (gone and _IS_ABOUT_MODEL.search(said)))


def _unknown_model(status: int, said: str, sentence: str) -> str:
    """What to say where a server has no such model or address, or not any more, with its own sentence.

    `said` is its whole error in lower case.
    """
    about_model = _IS_ABOUT_MODEL.search(said)
    words = f"the server knows no such model or address ({status}); check their spelling"
    if about_model and _RETIRED.search(said):
        words = f"the server no longer offers this model ({status}); choose another"
    elif about_model and _NO_ACCESS.search(said):
        words = (
            f"there is no such model for this key ({status}); check its spelling, or choose another"
        )
    elif about_model:
        words = f"the server knows no such model ({status}); check its spelling, or choose another"
    return f"{words}. The server says: {sentence!r}" if sentence else words


def _sentence(error: object, redacted: Callable[[str], str]) -> str:
    """The sentence of a server's error, shortened, without what is or looks like a secret; "" for a page."""
    text = error.get("message") if isinstance(error, dict) else error
    if not isinstance(text, str) or _PAGE.match(text):
        return ""
    plain = " ".join(storable(redacted(text[:_MOST_READ])).split())
    hidden = _SECRET.sub("[hidden]", plain)
    return hidden if len(hidden) <= _MOST_SENTENCE else f"{hidden[:_MOST_SENTENCE]}..."


def asked_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that headers ask to wait: by `retry-after` (RFC 9110 10.2.3), else by the limits of which none remain."""
    for name, unit in (("retry-after-ms", "ms"), ("retry-after", "s")):
        if (seconds := _seconds(headers.get(name, ""), unit, now)) is not None:
            return seconds
    spent = [
        name
        for name in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{name}") == "0"
    ]
    resets = [_seconds(headers.get(f"x-ratelimit-reset-{name}", ""), "s", now) for name in spent]
    return max((seconds for seconds in resets if seconds is not None), default=None)


def _seconds(text: str, unit: str, now: float | None) -> float | None:
    """Seconds that a header means: a number of units, a duration as in 6m0s, or a date."""
    try:
        seconds = float(text) * _UNITS[unit]
    except ValueError:
        if parts := _DURATION.findall(text):
            return sum(float(amount) * _UNITS[name] for amount, name in parts)
        try:
            seconds = parsedate_to_datetime(text).timestamp() - (
                time.time() if now is None else now
            )
        except (ValueError, OverflowError):  # no date, or one of a year that there is not
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def counted(usage: object) -> Tokens | None:
    """Token counts of a reply's `usage`; a prompt of 0 tokens is no count."""
    if not isinstance(usage, Mapping):
        return None
    prompt = _token_count(usage.get("prompt_tokens"))
    completion = _token_count(usage.get("completion_tokens"))
    return Tokens(prompt, completion) if prompt and completion is not None else None


def _token_count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 10**9 else None


def data_url(image: bytes) -> str:
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"


class OpenAIClient:
    """One endpoint's client, usable after `open`; its connections belong to the event loop of the first call."""

    def __init__(
        self,
        endpoint: Endpoint,
        timeout: float,
        connections: int | None = None,
        fetcher: Fetcher | None = None,
        most: int = MOST_BYTES,
    ) -> None:
        """Create a client; `fetcher` resolves and checks a user's host, `most` is the maximum bytes of a reply."""
        self._endpoint = endpoint
        self._timeout = timeout
        self._transport = PinnedTransport(endpoint, connections, fetcher, most)
        self.api: Any = None
        """openai's own client, once open; its calls go through `call`, and are one attempt each."""

    async def open(self) -> None:
        """Load openai, and resolve and check a user's host, once. Raises EndpointError."""
        if self.api is not None:
            return
        openai = await asyncio.to_thread(_openai)
        await self._transport.resolve()
        timeout = httpx2.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_SECONDS))
        http_client = httpx2.AsyncClient(
            transport=self._transport, trust_env=False, timeout=timeout
        )
        self.api = openai.AsyncOpenAI(
            api_key=_HELD_BACK,
            base_url=self._endpoint.folder,
            default_query=self._endpoint.query,
            max_retries=0,
            http_client=http_client,
        )

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def call(self, made: Awaitable[T]) -> T:
        """The result of a call. Raises Trouble."""
        try:
            async with asyncio.timeout(self._timeout):
                return await made
        except (_openai().APIError, httpx2.HTTPError, TimeoutError) as error:
            trouble = self._trouble(error)
        raise trouble  # out here, so that it does not carry the server's error with it

    async def complete(self, content: bytes, call: Call) -> bytes:
        """The body of the reply to a chat completion. Raises Trouble."""
        return (await self._post(content, call, stream=False)).content

    async def stream(self, content: bytes, call: Call) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the events of a streamed chat completion. Raises Trouble, and ValueError for what is no JSON."""
        response = await self._post(content, call, stream=True)
        try:
            if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                raise Trouble(
                    "bad reply", "the server answered with a page and not with a stream of events"
                )
            async with aclosing(_events(response, call)) as events:
                async for event in events:
                    yield event
            return
        except httpx2.HTTPError as error:
            trouble = self._trouble(error)
        finally:
            await response.aclose()
        raise trouble

    async def _post(self, content: bytes, call: Call, stream: bool) -> httpx2.Response:
        _CALL.set(call)
        more = {
            "cast_to": httpx2.Response,
            "stream": stream,
            "stream_cls": _openai().AsyncStream[Any],
        }
        return await self.call(self.api.post("/chat/completions", content=content, **more))

    def _trouble(self, error: Exception) -> Trouble:
        cause: Any = error.__cause__ if isinstance(error, _openai().APIConnectionError) else error
        if isinstance(cause, _openai().APIStatusError):
            redacted = self._endpoint.redacted
            return refusal(cause.status_code, cause.response.headers, cause.body, redacted)
        if isinstance(
            cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol
        ):
            return Trouble("again", "the server could not be reached")
        if isinstance(cause, httpx2.TimeoutException | TimeoutError):
            return Trouble("slow", f"no reply within {self._timeout:g} seconds")
        if isinstance(cause, _ReplyError):
            return Trouble("bad reply", str(cause))
        return Trouble("again", "the connection broke off")


async def _events(response: httpx2.Response, call: Call) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yield the data of server-sent events, bounded, until `[DONE]` or the end of the stream."""
    held = 0
    rest: list[bytes] = []
    """Chunks of the incomplete line."""
    async for chunk in response.aiter_raw():
        lines, end, begun = chunk.rpartition(b"\n")
        held = len(begun) + (0 if end else held)
        if held > _MOST_LINE:
            raise Trouble(
                "too big", f"the server sent a line of {held:,} bytes, and it is not whole yet"
            )
        if not end:
            rest.append(begun)
            continue
        whole = b"".join((*rest, lines))
        rest = [begun]
        for data in filter(None, map(bytes.strip, _DATA.findall(whole))):
            await call.step()
            if data == b"[DONE]":
                return
            if data.count(b",") > _MOST_VALUES:
                raise Trouble(
                    "too big", f"the server sent an event with over {_MOST_VALUES:,} values"
                )
            event = json.loads(data)
            if "error" in event:
                raise Trouble("again", "the server failed in the midst of its answer")
            yield event


@cache
def _openai() -> ModuleType:
    """Import openai on first use: it is slow to import and the app starts without it."""
    import openai

    return openai
