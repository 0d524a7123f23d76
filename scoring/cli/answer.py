"""Command `answer`: a model from the catalogue answers a benchmark's questions into a prediction file."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from arena.inference.catalogue import CatalogueError, Models, read_catalogue
from arena.inference.offline import AnswerFile, AnswerFileError, UnfinishedError, asked, fingerprint
from arena.io.tables import RowsError
from arena.settings import SettingError, Settings, secret
from scoring.benchmarks.mm_vet_questions import QuestionsError
from scoring.benchmarks.offline_answers import AnsweringError, Asked, OfflineBenchmark, choice_paper, mm_vet_paper
from scoring.visit_bench.offline_answers import visit_paper

USER_ERRORS = (
    SettingError,
    RowsError,
    QuestionsError,
    CatalogueError,
    AnsweringError,
    AnswerFileError,
    UnfinishedError,
    OSError,
)
"""Errors of wrong input or settings; their messages address the user."""
SUFFIXES: dict[Asked, str] = {"mm-vet": ".json", "mmbench": ".tsv", "mmt-bench": ".tsv", "visit-bench": ".csv"}
"""File format in which each benchmark takes predictions."""


def answer(arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    """Ask the model what it has not answered yet and write the prediction file. Yields lines to print."""
    out: Path = arguments.out
    if out.suffix.lower() != (suffix := SUFFIXES[arguments.benchmark]):
        raise AnsweringError(f"--out is {out.name}; predictions of {arguments.benchmark} end in {suffix}")
    kept = out.with_name(f"{out.name}.part")
    if out.exists() and not kept.exists():
        raise AnsweringError(f"{out} is there already, from a run that is complete; delete it or choose another --out")
    models = Models(read_catalogue(settings.models, secret), settings.local_models)
    card = models.catalogue.card(arguments.model)
    paper = _paper(arguments, settings)
    with AnswerFile(kept, fingerprint(card, paper.digest)) as file:
        outcome = asked(models, card.name, paper.rounds, paper.count, file)
        whole = out.with_name(f".{out.name}.new")
        whole.write_bytes(paper.written(file.answers, card.name))
        whole.replace(out)
        if not outcome.failures:
            file.delete()
        yield f"{len(file.answers):,} answers of {card.name} are in {out}."
    yield from outcome.lines
    outcome.check()


def _paper(arguments: argparse.Namespace, settings: Settings) -> OfflineBenchmark:
    if arguments.early_stop and arguments.benchmark != "mmbench":
        raise AnsweringError(f"--early-stop is for the circular passes of mmbench; {arguments.benchmark} has none")
    if arguments.benchmark == "mm-vet":
        return mm_vet_paper(arguments.questions or settings.mm_vet)
    if arguments.questions is None:
        raise AnsweringError(f"Give the question file of {arguments.benchmark} with --questions FILE")
    if arguments.benchmark == "visit-bench":
        return visit_paper(arguments.questions, arguments.images)
    return choice_paper(arguments.questions, arguments.benchmark == "mmbench", arguments.early_stop)


def add_answer(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `answer`."""
    parser.add_argument("benchmark", choices=get_args(Asked))
    parser.add_argument("--model", required=True, metavar="CARD", help="name of a model in the catalogue (MODELS)")
    parser.add_argument("--out", required=True, type=Path, help="the prediction file")
    parser.add_argument("--questions", type=Path, help="the benchmark's question file; mm-vet: its folder")
    parser.add_argument("--images", type=Path, help="visit-bench: folder of images; else they are fetched")
    parser.add_argument("--early-stop", action="store_true", help="mmbench: ask no pass after a wrong one")
    parser.set_defaults(run=answer)


ARGUMENTS = {"answer": add_answer}
"""Argument builder by command."""
