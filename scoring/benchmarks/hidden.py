"""Hidden answers: files scored with right answers that nobody may read, as an evaluation server does it.

A report has figures and groups of `LEAST` scored answers or more, in the words and numbers of its benchmark, and
nothing of a single answer: no row, id, letter, verdict or problem. It is made in one step from a file that was read
without the right answers. Rules alone score it: a judge's reply would be stored, and would show a letter or a verdict.
An answer that rules leave open stays so, and counts as its protocol says.
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

    It is rounded as on a page: further digits could reveal the scores of single answers.
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
        """The public part of a line."""

        def rounded(number: float | None) -> float | None:
            return None if number is None else round(number, line.places)

        return cls(
            name=line.name,
            n=line.n,
            unscored=line.unscored,
            mean=rounded(line.mean),
            low=rounded(line.low),
            high=rounded(line.high),
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
    """The line, as stored reports name it; `line` is the `ScoreLine` that it stands for."""
    children: tuple["HiddenNode", ...]

    @property
    def line(self) -> ScoreLine:
        return self.told.line


@dataclass(frozen=True)
class HiddenTable:
    """The public part of a `TreeTable`."""

    name: str
    title: str
    head: str
    """The head of the column with the groups' names."""
    trees: Mapping[str, HiddenNode]
    """Scores by the name of their figure."""


@dataclass(frozen=True)
class KeptSubmission:
    """The file to submit to a benchmark's authors, who alone have the right answers."""

    name: str
    base64: str
    """Its content."""


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
    """Name of the benchmark."""
    edition: str
    counted: tuple[str, ...]
    """The benchmark's `ComparableFacts`."""
    cited: str
    """Key of the paper in `citations.bib`; "" for none."""
    protocol_words: str
    """The protocol's label."""
    note: str
    """The rule of the protocol, in a clause."""
    methods: Mapping[str, str]
    answers: StrictInt
    """Number of answers in the file."""
    figures: tuple[HiddenLine, ...]
    """The headline first; none where too few answers were scored."""
    tables: tuple[HiddenTable, ...]
    left_out: StrictInt
    """Number of groups that are too small to be shown, or that would reveal such a group."""
    limits: tuple[Caveat, ...]
    published: PublishedBoard | None
    submission: KeptSubmission | None


def report_of(opened: OpenedFile, protocol: str, title: str = "") -> Any:
    """The report of a file by rules only; a `HiddenReport` if a right answer is hidden. Raises ChoicesError."""
    if opened.is_hidden:
        return hidden_report(opened, protocol, title)
    return opened.report(protocol, title)


def hidden_report(opened: OpenedFile, protocol: str, title: str = "") -> HiddenReport:
    """The report of a file whose right answers are hidden. Raises ChoicesError, which names none of them."""
    check_scorable(opened.name, opened.file.problems)
    opened.benchmark.protocol_named(protocol)
    assert opened.answer_key is not None, "a file with hidden right answers was opened with them"
    try:
        file = opened.benchmark.with_truths(opened.file, opened.answer_key)
        # Without places, all right answers count as being there.
        with_truths = replace(opened, file=file, questions=opened.answer_key, truth_places={})
        report = opened.benchmark.final_report(with_truths.report(protocol, title))
        return _public_part(opened, report, [problem.text for problem in file.problems])
    except Exception as error:  # noqa: BLE001 - its message may name a hidden answer
        place = traceback.extract_tb(error.__traceback__)[-1]
        error_name = type(error).__name__
    # Outside the except clause, so that the raised error doesn't carry the first one.
    log.error("hidden answers: %s in %s, line %s", error_name, place.filename, place.lineno)
    raise ChoicesError(_NOT_SCORED.format(opened.name))


