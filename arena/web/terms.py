"""Terms shown before the first vote; each vote records the version it was given under."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from arena.templates import macros


class Terms(NamedTuple):
    """The version of `terms.md`, which is the beginning of its sha256, and its page."""

    version: str
    page: str

    @classmethod
    def read(cls) -> "Terms":
        text = (Path(__file__).parent / "terms.md").read_text("utf-8")
        page = macros("page.html").document("Terms", text)
        return cls(hashlib.sha256(text.encode()).hexdigest()[:12], page)
