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
"""The kind of thing that a page's address may name, in its query or after `/results/`."""
_THINGS: dict[str, tuple[str, Kind]] = {
    "item": (VOTE, "item"),
    "model": (RESULTS, "model"),
    "battle": (RESULTS, "battle"),
}
"""The page and the kind of thing of a path, by the path's first word."""
_QUERIED: dict[str, str] = {VOTE: "item", RESULTS: "source"}
"""The parameter of a page's query that names the thing."""
_GRADIOS = frozenset({VOTE, OWN, SCORE})
"""The pages that Gradio serves."""
TAKES_FILES = frozenset({f"/{AGREEMENT}"})
"""Pages without Gradio that take a visitor's own file. They set a cookie, which makes the file the visitor's."""
MOST_NAME = 200
"""Most letters of a model's name in an imported file. Models with longer names, which a bank may hold, have no page."""


def gradio_path(page: str, language: str) -> str:
    """Returns the path of Gradio's page: one with labels made in Python is built once a language."""
    return f"{page}-{language}" if page == SCORE and language != "en" else page


class Address(NamedTuple):
    """A page, and the thing that it is about. The thing's name may be any text."""

    page: str
    kind: Kind = "page"
    name: str = ""


def described(path: str, query: str = "") -> Address | None:
    """Returns the address in a path; None for a wrong path."""
    first, _, rest = path.strip("/").partition("/")
    name = unquote(rest)[: MOST_NAME + 1]
    if first in _THINGS:
        return Address(*_THINGS[first], name) if name else None
    if first not in _PAGES or (name and first != RESULTS):
        return None
    name = name or _queried(first, query)[: MOST_NAME + 1]
    return Address(first, _PAGES[first], name) if name else Address(first)


def opened(path: str, query: str = "") -> Address | None:
    """Returns the address in a path to one of Gradio's pages; None for other paths."""
    address = described(path, query)
    return address if address and address.page in _GRADIOS else None


def _queried(page: str, query: str) -> str:
    """Returns the name of the thing in a page's query; empty if there is none."""
    if page not in _QUERIED:
        return ""
    values = parse_qs(query[:2000]).get(_QUERIED[page], [""])
    return values[0]


def plain(path: str) -> str:
    """Returns a path in its usual form: its first word in lower case, without needless signs."""
    first, slash, rest = path.strip("/").partition("/")
    if not rest:
        slash = ""
    return f"/{quote(unquote(first).lower())}{slash}{rest}"
