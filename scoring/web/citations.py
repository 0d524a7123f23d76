"""Citations: the BibTeX of the papers that the benchmarks come from."""

from collections.abc import Mapping
from functools import cache

from scoring.report import DATA


@cache
def citations() -> Mapping[str, str]:
    """Returns the BibTeX entries of papers by key."""
    entries = (DATA / "citations.bib").read_text("utf-8").strip().split("\n\n")
    # An entry starts with its type and key, as in "@article{key,".
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}
