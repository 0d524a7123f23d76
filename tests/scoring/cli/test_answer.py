"""Offline runs: a model answers the bank's items or a benchmark's questions, and a run that was killed goes on."""

import asyncio
import base64
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sqlalchemy import select

import arena.__main__
import scoring.__main__
from arena.database import Database
from arena.inference.offline import (
    AnswerFile,
    AnswerFileError,
    RunResult,
    Task,
    TaskError,
    ask_all,
)
from arena.inference.openai_model import ApiVLM
from arena.io.fetch import FetchError
from arena.io.tables import Record, RowsError, read_records
from arena.items.importers import PREDICTION
from arena.items.ingest import Ingest
from arena.items.store import ANSWER, ItemBank
from arena.types import ModelCard, Turn, Usage, pass_over
from scoring.benchmarks.mm_vet_questions import load_mm_vet
from scoring.benchmarks.offline_answers import cell_images, offline_choices, without_images
from scoring.benchmarks.predictions import read_predictions
from scoring.judges.spec import prompt_text
from scoring.multiple_choice.circular_eval import rotation_problems, rotations
from scoring.multiple_choice.reader import read_choices
from scoring.multiple_choice.types import PASS, ChoiceQuestion
from scoring.visit_bench.offline_answers import offline_visit_bench
from tests.support.commands import run
from tests.support.forked_script import run_script, started
from tests.support.offline_answers import asked, catalogue, images, serve
from tests.support.openai_server import Body, Fault, Faults, OpenAIServer
from tests.support.servers import drafts
from tests.support.tiny_vlm import build

ROOT = Path(__file__).parents[3]


def picture(color: str = "red") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (6, 4), color).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A data folder with settings of its own."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("MODELS", str(tmp_path / "models.toml"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "models.toml").write_text("", "utf-8")
    return tmp_path


# The item bank


