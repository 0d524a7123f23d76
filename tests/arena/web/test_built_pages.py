"""The page as bytes: built once, small, the same for everybody, and whole behind any proxy."""

import asyncio
import json
import re
from collections import Counter
from html import escape
from itertools import product
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import expect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp

from app import STYLE
from arena.locale import CHINESE, LOCALES
from arena.templates import macros
from arena.web.addresses import DOORS, RESULTS, SCORE, VOTE, Address, usual_path
from arena.web.built_pages import BuiltPages
from arena.web.cookies import COOKIE
from arena.web.heads import Head, page_head
from arena.web.layout import PageLayout
from arena.web.static_files import Links
from tests.support.screens import PHONE, fresh_page, press, see_both
from tests.support.servers import ROOT
from tests.support.tls_proxy import tls_proxy
from tests.support.voter import Voter

PAGES = ["/", "/score", "/config"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_a_page_is_sent_once_and_compressed_to_those_who_take_it(server, path, coding):
    with httpx.Client(base_url=server.address, headers={"accept-encoding": coding}) as client:
        first = client.get(path)
        assert first.headers.get("content-encoding", "identity") == coding
        assert "dependencies" in first.text and "accept-encoding" in first.headers["vary"]
        sent = int(first.headers["content-length"])
        assert (sent < len(first.content) / 2) == (coding == "gzip")
        assert sent < 50_000 or coding == "identity" or path == "/config", (
            "no page of ours asks for the last"
        )
        assert client.head(path).headers["etag"] == first.headers["etag"]
        for known in (first.headers["etag"], f'"x", W/{first.headers["etag"]}'):
            again = client.get(path, headers={"if-none-match": known})
            assert (again.status_code, again.content) == (304, b"")
        assert client.get(path, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/terms", STYLE.address])
@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip;q=0", None),
        ("br, gzip; q=0.000", None),
        ("x-gzip-too", None),
        ("gzip;q=1.0", "gzip"),
        ("br, GZIP;q=0.5", "gzip"),
    ],
)
def test_gzip_is_for_those_who_take_it(server, path, accepted, coding):
    answer = httpx.get(server.address + path, headers={"accept-encoding": accepted})
    assert (answer.status_code, answer.headers.get("content-encoding")) == (200, coding)


