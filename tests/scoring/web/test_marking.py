"""People mark answers and label errors in a browser, by keyboard and blind; the report says what they said."""

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from arena.database import Database, now
from arena.locale import CHINESE
from arena.seats.links import Arrival
from arena.seats.seats import SeatStore
from arena.web.cookies import COOKIE, cookie_hash
from scoring.jobs.store import JOB, Jobs
from scoring.people.errors import ERROR_KINDS
from scoring.people.marking import Marking
from scoring.people.marks import mark_results
from scoring.people.store import MarkEntry
from scoring.web.marking_task import MarkingTask
from scoring.web.people_view import marks_line
from tests.support.blindness import told
from tests.support.marked_reports import MarkedReport
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.open_answers import open_report
from tests.support.screens import DESK, PHONE, TABLET, fresh_page, shoot
from tests.support.servers import AppServer
from tests.support.signer import signer_of

RANDOM_OF_OWNER = "o" * 32
OWNER = cookie_hash(RANDOM_OF_OWNER)
HOSTILE = "<img src=x onerror=document.title='run'> **bold** <script>document.title='run'</script>"
JUDGE = "gpt-4-0613"
LETTER_JUDGE = "secret-judge-of-letters"
TITLE = "Very secret model"


def report():
    """A judged report with pictures, an answer of two elements, and one that is hostile."""
    whole = mm_vet_report(0.2, title=TITLE)
    rows = [
        replace(
            row, question=replace(row.question, image="cat-1.webp", truth="-1 <AND> -5 <OR> both")
        )
        for row in whole.rows[:30]
    ]
    rows[0] = replace(rows[0], prediction=HOSTILE)
    return replace(whole, rows=(*rows, *whole.rows[30:]))


@pytest.fixture(scope="module")
def app(tmp_path_factory) -> Iterator[tuple[AppServer, str]]:
    """An app with a report of the owner's."""
    folder = tmp_path_factory.mktemp("marking")
    database = Database(f"sqlite:///{folder / 'arena.db'}")
    link = Jobs(database).add_done(OWNER, report()).link
    database.close()
    running = AppServer(folder, DEMO_BANK="off")
    yield running, link
    running.stop()


def cookie_of_owner(server: AppServer) -> str:
    return signer_of(server.data_dir).signed(RANDOM_OF_OWNER, now())


