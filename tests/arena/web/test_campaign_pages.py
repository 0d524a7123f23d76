"""A campaign in a real browser: framed as at MTurk and linked as at Prolific, by touch and by keys alone."""

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta

import httpx
import pytest
from playwright.sync_api import Browser, Frame, Page, Route, expect
from sqlalchemy import select, update

from arena.admin.campaigns import KINDS, CampaignAdmin
from arena.battles.tables import BATTLE, HAS_CHOICE
from arena.battles.vote_table import VoteTable
from arena.database import Database, now
from arena.io.tables import Record
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.items.store import FAMILY, IMAGE, ITEM, MODEL, ItemBank
from arena.locale import ENGLISH
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import made_link
from arena.seats.spec import read_spec
from arena.seats.tables import SEAT_ENTRY
from arena.settings import Settings
from arena.sheets import as_csv
from arena.types import RIGHT, UNRELATED
from tests.support.axe import faults
from tests.support.blindness import told
from tests.support.platforms import Platform, platform
from tests.support.screens import (
    DESK,
    NEVER_BY_ITSELF,
    PHONE,
    fresh_page,
    press,
    see_both,
    shoot,
    stop_clock,
)
from tests.support.servers import AppServer
from tests.support.visitors import counted, rows

PRACTICE, CHECKS = "practice", "strewn"
VOTES, PIECES = 3, 4
"""Of a worker; the check comes on top."""
INSTRUCTIONS = (
    "Two models looked at the same picture. **Choose the better answer**: the one that is right, that helps and that "
    "says what matters.\n\n- Look at the picture first.\n- Read both answers to the end."
)


def fill(database: Database) -> None:
    """Add practice questions and checks that show a picture of the demo bank."""
    with database.read() as connection:
        pictures = connection.execute(
            select(IMAGE.c.sha256, IMAGE.c.suffix).distinct().limit(8)
        ).all()
    for source, number in ((PRACTICE, 5), (CHECKS, 6)):
        drafts = [
            ItemDraft(
                instruction=f"What does picture {one} of {source} show? Say it in a sentence.",
                family="Checks",
                images=(
                    ImageDraft(f"{source}-{one}", f"{source}-{one}.png", sha256=sha, suffix=suffix),
                ),
                answers={
                    RIGHT: f"It shows what was asked, number {one}.",
                    UNRELATED: "Bread rises by yeast.",
                },
            )
            for one, (sha, suffix) in enumerate(pictures[:number])
        ]
        Ingest(database).add_items(source, "check", drafts)


def add_campaign(database: Database, kind: str, **changes) -> Campaign:
    values = {
        "name": kind,
        "instructions": INSTRUCTIONS,
        "source": "demo items",
        "design": "settle",
        "per_tuple": 50,
        "stop": {"votes": 100_000},
        "seat": {"votes": VOTES, "minutes": 25, "pay": 5},
        "qualify": {"items": PRACTICE, "asked": 2, "pass": 1},
        "checks": {"items": CHECKS},
        "platform": {
            "kind": kind,
            "study": "S1",
            "done": "C1DONE",
            "failed": "C1FAILED",
            "full": "C1FULL",
        },
    }
    if kind != "prolific":
        values["platform"] = {"kind": kind}
    return CampaignStore(database, KINDS).create(
        "battles", read_spec(KINDS["battles"], {**values, **changes})
    )


def link_of(server: AppServer, campaign: Campaign, worker: str = "") -> str:
    return server.address + made_link(
        campaign.key, campaign.spec, now() + timedelta(days=1), worker
    )


@contextmanager
def worker_page(browser: Browser, width: int, **options) -> Iterator[Page]:
    """A fresh page on which a choice waits until somebody goes on."""
    with fresh_page(browser, width, has_touch=width == PHONE, **options) as page:
        page.add_init_script(NEVER_BY_ITSELF)
        yield page


@contextmanager
def database_of(server: AppServer) -> Iterator[Database]:
    with closing(Database(f"sqlite:///{server.data_dir / 'arena.db'}")) as opened:
        yield opened


