"""The scoring command line, `python -m scoring COMMAND`."""

import sys
from collections.abc import Sequence

import typer

from arena.cli.lazy_group import INTERRUPTED, Command, LazyGroup

COMMANDS = {
    "score": Command("Score a file of a model's answers.", "scoring.cli.score"),
    "benchmarks": Command("List the benchmarks, or describe one.", "scoring.cli.benchmarks"),
    "check": Command(
        "Check a benchmark's YAML file, and how it reads answers.", "scoring.cli.benchmarks"
    ),
    "visit-board": Command(
        "Make a board from a file of votes or battles.", "scoring.cli.visit_bench"
    ),
    "visit-withdraw": Command(
        "Delete the texts of a submission; its results stay.", "scoring.cli.visit_bench"
    ),
    "agreement": Command(
        "Measure how far people agree, and which judges and metrics agree with them.",
        "scoring.cli.agreement",
    ),
    "calibrate": Command(
        "Measure how far judges are from people on the same answers.", "scoring.cli.calibrate"
    ),
    "errors": Command("Sort a model's errors by people's labels.", "scoring.cli.errors"),
    "extraction": Command(
        "Measure how often letters are read as people read them.", "scoring.cli.extraction"
    ),
    "task-map": Command(
        "Map tasks by LoRA adapters that learned one task each.", "scoring.cli.task_map"
    ),
    "task-vectors": Command(
        "Train an adapter for each task of a question file.", "scoring.cli.task_map"
    ),
    "answer": Command("Have a model answer a benchmark's questions.", "scoring.cli.answer"),
    "publish": Command(
        "Offer a published score to a model's repository on the Hub.", "scoring.cli.publish"
    ),
    "fetch": Command("Download a benchmark's questions from its authors.", "scoring.cli.fetch"),
}


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; `scoring/cli/progress.py` names those that are not 0 or 2."""
    code = LazyGroup("python -m scoring", "The scoring command line.", COMMANDS).run(words)
    if code == INTERRUPTED:
        typer.echo(
            "Stopped. Grades so far are kept. Run the same command again to continue.", err=True
        )
        return 4  # the code of `StoppedError`
    return code


if __name__ == "__main__":
    sys.exit(main())
