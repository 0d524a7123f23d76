"""Commands `rate` and `votes`: rate a file of votes, and convert votes between formats; files need no database."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from arena.figures import PlotsError
from arena.formats.base import BothBad
from arena.formats.registry import FORMAT_NAMES, read, write
from arena.io.strict_json import RowsError
from arena.ratings.bradley_terry import LEAST_PRIOR, PRIOR, ConvergenceError
from arena.ratings.report import ClusterChoice, Method, RatingOrder, rating_report
from arena.ratings.report_files import write_report
from arena.ratings.votes import VotesError

ERRORS = (RowsError, VotesError, ConvergenceError, PlotsError, OSError)
"""Failures of a command, reported to the user in one line."""
_MOST_ROUNDS = 100_000


def run(arguments: argparse.Namespace) -> Iterator[str]:
    """Run one command and yield its output lines."""
    return arguments.command(arguments)


def rate(arguments: argparse.Namespace) -> Iterator[str]:
    """Rate the models in a file of votes, and write the board, its plots and its parameters."""
    battles = read(arguments.file, arguments.format)
    order = RatingOrder(
        arguments.method, arguments.bootstrap, arguments.cluster, arguments.prior, arguments.seed, arguments.both_bad
    )
    report = rating_report(battles, order)
    paths = write_report(report, battles, arguments.file, arguments.out)
    yield f"votes: {len(battles):,}, models: {len(report.models):,}, format: {battles.format or 'none'}"
    yield from report.notices
    yield f"written: {', '.join(map(str, paths))}"


def import_votes(arguments: argparse.Namespace) -> Iterator[str]:
    """Import a file of votes into the database, as a source with its own boards."""
    battles = read(arguments.file, arguments.format)
    yield f"votes: {len(battles):,}, format: {battles.format or 'none'}"
    yield from battles.notices
    votes = _stored_votes()
    source = arguments.source or arguments.file.stem
    request = votes.ImportRequest(source, arguments.into_live, arguments.both_bad, arguments.judge)
    yield from votes.import_file(battles, request)


def export_votes(arguments: argparse.Namespace) -> Iterator[str]:
    """Export votes to another format, and report what that format cannot hold."""
    battles = read(arguments.file) if arguments.file else _stored_votes().stored_votes(arguments.source)
    lost = write(battles, arguments.out, arguments.format)
    yield f"votes: {len(battles):,}, format: {arguments.format}, written to {arguments.out}"
    yield from (*battles.notices, *lost)


def _stored_votes() -> Any:
    """Import the module for stored votes lazily: commands on files do without a database."""
    from arena.imports import stored_votes

    return stored_votes


def add_rate(group: argparse.ArgumentParser) -> None:
    group.add_argument("file", type=Path)
    group.add_argument("--format", choices=FORMAT_NAMES, help="told from the content if left out")
    group.add_argument("--method", choices=get_args(Method), default="all")
    group.add_argument("--bootstrap", type=_rounds, default=1000, help="rounds; 0: no spread of Elo, no rank intervals")
    group.add_argument("--cluster", choices=get_args(ClusterChoice), default="tuple", help="what counts as independent")
    group.add_argument(
        "--prior", type=_prior, default=PRIOR, help="tied games with a mean model; 0: maximum likelihood"
    )
    group.add_argument("--both-bad", choices=get_args(BothBad), default="half", help='how "both bad" counts')
    group.add_argument("--seed", type=_whole, default=0)
    group.add_argument("--out", type=Path, required=True, metavar="DIR")
    group.set_defaults(command=rate)


def add_votes(group: argparse.ArgumentParser) -> None:
    votes = group.add_subparsers(required=True)
    imported = votes.add_parser("import", help="a file in any format into this arena, with boards of its own")
    imported.add_argument("file", type=Path)
    imported.add_argument("--format", choices=FORMAT_NAMES, help="told from the content if left out")
    imported.add_argument("--source", help="the name of its boards; the file's if left out")
    imported.add_argument(
        "--into-live", action="store_true", help="count votes on this arena's items beside its own too"
    )
    imported.add_argument("--both-bad", choices=get_args(BothBad), default="half", help='how "both bad" counts')
    imported.add_argument("--judge", action="store_true", help="a judge model chose, and no people")
    imported.set_defaults(command=import_votes)
    exported = votes.add_parser("export", help="this arena's votes, or a file of votes, to a format that others read")
    exported.add_argument("file", type=Path, nargs="?", help="left out: the votes of this arena")
    exported.add_argument(
        "--source", help="the bank or the import that the votes are of; may be left out if there is one"
    )
    exported.add_argument("--format", choices=FORMAT_NAMES, default="stereoscope")
    exported.add_argument("--out", type=Path, required=True)
    exported.set_defaults(command=export_votes)


def _rounds(text: str) -> int:
    if _whole(text) <= _MOST_ROUNDS:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected at most {_MOST_ROUNDS:,} rounds, found {text[:80]}")


def _whole(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number from 0 up, found {text!r}")


def _prior(text: str) -> float:
    try:
        if float(text) == 0 or LEAST_PRIOR <= float(text) < float("inf"):
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected 0 or a number from {LEAST_PRIOR} up, found {text!r}")


ARGUMENTS = {"rate": add_rate, "votes": add_votes}
"""Functions that add each command's arguments to its parser."""
