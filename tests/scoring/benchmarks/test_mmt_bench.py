"""MMT-Bench: both Overalls and Overall*, meta-tasks, boards, baselines and the toolkit's CSV of a real model."""

import csv
import io
from collections import Counter
from fractions import Fraction

import pytest

from arena.io.tables import read_records
from scoring.benchmarks import mmt_bench
from scoring.benchmarks.spec_benchmark import OWN, spec_benchmark
from scoring.multiple_choice.extract import extract
from scoring.multiple_choice.metrics import count_steps
from scoring.multiple_choice.reader import IMAGE_COLUMNS, read_choices
from scoring.multiple_choice.types import Clue, Decided, Decision, Rule
from scoring.registry import open_upload
from scoring.specs.report import figure_lines, grouped_lines
from tests.support.choice_reports import choice_report
from tests.support.choice_tables import row, table_file
from tests.support.mmt_answers import OPTIONS, answered


def tabulate(rows, protocol="strict"):
    return mmt_bench.MMT_BENCH.tabulate(choice_report(rows, protocol, "mmt-bench"))


@pytest.fixture(scope="module")
def whole():
    """All 31,325 samples: the k-th subtask gets k/162 of its samples right, rounded down."""
    rows, index = [], 0
    for place, subtask in enumerate(mmt_bench.subtasks().values()):
        right = subtask.samples * place // 162
        for number in range(subtask.samples):
            rows.append(
                answered(
                    index,
                    subtask.key,
                    number < right,
                    "VAL" if number < subtask.samples // 10 else "TEST",
                )
            )
            index += 1
    return rows


@pytest.fixture(scope="module")
def tables(whole):
    return tabulate(whole)


