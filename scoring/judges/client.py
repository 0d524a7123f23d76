"""Judge client: questions to any OpenAI-compatible server, with rate limits, a budget and a circuit breaker.

A failed call is retried by the policy of `Retries`; after a reply that cannot be read, the protocol decides.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple

from arena.budget import JobBudget, RunBudget, reserved
from arena.database import now
from arena.inference.endpoint import Endpoint, EndpointError
from arena.inference.limits import cost
from arena.inference.messages import has_thinking_field, read_message
from arena.inference.openai_client import Call, OpenAIClient, data_url
from arena.inference.trouble import PASSING, STOPPING, Tokens, Trouble, token_counts
from arena.io.fetch import Fetcher
from arena.io.images import PictureStore
from arena.io.strict_json import storable
from arena.reasoning import SPECIAL_TOKENS, answer_of
from arena.types import Price
from scoring.judges.rate_limit import RateLimiter, RateLimits, ReplyTimes
from scoring.judges.replies import Scale, read_score
from scoring.judges.spec import (
    Ask,
    JudgeSpec,
    Message,
    Reply,
    ShownImage,
    TokensField,
    closed_schema,
    estimated_tokens,
    likely_completion,
    most_completion,
    most_cost,
    request_body,
    response_format,
)

_FAILURES = 12
"""Consecutive failed attempts, over all questions, that open the circuit breaker; more if many calls run at once."""
_FAILURES_PER_CALL = 5

_REPORTED_PAUSE = 2.0
"""Seconds from which a pause is reported."""
_PROBE = (Message("user", 'Reply with this and nothing else: {"score": 1}'),)
_PROBE_TOKENS = 2048
_REASONING_TOKENS = 4096
_PROBE_SCHEMA = closed_schema("score", "number")
_PROBE_SCALE = Scale(0.0, 1.0)
_MOST_TEXT = 30_000
"""Most characters of a reply's text: its limit is a few thousand tokens, and reading takes microseconds a character."""
_MOST_CHOICES = 100
_MOST_QUOTED = 200
"""Most characters quoted from an unreadable reply."""
_PROBE_REPLY = re.compile(r'\s*\{\s*"score"\s*:\s*[0-9.]+\s*\}\s*')


class JudgeError(RuntimeError):
    """A missing reply from the judge; the message says why."""


class JudgeFailed(JudgeError):
    """A question without a reply after all attempts; other questions may still get theirs."""


class JudgeStopped(JudgeError):
    """A judge that no question will get a reply from; the message says why and how to fix it."""


class JudgeUnreadable(JudgeStopped):
    """A judge with too many unreadable replies in a row; the message quotes one or two, `public_message` none."""

    def __init__(self, message: str, public_message: str) -> None:
        super().__init__(message)
        self.public_message = public_message


class JudgeUnknown(JudgeStopped):
    """A model that the server does not have, or no longer offers; the message repeats the server's."""

    public_message = "The judge's server no longer offers its model. Choose another judge."


class AskRefused(JudgeError):
    """A single question that the server refuses; the message says why."""


class _FieldRefused(JudgeStopped):
    """A field of the request that the model does not accept."""


@dataclass(frozen=True)
class JudgeAnswer:
    """A complete, well-formed reply."""

    texts: tuple[str, ...]
    finish: tuple[str, ...]
    model: str
    tokens: Tokens | None
    has_reasoned: bool
    """Whether the fields beside its texts show that the model reasoned before it replied."""