@pytest.fixture
def owner(browser, app) -> Iterator[Page]:
    """The owner's browser, on the page of people; all that comes over the wire is kept in `page.wire`."""
    server, link = app
    cookie = {"name": COOKIE, "value": cookie_of_owner(server), "url": server.address}
    with fresh_page(browser, DESK, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.context.add_cookies([cookie])
        page.goto(f"{server.address}/report/{link}/people")
        yield page


def begin(page: Page, label: str) -> None:
    page.get_by_role("button", name=label).click()
    expect(page.locator(".consent, #marked").first).to_be_visible()
    if page.locator(".consent").count():
        page.locator(".consent input").check()
        page.get_by_role("button", name="Begin").click()
    expect(page.locator("#marked")).to_be_visible()


def watched(page: Page) -> list[bytes]:
    """Everything that the page gets from now on."""
    wire: list[bytes] = []
    page.on("response", lambda one: wire.append(f"{one.url} {one.headers}".encode()))
    page.on(
        "requestfinished",
        lambda one: wire.append(
            one.response().body() if one.response() and one.response().status == 200 else b""
        ),
    )
    return wire


def marks_of(app: tuple[AppServer, str], kind="marks"):
    server, link = app
    database = Database(f"sqlite:///{server.data_dir / 'arena.db'}")
    marking = Marking(database, Jobs(database))
    material = marking.material(kind, link)
    found = marking.store.of_report(kind, link, OWNER, material.answers)
    database.close()
    return found


def press(page: Page, key: str) -> None:
    """Press a key once the page's script, which is deferred, listens."""
    page.wait_for_load_state("domcontentloaded")
    before = page.locator("#marked").get_attribute("data-answer")
    page.keyboard.press(key)
    expect(page.locator(f'#marked[data-answer="{before}"]')).to_have_count(0)


@pytest.mark.parametrize("digits", ["049", pytest.param("0123456789", marks=pytest.mark.soak)])
def test_answers_are_marked_by_keyboard_and_nothing_names_model_or_judge(owner, app, digits):
    begin(owner, "Mark answers")
    earlier = [mark.entry.value for mark in marks_of(app)]
    wire = watched(owner)
    owner.reload()
    keys = [*digits, "t", "Enter", "9"]
    for key in keys:
        press(owner, key)
    expect(owner.locator("#lead")).to_contain_text(f"{len(earlier) + len(keys) + 1} of")
    press(owner, "u")
    expect(owner.locator("#lead")).to_contain_text(f"{len(earlier) + len(keys)} of")
    press(owner, "8")
    owner.keyboard.press("s")
    before = owner.locator("#marked").get_attribute("data-answer")
    owner.keyboard.press("Enter")
    expect(owner.locator(f'#marked[data-answer="{before}"]')).to_have_count(0)
    marks = marks_of(app)
    values = [mark.entry.value for mark in marks]
    assert sorted(values) == sorted([*earlier, *digits, "10", "10", "8", "cannot"])
    assert (
        next(mark for mark in marks if mark.entry.value == "cannot").entry.note
        == "the picture is missing or broken"
    )
    link = app[1]
    assert (
        len(wire) > 2 * len(keys)
        and told({TITLE, JUDGE, link, "mm-vet"}, b"\n".join(wire)) == set()
    )
    shoot(owner, "marking")


def test_a_page_shows_question_picture_truth_and_answer_alone(owner, app):
    begin(owner, "Mark answers")
    for _ in range(12):
        if owner.locator("#marked img").count() and owner.locator(".chip").count() == 3:
            break
        press(owner, "4")
    expect(owner.locator(".truth")).to_contain_text("-1 and -5 or both")
    image = owner.locator("#marked img").first
    assert image.evaluate("async (one) => { await one.decode(); return one.naturalWidth }") > 100
    assert not re.search("cat-1|report", image.get_attribute("src"))
    here = owner.viewport_size
    for width in (PHONE, TABLET, DESK):
        owner.set_viewport_size({**here, "width": width})
        answer, grades = (owner.locator(part).bounding_box() for part in (".said", ".grades"))
        assert answer["y"] + answer["height"] <= grades["y"], (
            f"the answer is seen above its grades at {width} px"
        )
        assert grades["y"] + grades["height"] <= here["height"]
    owner.set_viewport_size(here)
    expect(owner.locator("body")).not_to_contain_text("grade")
    owner.get_by_text("Instructions").click()
    expect(owner.locator(".instructions table")).to_contain_text("Can you explain this meme?")
    shoot(owner, "marking-instructions", whole=True)


def test_a_helper_comes_by_a_link_that_tells_nothing_of_the_report(owner, app, browser):
    begin(owner, "Mark answers")
    press(owner, "5")
    server, link = app
    owner.goto(f"{server.address}/report/{link}/people")
    owner.get_by_text("links for helpers").first.click()
    owner.locator(".ratings .files button").first.click()
    expect(owner.locator(".ratings .files button").first).to_have_text("Copied")
    sent = owner.evaluate("navigator.clipboard.readText()")
    assert link not in sent and sent.startswith(server.address)
    shoot(owner, "people-owner")
    with fresh_page(browser, PHONE) as helper:
        helper.goto(sent)
        expect(helper.locator("h1")).to_contain_text("Mark answers")
        shoot(helper, "marking-entry")
        helper.locator(".consent input").check()
        helper.get_by_role("button", name="Begin").click()
        helper.locator(".grades button", has_text="0.5").click()
        expect(helper.locator("#lead")).to_contain_text("2 of")
        shoot(helper, "marking-phone", whole=True)
        helper.goto(sent)
        expect(helper.locator("#lead")).to_contain_text("2 of")
    assert {mark.marker.rpartition(".")[2] for mark in marks_of(app)} == {"owner", "helper-1"}


@pytest.mark.soak
def test_errors_are_labelled_by_keyboard_with_further_kinds_and_a_note(owner, app):
    begin(owner, "Label errors")
    for key in "12345678":
        press(owner, key)
    owner.keyboard.press("Shift+Digit3")
    owner.keyboard.press("Shift+Digit1")
    expect(owner.locator("input[name=further-knowledge]")).to_be_checked()
    owner.locator("input[name=note]").fill("It is 5 o'clock.")
    shoot(owner, "labelling", whole=True)
    before = owner.locator("#marked").get_attribute("data-answer")
    for name in ("note", "further-knowledge"):
        owner.locator(f"input[name={name}]").press("Enter")
        owner.wait_for_timeout(150)
    owner.locator("input[name=note]").press("End")
    owner.keyboard.type(" 12")
    assert owner.locator("#marked").get_attribute("data-answer") == before, "a note sends nothing"
    expect(owner.locator("input[name=note]")).to_have_value("It is 5 o'clock. 12")
    owner.locator("button[value=reasoning]").click()
    expect(owner.locator("#lead")).to_contain_text("10 of")
    last = marks_of(app, "labels")[-1].entry
    assert last == ("reasoning", ("perception", "knowledge"), "It is 5 o'clock. 12")
    server, link = app
    owner.goto(f"{server.address}/report/{link}/people")
    expect(owner.locator("main")).to_contain_text("People labelled")
    expect(owner.locator("[data-sheet=kinds]")).to_contain_text("Lack of capability")
    shoot(owner, "people-labels", whole=True)
    text = httpx.get(f"{server.address}/report/{link}/people/labels.csv").text
    assert "reasoning,perception knowledge,It is 5 o'clock. 12" in text
    owner.goto(f"{server.address}/report/{link}")
    expect(owner.locator("main")).to_contain_text("People labelled")
    owner.get_by_role("link", name="All human ratings").click()
    expect(owner.locator("h1")).to_have_text("Human ratings")


def test_what_people_said_stands_on_the_page_and_goes_out_and_in(owner, app, tmp_path):
    server, link = app
    begin(owner, "Mark answers")
    for _ in range(5):
        press(owner, "6")
    owner.goto(f"{server.address}/report/{link}/people")
    expect(owner.locator("main")).to_contain_text("People marked")
    expect(owner.locator("[data-sheet=distances]")).to_contain_text("gpt-4-0613, paper protocol")
    shoot(owner, "people", whole=True)
    with owner.expect_download() as download:
        owner.get_by_role("link", name="marks.csv").click()
    for name in ("marks-distances.csv", "marks-means.csv"):
        table = httpx.get(f"{server.address}/report/{link}/people/{name}").content.decode(
            "utf-8-sig"
        )
        assert table.startswith("measured,")
        assert '\n"gpt-4-0613, paper protocol",' in table
    path = tmp_path / "marks.csv"
    download.value.save_as(path)
    lines = path.read_text("utf-8").splitlines()
    lines.append(lines[1].replace(lines[1].split(",")[0], "v1_999"))
    path.write_text("\n".join(lines), "utf-8")
    owner.get_by_text("Import ratings").click()
    owner.locator("input[type=file]").set_input_files(path)
    owner.get_by_role("button", name="Import file").click()
    rows = [*csv.reader(path.read_text("utf-8").splitlines())]
    problem = f"row {len(rows)} left out: no such answer was judged"
    expect(owner.get_by_role("alert")).to_contain_text(problem)


def test_every_odd_file_of_marks_and_picture_is_answered_with_a_sentence(owner, app):
    server, link = app
    begin(owner, "Mark answers")
    picture = f"{owner.url}/pictures/{owner.locator('#marked').get_attribute('data-answer')}"
    marks = b"item,marker,score\nv1_5,a,1"
    nul = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.c\0v"\r\n\r\n%s\r\n--b--'
        % marks
    )
    with httpx.Client(base_url=server.address, cookies={COOKIE: cookie_of_owner(server)}) as sender:
        for kind, body in {"; boundary=b": nul, "": b"", "; boundary=x": b"{}"}.items():
            headers = {"content-type": f"multipart/form-data{kind}"}
            answer = sender.post("/marks", params={"report": link}, content=body, headers=headers)
            assert answer.status_code in (400, 409), kind
            wanted = (
                "The file must end in .json" if body == nul else "Send exactly one file of ratings"
            )
            assert wanted in answer.text and '"detail"' not in answer.text, kind
        for name, told in {
            "ann's.CSV": "ann_s.csv, row 2",
            f"{'标' * 200}.csv": "标.csv, row 2",
        }.items():
            sent = sender.post(
                "/marks", params={"report": link}, files={"file": (name, b"item,marker\nv1_5,a\n")}
            )
            assert (
                sent.status_code == 409
                and f"{told}, column &#39;score&#39;: Expected this column" in sent.text
            )
        assert (
            sender.get("/marks", params={"report": link}).headers["location"]
            == f"/report/{link}/people"
        )
        for number in ("x", "0", "-1", "٣", "9" * 5000):
            assert sender.get(f"{picture}/{number}").text == "There is no such picture.", number


