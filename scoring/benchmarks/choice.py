"""Multiple-choice and VQA benchmarks: judge tasks for what rules leave open, the graded report, and its downloads."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from scoring.benchmarks import vqa as vqa_marks
from scoring.benchmarks.choice_report import (
    ChoiceReport,
    MarksReport,
    accuracy_csv,
    score_lines,
    tabulated,
    under_protocol,
    ungraded,
)
from scoring.benchmarks.vqa import VQAnswer
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.multiple_choice.downloads import audit_lines, differences_csv, missing_csv, problems_csv, submission
from scoring.multiple_choice.extract import extraction
from scoring.multiple_choice.types import PROTOCOLS, Clue, Decided, Decision, Rule
from scoring.report import Grade, file_stem, lines_csv


class LazyFiles(Mapping[str, bytes]):
    """Downloads by name, each created on access."""

    def __init__(self, makers: Mapping[str, Callable[[], bytes]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> bytes:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class MultipleChoice:
    """MMBench and MMT-Bench."""

    report = ChoiceReport

    def tasks(self, report: ChoiceReport, spec: JudgeSpec) -> Sequence[Task[Decision]]:
        """An extraction for each answer that rules leave open."""

        def task(row: Decided) -> Task[Decision]:
            return Task(
                0,
                lambda: extraction(row.question, row.prediction, report.protocol, spec),
                lambda reason: replace(
                    row.decision, trail=(*row.decision.trail, Clue(Rule.DECLINED, None, reason[:200]))
                ),
            )

        return [task(row) for row in report.rows if row.decision.open]

    def graded(self, report: ChoiceReport, outcomes: Sequence[Decision]) -> ChoiceReport:
        """The draft with the judge's letters, which are in the order of the tasks."""
        left = iter(outcomes)
        rows = tuple(replace(row, decision=next(left)) if row.decision.open else row for row in report.rows)
        versions = tuple(sorted({decision.model for decision in outcomes} - {""}))
        return replace(report, judge=report.judge and replace(report.judge, versions=versions), rows=rows)

    def ungraded(self, report: ChoiceReport) -> str:
        """A sentence saying that nothing was graded; "" if anything was."""
        return ungraded(report)

    def files(self, report: ChoiceReport) -> Mapping[str, bytes]:
        """Accuracies in the public toolkit's layout, an audit of all items, and differences between protocols.

        If a split has no right answers, its letters are in a submission to the benchmark's own server.
        """
        found = tabulated(report)
        stem = f"{'partial_' if found.partial else ''}{file_stem(report.file)}"
        makers: dict[str, Callable[[], bytes]] = {
            f"{stem}_acc.csv": lambda: accuracy_csv(report),
            f"{stem}-scores.csv": lambda: lines_csv(score_lines(report)),
            f"{stem}-audit.jsonl": lambda: "".join(audit_lines(report.rows)).encode("ascii"),
            f"{stem}-problems.csv": lambda: problems_csv((*found.problems, *report.problems)),
            f"{stem}-differences.csv": lambda: differences_csv(
                {report.protocol: report.rows}
                | {name: under_protocol(report, name).rows for name in PROTOCOLS if name != report.protocol}
            ),
        }
        if found.missing:
            makers[f"{stem}-missing.csv"] = lambda: missing_csv(found.missing)
        answered = {row.question.split for row in report.rows if row.question.answer}
        blind = [row for row in report.rows if row.question.split not in answered]
        if blind:
            makers[f"{stem}_submission.tsv"] = lambda: submission(blind)
        return LazyFiles(makers)


class VQAMarks:
    """VQA answers with marks from 1 to 5."""

    report = MarksReport

    def tasks(self, report: MarksReport, spec: JudgeSpec) -> Sequence[Task[Grade]]:
        """A grading for each answer without a mark."""

        def task(row: VQAnswer) -> Task[Grade]:
            return Task(
                0,
                lambda: vqa_marks.grading(row, report.benchmark, report.protocol, spec),
                lambda reason: Grade(row.id, 0, None, reason),
            )

        return [task(row) for row in report.unmarked]

    def graded(self, report: MarksReport, outcomes: Sequence[Grade]) -> MarksReport:
        """The draft with the judge's marks, which are in the order of the tasks."""
        versions = tuple(sorted({grade.model for grade in outcomes} - {""}))
        judge = report.judge and replace(report.judge, versions=versions)
        return replace(report, judge=judge, grades=(*report.grades, *outcomes))

    def ungraded(self, report: MarksReport) -> str:
        """A sentence saying that nothing was graded; "" if anything was."""
        return ungraded(report)

    def files(self, report: MarksReport) -> Mapping[str, bytes]:
        """Accuracies and the mean mark, and an audit of all answers with their marks."""
        stem = file_stem(report.file)
        return LazyFiles(
            {
                f"{stem}_acc.csv": lambda: _marks_csv(report),
                f"{stem}-scores.csv": lambda: lines_csv(score_lines(report)),
                f"{stem}-problems.csv": lambda: problems_csv(report.problems),
                f"{stem}-audit.jsonl": lambda: "".join(_marked_lines(report)).encode("ascii"),
            }
        )


def _marks_csv(report: MarksReport) -> bytes:
    """VQA accuracy under the public toolkit's heading, in percent as there, with our figures beside it."""
    table = tabulated(report)
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["Overall", "exact match", "mean mark", "marked"])
    means = (table.consensus.mean, table.exact.mean, table.marks.mean)
    marked = table.marks.n - table.marks.unscored
    writer.writerow([*("" if mean is None else repr(mean) for mean in means), marked])
    return out.getvalue().encode()


def _marked_lines(report: MarksReport) -> Iterator[str]:
    grades = {grade.question: grade for grade in report.grades}
    for row in report.rows:
        grade = grades.get(row.id)
        known = {
            "index": row.id,
            "question": row.text,
            "answers": row.answers,
            "prediction": row.prediction,
            "exact": vqa_marks.exact(row) if row.answers else None,
            "accuracy": vqa_marks.consensus(row.prediction, row.answers) if row.answers else None,
            "mark": grade.score if grade else None,
            "reason": grade.reason if grade else "not marked",
            "replies": grade.replies if grade else (),
            "judge": grade.model if grade else "",
        }
        yield json.dumps(known) + "\n"
