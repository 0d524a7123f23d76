"""Judging on the command line: find the judge, quote the cost, ask for consent, and judge with a progress bar."""

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from tqdm import tqdm
from typer import Option

from arena.budget import BudgetError, RunBudget
from arena.cli.output_paths import output_folder, refuse_overwriting
from arena.database import Database
from arena.inference.endpoint import Endpoint
from arena.interval_text import BRACKETS
from arena.io.images import Picture, PictureStore
from arena.settings import Settings
from arena.sheets import Sheet, as_text
from arena.templates import plural
from scoring.benchmarks.base import LazyFiles
from scoring.jobs.service import TRY_OUT, known_spec
from scoring.jobs.store import Jobs
from scoring.judges.batch_api import BatchJudge, half_price
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge, JudgeError, JudgeUnknown, JudgeUnreadable, probe
from scoring.judges.rate_limit import RateLimits
from scoring.judges.run import Progress, Quote, Task, quote_tasks, run_tasks
from scoring.judges.spec import JudgeSpec, ShownImage, prices_date, read_prices, with_price
from scoring.registry import benchmark_of, quote, score
from scoring.report import AnyReport, file_stem
from scoring.score_sheets import sheet_files

T = TypeVar("T")
R = TypeVar("R", bound=AnyReport)
Lines: TypeAlias = Generator[str, None, T]
"""Lines to print as they become known; returns the result at the end."""

JudgeModel = Annotated[
    str, Option("--judge", metavar="MODEL", help="the judge; its key is read from OPENAI_API_KEY")
]
BaseUrl = Annotated[
    str | None,
    Option(metavar="URL", help="an OpenAI-compatible server; by default JUDGE_URL or OpenAI"),
]
Batch = Annotated[
    bool, Option("--batch", help="use OpenAI's Batch API: half the price, within a day")
]
Yes = Annotated[bool, Option("--yes", help="accept the cost without asking")]
Dollars = Annotated[
    float | None,
    Option(
        "--budget",
        metavar="DOLLARS",
        min=0,
        help="stop at this cost; by default at three times the estimate",
    ),
]
Out = Annotated[Path, Option(metavar="DIR", callback=output_folder)]
Title = Annotated[str, Option(metavar="NAME", help="the model's name on the report")]


_PRICE_ADVICE = "Set JUDGE_PRICES to a CSV with the columns model, prompt and completion."


class DeclinedError(Exception):
    """The user declined the cost."""

    exit_code = 3


class StoppedError(Exception):
    """The judge stopped; the same command goes on where it was."""

    exit_code = 4


class JudgeChoiceError(Exception):
    """The judge that was named cannot be asked, or cannot be read; another has to be chosen."""

    exit_code = 2


class NothingGradedError(Exception):
    """Nothing in a file could be graded; the message says why."""

    exit_code = 5


