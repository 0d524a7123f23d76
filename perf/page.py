"""Pages over a slow line: `python -m perf.page [--before REVISION]`.

Chromium, at 1.6 Mbps down, 0.75 Mbps up and 150 ms, opens `/` of a fresh server with the demo bank: with an empty
cache and with a warm one, at 1280 and 390 pixels, and at 390 with a processor four times slower. Counted until a vote
is possible (the button A there and open, on a phone there, and every picture decoded): seconds, requests, bytes over
the line without pictures and of pictures alone; and the layout shift of the first seconds. Then voters go on, and the
time from the key to the next battle with its decoded pictures is taken. Then the pages that are read
(`perf/_reading.py`), with an empty cache. Beside them stand a page of Gradio with one button, and another revision of
this project.
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
from typing import Any

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from perf import _reading
from tests.support.screens import chromium
from tests.support.servers import ROOT, AppServer, free_port

LINE = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
"""Milliseconds, and bytes a second."""
SLOW_PROCESSOR = 4
DESK = 1280
PHONE = 390
COLD = 1.2
SLOW = 1.6
"""Most seconds until a vote is possible with an empty cache; on the slow processor."""
REQUESTS = 12
SHIFT = 0.05
PICTURES = 120
NEXT_MS = 100
"""Most requests, layout shift and kB of a battle's pictures with an empty cache; ms to the next battle."""
ROUNDS = 3
BATTLES = 6
SETTLED_MS = 3000
"""How long layout shift is counted after a vote is possible."""
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
  return isThere && pictures.length && pictures.every((one) => one.complete && one.naturalWidth) && performance.now();
}"""
_SHIFTS = """window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""
_BUTTON_SHOWN = "() => document.querySelector('button.lg')?.offsetParent && performance.now()"
_NEXT = """() => new Promise((done) => {
  const battle = () => document.querySelector('.enlarge img').src;
  const was = battle(), begun = performance.now();
  const pictures = () => [...document.querySelectorAll('.enlarge img')];
  const decoded = () => pictures().every((one) => one.complete && one.naturalWidth);
  const look = () => (battle() !== was && decoded() ? done(performance.now() - begun) : requestAnimationFrame(look));
  document.querySelector('#next').click();
  look();
})"""


@dataclass
class Visit:
    """What one opening of a page cost."""

    seconds: float = 0
    requests: int = 0
    others: int = 0
    """Bytes over the line that are no pictures."""
    pictures: int = 0
    shift: float = 0.0
    _kinds: dict[str, str] = field(default_factory=dict)
    _is_over: bool = False

    def watch(self, cdp: Any) -> None:
        """Count what comes over the line from now on."""
        cdp.on("Network.responseReceived", self._began)
        cdp.on("Network.loadingFinished", self._ended)

    def stop(self) -> None:
        self._is_over = True

    def _began(self, event: Any) -> None:
        if self._is_over:
            return
        if event["response"]["url"].startswith("http") and not event["response"].get(
            "fromDiskCache"
        ):
            self._kinds[event["requestId"]] = event["type"]
            self.requests += 1
            self._count(
                event["type"],
                event["response"]["encodedDataLength"] if event["type"] == "EventSource" else 0,
            )

    def _ended(self, event: Any) -> None:
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


