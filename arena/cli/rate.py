"""Command `rate`: rate a file of votes; needs no database."""

from collections.abc import Iterator
from math import inf, nan
from pathlib import Path
from typing import Annotated

from typer import BadParameter, Option, Typer

from arena.cli.output_paths import output_folder, refuse_overwriting
from arena.formats.base import BothBad, FormatName
from arena.formats.registry import read
from arena.imports.ranked_votes import aliases_of, rankable_battles
from arena.ratings.bradley_terry import LEAST_PRIOR, PRIOR
from arena.ratings.report import (
    FILES,
    ClusterChoice,
    Method,
    RatingSettings,
    board_sheet,
    rating_report,
    write_report,
)
from arena.sheets import as_text

app = Typer(rich_markup_mode=None)
CountBothBad = Annotated[BothBad, Option(help='how "both bad" votes count')]
FileFormat = Annotated[FormatName | None, Option(help="default: recognised from the content")]

Named = Annotated[bool, Option("--named", help="include votes cast with the model names visible")]
Aliases = Annotated[
    list[str] | None,
    Option("--alias", metavar="OLD=NEW", help="merge two names of one model; repeatable"),
]


def _prior(text: str | float) -> float:
    """Returns the prior; Typer gives its default as a number, not as text."""
    try:
        prior = float(text)
    except ValueError:
        prior = nan
    if prior == 0 or LEAST_PRIOR <= prior < inf:
        return prior
    raise BadParameter(f"The prior is {text!r}. It must be 0, or {LEAST_PRIOR} or more.")


@app.command()
def rate(
    file: Path,
    out: Annotated[Path, Option(metavar="DIR", callback=output_folder)],
    format: FileFormat = None,
    method: Method = "all",
    bootstrap: Annotated[
        int, Option(min=0, max=100_000, help="random vote orders for Elo; 0: no spread")
    ] = 1000,
    cluster: Annotated[
        ClusterChoice, Option(help="what intervals treat as independent")
    ] = "picture",
    prior: Annotated[
        float,
        Option(
            parser=_prior,
            metavar="NUMBER",
            help="the prior's wins and losses against an average model: 0.5 is one tied game, 0 is maximum likelihood",
        ),
    ] = PRIOR,
    both_bad: CountBothBad = "half",
    seed: Annotated[int, Option(min=0)] = 0,
    named: Named = False,
    alias: Aliases = None,
) -> Iterator[str]:
    refuse_overwriting((out / name for name in FILES), file)
    battles = rankable_battles(read(file, format), named, aliases_of(alias or ()))
    settings = RatingSettings(
        method=method,
        bootstrap=bootstrap,
        cluster=cluster,
        prior=prior,
        seed=seed,
        both_bad=both_bad,
        named=named,
        aliases=tuple(alias or ()),
    )
    report = rating_report(battles, settings)
    paths = write_report(report, battles, file, out)
    yield f"votes: {len(battles):,}, models: {len(report.models):,}, format: {battles.format or 'none'}"
    yield from report.notices
    if report.rows:
        yield from as_text(board_sheet(report.rows))
    yield f"written: {', '.join(map(str, paths))}"
