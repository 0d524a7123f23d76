"""What may be asked of a judge and what it replies: the ground under the client and the benchmarks."""

import json
import math
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias

from arena.io.strict_json import RowsError
from arena.io.tables import Record, read_records, require_columns
from arena.types import Price
from scoring.report import Grade

TokensField = Literal["max_tokens", "max_completion_tokens"]
"""What a model calls the room for its reply."""

_JUDGES = Path(__file__).parent.parent / "data" / "judges.csv"
_MARKS: Mapping[str, bool] = {"yes": True, "no": False}
_TOKENS: Mapping[str, TokensField] = {name: name for name in ("max_tokens", "max_completion_tokens")}
_DOLLARS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_PER_MESSAGE, _PER_PROMPT = 4, 3
"""Tokens that a chat's own marks take, as OpenAI counts them."""
_TEMPLATE = 10
"""How many times as much another server's template may take."""
_PER_PICTURE, _MOST_PER_PICTURE = 1_200, 40_000
"""Tokens that a picture takes: about, and at most as OpenAI's small models count them (36,835 for gpt-4o-mini)."""


@dataclass(frozen=True)
class ShownImage:
    """A picture that a judge is shown: one of the picture store, named by its content."""

    sha256: str
    suffix: str

    @property
    def name(self) -> str:
        """Return its name in the store, which stands in a request until it is sent."""
        return f"{self.sha256}.{self.suffix}"


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str
    pictures: tuple[ShownImage, ...] = ()
    """What stands under the text."""


@dataclass(frozen=True)
class Ask:
    """One question to the judge, whole."""

    messages: tuple[Message, ...]
    temperature: float | None = 0.0
    """None: the model's own; left out where the model refuses it."""
    reply_tokens: int = 16
    """Room for the visible reply; a judge that reasons gets its own room on top."""
    samples: int = 1
    """Replies wanted in one call (`n`)."""
    schema: str | None = None
    """JSON schema of the reply as JSON text; left out where the model knows none."""
    seed: int | None = None
    """The run, which the driver sets; sent to a judge that takes a seed."""


@dataclass(frozen=True)
class Reply:
    """What the judge replied to one `Ask`: a text and a finish reason for each sample."""

    texts: tuple[str, ...]
    finish: tuple[str, ...]
    prompt_tokens: int
    completion_tokens: int
    model: str
    """What the server calls the model that replied."""


Grading: TypeAlias = Generator[Ask, Reply, Grade]
"""The grading of one prediction, without any network: yields what to ask, is sent the reply, returns the grade."""


@dataclass(frozen=True)
class JudgeSpec:
    """What a judge model allows."""

    model: str
    temperature: bool
    tokens: TokensField
    samples: bool
    """Whether `n` above 1 is taken."""
    seed: bool
    logprobs: bool
    json_schema: bool
    reasoning_tokens: int
    """Hidden tokens that the model may spend before it replies; 0 where it does not reason."""
    price: Price | None
    """None: not known, and then nobody but the owner of the key may spend it."""


class JudgeBudget(Protocol):
    """What pays for calls: money is held before a call and settled after. Amounts are millionths of a US dollar."""

    def reserve(self, amount: int) -> int:
        """Hold an upper bound and return its number; raises an error that says which ceiling is in the way."""
        ...

    def commit(self, number: int, amount: int) -> None:
        """Replace what was held by what the call cost."""
        ...


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens the messages have: four ASCII characters are one, and so is any other character."""
    texts = "".join(message.text for message in messages)
    wide = sum(not character.isascii() for character in texts)
    shown = _PER_PICTURE * sum(len(message.pictures) for message in messages)
    return (len(texts) - wide) // 4 + wide + shown + _PER_MESSAGE * len(messages) + _PER_PROMPT


def most_tokens(messages: Sequence[Message]) -> int:
    """Return what the messages' tokens cannot exceed: no token is shorter than a byte."""
    written = sum(len(message.text.encode("utf-8", "replace")) for message in messages)
    written += _MOST_PER_PICTURE * sum(len(message.pictures) for message in messages)
    return written + _TEMPLATE * (_PER_MESSAGE * len(messages) + _PER_PROMPT)


def most_completion(spec: JudgeSpec, ask: Ask) -> int:
    """Return how many tokens the replies to one call may have, hidden ones too."""
    return ask.samples * (ask.reply_tokens + spec.reasoning_tokens)


