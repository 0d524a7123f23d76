"""Judges and people: votes out of the database, the page's HTML, and the tab in a real browser at both widths."""

import asyncio
import csv
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import update

from arena.database import Database, now
from arena.drawings import svg
from arena.formats.base import Battles, Vote, columns_of
from arena.formats.native import STEREOSCOPE
from arena.formats.registry import read
from arena.imports.importer import ImportRequest, VoteImporter
from arena.imports.polls import Polls
from arena.io.aside import AsideError
from arena.io.tables import RowsError
from arena.items.ingest import Ingest
from arena.items.store import ANSWER, ItemBank
from arena.ratings.agreement import (
    LEAST_CONTESTS,
    ROUNDS,
    Choices,
    Contest,
    Poll,
    Verdict,
    Winner,
    coin,
)
from arena.sheets import as_csv
from arena.types import REFERENCE, Item, item_key
from scoring.jobs.submissions import Submissions
from scoring.jobs.uploads import UploadStore, UploadStoreError
from scoring.people.agreement import PeopleAgreement, people_agreement
from scoring.people.agreement_files import read_scores, scores_csv
from scoring.people.agreement_service import AgreementService
from scoring.people.agreement_sheets import measure_sheet
from scoring.report import JudgeStamp
from scoring.visit_bench.matches import Instance, Match, MatchReport
from scoring.visit_bench.matches import Verdict as InOneOrder
from scoring.visit_bench.store import SubmissionStore, judging_labels
from scoring.web.agreement_view import (
    HTML,
    measures_html,
    people_html,
    reproduction_plot,
)
from scoring.web.judges_page import PeoplesRatings, board_html
from scoring.web.scoring_api import AGREEMENT_FILES, BOARD_FILES, agreement_routes, board_routes
from tests.support.agreement_sources import MODELS, plant_source, scores_file, votes_on
from tests.support.planting import plant
from tests.support.screens import DESK, assert_fits, fresh_page, shoot
from tests.support.servers import AppServer, drafts

HOSTILE = "<img src=x onerror=document.title='hit'>, free"


# The database.
def test_a_poll_counts_each_persons_choice_on_either_side(bank):
    first, second = list(ItemBank(bank).bank().items.values())[:2]
    plant(bank, [*votes_on(first.id, "m2", "m1", 3, 2), *votes_on(first.id, "m1", "m3", 1, 0)])
    plant(bank, votes_on(second.id, "m3", "m2", 2, 2))
    poll = Polls(bank).poll("test")
    assert poll.choices == {
        Contest(first.key, "m1", "m2"): Choices(2, 3),
        Contest(first.key, "m1", "m3"): Choices(1, 0),
        Contest(second.key, "m2", "m3"): Choices(2, 2),
    }
    assert poll.answers[first.key, "m2"] == "m2 says 0"
    assert poll.notices == ()
    assert Polls(bank).sources() == ("test",)
    assert Polls(bank).poll("another").choices == {}


def test_votes_on_withdrawn_answers_are_left_out_and_told(bank):
    first, second = list(ItemBank(bank).bank().items.values())[:2]
    plant(bank, [*votes_on(first.id, "m1", "m2", 3, 0), *votes_on(first.id, "m1", "m3", 2, 1)])
    gone = (ANSWER.c.item_id == first.id) & (ANSWER.c.text == "m2 says 0")
    with bank.write() as connection:
        connection.execute(update(ANSWER).where(gone).values(withdrawn_at=now()))
    poll = Polls(bank).poll("test")
    assert poll.choices == {Contest(first.key, "m1", "m3"): Choices(2, 1)}
    assert poll.notices == ("votes left out because their answers were withdrawn: 3",)
    assert (first.key, "m2") not in poll.answers
    assert (second.key, "m2") in poll.answers