def wanted(keys):
    """Return the mean over these subtasks by exact fractions, in percent."""
    places = {key: place for place, key in enumerate(mmt_bench.subtasks())}
    shares = [
        Fraction(one.samples * places[key] // 162, one.samples)
        for key, one in mmt_bench.subtasks().items()
        if key in keys
    ]
    return float(100 * sum(shares) / len(shares))


def groups_of(column):
    """The groups of each subtask by its key."""
    derived = mmt_bench.MMT_BENCH.spec.derive[column]
    return {key: derived.derive_cell(key) for key in mmt_bench.subtasks()}


def test_the_facts_are_those_of_the_paper(data):
    facts = {
        (row.values["tsv_category"], row.values["tsv_meta"])
        for row in read_records(data / "mmt-bench" / "tsv_categories.csv")
    }
    subtasks = mmt_bench.subtasks()
    image_types = groups_of("image_type")
    capabilities = groups_of("capability")
    assert {(key, one.meta_task) for key, one in subtasks.items()} == facts
    by_name = {one.name: one for one in subtasks.values()}
    for fact in (record.values for record in read_records(data / "mmt-bench" / "subtasks.csv")):
        one = by_name[fact["subtask"]]
        assert (str(one.samples), "; ".join(image_types[one.key])) == (
            fact["n_samples"],
            fact["visual_input"],
        )
        assert "; ".join(capabilities[one.key]) == fact["capabilities"]
    assert (len(subtasks), sum(one.samples for one in subtasks.values())) == (162, 31_325)
    assert (
        len(mmt_bench.META_TASKS),
        sum(bool(one.multi_image) for one in subtasks.values()),
    ) == (32, 28)
    assert len({kind for kinds in image_types.values() for kind in kinds}) == 13
    assert len({kind for kinds in capabilities.values() for kind in kinds}) == 14
    sizes = Counter(one.meta_task for one in subtasks.values())
    assert sizes["visual_recognition"] == 35 and sizes.keys() == mmt_bench.META_TASKS.keys()


def test_chosen_accuracies_come_back_exactly(whole, tables):
    assert len(whole) == 31_325
    scores = tables.splits[-1]
    subtasks = mmt_bench.subtasks()
    assert [one.split for one in tables.splits] == ["VAL", "TEST", "ALL"] and not tables.problems
    assert scores.overall.subtasks.mean == pytest.approx(wanted(subtasks), abs=1e-10)
    star = [key for key, one in subtasks.items() if one.meta_task != "visual_recognition"]
    assert len(star) == 127 and scores.overall.star.mean == pytest.approx(wanted(star), abs=1e-10)
    right = sum(one.samples * place // 162 for place, one in enumerate(subtasks.values()))
    assert scores.overall.samples.mean == pytest.approx(100 * right / 31_325, abs=1e-10)
    for node in scores.tree.find("meta_task"):
        members = [key for key, one in subtasks.items() if one.meta_task == node.line.name]
        assert node.line.mean == pytest.approx(wanted(members), abs=1e-10)
        assert len(node.children) == len(members)
    assert len(scores.tree.find("category")) == 162


def test_boards_count_a_subtask_in_each_of_its_groups(tables):
    scores = tables.splits[-1]
    assert (len(scores.image_types), len(scores.capabilities)) == (13, 14)
    boards = {line.name: line for line in (*scores.image_types, *scores.capabilities)}
    image_types = groups_of("image_type")
    depth = [key for key, kinds in image_types.items() if "Depth Map" in kinds]
    assert depth == ["salient_object_detection_rgbd"] and boards["Depth Map"].mean == pytest.approx(
        wanted(depth)
    )
    natural = [key for key, kinds in image_types.items() if "Natural Image" in kinds]
    assert len(natural) == 111 and set(depth) < set(natural)
    assert boards["Natural Image"].mean == pytest.approx(wanted(natural))


def test_a_subset_leaves_the_missing_meta_tasks_blank():
    report = tabulate(
        [answered(0, "reason_seg", True), answered(1, "ocr_unheard_of", False, group="ocr")],
        "strict",
    )
    scores = report.splits[-1]
    metas = {node.line.name: node.line for node in scores.tree.find("meta_task")}
    assert (
        len(metas),
        metas["visual_grounding"].mean,
        metas["ocr"].mean,
        metas["emotion"].mean,
    ) == (
        32,
        100.0,
        0.0,
        None,
    )
    assert ["'ocr_unheard_of' is no subtask" in problem.text for problem in report.problems] == [
        True
    ]
    assert (scores.overall.subtasks.mean, scores.overall.samples.mean) == (50.0, 50.0)
    table = list(csv.DictReader(io.StringIO(report.accuracy_csv().decode())))
    assert (table[0]["VG"], table[0]["Emo"], table[0]["reason_seg"]) == ("1.0", "", "1.0")


def test_baselines_come_from_the_file():
    rows = [
        answered(place, "reason_seg", True, answer=letter) for place, letter in enumerate("BBBA")
    ]
    scores = tabulate([*rows, answered(9, "gui_general", True)], "strict").splits[-1]
    assert (scores.random.subtasks.mean, scores.random.samples.mean) == (25.0, 25.0)
    assert (scores.frequency.subtasks.mean, scores.frequency.samples.mean) == (87.5, 80.0)


def test_undecided_is_unscored_with_us_and_wrong_in_the_paper():
    unread = Decided(
        answered(1, "reason_seg", True).question,
        "?",
        Decision(None, (Clue(Rule.UNDECIDED, None, "?"),)),
    )
    rows = [answered(0, "reason_seg", True), unread]
    assert tabulate(rows, "strict").splits[-1].overall.samples.mean == 100.0
    assert tabulate(rows, "mmt-paper").splits[-1].overall.samples.mean == 50.0


def test_steps_are_counted_as_table_a17_does():
    texts = ["B", "B.", "a cat", "Cannot determine the answer", "of the feline kind"]
    found = count_steps(extract(text, OPTIONS, "mmt-paper") for text in texts)
    assert (found.rate("letter"), found.rate("letter", "content"), found.refused) == (
        40.0,
        60.0,
        20.0,
    )
    rows = mmt_bench.published_success()
    assert len(rows) == 7 and (rows[0].step1, rows[0].refused, rows[4].refused) == (
        87.183,
        10.136,
        None,
    )


def test_single_and_multi_image_runs_are_compared_on_the_tasks_that_take_several():
    single = [answered(0, "face_retrieval", False), answered(1, "reason_seg", False)]
    multiple = [answered(0, "face_retrieval", True), answered(1, "reason_seg", True)]
    (_, every), (_, several) = mmt_bench.MMT_BENCH.mcnemar_tables(
        choice_report(single), choice_report(multiple)
    )
    assert [one.name for one in several] == ["Overall", "image_retrieval", "face_retrieval"]
    assert (several[0].first_only, several[0].second_only) == (0, 1)
    assert len(every) == 5


@pytest.mark.parametrize(
    ("protocol", "within"),
    [pytest.param("strict", 0.015, marks=pytest.mark.soak), ("mmt-paper", 1e-6)],
)
def test_a_real_models_file_gives_the_toolkits_numbers(data, protocol, within):
    path = data / "vlmevalkit" / "vila_8b_MMT-Bench_VAL.xlsx"
    read = read_choices(read_records(path, skip=IMAGE_COLUMNS))
    assert read.scorable and mmt_bench.recognises([one.question for one in read.rows])
    rows = [
        Decided(
            one.question, one.prediction, extract(one.prediction, one.question.options, protocol)
        )
        for one in read.rows
    ]
    report = tabulate(rows, protocol)
    assert not report.problems and report.without_answer == 0
    ours = list(csv.reader(io.StringIO(report.accuracy_csv().decode())))
    theirs = list(
        csv.reader((data / "vlmevalkit" / "vila_8b_MMT-Bench_VAL_acc.csv").read_text().splitlines())
    )
    assert ours[0] == theirs[0] and [line[0] for line in ours] == [line[0] for line in theirs]
    assert float(ours[1][1]) == pytest.approx(float(theirs[1][1]), abs=within)
    assert abs(report.splits[-1].overall.subtasks.mean - 100 * float(theirs[2][1])) < 1.5


def test_the_spec_alone_gives_every_number(tmp_path):
    """Two questions of each subtask, whose answers are right by the digits of their number."""
    rows = [
        row(
            place,
            "B" if place % 7 < 4 else "C",
            answer="D" if place % 5 == 0 else "B",
            category=subtask,
            split="VAL",
        )
        for place, subtask in enumerate(sorted([*mmt_bench.subtasks()] * 2))
    ]
    path = table_file(tmp_path / "m.tsv", rows)
    ours = open_upload(path, benchmark="mmt-bench").report("strict")
    own = spec_benchmark(OWN, mmt_bench.MMT_BENCH.spec)
    alone = open_upload(path, benchmark=own).report("strict")
    scores = mmt_bench.MMT_BENCH.choice_tables(ours).splits[-1]
    overalls = [*scores.overall, *scores.random, *scores.frequency]
    lines = figure_lines(alone)
    assert [line.mean for line in lines.values()] == pytest.approx([line.mean for line in overalls])
    boards = {
        "meta_task": [node.line for node in scores.tree.find("meta_task")],
        "image_type": scores.image_types,
        "capability": scores.capabilities,
        "cluster": [cluster.own for cluster in scores.clusters],
    }
    for column, board in boards.items():
        groups = grouped_lines(alone, column, "")
        over_subtasks = {group.name: group.lines[next(iter(lines))].mean for group in groups}
        assert over_subtasks == pytest.approx({line.name: line.mean for line in board})
