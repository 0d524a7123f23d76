"""Campaigns of battles at the store, on one server; workers who know which model is better."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import combinations
from threading import Barrier

from sqlalchemy import select, update

from arena.admin.campaigns import KINDS
from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE, HAS_CHOICE
from arena.campaign_battles.spec import BattleSpec, FixedTuple
from arena.campaign_battles.state import CampaignStates
from arena.campaign_battles.task import BattleWork
from arena.database import Database
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.items.store import ItemBank
from arena.ratings.votes import Votes
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import Arrival
from arena.seats.seats import Seat, SeatStore
from arena.seats.spec import read_spec
from arena.types import RIGHT, UNRELATED, Battle


def check_drafts(number: int) -> list[ItemDraft]:
    """Check items: the right answer and an unrelated one."""
    return [
        ItemDraft(
            instruction=f"Check {one}: what is here?",
            family="Checks",
            images=(
                ImageDraft(f"check-{one}", f"c{one}.png", sha256=f"{one + 500:064x}", suffix="png"),
            ),
            answers={RIGHT: f"what is here, {one}", UNRELATED: f"something else, {one}"},
        )
        for one in range(number)
    ]


class Battles:
    """One server's services for campaigns of battles."""

    def __init__(self, database: Database) -> None:
        self.database, self.items, self.store = database, ItemBank(database), BattleStore(database)
        self.campaigns, self.seats = CampaignStore(database, KINDS), SeatStore(database)
        self.states = CampaignStates(database, self.items, self.campaigns)
        self.work = BattleWork(database, self.store, self.items, self.states)

    def campaign(self, **changes) -> Campaign:
        """A campaign on the source "test" without checks."""
        values = {
            "name": "pilot",
            "source": "test",
            "stop": {"votes": 10_000},
            "checks": {"items": "none"},
        }
        values |= {"seat": {"votes": 20, "minutes": 20, "pay": 1}, **changes}
        return self.campaigns.create("battles", read_spec(BattleSpec, values))

    def all_tuples(self) -> list[dict[str, str]]:
        """The tuples that can be drawn of the source "test", item by item, as a file for a fixed design."""
        names = {place: model.name for place, model in enumerate(self.items.models(), 1)}
        checks = {item.id for item in self.items.bank().checks()}
        return [
            {"item": item.key, "model_a": names[one.model], "model_b": names[other.model]}
            for item in self.items.bank().items.values()
            if item.id not in checks
            for one, other in combinations(item.contestants, 2)
        ]

    def again(self, campaign: Campaign) -> Campaign:
        """The campaign as it is now, after its state was read anew."""
        self.states.read_now(campaign)
        return self.campaigns.get(campaign.name)

    def seat(self, campaign: Campaign, person: str) -> Seat:
        return self.seats.enter(self.campaigns.get(campaign.name), Arrival(person), None)

    def next(self, seat: Seat) -> Battle | None:
        """The next battle of a seat, as a page that is opened now asks for it."""
        found = self.seats.find(self.campaigns.get(seat.campaign.name), seat.token)
        assert found
        return self.work.battle(found, None)

    def decide(self, seat: Seat, battle: Battle, choice: str) -> None:
        self.work.take(seat, battle.token, choice, "1")
        self.store.reveal(seat.voter, battle.token)

    def better(self, battle: Battle, models: Sequence[str]) -> str:
        """The side of the model that stands first in `models`; else the right answer of a check."""
        names = {place: model.name for place, model in enumerate(self.items.models(), 1)}
        order = [*models, RIGHT, UNRELATED]
        item = self.items.bank().items[battle.item]
        rank = {
            one.answer: order.index(names[one.model])
            for one in item.contestants
            if names[one.model] in order
        }
        return "a" if rank[battle.answer_a] < rank[battle.answer_b] else "b"

    def do(
        self, seat: Seat, choose: Callable[[Battle], str] = lambda battle: "a", most: int = 10_000
    ) -> int:
        """Decide what a seat is given, at most so many; return how many these were."""
        for number in range(most):
            battle = self.next(seat)
            if battle is None:
                return number
            self.decide(seat, battle, choose(battle))
        return most


def worker_of(database: Database, campaign: str, person: str = "w1") -> Seat:
    """A person's seat in a campaign of this name, which is made for it."""
    battles = Battles(database)
    return battles.seat(battles.campaign(name=campaign), person)


def votes_by_tuple(database: Database, campaign: Campaign) -> dict[tuple[int, int, int], list[int]]:
    """The voters of each (item, lower model, higher model) of a campaign."""
    battles = select(BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high, BATTLE.c.voter_id)
    with database.read() as connection:
        rows = connection.execute(battles.where(HAS_CHOICE, BATTLE.c.draw != "check")).all()
    found: dict[tuple[int, int, int], list[int]] = {}
    for item, low, high, voter in rows:
        found.setdefault((item, low, high), []).append(voter)
    return found


def let_minutes_pass(database: Database, minutes: float) -> None:
    """Make every battle served earlier."""
    with database.write() as connection:
        for row in connection.execute(select(BATTLE.c.id, BATTLE.c.began_at)).all():
            earlier = row.began_at - timedelta(minutes=minutes)
            connection.execute(update(BATTLE).where(BATTLE.c.id == row.id).values(began_at=earlier))


def answered_at_once(database: Database, seat: Seat, seconds: float = 0.3) -> None:
    """Make a seat's every answer so much later than its battle, however slow the machine is."""
    votes = select(BATTLE.c.id, BATTLE.c.voted_at).where(HAS_CHOICE, BATTLE.c.seat_id == seat.id)
    with database.write() as connection:
        for battle, voted_at in connection.execute(votes).all():
            served = voted_at - timedelta(seconds=seconds)
            connection.execute(update(BATTLE).where(BATTLE.c.id == battle).values(began_at=served))


def published_layout(votes: Votes) -> list[FixedTuple]:
    """Tuples of VisIT-Bench's 574 items on which these votes can have been given, one line a vote: five on a tuple, and
    what a pair has beyond multiples of five on tuples with fewer."""
    found, place = [], 0
    for low, high in combinations(range(votes.models), 2):
        number = int(
            ((votes.a == low) & (votes.b == high) | (votes.a == high) & (votes.b == low)).sum()
        )
        for begin in range(0, number, 5):
            one = FixedTuple(item=f"{place % 574}", model_a=f"m{low}", model_b=f"m{high}")
            found += [one] * min(5, number - begin)
            place += 1
    return found


def fill_layout(database: Database, layout: Sequence[FixedTuple], models: int) -> list[FixedTuple]:
    """Put a layout's items into the source "test", with answers of every model; return it with the items' keys."""
    numbers = sorted({int(one.item) for one in layout})
    drafts = {
        number: ItemDraft(
            instruction=f"What is in picture {number}?",
            family="Counting",
            images=(
                ImageDraft(f"key-{number}", f"{number}.png", sha256=f"{number:064x}", suffix="png"),
            ),
            answers={f"m{model}": f"m{model} says {number}" for model in range(models)},
        )
        for number in numbers
    }
    Ingest(database).add_items("test", "folder", list(drafts.values()))
    return [one.model_copy(update={"item": drafts[int(one.item)].key}) for one in layout]


def at_once(threads: int, work: Callable[[int], None]) -> None:
    """Work in so many threads that begin together; raise what one of them raises."""
    start = Barrier(threads)

    def begin(number: int) -> None:
        start.wait()
        work(number)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(begin, range(threads)))