def fill_bank(place: Path, items: int, several: int = 1) -> None:
    folder = place / "data" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    database = Database(f"sqlite:///{place / 'data' / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts(items, models=("m1",), images=several))
    database.close()
    for number in range(items):
        (folder / f"{number:064x}.png").write_bytes(picture())
        (folder / f"{number:064x}.thumb.jpg").write_bytes(picture())


def bank_answers(place: Path, model: str) -> dict[str, str]:
    """Return a model's answers by instruction."""
    database = Database(f"sqlite:///{place / 'data' / 'arena.db'}")
    bank = ItemBank(database)
    number = [known.name for known in bank.models()].index(model) + 1
    found = {
        item.instruction: bank.shown_answers([contestant.answer])[0].text
        for item in bank.bank().items.values()
        for contestant in item.contestants
        if contestant.model == number
    }
    database.close()
    return found


def raw(content: str, finish: str) -> bytes:
    """Return a whole HTTP answer that streams this content."""
    event = {"choices": [{"delta": {"content": content}, "finish_reason": finish}]}
    body = f"data: {json.dumps(event)}\n\n".encode()
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_no_empty_answer_is_kept_and_what_thinks_or_is_cut_is_marked(place):
    fill_bank(place, 3)
    with serve() as server:
        catalogue(place, server, at_once=1)
        server.answers = [
            raw("<think>I see it.</think>Red.", "stop"),
            raw("<think>I see", "length"),
            raw("It is r", "length"),
        ]
        done = run("arena", "answer", "--model", "Model X")
    assert "2 new answers" in done.out and "1 cut off at the length limit" in done.out
    assert done.code != 0 and "Raise max_tokens" in done.out + done.err
    database = Database(f"sqlite:///{place / 'data' / 'arena.db'}")
    with database.read() as connection:
        query = select(ANSWER.c.text, ANSWER.c.thinking, ANSWER.c.cut)
        rows = connection.execute(query.where(ANSWER.c.text.not_like("m1 says%"))).all()
    database.close()
    assert sorted(map(tuple, rows)) == [("It is r", None, True), ("Red.", "I see it.", False)]


def test_a_run_that_is_killed_goes_on_and_asks_each_once(place):
    fill_bank(place, 80)
    with serve(latency=0.05) as server:
        catalogue(place, server, at_once=4)
        first = started("arena", "answer", "--model", "Model X")
        end = time.monotonic() + 60
        while server.counts.calls < 30 and time.monotonic() < end:
            time.sleep(0.005)
        first.kill()
        first.join()
        (kept,) = (place / "data" / "answers").glob("*.jsonl")
        answered = {json.loads(line)[0] for line in kept.read_bytes().split(b"\n")[1:-1]}
        assert 20 < len(answered) < 80
        done, again = (run("arena", "answer", "--model", "Model X") for _ in "12")
        times = Counter(asked(body) for body in server.counts.bodies)
    assert done.code == 0 and "80 new answers from Model X" in done.out, done.err
    assert again.code == 0 and "0 new answers from Model X. 80 were already there." in again.out
    assert len(times) == 80 and sum(times.values()) - 80 <= 4, (
        "only calls under way at the kill are asked again"
    )
    assert sum(count == 1 for count in times.values()) >= len(answered)
    assert bank_answers(place, "Model X") == {name: f"On: {name}" for name in times}
    assert not list((place / "data" / "answers").glob("*.jsonl"))


@pytest.mark.soak
def test_a_local_model_answers_items_of_one_and_of_several_images_in_batches(place, capsys):
    fill_bank(place, 5, several=2)
    folder = build(place / "tiny")
    card = f'name = "Tiny"\nkind = "local"\nfolder = "{folder}"\nimages = 2\nmax_tokens = 8'
    card += "\ntemperature = 0\nat_once = 2"
    (place / "models.toml").write_text(f"[[models]]\n{card}\n")
    assert arena.__main__.main(["answer", "--model", "Tiny"]) == 0
    said = capsys.readouterr().out
    assert "5 new answers from Tiny" in said and "40 received" in said
    assert len(bank_answers(place, "Tiny")) == 5 and all(bank_answers(place, "Tiny").values())


def test_items_without_kept_images_wait_and_are_told(place, capsys):
    fill_bank(place, 3)
    (place / "data" / "pictures" / f"{1:064x}.png").unlink()
    with serve() as server:
        catalogue(place, server)
        assert arena.__main__.main(["answer", "--model", "Model X"]) == 0
    said = capsys.readouterr().out
    assert "2 new answers" in said and "1 items are waiting for their images" in said


def test_an_unknown_card_is_told(place, capsys):
    with serve() as server:
        catalogue(place, server)
        assert arena.__main__.main(["answer", "--model", "Nobody"]) == 2
    assert "There is no model named 'Nobody'. Models: 'Model X'" in capsys.readouterr().err


# Failures


def broken(*kinds: Fault, rate: float = 1.0, in_a_row: int = 1000) -> Faults:
    return Faults(rate=rate, kinds=kinds, in_a_row=in_a_row)


def test_failures_are_reported_and_asked_again_by_the_same_command(place, capsys):
    fill_bank(place, 20)
    with serve(faults=broken("400", rate=0.3, in_a_row=1)) as server:
        catalogue(place, server, at_once=2)
        assert arena.__main__.main(["answer", "--model", "Model X"]) == 2
        first = capsys.readouterr()
        failed = server.counts.faults["400"]
        assert 0 < failed < 20 and f"{20 - failed} new answers" in first.out
        assert first.out.count("refuses this prompt") == failed
        assert (
            f"Questions without an answer: {failed}." in first.err
            and "same command again" in first.err
        )
        assert "Later questions" not in first.err
        while arena.__main__.main(["answer", "--model", "Model X"]) == 2:
            assert server.counts.calls < 60
    assert len(bank_answers(place, "Model X")) == 20


def test_questions_that_were_sent_and_lost_cost_their_prompts(place, capsys):
    fill_bank(place, 1)
    with serve(faults=broken("reset")) as server:
        catalogue(place, server, prompt_price=1000.0, completion_price=1.0, image_tokens=1000)
        assert arena.__main__.main(["answer", "--model", "Model X"]) == 2
        assert server.counts.calls == 3
    said = re.search(
        r"0 answered: ([\d,]+) tokens sent, 0 received, \$([\d.]+)\.", capsys.readouterr().out
    )
    assert said is not None
    tokens = int(said[1].replace(",", ""))
    assert tokens > 3000 and float(said[2]) == pytest.approx(tokens / 1000, abs=0.001)


@pytest.mark.parametrize(("fault", "most"), [("401", 7), ("spent", 2)])
def test_where_one_fails_after_the_other_no_more_is_asked(place, capsys, fault, most):
    fill_bank(place, 50)
    with serve(faults=broken(fault)) as server:
        catalogue(place, server, at_once=2)
        assert arena.__main__.main(["answer", "--model", "Model X"]) == 2
    said = capsys.readouterr()
    assert "Stopped" in said.err and server.counts.calls <= most + 2
    assert "Later questions weren't asked." in said.err


def test_what_breaks_in_the_midst_of_a_run_is_raised_as_it_is(place):
    def tasks(_):
        yield Task("1", lambda: [Turn("user", "One?")])
        raise OSError(28, "No space left on device")

    async def run(server: OpenAIServer) -> None:
        vlm = ApiVLM(ModelCard("X", "api", "test-vlm", server.address))
        with AnswerFile(place / "kept", "run") as file:
            await ask_all(vlm, [tasks], file, lambda _: None)

    with serve() as server, pytest.raises(OSError, match="No space left"):
        asyncio.run(run(server))


def test_an_answer_is_cut_only_if_its_last_attempt_was(place):
    class SecondAttempt:
        card = ModelCard("X", "api", "test-vlm")

        async def answers(self, conversations, settings, note=pass_over):
            note(Usage(10, 20, 0, cut=True))
            note(Usage(10, 5, 0))
            return tuple("Whole." for _ in conversations)

    async def run() -> RunResult:
        with AnswerFile(place / "kept", "run") as file:
            tasks = [Task("1", lambda: [Turn("user", "One?")])]
            return await ask_all(SecondAttempt(), [lambda _: tasks], file, lambda _: None)

    result = asyncio.run(run())
    assert (result.answered, result.prompt, result.cut) == (1, 20, 0)


def test_a_name_that_is_another_model_s_is_told_before_anything_is_asked(place, capsys):
    fill_bank(place, 2)
    assert arena.__main__.main(["models", "rename", "m1", "Model X"]) == 0
    with serve() as server:
        catalogue(place, server)
        assert arena.__main__.main(["answer", "--model", "Model X"]) == 2
        assert server.counts.calls == 0
    assert "already taken by the model 'm1'" in capsys.readouterr().err


@pytest.mark.soak
def test_a_run_that_is_interrupted_says_how_to_go_on(place):
    fill_bank(place, 50)
    with serve(latency=0.2) as server:
        catalogue(place, server, at_once=2)
        command = [sys.executable, "-m", "arena", "answer", "--model", "Model X"]
        # a run in the background may ignore it
        heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        run = subprocess.Popen(
            command, cwd=ROOT, stderr=subprocess.PIPE, text=True, preexec_fn=heard
        )
        end = time.monotonic() + 60
        while server.counts.calls < 5 and time.monotonic() < end:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
    assert (
        run.returncode == 2
        and "Stopped. The answers so far are kept" in said
        and "Traceback" not in said
    )


# Benchmarks


def score(*words: str) -> int:
    return scoring.__main__.main(["answer", *words])


def mm_vet_folder(place: Path) -> Path:
    folder = place / "mm-vet"
    (folder / "images").mkdir(parents=True)
    entries = {}
    for number in range(3):
        (folder / "images" / f"v1_{number}.png").write_bytes(picture())
        entries[f"v1_{number}"] = {
            "imagename": f"v1_{number}.png",
            "question": f"Question {number}?",
            "answer": "red",
            "capability": ["rec"],
        }
    (folder / "mm-vet.json").write_text(json.dumps(entries))
    return folder


def test_mm_vet_becomes_the_official_json(place, capsys):
    folder, out = mm_vet_folder(place), place / "out.json"
    words = ("mm-vet", "--model", "Model X", "--questions", str(folder), "--out", str(out))
    with serve() as server:
        catalogue(place, server, prompt_price=1.0, completion_price=2.0)
        assert score(*words) == 0
        assert {asked(body) for body in server.counts.bodies} == {
            f"Question {number}?" for number in range(3)
        }
        assert all(images(body) == 1 for body in server.counts.bodies)
        said = capsys.readouterr().out
        assert f"3 answers of Model X are in {out}." in said
        assert "3 answered: 30 tokens sent, 9 received, $0.0000" in said
        assert score(*words) == 2 and "already exists" in capsys.readouterr().err, (
            "nothing is asked twice"
        )
        assert server.counts.calls == 3
    assert json.loads(out.read_text()) == {
        f"v1_{number}": f"On: Question {number}?" for number in range(3)
    }
    assert len(read_predictions(out, load_mm_vet(folder)).predictions) == 3
    assert [path.name for path in place.glob("*.part")] == []


def test_the_prompt_of_gpt_4v_is_said_before_each_question_and_by_the_report(place, capsys):
    folder, out = mm_vet_folder(place), place / "out.json"
    words = ("mm-vet", "--model", "Model X", "--questions", str(folder), "--out", str(out))
    prompt = prompt_text("mm_vet_gpt_4v.txt")
    with serve(faults=broken("400", rate=0.5)) as server:
        catalogue(place, server)
        assert score(*words, "--prompt-prefix", "gpt-4v") == 2
        capsys.readouterr()
        assert score(*words) == 2, "without it, it is another run"
        assert "answers from another run" in capsys.readouterr().err
        server.faults = Faults()
        assert score(*words, "--prompt-prefix", "gpt-4v") == 0
        texts = {asked(body) for body in server.counts.bodies}
    assert texts == {f"{prompt}\nQuestion {number}?" for number in range(3)}
    assert f"Before each question the model read “{prompt}”." in capsys.readouterr().out
    upload = read_predictions(out, load_mm_vet(folder))
    assert (upload.title, upload.asked, len(upload.predictions)) == ("Model X", prompt, 3)
    rows = json.loads(out.read_text())
    rows[0]["prompt_prefix"] = ""
    out.write_text(json.dumps(rows))
    with pytest.raises(RowsError, match="The rows have 2 different texts"):
        read_predictions(out, load_mm_vet(folder))


CHOICES = [
    {"index": 1, "question": "Which colour?", "A": "red", "B": "green", "C": "blue", "answer": "B"},
    {"index": 2, "question": "How many?", "A": "one", "B": "two", "C": "", "answer": "A"},
]


def tsv(path: Path, rows: list[dict[str, object]], image: object = None) -> Path:
    encoded = base64.b64encode(picture()).decode()
    full = [
        {"image": image or encoded, "category": "image_style", "split": "dev", **row}
        for row in rows
    ]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(full[0]), delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(full)
    return path


def pick(text: str):
    """Return what answers with the letter of the option of this text."""

    def answer(body: Body, _: int) -> str:
        lines = [line for line in asked(body).split("\n") if line.endswith(f". {text}")]
        return lines[0][0] if lines else "A"

    return answer


def test_mmbench_gets_its_circular_passes_and_its_own_layout(place):
    file, out = tsv(place / "mmbench.tsv", CHOICES), place / "out.tsv"
    with serve(pick("green")) as server:
        catalogue(place, server)
        assert (
            score("mmbench", "--model", "Model X", "--questions", str(file), "--out", str(out)) == 0
        )
        assert server.counts.calls == 5 and all(images(body) == 1 for body in server.counts.bodies)
        assert any(
            asked(body).startswith("Which colour?\nA. red\nB. green\nC. blue\n")
            for body in server.counts.bodies
        )
    found = read_choices(read_records(out))
    assert not found.problems and [row.question.index for row in found.rows] == [
        1,
        2,
        PASS + 1,
        PASS + 2,
        2 * PASS + 1,
    ]
    assert not rotation_problems([row.question for row in found.rows])
    by_index = {row.question.index: row for row in found.rows}
    assert all(
        by_index[index].prediction == by_index[index].question.answer
        for index in (1, PASS + 1, 2 * PASS + 1)
    )
    assert (
        by_index[PASS + 2].question.options == {"A": "two", "B": "one"}
        and by_index[PASS + 2].question.answer == "B"
    )


def test_early_stop_asks_no_pass_after_a_wrong_one(place):
    file, out = tsv(place / "mmbench.tsv", CHOICES), place / "out.tsv"
    with serve(
        lambda body, _: "A"
    ) as server:  # "one" is right at first, and wrong when it has moved on
        catalogue(place, server)
        words = (
            "mmbench",
            "--model",
            "Model X",
            "--questions",
            str(file),
            "--out",
            str(out),
            "--early-stop",
        )
        assert score(*words) == 0
        assert server.counts.calls == 3
    assert [row.question.index for row in read_choices(read_records(out)).rows] == [1, 2, PASS + 2]


def test_early_stop_needs_answers_and_circular_passes(place, capsys):
    file = tsv(place / "test.tsv", [{**row, "answer": ""} for row in CHOICES])
    with serve() as server:
        catalogue(place, server)
        for benchmark in ("mmbench", "mmt-bench"):
            words = (
                benchmark,
                "--model",
                "Model X",
                "--questions",
                str(file),
                "--out",
                str(place / "out.tsv"),
            )
            assert score(*words, "--early-stop") == 2
        assert server.counts.calls == 0
    said = capsys.readouterr().err
    assert "doesn't have all right answers" in said and "--early-stop is only for mmbench" in said


def test_passes_in_the_file_are_taken_as_they_are_and_images_by_reference(place):
    moved = {
        **CHOICES[0],
        "index": PASS + 1,
        "A": "blue",
        "B": "red",
        "C": "green",
        "answer": "C",
        "image": "1",
    }
    file, out = tsv(place / "mmbench.tsv", [moved, CHOICES[0]]), place / "out.tsv"
    with serve() as server:
        catalogue(place, server)
        assert (
            score("mmbench", "--model", "Model X", "--questions", str(file), "--out", str(out)) == 0
        )
        sent = {
            body["messages"][-1]["content"][0]["image_url"]["url"] for body in server.counts.bodies
        }
        assert server.counts.calls == 2 and len(sent) == 1


def test_an_image_may_be_that_of_question_0_as_a_number():
    references: dict[int, str] = {}
    records = [Record(1, {"index": 0, "image": "aGVsbG8=" * 9}), Record(2, {"image": 0})]
    assert len([*without_images(records, references)]) == 2
    assert references == {2: "0"}


def test_mmt_bench_sends_all_images_of_a_list_and_no_passes(place):
    encoded = base64.b64encode(picture()).decode()
    file = tsv(place / "mmt.tsv", CHOICES, image=str([encoded, encoded, encoded]))
    with serve() as server:
        catalogue(place, server)
        assert (
            score(
                "mmt-bench",
                "--model",
                "Model X",
                "--questions",
                str(file),
                "--out",
                str(place / "o.tsv"),
            )
            == 0
        )
        assert [images(body) for body in server.counts.bodies] == [3, 3]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("data:image/png;base64,aGVsbG8=", "isn't base64"),
        ("a-b_", "isn't base64"),
        ("", "is empty"),
    ],
)
def test_an_image_of_a_list_that_cannot_be_read_is_not_left_out(second, words):
    assert cell_images(str(["aGVsbG8=", "aGVs bG8="])) == [b"hello", b"hello"]
    with pytest.raises(TaskError, match=words):
        cell_images(str(["aGVsbG8=", second]))


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (
            "no base64 at all, but a text of more than sixty-four characters, as is seen",
            "isn't base64",
        ),
        ("77", "isn't base64"),
    ],
)
def test_a_broken_image_cell_fails_its_question_alone(place, capsys, image, words):
    file = tsv(place / "mmt.tsv", [CHOICES[0], {**CHOICES[1], "image": image}])
    with serve() as server:
        catalogue(place, server)
        assert (
            score(
                "mmt-bench",
                "--model",
                "Model X",
                "--questions",
                str(file),
                "--out",
                str(place / "o.tsv"),
            )
            == 2
        )
        assert server.counts.calls == 1
    said = capsys.readouterr()
    assert (
        "no answer to 2:" in said.out
        and words in said.out
        and "Questions without an answer: 1." in said.err
    )
    assert (place / "o.tsv.part").exists() and len(list(read_records(place / "o.tsv"))) == 1


