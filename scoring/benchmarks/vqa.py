"""VQA marks (MMBench, Table 3): a judge's marks from 1 to 5 for answers of GQA, OK-VQA and TextVQA, and VQA accuracy.

The paper asks a judge how well an answer fits (appendix A). A reply that is no mark leaves the answer unscored.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from pydantic import StrictInt

from arena.interval_text import interval_text
from arena.io.tables import Record
from arena.sheets import Sheet
from arena.templates import plural
from arena.types import grouped
from scoring.benchmarks.article import (
    Caveat,
    PublishedBoard,
    PublishedRow,
    ScoredAnswer,
    Total,
    score_total,
)
from scoring.benchmarks.base import (
    AnswerLook,
    FileBenchmark,
    LazyFiles,
    OpenedFile,
    Workflow,
    read_table,
)
from scoring.benchmarks.vqa_answers import (
    PREDICTIONS,
    Dataset,
    VQAnswer,
    VQAQuestion,
    picture_of,
    read_answers,
    read_references,
    recognised,
    told_pictures,
)
from scoring.benchmarks.vqa_sheets import mark_counts_sheet, mean_mark_sheet
from scoring.intervals import Ends, mean_ends, possible
from scoring.judges.replies import Scale, read_score, shown
from scoring.judges.run import Task
from scoring.judges.spec import Grading, JudgeSpec, closed_schema, prompt_text
from scoring.multiple_choice.downloads import problems_csv
from scoring.multiple_choice.extract import asked, closed_ask
from scoring.multiple_choice.metrics import share
from scoring.multiple_choice.reader import Problem, ReadFile, has_options
from scoring.no_answers import NO_ANSWER, fate, named
from scoring.report import (
    Grade,
    JudgeStamp,
    ScoreLine,
    csv_bytes,
    file_stem,
    line,
    mostly_unread,
    remembered,
)
from scoring.rules.short_answers import unwrapped
from scoring.rules.vqa_accuracy import consensus, normal
from scoring.score_sheets import line_sheet, no_answer_sheet, sheet_files

MarkProtocol = Literal["strict", "mmbench-paper"]
"""mmbench-paper sends the paper's prompt; strict, ours, sends the answer on one line, so that it cannot mark itself."""

MARKS = (1, 2, 3, 4, 5)
SCALE = Scale(MARKS[0], MARKS[-1], step=1)
SCALE_ENDS = Ends(MARKS[0], MARKS[-1])
PARSERS: Mapping[MarkProtocol, str] = {"strict": "judge mark 1", "mmbench-paper": "closed mark 1"}
"""Name and version of each protocol's parser of the judge's replies."""
_SEVERAL = prompt_text("vqa_marks_lists.txt")
PROMPTS: Mapping[Dataset, str] = {
    "GQA": prompt_text("vqa_marks_gqa.txt"),
    "OK-VQA": _SEVERAL,
    "TextVQA": _SEVERAL,
}
_SCHEMA = closed_schema("mark", "integer", MARKS)
_MARK = re.compile(
    r"[\s\"'`*]*+(?:(?:your )?mark\s*+(?:is|:)?\s*+[\"'`*]*+)?([1-5])(?:\.0)?[\"'`*.\s]*+"
    r"|\s*(?:```(?:json)?\s*)?\{\s*\"mark\"\s*:\s*([1-5])\s*\}(?:\s*```)?\s*",
    re.IGNORECASE | re.ASCII,
)
_PUBLISHED_ANSWERS = 1000
_SHOWN = 20
_WRAPPERS = 3
"""Kinds of wrappers that a sentence names."""


