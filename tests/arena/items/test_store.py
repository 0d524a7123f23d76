"""The item bank: what an item's key is, what comes in, what is shown, what changes and what stays."""

import hashlib
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from arena.battles.store import BattleStore, Draw
from arena.battles.tables import HAS_CHOICE
from arena.battles.vote_table import VoteTable
from arena.clock import FINAL_SECONDS
from arena.database import Database, DatabaseError
from arena.items.ingest import Changes, ImageDraft, Ingest, IngestError, ItemDraft
from arena.items.store import FAMILY, MODEL, Contribution, ItemBank, KeptPicture
from arena.thinking import ShownAnswer
from arena.types import Image, folded, item_key
from tests.support.bank_contents import contents
from tests.support.planting import let_pass
from tests.support.servers import drafts

HOST = "images.example.org"


def remote(number: int = 0, host: str = HOST, kept: bool = False) -> ItemDraft:
    """Return an item whose image lies on a host, maybe kept here too."""
    url = f"https://{host}/{number}.png"
    held = {"sha256": "ab" * 32, "suffix": "png"} if kept else {}
    image = ImageDraft(url, f"{number}.png", url=url, **held)
    return ItemDraft(f"What is {number}?", "Counting", (image,), {"m1": "one", "m2": "two"})


def shown(database: Database, *hosts: str) -> list[str]:
    return [item.instruction for item in ItemBank(database, hosts).bank().items.values()]


def texts(database: Database, instruction: str) -> list[str]:
    """Return the answers in use to an item."""
    bank = ItemBank(database)
    (item,) = (item for item in bank.bank().items.values() if item.instruction == instruction)
    shown = bank.shown_answers([contestant.answer for contestant in item.contestants])
    return [answer.text for answer in shown]


@pytest.mark.locks_or_dialect
def test_servers_that_bring_in_the_same_items_at_once_take_turns(database_url):
    start = Barrier(4)

    def import_file(_) -> Changes:
        mine = Database(database_url)
        start.wait()
        changes = Ingest(mine).add_items("demo", "demo", drafts(20))
        mine.close()
        return changes

    with ThreadPoolExecutor(4) as pool:
        assert sorted(changes.items_new for changes in pool.map(import_file, range(4))) == [
            0,
            0,
            0,
            20,
        ]


# Keys


def test_a_key_is_sixteen_hex_digits_of_sha256_over_instruction_and_image_keys():
    assert (
        item_key("What is this?", ["https://h/1.png"])
        == hashlib.sha256(b"What is this?\nhttps://h/1.png").hexdigest()[:16]
    )
    assert item_key("é", ["k1", "k2"]) == hashlib.sha256("é\nk1\nk2".encode()).hexdigest()[:16]
    assert drafts()[0].key == hashlib.sha256(b"What is in picture 0?\nkey-0-0").hexdigest()[:16]


@pytest.mark.parametrize(
    "written",
    [
        "How  many\tcafe\u0301s?",
        " How many cafés?\n",
        "How\u00a0many\u2003cafés?",
        "How many\r\n  cafés?",
        unicodedata.normalize("NFD", "How many cafés?"),
    ],
)
def test_spelling_of_spaces_and_accents_does_not_change_the_key(written):
    assert folded(written) == "How many cafés?"
    assert item_key(written, ["k"]) == item_key("How many cafés?", ["k"])


@given(st.text(), st.lists(st.text()))
def test_a_folded_instruction_has_the_same_key(instruction, keys):
    try:
        key = item_key(instruction, keys)
    except UnicodeEncodeError:
        return
    assert item_key(folded(instruction), keys) == key
    assert folded(folded(instruction)) == folded(instruction)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", ["k1"]), ("b", ["k1"])),
        (("a", ["k1"]), ("a", ["k2"])),
        (("a", ["k1", "k2"]), ("a", ["k2", "k1"])),
        (("a", ["k1"]), ("a", ["k1", "k1"])),
        (("a", ["k"]), ("A", ["k"])),
        (("a b", ["k"]), ("ab", ["k"])),
        (("a k1", ["k2"]), ("a", ["k1", "k2"])),
    ],
)
def test_other_content_has_another_key(one, other):
    assert item_key(*one) != item_key(*other)


# Coming in


