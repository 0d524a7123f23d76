"""A published report's page for the Hub: its files, the preview, and the pull request by a login or a token."""

import io
import re
import zipfile
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

import httpx
import pytest
import yaml
from playwright.sync_api import Browser, expect

from arena.database import Database, now
from arena.server.hub_pull_request import TROUBLES
from arena.web.cookies import COOKIE, cookie_hash
from arena.web.login_api import ERRAND_COOKIE
from scoring.jobs.store import Jobs
from scoring.web.publish_api import CHANGED, UNSEEN
from tests.support.axe import faults
from tests.support.hub_models import Repository
from tests.support.hub_server import HubServer
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.oidc_server import OidcServer
from tests.support.screens import DESK, fresh_page, shoot
from tests.support.servers import AppServer
from tests.support.signer import signer_of

OWNER = cookie_hash("o" * 32)
REPO = "llava-hf/llava-1.5-13b-hf"
CARD = b"---\nlicense: llama2\n---\n# LLaVA\n"
FILES = ("eval.yaml", "model-index.yaml", f"eee.zip?repo={REPO}")
TOKEN = "hf_ada_token"


class Site(NamedTuple):
    """A server with published reports, the Hub that it knows, and a provider of logins."""

    server: AppServer
    hub: HubServer
    provider: OidcServer
    link: str
    slug: str
    refused: str
    """Slug of a report whose score may not go to the Hub."""

    def visitor(self) -> httpx.Client:
        """A browser that has been here before."""
        cookie = signer_of(self.server.data_dir).signed("s" * 32, now())
        cookies = {COOKIE: cookie}
        return httpx.Client(base_url=self.server.address, cookies=cookies, timeout=30)

    def change(self, is_public: bool) -> None:
        database = Database(f"sqlite:///{self.server.data_dir / 'arena.db'}")
        Jobs(database).publish(OWNER, self.link, is_public)
        database.close()

    @property
    def pulls(self):
        return self.hub.hub_models.repositories[REPO].pulls


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("hub")
    database = Database(f"sqlite:///{folder / 'arena.db'}")
    jobs = Jobs(database)
    whole = mm_vet_report(title="LLaVA-1.5-13B")
    unchecked = mm_vet_report(questions=whole.questions.__class__("mm-vet", "Some", "d", False, ()))
    links = [jobs.add_done(OWNER, report).link for report in (whole, unchecked)]
    for link in links:
        jobs.publish(OWNER, link, True)
    slug, refused = [jobs.find(link).slug for link in links]
    database.close()
    provider = OidcServer()
    with HubServer() as hub:
        server = AppServer(
            folder,
            DEMO_BANK="off",
            HF_ENDPOINT=hub.address,
            HF_TOKEN="hf_operator",
            PUBLIC_URL="https://arena.example",
            **provider.environ(),
        )
        yield Site(server, hub, provider, links[0], slug, refused)
        server.stop()
        assert "hf_operator" not in hub.hub_models.tokens
        kept = server.log.read_text() + "".join(
            file.read_bytes().decode("latin-1") for file in folder.glob("arena.db*")
        )
        for token in (TOKEN, *provider.tokens):
            assert token not in kept
    provider.close()


@pytest.fixture(autouse=True)
def repository(site) -> None:
    """The model's repository with its card, as before any pull request."""
    site.hub.hub_models.repositories[REPO] = Repository({"README.md": CARD})
    site.hub.hub_models.benchmarks.clear()
    site.hub.faults.planned.clear()


@pytest.fixture
def visitor(site) -> Iterator[httpx.Client]:
    with site.visitor() as client:
        yield client


def previewed(visitor: httpx.Client, site: Site) -> dict[str, str]:
    """Look at the preview, and return what its two ways to send it hold."""
    page = visitor.get(f"/hub/{site.slug}", params={"repo": REPO})
    assert page.status_code == 200
    (login,) = re.findall(r'href="(/login/publish[^"]+)"', page.text)
    (shown,) = re.findall(r'name="shown" value="([^"]+)"', page.text)
    return {"login": unescape(login), "shown": shown}


