"""Boards against a plain recount of the stored rows, whatever is voted, imported, flagged and erased in between."""

import random
import secrets
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Row, delete, insert, select, update

import app  # noqa: F401 every table is there
from arena.admin.erasure import Erasure
from arena.battles.choices import next_final_number
from arena.battles.tables import BATTLE, CONFIRMATIONS, IS_WAITING, SEAT
from arena.battles.vote_table import LIVE_ITEM, LIVE_OWN, VoteTable
from arena.battles.voters import ADOPTION, PERSON, Account, Voters
from arena.clock import SECOND, tick
from arena.database import Database, bump_counter, now
from arena.formats.base import Battles, Vote, columns_of
from arena.formats.native import STEREOSCOPE
from arena.fraud.eligibility import MOST_GUESTS
from arena.fraud.flags import COUNTED_REVIEW, EVERYONE_REVIEW, FLAGS_VERSION, VOTER_FLAG
from arena.imports.importer import ImportRequest, VoteImporter
from arena.imports.tables import IMPORTED_ITEM, IMPORTED_SOURCE, IMPORTED_VOTE
from arena.items.ingest import Ingest
from arena.items.store import FAMILY, ITEM, SOURCE, ItemBank
from arena.leaderboard.board import BoardKey, ExcludedVotes, ImportSummary
from arena.leaderboard.board_votes import votes_of
from arena.leaderboard.service import Leaderboard
from arena.live.images import OwnImages
from arena.ratings.bradley_terry import win_matrix
from arena.settings import CountSettings
from arena.types import grouped
from tests.support.servers import drafts

MODELS = ("m1", "m2", "m3")
WHO = CountSettings("counted", ("spring",))
CHOICES = ("a", "a", "b", "b", "tie", "both_bad")
CONFIRMED = ("confirmed", "confirmed", "pending", "rejected")
LOGS = ("log one", "log two")
HOUR = 3600 * SECOND
AT_A_LOOK = 4
"""Boards that are compared at each look."""
Pairs = Counter[tuple[int, int]]


# What happens


