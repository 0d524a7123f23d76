"""Page "Score a model": drop a file, see what it is, choose how it is judged and for how much, and follow the job.

Jobs are in the database; the page keeps only a job's link, and each handler checks the owner by the voter cookie.
"""

import json
from typing import Any

import gradio as gr

from arena.battles.quotas import Networks
from arena.inference.endpoint import EndpointError
from arena.locale import t, translated
from arena.web.events import LATEST, RAW, REFUSED, Updates, into_view, still_there
from arena.web.visitor_api import sent_hash
from scoring.benchmarks.base import Benchmark, FileBenchmark
from scoring.benchmarks.spec_benchmark import OWN, SpecBenchmark, is_own
from scoring.jobs.files import FROM_FILE, FileChoice, JobServiceError, Recognised
from scoring.jobs.service import JobService
from scoring.jobs.store import Job
from scoring.jobs.uploads import ACCEPTED_ENDINGS
from scoring.registry import BENCHMARKS, OWN_BENCHMARK
from scoring.web import scoring_forms as forms
from scoring.web.file_offers import FileOffers
from scoring.web.job_panel import HIDDEN, JobPanel, button
from scoring.web.own_benchmark_form import OwnBenchmarkForm
from scoring.web.report_parts import REPORT, file_problems_html
from scoring.web.scoring_problems import ERRORS, FILE_ERRORS, problem_html, shows_problems
from scoring.web.scoring_settings import MOST_TITLE, ScoringSettings, Values, endpoint
from scoring.web.scoring_view import SCORING
from scoring.web.trial_watch import TrialWatch, waits_for_trial

SHOWN = gr.update(visible=True)
_LEEWAY = 1.02
"""A job draws canaries anew, so that its cost is never quite the one that was shown."""
_NAME_IT = JobServiceError(
    "Your judge has no name. Enter its address, model and key above, then press again."
)


