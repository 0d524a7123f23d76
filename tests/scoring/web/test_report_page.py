"""The page under a report's link: who reads it, who changes it, every answer, and two reports compared."""

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any, NamedTuple
from unittest.mock import Mock

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from arena.database import Database, now
from arena.io.images import PictureStore
from arena.web.cookies import COOKIE, cookie_hash
from scoring.jobs.store import Jobs
from scoring.report import ScoreLine
from scoring.web.answer_list import Chosen
from scoring.web.article import difference_text
from scoring.web.question_pictures import QuestionPictures
from tests.support.axe import faults
from tests.support.judging_process import set_job
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.mmt_reports import mmt_report
from tests.support.oidc_server import OidcServer
from tests.support.published_reports import published
from tests.support.screens import DESK, PHONE, fresh_page, shoot
from tests.support.servers import AppServer
from tests.support.signer import signer_of

OWNER = "o" * 32
STRANGER = "s" * 32


class Site(NamedTuple):
    """A server with reports of one owner, by their links."""

    server: AppServer
    first: str
    second: str
    choices: str

    def client(self, cookie: str = "") -> httpx.Client:
        cookies = {}
        if cookie:
            cookies[COOKIE] = signer_of(self.server.data_dir).signed(cookie, now())
        return httpx.Client(base_url=self.server.address, cookies=cookies, timeout=30)

    def change(self, change: Callable[[Jobs], Any]) -> None:
        database = Database(f"sqlite:///{self.server.data_dir / 'arena.db'}")
        change(Jobs(database))
        database.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("reports")
    database = Database(f"sqlite:///{folder / 'arena.db'}")
    jobs = Jobs(database)
    owner = cookie_hash(OWNER)
    other = mm_vet_report(0.3, title="Another <model>")
    links = [
        jobs.add_done(owner, report).link
        for report in (mm_vet_report(0.2), other, mmt_report("model one", 0.6))
    ]
    database.close()
    provider = OidcServer()
    server = AppServer(folder, DEMO_BANK="off", **provider.environ())
    yield Site(server, *links)
    server.stop()
    provider.close()


@pytest.fixture
def owner(site) -> Iterator[httpx.Client]:
    with site.client(OWNER) as client:
        yield client


@pytest.fixture
def stranger(site) -> Iterator[httpx.Client]:
    with site.client(STRANGER) as client:
        yield client


def test_a_report_is_one_document_in_the_order_of_its_readers(site, stranger):
    page = stranger.get(f"/report/{site.first}")
    assert (
        page.status_code == 200 and "script-src 'self';" in page.headers["content-security-policy"]
    )
    assert "gradio" not in page.text and page.text.count("<h1>") == 1
    parts = [
        "<h1>A &lt;b&gt;model&lt;/b&gt;",
        "scores 32.5 on MM-Vet",
        "<dt>Total</dt><dd><b>32.5</b>",
        'data-copy="link">Copy link',
        '<figure class="published">',
        'data-sheet="capabilities"',
        "What it gets wrong",
        "How far to trust this",
        "Human ratings",
        "Methods",
        "Files",
        "Citation",
    ]
    places = [page.text.index(part) for part in parts]
    assert places == sorted(places)
    assert 'href="report' not in page.text and 'href="reports' not in page.text


def test_a_report_is_private_until_its_owner_publishes_it(site, owner, stranger):
    path = f"/report/{site.first}"

    publish = '<button class="primary">Publish report</button>'

    def is_key() -> bool:
        """Whether the link's own page tells search engines and previews nothing, published or not."""
        page = stranger.get(path)
        title = re.search("<title>(.*)</title>", page.text)[1]
        is_quiet = title == "Report · Stereoscope" and "og:image" not in page.text
        is_kept = "no-store" not in page.headers["cache-control"]
        return is_quiet and 'content="noindex"' in page.text and not is_kept

    assert is_key() and publish not in stranger.get(path).text
    assert publish in owner.get(path).text
    public = owner.post(f"{path}/publish").headers["location"].removesuffix("#share")
    page = owner.get(public)
    assert "Anyone can find and read this report." in page.text and publish not in page.text
    assert "A &lt;b&gt;model&lt;/b&gt;: 32.5 on MM-Vet · Stereoscope</title>" in page.text
    assert 'content="noindex"' not in page.text and is_key()
    known = owner.get(public, headers={"if-none-match": page.headers["etag"]})
    assert known.status_code == 304
    assert owner.post(f"{path}/private").status_code == 303
    assert stranger.get(public).status_code == 404 and is_key()


