"""Lending: the rule for visitors who spend the operator's money on judges and live models, and for their networks.

If people can log in, money is lent to those who did; otherwise to any cookie.
"""

from sqlalchemy import select

from arena.battles.quotas import NetworkDays
from arena.battles.voters import PERSON, Voters
from arena.database import Database
from arena.errors import VoterError


class NotLentError(VoterError):
    """A guest asks for something that costs the operator money, although people can log in."""

    def __init__(self) -> None:
        super().__init__(
            "This costs the operator money, so it's only for people who log in. Log in above."
        )


class Lending:
    """Lending in one database; `login`: whether people can log in."""

    def __init__(self, database: Database, login: bool) -> None:
        self.login = login
        self._database = database
        self._days = NetworkDays(database)
        self._voters = Voters(database)

    def to_cookie(self, cookie_hash: str, network: str | None = None) -> str | None:
        """Returns what `to_voter` returns for the voter of a cookie. Raises NotLentError."""
        return self.to_voter(self._voters.voter(cookie_hash), network)

    def to_voter(self, voter: int, network: str | None) -> str | None:
        """Returns the code of the network whose limit a voter shares; None without a network, or for a person who has
        logged in and shares none.

        Raises NotLentError.
        """
        person = select(PERSON.c.voter_id).where(PERSON.c.voter_id == voter)
        with self._database.read() as connection:
            if connection.scalar(person) is not None:
                return None
        if self.login:
            raise NotLentError
        if network is None:
            return None
        with self._database.write() as connection:
            return self._days.code(connection, network, "money")
