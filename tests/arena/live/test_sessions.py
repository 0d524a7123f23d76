"""Live battles through the real app: blindness, bad input, failing models, closed tabs, budgets, own images."""

import asyncio
import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import httpx
import pytest
from scipy.stats import ks_2samp

from arena.admin.erasure import Erasure
from arena.context import ArenaContext
from arena.database import Database
from arena.live.images import OwnImages
from arena.live.queue import DISCONNECT_SECONDS
from arena.live.sessions import MOST_TEXT
from arena.live.streaming import ENOUGH_WORDS
from arena.settings import Settings
from arena.types import Item
from tests.support.blindness import told
from tests.support.live_visitor import Visitor, card, catalogue, picture, says, table
from tests.support.openai_server import Body, Faults, OpenAIServer
from tests.support.servers import AppServer

TEXT = "The picture is red all over and nothing else can be seen in it, which is a pity."
NAMES = ("Quxolotl-7B", "Vellichor XL", "Sphexish Tiny", "Oblomov (2026)")
MODELS = ("org/quxolotl", "vellichor-latest", "oblomov_v2")
MAKERS = ("Krummhorn Laboratory", "Zink & Söhne", "Rackett AG", "Dulzian Works")


def at_length(body: Body, _: int) -> str:
    """Say 40 to 80 words, more than come before both begin; each of two models says more as often as the other."""
    number = re.findall(r"number (\d+)", str(body["messages"])) or ["0"]
    lengths = hashlib.sha256(number[0].encode()).digest()
    first = (int(number[0]) % 2 == 0) == (body["model"] == MODELS[1])
    return " ".join(f"{TEXT} {TEXT} {TEXT} {TEXT} {TEXT}".split()[: 40 + lengths[first] % 41])


class Arena(NamedTuple):
    """An app whose live models are a fast endpoint, a slow one, and a model of this machine, without its weights."""

    app: AppServer
    fast: OpenAIServer
    slow: OpenAIServer
    folder: str


@pytest.fixture(scope="module")
def arena(tmp_path_factory) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("live")
    models = folder / "sphexish-weights"
    models.mkdir()
    (models / "config.json").write_text("{}")
    with (
        OpenAIServer(at_length, models=MODELS) as fast,
        OpenAIServer(at_length, models=MODELS) as slow,
    ):
        local = {
            "name": NAMES[2],
            "kind": "local",
            "folder": str(models),
            "images": 10,
            "live": True,
        }
        cards = (
            card(NAMES[0], "org/quxolotl", fast),
            card(NAMES[1], "vellichor-latest", slow),
            table({**local, "max_tokens": 16, "device": "cpu"}),
            card(NAMES[3], "oblomov_v2", fast),
        )
        tables = [
            f"{one}[models.facts]\norganisation = {json.dumps(maker)}\n"
            for one, maker in zip(cards, MAKERS, strict=True)
        ]
        environ = {
            "LIVE_AT_ONCE": "40",
            "LIVE_SOON": "yes",
            "LIVE_PACE": "as people see it",
            "STAND_IN_MODELS": "yes",
        }
        app = AppServer(folder / "data", MODELS=catalogue(folder, *tables), **environ)
        yield Arena(app, fast, slow, str(models))
        app.stop()


WHO = "Who are you?"


def plain(body: Body, _: int) -> str:
    """Say the same as the other model, but to whoever asks for a name."""
    return f"I am Model {body['model']}." if WHO in str(body["messages"]) else TEXT


class Pair(NamedTuple):
    """An app with two models of one endpoint."""

    app: AppServer
    server: OpenAIServer


@contextmanager
def two_models(
    folder: Path, score: Callable[[Body, int], str], pace: float = 0.0, **environ: str
) -> Iterator[Pair]:
    """Run an app with two models whose tokens cost something."""
    with OpenAIServer(score, models=("one", "two"), pace=pace) as server:
        price = {"prompt_price": 1.0, "completion_price": 1.0}
        tables = [card(f"Model {name}", name, server, **price) for name in server.models]
        app = AppServer(
            folder / "data", MODELS=catalogue(folder, *tables), LIVE_SOON="yes", **environ
        )
        try:
            yield Pair(app, server)
        finally:
            app.stop()


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> Iterator[Pair]:
    """Two models that answer at once, for tests that look at what they themselves changed."""
    with two_models(tmp_path_factory.mktemp("pair"), plain) as running:
        yield running


