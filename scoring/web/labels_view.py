"""Labels view: the kinds of error that people found in a report's answers."""

from collections.abc import Iterator
from dataclasses import replace

from arena.interval_text import interval_text
from arena.locale import t, translated
from arena.sheets import Sheet
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

_FEW_LABELS = 30
"""With fewer labels than this, the page warns that they say little."""


def labels_line(results: LabelResults | None) -> str:
    """Returns a line on the results of labels; "" without labels."""
    if results is None:
        return ""
    shares = results.shares
    most_common = max(shares.kinds.values(), key=lambda kind: kind.weighted.value)
    share = most_common.weighted
    labelled = t("report.labelled", labelled=shares.labelled, count=shares.wrong)
    right_after_all = shares.right.sample.hits
    if right_after_all == shares.labelled:
        result = t("report.all_right")
    else:
        kind = translated(ERROR_KINDS[most_common.key].title)
        interval = interval_text(share.low, share.high, ".0%")
        result = t("report.most_common", kind=kind, share=share.value, interval=interval)
    return f"{labelled}{t('pages.gap')}{result}"


def labels_html(results: LabelResults, is_mmt_bench: bool) -> str:
    """Returns all results of labels; `is_mmt_bench`: whether the paper's shares are beside them."""
    sheets = label_sheets(results, is_mmt_bench)
    return HTML.results(t("report.labels"), list(_sentences(results)), sheets_html(sheets))


def _sentences(results: LabelResults) -> Iterator[str]:
    shares = results.shares
    yield labels_line(results)
    if shares.labelled < _FEW_LABELS:
        yield t("report.few_labels", count=shares.labelled)
    if shares.covered < shares.wrong:
        yield t("report.weighted", count=shares.covered)
    if results.bounds:
        yield translated(bounds_text(shares, results.bounds))


def label_sheets(results: LabelResults, is_mmt_bench: bool) -> list[Sheet]:
    """Returns the tables on a report's errors by people's labels; `is_mmt_bench` as for `labels_html`."""
    sheets = [kind_sheet(results.shares, with_paper=is_mmt_bench)]
    if len({label.group for label in results.labels}) > 1:
        sheets.append(group_sheet(results.labels))
    if results.agreement.has_repeats:
        sheets.append(agreement_sheet(results.agreement))
    if results.doubted:
        sheets.append(doubted_sheet(results.doubted))
    for number, (title, comparison) in enumerate(results.comparisons.items(), 1):
        sheet = comparison_sheet("This model", title, comparison)
        sheets.append(replace(sheet, name=f"{sheet.name}-{number}"))
    return sheets
