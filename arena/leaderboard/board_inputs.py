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

    bank_version: int = -1
    flags_version: int = 0
    forgotten: int = 0
    """The number of erased voters."""
    eligibility: Mapping[CountSettings, tuple[int, ...]] = field(default_factory=dict)
    """Versions by rule, which change when somebody's votes begin or stop counting."""
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
            bank_version = counter(connection, BANK_VERSION)
            if bank_version != inputs.bank_version:
                inputs = replace(inputs, bank_version=bank_version, **_bank_fields(connection))
            flags_version = counter(connection, FLAGS_VERSION)
            forgotten = counter(connection, FORGOTTEN)
            eligibility = {rule: eligibility_version(connection, rule) for rule in self._rules}
            versions = (flags_version, forgotten, eligibility)
            if versions != (inputs.flags_version, inputs.forgotten, inputs.eligibility):
                inputs = replace(
                    inputs,
                    flags_version=flags_version,
                    forgotten=forgotten,
                    eligibility=eligibility,
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
            row.id: Entrant(
                display=row.display,
                retired=row.retired_at is not None,
                is_reference=row.name == REFERENCE,
            )
            for row in models
        },
        "families": {row.id: row.name for row in connection.execute(select(FAMILY))},
        "imported_sources": {source.id: source for source in sources},
        "imported": read_imported(connection) if sources else None,
    }