class Arena:
    """A database in which random things happen."""

    def __init__(self, database: Database, folder: Path, coin: random.Random) -> None:
        self.database = database
        self.coin = coin
        self._erasure = Erasure(database, OwnImages(database, folder))
        self._people = Voters(database)
        self._guests: list[str] = []
        self._voters: list[int] = []
        self._applicants = [self._people.voter(f"applicant {number}") for number in range(3)]
        self._items = 0
        self.add_items("test", 1)
        self.add_items("test", 2)
        self.add_items("other", 1)

    def add_items(self, source: str = "", images: int = 0) -> None:
        first = self._items
        self._items += 3
        images = images or self.coin.randint(1, 2)
        fresh = drafts(self._items, MODELS, images)[first:]
        Ingest(self.database).add_items(
            source or self.coin.choice(("test", "other")), "kind", fresh
        )

    def come(self) -> None:
        self._guests.append(f"guest {len(self._guests)}")
        self._voters.append(self._people.voter(self._guests[-1]))

    def log_in(self) -> None:
        guest = self.coin.choice(self._guests)
        account = Account(self.coin.choice("1112"), "ann")
        self._voters.append(self._people.log_in(account, guest, secrets.token_hex(8)))

    def hire(self) -> None:
        campaign = self.coin.choice(("spring", "autumn"))
        applicant = self.coin.choice(self._applicants)
        seat = {"voter_id": applicant, "campaign": campaign, "code": "code"}
        seat["confirmation"] = self.coin.choice(CONFIRMED)
        with self.database.write() as connection:
            connection.execute(self.database.insert(SEAT).values(seat).on_conflict_do_nothing())

    def confirm(self) -> None:
        """Bring in a platform's list, which says anything of each worker."""
        with self.database.write() as connection:
            for seat in connection.scalars(select(SEAT.c.id)).all():
                told = update(SEAT).where(SEAT.c.id == seat)
                connection.execute(told.values(confirmation=self.coin.choice(CONFIRMED)))
            bump_counter(connection, CONFIRMATIONS)

    def vote(self) -> None:
        for _ in range(self.coin.randint(1, 6)):
            self._battle(self.coin.random() < 0.4)

    def let_pass(self) -> None:
        with self.database.write() as connection:
            connection.execute(update(BATTLE).where(IS_WAITING).values(tick=0))

    def import_votes(self) -> None:
        votes = [self._imported_vote() for _ in range(self.coin.randint(1, 8))]
        file = Battles("stereoscope", *columns_of(votes), rows=tuple(map(STEREOSCOPE.row, votes)))
        order = ImportRequest(
            self.coin.choice(LOGS),
            into_live=self.coin.random() < 0.7,
            both_bad=self.coin.choice(("half", "out")),
        )
        VoteImporter(self.database).add(file, order)

    def flag(self) -> None:
        """Raise a flag, or lift it where it is raised."""
        flag = {
            "review": self.coin.choice((EVERYONE_REVIEW, COUNTED_REVIEW)),
            "voter_id": self.coin.choice(self._voters + self._applicants),
            "reason": self.coin.choice(("LEFT", "LEFT", "HASTY", "ONE_SIDED")),
        }
        with self.database.write() as connection:
            lifted = delete(VOTER_FLAG).filter_by(**flag)
            if not connection.execute(lifted).rowcount:
                raised = insert(VOTER_FLAG).values(strength=5.0, raised_at=now(), **flag)
                connection.execute(raised)
            bump_counter(connection, FLAGS_VERSION)

    def forget(self) -> None:
        self._erasure.forget(self.coin.choice(self._voters), "ada")

    def rename(self) -> None:
        Ingest(self.database).rename(self.coin.choice(MODELS), secrets.token_hex(4))

    def _battle(self, is_live: bool) -> None:
        bank = ItemBank(self.database).bank()
        item = self.coin.choice([*bank.items.values()])
        one, other = self.coin.sample(item.contestants, 2)
        voter = self.coin.choice(self._voters + self._applicants)
        values: dict[str, Any] = {
            "token": secrets.token_hex(8),
            "voter_id": voter,
            "item_id": item.id,
            "images": 1 + item.multi,
            "model_a": one.model,
            "model_b": other.model,
            "began_at": self._moment(),
            "protocol": "ties",
        }
        if is_live:
            values["item_id"] = self.coin.choice((None, item.id))
            values["images"] = self.coin.randint(1, 2)
        else:
            values |= {"answer_a": one.answer, "answer_b": other.answer, "draw": "lot"}
        with self.database.write() as connection:
            seats = select(SEAT.c.id).where(SEAT.c.voter_id == voter).order_by(SEAT.c.id)
            values["seat_id"] = self.coin.choice([None, *connection.scalars(seats)])
            values |= self._end(connection, is_live)
            rows = self.database.insert(BATTLE).values(values)
            connection.execute(rows.on_conflict_do_nothing())

    def _end(self, connection: Any, is_live: bool) -> dict[str, Any]:
        end = self.coin.choice(("open", "skipped", "undone", "young", "old", *["final"] * 4))
        if end == "skipped":
            return {"ended": "offensive", "ended_at": now()}
        if end == "undone":
            return {"taken_back": self.coin.choice(CHOICES)}
        if end == "open":
            return {}
        voted = {"choice": self.coin.choice(CHOICES), "voted_at": self._moment(), "terms": "1"}
        if is_live:
            voted["outside"] = self.coin.choice((None, None, "stopped", "named itself"))
        if end == "final":
            voted["final_number"] = next_final_number(connection)
        return voted | {"tick": tick(connection) + HOUR if end == "young" else 0}

    def _imported_vote(self) -> Vote:
        bank = ItemBank(self.database).bank()
        keys = [item.key for item in bank.items.values()]
        moment = self._moment().timestamp()
        names = ("m1", "m2", "x")
        return Vote(
            self.coin.choice(names),
            self.coin.choice(names),
            self.coin.choice(CHOICES),
            item=self.coin.choice((None, "elsewhere", *keys)),
            voter=self.coin.choice((None, "v1", "v1", "v2")),
            time=self.coin.choice((None, moment, moment)),
            category=self.coin.choice((None, "Counting", "Odd")),
            images=self.coin.choice((None, 1, 2)),
            conversation=self.coin.choice((None, "c1", "c1", "c2")),
            blind=self.coin.choice((None, True, False)),
        )

    def _moment(self) -> datetime:
        """Some moment of five days, often the first or the last one of a day."""
        day = datetime.combine(now().date(), datetime.min.time(), UTC)
        days = timedelta(days=self.coin.randint(-2, 2))
        inside = timedelta(microseconds=self.coin.choice((0, -1, self.coin.randrange(24 * HOUR))))
        return day + days + inside


# The recount


