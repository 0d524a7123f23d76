"""Settled orders on boards: kept for good, the same on every server, shown where later votes contradict them."""

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier
from types import SimpleNamespace

import numpy as np
import pytest
from sqlalchemy import delete, func, insert, select, update

from arena.battles.settlements import (
    BOARD_MODEL,
    SETTLEMENT,
    BoardRecord,
    campaign_board_name,
    extend_record,
    forget_orders,
    source_board_name,
)
from arena.battles.tables import BATTLE, SEAT
from arena.battles.vote_table import VoteTable
from arena.database import Database, now
from arena.formats.base import Battles, Vote, Winner, columns_of
from arena.formats.native import STEREOSCOPE
from arena.imports.importer import ImportRequest, VoteImporter
from arena.items.ingest import Ingest
from arena.items.store import MODEL
from arena.leaderboard.board import Board, BoardKey
from arena.leaderboard.board_sheet import board_sheet
from arena.leaderboard.chart import board_chart
from arena.leaderboard.headline import headline, orders_in_words
from arena.leaderboard.service import EVERYONE, Leaderboard
from arena.leaderboard.statistics import Statistics
from arena.ratings.settled import LOOK_EVERY, Look, Order
from arena.settings import CountSettings
from arena.sheets import as_csv
from tests.support.planting import Planted, plant
from tests.support.servers import drafts

KEY = BoardKey(1, False)
ITEMS = 30
MODELS = ("m1", "m2", "m3", "m4")
PATIENCE = 60.0


def votes(winner: str, loser: str, wins: int, losses: int) -> list[Planted]:
    """Votes of a pair, each on any item."""
    coin = random.Random(f"{winner} {loser} {wins} {losses}")
    won = [Planted(coin.randint(1, ITEMS), winner, loser) for _ in range(wins)]
    return won + [Planted(coin.randint(1, ITEMS), loser, winner, left=False) for _ in range(losses)]


def filled(database: Database) -> Database:
    """A bank on which m1 stands far above m2 and m3, which are alike."""
    Ingest(database).add_items("test", "folder", drafts(ITEMS, MODELS))
    plant(
        database, votes("m1", "m2", 90, 30) + votes("m1", "m3", 90, 30) + votes("m2", "m3", 60, 60)
    )
    return database


@pytest.fixture
def arena(database) -> Database:
    return filled(database)


@pytest.fixture(scope="module")
def board(tmp_path_factory) -> Board:
    """The board of that bank."""
    with closing(
        Database(f"sqlite:///{tmp_path_factory.mktemp('board') / 'arena.db'}")
    ) as database:
        return opened(filled(database))


def opened(database: Database, key: BoardKey = KEY, who: CountSettings = EVERYONE) -> Board:
    """Return a board as a server that has just started shows it."""
    fresh = Leaderboard(database, VoteTable(database), who)
    try:
        return fresh.board(key, PATIENCE)
    finally:
        fresh.close()


def told(board: Board) -> list[tuple]:
    """Return the orders of neighbours: who is above whom, the state, and since how many votes."""
    names = {line.code: line.model for line in board.standings}
    orders = [line.order for line in board.standings if line.order]
    return [(names[one.above], names[one.below], one.state, one.settled_at) for one in orders]


def rows(database: Database) -> list[tuple]:
    with database.read() as connection:
        return [
            tuple(row)
            for row in connection.execute(select(SETTLEMENT).order_by(*SETTLEMENT.primary_key))
        ]


def test_neighbours_are_settled_or_open(board):
    (first, *second), (_, _, state, since) = told(board)
    assert first == "m1" and second[1:] == ["settled", 360] and (state, since) == ("open", None)
    assert all(line.order.progress >= 0 for line in board.standings if line.order)
    assert headline(board).startswith("m1 leads. Place 1 is clear; 2–3 are not settled yet.")


@pytest.mark.locks_or_dialect
def test_a_record_survives_a_restart_and_is_never_changed(arena):
    opened(arena)
    before = rows(arena)
    assert [(board, above, below, votes) for board, above, below, votes, _ in before] == [
        ("bank, single, everyone: test", 1, 2, 360),
        ("bank, single, everyone: test", 1, 3, 360),
    ]
    plant(arena, votes("m1", "m2", 9, 8) + votes("m1", "m3", 9, 8) + votes("m2", "m3", 8, 8))
    assert told(opened(arena))[0][3] == 360
    assert rows(arena) == before


