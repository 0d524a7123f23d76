"""Seat administration: operators' acts on campaigns of every task, such as links, participants and the end."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from arena.admin.actions import ActionKind, record_action
from arena.database import Database, now
from arena.io.strict_json import RowsError
from arena.io.tables import Record
from arena.seats.campaigns import Campaign, CampaignStore, Note
from arena.seats.links import CampaignLinkError, made_link
from arena.seats.participants import participant_sessions, participant_statuses
from arena.seats.seats import SeatStore
from arena.seats.spec import CampaignError, CampaignSpec
from arena.seats.worker_list import ListedWorker
from arena.settings import Settings
from arena.sheets import Sheet, record_sheet
from arena.storage import is_lost_at_restart
from arena.templates import plural


class WorkerLink(NamedTuple):
    """The signed link of a worker."""

    worker: str
    link: str


class SeatAdmin(ABC):
    """The campaigns of one kind; `store` knows only those. Callers have checked that `operator` names an operator."""

    def __init__(self, settings: Settings, database: Database, store: CampaignStore) -> None:
        self._settings = settings
        self._database = database
        self.store = store
        self.seats = SeatStore(database)

    @abstractmethod
    def make(self, operator: str, content: bytes) -> Campaign:
        """Makes a campaign from a TOML file. Raises CampaignError."""

    @abstractmethod
    def summary(self, campaign: Campaign) -> list[str]:
        """Returns sentences on the size and the pay of a campaign. Raises CampaignError."""

    @property
    @abstractmethod
    def tables(self) -> Mapping[str, Callable[[str], Sheet]]:
        """The downloads of a campaign by name; each raises CampaignError."""

    def loss_note(self, campaign: Campaign) -> Note | None:
        """Returns the note to store when a platform's list rejects work that counted before."""
        return None

    def check_server(self, spec: CampaignSpec) -> None:
        """Raises CampaignError for paid work that a restart would lose, and for a login that isn't set up."""
        if spec.platform.kind == "login" and self._settings.oauth is None:
            raise CampaignError(
                'platform.kind is "login", but nobody can log in here. Set hf_oauth: true (a Space), or '
                "OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET (docs/host.md)."
            )
        if spec.seat.pay and is_lost_at_restart(self._settings):
            raise CampaignError(
                "A restart would lose this campaign's paid seats and votes: SQLite is on a disk that a restart wipes, "
                "and there is no copy. Set MIRROR and HF_TOKEN, DATABASE_URL, or DATA_DIR on a volume (docs/host.md). "
                "To try a campaign, set pay = 0."
            )

    def link(self, campaign: Campaign, worker: str = "") -> str:
        """Returns the path and query of a campaign's link, valid today and for `valid_days` more days (UTC).

        Raises CampaignLinkError.
        """
        last_day = now() + timedelta(days=campaign.spec.valid_days + 1)
        until = last_day.replace(hour=0, minute=0, second=0, microsecond=0)
        return made_link(campaign.key, campaign.spec, until, worker)

    def worker_links(
        self, campaign: Campaign, workers: Iterable[ListedWorker], address: str
    ) -> Sheet:
        """Returns a table of workers and their links at a server's address. Raises RowsError."""
        links = []
        for row, worker in workers:
            try:
                links.append(WorkerLink(worker, f"{address}{self.link(campaign, worker)}"))
            except CampaignLinkError as error:
                raise RowsError(str(error), row=row) from error
        return record_sheet("links", "Links", WorkerLink, links)

    def links(self, campaigns: Iterable[Campaign]) -> dict[str, str]:
        """Returns the common link of each campaign, by its name; plain campaigns have one for each worker instead."""
        return {
            campaign.name: self.link(campaign)
            for campaign in campaigns
            if campaign.spec.platform.kind != "plain"
        }

    def end(self, operator: str, name: str) -> str:
        """Ends a campaign; returns a message. Raises CampaignError."""
        campaign = self.store.get(name)
        note = action_note(operator, "ended a campaign", name)
        if not self.store.end(campaign, "ended by an operator", note):
            why = self.store.get(name).why_ended  # Another process may have ended it meanwhile.
            return f"{name} has already ended: {why}."
        return (
            f"{name} has ended. People still at work see this on their next page, and they're paid."
        )

    def bring_participants(self, operator: str, name: str, records: Iterable[Record]) -> str:
        """Replaces a campaign's list of participants, which decides whose work counts; returns a summary of the list.

        Raises CampaignError and RowsError.
        """
        records = list(records)
        campaign = self.store.get(name)
        listed = participant_statuses(records)
        note = action_note(operator, "brought in a campaign's list of participants", name)
        self.seats.bring_participants(campaign, listed, note, self.loss_note(campaign))
        seats = self.seats.all(campaign)
        session_of = {seat.person: seat.session for seat in seats}
        listed_twice = []
        with_other_session = []
        for person, listed_sessions in participant_sessions(records).items():
            if len(listed_sessions) > 1:
                listed_twice.append(person)
            has_sessions = any(listed_sessions)  # A list without that column has only "".
            if has_sessions and person in session_of and session_of[person] not in listed_sessions:
                with_other_session.append(person)
        listed_and_came = session_of.keys() & listed.keys()
        unlisted = session_of.keys() - listed.keys()
        states = Counter(seat.confirmation for seat in seats)
        return (
            f"{plural(len(listed), 'person')} on the platform's list of {name}. {len(listed_and_came)} of "
            f"them came. Not on it: {plural(len(unlisted), 'worker')}. Workers who came: "
            f"{states['confirmed']} confirmed, {states['rejected']} rejected, {states['pending']} pending."
            + _list_sentence(" Listed more than once (pay them once)", listed_twice)
            + _list_sentence(
                " Came with a submission that isn't the listed one (check them)", with_other_session
            )
        )


def _list_sentence(title: str, persons: Sequence[str]) -> str:
    """Returns a sentence with the first people; empty without people."""
    if not persons:
        return ""
    more = ", ..." if len(persons) > 20 else ""
    return f"{title}: {', '.join(persons[:20])}{more}."


def action_note(operator: str, deed: ActionKind, name: str) -> Note:
    """Returns the note that records an operator's action about the thing of this name."""
    return lambda connection: record_action(connection, operator, deed, name)
