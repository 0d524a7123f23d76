"""The operator's tab in a small app of its own: orders in a real browser, and every event called by a stranger."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import gradio as gr
import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, Locator, Page, expect
from sqlalchemy import insert, select

import app
from arena.admin.actions import ACT
from arena.admin.campaigns import CampaignAdmin
from arena.admin.dashboard import DashboardService
from arena.admin.erasure import code_of
from arena.admin.public_export import PublicFiles
from arena.admin.service import AdminService
from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE
from arena.battles.vote_table import VoteTable
from arena.battles.voters import Voters
from arena.budget import LIVE, Budget, Ceilings
from arena.database import METADATA, Database, now
from arena.fraud.flags import VOTER_FLAG
from arena.items.ingest import Ingest
from arena.items.store import MODEL, ItemBank
from arena.leaderboard.overview import Overview
from arena.leaderboard.service import Leaderboard
from arena.live.images import OwnImages
from arena.settings import CountSettings, Settings
from arena.web import admin_campaigns, operator_api
from arena.web.addresses import RUN
from arena.web.admin_auth import OPERATOR_COOKIE, Operators
from arena.web.admin_tab import AdminTab
from arena.web.chinese import CHINESE
from arena.web.cookies import cookie_hash
from arena.web.export_api import routes as public_routes
from tests.support.live_votes import bring, live_vote
from tests.support.paid_campaigns import written
from tests.support.screens import DESK, Late, fresh_page, shoot
from tests.support.servers import drafts
from tests.support.visitors import Visitor, rows
from tests.support.writers import projects_of

VISITOR = "v" * 32
"""The voter cookie of somebody who asks to be forgotten."""
CAMPAIGN = """
name = "pilot"
source = "test"
stop = { votes = 300 }
seat = { votes = 2, minutes = 25, pay = 0 }
"""
HOSTILE = (
    "",
    "pause",
    "resume",
    "hide",
    "forget",
    "take down",
    None,
    0,
    [],
    {},
    ["pause"],
    "x" * 100_000,
    "\u0000",
)


class Arena(NamedTuple):
    """A running app with the operator's tab, and what it stands on."""

    address: str
    database: Database
    operators: Operators
    images: OwnImages
    settings: Settings
    boards: Leaderboard


