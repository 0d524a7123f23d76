"""The scoring command line: `python -m scoring mm-vet FILE --judge MODEL --out DIR`, and `fetch` for its questions."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from arena.database import Database, DatabaseError
from arena.rows import COMMAND_LINE, RowsError
from arena.settings import SettingError, Settings
from scoring.address import Address, AddressError
from scoring.benchmarks import BENCHMARKS, quote, score
from scoring.cache import ReplyCache
from scoring.desk import TRY_OUT, known
from scoring.driving import Progress
from scoring.jobs import Jobs
from scoring.judge import Judge, JudgeError, probe
from scoring.marking import Options, OptionsError, draft
from scoring.mm_vet import tabulate
from scoring.pace import Pace
from scoring.questions import QuestionsError, fetch_mm_vet, load_mm_vet, own_sample, subset
from scoring.results import QuestionSet, Report
from scoring.spec import JudgeSpec, read_prices, with_price
from scoring.uploads import UploadError, fill, notices, read_predictions

WRONG, DECLINED, UNFINISHED = 2, 3, 4
"""Exit codes: an input or a setting is wrong; the cost was not accepted; the judge stopped, and the same command goes
on where it was."""
MENDABLE = (AddressError, DatabaseError, OptionsError, QuestionsError, RowsError, SettingError, UploadError, OSError)


class Declined(Exception):
    """The cost was not accepted."""


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(words)
    try:
        arguments.run(arguments, Settings.from_env())
    except MENDABLE as error:
        return _ended(WRONG, str(error))
    except Declined:
        return _ended(DECLINED, "Nothing was sent.")
    except JudgeError as error:
        return _ended(UNFINISHED, f"{error}\nWhat is judged is kept: give the same command again to go on.")
    except KeyboardInterrupt:
        return _ended(UNFINISHED, "Stopped. What is judged is kept: give the same command again to go on.")
    return 0


def score_mm_vet(arguments: argparse.Namespace, settings: Settings) -> None:
    """Score a file of MM-Vet outputs and write its tables."""
    questions = _questions(arguments, settings)
    upload = read_predictions(arguments.file, questions, COMMAND_LINE)
    filled = fill(questions, upload, arguments.missing)
    for line in notices(upload):
        print(line)
    database = Database(settings.database_url)
    cache, jobs = ReplyCache(database), Jobs(database)
    address = Address(arguments.base_url or settings.judge.base_url, settings.judge.key)
    prices = read_prices(settings.judge.prices) if settings.judge.prices else {}
    spec = with_price(_spec(arguments, address, jobs), prices)
    options = Options(arguments.protocol, arguments.runs, arguments.samples, arguments.missing)
    report = draft(
        filled, questions, options, spec, address.shown, arguments.file.name, arguments.title or upload.title
    )
    _confirm(report, spec, cache, arguments.yes)
    pace = Pace(settings.judge.concurrency, settings.judge.requests_per_minute, settings.judge.tokens_per_minute)
    report = asyncio.run(_judged(report, spec, address, cache, pace))
    database.close()
    _write(report, arguments.out)


def fetch(arguments: argparse.Namespace, settings: Settings) -> None:
    """Download MM-Vet's questions and pictures from its authors."""
    print(f"MM-Vet is in {fetch_mm_vet(arguments.folder)}: set MM_VET_PATH to it.")


def _questions(arguments: argparse.Namespace, settings: Settings) -> QuestionSet:
    questions = own_sample() if arguments.sample else load_mm_vet(arguments.questions or settings.mm_vet)
    return subset(questions, arguments.subset) if arguments.subset else questions


def _spec(arguments: argparse.Namespace, address: Address, jobs: Jobs) -> JudgeSpec:
    """Return what the judge takes; one that is not known is tried out, if its owner agrees."""
    spec = known(arguments.judge, address, jobs)
    if spec is None:
        print(f"{arguments.judge} is not known here. {TRY_OUT}.")
        _agreed(arguments.yes)
    return spec or asyncio.run(probe(address, arguments.judge))


