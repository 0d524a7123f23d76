"""Rating report: rates the battles of a file and collects the notices that a reader needs to judge the numbers.

Its files are the board as CSV, Markdown and LaTeX, plots.html, and report.json with all parameters.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from arena.drawings import RatingRow
from arena.formats.base import Battles, BothBad, Winner
from arena.io.strict_json import storable
from arena.plots import Plot, battle_count_plot, interval_plot, plots_page, win_rate_plot
from arena.ratings.bradley_terry import (
    PRIOR,
    Status,
    Strengths,
    bradley_terry,
    win_chances,
    win_matrix,
)
from arena.ratings.clusters import Cluster, has_several
from arena.ratings.elo_orders import EloOrders, elo_orders
from arena.ratings.intervals import FEW_CLUSTERS, LEVEL, Bounds, Intervals, intervals, ranks
from arena.ratings.lack_of_fit import LackOfFit, lack_of_fit
from arena.ratings.rank_sets import rank_sets, sets_around
from arena.ratings.votes import (
    ELO,
    Codes,
    Floats,
    Outcome,
    Votes,
    elo,
    encode_columns,
    win_loss_counts,
)
from arena.sheets import Column, Sheet, as_csv, as_latex, as_markdown

Method = Literal["elo", "bt", "all"]
ClusterChoice = Literal["picture", "item", "family", "voter", "tuple", "none"]

_OUTCOMES: dict[Winner, Outcome] = {
    "a": Outcome.A,
    "b": Outcome.B,
    "tie": Outcome.TIE,
    "both_bad": Outcome.BOTH_BAD,
}
_SHOWN_NAMES = 10
_CLUSTERS: dict[Cluster, str] = {
    "picture": "pictures",
    "family": "families",
    "item": "items",
    "voter": "voters",
    "tuple": "(item, pair) tuples with a winner",
    "vote": "decided votes",
}


@dataclass(frozen=True)
class RatingSettings:
    """Settings of a report."""

    method: Method = "all"
    bootstrap: int = 1000
    """The orders of the votes for Elo; 0 for a single pass."""
    cluster: ClusterChoice = "picture"
    """If pictures are unknown, each item has one of its own."""
    prior: float = PRIOR
    seed: int = 0
    both_bad: BothBad = "half"
    named: bool = False
    """Whether the battles include votes cast with visible names."""
    aliases: tuple[str, ...] = ()
    """The models that were merged, as OLD=NEW."""


@dataclass(frozen=True)
class BoardRow:
    """A model's row of a board; None for a number that does not exist or was not requested."""

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
    bt_for: str | None
    """The voters that the Bradley-Terry interval is for, in words."""


