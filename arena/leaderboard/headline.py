"""Headline: a board's results in plain words.

The leader is found as in the table: by settled orders if the board has a record of them, else by ranks.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from arena.drawings import shortened
from arena.interval_text import spanned
from arena.leaderboard.board import Board, Span, Standing
from arena.leaderboard.statistics import TRUSTED
from arena.locale import named, t, translated
from arena.ratings.bradley_terry import Status
from arena.ratings.settled import ORDER_WORDS

MOST_NAMES = 3
STATUS_WORDS = {
    Status.UNBEATEN: "has not lost yet",
    Status.WINLESS: "has not won yet",
    Status.SEPARATED: "its group only won, or only lost, against the others",
    Status.UNPLAYED: "has no battle yet",
}
"""Why votes alone don't determine a model's strength, in a few words."""
_LETTERS = 48
"""The most letters of a model's name in a sentence."""


def headline(board: Board) -> str:
    """Returns sentences with the leader and the models still gathering votes, then the clear places."""
    if not board.votes:
        excluded = board.left_out
        # Imported votes that don't count are summed up too.
        is_any_excluded = (
            excluded.flagged or excluded.of_crowd or excluded.uncounted or board.import_summary
        )
        return t("headline.none_counts" if is_any_excluded else "headline.no_vote")
    ranked = _ranked(board)
    if board.statistics is None:
        sentence = t("headline.computing", votes=t("board.votes", count=board.votes))
    elif len(ranked) < 2:
        sentence = t("headline.too_few", needed=_votes_needed(board))
    else:
        clauses = [*_leader_clauses(board, ranked), *_gathering_clauses(board.standings)]
        sentence = t("headline.and").join(clauses)
        if len(board.groups) > 1:
            sentence = t("headline.group", groups=len(board.groups), sentence=sentence)
    voters = _voters(board)
    if voters:
        sentence = t("headline.by", voters=voters, sentence=sentence)
    # With one group it may begin with a model's name, which keeps its small letter.
    if len(board.groups) > 1:
        sentence = sentence[0].upper() + sentence[1:]
    sentences = [t("headline.stop", sentence=sentence), orders_in_words(ranked)]
    return t("pages.gap").join(filter(None, sentences))


def votes_to_rank(models: int) -> int:
    """Returns the approximate number of votes that rank this many models; each vote is for two models."""
    return (TRUSTED * models + 1) // 2


def _ranked(board: Board) -> list[Standing]:
    """Returns the ranked models of the main group, best first."""
    return [line for line in main_group(board) if line.rank is not None]


def _leader_clauses(board: Board, ranked: Sequence[Standing]) -> list[str]:
    if not any(line.order for line in ranked):
        return ranks_in_words({line.model: line.rank.value for line in ranked if line.rank})
    first, *rivals = leaders(board)
    if not rivals:
        return [t("headline.leads", model=enumeration([first]))]
    return [t("headline.leads_open", model=enumeration([first]), rivals=enumeration(rivals))]


