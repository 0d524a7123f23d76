"""Moderation: operators review the images that visitors let us keep, and keep each or take it down."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, ForeignKey, Table, func, insert, select

from arena.database import METADATA, Moment, now
from arena.live.images import OWN_IMAGE

SEEN_IMAGE = Table(
    "seen_image",
    METADATA,
    Column("image_id", ForeignKey("own_image.id"), primary_key=True),
    Column("seen_at", Moment, nullable=False),
)
"""Images that an operator has reviewed and kept."""
_SHOWN = 24


class ModerationError(ValueError):
    """No such upload to decide on."""


@dataclass(frozen=True)
class Upload:
    """An image that its owner lets us keep."""

    id: int
    arrived_at: datetime
    seen: bool
    """Whether an operator has kept it."""


@dataclass(frozen=True)
class Uploads:
    """The uploads to review."""

    first: tuple[Upload, ...]
    """Unreviewed ones, the oldest first, then the newest of the others; not all."""
    unseen: int
    kept: int


def uploads(connection: Connection) -> Uploads:
    """Return the uploads that are stored for good."""
    seen = SEEN_IMAGE.c.image_id.is_not(None)
    both = OWN_IMAGE.outerjoin(SEEN_IMAGE, SEEN_IMAGE.c.image_id == OWN_IMAGE.c.id)
    here = (OWN_IMAGE.c.kept, OWN_IMAGE.c.gone_at.is_(None))
    query = select(OWN_IMAGE.c.id, OWN_IMAGE.c.arrived_at, seen.label("seen")).select_from(both).where(*here)
    rows = connection.execute(query.where(~seen).order_by(OWN_IMAGE.c.id).limit(_SHOWN)).all()
    rows = [*rows, *connection.execute(query.where(seen).order_by(OWN_IMAGE.c.id.desc()).limit(_SHOWN - len(rows)))]
    counts = connection.execute(select(seen, func.count()).select_from(both).where(*here).group_by(seen))
    found = {bool(kept): number for kept, number in counts}
    shown = tuple(Upload(row.id, row.arrived_at, bool(row.seen)) for row in rows)
    return Uploads(shown, found.get(False, 0), found.get(True, 0))


def keep(connection: Connection, upload: int) -> bool:
    """Mark an upload as reviewed and kept; return whether that changed anything. Raises ModerationError."""
    check_upload(connection, upload)
    if connection.scalar(select(SEEN_IMAGE.c.image_id).where(SEEN_IMAGE.c.image_id == upload)):
        return False
    connection.execute(insert(SEEN_IMAGE).values(image_id=upload, seen_at=now()))
    return True


def check_upload(connection: Connection, upload: int) -> None:
    """Raise ModerationError if no such upload is stored for good."""
    here = (OWN_IMAGE.c.id == upload) & OWN_IMAGE.c.kept & OWN_IMAGE.c.gone_at.is_(None)
    if connection.scalar(select(OWN_IMAGE.c.id).where(here).with_for_update()) is None:
        raise ModerationError(f"There is no kept upload {upload}; it may be gone already")
