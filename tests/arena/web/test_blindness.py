"""Nothing that reaches a browser before the choice tells which models stand behind a battle."""

import base64
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from html import escape
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.support.blindness import told
from tests.support.commands import run
from tests.support.live_visitor import card, catalogue
from tests.support.openai_server import OpenAIServer
from tests.support.servers import ROOT, AppServer
from tests.support.voter import EventError, Voter

VOTERS = 4
DEMO_PICTURES = ROOT / "arena" / "items" / "demo" / "pictures"
PLANTED = (
    "Quxolotl-7B-v1.5",
    "org/Vellichor_XL",
    "Krän<b>&\"Model' 9β",
    "zzmystic-instruct",
    "Oblomov Large (2026)",
)
LIVE = ("Krummhorn-VL", "Sackbut 72B")
"""Models of live battles, whose page everybody may open."""
FACTS = """
[[models]]
name = {name}
organisation = "Sackbut & Söhne {number}"
licence = "zink-{number}.7"
licence_link = "https://licence.example/{number}"
parameters = "7.{number}01B"
released = 1987-0{number}-13
prompt_price = 0.{number}1337
link = "https://link.example/{number}"
"""
SIZES = [f"7.{number}B".encode() for number in range(1, 8)]
"""As they are shown; in base64 they are so short that they stand in any picture."""
RENAMED = {"zzmystic-instruct": "Sphexish & Sons <Pro>"}
ITEMS = 12
PREDICTIONS = "run-of-Quxolotl.jsonl"
PAGES = (
    "/ /own /config /terms /healthz /robots.txt /favicon.ico /theme.css /nothing /pictures/none.png /?item=none "
    "/gradio_api/info /gradio_api/info?all_endpoints=true /gradio_api/openapi.json /gradio_api/startup-events "
    "/gradio_api/app_id /gradio_api/queue/status /gradio_api/theme.css /gradio_api/heartbeat /monitoring"
).split()


class Witness(Voter):
    """A voter of a language who keeps every byte of every answer, headers included."""

    def __init__(self, address: str, language: str) -> None:
        self.bytes = b""
        super().__init__(address)
        self.client.headers["accept-language"] = language
        self.client.event_hooks["response"] = [self._keep]
        for page in PAGES:
            self.client.get(page, timeout=5)

    def _keep(self, answer: httpx.Response) -> None:
        content = b"" if "event-stream" in answer.headers.get("content-type", "") else answer.read()
        self.bytes += f"\n{answer.url}\n{answer.headers}\n".encode() + content

    def refused(self, act: str, battle: str, value: str = "") -> None:
        with pytest.raises(EventError):
            self.act(act, battle=battle, value=value)

    def look_around(self) -> None:
        """Open the documents in which the battle stands, and all that is sent beside it."""
        (item,) = re.findall(r'href="(item/[^"]+)"', self.parts["subject"])
        for page in ("/", "/own", f"/{item}"):
            self.client.get(page)
        for value in ("", "picture", "nothing fits"):
            self.act("search", value=value)
        for problem in ({"battle": "x" * 501}, {"battle": 1}, {"item": "x"}):
            self.client.post("/battle/choose", json=problem)


def names_of(server: AppServer) -> set[str]:
    """Return every name that would tell a model: names, shown names, names of predictions files."""
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        rows = database.execute(
            "SELECT name FROM model UNION SELECT display FROM model UNION SELECT file FROM predictions"
        )
        return {name for (name,) in rows}


def facts_of(server: AppServer) -> set[str]:
    """Return every fact of a model as it is stored."""
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        return {value for (value,) in database.execute("SELECT value FROM model_fact")}


