"""Terms shown before the first vote; each vote records the version it was given under."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from arena.templates import macros


class Terms(NamedTuple):
    """The version of `terms.md`, which is the beginning of its sha256, and its page by language."""

    version: str
    pages: Mapping[str, str]

    @classmethod
    def read(cls) -> "Terms":
        files = {"en": "terms.md", "zh": "terms.zh.md"}
        texts = {
            language: (Path(__file__).parent / name).read_text("utf-8")
            for language, name in files.items()
        }
        parts = {language: text.strip().partition("\n") for language, text in texts.items()}
        document = macros("page.html").document
        pages = {
            name: document(title.removeprefix("# "), body, name)
            for name, (title, _, body) in parts.items()
        }
        return cls(hashlib.sha256(texts["en"].encode()).hexdigest()[:12], pages)
