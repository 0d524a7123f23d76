"""The guard and what stands behind it: foreign origins, closed routes, sizes, headers, and calls that no page makes."""

import hashlib
import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import gradio
import httpx
import pytest

from tests.conftest import ROOT, AppServer
from tests.voter import Voter

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
CLOSED = (
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
HEADERS = {
    "content-security-policy": "frame-ancestors 'self' https://huggingface.co",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}
FILE_DATA = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
LONG = "x" * 900_000
PAYLOADS = (
    None,
    True,
    0,
    -1,
    10**30,
    1e308,
    "",
    "a",
    "C",
    ".1",
    "x.1",
    "x.2",
    "\0.1",
    "' OR 1=1 --.1",
    "%s.1",
    "?item=%00&item=../../etc/passwd",
    "?campaign=%ff&worker=%00&n=1e9",
    "?campaign=x&worker=x&n=" + "9" * 5000,
    "\ud800.1",
    LONG,
    LONG + ".1",
    [],
    ["x.1"] * 1000,
    {},
    {"__type__": "update", "value": "x", "visible": True},
    FILE_DATA,
    [FILE_DATA],
    {"path": str(ROOT / "app.py"), "url": "http://127.0.0.1:9/x", "meta": {"_type": "gradio.FileData"}},
)
RAW = (
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"data": null, "fn_index": 0, "session_hash": "s"}',
    b'{"data": "x", "fn_index": 0, "session_hash": "s"}',
    b'{"data": [NaN], "fn_index": 1, "session_hash": "s"}',
    b'{"data": [1e999], "fn_index": 1, "session_hash": "s"}',
    b'{"data": ["x"], "fn_index": 999, "session_hash": "s"}',
    b'{"data": ["x"], "fn_index": -1, "session_hash": "s"}',
    b'{"data": ["x"], "fn_index": "1", "session_hash": {"a": 1}}',
    b'{"data": ["x"], "session_hash": "s"}',
    b'{"data": ["x"], "fn_index": 1, "session_hash": "s", "trigger_id": 99999, "event_data": {"a": [1]}}',
    b'{"data": ["x"], "fn_index": 1, "session_hash": "s", "batched": true, "request": {"a": 1}}',
    b'{"data": [' + b"[" * 3000 + b"]" * 3000 + b'], "fn_index": 1, "session_hash": "s"}',
    b"\xff\xfe\x00",
)


def post_routes() -> list[str]:
    """Return every path that Gradio's server takes a POST on."""
    source = (Path(gradio.__file__).parent / "routes.py").read_text("utf-8")
    found = re.findall(r"@(router|app)\.post\(\s*\"([^\"]+)\"", source)
    assert len(found) > 20
    return sorted(
        {("/gradio_api" if door == "router" else "") + re.sub(r"\{[^}]*\}", "x", path) for door, path in found}
    )


@pytest.fixture
def voter(server) -> Iterator[Voter]:
    """A voter with an open battle; after some refusals the server closes the connection, so each call has its own."""
    with Voter(server.address) as opened:
        opened.load()
        opened.client.headers["connection"] = "close"
        yield opened


def fingerprint(server: AppServer) -> dict[str, tuple[int, str]]:
    """Return how many rows each table has, and a hash of them."""
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: database.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in tables}
    return {name: (len(found), hashlib.sha256(repr(found).encode()).hexdigest()) for name, found in rows.items()}


def assert_tells_nothing(text: str) -> None:
    """An answer holds no traceback, no path of ours, no statement and no file."""
    for word in (
        "Traceback",
        'File "',
        str(ROOT),
        "sqlalchemy",
        "sqlite",
        "SELECT ",
        "INSERT ",
        "root:x:",
        "/gradio_api/file=",
    ):
        assert word not in text, text[:2000]


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_post_from_a_foreign_origin_is_refused_on_every_route(server, voter, origin):
    host = server.address.removeprefix("http://")
    before = fingerprint(server)
    body = {"data": [voter.token], "fn_index": voter.events["on_choose_a"]["id"], "session_hash": voter.session}
    for route in post_routes():
        headers = {"origin": origin.format(host=host)}
        assert voter.client.post(route, json=body, headers=headers).status_code == 403, route
    assert fingerprint(server) == before


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_methods_from_a_foreign_origin_are_refused_too(voter, method):
    answer = voter.client.request(method, "/gradio_api/run/predict", headers={"origin": "https://evil.example"})
    assert answer.status_code == 403


