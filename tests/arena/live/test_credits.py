"""Visitors' credits: whose key asks, until when it is kept, and what a refusal by the router says."""

import asyncio
import pickle
import sqlite3
from collections.abc import Iterator
from contextlib import aclosing, closing
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from arena.admin.erasure import Erasure
from arena.battles.voters import Account, Voters
from arena.budget import LIVE, Budget, Ceilings
from arena.inference.weights import Downloads
from arena.live.credits import LOGIN_OVER, LONGEST_SECONDS, Credits
from arena.live.images import OwnImages
from arena.live.models import LiveModels
from arena.live.offer import offer_of
from arena.live.queue import LiveBudget
from arena.server.hub_token import catalogue_keys, operator_is_visitor, operator_token
from arena.settings import Settings
from arena.types import ModelError, Secret
from arena.web.live_view import offer_html
from tests.support.blindness import told
from tests.support.live_pages import opened, phase, photo
from tests.support.live_visitor import Visitor, card, picture
from tests.support.oidc_server import Person
from tests.support.openai_server import OpenAIServer
from tests.support.router_server import (
    MODELS,
    NO_PROVIDER,
    OPERATOR,
    TEXT,
    CreditsApp,
    credits_app,
)
from tests.support.screens import PHONE, press, see_both
from tests.support.scripted_vlm import ScriptedVLM

ANNA = Secret("hf_oauth_anna0123456789")
BEN = Secret("hf_oauth_ben0123456789")
HIDDEN = {*MODELS, *MODELS.values()}
CONSENT = "Use my Hugging Face credits"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_key_is_its_visitors_until_it_expires():
    clock = Clock()
    credits = Credits(clock=clock)
    credits.keep(1, ANNA, 60)
    credits.keep(2, BEN, 10 * LONGEST_SECONDS)
    credits.keep(3, Secret("no\ntoken at all"), 60)
    assert (credits.key(1), credits.key(2), credits.key(3)) == (ANNA, BEN, None)
    clock.now = 61
    assert credits.key(1) is None and credits.voters == (1, 2)
    credits.tidy(lambda asked: asked)
    assert credits.voters == (2,), "what has expired is not kept until somebody asks for it"
    clock.now = LONGEST_SECONDS + 1
    assert credits.key(2) is None


def test_a_late_refusal_drops_no_newer_key():
    credits = Credits()
    credits.keep(1, BEN, 60)
    credits.drop(1, ANNA)
    assert credits.key(1) == BEN
    credits.drop(1, BEN)
    assert credits.voters == ()


def test_a_login_that_comes_while_it_is_tidied_up_keeps_its_key():
    credits = Credits()
    credits.keep(1, ANNA, 60)

    def logged_in(asked):
        assert list(asked) == [1]
        credits.keep(1, BEN, 60)
        return ()

    credits.tidy(logged_in)
    assert credits.key(1) == BEN


def test_a_key_that_is_gone_while_an_answer_waits_is_not_used(database):
    credits = Credits()
    credits.keep(1, ANNA, 60)
    vlm = ScriptedVLM("one")
    vlm.card = replace(vlm.card, visitor_key=True)
    budget = Budget(database, Ceilings(10**9, 10**9, 10**9), LIVE)
    live_budget = LiveBudget(budget, "battle", 1, key=partial(credits.key, 1))
    credits.drop(1)

    async def ask() -> None:
        async with aclosing(live_budget.stream_answer(vlm, [])) as pieces:
            async for _ in pieces:
                raise AssertionError("it was asked")

    with pytest.raises(ModelError):
        asyncio.run(ask())
    assert live_budget.closing_reason == LOGIN_OVER


def test_keys_are_in_no_pickle():
    credits = Credits()
    credits.keep(1, ANNA, 60)
    with pytest.raises(TypeError):
        pickle.dumps(vars(credits)["_lent"])
    assert ANNA.reveal() not in repr(vars(credits))


