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
from scoring.benchmarks.choice import MultipleChoice
from scoring.benchmarks.choice_figures import (
    Cells,
    ChoiceFigures,
    Known,
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
L2 = SPEC.names_of("l2_in_file")
L2_WORDS = SPEC.names_of("l2_in_words")
L3 = grouped((group, ability) for ability, group in L2_OF.items())
"""Abilities of the third level by those of the second."""
L1_OF = SPEC.names_of("l1")
L1 = grouped((name, group) for group, name in L1_OF.items())
_ABILITIES: Known = {
    name: {group: dict.fromkeys(L3[group], {}) for group in groups} for name, groups in L1.items()
}
ABILITY_WORDS = {name: name.replace("_", " ").capitalize() for name in (*L1, *L2_OF)}
ABILITY_WORDS["ocr"] = "OCR"
_V11 = re.compile(r"v1[._]?1(?!\d)", re.IGNORECASE)
_SPLIT = re.compile(r"(?<![a-z])(?:(dev|val|validation)|test)(?![a-z])", re.IGNORECASE)
_WHOLE_FILE = "all"
SIZES: Mapping[str, tuple[int, ...]] = {"dev": (1_164, 1_176), "test": (1_784, 1_798)}
"""Number of questions in MMBench's splits, English and Chinese: in today's files, and in the first edition."""
CCBENCH = 510
_CCBENCH = SPEC.names_of("edition")
"""CCBench's categories."""
_SIZED: tuple[Edition, ...] = ("MMBench", "MMBench-CN")
_OF_OTHERS: tuple[Edition, ...] = ("CCBench", "Multiple choice")
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
class PublishedTable:
    """A row of Table 5 (dev) or 6 (test): CircularEval, percentages, under the L-2 names."""

    table: int
    split: str
    model: str
    scores: Mapping[str, float]
    chosen_by: ChosenBy


def edition(questions: Sequence[ChoiceQuestion], file: str = "") -> Edition:
    """The edition, by abilities, then by language, file name and the official service's index ranges."""
    if _are_mostly(questions, lambda question: question.category in _CCBENCH):
        return "CCBench"
    if not _are_mostly(questions, lambda question: ability(question) in L3):
        return "Multiple choice"
    highest = max(question.index % PASS for question in questions)
    chinese = _are_mostly(questions, lambda question: language(question) == "Chinese")
    if highest < 3000 and not _V11.search(file):
        return "MMBench-CN" if chinese else "MMBench"
    return "MMBench-CN v1.1" if chinese else "MMBench v1.1"


def _are_mostly(
    questions: Sequence[ChoiceQuestion], has_property: Callable[[ChoiceQuestion], bool]
) -> bool:
    return 2 * sum(map(has_property, questions)) > len(questions)


def size(name: Edition, split: str, present: int) -> int | None:
    """Number of questions in a split of an edition, for a file with `present` questions; None if unknown.

    `split` is any text with its name. A file with fewer questions than every split lacks some, in any split.
    """
    sizes = (CCBENCH,) if name == "CCBench" else ()
    if name in _SIZED:
        match = _SPLIT.search(split)
        smallest = min(map(min, SIZES.values()))
        sizes = SIZES["dev" if match[1] else "test"] if match else (smallest,)
    return next((known for known in sizes if present <= known), None)


class _Gaps:
    """A file's missing questions: the rows of a question file, or their number in its edition."""

    def __init__(self, report: ChoiceReport, question_circles: Sequence[Circle]) -> None:
        questions = [row.question for row in report.rows]
        self.edition: Edition = edition(questions, report.file)
        self._bases = {question.index % PASS for question in questions}
        has_passes = is_circular(questions)
        incomplete = set()
        if has_passes:
            incomplete = {
                circle.index for circle in question_circles if circle.outcome == "incomplete"
            }
        missing = []
        for question in report.missing or ():
            is_needed_pass = has_passes and (
                question.index % PASS in incomplete or not self._has(question)
            )
            if question.index < PASS or is_needed_pass:
                missing.append(question)
        self.missing = tuple(missing)
        self._lacking: dict[str, list[Cells]] = {}
        """An edition's questions without a base row, by split; what they are about isn't known."""
        self.problems: tuple[Problem, ...] = ()
        if report.missing is not None:
            self.problems = self._of_questions()
        elif report.file and self.edition != "Multiple choice":
            self.problems = self._of_edition(questions, report.file)
        is_short = any(problem.blocks == "whole" for problem in self.problems)
        self.partial = bool(incomplete) or is_short

    def _has(self, question: ChoiceQuestion) -> bool:
        return question.index % PASS in self._bases

    def _of_questions(self) -> tuple[Problem, ...]:
        missing = {question.index % PASS for question in self.missing}
        if not missing:
            return ()
        known = sorted(self.missing, key=lambda question: question.index)
        total = len(missing | self._bases)
        return (missing_problem(len(missing), total, "the question file", known),)

    def _of_edition(self, questions: Sequence[ChoiceQuestion], file: str) -> tuple[Problem, ...]:
        bases = {question.index for question in questions if question.index < PASS}
        problems = []
        for split, split_text, members in file_splits(questions, file, _SPLIT, _WHOLE_FILE):
            present = {question.index % PASS for question in members}
            is_sized = split_text is not None or self.edition == "CCBench"
            known = size(self.edition, split_text or "", len(present)) if is_sized else None
            edition_split = " ".join(filter(None, (self.edition, split)))
            if known is None:
                text = (
                    f"{edition_split}: {len(present):,} questions, not checked against an edition."
                )
                problems.append(Problem(0, None, text, "nothing"))
                continue
            unknown = [f"{split} {number}" for number in range(known - len(present))]
            without_base = [*map(str, present - bases), *unknown]
            self._lacking[split] = [_cells("", "", number) for number in without_base]
            if known > len(present):
                problems.append(missing_problem(known - len(present), known, edition_split, None))
        return tuple(sorted(problems, key=lambda problem: problem.blocks != "whole"))

    def cells(self, split: str) -> list[Cells]:
        """The base rows that the file lacks of a split, or of all."""
        of_questions = [
            _question_cells(question)
            for question in self.missing
            if question.index < PASS and question.answer and split in (_WHOLE_FILE, question.split)
        ]
        of_edition = [
            cells
            for part, lacking in self._lacking.items()
            if split in (_WHOLE_FILE, part)
            for cells in lacking
        ]
        return of_questions + of_edition


def _circular_problems(
    questions: Sequence[ChoiceQuestion],
    unscored: Sequence[ChoiceQuestion],
    question_circles: Sequence[Circle],
    compare: bool,
) -> tuple[Problem, ...]:
    """Problems that prevent CircularEval; passes are compared if no question file confirms them.

    `unscored` are rows of the file without a known right answer.
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
    return (
        *gaps(question_circles, unscored),
        *(rotation_problems(questions) if compare else ()),
        *missing_bases(questions),
    )


def _unknown(questions: Sequence[ChoiceQuestion]) -> tuple[Problem, ...]:
    """Problems of categories other than the paper's abilities, in editions with these abilities."""
    if edition(questions) in _OF_OTHERS:
        return ()
    text = "The category {!r} is no ability of MMBench. It has its own row."
    strange = sorted(
        {question.named_category for question in questions if question.category not in L2_OF}
    )
    return tuple(Problem(0, None, text.format(name), "nothing") for name in strange)


def _split_scores(
    split: str, answered: Sequence[Decided], is_complete: bool, protocol: Protocol, gaps: _Gaps
) -> MMBenchScores:
    """The accuracies of a split, or of the whole file; vanilla alone unless every question has its passes."""
    by_index = sorted(answered, key=lambda row: row.question.index)
    first: dict[int, ChoiceQuestion] = {}
    for row in by_index:
        first.setdefault(row.question.index % PASS, row.question)
    chosen = [
        row for row in by_index if split in (_WHOLE_FILE, first[row.question.index % PASS].split)
    ]
    cells = [
        {
            **_question_cells(first[row.question.index % PASS]),
            "pass": str(row.question.index // PASS),
        }
        for row in chosen
    ]
    rows = choice_rows(chosen, cells, gaps.cells(split))
    figures = ChoiceFigures(SPEC.figures, protocol)

    def tree(figure: str) -> Node:
        def line(level: str, name: str, members: ScoredRows) -> ScoreLine:
            return figures.line(figure, members, name)

        return group_tree(line, rows, ["l1", "l2", "category"], _ABILITIES, with_blank=False)

    vanilla = tree("vanilla accuracy")
    circular = tree("CircularEval") if is_complete else None
    return MMBenchScores(split, circular or vanilla, vanilla, circular)


def _question_cells(question: ChoiceQuestion) -> Cells:
    number = str(question.index % PASS)
    return _cells(ability(question), question.named_category, number)


def _cells(l2: str, category: str, question_no: str) -> Cells:
    """The groups of a question's base row."""
    return {
        "l1": L1_OF.get(l2, ""),
        "l2": l2,
        "category": category,
        "question_no": question_no,
        "pass": "0",
    }


def ability(question: ChoiceQuestion) -> str:
    """A question's L-2 ability: the file's own, else that of its category; "" without either."""
    group = question.group
    return L2.get(group.lower(), group) if group else L2_OF.get(question.category, "")


def comparison(
    first: Sequence[Decided], second: Sequence[Decided], circular: bool
) -> tuple[Comparison, ...]:
    """McNemar's comparison of two models, Overall and by ability: over questions if circular, else over base rows."""

    def outcomes(rows: Sequence[Decided]) -> Mapping[int, Scored]:
        results = circles(rows) if circular else _base(rows)
        return {result.question.index % PASS: result for result in results}

    def names(question: ChoiceQuestion) -> tuple[str, ...]:
        group = ability(question)
        return L1_OF.get(group, ""), group, question.named_category

    return compare_groups(outcomes(first), outcomes(second), names)


def _base(rows: Iterable[Decided]) -> list[Decided]:
    return [row for row in rows if row.question.index < PASS]


@cache
def published() -> tuple[PublishedTable, ...]:
    """The rows of Tables 5 and 6, in their order."""
    return read_table(PublishedTable, "mmbench_published.csv", ("Overall", *L3))


class MMBench(MultipleChoice):
    """MMBench and its editions, with CircularEval if a file has all passes; also for files of no other benchmark."""

    def published_sheets(self) -> Sequence[Sheet]:
        tables = grouped((row.table, row) for row in published())
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
        wrong = undecided_is_wrong(report.protocol)
        scored = [row for row in rows if row.question.answer is not None]
        questions = [row.question for row in scored]
        question_circles = circles(scored, wrong, report.missing)
        unscored = [row.question for row in rows if row.question.answer is None]
        problems = _circular_problems(questions, unscored, question_circles, report.missing is None)
        is_complete = not any(problem.blocks == "circular" for problem in problems)
        if edition(questions) == "Multiple choice":  # it never has passes
            problems = tuple(problem for problem in problems if problem.text != _NO_PASSES)
        gaps = _Gaps(report, question_circles)
        splits = dict.fromkeys(question.split for question in questions)
        names = [*splits, _WHOLE_FILE] if len(splits) > 1 else list(splits)
        return ChoiceTables(
            protocol=report.protocol,
            splits=tuple(
                _split_scores(name, scored, is_complete, report.protocol, gaps) for name in names
            ),
            problems=(*gaps.problems, *problems, *_unknown(questions)),
            steps=count_steps(row.decision for row in rows),
            letters=letter_counts(rows),
            without_answer=len(rows) - len(scored),
            missing=gaps.missing,
            partial=gaps.partial,
        )

    def mcnemar_tables(self, first: ChoiceReport, second: ChoiceReport) -> list[ComparisonTable]:
        """Comparisons over base rows, and over whole questions if both files are circular."""
        reports = (first, second)
        comparisons = [
            ComparisonTable("base rows", comparison(first.rows, second.rows, circular=False))
        ]
        if all(self.tabulated(report).splits[-1].circular for report in reports):
            whole = comparison(first.rows, second.rows, circular=True)
            comparisons.append(ComparisonTable("whole questions", whole))
        return comparisons

    def called(self, questions: Sequence[ChoiceQuestion]) -> str:
        return edition(questions)

    def has_authors(self, questions: Sequence[ChoiceQuestion]) -> bool:
        return edition(questions) != "Multiple choice"

    def words(self, name: str) -> str:
        if name in L2_WORDS:
            return f"{L2_WORDS[name]} ({name})"
        return ABILITY_WORDS.get(name, name)

    def split_sheets(self, scores: MMBenchScores) -> Iterator[Sheet]:
        trees = self.trees(scores)
        way, first = next(iter(trees.items()))
        yield tree_sheet("levels", f"{way} by level", trees, "Ability", self.words)
        abilities = first.find("category")
        yield worst_sheet("Worst abilities first", abilities, "Ability", self.words)

    def trees(self, scores: MMBenchScores) -> Mapping[str, Node]:
        circular = {"CircularEval": scores.circular} if scores.circular else {}
        return {**circular, "Vanilla": scores.vanilla}

    def same_way(self, here: MMBenchScores, there: MMBenchScores) -> tuple[Node, Node]:
        """CircularEval if both are circular: whether a missing pass matters depends on the protocol."""
        if here.circular and there.circular:
            return here.circular, there.circular
        return here.vanilla, there.vanilla

    def totals(self, report: ChoiceReport) -> Sequence[Total]:
        splits = self.tabulated(report).splits
        trees = self.trees(splits[-1]) if splits else {}
        return [score_total(way, tree.line) for way, tree in trees.items()]

    def figures(self, report: ChoiceReport) -> Sequence[ScoreLine]:
        splits = self.tabulated(report).splits
        trees = self.trees(splits[-1]) if splits else {}
        return [replace(tree.line, name=way) for way, tree in trees.items()]

    def headline(self, report: ChoiceReport) -> ScoreLine | None:
        line = super().headline(report)
        tables = self.tabulated(report)
        circular = bool(tables.splits) and tables.splits[-1].circular
        return line and replace(line, name="CircularEval" if circular else "vanilla accuracy")

    def groups(self, report: ChoiceReport) -> Sequence[ScoreLine]:
        splits = self.tabulated(report).splits
        lines = (node.line for node in splits[-1].tree.find("l2")) if splits else ()
        return [replace(line, name=L2_WORDS.get(line.name, line.name)) for line in lines]

    def tested(self, question: ChoiceQuestion) -> tuple[str, ...]:
        group = ability(question)
        return (L2_WORDS.get(group, group or question.named_category),)

    def scored_answers(self, report: ChoiceReport) -> Sequence[ScoredAnswer]:
        """Every question by CircularEval, with its first wrong pass; else every base row."""
        tables = self.tabulated(report)
        if not tables.splits or not tables.splits[-1].circular:
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
        tables = self.tabulated(report)
        name = edition([row.question for row in report.rows], report.file)
        if name in _OF_OTHERS or not tables.splits or tables.partial:
            return None
        scores = tables.splits[-1]
        columns = ("Overall", *L2_WORDS)
        number = 6 if scores.split == "test" else 5
        rows = [row for row in published() if row.table == number]
        own = {
            node.line.name: node.line.mean
            for node in scores.tree.walk()
            if node.line.name in columns
        }
        reasons = []
        if scores.circular is None:
            reasons.append("this is vanilla accuracy, the table is CircularEval")
        if name != "MMBench":
            reasons.append(f"this is {name}, the table is MMBench")
        if scores.split != rows[0].split:
            reasons.append(
                f"these are questions of {scores.split or 'no split'}, the table is {rows[0].split}"
            )
        weighed = ", ".join(
            f"{row.model} ({row.scores['Overall']})"
            for row in rows
            if row.chosen_by == "likelihood"
        )
        if report.chosen_by == "likelihood":
            reasons.append(f"options were chosen by likelihood, in the table only for {weighed}")
        elif report.protocol != "mmbench-paper":
            reasons.append("the table's letters were read by the paper's protocol")
        published_rows = tuple(PublishedRow(row.model, row.scores) for row in rows)
        note = f"Options chosen by perplexity, not by generated text: {weighed}."
        return PublishedBoard(
            f"the paper's Table {number}", columns, published_rows, own, tuple(reasons), note=note
        )


MMBENCH = MMBench(
    key="mmbench",
    spec=SPEC,
    about=SPEC.about,
    cited=SPEC.cite or "",
    name=SPEC.name,
)
