"""Command `answer`: a model from the catalogue answers a benchmark's questions into a prediction file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Option, Typer

from arena.inference.catalogue import Models, read_catalogue
from arena.inference.offline import AnswerFile, asked, fingerprint
from arena.settings import Settings, secret
from scoring.benchmarks.offline_answers import AnsweringError, Asked, OfflineBenchmark, choice_paper, mm_vet_paper
from scoring.visit_bench.offline_answers import visit_paper

app = Typer(rich_markup_mode=None)
SUFFIXES: dict[Asked, str] = {"mm-vet": ".json", "mmbench": ".tsv", "mmt-bench": ".tsv", "visit-bench": ".csv"}


@app.command()
def answer(
    benchmark: Asked,
    model: Annotated[str, Option(metavar="CARD", help="name of a model in the catalogue (MODELS)")],
    out: Annotated[Path, Option(help="the prediction file")],
    questions: Annotated[Path | None, Option(help="the benchmark's question file; mm-vet: its folder")] = None,
    images: Annotated[Path | None, Option(help="visit-bench: folder of images; else they are fetched")] = None,
    early_stop: Annotated[bool, Option("--early-stop", help="mmbench: ask no pass after a wrong one")] = False,
) -> Iterator[str]:
    """Ask the model what it has not answered yet and write the prediction file."""
    if out.suffix.lower() != (suffix := SUFFIXES[benchmark]):
        raise AnsweringError(f"--out is {out.name}; predictions of {benchmark} end in {suffix}")
    kept = out.with_name(f"{out.name}.part")
    if out.exists() and not kept.exists():
        raise AnsweringError(f"{out} is there already, from a run that is complete; delete it or choose another --out")
    settings = Settings.from_env()
    models = Models(read_catalogue(settings.models, secret), settings.local_models)
    card = models.catalogue.card(model)
    paper = _paper(benchmark, questions or (settings.mm_vet if benchmark == "mm-vet" else None), images, early_stop)
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


def _paper(benchmark: Asked, questions: Path | None, images: Path | None, early_stop: bool) -> OfflineBenchmark:
    if early_stop and benchmark != "mmbench":
        raise AnsweringError(f"--early-stop is for the circular passes of mmbench; {benchmark} has none")
    if benchmark == "mm-vet":
        return mm_vet_paper(questions)
    if questions is None:
        raise AnsweringError(f"Give the question file of {benchmark} with --questions FILE")
    if benchmark == "visit-bench":
        return visit_paper(questions, images)
    return choice_paper(questions, benchmark == "mmbench", early_stop)
