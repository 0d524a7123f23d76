"""`fetch` loads a question file from its authors, checked and without pictures; answers alone are scored beside it."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from arena.io.tables import read_records
from scoring.questions.fetch import fetch
from scoring.questions.library import QuestionLibrary
from scoring.registry import BENCHMARKS
from scoring.specs.schema import QuestionFile
from tests.support.choice_tables import ChoiceCommand, row, table_file
from tests.support.question_files import ASKED, answers, circular, questions

NAME = "MMBench_DEV_EN.tsv"
PICTURE = "iVBORw0KGgo" * 400


class Authors(BaseHTTPRequestHandler):
    """Serves the content of its class, at any path."""

    content = b""
    asked: list[str] = []

    def do_HEAD(self) -> None:
        self._head()

    def do_GET(self) -> None:
        self._head()
        self.wfile.write(self.content)

    def _head(self) -> None:
        self.asked.append(self.command)
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def authors(monkeypatch) -> Iterator[tuple[type[Authors], str]]:
    """A server and its address."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    handler = type("TheseAuthors", (Authors,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}/{NAME}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def published(authors, monkeypatch, tmp_path) -> tuple[type[Authors], Path]:
    """MMBench with one question file, which these authors publish with its pictures; and a folder for it."""
    handler, address = authors
    bare = [*read_records(questions(tmp_path))]
    rows = [{**record.values, "image": f"{PICTURE}{record.row}"} for record in bare]
    handler.content = table_file(tmp_path / "whole.tsv", rows, [*rows[0]]).read_bytes()
    benchmark = BENCHMARKS["mmbench"]
    entry = benchmark.spec.questions[0].model_copy(
        update={
            "name": NAME,
            "url": address,
            "md5": hashlib.md5(handler.content).hexdigest(),
            "rows": len(rows),
        }
    )
    spec = benchmark.spec.model_copy(update={"questions": (entry,), "licence": "CC BY 4.0"})
    monkeypatch.setitem(BENCHMARKS, "mmbench", replace(benchmark, spec=spec))
    return handler, tmp_path / "held"


@pytest.fixture
def command(tmp_path) -> ChoiceCommand:
    return ChoiceCommand(tmp_path)


def test_answers_alone_are_scored_beside_what_was_fetched(published, command, tmp_path):
    handler, folder = published
    done = command.run("fetch", "mmbench", folder, answer="y\n")
    assert done.code == 0, done.err
    size = f"{len(handler.content):,} bytes" if len(handler.content) < 10**6 else " MB"
    assert f"{NAME} of MMBench" in done.out and "20 questions" in done.out
    assert size in done.out and "licence CC BY 4.0" in done.out
    assert handler.asked == ["HEAD", "GET"]
    held = [*read_records(folder / NAME)]
    assert len(held) == 20 and "image" not in held[0].values
    (known,) = QuestionLibrary(folder).files()
    assert known.is_published
    assert sorted(path.name for path in folder.iterdir()) == [NAME, f"{NAME}.yaml"]

    file = answers(tmp_path, circular(wrong=[(241, 0)]))
    scored = command("score", file, "--no-judge", QUESTIONS_PATH=str(folder))
    assert scored.code == 0, scored.err
    assert f"questions: {NAME}, as its authors publish it" in scored.out
    assert command.overall() == pytest.approx(0.8)


def test_pictures_are_kept_where_they_are_wanted(published, command):
    handler, folder = published
    assert command.run("fetch", "mmbench", folder, "--pictures", "--yes").code == 0
    assert (folder / NAME).read_bytes() == handler.content


def test_a_file_that_is_no_table_of_text_keeps_its_pictures(authors, tmp_path):
    handler, address = authors
    handler.content = b'{"id": "1", "question": "What is it?", "image": "iVBORw0KGgo"}\n'
    entry = QuestionFile(name="q.jsonl", rows=1).model_copy(update={"url": address})
    path = fetch(
        "own", entry, "MIT", tmp_path / "held", with_pictures=False, sleep=lambda seconds: None
    )
    assert path.read_bytes() == handler.content


@pytest.mark.parametrize(
    ("words", "answer", "told"),
    [
        (("mmbench",), "n\n", "Nothing was downloaded"),
        (("mmbench",), "", "Add --yes if nobody can answer"),
        (("mmbench", "--file", "x.tsv"), "", f"'x.tsv' isn't a file of mmbench. Choose {NAME}."),
        (("mm-vet", "--file", "x.tsv"), "", "MM-Vet is one archive. Leave out --file."),
        (("vqa",), "", "'vqa' can't be downloaded. Choose mm-vet, mmbench"),
        (("visit-bench",), "", "'visit-bench' can't be downloaded. Choose mm-vet, mmbench"),
    ],
)
def test_what_nobody_agrees_to_or_knows_is_not_loaded(published, command, words, answer, told):
    handler, folder = published
    done = command.run("fetch", words[0], folder, *words[1:], answer=answer)
    assert done.code and told in done.out + done.err
    assert "GET" not in handler.asked
    assert not folder.exists()


def test_without_a_folder_one_is_asked_for(published, command):
    done = command.run("fetch", "mmbench", "--yes")
    assert done.code == 2 and "set QUESTIONS_PATH" in done.err


@pytest.mark.parametrize("fault", ["other bytes", "other rows"])
def test_what_is_not_as_published_leaves_nothing_behind(
    published, command, monkeypatch, tmp_path, fault
):
    handler, folder = published
    benchmark = BENCHMARKS["mmbench"]
    (entry,) = benchmark.spec.questions
    if fault == "other bytes":
        handler.content += b"\n"
        told = "The file isn't the published one"
    else:
        told = "The file has 20 rows, and the published one 21. Please report this."
        entry = entry.model_copy(update={"rows": 21})
    spec = benchmark.spec.model_copy(update={"questions": (entry,)})
    monkeypatch.setitem(BENCHMARKS, "mmbench", replace(benchmark, spec=spec))
    done = command.run("fetch", "mmbench", folder, "--yes")
    assert done.code and told in done.err
    assert [*folder.iterdir()] == []


def test_a_file_by_hand_is_known_by_its_name(command, tmp_path):
    folder = tmp_path / "held"
    folder.mkdir()
    table_file(folder / NAME, [row(3), row(241), row(1050)], ASKED)
    said = answers(tmp_path, {"3": "B", "241": "B", "1050": "A"}, "model_MMBench_DEV_EN.json")
    done = command("score", said, "--no-judge", QUESTIONS_PATH=str(folder))
    assert done.code == 0, done.err
    assert command.overall() == pytest.approx(2 / 3, abs=1e-4)
