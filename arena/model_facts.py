"""Model facts, such as maker, licence and size, each with its source.

An operator states facts in a file or in the models file; others come from the Hugging Face Hub. All are untrusted
texts: one line of bounded length, and https links alone.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator

from arena.validation import must_be, number

MOST_LETTERS = 80
"""Most letters of the name of a maker or a licence."""
MOST_LINK = 300
"""Most characters of a link."""
MOST_PARAMETERS = 10**15
FactSource = Literal["operator", "router", "card", "hub"]
SOURCES: tuple[FactSource, ...] = get_args(FactSource)
"""Sources by precedence: a file of the operator, a router's prices, the model's card in the models file, the Hub."""
ON_HUB = "on_hub"
"""The field with the day on which a repository was made on the Hub, which may not be the day of release."""

_SIZE = re.compile(r"([0-9]{1,13}(?:\.[0-9]{1,3})?) ?([MBT]?)", re.ASCII | re.IGNORECASE)
_UNITS = {"": 1, "M": 10**6, "B": 10**9, "T": 10**12}
_DAY = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}", re.ASCII)
_REPOSITORY = re.compile(
    r"(?!.*(?:\.\.|--))[A-Za-z0-9](?:[\w.-]{0,94}\w)?/\w(?:[\w.-]{0,94}\w)?", re.ASCII
)
"""OWNER/NAME by the rules of the Hub; it becomes part of paths, so that no name may be dots."""
_LICENCES = {
    "apache-2.0": "Apache-2.0",
    "mit": "MIT",
    "bsd-3-clause": "BSD-3-Clause",
    "gpl-3.0": "GPL-3.0",
    "agpl-3.0": "AGPL-3.0",
    "cc-by-4.0": "CC-BY-4.0",
    "cc-by-sa-4.0": "CC-BY-SA-4.0",
    "cc-by-nc-4.0": "CC-BY-NC-4.0",
    "cc-by-nc-sa-4.0": "CC-BY-NC-SA-4.0",
}
"""The Hub's names of licences as SPDX writes them."""


def parse_size(text: str) -> int | None:
    """Returns a number of parameters, as in 8B, 0.5B, 256M or 8000000000; None for anything else."""
    match = _SIZE.fullmatch(text.strip()[:20])
    if match is None:
        return None
    size = round(float(match[1]) * _UNITS[match[2].upper()])
    return size if 0 < size <= MOST_PARAMETERS else None


def size_text(parameters: int) -> str:
    """Returns a number of parameters as people write it: 8B, 8.3B, 256M; in digits if it would be 0M."""
    if parameters < 0.05 * _UNITS["M"]:
        return str(parameters)
    unit = "M"
    for larger_unit in ("B", "T"):
        # from here on, the smaller unit would be rounded to 1000
        if parameters >= 0.9995 * _UNITS[larger_unit]:
            unit = larger_unit
    size = parameters / _UNITS[unit]
    number_text = f"{size:.0f}" if size >= 100 else f"{size:.1f}".removesuffix(".0")
    return number_text + unit


def licence_text(licence: str) -> str:
    """Returns a licence by its SPDX name if it is a common one, else as it is."""
    return _LICENCES.get(licence.casefold(), licence)


def is_link(text: str) -> bool:
    """Returns whether a text is an https address that a page may link to."""
    if len(text) > MOST_LINK or not _is_one_word(text):
        return False
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname)
    except ValueError:
        return False
    has_user = "@" in parts.netloc
    return parts.scheme == "https" and has_host and not has_user


def is_repository(text: str) -> bool:
    """Returns whether a text can name a repository on the Hub, as in owner/name."""
    return _REPOSITORY.fullmatch(text) is not None


def _is_one_word(text: str) -> bool:
    return text.isprintable() and not any(map(str.isspace, text))


def _is_line(text: str) -> bool:
    return text.isprintable() and 0 < len(text) <= MOST_LETTERS


