"""VisIT-Bench in a real browser: a submission, its cost, its judging, the report, the judges' boards, a withdrawal."""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import insert

from arena.database import Database, now
from arena.types import REFERENCE
from scoring.visit_bench.store import SUBMISSION, SubmissionStore
from tests.support.openai_server import OpenAIServer
from tests.support.screens import DESK, fresh_page, shoot, turn
from tests.support.servers import AppServer
from tests.support.visit_bank import MODELS, NEW, fill_bank, instances, judge, predictions

KEY = "sk-planted-boards-5d0e"
INSTANCES = 16


@pytest.fixture(scope="module")
def app(tmp_path_factory, data) -> Iterator[AppServer]:
    """An app with 16 instances, a stored model, and a judge that the operator lends."""
    folder = tmp_path_factory.mktemp("boards")
    (folder / "data").mkdir()
    database = Database(f"sqlite:///{folder / 'data' / 'arena.db'}")
    fill_bank(database, data, folder, MODELS[:1], INSTANCES)
    database.close()
    (folder / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
    with OpenAIServer(judge) as server:
        lent = {"JUDGE_MODEL": "test-judge", "JUDGE_URL": server.address, "OPENAI_API_KEY": KEY}
        lent |= {"JUDGE_CONCURRENCY": "32", "JUDGE_JOB_BUDGET": "100", "JUDGE_DAY_BUDGET": "500"}
        lent |= {"JUDGE_TOTAL_BUDGET": "900"}
        running = AppServer(
            folder / "data", DEMO_BANK="off", JUDGE_PRICES=str(folder / "prices.csv"), **lent
        )
        yield running
        running.stop()


@pytest.fixture
def visitor(browser: Browser, app: AppServer) -> Iterator[Page]:
    """A fresh visitor."""
    with fresh_page(browser, DESK) as page:
        page.goto(f"{app.address}/score")
        yield page


def test_a_submission_goes_from_the_file_to_the_board_and_its_texts_can_go(
    visitor, app, data, tmp_path
):
    page, title = visitor, NEW
    rows = instances(data)[:INSTANCES]
    texts = [{**row, "text": f"{title} sees {place} " * 3} for place, row in enumerate(rows)]
    page.locator("#drop-file").set_input_files(
        predictions(tmp_path / "predictions.csv", texts, title)
    )
    expect(page.locator("#found")).to_contain_text(
        f"{title}: 16 answers to VisIT-Bench", timeout=20_000
    )
    expect(page.locator("#found")).to_contain_text(
        re.compile(r"\d\d pairs × 2 orders = \d\d verdicts")
    )
    expect(page.get_by_label("All models")).to_be_checked()
    shoot(page, "visit-choice", whole=True)
    page.get_by_label("Reference only").check()
    page.locator("#check").click()
    page.locator("#progress a.open").click(timeout=120_000)
    expect(page.locator("main h1")).to_contain_text(title)
    won = re.compile(
        r"% of decided matches won against the human-verified reference\s*\d+\.\d\s*95% interval"
    )
    expect(page.locator(".report-head .totals")).to_contain_text(won)
    expect(page.locator(".steady").first).to_contain_text("Same winner in both orders")
    expect(page.get_by_text("Judge: test-judge at the operator's own server")).to_be_visible()
    expect(page.locator(".scores th", has_text=REFERENCE)).to_be_visible()
    expect(page.locator(".published svg")).to_be_visible()
    shoot(page, "visit-report", whole=True)
    page.get_by_role("link", name="Every match").click()
    expect(page.locator(".match")).to_have_count(10)
    page.locator(".match summary").first.click()
    expect(page.locator(".match .plain").first).to_be_visible()
    shoot(page, "visit-matches", whole=True)

    turn(page, "Results")
    page.get_by_role("link", name="Judge models").click()
    line = page.locator("#automatic tbody tr", has_text=title)
    expect(line.locator(".name")).to_have_text(title)
    expect(line.locator(".count").first).to_have_text("1")
    expect(line.locator(".percent")).to_contain_text("%")
    expect(page.locator("#automatic-plot svg[role=img]")).to_be_visible()
    expect(page.locator("#automatic .opening .chart svg[role=img]")).to_be_visible()
    expect(page.locator("#automatic .copies").get_by_role("button", name="LaTeX")).to_be_visible()
    expect(page.locator("#automatic")).to_contain_text(
        "The judge is test-judge at the operator's own server."
    )
    shoot(page, "visit-board", whole=True)
    address = page.locator("#automatic .downloads a", has_text="TSV").get_attribute("href")
    tsv = httpx.get(f"{app.address}{address}").text
    assert {line.split("\t")[1] for line in tsv.splitlines()[1:]} >= {REFERENCE, title}
    page.get_by_text("Withdraw its texts").click()
    expect(page.locator("#submissions")).to_contain_text("Your report keeps the texts until")
    page.get_by_role("button", name="Withdraw for good").click()
    expect(page.locator("#submissions")).to_contain_text("texts withdrawn")
    expect(line.locator(".name")).to_have_text(title)
    shoot(page, "visit-withdrawn", whole=True)


@pytest.mark.soak
def test_stored_answers_are_chosen_by_name(visitor, app):
    visitor.get_by_role("button", name="Score a model that is already here").click()
    choice = visitor.get_by_label("Answers from", exact=True).locator("visible=true")
    choice.click(timeout=20_000)
    prices = visitor.locator("#told-prices textarea")
    of_another = prices.input_value()
    visitor.get_by_role("option", name="m1 · VisIT-Bench").click()
    # who starts before the price has come is asked once more
    expect(prices).not_to_have_value(of_another)
    visitor.get_by_label("Reference only").check()
    shoot(visitor, "visit-stored", whole=True)
    visitor.locator("#check").click()
    visitor.locator("#progress a.open").click(timeout=120_000)
    expect(visitor.locator("main h1")).to_contain_text("m1")
    visitor.goto(f"{app.address}/judges")
    line = visitor.locator("#automatic tbody tr").filter(
        has=visitor.get_by_role("rowheader", name="m1", exact=True)
    )
    expect(line.locator(".percent")).to_contain_text("%")
    expect(line.locator(".name")).to_have_text("m1")
    expect(visitor.locator("#submissions")).to_be_empty()


def test_nobody_withdraws_what_is_not_theirs(app):
    """A forged form, with any words, changes nothing."""
    database = Database(f"sqlite:///{app.data_dir / 'arena.db'}")
    planted = {
        "owner": "somebody",
        "source": "VisIT-Bench",
        "title": "Theirs",
        "name": "Theirs",
        "number": 1,
    }
    with database.write() as connection:
        connection.execute(
            insert(SUBMISSION).values(**planted, digest="0", file="theirs.csv", created=now())
        )
    with httpx.Client(base_url=app.address) as stranger:
        stranger.get("/score")
        for name in ("Theirs", "", "x" * 9_000):
            answer = stranger.post("/judges/withdraw", data={"source": "VisIT-Bench", "name": name})
            assert answer.status_code == 403 and "Only the person who submitted" in answer.text
    assert httpx.post(f"{app.address}/judges/withdraw").status_code == 403
    (theirs,) = (one for one in SubmissionStore(database).submissions() if one.owner == "somebody")
    database.close()
    assert not theirs.is_withdrawn
