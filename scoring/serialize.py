"""Report serialisation: frozen records to JSON text and back, lossless."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class ReportError(ValueError):
    """A stored report cannot be read; the message says why."""


def record_json(record: Any) -> str:
    """A frozen record as ASCII-only JSON; it may hold records, tuples, enums and mappings keyed by text."""
    return json.dumps(record, default=_members)


def read_record(kind: type[T], text: str) -> T:
    """The record of type `kind` in a `record_json` text. Raises ReportError."""
    try:
        return _reader(kind)(json.loads(text))
    except (json.JSONDecodeError, TypeError) as error:
        raise ReportError(f"The stored report cannot be read ({error}); score the file again") from error


def _members(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _names(type(record))}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """A function that builds a value of type `kind` from JSON; an unknown key or value is an error."""
    parts = get_args(kind)
    origin = get_origin(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _record_reader(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member_reader({member.value: member for member in kind}, kind)
    if origin is Literal:
        return _member_reader({value: value for value in parts}, kind)
    if origin in (UnionType, Union):  # the latter comes from a Literal
        inner = _reader(parts[0])
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        each, listed = _reader(parts[0]), _plain_reader(list)
        return lambda value: tuple(map(each, listed(value)))
    if origin is Mapping:
        member, mapped = _reader(parts[1]), _plain_reader(dict)
        return lambda value: {name: member(inner) for name, inner in mapped(value).items()}
    return _plain_reader(float | int if kind is float else kind)


def _record_reader(kind: Any) -> Callable[[Any], Any]:
    readers = {name: _reader(hint) for name, hint in get_type_hints(kind).items()}
    known = readers.keys()

    def read(value: Any) -> Any:
        if not isinstance(value, dict) or not value.keys() <= known:
            raise ReportError(f"The stored report holds a {kind.__name__} of another version; score the file again")
        return kind(**{name: readers[name](inner) for name, inner in value.items()})

    return read


def _member_reader(members: Mapping[Any, Any], kind: Any) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if isinstance(value, list | dict) or value not in members:
            raise _unfit(value, kind)
        return members[value]

    return read


def _plain_reader(kind: Any) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            raise _unfit(value, kind)
        return value

    return read


def _unfit(value: Any, kind: Any) -> ReportError:
    return ReportError(f"The stored report holds {value!r:.40}, where {kind} was expected; score the file again")