BRIEFLY = "Say it briefly, if you can."


def at_ease(body: Body, _: int) -> str:
    """Speak for long, but one of the models also briefly."""
    brief = body["model"] == "one" and BRIEFLY in str(body["messages"])
    return "A red square, and nothing else." if brief else TEXT * 50


@pytest.fixture(scope="module")
def talkers(tmp_path_factory) -> Iterator[Pair]:
    """Two models that speak slowly and for long."""
    with two_models(
        tmp_path_factory.mktemp("talkers"), at_ease, pace=0.03, LIVE_AT_ONCE="200"
    ) as running:
        yield running


RANKED = """SELECT count(*) FROM battle
    WHERE answer_a IS NULL AND choice IS NOT NULL AND outside IS NULL"""


def rows(app: AppServer, query: str) -> list[tuple]:
    with closing(sqlite3.connect(app.data_dir / "arena.db")) as database:
        return database.execute(query).fetchall()


def growths(messages: list[dict], side: str) -> list[float]:
    """Return the pauses between a side's growths."""
    at = [
        message["at"]
        for message in messages
        if message["kind"] == "words"
        and any(message["sides"][side].get(key) for key in ("added", "last", "blocks"))
    ]
    return [later - earlier for earlier, later in zip(at, at[1:], strict=False)]


async def one_battle(visitor: Visitor, number: int) -> tuple[bytes, bytes, dict[str, list[float]]]:
    """Fight a battle; return the bytes before the names, those of the names, and the pauses by model."""
    token = await visitor.begin(f"Describe it, number {number}.", images=1 + number % 2)
    path = f"/live/battles/{token}"
    messages = await visitor.watch(path)
    if messages[-1]["phase"] == "void":
        return visitor.bytes, b"", {}
    await visitor.refused(f"{path}/choose", {"value": "C"})
    if number % 5 == 0:
        await visitor.post(f"{path}/questions", {"text": "And what else?"})
        await visitor.watch(path)
    await visitor.post(f"{path}/choose", {"value": "ab"[number % 2]})
    if number % 4 == 0:
        undone = await visitor.post(f"{path}/undo")
        path = f"/live/battles/{undone['battle']}"
        await visitor.post(f"{path}/choose", {"value": "a"})
    before, visitor.bytes = visitor.bytes, b""
    scene = await visitor.post(f"{path}/names")
    named, visitor.bytes = visitor.bytes, b""
    models = {
        side: re.findall(r'class="model">(.*?)<', scene["parts"][f"title-{side}"])[0]
        for side in "ab"
    }
    return before, named, {models[side]: growths(messages, side) for side in models}


async def many_battles(
    address: str, battles: int, at_once: int
) -> list[tuple[bytes, bytes, dict[str, list[float]]]]:
    async def visit(first: int) -> list:
        async with Visitor(address) as visitor:
            return [await one_battle(visitor, number) for number in range(first, battles, at_once)]

    return [one for each in await asyncio.gather(*map(visit, range(at_once))) for one in each]


