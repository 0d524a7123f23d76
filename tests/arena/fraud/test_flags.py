"""Flags of voters, from stored votes to boards: riggers are left out, which is told, and nothing is deleted."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from html import unescape

import numpy as np
import pytest
from sqlalchemy import delete, func, select, update

from arena.__main__ import main
from arena.admin.erasure import Erasure
from arena.admin.public_export import write_export
from arena.battles.sampling import BattleRequest, PairSampler
from arena.battles.store import BattleStore, Draw
from arena.battles.tables import BATTLE, HAS_CHOICE, SEAT
from arena.battles.vote_table import VoteTable
from arena.database import Database, counter
from arena.fraud import flags as flags_module
from arena.fraud.detectors import CHECKS, FAILED_CHECKS, Flag, Suspicion
from arena.fraud.flags import (
    COUNTED_REVIEW,
    FLAGS_VERSION,
    VOTER_FLAG,
    FlagRow,
    FlagService,
    raised_flags,
)
from arena.fraud.review import review
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.board import Board, BoardKey
from arena.leaderboard.selection import BoardSelectionError
from arena.leaderboard.service import EVERYONE, Leaderboard
from arena.live.images import OwnImages
from arena.live.store import LiveStore, Opening, TurnAnswers
from arena.seats.seats import SeatStore
from arena.settings import CountSettings
from arena.types import RIGHT, UNRELATED, Battle, Names
from arena.web.leaderboard_view import HTML, board_html, paragraphs
from arena.web.results_view import opening_html
from perf.fraud import HONEST_VOTES, MODELS, RIGS, VOTES_EACH, draw_honest, draw_rigged, places
from tests.support.battle_campaigns import worker_of
from tests.support.live_visitor import picture
from tests.support.planting import Planted, plant
from tests.support.servers import drafts

SINGLE, WITH = BoardKey(1, False), BoardKey(1, False, unflagged=False)
NAMES = tuple(f"m{number}" for number in range(MODELS))
PATIENCE = 60.0


class Voters:
    """Voters of one bank who choose by models' names."""

    def __init__(self, database: Database) -> None:
        self.database, self.store, self.items = database, BattleStore(database), ItemBank(database)
        self.models = {model.name: code for code, model in enumerate(self.items.models(), 1)}

    def vote(
        self, voter: int, item: int, a: str, b: str, choice: str, seat: int | None = None
    ) -> Battle:
        """Serve a battle with these models on these sides, cast a vote in it and see the names."""
        answers = {one.model: one.answer for one in self.items.bank().items[item].contestants}
        left, right = self.models[a], self.models[b]
        these = Draw(item, left, right, answers[left], answers[right])
        battle = self.store.serve(voter, lambda _: these, seat=seat, may_come_back=lambda *_: False)
        assert battle
        return self.store.reveal(voter, self.store.vote(voter, battle.token, choice, "1").token)

    def always_left(self, cookie: str, votes: int = 30) -> int:
        """Cast votes for side A against all that is known, and return the voter."""
        voter = self.store.voter(cookie)
        for number in range(votes):
            self.vote(voter, 1 + number, *(("m1", "m2") if number % 2 else ("m2", "m1")), "a")
        return voter


def flags(database: Database) -> dict[int, set[Suspicion]]:
    found: dict[int, set[Suspicion]] = {}
    for row in rows(database):
        found.setdefault(row.voter, set()).add(row.reason)
    return found


def rows(database: Database) -> tuple[FlagRow, ...]:
    with database.read() as connection:
        return raised_flags(connection, EVERYONE)


def version(database: Database) -> int:
    with database.read() as connection:
        return counter(connection, FLAGS_VERSION)


