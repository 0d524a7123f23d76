"""Campaigns of battles for operators, who make, watch, end and pay them, from the command line or their page."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, isnan

from arena.admin.seat_admin import SeatAdmin, action_note
from arena.battles.choices import publish_votes
from arena.battles.settlements import forget_orders
from arena.battles.vote_table import VoteTable
from arena.campaign_battles.downloads import quality_sheet, votes_sheet
from arena.campaign_battles.layout import check_names, layout_of
from arena.campaign_battles.report import judgements, last_answers, quality, seat_work
from arena.campaign_battles.spec import TASK, BattleSpec, battle_spec
from arena.campaign_battles.state import CampaignStates
from arena.campaign_battles.votes import left_out_seats, progress_rows, uncounted_seats
from arena.database import Database, now
from arena.io.tables import Record, require_columns
from arena.items.store import Bank, ItemBank, model_names
from arena.seats.campaigns import Campaign, CampaignStore, Note
from arena.seats.sheet import SeatWork, pay_rows, pay_sheet, seat_state
from arena.seats.spec import CampaignError, CampaignSpec, read_spec
from arena.settings import Settings
from arena.sheets import Sheet
from arena.templates import plural
from arena.types import item_key

KINDS = {TASK: BattleSpec}
"""The spec of each task."""
TUPLE_COLUMNS = ("item", "model_a", "model_b")
"""The columns of a file of tuples."""
VISIT_COLUMNS = ("image_url", "instruction", "A_model", "B_model")
"""The columns of VisIT-Bench's file of votes, which gives an item's picture and instruction instead of its key."""


@dataclass(frozen=True)
class CampaignStanding:
    """A campaign and its progress."""

    campaign: Campaign
    wanted: int
    """The votes at which it stops."""
    states: Mapping[str, int]
    """Workers by state."""
    listed: int
    """People in the platform's list."""
    votes: int = 0
    pending: int = 0
    """Votes of workers that the platform's list has not confirmed."""
    full: int = 0
    """Tuples with all their votes."""
    tuples: int = 0
    """All tuples."""
    settled: int = 0
    """Settled orders of models that are neighbours by rank."""
    neighbours: int = 0
    """All such orders."""
    half_width: float | None = None
    """The mean half width of the models' intervals, in rating points."""
    problem: str = ""
    """The reason why the numbers of votes are missing."""


