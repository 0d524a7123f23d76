"""Answers to questions that lie on the server, by the page alone: MMBench's official upload, and answers alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from arena.io.tables import read_records
from scoring.benchmarks.mmbench import L2_OF, published
from tests.support.choice_tables import table_file
from tests.support.question_files import answers, circular, questions
from tests.support.scoring_page import upload
from tests.support.screens import DESK, PHONE, assert_fits, fresh_page, shoot
from tests.support.servers import AppServer

NAME = "MMBench_DEV_EN.tsv"
IDS = [number * 37 + 241 for number in range(40)]
"""Two questions of each ability."""
UPLOAD = ["index", "question", "A", "B", "C", "D", "prediction"]
"""What MMBench's own service takes: neither right answers nor abilities."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder of two question files."""
    folder = tmp_path_factory.mktemp("questions")
    questions(folder, NAME, IDS, topics=L2_OF)
    questions(folder, "MMBench_DEV_CN.tsv", IDS, what="这是什么, {}?", topics=L2_OF)
    return folder


@pytest.fixture(scope="module")
def scoring(folder, tmp_path_factory) -> Iterator[AppServer]:
    data = tmp_path_factory.mktemp("scoring")
    running = AppServer(data / "data", DEMO_BANK="off", QUESTIONS_PATH=str(folder))
    yield running
    running.stop()


@pytest.fixture
def visitor(browser, scoring) -> Iterator[Page]:
    with fresh_page(browser, DESK) as page:
        page.goto(f"{scoring.address}/score")
        expect(page.locator("#mine :is(.mine, .empty)")).to_be_visible()
        yield page


def official(folder: Path, said: dict[str, str]) -> Path:
    """An upload as MMBench's own service takes it."""
    rows = [
        {**record.values, "prediction": said[record.values["index"]]}
        for record in read_records(folder.joinpath(NAME))
    ]
    return table_file(folder.parent / "vlm-7b_results.tsv", rows, UPLOAD)


def see_report(page: Page, scoring: AppServer) -> None:
    """Score by rules, and see CircularEval, twenty abilities and the published rows in the report."""
    page.get_by_role("button", name="Score by rules (free)").click()
    link = page.locator(".progress .open").get_attribute("href", timeout=30_000)
    page.goto(f"{scoring.address}/{link.lstrip('/')}")
    report = page.locator("main")
    expect(report).to_contain_text("reaches 95.0")
    expect(report).to_contain_text("CircularEval")
    expect(report).to_contain_text(f"{NAME}, md5")
    table = page.locator("table", has_text="Future prediction").first
    for ability in L2_OF:
        words = ability.replace("_", " ").replace("ocr", "OCR")
        expect(table).to_contain_text(words, ignore_case=True)
    expect(report).to_contain_text(next(row.model for row in published() if row.table == 5))


def test_the_official_upload_has_circular_eval_abilities_and_published_rows(
    visitor, scoring, folder
):
    said = circular(IDS, wrong=[(IDS[0], 2), (IDS[7], 0)])
    upload(visitor, official(folder, said))
    expect(visitor.locator("#found")).to_contain_text("MMBench: 160 answers, 40 questions with")
    expect(visitor.locator("#found")).to_contain_text(f"questions: {NAME}")
    shoot(visitor, "question-file", whole=True)
    assert_fits(visitor, PHONE)
    see_report(visitor, scoring)


@pytest.mark.soak
def test_answers_alone_that_fit_two_files_are_asked_about(visitor, scoring, tmp_path):
    said = circular(IDS, wrong=[(IDS[0], 2), (IDS[7], 0)])
    upload(visitor, answers(tmp_path, said, "vlm-7b.json"))
    asked = "which is it: MMBench_DEV_CN.tsv or MMBench_DEV_EN.tsv? Choose it below"
    expect(visitor.locator("#found")).to_contain_text(asked)
    shoot(visitor, "question-files-asked", whole=True)
    visitor.locator("#questions").get_by_text(NAME).click()
    expect(visitor.locator("#found")).to_contain_text("MMBench: 160 answers, 40 questions with")
    see_report(visitor, scoring)
