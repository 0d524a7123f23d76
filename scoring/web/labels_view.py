"""Labels' view: the kinds of error that people found, as a report's page of people shows them."""

from collections.abc import Iterator

from arena.interval_text import interval_text, spanned
from arena.templates import plural
from scoring.people.error_shares import by_group, merged
from scoring.people.errors import ERROR_KINDS, ErrorKey
from scoring.people.labels import LabelResults
from scoring.people.published_errors import PAPER_SHARES
from scoring.web.people_view import HTML
from scoring.web.report_parts import REPORT

_FEWEST = 30
"""Labels below which shares are said to be few."""


def labels_line(found: LabelResults | None) -> str:
    """What labels say, in a line; empty without labels."""
    if found is None:
        return ""
    shares = found.shares
    first = max(shares.kinds.values(), key=lambda kind: kind.weighted.value)
    share = first.weighted
    return (
        f"People labelled {shares.labelled:,} of {plural(shares.errors, 'wrong answer')}. Most common: "
        f"{ERROR_KINDS[first.key].title.lower()}, {share.value:.0%} of all "
        f"({interval_text(share.low, share.high, '.0%')})."
    )


def labels_html(found: LabelResults | None, mmt_bench: bool) -> str:
    """Everything that labels say; `mmt_bench`: whether the paper's shares stand beside."""
    if found is None:
        return ""
    return REPORT.together([HTML.said(labels_line(found)), *_parts(found, mmt_bench)])


def _parts(found: LabelResults, mmt_bench: bool) -> Iterator[str]:
    shares = found.shares
    if shares.labelled < _FEWEST:
        yield HTML.said(f"{plural(shares.labelled, 'label')} say little: their intervals are wide.")
    if shares.covered < shares.errors:
        yield HTML.said(
            f"Weighted shares are of the {shares.covered:,} errors in groups with labels."
        )
    papers = PAPER_SHARES if mmt_bench else {}
    rows = []
    for key, kind in shares.kinds.items():
        one = kind.sample
        told = kind.weighted
        cells = [f"{one.hits:,}", f"{one.value or 0:.1%}", spanned(one.low, one.high, ".1%")]
        cells += [f"{told.value:.1%}", spanned(told.low, told.high, ".1%")]
        rows.append(
            (ERROR_KINDS[key].title, [*cells, *(_published(model, key) for model in papers)])
        )
    columns = ("", "Labels", "Of the sample", "95% interval", "Of all errors", "95% interval")
    yield HTML.table(
        "Which errors it makes", (*columns, *(f"{model}, 4.4" for model in papers)), rows
    )
    if found.bounds:
        none, dropped, highest = (100 * one for one in found.bounds)
        yield HTML.said(
            f"Score {none:.1f}; without the questions among these {shares.covered:,} errors that are wrong "
            f"{dropped:.1f}, at most {highest:.1f}. Wrong questions that it got right are not known."
        )
    yield from _groups(found)
    yield from _agreement(found)
    yield from _compared(found)


def _published(model: str, key: ErrorKey) -> str:
    return f"{PAPER_SHARES[model][key]:.1%}" if key in PAPER_SHARES[model] else "–"


def _groups(found: LabelResults) -> Iterator[str]:
    counts = by_group(merged(found.labels))
    if len(counts) > 1:
        rows = [
            (group, [f"{row[key]:,}" if row[key] else "–" for key in ERROR_KINDS])
            for group, row in counts.items()
        ]
        titles = (kind.title for kind in ERROR_KINDS.values())
        yield REPORT.folded(
            "Kinds by group", HTML.table("Kinds by group", ("", *titles), sorted(rows))
        )


def _agreement(found: LabelResults) -> Iterator[str]:
    agreed = found.agreement
    if agreed.main.value is not None:
        yield HTML.said(
            f"{plural(agreed.answers, 'answer')} have labels of several people: Krippendorff's alpha "
            f"{agreed.main.value:.2f}; {agreed.common.value or 0:.0%} of pairs of people name a kind in common."
        )
    if agreed.own.value is not None:
        yield HTML.said(f"The same people the second time: alpha {agreed.own.value:.2f}.")
    if found.doubted:
        rows = [
            (
                one.item,
                [
                    one.group,
                    *(
                        f"{number:,}"
                        for number in (one.people, one.models, one.annotation, one.right)
                    ),
                ],
            )
            for one in found.doubted
        ]
        columns = ("Question", "Group", "People", "Models", "Question is wrong", "Answer is right")
        yield HTML.table("Doubted questions, worth telling the benchmark's authors", columns, rows)


def _compared(found: LabelResults) -> Iterator[str]:
    for title, one in found.compared.items():
        rows = [
            (
                ERROR_KINDS[key].title,
                [
                    f"{counts.first_only:,}",
                    f"{counts.second_only:,}",
                    f"{counts.both:,}",
                    f"{counts.p:.3g}",
                    f"{holm:.3g}",
                ],
            )
            for key, (counts, holm) in one.kinds.items()
        ]
        columns = ("", "Here alone", "There alone", "Both", "McNemar p", "With Holm")
        yield HTML.table(f"Beside {title}, on {plural(one.items, 'common error')}", columns, rows)
        value, freedom, p = one.symmetry
        yield HTML.said(
            f"Bowker's test of symmetry: {value:.2f}, {freedom} degrees of freedom, p {p:.3g}."
        )
