"""Reveal: what the page tells with the names of a battle, from final votes and boards that were computed before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from arena.battles.outcomes import BattleOutcome, Outcomes
from arena.battles.store import BattleStore
from arena.interval_text import dashed
from arena.items.fact_store import FactStore
from arena.items.store import ItemBank
from arena.leaderboard.board import Board, Standing
from arena.leaderboard.service import Leaderboard
from arena.locale import t
from arena.templates import macros
from arena.types import SIDES, Battle, Names, Side
from arena.web.facts_view import at_reveal

HTML = macros("battle.html")
EVERY = 10
"""After so many votes, and each time after as many more, voters see which models they have preferred."""


class Told(NamedTuple):
    """The HTML of a reveal."""

    titles: Mapping[Side, str]
    others: str
    """The choices of others, as a sentence."""
    more: str
    votes: int
    """The number that the voter has given."""


@dataclass(frozen=True)
class Reveal:
    """Tells of revealed battles."""

    store: BattleStore
    items: ItemBank
    outcomes: Outcomes
    leaderboard: Leaderboard
    facts: FactStore

    def prepare(self, battle: Battle) -> None:
        """Have the battle's board computed in time for the reveal."""
        self._board(battle)

    def of(self, voter: int, battle: Battle, names: Names) -> Told:
        """Return what to tell; raises ChoiceError before the reveal."""
        board = self._board(battle)
        outcome = self.outcomes.outcome(voter, battle)
        lines = {line.model: line for line in board.standings} if board else {}
        facts = self.facts.snapshot()
        titles: dict[Side, str] = {}
        for side in SIDES:
            name = getattr(names, side)
            titles[side] = HTML.title(
                side,
                name,
                chosen=battle.choice == side,
                standing=_standing(lines.get(name), board),
                linked=True,
                about=at_reveal(facts.of(name)),
            )
        votes = self.store.votes_of(voter)
        mine = self.outcomes.preferences(voter) if votes and votes % EVERY == 0 else ()
        return Told(
            titles,
            others_line(outcome),
            HTML.outcome(outcome.reference, mine, battle.link),
            votes,
        )

    def _board(self, battle: Battle) -> Board | None:
        item = self.items.bank().items.get(battle.item)
        key = item and self.leaderboard.official_key(item.source, item.multi)
        return key and self.leaderboard.latest(key)


def _standing(line: Standing | None, board: Board | None) -> str:
    """Return a model's rank and rating with their ranges, in words."""
    if line is None or line.rank is None or board is None:
        return t("reveal.provisional") if line else ""
    ranked = sum(one.rank is not None for one in board.standings)
    said = t("reveal.rank", rank=round(line.rank.value), count=ranked)
    rank = line.rank
    has_range = False
    if rank.low is not None and rank.high is not None and rank.low != rank.high:
        has_range = True
        said += f" ({t('reveal.places', low=round(rank.low), high=round(rank.high))})"
    if line.rating is not None:
        said += f" · {line.rating.value:.0f}"
        rating_range = dashed(line.rating.low, line.rating.high)
        if rating_range:
            said += f" ({rating_range})"
            has_range = True
    return f"{said} · {t('reveal.level')}" if has_range else said


def others_line(outcome: BattleOutcome) -> str:
    if outcome.is_closed:
        return t("reveal.others_later")
    if not outcome.others:
        return t("reveal.first")
    if outcome.others == 1:
        return t("reveal.alike_one" if outcome.alike else "reveal.unlike_one")
    few = outcome.others < 5
    share = f"{outcome.alike}" if few else f"{outcome.alike / outcome.others:.0%}"
    return t("reveal.alike_few" if few else "reveal.alike", share=share, count=outcome.others)
