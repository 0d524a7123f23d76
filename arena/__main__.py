"""The arena's command line: `python -m arena items|models|campaign|answer|rate|votes|export|forget|deploy ...`."""

import argparse
import gc
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple


class Room(NamedTuple):
    """Where a command is at home: a room with `GRAMMAR`, `run` and `ERRORS`, entered when the command is called."""

    help: str
    module: str


ROOMS = {
    "items": Room("bring items and answers in", "arena.cli.items"),
    "models": Room("the models", "arena.cli.items"),
    "campaign": Room("what the workers of a campaign link have done, as CSV", "arena.cli.items"),
    "answer": Room("let a model of the catalogue answer the items", "arena.cli.answer"),
    "rate": Room("a board, plots and their parameters from a file of votes", "arena.cli.rate"),
    "votes": Room("votes from and to the formats that people hold", "arena.cli.rate"),
    "export": Room("this arena's votes for the public: Parquet, JSONL and a data card", "arena.cli.admin"),
    "forget": Room("delete a visitor's data on request", "arena.cli.admin"),
    "deploy": Room("this folder as a Hugging Face Space", "arena.cli.deploy"),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; return 2 with one clear line if it cannot be done."""
    words = sys.argv[1:] if words is None else words
    root = argparse.ArgumentParser(prog="python -m arena", description=__doc__)
    groups = root.add_subparsers(required=True)
    parsers = {name: groups.add_parser(name, help=room.help) for name, room in ROOMS.items()}
    chosen = words[0] if words and words[0] in ROOMS else None
    if chosen is None:
        root.parse_args(words)
        return 2
    room = importlib.import_module(ROOMS[chosen].module)
    room.GRAMMAR[chosen](parsers[chosen])
    arguments = root.parse_args(words)
    try:
        for line in room.run(arguments):
            print(line)
    except room.ERRORS as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    gc.set_threshold(100_000)  # a command makes many records and few cycles
    sys.exit(main())
