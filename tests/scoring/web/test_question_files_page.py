"""Answers to questions that lie on the server, by the page alone: MMBench's official upload, and answers alone."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from arena.io.tables import read_records
from scoring.benchmarks.mmbench import L2_OF, published_rows
from scoring.registry import offered_benchmarks
from tests.support.choice_tables import table_file
from tests.support.commands import run
from tests.support.question_files import answers, circular, questions
from tests.support.scoring_page import choose_benchmark, scoring_visitor, upload
from tests.support.screens import PHONE, assert_fits, shoot
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
    with scoring_visitor(browser, scoring) as page:
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
    expect(report).to_contain_text("scores 95.0")
    expect(report).to_contain_text("CircularEval")
    expect(report).to_contain_text(f"{NAME}, md5")
    table = page.locator("table", has_text="Future prediction").first
    for ability in L2_OF:
        words = ability.replace("_", " ").replace("ocr", "OCR")
        expect(table).to_contain_text(words, ignore_case=True)
    expect(report).to_contain_text(next(row.model for row in published_rows() if row.table == 5))


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


def test_a_chosen_benchmark_says_what_it_measures_and_leads_to_its_page(visitor, scoring, folder):
    upload(visitor, official(folder, circular(IDS, wrong=[])))
    visitor.get_by_role("button", name="Details").click()
    about = visitor.locator("#about-benchmark")
    expect(about).to_contain_text("Twenty abilities on three levels")
    choose_benchmark(visitor, "POPE")
    expect(about).to_contain_text("Is an object in the picture?")
    row = about.locator("tr", has_text="The right answer")
    expect(row).to_have_text(re.compile(r"answer\s*The right answer\s*Yes"))
    shoot(visitor, "benchmark-chosen", whole=True)
    with visitor.expect_popup() as opened:
        about.get_by_role("link").click()
    page = opened.value
    expect(page.locator("h1")).to_have_text("POPE")
    expect(page.locator("main")).to_contain_text("None yet. Upload them")
    page.get_by_role("link", name="Benchmarks").click()
    line = page.locator(".benchmarks li", has_text="MMBench")
    expect(line).to_contain_text("1,164 (dev)")
    expect(line).to_contain_text("questions: here")
    page.locator("#benchmark-search").fill("yes mit")
    shown = page.locator(".benchmarks li:visible")
    line = "POPE · 9,000 questions · F1 of yes · questions: bring yours · MIT"
    expect(shown).to_have_text([line])
    expect(page.locator("section.kind h2:visible")).to_have_text(["Yes or no"])
    page.locator("#benchmark-search").fill("")
    shoot(page, "benchmarks", whole=True)
    assert_fits(page, PHONE)


def test_each_benchmark_has_a_page_with_its_facts_and_an_own_one_has_none(scoring):
    for key, benchmark in offered_benchmarks().items():
        page = unescape(httpx.get(f"{scoring.address}/benchmarks/{key}").text)
        lacking = [fact.text for fact in benchmark.facts() if fact.text not in page]
        lacking += [column for column in benchmark.columns() if column.cell not in page]
        assert (key, lacking) == (key, [])
        assert all(sheet.title in page for sheet in benchmark.published_sheets())
    for key in ("own", "hidden", f"own:{'0' * 16}"):
        assert httpx.get(f"{scoring.address}/benchmarks/{key}").status_code == 404


def test_the_choice_and_the_command_list_what_the_page_lists(visitor, scoring, folder):
    upload(visitor, official(folder, circular(IDS, wrong=[])))
    visitor.get_by_role("button", name="Details").click()
    visitor.locator("#benchmark input").click()
    own, *chosen = visitor.get_by_role("option").all_inner_texts()
    assert own.startswith("Your benchmark")
    visitor.goto(f"{scoring.address}/benchmarks")
    listed = visitor.locator(".benchmarks li").all_inner_texts()
    assert [line.removeprefix("✓").strip() for line in chosen] == listed
    command = run("scoring", "benchmarks", environ={"QUESTIONS_PATH": str(folder)})
    lines = [line for line in command.out.splitlines() if line.startswith(" ")]
    headings = [line for line in command.out.splitlines() if line and line not in lines]
    assert [line.split(maxsplit=1)[1] for line in lines] == listed
    assert headings == visitor.locator(".kind h2").all_inner_texts()


@pytest.mark.soak
def test_answers_alone_that_fit_two_files_are_asked_about(visitor, scoring, tmp_path):
    said = circular(IDS, wrong=[(IDS[0], 2), (IDS[7], 0)])
    upload(visitor, answers(tmp_path, said, "vlm-7b.json"))
    asked = "Which is it: MMBench_DEV_CN.tsv or MMBench_DEV_EN.tsv? Choose it below"
    expect(visitor.locator("#found")).to_contain_text(asked)
    shoot(visitor, "question-files-asked", whole=True)
    visitor.locator("#questions").get_by_text(NAME).click()
    expect(visitor.locator("#found")).to_contain_text("MMBench: 160 answers, 40 questions with")
    see_report(visitor, scoring)