@pytest.mark.parametrize("battles", [12, pytest.param(200, marks=pytest.mark.soak)])
def test_live_battles_tell_no_model_before_the_choice(arena, battles):
    """Endpoints and a local model mixed, one five times slower: no name, id or address, and no timing of a side."""
    hurry = 1 if battles >= 200 else 4
    arena.fast.pace = 0.01 / hurry
    arena.slow.pace = 0.05 / hurry
    played = asyncio.run(many_battles(arena.app.address, battles, min(battles, 20)))
    hidden = {
        *NAMES,
        *MODELS,
        *MAKERS,
        arena.folder,
        arena.fast.address,
        arena.slow.address,
        "sphexish-weights",
    }
    hidden |= {
        re.sub("https?://", "", server.address).split("/")[0] for server in (arena.fast, arena.slow)
    }
    finished = [one for one in played if one[1]]
    assert len(finished) >= 0.95 * battles
    for before, named, _ in finished:
        assert told(hidden, before) == set()
        assert len(told(set(NAMES), named)) == len(told(set(MAKERS), named)) == 2, (
            "the names are shown after the choice, with facts, so that this test can fail"
        )
    met = [of for *_, of in finished if NAMES[1] in of and NAMES[2] not in of and all(of.values())]
    slow = [mean(of[NAMES[1]]) for of in met]
    others = [mean(pauses) for of in met for name, pauses in of.items() if name != NAMES[1]]
    apart = [
        mean(pauses)
        for *_, of in finished
        if NAMES[1] not in of
        for pauses in of.values()
        if pauses
    ]
    # Chance may bring the slow model into none of a few battles; or it says more in each, and who says more rests once.
    if battles >= 200:
        assert len(slow) > battles / 20
        assert ks_2samp(slow, others).pvalue > 0.01
        assert ks_2samp(slow, apart).pvalue < 0.01, (
            "battles differ in speed, so that this test can fail"
        )


def test_sides_are_fair(arena):
    """After the battles above: either model of a pair stands left as often."""
    with closing(sqlite3.connect(arena.app.data_dir / "arena.db")) as database:
        left, all_of_them = database.execute(
            "SELECT sum(model_a < model_b), count(model_a) FROM battle WHERE answer_a IS NULL"
        ).fetchone()
    assert all_of_them >= 10
    assert abs(left - all_of_them / 2) < 4 * all_of_them**0.5 / 2


def test_bad_input_is_told_what_to_do(pair):
    async def run() -> None:
        async with Visitor(pair.app.address) as visitor:
            image = await visitor.upload(picture())
            good = {"instruction": "Describe it.", "images": [image]}
            for change, said in (
                ({"instruction": " \n"}, "Write an instruction"),
                ({"instruction": "x" * 20_000}, "20,000 characters"),
                ({"instruction": "a\u0007b"}, "has invisible characters. Write"),
                ({"images": []}, "Add an image"),
                ({"images": [image] * 11}, "at most 10 images"),
                ({"images": ["forged"]}, "no longer here"),
                ({"images": "x"}, "list of texts"),
                ({"images": [{"path": "/etc/passwd"}]}, "list of texts"),
                ({"item": "none"}, "This item isn't here"),
                ({"keep": "yes"}, "true or false"),
            ):
                assert said in await visitor.refused("/live/battles", {**good, **change}), change
            for body in (
                b"",
                b"[]",
                b'{"a":1,"a":2}',
                b"\xff",
                b'{"instruction":"\\ud800","images":["x"]}',
            ):
                assert (await visitor.client.post("/live/battles", content=body)).status_code == 400
            for token in ("forged.1", "x", "%00.1", "..%2f..%2fetc"):
                for what in ("stop", "undo", "names"):
                    assert (
                        await visitor.client.post(f"/live/battles/{token}/{what}", json={})
                    ).status_code in (
                        400,
                        404,
                    )
                assert (await visitor.client.get(f"/live/battles/{token}")).status_code in (
                    400,
                    404,
                )
                assert (await visitor.client.get(f"/live/images/{token}")).status_code == 404

    asyncio.run(run())


def test_a_follow_up_that_no_model_can_take_leaves_the_battle_as_it_was(pair):
    before = rows(pair.app, "SELECT count(*) FROM live_failure")

    async def run() -> None:
        async with Visitor(pair.app.address) as visitor:
            path = f"/live/battles/{await visitor.begin('看' * 4_500)}"
            await visitor.watch(path)
            assert "too long" in await visitor.refused(f"{path}/questions", {"text": "看" * 4_500})
            assert (await visitor.watch(path))[-1]["phase"] == "open"
            await visitor.post(f"{path}/choose", {"value": "a"})

    asyncio.run(run())
    assert rows(pair.app, "SELECT count(*) FROM live_failure") == before


