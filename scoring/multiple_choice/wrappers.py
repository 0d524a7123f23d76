"""Wrappers around the letter of an answer: tags, boxes and JSON objects, and a list of all options before it.

A box counts only if it holds an option or its letter; otherwise the other statements decide, unless the last box makes
a claim of its own.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from arena.reasoning import Wrapped, answer_of, wrapped
from scoring.multiple_choice.numbers import spelled
from scoring.multiple_choice.plain_answers import bare_text, plain_content
from scoring.multiple_choice.statements import is_conditional


class Inner(NamedTuple):
    """What wrappers hold."""

    text: str
    cuts: tuple[str, ...]
    """Names of the wrappers, from the outermost one."""
    rest: str
    """What follows the wrappers; "" if there are none."""
    claims: str = ""
    """What the last box claims, though it holds no option; "" where nothing else than the text may decide."""


Reads = Callable[[str], str | None]
"""The option that a wrapper's text means."""

MOST_WRAPPERS = 4
"""Wrappers in one another at most."""
BOXES_READ = 12
"""Boxes of an answer that are read, from the last one."""
_DENIED = re.compile(
    r"(?:(?:\bnot|n['’]t)(?:\s(?:think|believe|that|it|is|be|the|correct|option|choice|answer)){0,7}"
    r"|\b(?:rather than|instead of|neither))[\s$(*:]*\Z",
    re.IGNORECASE,
)
"""What denies the box behind it."""
_IS_WRONG = re.compile(
    r"[$)*]{0,4}\s?\?|[$)*]{0,4}\s(?:is|was|would be|must be)\s(?:\w{1,12}ly\s)?(?:wrong|incorrect|false|not\b)",
    re.IGNORECASE,
)
_BEFORE_BOX = 80
"""Characters before a box in which it is denied."""
_BEHIND_BOX = 24
"""Characters behind a box in which a condition shows itself: "\\boxed{B} would be right"."""
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_PYTHON_PAIR = re.compile(r"'(\w+)'\s*:\s*'([^']*)'")
_KEYS = (
    "final_answer answer choice option letter correct_answer correct_option selection 答案".split()
)
_JOINED = re.compile(r"[\s$*]*+(?:or|and|,|/|&|或|和|及)?(?:\s?(?:or|and))?[\s$*]*+", re.IGNORECASE)
_LISTED = re.compile(r"[\s(\[*>•-]*+([A-Z])[)\]*.:、-]*+(?<![A-Z])\s*+(.*)")


def inner_text(text: str, reads: Reads, claims: Callable[[str], bool]) -> Inner:
    """The text in the wrappers of an answer; all of it if they hold no option.

    `claims` says whether a box that holds no option rivals them: another letter, or a number among numbers.
    """
    cuts: list[str] = []
    rest = ""
    for _ in range(MOST_WRAPPERS):
        holders = [_innermost(holder) for holder in wrapped(text) if holder.text]
        tags = [holder for holder in holders if holder.name.startswith("<")]
        if tags:
            rest = text[tags[-1].end :] + "\n" + rest
            text = tags[-1].text
            cuts.append(tags[-1].name)
        elif holders:
            box = next(
                (
                    box
                    for box in holders[: -BOXES_READ - 1 : -1]
                    if reads(box.text) and _stands(text, box)
                ),
                None,
            )
            if box is None:
                claim = holders[-1].text if claims(holders[-1].text) else ""
                after = text[holders[-1].end :]
                return Inner(_without(text, holders), tuple(cuts), after if claim else rest, claim)
            if _is_joined(text, holders, box) and reads(_before(holders, box).text):
                return Inner(text, tuple(cuts), "", text[_before(holders, box).start : box.end])
            rest = text[box.end :] + "\n" + rest
            text = box.text
            cuts.append(box.name)
        elif (found := _in_object(text)) is not None:
            text = answer_of(spelled(found)).text
            cuts.append("JSON")
        else:
            break
    return Inner(text, tuple(cuts), rest)


def _stands(text: str, box: Wrapped) -> bool:
    """Whether nothing around a box denies what it holds, or makes another number of it: "-\\boxed{3}"."""
    front = text[max(0, box.start - _BEFORE_BOX) : box.start]
    if box.text[:1].isdigit() and (front[-1:] in ("-", "−") or text[box.end :][:1] == "^"):
        return False
    return not (
        _DENIED.search(front)
        or _IS_WRONG.match(text, box.end)
        or is_conditional(text, box.start, min(len(text), box.end + _BEHIND_BOX))
    )


def _innermost(holder: Wrapped) -> Wrapped:
    """A box in a box holds what the inner one holds."""
    for _ in range(MOST_WRAPPERS):
        inner = wrapped(holder.text) if holder.text.startswith("\\boxed") else ()
        if len(inner) != 1 or inner[0].end != len(holder.text):
            break
        holder = holder._replace(text=inner[0].text)
    return holder


def _before(boxes: list[Wrapped], box: Wrapped) -> Wrapped:
    return boxes[max(0, boxes.index(box) - 1)]


def _is_joined(text: str, boxes: list[Wrapped], box: Wrapped) -> bool:
    """Whether a box and the one before it are two answers: "\\boxed{A} or \\boxed{B}"."""
    before = _before(boxes, box)
    return before.text != box.text and bool(_JOINED.fullmatch(text, before.end, box.start))


def _without(text: str, boxes: list[Wrapped]) -> str:
    """The text with a mark for every box."""
    kept = []
    place = 0
    for box in boxes:
        kept += [text[place : max(place, box.start)], " □ "]
        place = max(place, box.end)
    return "".join([*kept, text[place:]])


def _in_object(text: str) -> str | None:
    """The answer in JSON objects, each different one on a line of its own; None if none of them has one."""
    answers: dict[str, None] = {}
    for found in _OBJECT.findall(text):
        try:
            value = json.loads(found)
        except (ValueError, RecursionError):
            value = dict(_PYTHON_PAIR.findall(found))
        by_name = {
            str(key).strip().lower().replace(" ", "_"): inner for key, inner in value.items()
        }
        inner = next((by_name[key] for key in _KEYS if key in by_name), None)
        if isinstance(inner, str | int | float) and not isinstance(inner, bool) and str(inner):
            answers[str(inner)] = None
    return "\n".join(answers) if answers else None


def without_list(text: str, options: Mapping[str, str]) -> str:
    """The text without a list of all options, each on a line of its own, if anything else is left."""
    if len(options) < 2 or text.count("\n") < len(options):
        return text
    lines = text.split("\n")
    contents = {letter: plain_content(option) for letter, option in options.items()}
    for start in range(len(lines) - len(options) + 1):
        block = lines[start : start + len(options)]
        if all(
            _is_listed(line, letter, content)
            for line, (letter, content) in zip(block, contents.items(), strict=True)
        ):
            rest = lines[:start] + lines[start + len(options) :]
            return "\n".join(rest) if "".join(lines[start + len(options) :]).strip() else text
    return text


def _is_listed(line: str, letter: str, content: str) -> bool:
    found = _LISTED.fullmatch(line)
    return bool(found and found[1] == letter and plain_content(bare_text(found[2])) == content)
