"""Headline: a board's results in plain words.

The leader is found as in the table: by settled orders if the board has a record of them, else by ranks.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from arena.drawings import shortened
from arena.interval_text import spanned
from arena.leaderboard.board import Board, Span, Standing
from arena.leaderboard.statistics import TRUSTED
from arena.ratings.bradley_terry import Status
from arena.ratings.settled import ORDER_WORDS
from arena.templates import plural

MOST_NAMES = 3
STATUS_WORDS = {
    Status.UNBEATEN: "has not lost yet",
    Status.WINLESS: "has not won yet",
    Status.SEPARATED: "its group only won, or only lost, against the others",
    Status.UNPLAYED: "has no battle yet",
}
"""Why votes alone don't determine a model's strength, in a few words."""
_LETTERS = 48


def headline(board: Board) -> str:
    """Returns sentences with the leader and the models still gathering votes, then the clear places."""
    if not board.votes:
        excluded = board.left_out
        if excluded.flagged or excluded.of_crowd or excluded.uncounted:
            return "No vote counts on this board yet."
        return "Nobody has voted on this board yet."
    ranked = _ranked(board)
    if board.statistics is None:
        sentence = f"{plural(board.votes, 'vote')}; ranks follow in a moment"
    elif len(ranked) < 2:
        sentence = f"Not enough votes to rank yet: {_votes_needed(board)}"
    else:
        sentence = "; ".join([*_leads(board, ranked), *_gathering(board.standings)])
        if len(board.groups) > 1:
            start = "in" if _voters(board) else "In"
            sentence = f"{start} one of {len(board.groups)} groups that never met, {sentence}"
    return f"{_voters(board)}{sentence}. {orders_in_words(ranked)}".rstrip()


def votes_for(models: int) -> int:
    """Returns the approximate number of votes that rank this many models; each vote is for two models."""
    return (TRUSTED * models + 1) // 2


def _ranked(board: Board) -> list[Standing]:
    """Returns the ranked models of the main group, best first."""
    return [line for line in main_group(board) if line.rank is not None]


def _leads(board: Board, ranked: Sequence[Standing]) -> list[str]:
    if not any(line.order for line in ranked):
        return ranks_in_words({line.model: line.rank.value for line in ranked if line.rank})
    first, *rivals = leaders(board)
    if not rivals:
        return [f"{names([first])} leads"]
    return [f"{names([first])} leads, {ORDER_WORDS['open']} against {names(rivals)}"]


def _votes_needed(board: Board) -> str:
    """Returns the number of votes and about how many rank every model, in words."""
    lacking = sum(max(0, TRUSTED - line.votes) for line in board.standings)
    if not lacking:
        return "intervals are too wide, or a model has not won or lost"
    return f"{board.votes:,} of about {board.votes + (lacking + 1) // 2:,}"


def only_for(board: Board) -> str:
    """Returns words for intervals that are for these voters only; "" if they include new voters."""
    statistics = board.statistics
    judged = board.import_summary is not None and board.import_summary.judge
    holds = statistics is None or statistics.for_new_voters or judged
    return "" if holds else "for these voters only"


def main_group(board: Board) -> Sequence[Standing]:
    """Returns the group of models for the headline and the chart: the largest with ranks, else the largest."""
    for group in board.groups:
        if sum(line.rank is not None for line in group) > 1:
            return group
    return board.groups[0] if board.groups else ()


def orders_in_words(ranked: Sequence[Standing]) -> str:
    """Returns a sentence with the places that are clear of their neighbours and those that aren't.

    It is "" while no order is settled.
    """
    states = [line.order.state for line in ranked if line.order]
    if "settled" not in states:
        return ""
    places_of: dict[str, list[str]] = {state: [] for state in ORDER_WORDS}
    place = 1
    for state, run in groupby(states):
        first = place
        last = place + len(list(run))
        place = last
        if state == "settled":  # A place at the edge of a run is settled to one side only.
            first = first + (first > 1)
            last = last - (last <= len(states))
        if first <= last:
            places_of[state].append(str(first) if first == last else f"{first}\u2013{last}")
    apart = "" if places_of["settled"] or places_of["contradicted"] else ", clear of each other"
    clauses = []
    for state, places in places_of.items():
        if places:
            clauses.append(f"{names(places)} {_be(places)} {ORDER_WORDS[state]}")
    first_places = next(filter(None, places_of.values()))
    noun = "Place" if _be(first_places) == "is" else "Places"
    return f"{noun} {'; '.join(clauses)}{apart}."


def _be(places: Sequence[str]) -> str:
    return "is" if len(places) == 1 and places[0].isdecimal() else "are"


def leaders(board: Board) -> list[str]:
    """Returns the first model and those that it is not clear of, by settled orders if there is a record of them.

    Without a record it returns the models of the first rank. Empty while fewer than two have a rank.
    """
    ranked = _ranked(board)
    if len(ranked) < 2:
        return []
    first, *others = ranked
    if not any(line.order for line in ranked):
        return [line.model for line in ranked if line.rank and line.rank.value == 1]
    orders = [(line.model, board.ranking.order(first.code, line.code)) for line in others]
    rivals = [model for model, order in orders if order is None or order.state != "settled"]
    return [first.model, *rivals]


def places_in_words(rank: Span | None) -> str:
    """Returns the possible places of a model, from its rank's range; "" if that is unknown."""
    if rank is None or rank.low is None or rank.high is None:
        return ""
    if rank.low == rank.high:
        return f"place {rank.low:.0f}, 95%"
    return f"places {spanned(rank.low, rank.high, '.0f')}, 95%"


