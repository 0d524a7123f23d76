"""Hidden answers: files scored with right answers that nobody may read, as an evaluation server does it.

A report has figures and groups of `LEAST` scored answers or more, in the words and numbers of its benchmark, and
nothing of a single answer: no row, id, letter, verdict or problem. It is made in one step from a file that was read
blind. Rules alone score it: a judge's reply is kept, and would be a letter or a verdict in the database. What rules
leave open is what the protocol makes of it.
"""

import base64
import logging
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import StrictInt

from arena.sheets import Sheet
from scoring.benchmarks.article import (
    Caveat,
    ComparableFacts,
    PublishedBoard,
    Total,
    coverage_text,
    score_total,
)
from scoring.benchmarks.base import (
    Benchmark,
    ChoicesError,
    FileBenchmark,
    LazyFiles,
    OpenedFile,
    check_scorable,
)
from scoring.benchmarks.submission import ServerSubmission, these_questions
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.no_answers import counted, treatment
from scoring.report import NO_SCORE, ScoreLine, csv_bytes, file_stem
from scoring.score_sheets import ScoreTree, TreeTable, line_sheet, tree_sheet
from scoring.small_groups import LEAST, shown_groups
from scoring.specs.report import NO_GROUP

log = logging.getLogger(__name__)
_TOO_FEW = f"{NO_SCORE}: fewer than {LEAST} answers were scored, and smaller groups aren't shown"
_NOT_SCORED = (
    "{} can't be scored with the hidden right answers. Saying why could give one away, so ask the people who run this "
    "site."
)
_COLUMNS = (
    "table",
    "level",
    "group",
    "figure",
    "n",
    "unscored",
    "value",
    "low",
    "high",
    "least",
    "most",
)


@dataclass(frozen=True)
class HiddenLine:
    """A score of at least `LEAST` answers: a `ScoreLine` without the answers that it was made of.

    It has the digits that a page shows: more of them would tell which answers have which part of a score.
    """

    name: str
    n: StrictInt
    unscored: StrictInt
    mean: float | None
    low: float | None
    high: float | None
    worst: float
    best: float
    places: StrictInt

    @classmethod
    def of(cls, line: ScoreLine) -> "HiddenLine":
        def shown(number: float | None) -> float | None:
            return None if number is None else round(number, line.places)

        return cls(
            name=line.name,
            n=line.n,
            unscored=line.unscored,
            mean=shown(line.mean),
            low=shown(line.low),
            high=shown(line.high),
            worst=round(line.worst, line.places),
            best=round(line.best, line.places),
            places=line.places,
        )

    @property
    def line(self) -> ScoreLine:
        return ScoreLine(
            name=self.name,
            n=self.n,
            unscored=self.unscored,
            mean=self.mean,
            low=self.low,
            high=self.high,
            worst=self.worst,
            best=self.best,
            places=self.places,
        )


@dataclass(frozen=True)
class HiddenNode:
    """A line with those of its groups that may be shown."""

    told: HiddenLine
    children: tuple["HiddenNode", ...]

    @property
    def line(self) -> ScoreLine:
        return self.told.line


@dataclass(frozen=True)
class HiddenTable:
    """Trees of scores by the figure that they are of."""

    name: str
    title: str
    head: str
    trees: Mapping[str, HiddenNode]


@dataclass(frozen=True)
class KeptSubmission:
    """The file of answers whose right ones are with a benchmark's authors."""

    name: str
    base64: str


@dataclass(frozen=True)
class HiddenReport:
    """The public part of a report that was made with hidden right answers."""

    benchmark: Literal["hidden"]
    protocol: str
    title: str
    file: str
    created: str
    judge: None
    of: str
    """Key of the benchmark."""
    name: str
    edition: str
    counted: tuple[str, ...]
    """The facts that comparable reports share."""
    cited: str
    protocol_words: str
    note: str
    """The rule of the protocol, in a clause."""
    methods: Mapping[str, str]
    answers: StrictInt
    figures: tuple[HiddenLine, ...]
    """The headline first; none where too few answers were scored."""
    tables: tuple[HiddenTable, ...]
    left_out: StrictInt
    """Groups that are too small to be shown, and those that would tell them."""
    limits: tuple[Caveat, ...]
    published: PublishedBoard | None
    submission: KeptSubmission | None


