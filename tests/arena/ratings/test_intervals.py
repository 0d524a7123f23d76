"""Intervals: the planted truth lies inside as often as they say, and per-vote ones fail where votes hang together."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from arena.ratings.bradley_terry import Status, bradley_terry, win_matrix
from arena.ratings.clusters import cluster_codes, freedom
from arena.ratings.intervals import (
    MOST_LEVERAGE,
    Bounds,
    Intervals,
    intervals,
    ranks,
)
from arena.ratings.rank_sets import rank_sets
from arena.ratings.votes import SCORES, Outcome, Votes, VotesError
from tests.support.arenas import (
    POINTS,
    Arena,
    decided,
    even_votes,
    tuple_arena,
    voter_arena,
    votes_of_wins,
)


def reach(found: Intervals) -> np.ndarray:
    return (found.high - found.low) / 2


def covered(arena: Arena, cluster) -> float:
    """Return the share of models whose planted rating lies inside its interval."""
    fit = bradley_terry(win_matrix(arena.votes))
    found = intervals(fit, arena.votes, cluster)
    return float(np.mean((found.low <= arena.truth) & (arena.truth <= found.high)))


def coverage(seed: int, arenas: int, cluster, arena, *shape) -> float:
    share = float(
        np.mean([covered(arena(seed + number, *shape), cluster) for number in range(arenas)])
    )
    print(f"seeds {seed} to {seed + arenas - 1}, {arena.__name__}{shape}: {share:.4f} by {cluster}")
    return share


SHAPES = [
    (20, 10_000, 120),
    (20, 100_000, 60),
    (100, 10_000, 30),
    (100, 100_000, 15),
    (300, 100_000, 8),
]


@pytest.mark.parametrize(
    ("models", "number", "arenas"),
    [
        SHAPES[0],
        *(
            pytest.param(*shape, marks=pytest.mark.soak)
            for shape in (*SHAPES[1:], (300, 10_000, 12))
        ),
    ],
)
def test_tuple_intervals_cover_the_planted_truth_and_per_vote_ones_do_not(models, number, arenas):
    assert 0.93 <= coverage(models + number, arenas, "tuple", tuple_arena, models, number) <= 0.98
    assert coverage(models + number, max(4, arenas // 8), "vote", tuple_arena, models, number) < 0.9


@pytest.mark.soak
@pytest.mark.parametrize(("models", "arenas"), [(20, 120), (100, 30), (300, 12)])
def test_coverage_at_a_million_votes(models, arenas):
    assert 0.93 <= coverage(77, arenas, "tuple", tuple_arena, models, 1_000_000) <= 0.97
    assert 0.93 <= coverage(99, arenas, "vote", tuple_arena, models, 1_000_000, 1, 0.0) <= 0.97


@pytest.mark.parametrize(
    ("models", "number", "arenas"),
    [SHAPES[0], *(pytest.param(*shape, marks=pytest.mark.soak) for shape in SHAPES[1:4])],
)
def test_per_vote_intervals_cover_where_votes_are_independent(models, number, arenas):
    assert (
        0.93
        <= coverage(number - models, arenas, "vote", tuple_arena, models, number, 1, 0.0)
        <= 0.97
    )


def test_voter_intervals_cover_where_voters_have_their_ways():
    shape = (voter_arena, 20, 20_000, 150, 0.6)
    assert 0.93 <= coverage(500, 60, "voter", *shape) <= 0.97
    assert coverage(500, 20, "vote", *shape) < 0.9


@pytest.mark.parametrize("voters", [1, 2, 3, 5, 10, 40])
def test_voter_intervals_cover_however_few_voters_there_are(voters):
    """Of votes that are independent; without Student's quantile 2, 3 and 5 voters covered 72, 78 and 88%."""
    inside = []
    for seed in range(60):
        arena = tuple_arena(seed, 7, 1000, 1, 0.0)
        votes = replace(arena.votes, voters=np.random.default_rng(seed).integers(0, voters, 1000))
        inside.append(covered(arena._replace(votes=votes), "voter"))
    assert np.mean(inside) >= 0.925


