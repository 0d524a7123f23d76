"""The scoring tab in a browser, and files to upload there."""

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.support.circular_passes import RIGHT, passes
from tests.support.openai_server import prompt, steady_score


def reply(body, sample: int) -> str:
    """Reply as a judge of the benchmark that is asked about: with a letter, a mark, or a score."""
    asked = prompt(body)
    if "matching an answer with several options" in asked:
        return '{"choice": "B"}' if body.get("response_format") else "B"
    if "single integer between 1 and 5" in asked:
        return '{"mark": 4}' if body.get("response_format") else "4"
    return steady_score(body, sample)


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
