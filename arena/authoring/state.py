"""Draft state: computed out of a draft's events alone. An event that comes at another step changes nothing.

So what somebody did who took consent back can be left out of the events: the draft is again where it was before.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from arena.authoring.events import (
    BlindAnswer,
    Captions,
    DraftAnswer,
    DraftEvent,
    Failure,
    Fault,
    Instruction,
    Judged,
    Reject,
    Verification,
)

Step = Literal["instruction", "caption", "answer", "verify", "accepted", "rejected"]
STEPS: tuple[Step, ...] = ("instruction", "caption", "answer", "verify")
"""Those at which somebody has to act."""
MOST_ROUNDS = 2
"""Captions of a draft, and answers to a caption: with a fault in the last one the draft is rejected."""
_GRAVEST: tuple[Judged, ...] = (
    "harm",
    "picture",
    "instruction",
    "caption",
    "answer",
    "not told",
    "correct",
)


@dataclass(frozen=True)
class DraftState:
    """Where a draft stands, and what counts of it."""

    step: Step = "instruction"
    fault: Fault | None = None
    """Of a rejected draft."""
    instruction: Instruction | None = None
    captions: tuple[str, ...] = ()
    answer: DraftAnswer | None = None
    """captions, answer: the last ones, those with a fault until others come."""
    blind: BlindAnswer | None = None
    verdicts: tuple[Verification, ...] = ()
    """Of that answer."""
    judgements: tuple[Judged, ...] = ()
    """What the verifiers of each answer said together, the first answer first."""
    rounds: int = 0
    """Captions so far."""
    answers: int = 0
    """To these captions."""
    failure: str = ""
    """Why the model has no answer to these captions."""

    @property
    def is_open(self) -> bool:
        return self.step in STEPS

    @property
    def needs_picture(self) -> bool | None:
        """Whether the item cannot be answered blindly; None where that was not tried, or is not verified."""
        told = [
            verdict.blind_correct for verdict in self.verdicts if verdict.blind_correct is not None
        ]
        return 2 * sum(told) <= len(told) if told and self.step == "accepted" else None

    def is_for_model(self, model: str) -> bool:
        """Whether the project's model answers now: the first answer to each caption, if it can."""
        return self.step == "answer" and bool(model) and not self.answers and not self.failure


def draft_state(events: Iterable[DraftEvent], verifiers: int) -> DraftState:
    """Where a draft stands after its events, in order."""
    state = DraftState()
    for event in events:
        state = _after(state, event, verifiers)
    return state


def _after(state: DraftState, event: DraftEvent, verifiers: int) -> DraftState:
    match state.step, event.value:
        case "accepted" | "instruction" | "caption" | "answer" | "verify", Reject(fault=fault):
            return replace(state, step="rejected", fault=fault)
        case "instruction", Instruction() as written:
            return replace(state, step="caption", instruction=written)
        case "caption", Captions(texts=texts):
            fresh = replace(state, answer=None, answers=0, failure="", verdicts=())
            return replace(fresh, step="answer", captions=texts, rounds=state.rounds + 1)
        case "answer", Failure(why=why):
            return replace(state, failure=why)
        case "answer", DraftAnswer() as answer:
            return replace(
                state, step="verify", answer=answer, answers=state.answers + 1, verdicts=()
            )
        case "caption" | "answer" | "verify", BlindAnswer() as blind if not state.verdicts:
            return replace(state, blind=blind)
        case "verify", Verification() as verdict:
            return _judged(replace(state, verdicts=(*state.verdicts, verdict)), verifiers)
    return state


def _judged(state: DraftState, verifiers: int) -> DraftState:
    if len(state.verdicts) < verifiers:
        return state
    said = majority([verdict.said for verdict in state.verdicts])
    state = replace(state, judgements=(*state.judgements, said))
    if said == "correct":
        return replace(state, step="accepted")
    if said == "caption" and state.rounds < MOST_ROUNDS:
        return replace(state, step="caption")
    if said == "answer" and state.answers < MOST_ROUNDS:
        return replace(state, step="answer")
    return replace(state, step="rejected", fault=said)


def majority(said: Sequence[Judged]) -> Judged:
    """What most say; of several that as many say, the gravest."""
    counts = Counter(said)
    return max(counts, key=lambda one: (counts[one], -_GRAVEST.index(one)))
