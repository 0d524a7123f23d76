"""Rating report: rates the battles of one file and gathers what a reader needs to judge the numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from arena.formats.base import Battles, BothBad, Winner
from arena.ratings.bootstrap import Bootstrap, bootstrap, voter_bootstrap
from arena.ratings.bradley_terry import PRIOR, Status, Strengths, bradley_terry, win_matrix
from arena.ratings.clusters import Cluster, pair_clusters
from arena.ratings.elo_orders import EloOrders, elo_orders
from arena.ratings.intervals import FEW, Bounds, Intervals, intervals, rank_ranges, ranks
from arena.ratings.votes import Codes, Floats, Outcome, Votes, coded, elo, win_loss_counts

Method = Literal["elo", "bt", "all"]
ClusterChoice = Literal["tuple", "voter", "none"]

_OUTCOMES: dict[Winner, Outcome] = {
    "a": Outcome.A,
    "b": Outcome.B,
    "tie": Outcome.TIE,
    "both_bad": Outcome.BOTH_BAD,
}
_SHOWN_NAMES = 10


@dataclass(frozen=True)
class RatingOrder:
    """Settings of a report."""

    method: Method = "all"
    bootstrap: int = 1000
    """Rounds: orders of the votes for Elo, draws of clusters for rank intervals; 0 for neither."""
    cluster: ClusterChoice = "tuple"
    prior: float = PRIOR
    seed: int = 0
    both_bad: BothBad = "half"


@dataclass(frozen=True)
class BoardRow:
    """One model's row of a board; None for a number that does not exist or was not requested."""

    model: str
    elo: float | None
    """One pass in file order."""
    elo_median: float | None
    """Over seeded orders of the votes, with the spread over these orders, which is not a confidence interval."""
    elo_low: float | None
    elo_high: float | None
    bt: float | None
    """Bradley-Terry with sandwich intervals."""
    bt_low: float | None
    bt_high: float | None
    rank: int | None
    """Among the models of the same component: by Bradley-Terry, or by Elo if only Elo was requested."""
    rank_low: int | None
    rank_high: int | None
    battles: int
    wins: int
    losses: int
    ties: int


@dataclass(frozen=True, eq=False)
class RatingReport:
    """A board with its inputs and fits; `votes`, `fit` and the rest are indexed by model code."""

    order: RatingOrder
    models: tuple[str, ...]
    places: tuple[int, ...]
    """Model codes in board order: the largest component first, the best model of each first."""
    rows: tuple[BoardRow, ...]
    votes: Votes
    fit: Strengths
    bounds: Intervals
    orders: EloOrders | None
    draws: Bootstrap | None
    notices: tuple[str, ...]


def rating_report(battles: Battles, order: RatingOrder) -> RatingReport:
    """Rate the models of a file's battles as `order` says.

    Bradley-Terry is always fitted: it decides which models are comparable. Raises VotesError if voter clusters are
    requested and the file names no voters, ConvergenceError if the fit does not converge.
    """
    models = coded(battles.model_a, battles.model_b)
    votes = _counted(battles, models.columns, len(models.names), order)
    cluster = _cluster(votes, order)
    fit = bradley_terry(win_matrix(votes), PRIOR if order.method == "elo" else order.prior)
    bounds = intervals(fit, votes, cluster)
    with_elo = order.bootstrap > 0 and order.method != "bt" and len(votes) > 0
    with_ranks = order.bootstrap > 0 and order.method != "elo" and not np.isnan(fit.ratings).all()
    orders = elo_orders(votes, order.bootstrap, order.seed) if with_elo else None
    draws = _draws(fit, votes, cluster, order) if with_ranks else None
    table = _BoardTable(
        elo=None if order.method == "bt" else elo(votes),
        orders=orders,
        bounds=None if order.method == "elo" else bounds,
        ranks=rank_ranges(fit, bounds, draws.rank_bounds()) if draws else None,
    )
    places = _places(fit, table)
    return RatingReport(
        order=order,
        models=models.names,
        places=places,
        rows=_rows(models.names, places, votes, fit, table),
        votes=votes,
        fit=fit,
        bounds=bounds,
        orders=orders,
        draws=draws,
        notices=(
            *battles.notices,
            *_vote_notices(battles, int(np.equal(*models.columns).sum()), order, cluster),
            *_model_notices(models.names, fit),
            *([] if order.method == "elo" else _few_notice(models.names, fit, bounds)),
        ),
    )


# Counted votes, as codes.
def _counted(battles: Battles, sides: Sequence[Codes], models: int, order: RatingOrder) -> Votes:
    """Votes without those of a model against itself, and with "both bad" as requested."""
    a, b = sides
    outcome = np.fromiter(map(_OUTCOMES.__getitem__, battles.winner), np.int8, len(battles))
    counted = a != b
    if order.both_bad == "out":
        counted &= outcome != Outcome.BOTH_BAD
    items, voters = (
        None if column is None else column[counted] for column in map(_groups, (battles.item, battles.voter))
    )
    return Votes(a[counted], b[counted], outcome[counted], models, items=items, voters=voters)


def _groups(column: Sequence[str | None]) -> Codes | None:
    """Codes of a column, each unknown value as its own group; None if all values are unknown."""
    if set(column) <= {None}:
        return None
    code: dict[str, int] = {}
    codes = np.array([-1 if value is None else code.setdefault(value, len(code)) for value in column], np.int64)
    unknown = codes < 0
    codes[unknown] = len(code) + np.arange(unknown.sum())
    return codes


