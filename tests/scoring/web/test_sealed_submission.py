"""A file judged with a sealed project's references: the submitter's journey, and a search of all that he can reach."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, Response, expect

from arena.database import Database
from tests.support.openai_server import OpenAIServer
from tests.support.published_reports import public_addresses, published
from tests.support.scoring_page import crawled, finish, open_tab, upload
from tests.support.screens import DESK, fresh_page, shoot
from tests.support.sealed_project import Sealed, quotes, sealed_project
from tests.support.servers import AppServer

PUBLIC = (
    "/ /score /results /judges /agreement /task-map /sitemap.xml /run /export/README.md /export/votes.jsonl "
    "/gradio_api/info /config /you"
).split()


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[tuple[AppServer, Sealed]]:
    """An app with a sealed project that has ended, whose judge repeats all that it reads."""
    folder = tmp_path_factory.mktemp("sealed")
    (folder / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
    (folder / "data").mkdir()
    with closing(Database(f"sqlite:///{folder / 'data' / 'arena.db'}")) as database:
        sealed = sealed_project(database, ("Counting",) * 24 + ("Color",) * 22 + ("Humour",) * 3)
    with OpenAIServer(quotes) as judge:
        running = AppServer(
            folder / "data",
            DEMO_BANK="off",
            JUDGE_MODEL="test-judge",
            JUDGE_URL=judge.address,
            OPENAI_API_KEY="sk-test",
            JUDGE_PRICES=str(folder / "prices.csv"),
        )
        yield running, sealed
        running.stop()


def rows_of(database: Path) -> Iterator[str]:
    """Every row of the tables that a page or an export reads: not what people wrote, nor the judge's replies."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for name in sorted({*names} - {"draft_event", "reply"}):
            yield from (f"{name} {row}" for row in connection.execute(f'SELECT * FROM "{name}"'))


def texts_of(responses: list[Response]) -> Iterator[str]:
    """What a browser was sent, as far as it still has it."""
    for response in responses:
        with suppress(Error, UnicodeDecodeError):
            yield response.text()


def judged(page: Page, site: AppServer, file: Path) -> str:
    """Drop a file, start, and return the report's path."""
    open_tab(page, site)
    upload(page, file)
    expect(page.locator("#found")).to_contain_text("answers to 49 of 49 sealed items")
    expect(page.locator("#found")).to_contain_text("of 5")
    shoot(page, "sealed-choice", whole=True)
    return finish(page)


def test_the_submitter_reads_scores_and_nobody_a_sealed_text(browser, site, tmp_path):
    app, sealed = site
    sent: list[str] = []
    responses: list[Response] = []
    with fresh_page(browser, DESK) as page:
        page.on("response", lambda response: responses.append(response))
        report = judged(page, app, sealed.answers(tmp_path / "mine.jsonl"))
        sent.append(page.content())
        page.goto(f"{app.address}{report}")
        expect(page.locator("main")).to_contain_text(
            "my-model scores 51.0 on held-out, sealed items"
        )
        expect(page.locator(".scores")).to_contain_text("Counting")
        expect(page.locator(".scores")).not_to_contain_text("Humour")
        expect(page.locator("main")).to_contain_text("Kinds with fewer than 20 results")
        expect(page.get_by_role("heading", name="Human ratings")).to_have_count(0)
        shoot(page, "sealed-report", whole=True)
        slug = published(page)
        sent.append(page.content())
        sent += texts_of(responses)
        cookies = "; ".join(
            f"{one['name']}={one['value']}" for one in page.context.cookies(app.address)
        )
    link = report.rpartition("/")[2]
    compared = f"{report}?with={link}"
    paths = [*PUBLIC, report, compared, f"{report}/answers", f"{report}/people"]
    paths += [*public_addresses(slug), f"{report}/people/labels.csv"]
    paths += [f"/reports/{link}/{name}" for name in ("report.json", "battles.jsonl", "audit.jsonl")]
    own = crawled(app.address, paths, cookies)
    others = crawled(app.address, paths, "")
    assert any("sealed-items-scores.csv" in path for path in own)
    assert "no scored question in common" in own[compared]
    told = [*sent, *own.values(), *others.values(), app.log.read_text()]
    told += rows_of(app.data_dir / "arena.db")
    assert sealed.told_by("\n".join(told)) == []
    files = [path for path in app.data_dir.rglob("*") if path.is_file()]
    others = [path for path in files if not path.name.startswith("arena.db")]
    assert [
        path for path in others if sealed.told_by(path.read_bytes().decode("utf-8", "replace"))
    ] == []
