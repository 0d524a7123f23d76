"""Login with Hugging Face: the way there and back, whose cookie is worth what after it, and every way it may fail."""

import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import get_args
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from sqlalchemy import func, select

from arena.battles.tables import VOTER
from arena.battles.voters import ADOPTION, LOGIN, PERSON, Account, Voters
from arena.database import Database
from arena.fraud.eligibility import VoteEligibility
from arena.live.credits import Credits
from arena.settings import Settings
from arena.types import Secret
from arena.web import login_api as login
from arena.web.admin_auth import OPERATOR_COOKIE, Operators
from arena.web.cookies import COOKIE, VoterCookies, cookie_hash
from arena.web.layout import PageLayout
from arena.web.middleware import RequestMiddleware
from arena.web.oauth import ATTEMPT_SECONDS, Attempt, LoginError, new_key
from arena.web.request_locale import RequestLocale
from arena.web.signer import Signer
from arena.web.static_files import Links
from tests.support.oidc_server import CLIENT, SECRET, Fault, OidcServer, Person


@dataclass
class Site:
    """The routes of login and operators behind the guard, on loopback."""

    address: str
    voters: Voters
    database: Database
    operators: Operators
    credits: Credits
    browsers: list[httpx.Client] = field(default_factory=list)

    def browser(self, **cookies: str) -> httpx.Client:
        """A browser that has not opened the page yet."""
        client = httpx.Client(base_url=self.address, timeout=30, cookies=cookies, verify=False)
        self.browsers.append(client)
        return client

    def visitor(self) -> httpx.Client:
        """A browser that has opened the page."""
        client = self.browser()
        client.get("/")
        return client


@pytest.fixture
def provider() -> Iterator[OidcServer]:
    server = OidcServer()
    yield server
    server.close()


@pytest.fixture
def site(tmp_path, provider) -> Iterator[Site]:
    with running_site(
        tmp_path, {**provider.environ(), "COUNTS": "logged-in", "OPERATORS": "anna"}
    ) as running:
        yield running


@contextmanager
def running_site(folder: Path, environ: Mapping[str, str]) -> Iterator[Site]:
    """Serve on loopback what an app with these settings would."""
    database = Database(f"sqlite:///{folder / 'arena.db'}")
    voters = Voters(database)
    cookies = VoterCookies(database.secret_key("cookies"))
    settings = Settings.from_env(environ)
    known = Operators(settings.operators, voters, by_link=True)
    app = FastAPI()
    app.add_middleware(RequestLocale)
    eligibility = VoteEligibility(database, settings.counted)
    layout = PageLayout(Links("/style.css", "/script.js"))
    credits = Credits()
    app.include_router(
        login.routes(
            voters=voters,
            cookies=cookies,
            eligibility=eligibility,
            oauth=settings.oauth,
            operators=known,
            layout=layout,
            credits=credits,
            signer=Signer(bytes(32)),
        )
    )
    app.add_api_route("/", lambda: PlainTextResponse("the page"), response_model=None)
    app.add_middleware(RequestMiddleware, cookies=cookies)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    site = Site(f"http://127.0.0.1:{listener.getsockname()[1]}", voters, database, known, credits)
    yield site
    for client in site.browsers:
        client.close()
    server.should_exit = True  # it ends within a fifth of a second, for which no test has to wait
    database.close()


def log_in(client: httpx.Client) -> httpx.Response:
    """Go to the provider and back, as a browser does."""
    there = client.get("/login")
    assert there.status_code == 303, there.text
    return client.get(at_provider(there.headers["location"]))


def at_provider(address: str) -> str:
    """Return where the provider sends a browser back to."""
    return httpx.get(address, verify=False).headers["location"]


def who(client: httpx.Client) -> str:
    return client.get("/login/who").text


