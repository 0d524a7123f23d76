"""Multiple-choice questions: two people and a text-only model answer, an operator checks half, and a table leaves."""

import asyncio
import csv
import io
from base64 import b64decode
from collections import Counter
from datetime import UTC, datetime

import pytest
from pandas._libs.parsers import STR_NA_VALUES
from PIL import Image

from arena.authoring.board import due_checks, quality_rows
from arena.authoring.checks import DraftError
from arena.authoring.choices import EMPTY_CELLS, letter_in, shuffle_options
from arena.authoring.events import (
    BlindAnswer,
    Check,
    DraftEvent,
    Failure,
    Instruction,
    Verification,
)
from arena.authoring.exports import ExportError, Exports
from arena.authoring.spec import ITEM_KINDS
from arena.authoring.state import DraftState, draft_state
from arena.seats.spec import CampaignError
from arena.types import Price
from tests.support.scripted_vlm import ScriptedVLM
from tests.support.writers import ANSWERS, Project

FAMILIES = [{"name": "counting", "group": "perception", "wanted": 2}, {"name": "ocr", "wanted": 2}]
CHOICE = {"kind": "multiple choice", "families": FAMILIES}
ASKED = Instruction(text="Which?", pictures=(), options=("a cat", "a dog", "a fox"), answer="B")
KIND = ITEM_KINDS["multiple choice"]


@pytest.fixture
def project(database, tmp_path) -> Project:
    return Project.on(database, tmp_path, **CHOICE)


def state(*values, verifiers: int = 1) -> DraftState:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    events = [DraftEvent(value, None, None, None, at) for value in values]
    return draft_state(events, verifiers, KIND)


def chose(letter: str) -> Verification:
    return Verification(said="correct" if letter == ASKED.answer else "answer", chosen=letter)


@pytest.mark.parametrize(
    "reply, letter",
    [
        ("B", "B"),
        (" **b** ", "B"),
        ("(C)", "C"),
        ("B. a dog", "B"),
        ("A dog.", "B"),
        ("I cannot see it. The answer is (C).", "C"),
        ("Option A or option B", None),
        ("A) or B)", None),
        ("**A** and **B**", None),
        ("A: no. B: yes.", None),
        ("A. a cat\nB. a dog", None),
        ("The answer is A or B", None),
        ("Answer: A, C", None),
        ("The answer is B, and I am sure.", "B"),
        ("The answer is B, A dog is shown.", "B"),
        ("B) because it barks", "B"),
        ("E.g., the answer is B", "B"),
        ("D", None),
        ("A dog, I would guess", None),
        ("There is no picture.", None),
        ("Option A is wrong, it's B", None),
        ("It can't be option A. B", None),
        ("A. No, the answer is B", None),
        ("It can't be option A", None),
        ("The wrong answer is A", None),
        ("I would rule out option C", None),
        ("Choice B isn't it", None),
        ("C: no", None),
        ("Option A does not fit", None),
        ("Option B or A if it sleeps", None),
        ("B. a cat", None),
        ("B. Not a cat, I think", None),
        ("I can't see the picture, so the answer is B.", "B"),
        ("The answer is B. A dog wouldn't sleep. I never saw plan D.", "B"),
    ],
)
def test_a_models_letter_is_read_where_it_is_sure(reply, letter):
    assert letter_in(reply, ASKED.options) == letter


def test_an_option_behind_its_letter_may_have_a_letter_itself():
    assert letter_in("B. Vitamin A.", ("Vitamin B", "Vitamin A")) == "B"
    assert letter_in("Answer: B. Vitamin A", ("Vitamin B", "Vitamin A")) == "B"
    assert letter_in("B) vitamin A, as in carrots", ("Vitamin B", "Vitamin A")) == "B"
    assert letter_in("B. Vitamin A or C", ("Vitamin B", "Vitamin A", "Vitamin C")) is None


def test_of_options_that_differ_in_case_alone_a_letter_tells():
    options = ("Iphone", "iPhone", "a dog")
    replies = ("iPhone", "B", "B. iPhone", "A. iphone", "a dog")
    assert [letter_in(reply, options) for reply in replies] == [None, "B", "B", "A", "C"]


def test_an_option_may_be_a_rejection():
    assert letter_in("A. No.", ("no", "not yet")) == "A"
    assert letter_in("B. Not yet", ("no", "not yet")) == "B"
    assert letter_in("A. No, there is none.", ("no", "not yet")) == "A"
    assert letter_in("Answer: B) Not yet, I think", ("no", "not yet")) == "B"
    assert letter_in("A. No, the answer is B", ("no", "not yet")) is None
    assert letter_in("A. Not at all", ("no", "not yet")) is None


def test_no_letter_is_right_more_often():
    keys = Counter(shuffle_options("right", ["x", "y", "z"])[1] for _ in range(400))
    assert set(keys) == set("ABCD") and max(keys.values()) < 160
    options, key = shuffle_options("right", ["x"])
    assert options["AB".index(key)] == "right"


