"""Modes of MMT-Bench: the printed prompts, letters that never change, what is left as it is."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from arena.io.tables import read_records
from scoring.benchmarks.mmt_bench import subtasks
from scoring.benchmarks.modes import IMAGE, ModeQuestion, mode_question, question_prompt
from scoring.multiple_choice.coordinates import brackets, convert_coordinates, stated_size
from scoring.multiple_choice.reader import read_questions
from scoring.multiple_choice.types import MODES, ChoiceQuestion

PRINTED = json.loads(
    (Path(__file__).parents[2] / "golden" / "mmt_bench_image_prompts.json").read_text("utf-8")
)
"""Tables A7 to A10 by subtask: both printed prompts, and the question in the words of the public files."""


def picture(width: int = 640, height: int = 480) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (width, height)).save(stream, "PNG")
    return stream.getvalue()


PICTURE = picture()


def question(text: str, category: str = "reason_seg", **options: str) -> ChoiceQuestion:
    return ChoiceQuestion(1, text, options or {"A": "one", "B": "two"}, "A", category, "", "VAL")


def shown(one: ModeQuestion) -> str:
    """Return a prompt as the paper prints it: marks where images stand, and no instruction of ours."""
    text, start, parts = one.text.rsplit("\n", 1)[0], 0, []
    for place in one.places:
        parts.append(text[start:place])
        start = place
    return IMAGE.join([*parts, text[start:]])


def plain(text: str, table: str) -> str:
    """Return a printed prompt without line breaks, nor blanks at leading marks; A8's copy has lost its marks."""
    if table == "A8":
        text = text.replace(IMAGE, " ")
    text = re.sub(
        r"^Question: (?:<image>\s*)+",
        lambda found: "".join(found[0].split()),
        " ".join(text.split()),
    )
    return " ".join(text.replace(": ,", ":,").split())


@pytest.mark.parametrize("subtask", PRINTED)
@pytest.mark.parametrize("form", ["first", "inline"])
def test_prompts_for_several_images_are_those_of_tables_a7_to_a10_letter_by_letter(subtask, form):
    row = PRINTED[subtask]
    one = mode_question(
        question(row["question"], subtask, **row["options"]),
        f"multi-{form}",
        [PICTURE] * row["images"],
        10,
    )
    assert plain(shown(one), row["table"]) == plain(row[form], row["table"])
    assert (len(one.places), one.note, one.pictures) == (row["images"], "", "kept")


def test_the_tables_have_all_28_subtasks():
    assert set(PRINTED) == {key for key, known in subtasks().items() if known.multi_image}


@pytest.mark.parametrize(
    ("text", "images", "pieces"),
    [
        ("Compare <image> with <image>.", 2, ["Compare ", " with ", "."]),
        ("Compare <image 1> with <image 2>.", 2, ["Compare ", " with ", "."]),
        ("Is Frame 0 before Frame 1?", 2, ["Is Frame 0: ", " before Frame 1: ", "?"]),
        ("Is Image 2 before Image 1?", 2, None),
        ("Compare <image>.", 2, None),
        ("Compare them.", 3, None),
    ],
)
def test_images_stand_at_their_marks_or_names_else_before_the_text(text, images, pieces):
    one = mode_question(question(text), "multi-inline", [PICTURE] * images, 10)
    body = shown(one).removeprefix("Question: ").split("\nOptions:")[0]
    if pieces:
        assert (body.split(IMAGE), one.note) == (pieces, "")
    else:
        assert body == IMAGE * images + text.replace(IMAGE, "")
        assert one.note == "no place for the images in the text, all put first"


def test_a_question_in_other_words_than_the_tables_is_asked_in_its_own_and_named():
    one = mode_question(
        question("Which of these faces is his?", "face_retrieval"), "multi-first", [PICTURE] * 3, 3
    )
    assert shown(one).startswith(f"Question: {IMAGE * 3}Which of these faces is his?\n")
    assert (
        one.note == "not worded as in the public question files, so asked without the tables' words"
    )