def visit_csv(path: Path) -> Path:
    rows = [
        ["What is it?", "Animals", '["https://images.example.org/a%201.png"]'],
        [
            "Compare, please.",
            "rcc",
            json.dumps([f"https://images.example.org/{n}.png" for n in "bc"]),
        ],
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["instruction", "instruction_category", "images"], *rows])
    return path


def test_visit_bench_becomes_a_submission_with_the_model_s_name(place):
    file, out, folder = visit_csv(place / "visit.csv"), place / "predictions.csv", place / "images"
    folder.mkdir()
    for name in ("a 1.png", "b.png", "c.png"):
        (folder / name).write_bytes(picture())
    with serve() as server:
        catalogue(place, server)
        words = (
            "visit-bench",
            "--model",
            "Model X",
            "--questions",
            str(file),
            "--images",
            str(folder),
        )
        assert score(*words, "--out", str(out)) == 0
        assert {asked(body): images(body) for body in server.counts.bodies} == {
            "What is it?": 1,
            "Compare, please.": 2,
        }
    written = [record.values for record in read_records(out)]
    assert list(written[0]) == [
        "instruction",
        "instruction_category",
        "images",
        f"Model X{PREDICTION}",
    ]
    assert [row[f"Model X{PREDICTION}"] for row in written] == [
        "On: What is it?",
        "On: Compare, please.",
    ]
    assert [row["images"] for row in written] == [
        record.values["images"] for record in read_records(file)
    ]


