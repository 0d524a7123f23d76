"""Facts from a Hub on loopback, by the real client: whose model it is, how large, under which licence."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from huggingface_hub import HfApi

from arena.database import Database, now
from arena.items.fact_store import FactStore
from arena.items.ingest import Ingest
from arena.server import hub_facts
from arena.server.hub_facts import read_facts, refresh, refreshing
from arena.server.hub_requests import HubError
from tests.support.hub_server import HubServer
from tests.support.servers import drafts

QWEN = "Qwen/Qwen9-VL-8B"
PACKED = "lmstudio-community/Qwen9-VL-8B-4bit"
SHOWN = {
    "author": "Qwen",
    "cardData": {"license": "apache-2.0"},
    "createdAt": "2025-10-11T07:23:36.000Z",
    "gated": False,
    "safetensors": {"parameters": {"BF16": 8_767_123_696}, "total": 8_767_123_696},
}
QUANTIZED = {"relation": "quantized", "models": [{"_id": "1", "id": QWEN}]}


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as running:
        running.models = {QWEN: SHOWN}
        yield running


def read(hub: HubServer, repository: str = QWEN, **shown: object) -> dict[str, str]:
    if shown:
        hub.models[repository] = {**SHOWN, **shown}
    return read_facts(repository, HfApi(endpoint=hub.address, token="hf_canary0123456789"))


def test_a_repository_shows_its_facts_without_a_token(hub):
    assert read(hub) == {
        "organisation": "Qwen",
        "licence": "apache-2.0",
        "parameters": "8767123696",
        "open": "yes",
        "gated": "no",
        "on_hub": "2025-10-11",
        "link": f"https://huggingface.co/{QWEN}",
        "repository": QWEN,
    }
    assert hub.asked == [f"{QWEN} without a token"]


def test_who_converts_weights_is_not_their_maker(hub):
    facts = read(
        hub,
        PACKED,
        author="lmstudio-community",
        cardData={},
        createdAt="2026-01-01T00:00:00.000Z",
        baseModels=QUANTIZED,
        safetensors={"parameters": {"U32": 1_000, "F16": 20}, "total": 1_020},
    )
    assert facts["organisation"] == "Qwen" and facts["licence"] == "apache-2.0"
    assert facts["parameters"] == "8767123696" and facts["on_hub"] == "2025-10-11"
    assert facts["link"] == f"https://huggingface.co/{PACKED}"
    hub.models[QWEN] = {**SHOWN, "baseModels": {**QUANTIZED, "models": [{"id": "a/b"}]}}
    assert read(hub, PACKED)["organisation"] == "Qwen", "one step, not more"


def test_a_conversion_to_small_floats_has_the_size_of_the_original(hub):
    weights = {"parameters": {"F8_E4M3": 8_767_000_000, "F32": 900_000}, "total": 8_767_900_000}
    facts = read(hub, PACKED, baseModels=QUANTIZED, safetensors=weights)
    assert facts["parameters"] == "8767123696"


def test_a_finetuned_model_is_of_who_tuned_it(hub):
    tuned = {**QUANTIZED, "relation": "finetune"}
    assert read(hub, "ada/tuned", author="ada", baseModels=tuned)["organisation"] == "ada"
    assert hub.asked == ["ada/tuned without a token"]


@pytest.mark.parametrize("packed", ["I32", "U8", "F4"])
def test_packed_weights_give_no_size(hub, packed):
    weights = {"parameters": {packed: 1_000, "BF16": 20}, "total": 1_020}
    facts = read(hub, safetensors=weights)
    assert "parameters" not in facts and facts["open"] == "yes"


def test_gated_weights_are_open(hub):
    facts = read(hub, gated="manual")
    assert facts["open"] == facts["gated"] == "yes"
    assert "open" not in read(hub, safetensors=None), "without weights nobody knows"


def test_another_licence_has_its_own_name_and_link(hub):
    named = {"license": "other", "license_name": " Qwen <b>\nResearch", "license_link": "LICENSE"}
    facts = read(hub, cardData=named)
    assert facts["licence"] == "Qwen <b> Research" and "licence_link" not in facts
    named["license_link"] = "https://huggingface.co/Qwen/LICENSE"
    assert read(hub, cardData=named)["licence_link"] == named["license_link"]
    assert read(hub, cardData={"license": "other"})["licence"] == "other"
    assert len(read(hub, cardData={"license": "x" * 10_000})["licence"]) == 80
    assert "licence" not in read(hub, cardData={"license": ["mit", "gpl"]})


def test_a_hub_that_does_not_answer_says_why(hub):
    with pytest.raises(HubError, match="The Hub has no public model ada/none. Check the name"):
        read(hub, "ada/none")
    hub.models = {QWEN: {"safetensors": {"total": 3}}}
    with pytest.raises(HubError, match="can't be reached"):
        read(hub)


def test_repositories_are_read_once_a_week_and_stay_as_they_are_offline(bank, hub, monkeypatch):
    store = FactStore(bank)
    api = HfApi(endpoint=hub.address)
    store.link(store.find("m1")._replace(repository=QWEN), read(hub))
    refresh(store, api)
    assert len(hub.asked) == 1, "it was read just now"
    monkeypatch.setattr(hub_facts, "now", lambda: now() + timedelta(days=8))
    hub.models[QWEN] = {**SHOWN, "cardData": {"license": "mit"}}
    hub.status = 403
    refresh(store, api)
    assert store.by_model()["m1"].licence == "Apache-2.0"
    hub.status = 200
    refresh(store, api)
    assert store.by_model()["m1"].licence == "MIT"


def test_a_repository_that_cannot_be_read_keeps_no_other_from_being_read(
    bank, hub, monkeypatch, caplog
):
    store = FactStore(bank)
    for model in ("m1", "m2"):
        store.link(store.find(model)._replace(repository=QWEN), read(hub))
    monkeypatch.setattr(hub_facts, "now", lambda: now() + timedelta(days=8))
    facts = iter([RuntimeError("nobody foresaw this"), {"licence": "mit"}])

    def next_facts(*_: object) -> dict[str, str]:
        found = next(facts)
        if isinstance(found, RuntimeError):
            raise found
        return found

    monkeypatch.setattr(hub_facts, "read_facts", next_facts)
    refresh(store)
    licences = {store.by_model()[model].licence for model in ("m1", "m2")}
    assert licences == {"Apache-2.0", "MIT"} and "nobody foresaw this" in caplog.text


def test_a_look_that_breaks_off_is_not_the_last_one(bank, monkeypatch, caplog):
    looks: list[FactStore] = []

    def breaks_off(store: FactStore) -> None:
        looks.append(store)
        raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr(hub_facts, "refresh", breaks_off)
    monkeypatch.setattr(hub_facts, "LOOK_SECONDS", 0.0)

    async def run() -> None:
        async with refreshing(FactStore(bank)), asyncio.timeout(10):
            while len(looks) < 2:
                await asyncio.sleep(0.01)

    asyncio.run(run())
    assert "nobody foresaw this" in caplog.text


@pytest.fixture
def bank(database: Database) -> Database:
    Ingest(database).add_items("bank", "folder", drafts(2))
    return database
