"""MMT-Bench: accuracies of 162 subtasks in 32 meta-tasks, its different Overalls, boards by image type and capability.

The paper's Overall is a mean over subtasks for some models and over samples for others. Its Overall* is a mean over the
127 subtasks outside Visual Recognition. Each is computed under a different name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import NamedTuple

import pandas as pd

from arena.sheets import Column, Sheet
from arena.types import grouped
from scoring.benchmarks.article import (
    PublishedBoard,
    PublishedRow,
    Total,
    models_sheet,
    score_total,
)
from scoring.benchmarks.base import read_table
from scoring.benchmarks.choice import MultipleChoice
from scoring.benchmarks.choice_figures import (
    Cells,
    ChoiceFigures,
    Known,
    choice_rows,
    group_tree,
)
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.multiple_choice.metrics import (
    NARROWEST,
    ChoiceTables,
    Comparison,
    ComparisonTable,
    SplitScores,
    StepCounts,
    compare_groups,
    count_steps,
    file_splits,
    fractions_csv,
    letter_counts,
    missing_problem,
)
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import (
    NO_CATEGORY,
    Answered,
    ChoiceQuestion,
    Decided,
    Protocol,
)
from scoring.report import ScoreLine
from scoring.score_sheets import TreeTable, line_sheet, tree_sheet, worst_sheet
from scoring.small_groups import LEAST
from scoring.specs.files import OURS, load_spec
from scoring.specs.reading import derived_rows
from scoring.specs.scored_rows import ScoredRows

ALL = "ALL"
"""The toolkit's name for all splits together."""
_SPLITS = ("VAL", "TEST", ALL)
_SPLIT = re.compile(r"(?<![a-z])(VAL|ALL|TEST)(?:idation)?(?![a-z])", re.IGNORECASE)


_SPEC = load_spec(OURS / "mmt-bench.yaml")
META_TASKS = _SPEC.names_of("meta_task_in_words")
"""The names of the 32 meta-tasks by their keys, in the toolkit's order."""
_ABBREVIATIONS = _SPEC.names_of("meta_task_in_csv")
"""Headings of the meta-tasks in the toolkit's `_acc.csv`."""
_CLUSTERS = sorted({*_SPEC.names_of("cluster").values()}, key=int)
_OVERALLS = [name for name, figure in _SPEC.figures.items() if not figure.is_guess]
_RANDOM = [name for name, figure in _SPEC.figures.items() if figure.chance]
_FREQUENCY = [name for name, figure in _SPEC.figures.items() if figure.frequent]


@dataclass(frozen=True)
class Subtask:
    """A subtask as described in Tables A3 to A5."""

    key: str
    """The `category` in the files, with their spelling, even if it is wrong."""
    name: str
    meta_task: str
    """Key of its meta-task."""
    samples: int
    val_samples: int
    """Samples in the split VAL."""
    cluster: int
    """The paper's cluster of its task map (Table A2)."""
    multi_image: str = ""
    """Its abbreviation, for the 28 tasks with several images; else ""."""


class Overalls(NamedTuple):
    """The scores called Overall, each by its own rule, in the order of the spec's figures."""

    subtasks: ScoreLine
    """Mean over subtasks."""
    samples: ScoreLine
    """Mean over samples: the public toolkit's figure."""
    star: ScoreLine
    """Overall*: mean over the subtasks outside Visual Recognition."""


class ClusterScores(NamedTuple):
    """A cluster of the paper's task map (Table A2), each a mean over its subtasks."""

    own: ScoreLine
    random: ScoreLine
    frequency: ScoreLine


@dataclass(frozen=True)
class MMTBenchScores(SplitScores):
    """Accuracies of one split, or of all; `tree` has all 32 meta-tasks, each a mean of its subtasks, blank if none."""

    overall: Overalls
    image_types: tuple[ScoreLine, ...]
    capabilities: tuple[ScoreLine, ...]
    """Means over each capability's subtasks; a subtask counts in each of its groups."""
    clusters: tuple[ClusterScores, ...]
    """Scores of the clusters, in the order of their numbers."""
    random: Overalls
    """Expected score of random guesses among the options of these questions."""
    frequency: Overalls
    """Score of always choosing a subtask's most frequent right letter."""