def test_images_of_visit_bench_are_fetched_or_told(place):
    def fetched(url: str) -> bytes:
        if url.endswith("c.png"):
            raise FetchError("not found")
        return picture()

    first, second = offline_visit_bench(visit_csv(place / "visit.csv"), fetch_image=fetched).rounds[
        0
    ]({})
    assert len(first.load()[0].images) == 1
    with pytest.raises(ValueError, match="not found. Give a folder with --images"):
        second.load()


def test_a_sign_that_an_address_would_end_at_is_part_of_an_image_s_file_name(place):
    (place / "cat #1?.png").write_bytes(picture())
    (place / "visit.csv").write_text("instruction,images\nWhat is it?,cat #1?.png\n")
    (task,) = offline_visit_bench(place / "visit.csv", place).rounds[0]({})
    assert len(task.load()[0].images) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("mmbench", "--out", "x.xlsx", "--questions", "q.tsv"),
            "doesn't end in .tsv, as predictions for mmbench do",
        ),
        (
            ("mmt-bench", "--out", "x.tsv"),
            "mmt-bench needs its question file. Add --questions FILE.",
        ),
        (("mmbnch", "--out", "x.tsv"), "'mmbnch' isn't a benchmark here."),
        (("mm-vet", "--out", "x.json"), "MM_VET_PATH"),
        (("mmbench", "--out", "x.tsv", "--prompt-prefix", "gpt-4v"), "is only for mm-vet"),
        (("mmbench", "--out", "x.tsv", "--images", "here"), "--images is only for visit-bench"),
        (("mmbench", "--out", "x.tsv", "--questions", "nowhere.tsv"), "nowhere.tsv"),
    ],
)
def test_wrong_words_are_told(place, capsys, monkeypatch, words, said):
    monkeypatch.chdir(place)
    with serve() as server:
        catalogue(place, server)
        assert score(*words, "--model", "Model X") == 2
    assert said in capsys.readouterr().err


