"""Vote eligibility: whose votes count on the boards; all are stored, and this is decided when they are counted."""

from sqlalchemy import Column, ColumnElement, Integer, Table, Text, bindparam, select, true

from arena.battles.tables import SEAT, VOTE
from arena.battles.voters import ADOPTION, PERSON
from arena.database import METADATA, Database, Moment, now
from arena.settings import CountSettings

OFFICIAL = Table(
    "official_board",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("voters", Text, nullable=False),
    Column("since", Moment, nullable=False),
)
"""One row, written at the first start: the `BoardVoters` of the board that opens first."""


def counting_voters(
    who: CountSettings,
    voter: ColumnElement[int] = VOTE.c.voter_id,
    voted_at: ColumnElement = VOTE.c.voted_at,
) -> ColumnElement[bool]:
    """Return the condition, over a table of votes, that a vote counts; `voter` and `voted_at` are its columns.

    Under "logged-in", a person's votes as a guest before a login count too.
    """
    if who.rule == "everyone":
        return true()
    if who.rule == "logged-in":
        before = select(ADOPTION.c.guest).where(ADOPTION.c.guest == voter, voted_at <= ADOPTION.c.until)
        return voter.in_(select(PERSON.c.voter_id)) | before.correlate_except(ADOPTION).exists()
    return voter.in_(select(SEAT.c.voter_id).where(SEAT.c.campaign.in_(who.campaigns)))


class VoteEligibility:
    """Whether a voter's new votes count."""

    def __init__(self, database: Database, who: CountSettings) -> None:
        self._database = database
        self.rule = who.rule
        self._counts = counting_voters(who, bindparam("voter", type_=Integer), bindparam("now", type_=Moment))

    def counts(self, voter: int) -> bool:
        with self._database.read() as connection:
            return bool(connection.scalar(select(self._counts), {"voter": voter, "now": now()}))
