"""Where a draft stands, computed from its events: by every way through, and after any events whatever."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.authoring.events import (
    JUDGED,
    AnyValue,
    BlindAnswer,
    Captions,
    DraftAnswer,
    DraftEvent,
    Failure,
    Instruction,
    ItemPicture,
    Pass,
    Reject,
    Verification,
)
from arena.authoring.spec import ProjectSpec
from arena.authoring.state import MOST_ROUNDS, DraftState, draft_state, majority
from arena.seats.spec import read_spec
from tests.support.examples import examples
from tests.support.writers import SPEC

ASKED = Instruction(text="What is it?", pictures=(ItemPicture(url="https://example.org/1.png"),))
TOLD, SAID = Captions(texts=("a dog",)), DraftAnswer(text="A dog.")
PEOPLE = read_spec(ProjectSpec, SPEC)
MODEL = PEOPLE.model_copy(update={"model": "m"})
BLIND = BlindAnswer(text="A cat.", model="blind", prompt="")


def judged(said: str, blind: bool | None = None) -> Verification:
    return Verification.model_validate({"said": said, "blind_correct": blind})


def state(*values: AnyValue, verifiers: int = 1) -> DraftState:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return draft_state([DraftEvent(value, None, None, None, at) for value in values], verifiers)


def test_every_step_follows_from_the_one_before():
    ways = [
        (),
        (ASKED,),
        (ASKED, TOLD),
        (ASKED, TOLD, SAID),
        (ASKED, TOLD, SAID, judged("correct")),
    ]
    assert [state(*way).step for way in ways] == [
        "instruction",
        "caption",
        "answer",
        "verify",
        "accepted",
    ]


@pytest.mark.parametrize("fault", ["harm", "picture", "instruction", "not told"])
def test_what_nobody_can_mend_is_rejected(fault):
    found = state(ASKED, TOLD, SAID, judged(fault))
    assert (found.step, found.fault) == ("rejected", fault)


def test_a_fault_in_the_caption_returns_once():
    way = (ASKED, TOLD, SAID, judged("caption"))
    assert state(*way).step == "caption"
    again = (*way, Captions(texts=("a grey wolf",)), DraftAnswer(text="A wolf."))
    assert (state(*again).captions, state(*again).step) == (("a grey wolf",), "verify")
    last = state(*again, judged("caption"))
    assert (last.step, last.fault, last.judgements) == (
        "rejected",
        "caption",
        ("caption", "caption"),
    )


def test_a_fault_in_the_answer_returns_once_for_each_caption_and_a_person_writes_then():
    way = (ASKED, TOLD, DraftAnswer(text="A cat.", model="m"), judged("answer"))
    assert state(*way).step == "answer" and not state(*way).is_for_model(MODEL)
    assert state(*way, SAID, judged("answer")).step == "rejected"
    fresh = (*way, SAID, judged("caption"), TOLD)
    assert state(*fresh).is_for_model(MODEL), "another caption is another question"
    assert state(*fresh, SAID, judged("answer")).step == "answer"


def test_after_a_failure_of_the_model_a_person_writes():
    way = (ASKED, TOLD)
    assert state(*way).is_for_model(MODEL) and not state(*way).is_for_model(PEOPLE)
    failed = state(*way, Failure(model="m", why="the server's content filter stopped the answer"))
    assert failed.step == "answer" and not failed.is_for_model(MODEL)
    assert (
        state(*way, Failure(model="m", why="refused"), SAID, judged("correct")).step == "accepted"
    )


def test_of_three_verifiers_most_decide_and_of_as_many_the_gravest():
    way = (ASKED, TOLD, SAID)
    two = (*way, judged("correct"), judged("correct"))
    assert state(*two, verifiers=3).step == "verify"
    assert state(*two, judged("caption"), verifiers=3).step == "accepted"
    assert majority(["correct", "answer", "caption"]) == "caption"
    assert majority(["harm", "correct", "correct"]) == "correct"
    assert majority(["not told", "harm", "picture"]) == "harm"


def test_an_item_that_is_answered_blindly_needs_no_picture():
    way = (ASKED, TOLD, SAID, BLIND)
    assert state(*way, judged("correct", True)).needs_picture is False
    assert state(*way, judged("correct", False)).needs_picture is True
    assert state(ASKED, TOLD, SAID, judged("correct")).needs_picture is None


def test_an_operator_takes_an_accepted_item_out():
    found = state(
        ASKED, TOLD, SAID, judged("correct"), Reject(fault="picture", note="licence withdrawn")
    )
    assert (found.step, found.fault) == ("rejected", "picture")


VALUES = st.one_of(
    st.just(ASKED),
    st.just(TOLD),
    st.just(SAID),
    st.just(BLIND),
    st.just(Pass(reason="no time")),
    st.just(Failure(model="m", why="down")),
    st.sampled_from(JUDGED).map(judged),
)


@settings(max_examples=examples(150))
@given(st.lists(VALUES, max_size=25), st.sampled_from([1, 3]))
def test_events_that_do_not_fit_change_nothing_and_no_order_breaks_the_rules(values, verifiers):
    fitting: list[AnyValue] = []
    for value in values:
        before, after = (
            state(*fitting, verifiers=verifiers),
            state(*fitting, value, verifiers=verifiers),
        )
        if after != before:
            fitting.append(value)
            assert before.is_open, "what is decided stays"
    end = state(*values, verifiers=verifiers)
    assert end == state(*fitting, verifiers=verifiers)
    assert (
        end.rounds <= MOST_ROUNDS
        and end.answers <= MOST_ROUNDS
        and len(end.judgements) <= MOST_ROUNDS**2
    )
    assert len(end.verdicts) <= verifiers
    if end.step == "accepted":
        assert (
            len(end.verdicts) == verifiers
            and majority([one.said for one in end.verdicts]) == "correct"
        )
        assert end.instruction and end.captions and end.answer
    assert (end.step == "rejected") == (end.fault is not None)