def test_no_shared_cache_keeps_the_cookie_of_a_visitor_and_a_known_page_brings_one_too(server):
    first = httpx.get(server.address)
    again = httpx.get(server.address, headers={"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)
    for answer in (first, again):
        assert answer.headers["cache-control"] == "private, no-cache"
        assert answer.headers["set-cookie"].startswith(f"{COOKIE}=")
    assert first.headers["set-cookie"] != again.headers["set-cookie"]


EVIL_HOSTS = (
    {"host": "localhost:80"},
    {"x-forwarded-host": "evil.example"},
    {"x-gradio-server": "http://evil.example"},
)
EVIL_QUERIES = (
    "",
    "?__theme=dark",
    "?item=evil.example",
    "?deep_link=evil.example",
    "?page=evil.example",
)


def test_nothing_that_a_stranger_sends_stands_in_a_page(server):
    with httpx.Client(base_url=server.address) as client:
        for path in PAGES:
            plain = client.get(path)
            for headers, query in product(EVIL_HOSTS, EVIL_QUERIES):
                answer = client.get(
                    f"{path}{query}", headers={**headers, "x-forwarded-proto": "https"}
                )
                assert answer.content == plain.content
                assert answer.headers["etag"] == plain.headers["etag"]
            assert "evil.example" not in plain.text and "127.0.0.1" not in plain.text


def named(address: Address) -> Head:
    """A head without a database."""
    return (
        Head(address.name, "", f"model/{quote(address.name, safe='')}")
        if address.name
        else page_head(address.page)
    )


def built(gradio: ASGIApp, public: str = "") -> BuiltPages:
    frames = {VOTE: macros("scene.html").bank}
    links = Links("/style.css", "/script.js")
    return BuiltPages(gradio, named, frames, links, PageLayout(links, DOORS, public))


def test_gradio_builds_a_page_once():
    asked: list[str] = []

    async def gradio(scope, receive, send) -> None:
        asked.append(scope["path"])
        await PlainTextResponse(f"at {scope['server'][0]}")(scope, receive, send)

    pages = built(gradio)

    async def scenario() -> None:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(pages), base_url="http://arena.example"
        ) as client:
            for path in [*PAGES, "/item/otter"] * 2:
                assert (await client.get(path)).status_code == 200
            await client.get("/theme.css")
            await client.post("/")

    asyncio.run(scenario())
    assert asked == ["/config", "/", "/own", "/score", "/score-zh", "/theme.css", "/"]


HTML = {"accept": "text/html,*/*"}


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/", "Stereoscope: two hidden models, one picture, your choice"),
        ("/item/abc", "Stereoscope: two hidden models, one picture, your choice"),
        ("/results", "Elo ranking · Stereoscope"),
        ("/results/some%20bank", "Elo ranking · Stereoscope"),
        ("/results/demo%20items", "demo items · Elo ranking · Stereoscope"),
        ("/results?source=demo+items", "demo items · Elo ranking · Stereoscope"),
        ("/battle/x", "Battle · Stereoscope"),
        ("/model/demo-dodo", "demo-dodo · Stereoscope"),
        ("/model/nobody%27s", "Model · Stereoscope"),
        ("/run", "Run · Stereoscope"),
        ("/report/abc", "Report · Stereoscope"),
    ],
)
def test_an_address_says_what_it_opens(server, path, title):
    page = httpx.get(server.address + path, headers=HTML)
    head = page.text.partition("</head>")[0]
    assert head.count("<title>") == 1 and f"<title>{title}</title>" in head
    assert (
        f'property="og:title" content="{title}"' in page.text and page.text.count("og:title") == 1
    )
    assert "Gradio:" not in page.text and "Click to try out" not in page.text
    assert ("set-cookie" in page.headers) == (path in ("/", "/item/abc"))
    assert ('content="noindex"' in page.text) == path.startswith(
        ("/report", "/battle", "/model/nobody", "/run")
    )


def test_previews_have_a_picture_where_the_public_address_is_known():
    async def gradio(scope, receive, send) -> None:
        await PlainTextResponse('<base href="./" /><meta property="og:title" content="Gradio" />')(
            scope, receive, send
        )

    async def head(pages: BuiltPages, path: str) -> str:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(pages), base_url="http://arena.example"
        ) as client:
            return (await client.get(path)).text

    public, alone = (built(gradio, at) for at in ("https://arena.hf.space", ""))
    known = asyncio.run(head(public, "/item/a%2F%22b"))
    assert (
        'property="og:image" content="https://arena.hf.space/preview/model/a%2F%22b.png"' in known
    )
    assert "<title>a/&#34;b</title>" in known and '<base href="/" />' in known
    assert "og:image" not in asyncio.run(head(alone, "/")) + asyncio.run(head(public, "/report/x"))


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("//evil.example", "/evil.example"),
        ("/terms/", "/terms"),
        ("/Terms?x=1", "/terms?x=1"),
        ("/RESULTS/a%2Fb?plot=battles", "/results/a%2Fb?plot=battles"),
        ("/Model/a%2Fb/", "/model/a%2Fb"),
        ("/%73core", "/score"),
        ("/%ff", "/%EF%BF%BD"),
        ("/%2f%2fevil.example", "/%2F%2Fevil.example"),
    ],
)
def test_an_address_that_is_written_otherwise_leads_to_itself(server, path, to):
    answer = httpx.get(server.address + path, headers=HTML)
    assert (answer.status_code, answer.headers.get("location")) == (307, to)


def test_an_address_with_escaped_slashes_leads_to_no_other_host():
    assert usual_path("/%2F%2Fevil.example/x") == "/%2F%2Fevil.example/x"


@pytest.mark.parametrize("path", ["/nonsense", "/evil.example", "/<b>bold", f"/{'long' * 500}"])
def test_a_wrong_address_has_a_page_that_says_so(server, path):
    answer = httpx.get(server.address + path, headers=HTML)
    assert answer.status_code == 404
    assert "There is nothing at this address." in answer.text
    assert escape(path[:100], quote=False) in answer.text
    assert all(f'href="/{door}"' in answer.text for door in (VOTE, RESULTS, SCORE))
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    assert "<script>" not in answer.text


