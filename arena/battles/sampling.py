"""Pair sampling: the item, the two models and their sides of a voter's next battle.

Pairs of models with fewer votes are likelier, but so little that nobody can predict the next one. Items are drawn
evenly, and a fair coin decides the sides. If there are check items, about one battle in ten is on one of them."""

import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from threading import Lock

import numpy as np
import numpy.typing as npt

from arena.battles.quotas import LIMITS, LimitError
from arena.battles.store import BattleStore, Draw, DrawKind, DrawWithToken, ItemPair
from arena.battles.vote_table import VoteTable
from arena.items.store import Bank, ItemBank
from arena.settings import DemoBank, VoteLimits
from arena.types import OWN_KINDS, Battle, Contestant, Item

Pair = tuple[int, int]
"""Two models by id, the lower one first."""
Floats = npt.NDArray[np.floating]
CHECK_SHARE = 0.1
"""The share of a voter's battles on check items, while there are new ones for the voter."""
MOST_GRIDS = 100
"""The most cached grids, of selections of items such as a family."""


class NoBattle(Enum):
    """The reason why there is no battle, in words for the voter."""

    EMPTY = "Please come back later."
    """Nothing can be drawn for anybody; the operators' checklist has the reason."""
    NO_SUCH_ITEM = "This item isn't here, or it doesn't have two answers to compare."
    ALL_SEEN = "You've compared everything here. Thank you!"


@dataclass(frozen=True)
class BattleRequest:
    """The voter's request: an item by its key, a family, or (neither) anything."""

    item: str | None = None
    family: str | None = None

    def fits(self, item: Item) -> bool:
        """Returns whether the request allows a battle on an item."""
        if self.item is not None:
            return item.key == self.item
        return self.family in (None, item.family)


