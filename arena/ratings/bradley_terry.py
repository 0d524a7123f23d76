"""Bradley-Terry: maximum likelihood strengths from a win matrix, and which models are comparable.

`wins[i, j]` is how often model i beat model j; a tie is half a win for each. A model's strength is its log odds against
a model of strength 0; ratings are strengths on the Elo scale. With a prior p, every model also has p wins and p losses
against a phantom of strength 0, which keeps a winless or unbeaten model finite. Without it (Ford 1957), only models
that reach each other through wins are finite together, and the rest get no number.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from arena.ratings.votes import ELO, Codes, Floats, Outcome, Votes, outcome_counts

PRIOR = 0.5
"""The boards' prior: one tied game with a model of mean strength."""
LEAST_PRIOR = 1e-4
"""The smallest prior that arithmetic distinguishes from none."""
MOST_STEPS = 1000
"""The most Newton steps: enough to bring together models that are thousands of log odds apart."""
MOST_HALVINGS = 100
"""The most halvings of one step."""
LONGEST_STEP = 2.0
"""The longest step of a strength, in log odds: beyond it the curve is flat and carries no information."""
CONVERGED_STEP = 1e-10
"""The size of the next Newton step, in log odds, below which the fit has converged."""
ROUNDING_GAIN = 1e-9
"""The gain in log likelihood that rounding may hide: a step that promises less and doesn't help ends the fit."""


class ConvergenceError(ArithmeticError):
    """The fit did not converge, so its numbers are not the maximum of the likelihood."""


class Status(StrEnum):
    """The extent to which votes alone determine a model's strength."""

    RATED = "rated"
    """Wins and losses link it with the main body of its component."""
    UNBEATEN = "unbeaten"
    """The model never lost or tied; only the prior bounds its strength."""
    WINLESS = "winless"
    """The model never won or tied; only the prior bounds its strength."""
    SEPARATED = "separated"
    """The model's group has only won, or only lost, against each other group; only the prior bounds the differences."""
    UNPLAYED = "unplayed"
    """The model has no battles, and therefore no rating."""


@dataclass(frozen=True, eq=False)
class Strengths:
    """Fitted strengths by model code, with their parameters."""

    ratings: Floats
    """Ratings on the Elo scale, each component with mean 1000; NaN for a model without a rating."""
    strengths: Floats
    """Log odds, as fitted."""
    components: Codes
    """Groups of comparable models: 0 is the largest, -1 an unplayed model."""
    comparable: np.ndarray
    """The same as a mask, models x models; every model is comparable with itself."""
    statuses: tuple[Status, ...]
    wins: Floats
    prior: float
    steps: int
    """Newton steps taken."""
    residual: float
    """Largest difference between a model's wins and its expected wins (prior included) at the fit."""
    chances: Floats
    """Win probability of each model against each other, also where they are not comparable: models x models."""

    @cached_property
    def information(self) -> Floats:
        """Negative Hessian of the log likelihood (and prior) in strengths, pinned so that it is invertible."""
        likelihood = _Likelihood(self.wins, self.comparable, self.prior)
        return likelihood.information(likelihood.evaluate(self.strengths))

    @cached_property
    def inverse(self) -> Floats:
        """Inverse of the information: covariance of the strengths if all votes were independent."""
        return np.linalg.inv(self.information).astype(np.float64, copy=False)

    def centring(self) -> Floats:
        """Matrix that centres strengths on their component's mean."""
        has_rating = ~np.isnan(self.ratings)
        same = self.comparable & has_rating[:, None] & has_rating[None, :]
        mean = same / np.maximum(same.sum(1, keepdims=True), 1)
        centring = np.eye(len(has_rating), dtype=np.float64) - mean
        return centring.astype(np.float64, copy=False)

    def to_ratings(self, strengths: Floats) -> Floats:
        """Returns strengths (... x models) as ratings, centred as in this fit; NaN where this fit has no number."""
        ratings = strengths @ self.centring().T * ELO.points + ELO.start
        return np.where(np.isnan(self.ratings), np.nan, ratings)


def win_matrix(votes: Votes) -> Floats:
    """Win matrix, models x models: a tie is half a win for each side, each vote counts by its weight."""
    counts = outcome_counts(votes)
    tied = (counts[Outcome.TIE] + counts[Outcome.BOTH_BAD]) / 2
    return counts[Outcome.A] + counts[Outcome.B].T + tied + tied.T