def test_votes_from_elsewhere_are_a_source_and_a_judges_stand_beside_all(bank, tmp_path):
    """The preferences of unknown voters, and a judge's battles on the same items and on one of the bank's."""
    (item, *_) = ItemBank(bank).bank().items.values()
    plant(bank, votes_on(item.id, "m1", "m2", 2, 1))
    asked = {
        "instruction": "What?",
        "image_url": "https://images.test/1.jpg",
        "A": "one two",
        "B": "one",
    }
    models = {"A_model": "owl prediction", "B_model": "human_verified_reference"}
    row = {**asked, **models, "model_selection.A": "True", "model_selection.B": "False"}
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerows([row, row, {**row, "B_model": "m2"}])
    verdict = Vote("m2", "m1", "a", item=item.key, voter="gpt-4", judge=True)
    key = item_key("What?", [asked["image_url"]])
    beside = Vote("owl", "m2", "tie", item=key, voter="gpt-4", judge=True)
    judged = Battles(
        "stereoscope",
        *columns_of([verdict, beside]),
        rows=tuple(map(STEREOSCOPE.row, (verdict, beside))),
    )
    VoteImporter(bank).add(read(tmp_path / "people.csv"), ImportRequest("elsewhere"))
    VoteImporter(bank).add(judged, ImportRequest("battles"))
    polls = Polls(bank)
    assert polls.sources() == ("elsewhere (imported)", "test")
    mine, theirs = polls.poll("test"), polls.poll("elsewhere (imported)")
    assert mine.verdicts == (Verdict(item.key, "m2", "m1", "a", "gpt-4 (battles)"),)
    assert theirs.choices == {
        Contest(key, REFERENCE, "owl"): Choices(0, 2),
        Contest(key, "m2", "owl"): Choices(0, 1),
    }
    assert theirs.answers == {(key, "owl"): "one two", (key, REFERENCE): "one", (key, "m2"): "one"}
    assert theirs.verdicts == (Verdict(key, "owl", "m2", "tie", "gpt-4 (battles)"),)


# Kept concordances.
class Counted:
    """Polls that count how often they are read; no judge has judged."""

    def __init__(self, poll: Poll) -> None:
        self.poll_now, self.read = poll, 0

    def sources(self) -> Sequence[str]:
        return ("one",)

    def poll(self, source: str) -> Poll:
        self.read += 1
        return self.poll_now

    def verdicts(self, source: str) -> Sequence[Verdict]:
        return ()


def poll_of(*chosen: tuple[int, int], texts: tuple[str, str] = ("a b c", "a b")) -> Poll:
    contests = [Contest(f"i{place}", "m1", "m2") for place in range(len(chosen))]
    answers = {
        (contest.item, model): text
        for contest in contests
        for model, text in zip(("m1", "m2"), texts, strict=True)
    }
    return Poll(dict(zip(contests, (Choices(*votes) for votes in chosen), strict=True)), answers)


def test_a_agreement_is_found_once_for_all_visitors(tmp_path):
    polls = Counted(poll_of((5, 0), (4, 1)))
    kept = AgreementService(polls, polls, UploadStore(tmp_path))
    assert kept.agreement("one") is kept.agreement("one")
    assert polls.read == 1
    fresh = AgreementService(polls, polls, UploadStore(tmp_path), every=0)
    one = fresh.agreement("one")
    assert fresh.agreement("one") is one, "the same votes: nothing is reckoned anew"
    polls.poll_now = poll_of((5, 0), (1, 4))
    other = fresh.agreement("one")
    assert other == people_agreement(polls.poll_now) != one
    polls.poll_now = poll_of((5, 0), (1, 4), texts=("a", "a b"))
    assert fresh.agreement("one") == people_agreement(polls.poll_now) != other, (
        "a new text is scored anew"
    )


async def chunks(path: Path) -> AsyncIterator[bytes]:
    yield path.read_bytes()


