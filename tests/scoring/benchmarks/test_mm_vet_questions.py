"""Questions come from the published file or say that they do not; an archive is taken whole or not at all."""

import io
import json
import stat
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from arena.io.tables import RowsError, read_records
from scoring.benchmarks import mm_vet_questions
from scoring.benchmarks.download import DownloadError
from scoring.benchmarks.mm_vet_questions import (
    CAPABILITIES,
    SAMPLE,
    SAMPLE_PREDICTIONS,
    QuestionsError,
    fetch_mm_vet,
    load_mm_vet,
    own_sample,
    subset_of_file,
)
from scoring.benchmarks.predictions import fill, read_predictions

DEMO = Path(__file__).parents[3] / "arena" / "items" / "demo"
PAPER = {"rec": 150, "ocr": 96, "know": 84, "gen": 80, "spat": 75, "math": 26}


def test_the_published_file_is_known_by_its_checksum_and_has_the_papers_counts(data):
    questions = load_mm_vet(data / "mm-vet")
    assert questions == load_mm_vet(data / "mm-vet" / "mm-vet.json")
    assert (questions.benchmark, questions.name, questions.official) == ("mm-vet", "MM-Vet", True)
    assert len(questions.questions) == 218
    assert Counter(group for question in questions.questions for group in question.groups) == PAPER
    first = questions.questions[0]
    assert (first.id, first.truth, first.groups, first.image) == (
        "v1_0",
        "-1<AND>-5",
        ("ocr", "math"),
        "v1_0.png",
    )


def test_a_changed_file_is_read_but_says_so(data, tmp_path):
    text = (data / "mm-vet" / "mm-vet.json").read_text("utf-8")
    (tmp_path / "mm-vet.json").write_text(text.replace("What is x", "What is y", 1))
    changed, published = load_mm_vet(tmp_path), load_mm_vet(data / "mm-vet")
    assert not changed.official
    assert changed.name == "MM-Vet, changed (not the published file)"
    assert changed.digest != published.digest


def test_without_a_file_the_error_says_what_to_set(tmp_path):
    for folder in (None, tmp_path, tmp_path / "gone.json"):
        with pytest.raises(
            QuestionsError,
            match="MM_VET_PATH(,| to) the folder with mm-vet.json",
        ):
            load_mm_vet(folder)


ENTRY = {
    "imagename": "a.png",
    "question": "q",
    "answer": "a",
    "capability": ["rec"],
    "imagesource": "web",
}


@pytest.mark.parametrize(
    ("entries", "place", "words"),
    [
        ([], "", "isn't MM-Vet's question file"),
        ({}, "", "isn't MM-Vet's question file"),
        ({"v1_0": "x"}, ", column 'v1_0'", "imagename, question and answer must be texts"),
        (
            {"v1_0": {**ENTRY, "answer": 5}},
            ", column 'v1_0'",
            "imagename, question and answer must be texts",
        ),
        (
            {"v1_0": {**ENTRY, "capability": "rec"}},
            ", column 'v1_0'",
            "a list that names each capability once",
        ),
        (
            {"v1_0": {**ENTRY, "capability": []}},
            ", column 'v1_0'",
            "a list that names each capability once",
        ),
        (
            {"v1_0": {**ENTRY, "capability": ["rec", "rec"]}},
            ", column 'v1_0'",
            "names each capability once",
        ),
        (
            {"v1_0": ENTRY, "v1_1": {**ENTRY, "capability": ["seq"]}},
            ", column 'v1_1'",
            "'seq' is no capability",
        ),
        (
            {"v1_0": {**ENTRY, "capability": [["rec"]]}},
            ", column 'v1_0'",
            "['rec'] is no capability",
        ),
    ],
)
def test_a_file_in_another_schema_is_refused_with_its_place(tmp_path, entries, place, words):
    (tmp_path / "mm-vet.json").write_text(json.dumps(entries))
    with pytest.raises(RowsError) as caught:
        load_mm_vet(tmp_path)
    assert str(caught.value).startswith(f"mm-vet.json{place}: ")
    assert words in str(caught.value)


# Subsets


@pytest.mark.parametrize(
    "content", ['["own_7", "own_0"]', "own_7\nown_0\n", "\ufeffown_7\r\n\r\n own_0 "]
)
def test_a_subset_keeps_the_order_of_its_parent_and_says_what_it_is(tmp_path, content):
    path = tmp_path / ("bard_set.json" if content[0] == "[" else "bard_set.txt")
    path.write_text(content)
    part = subset_of_file(own_sample(), path)
    assert [question.id for question in part.questions] == ["own_0", "own_7"]
    assert part.name == f"{own_sample().name}, subset bard_set (2 of {len(own_sample().questions)})"
    assert part.digest != own_sample().digest