class PairSampler:
    """The choice of each voter's next battle."""

    COUNT_SECONDS = 2.0
    """The age at which the votes of the pairs are counted again."""

    def __init__(
        self,
        store: BattleStore,
        items: ItemBank,
        demo_bank: DemoBank,
        votes: VoteTable,
        limits: VoteLimits = LIMITS,
    ) -> None:
        self._store = store
        self._items = items
        self._votes = votes
        self._limits = limits
        self._demo_bank: DemoBank = demo_bank
        self._coin = random.SystemRandom()
        self._pair_votes: Mapping[Pair, int] = {}
        self._counted_at = float("-inf")
        self._count_lock = Lock()
        self._grids: dict[tuple[int, ...], PairGrid] = {}

    def shown_items(self) -> tuple[Item, ...]:
        """Returns the items that can be drawn now: showable, of a source in the draw, with answers of two models."""
        bank = self._items.bank()
        return tuple(item for item in in_draw(bank, self._demo_bank) if len(item.contestants) > 1)

    def is_demo(self) -> bool:
        """Returns whether demo items can be drawn."""
        bank = self._items.bank()
        demo = {source.id for source in bank.sources if source.kind == "demo"}
        return any(item.source in demo for item in in_draw(bank, self._demo_bank))

    def next_battle(
        self, voter: int, request: BattleRequest, network: str | None = None
    ) -> Battle | NoBattle:
        """Returns the voter's unfinished battle or a new one, already stored, or a NoBattle. Raises LimitError."""
        items = self.shown_items()
        wanted = [item for item in items if request.fits(item)]
        # A family without items goes on: the voter may have an unfinished battle.
        if request.item is not None and not wanted:
            return self._reason_for_none(items, wanted)
        picked_item = wanted[0].id if request.item is not None else None
        kind: DrawKind = "lot" if picked_item is None else "picked"
        self._count_votes()
        battle = self._store.serve(
            voter,
            choose=lambda taken: self._maybe_check_item(self._draw(wanted, taken), taken, kind),
            may_come_back=lambda battle, _: battle.item in self._items.bank().items,
            item=picked_item,
            network=network,
            can_show=lambda held, taken: (
                picked_item is None and self._can_show(held, wanted, taken)
            ),
        )
        return battle or self._reason_for_none(items, wanted)

    def hold(self, voter: int, request: BattleRequest) -> DrawWithToken | None:
        """Draws the battle after this one, to be sent ahead of its time; see `BattleStore.hold`. Raises LimitError.

        A held battle stays for any later request; otherwise a voter could choose a pair by asking often enough.
        """
        items = self.shown_items()
        wanted = [item for item in items if request.fits(item)]
        self._count_votes()
        return self._store.hold(
            voter,
            choose=lambda taken: self._maybe_check_item(self._draw(wanted, taken), taken, "lot"),
            can_show=lambda held, taken: self._can_show(held, items, taken),
        )

    def _can_show(self, held: Draw, wanted: Sequence[Item], taken: frozenset[ItemPair]) -> bool:
        """Returns whether a held draw can still be shown: its answers are in use, its item is a check or wanted, and
        the voter has not had it meanwhile.
        """
        item = self._items.bank().items.get(held.item)
        if item is None or (held.kind != "check" and item not in wanted):
            return False
        low, high = sorted((held.model_a, held.model_b))
        answers = {(held.model_a, held.answer_a), (held.model_b, held.answer_b)}
        return answers <= set(item.contestants) and ItemPair(item.id, low, high) not in taken

    def _maybe_check_item(
        self, drawn: Draw | None, taken: frozenset[ItemPair], kind: DrawKind
    ) -> Draw | None:
        """Sometimes replaces a drawn battle by one on a new check item, unless the voter picked the item."""
        if drawn is None:
            return None
        if kind == "picked" or self._coin.random() >= CHECK_SHARE:
            return drawn.with_kind(kind)
        check = draw(PairGrid(self._items.bank().checks()), {}, taken, self._coin)
        return check.with_kind("check") if check else drawn.with_kind(kind)

    def _draw(self, wanted: Sequence[Item], taken: frozenset[ItemPair]) -> Draw | None:
        """Draws a new battle for this voter. Raises LimitError if only the limits per item and pair leave none."""
        item_counts = Counter(battle.item for battle in taken)
        pair_counts = Counter((battle.low, battle.high) for battle in taken)
        closed = frozenset(
            pair for pair, count in pair_counts.items() if count >= self._limits.voter_pair
        )
        left = [item for item in wanted if item_counts[item.id] < self._limits.voter_item]
        grid = self._grid(wanted) if len(left) == len(wanted) else PairGrid(left)
        drawn = draw(grid, self._pair_votes, taken, self._coin, closed)
        # Without the limits, a battle may be left.
        if drawn is None and draw(self._grid(wanted), self._pair_votes, taken, self._coin):
            raise LimitError(
                "You've compared these items and models as often as one voter can. Thank you!"
            )
        return drawn

    def _grid(self, wanted: Sequence[Item]) -> "PairGrid":
        """Returns the grid of these items, cached while the bank has these very objects."""
        # By object: a changed item is another object. A cached grid keeps its items alive, so no address is reused.
        key = tuple(map(id, wanted))
        grid = self._grids.get(key)
        if grid is None:
            if len(self._grids) >= MOST_GRIDS:
                self._grids.clear()
            grid = PairGrid(wanted)
            self._grids[key] = grid
        return grid

    @staticmethod
    def _reason_for_none(items: Sequence[Item], wanted: Sequence[Item]) -> NoBattle:
        """Returns the reason for no battle, from all items and the wanted ones."""
        if wanted:
            return NoBattle.ALL_SEEN
        return NoBattle.NO_SUCH_ITEM if items else NoBattle.EMPTY

    def _count_votes(self) -> None:
        """Counts the votes of each pair, every COUNT_SECONDS; one draw counts them while the others go on.

        It runs before a draw's transaction. Reading votes may write: inside that transaction it would wait for a second
        connection.
        """
        if self._is_count_fresh():
            return
        # Without any count, all wait for the first one; later, the last one serves meanwhile.
        is_first = self._counted_at == float("-inf")
        if not self._count_lock.acquire(blocking=is_first):
            return
        try:
            # Another draw may have counted while this one waited.
            if not self._is_count_fresh():
                self._pair_votes = self._votes.pair_votes(live=False)
                self._counted_at = time.monotonic()
        finally:
            self._count_lock.release()

    def _is_count_fresh(self) -> bool:
        return time.monotonic() - self._counted_at <= self.COUNT_SECONDS


def in_draw(bank: Bank, demo_bank: DemoBank) -> tuple[Item, ...]:
    """Returns the items of the sources in the draw."""
    left_out = left_out_of_draw(bank, demo_bank)
    return tuple(item for item in bank.items.values() if item.source not in left_out)


