"""Every layout that people hold arrives as written; what is wrong with a file is said at once, with its place."""

import csv
import io
import json
import random
import tracemalloc
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.io.tables import COMMAND_LINE, PAGE, RowsError, read_records
from scoring.benchmarks.mm_vet_questions import (
    SAMPLE_PREDICTIONS,
    load_mm_vet,
    own_sample,
    subset_of_file,
)
from scoring.benchmarks.predictions import Upload, UploadError, fill, notices, read_predictions
from scoring.report import Question, QuestionSet
from tests.support.workbooks import workbook

SAMPLE = own_sample()
ANSWERS = {question.id: f"an answer to\n{question.id}, é" for question in SAMPLE.questions}
IDS = list(ANSWERS)


def question_set(*texts: str, prefix: str = "v1_") -> QuestionSet:
    questions = tuple(
        Question(f"{prefix}{place}", text, f"truth {place}", ("rec",))
        for place, text in enumerate(texts)
    )
    return QuestionSet("mm-vet", "three questions", "0" * 64, False, questions)


THREE = question_set("What is it?", "Where is it?", "What is it?")


def table(rows: list[list[str]], delimiter: str = ",") -> str:
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    return written.getvalue()


def lines(records: list[dict]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def read(
    folder: Path, name: str, content: str | bytes, questions: QuestionSet = SAMPLE, limits=PAGE
) -> Upload:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_predictions(path, questions, limits)


def answers(upload: Upload) -> dict[str, str]:
    return {prediction.id: prediction.text for prediction in upload.predictions}


def refusal(
    folder: Path, name: str, content: str | bytes, questions: QuestionSet = SAMPLE
) -> RowsError:
    with pytest.raises(RowsError) as caught:
        read(folder, name, content, questions)
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)
    return caught.value


def numbered(columns: tuple[str, str]) -> list[dict]:
    return [dict(zip(columns, pair, strict=True)) for pair in enumerate(ANSWERS.values())]


def lmms(place: int, question: Question) -> dict:
    doc = {
        "question_id": question.id,
        "question": question.text,
        "answer": question.truth,
        "capability": "ocr,math",
    }
    reply = {"resps": [[ANSWERS[question.id]]], "filtered_resps": [ANSWERS[question.id]]}
    return {
        "doc_id": place,
        "doc": doc,
        "target": question.truth,
        "arguments": [question.text, {}],
        **reply,
    }


def llava(place: int) -> dict:
    named = {
        "question_id": place,
        "prompt": f"Question {place}\nAnswer shortly.",
        "text": ANSWERS[IDS[place]],
    }
    return {**named, "answer_id": f"x{place}", "model_id": "llava-v1.5-13b", "metadata": {}}


def parquet(columns: dict) -> bytes:
    pictures = [{"bytes": b"x", "path": "a.png"}] * len(next(iter(columns.values())))
    found = io.BytesIO()
    pandas.DataFrame({**columns, "image": pictures}).to_parquet(found)
    return found.getvalue()


KIT = ["index", "question", "answer", "category", "prediction"]
KIT_ROWS = [
    [str(place), question.text, question.truth, ",".join(question.groups), ANSWERS[question.id]]
    for place, question in enumerate(SAMPLE.questions)
]

