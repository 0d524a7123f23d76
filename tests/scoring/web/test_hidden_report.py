"""Hidden right answers on the page: the submitter's journey, and a search of all that anybody can reach afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.choice_tables import row, table_file
from tests.support.hidden_questions import (
    choice_answers,
    choice_questions,
    choice_rows,
    page_answers,
    page_rows,
    told_by,
)
from tests.support.published_reports import public_addresses, published
from tests.support.scoring_page import crawled, finish, open_tab, upload
from tests.support.screens import DESK, fresh_page, shoot
from tests.support.servers import AppServer

PUBLIC = "/ /score /results /judges /agreement /sitemap.xml /gradio_api/info /config /you".split()


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[AppServer]:
    """An app with three question files: two with hidden right answers, one whose authors keep them."""
    folder = tmp_path_factory.mktemp("hidden")
    questions = folder / "questions"
    questions.mkdir()
    choices = choice_questions(questions, choice_rows())
    pages = table_file(questions / "DocVQA_TEST.tsv", page_rows(), ["index", "question", "answer"])
    for path in (choices, pages):
        path.with_name(f"{path.name}.yaml").write_text("answers: hidden\n")
    rows = [row(id, answer="", split="test") for id in range(1, 6)]
    table_file(questions / "MMMU_TEST.tsv", rows, ["index", "question", *"ABCD", "split"])
    running = AppServer(folder / "data", DEMO_BANK="off", QUESTIONS_PATH=str(questions))
    yield running
    running.stop()


def scored(page: Page, site: AppServer, file: Path, *told: str) -> str:
    """Drop a file, score it by rules, and return the report's path."""
    open_tab(page, site)
    upload(page, file)
    for text in told:
        expect(page.locator("#found")).to_contain_text(text)
    shoot(page, f"{file.stem}-found", whole=True)
    path = finish(page)
    page.goto(f"{site.address}{path}")
    return path


def test_the_submitter_reads_scores_and_nobody_a_right_answer(browser, site, tmp_path):
    rows = [*choice_rows(), *page_rows()]
    with fresh_page(browser, DESK) as page:
        file = choice_answers(tmp_path / "mine_MMBench_TEST_EN.json", choice_rows())
        told = ("The right answers of the split test are hidden", "Left for you today: 5 of 5")
        first = scored(page, site, file, *told)
        expect(page.locator("main")).to_contain_text("on MMBench test (CircularEval")
        expect(page.locator(".scores")).to_contain_text("OCR")
        expect(page.locator(".scores")).not_to_contain_text("Nature relation")
        expect(page.locator("main")).to_contain_text("Groups with fewer than 20 scored answers")
        expect(page.get_by_role("heading", name="Human ratings")).to_have_count(0)
        shoot(page, "hidden-report", whole=True)
        slug = published(page)
        file = choice_answers(tmp_path / "other_MMBench_TEST_EN.json", choice_rows(), wrong=0.5)
        other = scored(page, site, file, "Left for you today: 4 of 5")
        page.get_by_label("One of your reports").select_option(index=1)
        page.get_by_role("button", name="Compare").click()
        table = page.locator("[data-sheet=comparison] tbody")
        expect(table.locator("tr")).to_have_count(2)
        expect(table).to_contain_text("mine_MMBench_TEST_EN")
        expect(page.locator("main")).to_contain_text("answers aren't compared one by one")
        shoot(page, "hidden-compared", whole=True)
        pages = page_answers(tmp_path / "mine_DocVQA_TEST.json", page_rows())
        second = scored(page, site, pages, "Left for you today: 3 of 5")
        expect(page.locator("main")).to_contain_text("scores 65.0 on DocVQA")
        third = scored(page, site, absent(tmp_path), "of the split test are with their authors")
        expect(page.locator("main")).to_contain_text("Submit mine_MMMU_TEST_submission.json, below")
        link = page.get_by_role("link", name="mine_MMMU_TEST_submission.json")
        assert page.request.get(f"{site.address}{link.get_attribute('href')}").json()["1"] == "B"
        shoot(page, "absent-report", whole=True)
        cookies = "; ".join(
            f"{one['name']}={one['value']}" for one in page.context.cookies(site.address)
        )
    compared = f"{first}?with={other.rpartition('/')[2]}"
    paths = [*PUBLIC, first, second, third, compared]
    paths += [f"{path}/answers" for path in (first, second)]
    paths += public_addresses(slug)
    for path in (first, second):
        link = path.rpartition("/")[2]
        paths += [f"{path}/people", f"{path}/people/labels.csv"]
        paths += [f"/reports/{link}/{name}" for name in ("audit.jsonl", "mine-audit.jsonl")]
    own = crawled(site.address, paths, cookies)
    others = crawled(site.address, paths, "")
    assert any("-scores.csv" in path for path in own)
    assert "answers aren&#39;t compared one by one" in own[compared]
    assert any("-audit.jsonl" in path for path in own if third.rpartition("/")[2] in path)
    told = [*own.values(), *others.values(), site.log.read_text()]
    assert told_by("\n".join(told), rows) == []
    written = [path for path in site.data_dir.rglob("*") if path.is_file()]
    assert any(path.name == "arena.db" for path in written)
    for path in written:
        assert told_by(path.read_bytes().decode("utf-8", "replace"), rows) == [], path


def absent(folder: Path) -> Path:
    rows = [{"index": str(id), "prediction": "B"} for id in range(1, 6)]
    return table_file(folder / "mine_MMMU_TEST.tsv", rows, ["index", "prediction"])
