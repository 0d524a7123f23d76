"""The sentence and the chart that a board opens with: what they say, as SVG and as PNG."""

import io
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from arena.battles.vote_table import VoteTable
from arena.database import Database, now
from arena.drawing_png import png
from arena.drawings import (
    BoxMark,
    RatingRow,
    TextMark,
    counts_drawing,
    ratings_drawing,
    shortened,
    svg,
    svg_file,
    wrapped,
)
from arena.items import ingest
from arena.items.ingest import Ingest
from arena.leaderboard import chart
from arena.leaderboard.board import Board
from arena.leaderboard.chart import MOST_BARS, board_chart, chart_png
from arena.leaderboard.headline import headline, needs_in_words
from arena.leaderboard.service import Leaderboard
from arena.markdown import visible_name
from tests.support.planting import Planted, plant
from tests.support.servers import drafts

HOSTILE = "<script>alert(1)</script>&amp;\u202e" + "x" * 60


@pytest.fixture
def sqlite(tmp_path) -> Iterator[Database]:
    with closing(Database(f"sqlite:///{tmp_path / 'arena.db'}")) as opened:
        yield opened


def board_of(database: Database, wins: dict[tuple[str, str], int], models: Sequence[str]) -> Board:
    """Return the board of so many wins of one model over another, with its intervals."""
    Ingest(database).add_items("test", "folder", drafts(30, tuple(models)))
    coin, start = random.Random(3), now() - timedelta(days=30)
    pairs = [pair for pair, n in wins.items() for _ in range(n)]
    coin.shuffle(pairs)
    votes = [
        Planted(
            1 + coin.randrange(30),
            *pair,
            left=coin.random() < 0.5,
            at=start + timedelta(minutes=20 * n),
        )
        for n, pair in enumerate(pairs)
    ]
    if votes:
        plant(database, votes)
    with closing(Leaderboard(database, VoteTable(database))) as leaderboard:
        return leaderboard.board(leaderboard.choose("test", "single").key, 60)


def contest(*votes: int) -> dict[tuple[str, str], int]:
    """Return wins of `one` over `two` and back, of `two` over `three` and back, of `one` over `three` and back."""
    pairs = [
        ("one", "two"),
        ("two", "one"),
        ("two", "three"),
        ("three", "two"),
        ("one", "three"),
        ("three", "one"),
    ]
    return dict(zip(pairs, votes, strict=True))


@pytest.mark.parametrize(
    ("votes", "told"),
    [
        (
            (90, 10, 50, 50, 90, 10),
            "one leads. Place 1 is clear; 2–3 are not settled yet.",
        ),
        ((300, 30, 300, 30, 300, 30), "one leads. Places 1–3 are clear."),
        (
            (52, 48, 50, 50, 52, 48),
            "one leads, but not yet clearly over two and three.",
        ),
        ((4, 3, 3, 3, 3, 3), "Not enough votes to rank yet: 19 of about 45."),
    ],
)
def test_the_sentence_follows_the_table(sqlite, votes, told):
    board = board_of(sqlite, contest(*votes), ("one", "two", "three"))
    said = headline(board)
    assert sorted(re.findall(r"[\w–]+", said)) == sorted(re.findall(r"[\w–]+", told))


def test_without_a_record_of_orders_the_sentence_says_the_ranks_of_the_table(sqlite):
    """Also that no lead is called clear there."""
    board = board_of(sqlite, contest(90, 10, 50, 50, 90, 10), ("one", "two", "three"))
    bare = [line._replace(order=None) for line in board.standings]
    said = headline(replace(board, groups=(tuple(bare),)))
    assert said in (
        "one has rank 1; two and three share rank 2.",
        "one has rank 1; three and two share rank 2.",
    )


def test_a_newcomer_is_named_and_has_words_for_a_bar(sqlite):
    board = board_of(
        sqlite,
        {**contest(90, 10, 50, 50, 90, 10), ("new", "one"): 9, ("two", "new"): 9},
        ("one", "two", "three", "new"),
    )
    assert headline(board).endswith(
        "; new is still gathering votes. Place 1 is clear; 2–3 are not settled yet."
    )
    texts = [mark.text for mark in board_chart(board).marks if mark.kind == "text"]
    assert (
        texts.index("Still gathering votes")
        < texts.index("new")
        < texts.index("needs 12 more votes")
    )
    assert max(map(texts.index, ("one", "two", "three"))) < texts.index("Still gathering votes")


