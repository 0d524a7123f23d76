"""Submissions and the automatic leaderboard: what comes in, whom it meets, what stays, and what the boards say."""

import itertools
import json
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.battles.blindness import Blindness
from arena.battles.vote_table import VoteTable
from arena.database import Database
from arena.drawings import TextMark
from arena.formats.registry import read, write
from arena.io.tables import RowsError
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.items.store import ItemBank
from arena.leaderboard.service import Leaderboard
from arena.ratings.shares import wilson
from arena.types import REFERENCE
from scoring.benchmarks.predictions import UploadError
from scoring.jobs.store import Jobs
from scoring.jobs.submissions import PeoplesBoards, SubmissionRequest, Submissions
from scoring.judges.run import Quote
from scoring.visit_bench import store as visit_store
from scoring.visit_bench.benchmark import VISIT_BENCH, battle_rows, boards, published_ratings
from scoring.visit_bench.leaderboard import (
    PlayedMatch,
    automatic_board,
    leaderboard_tsv,
    matches_of_votes,
    rank_correlation,
)
from scoring.visit_bench.matches import MatchReport, Response, Verdict
from scoring.visit_bench.reader import read_submission
from scoring.visit_bench.store import SubmissionError, SubmissionStore, judging_labels
from scoring.web.article import preview_drawing
from scoring.web.judges_page import (
    VISIT,
    PeoplesRatings,
    board_chart,
    board_html,
    board_sentence,
    family_plot,
)
from scoring.web.visit_bench_view import list_matches
from tests.support.judging_process import SPEC
from tests.support.planting import Planted, plant
from tests.support.servers import new_postgresql_database
from tests.support.sheets import texts

JUDGE, ADDRESS = "test-judge", "https://judge.example.org/v1"


def drafts(
    items: int = 6, captions: bool = True, reference: bool = True, start: int = 0
) -> list[ItemDraft]:
    """Return items of one or two pictures, answered by m1 to m3."""
    return [
        ItemDraft(
            instruction="What is the same here?"
            if number % 3 == 2
            else f"What is in picture {number}?",
            family=("Counting", "Color", "Directions")[number % 3],
            images=tuple(
                ImageDraft(
                    f"https://example.org/{number}/{place}.png",
                    f"{place}.png",
                    url=f"https://example.org/{number}/{place}.png",
                    caption=f"Picture {number}, {place}." if captions else "",
                )
                for place in range(1 + number % 2)
            ),
            answers={
                **{model: f"{model} says {number}" for model in ("m1", "m2", "m3")},
                **({REFERENCE: f"It is {number}."} if reference else {}),
            },
        )
        for number in range(start, start + items)
    ]