def clear(database: Database, votes: int = 200) -> None:
    """Plant votes that leave no doubt: m1 beats m2 beats m3, each vote of a voter of its own."""
    pairs = [("m1", "m2"), ("m2", "m3"), ("m1", "m3")]
    plant(database, [Planted(1 + n % 6, *pairs[n % 3], left=n % 2 == 0) for n in range(votes)])
    plant(
        database,
        [Planted(1 + n % 6, *reversed(pairs[n % 3]), left=n % 2 == 0) for n in range(votes // 10)],
    )


@pytest.fixture
def bank(database) -> Database:
    """A database with a source "test" of forty items, each with the answers of three models."""
    Ingest(database).add_items("test", "folder", drafts(40))
    return database


@pytest.fixture
def leaderboard(bank) -> Iterator[Leaderboard]:
    opened = Leaderboard(bank, VoteTable(bank), every=0.0)
    yield opened
    opened.close()


def shown(leaderboard: Leaderboard, key: BoardKey = SINGLE) -> Board:
    """Return a board when all is found out about the votes that it has."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        board = leaderboard.board(key)
        if board.statistics and board.statistics.votes == board.votes:
            return board
        time.sleep(0.02)
    raise TimeoutError("nothing was found out")


# Rigging


def test_riggers_at_two_percent_move_no_model_by_more_than_one_rank_on_the_board_that_counts(
    tmp_path,
):
    """Through the store and the boards; honest voters are planted, riggers come over the store."""
    rng = np.random.default_rng(11)
    honest, others = draw_honest(rng, HONEST_VOTES, first=0), draw_rigged(rng, RIGS[0])
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts(VOTES_EACH, NAMES))
    won, lost = (
        np.where(honest.chose_a, honest.a, honest.b),
        np.where(honest.chose_a, honest.b, honest.a),
    )
    columns = (won.tolist(), lost.tolist(), honest.chose_a.tolist(), honest.voter.tolist())
    plant(
        database,
        [
            Planted(1 + number % VOTES_EACH, NAMES[winner], NAMES[loser], left, voter)
            for number, (winner, loser, left, voter) in enumerate(zip(*columns, strict=True))
        ],
    )
    voters = Voters(database)
    for number, (a, b, chose_a) in enumerate(zip(others.a, others.b, others.chose_a, strict=True)):
        voter = voters.store.voter(f"rigger {number // VOTES_EACH}")
        voters.vote(voter, 1 + number % VOTES_EACH, NAMES[a], NAMES[b], "a" if chose_a else "b")
    leaderboard = Leaderboard(database, VoteTable(database))
    board = leaderboard.board(SINGLE, PATIENCE)
    found = {line.model: place for place, line in enumerate(board.standings)}
    assert (
        max(abs(found[name] - place) for name, place in zip(NAMES, places(honest), strict=True))
        <= 1
    )
    out = {row.voter for row in rows(database) if row.left_out}
    riggers = {voters.store.voter(f"rigger {number}") for number in range(2)}
    assert len(out - riggers) <= 0.01 * HONEST_VOTES / VOTES_EACH
    assert riggers <= out
    assert board.left_out[:2] == (len(out), VOTES_EACH * len(out)) and board.votes == len(
        honest.a
    ) + 100 - VOTES_EACH * len(out)
    assert leaderboard.board(WITH, PATIENCE).votes == len(honest.a) + 100
    leaderboard.close()
    database.close()


# Raised, lifted, stored


def test_flags_are_raised_and_nothing_is_deleted(bank, leaderboard):
    clear(bank)
    voter = Voters(bank).always_left("rigger")
    assert shown(leaderboard).votes == 220 and shown(leaderboard, WITH).votes == 250
    row = next(
        row for row in rows(bank) if row.voter == voter and row.reason is not Suspicion.HASTY
    )
    assert row.left_out and row.strength > 3 and row.raised_at.tzinfo
    assert flags(bank).keys() == {voter}
    with bank.read() as connection:
        assert connection.scalar(select(func.count()).where(HAS_CHOICE)) == 250


def test_one_weak_reason_leaves_nobody_out_and_two_do(bank):
    clear(bank)
    quick = [Planted(1 + n, "m1", "m2", left=n % 2 == 0, voter=1, minutes=0) for n in range(12)]
    sided = [Planted(1 + n, "m1", "m2", voter=2) for n in range(12)]
    both = [Planted(1 + n, "m1", "m2", voter=3, minutes=0) for n in range(12)]
    plant(bank, [*quick, *sided, *both])
    FlagService(bank, EVERYONE, VoteTable(bank)).look()
    found, out = flags(bank), {row.voter for row in rows(bank) if row.left_out}
    quick_one, sided_one, both_one = sorted(found)
    assert found == {
        quick_one: {Suspicion.HASTY},
        sided_one: {Suspicion.ONE_SIDED},
        both_one: {Suspicion.HASTY, Suspicion.ONE_SIDED},
    }
    assert out == {both_one}


def test_a_look_is_taken_again_when_the_votes_have_grown(bank):
    clear(bank, 1200)
    flag_service = FlagService(bank, EVERYONE, VoteTable(bank))
    flag_service.look()
    assert (flags(bank), version(bank)) == ({}, 0)
    plant(
        bank, [Planted(1 + n, "m1", "m2", left=n % 2 == 0, voter=1, minutes=0) for n in range(12)]
    )
    flag_service.look()
    assert flags(bank) == {}, "12 votes more than 1,320 are too few to look"
    plant(
        bank, [Planted(1 + n, "m1", "m2", left=n % 2 == 0, voter=1, minutes=0) for n in range(12)]
    )
    flag_service.look()
    assert len(flags(bank)) == 2 and version(bank) == 1
    before = rows(bank)
    FlagService(bank, EVERYONE, VoteTable(bank)).look()
    assert (rows(bank), version(bank)) == (before, 1), (
        "another server finds the same, and changes nothing"
    )


def test_a_flag_goes_when_its_reason_does(bank):
    """Of a voter who failed the first check items and passed ten since."""
    checks(bank)
    clear(bank)
    voters = Voters(bank)
    voter = fail_checks(voters, "late riser", FAILED_CHECKS)
    flag_service = FlagService(bank, EVERYONE, VoteTable(bank))
    flag_service.look()
    (row,) = (row for row in rows(bank) if row.voter == voter)
    assert (row.reason, row.strength, row.left_out) == (Suspicion.INATTENTIVE, 1.0, True)
    fail_checks(voters, "late riser", 0, passed=CHECKS, first=FAILED_CHECKS)
    flag_service.look()
    assert voter not in flags(bank) and version(bank) == 2


def test_what_a_voter_is_flagged_for_is_measured_on_each_board_by_itself(bank):
    """Live, m2 beats m1; nobody is a contrarian for saying so there."""
    clear(bank)
    live, store = LiveStore(bank), BattleStore(bank)
    live.register_models(("m1", "m2"))
    for visitor in range(6):
        voter = store.voter(f"visitor {visitor}")
        for number in range(8):
            battle = live.begin(voter, Opening("What?", 1))
            a, b = ("m1", "m2") if number % 2 else ("m2", "m1")
            live.answer(battle.id, TurnAnswers(Names(a, b), Names("x", "y"), False, False))
            live.vote(voter, battle.token, "b" if number % 2 else "a", "terms")
    FlagService(bank, EVERYONE, VoteTable(bank)).look()
    assert flags(bank) == {}


@pytest.fixture
def during_review(monkeypatch) -> Callable[[Callable[[], object]], None]:
    """Return a function that lets something happen while the next review is computed."""

    def let_happen(act: Callable[[], object]) -> None:
        acts = [act]

        def reviewed(*about) -> tuple[Flag, ...]:
            found = review(*about)
            if acts:
                acts.pop()()
            return found

        monkeypatch.setattr(flags_module, "review", reviewed)

    return let_happen


def test_a_flag_stays_with_the_votes_of_a_voter_who_is_erased_during_a_review(
    bank, during_review, tmp_path
):
    clear(bank)
    voters = Voters(bank)
    erased = voters.always_left("rigger")
    flag_service = FlagService(bank, EVERYONE, VoteTable(bank))
    flag_service.look()
    assert flags(bank).keys() == {erased}
    voters.always_left("another")
    erasure = Erasure(bank, OwnImages(bank, tmp_path))
    during_review(lambda: erasure.forget(erased, "ada"))
    flag_service.look()
    with bank.read() as connection:
        in_order = select(BATTLE.c.voter_id).where(HAS_CHOICE).order_by(BATTLE.c.id)
        first, second = dict.fromkeys(connection.scalars(in_order).all()[220:])
    assert first != erased and flags(bank).keys() == {first, second}


def test_of_two_reviews_at_once_the_one_of_more_votes_stays(bank, during_review):
    clear(bank)
    voters = Voters(bank)
    first = voters.always_left("rigger")
    later = []

    def review_elsewhere() -> None:
        later.append(voters.always_left("another"))
        FlagService(bank, EVERYONE, VoteTable(bank)).look()

    during_review(review_elsewhere)
    FlagService(bank, EVERYONE, VoteTable(bank)).look()
    assert flags(bank).keys() == {first, *later}


# On the boards


def test_every_view_of_a_board_leaves_flagged_voters_out(bank, leaderboard):
    clear(bank)
    Voters(bank).always_left("rigger")
    shown(leaderboard)
    today = str(leaderboard.history(SINGLE).days[-1])
    for chosen in ({"since": today}, {"family": "Color"}):
        boards = []
        for voters in ("unflagged", "all"):
            choice = leaderboard.choose("test", "single", voters=voters, **chosen)
            board = shown(leaderboard, choice.key)
            boards.append(board)
            assert board.votes == board.statistics.votes == int(board.counts.wins.sum())
            assert board.left_out.voters == 1
            assert board.left_out.flagged == (10 if "family" in chosen else 30)
            assert choice.key.unflagged is (voters == "unflagged")
            history = leaderboard.history(choice.key)
            assert len(history.codes) == len(board.counts.codes)
        assert boards[1].votes - boards[0].votes == boards[0].left_out.flagged
        assert int(boards[0].counts.left.sum()) < int(boards[1].counts.left.sum())


def test_votes_of_a_flagged_voter_stay_out_as_they_come(bank, leaderboard):
    clear(bank)
    voters = Voters(bank)
    voter = voters.always_left("rigger")
    assert shown(leaderboard).votes == 220
    voters.vote(voter, 1, "m1", "m3", "a")
    assert shown(leaderboard).votes == 220 and shown(leaderboard, WITH).votes == 251
    voters.vote(voters.store.voter("somebody"), 1, "m1", "m3", "a")
    assert shown(leaderboard).votes == 221


def test_the_page_says_who_is_left_out_and_leads_back_to_the_same_board(bank, leaderboard):
    clear(bank)
    Voters(bank).always_left("rigger")
    without = shown(leaderboard)
    told = HTML.summary(paragraphs(without))
    assert (
        "Without 1 flagged voter (30 votes). Flagged voters fail check items or choose in ways no reader would."
        in told
    )
    choice = leaderboard.choose("test", "single", voters="all")
    told = board_html(shown(leaderboard, choice.key), choice)
    assert "Includes 1 flagged voter (30 votes). The board leaves them out by default." in told
    assert "voters=all" in told and "flagged voters too" in told
    plain = leaderboard.choose("test", "single", voters={"all": 1})
    assert plain.key.unflagged and "voters=all" not in board_html(without, plain)
    with pytest.raises(BoardSelectionError):
        leaderboard.choose("test", "single", since="all", voters="all")


def test_a_board_whose_only_votes_are_flagged_says_so(bank, leaderboard):
    clear(bank)
    voters = Voters(bank)
    voter = voters.always_left("rigger")
    shown(leaderboard)
    live = LiveStore(bank)
    battle = live.begin(voter, Opening("What?", 1))
    live.answer(battle.id, TurnAnswers(Names("m1", "m2"), Names("x", "y"), False, False))
    live.reveal(voter, live.vote(voter, battle.token, "a", "terms").token)
    choice = leaderboard.choose("Own pictures, answered live", "single")
    html = opening_html(leaderboard.board(choice.key), choice, votable_models=2, vote_path="/own")
    assert "It needs about" in html and "Without 1 flagged voter (1 vote)" in html


# Whose votes count


def test_only_votes_of_those_who_count_are_on_boards_and_others_are_told(bank):
    clear(bank, 90)
    voters = Voters(bank)
    seat = worker_of(bank, "spring")
    for number in range(4):
        voters.vote(seat.voter, 1 + number, "m2", "m1", "a" if number % 2 else "b", seat.id)
    leaderboard = Leaderboard(
        bank, VoteTable(bank), CountSettings("campaign", ("spring",)), every=0.0
    )
    board = shown(leaderboard)
    assert (board.votes, board.statistics.votes, board.statistics.sample.voters) == (4, 4, 1)
    assert board.left_out.uncounted == 99
    told = "Counted: 4 of 103 votes, from campaign voters. Everyone's board has the rest too."
    assert told in unescape(HTML.summary(paragraphs(board)))
    with_flagged = shown(leaderboard, WITH)
    assert with_flagged.votes == 4
    voters.vote(seat.voter, 5, "m1", "m2", "a", seat.id)
    assert shown(leaderboard).votes == 5
    leaderboard.close()


def test_a_crowd_that_does_not_count_cannot_have_those_who_do_flagged(bank):
    clear(bank, 300)
    voters = Voters(bank)
    seat = worker_of(bank, "spring")
    for number in range(30):
        sides = ("m3", "m1") if number < 15 else ("m1", "m2")
        voters.vote(seat.voter, 1 + number, *sides, "ab"[number // 15], seat.id)
    for who, flagged in ((EVERYONE, True), (CountSettings("campaign", ("spring",)), False)):
        FlagService(bank, who, VoteTable(bank)).look()
        with bank.read() as connection:
            reasons = {
                row.reason for row in raised_flags(connection, who) if row.voter == seat.voter
            }
        assert bool(reasons - {Suspicion.HASTY, Suspicion.ONE_SIDED}) is flagged


def test_a_look_is_taken_again_when_a_platforms_list_confirms_votes(bank):
    clear(bank, 300)
    voters = Voters(bank)
    seat = worker_of(bank, "spring")
    with bank.write() as connection:
        connection.execute(update(SEAT).values(confirmation="pending"))
    for number in range(30):
        voters.vote(seat.voter, 1 + number, "m1", "m2", "a", seat.id)
    flag_service = FlagService(bank, CountSettings("campaign", ("spring",)), VoteTable(bank))
    flag_service.look()
    assert flagged_on_counted(bank) == set()
    SeatStore(bank).bring_participants(seat.campaign, {seat.person: "APPROVED"})
    flag_service.look()
    assert flagged_on_counted(bank) == {seat.voter}


def flagged_on_counted(database: Database) -> set[int]:
    """The voters with flags on the counted board."""
    with database.read() as connection:
        is_counted = VOTER_FLAG.c.review == COUNTED_REVIEW
        return set(connection.scalars(select(VOTER_FLAG.c.voter_id).where(is_counted)))


# Check items


def checks(database: Database, number: int = 20) -> None:
    """Bring check items in."""
    made = drafts(100 + number, (RIGHT, UNRELATED))[100:]
    Ingest(database).add_items("checks", "check", made)


def check_codes(items: ItemBank) -> set[int]:
    bank = items.bank()
    kind = {source.id: source.kind for source in bank.sources}
    return {item.id for item in bank.items.values() if kind[item.source] == "check"}


def fail_checks(voters: Voters, cookie: str, failed: int, passed: int = 0, first: int = 0) -> int:
    """Cast wrong and right votes on check items, and return the voter."""
    voters.items = ItemBank(voters.database)
    voters.models = {model.name: code for code, model in enumerate(voters.items.models(), 1)}
    voter = voters.store.voter(cookie)
    for number, item in enumerate(
        sorted(check_codes(voters.items))[first : first + failed + passed]
    ):
        voters.vote(voter, item, RIGHT, UNRELATED, "b" if number < failed else "a")
    return voter


def test_one_battle_in_ten_is_on_a_check_item_and_none_twice(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts(40, ("m1", "m2", "m3")))
    checks(database, 8)
    items, store = ItemBank(database), BattleStore(database)
    sampler, of_check = PairSampler(store, items, "auto", VoteTable(database)), check_codes(items)
    dealt, sides = [], set()
    for visitor in range(5):
        voter = store.voter(f"visitor {visitor}")
        for _ in range(30):
            battle = sampler.next_battle(voter, BattleRequest())
            assert isinstance(battle, Battle)
            dealt.append((visitor, battle.item in of_check, battle.item))
            sides.add((battle.answer_a < battle.answer_b) if battle.item in of_check else None)
            store.vote(voter, battle.token, "a", "1")
            store.reveal(voter, battle.token)
    of_checks = [(visitor, item) for visitor, check, item in dealt if check]
    assert 1 <= len(of_checks) <= 30, "10% of 150, within four standard errors"
    assert len(set(of_checks)) == len(of_checks)
    assert {True, False} <= sides
    assert not {item.id for item in sampler.shown_items()} & of_check
    linked = sampler.next_battle(
        store.voter("by link"), BattleRequest(item=items.bank().items[1].key)
    )
    assert linked.item == 1
    database.close()


def test_no_board_counts_check_items(bank, leaderboard, tmp_path, monkeypatch, capsys):
    clear(bank)
    checks(bank)
    voter = fail_checks(Voters(bank), "careful", 0, passed=CHECKS)
    assert leaderboard.choose("checks", "single").source == "test"
    assert leaderboard.choose("checks", "single").sources == ("test",)
    assert shown(leaderboard).votes == 220
    assert voter not in flags(bank)
    assert RIGHT not in board_html(shown(leaderboard), leaderboard.choose("test", "single"))
    monkeypatch.setenv("DATABASE_URL", bank.url.render_as_string(hide_password=False))
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    assert main(["votes", "export", "--out", str(tmp_path / "votes.jsonl")]) == 0, (
        "there is one source of votes"
    )
    assert "votes: 220" in capsys.readouterr().out


def test_the_demo_bank_stays_while_there_are_only_check_items_beside_it(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("demo items", "demo", drafts())
    checks(database)
    sampler = PairSampler(BattleStore(database), ItemBank(database), "auto", VoteTable(database))
    assert len(sampler.shown_items()) == 6 and sampler.is_demo()
    database.close()


def test_who_fails_check_items_is_left_out(bank, leaderboard):
    clear(bank)
    checks(bank)
    voters = Voters(bank)
    voter = fail_checks(voters, "careless", FAILED_CHECKS, passed=4)
    voters.vote(voter, 1, "m1", "m2", "a")
    board = shown(leaderboard)
    assert (board.votes, board.left_out.voters, board.left_out.flagged) == (220, 1, 1)
    assert {row.reason for row in rows(bank) if row.voter == voter} == {Suspicion.INATTENTIVE}


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ('{"right answer": "A cat.", "unrelated answer": "In 1848."}', None),
        (
            '{"right answer": "A cat."}',
            "row 1, column 'answers': a check item needs two answers",
        ),
        (
            '{"right answer": "A cat.", "unrelated answer": " "}',
            "named 'right answer' and 'unrelated answer'",
        ),
        ('{"right answer": "A", "unrelated answer": "B", "m1": "C"}', "a check item"),
    ],
)
def test_a_folder_of_check_items_comes_in_by_the_command_line(
    answers, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    folder = tmp_path / "attention"
    folder.mkdir()
    (folder / "cat.png").write_bytes(picture())
    row = f'{{"instruction": "What is it?", "family": "Color", "images": ["cat.png"], "answers": {answers}}}\n'
    (folder / "items.jsonl").write_text(row, "utf-8")
    assert main(["items", "checks", str(folder)]) == (0 if said is None else 2)
    told = capsys.readouterr()
    if said is None:
        assert "1 new items" in told.out and main(["items", "list"]) == 0
        assert (
            "attention (check): 1 items shown, 1 with answers from two or more models"
            in capsys.readouterr().out
        )
    else:
        assert said in told.err and "Traceback" not in told.err


# Crowds


HONEST_VOTERS = 300


def crowded_bank(
    crowd: int = 60, upsets: float = 1 / 3, first: int = 1, models: Sequence[str] = NAMES[1:4]
) -> list[Planted]:
    """Return honest votes, the best of `models` first, and those of a crowd that always chooses the last; on the ten
    items from `first` on."""
    rng = np.random.default_rng(3)
    votes = []
    for voter in range(HONEST_VOTERS + crowd):
        for number in range(10):
            winner, loser = sorted(rng.choice(3, 2, replace=False).tolist())
            if rng.random() < upsets or (voter >= HONEST_VOTERS and loser == 2):
                winner, loser = loser, winner
            names = (models[winner], models[loser])
            left = bool(rng.random() < 0.5)
            votes.append(Planted(first + number, *names, left=left, voter=voter))
    return votes


def test_votes_about_a_crowds_model_are_left_out_and_told_and_come_back(
    bank, leaderboard, tmp_path
):
    plant(bank, crowded_bank())
    board = shown(leaderboard)
    everything = shown(leaderboard, WITH)
    out = board.left_out
    assert out.of_crowd > 200 and board.votes + out.of_crowd + out.flagged == everything.votes
    assert [line.model for line in board.standings][-1] == "m3"
    told = unescape(HTML.summary(paragraphs(board)))
    assert f"Without {out.of_crowd:,} votes about m3 that look like a crowd's" in told
    told = unescape(HTML.summary(paragraphs(everything)))
    assert f"Includes {out.of_crowd:,} votes about m3 that look like a crowd's" in told
    write_export(bank, tmp_path)
    lines = (tmp_path / "votes.jsonl").read_text("utf-8").splitlines()
    marked = [row for row in map(json.loads, lines) if row["flagged"]]
    assert len(marked) == out.of_crowd + out.flagged
    assert sum("m3" in (row["model_a"], row["model_b"]) for row in marked) >= out.of_crowd


def test_voters_of_two_crowds_lose_their_votes_about_both_models_each_on_its_board(
    bank, leaderboard
):
    Ingest(bank).add_items("other", "folder", drafts(50)[40:])
    plant(bank, crowded_bank() + crowded_bank(first=41, models=("m3", "m2", "m1")))
    for key, last in ((SINGLE, "m3"), (BoardKey(2, False), "m1")):
        board = shown(leaderboard, key)
        assert board.left_out.of_crowd > 150
        assert [line.model for line in board.standings][-1] == last
        models = {line.code: line.model for line in board.standings}
        assert {models[code] for code in board.left_out.crowd_models} == {last}


@pytest.mark.parametrize(("source", "images"), [("other", 1), ("test", 2)])
def test_votes_about_a_crowds_model_count_on_boards_without_the_crowd(
    bank, leaderboard, source, images, tmp_path
):
    Ingest(bank).add_items(source, "folder", drafts(42, images=images)[40:])
    fair = [
        Planted(41 + voter % 2, *(("m1", "m3") if voter % 4 < 2 else ("m3", "m1")), voter=voter)
        for voter in range(HONEST_VOTERS + 60)
    ]
    plant(bank, crowded_bank() + fair)
    crowded = shown(leaderboard).left_out
    assert crowded.of_crowd > 200
    choice = leaderboard.choose(source, "single" if images == 1 else "multiple")
    board = shown(leaderboard, choice.key)
    assert board.left_out.of_crowd == 0
    assert board.votes + board.left_out.flagged == len(fair)
    write_export(bank, tmp_path)
    lines = (tmp_path / "votes.jsonl").read_text("utf-8").splitlines()
    marked = sum(json.loads(line)["flagged"] for line in lines)
    assert marked == crowded.of_crowd + crowded.flagged + board.left_out.flagged


def test_flags_of_a_crowd_go_when_its_votes_do(bank):
    plant(bank, crowded_bank())
    FlagService(bank, EVERYONE, VoteTable(bank)).look()
    crowd = [row for row in rows(bank) if row.reason is Suspicion.CROWD_FOR]
    assert crowd and {row.model for row in crowd} == {"m3"}
    assert not any(row.left_out for row in crowd)
    with bank.write() as connection:
        connection.execute(delete(BATTLE).where(BATTLE.c.voter_id > HONEST_VOTERS))
    FlagService(bank, EVERYONE, VoteTable(bank)).look()
    assert not [row for row in rows(bank) if row.reason is Suspicion.CROWD_FOR]


@pytest.mark.parametrize(
    ("share", "is_noticed", "sentence"),
    [
        (0.5, False, "{} with 10 votes each who always choose {} could put it first unnoticed."),
        (
            0.2,
            True,
            "{1} would come first if {0} with 10 votes each always chose it, "
            "but the board would notice this crowd.",
        ),
    ],
)
def test_the_page_says_how_many_new_voters_could_take_first_place(
    bank, leaderboard, share, is_noticed, sentence
):
    plant(bank, crowded_bank(crowd=0, upsets=share))
    board = shown(leaderboard)
    found = board.statistics.takeover
    assert (found.is_noticed, found.votes) == (is_noticed, board.votes)
    models = {line.code: line.model for line in board.standings}
    voters = f"{found.voters:,} new voter{'s' if found.voters > 1 else ''}"
    assert sentence.format(voters, models[found.rival]) in HTML.summary(paragraphs(board))
