"""Who votes: the cookie, whose battle a token is, and what a restart, a second tab or a frame leaves of it."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from starlette.datastructures import Headers

from arena.web.cookies import COOKIE, VoterCookies, cookie_hash, is_https, new_cookie_value
from arena.web.scenes import ACTS
from tests.support.servers import AppServer
from tests.support.signer import signer_of
from tests.support.voter import EventError, Voter

SIGNED = r"[\w-]{32}\.[0-9a-f]{8}\.[\w-]{22}"
MALFORMED = (
    "",
    "short",
    "x" * 31,
    "x" * 33,
    "x" * 4000,
    "x" * 31 + "!",
    "x" * 31 + "é",
    f'"{"x" * 32}"x',
    "../../../../etc/passwd__________",
    "' OR 1=1 --_____________________",
)


def set_cookie(answer: httpx.Response) -> str | None:
    lines = answer.headers.get_list("set-cookie")
    assert len(lines) <= 1
    return lines[0] if lines else None


def votes(server: AppServer, token: str) -> list[tuple[str, str]]:
    """Return the choices stored for a battle, each with the hash of its voter's cookie."""
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        return database.execute(
            "SELECT b.choice, o.cookie_hash FROM battle b JOIN voter o ON o.id = b.voter_id "
            "WHERE b.choice IS NOT NULL AND b.token = ?",
            (token.rpartition(".")[0],),
        ).fetchall()


def cookie_of(voter: Voter) -> str:
    return voter.client.cookies[COOKIE]


def act(server: AppServer, name: str, cookie: str, **sent: str) -> httpx.Response:
    """Act in a battle with a cookie header written by hand."""
    headers = {"cookie": cookie.encode()}
    return httpx.post(f"{server.address}/battle/{name}", json=sent, headers=headers)


def assert_is_nobody(answer: httpx.Response) -> None:
    assert answer.status_code == 403
    assert answer.text.endswith("blocks this page's cookie. Open the page in its own tab.")


@pytest.mark.parametrize(
    ("protocols", "expected"),
    [
        ("https", True),
        ("https, http", True),
        ("https,http", True),
        ("http, https", False),
        ("", False),
    ],
)
def test_the_first_proxy_says_what_the_browser_uses(protocols, expected):
    assert is_https({"scheme": "http"}, Headers({"x-forwarded-proto": protocols})) is expected


@pytest.mark.parametrize(
    ("headers", "where"),
    [({}, "SameSite=Lax"), ({"x-forwarded-proto": "https"}, "Secure; SameSite=None; Partitioned")],
    ids=["http", "https"],
)
def test_the_cookie_is_set_once_and_fits_the_scheme(server, headers, where):
    first = httpx.get(server.address, headers=headers)
    line = set_cookie(first)
    value = re.fullmatch(
        rf"{COOKIE}=({SIGNED}); Max-Age=31536000; Path=/; HttpOnly; {where}", line
    )[1]
    again = httpx.get(server.address, headers={**headers, "cookie": f"{COOKIE}={value}"})
    assert set_cookie(again) is None
    assert value not in first.text and value not in again.text
    assert (
        set_cookie(httpx.get(server.address, headers=headers)).split(";")[0] != f"{COOKIE}={value}"
    )


def test_only_the_page_sets_the_cookie(server):
    for path in ("/config", "/healthz", "/terms", "/nothing", "/gradio_api/info"):
        assert set_cookie(httpx.get(server.address + path)) is None


@pytest.mark.parametrize("value", MALFORMED)
def test_a_malformed_cookie_is_replaced(server, value):
    answer = httpx.get(server.address, headers={"cookie": f"{COOKIE}={value}".encode()})
    assert re.match(rf"{COOKIE}={SIGNED};", set_cookie(answer) or "")


def test_a_malformed_cookie_makes_no_voter(server):
    """Nobody can choose a cookie that others have too, as the empty one."""
    for value in MALFORMED:
        assert_is_nobody(act(server, "next", f"{COOKIE}={value}"))
        assert_is_nobody(act(server, "choose", f"{COOKIE}={value}", battle="x.1", value="a"))


def test_other_cookies_of_the_host_do_not_hide_ours(server):
    """Another program on the same host may set what it likes."""
    with Voter(server.address) as voter:
        voter.load()
        for other in (
            'settings={"a": [1, 2]}',
            "a=b c",
            "=",
            "ä=ö",
            'x="unclosed',
            "a[1]=2",
            "token=a,b",
        ):
            for line in (
                f"{other}; {COOKIE}={cookie_of(voter)}",
                f"{COOKIE}={cookie_of(voter)}; {other}",
            ):
                assert (
                    set_cookie(httpx.get(server.address, headers={"cookie": line.encode()})) is None
                ), line
                assert act(server, "next", line).json()["battle"] == voter.token, line


