"""Moderation: operators hide items, and keep or take down the images that visitors let us keep.

A hidden item is no longer served or found in searches, and neither is a picture that only hidden items have. Its votes
stay, and it can be shown again. A published report that they withdraw is private for good.
"""

from datetime import datetime
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Table,
    column,
    delete,
    func,
    insert,
    inspect,
    select,
    table,
    update,
)

from arena.admin.actions import AdminCommandError
from arena.database import METADATA, Moment, bump_counter, now, take_turn
from arena.items.store import BANK_VERSION, HIDDEN_ITEM, ITEM, SOURCE, Bank
from arena.live.images import OWN_IMAGE
from arena.types import Item

SEEN_IMAGE = Table(
    "seen_image",
    METADATA,
    Column("image_id", ForeignKey("own_image.id"), primary_key=True),
    Column("seen_at", Moment, nullable=False),
)
"""Images that an operator has reviewed and kept. (`own_image.kept` is the visitor's consent.)"""
JOB = table("job", column("slug"), column("published"), column("withdrawn"))
"""A table of `scoring`, which is not imported here; `withdrawn` is the reason given to a withdrawn report's owner."""
MOST_REASON = 300
"""Most characters of a reason."""
_IS_STORED = OWN_IMAGE.c.kept & OWN_IMAGE.c.gone_at.is_(None)
"""The SQL condition of an upload: an image that is stored permanently."""
_MOST_ADDRESS = 500
_MOST_UPLOADS = 24


class HiddenItem(NamedTuple):
    """An item that is not served."""

    key: str
    instruction: str


class Upload(NamedTuple):
    """An image that its owner lets us keep."""

    id: int
    arrived_at: datetime
    seen: bool
    """Whether an operator has kept it."""


class Uploads(NamedTuple):
    """The uploads to review."""

    listed: tuple[Upload, ...]
    """Unreviewed uploads, the oldest first, then the newest of the others, up to a limit."""
    unseen: int
    """The number of unreviewed uploads, listed or not."""
    kept: int
    """The number of reviewed uploads, listed or not."""


def hide(connection: Connection, key: str) -> bool:
    """Hides the item of a key; returns whether it was visible before. Raises AdminCommandError."""
    item_id = _lock_item(connection, key)
    if connection.scalar(select(HIDDEN_ITEM.c.item_id).where(HIDDEN_ITEM.c.item_id == item_id)):
        return False
    connection.execute(insert(HIDDEN_ITEM).values(item_id=item_id, hidden_at=now()))
    bump_counter(connection, BANK_VERSION)
    return True


def show(connection: Connection, key: str) -> bool:
    """Shows a hidden item again; returns whether it was hidden before. Raises AdminCommandError."""
    item_id = _lock_item(connection, key)
    result = connection.execute(delete(HIDDEN_ITEM).where(HIDDEN_ITEM.c.item_id == item_id))
    # Needless if nothing was hidden, and harmless: the bank is read once more.
    bump_counter(connection, BANK_VERSION)
    return result.rowcount > 0


def hidden_items(connection: Connection) -> tuple[HiddenItem, ...]:
    """Returns the hidden items, the newest first."""
    query = select(ITEM.c.key, ITEM.c.instruction).join(HIDDEN_ITEM)
    rows = connection.execute(query.order_by(HIDDEN_ITEM.c.hidden_at.desc(), ITEM.c.id))
    return tuple(HiddenItem(key=row.key, instruction=row.instruction) for row in rows)


def find_items(bank: Bank, wanted: str) -> list[Item]:
    """Returns the visible items for a key, a link with a key, or words of the instruction."""
    _, link, key = wanted.rpartition("/item/")
    if link:
        key = key.partition("?")[0].partition("#")[0]
    key = unquote(key).strip()
    match = bank.by_key(key)
    if match is not None:
        return [match]
    words = wanted.casefold().split()
    if not words:
        return []
    return [item for item in bank.items.values() if all(word in item.search_text for word in words)]


