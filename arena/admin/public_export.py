"""Public export: this arena's votes as Parquet and JSONL, with a data card, for anybody to download.

It has the votes that count on the boards of the bank and of live battles, with voters under random keys. Votes on a
source with a running campaign follow when the campaign ends. Visitors' own images, the words about them, and anything
that leads to a person are left out.
"""

import asyncio
import json
import math
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, select

from arena.battles.choices import publish_votes
from arena.battles.tables import VOTER
from arena.battles.vote_table import FORGOTTEN
from arena.campaign_battles.spec import closed_sources
from arena.database import Database, counter, now
from arena.formats.base import Vote
from arena.formats.native import STEREOSCOPE
from arena.formats.parquet import write_columns
from arena.fraud.flags import (
    COUNTED_REVIEW,
    EVERYONE_REVIEW,
    CrowdModel,
    crowd_voters,
    flagged_voters,
)
from arena.items.alike import alike_keys
from arena.items.store import model_names
from arena.live.exported_votes import bank_votes, exported_marks, exported_vote, live_votes
from arena.server.change_log import VOTER_KEY, voter_keys

FILES = {
    "README.md": "text/markdown",
    "votes.jsonl": "application/jsonl",
    "votes.parquet": "application/octet-stream",
}
"""The files and their media types."""
FRESH_SECONDS = 600
"""The age at which a running server writes the files again."""
_UNFINISHED = ".being-written-"
"""The beginning of the names of folders in which files are written, before they replace the old ones."""
_ABANDONED_SECONDS = 86_400
"""The age of unfinished files that a killed process has left. No export takes this long."""
_CARD_TEMPLATE = Path(__file__).parent / "public_card.md"
_COLUMNS = (
    *STEREOSCOPE.row(Vote("", "", "a")),  # the columns of our vote files: the keys of any row
    "source",
    "flagged",
    "terms",
    "draw",
    "draw_probability",
    "words_thought_a",
    "words_thought_b",
    "cut_a",
    "cut_b",
)


class PublicCounts(NamedTuple):
    """The numbers of an export."""

    votes: int
    voters: int
    models: int


