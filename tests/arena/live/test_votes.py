"""Boards of live votes: each ranked vote on its own board, none on another's, and what stands outside is told."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from html import unescape

import pytest

from arena.__main__ import main
from arena.battles.store import BattleStore
from arena.battles.vote_table import LIVE_OWN, VoteTable
from arena.clock import FINAL_SECONDS
from arena.database import Database, now
from arena.formats.base import Battles, Vote, columns_of
from arena.formats.native import STEREOSCOPE
from arena.formats.registry import read
from arena.imports.importer import ImportRequest, VoteImporter
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.board import Board, BoardKey
from arena.leaderboard.service import Leaderboard
from arena.live.store import LiveStore, Opening, TurnAnswers
from arena.types import Names, Side
from arena.web.leaderboard_view import HTML, board_html, paragraphs
from tests.support.planting import Planted, let_pass, plant
from tests.support.servers import drafts

OWN, BANK = "Own pictures, answered live", "Our items, answered live"
MODELS = ("m1", "m2", "m3")


class Crowd:
    """People who vote live, each once."""

    def __init__(self, database: Database) -> None:
        self.database, self.store, self.voters = (
            database,
            LiveStore(database),
            BattleStore(database),
        )
        self.store.register_models(MODELS)
        self._came = 0

    def vote(
        self, winner: str, loser: str, images: int = 1, item: int | None = None, **how: bool
    ) -> tuple[int, str]:
        """Vote for the answer on side A and see the names; return the voter and the battle's token."""
        voter, token = self.choose(Names(winner, loser), "a", images, item, **how)
        return voter, self.store.reveal(voter, token).token

    def choose(
        self, models: Names, choice: Side, images: int = 1, item: int | None = None, **how: bool
    ):
        """Cast a vote, which may still be taken back; `how`: whether the battle was stopped, a model named itself."""
        self._came += 1
        voter = self.voters.voter(f"visitor {self._came}")
        battle = self.store.begin(voter, Opening("What is my secret?", images, item))
        stopped, named = how.get("stopped", False), how.get("named", False)
        self.store.answer(
            battle.id, TurnAnswers(models, Names("one text", "another text"), stopped, named)
        )
        return voter, self.store.vote(voter, battle.token, choice, "terms").token


@pytest.fixture
def crowd(bank) -> Crowd:
    return Crowd(bank)


@pytest.fixture
def leaderboard(bank) -> Iterator[Leaderboard]:
    opened = Leaderboard(bank, VoteTable(bank), every=0.0)
    yield opened
    opened.close()


def wins(board: Board) -> dict[str, int]:
    """Return how many battles each model was in."""
    return {line.model: line.votes for line in board.standings}


def opened(leaderboard: Leaderboard, source: str, images: str = "single", **more: str) -> Board:
    choice = leaderboard.choose(source, images, **more)
    assert choice and choice.source == source
    return leaderboard.board(choice.key, 60)


@pytest.mark.locks_or_dialect
def test_each_ranked_vote_is_on_one_board(crowd, leaderboard):
    crowd.vote("m1", "m2")
    crowd.vote("m1", "m3", images=3)
    crowd.vote("m2", "m3", item=1)
    plant(crowd.database, [Planted(1, "m1", "m2")] * 2)
    assert wins(opened(leaderboard, OWN)) == {"m1": 1, "m2": 1}
    assert wins(opened(leaderboard, OWN, "multiple")) == {"m1": 1, "m3": 1}
    assert wins(opened(leaderboard, BANK)) == {"m2": 1, "m3": 1}
    assert opened(leaderboard, BANK, "multiple").votes == 0
    assert wins(opened(leaderboard, "test")) == {"m1": 2, "m2": 2}


def test_sources_of_live_votes_appear_with_their_first_vote(crowd, leaderboard):
    assert leaderboard.choose(OWN, "single").sources == ("test",)
    crowd.vote("m1", "m2")
    assert leaderboard.choose(OWN, "single").sources == ("test", OWN)
    crowd.vote("m1", "m2", item=1)
    assert leaderboard.choose(None, "single").sources == ("test", OWN, BANK)
    assert leaderboard.choose(None, "single").source == "test", "the bank comes first"


def test_a_vote_is_on_the_board_when_it_is_final(crowd, leaderboard):
    crowd.vote("m1", "m2")
    voter, token = crowd.choose(Names("m2", "m1"), "a")
    assert wins(opened(leaderboard, OWN)) == {"m1": 1, "m2": 1}
    again = crowd.store.undo(voter, token)
    assert wins(opened(leaderboard, OWN)) == {"m1": 1, "m2": 1}
    crowd.store.vote(voter, again.token, "b", "terms")
    board = opened(leaderboard, OWN)
    assert (board.votes, board.left.hits, board.left.n) == (2, 1, 2)


def test_stopped_and_self_referring_votes_stand_outside_and_are_told(crowd, leaderboard):
    crowd.vote("m1", "m2")
    for _ in range(3):
        crowd.vote("m2", "m1", stopped=True)
    crowd.vote("m2", "m1", named=True)
    crowd.vote("m2", "m1", images=2, named=True)
    crowd.choose(Names("m2", "m1"), "a", named=True)
    board = opened(leaderboard, OWN)
    assert (board.votes, board.left_out.stopped, board.left_out.named) == (1, 3, 1)
    told = unescape(HTML.summary(paragraphs(board)))
    assert "Two models answered live, on visitors' own pictures." in told
    assert (
        "4 votes don't count in the ranking: 3 on stopped answers, 1 where an answer gave its model away"
        in told
    )
    let_pass(crowd.database, FINAL_SECONDS)
    assert opened(leaderboard, OWN).left_out.named == 2, "when it is final"


