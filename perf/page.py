"""Pages over a slow line: `python -m perf.page [--before REVISION]`.

Chromium, at 1.6 Mbps down, 0.75 Mbps up and 150 ms, opens `/` of a fresh server with the demo bank: with an empty
cache and with a warm one, at 1280 and 390 pixels, and at 390 with a processor four times slower. Seconds, requests, and
bytes of pictures and of all else are counted until a vote is possible: every picture is decoded and the button A is
shown, on a desktop also enabled. Layout shift is counted for the first seconds. Then voters go on, and the time from
the click to the next battle with its decoded pictures is measured. Then the pages to read (`perf/_reading.py`) are
opened with an empty cache. For comparison, a page of Gradio with one button and another revision of this project are
measured too.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from perf import _reading
from tests.support.screens import chromium
from tests.support.servers import ROOT, AppServer, free_port

LINE = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
"""Milliseconds, and bytes a second."""
SLOW_PROCESSOR = 4
DESK = 1280
PHONE = 390
MOST_SECONDS = 1.2
"""Most seconds until a vote is possible."""
MOST_SECONDS_SLOW = 1.6
"""The same on the slow processor."""
REQUESTS = 12
SHIFT = 0.05
PICTURES = 120
"""REQUESTS, SHIFT, PICTURES: the most requests, layout shift, and kB of a battle's pictures."""
NEXT_MS = 100
"""Most milliseconds to the next battle."""
ROUNDS = 3
BATTLES = 6
SETTLED_MS = 3000
"""How long layout shift is counted after a vote is possible, or a page to read is ready."""
_ONE_BUTTON = """
import sys, gradio as gr
with gr.Blocks() as page:
    gr.Button("A is better").click(lambda: None)
page.launch(server_port=int(sys.argv[1]), quiet=True)
"""
_VOTE_POSSIBLE = """() => {
  const button = document.querySelector('#choose-a');
  const pictures = [...document.querySelectorAll('.enlarge img')];
  const isThere = button && button.offsetParent && (innerWidth < 700 || !button.disabled);
  const isDecoded = (picture) => picture.complete && picture.naturalWidth;
  return isThere && pictures.length && pictures.every(isDecoded) && performance.now();
}"""
_SHIFTS = """window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""
_BUTTON_SHOWN = "() => document.querySelector('button.lg')?.offsetParent && performance.now()"
_NEXT = """() => new Promise((done) => {
  const texts = () => document.querySelector('.answers').textContent;
  // The next battle may be on the same pictures.
  const battle = () => document.querySelector('.enlarge img').src + texts();
  const before = battle();
  const start = performance.now();
  const pictures = () => [...document.querySelectorAll('.enlarge img')];
  const decoded = () => pictures().every((picture) => picture.complete && picture.naturalWidth);
  const look = () => {
    if (battle() !== before && decoded()) done(performance.now() - start);
    else requestAnimationFrame(look);
  };
  document.querySelector('#next').click();
  look();
})"""


@dataclass
class Visit:
    """The cost of opening a page."""

    seconds: float = 0
    requests: int = 0
    others: int = 0
    """Bytes of all but pictures over the line."""
    pictures: int = 0
    """Bytes of pictures over the line."""
    shift: float = 0.0
    _kinds: dict[str, str] = field(default_factory=dict)
    """Kinds of the counted requests, by their ids."""
    _is_over: bool = False

    def watch(self, cdp: Any) -> None:
        """Counts requests and bytes from now on."""
        cdp.on("Network.responseReceived", self._on_response)
        cdp.on("Network.loadingFinished", self._on_finished)

    def stop(self) -> None:
        self._is_over = True

    def _on_response(self, event: Any) -> None:
        response = event["response"]
        if self._is_over or not response["url"].startswith("http") or response.get("fromDiskCache"):
            return
        self._kinds[event["requestId"]] = event["type"]
        self.requests += 1
        if event["type"] == "EventSource":  # it never finishes
            self._count(event["type"], response["encodedDataLength"])

    def _on_finished(self, event: Any) -> None:
        if event["requestId"] in self._kinds and not self._is_over:
            self._count(self._kinds[event["requestId"]], event["encodedDataLength"])

    def _count(self, kind: str, size: int) -> None:
        if kind == "Image":
            self.pictures += size
        else:
            self.others += size

    def __str__(self) -> str:
        sizes = f"{self.others / 1000:4.0f} kB and {self.pictures / 1000:3.0f} kB of pictures"
        return f"{self.seconds:5.2f} s, {self.requests:2} requests, {sizes}, shift {self.shift:.3f}"


def open_page(
    page: Page, address: str, ready: str, slowness: int = 1, counts_settling: bool = False
) -> Visit:
    """Opens an address over the slow line; returns its cost until the script `ready` gives a time.

    `counts_settling`: the requests and bytes of the SETTLED_MS after that moment count too.
    """
    visit = Visit()
    cdp = page.context.new_cdp_session(page)
    cdp.send("Network.enable")
    cdp.send("Network.emulateNetworkConditions", LINE)
    cdp.send("Emulation.setCPUThrottlingRate", {"rate": slowness})
    page.add_init_script(_SHIFTS)
    visit.watch(cdp)
    page.goto(address, wait_until="commit")
    visit.seconds = page.wait_for_function(ready, timeout=60_000).json_value() / 1000
    if not counts_settling:
        visit.stop()
    page.wait_for_timeout(SETTLED_MS)
    visit.shift = page.evaluate("window.shift")
    return visit


@contextmanager
def new_page(browser: Browser, width: int) -> Iterator[Page]:
    """Opens a page of a new visitor."""
    context = browser.new_context(viewport={"width": width, "height": 844})
    yield context.new_page()
    context.close()


def second_page(page: Page) -> Page:
    """Closes a page; returns another one of the same visitor, whose cache is warm."""
    context = page.context
    page.close()
    return context.new_page()


def next_battles(page: Page, battles: int) -> list[float]:
    """Votes and goes on; returns the milliseconds from the click to each next battle."""
    times = []
    for _ in range(battles):
        page.wait_for_function("() => !document.querySelector('#choose-a').disabled")
        page.keyboard.press("a")
        page.wait_for_timeout(700)
        page.keyboard.press("n")  # shows the names, and with them `#next`
        page.wait_for_selector("#next:visible")
        page.wait_for_load_state("networkidle")  # the next battle arrives while the names are read
        page.wait_for_timeout(1500)
        times.append(page.evaluate(_NEXT))
    return times


@contextmanager
def revision_of(revision: str, folder: Path) -> Iterator[Path]:
    """Checks out another revision of this project."""
    tree = folder / "before"
    subprocess.run(
        ["git", "worktree", "add", "-q", "--detach", tree, revision], cwd=ROOT, check=True
    )
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


@contextmanager
def one_button(folder: Path) -> Iterator[str]:
    """Serves Gradio's page with one button, and returns its address."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", _ONE_BUTTON, str(port)], cwd=folder, stdout=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                httpx.get(address)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def median(visits: list[Visit]) -> Visit:
    """Returns the visit of median seconds."""
    return sorted(visits, key=lambda visit: visit.seconds)[len(visits) // 2]


class Case(NamedTuple):
    """A kind of visitor, with an empty and then with a warm cache."""

    cold: str
    warm: str
    width: int
    slowness: int
    """Times that the processor is slower."""


CASES = (
    Case("1280, cold", "1280, warm", DESK, 1),
    Case("390, cold", "390, warm", PHONE, 1),
    Case("390, slow processor", "390, slow processor, warm", PHONE, SLOW_PROCESSOR),
)


def measure(
    browser: Browser, app: Path, folder: Path, rounds: int, battles: int
) -> tuple[dict[str, Visit], list[float]]:
    """Visits the app of a revision.

    Returns the visit of median seconds in each case, and the milliseconds to each next battle.
    """
    visits: dict[str, list[Visit]] = {}
    times: list[float] = []
    server = AppServer(folder, app)
    try:
        for _ in range(rounds):
            for case in CASES:
                with new_page(browser, case.width) as page:
                    cold = open_page(page, server.address, _VOTE_POSSIBLE, case.slowness)
                    visits.setdefault(case.cold, []).append(cold)
                    page = second_page(page)
                    warm = open_page(page, server.address, _VOTE_POSSIBLE, case.slowness)
                    visits.setdefault(case.warm, []).append(warm)
                    if case.width == DESK:
                        times += next_battles(page, battles)
    finally:
        server.stop()
    return {name: median(of_case) for name, of_case in visits.items()}, times


def read_pages(browser: Browser, app: Path, folder: Path, rounds: int) -> dict[str, Visit]:
    """Visits a revision's pages to read; returns the visit of median seconds of each, at two widths."""
    server = AppServer(folder, app)
    visits: dict[str, Visit] = {}
    try:
        for name, (path, words) in _reading.fill_with(app, folder).items():
            for width in (DESK, PHONE):
                page_visits = []
                for _ in range(rounds):
                    with new_page(browser, width) as page:
                        address = server.address + path
                        ready = _reading.ready(words)
                        page_visits.append(open_page(page, address, ready, counts_settling=True))
                visits[f"{name}, {width}"] = median(page_visits)
    finally:
        server.stop()
    return visits


def visit_line(case: str, visit: Visit, revision: str = "") -> str:
    """Returns the table's line of a case, which begins with the revision if it is another one."""
    name = f"{revision} {case}" if revision else case
    return f"{name:26} {visit}"


def main(rounds: int = ROUNDS, battles: int = BATTLES, before: str = "") -> int:
    """Prints the table; returns 1 if a target was missed."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = chromium(playwright)
        visits, times = measure(browser, ROOT / "app.py", folder / "data", rounds, battles)
        for case, visit in visits.items():
            print(visit_line(case, visit))
        print(
            f"{'next battle':26} median {statistics.median(times):.0f} ms, slowest {max(times):.0f} ms"
        )
        with one_button(folder) as address:
            button_visits = []
            for _ in range(rounds):
                with new_page(browser, DESK) as page:
                    button_visits.append(open_page(page, address, _BUTTON_SHOWN))
        print(visit_line("Gradio, one button", median(button_visits)))
        reading = read_pages(browser, ROOT / "app.py", folder / "read", rounds)
        for case, visit in reading.items():
            print(visit_line(case, visit))
        if before:
            with revision_of(before, folder) as tree:
                others, _ = measure(browser, tree / "app.py", folder / "other", rounds, battles=0)
                others |= read_pages(browser, tree / "app.py", folder / "other-read", rounds)
            for case, visit in others.items():
                print(visit_line(case, visit, before))
        browser.close()
    missed = [*missed_targets(visits, times), *missed_reading_targets(reading)]
    print(f"missed: {', '.join(missed)}" if missed else "every target is met")
    return int(bool(missed))


def missed_targets(visits: dict[str, Visit], times: list[float]) -> list[str]:
    """Returns the names of the targets that visits to vote missed; `times` are the ms to each next battle."""
    is_missed = {"next battle": statistics.median(times) > NEXT_MS}
    for case, visit in visits.items():
        most_seconds = MOST_SECONDS_SLOW if "slow" in case else MOST_SECONDS
        is_missed |= {
            f"{case}: seconds": visit.seconds > most_seconds,
            f"{case}: requests": visit.requests > REQUESTS,
            f"{case}: shift": visit.shift > SHIFT,
            f"{case}: pictures": visit.pictures > 1000 * PICTURES,
        }
    return [name for name, missed in is_missed.items() if missed]


def missed_reading_targets(reading: dict[str, Visit]) -> list[str]:
    """Returns the names of the targets that visits to pages to read missed."""
    is_missed = {}
    for case, visit in reading.items():
        is_missed |= {
            f"{case}: seconds": visit.seconds > _reading.SECONDS,
            f"{case}: requests": visit.requests > _reading.REQUESTS,
            f"{case}: shift": visit.shift > _reading.SHIFT,
        }
    return [name for name, missed in is_missed.items() if missed]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--before", default="", metavar="REVISION", help="measured beside this one")
    options = parser.parse_args()
    sys.exit(main(options.rounds, before=options.before))