def _public_part(opened: OpenedFile, report: Any, problems: Sequence[str]) -> HiddenReport:
    """Returns what may be shown of a report, which itself is never stored; `problems` are sentences on the file."""
    benchmark = opened.benchmark
    # "there": the right answers are in the question file for everybody, so that scores of these splits hide nothing.
    open_splits = frozenset(split or NO_GROUP for split in opened.splits_with_truths("there"))
    tables = [_safe_table(table, open_splits) for table in benchmark.tables(report)]
    figures = _safe_figures(benchmark, report, tables, bool(open_splits))
    shown_tables = [_shown_table(table, open_splits) for table in tables] if figures else []
    groups = sum(map(_group_count, tables))
    left_out = groups - sum(map(_group_count, shown_tables))
    board = _public_board(benchmark, report, figures)
    submission = benchmark.submission(report)
    # The caveat on groups left out speaks of the scores above them, so it needs such a score.
    left_out_below_scores = left_out if figures else 0
    limits = _limits(opened, report, problems, submission, left_out_below_scores)
    labels = {protocol: label for label, protocol in benchmark.protocols.items()}
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
        protocol_words=labels[report.protocol],
        note=benchmark.note(report),
        methods=benchmark.methods(report),
        answers=len(opened.file.rows),
        figures=tuple(map(HiddenLine.of, figures)),
        tables=tuple(shown_tables),
        left_out=left_out,
        limits=tuple(limits),
        published=board,
        submission=_kept_file(submission) if submission else None,
    )


def _scored_count(line: ScoreLine) -> int:
    return line.n - line.unscored


def _safe_table(table: TreeTable, open_splits: frozenset[str]) -> TreeTable:
    """A table without the figures that have fewer than `LEAST` scored answers outside the open splits.

    Anybody can compute the scores of open splits, and subtract them from those of the whole file.
    """
    trees = {
        figure: tree
        for figure, tree in table.trees.items()
        if _hidden_count(tree, open_splits) >= LEAST
    }
    return table._replace(trees=trees)


def _hidden_count(root: ScoreTree, open_splits: frozenset[str]) -> int:
    """The number of scored answers outside the open splits; 0 if it is unknown, since the tree lists no open split."""
    open_lines = [split.line for split in root.children if split.line.name in open_splits]
    if open_splits and not open_lines:
        return 0
    return _scored_count(root.line) - sum(map(_scored_count, open_lines))


def _safe_figures(
    benchmark: FileBenchmark[Any], report: Any, tables: Sequence[TreeTable], has_open: bool
) -> list[ScoreLine]:
    """The figures of the whole file that have enough scored answers. With open splits, only figures in a safe table.

    `tables` are safe as `_safe_table` makes them.
    """
    scored = [answer for answer in benchmark.scored_answers(report) if answer.score is not None]
    if len(scored) < LEAST:
        return []
    figures = [line for line in benchmark.figures(report) if _scored_count(line) >= LEAST]
    if not has_open:
        return figures
    in_tables = {figure for table in tables for figure in table.trees}
    if not in_tables:
        return []
    # The headline may have another name in the tables: it is "vanilla accuracy" here and "Vanilla" there.
    return [line for line in figures if line.name in in_tables] or figures[:1]


def _shown_table(table: TreeTable, open_splits: frozenset[str]) -> HiddenTable:
    """The part of a table that may be shown; open splits are groups of its root."""
    trees = {figure: _shown_node(tree, open_splits) for figure, tree in table.trees.items()}
    return HiddenTable(table.name, table.title, table.head, trees)


def _shown_node(node: ScoreTree, open_splits: frozenset[str] = frozenset()) -> HiddenNode:
    """A node with its groups that may be shown; those of open splits reveal nothing."""
    open_groups = [child for child in node.children if child.line.name in open_splits]
    hidden_groups = [child for child in node.children if child.line.name not in open_splits]
    safe_groups = shown_groups(
        hidden_groups,
        scored=lambda child: _scored_count(child.line),
        answers=lambda child: child.line.n,
    )
    shown = [*open_groups, *safe_groups]
    children = [_shown_node(child) for child in node.children if child in shown]
    return HiddenNode(HiddenLine.of(node.line), tuple(children))


