"""Leaderboards: what the paper's Table 3 prints comes out of its votes; nothing is mixed, missed or counted twice."""

import random
from collections import Counter

import pytest
from sqlalchemy import func, insert, select

from arena.ballots import BATTLE, VOTE, VOTER, WINS
from arena.database import Database, now
from arena.intake import Intake
from arena.items import ITEM, ItemBank
from arena.leaderboard import Board, BoardKey, Leaderboard, Standing
from arena.records import REFERENCE, Battle
from arena.store import Draw, Store
from tests.conftest import drafts, new_postgresql_database
from tests.test_ratings import published_elo

SINGLE, MULTI = BoardKey(1, False), BoardKey(1, True)

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
        self.database, self.store, self.items = database, Store(database), ItemBank(database)
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
        voter, battle = self.serve(winner, loser, item)
        return voter, self.store.vote(voter, battle.token, "a", "1")

    def board(self, key: BoardKey = SINGLE) -> Board:
        return Leaderboard(self.database).board(key)

    def lines(self, key: BoardKey = SINGLE) -> dict[str, Standing]:
        return {standing.model: standing for standing in self.board(key).standings}


@pytest.fixture
def poll(database) -> Poll:
    """One item with a picture and one with two, three models and the reference."""
    models = ("m1", "m2", "m3", REFERENCE)
    Intake(database).add_items("test", "folder", drafts(1, models))
    Intake(database).add_items("test", "folder", drafts(2, models, images=2)[1:])
    return Poll(database)


# The paper's table


def degrees_to_pairs(left: dict[str, int]) -> list[tuple[str, str]]:
    """Return pairs of models in which each occurs as often as asked: the two with most left meet next."""
    left, pairs = dict(left), []
    while any(left.values()):
        one, other = sorted(left, key=lambda name: -left[name])[:2]
        pairs.append((one, other))
        left[one] -= 1
        left[other] -= 1
    assert set(left.values()) == {0}
    return pairs


def table_votes(table: dict[str, tuple[int, int, int, str]]) -> list[tuple[str, str]]:
    """Return votes, winner first, with the table's matches and its results against the reference."""
    votes = []
    for model, (_, wins, met, _) in table.items():
        votes += [(model, REFERENCE)] * wins + [(REFERENCE, model)] * (met - wins)
    votes += degrees_to_pairs({model: matches - met for model, (matches, _, met, _) in table.items()})
    random.Random(3).shuffle(votes)
    return votes


def plant(database: Database, item: int, votes: list[tuple[str, str]]) -> None:
    """Put battles with their votes straight into the tables, each by a voter of its own, the winner on side A."""
    bank = ItemBank(database)
    models = {model.name: code for code, model in enumerate(bank.models(), 1)}
    answers = {one.model: one.answer for one in bank.bank().items[item].contestants}
    with database.write() as connection:
        board = connection.execute(
            select(ITEM.c.source_id, ITEM.c.multi, ITEM.c.family_id).where(ITEM.c.id == item)
        ).one()
        first = connection.execute(select(func.count()).select_from(VOTER)).scalar_one() + 1
        for number, (winner, loser) in enumerate(votes, first):
            won, lost = models[winner], models[loser]
            connection.execute(insert(VOTER).values(id=number, cookie_hash=f"planted {number}", since=now()))
            battle = {"id": number, "token": f"planted {number}", "voter_id": number, "item_id": item}
            pair = {"model_low": min(won, lost), "model_high": max(won, lost), "low_is_a": won < lost}
            sides = {"answer_a": answers[won], "answer_b": answers[lost], "served_at": now()}
            connection.execute(insert(BATTLE).values(**battle, **pair, **sides))
            vote = {"battle_id": number, "attempt": 1, "voter_id": number, "winner": won, "loser": lost}
            connection.execute(insert(VOTE).values(**vote, choice="a", voted_at=now(), terms="1"))
        for (winner, loser), n in Counter(votes).items():
            won, lost = models[winner], models[loser]
            connection.execute(insert(WINS).values(**board._mapping, winner=won, loser=lost, n=n))


