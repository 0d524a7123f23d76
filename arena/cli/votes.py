"""Commands `votes import` and `votes export` for votes of any format, `export` for the public, and `forget`."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option, Typer

from arena.admin.erasure import Erasure
from arena.admin.public_export import FILES, write_export
from arena.cli.output_paths import OutputError, output_file, output_folder, refuse_overwriting
from arena.cli.rate import Aliases, CountBothBad, FileFormat, Named
from arena.database import Database
from arena.formats.base import FormatName
from arena.formats.registry import read, write
from arena.imports.importer import ImportRequest
from arena.imports.ranked_votes import aliases_of, rankable_battles
from arena.imports.stored_votes import import_file, stored_votes
from arena.live.images import OwnImages
from arena.settings import Settings

COMMAND_LINE = "the command line"
"""The operator in the log for actions on the command line."""
app = Typer(rich_markup_mode=None)
votes = Typer()
app.add_typer(votes, name="votes")


@votes.command("import")
def import_votes(
    file: Path,
    format: FileFormat = None,
    source: Annotated[
        str | None, Option(help="name of its boards; default: the file's name")
    ] = None,
    into_live: Annotated[
        bool,
        Option("--into-live", help="also count votes on this arena's items on this arena's boards"),
    ] = False,
    both_bad: CountBothBad = "half",
    judge: Annotated[
        bool, Option("--judge", help="a judge model cast the votes, not people")
    ] = False,
    named: Named = False,
    alias: Aliases = None,
) -> Iterator[str]:
    """Import a file of votes in any format, with boards of its own."""
    battles = rankable_battles(read(file, format), named, aliases_of(alias or ()))
    yield f"votes: {len(battles):,}, format: {battles.format or 'none'}"
    yield from battles.notices
    import_request = ImportRequest(
        source=source or file.stem, into_live=into_live, both_bad=both_bad, judge=judge
    )
    yield from import_file(battles, import_request)


@votes.command("export")
def export_votes(
    out: Annotated[Path, Option(callback=output_file)],
    file: Annotated[
        Path | None, Argument(help="a file of votes; default: this arena's votes")
    ] = None,
    source: Annotated[
        str | None,
        Option(help="the source or import of this arena's votes, if there are several"),
    ] = None,
    format: FormatName = "stereoscope",
) -> Iterator[str]:
    """Export this arena's votes, or convert a file of votes."""
    refuse_overwriting([out], file)
    if file and source:
        raise BadParameter(
            "Only this arena's votes have a source. Leave out --source, or the file."
        )
    battles = read(file) if file else stored_votes(source)
    losses = write(battles, out, format)
    yield f"votes: {len(battles):,}, format: {format}, written to {out}"
    yield from (*battles.notices, *losses)


@app.command()
def forget(
    voter: Annotated[str, Option(help="the code shown at /you, or a voter's number")],
) -> Iterator[str]:
    settings = Settings.from_env()
    with closing(Database(settings.database_url)) as database:
        images = OwnImages(database, settings.own_dir)
        erasure = Erasure(database, images, settings.uploads_dir)
        erasure.forget(erasure.find(voter), COMMAND_LINE)
    yield "Forgotten. Their pictures, texts and everything that identified them are deleted. Votes and reports stay."
    yield "A running server updates its own public files. Run `export` again for those you published elsewhere."
    yield "Older copies of the database (`backup`, pg_dump) still have this data. Delete them."


@app.command()
def export(out: Annotated[Path, Option(metavar="DIR", callback=output_folder)]) -> Iterator[str]:
    existing = [name for name in FILES if (out / name).exists()]
    # A folder with all of the files is an earlier export, which the new one replaces.
    is_incomplete = 0 < len(existing) < len(FILES)
    if is_incomplete:
        raise OutputError(f"{out / existing[0]} isn't from an export. Choose an empty folder.")
    with closing(Database(Settings.from_env().database_url)) as database:
        written = write_export(database, out)
    yield f"votes: {written.votes:,}, voters: {written.voters:,}, models: {written.models}"
    yield f"written: {', '.join(str(out / name) for name in FILES)}"
