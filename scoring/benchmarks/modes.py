"""Modes of MMT-Bench: the same question asked in another way (4.3, D.2, D.3, E, Table A14).

Pictures apart or joined, boxes drawn or written, coordinates in pixels or as shares, no picture at all. Letters and
order of the options never change. A question that a mode does not concern, or that it cannot rewrite, is asked as its
file holds it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

from arena.io.images import PictureError, picture_size
from arena.types import grouped
from scoring.benchmarks.base import read_table
from scoring.benchmarks.mmt_bench import subtasks_of_several_images
from scoring.multiple_choice.coordinates import (
    NO_SIZE,
    Box,
    CoordinateError,
    Size,
    Unit,
    convert_coordinates,
    named_boxes,
    stated_size,
    without_boxes,
)
from scoring.multiple_choice.extract import language
from scoring.multiple_choice.types import ChoiceQuestion, Mode

Setting = Literal["referring", "coordinates"]
Form = Literal["first", "inline"]
IMAGE = "<image>"
"""The sign for an image in a sentence of Tables A7 to A10."""

_INSTRUCTION = {
    "English": "Choose the right option and answer with its letter alone.",
    "Chinese": "请选出正确的选项，只回答它的字母。",
}
"""Our own words; benchmarks prescribe none."""
_UNITS: tuple[Unit, ...] = get_args(Unit)
_IMAGE_MARK = re.compile(r"<image(?: (\d{1,2}))?>", re.ASCII)
"""The sign for an image in a file's text, maybe with its number."""
_IMAGE_NAME = re.compile(r"\b(Image|Frame|Candidate|Picture) (\d{1,2})\b", re.ASCII)
_COUNT_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SAME_SHAPE = 0.02
"""The most by which a picture's aspect ratio may differ from that of the size in its question, as a share."""


@dataclass(frozen=True)
class ImagePrompt:
    """The words of Tables A7 to A10 for a part of a question on several images, and those of the question files."""

    subtask: str
    form: Form
    """first: all images before the text, for single-image models. inline: images inside the sentence."""
    said: str = ""
    """The file's words; empty: none, the table's words are added at the end of the question."""
    becomes: str = ""
    """The table's words in their place. {candidates}, {images} and {frames} list the images that the subtask's rows of
    form `inline` don't mark one by one; {last} and {count} are the number of these, in digits and in words."""


@dataclass(frozen=True)
class PromptSetting:
    """An experiment that a subtask belongs to: D.3's visual referring, or E's coordinates."""

    subtask: str
    setting: Setting


@dataclass(frozen=True)
class ModeQuestion:
    """A question as a mode asks it."""

    question: ChoiceQuestion
    text: str
    places: tuple[int, ...] = ()
    """The places of the images in the text; empty: before it."""
    pictures: Literal["kept", "joined", "marked", "black", "none"] = "kept"
    boxes: tuple[Box, ...] = ()
    """The boxes to draw on the first picture."""
    note: str = ""
    """A remark on changes that the mode could not make, or made otherwise; its kind comes before a colon."""


def question_prompt(question: ChoiceQuestion) -> str:
    """A question as it is: hint, text, options and the instruction."""
    return "\n".join([bare_prompt(question), *_options_and_instruction(question)])


def bare_prompt(question: ChoiceQuestion) -> str:
    """A question without its options."""
    return "\n".join([*_hint_lines(question), question.text])


def mode_question(
    question: ChoiceQuestion, mode: Mode, pictures: Sequence[bytes], most: int
) -> ModeQuestion:
    """A question in a mode. `pictures` are its image files; the model takes at most `most` of them."""
    as_is = ModeQuestion(question, question_prompt(question))
    try:
        if mode in ("multi-inline", "multi-first", "one-image"):
            return _several_images(as_is, mode, len(pictures), most)
        if mode in _UNITS:
            return _converted_to_unit(as_is, mode, pictures)
        if mode in ("mark", "text-box", "mark+text"):
            return _with_boxes(as_is, mode, pictures)
    except (CoordinateError, PictureError) as error:
        return replace(as_is, note=str(error))
    if mode == "blind":
        return replace(as_is, pictures="black")
    if mode == "no-image":
        return replace(as_is, pictures="none")
    return as_is


