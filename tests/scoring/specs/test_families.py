"""The shared families through their specs, from file to figures: the toolkits' own values, under each protocol."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from scoring.benchmarks.mm_vet_grades import graded_report, grades_for
from scoring.benchmarks.mm_vet_questions import load_mm_vet
from scoring.benchmarks.mm_vet_tables import score_tables
from scoring.benchmarks.spec_benchmark import OWN, spec_benchmark
from scoring.judges.spec import JudgeSpec, Reply
from scoring.registry import BENCHMARKS, open_upload
from scoring.rules.base import Reading
from scoring.serialize import read_record, record_json
from scoring.specs.files import load_spec
from scoring.specs.report import SpecReport, figure_lines, grouped_lines
from scoring.specs.schema import read_spec

TALKER = JudgeSpec("judge", True, "max_tokens", True, True, False, 0, None)
"""A judge without schemas."""
JUDGE = JudgeSpec("judge", True, "max_tokens", True, True, True, 0, None)
KIT = "vlmevalkit"
LMMS = "lmms-eval"


def reported(data, tmp_path, family, key, protocol):
    spec = BENCHMARKS[key].spec
    lines = (data / "families" / f"{family}.jsonl").read_text().splitlines()
    rows = [json.loads(line)["row"] for line in lines]
    path = tmp_path / f"vlm_{spec.called[-1]}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = open_upload(path)
    assert found and found.benchmark.key == key
    told = json.loads((data / "families" / f"{family}.json").read_text())["aggregate"]
    return found.benchmark, found.report(protocol), told, rows


def values(report, column="", split=""):
    """The figures by name; with a column, those of its groups."""
    if not column:
        return {name: line.mean for name, line in figure_lines(report).items()}
    return {
        (group.name, name): line.mean
        for group in grouped_lines(report, column, split)
        for name, line in group.lines.items()
    }


def whole(figure, told):
    """A check of one figure over all rows."""
    return lambda report, numbers: (values(report)[figure], told(numbers))


def percent(name, *path):
    def told(numbers):
        for part in path:
            numbers = numbers[part]
        return 100 * numbers

    return whole(name, told)


def of_group(column, figure, told, split=""):
    """A check of one figure in each group of a column."""

    def check(report, numbers):
        wanted = told(numbers)
        found = values(report, column, split)
        return {group: found[group, figure] for group in wanted}, wanted

    return check


def chosen(numbers, *names, scale=1.0):
    return {name: scale * numbers[name] for name in names}


CHECKS = [
    ("amber", "amber", KIT, whole("Avg ACC", lambda told: told["kit"]["Avg ACC"])),
    (
        *("amber", "amber", KIT),
        of_group(
            "part",
            "Avg ACC",
            lambda told: chosen(told["kit"], "Attribute", "Existence", "Relation"),
        ),
    ),
    ("chartqa", "chartqa", KIT, whole("Overall", lambda told: told["kit"]["Overall"])),
    (
        *("chartqa", "chartqa", KIT),
        of_group(
            "split", "Overall", lambda told: chosen(told["kit"], "test_human", "test_augmented")
        ),
    ),
    ("cv_bench", "cv_bench", KIT, percent("2D", "kit 2D", "Overall")),
    ("cv_bench", "cv_bench", KIT, percent("3D", "kit 3D", "Overall")),
    ("cv_bench", "cv_bench", LMMS, percent("Overall", "lmms")),
    ("docvqa", "docvqa", KIT, whole("Overall", lambda told: told["kit Overall"])),
    ("docvqa", "docvqa", LMMS, percent("Overall", "lmms anls")),
    ("docvqa", "infovqa", KIT, whole("Overall", lambda told: told["kit Overall"])),
    ("gqa", "gqa", KIT, whole("Overall", lambda told: told["kit Overall"])),
    *(
        ("hallusionbench", "hallusionbench", KIT, check)
        for figure in ("aAcc", "fAcc", "qAcc")
        for check in (
            whole(figure, lambda told, figure=figure: told["kit"]["Overall"][figure]),
            of_group(
                "category",
                figure,
                lambda told, figure=figure: {
                    group: told["kit"][group][figure] for group in ("VD", "VS")
                },
            ),
            of_group(
                "l2-category",
                figure,
                lambda told, figure=figure: {
                    group: told["kit"][group][figure]
                    for group in ("ocr", "illusion", "chart", "figure", "table")
                },
            ),
        )
    ),
    ("mme", "mme", KIT, whole("perception", lambda told: told["kit"]["perception"])),
    ("mme", "mme", KIT, whole("cognition", lambda told: told["kit"]["reasoning"])),
    (
        *("mme", "mme", KIT),
        of_group(
            "category",
            "score",
            lambda told: chosen(told["kit"], *told["kit"].keys() - {"perception", "reasoning"}),
        ),
    ),
    ("mme", "mme", LMMS, whole("perception", lambda told: told["lmms"]["mme_perception_score"])),
    ("mme", "mme", LMMS, whole("cognition", lambda told: told["lmms"]["mme_cognition_score"])),
    (
        *("mmmu", "mmmu", KIT),
        of_group(
            "split",
            "Overall",
            lambda told: {split: 100 * told["kit"][split]["Overall"] for split in told["kit"]},
        ),
    ),
    *(
        (
            *("mmmu", "mmmu", KIT),
            of_group(
                column,
                "Overall",
                lambda told, names=names: chosen(told["kit"]["validation"], *names, scale=100),
                "validation",
            ),
        )
        for column, names in (
            ("l2-category", ("Art & Design", "Health & Medicine", "Science")),
            ("category", ("Art", "Math", "Pharmacy", "Physics")),
        )
    ),
    ("mmmu_open", "mmmu", "authors", percent("Overall", "accuracy")),
    ("mmmu_pro", "mmmu_pro", KIT, percent("Overall", "hit", "Overall")),
    ("mmmu_pro", "mmmu_pro_cot", KIT, percent("Overall", "hit_cot", "Overall")),
    ("mmstar", "mmstar", KIT, percent("Overall", "kit", "Overall")),
    ("mmstar", "mmstar", LMMS, percent("average", "lmms", "average")),
    ("mmvp", "mmvp", KIT, percent("Average", "kit", "Average")),
    ("mmvp", "mmvp", KIT, percent("Overall", "kit", "Overall")),
    ("mmvp", "mmvp", LMMS, percent("Average", "lmms", "accuracy")),
    ("mmvp", "mmvp", LMMS, percent("Overall", "lmms", "pair_accuracy")),
    *(
        ("naturalbench", "naturalbench", KIT, percent(figure, "kit", figure))
        for figure in ("Acc", "Q_Acc", "I_Acc", "G_Acc")
    ),
    ("ocrbench", "ocrbench", KIT, whole("Final Score", lambda told: told["kit"]["Final Score"])),
    (
        *("ocrbench", "ocrbench", KIT),
        of_group(
            "part",
            "Final Score",
            lambda told: chosen(told["kit"], "Text Recognition", "Doc-oriented VQA"),
        ),
    ),
    *(
        ("pope", "pope", KIT, check)
        for figure, name in (
            *(("F1", "Overall"), ("accuracy", "acc")),
            *(("precision", "precision"), ("recall", "recall")),
        )
        for check in (
            whole(figure, lambda told, name=name: told["kit"]["Overall"][name]),
            of_group(
                "kind",
                figure,
                lambda told, name=name: {
                    group: told["kit"][group][name] for group in ("popular", "random")
                },
            ),
        )
    ),
    ("pope", "pope", LMMS, percent("F1", "lmms", "f1_score")),
    ("pope", "pope", LMMS, percent("accuracy", "lmms", "accuracy")),
    ("realworldqa", "realworldqa", LMMS, percent("Overall", "lmms exact_match")),
    ("textvqa", "textvqa", KIT, whole("Overall", lambda told: told["kit Overall"])),
]


def test_every_family_has_its_toolkits_figures(data, tmp_path):
    wrong = []
    made = {}
    for family, key, protocol, check in CHECKS:
        made[family, key, protocol] = made.get((family, key, protocol)) or reported(
            data, tmp_path, family, key, protocol
        )
        _, report, told, _ = made[family, key, protocol]
        found, wanted = check(report, told)
        if found != pytest.approx(wanted, abs=1e-6):
            wrong.append((family, key, protocol, found, wanted))
    assert wrong == []


@pytest.mark.parametrize(
    ("family", "protocol", "told"),
    [
        ("mathvista", KIT, lambda told: told["kit"]["Overall"]["acc"]),
        ("mathvista", LMMS, lambda told: told["lmms accuracy"]),
        ("mathvision", KIT, lambda told: told["kit"]["Overall"]["acc"]),
    ],
)
def test_a_judge_reads_what_rules_leave_open(data, tmp_path, family, protocol, told):
    benchmark, report, numbers, rows = reported(data, tmp_path, family, family, protocol)
    replies = {str(row["index"]): row["reply"] for row in rows}
    draft = benchmark.draft(report, JUDGE, "http://judge.test/v1")
    assert draft.judge.prompt and draft.judge.parser
    outcomes = [asked(task.begin(), replies[task.name]) for task in benchmark.tasks(draft, JUDGE)]
    judged = benchmark.with_outcomes(draft, outcomes)
    assert judged.left == 0 and judged.judge.versions == ("judge-1",)
    assert values(judged)["Overall"] == pytest.approx(told(numbers), abs=1e-6)


def graded(benchmark, report, reply_of):
    """The report after a judge whose reply to each task is `reply_of` its name, and of which time it is asked."""
    draft = benchmark.draft(report, TALKER, "http://judge.test/v1")
    times = Counter()
    outcomes = []
    for task in benchmark.tasks(draft, TALKER):
        outcomes.append(asked(task.begin(), reply_of(task.name, times[task.name])))
        times[task.name] += 1
    return benchmark.with_outcomes(draft, outcomes)


def swapped(reply):
    """A verdict on the same two answers in the other order."""
    return re.sub(r"[AB](?=>)|(?<=>)[AB]", lambda side: "BA"["AB".index(side[0])], reply)


JUDGED = {
    "llava_bench": {"question": "What is it?", "gpt4_ans": "A cat.", "caption": "A pet."},
    "wildvision": {"question": "What is it?", "claude3_sonnet": "A cat."},
    "own_rubric": {"request": "May I?", "expected": "No.", "reply": "You can't."},
}


def judged_family(data, tmp_path, family, protocol):
    """A family whose every answer a judge reads, and what is told of it; the second order is the first's mirror."""
    own = data / "specs" / "own_rubric.yaml"
    benchmark = (
        spec_benchmark(OWN, load_spec(own)) if family == "own_rubric" else BENCHMARKS[family]
    )
    lines = (data / "families" / f"{family}.jsonl").read_text().splitlines()
    rows = [json.loads(line)["row"] for line in lines]
    replies = {str(row["index"]): row["judge_reply"] for row in rows}
    path = tmp_path / "vlm.jsonl"
    filled = [
        {**JUDGED[family], "prediction": "A dog.", "case": row["index"], **row} for row in rows
    ]
    filled = [{**row, "topic": row.get("category", "")} for row in filled]
    path.write_text("".join(json.dumps(row) + "\n" for row in filled))
    report = open_upload(path, benchmark=benchmark).report(protocol)
    assert report.left == len(rows)

    def reply_of(name, time):
        reply = replies.get(name, "0")
        return swapped(reply) if time else reply

    told = json.loads((data / "families" / f"{family}.json").read_text())["aggregate"]
    return benchmark, graded(benchmark, report, reply_of), told


