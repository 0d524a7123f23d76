"""Settings of "Score a model": fields for a file's benchmark, protocol and judge, and the choices in them."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import gradio as gr

from arena.inference.endpoint import Endpoint
from arena.locale import t, translated
from arena.types import Secret
from arena.web.events import Updates
from scoring.benchmarks.base import Benchmark
from scoring.benchmarks.listing import benchmark_line, by_kind
from scoring.benchmarks.mm_vet import Options
from scoring.benchmarks.spec_benchmark import is_own
from scoring.jobs.files import FileChoice
from scoring.jobs.service import JobService, OwnJudge
from scoring.jobs.store import Job
from scoring.jobs.submissions import SubmissionRequest
from scoring.registry import BENCHMARKS, OWN_BENCHMARK, offered_benchmarks
from scoring.web import scoring_forms as forms
from scoring.web.benchmarks_page import summary_html
from scoring.web.own_benchmark_form import OwnBenchmarkForm
from scoring.web.scoring_view import SCORING

MOST_IDS = 12_000
"""Letters of a list of ids: MM-Vet v2 has 517, and a program may put each on a line of its own."""
MOST_TITLE = 120
"""Most letters of a model's name, which the page takes; a file's name may have more."""
Values = Mapping[Any, object]
"""The browser's values by component."""
_FIRST = BENCHMARKS["mm-vet"]


