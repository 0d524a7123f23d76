"""Campaigns: rows that an operator makes, and their permanent end."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, Row, select

from arena.database import Database, now
from arena.seats.links import key_bytes
from arena.seats.spec import CampaignError, CampaignSpec, spec_text, stored_spec
from arena.seats.tables import CAMPAIGN, CAMPAIGN_END

Note = Callable[[Connection], object]
"""Stores more in the transaction of a change, such as its operator."""
_SELECT = select(CAMPAIGN, CAMPAIGN_END.c.ended_at, CAMPAIGN_END.c.reason).select_from(
    CAMPAIGN.outerjoin(CAMPAIGN_END, CAMPAIGN_END.c.campaign_id == CAMPAIGN.c.id)
)


@dataclass(frozen=True)
class Campaign:
    """A campaign as it is stored."""

    id: int
    task: str
    spec: CampaignSpec
    key: bytes = field(repr=False)
    """Signs its links and the addresses of its seats."""
    created_at: datetime
    ended_at: datetime | None
    why_ended: str
    """The reason; empty while it is running."""

    @property
    def name(self) -> str:
        return self.spec.name


class CampaignStore:
    """The campaigns of one database with a task in `spec_types`, which has the type of each task's specs."""

    def __init__(self, database: Database, spec_types: Mapping[str, type[CampaignSpec]]) -> None:
        self._database = database
        self._spec_types = spec_types
        self._select = _SELECT.where(CAMPAIGN.c.task.in_(spec_types))

    def create(
        self, task: str, spec: CampaignSpec, note: Note | None = None, end_reason: str = ""
    ) -> Campaign:
        """Makes a campaign, with a key of its own. `end_reason`: the reason, if it ends at once.

        Raises CampaignError if the name is taken.
        """
        values = {
            "name": spec.name,
            "task": task,
            "spec": spec_text(spec),
            "key": secrets.token_hex(32),
        }
        with self._database.write() as connection:
            insert = (
                self._database.insert(CAMPAIGN)
                .values(**values, created_at=now())
                .on_conflict_do_nothing()
            )
            campaign_id = connection.scalar(insert.returning(CAMPAIGN.c.id))
            if campaign_id is None:
                raise CampaignError(
                    f"There's already a campaign named {spec.name!r}. Choose another name."
                )
            if end_reason:
                self._end(connection, campaign_id, end_reason)
            if note:
                note(connection)
        return self.get(spec.name)

    def find(self, name: str) -> Campaign | None:
        """Returns the campaign of this name, if any."""
        with self._database.read() as connection:
            row = connection.execute(self._select.where(CAMPAIGN.c.name == name)).one_or_none()
        return None if row is None else self._campaign(row)

    def has(self, name: str) -> bool:
        return self.find(name) is not None

    def get(self, name: str) -> Campaign:
        """Returns the campaign of this name. Raises CampaignError."""
        campaign = self.find(name)
        if campaign is None:
            names = ", ".join(other.name for other in self.all()[:20]) or "none yet"
            raise CampaignError(f"There's no campaign named {name[:80]!r}. Campaigns: {names}.")
        return campaign

    def all(self) -> list[Campaign]:
        """Returns every campaign, the newest first."""
        with self._database.read() as connection:
            rows = connection.execute(self._select.order_by(CAMPAIGN.c.id.desc())).all()
        return [self._campaign(row) for row in rows]

    def end(self, campaign: Campaign, reason: str, note: Note | None = None) -> bool:
        """Ends a campaign; work in progress still counts and is paid. Returns False if it has ended already."""
        with self._database.write() as connection:
            ended = self._end(connection, campaign.id, reason)
            if ended and note:
                note(connection)
        return ended

    def _end(self, connection: Connection, campaign_id: int, reason: str) -> bool:
        values = {"campaign_id": campaign_id, "reason": reason, "ended_at": now()}
        insert = self._database.insert(CAMPAIGN_END).values(values).on_conflict_do_nothing()
        return connection.scalar(insert.returning(CAMPAIGN_END.c.campaign_id)) is not None

    def _campaign(self, row: Row) -> Campaign:
        spec = stored_spec(self._spec_types[row.task], row.spec)
        return Campaign(
            id=row.id,
            task=row.task,
            spec=spec,
            key=key_bytes(row.key),
            created_at=row.created_at,
            ended_at=row.ended_at,
            why_ended=row.reason or "",
        )