def test_a_follow_up_that_is_too_long_for_another_model_tells_nothing_of_the_two(tmp_path):
    """Whose limit it is, is not asked: of these two alone it would tell who they are, before the choice."""

    async def run(address: str, text: str) -> int:
        async with Visitor(address) as visitor:
            path = f"/live/battles/{await visitor.begin('What is it?')}"
            await visitor.watch(path)
            answer = await visitor.client.post(f"{path}/questions", json={"text": text})
            return answer.status_code

    async def of_battles(address: str, text: str) -> set[int]:
        return set(await asyncio.gather(*(run(address, text) for _ in range(6))))

    with OpenAIServer(plain, models=("one", "two", "short")) as server:
        limits = {"one": 8_000, "two": 8_000, "short": 2_000}
        tables = [card(name, name, server, prompt_tokens=most) for name, most in limits.items()]
        app = AppServer(tmp_path / "data", MODELS=catalogue(tmp_path, *tables))
        try:
            assert asyncio.run(of_battles(app.address, "看" * 1_500)) == {200}
            assert asyncio.run(of_battles(app.address, "看" * 3_000)) == {400}
        finally:
            app.stop()


def test_a_vote_is_rated_as_soon_as_enough_is_there_to_choose_by(talkers):
    """One answer is short, the other goes on: the choice ends it where it stands; before, a choice is refused."""
    before = rows(talkers.app, RANKED)[0][0]

    async def run(address: str) -> tuple[dict, list[dict]]:
        async with Visitor(address) as visitor:
            path, seen = f"/live/battles/{await visitor.begin(BRIEFLY)}", []
            async with visitor.watching(path) as messages:
                async for message in messages:
                    seen.append(message)
                    if message["kind"] == "words" and len(seen) == 3:
                        assert "aren't finished yet" in await visitor.refused(
                            f"{path}/choose", {"value": "a"}
                        )
                    if message.get("choose"):
                        await visitor.refused(f"{path}/choose", {"value": "c"})
                        return await visitor.post(f"{path}/choose", {"value": "b"}), seen
        raise AssertionError("one never could choose")

    scene, seen = asyncio.run(run(talkers.app.address))
    assert not any(message.get("choose") for message in seen[:-1])
    assert scene["phase"] == "voted" and "outside" not in scene["parts"]["status"]
    assert not any("growing" in scene["parts"][side] for side in "ab"), "the answers have ended"
    assert rows(talkers.app, RANKED) == [(before + 1,)]
    (answers,) = rows(
        talkers.app, "SELECT answer_a, answer_b FROM turn ORDER BY battle_id DESC LIMIT 1"
    )
    words = [len(text.split()) for text in answers]
    assert min(words) == 6 and ENOUGH_WORDS <= max(words) < 50 * len(TEXT.split())


def test_a_battle_and_its_images_are_its_visitors_only(pair):
    async def run() -> None:
        async with Visitor(pair.app.address) as owner, Visitor(pair.app.address) as other:
            image = await owner.upload(picture())
            assert (await owner.client.get(f"/live/images/{image}")).status_code == 200
            assert (await other.client.get(f"/live/images/{image}")).status_code == 404
            assert "no longer here" in await other.refused(
                "/live/battles", {"instruction": "x", "images": [image]}
            )
            begun = await owner.post("/live/battles", {"instruction": "x", "images": [image]})
            path = f"/live/battles/{begun['battle']}"
            assert (await other.client.get(path)).status_code == 404
            await owner.watch(path)
            for what, body in (
                ("choose", {"value": "a"}),
                ("stop", {}),
                ("undo", {}),
                ("questions", {"text": "y"}),
            ):
                assert "isn't yours" in await other.refused(f"{path}/{what}", body)
            async with httpx.AsyncClient(base_url=pair.app.address) as nobody:
                assert (await nobody.post(f"{path}/choose", json={"value": "a"})).status_code == 403
                foreign = {"origin": "https://evil.example", "cookie": str(owner.client.cookies)}
                assert (
                    await nobody.post(f"{path}/choose", json={"value": "a"}, headers=foreign)
                ).status_code == 403

    asyncio.run(run())


def files(app: AppServer) -> int:
    return len(list((app.data_dir / "own").iterdir()))


