"""MM-Vet questions from a local folder or the authors' archive, subsets of them, and our own small sample."""

import hashlib
import json
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import TypeAdapter

from arena.io.strict_json import parse_json, row_errors
from arena.io.tables import COMMAND_LINE, JSON, RowsError, read_json, read_lines, read_records
from scoring.benchmarks.download import DownloadError, address_in_errors, download
from scoring.report import DATA, Question, QuestionSet

MM_VET_ARCHIVE = "https://github.com/yuweihao/MM-Vet/releases/download/v1/mm-vet.zip"
MM_VET_FILE = "mm-vet.json"
MM_VET_SHA256 = "6eced3121b9865098ea72aca233ca5ff7fd7b81374494d878815b9f856442d8e"
"""sha256 of `mm-vet.json` as published: 218 questions."""
CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
"""MM-Vet's core capabilities, in the order of the paper's section 3.1."""
ALL_CAPABILITIES = (*CAPABILITIES, "seq")
"""The capabilities of both editions: MM-Vet v2 adds sequences of images and texts."""
CAPABILITY_NAMES: Mapping[str, str] = {
    "rec": "Recognition",
    "ocr": "OCR",
    "know": "Knowledge",
    "gen": "Language generation",
    "spat": "Spatial awareness",
    "math": "Math",
    "seq": "Image-text sequences",
}
BARD_SET = "MM-Vet, Bard set"
"""The questions of the paper's Tables 9 and 10."""
SAMPLE = DATA / "mm_vet_sample.json"
SAMPLE_PREDICTIONS = DATA / "mm_vet_sample_predictions.json"
"""Example predictions for the sample's questions, to try the upload with."""

_ARCHIVE_BYTES = 200_000_000
"""Most bytes of the archive, and of its unpacked files: the published archive has 67 MB, mostly images."""
_MOST_MEMBERS = 2_000
_BY_HAND = "Download MM-Vet's archive from its authors by hand."


class QuestionsError(ValueError):
    """A wrong question file or archive; the message says what is wrong, and how to fix it."""


def load_mm_vet(folder: Path | None) -> QuestionSet:
    """MM-Vet's questions from its folder or file; official if it is as published. Raises QuestionsError, RowsError."""
    path = question_path(folder, MM_VET_FILE, "MM-Vet", "MM_VET_PATH")
    official = file_sha256(path) == MM_VET_SHA256
    name = "MM-Vet" if official else "MM-Vet, changed (not the published file)"
    questions = read_question_file(path, _question, "v2_")
    return QuestionSet("mm-vet", name, question_digest(questions), official, questions)


def question_path(path: Path | None, file: str, name: str, setting: str) -> Path:
    """An edition's question file, from its own path or its folder's. Raises QuestionsError."""
    if path is None:
        raise QuestionsError(
            f"{name}'s questions aren't here. Give --questions, or set {setting} to the folder with {file}."
        )
    file_path = path / file if path.is_dir() else path
    if not file_path.is_file():
        raise QuestionsError(
            f"{file_path} doesn't exist. Correct --questions or {setting}, the folder with {file}."
        )
    return file_path


def own_sample() -> QuestionSet:
    """Our own questions about images of the arena's demo items, for a trial without a download."""
    questions = read_question_file(SAMPLE, _question)
    name = "Stereoscope's own sample, not MM-Vet"
    digest = question_digest(questions)
    return QuestionSet("mm-vet", name, digest, official=False, questions=questions)


class Integration(NamedTuple):
    """Capabilities that questions need together, with the number of these questions in MM-Vet."""

    integration: str
    whole: int
    bard_set: int
    """The number in the paper's Bard set. The paper doesn't print it; no others fit its Tables 9 and 10."""


@cache
def integrations() -> Mapping[str, Integration]:
    """The paper's 16 capability integrations, in the order of its Table 3."""
    adapter = TypeAdapter(Integration)
    rows = [record.values for record in read_records(DATA / "mm_vet_integrations.csv")]
    return {str(row["integration"]): adapter.validate_python(row) for row in rows}