def test_an_erasure_and_a_logout_elsewhere_drop_the_key(database, tmp_path):
    voters = Voters(database)
    credits = Credits()
    anna = voters.log_in(Account("1", "anna"), "guest-1", "cookie-1")
    ben = voters.log_in(Account("2", "ben"), "guest-2", "cookie-2")
    credits.keep(anna, ANNA, 60)
    credits.keep(ben, BEN, 60)
    Erasure(database, OwnImages(database, tmp_path), credits=credits).forget(anna, "ada")
    assert credits.voters == (ben,)
    credits.tidy(voters.logged_in)
    assert credits.voters == (ben,)
    voters.log_out("cookie-2")
    credits.tidy(voters.logged_in)
    assert credits.voters == ()


def test_the_operators_token_stands_for_visitors_only_where_nobody_logs_in(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", OPERATOR)
    laptop = Settings.from_env({})
    with_login = Settings.from_env({"OAUTH_CLIENT_ID": "a public app"})
    space = Settings.from_env({"SPACE_ID": "ada/arena"})
    keys = [catalogue_keys(settings)("visitor") for settings in (laptop, with_login, space)]
    assert [key.reveal() for key in keys] == [OPERATOR, "", ""]
    assert [operator_is_visitor(settings) for settings in (laptop, with_login, space)] == [
        True,
        False,
        False,
    ]
    credits = Credits(operator_token)
    assert credits.key(1) == Secret(OPERATOR) and not credits.do_visitors_pay
    monkeypatch.delenv("HF_TOKEN")
    assert credits.key(1) is None


class Answered(NamedTuple):
    """The last scene of a battle, all that the visitor received of it, and the models that were asked."""

    scene: dict
    received: bytes
    asked: set[str]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[CreditsApp]:
    with credits_app(tmp_path_factory.mktemp("credits")) as running:
        yield running


async def consent(site: CreditsApp, visitor: Visitor, name: str, number: str) -> str:
    """Lend a person's credits, as a browser does; return the token."""
    site.provider.person = Person(number, name)
    answer = await visitor.client.get("/login/credits", follow_redirects=True)
    assert answer.url.path == "/own"
    return site.provider.tokens[-1]


async def offered(visitor: Visitor) -> dict:
    return (await visitor.client.get("/live/models")).json()


async def battle(site: CreditsApp, visitor: Visitor, text: str) -> Answered:
    before = len(site.router.counts.bodies)
    path = f"/live/battles/{await visitor.begin(text)}"
    visitor.bytes = b""
    messages = await visitor.watch(path)
    asked = {body["model"] for body in site.router.counts.bodies[before:]}
    return Answered(messages[-1], visitor.bytes, asked)


async def refused(visitor: Visitor) -> str:
    """Ask without a key, which must be refused."""
    image = await visitor.upload(picture())
    return await visitor.refused("/live/battles", {"instruction": "nobody", "images": [image]})


def rows(site: CreditsApp, query: str) -> list[tuple]:
    with closing(sqlite3.connect(site.app.data_dir / "arena.db")) as database:
        return database.execute(query).fetchall()


FAILED = "SELECT DISTINCT name FROM live_failure JOIN model ON model.id = model_id"


def forget_failures(site: CreditsApp) -> None:
    with closing(sqlite3.connect(site.app.data_dir / "arena.db")) as database, database:
        database.execute("DELETE FROM live_failure")


def test_each_visitor_asks_with_the_own_key_and_nobody_else(site):
    async def run() -> None:
        async with (
            Visitor(site.app.address) as anna,
            Visitor(site.app.address) as ben,
            Visitor(site.app.address) as guest,
        ):
            offer = await offered(guest)
            assert offer["state"] == "login" and CONSENT in offer["html"]
            assert "Each battle costs you about $0.001 to $0.008." in offer["html"]
            assert "two models" in await refused(guest)
            keys = {
                "Anna asks.": await consent(site, anna, "Anna", "a"),
                "Ben asks.": await consent(site, ben, "Ben", "b"),
            }
            assert (await offered(anna))["state"] == "ready"
            answered = await asyncio.gather(
                battle(site, anna, "Anna asks."), battle(site, ben, "Ben asks.")
            )
            assert [one.scene["phase"] for one in answered] == ["open", "open"]
            assert site.router.asked_by() == set(keys.items())
            await anna.client.post("/logout", headers={"origin": site.app.address})
            assert (await offered(anna))["state"] == "login"
            assert "two models" in await refused(anna)
            site.provider.person = Person("a", "Anna")
            await anna.client.get("/login", follow_redirects=True)
            assert (await offered(anna))["state"] == "login", "a login alone lends nothing"

    asyncio.run(run())
    assert OPERATOR not in site.router.counts.keys
    scopes = [asked["scope"] for asked in site.provider.asked]
    assert scopes == [*["openid profile inference-api"] * 2, "openid profile"]
    budgets = "SELECT count(*) FROM budget WHERE name LIKE 'live %'"
    assert rows(site, budgets) == [(0,)], "it costs the operator nothing"


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "Your Hugging Face login has expired. Log in again."),
        (402, "Your Hugging Face credits are used up."),
        (403, "This login isn't allowed to use Inference Providers."),
        (404, "Hugging Face has no server for this battle right now."),
        (429, "Hugging Face isn't taking more questions from you right now."),
        (NO_PROVIDER, "Hugging Face has no server for this battle right now."),
    ],
)
def test_a_refusal_ends_both_sides_at_once_and_tells_nothing_of_them(site, status, sentence):
    """One model of the two or both are refused: the same words, and no third model."""
    one, two, three = MODELS

    async def run() -> list[Answered]:
        async with Visitor(site.app.address) as visitor:
            found = []
            for refuses in ((one, two, three), (one, two)):
                await consent(site, visitor, "Anna", "a")
                site.router.refuses = dict.fromkeys(refuses, status)
                found.append(await battle(site, visitor, "What is this?"))
            state = (await offered(visitor))["state"]
            assert state == ("login" if status == 401 else "ready")
            site.router.refuses = {}
            return found

    both, maybe_one = asyncio.run(run())
    for answered in (both, maybe_one):
        scene = answered.scene
        assert scene["phase"] == "void" and sentence in scene["parts"]["status"]
        assert "live/images/" not in scene["parts"]["subject"], "they are deleted by now"
        assert told(HIDDEN, answered.received) == set()
        assert len(answered.asked) <= 2
    assert both.scene["parts"] | {"subject": ""} == maybe_one.scene["parts"] | {"subject": ""}
    failed = {name for (name,) in rows(site, FAILED)}
    assert bool(failed) == (status not in (401, 402, 403)), (
        "the operator sees what may be no visitor's"
    )
    assert failed <= {MODELS[one], MODELS[two], MODELS[three]}
    forget_failures(site)


