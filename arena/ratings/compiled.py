"""Compiled loops: `elo_orders.py` and `bootstrap.py` in numba, imported only where it is installed and asked for."""

from threading import Lock

import numpy as np
from numba import njit, prange

ORDERS_A_SHUFFLE = 50
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
NODES_A_UNIT, REACH = 128, 40
"""Nodes of the logistic curve's table per unit of log odds, and its reach either way in log odds."""
CENTRE = REACH * NODES_A_UNIT
STEPS_AT_ONCE = 256
"""Votes fetched before they are played, so that no rating waits for memory."""
STEPS_AHEAD = 32
"""The same where each vote comes with random numbers for many lanes."""
RUNS = Lock()
"""Numba's threads serve one caller at a time."""


def _curve():
    """Third-order Taylor series of the logistic curve around each node: nodes x powers."""
    chance = 1 / (1 + np.exp(-np.arange(-CENTRE, CENTRE + 1) / NODES_A_UNIT))
    slope = chance * (1 - chance)
    powers = (chance, slope, slope * (0.5 - chance), slope * (1 - 6 * slope) / 6)
    return np.stack([power / NODES_A_UNIT**degree for degree, power in enumerate(powers)], axis=1)


CURVE = _curve()


@njit(inline="always")
def _logistic(x, curve):
    """1 / (1 + e ** -(x / NODES_A_UNIT)), to 2e-12."""
    along = min(max(x + (CENTRE + 0.5), 0.0), 2.0 * CENTRE)
    node = np.uint64(along)
    d = along - 0.5 - np.float64(np.int64(node))
    return curve[node, 0] + d * (curve[node, 1] + d * (curve[node, 2] + d * curve[node, 3]))


@njit(inline="always")
def _mixed(number):
    """splitmix64's output for a state."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@njit(inline="always")
def _play(a, b, score, ratings, k, rate, curve):
    """Update the ratings of a vote's two models; unsigned codes spare numba the check for negative indices."""
    rating_a, rating_b = ratings[a], ratings[b]
    gain = k * (score - _logistic(rate * (rating_a - rating_b), curve))
    ratings[a] = rating_a + gain
    ratings[b] = rating_b - gain


@njit(inline="always")
def _play_packed(packed, ratings, k, rate, curve):
    for vote in packed:
        a, b = np.uint64(vote >> np.uint32(17)), np.uint64((vote >> np.uint32(2)) & np.uint32(32767))
        _play(a, b, 0.5 * np.float64(np.int64(vote & np.uint32(3))), ratings, k, rate, curve)


@njit(cache=True, error_model="numpy")
def elo(a, b, outcome, scores, models, k, rate):
    """Elo ratings minus their start after one pass over the votes."""
    ratings = np.zeros(models)
    for vote in range(len(a)):
        _play(np.uint64(a[vote]), np.uint64(b[vote]), scores[outcome[vote]], ratings, k, rate * NODES_A_UNIT, CURVE)
    return ratings


@njit(parallel=True, cache=True, error_model="numpy")
def elo_orders(drawn, models, k, rate):
    """Elo ratings minus their start, draws x models: each draw steps through its shuffled order by its stride."""
    orders, offset, stride = drawn
    draws, n = len(offset), orders.shape[1]
    ratings = np.zeros((draws, models))
    for draw in prange(draws):
        own, taken = np.zeros(models), np.empty(STEPS_AT_ONCE, np.uint32)
        order = orders[draw // ORDERS_A_SHUFFLE]
        place, hop = offset[draw], stride[draw]
        for first in range(0, n, STEPS_AT_ONCE):
            size = min(STEPS_AT_ONCE, n - first)
            for step in range(size):
                taken[step] = order[np.uint64(place)]
                place += hop
                if place >= n:
                    place -= n
            _play_packed(taken[:size], own, k, rate * NODES_A_UNIT, CURVE)
        ratings[draw] = own
    return ratings


@njit(inline="always")
def _exp(x):
    """e ** x to 1e-11 in plain arithmetic, which (unlike a call) is vectorised over lanes."""
    x = min(max(x, -700.0), 700.0)
    whole = np.floor(x * 1.4426950408889634 + 0.5)
    r = x - whole * 0.693145751953125 - whole * 1.42860682030941723212e-6
    e = 1.0 / 120 + r * (1.0 / 720 + r * (1.0 / 5040 + r * (1.0 / 40320 + r * (1.0 / 362880))))
    e = 1.0 + r * (1.0 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * e))))
    return e * np.int64((np.int64(whole) + 1023) << 52).view(np.float64)


@njit(inline="always")
def _play_lanes(ratings, a, b, numbers, step, won, unlost, k, rate):
    """Update the ratings of a step's two models in each lane, with the outcome that the lane's number stands for."""
    for lane in range(ratings.shape[1]):
        number = np.int64(numbers[step, lane])
        score = (0.5 if number < won else 0.0) + (0.5 if number < unlost else 0.0)
        rating_a, rating_b = ratings[a, lane], ratings[b, lane]
        gain = k * (score - 1.0 / (1.0 + _exp(rate * (rating_b - rating_a))))
        ratings[a, lane] = rating_a + gain
        ratings[b, lane] = rating_b - gain


