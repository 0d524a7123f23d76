"""Sheets of a spec's report: its figures, those of each group, and how answers were read."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from arena.interval_text import spanned
from arena.sheets import Column, Sheet, interval
from scoring.report import ScoreLine, safe_name
from scoring.rules.rubric import RubricRule
from scoring.score_sheets import line_sheet, no_answer_sheet
from scoring.specs.figures import Figure
from scoring.specs.report import (
    GroupLines,
    SpecReport,
    figure_lines,
    figures_with_columns,
    grouped_lines,
    head_figure,
    lost_judging,
    no_answer_lines,
    score_ends,
    spec_of_report,
    splits_of,
)
from scoring.specs.schema import Spec

_MOST_RULES = 30
_PUBLISHED_COLUMNS = {
    "model": "Model",
    "figure": "Figure",
    "score": "Score",
    "protocol": "Protocol",
    "source": "Source",
}
"""The columns of published numbers, with their heads."""
_MOST_GROUPS_IN_VIEW = 40
"""Groups up to which a sheet of them isn't folded away."""


def report_sheets(report: SpecReport) -> Iterator[Sheet]:
    """Yields the figures of the whole file, of each split and of each group, then how answers were read.

    Each sheet has a name of its own, since it becomes the name of a file.
    """
    times: Counter[str] = Counter()
    for sheet in _report_sheets(report):
        times[sheet.name] += 1
        number = times[sheet.name]
        yield sheet if number == 1 else replace(sheet, name=f"{sheet.name}-{number}")


def _report_sheets(report: SpecReport) -> Iterator[Sheet]:
    spec = spec_of_report(report)
    splits = splits_of(report)
    yield _figure_sheet(report)
    yield from _grade_sheet(report)
    if spec.splits and len(splits) > 1:
        yield from _group_sheet(report, spec.splits, "")
    for column in spec.groups:
        yield from _group_sheet(report, column, "")
        for split in splits if len(splits) > 1 else ():
            yield from _group_sheet(report, column, split)
    yield _rules_sheet(report)
    lines = no_answer_lines(report)
    if lines:
        yield no_answer_sheet(lines)


def published_sheets(spec: Spec) -> list[Sheet]:
    """The published numbers that a spec names."""
    if not spec.published:
        return []
    rows = [row.model_dump(include={*_PUBLISHED_COLUMNS}) for row in spec.published]
    columns = [Column(name, head) for name, head in _PUBLISHED_COLUMNS.items()]
    places = max(len(f"{row.score:.12g}".partition(".")[2]) for row in spec.published)
    score = [*_PUBLISHED_COLUMNS].index("score")
    columns[score] = replace(columns[score], kind="score", places=places)
    differences = dict.fromkeys(row.apart for row in spec.published if row.apart)
    note = f"Not the same conditions as here: {'; '.join(differences)}." if differences else ""
    return [Sheet("published", "Published", pd.DataFrame(rows), tuple(columns), note)]


def _figure_sheet(report: SpecReport) -> Sheet:
    lines = figure_lines(report)
    sheet = line_sheet("figures", "Figures", lines.values(), "Figure", measure="Value")
    figures = spec_of_report(report).figures
    has_bars = all(_is_share(report, figures[name]) for name in lines)
    columns = tuple(replace(column, bar=column.bar and has_bars) for column in sheet.columns)
    return replace(sheet, columns=columns)


def _is_share(report: SpecReport, figure: Figure) -> bool:
    """Whether a figure is always between 0 and 100; a mean of verdicts may be negative."""
    spec = spec_of_report(report)
    are_parts_shares = all(_is_share(report, spec.figures[part]) for part in figure.parts)
    return figure.is_percent and are_parts_shares and score_ends(spec).low >= 0


