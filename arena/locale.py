"""Locale: what pages say, in the language of the request that is being answered.

`arena/web/locales/` has a file for each language: tables by page, of keys and texts. `t("pick.pictures", count=3)`
returns a text in the current language, in Python and in templates, where `t` is a global. The middleware makes the
request's language current. It is a context variable, which the request's threads and tasks inherit, so views and macros
don't pass it on. Nor do handlers of Gradio's events: they aren't queued, so each runs within its request. Commands and
background tasks, outside of a request, speak English. A cache needs the language in its key. `speaking` makes another
locale current.

`gr.I18n` follows the browser's language, not the switch of the page, so it isn't used: a page of Gradio with labels
made in Python is built once a language, within `speaking`.

A text is plain, and escaped where templates print it. One with a link has a placeholder for it: given `Markup`, `t`
returns HTML with the text and all other values escaped. A text that depends on a number is a table
`{one = ..., other = ...}`, chosen by `count`.

Layers below the pages raise and return English sentences. `[sentences]` of another language translates them, with `{}`
for each value, `{#}` for a number and `{w}` for a word or a list of words. `translated` finds them: a `VoterError` by
its sentence, other text by the fixed parts. A value may be such a sentence itself. Sentences with `{w}` are found as
values only.
`[composed]` has sentences that the code puts together, `[groups]` the names of benchmarks' groups, and `[given]` names
that this app has given, the only ones that `named` finds.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from arena.errors import VoterError

FOLDER = Path(__file__).parent / "web/locales"
MOST_SENTENCE = 4_000
"""Most characters of a sentence that is translated; longer ones stay English."""
_MOST_DEPTH = 4
"""Most levels of sentences within sentences that are translated."""
_FORMS = {"one", "other"}
_MOST_COOKIES = 8_000
"""Most characters that are read of a request's cookies."""
_MOST_ACCEPTED = 200
"""Most characters that are read of the languages that a browser accepts."""

_PLACE = re.compile(r"\{([#w]?)\}")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")

Text = str | Mapping[str, str]
"""A text, or its forms for one and for other numbers."""


class Pattern(NamedTuple):
    """A sentence with places for values: its fixed parts, and its translation."""

    parts: Sequence[str]
    kinds: Sequence[str]
    """What each value is: "#" a number, "w" a list of words, "" any text."""
    translation: str

    def values(self, text: str) -> list[str] | None:
        """Returns the values of a text that has these fixed parts; None for another text. Linear in the text."""
        values = self._between(text)
        if values is None or not all(map(_is_of_kind, values, self.kinds)):
            return None
        return values

    def _between(self, text: str) -> list[str] | None:
        first, *middle, last = self.parts
        if not text.startswith(first):
            return None
        end = len(text) - len(last)
        start = len(first)
        values = []
        for part in middle:
            place = text.find(part, start, end)
            if place < 0:
                return None
            values.append(text[start:place])
            start = place + len(part)
        if start > end or not text.endswith(last):
            return None
        return [*values, text[start:end]]


