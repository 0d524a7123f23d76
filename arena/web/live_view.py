"""Live view: what the page shows of a live battle and of a chat, and the status in words."""

from collections.abc import Mapping, Sequence

from arena.clock import UNDO_SECONDS
from arena.io.scaled_pictures import ScaledPictures
from arena.live.chat import ChatState
from arena.live.sessions import LiveState
from arena.live.store import MOST_TURNS, LiveBattle, Outside
from arena.templates import macros, plural
from arena.types import SIDES, Item, Names, Phase, Side
from arena.web.pictures import Shown, shown_pictures
from arena.web.words import ENGLISH

BATTLE, HTML = macros("battle.html"), macros("live.html")
OUTSIDE: Mapping[Outside, str] = {
    "stopped": "The answers were stopped, so it is kept outside the ranking.",
    "named itself": "An answer tells which model gave it, so it is kept outside the ranking.",
}


def head_html(instruction: str, images: Sequence[str], item: Item | None, scaled: ScaledPictures) -> str:
    """Render the subject of a conversation: the bank's item, or own images by their tokens and the instruction."""
    return HTML.own_item(instruction, own_pictures(images), ENGLISH) if item is None else bank_html(item, scaled)


def bank_html(item: Item, scaled: ScaledPictures) -> str:
    """Render an item of the bank, with its own heading id, since the battle tab has one too."""
    return BATTLE.item(item, shown_pictures(item, scaled), ENGLISH, "live-heading")


def own_pictures(tokens: Sequence[str]) -> Sequence[Shown]:
    return [Shown(address, address, ", yours") for address in (f"live/images/{token}" for token in tokens)]


def scene(shown: LiveState, names: Names | None, head: str) -> dict[str, object]:
    """Return all that the page shows of a battle, as live.js takes it; with names only once revealed."""
    battle = shown.battle
    phase = "void" if battle.void is not None else "growing" if shown.growing else battle.phase.value
    choice = battle.choice if names and battle.phase is Phase.REVEALED else None
    titles = {side: BATTLE.title(side, ENGLISH, names and getattr(names, side), choice == side) for side in SIDES}
    return {
        "kind": "scene",
        "about": battle.token.partition(".")[0],
        "battle": battle.token,
        "phase": phase,
        "head": head,
        "panes": {side: HTML.side_turns(battle.turns, side, shown.growing) for side in SIDES},
        "titles": titles,
        "status": status_text(shown, names),
        "more": not shown.growing and battle.can_go_on,
        "undo": battle.phase is Phase.VOTED and battle.attempt == 1,
        "seconds": UNDO_SECONDS if battle.attempt == 1 else 0,
    }


def chat_scene(shown: ChatState) -> dict[str, object]:
    """Return all that the page shows of a chat, as live.js takes it."""
    session = shown.session
    name = session.vlm.card.name
    words = f"{name} is answering." if shown.growing else session.problem or ""
    return {
        "kind": "scene",
        "about": session.token,
        "phase": "growing" if shown.growing else "open",
        "head": HTML.own_images(own_pictures(session.images), ENGLISH),
        "name": name,
        "panes": {"a": HTML.chat_turns(session.said, session.asked if shown.growing else None)},
        "status": waiting_text(shown.ahead) if shown.ahead else words,
        "more": not shown.growing,
    }


def status_text(shown: LiveState, names: Names | None) -> str:
    battle = shown.battle
    if battle.void is not None:
        return battle.void
    if shown.growing:
        return waiting_text(shown.ahead) if shown.ahead else "Both models are answering."
    if battle.phase is Phase.OPEN:
        return _open_text(battle)
    outside = f" {OUTSIDE[battle.outside]}" if battle.outside else ""
    chosen = battle.choice or "a"
    if battle.phase is Phase.REVEALED and names is not None:
        other: Side = "b" if chosen == "a" else "a"
        told = f"{chosen.upper()}: {getattr(names, chosen)}. {other.upper()} is {getattr(names, other)}."
        return f"You chose {told}{outside}"
    undo = f" Undo within {UNDO_SECONDS} seconds; then the names appear." if battle.attempt == 1 else ""
    return f"You chose {chosen.upper()}.{outside}{undo}"


def waiting_text(ahead: int) -> str:
    return f"Waiting in line: {plural(ahead, 'visitor')} ahead of you."


def _open_text(battle: LiveBattle) -> str:
    again = "Taken back. " if battle.attempt == 2 else ""
    if battle.turns[-1].stopped:
        return f"{again}Stopped. Choose by what is shown; such a vote is kept outside the ranking."
    left = MOST_TURNS - len(battle.turns)
    more = f", or ask both once more ({left} left)" if left else ""
    return f"{again}Which answer is better? Choose{more}."