def test_a_question_counts_if_somebody_else_chooses_its_key():
    assert state(ASKED).step == "verify"
    assert state(ASKED, chose("B")).step == "accepted"
    other = state(ASKED, chose("C"))
    assert (other.step, other.fault) == ("rejected", "answer")
    assert state(ASKED, Verification(said="harm")).fault == "harm"
    assert state(ASKED, chose("C"), chose("B"), verifiers=3).step == "verify"
    assert state(ASKED, chose("C"), chose("B"), chose("B"), verifiers=3).step == "accepted"


def test_an_operator_checks_an_accepted_question_once():
    accepted = (ASKED, chose("B"))
    assert state(ASKED, Check(said="correct")).check is None
    good = state(*accepted, Check(said="correct"), Check(said="answer"))
    assert (good.step, good.check) == ("accepted", "correct")
    poor = state(*accepted, Check(said="instruction"))
    assert (poor.step, poor.fault, poor.check) == ("rejected", "instruction", "instruction")


def test_what_a_model_gets_right_without_the_picture_is_marked():
    def blind(text: str) -> DraftState:
        return state(ASKED, BlindAnswer(text=text, model="m", prompt=""), chose("B"))

    assert [blind(text).needs_picture for text in ("B", "A", "Who knows?")] == [False, True, None]
    assert state(ASKED, Failure(model="m", why="down"), chose("B")).needs_picture is None


def test_the_text_only_model_answers_first_by_letters_and_within_the_budget(database, tmp_path):
    project = Project.on(database, tmp_path, blind_model="blind", budget=1.0, **CHOICE)
    ann, bob = project.seat("ann"), project.seat("bob")
    assert project.do(ann) == "instruction"
    assert project.store.draw(bob).step == "instruction", "the model answers before people do"
    (first, *_) = project.drafts
    vlm = ScriptedVLM("blind", first.state.instruction.answer, price=Price(2.0, 6.0))
    drafting = project.drafting(vlm)
    assert drafting.due(project.campaign) == [first.id]
    assert asyncio.run(drafting.answer(project.campaign, first.id)) == ""
    ((turn,),) = vlm.asked
    options = first.state.instruction.options
    assert f"{first.state.instruction.text}\nA. {options[0]}\nB. {options[1]}\n" in turn.text
    assert not turn.images and drafting.due(project.campaign) == []
    assert project.do(project.seat("cem")) == "verify"
    state = project.drafts[0].state
    assert (state.step, state.needs_picture, state.blind.cost) == ("accepted", False, 11)


def test_a_question_goes_on_without_a_model_that_fails(database, tmp_path):
    project = Project.on(database, tmp_path, blind_model="blind", **CHOICE)
    project.do(project.seat("ann"))
    drafting = project.drafting(ScriptedVLM("blind", fails=(0, "refused")))
    assert "it went wrong" in asyncio.run(drafting.answer(project.campaign, project.drafts[0].id))
    assert project.do(project.seat("bob")) == "verify"
    assert project.drafts[0].state.needs_picture is None


@pytest.mark.parametrize(
    "right, wrong, told",
    [
        (" ", ["x"], "The right answer is empty"),
        ("\u200b\u2800", ["x"], "The right answer is empty"),
        ("x", ["\u3164"], "The wrong answer is empty"),
        ("x", ["", " "], "has no wrong answer"),
        ("x", ["y", " x. "], "Two answers are the same: x"),
        ("3", ["4", "3"], "Two answers are the same: 3"),
        ("x", list("abcdef"), "has 7 answers. Keep 6 at most"),
        ("x", ["NA"], "read the answer NA as an empty cell"),
        ("n/a", ["y"], "read the answer n/a as an empty cell"),
        ("x" * 301, ["y"], "has 301 characters"),
    ],
)
def test_answers_that_make_no_question_are_told(project, right, wrong, told):
    ann = project.seat("ann")
    token = project.writing.next(ann).claim.token
    offered = [project.offer(ann, token, 1)]
    with pytest.raises(DraftError, match=told):
        project.writing.check_instruction(ann, token, "Which?", offered, right, wrong)
    with pytest.raises(DraftError, match="one picture, not 2"):
        two = [*offered, project.offer(ann, token, 2)]
        project.writing.check_instruction(ann, token, "Which?", two, "x", ["y"])


def test_no_answer_is_what_pandas_takes_for_an_empty_cell():
    assert STR_NA_VALUES - {""} == EMPTY_CELLS


def test_a_question_that_tells_its_answer_is_warned_of_and_a_choice_of_two_words_is_not(project):
    ann = project.seat("ann")
    token = project.writing.next(ann).claim.token
    offered = [project.offer(ann, token, 1)]

    def warned(text: str) -> bool:
        return bool(
            project.writing.check_instruction(ann, token, text, offered, "red", ["blue"]).warnings
        )

    assert warned("Which colour is the red ball?") and not warned("Is it red or blue?")