def test_other_questions_do_not_go_on_with_a_file_of_answers(place, capsys):
    file, out = tsv(place / "mmbench.tsv", CHOICES), place / "out.tsv"
    words = ("mmbench", "--model", "Model X", "--questions", str(file), "--out", str(out))
    with serve(faults=broken("400", rate=0.5)) as server:
        catalogue(place, server)
        assert score(*words) == 2
    tsv(file, [{**CHOICES[0], "question": "Another?"}])
    assert score(*words) == 2
    assert "answers from another run" in capsys.readouterr().err


@settings(deadline=None)
@given(st.integers(2, 9), st.data())
def test_rotations_are_the_passes_that_the_checker_takes(size, data):
    letters = "ABCDEFGHI"[:size]
    answer = data.draw(st.sampled_from([*letters, None]))
    base = ChoiceQuestion(
        7, "?", {letter: f"text {letter}" for letter in letters}, answer, "", "", "dev"
    )
    passes = (base, *rotations(base))
    assert [question.index for question in passes] == [7 + number * PASS for number in range(size)]
    assert not rotation_problems(passes)
    assert {question.options["A"] for question in passes} == set(base.options.values())


# The file of answers


def test_a_place_that_cannot_be_opened_is_told_and_stays_free(tmp_path):
    for _ in range(2):
        with pytest.raises(AnswerFileError, match="can't be opened: Is a directory"):
            AnswerFile(tmp_path, "run").__enter__()


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(AnswerFileError, match="can't be opened: "):
        AnswerFile(tmp_path / "file" / "kept", "run").__enter__()


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.text(min_size=1), st.text()), st.integers(0, 30))
def test_answers_come_back_however_the_last_line_was_cut(tmp_path_factory, answers, cut):
    path = tmp_path_factory.mktemp("answers") / "kept.jsonl"
    with AnswerFile(path, "run") as file:
        for key, text in answers.items():
            file.keep(key, text)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - min(cut, len(whole))])
    with AnswerFile(path, "run") as file:
        assert file.answers.items() <= answers.items()
        missing = {key: text for key, text in answers.items() if key not in file.answers}
        for key, text in missing.items():
            file.keep(key, text)
    with AnswerFile(path, "run") as file:
        assert file.answers == answers


