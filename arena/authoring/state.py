"""Draft state: computed from a draft's events alone. An event that doesn't belong to the draft's step changes nothing.

So the events of a person who withdraws consent can be dropped: the draft returns to its earlier state.
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
from arena.authoring.spec import ITEM_KINDS, STEPS, ItemKind, ProjectSpec, Step

MOST_ROUNDS = 2
"""The most captions of a draft, and answers to a caption; a fault in the last one rejects the draft."""
_GRAVEST_FIRST: tuple[Judged, ...] = (
    "harm",
    "picture",
    "instruction",
    "caption",
    "answer",
    "not told",
    "correct",
)
"""Judgements by gravity, for a tie between verifiers."""


@dataclass(frozen=True)
class DraftState:
    """The step of a draft, and its parts that count."""

    step: Step = "instruction"
    fault: Fault | None = None
    """The fault of a rejected draft."""
    instruction: Instruction | None = None
    captions: tuple[str, ...] = ()
    answer: DraftAnswer | None = None
    """captions, answer: the latest ones; a faulty one stays until it is replaced."""
    blind: BlindAnswer | None = None
    """The answer of a model without picture or caption."""
    verdicts: tuple[Verification, ...] = ()
    """The verdicts on the latest answer or, if people write no answers, on the question."""
    judgements: tuple[Judged, ...] = ()
    """The verifiers' joint judgement of each answer, in order."""
    rounds: int = 0
    """The number of captions so far."""
    answers: int = 0
    """The number of answers to these captions."""
    failure: str = ""
    """The reason why the model that people wait for has no answer."""
    check: Judged | None = None
    """An operator's judgement of the accepted item; None: unchecked."""

    @property
    def is_open(self) -> bool:
        return self.step in STEPS

    @property
    def blind_is_right(self) -> bool | None:
        """Whether the model without the picture chose the right option; None if it chose none, or there are no
        options.
        """
        if not (self.blind and self.instruction and self.instruction.options):
            return None
        letter = letter_in(self.blind.text, self.instruction.options)
        return None if letter is None else letter == self.instruction.answer

    @property
    def needs_picture(self) -> bool | None:
        """Whether the item cannot be answered blindly; None if nobody tried, or the item is not accepted."""
        if self.step != "accepted":
            return None
        if self.blind_is_right is not None:
            return not self.blind_is_right
        opinions = [verdict.blind_correct for verdict in self.verdicts]
        opinions = [opinion for opinion in opinions if opinion is not None]
        if not opinions:
            return None
        blind_is_correct = sum(opinions) > len(opinions) / 2
        return not blind_is_correct

    def is_for_model(self, spec: ProjectSpec) -> bool:
        """Returns whether people wait for the project's model, which answers each caption or question once."""
        is_answered = self.blind is not None if spec.is_choice else self.answers > 0
        is_its_turn = bool(spec.first_model) and self.step == spec.item_kind.model_step
        return is_its_turn and not is_answered and not self.failure


def draft_state(
    events: Iterable[DraftEvent], verifiers: int, kind: ItemKind = ITEM_KINDS["captions"]
) -> DraftState:
    """Returns the state of a draft after its events, in order."""
    state = DraftState()
    for event in events:
        state = _after_event(state, event, verifiers, kind)
    return state


def _after_event(
    state: DraftState, event: DraftEvent, verifiers: int, kind: ItemKind
) -> DraftState:
    match state.step, event.value:
        case _, Reject() | Check() as decision:
            return _after_decision(state, decision)
        case "instruction", Instruction() as instruction:
            step_after_instruction = kind.steps[1]
            return replace(state, step=step_after_instruction, instruction=instruction)
        case "caption", Captions(texts=texts):
            cleared = replace(state, answer=None, answers=0, failure="", verdicts=())
            return replace(cleared, step="answer", captions=texts, rounds=state.rounds + 1)
        case step, Failure(why=why) if step == kind.model_step:
            return replace(state, failure=why)
        case "answer", DraftAnswer() as answer:
            return replace(
                state, step="verify", answer=answer, answers=state.answers + 1, verdicts=()
            )
        case "caption" | "answer" | "verify", BlindAnswer() as blind if not state.verdicts:
            # Verifiers judge this answer too, so it can't change after the first verdict.
            return replace(state, blind=blind)
        case "verify", Verification() as verdict:
            return _after_verdict(
                replace(state, verdicts=(*state.verdicts, verdict)), verifiers, kind
            )
    return state


def _after_decision(state: DraftState, value: Reject | Check) -> DraftState:
    match state.step, value:
        case "rejected", _:
            return state
        case _, Reject(fault=fault):
            return replace(state, step="rejected", fault=fault)
        case "accepted", Check(said="correct"):
            return replace(state, check="correct")
        # A later check can't reject what an earlier one found correct.
        case "accepted", Check(said=fault) if fault != "correct" and state.check is None:
            return replace(state, check=fault, step="rejected", fault=fault)
    return state


def _after_verdict(state: DraftState, verifiers: int, kind: ItemKind) -> DraftState:
    """Returns the state after its latest verdict; it stays at its step until all verifiers have judged."""
    if len(state.verdicts) < verifiers:
        return state
    judgement = majority([verdict.said for verdict in state.verdicts])
    state = replace(state, judgements=(*state.judgements, judgement))
    if judgement == "correct":
        return replace(state, step="accepted")
    if judgement == "caption" and state.rounds < MOST_ROUNDS:
        return replace(state, step="caption")
    can_be_answered = "answer" in kind.steps and state.answers < MOST_ROUNDS
    if judgement == "answer" and can_be_answered:
        return replace(state, step="answer")
    return replace(state, step="rejected", fault=judgement)


def majority(judgements: Sequence[Judged]) -> Judged:
    """Returns the most frequent judgement; of several, the gravest."""
    counts: Counter[Judged] = Counter(judgements)
    most = max(counts.values())
    most_frequent: list[Judged] = [judgement for judgement in counts if counts[judgement] == most]
    return min(most_frequent, key=lambda judgement: _GRAVEST_FIRST.index(judgement))