def test_a_retired_model_gathers_no_votes(sqlite):
    wins = {**contest(90, 10, 50, 50, 90, 10), ("new", "one"): 9, ("two", "new"): 9}
    board = board_of(sqlite, wins, ("one", "two", "three", "new"))
    lines = tuple(line._replace(retired=line.model == "new") for line in board.standings)
    board = replace(board, groups=(lines,))
    assert "gathering" not in headline(board)
    texts = [mark.text for mark in board_chart(board).marks if mark.kind == "text"]
    assert "Still gathering votes" not in texts and not any("more votes" in text for text in texts)
    assert needs_in_words(lines[-1]) == ""


def test_a_retired_model_adds_no_votes_to_those_that_rank_the_others(sqlite):
    board = board_of(sqlite, {("one", "two"): 6, ("two", "new"): 4}, ("one", "two", "new"))
    few = headline(board)
    lines = tuple(line._replace(retired=line.model == "new") for line in board.standings)
    assert "10 of about 45" in few
    assert "10 of about 32" in headline(replace(board, groups=(lines,)))


def test_who_never_lost_is_not_said_to_need_votes(sqlite):
    wins = {
        **contest(30, 30, 30, 30, 30, 30),
        ("best", "one"): 20,
        ("best", "two"): 20,
        ("new", "three"): 9,
    }
    said = headline(board_of(sqlite, wins, ("one", "two", "three", "best", "new")))
    assert said.endswith("; best hasn't lost yet, so it has no rank; new is still gathering votes.")


def test_the_sentence_says_whose_votes_it_is_about(sqlite):
    board = board_of(sqlite, contest(90, 10, 50, 50, 90, 10), ("one", "two", "three"))
    assert headline(replace(board, key=replace(board.key, everyone=True))).startswith(
        "By everyone's votes: one leads"
    )
    counted = replace(board, left_out=board.left_out._replace(rule="counted"))
    assert headline(counted).startswith("By counted votes: one leads")


def test_groups_that_never_met_are_not_called_one(sqlite):
    apart = {("one", "two"): 30, ("two", "one"): 20, ("three", "four"): 12, ("four", "three"): 10}
    board = board_of(sqlite, apart, ("one", "two", "three", "four"))
    assert len(board.groups) == 2
    assert headline(board).startswith(
        "In one of 2 groups that never met, one leads, but not yet clearly over two"
    )
    assert "three" not in svg(board_chart(board), "chart").split("</desc>")[1]


def test_a_board_without_votes_is_words_and_still_a_picture(sqlite):
    board = board_of(sqlite, {}, ("one", "two"))
    assert headline(board) == "Nobody has voted on this board yet."
    flagged = replace(board, left_out=board.left_out._replace(flagged=3))
    assert headline(flagged) == "No vote counts on this board yet."
    assert "Nobody has voted" in svg(board_chart(board), "empty")
    for picture in (chart_png(board), png(board_chart(board))):
        Image.open(io.BytesIO(picture)).verify()


def test_names_are_text_in_the_svg_and_short_beside_it(sqlite, monkeypatch):
    """Also one that a bank took in before such names were refused."""
    monkeypatch.setattr(ingest, "_check_readable", lambda name: None)
    board = board_of(sqlite, {(HOSTILE, "two"): 60, ("two", HOSTILE): 40}, (HOSTILE, "two"))
    drawn = svg_file(board_chart(board))
    root = ElementTree.fromstring(drawn)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script")) and root.get("role") == "img"
    names = [
        text
        for text in root.iter("{http://www.w3.org/2000/svg}text")
        if text.get("text-anchor") == "end"
    ]
    seen = visible_name(HOSTILE)
    assert "<U+202E>" in seen
    assert max(len("".join(name.itertext()).removeprefix(seen)) for name in names) <= 24
    assert [name.find("{*}title").text for name in names if name.find("{*}title") is not None] == [
        seen
    ]
    assert "\u202e" not in shortened(HOSTILE)
    assert shortened("abcdefghijklmnopqrstuvwxyz") == "abcdefghi…rstuvwxyz"
    assert shortened("评测指标的一个名字") == "评测指标的一个名字"
    assert shortened("评测指标的一个非常长的名字") == "评测指标…长的名字", (
        "wide letters take the room of two"
    )


def test_forty_models_are_a_small_chart_that_says_how_many_more(sqlite):
    models = [f"model-{number:03}" for number in range(40)]
    ring = {(one, other): 15 for one, other in zip(models, models[1:] + models[:1], strict=True)}
    board = board_of(sqlite, ring, models)
    drawn = svg(board_chart(board), "chart")
    assert len(drawn) < 15_000
    more = int(re.search(r"and (\d+) more models in the table", drawn)[1])
    assert more == 40 - sum(f">{name}</text>" in drawn for name in models)