def test_images_go_with_the_names_unless_they_may_be_kept(pair):
    app = pair.app
    before = files(app)

    async def run() -> None:
        async with Visitor(app.address) as visitor:
            for keep, left in ((False, 0), (True, 2)):
                path = f"/live/battles/{await visitor.begin(images=2, keep=keep)}"
                await visitor.watch(path)
                await visitor.post(f"{path}/choose", {"value": "a"})
                assert files(app) == before + 2
                await visitor.post(f"{path}/names")
                assert files(app) == before + left
                said = await visitor.refused(f"{path}/questions", {"text": "And its corners?"})
                assert said.startswith("You've already chosen.")
            image = await visitor.upload(picture())
            await visitor.post(f"/live/images/{image}/discard")
            assert files(app) == before + 2

    asyncio.run(run())


def test_a_failing_model_is_replaced_and_counted(tmp_path):
    empty = Faults(rate=1.0, kinds=("no words",), in_a_row=10**6)
    with (
        OpenAIServer(says({"one": TEXT, "two": TEXT}), models=("one", "two")) as good,
        OpenAIServer(says({"bad": TEXT}), empty, models=("bad",)) as bad,
    ):
        tables = (
            card("Model one", "one", good),
            card("Model two", "two", good),
            card("Bad model", "bad", bad),
        )
        app = AppServer(tmp_path / "data", MODELS=catalogue(tmp_path, *tables), LIVE_SOON="yes")

        async def run() -> None:
            async with Visitor(app.address) as visitor:
                while not bad.counts.calls:
                    path = f"/live/battles/{await visitor.begin()}"
                    assert (await visitor.watch(path))[-1]["phase"] == "open"
                    await visitor.post(f"{path}/choose", {"value": "b"})
                    await visitor.post(f"{path}/names")
                assert told({"Bad model"}, visitor.bytes) == set()

        try:
            asyncio.run(run())
            failed = rows(
                app, "SELECT display, kind FROM live_failure JOIN model ON model.id = model_id"
            )
        finally:
            app.stop()
    assert len(failed) == bad.counts.calls > 0
    assert {model for model, _ in failed} == {"Bad model"}


def test_an_answer_that_names_its_model_is_kept_outside_the_ranking(pair):
    before = rows(pair.app, RANKED)

    async def run() -> dict:
        async with Visitor(pair.app.address) as visitor:
            path = f"/live/battles/{await visitor.begin(WHO)}"
            await visitor.watch(path)
            return await visitor.post(f"{path}/choose", {"value": "a"})

    assert "count in the ranking" in asyncio.run(run())["parts"]["status"]
    newest = "SELECT choice, outside FROM battle ORDER BY id DESC LIMIT 1"
    assert rows(pair.app, newest) == [("a", "named itself")]
    assert rows(pair.app, RANKED) == before


def test_an_item_of_the_bank_is_answered_live(pair):
    async def run() -> None:
        async with Visitor(pair.app.address) as visitor:
            item = (await visitor.client.get("/live/item")).json()
            begun = await visitor.post("/live/battles", {"item": item["item"]})
            path = f"/live/battles/{begun['battle']}"
            scene = (await visitor.watch(path))[-1]
            assert scene["phase"] == "open"
            assert "pictures/" in scene["parts"]["subject"]
            await visitor.post(f"{path}/questions", {"text": "And now?"})
            assert (await visitor.watch(path))[-1]["phase"] == "open"
            await visitor.post(f"{path}/choose", {"value": "a"})

    asyncio.run(run())
    assert rows(pair.app, f"{RANKED} AND item_id IS NOT NULL") == [(1,)]
    sent = pair.server.counts.bodies[-1]["messages"]
    assert [turn["role"] for turn in sent] == ["user", "assistant", "user"]
    assert any(part["type"] == "image_url" for part in sent[0]["content"])


