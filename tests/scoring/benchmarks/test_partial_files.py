"""A file that lacks answers gets a partial score: what is missing stands first, worst and best case beside it."""

import json
from dataclasses import replace

import pytest

from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS, own_sample
from scoring.benchmarks.mmt_bench import subtasks
from scoring.multiple_choice.types import NONE, PASS, Clue, Rule
from scoring.registry import choice_benchmark, open_upload
from scoring.web.article import head_html
from scoring.web.report_parts import file_problems_html, folded_problems_html
from tests.support.choice_tables import COLUMNS, choice_tables, command, row, table_file
from tests.support.circular_passes import RIGHT, passes
from tests.support.openai_server import OpenAIServer

__all__ = ["command"]


def overall(found, way):
    """Return the Overall of a way of counting, and what it may be if something is unscored."""
    line = found.table("-levels.csv")[0]
    mean = float(line[way])
    ends = (line.get(f"{way}_least"), line.get(f"{way}_most"))
    return (mean, *(float(end) if end else mean for end in ends))


def tables(file, benchmark="mmbench", protocol="strict"):
    return choice_tables(open_upload(file, benchmark=benchmark).report(protocol))


def test_refusals_that_a_judge_read_are_not_read_by_rules(tmp_path):
    file = table_file(tmp_path / "m.tsv", [row(1, "B"), row(2, "hard to say")])
    report = open_upload(file, benchmark="mmbench").report("strict")
    by_rule, left_open = report.rows
    clue = Clue(Rule.JUDGE, NONE, "Z")
    decision = replace(left_open.decision, letter=NONE, trail=(*left_open.decision.trail, clue))
    judged = replace(report, rows=(by_rule, replace(left_open, decision=decision)))
    assert choice_benchmark(judged).checks(judged) == [
        "Rules read 50.0% of 2 answers, the judge 50.0%."
    ]


def vanilla(found):
    line = found.splits[-1].vanilla.line
    return found.splits[-1].split, line.n, line.unscored, line.mean, line.worst, line.best


@pytest.mark.parametrize(
    ("split", "name", "of"),
    [
        ("dev", "m.tsv", 1164),
        ("test", "m.tsv", 1784),
        ("", "m_MMBench_DEV_EN.tsv", 1164),
        ("", "m.tsv", 1164),
        ("dev_en", "m.tsv", 1164),
        ("TEST_CN", "m.tsv", 1784),
        ("val", "m.tsv", 1164),
        ("validation", "m.tsv", 1164),
        ("en", "m.tsv", 1164),
        ("en", "m_MMBench_TEST_EN.tsv", 1784),
    ],
)
def test_500_right_answers_alone_are_a_partial_score(tmp_path, split, name, of):
    found = tables(
        table_file(tmp_path / name, [row(index, "B", split=split) for index in range(1, 501)])
    )
    assert found.partial
    assert found.problems[0].text.startswith(
        f"No answer to {of - 500:,} of the {of:,} questions in MMBench"
    )
    worst = pytest.approx(50_000 / of)
    assert vanilla(found) == (split, of, of - 500, 100, worst, 100)


@pytest.mark.parametrize("protocol", ["mmbench-paper", "mmt-paper"])
def test_what_is_missing_is_not_wrong_under_the_papers_protocols(tmp_path, protocol):
    file = table_file(tmp_path / "m.tsv", [row(index, "B") for index in range(1, 501)])
    assert vanilla(tables(file, protocol=protocol)) == (
        "dev",
        1164,
        664,
        100,
        pytest.approx(50_000 / 1164),
        100,
    )


def test_a_partial_score_is_told_and_stands_in_the_files_names(command, tmp_path):
    file = table_file(tmp_path / "m.tsv", [row(index, "B") for index in range(1, 501)])
    code, said, _ = command("score", "--benchmark=mmbench", file, "--no-judge")
    assert code == 0 and all(path.name.startswith("partial_") for path in command.out.iterdir())
    assert said.splitlines()[3].startswith("No answer to 664 of the 1,164")
    assert "\nPartial: m scores 100.0 on MMBench dev (vanilla accuracy, 500 of 1,164" in said
    assert overall(command, "vanilla") == pytest.approx((100, 50_000 / 1164, 100))


def test_several_splits_without_a_known_name_are_one_partial_file(tmp_path):
    file = table_file(
        tmp_path / "m.tsv", [row(index, "B", split="ab"[index % 2]) for index in range(1, 501)]
    )
    found = tables(file)
    assert found.problems[0].text.startswith(
        "No answer to 664 of the 1,164 questions in MMBench all"
    )
    assert vanilla(found) == ("all", 1164, 664, 100, pytest.approx(50_000 / 1164), 100)


