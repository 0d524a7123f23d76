"""Matchmaking: which battle comes next, that it is fair, and what a voter reads when there is none."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import combinations
from threading import Barrier, local

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import Connection, select, update

from arena.admin.checklist import ChecklistEntry, checklist
from arena.admin.moderation import hide
from arena.battles.sampling import (
    BattleRequest,
    NoBattle,
    PairGrid,
    PairSampler,
    draw,
    pair_chances,
)
from arena.battles.store import BattleStore, ItemPair
from arena.battles.tables import BATTLE
from arena.battles.vote_table import VoteTable
from arena.clock import CLOCK, SECOND
from arena.database import Database
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.items.store import ItemBank
from arena.settings import DemoBank, Settings, VoteLimits
from arena.types import Battle, Contestant, Item
from tests.support.servers import drafts

ANY = BattleRequest()
DRAWS = 3_000


class OneTransaction(Database):
    """A database on which no thread writes inside its own write: many that did would wait for one another."""

    def __init__(self, url: str) -> None:
        self._inside = local()
        super().__init__(url)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        assert not getattr(self._inside, "writes", False), "a write inside a write"
        self._inside.writes = True
        try:
            with super().write() as connection:
                yield connection
        finally:
            self._inside.writes = False


def sampler(
    database: Database, demo_bank: DemoBank = "auto", hosts: tuple[str, ...] = ()
) -> PairSampler:
    """Return a fresh matchmaker: it has read nothing yet."""
    return PairSampler(
        BattleStore(database), ItemBank(database, hosts), demo_bank, VoteTable(database)
    )


def served(
    database: Database, cookie: str = "one", asked_for: BattleRequest = ANY, **options
) -> Battle:
    battle = sampler(database, **options).next_battle(
        BattleStore(database).voter(cookie), asked_for
    )
    assert isinstance(battle, Battle), battle
    return battle


def none(
    database: Database, asked_for: BattleRequest = ANY, cookie: str = "one", **options
) -> NoBattle:
    battle = sampler(database, **options).next_battle(
        BattleStore(database).voter(cookie), asked_for
    )
    assert isinstance(battle, NoBattle), battle
    return battle


def decide(database: Database, battle: Battle, cookie: str = "one", choice="a") -> None:
    store = BattleStore(database)
    voter = store.voter(cookie)
    store.vote(voter, battle.token, choice, "1")
    store.reveal(voter, battle.token)


def pair_of(database: Database, battle: Battle) -> tuple[int, int]:
    models = {
        c.answer: c.model
        for item in ItemBank(database).bank().items.values()
        for c in item.contestants
    }
    low, high = sorted((models[battle.answer_a], models[battle.answer_b]))
    return low, high


def items(number: int = 6, models: int = 4) -> list[Item]:
    """Return items with models 1 to `models`; an answer's number is item * 100 + model."""
    codes = range(1, models + 1)
    return [
        Item(
            item,
            f"{item:016x}",
            1,
            "Counting",
            "?",
            (),
            tuple(Contestant(code, item * 100 + code) for code in codes),
        )
        for item in range(1, number + 1)
    ]


def is_even(counts: Counter, expected: int) -> bool:
    """Tell whether counts fit the uniform distribution: chi-square at most its mean and five standard deviations."""
    mean = counts.total() / expected
    chi_square = sum((counts[key] - mean) ** 2 / mean for key in counts) + mean * (
        expected - len(counts)
    )
    return chi_square <= (expected - 1) + 5 * (2 * (expected - 1)) ** 0.5


# The draw


def test_sides_items_and_pairs_are_fair():
    coin = random.Random(20260101)
    grid = PairGrid(items())
    draws = [draw(grid, {}, frozenset(), coin) for _ in range(2400)]
    drawn = [one for one in draws if one]
    assert len(drawn) == 2400
    assert is_even(Counter(one.item for one in drawn), 6)
    assert is_even(Counter(frozenset((one.model_a, one.model_b)) for one in drawn), 6)
    for pair in combinations(range(1, 5), 2):
        assert is_even(
            Counter(one.model_a for one in drawn if {one.model_a, one.model_b} == set(pair)), 2
        )


