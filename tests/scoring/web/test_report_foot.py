"""What one takes from a report: its link, its tables as LaTeX and Markdown, the citation, its files, and a print."""

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

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


def copied(page: Page, button: str, near: str = "") -> str:
    place = page.locator(f"{near} + .copies" if near else ".report-foot").first
    place.locator(f"[data-copy={button}]").click()
    expect(place.locator(f"[data-copy={button}]")).to_have_text("Copied")
    return page.evaluate("navigator.clipboard.readText()")


def test_every_benchmark_names_a_paper_that_is_there():
    assert {benchmark.cited for benchmark in BENCHMARKS.values()} == set(citations())
    for entry in citations().values():
        assert re.fullmatch(r"@\w+\{\w+,\n(  \w+ = \{.+\},\n)+  \w+ = \{.+\}\n\}", entry), entry


def test_a_table_is_copied_as_a_paper_needs_it(report):
    table = report.locator("[data-sheet=levels] table")
    rows = table.locator("tr").count()
    latex = copied(report, "LaTeX", "[data-sheet=levels] table")
    assert latex.startswith("\\begin{tabular}{lr") and latex.count(" \\\\\n") == rows
    assert not re.search(r"(?<!\\)[%_&#](?! )", latex.replace(" & ", "")), latex
    markdown = copied(report, "Markdown", "[data-sheet=levels] table")
    assert (
        markdown.count("\n") == rows + 1
        and markdown.splitlines()[1].count("---") == table.locator("th[scope=col]").count()
    )
    name = table.locator("tbody th").first.inner_text()
    assert name in markdown and name.replace("_", "\\_") in latex


@pytest.mark.soak
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex, which make soak installs")
def test_every_table_compiles_in_a_paper(report, tmp_path):
    tables = []
    for button in report.locator(".copies [data-copy=LaTeX]").all():
        button.dispatch_event("click")  # tables may be folded
        expect(button).to_have_text("Copied")
        tables.append(report.evaluate("navigator.clipboard.readText()"))
    assert len(tables) >= 2
    body = "\n\n".join(tables)
    paper = f"\\documentclass{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "paper.tex").write_text(paper, "utf-8")
    line = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0 and "Output written on paper.pdf" in done.stdout, done.stdout[
        -1500:
    ]


def test_link_and_citation_are_copied_and_the_files_stand_last(report):
    assert copied(report, "link") == report.url.partition("?")[0]
    report.get_by_text("Cite the benchmark and the protocol").click()
    report.locator("[data-copy=bibtex]").click()
    expect(report.locator("[data-copy=bibtex]")).to_have_text("Copied")
    assert report.evaluate("navigator.clipboard.readText()") == citations()["liu2024mmbench"]
    head, files = (
        report.locator(part).bounding_box()["y"] for part in ("#report-head", ".report-foot .files")
    )
    assert files > head + 300
    shoot(report, "report", whole=True)


def test_a_print_is_the_report_alone(report):
    report.emulate_media(media="print")
    for part in (
        "#bar",
        ".report-foot .copies",
        ".report-list",
        "#report button:not(tbody button)",
    ):
        assert report.locator(part).locator("visible=true").count() == 0, part
    expect(report.locator("#report-head h2")).to_be_visible()
    expect(
        report.locator("[data-sheet=levels] tbody th", has_text="Coarse perception").locator(
            "button"
        )
    ).to_be_visible()
    report.emulate_media(media="screen")
