"""VisIT-Bench report as HTML: header, board, and every match with the judge's replies."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Literal, NamedTuple, get_args

from arena.markdown import answer_html, instruction_html, plain_html
from scoring.visit_bench.leaderboard import AutomaticBoard
from scoring.visit_bench.matches import Match, MatchReport, Verdict, Winner, steadiness, ungraded
from scoring.web.submissions_view import Beside, board_table, steady_html

Show = Literal["all matches", "won", "lost", "tied", "decided by order", "without a result"]
SHOWS: Mapping[str, Show] = {show: show for show in get_args(Show)}
MATCHES_A_PAGE = 10
_SEEN = {"captions": "the judge read the pictures' captions", "images": "the judge looked at the pictures"}
_SHOWN = {"free": "was not shown the reference", "backed": "was shown the reference"}


class MatchFilter(NamedTuple):
    """Filter of the matches."""

    show: Show = "all matches"
    opponent: str = ""
    """Empty: every opponent."""
    page: int = 1


def head_html(report: MatchReport, own_key: bool) -> str:
    """Return what was judged, by which judge, how and how steadily; with an own key it is on no public board."""
    judge = report.judge
    versions = f" (answered as {', '.join(judge.versions)})" if judge.versions else ""
    judged = (
        f"Judge: {judge.model} at {judge.address}{versions}. {report.protocol} protocol; {_SEEN[report.context]} and "
        f"{_SHOWN[report.reference]}"
    )
    private = {
        ungraded(report): bool(ungraded(report)),
        "partial: it answers some items only, so no public board has it": not report.complete,
        "private: it was judged with its owner's key, so no public board has it": own_key,
    }
    return (
        f'<section class="report-head"><p class="kind">VisIT-Bench · {escape(report.source)} · {escape(report.file)} · '
        f"{escape(report.created[:16].replace('T', ' '))} UTC</p>"
        f'<h2 tabindex="-1" id="report-heading">{escape(report.title)}</h2>'
        + "".join(f'<p class="warning" role="note">{escape(told)}</p>' for told, holds in private.items() if holds)
        + f"<p><b>{len(report.matches):,} matches</b>, each judged in both orders</p>"
        f"{steady_html(steadiness(match.winners for match in report.matches))}"
        + f'<p class="note">{escape(judged)}.</p>'
        f'<p class="note">Prompt {judge.prompt[:12]} · reading {escape(judge.parser)}</p></section>'
    )


def boards_html(boards: Sequence[AutomaticBoard]) -> str:
    """Return the boards of the report's matches alone, separately for single and multiple images."""
    kinds = {False: "Single image", True: "Multiple images"}
    nobody = Beside({}, None)
    tables = "".join(board_table(f"{kinds[board.multi]}, this report's matches", board, nobody, {}) for board in boards)
    return f'<div class="board automatic">{tables}</div>'


def matches_html(report: MatchReport, chosen: MatchFilter) -> str:
    """Return a page of the selected matches, each with its answers and the judge's reply in either order."""
    fit = [match for match in report.matches if _fits(match, report.title, chosen)]
    pages = max(1, -(-len(fit) // MATCHES_A_PAGE))
    page = min(max(1, chosen.page), pages)
    instances = {instance.item: instance for instance in report.instances}
    texts = {(response.item, response.model): response.text for response in report.responses}
    cards = []
    for match in fit[(page - 1) * MATCHES_A_PAGE : page * MATCHES_A_PAGE]:
        instance = instances[match.item]
        asked = f"<p>{instruction_html(instance.instruction)} <small>{escape(instance.family)}</small></p>"
        sides = "".join(_side(match, model, texts[match.item, model]) for model in _sides(match, report.title))
        said = "".join(map(_said, match.verdicts, (match.a, match.b), (match.b, match.a)))
        cards.append(f'<article class="match">{asked}<div class="sides">{sides}</div>{said}</article>')
    told = f'<p role="status">{len(fit):,} matches; page {page} of {pages}</p>'
    return told + ("".join(cards) or '<p class="empty">No match is like that.</p>')


def opponents(report: MatchReport) -> list[str]:
    """Return the model's opponents, sorted."""
    return sorted({model for match in report.matches for model in (match.a, match.b)} - {report.title})


def _fits(match: Match, title: str, chosen: MatchFilter) -> bool:
    if chosen.opponent and chosen.opponent not in (match.a, match.b):
        return False
    won = _won(match, title)
    first, second = match.winners
    fitting: Mapping[Show, bool] = {
        "all matches": True,
        "won": won == "won",
        "lost": won == "lost",
        "tied": won == "tied",
        "decided by order": won is not None and first != second,
        "without a result": won is None,
    }
    return fitting[chosen.show]


def _won(match: Match, title: str) -> Literal["won", "lost", "tied"] | None:
    if match.winner is None or match.winner == "tie":
        return match.winner and "tied"
    return "won" if _names(match)[match.winner] == title else "lost"


def _names(match: Match) -> Mapping[Winner, str]:
    return {"a": match.a, "b": match.b, "tie": "a tie"}


def _sides(match: Match, title: str) -> tuple[str, str]:
    """Return the two models, the report's own first."""
    return (match.a, match.b) if match.a == title else (match.b, match.a)


def _side(match: Match, model: str, text: str) -> str:
    won = ' <span class="won">won</span>' if match.winner and _names(match)[match.winner] == model else ""
    return f"<section><h4>{escape(model)}{won}</h4>{answer_html(text)}</section>"


def _said(verdict: Verdict, first: str, second: str) -> str:
    """Return the judge's reply for the order with `first` first."""
    names: Mapping[Winner, str] = {"a": min(first, second), "b": max(first, second), "tie": "a tie"}
    outcome = escape(names[verdict.winner]) if verdict.winner else "no verdict"
    reason = f" <small>{escape(verdict.reason)}</small>" if verdict.reason else ""
    replies = "".join(map(plain_html, verdict.replies))
    return f"<details><summary>Shown {escape(first)} first: <b>{outcome}</b>{reason}</summary>{replies}</details>"
