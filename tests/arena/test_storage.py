"""Where the data lie: what is told at the start, and where they may not lie."""

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import app
from arena.database import Database, DatabaseError, back_up
from arena.settings import BackupSettings, Settings
from arena.storage import (
    StorageError,
    file_of,
    is_lost_at_restart,
    mount_of,
    refuse_network,
    storage_line,
)
from arena.types import Secret
from tests.support.disks import small_disk

TABLE = """\
overlay / overlay rw,relatime 0 0
proc /proc proc rw 0 0
/dev/sda1 /data ext4 rw 0 0
tmpfs /data/fast tmpfs rw 0 0
bucket /data/bucket fuse.hf-mount rw 0 0
server:/home /mnt/home\\040of\\040all nfs4 rw 0 0
/dev/sda2 /mnt/home\\040of\\040all/own ext4 rw 0 0
"""
COPY = BackupSettings("ada/votes", Secret("hf_canary"))


@pytest.fixture
def mounts(tmp_path) -> Path:
    table = tmp_path / "mounts"
    table.write_text(TABLE)
    return table


def settings(**environ: str) -> Settings:
    return Settings.from_env(environ)


def at(folder: str, **changes) -> Settings:
    return replace(settings(DATA_DIR=folder), **changes)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (at("/data/votes"), "SQLite on a persistent disk, /data/votes/arena.db"),
        (at("/data/votes", space=True), "persistent disk"),
        (
            at("/data/votes", backup=COPY),
            "persistent disk, /data/votes/arena.db, copied to ada/votes",
        ),
        (
            at("/data/fast", backup=COPY),
            "a restart wipes, /data/fast/arena.db, copied to ada/votes",
        ),
        (at("/home/user", space=True, backup=COPY), "SQLite on a disk that a restart wipes"),
        (
            at("/home/user", space=True),
            r"ALL VOTES ARE LOST whenever this Space restarts\. .* Set MIRROR",
        ),
        (at("/home/user"), "ALL VOTES ARE LOST when this container .* or put DATA_DIR on a volume"),
    ],
)
def test_the_line_says_what_becomes_of_a_vote(chosen, words, mounts):
    told = storage_line(chosen, mounts)
    assert re.search(words, told) and "\n" not in told and "canary" not in told
    assert is_lost_at_restart(chosen, mounts) == ("ALL VOTES ARE LOST" in told)
    assert told.startswith("WARNING") == ("LOST" in words)


def test_a_space_without_a_table_of_mounts_has_no_lasting_disk(tmp_path):
    assert storage_line(at("/data", space=True), tmp_path / "none").startswith("WARNING")
    assert storage_line(at("/data"), tmp_path / "none").startswith(
        "Votes: SQLite on a persistent disk"
    )


@pytest.mark.parametrize(
    "kind",
    "fuse fuse.sshfs fuse.hf-mount nfs nfs4 9p virtiofs cifs smb3 smbfs ceph fuse.glusterfs lustre".split(),
)
def test_sqlite_refuses_a_network_file_system(kind, mounts):
    mounts.write_text(f"{TABLE}share /srv {kind} rw 0 0\n")
    with pytest.raises(
        StorageError,
        match=rf"/srv/votes/arena.db is on /srv, .*\({kind}\).*Set DATA_DIR .* local",
    ) as no:
        storage_line(at("/srv/votes"), mounts)
    assert "\n" not in str(no.value)


@pytest.mark.parametrize("kind", "ext4 xfs btrfs zfs apfs overlay tmpfs fuseblk".split())
def test_sqlite_takes_a_local_file_system(kind, mounts):
    mounts.write_text(f"{TABLE}disk /srv {kind} rw 0 0\n")
    assert refuse_network(Path("/srv/arena.db"), mounts).kind == kind


def test_postgresql_may_stand_behind_any_disk(mounts):
    chosen = at("/data/bucket", database_url="postgresql://ada:hunter2@db.example.org/arena")
    assert storage_line(chosen, mounts) == "Votes: PostgreSQL at db.example.org, port 5432"


def test_the_nearest_and_last_mount_counts(mounts):
    assert mount_of(Path("/data/bucket/x/arena.db"), mounts).kind == "fuse.hf-mount"
    assert mount_of(Path("/data/bucketful/arena.db"), mounts).kind == "ext4"
    assert mount_of(Path("/mnt/home of all/arena.db"), mounts).kind == "nfs4"
    assert mount_of(Path("/mnt/home of all/own/arena.db"), mounts).kind == "ext4"
    mounts.write_text(f"{TABLE}later /data/bucket ext4 rw 0 0\n")
    assert mount_of(Path("/data/bucket/arena.db"), mounts).kind == "ext4"


