"""Links: the way of a worker to a campaign.

We sign our parts: the campaign, its workload and the link's expiry, and in a plain link the worker. A platform fills in
the ids of its worker and of the sitting, so an unknown worker gets in, but isn't paid until the platform's own list has
the worker. Prolific: its `external_study_url`. MTurk: an ExternalQuestion, whose page is in a frame and is shown before
the work is accepted, without a worker's id. With a login here, the account is the worker.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from arena.errors import VoterError
from arena.seats.spec import CampaignSpec
from arena.seats.worker_names import ACCOUNT, is_name, tidy_name
from arena.settings import MTURK_HOSTS

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
_PROLIFIC = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
_ID = re.compile(r"[\w.@:+-]{1,64}", re.ASCII)
_LACKS = "The link lacks its {}. Open it from the platform's page, which fills it in."
_SIGNED = 32
"""The hexadecimal digits of a signature: 128 bits."""


class CampaignLinkError(VoterError):
    """A link opens no seat; the message says why and what to do."""


class LoginNeededError(CampaignLinkError):
    """Somebody who is not logged in opens a link of a campaign for logged-in people."""


class Arrival(NamedTuple):
    """The worker who comes with a link."""

    person: str
    """The platform's id of the worker; empty in a preview."""
    session: str = ""
    """The platform's id of the sitting; the user name of a logged-in person."""
    reply_to: str = ""
    """The address that the browser posts the end of the work to, for MTurk only."""

    @property
    def is_preview(self) -> bool:
        return not self.person


def account_arrival(subject: str, name: str) -> Arrival:
    """Returns a logged-in person by the hash of the account's number, which survives a wiped disk, and the user name.

    The blank keeps it apart from platforms' ids, and no plain name begins with it.
    """
    return Arrival(f"{ACCOUNT}{subject[:32]}", session=name)


def signature(key: bytes, *parts: object) -> str:
    """Returns a signature of parts, which are separated by line ends."""
    return hmac.digest(key, "\n".join(map(str, parts)).encode(), "sha256").hex()[:_SIGNED]


def is_signed(key: bytes, text: str, *parts: object) -> bool:
    return hmac.compare_digest(signature(key, *parts).encode(), text.encode("utf-8", "replace"))


def made_link(key: bytes, spec: CampaignSpec, until: datetime, worker: str = "") -> str:
    """Returns the path and query of a link to a campaign, for any server's address. Raises CampaignLinkError."""
    name = tidy_name(worker) if spec.platform.kind == "plain" else ""
    if spec.platform.kind == "plain" and not is_name(name):
        raise CampaignLinkError(
            "{!r} can't be a worker's name. Use 1 to 64 visible letters, digits, signs and spaces, and don't begin "
            "with account or forgotten.",
            worker[:80],
        )
    ends = str(int(until.timestamp()))
    query = {"n": str(spec.seat.votes), "until": ends, **({"worker": name} if name else {})}
    query["sig"] = signature(key, *_parts(spec, ends, name))
    ids = f"&{_PROLIFIC}" if spec.platform.kind == "prolific" else ""
    return f"/c/{spec.name}?{urlencode(query)}{ids}"


def arrival(
    key: bytes,
    spec: CampaignSpec,
    query: Mapping[str, str],
    at: datetime,
    hosts: Sequence[str] = MTURK_HOSTS,
    logged_in: Arrival | None = None,
) -> Arrival:
    """Returns the worker in the query of a link, or the logged-in person. Raises CampaignLinkError."""
    kind = spec.platform.kind
    until = query.get("until", "")
    worker = tidy_name(query.get("worker", "")) if kind == "plain" else ""
    if query.get("n") != str(spec.seat.votes) or not is_signed(
        key, query.get("sig", ""), *_parts(spec, until, worker)
    ):
        raise CampaignLinkError(
            "This link was changed on its way. Open it exactly as you got it, or ask for it again."
        )
    if at.timestamp() > int(until):
        raise CampaignLinkError("This link has expired. Ask whoever sent it to you for a new one.")
    if kind == "login":
        if logged_in is None:
            raise LoginNeededError(
                "This work is for people who log in. Log in with Hugging Face, and you come back here."
            )
        return logged_in
    return {"plain": _plain, "prolific": _prolific, "mturk": _mturk}[kind](spec, query, hosts)


def _parts(spec: CampaignSpec, until: str, worker: str) -> tuple[str, str, str, str]:
    return spec.name, str(spec.seat.votes), until, worker


def _plain(_spec: CampaignSpec, query: Mapping[str, str], _hosts: Sequence[str]) -> Arrival:
    name = tidy_name(query.get("worker", ""))
    if not is_name(name):
        raise CampaignLinkError(_LACKS, "worker")
    return Arrival(name)


def _prolific(spec: CampaignSpec, query: Mapping[str, str], _hosts: Sequence[str]) -> Arrival:
    person = _id(query, "PROLIFIC_PID")
    session = _id(query, "SESSION_ID")
    if query.get("STUDY_ID") != spec.platform.study:
        raise CampaignLinkError(
            "This link belongs to another study. Open it from the study's page at Prolific."
        )
    return Arrival(person, session)


def _mturk(_spec: CampaignSpec, query: Mapping[str, str], hosts: Sequence[str]) -> Arrival:
    if query.get("assignmentId") == PREVIEW:
        return Arrival("")
    person = _id(query, "workerId")
    session = _id(query, "assignmentId")
    site = _site(query.get("turkSubmitTo", ""))
    if site not in hosts:
        raise CampaignLinkError(
            "This link does not come from MTurk. Open it from the HIT's page there."
        )
    return Arrival(person, session, f"{site}/mturk/externalSubmit")


def _site(address: str) -> str:
    """Returns the scheme and host of an address; empty for a malformed one."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"


def _id(query: Mapping[str, str], name: str) -> str:
    value = query.get(name, "")
    if not _ID.fullmatch(value):
        raise CampaignLinkError(_LACKS, name)
    return value


def key_bytes(text: str) -> bytes:
    """Returns the key of a campaign from its stored text."""
    return hashlib.sha256(text.encode()).digest()