def test_what_came_in_is_what_is_shown(database):
    image = ImageDraft(
        "https://h.org/a.png",
        "a.png",
        "https://h.org/a.png",
        "cd" * 32,
        "png",
        "two cats",
        "Ann",
        "CC0",
    )
    draft = ItemDraft(
        "Count them.", "Counting", (image, *drafts()[1].images), {"m1": "two", "m2": "three"}
    )
    changes = Ingest(database).add_items("mine", "folder", [draft])
    assert changes == Changes(items_new=1, answers_new=2, pictures_new=2)
    bank = ItemBank(database).bank()
    (item,) = bank.items.values()
    (source,) = bank.sources
    assert (source.name, source.kind) == ("mine", "folder")
    assert (item.key, item.source, item.family, item.instruction) == (
        draft.key,
        source.id,
        "Counting",
        "Count them.",
    )
    assert item.multi
    assert item.images[0] == Image(
        "cd" * 32, "png", "https://h.org/a.png", "two cats", "Ann", "CC0"
    )
    assert texts(database, "Count them.") == ["two", "three"]
    assert bank.by_key(draft.key) is item
    assert bank.by_key("0" * 16) is None


@pytest.mark.locks_or_dialect
def test_the_same_import_again_changes_nothing(database):
    ingest = Ingest(database)
    ingest.add_items("test", "folder", drafts())
    before = contents(database)
    again = ingest.add_items("test", "folder", drafts())
    assert again == Changes(items_known=6, answers_known=18)
    assert contents(database) == before


@pytest.mark.locks_or_dialect
def test_a_longer_import_adds_what_is_new(database):
    ingest = Ingest(database)
    ingest.add_items("test", "folder", drafts(items=2, models=("m1",)))
    changes = ingest.add_items("test", "folder", drafts(items=3, models=("m1", "m2")))
    assert changes == Changes(
        items_new=1, items_known=2, answers_new=4, answers_known=2, pictures_new=1
    )


def test_an_item_twice_in_one_import_is_one_item(database):
    changes = Ingest(database).add_items("test", "folder", [*drafts(items=1), *drafts(items=1)])
    assert (changes.items_new, changes.items_known, changes.answers_known) == (1, 1, 3)


def test_a_known_item_gets_the_pictures_it_lacked(database):
    ingest = Ingest(database)
    ingest.add_items("test", "visit", [remote()])
    assert shown(database) == []
    assert ingest.add_items("test", "visit", [remote(kept=True)]).pictures_new == 1
    assert shown(database) == ["What is 0?"]
    assert ItemBank(database).kept_pictures() == {
        f"https://{HOST}/0.png": KeptPicture("ab" * 32, "png", look=None)
    }
    assert ingest.add_items("test", "visit", [remote()]) == Changes(items_known=1, answers_known=2)
    assert shown(database) == ["What is 0?"], "a later import without pictures takes none away"


@pytest.mark.parametrize(
    ("last", "named"),
    [
        (replace(drafts()[0], answers={"m1": "another answer"}), "'m1' already has another answer"),
        (ItemDraft("?", "Counting", remote().images, {"m1": None}), None),
    ],
    ids=["another answer", "no text"],
)
@pytest.mark.locks_or_dialect
def test_nothing_comes_in_where_the_last_item_is_wrong(database, last, named):
    ingest = Ingest(database)
    ingest.add_items("test", "folder", drafts(items=1))
    before = contents(database)
    with pytest.raises((IngestError, DatabaseError), match=named):
        ingest.add_items("test", "folder", [*drafts(items=5, models=("m9",))[1:], last])
    assert contents(database) == before


def test_an_item_of_another_source_is_refused_by_name(database):
    ingest = Ingest(database)
    ingest.add_items("spring", "folder", drafts(items=1))
    before = contents(database)
    with pytest.raises(IngestError, match="belongs to the source 'spring'"):
        ingest.add_items("autumn", "folder", drafts(items=2))
    assert contents(database) == before


def test_a_source_keeps_its_kind(database):
    ingest = Ingest(database)
    ingest.add_items("bank", "demo", drafts(items=1))
    with pytest.raises(IngestError, match="of kind 'demo'.*another --name"):
        ingest.add_items("bank", "folder", drafts(items=2)[1:])


@pytest.mark.locks_or_dialect
def test_an_answer_of_a_hundred_thousand_characters_comes_back_whole(database):
    text = "<b>ä🙂</b>\n" * 10_000
    Ingest(database).add_items(
        "test", "folder", [replace(drafts()[0], answers={"m1": text, "m2": ""})]
    )
    assert texts(database, "What is in picture 0?") == [text, ""]


def test_families_models_and_voters_are_integer_codes(bank):
    with bank.read() as connection:
        assert connection.scalars(select(MODEL.c.id).order_by(MODEL.c.id)).all() == [1, 2, 3]
        assert connection.scalars(select(FAMILY.c.id).order_by(FAMILY.c.id)).all() == [1, 2, 3]