@dataclass(frozen=True)
class MarksReport:
    """A file of VQA answers with a judge's marks; it has none until a judge is asked."""

    benchmark: Dataset
    protocol: MarkProtocol
    title: str
    file: str
    created: str
    judge: JudgeStamp | None
    rows: tuple[VQAnswer, ...]
    grades: tuple[Grade, ...]
    problems: tuple[Problem, ...]
    missing: StrictInt = 0
    """Number of the question file's questions without an answer; 0 too if there is no question file."""

    @property
    def left(self) -> int:
        return len(self.unmarked)

    @property
    def unmarked(self) -> tuple[VQAnswer, ...]:
        """Answers with references that a judge may mark and none was asked about."""
        marked = {grade.question for grade in self.grades}
        return tuple(row for row in self.gradable if row.answers and row.id not in marked)

    @property
    def gradable(self) -> tuple[VQAnswer, ...]:
        """The rows that a judge may mark; none if every prediction is blank."""
        if not any(row.prediction.strip() for row in self.rows):
            return ()
        return tuple(row for row in self.rows if self.is_scored(row))

    def is_scored(self, row: VQAnswer) -> bool:
        """Whether a row counts: an answer, or under the paper's protocol whatever the file holds."""
        return self.protocol != "strict" or not row.no_answer


@dataclass(frozen=True)
class Marks(ScoreLine):
    """Mean of the judge's marks, from 1 to 5, with its 95% interval."""

    times: Mapping[int, int] = field(default_factory=dict)
    """Number of times each mark was given."""


@dataclass(frozen=True)
class VQAReport:
    """Table 3's figures for a model on one dataset."""

    dataset: Dataset
    exact: ScoreLine
    """Share of answers equal to one of the references."""
    consensus: ScoreLine
    """VQA accuracy: an answer counts min(1, matching others / 3), averaged over references; with one, equality."""
    marks: Marks


@dataclass(frozen=True)
class PublishedMark:
    """A pair of cells in Table 3."""

    dataset: str
    model: str
    accuracy: float
    mark: float


def grading(row: VQAnswer, dataset: Dataset, protocol: MarkProtocol, spec: JudgeSpec) -> Grading:
    """Mark one answer from 1 to 5; the grade's score is the mark."""
    if not row.answers:
        return Grade(row.id, 0, None, "the question has no reference answer")
    schema = _SCHEMA if spec.json_schema else None
    answer = row.answers[0] if dataset == "GQA" else list(dict.fromkeys(row.answers))
    texts = {"question": row.text, "answer": answer}
    said = compared_text(row, protocol)
    ask = closed_ask(PROMPTS[dataset], said, protocol == "strict", schema, **texts)
    read = read_strict if protocol == "strict" else read_mark
    mark, replies, model, finish = yield from asked(ask, read)
    if mark is not None:
        return Grade(row.id, 0, float(mark), "", (), replies, model)
    last = shown(replies[-1], finish)
    reason = (
        f"none of the judge's {len(replies)} replies is a mark from 1 to 5; the last ended {last}"
    )
    return Grade(row.id, 0, None, reason, (), replies, model)


def read_strict(text: str, finish: str = "stop") -> float | None:
    """The mark that a reply gives, however it is wrapped; else None."""
    return read_score(text, SCALE, finish)


def read_mark(text: str, finish: str = "stop") -> float | None:
    """The mark that is the judge's whole reply; None for anything else."""
    found = _MARK.fullmatch(text)
    return float(found[1] or found[2]) if found and finish != "content_filter" else None


def prompt_digest(dataset: Dataset) -> str:
    """sha256 of a dataset's prompt; every report names it."""
    return hashlib.sha256(PROMPTS[dataset].encode()).hexdigest()


def exact(row: VQAnswer, protocol: MarkProtocol) -> bool:
    return normal(compared_text(row, protocol)) in map(normal, row.answers)


def compared_text(row: VQAnswer, protocol: MarkProtocol) -> str:
    """The text that is compared with the references: in *strict* without what is wrapped around the answer."""
    return unwrapped(row.prediction).text if protocol == "strict" else row.prediction


@remembered
def wrapped_rows(report: MarksReport) -> Mapping[str, tuple[str, ...]]:
    """What is wrapped around answers, by the ids of those that have any."""
    found = {row.id: unwrapped(row.prediction).cuts for row in report.rows if not row.no_answer}
    return {id: cuts for id, cuts in found.items() if cuts}


