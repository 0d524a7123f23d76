"""Commands `score`, `mmbench`, `mmt-bench` and `vqa`: rules, and a judge for what they leave open; reports as text."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Argument, BadParameter, Context, Option, Typer

from arena.interval_text import BRACKETS, bracketed
from arena.io.tables import ANSWERS
from arena.settings import Settings
from arena.templates import plural
from scoring.benchmarks import mmbench, mmt_bench
from scoring.benchmarks import vqa as vqa_marks
from scoring.benchmarks.base import ChoicesError, OpenedFile
from scoring.benchmarks.choice import ChoiceReport, comparison_csv, told_no_answers
from scoring.benchmarks.vqa import Dataset, MarkProtocol, VQAMarks
from scoring.benchmarks.vqa_answers import read_references
from scoring.cli import progress
from scoring.multiple_choice.extract import SEED
from scoring.multiple_choice.metrics import (
    ChoiceTables,
    Compared,
    LetterCount,
    Level,
    Node,
    Success,
    picture_problems,
)
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import Protocol
from scoring.registry import BENCHMARKS, choice_benchmark, open_upload, question_file, unrecognised
from scoring.report import AnyReport, ScoreLine, bounds, file_stem

app = Typer(rich_markup_mode=None)
File = Annotated[Path, Argument(help="TSV, XLSX, CSV, JSON or JSONL")]
NoJudge = Annotated[bool, Option("--no-judge", help="rules alone")]


@app.command()
def score(
    file: File,
    out: progress.Out,
    benchmark: Annotated[
        str | None, Option(metavar="NAME", help="recognised from the file without")
    ] = None,
    protocol: Annotated[
        str | None, Option(metavar="NAME", help="the benchmark's first without")
    ] = None,
    judge: progress.JudgeModel = "",
    no_judge: NoJudge = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
    title: progress.Title = "",
) -> Iterator[str]:
    serving = _serving(judge, no_judge, base_url, batch, yes, budget)
    found = open_upload(file, ANSWERS, benchmark=benchmark)
    if found is None:
        raise unrecognised(file, "--benchmark")
    first, *_ = found.benchmark.protocols.values()
    report = yield from _judged(found, found.report(protocol or first, title), judge, serving)
    yield from progress.finished(report, report_lines(report), out, read=[file])


class _ByRules(NamedTuple):
    """A file, and the report that rules alone make of it."""

    opened: OpenedFile
    report: ChoiceReport


@app.command("mmbench")
@app.command("mmt-bench")
def score_choices(
    context: Context,
    file: File,
    out: progress.Out,
    protocol: Protocol = "strict",
    judge: progress.JudgeModel = "",
    no_judge: NoJudge = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
    title: progress.Title = "",
    questions: Annotated[
        Path | None, Option(metavar="FILE", help="the benchmark's own, for a file without options")
    ] = None,
    against: Annotated[
        Path | None, Option(metavar="FILE", help="another model's, compared by McNemar's test")
    ] = None,
) -> Iterator[str]:
    serving = _serving(judge, no_judge, base_url, batch, yes, budget)
    asked = question_file(questions) if questions else None

    def by_rules(path: Path, title: str) -> _ByRules:
        opened = open_upload(path, ANSWERS, benchmark=context.info_name, questions=asked)
        assert opened, "a benchmark that is given takes any file"
        return _ByRules(opened, opened.report(protocol, title))

    first = by_rules(file, title)
    second = by_rules(against, "") if against else None
    if second:
        # refuses other questions before a judge is paid
        choice_benchmark(first.report).comparisons(first.report, second.report)
    report = yield from _judged(first.opened, first.report, judge, serving)
    yield from progress.finished(report, report_lines(report), out, read=[file, questions, against])
    if second:
        other = yield from _judged(second.opened, second.report, judge, serving)
        found = choice_benchmark(report).comparisons(report, other)
        name = f"{file_stem(report.file)}-against-{file_stem(other.file)}.csv"
        progress.written({name: comparison_csv(found)}, out)
        yield from comparison_lines(report.title, other.title, found)
        yield f"\nThe comparison is in {out / name}."


@app.command("vqa")
def mark(
    file: File,
    out: progress.Out,
    protocol: MarkProtocol = "strict",
    judge: progress.JudgeModel = "",
    no_judge: NoJudge = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
    title: progress.Title = "",
    dataset: Annotated[Dataset | None, Option(help="recognised from the file without")] = None,
    questions: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="the dataset's own, for a file without answers; needs --dataset"
        ),
    ] = None,
) -> Iterator[str]:
    serving = _serving(judge, no_judge, base_url, batch, yes, budget)
    if questions and not dataset:
        raise BadParameter("--questions are those of a dataset; give --dataset as well")
    asked = read_references(questions) if questions else None
    found = open_upload(file, ANSWERS, benchmark=dataset, questions=asked)
    if found is None:
        raise unrecognised(file, "--dataset")
    if not isinstance(found.benchmark, VQAMarks):
        key = found.benchmark.key
        raise ChoicesError(
            f"{file.name}: expected the columns question, answer and prediction, found options as of {key}; "
            f"score it with python -m scoring {key}"
        )
    report = yield from _judged(found, found.report(protocol, title), judge, serving)
    yield from progress.finished(report, report_lines(report), out, read=[file, questions])


def _serving(
    judge: str, no_judge: bool, base_url: str | None, batch: bool, yes: bool, budget: float | None
) -> Callable[[], progress.CommandJudge] | None:
    """Return what reaches the judge for what rules leave open; None: rules alone."""
    if judge and no_judge:
        raise BadParameter("--no-judge leaves no work to --judge; give one of them")
    return (
        None
        if no_judge
        else lambda: progress.CommandJudge(Settings.from_env(), judge, base_url, batch, yes, budget)
    )


def _judged(
    found: OpenedFile, report: Any, judge: str, serving: Callable[[], progress.CommandJudge] | None
) -> progress.Lines[Any]:
    """Return a report by rules, with a judge for what they leave open if one is chosen."""
    yield from found.benchmark.lines(found.file)
    yield from _told_no_answers(report)
    yield from problem_lines(found.file.problems)
    if not report.left or serving is None:
        return report
    if not judge:
        raise ChoicesError(
            f"left to a judge: {report.left:,} of {plural(len(report.rows), 'answer')}; choose --judge MODEL to have "
            "that read, or --no-judge for rules alone"
        )
    asked = serving()
    spec = yield from asked.spec()
    answers = plural(len(report.rows), "answer")
    yield f"{found.name}: {report.left:,} of {answers} for the judge, {report.protocol} protocol."
    return (
        yield from asked.judged(found.benchmark.stamped(report, spec, asked.address.shown), spec)
    )


def _told_no_answers(report: AnyReport) -> tuple[str, ...]:
    if isinstance(report, vqa_marks.MarksReport):
        return vqa_marks.told_no_answers(report)
    return told_no_answers(report) if isinstance(report, ChoiceReport) else ()


_SHOWN = 20
_WIDTH = 68
_DEPTH: dict[Level, int] = {
    "overall": 0,
    "L-1": 1,
    "L-2": 2,
    "L-3": 3,
    "meta-task": 1,
    "subtask": 2,
}


def report_lines(report: AnyReport) -> Iterator[str]:
    yield BRACKETS
    if isinstance(report, vqa_marks.MarksReport):
        yield from vqa_marks.told_wrappers(report)
        yield from _marks(vqa_marks.tabulated(report))
    elif isinstance(report, ChoiceReport):
        yield from _choices(report, choice_benchmark(report).tabulated(report))
    else:
        yield from _tables(BENCHMARKS[report.benchmark].tables(report))


def _choices(report: ChoiceReport, tables: ChoiceTables[Any]) -> Iterator[str]:
    told = picture_problems(row.question for row in report.rows)
    yield from problem_lines((*tables.problems, *told))
    if isinstance(tables, mmbench.MMBenchReport):
        yield from _mmbench(tables)
    elif isinstance(tables, mmt_bench.MMTBenchReport):
        yield from _mmt_bench(tables)
    else:
        yield from _tables(tables.tables())
    yield from _success(tables.success)
    yield from _letters(tables.letters)
    if report.protocol == "mmbench-paper" and report.judge:
        yield f"What the judge left open was assigned at random from the seed {SEED}."
    if tables.without_answer:
        yield f"{plural(tables.without_answer, 'answer')} without a right letter: extracted, not scored."


def problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield a file's problems; the first ones are shown in full."""
    for problem in problems[:_SHOWN]:
        yield f"row {problem.row}: {problem.text}" if problem.row else problem.text
    if len(problems) > _SHOWN:
        yield f"... and {len(problems) - _SHOWN:,} more, all in the file of problems."


