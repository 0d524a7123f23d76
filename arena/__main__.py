"""The arena's command line: `python -m arena COMMAND ...`, with one of `COMMANDS`."""

import gc
import sys
from collections.abc import Sequence

from arena.cli.lazy_group import Command, LazyGroup

COMMANDS = {
    "items": Command("bring items and answers in", "arena.cli.items"),
    "models": Command("the models, and what is known of them", "arena.cli.models"),
    "campaign": Command(
        "paid judgements: campaigns, their links, pay sheets and votes", "arena.cli.campaign"
    ),
    "drafts": Command(
        "items that people write: projects, their boards and exports", "arena.cli.drafts"
    ),
    "plan": Command(
        "what paid votes cost for a wanted precision, before any vote", "arena.cli.plan"
    ),
    "answer": Command("let a model of the catalogue answer the items", "arena.cli.answer"),
    "rate": Command("a board, plots and their parameters from a file of votes", "arena.cli.rate"),
    "votes": Command("votes from and to the formats that people hold", "arena.cli.votes"),
    "export": Command(
        "this arena's votes for the public: Parquet, JSONL and a data card", "arena.cli.votes"
    ),
    "backup": Command("a copy of the SQLite file, also while the server runs", "arena.cli.backup"),
    "forget": Command("delete a visitor's data on request", "arena.cli.votes"),
    "deploy": Command("this folder as a Hugging Face Space", "arena.cli.deploy"),
}


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; returns 2, after one line on stderr, if it fails."""
    return LazyGroup("python -m arena", "The arena's command line.", COMMANDS).run(words)


if __name__ == "__main__":
    gc.set_threshold(100_000)  # a command makes many records and few cycles
    sys.exit(main())
