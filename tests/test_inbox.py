"""The inbox: one file a person, whole or not at all, and not for long."""

import asyncio
import os
import time
from collections.abc import AsyncIterator

import pytest

from scoring.jobs.uploads import Arrived, Inbox, InboxError


async def parts(*chunks: bytes, then: Exception | None = None) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
    if then is not None:
        raise then


def receive(inbox: Inbox, owner: str = "me", name: str = "out.json", *chunks: bytes, **more) -> Arrived:
    return asyncio.run(inbox.receive(owner, name, parts(*(chunks or (b"{}",)), **more)))


@pytest.fixture
def inbox(tmp_path) -> Inbox:
    (tmp_path / "uploads").mkdir()
    left_over = tmp_path / "uploads" / "left-over.json"
    left_over.write_bytes(b"of an earlier run")
    os.utime(left_over, (0, 0))
    return Inbox(tmp_path / "uploads")


def held(inbox: Inbox, tmp_path) -> int:
    return len([path for path in (tmp_path / "uploads").iterdir() if path.suffix != ".slip"])


def test_a_file_arrives_as_it_is_and_is_found_by_its_owner_only(inbox, tmp_path):
    assert held(inbox, tmp_path) == 0, "what an earlier run left is gone"
    arrived = receive(inbox, "me", "../../My outputs.JSON", b'{"a"', b': "b"}')
    assert arrived.path.read_bytes() == b'{"a": "b"}'
    assert arrived.path.parent == tmp_path / "uploads" and "outputs" not in arrived.path.name
    assert inbox.find("me", arrived.token) == arrived
    for owner, token in (("you", arrived.token), ("me", "forged"), ("me", ""), ("me", "../x"), ("me", "a\0b")):
        with pytest.raises(InboxError, match="no longer here"):
            inbox.find(owner, token)


def test_a_second_file_takes_the_place_of_the_first(inbox, tmp_path):
    first, second = receive(inbox), receive(inbox)
    assert not first.path.exists() and second.path.exists()
    receive(inbox, "you")
    assert held(inbox, tmp_path) == 2


@pytest.mark.parametrize("name", ["out.pkl", "out", "out.json.exe", "", "out.html"])
def test_only_files_that_can_be_read_are_taken(inbox, tmp_path, name):
    with pytest.raises(InboxError, match=r"ends in \.json"):
        receive(inbox, "me", name)
    assert held(inbox, tmp_path) == 0


def test_a_broken_upload_leaves_nothing(inbox, tmp_path):
    with pytest.raises(ConnectionError):
        receive(inbox, "me", "out.json", b"{", then=ConnectionError())
    assert held(inbox, tmp_path) == 0


def test_too_large_a_file_and_too_many_files_are_refused(tmp_path):
    inbox = Inbox(tmp_path / "uploads", most=10, most_together=12)
    with pytest.raises(InboxError, match="at most 10 bytes"):
        receive(inbox, "me", "out.json", b"12345", b"678901")
    receive(inbox, "you", "out.json", b"1234567890")
    with pytest.raises(InboxError, match="waiting"):
        receive(inbox, "me", "out.json", b"1", b"23")
    assert held(inbox, tmp_path) == 1


def test_a_file_does_not_wait_for_ever(tmp_path):
    inbox = Inbox(tmp_path / "uploads", seconds=0)
    old = receive(inbox)
    receive(inbox, "you")
    assert not old.path.exists()


def test_any_server_on_the_folder_finds_a_file(inbox, tmp_path):
    arrived = receive(inbox)
    other = Inbox(tmp_path / "uploads")
    assert other.find("me", arrived.token) == arrived
    receive(other)
    with pytest.raises(InboxError, match="no longer here"):
        inbox.find("me", arrived.token)
    assert held(inbox, tmp_path) == 1


def test_a_slip_that_a_kill_tore_is_no_file(inbox, tmp_path):
    arrived = receive(inbox)
    slip = tmp_path / "uploads" / f"{arrived.token}.slip"
    slip.write_bytes(slip.read_bytes()[:20])
    with pytest.raises(InboxError, match="no longer here"):
        inbox.find("me", arrived.token)


def test_a_network_cannot_fill_the_inbox(tmp_path):
    """Fresh cookies do not help it, nor do empty files; whoever comes from elsewhere has room."""
    inbox = Inbox(tmp_path / "uploads", most=10, most_together=80)

    def bring(owner: str, network: str | None) -> Arrived:
        return asyncio.run(inbox.receive(owner, "out.json", parts(b"1"), network))

    for number in range(2):
        bring(f"invented {number}", "attacker")
    with pytest.raises(InboxError, match="waiting"):
        for number in range(2, 4):
            bring(f"invented {number}", "attacker")
    assert bring("me", "elsewhere").path.exists() and bring("you", None).path.exists()


def test_many_waiting_files_keep_nobody_waiting(tmp_path):
    """They are looked at seldom, and by their names."""
    inbox = Inbox(tmp_path / "uploads", most_together=10**12)
    for number in range(500):
        (tmp_path / "uploads" / f"{number}.x.y.json").write_bytes(b"{}")
    begun = time.monotonic()
    receive(inbox, "me", "out.json", *[b"x" * 65536] * 300)
    assert time.monotonic() - begun < 1.0
