"""HTML templates: a file of macros for each screen, with all values escaped except HTML from `arena.markdown`."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from arena.interval_text import dashed, interval_text, spanned
from arena.locale import named, t, translated
from arena.markdown import answer_html, instruction_html, plain_html, visible_name

ROOT = Path(__file__).parents[1]
TEMPLATE_FOLDERS = (ROOT / "arena/web/templates", ROOT / "scoring/web/templates")


def macros(file: str) -> Any:
    """Returns the macros of a template as functions that return HTML."""
    return ENVIRONMENT.get_template(file).module


def script(path: Path) -> str:
    """Returns one of our scripts or styles unescaped, for use between its tags."""
    return Markup(path.read_text("utf-8"))


def plural(number: int, noun: str) -> str:
    """Returns a number with its noun, as in "1 vote", "2,000 votes" or "3 other people"."""
    if number == 1:
        return f"1 {noun}"
    nouns = f"{noun}s"
    if noun.endswith("person"):
        nouns = noun.removesuffix("person") + "people"
    return f"{number:,} {nouns}"


class Words(NamedTuple):
    """A part of a sentence."""

    text: str
    is_name: bool = False
    """Whether it is a name that runs from right to left."""


def with_names(sentence: str, names: Iterable[str]) -> Sequence[Words]:
    """Splits a sentence at names that run from right to left, which would reverse the text around them."""
    left_names = {visible_name(name) for name in names if _runs_left(name)}
    parts = [Words(visible_name(sentence))]
    # the longest first, since a name may be part of another
    for name in sorted(left_names, key=len, reverse=True):
        parts = [piece for part in parts for piece in _split_at(part, name)]
    return parts


def _runs_left(name: str) -> bool:
    """Returns whether a name has letters that run from right to left."""
    if name.isascii():
        return False
    return any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in name)


def _split_at(part: Words, name: str) -> Iterator[Words]:
    """Yields words without the name and the name itself, in turn."""
    if part.is_name:
        yield part
        return
    before, *others = part.text.split(name)
    yield Words(before)
    for text in others:
        yield Words(name, is_name=True)
        yield Words(text)


def printable(value: Any) -> Any:
    """Returns a value as templates print it, with codes for a text's invisible characters; HTML stays as it is.

    A form's value, which must come back unchanged, is escaped in the template with `|e`.
    """
    is_plain_text = type(value) is str  # HTML is `Markup`, a subclass
    return visible_name(value) if is_plain_text else value


class CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates beside compiled modules, for the next start; none if the folder is read-only."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


# The bytecode depends on `finalize`, but its cache key doesn't. So change "shown" in the files' names along with it.
ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATE_FOLDERS),
    autoescape=True,
    finalize=printable,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    bytecode_cache=CompiledTemplates(str(Path(__file__).parent / "__pycache__"), "%s.shown.jinja"),
)
ENVIRONMENT.globals["t"] = t
ENVIRONMENT.policies["json.dumps_kwargs"] = {"allow_nan": False}
ENVIRONMENT.filters |= {
    "answer": answer_html,
    "dashed": dashed,
    "decimal": lambda value, places=1: "–" if value is None else f"{value:.{places}f}",
    "instruction": instruction_html,
    "interval_text": interval_text,
    "named": named,
    "number": lambda value, spec=",": format(value, spec),
    "percent": lambda value, places=1: "–" if value is None else f"{value:.{places}%}",
    "plain": plain_html,
    "plural": plural,
    "spanned": spanned,
    "translated": translated,
    "with_names": with_names,
}
