"""The inbox: one upload a person, whole or not at all, and not for long."""

import asyncio
import io
import os
import threading
import time
import zipfile
from collections.abc import AsyncIterator

import pytest

from scoring.jobs import uploads
from scoring.jobs.uploads import StoredUpload, UploadStore, UploadStoreError
from tests.support.disks import files_end_at


async def parts(*chunks: bytes, then: Exception | None = None) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
    if then is not None:
        raise then


def receive(
    upload_store: UploadStore, owner: str = "me", name: str = "out.json", *chunks: bytes, **more
) -> StoredUpload:
    return asyncio.run(upload_store.receive(owner, name, parts(*(chunks or (b"{}",)), **more)))


@pytest.fixture
def upload_store(tmp_path) -> UploadStore:
    (tmp_path / "uploads").mkdir()
    left_over = tmp_path / "uploads" / "left-over.json"
    left_over.write_bytes(b"of an earlier run")
    os.utime(left_over, (0, 0))
    return UploadStore(tmp_path / "uploads")


def held(upload_store: UploadStore, tmp_path) -> int:
    return len([path for path in (tmp_path / "uploads").iterdir() if path.suffix != ".slip"])


def test_a_file_arrives_as_it_is_and_is_found_by_its_owner_only(upload_store, tmp_path):
    assert held(upload_store, tmp_path) == 0, "what an earlier run left is gone"
    arrived = receive(upload_store, "me", "../../My outputs.JSON", b'{"a"', b': "b"}')
    assert arrived.path.read_bytes() == b'{"a": "b"}'
    assert arrived.path.parent == tmp_path / "uploads" and "outputs" not in arrived.path.name
    assert upload_store.find("me", arrived.token) == arrived
    for owner, token in (
        ("you", arrived.token),
        ("me", "forged"),
        ("me", ""),
        ("me", "../x"),
        ("me", "a\0b"),
    ):
        with pytest.raises(UploadStoreError, match="no longer here"):
            upload_store.find(owner, token)


@pytest.mark.parametrize("ending", [".TSV", ".jsonl", ".zip.csv"])
def test_a_long_name_keeps_its_ending(upload_store, ending):
    arrived = receive(upload_store, "me", f"{'x' * 300}{ending}")
    assert len(arrived.name) == 200 and arrived.name.endswith(ending[ending.rindex(".") :])


def test_a_second_file_takes_the_place_of_the_first(upload_store, tmp_path):
    first, second = receive(upload_store), receive(upload_store)
    assert not first.path.exists() and second.path.exists()
    receive(upload_store, "you")
    assert held(upload_store, tmp_path) == 2


def join(
    upload_store: UploadStore, upload: StoredUpload, name: str, content: bytes = b"{}", owner="me"
) -> StoredUpload:
    """Send a further file beside those of an upload."""
    sent = upload_store.receive(owner, name, parts(content), beside=upload.token)
    return asyncio.run(sent)


def packed(*names: str, content: bytes = b"x") -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return whole.getvalue()


def test_files_that_come_together_are_one_upload_and_go_together(upload_store, tmp_path):
    first = receive(upload_store, "me", "a.csv")
    join(upload_store, first, "zoo.yaml", b"name: Zoo")
    whole = join(upload_store, first, "folder/b.tsv", b"b")
    assert whole.token == first.token and whole.name == "a.csv" and whole.size == 12
    assert upload_store.find("me", first.token) == whole
    assert [file.name for file in whole.files] == ["a.csv", "zoo.yaml", "b.tsv"]
    assert whole.files[2].path.read_bytes() == b"b" and whole.files[2].path.suffix == ".tsv"
    led = upload_store.latest("me", "b.tsv")
    assert led and led.name == "b.tsv" and {*led.files} == {*whole.files}
    assert upload_store.latest("you", "b.tsv") is None
    receive(upload_store, "you", "b.tsv")
    upload_store.drop("me", "b.tsv", whole.since - 1)
    assert upload_store.find("me", first.token) == whole, "it came later"
    upload_store.drop("me", "b.tsv", whole.since)
    assert held(upload_store, tmp_path) == 1, "yours stays"
    first = receive(upload_store)
    join(upload_store, first, "b.csv")
    receive(upload_store)
    assert held(upload_store, tmp_path) == 2


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a.csv", "a.csv is there twice"),
        ("x/a.csv", "a.csv is there twice"),
        ("b.pkl", r"We can't read 'b.pkl'. Save it as one of \.json"),
        ("b.zip", "b.zip isn't a readable zip"),
    ],
)
def test_a_further_file_that_is_refused_takes_the_upload_with_it(upload_store, tmp_path, name, why):
    first = receive(upload_store, "me", "a.csv")
    with pytest.raises(UploadStoreError, match=why):
        join(upload_store, first, name)
    assert [*(tmp_path / "uploads").iterdir()] == []
    with pytest.raises(UploadStoreError, match="no longer here"):
        join(upload_store, first, "b.csv")