def test_a_file_of_one_blank_line_begins_anew(tmp_path):
    path = tmp_path / "kept.jsonl"
    path.write_bytes(b"\n")
    with AnswerFile(path, "run") as file:
        file.keep("key", "text")
    with AnswerFile(path, "run") as file:
        assert file.answers == {"key": "text"}


SECOND_WRITER = """
import sys
from pathlib import Path
from arena.inference.offline import AnswerFile, AnswerFileError
try:
    AnswerFile(Path(sys.argv[1]), "run").__enter__()
except AnswerFileError as error:
    print(error)
"""


def test_a_file_of_answers_has_one_writer_and_one_run(tmp_path):
    path = tmp_path / "kept.jsonl"
    with AnswerFile(path, "run"):
        assert "another run. Wait until it ends" in run_script(SECOND_WRITER, path)
    with pytest.raises(AnswerFileError, match="another run"), AnswerFile(path, "other"):
        pass
    path.write_text('{"run": "run"}\n[1]\n')
    with pytest.raises(AnswerFileError, match="broken"), AnswerFile(path, "run"):
        pass


@pytest.mark.soak
def test_offline_questions_of_a_big_file_hold_no_images(place):
    big = base64.b64encode(os.urandom(300_000)).decode()
    rows = [{**CHOICES[0], "index": number} for number in range(60)]
    file = tsv(place / "big.tsv", rows, image=big)
    tracemalloc.start()
    benchmark = offline_choices(file, circular=True)
    keys = [task.key for task in benchmark.rounds[0]({})]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(keys) == 180 and peak < 10_000_000, (
        f"{peak:,} bytes for a file of {file.stat().st_size:,}"
    )