def test_table_3_of_the_paper_comes_out_of_its_votes(tmp_path):
    """Plant votes with the paper's totals: matches, win rates and n are as it prints them."""
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    single, multi = table_votes(TABLE_3_SINGLE), table_votes(TABLE_3_MULTI)
    assert (len(single), 2 * len(single), len(multi)) == (5011, 10_022, 359)
    Intake(database).add_items("VisIT-Bench", "visit", drafts(1, (*TABLE_3_SINGLE, REFERENCE)))
    Intake(database).add_items("VisIT-Bench", "visit", drafts(2, (*TABLE_3_MULTI, REFERENCE), images=2)[1:])
    plant(database, 1, single)
    plant(database, 2, multi)
    for key, votes, table, matches in ((SINGLE, single, TABLE_3_SINGLE, 1439), (MULTI, multi, TABLE_3_MULTI, 210)):
        board = Leaderboard(database).board(key)
        lines = {standing.model: standing for standing in board.standings}
        assert board.votes == len(votes)
        assert sum(standing.votes for standing in board.standings) == 2 * len(votes)
        for model, (printed_matches, _, met, printed_rate) in table.items():
            line = lines[model]
            assert (line.votes, line.reference_votes, f"{line.win_rate:.2%}") == (printed_matches, met, printed_rate)
        assert lines[REFERENCE].votes == matches
        assert (lines[REFERENCE].win_rate, lines[REFERENCE].reference_votes) == (None, 0)
        elo = published_elo([(winner, loser, "model_a") for winner, loser in votes])
        assert {model: line.elo for model, line in lines.items()} == pytest.approx(elo, abs=1e-9)
        assert sum(line.elo for line in board.standings) == pytest.approx(1000 * len(lines))
        ranked = sorted(elo, key=lambda model: -elo[model])
        assert [(line.rank, line.model) for line in board.standings] == list(enumerate(ranked, 1))
        assert ranked[0] == REFERENCE
    database.close()


# What is counted


def test_without_votes_a_board_is_empty(poll):
    for key in (SINGLE, MULTI, BoardKey(99, False)):
        assert poll.board(key) == Board(key, 0, ())


def test_one_vote_makes_a_board_of_two(poll):
    poll.vote("m2", "m1")
    board = poll.board()
    assert board.votes == 1
    assert [(line.rank, line.model, line.elo, line.votes) for line in board.standings] == [
        (1, "m2", 1002, 1),
        (2, "m1", 998, 1),
    ]
    assert {(line.win_rate, line.reference_votes, line.retired) for line in board.standings} == {(None, 0, False)}


def test_the_win_rate_counts_battles_with_the_reference_only(poll):
    for winner, loser in [("m1", REFERENCE), (REFERENCE, "m1"), (REFERENCE, "m1"), ("m1", "m2"), ("m2", REFERENCE)]:
        poll.vote(winner, loser)
    lines = poll.lines()
    assert (lines["m1"].win_rate, lines["m1"].reference_votes, lines["m1"].votes) == (1 / 3, 3, 4)
    assert (lines["m2"].win_rate, lines["m2"].reference_votes, lines["m2"].votes) == (1.0, 1, 2)
    assert (lines[REFERENCE].win_rate, lines[REFERENCE].reference_votes, lines[REFERENCE].votes) == (None, 0, 4)


def test_a_loser_of_all_has_a_win_rate_of_zero_not_of_none(poll):
    poll.vote(REFERENCE, "m1")
    assert poll.lines()["m1"].win_rate == 0


def test_the_reference_is_known_by_what_it_is_not_by_its_shown_name(poll):
    Intake(poll.database).rename(REFERENCE, "Gold")
    poll.vote(REFERENCE, "m1")
    assert poll.lines()["m1"].reference_votes == 1
    assert "Gold" in poll.lines()


def test_single_and_multiple_images_are_apart(poll):
    poll.vote("m1", "m2", item=1)
    poll.vote("m3", "m1", item=2)
    assert set(poll.lines(SINGLE)) == {"m1", "m2"}
    assert set(poll.lines(MULTI)) == {"m1", "m3"}
    assert (poll.lines(SINGLE)["m1"].elo, poll.lines(MULTI)["m1"].elo) == (1002, 998)


def test_sources_are_apart(poll):
    Intake(poll.database).add_items("demo bank", "demo", drafts(3, ("m1", "m2"))[2:])
    poll.items = ItemBank(poll.database)
    poll.vote("m1", "m2", item=1)
    poll.vote("m2", "m1", item=3)
    poll.vote("m2", "m1", item=3)
    demo = BoardKey(2, False)
    assert (poll.board(SINGLE).votes, poll.board(demo).votes) == (1, 2)
    assert poll.lines(SINGLE)["m1"].rank == 1
    assert poll.lines(demo)["m2"].rank == 1