def subset_of_file(questions: QuestionSet, path: Path) -> QuestionSet:
    """The questions with the ids in a file, a JSON list or one per line. Raises RowsError, as `subset_of_ids` does."""
    text = "\n".join(read_lines(path))
    with row_errors(path.name):
        return subset_of_ids(questions, text, path.stem)


def subset_of_ids(questions: QuestionSet, text: str, name: str = "") -> QuestionSet:
    """The questions with the ids in a text, a JSON list or one per line, in the order of the whole set.

    A file of answers to the whole set is scored on these alone, as with the authors' `--use_sub_set`. The set's name
    says that it is a subset, and only a whole official set is official. A subset with as many questions of each
    integration as the paper's Bard set counts as the Bard set. Raises RowsError for ids that are unknown, duplicate or
    not text.
    """
    ids = set(_listed_ids(text))
    if not ids:
        raise RowsError(f"The list has no ids of {questions.name}. Write some, or leave it empty.")
    unknown = sorted(ids - {question.id for question in questions.questions})
    if unknown:
        listed = f"{len(unknown)} others: {', '.join(unknown[:20])}"
        raise RowsError(f"These aren't ids of {questions.name}: {listed}. Correct or delete them.")
    chosen = tuple(question for question in questions.questions if question.id in ids)
    outside = tuple(question for question in questions.questions if question.id not in ids)
    label = f"subset {name}".strip()
    size = f"{len(chosen)} of {len(questions.questions)}"
    is_bard_set = questions.official and _is_bard_set(chosen)
    return replace(
        questions,
        name=BARD_SET if is_bard_set else f"{questions.name}, {label} ({size})",
        digest=question_digest(chosen),
        official=questions.official and chosen == questions.questions,
        questions=chosen,
        outside=outside,
    )


def _is_bard_set(questions: Sequence[Question]) -> bool:
    counts = Counter("_".join(question.groups) for question in questions)
    return counts == {
        name: integration.bard_set
        for name, integration in integrations().items()
        if integration.bard_set
    }


