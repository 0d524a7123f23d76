"""`answer mmt-bench --modes`: what is asked in each mode, what is quoted, kept, named and compared."""

import base64
import csv
import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image

import scoring.__main__
from arena.io.drawn_pictures import DRAWN_BY
from arena.io.tables import read_records
from scoring.multiple_choice.reader import read_choices
from scoring.multiple_choice.types import MODES
from scoring.registry import open_upload
from tests.support.offline_answers import asked, catalogue, serve
from tests.support.openai_server import Body

SIZED = "Where is the {}? The width of the input image is 100 and the height is 50."
BOXES = ("[0.1, 0.2, 0.3, 0.4]", "[0.5, 0.6, 0.7, 0.8]")
EQUAL = ("[0.1, 0.2, 0.3, 0.4]", "[0.1, 0.2, 0.3, 0.401]")


def picture(width: int = 100, height: int = 50) -> str:
    stream = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def question_file(path: Path) -> Path:
    """Write eight questions: coordinates (one that rounding makes equal), several images, a box, and two others."""
    several = str([picture(), picture(60, 60)])
    rows = [
        (1, SIZED.format("dog"), *BOXES, "A", "reason_seg", picture()),
        (2, SIZED.format("cat"), *BOXES, "B", "reason_seg", picture()),
        (3, SIZED.format("fly"), *EQUAL, "A", "reason_seg", picture()),
        (4, SIZED.format("bus"), *BOXES, "A", "referring_detection", picture(90, 50)),
        (
            5,
            "What is the change of expression from Image 1 to Image 2?",
            "sad",
            "glad",
            "B",
            "facail_expression_change_recognition",
            several,
        ),
        (
            6,
            "Describe the region ([0.1, 0.2, 0.3, 0.4]).",
            "a dog",
            "a cat",
            "A",
            "instance_captioning",
            picture(),
        ),
        (7, "What animal is it?", "a dog", "a cat", "A", "animals_recognition", picture()),
        (8, "What is it?", "a dog", "a cat", "B", "animals_recognition", picture()),
    ]
    heads = ["index", "question", "A", "B", "answer", "category", "image"]
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([heads, *([*row] for row in rows)])
    return path


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("MODELS", str(tmp_path / "models.toml"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    question_file(tmp_path / "mmt.tsv")
    return tmp_path


def answer(place: Path, *modes: str) -> int:
    words = (
        "mmt-bench",
        "--model",
        "Model X",
        "--questions",
        str(place / "mmt.tsv"),
        "--out",
        str(place / "o.tsv"),
    )
    return scoring.__main__.main(["answer", *words, *modes])


def rows_of(place: Path, name: str) -> dict[str, dict[str, object]]:
    return {
        str(record.values["index"]): dict(record.values) for record in read_records(place / name)
    }


def test_as_is_is_what_was_asked_before_there_were_modes(place):
    with serve(lambda *_: "A") as server:
        catalogue(place, server)
        assert answer(place) == 0
        plain = sorted(json.dumps(body) for body in server.counts.bodies)
        first = (place / "o.tsv").read_bytes()
        (place / "o.tsv").unlink()
        assert answer(place, "--mode", "as-is") == 0
        assert sorted(json.dumps(body) for body in server.counts.bodies[8:]) == plain
    assert (place / "o.tsv").read_bytes() == first and b"mode" not in first.split(b"\n")[0]
    (region,) = [json.loads(text) for text in plain if "region" in text]
    assert region == {
        "model": "test-vlm",
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image_url",
                        "image_url": {"url": f"data:image/png;base64,{sent_png(region)}"},
                    },
                    {
                        "type": "text",
                        "text": "Describe the region ([0.1, 0.2, 0.3, 0.4]).\nA. a dog\nB. a cat\n"
                        "Choose the right option and answer with its letter alone.",
                    },
                ],
            }
        ],
        "stream": True,
        "max_tokens": 512,
        "stream_options": {"include_usage": True},
    }


def sent_png(body: Body) -> str:
    return body["messages"][0]["content"][0]["image_url"]["url"].split(",")[1]


def sent(body: Body) -> list[Image.Image]:
    parts = [
        part["image_url"]["url"]
        for part in body["messages"][-1]["content"]
        if part["type"] == "image_url"
    ]
    return [
        Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB") for url in parts
    ]


