"""Page "Score a model": upload a file, see what judging costs, and follow the job.

Jobs are in the database; the page keeps only a job's link, and each handler checks the owner by the voter cookie.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import gradio as gr

from arena.battles.lending import TERMS
from arena.battles.quotas import Networks
from arena.database import DatabaseError, now
from arena.inference.endpoint import Endpoint, EndpointError
from arena.io.tables import SUFFIXES, RowsError
from arena.templates import macros
from arena.types import Secret
from arena.web.cookies import cookie_hash, sent_cookie
from arena.web.events import LATEST, RAW, Updates, shows_errors, still_there
from scoring.benchmarks.base import Benchmark, ChoicesError, Workflow
from scoring.benchmarks.mm_vet import Options, OptionsError
from scoring.benchmarks.predictions import UploadError
from scoring.jobs.service import TRY_OUT, JobService, JobServiceError, OwnJudge
from scoring.jobs.store import KEPT_FREE, Job, JobError
from scoring.jobs.submissions import SubmissionRequest
from scoring.jobs.uploads import UploadStoreError
from scoring.judges.client import JudgeError
from scoring.registry import BENCHMARKS
from scoring.web import scoring_forms as forms
from scoring.web.report_parts import REPORT, file_problems_html

OWN = "My own key"
FIRST = BENCHMARKS["mm-vet"]
Values = Mapping[Any, object]
"""What the browser sends for each component."""


def _problem(error: Exception, *_: object) -> str:
    if isinstance(error, UploadError):
        return REPORT.problems("", "alert", f"{error.file} cannot be scored yet:", error.problems)
    return REPORT.problems("", "alert", error, ())


_shows_errors = shows_errors(
    (UploadError, EndpointError, ChoicesError, DatabaseError, JobServiceError)
    + (UploadStoreError, JobError, JudgeError, OptionsError, RowsError),
    html=_problem,
)


class ScoringTab:
    """Components of the tab as attributes, event handlers as methods; `copied`: uploads leave the machine."""

    def __init__(self, service: JobService, networks: Networks, copied: bool) -> None:
        self._service, self._networks = service, networks
        self._copied = copied
        self._names = {benchmark.name: key for key, benchmark in BENCHMARKS.items()}
        self._ways: Mapping[Workflow, Callable[[str, Any, Values], Job]] = {
            "questions first": self._joined,
            "judge first": self._judged_first,
            "rules first": self._read_first,
            "compare": self._compared,
        }
        self._build()

    def _build(self) -> None:
        gr.HTML(SCORING.lead(), padding=False)
        self.token = gr.Textbox(visible="hidden", elem_id="upload-token")
        self.arrived = gr.Button("Read the file", elem_id="arrived")  # clicked by upload.js; hidden by CSS
        self.link = gr.Textbox(visible="hidden", elem_id="job-link")
        with gr.Row():
            with gr.Column(scale=3, min_width=280):
                self.drop = gr.HTML(SCORING.drop(self._copied, ",".join(SUFFIXES)), padding=False)
                self.problem = gr.HTML(elem_id="scoring-problem", padding=False)
                self.found = gr.HTML(elem_id="found", padding=False)
                self._build_settings()
            with gr.Column(scale=2, min_width=280):
                self.title = gr.Textbox(label="Model name on the report", elem_id="report-title", max_length=120)
                with gr.Column() as self.judging:
                    self._build_judge()
                self.check = gr.Button(FIRST.check, elem_id="check", variant="primary")
                self.quote = gr.HTML(elem_id="quote", padding=False)
                self.confirm = gr.Button("Start judging", elem_id="confirm", variant="primary", visible=False)
                self.progress = gr.HTML(elem_id="progress", padding=False)
                self.rest = gr.Button("Ask a judge", elem_id="rest", visible=False)
                with gr.Row():
                    self.cancel = gr.Button("Cancel", elem_id="cancel", size="sm", visible=False)
                    self.resume = gr.Button("Go on", elem_id="resume", size="sm", visible=False)
                    self.delete = gr.Button("Delete", elem_id="delete", size="sm", visible=False)
        gr.HTML(REPORT.heading("Your reports"), padding=False)
        self.mine = gr.HTML(elem_id="mine", padding=False)
        self.clock = gr.Timer(1.5, active=False)

    def _build_settings(self) -> None:
        self.benchmark = _radio("benchmark", "Benchmark", self._names)
        questions = _radio("questions", "Questions", self._service.question_sets)
        with gr.Row():
            self.protocol = _radio("protocol", "Protocol", FIRST.protocols)
            missing = _radio("missing", "Questions without an answer", forms.MISSING)
        runs = _radio("runs", "Judging", forms.RUNS)
        stored = gr.Dropdown([forms.FILE], value=forms.FILE, label="Answers of", elem_id="stored", visible=False)
        hidden = {"visible": False, "min_width": 180}
        with gr.Row():
            opponents = _radio("opponents", "Opponents", forms.OPPONENTS, **hidden)
            reference = _radio("reference", "The judge is", forms.REFERENCES, **hidden)
            context = _radio("context", "The judge reads", forms.CONTEXTS, **hidden)
        parts = (questions, missing, runs, stored, opponents, reference, context)
        self.parts: Mapping[str, Any] = {part.elem_id or "": part for part in parts}

    def _build_judge(self) -> None:
        operator = self._service.operator
        judges = [*([operator.spec.model] if operator else []), OWN]
        lent = (
            f"{operator.spec.model} is {TERMS}; others use a key of their own"
            if operator and self._service.lending.login
            else None
        )
        self.judge = gr.Radio(judges, value=judges[0], label="Judge", elem_id="judge", info=lent)
        with gr.Group(visible=judges[0] == OWN) as self.own:
            self.url = gr.Textbox(
                "https://api.openai.com/v1", label="Address (OpenAI-compatible)", elem_id="own-url", max_length=300
            )
            self.model = gr.Textbox(label="Judge model", elem_id="own-model", max_length=120)
            self.key = gr.Textbox(label="Key", type="password", elem_id="own-key", max_length=500)
            gr.HTML(SCORING.key_note())
            self.try_out = gr.Checkbox(False, label="Try out a judge that we do not know", info=TRY_OUT)

    def listen(self, page: gr.Blocks) -> None:
        """Bind the handlers; none waits in Gradio's queue, and the browser's input is looked up in the forms."""
        job = [self.link, self.quote, self.confirm, self.progress, self.rest, self.cancel, self.resume, self.delete]
        job += [self.mine, self.clock, self.problem]
        judge = {self.judge, self.url, self.model, self.key, self.try_out}
        parts, questions = self.parts.values(), self.parts["questions"]
        form = {self.token, self.benchmark, self.protocol, *parts, self.title, *judge}
        found = [self.found, self.title, self.benchmark, self.protocol, *parts, self.judging, self.check, *job]
        self.judge.input(self.on_judge, self.judge, self.own, **LATEST)
        self.arrived.click(self.on_arrived, [self.token, questions], found, **LATEST)
        self.benchmark.input(self.on_benchmark, [self.token, self.benchmark, questions], found, **RAW)
        self.check.click(self.on_check, form, job, **RAW)
        self.rest.click(self.on_rest, {self.link, *judge}, job, **RAW)
        begun = [self.link, self.url, self.key]
        gr.on([self.confirm.click, self.resume.click], self.on_start, begun, [*job, self.key], **RAW)
        self.cancel.click(self.on_cancel, self.link, job, **RAW)
        self.delete.click(self.on_delete, self.link, job, **RAW)
        gr.on([page.load, self.clock.tick], self.on_look, self.link, job, **RAW)

    def on_judge(self, judge: object) -> Updates:
        return {self.own: gr.update(visible=judge == OWN)}

    @_shows_errors
    def on_arrived(self, token: object, questions: object, request: gr.Request) -> Updates:
        return self._read(token, questions, request)

    @_shows_errors
    def on_benchmark(self, token: object, name: object, questions: object, request: gr.Request) -> Updates:
        benchmark = _known(self._names, name)
        return self._read(token, questions, request, benchmark) if token else self._form(BENCHMARKS[benchmark])

    @_shows_errors
    def on_check(self, values: Values, request: gr.Request) -> Updates:
        benchmark = _known(self._names, values[self.benchmark])
        job = self._ways[BENCHMARKS[benchmark].way](self._owner(request), benchmark, values)
        return self._shown(job.link, request)

    @_shows_errors
    def on_rest(self, values: Values, request: gr.Request) -> Updates:
        owner, link = self._owner(request), str(values[self.link])
        return self._shown(self._service.judge_rest(owner, link, self._judge(owner, values)).link, request)

    @_shows_errors
    def on_start(self, link: object, url: object, key: object, request: gr.Request) -> Updates:
        owner = self._owner(request)
        job = self._service.jobs.find(str(link))
        own = self._own(owner, url, key) if job and job.own_key else None
        self._service.start(owner, str(link), own, self._networks.of(request))
        return {**self._shown(str(link), request), self.key: ""}

    @_shows_errors
    def on_cancel(self, link: object, request: gr.Request) -> Updates:
        self._service.jobs.cancel(self._owner(request), str(link))
        return self._shown(str(link), request)

    @_shows_errors
    def on_delete(self, link: object, request: gr.Request) -> Updates:
        self._service.delete(self._owner(request), str(link))
        return self._shown("", request)

    @_shows_errors
    def on_look(self, link: object, request: gr.Request) -> Updates:
        """Show the job's progress and the user's reports; a page about a file or a newer job stays as it is.

        The answer may arrive after the user's next action: then the link stays, and the next tick corrects the rest.
        """
        sent = str(link or "")
        looked = self._shown(sent, request)
        if not sent and not looked[self.link]:
            looked = {self.mine: looked[self.mine]}
        elif looked[self.link] == sent:
            looked[self.link] = gr.skip()
        return {self.problem: gr.skip(), **looked}

    def _joined(self, owner: str, benchmark: Any, values: Values) -> Job:
        count, sampled = self._part("runs", forms.RUNS, values)
        protocol, missing = self._protocol(benchmark, values), self._part("missing", forms.MISSING, values)
        options = Options(protocol, count, sampled, missing)
        token, questions, title = (str(values[one] or "") for one in (self.token, self.parts["questions"], self.title))
        return self._service.quote(owner, token, questions, options, title, self._judge(owner, values))

    def _read_first(self, owner: str, benchmark: Any, values: Values) -> Job:
        protocol = self._protocol(benchmark, values)
        return self._service.extract(owner, str(values[self.token]), benchmark, protocol, self._title(values))

    def _judged_first(self, owner: str, benchmark: Any, values: Values) -> Job:
        protocol, judge = self._protocol(benchmark, values), self._judge(owner, values)
        return self._service.judge_file(owner, str(values[self.token]), benchmark, protocol, self._title(values), judge)

    def _compared(self, owner: str, benchmark: Any, values: Values) -> Job:
        request = SubmissionRequest(
            opponents=self._part("opponents", forms.OPPONENTS, values),
            protocol=self._protocol(benchmark, values),
            reference=self._part("reference", forms.REFERENCES, values),
            context=self._part("context", forms.CONTEXTS, values),
            title=self._title(values),
        )
        judge = self._judge(owner, values)
        if values[self.parts["stored"]] == forms.FILE:
            return self._service.compare(owner, str(values[self.token]), request, judge)
        stored = self._part("stored", {str(one): one for one in self._service.submissions.stored()}, values)
        return self._service.compare_stored(owner, stored, request, judge)

    def _part(self, part: str, choices: Mapping[str, Any], values: Values) -> Any:
        return _known(choices, values[self.parts[part]])

    def _protocol(self, benchmark: str, values: Values) -> Any:
        return _known(BENCHMARKS[benchmark].protocols, values[self.protocol])

    def _title(self, values: Values) -> str:
        return str(values[self.title] or "")

    def _form(self, form: Benchmark[Any]) -> Updates:
        protocols = list(form.protocols)
        stored = [forms.FILE, *map(str, self._service.submissions.stored())] if "stored" in form.parts else [forms.FILE]
        return {
            self.benchmark: form.name,
            self.check: gr.update(value=form.check, interactive=True),
            self.protocol: gr.update(choices=protocols, value=protocols[0], visible=True),
            self.judging: gr.update(visible=True),
            **{field: gr.update(visible=part in form.parts) for part, field in self.parts.items()},
            self.parts["stored"]: gr.update(visible="stored" in form.parts, choices=stored, value=forms.FILE),
        }

    def _read(self, token: object, questions: object, request: gr.Request, benchmark: str | None = None) -> Updates:
        owner = self._owner(request)
        recognised = self._service.recognise(owner, str(token), benchmark, still_there(request))
        title, lines, form = recognised.title, recognised.lines, BENCHMARKS[recognised.benchmark]
        check, sets = form.check, {}
        if "questions" in form.parts:
            names = self._service.sets_of(form.key)
            chosen = str(questions) if questions in names else names[0]
            title, lines, graded = self._service.look(owner, str(token), chosen)
            sets = {self.parts["questions"]: gr.update(visible=True, choices=names, value=chosen)}
            if graded:
                check = forms.GRADED
                sets |= dict.fromkeys((self.protocol, self.parts["runs"], self.judging), gr.update(visible=False))
        vanilla = any(problem.blocks == "circular" for problem in recognised.problems)
        return {
            **self._blank(),
            **self._form(BENCHMARKS[benchmark] if benchmark else form),
            **sets,
            self.problem: file_problems_html(recognised.problems),
            self.found: SCORING.found(lines),
            self.title: title,
            self.check: gr.update(value=forms.VANILLA if vanilla else check, interactive=recognised.scorable),
        }

    def _blank(self) -> Updates:
        """Return the updates that clear an earlier file's job; the job continues and stays in the list."""
        buttons = (self.rest, self.confirm, self.cancel, self.resume, self.delete)
        return {self.link: "", self.quote: "", self.progress: "", **{one: gr.update(visible=False) for one in buttons}}

    def _shown(self, link: str, request: gr.Request) -> Updates:
        owner = self._owner(request)
        jobs = self._service.jobs.of_owner(owner)
        job = next((job for job in jobs if job.link == link), None) or followed(jobs)
        state = job.state if job else None
        ahead = self._service.jobs.ahead(job.link) if job and state == "waiting" else 0
        left, form = (self._service.left(job), BENCHMARKS[job.benchmark]) if job else (0, FIRST)
        return {
            self.link: job.link if job else "",
            self.quote: quote_html(job, self._service.ceiling) if job and state == "quoted" else "",
            self.progress: progress_html(job, ahead) if job and state != "quoted" else "",
            self.rest: gr.update(visible=left > 0, value=form.rest.format(left=counted(left, form.unit))),
            self.confirm: gr.update(visible=state == "quoted"),
            self.cancel: gr.update(visible=state in ("waiting", "judging")),
            self.resume: gr.update(visible=state in ("failed", "cancelled", "needs_key")),
            self.delete: gr.update(visible=state in ("done", "failed", "cancelled", "needs_key")),
            self.mine: mine_html(jobs),
            self.clock: gr.Timer(active=state in ("waiting", "judging")),
        }

    def _judge(self, owner: str, values: Values) -> OwnJudge | None:
        if values[self.judge] != OWN:
            return None
        address = self._own(owner, values[self.url], values[self.key])
        return OwnJudge(str(values[self.model] or "").strip(), address, values[self.try_out] is True)

    def _own(self, owner: str, url: object, key: object) -> Endpoint:
        return Endpoint(str(url or "").strip(), Secret(str(key or "").strip()), owner)

    def _owner(self, request: gr.Request) -> str:
        cookie = sent_cookie(request.headers)
        if cookie is None:
            raise JobServiceError("Your browser keeps no cookie for this page. Open the page in a tab of its own.")
        return cookie_hash(cookie)


