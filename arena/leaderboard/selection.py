"""Board selection: the available boards, and a visitor's choice among them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import pandas as pd
from sqlalchemy import Connection

from arena.campaign_battles.spec import closed_sources
from arena.imports.tables import imported_sources
from arena.items.store import sources_of
from arena.leaderboard.board import BoardKey, VoteKind
from arena.live.votes import live_sources
from arena.settings import BoardVoters

_DEFAULT_FIRST: tuple[VoteKind, ...] = ("bank", "live", "imported")
"""Kinds of sources; the default source is of the first kind that has any."""


class BoardSelectionError(ValueError):
    """A mistake in the requested board, named by the message."""


class BoardSource(NamedTuple):
    """A source of votes with boards, and the label that people choose it by."""

    label: str
    kind: VoteKind
    code: int
    """The source's number among those of its kind; newer ones are larger."""


@dataclass(frozen=True)
class BoardSelection:
    """A chosen board, with its names and the other choices."""

    key: BoardKey
    source: str
    """The source's label."""
    family: str | None
    votes: BoardVoters | None
    """The voters that are shown; None if there is only one board."""
    sources: tuple[str, ...]
    families: tuple[str, ...]
    """The families with votes on this source and kind of images."""


def bank_sources(connection: Connection) -> list[BoardSource]:
    """Returns the bank's sources that have a board.

    Check items have none. A source has none while a campaign on it is running, so that nobody sees the standings.
    """
    closed = closed_sources(connection)
    return [
        BoardSource(source.name, "bank", source.id)
        for source in sources_of(connection)
        if source.kind != "check" and source.name not in closed
    ]


def board_sources(connection: Connection, votes: pd.DataFrame) -> list[BoardSource]:
    """Returns every source of votes: the bank's, live ones, then imported ones. `votes` are those cast here."""
    live = [BoardSource(source.label, "live", source.code) for source in live_sources(votes)]
    imported = [
        BoardSource(source.label, "imported", source.id) for source in imported_sources(connection)
    ]
    return [*bank_sources(connection), *live, *imported]


def closed_labels(connection: Connection) -> dict[tuple[str, int], str]:
    """Returns the labels, by kind and source, of boards that are hidden while a campaign on their source runs."""
    closed = closed_sources(connection)
    return {
        ("bank", source.id): f"{source.name} (closed while its campaign runs)"
        for source in sources_of(connection)
        if source.name in closed
    }


def default_first(sources: Sequence[BoardSource]) -> list[BoardSource]:
    """Returns the sources from the default one on: the newest of the bank first, then live ones, then imported ones."""

    def order(source: BoardSource) -> tuple[int, int]:
        return _DEFAULT_FIRST.index(source.kind), -source.code

    return sorted(sources, key=order)


def parse_day(text: object) -> date | None:
    """Parses a day; None for a blank, and for what isn't a text. Raises BoardSelectionError for any other text."""
    if not isinstance(text, str) or not text.strip():
        return None
    day = None
    with suppress(ValueError):
        day = date.fromisoformat(text.strip())
    # Python reads other forms too, such as 20260131. A board ends before the next day, and 9999-12-31 has none.
    if day is None or str(day) != text.strip() or not 1970 <= day.year < 9999:
        raise BoardSelectionError(f"Days are written as 2026-01-31, not {text[:20]!r}.")
    return day