class CampaignAdmin(SeatAdmin):
    """Operators' acts on campaigns of battles. The caller has checked that `operator` is one."""

    def __init__(
        self, settings: Settings, database: Database, items: ItemBank, votes: VoteTable
    ) -> None:
        super().__init__(settings, database, CampaignStore(database, KINDS))
        self.items = items
        self.states = CampaignStates(database, items, self.store, votes)

    def make(
        self, operator: str, content: bytes, tuples: Iterable[Record] | None = None
    ) -> Campaign:
        """Makes a campaign from a TOML file; `tuples`: rows of a fixed design. Raises CampaignError and RowsError."""
        if tuples is None:
            spec = read_spec(BattleSpec, content)
        else:
            fixed = [_tuple_of_row(record) for record in tuples]
            spec = read_spec(BattleSpec, content, fixed=fixed)
        self.check_server(spec)
        bank = self.items.bank()
        with self._database.read() as connection:
            names = model_names(connection)
        check_names(spec, bank, names)
        layout = layout_of(spec, bank, names)
        if not layout.wanted.any():
            raise CampaignError(
                f"No item of {spec.source!r} has answers from two of these models. "
                "Name other models, or import their answers."
            )
        items = int(layout.wanted.any(axis=0).sum())
        if spec.seat.votes > items:
            raise CampaignError(
                f"seat.votes is {spec.seat.votes}, but there are {items} items and a worker gets each once. Lower it."
            )
        check_sources(spec, bank)
        return self.store.create(TASK, spec, action_note(operator, "made a campaign", spec.name))

    def bring_participants(self, operator: str, name: str, records: Iterable[Record]) -> str:
        message = super().bring_participants(operator, name, records)
        # The confirmed votes may be all that the campaign needs, so that it ends now.
        with suppress(CampaignError):
            self.states.read_now(self.store.get(name))
        return message

    def loss_note(self, campaign: Campaign) -> Note:
        source = battle_spec(campaign).source
        return lambda connection: forget_orders(connection, campaign.name, source)

    def summary(self, campaign: Campaign) -> list[str]:
        """Returns sentences on the size, the pay and the checks of a campaign. Raises CampaignError."""
        spec = battle_spec(campaign)
        layout = self.states.state_of(campaign).layout
        tuples = int((layout.wanted > 0).sum())
        most_votes = int(layout.wanted.sum())
        seat = spec.seat
        workers = ceil(min(most_votes, spec.stop.votes) / seat.votes)
        checks = len(self.items.bank().checks(spec.checks.items))
        if checks:
            check_sentence = f"{plural(checks, 'check item')} to test attention."
        else:
            check_sentence = (
                "No check items, so nobody's attention is tested. "
                "Import some: python -m arena items checks DIR."
            )
        return [
            f"{campaign.name}: {plural(len(layout.models), 'model')}, {plural(tuples, 'tuple')}, "
            f"at most {plural(most_votes, 'vote')}. It stops at {spec.stop.votes:,}.",
            f"{plural(workers, 'worker')} with {plural(seat.votes, 'vote')} each, for {seat.pay:g} {seat.currency} each"
            f": {workers * seat.pay:,.2f} {seat.currency} before the platform's fee.",
            check_sentence,
        ]

    @property
    def tables(self) -> Mapping[str, Callable[[str], Sheet]]:
        return {"sheet": self.sheet, "quality": self.quality, "votes": self.votes}

    def sheet(self, name: str) -> Sheet:
        """Returns the pay sheet, after a review of the workers. Raises CampaignError."""
        campaign = self.store.get(name)
        self.states.review_workers(campaign)
        seats = self.seats.all(campaign)
        with self._database.read() as connection:
            work = seat_work(connection, campaign, seats)
        listed = self.seats.participants(campaign)
        return pay_sheet(pay_rows(campaign, seats, work, listed, now()))

    def quality(self, name: str) -> Sheet:
        """Returns the quality of each worker's answers. Raises CampaignError."""
        campaign = self.store.get(name)
        try:
            layout = self.states.state_of(campaign).layout
        except CampaignError:  # The bank has lost the campaign's items.
            layout = None
        publish_votes(self._database)
        with self._database.read() as connection:
            return quality_sheet(quality(connection, campaign, self.seats.all(campaign), layout))

    def votes(self, name: str) -> Sheet:
        """Returns every answer with its worker. Raises CampaignError."""
        campaign = self.store.get(name)
        seats = {seat.id: seat for seat in self.seats.all(campaign)}
        with self._database.read() as connection:
            left_out = left_out_seats(connection, campaign)
            uncounted = uncounted_seats(connection, campaign, left_out)
            answers = judgements(connection, campaign)
        # Without answers of seats that were taken between the two reads.
        answers_of_seats = (answer for answer in answers if answer.seat in seats)
        return votes_sheet(answers_of_seats, seats, uncounted)

    def standings(self, most: int | None = None) -> list[CampaignStanding]:
        """Returns the campaigns with their progress, the newest first."""
        return [self.standing(campaign) for campaign in self.store.all()[:most]]

    def standing(self, campaign: Campaign) -> CampaignStanding:
        """Returns a campaign with its progress."""
        seats = self.seats.all(campaign)
        at = now()
        with self._database.read() as connection:
            last = last_answers(connection, campaign)
            progress = progress_rows(connection, campaign)
        votes = {row.seat_id: row.votes for row in progress}
        work = {
            seat.id: SeatWork(votes=votes.get(seat.id, 0), last=last.get(seat.id)) for seat in seats
        }
        without_votes = CampaignStanding(
            campaign,
            wanted=battle_spec(campaign).stop.votes,
            states=Counter(seat_state(seat, work[seat.id], at) for seat in seats),
            listed=len(self.seats.participants(campaign)),
        )
        try:
            state = self.states.state_of(campaign)
        except CampaignError as error:
            return replace(without_votes, problem=str(error))
        last_look = state.last_look
        orders = last_look.orders if last_look else ()
        half_width = None
        if last_look and not isnan(last_look.half_width):
            half_width = last_look.half_width
        wanted = state.layout.wanted
        is_tuple = wanted > 0
        is_full = state.collected.counted >= wanted
        return replace(
            without_votes,
            votes=state.votes,
            pending=state.pending,
            full=int((is_tuple & is_full).sum()),
            tuples=int(is_tuple.sum()),
            settled=sum(order.state == "settled" for order in orders),
            neighbours=len(orders),
            half_width=half_width,
        )


def _tuple_of_row(record: Record) -> dict[str, object]:
    """Returns an item and two models, by TUPLE_COLUMNS. Raises RowsError."""
    values = record.values
    # VisIT-Bench's own file of preferences has a row for each vote.
    if "A_model" in values:
        require_columns(record, VISIT_COLUMNS)
        item = item_key(str(values["instruction"]), [str(values["image_url"])])
        return {
            "item": item,
            "model_a": str(values["A_model"]).strip(),
            "model_b": str(values["B_model"]).strip(),
        }
    require_columns(record, TUPLE_COLUMNS)
    return {column: str(values[column]).strip() for column in TUPLE_COLUMNS}


def check_sources(spec: CampaignSpec, bank: Bank) -> None:
    """Raises CampaignError for a source with too few check items for a campaign."""
    if spec.checks.items:
        _check_source(bank, "checks.items", spec.checks.items, least=1)
    if spec.qualify and spec.qualify.items:
        _check_source(bank, "qualify.items", spec.qualify.items, least=spec.qualify.asked)


def _check_source(bank: Bank, key: str, name: str, least: int) -> None:
    """Raises CampaignError for too few check items. `key`: the setting that names the source."""
    count = len(bank.checks(name))
    if count >= least:
        return
    names = [source.name for source in bank.sources if source.kind == "check"]
    known = ", ".join(names) or "none"
    raise CampaignError(
        f"{key} is {name!r}, which has {count} of the {least} check items needed. Sources of check items: "
        f"{known}. To import more: python -m arena items checks DIR."
    )
