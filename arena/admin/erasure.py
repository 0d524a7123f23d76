"""Erasure: deletes a voter's data on request. The votes stay, but no longer lead to a person.

A visitor is identified by a code that only their own page shows. Each of their voters (one for each seat, for example)
is replaced by a new voter without a cookie or an account, which gets the rows that stay. The old voter loses its cookie
and account too, so every server takes a returning cookie for a newcomer.
"""

import re
import secrets
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import (
    CompoundSelect,
    Connection,
    bindparam,
    column,
    delete,
    insert,
    inspect,
    select,
    table,
    update,
)

from arena.admin.actions import record_action
from arena.authoring.tables import DRAFT_CLAIM, DRAFT_EVENT
from arena.battles.tables import BATTLE, HELD, SEAT, TURN, VOTER, VOTER_NETWORK
from arena.battles.vote_table import FORGOTTEN
from arena.battles.voters import ADOPTION, LOGIN, PERSON, selves
from arena.budget import BUDGET, HOLD
from arena.database import Database, bump_counter, now, take_turn
from arena.fraud.flags import VOTER_FLAG
from arena.live.credits import Credits
from arena.live.images import OWN_IMAGE, OwnImages
from arena.seats.links import account_arrival
from arena.seats.tables import PARTICIPANT, SEAT_ENTRY, SEAT_TRY
from arena.seats.worker_names import ERASED
from arena.server.change_log import VOTER_KEY
from arena.storage import delete_uploads

DROPPED = (VOTER_KEY.c.voter_id, LOGIN.c.voter_id, HELD.c.voter_id, DRAFT_CLAIM.c.voter_id)
"""Columns with a voter's id. Their rows lead to a person, or are of no use to another voter, so they are deleted."""
HANDED_OVER = (
    SEAT.c.voter_id,
    BATTLE.c.voter_id,
    OWN_IMAGE.c.voter_id,
    PERSON.c.voter_id,
    ADOPTION.c.guest,
    ADOPTION.c.person,
    VOTER_NETWORK.c.voter_id,
    VOTER_FLAG.c.voter_id,
    DRAFT_EVENT.c.voter_id,
)
"""Columns with a voter's id in rows that stay: votes, what boards need to count them, and drafts of items."""
OWNED = tuple(
    table(name, column("owner")) for name in ("job", "submission", "mark", "secret_report")
)
"""Tables of `scoring`, which is not imported here. Their rows stay. The owner is a cookie's hash."""
JOB = table("job", column("owner"), column("asker"), column("published"), column("slug"))
"""A table of `scoring`. Published reports are withdrawn, since nobody could withdraw them later. `asker`: who owned it
when it was made."""
BROWSER = table("report_browser", column("cookie"), column("owner"))
CODE = table("report_code", column("owner"))
"""Tables of `scoring`: browsers that share another's reports, and codes for more browsers; their rows are deleted."""
MARK = table("mark", column("seat_id"), column("marker"))
"""A table of `scoring` with marks and labels. Its rows stay. `marker`: the person in the seat."""
_SEPARATORS = re.compile(r"[\s-]")
_VISITOR_CODE = re.compile(r"[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]{1,9}")
_SEAT = re.compile(r"seat([0-9]{1,9})")
_END_CODE = re.compile(r"[0-9a-f]{10}")
"""A name of a voter, without separators: a visitor's code, the voter's number, a worker's seat, or a worker's
completion code on a platform without its own."""


class UnknownVoterError(LookupError):
    """A code belongs to no visitor."""


