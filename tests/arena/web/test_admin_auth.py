"""Operators: whose name is in the list, and what the one-time link opens, once."""

import pytest

from arena.battles.voters import Account, Voters
from arena.database import Database
from arena.web import admin_auth as access
from arena.web.admin_auth import DAY, LINK, MOST_REFUSED, OPERATOR_COOKIE, LinkError, Operators
from arena.web.cookies import COOKIE, new_cookie_value
from tests.support.run_desk import RunDesk


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def voters(tmp_path) -> Voters:
    return Voters(Database(f"sqlite:///{tmp_path / 'arena.db'}"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def by_link(voters, clock) -> Operators:
    return Operators(frozenset(), voters, by_link=True, clock=clock)


def code_of(operators: Operators) -> str:
    link = operators.link("http://127.0.0.1:7860")
    assert link is not None and link.startswith("http://127.0.0.1:7860/run#code=")
    return link.partition("=")[2]


def carrying(cookie: str, name: str = OPERATOR_COOKIE) -> dict[str, str]:
    return {"cookie": f"a=b; {name}={cookie}"}


def test_nobody_is_an_operator_before_the_link_is_opened(by_link):
    for headers in (
        {},
        carrying(""),
        carrying(new_cookie_value()),
        carrying(code_of(by_link)),
        carrying("None"),
    ):
        assert by_link.of(headers) is None


def test_the_link_opens_once_for_one_browser(by_link):
    code = code_of(by_link)
    cookie = by_link.redeem(code)
    assert by_link.of(carrying(cookie)) == LINK
    assert cookie != code and by_link.of(carrying(code)) is None
    assert by_link.of(carrying(cookie, COOKIE)) is None
    with pytest.raises(LinkError, match="is used"):
        by_link.redeem(code)
    assert by_link.of(carrying(cookie)) == LINK
    assert by_link.link("http://127.0.0.1:7860") is None


@pytest.mark.parametrize("wrong", ["", "x", "é" * 32, "x" * 10_000])
def test_another_code_opens_nothing(by_link, wrong):
    code = code_of(by_link)
    with pytest.raises(LinkError):
        by_link.redeem(wrong)
    with pytest.raises(LinkError):
        by_link.redeem(code[:-1])
    assert by_link.redeem(code)


def test_an_unused_link_is_over_after_a_day(by_link, clock):
    clock.seconds += DAY
    with pytest.raises(LinkError, match="has expired"):
        by_link.redeem(code_of(by_link))


def test_the_cookie_is_over_a_day_after_it_was_bound(by_link, clock):
    clock.seconds += DAY - 1
    cookie = by_link.redeem(code_of(by_link))
    clock.seconds += DAY - 1
    assert by_link.of(carrying(cookie)) == LINK
    clock.seconds += 1
    assert by_link.of(carrying(cookie)) is None


def test_the_link_dies_with_the_process(by_link, voters):
    cookie = by_link.redeem(code_of(by_link))
    after_restart = Operators(frozenset(), voters, by_link=True)
    assert after_restart.of(carrying(cookie)) is None
    assert code_of(after_restart) != code_of(Operators(frozenset(), voters, by_link=True))


def test_wrong_codes_are_held_off_but_never_the_right_one(by_link, clock):
    """Nobody can keep the operator out by guessing."""

    def refused() -> bool:
        with pytest.raises(LinkError) as told:
            by_link.redeem("wrong")
        return told.value.too_many

    assert [refused() for _ in range(MOST_REFUSED + 2)] == [False] * MOST_REFUSED + [True] * 2
    clock.seconds += 60
    assert not refused()
    assert by_link.redeem(code_of(by_link))


def test_on_a_space_the_login_s_name_decides(voters):
    space = Operators(frozenset({"anna"}), voters, by_link=False)
    assert space.link("http://127.0.0.1:7860") is None
    with pytest.raises(LinkError):
        space.redeem("")
    cookies = {name: new_cookie_value() for name in ("Anna", "ben", "anna2")}
    for name, cookie in cookies.items():
        voters.log_in(Account(name, name), "", _hash(cookie))
    assert space.of(carrying(cookies["Anna"], COOKIE)) == "Anna"
    assert [space.of(carrying(cookies[name], COOKIE)) for name in ("ben", "anna2")] == [None, None]
    assert space.of(carrying(new_cookie_value(), COOKIE)) is None
    voters.log_out(_hash(cookies["Anna"]))
    assert space.of(carrying(cookies["Anna"], COOKIE)) is None


def test_the_route_binds_the_browser_that_sends_the_code(tmp_path):
    desk = RunDesk.of(Database(f"sqlite:///{tmp_path / 'arena.db'}"), tmp_path)
    client = desk.stranger()
    code = desk.code
    path = "/run/enter"
    assert client.post(path).status_code == 403
    assert client.post(path, content=b"\xff").status_code == 403
    assert client.get(f"{path}?code={code}").status_code == 405, (
        "a code in an address would be in logs"
    )
    answer = client.post(path, data={"code": code}, follow_redirects=False)
    line = answer.headers["set-cookie"]
    assert (answer.status_code, answer.headers["location"]) == (303, "/run")
    assert code not in line
    assert line.endswith(f"Max-Age={DAY}; Path=/; HttpOnly; SameSite=Lax")
    assert desk.operators.of({"cookie": line.partition(";")[0]}) == LINK
    again = client.post(path, data={"code": code}, follow_redirects=False)
    assert again.status_code == 303 and "set-cookie" not in again.headers, (
        "the same browser opens the link again"
    )
    client.cookies.clear()
    again = client.post(path, data={"code": code})
    assert again.status_code == 403 and "set-cookie" not in again.headers and code not in again.text
    for _ in range(MOST_REFUSED):
        last = client.post(path, data={"code": "guess"})
    assert last.status_code == 429


def _hash(cookie: str) -> str:
    return access.cookie_hash(cookie)