def test_other_metrics_stand_beside_the_kept_ones_for_who_asks(tmp_path):
    polls = Counted(poll_of((5, 0), (4, 1), (1, 4)))
    kept = AgreementService(polls, polls, UploadStore(tmp_path))
    scores = {
        ("i0", "m1"): 2.0,
        ("i0", "m2"): 1.0,
        ("i1", "m1"): 0.0,
        ("i1", "m2"): 1.0,
        ("i2", "m1"): 0.5,
    }
    found = kept.agreement("one", {"mine": scores})
    assert found == people_agreement(polls.poll_now, {"mine": scores})
    (mine,) = (one for one in found.reproductions if one.measure == "mine")
    assert (mine.overall.hits, mine.overall.n, mine.missing) == (1, 2, 1)
    assert "mine" not in {one.measure for one in kept.agreement("one").reproductions}, (
        "they are kept for nobody"
    )
    assert kept.answers("one") == [
        (f"i{place}", model) for place in range(3) for model in ("m1", "m2")
    ]


def test_a_file_of_scores_is_read_for_its_owner_alone(tmp_path):
    polls = Counted(poll_of((5, 0), (4, 1)))
    upload_store = UploadStore(tmp_path / "inbox")
    service = AgreementService(polls, polls, upload_store)

    def arrived(*rows: tuple[object, ...]) -> str:
        return asyncio.run(
            upload_store.receive("ada", "mine.csv", chunks(scores_file(tmp_path, *rows)))
        ).token

    token = arrived(("i0", "m1", "=mine", 2), ("i0", "m2", "=mine", 1), ("x", "m1", "<b>", 1))
    found, own = service.compare_file("one", "ada", token)
    assert [(one.measure, one.overall.n) for one in own] == [("=mine", 1), ("<b>", 0)]
    assert "=mine</b> (1 of 2 pairs), <b>&lt;b&gt;</b> (0 of 2 pairs)" in HTML.own(own)
    assert "must be named as in the file" in HTML.own(own[1:]) and HTML.own(()) == ""
    assert "\n'=mine," in as_csv(measure_sheet(found))
    assert service.agreement("one") == people_agreement(polls.poll_now)
    for owner, other in (("bob", token), ("ada", "forged")):
        with pytest.raises(UploadStoreError, match="no longer here"):
            service.compare_file("one", owner, other)
    with pytest.raises(
        RowsError,
        match="mine.csv, row 2, column 'metric': 'length' is already the name of another metric",
    ):
        service.compare_file("one", "ada", arrived(("i0", "m1", "length", 1)))
    assert scores_csv(service.answers("one")).splitlines()[:2] == [
        "item,model,metric,score",
        "i0,m1,,",
    ]


def test_a_file_of_scores_holds_few_metrics_of_short_names(tmp_path):
    """Each is held against every contest, and drawn."""
    few = scores_file(tmp_path, *(("i0", "m1", f"metric {number}", 1) for number in range(50)))
    assert len(read_scores(few, ())) == 50
    many = scores_file(tmp_path, *(("i0", "m1", f"metric {number}", 1) for number in range(60)))
    with pytest.raises(
        RowsError, match="row 52, column 'metric': This is metric 51, and a file has 50 at most"
    ):
        read_scores(many, ())
    with pytest.raises(
        RowsError,
        match="row 2, column 'metric': Expected a name of at most 100 characters, found 'x",
    ):
        read_scores(scores_file(tmp_path, ("i0", "m1", "x" * 101, 1)), ())


