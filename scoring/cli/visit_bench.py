"""`score` for VisIT-Bench, where models are compared, and its commands `visit-board` and `visit-withdraw`."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option, Typer

from arena.cli.output_paths import refuse_overwriting
from arena.cli.rate import Aliases, Named
from arena.database import Database
from arena.formats.base import Battles
from arena.formats.registry import read
from arena.formats.visit_battles import verdict_winners
from arena.imports.ranked_votes import aliases_of, rankable_battles
from arena.io.tables import ANSWERS, RowsError
from arena.settings import Settings
from arena.sheets import as_text
from scoring.cli import progress
from scoring.cli.score_request import ScoreRequest
from scoring.jobs.submissions import Drafted, SubmissionRequest, Submissions
from scoring.visit_bench.benchmark import VisitBench
from scoring.visit_bench.benchmark import boards as boards_of
from scoring.visit_bench.leaderboard import (
    AutomaticBoard,
    automatic_board,
    family_csv,
    leaderboard_tsv,
    matches_of_votes,
)
from scoring.visit_bench.matches import (
    MatchReport,
    Pair,
    steadiness,
    ungraded_note,
)
from scoring.visit_bench.reader import read_submission
from scoring.visit_bench.sheets import board_sheet
from scoring.visit_bench.store import SubmissionError, SubmissionStore

OWNER = "operator"
TABLES = ("board.tsv", "families.csv")
app = Typer(rich_markup_mode=None)


def compare(benchmark: VisitBench, request: ScoreRequest) -> Iterator[str]:
    """Has a judge compare a model with its opponents; a complete submission enters the public board."""
    _check_request(benchmark, request)
    command_judge = request.command_judge()
    with closing(Database(request.settings.database_url)) as database:
        submissions = Submissions(database, blindness=None)
        drafted = _draft(benchmark, request, submissions, command_judge.address.address)
        yield from drafted.lines
        spec = yield from command_judge.spec()
        report = yield from command_judge.judge_draft(drafted.report, spec)
        ungraded_sentence = ungraded_note(report)
        if ungraded_sentence:
            yield ungraded_sentence
        yield from _steadiness_line(match.winners for match in report.matches)
        operators_url = request.settings.judge.base_url
        base_url = request.base_url or operators_url
        is_elsewhere = base_url.rstrip("/") != operators_url.rstrip("/")
        if private_reason := _private_reason(report, ungraded_sentence, is_elsewhere):
            yield f"Private: {private_reason}."
            boards = boards_of(report)
        else:
            entered = submissions.store.enter(OWNER, report)
            variant = f", variant {entered.number} of this submitter" if entered.number else ""
            yield f"On the board as {entered.name!r}{variant}: {entered.matches:,} new matches."
            boards = _public_boards(submissions.store, report)
    yield from _board_lines(boards)
    files = {**benchmark.files(report), **_board_files(boards)}
    yield progress.write_files(files, request.out, request.input_paths)
    if ungraded_sentence:
        raise progress.NothingGradedError(ungraded_sentence)


def _private_reason(report: MatchReport, ungraded_sentence: str, is_elsewhere: bool) -> str:
    """Returns why a report doesn't enter the public board; "" if it does.

    `is_elsewhere`: whether it was judged at another server than the operator's.
    """
    if ungraded_sentence:
        statement = ungraded_sentence.partition(":")[0]  # without the explanation after it
        return statement[0].lower() + statement[1:]
    if is_elsewhere:
        return "judged elsewhere than at JUDGE_URL"
    return "" if report.complete else "a partial submission"


def _check_request(benchmark: VisitBench, request: ScoreRequest) -> None:
    """Raises RowsError for nothing to judge, and BadParameter for a request that is no comparison here."""
    options = request.options
    if request.answers is None and not options.stored:
        raise RowsError(
            "There is nothing to judge. Name a file of predictions, or a stored model with -o stored=MODEL."
        )
    if request.answers is not None and options.stored:
        raise BadParameter(
            f"{benchmark.name} can't judge a file and a stored model. Leave out one.",
            param_hint="-o",
        )
    if options.source and not options.stored:
        raise BadParameter("source goes with stored. Leave it out.", param_hint="-o")
    if request.questions or request.against:
        raise BadParameter(
            f"{benchmark.name} uses the items stored here. Leave out --questions and --against."
        )
    if not request.judge:
        raise BadParameter(
            f"{benchmark.name} needs a judge. Choose one with --judge MODEL.", param_hint="--judge"
        )


def _draft(
    benchmark: VisitBench, request: ScoreRequest, submissions: Submissions, address: str
) -> Drafted:
    """Matches to judge, of a file or of a model's stored answers."""
    options = request.options
    submission = SubmissionRequest(
        opponents=options.opponents,
        protocol=benchmark.protocol_named(request.protocol),
        reference=options.reference,
        context=options.context,
        title=request.title,
    )
    if options.stored:
        source = options.source or _newest_source(submissions)
        return submissions.draft_stored(options.stored, source, submission, request.judge, address)
    answers = read_submission(request.file, ANSWERS)
    return submissions.draft(OWNER, answers, submission, request.judge, address)


