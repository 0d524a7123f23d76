"""The leaderboard's page: boards and plots in a real browser at both widths, hostile names, downloads and links."""

import csv
import io
import random
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from arena.battles.vote_table import VoteTable
from arena.database import Database, now
from arena.formats.base import Battles, Vote, Winner, columns_of
from arena.formats.native import STEREOSCOPE
from arena.imports.importer import ImportRequest, VoteImporter
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.board import Board
from arena.leaderboard.board_sheet import board_sheet
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.selection import BoardSelection
from arena.leaderboard.service import Leaderboard
from arena.ratings.settled import ORDER_WORDS
from arena.sheets import as_csv
from arena.types import REFERENCE
from arena.web.addresses import MOST_NAME
from arena.web.leaderboard_view import HTML, board_html, cast_sentence, own_notes, paragraphs
from tests.support.leaderboard_page import choose, choose_plot, open_menu
from tests.support.planting import Planted, plant
from tests.support.screens import DESK, TABLET, assert_fits, fresh_page, shoot
from tests.support.servers import AppServer, drafts
from tests.support.sheets import heads, texts

HOSTILE = "=cmd|'/c calc'!A1<img src=x onerror=document.title='hit'>&amp;"
LONG = "a-model-with-a-name-that-does-not-end-7B-instruct-preview-2026-01-31-checkpoint-000123"
MODELS = ("alpha", "beta", HOSTILE, LONG, "young", "unbeaten", REFERENCE)
STRENGTH = {"alpha": 2, "beta": 1.6, HOSTILE: 1, LONG: 0.7, REFERENCE: 3}
IMPORTED = ("alpha", HOSTILE, "one of theirs", "another of theirs")
WINNERS: tuple[Winner, ...] = ("a", "b", "tie", "both_bad")
APART = ("left one", "left two", "right one", "right two")


def votes_of(database: Database) -> list[Planted]:
    """Return votes over a month: one pictures with all kinds of models, several pictures in two groups apart."""
    coin, start = random.Random(7), now() - timedelta(days=30)
    items = [item for item in ItemBank(database).bank().items.values() if item.source == 2]
    single, multi = ([item.id for item in items if item.multi is kind] for kind in (False, True))
    votes = []
    for number in range(900):
        one, other = coin.sample(sorted(STRENGTH), 2)
        won = coin.random() < STRENGTH[one] / (STRENGTH[one] + STRENGTH[other])
        pair = (one, other) if won else (other, one)
        at = start + timedelta(days=number / 30)
        votes.append(Planted(coin.choice(single), *pair, left=coin.random() < 0.5, at=at))
    # at once they would look like a crowd
    days = iter([start + timedelta(hours=8 * number) for number in range(90)])
    votes += [
        Planted(single[2 + 3 * (number % 4)], "unbeaten", "beta", at=next(days))
        for number in range(15)
    ]
    votes += [
        Planted(single[0], "alpha", "young", at=start),
        Planted(single[1], "young", "beta", at=start),
    ]
    for one, other in (APART[:2], APART[2:]):
        votes += [Planted(coin.choice(multi), one, other, at=next(days)) for _ in range(20)]
        votes += [Planted(coin.choice(multi), other, one, at=next(days)) for _ in range(12)]
    return votes


def imported(number: int, seed: int = 5) -> Battles:
    """Return votes from elsewhere, of every kind, with names that are no markup."""
    coin = random.Random(seed)
    votes = [
        Vote(
            *coin.sample(IMPORTED, 2),
            coin.choice(WINNERS),
            conversation=str(place),
            time=1.7e9 + 9e4 * place,
        )
        for place in range(number)
    ]
    return Battles("stereoscope", *columns_of(votes), rows=tuple(map(STEREOSCOPE.row, votes)))


def plant_boards(database: Database) -> None:
    """Fill a bank "test" with votes, leave a bank "later" without any, and import others."""
    ingest = Ingest(database)
    ingest.add_items("later", "folder", drafts(25, ("alpha", "beta"))[24:])
    ingest.add_items("test", "folder", drafts(12, MODELS))
    ingest.add_items("test", "folder", drafts(18, APART, images=2)[12:])
    plant(database, votes_of(database))
    VoteImporter(database).add(imported(300), ImportRequest("elsewhere"))


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Path:
    """A database with the planted boards, to copy."""
    path = tmp_path_factory.mktemp("planted") / "arena.db"
    with closing(Database(f"sqlite:///{path}")) as database:
        plant_boards(database)
    return path


