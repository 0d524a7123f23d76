"""Published reports at their public addresses: what is shown there, to whom, in whose frame, and until when."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from html import unescape
from typing import NamedTuple
from xml.etree import ElementTree

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

from arena.admin.actions import ACT
from arena.cache import Cache
from arena.database import Database, now
from arena.markdown import answer_html
from arena.web.cookies import COOKIE, cookie_hash
from arena.web.layout import PageLayout
from arena.web.static_files import Links
from scoring.jobs.published import PublishedJobs
from scoring.jobs.store import JOB, Job, Jobs
from scoring.report import AnyReport, Grade
from scoring.web import published_page
from scoring.web.published_page import PublishedPages, PublishedReports
from tests.support.axe import faults
from tests.support.elsewhere import page_elsewhere
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.mmt_reports import mmt_report
from tests.support.published_reports import public_addresses, published
from tests.support.run_desk import RunDesk
from tests.support.screens import DESK, PHONE, fresh_page, shoot
from tests.support.servers import AppServer
from tests.support.signer import signer_of

OWNER = "o" * 32
PUBLIC = "https://arena.example"
ROWS = ["Link", "Picture", "Markdown", "LaTeX", "Badge", "Embed", "Hugging Face"]
NO_SCORE = (Grade("v1_0", 0, None, reason="unread"),)


class Site(NamedTuple):
    """A server with PUBLIC_URL, and reports of one owner on it."""

    server: AppServer

    def client(self, cookie: str = "") -> httpx.Client:
        cookies = {COOKIE: self.signed(cookie)} if cookie else {}
        return httpx.Client(base_url=self.server.address, cookies=cookies, timeout=30)

    def signed(self, cookie: str) -> str:
        return signer_of(self.server.data_dir).signed(cookie, now())

    def add(self, *reports: AnyReport, is_published: bool = True, owner: str = OWNER) -> Job:
        """Store reports of an owner, and return the job of the last."""
        whose = cookie_hash(owner)
        with closing(Database(f"sqlite:///{self.server.data_dir / 'arena.db'}")) as database:
            jobs = Jobs(database)
            for report in reports:
                job = jobs.add_done(whose, report)
                if is_published:
                    job = jobs.publish(whose, job.link, True)
        return job


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("published")
    server = AppServer(folder, DEMO_BANK="off", PUBLIC_URL=PUBLIC)
    yield Site(server)
    server.stop()


@pytest.fixture
def stranger(site) -> Iterator[httpx.Client]:
    with site.client() as client:
        yield client


@pytest.fixture
def owner(site) -> Iterator[httpx.Client]:
    with site.client(OWNER) as client:
        yield client


def addresses(job: Job) -> list[str]:
    """Every address under which a published MMT-Bench report, or a part of it, is open to strangers."""
    slug = job.slug or ""
    more = ("task-map", "task-map/tree.nwk")
    return [
        *public_addresses(slug),
        *(f"/report/{slug}/{part}" for part in more),
        f"/reports/{slug}/partial_answers-tables.md",
    ]


def test_a_published_report_is_open_at_its_slug_and_its_link_stands_nowhere(site, stranger):
    job = site.add(mmt_report("A <b>model</b>", 0.6))
    for address in addresses(job):
        answer = stranger.get(address)
        assert answer.status_code == 200, address
        assert job.link not in answer.text, address
        assert "<b>model</b>" not in answer.text, address
    page = stranger.get(f"/r/{job.slug}").text
    assert f'property="og:image" content="{PUBLIC}/r/{job.slug}.png"' in page
    assert "<title>A &lt;b&gt;model&lt;/b&gt;: " in page and "noindex" not in page
    for private in (f"/report/{job.link}", f"/report/{job.link}/answers"):
        assert 'content="noindex"' in stranger.get(private).text, "a link is a key"
    assert stranger.get(f"/report/{job.slug}").headers["location"] == f"/r/{job.slug}"
    assert stranger.get(f"/r/{job.link}").status_code == 404


def test_unpublished_or_deleted_it_is_gone_at_once_everywhere(site, owner, stranger):
    job = site.add(mmt_report("gone soon", 0.5))

    def states() -> list[int]:
        return [stranger.get(one, follow_redirects=True).status_code for one in addresses(job)]

    all_there = [200] * len(addresses(job))
    assert states() == all_there
    for act, public in (("private", False), ("publish", True), ("private", False)):
        changed = owner.post(f"/report/{job.link}/{act}")
        to = f"/r/{job.slug}#share" if public else f"/report/{job.link}"
        assert (changed.status_code, changed.headers["location"]) == (303, to)
        assert states() == (all_there if public else [404] * len(all_there))
        assert (job.slug in stranger.get("/reports").text) is public
    assert stranger.get(f"/report/{job.link}").status_code == 200, "the link stays a key"
    owner.post(f"/report/{job.link}/publish")
    assert owner.post(f"/report/{job.slug}/delete").headers["location"] == "/score"
    assert states() == [404] * len(all_there)
    badge = stranger.get(f"/badge/{job.slug}.svg")
    assert "withdrawn" in ElementTree.fromstring(badge.content).itertext()
    assert badge.headers["content-type"] == "image/svg+xml" and len(badge.content) < 500


def test_operators_withdraw_a_report_and_its_owner_reads_why(site, owner, stranger):
    job = site.add(mmt_report("A slander", 0.5))
    link = f"/report/{job.link}"
    with closing(Database(f"sqlite:///{site.server.data_dir / 'arena.db'}")) as database:
        desk = RunDesk.of(database, site.server.data_dir)
        for odd in ("", "/r/", "https://[", f"/r/{job.link}", "/r/nothing-mm-vet-0000", link):
            page = desk.post("reports", "reports", address=odd, reason="Names a person")
            assert 'role="alert"' in page, odd
        page = desk.post("reports", "reports", address=f"/r/{job.slug}", reason=" ")
        assert "Give a reason. The report's owner reads it." in page
        assert stranger.get(f"/r/{job.slug}").status_code == 200, "nothing was done yet"
        form = {"address": f"{PUBLIC}/r/{job.slug}", "reason": "Names a <b>person</b>\n."}
        page = desk.post("reports", "reports", **form)
        assert f"Done: withdrew a published report {job.slug}." in page
        page = desk.post("reports", "reports", address=job.slug, reason="Another")
        assert "Nothing to do: it's already so." in page
        with database.read() as connection:
            acts = connection.execute(select(ACT.c.deed, ACT.c.about)).all()
    assert acts == [("withdrew a published report", job.slug)]
    gone = [stranger.get(one, follow_redirects=True).status_code for one in addresses(job)]
    assert gone == [404] * len(gone) and "A slander" not in stranger.get("/reports").text
    again = owner.post(f"{link}/publish")
    assert again.status_code == 409 and "made private by the operators" in again.text
    assert stranger.get(f"/r/{job.slug}").status_code == 404
    seen = owner.get(link).text
    assert "Their reason: Names a &lt;b&gt;person&lt;/b&gt; ." in seen
    assert f'action="{link}/publish"' not in seen
    assert "Their reason" not in stranger.get(link).text


def test_each_address_has_its_headers(site, stranger):
    job = site.add(mm_vet_report(0.25))
    own = "frame-ancestors 'self' https://huggingface.co"
    for address, kind in ((".png", "image/png"), (".svg", "image/svg+xml")):
        answer = stranger.get(f"/r/{job.slug}{address}")
        assert answer.headers["content-type"] == kind
        assert answer.headers["cache-control"] == "public, max-age=300"
        assert answer.headers["content-security-policy"].endswith(own)
    badge = stranger.get(f"/badge/{job.slug}.svg")
    assert badge.headers["cache-control"] == "public, max-age=300"
    again = stranger.get(f"/badge/{job.slug}.svg", headers={"if-none-match": badge.headers["etag"]})
    assert again.status_code == 304 and not again.content
    embed = stranger.get(f"/embed/{job.slug}")
    assert embed.headers["content-security-policy"] == (
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors *"
    )
    assert "<script" not in embed.text and "gradio" not in embed.text.lower()
    assert not stranger.cookies, "none of them sets a cookie"
    page = stranger.get(f"/r/{job.slug}")
    assert page.headers["content-security-policy"].endswith(own)
    assert page.headers["cache-control"].startswith("private")
    assert stranger.head(f"/badge/{job.slug}.svg").status_code == 200
    for odd in ("/badge/%00.svg", f"/r/{'x' * 3000}", "/r/<b>", "/badge/a/b.svg"):
        assert stranger.get(odd).status_code == 404, odd


def test_any_page_may_frame_the_part_for_it_and_nothing_else(site, browser: Browser):
    job = site.add(mm_vet_report(0.3, title="Framed"))
    paths = (f"/embed/{job.slug}", f"/r/{job.slug}", f"/report/{job.link}", "/", "/reports")
    frames = [
        f'<iframe src="{site.server.address}{path}" name="f{n}"></iframe>'
        for n, path in enumerate(paths)
    ]
    with page_elsewhere("".join(frames)) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address, wait_until="networkidle")
        expect(page.frame_locator("[name=f0]").get_by_role("heading")).to_contain_text("Framed")
        shown = {frame.name: frame.url for frame in page.frames if frame.name}
        assert shown.pop("f0").endswith(paths[0])
        assert len(shown) == 4 and set(shown.values()) == {"chrome-error://chromewebdata/"}
        context.close()


def row(page: Page, name: str):
    heading = page.get_by_role("heading", name=name, exact=True)
    return page.locator(".share-row").filter(has=heading)


def copied(page: Page, name: str) -> str:
    row(page, name).get_by_role("button").click()
    expect(row(page, name).get_by_role("button")).to_have_text("Copied")
    return page.evaluate("navigator.clipboard.readText()")


def test_an_owner_publishes_and_takes_it_into_a_readme_and_a_frame(site, browser: Browser):
    job = site.add(mm_vet_report(0.2, title="LLaVA-1.5-13B"), is_published=False)
    with fresh_page(browser, DESK, permissions=["clipboard-read", "clipboard-write"]) as page:
        signed = site.signed(OWNER)
        page.context.add_cookies([{"name": COOKIE, "value": signed, "url": site.server.address}])
        page.goto(f"{site.server.address}/report/{job.link}")
        page.locator("summary", has_text="Share").click()
        expect(page.locator(".share-sheet p").first).to_have_text(
            "Private. Anyone with the link can read it."
        )
        shoot(page, "share-private")
        page.locator("summary", has_text="Share").click()
        assert published(page).startswith("llava-1-5-13b-mm-vet-")
        assert page.locator(".share-sheet h2").all_inner_texts() == ROWS
        assert page.locator(".share-sheet .refused").count() == 0
        assert faults(page) == []
        shoot(page, "share-published")
        public = page.url.replace(site.server.address, PUBLIC).partition("#")[0]
        assert copied(page, "Link") == public
        readme = copied(page, "Markdown")
        assert re.fullmatch(r"LLaVA-1\.5-13B: \*\*32\.5\*\* on MM-Vet .*", readme)
        assert f'href="{public}"' in answer_html(readme)
        assert copied(page, "Badge").endswith(f".svg)]({public})")
        assert copied(page, "LaTeX").endswith(public)
        frame = copied(page, "Embed")
        with page.expect_download() as download:
            page.get_by_role("link", name="Download PNG").click()
        assert download.value.suggested_filename.endswith(".png")
        with page_elsewhere(frame.replace(PUBLIC, site.server.address)) as address:
            page.goto(address)
            shown = page.frame_locator("iframe")
            expect(shown.get_by_role("heading")).to_have_text("LLaVA-1.5-13B on MM-Vet")
            back = shown.get_by_role("link", name="Read the report")
            expect(back).to_have_attribute("href", public)


def sheet(client: httpx.Client, slug: str) -> dict[str, str]:
    """Return the rows of a report's sheet, as text."""
    page = client.get(f"/r/{slug}").text
    rows = re.findall(r'<div class="share-row"><h2[^>]*>(.*?)</h2>(.*?)</div>', page, re.DOTALL)
    return {name: unescape(re.sub(r"<[^>]*>", " ", html)) for name, html in rows}