@pytest.mark.parametrize(
    ("count", "split"),
    [(1164, "dev"), (1176, "dev"), (1164, ""), (1176, ""), (1784, ""), (1176, "dev_en")],
)
def test_a_whole_dev_file_is_not_partial(tmp_path, count, split):
    found = tables(
        table_file(
            tmp_path / "m.tsv", [row(index, "B", split=split) for index in range(1, count + 1)]
        )
    )
    assert not found.partial and not [
        problem for problem in found.problems if "No answer" in problem.text
    ]


def test_what_no_edition_is_known_of_says_so(command, tmp_path):
    file = table_file(tmp_path / "m_V11.tsv", [row(index, "B") for index in range(1, 9)])
    _, said, _ = command("score", "--benchmark=mmbench", file, "--no-judge")
    assert "MMBench v1.1 dev: 8 questions, not checked against an edition" in said
    assert not list(command.out.glob("partial_*"))


def test_a_set_of_other_abilities_is_not_a_part_of_mmbench(tmp_path):
    rows = [
        row(index, "B", split="", category="juggling", **{"l2-category": "circus"})
        for index in range(1001, 1009)
    ]
    found = tables(table_file(tmp_path / "m.tsv", rows))
    assert not found.partial
    assert not [
        problem
        for problem in found.problems
        if "edition" in problem.text or "No answer" in problem.text
    ]


def test_the_question_file_names_what_is_missing(command, tmp_path):
    whole = [one for base in range(1, 41) for one in passes(base, RIGHT)]
    questions = table_file(tmp_path / "mmbench.tsv", whole, COLUMNS[:-1])
    early = [
        one for one in whole if not (int(one["index"]) % PASS == 40 and int(one["index"]) > PASS)
    ]
    early = [{**one, "prediction": "A"} if one["index"] == "40" else one for one in early]
    given = [one for one in early if not 5 <= int(one["index"]) % PASS <= 34]
    code, said, _ = command(
        "score",
        "--benchmark=mmbench",
        table_file(tmp_path / "m.tsv", given),
        "--questions",
        questions,
    )
    assert (
        code == 0
        and "No answer to 30 of the 40 questions in the question file. Add index 5, 6, 7" in said
    )
    assert "\nPartial: m scores 90.0 on MMBench dev (CircularEval" in said and overall(
        command, "circulareval"
    ) == (90.0, 22.5, 97.5)
    assert len(command.table("-missing.csv")) == 120 and "-missing.csv" in said
    assert all(path.name.startswith("partial_") for path in command.out.iterdir())
    for path in command.out.iterdir():
        path.unlink()
    code, said, _ = command(
        "score",
        "--benchmark=mmbench",
        table_file(tmp_path / "m.tsv", early),
        "--questions",
        questions,
    )
    assert code == 0 and "No answer to" not in said and not list(command.out.glob("partial_*")), (
        "a wrong pass ends a question"
    )
    assert overall(command, "circulareval") == (97.5, 97.5, 97.5)


def test_base_rows_alone_are_whole_as_vanilla(command, tmp_path):
    whole = [one for base in range(1, 5) for one in passes(base, RIGHT)]
    questions = table_file(tmp_path / "mmbench.tsv", whole, COLUMNS[:-1])
    base = [one for one in whole if int(one["index"]) < PASS]
    _, said, _ = command(
        "score",
        "--benchmark=mmbench",
        table_file(tmp_path / "m.tsv", base),
        "--questions",
        questions,
    )
    assert "base rows only" in said and "No answer to" not in said
    _, said, _ = command(
        "score",
        "--benchmark=mmbench",
        table_file(tmp_path / "m.tsv", base[1:]),
        "--questions",
        questions,
    )
    assert "No answer to 1 of the 4 questions in the question file. Add index 1." in said


def mmt_rows(split, lacking=()):
    sizes = {
        key: one.val_samples if split == "VAL" else one.samples for key, one in subtasks().items()
    }
    rows = [
        row(0, "B", category=key, split=split, **{"l2-category": subtasks()[key].meta_task})
        for key, count in sizes.items()
        for _ in range(count - (key in lacking))
    ]
    return [{**one, "index": str(index)} for index, one in enumerate(rows)]


