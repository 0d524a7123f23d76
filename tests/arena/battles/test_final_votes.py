"""Only final votes are public: a choice that may still be taken back changes no byte that anybody else can read."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple

import httpx
import pytest
from sqlalchemy import select, update

from arena.battles.choices import ChoiceError, check_undo
from arena.battles.tables import BATTLE
from arena.battles.vote_table import VoteTable
from arena.clock import (
    CLOCK,
    FINAL_SECONDS,
    SECOND,
    UNDO_GRACE_SECONDS,
    UNDO_SECONDS,
    MachineTime,
    tick,
)
from arena.leaderboard import overview
from arena.leaderboard.board import BoardKey
from arena.leaderboard.service import Leaderboard
from arena.live.votes import LIVE_SOURCES
from tests.support.live_visitor import Visitor as LiveVisitor
from tests.support.live_visitor import card, catalogue, says
from tests.support.openai_server import OpenAIServer
from tests.support.planting import let_pass, set_clock_back
from tests.support.servers import AppServer, new_postgresql_database
from tests.support.visitors import Visitor
from tests.support.voter import EventError, Voter

SOURCES = ("demo items", *(source.label for source in LIVE_SOURCES))
SINGLE = BoardKey(1, False)


class Open(NamedTuple):
    """An arena that is open to the public: its servers on one database."""

    addresses: tuple[str, ...]


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)]
)
def arena(request, tmp_path_factory) -> Iterator[Open]:
    """One server on SQLite, two on PostgreSQL, with two models that answer live."""
    folder = tmp_path_factory.mktemp("open")
    with OpenAIServer(
        says({"one": "It is red.", "two": "A red square."}), models=("one", "two")
    ) as models:
        environ = {
            "MODELS": catalogue(
                folder, *(card(f"Model {name}", name, models) for name in models.models)
            )
        }
        number = 1
        if request.param == "postgresql":
            environ["DATABASE_URL"], number = (
                new_postgresql_database(request.getfixturevalue("postgresql")),
                2,
            )
        servers = [AppServer(folder / "data", **environ) for _ in range(number)]
        yield Open(tuple(server.address for server in servers))
        for server in servers:
            server.stop()


def public(arena: Open) -> dict[str, object]:
    """Return what every public route of every server says, its headers too."""
    found: dict[str, object] = {}
    for address in arena.addresses:
        with Voter(address) as anybody:
            for source in SOURCES:
                for name in ("board.csv", "plot.svg"):
                    for images in ("single", "multiple"):
                        path = f"/boards/{name}?source={source}&images={images}&plot=battles"
                        found[f"{address}{path}"] = _answer(anybody.client.get(path))
                board = anybody.client.get(f"/results?source={source}&images=single")
                found[f"{address} page {source}"] = _answer(board)
            for name in ("votes.jsonl", "README.md"):
                found[f"{address} {name}"] = _answer(anybody.client.get(f"/export/{name}"))
    return found


def _answer(answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    headers = {
        name: value for name, value in answer.headers.items() if name not in ("date", "set-cookie")
    }
    return answer.status_code, headers, answer.content


def at_rest(arena: Open) -> dict[str, object]:
    """Return what is public when nothing that was decided before is on its way any more.

    The pages' list of boards is the last to change: it is read every `overview.SECONDS`.
    """
    deadline = time.monotonic() + 100
    before = public(arena)
    unchanged_since = time.monotonic()
    while time.monotonic() - unchanged_since <= overview.SECONDS:
        assert time.monotonic() < deadline
        time.sleep(0.5)
        current = public(arena)
        if current != before:
            before = current
            unchanged_since = time.monotonic()
    return before


def differences(before: dict[str, object], after: dict[str, object]) -> list[str]:
    return [name for name in before if before[name] != after[name]]


def bank_battle(arena: Open) -> tuple[Callable[[], None], Callable[[], None], Callable[[], None]]:
    """Return how a choice on the bank is made, taken back (at another server, if there is one) and revealed."""
    here, there = Voter(arena.addresses[0]), Voter(arena.addresses[-1])
    there.client.cookies = here.client.cookies
    here.load()

    def undo() -> None:
        there.act("undo", battle=here.token)
        here.token = there.token

    return lambda: here.choose("a") and None, undo, lambda: here.wait_out_undo() and None


def live_battle(arena: Open) -> tuple[Callable[[], None], Callable[[], None], Callable[[], None]]:
    """Return the same of a battle on a visitor's own image."""

    async def begin(visitor: LiveVisitor) -> str:
        token = await visitor.begin()
        await visitor.watch(f"/live/battles/{token}")
        return token

    cookies = httpx.Cookies()

    def as_visitor(work: Callable[[LiveVisitor], Awaitable[str]]) -> str:
        async def run() -> str:
            visitor = LiveVisitor(arena.addresses[0])
            visitor.client.cookies = cookies
            async with visitor:
                done = await work(visitor)
                cookies.update(visitor.client.cookies)
                return done

        return asyncio.run(run())

    token = as_visitor(begin)

    def post(what: str, body: object = None) -> None:
        nonlocal token

        async def send(visitor: LiveVisitor) -> str:
            return (await visitor.post(f"/live/battles/{token}/{what}", body)).get("battle", token)

        token = as_visitor(send)

    return lambda: post("choose", {"value": "a"}), lambda: post("undo"), lambda: post("names")


