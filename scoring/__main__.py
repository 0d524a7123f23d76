"""The scoring command line, `python -m scoring COMMAND`."""

import sys
from collections.abc import Sequence

import typer

from arena.cli.lazy_group import INTERRUPTED, Command, LazyGroup

COMMANDS = {
    "score": Command("score a file of a benchmark's outputs", "scoring.cli.score"),
    "benchmarks": Command("list the benchmarks, or describe one", "scoring.cli.benchmarks"),
    "check": Command(
        "check a benchmark that is a YAML file, and how it reads answers", "scoring.cli.benchmarks"
    ),
    "visit-board": Command("make a board of a file of votes or battles", "scoring.cli.visit_bench"),
    "visit-withdraw": Command(
        "delete the texts of a submission; its results stay", "scoring.cli.visit_bench"
    ),
    "agreement": Command(
        "how far people agree, and which judges and metrics follow them", "scoring.cli.agreement"
    ),
    "calibrate": Command(
        "how far judges are from people who marked the same answers", "scoring.cli.calibrate"
    ),
    "errors": Command("which errors a model makes, by labels of people", "scoring.cli.errors"),
    "extraction": Command(
        "how often extractors of letters choose what people choose", "scoring.cli.extraction"
    ),
    "task-map": Command(
        "a map of tasks, of LoRA adapters that learned one task each", "scoring.cli.task_map"
    ),
    "task-vectors": Command(
        "train an adapter for each task of a question file", "scoring.cli.task_map"
    ),
    "answer": Command(
        "let a model of the catalogue answer a benchmark's questions", "scoring.cli.answer"
    ),
    "publish": Command(
        "offer a published score to a model's repository on the Hub", "scoring.cli.publish"
    ),
    "fetch": Command("download a benchmark's questions from its authors", "scoring.cli.fetch"),
}


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; `scoring/cli/progress.py` names those that are not 0 or 2."""
    code = LazyGroup("python -m scoring", "The scoring command line.", COMMANDS).run(words)
    if code == INTERRUPTED:
        typer.echo(
            "Stopped. What is judged is kept: give the same command again to go on.", err=True
        )
        return 4
    return code


if __name__ == "__main__":
    sys.exit(main())
