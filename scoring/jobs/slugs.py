"""Slugs: public names of reports, made of letters, digits and hyphens, and the reasons why a report gets none."""

import re
import secrets
import unicodedata
from collections.abc import Callable

from scoring.benchmarks.spec_benchmark import is_own

_MOST_TITLE = 40
_MOST_BENCHMARK = 24
"""Most letters of a title and of a benchmark's key in a slug."""
_DRAWN = 4
"""Letters that are drawn."""
_LETTERS = "23456789abcdefghjkmnpqrstvwxyz"
_OTHERS = re.compile("[^a-z0-9]+")


def new_slug(title: str, benchmark: str) -> str:
    """Returns a name such as llava-1-5-13b-mm-vet-3f2a; a title without Latin letters or digits is left out."""
    drawn = "".join(secrets.choice(_LETTERS) for _ in range(_DRAWN))
    words = (_plain(title, _MOST_TITLE), _plain(benchmark, _MOST_BENCHMARK), drawn)
    return "-".join(filter(None, words))


def free_slug(title: str, benchmark: str, is_taken: Callable[[str], object]) -> str:
    """Returns a new name that no other report has."""
    slug = new_slug(title, benchmark)
    while is_taken(slug):
        slug = new_slug(title, benchmark)
    return slug


def _plain(text: str, most: int) -> str:
    """Returns a text in small Latin letters without accents, and digits, with hyphens for all else."""
    decomposed = unicodedata.normalize("NFKD", text[:200]).lower()
    without_accents = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    hyphenated = _OTHERS.sub("-", without_accents).lstrip("-")
    return hyphenated[:most].rstrip("-")


def hindrance_to_publish(state: str, benchmark: str, is_withdrawn: bool) -> str:
    """Returns the reason that keeps a report from a public name, to be read after its title; "" for none.

    `is_withdrawn`: operators made it private for good (`arena.admin.moderation`).
    """
    if state != "done":
        return f"is {state}. Only a finished report can be published."
    if is_own(benchmark):
        return "is scored by your own benchmark, which stays private. Share its link."
    if is_withdrawn:
        return "was made private by the operators and can't be published again."
    return ""
