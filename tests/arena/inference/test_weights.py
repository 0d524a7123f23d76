"""Weights from a Hub on loopback: where a model stands, what goes on after a cut, and why it can't be had."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from huggingface_hub import constants, snapshot_download

from arena.inference import weights
from arena.inference.weights import Downloads, WeightsTrouble, weights_folder
from arena.types import ModelCard, ModelError
from tests.support.model_hub import ModelHub

COMMIT = "7e3e67edbbed1bf9888184d9df282b700a323964"
OTHER = "a7da5b986cb59b408707209984f360a5f4ad7e47"
LARGE = 40_000
TOKEN = "hf_canary0123456789"


def card(name: str = "one", revision: str = COMMIT) -> ModelCard:
    return ModelCard(f"Model {name}", "local", f"ada/{name}", revision=revision)


ONE = card()
TWO = card("two", OTHER)


def model(folder: Path, byte: bytes) -> Path:
    """Write the files of a model, which is never loaded here."""
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "tiny"}')
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "model.safetensors").write_bytes(byte * LARGE)
    (folder / "picture.png").write_bytes(b"of no use")
    return folder


class Place(NamedTuple):
    """A Hub and an empty cache."""

    hub: ModelHub
    cache: Path


@pytest.fixture
def place(tmp_path, monkeypatch) -> Iterator[Place]:
    models = {
        (ONE.model, COMMIT): model(tmp_path / "one", b"1"),
        (TWO.model, OTHER): model(tmp_path / "two", b"2"),
    }
    with ModelHub(models) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(weights, "_FIRST_PAUSE_SECONDS", 0.0)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield Place(hub, tmp_path / "cache")


def loads(_: ModelCard) -> None:
    """Load a model, which always works."""


def ended(downloads: Downloads) -> Downloads:
    """Start downloads and wait for their end."""
    downloads.start()
    thread = downloads._thread
    assert thread is not None
    thread.join(20)
    assert not thread.is_alive()
    return downloads


def trouble(downloads: Downloads, of: ModelCard = ONE) -> tuple[WeightsTrouble, str]:
    standing = downloads.standing(of)
    assert standing.state == "failed" and standing.error is not None
    return standing.error.trouble, str(standing.error)


def until(true: Callable[[], bool]) -> None:
    for _ in range(2000):
        if true():
            return
        weights.time.sleep(0.005)
    raise AssertionError("it did not come")


def test_a_model_is_absent_then_loading_then_ready_and_after_that_in_the_cache(place, caplog):
    downloads = Downloads([ONE, TWO], loads)
    assert downloads.standing(ONE).state == "absent"
    assert weights_folder(ONE) is None
    place.hub.holds_at = LARGE // 2
    downloads.start()
    until(lambda: downloads.progress.done >= LARGE // 4)
    standing = downloads.standing(ONE)
    assert standing.state == "loading" and LARGE // 4 <= standing.done < standing.total
    assert downloads.progress.total == 2 * standing.total
    place.hub.go_on()
    ended(downloads)
    assert [downloads.standing(one).state for one in (ONE, TWO)] == ["ready", "ready"]
    assert "Downloading 2 models from 127.0.0.1" in caplog.text and "0 MB" in caplog.text

    folder = weights_folder(TWO)
    assert folder is not None
    assert (folder / "model.safetensors").read_bytes() == b"2" * LARGE
    assert not (folder / "picture.png").exists()
    found = snapshot_download(
        TWO.model, revision=OTHER, cache_dir=place.cache, local_files_only=True
    )
    assert Path(found) == folder, "other programs find it"
    assert all(TOKEN not in str(request) for request in place.hub.asked)

    asked = len(place.hub.asked)
    again = ended(Downloads([ONE, TWO], loads))
    assert again.standing(TWO).state == "ready" and len(place.hub.asked) == asked


def test_what_was_stopped_half_way_goes_on_from_there(place):
    first = Downloads([ONE], loads)
    place.hub.holds_at = LARGE // 2
    first.start()
    until(lambda: first.progress.done > LARGE // 4)
    first.stop()
    place.hub.cuts_at = LARGE // 2
    place.hub.go_on()
    ended(first)
    assert first.standing(ONE).state == "failed"
    here = sum(path.stat().st_size for path in place.cache.rglob("*.part"))
    assert LARGE // 4 <= here < LARGE
    place.hub.asked.clear()
    assert ended(Downloads([ONE], loads)).standing(ONE).state == "ready"
    ranges = [asked.headers["range"] for asked in place.hub.asked if "range" in asked.headers]
    assert ranges == [f"bytes={here}-"], "nothing came twice"


def test_a_file_that_comes_whole_again_takes_no_time_less_than_none(place, monkeypatch):
    monkeypatch.setattr(weights, "_ESTIMATE_SECONDS", 0.0)
    first = Downloads([ONE], loads)
    place.hub.holds_at = LARGE // 2
    first.start()
    until(lambda: first.progress.done > LARGE // 4)
    first.stop()
    place.hub.cuts_at = LARGE // 2
    place.hub.go_on()
    ended(first)
    place.hub.knows_ranges = False
    place.hub.sent = 0
    place.hub.holds_at = 1
    second = Downloads([ONE], loads)
    second.start()
    until(lambda: place.hub.sent > 0 and second.progress.done < LARGE // 4)
    assert second.progress.seconds is None
    place.hub.go_on()
    until(lambda: second.standing(ONE).state == "ready")


def test_what_is_here_beyond_a_files_end_counts_for_nothing(place):
    downloads = Downloads([ONE], loads)
    digest = hashlib.sha256(b"1" * LARGE).hexdigest()
    part = place.cache / "models--ada--one" / "blobs" / f"{digest}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"2" * (LARGE + 1))
    place.hub.holds_at = 1
    downloads.start()
    until(lambda: 0 < downloads.progress.done < LARGE)
    place.hub.go_on()
    until(lambda: downloads.standing(ONE).state == "ready")


def test_a_connection_that_breaks_off_goes_on_by_itself(place):
    place.hub.cuts_at = LARGE // 2
    assert ended(Downloads([ONE], loads)).standing(ONE).state == "ready"
    ranges = [request.headers.get("range") for request in place.hub.asked]
    assert any(part not in (None, "bytes=0-") for part in ranges)


def test_without_network_it_says_so_and_tries_again(place):
    downloads = Downloads([ONE, TWO], loads)
    place.hub.is_away = True
    ended(downloads)
    assert len(place.hub.asked) == 1, "the others are not waited for"
    for of in (ONE, TWO):
        assert trouble(downloads, of)[0] == "offline"
    assert "No connection to 127.0.0.1" in trouble(downloads)[1]
    place.hub.is_away = False
    assert ended(downloads).standing(TWO).state == "ready"


def test_a_hub_that_is_gone_half_way_is_told(place):
    downloads = Downloads([ONE], loads)
    place.hub.holds_at = LARGE // 2
    downloads.start()
    until(lambda: downloads.progress.done > LARGE // 4)
    place.hub.is_away = True
    place.hub.cuts_at = 0
    place.hub.go_on()
    ended(downloads)
    assert trouble(downloads)[0] == "offline"


def test_where_downloads_are_switched_off_nothing_is_asked(place, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    kind, text = trouble(ended(Downloads([ONE], loads)))
    assert kind == "switched off" and "HF_HUB_OFFLINE is set" in text
    assert not place.hub.asked


def test_a_disk_without_room_is_told_before_anything_is_fetched(place, monkeypatch):
    full = shutil.disk_usage(place.cache.parent)._replace(free=100_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    kind, text = trouble(ended(Downloads([ONE], loads)))
    assert kind == "no room" and "0.1 GB free" in text and "HF_HOME" in text
    assert place.hub.sent == 0


def test_a_wrong_commit_stops_its_own_model_alone(place):
    wrong = card("two", "f" * 40)
    downloads = ended(Downloads([wrong, ONE], loads))
    assert downloads.standing(ONE).state == "ready"
    kind, text = trouble(downloads, wrong)
    assert kind == "failed" and f"no model ada/two at commit {'f' * 40}" in text


def test_damaged_bytes_are_thrown_away_and_not_fetched_again_at_once(place, monkeypatch):
    downloads = Downloads([ONE], loads)
    place.hub.is_damaged = True
    kind, text = trouble(ended(downloads))
    assert kind == "failed" and "arrived damaged" in text
    assert not list(place.cache.rglob("*.part"))
    assert weights_folder(ONE) is None
    place.hub.is_damaged = False
    asked = len(place.hub.asked)
    assert trouble(ended(downloads))[0] == "failed" and len(place.hub.asked) == asked
    monkeypatch.setattr(weights, "_RETRY_SECONDS", 0.0)
    assert ended(downloads).standing(ONE).state == "ready"


@pytest.mark.parametrize("of", [ONE, replace(ONE, revision=None)], ids=["hub", "folder"])
def test_a_model_that_cannot_be_loaded_is_not_ready(place, of):
    def refuse(_: ModelCard) -> None:
        raise ModelError("down", "the model's processor needs torchvision: pip install torchvision")

    downloads = ended(Downloads([of], refuse))
    assert trouble(downloads, of) == (
        "failed",
        "the model's processor needs torchvision: pip install torchvision",
    )


def test_a_model_in_a_folder_is_loaded_and_the_hub_asked_for_nothing(place):
    here = ModelCard("Here", "local", str(place.cache.parent / "one"))
    loaded: list[ModelCard] = []
    downloads = Downloads([here], loaded.append)
    assert downloads.standing(here).state == "absent" and weights_folder(here) == Path(here.model)
    assert ended(downloads).standing(here).state == "ready" and loaded == [here]
    assert downloads.progress.total == 0 and not place.hub.asked


def test_a_file_that_is_larger_than_listed_is_stopped(place):
    place.hub.lists_less = 5
    kind, text = trouble(ended(Downloads([ONE], loads)))
    assert (
        kind == "failed"
        and "chat_template.jinja of ada/one is larger than 127.0.0.1 lists it" in text
    )
    assert len(place.hub.asked) == 2, "it is not fetched again and again"


@pytest.mark.parametrize(
    "siblings",
    ['["x"]', '{"a": 1}', '[{"rfilename": "config.json", "size": -1, "blobId": "ab"}]', "null"],
)
def test_a_list_that_is_none_is_told(place, siblings):
    place.hub.other_list = f'{{"siblings": {siblings}}}'
    kind, text = trouble(ended(Downloads([ONE], loads)))
    assert kind == "failed" and "sent no list of files for ada/one" in text


def test_weights_under_other_names_are_told(place):
    folder = place.hub.models[ONE.model, COMMIT]
    (folder / "model.safetensors").rename(folder / "part-1.safetensors")
    kind, text = trouble(ended(Downloads([ONE], loads)))
    assert kind == "failed" and "ada/one has no model.safetensors" in text


def test_names_that_lead_elsewhere_are_not_fetched(place):
    place.hub.more_files = (
        "../../outside.json",
        "..\\outside.json",
        "C:outside.json",
        "onnx/config.json",
    )
    assert ended(Downloads([ONE], loads)).standing(ONE).state == "ready"
    assert not [path for path in place.cache.parent.rglob("outside.json")]
    assert not [request for request in place.hub.asked if "outside" in request.path]
