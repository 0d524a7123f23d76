"""`answer --choose-by likelihood`: what is put, what the file holds, and what reports and comparisons say of it."""

import base64
import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PIL import Image

from arena.inference.base import CardTable, ModelKind
from arena.inference.catalogue import KINDS
from arena.io.tables import read_records
from arena.types import Alternatives, Generation, ModelCard, Usage, pass_over
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.benchmarks.mmbench import MMBENCH
from scoring.multiple_choice.circular_eval import rotation_problems
from scoring.multiple_choice.reader import read_choices
from scoring.multiple_choice.types import PASS
from scoring.registry import open_upload
from scoring.web.article import comparison_html, figure_html, head_html, trust_html
from tests.support.choice_tables import ChoiceCommand, command
from tests.support.offline_answers import catalogue, serve
from tests.support.tiny_vlm import build

__all__ = ["command"]

SCORES = {"red": -2.0, "green": -1.0, "blue": -3.0, "one": -0.5, "two": -0.5000001, "a": -1.5}
"""Likelihoods by option; of others there is none."""
ROWS = [
    {"index": 1, "question": "Which colour?", "A": "red", "B": "green", "C": "blue", "answer": "B"},
    {"index": 2, "question": "How many?", "A": "one", "B": "two", "C": "", "answer": "A"},
    {"index": 3, "question": "Which?", "hint": "Look.", "A": "a", "B": "", "C": "z", "answer": "A"},
]


class ToyTable(CardTable, frozen=True):
    """Keys of a toy."""

    model: str = "toy"


