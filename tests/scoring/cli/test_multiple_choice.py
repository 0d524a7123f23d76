"""`python -m scoring score` by rules: golden files, files that people hold, a judge for what rules leave."""

import csv
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from scoring.benchmarks.mmt_bench import subtasks
from scoring.multiple_choice.types import LETTERS
from tests.support import choice_tables
from tests.support.choice_tables import COLUMNS, GOLDEN, row, table_file
from tests.support.judge_forms import ask_to_the_end
from tests.support.openai_server import Faults, OpenAIServer
from tests.support.servers import ROOT

command = choice_tables.command


# Golden files: two questions, of which the first is right in all passes

GAP = "Question 2 lacks pass 3, and no other pass is wrong, so it has no score. Add them, or score the file as vanilla."


@pytest.mark.parametrize(
    ("name", "overall", "problems"), [("complete", 0.5, []), ("missing_pass", 1.0, [GAP])]
)
def test_a_circular_file_gets_its_accuracy_and_its_problems(command, name, overall, problems):
    assert command("score", "--benchmark=mmbench", GOLDEN / f"{name}.tsv", "--no-judge").code == 0
    assert command.overall() == overall
    partial, *others = [line["problem"] for line in command.table("-problems.csv")]
    assert (
        partial.startswith("No answer to 1,162 of the 1,164 questions in MMBench dev")
        and others == problems
    )


def test_a_file_that_cannot_be_scored_is_refused_and_nothing_is_written(command):
    code, _, complaint = command(
        "score", "--benchmark=mmbench", GOLDEN / "double_row.tsv", "--no-judge"
    )
    assert (
        code == 2
        and complaint == "double_row.tsv, rows 6, 10: 2 rows have the index 2. Keep one of them.\n"
    )
    assert not command.out.exists()


def test_a_file_with_a_long_chinese_name_gets_its_results(command, tmp_path):
    file = tmp_path / f"{'模' * 83}.tsv"
    file.write_bytes((GOLDEN / "undecidable.tsv").read_bytes())
    code, _, complaint = command("score", "--benchmark=mmbench", file, "--no-judge")
    assert code == 0, complaint
    assert all(path.name.startswith("partial_" + "模" * 33) for path in command.out.iterdir())


@pytest.mark.parametrize(
    ("name", "row"), [("a.csv", "{0},dog,cat,B,B"), ("a.jsonl", '{{"index": {0}}}')]
)
def test_a_file_with_too_many_rows_is_refused_before_it_is_read(command, tmp_path, name, row):
    """No later row is looked at: the last one is broken."""
    lines = ["index,A,B,answer,prediction"] if name == "a.csv" else []
    lines += [row.format(number) for number in range(250_001)]
    (tmp_path / name).write_text("\n".join([*lines, '"never closed']) + "\n")
    code, _, complaint = command("score", "--benchmark=mmbench", tmp_path / name, "--no-judge")
    place = f"{name}, row {len(lines)}"
    assert (code, complaint.strip()) == (
        2,
        f"{place}: The file has over 250,000 records. Split it.",
    )


def test_letters_steps_and_differences_are_in_files_and_told(command, tmp_path):
    file = table_file(
        tmp_path / "m.tsv", [row(1, "B"), row(2, "A cat"), row(3, "Hard to put in words.")]
    )
    code, said, _ = command("score", "--benchmark=mmbench", file, "--no-judge")
    assert code == 0 and "B               2  100.0%      3  100.0%" in said
    letters = {
        line["letter"]: (line["predicted"], line["right"]) for line in command.table("-letters.csv")
    }
    assert letters["B"] == ("2", "3")
    steps = {line["step"]: line["answers"] for line in command.table("-steps.csv")}
    assert steps == {"letter": "1", "content": "1", "undecided": "1"}
    (difference,) = command.table("-differences.csv")
    assert (difference["index"], difference["strict"], difference["mmt-paper"]) == ("2", "B", "A")
    assert difference["strict: trail"] and difference["mmt-paper: trail"]


# VQA: files of answers, and marks

GQA = {
    "1": {"question": "Is it red?", "answer": "no"},
    "2": {"question": "Who?", "answer": "a girl"},
}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "a.json",
            [{"questionId": "1", "prediction": "No."}, {"questionId": "2", "prediction": "boy"}],
        ),
        ("a.json", [{"question_id": 1, "answer": "No."}, {"question_id": 2, "answer": "boy"}]),
        (
            "a.jsonl",
            [
                {"question_id": "1", "text": "No.", "question": "?"},
                {"question_id": "2", "text": "boy"},
            ],
        ),
    ],
)
def test_a_file_of_answers_takes_its_questions_from_the_dataset(command, tmp_path, name, rows):
    lines = json.dumps(rows) if name == "a.json" else "\n".join(map(json.dumps, rows))
    (tmp_path / name).write_text(lines)
    (tmp_path / "questions.json").write_text(json.dumps(GQA))
    options = ("--no-judge", "--benchmark", "gqa", "--questions", tmp_path / "questions.json")
    assert command("score", tmp_path / name, *options)[0] == 0
    assert command.table("-all-figures.csv")[0]["value"] == "50.0"


