"""Mark sheets: judges' distances from people, people's corrected means, and MM-Vet's own numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from arena.sheets import Column, Place, Sheet, estimate, estimate_cells
from scoring.benchmarks.mm_vet_tables import capability_words
from scoring.people.calibration import Calibration, JudgeCalibration, Panel
from scoring.people.corrected_mean import LEAST_FOR_MEAN, CorrectedMean
from scoring.people.measures import LEAST_INTERVAL, Interval, Measures
from scoring.people.published import (
    PAPER_DELTAS,
    PAPER_EXAMPLES,
    PAPER_PANELS,
    examples_words,
)

NO_INTERVAL = f"Delta has no interval with fewer than {LEAST_INTERVAL} answers."
PEOPLE = "people"


class MeasureRow(NamedTuple):
    """A row of a sheet of measures."""

    name: str
    measures: Measures
    capability: str = ""
    """Capability in words; "" for all answers."""
    beside: str = PEOPLE
    """The people or judge to compare with."""


def calibration_rows(calibration: Calibration) -> Iterator[MeasureRow]:
    """Yields each judge with its capabilities, then people beside people, and rules without a judge."""
    for judge in calibration.judges:
        yield MeasureRow(judge.name, judge.measures)
        for group, measures in judge.groups.items():
            yield MeasureRow(judge.name, measures, capability_words(group))
    if calibration.people:
        yield MeasureRow("people, compared with each other", calibration.people)
    if calibration.repeated:
        yield MeasureRow("people, second time", calibration.repeated)
    for name, measures in calibration.baselines.items():
        yield MeasureRow(f"without a judge: {name}", measures)


def paired_rows(pairs: Mapping[tuple[str, str], Measures]) -> list[MeasureRow]:
    return [
        MeasureRow(judge, measures, beside=other_judge)
        for (judge, other_judge), measures in pairs.items()
    ]


def distance_sheet(
    name: str,
    title: str,
    rows: Iterable[MeasureRow],
    dollars: Mapping[str, float] | None = None,
    place: Place = "main",
) -> Sheet:
    """A sheet with a row for each of the measures; `dollars` is the cost of MM-Vet's 218 answers by judge."""
    cells = [_distance_cells(row, dollars or {}) for row in rows]
    columns = [Column("measured", "Measured", has_words=True)]
    if any(row["beside"] != PEOPLE for row in cells):
        columns.append(Column("beside", "Beside", has_words=True))
    if any(row["capability"] for row in cells):
        columns.append(Column("capability", "Capability", has_words=True))
    columns += [
        Column("answers", "n", "count"),
        estimate("delta", "Delta", places=3),
        Column("bias", "Bias", "difference", places=3),
        Column("near", "Within 0.1", "percent"),
        Column("spearman", "Spearman", "score", places=3),
        Column("icc", "ICC(2,1)", "score", places=3),
        Column("kappa", "Kappa", "score", places=3),
    ]
    if dollars:
        columns.append(Column("dollars", "Dollars for 218 answers", "score", places=2))
    note = NO_INTERVAL if any(row["delta_low"] is None for row in cells) else ""
    return Sheet(name, title, pd.DataFrame(cells), tuple(columns), note, place)


def _distance_cells(row: MeasureRow, dollars: Mapping[str, float]) -> dict[str, Any]:
    interval = row.measures.delta_interval
    return {
        "measured": row.name,
        "beside": row.beside,
        "capability": row.capability,
        **row.measures._asdict(),
        "delta_low": interval.low if interval else None,
        "delta_high": interval.high if interval else None,
        "dollars": None if row.capability else dollars.get(row.name),
    }


def panel_sheet(panel: Panel) -> Sheet:
    """The distance from people of all judges together."""
    deltas = {
        "mean of the judges' deltas (as MM-Vet's Table 7)": panel.mean_of_deltas,
        "the judges' mean score": panel.delta_of_mean,
        "the judges' median score": panel.delta_of_median,
    }
    return _delta_sheet("panel", "All judges together", deltas, "main")


