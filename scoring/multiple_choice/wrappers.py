"""Wrappers around the letter of an answer: tags, boxes and JSON objects, and a list of all options before it.

A box counts only if it contains an option or its letter. Otherwise the other statements decide, unless the last box is
a rival claim.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from arena.reasoning import WrappedAnswer, answer_of, wrapped_answers
from scoring.multiple_choice.json_answers import answers_in_objects, starts_with_object
from scoring.multiple_choice.numbers import normalized_text
from scoring.multiple_choice.plain_answers import bare_text, plain_content
from scoring.multiple_choice.statements import is_conditional, is_taken_up_again


class InnerText(NamedTuple):
    """The text in an answer's wrappers."""

    text: str
    cuts: tuple[str, ...]
    """Names of the wrappers, from the outermost one."""
    rest: str
    """The text after the wrappers; "" if there are none."""
    rival_claim: str = ""
    """A claim against the text: a last box without an option, two joined boxes, or second thoughts after the wrappers.

    "" if only the text decides.
    """


ReadOption = Callable[[str], str | None]
"""A function that reads an option's letter from a wrapper's text; None if it names no option."""

MOST_WRAPPERS = 4
"""Most levels of nested wrappers."""
BOXES_READ = 12
"""Boxes of an answer that are read, from the last one."""
_DENIAL_BEFORE = re.compile(
    r"(?:(?:\bnot|n['’]t)(?:\s(?:think|believe|that|it|is|be|the|correct|option|choice|answer)){0,7}"
    r"|\b(?:rather than|instead of|neither)"
    r"|\b(?:for example|e\.g\.|such as|format)(?:\s(?:is|as|of|should|must|be)){0,3})"
    r"[\s$(*:,]*\Z",
    re.IGNORECASE,
)
"""A denial of the box after it, or words that make it an example of the form."""
_DENIAL_BEHIND = re.compile(
    r"[$)*]{0,4}\s?\?|[$)*]{0,4}\s(?:is|was|would be|must be)\s(?:\w{1,12}ly\s)?(?:wrong|incorrect|false|not\b)",
    re.IGNORECASE,
)
_CHARACTERS_BEFORE_BOX = 80
"""Characters before a box to search for its denial."""
_CHARACTERS_BEHIND_BOX = 24
"""Characters after a box to search for a condition: "\\boxed{B} would be right"."""
_BETWEEN_TWO_ANSWERS = re.compile(
    r"[\s$*]*+(?:or|and|,|/|&|或|和|及)?(?:\s?(?:or|and))?[\s$*]*+", re.IGNORECASE
)
_LIST_LINE = re.compile(r"[\s(\[*>•-]*+([A-Z])[)\]*.:、-]++\s*+(.*)")


def inner_text(text: str, read: ReadOption, is_claim: Callable[[str], bool]) -> InnerText:
    """The text in the wrappers of an answer; boxes that contain no option are cut out of the text around them.

    `is_claim` decides whether a box without an option is a rival claim: another letter, or a number among numbers.
    """
    cuts: list[str] = []
    rest = ""
    for _ in range(MOST_WRAPPERS):
        wrappers = [
            _with_innermost_text(wrapper) for wrapper in wrapped_answers(text) if wrapper.text
        ]
        answers: tuple[str, ...] = ()
        if not wrappers or starts_with_object(text):
            answers = answers_in_objects(text)
        if answers:
            text = answer_of(normalized_text("\n".join(answers))).text
            cuts.append("JSON")
            continue
        if not wrappers:
            break
        tags = [wrapper for wrapper in wrappers if wrapper.name.startswith("<")]
        if tags:
            wrapper = tags[-1]
        else:
            box = _last_option_box(text, wrappers, read)
            if box is None:
                return _text_around_boxes(text, wrappers, cuts, rest, is_claim)
            before = _box_before(wrappers, box)
            if _is_joined(text, before, box) and read(before.text):
                return InnerText(text, tuple(cuts), "", rival_claim=text[before.start : box.end])
            wrapper = box
        rest = text[wrapper.end :] + "\n" + rest
        text = wrapper.text
        cuts.append(wrapper.name)
    second_thoughts = rest if is_taken_up_again(rest, 0) else ""
    return InnerText(text, tuple(cuts), rest, rival_claim=second_thoughts)


def _text_around_boxes(
    text: str,
    boxes: Sequence[WrappedAnswer],
    cuts: Sequence[str],
    rest: str,
    is_claim: Callable[[str], bool],
) -> InnerText:
    """The text around boxes that have no option; the last of them may be a rival claim."""
    last_box = boxes[-1]
    without_boxes = _with_placeholders(text, boxes)
    if is_claim(last_box.text):
        return InnerText(without_boxes, tuple(cuts), text[last_box.end :], last_box.text)
    return InnerText(without_boxes, tuple(cuts), rest)


def _last_option_box(
    text: str, boxes: Sequence[WrappedAnswer], read: ReadOption
) -> WrappedAnswer | None:
    """The last box with an option that nothing around it denies."""
    for box in reversed(boxes[-BOXES_READ:]):
        if read(box.text) and _is_valid(text, box):
            return box
    return None


def _is_valid(text: str, box: WrappedAnswer) -> bool:
    """Whether nothing around a box denies its content, or makes it another number: "-\\boxed{3}"."""
    front = text[max(0, box.start - _CHARACTERS_BEFORE_BOX) : box.start]
    if box.text[:1].isdigit():
        has_minus = front[-1:] in ("-", "−")
        has_exponent = text.startswith("^", box.end)
        if has_minus or has_exponent:
            return False
    end = min(len(text), box.end + _CHARACTERS_BEHIND_BOX)
    return not (
        _DENIAL_BEFORE.search(front)
        or _DENIAL_BEHIND.match(text, box.end)
        or is_conditional(text, box.start, end)
    )


def _with_innermost_text(wrapper: WrappedAnswer) -> WrappedAnswer:
    """The wrapper with the text of the innermost box, if it holds nothing but boxes in boxes."""
    for _ in range(MOST_WRAPPERS):
        inner = wrapped_answers(wrapper.text) if wrapper.text.startswith("\\boxed") else ()
        if len(inner) != 1 or inner[0].end != len(wrapper.text):
            break
        wrapper = wrapper._replace(text=inner[0].text)
    return wrapper


def _box_before(boxes: Sequence[WrappedAnswer], box: WrappedAnswer) -> WrappedAnswer:
    """The box before this one; the first box itself if there is none."""
    return boxes[max(0, boxes.index(box) - 1)]


def _is_joined(text: str, before: WrappedAnswer, box: WrappedAnswer) -> bool:
    """Whether a box and the one before it are two answers: "\\boxed{A} or \\boxed{B}"."""
    if before.text == box.text:
        return False
    return _BETWEEN_TWO_ANSWERS.fullmatch(text, before.end, box.start) is not None


def _with_placeholders(text: str, boxes: Sequence[WrappedAnswer]) -> str:
    """The text with a placeholder for every box."""
    parts = []
    place = 0
    for box in boxes:
        parts += [text[place : max(place, box.start)], " □ "]
        place = max(place, box.end)
    return "".join([*parts, text[place:]])


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
            has_text_behind = bool("".join(lines[end:]).strip())
            return "\n".join(lines[:start] + lines[end:]) if has_text_behind else text
    return text


def _is_listed(line: str, letter: str, content: str) -> bool:
    """Whether a line is an option's letter with its content."""
    match = _LIST_LINE.fullmatch(line)
    if not match or match[1] != letter:
        return False
    return plain_content(bare_text(match[2])) == content