@dataclass(frozen=True, eq=False)
class RatingReport:
    """Fits to the votes of a file, indexed by model code, and their board."""

    settings: RatingSettings
    models: tuple[str, ...]
    votes: Votes
    fit: Strengths
    bounds: Intervals
    for_whom: str
    """The voters that the intervals are for, in words: "for voters like these"."""
    orders: EloOrders | None
    lack_of_fit: LackOfFit | None
    """None for Elo only, and if no pair can differ from Bradley-Terry."""
    notices: tuple[str, ...]

    @cached_property
    def rating(self) -> Floats:
        """The ratings that rank the models: Bradley-Terry, or Elo if only Elo was requested."""
        if self.settings.method != "elo":
            return self.fit.ratings
        ratings = self.orders.median if self.orders else elo(self.votes)
        return np.where(self.fit.components < 0, np.nan, ratings)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Model codes in board order: by component, unplayed models last, then by rating, models without one last."""
        component = self.fit.components
        # The last key sorts first.
        key = (-np.nan_to_num(self.rating), np.isnan(self.rating), component, component < 0)
        return tuple(np.lexsort(key).tolist())

    @cached_property
    def rows(self) -> tuple[BoardRow, ...]:
        """The rows of the board, best models first."""
        played = win_loss_counts(self.votes)
        orders = self.orders
        by_elo = self.settings.method == "elo"
        no_numbers = np.full(len(self.models), np.nan)

        def elo_numbers(column: Floats) -> list[Any]:
            return _numbers(np.where(played.battles > 0, column, np.nan))

        one_pass = elo_numbers(no_numbers if self.settings.method == "bt" else elo(self.votes))
        elo_median = elo_numbers(orders.median if orders else no_numbers)
        elo_low = elo_numbers(orders.low if orders else no_numbers)
        elo_high = elo_numbers(orders.high if orders else no_numbers)
        bt = _numbers(no_numbers if by_elo else self.fit.ratings)
        bt_low = _numbers(no_numbers if by_elo else self.bounds.low)
        bt_high = _numbers(no_numbers if by_elo else self.bounds.high)
        if by_elo:
            model_ranks = ranks(self.fit, Bounds(self.rating, self.rating))
            rank_bounds = Bounds(no_numbers, no_numbers)
        else:
            model_ranks = ranks(self.fit, self.bounds)
            rank_bounds = sets_around(model_ranks, rank_sets(self.fit, self.bounds))
        rank = _numbers(np.where(model_ranks > 0, model_ranks, np.nan), int)
        rank_low = _numbers(rank_bounds.low, int)
        rank_high = _numbers(rank_bounds.high, int)
        return tuple(
            BoardRow(
                model=self.models[place],
                elo=one_pass[place],
                elo_median=elo_median[place],
                elo_low=elo_low[place],
                elo_high=elo_high[place],
                bt=bt[place],
                bt_low=bt_low[place],
                bt_high=bt_high[place],
                rank=rank[place],
                rank_low=rank_low[place],
                rank_high=rank_high[place],
                battles=int(played.battles[place]),
                wins=int(played.wins[place]),
                losses=int(played.losses[place]),
                ties=int(played.ties[place]),
                bt_for=None if bt_high[place] is None else self.for_whom,
            )
            for place in self.places
        )


def rating_report(battles: Battles, settings: RatingSettings) -> RatingReport:
    """Rates the models of a file's battles, with these settings.

    Bradley-Terry is always fitted: it decides which models are comparable. Raises VotesError if clusters by voter or
    family are requested and the file names none, ConvergenceError if the fit does not converge.
    """
    names, (a, b) = encode_columns(battles.model_a, battles.model_b)
    repeated = repeated_votes(battles)
    votes = _counted_votes(battles, a, b, len(names), settings.both_bad, repeated)
    cluster = _usable_cluster(settings, votes)
    fit = bradley_terry(win_matrix(votes), PRIOR if settings.method == "elo" else settings.prior)
    clustered_votes = votes
    fit_cluster: Cluster = cluster
    if cluster == "vote" and settings.cluster in ("picture", "item"):
        # Each vote gets an item of its own, so that voters still count. Reports name the cluster "vote".
        clustered_votes = replace(votes, items=np.arange(len(votes)))
        fit_cluster = "item"
    bounds = replace(intervals(fit, clustered_votes, fit_cluster), cluster=cluster)
    orders = None
    if settings.bootstrap > 0 and settings.method != "bt" and len(votes) > 0:
        orders = elo_orders(votes, settings.bootstrap, settings.seed)
    misfit = None
    if settings.method != "elo":
        misfit = lack_of_fit(fit, clustered_votes, fit_cluster, settings.seed)
    self_votes = int((a == b).sum())
    is_judged = _is_judged(battles)
    notices = _vote_notices(battles, self_votes, settings, cluster, repeated)
    notices += _groups_notice(names, fit)
    if settings.method != "elo":
        notices += _prior_notices(names, fit)
        notices += _few_notice(names, fit, bounds)
        if misfit:
            notices.append(misfit.in_words(names[misfit.winner], names[misfit.loser]))
        notices = [*_for_whom_notice(votes, bounds, is_judged), *battles.notices, *notices]
    else:
        notices = [*battles.notices, *notices]
    return RatingReport(
        settings=settings,
        models=names,
        votes=votes,
        fit=fit,
        bounds=bounds,
        for_whom=_for_whom(bounds, is_judged),
        orders=orders,
        lack_of_fit=misfit,
        notices=tuple(notices),
    )


def _usable_cluster(settings: RatingSettings, votes: Votes) -> Cluster:
    """Returns the requested clusters, but items if pictures are unknown, and single votes if items are, too."""
    if settings.cluster == "picture" and votes.pictures is not None:
        return "picture"
    needs_items = settings.cluster in ("picture", "item", "tuple")
    if settings.cluster == "none" or (needs_items and votes.items is None):
        return "vote"
    return "item" if settings.cluster == "picture" else settings.cluster


def _is_judged(battles: Battles) -> bool:
    """Returns whether judge models cast the votes, which are no sample of voters."""
    return set(battles.judge) == {True}


def _for_whom(bounds: Intervals, is_judged: bool) -> str:
    """Returns the voters that the intervals are for, in words."""
    if bounds.for_new_voters:
        return "for voters like these"
    return "for these judges only" if is_judged else "for these voters only"


def repeated_votes(battles: Battles) -> dict[int, int]:
    """Returns the index of each vote that its voter cast again on the same conversation and models, with the index of
    the last such vote. Votes without a voter are never repeated.
    """
    if set(battles.conversation) <= {None}:
        return {}
    keys = list(
        zip(battles.conversation, battles.voter, battles.model_a, battles.model_b, strict=True)
    )
    last = {key: number for number, key in enumerate(keys)}
    repeated = {}
    for number, key in enumerate(keys):
        conversation, voter, _, _ = key
        is_known = conversation is not None and voter is not None
        if is_known and last[key] != number:
            repeated[number] = last[key]
    return repeated


def _counted_votes(
    battles: Battles,
    a: Codes,
    b: Codes,
    models: int,
    both_bad: BothBad,
    repeated: Mapping[int, int],
) -> Votes:
    """Returns the votes to count: none repeated, none of a model against itself, and "both bad" as requested."""
    outcome = np.fromiter(map(_OUTCOMES.__getitem__, battles.winner), np.int8, len(battles))
    is_counted = a != b
    is_counted[list(repeated)] = False
    if both_bad == "out":
        is_counted &= outcome != Outcome.BOTH_BAD
    columns = {
        "items": _group_codes(battles.item),
        "voters": None if _is_judged(battles) else _group_codes(battles.voter, join_unknown=True),
        "pictures": _group_codes(_picture_names(battles)),
        "families": _group_codes(battles.category, join_unknown=True),
    }
    known = {name: codes[is_counted] for name, codes in columns.items() if codes is not None}
    return Votes(a[is_counted], b[is_counted], outcome[is_counted], models, **known)


def _picture_names(battles: Battles) -> list[str | None]:
    """Returns the picture of each battle, or else its item; no names if no picture is known."""
    if not any(battles.picture):
        return []
    names: list[str | None] = []
    for picture, item in zip(battles.picture, battles.item, strict=True):
        if picture:
            names.append(f"picture {picture}")
        elif item is not None:
            names.append(f"item {item}")
        else:
            names.append(None)
    return names


def _group_codes(column: Sequence[str | None], join_unknown: bool = False) -> Codes | None:
    """Returns the codes of a column; None if all values are unknown.

    Each unknown value is a group of its own, or all of them are one group with `join_unknown`.
    """
    if set(column) <= {None}:
        return None
    names = dict.fromkeys(value for value in column if value is not None)
    code_of: dict[str | None, int] = {name: code for code, name in enumerate(names)}
    codes = np.array([code_of.get(value, -1) for value in column], np.int64)
    unknown = codes < 0
    codes[unknown] = len(code_of)
    if not join_unknown:
        codes[unknown] += np.arange(unknown.sum())
    return codes


def _numbers(column: Floats, kind: type = float) -> list[Any]:
    """Returns a column's values as plain numbers of this kind, None for NaN."""
    return [None if np.isnan(value) else kind(value) for value in column]