@pytest.mark.parametrize("battle", [bank_battle, live_battle])
def test_who_chooses_reads_everything_and_takes_it_back_learns_nothing(arena, battle):
    """A slow machine may miss the time for an undo; then the choice is final, and another battle is tried."""
    for _ in range(6):
        choose, undo, reveal = battle(arena)
        before = at_rest(arena)
        choose()
        chosen = public(arena)
        try:
            undo()
        except (EventError, httpx.HTTPStatusError):
            continue
        assert differences(before, chosen) == []
        assert differences(before, public(arena)) == []
        choose()
        reveal()
        deadline = time.monotonic() + 60
        while len(differences(before, public(arena))) < len(arena.addresses):
            assert time.monotonic() < deadline, "a final vote comes to every server's boards"
        return
    pytest.fail("no choice could be taken back in time")


# The time of the database


def shows(board: Leaderboard, votes: int) -> bool:
    """Look at a board until it has so many votes; a look that meets another write leaves a vote to the next look."""
    deadline = time.monotonic() + 20
    while board.board(SINGLE).votes != votes and time.monotonic() < deadline:
        time.sleep(0.05)
    return board.board(SINGLE).votes == votes


def seconds_ahead(bank) -> float:
    """Return how far the database's clock is ahead of the machine's."""
    with bank.read() as connection:
        return connection.scalar(select(CLOCK.c.ahead)) / SECOND


@pytest.mark.locks_or_dialect
def test_a_choice_may_be_taken_back_until_its_time_is_over_and_is_public_two_seconds_later(bank):
    votes = VoteTable(bank)
    board = Leaderboard(bank, votes, every=3600)
    visitor = Visitor(bank, "ada")
    battle = visitor.vote(visitor.serve())
    let_pass(bank, UNDO_SECONDS + UNDO_GRACE_SECONDS)
    with pytest.raises(ChoiceError, match="for 3 seconds"):
        visitor.undo(battle)
    assert board.board(SINGLE).votes == 0 and votes.pair_votes(live=False) == {}
    let_pass(bank, FINAL_SECONDS - UNDO_SECONDS - UNDO_GRACE_SECONDS)
    assert shows(board, 1) and votes.pair_votes(live=False) == {(1, 2): 1}
    board.close()


def test_a_clock_set_back_by_an_hour_keeps_no_vote_from_the_boards(bank):
    """Nor is the time for an undo longer or shorter, and nobody has to vote for that."""
    board = Leaderboard(bank, VoteTable(bank), every=3600)
    visitor, other = Visitor(bank, "ada"), Visitor(bank, "eve")
    visitor.decide("a")
    late = visitor.vote(visitor.serve())
    let_pass(bank, 4)
    assert shows(board, 1)
    set_clock_back(bank, 3600)
    assert shows(board, 1)
    ahead = seconds_ahead(bank)
    deadline = time.monotonic() + 20
    while ahead == 0 and time.monotonic() < deadline:
        board.board(SINGLE)  # a look that meets another write leaves the clock to the next look
        ahead = seconds_ahead(bank)
    assert 3590 < ahead < 3610, "a look at the board has put the clock ahead"
    let_pass(bank, FINAL_SECONDS)
    assert shows(board, 2)
    with pytest.raises(ChoiceError, match="for 3 seconds"):
        visitor.undo(late)
    again = other.undo(other.vote(other.serve()))
    other.vote(again)
    visitor.reveal(late)
    visitor.decide("b")
    assert shows(board, 4)
    board.close()


@pytest.mark.parametrize("seconds", [4, pytest.param(3600, marks=pytest.mark.soak)])
def test_what_was_public_cannot_be_taken_back_when_the_clock_is_set_back(bank, seconds):
    board = Leaderboard(bank, VoteTable(bank), every=3600)
    visitor = Visitor(bank, "ada")
    battle = visitor.vote(visitor.serve())
    let_pass(bank, FINAL_SECONDS)
    assert shows(board, 1)
    set_clock_back(bank, seconds)
    with pytest.raises(ChoiceError, match="for 3 seconds"):
        visitor.undo(battle)
    assert board.board(SINGLE).votes == 1
    board.close()


@pytest.mark.locks_or_dialect
def test_nothing_becomes_public_under_an_undo_that_is_on_its_way(bank):
    """Its transaction may be as slow as it likes: who reads meanwhile neither waits nor sees the vote."""
    board = Leaderboard(bank, VoteTable(bank), every=3600)
    visitor = Visitor(bank, "ada")
    battle = visitor.vote(visitor.serve())
    let_pass(bank, 4)
    mine = select(BATTLE).where(BATTLE.c.id == battle.id)
    with bank.write() as connection:
        row = connection.execute(mine.with_for_update()).one()
        check_undo(connection, row)
        with bank.read() as reading:
            began = reading.scalar(select(MachineTime()))
            while reading.scalar(select(MachineTime())) < began + 3.2 * SECOND:
                assert board.board(SINGLE).votes == 0
                time.sleep(0.1)
        taken_back = {"taken_back": row.choice, "choice": None, "voted_at": None, "terms": None}
        connection.execute(update(BATTLE).where(BATTLE.c.id == battle.id).values(taken_back))
    assert board.board(SINGLE).votes == 0
    board.close()


def test_an_undo_in_time_stays_one_when_the_clock_is_set_back(bank):
    visitor = Visitor(bank, "ada")
    battle = visitor.vote(visitor.serve())
    set_clock_back(bank, 3600)
    assert visitor.undo(battle).attempt == 2


@pytest.mark.locks_or_dialect
def test_the_clock_goes_on_from_what_it_showed(bank):
    def present() -> int:
        with bank.write() as connection:
            return tick(connection)

    before = present()
    set_clock_back(bank, 3600)
    with bank.read() as connection:
        shown = connection.scalar(select(CLOCK.c.seen))
    after = [present() for _ in range(3)]
    assert after == sorted(after) and after[0] >= shown > before + 3500 * SECOND