def test_whoever_has_one_report_s_link_does_not_learn_of_others(app):
    server, link = app
    database = Database(f"sqlite:///{server.data_dir / 'arena.db'}")
    jobs, other = Jobs(database), replace(report(), title="Another of mine")
    marking = Marking(database, jobs)
    for one in (link, jobs.add_done(OWNER, other).link):
        campaign = marking.open(OWNER, one, "labels")
        seat = SeatStore(database).enter(campaign, Arrival(f"{campaign.name}.helper-4"), None)
        for _ in range(6):
            marking.store.enter(seat, marking.draw(seat)[0].token, MarkEntry("annotation"))
    database.close()
    address = f"{server.address}/report/{link}/people"
    assert "Another of mine" in httpx.get(address, cookies={COOKIE: cookie_of_owner(server)}).text
    assert "Another of mine" not in httpx.get(address).text


def test_who_has_nothing_left_waits_for_what_others_may_still_dispute(database, monkeypatch):
    monkeypatch.setattr("scoring.people.plan.SHARED_PART", 1.0)
    monkeypatch.setattr("scoring.people.plan.REPEATED_PART", 0.0)
    marked = MarkedReport.on(database, open_report({}, answers=2))
    pictures: Any = None  # of which matching shows none
    task = MarkingTask("readings", marked.marking, pictures)
    first, second, third = (
        marked.seat(person, "readings") for person in ("owner", "helper-1", "helper-2")
    )
    marked.mark(first, "A", 2)
    marked.mark(second, "A")
    assert task.piece(second, None) is not None
    assert task.piece(third, None) is None and task.waits(third)
    assert not task.waits(second)
    marked.mark(second, "B")
    assert task.piece(third, None) is not None, "a third decides"
    marked.mark(third, "B")
    for seat in (first, second, third):
        assert task.piece(seat, None) is None and not task.waits(seat)


