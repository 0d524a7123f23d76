"""Which boards there are, and which one somebody chose."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from sqlalchemy import Connection

from arena.imports.tables import imported_sources
from arena.items.store import sources_of
from arena.leaderboard.board import BoardKey, VoteKind
from arena.live.votes import live_sources

_NEWEST: tuple[VoteKind, ...] = ("imported", "live", "bank")
"""Kinds of sources; the last of them that has any is shown at first."""


class BoardSelectionError(ValueError):
    """Say what is wrong with the board that was asked for."""


class BoardSource(NamedTuple):
    """A source of votes that has boards, by the name that people choose it by."""

    label: str
    kind: VoteKind
    code: int


@dataclass(frozen=True)
class BoardSelection:
    """A board that somebody chose, with the names that it goes by and what else there is."""

    key: BoardKey
    source: str
    family: str | None
    sources: tuple[str, ...]
    families: tuple[str, ...]
    """Those with votes on this source and kind of images."""


def board_sources(connection: Connection) -> list[BoardSource]:
    """Return every source of votes: the bank's, live ones, then those from elsewhere; check items have no board."""
    bank = [BoardSource(one.name, "bank", one.id) for one in sources_of(connection) if one.kind != "check"]
    live = [BoardSource(one.label, "live", one.code) for one in live_sources(connection)]
    return [*bank, *live, *(BoardSource(one.label, "imported", one.id) for one in imported_sources(connection))]


def first_source(sources: Sequence[BoardSource]) -> BoardSource:
    """Return the source that is shown at first: the newest of the bank, else of live votes, else from elsewhere."""
    return max(sources, key=lambda one: (_NEWEST.index(one.kind), one.code))


def day_of(text: object) -> date | None:
    """Read a day; raises BoardSelectionError for what is none."""
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        day = date.fromisoformat(text.strip()[:10])
    except ValueError as error:
        raise BoardSelectionError(f"Days are written as 2026-01-31, found {text[:20]!r}.") from error
    if not 1970 <= day.year < 9999:
        raise BoardSelectionError(f"Days are written as 2026-01-31, found {text[:20]!r}.")
    return day
