"""Own images: checked, seen by their owner only, and gone when they should be."""

import asyncio
import io
import os
import zlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from PIL import Image
from sqlalchemy import select, true, update

from arena.battles.quotas import LIMITS, LimitError, NetworkDays, Quotas
from arena.battles.store import BattleStore
from arena.battles.voters import Voters
from arena.budget import HOLD, LIVE, LOST_AGE, Budget, Ceilings
from arena.database import Database, now
from arena.io.images import MAX_BYTES, PictureError
from arena.live.credits import Credits
from arena.live.images import (
    KEPT_FOR,
    MOST_OF_NETWORK,
    MOST_TEMPORARY,
    MOST_WAITING,
    OWN_IMAGE,
    OwnImageError,
    OwnImages,
)
from arena.live.store import LiveStore, Opening
from arena.live.tidying import Tidier
from tests.support.disks import files_end_at
from tests.support.live_visitor import picture


@pytest.fixture
def images(database, tmp_path) -> OwnImages:
    return OwnImages(database, tmp_path / "own")


@pytest.fixture
def voter(database) -> int:
    return BattleStore(database).voter("owner")


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 65536):
        yield data[start : start + 65536]


def receive(images: OwnImages, voter: int, data: bytes):
    return asyncio.run(images.receive(voter, chunks(data)))


def files(images: OwnImages) -> list[bytes]:
    return [path.read_bytes() for path in images._folder.iterdir()]


def battle(database, voter: int) -> int:
    return LiveStore(database).begin(voter, Opening("x", 1)).id


def test_what_is_kept_is_a_checked_picture_and_never_the_file(images, voter):
    photo = Image.new("RGB", (60, 40), "blue")
    exif = photo.getexif()
    exif[0x010E] = "taken at my home"
    stream = io.BytesIO()
    photo.save(stream, "JPEG", exif=exif)
    image = receive(images, voter, stream.getvalue())
    path = images.path(voter, image.token)
    assert path is not None
    assert b"my home" in stream.getvalue()
    assert b"my home" not in path.read_bytes()
    with Image.open(path) as picture:
        assert picture.size == (60, 40)


def test_an_animation_gives_its_first_picture_and_says_so(images, voter):
    bare = {}  # a GIF whose frames have no graphic control
    long = {"icc_profile": os.urandom(6000)}  # what tells of an animation comes late
    for kind, how in (
        ("GIF", {"duration": 100}),
        ("GIF", bare),
        ("WEBP", {"duration": 100}),
        ("PNG", long),
    ):
        stream = io.BytesIO()
        frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
        frames[0].save(stream, kind, save_all=True, append_images=frames[1:], **how)
        image = receive(images, voter, stream.getvalue())
        assert image.is_first_frame, kind
        path = images.path(voter, image.token)
        assert path is not None
        red, _, blue = Image.open(path).convert("RGB").getpixel((5, 5))
        assert red > 200 > 60 > blue
    for kind in ("GIF", "WEBP", "PNG", "JPEG"):
        assert not receive(images, voter, picture(kind=kind)).is_first_frame


def bomb(side: int) -> bytes:
    """Return a PNG of a few kilobytes with side x side pixels."""
    stream = io.BytesIO()
    Image.new("1", (8, 8)).save(stream, "PNG")
    data = bytearray(stream.getvalue())
    data[16:24] = side.to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


