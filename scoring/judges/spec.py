"""Judge requests: messages, asks, replies and the fields that a judge model accepts."""

import json
import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import TypeAdapter

from arena.inference.limits import cost
from arena.io.rows import FileRow, cell, read_rows
from arena.io.tables import Record, read_records
from arena.types import Price
from scoring.report import DATA, Grade

TokensField = Literal["max_tokens", "max_completion_tokens"]

_JUDGES = DATA / "judges.csv"
_PRICES = DATA / "judge_prices.csv"
PROMPTS = Path(__file__).parent.parent / "prompts"
_DOLLARS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_Dollars = Annotated[
    str, cell("US dollars for a million tokens, as in 2.50", holds=_DOLLARS.fullmatch)
]
_EDITION = re.compile(r"(?:-\d{4}-\d{2}-\d{2}|-\d{8}|-latest|-preview(?:-\d{2}-\d{2})?)$")
_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_PROMPT = 3
"""Tokens of a chat's own markup, as OpenAI counts them."""
_LIKELY_SHARE = 0.25
"""Assumed share of the reply's room that a judge uses; the first replies correct it."""
_LIKELY_THOUGHT = 300
"""Assumed hidden tokens of a reply; the first replies correct it."""
_TEMPLATE_FACTOR = 10
"""Factor by which another server's chat template may add more markup."""
_TOKENS_PER_PICTURE = 1_200
_MOST_TOKENS_PER_PICTURE = 40_000
"""Tokens per image: typical, and at most as OpenAI's small models count them (36,835 for gpt-4o-mini)."""


@dataclass(frozen=True)
class ShownImage:
    """An image for a judge: one from the picture store, named by its content."""

    sha256: str
    suffix: str

    @property
    def name(self) -> str:
        """The name in the picture store, which replaces the image in a request until it is sent."""
        return f"{self.sha256}.{self.suffix}"


Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """A message of a conversation."""

    role: Role
    text: str
    pictures: tuple[ShownImage, ...] = ()


@dataclass(frozen=True)
class Ask:
    """A complete question to the judge."""

    messages: tuple[Message, ...]
    temperature: float | None = 0.0
    """None: the model's default; omitted if the model refuses the field."""
    reply_tokens: int = 16
    """Maximum tokens of the visible reply; a reasoning judge gets its own room on top."""
    samples: int = 1
    """Number of replies that are asked for in one call."""
    schema: str | None = None
    """JSON schema of the reply, for a judge that accepts one."""
    seed: int | None = None
    """Run number, set by the task runner; sent to a judge that accepts a seed."""
    likely_tokens: int | None = None
    """Likely tokens of the visible reply; None: a quarter of its maximum."""


@dataclass(frozen=True)
class Reply:
    """A judge's reply to an `Ask`: a text and a finish reason for each sample."""

    texts: tuple[str, ...]
    finish: tuple[str, ...]
    prompt_tokens: int
    completion_tokens: int
    model: str


def prompt_text(name: str) -> str:
    """The text of one of our files of prompts."""
    return (PROMPTS / name).read_text("utf-8")


def closed_schema(
    names: str | Sequence[str],
    kind: Literal["integer", "number", "string"],
    values: Sequence[object] = (),
) -> str:
    """JSON schema of a reply that is an object with exactly this member, or these.

    `values` lists the allowed values, if they are limited.
    """
    members = [names] if isinstance(names, str) else [*names]
    field = {"type": kind, "enum": values} if values else {"type": kind}
    return json.dumps(
        {
            "type": "object",
            "properties": dict.fromkeys(members, field),
            "required": members,
            "additionalProperties": False,
        }
    )


Grading: TypeAlias = Generator[Ask, Reply, Grade]
"""The grading of one prediction without network access: it yields asks, is sent replies, and returns the grade."""


@dataclass(frozen=True)
class JudgeSpec:
    """A judge model, and which fields of a request it accepts."""

    model: str
    temperature: bool
    tokens: TokensField
    """The field for the most tokens of a reply."""
    samples: bool
    """Whether one call may ask for several replies."""
    seed: bool
    json_schema: bool
    reasoning_tokens: int
    """Hidden tokens that the model may spend before it replies; 0 if it does not reason."""
    price: Price | None
    """None: unknown, so that only the key's owner may spend on it."""


UNNAMED = JudgeSpec(
    model="",
    temperature=True,
    tokens="max_tokens",
    samples=True,
    seed=True,
    json_schema=False,
    reasoning_tokens=0,
    price=None,
)
"""A placeholder for an unnamed or unknown judge, so that a file can be checked and its calls counted."""


def estimated_tokens(messages: Sequence[Message]) -> int:
    """An estimate of the messages' tokens: one for four ASCII characters, and one for any other character."""
    text = "".join(message.text for message in messages)
    ascii_characters = len(text.encode("ascii", "ignore"))
    other_characters = len(text) - ascii_characters
    picture_count = sum(len(message.pictures) for message in messages)
    tokens = ascii_characters // 4 + other_characters
    tokens += _TOKENS_PER_PICTURE * picture_count
    return tokens + _TOKENS_PER_MESSAGE * len(messages) + _TOKENS_PER_PROMPT