def _group_count(table: TreeTable | HiddenTable) -> int:
    """Returns the number of groups with an answer in a table."""

    def below(node: ScoreTree) -> int:
        return sum(1 + below(child) for child in node.children if child.line.n)

    # The figures of a table have the same groups, so the count is that of one figure, not the sum.
    return max((below(tree) for tree in table.trees.values()), default=0)


def _limits(
    opened: OpenedFile,
    report: Any,
    problems: Sequence[str],
    submission: ServerSubmission | None,
    left_out: int,
) -> Iterator[Caveat]:
    """Yields what limits the numbers, in words that name no answer."""
    benchmark = opened.benchmark
    if unanswered := benchmark.count_unanswered(report):
        yield Caveat("Partial", f"Questions without an answer: {unanswered:,}.")
    # The strict protocol leaves such answers without a score; the papers' protocols count them.
    lead = "Partial" if report.protocol == "strict" else ""
    reasons = Counter(filter(None, benchmark.no_answers(opened.file).values()))
    for reason, count in reasons.items():
        effect = treatment(report.protocol)
        text = f"{counted(reason, count, len(opened.file.rows))}. {effect} Ids aren't shown."
        yield Caveat(lead, text)
    for problem in problems:
        yield Caveat("", problem)
    if text := benchmark.final_note(report):
        yield Caveat("", text)
    if open_splits := opened.splits_with_truths("there"):
        text = (
            f"The right answers of {these_questions(open_splits)} are open, but they share this file with hidden ones, "
            "so no answer is shown. Score them in a file of their own to see each one."
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


def _public_board(
    benchmark: FileBenchmark[Any], report: Any, figures: Sequence[ScoreLine]
) -> PublishedBoard | None:
    """A published table with the report's headline in its first column; None without a table or a shown headline."""
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
        """The first figures, as many as there is room for at the head of a page."""
        return [score_total(line.name, line) for line in self.scores(report)[:3]]

    def groups(self, report: HiddenReport) -> Sequence[ScoreLine]:
        """The groups directly below the whole file, in the first figure of the tables."""
        trees = [tree for table in report.tables for tree in table.trees.values()]
        return [child.line for child in trees[0].children] if trees else ()

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
            if _group_count(table)
        ]
        return [figures, *tables]

    def compare(self, report: HiddenReport, other: HiddenReport) -> Sequence[Sheet]:
        """Both headlines with their intervals; no table if a report has no score."""
        own_head = self.headline(report)
        other_head = self.headline(other)
        if own_head is None or other_head is None:
            return ()
        lines = [
            replace(own_head, name=report.title),
            replace(other_head, name=other.title),
        ]
        measure = own_head.name
        return [
            line_sheet(
                "comparison", "Both reports", lines, "Model", measure=measure, has_words=False
            )
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
        if submission := report.submission:
            files[submission.name] = lambda: base64.b64decode(submission.base64)
        return LazyFiles(files)


def _scores_csv(report: HiddenReport) -> bytes:
    rows = [["figures", 0, "", figure.name, *_numbers(figure)] for figure in report.figures]
    for table in report.tables:
        for figure, tree in table.trees.items():
            for level, line in _groups_below(tree):
                rows.append([table.name, level, line.name, figure, *_numbers(line)])
    return csv_bytes(_COLUMNS, rows)


def _groups_below(node: HiddenNode, level: int = 1) -> Iterator[tuple[int, HiddenLine]]:
    """Yields the groups below a node, each with its level, which is 1 directly below."""
    for child in node.children:
        yield level, child.told
        yield from _groups_below(child, level + 1)


def _numbers(line: HiddenLine) -> list[object]:
    """The cells of `_COLUMNS` from n on."""
    numbers = (line.mean, line.low, line.high, line.worst, line.best)
    cells = ["" if number is None else number for number in numbers]
    return [line.n, line.unscored, *cells]


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
    """The benchmark of a hidden report, with the name, protocol and paper that the report carries."""
    protocols = {report.protocol_words: report.protocol}
    return replace(HIDDEN, name=report.name, cited=report.cited, protocols=protocols)
