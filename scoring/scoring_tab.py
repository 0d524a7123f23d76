"""The "Score outputs" tab: a file of outputs, what it will cost, and its judging.

A job is the database's; the page holds only its link, and each handler checks whose it is by the voter's cookie.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr

from arena.database import DatabaseError
from arena.guard import sent_cookie
from arena.identity import cookie_hash
from arena.records import Secret
from arena.rows import RowsError
from scoring.address import Address, AddressError
from scoring.desk import TRY_OUT, Desk, DeskError, OwnJudge, Wish
from scoring.inbox import InboxError
from scoring.jobs import JobError
from scoring.judge import JudgeError
from scoring.marking import Options, OptionsError
from scoring.scoring_page import DROP, LEAD, found_html, mine_html, problems_html, progress_html, quote_html
from scoring.uploads import UploadError

PROTOCOLS = {"Hardened": "hardened", "As in the paper": "paper"}
MISSING = {"Stop and tell me": "stop", "Leave them unscored": "unscored"}
RUNS = {"5 separate runs": (5, False), "5 samples of one call (cheaper)": (5, True), "1 run": (1, False)}
OWN = "My own key"
TOLD = (
    AddressError,
    DatabaseError,
    DeskError,
    InboxError,
    JobError,
    JudgeError,
    OptionsError,
    RowsError,
)
"""The rooms' errors that a person reads."""

Updates = dict[Any, Any]


def told(handler: Callable[..., Updates]) -> Callable[..., Updates]:
    """Make a handler tell a room's error on the page, which stays as it is."""

    @wraps(handler)
    def tried(tab: "ScoringTab", *values: object) -> Updates:
        try:
            return {tab.problem: "", **handler(tab, *values)}
        except UploadError as error:
            return {tab.problem: problems_html(f"{error.file} cannot be scored yet:", error.problems)}
        except TOLD as error:
            return {tab.problem: problems_html(str(error))}

    return tried