def test_a_part_of_an_official_set_is_no_official_set(data, tmp_path):
    questions = load_mm_vet(data / "mm-vet")
    path = tmp_path / "ids.json"
    path.write_text(json.dumps([question.id for question in questions.questions]))
    assert subset_of_file(questions, path).official
    assert not subset_of_file(own_sample(), _written(tmp_path / "own.txt", "own_0")).official
    path.write_text('["v1_0"]')
    assert not subset_of_file(questions, path).official


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", '["own_0", "v1_0", "v1_1"]', "2 others: v1_0, v1_1"),
        ("a.json", '["own_0", "own_0"]', "more than once: own_0"),
        ("a.json", "[0]", "aren't texts"),
        ("a.json", '{"own_0": 1}', "aren't in a list"),
        ("a.json", "[]", "no ids"),
        ("a.txt", "own_0\nown_99\n", "1 others: own_99"),
        ("a.txt", "\n\n", "no ids"),
        ("a.txt", "own_0\0", "NUL"),
    ],
)
def test_ids_that_are_unknown_or_double_or_no_ids_are_refused(tmp_path, name, content, words):
    with pytest.raises(RowsError, match=f"^{name}.*{words}"):
        subset_of_file(own_sample(), _written(tmp_path / name, content))


# Our own sample


def test_our_own_sample_covers_every_capability_and_says_that_it_is_no_mm_vet():
    sample = own_sample()
    assert (sample.name, sample.official) == ("Stereoscope's own sample, not MM-Vet", False)
    assert len(sample.questions) >= 12
    groups = Counter(group for question in sample.questions for group in question.groups)
    assert set(groups) == set(CAPABILITIES) and min(groups.values()) >= 2
    assert len({question.groups for question in sample.questions}) >= 8
    assert any("<AND>" in question.truth for question in sample.questions)
    assert any("<OR>" in question.truth for question in sample.questions)


def test_every_picture_of_the_sample_is_one_of_the_demo_bank():
    shown = {
        name for record in read_records(DEMO / "items.jsonl") for name in record.values["images"]
    }
    for question in own_sample().questions:
        assert f"pictures/{question.image}" in shown
        assert (DEMO / "pictures" / question.image).is_file()


def test_figures_in_the_samples_truths_agree_with_what_the_demo_bank_says_of_the_pictures():
    """Every number that the demo bank's captions can confirm is looked up there, the rest is worked out from them."""
    truths = {question.id: question.truth for question in own_sample().questions}
    captions = {
        name: caption
        for record in read_records(DEMO / "items.jsonl")
        for name, caption in zip(record.values["images"], record.values["captions"], strict=True)
    }
    assert (
        "THE CORNER GROCER" in captions["pictures/receipt.webp"]
        and truths["own_0"] == "The Corner Grocer"
    )
    assert truths["own_1"] == f"{32.90 - 3.00:.2f}<OR>29.9"
    assert (
        "Six ducks swim in the pond" in captions["pictures/park.webp"]
        and truths["own_2"] == "6<OR>six"
    )
    assert "Centre 2, Ferry 6" in captions["pictures/junction.webp"] and truths["own_4"].startswith(
        "6"
    )
    assert "16:00 16:12 16:25" in captions["pictures/bus-stop.webp"] and truths["own_5"] == "16:25"
    assert "(14:52)" in captions["pictures/bus-stop.webp"] and truths["own_6"].startswith(
        f"{8 + 20}"
    )
    assert "thunderstorms and 9°" in captions["pictures/weather.webp"] and truths[
        "own_8"
    ].startswith(f"{19 - 9}")
    assert "serves 8" in captions["pictures/recipe.webp"]
    assert truths["own_12"] == f"{4 * 12 // 8} eggs<AND>{240 * 12 // 8} g flour"


def test_the_samples_predictions_go_through_as_a_newcomer_would_upload_them():
    upload = read_predictions(SAMPLE_PREDICTIONS, own_sample())
    filled = fill(own_sample(), upload, "stop")
    assert all(entry.prediction for entry in filled)
    assert (
        json.loads(SAMPLE.read_text("utf-8")).keys()
        == json.loads(SAMPLE_PREDICTIONS.read_text("utf-8")).keys()
    )


# The authors' archive, from a real server on loopback.


