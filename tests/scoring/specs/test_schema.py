"""Specs are read from YAML, and every problem of one is told at once with its place."""

import json

import pytest

from arena.locale import CHINESE, speaking
from scoring.specs.figure_words import headline_words
from scoring.specs.files import load_spec
from scoring.specs.problems import SpecError
from scoring.specs.schema import name_ending, read_spec, spec_from_json
from scoring.specs.yaml_text import YamlError, read_yaml, write_yaml

WRONG = """
name: Toy
licence: 5
calld: [Toy]
columns: {truth: label, answer: label, id: {}}
derive:
  set: {from: index, part: 4}
  pair: {from: index}
  odd: {from: index, dvi: 2}
groups: [topic, topic]
rule: leter
protocols: [strict, vlmevalkid]
figures:
  Average: mean
  Score: {sum: [Average, Pairs]}
  Pairs: {all: [pair], f1: "Yes"}
  Part: men
headline: Total
questions:
  - {name: ../toy.tsv, url: "http://example.org/toy.tsv", md5: abc, rows: 0}
submission: csv
ask: "{question} of {picture}"
"""


def problems(text: str) -> list[str]:
    with pytest.raises(SpecError) as raised:
        read_spec(text.encode())
    return [str(problem) for problem in raised.value.problems]


def test_every_problem_is_told_at_once_with_its_place():
    assert problems(WRONG) == [
        "'calld' isn't one of: name, about, licence, cite, size, called, columns, derive, groups, splits, rule, "
        "protocols, figures, headline, questions, submission, published, ask. Did you mean 'called'?",
        "about: Say in a sentence what is measured.",
        "columns.id: Write a text instead of {}.",
        "derive.set: `part` needs `by`. Add the sign between the parts.",
        "derive.pair: Nothing says what is made of 'index'. Add part, less, div, mod, names, split or list.",
        "derive.odd: 'dvi' isn't one of: from, part, by, less, div, mod, names, others, split, list. Did you mean "
        "'div'?",
        "groups: 'topic' is there 2 times. Keep one of them.",
        "rule: 'leter' isn't one of: letter, yes_no, number, relaxed, anls, text, open, rubric, pairwise. "
        "Did you mean 'letter'?",
        "protocols.1: 'vlmevalkid' isn't possible here. Choose 'strict', 'vlmevalkit', 'lmms-eval', 'authors', "
        "'mmbench-paper' or 'mmt-paper'.",
        "figures.Pairs: all and f1 are separate figures. Keep one of them here.",
        "figures.Part: 'men' isn't mean or count. Write other figures as in {all: [pair]}.",
        "questions.0.name: '../toy.tsv' isn't a file name. Write one without folders.",
        "questions.0.url: 'http://example.org/toy.tsv' isn't a web address. Write one that begins with https://.",
        "questions.0.md5: 'abc' isn't an md5. Write its 32 hexadecimal digits in quotes.",
        "questions.0.rows: This is 0. It must be greater than or equal to 1.",
        "submission: 'csv' isn't possible here. Choose 'json map', 'json list', 'tsv' or 'xlsx'.",
        "ask: {picture} can't be filled in. Use {question} or {options}.",
    ]


