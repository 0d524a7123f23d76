"""Columns of a file by its spec: derived ones decide as any others do, and what a file lacks is named."""

import pytest

from arena.io.tables import Record
from scoring.benchmarks.spec_benchmark import OWN, spec_benchmark
from scoring.registry import open_upload
from scoring.report import csv_bytes
from scoring.specs.files import OURS, load_folder
from scoring.specs.reading import items_of, read_spec_rows, split_of
from scoring.specs.report import figure_lines
from scoring.specs.schema import spec_of


def toy(**fields):
    return spec_of({"name": "Toy", "about": "A toy.", "rule": "text", **fields})


def read(spec, lines, questions=None):
    """The file that these rows make, given as mappings."""
    records = [Record(number, line) for number, line in enumerate(lines, 1)]
    return read_spec_rows(spec, records, questions)


def problems(spec, lines, questions=None):
    """The problems of these rows, with what they keep from happening."""
    return [(each.text, each.blocks) for each in read(spec, lines, questions).problems]


def report(path, spec, lines, protocol="strict"):
    heads = list(dict.fromkeys(name for line in lines for name in line))
    path.write_bytes(csv_bytes(heads, [[line.get(head, "") for head in heads] for line in lines]))
    opened = open_upload(path, benchmark=spec_benchmark(OWN, spec))
    assert opened is not None
    return opened.report(protocol)


def means(report):
    return {name: line.mean for name, line in figure_lines(report).items()}


def test_rows_of_a_split_answer_vary_together_beside_questions_without_truths(tmp_path):
    spec = toy(derive={"kind": {"from": "topic", "split": ","}}, groups=["kind"])
    lines = [
        {
            "index": number,
            "prediction": "dog" if number % 3 else "cat",
            "answer": "cat",
            "topic": "a,b",
        }
        for number in range(20)
    ]
    hidden = [{"index": number, "prediction": "cat", "answer": ""} for number in range(20, 60)]
    alone = figure_lines(report(tmp_path / "a.csv", spec, lines))["Overall"]
    beside = figure_lines(report(tmp_path / "b.csv", spec, lines + hidden))["Overall"]
    assert (beside.n, beside.low, beside.high) == (alone.n, alone.low, alone.high)


@pytest.mark.parametrize(
    ("derived", "wanted"),
    [
        ({"from": "index", "part": 2, "by": "_"}, "mc"),
        ({"from": "tags", "list": ","}, "choice"),
        ({"from": "tags", "list": ",", "names": {"yes": "x"}}, "choice"),
        ({"from": "level", "mod": 2}, "1"),
    ],
)
def test_a_derived_column_decides_between_rules(tmp_path, derived, wanted):
    rule = [{"when": {"form": wanted}, "rule": "letter"}, {"rule": "text"}]
    spec = toy(derive={"form": derived}, rule=rule)
    choice = {"index": "1_mc", "tags": "easy, choice", "level": "3", "answer": "B"}
    choice |= {"prediction": "The answer is (B).", "A": "a dog", "B": "a cat"}
    open_one = {"index": "2_open", "tags": "easy", "level": "4", "answer": "cat"}
    open_one |= {"prediction": "Cat."}
    rows = report(tmp_path / "m.csv", spec, [choice, open_one]).rows
    assert [(row.reading.read, row.reading.score) for row in rows] == [("B", 1.0), ("Cat.", 1.0)]


@pytest.mark.parametrize("sign", ["list", "split"])
def test_a_derived_column_without_members_is_empty(tmp_path, sign):
    rule = [{"when": {"kinds": ""}, "rule": "yes_no"}, {"rule": "text"}]
    spec = toy(derive={"kinds": {"from": "tags", sign: ";"}}, rule=rule)
    lines = [
        {"index": id, "tags": tags, "answer": "Yes", "prediction": "Yes, two of them"}
        for id, tags in enumerate(["", "; ", "pets; wild"])
    ]
    scores = [row.reading.score for row in report(tmp_path / "m.csv", spec, lines).rows]
    assert scores == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("derived", "cells"),
    [
        ({"from": "index", "part": 1, "by": "_"}, ("dev_1", "dev_2", "test_1")),
        ({"from": "year", "names": {"2024": "dev"}, "others": "test"}, ("2024", "2024", "2025")),
        ({"from": "year", "list": ","}, ("dev", "dev", "test")),
    ],
)
def test_a_split_may_be_derived(derived, cells):
    spec = toy(derive={"part": derived}, splits="part", protocols=["vlmevalkit"])
    lines = [
        {"index": f"{id}", derived["from"]: cell, "answer": answer, "prediction": "cat"}
        for id, (cell, answer) in enumerate(zip(cells, ["cat", "", ""], strict=True))
    ]
    rows = read(spec, lines).rows
    assert [split_of(spec, row.cells) for row in rows] == ["dev", "dev", "test"]
    # The second is wrong by the toolkit, since its split has right answers; the third has no score.
    assert [item.truth for item in items_of(spec, rows, "vlmevalkit")] == ["cat", "", None]


