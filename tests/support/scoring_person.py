"""A person who scores a model on the page and reads the report, without a browser."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import gradio as gr
from anyio import to_thread
from fastapi import FastAPI
from fastapi.testclient import TestClient
from gradio.routes import App
from starlette.datastructures import Headers

from arena.battles.lending import Lending
from arena.battles.quotas import Networks
from arena.database import Database
from arena.io.images import PictureStore
from arena.web.cookies import COOKIE, cookie_hash
from arena.web.layout import PageLayout
from arena.web.static_files import Links
from scoring.benchmarks.mm_vet_questions import own_sample
from scoring.jobs.published import PublishedJobs
from scoring.jobs.report_pictures import ReportPictures
from scoring.jobs.service import JobService
from scoring.jobs.submissions import Submissions
from scoring.jobs.uploads import UploadStore
from scoring.jobs.worker import Operator
from scoring.people.marking import Marking
from scoring.registry import BENCHMARKS, benchmark_of
from scoring.web import report_page
from scoring.web.published_page import PublishedReports
from scoring.web.question_pictures import QuestionPictures
from scoring.web.report_page import ReportPages
from scoring.web.scoring_api import report_routes
from scoring.web.scoring_tab import ScoringTab
from tests.support.judging_process import SPEC, Bench
from tests.support.openai_server import OpenAIServer
from tests.support.scoring_desk import received

SENT = "c" * 32


async def _here() -> bool:
    return False


class Person:
    """A visitor of the page "Score a model" and of a report, without a browser."""

    owner = cookie_hash(SENT)

    def __init__(self, folder: Path, judge: OpenAIServer) -> None:
        self.bench = Bench(Database(f"sqlite:///{folder / 'arena.db'}"), judge.address)
        self.uploads = UploadStore(folder / "uploads")
        operator = Operator(self.bench.address, SPEC)
        database, lent = self.bench.database, (operator, {}, 10**9)
        parts = (
            self.bench.jobs,
            self.bench.worker,
            self.bench.cache,
            *lent,
            Submissions(database, None),
        )
        lending = Lending(database, login=False)
        kept = ReportPictures(database, self.bench.jobs, self.uploads)
        self.service = JobService({"sample": own_sample()}, self.uploads, *parts, lending, kept)
        headers = Headers({"cookie": f"{COOKIE}={SENT}"})
        self.request: Any = SimpleNamespace(headers=headers, is_disconnected=_here, client=None)
        pictures = QuestionPictures(PictureStore(folder / "pictures"), (), kept)
        # its routes, which nobody asks here, take four times as long to make as all else
        with patch.object(App, "create_app"), gr.Blocks():
            self.tab = ScoringTab(self.service, Networks(), copied=False)
        app = FastAPI()
        pages = ReportPages(
            jobs=self.bench.jobs,
            pictures=pictures,
            marking=Marking(database, self.bench.jobs),
            published_reports=PublishedReports.from_jobs(self.bench.jobs, PublishedJobs(database)),
            layout=PageLayout(Links("/read.css", "/read.js")),
            delete_job=self.service.delete,
        )
        app.include_router(report_page.routes(pages))
        app.include_router(report_routes(self.bench.jobs, pictures))
        self.web = TestClient(app)

    def brings(self, *files: Path) -> str:
        """Upload files together; return their token."""
        return received(self.uploads, self.owner, *files)

    def in_thread(self, handler: Any, *values: object) -> Any:
        """Call a handler as Gradio does."""

        async def call() -> Any:
            return await to_thread.run_sync(handler, *values)

        return asyncio.run(call())

    def reads(self, *files: Path) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Upload files; return what the page shows of them, and what the browser sends then."""
        tab = self.tab
        fields = [
            tab.link,
            tab.stored,
            tab.offers,
            tab.prices,
            *tab.settings.judge_fields,
            *tab.settings.file_fields,
            *tab.own_form.inputs,
        ]
        sent = {field: field.value for field in fields} | {tab.token: self.brings(*files)}
        form = self.in_thread(tab.on_arrived, sent, self.request)
        shown = {
            field: form[field]["value"] for field in sent if "value" in (form.get(field) or ())
        }
        return form, {**sent, **shown, tab.prices: form.get(tab.prices, "")}

    def checks(self, file: Path, benchmark: str) -> str:
        """Upload a file, see that it is recognised, press the button; return the job's link."""
        tab, toy = self.tab, BENCHMARKS[benchmark]
        form, sent = self.reads(file)
        assert form[tab.settings.benchmark]["value"] == toy.name
        assert form[tab.check]["value"] == toy.start
        assert all(not form[part]["visible"] for part in tab.settings.parts.values())
        self.seen = f"{form[tab.file_summary]} {form[tab.offers]}"
        return tab.on_check(sent, self.request)[tab.link]

    def opened(self, link: str) -> str:
        """Open a report and fetch its downloads; return what the report shows."""
        shown = self.web.get(f"/report/{link}").text
        report = self.bench.jobs.report(link)
        for name in benchmark_of(report).files(report):
            assert f"/reports/{link}/{name}" in shown
            assert self.web.get(f"/reports/{link}/{name}").status_code == 200
        return shown
