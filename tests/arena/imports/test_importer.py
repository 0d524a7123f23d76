"""Imported votes: sources of their own, each row once, counted as the import was told, and exported as they came."""

import csv
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from sqlalchemy import func, select

from arena.__main__ import main
from arena.battles.vote_table import VoteTable
from arena.database import Database, DatabaseError
from arena.formats.base import Battles, Vote, columns_of
from arena.formats.native import STEREOSCOPE
from arena.formats.registry import FORMATS, read, write
from arena.imports import importer
from arena.imports.importer import (
    ImportCounts,
    ImportedVotesError,
    ImportRequest,
    VoteImporter,
)
from arena.imports.ranked_votes import rankable_battles
from arena.imports.tables import (
    IMPORTED_ROW,
    IMPORTED_SOURCE,
    IMPORTED_VOTE,
    imported_battles,
    imported_sources,
)
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.board import Board
from arena.leaderboard.board_sheet import board_sheet
from arena.leaderboard.chart import board_chart
from arena.leaderboard.headline import headline
from arena.leaderboard.overview import Overview
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.service import Leaderboard
from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.report import RatingSettings, rating_report
from arena.ratings.votes import Outcome, Votes
from arena.sheets import as_csv
from arena.types import REFERENCE
from arena.web.leaderboard_view import import_notes, paragraphs
from tests.support.planting import Planted, plant
from tests.support.servers import drafts
from tests.support.vote_samples import CLEAN, put, sample


def votes_of(*votes: Vote) -> Battles:
    """Return votes as a file of this format gives them."""
    return Battles("stereoscope", *columns_of(votes), rows=tuple(map(STEREOSCOPE.row, votes)))


def battles(number: int, *, seed: int = 1, **said) -> Battles:
    """Return votes of four models, with every kind of winner, each with a name of its own."""
    coin = random.Random(seed)
    made = []
    for place in range(number):
        a, b = coin.sample(["m1", "m2", "x", "y"], 2)
        winner = coin.choice(["a", "a", "a", "b", "b", "tie", "both_bad"])
        vote = Vote(
            a,
            b,
            winner,
            conversation=f"{seed} {place}",
            voter=f"v{place % 7}",
            item=f"i{place % 11}",
        )
        made.append(vote._replace(**said))
    return votes_of(*made)


def of_one_judge(judged: Battles) -> Battles:
    """Return the votes of the first judge."""
    lines = [line for line in judged.lines() if line.vote and line.vote.voter == judged.voter[0]]
    columns = columns_of(line.vote for line in lines if line.vote)
    return Battles(judged.format, *columns, rows=tuple(line.row for line in lines))


@pytest.fixture
def imports(bank) -> VoteImporter:
    return VoteImporter(bank)


@pytest.fixture
def leaderboard(bank) -> Iterator[Leaderboard]:
    opened = Leaderboard(bank, VoteTable(bank), every=0)
    yield opened
    opened.close()


def counted(database: Database) -> list[int]:
    with database.read() as connection:
        return [
            connection.scalar(select(func.count()).select_from(table))
            for table in (IMPORTED_ROW, IMPORTED_VOTE)
        ]


def board_of(leaderboard: Leaderboard, source: str, **choice) -> Board:
    chosen = leaderboard.choose(source, choice.pop("images", "single"), **choice)
    assert chosen and chosen.source == source
    return leaderboard.board(chosen.key, 60)


def told(board: Board) -> str:
    return " ".join(import_notes(board))


# Coming in


PORTION = 100
"""Votes that are stored together where portions are short."""


@pytest.fixture
def short_portions(monkeypatch) -> None:
    monkeypatch.setattr(importer, "PORTION", PORTION)


