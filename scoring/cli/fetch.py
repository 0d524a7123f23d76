"""Command `fetch`: a benchmark's questions from its authors, into the folder where answers find them."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option, Typer

from arena.settings import Settings
from scoring.benchmarks.base import FileBenchmark
from scoring.benchmarks.mm_vet import MM_VET
from scoring.benchmarks.mm_vet_questions import fetch_mm_vet
from scoring.cli.progress import DeclinedError
from scoring.questions.fetch import fetch as load
from scoring.questions.fetch import offer_text
from scoring.registry import BENCHMARKS
from scoring.specs.problems import either
from scoring.specs.schema import QuestionFile

app = Typer(rich_markup_mode=None)


@app.command()
def fetch(
    name: Annotated[str, Argument(help="a key from `python -m scoring benchmarks`")],
    folder: Annotated[
        Path | None,
        Argument(
            help="a folder to write to; by default QUESTIONS_PATH. MM-Vet needs a folder of its own"
        ),
    ] = None,
    file: Annotated[
        str | None, Option(metavar="NAME", help="one of its files; by default all")
    ] = None,
    pictures: Annotated[bool, Option("--pictures", help="keep the columns of pictures")] = False,
    yes: Annotated[bool, Option("--yes", help="accept size and licence without asking")] = False,
) -> Iterator[str]:
    """Download a benchmark's questions from its authors."""
    if name == MM_VET.key:
        yield f"MM-Vet is in {_download_mm_vet(folder, file)}: set MM_VET_PATH to it."
        return
    target = folder or Settings.from_env().questions
    if target is None:
        raise BadParameter(
            "There is no folder to write to. Name one, or set QUESTIONS_PATH.", param_hint="FOLDER"
        )
    benchmark = _benchmark(name)
    chosen = _files(benchmark, file)
    licence = benchmark.licence
    for question_file in chosen:
        yield offer_text(benchmark, question_file, licence)
    if not yes:
        _agree()
    for question_file in chosen:
        path = load(
            benchmark.key, question_file, licence, target, with_pictures=pictures, sleep=time.sleep
        )
        yield f"{path} is downloaded, and is the file that its authors published."
    if folder is not None:
        yield f"Set QUESTIONS_PATH to {folder} to score files that have answers alone."


def _download_mm_vet(folder: Path | None, file: str | None) -> Path:
    """Downloads MM-Vet's archive, and returns its folder. Raises BadParameter, and as `fetch_mm_vet`."""
    if folder is None:
        raise BadParameter("MM-Vet needs a folder of its own. Name one.", param_hint="FOLDER")
    if file is not None:
        raise BadParameter("MM-Vet is one archive. Leave out --file.", param_hint="--file")
    return fetch_mm_vet(folder)


def _benchmark(name: str) -> FileBenchmark[Any]:
    """The benchmark of this key, whose authors have a question file to download. Raises BadParameter."""
    downloadable = {
        key: benchmark
        for key, benchmark in BENCHMARKS.items()
        if isinstance(benchmark, FileBenchmark)
        and any(question_file.url for question_file in benchmark.question_files)
    }
    if name in downloadable:
        return downloadable[name]
    raise BadParameter(
        f"{name!r} can't be downloaded. Choose {either([MM_VET.key, *downloadable])}.",
        param_hint="NAME",
    )


def _files(benchmark: FileBenchmark[Any], name: str | None) -> Sequence[QuestionFile]:
    files = [file for file in benchmark.question_files if file.url]
    if name is None:
        return files
    chosen = [file for file in files if file.name == name]
    if not chosen:
        names = either([file.name for file in files])
        raise BadParameter(
            f"{name!r} isn't a file of {benchmark.key}. Choose {names}.", param_hint="--file"
        )
    return chosen


def _agree() -> None:
    try:
        agreed = input("Download? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError as error:
        raise DeclinedError("Nothing was downloaded. Add --yes if nobody can answer.") from error
    if not agreed:
        raise DeclinedError("Nothing was downloaded.")
