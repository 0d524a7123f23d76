"""Predictions that are no answer of a model, by reason: how they are named before a judge is paid, and in reports."""

from collections.abc import Iterable, Mapping

from arena.reasoning import Answer, answer_of
from arena.types import folded, grouped
from scoring.failures import NOTHING, failure

NO_ANSWER = "no answer of a model"
EMPTY = "empty"
_SHOWN = 10


def no_answer(text: str, references: Iterable[str] = ()) -> str:
    """Why a prediction is no answer of a model; "" for an answer, and for what one of the references says too."""
    return reason_for(answer_of(text), references)


def reason_for(answer: Answer, references: Iterable[str] = ()) -> str:
    """The same of a prediction whose reasoning is off."""
    reason = failure(answer)
    if reason is None:
        return ""
    said = _plain(answer.text)
    if said and said in map(_plain, references):
        return ""
    return EMPTY if reason == NOTHING else reason


def _plain(text: str) -> str:
    return folded(text).casefold().strip(" .")


def named(reasons: Mapping[str, str], total: int, then: str) -> tuple[str, ...]:
    """A sentence for each reason, with the first ids that have it; `then` says what happens to them.

    `reasons` are by the question's id, "" for an answer.
    """
    ids = grouped((reason, id) for id, reason in reasons.items() if reason)
    return tuple(_sentence(reason, of, total, then) for reason, of in ids.items())


def _sentence(reason: str, ids: list[str], total: int, then: str) -> str:
    shown = ", ".join(" ".join(id.split())[:80] for id in ids[:_SHOWN])
    more = ", ..." if ids[_SHOWN:] else "."
    return f"{counted(reason, len(ids), total)}: id {shown}{more} {then}"


def counted(reason: str, times: int, total: int) -> str:
    """How many of the predictions are no answer of a model for this reason."""
    are = "is no answer" if times == 1 else "are no answers"
    return f"{times:,} of the {total:,} answers {are} of a model ({reason})"


UNSCORED = "Unscored, and not sent to the judge."
AS_THEY_ARE = "This protocol counts such an answer like any other, as its paper did."
BEFORE = (
    "Such an answer stays unscored and costs nothing; a paper's protocol counts it like any other."
)
"""What happens to them under the hardened and strict protocols, under a paper's, and before one is chosen."""


def fate(protocol: str) -> str:
    """What happens to them under a protocol."""
    return UNSCORED if protocol in ("hardened", "strict") else AS_THEY_ARE
