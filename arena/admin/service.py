"""Admin service: the commands of operators, each stored with its operator."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args

from sqlalchemy import Connection

from arena.admin.actions import ActionKind, AdminCommandError, record_action
from arena.admin.erasure import Erasure, UnknownVoterError
from arena.admin.moderation import check_upload, hide, keep, report_slug, show, withdraw
from arena.database import Database, DatabaseError
from arena.fraud.eligibility import make_official
from arena.live.credits import Credits
from arena.live.images import OWN_IMAGE, OwnImages
from arena.live.pause import pause, resume
from arena.settings import BoardVoters, CountSettings

ADMIN_ERRORS = (AdminCommandError, UnknownVoterError, DatabaseError, OSError)


class AdminService:
    """Executes admin commands. The caller has checked that `operator` is one."""

    def __init__(
        self,
        database: Database,
        images: OwnImages,
        counted: CountSettings,
        uploads: Path | None = None,
        credits: Credits | None = None,
    ) -> None:
        """`counted`: the rule for votes that count, and whether COUNTS names the official board; `uploads`: the folder
        of uploaded files.
        """
        self._database = database
        self._counted = counted
        self._images = images
        self._erasure = Erasure(database, images, uploads, credits)
        self._orders: Mapping[str, Callable[[str, str], str]] = {
            "pause": self._pause,
            "resume": self._resume,
            "hide": self._hide,
            "show": self._show,
            "keep": self._keep,
            "take down": self._take_down,
            "forget": self._forget,
            "official": self._make_official,
        }

    def do(self, operator: str, order: object, about: object) -> str:
        """Executes a command, records it, and returns a message for the operator. Raises one of `ADMIN_ERRORS`.

        `about`: the thing that it concerns, such as an item's key; empty for other orders.
        """
        if not isinstance(order, str) or not isinstance(about, str) or order not in self._orders:
            raise AdminCommandError(f"This act isn't known. Acts: {', '.join(self._orders)}.")
        run_order = self._orders[order]
        return run_order(operator, about)

    def withdraw_report(self, operator: str, address: str, reason: str) -> str:
        """Makes a published report private for good; its owner reads the reason. Raises one of `ADMIN_ERRORS`."""
        slug = report_slug(address)
        reason_line = " ".join(reason.split())
        return self._change(
            operator,
            "withdrew a published report",
            slug,
            lambda connection: withdraw(connection, slug, reason_line),
        )

    def _change(
        self, operator: str, deed: ActionKind, about: str, change: Callable[[Connection], bool]
    ) -> str:
        """Makes a change and records it, both or neither, and returns a message.

        `change` returns False for a change that is already made, which is not recorded again.
        """
        with self._database.write() as connection:
            if not change(connection):
                return "Nothing to do: it's already so."
            record_action(connection, operator, deed, about)
        return f"Done: {deed} {about}".strip() + "."

    def _pause(self, operator: str, _: str) -> str:
        return self._change(operator, "paused live answers", "", pause)

    def _resume(self, operator: str, _: str) -> str:
        return self._change(operator, "resumed live answers", "", resume)

    def _hide(self, operator: str, item: str) -> str:
        key = item.strip()
        return self._change(operator, "hid an item", key, lambda connection: hide(connection, key))

    def _show(self, operator: str, item: str) -> str:
        key = item.strip()
        return self._change(
            operator, "showed an item again", key, lambda connection: show(connection, key)
        )

    def _keep(self, operator: str, upload: str) -> str:
        return self._change(
            operator,
            "kept an upload",
            upload,
            lambda connection: keep(connection, _number(upload)),
        )

    def _make_official(self, operator: str, voters: str) -> str:
        return self._change(
            operator,
            "made a board the official one",
            voters,
            lambda connection: self._set_official(connection, voters),
        )

    def _set_official(self, connection: Connection, voters: str) -> bool:
        """Makes the board of these voters official; returns False if it already was. Raises AdminCommandError."""
        if self._counted.rule == "everyone":
            raise AdminCommandError(
                "There's only everyone's board, because nobody can log in and no campaign counts."
            )
        if self._counted.official:
            raise AdminCommandError("COUNTS sets the official board. Unset it to choose here.")
        if voters not in get_args(BoardVoters):
            raise AdminCommandError(
                f"There's no board of {voters[:20]!r}. Choose {' or '.join(get_args(BoardVoters))}."
            )
        return make_official(connection, voters)

    def _take_down(self, operator: str, upload: str) -> str:
        number = _number(upload)
        with self._database.write() as connection:
            check_upload(connection, number)
            record_action(connection, operator, "took an upload down", upload)
        self._images.take_down(OWN_IMAGE.c.id == number)
        return f"Done: upload {number} is deleted."

    def _forget(self, operator: str, name: str) -> str:
        voter = self._erasure.find(name)
        self._erasure.forget(voter, operator)
        return "Done: this voter is forgotten. The votes stay, without a person. The public files are being updated."


def _number(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise AdminCommandError(f"{text[:20]!r} isn't the number of an upload. Reload the page.")
