"""MMT-Bench: accuracies of 162 subtasks in 32 meta-tasks, its different Overalls, boards by image type and capability.

The paper's Overall is a mean over subtasks for some models and over samples for others. Its Overall* is a mean over the
127 subtasks outside Visual Recognition. Each is computed under a different name.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    GroupOrder,
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
"""The published splits, the smallest first."""
_SPLIT = re.compile(r"(?<![a-z])(VAL|ALL|TEST)(?:idation)?(?![a-z])", re.IGNORECASE)
_SPEC = load_spec(OURS / "mmt-bench.yaml")
META_TASKS = _SPEC.names_of("meta_task_in_words")
"""The names of the 32 meta-tasks by their keys, in the toolkit's order."""
_ABBREVIATIONS = _SPEC.names_of("meta_task_in_csv")
"""Headings of the meta-tasks in the toolkit's `_acc.csv`."""
_CLUSTERS = sorted({*_SPEC.names_of("cluster").values()}, key=int)
_OVERALL_FIGURES = [name for name, figure in _SPEC.figures.items() if not figure.is_guess]
"""The spec's names of the figures in `Overalls`, in the same order."""
_RANDOM_FIGURES = [name for name, figure in _SPEC.figures.items() if figure.chance]
"""Those of random guesses."""
_FREQUENCY_FIGURES = [name for name, figure in _SPEC.figures.items() if figure.frequent]
"""Those of the most frequent right letter."""
_OVER_SUBTASKS = _OVERALL_FIGURES[0]
_OVER_SAMPLES = _OVERALL_FIGURES[1]


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
    """Number of its cluster in the paper's task map (Table A2)."""
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
    """A cluster of the paper's task map (Table A2): means over its subtasks, of the file and of both baselines."""

    own: ScoreLine
    random: ScoreLine
    frequency: ScoreLine


@dataclass(frozen=True)
class MMTBenchScores(SplitScores):
    """Accuracies of one split, or of all; `tree` has all 32 meta-tasks, each a mean over its subtasks."""

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
        tree = self.whole.tree
        subtask_names = sorted({node.line.name for node in tree.find("category") if node.line.n})
        meta_tasks = [node.line.name for node in tree.find("meta_task")]
        meta_task_heads = [_ABBREVIATIONS.get(key, key) for key in meta_tasks]
        rows = []
        for scores in self.splits:
            means = {(node.level, node.line.name): node.line.mean for node in scores.tree.walk()}
            cells = [scores.overall.samples.mean]
            cells += [means.get(("meta_task", key)) for key in meta_tasks]
            cells += [means.get(("category", name)) for name in subtask_names]
            rows.append((scores.split or "none", cells))
        return fractions_csv(["Overall", *meta_task_heads, *subtask_names], rows)


@dataclass(frozen=True)
class SuccessRow:
    """A row of Table A17, in percent; None for the paper's dash."""

    model: str
    step1: float | None
    """Answers read by their letters."""
    step2: float | None
    """Those, and answers read by an option's content."""
    step3: float | None
    """Those, and answers that the judge read."""
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
def published_rows() -> tuple[PublishedRow, ...]:
    """Table 2's totals."""
    return read_table(PublishedRow, "mmt_bench_published.csv", _TOTALS)


def recognises(questions: Sequence[ChoiceQuestion]) -> bool:
    """Whether most questions are of MMT-Bench's subtasks."""
    return 2 * sum(question.category in subtasks() for question in questions) > len(questions)


def samples_of_split(split: str) -> Counter[str] | None:
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


class _MissingSamples(NamedTuple):
    """The samples that a file lacks."""

    counts: Mapping[str, Counter[str]]
    """Number of samples without an answer, by split and subtask."""
    problems: tuple[Problem, ...]


_NONE_MISSING = _MissingSamples({}, ())


def _missing_of_question_file(missing: Sequence[ChoiceQuestion], answers: int) -> _MissingSamples:
    """The questions of the question file without an answer; `answers` is the number of those with one."""
    if not missing:
        return _NONE_MISSING
    counts: dict[str, Counter[str]] = {}
    for question in missing:
        split_counts = counts.setdefault(question.split, Counter())
        if question.answer is not None:  # the others can't be scored
            split_counts[question.named_category] += 1
    total = len(missing) + answers
    problem = missing_problem(len(missing), total, "the question file", missing)
    return _MissingSamples(counts, (problem,))


