"""Headline: what a board's votes tell in plain words.

Who leads is said by the table's own test: by settled orders where the board has a record of them, else by its ranks.
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
    """Returns who leads and who still gathers votes; then which places are clear."""
    if not board.votes:
        out = board.left_out
        left_out = out.flagged or out.of_crowd or out.uncounted
        return (
            "No vote counts on this board yet."
            if left_out
            else "Nobody has voted on this board yet."
        )
    ranked = _ranked(board)
    if board.statistics is None:
        told = f"{plural(board.votes, 'vote')}; ranks follow in a moment"
    elif len(ranked) < 2:
        told = f"Not enough votes to rank yet: {_votes_needed(board)}"
    else:
        one_of = f"n one of {len(board.groups)} groups that never met, "
        one_of = ("i" if _whose(board) else "I") + one_of if len(board.groups) > 1 else ""
        told = one_of + "; ".join([*_leads(board, ranked), *_gathering(board.standings)])
    return f"{_whose(board)}{told}. {orders_in_words(ranked)}".rstrip()


def votes_for(models: int) -> int:
    """Returns about how many votes give so many models their ranks: each vote is of two models."""
    return (TRUSTED * models + 1) // 2


def _ranked(board: Board) -> list[Standing]:
    """Returns the models with a rank of the group that the headline is about, the best first."""
    return [line for line in main_group(board) if line.rank is not None]


def _leads(board: Board, ranked: Sequence[Standing]) -> list[str]:
    if not any(line.order for line in ranked):
        return ranks_in_words({line.model: line.rank.value for line in ranked if line.rank})
    first, *rivals = leaders(board)
    if not rivals:
        return [f"{names([first])} leads"]
    return [f"{names([first])} leads, {ORDER_WORDS['open']} against {names(rivals)}"]


def _votes_needed(board: Board) -> str:
    """Says how many votes there are, of about how many that give every model of the board its rank."""
    lacking = sum(max(0, TRUSTED - line.votes) for line in board.standings)
    if not lacking:
        return "intervals are too wide, or a model has not won or lost"
    return f"{board.votes:,} of about {board.votes + (lacking + 1) // 2:,}"


def only_for(board: Board) -> str:
    """Returns words that mark intervals which hold for the voters of these votes only; "" where they hold for
    others.
    """
    statistics = board.statistics
    judged = board.import_summary is not None and board.import_summary.judge
    holds = statistics is None or statistics.for_new_voters or judged
    return "" if holds else "for these voters only"


def main_group(board: Board) -> Sequence[Standing]:
    """Returns the group of models that sentence and chart are about: the largest with ranks, else the largest."""
    ranked = (group for group in board.groups if sum(line.rank is not None for line in group) > 1)
    return next(ranked, board.groups[0] if board.groups else ())


def orders_in_words(ranked: Sequence[Standing]) -> str:
    """Says which places are clear of their neighbours, and which are not; "" while no order is settled."""
    states = [line.order.state for line in ranked if line.order]
    if "settled" not in states:
        return ""
    found: dict[str, list[str]] = {state: [] for state in ORDER_WORDS}
    place = 1
    for state, run in groupby(states):
        first = place
        last = place + len(list(run))
        place = last
        if state == "settled":  # a place at the edge of a run is settled to one side alone
            first = first + (first > 1)
            last = last - (last <= len(states))
        if first <= last:
            found[state].append(str(first) if first == last else f"{first}\u2013{last}")
    apart = "" if found["settled"] or found["contradicted"] else ", clear of each other"
    said = [
        f"{names(places)} {_be(places)} {ORDER_WORDS[state]}"
        for state, places in found.items()
        if places
    ]
    return f"Place{'' if _be(next(filter(None, found.values()))) == 'is' else 's'} {'; '.join(said)}{apart}."


def _be(places: Sequence[str]) -> str:
    return "is" if len(places) == 1 and places[0].isdecimal() else "are"


def leaders(board: Board) -> list[str]:
    """Returns the first model and those that it is not clear of, by settled orders where there is a record of them.

    Else the models of the first rank. None while fewer than two have a rank.
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
    """Returns the places that a model may have, as a rank's range gives them; "" where it is not known."""
    if rank is None or rank.low is None or rank.high is None:
        return ""
    if rank.low == rank.high:
        return f"place {rank.low:.0f}, 95%"
    return f"places {spanned(rank.low, rank.high, '.0f')}, 95%"


def needs(line: Standing) -> str:
    """Returns what a model without a rank still lacks, in a few words; "" for one with a rank."""
    if line.trust == "trusted":
        return ""
    if line.votes < TRUSTED:
        return f"needs {plural(TRUSTED - line.votes, 'more vote')}"
    if line.status is Status.RATED:
        return "has too wide an interval"
    return STATUS_WORDS[line.status]


def written(models: Iterable[str]) -> frozenset[str]:
    """Returns names as sentences write them: whole, or shortened."""
    return frozenset(form for name in models for form in (name, shortened(name, _LETTERS)))


def _whose(board: Board) -> str:
    if board.key.everyone:
        return "By everyone's votes: "
    return "By counted votes: " if board.left_out.rule != "everyone" else ""


def ranks_in_words(ranks: Mapping[str, float]) -> list[str]:
    """Says who has the first rank and who the next: models of one rank are those whose intervals overlap the best."""
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
    told = [f"{names(unbeaten)} {has} not lost yet, and so no rank"] if unbeaten else []
    return told + ([f"{names(others)} still {gathers} votes"] if others else [])


def names(models: Sequence[str]) -> str:
    """Returns up to three names, and how many more there are."""
    shown = [shortened(name, _LETTERS) for name in models[:MOST_NAMES]]
    more = len(models) - len(shown)
    shown += [f"{more} more"] if more else []
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