class Judge:
    """The client of one judge, for the length of an `async with` block."""

    trials: ClassVar[int] = 6
    """Tasks that a run starts with: if none of their replies can be read, the run stops."""

    def __init__(
        self,
        spec: JudgeSpec,
        address: Endpoint,
        pace: RateLimits | None = None,
        job_budget: JobBudget | RunBudget | None = None,
        meter: RateLimiter | None = None,
        fetcher: Fetcher | None = None,
        pictures: PictureStore | None = None,
    ) -> None:
        """Judges that share a key share a `meter`; `fetcher` resolves and checks a user's host."""
        self.spec = spec
        self.address = address
        self.pace = pace or RateLimits()
        self._job_budget = job_budget
        self._meter = meter or RateLimiter(self.pace)
        self._pictures = pictures
        self._client = OpenAIClient(address, self.pace.timeout, self.pace.concurrency, fetcher)
        self._reply_times = ReplyTimes(self.pace.timeout)
        self._reported = 0
        self._estimated = 0
        self._cost = 0.0
        self._estimated_cost = 0.0
        self._failures = 0
        self._most_failures = max(_FAILURES, _FAILURES_PER_CALL * self.pace.concurrency)
        self._last_failure = ""
        self._stopped: JudgeStopped | None = None
        """The reason why the client stopped asking; None while it asks."""

    async def __aenter__(self) -> "Judge":
        """Resolves the endpoint. Raises JudgeStopped if it is not allowed."""
        try:
            await self._client.open()
        except EndpointError as error:
            raise JudgeStopped(str(error)) from error
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    @property
    def tokens_per_estimate(self) -> float:
        """Prompt tokens counted by the server per estimated token, over all replies so far; 1.0 before any."""
        return self._reported / self._estimated if self._estimated else 1.0

    @property
    def cost_per_estimate(self) -> float:
        """Cost by the server's count of tokens per estimated cost, over all replies so far; 1.0 before any."""
        return self._cost / self._estimated_cost if self._estimated_cost else 1.0

    @property
    def waits(self) -> str:
        """The reason why all calls wait, as the end of a sentence ("waiting ..."); empty while calls run."""
        pause = self._meter.pause_left()
        if pause >= _REPORTED_PAUSE:
            until = now() + timedelta(seconds=pause)
            return f"for the judge, whose server asks for a pause, until {until:%H:%M:%S} UTC"
        # One failure of each running call is ordinary.
        if self._failures <= self.pace.concurrency:
            return ""
        return (
            f"for the judge: {self._failures} calls in a row failed, and it stops at {self._most_failures}. The last "
            f"failure: {self._last_failure}"
        )

    async def ask(self, ask: Ask) -> Reply:
        """Returns the judge's reply, with retries. Raises JudgeFailed, JudgeStopped, AskRefused and BudgetError."""
        estimate = estimated_tokens(ask.messages)
        tokens = round(estimate * self.tokens_per_estimate) + most_completion(self.spec, ask)
        if any(message.pictures for message in ask.messages):
            body = await asyncio.to_thread(request_body, self.spec, ask, self._picture)
        else:
            body = request_body(self.spec, ask)
        answer = await self._answer(body, tokens, most_cost(self.spec, ask))
        if answer.tokens:
            self._reported += answer.tokens.prompt
            self._estimated += estimate
            # Only the ratio is used: without a price, that of tokens.
            price = self.spec.price or Price(1.0, 1.0)
            self._cost += cost(price, answer.tokens.prompt, answer.tokens.completion)
            self._estimated_cost += cost(price, estimate, likely_completion(self.spec, ask))
        used = answer.tokens or Tokens(estimate, sum(len(text) // 4 + 1 for text in answer.texts))
        return Reply(
            texts=tuple(map(self.address.redact, answer.texts[: ask.samples])),
            finish=tuple(map(self.address.redact, answer.finish[: ask.samples])),
            prompt_tokens=used.prompt,
            completion_tokens=used.completion,
            model=self.address.redact(answer.model),
        )

    def _picture(self, picture: ShownImage) -> str:
        path = self._pictures.path(picture.name) if self._pictures else None
        if path is None:
            raise JudgeStopped(
                f"The picture {picture.name} isn't here any more. Import its items again with their images."
            )
        return data_url(path.read_bytes())

    async def _answer(self, body: Mapping[str, Any], tokens: int, bound: int) -> JudgeAnswer:
        """Asks with retries. `tokens` counts towards the rate limit; `bound` is the maximum cost of one attempt."""
        content = json.dumps(body).encode()
        attempt = 0
        slow_calls = 0
        while True:
            attempt += 1
            async with self._meter.slots:
                await self._meter.wait_turn(tokens)
                if self._stopped:
                    raise self._stop_error()
                outcome = await self._attempt(content, bound, slow_calls)
                self._note(outcome)
            if isinstance(outcome, JudgeAnswer):
                return outcome
            if outcome.kind == "slow":
                slow_calls += 1
            if not await self.pace.wait_to_retry(attempt, outcome):
                raise final_error(outcome, f"{attempt} attempts")

    def _stop_error(self) -> JudgeStopped:
        """Returns a copy of the error that stopped the client, for another caller.

        One exception raised in several tasks would share its traceback.
        """
        assert self._stopped
        return type(self._stopped)(str(self._stopped))

    def _note(self, outcome: JudgeAnswer | Trouble) -> None:
        """Counts failures, and pauses or stops the client where a failure calls for it."""
        if isinstance(outcome, JudgeAnswer):
            self._failures = 0
            return
        if outcome.wait is not None:
            self._meter.pause(outcome.wait)
        if outcome.kind in STOPPING:
            error_type = JudgeUnknown if outcome.kind == "unknown" else JudgeStopped
            self._stopped = error_type(outcome.words)
        elif outcome.kind in PASSING:
            if outcome.kind not in ("busy", "loading"):
                self._failures += 1
            self._last_failure = outcome.words
        else:
            self._failures = 0  # The server works, it refused only this question.
        if self._failures >= self._most_failures and self._stopped is None:
            self._stopped = JudgeStopped(
                f"{self._failures} calls in a row failed. Resume later. The last failure: {outcome.words}"
            )

    async def _attempt(self, content: bytes, bound: int, slow_calls: int) -> JudgeAnswer | Trouble:
        """Makes one attempt: reserves the bound, then commits the real cost, or the bound if the cost is unknown.

        `slow_calls` is the number of earlier attempts that took too long.
        """
        call = Call()
        outcome: JudgeAnswer | Trouble | None = None
        async with reserved(self._job_budget, bound) as held:
            try:
                async with self._reply_times.time_call(slow_calls):
                    reply = await self._client.complete(content, call)
                outcome = read_answer(reply)
                return outcome
            except Trouble as trouble:
                outcome = trouble
                return outcome
            finally:
                held.spent = self._spent(call, outcome, bound)

    def _spent(self, call: Call, outcome: JudgeAnswer | Trouble | None, bound: int) -> int:
        """Returns the cost of a call: the bound if its tokens are unknown, and 0 if it wasn't sent.

        The outcome is None if the call was cancelled.
        """
        tokens = outcome.tokens if outcome is not None else None
        if tokens:
            return cost(self.spec.price, tokens.prompt, tokens.completion)
        return bound if call.is_sent else 0


def final_error(trouble: Trouble, tries: str) -> JudgeError:
    """Returns the error of a question without a reply after its tries."""
    if trouble.kind in PASSING:
        return JudgeFailed(f"The judge didn't reply in {tries}. The last failure: {trouble.words}")
    if trouble.kind == "unknown":
        return JudgeUnknown(trouble.words)
    if trouble.kind in STOPPING:
        return JudgeStopped(trouble.words)
    if trouble.kind == "field":
        return _FieldRefused(f"{trouble.words}. Choose another judge, or have it tested again.")
    return AskRefused(trouble.words)


async def probe(
    address: Endpoint,
    model: str,
    pace: RateLimits | None = None,
    fetcher: Fetcher | None = None,
) -> JudgeSpec:
    """Finds out by five or six short calls which fields a model accepts, and whether its replies can be read.

    Raises JudgeStopped, which is JudgeUnreadable if none of the replies can be read, and JudgeFailed.
    """
    tokens_field: TokensField = "max_tokens"
    plainest_spec = JudgeSpec(
        model=model,
        temperature=False,
        tokens=tokens_field,
        samples=False,
        seed=False,
        json_schema=False,
        reasoning_tokens=0,
        price=None,
    )
    async with Judge(plainest_spec, address, pace, fetcher=fetcher) as judge:
        first = await _try_fields(judge, tokens_field)
        if first is None:
            tokens_field = "max_completion_tokens"
            first = await _try_fields(judge, tokens_field)
        if first is None:
            raise JudgeStopped(
                "The server refuses even the plainest request to this model. Choose another judge."
            )
        temperature, samples, seed, schema = await asyncio.gather(
            _try_fields(judge, tokens_field, temperature=0.0),
            _try_fields(judge, tokens_field, n=2),
            _try_fields(judge, tokens_field, seed=1),
            _try_fields(judge, tokens_field, response_format=response_format(_PROBE_SCHEMA)),
        )
    answers = [answer for answer in (first, temperature, samples, seed, schema) if answer]
    if not any(map(_is_readable, answers)):
        ending = address.redact(first.texts[0].strip()[-_MOST_QUOTED:])
        problem = f"We asked {model} for the score 1 and couldn't read its {len(answers)} replies."
        raise JudgeUnreadable(
            f"{problem} The first ended in {ending!r}. Choose another judge.",
            f"{problem} Choose another judge.",
        )
    return JudgeSpec(
        model=model,
        temperature=temperature is not None,
        tokens=tokens_field,
        samples=samples is not None and len(samples.texts) == 2,
        seed=seed is not None,
        json_schema=schema is not None and _PROBE_REPLY.fullmatch(schema.texts[0]) is not None,
        reasoning_tokens=_REASONING_TOKENS if any(map(_does_reason, answers)) else 0,
        price=None,
    )


def _does_reason(answer: JudgeAnswer) -> bool:
    """Whether a model reasoned before it replied; special tokens in its texts don't show that."""
    cut_formats = {name for text in answer.texts for name in answer_of(text).cuts}
    return answer.has_reasoned or bool(cut_formats - {SPECIAL_TOKENS})


def _is_readable(answer: JudgeAnswer) -> bool:
    return read_score(answer.texts[0], _PROBE_SCALE, answer.finish[0]) is not None


async def _try_fields(judge: Judge, tokens_field: TokensField, **fields: Any) -> JudgeAnswer | None:
    """Returns the reply to a probe with these fields; None if the server refuses them."""
    messages = [{"role": message.role, "content": message.text} for message in _PROBE]
    body = {"model": judge.spec.model, "messages": messages, tokens_field: _PROBE_TOKENS, **fields}
    try:
        return await judge._answer(body, estimated_tokens(_PROBE), bound=0)
    except (AskRefused, _FieldRefused):
        return None


def read_answer(content: bytes) -> JudgeAnswer | Trouble:
    """Returns the reply in a server's JSON, or the trouble with it."""
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        return Trouble("bad reply", "a reply that is no JSON")
    tokens = token_counts(_under(record, "usage"))
    raw_choices = _under(record, "choices")
    if not isinstance(raw_choices, list) or not raw_choices:
        return Trouble("bad reply", "a reply without choices", tokens=tokens)
    if len(raw_choices) > _MOST_CHOICES:
        return Trouble("bad reply", f"a reply with over {_MOST_CHOICES} choices", tokens=tokens)
    raw_choices.sort(key=lambda choice: _number(_under(choice, "index")))
    choices = [choice for choice in map(_read_choice, raw_choices) if choice]
    if any(len(choice.text) > _MOST_TEXT for choice in choices):
        problem = f"a reply of over {_MOST_TEXT:,} characters"
        return Trouble("bad reply", problem, tokens=tokens)
    if len(choices) < len(raw_choices):
        return Trouble("bad reply", "a reply without its text or finish_reason", tokens=tokens)
    model = _under(record, "model")
    reasoning = _under(record, "usage", "completion_tokens_details", "reasoning_tokens")
    return JudgeAnswer(
        texts=tuple(choice.text for choice in choices),
        finish=tuple(choice.finish for choice in choices),
        model=storable(model)[:200] if isinstance(model, str) else "",
        tokens=tokens,
        has_reasoned=any(choice.has_reasoned for choice in choices) or _number(reasoning) > 0,
    )


class _Choice(NamedTuple):
    """One of a reply's choices; a refusal is its text."""

    text: str
    finish: str
    has_reasoned: bool
    """Whether it has reasoning beside its text."""


def _read_choice(choice: object) -> _Choice | None:
    """Returns a choice; None without its text or its reason to finish."""
    message = _under(choice, "message")
    finish = _under(choice, "finish_reason")
    if not isinstance(message, dict) or not isinstance(finish, str) or not finish:
        return None
    try:
        parts = read_message(message)
    except TypeError:
        return None
    return _Choice(
        text=storable(parts.text or parts.refusal),
        finish=storable(finish)[:40],
        has_reasoned=has_thinking_field(message),
    )


def _under(value: Any, *names: str) -> Any:
    """Returns the value under nested keys of a JSON object; None if one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _number(value: object) -> int:
    return value if type(value) is int else 0