def test_nobody_answers_an_own_question_and_a_wrong_choice_is_no_error(project):
    ann, bob = project.seat("ann"), project.seat("bob")
    assert [project.do(ann), project.do(ann)] == ["instruction", "instruction"]
    with pytest.raises(DraftError, match="Choose an answer, or say"):
        project.do(bob, "E")
    key = project.drafts[0].state.instruction.answer
    assert project.do(bob, next(one for one in "ABCD" if one != key)) == "verify"
    assert project.drafts[0].state.fault == "answer"
    assert project.do(bob) == "verify" and project.drafts[1].state.step == "accepted"


def test_a_family_gets_more_than_it_wants_once_every_family_has_that(database, tmp_path):
    families = [{"name": "a", "wanted": 1, "most": 2}, {"name": "b", "wanted": 2}]
    project = Project.on(database, tmp_path, kind="multiple choice", families=families)
    ann = project.seat("ann")
    while project.do(ann):
        pass
    assert [draft.family for draft in project.drafts] == ["a", "b", "b", "a"]


def test_half_of_each_family_is_checked_and_the_sheet_says_what_was_found(database, tmp_path):
    families = [FAMILIES[0] | {"wanted": 4}, FAMILIES[1]]
    project = Project.on(database, tmp_path, kind="multiple choice", families=families)
    ann, bob = project.seat("ann"), project.seat("bob")
    for _ in range(6):
        project.do(ann)
    faults = iter(["correct", "correct", "instruction", "correct", "correct", "correct"])
    for said in faults:
        project.do(bob, said)
    drafts = due_checks(project.drafts, project.campaign)
    assert Counter(draft.family for draft in drafts) == {
        family: (number + 1) // 2
        for family, number in Counter(
            one.family for one in project.drafts if one.state.step == "accepted"
        ).items()
    }
    project.projects.check(project.campaign, drafts[0].id, "correct")
    project.projects.check(project.campaign, drafts[1].id, "answer")
    outside = next(one.id for one in project.drafts if one not in drafts)
    for number in (drafts[1].id, outside):
        with pytest.raises(DraftError, match="to check. Someone may have checked it"):
            project.projects.check(project.campaign, number, "correct")
    left = due_checks(project.drafts, project.campaign)
    assert {one.id for one in left} == {one.id for one in drafts[2:]}
    *_, total = quality_rows(project.drafts, project.campaign.spec)
    assert (total.family, total.accepted, total.wanted, total.checked) == ("", 4, len(drafts), 2)
    assert (total.same_as_key.hits, total.same_as_key.n, total.good.hits, total.good.n) == (
        5,
        6,
        1,
        2,
    )
    assert (total.spread, total.chance) == (0.0, None)


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"model": "writer"}, "questions have none. Name the text-only model as blind_model."),
        ({"kind": "essay"}, "kind"),
        ({"samples": [{"picture": "a", "instruction": "b"}]}, "Use qualify.items"),
        ({"kind": "captions", "families": [{"name": "a", "others": ["b"]}]}, "wrong answers"),
    ],
)
def test_a_project_of_questions_that_cannot_be_is_told(database, tmp_path, changes, told):
    with pytest.raises(CampaignError, match=told):
        Project.on(database, tmp_path, **{**CHOICE, **changes})


def table(folder) -> list[dict[str, str]]:
    csv.field_size_limit(10**7)
    return list(csv.DictReader(io.StringIO((folder / "pets.tsv").read_text()), delimiter="\t"))


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("visibility", ["open", "sealed"])
def test_accepted_questions_leave_with_the_toolkits_columns(database, tmp_path, visibility, texts):
    project = Project.on(database, tmp_path, visibility=visibility, **CHOICE)
    ann, bob = project.seat("ann"), project.seat("bob")
    for _ in range(3):
        project.do(ann)
    for said in ("correct", "picture"):
        project.do(bob, said)
    exports = Exports(project.store, project.writing.pictures)
    exported = exports.write(project.campaign, "tsv", tmp_path / "out", texts)
    assert (exported.items, exported.left_out) == (1, {"rejected": 1, "not finished": 1})
    (row,) = table(tmp_path / "out")
    written = project.drafts[0].state.instruction
    assert (row["index"], row["question"], row["hint"]) == ("1", written.text, "")
    assert tuple(row[letter] for letter in "ABCDEF") == (*written.options, "", "")
    assert sorted(written.options) == sorted(ANSWERS)
    is_kept = visibility == "sealed" and not texts
    assert row["answer"] == ("" if is_kept else written.answer)
    assert (row["category"], row["l2-category"]) == ("counting", "perception")
    assert row["split"] == ("test" if visibility == "sealed" else "dev")
    assert (row["source"], row["comment"]) == ("https://example.org/photo", "Ada, CC BY")
    assert Image.open(io.BytesIO(b64decode(row["image"]))).size == (90, 80)


def test_each_kind_leaves_in_its_own_forms(database, tmp_path, project):
    exports = Exports(project.store, project.writing.pictures)
    for form in ("bank", "hub", "visit"):
        with pytest.raises(ExportError, match="Write --as tsv"):
            exports.write(project.campaign, form, tmp_path / "out")
    other = Project.on(database, tmp_path, name="captions")
    with pytest.raises(ExportError, match="Write --as bank, hub or visit"):
        exports.write(other.campaign, "tsv", tmp_path / "out")