class ToyChooser:
    """Weighs texts by `SCORES`."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self.asked: list[Alternatives] = []

    async def answers(
        self,
        conversations: Sequence[Alternatives],
        settings: Generation,
        note: Callable[[Usage], None] = pass_over,
    ) -> tuple[str, ...]:
        self.asked += conversations
        note(Usage(10, 0, 0))
        return tuple(json.dumps([*map(SCORES.get, one.texts)]) for one in conversations)


@pytest.fixture
def chooser(command, monkeypatch) -> ToyChooser:
    toy = ToyChooser(ModelCard("Toy", "toy", "toy", at_once=2))
    kind = ModelKind(ToyTable, lambda *_: pytest.fail("it writes"), True, lambda *_: toy)
    monkeypatch.setitem(KINDS, "toy", kind)
    monkeypatch.setenv("MODELS", str(command.folder / "models.toml"))
    (command.folder / "models.toml").write_text('[[models]]\nname = "Toy"\nkind = "toy"\n')
    return toy


def picture(color: str) -> str:
    stream = io.BytesIO()
    Image.new("RGB", (6, 4), color).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def question_file(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    about = {"category": "image_style", "split": "dev", "hint": "", "C": ""}
    full = [{**about, "image": picture(f"#{row['index']:06x}"), **row} for row in rows]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(full[0]), delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(full)
    return path


def answered(command: ChoiceCommand, benchmark: str = "mmbench", model: str = "Toy"):
    out = command.folder / "toy.tsv"
    options = ("--model", model, "--questions", command.folder / "questions.tsv", "--out", out)
    return out, command.run("answer", benchmark, *options, "--choose-by", "likelihood")


def test_each_question_is_asked_once_and_every_pass_has_its_likeliest_option(command, chooser):
    question_file(command.folder / "questions.tsv", ROWS)
    out, done = answered(command)
    assert done.code == 0, done.err
    assert [one.texts for one in chooser.asked] == [
        ("red", "green", "blue"),
        ("one", "two"),
        ("a", "z"),
    ]
    (first,), (second,), (third,) = (one.turns for one in chooser.asked)
    assert (first.text, third.text) == ("Which colour?", "Look.\nWhich?"), "without the options"
    assert len({first.images, second.images, third.images}) == 3
    assert "3 answers of Toy are in" in done.out and "20 tokens sent, 0 received" in done.out
    assert "Options were chosen by likelihood, not by generated text" in done.out
    assert "because the best options are equally likely: index 2." in done.out
    assert "Options without a token of this model are never chosen: index 3." in done.out
    rows = {row.values["index"]: row.values for row in read_records(out)}
    letters = {index: row["prediction"] for index, row in rows.items()}
    assert letters == {
        "1": "B",
        f"{PASS + 1}": "C",
        f"{2 * PASS + 1}": "A",
        "2": "",
        f"{PASS + 2}": "",
        "3": "A",
        f"{PASS + 3}": "C",
    }
    assert {str(row["chosen_by"]) for row in rows.values()} == {"likelihood"}
    likelihoods = [(row["logprob_A"], row["logprob_B"], row["logprob_C"]) for row in rows.values()]
    assert likelihoods[:2] == [("-2.000000", "-1.000000", "-3.000000"), ("-0.500000",) * 2 + ("",)]
    assert likelihoods[2] == ("-1.500000", "", "")
    found = read_choices(read_records(out))
    assert found.chosen_by == "likelihood"
    assert not rotation_problems([row.question for row in found.rows])


def test_passes_of_a_file_are_asked_once_and_other_words_or_pictures_by_themselves(
    command, chooser
):
    turned = {"A": "blue", "B": "red", "C": "green", "answer": "C"}
    rows = [
        {**ROWS[0], **turned, "index": PASS + 1, "image": "1"},
        ROWS[0],
        {**ROWS[0], **turned, "index": 2 * PASS + 1, "question": "Which one?", "image": "1"},
        {**ROWS[0], **turned, "index": 3 * PASS + 1},
    ]
    question_file(command.folder / "questions.tsv", rows)
    out, done = answered(command)
    assert done.code == 0, done.err
    assert [one.texts[0] for one in chooser.asked] == ["red", "blue", "blue"]
    assert chooser.asked[1].turns[0].text == "Which one?"
    assert chooser.asked[0].turns[0].images == chooser.asked[1].turns[0].images
    letters = [row.values["prediction"] for row in read_records(out)]
    assert letters == ["B", "C", "C", "C"]


def test_mmt_bench_has_no_passes(command, chooser):
    question_file(command.folder / "questions.tsv", ROWS[:1])
    out, done = answered(command, "mmt-bench")
    assert done.code == 0, done.err
    assert [row.values["prediction"] for row in read_records(out)] == ["B"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mm-vet", "--out", "x.json"), "is only for mmbench and mmt-bench, and this is mm-vet"),
        (
            ("visit-bench", "--out", "x.csv"),
            "is only for mmbench and mmt-bench, and this is visit-bench",
        ),
        (("mmbench", "--out", "x.tsv", "--early-stop"), "Leave out --early-stop"),
        (("mmt-bench", "--out", "x.tsv", "--modes", "pixel"), "Leave out --modes"),
    ],
)
def test_what_cannot_be_chosen_by_likelihood_says_why(command, chooser, words, said):
    done = command.run("answer", *words, "--model", "Toy", "--choose-by", "likelihood")
    assert done.code == 2 and said in done.err


def test_a_model_of_a_server_says_why_it_cannot_and_leaves_nothing_behind(command, chooser):
    question_file(command.folder / "questions.tsv", ROWS)
    with serve() as server:
        catalogue(command.folder, server)
        _, done = answered(command, model="Model X")
        assert server.counts.calls == 0
    assert done.code == 2
    assert "'Model X' is a model of kind api, whose server doesn't say how" in done.err
    assert "Choose a model of kind local" in done.err
    assert not list(command.folder.glob("toy*"))


def test_the_score_says_so_and_beside_another_way_too(command, chooser):
    question_file(command.folder / "questions.tsv", ROWS)
    out, _ = answered(command)
    done = command("score", out)
    assert done.code == 0, done.err
    assert "7 answers, 3 questions with rotated passes, options chosen by likelihood" in done.out
    assert (
        "toy scores 100.0 on MMBench dev by likelihood (CircularEval, 2 of 1,164 questions scored"
        in done.out
    )
    assert "How letters were read" not in done.out
    tie = "2 of the 7 answers aren't from the model (equally likely options)"
    assert tie in done.out and "(empty)" not in done.out
    audit = map(json.loads, next((command.folder / "results").glob("*-audit.jsonl")).open())
    assert {line["rule"] for line in audit} == {"likeliest option", "equally likely options"}
    done = command("score", out, "--protocol", "mmbench-paper")
    assert done.code == 0, "equally likely options are left to no judge"
    assert "toy scores 66.7 on MMBench dev by likelihood" in done.out
    text = command.folder / "text.tsv"
    rows = [row.values for row in read_records(out)]
    written = [{**row, "chosen_by": "", "prediction": "A"} for row in rows]
    with text.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(written)
    done = command("score", out, "--against", text)
    assert done.code == 0, done.err
    assert "Two ways of choosing an option, so this isn't about the models alone." in done.out
    mixed = command.folder / "mixed.tsv"
    mixed.write_text(out.read_text().replace("likelihood", "", 1))
    done = command("score", mixed)
    assert done.code == 2 and "Only 6 of 7 rows chose options by likelihood" in done.err


def report(command: ChoiceCommand, name: str, way: str) -> ChoiceReport:
    """A whole dev split, all right."""
    path = command.folder / f"{name}.tsv"
    heads = "index question A B answer category l2-category split chosen_by prediction".split()
    about = ["A", "image_style", "coarse_perception", "dev", way, "A"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(heads)
        for index in range(1164):
            for number, options in enumerate((["a cat", "a dog"], ["a dog", "a cat"])):
                right = "AB"[number]
                cells = [right, *about[1:-1], right]
                writer.writerow([index + number * PASS, f"Which {index}?", *options, *cells])
    opened = open_upload(path)
    assert opened is not None
    return opened.report("mmbench-paper", name)


def test_a_report_is_beside_the_papers_model_of_its_way_and_a_comparison_tells_ways_apart(command):
    weighed = report(command, "weighed", "likelihood")
    written = report(command, "written", "")
    board = MMBENCH.published(weighed)
    assert board is not None
    assert board.apart == (
        "options were chosen by likelihood, in the table only for Kosmos-2 (59.2)",
    )
    assert "Conditions differ: options were chosen by likelihood" in figure_html(weighed)
    other = MMBENCH.published(written)
    assert other is not None and not other.apart
    note = "Options chosen by perplexity, not by generated text: Kosmos-2 (59.2)."
    assert note in figure_html(written)
    assert "MMBench dev by likelihood" in head_html(weighed)
    files = MMBENCH.files(weighed)
    assert b'"chosen_by": "likelihood"' in files["weighed-audit.jsonl"]
    for kind in ("md", "tex", "json"):
        assert b"not by generated text" in files[f"weighed-tables.{kind}"]
        assert b"generated text" not in MMBENCH.files(written)[f"written-tables.{kind}"]
    assert "Options chosen by likelihood (the highest mean" in trust_html(weighed)
    words = "Two ways of choosing an option"
    assert words in comparison_html(weighed, written)
    assert words not in comparison_html(written, written)
    totals = MMBENCH.totals(weighed)
    assert [one.value for one in totals] == ["100.0", "100.0"], "vanilla and circular are one"


@pytest.mark.soak
def test_a_local_model_chooses_on_the_command_line(command, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MODELS", str(command.folder / "models.toml"))
    folder = build(command.folder / "tiny")
    card = f'name = "Tiny"\nkind = "local"\nfolder = "{folder}"\nat_once = 2'
    (command.folder / "models.toml").write_text(f"[[models]]\n{card}\n")
    question_file(command.folder / "questions.tsv", ROWS)
    out, done = answered(command, model="Tiny")
    assert done.code == 0, done.err
    rows = [row.values for row in read_records(out)]
    assert len(rows) == 7 and {str(row["prediction"]) for row in rows} <= set("ABC")
    assert all(float(str(row["logprob_A"])) < 0 for row in rows)
