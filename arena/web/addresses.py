"""Addresses: the page that the first word of a path names, and the thing that it is about."""

from typing import Literal, NamedTuple
from urllib.parse import parse_qs, quote, unquote

VOTE = ""
OWN = "own"
RESULTS = "results"
JUDGES = "judges"
AGREEMENT = "agreement"
SCORE = "score"
RUN = "run"
"""The pages, by their path."""
DOORS = (
    (VOTE, "pages.door_vote"),
    (OWN, "pages.door_own"),
    (RESULTS, "pages.door_results"),
    (SCORE, "pages.door_score"),
)
"""Pages in the bar, with the keys of their names; who runs the server has one more."""
NAME = "Stereoscope"


Kind = Literal["page", "item", "board", "model", "battle"]
_PAGES: dict[str, Kind] = {VOTE: "item", OWN: "page", RESULTS: "board", SCORE: "page"}
"""What a page is about where its address names a thing: in its query, or behind `/results/`."""
_THINGS: dict[str, tuple[str, Kind]] = {
    "item": (VOTE, "item"),
    "model": (RESULTS, "model"),
    "battle": (RESULTS, "battle"),
}
"""By the first word of a path: the page that it belongs to, and what it is about."""
_QUERIED: dict[str, str] = {VOTE: "item", RESULTS: "source"}
"""Parameter of a page's query that names what it is about."""
_GRADIOS = frozenset({VOTE, OWN, SCORE})
"""The pages that Gradio serves; the others are read."""
TAKES_FILES = frozenset({f"/{AGREEMENT}"})
"""Pages that are read, and take a visitor's own file: they give a cookie, by which it is theirs."""
MOST_NAME = 200
"""Most letters of a model's name in an imported file; longer ones, which a bank may hold, have no page."""


def gradio_path(page: str, language: str) -> str:
    """Returns the path of Gradio's page: one with labels made in Python is built once a language."""
    return f"{page}-{language}" if page == SCORE and language != "en" else page


class Address(NamedTuple):
    """A page, and the thing it is about by its kind and its name, which may be anybody's words."""

    page: str
    kind: Kind = "page"
    name: str = ""


def described(path: str, query: str = "") -> Address | None:
    """Return what a path is about; None for a wrong one."""
    first, _, rest = path.strip("/").partition("/")
    name = unquote(rest)[: MOST_NAME + 1]
    if first in _THINGS:
        return Address(*_THINGS[first], name) if name else None
    if first not in _PAGES or (name and first != RESULTS):
        return None
    name = name or _queried(first, query)[: MOST_NAME + 1]
    return Address(first, _PAGES[first], name) if name else Address(first)


def opened(path: str, query: str = "") -> Address | None:
    """Return what a path opens of Gradio's pages; None for any other."""
    address = described(path, query)
    return address if address and address.page in _GRADIOS else None


def _queried(page: str, query: str) -> str:
    found = parse_qs(query[:2000]) if page in _QUERIED else {}
    return found.get(_QUERIED.get(page, ""), [""])[0]


def plain(path: str) -> str:
    """Return an address as it is written here: the first word in small letters, without needless signs."""
    first, _, rest = path.strip("/").partition("/")
    return f"/{quote(unquote(first).lower())}{rest and '/'}{rest}"
