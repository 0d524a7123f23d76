"""What an article on a report says: a sentence from its numbers, the paper's table, wrong answers, a comparison.

Scores of answers are from 0 to 1; means, their intervals and differences are in percent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from arena.interval_text import interval_text
from arena.sheets import Column, Sheet
from arena.templates import plural
from arena.types import grouped
from scoring.report import ScoreLine, difference

WRONG = 5
"""Wrong answers that an article shows."""
ALL = "All questions"
_FEWEST = 5
"""Questions from which a group may be named as the best or the worst."""


class Caveat(NamedTuple):
    """What limits a report's numbers; `kind` stands before the sentence from these, empty: it need not."""

    kind: str
    text: str


class Total(NamedTuple):
    """A number at the head of a report, in words, with notes below it."""

    name: str
    value: str
    notes: tuple[str, ...]


def score_total(name: str, line: ScoreLine) -> Total:
    value = "–" if line.mean is None else f"{line.mean:{line.form}}"
    reach = interval_text(line.low, line.high, line.form)
    if not line.unscored:
        return Total(name, value, (reach, f"n {line.n:,}"))
    decided = f"{line.n - line.unscored:,} of {line.n:,} decided"
    bounds = f"over all {line.n:,}: {line.worst:{line.form}} to {line.best:{line.form}}"
    return Total(name, value, (reach, decided, bounds))


class ScoredAnswer(NamedTuple):
    """One answer, as people read it, with its score (None: unscored)."""

    id: str
    question: str
    truth: str
    answer: str
    grade: str
    score: float | None
    groups: tuple[str, ...] = ()
    """Written-out names of what the question tests."""
    pictures: tuple[str, ...] = ()
    """File names of its pictures."""
    row: int = 0
    """Where its question starts in the uploaded file, which may hold its picture; 0: nowhere."""
    subtask: str = ""
    """The narrowest group that its benchmark has, such as MMT-Bench's subtask; empty: `groups`."""
    assigned: bool = False
    """Whether nobody could read the answer, and its protocol assigned the score, by lot or as wrong."""
    truth_parts: tuple[tuple[str, ...], ...] = ()
    """What is right: all elements of one of these; empty where the truth has no parts."""
    picture: str = ""
    """What tells its picture from those of other questions; "" where that is not known."""
    options: Mapping[str, str] = {}
    """Text by letter, where a person is to say which one the answer means; no part of `question` then."""


@dataclass(frozen=True)
class PublishedRow:
    """A model of a paper's table, by column; None for a dash."""

    model: str
    scores: Mapping[str, float | None]
    spread: float | None = None
    """Standard deviation of the first column over several runs; None where that is not told."""


@dataclass(frozen=True)
class PublishedBoard:
    """A paper's own table of models; its first column is what the report's headline is."""

    source: str
    columns: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    own: Mapping[str, float | None]
    """The report's numbers in these columns."""
    apart: tuple[str, ...] = ()
    """Why the two cannot be compared; none if they can."""
    own_spread: float | None = None
    """Standard deviation of the report's number in the first column over its runs; None where there is one."""
    note: str = ""
    """What its rows have that is their own, in sentences."""
    places: int = 1
    """Digits behind the point of its first column."""

    @property
    def ordered(self) -> tuple[tuple[str, float], ...]:
        """The models with their first column, best first."""
        known = ((row.model, row.scores[self.columns[0]]) for row in self.rows)
        return tuple(
            sorted(
                ((name, score) for name, score in known if score is not None),
                key=lambda one: -one[1],
            )
        )


def sentence(
    title: str,
    edition: str,
    head: ScoreLine | None,
    groups: Iterable[ScoreLine],
    board: PublishedBoard | None,
    caveats: Iterable[Caveat],
    covered: str = "",
) -> str:
    """The report in one sentence, which begins with what limits it; `covered` as `part_of` says it."""
    kinds = dict.fromkeys(one.kind for one in caveats if one.kind)
    before = f"{', '.join(kinds).capitalize()}: " if kinds else ""
    if head is None or head.mean is None:
        return f"{before}{title} has no score on {edition}."
    interval = interval_text(head.low, head.high, head.form)
    sure = f", {interval}" if interval else ""
    what = f"{head.name} {covered}".strip()
    ends = (head.worst, head.mean, head.best)
    places = {_place(mean, board, head.form) for mean in ends} if board else {""}
    place = places.pop() if len(places) == 1 else ""  # what is unscored may decide it
    return f"{before}{title} reaches {head.mean:{head.form}} on {edition} ({what}{sure}){place}{_ends(groups)}."


def part_of(scored: int, of: int, unit: str) -> str:
    """How many of the questions a number is over, in words; "" where it is over all."""
    return f"over {scored:,} of {plural(of, unit)}" if scored < of else ""


def _place(mean: float, board: PublishedBoard, form: str) -> str:
    higher = [f"{name} ({score:{form}})" for name, score in board.ordered if score >= mean]
    lower = [f"{name} ({score:{form}})" for name, score in board.ordered if score < mean]
    if higher and lower:
        where = f"between {higher[-1]} and {lower[0]}"
    elif lower:
        where = f"above {lower[0]}, the first"
    else:
        where = f"below {higher[-1]}, the last"
    return f", {where} of {board.source}{', made under other conditions' if board.apart else ''}"


