"""Question files on the server: each is known for what it is, and a file of answers alone finds its own."""

import hashlib
import logging
from pathlib import Path

import pytest

from scoring.benchmarks.base import ChoicesError
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.questions.known_file import KnownFile
from scoring.questions.library import QuestionLibrary
from scoring.questions.matching import AnswerFile, answer_files, match_questions
from scoring.questions.opening import NO_FILE, open_joined_file
from scoring.registry import BENCHMARKS
from tests.support.choice_tables import choice_tables, row, table_file
from tests.support.question_files import ASKED, SPARSE, answers, circular, questions, short_answers


@pytest.fixture
def library(tmp_path) -> QuestionLibrary:
    folder = tmp_path / "questions"
    folder.mkdir()
    return QuestionLibrary(folder)


def found(library: QuestionLibrary, file: Path, benchmark: str | None = None) -> str:
    """The name of the question file that a file of answers is matched with, or what is asked."""
    files = library.files()
    answered = answer_files(file, {known.file_benchmark.column_names for known in files})
    match = match_questions(files, answered, benchmark)
    return match.file.name if match.file else match.unclear


def test_a_file_whose_ids_are_all_among_the_answers_isn_t_equal_to_more_of_them():
    files = [
        KnownFile(
            path=Path(f"{count}.tsv"),
            benchmark="mmbench",
            md5="",
            texts={f"q{number}": "" for number in range(count)},
            truth_places={},
            is_published=False,
        )
        for count in (10, 20)
    ]
    answered = AnswerFile("answers.json", {f"q{number}": "" for number in range(19)})
    match = match_questions(files, {files[0].file_benchmark.column_names: answered})
    assert match.file is files[1], "it has all 19 ids, the other only 10"


class TestWhoseItIs:
    def test_a_name_of_a_published_file_tells_and_its_splits_are_known(self, library):
        questions(library.folder)
        (file,) = library.files()
        assert (file.benchmark, file.is_published) == ("mmbench", False)
        assert {*file.texts} == {*circular()}
        assert file.truth_places == {"dev": "there"}

    def test_the_md5_of_a_published_file_tells_whatever_its_name(self, library, monkeypatch):
        path = questions(library.folder, "some.tsv")
        md5 = hashlib.md5(path.read_bytes()).hexdigest()
        benchmark = BENCHMARKS["mmbench"]
        entry = benchmark.spec.questions[0].model_copy(update={"md5": md5})
        spec = benchmark.spec.model_copy(update={"questions": (entry,)})
        monkeypatch.setitem(
            BENCHMARKS, "mmbench", type(benchmark)(key="mmbench", name="M", spec=spec)
        )
        (file,) = library.files()
        assert (file.benchmark, file.is_published) == ("mmbench", True)

        beside = path.with_name("some.tsv.yaml")
        beside.write_text(f"benchmark: mmbench\nmd5: '{md5.upper()}'\n")
        (file,) = library.files()
        assert file.is_published, "some programs write an md5 in capitals"

    def test_rows_and_columns_tell_where_one_benchmark_has_such(self, library):
        ids = range(1, 1501)
        rows = [{**row(id), "l2_category": "fine"} for id in ids]
        table_file(library.folder / "mine.tsv", rows, [*ASKED, "l2_category"])
        (file,) = library.files()
        assert file.benchmark == "mmstar"

    def test_what_stands_beside_a_file_goes_before_all(self, library):
        questions(library.folder, "MMBench_DEV_EN.tsv")
        beside = library.folder / "MMBench_DEV_EN.tsv.yaml"
        beside.write_text("benchmark: mmstar\nanswers: hidden\n")
        (file,) = library.files()
        assert (file.benchmark, file.truth_places) == ("mmstar", {"": "hidden"})
        beside.write_text("answers: {dev: hidden}\n")
        (file,) = library.files()
        assert (file.benchmark, file.truth_places) == ("mmbench", {"dev": "hidden"})

    def test_a_split_without_right_answers_has_them_elsewhere(self, library):
        rows = [row(1), row(2), row(3, answer="", split="test")]
        table_file(library.folder / "MMBench_DEV_EN.tsv", rows, ASKED)
        (file,) = library.files()
        assert file.truth_places == {"dev": "there", "test": "absent"}

    @pytest.mark.parametrize(
        ("name", "beside", "told"),
        [
            ("strange.tsv", "", "Neither content nor name shows whose questions strange.tsv has"),
            ("a.tsv", "benchmark: nothing", "'nothing' isn't a benchmark with files"),
            ("a.tsv", "benchmark: mm-vet", "'mm-vet' isn't a benchmark with files"),
            ("a.tsv", "answers: [", "Write only lines for benchmark, answers"),
            ("a.tsv", "answers: gone", "Write only lines for benchmark, answers"),
        ],
    )
    def test_what_nobody_knows_is_told_once_and_left_out(self, library, caplog, name, beside, told):
        questions(library.folder)
        questions(library.folder, name)
        if beside:
            (library.folder / f"{name}.yaml").write_text(beside)
        with caplog.at_level(logging.WARNING):
            files = [library.files() for _ in range(3)]
        assert [[file.name for file in some] for some in files] == [["MMBench_DEV_EN.tsv"]] * 3
        assert caplog.text.count("a question file is left out") == 1
        assert told in caplog.text

    def test_without_a_folder_there_is_none(self):
        assert QuestionLibrary().files() == ()