@pytest.mark.locks_or_dialect
def test_the_same_file_twice_adds_nothing(bank, imports, short_portions):
    first = battles(PORTION + 50)
    assert imports.add(first, ImportRequest("elsewhere")) == ImportCounts(votes=PORTION + 50)
    assert imports.add(first, ImportRequest("elsewhere")) == ImportCounts(known=PORTION + 50)
    longer = votes_of(*first.votes(), Vote("m1", "y", "tie", conversation="new"))
    assert imports.add(longer, ImportRequest("elsewhere")) == ImportCounts(
        votes=1, known=PORTION + 50
    )
    assert imports.add(first, ImportRequest("another")).votes == PORTION + 50
    assert counted(bank) == [2 * PORTION + 101] * 2


def test_votes_that_nothing_tells_apart_are_all_counted_and_files_of_them_kept_apart(bank, imports):
    """Three columns do not say which battle a row was: the same row twice in a file is two votes."""
    same = Vote("m1", "m2", "a")
    order = ImportRequest("frame")
    assert imports.add(votes_of(same, same, same), order).votes == 3
    assert imports.add(votes_of(same, same, same), order) == ImportCounts(known=3)
    assert imports.add(votes_of(same, same), order).votes == 2, "another file, so other votes"
    logged = same._replace(time=5.0)
    assert imports.add(votes_of(logged, logged), order).votes == 2
    assert imports.add(votes_of(logged, logged, logged), order) == ImportCounts(votes=1, known=2), (
        "a log that grew"
    )


def test_a_file_adds_nothing_when_more_or_fewer_of_its_votes_count(imports):
    frame = votes_of(Vote("m1", "m2", "a"), Vote("m1", "m1b", "a"), Vote("m1", "m2", "b"))
    merged = rankable_battles(frame, aliases={"m1b": "m1"})
    order = ImportRequest("frame")
    assert imports.add(frame, order) == ImportCounts(votes=3)
    assert imports.add(merged, order) == ImportCounts(known=3)
    assert imports.add(merged, ImportRequest("merged")) == ImportCounts(votes=2, others=1)
    assert imports.add(frame, ImportRequest("merged")) == ImportCounts(votes=1, known=2)


def test_a_file_and_its_copy_in_our_format_are_the_same_votes(imports, tmp_path):
    path = sample("fastchat-log", tmp_path)
    assert imports.add(read(path), ImportRequest("log")) == ImportCounts(votes=6, others=4)
    write(read(path), tmp_path / "ours.parquet")
    assert imports.add(read(tmp_path / "ours.parquet"), ImportRequest("log")) == ImportCounts(
        known=10
    )


def test_a_row_whose_origin_is_our_own_format_is_kept_as_it_came(bank, imports):
    votes = votes_of(Vote("m1", "m2", "a"))
    odd_row = {**votes.rows[0], "origin": "stereoscope", "origin_row": "no JSON"}
    imports.add(replace(votes, rows=(odd_row,)), ImportRequest("odd"))
    with bank.read() as connection:
        (source,) = imported_sources(connection)
        assert imported_battles(connection, source).rows == (odd_row,)


def test_an_origin_of_digits_is_a_text(imports):
    votes = votes_of(Vote("m1", "m2", "a"))
    odd_row = {**votes.rows[0], "origin": 5, "origin_row": 6}
    assert imports.add(replace(votes, rows=(odd_row,)), ImportRequest("odd")).votes == 1


def test_nothing_is_made_of_a_file_without_votes(bank, imports):
    assert imports.add(votes_of(), ImportRequest("empty")) == ImportCounts()
    with bank.read() as connection:
        assert imported_sources(connection) == ()


