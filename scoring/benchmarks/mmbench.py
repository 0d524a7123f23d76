"""MMBench: accuracies by ability on three levels, vanilla and CircularEval, and the paper's published rows.

Also for MMBench-CN, v1.1 and CCBench, and for any other questions with options: categories other than the paper's
abilities stay as they are.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from arena.sheets import Sheet
from arena.types import grouped
from scoring.benchmarks.article import (
    PublishedBoard,
    PublishedRow,
    ScoredAnswer,
    Total,
    models_sheet,
    score_total,
)
from scoring.benchmarks.base import read_table
from scoring.benchmarks.choice import MultipleChoice, TreePair
from scoring.benchmarks.choice_figures import (
    Cells,
    ChoiceFigures,
    GroupOrder,
    choice_rows,
    group_tree,
)
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.multiple_choice.circular_eval import (
    Circle,
    circles,
    gaps,
    is_circular,
    missing_bases,
    rotation_problems,
)
from scoring.multiple_choice.extract import language
from scoring.multiple_choice.metrics import (
    ChoiceTables,
    Comparison,
    ComparisonTable,
    Node,
    Scored,
    SplitScores,
    compare_groups,
    count_steps,
    file_splits,
    letter_counts,
    missing_problem,
    undecided_is_wrong,
)
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import PASS, ChoiceQuestion, ChosenBy, Decided, Protocol
from scoring.report import ScoreLine
from scoring.score_sheets import tree_sheet, worst_sheet
from scoring.specs.files import OURS, load_spec
from scoring.specs.scored_rows import ScoredRows

Edition = Literal[
    "MMBench", "MMBench-CN", "MMBench v1.1", "MMBench-CN v1.1", "CCBench", "Multiple choice"
]
"""The last is for questions other than MMBench's."""

SPEC = load_spec(OURS / "mmbench.yaml")
L2_OF = SPEC.names_of("l2")
"""An L-3 ability (a file's category) to its L-2 ability, in the paper's abbreviation."""
L2 = SPEC.names_of("l2_in_file")
"""A file's name of an L-2 ability, in small letters, to its abbreviation."""
L2_WORDS = SPEC.names_of("l2_in_words")
"""An abbreviation to the L-2 ability's full name."""
L3 = grouped((l2, l3) for l3, l2 in L2_OF.items())
"""The L-3 abilities of each L-2 ability."""
L1_OF = SPEC.names_of("l1")
"""An L-2 ability to its L-1 ability."""
L1 = grouped((l1, l2) for l2, l1 in L1_OF.items())
"""The L-2 abilities of each L-1 ability."""
_ABILITIES: GroupOrder = {
    l1: {l2: dict.fromkeys(L3[l2], {}) for l2 in l2s} for l1, l2s in L1.items()
}
ABILITY_WORDS = {name: name.replace("_", " ").capitalize() for name in (*L1, *L2_OF)}
"""Names of L-1 and L-3 abilities in words."""
ABILITY_WORDS["ocr"] = "OCR"
_V11 = re.compile(r"v1[._]?1(?!\d)", re.IGNORECASE)
_V11_FROM = 3_000
"""Lowest index that only v1.1 has, by the official service's index ranges."""
_SPLIT = re.compile(r"(?<![a-z])(?:(dev|val|validation)|test)(?![a-z])", re.IGNORECASE)
"""The name of a split in a text, such as MMBench_DEV_EN; group 1 is None for test."""
_WHOLE_FILE = "all"
"""The name of a file's splits together."""
SIZES: Mapping[str, tuple[int, ...]] = {"dev": (1_164, 1_176), "test": (1_784, 1_798)}
"""Number of questions in MMBench's splits, the same in both languages: in today's files, then in the first ones."""
CCBENCH_SIZE = 510
_CCBENCH_CATEGORIES = SPEC.names_of("edition")
_SIZED_EDITIONS: tuple[Edition, ...] = ("MMBench", "MMBench-CN")
"""Editions with the SIZES."""
_WITHOUT_ABILITIES: tuple[Edition, ...] = ("CCBench", "Multiple choice")
"""Editions without the paper's abilities, and so without its tables."""
_NO_PASSES = "The file has base rows only and no rotated passes, so it's scored as vanilla."


@dataclass(frozen=True)
class MMBenchScores(SplitScores):
    """Accuracies of one split, or of all; `tree` is circular if the file is."""

    vanilla: Node
    """Accuracies over base rows."""
    circular: Node | None
    """Accuracies over questions; None if the file has no passes, or not all of them."""