LAYOUTS = {
    "official": ("a.json", json.dumps(ANSWERS), "id: text"),
    "by id": (
        "a.json",
        json.dumps({id: {"id": 1, "text": text} for id, text in ANSWERS.items()}),
        "id: record",
    ),
    "records": (
        "a.json",
        json.dumps([{"question_id": i, "answer": text} for i, text in ANSWERS.items()]),
        "records",
    ),
    "jsonl": (
        "a.jsonl",
        lines([{"id": id, "Prediction": text} for id, text in ANSWERS.items()]),
        "records",
    ),
    "csv": ("a.csv", table([["ID", "response"], *map(list, ANSWERS.items())]), "records"),
    "tsv": ("a.tsv", table([["id", "output"], *map(list, ANSWERS.items())], "\t"), "records"),
    "xlsx": ("a.xlsx", workbook(["Question ID", "pred"], *map(list, ANSWERS.items())), "records"),
    "kit xlsx": ("m_MMVet.xlsx", workbook(KIT, *KIT_ROWS), "VLMEvalKit table"),
    "kit xlsx of floats": (
        "m.xlsx",
        workbook(KIT, *[[float(row[0]), *row[1:]] for row in KIT_ROWS]),
        "VLMEvalKit table",
    ),
    "kit csv of floats": (
        "m.csv",
        table([KIT, *[[row[0] + ".0", *row[1:]] for row in KIT_ROWS]]),
        "VLMEvalKit table",
    ),
    "kit tsv": ("m_MMVet.tsv", "\ufeff" + table([KIT, *KIT_ROWS], "\t"), "VLMEvalKit table"),
    "kit json": (
        "m.json",
        json.dumps([dict(zip(KIT, row, strict=True)) for row in KIT_ROWS]),
        "VLMEvalKit table",
    ),
    "numbers": ("m.json", json.dumps(numbered(("index", "prediction"))), "VLMEvalKit table"),
    "no index": ("m.csv", table([KIT[1:], *[row[1:] for row in KIT_ROWS]]), "question texts"),
    "llava": (
        "answers.jsonl",
        lines([llava(place) for place in range(len(ANSWERS))]),
        "LLaVA answers",
    ),
    "parquet": (
        "a.parquet",
        parquet({"id": list(ANSWERS), "response": list(ANSWERS.values())}),
        "records",
    ),
    "lmms logs": (
        "results.json",
        json.dumps(
            {
                "args": {"model": "llava"},
                "model_configs": {"x": [{"y": 1}]},
                "logs": [lmms(i, q) for i, q in enumerate(SAMPLE.questions)],
            }
        ),
        "lmms-eval samples",
    ),
    "results": (
        "a.json",
        json.dumps(
            {
                "model": "llava",
                "results": [{"id": id, "answer": text} for id, text in ANSWERS.items()],
            }
        ),
        "records",
    ),
    "lmms": (
        "s.jsonl",
        lines([lmms(i, q) for i, q in enumerate(SAMPLE.questions)]),
        "lmms-eval samples",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_arrives_with_every_answer_as_written(tmp_path, layout):
    name, content, expected = LAYOUTS[layout]
    upload = read(tmp_path, name, content)
    assert upload.layout == expected
    assert answers(upload) == ANSWERS
    assert [filled.prediction for filled in fill(SAMPLE, upload, "stop")] == list(ANSWERS.values())
    assert (tmp_path / name).read_bytes() == (
        content if isinstance(content, bytes) else content.encode()
    )


def test_the_real_outputs_of_218_questions_are_read_and_filled(data):
    questions = load_mm_vet(data / "mm-vet")
    path = data / "mm-vet" / "llava_llama2_13b_chat.json"
    upload = read_predictions(path, questions)
    assert answers(upload) == json.loads(path.read_text("utf-8"))
    assert (upload.layout, upload.title, notices(upload, questions)) == (
        "id: text",
        "llava_llama2_13b_chat",
        (),
    )
    assert [filled.question for filled in fill(questions, upload, "stop")] == list(
        questions.questions
    )


@pytest.mark.parametrize("suffix", ["tsv", "jsonl", "xlsx"])
def test_the_real_outputs_survive_every_other_format_and_need_no_ids(data, tmp_path, suffix):
    questions = load_mm_vet(data / "mm-vet")
    held = json.loads((data / "mm-vet" / "llava_llama2_13b_chat.json").read_text("utf-8"))
    rows = [[question.text, question.truth, held[question.id]] for question in questions.questions]
    columns = ["question", "answer", "prediction"]
    content = {
        "tsv": lambda: table([columns, *rows], "\t"),
        "jsonl": lambda: lines([dict(zip(columns, row, strict=True)) for row in rows]),
        "xlsx": lambda: workbook(columns, *rows),
    }[suffix]()
    assert answers(read(tmp_path, f"m.{suffix}", content, questions)) == held


TAKEN_FOR_MORE = [
    *("NA", "nan", "None", "001", "1/2", "=1+1", "1e5", "1.0", "TRUE", " x ", "", "a|b", "'")
]


@pytest.mark.parametrize("answer", TAKEN_FOR_MORE)
@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "tsv"])
def test_an_answer_is_never_taken_for_anything_but_text(tmp_path, suffix, answer):
    content = {
        "json": lambda: json.dumps({"v1_0": answer}),
        "jsonl": lambda: json.dumps({"id": "v1_0", "prediction": answer}),
        "csv": lambda: table([["id", "prediction"], ["v1_0", answer]]),
        "tsv": lambda: table([["id", "prediction"], ["v1_0", answer]], "\t"),
    }[suffix]()
    assert answers(read(tmp_path, f"a.{suffix}", content, THREE)) == {"v1_0": answer}