def unread(report: MarksReport) -> str:
    """A sentence saying that the judge's replies could not be read for most marks; "" if they could."""
    judged = [grade for grade in report.grades if grade.replies]
    missed = sum(grade.score is None for grade in judged)
    return mostly_unread(missed, len(judged), "mark")


@remembered
def tabulated(report: MarksReport) -> VQAReport:
    """The figures of a report, without a mean mark if most of the judge's replies could not be read."""
    grades = report.grades
    if unread(report):
        grades = tuple(replace(grade, score=None) for grade in grades)
    failed = sum(bool(row.answers) and not report.is_scored(row) for row in report.rows)
    rows = report.gradable
    missing = report.missing + (failed if rows else 0)
    return tabulate(rows, grades, report.benchmark, missing, report.protocol)


def tabulate(
    rows: Sequence[VQAnswer],
    grades: Sequence[Grade],
    dataset: Dataset,
    missing: int = 0,
    protocol: MarkProtocol = "strict",
) -> VQAReport:
    """Exact match, VQA accuracy and the mean mark; rows without references are left out, `missing` ones unscored."""
    known = [row for row in rows if row.answers]
    pictures = [picture_of(row, dataset) for row in known]
    same = [exact(row, protocol) for row in known]
    equal = share("exact match", same, missing=missing, pictures=pictures)
    accuracies = [consensus(compared_text(row, protocol), row.answers) for row in known]
    soft = np.array([*accuracies, *[math.nan] * missing]).reshape(-1, 1)
    marked = {grade.question: grade.score for grade in grades}
    scores = [*(marked.get(row.id) for row in known), *[None] * missing]
    of_all = [*pictures, *[""] * missing]
    return VQAReport(dataset, equal, line("VQA accuracy", soft, of_all), _marks(scores, of_all))


def _marks(scores: Sequence[float | None], pictures: Sequence[str]) -> Marks:
    known = [score for score in scores if score is not None]
    times = Counter(map(round, known))
    unmarked = len(scores) - len(known)
    worst, best = (
        (math.fsum(known) + unmarked * mark) / max(1, len(scores)) for mark in SCALE_ENDS
    )
    marks = np.array([math.nan if score is None else score for score in scores]).reshape(-1, 1)
    ends = mean_ends(marks, pictures, SCALE_ENDS, SCALE_ENDS)
    low, high = possible(ends, worst, best, SCALE_ENDS) if ends else (None, None)
    return Marks(
        name="mean mark",
        n=len(scores),
        unscored=unmarked,
        mean=math.fsum(known) / len(known) if known else None,
        low=low,
        high=high,
        worst=worst,
        best=best,
        times={mark: times[mark] for mark in MARKS},
    )


@cache
def published() -> tuple[PublishedMark, ...]:
    """Table 3, in its order."""
    return read_table(PublishedMark, "vqa_marks_published.csv")


