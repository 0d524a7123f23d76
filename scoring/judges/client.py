"""Judge client: calls to any OpenAI-compatible server, with retries, rate limits, a budget and a circuit breaker.

A server's error text is never shown, since it may echo the key. Errors are in our own words.
"""

import asyncio
import base64
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import httpx2

from arena.io.fetch import Fetcher
from arena.io.images import PictureStore
from scoring.judges.endpoint import Endpoint, EndpointError, PinnedTransport
from scoring.judges.rate_limit import RateLimiter, RateLimits
from scoring.judges.replies import JudgeAnswer, Trouble, Usage, read_answer, refusal
from scoring.judges.spec import (
    Ask,
    JudgeBudget,
    JudgeSpec,
    Message,
    Reply,
    TokensField,
    cost,
    estimated_tokens,
    most_cost,
    request,
    response_format,
)

_CONNECT_SECONDS = 10.0
_FAILURES = 12
"""Consecutive failed attempts, over all questions, that open the circuit breaker; more when many calls run at once."""
_FAILURES_PER_CALL = 3

_HELD_BACK = "held-back"
"""Placeholder key for openai; only the transport adds the real key."""

_PROBE = (Message("user", 'Reply with this and nothing else: {"score": 1}'),)
_PROBE_TOKENS = 2048
"""Reply room in tokens, enough for a model that reasons first."""
_REASONING_TOKENS = 4096
_PROBE_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"score": {"type": "number"}},
        "required": ["score"],
        "additionalProperties": False,
    }
)
_PROBED = re.compile(r'\s*\{\s*"score"\s*:\s*[0-9.]+\s*\}\s*')


class JudgeError(RuntimeError):
    """No reply from the judge; the message says why."""


class JudgeFailed(JudgeError):
    """One question got no reply after all attempts; other questions may still get theirs."""


class JudgeStopped(JudgeError):
    """No question will get a reply; the message says why and how to fix it."""


class AskRefused(JudgeError):
    """The server refuses this one question; the message says why."""


class _FieldRefused(JudgeStopped):
    """The model does not accept a field of the request."""


class FreeBudget:
    """Unlimited budget, for calls that nobody here pays for."""

    def reserve(self, amount: int) -> int:
        return 0

    def commit(self, number: int, amount: int) -> None:
        """Do nothing."""


