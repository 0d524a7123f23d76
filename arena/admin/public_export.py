"""Public export: this arena's votes as Parquet and JSONL, with a data card, for anybody to download.

It has the votes that count on the boards of the bank and of live battles, with voters under random keys. Votes on a
source with a running campaign follow when the campaign ends. Visitors' own images, the words about them, and anything
that leads to a person are left out.
"""

import asyncio
import json
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

from sqlalchemy import select

from arena.battles.choices import publish_votes
from arena.battles.tables import VOTER
from arena.battles.vote_table import FORGOTTEN
from arena.campaign_battles.spec import closed_sources
from arena.database import Database, counter, now
from arena.formats.base import Vote
from arena.formats.native import STEREOSCOPE
from arena.formats.parquet import write_columns
from arena.fraud.flags import COUNTED_FLAG, VOTER_FLAG, flagged_voters, like_a_crowd
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
_LONGEST_SECONDS = 86_400
"""The age of unfinished files that a killed process has left: no export takes this long."""
_CARD = Path(__file__).parent / "public_card.md"
_COLUMNS = (
    *STEREOSCOPE.row(Vote("", "", "a")),
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


class Written(NamedTuple):
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
        self._written = 0.0

    async def path(self, name: str) -> Path | None:
        """Returns the path of a file of `FILES`; None for other names. Raises DatabaseError, RowsError and OSError."""
        if name not in FILES:
            return None
        await asyncio.get_running_loop().run_in_executor(self._thread, self._freshen)
        return self._folder / name

    def _freshen(self) -> None:
        with self._database.read() as connection:
            forgotten = counter(connection, FORGOTTEN)
        if forgotten != self._forgotten or time.monotonic() - self._written > FRESH_SECONDS:
            write_export(self._database, self._folder)
            self._forgotten = forgotten
            self._written = time.monotonic()


def write_export(database: Database, folder: Path) -> Written:
    """Writes the files into a folder, each whole or not at all. Raises DatabaseError, RowsError and OSError."""
    publish_votes(database)
    with database.read() as connection:
        voters = {row.voter_id: row.key for row in connection.execute(select(VOTER_KEY))}
        new = [voter for voter in connection.scalars(select(VOTER.c.id)) if voter not in voters]
    with database.write() as connection:  # votes wait
        voters |= voter_keys(connection, new)
    with database.read() as connection:
        models = model_names(connection)
        pictures = alike_keys(connection)
        marks = exported_marks(connection)
        flagged: set[int] = set()
        like_crowds: set[tuple[int, int]] = set()
        for flags in (VOTER_FLAG, COUNTED_FLAG):
            flagged.update(connection.scalars(flagged_voters(flags)))
            pairs = connection.execute(like_a_crowd(flags))
            like_crowds.update((row.voter_id, row.model_id) for row in pairs)
        closed = closed_sources(connection)
        bank = (row for row in connection.execute(bank_votes()) if row.source not in closed)
        rows = []
        for row in chain(bank, connection.execute(live_votes())):
            vote = exported_vote(
                row, models, pictures, voters.get(row.voter_id), f"{row.kind}-{row.battle_id}"
            )
            about = {(row.voter_id, row.model_a), (row.voter_id, row.model_b)}
            is_like_crowd = row.choice in ("a", "b") and bool(like_crowds & about)
            is_flagged = row.voter_id in flagged or is_like_crowd
            here = (row.source, is_flagged, row.terms, row.draw, row.draw_probability)
            a, b = marks.sides(row)
            of_answers = (a.words_thought, b.words_thought, a.cut, b.cut)
            rows.append((*STEREOSCOPE.row(vote).values(), *here, *of_answers))
    columns = {name: [row[place] for row in rows] for place, name in enumerate(_COLUMNS)}
    names = {*columns["model_a"], *columns["model_b"]}
    written = Written(len(rows), len(set(columns["voter"])), len(names))
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_UNFINISHED}*"):
        with suppress(FileNotFoundError):  # another export has just ended
            if time.time() - left.stat().st_mtime > _LONGEST_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=_UNFINISHED) as new:
        place = Path(new)
        (place / "README.md").write_text(_card(columns, written), "utf-8")
        with (place / "votes.jsonl").open("w", encoding="utf-8") as lines:
            for row in rows:
                lines.write(
                    f"{json.dumps(dict(zip(_COLUMNS, row, strict=True)), ensure_ascii=False)}\n"
                )
        write_columns(place / "votes.parquet", columns)
        for name in FILES:
            (place / name).replace(folder / name)
    return written


def _card(columns: Mapping[str, Sequence[Any]], written: Written) -> str:
    """Returns the data card: `public_card.md` with this export's numbers."""
    days = [datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in columns["time"]]
    sources = Counter(columns["source"])
    cells = (
        (" ".join(name.split()).replace("|", "\\|"), number)
        for name, number in sorted(sources.items())
    )
    table = "\n".join(f"| {name} | {number:,} |" for name, number in cells)
    return Template(_CARD.read_text("utf-8")).substitute(
        votes=f"{written.votes:,}",
        voters=f"{written.voters:,}",
        models=written.models,
        first=min(days, default="no day yet"),
        last=max(days, default="no day yet"),
        written=now().date().isoformat(),
        sources=table or "| none yet | 0 |",
    )
