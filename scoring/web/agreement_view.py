"""Agreement view: HTML and Figure 9 for how far people agree and how far judges and metrics follow them."""

from arena.drawings import ShareRow, shares_drawing
from arena.interval_text import dashed
from arena.plots import Plot
from arena.ratings.agreement import Level, People
from arena.ratings.shares import Share
from arena.sheets import Sheet, plain_sheet
from arena.templates import macros
from scoring.agreement.people_agreement import PeopleAgreement
from scoring.web.report_parts import REPORT, TableRow

AGREEMENT = macros("agreement.html")
TITLE = "How often each measure reproduces what most people chose"


def people_html(people: People) -> str:
    if not people.contests:
        return ""
    rows = [
        TableRow((f"{level} chose the same", f"{share.hits:,}", AGREEMENT.share(share)))
        for level, share in people.levels.items()
    ]
    columns = {"Votes on a pair": "", "Pairs": "", "Share, 95% interval": ""}
    return AGREEMENT.people(
        REPORT.table("agreement", "How far people agree", columns, rows), people
    )


def measures_html(found: PeopleAgreement) -> str:
    """Return Figure 9 as a table, best measure first; "" if no pair has a majority."""
    if not any(one.overall.n for one in found.reproductions):
        return ""
    levels = shown_levels(found.people)
    columns = dict.fromkeys(("Measure", "All", *map(str, levels), "Ties"), "")
    rows = []
    for one in found.reproductions:
        shares = (one.overall, *(one.levels[level] for level in levels))
        rows.append(
            TableRow(
                (one.measure, *(AGREEMENT.share(share, True) for share in shares), f"{one.ties:,}")
            )
        )
    caption = f"{TITLE}, with 95% intervals"
    return REPORT.table("agreement agreement-measures", caption, columns, rows)


def shown_levels(people: People) -> list[Level]:
    """Return the levels with a majority, for the most common number of votes per pair."""
    pairs = {level.votes: share.n for level, share in people.levels.items()}
    usual = max(pairs, key=lambda votes: (pairs[votes], votes), default=0)
    return [level for level in people.levels if level.votes == usual and 2 * level.most > usual]


def reproduction_plot(found: PeopleAgreement) -> Plot:
    """Plot Figure 9, best measure first."""
    note = (
        "Share of the majorities that a measure reproduces, with 95% intervals. A measure at the line of 50% "
        "does no better than a coin; the other one says how often a single vote went with the majority that it is part "
        "of."
    )
    rows = [
        ShareRow(one.measure, share.value, share.low, share.high, share.n)
        for one in found.reproductions
        if (share := one.overall).value is not None
    ]
    guides = {"chance": 0.5}
    if found.people.with_majority.value is not None:
        guides["a single vote"] = found.people.with_majority.value
    return Plot(TITLE, note, shares_drawing(TITLE, note, rows, guides))


def measures_table(found: PeopleAgreement) -> Sheet:
    """Return Figure 9 as a table of texts, by how many of a pair's voters agreed."""
    levels = shown_levels(found.people)
    rows = []
    for one in found.reproductions:
        shares = (one.overall, *(one.levels[level] for level in levels))
        rows.append([one.measure, *map(_share_text, shares), one.ties])
    heads = ["Measure", "All", *map(str, levels), "Ties"]
    return plain_sheet("measures", TITLE, heads, rows, scrolls=True)


def _share_text(share: Share) -> str:
    if share.value is None:
        return "–"
    return f"{share.value:.1%} ({dashed(share.low, share.high, '.0%')}, n = {share.n:,})"
