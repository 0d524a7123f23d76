"""Board sheet: a board as a table, for its page and its files."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from arena.interval_text import plus_minus
from arena.leaderboard.board import Board, Span, Standing, Trust
from arena.leaderboard.headline import is_by_judge, voters_caveat
from arena.leaderboard.statistics import FLOOR, ORDERS, TRUSTED, WIDE
from arena.locale import t, translated
from arena.model_facts import NO_FACTS, ModelFacts
from arena.ratings.bradley_terry import Status
from arena.ratings.intervals import FEW_CLUSTERS
from arena.ratings.settled import LOOK_EVERY, ORDER_WORDS
from arena.ratings.shares import Share
from arena.sheets import Column, Sheet, frame_of

MODEL = Column(
    "model",
    "Model",
    meaning=f"Models below the line are still gathering votes: they have under {TRUSTED}, an interval wider "
    f"than {plus_minus(WIDE, '.0f')} points, or only wins or only losses, maybe as a group against the others.",
)
RANK = Column(
    "rank",
    "Rank",
    "rank",
    "rank_low",
    "rank_high",
    dash=True,
    meaning="1 + the number of ranked models whose whole interval is above this one's. Below it: the places it may "
    "have. On 95% of boards, the true places of all models are within these ranges. The ranges are for a single look. "
    "If you look again and again, go by Lead over next.",
)
RATING = Column(
    "rating",
    "Elo rating",
    "score",
    "rating_low",
    "rating_high",
    places=0,
    dash=True,
    meaning="Bradley-Terry rating on the Elo scale, mean 1000, with a 95% interval for new items like these. A weak "
    "prior, one tied game against an average model, keeps it finite. Ratings describe the pairs that were played. "
    f"No interval below {FLOOR} votes.",
)
ORDER = Column(
    "order",
    "Lead over next",
    meaning="Clear: above the next model by a rule that holds however often you look. We look every "
    f"{LOOK_EVERY} votes, once there are {FEW_CLUSTERS} equally active voters. Not settled yet: how much of the "
    "required gap it has. No longer clear: it was clear, but later votes disagree.",
)
ELO = Column(
    "elo_median",
    "Elo, vote by vote (K=4)",
    "score",
    "elo_low",
    "elo_high",
    places=0,
    dash=True,
    meaning="Elo as VisIT-Bench and WildVision compute it, vote by vote (K=4, scale 400, start 1000). It's the median "
    f"over {ORDERS} random orders of the votes. The range is the spread over these orders, not a confidence interval.",
)
VOTES = Column(
    "votes",
    "Votes",
    "count",
    meaning="Battles of this model. Each battle counts for two models. Only imported votes have "
    "ties, and they count too.",
)
WIN_RATE = Column(
    "win_rate",
    "Win vs. reference",
    "percent",
    "win_rate_low",
    "win_rate_high",
    places=2,
    dash=True,
    meaning="Share of decided battles against reference answers that it won, with a 95% interval for new items. "
    "n: how many.",
)
MEAN_WIN_RATE = Column(
    "mean_win_rate",
    "Mean win rate",
    "percent",
    places=0,
    meaning="Predicted win rate against the other models in its group, on average.",
)
CHOSEN_LEFT = Column(
    "left_share",
    "Chosen left",
    "percent",
    "left_low",
    "left_high",
    places=0,
    dash=True,
    meaning="How often the left answer won in its decided battles. 50% if sides don't matter.",
)
COLUMNS = (MODEL, RANK, RATING, ELO, ORDER, VOTES, WIN_RATE, MEAN_WIN_RATE, CHOSEN_LEFT)


class BoardLine(NamedTuple):
    """A model's line in the files; blank where the board is blank."""

    group: int
    """The number of its group of comparable models, from 1."""
    rank: float | None
    rank_low: float | None
    rank_high: float | None
    model: str
    rating: float | None
    rating_low: float | None
    rating_high: float | None
    elo_median: float | None
    elo_low: float | None
    elo_high: float | None
    votes: int
    ties: int
    reference_wins: int | None
    reference_votes: int | None
    win_rate: float | None
    win_rate_low: float | None
    win_rate_high: float | None
    mean_win_rate: float | None
    left_share: float | None
    left_low: float | None
    left_high: float | None
    status: Status
    trust: Trust
    retired: bool
    order: str | None
    """The state of the order of this model and the next one, in words."""
    order_votes: int | None
    """The number of votes at which the order was settled."""
    order_progress: float | None
    """The share of the required gap that the order has."""
    interval_votes: int | None
    """The number of the board's votes when its intervals, ranges and Elo were computed."""
    interval_for: str | None
    """The voters that the intervals are for, in words."""
    # Facts about the model.
    organisation: str | None
    licence: str | None
    parameters: int | None
    released: str | None


