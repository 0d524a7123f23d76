"""Specs are read from YAML, and every problem of one is told at once with its place."""

import json

import pytest

from scoring.specs.files import load_spec
from scoring.specs.problems import SpecError
from scoring.specs.schema import is_called, read_spec, spec_from_json
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
        "'calld' is none of name, about, licence, cite, size, called, columns, derive, groups, splits, rule, "
        "protocols, figures, headline, questions, submission, published, ask (did you mean 'called'?). Delete or "
        "correct it.",
        "about: Say in a sentence what is measured.",
        "columns.id: Write a text instead of {}.",
        "derive.set: part needs by, the sign between the parts",
        "derive.pair: say what is made of 'index': part, less, div, mod, names, split or list",
        "derive.odd: 'dvi' is none of from, part, by, less, div, mod, names, others, split, list (did you mean "
        "'div'?). Delete or correct it.",
        "groups: 'topic' is named 2 times; keep one",
        "rule: 'leter' is none of letter, yes_no, number, relaxed, anls, text, open, rubric, pairwise "
        "(did you mean 'letter'?)",
        "protocols.1: 'vlmevalkid' is not 'strict', 'vlmevalkit', 'lmms-eval', 'authors', 'mmbench-paper' or "
        "'mmt-paper'",
        "figures.Pairs: all and f1 are two figures; keep one of them here",
        "figures.Part: 'men' is none of mean, count (did you mean 'mean'?); other figures are written as in {all: "
        "[pair]}",
        "questions.0.name: expected a file's name without folders, found '../toy.tsv'",
        "questions.0.url: expected an address that begins with https://, found 'http://example.org/toy.tsv'",
        "questions.0.md5: expected 32 hexadecimal digits in quotes, found 'abc'",
        "questions.0.rows: expected greater than or equal to 1, found 0",
        "submission: 'csv' is not 'json map', 'json list', 'tsv' or 'xlsx'",
        "ask: {picture} is none of {question} or {options}",
    ]