@dataclass(frozen=True, kw_only=True)
class VQAMarks(FileBenchmark[MarksReport]):
    """A data set of VQA answers with marks from 1 to 5; `key` is its name."""

    key: Dataset
    report: type[MarksReport] = MarksReport
    way: Workflow = "rules first"
    protocols: Mapping[str, str] = field(
        default_factory=lambda: {"Strict (ours)": "strict", "MMBench's paper": "mmbench-paper"}
    )
    check: str = "Compare with the references (free)"
    unit: str = "mark"
    rest: str = "Have a judge give {left}"
    protocol_papers: Mapping[str, str] = field(
        default_factory=lambda: {"mmbench-paper": "liu2024mmbench"}
    )
    notes: Mapping[str, str] = field(
        default_factory=lambda: {
            "strict": "Strict protocol (ours): answers are compared without reasoning, tags, boxes or "
            '"The answer is", and sent on one line, so that they cannot write their own marks',
            "mmbench-paper": "MMBench's protocol: answers are compared, and sent in the paper's prompt, as they are",
        }
    )

    def fits(self, first: Record) -> bool:
        """Whether it is a question with reference answers and a prediction, and neither options' nor MM-Vet's."""
        names = {name.strip().lower(): name for name in first.values}
        id = str(first.values.get(names.get("index", names.get("question_id", "")), ""))
        mm_vet = "capability" in names or id.startswith(("v1_", "v2_"))
        answers = {"answer", "answers"} & names.keys() and names.keys() & {*PREDICTIONS}
        return "question" in names and bool(answers) and not mm_vet and not has_options(first)

    def read(
        self, rows: Iterable[Record], questions: Mapping[str, VQAQuestion] | None
    ) -> ReadFile[VQAnswer]:
        return read_answers(rows, questions)

    def own_questions(self, path: Path) -> Mapping[str, VQAQuestion]:
        return read_references(path)

    def recognises(self, rows: Sequence[VQAnswer], file: str) -> bool:
        return recognised(rows, file) == self.key

    def lines(self, file: ReadFile[VQAnswer]) -> tuple[str, ...]:
        known = sum(bool(row.answers) for row in file.rows)
        return (f"{self.key}: {plural(len(file.rows), 'answer')}, {known:,} with references",)

    def no_answers(self, file: ReadFile[VQAnswer]) -> Mapping[str, str]:
        return {row.id: row.no_answer for row in file.rows}

    def told_no_answers(self, report: MarksReport) -> tuple[str, ...]:
        reasons = {row.id: row.no_answer for row in report.rows}
        return named(reasons, len(report.rows), fate(report.protocol))

    def remarks(self, report: MarksReport) -> tuple[str, ...]:
        """How many answers have something wrapped around them, what, and whether it was taken off."""
        found = wrapped_rows(report)
        if not found:
            return ()
        times = Counter(cut for cuts in found.values() for cut in cuts)
        most = ", ".join(name for name, _ in times.most_common(_WRAPPERS))
        around = "has reasoning, tags, boxes or words around it"
        compared = "Compared without it." if report.protocol == "strict" else "Compared as it is."
        if len(found) != 1:
            around = "have reasoning, tags, boxes or words around them"
            compared = (
                "Compared without them." if report.protocol == "strict" else "Compared as they are."
            )
        counted = f"{len(found):,} of {len(report.rows):,} answers {around} ({most})"
        return (f"{counted}. {compared}",)

    def look(self, row: VQAnswer) -> AnswerLook:
        return AnswerLook(row.id, row.text, row.prediction, ", ".join(dict.fromkeys(row.answers)))

    def reported(self, opened: OpenedFile, head: Mapping[str, Any]) -> MarksReport:
        rows = opened.file.rows
        problems = (*opened.file.problems, *told_pictures(rows, self.key))
        missing = len((opened.questions or {}).keys() - {row.id for row in rows})
        return MarksReport(**head, rows=rows, grades=(), problems=problems, missing=missing)

    def stamped(self, report: MarksReport, spec: JudgeSpec, address: str) -> MarksReport:
        return replace(
            report,
            judge=JudgeStamp(
                spec.model, (), address, prompt_digest(self.key), PARSERS[report.protocol]
            ),
        )

    def tasks(self, report: MarksReport, spec: JudgeSpec) -> Sequence[Task[Grade]]:
        return [
            Task(
                0,
                partial(grading, row, self.key, report.protocol, spec),
                partial(Grade, row.id, 0, None),
                name=row.id,
                is_read=lambda grade: grade.score is not None,
            )
            for row in report.unmarked
        ]

    def graded(self, report: MarksReport, outcomes: Sequence[Grade]) -> MarksReport:
        judge = report.judge and report.judge.answered(grade.model for grade in outcomes)
        return replace(report, judge=judge, grades=(*report.grades, *outcomes))

    def ungraded(self, report: MarksReport) -> str:
        why = ""
        if not any(row.answers for row in report.rows):
            why = f"none of {len(report.rows):,} questions has a reference answer"
        elif not report.gradable:
            reasons = Counter(row.no_answer for row in report.rows)
            (reason, _), *_ = reasons.most_common(1)
            why = f"none of {len(report.rows):,} predictions is an answer of a model ({reason})"
        elif report.judge and report.grades and all(grade.score is None for grade in report.grades):
            why = f"the judge gave none of {len(report.grades):,} marks ({report.grades[0].reason})"
        return f"Nothing was graded: {why}" if why else unread(report)

    def scores(self, report: MarksReport) -> Sequence[ScoreLine]:
        found = tabulated(report)
        return (found.exact, found.consensus)

    def sheets(self, report: MarksReport) -> Sequence[Sheet]:
        found = tabulated(report)
        sheets = [line_sheet("scores", self.key, self.scores(report), "Score")]
        if found.marks.mean is not None:
            sheets += [mean_mark_sheet(found.marks), mark_counts_sheet(found.marks.times)]
        reasons = grouped((row.no_answer, row) for row in report.rows if row.no_answer)
        if reasons:
            lines = [self._no_answer_line(report, reason, rows) for reason, rows in reasons.items()]
            sheets.append(no_answer_sheet(lines))
        return sheets

    def totals(self, report: MarksReport) -> Sequence[Total]:
        found = tabulated(report)
        marks = found.marks
        value = "–" if marks.mean is None else f"{marks.mean:.2f}"
        notes = (
            interval_text(marks.low, marks.high, ".2f"),
            f"{marks.n - marks.unscored:,} of {marks.n:,} marked",
        )
        return (
            score_total("Exact match", found.exact),
            score_total("VQA accuracy", found.consensus),
            Total("Mean mark, 1 to 5", value, notes),
        )

    def _no_answer_line(
        self, report: MarksReport, reason: str, rows: Sequence[VQAnswer]
    ) -> ScoreLine:
        """Predictions of one reason: unscored in *strict*, compared as they are under the paper's protocol."""
        same = (
            exact(row, report.protocol) if report.is_scored(row) and row.answers else None
            for row in rows
        )
        return share(reason, same, pictures=[picture_of(row, self.key) for row in rows])

    def edition(self, report: MarksReport) -> str:
        return self.key

    def groups(self, report: MarksReport) -> Sequence[ScoreLine]:
        return ()

    def caveats(self, report: MarksReport) -> Sequence[Caveat]:
        marks = tabulated(report).marks
        caveats = [*super().caveats(report)]
        caveats += [
            Caveat("Partial", problem.text)
            for problem in report.problems
            if problem.blocks == "whole"
        ]
        lead = "Partial" if report.protocol == "strict" else ""
        caveats += [Caveat(lead, text) for text in self.told_no_answers(report)]
        if report.protocol != "strict":
            caveats += [Caveat("", text) for text in self.remarks(report)]
        if report.judge and marks.unscored:
            between = f"over all {marks.n:,} lies between {marks.worst:.2f} and {marks.best:.2f}"
            caveats.append(
                Caveat(
                    "",
                    f"{plural(marks.unscored, 'answer')} without a mark left out of the mean, which {between}",
                )
            )
        return caveats

    def checks(self, report: MarksReport) -> Sequence[str]:
        return self.remarks(report) if report.protocol == "strict" else ()

    def published(self, report: MarksReport) -> PublishedBoard | None:
        """MMBench's Table 3, of so many answers; none for fewer, or for a part of the questions."""
        found = tabulated(report)
        partial = any(problem.blocks == "whole" for problem in report.problems)
        if partial or found.exact.n - found.exact.unscored < _PUBLISHED_ANSWERS:
            return None
        columns = ("Exact match", "Mean mark")
        rows = [row for row in published() if row.dataset == self.key]
        shown = tuple(
            PublishedRow(row.model, dict(zip(columns, (row.accuracy, row.mark), strict=True)))
            for row in rows
        )
        own: dict[str, float | None] = {
            "Exact match": found.exact.mean,
            "Mean mark": found.marks.mean,
        }
        reason = f"the table is of {_PUBLISHED_ANSWERS:,} random answers of each data set, marked by GPT-3.5"
        return PublishedBoard("MMBench's Table 3", columns, shown, own, (reason,))

    def scored_answers(self, report: MarksReport) -> Sequence[ScoredAnswer]:
        """Every answer by exact match."""
        marks = {grade.question: grade.score for grade in report.grades}
        found = []
        for row in report.rows if report.gradable else ():
            same = same_as_reference(report, row)
            mark = marks.get(row.id)
            words = outcome_words(report, row)
            told = f"{words}, mark {mark:.0f}" if mark is not None else words
            score = None if same is None else float(same)
            truth = ", ".join(dict.fromkeys(row.answers))
            found.append(
                ScoredAnswer(
                    row.id,
                    row.text,
                    truth,
                    row.prediction,
                    told,
                    score,
                    row=row.row,
                    picture=picture_of(row, self.key),
                )
            )
        return found

    def files(self, report: MarksReport) -> Mapping[str, bytes]:
        stem = f"{'partial_' if report.missing else ''}{file_stem(report.file)}"
        return LazyFiles(
            {
                f"{stem}_acc.csv": lambda: _marks_csv(tabulated(report)),
                f"{stem}-problems.csv": lambda: problems_csv(report.problems),
                f"{stem}-audit.jsonl": lambda: "".join(_marked_lines(report)).encode("ascii"),
                **sheet_files(stem, self.sheets(report)),
            }
        )


