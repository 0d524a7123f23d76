"""Reveal: what the page shows with the names of a battle, from final votes and boards that were computed before."""

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
from arena.web.facts_view import reveal_facts

HTML = macros("battle.html")
PREFERENCES_EVERY = 10
"""Once in this many votes, voters see which models they have preferred."""


class RevealedParts(NamedTuple):
    """The HTML of a reveal."""

    titles: Mapping[Side, str]
    others: str
    """The choices of others, as a sentence."""
    outcome: str
    """The reference's answer, if neither side was it; once in PREFERENCES_EVERY votes also the preferred models."""
    votes: int
    """The number of votes that the voter has given."""


@dataclass(frozen=True)
class Reveal:
    """Makes the parts of the page that follow a battle's reveal."""

    store: BattleStore
    items: ItemBank
    outcomes: Outcomes
    leaderboard: Leaderboard
    facts: FactStore

    def prepare(self, battle: Battle) -> None:
        """Has the battle's board computed in time for the reveal."""
        self._latest_board(battle)

    def parts(self, voter: int, battle: Battle, names: Names) -> RevealedParts:
        """Returns the parts for a revealed battle of a voter. Raises ChoiceError before the reveal."""
        board = self._latest_board(battle)
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
                standing=_standing_text(lines.get(name), board),
                linked=True,
                about=reveal_facts(facts.of(name)),
            )
        votes = self.store.votes_of(voter)
        is_due = votes > 0 and votes % PREFERENCES_EVERY == 0
        preferences = self.outcomes.preferences(voter) if is_due else ()
        return RevealedParts(
            titles=titles,
            others=others_sentence(outcome),
            outcome=HTML.outcome(outcome.reference, preferences, battle.link),
            votes=votes,
        )

    def _latest_board(self, battle: Battle) -> Board | None:
        """Returns the official board of a battle's item; None without one, or if it isn't computed yet.

        Asking for it has it computed in the background.
        """
        item = self.items.bank().items.get(battle.item)
        if item is None:
            return None
        key = self.leaderboard.official_key(item.source, item.multi)
        return self.leaderboard.latest(key) if key else None


def _standing_text(line: Standing | None, board: Board | None) -> str:
    """Returns a model's rank and rating with their ranges, in words; "" for a model that isn't on the board."""
    if line is None or board is None:
        return ""
    rank = line.rank
    if rank is None:
        return t("reveal.provisional")
    ranked = sum(other.rank is not None for other in board.standings)
    words = t("reveal.rank", rank=round(rank.value), count=ranked)
    has_range = False
    if rank.low is not None and rank.high is not None and rank.low != rank.high:
        has_range = True
        words += f" ({t('reveal.places', low=round(rank.low), high=round(rank.high))})"
    if line.rating is not None:
        words += f" · {line.rating.value:.0f}"
        rating_range = dashed(line.rating.low, line.rating.high)
        if rating_range:
            words += f" ({rating_range})"
            has_range = True
    return f"{words} · {t('reveal.level')}" if has_range else words


def others_sentence(outcome: BattleOutcome) -> str:
    """Returns a sentence on the choices of others in the same battle."""
    if outcome.is_closed:
        return t("reveal.others_later")
    if not outcome.others:
        return t("reveal.first")
    if outcome.others == 1:
        return t("reveal.alike_one" if outcome.alike else "reveal.unlike_one")
    if outcome.others < 5:
        return t("reveal.alike_few", share=f"{outcome.alike}", count=outcome.others)
    share = f"{outcome.alike / outcome.others:.0%}"
    return t("reveal.alike", share=share, count=outcome.others)