@pytest.fixture(scope="module")
def site() -> Iterator[Platform]:
    with platform() as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory, site) -> Iterator[AppServer]:
    """An app whose pages the platform may frame, with a campaign of each kind."""
    folder = tmp_path_factory.mktemp("campaigns") / "data"
    running = AppServer(folder, MTURK_HOSTS=site.address, MTURK_FRAMES=site.address)
    with database_of(running) as database:
        fill(database)
        for kind in ("mturk", "prolific", "plain"):
            add_campaign(database, kind)
        add_campaign(
            database,
            "plain",
            name="hard",
            qualify={"items": PRACTICE, "asked": 2, "pass": 2, "tries": 2},
        )
        add_campaign(database, "plain", name="over", qualify=None)
    yield running
    running.stop()


def campaign_of(server: AppServer, name: str) -> Campaign:
    with database_of(server) as database:
        return CampaignStore(database, KINDS).get(name)


def begin_hit(page: Page, server: AppServer, site: Platform, worker: str) -> Frame:
    """Accept a HIT; the frame of the work."""
    site.link = link_of(server, campaign_of(server, "mturk"))
    site.assignment = f"assignment-of-{worker}"
    page.goto(site.hit(worker, site.assignment))
    return work_frame(page)


def work_frame(page: Page) -> Frame:
    expect(page.locator("iframe")).to_have_count(1)
    frame = page.locator("iframe").element_handle().content_frame()
    assert frame
    return frame


def begin_study(page: Page, server: AppServer, site: Platform, worker: str) -> Frame:
    """Open a study's link from its page at the platform."""
    site.link = link_of(server, campaign_of(server, "prolific"))
    page.goto(site.study(worker, f"session-of-{worker}"))
    page.get_by_role("link").click()
    expect(page.locator("main")).to_be_visible()
    return page.main_frame


def begin_plain(page: Page, server: AppServer, worker: str, name: str = "plain") -> Frame:
    page.goto(link_of(server, campaign_of(server, name), worker))
    return page.main_frame


BEGIN: dict[str, Callable[[Page, AppServer, Platform, str], Frame]] = {
    "mturk": begin_hit,
    "prolific": begin_study,
}


READY = '.dock[data-waits=""] #choose-a'
"""The button, once the page's script has seen that its pictures are there and both answers were shown."""


VOTED = ".dock[data-waits][data-phase=voted]"
"""A choice, once the page's script is there."""


class Hands:
    """A worker who taps on a phone."""

    def __init__(self, page: Page, frame: Frame) -> None:
        self.page, self.frame = page, frame

    def consent(self) -> None:
        self.frame.locator(".consent").tap()
        self.frame.get_by_role("button", name="Begin").tap()

    def choose(self, side: str) -> None:
        self.see()
        press(self.frame, f"#choose-{side}")

    def see(self) -> None:
        expect(self.frame.locator(".dock[data-waits=answers]")).to_be_visible()
        see_both(self.frame)

    def undo(self) -> None:
        expect(self.frame.locator(VOTED)).to_be_visible()
        press(self.frame, "#undo")

    def on(self) -> None:
        press(self.frame, ":is(#names, #next):visible")

    def copy(self) -> None:
        self.frame.locator("#copy").tap()

    def back(self) -> None:
        self.frame.locator(".end .primary").tap()


class Keys(Hands):
    """A worker who has a keyboard alone."""

    def _to(self, selector: str) -> None:
        """Press Tab until the focus is there."""
        for _ in range(30):
            if self.frame.locator(selector).evaluate("one => one === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {selector}")

    def consent(self) -> None:
        self._to("[name=consent]")
        self.page.keyboard.press("Space")
        self._to("button.primary")
        self.page.keyboard.press("Enter")

    def see(self) -> None:
        expect(self.frame.locator(READY)).to_be_enabled()

    def choose(self, side: str) -> None:
        self.see()
        self.page.keyboard.press(side)

    def undo(self) -> None:
        expect(self.frame.locator(VOTED)).to_be_visible()
        self.page.keyboard.press("z")

    def on(self) -> None:
        self.frame.wait_for_load_state()  # before that, no script knows of keys
        self.page.keyboard.press("n")

    def copy(self) -> None:
        self._to("#copy")
        self.page.keyboard.press("Enter")

    def back(self) -> None:
        self._to(".end .primary")
        self.page.keyboard.press("Enter")


def at_work(page: Page, server: AppServer, worker: str) -> Keys:
    """A worker before the first battle, who may choose."""
    keys = Keys(page, begin_plain(page, server, worker, "over"))
    keys.consent()
    keys.see()
    return keys