@pytest.mark.parametrize("act", ["publish", "private", "delete"])
def test_a_stranger_changes_nothing(site, stranger, act):
    path = f"/report/{site.first}"
    before = stranger.get(path).text
    refused = stranger.post(f"{path}/{act}")
    assert refused.status_code == 403 and "Only its owner can change a report." in refused.text
    foreign = stranger.post(f"{path}/{act}", headers={"origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert stranger.get(path).text == before


def test_a_report_is_deleted_in_two_steps_by_its_owner(site, owner):
    links = []
    site.change(
        lambda jobs: links.append(jobs.add_done(cookie_hash(OWNER), mm_vet_report(0.4)).link)
    )
    path = f"/report/{links[0]}"
    page = owner.get(path).text
    assert page.index("<summary>Delete report</summary>") < page.index("Delete for good")
    gone = owner.post(f"{path}/delete")
    assert (gone.status_code, gone.headers["location"]) == (303, "/score")
    for address in (path, f"{path}/answers", f"{path}?with={site.first}"):
        page = owner.get(address)
        assert page.status_code == 404 and "This report isn&#39;t here" in page.text
    assert owner.post(f"{path}/publish").status_code == 404


def test_every_answer_has_its_address(site, stranger):
    """Filters and pages are in the query; what there is not counts as not chosen."""
    path = f"/report/{site.first}/answers"

    def rows(query: str) -> tuple[str, int]:
        page = stranger.get(f"{path}{query}")
        assert page.status_code == 200 and 'content="noindex"' in page.text
        status = re.search('role="status">(.*?)</p>', page.text)
        return status[1] if status else "", page.text.count('<li><p class="about">')

    assert rows("") == ("60 of 60 questions, page 1 of 3", 25)
    assert rows("?page=3") == ("60 of 60 questions, page 3 of 3", 10)
    assert rows("?page=99") == rows("?page=3")
    assert rows("?group=math") == ("10 of 60 questions, page 1 of 1", 10)
    assert rows("?show=below+0.5&group=math") == ("10 of 60 questions, page 1 of 1", 10)
    for odd in ("?page=-1", "?page=1e99", "?page=²", "?page=x", "?show=%3Cb%3E", "?group=x&show=y"):
        assert rows(odd) == rows("")
    page = stranger.get(f"{path}?show=below+0.5&page=2").text
    assert f'href="{path}?show=below+0.5&amp;page=1">Previous' in page
    assert '<option value="below 0.5" selected>' in page and 'data-part="answers"' in page


def test_another_protocol_is_an_address(site, stranger):
    path = f"/report/{site.choices}/answers"
    page = stranger.get(f"{path}?show=differs+by+protocol").text
    assert "What if another protocol read the file?" in page
    assert page.count('aria-current="true"') == 1
    other = unescape(re.search(r'<a href="([^"]+)">MMT-Bench&#39;s paper', page)[1])
    page = stranger.get(other).text
    assert 'aria-current="true">MMT-Bench&#39;s paper' in page
    assert '<input type="hidden" name="protocol" value="mmt-paper">' in page
    unknown = stranger.get(f"{path}?show=differs+by+protocol&protocol=nobody%27s")
    assert unknown.status_code == 200 and "nobody" not in unknown.text


def test_two_reports_are_compared_at_an_address_to_send(site, owner, stranger):
    path = f"/report/{site.first}"
    canonical = f"{path}?with={site.second}"
    typed = ("with", f"https://any.example/report/{site.second}"), ("pasted", f" {site.second} ")
    for name, value in typed:
        sent = owner.get(path, params={name: value})
        assert (sent.status_code, sent.headers["location"]) == (303, canonical)
    page = stranger.get(canonical).text
    assert "Another &lt;model&gt; compared with A &lt;b&gt;model&lt;/b&gt;" in page
    assert "10.0 points higher than" in page and 'data-copy="link"' in page
    assert "Each of the 7 has a 5% chance of missing." in page
    assert "Another" not in stranger.get(path).text, "who else's reports there are is not told"
    assert f'<option value="{site.second}">Another &lt;model&gt;' in owner.get(path).text
    nothing = stranger.get(f"{path}?with=nothing")
    assert (
        nothing.status_code == 200
        and "There&#39;s no report under this link. Paste the address of another" in nothing.text
    )
    other = stranger.get(f"{path}?with={site.choices}").text
    assert "Choose two reports with the same benchmark" in other
    for odd in ("http://[", "/", "?", "x" * 600):
        assert stranger.get(path, params={"with": odd}, follow_redirects=True).status_code == 200


def test_a_report_that_cannot_be_read_any_more_is_compared_with_nothing(site, stranger):
    database = Database(f"sqlite:///{site.server.data_dir / 'arena.db'}")
    old = Jobs(database).add_done("somebody", mm_vet_report(0.4, title="Old")).link
    set_job(database, old, report="{}")
    database.close()
    page = stranger.get(f"/report/{site.first}?with={old}")
    assert page.status_code == 200 and "There&#39;s no report under this link." in page.text
    for address in (f"/report/{old}", f"/report/{old}?with={site.first}"):
        page = stranger.get(address)
        assert page.status_code == 500 and "The stored report can&#39;t be read." in page.text
    people = stranger.get(f"/report/{old}/people")
    assert (people.status_code, people.headers["location"]) == (303, f"/report/{old}")
    for file in ("mm-vet-grades.json", "pictures/a.webp"):
        assert stranger.get(f"/reports/{old}/{file}").status_code == 404


@pytest.mark.parametrize("end", ["/", "/answers?show=unscored", "/people", "#scores", "?with=x"])
def test_any_address_of_a_report_names_it(site, stranger, end):
    path = f"/report/{site.first}"
    typed = f"https://any.example/report/{site.second}{end}"
    found = stranger.get(path, params={"pasted": typed})
    assert found.headers["location"] == f"{path}?with={site.second}"


@pytest.mark.parametrize("typed", ["//", "http://[", "https://any.example/report/"])
def test_an_address_of_nothing_is_said_to_be_none(site, stranger, typed):
    page = stranger.get(f"/report/{site.first}", params={"with": typed})
    assert (
        page.status_code == 200
        and "There&#39;s no report under this link. Paste the address of another" in page.text
    )


def test_the_address_of_a_sent_form_leads_back(site, stranger):
    path = f"/report/{site.first}"
    for act in ("publish", "private", "delete"):
        assert stranger.get(f"{path}/{act}").headers["location"] == path
    assert stranger.get("/you/code").headers["location"] == "/you"


@pytest.mark.parametrize("scripted", [pytest.param(True, marks=pytest.mark.soak), False])
def test_reports_and_lists_fit_the_narrowest_phone(site, browser: Browser, scripted):
    """The menu's second step is in sight, also without scripts, and no interval is cut."""
    with fresh_page(browser, 320, java_script_enabled=scripted) as page:
        signed = signer_of(site.server.data_dir).signed(OWNER, now())
        page.context.add_cookies([{"name": COOKIE, "value": signed, "url": site.server.address}])
        page.goto(f"{site.server.address}/report/{site.first}")
        page.locator("details.menu > summary").click()
        page.get_by_text("Delete report").click()
        button = page.get_by_role("button", name="Delete for good").bounding_box()
        assert button["x"] >= 0
        assert button["x"] + button["width"] <= 320
        page.goto(f"{site.server.address}/report/{site.choices}/answers")
        select = page.get_by_label("Ability").bounding_box()
        assert select["x"] + select["width"] <= 320
        page.goto(f"{site.server.address}/report/{site.first}?with={site.second}")
        for small in page.locator("td.difference small").all():
            box = small.bounding_box()
            assert box["x"] + box["width"] <= 320, small.inner_text()


def test_a_comparison_says_who_is_better_only_where_it_is_clear():
    def told(mean, low, high):
        return difference_text("a", "b", ScoreLine("All", 60, 0, mean, low, high, mean, mean))

    assert told(5.25, 1, 9) == (
        "b scores 5.2 points higher than a over the 60 questions that both reports score "
        "(95% interval 1.0 to 9.0)."
    )
    assert told(-5, -9, -1).startswith("b scores 5.0 points lower than a")
    assert told(-3, -9, 1).startswith("No clear difference over the 60 questions")
    assert "−3.0 points" in told(-3, -9, 1)
    assert told(None, None, None).startswith("Too few questions to tell")


def test_an_address_of_answers_keeps_what_is_chosen():
    chosen = Chosen.from_query("/report/x/answers", {"show": "a & b", "group": "é", "page": "3"})
    assert chosen.page == 3
    assert chosen.address() == "/report/x/answers?show=a+%26+b&group=%C3%A9"
    assert chosen.address(show="", group="", page=2) == "/report/x/answers?page=2"
    assert Chosen("/x").address() == "/x"


def test_a_report_and_its_answers_are_whole_without_scripts(site, browser: Browser):
    with fresh_page(browser, PHONE, java_script_enabled=False) as page:
        page.goto(f"{site.server.address}/report/{site.choices}")
        assert "model one" in page.locator("h1").inner_text()
        for dead in ("[data-copy]", "[data-print]", "[data-text]", ".unfold", "[data-language]"):
            assert page.locator(dead).filter(visible=True).count() == 0
        folded = page.locator(".levels tr[hidden]")
        assert folded.count() == folded.filter(visible=True).count() > 100
        page.get_by_role("link", name="Every answer").click()
        page.get_by_label("Show").select_option("wrong")
        page.get_by_role("button", name="Show").click()
        expect(page).to_have_url(re.compile("show=wrong"))
        expect(page.locator("#answers .audit > li")).to_have_count(25)
        page.get_by_role("link", name="Next").click()
        expect(page).to_have_url(re.compile("show=wrong&page=2"))


def test_answers_are_listed_one_below_another(site, browser: Browser):
    with fresh_page(browser, DESK) as page:
        page.goto(f"{site.server.address}/report/{site.choices}/answers")
        answers = page.locator("#answers .audit > li")
        boxes = answers.evaluate_all("all => all.map(one => one.getBoundingClientRect().toJSON())")
        assert len(boxes) == 25
        assert len({(box["left"], box["width"]) for box in boxes}) == 1
        options = page.locator(".options").first.locator("li")
        heights = options.evaluate_all("all => all.map(one => one.offsetTop)")
        assert len(set(heights)) == 1, "read or not, options stand in one line"


def test_answers_are_filtered_in_place_and_accessible(site, browser: Browser):
    with fresh_page(browser, PHONE) as page:
        page.goto(f"{site.server.address}/report/{site.choices}/answers")
        page.evaluate("window.same = true")
        page.get_by_label("Show").select_option("wrong")
        expect(page).to_have_url(re.compile("show=wrong$"))
        expect(page.locator("#answers .verdict.right")).to_have_count(0)
        assert page.evaluate("same"), "the page stays, and its list comes"
        assert faults(page) == []
        shoot(page, "report-answers", whole=True)
        page.go_back()
        expect(page.locator("#answers .verdict.right").first).to_be_visible()


def test_a_list_that_comes_late_gives_way_to_a_newer_choice(site, browser: Browser):
    held: list[Route] = []
    with fresh_page(browser, DESK) as page:
        page.goto(f"{site.server.address}/report/{site.choices}/answers")
        page.route("**/answers?show=wrong", lambda route: held.append(route))
        show = page.locator("select[name=show]")
        show.select_option("wrong")
        show.select_option("undecided")
        page.wait_for_url("**/answers?show=undecided")
        with page.expect_response("**/answers?show=wrong"):
            held[0].continue_()
        expect(page.locator("#answers:not([aria-busy])")).to_be_visible()
        page.wait_for_timeout(200)
        assert page.url.endswith("?show=undecided")
        page.go_back()
        expect(show).to_have_value("")


def test_an_owner_publishes_in_a_browser(site, browser: Browser):
    with fresh_page(browser, DESK) as page:
        signed = signer_of(site.server.data_dir).signed(OWNER, now())
        page.context.add_cookies([{"name": COOKIE, "value": signed, "url": site.server.address}])
        page.goto(f"{site.server.address}/report/{site.second}")
        shoot(page, "report-private", whole=True)
        published(page)
        shoot(page, "report-published", whole=True)
        page.get_by_label("More").click()
        expect(page.get_by_text("Delete report")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_text("Delete report")).to_be_hidden()
        page.get_by_label("More").click()
        page.get_by_role("button", name="Make private").click()
        page.locator("summary", has_text="Share").click()
        expect(page.get_by_text("Private. Anyone with the link can read it.")).to_be_visible()
        page.goto(f"{site.server.address}/report/{site.first}?with={site.second}")
        shoot(page, "report-compared", whole=True)


def test_what_a_report_says_is_text(site, stranger):
    page = stranger.get(f"/report/{site.first}")
    assert "<b>model</b>" not in page.text
    assert "10.7.7.7" not in page.text, "an inner address"
    assert "A <b>model</b>" in unescape(page.text)


def test_reports_follow_their_owner_to_another_device(site, owner):
    """The code is in a body alone, works once, and gives a browser without a cookie one."""
    assert "Your reports on another device" in owner.get("/you").text
    page = owner.post("/you/code")
    code = re.search(r'<code id="report-code">([^<]+)</code>', page.text)[1]
    assert f'data-text="{code}">Copy</button>' in page.text
    assert "no-store" in page.headers["cache-control"]
    assert f'data-text="{code}">Copy</button>' in page.text
    with site.client() as phone:
        assert "Show code" not in phone.get("/you").text, "nothing is kept of a new browser"
        wrong = phone.post("/you/reports", data={"code": code[::-1]})
        assert wrong.status_code == 403 and "This code doesn&#39;t work." in wrong.text
        assert "set-cookie" not in wrong.headers
        opened = phone.post("/you/reports", data={"code": code.lower()})
        assert (opened.status_code, opened.headers["location"]) == (303, "/score")
        assert "Make private" not in phone.get(f"/report/{site.first}").text
        assert "Publish report</button>" in phone.get(f"/report/{site.first}").text
        assert phone.post(f"/report/{site.first}/publish").status_code == 303
        assert phone.post(f"/report/{site.first}/private").status_code == 303
    with site.client(STRANGER) as stranger:
        assert stranger.post("/you/reports", data={"code": code}).status_code == 403
        assert "Publish report</button>" not in stranger.get(f"/report/{site.first}").text
    for method in ("get", "head"):
        asked = getattr(owner, method)(f"/you/reports?code={code}")
        assert (asked.status_code, asked.headers["location"]) == (303, "/you")
    foreign = owner.post("/you/code", headers={"origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert code not in site.server.log.read_text("utf-8")


def test_reports_follow_a_login_and_stay_with_it(site):
    """The next one at the same browser, or with the cookie of before, does not own them."""
    guest = "g" * 32
    made = []
    site.change(lambda jobs: made.append(jobs.add_done(cookie_hash(guest), mm_vet_report(0.4))))

    def is_mine(cookies: httpx.Cookies) -> bool:
        page = httpx.get(f"{site.server.address}/report/{made[0].link}", cookies=cookies)
        return "Publish report</button>" in page.text

    with site.client(guest) as client:
        assert is_mine(client.cookies)
        before = client.cookies
        there = client.get("/login").headers["location"]
        logged_in = client.get(httpx.get(there, verify=False).headers["location"]).cookies
    assert is_mine(logged_in) and not is_mine(before)
    logged_out = httpx.post(f"{site.server.address}/logout", cookies=logged_in).cookies
    assert not is_mine(logged_out) and not is_mine(logged_in)


@pytest.mark.parametrize("name", ["x" * 300 + ".png", "é" * 130 + ".jpg", "a\0.png"])
def test_a_name_that_no_file_can_have_is_not_on_this_server(name, tmp_path):
    pictures = QuestionPictures(PictureStore(tmp_path), (tmp_path,), Mock())
    assert pictures.path(name) is None
