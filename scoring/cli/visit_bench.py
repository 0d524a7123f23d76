"""Commands for VisIT-Bench: `visit-bench` compares a model with others, `visit-board`, `visit-withdraw`."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from arena.database import Database
from arena.formats.base import Battles
from arena.formats.registry import read
from arena.formats.visit_battles import results
from arena.io.tables import COMMAND_LINE, RowsError
from arena.settings import Settings
from scoring.benchmarks.predictions import UploadError
from scoring.cli import progress
from scoring.cli.progress import CommandJudge, add_judge, written
from scoring.jobs.submissions import Drafted, SubmissionRequest, Submissions
from scoring.registry import BENCHMARKS
from scoring.report import NothingGradedError
from scoring.visit_bench.benchmark import boards as boards_of
from scoring.visit_bench.leaderboard import AutomaticBoard, BoardLine, automatic_board, family_table, played_of, table
from scoring.visit_bench.matches import MatchReport, Part, Steadiness, steadiness, ungraded
from scoring.visit_bench.reader import read_submission
from scoring.visit_bench.store import SubmissionError, SubmissionStore

USER_ERRORS = (*progress.USER_ERRORS, UploadError, SubmissionError)
OWNER = "operator"
"""Owner of the command line's submissions."""


def compare(arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    """Have a judge compare a model with its opponents; a complete submission enters the public board."""
    database = Database(settings.database_url)
    submissions = Submissions(database)
    serving = CommandJudge(settings, arguments.base_url, arguments.yes, arguments.batch)
    drafted = _drafted(arguments, submissions, serving.address.shown)
    yield from drafted.lines
    spec = yield from serving.spec(arguments.judge)
    report = yield from serving.judged(drafted.report, spec)
    serving.close()
    nothing = ungraded(report)
    if nothing:
        yield nothing
    yield from _steady(steadiness(match.winners for match in report.matches))
    private = arguments.base_url and arguments.base_url != settings.judge.base_url
    if report.complete and not private and not nothing:
        yield from _entered(submissions.store, report)
        boards = _public(submissions.store, report)
    else:
        why = "judged elsewhere than at JUDGE_URL" if private else "a partial submission"
        yield f"Private: {'nothing was graded' if nothing else why}."
        boards = boards_of(report)
    database.close()
    yield from _printed(boards)
    files = BENCHMARKS[report.benchmark].files(report)
    yield written({**files, **_tables(boards)}, arguments.out)
    if nothing:
        raise NothingGradedError(nothing)


def board(arguments: argparse.Namespace, _: Settings) -> Iterator[str]:
    """Compute the board of a file of votes or battles: people's, or one judge's."""
    battles = read(arguments.file)
    _one_kind(battles, arguments.file.name)
    yield from battles.notices
    if battles.format == "visit-battles":
        yield from _steady(steadiness(results(line.row) for line in battles.lines()))
    matches = list(played_of(battles))
    if not matches:
        raise NothingGradedError(f"{arguments.file.name}: expected votes, found none; choose the file that holds them")
    boards = [automatic_board(matches, multi) for multi in sorted({match.multi for match in matches})]
    yield from _printed(boards)
    yield written(_tables(boards), arguments.out)


def withdraw(arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    """Delete the texts of anybody's submission; its number and results stay."""
    database = Database(settings.database_url)
    store = SubmissionStore(database)
    source = arguments.source or (Submissions(database).sources() or ("",))[-1]
    owners = [one.owner for one in store.submissions(source) if one.name == arguments.name]
    if not owners:
        raise SubmissionError(
            f"There is no submission {arguments.name!r} on items of {source!r}; name another, or its --source"
        )
    store.withdraw(owners[0], source, arguments.name)
    database.close()
    yield f"The texts of {arguments.name!r} are gone; its number and its results stay."


def _drafted(arguments: argparse.Namespace, submissions: Submissions, address: str) -> Drafted:
    title = arguments.title or ""
    request = SubmissionRequest(arguments.opponents, arguments.protocol, arguments.reference, arguments.context, title)
    if arguments.stored:
        source = arguments.source or (submissions.sources() or ("",))[-1]
        return submissions.draft_stored(arguments.stored, source, request, arguments.judge, address)
    if arguments.file is None:
        raise RowsError("name a file of predictions, or a model of the item bank with --stored")
    file = read_submission(arguments.file, COMMAND_LINE)
    return submissions.draft(OWNER, file, request, arguments.judge, address)


def _entered(store: SubmissionStore, report: MatchReport) -> Iterator[str]:
    entered = store.enter(OWNER, report)
    variant = f", variant {entered.number} of this submitter" if entered.number else ""
    yield f"On the board as {entered.name!r}{variant}: {entered.matches:,} new matches."


def _public(store: SubmissionStore, report: MatchReport) -> list[AutomaticBoard]:
    """Return the public boards that a report entered."""
    stamp = (report.judge.model, report.judge.address, report.judge.prompt, report.source)
    kinds = {instance.multi for instance in report.instances}
    boards = [
        store.standings(board_key).board
        for board_key in store.board_keys()
        if (board_key.judging.model, board_key.judging.address, board_key.judging.prompt, board_key.source) == stamp
        and board_key.multi in kinds
    ]
    return sorted(boards, key=lambda board: board.multi)


def _tables(boards: Sequence[AutomaticBoard]) -> dict[str, bytes]:
    return {"board.tsv": table(boards).encode(), "families.csv": family_table(boards).encode()}


def _one_kind(battles: Battles, file: str) -> None:
    """Raise RowsError for votes that no board may mix: of several judges, or of judges and people."""
    judges = {voter if judge else None for voter, judge in zip(battles.voter, battles.judge, strict=True)}
    if len(judges) > 1:
        told = ", ".join(sorted(f"the judge {judge!r}" if judge else "people" for judge in judges))
        raise RowsError(f"holds votes of {told}; a board never mixes them: split the file", file)


def _steady(found: Steadiness) -> Iterator[str]:
    yield "; ".join(f"{name}: {_part(part)}" for name, part in found.named.items())


def _part(part: Part) -> str:
    return f"{part.part:,} of {part.of:,}" + ("" if part.share is None else f" ({part.share:.1%})")


def _printed(boards: Iterable[AutomaticBoard]) -> Iterator[str]:
    for made in boards:
        yield f"\n{'Multiple images' if made.multi else 'Single image'}: {made.matches:,} matches"
        yield f"{'rank':>4}  {'model':<32} {'Elo':>5} {'rating':>6} {'95% interval':>14} {'matches':>7}  vs. reference"
        yield from map(_line, made.lines)
        yield from made.notices


def _line(line: BoardLine) -> str:
    row = line.row
    elo, rating = (" " if value is None else f"{value:.0f}" for value in (row.elo_median, row.bt))
    interval = "" if row.bt_low is None or row.bt_high is None else f"{row.bt_low:.0f} to {row.bt_high:.0f}"
    ties = f", {line.reference.ties:,} ties" if line.reference and line.reference.ties else ""
    unscored = f"  {line.unscored:,} unscored" if line.unscored else ""
    shown = f"{row.rank or '':>4}  {row.model:<32} {elo:>5} {rating:>6} {interval:>14} {row.battles:>7,}"
    return f"{shown}  {line.reference or '-'}{ties}{unscored}"


def _compare_grammar(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=compare)
    parser.add_argument("file", type=Path, nargs="?", help="predictions.csv, or any table or JSONL with item keys")
    parser.add_argument("--stored", metavar="MODEL", help="the answers that the item bank has of a model, for a file")
    parser.add_argument("--source", help="whose items, with --stored; the newest without")
    parser.add_argument("--opponents", type=_opponents, default="all", metavar="all|reference|N")
    add_judge(parser, required=True)
    parser.add_argument("--reference", choices=("free", "backed"), default="free", help="what the judge is shown")
    parser.add_argument("--protocol", choices=("paper", "hardened"), default="hardened")
    parser.add_argument("--context", choices=("captions", "images"), default="captions", help="images: a vision judge")
    parser.add_argument("--title", metavar="NAME", help="the model's name, where no column has it")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")


def _board_grammar(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=board)
    parser.add_argument("file", type=Path, help="votes or battles in any format that `python -m arena rate` reads")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")


def _withdraw_grammar(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=withdraw)
    parser.add_argument("name", help="as it stands on the board")
    parser.add_argument("--source", help="on whose items; the newest without")


def _opponents(text: str) -> str | int:
    if text in ("all", "reference"):
        return text
    if text.isascii() and text.isdigit() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"expected all, reference or a number from 1 up, found {text!r}")


ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "visit-bench": _compare_grammar,
    "visit-board": _board_grammar,
    "visit-withdraw": _withdraw_grammar,
}
"""Argument builder by command."""
