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
from arena.types import SIDES, Item, Names, OutsideReason, Phase, Side
from arena.web.facts_view import reveal_facts
from arena.web.pictures import ShownPicture, shown_images

BATTLE = macros("battle.html")
HTML = macros("live.html")
OUTSIDE: Mapping[OutsideReason, str] = {
    "stopped": "live.outside_stopped",
    "named itself": "live.outside_named",
}
"""The keys of the texts for why a vote is outside the ranking."""


def subject_html(
    instruction: str, image_tokens: Sequence[str], item: Item | None, scaled: ScaledPictures
) -> str:
    """Returns the subject of a battle as HTML: an item of the bank, or the visitor's own images, by their tokens."""
    if item is not None:
        return bank_html(item, scaled)
    return HTML.own_item(instruction, own_pictures(image_tokens))


def offer_html(offer: Offer, is_space: bool) -> str:
    """Returns the part above the form's button or in place of it: the cost of a battle, or what is missing."""
    cost = cost_text(offer.cost) if offer.cost else ""
    return HTML.offer(offer, cost, is_space)


def cost_text(cost: Dollars) -> str:
    ordinary = dollars(cost.ordinary)
    large = dollars(cost.large)
    if ordinary == large:
        return t("own.offer_cost", dollars=ordinary)
    return t("own.offer_costs", low=ordinary, high=large)


def dollars(amount: float) -> str:
    """Returns an amount: to the cent if it is a dollar or more, else to one significant digit and at least 0.0001."""
    return f"{amount:.2f}" if amount >= 1 else f"{max(amount, 0.0001):.1g}"


def bank_html(item: Item, scaled: ScaledPictures) -> str:
    """Returns an item of the bank as HTML."""
    return BATTLE.item(item, shown_images(item.images, scaled), skips=False)


def own_pictures(tokens: Sequence[str]) -> Sequence[ShownPicture]:
    """Returns a visitor's own pictures for a page, by their tokens."""
    addresses = [f"live/images/{token}" for token in tokens]
    description = t("own.your_picture")
    return [ShownPicture(address, address, description) for address in addresses]


class Revealed(NamedTuple):
    """The facts about the models that a revealed battle shows."""

    names: Names
    facts: FactsSnapshot

    def about(self, battle: LiveBattle, side: Side) -> Sequence[str]:
        """Returns the facts about a side's model, and the cost of its answers."""
        facts = self.facts.of(getattr(self.names, side))
        return reveal_facts(facts, battle.cost(side), len(battle.turns))


def scene(shown: LiveState, revealed: Revealed | None, subject: str | None) -> dict[str, object]:
    """Returns the scene of a battle as JSON for `scene.js`, with names only once revealed.

    `subject`: the HTML of the item or the own images; None after an act in the battle, which leaves it on the page.
    """
    names = revealed.names if revealed else None
    battle = shown.battle
    parts = {"status": status_text(shown, names)}
    if subject is not None:
        parts["subject"] = subject
    for side in SIDES:
        name = getattr(names, side) if names else None
        is_chosen = names is not None and battle.choice == side
        facts = revealed.about(battle, side) if revealed else ()
        parts[f"title-{side}"] = BATTLE.title(side, name, is_chosen, about=facts)
        parts[side] = HTML.side_turns(battle.turns, side, shown.is_growing)
    first_choice = battle.phase is Phase.VOTED and battle.attempt == 1
    return {
        "kind": "scene",
        "battle": battle.token,
        # The part of the token that stays when a choice is undone, as in `scenes.py`.
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
    if shown.is_growing:
        return "growing"
    return shown.battle.phase.value


def status_text(shown: LiveState, names: Names | None) -> str:
    """Returns the sentences under a battle. `names`: once they are revealed."""
    battle = shown.battle
    if battle.void is not None:
        reason = translated(battle.void)
        return HTML.used_up(reason) if battle.void == CREDITS_USED else reason
    if shown.is_growing:
        return waiting_text(shown.ahead) if shown.ahead else t("live.answering")
    if battle.phase is Phase.OPEN:
        return _open_text(battle)
    chosen = battle.choice
    assert chosen is not None, "a battle that isn't open has a choice"
    is_revealed = battle.phase is Phase.REVEALED and names is not None
    if is_revealed:
        other: Side = "b" if chosen == "a" else "a"
        sentences = [
            t("reveal.you_chose", side=chosen.upper(), model=getattr(names, chosen)),
            t("reveal.other_is", side=other.upper(), model=getattr(names, other)),
        ]
    else:
        sentences = [t("vote.chose", side=chosen.upper())]
    if battle.outside:
        sentences.append(t(OUTSIDE[battle.outside]))
    if battle.attempt == 1 and not is_revealed:
        sentences.append(t("live.undo_live", seconds=UNDO_SECONDS))
    return t("pages.gap").join(sentences)


def waiting_text(ahead: int) -> str:
    return t("live.in_line", count=ahead)


def _open_text(battle: LiveBattle) -> str:
    """Returns the sentence that asks for a choice, with the number of questions that may still follow."""
    sentences = []
    if battle.attempt == 2:
        sentences.append(t("live.was_taken_back"))
    left = MOST_TURNS - len(battle.turns)
    if battle.turns[-1].stopped:
        sentences.append(t("live.which_stopped"))
    elif left:
        sentences.append(t("live.which_more", left=left))
    else:
        sentences.append(t("live.which"))
    return t("pages.gap").join(sentences)