def test_what_settled_once_stays_though_votes_no_longer_say_so(arena):
    opened(arena)
    plant(arena, votes("m2", "m1", 56, 16) + votes("m3", "m1", 56, 16))
    board = opened(arena)
    (_, _, state, since), _ = told(board)
    assert (state, since) == ("settled", 360) and board.standings[0].order.progress < 1
    with arena.write() as connection:
        connection.execute(delete(SETTLEMENT))
    assert [state for _, _, state, _ in told(opened(arena))] == ["open", "open"], (
        "the votes alone leave it open"
    )


def test_a_contradiction_is_shown(arena):
    opened(arena)
    plant(arena, votes("m2", "m1", 400, 40) + votes("m3", "m1", 200, 60))
    board = opened(arena)
    orders = {(above, below): (state, since) for above, below, state, since in told(board)}
    assert orders["m3", "m1"] == ("contradicted", 360)
    assert len(rows(arena)) > 2, "the other order has settled too"
    assert "–3 are no longer clear" in headline(board)
    texts = [mark.text for mark in board_chart(board).marks if mark.kind == "text"]
    assert any("no longer clear" in text for text in texts)


def test_a_model_that_joins_shares_the_errors(arena):
    kept = Leaderboard(arena, VoteTable(arena), every=0)
    before = kept.board(KEY, PATIENCE)
    plant(arena, votes("m4", "m1", 2, 2) + votes("m4", "m2", 15, 15))
    kept.board(KEY)
    kept._executor.submit(lambda: None).result()
    after = kept.board(KEY)
    kept.close()
    assert before.statistics.look.votes == 360 and after.statistics.look.votes == 394, (
        "looked at anew among others"
    )
    orders = {frozenset(pair): (state, since) for *pair, state, since in told(after)}
    assert len(orders) == 3 and {state for pair, (state, _) in orders.items() if "m4" in pair} == {
        "open"
    }
    assert (
        _models(arena) == 4 and len(rows(arena)) == 2 and {row[3] for row in rows(arena)} == {360}
    )


def test_a_model_that_is_gone_still_shares_the_errors(arena):
    """As after its votes were taken off: its pairs may have been settled falsely before."""
    plant(arena, votes("m4", "m1", 1, 1))
    opened(arena)
    with arena.write() as connection:
        four = connection.scalar(select(MODEL.c.id).where(MODEL.c.name == "m4"))
        connection.execute(
            delete(BATTLE).where((BATTLE.c.winner == four) | (BATTLE.c.loser == four))
        )
    with_three = opened(arena)
    assert len(with_three.standings) == 3 and _models(arena) == 4
    with arena.write() as connection:
        connection.execute(delete(BOARD_MODEL))
    of_three = opened(arena)
    assert with_three.standings[0].order.progress < of_three.standings[0].order.progress


def _models(database: Database) -> int:
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(BOARD_MODEL)) or 0


def test_a_narrowed_board_has_no_record(arena):
    fresh = Leaderboard(arena, VoteTable(arena))
    family = fresh.choose("test", "single").families[0]
    for narrowed in ({"family": family}, {"since": "2020-01-01"}, {"voters": "all"}):
        board = fresh.board(fresh.choose("test", "single", **narrowed).key, PATIENCE)
        assert board.votes and told(board) == [] and headline(board).count(".") == 1
        assert "not settled yet" not in as_csv(board_sheet(board))
    assert rows(arena) == []
    fresh.close()


def test_votes_of_others_have_a_record_of_their_own(arena):
    rule = CountSettings("logged-in")
    opened(arena, BoardKey(1, False, everyone=True), rule)
    opened(arena, BoardKey(1, False), rule)
    assert {row[0] for row in rows(arena)} == {"bank, single, everyone: test"}, (
        "nobody here logged in"
    )


def seated(database: Database, campaign: str) -> None:
    """Make every vote without a seat one of a confirmed seat of this campaign."""
    with database.write() as connection:
        voters = connection.scalars(select(BATTLE.c.voter_id).where(BATTLE.c.seat_id.is_(None)))
        seat = {"campaign": campaign, "code": "", "confirmation": "confirmed"}
        connection.execute(insert(SEAT), [{**seat, "voter_id": voter} for voter in set(voters)])
        own = select(SEAT.c.id).where(SEAT.c.voter_id == BATTLE.c.voter_id).scalar_subquery()
        connection.execute(update(BATTLE).where(BATTLE.c.seat_id.is_(None)).values(seat_id=own))


