"""Labels' view: the kinds of error that people found, as a report's page of people shows them."""

from collections.abc import Iterator
from dataclasses import replace

from arena.interval_text import interval_text
from arena.sheets import Sheet
from arena.templates import plural
from scoring.people.errors import ERROR_KINDS
from scoring.people.label_sheets import (
    agreement_sheet,
    bounds_text,
    comparison_sheet,
    doubted_sheet,
    group_sheet,
    kind_sheet,
)
from scoring.people.labels import LabelResults
from scoring.web.people_view import HTML
from scoring.web.report_parts import sheets_html

_FEWEST = 30
"""Labels below which shares are said to be few."""


def labels_line(found: LabelResults | None) -> str:
    """What labels say, in a line; empty without labels."""
    if found is None:
        return ""
    shares = found.shares
    first = max(shares.kinds.values(), key=lambda kind: kind.weighted.value)
    share = first.weighted
    labelled = f"People labelled {shares.labelled:,} of {plural(shares.wrong, 'wrong answer')}."
    if shares.labelled == shares.right.sample.hits:
        return f"{labelled} All of these are right after all."
    return (
        f"{labelled} Most common: {ERROR_KINDS[first.key].title.lower()}, {share.value:.0%} of all errors "
        f"({interval_text(share.low, share.high, '.0%')})."
    )


def labels_html(found: LabelResults, mmt_bench: bool) -> str:
    """Everything that labels say; `mmt_bench`: whether the paper's shares stand beside."""
    sheets = label_sheets(found, mmt_bench)
    return HTML.results("Labels", list(_sentences(found)), sheets_html(sheets))


def _sentences(found: LabelResults) -> Iterator[str]:
    shares = found.shares
    yield labels_line(found)
    if shares.labelled < _FEWEST:
        yield f"{plural(shares.labelled, 'label')} say little: their intervals are wide."
    if shares.covered < shares.wrong:
        yield f"Weighted shares are of errors among the {shares.covered:,} wrong answers in groups with labels."
    if found.bounds:
        yield bounds_text(shares, found.bounds)


def label_sheets(found: LabelResults, mmt_bench: bool) -> list[Sheet]:
    """What labels say of a report's errors, in tables."""
    sheets = [kind_sheet(found.shares, mmt_bench)]
    if len({label.group for label in found.labels}) > 1:
        sheets.append(group_sheet(found.labels))
    if found.agreement.main.value is not None or found.agreement.own.value is not None:
        sheets.append(agreement_sheet(found.agreement))
    if found.doubted:
        sheets.append(doubted_sheet(found.doubted))
    for number, (title, one) in enumerate(found.compared.items(), 1):
        sheet = comparison_sheet("This model", title, one)
        sheets.append(replace(sheet, name=f"{sheet.name}-{number}"))
    return sheets