def kind(frame: Frame, expected: str) -> None:
    expect(frame.locator(f"main[data-kind={expected}]")).to_be_visible()


def lead(frame: Frame, text: str) -> None:
    expect(frame.locator(".lead")).to_have_text(text)


def pass_practice(hands: Hands) -> None:
    for number in (1, 2):
        lead(hands.frame, f"Practice: question {number} of 2")
        right = right_side(hands)
        hands.choose(right)
        expect(hands.frame.locator("#status[role=status]")).to_contain_text(
            f"Right: {right.upper()} is the better"
        )
        hands.on()
    kind(hands.frame, "work")


def right_side(hands: Hands) -> str:
    expect(hands.frame.locator("[data-part=a]")).to_contain_text(" ")
    return "b" if "yeast" in hands.frame.locator("[data-part=a]").inner_text() else "a"


def work_on(hands: Hands, first: int, last: int = PIECES) -> None:
    for number in range(first, last + 1):
        lead(hands.frame, f"{number} of {PIECES}")
        hands.choose("a")
        expect(hands.frame.locator(VOTED)).to_be_visible()
        hands.on()


# The whole way


@pytest.mark.parametrize(
    "at, hand, width",
    [
        ("mturk", Keys, DESK),
        pytest.param("prolific", Hands, PHONE, marks=pytest.mark.soak),
        pytest.param("mturk", Hands, PHONE, marks=pytest.mark.soak),
        pytest.param("prolific", Keys, DESK, marks=pytest.mark.soak),
    ],
)
def test_a_worker_goes_the_whole_way_without_cookies_and_through_a_reload(
    browser: Browser, server, site, at, hand, width
):
    worker, wire = f"{at}-{width}", Wire()
    with worker_page(browser, width, permissions=["clipboard-read"]) as page:
        page.route(
            "https://app.prolific.com/**",
            lambda route: route.fulfill(body=f"at {route.request.url}"),
        )
        page.route(f"{server.address}/**", wire.without_cookies)
        hands = hand(page, BEGIN[at](page, server, site, worker))
        kind(hands.frame, "entry")
        hands.consent()
        pass_practice(hands)
        lead(hands.frame, f"1 of {PIECES}")
        hands.choose("b")
        hands.undo()
        expect(hands.frame.locator("#status")).to_contain_text("Vote undone")
        hands.choose("a")  # the second choice is final: the page goes on at once
        work_on(hands, 2, 2)
        goes_on_after_a_reload(hands, at)
        work_on(hands, 3)
        kind(hands.frame, "end")
        code = hands.frame.locator("#code").inner_text()
        hands.copy()
        expect(hands.frame.locator("#copy")).to_have_text("Copied")
        assert_back(hands, site, code)
    assert_given(server, worker)
    assert_rejected_afterwards(server, at, worker)
    assert wire.bytes
    assert told(names_of(server), wire.bytes) == set()


class Wire:
    """What the app sends to a browser that keeps no cookies."""

    def __init__(self) -> None:
        self.bytes = b""

    def without_cookies(self, route: Route) -> None:
        headers = {name: value for name, value in route.request.headers.items() if name != "cookie"}
        answer = route.fetch(headers=headers, max_redirects=0)
        self.bytes += f"{answer.url}{answer.headers}".encode() + answer.body()
        kept = {name: value for name, value in answer.headers.items() if name != "set-cookie"}
        route.fulfill(response=answer, headers=kept)


def names_of(server: AppServer) -> set[str]:
    with database_of(server) as database:
        return {name for row in rows(database, MODEL) for name in (row.name, row.display) if name}


def goes_on_after_a_reload(hands: Hands, at: str) -> None:
    lead(hands.frame, f"3 of {PIECES}")
    before = hands.frame.locator("[data-part=a] .formatted").inner_text()
    hands.page.reload()
    if at == "mturk":
        hands.frame = work_frame(hands.page)
    lead(hands.frame, f"3 of {PIECES}")
    assert hands.frame.locator("[data-part=a] .formatted").inner_text() == before
    if at == "mturk" and isinstance(hands, Keys):
        hands.page.keyboard.press("Tab")  # into the frame


