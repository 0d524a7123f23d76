"""Question pictures: of the questions' own folders, of the demo items, of the picture store, and of a report's file."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from arena.io.images import PictureStore
from arena.io.named_files import named_file
from arena.items.importers import DEMO_FOLDER
from scoring.benchmarks.article import ScoredAnswer
from scoring.jobs.report_pictures import ReportPictures

_OF_FILE = re.compile(r"of-file-([1-9]\d{0,3})")


class QuestionPictures:
    """Pictures of questions; `sources` are the folders that MM-Vet's questions came from, or their files."""

    def __init__(
        self, store: PictureStore, sources: Iterable[Path | None], kept: ReportPictures
    ) -> None:
        folders = (source if source.is_dir() else source.parent for source in sources if source)
        self._store = store
        self._folders = (*(folder / "images" for folder in folders), DEMO_FOLDER / "pictures")
        self._kept = kept

    def files(self, link: str, one: ScoredAnswer) -> Sequence[Path | bytes]:
        """Return the pictures of a report's question, as far as they are here: files, or WebP out of its own file."""
        named = [path for name in one.pictures if (path := self.path(name))]
        kept = (self._kept.picture(link, number) for number in self._kept.of(link).get(one.id, ()))
        return [*named, *filter(None, kept)]

    def addresses(self, link: str, name: str) -> Callable[[ScoredAnswer], Sequence[str]]:
        """Return what tells where the pictures of a report's questions are, as far as they are here.

        `name`: under which the report was opened.
        """
        kept = self._kept.of(link)
        folder = f"/reports/{quote(name, safe='')}/pictures"

        def of(one: ScoredAnswer) -> Sequence[str]:
            names = [quote(name, safe="") for name in one.pictures if self.path(name)]
            return [
                f"{folder}/{name}"
                for name in (*names, *(f"of-file-{at}" for at in kept.get(one.id, ())))
            ]

        return of

    def of_file(self, link: str, name: str) -> bytes | None:
        """Return a picture of a report's own file, as WebP; None for any other name."""
        found = _OF_FILE.fullmatch(name)
        return self._kept.picture(link, int(found[1])) if found else None

    def path(self, name: str) -> Path | None:
        """Return the picture's file; None where this server does not have it."""
        if Path(name).name != name or Path(name).suffix.lower() not in (
            ".jpg",
            ".jpeg",
            ".png",
            ".webp",
        ):
            return None
        files = (named_file(folder, name) for folder in self._folders)
        return next((file for file in files if file.is_file()), None) or self._store.path(name)