UNITS = [
    ({"from": "index", "less": 1, "div": 2}, "index"),
    ({"from": "index", "part": 4, "by": "_"}, "index"),
    ({"from": "scene", "mod": 2}, "scene"),
]


@pytest.mark.parametrize(("derived", "lacked"), UNITS)
def test_units_made_of_a_column_that_the_file_lacks_are_left_out(tmp_path, derived, lacked):
    spec = toy(
        derive={"unit": derived},
        groups=["unit"],
        figures={"Single": "mean", "Units": {"all": ["unit"]}, "Over units": {"mean_of": "unit"}},
        headline="Units",
    )
    lines = [{"answer": answer, "prediction": "cat"} for answer in ("cat", "cat", "dog", "cat")]
    texts = [text for text, _ in problems(spec, lines)]
    for place in ("groups", "figures.Units", "figures.Over units"):
        assert f"{place}: The file has no column {lacked!r}, so this is left out." in texts
    found = report(tmp_path / "m.csv", spec, lines)
    assert means(found) == {"Single": 75.0}
    numbered = [{**line, lacked: str(number)} for number, line in enumerate(lines, 1)]
    assert means(report(tmp_path / "n.csv", spec, numbered)).keys() == {*spec.figures}


@pytest.mark.parametrize(("name", "spec"), [*load_folder(OURS)])
def test_a_benchmark_of_ours_has_a_figure_without_ids(name, spec):
    columns = {
        spec.source_of(column) for each in spec.figures for column in spec.needed_columns(each)
    }
    for protocol in spec.protocols:
        assert spec.figures_under(protocol, columns - {spec.columns.id}), (name, protocol)


EMPTY = "The file has no column {!r}, so every cell of it counts as empty."


@pytest.mark.parametrize(
    ("figure", "lacked"),
    [
        ({"mean": "rows", "without": {"level": "easy"}}, ["level"]),
        ({"mean": "rows", "where": {"half": "2D", "level": ""}}, ["half", "level"]),
        ({"above": 0, "where": {"form": "mc"}}, ["tags"]),
    ],
)
def test_a_column_that_a_figures_conditions_lack_is_named(figure, lacked):
    derive = {"form": {"from": "tags", "part": 1, "by": ","}}
    spec = toy(derive=derive, figures={"All": "mean", "Some": figure})
    line = {"index": "1", "answer": "cat", "prediction": "cat"}
    told = [(f"figures.Some: {EMPTY.format(column)}", "nothing") for column in lacked]
    assert problems(spec, [line]) == told
    assert problems(spec, [{**line, **dict.fromkeys(lacked, "x")}]) == []


def test_a_figure_that_is_left_out_has_one_notice():
    figure = {"mean_of": "level", "without": {"level": "easy", "half": "2D"}}
    spec = toy(figures={"All": "mean", "Some": figure})
    line = {"index": "1", "answer": "cat", "prediction": "cat"}
    left_out = "figures.Some: The file has no column 'level', so this is left out."
    assert problems(spec, [line]) == [(left_out, "nothing")]


def test_each_rule_that_is_used_needs_its_own_right_answers():
    own = {"kind": "number", "truth": "gold"}
    counted = {"index": "1", "form": "count", "gold": "7", "prediction": "7"}
    assert problems(toy(rule=own), [counted]) == []
    cases = [{"when": {"form": "count"}, "rule": own}, {"rule": "text"}]
    assert problems(toy(rule=cases), [counted]) == []
    named = {"index": "2", "form": "name", "answer": "cat", "prediction": "cat"}
    assert problems(toy(rule=cases), [named]) == []
    with_number = [named, {**named, "index": "3", "form": "count"}]
    lacking = "rule: The file has no 'gold'. It has 'index', 'form', 'answer', 'prediction'."
    assert (lacking, "scoring") in problems(toy(rule=cases), with_number)
    with_name = [counted, {**counted, "index": "3", "form": "name"}]
    lacking = (
        "columns.truth: The file has no 'answer'. It has 'index', 'form', 'gold', 'prediction'."
    )
    assert (lacking, "scoring") in problems(toy(rule=cases), with_name)