class Recount:
    """All rows that boards may depend on, counted one by one."""

    def __init__(self, database: Database) -> None:
        with database.read() as connection:

            def rows(table: Any) -> list[Row]:
                return list(connection.execute(select(table)))

            self.battles = [row for row in rows(BATTLE) if row.final_number is not None]
            self.waiting = [row for row in rows(BATTLE) if row.choice and not row.final_number]
            self.items = {row.id: row for row in rows(ITEM)}
            self.sources = {row.name: row.id for row in rows(SOURCE)}
            self.families = {row.id: row.name for row in rows(FAMILY)}
            self.imports = {row.id: row for row in rows(IMPORTED_SOURCE)}
            self.imported = sorted(rows(IMPORTED_VOTE), key=lambda row: row.id)
            keys = {row.id: row.key for row in rows(IMPORTED_ITEM)}
            self.seats = {row.id: row for row in rows(SEAT)}
            self.persons = {row.voter_id for row in rows(PERSON)}
            self.adoptions = rows(ADOPTION)
            flags = grouped((row.review, row) for row in rows(VOTER_FLAG))
            self.flags = {
                True: flags.get(EVERYONE_REVIEW, []),
                False: flags.get(COUNTED_REVIEW, []),
            }
        by_key = {row.key: row for row in self.items.values()}
        self.items_of = {code: by_key.get(key) for code, key in keys.items()}

    def whole_boards(self) -> Iterator[BoardKey]:
        """Yield the boards there are, each of one kind of images, all families and days."""
        for multi in (False, True):
            yield BoardKey(LIVE_OWN, multi, kind="live")
            yield BoardKey(LIVE_ITEM, multi, kind="live")
            for source in self.sources.values():
                yield BoardKey(source, multi)
            for source in self.imports:
                yield BoardKey(source, multi, kind="imported")

    def here(self, key: BoardKey) -> list[Row]:
        """Return the final votes of a board's source, images, family and days, whoever cast them."""
        return [
            row
            for row in self.battles
            if self._place(row) == (key.kind, key.source, key.multi)
            and key.family in (None, self._family(row))
            and _in_days(key, row.voted_at)
        ]

    def counted(self, key: BoardKey) -> list[Row]:
        votes = [row for row in self.here(key) if row.outside is None and self._counts(key, row)]
        return [row for row in votes if not (key.unflagged and self._flagged(key, row))]

    def excluded(self, key: BoardKey) -> ExcludedVotes:
        if key.kind == "imported":
            return ExcludedVotes()
        ranked = [row for row in self.here(key) if row.outside is None]
        flagged = [row for row in ranked if self._counts(key, row) and self._flagged(key, row)]
        outside = Counter(row.outside for row in self.here(key))
        return ExcludedVotes(
            voters=len({row.voter_id for row in flagged}),
            flagged=len(flagged),
            uncounted=sum(not self._counts(key, row) for row in ranked),
            stopped=outside["stopped"],
            named=outside["named itself"],
            rule="everyone" if key.everyone else WHO.rule,
        )

    def imported_here(self, key: BoardKey) -> list[Row]:
        return [
            row
            for row in self.imported
            if row.id <= self.imports[row.source_id].counted_to
            and self._imported_place(key, row) == (key.source, key.multi)
            and key.family in (None, self._imported_family(key, row))
            and _in_days(key, row.voted_at)
        ]

    def imported_counted(self, key: BoardKey) -> list[Row]:
        return [row for row in self.imported_here(key) if self.why_out(row) is None]

    def why_out(self, row: Row) -> str | None:
        if row.winner == row.loser:
            return "alone"
        if any(_again(row, later) for later in self.imported if later.id > row.id):
            return "repeated"
        bad_is_out = self.imports[row.source_id].both_bad == "out"
        return "both_bad_out" if row.choice == "both_bad" and bad_is_out else None

    def summary(self, key: BoardKey) -> ImportSummary | None:
        rows = self.imported_here(key)
        if not rows:
            return None
        out = Counter(self.why_out(row) for row in rows)
        counted = [row for row in rows if self.why_out(row) is None]
        return ImportSummary(
            votes=len(counted),
            sources=tuple(sorted({self.imports[row.source_id].name for row in rows})),
            judge=False,
            ties=sum(row.choice == "tie" for row in counted),
            both_bad=sum(row.choice == "both_bad" for row in counted),
            both_bad_out=out["both_bad_out"],
            alone=out["alone"],
            repeated=out["repeated"],
            named=sum(row.blind is False for row in counted),
            no_item=sum(row.item_id is None for row in counted),
            no_voter=sum(row.voter_id is None for row in counted),
            no_time=sum(row.voted_at is None for row in counted),
            no_images=sum(row.images is None and self._item_of(row) is None for row in counted),
        )

    def families_of(self, key: BoardKey) -> set[str]:
        """Return the families with ranked votes on a board, whoever cast them."""
        cast = {self._family(row) for row in self.here(key) if row.outside is None}
        imported = {self._imported_family(key, row) for row in self.imported_counted(key)}
        return {self.families[code] for code in cast | imported if code}

    def pair_votes(self, is_live: bool) -> Pairs:
        rows = [row for row in self.battles if row.outside is None]
        of_kind = [row for row in rows if (row.answer_a is None) == is_live]
        return Counter((row.model_low, row.model_high) for row in of_kind)

    @staticmethod
    def _is_live(row: Row) -> bool:
        return row.answer_a is None

    def _place(self, row: Row) -> tuple[str, int, bool]:
        if self._is_live(row):
            return "live", LIVE_OWN if row.item_id is None else LIVE_ITEM, row.images > 1
        item = self.items[row.item_id]
        return "bank", item.source_id, item.multi

    def _family(self, row: Row) -> int:
        return 0 if self._is_live(row) else self.items[row.item_id].family_id

    def _item_of(self, row: Row) -> Row | None:
        return self.items_of.get(row.item_id)

    def _imported_place(self, key: BoardKey, row: Row) -> tuple[int, bool] | None:
        item = self._item_of(row)
        if key.kind == "imported":
            images = row.images or (2 if item and item.multi else 1)
            return row.source_id, images > 1
        if key.kind == "bank" and item and self.imports[row.source_id].into_live:
            return item.source_id, item.multi
        return None

    def _imported_family(self, key: BoardKey, row: Row) -> int:
        item = self._item_of(row)
        of_item = item.family_id if item else 0
        return (row.family_id or of_item) if key.kind == "imported" else of_item

    def _counts(self, key: BoardKey, row: Row) -> bool:
        seat = self.seats.get(row.seat_id)
        if key.everyone:
            return seat is None or seat.confirmation != "rejected"
        if seat is not None:
            return seat.campaign == "spring" and seat.confirmation == "confirmed"
        voter = row.voter_id
        return voter in self.persons or any(
            one.guest == voter and row.voted_at <= one.until and self._place_of(one) < MOST_GUESTS
            for one in self.adoptions
        )

    def _place_of(self, adoption: Row) -> int:
        """Return the number of guests that a person was before."""
        of_person = [one for one in self.adoptions if one.person == adoption.person]
        return sum(one.until < adoption.until for one in of_person)

    def _flagged(self, key: BoardKey, row: Row) -> bool:
        reasons = [
            flag.reason for flag in self.flags[key.everyone] if flag.voter_id == row.voter_id
        ]
        return "LEFT" in reasons or len(reasons) > 1