def judged_by(address: str, items: Sequence[Item], prompt: str = "0" * 64) -> MatchReport:
    """A stored model's matches, judged in both orders: for m1, for m2, a tie, and one that is unscored."""
    orders: list[list[Winner | None]] = [["a", "a"], ["b", "b"], ["a", "b"], ["a", None]]
    matches = [
        Match(
            item.key, "m1", "m2", tuple(InOneOrder(winner, replies=("...",)) for winner in winners)
        )
        for item, winners in zip(items, orders, strict=True)
    ]
    return MatchReport(
        **{
            "benchmark": "visit-bench",
            "protocol": "hardened",
            "title": "m1",
            "file": "",
            "created": "2026-01-31",
        },
        judge=JudgeStamp("gpt-4", (), address, prompt, "last"),
        **{
            "reference": "free",
            "context": "captions",
            "source": "test",
            "complete": True,
            "stored": True,
        },
        instances=tuple(
            Instance(item.key, item.family, "", ("a caption",), (), (), None) for item in items
        ),
        responses=(),
        matches=tuple(matches),
    )


def test_the_boards_judges_stand_beside_the_people(bank, tmp_path):
    items = list(ItemBank(bank).bank().items.values())[:4]
    plant(bank, [vote for item in items for vote in votes_on(item.id, "m1", "m2", 3, 0)])
    SubmissionStore(bank).enter("me", judged_by("https://judge.test/v1", items))
    found = AgreementService(Polls(bank), SubmissionStore(bank), UploadStore(tmp_path)).agreement(
        "test"
    )
    (judge,) = (one for one in found.reproductions if "gpt-4" in one.measure)
    tie = coin(Contest(items[2].key, "m1", "m2")) == "first"
    assert (judge.overall.hits, judge.overall.n, judge.ties, judge.missing) == (1 + tie, 3, 1, 1)
    assert judge.measure == "gpt-4, reference-free, hardened"


@pytest.mark.parametrize("address", ["http://10.0.0.5:8000/v1", "http://localhost:1234/v1"])
def test_a_judges_inner_address_is_on_no_page_and_in_no_file(database, tmp_path, address):
    Ingest(database).add_items("test", "visit", drafts(4))
    items, submissions = list(ItemBank(database).bank().items.values()), Submissions(database, None)
    plant(database, [vote for item in items for vote in votes_on(item.id, "m1", "m2", 3, 0)])
    for prompt in ("0" * 64, "1" * 64):  # boards alike but for the prompt name the judge's place
        submissions.store.enter("me", judged_by(address, items, prompt))
    boards, service = (
        submissions.store.board_keys(),
        AgreementService(Polls(database), submissions.store, UploadStore(tmp_path)),
    )
    shown = [
        str(judging_labels(key.judging for key in boards)),
        page_of_found(service.agreement("test")),
    ]
    shown += [
        board_html(key, submissions.store.standings(key), PeoplesRatings({}, None), {})
        for key in boards
    ]
    app = FastAPI()
    app.include_router(board_routes(submissions))
    app.include_router(agreement_routes(service))
    client = TestClient(app)
    files = [
        ("automatic", name, {"board": key.key})
        for key in boards
        for name in (*BOARD_FILES, "battles.jsonl")
    ]
    files += [("agreement", name, {"source": "test"}) for name in (*AGREEMENT_FILES, "scores.csv")]
    for folder, name, query in files:
        answer = client.get(f"/{folder}/{name}", params=query)
        assert answer.status_code == 200, name
        shown.append(answer.content.decode("latin-1"))
    assert len(boards) == 2 and any("the operator's own server" in unescape(text) for text in shown)
    inner = urlsplit(address)
    assert [
        text[:200] for text in shown if inner.netloc in text or str(inner.hostname) in text
    ] == []


# The page.
def page_of(poll: Poll, verdicts: Sequence[Verdict] = ()) -> str:
    return page_of_found(people_agreement(replace(poll, verdicts=tuple(verdicts))))


def page_of_found(found: PeopleAgreement) -> str:
    return "".join(
        (
            HTML.tells(found, LEAST_CONTESTS),
            people_html(found.people),
            measures_html(found),
            HTML.notes(found, ROUNDS, LEAST_CONTESTS),
        )
    )