def test_no_answer_in_a_workbook_is_taken_for_anything_but_text(tmp_path):
    written = {f"v1_{place}": answer for place, answer in enumerate(TAKEN_FOR_MORE)}
    content = workbook(["id", "prediction"], *map(list, written.items()))
    assert answers(read(tmp_path, "a.xlsx", content, THREE)) == written


@pytest.mark.parametrize(
    ("written", "id"),
    [
        ('"v1_2"', "v1_2"),
        ('" v1_2\\n"', "v1_2"),
        ("2", "v1_2"),
        ("2.0", "v1_2"),
        ('"2.0"', "v1_2"),
        ('"0.2e1"', "v1_2"),
        ("0", "v1_0"),
        ('"002"', "002"),
        ('"-2"', "-2"),
        ("2.5", "2.5"),
        ('"2e99"', "2e99"),
        ('"\\u0662"', "\u0662"),
        ('"2.\\u0660"', "2.\u0660"),
        ("9223372036854775807", "9223372036854775807"),
        ('"v2_2"', "v2_2"),
        ('"V1_2"', "V1_2"),
    ],
)
def test_an_id_may_be_the_number_that_a_toolkit_made_of_it(tmp_path, written, id):
    content = f'{{"index": {written}, "prediction": "x"}}'
    assert list(answers(read(tmp_path, "a.jsonl", content, THREE))) == [id]


def test_a_number_that_two_ids_end_with_names_neither(tmp_path):
    both = replace(
        THREE, questions=(*THREE.questions, *question_set("a", "b", prefix="v2_").questions)
    )
    assert list(answers(read(tmp_path, "a.csv", "id,pred\n0,x\n2,y\n", both))) == ["0", "v1_2"]


def test_ids_are_compared_by_what_a_person_sees(tmp_path):
    composed = question_set("q", prefix=unicodedata.normalize("NFC", "é_"))
    content = json.dumps({unicodedata.normalize("NFD", "é_") + "0 ": "x"})
    assert fill(composed, read(tmp_path, "a.json", content, composed), "stop")[0].prediction == "x"


def test_the_title_is_the_model_that_the_file_names_or_the_name_of_the_file(tmp_path):
    record = {"question_id": 0, "text": "x", "model_id": " my-model "}
    assert read(tmp_path, "a.jsonl", lines([record])).title == "my-model"
    assert read(tmp_path, "run.7.jsonl", lines([{**record, "model_id": None}])).title == "run.7"
    stored = tmp_path / "0f3a"
    stored.write_text(json.dumps(ANSWERS))
    upload = read_predictions(stored, SAMPLE, name="GPT-7 (mine).json")
    assert (upload.file, upload.title) == ("GPT-7 (mine).json", "GPT-7 (mine)")
    mixed = lines([record, {**record, "question_id": 1, "model_id": "other"}])
    assert (
        "the answers of several models: 2 (my-model, other)"
        in refusal(tmp_path, "a.jsonl", mixed).problem
    )


def test_a_column_without_a_name_has_no_role(tmp_path):
    records = [{"": f"note {number}", "question_id": number, "text": "x"} for number in (0, 1)]
    upload = read(tmp_path, "a.jsonl", lines(records))
    assert upload.title == "a" and not upload.asks_others
    assert [prediction.id for prediction in upload.predictions] == IDS[:2]


def test_a_row_is_where_an_editor_shows_it(tmp_path):
    content = '{\n "own_0": "a\\nb",\n\n "own_1": {"text": "x",\n "id": {"own_2": 1}}, "own_3": {"text": "y"}\n}'
    upload = read(tmp_path, "a.json", content.replace('"a\\nb"', '{"text": ""}'))
    assert [prediction.row for prediction in upload.predictions] == [2, 4, 5]
    table_text = 'id,text\nown_0,"a\nb"\nown_1,c\n'
    assert [prediction.row for prediction in read(tmp_path, "a.csv", table_text).predictions] == [
        2,
        4,
    ]


