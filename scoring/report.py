"""The results model of every benchmark: what was asked and answered, what a judge gave, and what comes out.

An outcome that is not known is `None` with its reason: it stays out of every mean and is counted beside it.
"""

import csv
import io
import json
import re
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arena.io.strict_json import RowsError
from scoring.serialize import read_record, record_json

Protocol = Literal["paper", "hardened"]
Kind = Literal["item", "canary", "probe"]
"""item: a prediction of the file; canary: an answer that deserves nothing; probe: a flagged one under another truth."""


class NothingGradedError(Exception):
    """Say that nothing of a file could be graded, and why."""


class NoAnswersError(RowsError):
    """Say that a file holds no answers at all."""


@dataclass(frozen=True)
class Question:
    """One question of a benchmark."""

    id: str
    text: str
    truth: str
    """The ground truth as published."""
    groups: tuple[str, ...]
    """What the question tests: in MM-Vet, its capabilities."""
    image: str = ""
    """File name of its picture, as published."""


@dataclass(frozen=True)
class QuestionSet:
    """The questions that a file is scored on, and where they come from."""

    benchmark: str
    name: str
    digest: str
    """sha256 over the questions, which a report names."""
    official: bool
    """Whether these are the published questions, whole and unchanged."""
    questions: tuple[Question, ...]
    outside: tuple[Question, ...] = ()
    """Of a subset, the other questions of the whole set: a file may answer them, and a report does not keep them."""


@dataclass(frozen=True)
class Grade:
    """What the judge gave one prediction in one run."""

    question: str
    run: int
    score: float | None
    reason: str = ""
    """Why there is no score, or (paper protocol) why it counts 0.0; else empty."""
    flags: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()
    """What the judge said, in order."""
    model: str = ""
    """What the server called the model that replied last."""


@dataclass(frozen=True)
class Row:
    """One question of a report: its truth, the prediction (None where the file has none) and a grade a run."""

    question: Question
    prediction: str | None
    grades: tuple[Grade, ...]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgeStamp:
    """Who judged and how: what makes two scores comparable."""

    model: str
    """The model that was asked for."""
    versions: tuple[str, ...]
    """What the server called the model that replied."""
    address: str
    """Base URL without user, password or query."""
    prompt: str
    """sha256 of the prompt's fixed part."""
    parser: str
    """Name and version of the reading of replies."""


class AnyReport(typing.Protocol):
    """What the reports of all benchmarks have, whatever their rows are."""

    @property
    def benchmark(self) -> str:
        """Return the key of its benchmark."""
        ...

    @property
    def protocol(self) -> str:
        """Return by which rules it is scored."""
        ...

    @property
    def judge(self) -> JudgeStamp | None:
        """Return who judged or is to judge; None where rules alone decide."""
        ...

    @property
    def title(self) -> str:
        """Return the model's name as its owner gave it."""
        ...

    @property
    def file(self) -> str:
        """Return the uploaded file's name."""
        ...

    @property
    def created(self) -> str:
        """Return the ISO time of its making, UTC."""
        ...