BOTH = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def database_url(request, tmp_path) -> str:
    """The address of an empty database: SQLite, unless a test asks for both."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path / 'arena.db'}"
    return new_postgresql_database(request.getfixturevalue("postgresql"))


@pytest.fixture
def submissions(database) -> Submissions:
    """Submissions to a bank of six items with references."""
    Ingest(database).add_items("test", "visit", drafts())
    return Submissions(database, None)


def pictured(items: Sequence[ItemDraft] | None = None) -> list[ItemDraft]:
    """Return the same items with their pictures kept."""
    return [
        replace(
            draft, images=tuple(replace(one, sha256="b" * 64, suffix="png") for one in draft.images)
        )
        for draft in items or drafts()
    ]


def keys(items: list[ItemDraft] | None = None) -> list[str]:
    return [draft.key for draft in items or drafts()]


def put(path, rows: list[dict]):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_submission(path)


@pytest.fixture
def submit(submissions, tmp_path):
    """A function that drafts answers to items."""

    def draft(
        texts: dict[str, str] | None = None,
        asked_for: SubmissionRequest | None = None,
        owner: str = "ada",
        model: str = "Newcomer",
    ):
        texts = texts or {key: f"{model} says {place}" for place, key in enumerate(keys())}
        rows = [{"item": key, f"{model} prediction": text} for key, text in texts.items()]
        return submissions.draft(
            owner,
            put(tmp_path / "new.jsonl", rows),
            asked_for or SubmissionRequest(),
            JUDGE,
            ADDRESS,
        )

    return draft


def judged(report: MatchReport, seed: int = 0) -> MatchReport:
    """Return a report with steady verdicts: mostly by name, some by position, some none."""
    coin = random.Random(seed)
    outcomes = []
    for _ in report.matches:
        winner = coin.choice(["a", "b"])
        outcomes += coin.choice(
            [[winner, winner], ["a", "b"], [winner, "tie"], [winner, winner], [None, winner]]
        )
    return VISIT_BENCH.with_outcomes(
        report, [Verdict(winner, "", ("Said.",), "test-judge-1") for winner in outcomes]
    )


# What comes in.
@BOTH
def test_the_authors_predictions_csv_is_joined_by_instruction_and_images(submissions, tmp_path):
    path = tmp_path / "predictions.csv"
    images = ["https://example.org/1/0.png", "https://example.org/1/1.png"]
    path.write_text(
        "instruction,instruction_category,images,LLaVA 13B prediction\n"
        f'What  is in picture 1?,Color,"{json.dumps(images).replace(chr(34), chr(34) * 2)}","One, ""two""\n three"\n'
        'What is the same here?,Directions,"[""2/0.png"", ""elsewhere/0.png""]",x\n'
    )
    file = read_submission(path)
    assert (file.model, len(file.entries), file.problems) == ("LLaVA 13B", 2, ())
    drafted = submissions.draft("ada", file, SubmissionRequest(), JUDGE, ADDRESS)
    left_out = (
        "Answers to instances that aren't here, left out: 1 (row 4: 'What is the same here?')"
    )
    assert (
        left_out in drafted.lines
        and not drafted.report.complete
        and len(drafted.report.instances) == 1
    )
    path.write_text(
        path.read_text().replace(
            '"[""2/0.png"", ""elsewhere/0.png""]"', "https://example.org/2/0.png"
        )
    )
    report = submissions.draft(
        "ada", read_submission(path), SubmissionRequest(), JUDGE, ADDRESS
    ).report
    mine = [response for response in report.responses if response.model == "LLaVA 13B"]
    assert {response.item: response.text for response in mine} == {
        keys()[1]: 'One, "two"\n three',
        keys()[2]: "x",
    }
    assert report.title == "LLaVA 13B" and not report.complete


def test_everything_that_is_wrong_is_told_at_once(submissions, tmp_path):
    one, two, *_ = keys()
    rows = [
        {"item": one, "m1 prediction": "a", "other prediction": "b"},
        {"item": one, "m1 prediction": "c", "other prediction": "d"},
        {"item": "0000000000000000", "m1 prediction": "e", "other prediction": ""},
        {"instruction": "What is the same here?", "m1 prediction": "f", "other prediction": ""},
        {"item": two, "m1 prediction": 7, "other prediction": ""},
        {"m1 prediction": "nothing else", "other prediction": ""},
    ]
    with pytest.raises(UploadError) as caught:
        submissions.draft(
            "ada",
            put(tmp_path / "new.jsonl", rows),
            SubmissionRequest(reference="backed"),
            JUDGE,
            ADDRESS,
        )
    told = "\n".join(caught.value.problems)
    for wanted in (
        "Several prediction columns: 'm1 prediction' and 'other prediction'. Keep one of them.",
        "row 5, column 'm1 prediction': The answer isn't text",
        "row 6, column 'instruction': An item's key or instruction is missing",
        f"Instances that are there more than once: 1 (row 2: '{one}')",
        "Unknown instances: 1 (row 3: '0000000000000000')",
        "Instructions that several items share: 1 (row 4: 'What is the same here?')",
        "A model named 'm1' is on the board already",
    ):
        assert wanted in told, told
    assert len(caught.value.problems) == 7


def test_a_reference_backed_run_needs_its_references_and_a_judge_its_captions(
    submissions, submit, tmp_path
):
    lacking = drafts(2, captions=False, reference=False, start=10)
    Ingest(submissions._database).add_items("bare", "visit", lacking)
    texts = dict.fromkeys(keys(lacking), "x")
    with pytest.raises(UploadError) as caught:
        submit(texts, SubmissionRequest(reference="backed"))
    first, second = caught.value.problems
    assert (
        "Instances without a reference: 2" in first and "Instances without a caption: 2" in second
    )
    with pytest.raises(
        UploadError, match=r"whose images aren't here: 2 .*Import them again with their images"
    ):
        submit(texts, SubmissionRequest(context="images"))
    with pytest.raises(UploadError, match="can't judge it"):
        submit(None, SubmissionRequest(reference="backed", opponents="reference"))
    with pytest.raises(UploadError, match=r"several sources: 1 of 'test', 1 of 'bare'"):
        submit({keys()[0]: "x", keys(lacking)[0]: "y"})
    with pytest.raises(UploadError, match="No other model has answered"):
        submit(texts, SubmissionRequest(opponents="reference"))


def test_a_file_without_answers_or_name_is_refused_in_words(submissions, tmp_path):
    with pytest.raises(RowsError, match="file is empty"):
        put(tmp_path / "new.jsonl", [])
    with pytest.raises(RowsError, match="The file needs a column"):
        put(tmp_path / "new.jsonl", [{"item": "x", "answer": "y"}])
    nameless = put(tmp_path / "new.jsonl", [{"item": keys()[0], "prediction": "x"}])
    with pytest.raises(UploadError, match="The model has no name"):
        submissions.draft("ada", nameless, SubmissionRequest(), JUDGE, ADDRESS)
    assert (
        submissions.draft(
            "ada", nameless, SubmissionRequest(title=" My  model "), JUDGE, ADDRESS
        ).report.title
        == "My model"
    )
    with pytest.raises(UploadError, match="has 121 characters. Shorten it to 120"):
        submissions.draft("ada", nameless, SubmissionRequest(title="x" * 121), JUDGE, ADDRESS)


def test_empty_answers_are_kept_and_told(submit):
    drafted = submit({keys()[0]: " ", keys()[1]: "NA"})
    (named,) = [line for line in drafted.lines if "from the model (empty)" in line]
    assert named.startswith("1 of the 2 answers isn't from the model (empty)")
    assert any("the model's words: 1. Where it gave no answer" in line for line in drafted.lines)
    assert any("Items without an answer: 4" in line for line in drafted.lines)


def test_what_is_no_answer_has_no_matches_to_pay_for_and_no_public_place(submit):
    failed = "Failed to obtain answer via API."
    texts = {key: failed if place == 0 else "an answer" for place, key in enumerate(keys())}
    report = submit(texts).report
    unpaid = []
    for task in VISIT_BENCH.tasks(report, SPEC):
        try:
            next(task.begin())
        except StopIteration as done:
            unpaid.append(done.value)
    of_item = [match for match in report.matches if match.item == keys()[0]]
    assert len(unpaid) == 2 * len(of_item) > 0 and not report.complete
    assert {verdict.reason for verdict in unpaid} == {"not from the model: a server error"}
    told = [caveat.text for caveat in VISIT_BENCH.caveats(report)]
    assert any("1 of the 6 answers isn't from the model" in text for text in told)
    assert any("not every item has an answer from the model" in text for text in told)


# Whom it meets.
def test_all_opponents_are_the_stored_models_the_reference_and_other_submissions(
    submissions, submit
):
    report = submit().report
    assert {model for match in report.matches for model in (match.a, match.b)} == {
        "m1",
        "m2",
        "m3",
        REFERENCE,
        "Newcomer",
    }
    assert len(report.matches) == 24 and all(match.a < match.b for match in report.matches)
    assert "24 pairs × 2 orders = 48 verdicts" in submit().lines[0]
    submissions.store.enter("ada", judged(report))
    others = submit(owner="bob", model="Rival").report
    assert (
        "Newcomer" in {response.model for response in others.responses}
        and len(others.matches) == 30
    )
    again = submit({key: "changed" for key in keys()}).report
    assert len(again.matches) == 24, "an earlier variant of one's own is no opponent"


def test_the_reference_alone_or_a_sample_may_be_met(submit):
    assert {
        match.b for match in submit(asked_for=SubmissionRequest("reference")).report.matches
    } == {REFERENCE}
    some = submit(asked_for=SubmissionRequest(2)).report
    assert len(some.matches) == 12
    drawn = [{match.a, match.b} - {"Newcomer"} for match in some.matches]
    assert len(set(map(frozenset, drawn))) > 2, "drawn anew for each item"
    assert submit(asked_for=SubmissionRequest(2)).report.matches == some.matches
    backed = submit(asked_for=SubmissionRequest("all", reference="backed")).report
    assert (
        REFERENCE not in {response.model for response in backed.responses}
        and len(backed.matches) == 18
    )


def test_stored_answers_can_be_submitted(submissions):
    drafted = submissions.draft_stored("m2", "test", SubmissionRequest(), JUDGE, ADDRESS)
    assert drafted.report.stored and drafted.report.complete and len(drafted.report.matches) == 18
    assert submissions.store.enter("ada", judged(drafted.report))[:2] == ("m2", None)
    with pytest.raises(UploadError, match="no answers of 'nobody'"):
        submissions.draft_stored("nobody", "test", SubmissionRequest(), JUDGE, ADDRESS)


def test_stored_models_are_those_with_answers_in_use(submissions, database):
    ingest = Ingest(database)
    ingest.add_items("later", "visit", drafts(8)[6:])
    assert [str(one) for one in submissions.stored_models()[1:3]] == ["m1 · later", "m2 · later"]
    assert len(submissions.stored_models()) == 8, "the references too"
    ingest.retire("m2")
    assert {one.model for one in submissions.stored_models()} == {"m1", "m3", REFERENCE}


def test_answers_to_check_items_are_no_stored_models(submissions, database):
    stored = submissions.stored_models()
    Ingest(database).add_items("checks", "check", drafts(8)[6:])
    assert submissions.stored_models() == stored


def test_a_judge_that_sees_pictures_is_another_judge(submissions, submit):
    Ingest(submissions._database).add_items("test", "visit", pictured())
    report = submit(asked_for=SubmissionRequest(context="images")).report
    shown = [next(task.begin()).messages[-1].pictures for task in VISIT_BENCH.tasks(report, None)]  # type: ignore[arg-type]
    assert {len(pictures) for pictures in shown} == {1, 2}
    submissions.store.enter("ada", judged(report))
    submissions.store.enter("ada", judged(submit().report))
    assert len({board_key.judging.id for board_key in submissions.store.board_keys()}) == 2
    assert any(
        "with the images" in str(board_key.judging) for board_key in submissions.store.board_keys()
    )


# What stays.
@BOTH
def test_a_submission_has_a_number_and_entering_it_twice_changes_nothing(submissions, submit):
    report = judged(submit().report)
    assert submissions.store.enter("ada", report) == ("Newcomer", 1, 24)
    assert submissions.store.enter("ada", replace(report, created="2027-01-01T00:00:00+00:00")) == (
        "Newcomer",
        1,
        0,
    )
    changed = judged(submit({key: "changed" for key in keys()}).report)
    assert submissions.store.enter("ada", changed)[:2] == ("Newcomer (variant 2)", 2)
    renamed = judged(submit(model="Another").report)
    assert submissions.store.enter("ada", renamed)[:2] == ("Another", 3), (
        "a new name is no new start"
    )
    with pytest.raises(UploadError, match="on the board already"):
        submit(owner="bob", model="newcomer")
    assert submissions.store.enter("bob", report)[:2] == ("Newcomer (variant 1)", 1), (
        "drafted before the name was taken"
    )
    assert submissions.store.enter("cat", report)[:2] == ("Newcomer (variant 1), 2", 1)


@pytest.mark.parametrize("rival", ["llava (13b)", "llava (7b)", "lynx"])
def test_two_models_meet_once_whatever_name_a_variant_gets(submissions, submit, rival):
    """The variant's name may sort on the other side of its rival's than its title does."""
    store = submissions.store
    store.enter("ada", judged(submit(model="llava").report))
    store.enter("bob", judged(submit(owner="bob", model=rival).report))
    report = judged(submit({key: "changed" for key in keys()}, model="llava").report, seed=1)
    assert store.enter("ada", report).name == "llava (variant 2)"
    assert store.enter("bob", judged(submit(owner="bob", model=rival).report, seed=2)).matches == 0
    played = [match for board_key in store.board_keys() for match in store.matches(board_key)]
    assert len({(match.item, frozenset({match.a, match.b})) for match in played}) == len(played)
    stored = {
        (match.item, match.b if match.a == "llava (variant 2)" else match.a): match
        for match in played
        if "llava (variant 2)" in (match.a, match.b)
    }
    for match in report.matches:
        opponent = match.b if match.a == "llava" else match.a
        row = stored[match.item, opponent]
        assert row.outcome("llava (variant 2)") == match.outcome("llava")
        shown_first = [verdict.winner for verdict in match.verdicts]
        is_swapped = (row.a == opponent) != (match.a == opponent)
        swap = {"a": "b", "b": "a"}
        expected = [swap.get(winner, winner) for winner in shown_first[::-1]]
        assert list(row.winners) == (expected if is_swapped else shown_first)


def test_a_partial_submission_stays_private(submissions, submit):
    report = judged(submit({keys()[0]: "x"}).report)
    texts = {key: f"says {place}" for place, key in enumerate(keys())}
    failed = judged(submit({**texts, keys()[0]: "Internal Server Error"}).report)
    for partial in (report, failed):
        with pytest.raises(SubmissionError, match="not every item has an answer from the model"):
            submissions.store.enter("ada", partial)
    assert submissions.store.board_keys() == ()
    single = {key: "x" for place, key in enumerate(keys()) if place % 2 == 0}
    assert submit(single).report.complete, "all single images are one board"


def test_only_what_the_operators_judge_judged_whole_comes_onto_a_board(
    submissions, submit, database
):
    """As the server's runner tells of it; told twice, it is there once."""
    report, free = judged(submit().report), Quote(0, 0, 0, 0, 0, 0, None)
    jobs = Jobs(database)
    own = jobs.create("ada", report, replace(SPEC, price=None), free, own_key=True)
    submissions.publish_if_complete(own, report)
    lent = jobs.create("ada", report, SPEC, free, own_key=False)
    submissions.publish_if_complete(lent, judged(submit({keys()[0]: "x"}).report))
    assert submissions.store.board_keys() == ()
    submissions.publish_if_complete(lent, report)
    submissions.publish_if_complete(lent, report)
    assert sum(board_key.matches for board_key in submissions.store.board_keys()) == 24