@dataclass(frozen=True)
class MMTBenchReport(ChoiceTables[MMTBenchScores]):
    """MMT-Bench results of a file under a protocol; the last split has all rows, and is ALL if rows name splits."""

    def accuracy_csv(self) -> bytes:
        """The public toolkit's `_acc.csv`, with the Overall over samples; cells without questions are blank."""
        tree = self.splits[-1].tree
        names = sorted({node.line.name for node in tree.find("category") if node.line.n})
        metas = [node.line.name for node in tree.find("meta_task")]
        heads = [_ABBREVIATIONS.get(key, key) for key in metas]
        rows = []
        for scores in self.splits:
            means = {(node.level, node.line.name): node.line.mean for node in scores.tree.walk()}
            keys = [*(("meta_task", key) for key in metas), *(("category", name) for name in names)]
            rows.append(
                (scores.split or "none", [scores.overall.samples.mean, *map(means.get, keys)])
            )
        return fractions_csv(["Overall", *heads, *names], rows)


@dataclass(frozen=True)
class SuccessRow:
    """A row of Table A17, in percent; None for the paper's dash."""

    model: str
    step1: float | None
    step2: float | None
    step3: float | None
    refused: float | None = None


@cache
def subtasks() -> Mapping[str, Subtask]:
    """The 162 subtasks by key, in the paper's order."""
    return {
        subtask.key: subtask for subtask in read_table(Subtask, OURS / "mmt_bench_subtasks.csv")
    }


@cache
def subtasks_of_several_images() -> frozenset[str]:
    """The 28 subtasks of D.2."""
    return frozenset(key for key, subtask in subtasks().items() if subtask.multi_image)


@cache
def published_success() -> tuple[SuccessRow, ...]:
    """Table A17."""
    return read_table(SuccessRow, "mmt_bench_success_rates.csv")


_TOTALS: tuple[str, ...] = ("Overall", "Overall*")


@cache
def published() -> tuple[PublishedRow, ...]:
    """Table 2's totals."""
    return read_table(PublishedRow, "mmt_bench_published.csv", _TOTALS)


def recognises(questions: Sequence[ChoiceQuestion]) -> bool:
    return 2 * sum(question.category in subtasks() for question in questions) > len(questions)


def sizes(split: str) -> Counter[str] | None:
    """Samples of each subtask in a split of the published files; None for any other split."""
    split = split.upper()
    if split not in _SPLITS:
        return None
    samples = Counter({key: subtask.samples for key, subtask in subtasks().items()})
    val_samples = Counter({key: subtask.val_samples for key, subtask in subtasks().items()})
    if split == "VAL":
        return val_samples
    if split == "TEST":
        samples.subtract(val_samples)
    return samples


_Gaps = Mapping[str, Counter[str]]
"""Number of samples without an answer, by split and subtask."""


def _gaps_of_questions(
    missing: Sequence[ChoiceQuestion], rows: int
) -> tuple[_Gaps, tuple[Problem, ...]]:
    """The questions of the question file that a file lacks, and the problem of these."""
    gaps: dict[str, Counter[str]] = {}
    for question in missing:
        by_subtask = gaps.setdefault(question.split, Counter())
        by_subtask[question.named_category] += question.answer is not None
    problem = missing_problem(len(missing), len(missing) + rows, "the question file", missing)
    return gaps, (problem,) if missing else ()


def _gaps_of_split(
    questions: Sequence[ChoiceQuestion], file: str
) -> tuple[_Gaps, tuple[Problem, ...]]:
    """The samples that a file lacks of its published splits, or of the smallest that fits if it names none."""
    gaps: dict[str, Counter[str]] = {}
    problems = []
    for split, split_text, members in file_splits(questions, file, _SPLIT, ALL):
        times = Counter(question.named_category for question in members)
        known = sizes(_fitting(times, split_text))
        if known is None:
            text = f"MMT-Bench {split or '(no split)'}: {times.total():,} questions, not checked against an edition."
            problems.append(Problem(0, None, text, "nothing"))
            continue
        gaps[split] = known - times
        if missing := gaps[split].total():
            edition_split = f"MMT-Bench {split}".rstrip()
            problems.append(missing_problem(missing, known.total(), edition_split, None))
    return gaps, tuple(sorted(problems, key=lambda problem: problem.blocks != "whole"))