@pytest.fixture(scope="module")
def boards(planted, tmp_path_factory) -> Iterator[AppServer]:
    """A server with the planted boards."""
    folder = tmp_path_factory.mktemp("boards")
    shutil.copy(planted, folder)
    running = AppServer(folder, DEMO_BANK="off")
    yield running
    running.stop()


@pytest.fixture
def page(browser: Browser, boards: AppServer) -> Iterator[Page]:
    """A visitor who has just opened the leaderboard."""
    with fresh_page(browser, DESK) as opened:
        opened.goto(f"{boards.address}/results/test")
        expect(opened.locator("#board caption")).to_contain_text(
            "test, one picture: 917 votes", timeout=15_000
        )
        yield opened
        assert opened.title().endswith(" · Elo ranking · Stereoscope"), "no name became markup"


@pytest.fixture(scope="module")
def leaderboard(planted, tmp_path_factory) -> Iterator[Leaderboard]:
    """The planted boards without a server."""
    path = shutil.copy(planted, tmp_path_factory.mktemp("leaderboard"))
    with (
        closing(Database(f"sqlite:///{path}")) as database,
        closing(Leaderboard(database, VoteTable(database))) as opened,
    ):
        yield opened


def opened(leaderboard: Leaderboard, images: str = "single") -> tuple[Board, BoardSelection]:
    choice = leaderboard.choose("test", images)
    return leaderboard.board(choice.key, 60), choice


def models(page: Page) -> list[str]:
    return page.locator("#board tbody tr:not([hidden]) th.model").all_inner_texts()


def test_the_board_shows_every_model_with_its_numbers_and_is_downloaded(page):
    assert sorted(models(page)) == sorted(MODELS)
    expect(page.locator("#board-opening .note")).to_contain_text(
        re.compile(r"917 votes by \d+ people on 12 items")
    )
    expect(page.locator("#board .tells")).to_contain_text("Anyone who came here could vote")
    expect(page.locator("#board .tells")).to_contain_text(
        re.compile(
            r"Pairs differ from Bradley-Terry by \d+\.\d points of win rate beyond chance \(p [=<] "
        )
    )
    expect(page.locator("#board td.rank small").first).to_have_attribute(
        "title", re.compile(r"^places \d to \d, 95%$")
    )
    row = page.locator(
        "#board tbody tr", has=page.get_by_role("rowheader", name="alpha", exact=True)
    )
    expect(row.locator(".rating")).to_contain_text(re.compile(r"^\d{3,4} \d{3,4}–\d{3,4}"))
    expect(row.locator(".win_rate")).to_contain_text(re.compile(r"\d\d\.\d\d% \(n=\d+\)"))
    below = page.locator("#board tbody").last
    expect(below.locator("tr.group")).to_have_text("Still gathering votes: no rank yet")
    expect(
        below.locator("tr.provisional .rating", has_text=re.compile(r"needs \d+ more votes"))
    ).to_have_count(2)
    expect(below.locator("tr.provisional .rating", has_text="has not lost yet")).to_have_count(1)
    expect(
        below.locator("tr.provisional .elo_median", has_text=re.compile(r"^\d{3,4}"))
    ).to_have_count(2)
    assert set(below.locator("tr.provisional .rank").all_inner_texts()) == {""}
    assert_downloaded(page)
    page.get_by_text("What the columns mean").click()
    expect(page.locator(".meaning dd").first).to_be_visible()
    shoot(page, "board", whole=True)
    page.set_viewport_size({"width": TABLET, "height": 844})
    board = page.locator(".board")
    assert board.evaluate("board => board.scrollWidth <= board.clientWidth"), "nothing is cut off"
    name = board.locator("tbody .model").first
    assert name.evaluate("name => name.clientWidth > 100"), "no letters in a column"


