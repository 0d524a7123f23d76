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
_FIRST_BENCHMARK = BENCHMARKS["mm-vet"]
"""The benchmark in the menu of a page without a file."""


class ScoringSettings:
    """Fields as attributes; methods return the choices in them. They raise JobServiceError for an invalid choice."""

    def __init__(self, service: JobService, own_form: OwnBenchmarkForm) -> None:
        self._service = service
        self._own_form = own_form
        self._benchmarks = (*offered_benchmarks().values(), OWN_BENCHMARK)
        self._keys_by_name = {benchmark.name: benchmark.key for benchmark in self._benchmarks}
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
        judges = [(t("score.my_own_key"), forms.OWN_JUDGE)]
        self._first_judge = forms.OWN_JUDGE
        """The judge that is chosen at first: the site's, or the visitor's own where the site lends none."""
        if service.operator:
            self._first_judge = service.operator.spec.model
            judges = [(t("score.lent_judge", model=self._first_judge), self._first_judge), *judges]
        self.benchmark = gr.Dropdown(
            self._benchmark_choices(frozenset()),
            value=_FIRST_BENCHMARK.name,
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
        self.protocol = _radio("protocol", _translated(_FIRST_BENCHMARK.protocols))
        missing = _radio("missing", forms.choices("missing", forms.MISSING))
        reference = _radio("reference", forms.choices("reference", forms.REFERENCES))
        context = _radio("context", forms.choices("context", forms.CONTEXTS))
        self.judge = gr.Radio(
            judges, value=self._first_judge, label=t("score.judge"), elem_id="judge"
        )
        self.title = gr.Textbox(
            label=t("score.title"), elem_id="report-title", max_length=MOST_TITLE
        )
        self.parts: Mapping[str, Any] = {
            part.elem_id or "": part for part in (questions, missing, reference, context)
        }
        """The fields that only some benchmarks have, by `Benchmark.parts`."""

    def _benchmark_choices(self, here: Container[str]) -> list[tuple[str, str]]:
        """The menu of benchmarks, in the order of the benchmarks page.

        `here`: keys of those whose questions are on this server.
        """
        groups = by_kind(offered_benchmarks().values())
        choices = [
            (benchmark_line(benchmark, benchmark.key in here), benchmark.name)
            for benchmarks in groups.values()
            for benchmark in benchmarks
        ]
        return [(t("score.own_line"), OWN_BENCHMARK.name), *choices]

    def benchmark_list(self, **update: Any) -> Updates:
        """Returns the update that shows the menu of benchmarks, with where their questions are now."""
        choices = self._benchmark_choices(self._service.benchmarks_here())
        return {self.benchmark: gr.update(visible=True, choices=choices, **update)}

    @property
    def judge_fields(self) -> list[Any]:
        return [self.judge, self.url, self.model, self.key, self.try_out]

    @property
    def file_fields(self) -> list[Any]:
        """The settings of a file, whoever judges it."""
        return [self.benchmark, self.protocol, self.title, self.only, *self.parts.values()]

    @property
    def file_components(self) -> list[Any]:
        """The settings of a file with the text on its benchmark: all that is shown of a file here."""
        return [self.about, *self.file_fields]

    def benchmark_updates(self, benchmark: Benchmark[Any]) -> Updates:
        """Returns the updates that show a benchmark's fields, with the first choices."""
        defaults = self.defaults(benchmark)
        is_own_benchmark = is_own(benchmark.key)
        updates: Updates = {
            **self.benchmark_list(value=self.menu_name(benchmark)),
            self.about: gr.update(
                value="" if is_own_benchmark else summary_html(benchmark),
                visible=not is_own_benchmark,
            ),
            self.title: gr.update(visible=True),
            self.only: gr.update(value="", visible=False),  # `only_updates` shows it
            self.protocol: gr.update(
                choices=_translated(benchmark.protocols),
                value=defaults[self.protocol],
                visible=True,
            ),
        }
        for part, field in self.parts.items():
            updates[field] = gr.update(visible=part in benchmark.parts)
            if field in defaults:
                updates[field]["value"] = defaults[field]
        return updates

    def open_details(self) -> Updates:
        """Returns the update that unfolds the settings."""
        return {self.details: gr.update(visible=True, open=True, label=t("score.details"))}

    @staticmethod
    def details_label(choices: Iterable[str]) -> str:
        """Returns the label of the folded settings, with the choices in them."""
        return t("score.details_of", choices=t("score.comma").join(choices))

    def question_updates(self, names: Sequence[str], chosen: str) -> Updates:
        """Returns the updates that show the question sets or files of these names."""
        value = chosen if chosen in names else None
        update = gr.update(visible=bool(names), choices=_translated(names), value=value)
        return {self.parts["questions"]: update}

    def defaults(self, benchmark: Benchmark[Any]) -> Values:
        """The first choices of a benchmark's fields."""
        return {
            self.protocol: next(iter(benchmark.protocols)),
            self.only: "",
            self.parts["missing"]: forms.MISSING[0],
            self.parts["reference"]: forms.REFERENCES[0],
            self.parts["context"]: forms.CONTEXTS[0],
        }

    def menu_name(self, benchmark: Benchmark[Any]) -> str:
        """The name of a benchmark in the menu, where all own ones have one name."""
        return OWN_BENCHMARK.name if is_own(benchmark.key) else benchmark.name

    def chosen_benchmark(self, values: Values) -> str:
        name = forms.check_choice(self._keys_by_name, values[self.benchmark])
        return self._keys_by_name[name]

    def file_choice(self, values: Values) -> FileChoice:
        """Returns the chosen benchmark and question file, or the spec of the owner's fields. Raises SpecError."""
        benchmark = self.chosen_benchmark(values)
        if not is_own(benchmark):
            return FileChoice(benchmark, self.questions(values))
        spec = self._own_form.spec(values)
        return FileChoice(benchmark, spec=spec.json_text if spec else "")

    def chosen_protocol(self, benchmark: Benchmark[Any], values: Values) -> Any:
        return benchmark.protocols[forms.check_choice(benchmark.protocols, values[self.protocol])]

    def questions(self, values: Values) -> str:
        return str(values[self.parts["questions"]] or "")

    def only_ids(self, values: Values) -> str:
        return str(values[self.only] or "")

    def only_updates(self, benchmark: Benchmark[Any], values: Values) -> Updates:
        """Returns the update that names the questions below a list of ids. Raises RowsError."""
        only = self.only_ids(values)
        has_sets = "questions" in benchmark.parts
        if not has_sets or not only.strip():
            return {self.only: gr.update(info=t("score.only_info"), visible=has_sets)}
        chosen_set = self._service.chosen_questions(self.questions(values), only)
        count = len(chosen_set.questions)
        info = t("score.only_chosen", count=count, name=translated(chosen_set.name))
        return {self.only: gr.update(info=info)}

    def report_title(self, values: Values) -> str:
        return str(values[self.title] or "")

    def options(self, benchmark: Benchmark[Any], values: Values, way: str) -> Options:
        """Returns how answers are judged, with as many runs as this way has."""
        protocol = self.chosen_protocol(benchmark, values)
        runs = forms.RUNS[forms.check_choice(forms.RUNS, way)]
        missing = forms.check_choice(forms.MISSING, values[self.parts["missing"]])
        return Options(
            protocol=protocol,
            runs=runs.count,
            sampled=runs.are_samples,
            missing=missing,
            only=self.only_ids(values),
        )

    def comparison(self, benchmark: Benchmark[Any], values: Values, way: str) -> SubmissionRequest:
        """Returns how answers are compared, with the opponents of this way."""
        protocol = self.chosen_protocol(benchmark, values)
        return SubmissionRequest(
            opponents=forms.OPPONENTS[forms.check_choice(forms.OPPONENTS, way)],
            protocol=protocol,
            reference=forms.check_choice(forms.REFERENCES, values[self.parts["reference"]]),
            context=forms.check_choice(forms.CONTEXTS, values[self.parts["context"]]),
            title=self.report_title(values),
        )

    def own_judge(self, owner: str, values: Values) -> OwnJudge | None:
        """Returns the visitor's own judge; None if the site's is chosen. Raises EndpointError."""
        if values[self.judge] != forms.OWN_JUDGE:
            return None
        model = str(values[self.model] or "").strip()
        return OwnJudge(
            model=model,
            address=endpoint(owner, values[self.url], values[self.key]),
            may_be_tried_out=values[self.try_out] is True,
        )

    def is_another_judge(self, job: Job, values: Values) -> bool:
        """Whether the chosen judge is another than a job's."""
        if values[self.judge] != forms.OWN_JUDGE:
            return job.own_key or values[self.judge] != job.model
        if not job.own_key:
            return True
        model = str(values[self.model] or "").strip()
        if not model:  # No other own judge is named, so the job keeps its own.
            return False
        url = str(values[self.url] or "").strip().rstrip("/")
        return (model, url) != (job.model, job.address)

    def job_updates(self, job: Job) -> Updates:
        """Returns the updates that show a stopped job's judge, where another can be chosen."""
        own_judge = {self.url: job.address, self.model: job.model} if job.own_key else {}
        is_own_judge = job.own_key or self._first_judge == forms.OWN_JUDGE
        return {
            **dict.fromkeys(self.file_components, gr.update(visible=False)),
            **own_judge,
            self.judge: gr.update(
                visible=True, value=forms.OWN_JUDGE if is_own_judge else self._first_judge
            ),
            self.own: gr.update(visible=is_own_judge),
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