@pytest.mark.parametrize("rule", ["campaign", "counted"])
def test_votes_of_other_campaigns_have_another_record(arena, rule):
    seated(arena, "pilot")
    assert told(opened(arena, who=CountSettings(rule, ("pilot",))))[0][2:] == ("settled", 360)
    pairs = (("m1", "m2"), ("m1", "m3"), ("m2", "m3"))
    plant(arena, [vote for pair in pairs for vote in votes(*pair, 30, 30)])
    seated(arena, "main")
    of_main = told(opened(arena, who=CountSettings(rule, ("main",))))
    assert [state for _, _, state, _ in of_main] == ["open", "open"]
    both = told(opened(arena, who=CountSettings(rule, ("main", "pilot"))))
    again = told(opened(arena, who=CountSettings(rule, ("pilot", "main"))))
    assert both == again and len({row[0] for row in rows(arena)}) <= 2


def test_forgetting_a_campaigns_orders_takes_those_of_its_source_alone(arena):
    sources = ("test", "a: test", "test 2")
    rules = (EVERYONE, CountSettings("counted", ("pilot", "main")), CountSettings("campaign"))
    names = [
        source_board_name("bank", multi, rule, source)
        for source in sources
        for rule in rules
        for multi in (False, True)
    ]
    names += [source_board_name("imported", False, EVERYONE, "test"), campaign_board_name("main")]
    order = {"above": 1, "below": 2, "votes": 50, "settled_at": now()}
    with arena.write() as connection:
        stored = [{**order, "board": name} for name in (*names, campaign_board_name("pilot"))]
        connection.execute(insert(SETTLEMENT), stored)
        forget_orders(connection, "pilot", "test")
    assert {row[0] for row in rows(arena)} == set(names[6:])


@pytest.mark.parametrize("item", [None, "item"])
def test_votes_that_do_not_tell_their_items_settle_nothing(arena, item):
    """Each would count as an item of its own, and a gap as certain too soon."""
    coin, said = random.Random(1), []
    for number in range(400):
        winner: Winner = "a" if coin.random() < 0.8 else "b"
        key = None if number == 7 or item is None else f"{item} {coin.randrange(60)}"
        said.append(Vote("m1", "m2", winner, item=key, conversation=str(number)))
    battles = Battles("stereoscope", *columns_of(said), rows=tuple(map(STEREOSCOPE.row, said)))
    VoteImporter(arena).add(battles, ImportRequest("elsewhere"))
    board = opened(arena, BoardKey(1, False, kind="imported"))
    assert board.votes == 400 and all(line.rank for line in board.standings)
    assert told(board) == [] and rows(arena) == []


@pytest.mark.parametrize(("judge", "settles"), [(True, True), (False, False)])
def test_one_judge_settles_what_one_person_does_not(arena, judge, settles):
    """A board of a judge is of that judge alone; on a board of one person, order is not even asked for."""
    coin, said = random.Random(1), []
    for number in range(400):
        winner: Winner = "a" if coin.random() < 0.8 else "b"
        said.append(
            Vote(
                "m1",
                "m2",
                winner,
                f"item {number % 60}",
                "one",
                conversation=str(number),
                judge=judge,
            )
        )
    battles = Battles("stereoscope", *columns_of(said), rows=tuple(map(STEREOSCOPE.row, said)))
    VoteImporter(arena).add(battles, ImportRequest("elsewhere", judge=judge))
    orders = told(opened(arena, BoardKey(1, False, kind="imported")))
    assert [state for *_, state, _ in orders] == (["settled"] if settles else [])


def test_orders_are_looked_at_every_fifty_votes(arena):
    kept = Leaderboard(arena, VoteTable(arena), every=0)

    def now(n: int) -> Statistics:
        plant(arena, votes("m2", "m3", n, n))
        kept.board(KEY, PATIENCE)
        kept._executor.submit(lambda: None).result()
        found = kept.board(KEY, PATIENCE).statistics
        assert found
        return found

    first, soon, later = now(1), now(5), now(20)
    assert first.look is soon.look and first.votes < soon.votes
    assert (
        later.look is not soon.look
        and later.look.votes // LOOK_EVERY > first.look.votes // LOOK_EVERY
    )
    kept.close()