def _missing_of_published_splits(questions: Sequence[ChoiceQuestion], file: str) -> _MissingSamples:
    """The samples that a file lacks of its published splits, or of the smallest that fits if it names none."""
    counts: dict[str, Counter[str]] = {}
    problems = []
    for split in file_splits(questions, file, _SPLIT, ALL):
        present = Counter(question.named_category for question in split.questions)
        samples = samples_of_split(_fitting_split(present, split.published_text))
        if samples is None:
            text = (
                f"MMT-Bench {split.name or '(no split)'}: {present.total():,} questions, not checked "
                "against an edition."
            )
            problems.append(Problem(0, None, text, "nothing"))
            continue
        counts[split.name] = samples - present
        if missing := counts[split.name].total():
            edition_split = f"MMT-Bench {split.name}".rstrip()
            problems.append(missing_problem(missing, samples.total(), edition_split, None))
    gravest_first = sorted(problems, key=lambda problem: problem.blocks != "whole")
    return _MissingSamples(counts, tuple(gravest_first))


def _fitting_split(present: Counter[str], split_text: str | None) -> str:
    """The published split of a file with these samples of each subtask; "" if it fits none.

    Only the split that `split_text` names is tried or, if it names none, each split from the smallest. With None, as in
    `FileSplit.published_text`, no split fits.
    """
    if split_text is None:
        return ""
    match = _SPLIT.search(split_text)
    names = (match[1].upper(),) if match else _SPLITS
    for name in names:
        samples = samples_of_split(name)
        if samples and present <= samples:
            return name
    return ""


def _category_problems(rows: Sequence[Decided]) -> tuple[Problem, ...]:
    """Problems of categories that are no subtasks of the paper."""
    text = "The category {!r} is no subtask of MMT-Bench. It has its own row and counts in each Overall."
    unknown = sorted({row.question.named_category for row in rows} - subtasks().keys())
    return tuple(Problem(0, None, text.format(name), "nothing") for name in unknown)


def meta_task(question: ChoiceQuestion) -> str:
    """Key of a question's meta-task: the paper's for a known subtask, else the file's own."""
    paper_key = str(_SPEC.derive["meta_task"].derive_cell(question.named_category))  # never a list
    return paper_key or question.group or NO_CATEGORY


def _cells(subtask: str, own_meta_task: str) -> Cells:
    """The groups of a subtask's questions; `own_meta_task` is used if the paper doesn't have the subtask."""
    (derived,) = derived_rows(_SPEC, {"category": subtask})
    cells = {column: derived[column] for column in _SPEC.groups}
    return {**cells, "meta_task": cells["meta_task"] or own_meta_task}


def _split_scores(
    split: str, answered: Sequence[Decided], protocol: Protocol, missing: Counter[str]
) -> MMTBenchScores:
    """The accuracies of a split's answers, and both baselines; `missing` counts unanswered samples by subtask."""
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

    def line(level: str, name: str, members: ScoredRows) -> ScoreLine:
        # A subtask's score is a mean over its samples, those above it are means over subtasks.
        figure = _OVER_SAMPLES if level == NARROWEST else _OVER_SUBTASKS
        return figures.line(figure, members, name)

    def group_line(figure: str, column: str, name: str) -> ScoreLine:
        return figures.line(figure, rows.within(rows.mask_with_cells({column: name})), name)

    def board(column: str) -> tuple[ScoreLine, ...]:
        names = _largest_first(column)
        return tuple(group_line(_OVER_SUBTASKS, column, name) for name in names)

    clusters = [
        ClusterScores(
            own=group_line(_OVER_SUBTASKS, "cluster", name),
            random=group_line(_RANDOM_FIGURES[0], "cluster", name),
            frequency=group_line(_FREQUENCY_FIGURES[0], "cluster", name),
        )
        for name in _CLUSTERS
    ]
    return MMTBenchScores(
        split=split,
        tree=group_tree(line, rows, ["meta_task", "category"], _task_order(), _OVER_SUBTASKS),
        overall=Overalls(*(figures.line(name, rows) for name in _OVERALL_FIGURES)),
        image_types=board("image_type"),
        capabilities=board("capability"),
        clusters=tuple(clusters),
        random=Overalls(*(figures.line(name, rows) for name in _RANDOM_FIGURES)),
        frequency=Overalls(*(figures.line(name, rows) for name in _FREQUENCY_FIGURES)),
    )


