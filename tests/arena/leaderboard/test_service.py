"""Leaderboards: what the paper's Table 3 prints comes out of its votes; nothing is mixed, missed or counted twice."""

import gc
import random
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import delete, update

from arena.__main__ import main
from arena.battles.choices import next_final_number
from arena.battles.store import BattleStore, Draw
from arena.battles.tables import BATTLE
from arena.battles.vote_table import VoteTable, values
from arena.clock import FINAL_SECONDS
from arena.database import Database, DatabaseError, now
from arena.formats.registry import read
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard import service as leaderboard_service
from arena.leaderboard.board import Board, BoardKey, Counts, Entrant, Standing, board
from arena.leaderboard.overview import MOST_SOURCES
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.selection import BoardSelectionError
from arena.leaderboard.service import MANY_VOTES, Leaderboard
from arena.leaderboard.statistics import FLOOR, ORDERS, TRUSTED, trusted_models
from arena.ratings.bradley_terry import Status, bradley_terry, win_matrix
from arena.ratings.elo_orders import elo_orders
from arena.ratings.intervals import Bounds, intervals, ranks
from arena.ratings.rank_sets import rank_sets
from arena.ratings.shares import Share, wilson
from arena.ratings.votes import encode_columns
from arena.types import REFERENCE, Battle, grouped
from tests.support.arenas import decided
from tests.support.planting import Planted, let_pass, plant
from tests.support.servers import drafts
from tests.support.sheets import texts

SINGLE, MULTI = BoardKey(1, False), BoardKey(1, True)
PATIENCE = 60.0
ITEMS = 30
"""Items of each kind on which the votes of the paper's table are spread."""

# Table 3: matches, then wins and battles against the reference (its percentages times n).
TABLE_3_SINGLE = {
    "LLaVA (13B)": (1462, 64, 244, "26.23%"),
    "LlamaAdapter-v2 (7B)": (1507, 71, 259, "27.41%"),
    "mPLUG-Owl (7B)": (1345, 32, 214, "14.95%"),
    "InstructBLIP (13B)": (1315, 24, 194, "12.37%"),
    "MiniGPT-4 (7B)": (1513, 44, 299, "14.72%"),
    "PandaGPT (13B)": (1441, 24, 229, "10.48%"),
}
TABLE_3_MULTI = {
    "mPLUG-Owl (7B)": (190, 12, 78, "15.38%"),
    "Otter v1": (147, 2, 63, "3.17%"),
    "OpenFlamingo v1": (171, 3, 69, "4.35%"),
}


class Poll:
    """A bank and voters who decide battles between two named models."""

    def __init__(self, database: Database) -> None:
        self.database, self.store, self.items = database, BattleStore(database), ItemBank(database)
        self.models = {model.name: code for code, model in enumerate(self.items.models(), 1)}
        self._voters = 0

    def serve(self, winner: str, loser: str, item: int = 1) -> tuple[int, Battle]:
        """Serve a battle on an item to a new voter, the one named first on side A."""
        self._voters += 1
        voter = self.store.voter(f"voter {self._voters}")
        answers = {one.model: one.answer for one in self.items.bank().items[item].contestants}
        a, b = self.models[winner], self.models[loser]
        battle = self.store.serve(voter, lambda _: Draw(item, a, b, answers[a], answers[b]))
        assert battle
        return voter, battle

    def vote(self, winner: str, loser: str, item: int = 1) -> tuple[int, Battle]:
        """Choose and see the names: the vote is final."""
        voter, battle = self.choose(winner, loser, item)
        return voter, self.store.reveal(voter, battle.token)

    def choose(self, winner: str, loser: str, item: int = 1) -> tuple[int, Battle]:
        """Choose, so that it can still be taken back."""
        voter, battle = self.serve(winner, loser, item)
        return voter, self.store.vote(voter, battle.token, "a", "1")

    def board(self, key: BoardKey = SINGLE, patience: float = 0.0) -> Board:
        """Return a board as a leaderboard that knows nothing yet makes it."""
        fresh = Leaderboard(self.database, VoteTable(self.database))
        try:
            return fresh.board(key, patience)
        finally:
            fresh.close()

    def lines(self, key: BoardKey = SINGLE, patience: float = 0.0) -> dict[str, Standing]:
        return {standing.model: standing for standing in self.board(key, patience).standings}


def plain(board: Board) -> tuple:
    """Return what a board says before anything is found out beside it."""
    return board.votes, [
        (
            line.model,
            line.votes,
            line.rating and round(line.rating.value, 6),
            line.win_rate,
            line.left,
            line.retired,
        )
        for line in board.standings
    ]


def wins_and_losses(one: str, other: str, wins: int, losses: int, item: int = 1) -> list[Planted]:
    return [Planted(item, one, other)] * wins + [Planted(item, other, one, left=False)] * losses


def spread_over_items(poll: "Poll", votes: list[Planted]) -> None:
    """Plant votes on twenty new items in turn: those on one would leave every model provisional."""
    Ingest(poll.database).add_items("test", "folder", drafts(22, tuple(poll.models))[2:])
    items = [item.id for item in ItemBank(poll.database).bank().items.values() if not item.multi][
        -20:
    ]
    plant(
        poll.database, [vote._replace(item=items[place % 20]) for place, vote in enumerate(votes)]
    )


@pytest.fixture
def poll(database) -> Poll:
    """One item with a picture and one with two, three models and the reference."""
    models = ("m1", "m2", "m3", REFERENCE)
    Ingest(database).add_items("test", "folder", drafts(1, models))
    Ingest(database).add_items("test", "folder", drafts(2, models, images=2)[1:])
    return Poll(database)