def test_the_page_has_the_hand_computed_figures():
    """Eight pairs with five votes each: alpha 0.556, AC1 0.55 (see the command's test)."""
    poll = poll_of((5, 0), (5, 0), (5, 0), (0, 5), (4, 1), (4, 1), (1, 4), (3, 2))
    verdicts = [
        Verdict(f"i{place}", "m2", "m1", "b" if place < 6 else "tie", HOSTILE) for place in range(7)
    ]
    text = page_of(poll, verdicts)
    assert "8 pairs of answers have votes from several people." in text
    assert "too few for intervals" in text
    text = re.sub(r' class="\w+"', "", text)
    assert "alpha</th><td>8</td><td>40</td><td>0.556</td>" in text
    assert "AC1</th><td>8</td><td>40</td><td>0.550</td>" in text
    assert "No interval below 10 pairs." in text
    half = "50.0% <small>21.5% to 78.5%</small>"
    assert f"5/5 chose the same</th><td>4</td><td>8</td><td>{half}</td>" in text
    assert re.search(
        r"length</th><td>75\.0% <small>40\.9% to 92\.9%</small></td><td>8</td><td>75\.0%", text
    )
    right = 5 + (coin(Contest("i6", "m1", "m2")) == "second")
    assert re.search(
        rf"free</th><td>{right / 7:.1%} <small>[\d.]+% to [\d.]+%</small></td><td>7</td>.*?<td>1</td><td>1</td></tr>",
        text,
    )
    assert "<img" not in text, "a judge's name is text"
    assert "overlaps those of" in text
    assert "A majority is what most voters chose." in text


@pytest.mark.parametrize(
    ("poll", "told"),
    [
        (poll_of(), "Nobody has voted on these items yet."),
        (poll_of((1, 0)), "So far 1 pair has votes, but none"),
        (poll_of((1, 0), (0, 1)), "So far 2 pairs have votes, but none"),
        (
            Poll({Contest("i", REFERENCE, "otter"): Choices(3, 2)}, {}),
            "1 pair with the reference is left out.",
        ),
    ],
)
def test_empty_and_tiny_data_give_clear_text(poll, told):
    found = people_agreement(poll)
    assert told in HTML.tells(found, LEAST_CONTESTS)
    assert people_html(found.people) == measures_html(found) == ""


def test_a_pair_without_majority_is_told_and_reproduces_nothing():
    found = people_agreement(poll_of((1, 1)))
    assert "1 pair has no majority." in HTML.tells(found, LEAST_CONTESTS)
    assert "1/2 chose the same" in people_html(found.people)
    assert measures_html(found) == ""


def test_the_best_measure_is_named_only_where_its_interval_is_above():
    poll = poll_of(*[(5, 0)] * 200)
    verdicts = [Verdict(f"i{place}", "m1", "m2", "a", "judge") for place in range(200)]
    found = people_agreement(replace(poll, verdicts=tuple(verdicts)), metrics=("random",))
    text = HTML.tells(found, LEAST_CONTESTS)
    assert (
        "<b>judge</b> reproduces the most majorities (100.0%), and its interval is above all others."
        in text
    )
    found = people_agreement(replace(poll, verdicts=tuple(verdicts)), metrics=("random", "length"))
    text = unescape(HTML.tells(found, LEAST_CONTESTS))
    assert "its interval overlaps another's" in text


