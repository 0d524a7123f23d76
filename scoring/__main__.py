"""The scoring command line: `python -m scoring mm-vet|mmbench|mmt-bench|vqa FILE ... --out DIR`, and `fetch`."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

from arena.settings import Settings
from scoring.cli.progress import DeclinedError
from scoring.judges.client import JudgeError
from scoring.report import NoAnswersError, NothingGradedError

WRONG, DECLINED, UNFINISHED, NOTHING = 2, 3, 4, 5
"""Exit codes: an input or a setting is wrong; the cost was not accepted; the judge stopped, and the same command goes
on where it was; nothing could be graded."""


class Command(NamedTuple):
    """A command's module, with `ARGUMENTS`, which name what to run, and `USER_ERRORS`."""

    help: str
    module: str


COMMANDS = {
    "mm-vet": Command("score a file of MM-Vet outputs", "scoring.cli.mm_vet"),
    "visit-bench": Command("have a judge compare a model's answers with others'", "scoring.cli.visit_bench"),
    "visit-board": Command("make a board of a file of votes or battles", "scoring.cli.visit_bench"),
    "visit-withdraw": Command("delete the texts of a submission; its results stay", "scoring.cli.visit_bench"),
    "agreement": Command("how far people agree, and which judges and metrics follow them", "scoring.cli.agreement"),
    "answer": Command("let a model of the catalogue answer a benchmark's questions", "scoring.cli.answer"),
    "fetch": Command("download MM-Vet's questions and pictures", "scoring.cli.mm_vet"),
    "mmbench": Command("score a file of MMBench or CCBench outputs", "scoring.cli.multiple_choice"),
    "mmt-bench": Command("score a file of MMT-Bench outputs", "scoring.cli.multiple_choice"),
    "vqa": Command("mark a file of GQA, OK-VQA or TextVQA outputs from 1 to 5", "scoring.cli.multiple_choice"),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if words is None else words
    root = argparse.ArgumentParser(prog="python -m scoring", description=__doc__)
    groups = root.add_subparsers(required=True)
    parsers = {name: groups.add_parser(name, help=command.help) for name, command in COMMANDS.items()}
    chosen = words[0] if words and words[0] in COMMANDS else None
    if chosen is None:
        root.parse_args(words)
        return WRONG
    command = importlib.import_module(COMMANDS[chosen].module)
    command.ARGUMENTS[chosen](parsers[chosen])
    arguments = root.parse_args(words)
    try:
        for line in arguments.run(arguments, Settings.from_env()):
            print(line)
    except (NoAnswersError, NothingGradedError) as error:
        return _ended(NOTHING, str(error))
    except command.USER_ERRORS as error:
        return _ended(WRONG, str(error))
    except DeclinedError:
        return _ended(DECLINED, "Nothing was sent.")
    except JudgeError as error:
        return _ended(UNFINISHED, f"{error}\nWhat is judged is kept: give the same command again to go on.")
    except KeyboardInterrupt:
        return _ended(UNFINISHED, "Stopped. What is judged is kept: give the same command again to go on.")
    return 0


def _ended(code: int, text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
