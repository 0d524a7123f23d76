"""Agreement view: how far people agree, and how far judges and metrics follow them (VisIT-Bench's Figure 9)."""

from dataclasses import replace

from arena.drawings import ShareRow, shares_drawing
from arena.locale import named, t, translated
from arena.plots import Plot
from arena.ratings.agreement import People
from arena.templates import macros
from scoring.people.agreement import PeopleAgreement
from scoring.people.agreement_sheets import (
    TITLE,
    coefficient_sheet,
    level_sheet,
    measure_sheet,
    usual_levels,
)
from scoring.web.report_parts import sheet_html, sheets_html

HTML = macros("agreement.html")


def people_html(people: People) -> str:
    if not people.contests:
        return ""
    return sheets_html([level_sheet(people), replace(coefficient_sheet(people), place="beside")])


def measures_html(agreement: PeopleAgreement) -> str:
    """Returns Figure 9 as a table, best measure first; "" if no measure can be compared with people."""
    if not any(reproduction.overall.n for reproduction in agreement.reproductions):
        return ""
    return sheet_html(measure_sheet(agreement, usual_levels(agreement.people)))


def reproduction_plot(agreement: PeopleAgreement) -> Plot:
    """Returns Figure 9 as a plot, best measure first."""
    title = translated(TITLE)
    note = t("agreement.plot_note")
    rows = []
    for reproduction in agreement.reproductions:
        share = reproduction.overall
        if share.value is not None:
            name = named(reproduction.measure)
            rows.append(ShareRow(name, share.value, share.low, share.high, share.n))
    guides = {t("agreement.chance"): 0.5}
    if agreement.people.with_majority.value is not None:
        guides[t("agreement.single_vote")] = agreement.people.with_majority.value
    return Plot(title, note, shares_drawing(title, note, rows, guides))