def battle(witness: Witness, number: int, others_token: str) -> set[str]:
    """Take a battle to its acknowledgement by one of several ways, then to the names; return what those tell."""
    assert witness.pictures()
    token = witness.token
    if number % 5 == 0:
        witness.look_around()
    if number % 3 == 0:
        for act in ("undo", "names"):
            witness.refused(act, token)
        for forged in (others_token, "forged.1"):
            witness.refused("choose", forged, "a")
    witness.choose("ab"[number % 2])
    if number % 3 == 1:
        witness.choose("ab"[number % 2])
        witness.refused("choose", token, "ba"[number % 2])
        witness.refused("skip", token, "cannot judge")
        assert witness.load()["phase"] == "voted", "as a page that is loaded again within the undo"
    if number % 4 == 0:
        witness.undo()
    seen = witness.bytes
    witness.bytes = b""
    if number % 4 == 0:
        witness.choose("a")
        seen += witness.bytes
        witness.bytes = b""
    witness.wait_out_undo()
    named, witness.bytes = witness.bytes, seen
    return named


def play(server: AppServer, battles: int) -> None:
    """Fight battles by several voters; no byte before a choice may tell a name, and after it two are told."""
    names = names_of(server)
    facts = facts_of(server)
    assert len(names) > 4
    witnesses = [Witness(server.address, ("en", "zh")[n % 2]) for n in range(VOTERS)]
    others_token = ""
    for number in range(battles):
        witness = witnesses[number % VOTERS]
        _ = witness.load() if number < VOTERS else witness.next()
        if number % 10 == 7:
            witness.skip()
        named = battle(witness, number, others_token)
        assert len(told(names, named)) >= 2, (
            "the names are shown after the choice, so that this test can fail"
        )
        assert not facts or len(told(facts, named)) >= 2, "and with them maker and licence"
        assert not facts or any(size in named for size in SIZES), "and size"
        others_token = witness.token
        if number % 2:
            assert witness.act("hold")["phase"] == "held", "the next battle is sent ahead"
    for witness in witnesses:
        assert len(witness.bytes) > 100_000
        assert told(names | facts, witness.bytes) == set()
        assert not any(size in witness.bytes for size in SIZES)
        witness.close()


def assert_fair_sides(server: AppServer) -> None:
    """The coin for the sides is fair: within four standard deviations (a fair one strays so in 1 of 16,000 runs)."""
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        battles, low_is_a = database.execute(
            "SELECT count(*), sum(model_low = model_a) FROM battle"
        ).fetchone()
        a, b = (
            "SELECT model_id FROM answer WHERE id = answer_a",
            "SELECT model_id FROM answer WHERE id = answer_b",
        )
        wrong = database.execute(
            f"SELECT count(*) FROM battle WHERE ({a}) <> model_a OR ({b}) <> model_b"
        ).fetchone()
    assert wrong == (0,)
    assert battles >= 40
    assert abs(low_is_a - battles / 2) < 4 * battles**0.5 / 2


def command(data: Path, *words: object) -> None:
    done = run("arena", *words, environ={"DATA_DIR": str(data)})
    assert done.code == 0, done.err


def said(model: str, number: int) -> str:
    """Return what a planted model says to an item: to the first, all say the same."""
    return f"There are {PLANTED.index(model) * min(number, 1)} of them."


def bank_folder(folder: Path) -> None:
    """Write a folder of items with real pictures, whose file names tell models."""
    folder.mkdir()
    rows = []
    for number, picture in enumerate(sorted(DEMO_PICTURES.glob("*.webp"))[:ITEMS]):
        name = f"Quxolotl-7B-v1.5-{number}.webp"
        (folder / name).write_bytes(picture.read_bytes())
        answers = {model: said(model, number) for model in PLANTED[1:]}
        row = {
            "instruction": f"Describe picture {number}.",
            "family": "seeing",
            "images": [name],
            "answers": answers,
        }
        rows.append(json.dumps(row))
    (folder / "items.jsonl").write_text("\n".join(rows), "utf-8")