def assert_downloaded(page: Page) -> None:
    with page.expect_download() as download:
        page.get_by_role("link", name="Table (CSV)").click()
    assert download.value.suggested_filename == "board.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    assert {row["model"] for row in rows} == {*MODELS} - {HOSTILE} | {f"'{HOSTILE}"}, (
        "no cell is a formula"
    )
    assert sum(int(row["votes"]) for row in rows) == 2 * 917


def test_the_table_sorts_by_mouse_and_keyboard_and_is_searched_and_says_so(page):
    button = page.get_by_role("button", name="Votes", exact=True)
    button.click()
    values = [
        int(text.replace(",", "")) for text in page.locator("#board td.votes").all_inner_texts()
    ]
    assert values == sorted(values, reverse=True)
    expect(page.locator("#board th.votes")).to_have_attribute("aria-sort", "descending")
    expect(page.locator("#board-said")).to_have_text("Sorted by Votes, descending")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#board th.votes")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("button", name="Model", exact=True).click()
    assert models(page) == sorted(models(page), key=str.casefold)
    for _ in range(2):
        page.get_by_role("button", name="Mean win rate", exact=True).click()
        assert models(page)[-1] == "young", "blanks come last"
    search = page.get_by_role("searchbox", name="Search models")
    search.fill("model 7b")
    assert models(page) == [LONG]
    expect(page.locator("#board-said")).to_have_text("1 of 7 models")
    search.fill("nobody")
    assert models(page) == []
    search.fill("")
    assert len(models(page)) == 7


def test_filters_narrow_the_board_and_groups_that_never_met_stand_apart(page):
    choose(page, "Category", "Color")
    expect(page.locator("#board caption")).to_contain_text("test, one picture, Color: ")
    choose(page, "Category", "all")
    expect(page.locator("#board caption")).to_contain_text("917 votes")
    day = (now() - timedelta(days=10)).date()
    open_menu(page, "Days")
    page.get_by_label("From (UTC day)").fill(str(day))
    page.get_by_role("button", name="Show these days").click()
    expect(page.locator("#board caption")).to_contain_text(f"{day} to today (UTC)")
    address = page.url
    page.go_back()
    expect(page.locator("#board caption")).to_contain_text("test, one picture: 917 votes")
    page.go_forward()
    expect(page.locator("#board caption")).to_contain_text(f"{day} to today (UTC)")
    assert page.url == address and f"since={day}" in address
    open_menu(page, "Days")
    page.get_by_role("link", name="All days").click()
    expect(page.locator("#board caption")).to_contain_text("test, one picture: 917 votes")
    choose(page, "Pictures", "Several pictures")
    expect(page.locator("#board caption")).to_contain_text("test, several pictures: 64 votes")
    expect(page.locator("#board tr.group")).to_have_count(2)
    expect(page.locator("#board .tells")).to_contain_text("2 groups of models never met")
    groups = page.locator("#board tbody")
    for number in (0, 1):
        expect(groups.nth(number).locator("td.rank").first).to_contain_text("1")
    shoot(page, "groups", whole=True)
    choose(page, "Items", "later")
    expect(page.locator("#headline")).to_have_text(
        "Nobody has voted on this board yet. No item here has answers from two models to compare."
    )
    choose(page, "Pictures", "One picture")
    expect(page.locator("#headline")).to_have_text(
        "Nobody has voted on this board yet. It needs about 30 votes to rank its 2 models."
    )
    expect(page.locator("#board")).to_have_count(0)
    expect(page.locator("main").get_by_role("link", name="Vote", exact=True)).to_be_visible()
    assert_fits(page)