def read_count(report):
    return sum(bool(row.reading.read) for row in report.rows)


def test_two_marks_have_the_toolkits_figures(data, tmp_path):
    _, report, told = judged_family(data, tmp_path, "llava_bench", KIT)
    kit = told["kit"]
    assert values(report) == pytest.approx(kit.pop("overall"), abs=1e-6)
    groups = values(report, "category")
    for group, figures in kit.items():
        assert {name: groups[group, name] for name in figures} == pytest.approx(figures, abs=1e-6)
    _, report, _ = judged_family(data, tmp_path, "llava_bench", "strict")
    ours = told["ours, unread left out"]
    assert read_count(report) == ours.pop("read")
    assert values(report)["Relative Score (main)"] == pytest.approx(*ours.values(), abs=1e-6)


def test_verdicts_have_the_toolkits_figures(data, tmp_path):
    benchmark, report, told = judged_family(data, tmp_path, "wildvision", KIT)
    win_rate = 100 * told["kit"]["Win Rate"]
    assert values(report) == pytest.approx({"Reward": 0.0, "Win Rate": win_rate}, abs=1e-6)
    assert "counts them as a tie" in benchmark.caveats(report)[0].text
    _, report, _ = judged_family(data, tmp_path, "wildvision", LMMS)
    assert values(report)["raw_scores"] == pytest.approx(told["lmms"]["raw_scores"], abs=1e-6)
    assert values(report)["Win Rate"] == pytest.approx(told["lmms"]["win_rates"], abs=1e-6)
    _, report, _ = judged_family(data, tmp_path, "wildvision", "strict")
    ours = told["ours, unread left out"]
    assert read_count(report) == ours["read"]
    assert values(report)["Reward"] == pytest.approx(ours["Reward"], abs=1e-6)
    assert benchmark.checks(report) == [
        "The judge gave the same verdict in both orders for 23 of 23 answers."
    ]


