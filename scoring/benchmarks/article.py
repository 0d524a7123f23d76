"""The article on a report: a sentence with its numbers, the paper's table, wrong answers, a comparison.

Scores of answers are from 0 to 1; means, their intervals and differences are in percent. Sentences that are made of
parts are in the current language; other texts stay English, and pages translate them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pandas as pd

from arena.interval_text import interval_text, spanned
from arena.locale import t, translated
from arena.sheets import Column, Sheet
from arena.types import grouped
from scoring.report import ScoreLine, difference

MOST_WRONG = 5
"""Most wrong answers in an article."""
ALL = "All questions"
_FEWEST = 5
"""Fewest questions of a group that may be named as the best or the worst."""


class Caveat(NamedTuple):
    """A limit of a report's numbers; the report's sentence begins with `kind`, unless it is empty."""

    kind: str
    text: str


def kinds_text(kinds: Iterable[str]) -> str:
    """Returns the kinds of caveats as the beginning of a sentence; "" for none."""
    different = dict.fromkeys(kind for kind in kinds if kind)
    return t("names.comma").join(map(translated, different)).capitalize()


class Total(NamedTuple):
    """A number at the head of a report, in words, with notes below it."""

    name: str
    value: str
    notes: tuple[str, ...]


def score_total(name: str, line: ScoreLine) -> Total:
    """A score as a number at the head of a report."""
    words = translated(name)
    value = "–" if line.mean is None else f"{line.mean:{line.form}}"
    interval = interval_text(line.low, line.high, line.form)
    if not line.unscored:
        return Total(words, value, (interval, f"n {line.n:,}"))
    decided = t("report.decided", decided=line.n - line.unscored, count=line.n)
    span = spanned(line.worst, line.best, line.form)
    bounds = t("report.bounds", count=line.n, span=span)
    return Total(words, value, (interval, decided, bounds))


class ComparableFacts(NamedTuple):
    """The facts that two reports share if they can be compared."""

    benchmark: str
    protocol: str
    headline: str
    """The name of the report's main score."""


class ScoredAnswer(NamedTuple):
    """An answer as people read it, with its score (None: unscored)."""

    id: str
    question: str
    truth: str
    answer: str
    grade: str
    score: float | None
    groups: tuple[str, ...] = ()
    """Written-out names of the abilities that the question tests."""
    pictures: tuple[str, ...] = ()
    """File names of its pictures."""
    row: int = 0
    """The row of its question in the uploaded file, which may have its picture; 0: none."""
    subtask: str = ""
    """The narrowest group in its benchmark, such as MMT-Bench's subtask; empty: `groups`."""
    assigned: bool = False
    """Whether the answer could not be read, and its protocol assigned the score, by lot or as wrong."""
    truth_parts: tuple[tuple[str, ...], ...] = ()
    """The alternatives of the truth, each with all of its elements; empty if the truth has no parts."""
    picture: str = ""
    """The identity of its picture among those of other questions; "" if unknown."""
    options: Mapping[str, str] = {}
    """Text by letter, for a person to choose the option that the answer means. `question` is without them then."""


@dataclass(frozen=True)
class PublishedRow:
    """A model of a paper's table, by column; None for a dash."""

    model: str
    scores: Mapping[str, float | None]
    spread: float | None = None
    """Standard deviation of the first column over several runs; None if unknown."""


class ModelScore(NamedTuple):
    """A model's number in the first column of a paper's table."""

    model: str
    score: float


@dataclass(frozen=True)
class PublishedBoard:
    """A paper's own table of models; its first column is the same measure as the report's headline."""

    source: str
    columns: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    own: Mapping[str, float | None]
    """The report's numbers in these columns."""
    apart: tuple[str, ...] = ()
    """The reasons why the report cannot be compared with the table; empty if it can."""
    own_spread: float | None = None
    """Standard deviation of the report's number in the first column over its runs; None for a single run."""
    note: str = ""
    """Particulars of its rows, in sentences."""
    places: int = 1
    """Decimal places of its first column."""

    @property
    def ordered(self) -> tuple[ModelScore, ...]:
        """The models with a number in the first column, best first."""
        scores = []
        for row in self.rows:
            score = row.scores[self.columns[0]]
            if score is not None:
                scores.append(ModelScore(row.model, score))
        return tuple(sorted(scores, key=attrgetter("score"), reverse=True))


