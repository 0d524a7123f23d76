"""Filters of models by what is known of them: they hide rows of a board and change no number."""

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import pytest

from arena.battles.vote_table import VoteTable
from arena.database import Database
from arena.items.fact_store import FactStore
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.overview import Overview
from arena.leaderboard.service import Leaderboard
from arena.model_facts import StatedFacts
from arena.web.leaderboard_api import BoardFiles
from arena.web.results_address import ResultsAddress
from arena.web.results_page import ResultsPages
from arena.web.results_view import ResultsTabs
from tests.support.planting import Planted, let_pass, plant
from tests.support.servers import drafts

MODELS = ("small", "large", "closed", "unknown")
PAIRS = [(one, other) for one in MODELS for other in MODELS if one != other]
HOSTILE = '<script>alert("x")</script>'
FACTS = {
    "small": StatedFacts(organisation="Qwen", licence="apache-2.0", parameters=8_340_000_000, open=True),
    "large": StatedFacts(organisation="Åland", licence=HOSTILE, parameters=70 * 10**9, open=True, released="2025-10"),
    "closed": StatedFacts(organisation="Qwen", open=False),
}  # fmt: skip


@pytest.fixture
def pages(database: Database) -> Iterator[ResultsPages]:
    Ingest(database).add_items("test", "folder", drafts(30, MODELS))
    plant(database, [Planted(1 + n % 30, *PAIRS[n % 12]) for n in range(120)])
    let_pass(database, 60)
    store = FactStore(database)
    store.replace_stated(FACTS)
    with closing(Leaderboard(database, VoteTable(database), every=0.0)) as leaderboard:
        leaderboard.board(leaderboard.choose("test", "single").key, 60)
        tabs = ResultsTabs(lambda: False, lambda: False)
        yield ResultsPages(leaderboard, Overview(leaderboard), ItemBank(database), store, tabs)


def html(pages: ResultsPages, **query: str) -> str:
    asked = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    address = ResultsAddress.parse(f"/results/test?{asked}")
    choice = address.choose(pages.overview)
    assert address.ignored(choice) == []
    return pages.html(address, choice)


def rows(page: str) -> dict[str, str]:
    """Return the rows of a board by their models."""
    found = re.findall(r'<tr role="row" class="(?:trusted|provisional)">.*?</tr>', page, re.DOTALL)
    return {re.findall(r'data-value="([^"]*)"', row.split("<th")[1])[0]: row for row in found}


def notes(page: str) -> str:
    (said,) = re.findall(r'<p class="said" role="status">(.*?) <a href', page)
    return said


@pytest.mark.parametrize(
    "query, shown, said",
    [
        ({"open": "1"}, {"small", "large"}, "weights of 1 model."),
        ({"most": "8.3B"}, {"small"}, "size of 2 models."),
        ({"most": "70B"}, {"small", "large"}, "size of 2 models."),
        ({"organisation": "qwen"}, {"small", "closed"}, "maker of 1 model."),
        ({"licence": "Apache-2.0"}, {"small"}, "licence of 2 models."),
        ({"licence": HOSTILE}, {"large"}, "licence of 2 models."),
        ({"open": "1", "organisation": "Qwen"}, {"small"}, "weights of 1 model, maker of 1 model."),
    ],
)
def test_a_filter_hides_rows_and_changes_no_number(pages, query, shown, said):
    everything = rows(html(pages))
    assert everything.keys() == {*MODELS}
    page = html(pages, **query)
    assert rows(page) == {model: row for model, row in everything.items() if model in shown}
    assert notes(page) == (
        f"{len(shown)} of 4 models shown. Ratings use all models. Not shown because unknown: {said}"
    )
    opening = r'<section class="opening".*?</section>'
    assert re.findall(opening, page, re.DOTALL) == re.findall(opening, html(pages), re.DOTALL)


