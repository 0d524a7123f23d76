"""A model's page: its numbers, the battles it lost, what it never shows; and the overview with its addresses."""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from html import unescape
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

from arena.battles.blindness import Blindness
from arena.battles.store import BattleStore, Draw
from arena.battles.tables import BATTLE
from arena.battles.vote_table import VoteTable
from arena.battles.voters import NOBODY
from arena.database import Database, now
from arena.items.fact_store import FactStore
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.model_results import model_results
from arena.leaderboard.overview import Overview
from arena.leaderboard.service import Leaderboard
from arena.web import results_page
from arena.web.addresses import MOST_NAME
from arena.web.facts_view import NamedLink
from arena.web.model_page import MOST_LOST, MOST_TEXT, ModelPages
from arena.web.results_address import ResultsAddress, board_address, board_query, model_address
from arena.web.results_page import ResultsPages
from arena.web.results_view import ResultsTabs
from tests.support.battle_campaigns import Battles
from tests.support.leaderboard_page import open_menu
from tests.support.planting import Planted, let_pass, plant
from tests.support.screens import DESK, PHONE, assert_fits, fresh_page, shoot
from tests.support.servers import AppServer, drafts

MODELS = ("alpha", "beta", "<b>c/d</b>?&", "young")
HOSTILE = MODELS[2]


def plant_models(database: Database) -> None:
    """Fill a source "test" where alpha wins 20 of 30 against beta, half of 24 against another, and loses to young."""
    Ingest(database).add_items("test", "folder", drafts(12, MODELS))
    start = now() - timedelta(days=20)
    pairs = (
        [("alpha", "beta")] * 20
        + [("beta", "alpha")] * 10
        + [("alpha", HOSTILE)] * 12
        + [(HOSTILE, "alpha")] * 12
    )
    pairs += [("young", "alpha")]
    votes = [
        Planted(
            1 + n * 5 % 12, *pair, left=n % 2 == 0, voter=n % 25, at=start + timedelta(hours=8 * n)
        )
        for n, pair in enumerate(pairs)
    ]
    plant(database, votes)
    Ingest(database).add_items("newest", "folder", drafts(40, ("alpha", "beta"))[39:])


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Path:
    """A database with the planted models, to copy."""
    path = tmp_path_factory.mktemp("planted") / "arena.db"
    with closing(Database(f"sqlite:///{path}")) as database:
        plant_models(database)
    return path


@pytest.fixture
def database(planted, tmp_path) -> Iterator[Database]:
    with closing(Database(f"sqlite:///{shutil.copy(planted, tmp_path)}")) as opened:
        yield opened


@contextmanager
def pages_of(database: Database) -> Iterator[ModelPages]:
    with closing(Leaderboard(database, VoteTable(database), every=0.0)) as leaderboard:
        leaderboard.board(leaderboard.choose("test", "single").key, 60)
        yield model_pages(database, leaderboard)


@pytest.fixture(scope="module")
def pages(planted) -> Iterator[ModelPages]:
    """The pages of the planted models, for tests that only read."""
    with closing(Database(f"sqlite:///{planted}")) as database, pages_of(database) as made:
        yield made


@pytest.fixture
def own_pages(database) -> Iterator[ModelPages]:
    """The pages of a copy, for tests that change something."""
    with pages_of(database) as made:
        yield made


def model_pages(database: Database, leaderboard: Leaderboard) -> ModelPages:
    items = ItemBank(database)
    blindness = Blindness(database, items, "auto")
    reports = {"beta": [NamedLink("beta: 50.0 on MM-Vet", "/report/abc")]}
    return ModelPages(
        leaderboard, items, blindness, FactStore(database), lambda name: reports.get(name, ())
    )


def html(pages: ModelPages, address: str, reader: int = NOBODY) -> str:
    return pages.page(ResultsAddress.parse(address), reader).html


def numbers(pages: ModelPages) -> dict[str, str]:
    """Return the facts at the head of alpha's page by their names."""
    shown = html(pages, "/model/alpha")
    return {
        name: re.sub(r"<[^>]+>", "", value).strip()
        for name, value in re.findall(r"<dt>(\w+)</dt><dd>(.*?)</dd>", shown, re.DOTALL)
    }