def most_tokens(messages: Sequence[Message]) -> int:
    """An upper bound of the messages' tokens: no token is shorter than a byte."""
    tokens = sum(len(message.text.encode("utf-8", "replace")) for message in messages)
    tokens += _MOST_TOKENS_PER_PICTURE * sum(len(message.pictures) for message in messages)
    return tokens + _TEMPLATE_FACTOR * (_TOKENS_PER_MESSAGE * len(messages) + _TOKENS_PER_PROMPT)


def likely_completion(spec: JudgeSpec, ask: Ask) -> int:
    """An estimate of the reply's tokens, with the hidden tokens of a reasoning model for so short a task."""
    hidden = min(_LIKELY_THOUGHT, spec.reasoning_tokens)
    visible: float = ask.reply_tokens * _LIKELY_SHARE
    if ask.likely_tokens is not None:
        visible = ask.likely_tokens
    return math.ceil(ask.samples * (visible + hidden))


def most_completion(spec: JudgeSpec, ask: Ask) -> int:
    """An upper bound of the reply's tokens."""
    return ask.samples * (ask.reply_tokens + spec.reasoning_tokens)


def most_cost(spec: JudgeSpec, ask: Ask) -> int:
    """An upper bound of the call's cost, in millionths of a US dollar."""
    prompt = most_tokens(ask.messages) + len((ask.schema or "").encode())
    return cost(spec.price, prompt, most_completion(spec, ask))


def request_body(
    spec: JudgeSpec, ask: Ask, url: Callable[[ShownImage], str] = lambda picture: picture.name
) -> dict[str, Any]:
    """The body of the call: everything that shapes the reply, and only fields that the model accepts.

    Images appear by name, or by `url`. Raises ValueError for several samples from a model that gives only one.
    """
    if ask.samples > 1 and not spec.samples:
        raise ValueError(
            f"{spec.model} gives one sample per call, not {ask.samples}. Ask in separate calls."
        )
    body: dict[str, Any] = {
        "model": spec.model,
        "messages": [
            {"role": message.role, "content": _content(message, url)} for message in ask.messages
        ],
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


def _content(message: Message, url: Callable[[ShownImage], str]) -> str | list[dict[str, Any]]:
    if not message.pictures:
        return message.text
    images = [
        {"type": "image_url", "image_url": {"url": url(picture)}} for picture in message.pictures
    ]
    return [{"type": "text", "text": message.text}, *images]


def response_format(schema: str) -> dict[str, Any]:
    return {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": json.loads(schema)},
    }


@cache
def known_judges() -> Mapping[str, JudgeSpec]:
    """The judges of our own list by model."""
    return MappingProxyType(
        {spec.model: spec for spec in map(_judge_of_record, read_records(_JUDGES))}
    )


def _judge_of_record(record: Record) -> JudgeSpec:
    """The judge of a row of the judges' file; pydantic reads "yes" and "no"."""
    price = list_price(str(record.values["model"]))
    return TypeAdapter(JudgeSpec).validate_python({**record.values, "price": price})


@cache
def _list_prices() -> Mapping[str, Price]:
    return MappingProxyType(read_prices(_PRICES))


def prices_date() -> str:
    """The month of the price list, such as "2026-11"."""
    return max(str(record.values["as_of"]) for record in read_records(_PRICES))


def list_price(model: str) -> Price | None:
    """The list price of a model under any name that people type: with a provider, a date or `latest`. None if unknown.

    A variant such as "gpt-4o:free" has a different price, which is not on the list. Some providers write
    "claude-sonnet-4.5" for "claude-sonnet-4-5".
    """
    bare_name = model.strip().lower().rsplit("/", 1)[-1].split("@")[0]
    undated = _EDITION.sub("", bare_name)
    for name in (bare_name, undated, undated.replace(".", "-")):
        if name in _list_prices():
            return _list_prices()[name]
    return None


class _PriceRow(FileRow):
    """A model's price."""

    model: Annotated[str, cell("a model's name", "Write one.", holds=bool)]
    prompt: _Dollars
    completion: _Dollars


def read_prices(path: Path) -> Mapping[str, Price]:
    """Prices by model from a table with the columns model, prompt and completion. Raises RowsError."""
    rows = read_rows(path, _PriceRow, key=("model",))
    return {row.model: Price(float(row.prompt), float(row.completion)) for _, row in rows}


def with_price(spec: JudgeSpec, prices: Mapping[str, Price]) -> JudgeSpec:
    """The judge with its price in `prices`, else its own, else its list price."""
    price = prices.get(spec.model) or spec.price or list_price(spec.model)
    return replace(spec, price=price)