def _confirm(report: Report, spec: JudgeSpec, cache: ReplyCache, accepted: bool) -> None:
    """Say what it will cost and ask; raises Declined."""
    cost = quote(report, spec, None, cache)
    price = "its price is not known (JUDGE_PRICES)"
    if cost.dollars is not None:
        price = f"about ${cost.dollars:,.2f}, at most ${cost.most_dollars:,.2f} and calls that fail on top"
    print(f"{report.questions.name}: {len(report.rows):,} questions, {report.runs} runs, {report.protocol} protocol.")
    print(
        f"{cost.calls:,} calls to {spec.model} at {report.judge.address} ({cost.cached:,} replies are here already): "
        f"about {cost.prompt_tokens:,} tokens sent and {cost.completion_tokens:,} received; {price}."
    )
    if cost.calls:
        _agreed(accepted)


def _agreed(accepted: bool) -> None:
    """Ask whether to go on; raises Declined."""
    if not accepted and input("Go on? [y/N] ").strip().lower() not in ("y", "yes"):
        raise Declined


async def _judged(report: Report, spec: JudgeSpec, address: Address, cache: ReplyCache, pace: Pace) -> Report:
    with tqdm(desc="judging", unit="grade") as bar:

        def tell(progress: Progress) -> None:
            bar.total = progress.total
            bar.update(progress.done - bar.n)

        async with Judge(spec, address, pace) as judge:
            return await score(report, judge, cache, tell, asyncio.Event())


def _write(report: Report, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = BENCHMARKS[report.benchmark].files(report)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    for table in tabulate(report):
        print(f"\n{table.name}")
        for line in table.lines:
            mean = "unscored" if line.mean is None else f"{line.mean:5.1f}"
            interval = "" if line.low is None else f"  [{line.low:.1f}, {line.high:.1f}]"
            print(
                f"{line.name:>24} {line.n:>5} {mean}{interval}" + (f"  {line.unscored} unscored" * bool(line.unscored))
            )
    if report.missing:
        print(f"\nPARTIAL: {len(report.missing)} questions have no prediction.")
    if not report.trusted:
        print("\nJUDGE NOT TRUSTED: it gave points to an answer that deserves none.")
    print(f"\n{len(files)} files are in {folder}.")


def _ended(code: int, text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m scoring", description=__doc__)
    commands = root.add_subparsers(required=True)
    mm_vet = commands.add_parser("mm-vet", help="score a file of outputs; the key is read from OPENAI_API_KEY")
    mm_vet.set_defaults(run=score_mm_vet)
    mm_vet.add_argument("file", type=Path, help="JSON, JSONL, CSV, TSV or XLSX")
    mm_vet.add_argument("--judge", required=True, metavar="MODEL")
    mm_vet.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server; JUDGE_URL or OpenAI without")
    mm_vet.add_argument("--out", type=Path, required=True, metavar="DIR")
    mm_vet.add_argument("--runs", type=_runs, default=5)
    mm_vet.add_argument("--samples", action="store_true", help="the runs are samples of one call: cheaper")
    mm_vet.add_argument("--protocol", choices=("paper", "hardened"), default="hardened")
    mm_vet.add_argument("--missing", choices=("stop", "unscored"), default="stop", help="questions without an answer")
    mm_vet.add_argument("--questions", type=Path, metavar="PATH", help="mm-vet.json or its folder; MM_VET_PATH without")
    mm_vet.add_argument("--subset", type=Path, metavar="FILE", help="ids to score, as in bard_set.json")
    mm_vet.add_argument("--sample", action="store_true", help="our own questions, to try it out")
    mm_vet.add_argument("--title", default="", metavar="NAME", help="the model's name on the report")
    mm_vet.add_argument("--yes", action="store_true", help="accept the cost")
    fetched = commands.add_parser("fetch", help="download MM-Vet's questions and pictures")
    fetched.set_defaults(run=fetch)
    fetched.add_argument("folder", type=Path)
    return root


def _runs(text: str) -> int:
    if text not in map(str, range(1, 21)):
        raise argparse.ArgumentTypeError("expected 1 to 20 runs")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
