"""Benchmarks of another form, translated: a spec, and the parts of the file that it leaves out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.specs.schema import Spec, spec_of

_LONGEST_NAME = 80
_LONGEST_ABOUT = 200
"""Characters that a spec's `name` and `about` may have."""


@dataclass(frozen=True)
class Translated:
    """A spec that was made of another form."""

    form: str
    """The original form, in words."""
    task: str
    """Its name in the file."""
    spec: Spec
    left_out: tuple[str, ...]
    """The parts that the spec leaves out, each with its place in the file."""


def translated(form: str, task: str, raw: Mapping[str, Any], left_out: Sequence[str]) -> Translated:
    """The spec of a mapping; a `name` or `about` that is too long is shortened. Raises SpecError."""
    fitted = {
        **raw,
        "name": shortened(raw["name"], _LONGEST_NAME),
        "about": shortened(raw["about"], _LONGEST_ABOUT),
    }
    cut = [
        f"{field}: shortened to {len(fitted[field])} characters"
        for field in ("name", "about")
        if fitted[field] != " ".join(raw[field].split())
    ]
    return Translated(form, task, spec_of(fitted), (*left_out, *cut))


def shortened(text: str, most: int) -> str:
    """A text on one line; a longer one ends with its last whole word that has room, and a mark."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    whole_words = line[:most].rpartition(" ")[0]
    return f"{whole_words or line[: most - 1]}…"


def plain_name(name: str) -> str:
    """A name that a question file may have."""
    words = "".join(sign if sign.isalnum() else "_" for sign in name)
    return words.strip("_")[:_LONGEST_NAME] or "questions"


def comment(text: str) -> str:
    """A line of YAML that is a comment, whatever the text; signs that YAML refuses become blanks."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return f"# {' '.join(printable.split())}\n"