def test_a_board_follows_what_voters_may_still_see(submissions, submit, database):
    """A match on an item that voters may see again must not count until they may not."""
    secret: list[str] = []
    store = SubmissionStore(
        database, lambda items: frozenset(item for item in secret if item in items)
    )
    store.enter("ada", judged(submit().report))
    board_key, *_ = store.board_keys()

    def counted() -> int:
        shown = [match for match in store.matches(board_key) if match.winner is not None]
        assert store.standings(board_key).board.matches == len(shown)
        return len(shown)

    before = counted()
    secret += keys()
    assert counted() < before
    secret.clear()
    assert counted() == before


@BOTH
def test_texts_can_be_withdrawn_and_results_stay(submissions, submit):
    store = submissions.store
    store.enter("ada", judged(submit().report))
    before = [
        leaderboard_tsv([store.standings(board_key).board]) for board_key in store.board_keys()
    ]
    with pytest.raises(SubmissionError, match="You have no submission"):
        store.withdraw("bob", "test", "Newcomer")
    met = judged(submit(owner="bob", model="Rival").report)
    store.withdraw("ada", "test", "Newcomer")
    (kept,) = store.submissions()
    assert kept.is_withdrawn and kept.number == 1 and store.answers("test") == {}
    assert [
        leaderboard_tsv([store.standings(board_key).board]) for board_key in store.board_keys()
    ] == before
    assert all(
        verdict.replies == ()
        for board_key in store.board_keys()
        for match in store.matches(board_key)
        for verdict in match.verdicts
    )
    assert "Newcomer" not in {
        response.model for response in submit(owner="bob", model="Rival").report.responses
    }
    store.enter("bob", met)
    assert all(
        not verdict.replies
        for match in store.matches(store.board_keys()[0])
        for verdict in match.verdicts
        if "Newcomer" in (match.a, match.b)
    ), "nor what comes of a judging that began before"
    exported = list(battle_rows(submissions.board_report(store.board_keys()[0])))
    assert {row["A"] for row in exported if row["A_model"] == "Newcomer"} == {""}


