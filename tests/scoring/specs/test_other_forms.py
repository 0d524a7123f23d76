"""Benchmarks of other forms become specs, with all that is not taken; specs are written in other forms."""

import csv

import pandas
import pytest

from scoring.benchmarks.kit_table import KitTableError, kit_table
from scoring.benchmarks.spec_benchmark import SpecBenchmark
from scoring.registry import BENCHMARKS
from scoring.specs.hub_eval import eval_yaml
from scoring.specs.other_forms import load_benchmark, load_benchmarks, own_spec
from scoring.specs.problems import SpecError
from scoring.specs.schema import Spec, read_spec
from scoring.specs.translated import comment, shortened
from scoring.specs.yaml_text import read_yaml
from tests.support.other_forms import EVAL, TASK, TEMPLATE


def problems(path, text: str | None = None) -> list[str]:
    if text is not None:
        path.write_text(text)
    with pytest.raises(SpecError) as raised:
        load_benchmarks(path)
    assert str(raised.value).startswith(path.name)
    return [str(problem) for problem in raised.value.problems]


def spec_of(key: str) -> Spec:
    benchmark = BENCHMARKS[key]
    assert isinstance(benchmark, SpecBenchmark)
    return benchmark.spec


def test_an_eval_yaml_is_read_task_by_task(tmp_path):
    path = tmp_path / "eval.yaml"
    path.write_text(EVAL)
    cages, names = load_benchmarks(path)
    assert cages.spec.plain == {
        "name": "Zoo: zoo:cages",
        "about": "Questions on animals that a keeper asks, with a picture each.",
        "columns": {"options": ["options"], "images": ["image"]},
        "groups": ["house"],
        "rule": "letter",
        "questions": [
            {
                "name": "zoo_cages",
                "split": "validation",
                "note": "data set on the Hub, configuration cages",
            }
        ],
    }
    assert cages.left_out == (
        "maintainer: no field that we know",
        "field_spec.target: numbers count from 0 there. Write letters into 'answer' instead.",
        "solvers.chain_of_thought: how the model is asked is not read",
        "solvers.multiple_choice: how the model is asked is not read",
        "scorers.f1: not read; the score is that of choice",
        "shuffle_choices: options are not shuffled",
        "epochs: each question is scored once, not 4 times",
        "epoch_reducer: not read",
    )
    assert names.spec.columns.id == "no" and names.spec.columns.truth == "a"
    assert names.spec.ask == "Look at the picture.\n{question}\n"
    [case] = names.spec.rule
    rule = case.rule.model_dump()
    assert (rule["kind"], rule["grades"], rule["step"]) == ("rubric", (0, 1), 1)
    assert names.left_out[1:] == (
        "field_spec.sandbox: not read",
        "scorers.model_graded_fact.args: model not read",
        "scorers.model_graded_fact: the judge is asked in our words",
    )
    assert load_benchmark(path, "zoo:names").spec == names.spec
    assert "- name: model_graded_qa\n" in eval_yaml(names.spec)
    for task in (None, "zoo"):
        with pytest.raises(SpecError, match="zoo:cages.*zoo:names"):
            load_benchmark(path, task)


def test_a_missing_file_has_the_name_that_its_owner_knows(tmp_path):
    with pytest.raises(SpecError, match=r"^mine\.yaml: The file can't be read"):
        own_spec(tmp_path / "upload-1", "mine.yaml", lambda name: None)


@pytest.mark.parametrize(
    ("scorer", "rule"),
    [
        ("exact", "text"),
        ("includes", {"kind": "text", "compare": "contains"}),
        ("math", {"kind": "number", "as": "formula"}),
    ],
)
def test_scorers_are_rules(tmp_path, scorer, rule):
    path = tmp_path / "eval.yaml"
    path.write_text(
        "tasks: [{field_spec: {input: question, target: answer}, solvers: [{name: generate}], "
        f"scorers: [{{name: {scorer}}}]}}]"
    )
    [task] = load_benchmarks(path)
    assert task.spec.plain["rule"] == rule and not task.left_out
    assert f"- name: {scorer}\n" in eval_yaml(task.spec)


def test_columns_beyond_the_groups_that_a_spec_may_have_are_left_out(tmp_path):
    names = [f"level {number}" for number in range(1, 24)]
    path = tmp_path / "eval.yaml"
    path.write_text(
        f"tasks: [{{field_spec: {{input: question, target: answer, metadata: {names}}}, "
        "solvers: [{name: generate}], scorers: [{name: exact}]}]"
    )
    [task] = load_benchmarks(path)
    assert task.spec.groups == (*names[:20],)
    [left_out] = task.left_out
    assert left_out.startswith("field_spec.metadata: ")
    assert left_out.endswith(": level 21, level 22, level 23")