@pytest.fixture
def arena(tmp_path) -> Iterator[Arena]:
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts(3))
    images, operators = (
        OwnImages(database, tmp_path / "own"),
        Operators(frozenset(), Voters(database), by_link=True),
    )
    budget = Budget(database, Ceilings(1, 1, 20_000_000), LIVE)
    settings = Settings.from_env({"DATA_DIR": str(tmp_path)})
    campaigns, projects = (
        CampaignAdmin(settings, database, ItemBank(database), VoteTable(database)),
        projects_of(settings, database),
    )
    watch = DashboardService(
        database, settings, None, {"Live": budget}, {"Live": lambda: 0}, 2, campaigns, projects
    )
    boards = Leaderboard(database, VoteTable(database))
    with app.Page() as page:
        gr.HTML("<p>Vote here.</p>")
    with page.route("Run", RUN):
        AdminTab(
            watch, AdminService(database, images, CountSettings()), operators, Overview(boards)
        ).listen(page)
    served = FastAPI()
    served.include_router(operator_api.routes(images, operators))
    served.include_router(admin_campaigns.routes(campaigns, projects, operators))
    served.include_router(public_routes(PublicFiles(database, tmp_path / "public")))
    css = [Path(app.__file__).parent / "arena/web/page.css"]
    gr.mount_gradio_app(served, page, path="/", head=app.HEAD, css_paths=css, ssr_mode=False)
    server = uvicorn.Server(uvicorn.Config(served, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Arena(f"http://127.0.0.1:{port}", database, operators, images, settings, boards)
    server.should_exit = True
    thread.join()
    boards.close()
    database.close()


@pytest.fixture
def screen(browser: Browser) -> Iterator[Page]:
    with fresh_page(browser, DESK) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        yield page


def stored(database: Database) -> str:
    with database.read() as connection:
        return repr([connection.execute(select(table)).all() for table in METADATA.sorted_tables])


def code(arena: Arena) -> str:
    return str(arena.operators.link("")).partition("=")[2]


def signed_in(arena: Arena, screen: Page) -> Locator:
    """Open the operator's link and return what the tab shows."""
    screen.goto(str(arena.operators.link(arena.address)))
    view = screen.locator("#operator")
    expect(view).to_contain_text("Live battles are open", timeout=60_000)
    return view


def test_an_operator_sees_the_tab_and_gives_orders(arena, screen):
    voter = BattleStore(arena.database).voter(cookie_hash(VISITOR))
    bring(arena.images, voter, live_vote(arena.database, voter), keep=True)
    item = next(iter(ItemBank(arena.database).bank().items.values()))
    view, said = signed_in(arena, screen), screen.locator("#operator-said")

    view.get_by_role("button", name="Pause them").click()
    expect(said).to_contain_text("Done: paused live answers", timeout=30_000)
    expect(view).to_contain_text("Paused since", timeout=30_000)
    view.get_by_label("Item (the key").fill(item.key)
    view.get_by_role("button", name="Hide it").click()
    expect(view.get_by_role("button", name="Show again")).to_be_visible(timeout=30_000)
    view.get_by_label("Item (the key").fill("no such key")
    view.get_by_label("Item (the key").press("Enter")
    expect(said).to_contain_text("There is no item 'no such key'", timeout=30_000)
    picture = view.get_by_role("img", name="Upload 1")
    picture.scroll_into_view_if_needed()
    screen.wait_for_function("document.querySelector('.uploads img').naturalWidth > 0")
    shoot(screen, "operator", whole=True)
    view.get_by_role("button", name="Take down").click()
    expect(picture).to_have_count(0, timeout=30_000)
    view.get_by_label("Code").fill(code_of(cookie_hash(VISITOR)))
    view.get_by_role("button", name="Forget", exact=True).click()
    expect(view.locator("table", has_text="forgot a voter")).to_be_visible(timeout=30_000)
    assert screen.evaluate("document.documentElement.scrollWidth <= innerWidth")
    with arena.database.read() as connection:
        done = connection.scalars(select(ACT.c.deed).order_by(ACT.c.id)).all()
        assert set(connection.scalars(select(ACT.c.who))) == {"link"}
    assert done == ["paused live answers", "hid an item", "took an upload down", "forgot a voter"]


def test_the_checklist_names_what_is_missing_until_it_is_there_and_the_settings_are_shown(
    arena, screen
):
    view = signed_in(arena, screen)
    missing, there = view.locator(".checklist .missing"), view.locator(".checklist .there")
    expect(
        missing.filter(has_text="Copy: not set: the votes die with this disk. Set MIRROR")
    ).to_be_visible()
    expect(missing.filter(has_text="Attention tests: 0 of 20")).to_be_visible()
    expect(there.filter(has_text="Items: 3 items of your own")).to_be_visible()
    Ingest(arena.database).add_items("checks", "check", drafts(23)[3:])
    view.get_by_role("button", name="Look again").click()
    expect(there.filter(has_text="Attention tests: 20.")).to_be_visible(timeout=30_000)
    expect(missing.filter(has_text="Attention tests")).to_have_count(0)
    view.get_by_text("settings; of a secret only whether").click()
    expect(view.get_by_role("row", name="VOTER_DAY_LIMIT 500 default")).to_be_visible()


def test_a_flagged_voter_opens_to_the_reason_and_the_votes(arena, screen):
    visitor, other = Visitor(arena.database, "flagged"), Visitor(arena.database, "other")
    cast = [visitor.decide("a"), visitor.decide("b")]
    other.decide()
    chosen = arena.boards.choose("", "single")
    assert chosen and arena.boards.board(chosen.key, 30).statistics, (
        "it looked for flags, and lifts none from now on"
    )
    with arena.database.write() as connection:
        flag = {"voter_id": visitor.id, "reason": "HASTY", "strength": 0.8, "raised_at": now()}
        connection.execute(insert(VOTER_FLAG).values(flag))
    view = signed_in(arena, screen)
    voter = view.locator("details.voter")
    expect(voter).to_contain_text(f"Voter {visitor.id}, 2 votes, counted: one weak reason")
    expect(voter).to_contain_text(
        "Chooses faster than the answers can be read (in 80% of the votes)"
    )
    expect(voter.locator("table")).to_be_hidden()
    voter.locator("summary").click()
    key = {item.id: item.key for item in ItemBank(arena.database).bank().items.values()}
    names = dict(rows(arena.database, select(MODEL.c.id, MODEL.c.display).subquery()))
    mine = [row for row in rows(arena.database, BATTLE) if row.voter_id == visitor.id]
    votes = [row for row in mine if row.choice]
    shown = voter.locator("tbody tr").all()
    for row, battle, vote in zip(shown, reversed(cast), reversed(votes), strict=True):
        expect(row).to_contain_text(
            f"{battle.choice}: {names[vote.winner]}{names[vote.loser]}", ignore_case=True
        )
        expect(row.get_by_role("link")).to_have_attribute("href", f"item/{key[battle.item]}")
    shoot(screen, "operator-flagged", whole=True)


@pytest.mark.soak
def test_an_order_given_while_another_is_carried_out_is_done_too(arena, screen):
    item = next(iter(ItemBank(arena.database).bank().items.values()))
    view = signed_in(arena, screen)
    view.get_by_label("Item (the key").fill(item.key)
    late = Late(screen, "**/run/predict*")
    view.get_by_role("button", name="Pause them").click()
    late.wait()
    view.get_by_role("button", name="Hide it").click()
    expect(view.get_by_role("button", name="Show again")).to_be_visible()
    late.come()
    expect(view).to_contain_text("Paused since")
    expect(view.get_by_role("button", name="Show again")).to_be_visible()


@pytest.mark.soak
def test_what_a_proxy_refuses_is_told_in_words(arena, screen):
    refusal = {"status": 502, "content_type": "text/html", "body": "<h1>Bad Gateway</h1>"}
    view, said = signed_in(arena, screen), screen.locator("#operator-said")
    screen.route("**/run/predict*", lambda route: route.fulfill(**refusal), times=1)
    view.get_by_role("button", name="Pause them").click()
    expect(said).to_contain_text("The server refused that or was not reached")
    form = view.locator("#campaigns form").first
    form.locator("textarea").fill(CAMPAIGN)
    screen.route("**/operators/**", lambda route: route.fulfill(**refusal), times=1)
    form.get_by_role("button", name="Make it").click()
    expect(form.locator("output")).to_have_text("Refused (502). Try again.")
    form.get_by_role("button", name="Make it").click()
    expect(said).to_contain_text("pilot: 3 models")


def test_the_link_opens_the_page_and_its_code_is_nowhere_after_that(arena, screen):
    """In the address bar, in the history, and in any address or referrer that the browser sends."""
    secret, sent = code(arena), []
    screen.on(
        "request", lambda request: sent.append((request.url, request.headers.get("referer", "")))
    )
    signed_in(arena, screen)
    assert screen.evaluate("[location.href, history.length]") == [f"{arena.address}/{RUN}", 2]
    assert secret not in repr(sent)
    screen.reload()
    expect(screen.locator("#operator")).to_contain_text("Live battles are open", timeout=60_000)


def test_a_stranger_sees_nothing_and_a_wrong_link_says_what_to_do(arena, screen):
    screen.goto(f"{arena.address}/{RUN}")
    expect(screen.locator("#operator")).to_contain_text("for the operators", timeout=60_000)
    assert "Paused" not in screen.content() and "Forget" not in screen.content()
    screen.goto(f"{arena.address}/{RUN}#code=wrong")
    expect(screen.get_by_role("alert").first).to_contain_text(
        "Start the server again", timeout=60_000
    )
    expect(screen.locator("#operator")).to_contain_text("for the operators")
    # the same page but for what stands behind the #
    screen.goto(f"{arena.address}/{RUN}#code={code(arena)}")
    expect(screen.locator("#operator")).to_contain_text("Live battles are open", timeout=60_000)
    assert screen.url == f"{arena.address}/{RUN}"


def test_every_event_of_a_stranger_gets_one_clear_line_and_changes_nothing(arena):
    voter = BattleStore(arena.database).voter(cookie_hash(VISITOR))
    bring(arena.images, voter, live_vote(arena.database, voter), keep=True)
    before = stored(arena.database)
    for headers in (
        {},
        {"cookie": f"{OPERATOR_COOKIE}={'a' * 32}"},
        {"cookie": f"stereoscope_voter={VISITOR}"},
    ):
        assert_powerless(arena, headers)
    assert stored(arena.database) == before


def assert_powerless(arena: Arena, headers: dict[str, str]) -> None:
    """Whatever is called is refused in one line."""
    with httpx.Client(base_url=arena.address, headers=headers, timeout=60) as client:
        events = client.get("/config").json()["dependencies"]
        names = {event["api_name"]: event for event in events}
        assert {"on_look", "on_order"} <= names.keys()
        for event in events:
            for value in HOSTILE:
                data = [value] * len(event["inputs"])
                body = {"data": data, "fn_index": event["id"], "session_hash": "s"}
                answer = client.post("/gradio_api/run/predict", json=body).text
                assert "Votes" not in answer and "Traceback" not in answer, event["api_name"]
        order = {"fn_index": names["on_order"]["id"], "session_hash": "s"}
        for about in ("", "1", "hide"):
            for deed in ("pause", "resume", "hide", "show", "keep", "take down", "forget", "look"):
                answer = client.post(
                    "/gradio_api/run/predict", json={"data": [deed, about], **order}
                )
                assert (
                    "for the operators" in answer.json()["data"][0]
                    and "Nothing was changed" in answer.text
                )
        assert client.get("/operators/uploads/1").status_code == 404


def test_a_campaign_is_made_linked_watched_and_ended_on_the_page(arena, screen, tmp_path):
    view, said = signed_in(arena, screen), screen.locator("#operator-said")
    form = view.locator("#campaigns form").first
    form.locator("textarea").fill(CAMPAIGN.replace("test", "nothing"))
    form.get_by_role("button", name="Make it").click()
    expect(form.locator("output")).to_contain_text(
        "source is 'nothing'; there are: test", timeout=30_000
    )
    assert "nothing" in form.locator("textarea").input_value(), (
        "what was written is still there to mend"
    )
    form.locator("textarea").fill(CAMPAIGN)
    form.get_by_role("button", name="Make it").click()
    expect(said).to_contain_text("pilot: 3 models, 9 tuples, 9 votes at most", timeout=30_000)
    expect(said).to_be_in_viewport()
    expect(said).to_be_focused()
    made = view.locator(".campaign", has_text="running since")
    expect(made).to_contain_text("pilot, plain links", timeout=30_000)
    for row in (
        "Votes0 of 300",
        "Tuples with all their votes0 of 9",
        "Workersnone yet",
        "Mean half width of the 95% intervalsknown from 50 votes on",
    ):
        expect(made.locator("tr", has_text=row)).to_be_visible()
    made.get_by_label("Workers, a name").fill("e-mail\tName\na@x.org\tann\nb@x.org\tBob Lee\n")
    made.get_by_role("button", name="Make the links").click()
    expect(made.locator("output.kept")).to_contain_text(
        f"ann,{arena.address}/c/pilot?n=2&until=", timeout=30_000
    )
    expect(made.locator("output.kept")).to_contain_text("&worker=Bob+Lee&sig=")
    shoot(screen, "operator-campaigns", whole=True)
    made.get_by_label("The platform's list").set_input_files(
        written(tmp_path, "list.csv", "name\nann\n")
    )
    made.get_by_role("button", name="Upload", exact=True).click()
    problem = made.locator("output.problem")
    expect(problem).to_contain_text(
        "list.csv, row 2: expected Prolific's column 'Participant id'", timeout=30_000
    )
    made.get_by_label("The platform's list").set_input_files(
        written(tmp_path, "list.csv", "worker\nann\n")
    )
    made.get_by_role("button", name="Upload", exact=True).click()
    expect(said).to_contain_text(
        "1 person in the platform's list of pilot; 0 of them came", timeout=30_000
    )
    expect(made).to_contain_text("list of participants: 1 person", timeout=30_000)
    with screen.expect_download() as sheet:
        made.get_by_role("link", name="Pay sheet").click()
    assert sheet.value.suggested_filename == "pilot-sheet.csv"
    assert "ann,,never came,yes" in sheet.value.path().read_text("utf-8")
    made.get_by_role("button", name="End it").click()
    expect(said).to_contain_text("pilot has ended", timeout=30_000)
    ended = view.locator("summary", has_text="pilot, plain links: ended")
    expect(ended).to_contain_text("an operator ended it", timeout=30_000)
    with arena.database.read() as connection:
        done = connection.execute(select(ACT.c.who, ACT.c.deed).order_by(ACT.c.id)).all()
    deeds = ("made a campaign", "brought in a campaign's list of participants", "ended a campaign")
    assert done == [("link", deed) for deed in deeds]


def test_a_stranger_makes_ends_and_downloads_no_campaign(arena):
    CampaignAdmin(
        arena.settings, arena.database, ItemBank(arena.database), VoteTable(arena.database)
    ).make("ada", CAMPAIGN.encode())
    before = stored(arena.database)
    mine = {"cookie": f"{OPERATOR_COOKIE}={arena.operators.redeem(code(arena))}"}
    with httpx.Client(base_url=arena.address, timeout=60) as client:
        for path in ("", "/pilot/links", "/pilot/end", "/nobody/end"):
            answer = client.post(
                f"/operators/campaigns{path}", content=CAMPAIGN.replace("pilot", "more")
            )
            assert (answer.status_code, answer.text) == (404, "There is nothing here.")
        list_of = {"campaign": "pilot", "file": "list.csv"}
        assert (
            client.post(
                "/operators/participants", params=list_of, content="worker\nann\n"
            ).status_code
            == 404
        )
        for name in ("sheet", "quality", "votes", "key"):
            assert client.get(f"/operators/campaigns/pilot/{name}.csv").status_code == 404
            known = client.get(f"/operators/campaigns/pilot/{name}.csv", headers=mine)
            assert known.status_code == (404 if name == "key" else 200)
            assert name == "key" or "no-store" in known.headers["cache-control"]
        assert client.get("/operators/campaigns/other/sheet.csv", headers=mine).status_code == 422
        answer = client.post(
            "/operators/campaigns/pilot/links", content="bob\nann\tsmith\n", headers=mine
        )
        assert answer.status_code == 422 and "row 2: A plain link names its worker" in answer.text
    assert stored(arena.database) == before


def test_only_an_operator_gets_an_upload_and_only_one_that_may_be_kept(arena):
    voter = BattleStore(arena.database).voter(cookie_hash(VISITOR))
    battle = live_vote(arena.database, voter)
    for keep in (True, False):
        bring(arena.images, voter, battle, keep)
    with httpx.Client(base_url=arena.address, timeout=60) as client:
        mine = {"cookie": f"{OPERATOR_COOKIE}={arena.operators.redeem(code(arena))}"}
        got = client.get("/operators/uploads/1", headers=mine)
        assert (
            got.status_code == 200
            and got.headers["content-type"] == "image/png"
            and "no-store" in str(got.headers)
        )
        for name in ("2", "3", "0", "-1", "abc", "²", "1" * 30, "%2e%2e%2farena.db"):
            assert client.get(f"/operators/uploads/{name}", headers=mine).status_code == 404


def test_everybody_may_have_the_export_and_see_their_own_code(arena):
    Visitor(arena.database, "one").decide()
    with httpx.Client(base_url=arena.address, timeout=60) as client:
        card = client.get("/export/README.md")
        assert (
            card.status_code == 200
            and "cc-by-4.0" in card.text
            and "no-store" in card.headers["cache-control"]
        )
        assert (
            client.get("/export/votes.jsonl").status_code
            == client.get("/export/votes.parquet").status_code
            == 200
        )
        for name in ("x", "..%2farena.db", "votes.csv"):
            assert client.get(f"/export/{name}").status_code == 404
        assert "no code" in client.get("/you").text
        chinese = client.get("/you", headers={"accept-language": "zh"}).text
        assert (
            CHINESE["you_none"] in chinese and 'href="/terms"' in chinese and 'lang="zh"' in chinese
        )
        mine = client.get("/you", headers={"cookie": f"stereoscope_voter={VISITOR}"})
        assert code_of(cookie_hash(VISITOR)) in mine.text and VISITOR not in mine.text
        assert "no-store" in mine.headers["cache-control"]
        assert json.dumps(VISITOR) not in mine.text