def test_questions_of_the_dataset_without_an_answer_make_a_file_partial(tmp_path, command):
    (tmp_path / "a.json").write_text(json.dumps([{"questionId": "1", "prediction": "no"}]))
    (tmp_path / "questions.json").write_text(json.dumps(GQA))
    options = ("--no-judge", "--benchmark", "gqa", "--questions", tmp_path / "questions.json")
    code, said, _ = command("score", tmp_path / "a.json", *options)
    assert code == 0 and "No answer to 1 of the 2 questions in the question file. Add id 2." in said
    assert (
        "Partial: a scores 100.0 on GQA" in said
        and (command.out / "partial_a-all-figures.csv").exists()
    )
    (tmp_path / "a.json").write_text(json.dumps([{"questionId": "3", "prediction": "no"}]))
    code, _, complaint = command("score", tmp_path / "a.json", *options)
    assert code == 2 and "Index 3 is not in the question file" in complaint
    (tmp_path / "a.json").write_text(
        json.dumps({id: {**row, "fullAnswer": "No."} for id, row in GQA.items()})
    )
    code, _, complaint = command("score", tmp_path / "a.json", *options)
    assert (
        code == 2
        and "The file has no 'prediction'. It has 'index', 'question', 'answer'" in complaint
    ), "the dataset's own answers score nobody"
    (tmp_path / "a.csv").write_text("question_id,answer\n1.0,no\n2.0,yes\n")
    assert command("score", tmp_path / "a.csv", *options)[0] == 0


def test_textvqa_gets_marks_from_the_judge(command, data, tmp_path):
    with (data / "vlmevalkit" / "vila_8b_TextVQA_VAL.csv").open(
        newline="", encoding="utf-8"
    ) as file:
        rows = list(csv.DictReader(file))
    file = table_file(tmp_path / "vila_8b_TextVQA_VAL.tsv", rows[:100], list(rows[0]))
    with OpenAIServer(lambda body, sample: "4" if "Dakota" in str(body) else "2") as judge:
        words = ("score", file, "--benchmark", "textvqa_marks", "--judge", "test-judge", "--yes")
        words = (*words, "--base-url", judge.address, "--protocol", "mmbench-paper")
        code, said, _ = command(*words)
        assert code == 0 and "100 of 100 answers for the judge" in said and "Mean mark" in said
        (marked,) = command.table("-all-figures.csv")
        _, *items = [json.loads(line) for line in command.text("-audit.jsonl").splitlines()]
        assert (marked["n"], items[0]["marks"], items[0]["replies"]) == ("100", [4.0], ["4"])
        assert float(marked["value"]) == sum(item["marks"][0] for item in items) / 100 > 2.0
        calls = judge.counts.calls
        assert "0 calls to test-judge" in command(*words)[1] and judge.counts.calls <= calls + 7, (
            "it is tried out anew"
        )


# A judge for what rules leave open


def unsure(path: Path) -> Path:
    rows = [row(number, "It could be the cat or the dog.") for number in range(1, 7)]
    return table_file(path, [*rows, row(7, "C"), row(8, "Failed to obtain answer via API.")])


def test_without_a_word_on_the_judge_it_says_what_to_choose(command, tmp_path):
    code, _, complaint = command("score", "--benchmark=mmbench", unsure(tmp_path / "m.tsv"))
    assert code == 2 and "Rules can't read 6 of 8 answers. Choose a judge" in complaint
    assert "--judge MODEL" in complaint and "--no-judge" in complaint and not command.out.exists()
    both = command(
        "score", "--benchmark=mmbench", tmp_path / "m.tsv", "--judge", "test-judge", "--no-judge"
    )
    assert both.code == 2 and "--judge and --no-judge exclude each other" in both.err


def test_rules_that_leave_nothing_open_need_no_word_on_the_judge(command, tmp_path):
    assert command("score", "--benchmark=mmbench", table_file(tmp_path / "m.tsv", [row()]))[0] == 0
    assert command.items()[1]["letter"] == "B"