def logged_in(visitor: httpx.Client, address: str) -> httpx.Response:
    """Go to the provider, agree, and come back to the page."""
    there = visitor.get(address)
    assert there.status_code == 303, there.text
    back = httpx.get(there.headers["location"]).headers["location"]
    answer = visitor.get(back)
    assert answer.status_code == 303, answer.text
    return visitor.get(answer.headers["location"])


class TestFiles:
    def test_each_is_an_attachment_until_the_report_is_private(self, site, visitor):
        contents = {}
        for name in FILES:
            answer = visitor.get(f"/r/{site.slug}/{name}")
            assert answer.status_code == 200, answer.text
            assert answer.headers["content-disposition"].startswith("attachment; filename=")
            assert "hf_operator" not in answer.text
            contents[name] = answer.content
        (entry,) = yaml.safe_load(contents["eval.yaml"])
        assert entry["source"]["url"] == f"https://arena.example/r/{site.slug}"
        index = yaml.safe_load(contents["model-index.yaml"])["model-index"]
        assert index[0]["name"] == "LLaVA-1.5-13B"
        with zipfile.ZipFile(io.BytesIO(contents[FILES[2]])) as archive:
            assert archive.namelist()[0].startswith(f"data/stereoscope-mm-vet/{REPO}/")
        assert visitor.get(f"/r/{site.slug}/{FILES[2]}").content == contents[FILES[2]]
        site.change(False)
        for address in (*(f"/r/{site.slug}/{name}" for name in FILES), f"/hub/{site.slug}"):
            assert visitor.get(address).status_code == 404
        site.change(True)
        assert visitor.get(f"/r/{site.slug}/eval.yaml").content == contents["eval.yaml"]

    def test_a_refused_score_has_its_reason_in_place_of_each(self, site, visitor):
        reason = "Its questions weren't checked against the published set. Score it with the authors' question file."
        for name in FILES:
            answer = visitor.get(f"/r/{site.refused}/{name}")
            assert (answer.status_code, answer.text) == (409, reason)
        page = visitor.get(f"/hub/{site.refused}", params={"repo": REPO})
        assert reason in unescape(page.text)
        assert "<form" not in page.text

    @pytest.mark.parametrize("name", ["no-owner", "a/..", "a/.", "a../b", "a/b--c", "a/b."])
    def test_a_record_needs_a_repository_that_may_be_a_folder(self, site, visitor, name):
        answer = visitor.get(f"/r/{site.slug}/eee.zip", params={"repo": name})
        assert answer.status_code == 409
        assert "repo=OWNER/NAME" in answer.text