class Erasure:
    """Deletion of voters' data from one database and from the folders of own images and of uploaded files."""

    def __init__(
        self,
        database: Database,
        images: OwnImages,
        uploads: Path | None = None,
        credits: Credits | None = None,
    ) -> None:
        """`credits`: the keys in this process's memory; None in a command, since the server drops them when it
        tidies up.
        """
        self._database = database
        self._credits = credits
        self._images = images
        self._uploads = uploads

    def find(self, name: str) -> int:
        """Returns the voter of a number, of a code as a visitor's page shows it, or of a worker's seat or code.

        Raises UnknownVoterError.
        """
        text = _SEPARATORS.sub("", name.lower())
        with self._database.read() as connection:
            voters: set[int] = set()
            if _NUMBER.fullmatch(text):
                voters = set(connection.scalars(select(VOTER.c.id).where(VOTER.c.id == int(text))))
            elif seat := _SEAT.fullmatch(text):
                query = select(SEAT.c.voter_id).where(SEAT.c.id == int(seat[1]))
                voters = set(connection.scalars(query))
            elif _END_CODE.fullmatch(text):
                query = select(SEAT.c.voter_id).where(SEAT.c.code == text.upper())
                voters = set(connection.scalars(query))
            elif _VISITOR_CODE.fullmatch(text):
                people = select(LOGIN.c.voter_id).where(LOGIN.c.cookie_hash.startswith(text))
                voters = set(connection.scalars(people))
                # A login goes before a guest with the same cookie.
                if not voters:
                    guests = select(VOTER.c.id).where(VOTER.c.cookie_hash.startswith(text))
                    voters = set(connection.scalars(guests))
        if len(voters) != 1:
            raise UnknownVoterError(
                f"No visitor has the code {name[:40]!r}. Visitors find theirs at /you, workers at the end of a "
                "campaign. A seat number works too, as in: seat 17."
            )
        return voters.pop()

    def forget(self, voter: int, operator: str) -> None:
        """Deletes the links between votes and a voter, and own images, live questions and answers.

        Raises DatabaseError and OSError.
        """
        with self._database.read() as connection:
            own_voters = list(connection.scalars(selves(voter)))
            # Seats in campaigns with a login have voters of their own.
            subjects = connection.scalars(
                select(PERSON.c.subject).where(PERSON.c.voter_id.in_(own_voters))
            )
            accounts = [account_arrival(subject, "").person for subject in subjects]
            seats = select(SEAT_ENTRY.c.seat_id).where(SEAT_ENTRY.c.person.in_(accounts))
            own_voters += connection.scalars(select(SEAT.c.voter_id).where(SEAT.c.id.in_(seats)))
            # A cookie whose login is over is a guest, unless another person has logged in with it since.
            logins = select(LOGIN.c.cookie_hash).where(LOGIN.c.voter_id.in_(own_voters))
            guests = select(VOTER.c.id).where(VOTER.c.cookie_hash.in_(logins))
            others_guests = select(ADOPTION.c.guest).where(ADOPTION.c.person.not_in(own_voters))
            is_new = VOTER.c.id.not_in(own_voters) & VOTER.c.id.not_in(others_guests)
            own_voters += connection.scalars(guests.where(is_new))
            own_cookies = connection.scalars(_cookie_hashes(own_voters)).all()
            cookies = _sharing_cookies(connection, own_cookies)
        if self._credits is not None:
            for own_voter in own_voters:
                self._credits.drop(own_voter)
        # Files come first, so that an interrupted erasure can be repeated.
        self._images.take_down(OWN_IMAGE.c.voter_id.in_(own_voters))
        if self._uploads is not None:
            for cookie in cookies:
                delete_uploads(self._uploads, cookie)
        with self._database.write() as connection:
            # A review takes this turn first too: with another order the two could wait for each other.
            take_turn(connection, VOTER_FLAG)
            for own_voter in own_voters:
                _forget_voter(connection, own_voter)
            bump_counter(connection, FORGOTTEN)
            record_action(connection, operator, "forgot a voter")
        self._database.empty_log()


def code_of(cookie_hash: str) -> str:
    """Returns the code of a visitor, as in "0a1b-2c3d-4e5f"."""
    return "-".join(cookie_hash[start : start + 4] for start in (0, 4, 8))


def _forget_voter(connection: Connection, voter: int) -> None:
    """Forgets one voter, and hands the rows that stay over to a new one."""
    since = connection.scalars(
        select(VOTER.c.since).where(VOTER.c.id == voter).with_for_update()
    ).one()
    battles = select(BATTLE.c.id).where(BATTLE.c.voter_id == voter)
    connection.execute(
        update(TURN)
        .where(TURN.c.battle_id.in_(battles))
        .values(question="", answer_a="", answer_b="", thinking_a="", thinking_b="")
    )
    _forget_worker(connection, voter)
    connection.execute(
        update(PERSON).where(PERSON.c.voter_id == voter).values(subject=_placeholder())
    )
    _disown(connection, voter)
    for field in DROPPED:
        connection.execute(delete(field.table).where(field == voter))
    # The day stays, since the fraud tests compare the votes of cookies from the same day.
    day = since.replace(hour=0, minute=0, second=0, microsecond=0)
    insert_voter = insert(VOTER).values(cookie_hash=_placeholder(), since=day)
    new_voter = connection.execute(insert_voter.returning(VOTER.c.id)).scalar_one()
    _end_links(connection, voter)
    for field in HANDED_OVER:
        hand_over = update(field.table).where(field == voter)
        connection.execute(hand_over.values({field.name: new_voter}))
    anonymous = {"cookie_hash": _placeholder(), "since": now()}
    connection.execute(update(VOTER).where(VOTER.c.id == voter).values(anonymous))