def left_out_of_draw(bank: Bank, demo_bank: DemoBank) -> frozenset[int]:
    """Returns the sources not in the draw: check items, and under `auto` the demo items once an own item is ready."""
    has_own_items = bank.states_of(OWN_KINDS)["ready"] > 0
    with_demo = demo_bank == "on" or (demo_bank == "auto" and not has_own_items)
    kinds = ("check",) if with_demo else ("check", "demo")
    return frozenset(source.id for source in bank.sources if source.kind in kinds)


class PairGrid:
    """Items by the models that answered them: the shared data of draws among these items."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.items = tuple(items)
        self.answers = {
            item.id: {contestant.model: contestant for contestant in item.contestants}
            for item in self.items
        }
        """The answers by item and model."""
        self.models = sorted({model for answers in self.answers.values() for model in answers})
        self.place = {model: number for number, model in enumerate(self.models)}
        """The place of each model among `models`."""
        self.has_answer = np.zeros((len(self.models), len(self.items)), bool)
        """Whether a model has an answer to an item: models x items."""
        for number, answers in enumerate(self.answers.values()):
            self.has_answer[[self.place[model] for model in answers], number] = True
        answered = self.has_answer.astype(np.float32)
        self.shared_items = np.triu(answered @ answered.T, 1)
        """The number of items that both models of a pair answered, above the diagonal."""
        self._counted_votes: Mapping[Pair, int] = {}
        self._vote_matrix: Floats = np.zeros_like(self.shared_items)

    def vote_matrix(self, votes: Mapping[Pair, int]) -> Floats:
        """Returns the votes of each pair (models x models), made once for each mapping."""
        if votes is not self._counted_votes:
            matrix = np.zeros_like(self.shared_items)
            for (low, high), count in votes.items():
                if low in self.place and high in self.place:
                    matrix[self.place[low], self.place[high]] = count
            self._counted_votes = votes
            self._vote_matrix = matrix
        return self._vote_matrix


def draw(
    grid: PairGrid,
    votes: Mapping[Pair, int],
    taken: frozenset[ItemPair],
    coin: random.Random,
    closed: frozenset[Pair] = frozenset(),
) -> Draw | None:
    """Draws a pair of models with items left for this voter, then an item, then the sides; None if no pair is left.

    `votes`: the number of votes by pair; `taken`: the voter's battles; `closed`: pairs that must not be drawn.
    """
    items_left = grid.shared_items.copy()
    place = grid.place
    for item, low, high in taken:
        answers = grid.answers.get(item, {})
        if low in answers and high in answers:
            items_left[place[low], place[high]] -= 1
    for low, high in closed:
        if low in place and high in place:
            items_left[place[low], place[high]] = 0
    pairs = np.argwhere(items_left > 0)
    if not len(pairs):
        return None
    chances = pair_chances(grid.vote_matrix(votes)[pairs[:, 0], pairs[:, 1]])
    drawn = int(np.searchsorted(np.cumsum(chances), coin.random(), "right"))
    drawn = min(drawn, len(pairs) - 1)  # The sum of the chances may be a little below 1.
    pair = pairs[drawn]
    low, high = (grid.models[number] for number in pair.tolist())
    has_both = grid.has_answer[pair].all(0)
    shared_items = [grid.items[number].id for number in np.flatnonzero(has_both)]
    new_items = [item for item in shared_items if ItemPair(item, low, high) not in taken]
    item = coin.choice(new_items)
    answers = grid.answers[item]
    sided = _draw_sides(item, answers[low], answers[high], coin)
    return sided._replace(probability=float(chances[drawn]) / len(new_items))


def pair_chances(votes: npt.ArrayLike) -> Floats:
    """Returns the chance of each of P pairs by its votes: the fewer, the likelier, between 1 / (4 P) and 1.75 / P."""
    counts = np.asarray(votes, float)
    # Shares are at most 1, and on average at least 1/2, since the function is convex: hence the bounds.
    shares = 1 / (1 + counts / (counts.mean() + 1))
    return 0.25 / len(counts) + 0.75 * shares / shares.sum()


def _draw_sides(item: int, first: Contestant, second: Contestant, coin: random.Random) -> Draw:
    """Draws which of two models' answers to an item is on side A."""
    a, b = (first, second) if coin.random() < 0.5 else (second, first)
    return Draw(item, model_a=a.model, model_b=b.model, answer_a=a.answer, answer_b=b.answer)
