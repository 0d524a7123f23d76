"""Fetching: downloads a benchmark's question file from its authors and checks it; pictures are left out by default."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from arena.database import now
from arena.io.csv_text import write_csv
from arena.io.tables import ANSWERS, Record, read_records
from arena.storage import size_text
from scoring.benchmarks.base import FileBenchmark
from scoring.benchmarks.download import DownloadError, address_in_errors, announced_size, download
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.questions.known_file import BESIDE, file_md5
from scoring.specs.derived import cell_text
from scoring.specs.schema import QuestionFile
from scoring.specs.yaml_text import write_yaml

MOST_BYTES = 50_000_000_000
"""Bytes of the largest file that is loaded: with all pictures some have tens of gigabytes."""
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""The delimiter of the files that are written again without pictures, by suffix."""


def offer_text(benchmark: FileBenchmark[Any], file: QuestionFile, licence: str) -> str:
    """Returns a sentence on a download: its size as its server reports it, and the questions' licence."""
    size = announced_size(file.url or "")
    rows = f"{file.rows:,} questions, " if file.rows else ""
    size_words = size_text(size) if size else "of unknown size"
    note = f" ({file.note})" if file.note else ""
    return f"{file.name} of {benchmark.name}: {rows}{size_words} to load, licence {licence}{note}"


def fetch(
    key: str,
    file: QuestionFile,
    licence: str,
    folder: Path,
    with_pictures: bool,
    sleep: Callable[[float], object],
) -> Path:
    """Downloads a question file into a folder, whole or not at all. Raises DownloadError and RowsError.

    Without pictures, CSV and TSV files lose their columns of pictures; other files are kept as they are.
    """
    address = file.url or ""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / file.name
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        loaded = Path(scratch) / file.name
        with address_in_errors(address):
            download(address, loaded, MOST_BYTES, sleep)
            md5 = file_md5(loaded)
            if file.md5 and md5 != file.md5:
                raise DownloadError(
                    f"The file isn't the published one: its md5 is {md5}, not {file.md5}. Try again, or put the file "
                    f"into {folder} by hand."
                )
            content = loaded
            if not with_pictures and target.suffix.lower() in _DELIMITERS:
                content = Path(scratch) / f"bare{target.suffix}"
                _write_without_pictures(loaded, content)
            rows = _count_rows(content)
            if file.rows and rows != file.rows:
                raise DownloadError(
                    f"The file has {rows:,} rows, and the published one {file.rows:,}. Please report this."
                )
        notes = {"benchmark": key, "md5": md5, "url": address, "licence": licence}
        beside = Path(scratch) / "beside"
        beside.write_text(write_yaml({**notes, "fetched": f"{now():%Y-%m-%d}"}), "utf-8")
        # The notes come first: they have the md5, which a file without its pictures no longer shows.
        shutil.move(beside, target.with_name(f"{target.name}{BESIDE}"))
        content.replace(target)
    return target


def _count_rows(path: Path) -> int:
    return sum(1 for _ in read_records(path, ANSWERS, skip=IMAGE_COLUMNS))


def _write_without_pictures(source: Path, target: Path) -> None:
    """Writes a table without its columns of pictures. Raises RowsError."""
    records = read_records(source, ANSWERS, skip=IMAGE_COLUMNS)
    delimiter = _DELIMITERS[target.suffix.lower()]
    with target.open("w", encoding="utf-8", newline="") as file:
        write_csv(file, _table_rows(records), exact=True, delimiter=delimiter)


def _table_rows(records: Iterable[Record]) -> Iterator[list[object]]:
    """Yields the heads of the first record, then every record's cells below them."""
    heads: list[str] = []
    for record in records:
        if not heads:
            heads = [*record.values]
            yield [*heads]
        values: Mapping[str, Any] = record.values
        yield [cell_text(values.get(head)) for head in heads]
