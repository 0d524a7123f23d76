"""Live view: what the page shows of a live battle, and its status in words."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.clock import UNDO_SECONDS
from arena.io.scaled_pictures import ScaledPictures
from arena.items.fact_store import FactsSnapshot
from arena.live.credits import CREDITS_USED
from arena.live.offer import Dollars, Offer
from arena.live.sessions import LiveState
from arena.live.store import MOST_TURNS, LiveBattle
from arena.templates import macros
from arena.types import SIDES, Item, Names, Outside, Phase, Side
from arena.web.facts_view import at_reveal
from arena.web.pictures import Shown, shown_images
from arena.web.words import Words, said

BATTLE = macros("battle.html")
HTML = macros("live.html")
OUTSIDE: Mapping[Outside, str] = {"stopped": "outside_stopped", "named itself": "outside_named"}
"""The words for why a vote is outside the ranking."""


def head_html(
    instruction: str, images: Sequence[str], item: Item | None, scaled: ScaledPictures, words: Words
) -> str:
    """Render the subject of a battle: the bank's item, or own images by their tokens and the instruction."""
    if item is not None:
        return bank_html(item, scaled, words)
    return HTML.own_item(instruction, own_pictures(images, words), words)


def offer_html(offer: Offer, is_space: bool, words: Words) -> str:
    """Render what stands in the place of the form's button, or above it: what a battle costs the visitor."""
    cost = cost_text(offer.cost, words) if offer.cost else ""
    return HTML.offer(offer, cost, is_space, words)


def cost_text(cost: Dollars, words: Words) -> str:
    ordinary = dollars(cost.ordinary)
    large = dollars(cost.large)
    if ordinary == large:
        return words["offer_cost"].format(ordinary)
    return words["offer_costs"].format(ordinary, large)


def dollars(amount: float) -> str:
    """An amount to one significant digit, or to the cent from a dollar on."""
    return f"{amount:.2f}" if amount >= 1 else f"{max(amount, 0.0001):.1g}"


def bank_html(item: Item, scaled: ScaledPictures, words: Words) -> str:
    """Render an item of the bank."""
    return BATTLE.item(item, shown_images(item.images, scaled), words, skips=False)


def own_pictures(tokens: Sequence[str], words: Words) -> Sequence[Shown]:
    return [
        Shown(address, address, words["your_picture"])
        for address in (f"live/images/{token}" for token in tokens)
    ]


class Revealed(NamedTuple):
    """What is told of the models once a battle is revealed."""

    names: Names
    facts: FactsSnapshot

    def about(self, battle: LiveBattle, side: Side, words: Words) -> Sequence[str]:
        """Return what is known of a side's model, and what its answers cost."""
        facts = self.facts.of(getattr(self.names, side))
        return at_reveal(facts, words, battle.cost(side), len(battle.turns))


def scene(
    shown: LiveState, revealed: Revealed | None, subject: str | None, words: Words
) -> dict[str, object]:
    """Return the scene of a battle, with names only once revealed; without a `subject`, of an act inside it."""
    names = revealed and revealed.names
    battle = shown.battle
    parts = {"status": status_text(shown, names, words)}
    if subject is not None:
        parts["subject"] = subject
    for side in SIDES:
        name = names and getattr(names, side)
        is_chosen = bool(names) and battle.choice == side
        about = revealed.about(battle, side, words) if revealed else ()
        parts[f"title-{side}"] = BATTLE.title(side, words, name, is_chosen, about=about)
        parts[side] = HTML.side_turns(battle.turns, side, shown.growing, words)
    first_choice = battle.phase is Phase.VOTED and battle.attempt == 1
    return {
        "kind": "scene",
        "battle": battle.token,
        "about": battle.token.partition(".")[0],
        "phase": _phase(shown),
        "choice": battle.choice or "",
        "seconds": UNDO_SECONDS if first_choice else 0,
        "can_go_on": not shown.growing and battle.can_go_on,
        "parts": parts,
    }


def _phase(shown: LiveState) -> str:
    if shown.battle.void is not None:
        return "void"
    return "growing" if shown.growing else shown.battle.phase.value


def status_text(shown: LiveState, names: Names | None, words: Words) -> str:
    battle = shown.battle
    if battle.void is not None:
        sentence = said(battle.void, words)
        return HTML.used_up(sentence, words) if battle.void == CREDITS_USED else sentence
    if shown.growing:
        return waiting_text(shown.ahead, words) if shown.ahead else words["answering"]
    if battle.phase is Phase.OPEN:
        return _open_text(battle, words)
    outside = [words[OUTSIDE[battle.outside]]] if battle.outside else []
    chosen = battle.choice or "a"
    if battle.phase is Phase.REVEALED and names is not None:
        other: Side = "b" if chosen == "a" else "a"
        told = words["you_chose"].format(chosen.upper(), getattr(names, chosen))
        return words["gap"].join(
            [told, words["other_is"].format(other.upper(), getattr(names, other)), *outside]
        )
    undo = [words["undo_live"].format(UNDO_SECONDS)] if battle.attempt == 1 else []
    return words["gap"].join([words["chose"].format(chosen.upper()), *outside, *undo])


def waiting_text(ahead: int, words: Words) -> str:
    return words["in_line_one"] if ahead == 1 else words["in_line"].format(ahead)


def _open_text(battle: LiveBattle, words: Words) -> str:
    again = [words["was_taken_back"]] if battle.attempt == 2 else []
    left = MOST_TURNS - len(battle.turns)
    asked = words["which_more"].format(left) if left else words["which"]
    return words["gap"].join(
        [*again, words["which_stopped"] if battle.turns[-1].stopped else asked]
    )