def test_a_phone_shows_how_many_more_to_the_last_letter():
    """A phone has 362 px for a chart: distances shrink to it, letters of about 7 px do not."""
    rows = [RatingRow(f"m{number}", 1000 + number, 900, 1100) for number in range(324)]
    drawing = ratings_drawing("Ratings", "Ratings, best first", rows, MOST_BARS)
    (more,) = [
        mark
        for mark in drawing.marks
        if isinstance(mark, TextMark) and "more models in the table" in mark.text
    ]
    assert more.text == "and 300 more models in the table" and more.anchor == "start"
    assert 362 * more.x / drawing.width + 7 * len(more.text) <= 362


def test_a_preview_has_the_size_of_previews(sqlite):
    board = board_of(sqlite, contest(90, 10, 50, 50, 90, 10), ("one", "two", "three"))
    picture = Image.open(io.BytesIO(chart_png(board, "test, counted voters")))
    assert picture.size == (1200, 630) and picture.format == "PNG"
    assert len(picture.getcolors(1 << 20)) > 20, "something is drawn on it"


def test_a_preview_whose_sentence_is_too_long_shows_that_it_is_cut(sqlite, monkeypatch):
    board = board_of(sqlite, contest(90, 10, 50, 50, 90, 10), ("one", "two", "three"))
    drawings = []
    monkeypatch.setattr(chart, "headline", lambda board: "seven words of which none is long " * 9)
    monkeypatch.setattr(chart, "png", lambda drawing, margin: drawings.append(drawing) or b"")
    chart_png(board)
    lines = [
        mark.text for mark in drawings[0].marks if isinstance(mark, TextMark) and mark.size == 18
    ]
    assert len(lines) == 3 and lines[-1].endswith(" …")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("vlm-i", ["vlm-i"]),
        ("llava-v1.5-13b", ["llava-v1.5-", "13b"]),
        ("human-verified reference", ["human-", "verified", "reference"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijk", "lmnopqrstuv", "wxyz"]),
        ("Qwen - VL", ["Qwen - VL"]),
        ("Qwen - VL of 7 B", ["Qwen - VL", "of 7 B"]),
        ("", []),
    ],
)
def test_names_wrap_where_they_can(name, lines):
    assert wrapped(name, 11, 3) == lines


def light(colour: tuple[float, ...]) -> float:
    """Return a colour's relative luminance (WCAG 2)."""
    parts = [one / 255 for one in colour]
    return sum(
        weight * (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4)
        for weight, one in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    )


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_text_is_readable_in_every_colour_light_and_dark():
    template = Path("arena/web/templates/drawing.html").read_text("utf-8")
    pages = [
        dict(re.findall(r"(?:--)?(\w+):#(\w{3,6})", part))
        for part in template.split("prefers-color-scheme")
    ]
    for page in pages:
        inks = {
            name: tuple(bytes.fromhex(ink if len(ink) == 6 else ink * 2))
            for name, ink in page.items()
        }
        paper, text = inks.pop("background"), inks.pop("color")
        assert len(inks) == 10 and contrast(text, paper) > 7
        for name, ink in inks.items():
            assert name == "grid" or contrast(ink, paper) >= 4.5, name
        for name in ("accent", "warm"):  # the deepest cell of a heat map has half its colour
            cell = tuple((one + other) / 2 for one, other in zip(inks[name], paper, strict=True))
            assert contrast(text, cell) >= 4.5, name


def test_votes_by_day_stand_between_axes_of_numbers_and_dates():
    days, counts = [f"2026-11-{day:02}" for day in range(1, 31)], [0] * 29 + [12]
    counts[10] = 6
    drawing = counts_drawing("Votes by day", "18 votes", days, counts)
    bars = [mark for mark in drawing.marks if isinstance(mark, BoxMark)]
    texts = {mark.text: mark for mark in drawing.marks if isinstance(mark, TextMark)}
    assert [bar.height > 0 for bar in bars] == [count > 0 for count in counts]
    assert bars[29].height == pytest.approx(2 * bars[10].height, abs=0.1)
    assert {"0", "5", "10", "2026-11-01", "2026-11-16", "2026-11-30"} == set(texts)
    floor = {round(bar.y + bar.height, 2) for bar in bars}
    assert floor == {texts["0"].y - 4}, "bars stand on the line of zero"
    of_ten = texts["0"].y - texts["10"].y
    assert bars[29].height == pytest.approx(1.2 * of_ten, abs=0.1), (
        "and are as high as the axis says"
    )


def test_few_votes_have_whole_numbers_at_their_axis():
    drawing = counts_drawing("Votes by day", "1 vote", ["2026-11-01"], [1])
    assert [mark.text for mark in drawing.marks if isinstance(mark, TextMark)][:6] == [
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
    ]
