"""VisIT-Bench's matches as their report lists them, how steady they are, and Figure 8."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from arena.drawings import svg
from arena.locale import named, t, translated
from arena.markdown import answer_html, instruction_html, plain_html, visible_name
from scoring.visit_bench.benchmark import boards, family_words
from scoring.visit_bench.matches import (
    NOT_SHOWN,
    Instance,
    Match,
    MatchReport,
    Outcome,
    Winner,
    steadiness,
    with_listable_matches,
)
from scoring.web.answer_list import AnswerList, Choice
from scoring.web.judges_page import VISIT, family_plot
from scoring.web.report_parts import PARTS, REPORT, ListPage, page_text, rows_page

SHOWS: Mapping[str, Callable[[Outcome, bool], bool]] = {
    "all matches": lambda outcome, steady: True,
    "won": lambda outcome, steady: outcome == "won",
    "lost": lambda outcome, steady: outcome == "lost",
    "tied": lambda outcome, steady: outcome == "tied",
    "decided by order": lambda outcome, steady: outcome is not None and not steady,
    "without a result": lambda outcome, steady: outcome is None,
}
"""Filters by name. Their conditions get the outcome for the report's model, and whether both orders agree."""
MATCHES_A_PAGE = 10


class _Side(NamedTuple):
    """An answer of a match, as HTML."""

    model: str
    won: bool
    text: str


class _VerdictText(NamedTuple):
    """The judge's verdict on one order of the answers, with its replies as HTML."""

    first: str
    """The model whose answer came first."""
    winner: str
    reason: str
    replies: Sequence[str]


def match_notes(report: MatchReport, has_own_key: bool) -> list[str]:
    """Returns notes on the matches and the judge's steadiness; with an own key the report is on no public board."""
    notes = [PARTS.warning(t("matches.own_key"))] if has_own_key else []
    notes.append(VISIT.played(len(report.matches)))
    notes.append(VISIT.steady(steadiness(match.winners for match in report.matches)))
    if _are_answers_hidden(report):
        notes.append(PARTS.note(t("matches.hidden")))
    return notes


def _are_answers_hidden(report: MatchReport) -> bool:
    return any(response.text == NOT_SHOWN for response in report.responses)


def families_html(report: MatchReport) -> str:
    """Returns Figure 8 of this report's matches; "" without a decided match."""
    # that of single or of multiple images, whichever has more matches
    board = max(boards(report), key=lambda board: board.matches, default=None)
    plot = family_plot(board) if board else None
    if plot is None or plot.drawing is None:
        return ""
    return REPORT.families(svg(plot.drawing, "families"), plot.note)


def list_matches(
    report: MatchReport, show: str = "all matches", opponent: str = "", page: int = 1
) -> ListPage:
    """Returns one page of the matching matches; a filter that does not exist counts as not chosen."""
    notes = [PARTS.note(t("matches.hidden"))] if _are_answers_hidden(report) else []
    report = with_listable_matches(report)
    fits = SHOWS.get(show, SHOWS["all matches"])
    is_any_opponent = opponent not in _opponents(report)
    matching = []
    for match in report.matches:
        is_against = is_any_opponent or opponent in (match.a, match.b)
        is_steady = len(set(match.winners)) == 1
        if is_against and fits(match.outcome(report.title), is_steady):
            matching.append(match)
    on_page, number, pages = rows_page(matching, page, MATCHES_A_PAGE)
    items = [
        _match_html(match, report.title, report.by_item[match.item], report.texts)
        for match in on_page
    ]
    status = t("matches.listed", count=len(matching), page=page_text(number, pages))
    html = REPORT.together([*notes, VISIT.matches(status, items)])
    return ListPage(html, number, pages)


def _opponents(report: MatchReport) -> set[str]:
    models = {match.a for match in report.matches} | {match.b for match in report.matches}
    return models - {report.title}


def _opponent_choices(report: MatchReport) -> list[Choice]:
    opponents = sorted(_opponents(with_listable_matches(report)))
    choices = [Choice(model, visible_name(named(model))) for model in opponents]
    return [Choice("", t("matches.every_opponent")), *choices]


MATCHES = AnswerList(
    "matches.every",
    SHOWS,
    lambda report, chosen: list_matches(report, chosen.show, chosen.group, chosen.page),
    "matches.opponent",
    _opponent_choices,
)


def _match_html(
    match: Match, title: str, instance: Instance, texts: Mapping[tuple[str, str], str]
) -> str:
    """Returns a match: the answer of the report's model `title` before its opponent's, and the verdicts on both orders.

    `texts`: answers by (item, model).
    """
    names: Mapping[Winner | None, str] = {
        "a": named(match.a),
        "b": named(match.b),
        "tie": t("matches.tie"),
        None: t("matches.no_verdict"),
    }
    side_a = _Side(names["a"], match.winner == "a", answer_html(texts[match.item, match.a]))
    side_b = _Side(names["b"], match.winner == "b", answer_html(texts[match.item, match.b]))
    sides = [side_a, side_b] if match.a == title else [side_b, side_a]
    verdicts = [
        _VerdictText(
            first=first,
            winner=names[verdict.winner],
            reason=verdict.reason,
            replies=list(map(plain_html, verdict.replies)),
        )
        for verdict, first in zip(match.verdicts, (names["a"], names["b"]), strict=True)
    ]
    return VISIT.match(
        instruction_html(instance.instruction),
        translated(family_words(instance.family)),
        sides,
        verdicts,
    )
