"""Style control: Bradley-Terry strengths and the share of a preference that is length and markup.

Side a's log odds are strength_a - strength_b + x * coefficients, where x are differences of the two answers' style:
(count_a - count_b) / (count_a + count_b + 1) for length, headings, lists and bold, each divided by its deviation (Li,
Angelopoulos and Chiang 2024, "Does style matter?"). They are not centred: two answers of one style differ by 0.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import PRIOR, Anchor, ConvergenceError, Strengths, bradley_terry, win_matrix
from arena.ratings.clusters import Cluster, cluster_codes, support
from arena.ratings.intervals import Intervals, interval_of, score_spread, two_way
from arena.ratings.votes import SCORES, Codes, EloSettings, Floats, Votes

STEPS = 50
SETTLED = 1e-9
COEFFICIENT_PRIOR = 1.0
"""Prior information of the coefficients: that of a normal with mean 0 and deviation 1."""
_HEADING = re.compile(r"^ {0,3}#{1,6}\s", re.MULTILINE)
_LIST = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")


class Style(NamedTuple):
    """Length and markup of an answer, whatever it says."""

    length: int
    """Characters."""
    headings: int
    lists: int
    """List entries."""
    bold: int
    """Bold passages."""


def style_of(text: str) -> Style:
    """Count an answer's length and Markdown."""
    return Style(len(text), *(len(mark.findall(text)) for mark in (_HEADING, _LIST, _BOLD)))


def style_differences(a: Codes, b: Codes) -> Floats:
    """Differences x of two sides' counts (votes x counts, as in `Style`); a count that never differs stays 0."""
    differences = (a - b) / (a + b + 1.0)
    deviation = differences.std(0)
    return differences / np.where(deviation > 0, deviation, 1)


@dataclass(frozen=True, eq=False)
class StyledStrengths:
    """Ratings with style held equal, by model code, and the effect of style."""

    ratings: Floats
    intervals: Intervals
    coefficients: Floats
    """Rating points per deviation of each difference."""
    coefficient_errors: Floats
    plain: Strengths
    """The fit without style, with the components and parameters of both fits."""
    steps: int


def style_control(
    votes: Votes,
    differences: Floats,
    cluster: Cluster,
    prior: float = PRIOR,
    anchor: Anchor | None = None,
    settings: EloSettings | None = None,
) -> StyledStrengths:
    """Fit strengths and style coefficients jointly to votes with their `style_differences` (votes x counts).

    Intervals are sandwich intervals by cluster, as in `intervals`. Raises `ConvergenceError` if the fit does not
    converge, ValueError unless there is a row of differences for each vote.
    """
    if differences.shape[:1] != votes.a.shape or differences.ndim != 2 or not np.isfinite(differences).all():
        raise ValueError("style takes a row of finite differences a vote")
    plain = bradley_terry(win_matrix(votes), prior, anchor, settings)
    weights = plain.comparable[votes.a, votes.b] * (1.0 if votes.weights is None else votes.weights)
    model = _Model(votes, differences, weights, plain)
    fitted = model.fit()
    m, points = votes.models, plain.settings.points
    inverse = np.linalg.inv(fitted.information)
    spread = two_way(
        cluster, lambda kind: score_spread(cluster_codes(votes, kind), votes, fitted.surprise, differences)
    )
    covariance = inverse @ spread @ inverse * points**2
    centring = plain.centring()
    ratings = plain.rated(fitted.parameters[:m])
    clusters = int(cluster_codes(votes, "tuple" if cluster == "tuple and voter" else cluster).max(initial=-1)) + 1

    def curvature() -> Floats:
        return (centring @ inverse[:m, :m] @ centring.T).diagonal() * points**2

    of_models = interval_of(
        plain,
        ratings,
        centring @ covariance[:m, :m] @ centring.T,
        curvature,
        support(votes, cluster),
        cluster,
        clusters,
    )
    errors = np.sqrt(np.maximum(covariance.diagonal()[m:], 0))
    return StyledStrengths(ratings, of_models, fitted.parameters[m:] * points, errors, plain, fitted.steps)


class _StyledFit(NamedTuple):
    parameters: Floats
    """Strengths, then coefficients, in log odds."""
    information: Floats
    surprise: Floats
    """Weighted score minus chance of each vote."""
    steps: int


class _Slope(NamedTuple):
    surprise: Floats
    slope: Floats


class _Model:
    """Likelihood of votes in strengths and coefficients jointly."""

    def __init__(self, votes: Votes, differences: Floats, weights: Floats, plain: Strengths) -> None:
        self._votes, self._differences, self._weights, self._plain = votes, differences, weights, plain
        self._scores = SCORES[votes.outcome]

    def fit(self) -> _StyledFit:
        """Climb to the maximum by Newton's method from the fit without style; a step too far is halved."""
        m = self._votes.models
        parameters = np.concatenate([self._plain.strengths, np.zeros(self._differences.shape[1])])
        surprise, slope = self._slope(parameters)
        for steps in range(STEPS):
            information = self._information(parameters)
            move = np.linalg.solve(information, slope)
            if np.abs(move).max(initial=0.0) < SETTLED:
                return _StyledFit(parameters, information, surprise, steps)
            climb = slope @ move
            surprise, slope = self._slope(parameters + move)
            while abs(slope @ move) > climb and climb > 0:
                move, climb = move / 2, climb / 2
                surprise, slope = self._slope(parameters + move)
            parameters = parameters + move
        raise ConvergenceError(f"style control of {m} models did not settle in {STEPS} steps")

    def _chances(self, parameters: Floats) -> Floats:
        m = self._votes.models
        margin = parameters[self._votes.a] - parameters[self._votes.b] + self._differences @ parameters[m:]
        return 1 / (1 + np.exp(-margin))

    def _slope(self, parameters: Floats) -> _Slope:
        m, prior = self._votes.models, self._plain.prior
        surprise = self._weights * (self._scores - self._chances(parameters))
        slope = np.bincount(self._votes.a, surprise, m) - np.bincount(self._votes.b, surprise, m)
        slope += prior * (1 - 2 / (1 + np.exp(-parameters[:m])))
        of_style = self._differences.T @ surprise - COEFFICIENT_PRIOR * parameters[m:]
        return _Slope(surprise, np.concatenate([slope, of_style]))

    def _information(self, parameters: Floats) -> Floats:
        a, b, m = self._votes.a, self._votes.b, self._votes.models
        chance = self._chances(parameters)
        weight = self._weights * chance * (1 - chance)
        met = np.bincount(a.astype(np.int64) * m + b, weight, m * m).reshape(m, m)
        met = met + met.T
        of_phantom = 1 / (1 + np.exp(-parameters[:m]))
        information = np.diag(met.sum(1) + 2 * self._plain.prior * of_phantom * (1 - of_phantom)) - met
        if not self._plain.prior:  # pinned as without style
            information += self._plain.comparable * max(1.0, information.diagonal().mean()) if m else 0.0
        weighted = self._differences * weight[:, None]
        mixed = np.array([np.bincount(a, column, m) - np.bincount(b, column, m) for column in weighted.T]).T
        of_style = self._differences.T @ weighted + COEFFICIENT_PRIOR * np.eye(self._differences.shape[1])
        return np.block([[information, mixed], [mixed.T, of_style]])
