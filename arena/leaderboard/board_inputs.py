"""Board inputs: everything that boards need beside the votes cast here, read again when it changes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from sqlalchemy import Connection, select

from arena.battles.vote_table import FORGOTTEN
from arena.database import counter
from arena.fraud.eligibility import eligibility_version
from arena.fraud.flags import FLAGS_VERSION, VoterMarks, voter_marks
from arena.imports.tables import ImportedSource, imported_sources
from arena.imports.vote_columns import ImportedVotes, read_imported
from arena.items.store import BANK_VERSION, FAMILY, MODEL
from arena.leaderboard.board import Entrant
from arena.settings import CountSettings
from arena.types import REFERENCE


@dataclass(frozen=True, eq=False)
class BoardInputs:
    """Everything that boards need beside the votes cast here, at one moment."""

    bank: int = -1
    """The bank's version."""
    flags: int = 0
    """The flags' version."""
    forgotten: int = 0
    """The number of erased voters."""
    eligible: Mapping[CountSettings, tuple[int, ...]] = field(default_factory=dict)
    """Numbers by rule, which change when somebody's votes begin to count."""
    marks: Mapping[CountSettings, VoterMarks] = field(default_factory=dict)
    """The marks of voters by rule."""
    entrants: Mapping[int, Entrant] = field(default_factory=dict)
    """Models by code."""
    families: Mapping[int, str] = field(default_factory=dict)
    """Names by code."""
    imported_sources: Mapping[int, ImportedSource] = field(default_factory=dict)
    """Sources by id."""
    imported: ImportedVotes | None = None


class InputReader:
    """Reader of the inputs of boards; `rules` are the rules for voters that count."""

    def __init__(self, rules: Collection[CountSettings]) -> None:
        self.latest = BoardInputs()
        """The inputs as they were last read."""
        self._rules = rules
        self._lock = Lock()

    def read(self, connection: Connection) -> BoardInputs:
        """Returns the current inputs; has to be the first read of a transaction.

        The transaction's snapshot begins under the lock, so that older inputs cannot replace newer ones.
        """
        with self._lock:
            inputs = self.latest
            bank = counter(connection, BANK_VERSION)
            if bank != inputs.bank:
                inputs = replace(inputs, bank=bank, **_bank_fields(connection))
            flags = counter(connection, FLAGS_VERSION)
            forgotten = counter(connection, FORGOTTEN)
            eligible = {rule: eligibility_version(connection, rule) for rule in self._rules}
            if (flags, forgotten, eligible) != (inputs.flags, inputs.forgotten, inputs.eligible):
                inputs = replace(
                    inputs,
                    flags=flags,
                    forgotten=forgotten,
                    eligible=eligible,
                    marks={rule: voter_marks(connection, rule) for rule in self._rules},
                )
            self.latest = inputs
            return inputs


def _bank_fields(connection: Connection) -> dict[str, Any]:
    """Returns the fields of `BoardInputs` that depend on the bank's version."""
    models = connection.execute(
        select(MODEL.c.id, MODEL.c.name, MODEL.c.display, MODEL.c.retired_at)
    )
    sources = imported_sources(connection)
    return {
        "entrants": {
            row.id: Entrant(row.display, row.retired_at is not None, row.name == REFERENCE)
            for row in models
        },
        "families": {row.id: row.name for row in connection.execute(select(FAMILY))},
        "imported_sources": {source.id: source for source in sources},
        "imported": read_imported(connection) if sources else None,
    }
