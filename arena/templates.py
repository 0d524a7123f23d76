"""HTML templates: a file of macros for each screen, escaped unless `arena.markdown` made the HTML."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "arena/web/templates", ROOT / "scoring/web/templates", ROOT / "scoring/web")
"""Templates; `scoring/web` holds scripts that a template includes."""

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(FOLDERS), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_ENVIRONMENT.filters |= {
    "thousands": "{:,}".format,
    "decimal": lambda value, places=1: "–" if value is None else f"{value:.{places}f}",
    "percent": lambda value, places=1: "–" if value is None else f"{value:.{places}%}",
}


def macros(file: str) -> Any:
    """Return the macros of a template as functions that return HTML."""
    return _ENVIRONMENT.get_template(file).module