def test_the_terms_have_a_head_and_caches_know_that_they_differ_by_language(server):
    for path in ("/terms", "/you"):
        answer = httpx.head(server.address + path, headers=HTML)
        assert (answer.status_code, answer.content) == (200, b""), path
    terms = [
        httpx.get(f"{server.address}/terms", headers={"accept-language": language})
        for language in ("en", "zh")
    ]
    assert terms[0].text != terms[1].text
    assert {answer.headers["vary"] for answer in terms} == {
        "accept-encoding, accept-language, cookie"
    }


def test_a_page_is_in_the_languages_in_which_it_is_whole(server):
    asked = {"accept-language": "zh"}
    for path, language in (("/", "zh"), ("/results", "zh"), ("/score", "zh"), ("/run", "en")):
        page = httpx.get(server.address + path, headers=asked).text
        assert f'lang="{language}"' in page[:200], path
        assert (CHINESE.text("pages.door_vote") in page) == (language == "zh"), path


def test_gradios_page_of_another_language_runs_at_its_address(browser, server):
    with fresh_page(browser, PHONE, locale="zh-CN") as page:
        page.goto(f"{server.address}/score")
        expect(page.locator("#scoring")).to_be_visible(timeout=20_000)


def test_a_page_brings_the_words_of_its_scripts_in_its_language(server):
    scripts = [path.read_text("utf-8") for path in (ROOT / "arena" / "web").glob("*.js")]
    names = {name for script in scripts for name in re.findall(r'\bword\("(\w+)"', script)}
    assert "copied_now" in names
    for language, locale in LOCALES.items():
        page = httpx.get(f"{server.address}/you", headers={"accept-language": language}).text
        brought = json.loads(re.findall(r'id="words">(.+?)</script>', page)[0])
        expected = {name: locale.text(f"scripts.{name}") for name in names}
        assert brought | expected == brought, language


def test_a_page_that_is_read_is_asked_for_once(server):
    first = httpx.get(f"{server.address}/terms")
    again = httpx.get(
        f"{server.address}/terms", headers={"if-none-match": f"W/{first.headers['etag']}"}
    )
    assert (again.status_code, again.content) == (304, b"")
    assert "etag" not in httpx.get(f"{server.address}/you").headers


def test_a_frame_of_a_space_tells_a_page_its_theme(server):
    for theme, told in (("dark", ' class="dark"'), ("light", ' class="light"'), ("<b>", "")):
        page = httpx.get(f"{server.address}/terms", params={"__theme": theme}).text
        assert f'<html lang="en"{told}>' in page, theme


def test_an_event_does_not_believe_a_forwarded_host(server):
    with Voter(server.address) as voter:
        voter.client.headers.update(
            {"x-forwarded-host": "evil.example", "x-gradio-server": "http://evil.example"}
        )
        voter.load()
        assert not any("evil.example" in text for text in voter.received)


def test_a_vote_is_given_behind_a_proxy_that_speaks_https_under_another_name(
    server, browser, certificate
):
    """The app is told neither the scheme nor the name; the page is still the browser's own address's."""
    with (
        tls_proxy(certificate, server.port) as address,
        fresh_page(browser, PHONE, ignore_https_errors=True) as page,
    ):
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        page.goto(f"{address}/?__theme=dark")
        see_both(page)
        press(page, "#choose-a")
        expect(page.locator("#status")).to_contain_text("You chose A")
        expect(page.locator("html")).to_have_class(re.compile("dark"))
        assert all(url.startswith((address, "data:", "blob:")) for url in requested), requested


def test_no_two_parts_of_the_pages_have_one_id(server):
    """Styles, scripts and tests find a part by its id. A page in another language has those of the page in English."""
    config = httpx.get(f"{server.address}/config").json()
    translated = set(config["page"]["score-zh"]["components"])
    parts = [part for part in config["components"] if part["id"] not in translated]
    named = Counter(part["props"].get("elem_id") for part in parts)
    assert [name for name, count in named.items() if name and count > 1] == []
