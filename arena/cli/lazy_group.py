"""The root of a command line: imports commands' modules when they are called, and turns errors into exit codes."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

INTERRUPTED = 130
"""Exit code after Ctrl+C."""


class Command(NamedTuple):
    """A command's help, and the module with its `app`; the command returns the lines to print."""

    help: str
    module: str


class LazyGroup(TyperGroup):
    """A group of commands that `--help` and suggestions list without importing their modules."""

    def __init__(self, name: str, help: str, commands: Mapping[str, Command]) -> None:
        unloaded: dict[str, Any] = {
            word: TyperCommand(word, short_help=command.help) for word, command in commands.items()
        }
        settings = {"help_option_names": ["--help", "-h"]}
        super().__init__(
            name=name,
            help=help,
            commands=unloaded,
            rich_markup_mode=None,
            context_settings=settings,
        )
        self._modules = {word: command.module for word, command in commands.items()}

    def run(self, words: Sequence[str] | None) -> int:
        """Runs the command of these words, by default the command line's; returns the exit code."""
        try:
            self.main(words, prog_name=self.name)
        except SystemExit as exit:
            return int(exit.code or 0)
        return 0

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Imports the module of the command that the words name."""
        resolved: Any = super().resolve_command(ctx, args)
        name, unloaded, rest = resolved
        module = import_module(self._modules[name])
        command = get_group(module.app).commands[name]
        command.help = command.help or unloaded.short_help
        return name, command, rest

    def invoke(self, ctx: Any) -> None:
        """Prints a command's lines.

        Our own errors and system errors are printed too, and end it with their `exit_code`, by default 2.
        """
        try:
            for line in super().invoke(ctx):
                typer.echo(line)
        except BrokenPipeError:
            # The reader, such as `head`, has enough lines. Typer ends quietly.
            raise
        except Exception as error:
            is_ours = type(error).__module__.startswith(("arena.", "scoring."))
            if not is_ours and not isinstance(error, OSError):
                raise
            typer.echo(_sentence(error), err=True)
            raise typer.Exit(getattr(error, "exit_code", 2)) from error


def _sentence(error: Exception) -> object:
    """Returns an error for the user; a system error gets its file, and a way out."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename} can't be used ({error.strerror}). Choose another place or file."
    return error