def test_a_broken_eval_yaml_is_told_with_all_its_places(tmp_path):
    path = tmp_path / "eval.yaml"
    broken = """
name: [Zoo]
tasks:
  - {field_spec: {input: q, target: "literal:A", choice: a}, solvers: [], scorers: [{name: choice}], epoch: 1}
  - {id: b, field_spec: {input: q, target: "literal:A"}, solvers: [{name: generate}], scorers: [{name: choice}]}
  - {field_spec: {input: q, target: a}, solvers: [{name: generate}], scorers: [{name: match}, {name: pattern}]}
  - 3
"""
    scorers = "choice, exact, includes, math, model_graded_qa or model_graded_fact"
    assert problems(path, broken) == [
        "name: Write a text instead of ['Zoo'].",
        "tasks.1.field_spec: 'choice' isn't one of: input, target, choices, input_image, metadata, id, sandbox, files, "
        "setup. Did you mean 'choices'?",
        "tasks.1.solvers: This is empty. Fill it in, or leave out the whole entry.",
        "tasks.1: 'epoch' isn't one of: id, config, split, field_spec, shuffle_choices, epochs, epoch_reducer, "
        "solvers, scorers. Did you mean 'epochs'?",
        "tasks.2.field_spec.target: 'literal:A' is one answer for all questions. Name a column.",
        "tasks.2.field_spec.choices: This is missing. Name the columns of options.",
        f"tasks.3.scorers: We don't know 'match' or 'pattern'. Choose {scorers}.",
        "tasks.3.id: This is missing. Give each of several tasks its own id.",
        "tasks.4: Write names with values, as in `name: value`, instead of 3.",
    ]
    task = (
        "field_spec: {input: q, target: a}, solvers: [{name: generate}], scorers: [{name: exact}]"
    )
    assert problems(path, f"tasks: [{{id: a, {task}}}, {{id: a, {task}}}]") == [
        "tasks.2.id: 'a' is another task's id. Give each of several tasks its own id."
    ]
    assert problems(path, "name: [Zoo]\nevaluation_framework: math-arena\ntasks: {}") == [
        "name: Write a text instead of ['Zoo'].",
        "evaluation_framework: 'math-arena' scores its tasks with its own code. Choose a file for inspect-ai.",
    ]
    assert problems(path, "evaluation_framework: math-arena\ntasks: [{id: a}]") == [
        "evaluation_framework: 'math-arena' scores its tasks with its own code. Choose a file for inspect-ai."
    ]
    assert problems(path, "tasks: {}") == [
        "tasks: Write a list of tasks, each with field_spec, solvers and scorers, instead of {}."
    ]
    assert problems(path, "tasks: [!!python/object:os.system ls]") == [
        "line 1, column 9: This begins with !, for a tag. Delete it, or put it in quotes."
    ]


WRITTEN = """
name: "Keeper's\\nquestions"
about: Whether a model knows what a keeper knows.
columns: {question: q, truth: label, options: [A, B, C], images: photo}
groups: [house, wing]
derive: {wing: {from: house, part: 1, by: "-"}}
splits: part
rule: letter
figures: {Overall: mean, pairs: {all: [house]}}
questions: [{name: keeper.tsv, split: dev}]
"""


def test_a_spec_is_written_as_an_eval_yaml_and_reads_back(tmp_path):
    spec = read_spec(WRITTEN.encode())
    path = tmp_path / "eval.yaml"
    path.write_text(eval_yaml(spec))
    assert path.read_text().splitlines()[:4] == [
        f"# Keeper's questions, spec {spec.digest[:8]}. inspect_ai scores answers by its own rules.",
        "# Not written: figures pairs.",
        "# Not written: groups wing, which are made of other columns.",
        "# Not written: splits by 'part'. A task has one split of the data set.",
    ]
    [back] = load_benchmarks(path)
    assert back.spec.name == "Keeper's questions" and back.spec.about == spec.about
    assert back.spec.columns == spec.columns and back.spec.rule == spec.rule
    assert back.spec.groups == ("house",) and back.spec.questions[0].split == "dev"