# Notices for the reader.
def _vote_notices(
    battles: Battles,
    self_votes: int,
    settings: RatingSettings,
    cluster: Cluster,
    repeated: Mapping[int, int],
) -> list[str]:
    unknown_voters = 0 if _is_judged(battles) else battles.voter.count(None)
    if unknown_voters == len(battles):  # Another notice says so.
        unknown_voters = 0
    items = _picture_names(battles) if cluster == "picture" else battles.item
    unknown_items = items.count(None) if cluster in ("picture", "item", "tuple") else 0
    lone_votes = 0
    if cluster == "vote" and settings.cluster != "none":
        lone_votes = len(battles)
    counted = "counted as half for each side" if settings.both_bad == "half" else "left out"
    counts = {
        "votes that compare a model with itself, left out": self_votes,
        "repeated votes by one voter on one conversation (only the last counts)": len(repeated),
        "of these, votes that differ from the last one": sum(
            battles.winner[number] != battles.winner[last] for number, last in repeated.items()
        ),
        f'votes for "both bad", {counted}': battles.winner.count("both_bad"),
        "votes cast with the model names visible": battles.blind.count(False),
    }
    if settings.method != "elo":  # Elo alone has no intervals.
        counts |= {
            "votes without a voter, treated as one voter's": unknown_voters,
            "votes without an item, each treated as independent": unknown_items,
            "votes without items, each treated as its own item (intervals are too narrow if items repeat)": lone_votes,
        }
    return [f"{text}: {count:,}" for text, count in counts.items() if count]