def test_the_judge_reads_what_rules_leave_open_and_no_more(command, tmp_path):
    file = unsure(tmp_path / "m.tsv")
    with OpenAIServer(lambda body, sample: "A") as judge:
        words = (
            "score",
            "--benchmark=mmbench",
            file,
            "--judge",
            "test-judge",
            "--base-url",
            judge.address,
        )
        assert (
            command(*words, answer="n\n").code == 3
            and judge.counts.calls == 0
            and not command.out.exists()
        )
        code, said, _ = command(*words, "--yes")
        assert code == 0 and "6 of 8 answers for the judge, strict protocol" in said
        asked = [body for body in judge.counts.bodies if "cat or the dog" in str(body)]
    assert len(asked) == 1, "equal calls are made once"
    items = command.items()
    assert {items[index]["rule"] for index in range(1, 7)} == {"judge"}
    assert items[1]["letter"] == "A" and items[1]["replies"] == ["A"] and items[1]["judge"]
    assert (
        items[1]["trail"][0]["rule"] == "no rule"
        and items[7]["letter"] == "C"
        and items[7]["replies"] == []
    )
    assert items[8]["letter"] is None and items[8]["rule"] == "the model's API failed", (
        "nobody is asked what it means"
    )


def test_letters_assigned_at_random_are_told_with_their_seed(command, tmp_path, monkeypatch):
    ask_to_the_end(monkeypatch)
    with OpenAIServer(lambda body, sample: "I am not sure") as judge:
        words = (
            "--protocol",
            "mmbench-paper",
            "--judge",
            "test-judge",
            "--base-url",
            judge.address,
            "--yes",
        )
        code, said, _ = command("score", "--benchmark=mmbench", unsure(tmp_path / "m.tsv"), *words)
    assert code == 5 and "No score: " in said
    assert {item["rule"] for index, item in command.items().items() if index < 7} == {
        "random assignment"
    }


def test_a_failing_judge_is_an_error_to_resume_from_and_never_a_letter(command, tmp_path):
    file = table_file(tmp_path / "m.tsv", [row(1, "Cat or dog? I see a few of them.")])
    with OpenAIServer(
        lambda body, sample: "A", faults=Faults(rate=1.0, kinds=("401",), in_a_row=1000)
    ) as judge:
        words = (
            "score",
            "--benchmark=mmbench",
            file,
            "--judge",
            "test-judge",
            "--base-url",
            judge.address,
            "--yes",
        )
        code, _, complaint = command(*words)
        assert code == 4 and "Run the same command again" in complaint and not command.out.exists()
        judge.faults = Faults()
        assert command(*words)[0] == 0 and command.items()[1]["rule"] == "judge"


# Files as people hold them


def test_rows_that_people_hold(command, tmp_path):
    rows = [
        row("1.0", "B"),
        row("2.0", "B", answer="E"),
        row("3", "B", D="nan"),
        row("1e3", "2", A="1", B="2", C="3", D="4"),
        row("5", "cat", split="test", answer=""),
        row(
            "6",
            'The answer is "cat",\nand nothing\telse.',
            category="an_ability_of_mine",
            **{"l2-category": ""},
        ),
    ]
    code, said, _ = command("score", "--benchmark=mmbench", table_file(tmp_path / "m.tsv", rows))
    assert code == 0
    problems = {line["index"]: line["problem"] for line in command.table("-problems.csv")}
    assert "The answer 'E' isn't one of the options" in problems["2"]
    whole = " ".join(
        line["problem"] for line in command.table("-problems.csv") if not line["index"]
    )
    assert (
        "the splits dev, test" in whole
        and "'an_ability_of_mine' is no ability" in whole
        and '"nan"' in whole
    )
    assert all(problem in said for problem in problems.values())
    items = command.items()
    assert {index: item["letter"] for index, item in items.items()} == dict.fromkeys(
        (1, 2, 3, 1000, 5, 6), "B"
    )
    assert items[2]["right"] is None and items[5]["right"] is None
    submitted = list(
        csv.DictReader(command.text("_submission.tsv").splitlines(keepends=True), delimiter="\t")
    )
    assert [(line["index"], line["opt"]) for line in submitted] == [("5", "B")]
    assert "2 answers without a right letter" in said


def test_predictions_alone_take_the_benchmarks_own_questions(command, tmp_path):
    questions = table_file(tmp_path / "mmbench_dev.tsv", [row(1), row(2, answer="C")], COLUMNS[:-1])
    answers = tmp_path / "mine.json"
    for written in (
        '{"1": "cat", "2": "C"}',
        '[{"1": "cat"}, {"2": "C"}]',
        '[{"index": 1, "prediction": "cat"}, {"index": 2, "prediction": "C"}]',
    ):
        answers.write_text(written)
        assert command("score", "--benchmark=mmbench", answers, "--questions", questions)[0] == 0
        assert command.overall() == 1.0
    assert (
        f"{answers.name}, row 1: The options are missing"
        in command("score", "--benchmark=mmbench", answers, "--no-judge")[2]
    )
    answers.write_text('{"7": "cat"}')
    code, _, complaint = command("score", "--benchmark=mmbench", answers, "--questions", questions)
    assert code == 2 and "Index 7 isn't in the benchmark" in complaint
    other = table_file(tmp_path / "turned.tsv", [row(1, A="cat", B="dog")])
    code, _, complaint = command("score", "--benchmark=mmbench", other, "--questions", questions)
    assert code == 2 and "Index 1 " in complaint and "other options" in complaint


