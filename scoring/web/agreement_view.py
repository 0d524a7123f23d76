"""Agreement view: HTML and Figure 9 for how far people agree and how far judges and metrics follow them."""

from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple
from urllib.parse import urlencode

from arena.figures import Figure
from arena.ratings.agreement import LEAST_CONTESTS, ROUNDS, Estimate, Level, People, Reproduction, Share
from scoring.agreement.people_agreement import PeopleAgreement


class Mark(NamedTuple):
    """Colour and symbol of a level of unanimity in the plot, for light and dark pages."""

    shade: str
    symbol: str


NO_SOURCE = '<p class="empty">There are no items yet, so nobody has voted.</p>'
OWN = (
    '<details class="meaning" id="own-metric"><summary>Compare a metric of your own</summary>'
    '<label class="upload" for="scores-file" data-token="scores-token" data-press="scores-arrived">'
    '<input type="file" id="scores-file" accept=".csv,.tsv,.jsonl,.json,.xlsx">'
    "<b>Drop its scores here, or choose a file</b><span>A table with the columns item, model, metric and score; the "
    'higher score is the better one. Only you see what comes of it.</span><span role="status"></span></label></details>'
)
TITLE = "How often each measure reproduces what most people chose"
_GREY = "#8a8f98"
_ALL = Mark(_GREY, "diamond")
_LEVELS = (
    Mark("#5866e0", "circle"),
    Mark("#2a9d8f", "square"),
    Mark("#d08a1e", "triangle-up"),
    Mark("#c2507a", "cross"),
)
"""Most unanimous first."""
_ROW_PIXELS, _FRAME_PIXELS = 56, 130
_LINE_LETTERS = 18


def tells_html(found: PeopleAgreement) -> str:
    """Return what the figures can and cannot show."""
    return f'<p class="tells">{" ".join((*_of_people(found), *_of_measures(found)))}</p>'


def people_html(people: People) -> str:
    """Return how far people agree, with the number of pairs behind each figure; "" if there are none."""
    if not people.contests:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{level} chose the same</th><td>{share.hits:,}</td>{_cell(share)}</tr>'
        for level, share in people.levels.items()
    )
    n = f"<small>n = {_pairs(people.contests)}, {people.votes:,} votes</small>"
    single = people.with_majority
    return (
        '<div class="agreement-people"><div class="agreement"><table><caption>How far people agree</caption><thead><tr>'
        '<th scope="col">Votes on a pair</th><th scope="col">Pairs</th><th scope="col">Share</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></div><dl>"
        f"<dt>Krippendorff's alpha</dt><dd>{_estimate(people.alpha)} {n}</dd>"
        f"<dt>Gwet's AC1</dt><dd>{_estimate(people.ac1)} {n}</dd>"
        f"<dt>A single vote went with its pair's majority</dt><dd>{_percent(single)} {_interval(single)} "
        f"<small>n = {single.n:,} votes</small></dd></dl></div>"
    )