REFUSED = [
    ("json", '{\n"own_0": "x",\n"own_1": 5}', 3, "own_1", "is a number. Put it in quotes"),
    ("json", '{"own_0": null}', 1, "own_0", 'is null. Write ""'),
    ("json", '{"own_0": true}', 1, "own_0", "true or false"),
    ("json", '{"own_0": ["x"]}', 1, "own_0", "a list"),
    ("json", '{"own_0": {"text": {"a": 1}}}', 1, "own_0", "an object"),
    ("json", '{\n"own_0": "x",\n"own_0": "y"}', 3, "own_0", "twice"),
    ("json", '{"own_0": "x", "own_1": {"text": "y"}}', 1, "(value)", "found '(key)', 'text'"),
    ("json", '{"own_0": NaN}', 1, None, "finite"),
    ("json", '{"own_0": "\\ud800"}', 1, "(value)", "surrogate"),
    ("json", '{"own_0": "a\\u0000"}', 1, "(value)", "NUL"),
    ("json", '{"own_0": "\xe9"}'.encode("latin-1"), 1, None, "UTF-8"),
    ("json", "[" * 100, 1, None, "64 deep"),
    ("json", "{}", None, None, "no answers"),
    ("json", "[]", None, None, "no answers"),
    ("json", '"own_0"', 1, None, "list of objects"),
    ("jsonl", '{"id": "own_0", "text": "x"}\n{"id": "own_1", "text": 7.5}', 2, "text", "a number"),
    ("jsonl", '{"id": "own_0", "text": "x"}\n{"id": "own_1"}', 2, "text", "found 'id'"),
    ("jsonl", '{"id": null, "text": "x"}', 1, "id", "An id is"),
    ("jsonl", '{"id": true, "text": "x"}', 1, "id", "An id is"),
    ("jsonl", '{"id": "x", "model_id": [[]]}', 1, None, "a column of answers"),
    ("jsonl", '{"filtered_resps": ["a", "b"], "doc_id": 0}', 1, "prediction", "a list"),
    ("jsonl", '{"filtered_resps": ["a"]}', 1, "question_id", "An id is"),
    ("csv", "id,text\n,x\n", 2, "id", "The id is empty"),
    (
        "csv",
        "id,text,response\nown_0,x,y\n",
        2,
        None,
        "'text' and 'response'. Delete or rename one",
    ),
    ("csv", "id,Prediction,prediction\nown_0,x,y\n", 2, None, "'Prediction' and 'prediction'"),
    ("csv", "id,text,answer\nown_0,x,y\n", 2, None, "'text' and 'answer'"),
    ("csv", "id,index,pred\nown_0,0,y\n", 2, None, "'id' and 'index'"),
    (
        "csv",
        "name,pred\nown_0,y\n",
        2,
        None,
        "column of ids (id, question_id, index) or a column question",
    ),
    (
        "csv",
        "id,score\nown_0,1\n",
        2,
        None,
        "a column of answers (prediction, pred, response, output, text, answer)",
    ),
    ("csv", "id,question,answer,capability\nown_0,a,b,c\n", 2, None, "answer is the truth"),
    ("csv", "question,pred\n,x\n", 2, "question", "The question's text is missing"),
    ("csv", "id,pred\nown_0,x\nown_1\n", 3, None, "found 1"),
]


@pytest.mark.parametrize(("suffix", "content", "row", "column", "words"), REFUSED)
def test_what_is_no_answer_or_could_be_meant_in_two_ways_is_refused_with_its_place(
    tmp_path, suffix, content, row, column, words
):
    error = refusal(tmp_path, f"a.{suffix}", content)
    assert (error.row, error.column) == (row, column)
    assert words in error.problem


def test_the_benchmarks_own_file_is_not_taken_for_perfect_answers(data):
    with pytest.raises(RowsError, match="in the benchmark's own file, answer is the truth"):
        read_predictions(data / "mm-vet" / "mm-vet.json", load_mm_vet(data / "mm-vet"))