# What is shown


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        (HOST, True),
        ("IMAGES.example.ORG", True),
        ("example.org", False),
        ("evil.images.example.org", False),
        ("images.example.org.evil.net", False),
        (f"{HOST}@evil.net", False),
    ],
)
def test_an_item_waits_until_its_host_is_allowed(database, host, allowed):
    Ingest(database).add_items("test", "visit", [remote(host=host)])
    bank = ItemBank(database, [HOST]).bank()
    assert (len(bank.items), bank.items_without_picture) == ((1, 0) if allowed else (0, 1))
    assert ItemBank(database).bank().items_without_picture == 1


def test_one_missing_image_makes_the_item_wait(database):
    draft = replace(remote(), images=(drafts()[0].images[0], *remote().images))
    Ingest(database).add_items("test", "visit", [draft])
    assert ItemBank(database).bank().items_without_picture == 1
    assert shown(database, HOST) == ["What is 0?"]


def test_known_items_include_those_that_wait(database):
    Ingest(database).add_items("test", "visit", [remote(3)])
    (known,) = ItemBank(database).known_items()
    assert (known.key, known.instruction, known.image_names) == (
        remote(3).key,
        "What is 3?",
        ("3.png",),
    )


def test_a_snapshot_is_kept_while_nothing_changes(bank):
    items = ItemBank(bank)
    assert items.bank() is items.bank()


# Predictions files, names, retirement


def answers(text: str, items: int = 6) -> dict[int, str]:
    return {item: f"{text} {item}" for item in range(1, items + 1)}


@pytest.mark.locks_or_dialect
def test_a_predictions_file_adds_a_contestant(bank):
    assert Ingest(bank).add_answers("new", "new.csv", answers("new")) == Changes(answers_new=6)
    assert texts(bank, "What is in picture 2?")[-1] == "new 3"
    assert ItemBank(bank).contributions() == [Contribution("new.csv", "new", 6, False)]


def test_the_same_predictions_again_change_nothing(bank):
    ingest = Ingest(bank)
    ingest.add_answers("new", "new.csv", answers("new"))
    before = contents(bank)
    assert ingest.add_answers("new", "new.csv", answers("new")) == Changes(answers_known=6)
    assert contents(bank) == before


def test_another_answer_of_the_same_model_is_refused_and_nothing_stays(bank):
    before = contents(bank)
    with pytest.raises(
        IngestError, match="'m1' already has another answer.*Nothing was imported.*withdraw"
    ):
        Ingest(bank).add_answers("m1", "other.csv", {1: "m1 says 0", 2: "something else"})
    assert contents(bank) == before


@pytest.mark.locks_or_dialect
def test_a_withdrawn_file_leaves_the_draw_and_may_come_again(bank):
    ingest = Ingest(bank)
    ingest.add_answers("new", "new.csv", answers("old"))
    assert ingest.withdraw("new.csv") == 6
    assert "old 1" not in texts(bank, "What is in picture 0?")
    assert ItemBank(bank).contributions() == [Contribution("new.csv", "new", 6, True)]
    with pytest.raises(IngestError, match="No file of answers named 'new.csv' is in use"):
        ingest.withdraw("new.csv")
    assert ingest.add_answers("new", "new.csv", answers("better")) == Changes(answers_new=6)
    assert texts(bank, "What is in picture 0?")[-1] == "better 1"
    assert ingest.withdraw("new.csv") == 6


def test_withdrawing_takes_only_what_the_file_brought(bank):
    ingest = Ingest(bank)
    ingest.add_answers("new", "half.csv", answers("new", 3))
    ingest.add_answers("new", "all.csv", answers("new"))
    assert ingest.withdraw("all.csv") == 3
    assert "new 1" in texts(bank, "What is in picture 0?")


def test_two_models_files_of_one_name_are_not_withdrawn_together(bank):
    """VisIT-Bench's submissions are all named predictions.csv."""
    ingest = Ingest(bank)
    ingest.add_answers("one", "predictions.csv", answers("one"))
    ingest.add_answers("other", "predictions.csv", answers("other"))
    with pytest.raises(IngestError, match="one.*other"):
        ingest.withdraw("predictions.csv")
    assert {"one 1", "other 1"} < set(texts(bank, "What is in picture 0?"))
    with pytest.raises(IngestError, match="items list"):
        ingest.withdraw("predictions.csv", "\udcff")  # as Python reads an argument that isn't UTF-8
    assert ingest.withdraw("predictions.csv", "one") == 6
    assert "other 1" in texts(bank, "What is in picture 0?")


@pytest.mark.parametrize("file", ["", "nothing.csv", "%", "\\", "test"])
def test_an_unknown_file_is_not_withdrawn(bank, file):
    with pytest.raises(IngestError, match="items list"):
        Ingest(bank).withdraw(file)