def test_what_is_refused_stays_in_its_row_with_the_reason(site, stranger):
    plain = mm_vet_report(0.2)
    unscored = replace(plain, rows=tuple(replace(row, grades=NO_SCORE) for row in plain.rows))
    rows = sheet(stranger, site.add(unscored).slug)
    assert {name: text.split() for name, text in rows.items()} == {
        name: "It has no score.".split() for name in ROWS
    }
    kind = replace(plain, canaries=(Grade("canary", 0, 0.8),))
    job = site.add(kind)
    rows = sheet(stranger, job.slug)
    assert "Don't trust this score" in rows["Markdown"] and "Copy" in rows["Markdown"]
    assert "Shows “judge not trusted” instead of the score." in rows["Badge"]
    assert rows["Hugging Face"].strip().startswith("Don't trust this score")
    for address in (f"/r/{job.slug}.svg", f"/badge/{job.slug}.svg", f"/embed/{job.slug}"):
        assert "not trusted" in stranger.get(address).text.lower().replace(
            "don't trust", "not trusted"
        )
    assert "32.5" not in stranger.get(f"/badge/{job.slug}.svg").text
    title = re.search("<title>(.*)</title>", stranger.get(f"/r/{job.slug}").text)[1]
    assert "judge not trusted" in title and "32.5" not in title