def needs(line: Standing) -> str:
    """Returns a few words on what an unranked model still needs; "" for a ranked one."""
    if line.trust == "trusted":
        return ""
    if line.votes < TRUSTED:
        return f"needs {plural(TRUSTED - line.votes, 'more vote')}"
    if line.status is Status.RATED:
        return "has too wide an interval"
    return STATUS_WORDS[line.status]


def written(models: Iterable[str]) -> frozenset[str]:
    """Returns names in both forms that sentences use: whole and shortened."""
    return frozenset(form for name in models for form in (name, shortened(name, _LETTERS)))


def _voters(board: Board) -> str:
    """Returns the start of a headline that names the voters; "" if the board's votes are everyone's."""
    if board.key.everyone:
        return "By everyone's votes: "
    return "By counted votes: " if board.left_out.rule != "everyone" else ""


def ranks_in_words(ranks: Mapping[str, float]) -> list[str]:
    """Returns clauses with the models of the first rank and of the next; models share a rank if intervals overlap."""
    first = [model for model, rank in ranks.items() if rank == 1]
    rest = [model for model in ranks if model not in first]
    if len(first) > 1 or not rest:
        return [_share(first, 1)]
    rank = ranks[rest[0]]
    return [_share(first, 1), _share([model for model in rest if ranks[model] == rank], rank)]


def _share(models: Sequence[str], rank: float) -> str:
    return f"{names(models)} {'share' if len(models) > 1 else 'has'} rank {rank:.0f}"


def _gathering(standings: Sequence[Standing]) -> list[str]:
    young = [line for line in standings if line.trust == "provisional"]
    unbeaten = [
        line.model for line in young if line.status is Status.UNBEATEN and line.votes >= TRUSTED
    ]
    others = [line.model for line in young if line.model not in unbeaten]
    has = "has" if len(unbeaten) == 1 else "have"
    gathers = "gathers" if len(others) == 1 else "gather"
    clauses = []
    if unbeaten:
        clauses.append(f"{names(unbeaten)} {has} not lost yet, and so no rank")
    if others:
        clauses.append(f"{names(others)} still {gathers} votes")
    return clauses


def names(models: Sequence[str]) -> str:
    """Returns up to three names and the number of others, as an enumeration."""
    parts = [shortened(name, _LETTERS) for name in models[:MOST_NAMES]]
    more = len(models) - len(parts)
    if more:
        parts.append(f"{more} more")
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