TOY = "name: Toy\nabout: What is in a picture.\n"
RUBRIC = f"{TOY}rule:\n  kind: rubric\n  prompt: Grade {{answer}}"
PAIRWISE = f"{TOY}rule:\n  kind: pairwise\n  baseline: base\n  prompt: '{{answer_a}} {{answer_b}}'"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Write names with values, as in `name: Animals`, instead of None."),
        ("- a", "Write names with values, as in `name: Animals`, instead of ['a']."),
        (
            f"{TOY}rule: {{parts: 2}}",
            "rule: {'parts': 2} isn't a rule. Choose letter, yes_no, number",
        ),
        (
            f"{TOY}rule: {{kind: number, az: list}}",
            "rule: 'az' isn't one of: truth, as, places. Delete or correct it.",
        ),
        (f"{TOY}rule: []", "rule: The list is empty. Choose letter, yes_no, number"),
        (f"{TOY}rule: [letter]", "rule.1: Write a case, as in {when: {column: value}"),
        (
            f"{TOY}rule:\n  - {{rule: letter}}\n  - {{rule: text}}",
            "rule.1: It fits every row, so the cases below are never used",
        ),
        (
            f"{TOY}rule: [letter, {{rule: letter}}, {{rule: text}}]",
            "rule.2: It fits every row, so the cases below are never used",
        ),
        (
            f"{TOY}rule: text\nheadline: Total",
            "headline: 'Total' isn't one of: Overall. Correct it.",
        ),
        (
            f"{TOY}rule: text\nfigures:\n  x: {{sum: y}}\n  y: mean",
            "figures.x: It's made of 'y', which isn't a figure above it",
        ),
        (
            f"{TOY}rule: text\nprotocols: [strict, vlmevalkit]\nfigures:\n"
            "  y: {mean: rows, protocol: strict}\n  x: {sum: y}",
            "figures.x: It's made of 'y', which exists only under strict. Give it the same `protocol`.",
        ),
        (
            f"{TOY}rule: text\nprotocols: [strict, vlmevalkit]\nfigures:\n"
            "  y: {mean: rows, protocol: strict}",
            "figures: There is none under the protocol vlmevalkit. Add one.",
        ),
        (
            f"{TOY}rule: text\nprotocols: [strict, vlmevalkit]\nheadline: {{lmms-eval: Overall}}",
            "headline: 'lmms-eval' isn't a protocol of this spec. Choose from strict, vlmevalkit.",
        ),
        (
            f"{TOY}rule: text\nderive: {{kind: {{from: topic, others: none, part: 1, by: _}}}}",
            "derive.kind: `others` needs `names`. Add texts for the known cells.",
        ),
        (
            f"{TOY}rule: text\nderive: {{kind: {{from: topic, split: ',', list: ','}}}}",
            "derive.kind: `split` and `list` count in different ways. Keep one of them.",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{x: {{mean: rows, chance: options, frequent: topic}}}}",
            "figures.x: `chance` and `frequent` are separate guesses. Keep one of them here.",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{x: {{all: [topic], chance: options}}}}",
            "figures.x: A guess has no all. Use mean or mean_of.",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{x: {{mean: rows, chance: options}}}}",
            "figures: Under the protocol strict, all of them are guesses. Add one that isn't.",
        ),
        (
            f"{TOY}rule: letter\nheadline: x\nfigures: {{y: mean, x: {{mean: rows, chance: options}}}}",
            "headline: 'x' is a guess, not a model's score. Choose another figure.",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{x: {{mean: rows, chance: options}}, y: {{sum: x}}}}",
            "figures.y: It's made of 'x', which is a guess. Name figures of answers.",
        ),
        (
            f"{TOY}rule: anls\nprotocols: [mmt-paper]",
            "protocols: The rule anls has no protocol 'mmt-paper'. Choose from",
        ),
        (
            f"{TOY}rule: text\nsubmission: tsv",
            "submission: Every question file has answers, so there's nothing to submit. Mark one",
        ),
        (
            f"{TOY}rule: text\ncolumns: {{answer: answer}}",
            "columns.answer: 'answer' is already the column of the right answer. Name another.",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{F1: {{f1: 'Yes'}}}}",
            "figures.F1: f1 counts 'Yes', which the rule letter never reads. Use the rule yes_no",
        ),
        (
            f"{TOY}rule: yes_no\nfigures: {{x: {{recall: maybe}}}}",
            "figures.x: recall counts 'maybe', which the rule yes_no never reads",
        ),
        (
            f"{TOY}rule: text\nderive: {{kind: {{from: prediction, split: ','}}}}",
            "derive.kind: 'prediction' is the model's answer, which can't group questions. Name another",
        ),
        (
            f"{TOY}rule: text\nfigures: {{x: {{over: a}}}}",
            "figures.x: Nothing says how it is computed. Add mean, count",
        ),
        (f"{RUBRIC}", "rule.grades: This is missing. Add it."),
        (
            f"{RUBRIC}\n  grades: [2, 0]",
            "rule: Grades go from the lowest to the highest, and these are [2, 0]. Correct them.",
        ),
        (
            f"{RUBRIC}\n  grades: [0, 2]\n  step: 0.3",
            "rule: Grades in steps of 0.3 don't lead from 0 to 2",
        ),
        (
            f"{RUBRIC}\n  grades: [0, 2]\nprotocols: [vlmevalkit]",
            "protocols: The rule rubric has no protocol 'vlmevalkit'. Choose from strict",
        ),
        (
            f"{RUBRIC} {{truth}}\n  grades: [0, 2]\ncolumns: {{truth: null}}",
            "rule: The prompt has {truth}, but columns.truth is null. Name the column there.",
        ),
        (
            f"{TOY}rule: {{kind: rubric, prompt: Grade it., grades: [0, 1]}}",
            "rule: The prompt has no {answer}, where the answer goes. Add it.",
        ),
        (
            f"{TOY}rule: {{kind: rubric, prompt: mine.txt, grades: [0, 1]}}",
            "rule.prompt: The file 'mine.txt' isn't beside the spec. Put it there",
        ),
        (
            f"{TOY}rule: text\nfigures: {{x: {{ratio: marks}}}}",
            "figures.x: It's made of two marks, which only a rubric with `marks: 2` gives",
        ),
        (
            f"{PAIRWISE}\n  verdicts: {{A: 0, B: 1, C: 3}}",
            "rule: The verdict 'B' has no counterpart in the other order. Add one with the value 2.",
        ),
        (
            f"{PAIRWISE}\n  verdicts: {{A: 0, '[B]': 1}}",
            "'[B]' isn't a label. Write one such as 'A>B'.",
        ),
        (
            f"{PAIRWISE}\n  verdicts: {{A: 0, B: 1}}\nprotocols: lmms-eval",
            "protocols: The rule pairwise has no protocol 'lmms-eval'. Choose from strict",
        ),
        (f"name: {'x' * 81}\n", "name: This has more than 80 characters. Shorten it."),
        (f"{TOY}rule: text\npublished: table.csv", "published: Write a list"),
        ("x" * 70_000, "The file has 70,000 bytes, and a spec has 64,000 at most. Shorten it."),
        ("a: &x 1\nb: *x", "line 1, column 4: This begins with & or *, for an anchor or alias."),
        ("a: !!python/name:os.system x", "line 1, column 4: This begins with !, for a tag"),
        ('name: "a\\u202eb"', "name: 'a<U+202E>b' has an invisible sign. Delete it."),
        ("a: 1\na: 2", "line 2, column 1: 'a' is here twice. Keep one of them."),
        ("[" * 30, "This is nested more than 20 levels deep"),
        ("a\n---\nb", "A second document begins"),
        ("a: [1", "line 2, column 1"),
        ("a: \x00", "Line 1 has the sign '\\x00'. Delete it."),
    ],
)
def test_a_problem_is_told_in_a_sentence(text, told):
    found = problems(text)
    assert any(problem.startswith(told) or told in problem for problem in found), found


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ("protocols: [stric]\nheadline: {strict: Overall}", "protocols.0"),
        ("columns: {answer: response, id: []}\ngroups: [prediction]", "columns.id"),
        ("submission: tsv\nquestions: [{name: a/b, answers: absent}]", "questions.0.name"),
    ],
)
def test_a_wrong_field_makes_no_other_field_wrong(fields, place):
    (problem,) = problems(f"{TOY}rule: letter\n{fields}")
    assert problem.startswith(f"{place}: ")


