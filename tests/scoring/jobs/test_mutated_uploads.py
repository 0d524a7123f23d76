"""Mutated uploads: of specs, questions, answers and zips comes a report or a sentence, and nothing stays behind."""

import asyncio
import io
import random
import zipfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from arena.database import Database
from scoring.jobs.file_roles import file_roles
from scoring.jobs.files import FileChoice, FileReader, JobServiceError
from scoring.jobs.store import Jobs
from scoring.jobs.submissions import Submissions
from scoring.jobs.uploads import StoredUpload, UploadStore, UploadStoreError
from scoring.judges.cache import ReplyCache
from scoring.questions.library import QuestionLibrary
from scoring.registry import benchmark_named
from scoring.specs.problems import SpecError
from scoring.web.scoring_problems import FILE_ERRORS, problem_html
from tests.support.mutations import mutated_bytes, mutated_spec, outside, watching

SPEC = b"""name: Zoo
about: Animals.
groups: [kind]
rule:
  - {when: {kind: pet}, rule: letter}
  - {rule: {kind: rubric, grades: [0, 2], step: 1, prompt: grade.txt}}
protocols: [strict]
questions: [{name: zoo.tsv, url: "https://example.org/zoo.tsv"}]
published: paper.csv
"""
PROMPT = b"Asked was {question}, right is {truth}, said was {answer}."
PAPER = b"model,figure,score,protocol,source\nGPT-4,Overall,61.5,strict,https://example.org/paper\n"
QUESTIONS = b"""index,question,A,B,answer,kind
1,Which?,cat,dog,A,pet
2,"And, here?",cat,dog,B,pet
3,What?,,,a lion,wild
"""
ANSWERS = b"index,prediction\n1,A\n2,It is B\n3,a lion\n"
WHOLE: Mapping[str, bytes] = {
    "benchmark.yaml": SPEC,
    "grade.txt": PROMPT,
    "paper.csv": PAPER,
    "questions.csv": QUESTIONS,
    "answers.csv": ANSWERS,
}
REFUSALS = (*FILE_ERRORS, UploadStoreError, JobServiceError)


def mutated(seed: int) -> Mapping[str, bytes]:
    """The files of an upload with up to two changes: to one of them, to which there are, or to the zip around them."""
    dice = random.Random(seed)
    files = dict(WHOLE)
    for _ in range(dice.randint(0, 2)):
        name = dice.choice([*files])
        act = dice.random()
        if act < 0.6:
            files[name] = mutated_bytes(files[name], dice)
        elif act < 0.7 and "benchmark.yaml" in files:
            files["benchmark.yaml"] = mutated_spec(seed)
        elif act < 0.85 and len(files) > 1:
            del files[name]
        else:
            files[dice.choice(["b.csv", "../x.yml", "y.txt", "z.json", "q.tsv", "in.zip"])] = files[
                name
            ]
    if dice.random() < 0.5:
        return files
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(dice.choice(["", "zoo/", "__MACOSX/.."]) + name, content)
    content = whole.getvalue()
    return {"zoo.zip": mutated_bytes(content, dice) if dice.random() < 0.2 else content}


class Desk:
    """An upload store and a reader, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.uploads = UploadStore(folder / "uploads")
        database = Database(f"sqlite:///{folder / 'arena.db'}")
        self.reader = FileReader(
            question_sets={},
            library=QuestionLibrary(None),
            jobs=Jobs(database),
            submissions=Submissions(database, None),
            cache=ReplyCache(database),
        )

    async def receives(self, files: Mapping[str, bytes]) -> StoredUpload:
        """Upload files one after the other, in place of what was there."""
        upload = None
        for name, content in files.items():
            beside = upload.token if upload else ""
            upload = await self.uploads.receive("me", name, parts(content), beside=beside)
        assert upload
        return upload

    def scores(self, upload: StoredUpload) -> str:
        """Read an upload and score it under every protocol; return what became of it."""
        upload = upload.led_by(file_roles(upload).name)
        found = self.reader.recognise("me", upload)
        if not found.scorable:
            assert all(problem.text for problem in found.problems)
            return "told"
        chosen = FileChoice(found.benchmark)
        for protocol in benchmark_named(found.benchmark).protocols.values():
            self.reader.report_by_rules(upload, chosen, protocol, "")
        return "scored"


async def parts(content: bytes) -> AsyncIterator[bytes]:
    yield content


def check(folder: Path, seeds: range) -> Counter[str]:
    """What became of mutated uploads. Asserts that what is refused is told, and that no file stays behind."""
    desk = Desk(folder)
    ends = Counter[str]()
    with asyncio.Runner() as runner:
        runner.get_loop()
        with watching() as opened:
            for seed in seeds:
                try:
                    upload = runner.run(desk.receives(mutated(seed)))
                    ends[desk.scores(upload)] += 1
                except REFUSALS as error:
                    told = problem_html(error)
                    assert str(error) and len(told) < 40_000 and "Traceback" not in told, seed
                    if not isinstance(error, SpecError):
                        assert "\n" not in str(error), (seed, str(error))
                    ends["refused"] += 1
                except Exception as error:
                    raise AssertionError(f"seed {seed}") from error
                desk.uploads.sweep("me")
                assert not [*(folder / "uploads").iterdir()], seed
    assert outside(opened, folder) == set()
    return ends


def test_the_whole_upload_is_scored(tmp_path):
    desk = Desk(tmp_path)
    assert desk.scores(asyncio.run(desk.receives(WHOLE))) == "scored"


def test_mutated_uploads_give_sentences(tmp_path):
    ends = check(tmp_path, range(40))
    assert ends["scored"] > 5 and ends["told"] + ends["refused"] > 15


@pytest.mark.soak
def test_two_thousand_mutated_uploads_give_sentences(tmp_path):
    ends = check(tmp_path, range(1_000, 3_000))
    assert ends["scored"] > 200 and ends["told"] > 50 and ends["refused"] > 500