def _fitting(times: Counter[str], split_text: str | None) -> str:
    """The published split in a text, else the smallest, if it has at least these samples of each subtask; else ""."""
    match = _SPLIT.search(split_text or "")
    names: Sequence[str] = ()
    if match:
        names = (match[1].upper(),)
    elif split_text is not None:
        names = _SPLITS
    for name in names:
        samples = sizes(name)
        if samples and times <= samples:
            return name
    return ""


def _unknown(rows: Sequence[Decided]) -> tuple[Problem, ...]:
    text = "The category {!r} is no subtask of MMT-Bench. It has its own row and counts in each Overall."
    strange = sorted({row.question.named_category for row in rows} - subtasks().keys())
    return tuple(Problem(0, None, text.format(name), "nothing") for name in strange)


def meta_task(question: ChoiceQuestion) -> str:
    """Key of a question's meta-task: the paper's for a known subtask, else the file's own."""
    known = _SPEC.derive["meta_task"].derive_cell(question.named_category)
    return str(known) or question.group or NO_CATEGORY


def _cells(subtask: str, meta_task: str) -> Cells:
    """The groups of a subtask's questions; the meta-task is that of a subtask which the paper doesn't have."""
    (derived,) = derived_rows(_SPEC, {"category": subtask})
    cells = {column: derived[column] for column in _SPEC.groups}
    return {**cells, "meta_task": cells["meta_task"] or meta_task}


def _split_scores(
    split: str, answered: Sequence[Decided], protocol: Protocol, missing: Counter[str]
) -> MMTBenchScores:
    """The accuracies of a split's answers, with `missing` samples by subtask, and both baselines."""
    cells = {subtask: _cells(subtask, NO_CATEGORY) for subtask in missing}
    by_subtask = grouped((row.question.named_category, row.question) for row in answered)
    for subtask, questions in by_subtask.items():
        cells[subtask] = _cells(subtask, meta_task(questions[0]))
    rows = choice_rows(
        answered,
        [cells[row.question.named_category] for row in answered],
        [cells[subtask] for subtask in missing.elements()],
    )
    figures = ChoiceFigures(_SPEC.figures, protocol)
    over_subtasks, over_samples, _ = _OVERALLS

    def line(level: str, name: str, members: ScoredRows) -> ScoreLine:
        return figures.line(over_samples if level == NARROWEST else over_subtasks, members, name)

    def board(figure: str, column: str, names: Iterable[str]) -> tuple[ScoreLine, ...]:
        members = {name: rows.within(rows.mask_with_cells({column: name})) for name in names}
        return tuple(figures.line(figure, group, name) for name, group in members.items())

    cluster_lines = [
        board(figure, "cluster", _CLUSTERS) for figure in (over_subtasks, _RANDOM[0], _FREQUENCY[0])
    ]
    return MMTBenchScores(
        split=split,
        tree=group_tree(line, rows, ["meta_task", "category"], _known_tasks(), over_subtasks),
        overall=Overalls(*(figures.line(name, rows) for name in _OVERALLS)),
        image_types=board(over_subtasks, "image_type", _largest_first("image_type")),
        capabilities=board(over_subtasks, "capability", _largest_first("capability")),
        clusters=tuple(map(ClusterScores, *cluster_lines)),
        random=Overalls(*(figures.line(name, rows) for name in _RANDOM)),
        frequency=Overalls(*(figures.line(name, rows) for name in _FREQUENCY)),
    )


def _known_tasks() -> Known:
    """The paper's subtasks by meta-task."""
    by_meta_task = grouped((subtask.meta_task, key) for key, subtask in subtasks().items())
    return {key: dict.fromkeys(by_meta_task[key], {}) for key in META_TASKS}


def _largest_first(column: str) -> list[str]:
    """The paper's groups of subtasks, the largest group first."""
    groups = (name for key in subtasks() for name in _SPEC.derive[column].derive_cell(key))
    return [name for name, _ in Counter(groups).most_common()]


def _has_small_subtasks(splits: Sequence[MMTBenchScores]) -> bool:
    lines = (node.line for scores in splits for node in scores.tree.find(NARROWEST))
    return any(0 < line.n - line.unscored < LEAST for line in lines)