@pytest.mark.locks_or_dialect
def test_rows_of_an_import_that_was_cut_short_do_not_count(bank, leaderboard, short_portions):
    """The second portion cannot be stored: nothing counts until the import is made again."""
    VoteImporter(bank).add(battles(50, seed=9), ImportRequest("there"))
    wrong = battles(PORTION + 1, images=1)
    wrong = votes_of(*list(wrong.votes())[:-1], Vote("m1", "m2", "neither", conversation="last"))
    with pytest.raises(DatabaseError, match="Not saved"):
        VoteImporter(bank).add(wrong, ImportRequest("cut"))
    assert counted(bank) == [PORTION + 50, PORTION + 50]
    assert leaderboard.choose("cut (imported)", "single").source == "test", (
        "there is no such source yet"
    )
    with pytest.raises(DatabaseError, match="Not saved"):
        VoteImporter(bank).add(wrong, ImportRequest("there"))
    assert board_of(leaderboard, "there (imported)").votes == 50
    assert VoteImporter(bank).add(
        battles(PORTION + 1, images=1), ImportRequest("cut")
    ) == ImportCounts(votes=1, known=PORTION)
    assert board_of(leaderboard, "cut (imported)").import_summary.votes > 0


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_what_was_imported_is_exported_as_it_came(tmp_path, bank, imports, suffix):
    for name in [form.name for form in FORMATS if form.suffixes]:
        path = sample(name, tmp_path)
        came = of_one_judge(read(path)) if name == "visit-battles" else read(path)
        imports.add(came, ImportRequest(name))
        with bank.read() as connection:
            kept = imported_battles(connection, imported_sources(connection)[-1])
        write(kept, tmp_path / f"ours{suffix}")
        back, direct = (tmp_path / f"{one}{path.suffix}" for one in ("back", "direct"))
        write(read(tmp_path / f"ours{suffix}"), back, name)
        write(came, direct, name)
        assert back.read_bytes() == direct.read_bytes()
        assert read(back).rows == came.rows and read(back).others == came.others
        if name != "visit-bench":  # its names of models are written as the bank has them
            assert list(kept.votes()) == list(came.votes())


@pytest.mark.locks_or_dialect
def test_an_import_that_cannot_begin_leaves_nothing(bank, imports):
    """A row without a text, and a database that refuses the first rows: no source stands there without votes."""
    vote = Vote("m1", "m2", "a", conversation="1")
    odd = Battles(
        "stereoscope", *columns_of([vote] * 2), rows=(STEREOSCOPE.row(vote), {"cell": object()})
    )
    for wrong, error in (
        (odd, TypeError),
        (votes_of(vote, vote._replace(winner="neither")), DatabaseError),
    ):
        with pytest.raises(error):
            imports.add(wrong, ImportRequest("cut", judge=True))
        with bank.read() as connection:
            assert connection.scalar(select(func.count()).select_from(IMPORTED_SOURCE)) == 0
        assert counted(bank) == [0, 0]


def test_days_and_decimals_of_parquet_come_in(imports, tmp_path):
    rows = [{**CLEAN[0], "day": date(2024, 10, 20), "price": Decimal("0.10")}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "votes.parquet")
    came = read(tmp_path / "votes.parquet")
    assert imports.add(came, ImportRequest("days")) == ImportCounts(votes=1)
    assert imports.add(came, ImportRequest("days")) == ImportCounts(known=1)


# What may not come in


def test_kinds_of_votes_that_no_board_may_mix_are_refused_and_nothing_is_stored(bank, imports):
    people, judged = battles(3, judge=False), battles(3, seed=2, judge=True, voter="gpt")
    Ingest(bank).add_items("demo", "demo", drafts(8)[7:])
    demo = next(item.key for item in ItemBank(bank).bank().items.values() if item.source == 2)
    on_demo = battles(3, seed=3, item=demo)
    for wrong, order, part in (
        (
            votes_of(*people.votes(), *judged.votes()),
            ImportRequest("both"),
            "a judge's and people's",
        ),
        (
            votes_of(*people.votes(), *on_demo.votes()),
            ImportRequest("both"),
            "those on demo items and others",
        ),
        (battles(9, judge=True), ImportRequest("both"), "several judges"),
        (judged, ImportRequest("both", into_live=True), "never count beside live ones"),
        (on_demo, ImportRequest("both", into_live=True), "never count beside live ones"),
        (people, ImportRequest("test"), "that of a source of items"),
        (people, ImportRequest(" "), "empty"),
        (battles(3, time=1.7e15), ImportRequest("both"), "in seconds since 1970"),
    ):
        with pytest.raises(ImportedVotesError, match=part):
            imports.add(wrong, order)
    assert counted(bank) == [0, 0]
    imports.add(people, ImportRequest("people"))
    imports.add(judged, ImportRequest("judge"))
    for wrong, source in (
        (judged, "people"),
        (people, "judge"),
        (on_demo, "people"),
        (battles(3, seed=4, judge=True, voter="claude"), "judge"),
    ):
        with pytest.raises(ImportedVotesError, match="[Aa] board can't"):
            imports.add(wrong, ImportRequest(source))
    assert counted(bank) == [6, 6]
    imports.add(battles(3, seed=5, voter="gpt"), ImportRequest("judge", judge=True))
    with bank.read() as connection:
        assert [one.label for one in imported_sources(connection)] == [
            "people (imported)",
            "judge (imported, judge)",
        ]