@pytest.mark.locks_or_dialect
@BOTH
def test_what_is_entered_while_a_submission_is_withdrawn_quotes_none_of_it(
    submissions, submit, monkeypatch
):
    store = submissions.store
    store.enter("ada", judged(submit().report))
    met = judged(submit(owner="bob", model="Rival").report)
    make_rows = visit_store._match_rows
    with ThreadPoolExecutor(1) as pool:
        withdrawals = []

        def withdraw_meanwhile(*values):
            withdrawals.append(pool.submit(store.withdraw, "ada", "test", "Newcomer"))
            wait(withdrawals, timeout=2)
            return make_rows(*values)

        monkeypatch.setattr(visit_store, "_match_rows", withdraw_meanwhile)
        store.enter("bob", met)
        withdrawals[0].result()
    replies = [
        verdict.replies
        for board_key in store.board_keys()
        for match in store.matches(board_key)
        for verdict in match.verdicts
        if "Newcomer" in (match.a, match.b)
    ]
    assert replies and not any(replies)


@BOTH
def test_boards_never_mix_judges_protocols_or_kinds_of_images(submissions, submit):
    requests = [
        SubmissionRequest(protocol=protocol, reference=use)
        for protocol in ("paper", "hardened")
        for use in ("free", "backed")
    ]
    for asked_for in requests:
        submissions.store.enter("ada", judged(submit(asked_for=asked_for).report))
    other = submit().report
    submissions.store.enter(
        "ada", judged(replace(other, judge=replace(other.judge, model="another")))
    )
    board_keys = submissions.store.board_keys()
    assert (
        len(board_keys) == 10
        and len({(board_key.judging, board_key.multi) for board_key in board_keys}) == 10
    )
    assert {submissions.store.standings(board_key).board.multi for board_key in board_keys} == {
        True,
        False,
    }
    items = [
        {match.item for match in submissions.store.matches(board_key)} for board_key in board_keys
    ]
    assert all(len(found) == 3 for found in items)
    judgings = [board_key.judging for board_key in board_keys]
    assert len(set(judging_labels(judgings).values())) == 5
    moved = judging_labels(replace(one, id=one.id + 10 * place, address=f"http://10.0.0.{place}:8000/v1")
                   for one in judgings for place in range(2))  # fmt: skip
    assert len(set(moved.values())) == 10 and not any("10.0.0" in label for label in moved.values())
    assert [one.number for one in submissions.store.submissions()] == [1], (
        "judged by several, submitted once"
    )


