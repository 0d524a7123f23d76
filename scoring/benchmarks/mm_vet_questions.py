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
_MEMBERS = 2_000
_BY_HAND = "Download MM-Vet's archive from its authors by hand."


class QuestionsError(ValueError):
    """A wrong question file or archive; the message says what is wrong, and how to fix it."""


def load_mm_vet(folder: Path | None) -> QuestionSet:
    """MM-Vet's questions from its folder or file; official if it is as published. Raises QuestionsError, RowsError."""
    path = question_path(folder, MM_VET_FILE, "MM-Vet", "MM_VET_PATH")
    official = file_sha256(path) == MM_VET_SHA256
    name = "MM-Vet" if official else "MM-Vet, changed (not the published file)"
    digest, questions = questions_of(path, _question, "v2_")
    return QuestionSet("mm-vet", name, digest, official, questions)


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
    digest, questions = questions_of(SAMPLE, _question)
    return QuestionSet("mm-vet", "Stereoscope's own sample, not MM-Vet", digest, False, questions)


class Integration(NamedTuple):
    """Capabilities that questions need together, with the number of these questions in MM-Vet."""

    integration: str
    whole: int
    bard_set: int
    """The number in the paper's Bard set: the only numbers that agree with its Tables 9 and 10."""


@cache
def integrations() -> Mapping[str, Integration]:
    """The paper's 16 capability integrations, in the order of its Table 3."""
    rows = (record.values for record in read_records(DATA / "mm_vet_integrations.csv"))
    read = TypeAdapter(Integration).validate_python
    return {str(row["integration"]): read(row) for row in rows}


def subset(questions: QuestionSet, path: Path) -> QuestionSet:
    """The questions with the ids in a file, a JSON list or one per line. Raises RowsError, as `part_of` does."""
    text = "\n".join(read_lines(path))
    with row_errors(path.name):
        return part_of(questions, text, path.stem)


def part_of(questions: QuestionSet, text: str, name: str = "") -> QuestionSet:
    """The questions with the ids in a text, a JSON list or one per line, in the parent's order.

    A file of answers to the whole set is scored on these alone, as with the authors' `--use_sub_set`. The set's name
    says that it is a subset, and only a whole official set is official. A subset with as many questions of each kind as
    the paper's Bard set counts as the Bard set. Raises RowsError for ids that are unknown, duplicate or not text.
    """
    ids = set(_listed_ids(text))
    unknown = sorted(ids - {question.id for question in questions.questions})
    if not ids or unknown:
        problem = f"The list has no ids of {questions.name}. Write some, or leave it empty."
        if unknown:
            others = f"{len(unknown)} others: {', '.join(unknown[:20])}"
            problem = f"These aren't ids of {questions.name}: {others}. Correct or delete them."
        raise RowsError(problem)
    chosen = tuple(question for question in questions.questions if question.id in ids)
    others = tuple(question for question in questions.questions if question.id not in ids)
    label = f"subset {name}".strip()
    size = f"{len(chosen)} of {len(questions.questions)}"
    official = questions.official and chosen == questions.questions
    is_bard_set = questions.official and _is_bard_set(chosen)
    return replace(
        questions,
        name=BARD_SET if is_bard_set else f"{questions.name}, {label} ({size})",
        digest=_digest(chosen),
        official=official,
        questions=chosen,
        outside=others,
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
    """Downloads the authors' archive to a folder, whole or not at all, unless it is there. Raises DownloadError."""
    file = folder / MM_VET_FILE
    if file.is_file() and file_sha256(file) == MM_VET_SHA256:
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


def questions_of(
    path: Path, read: Callable[[str, Mapping[str, JSON], Path], Question], other: str = ""
) -> tuple[str, tuple[Question, ...]]:
    """A file's digest and its questions; `other` is the prefix of the other edition's ids. Raises RowsError."""
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
    questions = tuple(
        read(id, entry if isinstance(entry, dict) else {}, path) for id, entry in entries.items()
    )
    return _digest(questions), questions


def _question(id: str, fields: Mapping[str, JSON], path: Path) -> Question:
    image, text, truth = (fields.get(column) for column in ("imagename", "question", "answer"))
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
    groups = fields.get("capability")
    if (
        not isinstance(groups, list)
        or not groups
        or any(groups.count(group) > 1 for group in groups)
    ):
        raise RowsError(
            "Its capability must be a list that names each capability once. Use the published file.",
            path.name,
            column=id,
        )
    if unknown := [group for group in groups if group not in known]:
        raise RowsError(
            f"{unknown[0]!r} is no capability. Choose from {', '.join(known)}.",
            path.name,
            column=id,
        )
    return tuple(name for name in known if name in groups)


def _digest(questions: tuple[Question, ...]) -> str:
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
    is_json = text.lstrip().startswith(("[", "{"))
    ids = parse_json(text) if is_json else [line.strip() for line in text.splitlines()]
    if not isinstance(ids, list):
        raise RowsError("The ids aren't in a list. Write one per line, or a JSON list.")
    texts = [id for id in ids if isinstance(id, str)]
    if len(texts) < len(ids):
        raise RowsError("Some ids aren't texts. Put each in quotes.")
    nonempty = [id for id in texts if id]
    if double := [id for id, times in Counter(nonempty).items() if times > 1]:
        raise RowsError(
            f"These ids are listed more than once: {', '.join(double[:20])}. Keep one of each."
        )
    return nonempty


def _unpack(path: Path, folder: Path) -> None:
    """Extracts the published questions and the images that they name, and nothing else. Raises DownloadError."""
    with zipfile.ZipFile(path) as archive:
        parts = {PurePosixPath(part.filename): part for part in archive.infolist()}
        unpacked = sum(part.file_size for part in parts.values())
        if len(parts) > _MEMBERS or unpacked > _ARCHIVE_BYTES:
            raise DownloadError(
                f"The archive has {len(parts):,} files of {unpacked:,} bytes, more than the published one. {_BY_HAND}"
            )
        files = [
            place for place in parts if place.name == MM_VET_FILE and "__MACOSX" not in place.parts
        ]
        if len(files) != 1:
            raise DownloadError(
                f"The archive has {len(files)} files named {MM_VET_FILE} instead of one. {_BY_HAND}"
            )
        (folder / "images").mkdir(parents=True)
        (folder / MM_VET_FILE).write_bytes(archive.read(parts[files[0]]))
        if file_sha256(folder / MM_VET_FILE) != MM_VET_SHA256:
            raise DownloadError(
                f"The archive's {MM_VET_FILE} isn't the published one, by its sha256. Please report this."
            )
        for name in sorted({question.image for question in load_mm_vet(folder).questions}):
            picture = parts.get(files[0].parent / "images" / name)
            if picture is None:
                raise DownloadError(f"The archive has no picture images/{name}. {_BY_HAND}")
            (folder / "images" / name).write_bytes(archive.read(picture))
