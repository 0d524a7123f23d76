"""Scoring in a real browser: upload, cost, judging, report, audit, downloads, at 1280 and at 390 px."""

import http.client
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from scoring.questions import SAMPLE_PREDICTIONS
from tests.conftest import ROOT, AppServer
from tests.openai_server import OpenAIServer
from tests.voter import Voter

KEY = "sk-planted-4f9a8b7c6d5e"
NOTHING = ({"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}, ["x"])


@pytest.fixture(scope="module")
def judge() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture(scope="module")
def scoring(judge, tmp_path_factory) -> Iterator[AppServer]:
    """An app whose operator lends a judge."""
    folder = tmp_path_factory.mktemp("scoring")
    (folder / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
    environ = {"JUDGE_MODEL": "test-judge", "JUDGE_URL": judge.address, "OPENAI_API_KEY": KEY}
    running = AppServer(folder / "data", JUDGE_PRICES=str(folder / "prices.csv"), **environ)
    yield running
    running.stop()
    found = [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert found == [], "the operator's key lies in no file"


@pytest.fixture(params=[1280, 390], ids=["wide", "narrow"])
def visitor(request, browser, scoring) -> Iterator[Page]:
    """A fresh visitor at "Score outputs"; any script error fails the test."""
    context = browser.new_context(viewport={"width": request.param, "height": 844})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(scoring.address)
    page.get_by_role("tab", name="Score outputs").click()
    yield page
    context.close()
    assert errors == []


def shot(page: Page, name: str) -> None:
    """Keep a screenshot where SHOTS names a folder; nothing may be wider than the page."""
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    if os.environ.get("SHOTS"):
        page.screenshot(path=Path(os.environ["SHOTS"]) / f"scoring-{name}-{width}.png", full_page=True)


def upload(page: Page, path: Path) -> None:
    page.set_input_files("#drop-file", path)
    expect(page.locator("#drop-state")).to_have_text(path.name)


def judged(page: Page) -> str:
    """Upload the sample's predictions, accept the cost, wait for the end; return the report's link."""
    upload(page, SAMPLE_PREDICTIONS)
    expect(page.locator("#quote")).to_contain_text("16 answers")
    page.locator("#check").click()
    expect(page.locator("#quote")).to_contain_text("calls to test-judge")
    shot(page, "quote")
    page.locator("#confirm").click()
    expect(page.locator(".progress[data-state=done]")).to_be_visible(timeout=30_000)
    shot(page, "done")
    return page.locator(".mine a").first.get_attribute("href")


def test_a_file_is_scored_and_its_report_read(visitor, scoring):
    visitor.goto(f"{scoring.address}/{judged(visitor)}")
    expect(visitor.locator(".report-head .total")).to_be_visible(timeout=15_000)
    for name in ("rec", "ocr", "know", "gen", "spat", "math", "total"):
        assert visitor.locator("#capabilities th", has_text=re.compile(f"^{name}$")).count() == 1
    expect(visitor.locator("#report-head")).to_contain_text("not MM-Vet")
    expect(visitor.locator("#capability-plot")).to_contain_text("not comparable", timeout=15_000)
    expect(visitor.locator("#audit > div .audit > li")).to_have_count(16)
    shot(visitor, "report")


def test_the_audit_is_filtered(visitor, scoring):
    visitor.goto(f"{scoring.address}/{judged(visitor)}")
    rows = visitor.locator(".audit > li")
    expect(rows).to_have_count(16, timeout=15_000)
    visitor.get_by_label("Capability").click()
    visitor.get_by_role("option", name="math").click()
    expect(rows).not_to_have_count(16)
    assert all("math" in text for text in rows.locator(".about").all_inner_texts())
    visitor.get_by_label("Show").click()
    visitor.get_by_role("option", name="no prediction").click()
    expect(visitor.locator("#audit")).to_contain_text("No question fits")


def test_every_download_is_whole(visitor, scoring):
    visitor.goto(f"{scoring.address}/{judged(visitor)}")
    links = visitor.locator(".files a")
    expect(links).to_have_count(5, timeout=15_000)
    for link in links.all():
        with visitor.expect_download() as download:
            link.click()
        content = Path(download.value.path()).read_bytes()
        assert content and download.value.suggested_filename == link.inner_text()
        if download.value.suggested_filename.endswith("-grade-5runs.json"):
            grades = json.loads(content)
            assert len(grades) == 16 and all(len(grade["score"]) == 5 for grade in grades.values())


def test_what_is_wrong_with_a_file_is_told_whole(visitor, tmp_path):
    answers = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
    first, second = list(answers)[:2]
    answers["nobody"] = answers.pop(first)
    answers["<b>noone</b>"] = answers.pop(second)
    (tmp_path / "wrong.json").write_text(json.dumps(answers))
    upload(visitor, tmp_path / "wrong.json")
    visitor.locator("#check").click()
    told = visitor.locator("#scoring-problem")
    for word in (first, second, "nobody", "<b>noone</b>"):
        expect(told).to_contain_text(word)
    shot(visitor, "problems")
    visitor.get_by_label("Leave them unscored").check()
    visitor.locator("#check").click()
    expect(told).not_to_contain_text(first)
    expect(told).to_contain_text("nobody")


def test_a_broken_file_is_refused_in_words(visitor, tmp_path):
    (tmp_path / "broken.json").write_text('{"a": NaN}')
    upload(visitor, tmp_path / "broken.json")
    expect(visitor.locator("#scoring-problem")).to_contain_text("broken.json, row 1")
    (tmp_path / "model.pkl").write_bytes(b"\x80\x04.")
    visitor.set_input_files("#drop-file", tmp_path / "model.pkl")
    expect(visitor.locator("#drop-state")).to_contain_text(".json")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://api.example.org/v1", "https"),
        ("https://127.0.0.1/v1", "public"),
        ("https://me:pass@api.example.org/v1", "without user"),
    ],
)
def test_an_own_judge_must_be_public_and_its_key_is_never_shown(visitor, scoring, address, told):
    upload(visitor, SAMPLE_PREDICTIONS)
    visitor.get_by_label("My own key").check()
    for label, value in (("Address", address), ("Judge model", "unknown-judge"), ("Key", "sk-own-1122334455")):
        visitor.get_by_label(label, exact=label == "Key").fill(value)
    visitor.locator("#check").click()
    if told == "public":
        expect(visitor.locator("#scoring-problem")).to_contain_text("We do not know 'unknown-judge'")
        visitor.get_by_label("Try out").check()
        visitor.locator("#check").click()
    expect(visitor.locator("#scoring-problem")).to_contain_text(told, timeout=15_000)
    shot(visitor, "own-key")
    assert "sk-own" not in visitor.content() and "pass@" not in visitor.locator("#scoring-problem").inner_text()
    assert "sk-own" not in scoring.log.read_text("utf-8")


def test_a_partial_file_is_called_partial(visitor, scoring, tmp_path):
    answers = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
    del answers[next(iter(answers))]
    (tmp_path / "part.json").write_text(json.dumps(answers))
    upload(visitor, tmp_path / "part.json")
    visitor.get_by_label("Leave them unscored").check()
    visitor.locator("#check").click()
    visitor.locator("#confirm").click()
    expect(visitor.locator(".progress[data-state=done]")).to_be_visible(timeout=30_000)
    visitor.goto(f"{scoring.address}/{visitor.locator('.mine a').first.get_attribute('href')}")
    expect(visitor.locator("#report-head")).to_contain_text("partial: 1 of 16", timeout=15_000)


def test_a_report_is_deleted_by_its_owner_only(browser, visitor, scoring):
    href = judged(visitor)
    link = href.removeprefix("?report=")
    with Voter(scoring.address) as stranger:
        for event in ("on_cancel", "on_delete"):
            assert "no such job of yours" in str(stranger.call(event, link))
    assert httpx.get(f"{scoring.address}/reports/{link}/x").status_code == 404
    visitor.locator("#delete").click()
    expect(visitor.locator("#mine")).not_to_contain_text("mm_vet_sample_predictions")
    visitor.goto(f"{scoring.address}/{href}")
    expect(visitor.locator("#report-head")).to_contain_text("no such report", timeout=15_000)


def test_uploads_need_a_cookie_and_stay_within_bounds(scoring):
    bare = httpx.post(f"{scoring.address}/uploads?name=a.json", content=b"{}")
    assert bare.status_code == 403
    assert httpx.get(f"{scoring.address}/sample-predictions.json").content == SAMPLE_PREDICTIONS.read_bytes()
    with httpx.Client(base_url=scoring.address) as client:
        client.get("/")
        assert client.post("/uploads?name=a.json", content=b"{}").status_code == 200
        foreign = client.post("/uploads?name=a.json", content=b"{}", headers={"origin": "https://evil.example"})
        assert foreign.status_code == 403
    raw = http.client.HTTPConnection("127.0.0.1", scoring.port, timeout=10)
    raw.putrequest("POST", "/uploads?name=a.json")
    raw.putheader("content-length", "100000001")
    raw.endheaders()
    assert raw.getresponse().status == 413
    raw.close()


def test_nothing_in_the_page_is_believed(scoring):
    """Forged tokens, links, choices and values that call themselves files change nothing and tell nothing."""
    with Voter(scoring.address) as voter:
        good = [
            "token",
            "MM-Vet",
            "Hardened",
            "Stop and tell me",
            "1 run",
            "",
            "My own key",
            "https://h/v1",
            "m",
            "k",
            False,
        ]
        for place in range(len(good)):
            for value in (*NOTHING, None, 7, "x" * 5000, "../../etc/passwd"):
                forged = [*good[:place], value, *good[place + 1 :]]
                answer = voter.client.post(
                    f"{scoring.address}/gradio_api/run/predict",
                    json={"data": forged, "fn_index": voter.events["on_check"]["id"], "session_hash": "s"},
                )
                assert "passwd" not in answer.text.replace("../../etc/passwd", "") and "Traceback" not in answer.text
    log = scoring.log.read_text("utf-8")  # Gradio logs its own refusals; none may come out of a handler of ours
    assert str(ROOT / "scoring") not in log and str(ROOT / "arena") not in log