def test_an_item_is_drawn_if_two_models_can_be_asked_about_it(tmp_path):
    address = "http://127.0.0.1:9/v1"
    tables = [
        table(
            {
                "name": name,
                "kind": "api",
                "model": name,
                "address": address,
                "images": images,
                "live": True,
            }
        )
        for name, images in (("one", 1), ("two", 2), ("three", 3))
    ]
    environ = {"DATA_DIR": str(tmp_path / "data"), "MODELS": catalogue(tmp_path, *tables)}
    context = ArenaContext(Settings.from_env(environ))
    (item, *_) = context.items.bank().items.values()

    def about(images: int, instruction: str = "What is it?") -> Item:
        return replace(item, instruction=instruction, images=item.images[:1] * images)

    good = [about(1), about(2), about(1, "x" * MOST_TEXT)]
    bad = [about(0), about(3), about(1, "x" * (MOST_TEXT + 1)), about(1, "a\x07b"), about(1, " ")]
    bad += [about(1, "看" * MOST_TEXT)]
    draw = partial(context.live_sessions.draw_item, context.voters.voter("a visitor"))
    assert [draw([one]) for one in bad] == [None] * len(bad) and draw(bad) is None
    drawn = [draw([*bad, *good]) for _ in range(100)]
    assert {id(one) for one in drawn} == {id(one) for one in good}
    context.database.close()


def test_an_item_that_the_models_cannot_take_is_refused_in_its_own_words(tmp_path):
    """A visitor cannot remove its pictures, or shorten its instruction."""
    several = """SELECT item.key FROM item JOIN image ON image.item_id = item.id
        GROUP BY item.id HAVING count(*) > 1"""

    async def run(app: AppServer) -> None:
        async with Visitor(app.address) as visitor:
            keys = [key for (key,) in rows(app, several)]
            assert keys
            for key in keys:
                said = await visitor.refused("/live/battles", {"item": key})
                assert said == "No two models here can take this item. Choose another."

    with OpenAIServer(plain, models=("one", "two")) as server:
        tables = [card(name, name, server, images=1) for name in server.models]
        app = AppServer(tmp_path / "data", MODELS=catalogue(tmp_path, *tables), LIVE_SOON="yes")
        try:
            asyncio.run(run(app))
        finally:
            app.stop()


def test_an_empty_budget_closes_with_a_clear_message(tmp_path):
    async def run(address: str) -> None:
        async with Visitor(address) as visitor:
            scene = (await visitor.watch(f"/live/battles/{await visitor.begin()}"))[-1]
            assert scene["phase"] == "void"
            assert "LIVE_DAY_BUDGET" in scene["parts"]["status"]

    with two_models(tmp_path, plain, LIVE_DAY_BUDGET="0.001") as closed:
        asyncio.run(run(closed.app.address))
        assert closed.server.counts.calls == 0
        assert rows(closed.app, "SELECT count(*) FROM live_failure") == [(0,)]


def test_what_was_reserved_is_committed(pair):
    async def run() -> None:
        async with Visitor(pair.app.address) as visitor:
            await visitor.watch(f"/live/battles/{await visitor.begin()}")

    asyncio.run(run())
    assert rows(pair.app, "SELECT count(*) FROM hold") == [(0,)]
    budgets = rows(pair.app, "SELECT spent, held FROM budget WHERE name LIKE 'live %'")
    assert len(budgets) >= 3
    assert all(spent > 0 and held == 0 for spent, held in budgets)
    turns = rows(pair.app, "SELECT tokens_a, tokens_b FROM turn WHERE answered_at IS NOT NULL")
    assert turns and all(a > 0 and b > 0 for a, b in turns)


@pytest.mark.soak
def test_others_wait_in_line_and_are_told_their_place(tmp_path):
    async def run(address: str) -> None:
        async with Visitor(address) as first, Visitor(address) as second, Visitor(address) as third:
            visitors = (first, second, third)
            tokens = [await visitor.begin() for visitor in visitors]
            watching = (
                one.watch(f"/live/battles/{token}")
                for one, token in zip(visitors, tokens, strict=True)
            )
            watched = await asyncio.gather(*watching)
            lines = [
                [message["status"] for message in messages if message["kind"] == "line"]
                for messages in watched
            ]
            assert lines[0] == []
            assert any("1 person ahead" in line for line in lines[1])
            assert any("2 people ahead" in line for line in lines[2])
            assert any("1 person ahead" in line for line in lines[2])
            assert [messages[-1]["phase"] for messages in watched] == ["open"] * 3

    with two_models(tmp_path, plain, pace=0.1, LIVE_AT_ONCE="1") as narrow:
        asyncio.run(run(narrow.app.address))
        assert narrow.server.counts.at_once == 2


