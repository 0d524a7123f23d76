"""Predictions that are no answer of a model: the reason, and the sentences about them before judging and in reports."""

from collections.abc import Iterable, Mapping

from arena.reasoning import Answer, answer_of
from arena.types import folded, grouped
from scoring.failures import NOTHING, failure

EMPTY = "empty"
_MOST_LISTED = 10


def no_answer(text: str, references: Iterable[str] = ()) -> str:
    """The reason why a prediction is no answer of a model; "" for an answer, and for a text like a reference's."""
    return no_answer_reason(answer_of(text), references)


def unscored_because(reason: str) -> str:
    """The words beside a prediction that has no score for this reason."""
    return f"not from the model: {reason}"


def no_answer_reason(answer: Answer, references: Iterable[str] = ()) -> str:
    """The reason as in `no_answer`, for a prediction that has been split into its reasoning and its answer."""
    reason = failure(answer)
    if reason is None:
        return ""
    text = _plain(answer.text)
    if text and text in map(_plain, references):
        return ""
    return EMPTY if reason == NOTHING else reason


def _plain(text: str) -> str:
    return folded(text).casefold().strip(" .")


def no_answer_sentences(reasons: Mapping[str, str], total: int, effect: str) -> tuple[str, ...]:
    """A sentence for each reason, with the first ids that have it, followed by the sentence `effect`.

    `reasons` are by the question's id; "" for a prediction that is an answer.
    """
    ids_by_reason = grouped((reason, id) for id, reason in reasons.items() if reason)
    return tuple(_sentence(reason, ids, total, effect) for reason, ids in ids_by_reason.items())


def _sentence(reason: str, ids: list[str], total: int, effect: str) -> str:
    first_ids = ", ".join(" ".join(id.split())[:80] for id in ids[:_MOST_LISTED])
    others = len(ids) - _MOST_LISTED
    more = f" and {others:,} more" if others > 0 else ""
    return f"{counted(reason, len(ids), total)}. {effect} Ids: {first_ids}{more}."


def counted(reason: str, times: int, total: int) -> str:
    """The number of predictions that are no answer of a model for this reason, in words."""
    if times == 1:
        return f"1 of the {total:,} answers isn't from the model ({reason})"
    return f"{times:,} of the {total:,} answers aren't from the model ({reason})"


UNSCORED = "Unscored, and not sent to the judge."
"""The treatment of such answers under the hardened and strict protocols."""
AS_THEY_ARE = "This protocol counts such answers like any others, as its paper did."
"""Their treatment under a paper's protocol."""
BEFORE_PROTOCOL = (
    "Such answers stay unscored and cost nothing. A paper's protocol counts them like any others."
)
"""Their treatment, before a protocol is chosen."""


def treatment(protocol: str) -> str:
    """The treatment of such answers under a protocol, as a sentence."""
    return UNSCORED if protocol in ("hardened", "strict") else AS_THEY_ARE