# The paper's table


def degrees_to_pairs(left: dict[str, int]) -> list[tuple[str, str]]:
    """Return pairs of models in which each occurs as often as asked: the two with most left meet next."""
    left, pairs = dict(left), []
    while any(left.values()):
        one, other = sorted(left, key=lambda name: -left[name])[:2]
        pairs.append((one, other) if len(pairs) % 2 else (other, one))
        left[one] -= 1
        left[other] -= 1
    assert set(left.values()) == {0}
    return pairs


def table_votes(table: dict[str, tuple[int, int, int, str]]) -> list[tuple[str, str]]:
    """Return votes, winner first, with the table's matches and its results against the reference."""
    votes = []
    for model, (_, wins, met, _) in table.items():
        votes += [(model, REFERENCE)] * wins + [(REFERENCE, model)] * (met - wins)
    votes += degrees_to_pairs(
        {model: matches - met for model, (matches, _, met, _) in table.items()}
    )
    random.Random(3).shuffle(votes)
    return votes


def test_table_3_of_the_paper_comes_out_of_its_votes(tmp_path):
    """Plant votes with the paper's totals: matches, win rates and n are as it prints them."""
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    single, multi = table_votes(TABLE_3_SINGLE), table_votes(TABLE_3_MULTI)
    assert (len(single), 2 * len(single), len(multi)) == (5011, 10_022, 359)
    Ingest(database).add_items("VisIT-Bench", "visit", drafts(ITEMS, (*TABLE_3_SINGLE, REFERENCE)))
    Ingest(database).add_items(
        "VisIT-Bench", "visit", drafts(2 * ITEMS, (*TABLE_3_MULTI, REFERENCE), images=2)[ITEMS:]
    )
    plant(
        database,
        [Planted(1 + place % ITEMS, *vote, voter=place // 4) for place, vote in enumerate(single)],
    )
    plant(database, [Planted(1 + ITEMS + place % ITEMS, *vote) for place, vote in enumerate(multi)])
    poll = Poll(database)
    for key, votes, table, matches in (
        (SINGLE, single, TABLE_3_SINGLE, 1439),
        (MULTI, multi, TABLE_3_MULTI, 210),
    ):
        board = poll.board(key, PATIENCE)
        lines = {line.model: line for line in board.standings}
        assert (board.votes, len(board.groups)) == (len(votes), 1)
        assert sum(line.votes for line in board.standings) == 2 * len(votes)
        for model, (printed_matches, wins, met, printed_rate) in table.items():
            line = lines[model]
            assert (line.votes, line.win_rate.hits, line.win_rate.n) == (printed_matches, wins, met)
            assert f"{line.win_rate.value:.2%}" == printed_rate
        assert (lines[REFERENCE].votes, lines[REFERENCE].win_rate) == (matches, None)
        assert board.standings[0].model == REFERENCE
    check_ratings(board, votes, ITEMS)
    database.close()


def check_ratings(board: Board, votes: list[tuple[str, str]], items: int) -> None:
    """Ratings, intervals, ranks and Elo are those of the arithmetic, on the same votes, spread over items in turn."""
    names, (won, lost) = encode_columns(*zip(*votes, strict=True))
    columns = decided(won, lost, len(names))
    fit = bradley_terry(win_matrix(columns))
    each = np.arange(len(votes))
    on_items = replace(columns, items=each % items, voters=each)
    found, place = intervals(fit, on_items, "item"), {name: code for code, name in enumerate(names)}
    ranked = trusted_models(fit, (found.high - found.low) / 2)
    rank = ranks(
        fit, Bounds(*(np.where(ranked, bound, np.nan) for bound in (found.low, found.high)))
    )
    places = rank_sets(fit, found, ranked)
    elo = elo_orders(columns, ORDERS, 1).median
    for line in board.standings:
        at = place[line.model]
        assert line.rating == pytest.approx(
            (fit.ratings[at], found.low[at], found.high[at]), abs=1e-6
        )
        assert (line.rank and line.rank.value) == (rank[at] if ranked[at] else None)
        if line.rank:
            assert line.rank.low == min(rank[at], places.low[at])
            assert line.rank.high == max(rank[at], places.high[at])
        assert line.elo.low <= line.elo.value <= line.elo.high
        assert line.elo.value == pytest.approx(elo[at], abs=8), (
            "the median over other orders is about the same"
        )
    order = [
        (line.rank is None, line.rank.value if line.rank else 0, -line.rating.value)
        for line in board.standings
    ]
    assert order == sorted(order), "by rank, then the provisional ones"


# What is counted


def test_without_votes_a_board_is_empty(poll):
    for key in (
        SINGLE,
        MULTI,
        BoardKey(99, False),
        BoardKey(1, False, 77),
        BoardKey(1, False, None, date(2026, 1, 1)),
    ):
        board = poll.board(key, PATIENCE)
        assert (board.votes, board.groups, board.left, board.statistics) == (0, (), None, None)


def test_one_vote_moves_the_elo_of_two_and_nothing_else(poll):
    poll.vote("m2", "m1")
    board = poll.board(patience=PATIENCE)
    assert (board.votes, board.statistics.clusters) == (1, 1)
    for line in board.standings:
        assert (line.votes, line.trust) == (1, "provisional")
        assert (line.rank, line.win_rate, line.mean_win_rate, line.left) == (None,) * 4
        assert line.rating.low is line.rating.high is None, "a rating, but no interval yet"
        assert not line.retired
    ratings = {line.model: line.rating.value for line in board.standings}
    assert ratings["m2"] > 1000 > ratings["m1"]
    assert {line.model: line.elo for line in board.standings} == {
        "m1": (998, 998, 998),
        "m2": (1002, 1002, 1002),
    }


def test_numbers_begin_at_the_floor_and_are_trusted(poll):
    plant(poll.database, wins_and_losses("m1", "m2", FLOOR // 2, FLOOR - FLOOR // 2 - 1))
    assert {line.rating.low for line in poll.board(patience=PATIENCE).standings} == {None}
    plant(poll.database, wins_and_losses("m1", "m2", 1, 0))
    lines = poll.lines(patience=PATIENCE)
    assert {line.trust for line in lines.values()} == {"provisional"}
    assert all(None not in (line.rating, line.rating.low, line.elo) for line in lines.values())
    assert {line.rank for line in lines.values()} == {None}
    plant(poll.database, wins_and_losses("m1", "m2", TRUSTED - FLOOR, 0))
    assert {line.trust for line in poll.board().standings} == {"trusted"}


def test_an_undefeated_model_and_a_winless_one_have_finite_numbers_and_say_so(poll):
    plant(poll.database, wins_and_losses("m1", "m2", 40, 0) + wins_and_losses("m2", "m3", 20, 20))
    plant(poll.database, wins_and_losses(REFERENCE, "m3", 40, 0))
    lines = poll.lines(patience=PATIENCE)
    assert {model: line.status for model, line in lines.items()} == {
        "m1": Status.UNBEATEN,
        "m2": Status.RATED,
        "m3": Status.RATED,
        REFERENCE: Status.UNBEATEN,
    }
    assert lines["m1"].trust == lines[REFERENCE].trust == "provisional"
    assert all(abs(bound) < 5000 for line in lines.values() for bound in line.rating)
    assert lines["m2"].rating.high > 1200 and lines["m2"].trust == "provisional", (
        "all its votes are on two tuples"
    )
    assert {line.trust for line in poll.board().standings if line.status is Status.RATED} == {
        "trusted"
    }


def test_models_that_never_met_are_not_ranked_against_each_other(poll):
    spread_over_items(
        poll, wins_and_losses("m1", "m2", 20, 10) + wins_and_losses("m3", REFERENCE, 15, 15)
    )
    board = poll.board(patience=PATIENCE)
    assert {frozenset(line.model for line in group) for group in board.groups} == {
        frozenset({"m1", "m2"}),
        frozenset({"m3", REFERENCE}),
    }
    for group in board.groups:
        assert group[0].rank.value == 1
        assert sum(line.rating.value for line in group) == pytest.approx(2000)
        assert all(line.rank.high <= 2 for line in group)


def test_a_model_seen_on_one_side_only_is_rated_as_any_other(poll):
    plant(
        poll.database,
        [Planted(1, "m1", "m2", left=True)] * 20 + [Planted(1, "m2", "m1", left=False)] * 10,
    )
    lines = poll.lines(patience=PATIENCE)
    assert lines["m1"].rating.value > 1000 > lines["m2"].rating.value
    low, high = wilson(np.array([20]), np.array([30]))
    assert lines["m1"].left == lines["m2"].left == Share(20, 30, low[0], high[0])


@pytest.mark.locks_or_dialect
def test_the_share_of_left_choices_is_kept_with_every_vote_and_undo(poll):
    for number in range(FLOOR + 2):
        voter, battle = poll.serve("m1", "m2")
        poll.store.vote(voter, battle.token, "b" if number % 3 == 0 else "a", "1")
    again = poll.store.undo(voter, battle.token)
    let_pass(poll.database, FINAL_SECONDS)
    assert astuple(poll.board().left)[:2] == (7, 11)
    poll.store.vote(voter, again.token, "b", "1")
    assert astuple(poll.board().left)[:2] == (7, 12)
    assert poll.lines()["m1"].left == poll.lines()["m2"].left == poll.board().left


def test_the_win_rate_counts_battles_with_the_reference_only(poll):
    for winner, loser in [
        ("m1", REFERENCE),
        (REFERENCE, "m1"),
        (REFERENCE, "m1"),
        ("m1", "m2"),
        ("m2", REFERENCE),
    ]:
        poll.vote(winner, loser)
    lines = poll.lines()
    assert (astuple(lines["m1"].win_rate)[:2], lines["m1"].votes) == ((1, 3), 4)
    assert (astuple(lines["m2"].win_rate)[:2], lines["m2"].votes) == ((1, 1), 2)
    assert lines["m2"].win_rate.low < 0.25 < lines["m2"].win_rate.high == 1, (
        "one vote tells next to nothing"
    )
    assert (lines[REFERENCE].win_rate, lines[REFERENCE].votes) == (None, 4)


def test_a_loser_of_all_has_a_win_rate_of_zero_not_of_none(poll):
    poll.vote(REFERENCE, "m1")
    assert poll.lines()["m1"].win_rate.value == 0


def test_the_reference_is_known_by_what_it_is_not_by_its_shown_name(poll):
    Ingest(poll.database).rename(REFERENCE, "Gold")
    poll.vote(REFERENCE, "m1")
    assert poll.lines()["m1"].win_rate.n == 1
    assert "Gold" in poll.lines()


def test_single_and_multiple_images_are_apart(poll):
    poll.vote("m1", "m2", item=1)
    poll.vote("m3", "m1", item=2)
    assert set(poll.lines(SINGLE)) == {"m1", "m2"}
    assert set(poll.lines(MULTI)) == {"m1", "m3"}
    assert {line.votes for key in (SINGLE, MULTI) for line in poll.board(key).standings} == {1}


def test_sources_are_apart(poll):
    Ingest(poll.database).add_items("demo items", "demo", drafts(3, ("m1", "m2"))[2:])
    poll.items = ItemBank(poll.database)
    poll.vote("m1", "m2", item=1)
    poll.vote("m2", "m1", item=3)
    poll.vote("m2", "m1", item=3)
    demo = BoardKey(2, False)
    assert (poll.board(SINGLE).votes, poll.board(demo).votes) == (1, 2)
    assert [poll.lines(key)["m1"].votes for key in (SINGLE, demo)] == [1, 2]


@pytest.mark.locks_or_dialect
def test_open_skipped_and_undone_battles_are_not_counted(poll):
    poll.serve("m1", "m2")
    voter, battle = poll.serve("m1", "m2")
    poll.store.skip(voter, battle.token, "offensive")
    voter, battle = poll.choose("m1", "m2")
    again = poll.store.undo(voter, battle.token)
    assert plain(poll.board()) == (0, [])
    poll.store.vote(voter, again.token, "b", "1")
    assert {model: line.votes for model, line in poll.lines().items()} == {"m1": 1, "m2": 1}
    assert poll.board().counts.wins.tolist() == [[0, 0], [1, 0]]


def test_a_vote_counts_once_it_is_final_and_once_only(poll):
    """Final is what was revealed, what is old enough, and a second choice."""
    voter, battle = poll.choose("m1", "m2")
    assert plain(poll.board()) == (0, [])
    poll.store.reveal(voter, battle.token)
    assert poll.board().votes == 1
    poll.choose("m2", "m1")
    assert poll.board().votes == 1
    let_pass(poll.database, FINAL_SECONDS)
    assert poll.board().votes == 2
    voter, battle = poll.choose("m2", "m3")
    battle = poll.store.undo(voter, battle.token)
    assert poll.board().votes == 2
    poll.store.vote(voter, battle.token, "a", "1")
    assert poll.board().votes == 3


@pytest.fixture
def kept(poll) -> Iterator[Leaderboard]:
    """One leaderboard through a whole test, which looks into nothing more than once."""
    opened = Leaderboard(poll.database, VoteTable(poll.database), every=3600)
    yield opened
    opened.close()


@pytest.mark.locks_or_dialect
def test_a_kept_board_shows_each_change_at_the_next_call(poll, kept):
    """What is kept must never be old."""

    def look() -> Board:
        assert plain(kept.board(SINGLE)) == plain(poll.board(SINGLE))
        return kept.board(SINGLE)

    assert look().votes == 0
    poll.vote("m1", "m2")
    assert look().votes == 1
    voter, battle = poll.choose("m2", "m1")
    before = look()
    assert before.votes == 1
    again = poll.store.undo(voter, battle.token)
    assert look() is before, "nothing on the page may tell that somebody chose"
    poll.store.vote(voter, again.token, "a", "1")
    assert look().votes == 2
    Ingest(poll.database).rename("m1", "New name")
    assert {line.model for line in look().standings} == {"New name", "m2"}
    Ingest(poll.database).retire("m2")
    assert {line.model: line.retired for line in look().standings} == {
        "New name": False,
        "m2": True,
    }
    Ingest(poll.database).add_items(
        "test", "folder", drafts(9, ("new",))[8:] + drafts(9, ("m1", "new"))[7:8]
    )
    later = Poll(poll.database)
    later._voters = 100
    later.vote("new", "m1", item=max(later.items.bank().items))
    assert look().votes == 3


def test_boards_kept_side_by_side_do_not_mix(poll, kept):
    poll.vote("m1", "m2", item=1)
    poll.vote("m2", "m1", item=2)
    for _ in range(2):
        assert kept.board(SINGLE).counts.wins.tolist() == [[0, 1], [0, 0]]
        assert kept.board(MULTI).counts.wins.tolist() == [[0, 0], [1, 0]]


def test_a_board_is_computed_once_for_its_votes_whoever_looks(poll, kept):
    plant(poll.database, wins_and_losses("m1", "m2", 20, 20))
    kept.board(SINGLE, PATIENCE)
    board = kept.board(SINGLE)
    assert board.statistics is not None
    with ThreadPoolExecutor(8) as visitors:
        assert {id(one) for one in visitors.map(lambda _: kept.board(SINGLE), range(40))} == {
            id(board)
        }
        poll.vote("m1", "m3")
        fresh = {id(one) for one in visitors.map(lambda _: kept.board(SINGLE), range(40))}
    assert len(fresh) == 1 and fresh != {id(board)}


def test_the_longest_unused_board_is_dropped(poll, kept, monkeypatch):
    monkeypatch.setattr("arena.leaderboard.service.CACHED_BOARDS", 2)
    poll.vote("m1", "m2")
    first = kept.board(SINGLE, PATIENCE)
    kept.board(MULTI, PATIENCE)
    assert kept.board(SINGLE) is first
    kept.board(BoardKey(99, False), PATIENCE)
    assert kept.board(SINGLE) is first, "the other was used longer ago"
    kept.board(MULTI, PATIENCE)
    kept.board(BoardKey(99, False), PATIENCE)
    assert kept.board(SINGLE) is not first
    assert plain(kept.board(SINGLE)) == plain(first)


def test_all_boards_of_the_overview_stay_in_memory():
    """With one picture and with several; else each reading of it would count all of them anew."""
    assert leaderboard_service.CACHED_BOARDS > 2 * MOST_SOURCES


# What is found out beside the requests


def test_intervals_follow_at_most_so_often_and_ratings_at_once(poll):
    board = Leaderboard(poll.database, VoteTable(poll.database), every=0.5 * MANY_VOTES / 60)
    plant(poll.database, wins_and_losses("m1", "m2", 20, 20))
    began = time.monotonic()  # before the first look, however long it takes
    first = board.board(SINGLE, PATIENCE)
    plant(poll.database, wins_and_losses("m1", "m2", 20, 0))
    second = board.board(SINGLE)
    assert second.votes == 60 and second.standings[0].rating.value > first.standings[0].rating.value
    assert second.statistics is first.statistics, "the last look is too fresh for another"
    errors = [
        (line.rating.high - line.rating.value) for line in (*first.standings, *second.standings)
    ]
    assert errors == pytest.approx([errors[0]] * 4), "the interval goes with the rating"
    while board.board(SINGLE).statistics is first.statistics:
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.02)
    assert time.monotonic() - began >= 0.5
    assert board.board(SINGLE).statistics.votes == 60
    board.close()


def test_a_model_that_came_after_the_last_look_waits_for_its_interval(poll, kept):
    spread_over_items(poll, wins_and_losses("m1", "m2", 20, 20))
    kept.board(SINGLE, PATIENCE)
    plant(poll.database, wins_and_losses("m3", "m1", 20, 20))
    lines = {line.model: line for line in kept.board(SINGLE).standings}
    assert (lines["m3"].rank, lines["m3"].elo, lines["m3"].rating.low) == (None, None, None)
    assert None not in (lines["m3"].rating.value, lines["m1"].rank, lines["m1"].rating.low)


def test_five_votes_on_one_tuple_are_not_five_independent_ones(poll):
    """Twenty tuples of five votes that agree: the interval is as wide as that of the tuples."""
    Ingest(poll.database).add_items("test", "folder", drafts(22, ("m1", "m2"))[2:])
    items = [item.id for item in ItemBank(poll.database).bank().items.values() if not item.multi][
        :20
    ]
    votes = [
        Planted(item, *(("m1", "m2") if place % 2 else ("m2", "m1")))
        for place, item in enumerate(items)
    ]
    plant(poll.database, [vote for vote in votes for _ in range(5)])
    board = poll.board(patience=PATIENCE)
    wide = board.standings[0].rating.high - board.standings[0].rating.low
    assert (board.votes, board.statistics.clusters) == (100, 20)
    assert board.statistics.sample.items == 20
    alone = bradley_terry(np.array([[0, 10], [10, 0.0]]))
    columns = decided([0] * 10 + [1] * 10, [1] * 10 + [0] * 10, 2)
    per_vote = intervals(alone, columns, "vote")
    assert wide == pytest.approx((per_vote.high - per_vote.low)[0], rel=0.06)


def test_who_voted_and_what_carries_the_first_place(poll):
    Ingest(poll.database).add_items("test", "folder", drafts(22, ("m1", "m2"))[2:])
    items = [item.id for item in ItemBank(poll.database).bank().items.values() if not item.multi][
        :20
    ]
    votes = zip(wins_and_losses("m1", "m2", 24, 16), items * 2, strict=True)
    busy = [vote._replace(item=item, voter=place % 6) for place, (vote, item) in enumerate(votes)]
    plant(poll.database, busy)
    statistics = poll.board(patience=PATIENCE).statistics
    assert statistics.sample == (6, 7, 20, 20)
    assert statistics.overturn == (poll.models["m1"], poll.models["m2"], 9), (
        "24 - 9 < 16, and 24 - 8 is a draw"
    )


@pytest.mark.locks_or_dialect
def test_votes_that_changed_unseen_are_found(poll):
    """As where somebody else wrote to the database; nobody has to vote for that."""
    board = Leaderboard(poll.database, VoteTable(poll.database), every=0.0)
    plant(poll.database, wins_and_losses("m1", "m2", 3, 2))
    assert board.board(SINGLE, PATIENCE).votes == 5
    with poll.database.write() as connection:
        connection.execute(delete(BATTLE).where(BATTLE.c.id == 2))
    deadline = time.monotonic() + PATIENCE
    while board.board(SINGLE).votes != 4:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (health,) = board.health()
    assert (health.source, health.votes, health.mended, health.problem) == ("test", 4, 1, "")
    assert health.computed is not None and health.checked is not None
    board.close()


# Filters


@pytest.mark.locks_or_dialect
def test_a_board_of_one_family_counts_its_items_only(poll):
    Ingest(poll.database).add_items("test", "folder", drafts(6, ("m1", "m2", "m3")))
    items = {
        item.family: item.id
        for item in ItemBank(poll.database).bank().items.values()
        if not item.multi
    }
    plant(poll.database, wins_and_losses("m1", "m2", 3, 1, items["Counting"]))
    plant(poll.database, wins_and_losses("m3", "m2", 2, 0, items["Color"]))
    board = Leaderboard(poll.database, VoteTable(poll.database))
    choice = board.choose("test", "single", "Color")
    assert (choice.family, choice.families) == ("Color", ("Color", "Counting")), (
        "those with votes, and no others"
    )
    assert plain(board.board(choice.key))[0] == 2
    assert {line.model for line in board.board(choice.key).standings} == {"m2", "m3"}
    assert board.board(SINGLE).votes == 6
    assert board.choose("test", "single", "Directions").family is None
    assert board.board(choice.key, PATIENCE).statistics.votes == 2
    board.close()


@pytest.mark.locks_or_dialect
def test_a_board_of_some_days_counts_their_votes_only(poll):
    midnight = datetime(2026, 3, 2, tzinfo=UTC)
    moments = {
        0: midnight - timedelta(seconds=1),
        1: midnight,
        2: midnight + timedelta(hours=23, minutes=59),
    }
    votes = [Planted(1, "m1", "m2", left=number % 2 == 0, at=at) for number, at in moments.items()]
    plant(poll.database, [*votes, Planted(1, "m2", "m1", at=midnight + timedelta(days=1))])
    board = Leaderboard(poll.database, VoteTable(poll.database))

    def votes_of(since: str, until: str) -> int:
        return board.board(board.choose("test", "single", None, since, until).key).votes

    assert [votes_of("", ""), votes_of("2026-03-02", "2026-03-02"), votes_of("", "2026-03-02")] == [
        4,
        2,
        3,
    ]
    assert [votes_of("2026-03-02", ""), votes_of("2026-03-03", ""), votes_of("2026-03-04", "")] == [
        3,
        1,
        0,
    ]
    day = board.board(
        board.choose("test", "single", None, "2026-03-02", "2026-03-02").key, PATIENCE
    )
    assert (day.counts.wins.tolist(), astuple(day.left)[:2], day.statistics.votes) == (
        [[0, 2], [0, 0]],
        (1, 2),
        2,
    )
    board.close()


def test_what_is_chosen_is_known_or_refused(poll, kept):
    assert kept.choose(None, None).key == SINGLE
    assert kept.choose("nothing", "multiple", 7, "", None).key == MULTI
    assert kept.choose("test", "single", ["x"], " 2026-03-02 ", "2026-03-02").key.since == date(
        2026, 3, 2
    )
    for since, until in (
        ("yesterday", ""),
        ("", "2026-02-30"),
        ("2026-03-02", "2026-03-01"),
        ("0001-01-01", ""),
    ):
        with pytest.raises(BoardSelectionError):
            kept.choose("test", "single", None, since, until)


def test_without_a_source_there_is_nothing_to_choose(database):
    board = Leaderboard(database, VoteTable(database))
    assert board.choose("", "single") is None
    board.close()


# Plots


@pytest.mark.locks_or_dialect
def test_history_is_the_board_at_the_end_of_each_day(poll, kept):
    start = datetime(2026, 1, 1, 12, tzinfo=UTC)
    coin = random.Random(5)
    votes = []
    for day in range(50):
        for _ in range(3):
            pair = coin.sample(["m1", "m2", "m3"], 2)
            votes.append(Planted(1, *pair, at=start + timedelta(days=day)))
    plant(poll.database, votes)
    past = kept.history(SINGLE)
    assert (past.days[0], past.days[-1], len(past.days)) == (start.date(), date(2026, 2, 19), 30)
    assert np.isnan(past.ratings[0]).all(), "three votes are too few"
    for at in (10, 29):
        until = kept.board(BoardKey(1, False, None, None, past.days[at]))
        ratings = {line.code: line.rating and line.rating.value for line in until.standings}
        for code, rating in zip(past.codes, past.ratings[at], strict=True):
            assert rating == pytest.approx(ratings[code], nan_ok=True)


def test_a_history_that_cannot_be_read_is_read_anew_at_the_next_call(poll, kept, monkeypatch):
    first = kept.history(SINGLE)
    kept._cached(SINGLE).history_at -= 7200
    with monkeypatch.context() as patch:

        def refuse(*_: object) -> None:
            raise DatabaseError("gone")

        patch.setattr(leaderboard_service, "history_of", refuse)
        with pytest.raises(DatabaseError):
            kept.history(SINGLE)
    assert kept.history(SINGLE) is not first


def test_ratings_by_family_are_those_of_its_board(poll, kept):
    Ingest(poll.database).add_items("test", "folder", drafts(6, ("m1", "m2", "m3")))
    items = {
        item.family: item.id
        for item in ItemBank(poll.database).bank().items.values()
        if not item.multi
    }
    plant(poll.database, wins_and_losses("m1", "m2", 12, 8, items["Counting"]))
    plant(
        poll.database,
        wins_and_losses("m3", "m2", 5, 15, items["Color"]) + wins_and_losses("m1", "m3", 2, 1),
    )
    board = kept.board(SINGLE, PATIENCE)
    found = kept.family_ratings(board)
    assert set(found) == {"Counting", "Color"}
    for family in found:
        of_family = kept.board(kept.choose("test", "single", family).key, PATIENCE)
        lines = {line.code: line for line in of_family.standings}
        for at, code in enumerate(board.statistics.codes):
            line, shown = lines.get(code), not np.isnan(found[family].ratings[at])
            assert shown == (line is not None and line.votes >= FLOOR)
            assert found[family].votes[at] == (line.votes if line else 0)
            if shown:
                assert line.rating == pytest.approx(
                    (found[family].ratings[at], found[family].low[at], found[family].high[at])
                )
    assert kept.family_ratings(board) is not found and kept.family_ratings(poll.board()) == {}


@pytest.mark.parametrize("has_others", [True, False])
def test_a_category_that_one_person_judged_has_no_intervals_beside_others(poll, kept, has_others):
    """Where one person cast all votes of a board, they are shown, and a note says for whom."""
    Ingest(poll.database).add_items("test", "folder", drafts(60, ("m1", "m2"))[2:])
    items = grouped(
        (item.family, item.id)
        for item in ItemBank(poll.database).bank().items.values()
        if not item.multi
    )
    both = wins_and_losses("m1", "m2", 12, 8)
    by_one = [
        vote._replace(item=item, voter=1)
        for vote, item in zip(both, items["Color"][-20:], strict=False)
    ]
    by_many = [vote._replace(item=items["Counting"][0]) for vote in both] if has_others else []
    plant(poll.database, by_one + by_many)
    drawn = PLOTS["Categories"](kept.board(SINGLE, PATIENCE), kept)
    cells = {family: row for family, *row in texts(drawn.table)}
    assert [("–" in cell, f"{len(by_one)} votes)" in cell) for cell in cells["Color"]] == [
        (not has_others, True)
    ] * 2
    assert ("Intervals are for these voters only." in drawn.note) is not has_others
    if has_others:
        assert all("–" in cell for cell in cells["Counting"])


def test_win_rates_by_family_are_those_of_its_board(poll, kept):
    """Against the reference, for every family with a decided battle, each with its own interval."""
    Ingest(poll.database).add_items("test", "folder", drafts(6, ("m1", "m2", REFERENCE)))
    items = {
        item.family: item.id
        for item in ItemBank(poll.database).bank().items.values()
        if not item.multi
    }
    plant(poll.database, wins_and_losses("m1", REFERENCE, 3, 1, items["Counting"]))
    plant(poll.database, wins_and_losses("m2", REFERENCE, 0, 2, items["Color"]))
    board = kept.board(SINGLE, PATIENCE)
    found = kept.reference_shares(board)
    assert set(found) == {"Counting", "Color"}
    for family, rates in found.items():
        of_family = kept.board(kept.choose("test", "single", family).key, PATIENCE)
        assert {line.code: line.win_rate for line in of_family.standings if line.win_rate} == {
            code: share for code, share in rates.items() if share.n
        }
    drawn = PLOTS["Categories vs. reference"](board, kept)
    told = {
        family: [cell.partition(" (")[0] for cell in cells] for family, *cells in texts(drawn.table)
    }
    assert told == {"Color": ["–", "0%"], "Counting": ["75%", "–"]}
    assert "Each interval has a 5% chance of missing" in drawn.note
    assert kept.reference_shares(poll.board()) == {}


def test_twenty_votes_on_one_item_widen_the_win_rate(poll, kept):
    """Four items, always decided alike by five voters each, say as much as four votes."""
    Ingest(poll.database).add_items("test", "folder", drafts(6, ("m1", REFERENCE)))
    items = [item.id for item in ItemBank(poll.database).bank().items.values() if not item.multi]
    for number, item in enumerate(items[:4]):
        pair = ("m1", REFERENCE) if number < 2 else (REFERENCE, "m1")
        plant(poll.database, [Planted(item, *pair)] * 5)
    (line,) = (line for line in kept.board(SINGLE, PATIENCE).standings if line.win_rate)
    low, high = wilson(np.array([2]), np.array([4]))
    assert (line.win_rate.low, line.win_rate.high) == (
        pytest.approx(low[0], abs=0.02),
        pytest.approx(high[0], abs=0.02),
    )


def test_a_model_newer_than_the_statistics_waits_below_the_ranks(poll, kept):
    """As after an import that brings one: its votes are enough, and nobody knows its interval yet."""
    Ingest(poll.database).add_items("test", "folder", drafts(62, ("m1", "m2")))
    items = [item.id for item in ItemBank(poll.database).bank().items.values() if not item.multi]
    pairs = [("m1", "m2"), ("m1", "m2"), ("m2", "m1")]
    plant(poll.database, [Planted(items[number % 50], *pairs[number % 3]) for number in range(100)])
    before = kept.board(SINGLE, PATIENCE)
    wins = np.zeros((3, 3))
    wins[:2, :2], wins[2, :2], wins[:2, 2] = before.counts.wins, 30, 20
    counts = Counts((*before.counts.codes, 99), wins, wins / 2, np.zeros((3, 3)))
    names = {poll.models["m1"]: "m1", poll.models["m2"]: "m2", 99: "m3"}
    entrants = {
        code: Entrant(name, retired=False, is_reference=False) for code, name in names.items()
    }
    made = board(SINGLE, counts, entrants, before.statistics, before=before)
    assert [(line.model, line.rank and line.rank.value, line.trust) for line in made.standings] == [
        ("m1", 1, "trusted"),
        ("m2", 2, "trusted"),
        ("m3", None, "provisional"),
    ]


def test_old_statistics_are_forgotten(poll):
    """They hold all votes of a board: a busy server has room for one generation."""
    leaderboard = Leaderboard(poll.database, VoteTable(poll.database), every=0.0)
    plant(poll.database, wins_and_losses("m1", "m2", 60, 40))
    first = weakref.ref(leaderboard.board(SINGLE, PATIENCE).statistics)
    plant(poll.database, wins_and_losses("m1", "m2", 2, 1))
    deadline = time.monotonic() + PATIENCE
    while leaderboard.board(SINGLE, PATIENCE).statistics.votes < 103:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    leaderboard.board(SINGLE)
    gc.collect()
    assert first() is None
    leaderboard.close()


def test_who_leans_to_a_side_makes_no_bias_of_the_arena(poll):
    """Ten voters, half of them always on the left and half nearly so on the right, tell little of the next ten."""
    Ingest(poll.database).add_items("test", "folder", drafts(62, ("m1", "m2")))
    items = [item.id for item in ItemBank(poll.database).bank().items.values() if not item.multi][
        :20
    ]
    plant(
        poll.database,
        [
            Planted(item, "m1", "m2", left=voter % 2 == 0 or not turn, voter=voter)
            for voter in range(10)
            for turn, item in enumerate(items)
        ],
    )
    left = poll.board(patience=PATIENCE).left
    low, high = wilson(np.array([105]), np.array([200]))
    assert (left.hits, left.n) == (105, 200) and left.high - left.low > 2.5 * (high - low)[0]


# Many at once


def test_a_vote_that_commits_after_a_later_one_shows_too(another):
    """A reveal waits for one that has its final number and is not committed: no lower number comes later."""
    database = another("postgresql")
    Ingest(database).add_items("test", "folder", drafts(1, ("m1", "m2")))
    poll, kept = Poll(database), Leaderboard(database, VoteTable(database))
    poll.vote("m2", "m1")
    _, battle = poll.choose("m1", "m2")
    later, other = poll.choose("m2", "m1")
    with ThreadPoolExecutor(1) as apart:
        with database.write() as slow:
            number = {"final_number": next_final_number(slow), "revealed_at": now()}
            slow.execute(update(BATTLE).where(BATTLE.c.id == battle.id).values(number))
            revealed = apart.submit(poll.store.reveal, later, other.token)
            with pytest.raises(TimeoutError):
                revealed.result(timeout=0.4)
            assert kept.board(SINGLE).votes == 1
        revealed.result(timeout=PATIENCE)
    assert kept.board(SINGLE).votes == 3
    assert values(VoteTable(database).read().votes, "battle").tolist() == [1, battle.id, other.id]
    kept.close()


def test_withdrawn_answers_keep_their_votes_on_the_board(poll):
    ingest = Ingest(poll.database)
    ingest.add_answers("m4", "m4.csv", {1: "m4 says"})
    poll = Poll(poll.database)
    poll.vote("m4", "m1")
    ingest.withdraw("m4.csv")
    assert poll.lines()["m4"].votes == 1


def test_the_votes_are_exported_as_they_were_cast(poll, monkeypatch, tmp_path, capsys):
    """To JSON lines and to Parquet, and from both back to the same votes; sources are never mixed."""
    monkeypatch.setenv("DATABASE_URL", poll.database.url.render_as_string(hide_password=False))
    poll.vote("m1", "m2")
    voter, battle = poll.serve("m3", REFERENCE, item=2)
    poll.store.vote(voter, battle.token, "b", "1")
    let_pass(poll.database, FINAL_SECONDS)
    voter, battle = poll.choose("m2", "m1")
    poll.store.undo(voter, battle.token)
    poll.choose("m2", "m3")
    files = [tmp_path / "votes.jsonl", tmp_path / "votes.parquet"]
    for file in files:
        assert main(["votes", "export", "--out", str(file)]) == 0
        battles = read(file)
        assert (battles.model_a, battles.model_b, battles.winner) == (
            ("m1", "m3"),
            ("m2", REFERENCE),
            ("a", "b"),
        )
        assert (battles.images, battles.category, set(battles.blind)) == (
            (1, 2),
            ("Counting", "Color"),
            {True},
        )
        assert len(set(battles.voter)) == len(set(battles.conversation)) == 2
        assert battles.time[0] <= battles.time[1] <= time.time()
    assert (
        main(["votes", "export", "--format", "fastchat-log", "--out", str(tmp_path / "log.json")])
        == 0
    )
    Ingest(poll.database).add_items("other", "folder", drafts(9, ("m1", "m2"))[8:])
    assert main(["votes", "export", "--out", str(files[0])]) == 2
    assert "'test', 'other'" in capsys.readouterr().err
    assert main(["votes", "export", "--source", "other", "--out", str(files[0])]) == 0
    assert len(read(files[0])) == 0


def test_boards_of_many_days_take_no_whole_boards_place(bank, monkeypatch):
    monkeypatch.setattr("arena.leaderboard.service.CACHED_BOARDS", 3)
    poll, service = Poll(bank), Leaderboard(bank, VoteTable(bank))
    poll.vote("m1", "m2")
    let_pass(bank, 60)
    whole = service.board(SINGLE, PATIENCE)
    for number in range(4):
        service.board(replace(SINGLE, since=date(2020, 1, 1) + timedelta(number)))
    again = service.board(SINGLE)
    service.close()
    assert again.statistics is not None and again.statistics is whole.statistics


def test_a_table_that_differs_is_mended_while_statistics_fail(poll, monkeypatch):
    table = VoteTable(poll.database)
    kept = Leaderboard(poll.database, table, every=0)
    plant(poll.database, wins_and_losses("m1", "m2", 3, 2))
    kept.board(SINGLE, PATIENCE)
    kept._executor.submit(lambda: None).result()

    def refuse(*_: object) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(leaderboard_service, "compute_statistics", refuse)
    with poll.database.write() as connection:
        connection.execute(delete(BATTLE).where(BATTLE.c.id == 1))
    plant(poll.database, [Planted(1, "m1", "m2")])
    kept.board(SINGLE, PATIENCE)
    kept._executor.submit(lambda: None).result()
    assert (table.checks.mended, kept.board(SINGLE).votes) == (1, 5)
    kept.close()
