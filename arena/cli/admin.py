"""Commands `forget` and `export`: delete a voter's data on request, and write the public export of votes."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from arena.admin.erasure import Erasure, UnknownVoterError
from arena.admin.public_export import FILES, write_export
from arena.database import Database, DatabaseError
from arena.io.strict_json import RowsError
from arena.live.images import OwnImages
from arena.settings import SettingError, Settings

ERRORS = (SettingError, DatabaseError, UnknownVoterError, RowsError, OSError)
"""Failures of a command, reported to the user in one line."""
COMMAND_LINE = "the command line"
"""Actor recorded for actions taken here."""


def run(arguments: argparse.Namespace) -> Iterator[str]:
    """Run one command and yield its output lines."""
    settings = Settings.from_env()
    database = Database(settings.database_url)
    try:
        yield from arguments.command(settings, database, arguments)
    finally:
        database.close()


def forget(settings: Settings, database: Database, arguments: argparse.Namespace) -> Iterator[str]:
    forgetting = Erasure(database, OwnImages(database, settings.own_dir))
    voter = forgetting.find(arguments.voter)
    forgetting.forget(voter, COMMAND_LINE)
    yield "Forgotten: images, words and what told who it was are deleted; votes and reports stay without a person."
    yield "A running server writes its public files anew; write those that you published elsewhere anew with `export`."


def export(settings: Settings, database: Database, arguments: argparse.Namespace) -> Iterator[str]:
    written = write_export(database, arguments.out)
    yield f"votes: {written.votes:,}, voters: {written.voters:,}, models: {written.models}"
    yield f"written: {', '.join(str(arguments.out / name) for name in FILES)}"


def add_forget(group: argparse.ArgumentParser) -> None:
    group.add_argument("--voter", required=True, help="the code that /you tells a visitor, or a voter's number")
    group.set_defaults(command=forget)


def add_export(group: argparse.ArgumentParser) -> None:
    group.add_argument("--out", type=Path, required=True, metavar="DIR")
    group.set_defaults(command=export)


ARGUMENTS = {"forget": add_forget, "export": add_export}
"""Functions that add each command's arguments to its parser."""
