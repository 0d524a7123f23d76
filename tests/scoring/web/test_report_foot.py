"""What one takes from a report: its link, its tables as LaTeX and Markdown, the citation, its files, and a print."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Page, expect

from scoring.benchmarks.hidden import HIDDEN
from scoring.registry import BENCHMARKS
from scoring.web.citations import citations
from tests.support.scoring_page import mmbench_rows, upload, write_csv
from tests.support.screens import DESK, fresh_page, shoot


@pytest.fixture(scope="module")
def report(browser: Browser, server, tmp_path_factory) -> Iterator[Page]:
    path = write_csv(tmp_path_factory.mktemp("foot") / "my_model.csv", mmbench_rows()[:8])
    with fresh_page(browser, DESK, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.goto(f"{server.address}/score")
        upload(page, path)
        page.get_by_role("button", name="free").click(timeout=20_000)
        page.get_by_role("link", name="Open the report").click()
        expect(page.locator(".report-foot")).to_be_visible(timeout=30_000)
        yield page


def copied(page: Page, place: str, name: str) -> str:
    buttons = page.locator(f"{place} button")
    number = buttons.all_inner_texts().index(name)
    buttons.nth(number).click()
    expect(buttons.nth(number)).to_have_text("Copied")
    return page.evaluate("navigator.clipboard.readText()")


def test_every_benchmark_names_a_paper_that_is_there():
    cited = {benchmark.cited for benchmark in BENCHMARKS.values() if benchmark is not HIDDEN}
    assert cited == set(citations())
    for entry in citations().values():
        assert re.fullmatch(r"@\w+\{\w+,\n(  \w+ = \{.+\},\n)+  \w+ = \{.+\}\n\}", entry), entry


def downloaded(page: Page, ending: str) -> str:
    address = page.locator(".report-foot .files a", has_text=ending).first.get_attribute("href")
    text = page.request.get(urljoin(page.url, address)).text()
    return text.removeprefix("\ufeff")


def test_a_table_is_copied_as_its_files_have_it(report):
    levels = "[data-sheet=levels]"
    assert copied(report, f"{levels} .copies", "CSV") == downloaded(report, "-levels.csv")
    assert copied(report, f"{levels} .copies", "LaTeX") in downloaded(report, "-tables.tex")
    markdown = copied(report, f"{levels} .copies", "Markdown")
    assert markdown in downloaded(report, "-tables.md")
    rows = report.locator(f"{levels} tr").count()
    assert markdown.count("\n| ") == rows + 1


@pytest.mark.soak
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex, which make soak installs")
def test_every_table_compiles_in_a_paper(report, tmp_path):
    body = downloaded(report, "-tables.tex")
    assert body.count("\\toprule") >= 2
    paper = f"\\documentclass{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "paper.tex").write_text(paper, "utf-8")
    line = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0 and "Output written on paper.pdf" in done.stdout, done.stdout[
        -1500:
    ]


def test_link_and_citation_are_copied_and_the_files_stand_last(report):
    report.locator("summary", has_text="Share").click()
    assert copied(report, ".share", "Copy link") == report.url.partition("?")[0]
    report.get_by_text("The benchmark and the protocol (BibTeX)").click()
    report.locator("[data-copy=bibtex]").click()
    expect(report.locator("[data-copy=bibtex]")).to_have_text("Copied")
    assert report.evaluate("navigator.clipboard.readText()") == citations()["liu2024mmbench"]
    head, files = (
        report.locator(part).bounding_box()["y"] for part in (".report-head", ".report-foot .files")
    )
    assert files > head + 300
    shoot(report, "report", whole=True)


def test_a_print_is_the_report_alone(report):
    report.emulate_media(media="print")
    for part in (".top", ".share", ".copies", ".compare", "main button:not(tbody button)"):
        assert report.locator(part).locator("visible=true").count() == 0, part
    expect(report.locator("h1")).to_be_visible()
    expect(
        report.locator("[data-sheet=levels] tbody th", has_text="Coarse perception").locator(
            "button"
        )
    ).to_be_visible()
    report.emulate_media(media="screen")