@cache
def _subtasks_of(setting: Setting) -> frozenset[str]:
    """The keys of the subtasks of an experiment."""
    rows = read_table(PromptSetting, "mmt_bench_prompting.csv")
    return frozenset(row.subtask for row in rows if row.setting == setting)


@cache
def _all_wordings() -> Mapping[tuple[str, Form], Sequence[ImagePrompt]]:
    """The words of Tables A7 to A10 by subtask and form."""
    rows = read_table(ImagePrompt, "mmt_bench_image_prompts.csv")
    return grouped(((row.subtask, row.form), row) for row in rows)


def _wordings(subtask: str, form: Form) -> Sequence[ImagePrompt]:
    return _all_wordings().get((subtask, form), ())


def _hint_lines(question: ChoiceQuestion) -> list[str]:
    has_hint = question.hint not in ("", "nan")  # pandas writes nan for an empty cell
    return [question.hint] if has_hint else []


def _options_and_instruction(question: ChoiceQuestion) -> list[str]:
    options = [f"{letter}. {text}" for letter, text in question.options.items()]
    return [*options, _INSTRUCTION[language(question)]]


# Several images (D.2)


def _several_images(as_is: ModeQuestion, mode: Mode, images: int, most: int) -> ModeQuestion:
    """A question with several images in the layout of Tables A7 to A10, and one with fewer as it is.

    Images are inside the text, before it, or joined into one; joined too if there are more than `most`.
    """
    if images < 2:
        return as_is
    question = as_is.question
    if mode == "one-image":
        return _joined_images(question)
    if images > most:
        note = f"more images than the model takes, joined into one: {images} of {most}"
        return replace(_joined_images(question), note=note)
    if mode == "multi-inline":
        pieces = _inline_pieces(question, images)
        if pieces:
            return _images_in_text(question, pieces, "")
        note = "no place for the images in the text, all put first"
        return _images_first(question, images, note)
    return _images_first(question, images, "")


def _joined_images(question: ChoiceQuestion) -> ModeQuestion:
    text = f"{_lead(question)}{question.text}{_options_below(question)}"
    return ModeQuestion(question, text, pictures="joined")


def _images_first(question: ChoiceQuestion, images: int, note: str) -> ModeQuestion:
    """A question with its images before its text. If `note` is empty, unexpected words of the text are noted."""
    bare = _IMAGE_MARK.sub("", question.text)
    text = _in_table_words(bare, question, images)
    if text == bare and _wordings(question.category, "first") and not note:
        note = "not worded as in the public question files, so asked without the tables' words"
    return _images_in_text(question, ("",) * images + (text,), note)


def _images_in_text(question: ChoiceQuestion, pieces: Sequence[str], note: str) -> ModeQuestion:
    """A question whose text has an image between each two pieces."""
    text = _lead(question)
    places = []
    for piece in pieces[:-1]:
        text += piece
        places.append(len(text))
    text += pieces[-1]
    return ModeQuestion(question, text + _options_below(question), tuple(places), note=note)


def _lead(question: ChoiceQuestion) -> str:
    """The beginning of a prompt, up to the question's text."""
    return "".join(f"{line}\n" for line in _hint_lines(question)) + "Question: "


def _options_below(question: ChoiceQuestion) -> str:
    """The end of a prompt, from the line break after the question's text."""
    return "\n" + "\n".join(["Options:", *_options_and_instruction(question)])


def _in_table_words(text: str, question: ChoiceQuestion, images: int, form: Form = "first") -> str:
    """A question's text in the words of Tables A7 to A10; unchanged if it lacks the file's words that they replace."""
    inline_images = sum(row.becomes.count(IMAGE) for row in _wordings(question.category, "inline"))
    rest = images - inline_images
    fields = {
        "candidates": ", ".join(f"Candidate {number}: {IMAGE}" for number in range(1, rest + 1)),
        "images": ", ".join(f"Image {number}: {IMAGE}" for number in range(rest)),
        "frames": IMAGE * rest,
        "last": str(rest),
        "count": _COUNT_WORDS[rest] if 0 <= rest < len(_COUNT_WORDS) else str(rest),
    }
    worded = text
    for row in _wordings(question.category, form):
        if row.said not in worded:
            return text
        becomes = row.becomes.format_map(fields)
        if row.said:
            worded = worded.replace(row.said, becomes, 1)
        else:
            worded += becomes
    return worded


