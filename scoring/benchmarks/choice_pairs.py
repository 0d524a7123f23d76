"""The check that two files of multiple-choice answers answer the same questions."""

from collections.abc import Sequence

from arena.types import folded
from scoring.multiple_choice.truths import plain_option
from scoring.multiple_choice.types import ChoiceQuestion, Decided


class ComparisonError(ValueError):
    """Two reports that cannot be compared; the message says why."""


def check_pairs(first: Sequence[Decided], second: Sequence[Decided], worded_alike: bool) -> None:
    """Raises ComparisonError for files without a shared question, or with different questions under the same index.

    `worded_alike` is False for languages and modes, which word a question differently.
    """
    known = {row.question.index: row.question for row in first}
    shared = [row.question for row in second if row.question.index in known and row.question.answer]
    if not shared:
        raise ComparisonError(
            "the files share no question with an answer; choose two files of one question set"
        )
    others = [
        question.index for question in shared if question.answer != known[question.index].answer
    ]
    _check_none(others, "have another answer")
    if worded_alike:
        others = [
            question.index
            for question in shared
            if _content(question) != _content(known[question.index])
        ]
        _check_none(others, "ask another question")


def _check_none(indices: Sequence[int], words: str) -> None:
    if indices:
        more = f" and {len(indices) - 1:,} more" if len(indices) > 1 else ""
        raise ComparisonError(
            f"index {indices[0]}{more} {words} in each file; choose two files of one question set"
        )


def _content(question: ChoiceQuestion) -> tuple[str, Sequence[str]]:
    """A question's text and options, without padding and without the options' order."""
    return folded(question.text), sorted(map(plain_option, question.options.values()))