@pytest.mark.parametrize(
    ("items", "votes"), [(1, 10), (1, 99), (1, 10_000), (2, 10), (3, 30), (6, 60), (20, 200)]
)
def test_intervals_cover_two_models_on_however_few_items(items, votes):
    """Each item leans to a side of its own, by log odds with deviation 1; asked is how items lean on the average."""
    coin, inside = np.random.default_rng(items), []
    for _ in range(150):
        item = np.arange(votes) % items
        lean = coin.normal(0, 1, items)
        lost = coin.random(votes) > 1 / (1 + np.exp(-lean[item]))
        told = Votes(np.zeros(votes, int), np.ones(votes, int), lost.astype(np.int8), 2, item)
        found = intervals(bradley_terry(win_matrix(told)), told, "item")
        inside.append(found.low[0] <= 1000 <= found.high[0])
    assert np.mean(inside) >= 0.9


def test_one_item_tells_no_more_than_one_vote():
    """Ninety-nine people on one item: who is better there, but not who is better."""
    one, many = decided([0], [1], 2), decided([0] * 55 + [1] * 44, [1] * 55 + [0] * 44, 2)
    many = replace(many, items=np.zeros(99, int))
    found = intervals(bradley_terry(win_matrix(many)), many, "item")
    alone = intervals(bradley_terry(win_matrix(one)), one, "vote")
    assert (found.high - found.low > 0.8 * (alone.high - alone.low)).all() and found.few.all()
    assert ranks(bradley_terry(win_matrix(many)), found).tolist() == [1, 1]


@pytest.mark.parametrize("links", [[(0, 1), (1, 2)], [(0, 1), (0, 2)], [(0, 1), (1, 2), (2, 3)]])
def test_models_each_linked_by_one_item_are_no_surer_than_by_one_vote_each(links):
    """The fit meets every item, so that none surprises; who stood in the middle had 46 points to either side."""
    models, links = len(links) + 1, np.array(links)
    a, b = np.repeat(links, 50, axis=0).T
    votes = Votes(
        a, b, np.tile([0] * 30 + [1] * 20, len(links)), models, np.repeat(np.arange(len(links)), 50)
    )
    found = intervals(bradley_terry(win_matrix(votes)), votes, "item")
    one_vote = np.zeros((models, models))
    np.add.at(
        one_vote, (links[:, [0, 1, 0, 1]], links[:, [0, 1, 1, 0]]), [0.24, 0.24, -0.24, -0.24]
    )
    errors = np.sqrt(np.linalg.pinv(one_vote).diagonal()) * POINTS
    assert (found.high - found.low > 2 * 1.8 * errors).all() and found.few.all()


