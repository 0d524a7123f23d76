"""Tab "Judge models": the automatic leaderboards by judge, with Figure 8, and a user's own submissions."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import gradio as gr

from arena.database import DatabaseError
from arena.drawings import svg
from arena.plots import Plot, WinRateCell, family_win_rate_plot
from arena.templates import macros
from arena.web.cookies import owner_of
from arena.web.events import LATEST, RAW, Updates, offered, shows_errors
from arena.web.results_view import picture_html
from scoring.jobs.submissions import PeoplesBoards, Submissions
from scoring.visit_bench.benchmark import VISIT_BENCH, family_words
from scoring.visit_bench.leaderboard import (
    AutomaticBoard,
    Correlation,
    WinRate,
    rank_correlation,
)
from scoring.visit_bench.sheets import COLUMNS, PEOPLE, board_sheet
from scoring.visit_bench.store import JudgeBoardKey, Standings, Submission, SubmissionError, labels
from scoring.web.citations import citations
from scoring.web.judge_board_view import board_chart, board_sentence
from scoring.web.report_parts import PARTS, sheet_html

VISIT = macros("visit_bench.html")

_shows_errors = partial(
    shows_errors, (SubmissionError, DatabaseError), lambda error, *_: PARTS.alert(error)
)


class Beside(NamedTuple):
    """People's ratings of the same models, and their correlation with the judge's."""

    ratings: Mapping[str, float]
    agreement: Correlation | None


def board_html(
    board_key: JudgeBoardKey, found: Standings, beside: Beside, variants: Mapping[str, int]
) -> str:
    title = f"{board_key.title}: {found.board.matches:,} matches"
    table = sheet_html(board_sheet("board", title, found.board, beside.ratings, variants))
    chart = board_chart(found.board)
    drawn = svg(chart, "automatic-chart") if chart else ""
    cited = citations()[VISIT_BENCH.cited]
    return VISIT.board(
        board_key, found, board_sentence(found.board), drawn, beside.agreement, table, cited
    )


def family_plot(board: AutomaticBoard) -> Plot | None:
    """Return Figure 8, win rates against the reference by family and model; None without any match that was decided."""
    models = [line.row.model for line in board.lines if line.reference is not None]
    shown = {
        family: rates
        for family, rates in board.families.items()
        if any(rate.n for rate in rates.values())
    }
    cells = [[_win_rate(rates.get(model)) for model in models] for rates in shown.values()]
    return family_win_rate_plot(list(map(family_words, shown)), models, cells) if shown else None


def _win_rate(rate: WinRate | None) -> WinRateCell | None:
    return (
        None
        if rate is None or rate.value is None
        else WinRateCell(rate.value, rate.low, rate.high, rate.n)
    )


class SubmissionsTab:
    """Components of the tab as attributes, event handlers as methods."""

    def __init__(self, submissions: Submissions, people: PeoplesBoards) -> None:
        self._store = submissions.store
        self._people = people
        self.choice = gr.Dropdown([], label="Judge", visible=False, elem_id="automatic-choice")
        self.board = gr.HTML(VISIT.no_board(), elem_id="automatic", padding=False)
        gr.HTML(VISIT.meanings((*COLUMNS, PEOPLE)), padding=False)
        self.plot = gr.HTML(elem_id="automatic-plot", padding=False)
        self.mine = gr.HTML(elem_id="submissions", padding=False)
        with gr.Row(visible=False, elem_id="own-submissions") as self.own:
            self.which = gr.Dropdown([], label="Submission", elem_id="submission", min_width=220)
            self.withdraw = gr.Button(
                "Withdraw its texts", elem_id="withdraw", size="sm", min_width=160
            )
        self.said = gr.HTML(elem_id="withdrawn", padding=False)

    def listen(self, tab: gr.Tab) -> None:
        shown = [self.choice, self.board, self.plot, self.mine, self.own, self.which, self.said]
        gr.on([tab.select, self.choice.input], self.on_open, self.choice, shown, **LATEST)
        self.withdraw.click(self.on_withdraw, [self.which, self.choice], shown, **RAW)

    def has_any(self) -> bool:
        """Whether anything was judged or submitted yet: models of the bank too are judged. Raises DatabaseError."""
        return bool(self._store.submissions() or self._store.board_keys())

    @_shows_errors("board")
    def on_open(self, choice: object, request: gr.Request) -> Updates:
        return {**self._shown(choice), **self._own(request)}

    @_shows_errors("said")
    def on_withdraw(self, which: object, choice: object, request: gr.Request) -> Updates:
        known = {_named(one): one for one in self._submitted(request) if not one.withdrawn}
        chosen = known.get(str(which))
        if chosen is None:
            return {self.said: PARTS.alert("Choose a submission of yours.")}
        self._store.withdraw(chosen.owner, chosen.source, chosen.name)
        told = (
            f"The texts of {chosen.name!r} are gone; its number and its results stay. Your report holds them until you "
            'delete it under "Score a model".'
        )
        return {**self._shown(choice), **self._own(request), self.said: PARTS.note(told)}

    def _shown(self, choice: object) -> Updates:
        boards = self._boards()
        if not boards:
            return {
                self.choice: gr.update(visible=False),
                self.board: VISIT.no_board(),
                self.plot: "",
            }
        name = choice if isinstance(choice, str) and choice in boards else next(iter(boards))
        board_key = boards[name]
        found = self._store.standings(board_key)
        variants = {one.name: one.number for one in self._store.submissions(board_key.source)}
        return {
            self.choice: gr.update(visible=True, **offered(list(boards), name, choice)),
            self.board: board_html(
                board_key, found, self._beside(board_key, found.board.ratings), variants
            ),
            self.plot: picture_html(
                family_plot(found.board),
                "automatic",
                "automatic/families",
                {"board": board_key.key},
            ),
        }

    def _boards(self) -> Mapping[str, JudgeBoardKey]:
        board_keys = self._store.board_keys()
        names = labels(board_key.judging for board_key in board_keys)
        return {
            f"{board_key.title} · {names[board_key.judging.id]}": board_key
            for board_key in board_keys
        }

    def _beside(self, board_key: JudgeBoardKey, judged: Mapping[str, float]) -> Beside:
        people = self._people.ratings(board_key.source, board_key.multi)
        both = sorted(judged.keys() & people.keys())
        return Beside(
            people, rank_correlation([judged[one] for one in both], [people[one] for one in both])
        )

    def _own(self, request: gr.Request) -> Updates:
        submitted = self._submitted(request)
        kept = [_named(one) for one in submitted if not one.withdrawn]
        return {
            self.mine: VISIT.submissions(submitted),
            self.own: gr.update(visible=bool(kept)),
            self.which: gr.update(choices=kept, value=kept[0] if kept else None),
        }

    def _submitted(self, request: gr.Request) -> list[Submission]:
        owner = owner_of(request.headers)
        return [one for one in self._store.submissions() if one.owner == owner]


def _named(submission: Submission) -> str:
    return f"{submission.name} · {submission.source}"