# Boards


def test_many_imports_leave_the_banks_board_in_the_overview(
    bank, imports, leaderboard, monkeypatch
):
    plant(bank, [Planted(1, "m1", "m2")])
    for name in ("first", "second"):
        imports.add(battles(20), ImportRequest(name))
    monkeypatch.setattr("arena.leaderboard.overview.MOST_SOURCES", 2)
    listed = {entry.source for entry in Overview(leaderboard).entries()}
    assert listed == {"test", "second (imported)"}


def test_a_board_whose_imported_votes_are_all_left_out_says_that_none_counts(imports, leaderboard):
    said = [Vote("m1", "m2", "both_bad", conversation="1"), Vote("m1", "m1", "a", conversation="2")]
    imports.add(votes_of(*said), ImportRequest("elsewhere", both_bad="out"))
    board = board_of(leaderboard, "elsewhere (imported)")
    assert (board.votes, headline(board)) == (0, "No vote counts on this board yet.")


@pytest.mark.locks_or_dialect
def test_imported_votes_form_boards_of_their_own(bank, imports, leaderboard):
    """With ties as halves: the ratings are those of the arithmetic on the same votes."""
    plant(bank, [Planted(1, "m1", "m2")] * 3)
    live = leaderboard.choose("test", "single").key
    assert leaderboard.board(live).votes == 3
    came = battles(400, category="Counting")
    imports.add(came, ImportRequest("elsewhere"))
    assert leaderboard.choose(None, "single").source == "test", "the arena's own come first"
    assert leaderboard.board(live).votes == 3, "nothing mixes"
    board = board_of(leaderboard, "elsewhere (imported)")
    assert (board.votes, board.statistics.sample.voters, board.statistics.sample.items) == (
        400,
        7,
        11,
    )
    places = {line.model: line for line in board.standings}
    names = sorted(places)
    code = {name: place for place, name in enumerate(names)}
    outcomes = {"a": Outcome.A, "b": Outcome.B, "tie": Outcome.TIE, "both_bad": Outcome.BOTH_BAD}
    a, b = ([code[name] for name in column] for column in (came.model_a, came.model_b))
    columns = Votes(
        np.array(a), np.array(b), np.array([outcomes[one] for one in came.winner]), len(names)
    )
    fit = bradley_terry(win_matrix(columns))
    sides = list(zip(came.model_a, came.model_b, came.winner, strict=True))
    for name, line in places.items():
        assert line.rating.value == pytest.approx(fit.ratings[code[name]], abs=1e-6)
        tied = [name in pair for *pair, won in sides if won in ("tie", "both_bad")]
        assert line.ties == sum(tied)
    decided = [one for one in came.winner if one in ("a", "b")]
    assert (board.left.hits, board.left.n) == (decided.count("a"), len(decided))
    assert (
        f"{came.winner.count('tie')} ties and {came.winner.count('both_bad')} “both bad” count half"
        in told(board)
    )
    assert "These votes were imported. They were cast elsewhere, not in this arena." in told(board)
    assert leaderboard.choose("elsewhere (imported)", "single").families == ("Counting",)
    family = board_of(leaderboard, "elsewhere (imported)", family="Counting")
    assert family.votes == 400 and leaderboard.family_ratings(family).keys() == {"Counting"}


