"""Model cards: adds a result to the front matter of a repository's README.md and changes nothing else.

The Hub's library writes the whole card again: it drops comments, and results on one dataset get the source of the
first. Here lines are added, and the new card is read to check that it holds the old content and the result.
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent
from yaml.nodes import MappingNode, Node, SequenceNode

CARD = "README.md"
MOST_CARD = 500_000
"""Most bytes of a card."""
_MOST_FRONT = 64_000
"""Most letters of front matter."""
_DEEPEST = 20
_INDEX = "model-index"
_CONTEXT_LINES = 3
"""The number of unchanged lines that a diff shows above and below the added ones."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_OTHER_END = re.compile("[\x85\u2028\u2029]")
"""Characters that end a line in YAML alone. In a text that has one, YAML's line numbers aren't those of `_LINE`."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BY_HAND = "Download model-index.yaml and add it there."


class ModelCardError(ValueError):
    """A card can't take a result. The message says why and what to do."""


class OtherValueError(ModelCardError):
    """A card already has a value for the metric."""


@dataclass(frozen=True)
class ChangedCard:
    """A card with a result added."""

    content: bytes
    diff: str
    """The change as a unified diff."""


def front_matter(value: Any) -> str:
    """Returns YAML in the form of the Hub's library."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=float("inf"))


def add_result(card: bytes | None, model: str, result: Mapping[str, Any]) -> ChangedCard:
    """Adds a model's result to its card, or to a new card if `card` is None. Raises ModelCardError."""
    text = _decode(card or b"")
    lines = _LINE.findall(text)
    dashes = _find_front(lines)
    front = _front_text(lines, dashes)
    old = read_front(front)
    has_results = bool(_results_of(old, result))
    addition = _addition(front, model, result, has_results)
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    indent = " " * addition.indent
    new_lines = [indent + line + ending for line in addition.yaml.splitlines()]
    place_in_card = addition.line
    if dashes is None:
        new_lines = [f"---{ending}", *new_lines, f"---{ending}"]
    else:
        place_in_card += dashes.opening + 1
    changed = [*lines[:place_in_card], *new_lines, *lines[place_in_card:]]
    _verify(changed, old, model, result)
    content = "".join(changed).encode("utf-8")
    has_mark = card is not None and card.startswith(codecs.BOM_UTF8)
    mark = codecs.BOM_UTF8 if has_mark else b""  # Decoding took it away.
    return ChangedCard(mark + content, _diff(lines, place_in_card, new_lines))


def _decode(card: bytes) -> str:
    """Returns the text of a card. Raises ModelCardError."""
    try:
        return card.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelCardError(f"The card isn't UTF-8. {_BY_HAND}") from None


class _Dashes(NamedTuple):
    """The places of the two lines of dashes around the front matter."""

    opening: int
    closing: int


def _find_front(lines: Sequence[str]) -> _Dashes | None:
    """Returns the places of the front matter's dashes; None without front matter."""
    opening = next((place for place, line in enumerate(lines) if line.strip()), None)
    if opening is None or lines[opening].strip() != "---":
        return None
    for place in range(opening + 1, len(lines)):
        if lines[place].rstrip() == "---":
            return _Dashes(opening, place)
    return None


def _front_text(lines: Sequence[str], dashes: _Dashes | None) -> str:
    """Returns the front matter between its dashes; "" without any."""
    if dashes is None:
        return ""
    return "".join(lines[dashes.opening + 1 : dashes.closing])


def read_front(front: str) -> dict[str, Any]:
    """Returns the content of front matter. Raises ModelCardError, also for YAML that needs more than linear time."""
    if len(front) > _MOST_FRONT:
        raise ModelCardError(f"The card's front matter is too long to read here. {_BY_HAND}")
    try:
        if not _is_plain(front):
            raise ModelCardError(f"The card's front matter can't be read here. {_BY_HAND}")
        data = yaml.load(front, _LOADER)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        if isinstance(error, ModelCardError):
            raise
        raise ModelCardError(f"The card's front matter isn't valid YAML. {_BY_HAND}") from None
    if data is not None and not isinstance(data, dict):
        raise ModelCardError(f"The card's front matter isn't a mapping. {_BY_HAND}")
    return data or {}


def _is_plain(front: str) -> bool:
    """Whether YAML has few levels and no anchors, so that reading it takes linear time."""
    depth = 0
    for event in yaml.parse(front, _LOADER):
        if isinstance(event, CollectionStartEvent):
            depth += 1
        if isinstance(event, CollectionEndEvent):
            depth -= 1
        is_anchored = isinstance(event, NodeEvent) and event.anchor is not None
        if depth > _DEEPEST or is_anchored or isinstance(event, AliasEvent):
            return False
    return True