@pytest.mark.parametrize(
    ("images", "every"),
    [
        ("One picture", 4),
        *(
            pytest.param(images, 1, marks=pytest.mark.soak)
            for images in ("One picture", "Several pictures")
        ),
    ],
)
def test_every_plot_is_drawn_by_the_server_and_shows_its_numbers_below_the_mouse(
    page, boards, images, every
):
    if images == "Several pictures":
        choose(page, "Pictures", images)
        expect(page.locator("#board caption")).to_contain_text("several pictures")
    for name in list(PLOTS)[::every]:
        choose_plot(page, name)
        expect(page.locator("#board-plots [aria-current]")).to_have_text(name)
        expect(page.locator("#board-plots .note")).not_to_be_empty()
        picture = page.locator("#board-plots svg[role=img]")
        if name == "Categories vs. reference" and images == "Several pictures":
            expect(picture).to_have_count(0)  # these models never met the reference
            continue
        title = picture.locator("> title").text_content()
        expect(page.get_by_role("img", name=title)).to_be_visible()
        assert not picture.locator("text[transform]").count(), "no name is turned"
        assert picture.evaluate(UNTITLED) == 0
        page.get_by_text("As a table").click()
        expect(
            page.get_by_role(
                "columnheader", name="left one" if "Several" in images else "alpha"
            ).first
        ).to_be_visible()
        for kind in ("SVG", "PNG"):
            link = page.get_by_role("link", name=f"Picture ({kind})").get_attribute("href")
            assert (
                httpx.get(f"{boards.address}{link}")
                .headers["content-type"]
                .startswith(f"image/{kind.lower()}")
            )
        shoot(page, f"plot {name} {images}", whole=True)


UNTITLED = """svg => [...svg.querySelectorAll("circle, rect")].filter((mark) => {
  mark.scrollIntoView({ block: "center", inline: "center" });
  const place = mark.getBoundingClientRect();
  const below = document.elementFromPoint(place.x + place.width / 2, place.y + place.height / 2);
  return !below?.closest("circle, rect, line, g")?.querySelector(":scope > title")?.textContent.includes(": ");
}).length"""
"""How many points and cells of a drawing show nothing where the mouse is over their middle."""


def test_a_chart_that_keys_chose_keeps_the_focus(page):
    chart = page.locator("#board-plots nav").get_by_role("link", name="Over time", exact=True)
    chart.press("Enter")
    expect(page.locator("#board-plots h3")).to_have_text("Ratings over time")
    expect(chart).to_be_focused()


def test_a_printed_board_has_the_heads_of_its_columns(page):
    page.emulate_media(media="print")
    expect(page.locator("#board thead button").first).to_be_visible()
    expect(page.locator("#board-search")).to_be_hidden()
    expect(page.locator("#board-plots nav")).to_be_hidden()


BELOW = """small => {
  const number = document.createRange();
  number.selectNode(small.previousSibling);
  return small.getBoundingClientRect().top >= number.getBoundingClientRect().bottom - 4;
}"""


def test_what_stands_beside_a_number_stands_below_it_but_in_ranks_and_ratings(page):
    beside = page.locator("#board tbody td:not(.rank, .rating) small:not(.doubt)")
    shown = [small for small in beside.all() if small.is_visible()]
    assert len(shown) > len(MODELS)
    for small in shown:
        assert small.evaluate(BELOW), small.inner_text()


@pytest.mark.soak
def test_plots_are_drawn_in_the_colours_of_a_dark_page(page):
    page.emulate_media(color_scheme="dark")
    page.reload()
    expect(page.locator("#board caption")).to_contain_text(
        "test, one picture: 917 votes", timeout=15_000
    )
    choose_plot(page, "Categories")
    for text in ("#board-plots svg text", "#board-opening svg text"):
        assert light(page.locator(text).first.evaluate("one => getComputedStyle(one).fill")) > 180
    shoot(page, "dark plot", whole=True)


def light(colour: str) -> float:
    """Return how light a colour is that a browser tells, from 0 to 255."""
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


def test_a_vote_is_on_the_open_board_within_five_seconds(page, boards):
    database = Database(f"sqlite:///{boards.data_dir / 'arena.db'}")
    item = next(item.id for item in ItemBank(database).bank().items.values() if item.multi)
    choose(page, "Pictures", "Several pictures")
    expect(page.locator("#board caption")).to_contain_text("64 votes")
    page.get_by_role("button", name="Model", exact=True).click()
    page.get_by_role("searchbox", name="Search models").fill("a")
    page.get_by_role("button", name="Model", exact=True).focus()
    page.locator("#chip-family").evaluate("menu => { menu.open = true }")
    plant(database, [Planted(item, "left one", "left two")])
    expect(page.locator("#board caption")).to_contain_text("65 votes", timeout=5_000)
    expect(page.locator("#board th.model[aria-sort]").first).to_have_attribute(
        "aria-sort", "ascending"
    )
    assert page.evaluate("document.activeElement.dataset.column") == "model", "the focus stays"
    assert page.locator("#chip-family[open]").count(), "a menu that is open stays"
    assert models(page) == []
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM battle WHERE id = (SELECT max(id) FROM battle)")
    database.close()