class TestWhichFileFits:
    def test_equal_ids_with_gaps_tell(self, library, tmp_path):
        questions(library.folder)
        questions(library.folder, "MMBench_TEST_EN.tsv", [4, 242, 253, 1051, 2004])
        assert found(library, answers(tmp_path, circular())) == "MMBench_DEV_EN.tsv"
        strangers = dict.fromkeys(("9", "77", "901"), "A")
        assert found(library, answers(tmp_path, strangers)) == ""

    def test_numbers_of_a_few_questions_tell_nothing(self, library, tmp_path):
        questions(library.folder)
        few = answers(tmp_path, {"241": "A", "1050": "B"})
        assert found(library, few).startswith("2 answers, ids 241 to 1050. Is it MMBench")
        assert found(library, few, "mmbench") == "MMBench_DEV_EN.tsv"

    def test_ids_that_count_rows_are_asked_about(self, library, tmp_path):
        short_answers(library.folder, "OCRBench.tsv", 6)
        short_answers(library.folder, "MathVista_MINI.tsv", 6, "How far, {}?")
        said = {str(at): "seven" for at in range(6)}
        asked = found(library, answers(tmp_path, said))
        assert asked == "6 answers, ids 0 to 5. Which is it: MathVista or OCRBench?"
        assert found(library, answers(tmp_path, said), "ocrbench") == "OCRBench.tsv"
        named = answers(tmp_path, said, "model_MathVista_MINI.json")
        assert found(library, named) == "MathVista_MINI.tsv"

    def test_texts_tell_what_ids_do_not(self, library, tmp_path):
        short_answers(library.folder, "OCRBench.tsv", 6)
        short_answers(library.folder, "MathVista_MINI.tsv", 6, "How far, {}?")
        rows = [
            {"index": str(at), "question": f"How  far, {at}?", "prediction": "7"} for at in range(6)
        ]
        file = table_file(tmp_path / "m.tsv", rows, ["index", "question", "prediction"])
        assert found(library, file) == "MathVista_MINI.tsv"
        for each in rows:
            each["question"] = "Of another benchmark?"
        file = table_file(tmp_path / "m.tsv", rows, ["index", "question", "prediction"])
        assert found(library, file) == ""

    def test_two_languages_of_one_benchmark_are_two_files(self, library, tmp_path):
        questions(library.folder)
        questions(library.folder, "MMBench_DEV_CN.tsv", what="这是什么, {}?")
        file = answers(tmp_path, circular())
        asked = (
            "20 answers, ids 3 to 3002003. Which is it: MMBench_DEV_CN.tsv or MMBench_DEV_EN.tsv?"
        )
        assert found(library, file, "mmbench") == asked
        assert found(library, file) == asked
        named = answers(tmp_path, circular(), "qwen_MMBench_DEV_CN.json")
        assert found(library, named) == "MMBench_DEV_CN.tsv"
        chosen = open_joined_file(library, file, questions="MMBench_DEV_EN.tsv").file
        assert chosen is not None and chosen.stamp.name == "MMBench_DEV_EN.tsv"
        with pytest.raises(ChoicesError, match="'other.tsv' isn't one of its question files"):
            open_joined_file(library, file, questions="other.tsv")
        assert open_joined_file(library, file, questions=NO_FILE).file is None

    def test_a_named_question_file_of_an_empty_library_is_missed(self, library, tmp_path):
        file = answers(tmp_path, circular())
        assert open_joined_file(library, file).file is None
        with pytest.raises(ChoicesError, match="'gone.tsv' isn't one of its question files"):
            open_joined_file(library, file, questions="gone.tsv")
        assert open_joined_file(library, file, questions=NO_FILE).file is None

    def test_half_of_the_ids_must_be_known(self, library, tmp_path):
        rows = [row(id) for id in [*SPARSE, 2500]]
        table_file(library.folder / "MMBench_DEV_EN.tsv", rows, ASKED)
        known = {f"v{id}": "A" for id in SPARSE}
        assert found(library, answers(tmp_path, known)) == ""
        half = {**{str(id): "A" for id in SPARSE[:3]}, "7000": "A", "7001": "A", "7002": "A"}
        assert found(library, answers(tmp_path, half), "mmbench") == "MMBench_DEV_EN.tsv"
        assert found(library, answers(tmp_path, {**half, "7003": "A"}), "mmbench") == ""