def measures_html(found: PeopleAgreement) -> str:
    """Return Figure 9 as a table, best measure first; "" if no pair has a majority."""
    if not any(one.overall.n for one in found.reproductions):
        return ""
    levels = shown_levels(found.people)
    heads = "".join(f'<th scope="col">{level}</th>' for level in levels)
    rows = "".join(_row(one, levels) for one in found.reproductions)
    return (
        f'<div class="agreement agreement-measures"><table><caption>{TITLE}</caption><thead><tr>'
        f'<th scope="col">Measure</th><th scope="col">All</th>{heads}<th scope="col">Ties</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def notes_html(found: PeopleAgreement) -> str:
    """Return how the figures are computed."""
    notes = [
        f"Counted are pairs of answers by two models that several people voted on; {_pairs(found.with_reference)} with "
        "the reference on one side are left out, as in VisIT-Bench (section 4.3).",
        "Alpha takes the two models in the order of their names for its two values; it and AC1 have 95% intervals from "
        f"{ROUNDS:,} draws of the pairs, none under {LEAST_CONTESTS} pairs or where a draw leaves them undefined.",
        "Shares have 95% binomial intervals (Wilson); pairs that are 5/5, 4/5 and so on are a share of those with as "
        "many votes. Where a measure has a tie, a coin that is seeded by the pair decides.",
        "Length counts tokens between white space; BLEU-4 (sacrebleu, by sentence) and ROUGE-L (F-measure) compare "
        "with the human-verified reference of the item.",
        *(f"{notice[0].upper()}{notice[1:]}." for notice in found.notices),
    ]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<details class="meaning"><summary>How this is counted</summary><ul>{items}</ul></details>'


def own_html(own: Sequence[Reproduction]) -> str:
    """Return which of a visitor's own metrics are shown, and the number of pairs that each one scores."""
    if not own:
        return ""
    told = ", ".join(f"<b>{escape(one.measure)}</b> ({one.overall.n:,} of {_scorable(one)})" for one in own)
    silent = "" if any(one.overall.n for one in own) else ": items and models must be called as in the file to fill in"
    return f'<p class="note" role="status">Of your file, shown to you alone: {told}{silent}.</p>'


def downloads_html(source: str, own: str = "") -> str:
    """Return the download links; `own` is the token of a visitor's file whose metrics are included."""
    query = escape(urlencode({"source": source, **({"own": own} if own else {})}))
    files = {"measures.csv": "Measures (CSV)", "agreement.json": "All figures (JSON)"}
    files["scores.csv"] = "Answers to score (CSV to fill in)"
    links = "".join(f'<a href="agreement/{name}?{query}" download>{text}</a>' for name, text in files.items())
    return f'<p class="downloads">{links}</p>'


def problem_html(text: str) -> str:
    """Return an error in place of the figures."""
    return f'<p class="problem" role="alert">{escape(text)}</p>'


def shown_levels(people: People) -> list[Level]:
    """Return the levels with a majority, for the most common number of votes per pair."""
    pairs: dict[int, int] = {}
    for level, share in people.levels.items():
        pairs[level.votes] = share.n
    usual = max(pairs, key=lambda votes: (pairs[votes], votes), default=0)
    return [level for level in people.levels if level.votes == usual and 2 * level.most > usual]


def reproduction_figure(found: PeopleAgreement) -> Figure:
    """Return Figure 9: each measure's share of reproduced majorities with its interval, best on top."""
    shown = [one for one in found.reproductions if one.overall.n]
    levels = shown_levels(found.people)
    names = [_label(one.measure) for one in shown]
    traces = [_trace("all", names, [one.overall for one in shown], _ALL)]
    for level, mark in zip(levels, _LEVELS, strict=False):
        traces.append(_trace(str(level), names, [one.levels[level] for one in shown], mark))
    lines = [_line(0.5, "chance", "right")]
    if found.people.with_majority.value is not None:
        lines.append(_line(found.people.with_majority.value, "a single<br>vote", "center"))
    axis = {"range": [0, 1.02], "tickformat": ".0%", "gridcolor": "rgba(138,143,152,.3)", "zeroline": False}
    layout = {
        "height": _FRAME_PIXELS + _ROW_PIXELS * max(len(shown), 3),
        "margin": {"l": 4, "r": 4, "t": 40, "b": 10},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": _GREY, "size": 11},
        "scattermode": "group",
        "xaxis": {"automargin": True, **axis},
        "yaxis": {"automargin": True, "autorange": "reversed", "type": "category", "showgrid": False},
        "legend": {"orientation": "h", "y": -0.1, "yanchor": "top"},
        "shapes": [line.shape for line in lines],
        "annotations": [line.label for line in lines],
    }
    note = (
        "Share of the majorities that a measure reproduces, by how many of a pair's voters agreed, with 95% intervals. "
        "A measure at the dotted line of 50% does no better than a coin; the other one says how often a single vote "
        "went with the majority that it is part of."
    )
    return Figure(TITLE, note, tuple(traces), layout)


# Sentences
def _of_people(found: PeopleAgreement) -> tuple[str, ...]:
    people = found.people
    if not found.contests:
        return ("Nobody has voted on these items yet.",)
    if not people.contests:
        one = f"{_pairs(found.contests)} of answers {'has' if found.contests == 1 else 'have'} votes"
        left_out = f" ({_pairs(found.with_reference)} with the reference left out)" if found.with_reference else ""
        return (
            f"{one}, but none that two models answered has the votes of several people yet{left_out}: agreement is "
            "between people, so there is nothing to tell.",
        )
    parts = [f"<b>{_pairs(people.contests)}</b> of models' answers {_has(people.contests)} votes of several people."]
    if people.alpha.value is None:
        parts.append("Alpha is undefined: every vote is for the model that comes first (or last) by name.")
    if people.contests < LEAST_CONTESTS:
        parts.append("These are too few for an interval: the figures say little.")
    if people.undecided:
        parts.append(f"{_pairs(people.undecided)} {_has(people.undecided)} no majority.")
    return tuple(parts)


def _of_measures(found: PeopleAgreement) -> tuple[str, ...]:
    shown = [one for one in found.reproductions if one.overall.n]
    if not shown:
        return ()
    best = shown[0]
    rivals = [one for one in shown[1:] if one.overall.high >= best.overall.low]
    name = f"<b>{escape(best.measure)}</b>"
    if len(shown) == 1:
        lead = f"Only {name} was compared."
    elif rivals:
        others = "another's" if len(rivals) == 1 else f"those of {len(rivals)} others"
        lead = f"{name} reproduces the most majorities ({_percent(best.overall)}), but its interval overlaps {others}."
    else:
        lead = f"{name} reproduces the most majorities ({_percent(best.overall)}): its interval lies above all others."
    uneven = len({one.overall.n for one in shown}) > 1
    return (
        lead,
        *(("Measures that say nothing about some pairs are compared on fewer (n).",) if uneven else ()),
        "A majority is what most of those who voted chose. It is not the truth, and a measure that follows it on these "
        "models and tasks need not on others.",
    )


# Cells
def _row(one: Reproduction, levels: Sequence[Level]) -> str:
    cells = "".join(_cell(one.levels[level], counted=True) for level in levels)
    return (
        f'<tr><th scope="row">{escape(one.measure)}</th>{_cell(one.overall, counted=True)}{cells}'
        f"<td>{one.ties:,}</td></tr>"
    )


def _cell(share: Share, counted: bool = False) -> str:
    n = f" <small>n = {share.n:,}</small>" if counted else ""
    return f"<td>{_percent(share)} {_interval(share)}{n}</td>" if share.n else "<td>–</td>"


def _percent(share: Share) -> str:
    return "–" if share.value is None else f"{share.value:.1%}"


def _interval(share: Share) -> str:
    return f"<small>{100 * share.low:.0f}–{share.high:.0%}</small>"


def _estimate(one: Estimate) -> str:
    if one.value is None:
        return "undefined"
    interval = f"{one.low:.2f} to {one.high:.2f}" if one.low is not None and one.high is not None else "no interval"
    return f"{one.value:.3f} <small>{interval}</small>"


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count:,} pairs"


