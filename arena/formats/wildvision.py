"""WildVision-Arena battles: FastChat's cleaned columns and one image, times in whole seconds.

A row without an image has null for it, since the data set's schema has the column.
"""

from typing import Any

from arena.formats import cells
from arena.formats.base import Format, Row, Vote
from arena.formats.clean_battles import CLEAN_BATTLES, answers_of, is_duplicate, row_of, vote_of
from arena.io.strict_json import RowsError


def _vote(row: Row) -> Vote:
    if "image" not in row:
        problem = (
            "Expected this column, null where there is no image. Add it, or name another format."
        )
        raise RowsError(problem, column="image")
    image = row["image"]
    return vote_of(row, [image] if image else None)._replace(category=cells.text(row, "domain"))


def _row(vote: Vote) -> dict[str, Any]:
    time = None if vote.time is None else int(vote.time)
    return {**row_of(vote), "tstamp": time, "image": None, "domain": vote.category}


def _losses(vote: Vote) -> list[str]:
    return ["fractions of a second"] if vote.time is not None and not vote.time.is_integer() else []


WILDVISION = Format(
    name="wildvision",
    fits=lambda columns: CLEAN_BATTLES.fits(columns) and "image" in columns,
    vote=_vote,
    row=_row,
    holds=CLEAN_BATTLES.holds | {"category"},
    suffixes=(".jsonl", ".json", ".parquet"),
    losses=_losses,
    answers=answers_of,
    is_duplicate=is_duplicate,
)