def _votes_needed(board: Board) -> str:
    """Returns the number of votes and about how many rank every model that isn't retired, in words."""
    lacking = sum(max(0, TRUSTED - line.votes) for line in board.standings if not line.retired)
    if not lacking:
        return t("headline.too_wide")
    return t("headline.of_about", votes=board.votes, needed=board.votes + (lacking + 1) // 2)


def voters_caveat(board: Board) -> str:
    """Returns words for intervals that are for these voters only; "" if they include new voters, or are by judges."""
    statistics = board.statistics
    if statistics is None or statistics.for_new_voters or is_by_judge(board):
        return ""
    return t("headline.only")


def is_by_judge(board: Board) -> bool:
    """Returns whether a judge model cast a board's votes."""
    return board.import_summary is not None and board.import_summary.judge


def main_group(board: Board) -> Sequence[Standing]:
    """Returns the group of models for the headline and the chart: the largest with ranks, else the largest."""
    for group in board.groups:
        if sum(line.rank is not None for line in group) > 1:
            return group
    return board.groups[0] if board.groups else ()


def orders_in_words(ranked: Sequence[Standing]) -> str:
    """Returns a sentence such as "Places 1–2 are clear; 3–5 are not settled yet.", or "" if no order is settled.

    A place is clear if it is clear of each neighbour.
    """
    states = [line.order.state for line in ranked if line.order]
    if "settled" not in states:
        return ""
    places_of: dict[str, list[str]] = {state: [] for state in ORDER_WORDS}
    # An order is of two neighbouring places, so a run of equal states covers one place more than it has orders.
    place = 1
    for state, run in groupby(states):
        first = place
        last = place + len(list(run))
        place = last
        if state == "settled":
            # A place at the edge of a run is settled to one side only, unless it is the first or last of all.
            if first > 1:
                first += 1
            if last <= len(states):
                last -= 1
        if first <= last:
            places_of[state].append(str(first) if first == last else f"{first}\u2013{last}")
    are_all_open = not places_of["settled"] and not places_of["contradicted"]
    named_places = {state: places for state, places in places_of.items() if places}
    clauses = [_places_clause(state, places) for state, places in named_places.items()]
    places_of_first_clause = next(iter(named_places.values()))
    return t(
        "headline.place" if _is_one(places_of_first_clause) else "headline.places",
        clauses=t("headline.and").join(clauses),
        apart=t("headline.apart") if are_all_open else "",
    )


def _places_clause(state: str, places: Sequence[str]) -> str:
    key = "headline.place_is" if _is_one(places) else "headline.places_are"
    return t(key, places=enumeration(places), state=translated(ORDER_WORDS[state]))


def _is_one(places: Sequence[str]) -> bool:
    """Returns whether these are a single place, such as "3"; "3–5" is several."""
    return len(places) == 1 and places[0].isdecimal()


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
    first_and_rivals = [first.model]
    for line in others:
        order = board.placed_statistics.order(first.code, line.code)
        if order is None or order.state != "settled":
            first_and_rivals.append(line.model)
    return first_and_rivals


def places_in_words(rank: Span | None) -> str:
    """Returns the possible places of a model, from its rank's range; "" if that is unknown."""
    if rank is None or rank.low is None or rank.high is None:
        return ""
    if rank.low == rank.high:
        return t("headline.one_place", place=rank.low)
    return t("headline.span", places=spanned(rank.low, rank.high, ".0f"))


def needs_in_words(line: Standing) -> str:
    """Returns a few words on what an unranked model still needs; "" for a ranked one.

    A retired model gets no more votes, so it is "" for one that would need some.
    """
    if line.trust == "trusted":
        return ""
    if line.votes < TRUSTED and line.retired:
        return ""
    if line.votes < TRUSTED:
        return t("headline.needs", count=TRUSTED - line.votes)
    if line.status is Status.RATED:
        return t("headline.wide")
    return translated(STATUS_WORDS[line.status])


def name_forms(models: Iterable[str]) -> frozenset[str]:
    """Returns the models' names in both forms that sentences use: whole and shortened."""
    whole = [named(model) for model in models]
    short = [shortened(name, _LETTERS) for name in whole]
    return frozenset([*whole, *short])


def _voters(board: Board) -> str:
    """Returns the voters that a headline names; "" if the only board is of everyone's votes."""
    if board.key.everyone:
        return t("headline.by_everyone")
    if board.left_out.rule != "everyone":
        return t("headline.by_counted")
    return ""


def ranks_in_words(ranks: Mapping[str, float]) -> list[str]:
    """Returns clauses with the models of the first rank and of the next; models share a rank if intervals overlap."""
    first = [model for model, rank in ranks.items() if rank == 1]
    rest = [model for model in ranks if model not in first]
    if len(first) > 1 or not rest:
        return [_rank_clause(first, 1)]
    next_rank = ranks[rest[0]]
    next_models = [model for model in rest if ranks[model] == next_rank]
    return [_rank_clause(first, 1), _rank_clause(next_models, next_rank)]


def _rank_clause(models: Sequence[str], rank: float) -> str:
    key = "headline.share_rank" if len(models) > 1 else "headline.has_rank"
    return t(key, models=enumeration(models), rank=rank)


def _gathering_clauses(standings: Sequence[Standing]) -> list[str]:
    provisional = [line for line in standings if line.trust == "provisional"]
    unbeaten = [
        line.model
        for line in provisional
        if line.status is Status.UNBEATEN and line.votes >= TRUSTED
    ]
    others = [line.model for line in provisional if line.model not in unbeaten and not line.retired]
    clauses = []
    if unbeaten:
        clauses.append(t("headline.unbeaten", count=len(unbeaten), models=enumeration(unbeaten)))
    if others:
        clauses.append(t("headline.gathering", count=len(others), models=enumeration(others)))
    return clauses


def enumeration(models: Sequence[str]) -> str:
    """Returns up to MOST_NAMES names and the number of others, as in "A, B and 3 more"."""
    parts = [shortened(named(name), _LETTERS) for name in models[:MOST_NAMES]]
    more = len(models) - len(parts)
    if more:
        parts.append(t("names.more", count=more))
    if len(parts) < 2:
        return "".join(parts)
    return t("names.two", first=t("names.comma").join(parts[:-1]), last=parts[-1])