def vote_on_all_pairs(database: Database) -> None:
    store = BattleStore(database)
    item = next(iter(ItemBank(database).bank().items.values()))
    for number, (one, other) in enumerate(combinations(item.contestants, 2)):
        voter = store.voter(f"voter {number}")
        draw = Draw(item.id, one.model, other.model, one.answer, other.answer)
        battle = store.serve(voter, lambda _, draw=draw: draw)
        assert battle
        store.vote(voter, battle.token, "a", "1")


def votes(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(select(func.count()).where(HAS_CHOICE)).scalar_one()


@pytest.mark.locks_or_dialect
def test_votes_stay_through_withdrawal_rename_and_retirement(bank):
    ingest = Ingest(bank)
    ingest.add_answers("new", "new.csv", answers("new"))
    vote_on_all_pairs(bank)
    let_pass(bank, FINAL_SECONDS)
    ingest.withdraw("new.csv")
    ingest.rename("new", "New model")
    ingest.retire("m1")
    assert votes(bank) == 6
    assert sum(VoteTable(bank).pair_votes(live=False).values()) == 6


@pytest.mark.locks_or_dialect
def test_a_renamed_model_is_shown_by_its_new_name_and_found_by_its_old(bank):
    ingest = Ingest(bank)
    ingest.rename("m1", "LLaVA (13B)")
    ingest.rename("m1", "LLaVA-1 (13B)")
    ingest.rename("m1", " LLaVA-1 (13B) ")
    assert {model.name: model.display for model in ItemBank(bank).models()}["m1"] == "LLaVA-1 (13B)"
    assert ingest.add_answers("m1", "m1.csv", {1: "m1 says 0"}) == Changes(answers_known=1)


@pytest.mark.parametrize(
    ("model", "display", "named"),
    [
        ("m1", "m2 ", "already taken by 'm2'"),
        ("nobody", "X", "no model named 'nobody'.*models list"),
        ("m1", "  ", "name"),
        ("m1", "m2\u200b", "invisible"),
    ],
)
def test_a_name_is_shown_for_one_model_only(bank, model, display, named):
    before = contents(bank)
    with pytest.raises(IngestError, match=named):
        Ingest(bank).rename(model, display)
    assert contents(bank) == before


@pytest.mark.parametrize("name", ["m1\u200b", "m1\nm2", "m\x1b[31m", "m\u202e1", ".", ".."])
def test_a_model_whose_name_no_page_can_show_is_refused(bank, name):
    before = contents(bank)
    with pytest.raises(IngestError, match="invisible characters, or only dots. Write"):
        Ingest(bank).add_answers(name, "odd.csv", answers("odd"))
    assert contents(bank) == before


def test_a_new_model_named_as_another_is_shown_is_refused_by_name(bank):
    Ingest(bank).rename("m1", "LLaVA")
    before = contents(bank)
    with pytest.raises(IngestError, match="LLaVA.*m1"):
        Ingest(bank).add_answers("LLaVA", "llava.csv", answers("llava"))
    assert contents(bank) == before


def test_a_retired_model_leaves_the_draw_alone(bank):
    Ingest(bank).retire("m2")
    items = ItemBank(bank).bank().items.values()
    assert all([contestant.model for contestant in item.contestants] == [1, 3] for item in items)
    with pytest.raises(IngestError, match="no model named 'nobody'"):
        Ingest(bank).retire("nobody")


THOUGHT = "<think>\nIt is a square.\n</think>\n\nRed."


def test_thinking_in_an_answer_is_kept_apart_and_a_cut_is_marked(database):
    """The same answer comes once, with its thinking or without."""
    ingest = Ingest(database)
    (draft,) = drafts(1, ("m1",))
    ingest.add_items("test", "folder", [replace(draft, answers={"m1": THOUGHT, "m2": "Red."})])
    ingest.add_answers("m3", "m3.csv", {1: THOUGHT}, cut=[1])
    bank = ItemBank(database)
    (item,) = bank.bank().items.values()
    shown = bank.shown_answers([contestant.answer for contestant in item.contestants])
    assert shown == (
        ShownAnswer("Red.", "It is a square."),
        ShownAnswer("Red."),
        ShownAnswer("Red.", "It is a square.", cut=True),
    )
    again = [
        ingest.add_answers("m1", f"{n}.csv", {1: text}) for n, text in enumerate((THOUGHT, "Red."))
    ]
    assert [changes.answers_known for changes in again] == [1, 1]
    with pytest.raises(IngestError):
        ingest.add_answers("m1", "other.csv", {1: "<think>no</think>Blue."})