def report_of(opened: OpenedFile, protocol: str, title: str = "") -> Any:
    """The report of a file by rules only, with no row where right answers are hidden. Raises ChoicesError."""
    if opened.is_hidden:
        return hidden_report(opened, protocol, title)
    return opened.report(protocol, title)


def hidden_report(opened: OpenedFile, protocol: str, title: str = "") -> HiddenReport:
    """The report of a file whose right answers are hidden. Raises ChoicesError, which names none of them."""
    check_scorable(opened.name, opened.file.problems)
    opened.benchmark.protocol_named(protocol)
    assert opened.answer_key is not None, "a file with hidden right answers was opened with them"
    try:
        sighted = opened.benchmark.with_truths(opened.file, opened.answer_key)
        whole = replace(opened, file=sighted, questions=opened.answer_key, truth_places={})
        report = opened.benchmark.final_report(whole.report(protocol, title))
        return _condensed(opened, report, [problem.text for problem in sighted.problems])
    except Exception as error:  # noqa: BLE001 - its message may name a hidden answer
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = type(error).__name__
    log.error("hidden answers: %s in %s, line %s", what, place.filename, place.lineno)
    raise ChoicesError(_NOT_SCORED.format(opened.name))


def _condensed(opened: OpenedFile, report: Any, told: Sequence[str]) -> HiddenReport:
    """Returns the public part of a report, which itself is never stored."""
    benchmark = opened.benchmark
    open_splits = frozenset(split or NO_GROUP for split in opened.splits_with_truths("there"))
    tables = [_safe_table(table, open_splits) for table in benchmark.tables(report)]
    figures = _safe_figures(benchmark, report, tables, bool(open_splits))
    shown = [_shown_table(table, open_splits) for table in tables if figures]
    left_out = sum(_lines(table) for table in tables) - sum(_lines(table) for table in shown)
    board = _told_board(benchmark, report, figures)
    submission = benchmark.submission(report)
    words = {protocol: label for label, protocol in benchmark.protocols.items()}
    return HiddenReport(
        benchmark="hidden",
        protocol=report.protocol,
        title=report.title,
        file=report.file,
        created=report.created,
        judge=None,
        of=benchmark.key,
        name=benchmark.name,
        edition=benchmark.edition(report),
        counted=benchmark.comparable_facts(report),
        cited=benchmark.cited or benchmark.protocol_papers.get(report.protocol, ""),
        protocol_words=words[report.protocol],
        note=benchmark.note(report),
        methods=benchmark.methods(report),
        answers=len(opened.file.rows),
        figures=tuple(map(HiddenLine.of, figures)),
        tables=tuple(shown),
        left_out=left_out,
        limits=tuple(_limits(opened, report, told, submission, left_out if figures else 0)),
        published=board,
        submission=_kept_file(submission) if submission else None,
    )


def _size(line: ScoreLine) -> int:
    return line.n - line.unscored


def _safe_table(table: TreeTable, open_splits: frozenset[str]) -> TreeTable:
    """A table without the figures whose whole is of few hidden right answers: the open ones can be taken off it."""
    trees = {
        figure: tree
        for figure, tree in table.trees.items()
        if _hidden_size(tree, open_splits) >= LEAST
    }
    return table._replace(trees=trees)


def _hidden_size(root: ScoreTree, open_splits: frozenset[str]) -> int:
    known = [split.line for split in root.children if split.line.name in open_splits]
    if open_splits and not known:
        return 0  # which of them are open is not told
    return _size(root.line) - sum(map(_size, known))


def _safe_figures(
    benchmark: FileBenchmark[Any], report: Any, tables: Sequence[TreeTable], has_open: bool
) -> list[ScoreLine]:
    """The figures of the whole file, if they are of enough answers; beside open splits, those that a table has."""
    scored = [answer for answer in benchmark.scored_answers(report) if answer.score is not None]
    figures = [line for line in benchmark.figures(report) if _size(line) >= LEAST]
    told = {figure for table in tables for figure in table.trees}
    if len(scored) < LEAST or (has_open and not told):
        return []
    if has_open:
        return [line for line in figures if line.name in told] or figures[:1]
    return figures