def _end_links(connection: Connection, voter: int) -> None:
    """Gives a voter's battles new tokens, so that links to them stop working."""
    battles = connection.scalars(select(BATTLE.c.id).where(BATTLE.c.voter_id == voter)).all()
    new_tokens = [{"battle": battle, "new_token": secrets.token_urlsafe(16)} for battle in battles]
    if new_tokens:
        update_battle = update(BATTLE).where(BATTLE.c.id == bindparam("battle"))
        connection.execute(update_battle.values(token=bindparam("new_token")), new_tokens)


def _forget_worker(connection: Connection, voter: int) -> None:
    """Makes a voter's seats anonymous, and removes the worker from the platforms' lists.

    Answers in a qualification are deleted, since captions of samples are published nowhere.
    """
    for seat in connection.scalars(select(SEAT.c.id).where(SEAT.c.voter_id == voter)).all():
        connection.execute(update(SEAT).where(SEAT.c.id == seat).values(code=_placeholder()))
        entry = connection.execute(select(SEAT_ENTRY).where(SEAT_ENTRY.c.seat_id == seat)).one()
        is_listed = (PARTICIPANT.c.campaign_id == entry.campaign_id) & (
            PARTICIPANT.c.person == entry.person
        )
        connection.execute(delete(PARTICIPANT).where(is_listed))
        connection.execute(delete(SEAT_TRY).where(SEAT_TRY.c.seat_id == seat))
        anonymous = {"person": _placeholder(), "session": _placeholder(), "reply_to": ""}
        connection.execute(update(SEAT_ENTRY).where(SEAT_ENTRY.c.seat_id == seat).values(anonymous))
        # A database that never ran `scoring` lacks its tables.
        if inspect(connection).has_table(MARK.name):
            connection.execute(
                update(MARK).where(MARK.c.seat_id == seat).values(marker=anonymous["person"])
            )


def _disown(connection: Connection, voter: int) -> None:
    """Makes the jobs and submissions of a voter's cookies anonymous, and those of browsers that share their reports.

    Their published reports are private again. Deletes the voter's daily costs, and makes reserved amounts anonymous.
    """
    cookies = connection.scalars(_cookie_hashes([voter])).all()
    sharing = _sharing_cookies(connection, cookies)
    if inspect(connection).has_table(JOB.name):
        update_reports = update(JOB).where(JOB.c.owner.in_(sharing))
        connection.execute(update_reports.values(published=False, slug=None))
        update_askers = update(JOB).where(JOB.c.asker.in_(sharing))
        connection.execute(update_askers.values(asker=_placeholder()))
    for owned in OWNED:
        if inspect(connection).has_table(owned.name):
            update_rows = update(owned).where(owned.c.owner.in_(sharing))
            connection.execute(update_rows.values(owner=_placeholder()))
    if inspect(connection).has_table(BROWSER.name):
        connection.execute(delete(BROWSER).where(BROWSER.c.cookie.in_(sharing)))
        connection.execute(delete(CODE).where(CODE.c.owner.in_(sharing)))
    payers = (*cookies, str(voter))
    for payer in payers:
        daily_budget = f"%day ____-__-__ {payer}"  # a LIKE pattern: any fund, any day
        is_of_payer = HOLD.c.day.like(daily_budget)
        connection.execute(update(HOLD).where(is_of_payer).values(day=_placeholder()))
        connection.execute(delete(BUDGET).where(BUDGET.c.name.like(daily_budget)))


def _sharing_cookies(connection: Connection, cookies: Sequence[str]) -> set[str]:
    """Returns these cookies, and those that share reports with them."""
    if not inspect(connection).has_table(BROWSER.name):
        return set(cookies)
    shared_owners = select(BROWSER.c.owner).where(BROWSER.c.cookie.in_(cookies))
    owners = {*cookies, *connection.scalars(shared_owners)}
    browsers = select(BROWSER.c.cookie).where(BROWSER.c.owner.in_(owners))
    return {*owners, *connection.scalars(browsers)}


def _cookie_hashes(voters: Sequence[int]) -> CompoundSelect:
    """Returns a SELECT of the hashes of voters' cookies."""
    logins = select(LOGIN.c.cookie_hash).where(LOGIN.c.voter_id.in_(voters))
    return select(VOTER.c.cookie_hash).where(VOTER.c.id.in_(voters)).union(logins)


def _placeholder() -> str:
    """Returns a placeholder for a name, an account or a cookie."""
    return f"{ERASED}{secrets.token_urlsafe(12)}"
