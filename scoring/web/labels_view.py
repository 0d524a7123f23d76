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


def labels_line(results: LabelResults | None) -> str:
    """Returns a line on the results of labels; empty without labels."""
    if results is None:
        return ""
    shares = results.shares
    first = max(shares.kinds.values(), key=lambda kind: kind.weighted.value)
    share = first.weighted
    labelled = f"People labelled {shares.labelled:,} of {plural(shares.wrong, 'wrong answer')}."
    if shares.labelled == shares.right.sample.hits:
        return f"{labelled} All of these are right after all."
    return (
        f"{labelled} Most common: {ERROR_KINDS[first.key].title.lower()}, {share.value:.0%} of all errors "
        f"({interval_text(share.low, share.high, '.0%')})."
    )


def labels_html(results: LabelResults, mmt_bench: bool) -> str:
    """Returns all results of labels; `mmt_bench`: whether the paper's shares are beside them."""
    sheets = label_sheets(results, mmt_bench)
    return HTML.results("Labels", list(_sentences(results)), sheets_html(sheets))


def _sentences(results: LabelResults) -> Iterator[str]:
    shares = results.shares
    yield labels_line(results)
    if shares.labelled < _FEWEST:
        yield f"{plural(shares.labelled, 'label')} say little: their intervals are wide."
    if shares.covered < shares.wrong:
        yield f"Weighted shares are of errors among the {shares.covered:,} wrong answers in groups with labels."
    if results.bounds:
        yield bounds_text(shares, results.bounds)


def label_sheets(results: LabelResults, mmt_bench: bool) -> list[Sheet]:
    """Returns the tables on a report's errors by people's labels."""
    sheets = [kind_sheet(results.shares, mmt_bench)]
    if len({label.group for label in results.labels}) > 1:
        sheets.append(group_sheet(results.labels))
    if results.agreement.main.value is not None or results.agreement.own.value is not None:
        sheets.append(agreement_sheet(results.agreement))
    if results.doubted:
        sheets.append(doubted_sheet(results.doubted))
    for number, (title, comparison) in enumerate(results.compared.items(), 1):
        sheet = comparison_sheet("This model", title, comparison)
        sheets.append(replace(sheet, name=f"{sheet.name}-{number}"))
    return sheets