def _scorable(one: Reproduction) -> str:
    return _pairs(one.overall.n + one.missing)


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


# Plot
class _Line(NamedTuple):
    shape: dict[str, Any]
    label: dict[str, Any]


def _trace(name: str, names: list[str], shares: list[Share], mark: Mark) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "orientation": "h",
        "offsetgroup": name,
        "name": name,
        "x": [share.value for share in shares],
        "y": names,
        "customdata": [[share.n, share.low, share.high] for share in shares],
        "hovertemplate": f"%{{y}}, {name}: %{{x:.1%}} (%{{customdata[1]:.0%}} to %{{customdata[2]:.0%}}, "
        "n = %{customdata[0]})<extra></extra>",
        "marker": {"color": mark.shade, "size": 9, "symbol": mark.symbol},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [None if share.value is None else share.high - share.value for share in shares],
            "arrayminus": [None if share.value is None else share.value - share.low for share in shares],
            "color": mark.shade,
            "thickness": 2,
            "width": 0,
        },
    }


def _line(at: float, text: str, anchor: str) -> _Line:
    """Return a dotted line at a share, labelled above."""
    shape = {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1}
    label = {"x": at, "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": anchor, "showarrow": False, "text": text}
    return _Line({**shape, "line": {"color": _GREY, "width": 1.5, "dash": "dot"}}, label)


def _label(name: str) -> str:
    """Return a measure's name for plotly.js: escaped, long names wrapped."""
    return "<br>".join(map(escape, wrap(name, _LINE_LETTERS)))
