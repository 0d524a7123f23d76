"""The counted board beside everyone's: guests move the one by nothing, whatever they do to the other."""

import random
from collections.abc import Iterator
from html import unescape

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from arena.battles.store import BattleStore, Draw
from arena.battles.vote_table import VoteTable
from arena.battles.voters import Account, Voters
from arena.database import Database
from arena.fraud.eligibility import choose_first_official, make_official
from arena.fraud.flags import COUNTED_REVIEW, EVERYONE_REVIEW, VOTER_FLAG
from arena.items.fact_store import FactStore
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.board import BoardKey
from arena.leaderboard.selection import BoardSelectionError
from arena.leaderboard.service import Leaderboard
from arena.settings import CountSettings
from arena.web.leaderboard_api import routes
from arena.web.leaderboard_view import board_html
from scoring.jobs.submissions import PeoplesBoards
from tests.support.planting import Planted, plant
from tests.support.servers import drafts

MODELS = ("m1", "m2", "m3", "m4", "m5")
"""From the best to the worst."""
LOGGED_IN = CountSettings("logged-in")
COUNTED, EVERYONE = BoardKey(1, False), BoardKey(1, False, everyone=True)
PATIENCE = 60.0


class Arena:
    """A bank, and voters who choose by models' names, through the store."""

    def __init__(self, database: Database) -> None:
        self.database, self.store, self.people = database, BattleStore(database), Voters(database)
        bank = ItemBank(database)
        self.models = {model.name: code for code, model in enumerate(bank.models(), 1)}
        self.answers = {
            (item.id, one.model): one.answer
            for item in bank.bank().items.values()
            for one in item.contestants
        }
        self.coin = random.Random(5)

    def person(self, number: int) -> int:
        return self.people.log_in(
            Account(str(number), f"person {number}"), f"before {number}", f"login {number}"
        )

    def vote(self, voter: int, item: int, winner: str, loser: str) -> None:
        left, right = self.coin.sample((winner, loser), 2)
        codes = self.models[left], self.models[right]
        draw = Draw(item, *codes, *(self.answers[item, code] for code in codes))
        battle = self.store.serve(voter, lambda _: draw, may_come_back=lambda *_: False)
        assert battle
        self.store.vote(voter, battle.token, "a" if left == winner else "b", "1")
        self.store.reveal(voter, battle.token)

    def honest(self, people: int, each: int) -> None:
        """Let people vote, nine of ten times for the better model."""
        for number in range(people):
            voter = self.person(number)
            for item in range(1, 1 + each):
                better, worse = sorted(self.coin.sample(MODELS, 2))
                self.vote(
                    voter, item, *((better, worse) if self.coin.random() < 0.9 else (worse, better))
                )

    def rig(self, guests: int, each: int) -> None:
        """Let new cookies choose the worst model against each."""
        for number in range(guests):
            voter = self.store.voter(f"guest {number}")
            for item in range(1, 1 + each):
                self.vote(voter, item, MODELS[-1], MODELS[item % 4])


@pytest.fixture
def arena(tmp_path) -> Iterator[Arena]:
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts(12, MODELS))
    yield Arena(database)
    database.close()


def shown(database: Database, key: BoardKey) -> list[tuple]:
    """Return a board's lines as a server that has just started shows them."""
    leaderboard = Leaderboard(database, VoteTable(database), LOGGED_IN)
    lines = leaderboard.board(key, PATIENCE).standings
    leaderboard.close()
    return [
        (line.model, line.rank and line.rank.value, line.rating and line.rating.value, line.votes)
        for line in lines
    ]


def stored(database: Database, review: str) -> list:
    flags = select(VOTER_FLAG.c.voter_id, VOTER_FLAG.c.reason).where(VOTER_FLAG.c.review == review)
    with database.read() as connection:
        return sorted(map(tuple, connection.execute(flags)))