def test_a_link_leads_to_the_disk_that_it_names(tmp_path):
    (tmp_path / "share").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "share")
    table = tmp_path / "mounts"
    table.write_text(f"disk / ext4 rw 0 0\nshare {tmp_path.resolve()}/share nfs rw 0 0\n")
    assert mount_of(tmp_path / "link" / "arena.db", table).kind == "nfs"


@pytest.mark.parametrize("port", ["", ":5432", ":80", ":6543"])
def test_a_space_reaches_no_postgresql_at_other_ports(port):
    url = f"postgresql://ada:hunter2@db.example.org{port}/arena"
    with pytest.raises(StorageError, match="at port 443 or 8080") as no:
        storage_line(settings(DATABASE_URL=url, SPACE_ID="ada/arena"))
    assert "hunter2" not in str(no.value) and "\n" not in str(no.value)
    assert storage_line(settings(DATABASE_URL=url)).startswith("Votes: PostgreSQL at")


@pytest.mark.parametrize(
    "where", ["db.example.org:443/arena", "db.example.org:8080/arena", "/arena?host=db&port=443"]
)
def test_a_space_reaches_postgresql_at_the_ports_that_are_open(where):
    told = storage_line(
        replace(
            settings(DATABASE_URL=f"postgresql://ada:hunter2@{where}", SPACE_ID="ada/a"),
            backup=COPY,
        )
    )
    assert told.startswith("Votes: PostgreSQL at") and told.endswith(
        "copied to ada/votes within a minute or so"
    )
    assert "hunter2" not in told and "ada:" not in told


@pytest.mark.parametrize(
    "name", ["plain", "with space", "50%", "a%20b", "a#b", "what?", "ä, 日本", "a&b=c", "it's"]
)
def test_the_file_is_the_one_that_the_database_opens(tmp_path, name):
    url = settings(DATA_DIR=str(tmp_path / name)).database_url
    Database(url).close()
    assert file_of(url).is_file() and file_of(url).parent == tmp_path / name


def test_every_program_refuses_to_open_the_file(tmp_path):
    table = tmp_path / "mounts"
    table.write_text(f"share {tmp_path.resolve()} virtiofs rw 0 0\n")
    with pytest.raises(DatabaseError, match="can't be opened: .*virtiofs"):
        Database(f"sqlite:///{tmp_path / 'new' / 'arena.db'}", table)
    assert not (tmp_path / "new").exists()


def test_a_start_on_a_full_disk_says_so(tmp_path):
    with small_disk(tmp_path / "disk", "300k") as disk:
        (disk / "fill").write_bytes(bytes(300_000))
        with pytest.raises(
            DatabaseError, match="its disk is full. Free some megabytes and start again"
        ):
            Database(f"sqlite:///{disk / 'arena.db'}")


def test_a_name_that_no_file_can_have_is_told(tmp_path):
    with pytest.raises(DatabaseError, match="can't be opened: .*File name too long"):
        Database(f"sqlite:///{tmp_path / ('x' * 256) / 'arena.db'}")


def test_a_copy_put_back_beside_the_log_of_another_file_is_refused_until_the_log_is_gone(tmp_path):
    url, file = f"sqlite:///{tmp_path / 'arena.db'}", tmp_path / "arena.db"
    settings = Settings.from_env({"DATA_DIR": str(tmp_path)})
    with closing(Database(url)) as served:
        back_up(url, tmp_path / "copy.db")
        log = (tmp_path / "arena.db-wal").read_bytes()
        served.try_write()
    (tmp_path / "arena.db-wal").write_bytes(log)
    storage_line(settings)  # its own log, as a kill leaves it
    copy = (tmp_path / "copy.db").read_bytes()
    file.write_bytes(copy)
    with pytest.raises(
        StorageError, match="arena.db-wal belongs to another file .* Move arena.db-wal and "
    ):
        storage_line(settings)
    assert file.read_bytes() == copy
    (tmp_path / "arena.db-wal").unlink()
    storage_line(settings)
    Database(url).close()


def test_a_start_without_a_place_for_pictures_says_so_in_one_line(tmp_path, monkeypatch, capsys):
    """The database may lie elsewhere, as on a PostgreSQL server."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("DATA_DIR", f"{tmp_path}/file")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/arena.db")
    assert app.main() == 2
    told = capsys.readouterr().err
    assert re.fullmatch(r"Stereoscope didn't start: .*Not a directory: .*file/pictures'\n", told)