def test_a_login_gives_a_new_cookie_and_takes_what_the_guest_did_along(site, provider):
    client = site.visitor()
    before = client.cookies[COOKIE]
    guest = site.voters.voter(cookie_hash(before))
    assert "Log in, and they count" in who(client)
    assert 'href="/login"' in who(client)
    answer = log_in(client)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    after = client.cookies[COOKIE]
    person = site.voters.voter(cookie_hash(after))
    assert after != before and person != guest
    assert "<b>Anna</b>" in who(client) and "counts" not in who(client)
    with site.database.read() as connection:
        adopted = connection.execute(select(ADOPTION)).one()
        assert (adopted.guest, adopted.person) == (guest, person)
        assert connection.execute(select(LOGIN.c.name)).scalar_one() == "Anna"
    asked = provider.asked[0]
    assert (asked["client_id"], asked["scope"]) == (CLIENT, "openid profile")
    assert asked["redirect_uri"] == f"{site.address}/login/callback"


def test_looking_at_the_account_line_makes_no_voter(site):
    code = str(site.operators.link("")).partition("=")[2]
    operator = site.browser(**{OPERATOR_COOKIE: site.operators.redeem(code)})
    for client in (operator, site.visitor()):
        assert "Log in, and they count" in who(client)
    with site.database.read() as connection:
        assert connection.scalar(select(func.count()).select_from(VOTER)) == 0


def test_a_planted_cookie_is_worth_nothing_after_the_login(site):
    """Who knew the guest's cookie stays a guest, and its further votes are not the person's."""
    client = site.visitor()
    planted = client.cookies[COOKIE]
    log_in(client)
    thief = site.browser(**{COOKIE: planted})
    assert "Log in with" in who(thief) and "Log in, and they count" in who(thief)
    assert site.operators.of({"cookie": f"{COOKIE}={planted}"}) is None
    assert site.operators.of({"cookie": f"{COOKIE}={client.cookies[COOKIE]}"}) == "Anna"


def test_the_operators_link_leads_to_run_in_the_bar_before_any_vote(site):
    code = str(site.operators.link("")).partition("=")[2]
    operator = site.browser(**{OPERATOR_COOKIE: site.operators.redeem(code)})
    assert 'href="/run"' in who(operator)
    assert who(site.browser()) == ""
    assert 'href="/run"' not in who(site.visitor())


def test_a_new_name_of_the_account_is_the_same_voter(site, provider):
    client = site.visitor()
    log_in(client)
    before = site.voters.voter(cookie_hash(client.cookies[COOKIE]))
    provider.person = Person(provider.person.sub, "Anna-Maria")
    log_in(client)
    assert site.voters.voter(cookie_hash(client.cookies[COOKIE])) == before
    assert "Anna-Maria" in who(client)


def test_a_logout_ends_that_login_for_good(site):
    client = site.visitor()
    log_in(client)
    held = client.cookies[COOKIE]
    person = site.voters.voter(cookie_hash(held))
    answer = client.post("/logout", headers={"origin": site.address})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert client.cookies[COOKIE] != held
    assert "Log in with" in who(client)
    assert site.voters.name(cookie_hash(held)) is None
    assert site.voters.voter(cookie_hash(held)) != person
    log_in(client)
    assert site.voters.voter(cookie_hash(client.cookies[COOKIE])) == person


def test_a_second_login_ends_the_first_one_of_this_browser(site):
    client = site.visitor()
    log_in(client)
    first = client.cookies[COOKIE]
    log_in(client)
    assert site.voters.name(cookie_hash(first)) is None
    assert site.voters.name(cookie_hash(client.cookies[COOKIE])) == "Anna"


def test_a_browser_without_a_cookie_can_log_in(site):
    client = site.browser()
    log_in(client)
    assert "Anna" in who(client)