class CommandJudge:
    """The judge of one command: `yes` skips the question about the cost, `batch` uses the Batch API.

    A run stops at the `budget` in US dollars. A second run isn't possible: the first closes the database.
    """

    def __init__(
        self,
        settings: Settings,
        model: str,
        base_url: str | None,
        batch: bool,
        yes: bool,
        budget: float | None,
    ) -> None:
        self._judged = 0
        """Grades of this run, those from the cache included."""
        self._budget = budget
        self._settings = settings.judge
        self._model = model
        self._batch = batch
        self._yes = yes
        self._database = Database(settings.database_url)
        self._cache = ReplyCache(self._database)
        self.address = Endpoint(base_url or settings.judge.base_url, settings.judge.key)
        self._pictures = PictureStore(settings.pictures_dir)

    def spec(self) -> Lines[JudgeSpec]:
        """Returns the judge's spec; an unknown model is probed with the user's consent.

        Raises DeclinedError, and as `_probe` and `_run_calls`.
        """
        prices = read_prices(self._settings.prices) if self._settings.prices else {}
        spec = known_spec(self._model, self.address, Jobs(self._database))
        if spec is None:
            yield f"We don't know {self._model}. {TRY_OUT}."
            self._agree()
            spec = self._probe()
        return with_price(spec, prices)

    def _probe(self) -> JudgeSpec:
        """Spec found by trial calls. Raises JudgeChoiceError if none of the judge's replies can be read."""
        try:
            return self._run_calls(probe(self.address, self._model))
        except StoppedError as error:
            # Nothing has been judged yet: this is a wrong choice of judge, not a stopped run.
            if isinstance(error.__cause__, JudgeUnreadable):
                raise JudgeChoiceError(str(error.__cause__)) from error
            raise

    def judge_draft(self, draft: R, spec: JudgeSpec) -> Lines[R]:
        """Prints the cost and returns the judged draft. Raises DeclinedError, and StoppedError if the judge stops."""
        priced = replace(spec, price=half_price(spec.price)) if self._batch else spec
        cost = quote(draft, priced, owner=None, cache=self._cache)
        most = yield from self._agree_to_cost(cost, spec.model)
        report = self._run_calls(
            self._with_bar(
                spec,
                most,
                lambda judge, cache, tell, stop: score(draft, judge, cache, tell, stop),
            )
        )
        self._database.close()
        return report

    def outcomes(self, tasks: Sequence[Task[T]], spec: JudgeSpec) -> Lines[tuple[T, ...]]:
        """Prints the cost of the tasks and returns their outcomes. Raises as `judge_draft`."""
        cost = quote_tasks(tasks, spec, self.address.address, owner=None, cache=self._cache)
        most = yield from self._agree_to_cost(cost, spec.model)
        outcomes = self._run_calls(
            self._with_bar(
                spec,
                most,
                lambda judge, cache, tell, stop: run_tasks(tasks, judge, cache, tell, stop),
            )
        )
        self._database.close()
        return outcomes

    def store_pictures(
        self, pictures: Iterable[tuple[str, Picture]]
    ) -> dict[str, tuple[ShownImage, ...]]:
        """Stores pictures for the judge, and returns them by the item or question that comes with each."""
        images: dict[str, tuple[ShownImage, ...]] = {}
        for name, picture in pictures:
            self._pictures.keep(picture)
            images[name] = (*images.get(name, ()), ShownImage(picture.sha256, picture.suffix))
        return images

    def _agree_to_cost(self, cost: Quote, model: str) -> Lines[int]:
        """Prints the cost, and returns the most that may be spent, in millionths of a US dollar.

        Raises DeclinedError and StoppedError.
        """
        most = cost.most if self._budget is None else round(self._budget * 1e6)
        if cost.dollars is not None:
            price = (
                f"This costs about ${cost.dollars:,.2f} by the prices of {prices_date()}, "
                f"and at most ${most / 1e6:,.2f}."
            )
        elif self._budget is None:
            price = f"Its price isn't known. {_PRICE_ADVICE}"
        else:
            raise StoppedError(
                f"The price of {model} isn't known, so --budget can't be kept. {_PRICE_ADVICE}"
            )
        if self._batch and self._budget is not None and cost.most > most:
            raise StoppedError(
                f"A batch is paid as a whole and can't stop at ${most / 1e6:,.2f}. {price} "
                "Raise --budget, or leave out --batch."
            )
        yield (
            f"{plural(cost.calls, 'call')} to {model} at {self.address.address} "
            f"({cost.cached:,} more here already): about {cost.prompt_tokens:,} tokens sent and "
            f"{cost.completion_tokens:,} received. {price}"
        )
        if cost.calls:
            self._agree()
        return most

    async def _with_bar(self, spec: JudgeSpec, most: int, work: Callable[..., Awaitable[T]]) -> T:
        """Result of `work`, called with the judge, the cache, a callback for progress, and an event that stops it.

        `most`: the most that may be spent, in millionths of a US dollar. A batch can't be stopped there.
        """
        pace = RateLimits(
            self._settings.concurrency,
            self._settings.requests_per_minute,
            self._settings.tokens_per_minute,
        )
        with tqdm(desc="judging", unit=" grades", leave=False) as bar:

            def tell(progress: Progress) -> None:
                self._judged = progress.done
                bar.total = progress.total
                bar.update(progress.done - bar.n)

            client = Judge(spec, self.address, pace, RunBudget(most), pictures=self._pictures)
            if self._batch:
                client = BatchJudge(
                    spec, self.address, self._database, self._pictures, tell=bar.write
                )
            async with client as judge:
                return await work(judge, self._cache, tell, asyncio.Event())

    def _run_calls(self, calls: Coroutine[None, None, T]) -> T:
        """Result of calls to the judge. Raises StoppedError and JudgeChoiceError, which say how to go on."""
        try:
            return asyncio.run(calls)
        except JudgeUnknown as error:
            raise JudgeChoiceError(f"{error}.\nName another with --judge MODEL.") from error
        except JudgeUnreadable as error:
            raise StoppedError(
                f"{error}\n{self._saved_work()} Run the same command with another --judge MODEL."
            ) from error
        except (JudgeError, BudgetError) as error:
            raise StoppedError(
                f"{error}\n{self._saved_work()} Run the same command again to continue."
            ) from error

    def _saved_work(self) -> str:
        return "Grades so far are kept." if self._judged else "Nothing has been judged yet."

    def _agree(self) -> None:
        try:
            agreed = self._yes or input("Go on? [y/N] ").strip().lower() in ("y", "yes")
        except EOFError as error:
            raise DeclinedError("Nothing was sent. Add --yes if nobody can answer.") from error
        if not agreed:
            raise DeclinedError("Nothing was sent.")