def test_nobody_adds_a_file_to_anothers_upload(upload_store):
    first = receive(upload_store, "me", "a.csv")
    with pytest.raises(UploadStoreError, match="no longer here"):
        join(upload_store, first, "b.csv", owner="you")
    assert upload_store.find("me", first.token) == first


def test_an_upload_has_few_files_and_its_bytes_count_together(tmp_path):
    upload_store = UploadStore(tmp_path / "uploads", most=10)
    first = receive(upload_store, "me", "0.csv", b"x")
    for number in range(1, 8):
        join(upload_store, first, f"{number}.csv", b"x")
    with pytest.raises(UploadStoreError, match="Upload 8 at most"):
        join(upload_store, first, "8.csv", b"x")
    first = receive(upload_store, "me", "0.csv", b"123456")
    with pytest.raises(UploadStoreError, match="The upload is larger than 10 bytes"):
        join(upload_store, first, "1.csv", b"12345")
    assert [*(tmp_path / "uploads").iterdir()] == []


def test_a_zip_comes_as_the_files_in_it(upload_store, tmp_path):
    upload = receive(upload_store, "me", "zoo.zip", packed("zoo/a.csv", "zoo/b.yaml"))
    assert [file.name for file in upload.files] == ["a.csv", "b.yaml"]
    assert upload_store.find("me", upload.token) == upload
    assert held(upload_store, tmp_path) == 2, "the zip itself is gone"
    further = join(upload_store, upload, "more.zip", packed("c.txt"))
    assert [file.name for file in further.files] == ["a.csv", "b.yaml", "c.txt"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (packed("a.csv", "x/a.csv"), "a.csv is there twice"),
        (packed("a.csv", "run.py"), r"We can't read 'run.py'"),
        (packed("a.csv", "b.zip"), "zoo.zip has another zip in it"),
        (packed("a.csv", "b.csv", content=b"x" * 600), "The upload is larger than 1,000 bytes"),
        (packed("a.csv")[:-5], "zoo.zip isn't a readable zip. Pack it again."),
    ],
)
def test_a_zip_that_is_refused_leaves_nothing(tmp_path, content, why):
    upload_store = UploadStore(tmp_path / "uploads", most=1_000)
    with pytest.raises(UploadStoreError, match=why):
        receive(upload_store, "me", "zoo.zip", content)
    assert [*(tmp_path / "uploads").iterdir()] == []


def test_what_a_zip_unpacks_to_counts_for_its_network(tmp_path):
    upload_store = UploadStore(tmp_path / "uploads", most=1_000, most_together=4_000)
    content = packed("a.csv", content=b"x" * 900)

    def brings(owner: str) -> StoredUpload:
        sent = upload_store.receive(owner, "zoo.zip", parts(content), "one network")
        return asyncio.run(sent)

    first = brings("me")
    with pytest.raises(UploadStoreError, match="Too many files"):
        brings("you")
    assert upload_store.find("me", first.token) == first


@pytest.mark.parametrize(
    "slip",
    [
        '{"path": "x", "name": "a.csv"}',
        "[]",
        '{"files": []}',
        '{"files": [["x"]]}',
        '{"files": [["x", "a.csv"]], "token": "t", "owner": "o", "since": 0, "more": 1}',
    ],
)
def test_a_slip_of_another_release_is_no_file(upload_store, tmp_path, slip):
    upload = receive(upload_store)
    (tmp_path / "uploads" / f"{upload.token}.slip").write_text(slip)
    with pytest.raises(UploadStoreError, match="no longer here"):
        upload_store.find("me", upload.token)
    assert upload_store.latest("me", upload.name) is None


@pytest.mark.parametrize("name", ["out.pkl", "out", "out.json.exe", "", "out.html"])
def test_only_files_that_can_be_read_are_taken(upload_store, tmp_path, name):
    with pytest.raises(UploadStoreError, match=r"Save it as one of \.json"):
        receive(upload_store, "me", name)
    assert held(upload_store, tmp_path) == 0