def mean_sheet(judges: Sequence[JudgeCalibration]) -> Sheet:
    """The mean that people would have given to all answers, by each judge's scores, in percent."""
    rows: list[dict[str, Any]] = []
    for judge in judges:
        row = {"measured": judge.name, "capability": "", "unscored": judge.unscored}
        rows.append(row | _mean_cells(judge.mean))
        for group, mean in judge.group_means.items():
            row = {"measured": judge.name, "capability": capability_words(group)}
            rows.append(row | _mean_cells(mean))
    columns = [Column("measured", "Judge", has_words=True)]
    notes = []
    if any(row["capability"] for row in rows):
        columns.append(Column("capability", "Capability", has_words=True))
    columns += [
        Column("judge", "Judge's mean", "score"),
        estimate("corrected", "By people, corrected"),
        estimate("alone", "By marks alone"),
        Column("marks", "Marks", "count"),
        Column("worth", "Worth", "score", places=0),
    ]
    if any(judge.unscored for judge in judges):
        columns.append(Column("unscored", "Unscored", "count"))
        notes.append("Unscored: marked answers without a score. They count nowhere.")
    if not all(judge.mean for judge in judges):
        notes.append(
            f"There's no mean with fewer than {LEAST_FOR_MEAN} marks, or if an answer has no score."
        )
    means = [mean for judge in judges for mean in (judge.mean, *judge.group_means.values())]
    if any(mean and mean.is_whole for mean in means):
        notes.append("There's no interval if every answer is marked.")
    frame = pd.DataFrame(rows, columns=[key for column in columns for key in column.keys])
    return Sheet("means", "What people would have given", frame, tuple(columns), " ".join(notes))


def _mean_cells(mean: CorrectedMean | None) -> dict[str, float | None]:
    if mean is None:
        return {}
    return {
        "judge": 100 * mean.judge,
        **_percent_cells("corrected", mean.corrected),
        **_percent_cells("alone", mean.alone),
        "marks": mean.marks,
        "worth": mean.worth,
    }


def difference_sheet(differences: Mapping[str, CorrectedMean]) -> Sheet:
    """Differences of other models' means from this model's, question by question, in percent."""
    rows = [
        {
            "model": title,
            "questions": mean.marks,
            "judge": 100 * mean.judge,
            **_percent_cells("people", mean.corrected),
        }
        for title, mean in differences.items()
    ]
    columns = (
        Column("model", "Model"),
        Column("questions", "Marked in both", "count"),
        estimate("people", "People's difference", "difference"),
        Column("judge", "Judge's difference", "difference"),
    )
    return Sheet("differences", "Other models minus this one", pd.DataFrame(rows), columns)


def published_sheets() -> list[Sheet]:
    """MM-Vet's own numbers, on 138 answers of MM-ReAct-GPT-4."""
    combined = {", ".join(names): delta for names, delta in PAPER_PANELS.items()}
    by_examples = {
        examples_words(examples) if examples else "no examples": delta
        for examples, delta in PAPER_EXAMPLES.items()
    }
    return [
        _delta_sheet("table-6", "MM-Vet's Table 6: each judge", PAPER_DELTAS, "folded"),
        _delta_sheet(
            "table-7", "MM-Vet's Table 7: means of the members' deltas", combined, "folded"
        ),
        _delta_sheet("table-8", "MM-Vet's Table 8: GPT-4 by examples kept", by_examples, "folded"),
    ]


def _delta_sheet(name: str, title: str, deltas: Mapping[str, float], place: Place) -> Sheet:
    rows = [{"measured": measured, "delta": delta} for measured, delta in deltas.items()]
    columns = (
        Column("measured", "Measured", has_words=True),
        Column("delta", "Delta", "score", places=4),
    )
    return Sheet(name, title, pd.DataFrame(rows), columns, place=place)


def _percent_cells(key: str, mean: Interval) -> dict[str, float | None]:
    """A mean in percent, with its interval unless every answer is marked."""
    value, low, high = (100 * number for number in mean)
    if low == high:  # every answer is marked, which leaves nothing to estimate
        return estimate_cells(key, value, None, None)
    return estimate_cells(key, value, low, high)