def test_our_own_origin_and_a_program_without_one_are_let_through(server, voter):
    body = {"data": [], "fn_index": voter.events["on_keep"]["id"], "session_hash": voter.session}
    for headers in ({}, {"origin": server.address}):
        assert voter.client.post("/gradio_api/run/predict", json=body, headers=headers).status_code == 200


@pytest.mark.parametrize("host", [None, "arena.example"])
def test_no_other_site_may_read_our_answers(voter, host):
    headers = {"origin": "https://evil.example"} | ({"host": host} if host else {})
    for path in ("/", "/config", "/gradio_api/info", "/gradio_api/queue/status"):
        answer = voter.client.get(path, headers=headers)
        assert answer.headers.get("access-control-allow-origin") in (None, "http://127.0.0.1"), path
        preflight = {**headers, "access-control-request-method": "POST"}
        answer = voter.client.options(path, headers=preflight)
        assert answer.headers.get("access-control-allow-origin") in (None, "http://127.0.0.1"), path


@pytest.mark.parametrize("route", CLOSED)
def test_gradios_routes_that_we_do_not_use_are_closed(server, voter, route):
    for method in ("GET", "POST"):
        for path in (route, f"/{route}", route.upper().replace("GRADIO_API", "gradio_api")):
            answer = voter.client.request(method, server.address + path)
            assert answer.status_code in (400, 403, 404, 405), path
    assert voter.client.get(route).text == "This route is closed."


@pytest.mark.parametrize(
    "path",
    ["{db}", "{db}-wal", "{data}/server.log", "{data}/pictures", "{root}/app.py", "{root}/arena/demo/items.jsonl",
     "/etc/passwd", "/proc/self/environ", "arena/store.py", "../../etc/passwd", "..%2f..%2fetc%2fpasswd",
     "%2fetc%2fpasswd", "file:///etc/passwd", "/etc/../etc/passwd", "{data}/../data/arena.db"],
)  # fmt: skip
def test_no_file_of_the_server_is_served(server, voter, path):
    known = {"db": server.data_dir / "arena.db", "data": server.data_dir, "root": ROOT}
    for route in ("/gradio_api/file=", "/gradio_api/file/", "/file=", "/pictures/", "/static/", "/assets/"):
        answer = voter.client.get(route + path.format(**known))
        assert answer.status_code in (400, 403, 404), route
        assert not any(word in answer.content for word in (b"SQLite format", b"root:", b"import ", b'instruction"'))


def test_a_large_body_is_refused_whether_announced_or_not(server, voter):
    before = fingerprint(server)
    body = {"data": [voter.token], "fn_index": voter.events["on_choose_a"]["id"], "session_hash": voter.session}
    large = json.dumps({**body, "event_data": "x" * 2_000_000}).encode()
    for content in (large, (large[start : start + 50_000] for start in range(0, len(large), 50_000))):
        answer = httpx.post(
            f"{server.address}/gradio_api/run/predict",
            content=content,
            headers={
                "content-type": "application/json",
                "cookie": f"stereoscope_voter={voter.client.cookies['stereoscope_voter']}",
            },
        )
        assert answer.status_code == 413
        assert "1000000 bytes" in answer.text
    assert fingerprint(server) == before
    voter.choose("a")


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
        voter.client.get(path) for path in ("/", "/config", "/terms", "/nothing", "/healthz", "/pictures/none.png")
    ]
    answers += [voter.client.get(path) for path in ("/monitoring", "/gradio_api/file=/etc/passwd", *voter.pictures())]
    answers.append(voter.client.post("/gradio_api/run/predict", headers={"origin": "https://evil.example"}))
    answers.append(voter.client.post("/gradio_api/run/predict", content=b"{"))
    answers.append(voter.client.delete("/gradio_api/run/predict"))
    answers.append(voter.client.options("/gradio_api/run/predict"))
    answers.append(voter.client.post("/gradio_api/run/predict", content=b"x" * 1_000_001))
    codes = {answer.status_code for answer in answers}
    assert {200, 403, 404, 405, 413, 422} <= codes
    for answer in answers:
        for name, part in HEADERS.items():
            assert part in answer.headers.get(name, ""), (answer.url, answer.status_code, name)