def test_a_broken_upload_leaves_nothing(upload_store, tmp_path):
    with pytest.raises(ConnectionError):
        receive(upload_store, "me", "out.json", b"{", then=ConnectionError())
    assert held(upload_store, tmp_path) == 0


def test_too_large_a_file_is_refused_and_when_all_is_full_whoever_holds_most_makes_room(tmp_path):
    upload_store = UploadStore(tmp_path / "uploads", most=10, most_together=12)
    with pytest.raises(UploadStoreError, match="The upload is larger than 10 bytes"):
        receive(upload_store, "me", "out.json", b"12345", b"678901")
    large = receive(upload_store, "you", "out.json", b"1234567890")
    small = receive(upload_store, "she", "out.json", b"1")
    assert large.path.exists()
    receive(upload_store, "me", "out.json", b"1", b"23")
    assert small.path.exists() and not large.path.exists()
    with pytest.raises(UploadStoreError, match="no longer here"):
        upload_store.find("you", large.token)
    with pytest.raises(UploadStoreError, match="waiting"):  # nobody makes room for more than he has
        receive(upload_store, "he", "out.json", b"12345", b"6789")
    assert held(upload_store, tmp_path) == 2


def test_a_file_does_not_wait_for_ever(tmp_path):
    upload_store = UploadStore(tmp_path / "uploads", seconds=0)
    old = receive(upload_store)
    receive(upload_store, "you")
    assert not old.path.exists()


def test_any_server_on_the_folder_finds_a_file(upload_store, tmp_path):
    arrived = receive(upload_store)
    other = UploadStore(tmp_path / "uploads")
    assert other.find("me", arrived.token) == arrived
    receive(other)
    with pytest.raises(UploadStoreError, match="no longer here"):
        upload_store.find("me", arrived.token)
    assert held(upload_store, tmp_path) == 1


def test_a_metadata_file_that_a_kill_tore_is_no_file(upload_store, tmp_path):
    arrived = receive(upload_store)
    metadata_file = tmp_path / "uploads" / f"{arrived.token}.slip"
    metadata_file.write_bytes(metadata_file.read_bytes()[:20])
    with pytest.raises(UploadStoreError, match="no longer here"):
        upload_store.find("me", arrived.token)


def test_nothing_on_the_disk_names_an_owner(upload_store, tmp_path):
    receive(upload_store, "cookie-of-ada")
    for path in (tmp_path / "uploads").iterdir():
        assert "cookie-of-ada" not in path.name and b"cookie-of-ada" not in path.read_bytes()


def test_what_is_told_of_a_file_that_went_as_it_came_does_not_stay(upload_store, tmp_path):
    arrived = receive(upload_store)
    arrived.path.unlink()
    for path in (tmp_path / "uploads").iterdir():
        os.utime(path, (0, 0))
    upload_store.sweep()
    assert list((tmp_path / "uploads").iterdir()) == []


def bring(
    upload_store: UploadStore, owner: str, network: str | None, content: bytes = b"{}"
) -> StoredUpload:
    return asyncio.run(upload_store.receive(owner, "out.json", parts(content), network))


def test_a_network_cannot_fill_the_upload_store(tmp_path):
    """Fresh cookies do not help it, nor do empty files; whoever comes from elsewhere has room."""
    upload_store = UploadStore(tmp_path / "uploads", most=10, most_together=80, most_files=16)
    for number in range(2):
        bring(upload_store, f"invented {number}", "attacker", b"0123456789")
    with pytest.raises(UploadStoreError, match="waiting"):
        bring(upload_store, "invented 2", "attacker")
    for number in range(4):
        bring(upload_store, f"invented {number}", "another", b"")
    with pytest.raises(UploadStoreError, match="waiting"):
        bring(upload_store, "invented 4", "another", b"")
    assert (
        bring(upload_store, "me", "elsewhere").path.exists()
        and bring(upload_store, "you", None).path.exists()
    )


def join_at_once(
    upload_store: UploadStore, upload: StoredUpload, *halves: bytes
) -> list[StoredUpload | BaseException]:
    """Send files beside those of an upload, each in two halves; all first halves are there before a second one."""

    async def send() -> list[StoredUpload | BaseException]:
        all_begun = asyncio.Barrier(len(halves))

        async def chunks(half: bytes) -> AsyncIterator[bytes]:
            yield half
            await all_begun.wait()
            yield half

        sent = [
            upload_store.receive("me", f"{number}.csv", chunks(half), beside=upload.token)
            for number, half in enumerate(halves, start=1)
        ]
        return await asyncio.gather(*sent, return_exceptions=True)

    return asyncio.run(send())


