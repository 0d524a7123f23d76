"""CircularEval (MMBench 4.1): a question is right if all its passes are; only a complete file can show that.

The question file says which passes a question has. Without one, its options tell: those that move on make a full turn,
and the last ones ("all of the above") may stay in place. Where they do not rotate, other questions tell
how many there are.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from string import ascii_uppercase
from typing import Literal, TypeVar

from arena.types import grouped
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.truths import plain_option
from scoring.multiple_choice.types import PASS, ChoiceQuestion, Decided

T = TypeVar("T")
MOST_PASSES = len(ascii_uppercase)
"""A question has one pass per option, and each option has a letter."""

Outcome = Literal["right", "wrong", "undecided", "incomplete"]
"""A wrong pass makes a question wrong whatever is missing; a missing one, with none wrong, leaves it incomplete."""
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Circle:
    """A question with its passes."""

    index: int
    passes: tuple[Decided, ...]
    """Existing passes, in order."""
    missing: tuple[int, ...]
    """Numbers of the missing passes; 0 is the base row."""
    outcome: Outcome

    @property
    def question(self) -> ChoiceQuestion:
        """The first existing pass, for the question's abilities and split."""
        return self.passes[0].question

    @property
    def right(self) -> bool | None:
        return {"right": True, "wrong": False}.get(self.outcome)


def is_circular(questions: Iterable[ChoiceQuestion]) -> bool:
    return any(question.index >= PASS for question in questions)


def rotations(question: ChoiceQuestion) -> tuple[ChoiceQuestion, ...]:
    """The passes of a question after its base row: in pass k the options have moved on by k letters."""
    letters = list(question.options)
    texts = list(question.options.values())
    passes = []
    for number in range(1, len(letters)):
        moved = texts[-number:] + texts[:-number]
        place = (
            None
            if question.answer is None
            else (letters.index(question.answer) + number) % len(letters)
        )
        passes.append(
            replace(
                question,
                index=question.index + number * PASS,
                options=dict(zip(letters, moved, strict=True)),
                answer=None if place is None else letters[place],
            )
        )
    return tuple(passes)


def missing_passes(
    questions: Mapping[int, ChoiceQuestion], answered: Sequence[ChoiceQuestion]
) -> Iterator[ChoiceQuestion]:
    """The passes that answers lack, of those that they have some of, where the question file has base rows alone."""
    if not is_circular(answered) or is_circular(questions.values()):
        return
    for base, numbers in _missing(_by_base(answered, attrgetter("index"))).items():
        passes = rotations(questions[base])
        yield from (one for number, one in enumerate(passes, 1) if number in numbers)