class TestWhatIsScored:
    def test_answers_alone_have_circular_eval_and_abilities(self, library, tmp_path):
        questions(library.folder)
        wrong = [(241, 0), (252, 3)]
        opened = open_joined_file(library, answers(tmp_path, circular(wrong=wrong))).file
        assert opened is not None and opened.file.scorable
        report = opened.report("strict")
        assert isinstance(report, ChoiceReport) and report.questions.name == "MMBench_DEV_EN.tsv"
        (scores,) = choice_tables(report).splits
        assert scores.circular.line.mean == pytest.approx(60.0)
        assert scores.vanilla.line.mean == pytest.approx(80.0)
        abilities = {node.line.name: node.line.mean for node in scores.circular.find("category")}
        assert abilities == {
            "image_topic": 100.0, "image_style": 0.0, "ocr": 0.0,
            "social_relation": 100.0, "future_prediction": 100.0,
        }  # fmt: skip

    def test_what_differs_from_the_question_file_is_named_with_its_row(self, library, tmp_path):
        questions(library.folder)
        rows = [row(id, question=f"What is it, {id}?") for id in SPARSE]
        rows[2] |= {"C": "a bird of prey"}
        file = table_file(tmp_path / "m.tsv", rows)
        opened = open_joined_file(library, file).file
        assert [(one.row, one.blocks) for one in opened.problems if one.blocks == "scoring"] == [
            (4, "scoring")
        ]

    def test_a_question_file_that_changed_is_read_again(self, library, tmp_path):
        path = questions(library.folder)
        file = answers(tmp_path, circular())
        assert open_joined_file(library, file).file.file.scorable
        path.write_text(path.read_text().replace("image_style", "ocr"))
        report = open_joined_file(library, file).file.report("strict")
        names = {
            node.line.name for node in choice_tables(report).splits[0].circular.find("category")
        }
        assert names == {"image_topic", "ocr", "social_relation", "future_prediction"}
        path.unlink()
        assert open_joined_file(library, file).file is None