def test_a_model_has_its_wins_and_losses_by_task_and_by_model(database):
    with closing(Leaderboard(database, VoteTable(database))) as leaderboard:
        board = leaderboard.board(leaderboard.choose("test", "single").key, 60)
        found = model_results(board, "alpha", leaderboard.families)
    assert (found.wins, found.losses, found.votes) == (32, 23, 55)
    assert {name: (share.hits, share.n) for name, share in found.opponents.items()} == {
        "beta": (20, 30),
        HOSTILE: (12, 24),
        "young": (0, 1),
    }
    assert sum(share.n for share in found.families.values()) == 55 and set(found.families) == {
        "Color",
        "Counting",
        "Directions",
    }
    assert all(
        share.low < share.value < share.high
        for name, share in found.opponents.items()
        if name != "young"
    )
    for one, other in zip(found.best, found.worst, strict=False):
        assert one.share.hits / one.share.n > 0.5 > other.share.hits / other.share.n


def test_the_page_shows_rank_wins_and_lost_battles(pages):
    assert numbers(pages)["Won"] == "32" and numbers(pages)["Lost"] == "23"
    shown = html(pages, "/model/alpha")
    won = re.findall(r"<p><bdi>([^<]+)</bdi> won\.", shown)
    assert len(won) == MOST_LOST and won[0] == "young", "the newest comes first"
    assert "says" not in shown, "voters may still be shown these answers"


def test_who_has_chosen_on_an_item_reads_its_answers_under_their_names(database, own_pages):
    with database.read() as connection:
        newest = select(BATTLE.c.voter_id, BATTLE.c.item_id).order_by(BATTLE.c.id.desc())
        voter, item = connection.execute(newest).first()
    shown = html(own_pages, "/model/alpha", voter)
    lost = re.findall(
        r"<h3><bdi>(.*?)</bdi> <span class=\"won\">won</span></h3><div dir=\"auto\">(.*?)</div>",
        shown,
    )
    assert lost[0][0] == "young" and f"young says {item - 1}" in lost[0][1]
    assert len(lost) < MOST_LOST and all("alpha says" not in answer for _, answer in lost)