@pytest.mark.parametrize(
    ("split", "of"), [("VAL", 3127), pytest.param("ALL", 31325, marks=pytest.mark.soak)]
)
def test_mmt_bench_is_checked_by_its_subtasks(tmp_path, split, of):
    lacking = list(subtasks())[:3]
    found = tables(table_file(tmp_path / "m.tsv", mmt_rows(split, lacking)), "mmt-bench")
    told = f"No answer to 3 of the {of:,} questions in MMT-Bench {split}"
    assert found.partial and found.problems[0].text.startswith(told)
    scores = found.splits[-1]
    unscored = {
        node.line.name: node.line.unscored
        for node in scores.tree.find("category")
        if node.line.unscored
    }
    assert unscored == dict.fromkeys(lacking, 1) and scores.overall.samples.unscored == 3
    assert not tables(table_file(tmp_path / "whole.tsv", mmt_rows(split)), "mmt-bench").partial


@pytest.mark.parametrize(
    "name", ["m.tsv", pytest.param("m_MMT-Bench_VAL.tsv", marks=pytest.mark.soak)]
)
def test_val_without_a_column_split_is_not_called_all(command, tmp_path, name):
    rows = [{**one, "split": ""} for one in mmt_rows("VAL")]
    _, said, _ = command(
        "score", "--benchmark=mmt-bench", table_file(tmp_path / name, rows), "--no-judge"
    )
    assert " on MMT-Bench VAL (" in said and "ALL" not in said
    assert len(list(command.out.glob("*-levels*.csv"))) == 1
    strange = [{**one, "category": "no subtask"} if one["index"] == "0" else one for one in rows]
    _, said, _ = command(
        "score", "--benchmark=mmt-bench", table_file(tmp_path / name, strange), "--no-judge"
    )
    assert " on MMT-Bench (" in said and "not checked against an edition" in said


@pytest.mark.parametrize(
    ("split", "name"),
    [
        pytest.param("", "m.tsv", marks=pytest.mark.soak),
        ("validation", "m_MMT-Bench_VAL.tsv"),
        ("other", "m.tsv"),
    ],
)
def test_mmt_bench_of_a_split_without_a_known_name(tmp_path, split, name):
    rows = [{**one, "split": split} for one in mmt_rows("VAL")]
    part = tables(table_file(tmp_path / name, rows[::2]), "mmt-bench")
    assert part.problems[0].text.startswith(
        f"No answer to {len(rows) // 2:,} of the 3,127 questions in MMT-Bench"
    )
    assert not tables(table_file(tmp_path / name, rows), "mmt-bench").partial


@pytest.mark.parametrize(
    ("stem", "benchmark", "of"),
    [
        ("vila_8b_CCBench", "mmbench", 510),
        pytest.param("vila_8b_MMT-Bench_VAL", "mmt-bench", 3127, marks=pytest.mark.soak),
    ],
)
def test_real_files_are_whole_and_parts_of_them_are_not(data, stem, benchmark, of):
    found = open_upload(data / "vlmevalkit" / f"{stem}.xlsx", benchmark=benchmark).report("strict")
    assert not choice_tables(found).partial
    last = max(one.question.index % PASS for one in found.rows)
    part = choice_tables(
        replace(found, rows=tuple(one for one in found.rows if one.question.index % PASS != last))
    )
    assert part.partial and f"1 of the {of:,} questions" in part.problems[0].text


def test_the_page_says_the_same(tmp_path):
    found = open_upload(
        table_file(tmp_path / "m.tsv", [row(index, "B") for index in range(1, 501)])
    )
    assert found.problems[0].blocks == "whole"
    assert "the score is partial" in file_problems_html(found.problems)
    report = found.report("strict")
    problems = (*choice_tables(report).problems, *report.problems)
    head = head_html(report, [folded_problems_html(problems)])
    assert (
        head.count("No answer to 664 of the 1,164") == 1
        and "would be 43.0 to 100.0 (vanilla accuracy)" in head
    )
    assert "500 of 1,164 decided" in head and "over all 1,164: 43.0 to 100.0" in head
    assert "(vanilla accuracy, 500 of 1,164 questions scored" in head and "Table 5" not in head


def test_mm_vet_names_what_is_missing_first(command, tmp_path):
    answers = json.loads(SAMPLE_PREDICTIONS.read_text())
    gone = [question.id for question in own_sample().questions[:2]]
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({id: text for id, text in answers.items() if id not in gone}))
    with OpenAIServer(lambda body, sample: "0.5") as judge:
        words = (
            "-o",
            "missing=unscored",
            "-o",
            "runs=1",
            "--judge",
            "test-judge",
            "--base-url",
            judge.address,
            "--yes",
        )
        code, said, _ = command("score", "--benchmark=mm-vet", "-o", "sample=true", file, *words)
    assert code == 0 and said.index(
        f"No answer to 2 of the 16 questions, which are unscored: {', '.join(gone)}."
    ) < said.index("Capabilities")
    assert all("partial_" in path.name for path in command.out.iterdir())
    assert [line["id"] for line in command.table("-missing.csv")] == gone and "\nPartial" in said
