"""VisIT-Bench leaderboard: ratings and win rates of each model, from matches under one judge.

Elo is the paper's (K=4, scale 400, base 10, start 1000): the median over seeded orders. Bradley-Terry intervals are
clustered by item, and by voter as on the arena's boards; a tie is half a win to each. Against the human-verified
reference, ties are left out and counted separately (paper, Tables 3 and 4). People's votes go through the same
arithmetic. The order of matches and of their sides has no effect: they are sorted first.
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
from arena.ratings.report import BoardRow, RatingOrder, rating_report, repeats
from arena.ratings.shares import clustered_shares
from arena.ratings.votes import coded, mean_ranks
from scoring.visit_bench.matches import REFERENCES, Winner

ORDERS = 100
SEED = 0
EXACT = 8
"""Maximum of models for which a correlation's p tries every order."""
DRAWS = 20_000
_COLUMNS = ("Category", "Model", "Elo", "# Matches", "Win vs. Reference (w/ # ratings)")


class PlayedMatch(NamedTuple):
    """A match and its winner, None if it is unscored; `voter` is who chose, "" where nobody is named."""

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
        return (
            f"{self.wins / self.n:.2%} (n={self.n:,})" if self.n else f"- (n=0, {self.ties:,} ties)"
        )


@dataclass(frozen=True)
class BoardLine:
    """A model's line on a board."""

    row: BoardRow
    reference: WinRate | None
    """None for the reference itself, and for a model that never met it."""
    unscored: int


@dataclass(frozen=True)
class AutomaticBoard:
    """A board: matches on single or on several images, under one judge."""

    multi: bool
    matches: int
    lines: tuple[BoardLine, ...]
    """Best first; groups that never met stand one below the other."""
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
    """Two-sided, by permutation: how often another order agrees, or disagrees, as much."""
    n: int


def automatic_board(played: Iterable[PlayedMatch], multi: bool) -> AutomaticBoard:
    own = [match for match in played if match.multi == multi]
    unscored = Counter(
        model for match in own if match.winner is None for model in (match.a, match.b)
    )
    matches = sorted(_sided(match) for match in own if match.winner)
    votes = [
        Vote(one.a, one.b, one.winner, one.item, one.voter or None, judge=one.judge)
        for one in matches
        if one.winner
    ]
    battles = Battles(None, *columns_of(votes), rows=({},) * len(votes))
    report = rating_report(battles, RatingOrder(bootstrap=ORDERS, seed=SEED))
    rates = _win_rates(matches, [""] * len(matches)).get("", {})
    return AutomaticBoard(
        multi=multi,
        matches=sum(match.a != match.b for match in matches),
        lines=tuple(
            BoardLine(row, rates.get(row.model), unscored[row.model]) for row in report.rows
        ),
        families=_win_rates(matches, [match.family for match in matches]),
        notices=report.notices,
    )


def played_of(battles: Battles) -> Iterator[PlayedMatch]:
    """A file's votes as matches; "both bad" is a tie, and a vote without an item gets one of its own.

    Of a voter's votes on one conversation the last counts.
    """
    before = repeats(battles)
    for number, vote in enumerate(battles.votes()):
        if number in before:
            continue
        winner = "tie" if vote.winner == "both_bad" else vote.winner
        item = vote.item or f"vote {number}"
        multi = (vote.images or 1) > 1
        voter = vote.voter or ""
        yield PlayedMatch(
            item=item,
            family=vote.category or "",
            multi=multi,
            a=vote.model_a,
            b=vote.model_b,
            winner=winner,
            voter=voter,
            judge=vote.judge is True,
        )


def table(boards: Iterable[AutomaticBoard]) -> str:
    """Boards in the layout of the authors' leaderboard file: TSV, single images above several."""
    rows: list[Sequence[object]] = [_COLUMNS]
    for board in boards:
        category = "Multiple Images" if board.multi else "Single Image"
        for line in board.lines:
            elo = "" if line.row.elo_median is None else f"{line.row.elo_median:.0f}"
            model = " ".join(line.row.model.split())
            rows.append((category, model, elo, line.row.battles, line.reference or "-"))
    return csv_text(rows, delimiter="\t")


def family_table(boards: Iterable[AutomaticBoard]) -> str:
    """Every family's win rates against the reference as CSV, also those from few matches."""
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


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> Correlation | None:
    """Rank correlation of two ratings of the same models; None for fewer than three, or if either rates all alike."""
    n = len(one)
    if n < 3:
        return None
    x, y = (
        ranks - ranks.mean()
        for ranks in (mean_ranks(np.asarray(one)), mean_ranks(np.asarray(other)))
    )
    scale = math.sqrt(float(x @ x) * float(y @ y))
    if not scale:
        return None
    rho = float(x @ y) / scale
    if n <= EXACT:
        orders = np.array(list(itertools.permutations(range(n))))
        extra = 0
    else:
        coin = np.random.default_rng(SEED)
        orders = coin.permuted(np.tile(np.arange(n), (DRAWS, 1)), axis=1)
        extra = 1
    as_far = int((np.abs(y[orders] @ x) >= abs(rho) * scale - 1e-9).sum())
    return Correlation(rho, (as_far + extra) / (len(orders) + extra), n)


def _sided(match: PlayedMatch) -> PlayedMatch:
    if match.a <= match.b:
        return match
    swapped: Mapping[Winner | None, Winner] = {"a": "b", "b": "a", "tie": "tie"}
    return match._replace(a=match.b, b=match.a, winner=swapped[match.winner])


def _win_rates(
    matches: Sequence[PlayedMatch], parts: Sequence[str]
) -> dict[str, dict[str, WinRate]]:
    """Win rates against the reference by part of the board and model; `parts` has each match's."""
    met = [
        (part, models[0], match)
        for part, match in zip(parts, matches, strict=True)
        if len(models := _contestants(match)) == 1
    ]
    place = {
        cell: number
        for number, cell in enumerate(dict.fromkeys((part, model) for part, model, _ in met))
    }
    ties = Counter((part, model) for part, model, match in met if match.winner == "tie")
    decided = [
        (place[part, model], model, match) for part, model, match in met if match.winner != "tie"
    ]
    cell = np.array([number for number, _, _ in decided], int)
    won = np.array(
        [model == (match.a if match.winner == "a" else match.b) for _, model, match in decided],
        bool,
    )
    together = [coded([match.item for _, _, match in decided])[1][0]]
    people = {match.voter for match in matches if not match.judge}
    if len(people) > 1:
        together.append(coded([match.voter for _, _, match in decided])[1][0])
    found: dict[str, dict[str, WinRate]] = {part: {} for part in sorted(set(parts))}
    for (part, model), rate in zip(
        place, clustered_shares(won, cell, len(place), together), strict=True
    ):
        found[part][model] = WinRate(rate.hits, rate.n, ties[part, model], rate.low, rate.high)
    return found


def _contestants(match: PlayedMatch) -> list[str]:
    return [model for model in (match.a, match.b) if model not in REFERENCES]