def test_a_text_that_several_questions_share_needs_a_truth_or_an_id(tmp_path):
    shared = refusal(tmp_path, "a.csv", "question,pred\nWhere is it?,x\nWhat is it?,y\n", THREE)
    assert (shared.row, shared.column) == (3, "question")
    assert "of several questions: 2 (v1_0, v1_2). Add a column id" in shared.problem
    told = "question,answer,pred\n What  is it? ,truth 2,y\nWhere is it?,,x\n"
    assert answers(read(tmp_path, "a.csv", told, THREE)) == {"v1_2": "y", "v1_1": "x"}
    assert answers(read(tmp_path, "a.csv", "prompt,pred\nWho is it?,x\n", THREE)) == {
        "'Who is it?'": "x"
    }


def test_ids_that_are_shifted_against_the_questions_are_refused(tmp_path):
    shifted = "index,question,prediction\n1,What is it?,x\n2,Where is it?,y\n"
    error = refusal(tmp_path, "a.csv", shifted, THREE)
    assert (error.row, error.column) == (2, "question")
    assert "the question of 'v1_0', not of 'v1_1'" in error.problem
    assert (
        len(
            answers(
                read(
                    tmp_path,
                    "a.csv",
                    shifted.replace("What", "In short: what"),
                    question_set("a", "b", "c"),
                )
            )
        )
        == 2
    )


def test_columns_of_pictures_are_skipped_unread(tmp_path):
    picture = "iVBORw0KGgo" * 200_000
    content = table([["index", "image", "prediction"], ["0", picture, "x"]], "\t")
    assert answers(read(tmp_path, "a.tsv", content)) == {"own_0": "x"}
    by_id = json.dumps({"own_0": {"Image": picture + "\0", "text": "x"}})
    assert answers(read(tmp_path, "a.json", by_id)) == {"own_0": "x"}
    assert (
        refusal(tmp_path, "a.tsv", content.replace("image", "photo")).problem
        == "The cell has 2,200,000 characters, more than 1,000,000. Shorten it."
    )


# fill


def test_all_problems_are_told_at_once_with_counts_and_mends(tmp_path):
    content = "id,pred\nv1_0,x\n0,y\nv9_1,z\nv9_2,z\nv9_2,z\n"
    upload = read(tmp_path, "mine.csv", content, THREE)
    with pytest.raises(UploadError) as caught:
        fill(THREE, upload, "stop")
    assert caught.value.problems == (
        "Questions without an answer: 2 (v1_1, v1_2). Add them, or score without them: choose Leave them unscored "
        "under Details, or -o missing=unscored.",
        "Ids that are not in three questions: 2 (v9_1, v9_2). Correct or delete them.",
        "Ids that are there more than once: 2 (v1_0, v9_2). Keep one of each.",
    )
    assert str(caught.value).startswith("mine.csv: Questions without")
    with pytest.raises(UploadError) as caught:
        fill(THREE, upload, "unscored")
    assert len(caught.value.problems) == 2


def test_only_the_first_20_ids_of_each_problem_are_named(tmp_path):
    content = "id,pred\n" + "".join(f'"x\n{number:02}",y\n' for number in range(30))
    with pytest.raises(UploadError) as caught:
        fill(THREE, read(tmp_path, "a.csv", content, THREE), "unscored")
    assert "\n" not in str(caught.value)
    assert (
        "30 (x 00, " in str(caught.value)
        and "x 19, ...)" in str(caught.value)
        and "x 20" not in str(caught.value)
    )


def test_missing_answers_may_stay_unscored_and_empty_ones_are_answers(tmp_path):
    upload = read(tmp_path, "a.json", '{"v1_2": " ", "v1_0": ""}', THREE)
    assert [filled.prediction for filled in fill(THREE, upload, "unscored")] == ["", None, " "]
    (told,) = notices(upload, THREE)
    assert told.startswith(
        "2 of the 2 answers aren't from the model (empty). Such answers stay unscored"
    )


def test_answers_that_may_be_empty_cells_are_named(tmp_path):
    upload = read(tmp_path, "a.csv", "id,pred\nv1_0,NA\nv1_1,nan\nv1_2,nano\n", THREE)
    empty, said = notices(upload, THREE)
    assert "1 of the 3 answers isn't from the model (empty). " in empty
    assert "the model's words: 1 (v1_0). Where it gave no answer, empty the cell" in said