def test_both_bad_counts_as_the_import_was_told(imports, leaderboard):
    came = battles(200)
    bad = came.winner.count("both_bad")
    imports.add(came, ImportRequest("elsewhere", both_bad="out"))
    board = board_of(leaderboard, "elsewhere (imported)")
    assert board.votes == board.statistics.votes == 200 - bad
    assert f"{bad} “both bad” are left out." in told(board)
    imports.add(came, ImportRequest("elsewhere", both_bad="half"))
    board = board_of(leaderboard, "elsewhere (imported)")
    assert board.votes == 200 and "left out" not in told(board)


@pytest.mark.locks_or_dialect
def test_votes_told_to_count_beside_live_ones_do_so_on_the_items_that_are_known(
    bank, imports, leaderboard
):
    items = list(ItemBank(bank).bank().items.values())
    Ingest(bank).add_items("test", "folder", drafts(9, images=2)[8:])
    multi = next(item for item in ItemBank(bank).bank().items.values() if item.multi)
    plant(bank, [Planted(items[0].id, "m1", "m2")] * 20)
    known = [
        Vote("m1", "m2", winner, item=items[0].key, voter="v1", conversation=f"k{number}")
        for number, winner in enumerate(["a", "b", "b", "tie"])
    ]
    others = [
        Vote("m2", "m1", "a", item="unknown", conversation="u"),
        Vote("m2", "m1", "a", conversation="n"),
        Vote("m2", "m1", "a", item=multi.key, conversation="m"),
    ]
    came = votes_of(*known, *others)
    imports.add(came, ImportRequest("elsewhere", into_live=True))
    imports.add(came, ImportRequest("not told"))
    board = board_of(leaderboard, "test")
    assert (board.votes, board.statistics.votes, board.import_summary.votes) == (24, 24, 4)
    sample = board.statistics.sample
    assert (sample.voters, sample.busiest, sample.items) == (21, 4, 1)
    assert "4 of these votes were imported from <b><bdi>elsewhere</bdi></b> and count" in told(
        board
    )
    lines = {line.model: line for line in board.standings}
    assert (lines["m1"].votes, lines["m1"].ties) == (24, 1)
    assert board_of(leaderboard, "test", images="multiple").votes == 1
    family = board_of(leaderboard, "test", family=items[0].family)
    assert family.votes == 24
    assert board_of(leaderboard, "elsewhere (imported)").votes == 6, (
        "the one with two images stands apart"
    )
    imports.add(came, ImportRequest("elsewhere"))
    board = board_of(leaderboard, "test")
    assert (board.votes, board.import_summary) == (20, None), "told otherwise, they no longer do"


@pytest.mark.locks_or_dialect
def test_what_votes_do_not_say_the_item_bank_says_or_the_board(bank, imports, leaderboard):
    item = next(iter(ItemBank(bank).bank().items.values()))
    said = [
        Vote("m1", "m2", "a", item=item.key, conversation="1"),
        Vote("m1", "m2", "a", time=86400.0 * 365, blind=False, voter="w", images=1),
        Vote("m1", "m1", "a", conversation="3"),
        Vote("m1", "m2", "b", conversation="4", images=3),
    ]
    imports.add(votes_of(*said), ImportRequest("elsewhere"))
    board = board_of(leaderboard, "elsewhere (imported)")
    assert (board.votes, board.statistics.clusters) == (2, 2)
    assert leaderboard.choose("elsewhere (imported)", "single").families == (item.family,)
    for sentence in (
        "1 vote is left out because it compared a model with itself.",
        "1 vote was cast with the model names visible.",
        "1 of the imported votes don't say which item",
        "1 of the imported votes don't say who",
        "1 of the imported votes don't say when",
    ):
        assert sentence in told(board)
    assert "how many images" not in told(board), "of the one that does not say, the bank does"
    dated = board_of(leaderboard, "elsewhere (imported)", since="1970-06-01", until="1971-06-01")
    assert (dated.votes, dated.import_summary.votes) == (1, 1)
    assert len(leaderboard.history(board.key).days) == 1
    plot = PLOTS["Categories"](dated, leaderboard)
    assert plot.note == "These votes don't say which category their items belong to."
    assert plot.drawing is None
    multi = board_of(leaderboard, "elsewhere (imported)", images="multiple")
    assert multi.votes == 1 and leaderboard.history(multi.key).days == ()


