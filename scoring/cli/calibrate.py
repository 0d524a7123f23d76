"""Command `calibrate`: how far judges are from people who marked the same answers, and from one another."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from typer import Argument, Option, Typer

from arena.cli.output_paths import output_file, refuse_overwriting
from arena.interval_text import BRACKETS
from arena.io.strict_json import RowsError
from arena.settings import Settings
from arena.sheets import Sheet, as_csv
from arena.templates import plural
from scoring.benchmarks.mm_vet import MM_VET
from scoring.cli import progress
from scoring.people.calibration import calibrate, paired_comparisons
from scoring.people.mark_files import read_judged_report, read_judged_reports, read_marks
from scoring.people.mark_sheets import (
    calibration_rows,
    distance_sheet,
    mean_sheet,
    paired_rows,
    panel_sheet,
)
from scoring.people.measures import LEAST_RANKED, MarksError
from scoring.people.published import PAPER_DELTAS
from scoring.people.shown_examples import (
    chosen_subsets,
    examples_sheet,
    grading_tasks,
    marked_answers,
    measure_subsets,
)
from scoring.report import read_audit

app = Typer(rich_markup_mode=None)


@app.command("calibrate")
def run(
    files: Annotated[
        list[Path],
        Argument(metavar="FILE...", help="-audit.jsonl files of reports on the same answers"),
    ],
    marks: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="people's marks: item, marker, score (0 to 1), optionally prediction_sha256",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(metavar="FILE", callback=output_file, help="also write the table as CSV"),
    ] = None,
    examples: Annotated[
        str,
        Option(
            metavar="N[,N...]",
            help="have a judge grade again with this many of MM-Vet's seven examples: 0,2,4,5,6,7",
        ),
    ] = "",
    judge: progress.JudgeModel = "",
    base_url: progress.BaseUrl = None,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
) -> Iterator[str]:
    if out:
        refuse_overwriting([out], *files, marks)
    if examples or judge:  # Neither goes without the other.
        ablation = _Ablation(files, marks, examples, judge)
        yield from ablation.run(base_url, yes, budget, out)
        return
    judged = list(read_judged_reports(files))
    pairs = paired_rows(paired_comparisons(judged))
    if marks is None:
        if not pairs:
            raise MarksError(
                "There is one judge and nothing to compare it with. Add --marks FILE, or another judge's "
                "report on the same answers."
            )
        title = "No marks: judge beside judge, over all answers that both scored"
        yield from _table_lines([distance_sheet("judges", title, pairs)], out)
        return
    mark_file = read_marks(marks, judged[0])
    yield from mark_file.problems
    first_round = [mark for mark in mark_file.marks if mark.round == 1]
    second_round = [mark for mark in mark_file.marks if mark.round == 2]
    calibration = calibrate(judged, first_round, second_round)
    note = ""
    if not calibration.is_ranked:
        note = f" Judges are ranked from {LEAST_RANKED} marked answers on."
    yield f"{calibration.answers:,} of {len(judged[0].answers):,} answers are marked.{note}"
    rows = [*calibration_rows(calibration), *pairs]
    sheets = [distance_sheet("distances", "How far from people", rows)]
    if calibration.panel:
        sheets.append(panel_sheet(calibration.panel))
    yield from _table_lines([*sheets, mean_sheet(calibration.judges)], out)
    best = min(PAPER_DELTAS.values())
    worst = max(PAPER_DELTAS.values())
    keywords = PAPER_DELTAS["keyword matching"]
    yield f"MM-Vet's Table 6, on other answers: GPT-4 (0613) {best:.3f}, keywords {keywords:.3f}, the worst {worst:.3f}"


class _Ablation(NamedTuple):
    """A judge that grades the marked answers of one report again, with only some of MM-Vet's examples in its prompt."""

    files: Sequence[Path]
    marks: Path | None
    examples: str
    judge: str

    def run(
        self, base_url: str | None, yes: bool, budget: float | None, out: Path | None
    ) -> Iterator[str]:
        is_complete = self.examples and self.judge and len(self.files) == 1
        if not is_complete or self.marks is None:
            raise MarksError(
                "--examples needs one report, its marks and a judge. "
                "Give one -audit.jsonl, --marks FILE and --judge MODEL."
            )
        subsets = chosen_subsets(self.examples)
        (file,) = self.files
        report = read_audit(file)
        if report.benchmark != MM_VET.key:
            raise RowsError(
                "--examples is only for MM-Vet's first edition. Choose a report on that.", file.name
            )
        mark_file = read_marks(self.marks, read_judged_report(file))
        yield from mark_file.problems
        answers = marked_answers(report, mark_file.marks)
        yield (
            f"{plural(len(answers), 'marked answer')}, {report.protocol} protocol, one run with "
            f"{', '.join(f'{len(subset)}' for subset in subsets)} examples"
        )
        command_judge = progress.CommandJudge(
            settings=Settings.from_env(),
            model=self.judge,
            base_url=base_url,
            batch=False,
            yes=yes,
            budget=budget,
        )
        spec = yield from command_judge.spec()
        tasks = grading_tasks(MM_VET, subsets, answers, report.protocol, spec)
        grades = yield from command_judge.outcomes(tasks, spec)
        result = measure_subsets(MM_VET, subsets, answers, report.protocol, grades)
        yield from _table_lines([examples_sheet(result, self.judge)], out)


def _table_lines(sheets: Sequence[Sheet], out: Path | None) -> Iterator[str]:
    """Yields the lines of the tables; writes the first as CSV to `out`, if given."""
    yield BRACKETS
    yield from progress.sheet_lines(sheets)
    yield ""
    if out:
        out.write_text(as_csv(sheets[0]), "utf-8")
        yield f"written: {out}"
