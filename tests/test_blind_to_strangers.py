"""Blind to strangers: no public address shows a text of the bank beside its model's name, and what a voter may read.

Every route, every event of the pages and every act in battles is asked with everything that a stranger can know: items'
keys, models' names, boards, links and slugs of published reports, numbers of battles.
"""

import hashlib
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count, product

import httpx
import pytest
from sqlalchemy import select
from starlette.routing import compile_path

import app
from arena.battles.tables import BATTLE
from arena.database import Database
from arena.items.fact_store import FactStore
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.model_facts import StatedFacts
from arena.settings import Settings
from arena.web.battle import FIELDS
from arena.web.scenes import ACTS
from scoring.jobs.store import Jobs
from scoring.jobs.submissions import SubmissionRequest, Submissions
from scoring.visit_bench.matches import MatchReport, Verdict
from tests.support.blindness import told
from tests.support.commands import run
from tests.support.planting import Planted, plant
from tests.support.servers import AppServer
from tests.support.voter import Voter

MODELS = ("Quxolotl-7B", "Vellichor-XL", "Oblomov-Large", "zzmystic-instruct")
ITEMS = 16
BATTLES = 40
SOURCE = "open bank"
OWNER = "somebody's cookie"
FACTS = ("Maker-zqf1", "licence-zqf2", "7570000000", "7.6B", "1987-03-13", "https://fact.zqf3/")
"""Of every model, as stored and as shown."""
WITH_FACTS = re.compile(r"/(model/|results|boards/board\.(csv|json)\?).*")
"""The addresses that show what is known of models."""
OPEN_BATTLE = ("next", "hold", "skip")
"""Acts that show a voter the two texts of an open battle."""
NEEDS_NO_BATTLE = ("next", "hold", "search")
FILES = (
    "board.csv board.svg board.png plot.svg plot.png battles.jsonl board.tsv chart.svg chart.png families.csv "
    "families.svg families.png measures.csv agreement.json figure.svg figure.png scores.csv report.json answers.csv "
    "steadiness.csv votes.jsonl votes.parquet README.md table.tex tasks.csv marks.csv"
).split()
PLAIN = (
    "/ /own /results /judges /agreement /benchmarks /benchmarks/mmbench /score /run /config /terms /you "
    "/you/code /you/reports /reports /healthz /readyz /robots.txt /sitemap.xml /login /login/who "
    "/live/item /live/models "
    "/live/unfinished /sample-predictions.json /task-map /marks /c/~form /static-files/x/style.css "
    "/gradio_api/info /gradio_api/app_id /pictures/x.png /pictures/640/x.webp /run/uploads/x "
    "/run/campaigns/x/pay.csv /live/images/x /live/battles/x /c/x /c/x/y /c/x/y/pictures/z/1 /task-map/x"
).split()


def mark(item: int, model: str) -> str:
    """Return the word by which a model's text on an item is found again."""
    return "zq" + hashlib.sha256(f"{item} {model}".encode()).hexdigest()[:14]


MARKS = {
    mark(item, model).encode(): (item, model) for item in range(1, ITEMS + 1) for model in MODELS
}


def bank(items: int) -> list[ItemDraft]:
    return [
        ItemDraft(
            instruction=f"What stands on table {item}?",
            family=("Counting", "Color")[item % 2],
            images=(
                ImageDraft(f"k{item}", f"{item}.png", sha256=f"{item:064x}", suffix="png", caption="a table"),
            ),
            answers={model: f"{mark(item, model)}, as far as I see." for model in MODELS},
        )
        for item in range(1, items + 1)
    ]  # fmt: skip


def judged(report: MatchReport, judge: random.Random) -> MatchReport:
    """Return a report whose judge quotes both answers."""
    matches = []
    for match in report.matches:
        quoted = " or ".join(report.texts[match.item, model] for model in (match.a, match.b))
        read = Verdict(judge.choice(("a", "b")), "", (quoted,), "judge")
        unread = Verdict(None, f"it ended {quoted!r}", (quoted,), "judge")
        verdicts = (read, judge.choice((read, read, read, unread)))
        matches.append(replace(match, verdicts=verdicts))
    return replace(report, matches=tuple(matches))