@pytest.mark.parametrize(("voters", "judges"), [(1, "these voters only"), (3, "voters like these")])
def test_the_page_says_for_whose_votes_its_intervals_hold(tmp_path, voters, judges):
    with closing(Database(f"sqlite:///{tmp_path / 'arena.db'}")) as database:
        Ingest(database).add_items("test", "folder", drafts(36, MODELS))
        votes = [
            Planted(1 + n // voters, "alpha", "beta", left=n % 2 == 0, voter=n % voters)
            for n in range(36)
        ]
        plant(database, votes)
        with closing(Leaderboard(database, VoteTable(database))) as leaderboard:
            leaderboard.board(leaderboard.choose("test", "single").key, 60)
            shown = html(model_pages(database, leaderboard), "/model/alpha")
    assert f"95% intervals for new items judged by {judges}" in shown


def test_lost_battles_go_on_page_by_page_to_the_first(pages):
    address, seen = "/model/alpha", 0
    for _ in range(10):
        shown = html(pages, address)
        seen += shown.count('class="lost-battle"')
        older = re.search(r'<a href="([^"]+)">Older battles', shown)
        if older is None:
            break
        address = older[1].replace("&amp;", "&")
    assert seen == 23


def test_a_model_whose_name_is_too_long_for_a_page_has_no_link_among_the_others(tmp_path):
    linked = "y" * MOST_NAME
    unlinked = "x" * (MOST_NAME + 1)
    with closing(Database(f"sqlite:///{tmp_path / 'arena.db'}")) as database:
        Ingest(database).add_items("test", "folder", drafts(12, ("alpha", linked, unlinked)))
        plant(database, [Planted(n, "alpha", (linked, unlinked)[n % 2]) for n in range(1, 13)])
        with closing(Leaderboard(database, VoteTable(database))) as leaderboard:
            leaderboard.board(leaderboard.choose("test", "single").key, 60)
            shown = html(model_pages(database, leaderboard), "/model/alpha")
    assert f'href="/model/{linked}?' in shown
    assert unlinked in shown and f"/model/{unlinked}" not in shown


def test_names_are_text_and_addresses_are_quoted(pages):
    address = model_address(HOSTILE, {"source": "test"})
    assert address.startswith("/model/%3Cb%3Ec%2Fd%3C%2Fb%3E%3F%26?")
    shown = html(pages, address)
    assert HOSTILE not in shown and "&lt;b&gt;c/d&lt;/b&gt;?&amp;</bdi></h1>" in shown
    assert 'href="/model/%3Cb%3Ec%2Fd' in html(pages, "/model/alpha?source=test")


def test_reports_are_said_to_go_by_the_models_name_alone(pages):
    told = unescape(html(pages, "/model/beta"))
    assert 'href="/report/abc"' in told
    assert "Nobody has checked that they're about this model." in told
    assert "Nobody has checked" not in html(pages, "/model/alpha")


def test_an_unknown_model_and_a_board_without_it_say_where_to_go(pages):
    assert "No model with this name has votes on" in html(pages, "/model/nobody").replace("\n", " ")
    shown = html(pages, "/model/alpha?source=newest&images=single")
    assert "No model with this name has votes on" in shown
    assert "<bdi>test, one picture</bdi></a>" in shown
    assert 'class="lost-battle"' in html(pages, "/model/alpha"), (
        "without a board: where it has most votes"
    )


def test_a_vote_that_can_be_taken_back_is_not_on_the_page(database, own_pages):
    store = BattleStore(database)
    voter = store.voter("x" * 32)
    answers = {one.model: one.answer for one in ItemBank(database).bank().items[4].contestants}
    code = {model.name: number for number, model in enumerate(ItemBank(database).models(), 1)}
    first, second = code["alpha"], code["beta"]
    battle = store.serve(voter, lambda _: Draw(4, first, second, answers[first], answers[second]))
    before = numbers(own_pages), html(own_pages, "/model/alpha")
    store.vote(voter, battle.token, "b", "terms")
    assert (numbers(own_pages), html(own_pages, "/model/alpha")) == before
    let_pass(database, 60)
    assert numbers(own_pages)["Lost"] == "24" and numbers(own_pages)["Won"] == "32"
    assert re.search(r"<p><bdi>([^<]+)</bdi> won\.", html(own_pages, "/model/alpha"))[1] == "beta"


def test_long_answers_are_cut_and_withdrawn_ones_are_not_shown(database, own_pages):
    with database.write() as connection:
        connection.exec_driver_sql(
            "UPDATE answer SET text = ? WHERE text LIKE 'beta says%'", ("lorem " * 5000,)
        )
        connection.exec_driver_sql(
            "UPDATE answer SET withdrawn_at = 1 WHERE text LIKE 'young says%'"
        )
    shown = html(own_pages, "/model/alpha")
    assert "young says" not in shown
    for page in (shown, html(own_pages, "/model/alpha?before=30")):
        assert len(page) < 14_000 + MOST_LOST * (MOST_TEXT + 800)


@pytest.mark.parametrize(
    ("sent", "model", "board"),
    [
        (
            "/results?source=a+b&images=multiple&evil=1",
            None,
            {"source": "a b", "images": "multiple"},
        ),
        ("/results/a%2Fb?images=single", None, {"source": "a/b", "images": "single"}),
        ("/model/x%20y?source=s", "x y", {"source": "s"}),
        ("/model/", None, {}),
        ("/model/x?before=99999999999999999999", "x", {"before": "99999999999999999999"}),
        (None, None, {}),
        ("/?" + "&".join(["source=x"] * 80), None, {}),
        ("\ud800" * 9000, None, {}),
    ],
)
def test_addresses_are_read_whatever_they_are(sent, model, board):
    found = ResultsAddress.parse(sent)
    assert (found.model, found.fields, found.plot, found.before) == (model, board, "", None)


def test_what_changes_to_nothing_leaves_the_address():
    assert board_address({"source": "a&b", "family": "x"}, family="") == "/results?source=a%26b"


def test_the_board_with_the_most_votes_is_first_and_no_empty_one_is_listed(database):
    with closing(Leaderboard(database, VoteTable(database))) as leaderboard:
        overview = Overview(leaderboard)
        assert [(one.source, one.images, one.votes) for one in overview.entries()] == [
            ("test", "single", 55)
        ]
        assert (
            overview.choose().source == "test"
            and leaderboard.choose("", "single").source == "newest"
        )
        assert overview.choose("newest").source == "newest"
        assert overview.choose("test", "multiple").key.multi
        assert overview.choose("gone").source == "test"


@pytest.fixture(scope="module")
def site(planted, tmp_path_factory) -> Iterator[AppServer]:
    folder = tmp_path_factory.mktemp("models")
    shutil.copy(planted, folder)
    running = AppServer(folder, DEMO_BANK="off")
    yield running
    running.stop()


def test_a_board_is_made_once_and_not_sent_again_while_it_is_the_same(site, database, monkeypatch):
    with httpx.Client(base_url=site.address) as client:
        client.get("/results/test")
        first = client.get("/results/test")
        assert first.headers["cache-control"] == "private, no-cache"
        again = client.get("/results/test", headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    with closing(Leaderboard(database, VoteTable(database))) as leaderboard:
        overview = Overview(leaderboard)
        tabs = ResultsTabs(lambda: False, lambda: False)
        boards = ResultsPages(leaderboard, overview, ItemBank(database), FactStore(database), tabs)
        address = ResultsAddress.parse("/results/test")
        choice = address.choose(overview)
        leaderboard.board(choice.key, 60)
        first = boards.html(address, choice)
        monkeypatch.setattr(results_page, "board_html", None)
        assert boards.html(address, choice) == first


CLOSED = (
    "/results/test",
    "/results?source=test&images=multiple&family=Color",
    "/model/alpha?source=test",
    "/model/nobody?source=test&before=50",
)
STRANGE = "We couldn't read this part of the address"


def test_a_board_is_closed_and_nothing_else_is_told_while_a_campaign_on_it_runs(planted, tmp_path):
    path = shutil.copy(planted, tmp_path)
    with closing(Database(f"sqlite:///{path}")) as database:
        running = Battles(database)
        campaign = running.campaign(seat={"votes": 2, "minutes": 20, "pay": 1})
        site = AppServer(tmp_path, DEMO_BANK="off")
        for address in CLOSED:
            answer = httpx.get(site.address + address)
            assert answer.status_code == 200 and "no-store" in answer.headers["cache-control"]
            assert "The board of <bdi>test</bdi> is closed until its campaign ends." in answer.text
            assert '"robots" content="noindex"' in answer.text
            for told in ("alpha", "nobody", "votes", STRANGE):
                assert told not in unescape(answer.text), (address, told)
        file = httpx.get(f"{site.address}/boards/board.csv?source=test")
        assert (file.status_code, "closed until" in file.text) == (403, True)
        assert STRANGE in unescape(httpx.get(f"{site.address}/results/gone").text)
        assert_stranger_to_other_boards(site, "young")
        running.campaigns.end(campaign, "an operator")
        assert "55 votes" in httpx.get(f"{site.address}/results/test").text
        assert httpx.get(f"{site.address}/model/young").status_code == 200
        site.stop()


def assert_stranger_to_other_boards(site: AppServer, model: str) -> None:
    """A model that is on a closed board alone is not told from one that there never was."""
    asked = {name: httpx.get(f"{site.address}/model/{name}") for name in (model, "wombat")}
    assert asked[model].status_code == 404
    pages = {
        (answer.status_code, answer.text.replace(name, "NAME")) for name, answer in asked.items()
    }
    assert len(pages) == 1


@pytest.mark.parametrize(
    ("path", "status", "heading"),
    [
        ("/results", 200, "Elo ranking"),
        ("/results/test?plot=battles", 200, "Elo ranking"),
        ("/results/gone", 200, "Elo ranking"),
        ("/model/alpha", 200, "alpha"),
        ("/model/nobody", 404, "nobody"),
        ("/model/", 404, "There is nothing at this address."),
        (f"/model/{'x' * 300}", 404, "No page for this model"),
        ("/battle/55", 404, "No finished battle here"),
    ],
)
def test_an_address_has_a_whole_page_with_one_title(site, path, status, heading):
    answer = httpx.get(site.address + path)
    assert answer.status_code == status
    assert [re.sub(r"<[^>]+>", "", one) for one in re.findall("<h1.*?</h1>", answer.text)] == [
        heading
    ]
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    links = re.findall(r'(?:href|src|action)="([^"]*)"', answer.text)
    assert all(link.startswith(("/", "#")) for link in links), "from the root"
    assert "set-cookie" not in answer.headers


def test_a_page_that_depends_on_its_reader_is_kept_by_nobody(site):
    assert "no-store" in httpx.get(f"{site.address}/model/alpha").headers["cache-control"]


def test_a_phone_shows_rank_model_and_rating_and_all_else_is_on_the_models_page(browser, site):
    with fresh_page(browser, PHONE, java_script_enabled=False) as page:
        page.goto(f"{site.address}/results/test")
        row = page.locator("#board tbody tr").first
        shown = row.locator(":scope > *:visible").evaluate_all(
            "all => all.map((one) => one.className)"
        )
        assert shown == ["rank", "model", "rating"]
        row.get_by_role("link").click()
        names = page.locator(".model-facts dt").all_inner_texts()
        assert names[:4] == ["Rank", "Elo rating", "Elo, vote by vote (K=4)", "Lead over next"]
        assert {"Votes", "Mean win rate", "Chosen left", "Won", "Lost"} <= {*names}


def test_a_phones_bar_text_and_foot_begin_on_one_line(browser, site):
    with fresh_page(browser, PHONE) as page:
        page.goto(f"{site.address}/results/test")
        parts = page.locator(".top, main, .foot")
        expect(parts).to_have_count(3)
        paddings = parts.evaluate_all("all => all.map((one) => getComputedStyle(one).paddingLeft)")
        assert len({*paddings}) == 1, paddings


def opened(page: Page, site: AppServer, query: str = "") -> Page:
    page.goto(f"{site.address}/results{query}")
    expect(page.locator("#board-opening svg")).to_be_visible()
    return page


def test_on_a_phone_the_sentence_and_the_chart_are_on_the_first_screen(browser: Browser, site):
    with fresh_page(browser, PHONE) as page:
        opened(page, site)
        expect(page.locator("#headline")).to_contain_text(
            "alpha leads, but not yet clearly over", timeout=20_000
        )
        assert page.locator("#headline").bounding_box()["y"] < 420
        row = page.locator("#board-opening svg text").filter(has_text="alpha").first.bounding_box()
        assert row["y"] + row["height"] < 844
        for text in page.locator("#board-opening svg text").all():
            box = text.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE, "nothing is cut off"
        assert_fits(page)


def test_a_model_is_opened_from_its_row_and_from_its_address_and_left_again(browser: Browser, site):
    with fresh_page(browser, DESK) as page:
        opened(page, site)
        page.locator("#board").get_by_role("link", name=HOSTILE, exact=True).click()
        expect(page.get_by_role("heading", name=HOSTILE, level=1)).to_be_visible()
        expect(page.locator("#board")).to_have_count(0)
        assert "/model/%3Cb%3Ec%2Fd" in page.url
        shoot(page, "model", whole=True)
        page.get_by_role("link", name="alpha", exact=True).first.click()
        expect(page.get_by_role("heading", name="alpha", level=1)).to_be_visible()
        page.get_by_role("link", name="Older battles").click()
        expect(page.get_by_role("link", name="Back to the newest")).to_be_visible()
        for _ in range(3):
            page.go_back()
        expect(page.locator("#board caption")).to_contain_text("test, one picture: 55 votes")


def test_a_finished_battle_has_a_page_of_its_own(browser: Browser, site):
    with fresh_page(browser, PHONE) as page:
        page.goto(f"{site.address}/model/alpha?source=test")
        page.get_by_role("link", name="Battles it lost").click()
        expect(page.locator("#lost-heading")).to_be_focused()
        expect(page.locator("#lost-heading")).to_be_in_viewport()
        expect(page.locator(".lost-battle").first).to_contain_text("young won.")
        shoot(page, "lost battles", whole=True)
        page.goto(f"{site.address}/battle/planted-55")
        heading = page.locator("#battle-name")
        expect(heading).to_have_text(re.compile(r"^(alpha or young|young or alpha)\?$"))
        assert page.title() == f"{heading.inner_text()} · Stereoscope"
        expect(page.locator(".battle-page .verdict")).to_have_text(
            re.compile(r"chose young over alpha\.$")
        )
        expect(page.locator(".battle-page .sides section", has_text="alpha says")).to_have_count(1)
        shoot(page, "finished battle", whole=True)
        page.get_by_role("link", name="alpha", exact=True).click()
        expect(page.locator("#model-name")).to_have_text("alpha")
        page.goto(f"{site.address}/battle/55")
        expect(page.get_by_role("heading", name="No finished battle here")).to_be_visible()


def assert_chips_are_worked_by_the_keyboard(page: Page) -> None:
    page.locator("#chip-family summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#chip-family ul")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#board caption")).to_contain_text("test, one picture, Color: ")
    open_menu(page, "Days")
    page.keyboard.press("Escape")
    expect(page.locator("#chip-days form")).to_be_hidden()
    unnamed = page.locator("main :is(button, a, input):visible").evaluate_all(
        "all => all.filter(one => !(one.textContent.trim() || one.ariaLabel || one.labels?.length)).length"
    )
    assert unnamed == 0


@pytest.mark.soak
def test_an_address_shows_its_board_whose_chips_take_keys_and_a_wrong_one_the_nearest(
    browser: Browser, site
):
    with fresh_page(browser, DESK) as page:
        opened(page, site, "?source=test&images=single&family=Counting&plot=battles")
        expect(page.locator("#board caption")).to_contain_text("test, one picture, Counting: ")
        expect(page.locator("#board-plots [aria-current]")).to_have_text("Battles")
        assert_chips_are_worked_by_the_keyboard(page)
        page.goto(f"{site.address}/results?source=gone&plot=../x")
        expect(page.locator("main > [role=status]")).to_have_text(
            "We couldn't read this part of the address: source=gone, plot=../x. This is the closest page."
        )
        page.goto(f"{site.address}/model/{'long%20name' * 30}")
        expect(page.locator("main")).to_contain_text(
            "Models with names over 200 characters have no page"
        )


def test_what_of_an_address_no_board_has_is_said(pages):
    def said(address: str) -> tuple[str, str, list[str]]:
        asked = ResultsAddress.parse(address)
        choice = asked.choose(pages.overview)
        assert choice is not None
        return choice.source, board_query(choice)["images"], list(asked.ignored(choice))

    assert (
        said(
            "/results?source=test&images=single&family=Color&since=2026-01-02&plot=battles&voters=all&x=1"
        )[2]
        == []
    )
    assert said("/results/test") == ("test", "single", [])
    for before in ("0", "5", "007"):
        assert said(f"/model/alpha?before={before}")[2] == []
    for padded in ("organisation=+Qwen", "licence=MIT+", "since=+2026-01-02"):
        assert said(f"/results?source=test&{padded}")[2] == []
    assert said("/results/gone") == ("test", "single", ["source=gone"])
    for wrong in (
        *(
            "images=weird",
            "family=nope",
            "family=color",
            "since=banana",
            "until=2026-13-01",
            "since=20260102",
        ),
        *("votes=counted", "votes=x", "voters=x", "plot=PLOTS", "before=x", f"family={'x' * 53}"),
    ):
        assert said(f"/results?source=test&{wrong}") == ("test", "single", [wrong])
        assert said(f"/model/alpha?{wrong}")[2] == [wrong]
    assert said("/results?source=test&since=2026-02-01&until=2026-01-01")[2] == ["since=2026-02-01"]
    assert said("/results?since=x&until=2026-01-01&votes=y&images=multiple")[1:] == (
        "multiple",
        ["since=x", "votes=y"],
    )


def test_answers_are_shown_as_in_a_battle_and_never_as_markup(database, own_pages):
    with database.write() as connection:
        odd = "**bold** <img src=x onerror=alert(1)>"
        connection.exec_driver_sql(
            "UPDATE answer SET text = ? WHERE text LIKE 'beta says%'", (odd,)
        )
        chose = select(BATTLE.c.voter_id).where(BATTLE.c.id == 30)
        voter = connection.scalar(chose)
    shown = html(own_pages, "/model/alpha?before=31", voter)
    assert "<strong>bold</strong>" in shown and "<img src=x" not in shown