def fetch_mm_vet(
    folder: Path, address: str = MM_VET_ARCHIVE, sleep: Callable[[float], object] = time.sleep
) -> Path:
    """Downloads the authors' archive to a folder, whole or not at all, unless it is there.

    Raises DownloadError, and QuestionsError if the folder has anything else.
    """
    file = folder / MM_VET_FILE
    has_questions = file.is_file() and file_sha256(file) == MM_VET_SHA256
    if has_questions and (folder / "images").is_dir():
        return folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise QuestionsError(f"{folder} already has other files. Choose an empty or new folder.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".mm-vet-", dir=folder.parent) as scratch:
        archive = Path(scratch) / "mm-vet.zip"
        unpacked = Path(scratch) / "mm-vet"
        with address_in_errors(address):
            download(address, archive, _ARCHIVE_BYTES, sleep)
            _unpack(archive, unpacked)
        unpacked.replace(folder)
    return folder


def read_question_file(
    path: Path, read: Callable[[str, Mapping[str, JSON], Path], Question], other: str = ""
) -> tuple[Question, ...]:
    """Reads a file's questions; `other` is the prefix of the other edition's ids. Raises RowsError.

    `read` makes a question of its id, its entry's fields and the path, which errors name.
    """
    entries = read_json(path, COMMAND_LINE)
    if not isinstance(entries, dict) or not entries:
        raise RowsError(
            'This isn\'t MM-Vet\'s question file, {"v1_0": {"question": ..., ...}, ...}. Choose that one.',
            path.name,
        )
    if other and all(id.startswith(other) for id in entries):
        benchmark = "mm-vet-v2" if other == "v2_" else "mm-vet"
        raise RowsError(
            f"The ids begin with {other}, as in the other edition. Use --benchmark {benchmark}.",
            path.name,
        )
    return tuple(
        read(id, entry if isinstance(entry, dict) else {}, path) for id, entry in entries.items()
    )


def _question(id: str, fields: Mapping[str, JSON], path: Path) -> Question:
    image = fields.get("imagename")
    text = fields.get("question")
    truth = fields.get("answer")
    if not (isinstance(image, str) and isinstance(text, str) and isinstance(truth, str)):
        raise RowsError(
            "Its imagename, question and answer must be texts. Use the published file.",
            path.name,
            column=id,
        )
    return Question(id, text, truth, capabilities_of(id, fields, path, CAPABILITIES), image)


def truth_words(truth: str) -> str:
    """A ground truth in words, from `a<AND>b<OR>c` in the authors' files."""
    return truth.replace("<AND>", " and ").replace("<OR>", " or ")


def truth_parts(truth: str) -> tuple[tuple[str, ...], ...]:
    """The alternatives of a ground truth, each with its elements."""
    return tuple(
        tuple(part.strip() for part in alternative.split("<AND>"))
        for alternative in truth.split("<OR>")
    )


def capabilities_of(
    id: str, fields: Mapping[str, JSON], path: Path, known: tuple[str, ...]
) -> tuple[str, ...]:
    """A question's capabilities, in the order of the known ones. Raises RowsError."""
    names = fields.get("capability")
    if not isinstance(names, list) or not names or any(names.count(name) > 1 for name in names):
        raise RowsError(
            "Its capability must be a list that names each capability once. Use the published file.",
            path.name,
            column=id,
        )
    if unknown := [name for name in names if name not in known]:
        raise RowsError(
            f"{unknown[0]!r} is no capability. Choose from {', '.join(known)}.",
            path.name,
            column=id,
        )
    return tuple(name for name in known if name in names)


def question_digest(questions: tuple[Question, ...]) -> str:
    """The sha256 of questions, as reports name it; lists without entries, such as v1's further images, aren't in it."""
    records = [
        {name: value for name, value in asdict(question).items() if value != ()}
        for question in questions
    ]
    written = json.dumps(records, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _listed_ids(text: str) -> list[str]:
    """The ids in a JSON list, or one per line. Raises RowsError."""
    is_json = text.lstrip().startswith(("[", "{"))
    ids = parse_json(text) if is_json else [line.strip() for line in text.splitlines()]
    if not isinstance(ids, list):
        raise RowsError("The ids aren't in a list. Write one per line, or a JSON list.")
    texts = [id for id in ids if isinstance(id, str)]
    if len(texts) < len(ids):
        raise RowsError("Some ids aren't texts. Put each in quotes.")
    nonempty = [id for id in texts if id]
    if repeated := [id for id, times in Counter(nonempty).items() if times > 1]:
        raise RowsError(
            f"These ids are listed more than once: {', '.join(repeated[:20])}. Keep one of each."
        )
    return nonempty


def _unpack(path: Path, folder: Path) -> None:
    """Extracts the published questions and the images that they name, and nothing else. Raises DownloadError."""
    with zipfile.ZipFile(path) as archive:
        members = {PurePosixPath(member.filename): member for member in archive.infolist()}
        size = sum(member.file_size for member in members.values())
        if len(members) > _MOST_MEMBERS or size > _ARCHIVE_BYTES:
            raise DownloadError(
                f"The archive has {len(members):,} files of {size:,} bytes, more than the published one. {_BY_HAND}"
            )
        question_files = [
            place
            for place in members
            if place.name == MM_VET_FILE and "__MACOSX" not in place.parts
        ]
        if len(question_files) != 1:
            raise DownloadError(
                f"The archive has {len(question_files)} files named {MM_VET_FILE} instead of one. {_BY_HAND}"
            )
        question_file = question_files[0]
        (folder / "images").mkdir(parents=True)
        (folder / MM_VET_FILE).write_bytes(archive.read(members[question_file]))
        if file_sha256(folder / MM_VET_FILE) != MM_VET_SHA256:
            raise DownloadError(
                f"The archive's {MM_VET_FILE} isn't the published one, by its sha256. Please report this."
            )
        for name in sorted({question.image for question in load_mm_vet(folder).questions}):
            picture = members.get(question_file.parent / "images" / name)
            if picture is None:
                raise DownloadError(f"The archive has no picture images/{name}. {_BY_HAND}")
            (folder / "images" / name).write_bytes(archive.read(picture))
