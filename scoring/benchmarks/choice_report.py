"""Multiple-choice and VQA reports: a file's extracted letters or marks, from which every table is computed.

Rules alone make a report at once. `judge_draft` turns it into a draft with the judge's stamp.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, TypeVar, get_args, overload

from scoring.benchmarks import mmbench, mmt_bench
from scoring.benchmarks import vqa as vqa_marks
from scoring.benchmarks.vqa import Dataset, MarkProtocol, VQAnswer
from scoring.judges.spec import JudgeSpec
from scoring.multiple_choice import extract as multiple_choice
from scoring.multiple_choice.metrics import Comparison
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import Answered, ChoiceQuestion, Decided, Protocol, Rule
from scoring.report import Grade, JudgeStamp, ScoreLine, safe_cell

ChoiceBenchmark = Literal["mmbench", "mmt-bench"]
ChoiceTables: TypeAlias = mmbench.MMBenchReport | mmt_bench.MMTBenchReport


class ComparisonError(ValueError):
    """Two reports cannot be compared; the message says why."""


@dataclass(frozen=True)
class ChoiceReport:
    """A file of multiple-choice answers with the extracted letters."""

    benchmark: ChoiceBenchmark
    protocol: Protocol
    title: str
    """The model's name as its owner gave it."""
    file: str
    """Name of the uploaded file."""
    created: str
    """ISO time of creation, UTC."""
    judge: JudgeStamp | None
    """The judge that read what rules left open; None if there was none."""
    rows: tuple[Decided, ...]
    problems: tuple[Problem, ...]
    """What the owner should know about the file."""
    missing: tuple[ChoiceQuestion, ...] | None = None
    """Rows of the question file without an answer; None if no question file was given."""

    @property
    def left(self) -> int:
        """Number of answers that rules leave to a judge."""
        return sum(row.decision.open for row in self.rows)


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

    @property
    def left(self) -> int:
        """Number of answers still to be marked."""
        return len(self.unmarked)

    @property
    def unmarked(self) -> tuple[VQAnswer, ...]:
        """Answers with references that a judge may mark and none was asked about."""
        marked = {grade.question for grade in self.grades}
        return tuple(row for row in self.gradable if row.answers and row.id not in marked)

    @property
    def gradable(self) -> tuple[VQAnswer, ...]:
        """The rows; none if every prediction is blank."""
        return self.rows if any(row.prediction.strip() for row in self.rows) else ()


R = TypeVar("R", bound=ChoiceReport | MarksReport)


class Compared(NamedTuple):
    """Two models on the same questions."""

    over: str
    """Description of these questions."""
    lines: tuple[Comparison, ...]


def decided(rows: Iterable[Answered], protocol: Protocol) -> tuple[Decided, ...]:
    """The letters that a protocol's rules alone read."""
    extract = multiple_choice.extract
    return tuple(
        Decided(row.question, row.prediction, extract(row.prediction, row.question.options, protocol)) for row in rows
    )


def under_protocol(report: ChoiceReport, protocol: Protocol) -> ChoiceReport:
    """The same file under another protocol, by its rules alone."""
    rows = decided((Answered(row.question, row.prediction) for row in report.rows), protocol)
    return replace(report, protocol=protocol, judge=None, rows=rows)


def judge_draft(report: R, spec: JudgeSpec, address: str) -> R:
    """The report as a draft for a judge; `address` is the judge's public address."""
    if isinstance(report, MarksReport):
        prompt = vqa_marks.prompt_digest(report.benchmark)
        return replace(report, judge=JudgeStamp(spec.model, (), address, prompt, vqa_marks.PARSER))
    used = {multiple_choice.language(row.question) for row in report.rows if row.decision.open}
    languages = [language for language in get_args(multiple_choice.Language) if language in used]
    prompts = ", ".join(f"{language} {multiple_choice.prompt_digest(language)}" for language in languages)
    return replace(report, judge=JudgeStamp(spec.model, (), address, prompts, multiple_choice.PARSER))


@overload
def tabulated(report: ChoiceReport) -> ChoiceTables: ...


@overload
def tabulated(report: MarksReport) -> vqa_marks.VQAReport: ...


def tabulated(report: ChoiceReport | MarksReport) -> ChoiceTables | vqa_marks.VQAReport:
    """The tables of a report; if no answer could be read, what a protocol assigns scores nothing."""
    if isinstance(report, MarksReport):
        return vqa_marks.tabulate(report.gradable, report.grades, report.benchmark)
    if report.rows and not any(map(_is_read, report.rows)):
        rows = tuple(replace(row, decision=replace(row.decision, letter=None)) for row in report.rows)
        report = replace(report, protocol="strict", rows=rows)
    if report.benchmark == "mmt-bench":
        return mmt_bench.tabulate(report.rows, report.protocol, report.missing, report.file)
    return mmbench.tabulate(report.rows, report.protocol, report.missing, report.file)


