"""What a visitor can begin, by where the models stand, and in which words."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from arena.context import ArenaContext
from arena.inference import local_process
from arena.inference.weights import Downloads, Progress, WeightsError, WeightsStanding
from arena.items.ingest import Ingest
from arena.live.models import LiveModels
from arena.live.offer import Offer, offer_of
from arena.settings import Settings
from arena.types import ModelCard
from arena.web.live_view import offer_html
from tests.support.live_visitor import catalogue, table
from tests.support.scripted_vlm import two_models

ABSENT = WeightsStanding("absent")


def offered(live: LiveModels) -> Offer:
    """Return what a visitor without a key is offered by models that need none."""
    return offer_of(live, None, "none", has_catalogue=True)


LOADING = WeightsStanding("loading", 312_000_000, 1_540_000_000)
READY = WeightsStanding("ready")
OFFLINE = WeightsStanding("failed", error=WeightsError("offline", "No connection to the Hub."))
FULL = WeightsStanding("failed", error=WeightsError("no room", "The disk is full."))
BROKEN = WeightsStanding("failed", error=WeightsError("failed", "pip install torchvision"))


@dataclass
class Stopped(Downloads):
    """Downloads that stand where they are told."""

    standings: tuple[WeightsStanding, ...]
    seconds: float | None = None

    def standing(self, card: ModelCard) -> WeightsStanding:
        return self.standings[("one", "two").index(card.name)]

    @property
    def progress(self) -> Progress:
        return Progress(
            sum(standing.done for standing in self.standings),
            sum(standing.total for standing in self.standings),
            self.seconds,
        )


def models(*standings: WeightsStanding, seconds: float | None = None) -> LiveModels:
    return LiveModels(two_models().vlms, Stopped(standings, seconds), print)


@pytest.mark.parametrize(
    "standings, state",
    [
        ((READY, READY), "ready"),
        ((READY, LOADING), "loading"),
        ((OFFLINE, LOADING), "loading"),
        ((OFFLINE, OFFLINE), "offline"),
        ((READY, FULL), "failed"),
        ((BROKEN, BROKEN), "failed"),
        ((READY, ABSENT), "one"),
        ((ABSENT, ABSENT), "none"),
    ],
)
def test_a_battle_begins_once_two_models_are_ready(standings, state):
    offer = offered(models(*standings))
    assert offer.state == state
    assert bool(offer_html(offer, False).strip()) == (state != "ready")


def test_a_model_that_is_not_ready_is_in_no_battle():
    live = models(READY, LOADING)
    assert [vlm.card.name for vlm in live.usable] == ["one"]
    assert [vlm.card.name for vlm in live.vlms] == ["one", "two"]


def test_a_retired_model_is_in_no_battle_and_the_operator_reads_it(tmp_path):
    context = context_of(tmp_path, *map(api_table, ("one", "two", "three")))
    live = context.live_models
    assert offered(live).state == "ready" and live.problems == ()
    ingest = Ingest(context.database)
    ingest.rename("two", "The second")
    ingest.retire("two")
    assert [vlm.card.name for vlm in live.usable] == ["one", "three"]
    ingest.retire("one")
    assert [vlm.card.name for vlm in live.usable] == ["three"] and offered(live).state == "one"
    assert live.problems == ("Retired: one, two.",)
    context.database.close()


def test_a_model_in_a_folder_is_in_no_battle_before_it_is_loaded(tmp_path, monkeypatch):
    start = local_process.line_process
    monkeypatch.setattr(
        local_process, "line_process", lambda _: start("tests.support.stand_in_model")
    )
    (tmp_path / "config.json").write_text("{}")
    here = table({"name": "here", "kind": "local", "folder": str(tmp_path), "live": True})
    context = context_of(tmp_path, here, api_table("far"))
    live = context.live_models
    assert [vlm.card.name for vlm in live.usable] == ["far"]
    live.try_again()
    end = time.monotonic() + 20
    while live.load_progress is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert [vlm.card.name for vlm in live.usable] == ["here", "far"] and live.problems == ()
    asyncio.run(context.models.aclose())
    context.database.close()


def api_table(name: str) -> str:
    """Return a catalogue's table of a model that is never asked."""
    address = "http://127.0.0.1:9/v1"
    return table({"name": name, "kind": "api", "model": name, "address": address, "live": True})


def context_of(folder: Path, *tables: str) -> ArenaContext:
    """Return the services of a server with these models, which does not run."""
    environ = {"DATA_DIR": str(folder / "data"), "MODELS": catalogue(folder, *tables)}
    return ArenaContext(Settings.from_env({**environ, "DEMO_BANK": "off"}))


def test_the_operator_reads_why():
    live = models(BROKEN, LOADING)
    assert live.problems == ("one: pip install torchvision", "Being loaded: two.")
    assert two_models().problems == ()


def test_without_models_a_laptop_reads_how_to_start_and_a_space_does_not():
    nothing = offer_of(
        LiveModels([], Downloads((), print), print), None, "none", has_catalogue=False
    )
    assert nothing == Offer("unset")
    assert "<code>MODELS=small python app.py</code>" in offer_html(nothing, False)
    assert "MODELS" not in offer_html(nothing, True)
    assert "<code>" in offer_html(nothing, False)


@pytest.mark.parametrize(
    "seconds, words",
    [
        (None, "312 of 1,540 MB. You can add your picture"),
        (250.0, "312 of 1,540 MB. About 4 minutes left. You can add your picture"),
        (20.0, "About a minute left."),
    ],
)
def test_progress_is_told_in_megabytes_and_minutes(seconds, words):
    offer = offered(models(LOADING, ABSENT, seconds=seconds))
    html = offer_html(offer, False)
    assert words in " ".join(html.split())
    assert '<progress value="312000000" max="1540000000"' in html


def test_while_nothing_is_known_or_it_is_put_into_memory_no_number_is_told():
    offer = offered(models(WeightsStanding("loading"), READY))
    html = offer_html(offer, False)
    assert "Preparing the models." in html and "<progress" not in html


@pytest.mark.parametrize(
    "standing, words",
    [
        (OFFLINE, "couldn&#39;t be downloaded: can&#39;t connect to "),
        (FULL, "enough disk space"),
        (BROKEN, "couldn&#39;t be loaded"),
    ],
)
def test_what_failed_can_be_tried_again(standing, words):
    html = offer_html(offered(models(standing, standing)), False)
    assert words in html and "Try again</button>" in html
    assert "torchvision" not in html, "the reason in full is for the operator"