class ScoringSettings:
    """Fields as attributes; methods return the choices in them. Raises JobServiceError for an invalid choice."""

    def __init__(self, service: JobService, own_form: OwnBenchmarkForm) -> None:
        self._service = service
        self._own_form = own_form
        self._listed = (*offered_benchmarks().values(), OWN_BENCHMARK)
        self._names = {benchmark.name: benchmark.key for benchmark in self._listed}
        with gr.Column(visible=False, elem_id="own") as self.own:
            self._build_own_judge()
        with gr.Accordion(
            t("score.details"), open=False, visible=False, elem_id="details"
        ) as self.details:
            self._build_details()

    def _build_own_judge(self) -> None:
        address = "https://api.openai.com/v1"
        self.url = gr.Textbox(address, label=t("score.own_url"), elem_id="own-url", max_length=300)
        self.model = gr.Textbox(label=t("score.own_model"), elem_id="own-model", max_length=120)
        self.key = gr.Textbox(
            label=t("score.own_key"), type="password", elem_id="own-key", max_length=500
        )
        gr.HTML(SCORING.key_note())
        self.try_out = gr.Checkbox(False, label=t("score.try_out"), info=t("score.try_out_info"))

    def _build_details(self) -> None:
        service = self._service
        judges = [(t("score.my_own_key"), forms.OWN)]
        self._lent = service.operator.spec.model if service.operator else forms.OWN
        """The choice of the site's judge; that of an own one where none is lent."""
        if service.operator:
            judges = [(t("score.lent_judge", model=self._lent), self._lent), *judges]
        self.benchmark = gr.Dropdown(
            self._choices(frozenset()),
            value=_FIRST.name,
            label=t("score.benchmark"),
            info=t("score.benchmark_info"),
            elem_id="benchmark",
        )
        self.about = gr.HTML(elem_id="about-benchmark", padding=False)
        questions = _radio("questions", _translated(service.question_sets))
        self.only = gr.Textbox(
            label=t("score.only"),
            info=t("score.only_info"),
            elem_id="only",
            lines=2,
            max_lines=4,
            max_length=MOST_IDS,
        )
        gr.HTML(SCORING.list_file("only"), padding=False)
        self.protocol = _radio("protocol", _translated(_FIRST.protocols))
        missing = _radio("missing", forms.choices("missing", forms.MISSING))
        reference = _radio("reference", forms.choices("reference", forms.REFERENCES))
        context = _radio("context", forms.choices("context", forms.CONTEXTS))
        self.judge = gr.Radio(judges, value=self._lent, label=t("score.judge"), elem_id="judge")
        self.title = gr.Textbox(
            label=t("score.title"), elem_id="report-title", max_length=MOST_TITLE
        )
        self.parts: Mapping[str, Any] = {
            part.elem_id or "": part for part in (questions, missing, reference, context)
        }

    def _choices(self, here: Container[str]) -> list[tuple[str, str]]:
        """The benchmarks as the page of all lists them, in the same order; `here`: those whose questions are here."""
        groups = by_kind(offered_benchmarks().values())
        listed = [
            (benchmark_line(benchmark, benchmark.key in here), benchmark.name)
            for benchmarks in groups.values()
            for benchmark in benchmarks
        ]
        return [(t("score.own_line"), OWN_BENCHMARK.name), *listed]

    def list_benchmarks(self, **update: Any) -> Updates:
        """Return the update that shows the list of benchmarks, with where their questions are now."""
        choices = self._choices(self._service.benchmarks_here())
        return {self.benchmark: gr.update(visible=True, choices=choices, **update)}

    @property
    def judge_fields(self) -> list[Any]:
        return [self.judge, self.url, self.model, self.key, self.try_out]

    @property
    def file_fields(self) -> list[Any]:
        """The settings of a file, whoever judges it."""
        return [self.benchmark, self.protocol, self.title, self.only, *self.parts.values()]

    @property
    def file_parts(self) -> list[Any]:
        """All that is shown of it."""
        return [self.about, *self.file_fields]

    def of_benchmark(self, form: Benchmark[Any]) -> Updates:
        """Returns the updates that show a benchmark's fields, with the first choices."""
        defaults = self.defaults(form)
        return {
            **self.list_benchmarks(value=self.listed_name(form)),
            self.about: gr.update(
                value="" if is_own(form.key) else summary_html(form), visible=not is_own(form.key)
            ),
            self.title: gr.update(visible=True),
            self.only: gr.update(
                value="", visible="questions" in form.parts, info=t("score.only_info")
            ),
            **{field: gr.update(visible=part in form.parts) for part, field in self.parts.items()},
            **{
                field: gr.update(value=defaults[field], visible=field.elem_id in form.parts)
                for field in defaults
            },
            self.protocol: gr.update(
                choices=_translated(form.protocols), value=defaults[self.protocol], visible=True
            ),
        }

    def of_sets(self, names: Sequence[str], chosen: str) -> Updates:
        """Returns the updates that show the question sets or files of these names."""
        value = chosen if chosen in names else None
        update = gr.update(visible=bool(names), choices=_translated(names), value=value)
        return {self.parts["questions"]: update}

    def defaults(self, form: Benchmark[Any]) -> Values:
        first = {"missing": forms.MISSING, "reference": forms.REFERENCES, "context": forms.CONTEXTS}
        return {
            self.protocol: next(iter(form.protocols)),
            self.only: "",
            **{self.parts[part]: next(iter(first[part])) for part in first},
        }

    def listed_name(self, form: Benchmark[Any]) -> str:
        """The name of a benchmark in the list, where all own ones have one name."""
        return OWN_BENCHMARK.name if is_own(form.key) else form.name

    def chosen_benchmark(self, values: Values) -> str:
        return self._names[forms.one_of(self._names, values[self.benchmark])]

    def chosen(self, values: Values) -> FileChoice:
        """Returns the chosen benchmark and question file, or the spec of the owner's fields. Raises SpecError."""
        benchmark = self.chosen_benchmark(values)
        if not is_own(benchmark):
            return FileChoice(benchmark, self.questions(values))
        spec = self._own_form.spec(values)
        return FileChoice(benchmark, spec=spec.json_text if spec else "")

    def chosen_protocol(self, form: Benchmark[Any], values: Values) -> Any:
        return form.protocols[forms.one_of(form.protocols, values[self.protocol])]

    def questions(self, values: Values) -> str:
        return str(values[self.parts["questions"]] or "")

    def only_ids(self, values: Values) -> str:
        return str(values[self.only] or "")

    def listed(self, form: Benchmark[Any], values: Values) -> Updates:
        """Returns the update that names the questions below a list of ids. Raises RowsError."""
        only = self.only_ids(values)
        has_sets = "questions" in form.parts
        if not has_sets or not only.strip():
            return {self.only: gr.update(info=t("score.only_info"), visible=has_sets)}
        chosen = self._service.chosen_questions(self.questions(values), only)
        count = len(chosen.questions)
        info = t("score.only_chosen", count=count, name=translated(chosen.name))
        return {self.only: gr.update(info=info)}

    def report_title(self, values: Values) -> str:
        return str(values[self.title] or "")

    def options(self, form: Benchmark[Any], values: Values, way: str) -> Options:
        """Returns how answers are judged, with as many runs as this way has."""
        protocol = self.chosen_protocol(form, values)
        count, sampled = forms.RUNS[forms.one_of(forms.RUNS, way)]
        missing = forms.one_of(forms.MISSING, values[self.parts["missing"]])
        return Options(protocol, count, sampled, missing, only=self.only_ids(values))

    def comparison(self, form: Benchmark[Any], values: Values, way: str) -> SubmissionRequest:
        """Returns how answers are compared, with the opponents of this way."""
        protocol = self.chosen_protocol(form, values)
        return SubmissionRequest(
            opponents=forms.OPPONENTS[forms.one_of(forms.OPPONENTS, way)],
            protocol=protocol,
            reference=forms.one_of(forms.REFERENCES, values[self.parts["reference"]]),
            context=forms.one_of(forms.CONTEXTS, values[self.parts["context"]]),
            title=self.report_title(values),
        )

    def own_judge(self, owner: str, values: Values) -> OwnJudge | None:
        if values[self.judge] != forms.OWN:
            return None
        model = str(values[self.model] or "").strip()
        address = endpoint(owner, values[self.url], values[self.key])
        return OwnJudge(model, address, values[self.try_out] is True)

    def names_another(self, job: Job, values: Values) -> bool:
        """Whether the judge that is chosen is another than a job's."""
        if values[self.judge] != forms.OWN:
            return job.own_key or values[self.judge] != job.model
        model = str(values[self.model] or "").strip()
        url = str(values[self.url] or "").strip().rstrip("/")
        return not job.own_key or (bool(model) and (model, url) != (job.model, job.address))

    def of_job(self, job: Job) -> Updates:
        """Returns the updates that show a stopped job's judge, where another can be chosen."""
        own_judge = {self.url: job.address, self.model: job.model} if job.own_key else {}
        is_own = job.own_key or self._lent == forms.OWN
        return {
            **dict.fromkeys(self.file_parts, gr.update(visible=False)),
            **own_judge,
            self.judge: gr.update(visible=True, value=forms.OWN if is_own else self._lent),
            self.own: gr.update(visible=is_own),
            self.details: gr.update(
                visible=True,
                open=False,
                label=t("score.details_of", choices=t("score.other_judge")),
            ),
        }


def endpoint(owner: str, url: object, key: object) -> Endpoint:
    return Endpoint(str(url or "").strip(), Secret(str(key or "").strip()), owner)


def _translated(names: Iterable[str]) -> list[tuple[str, str]]:
    """Returns names as choices: in the current language, with the names themselves as values."""
    return [(translated(name), name) for name in names]


def _radio(elem_id: str, choices: list[tuple[str, str]]) -> gr.Radio:
    first = choices[0][1]
    return gr.Radio(choices, value=first, label=t(f"score.{elem_id}_label"), elem_id=elem_id)