def test_open_skipped_and_undone_battles_are_not_counted(poll):
    poll.serve("m1", "m2")
    voter, battle = poll.serve("m1", "m2")
    poll.store.skip(voter, battle.token, "offensive")
    voter, battle = poll.vote("m1", "m2")
    again = poll.store.undo(voter, battle.token)
    assert poll.board() == Board(SINGLE, 0, ())
    poll.store.vote(voter, again.token, "b", "1")
    lines = poll.lines()
    assert (lines["m2"].elo, lines["m2"].votes, lines["m1"].votes) == (1002, 1, 1)


def test_a_vote_counts_before_its_reveal_and_once_after_it(poll):
    voter, battle = poll.vote("m1", "m2")
    before = poll.board()
    poll.store.reveal(voter, battle.token)
    assert before.votes == 1
    assert poll.board() == before


def test_a_kept_board_shows_each_change_at_the_next_call(poll):
    """One leaderboard through it all: what it keeps must never be old."""
    kept = Leaderboard(poll.database)

    def look() -> Board:
        assert kept.board(SINGLE) == poll.board(SINGLE)
        return kept.board(SINGLE)

    assert look().votes == 0
    poll.vote("m1", "m2")
    assert look().votes == 1
    voter, battle = poll.vote("m2", "m1")
    assert look().votes == 2
    again = poll.store.undo(voter, battle.token)
    assert look().votes == 1
    poll.store.vote(voter, again.token, "a", "1")
    assert look().votes == 2
    Intake(poll.database).rename("m1", "New name")
    assert {line.model for line in look().standings} == {"New name", "m2"}
    Intake(poll.database).retire("m2")
    assert {line.model: line.retired for line in look().standings} == {"New name": False, "m2": True}


def test_boards_kept_side_by_side_do_not_mix(poll):
    kept = Leaderboard(poll.database)
    poll.vote("m1", "m2", item=1)
    poll.vote("m2", "m1", item=2)
    for _ in range(2):
        assert kept.board(SINGLE).standings[0].model == "m1"
        assert kept.board(MULTI).standings[0].model == "m2"


def test_a_vote_that_commits_after_a_later_one_shows_too(postgresql):
    """On PostgreSQL a vote may get its number first and commit last."""
    database = Database(new_postgresql_database(postgresql))
    Intake(database).add_items("test", "folder", drafts(1, ("m1", "m2")))
    poll, kept = Poll(database), Leaderboard(database)
    voter, battle = poll.serve("m1", "m2")
    vote = {"battle_id": battle.id, "attempt": 1, "voter_id": voter, "choice": "a", "winner": 1, "loser": 2}
    win = {"source_id": 1, "multi": False, "family_id": 1, "winner": 1, "loser": 2, "n": 1}
    with database.write() as slow:
        slow.execute(insert(VOTE).values(**vote, voted_at=now(), terms="1"))
        slow.execute(insert(WINS).values(**win))
        poll.vote("m2", "m1")
        assert kept.board(SINGLE).votes == 1
    assert kept.board(SINGLE).votes == 2
    database.close()


def test_withdrawn_answers_keep_their_votes_on_the_board(poll):
    intake = Intake(poll.database)
    intake.add_answers("m4", "m4.csv", {1: "m4 says"})
    poll = Poll(poll.database)
    poll.vote("m4", "m1")
    intake.withdraw("m4.csv")
    assert poll.lines()["m4"].votes == 1


def test_random_votes_agree_with_a_recount(poll):
    coin, votes = random.Random(11), []
    for _ in range(60):
        winner, loser = coin.sample(sorted(poll.models), 2)
        poll.vote(winner, loser)
        votes.append((winner, loser))
    lines = poll.lines()
    assert {model: line.elo for model, line in lines.items()} == pytest.approx(
        published_elo([(winner, loser, "model_a") for winner, loser in votes]), abs=1e-9
    )
    for model, line in lines.items():
        assert line.votes == sum(model in vote for vote in votes)
        met = [vote for vote in votes if set(vote) == {model, REFERENCE}]
        assert line.reference_votes == len(met)
        assert line.win_rate == (sum(winner == model for winner, _ in met) / len(met) if met else None)