class Site:
    """A server with votes, a judge's board, a published comparison of bank answers, and what a stranger knows of it."""

    def __init__(self, folder) -> None:
        self.folder = folder
        coin = random.Random(7)
        with closing(Database(f"sqlite:///{folder}/arena.db")) as database:
            Ingest(database).add_items(SOURCE, "folder", bank(ITEMS))
            maker, licence, parameters, _, day, link = FACTS
            facts = StatedFacts(
                organisation=maker,
                licence=licence,
                parameters=int(parameters),
                released=day,
                link=link,
            )
            FactStore(database).replace_stated(dict.fromkeys(MODELS, facts))
            pairs = [(coin.randint(1, ITEMS), *coin.sample(MODELS, 2)) for _ in range(BATTLES)]
            plant(database, [Planted(*pair, left=coin.random() < 0.5) for pair in pairs])
            submissions = Submissions(database, None)
            drafted = submissions.draft_stored(
                MODELS[0], SOURCE, SubmissionRequest(), "judge", "https://judge.example/v1"
            )
            report = judged(drafted.report, coin)
            jobs = Jobs(database)
            self.link = jobs.add_done(OWNER, report).link
            self.slug = jobs.publish(OWNER, self.link, True).slug
            submissions.store.enter(OWNER, report)
            self.board = submissions.store.board_keys()[0].key
            self.keys = [item.key for item in bank(ITEMS)]
        self.server = AppServer(folder, DEMO_BANK="off", TRUSTED_HOPS="1")

    def paths(self, step: int = 1) -> Iterator[str]:
        """Every address that a stranger can think of, or those of every so many battles."""
        yield from PLAIN
        yield from (f"/item/{key}" for key in self.keys)
        for number in range(0, BATTLES + 5, step):
            yield from (f"/battle/{number}", f"/preview/battle/{number}.png")
        for model in MODELS:
            yield from (f"/model/{model}", f"/preview/model/{model}.png")
        yield from (f"/results/{SOURCE}", f"/preview/results/{SOURCE}.png", "/preview/vote.png")
        for name in FILES:
            yield f"/export/{name}"
            yield f"/boards/{name}?source={SOURCE}"
            yield f"/automatic/{name}?board={self.board}"
            yield f"/agreement/{name}?source={SOURCE}"
        yield from (f"/r/{self.slug}", f"/r/{self.slug}.png", f"/r/{self.slug}.svg")
        yield from (
            f"/badge/{self.slug}.svg",
            f"/embed/{self.slug}",
            "/reports?benchmark=visit-bench",
        )
        yield f"/hub/{self.slug}"
        for file in ("eval.yaml", "model-index.yaml", "eee.zip"):
            yield f"/r/{self.slug}/{file}?repo=owner/name&texts=yes"
        for name in (self.link, self.slug):
            yield from self._of_report(name)

    def _of_report(self, name: str) -> Iterator[str]:
        """The addresses of a report by its link or slug."""
        report = f"/report/{name}"
        yield from (report, f"{report}/people", f"{report}/task-map", f"{report}/answers")
        yield f"{report}?with={self.link}"
        yield from (f"{report}/{act}" for act in ("publish", "private", "delete"))
        for file in FILES:
            yield f"/reports/{name}/{file}"
            yield f"{report}/people/{file}"
            yield f"{report}/task-map/{file}"
        yield f"/reports/{name}/pictures/{1:064x}.png"

    def words(self, most: int) -> Iterator[str]:
        """What a stranger may send as an event's argument, with so many models and battles."""
        yield from ("", self.link, self.board, SOURCE, *self.keys[:2])
        yield from (f"/model/{model}?source={SOURCE}" for model in MODELS[:most])
        yield from (f"/battle/{number}" for number in (1, BATTLES, 2)[:most])
        yield from (f"{MODELS[0]} · {SOURCE}", f"/report/{self.link}", "VisIT-Bench", MODELS[1])