def ungraded(report: ChoiceReport | MarksReport) -> str:
    """A sentence saying that nothing was graded, and why; "" if anything was, or if there is nothing to grade."""
    if isinstance(report, MarksReport):
        return _unmarked(report)
    known = [row for row in report.rows if row.question.answer is not None]
    if known and not any(map(_is_read, known)):
        return (
            f"Nothing was graded: none of {len(known):,} answers could be read as an option ({known[0].decision.rule})"
        )
    tables = tabulated(report)
    if known and isinstance(tables, mmbench.MMBenchReport):
        scores = tables.splits[-1]
        if (scores.circular or scores.vanilla).line.mean is None:
            return "Nothing was graded: the file has no base row that can be read, and no question has all its passes"
    return ""


def _is_read(row: Decided) -> bool:
    return row.decision.letter is not None and row.decision.step != "fallback" and row.decision.rule is not Rule.EMPTY


def _unmarked(report: MarksReport) -> str:
    if not any(row.answers for row in report.rows):
        return f"Nothing was graded: none of {len(report.rows):,} questions has a reference answer"
    if not report.gradable:
        return f"Nothing was graded: all {len(report.rows):,} predictions are blank"
    if report.judge and report.grades and all(grade.score is None for grade in report.grades):
        return f"Nothing was graded: the judge gave none of {len(report.grades):,} marks ({report.grades[0].reason})"
    return ""


def score_lines(report: ChoiceReport | MarksReport) -> Iterator[tuple[str, list[ScoreLine]]]:
    """Every table of a report, with its name."""
    tables = tabulated(report)
    if isinstance(tables, vqa_marks.VQAReport):
        marks = tables.marks
        mean = ScoreLine(
            "mean mark", marks.n, marks.unscored, marks.mean, marks.low, marks.high, marks.worst, marks.best
        )
        yield tables.dataset, [tables.exact, tables.consensus, *([mean] if report.judge else [])]
    elif isinstance(tables, mmbench.MMBenchReport):
        for scores in tables.splits:
            for name, tree in (("circular", scores.circular), ("vanilla", scores.vanilla)):
                if tree is not None:
                    yield f"{scores.split or '(no split)'}: {name}", [node.line for node in tree.walk()]
    else:
        for scores in tables.splits:
            overall = scores.overall
            lines = [overall.subtasks, overall.samples, overall.star]
            yield scores.split, [*lines, *(node.line for node in scores.tree.walk() if node.level != "overall")]
            yield f"{scores.split}: image types", list(scores.image_types)
            yield f"{scores.split}: capabilities", list(scores.capabilities)


def accuracy_csv(report: ChoiceReport) -> bytes:
    """Accuracies in the public toolkit's layout."""
    tables = tabulated(report)
    if isinstance(tables, mmt_bench.MMTBenchReport):
        return mmt_bench.accuracy_csv(tables)
    return mmbench.accuracy_csv(tables)


def comparisons(first: ChoiceReport, second: ChoiceReport) -> tuple[Compared, ...]:
    """McNemar's comparison of two models, or of a model with single and with several images, by ability.

    MMBench is compared over base rows, and over whole questions if both files are circular. Raises ComparisonError.
    """
    if (first.benchmark, first.protocol) != (second.benchmark, second.protocol):
        raise ComparisonError(
            f"{first.title!r} is {first.benchmark} under {first.protocol}, {second.title!r} is {second.benchmark} "
            f"under {second.protocol}; choose two reports of one benchmark and one protocol"
        )
    _check_same_questions(first.rows, second.rows)
    pair = (first.rows, second.rows)
    if first.benchmark == "mmt-bench":
        several = mmt_bench.image_comparison(*pair)
        found = [
            Compared("all questions", mmt_bench.comparison(*pair)),
            Compared("subtasks that take several images", several),
        ]
    else:
        whole = all(
            isinstance(one, mmbench.MMBenchReport) and one.splits[-1].circular
            for one in map(tabulated, (first, second))
        )
        found = [Compared("base rows", mmbench.comparison(*pair, circular=False))]
        found += [Compared("whole questions", mmbench.comparison(*pair, circular=True))] if whole else []
    return tuple(found)


def comparison_csv(found: Iterable[Compared]) -> bytes:
    """Comparisons as a table, one line per ability, with McNemar's exact p."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["over", "name", "both", "first only", "second only", "neither", "p"])
    for compared in found:
        for one in compared.lines:
            counts = (one.both, one.first_only, one.second_only, one.neither)
            writer.writerow([compared.over, safe_cell(one.name), *counts, repr(one.p)])
    return out.getvalue().encode("utf-8-sig", "replace")


def _check_same_questions(first: Sequence[Decided], second: Sequence[Decided]) -> None:
    answers = {row.question.index: row.question.answer for row in first}
    shared = [row.question for row in second if row.question.index in answers and row.question.answer]
    other = [question.index for question in shared if question.answer != answers[question.index]]
    if not shared:
        raise ComparisonError("the files share no question with an answer; choose two files of one question set")
    if other:
        raise ComparisonError(
            f"index {other[0]} and {len(other) - 1} others have another answer in each file; "
            "choose two files of one question set"
        )