@given(
    st.lists(st.sampled_from(["v1_0", "v1_1", "v1_2", "v9_9"]), min_size=1, max_size=6),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_fill_is_set_algebra(tmp_path_factory, written, stop):
    content = lines([{"id": id, "pred": f"answer {place}"} for place, id in enumerate(written)])
    upload = read(tmp_path_factory.getbasetemp(), "a.jsonl", content, THREE)
    known = {question.id for question in THREE.questions}
    wrong = (
        len(set(written)) < len(written) or set(written) - known or (stop and known - set(written))
    )
    if wrong:
        with pytest.raises(UploadError):
            fill(THREE, upload, "stop" if stop else "unscored")
        return
    filled = fill(THREE, upload, "stop" if stop else "unscored")
    assert [entry.question for entry in filled] == list(THREE.questions)
    expected = {id: f"answer {place}" for place, id in enumerate(written)}
    assert [entry.prediction for entry in filled] == [
        expected.get(question.id) for question in THREE.questions
    ]


# Size: the page bounds it, the command line streams it.


def test_the_page_bounds_what_the_command_line_streams(tmp_path):
    path = tmp_path / "long.jsonl"
    picture = "x" * 100_000
    with path.open("w") as file:
        file.writelines(
            json.dumps({"id": f"v1_{n}", "image": picture, "pred": "y"}) + "\n" for n in range(110)
        )
    assert PAGE.bytes == 100_000_000
    with pytest.raises(RowsError, match="more than 10,000,000"):
        read_predictions(path, THREE, replace(PAGE, bytes=10_000_000))
    tracemalloc.start()
    try:
        upload = read_predictions(path, THREE, COMMAND_LINE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(upload.predictions) == 110
    assert peak < 2_000_000


# Mutations, seeded. An .xlsx takes a process each, so there are fewer of these.


def honest(suffix: str) -> bytes:
    held = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
    rows = [[id, text, "m"] for id, text in held.items()]
    columns = ["id", "prediction", "model_id"]
    return {
        "json": lambda: json.dumps(held, indent=1).encode(),
        "jsonl": lambda: lines([dict(zip(columns, row, strict=True)) for row in rows]).encode(),
        "csv": lambda: table([columns, *rows]).encode(),
        "tsv": lambda: table([columns, *rows], "\t").encode(),
        "xlsx": lambda: workbook(columns, *rows),
    }[suffix]()


SPICE = [
    *(bytes([code]) for code in b'",\t\n\r\0\\{[}]:;\xff'),
    b"\xef\xbb\xbf",
    b"1e999",
    b"NaN",
    b"null",
    b"[[]]",
]
SPICE += [
    b"own_1",
    b'"id"',
    b'"own_0": "x",',
    b"\\ud800",
    b"model_id",
    b"index",
    b"filtered_resps",
    b"doc",
    b"own_99",
]


def mutated(original: bytes, dice: random.Random) -> bytes:
    raw = bytearray(original)
    for _ in range(dice.randint(1, 4)):
        place, length = dice.randrange(len(raw) + 1), dice.choice([0, 1, 3, 10, 200])
        other = dice.randrange(len(raw) + 1)
        spices = [
            b"",
            dice.choice(SPICE),
            dice.randbytes(2),
            bytes(raw[other : other + dice.randrange(300)]),
        ]
        raw[place : place + length] = dice.choice(spices)
    return bytes(raw)


def independent(suffix: str, content: bytes) -> list[str]:
    """Return the answers as another reading finds them."""
    text = content.decode("utf-8-sig")
    if suffix == "json":
        return list(json.loads(text).values())
    if suffix == "jsonl":
        return [json.loads(line)["prediction"] for line in text.split("\n") if line.strip()]
    found = list(
        csv.reader(io.StringIO(text, newline=""), delimiter={"csv": ",", "tsv": "\t"}[suffix])
    )
    return [row[found[0].index("prediction")] for row in found[1:] if row]


def try_upload(path: Path, content: bytes) -> bool:
    """Upload a file; tell whether it was taken. What is taken is whole, and is what another reading finds."""
    path.write_bytes(content)
    try:
        upload = read_predictions(path, SAMPLE)
        filled = fill(SAMPLE, upload, "unscored")
    except (RowsError, UploadError) as error:
        assert str(error).startswith(path.name)
        str(error).encode()
        return False
    finally:
        assert path.read_bytes() == content
    assert [entry.question for entry in filled] == list(SAMPLE.questions)
    found = [prediction.text for prediction in upload.predictions]
    "".join([upload.title, upload.file, *found]).encode()
    assert sorted(found) == sorted(
        entry.prediction for entry in filled if entry.prediction is not None
    )
    if path.suffix == ".json" or (path.suffix != ".xlsx" and b'"prediction"' in content):
        assert found == independent(path.suffix[1:], content)
    return True


@pytest.mark.parametrize("count", [150, pytest.param(3_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "tsv"])
def test_mutated_text_uploads_are_taken_whole_or_refused(tmp_path, suffix, count):
    dice, original = random.Random(f"uploads {suffix}"), honest(suffix)
    assert try_upload(tmp_path / f"a.{suffix}", original)
    taken = sum(try_upload(tmp_path / f"a.{suffix}", mutated(original, dice)) for _ in range(count))
    assert count / 150 < taken < count / 2
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{suffix}"]


def mutated_workbooks(folder: Path, count: int, seed: str) -> int:
    dice, original = random.Random(seed), honest("xlsx")
    contents = [mutated_workbook(original, dice) for _ in range(count)]
    with ThreadPoolExecutor(2) as pool:
        places = [folder / f"{place}.xlsx" for place in range(count)]
        return sum(pool.map(try_upload, places, contents))


def mutated_workbook(original: bytes, dice: random.Random) -> bytes:
    if dice.random() < 0.5:
        return mutated(original, dice)
    cells = [
        [id, text, "m"] for id, text in json.loads(SAMPLE_PREDICTIONS.read_text("utf-8")).items()
    ]
    for _ in range(dice.randint(1, 3)):
        row = dice.choice(cells)
        row[dice.randrange(len(row))] = dice.choice(
            ["", None, 3, 0.0, True, "own_3", "=SUM(A1:A2)", "nan", "x" * 40_000]
        )
    dice.shuffle(cells)
    return workbook(
        dice.choice([["id", "prediction", "model_id"], ["index", "text", "x"], ["a", "b", "c"]]),
        *cells,
    )


@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [3, pytest.param(1_500, marks=pytest.mark.soak)])
def test_mutated_workbooks_are_taken_whole_or_refused(tmp_path, count):
    assert try_upload(tmp_path / "a.xlsx", honest("xlsx"))
    assert count / 60 < mutated_workbooks(tmp_path, count, "uploads xlsx") < count * 0.83


def bard_set(folder: Path, *ids: str) -> Path:
    path = folder / "bard_set.json"
    path.write_text(json.dumps(ids))
    return path


@pytest.mark.parametrize("layout", ["ids", "numbers", "texts"])
def test_a_subset_takes_the_file_of_the_whole_set(tmp_path, layout):
    part = subset_of_file(SAMPLE, bard_set(tmp_path, IDS[3], IDS[1]))
    named = {
        "ids": [{"id": question.id} for question in SAMPLE.questions],
        "numbers": [{"index": f"{place}.0"} for place in range(len(IDS))],
        "texts": [
            {"question": question.text, "gt_answer": question.truth}
            for question in SAMPLE.questions
        ],
    }[layout]
    content = lines([row | {"prediction": ANSWERS[id]} for id, row in zip(IDS, named, strict=True)])
    upload = read(tmp_path, "outputs.jsonl", content, part)
    filled = fill(part, upload, "stop")
    assert [(one.question.id, one.prediction) for one in filled] == [
        (id, ANSWERS[id]) for id in (IDS[1], IDS[3])
    ]
    assert notices(upload, part) == ("Answers to questions outside the subset, left out: 14.",)


def test_a_model_that_stands_beside_its_results_is_the_title(tmp_path):
    assert read(tmp_path, *LAYOUTS["results"][:2]).title == "llava"


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        (lambda text: f"Of another benchmark: {len(text)}?", True),
        (lambda text: f"USER: {text}\nAnswer in one word.", False),
        (lambda text: text, False),
        (lambda text: "", False),
    ],
)
def test_a_file_of_other_questions_under_the_same_numbers_is_noticed(tmp_path, asked, is_told):
    rows = [[str(place), asked(one.text), "5"] for place, one in enumerate(SAMPLE.questions)]
    upload = read(tmp_path, "gqa.csv", table([["index", "question", "prediction"], *rows]))
    assert answers(upload).keys() <= {*IDS}
    told = f"None of its questions is the one with that id in {SAMPLE.name}. Is it a file of another benchmark?"
    assert notices(upload, SAMPLE) == ((told,) if is_told else ())