def _known(choices: Mapping[str, Any], word: object) -> Any:
    if not isinstance(word, str) or word not in choices:
        raise JobServiceError(f"Choose one of: {', '.join(choices)}.")
    return choices[word]


def _radio(elem_id: str, label: str, choices: Iterable[str], **more: Any) -> gr.Radio:
    labels = list(choices)
    return gr.Radio(labels, value=labels[0], label=label, elem_id=elem_id, **more)


SCORING = macros("scoring.html")
STATE_WORDS = {
    "quoted": "not started",
    "waiting": "waiting",
    "judging": "being judged",
    "needs_key": "needs its key",
    "done": "done",
    "failed": "stopped",
    "cancelled": "cancelled",
}


def quote_html(job: Job, ceiling: float) -> str:
    """Return the cost of judging, shown before anything is sent; the operator's judge stops at `ceiling` US dollars."""
    quote = job.quote
    if quote.dollars is None or quote.most_dollars is None:
        price = "Its price is not in the table, so the cost is unknown: your account at the judge is the limit."
    elif quote.dollars == 0:
        price = "It costs nothing."
    else:
        most = quote.most_dollars if job.own_key else min(quote.most_dollars, ceiling)
        stop = "; calls that fail come on top." if job.own_key else ": there it stops."
        price = SCORING.price(f"${quote.dollars:,.2f}", f"at most ${most:,.2f}{stop}")
    form = BENCHMARKS[job.benchmark]
    asked = counted(quote.grades, form.unit)
    if form.way == "compare":
        asked = f"{counted(quote.grades // 2, 'pair')} x 2 orders = {asked}"
    cached = f" {quote.cached:,} replies are here already and cost nothing." if quote.cached else ""
    sent = f"about {_tokens(quote.prompt_tokens)} tokens sent, {_tokens(quote.completion_tokens)} received"
    return SCORING.quote(counted(quote.calls, "call"), f"to {job.model} for {asked}: {sent}.{cached}", price)