def test_a_judge_that_prefers_a_place_gives_no_answer_an_advantage(data, tmp_path):
    benchmark, report, _ = judged_family(data, tmp_path, "wildvision", "strict")
    fresh = replace(report, rows=tuple(open_again(row) for row in report.rows))
    placed = graded(benchmark, fresh, lambda name, time: "[[A>>B]]")
    assert values(placed)["Reward"] == 0.0
    assert benchmark.checks(placed) == [
        "The judge gave the same verdict in both orders for 0 of 36 answers."
    ]


def open_again(row):
    return replace(row, reading=Reading(None, "", "", is_open=True), replies=())


def test_an_own_rubric_has_its_mean_bounds_and_canaries(data, tmp_path):
    benchmark, report, told = judged_family(data, tmp_path, "own_rubric", "strict")
    line = figure_lines(report)["Overall"]
    assert (line.mean, line.n - line.unscored) == (told["mean, 0 to 100"], told["read"])
    bounds = (told["lowest possible"], told["highest possible"])
    assert (line.worst, line.best) == pytest.approx(bounds, abs=1e-6)
    grades = next(sheet for sheet in benchmark.sheets(report) if sheet.name == "grades")
    assert grades.note == "Mean 1.50 on the rubric's scale, 0 to 2."
    assert benchmark.checks(report) == [
        "Canaries: the judge gave 0 of 4 worthless answers more than the lowest grade."
    ]
    assert read_record(SpecReport, record_json(report)) == report
    fresh = replace(report, rows=tuple(open_again(row) for row in report.rows))
    fooled = graded(benchmark, fresh, lambda name, time: "2")
    assert benchmark.caveats(fooled)[0].kind == "Judge not trusted"


