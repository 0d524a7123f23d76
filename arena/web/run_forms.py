"""Run's forms: what an operator sent, and what was done, which the page that follows says."""

import base64
from collections.abc import Mapping
from typing import NamedTuple

from fastapi import Request, Response

from arena.web.campaign_api import form_of
from arena.web.cookies import cookie_header, over_https

MOST_FIELD = 60_000
"""Most characters of a field; a campaign's file is the longest."""
MOST_FORM = 250_000
"""Most bytes of a form with a file as text, of which a character may take three."""
_COOKIE = "stereoscope_done"
_SECONDS = 60
_MOST_SAID = 1_500
"""Characters of what was done: a cookie has room for 4,000 bytes."""


class SentForm(NamedTuple):
    """A form that was not taken, to be shown as it was filled in."""

    path: str
    fields: Mapping[str, str]
    problem: str = ""
    """Why it was not taken."""

    @property
    def place(self) -> str:
        """The form's own place in the page."""
        return self.fields.get("at", "")

    @property
    def section(self) -> str:
        """The section that the form stands in, with which its place begins."""
        return self.place.partition(":")[0]

    def of(self, path: str, field: str, otherwise: str) -> str:
        """Return what the form of this path has in a field; `otherwise` where another one was sent."""
        return self.fields.get(field, otherwise) if path == self.path else otherwise


NOTHING_SENT = SentForm("", {})


class Said(NamedTuple):
    """What was done, or why it was not, and the section that says so."""

    place: str
    text: str
    is_problem: bool = False
    form: str = ""
    """The place of the form that it is about, which says it itself."""


async def sent_form(request: Request) -> SentForm:
    """Return the fields of a form, with the line ends that its texts had: browsers send others."""
    fields = form_of(await request.body(), MOST_FIELD)
    texts = {name: value.replace("\r\n", "\n") for name, value in fields.items()}
    return SentForm(request.url.path, texts)


def remember(answer: Response, said: Said, request: Request) -> None:
    """Let the page that follows say what was done: a cookie keeps it out of the address."""
    told = f"{said.place}\n{said.text[:_MOST_SAID]}".encode()[:2_500]
    value = base64.urlsafe_b64encode(told).decode().rstrip("=")
    _set(answer, value, _SECONDS, request)


def remembered(request: Request) -> Said | None:
    """Return what was done before this page."""
    value = request.cookies.get(_COOKIE, "")
    try:
        told = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode(errors="replace")
    except ValueError:
        return None
    place, _, text = told.partition("\n")
    return Said(place, text) if text else None


def forget_done(answer: Response, request: Request) -> None:
    _set(answer, "", 0, request)


def _set(answer: Response, value: str, seconds: int, request: Request) -> None:
    https = over_https(request.scope, request.headers)
    answer.headers.append("set-cookie", cookie_header(value, https, _COOKIE, seconds))
