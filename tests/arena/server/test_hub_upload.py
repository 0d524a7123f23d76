"""Upload: an export as a dataset on a Hub of loopback, by the real client."""

from collections.abc import Iterator

import pytest
from huggingface_hub import HfApi

from arena.server.hub_requests import HubError, retry_hub_requests
from arena.server.hub_upload import upload_dataset
from tests.support.hub_server import HubServer

TOPS = ("README.md", "data")
CARD = "---\nlicense: cc0-1.0\n---\n"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as running:
        yield running


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "test.parquet").write_bytes(b"PAR1")
    (tmp_path / "README.md").write_text(CARD)
    return tmp_path


def upload(hub: HubServer, folder, name: str = "ada/pets", private: bool = True) -> None:
    upload_dataset(
        folder, name, private, TOPS, HfApi(endpoint=hub.address, token="hf_canary0123456789")
    )


def test_a_dataset_is_made_private_and_holds_the_last_export_alone(hub, folder):
    upload(hub, folder)
    assert hub.private is True and hub.files == {
        "README.md": CARD.encode(),
        "data/test.parquet": b"PAR1",
    }
    hub.files |= {"data/taken-out.jpg": b"old", ".gitattributes": b"the Hub's"}
    (folder / "data" / "test.parquet").write_bytes(b"PAR2")
    upload(hub, folder)
    assert hub.files.keys() == {"README.md", "data/test.parquet", ".gitattributes"}
    assert hub.files["data/test.parquet"] == b"PAR2"


def test_a_dataset_is_public_when_that_is_asked_for(hub, folder):
    upload(hub, folder, private=False)
    assert hub.private is False
    with pytest.raises(
        HubError, match="The dataset ada/pets is public, not private. Make it private on the Hub"
    ):
        upload(hub, folder)


@pytest.mark.parametrize("path", ["writer/1", "votes/1.jsonl", "notes.md"])
def test_a_dataset_with_files_of_others_stays_as_it_is(hub, folder, path):
    hub.private, hub.files = True, {path: b"mine"}
    with pytest.raises(
        HubError, match=f"has {path}, which isn't from an export. Choose another name"
    ):
        upload(hub, folder)
    assert hub.files == {path: b"mine"}


@pytest.mark.parametrize("kind", ["503", "reset after"])
def test_requests_that_fail_are_sent_again(hub, folder, kind, monkeypatch):
    monkeypatch.setattr("arena.server.hub_requests.WAITS", (0.01,) * 3)
    hub.faults.planned = {
        f" /api/{part}": [kind] for part in ("repos", "datasets", "datasets/ada/pets/commit")
    }
    upload(hub, folder)
    assert hub.files.keys() == {"README.md", "data/test.parquet"}


@pytest.mark.parametrize("error", [KeyError("url"), RuntimeError("hf_canary")])
def test_a_reply_that_the_library_does_not_understand_is_told_in_a_sentence(
    hub, folder, error, monkeypatch
):
    def create_repo(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(HfApi, "create_repo", create_repo)
    with pytest.raises(HubError, match=rf"didn't accept ada/pets \({type(error).__name__}\)"):
        upload(hub, folder)


def test_what_the_hub_refuses_is_told_without_its_words(hub, folder, monkeypatch):
    for name in ("pets", "a/b/c"):
        with pytest.raises(HubError, match="Write OWNER/NAME"):
            upload(hub, folder, name)
    hub.status = 403
    with pytest.raises(HubError, match=r"refused to write ada/pets \(status 403\). Set HF_TOKEN"):
        upload(hub, folder)
    monkeypatch.setattr("arena.server.hub_upload.get_token", lambda: None)
    with pytest.raises(HubError, match="No Hub token found. Run"):
        upload_dataset(folder, "ada/pets", True, TOPS)
    retry_hub_requests()