def same_as_reference(report: MarksReport, row: VQAnswer) -> bool | None:
    """Whether an answer equals a reference; None for one without references, and for what is no answer."""
    return exact(row, report.protocol) if row.answers and report.is_scored(row) else None


def outcome_words(report: MarksReport, row: VQAnswer) -> str:
    if not report.is_scored(row):
        return f"{NO_ANSWER}: {row.no_answer}"
    same = same_as_reference(report, row)
    return {True: "exact match", False: "no exact match", None: "no references"}[same]


def _marks_csv(table: VQAReport) -> bytes:
    """VQA accuracy under the public toolkit's heading, in percent as there, with our figures beside it."""
    means = (table.consensus.mean, table.exact.mean, table.marks.mean)
    cells = [
        *("" if mean is None else repr(mean) for mean in means),
        table.marks.n - table.marks.unscored,
    ]
    return csv_bytes(["Overall", "exact match", "mean mark", "marked"], [cells], "utf-8")


def _marked_lines(report: MarksReport) -> Iterator[str]:
    grades = {grade.question: grade for grade in report.grades}
    for row in report.rows:
        grade = grades.get(row.id)
        known = {
            "index": row.id,
            "question": row.text,
            "answers": row.answers,
            "prediction": row.prediction,
            "compared": compared_text(row, report.protocol),
            "taken off": unwrapped(row.prediction).cuts if report.protocol == "strict" else (),
            "no answer": row.no_answer,
            "exact": same_as_reference(report, row),
            "accuracy": _accuracy(report, row),
            "mark": grade.score if grade else None,
            "reason": _reason(report, row, grade),
            "replies": grade.replies if grade else (),
            "judge": grade.model if grade else "",
        }
        yield json.dumps(known) + "\n"


def _reason(report: MarksReport, row: VQAnswer, grade: Grade | None) -> str:
    """Why an answer has no mark, or what the judge's mark needs said; "" for an ordinary one."""
    if grade:
        return grade.reason
    return "not marked" if report.is_scored(row) else f"{NO_ANSWER}: {row.no_answer}"


def _accuracy(report: MarksReport, row: VQAnswer) -> float | None:
    if not row.answers or not report.is_scored(row):
        return None
    return consensus(compared_text(row, report.protocol), row.answers)


_CITED: Mapping[Dataset, str] = {
    "GQA": "hudson2019gqa",
    "OK-VQA": "marino2019okvqa",
    "TextVQA": "singh2019textvqa",
}
VQA = tuple(
    VQAMarks(key=dataset, name=f"{dataset}: marks 1 to 5", cited=_CITED[dataset])
    for dataset in get_args(Dataset)
)
