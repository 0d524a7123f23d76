"""Report serialisation: frozen records to JSON text and back, lossless.

Numeric fields of records are `StrictInt` or the like where pydantic would otherwise accept a text.
"""

import json
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from arena.validation import one_line

T = TypeVar("T")


class ReportError(ValueError):
    """Error of a stored report that cannot be read; the message says why."""


def record_json(record: Any) -> str:
    """JSON, in ASCII only, of a frozen record, which may hold records, tuples, enums and mappings keyed by text."""
    return json.dumps(
        record,
        default=lambda part: {name: getattr(part, name) for name in part.__dataclass_fields__},
    )


def read_record(kind: type[T], text: str) -> T:
    """Record of type `kind` from a `record_json` text; an unknown key or value is an error. Raises ReportError."""
    try:
        return _adapter(kind).validate_python(json.loads(text), extra="forbid")
    except ValidationError as error:
        problem = one_line(error)
    except (ValueError, RecursionError) as error:
        problem = str(error)
    unread = ReportError("The stored report can't be read. Score the file again.")
    unread.add_note(problem)
    raise unread


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)
