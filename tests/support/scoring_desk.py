"""The desk at which files are scored: a job service on a database, and a person with uploads."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from arena.battles.lending import Lending
from scoring.benchmarks.mm_vet_questions import own_sample
from scoring.jobs.files import FileChoice
from scoring.jobs.report_pictures import ReportPictures
from scoring.jobs.service import JobService
from scoring.jobs.submissions import Submissions
from scoring.jobs.uploads import UploadStore
from scoring.jobs.worker import Operator
from scoring.questions.library import QuestionLibrary
from tests.support.judging_process import OWNER, SPEC, Bench
from tests.support.openai_server import OpenAIServer


def received(store: UploadStore, owner: str, *files: Path, network: str | None = None) -> str:
    """Send files one after the other, as the page does; return their token."""

    async def send(file: Path, beside: str) -> str:
        async def chunks() -> AsyncIterator[bytes]:
            yield file.read_bytes()

        return (await store.receive(owner, file.name, chunks(), network, beside)).token

    token = ""
    for file in files:
        token = asyncio.run(send(file, token))
    return token


class Visit:
    """A person at the desk of a server."""

    def __init__(
        self,
        bench: Bench,
        folder: Path,
        ceiling: float = 1000.0,
        owner: str = OWNER,
        login: bool = False,
        questions: Path | None = None,
    ) -> None:
        self.bench, self.owner = bench, owner
        self.upload_store = UploadStore(folder / "uploads")
        operator = Operator(bench.address, SPEC)
        self.service = JobService(
            {"sample": own_sample()},
            self.upload_store,
            bench.jobs,
            bench.worker,
            bench.cache,
            operator,
            {},
            ceiling,
            Submissions(bench.database, None),
            Lending(bench.database, login),
            ReportPictures(bench.database, bench.jobs, self.upload_store),
            QuestionLibrary(questions),
        )

    def brings(self, *files: Path, network: str | None = None) -> str:
        """Upload files together from a network and return their token."""
        return received(self.upload_store, self.owner, *files, network=network)

    def asked_for(
        self, file: Path, benchmark="mmbench", protocol="strict"
    ) -> tuple[str, FileChoice, str, str]:
        return self.brings(file), FileChoice(benchmark), protocol, ""


@contextmanager
def visiting(database, folder: Path, reply="A", **more) -> Iterator[Visit]:
    with OpenAIServer(lambda body, sample: reply) as server:
        yield Visit(Bench(database, server.address), folder, **more)
