"""Judges page: the automatic leaderboards by judge, with Figure 8, and a visitor's own submissions."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from arena.drawings import Drawing, ratings_drawing, svg
from arena.leaderboard.chart import MOST_BARS
from arena.leaderboard.headline import ranks_in_words
from arena.locale import named, t, translated
from arena.plots import Plot, WinRateCell, family_win_rate_plot
from arena.ratings.report import BoardRow, bradley_terry_rows
from arena.templates import macros
from arena.web.addresses import JUDGES, NAME, RESULTS
from arena.web.cookies import NO_STORE, owner_of
from arena.web.heads import Head
from arena.web.layout import PageLayout
from arena.web.results_view import Choice, ResultsTabs, picture_html
from scoring.jobs.owners import ReportOwners
from scoring.jobs.submissions import PeoplesBoards, Submissions
from scoring.visit_bench.benchmark import VISIT_BENCH, family_words
from scoring.visit_bench.leaderboard import (
    AutomaticBoard,
    Correlation,
    WinRate,
    rank_correlation,
)
from scoring.visit_bench.sheets import COLUMNS, PEOPLE, VARIANT, board_sheet
from scoring.visit_bench.store import JudgeBoardKey, Standings, Submission, judging_labels
from scoring.web.citations import citations
from scoring.web.report_parts import sheet_html

VISIT = macros("visit_bench.html")


class PeoplesRatings(NamedTuple):
    """People's ratings of the same models, and how they correlate with the judge's; None if that can't be computed."""

    ratings: Mapping[str, float]
    agreement: Correlation | None


def board_html(
    board_key: JudgeBoardKey,
    standings: Standings,
    people: PeoplesRatings,
    variants: Mapping[str, int],
) -> str:
    """Returns a board with its chart and table; `variants`: the number of each model's submission, by its name."""
    title = board_title(board_key)
    caption = t("judges.caption", title=title, count=standings.board.matches)
    table = sheet_html(board_sheet("board", caption, standings.board, people.ratings, variants))
    chart = board_chart(standings.board)
    chart_svg = svg(chart, "automatic-chart") if chart else ""
    citation = citations()[VISIT_BENCH.cited]
    return VISIT.board(
        board_key,
        title,
        standings,
        board_sentence(standings.board),
        chart_svg,
        people.agreement,
        table,
        citation,
    )


def board_title(board_key: JudgeBoardKey) -> str:
    """Returns the board's items and their number of pictures, in words."""
    pictures = t("board.several_pictures" if board_key.multi else "board.one_picture")
    return t("board.title", source=board_key.source, pictures=pictures)


def board_sentence(board: AutomaticBoard) -> str:
    """Returns the sentence at the top of a board: the models with the first ranks."""
    rows, groups = _first_group(board)
    if len(rows) < 2:
        return t("judges.no_ranks")
    # Every row has a rank; the check is for its type.
    ranks = {row.model: row.rank for row in rows if row.rank is not None}
    sentence = t("headline.and").join(ranks_in_words(ranks))
    if groups > 1:
        sentence = t("headline.group", groups=groups, sentence=sentence)
        sentence = f"{sentence[0].upper()}{sentence[1:]}"
    return t("headline.stop", sentence=sentence)


def board_chart(board: AutomaticBoard) -> Drawing | None:
    """Returns a chart of the ratings that have intervals; None if no model has one."""
    rated = (row for row in _first_group(board).rows if row.bt_low is not None)
    rows = [row._replace(name=named(row.name)) for row in bradley_terry_rows(rated)]
    title = t("judges.chart")
    return ratings_drawing(title, board_sentence(board), rows, MOST_BARS) if rows else None


class _FirstGroup(NamedTuple):
    """The ranked models of the first group of models that met, and the number of such groups."""

    rows: Sequence[BoardRow]
    groups: int


def _first_group(board: AutomaticBoard) -> _FirstGroup:
    """Returns the first group of a board, which lists one group after the other, each by rank; empty without ranks."""
    ranked = [line for line in board.lines if line.row.rank is not None]
    first_group = [line.row for line in ranked if line.group == ranked[0].group]
    groups = {line.group for line in ranked}
    return _FirstGroup(first_group, len(groups))


