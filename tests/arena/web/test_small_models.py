"""MODELS=small on a phone: a download killed half-way, no network, then a vote on an own picture.

The suite's models are files without weights, in whose place a stand-in speaks; the soak's are tiny and real.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from arena.inference.catalogue import read_catalogue
from arena.settings import PRESETS, secret
from tests.support.live_pages import opened, phase, send
from tests.support.model_hub import ModelHub
from tests.support.screens import PHONE, assert_fits, press, see_both, shoot
from tests.support.servers import AppServer
from tests.support.tiny_vlm import build, build_smol

CARDS = read_catalogue(PRESETS / "small.toml", secret).cards


@pytest.fixture(params=["stand-ins", pytest.param("weights", marks=pytest.mark.soak)])
def speaks(request) -> str:
    """Which models answer."""
    return request.param


def folder_without_weights(folder: Path) -> Path:
    """Make a folder with the files of a model that nothing is loaded from."""
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(folder.name.encode() * 100_000)
    return folder


@pytest.fixture
def hub(speaks, tmp_path) -> Iterator[ModelHub]:
    """Models under the names and commits of the real ones."""
    if speaks == "weights":
        folders = (build_smol(tmp_path / "256m"), build(tmp_path / "500m"))
    else:
        folders = (folder_without_weights(tmp_path / name) for name in ("256m", "500m"))
    models = {
        (card.model, card.revision or ""): folder
        for card, folder in zip(CARDS, folders, strict=True)
    }
    with ModelHub(models) as running:
        yield running


def weights_of(hub: ModelHub) -> int:
    return sum(path.stat().st_size for folder in hub.models.values() for path in folder.iterdir())


def offer(page: Page):
    return page.locator("#live-offer")


def parts(home: Path) -> int:
    """How many bytes of unfinished files are in the cache."""
    return sum(path.stat().st_size for path in home.rglob("*.part"))


def test_from_nothing_to_a_vote_on_an_own_picture(browser, hub, speaks, tmp_path):
    home = tmp_path / "home"
    hub.holds_at = weights_of(hub) // 3
    server = AppServer(
        tmp_path / "data",
        MODELS="small",
        HF_ENDPOINT=hub.address,
        HF_HOME=str(home),
        HF_TOKEN="hf_canary0123456789",
        OMP_NUM_THREADS="1",
        **({"STAND_IN_MODELS": "yes"} if speaks == "stand-ins" else {}),
    )
    try:
        with opened(browser, server.address, PHONE) as page:
            expect(offer(page)).to_contain_text("You can add your picture now.")
            expect(offer(page).locator("progress")).to_be_visible()
            assert_fits(page)
            shoot(page, "small-loading")
            page.wait_for_load_state("networkidle")
            server.kill()
            begun = parts(home)
            assert begun > 0
            hub.is_away = True
            hub.go_on()
            server.start()
            page.reload()
            expect(offer(page)).to_contain_text("can't connect to 127.0.0.1")
            expect(page.locator("#live-send")).to_be_hidden()
            shoot(page, "small-offline")
            hub.is_away = False
            hub.sent = 0
            hub.holds_at = 1
            offer(page).get_by_role("button", name="Try again").click()
            expect(page.locator("#live-send")).to_have_text("Compare when ready")
            send(page)
            expect(page.locator("#live-waits")).to_be_visible()
            shoot(page, "small-waiting")
            hub.go_on()
            see_answers_and_vote(page)
        assert begun <= weights_of(hub) - hub.sent, "what was there did not come again"
        assert all("authorization" not in request.headers for request in hub.asked)
    finally:
        server.stop()


def see_answers_and_vote(page: Page) -> None:
    """The battle begins by itself once both models are ready, and ends with their names."""
    # stand-ins may have answered before one looks
    expect(page.locator(".dock")).to_have_attribute("data-phase", "open", timeout=200_000)
    assert not page.locator(".answer .model").all_inner_texts()
    see_both(page)
    press(page, "#choose-a")
    phase(page, "voted")
    press(page, "#names")
    phase(page, "revealed")
    assert sorted(page.locator(".answer .model").all_inner_texts()) == [card.name for card in CARDS]