def test_mm_vets_total_and_capabilities_come_out_of_a_rubric(data, tmp_path):
    folder = data / "mm-vet"
    questions = json.loads((folder / "mm-vet.json").read_text())
    answers = json.loads((folder / "llava-v1.5-7b.json").read_text())
    file = folder / "llava-v1.5-7b_gpt-4-0613-grade-1runs.json"
    published = load_mm_vet(folder)
    known = graded_report(grades_for(file, published), published)
    replies = {id: grade["content"][0] for id, grade in json.loads(file.read_text()).items()}
    spec = read_spec(MM_VET.encode())
    path = tmp_path / "llava.jsonl"
    rows = [{**question, "id": id, "prediction": answers[id]} for id, question in questions.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    benchmark = spec_benchmark(OWN, spec)
    report = open_upload(path, benchmark=benchmark).report("strict")
    report = graded(benchmark, report, lambda name, time: replies.get(name, "0.0"))
    capabilities, _ = score_tables(known)
    *groups, total = capabilities.lines
    assert values(report)["Overall"] == pytest.approx(total.mean, abs=1e-9)
    found = values(report, "capability")
    assert {name: found[name, "Overall"] for name, _ in found} == pytest.approx(
        {group.name: group.mean for group in groups}, abs=1e-9
    )


MM_VET = """
name: MM-Vet by a rubric
about: Free answers, graded 0 to 1 against a ground truth.
groups: [capability]
rule:
  kind: rubric
  grades: [0, 1]
  step: 0.1
  prompt: |
    Question: {question}
    Ground truth: {truth}
    Prediction: {answer}
    Grade how right the prediction is.
"""


def asked(generator, reply):
    """The outcome of a task whose every question gets this reply."""
    try:
        next(generator)
        while True:
            generator.send(Reply((reply,), ("stop",), 0, 0, "judge-1"))
    except StopIteration as ended:
        return ended.value