def test_stop_keeps_what_is_shown_and_a_new_battle_stops_the_old_one(talkers):
    async def run() -> None:
        async with Visitor(talkers.app.address) as visitor:
            path = f"/live/battles/{await visitor.begin()}"
            async with visitor.watching(path) as messages:
                async for message in messages:
                    if message["kind"] == "words" and message["sides"]["a"].get("added"):
                        break
                scene = await visitor.post(f"{path}/stop")
            pauses = [int(pause) / 1000 for pause in re.findall(rb"retry: (\d+)", visitor.bytes)]
            assert 0 < pauses[0] < DISCONNECT_SECONDS, (
                "a page whose connection broke off comes back in time"
            )
            assert scene["phase"] == "open"
            assert "count in the ranking" in scene["parts"]["status"]
            assert not scene["can_go_on"]
            assert "stopped" in await visitor.refused(f"{path}/questions", {"text": "more?"})
            token = await visitor.begin()
            await asyncio.sleep(0.5)
            await visitor.begin()
            assert (await visitor.watch(f"/live/battles/{token}"))[-1]["phase"] in ("open", "void")
            unfinished = (await visitor.client.get("/live/unfinished")).json()["battle"]
            assert (await visitor.post(f"/live/battles/{unfinished}/stop"))["phase"] in (
                "open",
                "void",
            )
        await no_calls(talkers.server, 60)

    asyncio.run(run())


def opened_stream(text: str, end: str = "") -> bytes:
    """Return an HTTP answer that says a text, and then goes on with `end`, or with nothing."""
    event = json.dumps({"choices": [{"delta": {"content": text}}]})
    parts = [f"data: {event}\n\n", end]
    chunks = "".join(f"{len(part.encode()):x}\r\n{part}\r\n" for part in parts if part)
    head = "HTTP/1.1 200 Said\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked"
    return f"{head}\r\n\r\n{chunks}".encode()


def test_a_side_that_shows_thinking_alone_is_not_chosen_from_nor_rated(pair):
    """The prompt opened it, so that it stands in the text until its end has come."""
    before = rows(pair.app, RANKED)
    long = "word " * ENOUGH_WORDS
    end = 'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    answers = [opened_stream(long, end), opened_stream(f"{long}\n</think>\n")]

    async def run() -> str:
        async with Visitor(pair.app.address) as visitor:
            path = f"/live/battles/{await visitor.begin()}"
            await visitor.watch(path)
            pair.server.answers = answers
            await visitor.post(f"{path}/questions", {"text": "Are you sure?"})
            async with visitor.watching(path) as messages:
                async for message in messages:
                    if message["kind"] == "words" and "</think>" in json.dumps(message):
                        assert "choose" not in message
                        break
                chosen = await visitor.refused(f"{path}/choose", {"value": "a"})
                assert "aren't finished yet" in chosen
                await visitor.post(f"{path}/stop")
            return (await visitor.post(f"{path}/choose", {"value": "a"}))["parts"]["status"]

    assert "count in the ranking" in asyncio.run(run())
    assert rows(pair.app, RANKED) == before


def test_of_many_battles_begun_at_once_one_goes_on(talkers):
    over = "SELECT (SELECT count(ended) FROM battle) + (SELECT count(answered_at) FROM turn)"

    async def run() -> None:
        [(before,)] = rows(talkers.app, over)
        async with Visitor(talkers.app.address) as visitor:
            tokens = await asyncio.gather(*(visitor.begin() for _ in range(6)))
            assert rows(talkers.app, over) == [(before + len(tokens) - 1,)]
            unfinished = (await visitor.client.get("/live/unfinished")).json()["battle"]
            await visitor.post(f"/live/battles/{unfinished}/stop")
        await no_calls(talkers.server, 60)

    asyncio.run(run())


