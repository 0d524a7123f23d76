"""The line about drift: accepted by command, looked at by the running app, read on a report and by its operators."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from arena.database import Database
from arena.web.cookies import cookie_hash
from scoring.calibration.drift_store import DriftStore, JudgeKey
from scoring.jobs.store import Jobs
from tests.support.commands import Command
from tests.support.drifting_judge import HARDENED, DriftingJudge, age
from tests.support.job_worker import wait_for
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.openai_server import OpenAIServer
from tests.support.screens import DESK, fresh_page, shoot
from tests.support.servers import AppServer

MODEL = "gpt-4.1-mini"


class Running(NamedTuple):
    """An app whose judge has moved since it was accepted, and what it stands on."""

    server: AppServer
    database: Database
    key: JudgeKey


@pytest.fixture(scope="module")
def app(tmp_path_factory) -> Iterator[Running]:
    folder, judge = tmp_path_factory.mktemp("drift"), DriftingJudge()
    with OpenAIServer(judge, models=(MODEL,)) as server:
        server.fingerprint = "fp_44709d6fcb"
        settings = {"JUDGE_URL": server.address, "JUDGE_MODEL": MODEL}
        command = Command(folder, **settings)
        with ThreadPoolExecutor() as beside:  # the browser's event loop runs in this one
            assert beside.submit(command.run, "drift", "accept", "--yes").result().code == 0
        database = Database(command.database)
        age(database, 7.5)
        judge.shift = 0.05
        running = AppServer(folder / "data", DEMO_BANK="off", OPENAI_API_KEY="sk-test", **settings)
        yield Running(running, database, JudgeKey(server.address, MODEL, HARDENED.prompt))
        running.stop()
        database.close()


def test_the_running_app_finds_that_its_judge_moved_and_reports_say_it(browser, app):
    store = DriftStore(app.database)
    wait_for(lambda: store.history(app.key).looks, 60)
    stamp = replace(mm_vet_report().judge, address=app.key.address, model=MODEL, prompt=HARDENED.prompt)
    judged = replace(mm_vet_report(0.2, judge=stamp), protocol="hardened", title="looked at")
    links = [Jobs(app.database).add_done(cookie_hash("o" * 32), one).link for one in (judged, mm_vet_report(0.2))]
    with fresh_page(browser, DESK) as page:
        page.goto(f"{app.server.address}/report/{links[0]}")
        trust = page.locator("#report-trust")
        expect(trust).to_contain_text("Drift: moved by +0.0", timeout=30_000)
        expect(trust).to_contain_text("as gpt-4.1-mini-2026-01-01, fingerprint fp_44709d6fcb")
        expect(trust).to_contain_text("older scores of it are not comparable")
        assert "127.0.0.1" not in trust.inner_text()
        trust.scroll_into_view_if_needed()
        shoot(page, "drift-report")
        page.goto(f"{app.server.address}/report/{links[1]}")
        expect(trust).to_contain_text("Drift: never looked at with this prompt", timeout=30_000)


def test_operators_see_it_on_their_page(browser, app):
    wait_for(lambda: DriftStore(app.database).history(app.key).looks, 60)
    link = next(line for line in app.server.log.read_text().splitlines() if "for one browser and once" in line)
    with fresh_page(browser, DESK) as page:
        page.goto(link.split(" ")[-1])
        entry = page.locator(".checklist li", has_text="Judge's drift (MM-Vet, hardened)")
        expect(entry).to_contain_text("accept it anew: python -m scoring drift accept", timeout=30_000)
        expect(entry).to_have_class("missing")
        shoot(page, "drift-operators")
