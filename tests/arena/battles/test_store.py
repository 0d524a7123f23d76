"""The store: what a voter may do with a battle, in what order and how often."""

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text, update

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.store import BROKEN_TIMES, SKIPS_AT_LEAST, BattleStore, Draw
from arena.battles.tables import BATTLE, NO_SEAT, UNFINISHED
from arena.battles.voters import Account, Voters
from arena.database import Database, now
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.types import Battle, Phase
from tests.support.planting import let_pass
from tests.support.servers import drafts
from tests.support.visitors import TERMS, Visitor, chooser, counted, rows


@pytest.fixture
def visitor(bank) -> Visitor:
    return Visitor(bank, "one")


def age(database: Database, column, battle: int, by: timedelta) -> None:
    """Make a battle, or its skip, look older."""
    older = update(BATTLE).where(BATTLE.c.id == battle).values({column: now() - by})
    with database.write() as connection:
        connection.execute(older)


# Serving


@pytest.mark.locks_or_dialect
def test_a_battle_is_stored_before_it_is_shown_and_holds_no_model(visitor):
    battle = visitor.serve()
    (row,) = rows(visitor.database, BATTLE)
    assert (row.id, row.item_id) == (battle.id, battle.item)
    assert (row.answer_a, row.answer_b) == (battle.answer_a, battle.answer_b)
    assert battle.token == f"{row.token}.1"
    assert (battle.phase, battle.choice, battle.attempt) == (Phase.OPEN, None, 1)
    assert len(row.token) >= 20, "128 random bits"
    assert not any("model" in name for name in Battle.__dataclass_fields__)


def test_an_open_battle_comes_back_to_its_voter_alone(visitor):
    first = visitor.serve()
    assert visitor.serve() == first, "two tabs see one battle"
    assert Visitor(visitor.database, "two").serve().id != first.id


@pytest.mark.locks_or_dialect
def test_a_choice_not_yet_final_comes_back_too_and_a_final_one_does_not(visitor):
    battle = visitor.vote(visitor.serve())
    assert visitor.serve() == battle
    visitor.reveal(battle)
    assert visitor.serve().id != battle.id


def test_a_battle_survives_a_restart(bank, database_url):
    before = Visitor(bank, "one").serve()
    bank.close()
    reopened = Database(database_url)
    visitor = Visitor(reopened, "one")
    assert visitor.serve() == before
    assert visitor.vote(before, "b").choice == "b"
    reopened.close()


def test_sides_and_winner_follow_the_draw(visitor):
    """The higher model code on side A wins where A is chosen, and its name stands on side A."""
    one, other = ItemBank(visitor.database).bank().items[1].contestants[:2]
    visitor.choose = lambda _: Draw(1, other.model, one.model, other.answer, one.answer)
    battle = visitor.reveal(visitor.vote(visitor.serve(), "a"))
    (vote,) = rows(visitor.database, BATTLE)
    assert (vote.winner, vote.loser) == (other.model, one.model)
    assert visitor.store.names(visitor.id, battle.token) == ("m2", "m1")
    shown = ItemBank(visitor.database).shown_answers((battle.answer_a, battle.answer_b))
    assert [answer.text for answer in shown] == ["m2 says 0", "m1 says 0"]


@pytest.mark.locks_or_dialect
def test_a_withdrawn_answer_ends_open_battles_on_it_and_keeps_votes(database):
    ingest = Ingest(database)
    ingest.add_items("test", "folder", drafts(items=1, models=("m1",)))
    ingest.add_answers("m2", "m2.csv", {1: "m2 says"})
    voted, revealed, waiting = (
        Visitor(database, name) for name in ("voted", "revealed", "waiting")
    )
    open_battle = waiting.serve()
    chosen = voted.vote(voted.serve())
    revealed.decide()
    ingest.withdraw("m2.csv")
    assert waiting.store.serve(waiting.id, chooser(database)) is None
    assert voted.serve() == chosen, "a choice waits for its names still"
    assert voted.store.names(voted.id, voted.reveal(chosen).token) == ("m1", "m2")
    assert waiting.vote(open_battle).choice == "a", "whoever still sees both answers may choose"
    assert len(counted(database)) == 3