def _in_days(key: BoardKey, at: datetime | None) -> bool:
    if at is None:
        return not key.dated
    return (key.since or date.min) <= at.date() <= (key.until or date.max)


def _again(row: Row, later: Row) -> bool:
    """Whether a later vote is the same voter's on the same conversation."""
    if row.conversation is None or row.voter_id is None:
        return False
    facts = [(one.source_id, one.conversation, one.voter_id, *_sides(one)) for one in (row, later)]
    return facts[0] == facts[1]


def _sides(row: Row) -> tuple[int, int]:
    return (row.loser, row.winner) if row.choice == "b" else (row.winner, row.loser)


def wins_of(votes: list[Row]) -> tuple[Pairs, Pairs, Pairs]:
    """Return the wins in halves, those on the left, and the ties, by winner and loser."""
    halves: Pairs = Counter()
    left: Pairs = Counter()
    ties: Pairs = Counter()
    for row in votes:
        pair = (row.winner, row.loser)
        back = (row.loser, row.winner)
        if row.choice in ("tie", "both_bad"):
            halves.update((pair, back))
            ties.update((pair, back))
        else:
            halves[pair] += 2
            left[pair] += row.choice == "a"
    return halves, +left, ties


# The comparison


class CountingLeaderboard(Leaderboard):
    """A leaderboard without statistics, which take seconds."""

    def _schedule_statistics(self, *_: object) -> None:
        pass


def narrowed(key: BoardKey, families: list[int], coin: random.Random) -> BoardKey:
    day = now().date()
    first, last = sorted(day + timedelta(days=coin.randint(-3, 3)) for _ in range(2))
    return replace(
        key,
        family=coin.choice((None, *families)),
        since=coin.choice((None, None, first)),
        until=coin.choice((None, None, last)),
    )


def pairs_of(codes: tuple[int, ...], grid: np.ndarray) -> Pairs:
    places = np.argwhere(grid)
    return Counter({(codes[i], codes[j]): grid[i, j] for i, j in places.tolist()})


