"""Commands `forget` and `export`: delete a voter's data on request, and write the public export of votes."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

from typer import Option, Typer

from arena.admin.erasure import Erasure
from arena.admin.public_export import FILES, write_export
from arena.database import Database
from arena.live.images import OwnImages
from arena.settings import Settings

COMMAND_LINE = "the command line"
"""Actor recorded for actions taken here."""
app = Typer(rich_markup_mode=None)


@app.command()
def forget(
    voter: Annotated[str, Option(help="the code that /you tells a visitor, or a voter's number")],
) -> Iterator[str]:
    settings = Settings.from_env()
    with closing(Database(settings.database_url)) as database:
        erasure = Erasure(database, OwnImages(database, settings.own_dir))
        erasure.forget(erasure.find(voter), COMMAND_LINE)
    yield "Forgotten: images, words and what told who it was are deleted; votes and reports stay without a person."
    yield "A running server writes its public files anew; write those that you published elsewhere anew with `export`."


@app.command()
def export(out: Annotated[Path, Option(metavar="DIR")]) -> Iterator[str]:
    with closing(Database(Settings.from_env().database_url)) as database:
        written = write_export(database, out)
    yield f"votes: {written.votes:,}, voters: {written.voters:,}, models: {written.models}"
    yield f"written: {', '.join(str(out / name) for name in FILES)}"
