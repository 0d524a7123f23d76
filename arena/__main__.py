"""The arena's command line: `python -m arena items|models|campaign|answer|rate|votes|export|forget|deploy ...`."""

import argparse
import gc
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple


class Command(NamedTuple):
    """A command's module, with `ARGUMENTS`, `run` and `ERRORS`; imported when the command is called."""

    help: str
    module: str


COMMANDS = {
    "items": Command("bring items and answers in", "arena.cli.items"),
    "models": Command("the models", "arena.cli.items"),
    "campaign": Command("what the workers of a campaign link have done, as CSV", "arena.cli.items"),
    "answer": Command("let a model of the catalogue answer the items", "arena.cli.answer"),
    "rate": Command("a board, plots and their parameters from a file of votes", "arena.cli.rate"),
    "votes": Command("votes from and to the formats that people hold", "arena.cli.rate"),
    "export": Command("this arena's votes for the public: Parquet, JSONL and a data card", "arena.cli.admin"),
    "forget": Command("delete a visitor's data on request", "arena.cli.admin"),
    "deploy": Command("this folder as a Hugging Face Space", "arena.cli.deploy"),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; return 2 with one clear line if it cannot be done."""
    words = sys.argv[1:] if words is None else words
    root = argparse.ArgumentParser(prog="python -m arena", description=__doc__)
    groups = root.add_subparsers(required=True)
    parsers = {name: groups.add_parser(name, help=command.help) for name, command in COMMANDS.items()}
    chosen = words[0] if words and words[0] in COMMANDS else None
    if chosen is None:
        root.parse_args(words)
        return 2
    command = importlib.import_module(COMMANDS[chosen].module)
    command.ARGUMENTS[chosen](parsers[chosen])
    arguments = root.parse_args(words)
    try:
        for line in command.run(arguments):
            print(line)
    except command.ERRORS as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    gc.set_threshold(100_000)  # a command makes many records and few cycles
    sys.exit(main())