def test_a_mode_stands_in_the_file_s_name_in_its_rows_and_in_the_report(place, capsys):
    with serve(lambda *_: "A") as server:
        catalogue(place, server)
        assert answer(place, "--mode", "pixel") == 0
    said = capsys.readouterr().out
    assert "pixel: 4 of 8 questions are asked otherwise than as is." in said
    assert "pixel: 1 left as they are, or with a remark: rounding makes options equal" in said
    assert (
        "pixel: 1 left as they are, or with a remark: the picture is not of the size in the text, which holds"
        in said
    )
    assert re.search(
        r"Together 8 requests and at most [\d,]+ tokens sent: 1\.\d\d times asking as is once", said
    )
    rows = rows_of(place, "o-pixel.tsv")
    assert {row["mode"] for row in rows.values()} == {"pixel"} and not (place / "o.tsv").exists()
    assert rows["1"]["A"] == "[10, 10, 30, 20]" and rows["6"]["question"].startswith(
        "Describe the region ([10, 10, 30, 20])."
    )
    assert (
        rows["3"]["A"] == EQUAL[0]
        and rows["3"]["mode_note"] == "rounding makes options equal: A and B"
    )
    assert rows["7"]["mode_note"] == ""
    opened = open_upload(place / "o-pixel.tsv")
    report = opened.report("strict")
    assert opened.lines[0].startswith("MMT-Bench: 8 answers in mode pixel")
    assert (
        report.mode == "pixel" and opened.benchmark.edition(report) == "MMT-Bench VAL in mode pixel"
    )
    assert "2 questions were asked as they are, or with a remark" in " ".join(
        one.text for one in report.problems
    )
    assert list(place.glob("*.part")) == []


def test_a_rewritten_file_is_scored_with_the_question_file_by_its_own_options(place, capsys):
    with serve(lambda *_: "The answer is [10, 10, 30, 20].") as server:
        catalogue(place, server)
        assert answer(place, "--mode", "pixel") == 0
    words = [
        "score",
        "--benchmark=mmt-bench",
        str(place / "o-pixel.tsv"),
        "--questions",
        str(place / "mmt.tsv"),
        "--no-judge",
    ]
    words += ["--out", str(place / "r")]
    assert scoring.__main__.main(words) == 0, capsys.readouterr().err
    letters = {
        row.values["index"]: row.values["letter"]
        for row in read_records(next((place / "r").glob("*audit*")))
    }
    assert letters[1] == letters[4] == "A"
    text = (place / "o-pixel.tsv").read_text("utf-8")
    (place / "o-pixel.tsv").write_text(text.replace('"pixel"', '"as-is"'), "utf-8")
    assert scoring.__main__.main(words) == 2 and "has other options" in capsys.readouterr().err


def test_several_images_are_sent_as_one(place):
    with serve(lambda *_: "A") as server:
        catalogue(place, server)
        assert answer(place, "--mode", "one-image") == 0
        (body,) = [body for body in server.counts.bodies if "expression" in asked(body)]
    assert [picture.size for picture in sent(body)] == [(120 + 16 + 60, 60)]
    assert {row["mode"] for row in rows_of(place, "o-one-image.tsv").values()} == {
        f"one-image ({DRAWN_BY})"
    }


def test_images_stand_inside_the_sentence(place):
    with serve(lambda *_: "A") as server:
        catalogue(place, server)
        assert answer(place, "--mode", "multi-inline") == 0
        (body,) = [body for body in server.counts.bodies if "expression" in json.dumps(body)]
    content = body["messages"][-1]["content"]
    assert [part.get("text") for part in content] == [
        "Question: What is the change of expression from Image 1: ",
        None,
        "to Image 2: ",
        None,
        "?\nOptions:\nA. sad\nB. glad\nChoose the right option and answer with its letter alone.",
    ]


def test_boxes_are_drawn_and_blind_modes_show_black_or_nothing(place):
    with serve(lambda *_: "A") as server:
        catalogue(place, server)
        assert answer(place, "--modes", "mark,blind,no-image") == 0
        marked, blind, none = (server.counts.bodies[start : start + 8] for start in (0, 8, 16))
    (region,) = [body for body in marked if "region" in asked(body)]
    assert asked(region).startswith("Describe the region (marked in red).\n")
    shown = sent(region)[0]
    assert shown.size == (100, 50) and shown.getpixel((10, 15)) == (255, 0, 0)
    assert all(
        {colour for _, colour in one.getcolors()} == {(0, 0, 0)}
        for body in blind
        for one in sent(body)
    )
    assert {one.size for body in blind for one in sent(body)} == {(100, 50), (90, 50), (60, 60)}
    assert all(isinstance(body["messages"][-1]["content"], str) for body in none)


def right_in_pixels(body: Body, _: int) -> str:
    """Answer right in pixels, and A in all other modes."""
    text = asked(body)
    return "B" if "in pixels" in text and "cat" in text.split("\n")[0] else "A"