def _for_whom_notice(votes: Votes, bounds: Intervals, is_judged: bool) -> list[str]:
    """Returns a notice, with the reason, if intervals are for these voters only."""
    if bounds.for_new_voters or is_judged or not len(votes):
        return []
    if has_several(votes.voters):
        why = f"Clusters by {bounds.cluster} ignore voters"
    elif votes.voters is None:
        why = "The votes don't say who cast them"
    else:
        why = "All votes are one voter's"
    notice = "Intervals are for these voters only, and no lead can be called clear"
    return [f"{why}. {notice}. Other people may choose very differently."]


def _groups_notice(names: Sequence[str], fit: Strengths) -> list[str]:
    """Returns a notice about models that are not comparable."""
    component = np.where(np.isnan(fit.ratings), -1, fit.components)
    groups = [
        np.flatnonzero(component == group).tolist()
        for group in np.unique(component[component >= 0])
    ]
    if len(groups) < 2:
        return []
    listed = "; ".join(_name_list(names, group) for group in groups)
    return [
        f"{len(groups)} groups of models can't be compared, so each has its own ranks: {listed}"
    ]


def _prior_notices(names: Sequence[str], fit: Strengths) -> list[str]:
    """Returns notices about models that votes alone do not rate."""
    notices = []
    for status in (Status.UNBEATEN, Status.WINLESS, Status.SEPARATED):
        places = [place for place, other in enumerate(fit.statuses) if other is status]
        unrated = [place for place in places if np.isnan(fit.ratings[place])]
        if unrated:
            notices.append(f"{status}, no rating without a prior: {_name_list(names, unrated)}")
        elif places and fit.prior:
            notices.append(f"{status}, rated only by the prior: {_name_list(names, places)}")
    return notices


def _few_notice(names: Sequence[str], fit: Strengths, bounds: Intervals) -> list[str]:
    """Returns a notice about models with wide intervals, since they have few independent votes."""
    is_rated = np.array([status is Status.RATED for status in fit.statuses], dtype=bool)
    places = np.flatnonzero(bounds.few & is_rated).tolist()
    if not places:
        return []
    return [
        f"Wide intervals, because fewer than {FEW_CLUSTERS} {_CLUSTERS[bounds.cluster]} lean to a side, "
        f"or one outweighs the rest: {_name_list(names, places)}"
    ]


def _name_list(names: Sequence[str], places: Sequence[int]) -> str:
    """Returns the first names at these places, and the number of the rest."""
    more = f" and {len(places) - _SHOWN_NAMES} more" if len(places) > _SHOWN_NAMES else ""
    return ", ".join(names[place] for place in places[:_SHOWN_NAMES]) + more


# Files.
_TABLES: Mapping[str, Callable[[Sheet], str]] = {
    "board.csv": as_csv,
    "board.md": as_markdown,
    "board.tex": as_latex,
}
FILES = (*_TABLES, "plots.html", "report.json")


def write_report(
    report: RatingReport, battles: Battles, source: Path, folder: Path
) -> tuple[Path, ...]:
    """Writes a report on the battles of `source` into a folder; returns the files' paths."""
    record = json.dumps(
        _record(report, battles, source), indent=2, ensure_ascii=False, allow_nan=False
    )
    title = f"Ratings of {storable(source.name)}"
    sheet = board_sheet(report.rows, title)
    texts = (
        *(form(sheet) for form in _TABLES.values()),
        plots_page(title, plots(report)),
        f"{record}\n",
    )
    paths = tuple(folder / name for name in FILES)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return paths


_COLUMNS = (
    Column("model", "Model"),
    Column("rank", "Rank", "rank", "rank_low", "rank_high", dash=True),
    Column("bt", "Bradley-Terry", "score", "bt_low", "bt_high", places=0, dash=True),
    Column("elo_median", "Elo, median", "score", "elo_low", "elo_high", places=0, dash=True),
    Column("elo", "Elo, one pass", "score", places=0),
    Column("battles", "Battles", "count"),
    Column("wins", "Wins", "count"),
    Column("losses", "Losses", "count"),
    Column("ties", "Ties", "count"),
)
_NOTES = {
    "bt": "Brackets are 95% intervals.",
    "elo_median": "The range after Elo is its spread over vote orders, not a confidence interval.",
}