def _is_day(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    year, *month_and_day = map(int, text.split("-"))
    month = month_and_day[0] if month_and_day else 1
    day = month_and_day[1] if len(month_and_day) > 1 else 1
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _size_of_text(value: object) -> object:
    """Returns the number of parameters that a text means (None: no size); any other value as it is."""
    return parse_size(value) if isinstance(value, str) else value


def _text_of_date(value: object) -> object:
    """Returns the text of a date from TOML; any other value as it is."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return value


_Line: TypeAlias = Annotated[
    str,
    must_be(f"one line of at most {MOST_LETTERS} characters", _is_line),
    BeforeValidator(lambda value: value.strip() if isinstance(value, str) else value),
]
_Link: TypeAlias = Annotated[str, must_be("an https address", is_link)]
_Flag: TypeAlias = Annotated[bool, must_be("true or false")]
_Size: TypeAlias = Annotated[
    int,
    BeforeValidator(_size_of_text),
    must_be('a number of parameters, as in "8B"', lambda size: 0 < size <= MOST_PARAMETERS),
]
_Dollars: TypeAlias = Annotated[float, number(0, 1_000_000)]


class StatedFacts(BaseModel, frozen=True, extra="forbid", strict=True):
    """Facts as an operator states them; None: not stated."""

    organisation: _Line | None = None
    licence: _Line | None = None
    licence_link: _Link | None = None
    open: _Flag | None = None
    """Whether the weights are open."""
    gated: _Flag | None = None
    """Whether one has to accept terms before downloading the weights."""
    parameters: _Size | None = None
    active: _Size | None = None
    """Parameters used for one token, in a mixture of experts."""
    released: (
        Annotated[
            str,
            must_be("a day, a month or a year, as in 2026-01-31, 2026-01 or 2026", _is_day),
            BeforeValidator(_text_of_date),
        ]
        | None
    ) = None
    prompt_price: _Dollars | None = None
    """US dollars for a million tokens, as is `completion_price`."""
    completion_price: _Dollars | None = None
    link: _Link | None = None
    """Page about the model."""
    repository: (
        Annotated[str, must_be("a model on the Hub, as in owner/name", is_repository)] | None
    ) = None
    """Repository from which the Hub's facts are read."""

    @property
    def values(self) -> dict[str, str]:
        """Stated facts as texts, by field."""
        return {field: fact_text(value) for field, value in self if value is not None}


NOTHING_STATED = StatedFacts()


def fact_text(value: Any) -> str:
    """Returns a fact as text for the database."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


@dataclass(frozen=True)
class Fact:
    """One fact as a text, with its source and when it was read there."""

    value: str
    source: FactSource
    read_at: datetime


@dataclass(frozen=True)
class ModelFacts:
    """Facts of a model, each from the first source that has it."""

    facts: Mapping[str, Fact]
    """Facts by field."""

    @classmethod
    def from_sources(cls, facts: Iterable[tuple[str, Fact]]) -> "ModelFacts":
        """Returns each field's fact from the first source that has one; `facts` are pairs of a field and a fact."""
        last_source_first = sorted(
            facts, key=lambda field_and_fact: SOURCES.index(field_and_fact[1].source), reverse=True
        )
        return cls(dict(last_source_first))  # a later fact replaces an earlier one

    def text(self, field: str) -> str | None:
        """Returns a fact as text; None if it is unknown."""
        fact = self.facts.get(field)
        return fact.value if fact else None

    @property
    def organisation(self) -> str | None:
        return self.text("organisation")

    @property
    def licence(self) -> str | None:
        """The licence, by its SPDX name if it is a common one."""
        licence = self.text("licence")
        return licence_text(licence) if licence else None

    @property
    def is_open(self) -> bool | None:
        return self._flag("open")

    @property
    def is_gated(self) -> bool | None:
        return self._flag("gated")

    @property
    def parameters(self) -> int | None:
        return self._number("parameters")

    @property
    def active(self) -> int | None:
        """The number of parameters used for one token, in a mixture of experts."""
        return self._number("active")

    @property
    def size(self) -> str | None:
        """The number of parameters as text, as in 8B."""
        return size_text(self.parameters) if self.parameters else None

    @property
    def released(self) -> str | None:
        """The day, month or year of release, as in 2026-01-31."""
        return self.text("released")

    def _flag(self, field: str) -> bool | None:
        text = self.text(field)
        return None if text is None else text == "yes"

    def _number(self, field: str) -> int | None:
        text = self.text(field)
        return None if text is None else int(text)


NO_FACTS = ModelFacts({})