def test_of_files_that_arrive_at_once_none_is_lost(upload_store, tmp_path):
    first = receive(upload_store, "me", "0.csv", b"x")
    join_at_once(upload_store, first, b"y", b"zz", b"")
    whole = upload_store.find("me", first.token)
    assert sorted(file.name for file in whole.files) == ["0.csv", "1.csv", "2.csv", "3.csv"]
    assert whole.size == 7 and held(upload_store, tmp_path) == 4


@pytest.mark.parametrize(
    ("limits", "halves", "why"),
    [
        ({"most": 10}, [b"123", b"123"], "The upload is larger than 10 bytes"),
        ({"most": 30, "most_together": 120}, [b"123", b"123"], "Too many files are waiting"),
        ({"most_together": 50}, [b"1" * 6] * 3, "Too many files are waiting"),
    ],
    ids=["an upload's", "a network's", "all"],
)
def test_files_that_arrive_at_once_count_together(tmp_path, limits, halves, why):
    upload_store = UploadStore(tmp_path / "uploads", **limits)
    if "most_together" in limits:
        bring(upload_store, "you", "network", b"x" * 19)
    first = bring(upload_store, "me", "network", b"x")
    arrived = join_at_once(upload_store, first, *halves)
    assert any(why in str(error) for error in arrived if isinstance(error, UploadStoreError))
    with pytest.raises(UploadStoreError, match="no longer here"):
        upload_store.find("me", first.token)
    assert held(upload_store, tmp_path) == ("most_together" in limits), "what you hold stays"


def test_files_beside_one_another_have_names_of_their_own_also_when_they_arrive_at_once(
    upload_store, tmp_path
):
    first = receive(upload_store, "me", "0.csv", b"x")

    async def send() -> list[StoredUpload | BaseException]:
        sent = [
            upload_store.receive("me", "1.csv", parts(b"x"), beside=first.token) for _ in range(2)
        ]
        return await asyncio.gather(*sent, return_exceptions=True)

    errors = [error for error in asyncio.run(send()) if isinstance(error, UploadStoreError)]
    assert any("1.csv is there twice" in str(error) for error in errors)
    assert held(upload_store, tmp_path) == 0


def test_a_disk_that_gets_full_meanwhile_takes_no_more(tmp_path, monkeypatch):
    upload_store = UploadStore(tmp_path / "uploads", most=100)
    monkeypatch.setattr(
        uploads,
        "no_room",
        lambda folder, room: "The disk is full." if any(folder.glob("*.json")) else "",
    )
    with pytest.raises(UploadStoreError, match="The disk is full"):
        receive(upload_store, "me", "out.json", b"x" * 20, b"x" * 20)
    assert held(upload_store, tmp_path) == 0


def test_small_files_of_many_networks_close_it_for_nobody(tmp_path):
    """They count as what they are; too many of them take their own place, those of the busiest network first."""
    upload_store = UploadStore(tmp_path / "uploads", most=10**8, most_together=10**9, most_files=40)
    mine = bring(upload_store, "me", "elsewhere", b"x" * 10_000)
    for number in range(60):
        bring(upload_store, f"invented {number}", f"attacker {number % 20}")
    assert mine.path.exists() and bring(upload_store, "you", None).path.exists()
    assert held(upload_store, tmp_path) <= 40


def test_the_folder_is_looked_through_beside_the_event_loop(tmp_path, monkeypatch):
    upload_store = UploadStore(tmp_path / "uploads")
    looked = set[int]()
    scandir = os.scandir

    def noted(folder):
        looked.add(threading.get_ident())
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", noted)
    receive(upload_store)
    assert looked and threading.get_ident() not in looked


def test_many_waiting_files_keep_nobody_waiting(tmp_path):
    """They are looked at seldom, and by their names."""
    upload_store = UploadStore(tmp_path / "uploads", most_together=10**12)
    for number in range(500):
        (tmp_path / "uploads" / f"{number}.x.y.json").write_bytes(b"{}")
    begun = time.process_time()
    receive(upload_store, "me", "out.json", *[b"x" * 65536] * 300)
    assert time.process_time() - begun < 1.0


def test_a_disk_that_takes_no_file_is_told_in_a_sentence(upload_store, tmp_path):
    with (
        files_end_at(1000),
        pytest.raises(UploadStoreError, match="disk can't save files right now. Try"),
    ):
        receive(upload_store, "me", "out.json", b"x" * 5000)
    assert held(upload_store, tmp_path) == 0, "the part that was written is gone"