class Judge:
    """Client of one judge, for the length of an `async with` block."""

    def __init__(
        self,
        spec: JudgeSpec,
        address: Endpoint,
        pace: RateLimits | None = None,
        job_budget: JudgeBudget | None = None,
        meter: RateLimiter | None = None,
        fetcher: Fetcher | None = None,
        pictures: PictureStore | None = None,
    ) -> None:
        """Create a client; judges that share a key share a `meter`, and `fetcher` resolves and checks a user's host.

        `pictures` is the store of the images that the judge is shown.
        """
        self.spec, self.address, self.pace = spec, address, pace or RateLimits()
        self._job_budget = job_budget or FreeBudget()
        self._meter = meter or RateLimiter(self.pace)
        self._pictures = pictures
        self._slots = asyncio.Semaphore(self.pace.concurrency)
        self._transport = PinnedTransport(address, self.pace.concurrency, fetcher)
        self._reported, self._estimated = 0, 0
        self._failures = 0
        self._stopped = ""
        """Why the client stopped asking; "" while it still asks."""

    async def __aenter__(self) -> "Judge":
        """Resolve the endpoint. Raises JudgeStopped if it is not allowed."""
        try:
            await self._transport.resolve()
        except EndpointError as error:
            raise JudgeStopped(str(error)) from error
        self._client = _openai().AsyncOpenAI(
            api_key=_HELD_BACK,
            base_url=self.address.base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(
                transport=self._transport,
                trust_env=False,
                timeout=httpx2.Timeout(self.pace.timeout, connect=min(self.pace.timeout, _CONNECT_SECONDS)),
            ),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    @property
    def tokens_per_estimate(self) -> float:
        """Prompt tokens counted by the server per estimated token, over all replies so far; 1.0 before any."""
        return self._reported / self._estimated if self._estimated else 1.0

    async def ask(self, ask: Ask) -> Reply:
        """Return the judge's reply, with retries.

        Raises JudgeFailed, JudgeStopped or AskRefused, and whatever the budget raises when a limit is reached.
        """
        estimate = estimated_tokens(ask.messages)
        tokens = round(estimate * self.tokens_per_estimate) + ask.reply_tokens * ask.samples
        body = request(self.spec, ask)
        if any(message.pictures for message in ask.messages):
            body["messages"] = await asyncio.to_thread(self._with_pictures, body["messages"])
        answer = await self._answer(body, tokens, most_cost(self.spec, ask))
        if answer.usage:
            self._reported += answer.usage.prompt
            self._estimated += estimate
        usage = answer.usage or Usage(estimate, sum(len(text) // 4 + 1 for text in answer.texts))
        return Reply(
            tuple(map(self.address.redacted, answer.texts[: ask.samples])),
            tuple(map(self.address.redacted, answer.finish[: ask.samples])),
            usage.prompt,
            usage.completion,
            self.address.redacted(answer.model),
        )

    def _with_pictures(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the messages of a request with each image name replaced by the image as a data URL."""
        return [{**message, "content": self._content(message["content"])} for message in messages]

    def _content(self, content: Any) -> Any:
        if isinstance(content, str):
            return content
        return [part if part["type"] == "text" else {**part, "image_url": self._data(part)} for part in content]

    def _data(self, part: Mapping[str, Any]) -> dict[str, str]:
        name = part["image_url"]["url"]
        path = self._pictures.path(name) if self._pictures else None
        if path is None:
            raise JudgeStopped(f"the picture {name} is not kept here; import its items again with their images")
        kind = "png" if path.suffix == ".png" else "jpeg"
        return {"url": f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"}

    async def _answer(self, body: Mapping[str, Any], tokens: int, bound: int) -> JudgeAnswer:
        """Ask with retries. `tokens` counts towards the rate limit; `bound` is the maximum cost of one attempt."""
        for attempt in range(1, self.pace.attempts + 1):
            async with self._slots:
                await self._meter.turn(tokens)
                if self._stopped:
                    raise JudgeStopped(self._stopped)
                outcome = await self._paid(body, bound)
                self._note(outcome)
            if isinstance(outcome, JudgeAnswer):
                return outcome
            if outcome.kind not in ("again", "busy"):
                raise final(outcome)
            if attempt < self.pace.attempts:
                await asyncio.sleep(self.pace.wait(attempt, outcome.wait))
        raise JudgeFailed(f"no reply from the judge in {self.pace.attempts} attempts; the last: {outcome.words}")

    def _note(self, outcome: JudgeAnswer | Trouble) -> None:
        """Update the rate limiter and the circuit breaker. A busy server does not count as a failure."""
        kind = "answer" if isinstance(outcome, JudgeAnswer) else outcome.kind
        if kind == "busy":
            self._meter.busy()
        elif kind == "again":
            self._failures += 1
        else:
            self._failures = 0
            self._meter.free()
        if isinstance(outcome, JudgeAnswer):
            return
        if kind == "hopeless":
            self._stopped = outcome.words
        if self._failures >= max(_FAILURES, _FAILURES_PER_CALL * self.pace.concurrency):
            self._stopped = f"{self._failures} calls in a row failed; the last: {outcome.words}; resume later"

    async def _paid(self, body: Mapping[str, Any], bound: int) -> JudgeAnswer | Trouble:
        """Make one attempt: reserve the bound, then commit the real cost, or the bound if the cost is unknown."""
        number = await self._held(bound)
        spent = bound
        try:
            outcome = await self._exchange(body)
            if outcome.usage:
                spent = cost(self.spec.price, outcome.usage.prompt, outcome.usage.completion)
            elif isinstance(outcome, Trouble) and not outcome.billed:
                spent = 0
        finally:
            await asyncio.shield(asyncio.to_thread(self._job_budget.commit, number, spent))
        return outcome

    async def _held(self, amount: int) -> int:
        """Reserve money; if this task is cancelled meanwhile, release the reservation."""
        holding = asyncio.ensure_future(asyncio.to_thread(self._job_budget.reserve, amount))
        try:
            return await asyncio.shield(holding)
        except asyncio.CancelledError:
            number = await holding
            await asyncio.to_thread(self._job_budget.commit, number, 0)
            raise

    async def _exchange(self, body: Mapping[str, Any]) -> JudgeAnswer | Trouble:
        openai = _openai()
        try:
            async with asyncio.timeout(self.pace.timeout):
                response = await self._client.chat.completions.with_raw_response.create(**body)
        except (openai.APIError, TimeoutError) as error:
            return self._trouble(error)
        return read_answer(response.http_response.content)

    def _trouble(self, error: Any) -> Trouble:
        """Map an error of the openai client to a Trouble."""
        openai = _openai()
        if isinstance(error, openai.APIStatusError):
            return refusal(error.status_code, error.response.headers, error.body)
        if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout):
            return Trouble("again", "the server could not be reached")
        if isinstance(error, TimeoutError):
            return Trouble("again", f"no reply within {self.pace.timeout:g} seconds", billed=True)
        return Trouble("again", "the connection broke off", billed=True)


def final(trouble: Trouble) -> JudgeError:
    """Return the error for a trouble that no retry can fix."""
    return {"hopeless": JudgeStopped, "field": _FieldRefused, "refused": AskRefused}[trouble.kind](trouble.words)


async def probe(
    address: Endpoint, model: str, pace: RateLimits | None = None, fetcher: Fetcher | None = None
) -> JudgeSpec:
    """Find out what a model accepts by six or seven short calls; the returned spec has no price.

    Raises JudgeStopped if the server accepts no chat completion for this model, and JudgeFailed.
    """
    tokens: TokensField = "max_tokens"
    bare = JudgeSpec(model, False, tokens, False, False, False, False, 0, None)
    async with Judge(bare, address, pace, fetcher=fetcher) as judge:
        first = await _tried(judge, tokens)
        if first is None:
            tokens = "max_completion_tokens"
            first = await _tried(judge, tokens)
        if first is None:
            raise JudgeStopped("the server refuses the plainest chat completion of this model; choose another judge")
        temperature, samples, seed, logprobs, schema = await asyncio.gather(
            _tried(judge, tokens, temperature=0.0),
            _tried(judge, tokens, n=2),
            _tried(judge, tokens, seed=1),
            _tried(judge, tokens, logprobs=True),
            _tried(judge, tokens, response_format=response_format(_PROBE_SCHEMA)),
        )
    return JudgeSpec(
        model=model,
        temperature=temperature is not None,
        tokens=tokens,
        samples=samples is not None and len(samples.texts) == 2,
        seed=seed is not None,
        logprobs=logprobs is not None and logprobs.logprobs,
        json_schema=schema is not None and _PROBED.fullmatch(schema.texts[0]) is not None,
        reasoning_tokens=_REASONING_TOKENS if first.reasons else 0,
        price=None,
    )


async def _tried(judge: Judge, tokens: TokensField, **fields: Any) -> JudgeAnswer | None:
    """Return the answer to a short call with these fields; None if the model does not accept them."""
    messages = [{"role": message.role, "content": message.text} for message in _PROBE]
    body = {"model": judge.spec.model, "messages": messages, tokens: _PROBE_TOKENS, **fields}
    try:
        return await judge._answer(body, estimated_tokens(_PROBE), 0)
    except (AskRefused, _FieldRefused):
        return None


def client_errors() -> type[Exception]:
    """Return the base class of the openai client's errors."""
    return _openai().APIError


@cache
def _openai() -> ModuleType:
    """Import openai on first use: it is slow to import and the app starts without it."""
    import openai

    return openai