def test_more_images_than_the_model_takes_are_joined_and_one_image_is_asked_as_it_is():
    compared = question("Are they alike?", "spot_the_similarity")
    one = mode_question(compared, "multi-inline", [PICTURE] * 3, 2)
    assert one.pictures == "joined" and not one.places
    assert one.note == "more images than the model takes, joined into one: 3 of 2"
    assert mode_question(compared, "multi-first", [PICTURE], 2) == mode_question(
        compared, "as-is", [PICTURE], 2
    )


SIZED = (
    "Which box? The format is [x1, y1, x2, y2]. "
    "Note that the width of the input image is 550 and the height is 413."
)


def boxed(*boxes: str) -> ChoiceQuestion:
    return question(SIZED, **dict(zip("ABCD", boxes, strict=False)))


def test_pixels_become_shares_and_thousandths_and_letters_stay():
    pixels = boxed("dog: [55, 0, 110.0, 413]", "none", "[[0, 0, 1, 2], [550, 0, 0, 9]]")
    shares = convert_coordinates(pixels, "normalised", (550, 413))
    first = "dog: [0.100, 0.000, 0.200, 1.000]"
    assert shares.options == {
        "A": first,
        "B": "none",
        "C": "[[0.000, 0.000, 0.002, 0.005], [1.000, 0.000, 0.000, 0.022]]",
    }
    assert shares.text.startswith(SIZED) and shares.answer == "A"
    assert (
        convert_coordinates(pixels, "normalised-1000", (550, 413)).options["A"]
        == "dog: [100, 0, 200, 1000]"
    )
    assert (
        convert_coordinates(pixels, "pixel", (550, 413)) is pixels
        and convert_coordinates(shares, "normalised", (550, 413)) is shares
    )
    assert convert_coordinates(shares, "pixel", (550, 413)).options["A"] == "dog: [55, 0, 110, 413]"


def test_a_question_is_told_its_new_unit_and_its_corners_move():
    text = (
        "Use shares within a normalized range of 0 to 1, where [0, 0] is the top-left corner and [1, 1] is the "
        "bottom-right corner. The width of the input image is 288 and the height is 450."
    )
    one = mode_question(
        replace(boxed("[0.5, 0.5, 1.0, 1.0]", "[0.1, 0.1, 0.2, 0.2]"), text=text),
        "pixel",
        [picture(288, 450)],
        1,
    )
    assert (
        "Use shares in pixels, where [0, 0] is the top-left corner and [288, 450] is the bottom-right"
        in one.text
    )
    assert one.text.split("\n")[1:3] == [
        "Coordinates are in pixels: from 0 to 288 across and from 0 to 450 down.",
        "A. [144, 225, 288, 450]",
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("[1, 2, 300]", "[1, 2, 3, 400]"), "no point, box or polygon: [1, 2, 300]"),
        (("[10, 20, 30, 40, 45]", "no box"), "no point, box or polygon: [10, 20, 30, 40, 45]"),
        (("[10, 20, wide, 40]", "no box"), "no point, box or polygon: [10, 20, wide, 40]"),
        (("[100, 20, 30, 4000]", "[100.2, 20, 30, 4000]"), "rounding makes options equal: A and B"),
        (("[-0.1, 20, 30, 40]", "[0.1, 20, 30, 40]"), "rounding makes options equal: A and B"),
    ],
)
def test_what_cannot_be_rewritten_is_left_and_named(options, why):
    left = boxed(*options)
    one = mode_question(left, "normalised", [picture(550, 413)], 1)
    assert (one.text, one.question, one.note) == (question_prompt(left), left, why)