def test_answers_that_repeat_their_question_are_noticed(tmp_path):
    echoed = {
        id: f"USER: {question.text} ASSISTANT: 5"
        for id, question in zip(IDS, SAMPLE.questions, strict=True)
    }
    (told,) = notices(
        read(tmp_path, "a.json", json.dumps({**ANSWERS, IDS[0]: echoed[IDS[0]]})), SAMPLE
    )
    assert told.startswith(
        f"Answers that repeat their question: 1 ({IDS[0]}). If the prompt was written into the file"
    )


def test_a_broken_parquet_file_is_refused_in_a_sentence(tmp_path):
    whole = LAYOUTS["parquet"][1]
    for content in (
        b"PAR1",
        whole[: len(whole) // 2],
        b"PAR1" + bytes(2000) + b"PAR1",
        whole[:-9] + b"\xff" + whole[-8:],
    ):
        assert "Parquet" in str(refusal(tmp_path, "a.parquet", content)), content[-20:]
    infinite = parquet(
        {
            "id": list(ANSWERS),
            "prediction": list(ANSWERS.values()),
            "n": [float("inf")] * len(ANSWERS),
        }
    )
    assert "row 1, column 'n': Expected a finite number" in str(
        refusal(tmp_path, "a.parquet", infinite)
    )
    cells = [pyarrow.array(list(ANSWERS)), pyarrow.array(list(ANSWERS.values()))]
    pyarrow.parquet.write_table(
        pyarrow.table([*cells, cells[1]], ["id", "text", "text"]), tmp_path / "twice.parquet"
    )
    twice = str(refusal(tmp_path, "a.parquet", (tmp_path / "twice.parquet").read_bytes()))
    assert "row 1, column 'text': Two columns have this name" in twice
    many = parquet({"id": list(ANSWERS), "prediction": list(ANSWERS.values())})
    (tmp_path / "many.parquet").write_bytes(many)
    with pytest.raises(RowsError, match="The file has 16 records, more than 5. Split it"):
        list(read_records(tmp_path / "many.parquet", replace(PAGE, rows=5)))


def test_text_that_parquet_holds_as_bytes_is_read_and_other_bytes_are_left_out(tmp_path):
    content = parquet(
        {
            "id": list(ANSWERS),
            "prediction": [text.encode() for text in ANSWERS.values()],
            "mask": [b"\xff"] * len(ANSWERS),
        }
    )
    assert [one.text for one in read(tmp_path, "a.parquet", content).predictions] == list(
        ANSWERS.values()
    )


def test_an_object_with_two_lists_of_records_is_refused(tmp_path):
    records = [{"id": id, "answer": text} for id, text in ANSWERS.items()]
    told = str(refusal(tmp_path, "a.json", json.dumps({"results": records, "samples": records})))
    assert "Expected one list of records, found 'results' and 'samples'. Keep one of them" in told


def test_a_subset_still_names_ids_of_no_question_and_its_own_that_are_missing(tmp_path):
    part = subset_of_file(SAMPLE, bard_set(tmp_path, IDS[1], IDS[3]))
    kept = {id: text for id, text in ANSWERS.items() if id != IDS[3]}
    upload = read(tmp_path, "outputs.json", json.dumps({**kept, "v1_999": "?"}), part)
    with pytest.raises(UploadError) as caught:
        fill(part, upload, "stop")
    assert [problem.split(".")[0] for problem in caught.value.problems] == [
        f"Questions without an answer: 1 ({IDS[3]})",
        f"Ids that are not in {part.name}: 1 (v1_999)",
    ]


def test_the_bard_subset_takes_the_218_answers_of_a_real_model(data, tmp_path):
    whole = load_mm_vet(data / "mm-vet")
    part = subset_of_file(
        whole, bard_set(tmp_path, *[question.id for question in whole.questions[::4]])
    )
    upload = read_predictions(data / "mm-vet" / "llava_llama2_13b_chat.json", part)
    assert len(fill(part, upload, "stop")) == 55
    assert notices(upload, part) == ("Answers to questions outside the subset, left out: 163.",)