def _results_of(data: Mapping[str, Any], result: Mapping[str, Any]) -> list[Any]:
    """Returns the card's results. Raises ModelCardError if one has the metric of `result`."""
    if _INDEX not in data:
        return []
    results = []
    index = data[_INDEX]
    # An empty index is refused below: it has no place for a result, and a second key of this name isn't valid YAML.
    models = index if isinstance(index, list) and index else [index]
    for model in models:
        model_results = model.get("results") if isinstance(model, dict) else None
        if not isinstance(model_results, list) or not model_results:
            raise ModelCardError(f"The card's model-index has an unusual form. {_BY_HAND}")
        results += model_results
    for other in results:
        for metric in _metrics(other):
            _refuse_same_metric(other, metric, result)
    return results


def _metrics(result: Any) -> Iterator[Mapping[str, Any]]:
    """Yields the metrics of a result in a card."""
    metrics = result.get("metrics") if isinstance(result, dict) else None
    for metric in metrics if isinstance(metrics, list) else ():
        if isinstance(metric, dict):
            yield metric


def _refuse_same_metric(
    result: Mapping[str, Any], metric: Mapping[str, Any], ours: Mapping[str, Any]
) -> None:
    """Raises OtherValueError for a metric of the same dataset, name, kind and protocol."""
    our_metric = ours["metrics"][0]
    dataset = result.get("dataset")
    if not isinstance(dataset, dict) or dataset.get("type") != ours["dataset"]["type"]:
        return
    if dataset.get("args") not in (None, ours["dataset"]["args"]):
        return
    if metric.get("type") != our_metric["type"]:
        return
    if metric.get("name") not in (None, our_metric["name"]):
        return
    if _protocol(metric) not in ("", _protocol(our_metric)):
        return
    if metric.get("value") == our_metric["value"]:
        raise OtherValueError("The card already has this score.")
    raise OtherValueError("The card already has another value for this metric. Edit it there.")


def _protocol(metric: Mapping[str, Any]) -> str:
    """Returns the first clause of a metric's notes."""
    args = metric.get("args")
    notes = args.get("notes") if isinstance(args, dict) else ""
    return notes.partition(";")[0] if isinstance(notes, str) else ""


class _Addition(NamedTuple):
    """YAML to add to front matter."""

    yaml: str
    line: int
    """The number of the front matter's line to add it before."""
    indent: int


def _addition(front: str, model: str, result: Mapping[str, Any], has_results: bool) -> _Addition:
    """Returns a result in YAML: after the card's other results, or with a `model-index` of its own."""
    root = yaml.compose(front, _LOADER)
    if not has_results:
        column = root.start_mark.column if isinstance(root, MappingNode) else 0
        text = front_matter({_INDEX: [{"name": model, "results": [result]}]})
        return _Addition(text, len(_LINE.findall(front)), column)
    results = _value_node(_first_node(_value_node(root, _INDEX)), "results")
    if not isinstance(results, SequenceNode) or results.flow_style or _OTHER_END.search(front):
        raise ModelCardError(f"The card's model-index has an unusual form. {_BY_HAND}")
    lines = _LINE.findall(front)
    end = results.value[-1].end_mark
    place = end.line if end.column == 0 else end.line + 1
    # Blank lines and comments after the last result belong to what follows.
    while place > 0 and lines[place - 1].lstrip()[:1] in ("", "#"):
        place -= 1
    first_line = lines[results.value[0].start_mark.line]
    indent = len(first_line) - len(first_line.lstrip(" "))
    return _Addition(front_matter([result]), place, indent)


def _value_node(node: Node | None, key: str) -> Node | None:
    """Returns the value of a mapping's key; None without it."""
    pairs = node.value if isinstance(node, MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _first_node(node: Node | None) -> Node | None:
    """Returns the first entry of a sequence; None without it."""
    return node.value[0] if isinstance(node, SequenceNode) and node.value else None


def _verify(
    lines: Sequence[str], old: Mapping[str, Any], model: str, result: Mapping[str, Any]
) -> None:
    """Checks that a changed card holds its old content and the result. Raises ModelCardError."""
    front = _front_text(lines, _find_front(lines))
    first, *others = old.get(_INDEX) or [{"name": model, "results": []}]
    first_with_result = {**first, "results": [*first["results"], result]}
    if read_front(front) != {**old, _INDEX: [first_with_result, *others]}:
        raise ModelCardError(f"The card's model-index has an unusual form. {_BY_HAND}")


def _diff(lines: Sequence[str], place: int, added: Sequence[str]) -> str:
    """Returns the unified diff of adding lines before the line at `place`."""
    before = lines[max(0, place - _CONTEXT_LINES) : place]
    after = lines[place : place + _CONTEXT_LINES]
    context = len(before) + len(after)
    begin = place - len(before) + 1
    old_begin = begin if context else 0  # as diffs number the lines of an empty file
    head = f"@@ -{old_begin},{context} +{begin},{context + len(added)} @@\n"
    marked = [
        *(f" {line}" for line in before),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in after),
    ]
    body = "".join(line.rstrip("\r\n") + "\n" for line in marked)
    return f"--- a/{CARD}\n+++ b/{CARD}\n{head}{body}"