# Choosing


@pytest.mark.locks_or_dialect
def test_the_same_choice_again_gets_the_same_answer_and_another_is_refused(visitor):
    battle = visitor.serve()
    first = visitor.vote(battle, "a")
    assert (first.phase, first.choice) == (Phase.VOTED, "a")
    assert visitor.vote(battle, "a") == first
    with pytest.raises(ChoiceError, match="already chosen A"):
        visitor.vote(battle, "b")
    final = visitor.reveal(battle)
    assert visitor.vote(battle, "a") == final
    with pytest.raises(ChoiceError, match="already chosen A"):
        visitor.vote(battle, "b")
    assert counted(visitor.database) == {battle.id: "a"}
    assert visitor.store.votes_of(visitor.id) == 1


def test_a_vote_keeps_its_terms_and_time(visitor):
    before = now()
    visitor.store.vote(visitor.id, visitor.serve().token, "b", "terms of May")
    (vote,) = rows(visitor.database, BATTLE)
    assert vote.terms == "terms of May"
    assert before <= vote.voted_at <= now()


FORGED = [
    "",
    ".",
    ".1",
    "x.1",
    "x",
    None,
    [],
    {},
    7,
    1e999,
    "x" * 10_000,
    "x" * 10_000 + ".1",
    "ü.1",
    "\ud800.1",
]
FORGED += ["\0", "\0.1", "a\0b.1", "' OR 1=1 --.1", "%.1", "🙂", True, b"x.1", ("a", "b")]
CALLS: dict[str, Callable[[BattleStore, int, Any], object]] = {
    "vote": lambda store, voter, token: store.vote(voter, token, "a", TERMS),
    "undo": lambda store, voter, token: store.undo(voter, token),
    "reveal": lambda store, voter, token: store.reveal(voter, token),
    "skip": lambda store, voter, token: store.skip(voter, token, "offensive"),
    "names": lambda store, voter, token: store.names(voter, token),
    "find": lambda store, voter, token: store.find(voter, token),
}


@pytest.mark.locks_or_dialect
def test_forged_tokens_are_unknown_battles(visitor):
    battle = visitor.serve()
    name = battle.token.removesuffix(".1")
    near = [
        f"{name}.2",
        f"{name}.3",
        f"{name}.",
        name,
        f"{name}.01",
        f"{name}.1 ",
        f" {battle.token}",
        f"{name}.-1",
    ]
    for token, call in itertools.product(
        [*FORGED, *near, battle.token.swapcase(), battle.id], CALLS.values()
    ):
        with pytest.raises(UnknownBattleError):
            call(visitor.store, visitor.id, token)
    assert counted(visitor.database) == {}
    assert visitor.serve() == battle


@pytest.mark.parametrize("stage", ["serve", "vote", "decide"])
def test_someone_elses_token_reads_like_a_forged_one(visitor, stage):
    battle = {
        "serve": visitor.serve,
        "vote": lambda: visitor.vote(visitor.serve()),
        "decide": visitor.decide,
    }[stage]()
    thief = Visitor(visitor.database, "thief")
    before = visitor.store.find(visitor.id, battle.token)
    for call in CALLS.values():
        with pytest.raises(UnknownBattleError) as foreign:
            call(thief.store, thief.id, battle.token)
        with pytest.raises(UnknownBattleError) as forged:
            call(thief.store, thief.id, "no-such-token.1")
        assert str(foreign.value) == str(forged.value)
        assert visitor.store.find(visitor.id, battle.token) == before


def test_a_choice_is_a_or_b(visitor):
    battle = visitor.serve()
    for choice in (
        "A",
        "c",
        "",
        None,
        1,
        True,
        [],
        ["a"],
        {"a": 1},
        1e999,
        "a ",
        "a\0",
        "x" * 10_000,
    ):
        with pytest.raises(ChoiceError, match="must be one of: a, b"):
            visitor.vote(battle, choice)
    assert visitor.serve() == battle


