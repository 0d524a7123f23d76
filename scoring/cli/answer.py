"""Command `answer`: a model from the catalogue answers a benchmark's questions into a prediction file."""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from typer import Argument, Option, Typer

from arena.cli.output_paths import output_file
from arena.drawings import svg_file
from arena.inference.catalogue import Models, read_catalogue
from arena.inference.offline import AnswerFile, RunResult, ask_model, fingerprint
from arena.interval_text import interval_text
from arena.server.hub_token import catalogue_keys
from arena.settings import Settings
from arena.templates import plural
from arena.types import Answerer, ModelCard
from scoring.benchmarks.choice_report import decide_rows
from scoring.benchmarks.likelihood_answers import offline_likelihood
from scoring.benchmarks.mode_answers import mode_benchmarks, quote_lines
from scoring.benchmarks.mode_comparison import (
    ModeDifference,
    accuracy_drawing,
    differences_csv,
    mode_differences,
    spent_csv,
)
from scoring.benchmarks.offline_answers import (
    AnsweringError,
    OfflineBenchmark,
    offline_choices,
    offline_mm_vet,
)
from scoring.benchmarks.spec_answers import offline_spec
from scoring.benchmarks.spec_benchmark import SpecBenchmark
from scoring.judges.spec import prompt_text
from scoring.multiple_choice.types import MODES, Answered, ChosenBy, Mode
from scoring.registry import BENCHMARKS
from scoring.specs.files import SPEC_ENDINGS, load_spec
from scoring.specs.problems import either
from scoring.specs.schema import Spec
from scoring.visit_bench.offline_answers import offline_visit_bench

app = Typer(rich_markup_mode=None)
SUFFIXES = {
    "mm-vet": ".json",
    "mmbench": ".tsv",
    "mmt-bench": ".tsv",
    "visit-bench": ".csv",
}
"""Endings of prediction files, by benchmark."""
SPEC_SUFFIX = ".tsv"
"""The same for any YAML benchmark."""
PREFIXES = {"gpt-4v": "mm_vet_gpt_4v.txt"}
"""Prompts that are set before a question, by --prompt-prefix."""
SPENT = "-spent.csv"
"""Ending of the file with the tokens and the cost of each mode."""
LONGEST_NAME = 255
"""Bytes of a file's name that common file systems take."""


@app.command()
def answer(
    benchmark: Annotated[
        str, Argument(help=f"{', '.join(SUFFIXES)}, or a YAML benchmark: its key or its file")
    ],
    model: Annotated[
        str, Option(metavar="CARD", help="a model's name in the models file (MODELS)")
    ],
    out: Annotated[Path, Option(callback=output_file, help="the file of answers to write")],
    questions: Annotated[
        Path | None, Option(help="the benchmark's question file; mm-vet: its folder")
    ] = None,
    images: Annotated[
        Path | None, Option(help="visit-bench: a folder of images; by default they're downloaded")
    ] = None,
    early_stop: Annotated[
        bool,
        Option("--early-stop", help="mmbench: skip a question's other passes after a wrong one"),
    ] = False,
    modes: Annotated[
        str,
        Option(
            "--modes",
            "--mode",
            metavar="M[,M...]",
            help=f"mmt-bench: {', '.join(MODES)}; several are compared",
        ),
    ] = "as-is",
    prompt_prefix: Annotated[
        Literal["gpt-4v"] | None,
        Option(help="mm-vet: ask for a short answer first, as the paper's authors asked GPT-4V"),
    ] = None,
    choose_by: Annotated[
        ChosenBy,
        Option(
            help="mmbench, mmt-bench: the option that the model writes, or that a local model finds likeliest"
        ),
    ] = "text",
) -> Iterator[str]:
    """Ask the model all questions that it hasn't answered yet, and write its answers to a file, one for each mode."""
    _check_options(benchmark, out, images, early_stop, prompt_prefix)
    prefix = prompt_text(PREFIXES[prompt_prefix]) if prompt_prefix else ""
    chosen_modes = _read_modes(benchmark, modes)
    if choose_by == "likelihood":
        _check_likelihood(benchmark, early_stop, chosen_modes)
    _check_names(out, chosen_modes)
    for file in (_mode_file(out, mode) for mode in chosen_modes):
        if file.exists() and not _partial_file(file).exists():
            raise AnsweringError(
                f"{file} already exists, from a finished run. Delete it, or choose another --out."
            )
    settings = Settings.from_env()
    model_run = _ModelRun(
        settings, read_catalogue(settings.models, catalogue_keys(settings)).card(model)
    )
    if chosen_modes == ("as-is",):
        question_path = questions or (settings.mm_vet if benchmark == "mm-vet" else None)
        offline_benchmark = _offline_benchmark(
            benchmark, question_path, images, early_stop, prefix, choose_by
        )
        yield from model_run.answer(offline_benchmark, out)
    else:
        yield from model_run.answer_in_modes(
            _question_file(benchmark, questions), chosen_modes, out
        )
    for mode in chosen_modes:
        partial = _partial_file(_mode_file(out, mode))
        partial.unlink(missing_ok=True)
        _lock_file(partial).unlink(missing_ok=True)