def test_without_items_board_and_rate_allow_for_voters_alike(imports, leaderboard):
    """Ten voters, half of them always for one model: a thousand votes tell little of the next ten."""
    said = [
        Vote("m1", "m2", "a" if voter % 2 else "b", voter=f"v{voter}")
        for voter in range(10)
        for _ in range(50)
    ]
    imports.add(votes_of(*said), ImportRequest("elsewhere"))
    board = board_of(leaderboard, "elsewhere (imported)")
    rated = rating_report(votes_of(*said), RatingSettings(bootstrap=0))
    reach = (rated.bounds.high - rated.bounds.low) / 2
    assert board.statistics.reach == pytest.approx(reach) and reach[0] > 60
    assert paragraphs(board)[2][0] == (
        "The 95% intervals treat voters, not single votes, as independent. "
        "The votes don't say which items they're about."
    )


@pytest.mark.parametrize("said", [{}, {"item": None}])
def test_without_voters_board_and_rate_are_as_sure(imports, leaderboard, said):
    """Votes whose voters are unknown may be one voter's, and tell nothing of others: all say so, first of all."""
    cast = battles(60, voter=None, **said)
    imports.add(cast, ImportRequest("elsewhere"))
    rated = rating_report(cast, RatingSettings(bootstrap=0))
    board = board_of(leaderboard, "elsewhere (imported)")
    assert sorted(board.statistics.reach) == pytest.approx(
        sorted((rated.bounds.high - rated.bounds.low) / 2)
    )
    assert paragraphs(board)[0][0].startswith(
        "The votes don't say who cast them. Intervals are for these voters only, and no lead is called clear."
    )
    assert rated.notices[0].startswith(
        "The votes don't say who cast them. Intervals are for these voters only, and no lead can be"
    )
    assert not any(line.order for line in board.standings)
    assert {row.bt_for for row in rated.rows} == {"for these voters only"}
    rows = list(csv.DictReader(as_csv(board_sheet(board)).splitlines()))
    assert {row["interval_for"] for row in rows} == {"for these voters only"}
    assert "95% intervals for these voters only" in board_chart(board).title


def test_intervals_of_a_judges_board_are_for_this_judge(imports, leaderboard):
    imports.add(battles(60, voter="gpt"), ImportRequest("elsewhere", judge=True))
    board = board_of(leaderboard, "elsewhere (imported, judge)")
    rows = list(csv.DictReader(as_csv(board_sheet(board)).splitlines()))
    assert {row["interval_for"] for row in rows} == {"for this judge only"}


def test_unnamed_votes_beside_named_ones_are_taken_for_one_voters(imports, leaderboard):
    """Half of a thousand votes are unnamed: board and rate allow alike for a voter with half of them."""
    said = [*battles(500, seed=1).votes(), *battles(500, seed=2, voter=None).votes()]
    imports.add(votes_of(*said), ImportRequest("elsewhere"))
    rated = rating_report(votes_of(*said), RatingSettings(bootstrap=0))
    board = board_of(leaderboard, "elsewhere (imported)")
    found = sorted((rated.bounds.high - rated.bounds.low) / 2)
    assert sorted(board.statistics.reach) == pytest.approx(found)
    named = [vote._replace(voter=vote.voter or "one") for vote in said]
    as_one = rating_report(votes_of(*named), RatingSettings(bootstrap=0))
    assert found == pytest.approx(sorted((as_one.bounds.high - as_one.bounds.low) / 2))
    assert "votes without a voter, treated as one voter's: 500" in rated.notices
    assert "500 of the imported votes don't say who cast them. They count as one" in told(board)
    assert rated.for_whom == "for voters like these"