def test_a_report_stands_beside_table_4_with_both_numbers_of_one_kind_of_images(
    submissions, submit
):
    # two items of one picture, three of two
    texts = dict(list(zip(keys(), "abcdef", strict=True))[1:])
    report = judged(submit(texts).report)
    assert VISIT_BENCH.edition(report) == "VisIT-Bench, multiple images"
    single, multiple = (
        {line.row.model: line.row.elo_median for line in board.lines} for board in boards(report)
    )
    assert single["Newcomer"] != multiple["Newcomer"]
    table = VISIT_BENCH.published(report)
    assert table and table.own["Elo"] == multiple["Newcomer"]
    assert table.own["Win rate"] == VISIT_BENCH.headline(report).mean
    assert {row.model for row in table.rows} == {
        one.model for one in published_ratings() if one.category == "multiple"
    }


def test_a_family_without_a_decided_match_has_no_bar_in_a_shared_links_picture(submit):
    report = submit(asked_for=SubmissionRequest(reference="backed")).report
    is_color = [
        report.by_item[match.item].family == "Color" for match in report.matches for _ in "12"
    ]
    report = VISIT_BENCH.with_outcomes(
        report, [Verdict("tie" if of else "a", "", ("Said.",), "j") for of in is_color]
    )
    assert VISIT_BENCH.published(report) is None
    assert {line.name for line in VISIT_BENCH.groups(report) if line.mean is None} == {"Color"}
    texts = {mark.text for mark in preview_drawing(report).marks if isinstance(mark, TextMark)}
    assert "Counting" in texts and "Color" not in texts


def test_a_page_of_matches_reads_them_as_often_however_many_there_are(submit):
    class Counted(tuple):
        reads = 0

        def __iter__(self):
            Counted.reads += 1
            return super().__iter__()

    report, reads = judged(submit().report), []
    for times in (1, 20):
        Counted.reads = 0
        many = replace(report, matches=Counted(report.matches * times))
        page = list_matches(many, opponent="m1").html
        assert f"{6 * times:,} matches" in page and "m1 says" in page and "m2 says" not in page
        reads.append(Counted.reads)
    assert reads[0] == reads[1]


def test_verdicts_are_votes_of_judges(submissions, submit):
    submissions.store.enter("ada", judged(submit().report))
    verdicts = submissions.store.verdicts("test")
    assert {verdict.judge for verdict in verdicts} == {"test-judge, reference-free, hardened"}
    board_keys = submissions.store.board_keys()
    assert len(verdicts) == sum(
        submissions.store.standings(board_key).board.matches for board_key in board_keys
    )


# The board.
TABLE_3 = {
    "LLaVA (13B)": (64, 244, "26.23% (n=244)"),
    "LlamaAdapter-v2 (7B)": (71, 259, "27.41% (n=259)"),
    "mPLUG-Owl (7B)": (32, 214, "14.95% (n=214)"),
    "InstructBLIP (13B)": (24, 194, "12.37% (n=194)"),
    "MiniGPT-4 (7B)": (44, 299, "14.72% (n=299)"),
    "PandaGPT (13B)": (24, 229, "10.48% (n=229)"),
}


def test_planted_votes_print_the_papers_table_3(tmp_path):
    """As the authors' human preference CSV brings them: a match is one person's vote."""
    path = tmp_path / "votes.csv"
    lines = ["image_url,instruction,A,B,A_model,B_model,model_selection.A,model_selection.B"]
    for model, (wins, n, _) in TABLE_3.items():
        for number in range(n):
            won, left = number < wins, number % 2 == 0
            sides = (
                (model, "human_verified_reference") if left else ("human_verified_reference", model)
            )
            lines.append(
                f"https://e.org/{number}.png,What?,x,y,{sides[0]},{sides[1]},{won == left},{won != left}"
            )
    path.write_text("\n".join(lines) + "\n")
    board = automatic_board(matches_of_votes(read(path)), multi=False)
    printed = dict(line.split("\t")[1::3] for line in leaderboard_tsv([board]).splitlines()[1:])
    assert printed == {
        **{model: shown for model, (_, _, shown) in TABLE_3.items()},
        "human_verified_reference": "-",
    }
    reference = next(line for line in board.lines if line.row.model == "human_verified_reference")
    assert (reference.row.battles, board.matches) == (1439, 1439)
    assert reference.row.rank == 1


