"""Peers: their ratings of the same votes, kept in a file that `python -m perf.ratings --golden` writes anew."""

import json
from pathlib import Path

import numpy as np
import pytest

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.votes import Votes, elo

KEPT = json.loads((Path(__file__).parents[2] / "golden" / "peer_ratings.json").read_text())
COLUMNS = {name: np.array(KEPT["votes"][name]) for name in ("a", "b", "outcome")}
VOTES = Votes(**COLUMNS, models=KEPT["votes"]["models"])


def kept(peer: str, task: str) -> list[float]:
    ratings = KEPT["ratings"][f"{peer}: {task}"]
    return [ratings[f"model-{model:03}"] for model in range(VOTES.models)]


@pytest.mark.parametrize("peer", ["FastChat 0.2.36", "FastChat newest", "evalica"])
def test_elo_is_the_peers(peer):
    assert elo(VOTES) == pytest.approx(kept(peer, "elo"), abs=1e-9)


@pytest.mark.parametrize(
    ("peer", "tolerance"),
    [("FastChat newest", 0.05), ("evalica", 1e-4), ("arena-rank", 1e-3)],
    ids=lambda value: value,
)
def test_bradley_terry_is_the_peers_within_where_they_stop(peer, tolerance):
    """FastChat and arena-rank stop L-BFGS at a gradient of 1e-6 and 1e-9, evalica its own steps at 1e-6."""
    theirs = np.array(kept(peer, "bt"))
    ours = bradley_terry(win_matrix(VOTES), prior=0).ratings
    assert ours == pytest.approx(theirs - theirs.mean() + 1000, abs=tolerance)


def test_fastchats_release_shrinks_ratings_without_saying_so():
    """Scikit-learn's default penalty pulls 0.2.36's maximum likelihood towards the mean."""
    theirs = np.array(kept("FastChat 0.2.36", "bt"))
    ours = bradley_terry(win_matrix(VOTES), prior=0).ratings
    assert 0.1 < np.abs(theirs - theirs.mean() + 1000 - ours).max() < 20
    assert theirs.std() < ours.std()
