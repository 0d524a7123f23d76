"""Live view: live battles and the chat as HTML, with the form, the conversation and the status.

Nothing identifies a model before the choice: the sides differ only in the models' words.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from arena.clock import UNDO_SECONDS
from arena.live.chat import ChatState
from arena.live.images import MOST_IMAGES
from arena.live.sessions import LiveState
from arena.live.store import MOST_TURNS, LiveBattle, LiveTurn, Outside
from arena.markdown import instruction_html
from arena.types import SIDES, Item, Names, Phase, Side
from arena.web.battle_view import item_html, side_html, title_html

LIVE_HEAD = f"<script>{(Path(__file__).parent / 'live.js').read_text('utf-8')}</script>"
OUTSIDE: Mapping[Outside, str] = {
    "stopped": "The answers were stopped, so it is kept outside the ranking.",
    "named itself": "An answer tells which model gave it, so it is kept outside the ranking.",
}


def live_html(models: int) -> str:
    """Render the tab of live battles; with fewer than two models it says how to add some."""
    if models < 2:
        return _missing("Live battles need two models that answer here", models)
    return (
        '<div class="live" id="live" data-phase="form">'
        f"{_form('live', 'Two unnamed models answer side by side. You choose; then you learn who they are.', _KEEP)}"
        '<div class="live-battle"><div id="live-head"></div><div class="live-panes">'
        f"{''.join(map(_answer_box, SIDES))}</div>"
        '<div class="live-dock"><p id="live-status" role="status" aria-live="polite" tabindex="-1"></p>'
        f'<p id="live-problem" class="problem" role="alert"></p>{_follow("live", "Ask both once more")}'
        '<div class="live-controls">'
        f"{_button('live-stop', 'Stop', 'if-growing')}{_button('live-a', 'A is better', 'primary if-open')}"
        f"{_button('live-b', 'B is better', 'primary if-open')}{_button('live-undo', 'Undo', 'if-voted')}"
        f"{_button('live-reveal', 'Show the names', 'primary if-voted')}"
        f"{_button('live-again', 'Try again', 'primary if-void')}{_button('live-new', 'New battle', 'if-still')}"
        "</div></div></div></div>"
    )


def chat_html(models: int) -> str:
    """Render the chat tab; without a model it says how to add one. The page requests the models' names later."""
    if not models:
        return _missing("The chat needs a model that answers here", 0)
    choice = '<label class="chat-model" for="chat-model"><span>Model</span><select id="chat-model"></select></label>'
    return (
        '<div class="live" id="chat" data-phase="form">'
        f"{_form('chat', 'Talk with one model about your images. Nothing is rated here.', choice)}"
        '<div class="live-battle"><div id="chat-head"></div><div class="live-panes"><section class="answer">'
        '<div class="title"><h3 id="chat-name"></h3></div>'
        '<div class="text" id="chat-said" role="log" aria-label="Conversation" tabindex="0"></div></section></div>'
        '<div class="live-dock"><p id="chat-status" role="status" aria-live="polite" tabindex="-1"></p>'
        f'<p id="chat-problem" class="problem" role="alert"></p>{_follow("chat", "Ask once more")}'
        '<div class="live-controls">'
        f"{_button('chat-stop', 'Stop', 'if-growing')}{_button('chat-new', 'New conversation', 'if-still')}"
        "</div></div></div></div>"
    )


def head_html(instruction: str, images: Sequence[str], item: Item | None) -> str:
    """Render the subject of a conversation: the bank's item, or own images by their tokens and the instruction."""
    if item is not None:
        return bank_html(item)
    return (
        f'<div class="item own">{own_figures(images)}'
        '<section class="instruction"><h2 tabindex="-1">Your instruction</h2>'
        f'<div class="instruction-text">{instruction_html(instruction)}</div></section></div>'
    )


def bank_html(item: Item) -> str:
    """Render an item of the bank, with its own heading id, since the battle tab has one too."""
    return item_html(item).replace("instruction-heading", "live-heading")


def own_figures(images: Sequence[str]) -> str:
    """Render own images by their tokens, numbered and enlarged on click."""
    count = len(images) if len(images) < 5 else "many"
    figures = "".join(_figure(token, number, len(images)) for number, token in enumerate(images, 1))
    return f'<div class="images" data-count="{count}">{figures}</div>'


def turns_html(turns: Sequence[LiveTurn], side: Side, growing: bool) -> str:
    """Render one side of a conversation; the first question is shown above both sides, the newest answer may grow."""
    shown = []
    for number, turn in enumerate(turns):
        asked = f'<p class="asked">{instruction_html(turn.question)}</p>' if number else ""
        last = growing and number == len(turns) - 1
        said = turn.a if side == "a" else turn.b
        shown.append(asked + ('<div class="growing plain"></div>' if last else _said(said, turn.stopped)))
    return "".join(shown)


def scene(shown: LiveState, names: Names | None, head: str) -> dict[str, object]:
    """Return all that the page shows of a battle, as live.js takes it; with names only once revealed."""
    battle = shown.battle
    choice = battle.choice if battle.phase is Phase.REVEALED else None
    titles = {
        side: title_html(side, getattr(names, side) if names else None, choice == side if names else False)
        for side in SIDES
    }
    return {
        "kind": "scene",
        "about": battle.token.partition(".")[0],
        "battle": battle.token,
        "phase": _phase(shown),
        "head": head,
        "panes": {side: turns_html(battle.turns, side, shown.growing) for side in SIDES},
        "titles": titles,
        "status": status_text(shown, names),
        "more": not shown.growing and battle.can_go_on,
        "undo": battle.phase is Phase.VOTED and battle.attempt == 1,
        "seconds": UNDO_SECONDS if battle.attempt == 1 else 0,
    }


