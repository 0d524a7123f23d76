"""Commands `votes import` and `votes export`: votes from and to the formats that people hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from arena.cli.rate import CountBothBad, FileFormat
from arena.formats.base import FormatName
from arena.formats.registry import read, write
from arena.imports.importer import ImportRequest
from arena.imports.stored_votes import import_file, stored_votes

app, votes = Typer(rich_markup_mode=None), Typer()
app.add_typer(votes, name="votes")


@votes.command("import")
def import_votes(
    file: Path,
    format: FileFormat = None,
    source: Annotated[str | None, Option(help="the name of its boards; the file's if left out")] = None,
    into_live: Annotated[
        bool, Option("--into-live", help="count votes on this arena's items beside its own too")
    ] = False,
    both_bad: CountBothBad = "half",
    judge: Annotated[bool, Option("--judge", help="a judge model chose, and no people")] = False,
) -> Iterator[str]:
    """A file in any format into this arena, with boards of its own."""
    battles = read(file, format)
    yield f"votes: {len(battles):,}, format: {battles.format or 'none'}"
    yield from battles.notices
    yield from import_file(battles, ImportRequest(source or file.stem, into_live, both_bad, judge))


@votes.command("export")
def export_votes(
    out: Annotated[Path, Option()],
    file: Annotated[Path | None, Argument(help="left out: the votes of this arena")] = None,
    source: Annotated[
        str | None, Option(help="the bank or the import that the votes are of; may be left out if there is one")
    ] = None,
    format: FormatName = "stereoscope",
) -> Iterator[str]:
    """This arena's votes, or a file of votes, to a format that others read."""
    battles = read(file) if file else stored_votes(source)
    lost = write(battles, out, format)
    yield f"votes: {len(battles):,}, format: {format}, written to {out}"
    yield from (*battles.notices, *lost)
