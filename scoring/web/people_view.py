"""People's view: what marks and labels say of a report, as its page of people shows it, and in a line on the report."""

from collections.abc import Iterator, Sequence

from arena.interval_text import interval_text, spanned
from arena.templates import macros, plural
from scoring.benchmarks.mm_vet_tables import capability_words
from scoring.people.corrected_mean import CorrectedMean
from scoring.people.marks import MarkResults
from scoring.people.measures import (
    LEAST_INTERVAL,
    LEAST_MARKS,
    LEAST_RANKED,
    PAPER_DELTAS,
    PAPER_EXAMPLES,
    PAPER_PANELS,
    Interval,
    Measures,
)
from scoring.web.report_parts import REPORT

HTML = macros("people.html")
NO_INTERVAL = f"no interval below {LEAST_INTERVAL} answers"
COLUMNS = ("n", "Delta", "95% interval", "Bias", "Within 0.1", "Spearman", "ICC(2,1)", "Kappa")


def marks_line(found: MarkResults) -> str:
    """What marks say of a report's judge, in a line; empty without marks."""
    if not found.marked:
        return ""
    told = f"People marked {found.marked:,} of these {found.answers:,} answers"
    if found.calibration is None:
        return f"{told}; from {LEAST_MARKS} on this says how far the judge is from people."
    own = next(one for one in found.calibration.judges if one.name == found.judge)
    bias = own.measures.bias
    kinder = f"{abs(bias):.2f} too {'kind' if bias > 0 else 'strict'}"
    reach = own.measures.delta_interval
    sure = f"({interval_text(reach.low, reach.high, '.2f')})" if reach else f"({NO_INTERVAL})"
    told = f"{told}: the judge is {own.measures.delta:.2f} away on average {sure}, {kinder}"
    if found.calibration.people:
        told = f"{told}; two people are {found.calibration.people.delta:.2f} apart"
    mean = f" {mean_text(own.mean)}" if own.mean and found.is_random else ""
    return f"{told}.{mean}"


def mean_text(mean: CorrectedMean) -> str:
    """What people would have given to all answers, in percent."""
    if mean.is_whole:
        people = f"{100 * mean.alone.value:.1f}"
        return (
            f"Every answer is marked: people give {people}, the judge gave {100 * mean.judge:.1f}."
        )
    marks = plural(mean.marks, "mark")
    return (
        f"People would have given {_percent(mean.corrected)} on average, the judge gave {100 * mean.judge:.1f}; "
        f"{marks} alone say {_percent(mean.alone)}, with the judge's scores they were worth {mean.worth:,.0f}."
    )


def _percent(mean: Interval) -> str:
    return f"{100 * mean.value:.1f} ({interval_text(100 * mean.low, 100 * mean.high)})"


def marks_html(found: MarkResults) -> str:
    """Everything that marks say."""
    calibration = found.calibration
    parts = [
        HTML.said(
            marks_line(found) or f"Nobody has marked any of these {found.answers:,} answers yet."
        )
    ]
    if found.cannot:
        parts.append(
            HTML.said(f"{plural(found.cannot, 'answer')} could not be judged: in no number below.")
        )
    if not found.is_random:
        parts.append(
            HTML.said(
                "Some marks were brought from a file: nobody here knows how their answers were chosen."
            )
        )
    if calibration:
        if not calibration.is_ranked:
            parts.append(
                HTML.said(f"Below {LEAST_RANKED} marked answers judges are not put in an order.")
            )
        rows = [
            (name, (*cells(one), f"${found.dollars[name]:.2f}" if name in found.dollars else "–"))
            for name, one in _rows(found)
        ]
        parts.append(HTML.table("How far from people", ("", *COLUMNS, "Cost of 218"), rows))
        if calibration.panel:
            panel = calibration.panel
            parts.append(
                HTML.said(
                    f"Together: mean of the judges' deltas {panel.mean_of_deltas:.3f} (as Table 7), delta of their "
                    f"mean score {panel.delta_of_mean:.3f}, of their median {panel.delta_of_median:.3f}."
                )
            )
        unscored = [one for one in calibration.judges if one.unscored]
        parts += [
            HTML.said(
                f"{one.name}: {plural(one.unscored, 'marked answer')} unscored, in no number."
            )
            for one in unscored
        ]
        parts += _groups(found)
    for title, mean in found.differences.items():
        value, low, high = (100 * end for end in mean.corrected)
        sure = interval_text(low, high, "+.1f")
        parts.append(
            HTML.said(
                f"People would have given {title} {value:+.1f} ({sure}) beside this model, by question; the "
                f"judge gave it {100 * mean.judge:+.1f} ({plural(mean.marks, 'question')} marked in both)."
            )
        )
    if found.between:
        rows = [
            (f"{one} beside {other}", cells(measures))
            for (one, other), measures in found.between.items()
        ]
        parts.append(
            HTML.table("Judge beside judge, over all answers, without marks", ("", *COLUMNS), rows)
        )
    parts.append(HTML.published(PAPER_DELTAS, PAPER_PANELS, PAPER_EXAMPLES))
    return REPORT.together(parts)


def _rows(found: MarkResults) -> Iterator[tuple[str, Measures]]:
    calibration = found.calibration
    assert calibration
    for judge in calibration.judges:
        yield judge.name, judge.measures
    if calibration.people:
        yield "people, one beside another", calibration.people
    if calibration.repeated:
        yield "people, the second time", calibration.repeated
    for name, measures in calibration.baselines.items():
        yield f"without a judge: {name}", measures


def _groups(found: MarkResults) -> Iterator[str]:
    assert found.calibration
    own = next(one for one in found.calibration.judges if one.name == found.judge)
    rows = [(capability_words(name), cells(measures)) for name, measures in own.groups.items()]
    if rows:
        yield HTML.table(f"{own.name}, by capability", ("", *COLUMNS), rows)
    for name, mean in own.group_means.items() if found.is_random else ():
        yield HTML.said(f"{capability_words(name).capitalize()}: {mean_text(mean)}")


def cells(one: Measures) -> Sequence[str]:
    interval = one.delta_interval
    reach = spanned(interval.low, interval.high, ".3f") if interval else NO_INTERVAL
    numbers = (one.bias, one.near, one.spearman, one.icc, one.kappa)
    shown = ("–" if number is None else f"{number:z.3f}".replace("-", "−") for number in numbers)
    return (f"{one.answers:,}", f"{one.delta:.3f}", reach, *shown)
