"""Judging on the command line: find the judge, quote the cost, ask for consent, and judge with a progress bar."""

import argparse
import asyncio
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, TypeVar

from tqdm import tqdm

from arena.database import Database, DatabaseError
from arena.inference.endpoint import Endpoint, EndpointError
from arena.io.images import PictureStore
from arena.io.tables import RowsError
from arena.settings import SettingError, Settings
from scoring.jobs.service import TRY_OUT, known
from scoring.jobs.store import Jobs
from scoring.judges.batch_api import BatchJudge, half
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge, probe
from scoring.judges.rate_limit import RateLimits
from scoring.judges.run import Progress
from scoring.judges.spec import JudgeSpec, read_prices, with_price
from scoring.registry import BENCHMARKS, quote, score
from scoring.report import AnyReport, NothingGradedError

T = TypeVar("T")
R = TypeVar("R", bound=AnyReport)
Lines: TypeAlias = Generator[str, None, T]
"""Lines to print as they become known; returns the result at the end."""

USER_ERRORS = (EndpointError, DatabaseError, RowsError, SettingError, OSError)
"""Errors of wrong input or settings that any command may raise; their messages address the user."""


class DeclinedError(Exception):
    """The user declined the cost."""


class CommandJudge:
    """Judge of one command; `accepted` skips the question about the cost, `batch` uses the Batch API."""

    def __init__(self, settings: Settings, base_url: str | None, accepted: bool, batch: bool = False) -> None:
        self._judge, self._batch = settings.judge, batch
        self._database = Database(settings.database_url)
        self._cache, self._jobs = ReplyCache(self._database), Jobs(self._database)
        self.address = Endpoint(base_url or settings.judge.base_url, settings.judge.key)
        self._accepted = accepted
        self._pictures = PictureStore(settings.pictures_dir)

    def spec(self, model: str) -> Lines[JudgeSpec]:
        """Return a judge's spec; an unknown model is probed with the user's consent. Raises DeclinedError."""
        prices = read_prices(self._judge.prices) if self._judge.prices else {}
        spec = known(model, self.address, self._jobs)
        if spec is None:
            yield f"{model} is not known here. {TRY_OUT}."
            self._agree()
            spec = asyncio.run(probe(self.address, model))
        return with_price(spec, prices)

    def judged(self, draft: R, spec: JudgeSpec) -> Lines[R]:
        """Print the cost and return the judged draft. Raises DeclinedError, and JudgeError if the judge stops."""
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
        return asyncio.run(self._scored(draft, spec))

    def close(self) -> None:
        self._database.close()

    async def _scored(self, draft: R, spec: JudgeSpec) -> R:
        pace = RateLimits(self._judge.concurrency, self._judge.requests_per_minute, self._judge.tokens_per_minute)
        with tqdm(desc="judging", unit="grade") as bar:

            def tell(progress: Progress) -> None:
                bar.total = progress.total
                bar.update(progress.done - bar.n)

            pictures = self._pictures
            asked = Judge(spec, self.address, pace, pictures=pictures)
            if self._batch:
                asked = BatchJudge(spec, self.address, self._database, pictures, tell=bar.write)
            async with asked as judge:
                return await score(draft, judge, self._cache, tell, asyncio.Event())

    def _agree(self) -> None:
        if not self._accepted and input("Go on? [y/N] ").strip().lower() not in ("y", "yes"):
            raise DeclinedError


def add_judge(parser: argparse.ArgumentParser, required: bool) -> None:
    """Add the arguments that choose a command's judge; the key is read from OPENAI_API_KEY."""
    chosen = parser if required else parser.add_mutually_exclusive_group()
    chosen.add_argument("--judge", required=required, metavar="MODEL", help="its key is read from OPENAI_API_KEY")
    if not required:
        chosen.add_argument("--no-judge", action="store_true", help="rules alone")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server; JUDGE_URL or OpenAI without")
    parser.add_argument("--batch", action="store_true", help="OpenAI's Batch API: half the price, within a day")
    parser.add_argument("--yes", action="store_true", help="accept the cost")


def finished(report: AnyReport, lines: Iterable[str], folder: Path) -> Iterator[str]:
    """Write a report's files and yield its lines; if nothing was graded, the first line says so.

    In that case raises NothingGradedError at the end.
    """
    benchmark = BENCHMARKS[report.benchmark]
    kept, ungraded = written(benchmark.files(report), folder), benchmark.ungraded(report)
    if ungraded:
        yield ungraded
    yield from lines
    yield f"\n{kept}"
    if ungraded:
        raise NothingGradedError(ungraded)


def written(files: Mapping[str, bytes], folder: Path) -> str:
    """Write files into a folder and return a line that says so."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        (folder / name).write_bytes(files[name])
    return f"{len(files)} files are in {folder}."