def test_any_number_of_guest_cookies_moves_the_counted_board_by_nothing(arena):
    arena.honest(8, 10)
    before, flags = shown(arena.database, COUNTED), stored(arena.database, COUNTED_REVIEW)
    assert sum(line[3] for line in before) == 2 * 80
    arena.rig(5, 10)
    planted = [Planted(1 + n % 12, MODELS[-1], MODELS[n % 4], voter=n // 10) for n in range(3000)]
    plant(arena.database, planted)  # as if 300 more had come
    everyone = shown(arena.database, EVERYONE)
    assert shown(arena.database, COUNTED) == before
    assert everyone[0][0] == MODELS[-1], "they do move everyone's"
    assert stored(arena.database, COUNTED_REVIEW) == flags
    assert stored(arena.database, EVERYONE_REVIEW) != flags


def test_a_vote_counts_soon_after_it_was_cast(arena):
    arena.honest(1, 1)
    leaderboard = Leaderboard(arena.database, VoteTable(arena.database), LOGGED_IN)
    assert leaderboard.board(COUNTED).votes == 1
    arena.vote(arena.person(7), 2, "m1", "m2")
    assert leaderboard.board(COUNTED).votes == 2
    leaderboard.close()


def test_the_page_says_whose_votes_a_board_has_and_how_many_of_all(arena):
    arena.honest(2, 3)
    arena.rig(1, 4)
    leaderboard = Leaderboard(arena.database, VoteTable(arena.database), LOGGED_IN)
    told = {}
    for votes in ("counted", "everyone"):
        choice = leaderboard.choose("test", "single", votes=votes)
        told[votes] = unescape(board_html(leaderboard.board(choice.key, PATIENCE), choice))
    leaderboard.close()
    assert "test, one picture, counted voters: 6 votes" in told["counted"]
    assert "Counted: 6 of 10 votes, from logged-in voters" in told["counted"]
    assert "test, one picture, everyone: 10 votes" in told["everyone"]
    assert "Everyone: 10 of 10 votes, from any voter" in told["everyone"]
    assert all(f"votes={votes}" in html for votes, html in told.items()), (
        "downloads are of the same board"
    )


def test_the_official_board_opens_first_and_stands_beside_judges_boards(arena):
    arena.honest(6, 12)
    arena.rig(15, 10)
    choose_first_official(arena.database, LOGGED_IN, "everyone")
    leaderboard = Leaderboard(arena.database, VoteTable(arena.database), LOGGED_IN)
    people = PeoplesBoards(leaderboard, arena.database)
    assert leaderboard.choose("test", "single").key == EVERYONE
    everyone = people.ratings("test", False)
    with arena.database.write() as connection:
        make_official(connection, "counted")
    assert leaderboard.choose("test", "single").key == COUNTED
    counted = people.ratings("test", False)
    assert everyone["m5"] > everyone["m1"] and counted["m5"] < counted["m1"]
    leaderboard.close()


def downloads(database: Database, who: CountSettings) -> TestClient:
    app = FastAPI()
    app.include_router(routes(Leaderboard(database, VoteTable(database), who), FactStore(database)))
    return TestClient(app)


def votes_in(answer: httpx.Response) -> int:
    lines = [line.split(",") for line in answer.text.splitlines()]
    return sum(int(line[lines[0].index("votes")]) for line in lines[1:]) // 2


def test_downloads_are_of_the_board_that_is_asked_for(arena):
    arena.honest(2, 3)
    arena.rig(1, 4)
    choose_first_official(arena.database, LOGGED_IN, "everyone")
    client = downloads(arena.database, LOGGED_IN)
    asked = {
        votes: client.get(f"/boards/board.csv?source=test{votes}")
        for votes in ("", "&votes=counted", "&votes=everyone")
    }
    assert [votes_in(answer) for answer in asked.values()] == [10, 6, 10]
    drawn = client.get("/boards/board.svg?source=test&votes=counted").text
    assert "By counted votes: " in drawn
    wrong = client.get("/boards/board.csv?source=test&votes=guests")
    assert (wrong.status_code, wrong.text) == (
        400,
        "The boards here have the votes of counted or everyone, not 'guests'.",
    )


def test_where_everybody_counts_there_is_one_board(arena):
    arena.rig(1, 2)
    leaderboard = Leaderboard(arena.database, VoteTable(arena.database))
    choice = leaderboard.choose("test", "single", votes="everyone")
    assert (choice.votes, choice.key) == (None, BoardKey(1, False))
    assert "counted" not in board_html(leaderboard.board(choice.key), choice)
    with pytest.raises(BoardSelectionError, match="not 'counted'"):
        leaderboard.choose("test", "single", votes="counted")
    leaderboard.close()
