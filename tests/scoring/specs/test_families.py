"""The shared families through their specs, from file to figures: the toolkits' own values, under each protocol."""

import json

import pytest

from scoring.judges.spec import JudgeSpec, Reply
from scoring.registry import BENCHMARKS, open_upload
from scoring.specs.report import figure_lines, grouped_lines

JUDGE = JudgeSpec("judge", True, "max_tokens", True, True, True, 0, None)
KIT = "vlmevalkit"
LMMS = "lmms-eval"


def reported(data, tmp_path, family, key, protocol):
    spec = BENCHMARKS[key].spec
    lines = (data / "families" / f"{family}.jsonl").read_text().splitlines()
    rows = [json.loads(line)["row"] for line in lines]
    path = tmp_path / f"vlm_{spec.called[-1]}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    chosen = key if key == "gqa" else None  # else its marks take the file
    found = open_upload(path, benchmark=chosen)
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
    draft = benchmark.stamped(report, JUDGE, "http://judge.test/v1")
    assert draft.judge.prompt and draft.judge.parser
    outcomes = [asked(task.begin(), replies[task.name]) for task in benchmark.tasks(draft, JUDGE)]
    judged = benchmark.graded(draft, outcomes)
    assert judged.left == 0 and judged.judge.versions == ("judge-1",)
    assert values(judged)["Overall"] == pytest.approx(told(numbers), abs=1e-6)


def asked(generator, reply):
    """The outcome of a task whose every question gets this reply."""
    try:
        next(generator)
        while True:
            generator.send(Reply((reply,), ("stop",), 0, 0, "judge-1"))
    except StopIteration as ended:
        return ended.value
