"""Zips of strangers: what comes out counts, and what can't be read is refused in a sentence."""

import io
import random
import struct
import zipfile
from pathlib import Path

import pytest

from arena.io.zip_files import ZipFileError, plain_name, zip_files


def packed(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def held(path: Path) -> dict[str, bytes]:
    return {name: b"".join(content) for name, content in zip_files(path)}


def refused(path: Path) -> str:
    with pytest.raises(ZipFileError) as error:
        held(path)
    return str(error.value)


def test_files_come_out_without_folders_and_without_what_macos_adds(tmp_path):
    files = {
        "zoo/": b"",
        "zoo/answers.csv": b"a" * 200_000,
        "zoo\\prompts\\grade.txt": b"grade it",
        "__MACOSX/zoo/._answers.csv": b"\0\5\x16\7",
        "zoo/.DS_Store": b"Bud1",
        "../../etc/questions.csv": b"b",
    }
    assert held(packed(tmp_path / "zoo.zip", files)) == {
        "answers.csv": b"a" * 200_000,
        "grade.txt": b"grade it",
        "questions.csv": b"b",
    }
    assert held(packed(tmp_path / "plain.zip", {"a.csv": b"x"}, zipfile.ZIP_STORED)) == {
        "a.csv": b"x"
    }


@pytest.mark.parametrize(
    ("given", "plain"),
    [("a/b.csv", "b.csv"), ("C:\\x\\b c.csv", "b c.csv"), ("a\nb\u202e\ud800.csv", "a b .csv")],
)
def test_a_name_is_plain(given, plain):
    assert plain_name(given) == plain


@pytest.mark.parametrize(
    ("files", "method", "why"),
    [
        ({f"{n}.csv": b"x" for n in range(9)}, zipfile.ZIP_DEFLATED, "has 9 files. Keep 8"),
        ({f"{n}.csv": b"" for n in range(1_500)}, zipfile.ZIP_STORED, "has more than 8 files"),
        ({".x": b"x", "zoo/": b""}, zipfile.ZIP_DEFLATED, "has no files. Put"),
        ({"in.ZIP": b"x"}, zipfile.ZIP_DEFLATED, "has another zip in it (in.ZIP)"),
        ({"a.csv": b"x" * 99}, zipfile.ZIP_LZMA, "packs a.csv in an unusual way"),
        ({"a.csv": b"x" * 99}, zipfile.ZIP_BZIP2, "packs a.csv in an unusual way"),
    ],
)
def test_what_a_zip_may_not_hold_is_told(tmp_path, files, method, why):
    assert refused(packed(tmp_path / "a.zip", files, method)).startswith(why)


def test_a_locked_zip_is_told(tmp_path):
    path = packed(tmp_path / "a.zip", {"a.csv": b"x"})
    content = bytearray(path.read_bytes())
    for place in (content.find(b"PK\1\2") + 8, content.find(b"PK\3\4") + 6):
        content[place] |= 1
    path.write_bytes(content)
    assert refused(path) == "is locked with a password (a.csv). Pack it without one."


def test_a_head_that_understates_or_overstates_changes_nothing_of_what_comes_out(tmp_path):
    """What the zip says of sizes is never believed: one with a wrong size is refused, and read no further than that."""
    path = packed(tmp_path / "a.zip", {"a.csv": b"0" * 5_000_000})
    content = bytearray(path.read_bytes())
    for place in (content.find(b"PK\1\2") + 24, content.find(b"PK\3\4") + 22):
        content[place : place + 4] = struct.pack("<I", 10)
    path.write_bytes(content)
    taken = 0
    with pytest.raises(ZipFileError, match="isn't a readable zip. Pack"):
        for _, parts in zip_files(path):
            taken += sum(map(len, parts))
    assert taken <= 10


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", b"PK\5\6" + b"\0" * 18, b"\0" * 500])
def test_what_is_no_zip_is_told(tmp_path, content):
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    assert refused(path).startswith(("isn't a readable zip. Pack", "has no files. Put"))


def check(folder: Path, seeds: range) -> int:
    """How many mutated zips are refused; the others are read."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", b"index,prediction\n1,A\n" * 50)
        archive.writestr("zoo/benchmark.yaml", b"name: Zoo")
    path = folder / "a.zip"
    refusals = 0
    for seed in seeds:
        draw = random.Random(seed)
        content = bytearray(whole.getvalue())
        for _ in range(draw.randint(1, 4)):
            place = draw.randrange(len(content))
            act = draw.random()
            if act < 0.5:
                content[place] = draw.choice([0, 1, 127, 128, 255, draw.randrange(256)])
            elif act < 0.75:
                del content[place : place + draw.randint(1, 30)]
            else:
                content[place:place] = draw.randbytes(draw.randint(1, 30))
        path.write_bytes(content)
        try:
            held(path)
        except ZipFileError as error:
            assert ". " in str(error), seed
            refusals += 1
    return refusals


def test_mutated_zips_give_sentences(tmp_path):
    assert check(tmp_path, range(300)) > 100


@pytest.mark.parametrize("offset", [2**63 - 1, 2**63, 2**64 - 1])
def test_a_file_beyond_any_place_is_refused(tmp_path, offset):
    """The list of members says in 64 bits where each file begins."""
    path = packed(tmp_path / "far.zip", {"a.csv": b"x"})
    data = path.read_bytes()
    entry_start = data.index(b"PK\x01\x02")
    end_start = data.index(b"PK\x05\x06")
    extra = struct.pack("<HHQ", 1, 8, offset)
    entry = bytearray(data[entry_start:end_start])
    entry[30:32] = struct.pack("<H", len(extra))
    entry[42:46] = b"\xff" * 4
    end = bytearray(data[end_start:])
    end[12:16] = struct.pack("<L", len(entry) + len(extra))
    path.write_bytes(data[:entry_start] + entry + extra + end)
    assert refused(path) == "isn't a readable zip. Pack it again."