@pytest.mark.locks_or_dialect
def test_a_board_of_some_days_has_the_votes_of_these_days(crowd, leaderboard):
    crowd.vote("m1", "m2")
    today = now().date()
    assert opened(leaderboard, OWN, since=str(today), until=str(today)).votes == 1
    assert opened(leaderboard, OWN, until=str(today - timedelta(days=1))).votes == 0
    assert "on visitors' own pictures" in unescape(
        board_html(
            opened(leaderboard, OWN, until="2020-01-01"),
            leaderboard.choose(OWN, "single", until="2020-01-01"),
        )
    )


def test_random_votes_agree_with_a_recount(crowd, leaderboard):
    coin = random.Random(4)
    cast: Counter[tuple[bool, bool, str, str]] = Counter()
    for _ in range(40):
        a, b = coin.sample(MODELS, 2)
        own, images, choice = coin.random() < 0.5, coin.choice((1, 2)), coin.choice(("a", "b"))
        outside = coin.random() < 0.2
        voter, token = crowd.choose(
            Names(a, b), choice, images, None if own else 1, stopped=outside
        )
        if coin.random() < 0.2:
            crowd.store.undo(voter, token)
        elif not outside:
            cast[own, images > 1, *((a, b) if choice == "a" else (b, a))] += 1
    let_pass(crowd.database, FINAL_SECONDS)
    for own, multi in ((own, multi) for own in (False, True) for multi in (False, True)):
        board = opened(leaderboard, OWN if own else BANK, "multiple" if multi else "single")
        model = {line.code: line.model for line in board.standings}
        names = [model[code] for code in board.counts.codes]
        got = Counter(
            {
                (own, multi, names[i], names[j]): int(n)
                for i, row in enumerate(board.counts.wins.tolist())
                for j, n in enumerate(row)
                if n
            }
        )
        assert got == Counter({key: n for key, n in cast.items() if key[:2] == (own, multi)})
        assert board.statistics is None or board.statistics.votes == board.votes


def test_statistics_take_each_upload_for_an_item_of_its_own(crowd, leaderboard):
    for _ in range(12):
        crowd.vote("m1", "m2")
        crowd.vote("m1", "m2", item=1)
    own, bank = (opened(leaderboard, source).statistics for source in (OWN, BANK))
    assert (own.clusters, own.sample.items, own.sample.voters) == (12, 12, 12)
    assert (bank.clusters, bank.sample.items, bank.sample.voters) == (1, 1, 12)
    assert leaderboard.history(BoardKey(LIVE_OWN, False, kind="live")).days[-1] == now().date()


def test_imports_that_count_beside_the_banks_votes_are_on_no_live_board(crowd, leaderboard):
    crowd.vote("m1", "m2", item=1)
    key = ItemBank(crowd.database).bank().items[1].key
    votes = [Vote("m1", "m2", "a", item=key)]
    battles = Battles(STEREOSCOPE.name, *columns_of(votes), rows=tuple(map(STEREOSCOPE.row, votes)))
    VoteImporter(crowd.database).add(battles, ImportRequest("elsewhere", into_live=True))
    assert opened(leaderboard, BANK).votes == 1
    assert opened(leaderboard, "test").votes == 1


def test_live_votes_go_out_without_texts_and_come_back_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts())
    crowd = Crowd(database)
    crowd.vote("m1", "m2")
    crowd.choose(Names("m1", "m3"), "b", images=2)
    let_pass(database, FINAL_SECONDS)
    crowd.choose(Names("m1", "m3"), "b", images=2)
    crowd.vote("m3", "m2", stopped=True)
    crowd.vote("m2", "m3", item=1)
    database.close()
    assert main(["votes", "export", "--out", str(tmp_path / "all.jsonl")]) == 2
    assert OWN in capsys.readouterr().err
    assert main(["votes", "export", "--source", OWN, "--out", str(tmp_path / "own.jsonl")]) == 0
    assert "votes left out because they don't count in the ranking: 1" in capsys.readouterr().out
    assert main(["votes", "export", "--source", BANK, "--out", str(tmp_path / "bank.jsonl")]) == 0
    own, bank = read(tmp_path / "own.jsonl"), read(tmp_path / "bank.jsonl")
    assert list(zip(own.model_a, own.model_b, own.winner, own.images, own.item, strict=True)) == [
        ("m1", "m2", "a", 1, None),
        ("m1", "m3", "b", 2, None),
    ]
    assert (bank.winner, bank.blind, bank.judge, bank.turns) == (("a",), (True,), (False,), (1,))
    assert bank.item[0] and bank.time[0] <= now().timestamp()
    text = (tmp_path / "own.jsonl").read_text("utf-8") + (tmp_path / "bank.jsonl").read_text(
        "utf-8"
    )
    assert "secret" not in text and "one text" not in text