def _inline_pieces(question: ChoiceQuestion, images: int) -> tuple[str, ...] | None:
    """The pieces of a question's text between its images; None where the text has no places for them."""
    numbers = _IMAGE_MARK.findall(question.text)
    if numbers:
        unnumbered = [""] * images
        numbered = [str(number) for number in range(1, images + 1)]
        if numbers not in (unnumbered, numbered):
            return None
        return tuple(_IMAGE_MARK.split(question.text)[::2])  # between them are the numbers
    has_wording = bool(_wordings(question.category, "inline"))
    if question.category in subtasks_of_several_images() and not has_wording:
        return ("",) * images + (question.text,)
    pieces = tuple(_in_table_words(question.text, question, images, "inline").split(IMAGE))
    if len(pieces) == images + 1:
        return pieces
    return _pieces_after_names(question.text, images)


def _pieces_after_names(text: str, images: int) -> tuple[str, ...] | None:
    """The pieces of a text with an image after each name: Image, Frame, Candidate or Picture 1, 2 ..., or from 0.

    None if no word names all images in order.
    """
    ends_by_word: dict[str, dict[int, int]] = {}
    for name in _IMAGE_NAME.finditer(text):
        ends = ends_by_word.setdefault(name[1], {})
        ends.setdefault(int(name[2]), name.end())  # where the image is named first
    for ends in ends_by_word.values():
        numbers = list(ends)
        if numbers in (list(range(images)), list(range(1, images + 1))):
            pieces = []
            start = 0
            for end in ends.values():
                pieces.append(f"{text[start:end]}: ")
                start = end
            return (*pieces, text[start:])
    return None


# Coordinates (E) and boxes (D.3)


def _converted_to_unit(as_is: ModeQuestion, unit: Unit, pictures: Sequence[bytes]) -> ModeQuestion:
    """A question of E or D.3 with its coordinates in a unit, by the size that its text states, else its picture's.

    Raises CoordinateError and PictureError.
    """
    question = as_is.question
    if question.category not in _subtasks_of("coordinates") | _subtasks_of("referring"):
        return as_is
    stated = stated_size(question.text)
    pictured = picture_size(pictures[0]) if pictures else None
    size = stated or pictured
    if size is None:
        raise CoordinateError(NO_SIZE)
    converted = convert_coordinates(question, unit, size)
    if converted is question:
        return as_is
    return ModeQuestion(converted, question_prompt(converted), note=_size_note(stated, pictured))


def _size_note(stated: Size | None, pictured: Size | None) -> str:
    """A remark on a picture of another size than its text states; "" for none."""
    if not stated or not pictured or stated == pictured:
        return ""
    return (
        "the picture is not of the size in the text, which holds: "
        f"{_size_words(pictured)}, not {_size_words(stated)}"
    )


def _size_words(size: Size) -> str:
    width, height = size
    return f"{width} x {height}"


def _with_boxes(as_is: ModeQuestion, mode: Mode, pictures: Sequence[bytes]) -> ModeQuestion:
    """A question of D.3 with the boxes that its text names drawn, written, or both.

    Raises CoordinateError and PictureError.
    """
    question = as_is.question
    if question.category not in _subtasks_of("referring"):
        return as_is
    pictured = picture_size(pictures[0]) if pictures else None
    size = stated_size(question.text) or pictured
    boxes = named_boxes(question.text, size)
    if not boxes:
        raise CoordinateError("the text names no box")
    if mode == "text-box":
        return as_is
    if not pictured or not size:
        raise CoordinateError("there is no picture to draw on")
    if not _has_same_shape(size, pictured):
        raise CoordinateError(
            "the picture is not of the shape in the text, so nothing is drawn: "
            f"{_size_words(pictured)}, not {_size_words(size)}"
        )
    if mode == "mark":
        question = replace(question, text=without_boxes(question.text))
    return ModeQuestion(
        question,
        question_prompt(question),
        pictures="marked",
        boxes=boxes,
        note=_size_note(size, pictured),
    )


def _has_same_shape(first: Size, second: Size) -> bool:
    first_width, first_height = first
    second_width, second_height = second
    ratio = first_width * second_height / (first_height * second_width)
    return abs(ratio - 1) <= _SAME_SHAPE