@app.command("visit-board")
def board(
    file: Annotated[
        Path, Argument(help="votes or battles in any format that `python -m arena rate` reads")
    ],
    out: progress.Out,
    named: Named = False,
    alias: Aliases = None,
) -> Iterator[str]:
    """Make a board from a file of votes or battles: people's, or one judge's."""
    refuse_overwriting((out / name for name in TABLES), file)
    battles = rankable_battles(read(file), named, aliases_of(alias or ()))
    _check_one_origin(battles, file.name)
    yield from battles.notices
    if battles.format == "visit-battles":
        yield from _steadiness_line(verdict_winners(line.row) for line in battles.lines())
    matches = list(matches_of_votes(battles))
    if not matches:
        raise progress.NothingGradedError(
            f"{file.name} has no votes. Choose the file that has them."
        )
    boards = [
        automatic_board(matches, multi) for multi in sorted({match.multi for match in matches})
    ]
    yield from _board_lines(boards)
    yield progress.write_files(_board_files(boards), out)


@app.command("visit-withdraw")
def withdraw(
    name: Annotated[str, Argument(help="its name on the board")],
    source: Annotated[
        str | None, Option(help="the source of its items; by default the newest")
    ] = None,
) -> Iterator[str]:
    """Delete the texts of anybody's submission; its number and results stay."""
    with closing(Database(Settings.from_env().database_url)) as database:
        source = source or _newest_source(Submissions(database, blindness=None))
        store = SubmissionStore(database)
        owners = [entry.owner for entry in store.submissions(source) if entry.name == name]
        if not owners:
            raise SubmissionError(
                f"There is no submission {name!r} for the source {source!r}. Choose another name or --source."
            )
        store.withdraw(owners[0], source, name)
    yield f"The texts of {name!r} are gone; its number and its results stay."


def _newest_source(submissions: Submissions) -> str:
    """Returns the name of the newest source; "" if there is none."""
    sources = submissions.sources()
    return sources[-1] if sources else ""


def _public_boards(store: SubmissionStore, report: MatchReport) -> list[AutomaticBoard]:
    """Returns the public boards of a report's source, judge and prompt, for the kinds of items that it has."""
    kinds = {instance.multi for instance in report.instances}
    boards = []
    for board_key in store.board_keys():
        is_same_judging = (
            board_key.judging.model == report.judge.model
            and board_key.judging.address == report.judge.address
            and board_key.judging.prompt == report.judge.prompt
        )
        if is_same_judging and board_key.source == report.source and board_key.multi in kinds:
            boards.append(store.standings(board_key).board)
    return sorted(boards, key=lambda board: board.multi)


def _board_files(boards: Sequence[AutomaticBoard]) -> dict[str, bytes]:
    board_name, families_name = TABLES
    return {
        board_name: leaderboard_tsv(boards).encode(),
        families_name: family_csv(boards).encode(),
    }


def _check_one_origin(battles: Battles, file: str) -> None:
    """Raises RowsError for votes that no board may mix: of several judges, or of judges and people."""
    origins = {
        _origin_words(voter) if is_judge else "people"
        for voter, is_judge in zip(battles.voter, battles.judge, strict=True)
    }
    if len(origins) > 1:
        raise RowsError(
            f"It has votes of {', '.join(sorted(origins))}, which a board never mixes. Split the file.",
            file,
        )


def _origin_words(judge: str | None) -> str:
    return "a judge without a name" if judge is None else f"the judge {judge!r}"


def _steadiness_line(pairs: Iterable[Pair]) -> Iterator[str]:
    yield "; ".join(f"{name}: {share}" for name, share in steadiness(pairs).items())


def _board_lines(boards: Iterable[AutomaticBoard]) -> Iterator[str]:
    for board in boards:
        kind = "Multiple images" if board.multi else "Single image"
        yield ""
        yield from as_text(board_sheet(kind, f"{kind}: {board.matches:,} matches", board))
        yield from board.notices
