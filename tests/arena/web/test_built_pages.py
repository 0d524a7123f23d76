"""The page as bytes: built once, small, the same for everybody, and whole behind any proxy."""

import asyncio
import re

import httpx
import pytest
from playwright.sync_api import expect
from starlette.responses import PlainTextResponse

from arena.web.built_pages import BuiltPages
from arena.web.cookies import COOKIE
from tests.support.screens import PHONE, fresh_page
from tests.support.tls_proxy import tls_proxy
from tests.support.voter import Voter

PAGES = ["/", "/config", "/config/"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_a_page_is_sent_once_and_compressed_to_those_who_take_it(server, path, coding):
    with httpx.Client(base_url=server.address, headers={"accept-encoding": coding}) as client:
        first = client.get(path)
        assert first.headers.get("content-encoding", "identity") == coding
        assert "dependencies" in first.text and "accept-encoding" in first.headers["vary"]
        assert (int(first.headers["content-length"]) < 50_000) == (coding == "gzip")
        assert client.head(path).headers["etag"] == first.headers["etag"]
        for known in (first.headers["etag"], f'"x", W/{first.headers["etag"]}'):
            again = client.get(path, headers={"if-none-match": known})
            assert (again.status_code, again.content) == (304, b"")
        assert client.get(path, headers={"if-none-match": '"other"'}).status_code == 200


def test_no_shared_cache_keeps_the_cookie_of_a_visitor_and_a_known_page_brings_one_too(server):
    first = httpx.get(server.address)
    again = httpx.get(server.address, headers={"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)
    for answer in (first, again):
        assert answer.headers["cache-control"] == "private, no-cache"
        assert answer.headers["set-cookie"].startswith(f"{COOKIE}=")
    assert first.headers["set-cookie"] != again.headers["set-cookie"]


@pytest.mark.parametrize(
    "headers",
    [{"host": "evil.example"}, {"x-forwarded-host": "evil.example"}, {"x-gradio-server": "http://evil.example"}],
)
def test_nothing_that_a_stranger_sends_stands_in_a_page(server, headers):
    headers |= {"x-forwarded-proto": "https"}
    for path in PAGES:
        plain = httpx.get(server.address + path)
        for query in ("", "?__theme=dark", "?item=evil.example", "?deep_link=evil.example", "?page=evil.example"):
            answer = httpx.get(f"{server.address}{path}{query}", headers=headers)
            assert answer.content == plain.content
            assert answer.headers["etag"] == plain.headers["etag"]
        assert "evil.example" not in plain.text and "127.0.0.1" not in plain.text


def test_gradio_builds_a_page_once():
    asked: list[str] = []

    async def gradio(scope, receive, send) -> None:
        asked.append(scope["path"])
        await PlainTextResponse(f"at {scope['server'][0]}")(scope, receive, send)

    pages = BuiltPages(gradio)

    async def scenario() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(pages), base_url="http://arena.example") as client:
            for path in PAGES * 2:
                await client.get(path)
            await client.get("/theme.css")
            await client.post("/")

    asyncio.run(scenario())
    assert asked == ["/", "/config", "/theme.css", "/"]


def test_an_event_does_not_believe_a_forwarded_host(server):
    with Voter(server.address) as voter:
        voter.client.headers.update({"x-forwarded-host": "evil.example", "x-gradio-server": "http://evil.example"})
        voter.load()
        assert not any("evil.example" in text for text in voter.received)


def test_a_vote_is_given_behind_a_proxy_that_speaks_https_under_another_name(server, browser, certificate):
    """The app is told neither the scheme nor the name; the page is still the browser's own address's."""
    with (
        tls_proxy(certificate, server.port) as address,
        fresh_page(browser, PHONE, ignore_https_errors=True) as page,
    ):
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        page.goto(f"{address}/?__theme=dark")
        page.click("#choose-a")
        expect(page.locator("#status")).to_contain_text("You chose A")
        expect(page.locator("body")).to_have_class(re.compile("dark"))
        assert all(url.startswith((address, "data:", "blob:")) for url in requested), requested
