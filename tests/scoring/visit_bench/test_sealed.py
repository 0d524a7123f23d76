"""Sealed items: which groups a report shows, what it says of them, and that no draft is stored with its texts."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter

import pytest

from arena.types import Secret
from scoring.report import JudgeStamp
from scoring.serialize import read_record, record_json
from scoring.small_groups import LEAST, shown_groups
from scoring.visit_bench.matches import Verdict, Winner
from scoring.visit_bench.sealed import (
    SEALED_ITEMS,
    OpenedReport,
    SealedAnswer,
    SealedCount,
    SealedItem,
    SealedReport,
)
from scoring.web.report_page import JobReport, scores_of

DECIDED = attrgetter("decided")


def count(name: str, won: int, lost: int = 0, tied: int = 0, unscored: int = 0) -> SealedCount:
    return SealedCount(name, won, lost, tied, unscored)


def report(total: SealedCount, groups: tuple[SealedCount, ...] = (), **changes) -> SealedReport:
    made = SealedReport(
        benchmark="sealed-items",
        protocol="hardened",
        title="m",
        file="m.csv",
        created="2026-11-28T10:00:00",
        judge=JudgeStamp("judge", (), "", "", ""),
        project="held-out",
        digest="0" * 64,
        answers=(),
        total=total,
        groups=groups,
        unread=0,
        replies=2 * total.items,
        steady=total.items,
        both=total.items,
    )
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ([25, 22], [25, 22]),
        ([25, 22, 19], [25]),  # 66 less 47 would tell the 19
        ([25, 22, 19, 1], [25, 22]),  # 20 together
        ([25, 19], []),
        ([30, 5, 5, 5, 5], [30]),
        ([19, 19], []),
        ([40], [40]),
        ([], []),
    ],
)
def test_no_group_is_told_by_what_the_total_leaves(sizes, shown):
    counts = [count(f"k{place}", size) for place, size in enumerate(sizes)]
    assert [one.decided for one in shown_groups(counts, DECIDED)] == shown


def test_ties_and_unscored_make_no_group_large():
    small = count("small", won=5, lost=5, tied=30, unscored=30)
    large = count("large", won=30, lost=30)
    assert shown_groups([small, large], DECIDED) == []


def judged(results: Mapping[str, Sequence[Winner | None]]) -> SealedReport:
    """A report after the judging of these results by family, of the model `z` beside the reference."""
    items = {}
    answers = []
    outcomes = []
    for family, winners in results.items():
        for number, winner in enumerate(winners):
            key = f"{family}-{number}"
            captions = (Secret("a caption"),)
            items[key] = SealedItem(key, family, "What?", ("a.png",), captions, Secret("it"))
            answers.append(SealedAnswer(key, family, "an answer"))
            outcomes += [Verdict(winner, replies=("so",))] * 2
    closed = report(count("% won", 0), title="z", answers=tuple(answers))
    kept = {field.name: getattr(closed, field.name) for field in fields(SealedReport)}
    return SEALED_ITEMS.with_outcomes(OpenedReport(**kept, items=items), outcomes)


@pytest.mark.parametrize(
    ("small", "shown"),
    [
        (["tie"], []),
        (["tie"] * 5, []),
        ([None], []),
        (["a"], []),
        ([], ["Color"]),
        (["tie", *["b"] * 20], ["Color", "Counting"]),
    ],
)
def test_a_family_is_not_told_either_by_results_that_are_in_no_share(small, shown):
    """Else the total's number of results, beside that of the only family shown, would say that all others tied."""
    told = judged({"Color": ["a", "b"] * 15, "Counting": small})
    assert [group.name for group in told.groups] == shown


def test_a_report_says_shares_with_intervals_and_what_it_leaves_out():
    groups = (count("Counting", 20, 5, tied=1, unscored=2),)
    told = report(count("% won", 40, 20, tied=2, unscored=3), groups)
    head = SEALED_ITEMS.headline(told)
    assert (head.n, head.unscored) == (63, 3)
    assert head.mean == pytest.approx(100 * 40 / 60)
    assert head.low is not None and head.low < 66.7 < (head.high or 0)
    assert [line.name for line in SEALED_ITEMS.groups(told)] == ["Counting"]
    assert any("items, 37, count" in one.text for one in SEALED_ITEMS.caveats(told))
    assert SEALED_ITEMS.scored_answers(told) == ()
    assert {name.partition(".")[0] for name in SEALED_ITEMS.files(told)} == {
        "sealed-items-scores",
        "sealed-items-tables",
    }


@pytest.mark.parametrize(
    "told",
    [
        report(count("% won", LEAST - 1, tied=40)),
        report(count("% won", 40), (count("Counting", 40),), unread=41, replies=80),
    ],
)
def test_too_few_results_and_replies_that_cannot_be_read_give_no_score(told):
    assert SEALED_ITEMS.headline(told).mean is None
    assert SEALED_ITEMS.groups(told) == SEALED_ITEMS.sheets(told) == ()
    assert SEALED_ITEMS.ungraded_note(told).startswith("No score")
    assert scores_of(JobReport(None, told, "")) == "", "no heading over nothing"


def test_an_opened_draft_is_neither_stored_nor_printed():
    item = SealedItem("k", "f", "What?", ("a.png",), (Secret("a caption"),), Secret("a reference"))
    closed = report(count("% won", 0))
    kept = {field.name: getattr(closed, field.name) for field in fields(SealedReport)}
    opened = OpenedReport(**kept, items={"k": item})
    with pytest.raises(AttributeError):
        record_json(opened)
    assert "a caption" not in repr(opened) and "a reference" not in repr(opened)
    assert read_record(SealedReport, record_json(closed)) == closed