def chat_scene(shown: ChatState) -> dict[str, object]:
    """Return all that the page shows of a chat, as live.js takes it."""
    session = shown.session
    asked = [
        f'<p class="asked">{instruction_html(said.question)}</p>{_said(said.answer, said.stopped)}'
        for said in session.said
    ]
    if shown.growing and session.asked is not None:
        asked.append(f'<p class="asked">{instruction_html(session.asked)}</p><div class="growing plain"></div>')
    name = session.vlm.card.name
    words = f"{name} is answering." if shown.growing else session.problem or ""
    return {
        "kind": "scene",
        "about": session.token,
        "phase": "growing" if shown.growing else "open",
        "head": own_figures(session.images),
        "name": name,
        "panes": {"a": "".join(asked)},
        "status": waiting_text(shown.ahead) if shown.ahead else words,
        "more": not shown.growing,
    }


def status_text(shown: LiveState, names: Names | None) -> str:
    """Return a battle's status in words."""
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
        told = f"You chose {chosen.upper()}: {getattr(names, chosen)}. {other.upper()} is {getattr(names, other)}."
        return told + outside
    return f"You chose {chosen.upper()}.{outside}" + (
        f" Undo within {UNDO_SECONDS} seconds; then the names appear." if battle.attempt == 1 else ""
    )


def waiting_text(ahead: int) -> str:
    """Return the visitor's position in the queue in words."""
    return f"Waiting in line: {ahead} {'visitor' if ahead == 1 else 'visitors'} ahead of you."


def _open_text(battle: LiveBattle) -> str:
    again = "Taken back. " if battle.attempt == 2 else ""
    if battle.turns[-1].stopped:
        return f"{again}Stopped. Choose by what is shown; such a vote is kept outside the ranking."
    left = MOST_TURNS - len(battle.turns)
    more = f", or ask both once more ({left} left)" if left else ""
    return f"{again}Which answer is better? Choose{more}."


def _phase(shown: LiveState) -> str:
    if shown.battle.void is not None:
        return "void"
    if shown.growing:
        return "growing"
    return shown.battle.phase.value


def _said(text: str, stopped: bool) -> str:
    mark = '<p class="stopped">(stopped here)</p>' if stopped else ""
    return f'<div class="said">{side_html(text)}{mark}</div>'


def _figure(token: str, number: int, count: int) -> str:
    place = f"Image {number} of {count}" if count > 1 else "Image"
    caption = f"<figcaption><b>Image {number}</b></figcaption>" if count > 1 else ""
    return (
        f'<figure><button type="button" class="enlarge" aria-label="Enlarge {place.lower()}">'
        f'<img src="live/images/{escape(token)}" alt="{place}, yours" decoding="async"></button>{caption}</figure>'
    )


def _answer_box(side: Side) -> str:
    return (
        f'<section class="answer"><div class="title" id="live-title-{side}">{title_html(side)}</div>'
        f'<div class="text" id="live-text-{side}" role="region" aria-label="Answer {side.upper()}" tabindex="0"></div>'
        "</section>"
    )


_KEEP = (
    '<label class="keep"><input type="checkbox" id="live-keep"> My images may be kept for research. '
    "Without this tick they are deleted when the names are shown, at the latest after 24 hours.</label>"
)


def _form(name: str, lead: str, more: str) -> str:
    item = (
        f'<button type="button" id="{name}-item" class="quiet">Take an item of the bank</button>'
        if name == "live"
        else ""
    )
    send = "Compare two models" if name == "live" else "Send"
    return (
        f'<form class="live-form" id="{name}-form"><p class="live-lead">{lead}</p>'
        f'<div class="drop" id="{name}-drop"><input type="file" id="{name}-files" multiple accept="image/*" '
        'class="unseen" tabindex="-1" aria-hidden="true">'
        f'<input type="file" id="{name}-photo" accept="image/*" capture="environment" class="unseen" tabindex="-1" '
        'aria-hidden="true">'
        f'<ul class="thumbs" id="{name}-thumbs"></ul><div id="{name}-chosen"></div>'
        f'<p class="drop-ways"><button type="button" id="{name}-choose">Choose images</button>'
        f'<button type="button" id="{name}-camera" class="camera">Take a photo</button>{item}'
        f"<span>or drop or paste them here; up to {MOST_IMAGES}</span></p></div>"
        f'<label for="{name}-text">{"Instruction" if name == "live" else "Question"}</label>'
        f'<textarea id="{name}-text" rows="3" placeholder="Enter sends, Shift+Enter begins a new line."></textarea>'
        f'{more}<p id="{name}-form-problem" class="problem" role="alert"></p>'
        f'<button type="submit" id="{name}-send" class="primary">{send}</button></form>'
    )


def _follow(name: str, words: str) -> str:
    return (
        f'<form id="{name}-more" class="live-more">'
        f'<textarea id="{name}-follow" rows="1" aria-label="{words}" placeholder="{words} \u2026"></textarea>'
        f'<button type="submit" id="{name}-ask">Ask</button></form>'
    )


def _button(name: str, words: str, kind: str = "") -> str:
    return f'<button type="button" id="{name}" class="{kind}">{words}</button>'


def _missing(what: str, models: int) -> str:
    there = "One is there." if models == 1 else "None is there yet."
    return (
        f'<div class="message" role="note"><h2>{what}</h2><p>{there} The operator adds one as a table '
        "<code>[[models]]</code> with <code>live = true</code> in a TOML file and starts Stereoscope with "
        "<code>MODELS</code> set to that file; the README shows a row.</p></div>"
    )
