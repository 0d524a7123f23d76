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
        """`counted`: the rule for votes that count, and whether COUNTS names the official board; `uploads`: a
        folder.
        """
        self._database = database
        self._counted = counted
        self._images = images
        self._forgetting = Erasure(database, images, uploads, credits)
        self._deeds: Mapping[str, Callable[[str, str], str]] = {
            "pause": lambda operator, _: self._done(
                operator, "paused live answers", "", lambda connection, _: pause(connection)
            ),
            "resume": lambda operator, _: self._done(
                operator, "resumed live answers", "", lambda connection, _: resume(connection)
            ),
            "hide": lambda operator, key: self._done(operator, "hid an item", key.strip(), hide),
            "show": lambda operator, key: self._done(
                operator, "showed an item again", key.strip(), show
            ),
            "keep": lambda operator, upload: self._done(
                operator,
                "kept an upload",
                upload,
                lambda connection, number: keep(connection, _number(number)),
            ),
            "take down": self._take_down,
            "forget": self._forget,
            "official": lambda operator, voters: self._done(
                operator, "made a board the official one", voters, self._official
            ),
        }

    def do(self, operator: str, order: object, about: object) -> str:
        """Executes a command, records it, and returns a message for the operator. Raises one of `ADMIN_ERRORS`."""
        if not (isinstance(order, str) and isinstance(about, str) and order in self._deeds):
            raise AdminCommandError(f"This act isn't known. Acts: {', '.join(self._deeds)}.")
        return self._deeds[order](operator, about)

    def withdraw_report(self, operator: str, address: str, reason: str) -> str:
        """Makes a published report private for good; its owner reads the reason. Raises one of `ADMIN_ERRORS`."""
        told = " ".join(reason.split())
        return self._done(
            operator,
            "withdrew a published report",
            report_slug(address),
            lambda connection, slug: withdraw(connection, slug, told),
        )

    def _done(
        self, operator: str, deed: ActionKind, about: str, change: Callable[[Connection, str], bool]
    ) -> str:
        """Makes a change and records it, both or neither; a change that is already made is not recorded again."""
        with self._database.write() as connection:
            if not change(connection, about):
                return "Nothing to do: it's already so."
            record_action(connection, operator, deed, about)
        return f"Done: {deed} {about}".strip() + "."

    def _official(self, connection: Connection, voters: str) -> bool:
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
        self._forgetting.forget(self._forgetting.find(name), operator)
        return "Done: this voter is forgotten. The votes stay, without a person. The public files are being updated."


def _number(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise AdminCommandError(f"{text[:20]!r} isn't the number of an upload. Reload the page.")
