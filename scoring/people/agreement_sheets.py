"""Agreement sheets: agreement among people, and how often each measure reproduces what most of them chose."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from arena.ratings.agreement import LEAST_CONTESTS, Level, People
from arena.ratings.shares import Share
from arena.sheets import Column, Sheet, estimate, estimate_cells
from scoring.people.agreement import PeopleAgreement

TITLE = "How often each measure chooses like most people"


def level_sheet(people: People) -> Sheet:
    """The share of pairs at each level of unanimity, among those with the same number of votes.

    The last row is the share of single votes that agree with the majority.
    """
    rows = [
        {"votes": f"{level} chose the same", **_cells("share", share)}
        for level, share in people.levels.items()
    ]
    if people.with_majority.n:
        single = _cells("share", people.with_majority)
        rows.append({"votes": "A single vote agrees with its pair's majority", **single})
    columns = (
        Column("votes", "Votes on a pair", has_words=True),
        Column("share_hits", "Alike", "count"),
        Column("share_n", "n", "count"),
        estimate("share", "Share", "percent"),
    )
    return Sheet("levels", "How far people agree", pd.DataFrame(rows), columns)


def coefficient_sheet(people: People) -> Sheet:
    """Krippendorff's alpha and Gwet's AC1."""
    coefficients = {"Krippendorff's alpha": people.alpha, "Gwet's AC1": people.ac1}
    rows = [
        {
            "coefficient": name,
            "pairs": people.contests,
            "votes": people.votes,
            **estimate_cells("value", coefficient.value, coefficient.low, coefficient.high),
        }
        for name, coefficient in coefficients.items()
    ]
    columns = (
        Column("coefficient", "Coefficient"),
        Column("pairs", "Pairs", "count"),
        Column("votes", "Votes", "count"),
        estimate("value", "Value", places=3),
    )
    note = ""
    if people.alpha.value is None:
        note = "Undefined: no pair has votes from several people."
    elif people.contests < LEAST_CONTESTS:
        note = f"No interval below {LEAST_CONTESTS} pairs."
    title = "Agreement beyond chance"
    return Sheet("coefficients", title, pd.DataFrame(rows), columns, note)


def measure_sheet(agreement: PeopleAgreement, levels: Sequence[Level] | None = None) -> Sheet:
    """VisIT-Bench's Figure 9, best measure first, by `levels` of unanimity; None: all levels with a majority."""
    if levels is None:
        levels = [level for level in agreement.people.levels if 2 * level.most > level.votes]
    keys = {level: f"{level.most}_of_{level.votes}" for level in levels}
    rows = []
    for reproduction in agreement.reproductions:
        row: dict[str, Any] = {
            "measure": reproduction.measure,
            **_cells("all", reproduction.overall),
        }
        for level, key in keys.items():
            row |= _cells(key, reproduction.levels[level])
        rows.append(row | {"ties": reproduction.ties, "missing": reproduction.missing})
    columns = [Column("measure", "Measure", has_words=True)]
    heads = {"all": "All"}
    heads |= {key: str(level) for level, key in keys.items()}
    for key, head in heads.items():
        columns += [estimate(key, head, "percent"), Column(f"{key}_n", "n", "count")]
    columns += [Column("ties", "Ties", "count"), Column("missing", "Missing", "count")]
    return Sheet("measures", TITLE, pd.DataFrame(rows), tuple(columns))


def usual_levels(people: People) -> list[Level]:
    """The levels with a majority, for the most common number of votes per pair."""
    # All levels with the same number of votes are shares of the same pairs.
    pairs_by_votes = {level.votes: share.n for level, share in people.levels.items()}
    usual_votes = max(pairs_by_votes, key=lambda votes: (pairs_by_votes[votes], votes), default=0)
    return [
        level
        for level in people.levels
        if level.votes == usual_votes and 2 * level.most > usual_votes
    ]


def _cells(key: str, share: Share) -> dict[str, float | None]:
    """The cells of a share, its hits and its n, which counts pairs or votes."""
    low = share.low if share.n else None
    high = share.high if share.n else None
    cells = estimate_cells(key, share.value, low, high)
    return cells | {f"{key}_hits": share.hits, f"{key}_n": share.n}
