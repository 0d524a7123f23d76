"""YAML as specs use it: texts, numbers, lists and mappings, without anchors, aliases, tags or several documents.

A word is the text that was written: `yes`, `on` and dates stay texts. Only a plain number that reads back as it was
written is a number, and `null`, `~` or nothing is None.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent
from yaml.nodes import ScalarNode

LARGEST = 64_000
"""Bytes of a spec."""
_DEEPEST = 20
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,8})\.[0-9]{1,8}")
_NOTHING = ("", "~", "null")
_OTHER_BREAKS = re.compile(r"[\r\x85\u2028\u2029]")
"""Line breaks that only quotes keep as they are."""
_UNREADABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that YAML doesn't allow."""
_FUNCTION = "!function"
"""The one tag that some files may have: code of another form."""


class YamlError(ValueError):
    """A text is not YAML as specs use it; the message says where and how to mend it."""


@dataclass(frozen=True)
class Code:
    """Code that a file of another form names, such as `utils.doc_to_text`. Only its name is kept, and it never runs."""

    name: str

    def __repr__(self) -> str:
        return f"{_FUNCTION} {self.name}"


def read_yaml(content: bytes, names_code: bool = False) -> Any:
    """The value that a YAML file holds. Raises YamlError.

    `names_code`: whether the file may name code, so that `!function NAME` is a `Code`.
    """
    if len(content) > LARGEST:
        raise YamlError(
            f"The file has {len(content):,} bytes, and a spec has {LARGEST:,} at most. Shorten it."
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise YamlError(
            f"Byte {error.start + 1:,} isn't UTF-8. Save the file with the encoding UTF-8."
        ) from None
    if sign := _UNREADABLE.search(text):
        line = text.count("\n", 0, sign.start()) + 1
        raise YamlError(f"Line {line} has the sign {sign[0]!a}. Delete it.")
    try:
        _check_events(text, (_FUNCTION,) if names_code else ())
        return yaml.load(text, _SpecLoader)
    except yaml.MarkedYAMLError as error:
        raise YamlError(_problem_with_place(error)) from None
    except yaml.YAMLError as error:
        raise YamlError(f"The file isn't YAML: {_sentence(str(error))}") from None


def write_yaml(value: Any) -> str:
    """A value as YAML that reads back as the same value, if it is one that `read_yaml` can give."""
    return yaml.dump(
        value, Dumper=_SpecDumper, allow_unicode=True, sort_keys=False, width=100, indent=2
    )


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader in C if PyYAML was built with it: it is five times as fast."""


class _SpecLoader(_Loader):
    """Reads words without quotes by `_plain`; a name that is written twice in a mapping is an error."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_scalar(self, node: Any) -> Any:
        text = super().construct_scalar(node)
        is_unquoted = isinstance(node, ScalarNode) and not node.style
        return _plain(text) if is_unquoted else text

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = set()
        for key, _ in node.value:
            if not isinstance(key, ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "A name must be a text. Write it as one.", key.start_mark
                )
            if key.value in names:
                raise yaml.constructor.ConstructorError(
                    None,
                    None,
                    f"{key.value[:40]!r} is here twice. Keep one of them.",
                    key.start_mark,
                )
            names.add(key.value)
        return {
            key.value: self.construct_object(value, deep=deep)  # names stay texts
            for key, value in node.value
        }


_SpecLoader.add_constructor("tag:yaml.org,2002:str", _SpecLoader.construct_scalar)
_SpecLoader.add_constructor(_FUNCTION, lambda loader, node: Code(str(node.value)[:200]))


class _SpecDumper(yaml.SafeDumper):
    """Quotes texts that would read back as something else."""

    yaml_implicit_resolvers: dict[str, Any] = {}


def _represent_text(dumper: yaml.SafeDumper, text: str) -> ScalarNode:
    """The text in the plainest style that keeps it.

    Quotes keep texts that would be read as a number or None, and breaks that a block would turn into \\n. Other texts
    of several lines are a block, unless the first is blank or indented: then a block must say how far it is indented.
    """
    style = None
    if not isinstance(_plain(text), str) or _OTHER_BREAKS.search(text):
        style = '"'
    elif "\n" in text and not text.startswith((" ", "\n")):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


def _represent_plain(dumper: yaml.SafeDumper, value: object) -> ScalarNode:
    text = "null" if value is None else str(value)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text)


_SpecDumper.add_representer(str, _represent_text)
_SpecDumper.add_representer(int, _represent_plain)
_SpecDumper.add_representer(float, _represent_plain)
_SpecDumper.add_representer(type(None), _represent_plain)


def _check_events(text: str, tags: Collection[str]) -> None:
    """Raises YAMLError for parts of YAML that specs don't use, before they are built; these `tags` are accepted."""
    depth = 0
    documents = 0
    for event in yaml.parse(text, _Loader):
        problem = ""
        if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor):
            problem = "This begins with & or *, for an anchor or alias. Write it out, or put it in quotes."
        elif getattr(event, "tag", None) not in (None, *tags):
            problem = "This begins with !, for a tag. Delete it, or put it in quotes."
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        depth += _depth_change(event)
        if depth > _DEEPEST:
            problem = f"This is nested more than {_DEEPEST} levels deep. Write fewer."
        if documents > 1:
            problem = "A second document begins. Keep only one, without ---."
        if problem:
            raise yaml.MarkedYAMLError(None, None, problem, event.start_mark)


def _depth_change(event: yaml.Event) -> int:
    """Returns 1 where a list or mapping begins, -1 where it ends, else 0."""
    if isinstance(event, CollectionStartEvent):
        return 1
    return -1 if isinstance(event, CollectionEndEvent) else 0


def _problem_with_place(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    text = _sentence(error.problem or error.context or "this is not YAML")
    return f"line {mark.line + 1}, column {mark.column + 1}: {text}" if mark else text


def _sentence(problem: str) -> str:
    """Returns a parser's problem with a capital and a full stop."""
    text = problem[:200].rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."


def _plain(text: str) -> Any:
    """The value of a word without quotes."""
    if text in _NOTHING:
        return None
    if _INTEGER.fullmatch(text) and text != "-0":
        return int(text)
    if _DECIMAL.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    return text
