"""Command `score`: outputs of any benchmark, recognised from the file or named, become a report in a folder."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option, Typer

from arena.io.tables import ANSWERS
from arena.settings import Settings
from scoring.benchmarks.base import Benchmark, ChoicesError, OpenedFile, Workflow
from scoring.benchmarks.spec_benchmark import own_benchmark
from scoring.cli import progress
from scoring.cli.questions_first import questions_first
from scoring.cli.rules_first import rules_first
from scoring.cli.score_request import NO_FILE, ScoreRequest, option_lines, read_options
from scoring.cli.visit_bench import compare
from scoring.jobs.service import question_sets
from scoring.questions.library import QuestionLibrary, offer_specs
from scoring.questions.opening import open_joined_file, whole_file
from scoring.registry import BENCHMARKS, answers_any, recognise, unrecognised_error
from scoring.report import QuestionSet
from scoring.specs.files import SPEC_ENDINGS
from scoring.specs.other_forms import load_benchmarks
from scoring.visit_bench.sealed import SEALED_ITEMS

app = Typer(rich_markup_mode=None)
WAYS: Mapping[Workflow, Callable[[Any, ScoreRequest], Iterator[str]]] = {
    "questions first": questions_first,
    "judge first": rules_first,  # the rules of such a benchmark leave every answer to the judge
    "rules first": rules_first,
    "compare": compare,
}
_EPILOG = "\n".join(["\b", *option_lines(BENCHMARKS.values())])


@app.command(epilog=_EPILOG)
def score(
    out: progress.Out,
    file: Annotated[
        Path | None,
        Argument(help="JSON, JSONL, CSV, TSV, XLSX or Parquet; or MM-Vet's *-grade-*.json"),
    ] = None,
    benchmark: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="a key from `python -m scoring benchmarks`, or your own spec, as in animals.yaml; by default "
            "recognised from the file",
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="the benchmark's question file, for answers without questions; by default MM_VET_PATH, MM_VET_V2_PATH",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="another model's file to compare with; MM-Vet: its *-grade-*.json"
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        Option("-o", metavar="NAME=VALUE", help="an option of the benchmark, as below; repeatable"),
    ] = None,
    protocol: Annotated[
        str | None, Option(metavar="NAME", help="by default the benchmark's first")
    ] = None,
    judge: progress.JudgeModel = "",
    no_judge: Annotated[bool, Option("--no-judge", help="use rules only")] = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
    title: progress.Title = "",
) -> Iterator[str]:
    if judge and no_judge:
        raise BadParameter("--judge and --no-judge exclude each other. Keep one of them.")
    # the files of a report hold the judge's replies, which may quote a sealed reference
    if benchmark == SEALED_ITEMS.key:
        raise BadParameter(
            "Sealed items are judged only on the page Score a model. To compare answers with your own "
            "references here, use visit-bench.",
            param_hint="--benchmark",
        )
    settings = Settings.from_env()
    offer_specs(settings.questions)
    source = _benchmark_named(benchmark) if benchmark else _recognised(file, settings)
    if isinstance(source, OpenedFile):
        opened = source
        scored_benchmark = source.benchmark
    else:
        opened = None
        scored_benchmark = source
    request = ScoreRequest(
        answers=file,
        opened=opened,
        questions=questions,
        against=against,
        options=read_options(scored_benchmark, option or ()),
        protocol=protocol,
        title=title,
        out=out,
        judge=judge,
        no_judge=no_judge,
        base_url=base_url,
        batch=batch,
        yes=yes,
        budget=budget,
    )
    yield from WAYS[scored_benchmark.way](scored_benchmark, request)


def _benchmark_named(benchmark: str) -> Benchmark[Any]:
    """Benchmark by its name, or that of a spec's file. Raises BadParameter and SpecError."""
    if benchmark.lower().endswith(SPEC_ENDINGS):
        translated = load_benchmarks(Path(benchmark))[0]
        if translated.form:
            command = f"python -m scoring benchmarks {benchmark} --as spec --out NAME.yaml"
            raise ChoicesError(f"{benchmark} is {translated.form}. Make it a spec first: {command}")
        return own_benchmark(translated.spec)
    # a benchmark whose workflow has no command, such as sealed items, stays out of the list
    known = [key for key, known_benchmark in BENCHMARKS.items() if known_benchmark.way in WAYS]
    if benchmark not in known:
        names = ", ".join(known)
        raise BadParameter(
            f"{benchmark!r} isn't a benchmark here. Choose one of {names}, or a spec such as animals.yaml.",
            param_hint="--benchmark",
        )
    return BENCHMARKS[benchmark]


def _recognised(file: Path | None, settings: Settings) -> OpenedFile | Benchmark[Any]:
    """The opened file, or its benchmark if it has no questions. Raises BadParameter, RowsError and ChoicesError."""
    if file is None:
        raise BadParameter(NO_FILE, param_hint="FILE")
    joined = open_joined_file(
        QuestionLibrary(settings.questions), file, ANSWERS, hides_truths=False
    )
    if joined.file is not None:
        return joined.file
    if joined.match.unclear:
        whole = whole_file(file, ANSWERS)
        if whole is None:
            text = f"{joined.match.unclear} Choose with --benchmark NAME and --questions FILE."
            raise ChoicesError(f"{file.name}: {text}")
        return whole
    recognised_as = recognise(file, _question_sets, "with --benchmark", ANSWERS)
    needs_questions = (
        isinstance(recognised_as, Benchmark) and recognised_as.way == "questions first"
    )
    # `recognise` counts all free answers as MM-Vet's. Here a file also needs a known question or MM-Vet's columns.
    if needs_questions and not answers_any(file, _question_sets(), ANSWERS):
        raise unrecognised_error(file, "with --benchmark")
    return recognised_as


def _question_sets() -> Iterable[QuestionSet]:
    settings = Settings.from_env()
    return question_sets(settings.mm_vet, settings.mm_vet_v2).values()