@pytest.mark.parametrize(
    "change", ["state", "no state", "no code", "no attempt", "other voter", "no cookies"]
)
def test_what_is_not_this_browsers_own_attempt_is_refused(site, change):
    """A link that logs a victim in as somebody else, or somebody else as the victim, is worth nothing."""
    client, other = site.visitor(), site.visitor()
    there = client.get("/login").headers["location"]
    back = at_provider(there)
    state = parse_qs(urlsplit(back).query)["state"][0]
    if change == "state":
        back = back.replace(state, "x" * len(state))
    if change in ("no state", "no code"):
        back = re.sub(rf"&?{change[3:]}=[^&]*", "", back)
    if change == "no attempt":
        del client.cookies[login.ATTEMPT_COOKIE]
    if change == "other voter":
        client.cookies.set(COOKIE, other.cookies[COOKIE], domain="127.0.0.1", path="/")
    if change == "no cookies":
        client.cookies.clear()
    answer = client.get(back)
    assert (
        answer.status_code == 403
        and "og in again" in answer.text
        and "Traceback" not in answer.text
    )
    assert nobody(site)


def test_a_callback_works_once(site):
    client = site.visitor()
    there = client.get("/login").headers["location"]
    held = dict(client.cookies)
    back = at_provider(there)
    assert client.get(back).status_code == 303
    assert client.get(back).status_code == 403
    thief = site.browser(**held)  # the provider takes a code once
    assert thief.get(back).status_code == 403


def test_a_code_of_another_attempt_is_refused(site, provider):
    """Its PKCE challenge is another."""
    client, other = site.visitor(), site.visitor()
    mine, theirs = (
        at_provider(browser.get("/login").headers["location"]) for browser in (client, other)
    )
    code = parse_qs(urlsplit(theirs).query)["code"][0]
    own = parse_qs(urlsplit(mine).query)["code"][0]
    assert client.get(mine.replace(own, code)).status_code == 403
    assert nobody(site)


@pytest.mark.parametrize("fault", get_args(Fault))
def test_a_provider_that_answers_wrong_logs_nobody_in(site, provider, fault):
    client = site.visitor()
    provider.fault = fault if fault in ("500", "moved", "other discovery") else None
    there = client.get("/login")
    if provider.fault:
        assert there.status_code == 403 and "ugging Face" in there.text
        return
    provider.fault = fault
    answer = client.get(at_provider(there.headers["location"]))
    assert answer.status_code == 403 and "ugging Face" in answer.text
    assert nobody(site)
    provider.fault = None
    assert log_in(client).status_code == 303


def test_while_the_provider_is_down_one_votes_as_a_guest(site, provider):
    client = site.visitor()
    there = client.get("/login").headers["location"]
    back = at_provider(there)
    provider.close()
    for path in ("/login", back):
        answer = client.get(path)
        assert answer.status_code == 403
        assert "Hugging Face isn't answering. Vote as a guest, or" in unescape(answer.text)
    assert 'href="/login"' in who(client)


def test_an_attempt_is_over_after_its_time():
    key = new_key()
    made = Attempt.from_key(key, "cookie")
    assert made == Attempt.from_key(key, "cookie") != Attempt.from_key(key, "another")
    for begun in (time.time() - ATTEMPT_SECONDS - 1, time.time() + 60):
        with pytest.raises(LoginError, match="took too long"):
            Attempt.from_key(f"{int(begun):08x}{key[8:]}", "cookie")
    with pytest.raises(LoginError, match="took too long"):
        Attempt.from_key("", "cookie")


def test_an_attempt_whose_time_was_moved_is_another(site):
    client = site.visitor()
    back = at_provider(client.get("/login").headers["location"])
    key = client.cookies[login.ATTEMPT_COOKIE]
    moved = f"{int(key[:8], 16) - 1:08x}{key[8:]}"
    assert (
        site.browser(**{COOKIE: client.cookies[COOKIE], login.ATTEMPT_COOKIE: moved})
        .get(back)
        .status_code
        == 403
    )
    assert client.get(back).status_code == 303


