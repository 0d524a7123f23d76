"""Pictures that lie in an uploaded file: which a report shows, made anew, and only under its link."""

import base64
import csv
import io
import json
import textwrap
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import func, select

from arena.database import Database
from arena.io.scaled_pictures import scaled_picture
from scoring.benchmarks.article import wrong_answers
from scoring.jobs import report_pictures
from scoring.jobs.report_pictures import (
    MOST_OF_QUESTION,
    REPORT_PICTURE,
    WIDTH,
    ReportPictures,
    file_pictures,
)
from scoring.jobs.store import Job, Jobs
from scoring.jobs.uploads import UploadStore
from scoring.questions.library import QuestionLibrary
from scoring.questions.opening import open_joined_file, recognised_beside
from scoring.registry import BENCHMARKS, open_upload
from scoring.report import AnyReport
from scoring.serialize import ReportError
from tests.support.circular_passes import RIGHT, passes, row
from tests.support.scoring_desk import received

OWNER = "o" * 32
RED, GREEN, BLUE = (200, 30, 30), (30, 180, 60), (30, 60, 200)


def picture(colour: tuple[int, int, int], side: int = 40, kind: str = "PNG") -> str:
    """A picture of one colour in base64."""
    stream = io.BytesIO()
    Image.new("RGB", (side, side), colour).save(stream, kind)
    return base64.b64encode(stream.getvalue()).decode()


def written(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(
            file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ","
        )
        writer.writeheader()
        writer.writerows(rows)
    return path


def report_on(path: Path):
    opened = open_upload(path)
    assert opened is not None
    return opened.report("strict")


def found_in(path: Path) -> dict[str, list[tuple[int, int, int]]]:
    """The colours of the pictures that are kept of a file, by question, each as it is decoded."""
    report, found = report_on(path), {}
    answers = BENCHMARKS[report.benchmark].scored_answers(report)
    for question, picture in file_pictures(path, path.name, answers, wrong_answers(answers)):
        with Image.open(io.BytesIO(scaled_picture(picture.data, WIDTH))) as image:
            assert image.format == "WEBP" and image.width <= WIDTH and not image.info.get("exif")
            found.setdefault(question, []).append(
                image.convert("RGB").getpixel((image.width // 2, image.height // 2))
            )
    return found


def about(colour: tuple[int, int, int]) -> list[object]:
    return [pytest.approx(colour, abs=6)]


def test_wrong_answers_have_the_pictures_of_their_rows_and_of_the_rows_that_these_name(tmp_path):
    wrong, right = ["D", *RIGHT[1:]], RIGHT
    rows = [
        *passes(1, wrong, image="5"),
        *passes(2, wrong, image=picture(RED)),
        *passes(5, right, image="x"),
    ]
    for one in rows:
        one["image"] = (
            one["image"] if int(one["index"]) < 10 else str(int(one["index"]) % 1_000_000)
        )
    rows[8]["image"] = picture(GREEN, 2000, "JPEG")
    assert found_in(written(tmp_path / "m.tsv", rows)) == {"1": about(GREEN), "2": about(RED)}


def test_marked_answers_have_their_pictures_and_several_at_most_four(tmp_path):
    many = [f"data:image/png;base64,{picture(RED)}"] * (MOST_OF_QUESTION + 3)
    rows = [
        {
            "index": "a/1",
            "question": "What?",
            "answer": "['dog']",
            "prediction": "cat",
            "image": json.dumps(many),
        },
        {
            "index": "a/2",
            "question": "Who?",
            "answer": "['me']",
            "prediction": "me",
            "image": picture(BLUE),
        },
    ]
    assert found_in(written(tmp_path / "m_GQA.csv", rows)) == {"a/1": about(RED) * MOST_OF_QUESTION}


@pytest.mark.parametrize("is_on_server", [False, True])
def test_wrong_answers_have_the_pictures_of_their_question_file(house, tmp_path, is_on_server):
    asked = [
        {"index": str(at), "question": f"{at}?", "answer": "yes", "image": cell}
        for at, cell in enumerate([picture(RED), "107", picture(BLUE)], 105)
    ]
    said = [{"index": str(at), "prediction": "no"} for at in (105, 106, 107)]
    path = written(tmp_path / "vlm_POPE.csv", said)
    rows = [{**row, "category": "random"} for row in asked]
    if is_on_server:
        written(tmp_path / "questions" / "POPE.tsv", rows)
        job = house.report_on_server(path)
    else:
        job = house.report_beside(path, written(tmp_path / "POPE.tsv", rows))
    assert house.colours(job) == {
        "105": pytest.approx(RED, abs=6),
        "106": pytest.approx(BLUE, abs=6),
        "107": pytest.approx(BLUE, abs=6),
    }


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "999",
        "images/somewhere/on/a/disk/whose/name/is/as/long/as/this/one/which/says/nothing.png",
        base64.b64encode(
            b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'>" + b" " * 200
        ).decode(),
        base64.b64encode(b"<html><script>alert(1)</script>" + b" " * 200).decode(),
        base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 200).decode(),
        "A" * 65,
    ],
)
def test_what_is_no_picture_is_left_out(tmp_path, cell):
    assert found_in(written(tmp_path / "m.tsv", [*passes(1, ["D"] * 4, image=cell)])) == {}