def test_the_size_in_the_text_holds_and_another_of_the_picture_is_told():
    one = mode_question(boxed("[55, 0, 110, 413]", "[0, 0, 9, 9]"), "normalised", [PICTURE], 1)
    assert one.question.options["A"] == "[0.100, 0.000, 0.200, 1.000]"
    assert (
        one.note
        == "the picture is not of the size in the text, which holds: 640 x 480, not 550 x 413"
    )
    unsized = replace(boxed("[64, 0, 128, 480]", "[0, 0, 9, 9]"), text="Which box?")
    assert (
        mode_question(unsized, "normalised", [PICTURE], 1).question.options["A"]
        == "[0.100, 0.000, 0.200, 1.000]"
    )
    assert (
        mode_question(unsized, "normalised", [], 1).note
        == "neither the text nor a picture tells the image's size"
    )
    other = replace(boxed("[64, 0, 128, 480]", "[0, 0, 9, 9]"), category="temporal_ordering")
    assert mode_question(other, "normalised", [PICTURE], 1) == mode_question(
        other, "as-is", [PICTURE], 1
    )


def test_boxes_are_drawn_and_taken_out_of_the_sentence():
    text = (
        "What do ([0.091, 0.241, 0.48, 0.677] and [0.408, 0.464, 0.97, 0.7]) do? The region coordinates are provided "
        "in the format of a bounding box (x1, y1, x2, y2), where the bottom-right corner of the image is (1., 1.). "
        "Note that the width and height of image is 640 and 480, respectively."
    )
    asked = question(text, "human_interaction_understanding")
    drawn = mode_question(asked, "mark", [PICTURE], 1)
    note = "Note that the width and height of image is 640 and 480, respectively."
    assert drawn.question.text == f"What do (marked in red) do? {note}"
    assert (
        drawn.boxes == ((0.091, 0.241, 0.48, 0.677), (0.408, 0.464, 0.97, 0.7))
        and drawn.pictures == "marked"
    )
    both = mode_question(asked, "mark+text", [PICTURE], 1)
    assert (both.text, both.boxes, both.pictures) == (question_prompt(asked), drawn.boxes, "marked")
    assert mode_question(asked, "text-box", [PICTURE], 1) == mode_question(
        asked, "as-is", [PICTURE], 1
    )
    sizeless = question("What is in [10, 20, 100, 200]?", "human_interaction_understanding")
    unknown = "neither the text nor a picture tells the image's size"
    assert mode_question(sizeless, "text-box", [], 1).note == unknown
    shares = question("What is in [0.1, 0.2, 0.5, 0.5]?", "human_interaction_understanding")
    assert mode_question(shares, "text-box", [], 1).note == ""
    marked = question("What do the two marked in red do?", "human_interaction_understanding")
    assert mode_question(marked, "text-box", [PICTURE], 1).note == "the text names no box"
    other = (
        "the picture is not of the shape in the text, so nothing is drawn: 900 x 480, not 640 x 480"
    )
    assert mode_question(asked, "mark", [picture(900, 480)], 1).note == other


@pytest.mark.parametrize("order", ["[x, y, w, h]", "[x,y,w,h]"])
def test_boxes_by_width_and_height_are_read_so(order):
    text = f"An object ([10, 20, 30, 40]) as {order}. The width of the image is 100 and the height is 200."
    drawn = mode_question(
        question(text, "single_object_tracking"), "mark", [picture(100, 200)] * 2, 2
    )
    assert drawn.boxes == (pytest.approx((0.1, 0.1, 0.4, 0.3)),)


@pytest.mark.parametrize(
    "box", ["1.2, 0.1, 1.5, 0.3", "0.1, -3, 0.2, -1", "700, 20, 900, 40", "0.3, 0.3, 0.1, 0.1"]
)
def test_a_box_that_nobody_would_see_is_not_called_marked(box):
    asked = question(f"What is in ([{box}])?", "instance_captioning")
    one = mode_question(asked, "mark", [PICTURE], 1)
    assert (one.text, one.pictures) == (question_prompt(asked), "kept")
    assert one.note == f"a box without an area in the picture: {box}"
    partly = question("What is in ([-1, -1, 0.5, 9])?", "instance_captioning")
    assert mode_question(partly, "mark", [PICTURE], 1).boxes == ((-1, -1, 0.5, 9),)


