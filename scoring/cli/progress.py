"""Judging on the command line: find the judge, quote the cost, ask for consent, and judge with a progress bar."""

import asyncio
from collections.abc import Coroutine, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from tqdm import tqdm
from typer import Option

from arena.database import Database
from arena.inference.endpoint import Endpoint
from arena.io.images import PictureStore
from arena.settings import Settings
from scoring.jobs.service import TRY_OUT, known
from scoring.jobs.store import Jobs
from scoring.judges.batch_api import BatchJudge, half
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge, JudgeError, probe
from scoring.judges.rate_limit import RateLimits
from scoring.judges.run import Progress
from scoring.judges.spec import JudgeSpec, read_prices, with_price
from scoring.registry import BENCHMARKS, quote, score
from scoring.report import AnyReport

T = TypeVar("T")
R = TypeVar("R", bound=AnyReport)
Lines: TypeAlias = Generator[str, None, T]
"""Lines to print as they become known; returns the result at the end."""

JudgeModel = Annotated[str, Option("--judge", metavar="MODEL", help="its key is read from OPENAI_API_KEY")]
BaseUrl = Annotated[str | None, Option(metavar="URL", help="an OpenAI-compatible server; JUDGE_URL or OpenAI without")]
Batch = Annotated[bool, Option("--batch", help="OpenAI's Batch API: half the price, within a day")]
Yes = Annotated[bool, Option("--yes", help="accept the cost")]
Out = Annotated[Path, Option(metavar="DIR")]
Title = Annotated[str, Option(metavar="NAME", help="the model's name on the report")]


class DeclinedError(Exception):
    """The user declined the cost."""

    exit_code = 3


class StoppedError(Exception):
    """The judge stopped; the same command goes on where it was."""

    exit_code = 4


class NothingGradedError(Exception):
    """Nothing in a file could be graded; the message says why."""

    exit_code = 5


class CommandJudge:
    """The judge of one command; `yes` skips the question about the cost, `batch` uses the Batch API."""

    def __init__(self, settings: Settings, model: str, base_url: str | None, batch: bool, yes: bool) -> None:
        self._judge, self._model, self._batch, self._yes = settings.judge, model, batch, yes
        self._database = Database(settings.database_url)
        self._cache = ReplyCache(self._database)
        self.address = Endpoint(base_url or settings.judge.base_url, settings.judge.key)
        self._pictures = PictureStore(settings.pictures_dir)

    def spec(self) -> Lines[JudgeSpec]:
        """Return the judge's spec; an unknown model is probed with the user's consent. Raises DeclinedError."""
        prices = read_prices(self._judge.prices) if self._judge.prices else {}
        spec = known(self._model, self.address, Jobs(self._database))
        if spec is None:
            yield f"{self._model} is not known here. {TRY_OUT}."
            self._agree()
            spec = _asked(probe(self.address, self._model))
        return with_price(spec, prices)

    def judged(self, draft: R, spec: JudgeSpec) -> Lines[R]:
        """Print the cost and return the judged draft. Raises DeclinedError, and StoppedError if the judge stops."""
        priced = replace(spec, price=half(spec.price)) if self._batch else spec
        cost = quote(draft, priced, None, self._cache)
        price = "its price is not known (JUDGE_PRICES)"
        if cost.dollars is not None:
            price = f"about ${cost.dollars:,.2f}, at most ${cost.most_dollars:,.2f} and calls that fail on top"
        yield (
            f"{cost.calls:,} calls to {spec.model} at {self.address.shown} ({cost.cached:,} replies are here already): "
            f"about {cost.prompt_tokens:,} tokens sent and {cost.completion_tokens:,} received; {price}."
        )
        if cost.calls:
            self._agree()
        report = _asked(self._scored(draft, spec))
        self._database.close()
        return report

    async def _scored(self, draft: R, spec: JudgeSpec) -> R:
        pace = RateLimits(self._judge.concurrency, self._judge.requests_per_minute, self._judge.tokens_per_minute)
        with tqdm(desc="judging", unit="grade") as bar:

            def tell(progress: Progress) -> None:
                bar.total = progress.total
                bar.update(progress.done - bar.n)

            asked = Judge(spec, self.address, pace, pictures=self._pictures)
            if self._batch:
                asked = BatchJudge(spec, self.address, self._database, self._pictures, tell=bar.write)
            async with asked as judge:
                return await score(draft, judge, self._cache, tell, asyncio.Event())

    def _agree(self) -> None:
        if not self._yes and input("Go on? [y/N] ").strip().lower() not in ("y", "yes"):
            raise DeclinedError("Nothing was sent.")


def _asked(calls: Coroutine[None, None, T]) -> T:
    try:
        return asyncio.run(calls)
    except JudgeError as error:
        raise StoppedError(f"{error}\nWhat is judged is kept: give the same command again to go on.") from error


def finished(report: AnyReport, lines: Iterable[str], folder: Path) -> Iterator[str]:
    """Write a report's files and yield its lines. Raises NothingGradedError at the end if nothing was graded."""
    benchmark = BENCHMARKS[report.benchmark]
    kept, ungraded = written(benchmark.files(report), folder), benchmark.ungraded(report)
    if ungraded:
        yield ungraded
    yield from lines
    yield f"\n{kept}"
    if ungraded:
        raise NothingGradedError(ungraded)


def written(files: Mapping[str, bytes], folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        (folder / name).write_bytes(files[name])
    return f"{len(files)} files are in {folder}."
