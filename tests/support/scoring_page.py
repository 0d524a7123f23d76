"""The scoring tab in a browser, and files to upload there."""

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, expect

from tests.support.circular_passes import RIGHT, passes
from tests.support.openai_server import prompt, steady_score
from tests.support.screens import DESK, fresh_page
from tests.support.servers import AppServer

_LINK = re.compile(r'(?:href|src)="(/[^"#]*)"')


def reply(body, sample: int) -> str:
    """Reply as a judge of the benchmark that is asked about: with a letter, a mark, or a score."""
    asked = prompt(body)
    if "matching an answer with several options" in asked:
        return '{"choice": "B"}' if body.get("response_format") else "B"
    if "single integer between 1 and 5" in asked:
        return '{"mark": 4}' if body.get("response_format") else "4"
    return steady_score(body, sample)


def open_tab(page: Page, app: AppServer) -> None:
    page.goto(f"{app.address}/score")
    expect(page.locator("#mine :is(.mine, .empty)")).to_be_visible()


@contextmanager
def scoring_visitor(browser: Browser, app: AppServer) -> Iterator[Page]:
    """A fresh visitor at "Score a model"."""
    with fresh_page(browser, DESK) as page:
        open_tab(page, app)
        yield page


def finish(page: Page) -> str:
    """Press the button that starts, wait for the report, and return its path."""
    page.locator("#check").click()
    expect(page.locator(".progress[data-state=done]")).to_be_visible(timeout=30_000)
    href = page.locator(".mine a").first.get_attribute("href")
    assert href
    return f"/{href.lstrip('/')}"


def crawled(address: str, paths: list[str], cookie: str) -> dict[str, str]:
    """Every page and file that these lead to below a report, and what it says."""
    found: dict[str, str] = {}
    headers = {"cookie": cookie} if cookie else {}
    with httpx.Client(base_url=address, headers=headers, timeout=120) as client:
        left = [*paths]
        while left:
            path = left.pop()
            if path not in found:
                answer = client.get(path)
                assert answer.status_code < 500, path
                found[path] = answer.content.decode("utf-8", "replace")
                links = _LINK.findall(found[path]) if path.startswith("/report") else []
                left += [link for link in links if link.startswith("/report")]
    return found


def upload(page: Page, path: Path) -> None:
    page.set_input_files("#drop-file", path)
    expect(page.locator("#drop-state")).to_have_text(path.name)


def choose_benchmark(page: Page, name: str) -> None:
    """Find a benchmark in the list by typing its name, and choose it."""
    field = page.locator("#benchmark input")
    field.press("Control+a")
    field.press_sequentially(name)
    page.get_by_role("option", name=name).click()


HOSTILE = "<img src=x onerror=document.title='run'></li><script>document.title='run'</script> It is a dog or a cat."


def write_csv(path: Path, rows: list[dict[str, str]]) -> Path:
    """Write rows as a CSV file of this name and return its path."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def mmbench_rows() -> list[dict[str, str]]:
    """A complete circular file: one answer undecided and hostile, one that protocols read differently, two wrong."""
    abilities = (
        "image_style",
        "ocr",
        "object_localization",
        "action_recognition",
        "social_relation",
        "nature_relation",
    )
    rows = []
    for base in range(12):
        rows += passes(base, RIGHT if base % 6 else ["D", *RIGHT[1:]], category=abilities[base % 6])
    rows[5]["prediction"], rows[8]["prediction"] = HOSTILE, "A cat"
    return rows
