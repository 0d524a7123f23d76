"""Alike items: which of them boards take for one case, and that every reader says the same."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from arena.battles.vote_table import VoteTable, values
from arena.io.images import PictureStore
from arena.items.alike import alike_items, alike_keys
from arena.items.importers import ItemImporter
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.items.store import ItemBank
from arena.leaderboard.board import BoardKey
from arena.leaderboard.service import Leaderboard
from arena.types import bare
from arena.web.leaderboard_view import paragraphs
from tests.support.planting import Planted, plant
from tests.support.servers import drafts


def item(words: str, key: str, sha: str | None = None, look: str | None = None) -> ItemDraft:
    image = ImageDraft(key, "1.png", url=None if sha else key, sha256=sha, suffix="png", look=look)
    return ItemDraft(words, "Counting", (image,), {"m1": "one", "m2": "two"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is it?", "what is it"),
        ("“Count the cats!”", "Count   the cats."),
        ("这是什么？", "这是什么"),
        ("What is 2+2?", "What is 2-2?"),
        ("What is it?", "What is this?"),
        ("???", "!!!"),
    ],
)
def test_near_copies_have_the_same_bare_words(one, other):
    is_copy = one.startswith(("“", "这")) or other == "what is it"
    assert (bare(one) == bare(other)) == is_copy


def test_items_are_alike_by_their_first_picture_or_as_near_copies(database):
    ingest = Ingest(database)
    told = [
        item("What is it?", "a", "1" * 64, "aa"),
        item("How many?", "b", "1" * 64, "aa"),
        item("what is it", "c", "2" * 64, "aa"),
        item("How many?", "d", "3" * 64, "bb"),
        item("Why?", "e", "2" * 64, "aa"),
        item("What is it?", "https://h/1.png"),
        item("How many?", "https://h/1.png"),
        item("What is it?", "f", "4" * 64),
    ]
    ingest.add_items("test", "folder", told)
    with database.read() as connection:
        codes = alike_items(connection)
        keys = alike_keys(connection)
    assert list(codes.values()) == [1, 1, 1, 4, 1, 6, 6, 8]
    assert [keys[number] for number in (5, 7)] == [told[0].key, told[5].key]


def test_imported_pictures_are_known_by_their_look(database, tmp_path):
    bank = ItemBank(database)
    ItemImporter(Ingest(database), bank, PictureStore(tmp_path / "pictures")).import_demo()
    looks = [picture.look for picture in bank.kept_pictures().values()]
    assert all(len(look or "") == 16 for look in looks)


def test_a_board_takes_items_on_one_picture_for_one_case(database):
    """Twelve items on four pictures, and as many on pictures of their own."""
    of_four = [
        replace(draft, images=(replace(draft.images[0], sha256=f"{number % 4:064x}"),))
        for number, draft in enumerate(drafts(12, ("m1", "m2")))
    ]
    Ingest(database).add_items("test", "folder", of_four)
    coin = np.random.default_rng(1)
    votes = [
        Planted(1 + n % 12, *(("m1", "m2") if coin.random() < 0.6 else ("m2", "m1")), voter=n // 12)
        for n in range(240)
    ]
    plant(database, votes)
    with closing(Leaderboard(database, VoteTable(database))) as leaderboard:
        board = leaderboard.board(BoardKey(1, False), 60)
    assert board.statistics is not None
    assert (board.statistics.clusters, board.statistics.sample.pictures) == (4, 4)
    assert board.statistics.sample.items == 12
    limits = paragraphs(board)[2][0]
    assert "They treat the 4 pictures as independent, not their 12 items" in limits


def test_the_vote_table_has_the_codes_of_alike_items_also_of_items_that_come_later(database):
    table = VoteTable(database)
    for wave in range(2):
        own = [replace(one, instruction=f"{one.instruction} {wave}") for one in drafts(3)]
        Ingest(database).add_items("test", "folder", own)
        plant(database, [Planted(3 * wave + number, "m1", "m2") for number in (1, 2, 3)])
    assert values(table.read().votes, "picture").tolist() == [1, 2, 3, 1, 2, 3]


def test_the_vote_table_learns_of_a_picture_that_an_item_lacked(database):
    """The second item gets the first one's picture after the table has read both."""
    ingest = Ingest(database)
    url = "https://h/2.png"
    late = item("Why?", url)
    ingest.add_items("test", "folder", [item("How many?", "a", "1" * 64), late])
    table = VoteTable(database)
    plant(database, [Planted(1, "m1", "m2")])
    ingest.add_items("test", "folder", [item("Who?", "b", "2" * 64)])
    plant(database, [Planted(3, "m1", "m2")])
    assert values(table.read().votes, "picture").tolist() == [1, 3]
    picture = ImageDraft(url, "2.png", url=url, sha256="1" * 64, suffix="png")
    ingest.add_items("test", "folder", [replace(late, images=(picture,))])
    plant(database, [Planted(2, "m1", "m2")])
    assert values(table.read().votes, "picture").tolist() == [1, 3, 1]


def test_the_vote_table_knows_the_picture_of_an_item_that_lacked_one(database):
    """The second item gets a picture of its own after the table has read it; a new item is on the same one."""
    ingest = Ingest(database)
    url = "https://h/2.png"
    late = item("Why?", url)
    ingest.add_items("test", "folder", [item("How many?", "a", "1" * 64), late])
    table = VoteTable(database)
    plant(database, [Planted(1, "m1", "m2")])
    assert values(table.read().votes, "picture").tolist() == [1]
    picture = ImageDraft(url, "2.png", url=url, sha256="2" * 64, suffix="png")
    ingest.add_items("test", "folder", [replace(late, images=(picture,))])
    ingest.add_items("test", "folder", [item("Who?", "c", "2" * 64)])
    plant(database, [Planted(3, "m1", "m2")])
    assert values(table.read().votes, "picture").tolist() == [1, 2]
