"""Validation: pydantic rules for fields, and pydantic errors as one line with key, value and rule."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pydantic import ValidationError, WrapValidator


class _HiddenError(ValueError):
    """A wrong value that may be a secret."""


def must_be(
    expected: str, holds: Callable[[Any], object] = lambda _: True, hidden: str = ""
) -> WrapValidator:
    """Returns a rule for `Annotated`: `holds` must be true of the value.

    Errors say that the value must be `expected`. `hidden` says what a value may hold that no error may show, such as
    "a password".
    """

    def check(value: Any, parse: Callable[[Any], Any]) -> Any:
        # A value of the wrong type (pydantic's ValidationError is a ValueError) fails like one that breaks the rule.
        with suppress(ValueError):
            parsed = parse(value)
            if holds(parsed):
                return parsed
        # `one_line` writes only the key before the first message, but key and value before the second.
        if hidden:
            raise _HiddenError(
                f"must be {expected}. Its value isn't shown, since it may hold {hidden}."
            )
        raise ValueError(f"it must be {expected}")

    return WrapValidator(check)


def whole(least: int, most: int) -> WrapValidator:
    """Returns a rule for a whole number within bounds, for `Annotated`."""
    return must_be(f"a whole number from {least} to {most}", lambda value: least <= value <= most)


def number(least: float, most: float) -> WrapValidator:
    """Returns a rule for a number within bounds, for `Annotated`."""
    return must_be(f"a number from {least:g} to {most:g}", lambda value: least <= value <= most)


def one_line(error: ValidationError, unknown: str = "isn't a known key. Delete it.") -> str:
    """Returns the first error as one line with table and key; `unknown` is the message after an unknown key.

    Raise the exception with this line `from None`, since pydantic's text has values.
    """
    first_error = error.errors(include_url=False)[0]
    location = first_error["loc"]
    kind = first_error["type"]
    names = [part for part in location if isinstance(part, str)]
    key = names[-1] if names else ""
    # A key in a table has the location (table, key). Between them may be pydantic's name for the kind of table. The
    # location of a key in a list of tables also has a number.
    is_in_table = len(names) > 1 and len(names) == len(location)
    if is_in_table:
        key = f"{names[0]}.{key}"
    cause = first_error.get("ctx", {}).get("error", "")
    if kind == "missing":
        return f"{key} is missing. Add it."
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{key!r} {unknown}"
    if isinstance(cause, _HiddenError):
        return f"{key} {cause}"
    expected = str(cause or first_error["msg"])
    expected = expected.replace("Input should be", "it must be").replace("a valid", "a")
    if not key:
        return expected
    is_list_member = isinstance(location[-1], int)
    verb = "holds" if is_list_member else "is"
    return f"{key} {verb} {str(first_error['input'])[:60]!r}. {expected[0].upper()}{expected[1:]}."