@dataclass(frozen=True)
class Report:
    """A scored file, whole: every table and download is computed from it."""

    benchmark: str
    questions: QuestionSet
    protocol: Protocol
    judge: JudgeStamp
    runs: int
    sampled: bool
    """Whether the runs are samples of one call (`n`) instead of separate calls."""
    title: str
    """The model's name as its owner gave it."""
    file: str
    """The uploaded file's name."""
    created: str
    """ISO time of its making, UTC."""
    rows: tuple[Row, ...]
    canaries: tuple[Grade, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the ids of questions without a prediction: with any, the report is partial."""
        return tuple(row.question.id for row in self.rows if row.prediction is None)

    @property
    def trusted(self) -> bool:
        """Tell whether the judge gave every canary nothing; an unscored canary is no proof of anything."""
        return all(not grade.score for grade in self.canaries)


@dataclass(frozen=True)
class ScoreLine:
    """One line of a table; means are over runs and questions, times 100, and None where nothing is scored."""

    name: str
    n: int
    """Questions that belong to it."""
    unscored: int
    """Grades (question and run) without a score."""
    mean: float | None
    low: float | None
    high: float | None
    """95% bootstrap interval over questions."""
    worst: float
    best: float
    """The mean if every unscored grade were 0.0, and 1.0."""


@dataclass(frozen=True)
class ScoreTable:
    """Lines under a heading, the total last."""

    name: str
    lines: tuple[ScoreLine, ...]
    run_totals: tuple[float | None, ...]
    """The total of each run, times 100."""
    spread: float | None
    """Population standard deviation of the runs' totals, as MM-Vet's authors print it."""


Matrix: TypeAlias = NDArray[np.float64]
"""A row a question, a column a run; NaN where there is no score."""
RESAMPLES = 2000
SEED = 20231
"""Each line draws anew from this seed, so that a line does not depend on the ones beside it."""


def table(name: str, groups: Mapping[str, Sequence[Row]], rows: Sequence[Row], runs: int) -> ScoreTable:
    """Return a table with a line for each group of rows and the total of all rows last."""
    whole = scores(rows, runs)
    totals = _run_means(whole, np.ones((1, len(rows))))[0]
    known = totals[~np.isnan(totals)]
    return ScoreTable(
        name=name,
        lines=(*(line(group, scores(chosen, runs)) for group, chosen in groups.items()), line("total", whole)),
        run_totals=tuple(_known(total) for total in totals),
        spread=float(known.std()) if known.size else None,
    )


def scores(rows: Iterable[Row], runs: int) -> Matrix:
    """Return the scores of rows; a grade that is not there is NaN, as one without a score."""
    found = [{grade.run: grade.score for grade in row.grades if grade.score is not None} for row in rows]
    return np.array([[given.get(run, np.nan) for run in range(runs)] for given in found]).reshape(len(found), runs)


def line(name: str, values: Matrix) -> ScoreLine:
    """Return the line of a group: the mean of each run over its scored questions, then the mean over runs."""
    questions = len(values)
    once = np.ones((1, questions))
    unscored = np.isnan(values)
    low, high = _interval(values)
    return ScoreLine(
        name=name,
        n=questions,
        unscored=int(unscored.sum()),
        mean=_known(_mean(_run_means(values, once))[0]),
        low=low,
        high=high,
        worst=float(_mean(_run_means(np.where(unscored, 0.0, values), once))[0]),
        best=float(_mean(_run_means(np.where(unscored, 1.0, values), once))[0]),
    )


def _run_means(values: Matrix, weights: Matrix) -> Matrix:
    """Return, for each row of weights over questions, the mean of every run times 100.

    One question is added after the other, as MM-Vet's script adds them: its totals come out to the last bit.
    """
    scored = ~np.isnan(values)
    if len(weights) == 1 and len(values):
        sums = np.cumsum(np.where(scored, values, 0.0), axis=0)[-1:] + 0.0
    else:
        sums = weights @ np.where(scored, values, 0.0)
    counts = weights @ scored
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0) * 100


def _mean(run_means: Matrix) -> Matrix:
    """Return the mean over the runs that have one; NaN where none has."""
    known = ~np.isnan(run_means)
    if known.all():
        return run_means.mean(axis=1)
    sums, counts = np.where(known, run_means, 0.0).sum(axis=1), known.sum(axis=1)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _interval(values: Matrix) -> tuple[float | None, float | None]:
    """Return the 95% percentile interval of the mean when the questions are drawn anew; none from fewer than two."""
    questions = len(values)
    if (~np.isnan(values)).any(axis=1).sum() < 2:
        return None, None
    drawn = np.random.default_rng(SEED).multinomial(questions, np.full(questions, 1 / questions), RESAMPLES)
    low, high = np.nanpercentile(_mean(_run_means(values, drawn.astype(float))), [2.5, 97.5])
    return float(low), float(high)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def missing_notice(report: Report) -> str:
    """Return how many questions have no prediction, and the first of them."""
    shown = ", ".join(report.missing[:20]) + (", ... (all are in the file -missing.csv)" if report.missing[20:] else "")
    return f"{len(report.missing):,} of {len(report.rows):,} questions have no prediction: {shown}"


def missing_csv(report: Report) -> bytes:
    """Return the questions without a prediction, safe in Excel."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["id", "groups", "question"])
    for question in (row.question for row in report.rows if row.prediction is None):
        writer.writerow(map(safe_cell, (question.id, " ".join(question.groups), question.text)))
    return out.getvalue().encode("utf-8-sig", "replace")


def bounds(line: ScoreLine, runs: int = 1) -> str:
    """Return how much of a line is unscored, with the means of the worst and best case; "" where nothing is."""
    if not line.unscored:
        return ""
    return f"{line.unscored:,} of {line.n * runs:,} unscored: {line.worst:.1f} to {line.best:.1f}"


def lines_csv(tables: Iterable[tuple[str, Iterable[ScoreLine]]]) -> bytes:
    """Return the lines of named tables with what is unscored, the interval, and the worst and best case."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["table", "name", "n", "unscored", "mean", "low", "high", "worst", "best"])
    for name, lines in tables:
        for line in lines:
            means = (line.mean, line.low, line.high, line.worst, line.best)
            cells = ("" if mean is None else repr(mean) for mean in means)
            writer.writerow([safe_cell(name), safe_cell(line.name), line.n, line.unscored, *cells])
    return out.getvalue().encode("utf-8-sig", "replace")


def report_json(report: Report) -> str:
    """Return the whole report as JSON text, from which `read_report` makes the same report."""
    return record_json(report)


def read_report(text: str) -> Report:
    """Return the report of a `report_json` text. Raises ReportError."""
    return read_record(Report, text)


_NOT_IN_A_NAME = re.compile(r"[^\w.+@ -]|^\.+")


def file_stem(file: str) -> str:
    """Return how the downloads of an uploaded file are called, before their endings."""
    return _NOT_IN_A_NAME.sub("_", Path(file).stem)[:100] or "_"


def audit(report: Report) -> bytes:
    """Return a lossless JSONL: the report without its rows on the first line, then a line for each row.

    ASCII only: what a judge replied may hold what UTF-8 does not.
    """
    head = asdict(replace(report, rows=()))
    return "".join(json.dumps(line) + "\n" for line in (head, *map(asdict, report.rows))).encode("ascii")


def safe_csv(report: Report) -> bytes:
    """Return a line for each question that a spreadsheet shows as text: no cell can become a formula.

    A cell that a program could run begins with an apostrophe, and one longer than Excel holds is cut with a mark; the
    JSONL is the lossless one.
    """
    runs = range(report.runs)
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    columns = ("id", "groups", "question", "truth", "prediction", *(f"score_{run + 1}" for run in runs))
    writer.writerow([*columns, "flags", "reasons", "replies"])
    for row, given in zip(report.rows, scores(report.rows, report.runs), strict=True):
        question, grades = row.question, row.grades
        flags = [*row.flags, *(flag for grade in grades for flag in grade.flags)]
        writer.writerow(
            [
                *map(safe_cell, (question.id, " ".join(question.groups), question.text, question.truth)),
                safe_cell("" if row.prediction is None else row.prediction),
                *("" if np.isnan(score) else f"{score:g}" for score in given),
                safe_cell("; ".join(dict.fromkeys(flags))),
                safe_cell("; ".join(dict.fromkeys(grade.reason for grade in grades if grade.reason))),
                safe_cell(" / ".join(reply for grade in grades for reply in grade.replies)),
            ]
        )
    return out.getvalue().encode("utf-8-sig", "replace")


CELL_LIMIT = 32_767
"""Characters that Excel keeps in a cell."""
_CUT = " [cut: the JSONL has it whole]"
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_FORMULA = re.compile(r"[\s\ufeff\u200b]*[=+\-@＝＋－＠]|[\t\n]")


def safe_cell(text: str) -> str:
    """Return a text that a spreadsheet shows and never runs, as `safe_csv` writes it."""
    clean = _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    safe = f"'{clean}" if _FORMULA.match(clean) else clean
    return safe if len(safe) <= CELL_LIMIT else safe[: CELL_LIMIT - len(_CUT)] + _CUT
