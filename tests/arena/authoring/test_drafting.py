"""Answers by the operator's model: the paper's prompt, its price, who writes where there is none; the blind control."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from arena.authoring.drafting import draft_prompt, prompt_digest, prompt_file
from arena.authoring.events import BlindAnswer, DraftAnswer, Failure
from arena.authoring.tables import DRAFT_CLAIM
from arena.database import now
from arena.seats.spec import CampaignError
from arena.types import Price
from tests.support.scripted_vlm import ScriptedVLM
from tests.support.writers import CAPTION, Project

PAPER = (
    "Consider an image depicted by: A dog.’. Now, briefly follow this instruction, and you can add a short "
    "explanation: What is it?’. Response:"
)
DIGESTS = {
    "draft": "e789d74a9eee7c2bfa391d0ebd588f8e06889834e5bbdb13125b6afd3c549ba9",
    "draft_our_images": "ef445c2ddd6aeb3b6c626f03ed9592a0b1cdc83023445843321dc2addc1b9415",
    "blind_our": "7a6e2838cd98990e841edd39169e68e6eacdc4acd22169f66d36410dcbb4bd2f",
}


@pytest.fixture
def project(database, tmp_path) -> Project:
    return Project.on(database, tmp_path, model="writer")


def captioned(project: Project, people: str = "ab") -> int:
    """A draft that is written and captioned."""
    for person in people:
        project.do(project.seat(person))
    return project.drafts[-1].id


def test_the_prompt_is_the_papers_and_the_wording_for_several_images_is_ours():
    assert draft_prompt("What is it?", ["A dog."]) == (PAPER, "draft")
    text, name = draft_prompt("Which?", ["One.", "<instruction>"])
    assert (
        name == "draft_our_images"
        and "depicted by: Image 1: One.\nImage 2: <instruction>’. Now" in text
    )
    assert draft_prompt("What is it?", []) == ("What is it?", "blind_our")


@pytest.mark.parametrize("name", DIGESTS)
def test_a_prompt_is_the_one_that_was_stored_with_answers(name):
    assert prompt_digest(name) == hashlib.sha256(prompt_file(name)).hexdigest() == DIGESTS[name]


def test_answers_that_wait_for_anothers_reservation_come_all_the_same(project):
    """The budget has room for the worst case of one answer at a time, and what each costs is far below it."""
    drafts = [captioned(project, people) for people in ("ab", "cd", "ef")]
    vlm = ScriptedVLM("writer", "There is one ball.", price=Price(2.0, 6.0))
    most = project.drafting(vlm).most_cost(project.campaign.spec, project.drafts[0].state)
    drafting = project.drafting(vlm, dollars=1.5 * most / 1e6)

    async def all_at_once() -> list[str]:
        return await asyncio.gather(*(drafting.answer(project.campaign, draft) for draft in drafts))

    assert asyncio.run(all_at_once()) == ["", "", ""]
    assert all(draft.state.answer for draft in project.drafts)


def test_a_models_answer_is_stored_with_its_prompt_and_cost_and_nobody_acts(project):
    vlm = ScriptedVLM("writer", "There is one ball.", price=Price(2.0, 6.0))
    drafting, draft = project.drafting(vlm), captioned(project)
    assert drafting.due(project.campaign) == [draft]
    state = project.drafts[0].state
    assert drafting.most_cost(project.campaign.spec, state) > 1000
    assert project.store.draw(project.seat("cem")).step == "instruction", (
        "the model answers, not a person"
    )
    assert asyncio.run(drafting.answer(project.campaign, draft)) == ""
    ((turn,),) = vlm.asked
    assert CAPTION.format(1) in turn.text and not turn.images
    answer = project.drafts[0].state.answer
    assert answer == DraftAnswer(
        text="There is one ball.", model="writer", prompt=prompt_digest("draft"), cost=14
    )
    assert len(project.drafts[0].acted_voters) == 2 and drafting.due(project.campaign) == []
    assert asyncio.run(drafting.answer(project.campaign, draft)) == "" and len(vlm.asked) == 1


@pytest.mark.parametrize(
    "vlm, dollars, why",
    [
        (ScriptedVLM("writer", fails=(0, "refused")), 5.0, "it went wrong"),
        (ScriptedVLM("writer", text=" "), 5.0, "the model's answer is empty"),
        (ScriptedVLM("writer", price=Price(2.0, 6.0)), 0.001, "budget"),
    ],
)
def test_where_a_model_refuses_or_fails_or_money_lacks_a_person_writes(project, vlm, dollars, why):
    drafting, draft = project.drafting(vlm, dollars=dollars), captioned(project)
    assert why in asyncio.run(drafting.answer(project.campaign, draft))
    stored = project.drafts[0]
    assert isinstance(stored.events[-1].value, Failure) and why in stored.state.failure
    assert drafting.due(project.campaign) == []
    assert [project.do(project.seat(person)) for person in "cd"] == ["answer", "verify"]
    assert project.drafts[0].state.step == "accepted" and project.drafts[0].state.answer.model == ""


def test_a_projects_budget_bounds_its_drafts(database, tmp_path):
    project = Project.on(database, tmp_path, model="writer", budget=0.0001)
    drafting = project.drafting(ScriptedVLM("writer", price=Price(2.0, 6.0)))
    assert "$0.00" in asyncio.run(drafting.answer(project.campaign, captioned(project)))


def test_a_model_at_an_unknown_price_is_not_asked(database, tmp_path):
    """A router's price is not the card's, and without a price no budget would hold."""
    project = Project.on(database, tmp_path, model="writer")
    routed = ScriptedVLM("writer")
    routed.card = replace(routed.card, visitor_key=True)
    why = asyncio.run(project.drafting(routed).answer(project.campaign, captioned(project)))
    assert "can't limit. Give it prompt_price and completion_price" in why and not routed.asked


def test_after_a_fault_in_the_models_answer_a_person_writes(project):
    drafting, draft = project.drafting(ScriptedVLM("writer")), captioned(project)
    asyncio.run(drafting.answer(project.campaign, draft))
    assert project.do(project.seat("cem"), "answer") == "verify"
    assert drafting.due(project.campaign) == []
    assert [project.do(project.seat(person)) for person in "de"] == ["answer", "verify"]
    assert project.drafts[0].state.judgements == ("answer", "correct")


def test_while_the_model_answers_nobody_else_has_the_draft_and_a_dead_process_is_no_end(project):
    draft = captioned(project)
    claim = project.store.claim_for_model(project.campaign, draft)
    assert claim and project.store.claim_for_model(project.campaign, draft) is None
    assert project.store.give_model(claim, [DraftAnswer(text="One.", model="writer")])
    assert not project.store.give_model(claim, [DraftAnswer(text="Two.", model="writer")])
    assert project.drafts[0].state.answer.text == "One."


def test_a_draft_that_a_dead_server_held_is_answered_after_the_seats_minutes(project):
    drafting = project.drafting(ScriptedVLM("writer"))
    draft = captioned(project)
    assert project.store.claim_for_model(project.campaign, draft), (
        "this server dies before it answers"
    )
    asyncio.run(drafting.answer(project.campaign, draft))
    assert project.drafts[0].state.step == "answer"
    minutes = timedelta(minutes=project.campaign.spec.seat.minutes, seconds=1)
    with project.database.write() as connection:
        connection.execute(update(DRAFT_CLAIM).values(claimed_at=now() - minutes))
    assert drafting.due(project.campaign) == [draft], "the next start or the next look finds it"
    asyncio.run(drafting.answer(project.campaign, draft))
    assert project.drafts[0].state.step == "verify"


class HeldVLM(ScriptedVLM):
    """A model that goes on with its answer once `end` is set."""

    def __init__(self, *how: Any) -> None:
        super().__init__(*how)
        self.end = asyncio.Event()

    async def stream(self, *asked: Any) -> AsyncGenerator[str, None]:
        async for word in super().stream(*asked):
            await self.end.wait()
            yield word


def claimed_at(project: Project) -> datetime:
    with project.database.read() as connection:
        return connection.execute(select(DRAFT_CLAIM.c.claimed_at)).scalar_one()


def test_an_answer_that_takes_longer_than_the_seats_minutes_is_asked_for_once(project, monkeypatch):
    monkeypatch.setattr("arena.authoring.drafting.RENEW_SECONDS", 0.01)
    vlm = HeldVLM("writer", "There is one ball.")
    drafting, draft = project.drafting(vlm), captioned(project)

    async def scenario() -> list[str]:
        first = asyncio.create_task(drafting.answer(project.campaign, draft))
        while not vlm.asked:
            await asyncio.sleep(0.01)
        long_ago = now() - timedelta(minutes=project.campaign.spec.seat.minutes, seconds=1)
        with project.database.write() as connection:
            connection.execute(update(DRAFT_CLAIM).values(claimed_at=long_ago))
        for _ in range(500):
            await asyncio.sleep(0.01)
            if claimed_at(project) > long_ago:
                break
        second = asyncio.create_task(drafting.answer(project.campaign, draft))
        await asyncio.wait([second], timeout=0.3)
        vlm.end.set()
        return await asyncio.gather(first, second)

    assert asyncio.run(scenario()) == ["", ""] and len(vlm.asked) == 1
    assert project.drafts[0].state.answer.text == "There is one ball."


def test_an_item_that_is_answered_without_its_picture_is_marked(database, tmp_path):
    project = Project.on(database, tmp_path, model="writer", blind_model="blind")
    blind = ScriptedVLM("blind", "One ball, as always.")
    drafting = project.drafting(ScriptedVLM("writer"), blind)
    for person, told in (("c", True), ("d", False)):
        asyncio.run(drafting.answer(project.campaign, captioned(project)))
        seat = project.seat(person)
        token = project.writing.next(seat).claim.token
        project.writing.verify(seat, token, "correct", blind=told)
    ((turn,), _) = blind.asked
    assert turn.text == project.drafts[0].state.instruction.text, "neither caption nor prompt"
    assert isinstance(project.drafts[0].state.blind, BlindAnswer)
    assert [draft.state.needs_picture for draft in project.drafts] == [False, True]


def test_a_blind_model_that_fails_is_no_fault_of_the_item(database, tmp_path):
    project = Project.on(database, tmp_path, model="writer", blind_model="blind")
    drafting = project.drafting(ScriptedVLM("writer"), ScriptedVLM("blind", fails=(1, "down")))
    assert asyncio.run(drafting.answer(project.campaign, captioned(project))) == ""
    assert (
        project.do(project.seat("c")) == "verify" and project.drafts[0].state.needs_picture is None
    )


def test_a_project_names_models_that_there_are(database, tmp_path):
    with pytest.raises(CampaignError, match="no model named 'gpt'. Models: 'writer', 'blind'"):
        Project.on(database, tmp_path, model="gpt")
    with pytest.raises(CampaignError, match="model is empty"):
        Project.on(database, tmp_path, blind_model="blind")