def test_two_models_are_compared(command, tmp_path):
    first = table_file(tmp_path / "one.tsv", [row(index, "B") for index in range(1, 11)])
    second = table_file(
        tmp_path / "two.tsv", [row(index, "A" if index < 8 else "B") for index in range(1, 11)]
    )
    code, said, _ = command("score", "--benchmark=mmbench", first, "--against", second)
    assert code == 0 and "one against two, base rows" in said
    found = {line["name"]: line for line in command.table("one-against-two-base-rows.csv")}
    assert list(found) == ["Overall", "perception", "CP", "image_topic"]
    assert (
        found["Overall"]["both"],
        found["Overall"]["first_only"],
        found["Overall"]["second_only"],
    ) == (
        "3",
        "7",
        "0",
    )
    assert float(found["CP"]["p"]) == pytest.approx(2 / 2**7)
    table_file(second, [row(index, "B", answer="C") for index in range(1, 11)])
    code, _, complaint = command("score", "--benchmark=mmbench", first, "--against", second)
    assert code == 2 and "The files have different right answers at index" in complaint


@pytest.mark.parametrize("cells", [{"question": "What else is it?"}, {"C": "a zebra"}])
def test_two_files_of_different_questions_are_not_compared_by_their_indices(
    command, tmp_path, cells
):
    rows = [row(index, "B") for index in range(1, 5)]
    first = table_file(tmp_path / "one.tsv", rows)
    second = table_file(tmp_path / "two.tsv", [*rows[:2], *({**one, **cells} for one in rows[2:])])
    code, _, complaint = command("score", "--benchmark=mmbench", first, "--against", second)
    assert code == 2 and "The files have different questions at index 3 and 1 more." in complaint
    assert not command.out.exists(), "refused before a judge is asked"
    spaced = table_file(
        second, [{**one, "question": f" {one['question']} ", "C": f"{one['C']} "} for one in rows]
    )
    assert command("score", "--benchmark=mmbench", first, "--against", spaced)[0] == 0
    chinese = table_file(second, [{**one, "question": "这是什么？"} for one in rows])
    assert command("score", "--benchmark=mmbench", first, "--against", chinese)[0] == 0, (
        "a model in another language"
    )


# As large as MMT-Bench's ALL


def whole_file(path: Path) -> None:
    """Write 31,325 rows, with quotes and newlines inside cells."""
    coin = random.Random(7)
    rows = []
    for subtask in subtasks().values():
        for _ in range(subtask.samples):
            letters = LETTERS[: coin.randint(2, 9)]
            right, wrong = coin.sample(letters, 2)
            options = {letter: f'the "{letter * 2}"\nof them' for letter in letters}
            said = coin.choice((right, wrong))
            rows.append(
                {
                    "question": 'Which\t"one"?\nLook.',
                    "answer": right,
                    "category": subtask.key,
                    "split": "ALL",
                }
                | {
                    "l2-category": subtask.meta_task,
                    "prediction": coin.choice((said, f"{said}. {options[said]}")),
                }
                | options
            )
    coin.shuffle(rows)
    for index, one in enumerate(rows):
        one["index"] = str(index)
    table_file(path, rows, ["index", "question", *LETTERS, *COLUMNS[6:]])


TELLS_MEMORY = """
import sys
from pathlib import Path
from scoring.__main__ import main
assert main(sys.argv[1:]) == 0
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""
"""Runs the command and prints the most memory it ever held, in kB; `ru_maxrss` would start at this process's own."""


@pytest.mark.soak
def test_700_mb_with_pictures_take_less_than_300_mb_of_memory(tmp_path):
    small, large = tmp_path / "small.tsv", tmp_path / "large.tsv"
    whole_file(small)
    picture = "iVBORw0KGgo" * 2060
    with (
        small.open(newline="", encoding="utf-8") as source,
        large.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL)
        for number, cells in enumerate(csv.reader(source, delimiter="\t")):
            writer.writerow([*cells, picture if number else "image"])
    assert large.stat().st_size > 700_000_000
    words = [
        "score",
        "--benchmark=mmt-bench",
        str(large),
        "--no-judge",
        "--out",
        str(tmp_path / "out"),
    ]
    settings = {**os.environ, "DATA_DIR": str(tmp_path / "data")}
    told = subprocess.check_output(
        [sys.executable, "-c", TELLS_MEMORY, *words], cwd=ROOT, env=settings, text=True
    )
    assert len((tmp_path / "out" / "large-audit.jsonl").read_text().splitlines()) == 31_325
    assert int(told.split()[-1]) < 300_000, "kilobytes"