def test_a_row_that_cannot_be_told_from_others_shows_no_others_picture(tmp_path):
    rows = [row(1, "D", image=picture(RED)), row(2, "D", image=picture(BLUE))]
    path = tmp_path / "m.json"
    path.write_text(json.dumps(rows))
    assert found_in(path) == {}
    path.write_text(json.dumps(rows, indent=1))
    assert found_in(path) == {"1": about(RED), "2": about(BLUE)}


@pytest.mark.parametrize("name", ["m.json", "m.jsonl"])
def test_a_record_without_a_picture_hides_no_later_ones(tmp_path, name):
    rows = [row(1, "D"), row(2, "D", image=picture(BLUE))]
    lines = [json.dumps(one) for one in rows]
    path = tmp_path / name
    path.write_text("\n".join(lines) if name == "m.jsonl" else f"[{lines[0]},\n{lines[1]}]")
    assert found_in(path) == {"2": about(BLUE)}


@pytest.mark.parametrize("line_end", ["\n", "\r\n", " "])
def test_base64_in_lines_is_a_picture(tmp_path, line_end):
    lines = line_end.join(textwrap.wrap(picture(RED), 76))
    cells = [lines, f"data:image/png;base64,{lines}", [lines, picture(BLUE)]]
    path = tmp_path / "m.json"
    rows = [row(number, "D", image=cell) for number, cell in enumerate(cells, start=1)]
    path.write_text(json.dumps(rows, indent=1))
    assert found_in(path) == {"1": about(RED), "2": about(RED), "3": about(RED) + about(BLUE)}


class House:
    """Reports with pictures, of files that were uploaded."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database, self.uploads = database, UploadStore(folder / "uploads")
        self.jobs = Jobs(database)
        self.library = QuestionLibrary(folder / "questions")
        (folder / "questions").mkdir()
        self.pictures = ReportPictures(database, self.jobs, self.uploads, library=self.library)

    def report(self, path: Path, owner: str = OWNER) -> Job:
        received(self.uploads, owner, path)
        return self._kept(owner, report_on(path))

    def report_beside(self, path: Path, questions: Path) -> Job:
        """A report on answers with the question file that was dropped together with them."""
        received(self.uploads, OWNER, path, questions)
        opened = recognised_beside(path, questions)
        assert opened is not None
        return self._kept(OWNER, opened.report("strict"))

    def report_on_server(self, path: Path) -> Job:
        """A report on answers to a question file of this server."""
        received(self.uploads, OWNER, path)
        opened = open_joined_file(self.library, path).file
        assert opened is not None
        return self._kept(OWNER, opened.report("strict"))

    def colours(self, job: Job) -> dict[str, tuple[int, ...]]:
        """The colour of each question's only picture."""
        colours = {}
        for question, (number,) in self.pictures.numbers(job.link).items():
            with Image.open(io.BytesIO(self.pictures.picture(job.link, number) or b"")) as image:
                colours[question] = image.convert("RGB").getpixel((5, 5))
        return colours

    def _kept(self, owner: str, report: AnyReport) -> Job:
        job = self.jobs.add_done(owner, report)
        self.pictures.keep_soon(job)
        return job

    def kept(self) -> int:
        with self.database.read() as connection:
            return connection.scalar(select(func.count()).select_from(REPORT_PICTURE)) or 0