def _ends(groups: Iterable[ScoreLine]) -> str:
    known = [
        (one.mean, one.name)
        for one in groups
        if one.mean is not None and one.n - one.unscored >= _FEWEST
    ]
    (low, worst), (high, best) = (min(known), max(known)) if known else ((0, ""), (0, ""))
    return f"; best at {best} ({high:.1f}), worst at {worst} ({low:.1f})" if high > low else ""


def wrong_answers(answers: Iterable[ScoredAnswer]) -> list[ScoredAnswer]:
    """The answers with the lowest scores, of as many kinds of question as there are."""
    wrong = sorted(
        (one for one in answers if one.score is not None and one.score < 1),
        key=lambda one: one.score or 0,
    )
    first = list({one.groups: one for one in reversed(wrong)}.values())
    first.sort(key=lambda one: one.score or 0)
    return [*first, *(one for one in wrong if one not in first[:WRONG])][:WRONG]


def published_sheet(board: PublishedBoard, title: str, name: str = "published") -> Sheet:
    """The paper's table with the report in it, bold, best first."""
    own = PublishedRow(title, board.own, board.own_spread)
    caption = f"{board.source[0].upper()}{board.source[1:]}"
    rows = (*board.rows, own)
    sheet = models_sheet(name, caption, board.columns, rows, board.places, board.note)
    sheet.frame["own"] = [row is own for row in _best_first(board.columns, rows)]
    return replace(sheet, bold="own")


def models_sheet(
    name: str,
    caption: str,
    columns: Sequence[str],
    rows: Iterable[PublishedRow],
    places: int = 1,
    note: str = "",
) -> Sheet:
    """A paper's table of models, best first; `places` are the digits behind the point of its first column."""
    cells = [
        {"model": row.model, **row.scores, "runs": row.spread} for row in _best_first(columns, rows)
    ]
    shown = [Column(column, column, "score") for column in columns]
    shown[0] = replace(shown[0], runs="runs", places=places)
    frame = pd.DataFrame(cells, columns=["model", *columns, "runs"])
    return Sheet(name, caption, frame, (Column("model", "Model"), *shown), note)


def _best_first(columns: Sequence[str], rows: Iterable[PublishedRow]) -> list[PublishedRow]:
    return sorted(rows, key=lambda row: -(row.scores.get(columns[0]) or 0))


class PairedLine(NamedTuple):
    """Two models on the same questions, in percent; `difference` is the other's mean less this one's."""

    first: float
    second: float
    difference: ScoreLine


def paired(first: Sequence[ScoredAnswer], second: Iterable[ScoredAnswer]) -> list[PairedLine]:
    """The questions that both reports score, all and then by group, the largest difference first.

    A question is the same if its truth is too. What a report has several times, such as matches against a model that
    is not named, pairs with nothing.
    """
    here = grouped((_asked(one), one) for one in first)
    there = grouped((_asked(one), one) for one in second)
    groups: dict[str, list[_Pair]] = {ALL: []}
    for asked, (one, *more) in here.items():
        score = there[asked][0].score if len(there.get(asked, ())) == 1 and not more else None
        if one.score is not None and score is not None:
            for name in (ALL, *one.groups):
                groups.setdefault(name, []).append(_Pair(one.score, score, one.picture))
    largest = max((abs(pair.difference) for pair in groups[ALL]), default=0.0)
    lines = [_paired(name, pairs, largest) for name, pairs in groups.items() if pairs]
    return [*lines[:1], *sorted(lines[1:], key=lambda line: line.first - line.second)]


def _asked(answer: ScoredAnswer) -> tuple[str, str, str]:
    return answer.id, answer.question, answer.truth


class _Pair(NamedTuple):
    """Two scores of a question."""

    first: float
    second: float
    picture: str

    @property
    def difference(self) -> float:
        return self.second - self.first


def _paired(name: str, pairs: Sequence[_Pair], largest: float) -> PairedLine:
    first = 100 * float(np.mean([pair.first for pair in pairs]))
    second = 100 * float(np.mean([pair.second for pair in pairs]))
    values = [pair.difference for pair in pairs]
    pictures = [pair.picture for pair in pairs]
    return PairedLine(first, second, difference(name, values, pictures, largest))


def paired_sheet(first: str, second: str, lines: Sequence[PairedLine]) -> Sheet:
    """Two models on the same questions; rows whose interval leaves out zero are bold."""
    rows = []
    for line in lines:
        apart = line.difference
        ends = (apart.low or 0.0, apart.high or 0.0)
        rows.append(
            {
                "questions": apart.name,
                "n": apart.n,
                "this": line.first,
                "other": line.second,
                "difference": apart.mean,
                "difference_low": apart.low,
                "difference_high": apart.high,
                "differs": min(ends) > 0 or max(ends) < 0,
            }
        )
    columns = (
        Column("questions", "Questions"),
        Column("n", "n", "count"),
        Column("this", f"{first} (this)", "score"),
        Column("other", f"{second} (other)", "score"),
        Column("difference", "Difference", "difference", "difference_low", "difference_high"),
    )
    title = f"{second} minus {first}"
    return Sheet("comparison", title, pd.DataFrame(rows), columns, bold="differs")