def test_modes_are_compared_by_question_with_tokens_and_cost(place, capsys):
    with serve(right_in_pixels) as server:
        catalogue(place, server, prompt_price=100.0, completion_price=200.0)
        assert answer(place, "--modes", "as-is,pixel") == 0
    said = capsys.readouterr().out
    assert re.search(
        r"Together 16 requests and at most [\d,]+ tokens sent and \$[\d.]+: 2\.\d\d times asking as is once",
        said,
    )
    assert "all questions: as-is 62.5, pixel 75.0 of 8; difference +12.5" in said
    assert (
        "reason_seg: as-is 66.7, pixel 100.0 of 3; difference +33.3" in said
        and "with Holm's correction 1" in said
    )
    assert re.search(r"pixel: 8 asked now, [\d,]+ tokens sent, [\d,]+ received, \$", said)
    table = {
        record.values["over"]: record.values
        for record in read_records(place / "o-as-is-against-pixel.csv")
    }
    assert list(table) == [
        "all questions",
        "questions asked otherwise",
        "reason_seg",
        "referring_detection",
        "instance_captioning",
    ]
    assert (
        table["reason_seg"]["other only"],
        table["reason_seg"]["p"],
        table["reason_seg"]["holm"],
    ) == (
        "1",
        "1.0",
        "1.0",
    )
    assert (
        "<svg" in (place / "o-as-is-against-pixel.svg").read_text() and (place / "o.tsv").exists()
    )
    spent = [record.values for record in read_records(place / "o-as-is-against-pixel-spent.csv")]
    assert [row["mode"] for row in spent] == ["as-is", "pixel"] and float(
        str(spent[0]["dollars"])
    ) > 0


def test_all_twelve_modes_of_a_long_name_are_compared_and_leave_no_lock(place, capsys):
    with serve(lambda *_: "A") as server:
        catalogue(place, server, images=2)
        stem = "o" * (255 - len("-as-is-against-11-others-spent.csv"))
        words = ("--modes", ",".join(MODES), "--out", str(place / f"{stem}o.tsv"))
        assert answer(place, *words) == 2 and server.counts.calls == 0
        assert (
            "is too long for the files written with it. Shorten --out by 1 byte or more"
            in capsys.readouterr().err
        )
        assert answer(place, *words[:-1], str(place / f"{stem}.tsv")) == 0
    names = {path.name for path in place.glob("o*")}
    compared = {f"{stem}-as-is-against-11-others{end}" for end in (".csv", ".svg", "-spent.csv")}
    assert names == compared | {f"{stem}-{mode}.tsv" for mode in MODES[1:]} | {f"{stem}.tsv"}


def test_a_run_in_modes_that_failed_goes_on_and_asks_nothing_twice(place, capsys):
    with serve(lambda *_: "A") as server:
        catalogue(place, server, images=1)
        assert answer(place, "--modes", "as-is,one-image") == 2
        assert "no answer to 5" in capsys.readouterr().out and server.counts.calls == 7
        catalogue(place, server, images=2)
        assert answer(place, "--modes", "as-is,one-image") == 0
        assert server.counts.calls == 7 + 1 + 8
    assert list(place.glob("*.part")) == []
    assert (
        answer(place, "--modes", "as-is,one-image") == 2
        and "already exists" in capsys.readouterr().err
    )


def test_another_mode_does_not_go_on_with_a_file_of_answers(place, capsys):
    with serve(lambda *_: "A") as server:
        catalogue(place, server, images=1)
        assert answer(place, "--mode", "normalised-1000") == 2
        (place / "o-normalised-1000.tsv.part").rename(place / "o-pixel.tsv.part")
        assert answer(place, "--mode", "pixel") == 2
    assert "answers from another run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--modes", "pixels"), "Use one or more of as-is, multi-inline"),
        (("--modes", "pixel,pixel"), "each once"),
        (("--modes", "pixel,"), "Use one or more"),
        (("--mode", "pixel", "--early-stop"), "--early-stop is only for mmbench"),
    ],
)
def test_wrong_modes_are_told(place, capsys, words, said):
    with serve() as server:
        catalogue(place, server)
        assert answer(place, *words) == 2 and server.counts.calls == 0
    assert said in capsys.readouterr().err


def test_modes_are_those_of_mmt_bench(place, capsys):
    words = (
        "mmbench",
        "--model",
        "X",
        "--questions",
        "q.tsv",
        "--out",
        str(place / "o.tsv"),
        "--mode",
        "pixel",
    )
    assert scoring.__main__.main(["answer", *words]) == 2
    assert (
        "--modes is only for mmt-bench, and this is mmbench. Leave it out."
        in capsys.readouterr().err
    )


def test_a_file_of_several_modes_is_told(place):
    with serve(lambda *_: "A") as server:
        catalogue(place, server)
        assert answer(place, "--modes", "pixel,blind") == 0
    lines = [(place / f"o-{mode}.tsv").read_text().splitlines() for mode in ("pixel", "blind")]
    (place / "both.tsv").write_text("\n".join([*lines[0][:3], *lines[1][-2:]]) + "\n")
    (problem,) = [
        one
        for one in read_choices(read_records(place / "both.tsv")).problems
        if "mode" in one.text and one.blocks == "scoring"
    ]
    assert (
        problem.text
        == f"The file has answers in several modes: blind ({DRAWN_BY}), pixel. Split the file."
    )