def test_columns_that_no_file_has_are_not_written():
    derived_picture = WRITTEN.replace("images: photo", "images: wing")
    text = eval_yaml(read_spec(derived_picture.encode()))
    assert "# Not written: pictures wing, which are made of other columns.\n" in text
    assert "input_image" not in text
    derived_truth = WRITTEN.replace("label", "wing").replace("[house, wing]", "[house]")
    with pytest.raises(SpecError) as raised:
        eval_yaml(read_spec(derived_truth.encode()))
    assert [str(problem) for problem in raised.value.problems] == [
        "columns: 'wing' is made of another column, which the Hub's eval.yaml can't express. Name one of the file's."
    ]


def test_tasks_of_a_file_without_a_name_are_named_once(tmp_path):
    path = tmp_path / "eval.yaml"
    task = (
        "field_spec: {input: q, target: a}, solvers: [{name: generate}], scorers: [{name: exact}]"
    )
    path.write_text(f"tasks: [{{id: zoo, {task}}}, {{id: farm, {task}}}]")
    assert [task.spec.name for task in load_benchmarks(path)] == ["zoo", "farm"]


@pytest.mark.parametrize("key", ["gqa", "mmstar", "mmmu_pro", "ai2d", "mmmb"])
def test_ours_that_are_plain_are_written(key, tmp_path):
    spec = spec_of(key)
    path = tmp_path / "eval.yaml"
    path.write_text(eval_yaml(spec, ["index", "A", "B", "C", "D"]))
    [back] = load_benchmarks(path)
    assert back.spec.rule == spec.rule and back.spec.groups == spec.groups
    if "letter" in spec.kinds:
        assert back.spec.columns.options == ("A", "B", "C", "D")


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("pope", "rule: The rule yes_no as written here isn't a scorer of the Hub's eval.yaml."),
        ("pope", "figures.F1: The Hub's eval.yaml has only the mean of all rows, not f1."),
        (
            "mathvista",
            "rule: The rule has cases, and the Hub's eval.yaml has one rule for all rows.",
        ),
        ("mmvp", "only the mean of all rows, not all."),
        ("mmmu", "letter as written here isn't a scorer"),
        ("textvqa", "text as written here isn't a scorer"),
        ("mmstar", "columns.options: No columns of options are known. Name them"),
    ],
)
def test_what_an_eval_yaml_cannot_say_is_refused(key, told):
    with pytest.raises(SpecError) as raised:
        eval_yaml(spec_of(key))
    assert told in str(raised.value)


def test_a_task_of_lmms_eval_is_read_without_its_code(tmp_path):
    path = tmp_path / "zoo_val.yaml"
    path.write_text(TASK)
    (tmp_path / "_zoo_template_yaml").write_text(TEMPLATE)
    (tmp_path / "utils.py").write_text("raise SystemExit('was run')")
    [task] = load_benchmarks(path)
    assert task.spec.plain == {
        "name": "zoo_val",
        "about": "lmms-eval's task zoo_val; data set somebody/zoo, configuration names.",
        "called": ["zoo_val"],
        "columns": {"truth": "answers"},
        "rule": "anls",
        "protocols": ["strict", "lmms-eval"],
        "questions": [
            {
                "name": "zoo_val",
                "split": "validation",
                "note": "data set somebody/zoo, configuration names",
            }
        ],
    }
    assert task.left_out == (
        "doc_to_visual: !function utils.zoo_pictures, which is never run",
        "lmms_eval_specific_kwargs: not read",
        "metric_list: zoo_score",
    )


MATCH = """
task: zoo
dataset_path: somebody/zoo
doc_to_target: "{{answer}}"
filter_list: [{name: letters}]
metric_list: [{metric: exact_match, ignore_case: IGNORED, ignore_punctuation: true}]
"""


@pytest.mark.parametrize(
    ("ignored", "rule"),
    [
        ("true", "text"),
        ("Yes", "text"),
        ("ON", "text"),
        ("false", {"kind": "text", "fold": "none"}),
    ],
)
def test_exact_match_is_equal_text_of_our_own_protocol(tmp_path, ignored, rule):
    path = tmp_path / "zoo.yaml"
    path.write_text(MATCH.replace("IGNORED", ignored))
    [task] = load_benchmarks(path)
    assert task.spec.plain["rule"] == rule and task.spec.protocols == ("strict",)
    assert task.left_out == (
        "filter_list: what its filters take out of an answer is not taken out here",
        "metric_list.exact_match: ignore_punctuation",
    )


@pytest.mark.parametrize(
    ("metric", "name"),
    [("{metric: exact_match, aggregation: median}", "exact_match"), ("anls", "anls")],
)
def test_a_known_metric_that_is_no_mean_is_not_called_unknown(tmp_path, metric, name):
    text = f"task: zoo\ndataset_path: d\ndoc_to_target: answer\nmetric_list: [{metric}]"
    assert problems(tmp_path / "zoo.yaml", text) == [
        f"metric_list: We read {name} only as {{metric: {name}, aggregation: mean}}. Write it like that."
    ]