def forged(voter: Voter) -> Iterator[bytes]:
    """Return hostile bodies for every event of the page, also those that have no button."""
    for event in voter.events.values():
        count = len(event["inputs"])
        for payload in PAYLOADS:
            if payload is None or not isinstance(payload, str) or len(payload) < 1000 or count < 2:
                yield json.dumps({"data": [payload] * count, "fn_index": event["id"], "session_hash": "s"}).encode()
        for data in ([], ["x.1"] * (count + 3), ["x.1"] * max(0, count - 1), {"a": 1}, None):
            yield json.dumps({"data": data, "fn_index": event["id"], "session_hash": voter.session}).encode()


def assert_still_works(server: AppServer, voter: Voter) -> None:
    """The voter's battle is as it was, and the vote counts."""
    assert httpx.get(f"{server.address}/healthz").text == "ok"
    token = voter.token
    voter.load()
    assert voter.token == token
    voter.choose("a")
    voter.wait_out_undo()


def faults_of_ours(server: AppServer) -> list[str]:
    """Return the places in our own files where the log's tracebacks end."""
    ours = rf'File "{re.escape(str(ROOT))}/((?:app\.py|arena/\w+\.py)", line \d+, in \w+)\n(?:    .*\n)*(?=\S)'
    return re.findall(ours, server.log.read_text("utf-8"))


def test_forged_calls_of_every_event_change_nothing(server, voter):
    before = fingerprint(server)
    calls = 0
    for body in [*forged(voter), *RAW]:
        for route in ("run/predict", "api/predict") if calls % 10 == 0 else ("run/predict",):
            calls += 1
            answer = voter.client.post(
                f"/gradio_api/{route}", content=body, headers={"content-type": "application/json"}
            )
            assert_tells_nothing(answer.text)
    assert calls > 300
    assert fingerprint(server) == before
    assert faults_of_ours(server) == []
    assert_still_works(server, voter)


@pytest.mark.parametrize("wrapped", ["{}", "[{}]", '{{"a": [{}]}}'])
@pytest.mark.parametrize("event", ["on_load", "on_next", "on_choose_a", "on_search", "on_open"])
def test_a_forged_file_is_neither_copied_nor_fetched(server, voter, event, wrapped):
    """Gradio copies what a value calls a file into its public cache, also for a text box; here it must not."""
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.05)
        for path in (
            "/etc/passwd",
            server.data_dir / "arena.db",
            ROOT / "app.py",
            f"http://127.0.0.1:{trap.getsockname()[1]}/x",
        ):
            file = json.dumps({"path": str(path), "meta": {"_type": "gradio.FileData"}})
            values = [json.loads(wrapped.format(file))] * len(voter.events[event]["inputs"])
            body = {"data": values, "fn_index": voter.events[event]["id"], "session_hash": voter.session}
            answer = voter.client.post("/gradio_api/run/predict", json=body)
            for served in re.findall(r"/gradio_api/file=[^'\"\\\s]+", answer.text):
                assert voter.client.get(served).status_code != 200, f"{path} is served to anyone"
            assert_tells_nothing(answer.text)
        with pytest.raises(TimeoutError):
            trap.accept()


def test_forged_calls_through_the_queue_change_nothing(server, voter):
    """The page's events are not queued, but anyone may put them there."""
    before = fingerprint(server)
    for number, event in enumerate(voter.events.values()):
        for payload in ("x.1", None, FILE_DATA, ["x"]):
            body = {"data": [payload] * len(event["inputs"]), "fn_index": event["id"], "session_hash": f"s{number}"}
            assert_tells_nothing(voter.client.post("/gradio_api/queue/join", json=body).text)
            answer = voter.client.post(f"/gradio_api/call/{event['api_name']}", json={"data": body["data"]})
            assert_tells_nothing(answer.text)
            if answer.status_code == 200:
                path = f"/gradio_api/call/{event['api_name']}/{answer.json()['event_id']}"
                assert_tells_nothing(voter.client.get(path).text)
            answer = voter.client.post(f"/gradio_api/call/v2/{event['api_name']}", json={"token": payload})
            assert_tells_nothing(answer.text)
        assert_tells_nothing(voter.client.get(f"/gradio_api/queue/data?session_hash=s{number}").text)
    assert fingerprint(server) == before
    assert faults_of_ours(server) == []
    assert_still_works(server, voter)


def test_invented_sessions_take_no_battle_away(server, voter):
    """Battles live in the database, so that no flood of made-up sessions makes anyone lose one."""
    for number in range(300):
        body = {"data": [], "fn_index": voter.events["on_keep"]["id"], "session_hash": f"invented-{number}"}
        assert voter.client.post("/gradio_api/run/predict", json=body).status_code == 200
    assert_still_works(server, voter)