KNOWN = ("content-type", "content-length", "content-disposition")


def test_downloads_answer_what_there_is_and_refuse_the_rest(boards):
    def get(path: str) -> httpx.Response:
        return httpx.get(f"{boards.address}/boards/{path}", timeout=30)

    assert (
        get("board.csv?source=test&images=multiple&family=Color")
        .headers["content-type"]
        .startswith("text/csv")
    )
    csv_rows = list(csv.DictReader(io.StringIO(get("board.csv?source=test").text)))
    table = get("board.json?source=test").json()
    assert table["title"] == "Elo ranking: test"
    assert [row["model"] for row in table["rows"]] == [row["model"].lstrip("'") for row in csv_rows]
    assert "| Model | Rank | Elo rating |" in get("board.md?source=test").text
    assert get("board.tex?source=test").text.endswith("\\bottomrule\n\\end{tabular}\n")
    for path, status in {
        "board.exe?source=test": 404,
        "board.csv?source=nothing": 404,
        "board.csv": 404,
        "board.csv?source=test&family=nothing": 404,
        "board.csv?source=test&since=yesterday": 400,
        "plots.html?source=later": 404,
        "plot.svg?source=later&plot=battles": 200,
        "board.csv?source=later": 200,
    }.items():
        answer = get(path)
        assert answer.status_code == status, path
        assert answer.headers["x-content-type-options"] == "nosniff"
        head = httpx.head(f"{boards.address}/boards/{path}", timeout=30)
        assert (head.status_code, head.content) == (status, b"")
        assert [head.headers.get(name) for name in KNOWN] == [
            answer.headers.get(name) for name in KNOWN
        ]


CELL = re.compile(
    r'<td role="cell" class="([\w-]+)" data-value="([^"]*)">(.*?)</td>',
    re.DOTALL,
)


def test_each_column_shows_its_own_number(leaderboard):
    board, choice = opened(leaderboard)
    rows = re.findall(
        r'<tr role="row" class="[\w-]+">(.*?)</tr>', board_html(board, choice), re.DOTALL
    )
    assert len(rows) == len(board.standings) == 7
    for row, line in zip(rows, board.standings, strict=True):
        cells = {
            name: (value, re.sub(r"<[^>]*>", "", shown)) for name, value, shown in CELL.findall(row)
        }
        numbers = {
            "rank": line.rank and line.rank.value,
            "rating": line.rating and line.rating.value,
            "order": line.order and line.order.progress,
            "elo_median": line.elo and line.elo.value,
            "votes": line.votes,
            "win_rate": line.win_rate and line.win_rate.value,
            "mean_win_rate": line.mean_win_rate,
            "left_share": line.left and line.left.value,
        }
        wanted = {
            name: "" if number is None else f"{number:.6g}" for name, number in numbers.items()
        }
        assert {name: value for name, (value, _) in cells.items()} == wanted
        if line.rating and line.rating.low:
            assert (
                f"{line.rating.value:.0f} {line.rating.low:.0f}–{line.rating.high:.0f}"
                in cells["rating"][1]
            )
        if line.order:
            votes = line.order.settled_at
            since = f"since {votes:,} votes" if votes else f"{min(line.order.progress, 0.99):.0%}"
            assert cells["order"][1] == f"{ORDER_WORDS[line.order.state]} {since}"
        if line.win_rate:
            assert cells["win_rate"][1] == f"{line.win_rate.value:.2%} (n={line.win_rate.n})"
        if line.left and line.mean_win_rate:
            assert cells["left_share"][1].startswith(f"{line.left.value:.0%}")
            assert cells["mean_win_rate"][1] == f"{line.mean_win_rate:.0%}"


