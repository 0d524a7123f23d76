"""The guard and what stands behind it: foreign origins, closed routes, sizes, headers, floods, and forged calls."""

import asyncio
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import gradio
import httpx
import pytest
from gradio.routes import App
from starlette.responses import PlainTextResponse

from arena.web.events import Argument
from arena.web.middleware import MOST_BODY, PIECE, SMALL_BODY, RequestMiddleware
from arena.web.rate_limit import TURNS, Allowance, Rate, RateLimiter
from arena.web.scenes import ACTS
from tests.support.attack_checks import fingerprint
from tests.support.servers import ROOT, AppServer
from tests.support.signer import SIGNER
from tests.support.voter import Voter

FOREIGN = (
    "https://evil.example",
    "null",
    "http://127.0.0.1:1",
    "http://{host}.evil.example",
    "http://evil.example/{host}",
    "http://{host}@evil.example",
    "file://",
    "",
)
OPEN = frozenset(
    "/ /config /config/ /static/{path:path} /assets/{path:path} /favicon.ico /theme.css /robots.txt /login /login/ "
    "/logout /gradio_api/run/{api_name} /gradio_api/run/{api_name}/ /gradio_api/app_id /gradio_api/app_id/".split()
)
"""Routes of Gradio that stay open: the page, its files, its events; at the paths of its login stands ours."""
CLOSED = (
    "/gradio_api",
    "/gradio_api/",
    "/gradio_api/queue/join",
    "/gradio_api/queue/data?session_hash=x",
    "/gradio_api/queue/status",
    "/gradio_api/call/on_load",
    "/gradio_api/call/on_load/x",
    "/gradio_api/call/v2/on_load",
    "/gradio_api/api/predict",
    "/gradio_api/run/../upload",
    "/gradio_api/run/predict/../../upload",
    "/gradio_api/app_id/x",
    "/gradio_api/info",
    "/gradio_api/openapi.json",
    "/gradio_api/heartbeat/x",
    "/gradio_api/stream/x",
    "/gradio_api/reset",
    "/gradio_api/cancel",
    "/gradio_api/user",
    "/gradio_api/token",
    "/gradio_api/startup-events",
    "/gradio_api/custom_component/x/client/y/z.js",
    "/gradio_api/file=/etc/passwd",
    "/gradio_api/file/etc/passwd",
    "/openapi.json",
    "/svelte/x",
    "/gradio_api/upload",
    "/gradio_api/upload/",
    "/gradio_api/upload_progress?upload_id=x",
    "/gradio_api/process_recording",
    "/gradio_api/component_server",
    "/gradio_api/component_server/",
    "/gradio_api/deep_link?session_hash=x",
    "/gradio_api/runs",
    "/gradio_api/run-history/records",
    "/gradio_api/run-history/buckets",
    "/pwa_icon",
    "/pwa_icon/30000",
    "/manifest.json",
    "/monitoring",
    "/monitoring/summary",
    "/gradio_api/vibe-edit",
    "/gradio_api/vibe-code/",
    "/gradio_api/vibe-starter-queries",
    "/gradio_api/dev/reload",
    "/gradio_api/file=http://127.0.0.1:9/x",
    "/gradio_api/file=https://example.invalid/x",
    "/gradio_api/proxy=http://127.0.0.1:9/x",
    "/gradio_api/proxy=/x",
)
BATTLE = tuple(f"/battle/{act}" for act in sorted(ACTS))
HEADERS = {
    "content-security-policy": "frame-ancestors 'self' https://huggingface.co",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


def all_routes(routes: Iterable) -> Iterator[str]:
    """Yield the path of every route of Gradio's server, those of included routers too."""
    for route in routes:
        if hasattr(route, "path"):
            yield route.path
        else:
            yield from all_routes(route.original_router.routes)


def post_routes() -> list[str]:
    """Return every path that Gradio's server takes a POST on."""
    source = (Path(gradio.__file__).parent / "routes.py").read_text("utf-8")
    found = re.findall(r"@(router|app)\.post\(\s*\"([^\"]+)\"", source)
    assert len(found) > 20
    return sorted(
        {
            ("/gradio_api" if door == "router" else "") + re.sub(r"\{[^}]*\}", "x", path)
            for door, path in found
        }
    )


@pytest.fixture
def voter(server) -> Iterator[Voter]:
    """A voter with an open battle; after some refusals the server closes the connection, so each call has its own."""
    with Voter(server.address) as opened:
        opened.load()
        opened.client.headers["connection"] = "close"
        yield opened


def refusal(voter: Voter, route: str, **sent: Any) -> httpx.Response:
    """The answer to a post; sent again where the server refused before it read the body, and closing lost the words."""
    for _ in range(3):
        with suppress(httpx.ReadError):
            return voter.client.post(route, **sent)
    raise AssertionError(f"{route} never answers")


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_a_post_from_a_foreign_origin_is_refused_on_every_route(server, voter, every):
    host = server.address.removeprefix("http://")
    before = fingerprint(server)
    body = {
        "battle": voter.token,
        "value": "a",
        "data": [""],
        "fn_index": voter.events["on_look"]["id"],
        "session_hash": voter.session,
    }
    assert every <= len(FOREIGN), "every route is tried"
    for route, origin in list(product([*post_routes(), *BATTLE], FOREIGN))[::every]:
        headers = {"origin": origin.format(host=host)}
        assert refusal(voter, route, json=body, headers=headers).status_code == 403, (route, origin)
    assert fingerprint(server) == before


def test_a_post_that_names_a_foreign_page_and_other_methods_are_refused_too(voter):
    for route in ("/gradio_api/run/predict", "/battle/choose"):
        for page in ("https://evil.example/x", "http://[/", "about:blank", "http://127.0.0.1:1/"):
            answer = voter.client.post(route, headers={"referer": page})
            assert (answer.status_code, answer.text) == (
                403,
                "Requests from other sites are refused.",
            ), page
        for method in ("PUT", "PATCH", "DELETE"):
            answer = voter.client.request(method, route, headers={"origin": "https://evil.example"})
            assert answer.status_code == 403, method


def test_only_a_post_acts_in_a_battle(server, voter):
    """A link, a preview and a form of another kind change nothing."""
    sent = {"battle": voter.token, "value": "a"}
    before = fingerprint(server)
    for route in BATTLE:
        for method in ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"):
            answer = voter.client.request(method, route, params=sent, json=sent)
            assert answer.status_code in (200, 403, 404, 405), (method, route)
        assert voter.client.post(f"{route}/", json=sent).status_code in (404, 405), route
        assert voter.client.post(route, data=sent).status_code == 400, "a form is no JSON"
    for act in ("x", "Choose", "choose%20", "..%2fchoose", "%00", "choose.1"):
        assert voter.client.post(f"/battle/{act}", json=sent).status_code in (404, 405), act
    assert fingerprint(server) == before


def test_our_own_origin_and_a_program_without_one_are_let_through(server, voter):
    event = voter.events["on_look"]["id"]
    body = {"data": ["", ""], "fn_index": event, "session_hash": voter.session}
    for headers in ({}, {"origin": server.address}, {"referer": f"{server.address}/item/x"}):
        for route in ("/gradio_api/run/predict", "/battle/next"):
            answer = voter.client.post(route, json=body, headers=headers)
            assert answer.status_code == 200, route


@pytest.mark.parametrize("host", [None, "localhost"])
def test_no_other_site_may_read_our_answers(voter, host):
    headers = {"origin": "https://evil.example"} | ({"host": host} if host else {})
    for path in ("/", "/config", "/gradio_api/info", "/gradio_api/queue/status", *BATTLE):
        answer = voter.client.get(path, headers=headers)
        assert answer.headers.get("access-control-allow-origin") in (None, "http://127.0.0.1"), path
        preflight = {**headers, "access-control-request-method": "POST"}
        answer = voter.client.options(path, headers=preflight)
        assert answer.headers.get("access-control-allow-origin") in (None, "http://127.0.0.1"), path


def test_a_page_elsewhere_whose_name_leads_here_is_refused(server, voter):
    """For a browser it is of one origin with ours: the name it asked for tells it from ours."""
    port = server.port
    for host in (
        "evil.example",
        f"evil.example:{port}",
        f"127.0.0.1.evil.example:{port}",
        "localhost.evil.example",
    ):
        headers = {"host": host, "origin": f"http://{host}"}
        for route in ("/", "/results", "/battle/next", "/healthz"):
            assert voter.client.get(route, headers=headers).status_code == 421, (host, route)
        answer = voter.client.post("/battle/next", json={"item": ""}, headers=headers)
        assert answer.status_code == 421 and "PUBLIC_URL" in answer.text
        assert "set-cookie" not in answer.headers
    for host in (
        f"localhost:{port}",
        "LOCALHOST",
        f"127.0.0.1:{port}",
        "127.0.0.1:8000",
        f"[::1]:{port}",
        "localhost.",
    ):
        headers = {"host": host, "origin": f"http://{host}"}
        answer = voter.client.post("/battle/next", json={"item": ""}, headers=headers)
        assert answer.status_code == 200, host


def test_gradios_routes_that_we_do_not_use_are_closed(server, voter):
    for route in CLOSED:
        for method in ("GET", "POST"):
            for path in (route, f"/{route}", route.upper().replace("GRADIO_API", "gradio_api")):
                answer = voter.client.request(method, server.address + path)
                assert answer.status_code in (400, 403, 404, 405), path
        assert voter.client.get(route).text == "This route is closed.", route


def test_every_route_of_gradio_is_open_for_a_reason_or_closed(voter):
    """A new Gradio brings new routes: each is closed, or it is looked at and written down here."""

    async def made() -> App:
        return App.create_app(gradio.Blocks())

    paths = set(all_routes(asyncio.run(made()).routes))
    assert len(paths) > 60 and paths >= OPEN
    for path in sorted(paths - OPEN):
        for method in ("GET", "POST"):
            answer = voter.client.request(method, re.sub(r"\{[^}]*\}", "x", path))
            assert (answer.status_code, answer.text) == (403, "This route is closed."), path


FILES = (
    "{db}", "{db}-wal", "{data}/server.log", "{data}/pictures", "{root}/app.py", "{root}/arena/demo/items.jsonl",
    "/etc/passwd", "/proc/self/environ", "arena/battles/store.py", "../../etc/passwd", "..%2f..%2fetc%2fpasswd",
    "%2fetc%2fpasswd", "file:///etc/passwd", "/etc/../etc/passwd", "{data}/../data/arena.db",
)  # fmt: skip


def test_no_file_of_the_server_is_served(server, voter):
    known = {"db": server.data_dir / "arena.db", "data": server.data_dir, "root": ROOT}
    for path in FILES:
        for route in (
            "/gradio_api/file=",
            "/gradio_api/file/",
            "/file=",
            "/pictures/",
            "/static/",
            "/assets/",
        ):
            answer = voter.client.get(route + path.format(**known))
            assert answer.status_code in (400, 403, 404), route
            assert not any(
                word in answer.content
                for word in (b"SQLite format", b"root:", b"import ", b'instruction"')
            )


def test_a_file_name_longer_than_any_is_not_found_and_not_logged(server, voter):
    before = server.log.stat().st_size
    for folder in ("static", "assets", "pictures"):
        for name in ("x" * 256, "\N{CAT FACE}" * 64, "a/" * 3_000, "x" * 7_000):
            assert voter.client.get(f"/{folder}/{name}").status_code == 404, folder
    assert server.log.stat().st_size == before


def test_a_request_with_two_lengths_is_refused(server):
    """A proxy that believes the one would see another request behind it than a server that believes the other."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as line:
        line.sendall(
            b"POST /gradio_api/run/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        )
        assert line.recv(12) == b"HTTP/1.1 400"


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", "99999999999999999999999999"])
def test_a_false_length_is_refused(server, length):
    host, port = server.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(
            f"POST /gradio_api/run/predict HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{{}}".encode()
        )
        assert re.match(rb"HTTP/1.1 4\d\d ", raw.recv(1000))


def test_every_answer_carries_the_security_headers(voter):
    answers = [
        voter.client.get(path)
        for path in ("/", "/config", "/terms", "/nothing", "/healthz", "/pictures/none.png")
    ]
    answers += [
        voter.client.get(path)
        for path in ("/monitoring", "/gradio_api/file=/etc/passwd", *voter.pictures())
    ]
    answers.append(
        voter.client.post("/gradio_api/run/predict", headers={"origin": "https://evil.example"})
    )
    answers.append(voter.client.post("/gradio_api/run/predict", content=b"{"))
    answers.append(voter.client.post("/battle/next", json={}))
    answers.append(voter.client.post("/battle/choose", content=b"{"))
    answers.append(voter.client.post("/battle/nothing"))
    answers.append(voter.client.delete("/gradio_api/run/predict"))
    answers.append(voter.client.options("/gradio_api/run/predict"))
    answers.append(voter.client.post("/gradio_api/run/predict", content=b"x" * 1_000_001))
    codes = {answer.status_code for answer in answers}
    assert {200, 400, 403, 404, 405, 413, 422} <= codes
    for answer in answers:
        for name, part in HEADERS.items():
            assert part in answer.headers.get(name, ""), (answer.url, answer.status_code, name)


def test_a_page_loads_nothing_of_a_kind_that_it_does_not_use(voter):
    policy = voter.client.get("/").headers["content-security-policy"].split("; ")
    assert policy[0] == "default-src 'none'"
    assert {line.split()[0] for line in policy if not line.endswith("'none'")} == {
        *(
            "script-src",
            "style-src",
            "img-src",
            "font-src",
            "connect-src",
            "base-uri",
            "form-action",
            "frame-ancestors",
        )
    }
    assert [line for line in policy if "unsafe-eval" in line] == [
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'"
    ]


def begun(server: AppServer, head: str, body: bytes = b"{") -> socket.socket:
    """Return a line on which a post was begun, as from a network of its own."""
    line = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    common = f"Host: x\r\nCookie: stereoscope_voter={SIGNER.new()}\r\nX-Forwarded-For: 93.184.216.200\r\n"
    line.sendall(f"POST {head}\r\n{common}\r\n".encode() + body)
    return line


SLOW = (
    "/gradio_api/run/predict HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100",
    "/battle/choose HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100",
    "/live/battles HTTP/1.1\r\nTransfer-Encoding: chunked",
    "/live/images HTTP/1.1\r\nContent-Length: 1000",
    "/uploads?name=x.json HTTP/1.1\r\nContent-Length: 1000",
)


@pytest.mark.soak
def test_slow_senders_keep_nobody_waiting_and_are_cut_off(start_server):
    """Whoever shares their network opens the page and votes, and after a while they are told and their lines end."""
    server = start_server(TRUSTED_HOPS="1")
    lines = [
        begun(server, head, b"1\r\n{\r\n" if "chunked" in head else b"{")
        for head in SLOW
        for _ in range(4)
    ]
    with Voter(server.address, timeout=10) as neighbour:
        neighbour.client.headers["x-forwarded-for"] = "93.184.216.7"
        neighbour.load()
        neighbour.choose("a")
    told = set()
    for line in lines:
        with line, line.makefile("rb") as answer:
            told.add(answer.read().partition(b"\r\n")[0])
    refused = b"HTTP/1.1 403 Forbidden"  # of pictures without a cookie, before they are read
    assert told == {b"HTTP/1.1 408 Request Timeout", refused}, (
        "read to the end: the line was closed"
    )
    assert "Traceback" not in server.log.read_text("utf-8")


def test_a_sender_who_leaves_is_not_an_error(server):
    before = server.log.read_text("utf-8").count("Traceback")
    for head in SLOW:
        begun(server, head).close()
    httpx.post(f"{server.address}/uploads?name=x.json", content=iter([b"x"] * 3))
    assert httpx.get(f"{server.address}/healthz").text == "ok"
    assert server.log.read_text("utf-8").count("Traceback") == before


def test_few_large_bodies_are_on_their_way():
    """One more is refused before it is read; small ones are not."""
    few = Allowance(files=Rate(10**6, 10**6), calls=Rate(10**6, 10**6), open=10**6, large=2)

    async def endless():
        yield b"x"
        await asyncio.Event().wait()

    async def scenario() -> list[int]:
        async with client(PlainTextResponse("here"), network=few) as visitor:
            visitor.headers["cookie"] = f"stereoscope_voter={SIGNER.new()}"
            held = [await waiting_body(visitor) for _ in range(2)]
            large = {"content-length": str(SMALL_BODY + 1)}
            codes = [(await visitor.post("/x", content=endless(), headers=large)).status_code]
            codes += [(await visitor.post("/x", content=b"x" * 100)).status_code]
            for task in held:
                task.cancel()
            await asyncio.wait(held)
            return [*codes, (await visitor.post("/x", content=b"x" * (SMALL_BODY + 1))).status_code]

    assert asyncio.run(scenario()) == [429, 200, 200]


def test_few_files_that_are_made_when_asked_for_are_being_read():
    """Each lies in memory until its reader has it; other answers are not counted."""
    few = Allowance(files=Rate(10**6, 10**6), calls=Rate(10**6, 10**6), open=10**6, large=2)
    asked, read = asyncio.Semaphore(0), asyncio.Event()

    async def page(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        asked.release()
        if scope["path"] != "/x":
            await asyncio.wait_for(read.wait(), 10)
        await send({"type": "http.response.body", "body": b"here"})

    async def scenario() -> list[int]:
        async with client(page, network=few) as visitor:
            visitor.headers["cookie"] = f"stereoscope_voter={SIGNER.new()}"
            held = [
                asyncio.create_task(visitor.get(path))
                for path in ("/reports/x/y", "/boards/plot.png")
            ]
            for _ in held:
                await asked.acquire()
            codes = [
                (await visitor.get(path)).status_code
                for path in ("/reports/x/y", "/export/z", "/x")
            ]
            read.set()
            await asyncio.wait(held)
            return [*codes, (await visitor.get("/reports/x/y")).status_code]

    assert asyncio.run(scenario()) == [429, 429, 200, 200]


@pytest.mark.parametrize("length", [0, 1, PIECE, PIECE + 1, 5 * PIECE])
def test_a_long_answer_is_sent_in_pieces(length):
    """A server waits between them for the reader; a whole one would lie in each slow reader's buffer."""
    sent: list[bytes] = []

    async def send(message) -> None:
        sent.append(message.get("body", b""))
        assert message["type"] == "http.response.start" or message.get("more_body", False) == (
            sum(map(len, sent)) < length
        )

    async def receive():
        return {"type": "http.request", "body": b""}

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/x",
        "query_string": b"",
        "headers": [],
        "scheme": "http",
    }
    page = RequestMiddleware(PlainTextResponse(b"x" * length), SIGNER)
    asyncio.run(page({**scope, "client": ("8.8.8.8", 1)}, receive, send))
    assert b"".join(sent) == b"x" * length
    assert max(map(len, sent)) <= PIECE


