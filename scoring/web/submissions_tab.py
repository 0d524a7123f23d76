"""Tab "Judges' boards": the automatic leaderboards by judge, and a user's own submissions."""

from collections.abc import Mapping

import gradio as gr

from arena.database import DatabaseError
from arena.web.cookies import cookie_hash, sent_cookie
from arena.web.events import LATEST, RAW, Updates, offered
from scoring.jobs.submissions import PeoplesBoards, Submissions
from scoring.visit_bench.leaderboard import rank_correlation
from scoring.visit_bench.store import JudgeBoardKey, Submission, SubmissionError, labels
from scoring.web.report_parts import PARTS, REPORT
from scoring.web.submissions_view import COLUMNS, VISIT, Beside, board_html, figure_updates


class SubmissionsTab:
    """Components of the tab as attributes, event handlers as methods."""

    def __init__(self, submissions: Submissions, people: PeoplesBoards) -> None:
        self._store = submissions.store
        self._people = people
        self.choice = gr.Dropdown([], label="Board", elem_id="automatic-choice")
        self.board = gr.HTML(VISIT.no_board(), elem_id="automatic", padding=False)
        gr.HTML(VISIT.meanings(COLUMNS), padding=False)
        self.plot = gr.Plot(show_label=False, visible=False, elem_id="automatic-plot")
        self.note = gr.HTML(elem_id="automatic-note", padding=False)
        self.mine = gr.HTML(elem_id="submissions", padding=False)
        with gr.Row(visible=False) as self.own:
            self.which = gr.Dropdown([], label="Submission", elem_id="submission", min_width=220)
            self.withdraw = gr.Button("Withdraw its texts", elem_id="withdraw", size="sm", min_width=160)
        self.said = gr.HTML(elem_id="withdrawn", padding=False)

    def listen(self, tab: gr.Tab) -> None:
        """Bind the handlers: a board is read when the tab opens or another board is chosen.

        The browser's input is looked up among the boards and the user's own submissions.
        """
        shown = [self.choice, self.board, self.plot, self.note, self.mine, self.own, self.which, self.said]
        gr.on([tab.select, self.choice.input], self.on_open, self.choice, shown, **LATEST)
        self.withdraw.click(self.on_withdraw, [self.which, self.choice], shown, **RAW)

    def on_open(self, choice: object, request: gr.Request) -> Updates:
        """Show the chosen board, initially the one with the most matches."""
        try:
            return {**self._shown(choice), **self._own(request)}
        except DatabaseError as error:
            return {self.board: REPORT.alert(error)}

    def on_withdraw(self, which: object, choice: object, request: gr.Request) -> Updates:
        """Delete the texts of the user's submission; its results stay."""
        try:
            known = {_named(one): one for one in self._submitted(request) if not one.withdrawn}
            chosen = known.get(str(which))
            if chosen is None:
                return {self.said: REPORT.alert("Choose a submission of yours.")}
            self._store.withdraw(chosen.owner, chosen.source, chosen.name)
            told = (
                f"The texts of {chosen.name!r} are gone; its number and its results stay. Your report holds them until "
                'you delete it under "Score outputs".'
            )
            return {**self._shown(choice), **self._own(request), self.said: PARTS.note(told)}
        except (SubmissionError, DatabaseError) as error:
            return {self.said: REPORT.alert(error)}

    def _shown(self, choice: object) -> Updates:
        boards = self._boards()
        if not boards:
            return {self.board: VISIT.no_board(), **figure_updates(None, self.plot, self.note)}
        name = choice if isinstance(choice, str) and choice in boards else next(iter(boards))
        board_key = boards[name]
        found = self._store.standings(board_key)
        variants = {one.name: one.number for one in self._store.submissions(board_key.source)}
        return {
            self.choice: gr.update(**offered(list(boards), name, choice)),
            self.board: board_html(board_key, found, self._beside(board_key, found.board.ratings), variants),
            **figure_updates(found.board, self.plot, self.note),
        }

    def _boards(self) -> Mapping[str, JudgeBoardKey]:
        board_keys = self._store.board_keys()
        names = labels(board_key.judging for board_key in board_keys)
        kinds = {False: "single image", True: "multiple images"}
        return {
            f"{board_key.source}, {kinds[board_key.multi]} · {names[board_key.judging.id]}": board_key
            for board_key in board_keys
        }

    def _beside(self, board_key: JudgeBoardKey, judged: Mapping[str, float]) -> Beside:
        people = self._people.ratings(board_key.source, board_key.multi)
        both = sorted(judged.keys() & people.keys())
        return Beside(people, rank_correlation([judged[one] for one in both], [people[one] for one in both]))

    def _own(self, request: gr.Request) -> Updates:
        submitted = self._submitted(request)
        kept = [_named(one) for one in submitted if not one.withdrawn]
        return {
            self.mine: VISIT.submissions(submitted),
            self.own: gr.update(visible=bool(kept)),
            self.which: gr.update(choices=kept, value=kept[0] if kept else None),
        }

    def _submitted(self, request: gr.Request) -> list[Submission]:
        cookie = sent_cookie(request.headers)
        owner = cookie_hash(cookie) if cookie else None
        return [one for one in self._store.submissions() if one.owner == owner]


def _named(submission: Submission) -> str:
    return f"{submission.name} · {submission.source}"
