"""Drift: whether a judge still scores as it did, looked at weekly over a frozen set of answers.

The baseline is BASELINE_RUNS runs over the set at acceptance. Each look is one run and one two-sample test of the mean
difference, whose variance holds the baseline's own error, which no number of looks makes smaller: differences are never
summed over weeks. The probability of any false alarm, ever, is ALPHA: half of it for the first look, the rest spread
over the later ones as 1/t^2.
"""

from datetime import datetime
from math import pi
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.votes import Floats

BASELINE_RUNS = 5
ALPHA = 0.01
EVERY_DAYS = 7
"""A judge that was not looked at for longer is looked at before it judges."""
DriftState = Literal["steady", "moved", "not looked at"]


class DriftLook(NamedTuple):
    """What one run over the frozen set says."""

    shift: float
    """Mean of run - baseline."""
    p: float
    level: float
    """The probability below which this look calls the judge moved."""

    @property
    def has_moved(self) -> bool:
        return self.p < self.level


class Drift(NamedTuple):
    """Where a judge stands."""

    state: DriftState
    shift: float
    p: float
    days: int
    """Since the last look."""

    def __str__(self) -> str:
        if self.state == "not looked at":
            return f"not looked at for {self.days} days" if self.days else "never looked at"
        return "steady" if self.state == "steady" else f"moved by {self.shift:+.3f} (p {self.p:.2g})"


def level_of(number: int) -> float:
    """The level of the look of this number, from 1: they sum to ALPHA over all looks there may ever be."""
    return ALPHA / 2 if number == 1 else ALPHA / 2 * 6 / (pi * (number - 1)) ** 2


def looked(baseline: Floats, run: Floats, number: int) -> DriftLook:
    """Compare a run with the baseline: runs x answers. With constant replies any change is a change.

    The degrees of freedom are Satterthwaite's: where few answers are noisy, the noise is known from few.
    """
    from scipy.special import stdtr

    runs, answers = baseline.shape
    shift = float((run - baseline.mean(0)).mean())
    noise = baseline.var(0, ddof=1)
    error = (float(noise.mean()) * (1 + 1 / runs) / answers) ** 0.5
    if error == 0:
        return DriftLook(shift, float(np.allclose(run, baseline[0])), level_of(number))
    freedom = float((runs - 1) * noise.sum() ** 2 / (noise**2).sum())
    p = 2 * float(stdtr(freedom, -abs(shift) / error))
    return DriftLook(shift, p, level_of(number))


def drift(looks: list[tuple[datetime, DriftLook]], at: datetime) -> Drift:
    """Where a judge stands by its looks, the oldest first; one that moved has moved until it is accepted anew."""
    if not looks:
        return Drift("not looked at", 0.0, 1.0, 0)
    days = (at - looks[-1][0]).days
    for _, look in looks:
        if look.has_moved:
            return Drift("moved", look.shift, look.p, days)
    if days > EVERY_DAYS:
        return Drift("not looked at", 0.0, 1.0, days)
    return Drift("steady", looks[-1][1].shift, looks[-1][1].p, days)