@pytest.mark.parametrize("name", ["choose", "undo", "names", "skip"])
def test_a_battle_is_its_voters_alone(server, name):
    """Another cookie, a token of an attempt that was never begun, or none at all act in no battle."""
    with Voter(server.address) as owner, Voter(server.address) as thief:
        owner.load()
        thief.load()
        value = "cannot judge" if name == "skip" else "b"
        for token in (owner.token, owner.token[:-1], f"{owner.token[:-1]}3", "x.1", ""):
            with pytest.raises(EventError, match="isn't yours or doesn't exist"):
                thief.act(name, battle=token, value=value)
        assert votes(server, owner.token) == []
        owner.choose("b")
        assert votes(server, owner.token) == [("b", cookie_hash(cookie_of(owner)))]


def test_without_a_cookie_every_act_asks_for_a_tab_of_its_own(server):
    """Some browsers keep no cookie of a page inside a frame."""

    def voters() -> int:
        with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
            return database.execute("SELECT count(*) FROM voter").fetchone()[0]

    before = voters()
    for name in sorted(ACTS):
        assert_is_nobody(httpx.post(f"{server.address}/battle/{name}", json={"battle": "x.1"}))
    assert voters() == before


# Signed cookies: only those that we have issued are believed.
FORGED = (
    "x" * 32,
    lambda cookie: cookie[:32],
    lambda cookie: f"{cookie[:-1]}{'A' if cookie[-1] != 'A' else 'Q'}",
    lambda cookie: f"{'x' * 32}{cookie[32:]}",
    lambda cookie: f"{cookie[:33]}{'0' * 8}{cookie[41:]}",
)


@pytest.mark.parametrize("forge", FORGED, ids=range(len(FORGED)))
def test_nobody_can_make_a_cookie(server, forge):
    """Not from nothing, not from a cookie that was issued and never used."""
    fresh = set_cookie(httpx.get(server.address)).split(";")[0].partition("=")[2]
    forged = forge if isinstance(forge, str) else forge(fresh)
    assert_is_nobody(act(server, "next", f"{COOKIE}={forged}"))
    given = set_cookie(httpx.get(server.address, headers={"cookie": f"{COOKIE}={forged}"}))
    assert re.match(rf"{COOKIE}={SIGNED};", given or "") and forged[:32] not in given
    both = f"{COOKIE}={forged}; {COOKIE}={fresh}; theme=dark"
    assert set_cookie(httpx.get(server.address, headers={"cookie": both})) is None, (
        "the signed one of two counts"
    )


def test_a_cookie_beside_a_signed_one_is_nobody(server):
    """Whoever has one signed cookie would else be any number of voters, each as old as it says."""
    fresh = set_cookie(httpx.get(server.address)).split(";")[0].partition("=")[2]
    invented = ("x" * 32, f"{'y' * 32}.5f000000.{'a' * 22}", f"{'z' * 32}{fresh[32:]}")
    for other in invented:
        for sent in (
            f"{COOKIE}={other}; {COOKIE}={fresh}",
            f"{COOKIE}={fresh}; {COOKIE}={other}",
        ):
            assert act(server, "next", sent).status_code == 200
            unfinished = httpx.get(f"{server.address}/live/unfinished", headers={"cookie": sent})
            assert unfinished.status_code == 200
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        known = {hashed for (hashed,) in database.execute("SELECT cookie_hash FROM voter")}
    assert cookie_hash(fresh) in known
    assert known.isdisjoint(map(cookie_hash, invented))


def test_without_our_signature_a_voters_own_cookie_is_nobody(server):
    with Voter(server.address) as voter:
        voter.load()
        own = cookie_of(voter)
        for changed in (own[:32], f"{own[:32]}{VoterCookies(b'another key').new()[32:]}"):
            assert_is_nobody(act(server, "next", f"{COOKIE}={changed}"))
            given = set_cookie(
                httpx.get(server.address, headers={"cookie": f"a=b; {COOKIE}={changed}"})
            )
            assert re.match(rf"{COOKIE}={SIGNED};", given) and own[:32] not in given


def test_a_voter_is_as_old_as_the_cookie(server):
    aged = datetime.now(UTC).replace(microsecond=0) - timedelta(days=40)
    cookie = signer_of(server.data_dir).signed(new_cookie_value(), aged)
    assert act(server, "next", f"{COOKIE}={cookie}").status_code == 200
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        told = database.execute(
            "SELECT since FROM voter WHERE cookie_hash = ?", (cookie_hash(cookie),)
        ).fetchone()
    assert told == (int(aged.timestamp()) * 1_000_000,)