def _check_options(
    benchmark: str, out: Path, images: Path | None, early_stop: bool, prompt_prefix: str | None
) -> None:
    """Raises AnsweringError for an option or a file's ending of another benchmark."""
    suffix = SUFFIXES.get(benchmark, SPEC_SUFFIX)
    if out.suffix.lower() != suffix:
        raise AnsweringError(
            f"{out.name} doesn't end in {suffix}, as predictions for {benchmark} do. Change --out."
        )
    if images is not None and benchmark != "visit-bench":
        raise AnsweringError(
            f"--images is only for visit-bench, and this is {benchmark}. Leave it out."
        )
    if early_stop and benchmark != "mmbench":
        raise AnsweringError(
            f"--early-stop is only for mmbench, and this is {benchmark}. Leave it out."
        )
    if prompt_prefix and benchmark != "mm-vet":
        raise AnsweringError(
            f"--prompt-prefix is only for mm-vet, and this is {benchmark}. Leave it out."
        )


def _check_likelihood(benchmark: str, early_stop: bool, modes: Sequence[Mode]) -> None:
    """Raises AnsweringError for a benchmark or an option that --choose-by likelihood can't have."""
    if benchmark not in ("mmbench", "mmt-bench"):
        raise AnsweringError(
            f"--choose-by likelihood is only for mmbench and mmt-bench, and this is {benchmark}. Leave it out."
        )
    if early_stop:
        raise AnsweringError(
            "By likelihood, all passes of a question have the same answer. Leave out --early-stop."
        )
    if modes != ("as-is",):
        raise AnsweringError(
            "By likelihood, questions are asked without options and in no mode. Leave out --modes."
        )


class _ModelRun(NamedTuple):
    """A run of a catalogue model through a benchmark's questions."""

    settings: Settings
    card: ModelCard

    def answer(
        self, benchmark: OfflineBenchmark, out: Path
    ) -> Generator[str, None, tuple[Mapping[str, str], RunResult]]:
        """Asks the open questions and writes the file; yields lines for the operator, and returns answers and usage.

        Raises UnfinishedError, after the file is written, if questions are left open.
        """
        # `ask_model` closes them, so each mode needs its own.
        models = Models(
            read_catalogue(self.settings.models, catalogue_keys(self.settings)),
            self.settings.local_models,
        )
        name = self.card.name
        answerer: Answerer[Any] = (
            models.vlm(name) if benchmark.chosen_by == "text" else models.chooser(name)
        )
        with AnswerFile(_partial_file(out), fingerprint(self.card, benchmark.digest)) as file:
            result = ask_model(models, answerer, benchmark.rounds, benchmark.count, file)
            unplaced = _unplaced_file(out)
            unplaced.write_bytes(benchmark.write(file.answers, name))
            unplaced.replace(out)
            yield f"{len(file.answers):,} answers of {name} are in {out}."
        yield from benchmark.remarks(file.answers)
        yield from result.lines
        result.check()
        return file.answers, result

    def answer_in_modes(self, questions: Path, modes: Sequence[Mode], out: Path) -> Iterator[str]:
        """Answers in each mode, then compares the modes; answers are kept until all modes are complete."""
        benchmarks = mode_benchmarks(questions, modes, self.card)
        yield from quote_lines(benchmarks)
        rows = {}
        results = {}
        for mode_benchmark in benchmarks:
            mode = mode_benchmark.mode
            file = _mode_file(out, mode)
            answers, results[mode] = yield from self.answer(mode_benchmark.benchmark, file)
            answered_questions = [
                Answered(question, answers[str(question.index)])
                for question in mode_benchmark.questions
                if str(question.index) in answers
            ]
            rows[mode] = decide_rows(answered_questions, "strict")
        if len(benchmarks) > 1:
            changed: Mapping[Mode, frozenset[int]] = {
                benchmark.mode: benchmark.changed for benchmark in benchmarks
            }
            differences = mode_differences(rows, changed)
            yield from _write_comparison(self.card.name, differences, results, out)


def _read_modes(benchmark: str, words: str) -> tuple[Mode, ...]:
    """Returns the modes of --modes. Raises AnsweringError for an unknown one or another benchmark."""
    # Type checkers take a value of this dict for a Mode, but not a word of the option.
    known: dict[str, Mode] = {mode: mode for mode in MODES}
    names = [word.strip() for word in words.split(",")]
    chosen: tuple[Mode, ...] = tuple(known[name] for name in names if name in known)
    if len(chosen) != len(names) or len(set(chosen)) != len(chosen):
        raise AnsweringError(
            f"--modes is {words!r}. Use one or more of {', '.join(MODES)}, each once."
        )
    if chosen != ("as-is",) and benchmark != "mmt-bench":
        raise AnsweringError(
            f"--modes is only for mmt-bench, and this is {benchmark}. Leave it out."
        )
    return chosen