def assert_back(hands: Hands, site: Platform, code: str) -> None:
    """Go back, and the platform has the code."""
    is_prolific = hands.frame == hands.page.main_frame
    name = "Prolific" if is_prolific else "MTurk"
    expect(hands.frame.locator(".end .primary")).to_have_text(f"Return to {name}")
    address = hands.frame.locator(".address")
    if is_prolific:
        expect(address).to_have_text(f"https://app.prolific.com/submissions/complete?cc={code}")
    else:
        expect(address).to_have_count(0)
    hands.back()
    if is_prolific:
        told_ = f"at https://app.prolific.com/submissions/complete?cc={code}"
        expect(hands.page.locator("body")).to_contain_text(told_)
        assert code == "C1DONE"
        return
    expect(hands.frame.locator("h1")).to_have_text("Submitted")
    sent = {
        "path": "/mturk/externalSubmit",
        "assignmentId": site.assignment,
        "code": code,
        "end": "done",
    }
    assert site.submitted[-1] == sent


def assert_given(server: AppServer, worker: str) -> None:
    """The worker's seat has its votes and its check, each once."""
    with database_of(server) as database:
        (seat,) = [row.seat_id for row in rows(database, SEAT_ENTRY) if row.person == worker]
        battles = [row.id for row in rows(database, BATTLE) if row.seat_id == seat]
        assert len(battles) == PIECES
        assert counted(database).keys() >= set(battles)


def assert_rejected_afterwards(server: AppServer, name: str, worker: str) -> None:
    """The platform's list does not name the worker: nothing counts, and what was held is asked of others."""
    with database_of(server) as database:
        settings = Settings.from_env({"DATA_DIR": str(server.data_dir)})
        admin = CampaignAdmin(settings, database, ItemBank(database), VoteTable(database))
        campaign = admin.store.get(name)
        standing = admin.standing(campaign)
        assert (standing.votes, standing.pending) == (0, VOTES)
        told_ = admin.bring_participants("ada", name, [Record(2, {"worker": "somebody-else"})])
        assert "Workers who came: 0 confirmed" in told_
        standing = admin.standing(campaign)
        assert (standing.votes, standing.pending) == (0, 0)
        held = admin.states.read_now(campaign).served.votes
        assert held.sum() == 0
        (mine,) = [row for row in rows(database, SEAT_ENTRY) if row.person == worker]
        sheet = {row[0]: row for row in csv.reader(as_csv(admin.sheet(name)).splitlines())}
        assert "unknown to the platform: don't pay" in sheet[mine.person]


def pages_of_a_script(link: str, *servers: AppServer) -> list[str]:
    """Work without a browser until there is nothing left, on each server in turn; every page of the work."""
    pages: list[str] = []
    with httpx.Client(follow_redirects=True) as client:
        page = client.post(link, data={"consent": "yes"})
        while found := re.search(r'name="piece" value="([^"]+)"', page.text):
            pages.append(page.text)
            client.post(page.url, data={"piece": found[1], "answer": "a"})
            there = page.url.copy_with(port=servers[len(pages) % len(servers)].port)
            page = client.post(there, data={"piece": found[1], "act": "finish"})
    return pages


def test_no_page_tells_a_check_from_the_work_but_by_what_one_reads(server):
    pages = pages_of_a_script(link_of(server, campaign_of(server, "over"), "with-a-script"), server)
    assert len(pages) == PIECES
    with database_of(server) as database:
        keys = {row.key for row in rows(database, ITEM)}
        told_ = {row.name for row in rows(database, FAMILY)} | {
            row.credit for row in rows(database, IMAGE)
        } - {""}
    for page in pages:
        assert [one for one in keys if one in page] == []
        assert [one for one in told_ if f">{one}" in page] == []


# What happens on the way


def test_a_preview_shows_what_is_asked_and_lets_nothing_be_chosen(browser: Browser, server, site):
    site.link = link_of(server, campaign_of(server, "mturk"))
    with fresh_page(browser, DESK) as page:
        page.goto(site.hit())
        frame = work_frame(page)
        expect(frame.locator(".warning")).to_have_text(
            "This is a preview. Accept the HIT to begin."
        )
        expect(frame.locator("main :is(form, button, input)")).to_have_count(0)


def test_a_choice_goes_on_by_itself_when_it_is_final(browser: Browser, server):
    with fresh_page(browser, DESK) as page:
        page.clock.install()
        keys = at_work(page, server, "patient")
        stop_clock(page)
        page.keyboard.press("a")
        expect(page.locator("#status")).to_contain_text("3 seconds to undo")
        page.clock.fast_forward(3_000)
        lead(keys.frame, f"2 of {PIECES}")