def test_the_public_list_is_newest_first_by_benchmark_and_in_pages(
    site, browser: Browser, stranger
):
    for owner in ("first", "second", "third"):
        site.add(*(mm_vet_report(0.2, title=f"listed {owner} {n}") for n in range(17)), owner=owner)
    site.add(mmt_report("of another benchmark", 0.5))
    private = site.add(mm_vet_report(0.2, title="not listed"), is_published=False)
    page = stranger.get("/reports").text
    assert private.link not in page and "not listed" not in page
    shown = re.findall(r'<li><a href="/r/[a-z0-9-]+">(.*?)</a>', page)
    assert len(shown) == 50 and shown[:2] == ["of another benchmark", "listed third 16"]
    page = stranger.get("/reports?benchmark=mm-vet&page=2").text
    assert "listed first 0" in page and "of another benchmark" not in page
    for odd in ("?benchmark=x", "?page=-1", "?page=²", "?page=99999", "?benchmark=%3Cb%3E"):
        assert stranger.get(f"/reports{odd}").status_code == 200
    with fresh_page(browser, PHONE) as phone:
        phone.goto(f"{site.server.address}/score")
        phone.get_by_role("link", name="published reports", exact=True).click()
        phone.get_by_label("Benchmark").select_option("mmt-bench")
        expect(phone.locator(".listed li").first).to_contain_text("of another benchmark")
        expect(phone.locator(".listed")).not_to_contain_text("listed")
        assert faults(phone) == []
        shoot(phone, "reports")
        phone.get_by_role("link", name="of another benchmark").click()
        expect(phone.locator("h1")).to_contain_text("of another benchmark")