def finish_report(
    report: AnyReport,
    lines: Iterable[str],
    folder: Path,
    input_paths: Iterable[Path | None],
    compare: Callable[[], Lines[Mapping[str, bytes]]] | None = None,
) -> Iterator[str]:
    """Writes a report's files and those of `compare`, yields the lines of both and the number of files.

    Raises as `write_files`, and NothingGradedError if nothing was graded.
    """
    benchmark = benchmark_of(report)
    files = benchmark.files(report)
    summary = write_files(files, folder, input_paths)
    ungraded = benchmark.ungraded_note(report)
    if ungraded:
        yield ungraded
    yield from lines
    if compare and not ungraded:
        tables = yield from compare()
        write_files(tables, folder)
        summary = _file_count(len(files) + len(tables), folder)
    yield f"\n{summary}"
    if ungraded:
        raise NothingGradedError(ungraded)


def report_lines(report: AnyReport) -> Iterator[str]:
    """Remarks of a benchmark on a report, with its tables."""
    benchmark = benchmark_of(report)
    yield BRACKETS
    yield from benchmark.remarks(report)
    yield f"\n{benchmark.sentence(report)}"
    yield from sheet_lines(benchmark.sheets(report))
    yield from benchmark.footnotes(report)


def compare_reports(report: AnyReport, other: AnyReport) -> Lines[Mapping[str, bytes]]:
    """Yields the tables that set a report beside another, and returns them as files."""
    sheets = benchmark_of(report).compare(report, other)
    yield from sheet_lines(sheets)
    ours = report.judge.versions if report.judge else ()
    theirs = other.judge.versions if other.judge else ()
    if ours and theirs and ours != theirs:
        yield f"These grades are of different judges: {', '.join(ours)}; and {', '.join(theirs)}."
    name = f"{file_stem(report.file)}-against-{file_stem(other.file)}"
    return LazyFiles(sheet_files(name, sheets))


def sheet_lines(sheets: Iterable[Sheet]) -> Iterator[str]:
    """Yields the tables of a report, without those for a place beside another, which repeat it in another order."""
    for sheet in sheets:
        if sheet.place != "beside":
            yield ""
            yield from as_text(sheet)


def refuse_overwriting_files(
    report: AnyReport, folder: Path, input_paths: Iterable[Path | None]
) -> None:
    """Raises OutputError if a report's files would replace an input. A draft will do: its files have the same names."""
    refuse_overwriting((folder / name for name in benchmark_of(report).files(report)), *input_paths)


def write_files(
    files: Mapping[str, bytes], folder: Path, input_paths: Iterable[Path | None] = ()
) -> str:
    """Writes files to a folder. Raises OutputError, before any is written, if one would replace an input."""
    refuse_overwriting((folder / name for name in files), *input_paths)
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        (folder / name).write_bytes(files[name])
    return _file_count(len(files), folder)


def _file_count(count: int, folder: Path) -> str:
    verb = "is" if count == 1 else "are"
    return f"{plural(count, 'file')} {verb} in {folder}."
