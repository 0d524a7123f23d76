"""Ratings from votes: arrays of integer model codes in, frozen results out."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class EloSettings:
    """What VisIT-Bench and FastChat use (VisIT-Bench 4.2, appendix E)."""

    k: float = 4.0
    scale: float = 400.0
    base: float = 10.0
    start: float = 1000.0


@dataclass(frozen=True)
class EloRatings:
    """Ratings by model code, with the settings they were computed under."""

    ratings: tuple[float, ...]
    settings: EloSettings


def elo(winners: Sequence[int], losers: Sequence[int], models: int, settings: EloSettings | None = None) -> EloRatings:
    """Rate models 0 to models-1 by one pass of Elo over votes in the order given.

    The loser's chance is 1 / (1 + base ** ((R_winner - R_loser) / scale)). VisIT-Bench's formula (1) prints this, b's
    chance to win, as a's: its sign is reversed; FastChat's code, which the paper ran, is as here.
    """
    settings = settings or EloSettings()
    ratings = [settings.start] * models
    for winner, loser in zip(winners, losers, strict=True):
        upset = 1.0 / (1.0 + settings.base ** ((ratings[winner] - ratings[loser]) / settings.scale))
        ratings[winner] += settings.k * upset
        ratings[loser] -= settings.k * upset
    return EloRatings(tuple(ratings), settings)