def test_what_is_no_picture_leaves_nothing(images, voter):
    for data, said in (
        (bomb(20_000), "pixels"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
        (b"\0\0\0\x18ftypheic" + b"\0" * 50, "HEIC"),
        (picture()[:60], "broken"),
        (b"", "empty"),
        (b"\xff" * (MAX_BYTES + 1), "25 MB"),
    ):
        with pytest.raises(PictureError, match=said):
            receive(images, voter, data)
    assert files(images) == []


def test_it_is_its_owners_only(images, voter, database):
    image = receive(images, voter, picture())
    other = BattleStore(database).voter("other")
    assert images.path(other, image.token) is None
    with pytest.raises(OwnImageError):
        images.files(other, [image.token])
    with pytest.raises(OwnImageError):
        images.attach(other, [image.token], battle(database, other), False)
    images.discard(other, [image.token])
    assert images.path(voter, image.token) is not None


def test_an_image_has_one_battle_and_goes_with_it_unless_it_may_be_kept(images, voter, database):
    for keep in (False, True):
        tokens = [receive(images, voter, picture(colour)).token for colour in ("red", "blue")]
        mine = battle(database, voter)
        assert len(set(images.attach(voter, tokens[::-1], mine, keep))) == 2
        assert images.battle_tokens(voter, mine) == tuple(tokens[::-1])
        with pytest.raises(OwnImageError, match="no longer here"):
            images.attach(voter, tokens, battle(database, voter), False)
        images.discard(voter, tokens)
        assert images.path(voter, tokens[0]) is not None, "an image in use is not taken out"
        images.forget(mine)
        assert (images.path(voter, tokens[0]) is not None) == keep
        assert images.battle_tokens(voter, mine) == tuple(tokens[::-1]), (
            "what was there is still known"
        )
    assert len(files(images)) == 2


def test_an_attach_takes_all_images_or_none(images, voter, database):
    token = receive(images, voter, picture()).token
    with pytest.raises(OwnImageError):
        images.attach(voter, [token, "forged"], battle(database, voter), True)
    assert len(images.attach(voter, [token], battle(database, voter), False)) == 1


def test_what_is_a_day_old_goes(images, voter, database):
    old, kept, used = (receive(images, voter, picture()).token for _ in range(3))
    images.attach(voter, [kept], battle(database, voter), True)
    images.attach(voter, [used], battle(database, voter), False)
    assert images.sweep(now()) == 0
    assert images.sweep(now() + KEPT_FOR - timedelta(minutes=5)) == 0
    assert images.sweep(now() + KEPT_FOR) == 2
    assert [images.path(voter, token) is not None for token in (old, used, kept)] == [
        False,
        False,
        True,
    ]
    with database.read() as connection:
        assert len(connection.execute(select(OWN_IMAGE)).all()) == 3, "the rows tell what was there"


def test_a_file_that_cannot_be_deleted_keeps_nothing_else_from_being_tidied_up(
    images, voter, database, caplog
):
    stuck, other = (receive(images, voter, picture()).token for _ in range(2))
    path = images.path(voter, stuck)
    assert path is not None
    path.unlink()
    path.mkdir()
    ceilings = Ceilings(10**9, 10**9, 10**9)
    Budget(database, ceilings, LIVE).reserve("battle", "1", 700)
    with database.write() as connection:
        connection.execute(update(OWN_IMAGE).values(arrived_at=now() - 2 * KEPT_FOR))
        connection.execute(update(HOLD).values(since=now() - 2 * LOST_AGE))
    budget = Budget(database, ceilings, LIVE)
    tidier = Tidier(images, budget, Quotas(database, LIMITS), Credits(), Voters(database))
    tidier.tidy()
    assert "own images were not tidied up" in caplog.text
    assert images.path(voter, other) is None and len(list(images._folder.iterdir())) == 1
    assert budget.total().spent == 700
    path.rmdir()
    assert images.sweep(now()) == 1, "its row was not marked"


class Ending(Database):
    """Database of a process that is killed when it is about to write."""

    def write(self):
        os._exit(1)


def test_a_server_that_is_killed_leaves_no_image_that_stays_for_ever(images, voter, database):
    child = os.fork()
    if child == 0:
        try:
            url = database.url.render_as_string(hide_password=False)
            receive(OwnImages(Ending(url), images._folder), voter, picture())
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    images.sweep(now() + KEPT_FOR)
    assert files(images) == []


def test_an_image_that_is_taken_down_while_it_is_stored_leaves_no_file(images, voter, monkeypatch):
    """Its row is there before its file."""
    write = Path.write_bytes
    monkeypatch.setattr(
        Path, "write_bytes", lambda path, data: images.take_down(true()) and write(path, data)
    )
    with pytest.raises(OwnImageError, match="no longer here"):
        receive(images, voter, picture())
    assert files(images) == []


def test_a_file_that_is_written_while_its_image_is_taken_down_goes_too(
    images, voter, database, monkeypatch
):
    path = images.path(voter, receive(images, voter, picture()).token)
    data, write = path.read_bytes(), database.write
    monkeypatch.setattr(database, "write", lambda: path.write_bytes(data) and write())
    assert images.take_down(true()) == 1 and files(images) == []


def test_a_visitor_cannot_fill_the_disk(images, voter):
    small = picture(size=2)
    for _ in range(MOST_WAITING):
        receive(images, voter, small)
    with pytest.raises(OwnImageError, match="uses. Remove some first."):
        receive(images, voter, small)
    assert len(files(images)) == MOST_WAITING


def test_a_network_cannot_take_all_places(images, database):
    """Fresh cookies do not help it, and whoever comes from elsewhere has room."""
    small = picture(size=2)
    days = NetworkDays(database)
    with database.write() as connection:
        while days.count_one(connection, "8.8.8.0/24", "images") < MOST_OF_NETWORK - 1:
            pass
    voters = [BattleStore(database).voter(f"cookie {number}") for number in range(3)]
    asyncio.run(images.receive(voters[0], chunks(small), "8.8.8.0/24"))
    for voter in voters:
        with pytest.raises(LimitError, match="network"):
            asyncio.run(images.receive(voter, chunks(small), "8.8.8.0/24"))
    for network in ("9.9.9.0/24", None):
        asyncio.run(images.receive(voters[1], chunks(small), network))
    assert len(files(images)) == 3, "what was refused left nothing"
    assert MOST_OF_NETWORK * 2 < MOST_TEMPORARY, "also over midnight"


def test_what_comes_waits_on_the_disk(images, voter):
    """Uploads that do not end hold no memory, and leave nothing when they break off."""
    part = b"\0" * 1_000_000

    async def scenario() -> int:
        async def endless() -> AsyncIterator[bytes]:
            for _ in range(20):
                yield part
            await asyncio.Event().wait()

        held = [asyncio.create_task(images.receive(voter, endless())) for _ in range(5)]
        before = psutil.Process().memory_info().rss
        await asyncio.sleep(0.5)
        grown = psutil.Process().memory_info().rss - before
        for task in held:
            task.cancel()
        await asyncio.wait(held)
        return grown

    assert asyncio.run(scenario()) < 20_000_000
    assert files(images) == []


def test_a_disk_that_takes_no_file_is_told_in_a_sentence(images, voter):
    with (
        files_end_at(50),
        pytest.raises(OwnImageError, match="disk can't save files right now. Try"),
    ):
        receive(images, voter, picture())
    assert files(images) == []