@dataclass(frozen=True)
class PublishedResult:
    """A row of Table 5 (dev) or 6 (test): CircularEval, in percent, by L-2 ability and Overall."""

    table: int
    """Number of the table in the paper."""
    split: str
    model: str
    scores: Mapping[str, float]
    chosen_by: ChosenBy


def edition(questions: Sequence[ChoiceQuestion], file: str = "") -> Edition:
    """The edition, by abilities, then by language, file name and highest index."""
    if _are_mostly(questions, lambda question: question.category in _CCBENCH_CATEGORIES):
        return "CCBench"
    if not _are_mostly(questions, lambda question: l2_ability(question) in L3):
        return "Multiple choice"
    highest_index = max(question.index % PASS for question in questions)
    is_chinese = _are_mostly(questions, lambda question: language(question) == "Chinese")
    if highest_index < _V11_FROM and not _V11.search(file):
        return "MMBench-CN" if is_chinese else "MMBench"
    return "MMBench-CN v1.1" if is_chinese else "MMBench v1.1"


def _are_mostly(
    questions: Sequence[ChoiceQuestion], has_property: Callable[[ChoiceQuestion], bool]
) -> bool:
    return 2 * sum(map(has_property, questions)) > len(questions)


def size(name: Edition, split: str, present: int) -> int | None:
    """Number of questions in a split of an edition, for a file with `present` questions; None if unknown.

    `split` is any text with its name. If the text names no split, the smallest split's size counts: a file with fewer
    questions lacks some.
    """
    for known_size in _known_sizes(name, split):
        if present <= known_size:
            return known_size
    return None


def _known_sizes(name: Edition, split: str) -> tuple[int, ...]:
    """The numbers of questions that a split of an edition may have, the smallest first."""
    if name == "CCBench":
        return (CCBENCH_SIZE,)
    if name not in _SIZED_EDITIONS:
        return ()
    match = _SPLIT.search(split)
    if not match:
        return (min(map(min, SIZES.values())),)
    is_dev = match[1] is not None
    return SIZES["dev"] if is_dev else SIZES["test"]


class _MissingQuestions:
    """The questions that a file lacks: rows of the question file; without one, their number by the edition's size."""

    def __init__(self, report: ChoiceReport, question_circles: Sequence[Circle]) -> None:
        questions = [row.question for row in report.rows]
        self._edition: Edition = edition(questions, report.file)
        self._present = {question.index % PASS for question in questions}
        self._has_passes = is_circular(questions)
        self._incomplete = {
            circle.index
            for circle in question_circles
            if self._has_passes and circle.outcome == "incomplete"
        }
        self.questions = tuple(filter(self._is_missing, report.missing or ()))
        """The missing rows of the question file, with the passes that a score needs."""
        self._edition_cells: dict[str | None, list[Cells]] = {}
        """By split, the base rows that the file lacks by its edition's size; what they are about isn't known.

        None stands for all splits together.
        """
        self.problems: tuple[Problem, ...] = ()
        if report.missing is not None:
            self.problems = self._question_file_problems()
        elif report.file and self._edition != "Multiple choice":
            self.problems = self._compare_with_edition(questions, report.file)
        is_short = any(problem.blocks == "whole" for problem in self.problems)
        self.is_partial = bool(self._incomplete) or is_short

    def _is_missing(self, question: ChoiceQuestion) -> bool:
        """Whether a row of the question file that the file lacks is a base row, or a pass that a score needs."""
        if question.index < PASS:
            return True
        base = question.index % PASS
        is_needed = base in self._incomplete or base not in self._present
        return self._has_passes and is_needed

    def _question_file_problems(self) -> tuple[Problem, ...]:
        missing = {question.index % PASS for question in self.questions}
        if not missing:
            return ()
        questions = sorted(self.questions, key=lambda question: question.index)
        total = len(missing | self._present)
        return (missing_problem(len(missing), total, "the question file", questions),)

    def _compare_with_edition(
        self, questions: Sequence[ChoiceQuestion], file: str
    ) -> tuple[Problem, ...]:
        """Fills `_edition_cells`, and returns the problems of the splits, the gravest first."""
        bases = {question.index for question in questions if question.index < PASS}
        problems = []
        for split in file_splits(questions, file, _SPLIT, _WHOLE_FILE):
            present = {question.index % PASS for question in split.questions}
            edition_split = " ".join(filter(None, (self._edition, split.name)))
            known_size = None
            # CCBench has a single split, so its size is known without a name.
            if split.published_text is not None or self._edition == "CCBench":
                known_size = size(self._edition, split.published_text or "", len(present))
            if known_size is None:
                text = (
                    f"{edition_split}: {len(present):,} questions, not checked against an edition."
                )
                problems.append(Problem(0, None, text, "nothing"))
                continue
            missing = known_size - len(present)
            # Nobody knows which questions these are, so each gets a text that is no question's number.
            made_up_numbers = [f"{split.name} {number}" for number in range(missing)]
            without_base_row = [*map(str, present - bases), *made_up_numbers]
            is_one_split = len({question.split for question in split.questions}) == 1
            self._edition_cells[split.name if is_one_split else None] = [
                _cells("", "", number) for number in without_base_row
            ]
            if missing:
                problems.append(missing_problem(missing, known_size, edition_split, None))
        return tuple(sorted(problems, key=lambda problem: problem.blocks != "whole"))

    def cells(self, split: str | None) -> list[Cells]:
        """The groups of the base rows that the file lacks of a split; None: of all splits."""
        cells = []
        for question in self.questions:
            is_base_row = question.index < PASS
            if is_base_row and question.answer and split in (None, question.split):
                cells.append(_question_cells(question))
        for edition_split, edition_cells in self._edition_cells.items():
            if split in (None, edition_split):
                cells += edition_cells
        return cells