def test_a_model_that_fails_by_itself_is_replaced(site):
    """With a visitor's key as with the operator's: 500 is the model's fault."""
    site.router.refuses = {next(iter(MODELS)): 500}

    async def run() -> list[Answered]:
        async with Visitor(site.app.address) as visitor:
            await consent(site, visitor, "Anna", "a")
            return [await battle(site, visitor, "What is this?") for _ in range(4)]

    try:
        assert {answered.scene["phase"] for answered in asyncio.run(run())} == {"open"}
    finally:
        site.router.refuses = {}
        forget_failures(site)


def test_beside_other_models_every_battle_of_a_lent_key_needs_it(tmp_path):
    """A logout in another browser ends each of them before a follow-up, and none that was begun without a key."""
    model, name = next(iter(MODELS.items()))

    async def run(site: CreditsApp) -> None:
        async with Visitor(site.app.address) as visitor, Visitor(site.app.address) as elsewhere:
            site.provider.person = Person("a", "Anna")
            await visitor.client.get("/login", follow_redirects=True)
            without = f"/live/battles/{await visitor.begin('Without a key.')}"
            await visitor.watch(without)
            assert site.router.counts.bodies == []
            await consent(site, visitor, "Anna", "a")
            await visitor.post(f"{without}/questions", {"text": "And what else?"})
            assert (await visitor.watch(without))[-1]["phase"] == "open"
            for _ in range(3):
                answered = await battle(site, visitor, "With a key.")
                assert answered.asked == {f"{model}:cheapest"}
            await consent(site, elsewhere, "Anna", "a")
            await elsewhere.client.post("/logout", headers={"origin": site.app.address})
            follow_up = f"/live/battles/{answered.scene['battle']}/questions"
            assert LOGIN_OVER in await visitor.refused(follow_up, {"text": "And what else?"})

    with OpenAIServer(lambda body, _: TEXT, models=("one", "two")) as server:
        own = [card(f"Own {other}", other, server) for other in server.models]
        with credits_app(tmp_path, {model: name}, own) as site:
            asyncio.run(run(site))


