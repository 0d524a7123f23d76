"""Question pictures, by their names: of the questions' own folders, of the demo items, and of the picture store."""

from collections.abc import Iterable
from pathlib import Path

from arena.io.images import PictureStore
from arena.items.importers import DEMO_FOLDER


class QuestionPictures:
    """Pictures of questions; `sources` are the folders that MM-Vet's questions came from, or their files."""

    def __init__(self, store: PictureStore, sources: Iterable[Path | None]) -> None:
        folders = (source if source.is_dir() else source.parent for source in sources if source)
        self._store, self._folders = store, (*(folder / "images" for folder in folders), DEMO_FOLDER / "pictures")

    def path(self, name: str) -> Path | None:
        """Return the picture's file; None where this server does not have it."""
        if Path(name).name != name or Path(name).suffix.lower() not in (".jpg", ".jpeg", ".png", ".webp"):
            return None
        files = (folder / name for folder in self._folders)
        return next((file for file in files if file.is_file()), None) or self._store.path(name)
