"""The arena's command line: `python -m arena COMMAND ...`, with one of `COMMANDS`."""

import gc
import sys
from collections.abc import Sequence

from arena.cli.lazy_group import Command, LazyGroup

COMMANDS = {
    "items": Command("Import items and answers.", "arena.cli.items"),
    "models": Command("Name models, and state facts about them.", "arena.cli.models"),
    "campaign": Command(
        "Run campaigns of paid voters: links, pay sheets and votes.", "arena.cli.campaign"
    ),
    "drafts": Command("Have people write items: projects, boards and exports.", "arena.cli.drafts"),
    "plan": Command("Estimate what paid votes cost for a given precision.", "arena.cli.plan"),
    "answer": Command("Have a model answer the items.", "arena.cli.answer"),
    "rate": Command(
        "Rank models from a file of votes, with intervals and plots.", "arena.cli.rate"
    ),
    "votes": Command("Import and export votes in common formats.", "arena.cli.votes"),
    "export": Command(
        "Export this arena's votes for the public: Parquet, JSONL and a data card.",
        "arena.cli.votes",
    ),
    "backup": Command("Copy the SQLite file, even while the server runs.", "arena.cli.backup"),
    "forget": Command("Delete a visitor's data on request.", "arena.cli.votes"),
    "deploy": Command("Deploy this folder as a Hugging Face Space.", "arena.cli.deploy"),
}


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code. A failed one has printed why on stderr, and returns 2."""
    return LazyGroup("python -m arena", "The arena's command line.", COMMANDS).run(words)


if __name__ == "__main__":
    gc.set_threshold(100_000)  # a command makes many records and few cycles
    sys.exit(main())
