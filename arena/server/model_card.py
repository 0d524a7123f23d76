"""Model cards: adds a result to the front matter of a repository's README.md and changes nothing else.

The Hub's library writes the whole card again: it drops comments, and results on one dataset get the source of the
first. Here lines are added, and the new card is read to check that it holds the old content and the result.
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
_BESIDE = 3
"""The number of unchanged lines that a diff shows above and below the added ones."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
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


def with_result(card: bytes | None, model: str, result: Mapping[str, Any]) -> ChangedCard:
    """Adds a model's result to its card, or to a new card if `card` is None. Raises ModelCardError."""
    text = _decoded(card or b"")
    lines = _LINE.findall(text)
    opening, closing = _front(lines)
    front = "".join(lines[opening + 1 : closing])
    old = read_front(front)
    index = _results_of(old, result)
    added, place, column = _addition(front, model, result, bool(index))
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    new_lines = [" " * column + line + ending for line in added.splitlines()]
    if opening < 0:
        new_lines = [f"---{ending}", *new_lines, f"---{ending}"]
    place_in_card = opening + 1 + place
    changed = [*lines[:place_in_card], *new_lines, *lines[place_in_card:]]
    _verify(changed, old, model, result)
    content = "".join(changed).encode("utf-8")
    has_mark = card is not None and card.startswith(codecs.BOM_UTF8)
    mark = codecs.BOM_UTF8 if has_mark else b""
    return ChangedCard(mark + content, _diff(lines, place_in_card, new_lines))


def _decoded(card: bytes) -> str:
    try:
        return card.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelCardError(f"The card isn't UTF-8. {_BY_HAND}") from None


def _front(lines: Sequence[str]) -> tuple[int, int]:
    """Returns the places of the two lines of dashes around the front matter; -1 and 0 without them."""
    opening = next((place for place, line in enumerate(lines) if line.strip()), -1)
    if opening < 0 or lines[opening].strip() != "---":
        return -1, 0
    for place in range(opening + 1, len(lines)):
        if lines[place].rstrip() == "---":
            return opening, place
    return -1, 0


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
        depth += isinstance(event, CollectionStartEvent)
        depth -= isinstance(event, CollectionEndEvent)
        is_anchored = isinstance(event, NodeEvent) and event.anchor is not None
        if depth > _DEEPEST or is_anchored or isinstance(event, AliasEvent):
            return False
    return True


def _results_of(data: Mapping[str, Any], result: Mapping[str, Any]) -> list[Any]:
    """Returns the card's results. Raises ModelCardError if one has the metric of `result`."""
    index = data.get(_INDEX)
    if index is None:
        return []
    results = []
    for model in index if isinstance(index, list) else [index]:
        own = model.get("results") if isinstance(model, dict) else None
        if not isinstance(own, list) or not own:
            raise ModelCardError(f"The card's model-index has an unusual form. {_BY_HAND}")
        results += own
    for other in results:
        for metric in _metrics(other):
            _compare(other, metric, result)
    return results


def _metrics(result: Any) -> Iterator[Mapping[str, Any]]:
    metrics = result.get("metrics") if isinstance(result, dict) else None
    for metric in metrics if isinstance(metrics, list) else ():
        if isinstance(metric, dict):
            yield metric


def _compare(result: Mapping[str, Any], metric: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Raises OtherValueError for a metric of the same dataset, name, kind and protocol."""
    own = ours["metrics"][0]
    dataset = result.get("dataset")
    if not isinstance(dataset, dict) or dataset.get("type") != ours["dataset"]["type"]:
        return
    if dataset.get("args") not in (None, ours["dataset"]["args"]):
        return
    if metric.get("type") != own["type"] or metric.get("name") not in (None, own["name"]):
        return
    if _protocol(metric) not in ("", _protocol(own)):
        return
    if metric.get("value") == own["value"]:
        raise OtherValueError("The card already has this score.")
    raise OtherValueError("The card already has another value for this metric. Edit it there.")


def _protocol(metric: Mapping[str, Any]) -> str:
    """Returns the first clause of a metric's notes."""
    args = metric.get("args")
    notes = args.get("notes") if isinstance(args, dict) else ""
    return notes.partition(";")[0] if isinstance(notes, str) else ""


def _addition(
    front: str, model: str, result: Mapping[str, Any], has_results: bool
) -> tuple[str, int, int]:
    """Returns the YAML to add, the number of the line to add it before, and its indent."""
    root = yaml.compose(front, _LOADER)
    if not has_results:
        column = root.start_mark.column if isinstance(root, MappingNode) else 0
        text = front_matter({_INDEX: [{"name": model, "results": [result]}]})
        return text, len(_LINE.findall(front)), column
    results = _node(_first(_node(root, _INDEX)), "results")
    if not isinstance(results, SequenceNode) or results.flow_style:
        raise ModelCardError(f"The card's model-index has an unusual form. {_BY_HAND}")
    lines = _LINE.findall(front)
    end = results.value[-1].end_mark
    place = end.line if end.column == 0 else end.line + 1
    while place > 0 and lines[place - 1].lstrip()[:1] in ("", "#"):
        place -= 1
    first = lines[results.value[0].start_mark.line]
    return front_matter([result]), place, len(first) - len(first.lstrip(" "))


def _node(node: Node | None, key: str) -> Node | None:
    """Returns the value of a mapping's key; None without it."""
    pairs = node.value if isinstance(node, MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _first(node: Node | None) -> Node | None:
    return node.value[0] if isinstance(node, SequenceNode) and node.value else None


def _verify(
    lines: Sequence[str], old: Mapping[str, Any], model: str, result: Mapping[str, Any]
) -> None:
    """Checks that a changed card holds its old content and the result. Raises ModelCardError."""
    opening, closing = _front(lines)
    front = "".join(lines[opening + 1 : closing])
    first, *others = old.get(_INDEX) or [{"name": model, "results": []}]
    more = {**first, "results": [*first["results"], result]}
    if read_front(front) != {**old, _INDEX: [more, *others]}:
        raise ModelCardError(f"The card's model-index has an unusual form. {_BY_HAND}")


def _diff(lines: Sequence[str], place: int, added: Sequence[str]) -> str:
    before = lines[max(0, place - _BESIDE) : place]
    after = lines[place : place + _BESIDE]
    context = len(before) + len(after)
    begin = place - len(before) + 1
    head = f"@@ -{begin},{context} +{begin},{context + len(added)} @@\n"
    marked = [
        *(f" {line}" for line in before),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in after),
    ]
    body = "".join(line.rstrip("\r\n") + "\n" for line in marked)
    return f"--- a/{CARD}\n+++ b/{CARD}\n{head}{body}"