@pytest.mark.parametrize(
    ("mark", "lean"),
    [
        ("4", "and 0.10 too lenient."),
        ("5", "but neither too lenient nor too strict."),
        ("6", "and 0.10 too strict."),
    ],
)
def test_a_judge_without_a_bias_is_neither_too_lenient_nor_too_strict(database, mark, lean):
    whole = mm_vet_report()
    rows = [
        replace(row, grades=tuple(replace(grade, score=0.5) for grade in row.grades))
        for row in whole.rows
    ]
    level = replace(whole, rows=tuple(rows))
    marked = MarkedReport.on(database, level)
    marked.mark(marked.seat(), mark, 12)
    assert lean in marks_line(mark_results(marked.marking, marked.job, level))


def test_the_pages_of_a_report_that_cannot_be_read_any_more_lead_to_its_own(app):
    server, _ = app
    database = Database(f"sqlite:///{server.data_dir / 'arena.db'}")
    old = Jobs(database).add_done(OWNER, replace(report(), title="Old")).link
    with database.write() as connection:
        connection.execute(JOB.update().where(JOB.c.link == old).values(report="{}"))
    database.close()
    cookies = {COOKIE: cookie_of_owner(server)}
    with httpx.Client(base_url=server.address, cookies=cookies) as sender:
        page = sender.get(f"/report/{old}/people")
        assert (page.status_code, page.headers["location"]) == (303, f"/report/{old}")
        assert sender.get(f"/report/{old}/people/marks.csv").status_code == 404
        file = {"file": ("m.csv", b"item,marker,score\nv1_1,a,1")}
        sent = sender.post("/marks", params={"report": old}, files=file)
        assert (sent.status_code, sent.headers["location"]) == (303, f"/report/{old}")


def test_a_chinese_page_says_in_chinese_what_was_wrong(owner):
    begin(owner, "Label errors")
    chinese = {"accept-language": "zh"}
    for form, sentence in {
        "answer=x": "没有标注",
        "skip=x": "请说明",
        "answer=right&piece=x": "这不是您的回答",
    }.items():
        headers = {**chinese, "content-type": "application/x-www-form-urlencoded"}
        page = httpx.post(owner.url, content=form, headers=headers).text
        assert sentence in page, form
    kind = ERROR_KINDS["knowledge"]
    for text in (kind.title, kind.definition):
        assert CHINESE.translated(text) in page
        assert text not in page