def test_items_on_one_picture_are_one_case_on_boards_and_in_rate(bank, imports, leaderboard):
    """Files name pictures, by which items hang together; of known items the bank does, whatever a file says."""
    said = [
        vote._replace(item=f"i{place % 30}", picture=f"p{place % 6}", voter=f"v{place}")
        for place, vote in enumerate(battles(300).votes())
    ]
    imports.add(votes_of(*said), ImportRequest("elsewhere"))
    board = board_of(leaderboard, "elsewhere (imported)")
    rated = rating_report(votes_of(*said), RatingSettings(bootstrap=0))
    assert board.statistics.clusters == rated.bounds.clusters == 6
    assert sorted(board.statistics.reach) == pytest.approx(
        sorted((rated.bounds.high - rated.bounds.low) / 2)
    )
    with bank.read() as connection:
        (source,) = imported_sources(connection)
        assert imported_battles(connection, source).picture == tuple(vote.picture for vote in said)
    key = next(iter(ItemBank(bank).bank().items.values())).key
    of_bank = [vote._replace(item=key, picture=f"p{place}") for place, vote in enumerate(said[:20])]
    imports.add(votes_of(*of_bank), ImportRequest("known"))
    assert board_of(leaderboard, "known (imported)").statistics.clusters == 1


def test_a_voters_last_choice_on_a_conversation_counts(tmp_path, imports, leaderboard):
    """As FastChat's buttons take several; nobody is known to repeat where no voter is told; rate says the same."""
    said = [
        Vote("m1", "m2", "a", conversation="1", voter="v"),
        Vote("m1", "m2", "tie", conversation="1", voter="v"),
        Vote("m1", "m2", "b", conversation="1", voter="v"),
        Vote("m1", "m2", "a", conversation="1", voter="w"),
        Vote("m1", "m3", "a", conversation="1", voter="v"),
        Vote("m1", "m1", "a", conversation="1", voter="v"),
        Vote("m1", "m1", "a", conversation="1", voter="v"),
        Vote("m1", "m2", "a", conversation="2", voter="v"),
        Vote("m1", "m2", "both_bad", conversation="2", voter="v"),
        *[Vote("m1", "m2", "a", conversation="3")] * 2,
        *[Vote("m1", "m2", "a", voter="v")] * 2,
    ]
    imports.add(votes_of(*said), ImportRequest("elsewhere", both_bad="out"))
    board = board_of(leaderboard, "elsewhere (imported)")
    summary = board.import_summary
    assert (board.votes, summary.repeated, summary.both_bad_out, summary.alone) == (7, 3, 1, 2)
    assert (
        "3 votes were repeats by the same voter on the same conversation. Only the last one counts."
        in told(board)
    )
    rated = rating_report(votes_of(*said), RatingSettings(bootstrap=0, both_bad="out"))
    assert {row.model: (row.battles, row.bt) for row in rated.rows} == {
        line.model: (line.votes, pytest.approx(board.fit.ratings[board.counts.places[line.code]]))
        for line in board.standings
    }
    again = votes_of(Vote("m1", "m2", "a", conversation="1", voter="v", time=3.0))
    imports.add(again, ImportRequest("elsewhere", both_bad="out"))
    board = board_of(leaderboard, "elsewhere (imported)")
    assert (board.votes, board.import_summary.repeated) == (7, 4), (
        "the fourth choice came with a later file"
    )


def test_votes_that_are_all_left_out_lack_nothing(imports, leaderboard):
    said = [Vote("m1", "m2", "a", item="i", voter="v", time=1.0)]
    said.append(Vote("m1", "m2", "both_bad", conversation="2", voter="w"))
    imports.add(votes_of(*said), ImportRequest("elsewhere", both_bad="out"))
    board = board_of(leaderboard, "elsewhere (imported)")
    none_counted = board.import_summary._replace(
        votes=0, no_item=0, no_voter=0, no_time=0, no_images=0
    )
    assert len([*import_notes(replace(board, import_summary=none_counted))]) == 2