def board_sheet(
    board: Board, title: str = "", facts: Mapping[str, ModelFacts] | None = None
) -> Sheet:
    """Returns a board's table without its empty columns; `facts` are by model."""
    return Sheet(
        "board",
        title or t("results.ranking"),
        frame_of(BoardLine, _lines(board, facts or {})),
        tuple(_columns(board)),
        note=t("board.sheet_note", votes=t("board.votes", count=board.votes)),
        whole=True,
        scrolls=True,
    )


def has_orders(board: Board) -> bool:
    return any(standing.order for standing in board.standings)


def has_intervals(board: Board) -> bool:
    """Returns whether a rating has an interval; also while they are being computed."""
    if board.statistics is None:
        return board.votes > 0
    ratings = [standing.rating for standing in board.standings]
    return any(rating and rating.low is not None for rating in ratings)


def _columns(board: Board) -> Iterator[Column]:
    """Yields the columns; the heads show if intervals are for these voters only."""
    caveat = voters_caveat(board)
    meets_reference = any(standing.win_rate for standing in board.standings)
    for column in COLUMNS:
        if column is ORDER and not has_orders(board):
            continue
        if column is WIN_RATE and not meets_reference:
            continue
        if caveat and column in (RATING, WIN_RATE):
            head = t("board.head_only", head=translated(column.head), only=caveat)
            meaning = t("board.meaning_only", meaning=translated(column.meaning), only=caveat)
            yield replace(column, head=head, meaning=meaning)
        else:
            yield column


def _lines(board: Board, facts: Mapping[str, ModelFacts]) -> Iterator[BoardLine]:
    interval_votes = None
    interval_for = None
    if board.statistics is not None:
        interval_votes = board.statistics.votes
        interval_for = voters_caveat(board) or t(
            "board.for_this_judge" if is_by_judge(board) else "board.for_voters_like_these"
        )
    for number, group in enumerate(board.groups, 1):
        for standing in group:
            model_facts = facts.get(standing.model, NO_FACTS)
            yield _line(number, standing, interval_votes, interval_for, model_facts)


def _line(
    group: int,
    standing: Standing,
    interval_votes: int | None,
    interval_for: str | None,
    facts: ModelFacts,
) -> BoardLine:
    rate = standing.win_rate
    order = standing.order
    return BoardLine(
        group=group,
        **_span_cells(standing.rank, "rank"),
        model=standing.model,
        **_span_cells(standing.rating, "rating"),
        **_span_cells(standing.elo, "elo", value_column="elo_median"),
        votes=standing.votes,
        ties=standing.ties,
        reference_wins=rate.hits if rate else None,
        reference_votes=rate.n if rate else None,
        **_span_cells(rate, "win_rate"),
        mean_win_rate=standing.mean_win_rate,
        **_span_cells(standing.left, "left", value_column="left_share"),
        status=standing.status,
        trust=standing.trust,
        retired=standing.retired,
        order=ORDER_WORDS[order.state] if order else None,
        order_votes=order.settled_at if order else None,
        order_progress=order.progress if order else None,
        interval_votes=interval_votes,
        interval_for=interval_for,
        organisation=facts.organisation,
        licence=facts.licence,
        parameters=facts.parameters,
        released=facts.released,
    )


def _span_cells(span: Span | Share | None, name: str, value_column: str = "") -> dict[str, Any]:
    """Returns a number and its range by their columns: `value_column` (by default `name`), name_low and name_high."""
    return {
        value_column or name: span.value if span else None,
        f"{name}_low": span.low if span else None,
        f"{name}_high": span.high if span else None,
    }