def test_a_model_whose_name_is_too_long_for_a_page_has_no_link(leaderboard):
    board, choice = opened(leaderboard)
    first, second, *others = board.standings
    linked = second._replace(model="y" * MOST_NAME)
    unlinked = first._replace(model="x" * (MOST_NAME + 1))
    html = board_html(replace(board, groups=((unlinked, linked, *others),)), choice)
    assert f"/model/{linked.model}?" in html
    assert f"<bdi>{unlinked.model}</bdi></th>" in html and f"/model/{unlinked.model}" not in html


def test_a_board_of_everyone_says_how_many_votes_it_has_once_there_are_any(leaderboard):
    board, _ = opened(leaderboard)
    everyone = replace(board, key=replace(board.key, everyone=True))
    assert "Everyone: 917 of 917 votes" in " ".join(own_notes(everyone))
    assert "Everyone" not in " ".join(own_notes(replace(everyone, votes=0)))


def test_a_pair_seen_in_one_order_only_counts(leaderboard):
    board, _ = opened(leaderboard)
    table = PLOTS["Battles"](board, leaderboard).table
    met = {row[0]: dict(zip(heads(table), row, strict=True)) for row in texts(table)}
    assert met["unbeaten"]["beta"] == met["beta"]["unbeaten"] == "15"


RATE_CELL = re.compile(r"(\d+)% \((\d+)–(\d+)%, n = (\d+)\)")
RATING_CELL = re.compile(r"(\d+) \((\d+)–(\d+), (\d+) votes\)")


@pytest.mark.parametrize(
    ("name", "pattern", "fewest"),
    [("Categories vs. reference", RATE_CELL, 1), ("Categories", RATING_CELL, 10)],
)
def test_the_families_plots_give_votes_and_intervals_in_the_table_and_on_hover(
    leaderboard, name, pattern, fewest
):
    plot = PLOTS[name](opened(leaderboard)[0], leaderboard)
    assert [row[0] for row in texts(plot.table)] == ["Color", "Counting", "Directions"]
    told = {
        f"{model}, {row[0]}: {text}"
        for row in texts(plot.table)
        for model, text in zip(heads(plot.table)[1:], row[1:], strict=True)
        if text != "–"
    }
    assert {mark.title for mark in plot.drawing.marks if mark.kind == "cell"} == told != set()
    for text in told:
        value, low, high, votes = map(int, pattern.fullmatch(text.rpartition(": ")[2]).groups())
        assert low <= value <= high and votes >= fewest


def test_the_csv_holds_what_the_board_holds(leaderboard):
    board, _ = opened(leaderboard)
    rows = list(csv.DictReader(io.StringIO(as_csv(board_sheet(board)))))
    assert len(rows) == len(board.standings) == 7
    for row, line in zip(rows, board.standings, strict=True):
        assert row["model"].lstrip("'") == line.model
        assert float(row["rating"] or 0) == (line.rating.value if line.rating else 0)
        assert (row["status"], row["trust"]) == (line.status, line.trust)


def test_the_sentence_says_what_the_numbers_can_and_cannot_tell(leaderboard):
    whole, _ = opened(leaderboard)
    assert f"Removing the {whole.statistics.overturn.votes} vote" in HTML.summary(paragraphs(whole))
    assert "1,000 boards of equally good models, at most 50 ever" in HTML.summary(paragraphs(whole))
    choice = leaderboard.choose("test", "single", "Color")
    early = leaderboard.board(choice.key)
    assert early.statistics is None
    assert "follow in a moment" in cast_sentence(early)
    board = leaderboard.board(choice.key, 60)
    told = HTML.summary(paragraphs(board))
    sample, statistics = board.statistics.sample, board.statistics
    assert (
        f"{board.votes} votes</b> by {sample.voters} people on {sample.items} items"
        in cast_sentence(board)
    )
    assert f"{statistics.clusters} items" in told
    assert board.left.low < 0.5 < board.left.high and "chance" not in told, (
        "sides were drawn fairly here"
    )
    assert "one picture, Color" in board_html(board, choice)