def cost(price: Price | None, prompt_tokens: int, completion_tokens: int) -> int:
    """Return what the tokens cost in millionths of a US dollar, rounded up; 0 where no price is known."""
    if price is None:
        return 0
    return math.ceil(round(prompt_tokens * price.prompt + completion_tokens * price.completion, 6))


def most_cost(spec: JudgeSpec, ask: Ask) -> int:
    """Return what one call cannot cost more than, in millionths of a US dollar."""
    prompt = most_tokens(ask.messages) + len((ask.schema or "").encode())
    return cost(spec.price, prompt, most_completion(spec, ask))


def request(spec: JudgeSpec, ask: Ask) -> dict[str, Any]:
    """Return the body of the call: all that shapes the reply, and only what the model takes.

    Pictures stand in it by their names; who sends it puts them in. Raises ValueError for several samples of a model
    that gives one.
    """
    if ask.samples > 1 and not spec.samples:
        raise ValueError(f"{spec.model} gives one sample a call, {ask.samples} were asked for; ask in separate calls")
    body: dict[str, Any] = {
        "model": spec.model,
        "messages": [{"role": message.role, "content": _content(message)} for message in ask.messages],
        spec.tokens: ask.reply_tokens + spec.reasoning_tokens,
    }
    if spec.temperature and ask.temperature is not None:
        body["temperature"] = ask.temperature
    if ask.samples > 1:
        body["n"] = ask.samples
    if spec.seed and ask.seed is not None:
        body["seed"] = ask.seed
    if spec.json_schema and ask.schema is not None:
        body["response_format"] = response_format(ask.schema)
    return body


def _content(message: Message) -> str | list[dict[str, Any]]:
    """Return a message's content: its text, and below it the names of its pictures."""
    if not message.pictures:
        return message.text
    shown = [{"type": "image_url", "image_url": {"url": picture.name}} for picture in message.pictures]
    return [{"type": "text", "text": message.text}, *shown]


def response_format(schema: str) -> dict[str, Any]:
    """Return the field that holds a reply to a JSON schema, given as JSON text."""
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": json.loads(schema)}}


@cache
def known_judges() -> Mapping[str, JudgeSpec]:
    """Return the models of which it is known what they allow, by name."""
    return MappingProxyType({spec.model: spec for spec in map(_known, read_records(_JUDGES))})


def _known(record: Record) -> JudgeSpec:
    cells = {name: str(value) for name, value in record.values.items()}
    return JudgeSpec(
        model=cells["model"],
        temperature=_MARKS[cells["temperature"]],
        tokens=_TOKENS[cells["tokens"]],
        samples=_MARKS[cells["samples"]],
        seed=_MARKS[cells["seed"]],
        logprobs=_MARKS[cells["logprobs"]],
        json_schema=_MARKS[cells["json_schema"]],
        reasoning_tokens=int(cells["reasoning_tokens"]),
        price=_price(record, "prompt_price", "completion_price", _JUDGES.name) if cells["prompt_price"] else None,
    )


def read_prices(path: Path) -> Mapping[str, Price]:
    """Return the operator's prices by model: a table with the columns model, prompt and completion.

    Raises RowsError with the row of what cannot be read.
    """
    prices: dict[str, Price] = {}
    for record in read_records(path):
        require_columns(record, ("model", "prompt", "completion"), path.name)
        model = str(record.values["model"]).strip()
        if not model or model in prices:
            problem = "is there twice; delete one" if model else "expected a model's name; write it there"
            raise RowsError(problem, path.name, record.row, "model")
        prices[model] = _price(record, "prompt", "completion", path.name)
    return prices


def _price(record: Record, prompt: str, completion: str, file: str) -> Price:
    for name in (prompt, completion):
        if not _DOLLARS.fullmatch(str(record.values[name])):
            problem = f"expected US dollars for a million tokens, as in 2.50, found {str(record.values[name])[:40]!r}"
            raise RowsError(f"{problem}; write it so", file, record.row, name)
    return Price(float(str(record.values[prompt])), float(str(record.values[completion])))


def with_price(spec: JudgeSpec, prices: Mapping[str, Price]) -> JudgeSpec:
    """Return the judge with the operator's price, where there is one."""
    return replace(spec, price=prices.get(spec.model, spec.price))