def test_one_item_between_two_groups_tells_no_more_than_one_vote():
    """Within each group votes are plenty; how it stands to the other, half of it for each, is one item's word."""
    for seed in range(20):
        one, other = tuple_arena(seed, 5, 2000).votes, tuple_arena(seed + 100, 5, 2000).votes
        a, b, outcome, item = (
            np.concatenate([one.a, other.a + 5, np.zeros(40, int)]),
            np.concatenate([one.b, other.b + 5, np.full(40, 5)]),
            np.concatenate([one.outcome, other.outcome, np.tile([0, 0, 0, 1, 1], 8)]),
            np.concatenate(
                [np.arange(len(one)) // 5, np.arange(len(other)) // 5 + 400, np.full(40, 800)]
            ),
        )
        votes = Votes(a, b, outcome, 10, item)
        found = intervals(bradley_terry(win_matrix(votes)), votes, "item")
        assert (
            found.high - found.low > 1.6 * np.sqrt(1 / 0.24) * POINTS
        ).all() and found.few.all(), seed


def test_ties_alone_leave_room_and_order_nobody():
    """Sixty ties among three models: nobody is above anybody, and that is not certain to the point."""
    a, b = np.array([0, 1, 2] * 20), np.array([1, 2, 0] * 20)
    votes = Votes(a, b, np.full(60, Outcome.TIE), 3)
    fit = bradley_terry(win_matrix(votes))
    found = intervals(fit, votes, "vote")
    assert (found.high - found.low > 50).all()
    assert np.isfinite(found.covariance).all()
    places = rank_sets(fit, found)
    assert (places.low.tolist(), places.high.tolist()) == ([1, 1, 1], [3, 3, 3])


def corrected_sandwich(votes, cluster: np.ndarray, prior: float) -> np.ndarray:
    """The variances of the centred strengths, written out over single votes, each cluster's score corrected (CR3)."""
    fit = bradley_terry(win_matrix(votes), prior)
    m, theta = votes.models, fit.strengths
    design = np.zeros((len(votes), m))
    design[np.arange(len(votes)), votes.a] += 1
    design[np.arange(len(votes)), votes.b] -= 1
    chance = 1 / (1 + np.exp(-design @ theta))
    own = 1 / (1 + np.exp(-theta))
    told = design * (chance * (1 - chance))[:, None]
    bread = np.linalg.pinv(told.T @ design + np.diag(2 * prior * own * (1 - own)))
    score = design * (SCORES[votes.outcome] - chance)[:, None]
    corrected = []
    for those in (cluster == one for one in np.unique(cluster)):
        left = np.eye(m) - MOST_LEVERAGE * told[those].T @ design[those] @ bread
        corrected.append(np.linalg.pinv(left) @ score[those].sum(0))
    moved = np.array(corrected) @ bread @ (np.eye(m) - 1 / m)
    return (moved**2).sum(0) * POINTS**2


@pytest.mark.parametrize("prior", [0, 0.5])
@pytest.mark.parametrize("who_vote_once", [0, 40])
def test_voter_intervals_are_the_sandwich_written_out(prior, who_vote_once):
    voters = np.arange(400) % 7
    voters[:who_vote_once] = 7 + np.arange(who_vote_once)
    votes = replace(even_votes(3, 5, 400, ties=0.2), voters=voters)
    fit = bradley_terry(win_matrix(votes), prior)
    assert votes.voters is not None
    sizes = np.zeros((7 + who_vote_once, 5))
    for side in (votes.a, votes.b):
        np.add.at(sizes, (votes.voters, side), 1)
    degrees = freedom(sizes.sum(0), (sizes**2).sum(0), sizes.max(0))
    quantile = t.ppf(0.975, degrees)
    expected = quantile * np.sqrt(corrected_sandwich(votes, votes.voters, prior))
    assert reach(intervals(fit, votes, "voter")) == pytest.approx(expected, rel=1e-3)


def jackknifed(votes, codes: np.ndarray, prior: float) -> np.ndarray:
    """Variances of the ratings by leaving out one cluster at a time, each fit by one exact refit."""
    full = bradley_terry(win_matrix(votes), prior)
    left = [
        bradley_terry(win_matrix(votes.take(codes != one)), prior).ratings
        for one in range(codes.max() + 1)
    ]
    return ((np.array(left) - full.ratings) ** 2).sum(0)


@pytest.mark.parametrize("cluster", ["item", "tuple"])
def test_intervals_of_many_clusters_are_close_to_the_jackknife(cluster):
    votes = tuple_arena(8, 6, 1500).votes
    fit = bradley_terry(win_matrix(votes))
    errors = reach(intervals(fit, votes, cluster)) / 1.96
    assert errors**2 == pytest.approx(
        jackknifed(votes, cluster_codes(votes, cluster), 0.5), rel=0.15
    )


def test_a_tuple_is_an_item_and_a_pair_whichever_side_each_stood_on():
    votes = replace(decided([0, 1, 0, 0], [1, 0, 1, 2], 3), items=np.array([7, 7, 8, 7]))
    assert cluster_codes(votes, "tuple").tolist() == [0, 0, 2, 1]
    assert cluster_codes(votes, "item").tolist() == [0, 0, 1, 0]


def test_many_clusters_are_summed_as_few_are(monkeypatch):
    """Blocks of clusters, and codes that are sorted as they are or by their digits, change nothing."""
    votes = tuple_arena(9, 6, 3000).votes
    fit = bradley_terry(win_matrix(votes))
    expected = intervals(fit, votes, "tuple")
    monkeypatch.setattr("arena.ratings.intervals.CLUSTERS_A_BLOCK", 7)
    assert intervals(fit, votes, "tuple").high == pytest.approx(expected.high, rel=1e-12)


def test_voters_with_tastes_widen_intervals_by_item_and_others_hardly():
    """Where only items are drawn anew, an interval by item alone would miss what voters like."""
    coin, wider = np.random.default_rng(5), []
    for taste in (0.0, 1.0):
        votes = even_votes(5, 6, 6000)
        liking = coin.normal(0, taste, (12, 6))
        voter = coin.integers(0, 12, 6000)
        lost = coin.random(6000) > 1 / (1 + np.exp(liking[voter, votes.b] - liking[voter, votes.a]))
        votes = replace(votes, outcome=lost.astype(np.int8), voters=voter)
        fit = bradley_terry(win_matrix(votes))
        by_item = intervals(fit, replace(votes, voters=None), "item")
        wider.append(reach(intervals(fit, votes, "item")).mean() / reach(by_item).mean())
    assert wider[0] < 1.35 and wider[1] > 3, wider


def test_one_voter_or_unnamed_ones_tell_nothing_of_others():
    votes = even_votes(5, 6, 600)
    fit = bradley_terry(win_matrix(votes))
    unnamed = intervals(fit, replace(votes, voters=None), "item")
    alone = intervals(fit, replace(votes, voters=np.zeros(600, int)), "item")
    several = intervals(fit, replace(votes, voters=np.arange(600) % 2), "item")
    assert alone.high == pytest.approx(unnamed.high)
    assert (alone.for_new_voters, unnamed.for_new_voters, several.for_new_voters) == (0, 0, 1)
    assert not intervals(fit, votes, "tuple").for_new_voters
    assert intervals(fit, votes, "voter").for_new_voters


def test_degrees_of_freedom_are_those_of_equal_clusters_and_more_where_one_is_busy():
    """A busy cluster beside twenty equal ones: Kish's number alone gave Student's quantile for one degree."""

    def of(*sizes: float) -> float:
        told = np.array(sizes, float)
        return float(freedom(told.sum(), (told**2).sum(), told.max()))

    assert of(7) == 0
    assert of(3, 3) == pytest.approx(1) and of(*[2] * 9) == pytest.approx(8)
    assert 2.5 < of(80, *[1] * 20) < 4
    assert of(50, 50, *[0.1] * 40) < 1.3, "two busy ones are two"


def test_a_model_that_one_voter_judged_is_no_surer_than_by_one_vote_for_each_pair():
    """What he thinks of it, others may not: its intervals held the truth in 32% of arenas."""
    votes = even_votes(5, 6, 3_000)
    on_first = (votes.a == 0) | (votes.b == 0)
    several = np.arange(3_000) % 30
    fit = bradley_terry(win_matrix(votes))
    by_all = reach(intervals(fit, replace(votes, voters=several), "item"))
    by_one = replace(votes, voters=np.where(on_first, 99, several))
    found = reach(intervals(fit, by_one, "item"))
    assert found[0] > 1.96 * POINTS * np.sqrt(1 / (5 * 0.25)) * 5 / 6
    assert (found > by_all).all() and found[1:].max() < 0.4 * found[0]


def test_five_equal_votes_of_a_tuple_say_as_much_as_one():
    once = even_votes(9, 5, 500)
    once = replace(once, items=np.arange(500))
    fivefold = once.take(np.repeat(np.arange(500), 5))
    alone = intervals(bradley_terry(win_matrix(once), 0), once, "tuple")
    together = intervals(bradley_terry(win_matrix(fivefold), 0), fivefold, "tuple")
    naive = intervals(bradley_terry(win_matrix(fivefold), 0), fivefold, "vote")
    assert reach(together) == pytest.approx(reach(alone), rel=0.01), (
        "but for the leverage, of which they take a step"
    )
    assert reach(naive) == pytest.approx(reach(alone) / np.sqrt(5), rel=0.02)


@pytest.mark.parametrize("prior", [0, 0.5])
def test_boards_with_hardly_a_vote_get_finite_intervals_or_none(prior):
    for votes in (decided([], [], 3), decided([0], [1], 3), decided([0] * 5, [1] * 5, 2)):
        votes = replace(votes, items=np.arange(len(votes)), voters=np.zeros(len(votes), int))
        fit = bradley_terry(win_matrix(votes), prior)
        for cluster in ("vote", "item", "tuple", "voter"):
            found = intervals(fit, votes, cluster)
            numbered = ~np.isnan(fit.ratings)
            assert np.isfinite(found.low[numbered]).all()
            assert np.isnan(found.low[~numbered]).all()
            assert ranks(fit, found)[numbered].tolist() == [1] * int(numbered.sum())


def test_an_unbeaten_model_has_a_wide_interval():
    wins = win_matrix(even_votes(4, 4, 400))
    wins = np.pad(wins, (0, 1))
    wins[4, :4] = 2
    fit = bradley_terry(wins)
    found = intervals(fit, votes_of_wins(wins), "vote")
    assert fit.statuses[4] == Status.UNBEATEN
    assert reach(found)[4] > 5 * reach(found)[:4].max()
    assert found.low[4] > 1000


def test_ranks_count_those_who_are_surely_above_and_only_among_comparable_models():
    wins = np.zeros((5, 5))
    wins[0, 1] = wins[1, 2] = 3
    wins[1, 0] = wins[2, 1] = 1
    wins[3, 4] = wins[4, 3] = 1
    fit = bradley_terry(wins)
    bounds = Bounds(np.array([1100, 1000, 900, 2000, 1.0]), np.array([1200, 1050, 1001, 2001, 2.0]))
    assert ranks(fit, bounds).tolist() == [1, 2, 2, 1, 2]
    unplayed = bradley_terry(np.pad(wins, (0, 1)))
    assert (
        ranks(unplayed, Bounds(np.append(bounds.low, np.nan), np.append(bounds.high, np.nan)))[5]
        == 0
    )


def test_clusters_need_their_columns():
    votes = decided([0], [1], 2)
    fit = bradley_terry(win_matrix(votes))
    for cluster, missing in (
        ("item", "which item"),
        ("tuple", "which item"),
        ("voter", "which people cast"),
    ):
        with pytest.raises(VotesError, match=missing):
            intervals(fit, votes, cluster)


def test_two_items_with_unequal_votes_are_no_more_than_two():
    """Whose effective number is below two: Student's quantile for one degree of freedom is six times the normal's."""
    reaches = []
    for sizes in ([333, 333, 334], [500, 500], [505, 495], [600, 400]):
        item, rng = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(4)
        won = rng.random(1000) < np.array([0.8, 0.4, 0.6])[item]
        votes = replace(
            even_votes(2, 5, 1000), outcome=(~won).astype(np.int8), items=item, voters=None
        )
        reaches.append(reach(intervals(bradley_terry(win_matrix(votes)), votes, "item"))[0])
    assert min(reaches[1:]) > 2.5 * reaches[0]


@pytest.mark.parametrize("number", [60, 3000])
@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("shared", [False, True])
def test_voters_who_never_meet_a_second_item_add_nothing(number, each, shared):
    """One file has one interval, whether voters are unknown or each has a name of his own."""
    votes = even_votes(5, 6, number)
    voters = np.arange(number) // each
    votes = replace(votes, items=voters % 40 if shared else voters, voters=voters)
    fit = bradley_terry(win_matrix(votes))
    by_item = intervals(fit, replace(votes, voters=None), "item")
    assert intervals(fit, votes, "item").high == pytest.approx(by_item.high, rel=1e-9)
