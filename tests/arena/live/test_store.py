"""The live store: turns, votes, undo, reveal, what is ranked, and who may do what; on SQLite and on PostgreSQL."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE, HAS_CHOICE
from arena.battles.vote_table import LIVE_ITEM, LIVE_OWN, OUTSIDE, VoteTable
from arena.clock import FINAL_SECONDS
from arena.database import EPOCH, now
from arena.items.ingest import Ingest
from arena.live.store import MOST_TURNS, LiveModelError, LiveStore, Opening, TurnAnswers
from arena.live.streaming import SideFailure
from arena.live.votes import live_sources
from arena.types import Names, Phase
from tests.support.planting import let_pass
from tests.support.servers import drafts

MODELS = ("one", "two", "three")


@pytest.fixture
def store(database) -> LiveStore:
    opened = LiveStore(database)
    opened.register_models(MODELS)
    return opened


@pytest.fixture
def voter(database) -> int:
    return BattleStore(database).voter("visitor")


def answered(a="one", b="two", stopped=False, named=False) -> TurnAnswers:
    return TurnAnswers(Names(a, b), Names(f"says {a}", f"says {b}"), stopped, named)


def opened(store: LiveStore, voter: int, images: int = 1, item: int | None = None, **how) -> str:
    """Return the token of a battle that waits for a choice."""
    battle = store.begin(voter, Opening("What is this?", images, item))
    store.answer(battle.id, answered(**how))
    return battle.token


def ranked(database) -> list[str]:
    """The choices that stand and are ranked, final or not."""
    stands = HAS_CHOICE & BATTLE.c.outside.is_(None)
    with database.read() as connection:
        return list(connection.scalars(select(BATTLE.c.choice).where(stands)))


@pytest.mark.locks_or_dialect
def test_a_battle_goes_from_question_to_names(store, voter, database):
    battle = store.begin(voter, Opening("What is this?", 2, keep=True))
    assert (battle.phase, battle.is_settled, battle.images) == (Phase.OPEN, False, 2)
    with pytest.raises(ChoiceError, match="aren't finished yet"):
        store.vote(voter, battle.token, "a", "terms")
    store.answer(battle.id, answered())
    assert store.find(voter, battle.token).can_go_on
    assert store.unfinished(voter) == store.find(voter, battle.token)
    with pytest.raises(ChoiceError, match="after you choose"):
        store.names(voter, battle.token)
    voted = store.vote(voter, battle.token, "b", "terms")
    assert (voted.phase, voted.choice, voted.outside) == (Phase.VOTED, "b", None)
    with pytest.raises(ChoiceError, match="after you choose"):
        store.names(voter, battle.token)
    assert store.reveal(voter, battle.token).phase is Phase.REVEALED
    assert store.names(voter, battle.token) == ("one", "two")
    assert store.unfinished(voter) is None
    assert ranked(database) == ["b"]


@pytest.mark.locks_or_dialect
def test_the_same_choice_again_is_the_same_and_another_is_refused(store, voter, database):
    token = opened(store, voter)
    assert store.vote(voter, token, "a", "terms") == store.vote(voter, token, "a", "terms")
    with pytest.raises(ChoiceError, match="already chosen A"):
        store.vote(voter, token, "b", "terms")
    assert ranked(database) == ["a"]


def test_only_a_and_b_can_be_chosen(store, voter):
    token = opened(store, voter)
    for choice in ("C", "", "A", "a'--", "both"):
        with pytest.raises(ChoiceError, match="one of"):
            store.vote(voter, token, choice, "terms")


@pytest.mark.locks_or_dialect
def test_undo_gives_the_choice_back_once(store, voter, database):
    token = opened(store, voter)
    with pytest.raises(ChoiceError, match="no choice"):
        store.undo(voter, token)
    store.vote(voter, token, "a", "terms")
    again = store.undo(voter, token)
    assert again.token.endswith(".2")
    assert ranked(database) == []
    assert store.undo(voter, token).token == again.token
    with pytest.raises(ChoiceError, match="You undid this choice"):
        store.vote(voter, token, "a", "terms")
    store.vote(voter, again.token, "b", "terms")
    with pytest.raises(ChoiceError, match="once"):
        store.undo(voter, again.token)
    assert store.reveal(voter, again.token).choice == "b"
    assert ranked(database) == ["b"]


@pytest.mark.parametrize(
    ("how", "outside"),
    [({"stopped": True}, "stopped"), ({"named": True}, "named itself"), ({}, None)],
)
def test_what_was_stopped_or_named_itself_is_kept_outside_the_ranking(
    store, voter, database, how, outside
):
    token = opened(store, voter, **how)
    assert store.vote(voter, token, "a", "terms").outside == outside
    assert ranked(database) == ([] if outside else ["a"])
    again = store.undo(voter, token)
    assert (again.choice, again.outside) == (None, None)
    assert store.vote(voter, again.token, "b", "terms").outside == outside


def test_a_flag_of_an_early_turn_holds_for_the_whole_conversation(store, voter):
    token = opened(store, voter, named=True)
    battle = store.ask(voter, token, "And now?")
    store.answer(battle.id, answered())
    assert store.vote(voter, token, "a", "terms").outside == "named itself"


def test_follow_ups_end_at_five_turns_a_stop_or_a_choice(store, voter):
    token = opened(store, voter)
    for number in range(2, MOST_TURNS + 1):
        battle = store.ask(voter, token, f"question {number}")
        with pytest.raises(ChoiceError, match="aren't finished yet"):
            store.ask(voter, token, "at the same time")
        with pytest.raises(ChoiceError, match="aren't finished yet"):
            store.vote(voter, token, "a", "terms")
        store.answer(battle.id, answered())
    with pytest.raises(ChoiceError, match="at most 5 turns"):
        store.ask(voter, token, "one too many")
    assert [turn.question for turn in store.find(voter, token).turns][1:] == [
        f"question {n}" for n in range(2, 6)
    ]
    with pytest.raises(ChoiceError, match="stopped"):
        store.ask(voter, opened(store, voter, stopped=True), "more?")
    voted = opened(store, voter)
    store.vote(voter, voted, "a", "terms")
    with pytest.raises(ChoiceError, match="already chosen"):
        store.ask(voter, voted, "more?")


def test_what_ended_without_answers_takes_no_vote(store, voter):
    battle = store.begin(voter, Opening("What is this?", 1))
    store.end(battle.id, "It failed.")
    store.end(battle.id, "Another reason.")
    assert store.find(voter, battle.token).void == "It failed."
    assert store.unfinished(voter) is None
    with pytest.raises(ChoiceError, match="nothing to vote on"):
        store.vote(voter, battle.token, "a", "terms")


@pytest.mark.locks_or_dialect
def test_a_forged_token_opens_nothing(store, voter):
    for token in ("", "x.1", ".1", "forged", "' OR 1=1 --.1", "x" * 5000, "\ud800.1"):
        for step in (store.find, store.undo, store.reveal, store.names):
            with pytest.raises(UnknownBattleError):
                step(voter, token)


def test_a_battle_is_its_voters_only(store, voter, database):
    token = opened(store, voter)
    other = BattleStore(database).voter("another")
    for step in (store.find, store.undo, store.reveal, store.names):
        with pytest.raises(UnknownBattleError):
            step(other, token)
    with pytest.raises(UnknownBattleError):
        store.vote(other, token, "a", "terms")
    with pytest.raises(UnknownBattleError):
        store.ask(other, token, "mine?")
    with pytest.raises(UnknownBattleError):
        store.vote(voter, token.replace(".1", ".2"), "a", "terms")


@pytest.mark.locks_or_dialect
def test_a_battle_takes_one_vote_from_many_tabs(store, voter, database):
    token = opened(store, voter)
    done: list[object] = []

    def click(number: int) -> None:
        try:
            done.append(store.vote(voter, token, "ab"[number % 2], "terms").choice)
        except ChoiceError:
            done.append(None)

    clicks = [threading.Thread(target=click, args=(number,)) for number in range(12)]
    for one in clicks:
        one.start()
    for one in clicks:
        one.join()
    assert len(done) == 12
    assert done.count(None) == 6
    assert set(done) == {None, *ranked(database)}


@pytest.mark.locks_or_dialect
def test_failures_are_counted_for_their_models(store):
    store.store_failures(
        [SideFailure("one", "cut"), SideFailure("two", "empty"), SideFailure("one", "down")]
    )
    store.store_failures([])
    assert store.failures(EPOCH) == {"one": 2, "two": 1}
    assert store.failures(now() + timedelta(seconds=1)) == {}


@pytest.mark.locks_or_dialect
def test_models_are_added_once_and_a_name_in_use_is_told(store, database):
    Ingest(database).rename("two", "Model Two")
    store.register_models([*MODELS, "four"])
    with pytest.raises(LiveModelError, match="'Model Two'"):
        store.register_models(["Model Two"])


@pytest.mark.locks_or_dialect
def test_own_images_and_items_of_the_bank_have_boards_of_their_own(store, voter, database):
    Ingest(database).add_items("test", "folder", drafts(2))
    for side, item, images in (("a", None, 1), ("b", None, 1), ("a", None, 3), ("a", 1, 1)):
        store.vote(voter, opened(store, voter, images, item), side, "terms")
    store.vote(voter, opened(store, voter, stopped=True), "a", "terms")
    table = VoteTable(database)
    assert len(table.read().votes) == 0, "they may still be taken back"
    let_pass(database, FINAL_SECONDS)
    votes = table.read().votes
    assert [source.code for source in live_sources(votes)] == [LIVE_OWN, LIVE_ITEM]
    found = votes[["source", "multi", "left", "outside"]].itertuples(index=False, name=None)
    assert list(found) == [
        (LIVE_OWN, False, True, 0),
        (LIVE_OWN, False, False, 0),
        (LIVE_OWN, True, True, 0),
        (LIVE_ITEM, False, True, 0),
        (LIVE_OWN, False, True, OUTSIDE.index("stopped")),
    ]


@pytest.mark.locks_or_dialect
def test_pairs_with_fewer_votes_can_be_told(store, voter, database):
    store.vote(voter, opened(store, voter), "a", "terms")
    store.vote(voter, opened(store, voter, a="two", b="one"), "a", "terms")
    table = VoteTable(database)
    assert table.pair_votes(live=True) == {}, "they may still be taken back"
    let_pass(database, FINAL_SECONDS)
    pair = tuple(sorted(store.model_ids(["one", "two"]).values()))
    assert table.pair_votes(live=True) == {pair: 2}
    assert table.pair_votes(live=False) == {}