def test_the_blind_modes_show_nothing():
    asked = question("What is it?")
    assert [
        mode_question(asked, mode, [PICTURE], 1).pictures for mode in ("as-is", "blind", "no-image")
    ] == [
        "kept",
        "black",
        "none",
    ]


numbers = st.one_of(st.integers(-5, 4000).map(str), st.decimals(-1, 2000, places=3).map(str))
boxes = st.lists(numbers, min_size=1, max_size=8).map(lambda cells: f"[{', '.join(cells)}]")
texts = st.one_of(boxes, st.text(max_size=30), st.lists(boxes, max_size=3).map(" and ".join))
asked_questions = st.builds(
    lambda text, options, category: ChoiceQuestion(
        1, text, dict(zip("ABCDEFGHI", options, strict=False)), "B", category, "", "VAL"
    ),
    st.one_of(
        texts,
        st.sampled_from([row["question"] for row in PRINTED.values()]),
        texts.map(lambda text: SIZED + text),
    ),
    st.lists(texts, min_size=2, max_size=9),
    st.sampled_from([*subtasks(), "one_shot_detection", "reason_seg", "face_retrieval"]),
)


def check_letters(asked: ChoiceQuestion, images: int) -> None:
    for mode in MODES:
        one = mode_question(asked, mode, [PICTURE] * images, 3)
        assert list(one.question.options) == list(asked.options) and one.question.answer == "B", (
            mode
        )
        assert replace(one.question, text="", options={}) == replace(asked, text="", options={}), (
            mode
        )
        assert list(one.places) == sorted(one.places) and len(one.places) in (0, images), mode
        labels = [line[:2] for line in one.text.split("\n") if re.match(r"[A-I]\.", line)]
        assert all(f"{letter}." in labels for letter in asked.options), mode


@settings(deadline=None, max_examples=40)
@given(asked_questions, st.integers(0, 4))
def test_letters_of_options_never_change(asked, images):
    check_letters(asked, images)


@pytest.mark.soak
@settings(deadline=None, max_examples=10_000)
@given(asked_questions, st.integers(0, 4))
def test_letters_of_options_never_change_in_10_000_questions(asked, images):
    check_letters(asked, images)


@settings(deadline=None)
@given(st.integers(11, 1000), st.integers(11, 1000), st.data())
def test_pixels_come_back_from_shares_of_images_up_to_1000_pixels(width, height, data):
    box = [data.draw(st.integers(0, side)) for side in (width, height) * 2] + [width, height]
    asked = question("Which?", A=f"[{', '.join(map(str, box))}]", B="none")
    back = convert_coordinates(
        convert_coordinates(asked, "normalised", (width, height)), "pixel", (width, height)
    )
    assert back.options["A"] == asked.options["A"]


def test_pixels_of_larger_images_may_move_by_the_rounding_to_thousandths():
    asked = question("Which?", A="[1001, 0, 4000, 3000]", B="none")
    back = convert_coordinates(
        convert_coordinates(asked, "normalised", (4000, 3000)), "pixel", (4000, 3000)
    )
    assert back.options["A"] == "[1000, 0, 4000, 3000]"


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.soak)])
def test_every_box_of_the_val_file_comes_back_and_exceptions_are_of_large_images(data, every):
    found, _ = read_questions(read_records(data / "vlmevalkit" / "vila_8b_MMT-Bench_VAL.xlsx"))
    there, exceptions = 0, []
    for asked in [*found.values()][::every]:
        size = stated_size(asked.text)
        if size is None or mode_question(asked, "pixel", [], 1).question is asked:
            continue
        pixels = convert_coordinates(asked, "pixel", size)
        back = convert_coordinates(convert_coordinates(pixels, "normalised", size), "pixel", size)
        for one, other in zip(pixels.options.values(), back.options.values(), strict=True):
            for box, again in zip(brackets(one), brackets(other), strict=True):
                there += 1
                if box.numbers != again.numbers:
                    exceptions.append((size, box.numbers))
    assert there > 6000 / every and [one for one in exceptions if max(one[0]) <= 1000] == [], (
        exceptions
    )