def test_figure_9_shows_what_the_table_has():
    poll = poll_of((5, 0), (5, 0), (5, 0), (0, 5), (4, 1), (4, 1), (1, 4), (3, 2))
    verdicts = [Verdict("i0", "m1", "m2", "a", HOSTILE)]
    found = people_agreement(replace(poll, verdicts=tuple(verdicts)))
    sheet = measure_sheet(found)
    heads = [column.head for column in sheet.columns if column.head != "n"]
    assert heads == ["Measure", "All", "5/5", "4/5", "3/5", "Ties", "Missing"]
    drawing = reproduction_plot(found).drawing
    hovers = list(dict.fromkeys(mark.title for mark in drawing.marks if mark.kind == "dot"))
    assert hovers[0].startswith(f"{found.reproductions[0].measure}: ")
    shown = [one for one in found.reproductions if one.overall.n]
    numbers = [f"{one.overall.value:.1%} ({100 * one.overall.low:.0f}–" for one in shown]
    assert all(number in hover for number, hover in zip(numbers, hovers, strict=True))
    assert [f"{row['measure']}: {row['all']:.1%} " for row in sheet.rows if row["all_n"]] == [
        hover[: hover.index("(")] for hover in hovers
    ]
    assert "<img" not in svg(drawing, "agreement")


# The browser.
@pytest.fixture(scope="module")
def voted(tmp_path_factory) -> Iterator[AppServer]:
    """A server with a bank of many votes and one with a single vote."""
    folder = tmp_path_factory.mktemp("agreement") / "data"
    folder.mkdir()
    database = Database(f"sqlite:///{folder / 'arena.db'}")
    plant_source(database)
    database.close()
    running = AppServer(folder, DEMO_BANK="off")
    yield running
    running.stop()


def get(app: AppServer, query: str = "", **more: object) -> httpx.Response:
    return httpx.get(f"{app.address}/agreement{query}", timeout=60, **more)


@pytest.fixture
def page(browser: Browser, voted: AppServer) -> Iterator[Page]:
    """A visitor of the page, in the dark."""
    with fresh_page(browser, DESK, color_scheme="dark") as opened:
        opened.goto(f"{voted.address}/agreement?source=test")
        yield opened


def test_a_source_with_few_votes_says_what_it_needs_and_leads_to_a_battle(voted):
    shown = get(voted, "?source=later").text
    assert "Needs votes from two people" in shown and "So far 1 pair has votes" in shown
    assert 'href="/">Vote</a>' in shown and "agreement-body" not in shown
    assert get(voted, "?source=%3Cb%3Enowhere").text == get(voted).text, "the newest instead"


def test_the_page_shows_people_measures_and_the_plot(page):
    tells = page.locator("#agreement-tells")
    expect(tells).to_contain_text("60 pairs of answers have votes from several people.")
    rows = page.locator("#agreement-measures tbody th")
    expect(rows).to_have_count(4)
    assert sorted(rows.all_inner_texts()) == ["BLEU-4", "ROUGE-L", "length", "random"]
    expect(page.locator("#agreement-people")).to_contain_text(
        re.compile(r"alpha\s*60\s*\d+\s*−?0\.\d{3}\s*−?0\.\d{3} to 0\.\d{3}")
    )
    expect(page.locator("#agreement-plot svg[role=img]")).to_be_visible()
    expect(page.locator("#agreement-measures caption")).to_be_hidden()
    page.get_by_text("How this is counted").click()
    expect(page.locator("#agreement-notes")).to_contain_text(
        "20 pairs with the reference are left out"
    )
    body = page.locator("#agreement-body").inner_text()
    assert not any(model in body for model in MODELS), "the page is about measures, not models"
    shoot(page, "agreement", whole=True)
    assert_fits(page, 320)
    page.get_by_role("navigation", name="Items").get_by_role("link", name="later").click()
    expect(tells).to_contain_text("Needs votes from two people")
    page.get_by_role("navigation", name="Results").get_by_role("link", name="Elo ranking").click()
    expect(page.locator("main h1")).to_have_text("Elo ranking")


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_a_visitors_metric_stands_among_the_others_for_nobody_else(
    browser, voted, tmp_path, scripts
):
    with fresh_page(browser, DESK, java_script_enabled=scripts) as page:
        page.goto(f"{voted.address}/agreement?source=test")
        links = page.locator("#agreement-downloads .downloads a")
        expect(links).to_have_count(3)
        empty = httpx.get(f"{voted.address}{links.last.get_attribute('href')}").text.splitlines()
        assert empty[0] == "item,model,metric,score" and len(empty) == 1 + 20 * len(MODELS)
        answers = [line.split(",")[:2] for line in empty[1:]]
        path = scores_file(tmp_path, *((*one, HOSTILE, MODELS.index(one[1])) for one in answers))
        sends(page, path)
        expect(page.locator("#agreement-own")).to_contain_text(f"{HOSTILE} (60 of 60 pairs)")
        expect(page.locator("#agreement-measures tbody th")).to_have_count(5)
        shoot(page, "own-metric", whole=True)
        mine = page.url
        with page.expect_download() as download:
            links.first.click()
        assert "img src" in Path(download.value.path()).read_text("utf-8")
        address = f"{voted.address}{links.first.get_attribute('href')}"
        sends(page, scores_file(tmp_path, ("i", "m", "random", 1)))
        expect(page.locator("#agreement-own")).to_contain_text(
            "'random' is already the name of another metric"
        )
        expect(page.locator("#agreement-measures tbody th")).to_have_count(4)
    theirs = httpx.get(address)
    assert theirs.status_code == 400 and "no longer here" in theirs.text, "a token is its owner's"
    assert "no longer here" in httpx.get(mine).text and "60 of 60" not in httpx.get(mine).text
    open_to_all = httpx.get(address.split("&own=")[0]).text
    assert open_to_all.startswith("measure,all,") and "img src" not in open_to_all


