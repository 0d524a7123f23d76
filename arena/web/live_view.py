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
from arena.locale import t, translated
from arena.templates import macros
from arena.types import SIDES, Item, Names, Outside, Phase, Side
from arena.web.facts_view import at_reveal
from arena.web.pictures import Shown, shown_images

BATTLE = macros("battle.html")
HTML = macros("live.html")
OUTSIDE: Mapping[Outside, str] = {
    "stopped": "live.outside_stopped",
    "named itself": "live.outside_named",
}
"""The keys of the texts for why a vote is outside the ranking."""


def head_html(
    instruction: str, images: Sequence[str], item: Item | None, scaled: ScaledPictures
) -> str:
    """Render the subject of a battle: the bank's item, or own images by their tokens and the instruction."""
    if item is not None:
        return bank_html(item, scaled)
    return HTML.own_item(instruction, own_pictures(images))


def offer_html(offer: Offer, is_space: bool) -> str:
    """Render what stands in the place of the form's button, or above it: what a battle costs the visitor."""
    cost = cost_text(offer.cost) if offer.cost else ""
    return HTML.offer(offer, cost, is_space)


def cost_text(cost: Dollars) -> str:
    ordinary = dollars(cost.ordinary)
    large = dollars(cost.large)
    if ordinary == large:
        return t("own.offer_cost", dollars=ordinary)
    return t("own.offer_costs", low=ordinary, high=large)


def dollars(amount: float) -> str:
    """An amount to one significant digit, or to the cent from a dollar on."""
    return f"{amount:.2f}" if amount >= 1 else f"{max(amount, 0.0001):.1g}"


def bank_html(item: Item, scaled: ScaledPictures) -> str:
    """Render an item of the bank."""
    return BATTLE.item(item, shown_images(item.images, scaled), skips=False)


def own_pictures(tokens: Sequence[str]) -> Sequence[Shown]:
    return [
        Shown(address, address, t("own.your_picture"))
        for address in (f"live/images/{token}" for token in tokens)
    ]


class Revealed(NamedTuple):
    """The facts about the models that a revealed battle shows."""

    names: Names
    facts: FactsSnapshot

    def about(self, battle: LiveBattle, side: Side) -> Sequence[str]:
        """Return what is known of a side's model, and what its answers cost."""
        facts = self.facts.of(getattr(self.names, side))
        return at_reveal(facts, battle.cost(side), len(battle.turns))


def scene(shown: LiveState, revealed: Revealed | None, subject: str | None) -> dict[str, object]:
    """Return the scene of a battle, with names only once revealed; without a `subject`, of an act inside it."""
    names = revealed and revealed.names
    battle = shown.battle
    parts = {"status": status_text(shown, names)}
    if subject is not None:
        parts["subject"] = subject
    for side in SIDES:
        name = names and getattr(names, side)
        is_chosen = bool(names) and battle.choice == side
        about = revealed.about(battle, side) if revealed else ()
        parts[f"title-{side}"] = BATTLE.title(side, name, is_chosen, about=about)
        parts[side] = HTML.side_turns(battle.turns, side, shown.is_growing)
    first_choice = battle.phase is Phase.VOTED and battle.attempt == 1
    return {
        "kind": "scene",
        "battle": battle.token,
        "about": battle.token.partition(".")[0],
        "phase": _phase(shown),
        "choice": battle.choice or "",
        "seconds": UNDO_SECONDS if first_choice else 0,
        "can_go_on": not shown.is_growing and battle.can_go_on,
        "parts": parts,
    }


def _phase(shown: LiveState) -> str:
    if shown.battle.void is not None:
        return "void"
    return "growing" if shown.is_growing else shown.battle.phase.value


def status_text(shown: LiveState, names: Names | None) -> str:
    battle = shown.battle
    if battle.void is not None:
        sentence = translated(battle.void)
        return HTML.used_up(sentence) if battle.void == CREDITS_USED else sentence
    if shown.is_growing:
        return waiting_text(shown.ahead) if shown.ahead else t("live.answering")
    if battle.phase is Phase.OPEN:
        return _open_text(battle)
    outside = [t(OUTSIDE[battle.outside])] if battle.outside else []
    chosen = battle.choice or "a"
    if battle.phase is Phase.REVEALED and names is not None:
        other: Side = "b" if chosen == "a" else "a"
        told = t("reveal.you_chose", side=chosen.upper(), model=getattr(names, chosen))
        return t("pages.gap").join(
            [told, t("reveal.other_is", side=other.upper(), model=getattr(names, other)), *outside]
        )
    undo = [t("live.undo_live", seconds=UNDO_SECONDS)] if battle.attempt == 1 else []
    return t("pages.gap").join([t("vote.chose", side=chosen.upper()), *outside, *undo])


def waiting_text(ahead: int) -> str:
    return t("live.in_line", count=ahead)


def _open_text(battle: LiveBattle) -> str:
    again = [t("live.was_taken_back")] if battle.attempt == 2 else []
    left = MOST_TURNS - len(battle.turns)
    asked = t("live.which_more", left=left) if left else t("live.which")
    return t("pages.gap").join(
        [*again, t("live.which_stopped") if battle.turns[-1].stopped else asked]
    )
