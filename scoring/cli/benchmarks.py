"""Commands: `benchmarks` describes benchmarks and writes them in other forms, `check` tries a spec, also on answers."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option, Typer

from arena.cli.output_paths import output_file, refuse_overwriting
from arena.io.tables import ANSWERS, read_records
from arena.settings import Settings
from arena.sheets import as_text
from arena.templates import plural
from scoring.benchmarks.base import Benchmark, ChoicesError, problem_lines
from scoring.benchmarks.file_check import FileCheck, file_check
from scoring.benchmarks.kit_table import kit_table
from scoring.benchmarks.listing import benchmark_line, by_kind
from scoring.benchmarks.spec_benchmark import (
    outcome_words,
    own_benchmark,
)
from scoring.benchmarks.specified import SpecifiedBenchmark
from scoring.jobs.service import question_sets
from scoring.judges.spec import UNNAMED
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.questions.library import QuestionLibrary, benchmarks_here, offer_specs
from scoring.registry import offered_benchmarks, open_upload
from scoring.specs.file_columns import columns_sheet
from scoring.specs.files import SPEC_ENDINGS
from scoring.specs.hub_eval import eval_yaml
from scoring.specs.other_forms import load_benchmark, load_benchmarks
from scoring.specs.problems import either
from scoring.specs.report import SpecReport, figure_lines
from scoring.specs.schema import Spec
from scoring.specs.translated import Translated, comment

app = Typer(rich_markup_mode=None)
FORMS = ("spec", "eval.yaml", "tsv")
_SHOWN_CHARACTERS = 100
"""Characters of an answer that are shown."""
_NAME_WIDTH = 18


Task = Annotated[str | None, Option(metavar="NAME", help="one of several tasks of an eval.yaml")]


@app.command()
def benchmarks(
    name: Annotated[
        str | None,
        Argument(
            help="a benchmark to describe, or a file: a spec, the Hub's eval.yaml or a task of lmms-eval; "
            "by default lists all"
        ),
    ] = None,
    form: Annotated[
        str | None,
        Option(
            "--as",
            metavar="FORM",
            help="write it as a spec, as an eval.yaml for the Hub, or as a tsv for VLMEvalKit",
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        Option(metavar="FILE", help="its question file, needed for tsv and eval.yaml"),
    ] = None,
    out: Annotated[
        Path | None,
        Option(metavar="FILE", callback=output_file, help="a file to write; by default printed"),
    ] = None,
    task: Task = None,
) -> Iterator[str]:
    if name is None and form:
        raise BadParameter("--as writes one benchmark. Name it.")
    if form is None and (questions or out):
        raise BadParameter(f"Nothing is to be written. Add --as {either(FORMS)}.")
    is_file = name is not None and name.lower().endswith(SPEC_ENDINGS)
    if task is not None and not is_file:
        raise BadParameter("--task names a task in a file, such as eval.yaml. Leave it out.")
    offer_specs(Settings.from_env().questions)
    known = offered_benchmarks()
    if name is None:
        yield from _listed(known.values())
        return
    if not is_file and name not in known:
        keys = ", ".join(known)
        raise BadParameter(
            f"{name!r} isn't a benchmark here. Choose one of {keys}, or a file such as animals.yaml."
        )
    if form is not None:
        translated = load_benchmark(Path(name), task) if is_file else _as_translated(known[name])
        sources = [Path(name)] if is_file else []
        yield from _in_form(translated, form, questions, out, sources)
    elif is_file:
        yield from _described_file(Path(name), task)
    else:
        yield from described(known[name])


@app.command()
def check(
    spec: Annotated[
        Path,
        Argument(
            metavar="SPEC",
            help="a benchmark as a YAML file, or the Hub's eval.yaml, or a task of lmms-eval",
        ),
    ],
    file: Annotated[
        Path | None, Argument(help="a file of answers, of which three are read")
    ] = None,
    task: Task = None,
) -> Iterator[str]:
    # Answers belong to one benchmark: a file of several is refused before anything is printed.
    loaded_spec = load_benchmark(spec, task).spec if file is not None else None
    yield from _described_file(spec, task)
    yield f"\n{spec.name} has no problems."
    if file is not None and loaded_spec is not None:
        yield ""
        yield from _trial_lines(loaded_spec, file)


def _described_file(path: Path, task: str | None) -> Iterator[str]:
    """Describes the benchmarks of a file, and for a form other than a spec what is not taken. Raises SpecError."""
    benchmarks = [load_benchmark(path, task)] if task is not None else load_benchmarks(path)
    for position, benchmark in enumerate(benchmarks):
        if position:
            yield ""
        yield from described(own_benchmark(benchmark.spec))
        if benchmark.form:
            yield _field("Read from", f"{benchmark.form}: {benchmark.task}")
        for line in benchmark.left_out:
            yield _field("Not taken", line)


def _listed(benchmarks: Iterable[Benchmark[Any]]) -> Iterator[str]:
    """Yields each benchmark's key and line, below the heading of its kind of rule."""
    settings = Settings.from_env()
    sets = question_sets(settings.mm_vet, settings.mm_vet_v2).values()
    keys_here = benchmarks_here(sets, QuestionLibrary(settings.questions))
    groups = by_kind([*benchmarks])
    width = max(len(benchmark.key) for group in groups.values() for benchmark in group)
    for position, (heading, group) in enumerate(groups.items()):
        yield f"\n{heading}" if position else heading
        for benchmark in group:
            yield f"  {benchmark.key:{width}}  {benchmark_line(benchmark, benchmark.key in keys_here)}"


