"""Question pictures: from the questions' folders, the demo items, the picture store, and a report's own file."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from arena.io.images import PictureStore
from arena.io.named_files import named_file
from arena.items.importers import DEMO_FOLDER
from scoring.benchmarks.article import ScoredAnswer
from scoring.jobs.report_pictures import ReportPictures

_REPORT_PICTURE = re.compile(r"of-file-([1-9]\d{0,3})")
"""The name of a picture out of a report's own file, by its number there."""
_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")


class QuestionPictures:
    """Pictures of questions; `sources` are the folders that MM-Vet's questions came from, or their files."""

    def __init__(
        self, store: PictureStore, sources: Iterable[Path | None], report_pictures: ReportPictures
    ) -> None:
        folders = (source if source.is_dir() else source.parent for source in sources if source)
        self._store = store
        self._folders = (*(folder / "images" for folder in folders), DEMO_FOLDER / "pictures")
        self._report_pictures = report_pictures

    def pictures(self, link: str, answer: ScoredAnswer) -> Sequence[Path | bytes]:
        """Returns a report's pictures of a question on this server: files, or WebP out of the report's own file."""
        files = filter(None, map(self.path, answer.pictures))
        from_report = (
            self._report_pictures.picture(link, number)
            for number in self._report_pictures.numbers(link).get(answer.id, ())
        )
        return [*files, *filter(None, from_report)]

    def addresses(self, link: str, name: str) -> Callable[[ScoredAnswer], Sequence[str]]:
        """Returns a function from an answer to the addresses of its question's pictures on this server.

        `name`: the link or slug by which the report was opened.
        """
        numbers = self._report_pictures.numbers(link)
        folder = f"/reports/{quote(name, safe='')}/pictures"

        def addresses_of(answer: ScoredAnswer) -> Sequence[str]:
            files = [quote(file, safe="") for file in answer.pictures if self.path(file)]
            files += [f"of-file-{number}" for number in numbers.get(answer.id, ())]
            return [f"{folder}/{file}" for file in files]

        return addresses_of

    def report_picture(self, link: str, name: str) -> bytes | None:
        """Returns a picture out of a report's own file, as WebP; None for any other name."""
        match = _REPORT_PICTURE.fullmatch(name)
        return self._report_pictures.picture(link, int(match[1])) if match else None

    def path(self, name: str) -> Path | None:
        """Returns the picture's file; None if this server does not have it."""
        if Path(name).name != name or Path(name).suffix.lower() not in _SUFFIXES:
            return None
        for folder in self._folders:
            file = named_file(folder, name)
            with suppress(OSError):  # The name is too long for a file.
                if file.is_file():
                    return file
        return self._store.path(name)
