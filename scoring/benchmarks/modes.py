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
_IN_FILE = re.compile(r"<image(?: (\d{1,2}))?>", re.ASCII)
_NAMES = re.compile(r"\b(Image|Frame|Candidate|Picture) (\d{1,2})\b", re.ASCII)
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SAME_SHAPE = 0.02
"""By how much the ratios of width and height may differ for a picture to be the one whose size a question states."""


@dataclass(frozen=True)
class ImagePrompt:
    """The words of Tables A7 to A10 for a part of a question on several images, and those of the question files."""

    subtask: str
    form: Form
    """first: all images before the text, for single-image models. inline: images inside the sentence."""
    said: str = ""
    """The file's words; empty: the end of the question."""
    becomes: str = ""
    """{candidates}, {images} and {frames} are all images but those that `inline` marks one by one; {last} and {count}
    are their number."""


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
    """Drawn on the first picture."""
    note: str = ""
    """A remark on changes that the mode could not make, or made otherwise; its kind comes before a colon."""


def prompt(question: ChoiceQuestion) -> str:
    return "\n".join([bare_prompt(question), *_answering(question)])


def bare_prompt(question: ChoiceQuestion) -> str:
    """A question without its options."""
    return "\n".join([*_hint(question), question.text])


def mode_question(
    question: ChoiceQuestion, mode: Mode, pictures: Sequence[bytes], most: int
) -> ModeQuestion:
    """A question in a mode, for a model that takes at most so many pictures, which are image files."""
    as_is = ModeQuestion(question, prompt(question))
    try:
        if mode in ("multi-inline", "multi-first", "one-image"):
            return _of_several(as_is, mode, len(pictures), most) if len(pictures) > 1 else as_is
        if mode in _UNITS:
            return _in_unit(as_is, mode, pictures)
        if mode in ("mark", "text-box", "mark+text"):
            return _referring(as_is, mode, pictures)
    except (CoordinateError, PictureError) as error:
        return replace(as_is, note=str(error))
    drawn: dict[Mode, Literal["black", "none"]] = {"blind": "black", "no-image": "none"}
    return replace(as_is, pictures=drawn[mode]) if mode in drawn else as_is


@cache
def _subtasks_of(setting: Setting) -> frozenset[str]:
    rows = read_table(PromptSetting, "mmt_bench_prompting.csv")
    return frozenset(row.subtask for row in rows if row.setting == setting)


@cache
def _all_wordings() -> Mapping[tuple[str, Form], Sequence[ImagePrompt]]:
    rows = read_table(ImagePrompt, "mmt_bench_image_prompts.csv")
    return grouped(((row.subtask, row.form), row) for row in rows)


def _wordings(subtask: str, form: Form) -> Sequence[ImagePrompt]:
    return _all_wordings().get((subtask, form), ())


def _hint(question: ChoiceQuestion) -> list[str]:
    return [question.hint] if question.hint and question.hint != "nan" else []


def _answering(question: ChoiceQuestion) -> list[str]:
    options = [f"{letter}. {text}" for letter, text in question.options.items()]
    return [*options, _INSTRUCTION[language(question)]]


# Several images (D.2)


def _of_several(as_is: ModeQuestion, mode: Mode, images: int, most: int) -> ModeQuestion:
    """A question with several images in the layout of Tables A7 to A10, whatever becomes of the images."""
    question = as_is.question
    note = ""
    pieces = None
    if mode != "one-image" and images > most:
        mode = "one-image"
        note = f"more images than the model takes, joined into one: {images} of {most}"
    if mode == "multi-inline":
        pieces = _inline(question, images)
        note = "" if pieces else "no place for the images in the text, all put first"
    if pieces is None:
        words = question.text
        if mode != "one-image":
            bare = _IN_FILE.sub("", words)
            words = _worded(bare, question, images)
            if words == bare and _wordings(question.category, "first"):
                note = (
                    note
                    or "not worded as in the public question files, so asked without the tables' words"
                )
        pieces = ("",) * images + (words,)
    text = "".join(f"{line}\n" for line in _hint(question)) + "Question: "
    places = []
    for piece in pieces[:-1]:
        text += piece
        places.append(len(text))
    prompt_text = "\n".join([text + pieces[-1], "Options:", *_answering(question)])
    if mode == "one-image":
        return ModeQuestion(question, prompt_text, pictures="joined", note=note)
    return ModeQuestion(question, prompt_text, tuple(places), note=note)


