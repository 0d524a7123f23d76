"""Thousands of mutated attacks through the renderer: none leaves a dangerous node, none does a thing in Chromium."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Error

from arena.markdown import answer_html, instruction_html
from tests.support.markup import ATTRIBUTES, PAYLOADS, TAGS, read

BATCH = 250
GLUE = (
    "<",
    ">",
    '"',
    "'",
    "`",
    "```\n",
    "[",
    "](",
    ")",
    "![",
    "|",
    "\n|-|-|\n",
    "\n\n",
    "&#x",
    ";",
    "\\",
    "\0",
    "\t",
    "://",
)
WATCH = """() => {
    window.hits = 0;
    for (const name of ['alert', 'confirm', 'prompt', 'open', 'print']) window[name] = () => { window.hits++ };
}"""
STIR = """() => {
    for (const node of document.body.querySelectorAll('*'))
        for (const name of ['mouseover', 'pointerenter', 'focus', 'click', 'toggle', 'load', 'error', 'animationend'])
            if (node.tagName !== 'A' || name !== 'click') node.dispatchEvent(new Event(name, {bubbles: true}));
}"""
STRANGE = """([tags, attributes]) => [...document.body.querySelectorAll('.xss *')].flatMap(node => {
    const tag = node.tagName.toLowerCase();
    const odd = [...node.attributes].map(one => one.name).filter(name => !(attributes[tag] || []).includes(name));
    const href = node.getAttribute('href');
    return (tags.includes(tag) && !odd.length && (href === null || /^https?:/i.test(href))) ? [] : [node.outerHTML];
})"""


def mutated(count: int, seed: int) -> Iterator[str]:
    """Return attacks that are cut, doubled, glued together and put into one another."""
    luck = random.Random(seed)
    for _ in range(count):
        text = "".join(
            luck.choice((luck.choice(PAYLOADS), luck.choice(GLUE)))
            for _ in range(luck.randint(1, 6))
        )
        for _ in range(luck.randint(0, 5)):
            place = luck.randrange(len(text) + 1)
            change = luck.choice(
                ("", text[place : place + 2] * 2, luck.choice(GLUE), luck.choice(PAYLOADS))
            )
            text = text[:place] + change + text[place + luck.randint(0, 2) :]
        yield luck.choice(
            (
                text,
                text.upper(),
                f"- {text}",
                f"> {text}",
                f"|a|\n|-|\n|{text}|",
                text.replace(" ", "/"),
            )
        )


@contextmanager
def watched(browser: Browser) -> Iterator[tuple]:
    """A page without any policy of ours that counts what runs, and lets nothing out."""
    page = browser.new_page()
    requested: list[str] = []
    page.route("**/*", lambda route: (requested.append(route.request.url), route.abort()))
    page.on(
        "dialog", lambda dialog: (requested.append(f"dialog {dialog.message}"), dialog.dismiss())
    )
    page.add_init_script(f"({WATCH})()")
    page.evaluate(WATCH)
    yield page, requested
    page.close()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("count", "seed"), [(400, 8), pytest.param(10_000, None, marks=pytest.mark.soak)]
)
def test_mutated_attacks_leave_nothing_and_do_nothing(browser, count, seed):
    seed = random.randrange(10**9) if seed is None else seed
    attacks = list(mutated(count, seed))
    rendered = [
        (attack, render(attack)) for attack in attacks for render in (answer_html, instruction_html)
    ]
    for attack, html in rendered:
        assert read(html).wrong == [], f"seed {seed}: {attack!r}"
    attributes = {tag: sorted(names) for tag, names in ATTRIBUTES.items()}
    answers = [html for _, html in rendered[::2]]
    with watched(browser) as (page, requested):
        for start in range(0, count, BATCH):
            boxes = "".join(
                f'<div class="xss">{html}</div>' for html in answers[start : start + BATCH]
            )
            page.set_content(f"<!doctype html><body>{boxes}", wait_until="domcontentloaded")
            assert page.locator(".xss").count() == len(answers[start : start + BATCH]), (
                "none closes its own box"
            )
            page.evaluate(STIR)
            ours = {**attributes, **dict.fromkeys(("div", "p"), ["class", "dir"])}
            strange = page.evaluate(STRANGE, [[*TAGS, "div"], ours])
            assert (strange, page.evaluate("window.hits"), requested) == ([], 0, []), f"seed {seed}"
            assert page.url == "about:blank"


def done_by(browser: Browser, html: str) -> int:
    """Return how often some HTML ran a script, asked for something or led the page elsewhere."""
    with watched(browser) as (page, requested):
        try:
            page.set_content(
                f'<!doctype html><body><div class="xss">{html}</div>', wait_until="domcontentloaded"
            )
            page.evaluate(STIR)
            return page.evaluate("window.hits || 0") + len(requested)
        except Error:
            return 1  # it led the page elsewhere


@pytest.mark.soak
def test_the_same_attacks_do_a_lot_where_nothing_is_rendered(browser):
    """So that the test above can fail."""
    assert sum(done_by(browser, attack) > 0 for attack in PAYLOADS[:12]) > 4
    with watched(browser) as (page, _):
        page.set_content(
            '<!doctype html><body><div class="xss"><b onclick=x>1</b><img src=x></div>'
        )
        assert len(page.evaluate(STRANGE, [["b"], {}])) == 2