@pytest.mark.locks_or_dialect
def test_names_wait_for_the_reveal_and_the_reveal_for_the_choice(visitor):
    battle = visitor.serve()
    for stage in (lambda: battle, lambda: visitor.vote(battle)):
        stage()
        with pytest.raises(ChoiceError, match="after you choose"):
            visitor.store.names(visitor.id, battle.token)
        if stage() is battle:
            with pytest.raises(ChoiceError, match="Choose A or B first"):
                visitor.reveal(battle)
    assert visitor.reveal(battle).phase is Phase.REVEALED
    (revealed,) = rows(visitor.database, BATTLE)
    assert visitor.reveal(battle) == visitor.reveal(battle)
    assert rows(visitor.database, BATTLE) == [revealed]
    assert visitor.store.names(visitor.id, battle.token) == ("m1", "m2")


# Undo


@pytest.mark.locks_or_dialect
def test_an_undo_opens_the_battle_once_more_with_a_token_of_its_own(visitor):
    battle = visitor.serve()
    visitor.vote(battle, "a")
    again = visitor.undo(battle)
    assert (again.phase, again.choice, again.attempt, again.id) == (Phase.OPEN, None, 2, battle.id)
    assert again.token == battle.token.removesuffix("1") + "2"
    assert visitor.undo(battle) == again, "the same again gets the same"
    assert visitor.serve() == again
    assert counted(visitor.database) == {}
    assert visitor.vote(again, "b").choice == "b"
    assert counted(visitor.database) == {battle.id: "b"}
    assert [row.taken_back for row in rows(visitor.database, BATTLE)] == ["a"]
    with pytest.raises(ChoiceError, match="once"):
        visitor.undo(again)


@pytest.mark.parametrize("choice", ["a", "b"])
def test_a_replay_of_the_undone_vote_is_refused(visitor, choice):
    battle = visitor.serve()
    visitor.vote(battle, "a")
    again = visitor.undo(battle)
    for _ in range(2):
        with pytest.raises(ChoiceError, match="You undid this choice"):
            visitor.vote(battle, choice)
        assert visitor.store.votes_of(visitor.id) == len(counted(visitor.database))
        visitor.vote(again, "b")


def test_nothing_chosen_is_nothing_to_take_back(visitor):
    with pytest.raises(ChoiceError, match="no choice"):
        visitor.undo(visitor.serve())


def test_an_undo_after_the_reveal_is_refused(visitor):
    battle = visitor.decide()
    with pytest.raises(ChoiceError, match="You've seen"):
        visitor.undo(battle)
    assert counted(visitor.database) == {battle.id: "a"}


@pytest.mark.parametrize(
    ("seconds", "allowed"), [(0, True), (3.2, True), (6, False), (3600, False)]
)
def test_an_undo_has_three_seconds_and_the_network_two(visitor, seconds, allowed):
    battle = visitor.vote(visitor.serve())
    let_pass(visitor.database, seconds)
    if allowed:
        assert visitor.undo(battle).phase is Phase.OPEN
        return
    with pytest.raises(ChoiceError, match="for 3 seconds"):
        visitor.undo(battle)
    assert counted(visitor.database) == {battle.id: "a"}


# Skip


@pytest.mark.locks_or_dialect
def test_a_skip_ends_the_battle_and_no_vote_follows(visitor):
    battle = visitor.serve()
    assert visitor.skip(battle, "offensive").phase is Phase.SKIPPED
    assert visitor.skip(battle, "offensive").phase is Phase.SKIPPED
    (row,) = rows(visitor.database, BATTLE)
    assert (row.id, row.ended) == (battle.id, "offensive")
    with pytest.raises(ChoiceError, match="skipped"):
        visitor.vote(battle)
    assert visitor.serve().id != battle.id