def test_a_broken_task_is_told_and_reads_nothing_outside_its_folder(tmp_path):
    folder = tmp_path / "zoo"
    folder.mkdir()
    path = folder / "zoo.yaml"
    assert problems(
        path, "task: zoo\ndoc_to_target: '{{a}} or {{b}}'\nmetric_list: [{metric: f}]"
    ) == [
        "dataset_path: Write a name instead of None.",
        "doc_to_target: Write the column of right answers instead of '{{a}} or {{b}}'.",
        "metric_list: We don't know 'f'. Choose exact_match or anls.",
    ]
    code = "task: z\ndataset_path: d\ndoc_to_target: !function u.t\nprocess_results: !function u.p"
    assert problems(path, code) == [
        "doc_to_target: Write the column of right answers instead of !function u.t.",
        "process_results: !function u.p computes the metrics, and a task's code is never run. Write the spec's rule "
        "yourself.",
    ]
    assert problems(path, "task: [a, b]\ngroup: g") == [
        "task: This is a group of tasks. Choose the file of one of them."
    ]
    (tmp_path / "secret.yaml").write_text(TEMPLATE)
    (folder / "linked").symlink_to(tmp_path / "secret.yaml")
    for name in ("../secret.yaml", str(tmp_path / "secret.yaml"), "linked", "absent", "[1]"):
        [told] = problems(path, f"task: zoo\ninclude: {name}")
        assert told.startswith("include: The file ")
        assert told.endswith("isn't in this folder. Put it there.")
    [told] = problems(path, "task: zoo\ninclude: zoo.yaml")
    assert told == "include: The file 'zoo.yaml' is one too many: 20 may be included. Join some."
    (folder / "list").write_text("[1]")
    (folder / "tags").write_text("a: !!python/object:os.system x")
    assert problems(path, "task: zoo\ninclude: list") == [
        "include: list: Write names with values, as in `name: value`, instead of [1]."
    ]
    assert "This begins with !, for a tag" in problems(path, "task: zoo\ninclude: tags")[0]


QUESTIONS = """index,image,question,A,B,C,answer,house,keeper,part
7,aGVsbG8=,"What\tis it,
""then""?",cat,dog,None,cat,cats,Ann,dev
8,7,Where?,in,out,,B,birds,Bob,test
"""
TABLE = """
name: Zoo
about: Choice questions.
groups: [house, keeper, part]
splits: part
rule: letter
figures: {Overall: mean, pairs: {all: [house]}}
"""


