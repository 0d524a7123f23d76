"""Secrets: a canary in every slot, a walk through everything that works and fails, and then no trace of any of them."""

import json
import secrets
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from arena.database import Database, now
from arena.items.ingest import Ingest
from arena.web.scenes import ACTS
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from tests.support.blindness import told
from tests.support.commands import run
from tests.support.hub_server import HubServer
from tests.support.live_visitor import card, catalogue, picture
from tests.support.oidc_server import SECRET as CLIENT_SECRET
from tests.support.oidc_server import OidcServer
from tests.support.openai_server import Faults, OpenAIServer
from tests.support.router_server import MODELS, RouterServer
from tests.support.servers import AppServer, drafts, new_postgresql_database
from tests.support.signer import signer_of
from tests.support.voter import EventError, Voter

ECHOING = Faults(1.0, kinds=("401",), in_a_row=10**6)
"""A server that refuses every call and says the key that it was sent."""


def canary(prefix: str) -> str:
    return f"{prefix}-canary{secrets.token_hex(16)}"


class Planted(NamedTuple):
    """A canary for every slot."""

    judge: str
    card: str
    own: str
    token: str
    cookie: str
    client: str = CLIENT_SECRET

    @property
    def pieces(self) -> set[str]:
        """The canaries, and their ends."""
        return pieces_of(self)


def pieces_of(secrets: Iterable[str]) -> set[str]:
    return {piece for one in secrets for piece in (one, one[:14], one[-14:])}