def comparison_lines(first: str, second: str, found: Sequence[Compared]) -> Iterator[str]:
    """Yield where two models differ, with McNemar's exact p."""
    for compared in found:
        yield f"\n{first} against {second}, {compared.over}"
        yield f"{'':{_WIDTH}}   both  first only  second only  neither       p"
        for one in compared.lines:
            counts = f"{one.both:>7,}{one.first_only:>12,}{one.second_only:>13,}{one.neither:>9,}"
            yield f"{one.name[:_WIDTH]:{_WIDTH}}{counts}{one.p:>8.4f}"


def _tables(tables: Iterable[tuple[str, Sequence[ScoreLine]]]) -> Iterator[str]:
    for name, lines in tables:
        yield f"\n{name}"
        yield from (_line(line.name, line) for line in lines)


def _mmbench(tables: mmbench.MMBenchReport) -> Iterator[str]:
    for scores in tables.splits:
        for over, tree in (
            ("circular, over questions", scores.circular),
            ("vanilla, over base rows", scores.vanilla),
        ):
            if tree is not None and tree.line.n:
                partial = "partial, " if tables.partial else ""
                yield f"\n{tables.edition} {scores.split or '(no split)'}: {partial}{over}"
                yield from map(_node, tree.walk())


def _mmt_bench(tables: mmt_bench.MMTBenchReport) -> Iterator[str]:
    for scores in tables.splits if len(tables.splits) > 2 else tables.splits[:1]:
        if scores.overall.samples.n:
            yield f"\nMMT-Bench {scores.split or '(no split)'}{': partial' if tables.partial else ''}"
            for overalls, name in (
                (scores.overall, ""),
                (scores.random, "Random: "),
                (scores.frequency, "Frequency: "),
            ):
                for line in (overalls.subtasks, overalls.samples, overalls.star):
                    yield _line(f"{name}{line.name}", line)
            yield from (_node(node) for node in scores.tree.children if node.line.n)
            for name, board in (
                ("By image type", scores.image_types),
                ("By capability", scores.capabilities),
            ):
                yield f"\n{name}"
                yield from (_line(line.name, line) for line in board if line.n)