class ScoringTab:
    """Components of the tab as attributes, event handlers as methods; `copied`: the backup copies uploads elsewhere."""

    def __init__(self, service: JobService, networks: Networks, copied: bool) -> None:
        self._service = service
        self._networks = networks
        self.token = gr.Textbox(visible="hidden", elem_id="upload-token")
        self.jobs = JobPanel(service)
        self.link = self.jobs.link
        self.prices = gr.Textbox(visible="hidden", elem_id="told-prices")
        self.watch = TrialWatch()
        # clicked by upload.js; hidden by CSS
        self.arrived = gr.Button(t("score.read_file"), elem_id="arrived")
        with gr.Column(elem_id="scoring"):
            self._build(copied)

    def _owner(self, request: gr.Request) -> str:
        """Returns the owner of a visitor's jobs. Raises NoVisitorError."""
        return self._service.jobs.owners.owner_of(sent_hash(request.headers))

    def _job_updates(self, link: str, request: gr.Request) -> Updates:
        return self.jobs.updates(self._owner(request), link, self.settings)

    def _build(self, copied: bool) -> None:
        gr.HTML(SCORING.lead(), padding=False)
        self.drop = gr.HTML(SCORING.drop(copied, ",".join(ACCEPTED_ENDINGS)), padding=False)
        self.bank = gr.Button(t("score.of_bank"), elem_id="of-bank", size="sm", visible=False)
        self.file_summary = gr.HTML(elem_id="found", padding=False)
        self.make_own = button("make-own", t("score.make_own"), "secondary")
        self.stored = gr.Dropdown([], label=t("score.stored"), elem_id="stored", visible=False)
        self.own_form = OwnBenchmarkForm()
        self.offers = gr.Radio([], label=t("score.offers"), elem_id="offers", visible=False)
        self.jobs.build_progress()
        self.settings = ScoringSettings(self._service, self.own_form)
        self._file_offers = FileOffers(self._service, self.settings, self.token, self.stored)
        with gr.Row(elem_id="actions"):
            self.check = button("check", t("score.start"))
            self.jobs.build_buttons()
        self.problem = gr.HTML(elem_id="scoring-problem", padding=False)
        gr.HTML(REPORT.heading(t("score.mine"), "mine-heading"), padding=False)
        self.jobs.build_list()
        gr.HTML(SCORING.more(), padding=False)

    def listen(self, page: gr.Blocks) -> None:
        """Binds the handlers. None waits in Gradio's queue; each checks the browser's choices against the forms'."""
        settings = self.settings
        inputs = {
            self.token,
            self.link,
            self.stored,
            self.offers,
            self.prices,
            *settings.judge_fields,
            *settings.file_fields,
            *self.own_form.inputs,
        }
        job_outputs = [*self.jobs.parts, self.problem]
        all_outputs = [
            *job_outputs,
            self.offers,
            self.prices,
            self.check,
            self.stored,
            self.bank,
            self.token,
            self.file_summary,
            settings.own,
            settings.judge,
            settings.url,
            settings.model,
            settings.key,
            settings.details,
            *settings.file_components,
            *self.watch.parts,
            self.make_own,
            *self.own_form.parts,
        ]
        self._listen_to_buttons(inputs, all_outputs)
        self._listen_to_settings(inputs, all_outputs)
        chosen = (settings.own, settings.judge, settings.url, settings.model, settings.details)
        look_outputs = [*job_outputs, self.bank, *chosen, *settings.file_components]
        looks = [page.load, self.jobs.clock.tick]
        gr.on(looks, self.on_look, [self.link, self.token], look_outputs, **RAW)
        self.problem.change(None, js=into_view("#scoring-problem .problems"))

    def _listen_to_buttons(self, inputs: set[Any], all_outputs: list[Any]) -> None:
        settings = self.settings
        starts = [self.jobs.confirm.click, self.jobs.resume.click]
        rest = {self.link, *settings.judge_fields}
        buttons = [
            self.arrived.click(self.on_arrived, inputs, all_outputs, **LATEST),
            self.bank.click(self.on_bank, inputs, all_outputs, **RAW),
            settings.benchmark.input(self.on_benchmark, inputs, all_outputs, **RAW),
            self.make_own.click(self.on_own, inputs, all_outputs, **RAW),
            settings.parts["questions"].input(self.on_questions, inputs, all_outputs, **RAW),
            self.check.click(self.on_check, inputs, all_outputs, **RAW),
            self.jobs.rest.click(self.on_rest, rest, all_outputs, **RAW),
            gr.on(starts, self.on_start, rest, all_outputs, **RAW),
            self.jobs.cancel.click(self.on_cancel, self.link, all_outputs, **RAW),
            self.jobs.delete.click(self.on_delete, self.link, all_outputs, **RAW),
        ]
        self.watch.clock.tick(self.on_tried, {*inputs, self.watch.handler}, all_outputs, **RAW)
        refused = problem_html(JobServiceError(REFUSED))
        for event in buttons:
            event.failure(None, None, self.problem, js=f"() => {json.dumps(refused)}")

    def _listen_to_settings(self, inputs: set[Any], all_outputs: list[Any]) -> None:
        settings = self.settings
        offer_inputs = {self.offers, self.prices, settings.judge, settings.key}
        self.offers.input(self.on_offer, offer_inputs, [settings.own, settings.judge], **LATEST)
        parts = [part for name, part in settings.parts.items() if name != "questions"]
        choices = [settings.protocol, self.stored, settings.judge, *parts]
        chosen = [choice.input for choice in choices]
        typed = [settings.url.change, settings.model.change]
        left = [settings.url.blur, settings.model.blur, settings.title.blur, settings.only.blur]
        # The browser clears the message as soon as the visitor types. The server's answer could come late and erase a
        # newer message; clearing when a field is left would shorten the page and move the button from under the finger.
        gr.on([*chosen, *typed], None, None, self.problem, js='() => ""')
        changed = [*chosen, *left, *self.own_form.changes]
        gr.on(changed, self.on_change, inputs, all_outputs, **LATEST)

    @shows_problems
    def on_arrived(self, values: Values, request: gr.Request) -> Updates:
        try:
            return self._read_file(values, request)
        except ERRORS as error:
            if values[self.link] and not values[self.token]:
                # an upload failed, and upload.js says why; the job on the page stays as it is
                return {self.problem: ""}
            hidden = [self.offers, self.check, self.stored, self.settings.own, self.settings.judge]
            hidden += self.settings.file_components
            no_file = {
                **dict.fromkeys(hidden, HIDDEN),
                **self.own_form.hiding_updates(),
                self.file_summary: "",
            }
            if not values[self.token]:  # the file did not come, and upload.js says why
                return {
                    **no_file,
                    self.make_own: HIDDEN,
                    self.settings.details: HIDDEN,
                    self.problem: "",
                }
            label = t("score.details_of", choices=t("score.choose_benchmark"))
            details = gr.update(visible=True, open=False, label=label)
            return {
                **self.jobs.blank_updates(),
                **no_file,
                self.settings.details: details,
                **self.settings.benchmark_list(),
                self.file_summary: SCORING.own_hint(),
                self.make_own: SHOWN,
                self.problem: problem_html(error),
            }

    @shows_problems
    def on_benchmark(self, values: Values, request: gr.Request) -> Updates:
        return self._read_file(values, request, FileChoice(self.settings.chosen_benchmark(values)))

    @shows_problems
    def on_own(self, values: Values, request: gr.Request) -> Updates:
        """Shows the fields of an own benchmark, filled in from the file."""
        return self._read_file(values, request, FileChoice(OWN))

    @shows_problems
    def on_questions(self, values: Values, request: gr.Request) -> Updates:
        """Reads the file with another question file; for free answers only the price changes."""
        if isinstance(self._benchmark(values, request), FileBenchmark):
            return self._read_file(values, request, self.settings.file_choice(values))
        return self.on_change(values, request)

    @shows_problems
    def on_bank(self, values: Values, request: gr.Request) -> Updates:
        """Compare a model whose answers are in the item bank, without a file."""
        names = [str(stored) for stored in self._service.submissions.stored_models()]
        benchmark = BENCHMARKS["visit-bench"]
        if not names:
            raise JobServiceError(
                "No model here has answers yet. Upload a file of your model's answers instead."
            )
        defaults = {
            **values,
            self.token: "",
            self.stored: names[0],
            self.settings.title: "",
            **self.settings.defaults(benchmark),
        }
        return {
            **self.jobs.blank_updates(),
            **self.watch.over(),
            **self._form_updates(benchmark),
            **self._price_updates(benchmark, defaults, request),
            self.token: "",
            self.file_summary: "",
            **self.own_form.hiding_updates(),
            self.make_own: HIDDEN,
            self.bank: HIDDEN,
            self.stored: gr.update(visible=True, choices=names, value=names[0]),
        }

    def on_offer(self, values: Values) -> Updates:
        """Shows the fields of an own judge for an offer that the operator doesn't pay."""
        dollars = forms.quoted_dollars(values[self.prices], values[self.offers])
        judge = values[self.settings.judge]
        key = values[self.settings.key]
        operator = self._service.operator
        is_too_dear = dollars is not None and dollars > self._service.ceiling
        if operator and is_too_dear:
            judge = forms.OWN_JUDGE
        elif operator and judge == forms.OWN_JUDGE and dollars is not None and not key:
            judge = operator.spec.model
        return {
            self.settings.own: gr.update(visible=judge == forms.OWN_JUDGE),
            self.settings.judge: judge,
        }

    @shows_problems
    def on_change(self, values: Values, request: gr.Request) -> Updates:
        # with neither a file nor a stored model, the page shows a report, and a judge may read its open answers
        if not values[self.token] and not values[self.stored]:
            is_own_judge = values[self.settings.judge] == forms.OWN_JUDGE
            own_update = gr.update(visible=is_own_judge)
            return {self.problem: gr.skip(), self.settings.own: own_update}
        # without a link no job was shown, but one may have been started meanwhile: that stays
        no_job = self.jobs.blank_updates() if values[self.link] else {}
        if is_own(self.settings.chosen_benchmark(values)):
            look = self._service.own_look(self._owner(request), str(values[self.token]))
            fitted = self.own_form.dependent_updates(values, look)
            changed = {**fitted, **self._check_updates(values, request)}
        else:
            changed = self._price_updates(self._benchmark(values, request), values, request)
        return {self.problem: gr.skip(), **no_job, **changed}

    @shows_problems
    @waits_for_trial
    def on_check(self, values: Values, request: gr.Request) -> Updates:
        owner = self._owner(request)
        benchmark = self._benchmark(values, request)
        offer_key = str(values[self.offers] or "")
        dollars = forms.quoted_dollars(values[self.prices], offer_key)
        token = str(values[self.token])
        title = self.settings.report_title(values)
        if benchmark.way == "rules first":
            protocol = self.settings.chosen_protocol(benchmark, values)
            chosen = self.settings.file_choice(values)
            job = self._service.report_by_rules(owner, token, chosen, protocol, title)
        elif self._file_offers.is_graded(owner, benchmark, values):
            questions = self.settings.questions(values)
            options = self.settings.options(benchmark, values, "once")
            job = self._service.report_grades(owner, token, questions, options, title)
        else:
            judge = self.settings.own_judge(owner, values)
            network = self._networks.of(request)
            self._service.check_judge(owner, judge, network)
            draft = self._file_offers.draft(owner, benchmark, values, offer_key)
            job = self._service.quote(owner, draft, judge, network)
            return self._start_at_price(job, dollars, values, request)
        return self._show_job(job.link, request)

    @shows_problems
    @waits_for_trial
    def on_rest(self, values: Values, request: gr.Request) -> Updates:
        owner = self._owner(request)
        link = str(values[self.link])
        judge = self.settings.own_judge(owner, values)
        has_judge = bool(judge.model) if judge else not self._service.why_not_lent(owner)
        if not has_judge:  # an own one is needed, so its fields open in both cases
            return {
                self.settings.own: SHOWN,
                self.settings.judge: forms.OWN_JUDGE,
                self.problem: problem_html(_NAME_IT),
            }
        draft = self._service.draft_rest(owner, link)
        dollars = None if judge else self._service.price(owner, draft, None).dollars
        job = self._service.quote(owner, draft, judge, self._networks.of(request))
        return self._start_at_price(job, dollars, values, request)

    @shows_problems
    @waits_for_trial
    def on_start(self, values: Values, request: gr.Request) -> Updates:
        """Starts a job, or continues a stopped one; with another judge, it is quoted anew."""
        owner = self._owner(request)
        link = str(values[self.link])
        job = self._service.jobs.find(link)
        if job and job.is_stopped and self.settings.is_another_judge(job, values):
            judge = self.settings.own_judge(owner, values)
            if judge and not judge.model:
                raise _NAME_IT
            network = self._networks.of(request)
            quoted = self._service.with_another_judge(owner, link, judge, network)
            return self._start_at_price(quoted, None, values, request)
        return self._run(job, link, values, request)

    def _run(self, job: Job | None, link: str, values: Values, request: gr.Request) -> Updates:
        owner = self._owner(request)
        own_endpoint = None
        if job and job.own_key:
            own_endpoint = endpoint(owner, values[self.settings.url], values[self.settings.key])
        if own_endpoint and not own_endpoint.key.reveal():
            raise JobServiceError(
                "Your judge's key isn't stored. Enter it again above, then press again."
            )
        self._service.start(owner, link, own_endpoint, self._networks.of(request))
        return self._show_job(link, request)

    @shows_problems
    def on_tried(self, values: Values, request: gr.Request) -> Updates:
        """Continues the pressed button's act, once its judge was tried out."""
        owner = self._owner(request)
        pressed = self.watch.waiting(
            {"on_check": self.on_check, "on_rest": self.on_rest, "on_start": self.on_start}, values
        )
        try:
            judge = self.settings.own_judge(owner, values)
        except EndpointError:  # it is being typed anew
            judge = None
        state = self._service.trial_state(owner, judge) if judge and pressed else "none"
        if state == "runs":
            return {self.problem: gr.skip()}
        if state == "none" or pressed is None:
            return {**self.watch.over(), self.problem: gr.skip()}
        return {**self.watch.over(), **pressed(values, request)}

    @shows_problems
    def on_cancel(self, link: object, request: gr.Request) -> Updates:
        self._service.jobs.cancel(self._owner(request), str(link))
        return self._job_updates(str(link), request)

    @shows_problems
    def on_delete(self, link: object, request: gr.Request) -> Updates:
        self._service.delete(self._owner(request), str(link))
        return self._show_job("", request)

    @shows_problems
    def on_look(self, link: object, token: object, request: gr.Request) -> Updates:
        """Shows the job's progress and the user's reports; a page about a file or a newer job stays as it is.

        The page's address may name a job. The answer may arrive after the user's next action: then the link stays, and
        the next tick corrects the rest.
        """
        shown_link = str(link or "")
        wanted_link = shown_link
        if not shown_link and not token:
            wanted_link = request.query_params.get("job", "")
        updates = self._job_updates(wanted_link, request)
        job_list = {self.jobs.job_list: updates[self.jobs.job_list]}
        if token and not wanted_link:  # a file is open, and no job
            updates = {**self.jobs.blank_updates(), **job_list}
        elif not wanted_link and not updates[self.link]:  # nothing is open
            has_stored = bool(self._service.submissions.stored_models())
            updates = {self.bank: gr.update(visible=has_stored), **job_list}
        if updates.get(self.link) == shown_link:  # a late answer must not undo a newer link
            updates[self.link] = gr.skip()
        return {self.problem: gr.skip(), **updates}

    def _start_at_price(
        self, job: Job, dollars: float | None, values: Values, request: gr.Request
    ) -> Updates:
        """Starts a job at the price that was shown; if it costs more, or had none, shows the price and asks again."""
        cost = job.quote.dollars
        if cost is None or cost > (dollars or 0) * _LEEWAY + 0.01:
            updates = self._job_updates(job.link, request)
            return {**updates, self.check: HIDDEN, self.jobs.rest: HIDDEN}
        return self._run(job, job.link, values, request)

    def _show_job(self, link: str, request: gr.Request) -> Updates:
        """Shows a job in place of the file that it scores."""
        choice = (self.offers, self.settings.own, self.settings.details, self.check)
        return {
            **dict.fromkeys(choice, HIDDEN),
            **self.own_form.hiding_updates(),
            self.token: "",
            self.file_summary: "",
            self.settings.key: "",
            self.make_own: HIDDEN,
            **self._job_updates(link, request),
            self.stored: gr.update(visible=False, value=None),
        }

    def _benchmark(self, values: Values, request: gr.Request) -> Benchmark[Any]:
        """Returns the benchmark to score a file by. Raises the errors of reading a spec."""
        chosen = self.settings.file_choice(values)
        return self._service.chosen_benchmark(self._owner(request), str(values[self.token]), chosen)

    def _form_updates(self, benchmark: Benchmark[Any]) -> Updates:
        return {
            self.check: _check_button(translated(benchmark.start)),
            self.bank: HIDDEN,
            self.stored: gr.update(visible=False, value=None),
            **self.settings.benchmark_updates(benchmark),
        }

    def _read_file(
        self, values: Values, request: gr.Request, chosen: FileChoice = FROM_FILE
    ) -> Updates:
        owner = self._owner(request)
        token = str(values[self.token])
        if is_own(chosen.benchmark) or (
            not chosen.benchmark and self._service.brings_spec(owner, token)
        ):
            return self._read_own(values, request)
        recognised = self._service.recognise(owner, token, chosen, still_there(request))
        key = chosen.benchmark or recognised.benchmark
        benchmark = self._service.chosen_benchmark(owner, token, chosen._replace(benchmark=key))
        set_names = recognised.question_files
        if "questions" in benchmark.parts:
            set_names = self._service.sets_of(benchmark.key)
            questions = values[self.settings.parts["questions"]] if chosen.benchmark else None
            recognised = self._service.describe_answers(owner, token, benchmark.key, questions)
        chosen_set = recognised.questions or chosen.questions
        title = recognised.title[:MOST_TITLE]
        sent = {
            **values,
            self.settings.benchmark: self.settings.menu_name(benchmark),
            self.settings.title: title,
            self.stored: None,
            **self.settings.defaults(benchmark),
            self.settings.parts["questions"]: recognised.questions,
        }
        return {
            **self.jobs.blank_updates(),
            **self.watch.over(),
            **self._form_updates(benchmark),
            **self.own_form.hiding_updates(),
            **self.settings.question_updates(set_names, chosen_set),
            self.make_own: gr.update(visible=not recognised.scorable),
            self.file_summary: SCORING.found(recognised, file_problems_html(recognised.problems)),
            self.settings.title: gr.update(value=title, visible=True),
            **self._choice_updates(recognised, benchmark, sent, request),
        }

    def _choice_updates(
        self, recognised: Recognised, benchmark: Benchmark[Any], values: Values, request: gr.Request
    ) -> Updates:
        """Returns a recognised file's choices with their prices, and its button, grey if the file can't be scored."""
        if not recognised.scorable:
            return {
                **dict.fromkeys((self.offers, self.settings.own), HIDDEN),
                **self.settings.open_details(),
                self.check: _check_button(translated(benchmark.start), can_press=False),
            }
        choice = self._price_updates(benchmark, values, request)
        if self.settings.only in choice:  # its list was for another file
            choice[self.settings.only]["value"] = ""
        if any(problem.blocks == "circular" for problem in recognised.problems):
            choice[self.check] = _check_button(t("score.vanilla"))
        return choice

    def _read_own(self, values: Values, request: gr.Request) -> Updates:
        """Shows a file with the fields of an own benchmark, or with the spec that came with it."""
        look = self._service.own_look(self._owner(request), str(values[self.token]))
        sent = {
            **values,
            **self.own_form.field_values(look),
            self.settings.benchmark: OWN_BENCHMARK.name,
            self.settings.title: "",
            self.stored: None,
        }
        try:
            benchmark = self._benchmark(sent, request)
        except FILE_ERRORS:  # `_check_updates` meets the same error and shows it
            benchmark = OWN_BENCHMARK
        sent |= self.settings.defaults(benchmark)
        return {
            **self.jobs.blank_updates(),
            **self.watch.over(),
            **self._form_updates(benchmark),
            **self.own_form.updates(look),
            self.file_summary: "",
            self.make_own: HIDDEN,
            **self._check_updates(sent, request),
        }

    def _check_updates(self, values: Values, request: gr.Request) -> Updates:
        """Shows the check of a file by an own benchmark, with its price, or the problems to correct first."""
        owner = self._owner(request)
        judge = self.settings.own_judge(owner, values)
        unpriced = dict.fromkeys((self.offers, self.settings.own, self.check), HIDDEN)
        try:
            benchmark = self._benchmark(values, request)
            assert isinstance(benchmark, SpecBenchmark)
            chosen = self.settings.file_choice(values)
            own_check = self._service.own_check(owner, str(values[self.token]), chosen, judge)
        except FILE_ERRORS as error:
            folded = gr.update(visible=True, open=False, label=t("score.details"))
            problems = self.own_form.problem_updates(error)
            return {**unpriced, **problems, self.settings.details: folded}
        is_named = bool(judge.model) if judge else self._service.operator is not None
        check_updates = self.own_form.check_updates(values, benchmark.spec, own_check, is_named)
        title = str(values[self.settings.title] or "")
        title_update: Updates = {}
        if not title:  # else the field stays: the visitor may be typing in it
            title = own_check.title[:MOST_TITLE]
            title_update = {self.settings.title: gr.update(value=title, visible=True)}
        if own_check.check is None:
            return {**unpriced, **check_updates, **title_update}
        priced = self._price_updates(benchmark, {**values, self.settings.title: title}, request)
        return {**check_updates, **title_update, **priced}

    def _price_updates(
        self, benchmark: Benchmark[Any], values: Values, request: gr.Request
    ) -> Updates:
        """Returns the choices for a file with their prices, or the problems that keep it from being judged."""
        owner = self._owner(request)
        operator = self._service.operator
        name = translated(benchmark.name)
        try:
            only_updates = self.settings.only_updates(benchmark, values)
            protocol = translated(str(values[self.settings.protocol] or ""))
            if benchmark.way == "rules first":
                free = self._free_updates(translated(benchmark.start), [name, protocol])
                return {**free, **only_updates}
            if self._file_offers.is_graded(owner, benchmark, values):
                # its grades were made under one protocol, so there is none to choose
                free = self._free_updates(t("score.graded"), [name])
                return {**free, **only_updates, self.settings.protocol: HIDDEN}
            why_not_lent = self._service.why_not_lent(owner)
            judge = forms.OWN_JUDGE if why_not_lent else values[self.settings.judge]
            sent = {**values, self.settings.judge: judge}
            offers = self._file_offers.offers(owner, benchmark, sent)
            chosen = forms.choose_offer(offers, values[self.offers])
            judge = forms.OWN_JUDGE if chosen.hindrance else judge
        except (*FILE_ERRORS, JobServiceError) as error:
            hidden = dict.fromkeys((self.offers, self.settings.own, self.check), HIDDEN)
            return {**hidden, **self.settings.open_details(), self.problem: problem_html(error)}
        is_own_judge = judge == forms.OWN_JUDGE
        judged_by = t("score.judged_by_own")
        if operator and not is_own_judge:
            judged_by = t("score.judged_by", model=operator.spec.model)
        label = self.settings.details_label([name, protocol, judged_by])
        info = translated(why_not_lent) if operator else t("score.no_lent_judge")
        choice: dict[str, Any] = {
            "choices": [(offer.text, offer.key) for offer in offers],
            "info": info or None,
        }
        if chosen.key != values[self.offers]:  # else no value, so that a newer choice stays
            choice["value"] = chosen.key
        return {
            **only_updates,
            self.offers: gr.update(visible=True, **choice),
            self.prices: forms.prices_text(offers),
            self.settings.own: gr.update(visible=is_own_judge),
            self.settings.judge: gr.update(visible=True, value=judge),
            self.settings.details: gr.update(visible=True, label=label),
            self.check: _check_button(translated(benchmark.start)),
        }

    def _free_updates(self, check: str, details: list[str]) -> Updates:
        """Returns the updates for a file that needs no judge, with the text of the button."""
        label = self.settings.details_label(details)
        return {
            **dict.fromkeys((self.offers, self.settings.own, self.settings.judge), HIDDEN),
            self.settings.details: gr.update(visible=True, open=False, label=label),
            self.check: _check_button(check),
        }


def _check_button(text: str, can_press: bool = True) -> Any:
    return gr.update(value=text, visible=True, interactive=can_press)
