"""Command `plan`: what a campaign of paid workers costs for a wanted precision; needs no vote and no database."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from typer import Option, Typer

from arena.formats.registry import read
from arena.imports.ranked_votes import rankable_battles
from arena.interval_text import plus_minus
from arena.ratings import planner
from arena.ratings.report import RatingSettings, rating_report
from arena.ratings.votes import ELO, VotesError
from arena.sheets import Sheet, as_text, plain_sheet

app = Typer(rich_markup_mode=None)
Correlation = Annotated[
    float | None,
    Option(min=0, max=1, help="correlation of votes; default: from --votes, or assumed"),
]
COLUMNS = ("per tuple", "votes", "tuples", "workers", "hours", "money", "half width", "")
"""The last column has no heading: it has a remark on a few rows only."""
NOTE = "Half width: half the width of the models' 95% intervals, on average, in rating points."


@app.command()
def plan(
    models: Annotated[int, Option(min=2, max=300, help="number of models to compare")],
    items: Annotated[
        int, Option(min=1, max=1_000_000, help="number of items that every model answered")
    ],
    half_width: Annotated[
        float | None, Option(min=0.1, help="mean half width of the 95% intervals, in points")
    ] = None,
    gap: Annotated[
        float | None,
        Option(min=0.1, help="smallest gap between neighbours that should be clear, in points"),
    ] = None,
    each: Annotated[list[int], Option(min=1, max=100, help="votes per tuple; repeatable")] = [1, 5],  # noqa: B006
    votes: Annotated[
        Path | None,
        Option(help="a file of votes, to use its correlations and spread of ratings"),
    ] = None,
    within_tuple: Correlation = None,
    within_item: Correlation = None,
    within_worker: Correlation = None,
    seat: Annotated[int, Option(min=1, max=10_000, help="votes per worker")] = 20,
    seconds: Annotated[
        float, Option(min=1, max=86_400, help="seconds per vote")
    ] = planner.VOTE_SECONDS,
    pay: Annotated[float, Option(min=0, max=1e6, help="pay per hour")] = 12,
    fee: Annotated[
        float, Option(min=0, max=10, help="the platform's fee as a share of the pay")
    ] = 0.428,
) -> Iterator[str]:
    spread = planner.SPREAD
    correlations = planner.Correlations()
    if votes:
        report = rating_report(rankable_battles(read(votes)), RatingSettings("bt", bootstrap=0))
        if not len(report.votes):
            raise VotesError(
                f"{votes.name} has no votes to plan with. Choose another file, or leave out --votes."
            )
        if report.votes.items is None:
            raise VotesError(
                f"{votes.name} doesn't say which items its votes are about. Choose another file, or leave out --votes."
            )
        correlations = planner.measured_correlations(report.votes)
        spread = float(np.std(report.fit.strengths)) * ELO.points
    given = {
        "within_tuple": within_tuple,
        "within_item": within_item,
        "within_worker": within_worker,
    }
    correlations = replace(
        correlations, **{name: value for name, value in given.items() if value is not None}
    )
    strengths = planner.expected_strengths(models, spread)
    wishes = planner.Plan(
        strengths=strengths,
        items=items,
        half_width=half_width,
        gap=gap,
        correlations=correlations,
        seat=seat,
        seconds=seconds,
        pay=pay,
        fee=fee,
    )
    costs = [planner.cost(wishes, votes_per_tuple) for votes_per_tuple in each]
    yield from as_text(_sheet(costs))
    yield from planner.comparison(costs)
    yield f"Correlation of votes: {correlations.within_tuple:.2f} within a tuple. If tuples share a model,"
    yield f"{correlations.within_item:.2f} within an item and {correlations.within_worker:.2f} within a worker."
    yield f"Ratings spread by {spread:.0f} points."


def _sheet(costs: Sequence[planner.Cost]) -> Sheet:
    rows = [
        (
            cost.per_tuple,
            cost.votes,
            cost.tuples,
            cost.workers,
            round(cost.hours),
            round(cost.money),
            plus_minus(cost.half_width),
            "" if cost.is_enough else "not enough items",
        )
        for cost in costs
    ]
    return plain_sheet("plan", "What it costs", COLUMNS, rows, note=NOTE)