def _grade_sheet(report: SpecReport) -> Iterator[Sheet]:
    """Yields the counts of a judge's grades, with their mean on its scale, if one rubric gives all of them."""
    rules = [case.rule for case in spec_of_report(report).rule]
    rule = rules[0]
    if len(rules) > 1 or not isinstance(rule, RubricRule):
        return
    # Pairs of marks may be off the scale: VLMEvalKit has -1 for an unreadable reply.
    if rule.marks == 2:
        return
    scores = [row.reading.score for row in report.rows if row.reading.score is not None]
    if not scores or lost_judging(report):
        return
    scale = rule.scale
    grades = [scale.low + (scale.high - scale.low) * score for score in scores]
    times = Counter(round(grade, 9) for grade in grades)  # equal grades differ in their last digits
    rows = [
        {"grade": f"{grade:g}", "answers": count, "share": count / len(grades)}
        for grade, count in sorted(times.items())
    ]
    columns = (
        Column("grade", "Grade"),
        Column("answers", "Answers", "count"),
        Column("share", "Share", "percent", bar=True),
    )
    mean = sum(grades) / len(grades)
    note = f"Mean {mean:.2f} on the rubric's scale, {spanned(scale.low, scale.high, 'g')}."
    yield Sheet("grades", "Grades", pd.DataFrame(rows), columns, note=note, place="beside")


def _group_sheet(report: SpecReport, column: str, split: str) -> Iterator[Sheet]:
    groups = grouped_lines(report, column, split)
    figures = [name for name in _figures_of_groups(report, column) if _has_value(groups, name)]
    if not figures:
        return
    headline = head_figure(report)
    head = headline if headline in figures else figures[0]
    rows = [_group_row(group, figures, head) for group in groups]
    columns = [Column("name", column, has_words=True), Column("n", "n", "count")]
    for place, name in enumerate(figures):
        key = f"figure_{place}"
        figure = spec_of_report(report).figures[name]
        has_bar = _is_share(report, figure)
        value = Column(key, name, "score", f"{key}_low", f"{key}_high", bar=has_bar)
        columns.append(replace(value, places=figure.places))
    if any(row["unscored"] for row in rows):
        columns.append(Column("unscored", "Unscored", "count"))
        places = spec_of_report(report).figures[head].places
        columns.append(interval("least", "most", f"Possible {head}", places))
    title = f"{split}: by {column}" if split else f"By {column}"
    words = f"by-{column}-{split}" if split else f"by-{column}"
    name = safe_name(words.lower().replace(" ", "-"))
    place = "folded" if split or len(rows) > _MOST_GROUPS_IN_VIEW else "main"
    yield Sheet(
        name, title, pd.DataFrame(rows), tuple(columns), place=place, scrolls=len(figures) > 2
    )


def _figures_of_groups(report: SpecReport, column: str) -> list[str]:
    """The figures to show for each of a column's groups.

    A figure that is made of these groups, such as their mean, is shown only if there is no other figure.
    """
    figures = figures_with_columns(report)
    others = [name for name, figure in figures.items() if column not in figure.group_columns]
    return others or [*figures]


def _has_value(groups: Sequence[GroupLines], name: str) -> bool:
    return any(group.lines[name].mean is not None for group in groups)


def _group_row(group: GroupLines, figures: Sequence[str], head: str) -> Mapping[str, object]:
    line: ScoreLine = group.lines[head]
    row: dict[str, object] = {
        "name": group.name,
        "n": line.n,
        "unscored": line.unscored,
        "least": line.worst if line.unscored else None,
        "most": line.best if line.unscored else None,
    }
    for place, name in enumerate(figures):
        figure_line = group.lines[name]
        key = f"figure_{place}"
        row[key] = figure_line.mean
        row[f"{key}_low"] = figure_line.low
        row[f"{key}_high"] = figure_line.high
    return row


def _rules_sheet(report: SpecReport) -> Sheet:
    """Returns the number of answers that each rule read or left, the most frequent first."""
    times = Counter(row.reading.why for row in report.rows)
    counts = dict(times.most_common(_MOST_RULES))
    rest = times.total() - sum(counts.values())
    if rest:
        counts["other rules"] = rest
    rows = [
        {"rule": rule, "answers": count, "share": count / times.total()}
        for rule, count in counts.items()
    ]
    columns = (
        Column("rule", "Rule", has_words=True),
        Column("answers", "Answers", "count"),
        Column("share", "Share", "percent", bar=True),
    )
    return Sheet("rules", "How answers were read", pd.DataFrame(rows), columns, place="below")