class TestPullRequest:
    def test_by_a_login_in_a_browser(self, site, browser: Browser):
        with fresh_page(browser, DESK) as page:
            page.goto(f"{site.server.address}/hub/{site.slug}")
            shoot(page, "hub-empty", whole=True)
            page.get_by_label("Model repository").first.fill(REPO)
            page.get_by_role("button", name="Preview").click()
            expect(page.locator("pre")).to_contain_text("+    - type: mm-vet.score")
            page.get_by_text("Use a token instead").click()
            shoot(page, "hub-preview", whole=True)
            assert faults(page) == []
            page.get_by_role("link", name="Open pull request").click()
            expect(page.get_by_role("status")).to_contain_text(
                f"The pull request to {REPO} is open"
            )
            shoot(page, "hub-opened")
            address = page.get_by_role("link", name="See the pull request").get_attribute("href")
            assert address == f"{site.hub.address}/{REPO}/discussions/1"
        assert site.provider.asked[-1]["scope"] == "openid profile write-discussions"
        (pull,) = site.pulls
        assert (pull.author, sorted(pull.files)) == ("Anna", ["README.md"])
        assert pull.files["README.md"].startswith(b"---\nlicense: llama2\nmodel-index:\n")

    @pytest.mark.parametrize("trouble", ["login", "forbidden", "busy", "unknown"])
    def test_what_the_hub_refuses_is_said_on_the_page(self, site, visitor, trouble):
        status = {"login": "401", "forbidden": "403", "busy": "429", "unknown": "503"}[trouble]
        where = "commit" if trouble == "unknown" else "discussions"
        site.hub.faults.planned[f"/{where}"] = [status]
        site.hub.faults.asked_wait = "100"
        page = logged_in(visitor, previewed(visitor, site)["login"])
        assert TROUBLES[trouble] in unescape(page.text)
        assert "Open pull request" in page.text
        assert site.pulls == []

    def test_a_card_that_changed_is_looked_at_again(self, site, visitor):
        ways = previewed(visitor, site)
        site.hub.hub_models.repositories[REPO].files["README.md"] = CARD + b"New words.\n"
        assert CHANGED in logged_in(visitor, ways["login"]).text
        ways = {**ways, "shown": previewed(visitor, site)["shown"]}
        site.hub.hub_models.repositories[REPO].files["README.md"] = CARD + b"Newer words.\n"
        sent = visitor.post(f"/hub/{site.slug}", data={"shown": ways["shown"], "token": TOKEN})
        assert CHANGED in visitor.get(sent.headers["location"]).text
        assert site.pulls == []

    def test_a_report_made_private_meanwhile_is_offered_to_nobody(self, site, visitor):
        shown = previewed(visitor, site)["shown"]
        site.change(False)
        sent = visitor.post(f"/hub/{site.slug}", data={"shown": shown, "token": TOKEN})
        assert "problem=changed" in sent.headers["location"]
        site.change(True)
        assert site.pulls == []

    def test_an_errand_that_was_changed_on_its_way_is_none(self, site, visitor):
        there = visitor.get(previewed(visitor, site)["login"])
        errand = visitor.cookies[ERRAND_COOKIE]
        visitor.cookies.set(ERRAND_COOKIE, f"x{errand}", domain="127.0.0.1", path="/")
        back = httpx.get(there.headers["location"]).headers["location"]
        assert visitor.get(back).headers["location"] == "/"
        assert site.pulls == []

    def test_a_visitor_without_a_cookie_is_given_one_to_hold_the_preview(self, site):
        with httpx.Client(base_url=site.server.address, timeout=30) as fresh:
            assert "is open" in logged_in(fresh, previewed(fresh, site)["login"]).text

    def test_no_repository_of_that_name(self, site, visitor):
        for name in ("nobody/nothing", "README.md", "../../etc"):
            page = visitor.get(f"/hub/{site.slug}", params={"repo": name})
            assert f"There's no public model {name}." in unescape(page.text)
            assert "Send it" not in page.text


def test_nobody_is_led_past_the_preview(site, visitor):
    ways = previewed(visitor, site)
    form = {"shown": ways["shown"], "token": TOKEN}
    with httpx.Client(base_url=site.server.address, timeout=30) as other:
        answers = [
            visitor.get(f"/login/publish?slug={site.slug}&repo={REPO}"),
            visitor.get(ways["login"].replace(site.slug, site.refused)),
            visitor.get(ways["login"].replace("1.5-13b", "1.5-7b")),
            other.get(ways["login"]),
            other.post(f"/hub/{site.slug}", data=form),
            visitor.post(f"/hub/{site.refused}", data=form),
            visitor.post(f"/hub/{site.slug}", data={"token": TOKEN}),
        ]
    for answer in answers:
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/hub/")
        assert "problem=unseen" in answer.headers["location"]
    assert UNSEEN in visitor.get(answers[0].headers["location"]).text
    assert site.pulls == []


def test_by_a_pasted_token(site, visitor):
    shown = previewed(visitor, site)["shown"]
    for number in range(2):
        sent = visitor.post(f"/hub/{site.slug}", data={"shown": shown, "token": TOKEN})
        assert sent.status_code == 303
        assert "pull=1" in sent.headers["location"], number
        assert TOKEN not in f"{sent.headers} {visitor.get(sent.headers['location']).text}"
    assert [pull.author for pull in site.pulls] == ["ada"]