def test_a_headline_of_one_letter_names_the_letter():
    spec = "name: Toy\nabout: Pets.\nrule: {kind}\nfigures: {{F1: {{f1: {positive}}}}}"
    letter = read_spec(spec.format(kind="letter", positive="A").encode())
    word = read_spec(spec.format(kind="yes_no", positive="'Yes'").encode())
    assert [headline_words(letter), headline_words(word)] == ["F1 of A", "F1 of yes"]


def test_a_headline_is_named_once_in_any_language():
    fields = "grades: [1, 5]\nfigures: {Mean mark: {mark: 1}}"
    spec = read_spec(f"{RUBRIC}\n  {fields}".encode())
    assert headline_words(spec) == "mean mark"
    with speaking(CHINESE):
        assert headline_words(spec) == "平均分"


def test_words_stay_the_texts_that_were_written():
    read = read_yaml(
        b"a: yes\nb: 2024-01-01\nc: 0123\nd: 1.50\ne: null\nf: 'null'\ng: -7\nh: 0.5\n1: x"
    )
    assert read == {
        **{"a": "yes", "b": "2024-01-01", "c": "0123", "d": "1.50", "e": None, "f": "null"},
        **{"g": -7, "h": 0.5, "1": "x"},
    }
    texts = [
        "",
        " x",
        "x\ny",
        "- a",
        "yes",
        "1",
        "1.5",
        "~",
        "null",
        "# no",
        "a: b",
        "\u2028",
        "é\r",
    ]
    assert read_yaml(write_yaml({"texts": texts}).encode()) == {"texts": texts}
    with pytest.raises(YamlError, match="Byte 2 isn't UTF-8"):
        read_yaml(b"a\xff")