def test_secrets_are_in_no_answer_and_no_database(site, tmp_path):
    client = site.visitor()
    seen = [client.get("/login")]
    seen.append(client.get(at_provider(seen[0].headers["location"])))
    seen.append(client.get("/login/who"))
    told = "".join(str(answer.headers) + answer.text for answer in seen)
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("arena.db*"))
    assert SECRET not in told and SECRET.encode() not in kept
    assert client.cookies[COOKIE].encode() not in kept
    assert b"65f0c0ffee" not in kept


def lend(client: httpx.Client) -> httpx.Response:
    """Lend one's credits, and come back from the provider, as a browser does."""
    there = client.get("/login/credits")
    assert there.status_code == 303, there.text
    return client.get(at_provider(there.headers["location"]))


def test_a_second_consent_lends_credits_until_the_logout(site, provider, tmp_path):
    client = site.visitor()
    log_in(client)
    voter = site.voters.voter(cookie_hash(client.cookies[COOKIE]))
    assert site.credits.key(voter) is None
    back = lend(client)
    assert back.headers["location"] == "/own"
    assert site.voters.voter(cookie_hash(client.cookies[COOKIE])) == voter
    (token,) = provider.tokens
    assert site.credits.key(voter) == Secret(token)
    scopes = [asked["scope"] for asked in provider.asked]
    assert scopes == ["openid profile", "openid profile inference-api"]
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("arena.db*"))
    told = str(back.headers) + back.text + str(dict(client.cookies)) + who(client)
    assert token not in told and token.encode() not in kept
    assert log_in(client).headers["location"] == "/", "a login after it is one for the page itself"
    assert site.credits.key(voter) == Secret(token)
    client.post("/logout", headers={"origin": site.address})
    assert site.credits.voters == ()


@pytest.mark.parametrize("expires_in", [0, -5, True, "soon", None, 10**12])
def test_a_token_is_kept_no_longer_than_the_provider_says(site, provider, expires_in):
    provider.expires_in = expires_in
    client = site.visitor()
    lend(client)
    voter = site.voters.voter(cookie_hash(client.cookies[COOKIE]))
    is_kept = site.credits.key(voter) is not None
    assert is_kept == (expires_in not in (0, -5))


def test_a_public_app_logs_people_in_without_a_secret(tmp_path, provider):
    provider.is_public = True
    environ = {**provider.environ(), "OAUTH_CLIENT_SECRET": ""}
    with running_site(tmp_path, environ) as site:
        client = site.visitor()
        lend(client)
        assert "<b>Anna</b>" in who(client)
        assert len(site.credits.voters) == 1


def test_names_are_shown_as_text(site, provider):
    provider.person = Person("x", "<img src=x onerror=alert(1)>")
    client = site.visitor()
    log_in(client)
    assert "<img" not in who(client) and "&lt;img" in who(client)


def test_no_target_is_taken_from_the_browser(site):
    client = site.visitor()
    for query in (
        "?next=https://evil.example",
        "?_target_url=//evil.example",
        "?redirect_uri=https://evil.example",
    ):
        there = client.get(f"/login{query}").headers["location"]
        assert "evil.example" not in there
        assert client.get(f"{at_provider(there)}&{query[1:]}").headers["location"] == "/"


def test_a_login_from_a_campaigns_link_goes_back_to_it_once(site):
    link = "/c/pilot?n=20&until=1798243200&sig=00ff&from=a%20b"
    client = site.visitor()
    there = client.get("/login", params={"back": link}).headers["location"]
    assert "pilot" not in there, "the provider is not told"
    assert client.get(at_provider(there)).headers["location"] == link
    assert log_in(client).headers["location"] == "/"
    client.get("/login", params={"back": link})
    assert client.post("/logout", headers={"origin": site.address}).headers["location"] == "/"