def sentence(
    title: str,
    edition: str,
    head: ScoreLine | None,
    groups: Iterable[ScoreLine],
    board: PublishedBoard | None,
    caveats: Iterable[Caveat],
    coverage: str = "",
) -> str:
    """The report in short, which begins with its caveats; `coverage` is the text of `coverage_text`."""
    benchmark = translated(edition)
    kinds = kinds_text(caveat.kind for caveat in caveats)
    lead = t("report.lead", kinds=kinds) if kinds else ""
    if head is None or head.mean is None:
        return t("report.no_score", lead=lead, title=title, benchmark=benchmark)
    interval = interval_text(head.low, head.high, head.form)
    measure = name_with_coverage(head.name, coverage)
    if interval:
        measure = t("report.with_interval", measure=measure, interval=interval)
    score = f"{head.mean:{head.form}}"
    scored = t(
        "report.scored", lead=lead, title=title, score=score, benchmark=benchmark, measure=measure
    )
    means = (head.worst, head.mean, head.best)
    place = _sure_place(means, board, head.form) if board else ""
    sentences = (scored, place, _best_and_worst(groups))
    return t("pages.gap").join(filter(None, sentences))


def coverage_text(scored: int, total: int) -> str:
    """The number of questions behind a score, in words; "" if these are all questions."""
    return t("report.covered", scored=scored, count=total) if scored < total else ""


def name_with_coverage(name: str, coverage: str) -> str:
    """The name of a score, with the text of `coverage_text`."""
    words = translated(name)
    return t("report.measure", name=words, covered=coverage) if coverage else words


def _sure_place(means: Iterable[float], board: PublishedBoard, form: str) -> str:
    """The sentence of `_place`; "" if it differs between the lowest, the present and the highest possible mean."""
    sentences = {_place(mean, board, form) for mean in means}
    return sentences.pop() if len(sentences) == 1 else ""


def _place(mean: float, board: PublishedBoard, form: str) -> str:
    """A sentence with the neighbours of a score in a paper's table."""
    higher = [row for row in board.ordered if row.score >= mean]
    lower = [row for row in board.ordered if row.score < mean]
    source = translated(board.source)
    apart = t("report.apart") if board.apart else ""
    if higher and lower:
        above = higher[-1]
        below = lower[0]
        return t(
            "report.between",
            source=source,
            above=above.model,
            more=f"{above.score:{form}}",
            below=below.model,
            less=f"{below.score:{form}}",
            apart=apart,
        )
    key = "report.best_there" if lower else "report.last_there"
    neighbour = lower[0] if lower else higher[-1]
    score = f"{neighbour.score:{form}}"
    return t(key, source=source, model=neighbour.model, score=score, apart=apart)


def _best_and_worst(groups: Iterable[ScoreLine]) -> str:
    """A sentence with the best and the worst group of several questions; "" if none differ."""
    known = [
        (line.mean, line.name)
        for line in groups
        if line.mean is not None and line.n - line.unscored >= _FEWEST
    ]
    if not known:
        return ""
    low, worst = min(known)
    high, best = max(known)
    if high <= low:
        return ""
    return t("report.ends", best=translated(best), high=high, worst=translated(worst), low=low)


def wrong_answers(answers: Iterable[ScoredAnswer]) -> list[ScoredAnswer]:
    """The MOST_WRONG answers with the lowest scores, from as many kinds of question as possible."""
    wrong = [answer for answer in answers if answer.score is not None and answer.score < 1]
    wrong.sort(key=_score)
    # The worst of a kind is written last, and stays.
    worst_by_kind = {answer.groups: answer for answer in reversed(wrong)}
    worst = sorted(worst_by_kind.values(), key=_score)[:MOST_WRONG]
    others = [answer for answer in wrong if answer not in worst]
    return [*worst, *others][:MOST_WRONG]


def _score(answer: ScoredAnswer) -> float:
    return answer.score or 0