def _shown_table(table: TreeTable, open_splits: frozenset[str]) -> HiddenTable:
    trees = {figure: _shown(tree, open_splits) for figure, tree in table.trees.items()}
    return HiddenTable(table.name, table.title, table.head, trees)


def _shown(node: ScoreTree, open_splits: frozenset[str] = frozenset()) -> HiddenNode:
    """A node with its groups that may be shown; those of splits whose right answers are open tell nothing."""
    known = [child for child in node.children if child.line.name in open_splits]
    hidden = [child for child in node.children if child.line.name not in open_splits]
    safe = shown_groups(hidden, lambda child: _size(child.line), lambda child: child.line.n)
    chosen = [*known, *safe]
    children = [_shown(child) for child in node.children if child in chosen]
    return HiddenNode(HiddenLine.of(node.line), tuple(children))


def _lines(table: TreeTable | HiddenTable) -> int:
    """Returns the number of groups with an answer in a table."""

    def below(node: ScoreTree) -> int:
        return sum(1 + below(child) for child in node.children if child.line.n)

    return max((below(tree) for tree in table.trees.values()), default=0)


def _limits(
    opened: OpenedFile,
    report: Any,
    told: Sequence[str],
    submission: ServerSubmission | None,
    left_out: int,
) -> Iterator[Caveat]:
    """Yield what limits the numbers, in words that name no answer."""
    benchmark = opened.benchmark
    if lacking := benchmark.count_unanswered(report):
        yield Caveat("Partial", f"Questions without an answer: {lacking:,}.")
    lead = "Partial" if report.protocol == "strict" else ""
    reasons = Counter(filter(None, benchmark.no_answers(opened.file).values()))
    for reason, times in reasons.items():
        effect = treatment(report.protocol)
        text = f"{counted(reason, times, len(opened.file.rows))}. {effect} Ids aren't shown."
        yield Caveat(lead, text)
    yield from (Caveat("", text) for text in told)
    if text := benchmark.final_note(report):
        yield Caveat("", text)
    if known := opened.splits_with_truths("there"):
        text = (
            f"The right answers of {these_questions(known)} are open, but they share this file with hidden ones, so no "
            "answer is shown. Score them in a file of their own to see each one."
        )
        yield Caveat("", text)
    if left_out:
        text = (
            f"Groups with fewer than {LEAST} scored answers aren't shown, nor what would give them away: {left_out:,} "
            "in all. Their answers count in the scores above them."
        )
        yield Caveat("", text)
    if submission:
        yield Caveat("", submission.sentence)


def _told_board(
    benchmark: FileBenchmark[Any], report: Any, figures: Sequence[ScoreLine]
) -> PublishedBoard | None:
    """A published table with the report's headline, if that is shown; its groups have their own table."""
    head = benchmark.headline(report)
    if not figures or head is None or head.mean != figures[0].mean:
        return None
    board = benchmark.published(report)
    if board is None:
        return None
    return replace(board, own={board.columns[0]: HiddenLine.of(figures[0]).mean})


def _kept_file(submission: ServerSubmission) -> KeptSubmission:
    return KeptSubmission(submission.name, base64.b64encode(submission.content).decode("ascii"))


