"""A benchmark of one's own by the page: answers, questions and benchmark.yaml are dropped together, or as one zip."""

import base64
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.own_benchmarks import ZOO, zoo
from tests.support.scoring_page import scoring_visitor
from tests.support.screens import PHONE, assert_fits, shoot
from tests.support.servers import AppServer

DROP = """(zone, files) => {
  const held = new DataTransfer();
  for (const [name, content] of files) {
    held.items.add(new File([Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0))], name));
  }
  zone.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: held }));
}"""


@pytest.fixture(scope="module")
def scoring(tmp_path_factory) -> Iterator[AppServer]:
    running = AppServer(tmp_path_factory.mktemp("scoring") / "data", DEMO_BANK="off")
    yield running
    running.stop()


@pytest.fixture
def visitor(browser, scoring) -> Iterator[Page]:
    with scoring_visitor(browser, scoring) as page:
        yield page


def drop(page: Page, files: Sequence[Path]) -> None:
    """Drop files onto the page, all at once."""
    sent = [[file.name, base64.b64encode(file.read_bytes()).decode()] for file in files]
    page.locator(".upload").evaluate(DROP, sent)
    expect(page.locator("#drop-state")).to_have_text(", ".join(file.name for file in files))


def test_three_files_are_an_own_benchmark_with_a_report_and_so_is_a_zip(visitor, scoring, tmp_path):
    *tables, spec = zoo(tmp_path, spec=ZOO.replace("about: Whether", "abuot: Whether"))
    drop(visitor, [*tables, spec])
    told = visitor.locator("#scoring-problem")
    expect(told).to_contain_text("benchmark.yaml can't be used yet:")
    expect(told.locator("li")).to_have_count(2)
    expect(told).to_contain_text("about: Say in a sentence what is measured")
    shoot(visitor, "own-benchmark-refused", whole=True)

    spec.write_text(ZOO)
    drop(visitor, [*tables, spec])
    found = visitor.locator("#own-check")
    expect(found.locator("p").first).to_have_text("Your benchmark Zoo: 4 answers; 4 can be scored")
    expect(found.locator(".as-read li")).to_have_count(3)
    expect(told).to_be_empty()
    shoot(visitor, "own-benchmark", whole=True)
    assert_fits(visitor, PHONE)
    visitor.get_by_role("button", name="Score by rules (free)").click()
    expect(visitor.locator("#mine")).to_contain_text("Zoo · rules only")
    link = visitor.locator(".progress .open").get_attribute("href")

    whole = tmp_path / "zoo.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        for file in (*tables, spec):
            archive.write(file, f"zoo/{file.name}")
    visitor.set_input_files("#drop-file", whole)
    expect(visitor.locator("#drop-state")).to_have_text("zoo.zip")
    expect(found).to_contain_text("Your benchmark Zoo: 4 answers")

    visitor.goto(f"{scoring.address}/{link}")
    report = visitor.locator("main")
    expect(report).to_contain_text("scores 66.7 on Zoo")
    expect(report).to_contain_text("questions.csv, md5")
    visitor.locator("summary", has_text="Share").click()
    expect(report).to_contain_text("Reports on your own benchmarks stay private.")
    expect(visitor.get_by_role("button", name="Publish report")).to_have_count(0)
    shoot(visitor, "own-benchmark-report", whole=True)