def published_sheet(board: PublishedBoard, title: str, name: str = "published") -> Sheet:
    """The paper's table with the report in it, bold, best first."""
    own = PublishedRow(title, board.own, board.own_spread)
    caption = f"Published: {board.source}"
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
    cells = []
    for row in _best_first(columns, rows):
        scores = {_score_key(column): score for column, score in row.scores.items()}
        cells.append({"model": row.model, **scores, "runs": row.spread})
    score_columns = [Column(_score_key(column), column, "score") for column in columns]
    score_columns[0] = replace(score_columns[0], runs="runs", places=places)
    frame = pd.DataFrame(cells, columns=["model", *map(_score_key, columns), "runs"])
    return Sheet(name, caption, frame, (Column("model", "Model"), *score_columns), note)


def _score_key(column: str) -> str:
    """The frame's column for a column of the paper's table, which may have the name of one of our own."""
    return f"{column} score" if column in ("model", "runs", "own") else column


def _best_first(columns: Sequence[str], rows: Iterable[PublishedRow]) -> list[PublishedRow]:
    def place(row: PublishedRow) -> tuple[bool, float]:
        score = row.scores.get(columns[0])
        return score is None, -(score or 0)

    return sorted(rows, key=place)


class PairedLine(NamedTuple):
    """Two models on the same questions, in percent; `difference` is the second's mean less the first's."""

    first: float
    second: float
    difference: ScoreLine


def paired_lines(first: Sequence[ScoredAnswer], second: Iterable[ScoredAnswer]) -> list[PairedLine]:
    """The questions scored in both reports: all, then by group, the group where the second gains most first.

    Questions are the same if their truths are the same too. A question that a report has several times, such as matches
    against unnamed models, is left out.
    """
    first_by_question = grouped((_question_key(answer), answer) for answer in first)
    second_by_question = grouped((_question_key(answer), answer) for answer in second)
    all_pairs: list[_Pair] = []
    pairs_by_group: dict[str, list[_Pair]] = {}
    for question, answers in first_by_question.items():
        others = second_by_question.get(question, [])
        if len(answers) > 1 or len(others) != 1:
            continue
        answer = answers[0]
        score = others[0].score
        if answer.score is not None and score is not None:
            pair = _Pair(answer.score, score, answer.picture)
            all_pairs.append(pair)
            for name in dict.fromkeys(answer.groups):
                pairs_by_group.setdefault(name, []).append(pair)
    if not all_pairs:
        return []
    largest = max(abs(pair.difference) for pair in all_pairs)
    by_group = [_paired_line(name, pairs, largest) for name, pairs in pairs_by_group.items()]
    by_group.sort(key=lambda line: line.first - line.second)
    return [_paired_line(ALL, all_pairs, largest), *by_group]


def _question_key(answer: ScoredAnswer) -> tuple[str, str, str]:
    return (answer.id, answer.question, answer.truth)


class _Pair(NamedTuple):
    """Two scores of a question, from 0 to 1."""

    first: float
    second: float
    picture: str
    """The identity of its picture; "" if unknown."""

    @property
    def difference(self) -> float:
        return self.second - self.first


def _paired_line(name: str, pairs: Sequence[_Pair], largest: float) -> PairedLine:
    """A group's line; `largest` is the largest difference of any question, from 0 to 1."""
    first = 100 * float(np.mean([pair.first for pair in pairs]))
    second = 100 * float(np.mean([pair.second for pair in pairs]))
    values = [pair.difference for pair in pairs]
    pictures = [pair.picture for pair in pairs]
    return PairedLine(first, second, difference(name, values, pictures, largest))


def paired_sheet(first: str, second: str, lines: Sequence[PairedLine]) -> Sheet:
    """A table of two reports on the same questions, by their names; rows whose interval excludes zero are bold."""
    rows = []
    for line in lines:
        gain = line.difference
        low = gain.low or 0.0  # without an interval nothing is said to differ
        high = gain.high or 0.0
        rows.append(
            {
                "questions": gain.name,
                "n": gain.n,
                "first": line.first,
                "second": line.second,
                "difference": gain.mean,
                "difference_low": gain.low,
                "difference_high": gain.high,
                "differs": low > 0 or high < 0,
            }
        )
    columns = (
        Column("questions", "Questions", has_words=True),
        Column("n", "n", "count"),
        Column("first", first, "score"),
        Column("second", second, "score"),
        Column("difference", "Difference", "difference", "difference_low", "difference_high"),
    )
    title = f"{second} minus {first}"
    return Sheet("comparison", title, pd.DataFrame(rows), columns, bold="differs")
