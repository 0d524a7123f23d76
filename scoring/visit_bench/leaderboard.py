"""VisIT-Bench leaderboard: ratings and win rates of each model, from matches under one judge.

Elo is the paper's (K=4, scale 400, base 10, start 1000): the median over seeded orders. Bradley-Terry intervals are
clustered by item, and by voter as on the arena's boards; a tie is half a win to each. Win rates against the
human-verified reference leave out ties, which are counted separately (paper, Tables 3 and 4). People's votes are
counted in the same way. Matches and their sides are sorted first, so that their order has no effect.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.formats.base import Battles, Vote, columns_of
from arena.io.csv_text import csv_text
from arena.ratings.report import BoardRow, RatingSettings, rating_report, repeated_votes
from arena.ratings.shares import clustered_shares
from arena.ratings.votes import encode_columns, mean_ranks
from scoring.visit_bench.matches import REFERENCES, Winner

ELO_ORDERS = 100
"""Orders of matches whose median Elo counts, and replicates of the bootstrap."""
SEED = 0
_WHOLE_BOARD = ""
"""The part of a board that has all of its matches; the other parts are families."""
_MOST_MODELS_OF_ALL_ORDERS = 8
"""Largest number of models for which a correlation's p value tries every order."""
_DRAWN_ORDERS = 20_000
"""Orders that are drawn for more models."""
_COLUMNS = ("Category", "Model", "Elo", "# Matches", "Win vs. Reference (w/ # ratings)")


class PlayedMatch(NamedTuple):
    """A match and its winner, None if unscored; `voter` is "" for a judge and for an unnamed voter."""

    item: str
    family: str
    multi: bool
    a: str
    b: str
    winner: Winner | None
    voter: str = ""
    judge: bool = True
    """Whether a judge model chose, not a person."""


@dataclass(frozen=True)
class WinRate:
    """Wins in matches against the reference, ties left out."""

    wins: int
    n: int
    ties: int
    low: float
    high: float
    """Wilson's 95% interval, for new items and voters."""

    @property
    def value(self) -> float | None:
        return self.wins / self.n if self.n else None

    def __str__(self) -> str:
        if not self.n:
            return f"- (n=0, {self.ties:,} ties)"
        return f"{self.wins / self.n:.2%} (n={self.n:,})"


@dataclass(frozen=True)
class BoardLine:
    """A model's line on a board."""

    row: BoardRow
    reference: WinRate | None
    """None for the reference itself, and for a model that never met it."""
    unscored: int
    group: int
    """Its group of models that met, directly or through others; -1 for a model without a match."""


@dataclass(frozen=True)
class AutomaticBoard:
    """A board: matches on single or on several images, under one judge."""

    multi: bool
    matches: int
    lines: tuple[BoardLine, ...]
    """Best first; groups of models that never met follow one another."""
    families: Mapping[str, Mapping[str, WinRate]]
    """Win rates against the reference by family and model, whatever their n."""
    notices: tuple[str, ...]

    @property
    def ratings(self) -> Mapping[str, float]:
        return {line.row.model: line.row.bt for line in self.lines if line.row.bt is not None}


class Correlation(NamedTuple):
    """Spearman's rank correlation."""

    rho: float
    p: float
    """Two-sided, by permutation: the share of orders that agree, or disagree, at least as much."""
    n: int


def automatic_board(played: Iterable[PlayedMatch], multi: bool) -> AutomaticBoard:
    """The board of the matches on single or on several images."""
    of_board = [match for match in played if match.multi == multi]
    unscored: Counter[str] = Counter()
    for match in of_board:
        if match.winner is None:
            unscored.update((match.a, match.b))
    matches = sorted(_with_sorted_sides(match) for match in of_board if match.winner)
    votes = [
        Vote(match.a, match.b, match.winner, match.item, match.voter or None, judge=match.judge)
        for match in matches
        if match.winner  # always; the check is for its type
    ]
    # These votes come from no file, so they have no format and empty rows.
    battles = Battles(None, *columns_of(votes), rows=({},) * len(votes))
    report = rating_report(battles, RatingSettings(bootstrap=ELO_ORDERS, seed=SEED))
    rates = _win_rates(matches, [_WHOLE_BOARD] * len(matches)).get(_WHOLE_BOARD, {})
    group_of_model = dict(zip(report.models, report.fit.components.tolist(), strict=True))
    return AutomaticBoard(
        multi=multi,
        # The ratings leave out a model against itself, too.
        matches=sum(match.a != match.b for match in matches),
        lines=tuple(
            BoardLine(
                row=row,
                reference=rates.get(row.model),
                unscored=unscored[row.model],
                group=group_of_model[row.model],
            )
            for row in report.rows
        ),
        families=_win_rates(matches, [match.family for match in matches]),
        notices=report.notices,
    )


