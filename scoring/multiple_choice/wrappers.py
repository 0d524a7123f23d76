"""Wrappers around the letter of an answer: tags, boxes and JSON objects, and a list of all options before it.

A box counts only if it contains an option or its letter. Otherwise the other statements decide, unless the last box is
a rival claim.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from arena.reasoning import WrappedAnswer, answer_of, wrapped_answers
from scoring.multiple_choice.numbers import spelled
from scoring.multiple_choice.plain_answers import bare_text, plain_content
from scoring.multiple_choice.statements import is_conditional


class Inner(NamedTuple):
    """The text in an answer's wrappers."""

    text: str
    cuts: tuple[str, ...]
    """Names of the wrappers, from the outermost one."""
    rest: str
    """The text after the wrappers; "" if there are none."""
    claims: str = ""
    """The rival claim of the last box, which is not an option; "" if only the text decides."""


ReadOption = Callable[[str], str | None]
"""The function that reads an option's letter from a wrapper's text."""

MOST_WRAPPERS = 4
"""Most levels of nested wrappers."""
BOXES_READ = 12
"""Boxes of an answer that are read, from the last one."""
_DENIED = re.compile(
    r"(?:(?:\bnot|n['’]t)(?:\s(?:think|believe|that|it|is|be|the|correct|option|choice|answer)){0,7}"
    r"|\b(?:rather than|instead of|neither))[\s$(*:]*\Z",
    re.IGNORECASE,
)
"""A denial of the box after it."""
_IS_WRONG = re.compile(
    r"[$)*]{0,4}\s?\?|[$)*]{0,4}\s(?:is|was|would be|must be)\s(?:\w{1,12}ly\s)?(?:wrong|incorrect|false|not\b)",
    re.IGNORECASE,
)
_BEFORE_BOX = 80
"""Characters before a box to search for its denial."""
_BEHIND_BOX = 24
"""Characters after a box to search for a condition: "\\boxed{B} would be right"."""
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_PYTHON_PAIR = re.compile(r"'(\w+)'\s*:\s*'([^']*)'")
_KEYS = (
    "final_answer answer choice option letter correct_answer correct_option selection 答案".split()
)
_JOINED = re.compile(r"[\s$*]*+(?:or|and|,|/|&|或|和|及)?(?:\s?(?:or|and))?[\s$*]*+", re.IGNORECASE)
_LISTED = re.compile(r"[\s(\[*>•-]*+([A-Z])[)\]*.:、-]*+(?<![A-Z])\s*+(.*)")


def inner_text(text: str, read: ReadOption, is_claim: Callable[[str], bool]) -> Inner:
    """The text in the wrappers of an answer; all of it if they contain no option.

    `is_claim` decides whether a box without an option is a rival claim: another letter, or a number among numbers.
    """
    cuts: list[str] = []
    rest = ""
    for _ in range(MOST_WRAPPERS):
        holders = [_innermost(holder) for holder in wrapped_answers(text) if holder.text]
        tags = [holder for holder in holders if holder.name.startswith("<")]
        if tags:
            rest = text[tags[-1].end :] + "\n" + rest
            text = tags[-1].text
            cuts.append(tags[-1].name)
        elif holders:
            box = _last_option_box(text, holders, read)
            if box is None:
                last = holders[-1]
                without_boxes = _without(text, holders)
                if not is_claim(last.text):
                    return Inner(without_boxes, tuple(cuts), rest)
                return Inner(without_boxes, tuple(cuts), text[last.end :], last.text)
            before = _before(holders, box)
            if _is_joined(text, holders, box) and read(before.text):
                return Inner(text, tuple(cuts), "", text[before.start : box.end])
            rest = text[box.end :] + "\n" + rest
            text = box.text
            cuts.append(box.name)
        elif (answer := _in_object(text)) is not None:
            text = answer_of(spelled(answer)).text
            cuts.append("JSON")
        else:
            break
    return Inner(text, tuple(cuts), rest)


def _last_option_box(
    text: str, boxes: Sequence[WrappedAnswer], read: ReadOption
) -> WrappedAnswer | None:
    """The last box with an option that nothing around it denies."""
    for box in boxes[: -BOXES_READ - 1 : -1]:
        if read(box.text) and _is_valid(text, box):
            return box
    return None


def _is_valid(text: str, box: WrappedAnswer) -> bool:
    """Whether nothing around a box denies its content, or makes it another number: "-\\boxed{3}"."""
    front = text[max(0, box.start - _BEFORE_BOX) : box.start]
    if box.text[:1].isdigit() and (front[-1:] in ("-", "−") or text[box.end :][:1] == "^"):
        return False
    return not (
        _DENIED.search(front)
        or _IS_WRONG.match(text, box.end)
        or is_conditional(text, box.start, min(len(text), box.end + _BEHIND_BOX))
    )


def _innermost(holder: WrappedAnswer) -> WrappedAnswer:
    """A box with the content of the innermost box inside it."""
    for _ in range(MOST_WRAPPERS):
        inner = wrapped_answers(holder.text) if holder.text.startswith("\\boxed") else ()
        if len(inner) != 1 or inner[0].end != len(holder.text):
            break
        holder = holder._replace(text=inner[0].text)
    return holder


def _before(boxes: list[WrappedAnswer], box: WrappedAnswer) -> WrappedAnswer:
    return boxes[max(0, boxes.index(box) - 1)]


def _is_joined(text: str, boxes: list[WrappedAnswer], box: WrappedAnswer) -> bool:
    """Whether a box and the one before it are two answers: "\\boxed{A} or \\boxed{B}"."""
    before = _before(boxes, box)
    return before.text != box.text and bool(_JOINED.fullmatch(text, before.end, box.start))


def _without(text: str, boxes: list[WrappedAnswer]) -> str:
    """The text with a placeholder for every box."""
    parts = []
    place = 0
    for box in boxes:
        parts += [text[place : max(place, box.start)], " □ "]
        place = max(place, box.end)
    return "".join([*parts, text[place:]])


def _in_object(text: str) -> str | None:
    """The distinct answers in JSON objects, each on a separate line; None if there are none."""
    answers: dict[str, None] = {}
    for json_text in _OBJECT.findall(text):
        try:
            record = json.loads(json_text)
        except (ValueError, RecursionError):
            record = dict(_PYTHON_PAIR.findall(json_text))
        by_name = {
            str(key).strip().lower().replace(" ", "_"): value for key, value in record.items()
        }
        answer = next((by_name[key] for key in _KEYS if key in by_name), None)
        is_text = isinstance(answer, str | int | float) and not isinstance(answer, bool)
        if is_text and str(answer):
            answers[str(answer)] = None
    return "\n".join(answers) if answers else None


def without_list(text: str, options: Mapping[str, str]) -> str:
    """The text without a list of all options, each on a separate line, if other text follows the list."""
    if len(options) < 2 or text.count("\n") < len(options):
        return text
    lines = text.split("\n")
    contents = [(letter, plain_content(option)) for letter, option in options.items()]
    for start in range(len(lines) - len(options) + 1):
        end = start + len(options)
        block = zip(lines[start:end], contents, strict=True)
        if all(_is_listed(line, letter, content) for line, (letter, content) in block):
            has_more = bool("".join(lines[end:]).strip())
            return "\n".join(lines[:start] + lines[end:]) if has_more else text
    return text


def _is_listed(line: str, letter: str, content: str) -> bool:
    """Whether a line is an option's letter with its content."""
    match = _LISTED.fullmatch(line)
    return bool(match and match[1] == letter and plain_content(bare_text(match[2])) == content)
