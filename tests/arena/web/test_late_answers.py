"""What a person does while an answer is on its way holds: answers are kept back in a real browser and come too late."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from arena.database import Database
from arena.locale import ENGLISH
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from tests.support.agreement_sources import plant_source
from tests.support.live_pages import NAMES, opened, phase, photo, said
from tests.support.live_visitor import card, catalogue, picture
from tests.support.openai_server import OpenAIServer
from tests.support.scoring_page import mmbench_rows, reply, write_csv
from tests.support.scoring_page import upload as chosen
from tests.support.screens import DESK, Late, fresh_page
from tests.support.servers import AppServer


class SlowServer:
    """An app with votes, a judge and live models, and the numbers of its events."""

    def __init__(self, app: AppServer, folder: Path, models: OpenAIServer) -> None:
        self.address = app.address
        self.models = models
        self.folder = folder
        self._config = httpx.get(f"{app.address}/config").json()

    def late(self, page: Page, handler: str, output: str) -> Late:
        """Keep back the next answer of a handler that fills the component of this id, on the English page."""
        of_id: dict[str, int] = {}
        for part in self._config["components"]:
            of_id.setdefault(part["props"].get("elem_id"), part["id"])
        (fn,) = [
            event["id"]
            for event in self._config["dependencies"]
            if str(event["api_name"]).startswith(handler) and of_id[output] in event["outputs"]
        ]
        return Late(page, "**/run/predict*", fn)

    def database(self) -> Database:
        return Database(f"sqlite:///{self.folder / 'data' / 'arena.db'}")


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[SlowServer]:
    folder = tmp_path_factory.mktemp("late")
    (folder / "data" / "pictures").mkdir(parents=True)
    for number in range(21):  # those of the planted items: nobody can vote before they are seen
        (folder / "data" / "pictures" / f"{number:064x}.png").write_bytes(picture())
    database = Database(f"sqlite:///{folder / 'data' / 'arena.db'}")
    plant_source(database)
    database.close()
    (folder / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
    with (
        OpenAIServer(score=reply) as judge,
        OpenAIServer(said, models=tuple(NAMES), pace=0.01) as live,
    ):
        tables = [card(name, model, live) for model, name in NAMES.items()]
        environ = {
            "JUDGE_MODEL": "test-judge",
            "JUDGE_URL": judge.address,
            "OPENAI_API_KEY": "sk-late",
        }
        environ |= {
            "JUDGE_PRICES": str(folder / "prices.csv"),
            "MODELS": catalogue(folder, *tables),
        }
        app = AppServer(folder / "data", DEMO_BANK="off", **environ)
        yield SlowServer(app, folder, live)
        app.stop()


@pytest.fixture
def scoring(browser, service) -> Iterator[Page]:
    """A visitor who opens the form with `goto`."""
    with fresh_page(browser, DESK) as fresh:
        yield fresh


@pytest.fixture
def own(browser, service) -> Iterator[Page]:
    """A visitor on the page of own pictures."""
    with opened(browser, service.address, DESK) as fresh:
        yield fresh


def pick(page: Page, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).locator("visible=true").click()
    page.get_by_role("option", name=value, exact=True).locator("visible=true").click()


# Scoring.
def test_of_two_files_the_later_is_scored(service, scoring, tmp_path):
    scoring.goto(f"{service.address}/score")
    late = service.late(scoring, "on_arrived", "found")
    scoring.set_input_files("#drop-file", write_csv(tmp_path / "first.csv", mmbench_rows()))
    late.wait()
    scoring.set_input_files("#drop-file", write_csv(tmp_path / "second.csv", mmbench_rows()[:4]))
    expect(scoring.locator("#drop-state")).to_have_text("second.csv")
    late.come()
    expect(scoring.locator("#found")).to_contain_text("4 ")
    scoring.get_by_role("button", name="Details").click()
    expect(scoring.get_by_label("Model name on the report")).to_have_value("second")


@pytest.mark.soak
def test_a_file_that_was_sent_earlier_and_comes_later_is_not_taken(service, scoring, tmp_path):
    scoring.goto(f"{service.address}/score")
    late = Late(scoring, "**/uploads?name=first.csv*")
    scoring.set_input_files("#drop-file", write_csv(tmp_path / "first.csv", mmbench_rows()))
    late.wait()
    chosen(scoring, write_csv(tmp_path / "second.csv", mmbench_rows()[:4]))
    scoring.get_by_role("button", name="Details").click()
    title = scoring.get_by_label("Model name on the report")
    expect(title).to_have_value("second")
    late.come()
    expect(scoring.locator("#drop-state")).to_have_text("second.csv")
    expect(title).to_have_value("second")


@pytest.mark.soak
def test_a_sample_that_comes_after_a_file_was_chosen_is_not_taken(service, scoring, tmp_path):
    scoring.goto(f"{service.address}/score")
    late = Late(scoring, "**/sample-predictions.json")
    scoring.get_by_role("button", name="Try a sample").click()
    late.wait()
    expect(scoring.locator("#drop-state")).to_have_text("sample-predictions.json: loading")
    chosen(scoring, write_csv(tmp_path / "mine.csv", mmbench_rows()))
    expect(scoring.locator("#found")).to_contain_text("MMBench")
    late.come()
    expect(scoring.locator("#drop-state")).to_have_text("mine.csv")
    expect(scoring.locator("#found")).to_contain_text("MMBench")


@pytest.mark.soak
def test_what_a_proxy_refuses_of_a_file_is_told_in_words(service, scoring, tmp_path):
    refusal = {"status": 502, "content_type": "text/html", "body": "<h1>Bad Gateway</h1>"}
    scoring.goto(f"{service.address}/score")
    scoring.route("**/uploads*", lambda route: route.fulfill(**refusal), times=1)
    scoring.set_input_files("#drop-file", write_csv(tmp_path / "mine.csv", mmbench_rows()))
    expect(scoring.locator("#drop-state")).to_have_text(
        "The server refused the file (502). Choose it again."
    )
    chosen(scoring, tmp_path / "mine.csv")
    expect(scoring.locator("#check")).to_be_visible()
    scoring.route("**/run/predict*", lambda route: route.fulfill(**refusal), times=1)
    scoring.click("#check")
    expect(scoring.locator("#scoring-problem")).to_contain_text(
        "The server refused this or can't be reached"
    )
    scoring.click("#check")
    expect(scoring.locator("#progress")).to_contain_text("mine")
    expect(scoring.locator("#scoring-problem .problems")).to_have_count(0)


@pytest.mark.soak
def test_a_file_that_is_chosen_before_the_page_is_whole_is_read(service, browser):
    with fresh_page(browser, DESK) as page:
        late = []

        def pass_on(route: Route) -> None:
            answer = route.fetch()
            # Gradio's text fields, which take the file's token
            if "get max_length()" in answer.text():
                late.append(lambda: route.fulfill(response=answer))
            else:
                route.fulfill(response=answer)

        page.route("**/assets/Index-*.js", pass_on)
        page.goto(f"{service.address}/score", wait_until="commit")
        chosen(page, SAMPLE_PREDICTIONS)
        for come in late:
            come()
        expect(page.locator("#offers")).to_contain_text("5 runs")


@pytest.mark.soak
def test_a_late_look_leaves_the_choice(service, scoring):
    late = service.late(scoring, "on_look", "mine")
    scoring.goto(f"{service.address}/score")
    late.wait()
    chosen(scoring, SAMPLE_PREDICTIONS)
    expect(scoring.locator("#found")).to_contain_text("16 answers")
    expect(scoring.locator("#check")).to_be_visible()
    late.come()
    expect(scoring.locator("#offers")).to_contain_text("5 runs")
    expect(scoring.locator("#check")).to_be_visible()


@pytest.mark.soak
def test_a_late_price_leaves_the_way_chosen_since_and_what_a_button_said(service, scoring):
    scoring.goto(f"{service.address}/score")
    chosen(scoring, SAMPLE_PREDICTIONS)
    expect(scoring.get_by_label("5 runs")).to_be_checked()
    scoring.get_by_role("button", name="Details").click()
    late = service.late(scoring, "on_change", "offers")
    scoring.get_by_label("As in the paper", exact=True).check()  # which costs less
    scoring.get_by_label("1 run").check()
    late.wait()
    late.come()
    expect(scoring.get_by_label("1 run")).to_be_checked()
    expect(scoring.locator("#details")).to_contain_text("As in the paper")
    scoring.get_by_label("My own key").check()
    expect(scoring.locator("#details")).to_contain_text("judged by your own judge")
    scoring.get_by_label("Key", exact=True).fill("sk-planted")
    late = service.late(scoring, "on_change", "offers")
    scoring.get_by_label("Judge model").fill("nobodys-judge")
    scoring.locator("#check").click()
    late.wait()
    said = scoring.locator("#scoring-problem")
    expect(said).to_contain_text("We don't know 'nobodys-judge'")
    late.come()
    expect(said).to_contain_text("We don't know 'nobodys-judge'")
    scoring.get_by_label("Judge model").fill("another")
    scoring.get_by_label("Judge model").blur()
    expect(said).not_to_contain_text("We do not know")


# Live battles.
def begin(page: Page) -> None:
    page.set_input_files("#live-files", [photo()])
    expect(page.locator("#live-send")).to_be_enabled()
    page.fill("#live-text", "What is this?")
    page.press("#live-text", "Enter")


@pytest.mark.soak
def test_a_question_that_is_being_written_stays_when_the_last_battle_comes_late(own):
    begin(own)
    phase(own, "open")
    late = Late(own, "**/live/unfinished")
    own.reload()
    late.wait()
    own.fill("#live-text", "Another question")
    late.come()
    expect(own.locator("#live-form")).to_be_visible()
    expect(own.locator("#live-text")).to_have_value("Another question")
    own.reload()
    phase(own, "open")


@pytest.mark.soak
def test_a_picture_stays_when_an_item_comes_late(own):
    late = Late(own, "**/live/item")
    own.click("#live-item")
    late.wait()
    own.set_input_files("#live-files", [photo()])
    expect(own.locator("#live-send")).to_be_enabled()
    late.come()
    expect(own.locator("#live-thumbs li")).to_have_count(1)
    expect(own.locator("#live-chosen figure")).to_have_count(0)


@pytest.mark.soak
def test_a_picture_taken_out_while_it_is_sent_is_deleted(own):
    late = Late(own, "**/live/images")
    own.set_input_files("#live-files", [photo()])
    late.wait()
    own.get_by_role("button", name="Remove 1").click()
    with own.expect_response("**/live/images/*/discard") as answer:
        late.come()
    assert answer.value.ok
    expect(own.locator("#live-thumbs li")).to_have_count(0)


def test_enter_twice_begins_once(own):
    own.set_input_files("#live-files", [photo()])
    expect(own.locator("#live-send")).to_be_enabled()
    begun: list[str] = []
    own.on(
        "request",
        lambda request: begun.append(request.url) if request.url.endswith("live/battles") else None,
    )
    late = Late(own, "**/live/battles")
    own.fill("#live-text", "What is this?")
    for _ in range(2):
        own.press("#live-text", "Enter")
    late.wait()
    own.wait_for_timeout(300)
    late.come()
    phase(own, "open")
    assert len(begun) == 1


@pytest.mark.soak
def test_what_is_typed_while_a_question_is_sent_stays(own):
    begin(own)
    phase(own, "open")
    late = Late(own, "**/live/battles/*/questions")
    own.fill("#live-follow", "And now?")
    own.press("#live-follow", "Enter")
    late.wait()
    own.fill("#live-follow", "And then?")
    late.come()
    phase(own, "open")
    expect(own.locator(".answer[data-side=a] .asked")).to_have_count(1)
    expect(own.locator("#live-follow")).to_have_value("And then?")


@pytest.mark.soak
def test_a_proxy_that_gives_up_costs_no_picture(own):
    gave_up = {"status": 504, "content_type": "text/html", "body": "<h1>Gateway Time-out</h1>"}
    own.route("**/live/images", lambda route: route.fulfill(**gave_up), times=1)
    own.set_input_files("#live-files", [photo()])
    expect(own.locator("#live-form-problem")).to_contain_text(ENGLISH.text("scripts.no_answer"))
    expect(own.locator("#live-thumbs li")).to_have_count(1)

    def begun_unknown(route: Route) -> None:
        route.fetch()
        route.fulfill(**gave_up)

    own.route("**/live/battles", begun_unknown, times=1)
    own.fill("#live-text", "What is this?")
    own.click("#live-send")
    expect(own.locator("#live-form-problem")).to_contain_text(ENGLISH.text("scripts.no_answer"))
    own.click("#live-send")
    phase(own, "open")