TOY = "name: Toy\nabout: What is in a picture.\n"
RUBRIC = f"{TOY}rule:\n  kind: rubric\n  prompt: Grade {{answer}}"
PAIRWISE = f"{TOY}rule:\n  kind: pairwise\n  baseline: base\n  prompt: '{{answer_a}} {{answer_b}}'"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected names with values, such as `name: Animals`, found None"),
        ("- a", "expected names with values, such as `name: Animals`, found ['a']"),
        (f"{TOY}rule: {{parts: 2}}", "rule: choose one of letter, yes_no, number"),
        (f"{TOY}rule: []", "rule: choose one of letter, yes_no, number"),
        (f"{TOY}rule: [letter]", "rule.1: expected a case as in {when: {column: value}"),
        (
            f"{TOY}rule:\n  - {{rule: letter}}\n  - {{rule: text}}",
            "rule.1: fits every row, so that the cases below are never used",
        ),
        (f"{TOY}rule: text\nheadline: Total", "headline: 'Total' is none of the figures Overall"),
        (
            f"{TOY}rule: text\nfigures:\n  x: {{sum: y}}\n  y: mean",
            "figures.x: is made of 'y', which is no figure above it",
        ),
        (
            f"{TOY}rule: text\nprotocols: [strict, vlmevalkit]\nfigures:\n"
            "  y: {mean: rows, protocol: strict}\n  x: {sum: y}",
            "figures.x: is made of 'y', which is told under strict only; give it the same `protocol`",
        ),
        (
            f"{TOY}rule: text\nprotocols: [strict, vlmevalkit]\nfigures:\n"
            "  y: {mean: rows, protocol: strict}",
            "figures: none of them is told under vlmevalkit; add one",
        ),
        (
            f"{TOY}rule: text\nprotocols: [strict, vlmevalkit]\nheadline: {{lmms-eval: Overall}}",
            "headline: 'lmms-eval' is none of the protocols of this spec",
        ),
        (
            f"{TOY}rule: text\nderive: {{kind: {{from: topic, others: none, part: 1, by: _}}}}",
            "derive.kind: others needs names, the texts of the known cells",
        ),
        (
            f"{TOY}rule: text\nderive: {{kind: {{from: topic, split: ',', list: ','}}}}",
            "derive.kind: split and list are two ways of counting; keep one of them",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{x: {{mean: rows, chance: options, frequent: topic}}}}",
            "figures.x: chance and frequent are two guesses; keep one of them here",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{x: {{all: [topic], chance: options}}}}",
            "figures.x: a guess has no all; use mean or mean_of",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{x: {{mean: rows, chance: options}}}}",
            "figures: all of them are guesses under strict; add one",
        ),
        (
            f"{TOY}rule: letter\nheadline: x\nfigures: {{y: mean, x: {{mean: rows, chance: options}}}}",
            "headline: 'x' is a guess, which stands for no model; choose another figure",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{x: {{mean: rows, chance: options}}, y: {{sum: x}}}}",
            "figures.y: is made of 'x', a guess; name figures of answers",
        ),
        (f"{TOY}rule: anls\nprotocols: [mmt-paper]", "protocols: anls has no 'mmt-paper'; it has"),
        (
            f"{TOY}rule: text\nsubmission: tsv",
            "submission: no question file is without answers, so that there is nothing to submit",
        ),
        (
            f"{TOY}rule: text\ncolumns: {{answer: answer}}",
            "columns.answer: 'answer' is the truth already; name another column",
        ),
        (
            f"{TOY}rule: letter\nfigures: {{F1: {{f1: 'Yes'}}}}",
            "figures.F1: f1 counts 'Yes', an answer that letter never reads; use the rule yes_no",
        ),
        (
            f"{TOY}rule: yes_no\nfigures: {{x: {{recall: maybe}}}}",
            "figures.x: recall counts 'maybe', an answer that yes_no never reads",
        ),
        (
            f"{TOY}rule: text\nderive: {{kind: {{from: prediction, split: ','}}}}",
            "derive.kind: 'prediction' is the model's answer, and questions aren't grouped by it",
        ),
        (f"{TOY}rule: text\nfigures: {{x: {{over: a}}}}", "figures.x: expected one of mean, count"),
        (f"{RUBRIC}", "rule.grades: This is missing. Add it."),
        (
            f"{RUBRIC}\n  grades: [2, 0]",
            "rule: grades go from the lowest to the highest, and these are [2, 0]. Correct them.",
        ),
        (f"{RUBRIC}\n  grades: [0, 2]\n  step: 0.3", "rule: steps of 0.3 don't lead from 0 to 2"),
        (
            f"{RUBRIC}\n  grades: [0, 2]\nprotocols: [vlmevalkit]",
            "protocols: rubric has no 'vlmevalkit'; it has strict",
        ),
        (
            f"{RUBRIC} {{truth}}\n  grades: [0, 2]\ncolumns: {{truth: null}}",
            "rule: the prompt names {truth}, but columns.truth is null",
        ),
        (
            f"{TOY}rule: {{kind: rubric, prompt: Grade it., grades: [0, 1]}}",
            "rule: The prompt has no {answer}, where the answer goes. Add it.",
        ),
        (
            f"{TOY}rule: {{kind: rubric, prompt: mine.txt, grades: [0, 1]}}",
            "rule.prompt: there is no file 'mine.txt' beside the spec; put it there",
        ),
        (
            f"{TOY}rule: text\nfigures: {{x: {{ratio: marks}}}}",
            "figures.x: is made of two marks, which only a rubric with `marks: 2` gives",
        ),
        (
            f"{PAIRWISE}\n  verdicts: {{A: 0, B: 1, C: 3}}",
            "rule: verdict 'B' has none of the value 2 for the other order; add it",
        ),
        (f"{PAIRWISE}\n  verdicts: {{A: 0, '[B]': 1}}", "expected a label such as 'A>B'"),
        (
            f"{PAIRWISE}\n  verdicts: {{A: 0, B: 1}}\nprotocols: lmms-eval",
            "protocols: pairwise has no 'lmms-eval'; it has strict",
        ),
        (f"name: {'x' * 81}\n", "name: This has more than 80 characters. Shorten it."),
        (f"{TOY}rule: text\npublished: table.csv", "published: Write a list"),
        ("x" * 70_000, "the file has 70,000 bytes; a spec has 64,000 at most"),
        ("a: &x 1\nb: *x", "line 1, column 4: anchors and aliases (& and *) are not read"),
        ("a: !!python/name:os.system x", "line 1, column 4: tags (!) are not read"),
        ('name: "a\\u202eb"', "name: 'a<U+202E>b' has a sign that can't be seen; delete it"),
        ("a: 1\na: 2", "line 2, column 1: 'a' stands here twice; keep one"),
        ("[" * 30, "more than 20 levels stand in one another"),
        ("a\n---\nb", "a second document begins"),
        ("a: [1", "line 2, column 1"),
        ("a: \x00", "line 1 has the sign '\\x00'; delete it"),
    ],
)
def test_a_problem_is_told_in_a_sentence(text, told):
    found = problems(text)
    assert any(problem.startswith(told) or told in problem for problem in found), found


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
    with pytest.raises(YamlError, match="byte 2 is not UTF-8"):
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
    assert is_called(spec, file) == name


def test_published_numbers_lie_beside_the_spec_and_nowhere_else(tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_text(f"{TOY}rule: text\npublished: toy.csv\n")
    table = "model,figure,score,protocol,source\nvlm,Overall,61.5,strict,Table 2\n"
    with pytest.raises(SpecError, match=r"toy\.yaml: published: there is no file 'toy\.csv'"):
        load_spec(path)
    (tmp_path / "toy.csv").write_text(table)
    assert load_spec(path).published[0].score == 61.5
    (tmp_path / "toy.csv").write_text(table.replace("Overall", "Total"))
    with pytest.raises(SpecError, match=r"published\.1: figure 'Total' is none of Overall"):
        load_spec(path)
    (tmp_path / "toy.csv").write_text("model,score\nvlm,1\n")
    with pytest.raises(SpecError, match="needs the columns model, figure, score, protocol, source"):
        load_spec(path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text(table)
    for name in ("outside/secret.csv", str(outside / "secret.csv"), "../toy.csv"):
        path.write_text(f"{TOY}rule: text\npublished: {name}\n")
        with pytest.raises(SpecError, match="published: there is no file"):
            load_spec(path)
    (tmp_path / "link.csv").symlink_to(outside / "secret.csv")
    path.write_text(f"{TOY}rule: text\npublished: link.csv\n")
    with pytest.raises(SpecError, match="published: there is no file"):
        load_spec(path)