def sends(page: Page, path: Path) -> None:
    page.locator("#own-metric input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Compare scores").click()


def test_the_page_speaks_chinese_and_its_files_english(voted):
    headers = {"accept-language": "zh"}
    address = f"{voted.address}/agreement"
    page = httpx.get(f"{address}?source=test", headers=headers, timeout=60).text
    assert "60 对回答有多人投票" in page and "5/5 选择相同" in page
    figure = httpx.get(f"{address}/figure.svg?source=test", headers=headers, timeout=60).text
    assert "a single vote" in figure and "单票" not in figure


def test_a_page_with_a_file_of_ones_own_is_kept_by_no_browser(voted):
    assert get(voted, "?source=test").headers["cache-control"] == "private, no-cache"
    assert "no-store" in get(voted, "?source=test&own=x").headers["cache-control"]
    assert get(voted).headers["set-cookie"], "a file that is sent has an owner"


def test_what_is_no_file_of_scores_is_refused_in_a_sentence(voted):
    address = f"{voted.address}/agreement?source=test"
    file = {"file": ("scores.csv", b"item,model")}
    assert httpx.post(address, files=file).status_code == 403, "without a cookie it is nobody's"
    with httpx.Client() as visitor:
        visitor.get(address)
        for name in ("scores.exe", ""):
            answer = visitor.post(address, files={"file": (name, b"x")})
            assert answer.status_code == 400 and 'role="alert"' in answer.text
        assert visitor.post(address, data={"file": "text"}).status_code == 400
        assert visitor.post(address, files=file).status_code == 303


@pytest.mark.parametrize("wrong", ["measures.csv?source=nowhere", "else.csv?source=test"])
def test_there_are_no_other_files(voted, wrong):
    assert httpx.get(f"{voted.address}/agreement/{wrong}").status_code == 404


def test_a_download_says_when_too_many_files_are_being_read():
    class Busy(AgreementService):
        def __init__(self) -> None:
            pass

        def sources(self) -> list[str]:
            return ["items"]

        def compare_file(self, source: str, owner: str, token: str):
            raise AsideError("Too many files are being read right now.")

    app = FastAPI()
    app.include_router(agreement_routes(Busy()))
    answer = TestClient(app).get(f"/agreement/{next(iter(AGREEMENT_FILES))}?source=items&own=token")
    assert (answer.status_code, answer.text) == (400, "Too many files are being read right now.")