def test_every_spelling_is_seen():
    """The search finds a name however it is written, at any place of a base64 text, and nothing else."""
    name = PLANTED[2]
    for data in (
        name.upper().encode(),
        escape(name).encode(),
        quote(name).encode(),
        json.dumps(name).encode(),
        *(base64.b64encode(b"x" * shift + name.encode() + b"tail") for shift in range(3)),
        base64.urlsafe_b64encode(name.encode()),
        name.encode().hex().encode(),
    ):
        assert told({name, "another"}, b"before " + data + b" after") == {name}
    assert told(set(PLANTED), b"an answer about nothing at all, 7B, XL, v1.5, org, Model") == set()


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Iterator[AppServer]:
    """A server with a bank of telling names: odd characters, another shown name, a predictions file, picture names."""
    folder = tmp_path_factory.mktemp("planted")
    data = folder / "data"
    bank_folder(folder / "Vellichor")
    command(data, "items", "folder", folder / "Vellichor", "--name", "bank")
    rows = [
        {
            "instruction": f"Describe picture {n}.",
            "image": f"Quxolotl-7B-v1.5-{n}.webp",
            "prediction": said(PLANTED[0], n),
        }
        for n in range(ITEMS)
    ]
    (folder / PREDICTIONS).write_text("\n".join(map(json.dumps, rows)), "utf-8")
    command(data, "items", "answers", folder / PREDICTIONS, "--model", PLANTED[0])
    for name, display in RENAMED.items():
        command(data, "models", "rename", name, display)
    stated = [
        FACTS.format(name=json.dumps(name, ensure_ascii=False), number=number)
        for number, name in enumerate(PLANTED, 1)
    ]
    (folder / "facts.toml").write_text("".join(stated), "utf-8")
    command(data, "models", "facts", folder / "facts.toml")
    with OpenAIServer(models=("one", "two")) as models:
        cards = [card(name, model, models) for name, model in zip(LIVE, models.models, strict=True)]
        running = AppServer(data, DEMO_BANK="off", MODELS=catalogue(folder, *cards))
        yield running
        running.stop()


@pytest.mark.parametrize("battles", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_demo_battles_tell_no_name_before_the_choice(server, battles):
    play(server, battles)


def test_battles_of_an_imported_bank_tell_no_name_before_the_choice(planted):
    assert names_of(planted) == {*PLANTED, *RENAMED.values(), PREDICTIONS, *LIVE}
    assert httpx.get(f"{planted.address}/own").status_code == 200
    play(planted, 40)
    assert_fair_sides(planted)


def test_an_answer_looks_the_same_whichever_model_gave_it(planted):
    """All models say the same to one item: every voter's page is the same, byte for byte and in the same order."""
    with closing(sqlite3.connect(planted.data_dir / "arena.db")) as database:
        (key,) = database.execute(
            "SELECT key FROM item WHERE instruction = 'Describe picture 0.'"
        ).fetchone()
    pages, acknowledgements, pictures, shown_as_a = set(), set(), set(), set()
    for number in range(12):
        with Voter(planted.address) as voter:
            voter.load(key)
            pages.add(anonymous(voter.received[-1], voter.token))
            voter.choose("ab"[number % 2])
            acknowledged = anonymous(voter.received[-1], voter.token).replace(
                "You chose B", "You chose A"
            )
            acknowledgements.add(acknowledged.replace('"choice":"b"', '"choice":"a"'))
            pictures |= set(voter.pictures())
            voter.wait_out_undo()
            shown_as_a |= set(re.findall(r"A(?::| is) <b>(.*?)</b>", voter.parts["status"]))
    assert len(shown_as_a) > 1, "different models stood behind the answers"
    assert len(pages) == len(acknowledgements) == len(pictures) == 1
    assert re.fullmatch(r"/pictures/[0-9]{3}/[0-9a-f]{64}\.webp", pictures.pop())


def anonymous(text: str, token: str) -> str:
    """Leave out of an answer what differs by voter and clock alone."""
    text = text.replace(token, "TOKEN").replace(token.partition(".")[0], "NAME")
    text = re.sub(r'"seconds":[\d.e-]+', "", text)
    return re.sub(r"'(date|content-length)': '[^']*'", "", text)
