"""Problems of a spec, each with its place: pydantic's errors in our words, and unknown names."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic import ValidationError

_SHOWN_CHARACTERS = 60
"""Characters of a wrong value that a message shows."""
_MOST_PROBLEMS = 30
"""Problems that a message names."""


class SpecProblem(NamedTuple):
    """A problem, and where in the spec it is, as in `figures.Overall`."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


class SpecError(ValueError):
    """A spec cannot be used; `problems` are all its problems, and `file` is the name of its file, if it has one."""

    def __init__(self, problems: Sequence[SpecProblem], file: str = "") -> None:
        self.problems = tuple(problems)
        self.file = file
        lines = [str(problem) for problem in problems[:_MOST_PROBLEMS]]
        if len(problems) > _MOST_PROBLEMS:
            lines.append(f"and {len(problems) - _MOST_PROBLEMS:,} more problems.")
        if file:
            lines = [f"{file}: {line}" for line in lines]
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[object, ...]:
        return SpecError, (self.problems, self.file)


def either(words: Iterable[object], joint: str = "or") -> str:
    """Words as a list in a sentence: a, b or c."""
    *first, last = map(str, words)
    return f"{', '.join(first)} {joint} {last}" if first else last


def none_of(value: object, known: Iterable[str], is_optional: bool = False) -> str:
    """Returns sentences: the value isn't one of the known names, then the closest name, or else what to do.

    `is_optional`: whether the value can also be deleted.
    """
    names = [*known]
    close = get_close_matches(str(value)[:_SHOWN_CHARACTERS], names, 1)
    text = f"{quoted(value)} isn't one of: {', '.join(names) or 'none'}"
    if close:
        return f"{text}. Did you mean {close[0]!r}?"
    return f"{text}. Delete or correct it." if is_optional else f"{text}. Correct it."


def quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def spec_problems(
    error: ValidationError,
    place: str,
    known: Iterable[str] = (),
    below: Mapping[str, Iterable[str]] | None = None,
) -> list[SpecProblem]:
    """Returns pydantic's errors about the part of a spec at `place` as problems.

    To correct unknown fields, `known` has the fields that the part may have. `below` has the fields that each of its
    members may have, by the member's name; for a member that isn't there, they are those of `known`.
    """
    problems = []
    for detail in error.errors(include_url=False):
        member, *rest = map(str, detail["loc"] or [""])
        names = known
        if rest and below is not None:
            names = below.get(member, known)
        problems.append(_problem(detail, place, names))
    return problems


_SENTENCES: Mapping[str, str] = {
    **dict.fromkeys(
        ("dict_type", "model_type", "mapping_type"),
        "Write names with values, as in `name: value`, instead of {found}.",
    ),
    **dict.fromkeys(("list_type", "tuple_type"), "Write a list, as in [a, b], instead of {found}."),
    "string_type": "Write a text instead of {found}.",
    "missing": "This is missing. Add it.",
    "literal_error": "{found} isn't possible here. Choose {expected}.",
    "string_too_long": "This has more than {max_length:,} characters. Shorten it.",
    "too_long": "This has more than {max_length:,} entries. Leave some out.",
    **dict.fromkeys(
        ("string_too_short", "too_short"),
        "This is empty. Fill it in, or leave out the whole entry.",
    ),
    "value_error": "{error}",
}
"""Sentences by the kind of pydantic's error, with its values filled in."""
_UNKNOWN_FIELD = ("extra_forbidden", "unexpected_keyword_argument")


def _problem(detail: Any, place: str, known: Iterable[str]) -> SpecProblem:
    """One of pydantic's error details as a problem."""
    kind = detail["type"]
    *above, last = [str(part)[:_SHOWN_CHARACTERS] for part in detail["loc"]] or [""]
    value = quoted(detail["input"])
    # In a field for a text or a list, pydantic has one word for both.
    if kind == "too_long" and isinstance(detail["input"], str):
        kind = "string_too_long"
    if kind in _UNKNOWN_FIELD:
        unknown = f"{last!r} is unknown. Delete or correct it."
        text = none_of(last, known, is_optional=True) if known else unknown
        return SpecProblem(_join_place(place, *above), text)
    sentence = _SENTENCES.get(kind)
    if sentence is None:
        # After a comma, pydantic says why it couldn't read the value.
        expected = detail["msg"].replace("Input should be", "It must be").split(",")[0]
        text = f"This is {value}. {expected[:200]}."
    else:
        text = sentence.format(**{"found": value, **detail.get("ctx", {})})
    return SpecProblem(_join_place(place, *above, last), text)


def _join_place(*parts: str) -> str:
    return ".".join(filter(None, parts))
