"""Command `backup`: a copy of the SQLite file, also while the server runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, Typer

from arena.cli.output_paths import output_file
from arena.database import back_up
from arena.settings import Settings

app = Typer(rich_markup_mode=None)


@app.command()
def backup(
    file: Annotated[Path, Argument(callback=output_file, help="the copy to write, a new file")],
) -> Iterator[str]:
    back_up(Settings.from_env().database_url, file)
    yield f"written: {file}, with every vote stored so far"