def _mode_file(out: Path, mode: Mode) -> Path:
    """Prediction file of a mode: --out, and for all modes but as-is with the mode in its name."""
    return out if mode == "as-is" else out.with_stem(f"{out.stem}-{mode}")


def _partial_file(out: Path) -> Path:
    return out.with_name(f"{out.name}.part")


def _lock_file(partial: Path) -> Path:
    """Lock file of `AnswerFile` beside a file of answers, so that a resumed run has one writer."""
    return partial.with_name(f"{partial.name}.lock")


def _unplaced_file(out: Path) -> Path:
    """Path where a prediction file is written before it takes its place."""
    return out.with_name(f".{out.name}.new")


def _comparison_file(out: Path, modes: Sequence[Mode], ending: str) -> Path:
    """File of the comparison, named after the first mode and the other, or the number of others."""
    first, *others = modes
    opponents = others[0] if len(others) == 1 else f"{len(others)}-others"
    return out.with_name(f"{out.stem}-{first}-against-{opponents}{ending}")


def _check_names(out: Path, modes: Sequence[Mode]) -> None:
    """Raises AnsweringError if a file of the run would have a longer name than file systems take."""
    files = [_lock_file(_partial_file(_mode_file(out, mode))) for mode in modes]
    files += [_unplaced_file(_mode_file(out, mode)) for mode in modes]
    if len(modes) > 1:
        files.append(_comparison_file(out, modes, SPENT))  # the longest ending of a comparison
    longest = max(len(os.fsencode(file.name)) for file in files)
    if longest > LONGEST_NAME:
        raise AnsweringError(
            f"The name {out.name[:60]}… is too long for the files written with it. "
            f"Shorten --out by {plural(longest - LONGEST_NAME, 'byte')} or more."
        )


def _write_comparison(
    model: str, differences: Sequence[ModeDifference], results: Mapping[Mode, RunResult], out: Path
) -> Iterator[str]:
    """Writes the comparison and yields its lines."""
    contents = {".csv": differences_csv(differences), SPENT: spent_csv(results)}
    if differences:
        drawing = accuracy_drawing(f"{model}: modes of MMT-Bench", differences)
        contents[".svg"] = svg_file(drawing).encode()
    files = {
        _comparison_file(out, [*results], ending): content for ending, content in contents.items()
    }
    for file, content in files.items():
        file.write_bytes(content)
    for difference in differences:
        change = difference.other_accuracy - difference.first_accuracy
        interval = interval_text(difference.difference.low, difference.difference.high, "+.1f")
        in_brackets = f" ({interval})" if interval else ""
        corrected = ""
        if difference.holm is not None:
            corrected = f", with Holm's correction {difference.holm:.3g}"
        yield (
            f"{difference.counts.name}: {difference.first} {difference.first_accuracy:.1f}, "
            f"{difference.other} {difference.other_accuracy:.1f} of {difference.n:,}; difference "
            f"{change:+.1f}{in_brackets}; p {difference.counts.p:.3g}{corrected}"
        )
    for mode, result in results.items():
        cost = f", ${result.cost / 1e6:.4f}" if result.cost else ""
        yield (
            f"{mode}: {result.answered:,} asked now, {result.prompt:,} tokens sent, "
            f"{result.completion:,} received{cost}"
        )
    yield f"The comparison is in {', '.join(file.name for file in files)}."


def _question_file(benchmark: str, questions: Path | None) -> Path:
    if questions is None:
        raise AnsweringError(f"{benchmark} needs its question file. Add --questions FILE.")
    return questions


def _spec(benchmark: str) -> Spec:
    """Spec of one of our keys or of a file. Raises AnsweringError and SpecError."""
    if benchmark.lower().endswith(SPEC_ENDINGS):
        return load_spec(Path(benchmark))
    known = BENCHMARKS.get(benchmark)
    if not isinstance(known, SpecBenchmark):
        spec_keys = [key for key, other in BENCHMARKS.items() if isinstance(other, SpecBenchmark)]
        keys = either([*SUFFIXES, *spec_keys])
        raise AnsweringError(
            f"{benchmark!r} isn't a benchmark here. Choose {keys}, or a file such as animals.yaml."
        )
    return known.spec


def _offline_benchmark(
    benchmark: str,
    questions: Path | None,
    images: Path | None,
    early_stop: bool,
    prefix: str,
    choose_by: ChosenBy,
) -> OfflineBenchmark:
    if benchmark == "mm-vet":
        return offline_mm_vet(questions, prefix)
    if benchmark not in SUFFIXES:
        spec = _spec(benchmark)
        return offline_spec(spec, _question_file(benchmark, questions))
    file = _question_file(benchmark, questions)
    if benchmark == "visit-bench":
        return offline_visit_bench(file, images)
    circular = benchmark == "mmbench"
    if choose_by == "likelihood":
        return offline_likelihood(file, circular)
    return offline_choices(file, circular, early_stop)