def _as_translated(benchmark: Benchmark[Any]) -> Translated:
    if not isinstance(benchmark, SpecifiedBenchmark):
        raise ChoicesError(
            f"{benchmark.name} isn't a spec, so --as can't write it. Choose another."
        )
    return Translated("", benchmark.key, benchmark.spec, ())


def _in_form(
    translated: Translated,
    form: str,
    questions: Path | None,
    out: Path | None,
    sources: Sequence[Path],
) -> Iterator[str]:
    """Yields a benchmark's text in this form. With `out`, writes it there, and yields the path and for a TSV its notes.

    Raises BadParameter for an unknown form, a TSV without questions or `out`, and an `out` that would replace the
    questions or one of `sources`.
    """
    if form not in FORMS:
        raise BadParameter(f"{form!r} isn't a form. Choose {either(FORMS)}.", param_hint="--as")
    if out is not None:
        refuse_overwriting([out], *sources, questions)
    if form == "tsv":
        if questions is None or out is None:
            raise BadParameter(
                "A TSV needs questions and an output. Add --questions FILE and --out FILE.",
                param_hint="--as",
            )
        table = kit_table(translated.spec, questions)
        table.write(out)
        yield f"{out}: {plural(len(table.questions), 'question')} for VLMEvalKit"
        yield from table.notes
        return
    if form == "spec":
        comments = [comment(f"Not taken: {line}") for line in translated.left_out]
        text = "".join([*comments, translated.spec.yaml])
    else:
        text = eval_yaml(translated.spec, _columns(questions))
    if out is None:
        yield text.rstrip("\n")
    else:
        out.write_text(text, encoding="utf-8")
        yield f"{out}: {translated.spec.name}"


def _columns(questions: Path | None) -> Sequence[str]:
    """Returns the columns of a question file's first row; none without a file. Raises RowsError."""
    if questions is None:
        return ()
    records = read_records(questions, ANSWERS, allow_object=True, digested=IMAGE_COLUMNS)
    first = next(records, None)
    return [*first.values] if first else ()


def described(benchmark: Benchmark[Any]) -> Iterator[str]:
    """Yields all that is known of a benchmark, in words."""
    yield benchmark.name
    if benchmark.about:
        yield benchmark.about
    yield ""
    for fact in benchmark.facts():
        for position, line in enumerate(fact.text.splitlines()):
            yield _field("" if position else fact.name, line).rstrip()
    if columns := benchmark.columns():
        yield ""
        yield from as_text(columns_sheet(columns, benchmark.columns_note))


def _field(name: str, text: str) -> str:
    return f"{name:{_NAME_WIDTH}}{text}"


def _trial_lines(spec: Spec, file: Path) -> Iterator[str]:
    """Yields a file's contents, readings of its first answers, and the scores of all, under each protocol.

    Raises ChoicesError.
    """
    benchmark = own_benchmark(spec)
    opened = open_upload(file, ANSWERS, benchmark=benchmark)
    assert opened, "a benchmark that is given takes any file"
    yield from opened.lines
    yield from problem_lines(opened.problems)
    if not opened.file.scorable:
        raise ChoicesError(f"{file.name} can't be scored. Correct the problems above.")
    reports: list[SpecReport] = [opened.report(protocol) for protocol in spec.protocols]
    yield from _reading_lines([file_check(report, UNNAMED) for report in reports])
    yield ""
    for report in reports:
        for name, line in figure_lines(report).items():
            value = "no score" if line.mean is None else f"{line.mean:.1f}"
            unscored_note = f", {line.unscored:,} unscored" if line.unscored else ""
            yield f"{report.protocol}: {name} {value} (n {line.n:,}{unscored_note})"


def _reading_lines(checks: Sequence[FileCheck]) -> Iterator[str]:
    """Yields a file's groups, readings of its first answers under each protocol, and the judge's first messages.

    `checks` are of one file, one for each protocol. The messages are those of the first protocol.
    """
    first = checks[0]
    for group in first.groups:
        counts = ", ".join(f"{name} {count:,}" for name, count in group.counts)
        yield _field(group.column, f"{counts} and {group.more:,} more" if group.more else counts)
    for position, row in enumerate(first.rows):
        yield f"\n{row.id}: {' '.join(row.answer.split())[:_SHOWN_CHARACTERS]}"
        for check in checks:
            yield f"  {check.protocol}: {outcome_words(check.rows[position].reading)}"
    if messages := first.prompt:
        yield f"\nA judge reads {plural(first.left, 'answer')}. About the first it is asked:"
        for message in messages:
            yield f"\n[{message.role}]\n{message.text.strip()}"
