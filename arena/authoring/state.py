"""Draft state: computed out of a draft's events alone. An event that comes at another step changes nothing.

So what somebody did who took consent back can be left out of the events: the draft is again where it was before.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from arena.authoring.choices import letter_in
from arena.authoring.events import (
    BlindAnswer,
    Captions,
    Check,
    DraftAnswer,
    DraftEvent,
    Failure,
    Fault,
    Instruction,
    Judged,
    Reject,
    Verification,
)
from arena.authoring.kinds import ITEM_KINDS, STEPS, ItemKind, Step
from arena.authoring.spec import ProjectSpec

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
    """Why the model that people wait for has no answer."""
    check: Judged | None = None
    """What an operator said of the accepted item; None: unchecked."""

    @property
    def is_open(self) -> bool:
        return self.step in STEPS

    @property
    def blind_is_right(self) -> bool | None:
        """Whether the model that had no picture chose the right option; None where it chose none, or has no options."""
        if not (self.blind and self.instruction and self.instruction.options):
            return None
        letter = letter_in(self.blind.text, self.instruction.options)
        return None if letter is None else letter == self.instruction.answer

    @property
    def needs_picture(self) -> bool | None:
        """Whether the item cannot be answered blindly; None where that was not tried, or is not verified."""
        if (right := self.blind_is_right) is not None:
            return not right if self.step == "accepted" else None
        told = [
            verdict.blind_correct for verdict in self.verdicts if verdict.blind_correct is not None
        ]
        return 2 * sum(told) <= len(told) if told and self.step == "accepted" else None

    def is_for_model(self, spec: ProjectSpec) -> bool:
        """Whether people wait for the project's model: it answers once to each caption or question, if it can."""
        answered = self.blind if spec.is_choice else self.answers
        is_its_turn = bool(spec.first_model) and self.step == spec.item_kind.model_step
        return is_its_turn and not answered and not self.failure


def draft_state(
    events: Iterable[DraftEvent], verifiers: int, kind: ItemKind = ITEM_KINDS["captions"]
) -> DraftState:
    """Where a draft stands after its events, in order."""
    state = DraftState()
    for event in events:
        state = _after(state, event, verifiers, kind)
    return state


def _after(state: DraftState, event: DraftEvent, verifiers: int, kind: ItemKind) -> DraftState:
    match state.step, event.value:
        case _, Reject() | Check() as said:
            return _by_operator(state, said)
        case "instruction", Instruction() as written:
            return replace(state, step=kind.steps[1], instruction=written)
        case "caption", Captions(texts=texts):
            fresh = replace(state, answer=None, answers=0, failure="", verdicts=())
            return replace(fresh, step="answer", captions=texts, rounds=state.rounds + 1)
        case step, Failure(why=why) if step == kind.model_step:
            return replace(state, failure=why)
        case "answer", DraftAnswer() as answer:
            return replace(
                state, step="verify", answer=answer, answers=state.answers + 1, verdicts=()
            )
        case "caption" | "answer" | "verify", BlindAnswer() as blind if not state.verdicts:
            return replace(state, blind=blind)
        case "verify", Verification() as verdict:
            return _judged(replace(state, verdicts=(*state.verdicts, verdict)), verifiers, kind)
    return state


def _by_operator(state: DraftState, value: Reject | Check) -> DraftState:
    match state.step, value:
        case "rejected", _:
            return state
        case _, Reject(fault=fault):
            return replace(state, step="rejected", fault=fault)
        case "accepted", Check(said="correct"):
            return replace(state, check="correct")
        case "accepted", Check(said=fault) if fault != "correct" and state.check is None:
            return replace(state, check=fault, step="rejected", fault=fault)
    return state


def _judged(state: DraftState, verifiers: int, kind: ItemKind) -> DraftState:
    if len(state.verdicts) < verifiers:
        return state
    said = majority([verdict.said for verdict in state.verdicts])
    state = replace(state, judgements=(*state.judgements, said))
    if said == "correct":
        return replace(state, step="accepted")
    if said == "caption" and state.rounds < MOST_ROUNDS:
        return replace(state, step="caption")
    if said == "answer" in kind.steps and state.answers < MOST_ROUNDS:
        return replace(state, step="answer")
    return replace(state, step="rejected", fault=said)


def majority(said: Sequence[Judged]) -> Judged:
    """What most say; of several that as many say, the gravest."""
    counts = Counter(said)
    return max(counts, key=lambda one: (counts[one], -_GRAVEST.index(one)))