def board_sheet(rows: Sequence[BoardRow], title: str = "Ratings") -> Sheet:
    """Returns a board as a sheet, without columns that have no value; a board without rows has the models' column."""
    frame = pd.DataFrame(
        [asdict(row) for row in rows],
        columns=[field.name for field in fields(BoardRow)],
        dtype=object,
    )
    columns = tuple(
        column for column in _COLUMNS if any(getattr(row, column.key) is not None for row in rows)
    )
    note = " ".join(_NOTES[column.key] for column in columns if column.key in _NOTES)
    return Sheet("board", title, frame, columns or _COLUMNS[:1], note, whole=True)


def plots(report: RatingReport) -> Iterator[Plot]:
    """Yields the plots of plots.html, models in board order."""
    names = [row.model for row in report.rows]
    m = len(names)
    votes = report.votes
    grid = np.ix_(report.places, report.places)
    if report.settings.method == "elo":
        title = "Elo over vote orders"
        note = "Elo over random vote orders: median and spread, which isn't a confidence interval."
        if report.settings.bootstrap == 0:
            title = "Elo, one pass"
            note = "Elo in one pass over the votes, in the order of the file."
        yield interval_plot(list(_elo_rows(report.rows)), note, title)
    else:
        clusters = f"clustered by {report.bounds.cluster}"
        note = f"Bradley-Terry ratings with {LEVEL:.0%} intervals {report.for_whom}, {clusters}."
        yield interval_plot(list(bradley_terry_rows(report.rows)), note)
        yield win_rate_plot(names, win_chances(report.fit)[grid])
    pair = votes.a.astype(np.int64) * m + votes.b
    battle_counts = np.bincount(pair, minlength=m * m).reshape(m, m)[grid]
    yield battle_count_plot(names, battle_counts.astype(np.float64))


def _elo_rows(rows: Iterable[BoardRow]) -> Iterator[RatingRow]:
    for row in rows:
        rating = row.elo if row.elo_median is None else row.elo_median
        if rating is not None:
            yield RatingRow(row.model, rating, row.elo_low, row.elo_high, row.rank is not None)


def bradley_terry_rows(rows: Iterable[BoardRow]) -> Iterator[RatingRow]:
    """Yields the rows of a chart; a model without a rating has none."""
    for row in rows:
        if row.bt is not None:
            yield RatingRow(row.model, row.bt, row.bt_low, row.bt_high, row.rank is not None)


def _record(report: RatingReport, battles: Battles, source: Path) -> dict[str, Any]:
    """Returns the content of report.json: the file, all parameters, the fit, and the board at full precision."""
    fit = report.fit
    orders = None
    if report.orders:
        orders = {
            "kind": "seeded orders of all votes",
            "share_of_orders": LEVEL,
            "confidence_interval": False,
        }
    rank_places = None
    if report.settings.method != "elo":
        rank_places = {
            "kind": "rank sets of all models at once",
            "level": LEVEL,
            "cluster": report.bounds.cluster,
        }
    misfit = None
    if report.lack_of_fit:
        misfit = report.lack_of_fit._asdict()
        misfit["winner"] = report.models[report.lack_of_fit.winner]
        misfit["loser"] = report.models[report.lack_of_fit.loser]
    components = [
        [report.models[code] for code in np.flatnonzero(fit.components == group).tolist()]
        for group in range(max(fit.components, default=-1) + 1)
    ]
    return {
        "file": {
            "name": storable(source.name),
            "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
            "format": battles.format,
            "votes": len(battles),
        },
        "parameters": asdict(report.settings),
        "votes_counted": len(report.votes),
        "notices": report.notices,
        "elo": {
            **asdict(ELO),
            "once": "in the order of the file",
            "median_low_high": orders,
        },
        "bradley_terry": {
            "prior": fit.prior,
            "anchor": None,
            "mean": ELO.start,
            "newton_steps": fit.steps,
            "residual_wins": fit.residual,
            "components": components,
            "intervals": {
                "kind": "sandwich",
                "level": LEVEL,
                "cluster": report.bounds.cluster,
                "clusters": report.bounds.clusters,
                "whose": report.for_whom,
            },
            "rank_low_high": rank_places,
            "estimand": "the pairs as they were played",
            "lack_of_fit": misfit,
        },
        "board": [
            {**asdict(row), "status": fit.statuses[place], "component": int(fit.components[place])}
            for row, place in zip(report.rows, report.places, strict=True)
        ],
    }
