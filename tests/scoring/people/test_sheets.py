"""Sheets of people: the cells of what is known wholly, in part, or not at all."""

from collections.abc import Mapping

import pytest

from arena.ratings.agreement import Choices, Contest, Poll, people
from arena.sheets import Sheet, as_csv, as_html, as_json, as_latex, as_markdown, as_text
from scoring.people.agreement import people_agreement
from scoring.people.agreement_sheets import coefficient_sheet, level_sheet, measure_sheet
from scoring.people.calibration import JudgeCalibration
from scoring.people.corrected_mean import CorrectedMean
from scoring.people.mark_sheets import MeasureRow, distance_sheet, mean_sheet
from scoring.people.measures import Interval, Measures

MEASURES = Measures(12, 0.1, Interval(0.1, 0.05, 0.2), -1e-9, 0.5, None, 0.25, 1.0)
PART = CorrectedMean(0.5, Interval(0.45, 0.4, 0.6), Interval(0.4, 0.3, 0.7), 20, 31.4)
WHOLE = CorrectedMean(0.5, Interval(0.6, 0.6, 0.6), Interval(0.6, 0.6, 0.6), 20, 20.0)


def judge(mean: CorrectedMean | None, unscored: int = 0) -> JudgeCalibration:
    groups: Mapping[str, CorrectedMean] = {"ocr": PART} if mean is PART else {}
    return JudgeCalibration("j", MEASURES, unscored, mean, {}, groups)


def lines(sheet: Sheet) -> list[str]:
    return [" ".join(line.split()) for line in as_text(sheet)][1:]


@pytest.mark.parametrize(
    ("mean", "unscored", "told"),
    [
        (
            PART,
            0,
            [
                "Judge Capability Judge's mean By people, corrected By marks alone Marks Worth",
                "j 50.0 45.0 [40.0, 60.0] 40.0 [30.0, 70.0] 20 31",
                "j OCR 50.0 45.0 [40.0, 60.0] 40.0 [30.0, 70.0] 20 31",
            ],
        ),
        (
            WHOLE,
            0,
            [
                "Judge Judge's mean By people, corrected By marks alone Marks Worth",
                "j 50.0 60.0 60.0 20 20",
                "There's no interval if every answer is marked.",
            ],
        ),
        (
            None,
            2,
            [
                "Judge Judge's mean By people, corrected By marks alone Marks Worth Unscored",
                "j 2",
                "Unscored: marked answers without a score. They count nowhere. "
                "There's no mean with fewer than 5 marks, or if an answer has no score.",
            ],
        ),
    ],
)
def test_a_mean_says_what_is_known_of_it(mean, unscored, told):
    assert lines(mean_sheet([judge(mean, unscored)])) == told


def test_a_capability_without_an_interval_is_explained():
    part = JudgeCalibration("j", MEASURES, 0, PART, {}, {"ocr": WHOLE})
    assert lines(mean_sheet([part]))[-2:] == [
        "j OCR 50.0 60.0 60.0 20 20",
        "There's no interval if every answer is marked.",
    ]


def test_a_distance_shows_the_columns_that_tell_something():
    rows = [MeasureRow("j", MEASURES), MeasureRow("k", MEASURES._replace(delta_interval=None))]
    heads, first, second, note = lines(distance_sheet("d", "Distances", rows))
    assert heads == "Measured n Delta Bias Within 0.1 Spearman ICC(2,1) Kappa"
    assert first == "j 12 0.100 [0.050, 0.200] +0.000 50.0% 0.250 1.000", "no zero is negative"
    assert second.startswith("k 12 0.100 +0.000") and note.startswith(
        "Delta has no interval with fewer than"
    )
    rows = [MeasureRow("j", MEASURES, "OCR"), MeasureRow("j", MEASURES, beside="k")]
    heads, first, second = lines(distance_sheet("d", "Distances", rows, {"j": 0.5}))
    assert heads.startswith("Measured Beside Capability n") and heads.endswith(
        "Dollars for 218 answers"
    )
    assert first.startswith("j people OCR 12") and first.endswith("1.000")
    assert second.startswith("j k 12") and second.endswith("0.50")


def test_agreement_is_in_all_forms_whatever_is_missing():
    """Nobody, one pair, and pairs of several numbers of votes; a metric that needs a reference says nothing."""
    for votes in ([], [(2, 1)], [(5, 0), (3, 2), (2, 1), (1, 1)]):
        choices = {
            Contest(f"i{place}", "a", "b"): Choices(*ones) for place, ones in enumerate(votes)
        }
        found = people_agreement(Poll(choices, {}))
        told = people(choices.values())
        for sheet in (level_sheet(told), coefficient_sheet(told), measure_sheet(found)):
            for form in (as_html, as_csv, as_json, as_latex, as_markdown, lines):
                assert "nan" not in str(form(sheet)).lower().replace("na\n", "")
    heads = [column.head for column in measure_sheet(found).columns if column.kind == "percent"]
    assert heads == ["All", "5/5", "3/5", "2/3"], "of levels with a majority"