def comparison(first: Sequence[Decided], second: Sequence[Decided]) -> tuple[Comparison, ...]:
    """McNemar's comparison of two runs over their shared questions: Overall, by meta-task and by subtask."""

    def names(question: ChoiceQuestion) -> tuple[str, str]:
        return meta_task(question), question.named_category

    first_rows = {row.question.index: row for row in first}
    second_rows = {row.question.index: row for row in second}
    return compare_groups(first_rows, second_rows, names, META_TASKS)


_OVERLAP = "Means over subtasks; a subtask counts in every image type and capability it has."


def overall_sheet(scores: MMTBenchScores) -> Sheet:
    """The three Overalls beside those of guessing."""
    ways = zip(scores.overall, scores.random, scores.frequency, strict=True)
    rows = [
        {
            "name": own.name,
            "mean": own.mean,
            "mean_low": own.low,
            "mean_high": own.high,
            "random": random.mean,
            "frequency": frequent.mean,
        }
        for own, random, frequent in ways
    ]
    columns = (
        Column("name", "Mean", has_words=True),
        Column("mean", "This file", "score", "mean_low", "mean_high", bar=True),
        Column("random", "Random", "score"),
        Column("frequency", "Frequency", "score"),
    )
    note = (
        "Random: a guess among the options. Frequency: always the most frequent right letter of a subtask. Both use "
        "this file's questions."
    )
    return Sheet("overall", "Overall, compared with guessing", pd.DataFrame(rows), columns, note)


def success_sheet(title: str, read: StepCounts) -> Sheet:
    """The share of answers read after each step, beside Table A17, in percent."""
    own = SuccessRow(
        model=title,
        step1=read.rate("letter"),
        step2=read.rate("letter", "content"),
        step3=read.rate("letter", "content", "judge"),
        refused=read.refused,
    )
    table = published_success()
    frame = pd.DataFrame(map(asdict, (own, *table))).assign(own=[True, *[False] * len(table)])
    columns = (
        Column("model", "Model"),
        Column("step1", "Step 1: letters", "score"),
        Column("step2", "Step 2: and contents", "score"),
        Column("step3", "Step 3: and judge", "score"),
        Column("refused", "Refused", "score"),
    )
    title = "Answers read after each step, in percent"
    note = "Other rows: the paper's Table A17, on the whole benchmark."
    return Sheet("success", title, frame, columns, note, "below", bold="own")