def test_questions_are_written_as_the_toolkits_table(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(QUESTIONS)
    table = kit_table(read_spec(TABLE.encode()), path)
    out = tmp_path / "Zoo.tsv"
    table.write(out)
    with out.open(newline="") as file:
        assert [*csv.reader(file, delimiter="\t")] == [
            [
                "index",
                "image",
                "question",
                "A",
                "B",
                "C",
                "answer",
                "category",
                "l2-category",
                "split",
            ],
            [
                "7",
                "aGVsbG8=",
                'What\tis it,\n"then"?',
                "cat",
                "dog",
                "None",
                "A",
                "cats",
                "Ann",
                "dev",
            ],
            ["8", "7", "Where?", "in", "out", "", "B", "birds", "Bob", "test"],
        ]
    frame = pandas.read_csv(out, sep="\t")  # as the toolkit does
    assert [*frame["answer"]] == ["A", "B"] and frame["question"][0] == 'What\tis it,\n"then"?'
    assert table.notes == [
        "house is written as category",
        "keeper is written as l2-category",
        "not written: groups part; the toolkit has category and l2-category",
        "the toolkit tells Overall and groups, and no pairs",
        "1 question (7) with an option or group such as None, which the toolkit reads as an empty cell",
    ]
    assert pandas.isna(frame["C"][0])


def test_a_group_that_the_toolkit_reads_as_an_empty_cell_is_told(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(QUESTIONS.replace("Bob", "N/A"))
    table = kit_table(read_spec(TABLE.encode()), path)
    table.write(tmp_path / "Zoo.tsv")
    told = "2 questions (7, 8) with an option or group such as None, which the toolkit reads as an empty cell"
    assert told in table.notes
    assert pandas.isna(pandas.read_csv(tmp_path / "Zoo.tsv", sep="\t")["l2-category"][1])


def test_options_in_a_list_and_answers_by_place_become_letters(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text(
        '{"index": 1, "question": "q", "options": ["x", "y", "z"], "answer": 0, "l2_category": "b", "kind": "a"}\n'
        '{"index": 2, "question": "q", "options": ["x", "y"], "answer": 1, "l2_category": "b", "kind": "c"}\n'
    )
    spec = read_spec(b"name: Z\nabout: z\ngroups: [l2_category, kind]\nrule: letter")
    table = kit_table(spec, path)
    assert [question.answer for question in table.questions] == ["A", "B"]
    assert [question.groups for question in table.questions] == [["a", "b"], ["c", "b"]]
    assert table.notes == ["kind is written as category"]


def test_a_derived_split_is_written(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text("index,question,A,B,answer\ndev_1,q,x,y,A\ntest_2,q,x,y,B\n")
    spec = "name: Z\nabout: z\nrule: letter\nsplits: part\nderive: {part: {from: index, part: 1, by: _}}"
    table = kit_table(read_spec(spec.encode()), path)
    assert [question.split for question in table.questions] == ["dev", "test"]


def test_pictures_that_the_first_question_lacks_are_written(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text(
        '{"index": 1, "question": "q", "A": "x", "B": "y", "answer": "A"}\n'
        '{"index": 2, "question": "q", "A": "x", "B": "y", "answer": "B", "image": "aGVsbG8="}\n'
    )
    out = tmp_path / "Z.tsv"
    kit_table(read_spec(b"name: Z\nabout: z\nrule: letter"), path).write(out)
    assert [*pandas.read_csv(out, sep="\t", keep_default_na=False)["image"]] == ["", "aGVsbG8="]


def test_a_lone_group_keeps_the_toolkits_name(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text("index,question,A,B,answer,l2_category\n1,q,x,y,A,Animals\n")
    spec = read_spec(b"name: Z\nabout: z\ngroups: [l2_category]\nrule: letter")
    table = kit_table(spec, path)
    out = tmp_path / "Z.tsv"
    table.write(out)
    assert pandas.read_csv(out, sep="\t").columns[-1] == "l2-category"
    assert table.notes == []


@pytest.mark.parametrize("text", ["NaN", "-nan", "-NaN", "#N/A N/A", "1.#IND", "-1.#QNAN"])
def test_every_option_that_pandas_reads_as_empty_is_told(tmp_path, text):
    path = tmp_path / "questions.csv"
    path.write_text(f"index,question,A,B,answer\n1,q,{text},y,B\n")
    table = kit_table(read_spec(b"name: Z\nabout: z\nrule: letter"), path)
    out = tmp_path / "Z.tsv"
    table.write(out)
    assert pandas.isna(pandas.read_csv(out, sep="\t")["A"][0])
    assert len(table.notes) == 1 and table.notes[0].startswith("1 question (1) with an option or")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            "1,q,a,,A",
            "Fewer than two options: 1 question (1). Add some, or leave these questions out.",
        ),
        ("1,q,a,b,D", "The right answer isn't one of the options: 1 question (1). Correct it."),
        (
            "1,q,a,b,A\n2,q,a,b,",
            "No right answer: 1 question (2). Add it, or leave these questions out.",
        ),
    ],
)
def test_questions_that_the_toolkit_would_score_wrongly_are_refused(tmp_path, row, told):
    path = tmp_path / "questions.csv"
    path.write_text(f"index,question,A,B,answer\n{row}\n")
    with pytest.raises(KitTableError) as raised:
        kit_table(read_spec(b"name: Z\nabout: z\nrule: letter"), path)
    assert str(raised.value) == told


@pytest.mark.parametrize(
    ("key", "told"), [("pope", "The rule is yes_no."), ("mmmu", "The rule has open questions.")]
)
def test_what_the_toolkit_does_not_score_of_a_table_is_refused(tmp_path, key, told):
    with pytest.raises(SpecError, match=told):
        kit_table(spec_of(key), tmp_path / "absent.csv")


def test_a_shortened_text_keeps_each_whole_word_that_has_room():
    assert shortened("one two three", 8) == "one two…"
    assert shortened("one two three", 7) == "one…"
    assert shortened("one two", 7) == "one two"
    assert shortened("abcdefgh ij", 5) == "abcd…"


def test_a_comment_is_one_whatever_its_text_holds():
    text = comment("a\x07b\nc: 1 \ud800猫")
    assert text == "# a b c: 1 猫\n"
    assert read_yaml(f"{text}key: word\n".encode()) == {"key": "word"}