def _marks(tables: vqa_marks.VQAReport) -> Iterator[str]:
    yield f"\n{tables.dataset}"
    yield _line(tables.exact.name, tables.exact)
    yield _line(tables.consensus.name, tables.consensus)
    marks = tables.marks
    if marks.mean is None:
        yield "No answer is marked."
        return
    interval = bracketed(marks.low, marks.high, ".2f")
    unscored = (
        f"  {marks.unscored:,} of {marks.n:,} unscored: {marks.worst:.2f} to {marks.best:.2f}"
        if marks.unscored
        else ""
    )
    yield f"{'mean mark from 1 to 5':{_WIDTH}}{marks.n:>7,}{marks.mean:>8.2f}  {interval}{unscored}"


def _success(success: Success) -> Iterator[str]:
    if success.n:
        shares = {step: 100 * times / success.n for step, times in success.by_step.items()}
        yield "\nLetters come from: " + ", ".join(
            f"{step} {share:.1f}%" for step, share in shares.items()
        )


def _letters(letters: Sequence[LetterCount]) -> Iterator[str]:
    predicted = sum(one.predicted for one in letters) or 1
    right = sum(one.right for one in letters)
    if letters:
        beside = [f" ({one.right / right:.1%})" if right else "" for one in letters]
        shares = (
            f"{one.letter} {one.predicted / predicted:.1%}{own}"
            for one, own in zip(letters, beside, strict=True)
        )
        yield f"Letters predicted{' (right)' if right else ''}: {', '.join(shares)}"


def _node(node: Node) -> str:
    return _line("  " * _DEPTH[node.level] + node.line.name, node.line)


def _line(name: str, line: ScoreLine) -> str:
    mean = "" if line.mean is None else f"{line.mean:.1f}"
    interval = bracketed(line.low, line.high)
    return f"{name[:_WIDTH]:{_WIDTH}}{line.n:>7,}{mean:>8}  {interval}  {bounds(line)}".rstrip()