# Specs


def test_a_spec_is_asked_in_its_words_and_its_answers_are_scored(place):
    spec = (
        "name: Zoo\nabout: Animals.\ncolumns: {id: case, truth: key, answer: reply}\nrule: letter\n"
    )
    (place / "zoo.yaml").write_text(f"{spec}ask: '{{options}} {{question}} {{{{'\n")
    encoded = base64.b64encode(picture()).decode()
    asked_about = {"question": "Which {options}?", "A": "a dog", "B": "a cat", "key": "A"}
    rows = [
        {"case": "c1", **asked_about, "image": encoded},
        {"case": "c2", **asked_about, "image": "c1"},
    ]
    file = place / "zoo.json"
    file.write_text(json.dumps(rows, indent=1))
    words = ("--model", "Model X", "--questions", str(file), "--out")
    with serve(lambda body, sample: "A") as server:
        catalogue(place, server)
        assert score(str(place / "zoo.yaml"), *words, str(place / "out.tsv")) == 0
        said = [(asked(body), images(body)) for body in server.counts.bodies]
        assert said == [("A. a dog\nB. a cat Which {options}? {{", 1)] * 2
    checked = run("scoring", "check", str(place / "zoo.yaml"), str(place / "out.tsv"))
    assert "strict: Overall 100.0 (n 2)" in checked.out, checked.err
    (place / "zoo.yaml").write_text(spec)
    with serve(lambda body, sample: "B") as server:
        catalogue(place, server)
        assert score(str(place / "zoo.yaml"), *words, str(place / "plain.tsv")) == 0
        assert asked(server.counts.bodies[0]).startswith("Which {options}?\nA. a dog\nB. a cat\n")
    assert score("zoology", *words, str(place / "x.tsv")) == 2