def test_a_spec_is_the_same_however_it_is_written():
    first = read_spec(b"rule: letter\nabout: Pets.\nname: Toy\ngroups: kind\ncalled: Toy")
    second = read_spec(
        b"{name: Toy, about: Pets., called: [Toy], groups: [kind], rule: {kind: letter}, protocols: [strict]}"
    )
    assert first == second and first.digest == second.digest
    assert read_spec(first.yaml.encode()) == first == spec_from_json(first.json_text)
    assert json.loads(first.json_text)["rule"] == "letter"
    other = read_spec(b"rule: letter\nabout: Pets!\nname: Toy\ngroups: kind\ncalled: Toy")
    assert other.digest != first.digest


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("llava_7b_Toy.xlsx", "Toy"),
        ("20260801_samples_toy.jsonl", "Toy"),
        ("Toy.csv", "Toy"),
        ("m_Toy_mini.tsv", "Toy_mini"),
        ("m_Toy_result.tsv", ""),
        ("mytoy.csv", ""),
    ],
)
def test_a_file_is_a_specs_by_the_end_of_its_name(file, name):
    spec = read_spec(f"{TOY}rule: letter\ncalled: [Toy, Toy_mini]".encode())
    assert name_ending(spec, file) == name


def test_published_numbers_lie_beside_the_spec_and_nowhere_else(tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_text(f"{TOY}rule: text\npublished: toy.csv\n")
    table = "model,figure,score,protocol,source\nvlm,Overall,61.5,strict,Table 2\n"
    with pytest.raises(
        SpecError, match=r"toy\.yaml: published: The file 'toy\.csv' isn't beside the spec"
    ):
        load_spec(path)
    (tmp_path / "toy.csv").write_text(table)
    assert load_spec(path).published[0].score == 61.5
    (tmp_path / "toy.csv").write_text(table.replace("Overall", "Total"))
    with pytest.raises(SpecError, match=r"published\.1\.figure: 'Total' isn't one of: Overall"):
        load_spec(path)
    (tmp_path / "toy.csv").write_text("model,score\nvlm,1\n")
    with pytest.raises(
        SpecError, match="doesn't have the columns model, figure, score, protocol, source"
    ):
        load_spec(path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text(table)
    for name in ("outside/secret.csv", str(outside / "secret.csv"), "../toy.csv"):
        path.write_text(f"{TOY}rule: text\npublished: {name}\n")
        with pytest.raises(SpecError, match="published: The file .* isn't beside the spec"):
            load_spec(path)
    (tmp_path / "link.csv").symlink_to(outside / "secret.csv")
    path.write_text(f"{TOY}rule: text\npublished: link.csv\n")
    with pytest.raises(SpecError, match="published: The file .* isn't beside the spec"):
        load_spec(path)