def _worded(text: str, question: ChoiceQuestion, images: int, form: Form = "first") -> str:
    """A question's text in the words of Tables A7 to A10; as it is where the tables' file words are not in it."""
    rest = images - sum(row.becomes.count(IMAGE) for row in _wordings(question.category, "inline"))
    holes = {
        "candidates": ", ".join(f"Candidate {number}: {IMAGE}" for number in range(1, rest + 1)),
        "images": ", ".join(f"Image {number}: {IMAGE}" for number in range(rest)),
        "frames": IMAGE * rest,
        "last": str(rest),
        "count": _COUNTS[rest] if 0 <= rest < len(_COUNTS) else str(rest),
    }
    whole = text
    for row in _wordings(question.category, form):
        if row.said not in whole:
            return text
        becomes = row.becomes.format_map(holes)
        whole = whole.replace(row.said, becomes, 1) if row.said else whole + becomes
    return whole


def _inline(question: ChoiceQuestion, images: int) -> tuple[str, ...] | None:
    """The pieces of a question's text between its images; None where the text has no places for them."""
    marks = _IN_FILE.findall(question.text)
    if marks:
        ordered = marks in ([""] * images, [str(number + 1) for number in range(images)])
        return tuple(_IN_FILE.split(question.text)[::2]) if ordered else None
    if question.category in subtasks_of_several_images() and not _wordings(
        question.category, "inline"
    ):
        return ("",) * images + (question.text,)
    pieces = tuple(_worded(question.text, question, images, "inline").split(IMAGE))
    return pieces if len(pieces) == images + 1 else _after_names(question.text, images)


def _after_names(text: str, images: int) -> tuple[str, ...] | None:
    """The text with an image after each of its names: Image 1, Image 2 ..., or Frame or Candidate; from 0 or 1."""
    ends: dict[str, dict[int, int]] = {}
    for name in _NAMES.finditer(text):
        ends.setdefault(name[1], {}).setdefault(int(name[2]), name.end())
    for places in ends.values():
        for start in (0, 1):
            if list(places) == list(range(start, start + images)):
                cuts = [0, *places.values(), len(text)]
                pieces = [text[cut:end] for cut, end in zip(cuts, cuts[1:], strict=False)]
                return (*(f"{piece}: " for piece in pieces[:-1]), pieces[-1])
    return None


# Coordinates (E) and boxes (D.3)


def _in_unit(as_is: ModeQuestion, unit: Unit, pictures: Sequence[bytes]) -> ModeQuestion:
    """A question of E or D.3 with its coordinates in a unit; by the size that its text states, else its picture's."""
    question = as_is.question
    if question.category not in _subtasks_of("coordinates") | _subtasks_of("referring"):
        return as_is
    stated = stated_size(question.text)
    pictured = picture_size(pictures[0]) if pictures else None
    size = stated or pictured
    if size is None:
        raise CoordinateError("neither the text nor a picture tells the image's size")
    converted = convert_coordinates(question, unit, size)
    if converted is question:
        return as_is
    return ModeQuestion(converted, prompt(converted), note=_other_size(stated, pictured))


def _other_size(stated: Size | None, pictured: Size | None) -> str:
    if not stated or not pictured or stated == pictured:
        return ""
    return (
        "the picture is not of the size in the text, which holds: "
        f"{_size_words(pictured)}, not {_size_words(stated)}"
    )


def _size_words(size: Size) -> str:
    width, height = size
    return f"{width} x {height}"


def _referring(as_is: ModeQuestion, mode: Mode, pictures: Sequence[bytes]) -> ModeQuestion:
    """A question of D.3 with the boxes that its text names drawn, written, or both."""
    question = as_is.question
    if question.category not in _subtasks_of("referring"):
        return as_is
    pictured = picture_size(pictures[0]) if pictures else None
    stated = stated_size(question.text) or pictured
    boxes = named_boxes(question.text, stated or (1, 1))
    if not boxes:
        raise CoordinateError("the text names no box")
    if mode == "text-box":
        return as_is
    if not pictured or not stated:
        raise CoordinateError("there is no picture to draw on")
    if abs(stated[0] * pictured[1] / (stated[1] * pictured[0]) - 1) > _SAME_SHAPE:
        raise CoordinateError(
            "the picture is not of the shape in the text, so nothing is drawn: "
            f"{_size_words(pictured)}, not {_size_words(stated)}"
        )
    if mode == "mark":
        question = replace(question, text=without_boxes(question.text))
    return ModeQuestion(
        question,
        prompt(question),
        pictures="marked",
        boxes=boxes,
        note=_other_size(stated, pictured),
    )