async def waiting_body(visitor: httpx.AsyncClient) -> "asyncio.Task[httpx.Response]":
    """Begin a body that does not say how long it is."""
    asked = asyncio.Event()

    async def endless():
        asked.set()
        yield b"x"
        await asyncio.Event().wait()

    sending = asyncio.create_task(visitor.post("/x", content=endless()))
    await asked.wait()
    return sending


async def call(middleware: RequestMiddleware, path: str, stays: bool) -> None:
    """Post an empty object, as a caller who then stays, or has left by now."""
    messages = iter(
        [{"type": "http.request", "body": b"{}"}, None if stays else {"type": "http.disconnect"}]
    )

    async def receive():
        return next(messages) or await asyncio.Event().wait()

    async def send(_) -> None:
        """Nobody reads the answer."""

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [],
        "scheme": "http",
    }
    await middleware({**scope, "client": ("8.8.8.8", 1)}, receive, send)


def answered(headers: dict[str, str], pieces: Iterable[bytes] = ()) -> int:
    """Post a body in pieces to a middleware in front of a page; return the answer's status."""
    left = iter(pieces)
    codes: list[int] = []

    async def page(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive():
        piece = next(left, b"")
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    async def send(message) -> None:
        codes.append(message.get("status", 0))

    scope = {"type": "http", "method": "POST", "path": "/x", "query_string": b"", "scheme": "http"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    middleware = RequestMiddleware(page, SIGNER)(
        {**scope, "headers": raw, "client": ("8.8.8.8", 1)}, receive, send
    )
    asyncio.run(asyncio.wait_for(middleware, 10))
    return codes[0]


def test_a_large_body_is_refused_whether_announced_or_not():
    assert answered({"content-length": str(MOST_BODY)}) == 200
    assert answered({"content-length": str(MOST_BODY + 1)}) == 413
    assert answered({}, [b"x" * (MOST_BODY // 4)] * 4) == 200
    assert answered({}, [b"x" * (MOST_BODY // 4)] * 5) == 413


@pytest.mark.parametrize(
    "origin", ["https://evil-arena.org", "https://evil.arena.org", "https://arena.org.evil.example"]
)
def test_an_origin_that_looks_like_ours_is_another(origin):
    assert answered({"host": "arena.org", "origin": origin}) == 403
    assert answered({"host": "arena.org", "origin": "https://arena.org"}) == 200


def test_a_call_whose_caller_has_left_is_not_worked_on():
    """Of those that wait for their turn only the ones whose callers wait, too, reach the app."""
    reached: list[str] = []

    async def scenario() -> None:
        working, done = asyncio.Event(), asyncio.Event()

        async def app(scope, receive, send) -> None:
            reached.append(scope["path"])
            if len(reached) == TURNS:
                working.set()
            await done.wait()

        middleware = RequestMiddleware(app, SIGNER, limits=RateLimiter(voter=WIDE, network=WIDE))
        calls = [
            asyncio.create_task(call(middleware, "/working", stays=True)) for _ in range(TURNS)
        ]
        await working.wait()
        waiting = [("/left", False)] * 5 + [("/waits", True)]
        calls += [asyncio.create_task(call(middleware, path, stays)) for path, stays in waiting]
        await asyncio.sleep(0)
        done.set()
        await asyncio.gather(*calls)

    asyncio.run(scenario())
    assert reached == ["/working"] * TURNS + ["/waits"]


def test_files_that_are_made_when_asked_for_take_turns_until_they_are_sent():
    """Those of one network: at most TURNS are made at a time, and a slow reader takes nobody's turn."""
    making, most = 0, 0

    async def scenario() -> None:
        sending = asyncio.Event()

        async def app(scope, receive, send) -> None:
            nonlocal making, most
            making, most = making + 1, max(most, making + 1)
            await asyncio.sleep(0.01)
            making -= 1
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        async def read(path: str) -> None:
            messages = iter([{"type": "http.request"}])

            async def receive():
                return next(messages, None) or await asyncio.Event().wait()

            async def slowly(message) -> None:
                if message["type"] == "http.response.body":
                    told.append(path)
                    if len(told) == 3 * TURNS:
                        sending.set()
                    await sending.wait()

            scope = {
                "type": "http",
                "method": "GET",
                "path": path,
                "query_string": b"",
                "headers": [],
                "scheme": "http",
            }
            await middleware({**scope, "client": ("8.8.8.8", 1)}, receive, slowly)

        told: list[str] = []
        middleware = RequestMiddleware(app, SIGNER, limits=RateLimiter(voter=WIDE, network=WIDE))
        async with asyncio.timeout(30):
            await asyncio.gather(*(read("/boards/plot.png") for _ in range(3 * TURNS)))

    asyncio.run(scenario())
    assert most == TURNS


def test_what_is_made_of_reports_is_made_one_after_the_other():
    """Whoever asks: ten networks would hold all threads; those who left meanwhile are not worked on."""
    making = most = made = 0

    async def app(scope, receive, send) -> None:
        nonlocal making, most, made
        making += 1
        most = max(most, making)
        await asyncio.sleep(0.001)
        making -= 1
        made += 1

    async def ask(middleware: RequestMiddleware, network: int, path: str, stays: bool) -> None:
        messages = iter([{"type": "http.request", "body": b""}])

        async def receive():
            message = next(messages, None)
            if message is None and stays:
                await asyncio.Event().wait()
            return message or {"type": "http.disconnect"}

        async def send(message) -> None:
            pass

        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": b"",
            "headers": [],
            "scheme": "http",
            "client": (f"8.{network}.8.8", 1),
        }
        await middleware(scope, receive, send)

    async def scenario() -> None:
        middleware = RequestMiddleware(
            app,
            SIGNER,
            limits=RateLimiter(voter=WIDE, network=WIDE),
        )
        paths = (
            *("/report/link", "/reports/link/a.csv", "/report/link/people", "/reports"),
            *("/r/slug", "/r/slug.png", "/badge/slug.svg", "/embed/slug"),
        )
        async with asyncio.timeout(30):
            await asyncio.gather(
                *(
                    ask(middleware, network, path, stays)
                    for network in range(10)
                    for path in paths
                    for stays in (True, False)
                )
            )

    asyncio.run(scenario())
    assert most == 1
    assert made == 10 * 8


CALL = b'{"data": ["%s"], "fn_index": 1}'
MISFITS = (
    b"", b"{", b"[]", b"null", b"1", b"\xff", CALL.decode().encode("utf-16"), CALL % b"\\ud800", CALL % b"x\\uDFFFx",
    b'{"\\ud800": 1, "fn_index": 1}', b'{"data": []}', b'{"fn_index": -1}', b'{"fn_index": 99999}',
    b'{"fn_index": [1]}', b'{"fn_index": true}', b'{"fn_index": %s}' % (b"9" * 5000),
    b'{"fn_index": 1, "data": %s%s}' % (b"[" * 30_000, b"]" * 30_000),
)  # fmt: skip


@pytest.mark.parametrize("body", MISFITS, ids=range(len(MISFITS)))
def test_what_calls_no_event_is_refused_in_one_line(body):
    async def scenario() -> httpx.Response:
        middleware = RequestMiddleware(
            PlainTextResponse("here"),
            SIGNER,
            events={1: [Argument("Text", "text", (str,), 10)], 2: []},
        )
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(middleware), base_url="http://here"
        ) as visitor:
            for fit in (
                CALL % b"\\ud83d\\ude00",
                CALL % b"\\\\ud800",
                CALL % "\N{GRINNING FACE}".encode(),
            ):
                assert (await visitor.post("/gradio_api/run/predict", content=fit)).text == "here"
            return await visitor.post("/gradio_api/run/predict", content=body)

    answer = asyncio.run(scenario())
    assert (
        answer.status_code == 422
        and answer.text.startswith("Expected a call")
        and "\n" not in answer.text
    )


def test_nul_is_refused_wherever_it_comes_and_not_logged(server, voter):
    logged = server.log.stat().st_size
    for event in voter.events.values():
        if event["inputs"]:
            body = {
                "data": ["a\0"] * len(event["inputs"]),
                "fn_index": event["id"],
                "session_hash": "s",
            }
            answer = voter.client.post("/gradio_api/run/predict", json=body)
            assert answer.status_code == 422, event["api_name"]
    for path in (
        "/reports/%00/x",
        "/preview/model/%00.png",
        "/boards/board.csv?source=%00",
        "/model/%00",
    ):
        assert voter.client.get(path).status_code == 404, path
        page = voter.client.get(path, headers={"accept": "text/html,*/*"})
        assert page.status_code == 404 and "There is nothing at this address." in page.text, path
        assert "\0" not in page.text and "default-src" in page.headers["content-security-policy"]
    assert voter.client.post("/uploads?name=%00.json", content=b"{}").status_code == 404
    assert server.log.stat().st_size == logged


def test_a_host_that_a_stranger_sends_breaks_no_event_and_is_not_logged(server, voter):
    logged = server.log.stat().st_size
    body = {"data": ["", ""], "fn_index": voter.events["on_look"]["id"], "session_hash": "s"}
    for headers in product(("x-forwarded-host", "x-gradio-server"), ("[::", "a:b", ":::")):
        for route in ("/gradio_api/run/predict", "/battle/next"):
            answer = voter.client.post(route, json=body, headers=[headers])
            assert answer.status_code == 200, headers
    assert server.log.stat().st_size == logged


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/logout"), ("POST", "/login"), ("POST", "/login/")]
)
def test_gradios_own_login_redirects_nobody_to_a_host_that_a_stranger_sends(voter, method, path):
    headers = {"host": "localhost", "x-forwarded-host": "evil.example"}
    answer = voter.client.request(
        method, path, data={"username": "a", "password": "b"}, headers=headers
    )
    assert (answer.status_code, answer.headers.get("location")) == (403, None)


FEW_OPEN = Allowance(files=Rate(10**6, 10**6), calls=Rate(10**6, 10**6), open=2, large=2)
SMALL = Allowance(files=Rate(5, 0.01), calls=Rate(2, 0.01), open=2, large=2)
WIDE = Allowance(files=Rate(10**6, 10**6), calls=Rate(10**6, 10**6), open=10**6, large=10**6)


def client(app, peer: str = "8.8.8.8", **limits) -> httpx.AsyncClient:
    """Return a client of a guarded app, as from an address."""
    middleware = RequestMiddleware(
        app, SIGNER, limits=RateLimiter(**{"voter": WIDE, "network": WIDE, **limits})
    )
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(middleware, client=(peer, 1)), base_url="http://here"
    )


def test_open_streams_are_bounded():
    async def scenario() -> list[int]:
        streaming = asyncio.Semaphore(0)

        async def hang(scope, receive, send) -> None:
            """Begin an answer and never end it, as a stream of events does."""
            await send({"type": "http.response.start", "status": 200, "headers": []})
            streaming.release()
            await asyncio.Event().wait()

        async with client(hang, network=FEW_OPEN) as visitor:
            visitor.headers["cookie"] = f"stereoscope_voter={SIGNER.new()}"
            held = [asyncio.create_task(visitor.get("/stream")) for _ in range(2)]
            for _ in held:
                await streaming.acquire()
            codes = [(await visitor.get("/stream")).status_code]
            held[0].cancel()
            await asyncio.wait([held[0]])
            again = asyncio.create_task(visitor.get("/stream"))
            await streaming.acquire()
            done, _ = await asyncio.wait([again], timeout=0.2)
            for task in (*held, again):
                task.cancel()
            await asyncio.wait([*held, again])
            return [*codes, len(done)]

    assert asyncio.run(scenario()) == [429, 0], (
        "the third is refused; after one went there is room, and it is held"
    )


@pytest.mark.parametrize("hops", [0, 1])
def test_no_header_and_no_fresh_cookie_helps_a_network(hops):
    """What a caller writes stands left of what our own proxies add."""

    async def scenario() -> list[int]:
        codes = []
        async with client(PlainTextResponse("here"), network=SMALL, trusted_hops=hops) as visitor:
            for number in range(6):
                headers = {
                    "cookie": f"stereoscope_voter={SIGNER.new()}",
                    "x-forwarded-for": f"9.9.{number}.9" + (", 8.8.8.8" if hops else ""),
                    "x-real-ip": f"7.7.7.{number}",
                    "forwarded": f"for=7.7.7.{number}",
                }
                codes.append((await visitor.post("/live/battles", headers=headers)).status_code)
        return codes

    assert asyncio.run(scenario()) == [200, 200, 429, 429, 429, 429]


def test_whoever_floods_is_told_to_come_again_and_others_are_not():
    """Refused calls count too, so that the flood itself is cheap."""

    async def scenario() -> tuple[list[httpx.Response], list[int]]:
        async with client(PlainTextResponse("here"), voter=SMALL) as visitor:
            visitor.headers["cookie"] = f"stereoscope_voter={SIGNER.new()}"
            flood = [await visitor.post("/gradio_api/upload") for _ in range(4)]
            file = await visitor.get("/theme.css")
            visitor.headers["cookie"] = f"stereoscope_voter={SIGNER.new()}"
            other = await visitor.post("/x")
            return flood, [file.status_code, other.status_code]

    flood, others = asyncio.run(scenario())
    assert [answer.status_code for answer in flood] == [403, 403, 429, 429]
    assert int(flood[-1].headers["retry-after"]) >= 1
    assert "Too many requests" in flood[-1].text and "\n" not in flood[-1].text
    assert others == [200, 200], "what costs nothing goes on, and so does whoever else there is"


def test_the_probes_of_the_operator_are_never_refused():
    async def scenario() -> set[int]:
        async with client(PlainTextResponse("ok"), voter=SMALL, network=SMALL) as visitor:
            return {(await visitor.get(path)).status_code for path in ("/healthz", "/readyz") * 20}

    assert asyncio.run(scenario()) == {200}


def test_no_websocket_is_opened():
    sent = []

    async def scenario() -> None:
        async def send(message) -> None:
            sent.append(message)

        middleware = RequestMiddleware(PlainTextResponse("here"), SIGNER)
        await middleware({"type": "websocket", "path": "/gradio_api/queue/join"}, None, send)  # pyright: ignore

    asyncio.run(scenario())
    assert [message["type"] for message in sent] == ["websocket.close"]
