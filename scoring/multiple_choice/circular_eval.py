"""CircularEval (MMBench 4.1): a question is right if all its passes are right, which only a complete file can show.

The question file lists the passes of a question. Without one, the options show them: rotating options make a full turn,
and the last ones ("all of the above") may stay in place. If the options do not rotate, the number of passes is that of
other such questions.
"""

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
"""The most passes of a question: one for each option, and each option has a letter."""

Outcome = Literal["right", "wrong", "undecided", "incomplete"]
"""A wrong pass makes a question wrong. A missing pass, with no wrong one, leaves it incomplete."""
_MOST_LISTED = 8


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
    """The passes of a question after its base row: in pass k the options are rotated by k letters."""
    letters = list(question.options)
    texts = list(question.options.values())
    passes = []
    for number in range(1, len(letters)):
        rotated = texts[-number:] + texts[:-number]
        answer = None
        if question.answer is not None:
            answer = letters[(letters.index(question.answer) + number) % len(letters)]
        passes.append(
            replace(
                question,
                index=question.index + number * PASS,
                options=dict(zip(letters, rotated, strict=True)),
                answer=answer,
            )
        )
    return tuple(passes)


def missing_passes(
    questions: Mapping[int, ChoiceQuestion], answered: Sequence[ChoiceQuestion]
) -> Iterator[ChoiceQuestion]:
    """Yields the passes after the base row that answered questions lack.

    Yields nothing if the question file has passes, which then decide, or if the answers have none.
    """
    if not is_circular(answered) or is_circular(questions.values()):
        return
    for base, missing in _missing_numbers(_by_base(answered, attrgetter("index"))).items():
        for number, question in enumerate(rotations(questions[base]), 1):
            if number in missing:
                yield question