def test_a_phone_lends_its_credits_and_votes(site, browser):
    """The picture and the text are there again after the login, and the names come after the choice."""
    site.provider.person = Person("c", "Cleo")
    with opened(browser, site.app.address, PHONE) as page:
        page.set_input_files("#live-files", [photo()])
        page.fill("#live-text", "What is this?")
        page.check("#live-keep")
        page.get_by_role("link", name=CONSENT).click()
        page.wait_for_url("**/own")
        expect(page.locator("#live-thumbs li")).to_have_count(1)
        expect(page.locator("#live-text")).to_have_value("What is this?")
        expect(page.locator("#live-keep")).to_be_checked()
        expect(page.locator("#live-offer")).to_contain_text("Each battle costs you about $")
        page.locator("#live-send").click()
        phase(page, "open")
        see_both(page)
        press(page, "#choose-a")
        press(page, "#names")
        phase(page, "revealed")
        expect(page.locator("#status")).to_contain_text("You chose A")
        page.reload()
        expect(page.locator("#live-send")).to_be_visible()
        expect(page.locator("#live-text")).to_have_value("")
        await_drafts(page, 0)
    assert any("Cleo" in key for key in site.router.counts.keys)


def await_drafts(page: Page, number: int) -> None:
    """Wait until the browser keeps so many forms that were left for a login."""
    for _ in range(200):
        if len(page.evaluate("indexedDB.databases()")) == number:
            return
        page.wait_for_timeout(25)
    raise AssertionError(page.evaluate("indexedDB.databases()"))


def test_a_login_that_is_given_up_leaves_its_draft_for_an_hour(site, browser):
    with opened(browser, site.app.address, PHONE) as page:
        page.route("**/login/credits", lambda route: route.fulfill(status=204))
        page.fill("#live-text", "What is this?")
        page.get_by_role("link", name=CONSENT).click()
        await_drafts(page, 1)
        with page.context.new_page() as tab:
            tab.goto(page.url)
            expect(tab.get_by_role("link", name=CONSENT)).to_be_visible()
            await_drafts(tab, 1)
            tab.clock.install()
            tab.clock.fast_forward("01:01:00")
            tab.reload()
            await_drafts(tab, 0)


def test_a_router_without_two_models_says_so():
    models = LiveModels([], Downloads((), print), print)
    assert offer_of(models, None, "login", has_catalogue=True).state == "none"
    models.routed.problems = ("X: not checked.",)
    offer = offer_of(models, None, "login", has_catalogue=True)
    assert offer.state == "unserved"
    assert "Fewer than two of these models" in offer_html(offer, True)
    away = offer_html(offer._replace(hub="router.example"), True)
    assert "connect to router.example" in away
    models.routed.is_reading = True
    assert offer_of(models, None, "login", has_catalogue=True).state == "loading"
