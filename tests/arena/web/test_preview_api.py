"""Previews: the pictures beside shared links say what the pages say."""

import io
import re
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from PIL import Image

from arena.battles.outcomes import Outcomes
from arena.battles.vote_table import VoteTable
from arena.database import Database
from arena.drawing_png import is_drawable
from arena.io.images import PictureStore
from arena.io.scaled_pictures import ScaledPictures
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.overview import Overview
from arena.leaderboard.service import Leaderboard
from arena.web import preview_api
from arena.web.heads import Heads, _beginning, standing_sentence
from arena.web.preview_api import Previews
from tests.support.planting import Planted, let_pass, plant
from tests.support.servers import drafts
from tests.support.visitors import Visitor


@pytest.fixture
def said(monkeypatch) -> list[tuple[str, str]]:
    """What stands on the cards that are drawn."""
    drawn: list[tuple[str, str]] = []
    monkeypatch.setattr(
        preview_api, "card", lambda title, text, picture: drawn.append((title, text)) or b"png"
    )
    return drawn


@pytest.fixture
def leaderboard(database) -> Iterator[Leaderboard]:
    Ingest(database).add_items("test", "folder", drafts(12))
    with closing(Leaderboard(database, VoteTable(database), every=0.0)) as opened:
        yield opened


@pytest.fixture
def previews(database: Database, leaderboard, tmp_path) -> Previews:
    heads = Heads(
        ItemBank(database), Outcomes(database), leaderboard, Overview(leaderboard, seconds=0.0)
    )
    return Previews(heads, ScaledPictures(PictureStore(tmp_path / "pictures"), tmp_path / "scaled"))


def computed(leaderboard: Leaderboard) -> None:
    leaderboard.board(leaderboard.choose("", "single").key, 30)


@pytest.mark.parametrize("name", ["vote", "results", "score"])
def test_a_preview_is_a_picture_of_the_size_that_sites_show(server, name):
    answer = httpx.get(f"{server.address}/preview/{name}.png")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert (
        Image.open(io.BytesIO(answer.content)).size == (1200, 630) and len(answer.content) < 100_000
    )
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "x.png",
        "run.png",
        "report/x.png",
        "battle/999999.png",
        "model/nobody.png",
        "model/../results.png/x",
        "%00.png",
        "a" * 500,
    ],
)
def test_there_are_no_other_previews(server, path):
    answer = httpx.get(f"{server.address}/preview/{path}")
    assert (answer.status_code, answer.headers.get("cache-control", "no-store")) == (
        404,
        "no-store",
    )


def test_a_model_is_shown_with_its_rank_once_its_votes_are_final(
    database, leaderboard, previews, said
):
    assert previews.picture("model/m1.png") == b"png"
    assert said[-1] == (
        "m1",
        "How people's blind choices rank m1: wins, losses, categories, battles.",
    )
    pairs = (("m1", "m2"), ("m2", "m3"), ("m1", "m3"))
    plant(
        database,
        [
            Planted(1 + n % 12, *pairs[n % 3][:: -1 if n % 5 == 0 else 1], n % 2 > 0)
            for n in range(300)
        ],
    )
    let_pass(database, 60)
    computed(leaderboard)
    assert previews.picture("model/m1.png") == b"png"
    assert (
        said[-1][0] == "m1"
        and re.match(r"Rank 1.*, Elo rating \d+ \(95% interval \d+ to \d+\)", said[-1][1])
        and "from people's 200 votes" in said[-1][1]
    )


def test_a_model_with_few_votes_has_no_rank_in_its_preview(database, leaderboard, previews, said):
    plant(database, [Planted(1, "m1", "m2"), Planted(2, "m2", "m1")])
    let_pass(database, 60)
    computed(leaderboard)
    assert previews.picture("model/m1.png") == b"png"
    assert said[-1][1].startswith("Still gathering votes: needs ") and said[-1][1].endswith(
        "after 2 votes."
    )
    board = leaderboard.board(leaderboard.choose("", "single").key)
    line = next(line for line in board.standings if line.model == "m1")
    assert (
        standing_sentence(line._replace(retired=True)) == "Retired after 2 votes, without a rank."
    )


def test_the_picture_of_a_board_is_drawn_once(database, leaderboard, previews, monkeypatch):
    plant(database, [Planted(1, "m1", "m2")])
    drawn: list[str] = []
    monkeypatch.setattr(
        preview_api, "chart_png", lambda board, title: drawn.append(title) or b"png"
    )
    computed(leaderboard)
    assert [
        previews.picture(path) for path in ("results.png", "results/test.png", "results.png")
    ] == [b"png"] * 3
    assert drawn == ["test"]
    assert previews.picture("results/gone.png") is None


def test_a_finished_battle_and_an_item_are_shown_and_no_open_one(
    database, leaderboard, previews, said
):
    visitor = Visitor(database, "one")
    battle = visitor.vote(visitor.serve_on(1), "a")
    assert previews.picture(f"battle/{battle.link}.png") is None, "it may still be taken back"
    visitor.reveal(battle)
    assert previews.picture(f"battle/{battle.link}.png") == b"png"
    title, text = said[-1]
    assert (
        title in ("m1 or m2?", "m2 or m1?")
        and "chose" in text
        and drafts(1)[0].instruction[:40] in text
    )
    item = ItemBank(database).bank().items[1]
    assert previews.picture(f"item/{item.key}.png") == b"png"
    assert said[-1][0].startswith(item.instruction[:40])
    assert previews.picture("item/x.png") is None


def test_a_card_holds_any_words_beside_a_picture(tmp_path):
    Image.new("RGBA", (3000, 20), "red").save(tmp_path / "wide.webp")
    for title in ("", "word " * 300, "w" * 900, "中文 العربية 🙂\n\x00"):
        for picture in (None, tmp_path / "wide.webp"):
            found = Image.open(io.BytesIO(preview_api.card(title, title, picture)))
            assert found.size == (1200, 630)


@pytest.mark.parametrize(
    "text, drawable", [("Naïve “café” – 50 €?", True), ("请描述这张图片", False), ("قطة", False)]
)
def test_words_that_the_font_lacks_are_not_drawn_as_boxes(text, drawable):
    assert is_drawable(text) is drawable


def test_an_instruction_without_blanks_is_cut_not_lost():
    assert (
        _beginning("请描述这张图片" * 40).startswith("请描述")
        and len(_beginning("请描述这张图片" * 40)) < 120
    )
    assert _beginning("Is the total right?") == "Is the total right?"