def bradley_terry(wins: Floats, prior: float = PRIOR, start: Floats | None = None) -> Strengths:
    """Fits strengths to a win matrix (models x models) by Newton's method.

    `start` are initial strengths, such as those before one more vote: near ones save steps. Raises `ConvergenceError`
    if the fit does not converge, ValueError for a number out of range.
    """
    wins = np.asarray(wins, np.float64)
    if (
        wins.ndim != 2
        or wins.shape[0] != wins.shape[1]
        or not np.isfinite(wins).all()
        or (wins < 0).any()
    ):
        raise ValueError("wins are a square matrix of finite numbers from 0")
    if wins.diagonal().any():
        raise ValueError("a model cannot beat itself")
    if not (prior == 0 or LEAST_PRIOR <= prior < np.inf):
        raise ValueError(f"a prior is 0, which is none, or at least {LEAST_PRIOR}")
    groups = _groups((wins > 0).tobytes(), len(wins), prior > 0)
    same = groups.comparable
    if start is None:
        start = np.zeros(len(wins))
    fitted = _newton(_Likelihood(wins, same, prior), start)
    has_rating = groups.components >= 0
    if prior == 0:
        has_rating &= same.sum(1) > 1
    fit = Strengths(
        ratings=np.where(has_rating, 0.0, np.nan),
        strengths=fitted.strengths,
        components=groups.components,
        comparable=same,
        statuses=groups.statuses,
        wins=wins,
        prior=prior,
        steps=fitted.steps,
        residual=fitted.point.residual,
        chances=fitted.point.chance,
    )
    # The centring asks which models have a rating, so the values come last.
    fit.ratings[:] = fit.to_ratings(fitted.strengths)
    return fit


def win_chances(fit: Strengths) -> Floats:
    """Predicted win share of each model against each other: models x models, NaN where not comparable."""
    return np.where(_rival_mask(fit), fit.chances, np.nan)


def mean_win_chances(fit: Strengths) -> Floats:
    """Predicted win share of each model against a comparable model drawn uniformly; NaN without one."""
    rivals = _rival_mask(fit)
    number = rivals.sum(1)
    return np.where(number, (fit.chances * rivals).sum(1) / np.maximum(number, 1), np.nan)


def _rival_mask(fit: Strengths) -> np.ndarray:
    """Mask of pairs with a predicted win share: models x models."""
    has_rating = ~np.isnan(fit.ratings)
    is_other = ~np.eye(len(has_rating), dtype=bool)
    return fit.comparable & has_rating[:, None] & has_rating[None, :] & is_other


def _reach(links: np.ndarray) -> np.ndarray:
    """Mask of the nodes that each node reaches through links: the links squared until nothing is added."""
    reach = links | np.eye(len(links), dtype=bool)
    while not reach.all():
        ways = reach.astype(np.float32)  # Products of floats are fast, those of bools are not.
        further = (ways @ ways) > 0
        if (further == reach).all():
            break
        reach = further
    return reach


class _Groups(NamedTuple):
    """The fields of these names in `Strengths`."""

    components: Codes
    comparable: np.ndarray
    statuses: tuple[Status, ...]


@lru_cache(maxsize=64)
def _groups(beat_bytes: bytes, models: int, has_prior: bool) -> _Groups:
    """Comparable groups from who beat whom, a byte per pair; cached, since one more vote hardly ever changes them."""
    beat = np.frombuffer(beat_bytes, bool).reshape(models, models)
    reach = _reach(beat)
    mutual = reach & reach.T
    met = beat | beat.T
    linked = mutual if mutual.all() else _reach(met)
    components = _components(linked if has_prior else mutual, np.asarray(met.any(1)))
    same = (components[:, None] == components[None, :]) & (components >= 0)
    comparable = same | np.eye(models, dtype=bool)
    for array in (components, comparable):  # The cache shares them.
        array.flags.writeable = False
    return _Groups(components, comparable, _statuses(beat, linked, mutual))


def _components(together: np.ndarray, played: np.ndarray) -> Codes:
    """Numbers the groups of an equivalence relation, the largest first, equal ones by their first model."""
    first_member = together.argmax(1) if len(together) else np.zeros(0, np.intp)
    groups, sizes = np.unique(first_member[played], return_counts=True)
    components = np.full(len(together), -1)
    for number, group in enumerate(groups[np.argsort(-sizes, kind="stable")]):
        components[(first_member == group) & played] = number
    return components