@pytest.mark.parametrize(
    "back",
    [
        *(
            "//evil.example",
            "https://evil.example/c/pilot?n=1",
            "/c//evil.example?n=1",
            "/c/../run?x=1",
            "/logout",
        ),
        *(
            "/c/pilot?n=1; Domain=evil",
            "/c/pilot?n=1\r\nset-cookie: a=b",
            "/c/pilot",
            "/c/pilot?" + "x" * 1001,
        ),
    ],
)
def test_a_login_goes_back_to_a_campaigns_link_alone(site, back):
    client = site.visitor()
    there = client.get("/login", params={"back": back})
    assert client.get(at_provider(there.headers["location"])).headers["location"] == "/"
    client.cookies.set(login.BACK_COOKIE, "//evil.example", domain="127.0.0.1", path="/")
    assert log_in(client).headers["location"] == "/", "nor does a planted cookie lead elsewhere"


def test_the_callback_is_under_the_spaces_own_host(tmp_path, provider):
    with running_site(
        tmp_path, {**provider.environ(), "SPACE_HOST": "me-arena.hf.space,arena.example"}
    ) as site:
        there = site.browser().get("/login", headers={"x-forwarded-host": "evil.example"})
    assert (
        "redirect_uri=https%3A%2F%2Fme-arena.hf.space%2Flogin%2Fcallback&"
        in there.headers["location"]
    )
    lines = there.headers.get_list("set-cookie")
    assert len(lines) == 2 and all("Secure; SameSite=None; Partitioned" in one for one in lines)


def test_without_a_provider_there_is_no_login(tmp_path):
    with running_site(tmp_path, {}) as site:
        client = site.visitor()
        assert who(client) == ""
        home = client.get("/login")
        assert (home.status_code, home.headers["location"]) == (303, "/")
        assert client.get("/login/callback?code=x&state=y").status_code == 404
        assert client.post("/logout").status_code == 404


def test_a_guest_is_told_when_only_invited_people_count(tmp_path):
    with running_site(tmp_path, {"COUNTS": "campaign", "CAMPAIGNS": "spring"}) as site:
        client = site.visitor()
        assert "counts invited voters only" in who(client)


def test_a_frame_is_told_that_the_login_is_elsewhere(site):
    """Within a frame a browser keeps other cookies: what was voted there does not come along."""
    client = site.visitor()
    told = client.get("/login/who?framed=yes").text
    assert "opens a new page" in told


def test_on_both_databases_a_person_is_one_voter(database):
    voters = Voters(database)
    guests = [voters.voter(f"guest {number}") for number in range(3)]
    account = Account("sub", "anna")
    persons = {voters.log_in(account, f"guest {number}", f"fresh {number}") for number in range(3)}
    assert len(persons) == 1 and not persons & set(guests)
    assert voters.log_in(Account("other", "ben"), "guest", "ben's") not in persons
    assert [voters.name(f"fresh {number}") for number in range(3)] == ["anna"] * 3
    voters.log_out("fresh 1")
    assert [voters.name(f"fresh {number}") for number in range(3)] == ["anna", None, "anna"]
    with database.read() as connection:
        assert {row.guest for row in connection.execute(select(ADOPTION))} == set(guests)


def test_first_logins_at_one_time_make_one_person(database):
    """Ten devices of one account log in at once."""
    voters, made = Voters(database), []
    barrier = threading.Barrier(10)

    def one(number: int) -> None:
        barrier.wait()
        made.append(voters.log_in(Account("sub", "anna"), f"guest {number}", f"fresh {number}"))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 10 and len(set(made)) == 1


def test_a_guest_belongs_to_the_first_who_logs_in(database):
    voters = Voters(database)
    guest = voters.voter("shared")
    anna = voters.log_in(Account("1", "anna"), "shared", "a")
    voters.log_in(Account("2", "ben"), "shared", "b")
    with database.read() as connection:
        assert connection.execute(select(ADOPTION.c.guest, ADOPTION.c.person)).all() == [
            (guest, anna)
        ]


def nobody(site: Site) -> bool:
    """Whether nobody ever logged in."""
    with site.database.read() as connection:
        return (
            not connection.execute(select(PERSON)).all()
            and not connection.execute(select(LOGIN)).all()
        )