def matches_of_votes(battles: Battles) -> Iterator[PlayedMatch]:
    """Yields a file's votes as matches: "both bad" is a tie, and a vote without an item counts as an item by itself.

    A voter's last vote on a conversation counts.
    """
    repeated = repeated_votes(battles)
    for number, vote in enumerate(battles.votes()):
        if number in repeated:
            continue
        yield PlayedMatch(
            item=vote.item or f"vote {number}",
            family=vote.category or "",
            multi=(vote.images or 1) > 1,
            a=vote.model_a,
            b=vote.model_b,
            winner="tie" if vote.winner == "both_bad" else vote.winner,
            voter=vote.voter or "",
            judge=vote.judge is True,
        )


def leaderboard_tsv(boards: Iterable[AutomaticBoard]) -> str:
    """Boards in the layout of the authors' leaderboard file: TSV, one board after the other."""
    rows: list[Sequence[object]] = [_COLUMNS]
    for board in boards:
        category = "Multiple Images" if board.multi else "Single Image"
        for line in board.lines:
            elo = "" if line.row.elo_median is None else f"{line.row.elo_median:.0f}"
            model = " ".join(line.row.model.split())
            rows.append((category, model, elo, line.row.battles, line.reference or "-"))
    return csv_text(rows, delimiter="\t")


def family_csv(boards: Iterable[AutomaticBoard]) -> str:
    """Every family's win rates against the reference as CSV, including those from few matches."""
    rows: list[Sequence[object]] = [
        ("images", "family", "model", "wins", "decided", "ties", "win_rate", "low_95", "high_95")
    ]
    for board in boards:
        kind = "multiple" if board.multi else "single"
        for family, rates in board.families.items():
            for model, rate in rates.items():
                share = "" if rate.value is None else f"{rate.value:.4f}"
                numbers = (
                    rate.wins,
                    rate.n,
                    rate.ties,
                    share,
                    f"{rate.low:.4f}",
                    f"{rate.high:.4f}",
                )
                rows.append((kind, family, model, *numbers))
    return csv_text(rows)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> Correlation | None:
    """Rank correlation of two ratings of the same models; None below three models, or if a rating is constant."""
    n = len(first)
    if n < 3:
        return None
    x = mean_ranks(np.asarray(first))
    x = x - x.mean()
    y = mean_ranks(np.asarray(second))
    y = y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    if not scale:
        return None
    rho = float(x @ y) / scale
    if n <= _MOST_MODELS_OF_ALL_ORDERS:
        orders = np.array(list(itertools.permutations(range(n))))
        orders_added = 0  # the observed order is among them
    else:
        generator = np.random.default_rng(SEED)
        orders = generator.permuted(np.tile(np.arange(n), (_DRAWN_ORDERS, 1)), axis=1)
        orders_added = 1  # the observed order is one more
    is_as_far = np.abs(y[orders] @ x) >= abs(rho) * scale - 1e-9
    p = (int(is_as_far.sum()) + orders_added) / (len(orders) + orders_added)
    return Correlation(rho, p, n)


def _with_sorted_sides(match: PlayedMatch) -> PlayedMatch:
    """A match with its models in alphabetical order."""
    if match.a <= match.b:
        return match
    swapped: Mapping[Winner | None, Winner] = {"a": "b", "b": "a", "tie": "tie"}
    return match._replace(a=match.b, b=match.a, winner=swapped[match.winner])


def _win_rates(
    matches: Sequence[PlayedMatch], parts: Sequence[str]
) -> dict[str, dict[str, WinRate]]:
    """Win rates against the reference by part and model; `parts` has each match's family, or the whole board."""
    codes: dict[_RateKey, int] = {}
    ties: Counter[_RateKey] = Counter()
    decided = []
    codes_of_decided = []
    are_won = []
    for part, match in zip(parts, matches, strict=True):
        models = _rated_models(match)
        if len(models) != 1:
            continue
        key = _RateKey(part, models[0])
        code = codes.setdefault(key, len(codes))
        if match.winner == "tie":
            ties[key] += 1
            continue
        winning_model = match.a if match.winner == "a" else match.b
        decided.append(match)
        codes_of_decided.append(code)
        are_won.append(winning_model == key.model)
    clusters = [encode_columns([match.item for match in decided]).columns[0]]
    people = {match.voter for match in matches if not match.judge}
    if len(people) > 1:
        clusters.append(encode_columns([match.voter for match in decided]).columns[0])
    shares = clustered_shares(
        np.array(are_won, bool), np.array(codes_of_decided, int), len(codes), clusters
    )
    rates: dict[str, dict[str, WinRate]] = {part: {} for part in sorted(set(parts))}
    for key, share in zip(codes, shares, strict=True):
        rate = WinRate(share.hits, share.n, ties[key], share.low, share.high)
        rates[key.part][key.model] = rate
    return rates


class _RateKey(NamedTuple):
    """A model in a part of a board."""

    part: str
    model: str


def _rated_models(match: PlayedMatch) -> list[str]:
    """The models of a match, without the reference."""
    return [model for model in (match.a, match.b) if model not in REFERENCES]
