"""Scoring in a real browser: upload, cost, judging, report, audit, downloads."""

import http.client
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from scoring.benchmarks import mmt_bench
from scoring.benchmarks.mm_vet_questions import CAPABILITY_NAMES, SAMPLE_PREDICTIONS
from tests.support.openai_server import Faults, OpenAIServer
from tests.support.scoring_page import (
    choose_benchmark,
    mmbench_rows,
    open_tab,
    reply,
    scoring_visitor,
    upload,
    write_csv,
)
from tests.support.screens import DESK, PHONE, assert_fits, fresh_page, lose_answer, shoot
from tests.support.servers import ROOT, AppServer
from tests.support.voter import Voter

KEY = "sk-planted-4f9a8b7c6d5e"
NOTHING = ({"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}, ["x"])


@pytest.fixture(scope="module")
def judge() -> Iterator[OpenAIServer]:
    with OpenAIServer(score=reply) as server:
        yield server


@pytest.fixture(scope="module")
def scoring(judge, tmp_path_factory) -> Iterator[AppServer]:
    """An app whose operator lends a judge, for two and eight US dollars for a million tokens sent and received."""
    folder = tmp_path_factory.mktemp("scoring")
    (folder / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
    environ = {"JUDGE_MODEL": "test-judge", "JUDGE_URL": judge.address, "OPENAI_API_KEY": KEY}
    environ |= {
        "JUDGE_CONCURRENCY": "2",
        "JUDGE_JOB_BUDGET": "0.10",
        "JUDGE_PRICES": str(folder / "prices.csv"),
    }
    running = AppServer(folder / "data", DEMO_BANK="off", **environ)
    yield running
    running.stop()
    found = [
        path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert found == [], "the operator's key lies in no file"


@pytest.fixture
def visitor(browser, scoring) -> Iterator[Page]:
    with scoring_visitor(browser, scoring) as page:
        yield page


def unfold(page: Page) -> None:
    page.get_by_role("button", name="Details").click()


def judged(page: Page) -> str:
    """Upload the sample's predictions, start what is chosen, wait for the end; return the report's link."""
    upload(page, SAMPLE_PREDICTIONS)
    expect(page.locator("#found")).to_contain_text("16 answers")
    shoot(page, "scoring-choice", whole=True)
    page.locator("#check").click()
    expect(page.locator(".progress[data-state=done]")).to_be_visible(timeout=30_000)
    shoot(page, "scoring-done", whole=True)
    return page.locator(".mine a").first.get_attribute("href")


@pytest.mark.soak
def test_names_without_end_are_scored_and_fit_a_phone(visitor, scoring, tmp_path):
    """A file's name, whose first letters name the model, and a category in one word."""
    asked = {
        "question": "Which animal?",
        "A": "cat",
        "B": "dog",
        "answer": "A",
        "category": "W" * 150,
    }
    rows = [{"index": str(index), **asked, "prediction": "AB"[index % 2]} for index in range(4)]
    upload(visitor, write_csv(tmp_path / f"{'m' * 150}.csv", rows))
    visitor.get_by_role("button", name="Score by rules (free)").click()
    report = visitor.locator(".mine a", has_text="m" * 120).first.get_attribute(
        "href", timeout=20_000
    )
    visitor.goto(f"{scoring.address}/{report.lstrip('/')}")
    expect(visitor.locator("main")).to_contain_text("scores 50.0")
    assert_fits(visitor, PHONE)


def unjudged(path: Path) -> Path:
    """Write the sample's predictions with the file's name added, so that no reply about them is known yet."""
    answers = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
    path.write_text(json.dumps({name: f"{text} {path.name}" for name, text in answers.items()}))
    return path


@pytest.fixture(scope="module")
def report(browser, scoring) -> str:
    """The address of a report that somebody else had judged."""
    with fresh_page(browser, DESK) as page:
        open_tab(page, scoring)
        return f"{scoring.address}/{judged(page)}"


def test_nothing_is_asked_before_there_is_a_file_and_the_sample_is_one_click(visitor):
    form = visitor.locator("#scoring").locator("input, textarea, select").filter(visible=True)
    expect(form.and_(visitor.locator(":not(#drop-file)"))).to_have_count(0)
    shoot(visitor, "scoring-empty", whole=True)
    visitor.get_by_role("button", name="Try a sample").click()
    found = visitor.locator("#found")
    expect(found).to_contain_text("16 of 16 answers in the authors' format", timeout=20_000)
    expect(found.locator("tbody tr")).to_have_count(3)
    expect(found.locator("tbody tr").first).to_contain_text("The Corner Grocer")
    expect(visitor.locator("#own, #benchmark, #report-title").filter(visible=True)).to_have_count(0)


def test_what_the_host_does_not_pay_is_marked_and_refused(browser, scoring, tmp_path):
    with fresh_page(browser, PHONE) as page:
        open_tab(page, scoring)
        upload(page, unjudged(tmp_path / "dear.json"))
        offers = page.locator("#offers label")
        expect(offers).to_have_text(
            [re.compile(r"1 run · \$0\.0"), re.compile(r"5 samples · \$0\.0"), re.compile("5 runs")]
        )
        expect(offers.nth(2)).to_contain_text(
            "Costs more than the $0.10 that this site pays per file. Use your own key."
        )
        expect(page.get_by_label("5 samples")).to_be_checked()
        expect(page.locator("#own")).to_be_hidden()
        page.get_by_label("5 runs").check()
        expect(page.locator("#own")).to_be_visible()
        page.locator("#check").click()
        told = page.locator("#scoring-problem")
        expect(told).to_contain_text("Your judge needs a name and a key")
        expect(told).to_be_in_viewport()
        shoot(page, "scoring-refused", whole=True)
        page.get_by_label("5 samples").check()
        expect(page.locator("#own")).to_be_hidden()


@pytest.mark.soak
def test_a_judge_that_is_down_tells_beside_the_button_and_goes_on_later(
    browser, scoring, judge, monkeypatch, tmp_path
):
    monkeypatch.setattr(judge, "faults", Faults(1.0, kinds=("401",), in_a_row=10**6))
    with fresh_page(browser, PHONE) as page:
        open_tab(page, scoring)
        upload(page, unjudged(tmp_path / "down.json"))
        page.locator("#check").click()
        stopped = page.locator(".progress[data-state=failed]")
        expect(stopped).to_contain_text("Why it stopped: ", timeout=60_000)
        expect(stopped).to_contain_text("Resume to judge the rest")
        expect(stopped).to_be_in_viewport()
        shoot(page, "scoring-judge-down", whole=True)
        monkeypatch.undo()
        page.locator("#resume").click()
        expect(page.locator(".progress[data-state=done]")).to_be_visible(timeout=60_000)


@pytest.mark.soak
def test_a_judge_that_nobody_can_read_stops_and_another_is_quoted_in_its_place(
    browser, scoring, judge, monkeypatch, tmp_path
):
    monkeypatch.setattr(judge, "score", lambda body, sample: "Hm, who knows?")
    with fresh_page(browser, PHONE) as page:
        open_tab(page, scoring)
        upload(page, unjudged(tmp_path / "unread.json"))
        page.locator("#check").click()
        stopped = page.locator(".progress[data-state=failed]")
        expect(stopped).to_contain_text("We couldn't read the last 10 replies of ", timeout=60_000)
        expect(stopped).to_contain_text("such as 'Hm, who knows?'")
        expect(stopped).to_contain_text("another judge under Details")
        shoot(page, "scoring-judge-unread", whole=True)
        unfold(page)
        page.get_by_label("My own key").check()
        page.get_by_label("Judge model").fill("gpt-4o")
        page.get_by_label("Key", exact=True).fill("sk-own-12345678")
        page.locator("#resume").click()
        expect(page.locator("#progress")).to_contain_text("to gpt-4o for", timeout=30_000)
        expect(page.locator("#confirm")).to_be_visible()


@pytest.mark.soak
def test_the_first_scores_come_while_the_rest_is_judged(visitor, judge, monkeypatch, tmp_path):
    monkeypatch.setattr(judge, "latency", 0.4)
    upload(visitor, unjudged(tmp_path / "slow.json"))
    visitor.locator("#check").click()
    first = visitor.locator(".progress[data-state=judging] .first")
    expect(first).to_contain_text(re.compile(r"own_0\s*(0|1)(\.\d)?"), timeout=30_000)
    expect(visitor.locator(".progress")).to_contain_text(
        re.compile(r"About \$0\.\d\d of \$0\.\d\d used")
    )
    shoot(visitor, "scoring-running", whole=True)
    visitor.locator("#cancel").click()
    expect(visitor.locator(".progress[data-state=cancelled]")).to_be_visible()
    visitor.reload()
    expect(visitor.locator("#resume")).to_be_visible(timeout=20_000)
    monkeypatch.setattr(judge, "latency", 0.0)
    judged(visitor)
    visitor.reload()
    expect(visitor.locator(".mine li")).to_have_count(2)
    expect(visitor.locator("#resume")).to_be_hidden()
    visitor.get_by_role("link", name="slow").click()
    expect(visitor.locator(".progress[data-state=cancelled]")).to_be_visible()
    visitor.locator("#resume").click()
    expect(visitor.locator(".progress[data-state=done]")).to_be_visible(timeout=60_000)


TOLD = """window.told = []; window.Notification = class {
  static permission = "default";
  static requestPermission() { this.permission = "granted"; return Promise.resolve("granted"); }
  constructor(title, { body }) { window.told.push(body); }
};"""
"""A browser whose visitor agrees to notifications, and keeps them."""


@pytest.mark.soak
def test_the_browser_tells_when_a_job_has_ended_if_it_was_asked(
    browser, scoring, judge, monkeypatch, tmp_path
):
    monkeypatch.setattr(judge, "latency", 1.0)
    with fresh_page(browser, DESK) as page:
        page.add_init_script(TOLD)
        open_tab(page, scoring)
        upload(page, unjudged(tmp_path / "told.json"))
        page.locator("#check").click()
        page.get_by_role("button", name="Notify me when it ends").click(timeout=20_000)
        asked = page.get_by_role("button", name="You'll be notified. Keep this page open.")
        expect(asked).to_be_disabled()
        expect(page.locator(".progress")).to_contain_text(re.compile(r"a minute, about .+ left"))
        monkeypatch.setattr(judge, "latency", 0.0)
        expect(page.locator(".progress[data-state=done]")).to_be_visible(timeout=60_000)
        assert page.evaluate("told") == ["told done"]
        expect(page.locator("[data-notify]")).to_have_count(0)


@pytest.mark.soak
def test_a_page_that_lost_its_connection_has_its_file_again(visitor):
    """Gradio says what happened, and that it tries again by itself: then it loads the page anew."""
    upload(visitor, SAMPLE_PREDICTIONS)
    expect(visitor.locator("#offers")).to_contain_text("5 runs")
    visitor.context.set_offline(True)
    visitor.locator("#check").click()
    expect(visitor.locator(".toast-body")).to_contain_text("Connection to the server was lost")
    visitor.context.set_offline(False)
    expect(visitor.locator(".toast-body")).to_have_count(0)
    expect(visitor.locator("#drop-state")).to_have_text(SAMPLE_PREDICTIONS.name)
    expect(visitor.locator("#offers")).to_contain_text("5 runs")
    visitor.locator("#check").click()
    expect(visitor.locator(".progress[data-state=done]")).to_be_visible(timeout=30_000)
    visitor.reload()
    expect(visitor.locator(".upload[data-again]")).to_be_visible()
    expect(visitor.locator("#drop-state")).to_have_text("")


@pytest.mark.soak
def test_a_job_whose_start_got_no_answer_is_shown_in_place_of_its_file(
    visitor, judge, monkeypatch, tmp_path
):
    monkeypatch.setattr(judge, "latency", 60.0)
    upload(visitor, unjudged(tmp_path / "lost.json"))
    expect(visitor.locator("#offers")).to_contain_text("5 runs")
    lose_answer(visitor, "**/run/predict*")
    visitor.locator("#check").click()
    expect(visitor.locator(".toast-body")).to_be_visible()
    expect(visitor.locator(".progress[data-state=judging]")).to_be_visible()
    expect(visitor.locator(".upload[data-again]")).to_be_visible()
    expect(visitor.locator("#drop-state")).to_have_text("")
    visitor.locator("#cancel").click()
    expect(visitor.locator(".progress[data-state=cancelled]")).to_be_visible()


def incomplete(folder: Path) -> Path:
    return write_csv(
        folder / "gap.csv", [row for row in mmbench_rows() if row["index"] != "3000001"]
    )


@pytest.mark.soak
def test_an_incomplete_file_is_offered_as_vanilla_and_what_cannot_be_scored_is_told_in_words(
    visitor, tmp_path
):
    (tmp_path / "other.json").write_text('{"q1": "a cat", "q2": "a dog"}')
    upload(visitor, tmp_path / "other.json")
    found = visitor.locator("#found")
    expect(found.locator("p").first).to_have_text(re.compile("^Read as "))
    expect(found).to_contain_text("the file is for another benchmark")
    expect(visitor.locator("#check")).to_be_disabled()
    choose_benchmark(visitor, "POPE")
    expect(found.locator("p").first).to_contain_text("POPE")
    expect(visitor.locator("#check")).to_be_disabled()
    upload(visitor, incomplete(tmp_path))
    expect(found).to_contain_text("Question 1 lacks pass 3")
    expect(found).to_contain_text("These problems keep the file from CircularEval")
    expect(visitor.locator("#check")).to_have_text("Score it as vanilla (free)")
    shoot(visitor, "scoring-incomplete", whole=True)


def test_a_report_is_read_and_its_audit_filtered(visitor, report):
    visitor.goto(report)
    expect(visitor.locator(".report-head .totals")).to_be_visible(timeout=15_000)
    for name in (*CAPABILITY_NAMES.values(), "Total"):
        assert (
            name == "Image-text sequences"
            or visitor.locator(
                "[data-sheet=capabilities] th", has_text=re.compile(f"^{name}$")
            ).count()
            == 1
        )
    expect(visitor.locator(".report-head")).to_contain_text("not MM-Vet")
    expect(visitor.locator(".published svg")).to_have_count(0)  # the sample has no rank
    expect(visitor.locator(".report-head")).not_to_contain_text("Table 2")
    expect(visitor.locator(".wrong li img").first).to_be_visible()
    shoot(visitor, "scoring-report", whole=True)
    visitor.get_by_role("link", name="Every question").click()
    rows = visitor.locator("#answers .audit > li")
    expect(rows).to_have_count(16)
    visitor.get_by_label("Capability").select_option("Math")
    expect(rows).not_to_have_count(16)
    assert all("Math" in text for text in rows.locator(".about").all_inner_texts())
    visitor.get_by_label("Show").select_option("no prediction")
    expect(visitor.locator("#answers")).to_contain_text("No questions match")
    assert visitor.url.endswith("/answers?show=no+prediction&group=math")
    visitor.go_back()
    expect(rows).not_to_have_count(0)


@pytest.mark.soak
def test_grades_become_a_report_without_a_judge(visitor, judge, tmp_path):
    graded = {"model": ["j-1"], "content": ["0.5"], "score": [0.5]}
    grades = tmp_path / "m_j-1-grade-1runs.json"
    grades.write_text(
        json.dumps(dict.fromkeys(json.loads(SAMPLE_PREDICTIONS.read_text("utf-8")), graded))
    )
    upload(visitor, grades)
    expect(visitor.locator("#found")).to_contain_text("grades by j-1 for 16 questions, runs: 1")
    details = visitor.locator("#details")
    expect(details).to_contain_text("Details: MM-Vet")
    expect(details).not_to_contain_text("Hardened")
    expect(visitor.locator("#judge, #protocol, #runs").filter(visible=True)).to_have_count(0)
    calls = judge.counts.calls
    visitor.get_by_role("button", name="Make the report (free)").click()
    visitor.locator(".mine a").first.click()
    expect(visitor.locator(".report-head .totals b")).to_have_text("50.0", timeout=15_000)
    expect(visitor.locator(".trust")).to_contain_text("nothing was judged here")
    assert judge.counts.calls == calls


@pytest.mark.soak
def test_what_is_wrong_with_a_file_is_told_whole(visitor, tmp_path):
    answers = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
    first, second = list(answers)[:2]
    answers["nobody"] = answers.pop(first)
    answers["<b>noone</b>"] = answers.pop(second)
    (tmp_path / "wrong.json").write_text(json.dumps(answers))
    upload(visitor, tmp_path / "wrong.json")
    told = visitor.locator("#scoring-problem")
    for word in (first, second, "nobody", "<b>noone</b>"):
        expect(told).to_contain_text(word)
    shoot(visitor, "scoring-problems", whole=True)
    expect(visitor.locator("#offers, #check").filter(visible=True)).to_have_count(0)
    visitor.get_by_label("Leave them unscored").check()
    expect(told).not_to_contain_text(first)
    expect(told).to_contain_text("nobody")


@pytest.mark.soak
def test_an_own_judge_must_be_public_and_its_key_is_never_shown(visitor, scoring):
    upload(visitor, SAMPLE_PREDICTIONS)
    unfold(visitor)
    visitor.get_by_label("My own key").check()
    visitor.get_by_label("Judge model").fill("unknown-judge")
    visitor.locator("#check").click()
    expect(visitor.locator("#scoring-problem")).to_contain_text(
        "Your judge needs a key. Enter it above"
    )
    visitor.get_by_label("Key", exact=True).fill("sk-own-1122334455")
    for address, told in (
        ("http://api.example.org/v1", "https"),
        ("https://me:pass@api.example.org/v1", "without user"),
        ("https://127.0.0.1/v1", "We don't know 'unknown-judge'"),
    ):
        visitor.get_by_label("Address").fill(address)
        visitor.evaluate("scrollTo(0, document.body.scrollHeight)")
        visitor.locator("#check").hover()
        # the price, as the field is left
        with visitor.expect_response(lambda answer: "/run" in answer.url):
            visitor.mouse.down()
        visitor.mouse.up()  # on the same button, which the price does not move
        expect(visitor.locator("#scoring-problem")).to_contain_text(told)
    visitor.get_by_label("Test this judge first").check()
    visitor.locator("#check").click()
    expect(visitor.locator("#scoring-problem")).to_contain_text("public")
    shoot(visitor, "scoring-own-key", whole=True)
    assert (
        "sk-own" not in visitor.content()
        and "pass@" not in visitor.locator("#scoring-problem").inner_text()
    )
    assert "sk-own" not in scoring.log.read_text("utf-8")


@pytest.mark.soak
def test_a_report_is_deleted_by_its_owner_only(visitor, scoring, tmp_path):
    href = read_letters(visitor, write_csv(tmp_path / "circular.csv", mmbench_rows()[:8]))
    link = href.removeprefix("report/")
    with Voter(scoring.address) as stranger:
        for event in ("on_cancel", "on_delete"):
            assert "You have no such job" in str(stranger.call(event, link))
    assert httpx.get(f"{scoring.address}/reports/{link}/x").status_code == 404
    owners = visitor.context.cookies()
    visitor.context.clear_cookies()
    visitor.goto(f"{scoring.address}/{href}")
    expect(visitor.locator("main h1")).to_be_visible()
    expect(visitor.get_by_text("Delete report")).to_have_count(0)
    visitor.context.add_cookies(owners)
    visitor.goto(f"{scoring.address}/{href}")
    visitor.get_by_label("More").click()
    visitor.get_by_text("Delete report").click()
    visitor.get_by_role("button", name="Delete for good").click()
    expect(visitor).to_have_url(f"{scoring.address}/score")
    expect(visitor.locator("#mine")).to_contain_text(
        "Your reports will be listed here", timeout=20_000
    )


@pytest.mark.soak
def test_a_report_is_deleted_from_the_list(visitor, scoring, tmp_path):
    href = read_letters(visitor, write_csv(tmp_path / "again.csv", mmbench_rows()))
    visitor.locator("#delete").click()
    expect(visitor.locator("#mine")).not_to_contain_text("again")
    visitor.goto(f"{scoring.address}/{href}")
    expect(visitor.locator("main")).to_contain_text("This report isn't here")
    visitor.get_by_role("link", name="score the file again").click()
    expect(visitor.locator("#drop-file")).to_be_attached(timeout=30_000)


def test_uploads_need_a_cookie_and_stay_within_bounds(scoring):
    bare = httpx.post(f"{scoring.address}/uploads?name=a.json", content=b"{}")
    assert bare.status_code == 403
    assert (
        httpx.get(f"{scoring.address}/sample-predictions.json").content
        == SAMPLE_PREDICTIONS.read_bytes()
    )
    with httpx.Client(base_url=scoring.address) as client:
        client.get("/")
        assert client.post("/uploads?name=a.json", content=b"{}").status_code == 200
        foreign = client.post(
            "/uploads?name=a.json", content=b"{}", headers={"origin": "https://evil.example"}
        )
        assert foreign.status_code == 403
    raw = http.client.HTTPConnection("127.0.0.1", scoring.port, timeout=10)
    raw.putrequest("POST", "/uploads?name=a.json")
    raw.putheader("content-length", "100000001")
    raw.endheaders()
    assert raw.getresponse().status == 413
    raw.close()


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_nothing_in_the_page_is_believed(scoring, every):
    """Forged tokens, links, choices and values that call themselves files change nothing and tell nothing."""
    with Voter(scoring.address) as voter:
        known = {
            "benchmark": "MM-Vet",
            "protocol": "Hardened",
            "missing": "stop",
            "judge": "own key",
        }
        known |= {"offers": "once", "told-prices": "once@1"}
        known |= {"own-url": "https://h/v1", "own-model": "m", "own-key": "k"}
        props = {
            part["id"]: part["props"] for part in voter.client.get("/config").json()["components"]
        }

        def good(event: str) -> list[object]:
            parts = map(props.get, voter.events[event]["inputs"])
            return [
                known.get(part.get("elem_id"), "" if part.get("value") is None else part["value"])
                for part in parts
            ]

        def post(event: str, data: list[object]) -> httpx.Response:
            body = {"data": data, "fn_index": voter.events[event]["id"], "session_hash": "s"}
            return voter.client.post("/gradio_api/run/predict", json=body)

        values = (*NOTHING, 7, "../../etc/passwd")
        events = ("on_check", "on_bank", "on_benchmark", "on_offer", "on_change", "on_rest")
        for number, event in enumerate((*events, "on_tried")):
            assert post(event, good(event)).status_code == 200
            given = values if event == "on_check" else values[-1:]
            forged = list(itertools.product(range(len(good(event))), given))
            for place, value in forged[number % every :: every]:
                answer = post(event, [*good(event)[:place], value, *good(event)[place + 1 :]])
                told = answer.text.replace("../../etc/passwd", "")
                assert "passwd" not in told and "Traceback" not in told
    # Gradio logs its own refusals; none may come out of a handler of ours
    log = scoring.log.read_text("utf-8")
    assert str(ROOT / "scoring") not in log and str(ROOT / "arena") not in log


def read_letters(page: Page, path: Path) -> str:
    """Upload a multiple-choice file, have rules read it, and return the report's link."""
    upload(page, path)
    expect(page.locator("#check")).to_contain_text("free")
    expect(page.locator("#found")).to_contain_text("This is")
    page.locator("#check").click()
    expect(page.locator(".progress[data-state=done]")).to_contain_text(path.stem)
    return page.locator(".progress a.open").get_attribute("href")


def test_letters_are_read_at_once_and_a_judge_reads_the_rest(visitor, scoring, tmp_path):
    path = write_csv(tmp_path / "our <b>model.csv", mmbench_rows())
    href = read_letters(visitor, path)
    shoot(visitor, "scoring-letters", whole=True)
    visitor.get_by_role("button", name="Have a judge read 1 undecided answer · under $0.01").click()
    expect(visitor.locator(".progress[data-state=done]")).to_contain_text("1 of 1")
    judged_href = visitor.locator(".progress a.open").get_attribute("href")
    assert judged_href != href
    for link, told in (
        (href, "Undecided: 1 of 48 answers"),
        (judged_href, "Judge: test-judge at"),
    ):
        visitor.goto(f"{scoring.address}/{link}")
        expect(visitor.locator("main")).to_contain_text(told)
    visitor.get_by_role("link", name="Every answer").click()
    visitor.get_by_label("Show").select_option("read by the judge")
    expect(visitor.locator("#answers .audit > li")).to_have_count(1)
    expect(visitor.locator("#answers .trail")).to_contain_text("judge → B")
    assert visitor.title() == "Report · Stereoscope"
    assert visitor.locator("#answers :is(img, script)").count() == 0


@pytest.mark.soak
def test_a_file_that_does_not_come_leaves_no_word_of_an_older_one(visitor, tmp_path):
    good, picture = write_csv(tmp_path / "good.csv", mmbench_rows()), tmp_path / "picture.png"
    empty = tmp_path / "empty.csv"
    empty.touch()
    picture.touch()
    upload(visitor, empty)
    expect(visitor.locator("#scoring-problem")).to_contain_text("empty.csv: The file is empty")
    visitor.set_input_files("#drop-file", picture)
    expect(visitor.locator("#drop-state")).to_contain_text("We can't read 'picture.png'")
    expect(visitor.locator("#scoring-problem")).not_to_contain_text("empty.csv")
    upload(visitor, good)
    expect(visitor.locator("#check")).to_be_visible()
    visitor.route("**/uploads?*", lambda route: route.abort())
    visitor.set_input_files("#drop-file", good)
    expect(visitor.locator("#drop-state")).to_have_text(
        "Can't reach the server. Choose the file again."
    )
    expect(visitor.locator("#check")).to_be_hidden()
    expect(visitor.locator(".found")).to_have_count(0)
    visitor.unroute("**/uploads?*")
    upload(visitor, good)
    expect(visitor.locator("#check")).to_be_enabled()


@pytest.mark.soak
def test_on_a_narrow_phone_the_button_that_unfolds_stands_above_the_heads(
    visitor, scoring, tmp_path
):
    said = {
        "question": "What?",
        "A": "dog",
        "B": "cat",
        "answer": "B",
        "split": "VAL",
        "prediction": "Neither",
    }
    keys = list(mmt_bench.subtasks())[:6]
    path = write_csv(
        tmp_path / "mmt.csv",
        [{"index": str(n), "category": key, **said} for n, key in enumerate(keys)],
    )
    visitor.goto(f"{scoring.address}/{read_letters(visitor, path)}")
    visitor.set_viewport_size({"width": 320, "height": 844})
    unfold, head = (
        visitor.locator(f"[data-sheet=levels] {one}").bounding_box()
        for one in (".unfold", "thead .count >> nth=1")
    )
    assert unfold["y"] + unfold["height"] <= head["y"]


@pytest.mark.soak
def test_levels_fold_by_keyboard_and_the_audit_marks_what_was_read(visitor, scoring, tmp_path):
    href = read_letters(visitor, write_csv(tmp_path / "circular.csv", mmbench_rows()))
    visitor.goto(f"{scoring.address}/{href}")
    shown = visitor.locator("[data-sheet=levels] tbody tr:visible")
    expect(shown).to_have_count(1 + 2 + 4 + 6)
    group = visitor.locator("[data-sheet=levels] button", has_text="Coarse perception")
    group.focus()
    visitor.keyboard.press("Enter")
    expect(shown).to_have_count(1 + 2 + 4 + 5)
    assert group.get_attribute("aria-expanded") == "false"
    visitor.get_by_role("button", name="Unfold all").click()
    expect(shown).to_have_count(1 + 2 + 4 + 6)
    visitor.locator("[data-sheet=levels] button", has_text="Perception").first.click()
    expect(visitor.locator("[data-sheet=levels] tr", has_text="OCR")).to_be_hidden()
    expect(visitor.locator(".published svg")).to_have_count(0)  # a part of MMBench
    shoot(visitor, "scoring-choices", whole=True)
    visitor.get_by_role("link", name="Every answer").click()
    marks = visitor.locator("#answers .audit > li").nth(8).locator("mark")
    assert marks.all_inner_texts() == ["A cat"]


@pytest.mark.soak
def test_another_protocol_is_tried_and_what_parts_is_listed(visitor, scoring, tmp_path):
    href = read_letters(visitor, write_csv(tmp_path / "circular.csv", mmbench_rows()))
    report = f"{scoring.address}/{href}"
    visitor.goto(f"{report}/answers?show=differs+by+protocol")
    visitor.get_by_role("link", name="MMT-Bench's paper").click()
    expect(visitor.locator(".what-if")).to_contain_text("1 of 48 answers is read differently")
    rows = visitor.locator("#answers .audit > li")
    expect(rows).to_have_count(1)
    expect(rows.locator(".both")).to_contain_text("token that is a letter → A")
    shoot(visitor, "scoring-what-if", whole=True)
    visitor.get_by_label("Show").select_option("wrong")
    expect(rows).to_have_count(2)
    visitor.goto(report)
    links = visitor.locator(".files a")
    with visitor.expect_download() as download:
        links.first.click()
    assert Path(download.value.path()).read_bytes()
    for link in links.all():
        assert visitor.request.get(f"{scoring.address}{link.get_attribute('href')}").body()
    assert {"partial_circular_acc.csv", "partial_circular-audit.jsonl"} <= set(
        links.all_inner_texts()
    )


@pytest.mark.soak
def test_two_models_are_compared_by_their_links(visitor, scoring, tmp_path):
    worse = mmbench_rows()
    for row in worse[12:20]:
        row["prediction"] = "D"
    second = read_letters(visitor, write_csv(tmp_path / "worse.csv", worse))
    first = read_letters(visitor, write_csv(tmp_path / "better.csv", mmbench_rows()))
    visitor.goto(f"{scoring.address}/{first}")
    compare = visitor.get_by_role("button", name="Compare")
    visitor.get_by_label("Or the link of any other").fill("not a link")
    compare.click()
    expect(visitor.get_by_role("alert")).to_contain_text("no report under this link")
    visitor.get_by_label("Or the link of any other").fill(f"{scoring.address}/{second}")
    compare.click()
    expect(visitor.locator("h1")).to_contain_text("worse compared with better")
    address = visitor.url
    assert address == f"{scoring.address}/{first}?with={second.removeprefix('report/')}"
    visitor.goto(f"{scoring.address}/{first}")
    visitor.get_by_label("One of your reports").select_option(second.removeprefix("report/"))
    compare.click()
    expect(visitor.locator("h1")).to_contain_text("worse compared with better")
    shoot(visitor, "scoring-comparison", whole=True)


@pytest.mark.soak
def test_vqa_answers_are_matched_then_marked_and_their_data_set_corrected(
    visitor, scoring, tmp_path
):
    rows = [
        {
            "index": str(2_971_475 + at),
            "question": "What brand?",
            "answer": "['nikon', 'nikon', 'canon']",
            "prediction": said,
        }
        for at, said in enumerate(["Nikon", "a camera <b>", "CANON"])
    ]
    upload(visitor, write_csv(tmp_path / "m_OKVQA.csv", rows))
    expect(visitor.locator("#found")).to_contain_text("OK-VQA: 3 answers", timeout=15_000)
    unfold(visitor)
    choose_benchmark(visitor, "TextVQA: marks 1 to 5")
    expect(visitor.locator("#found")).to_contain_text("TextVQA: marks 1 to 5: 3 answers")
    visitor.locator("#check").click()
    expect(visitor.locator(".progress[data-state=done]")).to_contain_text("It cost about")
    visitor.goto(f"{scoring.address}/{visitor.locator('.progress a.open').get_attribute('href')}")
    expect(visitor.locator(".totals")).to_contain_text("4.00")
    visitor.get_by_role("link", name="Every answer").click()
    visitor.get_by_label("Show").select_option("partly right")
    expect(visitor.locator("#answers .audit > li")).to_have_count(3)
    shoot(visitor, "scoring-marks", whole=True)