def progress_html(job: Job, ahead: int) -> str:
    if not job.model:
        kept = [f"Kept until {job.finished + KEPT_FREE:%Y-%m-%d}."] if job.finished else []
        return SCORING.progress(job, "read by rules alone", None, kept)
    words = {
        "waiting": f"Waiting: {ahead} ahead of yours." if ahead else "Waiting: next.",
        "judging": _pace(job),
        "needs_key": "The server was restarted and keeps no keys: give yours again to go on. What is judged stays.",
        "failed": job.problem,
        "cancelled": "Cancelled. What is judged stays; it can go on from here.",
    }.get(job.state, "")
    text = f"{job.done:,} of {counted(job.total, BENCHMARKS[job.benchmark].unit)}. {words}"
    return SCORING.progress(job, STATE_WORDS[job.state], job.done / job.total if job.total else 0, [text])


def mine_html(jobs: Sequence[Job]) -> str:
    listed = []
    for job in jobs:
        about = (
            BENCHMARKS[job.benchmark].name,
            job.protocol,
            job.model or "rules alone",
            f"{job.created:%Y-%m-%d %H:%M}",
        )
        listed.append((job, STATE_WORDS[job.state], about))
    return SCORING.mine(listed)


def followed(jobs: Sequence[Job]) -> Job | None:
    """Return the job to show on a page without one: the active one, or the newest if rules alone made it."""
    running = next((job for job in jobs if job.state in ("waiting", "judging")), None)
    return running or next((job for job in jobs[:1] if job.state == "done" and not job.model), None)


def _pace(job: Job) -> str:
    seconds = (now() - job.started).total_seconds() if job.started else 0
    if seconds < 3 or not job.fresh:
        return "Judging."
    rate = job.fresh / seconds
    left = (job.total - job.done) / rate
    cost = f" About ${job.quote.dollars:,.2f} in all." if job.quote.dollars else ""
    return f"{rate * 60:.0f} grades a minute, {_duration(left)} left.{cost}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(5, round(seconds / 5) * 5)} seconds"
    return f"about {round(seconds / 60)} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"


def _tokens(count: int) -> str:
    return f"{count / 1_000_000:.2f} million" if count >= 1_000_000 else f"{count:,}"


def counted(number: int, unit: str) -> str:
    """Return a number with its unit: "1 call", "2 calls"."""
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