def circles(
    rows: Sequence[Decided],
    undecided_wrong: bool = False,
    missing: Iterable[ChoiceQuestion] | None = None,
) -> tuple[Circle, ...]:
    """Every question of a file with its passes, in the order of indices.

    `missing` are the question file's questions and passes without an answer; None if there is no question file. With
    `undecided_wrong` a question with an undecided pass needs no other passes, like one with a wrong pass.
    """
    by_base = _by_base(rows, attrgetter("question.index"))
    if missing is None:
        lacking = _missing(
            {base: [row.question for row in passes] for base, passes in by_base.items()}
        )
    else:
        lacking = grouped((question.index % PASS, question.index // PASS) for question in missing)
    found = []
    for base, passes in sorted(by_base.items()):
        gone = tuple(sorted({*lacking.get(base, ())}))
        known = [row.right for row in passes]
        ends = undecided_wrong and None in known
        outcome = _outcome(known, bool(gone) and not ends)
        found.append(Circle(base, tuple(passes), gone, outcome))
    return tuple(found)


def _by_base(rows: Iterable[T], index: Callable[[T], int]) -> Mapping[int, Sequence[T]]:
    """The passes of each question, in order."""
    found = grouped((index(row) % PASS, row) for row in rows)
    return {base: sorted(passes, key=index) for base, passes in found.items()}


def _outcome(passes: Sequence[bool | None], lacking: bool) -> Outcome:
    if False in passes:
        return "wrong"
    if lacking:
        return "incomplete"
    return "undecided" if None in passes else "right"


def _missing(questions: Mapping[int, Sequence[ChoiceQuestion]]) -> Mapping[int, set[int]]:
    """Numbers of each question's missing passes, as far as the others tell.

    A question whose options do not rotate has as many passes as any other such question of as many options.
    """
    found = {base: _left_of_turn(passes) for base, passes in questions.items()}
    others = {
        base: {one.index // PASS for one in questions[base]}
        for base, left in found.items()
        if left is None
    }
    most: Counter[int] = Counter()
    for base, there in others.items():
        options = len(questions[base][0].options)
        most[options] = max(most[options], min(max(there) + 1, MOST_PASSES))
    return {
        base: set(range(most[len(questions[base][0].options)])) - others[base]
        if left is None
        else left
        for base, left in found.items()
    }


def _left_of_turn(passes: Sequence[ChoiceQuestion]) -> set[int] | None:
    """Numbers of the passes that are missing in a rotation of the options; None if they do not rotate."""
    if len(passes) == 1 and passes[0].one_pass:
        return set()
    there = {question.index // PASS for question in passes}
    texts = [_options(question) for question in passes]
    for moving in range(len(texts[0]), 0, -1):
        head = texts[0][:moving]
        tail = texts[0][moving:]
        turn = [[*head[by:], *head[:by], *tail] for by in range(moving)]
        if all(moved in turn for moved in texts):
            whole = len(there) >= moving and all(moved in texts for moved in turn)
            return set() if whole else set(range(moving)) - there
    return None


def _options(question: ChoiceQuestion) -> list[str]:
    return [plain_option(text) for text in question.options.values()]


def gaps(found: Sequence[Circle], unscored: Iterable[ChoiceQuestion] = ()) -> tuple[Problem, ...]:
    """Problems, one per question, that keep a file from being scored as circular.

    `unscored` passes are in the file, and have no right answer that can be used.
    """
    there = grouped((question.index % PASS, question.index // PASS) for question in unscored)
    return tuple(
        Problem(one.question.row, one.index, _gap(one, there.get(one.index, ())), "circular")
        for one in found
        if one.outcome == "incomplete"
    )


def _gap(circle: Circle, unscored: Collection[int]) -> str:
    """What a question lacks: passes, or right answers beside those that are there."""
    absent = [number for number in circle.missing if number not in unscored]
    without = [number for number in circle.missing if number in unscored]
    lacks = [f"lacks {_passes(absent)}"] if absent else []
    lacks += [f"has no right answer that can be used in {_passes(without)}"] if without else []
    mend = " and ".join((["add them"] if absent else []) + (["correct it"] if without else []))
    told = f"question {circle.index} {' and '.join(lacks)} and no pass of it is wrong"
    return f"{told}; {mend}, or score the file as vanilla"


def missing_bases(questions: Iterable[ChoiceQuestion]) -> tuple[Problem, ...]:
    """Problems of questions with passes but no base row: vanilla cannot count them."""
    text = "question {0} has passes and no base row; add the row with index {0}"
    return tuple(
        Problem(first.row, base, text.format(base), "nothing")
        for base, (first, *_) in _by_base(questions, attrgetter("index")).items()
        if first.index >= PASS
    )


def rotation_problems(questions: Iterable[ChoiceQuestion]) -> tuple[Problem, ...]:
    """Problems of passes whose options are not a reordering of the base row's, or whose answer differs from it."""
    problems = []
    for base, (first, *others) in _by_base(questions, attrgetter("index")).items():
        for one in others:
            if wrong := _other_question(first, one):
                text = f"pass {one.index // PASS} of question {base}: {wrong}; take both rows from one question file"
                problems.append(Problem(one.row, one.index, text, "circular"))
    return tuple(problems)


def _other_question(first: ChoiceQuestion, other: ChoiceQuestion) -> str:
    """Why a pass is not the same question as the first one; "" if it is."""
    if other.index // PASS >= MOST_PASSES:
        return f"expected at most {MOST_PASSES} passes, as many as letters; correct the index {other.index}"
    texts = _options(first)
    moved = _options(other)
    if len(moved) != len(texts):
        return f"expected {len(texts)} options, found {len(moved)}"
    if sorted(moved) != sorted(texts):
        return "its options are not those of the base row in another order"
    right, other_right = (
        plain_option(question.options[question.answer]) if question.answer else None
        for question in (first, other)
    )
    if right and other_right and right != other_right:
        return f"its answer {other.answer} is another option than the base row's {first.answer}"
    return ""


def _passes(numbers: Sequence[int]) -> str:
    named = ["its base row" if number == 0 else f"pass {number}" for number in numbers[:_SHOWN]]
    if len(numbers) > _SHOWN:
        named.append(f"{len(numbers) - _SHOWN} more passes")
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
