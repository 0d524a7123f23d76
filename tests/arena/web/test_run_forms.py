"""Run's forms: the longest file that the page takes arrives whole."""

import asyncio
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.types import Message

from arena.web.run_forms import MOST_FIELD, MOST_FORM, SentForm, sent_form


def sent(toml: str) -> SentForm:
    """The form as the server reads what a browser sends."""
    body = urlencode({"toml": toml.replace("\n", "\r\n")}).encode()

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    scope = {"type": "http", "headers": [], "scheme": "http", "path": "/run/campaigns"}
    return asyncio.run(sent_form(Request(scope, receive)))


def test_a_file_of_many_lines_is_not_cut_by_the_browser_s_line_breaks():
    toml = "a = 1\n" * (MOST_FIELD // 6)
    assert sent(toml).fields["toml"] == toml
    assert sent(toml + "b" * MOST_FIELD).fields["toml"] == toml


def test_a_form_has_room_for_the_longest_file_in_any_script():
    assert len(urlencode({"toml": "项" * MOST_FIELD})) < MOST_FORM
    assert len(urlencode({"toml": "\r\n" * MOST_FIELD})) < MOST_FORM
