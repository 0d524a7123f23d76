"""The operators' page: what it says, what its forms do, and that nobody else sees or does anything."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html import unescape
from pathlib import Path
from unittest.mock import Mock

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import insert, select
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient

from arena.admin.actions import ACT
from arena.admin.dashboard import DashboardService, StoppedJob
from arena.admin.erasure import code_of
from arena.admin.flagged import FlaggedVoter
from arena.admin.projects import NO_CEILING
from arena.admin.service import AdminService
from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE
from arena.budget import Total
from arena.database import METADATA, Database, DatabaseError, now
from arena.fraud.detectors import Suspicion
from arena.fraud.flags import EVERYONE_REVIEW, VOTER_FLAG, FlagRow
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.live.store import LiveStore
from arena.live.streaming import SideFailure
from arena.server.hub_backup import BackupState
from arena.web.admin_auth import MOST_REFUSED, OPERATOR_COOKIE
from arena.web.cookies import cookie_hash
from arena.web.run_forms import Notice, remember_notice, remembered_notice
from arena.web.run_needs import needs
from arena.web.run_view import RunInputs, _flagged, run_html
from tests.support.axe import faults
from tests.support.live_votes import bring, live_vote
from tests.support.run_desk import RunDesk, serving
from tests.support.screens import DESK, PHONE, fresh_page, shoot
from tests.support.servers import drafts
from tests.support.visitors import Visitor, rows
from tests.support.writers import Project

VISITOR = "v" * 32
"""The voter cookie of somebody who asks to be forgotten."""
CAMPAIGN = """
name = "pilot"
source = "test"
stop = { votes = 300 }
seat = { votes = 2, minutes = 25, pay = 0 }
"""
ORDERS = ("pause", "resume", "hide", "show", "keep", "take down", "forget", "official", "")


@pytest.fixture
def desk(tmp_path) -> Iterator[RunDesk]:
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts(3))
    desk = RunDesk.of(database, tmp_path)
    yield desk
    desk.boards.close()
    database.close()


def item(desk: RunDesk, number: int = 0):
    return list(ItemBank(desk.database).bank().items.values())[number]


def stored(database: Database) -> str:
    with database.read() as connection:
        return repr([connection.execute(select(table)).all() for table in METADATA.sorted_tables])


def deeds(desk: RunDesk) -> list[tuple[str, str]]:
    with desk.database.read() as connection:
        done = connection.execute(select(ACT.c.who, ACT.c.deed).order_by(ACT.c.id))
        return [tuple(row) for row in done]


def flagged(desk: RunDesk, reason: str, strength: float) -> Visitor:
    """A voter with two votes and a flag, which no review lifts from now on."""
    voter = Visitor(desk.database, "flagged")
    for side in ("a", "b"):
        voter.decide(side)
    Visitor(desk.database, "other").decide()
    chosen = desk.boards.choose("", "single")
    assert chosen and desk.boards.board(chosen.key, 30).statistics
    flag = {"voter_id": voter.id, "reason": reason, "strength": strength, "raised_at": now()}
    with desk.database.write() as connection:
        connection.execute(insert(VOTER_FLAG).values(review=EVERYONE_REVIEW, **flag))
    return voter


def part(html: str, place: str) -> str:
    """A section of the page."""
    return html.partition(f'<section id="{place}">')[2].partition("</section>")[0]


def test_an_act_goes_back_to_its_section_which_says_once_what_was_done(desk):
    form = {"at": "live", "order": "pause", "about": ""}
    answer = desk.operator.post("/run/act", data=form, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/run#live")
    page = desk.read()
    assert 'role="status">Done: paused live answers.' in part(page, "live")
    assert "Paused since" in part(page, "live")
    assert "Live battles are paused" in part(page, "needs")
    assert "Done: paused" not in desk.read()
    desk.act("resume")
    assert "Live battles are paused" not in desk.read()
    assert deeds(desk) == [("link", "paused live answers"), ("link", "resumed live answers")]


def test_a_page_that_fails_keeps_the_message_for_the_next_one(desk, monkeypatch):
    form = {"at": "live", "order": "pause", "about": ""}
    desk.operator.post("/run/act", data=form, follow_redirects=False)
    with monkeypatch.context() as patched:
        patched.setattr(DashboardService, "overview", Mock(side_effect=DatabaseError("Busy.")))
        assert desk.operator.get("/run").status_code == 503
    assert "Done: paused live answers." in part(desk.read(), "live")


def test_a_disk_that_fails_is_not_the_forms_fault(desk, monkeypatch):
    monkeypatch.setattr(AdminService, "do", Mock(side_effect=OSError("The disk is full.")))
    answer = desk.operator.post("/run/act", data={"at": "images", "order": "keep", "about": "1"})
    assert answer.status_code == 503 and "The disk is full." in part(answer.text, "images")


def test_a_form_comes_back_to_a_section_that_there_is(desk):
    for place in ("", "nowhere", "needs\nx", "<b>", "x" * 9999):
        form = {"at": place, "order": "pause", "about": ""}
        answer = desk.operator.post("/run/act", data=form, follow_redirects=False)
        assert answer.headers["location"] == "/run#needs", place


def test_a_planted_message_is_text_in_a_section_or_nothing(desk):
    mine = f"{OPERATOR_COOKIE}={desk.operator.cookies[OPERATOR_COOKIE]}"
    for cookie in ("x", "=", "a" * 9, "%%%", "é", "bGl2ZQ", "bGl2ZQo8Yj4"):
        sent = {"cookie": f"{mine}; stereoscope_done={cookie}".encode()}
        answer = desk.stranger().get("/run", headers=sent)
        assert answer.status_code == 200 and "<b></p>" not in answer.text, cookie
        assert "Needs attention" in answer.text, cookie
        assert ("&lt;b&gt;" in part(answer.text, "live")) == (cookie == "bGl2ZQo8Yj4"), cookie


def test_a_long_message_fits_a_cookie(desk):
    answer = Response()
    scope = {"type": "http", "headers": [], "scheme": "http", "path": "/run"}
    remember_notice(answer, Notice("live", "é" * 9_000), Request(scope))
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert len(cookie) < 4_000
    scope["headers"] = [(b"cookie", cookie.encode())]
    notice = remembered_notice(Request(scope))
    assert notice and notice.place == "live" and notice.text.startswith("é" * 1_000)


def test_a_long_message_is_not_cut_within_a_character(desk):
    answer = Response()
    scope = {"type": "http", "headers": [], "scheme": "http", "path": "/run"}
    remember_notice(answer, Notice("live", "项" * 1_000), Request(scope))
    cookie = answer.headers["set-cookie"].partition(";")[0]
    scope["headers"] = [(b"cookie", cookie.encode())]
    notice = remembered_notice(Request(scope))
    assert notice and {*notice.text} == {"项"}


def test_what_is_refused_is_said_in_its_section_and_stays_as_it_was_written(desk):
    wrong = CAMPAIGN.replace("test", "nothing <b>")
    answer = desk.operator.post("/run/campaigns", data={"at": "campaigns", "toml": wrong})
    assert answer.status_code == 422
    page = part(answer.text, "campaigns")
    assert 'role="alert">There is no source' in page and "Sources: test" in page
    assert wrong.strip().splitlines()[1] in unescape(page) and "nothing <b>" not in page
    assert re.search(r'<details class="campaign" open><summary><b>Make a campaign', page)


def refused_in(html: str, place: str) -> str:
    """What the form of this place says is wrong with it; empty if it says nothing."""
    form = html.partition(f' id="{place}"')[2].partition("</form>")[0]
    found = re.search(r'^[^>]*><p class="problem" role="alert">(.*?)</p>', form, re.DOTALL)
    return found[1] if found else ""


RTL = "سيارة حمراء"
WRONG = (
    ("campaigns", "campaigns::make", {"toml": ""}, "name is missing. Add it"),
    ("campaigns", "campaigns::make", {"toml": RTL}, "The file isn't valid TOML in UTF-8"),
    (
        "campaigns",
        "campaigns::make",
        {"toml": f"name = '{RTL}'"},
        "It must be 1 to 64 characters of A-Z",
    ),
    ("campaigns", "campaigns::make", {"toml": "na\0me = 1"}, "name is '1'. It must be 1 to 64"),
    ("projects", "projects::make", {"toml": "name = 'x'"}, "seat is missing. Add it"),
    ("projects", "projects::make-choice", {"toml": "name = 'x'"}, "seat is missing. Add it"),
    ("campaigns/pilot/links", "campaigns:pilot:links", {"workers": " "}, "a worker's name on each"),
    (
        "campaigns/pilot/links",
        "campaigns:pilot:links",
        {"workers": "x" * 99},
        "Use 1 to 64 visible",
    ),
    (
        "projects/pets/reject",
        "projects:pets:take",
        {"number": "1"},
        "Say why you're removing the item.",
    ),
    (
        "projects/pets/reject",
        "projects:pets:take",
        {"number": "x", "why": RTL},
        "Give the item's number,",
    ),
    ("act", "forget:code", {"order": "forget", "about": RTL}, "No visitor has the code"),
    ("act", "forget:code", {"order": "forget", "about": "\0"}, "No visitor has the code ''."),
)


def test_a_form_says_what_is_wrong_with_it_once_and_keeps_what_was_sent(desk):
    desk.post("campaigns", "campaigns", toml=CAMPAIGN)
    project = Project.on(desk.database, desk.settings.data_dir)
    for person in ("ann", "bob"):
        project.do(project.seat(person))
    for path, place, fields, said in WRONG:
        page = desk.post(path, place, **fields)
        assert said in refused_in(page, place), (place, fields)
        assert page.count('role="alert"') == 1, (place, fields)
        assert all(value.replace("\0", "") in page for value in fields.values()), (place, fields)


def test_a_form_that_is_not_there_any_more_is_refused_in_its_section(desk):
    page = desk.post("campaigns/none/links", "campaigns:none:links", workers="ann")
    assert "no campaign named 'none'" in part(page, "campaigns")


def test_an_item_is_hidden_by_a_button_beside_it(desk):
    first = item(desk)
    page = part(desk.read("?find=picture+1"), "items")
    assert page.count(">Hide</button>") == 1 and f'value="{item(desk, 1).key}"' in page
    link = f"https://a.example/item/{first.key}"
    for wanted in (first.key, link, f"{link}%3Flang=zh%23top", "IN picture 0"):
        page = part(desk.read(f"?find={wanted}"), "items")
        assert f'form="items-hide" name="about" value="{first.key}">Hide' in page, wanted
    assert "No visible item matches" in part(desk.read("?find=nothing+at+all"), "items")
    done = desk.act("hide", first.key, "items", find="picture")
    assert "Done: hid an item" in part(done, "items")
    assert f'form="items-show" name="about" value="{first.key}">Show again' in done
    assert done.count('form="items-hide"') == 2 and f'"{first.key}">Hide' not in done
    assert "No item has the key 'none'." in part(desk.act("hide", "none", "items"), "items")
    assert "Done: showed" in desk.act("show", first.key, "items")


def test_a_search_is_anybodys_text(desk):
    for wanted in ("%00", "<script>", "x" * 5000, "%ff", "/item/", "/item/%00"):
        answer = desk.operator.get(f"/run?find={wanted}")
        assert answer.status_code == 200 and "<script>" not in answer.text, wanted


def test_what_is_missing_needs_an_operator_until_it_is_there(desk):
    shown = part(desk.read(), "needs")
    assert "Copy:</b> none. If this disk is lost" in shown and "8 more things can be" in shown
    assert "Items:</b> 3 items of your own" in part(desk.read(), "setup")
    assert 'missing"><b>Attention tests:</b> 0 of 20.' in part(desk.read(), "setup")
    Ingest(desk.database).add_items("checks", "check", drafts(23)[3:])
    assert 'there"><b>Attention tests:</b> 20.' in part(desk.read(), "setup")
    assert "7 more things can be" in part(desk.read(), "needs")
    assert "44 settings" in part(desk.read(), "settings")


def test_a_fresh_arena_whose_votes_are_safe_needs_nothing(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts(3))
    desk = RunDesk.of(database, tmp_path, MIRROR="us/votes", HF_TOKEN="t")
    shown = part(desk.read(), "needs")
    assert "Nothing to do right now." in shown and 'class="needs"' not in shown
    assert 'can be <a href="#setup">set up</a>.' in shown
    desk.boards.close()
    database.close()


def test_what_needs_an_operator_links_to_where_it_is_done(desk):
    Project.on(desk.database, desk.settings.data_dir)
    desk.post("campaigns", "campaigns", toml=CAMPAIGN)
    seen = desk.watch.overview()
    (campaign,) = seen.campaigns
    pending = replace(seen, campaigns=(replace(campaign, pending=1, problem="stuck"),))
    page = run_html(RunInputs(replace(pending, free_bytes=1, disk_bytes=100)))
    links = re.findall(r'<a href="#([^"]+)"', part(page, "needs"))
    assert links.count("campaigns:pilot") == 2 and {"setup", "copy"} <= {*links}
    for link in links:
        assert f'id="{link}"' in page, link


def test_a_disk_of_unknown_size_is_not_full(desk):
    seen = replace(desk.watch.overview(), free_bytes=0, disk_bytes=0)
    assert "Disk almost full" not in [need.title for need in needs(seen, ())]


def test_nothing_needs_an_operator_of_an_arena_that_is_whole(desk):
    quiet = replace(desk.watch.overview(), checklist=())
    assert "Nothing to do right now." in part(run_html(RunInputs(quiet)), "needs")
    full = Total(today=0, spent=8_000_000, held=1_000_000, ceiling=10_000_000)
    late = BackupState(quiet.read_at - timedelta(hours=3), 7, "the Hub answered 503")
    job = StoppedJob(now(), "judge-1", "its replies cannot be read")
    for changed, told in (
        ({"free_bytes": 1, "disk_bytes": 100}, "Disk almost full:</b> 1% is free."),
        ({"copy": late}, "The copy is late:</b> Copied up to 3 h ago. 7 changes waiting."),
        ({"budgets": {"Judge": full}}, "Money for judge:</b> $9.00 of $10.00 is used."),
        ({"stopped": (job,)}, "1 scoring job stopped:</b> the latest used judge-1. its replies"),
    ):
        shown = part(run_html(RunInputs(replace(quiet, **changed))), "needs")
        assert told in shown and "Nothing to do right now." not in shown
    old = job._replace(begun=now() - timedelta(days=8))
    page = run_html(RunInputs(replace(quiet, stopped=(old,))))
    assert "Nothing to do right now." in part(page, "needs") and "judge-1" in part(page, "queues")


def test_a_fund_without_a_limit_of_its_own_says_whose_it_is(desk):
    drafts_only = Total(today=0, spent=0, held=0, ceiling=NO_CEILING)
    seen = replace(desk.watch.overview(), budgets={"Draft answers": drafts_only})
    shown = part(unescape(run_html(RunInputs(seen))), "money")
    assert "each project's own" in shown and "$10,000" not in shown


def test_a_list_that_is_waited_for_needs_an_operator(desk):
    desk.post("campaigns", "campaigns", toml=CAMPAIGN)
    (standing,) = desk.watch.overview().campaigns
    seen = replace(desk.watch.overview(), campaigns=(replace(standing, pending=12),))
    (need,) = [one for one in needs(seen, []) if one.place == "campaigns"]
    assert need.text == "12 votes waiting for the platform's list. Upload it."


def test_a_model_that_cannot_be_loaded_needs_an_operator(desk):
    problem = "The disk is full: 1.5 GB are needed. Make room."
    seen = replace(desk.watch.overview(), failed_models={"SmolVLM 256M": problem})
    (need,) = [need for need in needs(seen, []) if need.place == "live"]
    assert need.title == "Live model SmolVLM 256M"
    assert need.text == f"can't be loaded. {problem}"


def test_failures_and_flags_need_an_operator_for_a_week(desk):
    voter = flagged(desk, "HASTY", 0.8)
    store = LiveStore(desk.database)
    store.register_models(["one"])
    store.store_failures([SideFailure("one", "cut"), SideFailure("one", "down")])
    shown = part(desk.read(), "needs")
    assert "Live model one:</b> failed 2 times in the last 7 days." in shown
    assert '1 voter flagged:</b> new in the last 7 days. <a href="#flagged">' in shown
    with desk.database.write() as connection:
        connection.execute(VOTER_FLAG.update().values(raised_at=now() - timedelta(days=8)))
    assert "voter flagged" not in part(desk.read(), "needs")
    assert f"Voter {voter.id}" in part(desk.read(), "flagged")


def test_a_flagged_voter_has_reasons_in_plain_words_and_votes_whose_items_can_be_hidden(desk):
    visitor = flagged(desk, "HASTY", 0.8)
    page = part(desk.read(), "flagged")
    assert f"Voter {visitor.id}</b>, 2 votes, counted: one weak reason" in page
    assert (
        "Chooses faster than anyone can read the answers. 80% of the votes came too fast." in page
    )
    keys = {one.id: one.key for one in ItemBank(desk.database).bank().items.values()}
    for battle in rows(desk.database, BATTLE):
        if battle.voter_id == visitor.id:
            assert f'form="flagged-hide" name="about" value="{keys[battle.item_id]}">Hide' in page
            assert f'href="/item/{keys[battle.item_id]}"' in page


@pytest.mark.parametrize(
    ("models", "state"), [(("m1", "m1"), "1 model"), (("m1", "m2"), "2 models")]
)
def test_a_voter_of_crowds_is_counted_but_for_votes_about_their_models(models, state):
    """A voter may be in a crowd for one model on two boards."""
    flags = [
        FlagRow(7, Suspicion.CROWD_FOR, model, strength, now(), left_out=False)
        for model, strength in zip(models, (3.0, 4.0), strict=True)
    ]
    part = _flagged(FlaggedVoter(voter=7, flags=tuple(flags), votes=20, latest=()))
    assert part.state == f"counted, except votes about {state}"


def test_images_are_kept_or_taken_down_and_a_visitor_is_forgotten(desk):
    voter = BattleStore(desk.database).voter(cookie_hash(VISITOR))
    battle = live_vote(desk.database, voter)
    for _ in range(2):
        bring(desk.images, voter, battle, keep=True)
    assert "2 images to review" in part(desk.read(), "needs")
    desk.act("keep", "1", "images")
    page = part(desk.act("take down", "2", "images"), "images")
    assert "Done: upload 2 is deleted." in page and 'src="/run/uploads/1"' in page
    assert "0 to review, 1 kept" in page
    code = code_of(cookie_hash(VISITOR))
    assert "No visitor has the code" in part(desk.act("forget", "ffff", "forget"), "forget")
    assert "Done: this voter is forgotten" in part(
        desk.act("forget", code, "forget", sure="on"), "forget"
    )
    assert [deed for _, deed in deeds(desk)] == [
        "kept an upload",
        "took an upload down",
        "forgot a voter",
    ]


def test_only_an_operator_gets_an_upload_and_only_one_that_may_be_kept(desk):
    voter = BattleStore(desk.database).voter(cookie_hash(VISITOR))
    battle = live_vote(desk.database, voter)
    for keep in (True, False):
        bring(desk.images, voter, battle, keep)
    got = desk.operator.get("/run/uploads/1")
    assert (got.status_code, got.headers["content-type"]) == (200, "image/png")
    assert "no-store" in got.headers["cache-control"]
    for name in ("2", "3", "0", "-1", "abc", "²", "1" * 30, "%2e%2e%2farena.db"):
        assert desk.operator.get(f"/run/uploads/{name}").status_code == 404
    assert desk.stranger().get("/run/uploads/1").status_code == 404


def test_a_campaign_is_made_linked_watched_and_ended(desk):
    done = desk.post("campaigns", "campaigns", toml=CAMPAIGN.replace("\n", "\r\n"))
    assert "pilot: 3 models, 9 tuples, at most 9 votes" in part(done, "campaigns")
    page = part(desk.read(), "campaigns")
    assert "pilot</b> running since" in page and "links by name" in page
    for cells in (">0 of 300<", ">0 of 9<", ">none yet<", ">known after 50 votes<"):
        assert cells in page, cells
    names = "e-mail\tName\na@x.org\tann\nb@x.org\tBob Lee\n"
    links = desk.operator.post("/run/campaigns/pilot/links", data={"workers": names})
    assert 'filename="pilot-links.csv"' in links.headers["content-disposition"]
    assert "ann,http://testserver/c/pilot?n=2&until=" in links.text
    assert "&worker=Bob+Lee&sig=" in links.text
    wrong = desk.post("campaigns/pilot/links", "campaigns", workers="bob\nann\tsmith\n")
    assert "row 2: 'ann\\tsmith' can't be a worker's name" in part(wrong, "campaigns")
    assert "bob\nann\tsmith" in part(wrong, "campaigns")
    refused = participants(desk, "name\nann\n")
    assert "list.csv, row 2: Expected Prolific's column 'Participant id'" in refused
    done = participants(desk, "worker\nann\n")
    assert "1 person on the platform's list of pilot. 0 of them came" in done
    sheet = desk.operator.get("/run/campaigns/pilot/sheet.csv")
    assert 'filename="pilot-sheet.csv"' in sheet.headers["content-disposition"]
    assert "ann,,never came,yes" in sheet.text and "no-store" in sheet.headers["cache-control"]
    assert desk.operator.get("/run/campaigns/pilot/key.csv").status_code == 404
    assert desk.operator.get("/run/campaigns/other/sheet.csv").status_code == 422
    assert "pilot has ended" in part(desk.post("campaigns/pilot/end", "campaigns"), "campaigns")
    page = part(desk.read(), "campaigns")
    assert "pilot</b> ended" in page and "ended by an operator" in page
    assert [deed for _, deed in deeds(desk)] == [
        "made a campaign",
        "brought in a campaign's list of participants",
        "ended a campaign",
    ]


def participants(desk: RunDesk, content: str) -> str:
    files = {"file": ("list.csv", content.encode())}
    form = {"campaign": "pilot", "at": "campaigns"}
    return unescape(desk.operator.post("/run/participants", data=form, files=files).text)


def test_a_boards_source_is_called_closed_while_its_campaign_runs(desk):
    Visitor(desk.database, "one").decide()
    chosen = desk.boards.choose("", "single")
    assert chosen and desk.boards.board(chosen.key, 30).votes == 1
    assert ">test, one picture" in part(desk.read(), "boards")
    desk.post("campaigns", "campaigns", toml=CAMPAIGN)
    page = part(desk.read(), "boards")
    assert ">test (closed while its campaign runs), one picture" in page and "gone" not in page


def test_the_page_has_no_versions_and_no_riddles(desk):
    page = desk.read()
    for words in ("Of versions", "flags 0", "Self-check", "half width", "Tuples"):
        assert words not in page


STRANGERS = ({}, {OPERATOR_COOKIE: "a" * 32}, {"stereoscope_voter": VISITOR})


def test_a_stranger_reads_what_the_page_is_for_and_can_do_nothing(desk):
    voter = BattleStore(desk.database).voter(cookie_hash(VISITOR))
    bring(desk.images, voter, live_vote(desk.database, voter), keep=True)
    desk.post("campaigns", "campaigns", toml=CAMPAIGN)
    before = stored(desk.database)
    for cookies in STRANGERS:
        assert_reads_and_does_nothing(TestClient(desk.app, cookies=cookies))
        assert stored(desk.database) == before, cookies


def assert_reads_and_does_nothing(stranger: TestClient) -> None:
    page = stranger.get("/run?find=picture")
    assert page.status_code == 200 and "for the operators of this arena" in page.text
    assert "no-store" in page.headers["cache-control"]
    for words in ("Needs attention", "Votes by day", "picture 1", "pilot", "Forget"):
        assert words not in page.text
    forms = [("act", {"order": order, "about": "1", "at": "items"}) for order in ORDERS]
    forms += [
        (path, {"toml": CAMPAIGN.replace("pilot", "more"), "workers": "ann", "why": "x"})
        for path in (
            *("campaigns", "projects", "campaigns/pilot/links", "campaigns/pilot/end"),
            *("campaigns/nobody/end", "projects/pets/reject", "projects/pets/samples"),
            "reports",
        )
    ]
    for path, fields in forms:
        answer = stranger.post(f"/run/{path}", data=fields)
        assert (answer.status_code, "Nothing was changed." in answer.text) == (403, True), path
        assert "Needs attention" not in answer.text
    files = {"file": ("list.csv", b"worker\nann\n")}
    answer = stranger.post("/run/participants", data={"campaign": "pilot"}, files=files)
    assert answer.status_code == 403
    for table in ("sheet", "quality", "votes"):
        assert stranger.get(f"/run/campaigns/pilot/{table}.csv").status_code == 404


def test_a_form_that_is_none_changes_nothing(desk):
    before = stored(desk.database)
    kind = {"content-type": "application/x-www-form-urlencoded"}
    files = {"file": ("list.csv", b"worker\nann\n"), "more": ("x.csv", b"")}
    for body in (b"", b"order", b"\xff\xfe", b"&" * 999, b"order=%00", b"order=pause&order=hide"):
        answer = desk.operator.post("/run/act", content=body, headers=kind)
        if b"order=pause" not in body:
            assert answer.status_code == 422 and "This act isn't known" in unescape(answer.text), (
                body
            )
            assert stored(desk.database) == before, body
        listed = desk.operator.post("/run/participants", content=body, headers=kind)
        assert listed.status_code == 422, body
    assert desk.operator.post("/run/participants", files=files).status_code == 400


def test_a_wrong_code_says_what_to_do_and_is_held_off(desk):
    stranger = desk.stranger()
    answer = stranger.post("/run/enter", data={"code": "wrong"})
    assert answer.status_code == 403 and "Restart the server for a new one" in answer.text
    for _ in range(MOST_REFUSED):
        answer = stranger.post("/run/enter", data={"code": "wrong"})
    assert answer.status_code == 429
    assert "Needs attention" in stranger.post("/run/enter", data={"code": desk.code}).text


def test_on_a_space_operators_log_in(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    desk = RunDesk.of(database, tmp_path, SPACE_ID="a/b", SPACE_HOST="a-b.example")
    page = desk.stranger().get("/run").text
    assert 'href="/login"' in page and "operator-code" not in page
    desk.boards.close()
    database.close()


# In a browser


def signed_in(desk: RunDesk, page: Page, address: str) -> None:
    page.goto(str(desk.operators.link(address)))
    expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()


def enter(desk: RunDesk, page: Page, address: str) -> None:
    """Give a browser the cookie of the operator who acts here over http."""
    value = desk.operator.cookies[OPERATOR_COOKIE]
    page.context.add_cookies([{"name": OPERATOR_COOKIE, "value": value, "url": address}])


def test_enter_in_the_reason_takes_no_item_out(browser: Browser, desk, tmp_path):
    project = Project.on(desk.database, tmp_path)
    project.do(project.seat("ann"))
    with serving(desk.app) as address, fresh_page(browser, DESK) as page:
        enter(desk, page, address)
        page.goto(f"{address}/run")
        page.locator("#projects details details summary").first.click()
        reason = page.get_by_label("Reason for removing an item, such")
        reason.fill("the licence was withdrawn")
        reason.press("Enter")
        page.wait_for_timeout(300)
        assert project.drafts[0].state.step != "rejected"
        page.get_by_role("button", name="Remove", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("Item 1 of pets is removed")
    assert project.drafts[0].state.step == "rejected"


def test_the_link_opens_the_page_and_its_code_is_nowhere_after_that(browser: Browser, desk):
    """In the address bar, in the history, and in any address or referrer that the browser sends."""
    with serving(desk.app) as address, fresh_page(browser, DESK) as page:
        page.goto(f"{address}/run#code=wrong")
        expect(page.get_by_role("alert")).to_contain_text("Restart the server")
        page.goto("about:blank")
        before = page.evaluate("history.length")
        secret = desk.code
        sent = []
        page.on(
            "request",
            lambda request: sent.append((request.url, request.headers.get("referer", ""))),
        )
        signed_in(desk, page, address)
        assert page.url == f"{address}/run"
        assert page.evaluate("history.length") == before + 1
        assert secret not in repr(sent) and secret not in page.content()
        page.goto(f"{address}/run#code={secret}")
        expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()
        assert page.url == f"{address}/run"


def test_the_page_works_on_a_phone_without_scripts(browser: Browser, desk, tmp_path: Path):
    with (
        serving(desk.app) as address,
        fresh_page(browser, PHONE, java_script_enabled=False) as page,
    ):
        page.goto(f"{address}/run")
        page.get_by_label("Code").fill(desk.code)
        page.get_by_role("button", name="Open page").click()
        page.get_by_role("link", name="Items", exact=True).click()
        page.get_by_label("Find an item").fill("picture 1")
        page.get_by_role("button", name="Find item").click()
        page.get_by_role("button", name="Hide", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("Done: hid an item")
        expect(page.get_by_role("status")).to_be_in_viewport()
        expect(page.get_by_role("button", name="Show again")).to_be_visible()
        page.get_by_text("Make a campaign").click()
        page.get_by_label("TOML file").first.fill(CAMPAIGN)
        page.get_by_role("button", name="Make campaign").click()
        expect(page.get_by_role("status")).to_contain_text("pilot: 3 models")
        page.get_by_text("End campaign").click()
        page.get_by_role("button", name="End pilot for good").click()
        expect(page.get_by_role("status")).to_contain_text("pilot has ended")
        expect(page.get_by_role("status")).to_be_in_viewport()


def test_axe_finds_nothing_and_it_fits_every_width(browser: Browser, desk):
    visitor = flagged(desk, "LEFT", 5.3)
    bring(desk.images, visitor.id, live_vote(desk.database, visitor.id), keep=True)
    desk.post("campaigns", "campaigns", toml=CAMPAIGN)
    with serving(desk.app) as address, fresh_page(browser, DESK) as page:
        enter(desk, page, address)
        page.goto(f"{address}/run?find=picture")
        for part_of in page.locator("details").all():
            part_of.evaluate("details => details.open = true")
        look_at(page, "run")
        index = page.get_by_role("navigation", name="On this page")
        page.evaluate("scrollTo(0, 3000)")
        expect(index).to_be_in_viewport()
        page.context.clear_cookies()
        page.goto(f"{address}/run")
        look_at(page, "run-stranger")


def look_at(page: Page, name: str) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert faults(page) == [], theme
        shoot(page, f"{name}-{theme}", whole=True)
