"""Modes compared: pairs of the same questions, McNemar's exact test, Holm over subtasks and modes."""

import csv
import io
from dataclasses import replace

import pytest

from scoring.benchmarks.mode_comparison import accuracy_drawing, differences_csv, mode_differences
from scoring.multiple_choice.types import Clue, Decided, Decision, Rule
from tests.support.mmt_answers import answered

TASKS = ("reason_seg", "face_detection", "animals_recognition")


def rows(*rights: str) -> list[Decided]:
    """Return answers to one subtask after the other, of ones and zeros; a question mark is undecided."""
    found = []
    for task, outcomes in zip(TASKS, rights, strict=True):
        for outcome in outcomes:
            row = answered(len(found), task, outcome == "1")
            if outcome == "?":
                row = Decided(row.question, "?", Decision(None, (Clue(Rule.UNDECIDED, None, "?"),)))
            found.append(row)
    return found


FIRST = rows("00000000", "1100", "11")
OTHERS = {"pixel": rows("11111100", "1110", "11"), "blind": rows("1000000?", "1100", "1?")}
CHANGED = {"as-is": (), "pixel": range(12), "blind": range(12)}
ALL_PIXEL = {"as-is": (), "pixel": range(14)}


def test_pairs_are_tested_exactly_and_corrected_over_subtasks_and_modes():
    found = mode_differences({"as-is": FIRST, **OTHERS}, CHANGED)
    by_name = {(one.counts.name, one.other): one for one in found}
    assert len(found) == 2 * 4 and "animals_recognition" not in {one.counts.name for one in found}
    sure = by_name["reason_seg", "pixel"]
    assert (sure.first_accuracy, sure.other_accuracy, sure.n) == (0.0, 75.0, 8)
    assert sure.counts.p == pytest.approx(2 * 0.5**6)
    assert sure.holm == pytest.approx(4 * 2 * 0.5**6) and sure.difference.mean == 75.0
    assert by_name["reason_seg", "blind"].n == 7 and by_name["reason_seg", "blind"].holm == 1.0
    everything = by_name["all questions", "pixel"]
    assert (everything.n, everything.counts.second_only, everything.holm) == (14, 7, None)
    assert by_name["questions asked otherwise", "pixel"].n == 12


def test_a_mode_is_counted_and_tested_over_what_it_changed_and_no_other():
    changed = {"as-is": (), "pixel": range(8), "blind": range(8, 12)}
    found = mode_differences({"as-is": FIRST, **OTHERS}, changed)
    told = {(one.counts.name, one.other): one for one in found}
    assert [told["questions asked otherwise", mode].n for mode in OTHERS] == [8, 4]
    tested = {place: one.holm for place, one in told.items() if one.holm is not None}
    assert list(tested) == [("reason_seg", "pixel"), ("face_detection", "blind")]
    assert tested["reason_seg", "pixel"] == pytest.approx(2 * 2 * 0.5**6), "of two tests"


def test_equal_answers_do_not_differ_and_nothing_is_told_of_what_nobody_read():
    unread = rows("????????", "????", "??")
    assert mode_differences({"as-is": FIRST, "pixel": unread}, ALL_PIXEL) == []
    same = mode_differences({"as-is": FIRST, "pixel": FIRST}, ALL_PIXEL)
    assert all(one.difference.mean == 0.0 and one.counts.p == 1.0 for one in same)


def test_modes_differ_a_picture_at_a_time():
    def shared(rows: list[Decided]) -> list[Decided]:
        return [
            replace(row, question=replace(row.question, picture=f"{row.question.index // 4}"))
            for row in rows
        ]

    alone = mode_differences({"as-is": FIRST, "pixel": OTHERS["pixel"]}, ALL_PIXEL)[0]
    (found, *_) = mode_differences(
        {"as-is": shared(FIRST), "pixel": shared(OTHERS["pixel"])}, ALL_PIXEL
    )
    assert found.difference.mean == alone.difference.mean
    assert found.difference.low < alone.difference.low and found.counts.p > alone.counts.p


def test_the_table_and_the_figure_have_each_mode_and_subtask():
    found = mode_differences({"as-is": FIRST, **OTHERS}, CHANGED)
    table = list(csv.DictReader(io.StringIO(differences_csv(found).decode("utf-8-sig"))))
    assert [row["other"] for row in table if row["over"] == "reason_seg"] == ["pixel", "blind"]
    assert (table[2]["first accuracy"], table[2]["other accuracy"], table[2]["difference"]) == (
        "0.0",
        "75.0",
        "75.0",
    )
    assert table[0]["holm"] == "" and float(table[2]["holm"]) == pytest.approx(0.125)
    marks = accuracy_drawing("Model X", found).marks
    names = {mark.text for mark in marks if mark.kind == "text"}
    assert {"as-is", "pixel", "blind", "Reason Seg", "Face Detection"} <= names
    cells = {mark.title: mark.text for mark in marks if mark.kind == "cell"}
    assert cells["Reason Seg, pixel: 75.0% (n = 8)"] == "75"