class Reader(Voter):
    """A visitor who keeps every answer that holds a text of the bank."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.found: list[tuple[str, bytes]] = []
        self.with_facts: list[str] = []
        self.answers = 0
        self._networks = (f"10.{n // 250 % 250}.{n % 250}.1" for n in count())
        super().__init__(site.server.address, timeout=60, network=next(self._networks))

    def ask(self, method: str, address: str, what: str, **more: object) -> httpx.Response:
        """Ask from a network of its own, so that no limit keeps anything from being seen."""
        answer = self._sent(method, address, more)
        if answer.status_code == 429:  # too many with one cookie
            self.client.cookies.clear()
            self._sent("GET", "/", {})
            answer = self._sent(method, address, more)
        assert answer.status_code != 429
        self.answers += 1
        if any(text in answer.content for text in MARKS):
            self.found.append((what, answer.content))
        if any(fact.encode() in answer.content for fact in FACTS):
            self.with_facts.append(what)
        return answer

    def _sent(self, method: str, address: str, more: Mapping[str, object]) -> httpx.Response:
        headers = {"x-forwarded-for": next(self._networks)}
        return self.client.request(method, address, headers=headers, **more)

    def walk(self, most: int = 0) -> None:
        """Ask for every address, and send every event and act words of so many models and battles.

        With few words, battles too are few, and an act that needs a battle gets a word in all of its fields at once.
        """
        for path in self.site.paths(step=1 if most > 1 else 4):
            self.ask("GET", path, path)
        for name, event in self.events.items() if most else ():
            for arguments in self._arguments(len(event["inputs"]), most):
                self._event(name, event["id"], arguments)
        for act in sorted(ACTS) if most else ():
            one_by_one = most > 1 or act in NEEDS_NO_BATTLE
            fields = [(field,) for field in FIELDS] if one_by_one else [FIELDS]
            for word, filled in product(self.site.words(most), fields):
                self.ask("POST", f"/battle/{act}", act, json=dict.fromkeys(filled, word))

    def _arguments(self, inputs: int, most: int) -> Iterator[Sequence[str]]:
        """What an event with so many inputs is sent: each word in the first, and in all of them."""
        words = [*self.site.words(most)]
        first = [(word, *[""] * (inputs - 1))[:inputs] for word in words]
        yield from dict.fromkeys([*first, *((word,) * inputs for word in words)])

    def opened(self, address: str) -> str:
        """Return what the page of an address of the results shows."""
        return self.ask("GET", address, address).text

    def _event(self, name: str, number: int, arguments: Sequence[str]) -> httpx.Response:
        body = {"data": arguments, "fn_index": number, "session_hash": self.session}
        return self.ask("POST", "/gradio_api/run/predict", name, json=body)

    def harvested(self) -> Mapping[bytes, set[str]]:
        """Return the texts that stand in an answer with names of models, with those names."""
        known: dict[bytes, set[str]] = {}
        for _, answer in self.found:
            names = told(set(MODELS), answer)
            for text in MARKS if names else ():
                if text in answer:
                    known.setdefault(text, set()).update(names)
        return known


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("blind"))
    yield made
    made.server.stop()


def test_the_walk_comes_by_every_route(site, tmp_path, monkeypatch):
    """A route that is added and not walked is a hole in the next test."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DEMO_BANK", "off")
    context = app.AppContext(Settings.from_env())
    routes = [
        route
        for router in app.routers(context, app.page_heads(context), app.page_layout(context))
        for route in router.routes
        if "GET" in route.methods
    ]
    walked = {path.partition("?")[0] for path in site.paths()}
    patterns = {route.path: compile_path(route.path)[0] for route in routes}
    assert len(patterns) > 30
    missed = [path for path, regex in patterns.items() if not any(map(regex.match, walked))]
    assert missed == []


@pytest.mark.parametrize("most", [1, pytest.param(len(MODELS), marks=pytest.mark.soak)])
def test_a_stranger_finds_no_text_beside_its_name(site, most):
    with Reader(site) as stranger:
        stranger.walk(most)
        assert stranger.answers > 800
        public = [what for what, _ in stranger.found if what not in OPEN_BATTLE]
        assert public == [], "no text of the bank outside of one's own open battle"
        assert stranger.found and stranger.harvested() == {}
        strange = [what for what in stranger.with_facts if not WITH_FACTS.fullmatch(what)]
        assert strange == [], "no fact of a model beside an open battle, nor in a preview"
        assert {what[:6] for what in stranger.with_facts} >= {"/model", "/board"}


def test_a_voter_reads_both_under_their_names_on_chosen_items_alone(site):
    with Reader(site) as voter, Reader(site) as friend:
        voter.load()
        voter.choose("a")
        token = voter.token.partition(".")[0]
        with (
            closing(Database(f"sqlite:///{site.folder}/arena.db")) as database,
            database.read() as connection,
        ):
            chosen = connection.scalar(select(BATTLE.c.item_id).where(BATTLE.c.token == token))
        address = f"/battle/{token}"
        assert not any(word.decode() in friend.opened(address) for word in MARKS), "not final yet"
        voter.wait_out_undo()
        voter.found.clear()
        voter.walk()
        for model in MODELS:
            voter.opened(f"/model/{model}?source={SOURCE}")
        assert {MARKS[text][0] for text in voter.harvested()} <= {chosen}
        shown = friend.opened(address)
        assert sum(word.decode() in shown for word in MARKS) == 2, "the link shows it to a friend"


def test_a_link_is_dead_once_its_voter_is_forgotten(site):
    with Reader(site) as voter, Reader(site) as friend:
        voter.load()
        voter.choose("b")
        voter.wait_out_undo()
        address = f"/battle/{voter.token.partition('.')[0]}"
        assert "battle-name" in friend.opened(address)
        code = re.search(
            r"(?:[0-9a-f]{4}-){2}[0-9a-f]{4}",
            voter.client.get("/you").text,
        )[0]
        where = {"DATA_DIR": str(site.folder)}
        assert run("arena", "forget", "--voter", code, environ=where).code == 0
        assert "battle-name" not in friend.opened(address)
        assert "battle-name" not in voter.opened(address)
