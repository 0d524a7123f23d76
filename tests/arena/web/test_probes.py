"""The probes find the known holes of a stock Gradio app and none in ours; forged calls of every event do nothing."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import httpx
import psutil
import pytest
from playwright.sync_api import expect

from arena.web.battle import FIELDS
from arena.web.scenes import ACTS
from tests.support.attack_checks import assert_tells_nothing, faults_of_ours, fingerprint
from tests.support.live_visitor import card, catalogue
from tests.support.openai_server import OpenAIServer
from tests.support.probes import PROBES, Target
from tests.support.screens import turn
from tests.support.servers import ROOT, AppServer, free_port
from tests.support.voter import Voter

CANARY = b"canary-of-the-operator"
NOT_IN_STOCK = {"fetching for others", "files by their path"}
"""Holes that Gradio closed by itself."""
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
    "{0.__class__}",
    "${7*7}{{7*7}}",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "file:///etc/passwd",
    "http://127.0.0.1:9/x",
    "?item=%00&item=../../etc/passwd",
    "?item=%ff&item=1e9",
    "?item=" + "9" * 5000,
    "9" * 5000,
    "NaN",
    "-inf",
    "2026-13-45 99:99:99",
    "\u202e\u200b\U000e0041",
    "a" + "\u0301" * 5000,
    "\ud800.1",
    "\r\n2026-01-01 ERROR forged\x1b[31m",
    LONG,
    [],
    ["x.1"] * 1000,
    {},
    {"__type__": "update", "value": "x", "visible": True},
    FILE_DATA,
    [FILE_DATA],
    {
        "path": str(ROOT / "app.py"),
        "url": "http://127.0.0.1:9/x",
        "meta": {"_type": "gradio.FileData"},
    },
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


@pytest.fixture(scope="module")
def stock(tmp_path_factory) -> Iterator[Target]:
    """A stock app whose working directory holds a file."""
    folder = tmp_path_factory.mktemp("stock")
    (folder / "votes.db").write_bytes(CANARY)
    port = free_port()
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "GRADIO_ANALYTICS_ENABLED": "False",
        "HF_HUB_OFFLINE": "1",
    }
    command = [sys.executable, "-m", "tests.support.stock_app", str(port), str(folder)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environ, cwd=ROOT, stdout=log, stderr=log)
    deadline = time.monotonic() + 180
    while not _answers(port):
        assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()[
            -2000:
        ]
        time.sleep(0.1)
    yield Target(
        f"http://127.0.0.1:{port}", (folder / "votes.db",), CANARY, process.pid, sessions=300
    )
    process.kill()
    process.wait()


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/config", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Iterator[AppServer]:
    """Our app with everything on: live models, a judge, a key of the operator."""
    folder = tmp_path_factory.mktemp("ours")
    with OpenAIServer(models=("one", "two")) as server:
        tables = [card(f"Model {name}", name, server) for name in server.models]
        running = AppServer(folder / "data", MODELS=catalogue(folder, *tables), TRUSTED_HOPS="1")
        (running.data_dir / "canary.txt").write_bytes(CANARY)
        yield running
        running.stop()


@pytest.fixture(scope="module")
def ours(live) -> Target:
    files = (
        live.data_dir / "canary.txt",
        live.data_dir / "arena.db",
        ROOT / "app.py",
        Path("/etc/passwd"),
    )
    return Target(live.address, files, CANARY, live.process.pid, sessions=300)


def test_there_are_enough_probes():
    assert len(PROBES) >= 25


SOAKED = ("unfinished body", "invented sessions")
"""Probes of the soak: ours waits 20 s for a body, and a memory is measured after hundreds of calls."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.soak if name in SOAKED else ()) for name in PROBES],
)
def test_a_probe_finds_nothing_in_ours(ours, live, name):
    before = fingerprint(live)
    seen = PROBES[name](ours)
    assert not seen.open, seen.what
    grown = {table for table, rows in fingerprint(live).items() if rows != before[table]}
    assert grown <= {"voter", "battle", "held_battle", "meta"}, (
        "a visitor may be dealt a battle; nothing else changes"
    )


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in PROBES if name not in NOT_IN_STOCK])
def test_a_probe_finds_the_hole_of_a_stock_app(stock, name):
    seen = PROBES[name](stock)
    assert seen.open, seen.what


@pytest.mark.parametrize(
    "sessions", [60, pytest.param(10_050, marks=[pytest.mark.soak, pytest.mark.timeout(1200)])]
)
def test_invented_sessions_take_nothing_from_an_honest_visitor(live, sessions):
    """Neither the battle, nor the memory, nor what the page offers; each comes from a network of its own."""
    with (
        Voter(live.address, network="8.8.4.4") as voter,
        httpx.Client(base_url=live.address) as attacker,
    ):
        voter.load()
        token = voter.token
        parts = dict(voter.parts)
        event = voter.events["on_look"]
        for number in range(sessions):
            body = {"data": ["", ""], "fn_index": event["id"], "session_hash": f"invented {number}"}
            headers = {
                "cookie": f"stereoscope_voter={number:032d}",
                "x-forwarded-for": f"11.{number // 250}.{number % 250}.7",
            }
            assert (
                attacker.post("/gradio_api/run/predict", json=body, headers=headers).status_code
                == 200
            )
        assert voter.load()["parts"] == parts and voter.token == token
        voter.choose("a")
        voter.wait_out_undo()
        assert psutil.Process(live.process.pid).memory_info().rss < 1_000_000_000