def test_each_side_shows_the_answer_of_its_model_to_the_item():
    coin = random.Random(1)
    grid = PairGrid(items())
    for _ in range(200):
        one = draw(grid, {}, frozenset(), coin)
        assert one
        assert one.model_a != one.model_b
        assert (one.answer_a, one.answer_b) == (
            one.item * 100 + one.model_a,
            one.item * 100 + one.model_b,
        )


@given(st.lists(st.integers(0, 10**6) | st.integers(0, 3), min_size=1, max_size=60))
@example([0] * 59 + [10**6])
@example([10**6] * 59 + [0])
def test_no_pair_can_be_foretold_and_fewer_votes_make_a_pair_likelier(votes):
    chances, pairs = pair_chances(votes), len(votes)
    assert sum(chances) == pytest.approx(1)
    assert all(1 / (4 * pairs) <= chance <= 2 / pairs for chance in chances) or pairs == 1
    for (fewer, likelier), (more, chance) in combinations(
        sorted(zip(votes, chances, strict=True)), 2
    ):
        assert likelier > chance if fewer < more else likelier == chance


def test_a_draw_tells_the_probability_that_it_had():
    """Of four models one lacks an answer, the voter has had a third of what there is, and votes are uneven."""
    lacking = [
        replace(item, contestants=item.contestants[: 3 if item.id < 3 else 4]) for item in items()
    ]
    votes = {(1, 2): 40, (1, 3): 3, (2, 3): 11, (1, 4): 0, (2, 4): 7, (3, 4): 2}
    taken = frozenset(ItemPair(item, *pair) for item in (1, 2, 5) for pair in ((1, 2), (1, 4)))
    coin = random.Random(8)
    grid = PairGrid(lacking)
    drawn = [
        one for _ in range(DRAWS) if (one := draw(grid, votes, taken, coin, frozenset([(2, 4)])))
    ]
    told = {(one.item, *sorted((one.model_a, one.model_b))): one.probability for one in drawn}
    counts = Counter((one.item, *sorted((one.model_a, one.model_b))) for one in drawn)
    assert sum(told.values()) == pytest.approx(1)
    assert not any(key[1:] == (2, 4) for key in told)
    chi_square = sum(
        (counts[key] - DRAWS * chance) ** 2 / (DRAWS * chance) for key, chance in told.items()
    )
    assert chi_square <= (len(told) - 1) + 5 * (2 * (len(told) - 1)) ** 0.5


def test_what_the_voter_had_is_never_drawn_again():
    coin, seen = random.Random(4), set()
    grid = PairGrid(items())
    while one := draw(grid, {}, frozenset(seen), coin):
        key = ItemPair(one.item, min(one.model_a, one.model_b), max(one.model_a, one.model_b))
        assert key not in seen
        seen.add(key)
    assert len(seen) == 6 * 6


@pytest.mark.parametrize("models", [0, 1])
def test_fewer_than_two_models_draw_nothing(models):
    assert draw(PairGrid(items(models=models)), {}, frozenset(), random.Random(5)) is None
    assert draw(PairGrid([]), {}, frozenset(), random.Random(5)) is None


def test_models_that_share_no_item_are_no_pair():
    one, other = items(2, 2)
    apart = [
        replace(one, contestants=one.contestants[:1]),
        replace(other, contestants=other.contestants[1:]),
    ]
    assert draw(PairGrid(apart), {}, frozenset(), random.Random(6)) is None


# The next battle


def test_votes_spread_over_the_pairs_and_each_battle_keeps_its_probability(bank):
    for number in range(24):
        decide(bank, served(bank, f"voter {number}"), f"voter {number}")
    counts = VoteTable(bank).pair_votes(live=False)
    assert sum(counts.values()) == 24 and min(counts.values()) >= 2
    item = next(iter(ItemBank(bank).bank().items.values()))
    served(bank, "who picks", BattleRequest(item=item.key))
    with bank.read() as connection:
        rows = connection.execute(
            select(BATTLE.c.draw, BATTLE.c.draw_probability).order_by(BATTLE.c.id)
        ).all()
    assert rows[-1] == ("picked", None)
    assert {row.draw for row in rows[:-1]} == {"lot"}
    assert rows[0].draw_probability == pytest.approx(1 / 18), (
        "three pairs and six items, none with votes"
    )
    assert all(1 / 12 / 6 <= row.draw_probability <= 2 / 3 / 6 for row in rows[:-1])