@pytest.mark.parametrize(
    "query, said",
    [
        ({"most": "1B"}, "No model here is known to have at most 1B parameters."),
        ({"organisation": "Foo <b>"}, "No model here is known to be by Foo &lt;b&gt;."),
        ({"licence": "mit"}, "No model here is known to have the licence MIT."),
        ({"open": "1", "licence": "mit"}, "No model here is known to fit all these filters."),
    ],
)
def test_a_value_that_nobody_has_is_said(pages, query, said):
    page = html(pages, **query)
    assert notes(page).startswith(said) and rows(page) == {}
    assert rows(html(pages)).keys() == {*MODELS}, "and the next page has all again"


def test_no_filter_knows_of_open_weights_where_none_are(pages):
    pages.facts.replace_stated({name: StatedFacts() for name in FACTS})
    assert notes(html(pages, open="1")) == (
        "No model here is known to have open weights. Not shown because unknown: weights of 4 models."
    )
    assert "Which models" not in html(pages), "nothing is known that could be chosen by"


def test_what_makes_no_sense_is_said_to_be_so(pages):
    address = ResultsAddress.parse(
        f"/results/test?open=yes&most=many&facts=2&licence={'x' * 81}&plot=over-time"
    )
    choice = address.choose(pages.overview)
    told = [part.partition("=")[0] for part in address.ignored(choice)]
    assert told == ["open", "most", "licence", "facts"]
    assert rows(pages.html(address, choice)).keys() == {*MODELS}


def test_a_column_shows_what_is_known_and_every_link_keeps_the_filter(pages):
    page = html(pages, facts="1", open="1")
    (cell,) = re.findall(r'<td role="cell" class="facts" data-value="8.34e\+09">(.*?)</td>', page)
    assert re.findall(r"<bdi>(.*?)</bdi>", cell) == ["Qwen", "8.3B", "Apache-2.0"]
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert 'class="facts"' not in html(pages, open="1")
    plots = re.findall(r'<a href="([^"]+)" data-part="board-plots"', page)
    assert plots and all("open=1" in link and "facts=1" in link for link in plots)
    downloads = re.findall(r'href="(/boards/board[^"]+)"', page)
    assert downloads and not any("open=1" in link for link in downloads)
    assert "open, 1 unknown" in page


def test_files_have_facts_of_all_models(pages):
    files = BoardFiles(pages.leaderboard, pages.facts)
    key = pages.leaderboard.choose("test", "single").key
    lines = list(csv.DictReader(io.StringIO(files.file("board.csv", "A", key).plain.decode())))
    known = {line["model"]: line for line in lines}
    columns = ("organisation", "licence", "parameters", "released")
    assert [known["large"][name] for name in columns] == [
        "Åland",
        HOSTILE,
        "70000000000",
        "2025-10",
    ]
    assert [known["unknown"][name] for name in columns] == [""] * 4
    pages.facts.replace_stated({"unknown": StatedFacts(organisation="Known now")})
    (row,) = [
        row
        for row in json.loads(files.file("board.json", "A", key).plain)["rows"]
        if row["model"] == "unknown"
    ]
    assert row["organisation"] == "Known now" and row["parameters"] is None


def test_a_board_without_votes_counts_the_models_that_can_be_voted_on_now(database: Database):
    ingest = Ingest(database)
    ingest.add_items("test", "folder", drafts(1, ("small",)))
    items = ItemBank(database)
    tabs = ResultsTabs(lambda: False, lambda: False)
    with closing(Leaderboard(database, VoteTable(database))) as leaderboard:
        overview = Overview(leaderboard)
        pages = ResultsPages(leaderboard, overview, items, FactStore(database), tabs)
        assert "No item here has answers from two models" in html(pages)
        items.CHECK_SECONDS = 3600
        ingest.add_items("test", "folder", drafts(3, MODELS)[1:])
        html(pages)  # with the bank as it was, since another process has changed it
        items.CHECK_SECONDS = 0
        assert "votes to rank its 4 models" in html(pages)