class Scene(NamedTuple):
    """An app with everything on, and the servers that it talks to."""

    app: AppServer
    planted: Planted
    judge: OpenAIServer
    models: OpenAIServer
    router: RouterServer
    hub: HubServer
    provider: OidcServer
    folder: Path


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("secrets")
    cookie = f"canary{secrets.token_hex(13)}"
    planted = Planted(canary("sk"), canary("sk"), canary("sk"), canary("hf"), cookie)
    provider = OidcServer()
    with (
        OpenAIServer() as judge,
        OpenAIServer(models=("one", "two")) as models,
        HubServer() as hub,
        RouterServer() as router,
    ):
        (folder / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
        tables = [
            card(f"Model {name}", name, models, key_from="CARD_KEY") for name in models.models
        ]
        tables += [
            card(name, f"{model}:cheapest", router, key_from="visitor")
            for model, name in MODELS.items()
        ]
        environ = {
            "JUDGE_MODEL": "test-judge",
            "JUDGE_URL": judge.address,
            "OPENAI_API_KEY": planted.judge,
        }
        environ |= {"MIRROR": "ada/votes", "HF_TOKEN": planted.token, "HF_ENDPOINT": hub.address}
        environ |= {
            "MODELS": catalogue(folder, *tables),
            "CARD_KEY": planted.card,
            **provider.environ(),
        }
        environ |= {
            name: str(folder / name.lower()) for name in ("GRADIO_TEMP_DIR", "HF_HOME", "TMPDIR")
        }
        for name in ("gradio_temp_dir", "hf_home", "tmpdir"):
            (folder / name).mkdir()
        app = AppServer(folder / "data", JUDGE_PRICES=str(folder / "prices.csv"), **environ)
        yield Scene(app, planted, judge, models, router, hub, provider, folder)
        app.stop()
    provider.close()


def score(browser: Browser, scene: Scene, har: Path) -> list[str]:
    """Score with the operator's key, well and then refused, and try a key of one's own; return what the pages held."""
    context = browser.new_context(record_har_path=har, record_har_content="embed")
    page = context.new_page()
    pages = []
    page.goto(f"{scene.app.address}/login")  # the operator's judge is lent to who is logged in
    for faults, state in ((Faults(), "done"), (ECHOING, "failed")):
        scene.judge.faults = faults
        page.goto(f"{scene.app.address}/score")
        _upload(page, har.with_suffix(f".{state}.json"))
        page.locator("#check").click()
        expect(page.locator(f".progress[data-state={state}]")).to_be_visible(timeout=120_000)
        pages.append(page.content())
    scene.judge.faults = Faults()
    _upload(page, har.with_suffix(".own.json"))
    page.get_by_role("button", name="Details").click()
    page.get_by_label("My own key").check()
    page.get_by_label("Test this judge first").check()
    for address, problem in (
        ("https://127.0.0.1/v1", "public"),
        (f"https://me:{scene.planted.own}@x/v1", "without user"),
    ):
        for label, value in (
            ("Address", address),
            ("Judge model", "test-judge"),
            ("Key", scene.planted.own),
        ):
            page.get_by_label(label, exact=label == "Key").fill(value)
        page.locator("#check").click()
        expect(page.locator("#scoring-problem")).to_contain_text(problem, timeout=60_000)
        pages.append(
            page.locator("#scoring-problem").inner_html() + page.locator("#progress").inner_html()
        )
    context.close()
    entries = json.loads(har.read_text("utf-8"))["log"]["entries"]
    har.unlink()  # it holds the requests too, in which a key may be
    assert scene.planted.own in json.dumps([entry["request"] for entry in entries])
    return [*pages, *(json.dumps(entry["response"]) for entry in entries)]


def _upload(page: Page, path: Path) -> None:
    """Upload the sample with a word of its own, so that no reply is known yet."""
    answers = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
    path.write_text(
        json.dumps({name: f"{text} ({path.suffixes})" for name, text in answers.items()})
    )
    page.set_input_files("#drop-file", path)
    expect(page.locator("#found")).to_contain_text("16 answers", timeout=60_000)


def fight(scene: Scene) -> list[str]:
    """Vote, fight a live battle whose models answer and one whose models refuse; return all that was sent back."""
    with Voter(scene.app.address) as voter:
        client = voter.client
        client.cookies.clear()
        signed = signer_of(scene.app.data_dir).signed(scene.planted.cookie, now())
        client.cookies.set("stereoscope_voter", signed, domain=client.base_url.host)
        voter.load()
        voter.choose("a")
        voter.wait_out_undo()
        for event in voter.events:
            with suppress(EventError, ValueError):
                voter.call(event, *["x"] * len(voter.events[event]["inputs"]))
        for act in sorted(ACTS):
            with suppress(EventError):
                voter.act(act, battle=voter.token, value="x")
        seen: list[str] = []
        for faults in (Faults(), ECHOING):
            scene.models.faults = faults
            image = client.post("/live/images", content=picture()).json()["image"]
            begun = client.post(
                "/live/battles", json={"instruction": "What is this?", "images": [image]}
            )
            assert begun.status_code == 200, begun.text
            seen += [
                begun.text,
                client.get(f"/live/battles/{begun.json()['battle']}", timeout=120).text,
            ]
        for path in (
            "/config",
            "/healthz",
            "/readyz",
            "/live/item",
            "/nothing",
            "/gradio_api/file=x",
        ):
            answer = client.get(path)
            seen.append(str(answer.headers) + answer.text)
        seen += log_in(scene.provider, client)
        return [*seen, *lend(scene, client), *voter.received]


def log_in(provider: OidcServer, client: httpx.Client) -> list[str]:
    """Log in at a provider that fails, and then at one that does not; return all that our server sent back."""
    seen = []
    for provider.fault in ("500", "no token", None):
        came = client.get("/login", follow_redirects=True)
        seen += [
            str(answer.headers) + answer.text
            for answer in (*came.history, came)
            if "/authorize" not in str(answer.url)
        ]
    assert "Anna" in client.get("/login/who").text
    return seen


def lend(scene: Scene, client: httpx.Client) -> list[str]:
    """Fight battles with one's own credits, until both models of a pair were asked with them, and refused them."""
    came = client.get("/login/credits", follow_redirects=True)
    seen = [
        str(answer.headers) + answer.text
        for answer in (*came.history, came)
        if "/authorize" not in str(answer.url)
    ]
    for status in (None, 402):
        scene.router.refuses = dict.fromkeys(MODELS, status) if status else {}
        asked = len(scene.router.counts.bodies)
        while len(scene.router.counts.bodies) == asked:
            image = client.post("/live/images", content=picture()).json()["image"]
            request = {"instruction": "What is this?", "images": [image]}
            begun = client.post("/live/battles", json=request)
            assert begun.status_code == 200, begun.text
            path = f"/live/battles/{begun.json()['battle']}"
            seen += [begun.text, client.get(path, timeout=120).text]
    assert scene.router.counts.keys == set(scene.provider.tokens)
    return seen


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder; one that is gone when its turn comes was a file of a moment."""
    found = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                found[str(path)] = path.read_bytes()
    return found


def test_the_search_finds_what_is_planted():
    planted = Planted(*(canary("sk") for _ in range(5)))
    assert told(planted.pieces, f"x{planted.judge[:20]}x".encode()) == {planted.judge[:14]}
    assert told(planted.pieces, b"nothing") == set()


@pytest.mark.timeout(900)
def test_no_secret_leaves_its_place(browser, scene):
    """Logs, database and WAL, caches, temporary files, exports, pages, answers, the copy on the Hub: no trace."""
    seen = {f"answer {number}": text.encode() for number, text in enumerate(fight(scene))}
    seen |= {
        f"page {number}": text.encode()
        for number, text in enumerate(score(browser, scene, scene.folder / "har"))
    }
    assert (
        scene.planted.judge in scene.judge.counts.keys
        and scene.planted.card in scene.models.counts.keys
    )
    seen |= files_of(scene.folder)
    assert any(name.endswith("arena.db-wal") for name in seen), (
        "while the server runs, the WAL is there"
    )
    environ = {"DATA_DIR": str(scene.app.data_dir)}
    assert (
        run("arena", "votes", "export", "--out", scene.folder / "votes.jsonl", environ=environ).code
        == 0
    )
    scene.app.stop()
    assert any(path.startswith("votes/") for path in scene.hub.files), (
        "what was not copied yet is copied at the end"
    )
    seen |= {f"{name} at the end": content for name, content in files_of(scene.folder).items()}
    seen |= {f"hub {path}": content for path, content in scene.hub.files.items()}
    assert len(seen) > 60 and any("server.log" in name for name in seen)
    pieces = scene.planted.pieces | pieces_of(scene.provider.tokens)
    found = {name: told(pieces, content) for name, content in seen.items()}
    assert {name: pieces for name, pieces in found.items() if pieces} == {}


def test_the_password_of_the_database_is_nowhere(start_server, postgresql):
    """Neither while all is well nor when the database goes away."""
    password = canary("pg")
    address = new_postgresql_database(postgresql).replace("//postgres:@", f"//postgres:{password}@")
    assert password in address
    with closing(Database(address)) as database:
        Ingest(database).add_items("test", "folder", drafts())
    server = start_server(DATABASE_URL=address, DEMO_BANK="off")
    with Voter(server.address) as voter:
        voter.load()
        voter.choose("a")
        received = "".join(voter.received) + voter.client.get("/readyz").text
    server.stop()
    seen = {**files_of(server.data_dir), "answers": received.encode()}
    assert {
        name
        for name, content in seen.items()
        if told({password, password[:14], password[-14:]}, content)
    } == set()
