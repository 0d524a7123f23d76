"""Label sheets: a model's kinds of error, agreement of labellers, doubted questions, and two models' kinds."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from arena.interval_text import interval_text
from arena.ratings.agreement import Estimate
from arena.sheets import Column, Sheet, estimate, estimate_cells
from arena.templates import plural
from scoring.people.corrected_mean import CorrectedMean
from scoring.people.error_shares import ErrorShares, ScoreBounds, count_kinds, merge_labels
from scoring.people.errors import ERROR_KINDS, KEYS, ErrorKey, Label
from scoring.people.label_agreement import DoubtedQuestion, ErrorComparison, LabelAgreement
from scoring.people.proposals import Confusion
from scoring.people.published import PAPER_SHARES

_KIND = Column("kind", "Kind of error", has_words=True)


def kind_sheet(shares: ErrorShares, with_paper: bool) -> Sheet:
    """Sheet of the share of each main kind; `with_paper` adds columns with MMT-Bench's shares.

    If every labelled answer is right after all, no error is labelled, and the shares are empty.
    """
    rows = []
    for key, kind in shares.kinds.items():
        sample = kind.sample
        row: dict[str, Any] = {"kind": ERROR_KINDS[key].title, "labels": sample.hits}
        if sample.n:
            row |= estimate_cells("sample", sample.value, sample.low, sample.high)
            row |= estimate_cells("weighted", *kind.weighted)
        else:
            row |= estimate_cells("sample", None, None, None)
            row |= estimate_cells("weighted", None, None, None)
        paper = {model: paper_shares.get(key) for model, paper_shares in PAPER_SHARES.items()}
        rows.append(row | paper)
    columns = [
        _KIND,
        Column("labels", "Labels", "count"),
        estimate("sample", "Of labelled errors", "percent"),
        estimate("weighted", "Of all errors", "percent"),
    ]
    notes = [right_text(shares)] if shares.right.sample.hits else []
    if with_paper:
        columns += [Column(model, model, "percent") for model in PAPER_SHARES]
        notes.append(f"{', '.join(PAPER_SHARES)}: MMT-Bench, section 4.4.")
    frame = pd.DataFrame(rows)
    return Sheet("kinds", "Which errors it makes", frame, tuple(columns), " ".join(notes))


def right_text(shares: ErrorShares) -> str:
    """A sentence with the number of labelled answers that are right after all."""
    right = shares.right
    return (
        f"Right after all: {right.sample.hits:,} of {plural(shares.labelled, 'labelled answer')}, "
        f"{right.weighted.value:.1%} of all wrong answers "
        f"({interval_text(right.weighted.low, right.weighted.high, '.1%')}). They are in no share."
    )


def bounds_text(shares: ErrorShares, bounds: ScoreBounds) -> str:
    """A sentence with the score, and with what it would be without wrong questions."""
    return (
        f"Score {100 * bounds.none_dropped:.1f} over the {bounds.answers:,} answers that could be read. Without wrong "
        f"questions among the {shares.covered:,} errors in labelled groups it's {100 * bounds.all_dropped:.1f}, "
        f"at most {100 * bounds.highest:.1f}. Wrong questions that it got right are not known."
    )


def group_sheet(labels: Iterable[Label]) -> Sheet:
    """Sheet of each group's number of labels with each main kind."""
    counts = count_kinds(merge_labels(labels))
    # None in place of 0, so that the few numbers of a sparse table stand out.
    rows = [
        {"group": group, **{key: row[key] or None for key in KEYS}}
        for group, row in sorted(counts.items())
    ]
    kinds = (Column(kind.key, kind.title, "count") for kind in ERROR_KINDS.values())
    columns = (Column("group", "Group", has_words=True), *kinds)
    return Sheet("groups", "Kinds by group", pd.DataFrame(rows), columns, place="folded")