def test_a_voter_meets_each_item_and_pair_once_and_then_has_seen_all(bank):
    met = set()
    for _ in range(18):
        battle = served(bank)
        met.add((battle.item, pair_of(bank, battle)))
        decide(bank, battle)
    assert len(met) == 18
    assert none(bank) is NoBattle.ALL_SEEN
    assert none(bank, BattleRequest(family="Color")) is NoBattle.ALL_SEEN
    assert isinstance(served(bank, "someone else"), Battle)


def test_a_link_gives_its_item_even_beside_an_open_battle(bank):
    first = served(bank)
    other = next(item for item in ItemBank(bank).bank().items.values() if item.id != first.item)
    linked = served(bank, asked_for=BattleRequest(item=other.key))
    assert linked.item == other.id
    assert served(bank, asked_for=BattleRequest(item=other.key)) == linked, (
        "the link gives the same battle again"
    )
    assert served(bank) == first, "without the link the older open battle comes back"


def test_a_linked_item_is_used_up_by_itself(bank):
    item = next(iter(ItemBank(bank).bank().items.values()))
    for _ in range(3):
        decide(bank, served(bank, asked_for=BattleRequest(item=item.key)))
    assert none(bank, BattleRequest(item=item.key)) is NoBattle.ALL_SEEN
    assert served(bank).item != item.id


@pytest.mark.parametrize("key", ["0" * 16, "x" * 10_000, "\0", "🙂"])
def test_an_unknown_item_is_named_as_such(bank, key):
    assert none(bank, BattleRequest(item=key)) is NoBattle.NO_SUCH_ITEM


def test_an_unknown_item_is_named_as_such_beside_an_open_battle(bank):
    served(bank)
    assert none(bank, BattleRequest(item="0" * 16)) is NoBattle.NO_SUCH_ITEM


@pytest.mark.parametrize("family", ["Counting", "Color", "Directions"])
def test_a_family_is_kept_to(bank, family):
    families = {item.id: item.family for item in ItemBank(bank).bank().items.values()}
    for _ in range(6):
        battle = served(bank, asked_for=BattleRequest(family=family))
        assert families[battle.item] == family
        decide(bank, battle)
    assert none(bank, BattleRequest(family=family)) is NoBattle.ALL_SEEN


def test_a_family_that_is_gone_is_not_taken_for_a_bank_without_answers(bank):
    assert none(bank, BattleRequest(family="Gone")) is NoBattle.NO_SUCH_ITEM
    decide(bank, served(bank))
    limits = VoteLimits(voter_item=1, voter_pair=1)
    limited = PairSampler(BattleStore(bank), ItemBank(bank), "auto", VoteTable(bank), limits)
    gone = limited.next_battle(BattleStore(bank).voter("one"), BattleRequest(family="Gone"))
    assert gone is NoBattle.NO_SUCH_ITEM, "no limit is in the way"


# Why there is none


def test_an_empty_bank_says_so(database):
    assert none(database) is NoBattle.EMPTY
    assert none(database, BattleRequest(item="0" * 16)) in (NoBattle.EMPTY, NoBattle.NO_SUCH_ITEM)
    assert sampler(database).shown_items() == ()


def remote_draft(host: str = "images.example.org") -> ItemDraft:
    url = f"https://{host}/1.png"
    return ItemDraft(
        "What is this?",
        "Counting",
        (ImageDraft(url, "1.png", url=url),),
        {"m1": "one", "m2": "two"},
    )


def hide_all(database: Database) -> None:
    with database.write() as connection:
        for item in ItemBank(database).bank().items.values():
            hide(connection, item.key)