def _circular_problems(
    questions: Sequence[ChoiceQuestion],
    unscored: Sequence[ChoiceQuestion],
    question_circles: Sequence[Circle],
    has_question_file: bool,
) -> tuple[Problem, ...]:
    """Problems that prevent CircularEval.

    `questions` are the file's rows with a right answer, `unscored` the others. Without a question file the passes of a
    question are compared with each other.
    """
    if not questions:
        text = "No row has a right answer. Letters are extracted, and nothing is scored."
        return (Problem(0, None, text, "circular"),)
    if not is_circular(questions):
        text = _NO_PASSES
        rotated = sum(question.index >= PASS for question in unscored)
        if rotated:
            text = (
                f"None of the {rotated:,} rotated passes has a usable right answer. Correct the column "
                "answer. Until then the file is scored as vanilla."
            )
        return (Problem(0, None, text, "circular"),)
    rotations = () if has_question_file else rotation_problems(questions)
    return (*gaps(question_circles, unscored), *rotations, *missing_bases(questions))


def _category_problems(questions: Sequence[ChoiceQuestion]) -> tuple[Problem, ...]:
    """Problems of categories other than the paper's abilities, in editions with these abilities."""
    if edition(questions) in _WITHOUT_ABILITIES:
        return ()
    text = "The category {!r} is no ability of MMBench. It has its own row."
    unknown = {question.named_category for question in questions if question.category not in L2_OF}
    return tuple(Problem(0, None, text.format(name), "nothing") for name in sorted(unknown))


