"""Battle view: items, answers and links as HTML; nothing identifies a model before the choice."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from arena.clock import UNDO_SECONDS
from arena.markdown import answer_html, instruction_html, plain_html
from arena.types import Battle, Image, Item, Names, Phase, Side

GUIDELINES = (
    "Choose the better answer by <b>accuracy</b>, <b>helpfulness</b> and <b>detail</b>. "
    "There are no ties: choose the better one even if it is close."
)

# Gradio scopes page.css to its own container; these rules depend on classes set on the document element above it.
SWITCHES = (
    "<style>.unformatted, .plain-text .formatted { display: none; } .plain-text .unformatted { display: block; } "
    ".no-keys .keys { opacity: .45; text-decoration: line-through; }</style>"
)
HEAD = f"{SWITCHES}<script>{(Path(__file__).parent / 'keys.js').read_text('utf-8')}</script>"
TOP = (
    '<header class="top"><h1>Stereoscope</h1><p>Two models, one image, your choice.</p><who-am-i></who-am-i></header>'
    '<p class="terms">By voting you agree that your choice is stored and published under CC BY 4.0, without your name. '
    '<a href="terms" target="_blank">What is stored and published</a></p>'
)
FOOT = (
    '<footer class="foot"><label><input type="checkbox" id="plain-switch"> Plain text</label>'
    '<label><input type="checkbox" id="keys-switch" checked> Keys</label>'
    '<span class="keys"><kbd>A</kbd> <kbd>B</kbd> choose <kbd>N</kbd> next <kbd>S</kbd> skip <kbd>Z</kbd> undo '
    "<kbd>I</kbd> enlarge</span></footer>"
)


@dataclass(frozen=True)
class Terms:
    """Terms shown before the first vote; each vote records the version it was given under."""

    version: str
    page: str

    @classmethod
    def read(cls) -> "Terms":
        """Read `terms.md`; its version is the beginning of its sha256."""
        text = (Path(__file__).parent / "terms.md").read_text("utf-8")
        return cls(hashlib.sha256(text.encode()).hexdigest()[:12], document("Terms", text))


def document(title: str, text: str) -> str:
    """Return a Markdown text as a standalone page."""
    style = (
        "body{font:1rem/1.6 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem}"
        ":root{color-scheme:light dark}"
    )
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{style}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    return f"{head}{view}<body>{answer_html(text)}</body></html>"


def picture_url(image: Image, thumbnail: bool = False) -> str:
    """Return the URL of an image: our copy by its hash, else its source URL."""
    if image.sha256 is None:
        return image.url or ""
    return f"pictures/{image.sha256}.thumb.jpg" if thumbnail else f"pictures/{image.sha256}.{image.suffix}"


def item_html(item: Item) -> str:
    """Render an item: its images, numbered and enlarged on click, and its instruction."""
    figures = "".join(_figure(image, number, len(item.images)) for number, image in enumerate(item.images, 1))
    count = len(item.images) if len(item.images) < 5 else "many"
    return (
        f'<div class="item"><div class="images" data-count="{count}">{figures}</div>'
        f'<section class="instruction" aria-labelledby="instruction-heading">'
        f'<h2 id="instruction-heading" tabindex="-1">Instruction</h2>'
        f'<div class="instruction-text">{instruction_html(item.instruction)}</div>'
        f'<p class="about"><span class="family">{escape(item.family)}</span> '
        f'<a href="?item={item.key}">Link to this item</a></p>'
        f'<p class="guidelines">{GUIDELINES}</p></section></div>'
    )


def side_html(text: str) -> str:
    """Render one answer both formatted and as plain text; a switch on the page shows one of the two."""
    return f'<div class="formatted">{answer_html(text)}</div><div class="unformatted">{plain_html(text)}</div>'


def title_html(side: str, name: str | None = None, chosen: bool = False) -> str:
    """Render the heading of a side: its letter, the model's name after the reveal, and whether it was chosen."""
    shown = f' <span class="model">{escape(name)}</span>' if name else ""
    mark = ' <span class="chosen">your choice</span>' if chosen else ""
    return f"<h3>Answer {side.upper()}{shown}{mark}</h3>"


def status_html(battle: Battle | None, names: Names | None = None) -> str:
    """Render a battle's status in words, with the phase by which `page.css` shows the controls.

    After a choice it also gives the delay in seconds before `keys.js` asks for the names: 0 after the one undo.
    """
    if battle is None:
        return '<div data-phase="none"></div>'
    phase, words, seconds = battle.phase, "", 0
    if phase is Phase.REVEALED and names is not None:
        words = _names_told(names, battle.choice)
    elif battle.choice is not None:  # chosen, maybe revealed in another tab: this page has yet to ask for the names
        phase, words = Phase.VOTED, f"You chose {battle.choice.upper()}."
        if battle.phase is Phase.VOTED and battle.attempt == 1:
            seconds, words = UNDO_SECONDS, f"{words} Undo within {UNDO_SECONDS} seconds; then the names appear."
    elif battle.attempt == 2:
        words = "Taken back. Choose again."
    return f'<div data-phase="{phase.value}" data-seconds="{seconds}">{words}</div>'


def _names_told(names: Names, choice: Side | None) -> str:
    chosen, other = (names.b, names.a) if choice == "b" else (names.a, names.b)
    sides = ("B", "A") if choice == "b" else ("A", "B")
    return f"You chose {sides[0]}: <b>{escape(chosen)}</b>. {sides[1]} is <b>{escape(other)}</b>."


def problem_html(text: str) -> str:
    """Render an error and its remedy for the status line."""
    return f'<span class="problem">{escape(text)}</span>'


def results_html(items: Sequence[Item], total: int) -> str:
    """Render found items as links with thumbnails."""
    if not items:
        return '<p class="empty">No item fits. Try another family or fewer words.</p>'
    more = f'<p class="empty">{total - len(items)} more: search to narrow them down.</p>' if total > len(items) else ""
    return f'<ul class="results">{"".join(map(_result, items))}</ul>{more}'


def message_html(title: str, text: str, link: str = "") -> str:
    """Render a tab without a battle: what is wrong and what to do."""
    return f'<div class="message" role="note"><h2>{escape(title)}</h2><p>{escape(text)}</p>{link}</div>'


def _figure(image: Image, number: int, count: int) -> str:
    place = f"Image {number} of {count}" if count > 1 else "Image"
    alt = f"{place}. {image.caption}" if image.caption else place
    credit = ", ".join(part for part in (image.credit, image.licence) if part)
    number_shown = f"<b>Image {number}</b> " if count > 1 else ""
    note = f'<span class="credit">{escape(credit)}</span>' if credit else ""
    return (
        f'<figure><button type="button" class="enlarge" aria-label="Enlarge {place.lower()}">'
        f'<img src="{escape(picture_url(image))}" alt="{escape(alt)}" decoding="async"></button>'
        f"<figcaption>{number_shown}{note}</figcaption></figure>"
    )


def _result(item: Item) -> str:
    first = picture_url(item.images[0], thumbnail=True)
    count = f"{len(item.images)} images" if item.multi else "1 image"
    text = item.instruction if len(item.instruction) <= 90 else item.instruction[:89].rstrip() + "…"
    return (
        f'<li><a href="?item={quote(item.key)}"><img src="{escape(first)}" alt="" loading="lazy">'
        f"<span>{escape(text)}</span><small>{escape(item.family)} · {count}</small></a></li>"
    )