@pytest.mark.soak
def test_an_undo_that_comes_too_late_is_told_and_offered_no_more(browser: Browser, server):
    """The page that says so stays for a moment, then the work goes on."""
    with fresh_page(browser, DESK) as page:
        page.clock.install()
        keys = at_work(page, server, "late")
        stop_clock(page)
        page.keyboard.press("a")
        expect(page.locator(VOTED)).to_be_visible()
        with database_of(server) as database, database.write() as connection:
            earlier = {"voted_at": now() - timedelta(seconds=9), "tick": 0}
            connection.execute(update(BATTLE).where(HAS_CHOICE).values(earlier))
        press(page, "#undo")
        expect(page.locator("#problem")).to_contain_text("This choice is final")
        expect(page.locator("#undo")).to_be_hidden()
        expect(page.locator("#status")).not_to_contain_text("Undo")
        page.clock.fast_forward(1_000)
        expect(page.locator("#problem")).to_contain_text("This choice is final")
        page.clock.fast_forward(2_000)
        lead(keys.frame, f"2 of {PIECES}")


@pytest.mark.soak
def test_a_form_without_an_answer_can_be_sent_once_more(browser: Browser, server):
    with fresh_page(browser, DESK) as page:
        page.clock.install()
        at_work(page, server, "unlucky")
        page.evaluate(HANGS)
        page.keyboard.press("a")
        page.keyboard.press("b")  # no second form while the first may be answered
        page.clock.fast_forward(15_000)
        expect(page.locator("#problem")).to_have_text(ENGLISH.text("scripts.slow"))
        assert page.evaluate("sent") == 1
        page.evaluate("sent = 'let through'")
        page.keyboard.press("a")
        expect(page.locator("#status")).to_contain_text("You chose A")
        expect(page.locator("#problem")).to_be_empty()


def test_a_form_without_a_network_stays_on_its_page_and_is_sent_later(browser: Browser, server):
    with worker_page(browser, DESK) as page:
        at_work(page, server, "tunnel")
        page.context.set_offline(True)
        page.keyboard.press("a")
        expect(page.locator("#problem")).to_have_text(ENGLISH.text("scripts.no_answer"))
        page.context.set_offline(False)
        # some browsers are wrong
        page.evaluate("Object.defineProperty(navigator, 'onLine', { value: false })")
        page.keyboard.press("a")
        expect(page.locator("#status")).to_contain_text("You chose A")


def test_a_choice_that_is_final_without_a_network_goes_on_once_there_is_one(
    browser: Browser, server
):
    with fresh_page(browser, DESK) as page:
        page.clock.install()
        keys = at_work(page, server, "elevator")
        stop_clock(page)
        page.keyboard.press("a")
        expect(page.locator(VOTED)).to_be_visible()
        page.context.set_offline(True)
        page.clock.fast_forward(3_000)
        expect(page.locator("#problem")).to_have_text(ENGLISH.text("scripts.no_answer"))
        expect(page.locator("#undo")).to_be_hidden()
        page.context.set_offline(False)
        lead(keys.frame, f"2 of {PIECES}")


@pytest.mark.soak
def test_a_form_without_a_network_can_be_sent_again_where_the_server_does_not_answer(
    browser: Browser, server
):
    with fresh_page(browser, DESK) as page:
        page.clock.install()
        at_work(page, server, "bunker")
        page.evaluate(NO_NETWORK)
        page.keyboard.press("a")
        assert page.evaluate("asked") == ["/healthz"]
        page.clock.fast_forward(15_000)
        expect(page.locator("#problem")).to_have_text(ENGLISH.text("scripts.slow"))
        page.evaluate("void (fetch = network)")
        page.keyboard.press("a")
        expect(page.locator("#status")).to_contain_text("You chose A")


HANGS = """addEventListener("submit", (event) => {
    if (sent === "let through" || event.defaultPrevented) return;
    event.preventDefault();
    sent += 1;
}); var sent = 0"""
"""A form gets no answer, and the page waits."""
NO_NETWORK = """Object.defineProperty(navigator, 'onLine', { value: false });
var network = fetch, asked = [];
void (fetch = (address) => { asked.push(address); return new Promise(() => {}); })"""
"""The browser knows of no network, and what asks for one gets no answer."""