def family_plot(board: AutomaticBoard) -> Plot | None:
    """Returns Figure 8, win rates against the reference by family and model; None without a decided match."""
    models = [line.row.model for line in board.lines if line.reference is not None]
    families = []
    cells = []
    for family, rates in board.families.items():
        if any(rate.n for rate in rates.values()):
            families.append(family_words(family))
            cells.append([_cell(rates.get(model)) for model in models])
    return family_win_rate_plot(families, models, cells) if families else None


def _cell(rate: WinRate | None) -> WinRateCell | None:
    if rate is None or rate.value is None:
        return None
    return WinRateCell(rate.value, rate.low, rate.high, rate.n)


@dataclass(frozen=True)
class JudgesPage:
    """The boards of judge models, one at a time, and the visitor's submissions to them."""

    submissions: Submissions
    people: PeoplesBoards
    owners: ReportOwners
    tabs: ResultsTabs
    layout: PageLayout

    def show(self, request: Request) -> Response:
        """Returns the page with the board that the query names, else with the first. Raises DatabaseError."""
        boards = self.submissions.store.board_keys()
        key = request.query_params.get("board", "")
        html = VISIT.judges_page(
            self.tabs.html(JUDGES),
            self._board_html(boards, key) if boards else VISIT.no_board(),
            VISIT.submissions(self._own_submissions(request)),
            (VARIANT, *COLUMNS, PEOPLE) if boards else (),
        )
        return self._page(request, html)

    async def withdraw(self, request: Request) -> Response:
        """Deletes the texts of one of the visitor's submissions. Raises DatabaseError."""
        async with request.form(max_files=0, max_fields=2) as form:
            source = str(form.get("source", ""))
            name = str(form.get("name", ""))
        return await asyncio.to_thread(self._withdraw, request, source, name)

    def _withdraw(self, request: Request, source: str, name: str) -> Response:
        chosen = [
            submission
            for submission in self._own_submissions(request)
            if submission.source == source
            and submission.name == name
            and not submission.is_withdrawn
        ]
        if not chosen:
            return self._page(request, VISIT.not_withdrawn(), status=403)
        self.submissions.store.withdraw(chosen[0].owner, source, name)
        return RedirectResponse(f"/{JUDGES}#submissions", status_code=303, headers=NO_STORE)

    def _page(self, request: Request, body: str, status: int = 200) -> Response:
        head = Head(f"{t('results.judges')} · {NAME}", t("judges.description"))
        return self.layout.page(request, head, body, RESULTS, status=status, is_kept=False)

    def _board_html(self, boards: Sequence[JudgeBoardKey], key: str) -> str:
        chosen = {board_key.key: board_key for board_key in boards}.get(key, boards[0])
        names = judging_labels(board_key.judging for board_key in boards)
        choices = [
            Choice(
                f"{board_title(board_key)} · {translated(names[board_key.judging.id])}",
                f"/{JUDGES}?board={board_key.key}",
                board_key is chosen,
            )
            for board_key in boards
        ]
        standings = self.submissions.store.standings(chosen)
        variants = {
            submission.name: submission.number
            for submission in self.submissions.store.submissions(chosen.source)
        }
        plot = picture_html(
            family_plot(standings.board), "automatic", "/automatic/families", {"board": chosen.key}
        )
        people = self._peoples_ratings(chosen, standings.board.ratings)
        return VISIT.judges_board(choices, board_html(chosen, standings, people, variants), plot)

    def _peoples_ratings(
        self, board_key: JudgeBoardKey, judge_ratings: Mapping[str, float]
    ) -> PeoplesRatings:
        ratings = self.people.ratings(board_key.source, board_key.multi)
        common = sorted(judge_ratings.keys() & ratings.keys())
        agreement = rank_correlation(
            [judge_ratings[model] for model in common], [ratings[model] for model in common]
        )
        return PeoplesRatings(ratings, agreement)

    def _own_submissions(self, request: Request) -> list[Submission]:
        browser = owner_of(request.headers)
        owner = self.owners.owner_of(browser)
        return [
            submission
            for submission in self.submissions.store.submissions()
            if submission.owner == owner
        ]


def routes(page: JudgesPage) -> APIRouter:
    router = APIRouter()
    router.add_api_route(f"/{JUDGES}", page.show, methods=["GET", "HEAD"])
    router.add_api_route(f"/{JUDGES}/withdraw", page.withdraw, methods=["POST"])
    return router
