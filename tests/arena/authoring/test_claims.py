"""Who works on what: one at a time on a draft, nobody twice, whatever the race; what is held too long is given on."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import Connection, select, update

from arena.authoring.checks import DraftError
from arena.authoring.events import Captions, DraftAnswer, Instruction, ItemPicture, Verification
from arena.authoring.store import Claim
from arena.authoring.tables import DRAFT, DRAFT_CLAIM, DRAFT_EVENT
from arena.battles.voters import lock
from arena.database import DatabaseError
from arena.seats.seats import Seat
from tests.support.writers import Project

pytestmark = pytest.mark.locks_or_dialect

ASKED = Instruction(text="What is it?", pictures=(ItemPicture(url="https://example.org/1.png"),))
VALUES = {
    "instruction": ASKED,
    "caption": Captions(texts=("a dog",)),
    "answer": DraftAnswer(text="A dog."),
    "verify": Verification(said="correct"),
}


@pytest.fixture
def project(database, tmp_path) -> Project:
    return Project.on(database, tmp_path)


def let_minutes_pass(project: Project, minutes: int) -> None:
    with project.database.write() as connection:
        for row in connection.execute(select(DRAFT_CLAIM)).all():
            earlier = update(DRAFT_CLAIM).where(DRAFT_CLAIM.c.draft_id == row.draft_id)
            connection.execute(
                earlier.values(claimed_at=row.claimed_at - timedelta(minutes=minutes))
            )


def at_once(acts: list[Callable[[], object]]) -> list:
    """Do all at the same moment; return what each returned, or the error that a person reads."""
    start = Barrier(len(acts))

    def act(one: Callable[[], object]) -> object:
        start.wait()
        try:
            return one()
        except (DraftError, DatabaseError) as error:
            return error

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(act, acts))


def give(project: Project, seat: Seat, claim: Claim) -> None:
    project.store.give(seat, claim.token, VALUES[claim.step])


def test_four_people_write_an_item_and_none_of_them_does_two_steps(project):
    seats = [project.seat(person) for person in ("ann", "bob", "cem", "dot")]
    assert [project.do(seat) for seat in seats] == ["instruction", "caption", "answer", "verify"]
    (draft,) = project.drafts
    assert draft.state.step == "accepted" and len(draft.acted_voters) == 4
    assert [event.seat for event in draft.events] == [seat.id for seat in seats]


def test_who_has_acted_on_a_draft_is_given_another(project):
    ann = project.seat("ann")
    assert [project.do(ann) for _ in range(3)] == ["instruction"] * 3
    assert [draft.state.step for draft in project.drafts] == ["caption"] * 3


def test_the_database_lets_nobody_act_twice(project):
    ann, bob = project.seat("ann"), project.seat("bob")
    project.do(ann)
    claim = project.store.draw(bob)
    with project.database.write() as connection:  # as if the draw had been wrong
        connection.execute(update(DRAFT_CLAIM).values(seat_id=ann.id, voter_id=ann.voter))
    with pytest.raises(
        DraftError, match="You've already worked on this item. Other people continue"
    ):
        give(project, ann, claim)
    assert project.drafts[0].state.step == "caption"


def test_a_page_that_is_opened_again_has_the_same_step(project):
    ann = project.seat("ann")
    assert project.store.draw(ann).token == project.store.draw(ann).token


def test_two_tabs_that_send_the_same_step_store_one(project):
    ann = project.seat("ann")
    claim = project.store.draw(ann)
    done = at_once([lambda: give(project, ann, claim)] * 4)
    assert done.count(None) == 1 and all("sent this" in str(one) for one in done if one)
    assert len(project.drafts[0].events) == 1


def test_a_claim_lapses_after_the_minutes_and_what_comes_late_is_taken_until_somebody_else_has_it(
    project,
):
    ann, bob, cem = (project.seat(person) for person in ("ann", "bob", "cem"))
    project.do(ann)
    held = project.store.draw(bob)
    let_minutes_pass(project, 29)
    assert project.store.draw(cem).draft != held.draft, "bob still has it"
    project.store.give(cem, project.store.draw(cem).token, ASKED)
    let_minutes_pass(project, 2)
    taken = project.store.draw(project.seat("dot"))
    assert (taken.draft, taken.step) == (held.draft, "caption")
    with pytest.raises(DraftError, match="someone else has it now"):
        give(project, bob, held)
    let_minutes_pass(project, 31)
    give(project, project.seat("dot"), taken)
    assert project.drafts[0].state.step == "answer"


def test_who_comes_back_to_a_lapsed_claim_has_it_for_the_minutes_again(project):
    ann = project.seat("ann")
    held = project.store.draw(ann)
    let_minutes_pass(project, 31)
    assert project.store.draw(ann).token == held.token
    assert project.store.draw(project.seat("bob")).draft != held.draft


def test_a_draft_that_is_left_comes_to_others(project):
    ann, bob, cem = (project.seat(person) for person in ("ann", "bob", "cem"))
    project.do(ann)
    left = project.store.draw(bob)
    project.writing.skip(bob, left.token, "I cannot see the picture")
    assert project.store.draw(bob).draft != left.draft
    assert project.store.draw(cem).draft == left.draft
    assert project.writing.progress(bob).skipped == 1 and project.writing.progress(bob).votes == 0


def test_a_seat_ends_with_its_steps_and_a_project_with_its_items(database, tmp_path):
    spec = {"seat": {"votes": 2, "pay": 1}, "families": [{"name": "animals", "wanted": 3}]}
    project = Project.on(database, tmp_path, **spec)
    ann, bob = project.seat("ann"), project.seat("bob")
    assert [project.do(ann) for _ in range(3)] == ["instruction", "instruction", ""]
    assert project.do(bob) == "caption"
    project.projects.campaigns.end(project.campaign, "enough")
    ended = project.projects.campaigns.get("pets")
    assert project.store.draw(project.seats.find(ended, bob.token)) is None


def test_what_somebody_wrote_who_took_consent_back_is_written_anew(project):
    ann, bob, cem, dot = (project.seat(person) for person in ("ann", "bob", "cem", "dot"))
    for seat in (ann, bob, cem):
        project.do(seat)
    project.seats.add_event(bob, "withdrew")
    (draft,) = project.drafts
    assert draft.state.step == "caption" and bob.voter in draft.acted_voters
    assert project.do(dot) == "caption"
    assert project.drafts[0].state.step == "answer"


@pytest.mark.parametrize(
    ("steps", "leaver", "drawn"),
    [(1, 0, "instruction"), (2, 1, "caption"), (3, 1, "caption"), (3, 2, "answer")],
)
def test_who_holds_a_step_after_one_that_is_withdrawn_gets_the_earlier_one(
    project, steps, leaver, drawn
):
    people = [project.seat(person) for person in ("ann", "bob", "cem", "dot")]
    for seat in people[:steps]:
        project.do(seat)
    held = project.store.draw(people[steps])
    project.seats.add_event(people[leaver], "withdrew")
    with pytest.raises(DraftError, match="Continue with the next one"):
        project.writing.step(people[steps], held.token)
    claim = project.store.draw(people[steps])
    assert (claim.draft, claim.step) == (held.draft, drawn) and claim.token != held.token
    assert project.do(people[steps]) == drawn
    assert project.drafts[0].events[-1].seat == people[steps].id


def test_a_family_gets_as_many_drafts_as_it_wants(database, tmp_path):
    wanted = {"families": [{"name": "art", "wanted": 2}, {"name": "food", "wanted": 1}]}
    project = Project.on(database, tmp_path, **wanted)
    seats = [project.seat(f"person {number}") for number in range(8)]
    drawn = at_once([lambda seat=seat: project.store.draw(seat) for seat in seats])
    assert len([claim for claim in drawn if claim]) == 3
    assert Counter(draft.family for draft in project.drafts) == {"art": 2, "food": 1}


def test_who_loses_a_lapsed_claim_while_the_page_opens_begins_no_item_too_many(
    database, tmp_path, monkeypatch
):
    project = Project.on(database, tmp_path, families=[{"name": "art", "wanted": 1}])
    ann, bob = project.seat("ann"), project.seat("bob")
    project.store.draw(ann)

    def lose(connection: Connection, voter: int) -> None:
        """Bob takes the claim after it was read, and before this transaction."""
        lock(connection, voter)
        mine = update(DRAFT_CLAIM).where(DRAFT_CLAIM.c.seat_id == ann.id)
        connection.execute(mine.values(seat_id=bob.id, voter_id=bob.voter))

    monkeypatch.setattr("arena.authoring.store.lock", lose)
    assert project.store.draw(ann) is None
    assert len(project.drafts) == 1


def race(project: Project, people: int) -> int:
    """Let people claim and give, all at once, until the project has its items; return how often they claimed."""
    seats, claims = [project.seat(f"person {number}") for number in range(people)], 0
    while any(draft.state.is_open for draft in project.drafts) or not project.drafts:
        drawn = at_once([lambda seat=seat: project.store.draw(seat) for seat in seats])
        assert not [one for one in drawn if isinstance(one, Exception)]
        pairs = [(seat, claim) for seat, claim in zip(seats, drawn, strict=True) if claim]
        assert len({claim.draft for _, claim in pairs}) == len(pairs), "a draft was given twice"
        at_once(
            [lambda seat=seat, claim=claim: give(project, seat, claim) for seat, claim in pairs]
        )
        claims += len(drawn)
    return claims


@pytest.mark.parametrize(
    "most, kind, people",
    [
        (10, "captions", 4),
        *(
            pytest.param(10_000, *roles, marks=pytest.mark.soak)
            for roles in (("captions", 4), ("multiple choice", 2))
        ),
    ],
)
@pytest.mark.timeout(3600)
def test_of_many_who_claim_at_once_one_has_each_draft_and_nobody_acts_twice(
    database, tmp_path, most, kind, people
):
    claims, families = 0, [{"name": "animals", "wanted": 5}]
    while claims < most:
        project = Project.on(
            database, tmp_path, name=f"pets-{claims}", kind=kind, families=families
        )
        claims += race(project, 12)
        assert [draft.state.step for draft in project.drafts] == ["accepted"] * 5
    print(f"\n{claims:,} claims")
    with database.read() as connection:
        acts = connection.execute(select(DRAFT_EVENT.c.draft_id, DRAFT_EVENT.c.voter_id)).all()
        drafts = len(connection.execute(select(DRAFT)).all())
    assert len(acts) == len(set(acts)) == people * drafts