class Release(BaseHTTPRequestHandler):
    """Serves /mm-vet.zip, at /v1/mm-vet.zip a redirect to it as GitHub does; `cut` ends a body, `faults` come first."""

    content, cut, asked, faults = b"", False, 0, []

    def do_GET(self) -> None:
        """Answer."""
        type(self).asked += 1
        if self.path == "/v1/mm-vet.zip":
            self.send_response(302)
            self.send_header("Location", "/mm-vet.zip")
            self.end_headers()
            return
        if self.faults:
            self.faults.pop(0)(self)
            return
        self.send_response(200 if self.path == "/mm-vet.zip" else 404)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content[: len(self.content) // 2] if self.cut else self.content)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def release(monkeypatch) -> Iterator[tuple[type[Release], str]]:
    """The release page and its address; an archive may have two million bytes."""
    assert mm_vet_questions._ARCHIVE_BYTES == 200_000_000
    monkeypatch.setattr(mm_vet_questions, "_ARCHIVE_BYTES", 2_000_000)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    handler = type("ThisRelease", (Release,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}/v1/mm-vet.zip"
    server.shutdown()
    server.server_close()
    thread.join()


def archive(data: Path, **extra: bytes | None) -> bytes:
    """Return an archive laid out as the authors' is, with stand-ins for the pictures."""
    file = data / "mm-vet" / "mm-vet.json"
    names = {entry["imagename"] for entry in json.loads(file.read_text("utf-8")).values()}
    parts = {
        "mm-vet/mm-vet.json": file.read_bytes(),
        "__MACOSX/mm-vet/mm-vet.json": b"",
        "mm-vet/bard_set.json": b"[]",
    }
    parts |= {f"mm-vet/images/{name}": f"picture {name}".encode() for name in names} | extra
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in parts.items():
            if content is not None:
                zipped.writestr(name, content)
    return written.getvalue()


def test_the_archive_is_fetched_whole_once(data, release, tmp_path):
    handler, address = release
    handler.content = archive(data)
    folder = tmp_path / "held" / "mm-vet"
    assert fetch_mm_vet(folder, address) == folder
    assert load_mm_vet(folder) == load_mm_vet(data / "mm-vet")
    pictures = {question.image for question in load_mm_vet(folder).questions}
    assert {path.name for path in (folder / "images").iterdir()} == pictures
    assert all((folder / "images" / name).read_text() == f"picture {name}" for name in pictures)
    assert sorted(path.name for path in folder.iterdir()) == ["images", "mm-vet.json"]
    assert [path.name for path in folder.parent.iterdir()] == ["mm-vet"]
    asked = handler.asked
    assert fetch_mm_vet(folder, address) == folder
    assert handler.asked == asked == 2


def test_an_empty_folder_is_filled_and_another_left_alone(data, release, tmp_path):
    handler, address = release
    handler.content = archive(data)
    (tmp_path / "empty").mkdir()
    assert (fetch_mm_vet(tmp_path / "empty", address) / "images").is_dir()
    _written(tmp_path / "notes.txt", "mine")
    for taken in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(QuestionsError, match="already has other files"):
            fetch_mm_vet(taken, address)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_questions_without_their_pictures_are_not_the_archive(data, tmp_path):
    _written(tmp_path / "mm-vet.json", (data / "mm-vet" / "mm-vet.json").read_text("utf-8"))
    with pytest.raises(QuestionsError, match="already has other files"):
        fetch_mm_vet(tmp_path)


def link(name: str, target: str) -> bytes:
    """Return an archive with one symbolic link in place of a picture."""
    part = zipfile.ZipInfo(name)
    part.external_attr = (stat.S_IFLNK | 0o777) << 16
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as zipped:
        zipped.writestr(part, target)
    return written.getvalue()


def locked(content: bytes) -> bytes:
    raw = bytearray(content)
    for place in range(len(raw)):
        if raw[place : place + 4] == b"PK\x01\x02":
            raw[place + 8] |= 1
        if raw[place : place + 4] == b"PK\x03\x04":
            raw[place + 6] |= 1
    return bytes(raw)


FAULTS = {
    "no zip": (lambda data: b"<html>not here</html>", "isn't a complete zip archive"),
    "cut": (lambda data: archive(data)[:-200], "isn't a complete zip archive"),
    "locked": (lambda data: locked(archive(data)), "isn't a complete zip archive"),
    "flipped": (
        lambda data: archive(data)[:90] + b"\0\0\0\0" + archive(data)[94:],
        "isn't a complete zip archive",
    ),
    "other questions": (
        lambda data: archive(data, **{"mm-vet/mm-vet.json": b"{}"}),
        "by its sha256",
    ),
    "no questions": (
        lambda data: archive(data, **{"mm-vet/mm-vet.json": None}),
        "has 0 files named mm-vet.json",
    ),
    "two questions": (
        lambda data: archive(data, **{"mm-vet.json": b"{}"}),
        "has 2 files named mm-vet.json",
    ),
    "a picture lacks": (
        lambda data: archive(data, **{"mm-vet/images/v1_0.png": None}),
        "has no picture images/v1_0",
    ),
    "bomb": (lambda data: archive(data, bomb=bytes(2_010_000)), "more than the published one"),
    "many files": (
        lambda data: archive(data, **{f"x{n}": b"" for n in range(2_000)}),
        "more than the published one",
    ),
    "a link": (lambda data: link("mm-vet/mm-vet.json", "/etc/passwd"), "by its sha256"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_archive_with_a_fault_leaves_nothing_behind(data, release, tmp_path, fault):
    handler, address = release
    make, words = FAULTS[fault]
    handler.content = make(data)
    with pytest.raises(DownloadError, match=words) as caught:
        fetch_mm_vet(tmp_path / "mm-vet", address)
    assert str(caught.value).startswith(f"{address}: ")
    assert list(tmp_path.iterdir()) == []


def test_paths_that_climb_out_of_the_archive_are_never_written(data, release, tmp_path):
    handler, address = release
    climbing = {
        "mm-vet/images/../../../evil.png": b"x",
        "/evil.png": b"x",
        "..\\evil.png": b"x",
        "mm-vet/x.py": b"x",
    }
    handler.content = archive(data, **climbing)
    folder = fetch_mm_vet(tmp_path / "inner" / "mm-vet", address)
    assert not [path for path in tmp_path.rglob("*") if "evil" in path.name or path.suffix == ".py"]
    assert sorted(path.name for path in folder.iterdir()) == ["images", "mm-vet.json"]


def half(handler: Release) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(handler.content)))
    handler.end_headers()
    handler.wfile.write(handler.content[:9])


def test_a_download_that_fails_is_tried_again(data, release, tmp_path):
    handler, address = release
    handler.content, waits = archive(data), []
    handler.faults = [
        half,
        lambda it: it.send_error(503),
        lambda it: it.send_error(429),
        lambda it: None,
    ]
    assert (fetch_mm_vet(tmp_path / "mm-vet", address, waits.append) / "images").is_dir()
    assert waits == [1, 2, 4, 8] and handler.faults == []


@pytest.mark.parametrize("status", [408, 429, 500, 501, 599])
def test_a_server_that_may_soon_answer_is_asked_again(data, release, tmp_path, status):
    handler, address = release
    waits = []
    handler.content = archive(data)
    handler.faults = [lambda request: request.send_error(status)]
    assert (fetch_mm_vet(tmp_path / "mm-vet", address, waits.append) / "images").is_dir()
    assert waits == [1]


@pytest.mark.parametrize("status", [407, 409, 428, 430, 499])
def test_a_server_that_refuses_is_not_asked_again(release, tmp_path, status):
    handler, address = release
    waits = []
    handler.faults = [lambda request: request.send_error(status)]
    with pytest.raises(DownloadError, match=f"answered {status}. Check the address in a browser"):
        fetch_mm_vet(tmp_path / "mm-vet", address, waits.append)
    assert waits == []


def test_a_download_that_breaks_off_or_is_refused_leaves_nothing_behind(data, release, tmp_path):
    handler, address = release
    no_wait = [].append
    handler.content, handler.cut = archive(data), True
    with pytest.raises(DownloadError, match="Check the network"):
        fetch_mm_vet(tmp_path / "mm-vet", address, no_wait)
    with pytest.raises(DownloadError, match="answered 404"):
        fetch_mm_vet(tmp_path / "mm-vet", address.replace("/v1/", "/v2/"))
    with pytest.raises(DownloadError, match="Check the network"):
        fetch_mm_vet(tmp_path / "mm-vet", "http://127.0.0.1:1/mm-vet.zip", no_wait)
    with pytest.raises(DownloadError, match="Check the network"):
        fetch_mm_vet(tmp_path / "mm-vet", "no address")
    assert list(tmp_path.iterdir()) == []


def test_a_download_without_end_is_cut_off(release, tmp_path):
    handler, address = release
    handler.content = bytes(2_000_001)
    with pytest.raises(DownloadError, match="over 2,000,000 bytes"):
        fetch_mm_vet(tmp_path / "mm-vet", address)
    assert list(tmp_path.iterdir()) == []
