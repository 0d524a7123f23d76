"""Label sheets: which errors a model makes, how far labellers agree, what they doubt, and two models' kinds."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from arena.interval_text import interval_text
from arena.ratings.agreement import Estimate
from arena.sheets import Column, Sheet, estimate, estimate_cells
from arena.templates import plural
from scoring.people.corrected_mean import CorrectedMean
from scoring.people.error_shares import ErrorShares, ScoreBounds, by_group, merged
from scoring.people.errors import ERROR_KINDS, KEYS, ErrorKey, Label
from scoring.people.label_agreement import DoubtedQuestion, ErrorComparison, LabelAgreement
from scoring.people.proposals import Confusion
from scoring.people.published import PAPER_SHARES

_KIND = Column("kind", "Kind of error")


def kind_sheet(found: ErrorShares, published: bool) -> Sheet:
    """How often each kind is an error's main one; `published`: whether MMT-Bench's shares stand beside."""
    rows = []
    for key, kind in found.kinds.items():
        sample = kind.sample
        row: dict[str, Any] = {"kind": ERROR_KINDS[key].title, "labels": sample.hits}
        row |= estimate_cells("sample", sample.value or 0.0, sample.low, sample.high)
        row |= estimate_cells("weighted", *kind.weighted)
        rows.append(row | {model: shares.get(key) for model, shares in PAPER_SHARES.items()})
    columns = [
        _KIND,
        Column("labels", "Labels", "count"),
        estimate("sample", "Of labelled errors", "percent"),
        estimate("weighted", "Of all errors", "percent"),
    ]
    notes = [right_text(found)] if found.right.sample.hits else []
    if published:
        columns += [Column(model, model, "percent") for model in PAPER_SHARES]
        notes.append(f"{', '.join(PAPER_SHARES)}: MMT-Bench, section 4.4.")
    frame = pd.DataFrame(rows)
    return Sheet("kinds", "Which errors it makes", frame, tuple(columns), " ".join(notes))


def right_text(found: ErrorShares) -> str:
    """How many labelled answers are no errors, in words."""
    right = found.right
    return (
        f"Right after all: {right.sample.hits:,} of {plural(found.labelled, 'labelled answer')}, "
        f"{right.weighted.value:.1%} of all wrong answers "
        f"({interval_text(right.weighted.low, right.weighted.high, '.1%')}). They are in no share."
    )


def bounds_text(found: ErrorShares, bounds: ScoreBounds) -> str:
    """The score without wrong questions, in words."""
    return (
        f"Score {100 * bounds.none_dropped:.1f}; without the questions among these {found.covered:,} answers that "
        f"are wrong {100 * bounds.all_dropped:.1f}, at most {100 * bounds.highest:.1f}. Wrong questions that it got "
        "right are not known."
    )


def group_sheet(labels: Iterable[Label]) -> Sheet:
    """How often each kind is the main one in each group."""
    counts = by_group(merged(labels))
    rows = [
        {"group": group, **{key: row[key] or None for key in KEYS}}
        for group, row in sorted(counts.items())
    ]
    kinds = (Column(kind.key, kind.title, "count") for kind in ERROR_KINDS.values())
    columns = (Column("group", "Group"), *kinds)
    return Sheet("groups", "Kinds by group", pd.DataFrame(rows), columns, place="folded")


def agreement_sheet(found: LabelAgreement) -> Sheet:
    """Krippendorff's alpha of people's kinds."""
    rows = [_alpha("the main kind", found.main)]
    rows += [_alpha(ERROR_KINDS[key].title, one) for key, one in found.kinds.items()]
    if found.own.value is not None:
        rows.append(_alpha("the main kind, the same person twice", found.own))
    columns = (
        Column("named", "Whether people name"),
        estimate("alpha", "Krippendorff's alpha", places=3),
    )
    note = (
        f"{plural(found.answers, 'answer')} have labels of several people; "
        f"{found.common.hits:,} of {plural(found.common.n, 'pair')} of labels have a kind in common."
    )
    return Sheet("agreement", "How far people agree", pd.DataFrame(rows), columns, note)


def _alpha(named: str, one: Estimate) -> dict[str, Any]:
    return {"named": named, **estimate_cells("alpha", one.value, one.low, one.high)}


def doubted_sheet(questions: Iterable[DoubtedQuestion]) -> Sheet:
    """Questions worth telling the benchmark's authors."""
    rows = [one._asdict() | {"notes": "; ".join(one.notes)} for one in questions]
    columns = (
        Column("item", "Question"),
        Column("group", "Group"),
        Column("people", "People", "count"),
        Column("models", "Models", "count"),
        Column("annotation", "Question is wrong", "count"),
        Column("right", "Answer is right", "count"),
        Column("notes", "Notes"),
    )
    title = "Doubted questions, worth telling the benchmark's authors"
    return Sheet("doubted", title, pd.DataFrame(rows), columns)


def comparison_sheet(first: str, second: str, found: ErrorComparison) -> Sheet:
    """Two models' main kinds on common errors, with McNemar's exact p."""
    rows = [
        {**vars(counts), "kind": ERROR_KINDS[key].title, "holm": holm}
        for key, (counts, holm) in found.kinds.items()
    ]
    columns = (
        _KIND,
        Column("first_only", "First only", "count"),
        Column("second_only", "Second only", "count"),
        Column("both", "Both", "count"),
        Column("p", "McNemar p", "p"),
        Column("holm", "With Holm", "p"),
    )
    value, freedom, p = found.symmetry
    note = f"Bowker's test of symmetry: {value:.2f}, {freedom} degrees of freedom, p {p:.3g}."
    title = f"{first} against {second}, on {plural(found.items, 'common error')}"
    return Sheet("comparison", title, pd.DataFrame(rows), columns, note)


def confusion_sheet(found: Confusion) -> Sheet:
    """People's kinds of answers, and those that were proposed for them."""
    rows = [
        {"kind": ERROR_KINDS[key].title, **dict(zip(KEYS, counts, strict=True))}
        for key, counts in zip(KEYS, found.table.tolist(), strict=True)
    ]
    columns = (Column("kind", "People's kind"), *(Column(key, key, "count") for key in KEYS))
    kappa = "undefined" if found.kappa is None else f"{found.kappa:.3f}"
    note = f"The same kind: {found.same:,} of {found.answers:,}; Cohen's kappa {kappa}."
    return Sheet("confusion", "Proposals beside people's labels", pd.DataFrame(rows), columns, note)


def corrected_sheet(shares: Mapping[ErrorKey, CorrectedMean]) -> Sheet:
    """The share of each kind that people would name among all answers with a proposal."""
    rows = [
        {
            "kind": ERROR_KINDS[key].title,
            "proposed": one.judge,
            **estimate_cells("corrected", *one.corrected),
            "alone": one.alone.value,
        }
        for key, one in shares.items()
    ]
    columns = (
        _KIND,
        Column("proposed", "Proposed", "percent"),
        estimate("corrected", "Corrected", "percent"),
        Column("alone", "By labels alone", "percent"),
    )
    return Sheet("corrected", "Of all with a proposal", pd.DataFrame(rows), columns)