def test_a_column_of_a_rules_parameter_is_named():
    letters = {"kind": "letter", "options": "choices"}
    line = {"index": "1", "answer": "A", "prediction": "A"}
    told = (f"rule: {EMPTY.format('choices')}", "nothing")
    assert problems(toy(rule=letters), [line]) == [told]
    assert problems(toy(rule=letters), [{**line, "choices": "['a', 'b']"}]) == []
    digits = {"kind": "number", "as": "float", "places": "digits"}
    number = {"index": "1", "answer": "1.5", "prediction": "1.5"}
    assert problems(toy(rule=digits), [number]) == [(f"rule: {EMPTY.format('digits')}", "nothing")]


QUESTIONS = {
    "0": {"question": "What is on the sofa?", "answer": "a dog"},
    "1": {"question": "What is in the tree?", "answer": "an owl"},
    "2": {"question": "Which is larger?", "answer": "the horse"},
    "3": {"question": "Which is larger?", "answer": "the cow"},
}


def asked(*ids, **other):
    return [{"question": QUESTIONS[id]["question"], "prediction": id, **other} for id in ids]


def test_answers_without_ids_are_joined_by_their_questions_texts():
    file = read(toy(), asked("1", "0"), QUESTIONS)
    assert [(row.id, row.answer, row.cells["answer"]) for row in file.rows] == [
        ("1", "1", "an owl"),
        ("0", "0", "a dog"),
    ]
    assert [problem.blocks for problem in file.problems] == ["whole"]  # Two have no answer.
    in_order = read(toy(), asked("0", "1", "2", "3"), QUESTIONS)
    assert [row.id for row in in_order.rows] == ["0", "1", "2", "3"]
    spaced = [{"question": " What is\nin the tree? ", "prediction": "x"}]
    assert [row.id for row in read(toy(), spaced, QUESTIONS).rows] == ["1"]
    (unasked,) = read(toy(), [{"prediction": "x"}], QUESTIONS).rows
    assert unasked.id == "0"


PROMPT = "<image>\nAnswer with one word.\n{question}"


@pytest.mark.parametrize(
    ("asked_as", "published_as"), [(PROMPT, "{question}"), ("{question}", PROMPT)]
)
def test_answers_without_ids_may_have_the_question_in_a_prompt(asked_as, published_as):
    questions = {
        id: {**cells, "question": published_as.format(**cells)} for id, cells in QUESTIONS.items()
    }
    lines = [
        {"question": asked_as.format(**cells), "prediction": id} for id, cells in QUESTIONS.items()
    ]
    file = read(toy(), lines, questions)
    assert [(row.id, row.answer) for row in file.rows] == [(id, id) for id in QUESTIONS]
    assert all(problem.blocks == "nothing" for problem in file.problems)
    exchanged = read(toy(), [*reversed(lines)], questions)
    assert any(problem.blocks == "scoring" for problem in exchanged.problems)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (asked("2"), "2 questions have this text, and one is needed. Add a column 'index'."),
        (
            [{"question": "What else?", "prediction": "x"}],
            "0 questions have this text, and one is needed. Add a column 'index'.",
        ),
        (
            asked("1", index="0"),
            "This is the question of 1, not of 0. Correct the ids, or delete them.",
        ),
        (
            asked("3", index="1"),
            "This is the question of 2, not of 1. Correct the ids, or delete them.",
        ),
    ],
)
def test_an_answer_to_another_question_is_refused(lines, told):
    assert (told, "scoring") in problems(toy(), lines, QUESTIONS)


def test_a_question_in_other_words_is_counted():
    reworded = [{"index": "1", "question": "What do you see in the tree?", "prediction": "x"}]
    file = read(toy(), [*reworded, *asked("3", index="3")], QUESTIONS)
    assert (len(file.rows), file.reworded) == (2, 1)
    assert all(problem.blocks != "scoring" for problem in file.problems)


OPTIONS = {"A": "a dog", "B": "a cat", "C": "an owl", "D": "a cow"}
NUMBERS = {"A": "2", "B": "3", "C": "4", "D": "5"}


def chosen(truths, options, column="answer"):
    """Rows whose answers are A, B, C and so on, with these right answers."""
    return [
        {"index": str(number), "prediction": letter, column: truth, **options}
        for number, (truth, letter) in enumerate(zip(truths, "ABCDABCD", strict=False))
    ]