@pytest.fixture
def house(database, tmp_path) -> Iterator[House]:
    made = House(database, tmp_path)
    yield made
    made.pictures.stop()


def test_answers_that_people_label_have_their_pictures_too_and_none_twice(house, tmp_path):
    rows = [row(at, "D", image=picture(RED), category="ocr") for at in range(1, 20)]
    job = house.report(written(tmp_path / "a.tsv", rows))
    shown = house.pictures.numbers(job.link)
    answers = BENCHMARKS["mmbench"].scored_answers(house.jobs.report(job.link))
    for _ in range(2):
        house.pictures.keep_soon(job, answers[:12])
        kept = house.pictures.numbers(job.link)
        assert shown.items() <= kept.items() and kept.keys() == {
            *shown,
            *(one.id for one in answers[:12]),
        }
        numbers = [number for several in kept.values() for number in several]
        assert sorted(numbers) == list(range(1, len(kept) + 1))


def test_pictures_are_under_their_reports_link_alone_and_go_with_it(house, tmp_path):
    rows = [row(at, "D", image=picture(RED), category="ocr") for at in range(1, 9)]
    first = house.report(written(tmp_path / "a.tsv", rows))
    second = house.report(
        written(tmp_path / "b.tsv", [{**one, "image": ""} for one in rows]), "e" * 32
    )
    numbers = house.pictures.numbers(first.link)
    report = house.jobs.report(first.link)
    shown = wrong_answers(BENCHMARKS["mmbench"].scored_answers(report))
    assert list(numbers) == [one.id for one in shown] and house.kept() == len(shown) == 5
    assert house.pictures.numbers(second.link) == {}
    for number in range(7):
        assert (house.pictures.picture(first.link, number) is None) == (number not in range(1, 6))
        assert house.pictures.picture(second.link, number) is None
        assert house.pictures.picture("", number) is None
    house.jobs.delete(OWNER, first.link)
    assert house.kept() == 0 and house.pictures.picture(first.link, 1) is None


def test_a_report_whose_pictures_cannot_be_read_or_are_given_up_is_shown(
    house, tmp_path, monkeypatch
):
    waited_for = threading.Event()

    def fail(*_: object) -> None:
        waited_for.wait(10)
        raise ReportError("Another release stored it.")

    monkeypatch.setattr(report_pictures, "report_pictures", fail)
    job = house.report(written(tmp_path / "a.tsv", [row(1, "D", image=picture(RED))]))
    threading.Timer(0.2, waited_for.set).start()
    assert house.pictures.numbers(job.link) == {}
    given_up: Future[None] = Future()
    given_up.cancel()
    house.pictures._waiting[job.link] = given_up
    assert house.pictures.numbers(job.link) == {}


def test_a_report_that_is_deleted_meanwhile_gets_none(house, tmp_path):
    job = house.report(written(tmp_path / "a.tsv", [row(1, "D", image="")]))
    assert house.pictures.numbers(job.link) == {}
    house.report(written(tmp_path / "a.tsv", [row(1, "D", image=picture(RED))]))
    house.jobs.delete(OWNER, job.link)
    house.pictures.keep_soon(job)
    assert house.pictures.numbers(job.link) == {} and house.kept() == 0