def without_answers(database: Database) -> None:
    Ingest(database).add_items("mine", "folder", drafts(items=3, models=()))


def one_model(database: Database) -> None:
    Ingest(database).add_items("mine", "folder", drafts(items=3, models=("m1",)))


def without_pictures(database: Database) -> None:
    Ingest(database).add_items("mine", "visit", [remote_draft()])


def all_hidden(database: Database) -> None:
    Ingest(database).add_items("mine", "folder", drafts(items=2))
    hide_all(database)


def all_but_one_retired(database: Database) -> None:
    Ingest(database).add_items("mine", "folder", drafts(items=3, models=("m1", "m2")))
    Ingest(database).retire("m2")


def only_checks(database: Database) -> None:
    Ingest(database).add_items("checks", "check", drafts(items=3))


def nothing(_: Database) -> None:
    pass


NOT_READY = {
    nothing: "none, so nobody can vote",
    without_answers: "0 of 3 can be shown: 3 without answers from two models",
    one_model: "0 of 3 can be shown: 3 without answers from two models",
    without_pictures: "0 of 1 can be shown: 1 without pictures (import with --fetch-images",
    all_hidden: "0 of 2 can be shown: 2 hidden by operators",
    all_but_one_retired: "0 of 3 can be shown: 3 without answers from two models",
    only_checks: "none, so nobody can vote",
}


@pytest.mark.parametrize("bring", NOT_READY, ids=lambda bring: bring.__name__)
def test_items_that_cannot_be_shown_leave_the_demo_bank_in_the_draw(database, tmp_path, bring):
    """A visitor reads one sentence where nothing is left, the operator the reason."""
    bring(database)
    assert none(database) is NoBattle.EMPTY
    assert none(database, BattleRequest(item="0" * 16)) is NoBattle.EMPTY
    assert none(database, BattleRequest(family="Counting")) is NoBattle.EMPTY
    assert sampler(database).shown_items() == ()

    settings = Settings.from_env({"DATA_DIR": str(tmp_path)})

    def items_entry() -> ChecklistEntry:
        with database.read() as connection:
            entries = checklist(settings, connection, 0)
        return next(entry for entry in entries if entry.what == "Items")

    assert NOT_READY[bring] in items_entry().details and "nobody can vote" in items_entry().details
    Ingest(database).add_items("demo items", "demo", drafts(items=6)[4:])
    assert isinstance(served(database), Battle) and sampler(database).is_demo()
    assert (
        "demo" in items_entry().details
        and "nobody" not in items_entry().details
        and not items_entry().is_there
    )

    Ingest(database).add_items("more", "folder", drafts(items=4)[3:])
    assert not sampler(database).is_demo() and items_entry().is_there
    assert {item.source for item in sampler(database).shown_items()} == {
        source.id for source in ItemBank(database).bank().sources if source.name == "more"
    }


def test_missing_images_wait_until_their_host_is_allowed(database):
    Ingest(database).add_items("test", "visit", [remote_draft()])
    assert none(database) is NoBattle.EMPTY
    assert none(database, hosts=("other.example.org",)) is NoBattle.EMPTY
    assert isinstance(served(database, hosts=("images.example.org",)), Battle)


def test_an_open_battle_whose_images_are_gone_does_not_come_back(database):
    """The page could not show it: the operator no longer allows the host of its images."""
    Ingest(database).add_items("test", "visit", [remote_draft(), *drafts(items=1)])
    item = next(
        item
        for item in sampler(database, hosts=("images.example.org",)).shown_items()
        if item.images[0].url
    )
    battle = served(database, asked_for=BattleRequest(item=item.key), hosts=("images.example.org",))
    assert served(database).item != battle.item
    assert served(database, hosts=("images.example.org",)) == battle, "it waits for its images"


# The bank