@njit(parallel=True, cache=True, error_model="numpy", fastmath={"contract"})
def elo_bootstrap(drawn, models, k, rate):
    """Elo ratings minus their start, blocks x models x lanes: `elo_orders._plain_draws` in numba.

    Pairs and numbers are fetched some steps ahead, and the lanes of a step are one plain loop, which is vectorised over
    them.
    """
    pair, low, high, won, unlost, key, lane_keys = drawn
    blocks, twos, n = len(key), lane_keys.shape[1], len(pair)
    ratings = np.empty((blocks, models, 2 * twos))
    for block in prange(blocks):
        own, keys = np.zeros((models, 2 * twos)), lane_keys[block]
        pairs, mixed = np.empty(STEPS_AHEAD, np.uint32), np.empty((STEPS_AHEAD, twos), np.uint64)
        numbers = mixed.view(np.uint32)
        for first in range(0, n, STEPS_AHEAD):
            size = min(STEPS_AHEAD, n - first)
            for step in range(size):
                jump = np.uint64(first + step) * GOLDEN
                pairs[step] = pair[((_mixed(key[block] + jump) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)]
                for two in range(len(keys)):
                    mixed[step, two] = _mixed(keys[two] + jump)
            for step in range(size):
                met = np.uint64(pairs[step])
                _play_lanes(
                    own, np.uint64(low[met]), np.uint64(high[met]), numbers, step, won[met], unlost[met], k, rate
                )
        ratings[block] = own
    return ratings


@njit(inline="always")
def _draw(normal, normals, pairs, least, won, votes):
    """Sum the drawn weights of a block's clusters by pair, of votes won and of all votes, into pairs x lanes."""
    low, _, starts, root, reach, cluster_won, cluster_votes = pairs
    lanes = normal.shape[1]
    for pair in range(len(low)):
        won[pair, :] = 0.0
        votes[pair, :] = 0.0
        end = starts[pair + 1] if pair + 1 < len(low) else len(root)
        for kind in range(starts[pair], end):
            for lane in range(lanes):
                weight = max(root[kind] + reach[kind] * normals[normal[kind, lane]], least)
                weight *= weight * weight
                won[pair, lane] += cluster_won[kind] * weight
                votes[pair, lane] += cluster_votes[kind] * weight


@njit(inline="always")
def _slopes(strengths, pairs, prior, won, votes, slopes):
    """Set wins minus expected wins: models x lanes."""
    low, high = pairs[0], pairs[1]
    models, lanes = strengths.shape
    for model in range(models):
        for lane in range(lanes):
            slopes[model, lane] = prior * (1.0 - 2.0 / (1.0 + _exp(-strengths[model, lane])))
    for pair in range(len(low)):
        a, b = low[pair], high[pair]
        for lane in range(lanes):
            chance = 1.0 / (1.0 + _exp(strengths[b, lane] - strengths[a, lane]))
            surplus = won[pair, lane] - votes[pair, lane] * chance
            slopes[a, lane] += surplus
            slopes[b, lane] -= surplus


@njit(inline="always")
def _moves(slopes, inverse, moves, step):
    """Set the steps that the fit's own curvature gives for the slopes, and the largest step in each lane."""
    models, lanes = slopes.shape
    moves[:] = 0.0
    step[:] = 0.0
    for model in range(models):
        for other in range(models):
            for lane in range(lanes):
                moves[model, lane] += inverse[model, other] * slopes[other, lane]
        for lane in range(lanes):
            step[lane] = max(step[lane], abs(moves[model, lane]))


@njit(inline="always")
def _move(strengths, moves, step, share, before, wanted, settled):
    """Take each lane's share of its step and set the next share; returns whether any lane goes on."""
    models, lanes = strengths.shape
    for lane in range(lanes):
        if step[lane] > wanted * before[lane]:
            share[lane] /= 2
    for model in range(models):
        for lane in range(lanes):
            strengths[model, lane] += share[lane] * moves[model, lane]
    for lane in range(lanes):
        before[lane] = step[lane]
        if step[lane] < settled:
            share[lane] = 0.0
    return share.any()


@njit(parallel=True, cache=True, error_model="numpy", fastmath={"contract"})
def bootstrap(normal, normals, pairs, fitted, inverse, prior, least, wanted, settled, most):
    """Strengths of each draw, models x draws, and which draws converged: `bootstrap._settled` in numba."""
    blocks, _, lanes = normal.shape
    models = len(fitted)
    result = np.empty((models, blocks * lanes))
    done = np.zeros(blocks * lanes, np.bool_)
    for block in prange(blocks):
        won, votes = np.empty((len(pairs[0]), lanes)), np.empty((len(pairs[0]), lanes))
        _draw(normal[block], normals, pairs, least, won, votes)
        strengths, slopes, step_by = np.empty((models, lanes)), np.empty((models, lanes)), np.empty((models, lanes))
        for model in range(models):
            strengths[model, :] = fitted[model]
        share, before, step = np.ones(lanes), np.full(lanes, np.inf), np.empty(lanes)
        going, moves = True, 0
        while going and moves < most:
            _slopes(strengths, pairs, prior, won, votes, slopes)
            _moves(slopes, inverse, step_by, step)
            going = _move(strengths, step_by, step, share, before, wanted, settled)
            moves += 1
        result[:, block * lanes : (block + 1) * lanes] = strengths
        done[block * lanes : (block + 1) * lanes] = share == 0
    return result, done