def _statuses(beat: np.ndarray, linked: np.ndarray, mutual: np.ndarray) -> tuple[Status, ...]:
    """Status of each model, from who beat whom, which models battles link, and which wins link both ways."""
    won = np.asarray(beat.any(1))
    lost = np.asarray(beat.any(0))
    size = mutual.sum(1)
    largest = np.max(np.where(linked, size[None, :], 0), axis=1, initial=0)
    # Of two equally large groups neither is the main body: both are separated.
    of_largest = (linked & (size[None, :] == largest[:, None])).sum(1)
    is_in_body = (size > 1) & (size == largest) & (of_largest == size)

    def status(model: int) -> Status:
        if not won[model] and not lost[model]:
            return Status.UNPLAYED
        if not lost[model]:
            return Status.UNBEATEN
        if not won[model]:
            return Status.WINLESS
        return Status.RATED if is_in_body[model] else Status.SEPARATED

    return tuple(map(status, range(len(beat))))


class _Point(NamedTuple):
    """The likelihood around some strengths, by model."""

    chance: Floats
    """Win probability of each model against each other."""
    against_phantom: Floats
    """Win probability against the prior's phantom."""
    slope: Floats
    """Wins minus expected wins."""

    @property
    def residual(self) -> float:
        """The largest slope of a model, in wins."""
        return float(np.abs(self.slope).max(initial=0.0))


class _Fitted(NamedTuple):
    strengths: Floats
    point: _Point
    steps: int


class _Likelihood:
    """Log likelihood of wins between comparable models, with the prior."""

    def __init__(self, wins: Floats, comparable: np.ndarray, prior: float) -> None:
        within = wins * comparable
        self._comparable = comparable
        self._prior = prior
        self._games = within + within.T
        self.won = within.sum(1)

    def evaluate(self, strengths: Floats) -> _Point:
        chance = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        against_phantom = 1 / (1 + np.exp(-strengths))
        expected = (self._games * chance).sum(1)
        slope = self.won - expected + self._prior * (1 - 2 * against_phantom)
        return _Point(chance, against_phantom, slope)

    def information(self, point: _Point) -> Floats:
        """Returns the negative Hessian at a point, pinned so that it is invertible: models x models."""
        information = -self._games * point.chance * point.chance.T
        phantom_information = 2 * self._prior * point.against_phantom * (1 - point.against_phantom)
        diagonal = phantom_information - information.sum(1)
        information[np.diag_indices_from(information)] += diagonal
        if self._prior == 0 and len(diagonal):
            # The likelihood leaves each component's mean open: pin it.
            information += self._comparable * max(1.0, diagonal.mean())
        return information


def _newton(likelihood: _Likelihood, start: Floats) -> _Fitted:
    """Climbs to the maximum. A step beyond it is halved until the slope at its end is smaller than at its start.

    Ends when wins and expected wins differ only by rounding, when a step that doesn't help promises less than rounding
    hides, or when the next step would be negligible: near the maximum, the square of a step predicts the next one.
    """
    rounding = 64 * np.finfo(np.float64).eps * max(1.0, likelihood.won.max(initial=0.0))
    strengths = start
    point = likelihood.evaluate(start)
    for steps in range(MOST_STEPS):
        if point.residual <= rounding:
            return _Fitted(strengths, point, steps)
        try:
            move = np.linalg.solve(likelihood.information(point), point.slope)
        except np.linalg.LinAlgError:
            break
        length = float(np.abs(move).max(initial=0.0))
        move *= LONGEST_STEP / max(length, LONGEST_STEP)
        promised_gain = point.slope @ move
        slope_before = promised_gain  # that of the whole step, halved with the step
        for _ in range(MOST_HALVINGS):
            next_point = likelihood.evaluate(strengths + move)
            slope_after = next_point.slope @ move
            if abs(slope_after) < slope_before:
                break
            if promised_gain < ROUNDING_GAIN:
                return _Fitted(strengths, point, steps)
            move = move / 2
            slope_before = slope_before / 2
        strengths = strengths + move
        point = next_point
        if length**2 < CONVERGED_STEP:
            return _Fitted(strengths, point, steps + 1)
    raise ConvergenceError(
        f"Bradley-Terry did not settle in {steps + 1} steps; it is off by {point.residual:.3g} wins"
    )