def uploads(connection: Connection) -> Uploads:
    """Returns the permanently stored uploads."""
    is_seen = SEEN_IMAGE.c.image_id.is_not(None)
    with_review = OWN_IMAGE.outerjoin(SEEN_IMAGE, SEEN_IMAGE.c.image_id == OWN_IMAGE.c.id)
    query = (
        select(OWN_IMAGE.c.id, OWN_IMAGE.c.arrived_at, is_seen.label("seen"))
        .select_from(with_review)
        .where(_IS_STORED)
    )
    oldest = query.where(~is_seen).order_by(OWN_IMAGE.c.id).limit(_MOST_UPLOADS)
    rows = list(connection.execute(oldest))
    newest = query.where(is_seen).order_by(OWN_IMAGE.c.id.desc())
    rows += connection.execute(newest.limit(_MOST_UPLOADS - len(rows)))
    counts = connection.execute(
        select(is_seen, func.count()).select_from(with_review).where(_IS_STORED).group_by(is_seen)
    )
    numbers = {bool(has_review): number for has_review, number in counts}
    return Uploads(
        listed=tuple(Upload(id=row.id, arrived_at=row.arrived_at, seen=row.seen) for row in rows),
        unseen=numbers.get(False, 0),
        kept=numbers.get(True, 0),
    )


def keep(connection: Connection, upload: int) -> bool:
    """Marks an upload as reviewed and kept; returns whether it was unreviewed before. Raises AdminCommandError."""
    check_upload(connection, upload)
    if connection.scalar(select(SEEN_IMAGE.c.image_id).where(SEEN_IMAGE.c.image_id == upload)):
        return False
    connection.execute(insert(SEEN_IMAGE).values(image_id=upload, seen_at=now()))
    return True


def check_upload(connection: Connection, upload: int) -> None:
    """Raises AdminCommandError if no such upload is permanently stored."""
    query = select(OWN_IMAGE.c.id).where(OWN_IMAGE.c.id == upload, _IS_STORED)
    if connection.scalar(query.with_for_update()) is None:
        raise AdminCommandError(f"There's no upload {upload}. It may be deleted already.")


def report_slug(address: str) -> str:
    """Returns the public name of a report, given that name or the report's address. Raises AdminCommandError."""
    try:
        path = urlsplit(address.strip()[:_MOST_ADDRESS]).path
    except ValueError:  # an address whose brackets don't match
        path = ""
    slug = path.rpartition("/r/")[2].strip("/")
    if not slug or "/" in slug:
        raise AdminCommandError(
            "That isn't the address of a published report. Copy the one with /r/ from its page."
        )
    return slug


def withdraw(connection: Connection, slug: str, reason: str) -> bool:
    """Makes a report private for good; returns False if it was withdrawn before. Raises AdminCommandError."""
    if not reason:
        raise AdminCommandError("Give a reason. The report's owner reads it.")
    if len(reason) > MOST_REASON:
        raise AdminCommandError(f"The reason is over {MOST_REASON} characters. Shorten it.")
    is_report = JOB.c.slug == slug
    row = None
    if inspect(connection).has_table(JOB.name):  # not in the database of an arena without scoring
        row = connection.execute(select(JOB.c.slug, JOB.c.withdrawn).where(is_report)).first()
    if row is None:
        raise AdminCommandError(f"No report has the address /r/{slug[:100]}. Check it.")
    if row.withdrawn is not None:
        return False
    connection.execute(update(JOB).where(is_report).values(published=False, withdrawn=reason))
    return True


def _lock_item(connection: Connection, key: str) -> int:
    """Locks the bank until the transaction ends; returns the id of an item. Raises AdminCommandError.

    Everything that changes the bank takes its turn at SOURCE.
    """
    take_turn(connection, SOURCE)
    item_id = connection.scalar(select(ITEM.c.id).where(ITEM.c.key == key))
    if item_id is None:
        raise AdminCommandError(
            f"No item has the key {key[:40]!r}. The key is the part after /item/ in the item's link."
        )
    return item_id