def test_an_answer_stands_once_on_the_page(browser: Browser, server):
    with worker_page(browser, DESK) as page:
        keys = Keys(page, begin_plain(page, server, "reader"))
        keys.consent()
        keys.see()
        assert (
            page.locator("[data-part=a]").inner_text().count("number")
            + page.locator("[data-part=b]").inner_text().count("number")
            == 1
        )


def test_a_reason_skips_a_battle(browser: Browser, server):
    with worker_page(browser, PHONE) as page:
        hands = Hands(page, begin_plain(page, server, "unsure", "over"))
        hands.consent()
        hands.see()
        press(page, "#skip")
        press(page, "#skip-judge")
        work_on(hands, 1, 1)
        lead(hands.frame, f"2 of {PIECES}")


def test_without_scripts_a_worker_skips_and_chooses_by_forms_alone(browser: Browser, server):
    with fresh_page(browser, PHONE, java_script_enabled=False) as page:
        begin_plain(page, server, "careful", "over")
        page.locator(".consent").click()
        page.get_by_role("button", name="Begin").click()
        expect(page.locator("#skip, .switch, #undo").filter(visible=True)).to_have_count(0)
        page.locator("#skip-judge").click()
        page.locator("#choose-b").click()
        expect(page.locator("#status")).to_contain_text("You chose B")
        expect(page.locator(".reasons button").filter(visible=True)).to_have_count(0)
        page.locator("#names").click()
        lead(page.main_frame, f"2 of {PIECES}")


# Who may frame it


def policy(address: str) -> str:
    return httpx.get(address, headers={"accept": "text/html"}).headers["content-security-policy"]


def test_only_a_campaigns_pages_may_stand_in_mturks_frame_and_post_to_it(server, site):
    own = policy(link_of(server, campaign_of(server, "mturk")))
    assert f"frame-ancestors 'self' https://huggingface.co {site.address}" in own
    assert f"form-action 'self' {site.address};" in own
    assert policy(f"{server.address}/c/nobody/1.{'0' * 32}") == own
    for page in ("/", "/results", "/run", "/terms", "/c", "/cc/x", "/you"):
        assert site.address not in policy(server.address + page), page


# How it looks


def entry(page: Page, server: AppServer, site: Platform, who: str) -> None:
    begin_study(page, server, site, who)
    kind(page.main_frame, "entry")


def preview(page: Page, server: AppServer, site: Platform, _who: str) -> None:
    page.goto(
        f"{link_of(server, campaign_of(server, 'mturk'))}&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE"
    )
    kind(page.main_frame, "entry")


def exam(page: Page, server: AppServer, site: Platform, who: str) -> None:
    begin_plain(page, server, who, "hard")
    consent(page)
    see(page)


def consent(page: Page) -> None:
    page.check("[name=consent]")
    page.click("button.primary")


def see(page: Page) -> None:
    expect(page.locator("main:is([data-kind=exam], [data-kind=work])")).to_be_visible()
    see_both(page)


def choose(page: Page, rightly: bool) -> None:
    see(page)
    right = "b" if "yeast" in page.locator("[data-part=a]").inner_text() else "a"
    press(page, f"#choose-{right if rightly else {'a': 'b', 'b': 'a'}[right]}")
    expect(page.locator("#next")).to_be_visible()


def told_right(page: Page, server: AppServer, site: Platform, who: str) -> None:
    exam(page, server, site, who)
    choose(page, True)


def told_wrong(page: Page, server: AppServer, site: Platform, who: str) -> None:
    exam(page, server, site, who)
    choose(page, False)


def second_try(page: Page, server: AppServer, site: Platform, who: str) -> None:
    told_wrong(page, server, site, who)
    press(page, "#next")
    choose(page, True)
    press(page, "#next")
    see(page)


def failed(page: Page, server: AppServer, site: Platform, who: str) -> None:
    second_try(page, server, site, who)
    for _ in range(2):
        choose(page, False)
        press(page, "#next")
    kind(page.main_frame, "end")


def work(page: Page, server: AppServer, site: Platform, who: str) -> None:
    begin_plain(page, server, who, "over")
    consent(page)
    see(page)