MATCHES = st.lists(
    st.builds(
        PlayedMatch,
        st.sampled_from(["i", "j", "k"]),
        st.just("Color"),
        st.just(False),
        st.sampled_from(["m", "n"]),
        st.sampled_from(["o", "p", REFERENCE]),
        st.sampled_from(["a", "b", "tie"]),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=25, deadline=None)
@given(matches=MATCHES, seed=st.integers(0, 9))
def test_neither_order_nor_sides_of_the_matches_matter(matches, seed):
    coin = random.Random(seed)
    swapped = {"a": "b", "b": "a", "tie": "tie"}
    other = [
        match._replace(a=match.b, b=match.a, winner=swapped[match.winner]) for match in matches
    ]
    mixed = [coin.choice(pair) for pair in zip(matches, other, strict=True)]
    coin.shuffle(mixed)
    assert (
        automatic_board(other, False)
        == automatic_board(matches, False)
        == automatic_board(mixed, False)
    )


def test_ties_stay_out_of_the_win_rate_and_are_counted():
    played = [
        PlayedMatch(f"i{n}", "Color", False, "m", REFERENCE, winner)
        for n, winner in enumerate("aab")
    ]
    played += [PlayedMatch(f"t{n}", "Count", False, REFERENCE, "m", "tie") for n in range(4)]
    played += [PlayedMatch(f"u{n}", "Count", False, REFERENCE, "m", None) for n in range(2)]
    board = automatic_board(played, False)
    line = next(line for line in board.lines if line.row.model == "m")
    rate = line.reference
    assert rate and (rate.wins, rate.n, rate.ties, line.unscored, line.row.ties) == (2, 3, 4, 2, 4)
    assert str(rate) == "66.67% (n=3)" and str(board.families["Count"]["m"]) == "- (n=0, 4 ties)"
    assert rate.low < 2 / 3 < rate.high


def test_single_and_multiple_images_are_apart():
    played = [PlayedMatch("i", "f", multi, "m", "n", "a") for multi in (False, True, True)]
    played = [match._replace(item=f"i{number}") for number, match in enumerate(played)]
    assert [automatic_board(played, multi).matches for multi in (False, True)] == [1, 2]
    assert automatic_board([], False).lines == ()


def test_rank_correlation_is_spearmans():
    assert (
        rank_correlation([1, 2], [1, 2]) is None and rank_correlation([1, 1, 1], [1, 2, 3]) is None
    )
    found = rank_correlation([7, 6, 5, 4, 3, 2, 1], [70, 60, 50, 40, 30, 20, 10])
    assert found and (found.rho, found.n) == (pytest.approx(1.0), 7)
    assert found.p == pytest.approx(2 / 5040), (
        "the paper's p < .01: this order and its reverse, of 7!"
    )
    tied = rank_correlation([1, 2, 2, 3, 5], [2, 1, 3, 3, 9])
    assert tied and tied.rho == pytest.approx(0.7631578947, abs=1e-9), (
        "by hand: ranks 1 2.5 2.5 4 5 and 2 1 3.5 3.5 5"
    )
    many = rank_correlation(range(30), [number + (number % 5) for number in range(30)])
    assert many and many.p < 0.001 and many.rho > 0.9


def test_the_boards_battles_come_back_to_the_same_board(submissions, submit, tmp_path):
    submissions.store.enter("ada", judged(submit().report))
    for board_key in submissions.store.board_keys():
        files = VISIT_BENCH.files(submissions.board_report(board_key))
        path = tmp_path / "battles.jsonl"
        path.write_bytes(files["battles.jsonl"])
        battles = read(path)
        assert battles.format == "visit-battles" and set(battles.judge) == {True}
        assert set(battles.item) <= set(keys())
        again = tmp_path / "again.jsonl"
        assert write(battles, again, "visit-battles") == ()
        lines = (path.read_text("utf-8").splitlines(), again.read_text("utf-8").splitlines())
        assert list(map(json.loads, lines[0])) == list(map(json.loads, lines[1]))
        board = submissions.store.standings(board_key).board
        assert leaderboard_tsv(
            [automatic_board(matches_of_votes(battles), board_key.multi)]
        ) == leaderboard_tsv([board])


# The page.
def test_a_board_tells_who_judged_and_how_steadily(submissions, submit):
    report = submit().report
    swayed = [Verdict(winner) for _ in report.matches for winner in ("a", "b")]
    submissions.store.enter("ada", VISIT_BENCH.with_outcomes(report, swayed))
    board_key = submissions.store.board_keys()[0]
    html = board_html(
        board_key, submissions.store.standings(board_key), PeoplesRatings({}, None), {"Newcomer": 3}
    )
    assert "12 matches" in html and "It read captions instead of the pictures." in html
    assert "in both orders</dt><dd>0.0% <small>0 of 12</small>" in html
    assert "Ties</dt><dd>100.0% <small>12 of 12</small>" in html
    assert "shown first</dt><dd>100.0% <small>24 of 24</small>" in html
    assert '>Newcomer</th><td class="count">3</td>' in html and "Too few of these models" in html
    assert "&lt;b&gt;" in VISIT.submissions(
        [replace(submissions.store.submissions()[0], name="<b>")]
    )


def test_a_board_opens_with_a_sentence_and_a_chart_of_its_intervals():
    wins = [
        PlayedMatch(f"i{n}", "Color", False, "m", "n", "a" if n % 20 else "b") for n in range(200)
    ]
    board = automatic_board(wins, False)
    assert board_sentence(board) == "m has rank 1; n has rank 2."
    even = [
        PlayedMatch(f"i{n}", "Color", False, "m", "n", "a" if n % 2 else "b") for n in range(40)
    ]
    assert board_sentence(automatic_board(even, False)).endswith(" share rank 1.")
    drawing = board_chart(board)
    assert drawing is not None and {"m", "n"} <= {
        mark.text for mark in drawing.marks if isinstance(mark, TextMark)
    }
    none = automatic_board([], False)
    assert board_chart(
        none
    ) is None and "Not enough matches to rank two models yet" in board_sentence(none)
    apart = automatic_board(
        [*wins, *(one._replace(a="x", b="y", item=f"{one.item}x") for one in even)], False
    )
    assert board_sentence(apart).startswith("In one of 2 groups that never met, ")
    others = [match._replace(a="x", b="y", item=f"{match.item}x") for match in even]
    level = board_sentence(automatic_board([*even, *others], False))
    assert level == "In one of 2 groups that never met, m and n share rank 1."


def test_intervals_of_peoples_votes_allow_for_voters_who_judge_alike(tmp_path):
    """Eight voters, each of one mind on twenty items: eight cases, not 160."""
    choices = [(item, item % 8) for item in range(160)]
    told = {
        "model_a": "m",
        "model_b": REFERENCE,
        "category": "Color",
        "origin": None,
        "origin_row": None,
    }
    rows = [
        {**told, "item": f"i{n}", "voter": f"v{who}", "winner": "a" if who < 5 else "b"}
        for n, who in choices
    ]
    path = tmp_path / "votes.jsonl"
    path.write_text(
        "\n".join(map(json.dumps, [*rows, {**rows[0], "model_b": "m"}])), encoding="utf-8"
    )
    played = list(matches_of_votes(read(path)))
    people = automatic_board(played, False)
    judge = automatic_board([match._replace(voter="") for match in played], False)
    assert people.matches == 160, "a model against itself is no match"
    (low, high), rate = wilson(np.array([5]), np.array([8])), people.families["Color"]["m"]
    assert (rate.wins, rate.n, rate.low, rate.high) == (
        100,
        160,
        pytest.approx(low[0]),
        pytest.approx(high[0]),
    )
    wide, narrow = (
        board.lines[0].row.bt_high - board.lines[0].row.bt_low for board in (people, judge)
    )
    assert wide > 2 * narrow
    by_judge = judge.families["Color"]["m"]
    assert by_judge.high - by_judge.low < 0.16, "a judge's matches are on an item each"


def test_figure_8_has_every_family_with_a_decided_match():
    played = [
        PlayedMatch(f"i{n}", "Color", False, "m", REFERENCE, "a" if n else "b") for n in range(20)
    ]
    played += [PlayedMatch("j", "Count", False, "m", REFERENCE, "tie")]
    played += [PlayedMatch("j", "Color", False, "<n>", REFERENCE, "a")]
    plot = family_plot(automatic_board(played, False))
    assert plot and [row[0] for row in texts(plot.table)] == ["Color"]
    assert "Each interval has a 5% chance of missing" in plot.note
    cells = {
        mark.title.partition(",")[0]: mark for mark in plot.drawing.marks if mark.kind == "cell"
    }
    assert {model: cell.text for model, cell in cells.items()} == {"m": "95%", "<n>": "100%"}
    # Half of the depth, which is twice the distance of the interval's nearer end from one half.
    nearer = wilson(np.array([19]), np.array([20])).low[0] - 0.5
    assert cells["m"].strength == pytest.approx(nearer, abs=0.005) and cells["<n>"].strength == 0
    assert family_plot(automatic_board(played[20:21], False)) is None


def test_people_stand_beside_the_judge_under_the_models_names(submissions, database):
    bank = submissions._bank()
    single = [place for place, item in enumerate(bank.values(), 1) if not item.instance.multi]
    order = ["m1", "m2", "m3", REFERENCE]
    votes = [
        Planted(item, one, other)
        for item in single
        for one, other in itertools.combinations(order, 2)
    ] * 3
    Ingest(database).add_items("test", "visit", pictured())
    Ingest(database).rename("m1", "Model One")
    plant(database, votes)
    leaderboard = Leaderboard(database, VoteTable(database))
    people = PeoplesBoards(leaderboard, database).ratings("test", multi=False)
    leaderboard.close()
    assert sorted(people, key=lambda name: -people[name]) == order
    assert PeoplesBoards(leaderboard, database).ratings("nowhere", multi=False) == {}


# What copies of voters' secrets are told.
TEXTS = ("A red cat.", "Two dogs, as far as I see.", "Nothing at all.")


def said_by_text(report: MatchReport) -> MatchReport:
    """Return a report whose judge knows the texts alone, and answers a copy beside itself by the order."""
    texts = report.texts
    outcomes = []
    for match in report.matches:
        a, b = (texts[match.item, model] for model in (match.a, match.b))
        winners = "ab" if a == b else "aa" if a > b else "bb"
        outcomes += [Verdict(winner, "", (f"{a} or {b}",), JUDGE) for winner in winners]
    return VISIT_BENCH.with_outcomes(report, outcomes)


def shown_of_copies(folder, kind: str, models: Sequence[str]) -> list[str]:
    """What the public reads of a copy of the first text, where these models gave the three: its report, the board."""
    folder.mkdir()
    with closing(Database(f"sqlite:///{folder / 'arena.db'}")) as database:
        kept = [
            replace(draft, answers=dict(zip(models, TEXTS, strict=True)) | {REFERENCE: "A cat."})
            for draft in pictured()
        ]
        Ingest(database).add_items("bank", kind, kept)
        blind = Submissions(database, Blindness(database, ItemBank(database), "off"))
        rows = [{"item": key, "Mid prediction": TEXTS[0]} for key in keys(kept)]
        file = put(folder / "mid.jsonl", rows)
        drafted = blind.draft("ada", file, SubmissionRequest(), JUDGE, ADDRESS).report
        report = said_by_text(replace(drafted, created=""))
        blind.store.enter("ada", report)
        (board, *_) = blind.store.board_keys()
        assert len(blind.redact(report).matches) == len(report.matches)
        made = [blind.redact(report), replace(blind.board_report(board), created="")]
        stored = blind.draft_stored(models[0], "bank", SubmissionRequest(), JUDGE, ADDRESS).report
        standings = blind.store.standings(board)
        told = [
            str(board_html(board, standings, PeoplesRatings({}, None), {})),
            *(VISIT_BENCH.files(one)[name].decode() for one in made for name in FILES),
            *(str(VISIT_BENCH.scored_answers(made[0])), list_matches(made[0]).html),
        ]
        assert ("Mid" in {one.model for one in stored.responses}) == (kind == "demo")
        return told


FILES = ("battles.jsonl", "report.json", "steadiness.csv")


@pytest.mark.parametrize("kind", ["folder", "demo"])
def test_how_a_copy_of_a_secret_fares_does_not_tell_whose_it_is(tmp_path, kind):
    """A copy beside its original is decided by order, and one beside others by what they say."""
    told = {
        tuple(shown_of_copies(tmp_path / "-".join(models), kind, models))
        for models in (
            ("Alpha", "Late", "Zeta"),
            ("Late", "Zeta", "Alpha"),
            ("Zeta", "Alpha", "Late"),
        )
    }
    assert len(told) == (1 if kind == "folder" else 3)


@pytest.mark.parametrize("kind", ["folder", "demo"])
def test_of_stored_secrets_totals_alone_are_told(database, kind):
    """How each model fares on an item would name the copy that fares alike, whomever that is said to have met."""
    Ingest(database).add_items("bank", kind, pictured())
    blind = Submissions(database, Blindness(database, ItemBank(database), "off"))
    drafted = blind.draft_stored("m1", "bank", SubmissionRequest(), JUDGE, ADDRESS).report
    report = said_by_text(drafted)
    blind.store.enter("ada", report)
    shown = blind.redact(report)
    assert VISIT_BENCH.headline(shown) == VISIT_BENCH.headline(report)
    assert VISIT_BENCH.groups(shown) == VISIT_BENCH.groups(report)
    single = blind.board_report(blind.store.board_keys()[0])
    files = "".join(
        VISIT_BENCH.files(one)[name].decode() for one in (shown, single) for name in FILES
    )
    told = f"{files}{VISIT_BENCH.scored_answers(shown)}{list_matches(shown).html}"
    assert any(key in told for key in keys()) == (kind == "demo")
    assert ("we don&#39;t show the answers" in list_matches(shown).html) == (kind != "demo")


def test_a_board_that_may_count_nothing_yet_is_empty(submissions, tmp_path):
    """Of a bank without references, a submission has met nobody whom the board may tell."""
    database = submissions._database
    bare = pictured(drafts(3, reference=False, start=20))
    Ingest(database).add_items("bare", "visit", bare)
    blind = Submissions(database, Blindness(database, ItemBank(database), "off"))
    rows = [{"item": key, "Mid prediction": "x"} for key in keys(bare)]
    file = put(tmp_path / "mid.jsonl", rows)
    report = blind.draft("ada", file, SubmissionRequest(), JUDGE, ADDRESS).report
    blind.store.enter("ada", said_by_text(report))
    for board in blind.store.board_keys():
        standings = blind.store.standings(board)
        assert standings.board.matches == 0
        assert board_html(board, standings, PeoplesRatings({}, None), {})
        assert board_chart(standings.board) is None and family_plot(standings.board) is None
        assert not VISIT_BENCH.files(blind.board_report(board))["battles.jsonl"]


def test_whom_a_sample_meets_is_drawn_by_a_secret_lot(submissions, tmp_path):
    """Else one would know which three models to look among."""
    database = submissions._database
    rows = [{"item": key, "Mid prediction": "x"} for key in keys()]
    file = put(tmp_path / "mid.jsonl", rows)

    def drawn(of: Submissions) -> tuple[Response, ...]:
        return of.draft("ada", file, SubmissionRequest(1), JUDGE, ADDRESS).report.responses

    blindness = Blindness(database, ItemBank(database), "off")
    first, again = (drawn(Submissions(database, blindness)) for _ in range(2))
    assert first == again != drawn(submissions)