def _cluster(votes: Votes, order: RatingOrder) -> Cluster:
    if order.cluster == "none" or (order.cluster == "tuple" and votes.items is None):
        return "vote"
    return order.cluster


def _draws(fit: Strengths, votes: Votes, cluster: Cluster, order: RatingOrder) -> Bootstrap:
    if cluster == "voter":
        return voter_bootstrap(fit, votes, order.bootstrap, order.seed)
    return bootstrap(fit, pair_clusters(votes, "tuple" if cluster == "tuple" else "vote"), order.bootstrap, order.seed)


# The board.
class _BoardTable(NamedTuple):
    """Requested numbers, by model code."""

    elo: Floats | None
    orders: EloOrders | None
    bounds: Intervals | None
    ranks: Bounds | None

    def main(self, fit: Strengths) -> Floats:
        """Ratings that rank the models."""
        if self.bounds is None and self.elo is not None:
            return np.where(fit.components < 0, np.nan, self.orders.median if self.orders else self.elo)
        return fit.ratings


def _places(fit: Strengths, table: _BoardTable) -> tuple[int, ...]:
    """Model codes in board order: by component, unplayed models last, then by rating, models without one last."""
    rating, component = table.main(fit), fit.components
    key = (np.isnan(rating), component, component < 0)
    return tuple(np.lexsort((-np.nan_to_num(rating), *key)).tolist())


def _rows(
    names: Sequence[str], places: Iterable[int], votes: Votes, fit: Strengths, table: _BoardTable
) -> tuple[BoardRow, ...]:
    blank = np.full(votes.models, np.nan)
    played, rating = win_loss_counts(votes), table.main(fit)
    orders, bounds = table.orders, table.bounds
    once = blank if table.elo is None else table.elo
    spread = [blank] * 3 if orders is None else [orders.median, orders.low, orders.high]
    strength = [blank] * 3 if bounds is None else [fit.ratings, bounds.low, bounds.high]
    rank = ranks(fit, bounds or Bounds(rating, rating))
    elos = [np.where(played.battles > 0, column, np.nan) for column in (once, *spread)]
    numbers = map(_numbers, (*elos, *strength))
    wholes = (_numbers(column, int) for column in (np.where(rank > 0, rank, np.nan), *(table.ranks or (blank, blank))))
    counts = (column.tolist() for column in (played.battles, played.wins, played.losses, played.ties))
    rows = list(map(BoardRow, names, *numbers, *wholes, *counts))
    return tuple(rows[place] for place in places)


def _numbers(column: Floats, kind: type = float) -> list[Any]:
    return [None if np.isnan(value) else kind(value) for value in column]


# Notices for the reader.
def _vote_notices(battles: Battles, alone: int, order: RatingOrder, cluster: Cluster) -> list[str]:
    column = {"tuple": battles.item, "voter": battles.voter}.get(cluster, ())
    counted = "counted half to each side" if order.both_bad == "half" else "left out"
    told = {
        "votes on a model against itself, left out": alone,
        f'votes for "both bad", {counted}': battles.winner.count("both_bad"),
        "votes cast with the names in view": battles.blind.count(False),
        "votes without an item, each taken for independent": column.count(None) if cluster == "tuple" else 0,
        "votes without a voter, each taken for independent": column.count(None) if cluster == "voter" else 0,
        "votes without items, so that intervals are per vote, too narrow where items repeat": (
            len(battles) if order.cluster == "tuple" and cluster == "vote" else 0
        ),
    }
    return [f"{text}: {count:,}" for text, count in told.items() if count]


def _model_notices(names: Sequence[str], fit: Strengths) -> list[str]:
    """Notices that name models not comparable with the rest, and models that the votes alone do not rate."""
    numbered = np.where(np.isnan(fit.ratings), -1, fit.components)
    groups = [np.flatnonzero(numbered == group).tolist() for group in np.unique(numbered[numbered >= 0])]
    notices = []
    if len(groups) > 1:
        listed = "; ".join(_listed(names, group) for group in groups)
        notices.append(f"{len(groups)} groups of models cannot be compared, and each has ranks of its own: {listed}")
    for status in (Status.UNBEATEN, Status.WINLESS, Status.SEPARATED):
        those = [place for place, one in enumerate(fit.statuses) if one is status]
        without = [place for place in those if np.isnan(fit.ratings[place])]
        if without:
            notices.append(f"{status}, without a number for want of a prior: {_listed(names, without)}")
        elif those and fit.prior:
            notices.append(f"{status}, rated by the prior alone: {_listed(names, those)}")
    return notices


def _few_notice(names: Sequence[str], fit: Strengths, bounds: Intervals) -> list[str]:
    """Notice that names models with hardly any independent votes, which is why their intervals are wide."""
    rated = np.array([status is Status.RATED for status in fit.statuses], dtype=bool)
    those = np.flatnonzero(bounds.few & rated).tolist()
    what = {"vote": "decided votes", "voter": "voters"}.get(bounds.cluster, "(item, pair) tuples with a winner")
    told = f"fewer than {FEW} {what} tell how they stand, so that intervals are wide: {_listed(names, those)}"
    return [told] if those else []


def _listed(names: Sequence[str], places: Sequence[int]) -> str:
    more = f" and {len(places) - _SHOWN_NAMES} more" if len(places) > _SHOWN_NAMES else ""
    return ", ".join(names[place] for place in places[:_SHOWN_NAMES]) + more
