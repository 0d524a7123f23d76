"""Matchmaking: which item, which two models and which side each, for this voter.

Pairs of models with fewer votes come first, else all is uniform; a fair coin gives the sides. In a campaign an
(item, pair) that was begun is finished first, until it has its number of voters.
"""

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

from arena.campaigns import PENDING, Campaigns, Seat
from arena.database import now
from arena.items import Bank, ItemBank
from arena.records import Battle, Contestant, Item, Phase
from arena.settings import DemoBank
from arena.store import Draw, Seen, Store

Pair = tuple[int, int]


class NoBattle(Enum):
    """Why there is no battle to show, in words for the voter."""

    EMPTY = "There are no items yet. Bring some in: python -m arena items folder DIR"
    IMAGES_MISSING = "The items are here, but not their images. Import with --fetch-images, or set IMAGE_HOSTS."
    FEWER_THAN_TWO = "No item has answers of two models yet. Bring more in: python -m arena items answers FILE"
    NO_SUCH_ITEM = "There is no such item here, or it has no two answers to compare."
    ALL_SEEN = "You have compared everything there is here. Thank you!"


@dataclass(frozen=True)
class Wish:
    """What the voter asked for: an item by its key, a family, or (neither) anything."""

    item: str | None = None
    family: str | None = None


class Matchmaker:
    """Give each voter the next battle."""

    COUNT_SECONDS = 2.0

    def __init__(self, store: Store, items: ItemBank, campaigns: Campaigns, demo_bank: DemoBank) -> None:
        self._store = store
        self._items = items
        self._campaigns = campaigns
        self._demo_bank: DemoBank = demo_bank
        self._coin = random.SystemRandom()
        self._pair_votes: Mapping[Pair, int] = {}
        self._counted = float("-inf")

    def shown_items(self) -> tuple[Item, ...]:
        """Return the items that can be drawn now: showable, of a source in the draw, with answers of two models."""
        bank = self._items.bank()
        return tuple(item for item in in_draw(bank, self._demo_bank) if len(item.contestants) > 1)

    def is_demo(self) -> bool:
        """Tell whether the demo bank is among what is drawn from."""
        bank = self._items.bank()
        demo = {source.id for source in bank.sources if source.kind == "demo"}
        return any(item.source in demo for item in in_draw(bank, self._demo_bank))

    def next_battle(self, voter: int, wish: Wish, seat: Seat | None = None) -> Battle | NoBattle:
        """Return the voter's unfinished battle or a new one, stored before it is returned; or why there is none."""
        items = self.shown_items()
        wanted = [item for item in items if _fits(item, wish)]
        linked = wanted[0].id if wish.item is not None and wanted else None

        if wish.item is not None and not wanted:
            return self._why_none(items, wanted, wish)
        battle = self._store.serve(
            voter,
            choose=lambda taken: self._draw(wanted, taken, seat),
            comes_back=lambda battle, seen: self._comes_back(battle, seen, seat),
            item=linked,
            seat=seat.id if seat else None,
        )
        return battle or self._why_none(items, wanted, wish)

    def _comes_back(self, battle: Battle, seen: Seen, seat: Seat | None) -> bool:
        """Tell whether an unfinished battle can be shown, and has not lost its place in the campaign."""
        if battle.item not in self._items.bank().items:
            return False
        lapsed = seat is not None and battle.phase is Phase.OPEN and now() - battle.served_at > PENDING
        return not (lapsed and seat and seen in self._campaigns.collected(seat).full)

    def _draw(self, wanted: Sequence[Item], taken: frozenset[Seen], seat: Seat | None) -> Draw | None:
        """Draw from the wanted items what this voter has not had; in a campaign, what was begun comes first."""
        if seat is None:
            return draw(wanted, self._votes(), taken, self._coin)
        begun, full = self._campaigns.collected(seat)
        taken |= full
        return _begun(wanted, begun, taken, self._coin) or draw(wanted, self._votes(), taken, self._coin)

    def _why_none(self, items: tuple[Item, ...], wanted: list[Item], wish: Wish) -> NoBattle:
        if wanted:
            return NoBattle.ALL_SEEN
        if items and wish.item:
            return NoBattle.NO_SUCH_ITEM
        bank = self._items.bank()
        if in_draw(bank, self._demo_bank):
            return NoBattle.FEWER_THAN_TWO
        return NoBattle.IMAGES_MISSING if bank.missing else NoBattle.EMPTY

    def _votes(self) -> Mapping[Pair, int]:
        """Return the counted votes of each pair, at most COUNT_SECONDS old."""
        if time.monotonic() - self._counted > self.COUNT_SECONDS:
            self._pair_votes = self._store.pair_votes()
            self._counted = time.monotonic()
        return self._pair_votes


def in_draw(bank: Bank, demo_bank: DemoBank) -> tuple[Item, ...]:
    """Return the items of the sources that are drawn from: the demo bank leaves when another source comes."""
    demo = {source.id for source in bank.sources if source.kind == "demo"}
    others = len(bank.sources) > len(demo)
    with_demo = demo_bank == "on" or (demo_bank == "auto" and not others)
    return tuple(item for item in bank.items.values() if with_demo or item.source not in demo)


def draw(items: Iterable[Item], votes: Mapping[Pair, int], taken: frozenset[Seen], coin: random.Random) -> Draw | None:
    """Draw the pair with the fewest votes that is left for this voter, then an item uniformly, then the sides."""
    answers: dict[int, dict[int, Contestant]] = {}
    for item in items:
        for contestant in item.contestants:
            answers.setdefault(contestant.model, {})[item.id] = contestant
    pairs = sorted(combinations(sorted(answers), 2), key=lambda pair: (votes.get(pair, 0), coin.random()))
    for low, high in pairs:
        both = answers[low].keys() & answers[high].keys()
        left = sorted(item for item in both if Seen(item, low, high) not in taken)
        if left:
            item = coin.choice(left)
            return _sided(item, answers[low][item], answers[high][item], coin)
    return None


def _begun(items: Iterable[Item], begun: Iterable[Seen], taken: frozenset[Seen], coin: random.Random) -> Draw | None:
    """Take the (item, pair) nearest to completion that this voter has not had; `begun` has the fullest first."""
    by_id = {item.id: {contestant.model: contestant for contestant in item.contestants} for item in items}
    for tuple_ in begun:
        answers = by_id.get(tuple_.item, {})
        if tuple_ not in taken and tuple_.low in answers and tuple_.high in answers:
            return _sided(tuple_.item, answers[tuple_.low], answers[tuple_.high], coin)
    return None


def _sided(item: int, one: Contestant, other: Contestant, coin: random.Random) -> Draw:
    a, b = (one, other) if coin.random() < 0.5 else (other, one)
    return Draw(item, a.model, b.model, a.answer, b.answer)


def _fits(item: Item, wish: Wish) -> bool:
    if wish.item is not None:
        return item.key == wish.item
    return wish.family is None or item.family == wish.family