class MMTBench(MultipleChoice):
    """MMT-Bench, with the mean over subtasks as a report's headline."""

    def published_sheets(self) -> Sequence[Sheet]:
        return [models_sheet("published", "The paper's Table 2", _TOTALS, published())]

    def tabulate(self, report: ChoiceReport) -> MMTBenchReport:
        """Accuracies of each split and of all, with both baselines on the same questions."""
        rows = report.rows
        scored = [row for row in rows if row.question.answer is not None]
        splits = grouped((row.question.split, row) for row in scored if row.question.split)
        questions = [row.question for row in rows]
        gaps = {}
        problems = ()
        if report.missing is not None:
            gaps, problems = _gaps_of_questions(report.missing, len(rows))
        elif report.file:
            gaps, problems = _gaps_of_split(questions, report.file)
        parts = [
            _split_scores(split, part, report.protocol, gaps.get(split, Counter()))
            for split, part in splits.items()
        ]
        times = Counter(question.named_category for question in questions)
        whole = ALL if splits else _fitting(times, report.file)
        missing = sum(gaps.values(), Counter[str]())
        if [*splits.values()] == [scored] and gaps.keys() <= splits.keys():
            everything = replace(parts[0], split=whole)
        else:
            everything = _split_scores(whole, scored, report.protocol, missing)
        return MMTBenchReport(
            protocol=report.protocol,
            splits=(*parts, everything),
            problems=(*problems, *_unknown(scored)),
            steps=count_steps(row.decision for row in rows),
            letters=letter_counts(rows),
            without_answer=len(rows) - len(scored),
            missing=tuple(report.missing or ()),
            partial=any(problem.blocks == "whole" for problem in problems),
        )

    def compare(self, first: ChoiceReport, second: ChoiceReport) -> list[ComparisonTable]:
        """Comparisons over all questions, and over the 28 subtasks with several images (Figure 3)."""
        several = subtasks_of_several_images()
        first_rows = [row for row in first.rows if row.question.category in several]
        second_rows = [row for row in second.rows if row.question.category in several]
        return [
            ComparisonTable("all questions", comparison(first.rows, second.rows)),
            ComparisonTable(
                "subtasks that take several images", comparison(first_rows, second_rows)
            ),
        ]

    def recognises(self, rows: Sequence[Answered], file: str) -> bool:
        return recognises([row.question for row in rows])

    def words(self, name: str) -> str:
        return _SPEC.names_of("task_in_words").get(name) or meta_task_words(name)

    def split_sheets(self, scores: MMTBenchScores) -> Iterator[Sheet]:
        yield overall_sheet(scores)
        title = "By meta-task and subtask"
        yield tree_sheet("levels", title, self.trees(scores), "Task", self.words, unfolded=2)
        nodes = scores.tree.find(NARROWEST)
        yield worst_sheet("Worst subtasks first", nodes, "Subtask", self.words)
        for name, title, lines in (
            ("Image type", "By image type", scores.image_types),
            ("Capability", "By capability", scores.capabilities),
        ):
            key = title.lower().replace(" ", "-")
            yield line_sheet(key, title, lines, name, place="below", note=_OVERLAP)
        title = "By cluster of the task map"
        clusters = [cluster.own for cluster in scores.clusters]
        yield line_sheet(
            "by-cluster", title, clusters, "Cluster", "cluster {}".format, place="folded"
        )

    def sheets(self, report: ChoiceReport) -> Sequence[Sheet]:
        return (
            *super().sheets(report),
            success_sheet(report.title, self.tabulated(report).steps),
        )

    def totals(self, report: ChoiceReport) -> Sequence[Total]:
        splits = self.tabulated(report).splits
        return [score_total(line.name, line) for line in splits[-1].overall] if splits else []

    def figures(self, report: ChoiceReport) -> Sequence[ScoreLine]:
        splits = self.tabulated(report).splits
        if not splits:
            return []
        overall = splits[-1].overall
        return [overall.samples] if _has_small_subtasks(splits) else [*overall]

    def tables(self, report: ChoiceReport) -> Iterator[TreeTable]:
        """None where a subtask has few answers: a mean over subtasks would tell how they fared."""
        if not _has_small_subtasks(self.tabulated(report).splits):
            yield from super().tables(report)

    def headline(self, report: ChoiceReport) -> ScoreLine | None:
        line = super().headline(report)
        return line and replace(line, name="mean over subtasks")

    def groups(self, report: ChoiceReport) -> Sequence[ScoreLine]:
        return [replace(line, name=meta_task_words(line.name)) for line in super().groups(report)]

    def tested(self, question: ChoiceQuestion) -> tuple[str, ...]:
        return (meta_task_words(meta_task(question)),)

    def published(self, report: ChoiceReport) -> PublishedBoard | None:
        """Table 2, with an Overall that is a mean over subtasks for some models and over samples for others."""
        tables = self.tabulated(report)
        partial = any(problem.blocks == "whole" for problem in tables.problems)
        if not tables.splits or partial or not recognises([row.question for row in report.rows]):
            return None
        scores = tables.splits[-1]
        own = {"Overall": scores.overall.subtasks.mean, "Overall*": scores.overall.star.mean}
        reasons = [
            "the table's Overall is a mean over subtasks for some models and over samples for others"
        ]
        if scores.overall.samples.n < sum(subtask.samples for subtask in subtasks().values()):
            reasons.append("the table covers the whole benchmark, and these are fewer questions")
        if report.mode:
            reasons.append(f"the questions were asked in mode {report.mode}")
        if report.chosen_by == "likelihood":
            reasons.append("options were chosen by likelihood, the table's by generated text")
        elif report.protocol != "mmt-paper":
            reasons.append("the table's letters were read by the paper's protocol")
        return PublishedBoard("the paper's Table 2", _TOTALS, published(), own, tuple(reasons))


def meta_task_words(key: str) -> str:
    """A meta-task's name in the paper; other names stay."""
    return META_TASKS.get(key, key)


MMT_BENCH = MMTBench(
    key="mmt-bench",
    spec=_SPEC,
    about=_SPEC.about,
    cited=_SPEC.cite or "",
    name=_SPEC.name,
)