def test_the_list_is_there_before_every_report_was_read(tmp_path, monkeypatch):
    """What was not read shows no number, since it may need a warning."""
    monkeypatch.setattr(published_page, "LIST_SECONDS", -1.0)
    with closing(Database(f"sqlite:///{tmp_path / 'arena.db'}")) as database:
        jobs = Jobs(database)
        link = jobs.add_done("owner", mm_vet_report(0.2, title="<late>")).link
        jobs.publish("owner", link, True)
        reports = PublishedReports.from_jobs(jobs, PublishedJobs(database))
        layout = PageLayout(Links("/read.css", "/read.js"))
        app = FastAPI()
        app.include_router(published_page.routes(PublishedPages(jobs, reports, layout, Cache(10))))
        client = TestClient(app)
        late = client.get("/reports").text
        assert ">&lt;late&gt;</a>" in late and "32.5" not in late
        (named,) = reports.of_model("<late>")
        assert named.address.startswith("/r/late-mm-vet-"), "as a model's page links to it"
        assert "32.5" in client.get("/reports").text


def test_a_report_that_cannot_be_read_any_more_has_no_picture_and_no_part_for_frames(tmp_path):
    with closing(Database(f"sqlite:///{tmp_path / 'arena.db'}")) as database:
        jobs = Jobs(database)
        link = jobs.add_done("owner", mm_vet_report(0.2, title="old")).link
        slug = jobs.publish("owner", link, True).slug
        with database.write() as connection:
            connection.execute(JOB.update().values(report="{}"))
        reports = PublishedReports.from_jobs(jobs, PublishedJobs(database))
        layout = PageLayout(Links("/read.css", "/read.js"))
        app = FastAPI()
        app.include_router(published_page.routes(PublishedPages(jobs, reports, layout, Cache(10))))
        client = TestClient(app)
        for address in (f"/r/{slug}.png", f"/r/{slug}.svg", f"/embed/{slug}", f"/badge/{slug}.svg"):
            assert client.get(address).status_code == 404, address