@pytest.fixture
def crowd(live) -> Iterator[list[httpx.Client]]:
    """Voters with an open battle each, from networks of their own: one alone may not call so often."""
    voters = [Voter(live.address, network=f"12.0.{number}.1") for number in range(8)]
    for one in voters:
        one.load()
        one.client.headers["connection"] = "close"
    yield [one.client for one in voters]
    for one in voters:
        one.close()


PREDICT = "/gradio_api/run/predict"


def forged_acts(share: int) -> Iterator[tuple[str, bytes]]:
    """Return hostile bodies for every act in a battle, in each of its texts: one in `share` payloads."""
    for place, (act, field) in enumerate(product(sorted(ACTS), FIELDS)):
        for payload in PAYLOADS[place % share :: share]:
            yield f"/battle/{act}", json.dumps({field: payload}).encode()


def forged_events(voter: Voter, share: int) -> Iterator[bytes]:
    """Return hostile bodies for every event of the page, also those that have no button: one in `share` payloads."""
    for place, event in enumerate(voter.events.values()):
        count = len(event["inputs"])
        for payload in PAYLOADS[place % share :: share]:
            if payload is not LONG or count < 2:
                yield json.dumps(
                    {"data": [payload] * count, "fn_index": event["id"], "session_hash": "s"}
                ).encode()
        for data in ([], ["x.1"] * (count + 3), {"a": 1}, None)[place % share :: share]:
            yield json.dumps(
                {"data": data, "fn_index": event["id"], "session_hash": voter.session}
            ).encode()


@pytest.mark.parametrize("share", [12, pytest.param(1, marks=pytest.mark.soak)])
def test_forged_calls_of_every_event_and_act_change_nothing(live, crowd, share):
    assert len(PAYLOADS) >= 40
    with Voter(live.address) as voter:
        token = voter.load() and voter.token
        before = fingerprint(live)
        calls = [(PREDICT, body) for body in (*forged_events(voter, share), *RAW)]
        calls += forged_acts(share)
        calls += [(f"/battle/{act}", body) for act in ACTS for body in RAW]
        for number, (path, body) in enumerate(calls):
            content = {"content-type": "application/json"}
            answer = crowd[number % len(crowd)].post(path, content=body, headers=content)
            assert answer.status_code < 500, (path, body[:100])
            assert answer.status_code != 429, "the crowd is large enough to try everything"
            assert_tells_nothing(answer.text)
        assert number > 1_600 / share
        assert fingerprint(live) == before
        assert faults_of_ours(live) == []
        voter.load()
        assert voter.token == token
        voter.choose("a")
        voter.wait_out_undo()
    assert_log_is_whole(live)


def assert_log_is_whole(server: AppServer) -> None:
    """Every line of the log is a record of its own, whatever was sent."""
    lines = server.log.read_text("utf-8").split("\n")
    begun = next((number for number, line in enumerate(lines) if line.startswith("{")), len(lines))
    for line in filter(None, lines[begun:]):
        assert set(json.loads(line)) <= {"time", "level", "logger", "text", "error"}
        assert line.isascii() and line.isprintable()


@pytest.mark.soak
def test_the_page_breaks_no_rule_of_its_own_policy(browser, live):
    """Every tab and a plot, in a real browser: no violation, no error in the console, no request elsewhere."""
    with Voter(live.address) as voter:
        voter.load()
        voter.choose("a")
        voter.wait_out_undo()
    page = browser.new_page()
    told: list[str] = []
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on(
        "console", lambda message: told.append(message.text) if message.type == "error" else None
    )
    page.on(
        "request",
        lambda sent: sent.url.startswith((live.address, "data:", "blob:")) or told.append(sent.url),
    )
    page.add_init_script(
        "addEventListener('securitypolicyviolation', e => console.error(`${e.violatedDirective} ${e.blockedURI}`))"
    )
    page.goto(live.address)
    expect(page.locator("#choose-a, #next").first).to_be_visible(timeout=60_000)
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
    turn(page, "Results")
    expect(page.get_by_role("table").first).to_contain_text(
        re.compile(r"\d votes?"), timeout=60_000
    )
    page.locator("#board-plots a", has_text="Battles").click()
    expect(page.locator("#board-plots svg").first).to_be_visible(timeout=60_000)
    assert told == []
    page.evaluate(
        "document.body.append(Object.assign(new Image(), {src: 'https://evil.example/p.png'}))"
    )
    expect(page.locator("img[src*=evil]")).to_have_count(1)
    page.wait_for_timeout(500)
    assert any("img-src" in text for text in told), "a violation would have been seen"
    page.close()