def agreement_sheet(agreement: LabelAgreement) -> Sheet:
    """Krippendorff's alpha of people's kinds."""
    rows = [_alpha_row("the main kind", agreement.main)]
    rows += [
        _alpha_row(ERROR_KINDS[key].title, estimate_of_kind)
        for key, estimate_of_kind in agreement.kinds.items()
    ]
    if agreement.same_person.value is not None:
        rows.append(_alpha_row("the main kind, same person twice", agreement.same_person))
    columns = (
        Column("named", "People agree on", has_words=True),
        estimate("alpha", "Krippendorff's alpha", places=3),
    )
    note = (
        f"{plural(agreement.answers, 'answer')} have labels of several people; "
        f"{agreement.common.hits:,} of {plural(agreement.common.n, 'pair')} of labels have a kind in common."
    )
    return Sheet("agreement", "How far people agree", pd.DataFrame(rows), columns, note)


def _alpha_row(name: str, alpha: Estimate) -> dict[str, Any]:
    return {"named": name, **estimate_cells("alpha", alpha.value, alpha.low, alpha.high)}


def doubted_sheet(questions: Iterable[DoubtedQuestion]) -> Sheet:
    """Doubted questions, to report to the benchmark's authors."""
    rows = [question._asdict() | {"notes": "; ".join(question.notes)} for question in questions]
    columns = (
        Column("item", "Question"),
        Column("group", "Group", has_words=True),
        Column("people", "People", "count"),
        Column("models", "Models", "count"),
        Column("annotation", "Question is wrong", "count"),
        Column("right", "Answer is right", "count"),
        Column("notes", "Notes"),
    )
    title = "Doubted questions to report to the benchmark's authors"
    return Sheet("doubted", title, pd.DataFrame(rows), columns)


def comparison_sheet(first: str, second: str, comparison: ErrorComparison) -> Sheet:
    """Two models' main kinds on common errors, with McNemar's exact p."""
    rows = [
        {
            "kind": ERROR_KINDS[key].title,
            "first_only": counts.first_only,
            "second_only": counts.second_only,
            "both": counts.both,
            "p": counts.p,
            "holm": holm,
        }
        for key, (counts, holm) in comparison.kinds.items()
    ]
    columns = (
        _KIND,
        Column("first_only", "First only", "count"),
        Column("second_only", "Second only", "count"),
        Column("both", "Both", "count"),
        Column("p", "McNemar p", "p"),
        Column("holm", "With Holm", "p"),
    )
    symmetry = comparison.symmetry
    note = (
        f"Bowker's test of symmetry: {symmetry.statistic:.2f}, {symmetry.freedom} degrees of freedom, "
        f"p {symmetry.p:.3g}."
    )
    title = f"{first} against {second}, on {plural(comparison.items, 'common error')}"
    return Sheet("comparison", title, pd.DataFrame(rows), columns, note)


def confusion_sheet(confusion: Confusion) -> Sheet:
    """People's kinds (rows) against the proposed kinds (columns) of the same answers."""
    rows = [
        {"kind": ERROR_KINDS[key].title, **dict(zip(KEYS, counts, strict=True))}
        for key, counts in zip(KEYS, confusion.table.tolist(), strict=True)
    ]
    columns = (
        Column("kind", "People's kind", has_words=True),
        *(Column(key, key, "count") for key in KEYS),
    )
    kappa = "undefined" if confusion.kappa is None else f"{confusion.kappa:.3f}"
    note = f"The same kind: {confusion.same:,} of {confusion.answers:,}; Cohen's kappa {kappa}."
    return Sheet("confusion", "Proposals beside people's labels", pd.DataFrame(rows), columns, note)


def corrected_sheet(shares: Mapping[ErrorKey, CorrectedMean]) -> Sheet:
    """The share of each kind that people would name among all answers with a proposal."""
    rows = [
        {
            "kind": ERROR_KINDS[key].title,
            "proposed": mean.judge,
            **estimate_cells("corrected", *mean.corrected),
            "alone": mean.alone.value,
        }
        for key, mean in shares.items()
    ]
    columns = (
        _KIND,
        Column("proposed", "Proposed", "percent"),
        estimate("corrected", "Corrected", "percent"),
        Column("alone", "By labels alone", "percent"),
    )
    return Sheet("corrected", "Of all with a proposal", pd.DataFrame(rows), columns)
