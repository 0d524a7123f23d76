"""A board's files: made once for the votes they show, few are kept, and compressed where the reader can."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from arena.battles.vote_table import VoteTable
from arena.items.fact_store import FactStore
from arena.leaderboard.board import BoardKey
from arena.leaderboard.service import Leaderboard
from arena.web.leaderboard_api import MOST_FILES, BoardFiles, routes
from tests.support.planting import Planted, let_pass, plant

SINGLE = BoardKey(1, False)


@pytest.fixture
def leaderboard(bank) -> Iterator[Leaderboard]:
    plant(bank, [Planted(1, "m1", "m2")] * 3)
    let_pass(bank, 60)
    with closing(Leaderboard(bank, VoteTable(bank))) as opened:
        opened.board(SINGLE, 60)
        yield opened


def test_a_file_is_made_once_for_the_votes_it_shows(bank, leaderboard):
    files = BoardFiles(leaderboard, FactStore(bank))
    first = files.file("board.csv", "A title", SINGLE)
    assert files.file("board.csv", "A title", SINGLE) is first
    plant(bank, [Planted(2, "m2", "m3")])
    let_pass(bank, 60)
    newer = files.file("board.csv", "A title", SINGLE)
    assert newer is not first and newer.plain.count(b"m3") > first.plain.count(b"m3")


def test_few_files_are_kept(bank, leaderboard):
    files = BoardFiles(leaderboard, FactStore(bank))
    first = files.file("board.csv", "A title", SINGLE)
    for number in range(MOST_FILES):
        files.file(
            "board.csv",
            "A title",
            replace(SINGLE, since=date(2020, 1, 1 + number % 28), multi=number > 27),
        )
    assert files.file("board.csv", "A title", SINGLE) is not first


def test_drawings_are_half_as_long_on_the_way_to_a_browser(bank, leaderboard):
    app = FastAPI()
    app.include_router(routes(leaderboard, FactStore(bank)))
    with TestClient(app) as client:
        sent = {}
        for encoding in ("gzip, br", "identity", "gzip;q=0"):
            answer = client.get(
                "/boards/plot.svg?source=test&plot=battles", headers={"accept-encoding": encoding}
            )
            sent[encoding] = answer
            assert answer.status_code == 200 and answer.headers["vary"] == "accept-encoding"
    zipped, plain, refusing = sent.values()
    assert "content-encoding" not in {*plain.headers, *refusing.headers}
    assert zipped.headers["content-encoding"] == "gzip"
    assert zipped.text == plain.text and "<svg" in plain.text
    assert 2 * int(zipped.headers["content-length"]) < int(plain.headers["content-length"])