class ScoringTab:
    """Components of the tab as attributes, its handlers as methods."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._build()

    def _build(self) -> None:
        sets = list(self._desk.question_sets)
        operator = self._desk.operator
        judges = [*([operator.spec.model] if operator else []), OWN]
        gr.HTML(LEAD, padding=False)
        self.token = gr.Textbox(visible="hidden", elem_id="upload-token")
        self.arrived = gr.Button("Read the file", elem_id="arrived")  # pressed by upload.js; hidden by the style sheet
        self.link = gr.Textbox(visible="hidden", elem_id="job-link")
        with gr.Row():
            with gr.Column(scale=3, min_width=280):
                self.drop = gr.HTML(DROP, padding=False)
                self.questions = gr.Radio(sets, value=sets[0], label="Questions", elem_id="questions")
                with gr.Row():
                    self.protocol = gr.Radio(list(PROTOCOLS), value="Hardened", label="Protocol", elem_id="protocol")
                    self.missing = gr.Radio(
                        list(MISSING), value="Stop and tell me", label="Questions without an answer", elem_id="missing"
                    )
                self.runs = gr.Radio(list(RUNS), value="5 separate runs", label="Judging", elem_id="runs")
            with gr.Column(scale=2, min_width=280):
                self.judge = gr.Radio(judges, value=judges[0], label="Judge", elem_id="judge")
                with gr.Group(visible=judges[0] == OWN) as self.own:
                    self.url = gr.Textbox(
                        "https://api.openai.com/v1",
                        label="Address (OpenAI-compatible)",
                        elem_id="own-url",
                        max_length=300,
                    )
                    self.model = gr.Textbox(label="Judge model", elem_id="own-model", max_length=120)
                    self.key = gr.Textbox(label="Key", type="password", elem_id="own-key", max_length=500)
                    gr.HTML(
                        '<p class="note">Your key serves this job only. It stays in memory, is never stored or shown, '
                        "and after a restart you are asked for it again.</p>"
                    )
                    self.try_out = gr.Checkbox(False, label="Try out a judge that we do not know", info=TRY_OUT)
                self.title = gr.Textbox(label="Model name on the report", elem_id="report-title", max_length=120)
                self.check = gr.Button("Check the file and show the cost", elem_id="check", variant="primary")
                self.problem = gr.HTML(elem_id="scoring-problem", padding=False)
                self.quote = gr.HTML(elem_id="quote", padding=False)
                self.confirm = gr.Button("Start judging", elem_id="confirm", variant="primary", visible=False)
                self.progress = gr.HTML(elem_id="progress", padding=False)
                with gr.Row():
                    self.cancel = gr.Button("Cancel", elem_id="cancel", visible=False)
                    self.resume = gr.Button("Go on", elem_id="resume", visible=False)
                    self.delete = gr.Button("Delete", elem_id="delete", visible=False)
        gr.HTML("<h3>Your reports</h3>", padding=False)
        self.mine = gr.HTML(elem_id="mine", padding=False)
        self.clock = gr.Timer(1.5, active=False)

    def listen(self, tab: gr.Tab) -> None:
        """Bind the handlers; none waits in Gradio's queue."""
        settings = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}
        job = [self.link, self.quote, self.confirm, self.progress, self.cancel, self.resume, self.delete]
        job += [self.mine, self.clock, self.problem]
        own = [self.url, self.model, self.key, self.try_out]
        wish = [self.token, self.questions, self.protocol, self.missing, self.runs, self.title, self.judge, *own]
        self.judge.input(self.on_judge, self.judge, self.own, **settings)
        found = [self.quote, self.title, self.problem]
        self.arrived.click(self.on_arrived, [self.token, self.questions], found, **settings)
        self.check.click(self.on_check, wish, job, **settings)
        begun = [self.link, self.url, self.key]
        gr.on([self.confirm.click, self.resume.click], self.on_start, begun, [*job, self.key], **settings)
        self.cancel.click(self.on_cancel, self.link, job, **settings)
        self.delete.click(self.on_delete, self.link, job, **settings)
        gr.on([tab.select, self.clock.tick], self.on_look, self.link, job, **settings)

    def on_judge(self, judge: object) -> Updates:
        """Ask for address, model and key where the judge is the person's own."""
        return {self.own: gr.update(visible=judge == OWN)}

    @told
    def on_arrived(self, token: object, questions: object, request: gr.Request) -> Updates:
        """Tell what an uploaded file holds."""
        found = self._desk.look(self._owner(request), str(token), str(questions))
        return {self.quote: found_html(found.lines), self.title: found.title}

    @told
    def on_check(
        self,
        token: object,
        questions: object,
        protocol: object,
        missing: object,
        runs: object,
        title: object,
        judge: object,
        url: object,
        model: object,
        key: object,
        try_out: object,
        request: gr.Request,
    ) -> Updates:
        """Join the file to the questions, and show what judging it will cost."""
        owner = self._owner(request)
        count, sampled = _known(RUNS, runs)
        options = Options(_known(PROTOCOLS, protocol), count, sampled, _known(MISSING, missing))
        own = OwnJudge(str(model).strip(), self._own(owner, url, key), try_out is True) if judge == OWN else None
        job = self._desk.quote(owner, Wish(str(token), str(questions), options, str(title or ""), own))
        return {**self._shown(job.link, request), self.quote: quote_html(job, self._desk.ceiling)}

    @told
    def on_start(self, link: object, url: object, key: object, request: gr.Request) -> Updates:
        """Start the judging of a quoted job, or go on with one that stopped; the key leaves the page."""
        owner = self._owner(request)
        job = self._desk.jobs.find(str(link))
        own = self._own(owner, url, key) if job and job.own_key else None
        self._desk.start(owner, str(link), own)
        return {**self._shown(str(link), request), self.quote: "", self.key: ""}

    @told
    def on_cancel(self, link: object, request: gr.Request) -> Updates:
        """Stop the judging; what is judged stays."""
        self._desk.jobs.cancel(self._owner(request), str(link))
        return self._shown(str(link), request)

    @told
    def on_delete(self, link: object, request: gr.Request) -> Updates:
        """Delete a job and its report."""
        self._desk.jobs.delete(self._owner(request), str(link))
        return self._shown("", request)

    @told
    def on_look(self, link: object, request: gr.Request) -> Updates:
        """Show how far the job is, and the person's reports."""
        return self._shown(str(link or ""), request)

    def _shown(self, link: str, request: gr.Request) -> Updates:
        """Return the part of the page that follows a job."""
        owner = self._owner(request)
        jobs = self._desk.jobs.of_owner(owner)
        running = next((job for job in jobs if job.state in ("waiting", "judging")), None)
        job = next((job for job in jobs if job.link == link), running)
        state = job.state if job else None
        ahead = self._desk.jobs.ahead(job.link) if job and state == "waiting" else 0
        return {
            self.link: job.link if job else "",
            self.progress: progress_html(job, ahead) if job and state != "quoted" else "",
            self.confirm: gr.update(visible=state == "quoted"),
            self.cancel: gr.update(visible=state in ("waiting", "judging")),
            self.resume: gr.update(visible=state in ("failed", "cancelled", "needs_key")),
            self.delete: gr.update(visible=state in ("done", "failed", "cancelled", "needs_key")),
            self.mine: mine_html(jobs),
            self.clock: gr.Timer(active=state in ("waiting", "judging")),
        }

    def _own(self, owner: str, url: object, key: object) -> Address:
        return Address(str(url or "").strip(), Secret(str(key or "").strip()), owner)

    def _owner(self, request: gr.Request) -> str:
        cookie = sent_cookie(request.headers)
        if cookie is None:
            raise DeskError("Your browser keeps no cookie for this page. Open the page in a tab of its own.")
        return cookie_hash(cookie)


def _known(choices: dict[str, Any], word: object) -> Any:
    if not isinstance(word, str) or word not in choices:
        raise DeskError(f"Choose one of: {', '.join(choices)}.")
    return choices[word]