def _split_scores(
    split: str | None,
    answered: Sequence[Decided],
    is_complete: bool,
    protocol: Protocol,
    missing: _MissingQuestions,
) -> MMBenchScores:
    """The accuracies of a split, or of the whole file if `split` is None; circular ones only if `is_complete`.

    All passes of a question are in the split and the groups of its first one.
    """
    by_index = sorted(answered, key=lambda row: row.question.index)
    first_passes: dict[int, ChoiceQuestion] = {}
    for row in by_index:
        first_passes.setdefault(row.question.index % PASS, row.question)
    split_rows = []
    cells = []
    for row in by_index:
        first_pass = first_passes[row.question.index % PASS]
        if split in (None, first_pass.split):
            split_rows.append(row)
            pass_number = str(row.question.index // PASS)
            cells.append({**_question_cells(first_pass), "pass": pass_number})
    rows = choice_rows(split_rows, cells, missing.cells(split))
    figures = ChoiceFigures(SPEC.figures, protocol)

    def tree(figure: str) -> Node:
        def line(level: str, name: str, members: ScoredRows) -> ScoreLine:
            return figures.line(figure, members, name)

        return group_tree(line, rows, ["l1", "l2", "category"], _ABILITIES, with_blank=False)

    vanilla = tree("vanilla accuracy")
    circular = tree("CircularEval") if is_complete else None
    name = _WHOLE_FILE if split is None else split
    return MMBenchScores(name, circular or vanilla, vanilla, circular)


def _question_cells(question: ChoiceQuestion) -> Cells:
    """The groups of a question's base row."""
    number = str(question.index % PASS)
    return _cells(l2_ability(question), question.named_category, number)


def _cells(l2: str, category: str, question_no: str) -> Cells:
    return {
        "l1": L1_OF.get(l2, ""),
        "l2": l2,
        "category": category,
        "question_no": question_no,
        "pass": "0",
    }


def l2_ability(question: ChoiceQuestion) -> str:
    """A question's L-2 ability: the file's own, else that of its category; "" without either."""
    own = question.group
    if own:
        return L2.get(own.lower(), own)
    return L2_OF.get(question.category, "")


def comparison(
    first: Sequence[Decided], second: Sequence[Decided], circular: bool
) -> tuple[Comparison, ...]:
    """McNemar's comparison of two models, Overall and by ability: over questions if circular, else over base rows."""

    def outcomes(rows: Sequence[Decided]) -> Mapping[int, Scored]:
        results = circles(rows) if circular else _base_rows(rows)
        return {result.question.index % PASS: result for result in results}

    def group_names(question: ChoiceQuestion) -> tuple[str, ...]:
        l2 = l2_ability(question)
        return (L1_OF.get(l2, ""), l2, question.named_category)

    return compare_groups(outcomes(first), outcomes(second), group_names)


def _base_rows(rows: Iterable[Decided]) -> list[Decided]:
    return [row for row in rows if row.question.index < PASS]


@cache
def published_rows() -> tuple[PublishedResult, ...]:
    """The rows of Tables 5 and 6, in their order."""
    return read_table(PublishedResult, "mmbench_published.csv", ("Overall", *L3))


class MMBench(MultipleChoice):
    """MMBench and its editions, with CircularEval if a file has all passes; also for files of no other benchmark."""

    def published_sheets(self) -> Sequence[Sheet]:
        tables = grouped((row.table, row) for row in published_rows())
        return [
            models_sheet(
                f"published-{number}",
                f"The paper's Table {number}: CircularEval, {rows[0].split}",
                ("Overall", *L3),
                [PublishedRow(row.model, row.scores) for row in rows],
            )
            for number, rows in tables.items()
        ]

    def tabulate(self, report: ChoiceReport) -> ChoiceTables[MMBenchScores]:
        rows = report.rows
        scored = [row for row in rows if row.question.answer is not None]
        questions = [row.question for row in scored]
        question_circles = circles(scored, undecided_is_wrong(report.protocol), report.missing)
        unscored = [row.question for row in rows if row.question.answer is None]
        has_question_file = report.missing is not None
        circular_problems = _circular_problems(
            questions, unscored, question_circles, has_question_file
        )
        is_complete = not any(problem.blocks == "circular" for problem in circular_problems)
        if edition(questions) == "Multiple choice":  # passes are not expected of it
            circular_problems = tuple(
                problem for problem in circular_problems if problem.text != _NO_PASSES
            )
        missing = _MissingQuestions(report, question_circles)
        splits: list[str | None] = [*dict.fromkeys(question.split for question in questions)]
        if len(splits) > 1:
            splits.append(None)
        return ChoiceTables(
            protocol=report.protocol,
            splits=tuple(
                _split_scores(split, scored, is_complete, report.protocol, missing)
                for split in splits
            ),
            problems=(*missing.problems, *circular_problems, *_category_problems(questions)),
            steps=count_steps(row.decision for row in rows),
            letters=letter_counts(rows),
            without_answer=len(rows) - len(scored),
            missing=missing.questions,
            partial=missing.is_partial,
        )

    def mcnemar_tables(self, first: ChoiceReport, second: ChoiceReport) -> list[ComparisonTable]:
        """Comparisons over base rows, and over whole questions if both files are circular."""
        over_base_rows = comparison(first.rows, second.rows, circular=False)
        tables = [ComparisonTable("base rows", over_base_rows)]
        if all(self.choice_tables(report).whole.circular for report in (first, second)):
            over_questions = comparison(first.rows, second.rows, circular=True)
            tables.append(ComparisonTable("whole questions", over_questions))
        return tables

    def edition_name(self, questions: Sequence[ChoiceQuestion]) -> str:
        return edition(questions)

    def is_scored_by_authors(self, questions: Sequence[ChoiceQuestion]) -> bool:
        return edition(questions) != "Multiple choice"

    def words(self, name: str) -> str:
        if name in L2_WORDS:
            return f"{L2_WORDS[name]} ({name})"
        return ABILITY_WORDS.get(name, name)

    def split_sheets(self, scores: MMBenchScores) -> Iterator[Sheet]:
        trees = self.trees(scores)
        headline_way = next(iter(trees))
        yield tree_sheet("levels", f"{headline_way} by level", trees, "Ability", self.words)
        abilities = trees[headline_way].find("category")
        yield worst_sheet("Worst abilities first", abilities, "Ability", self.words)

    def trees(self, scores: MMBenchScores) -> Mapping[str, Node]:
        if scores.circular is None:
            return {"Vanilla": scores.vanilla}
        return {"CircularEval": scores.circular, "Vanilla": scores.vanilla}

    def comparable_trees(self, own: MMBenchScores, other: MMBenchScores) -> TreePair:
        """CircularEval if both are circular, else vanilla; some protocols need passes that others can do without."""
        if own.circular and other.circular:
            return TreePair(own.circular, other.circular)
        return TreePair(own.vanilla, other.vanilla)

    def totals(self, report: ChoiceReport) -> Sequence[Total]:
        splits = self.choice_tables(report).splits
        trees = self.trees(splits[-1]) if splits else {}
        return [score_total(way, tree.line) for way, tree in trees.items()]

    def figures(self, report: ChoiceReport) -> Sequence[ScoreLine]:
        splits = self.choice_tables(report).splits
        trees = self.trees(splits[-1]) if splits else {}
        return [replace(tree.line, name=way) for way, tree in trees.items()]

    def headline(self, report: ChoiceReport) -> ScoreLine | None:
        line = super().headline(report)
        if line is None:
            return None
        is_circular = self.choice_tables(report).whole.circular is not None
        return replace(line, name="CircularEval" if is_circular else "vanilla accuracy")

    def groups(self, report: ChoiceReport) -> Sequence[ScoreLine]:
        splits = self.choice_tables(report).splits
        if not splits:
            return []
        lines = [node.line for node in splits[-1].tree.find("l2")]
        return [replace(line, name=L2_WORDS.get(line.name, line.name)) for line in lines]

    def tested_abilities(self, question: ChoiceQuestion) -> tuple[str, ...]:
        l2 = l2_ability(question)
        return (L2_WORDS.get(l2, l2 or question.named_category),)

    def scored_answers(self, report: ChoiceReport) -> Sequence[ScoredAnswer]:
        """Every question by CircularEval, with its first wrong pass; else every base row."""
        tables = self.choice_tables(report)
        if not tables.splits or not tables.whole.circular:
            return super().scored_answers(report)
        scored = [row for row in report.rows if row.question.answer is not None]
        question_circles = circles(scored, undecided_is_wrong(report.protocol), report.missing)
        answers = []
        for circle in question_circles:
            first = circle.passes[0]
            wrong_passes = [row for row in circle.passes if row.right is False]
            answered = wrong_passes[0] if wrong_passes else first
            answers.append(self.scored_answer(first, answered, circle.right))
        return answers

    def published(self, report: ChoiceReport) -> PublishedBoard | None:
        """Table 5 (dev) or 6 (test); None for a part of the questions."""
        tables = self.choice_tables(report)
        edition_name = edition([row.question for row in report.rows], report.file)
        if edition_name in _WITHOUT_ABILITIES or not tables.splits or tables.partial:
            return None
        scores = tables.whole
        columns = ("Overall", *L2_WORDS)
        number = 6 if scores.split == "test" else 5
        results = [result for result in published_rows() if result.table == number]
        own = {
            node.line.name: node.line.mean
            for node in scores.tree.walk()
            if node.line.name in columns
        }
        reasons = []
        if scores.circular is None:
            reasons.append("this is vanilla accuracy, the table is CircularEval")
        if edition_name != "MMBench":
            reasons.append(f"this is {edition_name}, the table is MMBench")
        table_split = results[0].split
        if scores.split != table_split:
            reasons.append(
                f"these are questions of {scores.split or 'no split'}, the table is {table_split}"
            )
        by_likelihood = ", ".join(
            f"{result.model} ({result.scores['Overall']})"
            for result in results
            if result.chosen_by == "likelihood"
        )
        if report.chosen_by == "likelihood":
            reasons.append(
                f"options were chosen by likelihood, in the table only for {by_likelihood}"
            )
        elif report.protocol != "mmbench-paper":
            reasons.append("the table's letters were read by the paper's protocol")
        return PublishedBoard(
            source=f"the paper's Table {number}",
            columns=columns,
            rows=tuple(PublishedRow(result.model, result.scores) for result in results),
            own=own,
            apart=tuple(reasons),
            note=f"Options chosen by perplexity, not by generated text: {by_likelihood}.",
        )


MMBENCH = MMBench(
    key="mmbench",
    spec=SPEC,
    about=SPEC.about,
    cited=SPEC.cite or "",
    name=SPEC.name,
)
