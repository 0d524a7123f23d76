"""VisIT-Bench's matches as their report lists them, how steady they are, and Figure 8."""

from collections.abc import Callable, Mapping

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
from scoring.web.report_parts import PARTS, REPORT, ListPage, paged, place_text

SHOWS: Mapping[str, Callable[[Outcome, bool], bool]] = {
    "all matches": lambda outcome, steady: True,
    "won": lambda outcome, steady: outcome == "won",
    "lost": lambda outcome, steady: outcome == "lost",
    "tied": lambda outcome, steady: outcome == "tied",
    "decided by order": lambda outcome, steady: outcome is not None and not steady,
    "without a result": lambda outcome, steady: outcome is None,
}
MATCHES_A_PAGE = 10


def match_notes(report: MatchReport, own_key: bool) -> list[str]:
    """Returns notes on the matches and the judge's steadiness; with an own key the report is on no public board."""
    steady = VISIT.steady(steadiness(match.winners for match in report.matches))
    played = VISIT.played(len(report.matches))
    warned = [PARTS.warning(t("matches.own_key"))] if own_key else []
    return [
        *warned,
        played,
        steady,
        *([PARTS.note(t("matches.hidden"))] if _is_blind(report) else []),
    ]


def _is_blind(report: MatchReport) -> bool:
    return any(response.text == NOT_SHOWN for response in report.responses)


def families_html(report: MatchReport) -> str:
    """Returns Figure 8 of this report's matches; "" without a decided match."""
    board = max(boards(report), key=lambda board: board.matches, default=None)
    plot = family_plot(board) if board else None
    if plot is None or plot.drawing is None:
        return ""
    return REPORT.families(svg(plot.drawing, "families"), plot.note)


def list_matches(
    report: MatchReport, show: str = "all matches", opponent: str = "", page: int = 1
) -> ListPage:
    """Returns one page of the matching matches; a filter that does not exist counts as not chosen."""
    blind = [PARTS.note(t("matches.hidden"))] if _is_blind(report) else []
    report = with_listable_matches(report)
    fits = SHOWS.get(show, SHOWS["all matches"])
    everyone = opponent not in {model for model, _ in _opponents(report)}
    met = [match for match in report.matches if everyone or opponent in (match.a, match.b)]
    fit = [
        match for match in met if fits(match.outcome(report.title), len(set(match.winners)) == 1)
    ]
    matches, page, pages = paged(fit, page, MATCHES_A_PAGE)
    items = [
        _match(match, report.title, report.by_item[match.item], report.texts) for match in matches
    ]
    status = t("matches.listed", count=len(fit), page=place_text(page, pages))
    html = REPORT.together([*blind, VISIT.matches(status, items)])
    return ListPage(html, page, pages)


def _opponents(report: MatchReport) -> list[Choice]:
    """Returns the other models by name and by visible name."""
    models = {model for match in report.matches for model in (match.a, match.b)}
    return [(model, visible_name(named(model))) for model in sorted(models - {report.title})]


MATCHES = AnswerList(
    "matches.every",
    SHOWS,
    lambda report, chosen: list_matches(report, chosen.show, chosen.group, chosen.page),
    "matches.opponent",
    lambda report: [("", t("matches.every_opponent")), *_opponents(with_listable_matches(report))],
)


def _match(
    match: Match, title: str, instance: Instance, texts: Mapping[tuple[str, str], str]
) -> str:
    names: Mapping[Winner | None, str] = {
        "a": named(match.a),
        "b": named(match.b),
        "tie": t("matches.tie"),
        None: t("matches.no_verdict"),
    }
    models = {"a": match.a, "b": match.b}
    sides = [
        (names[side], side == match.winner, answer_html(texts[match.item, models[side]]))
        for side in (("a", "b") if match.a == title else ("b", "a"))
    ]
    verdicts = [
        (first, names[verdict.winner], verdict.reason, list(map(plain_html, verdict.replies)))
        for verdict, first in zip(match.verdicts, (names["a"], names["b"]), strict=False)
    ]
    return VISIT.match(
        instruction_html(instance.instruction),
        translated(family_words(instance.family)),
        sides,
        verdicts,
    )