def test_strangers_read_and_change_nothing(app):
    server, link = app
    address = f"{server.address}/report/{link}/people"
    with httpx.Client() as stranger:
        shown = stranger.get(address)
        assert shown.status_code == 200 and "Collect ratings" not in shown.text
        for act in ("marks", "labels", "drop", "x" * 500, "\0"):
            answer = stranger.post(address, data={"act": act}, headers={"origin": server.address})
            assert answer.status_code == 403 and "Collect ratings" not in answer.text, act
            assert (
                "There is no such report of yours" in answer.text
                or "nothing to rate" in answer.text
            )
        file = {"file": ("m.csv", b"item,score\nv1_1,1")}
        sent = stranger.post(f"{server.address}/marks", params={"report": link}, files=file)
        assert sent.status_code == 403 and "no such report of yours" in sent.text
        assert stranger.get(f"{address}/marks.csv").status_code in (200, 404)
        assert (
            stranger.get(f"{server.address}/report/nope/people", follow_redirects=False).status_code
            == 303
        )
        for path in ("/c/marks-0000000000000000/1.0/pictures/x/1", f"/c/{link}/x/pictures/y/1"):
            assert stranger.get(server.address + path).status_code == 404


def test_answers_are_matched_to_options_without_what_a_judge_chose(owner, app):
    server, _ = app
    database = Database(f"sqlite:///{server.data_dir / 'arena.db'}")
    read = open_report({}, answers=20, title=TITLE, judge=LETTER_JUDGE)
    link = Jobs(database).add_done(OWNER, read).link
    database.close()
    owner.goto(f"{server.address}/report/{link}/people")
    shoot(owner, "people-letters")
    begin(owner, "Match answers to options")
    expect(owner.locator(".kinds button")).to_have_count(5)
    assert owner.locator(".truth, #marked img").count() == 0, (
        "it is what the answer means, not what is right"
    )
    headers = {"accept-language": "zh", "content-type": "application/x-www-form-urlencoded"}
    piece = owner.locator("#marked").get_attribute("data-answer")
    for answer in ("E", "right", "9" * 300):
        form = f"answer={answer}&piece={piece}"
        assert "没有匹配" in httpx.post(owner.url, content=form, headers=headers).text
    for key in ("b", "2", "c", "0"):
        press(owner, key)
    press(owner, "u")
    owner.locator(".kinds button", has_text="None of these").click()
    expect(owner.locator("#lead")).to_contain_text("5 of")
    owner.keyboard.press("s")
    expect(owner.locator(".cannot button")).to_have_count(2)
    shoot(owner, "matching", whole=True)
    shown = httpx.get(owner.url).content
    assert told({TITLE, LETTER_JUDGE, link, "mmbench"}, shown) == set()
    owner.goto(f"{server.address}/report/{link}")
    expect(owner.locator("main")).to_contain_text(
        "Rules leave 20 answers open. People matched 4 of them"
    )
    owner.get_by_role("link", name="All human ratings").click()
    expect(owner.locator("[data-sheet=alignment]")).to_contain_text(LETTER_JUDGE)
    expect(owner.locator("[data-sheet=alignment]")).to_contain_text("50.0%")
    expect(owner.locator("[data-sheet=alignment]")).to_contain_text("87.0%")
    owner.get_by_text("Where people and the judge differ").click()
    first, second = owner.locator("ol.audit > li").all()
    expect(first).to_contain_text("people: C")
    expect(second).to_contain_text("people: none of the options")
    shoot(owner, "people-matched", whole=True)
    sent = httpx.get(f"{server.address}/report/{link}/people/readings.csv").text
    assert sorted(line.split(",")[4] for line in sent.splitlines()[1:]) == ["B", "B", "C", "none"]
    owner.get_by_text("Import ratings").click()
    file = {"name": "r.csv", "mimeType": "text/csv", "buffer": sent.replace(",C,", ",A,").encode()}
    owner.locator("input[type=file]").set_input_files(file)
    owner.get_by_role("button", name="Import file").click()
    expect(owner.get_by_role("alert")).to_contain_text("0 matched answers new or changed")
