"""Run's forms: an operator's input, and the notice on the next page about what was done."""

import base64
from collections.abc import Mapping
from typing import NamedTuple

from fastapi import Request, Response

from arena.web.campaign_api import form_of
from arena.web.cookies import cookie_header, is_https

MOST_FIELD = 60_000
"""Most characters of a field; a campaign's file is the longest."""
MOST_FORM = 600_000
"""Most bytes of a form with a TOML file as text. A character may take nine: three in UTF-8, each written as %XX. One of
four bytes, such as an emoji, takes twelve, but a browser's `maxlength` counts it as two."""
_COOKIE = "stereoscope_done"
_NOTICE_SECONDS = 60
"""The longest time until the next page shows a notice."""
_MOST_NOTICE = 1_500
"""The most characters of a notice: a cookie has room for 4,000 bytes."""
_MOST_CONTENT = 2_500
"""The most bytes of a notice and its section. Base64 makes a third more of them."""


class SentForm(NamedTuple):
    """A refused form, shown again as it was filled in."""

    path: str
    fields: Mapping[str, str]
    problem: str = ""
    """The reason of the refusal."""

    @property
    def anchor(self) -> str:
        """The form's anchor in the page: its section, and after ":" the form within it."""
        return self.fields.get("at", "")

    @property
    def section(self) -> str:
        """The form's section of the page."""
        return self.anchor.partition(":")[0]

    def value(self, path: str, field: str, otherwise: str) -> str:
        """Returns the value of a field, or `otherwise` if it wasn't sent, or to another path."""
        if path != self.path:
            return otherwise
        return self.fields.get(field, otherwise)


NOTHING_SENT = SentForm("", {})


class Notice(NamedTuple):
    """A sentence about an act that was done or refused, and the section that shows it."""

    place: str
    text: str
    is_problem: bool = False
    form_anchor: str = ""
    """The anchor of the refused form, which shows the problem itself."""


async def sent_form(request: Request) -> SentForm:
    """Returns the fields of a form. Browsers send CRLF; the texts get LF back."""
    # Each line break may come as two characters.
    fields = form_of(await request.body(), 2 * MOST_FIELD)
    texts = {name: value.replace("\r\n", "\n")[:MOST_FIELD] for name, value in fields.items()}
    return SentForm(request.url.path, texts)


def remember_notice(response: Response, notice: Notice, request: Request) -> None:
    """Stores a notice for the next page. A cookie keeps it out of the address."""
    content = f"{notice.place}\n{notice.text[:_MOST_NOTICE]}".encode()[:_MOST_CONTENT]
    value = base64.urlsafe_b64encode(content).decode().rstrip("=")
    _set_cookie(response, value, _NOTICE_SECONDS, request)


def remembered_notice(request: Request) -> Notice | None:
    """Returns the notice that the last act left for the next page; None without one."""
    value = request.cookies.get(_COOKIE, "")
    padding = "=" * (-len(value) % 4)
    try:
        content = base64.urlsafe_b64decode(value + padding)
    except ValueError:
        return None
    # A long notice may have been cut within a character.
    section, _, text = content.decode(errors="ignore").partition("\n")
    return Notice(place=section, text=text) if text else None


def forget_notice(response: Response, request: Request) -> None:
    _set_cookie(response, "", 0, request)


def _set_cookie(response: Response, value: str, seconds: int, request: Request) -> None:
    https = is_https(request.scope, request.headers)
    response.headers.append("set-cookie", cookie_header(value, https, _COOKIE, seconds))