@pytest.mark.parametrize(
    ("demo_bank", "others", "kinds"),
    [
        ("auto", False, {"demo"}),
        ("auto", True, {"folder"}),
        ("on", False, {"demo"}),
        ("on", True, {"demo", "folder"}),
        ("off", False, set()),
        ("off", True, {"folder"}),
    ],
)
def test_the_demo_bank_leaves_when_another_source_comes_or_by_the_setting(
    database, demo_bank, others, kinds
):
    Ingest(database).add_items("demo items", "demo", drafts(items=3))
    if others:
        Ingest(database).add_items("mine", "folder", drafts(items=6)[3:])
    names = {source.id: source.kind for source in ItemBank(database).bank().sources}
    maker = sampler(database, demo_bank)
    assert {names[item.source] for item in maker.shown_items()} == kinds
    assert maker.is_demo() == ("demo" in kinds)
    if not kinds:
        assert none(database, demo_bank=demo_bank) is NoBattle.EMPTY


def test_a_sampler_that_has_drawn_sees_that_a_model_retires(bank):
    items, voter = ItemBank(bank), BattleStore(bank).voter("one")
    items.CHECK_SECONDS = 0
    maker = PairSampler(BattleStore(bank), items, "auto", VoteTable(bank))
    first = maker.next_battle(voter, ANY)
    assert isinstance(first, Battle)
    decide(bank, first)
    Ingest(bank).retire("m3")
    for _ in range(5):
        battle = maker.next_battle(voter, ANY)
        assert isinstance(battle, Battle) and pair_of(bank, battle) == (1, 2)
        decide(bank, battle)


def test_a_retired_model_is_not_drawn_and_its_name_is_still_told(bank):
    battle = served(bank, "before")
    Ingest(bank).retire("m3")
    for _ in range(6):
        battle_now = served(bank)
        assert pair_of(bank, battle_now) == (1, 2)
        decide(bank, battle_now)
    assert none(bank) is NoBattle.ALL_SEEN
    decide(bank, battle, "before")
    voter = BattleStore(bank).voter("before")
    assert set(BattleStore(bank).names(voter, battle.token)) < {"m1", "m2", "m3"}


def test_items_imported_by_another_program_are_drawn_within_five_seconds(database, database_url):
    maker, voter = sampler(database), BattleStore(database).voter("one")
    assert maker.next_battle(voter, ANY) is NoBattle.EMPTY
    with closing(Database(database_url)) as other:
        Ingest(other).add_items("new", "folder", drafts())
    deadline, late = time.monotonic() + 5, False
    while not isinstance(maker.next_battle(voter, ANY), Battle):
        assert not late, "asked when five seconds were over"
        time.sleep(0.1)
        late = time.monotonic() > deadline


@pytest.mark.locks_or_dialect
def test_a_battle_is_drawn_in_one_transaction_even_when_the_time_must_be_kept(database_url):
    with closing(OneTransaction(database_url)) as bank:
        Ingest(bank).add_items("test", "folder", drafts())
        decide(bank, served(bank, "one"), "one")
        with bank.write() as connection:
            connection.execute(update(CLOCK).values(seen=CLOCK.c.seen - 2 * SECOND))
        assert served(bank, "two")


def test_more_voters_than_connections_are_all_served(bank):
    """As many as the page has threads: none waits for a connection that another holds while it waits too."""
    maker, start = sampler(bank), Barrier(60)
    voters = [BattleStore(bank).voter(f"cookie {number}") for number in range(60)]

    def draw_one(voter: int) -> Battle | NoBattle:
        start.wait()
        return maker.next_battle(voter, ANY)

    with ThreadPoolExecutor(60) as pool:
        battles = list(pool.map(draw_one, voters))
    assert len({battle.id for battle in battles if isinstance(battle, Battle)}) == 60


def test_votes_on_models_that_are_gone_are_left_out_of_the_grid():
    grid = PairGrid(items())
    here = (grid.models[0], grid.models[1])
    votes = grid.vote_matrix({here: 3, (here[0], max(grid.models) + 1): 5})
    assert votes.sum() == votes[0, 1] == 3


def test_a_pair_that_is_closed_and_gone_closes_no_other():
    grid = PairGrid(items())
    gone = max(grid.models) + 1
    assert draw(grid, {}, frozenset(), random.Random(7), frozenset([(gone, gone + 1)]))
