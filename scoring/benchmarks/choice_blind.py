"""Multiple choice with right letters that are hidden on this server, or kept by a benchmark's authors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from scoring.benchmarks.submission import Form, ServerSubmission, SubmittedAnswer
from scoring.multiple_choice.circular_eval import is_circular, missing_passes
from scoring.multiple_choice.metrics import Node
from scoring.multiple_choice.reader import Problem, ReadFile, rotated_letter
from scoring.multiple_choice.types import LETTERS, NONE, PASS, Answered, ChoiceQuestion, Decided
from scoring.report import file_stem
from scoring.score_sheets import TreeTable
from scoring.specs.report import NO_GROUP

Questions = Mapping[int, ChoiceQuestion]
"""Questions by index."""


def questions_without_truths(questions: Questions, is_blind: Callable[[str], bool]) -> Questions:
    """The questions, without the right letters of the splits that `is_blind` names."""
    return {
        index: replace(question, answer=None) if is_blind(question.split) else question
        for index, question in questions.items()
    }


def file_with_truths(file: ReadFile[Answered], questions: Questions) -> ReadFile[Answered]:
    """The file with the question file's right letters.

    Its own problems are left out: they name rows, which could be tied to right letters. Rotated passes stay only if
    every question has all its passes, else a problem says that they were left out. A question is wrong if any of its
    passes is, so one with a single pass would tell whether that pass's letter is right.
    """
    rows = file.rows
    problems = ()
    if is_circular(row.question for row in rows) and _has_missing_passes(rows, questions):
        rows = tuple(row for row in rows if row.question.index < PASS)
        text = "not every question has all its passes, so the file is scored as vanilla"
        problems = (Problem(row=0, index=None, text=text, blocks="circular"),)
    rows_with_truths = tuple(
        replace(row, question=_with_truth(row.question, questions)) for row in rows
    )
    return replace(file, rows=rows_with_truths, problems=problems)


def _with_truth(question: ChoiceQuestion, questions: Questions) -> ChoiceQuestion:
    """The question with its right letter; that of a pass which isn't in the question file follows from its options."""
    known = questions.get(question.index)
    if known:
        return replace(question, answer=known.answer)
    base = questions[question.index % PASS]
    return replace(question, answer=rotated_letter(base, question.options))


def _has_missing_passes(rows: Sequence[Answered], questions: Questions) -> bool:
    """Whether a question of the file lacks a pass, by the question file or by the number of its options."""
    answered = [row.question for row in rows]
    present = {question.index for question in answered}
    bases = {index % PASS for index in present}
    missing = [index for index in questions if index not in present]
    missing += [question.index for question in missing_passes(questions, answered)]
    return any(index % PASS in bases for index in missing)


def choice_submission(
    form: Form | None, file: str, rows: Sequence[Decided]
) -> ServerSubmission | None:
    """The submission of splits without right letters; None if there are none, or no form for them."""
    splits_with_truths = {row.question.split for row in rows if row.question.answer}
    blind = [row for row in rows if row.question.split not in splits_with_truths]
    if form is None or not blind:
        return None
    splits = tuple(dict.fromkeys(row.question.split for row in blind))
    return ServerSubmission(form, file_stem(file), splits, [*submitted_answers(blind)])


def submitted_answers(rows: Sequence[Decided]) -> Iterator[SubmittedAnswer]:
    """Yields the answers as in VLMEvalKit's table, with "Z" for undecided ones.

    A JSON form has the answer itself if no letter was read.
    """
    used_letters = {letter for row in rows for letter in row.question.options}
    option_columns = sorted(used_letters, key=LETTERS.index)
    for row in rows:
        question = row.question
        letter = row.decision.letter
        cells = {
            "index": question.index,
            "question": question.text,
            **{column: question.options.get(column, "") for column in option_columns},
            "category": question.category,
            "l2-category": question.group,
            "split": question.split,
            "prediction": row.prediction,
            "opt": letter or NONE,
        }
        yield SubmittedAnswer(str(question.index), letter or row.prediction, cells)


class SplitTrees(NamedTuple):
    """The accuracies of a split, or of the whole file, by the way of counting."""

    split: str
    trees: Mapping[str, Node]


def split_table(splits: Sequence[SplitTrees], words: Callable[[str], str]) -> TreeTable:
    """The accuracies of a whole file, the last of `splits`, with the other splits below it if there are several."""
    *parts, whole = splits
    trees = whole.trees
    if len(parts) > 1:
        trees = {way: _tree_over_splits(tree, way, parts) for way, tree in trees.items()}
    trees_in_words = {way: _in_words(tree, words) for way, tree in trees.items()}
    return TreeTable("levels", "By level", "Level", trees_in_words)


def _tree_over_splits(whole: Node, way: str, parts: Sequence[SplitTrees]) -> Node:
    """The whole file's node with the splits' trees below it."""
    below = []
    for split, trees in parts:
        line = replace(trees[way].line, name=split or NO_GROUP)
        below.append(Node(line, "split", trees[way].children))
    return Node(whole.line, whole.level, tuple(below))


def _in_words(node: Node, words: Callable[[str], str]) -> Node:
    """A tree with its names in words."""
    line = replace(node.line, name=words(node.line.name))
    return Node(line, node.level, tuple(_in_words(child, words) for child in node.children))