def test_no_skip_follows_a_vote_but_one_may_follow_an_undo(visitor):
    battle = visitor.vote(visitor.serve())
    with pytest.raises(ChoiceError, match="already chose"):
        visitor.skip(battle)
    again = visitor.undo(battle)
    assert visitor.skip(again).phase is Phase.SKIPPED
    assert counted(visitor.database) == {}
    with pytest.raises(ChoiceError, match="skipped"):
        visitor.vote(again)


def test_a_skip_needs_one_of_three_reasons(visitor):
    battle = visitor.serve()
    for reason in ("", "bored", None, [], "Offensive", 3):
        with pytest.raises(ChoiceError, match="cannot judge, image broken, offensive"):
            visitor.skip(battle, reason)
    assert visitor.serve() == battle


@pytest.mark.parametrize(
    ("decided", "allowed"), [(0, 5), (24, 6), pytest.param(54, 13, marks=pytest.mark.soak)]
)
def test_a_voter_may_skip_five_battles_or_a_fifth_of_the_day(database, decided, allowed):
    Ingest(database).add_items("test", "folder", drafts(items=24))
    visitor = Visitor(database, "one")
    for _ in range(decided):
        visitor.decide()
    skipped = 0
    with pytest.raises(ChoiceError, match=f"today's {allowed} skips"):
        while True:
            visitor.skip(visitor.serve())
            skipped += 1
    assert skipped == allowed


def test_a_picture_that_does_not_load_uses_up_no_skip_but_is_no_endless_choice_either(database):
    Ingest(database).add_items("test", "folder", drafts(items=24))
    visitor = Visitor(database, "one")
    for _ in range(SKIPS_AT_LEAST * BROKEN_TIMES):
        visitor.skip(visitor.serve(), "image broken")
    with pytest.raises(ChoiceError, match="today's 20 skips"):
        visitor.skip(battle := visitor.serve(), "image broken")
    assert visitor.skip(battle, "cannot judge").phase is Phase.SKIPPED


def test_the_skips_of_a_guest_are_those_of_who_then_logs_in(database):
    Ingest(database).add_items("test", "folder", drafts(items=12))
    guest = Visitor(database, "guest")
    for _ in range(SKIPS_AT_LEAST):
        guest.skip(guest.serve())
    Voters(database).log_in(Account("7", "anna"), "guest", "anna")
    anna = Visitor(database, "anna")
    with pytest.raises(ChoiceError, match="today's 5 skips"):
        anna.skip(anna.serve())


def test_skips_count_on_the_day_they_are_made(visitor):
    """Battles opened by links yesterday are no store of free skips today."""
    battles = [visitor.serve_on(item) for item in range(1, 7)]
    for battle in battles:
        age(visitor.database, BATTLE.c.began_at, battle.id, timedelta(days=1))
    for battle in battles[:5]:
        visitor.skip(battle)
    with pytest.raises(ChoiceError, match="today's 5 skips"):
        visitor.skip(battles[5])
    assert visitor.vote(battles[5]).phase is Phase.VOTED, "a refused skip leaves the battle open"


@pytest.mark.locks_or_dialect
def test_yesterdays_skips_are_forgiven(visitor):
    for item in range(1, 6):
        battle = visitor.skip(visitor.serve_on(item))
        age(visitor.database, BATTLE.c.began_at, battle.id, timedelta(days=1))
        age(visitor.database, BATTLE.c.ended_at, battle.id, timedelta(days=1))
    assert visitor.skip(visitor.serve()).phase is Phase.SKIPPED


# A disk that refuses


def test_a_voters_battles_are_found_by_voter(bank):
    """Not by seat: nearly all battles of a database have none, and writers wait meanwhile."""
    if not bank.is_sqlite:
        pytest.skip("PostgreSQL plans by the numbers of rows")
    with bank.read() as connection:
        mine = UNFINISHED.params(voter=1, seat=NO_SEAT)
        query = str(mine.compile(connection, compile_kwargs={"literal_binds": True}))
        plan = [row[3] for row in connection.execute(text(f"EXPLAIN QUERY PLAN {query}"))]
    assert "voter_id=?" in plan[0]
