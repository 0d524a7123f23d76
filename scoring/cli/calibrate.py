"""Command `calibrate`: how far judges are from people who marked the same answers, and from one another."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from arena.cli.output_paths import check_unread, output_file
from arena.interval_text import BRACKETS, bracketed
from arena.io.csv_text import csv_text
from scoring.people.calibration import (
    Calibration,
    JudgeCalibration,
    calibrate,
    paired_comparisons,
)
from scoring.people.corrected_mean import CorrectedMean
from scoring.people.mark_files import audits, read_marks
from scoring.people.measures import (
    LEAST_INTERVAL,
    LEAST_RANKED,
    PAPER_DELTAS,
    MarksError,
    Measures,
)

app = Typer(rich_markup_mode=None)
_COLUMNS = ("delta", "low_95", "high_95", "bias", "within 0.1", "Spearman", "ICC(2,1)", "kappa")
_TOO_FEW = "too few"


@app.command("calibrate")
def run(
    files: Annotated[
        list[Path], Argument(metavar="FILE...", help="-audit.jsonl of reports on the same answers")
    ],
    marks: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="people's marks: item, marker, score (0 to 1), maybe prediction_sha256",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(metavar="FILE", callback=output_file, help="also write the table as CSV"),
    ] = None,
) -> Iterator[str]:
    if out:
        check_unread([out], *files, marks)
    judged = list(audits(files))
    rows = [
        (f"{one} beside {other}", measures)
        for (one, other), measures in paired_comparisons(judged).items()
    ]
    if marks is None:
        if not rows:
            raise MarksError(
                "one judge and no marks: name --marks FILE, or the reports of two judges on the same answers"
            )
        yield "No marks: judge beside judge, over all answers that both scored"
        yield from _written(rows, out)
        return
    read = read_marks(marks, judged[0])
    yield from read.problems
    first, again = ([mark for mark in read.marks if mark.round == number] for number in (1, 2))
    found = calibrate(judged, first, again)
    order = "" if found.is_ranked else f"; below {LEAST_RANKED} judges are not put in an order"
    yield f"{found.answers:,} marked answers of {len(judged[0].answers):,}{order}"
    yield from _written([*_rows(found), *rows], out)
    yield from _said(found)


def _written(rows: Sequence[tuple[str, Measures]], out: Path | None) -> Iterator[str]:
    """The table, and where it was written to."""
    width = max(len(name) for name, _ in rows)
    yield "  ".join([" " * width, *(f"{name:>10}" for name in _COLUMNS)])
    for name, measures in rows:
        yield "  ".join([f"{name:<{width}}", *(f"{cell:>10}" for cell in _cells(measures))])
    if any(measures.delta_interval is None for _, measures in rows):
        yield f"{_TOO_FEW}: Delta has no interval below {LEAST_INTERVAL} answers"
    if out:
        why = f"none below {LEAST_INTERVAL} answers"
        cells = [(name, *_cells(one, why)) for name, one in rows]
        out.write_text(csv_text([("measured", *_COLUMNS), *cells]), "utf-8")
        yield f"written: {out}"


def _rows(found: Calibration) -> Iterator[tuple[str, Measures]]:
    for judge in found.judges:
        yield judge.name, judge.measures
        yield from ((f"  {group}", measures) for group, measures in judge.groups.items())
    if found.people:
        yield "people, one beside another", found.people
    if found.repeated:
        yield "people, the second time", found.repeated
    yield from found.baselines.items()


def _cells(one: Measures, no_interval: str = _TOO_FEW) -> tuple[str, ...]:
    interval = one.delta_interval
    ends = (f"{interval.low:.3f}", f"{interval.high:.3f}") if interval else (no_interval,) * 2
    numbers = (one.bias, one.near, one.spearman, one.icc, one.kappa)
    others = ("none" if number is None else f"{number:.3f}" for number in numbers)
    return (f"{one.delta:.3f}", *ends, *others)


def _said(found: Calibration) -> Iterator[str]:
    if any(judge.mean for judge in found.judges):
        yield BRACKETS
    for judge in found.judges:
        yield from _of_judge(judge)
    if found.panel:
        panel = found.panel
        yield f"together: mean of the judges' deltas {panel.mean_of_deltas:.3f} (as MM-Vet's Table 7), "
        yield f"  delta of their mean score {panel.delta_of_mean:.3f}, of their median {panel.delta_of_median:.3f}"
    best = min(PAPER_DELTAS.values())
    worst = max(PAPER_DELTAS.values())
    keywords = PAPER_DELTAS["keyword matching"]
    yield f"MM-Vet's Table 6, on other answers: GPT-4 (0613) {best:.3f}, keywords {keywords:.3f}, the worst {worst:.3f}"


def _of_judge(judge: JudgeCalibration) -> Iterator[str]:
    if judge.unscored:
        yield f"{judge.name}: {judge.unscored} of the marked answers are unscored, and in no number"
    if judge.mean is None:
        yield f"{judge.name}: no corrected mean: too few marks, or answers without a score"
        return
    yield _mean(judge.name, judge.mean)
    for group, mean in judge.group_means.items():
        yield _mean(f"  {group}", mean)


def _mean(name: str, mean: CorrectedMean) -> str:
    if mean.is_whole:
        people = 100 * mean.alone.value
        judge = 100 * mean.judge
        return (
            f"{name}: every answer is marked: people give {people:.1f}, the judge gave {judge:.1f}"
        )
    corrected, alone = (
        f"{100 * one.value:.1f} {bracketed(100 * one.low, 100 * one.high)}"
        for one in (mean.corrected, mean.alone)
    )
    numbers = f"the judge's mean {100 * mean.judge:.1f}, corrected {corrected}, from the marks alone {alone}"
    return f"{name}: {numbers}; {mean.marks} marks were worth {mean.worth:,.0f}"