def _task_order() -> GroupOrder:
    """The paper's subtasks by meta-task."""
    by_meta_task = grouped((subtask.meta_task, key) for key, subtask in subtasks().items())
    return {key: dict.fromkeys(by_meta_task[key], {}) for key in META_TASKS}


def _largest_first(column: str) -> list[str]:
    """The paper's groups of subtasks in a column, the one with most subtasks first."""
    subtask_counts = Counter(
        name for key in subtasks() for name in _SPEC.derive[column].derive_cell(key)
    )
    return [name for name, _ in subtask_counts.most_common()]


def _has_small_subtasks(splits: Sequence[MMTBenchScores]) -> bool:
    """Whether a subtask has so few scored answers that its score would reveal those of single answers."""
    lines = (node.line for scores in splits for node in scores.tree.find(NARROWEST))
    return any(0 < line.n - line.unscored < LEAST for line in lines)


def comparison(first: Sequence[Decided], second: Sequence[Decided]) -> tuple[Comparison, ...]:
    """McNemar's comparison of two runs over their shared questions: Overall, by meta-task and by subtask."""

    def group_names(question: ChoiceQuestion) -> tuple[str, str]:
        return (meta_task(question), question.named_category)

    first_rows = {row.question.index: row for row in first}
    second_rows = {row.question.index: row for row in second}
    return compare_groups(first_rows, second_rows, group_names, META_TASKS)


_OVERLAP_NOTE = "Means over subtasks; a subtask counts in every image type and capability it has."