class PublicFiles:
    """The public files of a running server: some minutes old, but never older than the last erasure."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        # A thread of its own, so that waiting requests hold no other thread.
        self._thread = ThreadPoolExecutor(1, "export")
        self._forgotten = -1
        """The number of erasures before the files were written."""
        self._written_at = -math.inf

    async def path(self, name: str) -> Path | None:
        """Returns the path of a file of `FILES`; None for other names. Raises DatabaseError, RowsError and OSError."""
        if name not in FILES:
            return None
        await asyncio.get_running_loop().run_in_executor(self._thread, self._refresh)
        return self._folder / name

    def _refresh(self) -> None:
        with self._database.read() as connection:
            forgotten = counter(connection, FORGOTTEN)
        is_old = time.monotonic() - self._written_at > FRESH_SECONDS
        if is_old or forgotten != self._forgotten:
            write_export(self._database, self._folder)
            self._forgotten = forgotten
            self._written_at = time.monotonic()


def write_export(database: Database, folder: Path) -> PublicCounts:
    """Writes the files into a folder, each whole or not at all. Raises DatabaseError, RowsError and OSError."""
    publish_votes(database)
    voters = _voter_keys(database)
    with database.read() as connection:
        rows = _export_rows(connection, voters)
    columns = {name: [row[place] for row in rows] for place, name in enumerate(_COLUMNS)}
    counts = PublicCounts(
        votes=len(rows),
        voters=len(set(columns["voter"])),
        models=len({*columns["model_a"], *columns["model_b"]}),
    )
    folder.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=_UNFINISHED) as name:
        new_folder = Path(name)
        (new_folder / "README.md").write_text(_card(columns, counts), "utf-8")
        with (new_folder / "votes.jsonl").open("w", encoding="utf-8") as lines:
            for row in rows:
                values = dict(zip(_COLUMNS, row, strict=True))
                lines.write(f"{json.dumps(values, ensure_ascii=False)}\n")
        write_columns(new_folder / "votes.parquet", columns)
        for file_name in FILES:
            (new_folder / file_name).replace(folder / file_name)
    return counts


def _voter_keys(database: Database) -> dict[int, str]:
    """Returns the random keys of all voters. New voters get one."""
    with database.read() as connection:
        keys = {row.voter_id: row.key for row in connection.execute(select(VOTER_KEY))}
        new_voters = [
            voter for voter in connection.scalars(select(VOTER.c.id)) if voter not in keys
        ]
    # Votes wait for this transaction, which is short.
    with database.write() as connection:
        return keys | voter_keys(connection, new_voters)


def _export_rows(connection: Connection, voters: Mapping[int, str]) -> list[tuple[object, ...]]:
    """Returns the votes as values by `_COLUMNS`. `voters`: the random keys."""
    models = model_names(connection)
    pictures = alike_keys(connection)
    marks = exported_marks(connection)
    flags = _load_flags(connection)
    closed = closed_sources(connection)
    bank = (row for row in connection.execute(bank_votes()) if row.source not in closed)
    rows = []
    for row in chain(bank, connection.execute(live_votes())):
        vote = exported_vote(
            row, models, pictures, voters.get(row.voter_id), f"{row.kind}-{row.battle_id}"
        )
        a, b = marks.sides(row)
        rows.append(
            (
                *STEREOSCOPE.row(vote).values(),
                row.source,
                flags.has(row),
                row.terms,
                row.draw,
                row.draw_probability,
                a.words_thought,
                b.words_thought,
                a.cut,
                b.cut,
            )
        )
    return rows


class _Flags(NamedTuple):
    """The flags of the fraud tests on any board."""

    voters: set[int]
    """Voters whose votes are all flagged."""
    crowds: set[tuple[int, CrowdModel]]
    """A voter and a model on a board: the voter's votes for or against this model resemble a crowd's."""

    def has(self, row: Row) -> bool:
        """Returns whether a row of `bank_votes` or `live_votes` is flagged."""
        if row.voter_id in self.voters:
            return True
        if row.choice not in ("a", "b"):
            return False
        return any(
            (row.voter_id, CrowdModel(row.source_id, row.multi, model)) in self.crowds
            for model in (row.model_a, row.model_b)
        )


def _load_flags(connection: Connection) -> _Flags:
    flags = _Flags(voters=set(), crowds=set())
    for review_name in (EVERYONE_REVIEW, COUNTED_REVIEW):
        flags.voters.update(connection.scalars(flagged_voters(review_name)))
        for crowd, voters in crowd_voters(connection, review_name).items():
            flags.crowds.update((voter, crowd) for voter in voters.tolist())
    return flags


def _remove_abandoned(folder: Path) -> None:
    """Removes the unfinished files of processes that were killed."""
    for unfinished in folder.glob(f"{_UNFINISHED}*"):
        # Another export may end just now.
        with suppress(FileNotFoundError):
            if time.time() - unfinished.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(unfinished, ignore_errors=True)


def _card(columns: Mapping[str, Sequence[Any]], counts: PublicCounts) -> str:
    """Returns the data card: `public_card.md` with this export's numbers."""
    days = [datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in columns["time"]]
    sources = Counter(columns["source"])
    lines = []
    for name, number in sorted(sources.items()):
        cell = " ".join(name.split()).replace("|", "\\|")
        lines.append(f"| {cell} | {number:,} |")
    table = "\n".join(lines)
    return Template(_CARD_TEMPLATE.read_text("utf-8")).substitute(
        votes=f"{counts.votes:,}",
        voters=f"{counts.voters:,}",
        models=counts.models,
        first=min(days, default="no day yet"),
        last=max(days, default="no day yet"),
        written=now().date().isoformat(),
        sources=table or "| none yet | 0 |",
    )