async def no_calls(server: OpenAIServer, seconds: float) -> None:
    """Wait until no generation runs, but no longer than that."""
    async with asyncio.timeout(seconds):
        while server.running:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("tabs", [6, pytest.param(100, marks=pytest.mark.soak)])
def test_closed_tabs_stop_their_generations(talkers, tabs):
    seen = asyncio.Queue()

    async def watch() -> None:
        async with Visitor(talkers.app.address) as visitor:
            path = f"/live/battles/{await visitor.begin()}"
            async with visitor.watching(path) as messages:
                async for message in messages:
                    if message["kind"] == "words" and message["sides"]["a"].get("added"):
                        seen.put_nowait(visitor)

    async def run() -> None:
        streaming = [asyncio.create_task(watch()) for _ in range(tabs)]
        watchers = set()
        while len(watchers) < tabs:
            watchers.add(await seen.get())
        assert talkers.server.running == 2 * tabs
        for task in streaming:
            task.cancel()
        await asyncio.gather(*streaming, return_exceptions=True)
        await no_calls(talkers.server, DISCONNECT_SECONDS + 1 if tabs == 100 else 60)

    asyncio.run(run())


def test_a_restart_in_mid_answer_leaves_no_stuck_battle(talkers):
    app = talkers.app
    before = files(app)

    async def run() -> None:
        async with Visitor(app.address) as visitor:
            path = f"/live/battles/{await visitor.begin()}"
            async with visitor.watching(path) as messages:
                await anext(messages)
            app.kill()
            app.start()
            assert (await visitor.client.get("/live/unfinished")).json()["battle"] in path
            scene = (await visitor.watch(path))[-1]
            assert scene["phase"] == "void"
            assert "lost" in scene["parts"]["status"]
            assert files(app) == before

    asyncio.run(run())


def test_who_is_forgotten_in_mid_answer_is_told_that_the_battle_is_gone(pair):
    app = pair.app
    asked = "What is the planted thing?"

    async def run() -> None:
        async with Visitor(app.address) as visitor:
            with pair.server.silent_after(3):
                path = f"/live/battles/{await visitor.begin(asked, keep=True)}"
                watched = asyncio.create_task(visitor.watch(path))
                while not pair.server.running:
                    await asyncio.sleep(0.02)
                forget_newest(app)
            assert (await watched)[-1]["kind"] == "words", "it ends as if broken off"
            assert "isn't yours" in (await visitor.client.get(path)).text
            assert (await visitor.watch(f"/live/battles/{await visitor.begin()}"))[-1][
                "phase"
            ] == "open"

    asyncio.run(run())
    newest = "SELECT question, answer_a FROM turn ORDER BY battle_id DESC LIMIT 2"
    other, forgotten = rows(app, newest)
    assert forgotten == ("", "")
    assert other[0] and other[1]
    assert "Traceback" not in app.log.read_text("utf-8")


def forget_newest(app: AppServer) -> None:
    """Forget the voter of the newest battle."""
    ((voter,),) = rows(app, "SELECT voter_id FROM battle ORDER BY id DESC LIMIT 1")
    with closing(Database(f"sqlite:///{app.data_dir / 'arena.db'}")) as database:
        Erasure(database, OwnImages(database, app.data_dir / "own")).forget(voter, "ada")


def test_without_models_a_live_battle_is_refused_with_what_is_missing(server):
    async def run() -> None:
        async with Visitor(server.address) as visitor:
            image = await visitor.upload(picture())
            assert "takes two models" in await visitor.refused(
                "/live/battles", {"instruction": "x", "images": [image]}
            )
            await visitor.post(f"/live/images/{image}/discard")

    asyncio.run(run())


def test_who_only_looks_is_not_stored(server):
    async def run() -> None:
        async with Visitor(server.address) as visitor:
            for path in ("/live/unfinished", "/live/battles/x/stream", "/live/images/1"):
                await visitor.client.get(path)
        async with Visitor(server.address) as visitor:
            await visitor.upload(picture())

    before = stored_voters(server)
    asyncio.run(run())
    assert stored_voters(server) == before + 1


def stored_voters(server) -> int:
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        return database.execute("SELECT count(*) FROM voter").fetchone()[0]