class HiddenAnswers(Benchmark[HiddenReport]):
    """Reports of hidden answers, in the words that they carry."""

    def tasks(self, report: HiddenReport, spec: JudgeSpec) -> Sequence[Task]:
        return ()

    def with_outcomes(self, report: HiddenReport, outcomes: Sequence[Any]) -> HiddenReport:
        return report

    def ungraded_note(self, report: HiddenReport) -> str:
        return "" if report.figures else _TOO_FEW

    def edition(self, report: HiddenReport) -> str:
        return report.edition

    def comparable_facts(self, report: HiddenReport) -> ComparableFacts:
        return ComparableFacts(*report.counted)

    def scores(self, report: HiddenReport) -> Sequence[ScoreLine]:
        return [figure.line for figure in report.figures]

    def totals(self, report: HiddenReport) -> Sequence[Total]:
        return [score_total(line.name, line) for line in self.scores(report)[:3]]

    def groups(self, report: HiddenReport) -> Sequence[ScoreLine]:
        """The first figure of the largest groups."""
        for table in report.tables:
            tree = next(iter(table.trees.values()))
            return [child.line for child in tree.children]
        return ()

    def coverage(self, report: HiddenReport) -> str:
        head = self.headline(report)
        return coverage_text(head.n - head.unscored, head.n) if head else ""

    def sheets(self, report: HiddenReport) -> Sequence[Sheet]:
        lines = self.scores(report)
        if not lines:
            return ()
        figures = line_sheet("figures", "Figures", lines, "Figure", measure="Value")
        tables = [
            tree_sheet(table.name, table.title, table.trees, table.head)
            for table in report.tables
            if _lines(table)
        ]
        return [figures, *tables]

    def compare(self, report: HiddenReport, other: HiddenReport) -> Sequence[Sheet]:
        """Both headlines with their intervals; none where one has no score."""
        heads = [(one.title, self.headline(one)) for one in (report, other)]
        lines = [replace(head, name=title) for title, head in heads if head]
        if len(lines) < 2:
            return ()
        name = report.figures[0].name
        return [
            line_sheet("comparison", "Both reports", lines, "Model", measure=name, has_words=False)
        ]

    def published(self, report: HiddenReport) -> PublishedBoard | None:
        return report.published

    def caveats(self, report: HiddenReport) -> Sequence[Caveat]:
        return [*super().caveats(report), *report.limits]

    def note(self, report: HiddenReport) -> str:
        return report.note

    def checks(self, report: HiddenReport) -> Sequence[str]:
        return [
            "The right answers are hidden: what rules leave open stays so, since a judge's reply would be kept."
        ]

    def methods(self, report: HiddenReport) -> Mapping[str, str]:
        shown = f"scores of {LEAST} answers or more; no answer, id, letter or verdict"
        return {**report.methods, "Answers scored": f"{report.answers:,}", "Shown": shown}

    def files(self, report: HiddenReport) -> Mapping[str, bytes]:
        """The scores alone, and the submission where a split's right answers are with their authors."""
        files = {f"{file_stem(report.file)}-scores.csv": lambda: _scores_csv(report)}
        if sent := report.submission:
            files[sent.name] = lambda: base64.b64decode(sent.base64)
        return LazyFiles(files)


def _scores_csv(report: HiddenReport) -> bytes:
    rows = [["figures", 0, "", *_numbers(figure)] for figure in report.figures]
    for table in report.tables:
        for figure, tree in table.trees.items():
            for level, told in _walked(tree):
                row = replace(told, name=figure)
                rows.append([table.name, level, told.name, *_numbers(row)])
    return csv_bytes(_COLUMNS, rows)


def _walked(node: HiddenNode, level: int = 0) -> Iterator[tuple[int, HiddenLine]]:
    for child in node.children:
        yield level + 1, child.told
        yield from _walked(child, level + 1)


def _numbers(line: HiddenLine) -> list[object]:
    numbers = (line.mean, line.low, line.high, line.worst, line.best)
    return [line.name, line.n, line.unscored, *("" if one is None else one for one in numbers)]


HIDDEN = HiddenAnswers(
    key="hidden",
    name="Hidden answers",
    report=HiddenReport,
    way="hidden",
    protocols={},
    start="Score by rules (free)",
    unit="answer",
    why_unpaired="The right answers are hidden, so answers aren't compared one by one. An interval of the difference "
    "would need the verdict of each, so there is none: each score has its own.",
)


def hidden_benchmark(report: HiddenReport) -> HiddenAnswers:
    """The record of a report's benchmark, with its name, protocol and paper."""
    protocols = {report.protocol_words: report.protocol}
    return replace(HIDDEN, name=report.name, cited=report.cited, protocols=protocols)