@dataclass(frozen=True)
class Locale:
    """The texts of a language."""

    language: str
    name: str
    """The language's name, as its speakers call it."""
    texts: Mapping[str, Text]
    """Texts by page and key, as in "pick.pictures"."""
    sentences: Mapping[str, str]
    """Translations by the English sentence."""
    given: Mapping[str, str]
    """Translations by the English name that this app has given."""
    patterns: Sequence[Pattern]
    tasks: Sequence[str] = ()
    """Tables in which a key is looked up first, for a worker's task with texts of its own."""

    @classmethod
    def read(cls, language: str) -> "Locale":
        """Reads a language's file."""
        tables = tomllib.loads((FOLDER / f"{language}.toml").read_text("utf-8"))
        given = tables.get("given", {})
        sentences: dict[str, str] = {}
        for table in ("sentences", "composed", "groups", "given"):
            sentences |= tables.pop(table, {})
        name = tables.pop("name")
        return cls(
            language=language,
            name=name,
            texts=dict(_flat_texts(tables)),
            sentences=sentences,
            given=given,
            patterns=_patterns(sentences),
        )

    def with_tasks(self, *tasks: str) -> "Locale":
        """Returns this locale with the tables of a worker's task."""
        return replace(self, tasks=tasks)

    def text(self, key: str, /, **values: object) -> str:
        """Returns a text with its values; without any, as it is in the file.

        HTML among the values (`Markup`) makes it HTML, with the text and all other values escaped.
        """
        text = self._text(key)
        if isinstance(text, Mapping):
            text = text["one" if values["count"] == 1 and "one" in text else "other"]
        if not values:
            return text
        if any(isinstance(value, Markup) for value in values.values()):
            return escape(text).format(**values)
        return text.format(**values)

    def _text(self, key: str) -> Text:
        for task in self.tasks:
            if (text := self.texts.get(f"{task}.{key}")) is not None:
                return text
        return self.texts[key]

    def table(self, name: str) -> Mapping[str, Text]:
        """Returns the texts of a table by their keys in it, as scripts get them."""
        prefix = f"{name}."
        return {
            key.removeprefix(prefix): text
            for key, text in self.texts.items()
            if key.startswith(prefix)
        }

    def translated(self, message: Exception | str) -> str:
        """Returns an error, or a sentence from below the pages, in this language.

        It stays English if this language has no translation of it.
        """
        if isinstance(message, VoterError) and message.values:
            values = [
                self._translated(value, _MOST_DEPTH - 1) if isinstance(value, str) else value
                for value in message.values
            ]
            return self.sentences.get(message.sentence, message.sentence).format(*values)
        sentence = str(message)
        if len(sentence) > MOST_SENTENCE:
            return sentence
        return self._translated(sentence, _MOST_DEPTH)

    def _translated(self, sentence: str, depth: int) -> str:
        """Returns a sentence in this language; its values are translated up to this depth."""
        translation = self.sentences.get(sentence)
        if translation is not None:
            return translation
        if depth == 0:
            return sentence
        for pattern in self.patterns:
            is_value = depth < _MOST_DEPTH
            if "w" in pattern.kinds and not is_value:
                continue
            values = pattern.values(sentence)
            if values is None:
                continue
            translated_values = [
                self._translated_value(value, kind, depth - 1)
                for value, kind in zip(values, pattern.kinds, strict=True)
            ]
            return pattern.translation.format(*translated_values)
        return sentence

    def _translated_value(self, value: str, kind: str, depth: int) -> str:
        if kind == "w":
            return value.replace(", ", self.text("names.comma"))
        return self._translated(value, depth)


def _flat_texts(tables: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Text]]:
    """Yields the texts of nested tables by their dotted keys."""
    for name, value in tables.items():
        if isinstance(value, str) or value.keys() <= _FORMS:
            yield f"{above}{name}", value
        else:
            yield from _flat_texts(value, f"{above}{name}.")


def _patterns(sentences: Mapping[str, str]) -> Sequence[Pattern]:
    """Returns the sentences that have places for values and fixed words, those with the most fixed text first."""
    patterns = []
    for sentence, translation in sentences.items():
        pieces = _PLACE.split(sentence)  # fixed parts and kinds by turns
        parts = pieces[::2]
        kinds = pieces[1::2]
        has_words = "".join(parts).strip(" .:")
        if kinds and has_words:
            patterns.append(Pattern(parts, kinds, translation))
    return sorted(patterns, key=_fixed_length, reverse=True)


def _fixed_length(pattern: Pattern) -> int:
    return sum(map(len, pattern.parts))


def _is_of_kind(value: str, kind: str) -> bool:
    if kind == "#":
        return bool(_NUMBER.fullmatch(value))
    if kind == "w":
        return all(word and " " not in word for word in value.split(", "))
    return True


LOCALES: Mapping[str, Locale] = {language: Locale.read(language) for language in ("en", "zh")}
ENGLISH = LOCALES["en"]
CHINESE = LOCALES["zh"]
_CURRENT: ContextVar[Locale] = ContextVar("locale", default=ENGLISH)


def current_locale() -> Locale:
    """Returns the locale of the request that is being answered; English outside of one."""
    return _CURRENT.get()


@contextmanager
def speaking(locale: Locale) -> Iterator[None]:
    """Makes a locale the current one."""
    token = _CURRENT.set(locale)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def t(key: str, /, **values: object) -> str:
    """Returns a text in the current language."""
    return current_locale().text(key, **values)


def translated(message: Exception | str) -> str:
    """Returns an error, or a sentence from below the pages, in the current language."""
    return current_locale().translated(message)


def named(name: str) -> str:
    """Returns a name that this app has given, such as that of its demo items, in the current language.

    Any other name stays as it is.
    """
    return current_locale().given.get(name, name)


def locale_of(headers: Mapping[str, str]) -> Locale:
    """Returns the locale of a request: that of the page's switch, else the first that its browser asks for."""
    cookies = [cookie.strip() for cookie in headers.get("cookie", "")[:_MOST_COOKIES].split(";")]
    switch = "language="
    by_switch = [cookie.removeprefix(switch) for cookie in cookies if cookie.startswith(switch)]
    accepted = headers.get("accept-language", "")[:_MOST_ACCEPTED].split(",")
    by_browser = [language.partition(";")[0].strip()[:2].lower() for language in accepted]
    for language in (*by_switch, *by_browser):
        if language in LOCALES:
            return LOCALES[language]
    return ENGLISH