def overall_sheet(scores: MMTBenchScores) -> Sheet:
    """The three Overalls beside those of guessing."""
    lines = zip(scores.overall, scores.random, scores.frequency, strict=True)
    rows = [
        {
            "name": own.name,
            "mean": own.mean,
            "mean_low": own.low,
            "mean_high": own.high,
            "random": random.mean,
            "frequency": frequent.mean,
        }
        for own, random, frequent in lines
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


def success_sheet(model: str, steps: StepCounts) -> Sheet:
    """The share of answers read after each step, beside Table A17, in percent."""
    own = SuccessRow(
        model=model,
        step1=steps.rate("letter"),
        step2=steps.rate("letter", "content"),
        step3=steps.rate("letter", "content", "judge"),
        refused=steps.refused,
    )
    rows = [{**asdict(own), "own": True}]
    rows += [{**asdict(row), "own": False} for row in published_success()]
    columns = (
        Column("model", "Model"),
        Column("step1", "Step 1: letters", "score"),
        Column("step2", "Step 2: and contents", "score"),
        Column("step3", "Step 3: and judge", "score"),
        Column("refused", "Refused", "score"),
    )
    title = "Answers read after each step, in percent"
    note = "Other rows: the paper's Table A17, on the whole benchmark."
    return Sheet("success", title, pd.DataFrame(rows), columns, note, "below", bold="own")


class MMTBench(MultipleChoice):
    """MMT-Bench, with the mean over subtasks as a report's headline."""

    def published_sheets(self) -> Sequence[Sheet]:
        return [models_sheet("published", "The paper's Table 2", _TOTALS, published_rows())]

    def tabulate(self, report: ChoiceReport) -> MMTBenchReport:
        """Accuracies of each split and of all, with both baselines on the same questions."""
        rows = report.rows
        scored = [row for row in rows if row.question.answer is not None]
        rows_by_split = grouped((row.question.split, row) for row in scored if row.question.split)
        questions = [row.question for row in rows]
        missing = _NONE_MISSING
        if report.missing is not None:
            missing = _missing_of_question_file(report.missing, len(rows))
        elif report.file:
            missing = _missing_of_published_splits(questions, report.file)
        parts = [
            _split_scores(split, split_rows, report.protocol, missing.counts.get(split, Counter()))
            for split, split_rows in rows_by_split.items()
        ]
        if rows_by_split:
            whole_name = ALL
        else:
            present = Counter(question.named_category for question in questions)
            whole_name = _fitting_split(present, report.file)
        split_names = {row.question.split for row in scored}
        is_single_split = len(split_names) == 1 and "" not in split_names
        if is_single_split and missing.counts.keys() <= rows_by_split.keys():
            # The same scores; computing them again takes long.
            whole = replace(parts[0], split=whole_name)
        else:
            all_missing = sum(missing.counts.values(), Counter[str]())
            whole = _split_scores(whole_name, scored, report.protocol, all_missing)
        return MMTBenchReport(
            protocol=report.protocol,
            splits=(*parts, whole),
            problems=(*missing.problems, *_category_problems(scored)),
            steps=count_steps(row.decision for row in rows),
            letters=letter_counts(rows),
            without_answer=len(rows) - len(scored),
            missing=tuple(report.missing or ()),
            partial=any(problem.blocks == "whole" for problem in missing.problems),
        )

    def mcnemar_tables(self, first: ChoiceReport, second: ChoiceReport) -> list[ComparisonTable]:
        """Comparisons over all questions, and over the 28 subtasks with several images (Figure 3)."""
        subtask_keys = subtasks_of_several_images()
        first_rows = [row for row in first.rows if row.question.category in subtask_keys]
        second_rows = [row for row in second.rows if row.question.category in subtask_keys]
        over_all = comparison(first.rows, second.rows)
        over_several_images = comparison(first_rows, second_rows)
        return [
            ComparisonTable("all questions", over_all),
            ComparisonTable("subtasks that take several images", over_several_images),
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
            yield line_sheet(key, title, lines, name, place="below", note=_OVERLAP_NOTE)
        title = "By cluster of the task map"
        clusters = [cluster.own for cluster in scores.clusters]
        yield line_sheet(
            "by-cluster", title, clusters, "Cluster", "cluster {}".format, place="folded"
        )

    def sheets(self, report: ChoiceReport) -> Sequence[Sheet]:
        return (
            *super().sheets(report),
            success_sheet(report.title, self.choice_tables(report).steps),
        )

    def totals(self, report: ChoiceReport) -> Sequence[Total]:
        splits = self.choice_tables(report).splits
        return [score_total(line.name, line) for line in splits[-1].overall] if splits else []

    def figures(self, report: ChoiceReport) -> Sequence[ScoreLine]:
        splits = self.choice_tables(report).splits
        if not splits:
            return []
        overall = splits[-1].overall
        return [overall.samples] if _has_small_subtasks(splits) else [*overall]

    def tables(self, report: ChoiceReport) -> Iterator[TreeTable]:
        """No tables where a subtask has few answers: a mean over subtasks would reveal their scores."""
        if not _has_small_subtasks(self.choice_tables(report).splits):
            yield from super().tables(report)

    def headline(self, report: ChoiceReport) -> ScoreLine | None:
        line = super().headline(report)
        return None if line is None else replace(line, name="mean over subtasks")

    def groups(self, report: ChoiceReport) -> Sequence[ScoreLine]:
        return [replace(line, name=meta_task_words(line.name)) for line in super().groups(report)]

    def tested_abilities(self, question: ChoiceQuestion) -> tuple[str, ...]:
        return (meta_task_words(meta_task(question)),)

    def published(self, report: ChoiceReport) -> PublishedBoard | None:
        """Table 2, with an Overall that is a mean over subtasks for some models and over samples for others."""
        tables = self.choice_tables(report)
        is_own = recognises([row.question for row in report.rows])
        if not tables.splits or tables.partial or not is_own:
            return None
        scores = tables.whole
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
        return PublishedBoard("the paper's Table 2", _TOTALS, published_rows(), own, tuple(reasons))


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