def check_board(shown: Leaderboard, recount: Recount, key: BoardKey) -> None:
    board = shown.board(key)
    votes = recount.counted(key) + recount.imported_counted(key)
    halves, left, ties = wins_of(votes)
    codes = board.counts.codes
    assert board.votes == len(votes), key
    assert codes == tuple(sorted({code for pair in halves for code in pair})), key
    assert pairs_of(codes, 2 * board.counts.wins) == halves, key
    assert pairs_of(codes, board.counts.left) == left, key
    assert pairs_of(codes, board.counts.ties) == ties, key
    assert board.left_out == recount.excluded(key), key
    assert board.import_summary == recount.summary(key), key
    frames, marks = shown._countable_votes(key)
    one_by_one = votes_of(frames, key, marks, judged=False)
    assert one_by_one.codes == codes, key
    assert np.array_equal(win_matrix(one_by_one.votes), board.counts.wins), key
    people = {(row in recount.battles, row.voter_id) for row in votes if row.voter_id is not None}
    assert one_by_one.sample.voters == len(people), key
    nameless = any(row.voter_id is None for row in votes)
    assert len(np.unique(one_by_one.votes.voters)) == len(people) + nameless, key


def check_boards(shown: Leaderboard, table: VoteTable, arena: Arena) -> None:
    """Compare some boards, each as a whole and narrowed somehow, and what is told about the sources."""
    table.read()
    recount = Recount(arena.database)
    assert all(row.tick for row in recount.waiting), "what is old is final"
    families = sorted(recount.families)
    for key in arena.coin.sample([*recount.whole_boards()], AT_A_LOOK):
        whole = key
        if key.kind != "imported":
            unflagged = arena.coin.random() < 0.7
            whole = replace(key, unflagged=unflagged, everyone=arena.coin.random() < 0.3)
        check_board(shown, recount, whole)
        check_board(shown, recount, narrowed(whole, families, arena.coin))
    for is_live in (False, True):
        assert table.pair_votes(is_live) == recount.pair_votes(is_live)
    check_choice(shown, recount, arena.coin)


def check_choice(shown: Leaderboard, recount: Recount, coin: random.Random) -> None:
    own = [row for row in recount.battles if row.answer_a is None and row.outside is None]
    labels = dict.fromkeys(recount.sources)
    labels |= {"Own pictures, answered live": None} if any(r.item_id is None for r in own) else {}
    labels |= {"Our items, answered live": None} if any(r.item_id for r in own) else {}
    labels |= {f"{one.name} (imported)": None for one in recount.imports.values()}
    for label, images in coin.sample([*product(labels, ("single", "multiple"))], 2):
        choice = shown.choose(label, images, votes=None)
        assert choice and choice.source == label and set(choice.sources) == set(labels)
        assert set(choice.families) == recount.families_of(choice.key)


STEPS: dict[Callable[[Arena], None], int] = {
    Arena.vote: 30,
    Arena.import_votes: 3,
    Arena.flag: 3,
    Arena.let_pass: 4,
    Arena.come: 4,
    Arena.log_in: 4,
    Arena.hire: 2,
    Arena.confirm: 1,
    Arena.forget: 3,
    Arena.add_items: 1,
    Arena.rename: 1,
}


def live_through(database: Database, folder: Path, coin: random.Random, steps: int) -> None:
    arena = Arena(database, folder, coin)
    table = VoteTable(database)
    kept = CountingLeaderboard(database, table, WHO)
    arena.come()
    arena.come()
    for _ in range(steps):
        (step,) = coin.choices([*STEPS], [*STEPS.values()])
        step(arena)
        if coin.random() < 0.4:
            check_boards(kept, table, arena)
    kept.close()
    anew = VoteTable(database)
    started = CountingLeaderboard(database, anew, WHO)
    check_boards(started, anew, arena)
    started.close()


def check(steps: int, seed: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Database(f"sqlite:///{folder}/arena.db")) as database,
    ):
        live_through(database, Path(folder), random.Random(seed), steps)


@settings(max_examples=1, phases=(Phase.generate,))
@given(st.integers(0, 2**32))
def test_boards_are_what_a_recount_says(seed):
    check(40, seed)


@pytest.mark.soak
@settings(max_examples=40, phases=(Phase.generate,))
@given(st.integers(0, 2**32))
def test_boards_are_what_a_recount_says_for_long(seed):
    check(120, seed)


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize(
    "database_url", ["postgresql", pytest.param("sqlite", marks=pytest.mark.soak)], indirect=True
)
def test_boards_are_what_a_recount_says_on_both_databases(database, tmp_path):
    live_through(database, tmp_path, random.Random(7), 15)