def test_the_reference_is_known_by_the_name_that_visit_bench_gives_it(
    tmp_path, imports, bank, leaderboard
):
    Ingest(bank).add_items("VisIT-Bench", "visit", drafts(8, ("LLaVA", REFERENCE))[7:])
    rows = [
        Vote("LLaVA prediction", "human_verified_reference", winner, item="i", images=1)
        for winner in ("a", "b", "b")
    ]
    write(Battles(None, *columns_of(rows), rows=({},) * 3), tmp_path / "votes.csv", "visit-bench")
    imports.add(read(tmp_path / "votes.csv"), ImportRequest("people of the paper"))
    lines = {
        line.model: line
        for line in board_of(leaderboard, "people of the paper (imported)").standings
    }
    assert lines.keys() == {"LLaVA", REFERENCE}
    assert (lines["LLaVA"].win_rate.hits, lines["LLaVA"].win_rate.n) == (1, 3)


# The command line


def run(*words: str | Path) -> int:
    return main([str(word) for word in words])


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_votes_go_in_and_out_by_the_command_line(bank, monkeypatch, tmp_path, capsys, suffix):
    monkeypatch.setenv("DATABASE_URL", bank.url.render_as_string(hide_password=False))
    path, out = sample("fastchat-log", tmp_path), tmp_path / f"out{suffix}"
    assert run("votes", "import", path, "--source", "log", "--both-bad", "out") == 0
    said = capsys.readouterr().out
    assert "3 votes with model names visible left out. To include them, add --named" in said
    assert "new: 3 votes and 7 other rows, rows already there: 0" in said
    assert 'source: log, which counts on its own boards only; "both bad" counts not at all' in said
    assert run("votes", "export", "--source", "log", "--out", out) == 0
    assert (
        run("votes", "export", out, "--format", "fastchat-log", "--out", tmp_path / "back.json")
        == 0
    )
    assert [
        json.loads(line) for line in (tmp_path / "back.json").read_text("utf-8").split("\n") if line
    ] == [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    assert run("votes", "export", "--out", out) == 2
    assert "Sources: 'test', 'log'" in capsys.readouterr().err
    assert run("votes", "import", path, "--source", "log", "--named") == 0
    assert "new: 3 votes, rows already there: 7" in capsys.readouterr().out, "left out before"
    assert run("votes", "import", path, "--source", "one", "--alias", "model y=model x") == 0
    assert "6 votes comparing a model with itself left out" in capsys.readouterr().out
    assert run("votes", "import", path, "--source", "test") == 2
    assert "that of a source of items" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", '{"tstamp": 1, "ty'])
def test_a_torn_or_empty_file_is_imported_with_a_report(bank, monkeypatch, tmp_path, capsys, text):
    monkeypatch.setenv("DATABASE_URL", bank.url.render_as_string(hide_password=False))
    (tmp_path / "conv.json").write_text(text)
    assert run("votes", "import", tmp_path / "conv.json") == 0
    assert "conv.json has no votes" in capsys.readouterr().out
    assert counted(bank) == [0, 0]


def test_a_name_that_is_no_text_is_refused(database):
    """So is a file's name in another encoding than the machine's."""
    votes = votes_of(Vote("m", "n", "a"))
    with pytest.raises(ImportedVotesError, match="isn't readable text"):
        VoteImporter(database).add(votes, ImportRequest("caf\udce9"))


def test_a_file_that_grew_without_times_is_told_to_count_twice(bank, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DATABASE_URL", bank.url.render_as_string(hide_password=False))
    path = tmp_path / "frame.csv"
    path.write_text("model_a,model_b,winner\nx,y,model_a\n")
    for _ in range(2):
        assert run("votes", "import", path) == 0
        assert "count twice" not in capsys.readouterr().out
    with path.open("a") as file:
        file.write("x,y,tie\n")
    assert run("votes", "import", path) == 0
    said = capsys.readouterr().out
    assert "new votes without a battle or a time: 2. If an earlier file" in said
    for count in (1, 2):
        log = put(tmp_path / "log.jsonl", CLEAN[:count])
        assert run("votes", "import", log, "--source", "log") == 0
        assert "count twice" not in capsys.readouterr().out