def circles(
    rows: Sequence[Decided],
    is_undecided_wrong: bool = False,
    missing: Iterable[ChoiceQuestion] | None = None,
) -> tuple[Circle, ...]:
    """Every question of a file with its passes, in the order of indices.

    `missing` are the question file's questions and passes without an answer; None if there is no question file. If an
    undecided pass counts as wrong, a question with one needs no other passes.
    """
    by_base = _by_base(rows, attrgetter("question.index"))
    missing_numbers: Mapping[int, Iterable[int]]
    if missing is None:
        questions = {base: [row.question for row in passes] for base, passes in by_base.items()}
        missing_numbers = _missing_numbers(questions)
    else:
        missing_numbers = grouped(
            (question.index % PASS, question.index // PASS) for question in missing
        )
    all_circles = []
    for base, passes in sorted(by_base.items()):
        numbers = tuple(sorted(set(missing_numbers.get(base, ()))))
        results = [row.right for row in passes]
        is_settled = is_undecided_wrong and None in results
        outcome = _outcome(results, is_incomplete=bool(numbers) and not is_settled)
        all_circles.append(Circle(base, tuple(passes), numbers, outcome))
    return tuple(all_circles)


def _by_base(rows: Iterable[T], index: Callable[[T], int]) -> Mapping[int, Sequence[T]]:
    """The passes of each question, in order."""
    passes_by_base = grouped((index(row) % PASS, row) for row in rows)
    return {base: sorted(passes, key=index) for base, passes in passes_by_base.items()}


def _outcome(passes: Sequence[bool | None], is_incomplete: bool) -> Outcome:
    if False in passes:
        return "wrong"
    if is_incomplete:
        return "incomplete"
    return "undecided" if None in passes else "right"


def _missing_numbers(
    questions: Mapping[int, Sequence[ChoiceQuestion]],
) -> Mapping[int, set[int]]:
    """Numbers of each question's missing passes, as far as the existing passes show them.

    If the options of questions do not rotate, those with equally many options have equally many passes. Their number is
    the largest that occurs.
    """
    missing = {}
    present_unrotated: dict[int, set[int]] = {}
    most_passes: dict[int, int] = {}
    for base, passes in questions.items():
        numbers = _missing_in_rotation(passes)
        if numbers is not None:
            missing[base] = numbers
            continue
        missing[base] = set()  # Keeps the order of questions until the largest number is known.
        present_unrotated[base] = {question.index // PASS for question in passes}
        option_count = len(passes[0].options)
        passes_shown = min(max(present_unrotated[base]) + 1, MOST_PASSES)
        most_passes[option_count] = max(most_passes.get(option_count, 0), passes_shown)
    for base, present in present_unrotated.items():
        option_count = len(questions[base][0].options)
        missing[base] = set(range(most_passes[option_count])) - present
    return missing


def _missing_in_rotation(passes: Sequence[ChoiceQuestion]) -> set[int] | None:
    """Numbers of the missing passes in a rotation of the options; None if the options do not rotate."""
    if len(passes) == 1 and passes[0].one_pass:
        return set()
    present = {question.index // PASS for question in passes}
    texts = [_options(question) for question in passes]
    # The last options may stay in place: first all options are tried as rotating, then ever fewer.
    for rotating_count in range(len(texts[0]), 0, -1):
        head = texts[0][:rotating_count]
        tail = texts[0][rotating_count:]
        turn = [[*head[shift:], *head[:shift], *tail] for shift in range(rotating_count)]
        if all(options in turn for options in texts):
            has_enough = len(present) >= rotating_count
            is_full_turn = has_enough and all(options in texts for options in turn)
            if is_full_turn:  # nothing is missing, whatever numbers the passes have
                return set()
            return set(range(rotating_count)) - present
    return None


def _options(question: ChoiceQuestion) -> list[str]:
    return [plain_option(text) for text in question.options.values()]


def gaps(
    question_circles: Sequence[Circle], unscored: Iterable[ChoiceQuestion] = ()
) -> tuple[Problem, ...]:
    """Problems, one per question, that prevent a file's scoring as circular.

    `unscored` passes are in the file, but have no right answer that can be used.
    """
    unscored_numbers = grouped(
        (question.index % PASS, question.index // PASS) for question in unscored
    )
    return tuple(
        Problem(
            row=circle.question.row,
            index=circle.index,
            text=_gap_text(circle, unscored_numbers.get(circle.index, ())),
            blocks="circular",
        )
        for circle in question_circles
        if circle.outcome == "incomplete"
    )


def _gap_text(circle: Circle, unscored: Collection[int]) -> str:
    """The text of a problem: the missing passes of a question, and the passes without a right answer."""
    absent = [number for number in circle.missing if number not in unscored]
    without_answer = [number for number in circle.missing if number in unscored]
    lacks = []
    mends = []
    if absent:
        lacks.append(f"lacks {_passes_text(absent)}")
        mends.append("add them")
    if without_answer:
        lacks.append(f"has no usable right answer in {_passes_text(without_answer)}")
        mends.append("correct it")
    mend = " and ".join(mends).capitalize()
    return (
        f"Question {circle.index} {' and '.join(lacks)}, and no other pass is wrong, so it has no score. "
        f"{mend}, or score the file as vanilla."
    )


def missing_bases(questions: Iterable[ChoiceQuestion]) -> tuple[Problem, ...]:
    """Problems of questions with passes but no base row: vanilla cannot count them."""
    text = "Question {0} has passes and no base row. Add the row with index {0}."
    return tuple(
        Problem(row=passes[0].row, index=base, text=text.format(base), blocks="nothing")
        for base, passes in _by_base(questions, attrgetter("index")).items()
        if passes[0].index >= PASS
    )


def rotation_problems(questions: Iterable[ChoiceQuestion]) -> tuple[Problem, ...]:
    """Problems of passes whose options aren't those of the base row in some order, or whose answer is another."""
    problems = []
    for base, (first, *others) in _by_base(questions, attrgetter("index")).items():
        for question in others:
            if mismatch := _mismatch(first, question):
                number = question.index // PASS
                text = f"Pass {number} of question {base}: {mismatch}. Take both rows from one question file."
                problems.append(
                    Problem(row=question.row, index=question.index, text=text, blocks="circular")
                )
    return tuple(problems)


def _mismatch(first: ChoiceQuestion, other: ChoiceQuestion) -> str:
    """The reason why a row can't be a pass of the same question as the first pass; "" if it can."""
    if other.index // PASS >= MOST_PASSES:
        return f"a question has at most {MOST_PASSES} passes, one for each letter"
    texts = _options(first)
    other_texts = _options(other)
    if len(other_texts) != len(texts):
        return f"it has {len(other_texts)} options, and the base row has {len(texts)}"
    if sorted(other_texts) != sorted(texts):
        return "its options aren't the base row's in another order"
    if not first.answer or not other.answer:
        return ""
    if plain_option(first.options[first.answer]) != plain_option(other.options[other.answer]):
        other_text = other.options[other.answer]
        first_text = first.options[first.answer]
        return f"its right answer is {other_text[:40]!r}, and the base row's is {first_text[:40]!r}"
    return ""


def _passes_text(numbers: Sequence[int]) -> str:
    """Passes by their numbers, in words."""
    names = [
        "its base row" if number == 0 else f"pass {number}" for number in numbers[:_MOST_LISTED]
    ]
    if len(numbers) > _MOST_LISTED:
        others = len(numbers) - _MOST_LISTED
        names.append("1 more pass" if others == 1 else f"{others} more passes")
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
