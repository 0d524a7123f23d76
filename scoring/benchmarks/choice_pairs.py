"""Two files of multiple-choice answers: whether they answer the same questions."""

from collections.abc import Sequence

from arena.types import folded
from scoring.multiple_choice.truths import plain_option
from scoring.multiple_choice.types import ChoiceQuestion, Decided


class ComparisonError(ValueError):
    """Two reports cannot be compared; the message says why."""


def check_pairs(first: Sequence[Decided], second: Sequence[Decided], worded_alike: bool) -> None:
    """Raise ComparisonError for files that share no question, or whose questions differ under one index.

    `worded_alike`: False for languages and modes, which word a question in their own ways.
    """
    known = {row.question.index: row.question for row in first}
    shared = [row.question for row in second if row.question.index in known and row.question.answer]
    if not shared:
        raise ComparisonError(
            "the files share no question with an answer; choose two files of one question set"
        )
    others = [one.index for one in shared if one.answer != known[one.index].answer]
    _check_none(others, "have another answer")
    if worded_alike:
        others = [one.index for one in shared if _asked(one) != _asked(known[one.index])]
        _check_none(others, "ask another question")


def _check_none(indices: Sequence[int], words: str) -> None:
    if indices:
        more = f" and {len(indices) - 1:,} more" if len(indices) > 1 else ""
        raise ComparisonError(
            f"index {indices[0]}{more} {words} in each file; choose two files of one question set"
        )


def _asked(question: ChoiceQuestion) -> tuple[str, Sequence[str]]:
    """What a question asks, however a table pads its cells, and in whatever order its options stand."""
    return folded(question.text), sorted(map(plain_option, question.options.values()))