def test_orders_are_looked_at_again_when_votes_are_gone(arena):
    table = VoteTable(arena)
    kept = Leaderboard(arena, table, every=0)
    assert kept.board(KEY, PATIENCE).statistics.look.votes == 360
    with arena.write() as connection:
        connection.execute(delete(BATTLE).where(BATTLE.c.id > 355))
    table.check()
    kept.board(KEY)
    kept._executor.submit(lambda: None).result()
    found = kept.board(KEY).statistics
    kept.close()
    assert found and found.look
    assert (found.votes, found.look.votes) == (355, 355)


@pytest.mark.locks_or_dialect
def test_servers_that_look_at_once_store_an_order_once(arena):
    servers = [Leaderboard(arena, VoteTable(arena)) for _ in range(2)]
    together = Barrier(len(servers))

    def look(server: Leaderboard) -> Board:
        together.wait()
        return server.board(KEY, PATIENCE)

    with ThreadPoolExecutor(len(servers)) as pool:
        boards = list(pool.map(look, servers))
    assert len({tuple(told(board)) for board in boards}) == 1 and len(rows(arena)) == 2
    for server in servers:
        server.close()


@pytest.mark.locks_or_dialect
def test_of_two_servers_the_first_ones_row_stays_and_what_the_second_adds_is_stored(arena):
    """The second looks later, before it can know what the first has stored."""
    nothing, settled = BoardRecord(frozenset(), {}), np.zeros((3, 3), bool)
    for votes_then, pairs in ((100, [(0, 1)]), (150, [(0, 1), (0, 2)])):
        for pair in pairs:
            settled[pair] = True
        record = extend_record(
            arena, "one", nothing, (1, 2, 3), Look(votes_then, np.zeros((3, 3)), settled)
        )
    assert record == BoardRecord(frozenset({1, 2, 3}), {(1, 2): 100, (1, 3): 150})


def test_the_download_tells_the_orders(board):
    head, first, second, third = (
        line.split(",") for line in as_csv(board_sheet(board)).splitlines()
    )
    place = head.index("order")
    assert head[place : place + 3] == ["order", "order_votes", "order_progress"]
    assert first[place : place + 2] == ["clear", "360"] and float(first[place + 2]) > 1
    assert second[place : place + 2] == ["not settled yet", ""] and third[place : place + 3] == [
        "",
        "",
        "",
    ]


def test_the_chart_has_a_line_between_settled_neighbours(board):
    marks = board_chart(board).marks
    said = [mark.text for mark in marks if mark.kind == "text" and mark.text.startswith("\u2014")]
    assert said == ["\u2014 clear"]
    assert sum(mark.kind == "line" and mark.x == 0 and mark.to_x == 720 for mark in marks) == 1


def test_the_sentence_names_places():
    words = {"s": "settled", "o": "open", "c": "contradicted"}
    for states, said in (
        ("ooo", ""),
        ("sss", "Places 1–4 are clear."),
        ("ssso", "Places 1–3 are clear; 4–5 are not settled yet."),
        ("soso", "Place 1 is clear; 2–3 and 4–5 are not settled yet."),
        ("oso", "Places 1–2 and 3–4 are not settled yet, clear of each other."),
        ("osco", "Places 1–2 and 4–5 are not settled yet; 3–4 are no longer clear."),
        ("oss", "Places 3–4 are clear; 1–2 are not settled yet."),
        ("oos", "Place 4 is clear; 1–3 are not settled yet."),
        (
            "sososososs",
            "Places 1 and 10–11 are clear; 2–3, 4–5, 6–7 and 1 more are not settled yet.",
        ),
    ):
        orders = [Order(1, 2, words[state], None, 0.5) for state in states]
        assert orders_in_words([SimpleNamespace(order=order) for order in (*orders, None)]) == said


def test_orders_are_known_among_models_that_are_both_there():
    record = BoardRecord(frozenset({7, 8, 9}), {(7, 8): 50, (9, 7): 60, (8, 9): 70})
    assert record.settlements_among({7: 0, 8: 1}) == [(0, 1, 50)]