def voted(page: Page, server: AppServer, site: Platform, who: str) -> None:
    work(page, server, site, who)
    press(page, "#choose-b")
    expect(page.locator("#undo")).to_be_visible()
    if page.viewport_size["width"] < 700:
        expect(page.locator(".answer[data-side=b]")).to_be_visible()


def asking(page: Page, server: AppServer, site: Platform, who: str) -> None:
    work(page, server, site, who)
    press(page, "#skip")
    expect(page.locator("#skip-judge")).to_be_visible()


def leaving(page: Page, server: AppServer, site: Platform, who: str) -> None:
    work(page, server, site, who)
    for details in page.locator("details summary").all():
        details.click()


def withdrew(page: Page, server: AppServer, site: Platform, who: str) -> None:
    leaving(page, server, site, who)
    page.click("[value=withdraw]")
    kind(page.main_frame, "end")


def done(page: Page, server: AppServer, site: Platform, who: str) -> None:
    work(page, server, site, who)
    give_all(page)


def give_all(page: Page) -> None:
    for number in range(1, PIECES + 1):
        expect(page.locator(".lead")).to_have_text(re.compile(rf"^\D*{number}\D"))
        see(page)
        press(page, "#choose-a")
        expect(page.locator(VOTED)).to_be_visible()
        press(page, "#names")
    kind(page.main_frame, "end")


def qualify(page: Page) -> None:
    consent(page)
    for _ in range(2):
        choose(page, True)
        press(page, "#next")
    kind(page.main_frame, "work")
    see(page)


def give_and_return(page: Page) -> None:
    give_all(page)
    expect(page.locator(".address")).to_be_visible()


def returning(page: Page, server: AppServer, site: Platform, who: str) -> None:
    """The end of a worker of Prolific."""
    entry(page, server, site, who)
    qualify(page)
    give_and_return(page)


def no_entry(page: Page, server: AppServer, site: Platform, _who: str) -> None:
    page.goto(f"{server.address}/c/plain?n=3")
    kind(page.main_frame, "message")


def test_answers_stand_beside_their_picture_at_a_desk(browser: Browser, server, site):
    with worker_page(browser, DESK) as page:
        work(page, server, site, "beside")
        subject, first, second = (
            page.locator(part).bounding_box()
            for part in (".subject", ".answer[data-side=a]", ".answer[data-side=b]")
        )
        assert (
            subject["x"] + subject["width"] <= first["x"]
            and first["x"] + first["width"] <= second["x"]
        )
        assert (
            first["y"]
            == second["y"]
            < page.locator("#choose-a").bounding_box()["y"]
            < page.viewport_size["height"]
        )
        above, picture, below = (
            page.locator(f".subject {part}").bounding_box()
            for part in (".instruction", ".picture", ".about")
        )
        covered = 8  # around the picture, so that nothing shows there when it stays in view
        assert above["y"] + above["height"] + covered <= picture["y"]
        assert picture["y"] + picture["height"] + covered <= below["y"]


SCREENS = (
    entry,
    preview,
    exam,
    told_right,
    told_wrong,
    second_try,
    failed,
    work,
    voted,
    asking,
    leaving,
    withdrew,
)
SCREENS += (done, returning, no_entry)


def look_at(page: Page, name: str) -> None:
    assert faults(page) == []
    shoot(page, f"campaign-{name}", whole=True)


def test_axe_finds_nothing_at_the_entry_and_at_work(browser: Browser, server, site):
    with worker_page(browser, PHONE) as page:
        entry(page, server, site, "seen")
        look_at(page, "entry")
        qualify(page)
        look_at(page, "work")


@pytest.mark.soak
@pytest.mark.parametrize(
    "width, theme, locale",
    [
        *((PHONE, "light", "en-GB"), (DESK, "dark", "zh-CN")),
        *((DESK, "light", "en-GB"), (PHONE, "dark", "zh-CN")),
    ],
    ids=lambda one: str(one)[:5],
)
@pytest.mark.parametrize("screen", SCREENS, ids=lambda one: one.__name__)
def test_axe_finds_nothing_and_every_screen_fits(
    browser: Browser, server, site, screen, width, theme, locale
):
    who = f"{screen.__name__}-{width}-{theme}"
    with worker_page(browser, width, color_scheme=theme, locale=locale) as page:
        screen(page, server, site, who)
        look_at(page, f"{screen.__name__}-{theme}-{locale[:2]}")