@pytest.mark.parametrize(
    ("truths", "options"),
    [
        ("1234", OPTIONS),
        ("0123", OPTIONS),
        ("2345", NUMBERS),
        (["a dog", "B", "(C)", "D"], OPTIONS),
        (["1.0", "2.0", "3.0", "4.0"], OPTIONS),
    ],
)
@pytest.mark.parametrize("own", [None, "gold"])
def test_the_whole_column_shows_how_right_options_are_written(tmp_path, truths, options, own):
    column = own or "answer"
    rule = {"kind": "letter", "truth": own} if own else "letter"
    columns = {"columns": {"truth": None}} if own else {}
    found = report(tmp_path / "m.csv", toy(rule=rule, **columns), chosen(truths, options, column))
    assert [row.reading.score for row in found.rows] == [1.0, 1.0, 1.0, 1.0]
    assert any("read as" in problem.text for problem in found.problems)


def test_rules_of_one_column_read_it_together(tmp_path):
    cases = [
        {"when": {"form": "x"}, "rule": {"kind": "letter", "final_line": "So:"}},
        {"rule": "letter"},
    ]
    lines = chosen("1234", OPTIONS)
    lines = [{**line, "form": form} for line, form in zip(lines, "xyxy", strict=True)]
    found = report(tmp_path / "m.csv", toy(rule=cases), lines)
    assert [row.reading.score for row in found.rows] == [1.0, 1.0, 1.0, 1.0]


def test_a_column_of_numbers_that_may_count_in_two_ways_is_refused():
    ((text, blocks),) = problems(toy(rule="letter"), chosen("123", OPTIONS))
    assert text.startswith("The right answers are numbers (1, 2, 3), and they may be counted from")
    assert blocks == "scoring"
    file = read(toy(rule="letter"), chosen("12347", OPTIONS))
    (misfit,) = file.problems
    assert (misfit.row, misfit.blocks) == (5, "scoring")
    assert "The answer '7' isn't one of the 4 options" in misfit.text


def test_a_question_file_shows_how_the_answered_questions_count_their_options():
    spec = toy(rule="letter", figures={"accuracy": "mean"})
    published = chosen("0123", OPTIONS)
    questions = {line["index"]: {**line, "prediction": ""} for line in published}
    answered = [{name: line[name] for name in ("index", "prediction")} for line in published[1:]]
    file = read(spec, answered, questions)
    assert [item.letter for item in items_of(spec, file.rows, "strict")] == ["B", "C", "D"]
    assert [problem.blocks for problem in file.problems if "read as" in problem.text] == ["nothing"]
    assert not [problem for problem in file.problems if problem.blocks == "scoring"]


@pytest.mark.parametrize(
    ("rule", "positive", "truths"),
    [
        ("yes_no", "Yes", ["Yes.", "No.", " yes ", "NO"]),
        ("letter", "A", ["(A)", "B.", "a dog", "B"]),
        ({"kind": "letter", "read": "standing"}, "A", ["A. a dog", "a cat", "a", "b"]),
    ],
)
def test_figures_of_an_answer_read_right_answers_as_the_rule_does(tmp_path, rule, positive, truths):
    figures = {form: {form: positive} for form in ("f1", "precision", "recall")}
    spec = toy(rule=rule, figures={"accuracy": "mean", **figures})
    answers = ["Yes", "No", "Yes", "Yes"] if rule == "yes_no" else ["A", "B", "A", "A"]
    lines = [
        {"index": str(id), "answer": truth, "prediction": answer, "A": "a dog", "B": "a cat"}
        for id, (truth, answer) in enumerate(zip(truths, answers, strict=True))
    ]
    found = means(report(tmp_path / "m.csv", spec, lines))
    assert found == pytest.approx(
        {"accuracy": 75.0, "f1": 80.0, "precision": 200 / 3, "recall": 100.0}
    )


def test_a_guess_is_among_the_options_that_are_shown(tmp_path):
    rule = {"kind": "letter", "options": "shown"}
    spec = toy(
        rule=rule, figures={"Overall": "mean", "Guess": {"mean": "rows", "chance": "options"}}
    )
    lines = [
        {"index": "1", "answer": "A", "prediction": "A", "shown": "['a dog', 'a cat']"},
        {"index": "2", "answer": "C", "prediction": "A", "shown": "['1', '2', '3', '4']"},
    ]
    assert means(report(tmp_path / "m.csv", spec, lines)) == {"Overall": 50.0, "Guess": 37.5}


@pytest.mark.parametrize("names", [("A", "B", "C"), ("first", "second", "third")])
def test_a_last_option_that_is_the_right_answer_is_one_whatever_it_says(tmp_path, names):
    spec = toy(rule="letter", columns={"options": [*names]})
    options = dict(zip(names, ("K", "Na", "NA"), strict=True))
    line = {"index": "1", "answer": "C", "prediction": "(C)", **options}
    (row,) = report(tmp_path / "m.csv", spec, [line]).rows
    assert row.reading.score == 1.0