def opened(
    page: Page, address: str, ready: str, slowness: int = 1, is_whole: bool = False
) -> Visit:
    """Open an address over the slow line; return what it cost until it was ready.

    `is_whole`: count all that it asks for.
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
    if not is_whole:
        visit.stop()
    page.wait_for_timeout(SETTLED_MS)
    visit.shift = page.evaluate("window.shift")
    return visit


@contextmanager
def new_page(browser: Browser, width: int) -> Iterator[Page]:
    """Open a page of somebody who was never here."""
    context = browser.new_context(viewport={"width": width, "height": 844})
    yield context.new_page()
    context.close()


def next_page(context: BrowserContext, page: Page) -> Page:
    """Return another page of the same visitor, whose cache is warm."""
    page.close()
    return context.new_page()


def next_battles(page: Page, battles: int) -> list[float]:
    """Vote and go on; return the milliseconds from the key to each next battle."""
    times = []
    for _ in range(battles):
        page.wait_for_function("() => !document.querySelector('#choose-a').disabled")
        page.keyboard.press("a")
        page.wait_for_timeout(700)
        page.keyboard.press("n")
        page.wait_for_selector("#next:visible")
        page.wait_for_load_state("networkidle")  # the names are read meanwhile
        page.wait_for_timeout(1500)
        times.append(page.evaluate(_NEXT))
    return times


@contextmanager
def revision_of(revision: str, folder: Path) -> Iterator[Path]:
    """Check out another revision of this project."""
    place = folder / "before"
    subprocess.run(
        ["git", "worktree", "add", "-q", "--detach", place, revision], cwd=ROOT, check=True
    )
    try:
        yield place
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", place], cwd=ROOT, check=True)


@contextmanager
def one_button(folder: Path) -> Iterator[str]:
    """Serve Gradio's page with one button, and return its address."""
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
    """Return the visit of median seconds."""
    return sorted(visits, key=lambda one: one.seconds)[len(visits) // 2]


CASES = {
    "1280, cold": (DESK, 1),
    "390, cold": (PHONE, 1),
    "390, slow processor": (PHONE, SLOW_PROCESSOR),
}


def measured(
    browser: Browser, app: Path, folder: Path, rounds: int, battles: int
) -> tuple[dict[str, Visit], list[float]]:
    """Visit the app of a revision; return the visit of median seconds in each case, and the times to next battles."""
    visits: dict[str, list[Visit]] = {}
    times: list[float] = []
    server = AppServer(folder, app)
    try:
        for _ in range(rounds):
            for case, (width, slowness) in CASES.items():
                with new_page(browser, width) as page:
                    visits.setdefault(case, []).append(
                        opened(page, server.address, _VOTE_POSSIBLE, slowness)
                    )
                    page = next_page(page.context, page)
                    warm = opened(page, server.address, _VOTE_POSSIBLE, slowness)
                    visits.setdefault(
                        case.replace("cold", "warm").replace("processor", "processor, warm"), []
                    ).append(warm)
                    if width == DESK:
                        times += next_battles(page, battles)
    finally:
        server.stop()
    return {case: median(found) for case, found in visits.items()}, times


def read_pages(browser: Browser, app: Path, folder: Path, rounds: int) -> dict[str, Visit]:
    """Visit the pages that are read of a revision; return the visit of median seconds of each, at two widths."""
    server = AppServer(folder, app)
    visits: dict[str, Visit] = {}
    try:
        for name, (path, words) in _reading.fill_with(app, folder).items():
            for width in (DESK, PHONE):
                found = []
                for _ in range(rounds):
                    with new_page(browser, width) as page:
                        ready = _reading.ready(words)
                        found.append(opened(page, server.address + path, ready, is_whole=True))
                visits[f"{name}, {width}"] = median(found)
    finally:
        server.stop()
    return visits


def main(rounds: int = ROUNDS, battles: int = BATTLES, before: str = "") -> int:
    """Print the table; return 1 if a target was missed."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = chromium(playwright)
        rows, times = measured(browser, ROOT / "app.py", folder / "data", rounds, battles)
        for case, visit in rows.items():
            print(f"{case:26} {visit}")
        print(
            f"{'next battle':26} median {statistics.median(times):.0f} ms, slowest {max(times):.0f} ms"
        )
        with one_button(folder) as address:
            button = []
            for _ in range(rounds):
                with new_page(browser, DESK) as page:
                    button.append(opened(page, address, _BUTTON_SHOWN))
        print(f"{'Gradio, one button':26} {median(button)}")
        read = read_pages(browser, ROOT / "app.py", folder / "read", rounds)
        for case, visit in read.items():
            print(f"{case:26} {visit}")
        if before:
            with revision_of(before, folder) as place:
                others, _ = measured(browser, place / "app.py", folder / "other", rounds, battles=0)
                others |= read_pages(browser, place / "app.py", folder / "other-read", rounds)
            for case, visit in others.items():
                print(f"{before} {case:{25 - len(before)}} {visit}")
        browser.close()
    missed = [*missed_targets(rows, times), *missed_of_reading(read)]
    print(f"missed: {', '.join(missed)}" if missed else "every target is met")
    return int(bool(missed))


def missed_targets(rows: dict[str, Visit], times: list[float]) -> list[str]:
    missed = []
    for case, visit in rows.items():
        most = SLOW if "slow" in case else COLD
        missed += [f"{case}: seconds"] * (visit.seconds > most)
        missed += [f"{case}: requests"] * (visit.requests > REQUESTS)
        missed += [f"{case}: shift"] * (visit.shift > SHIFT)
        missed += [f"{case}: pictures"] * (visit.pictures > 1000 * PICTURES)
    return missed + ["next battle"] * (statistics.median(times) > NEXT_MS)


def missed_of_reading(rows: dict[str, Visit]) -> list[str]:
    missed = []
    for case, visit in rows.items():
        missed += [f"{case}: seconds"] * (visit.seconds > _reading.SECONDS)
        missed += [f"{case}: requests"] * (visit.requests > _reading.REQUESTS)
        missed += [f"{case}: shift"] * (visit.shift > _reading.SHIFT)
    return missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--before", default="", metavar="REVISION", help="measured beside this one")
    chosen = parser.parse_args()
    sys.exit(main(chosen.rounds, before=chosen.before))
