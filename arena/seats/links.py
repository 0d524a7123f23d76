"""Links: each opens a campaign for its worker.

We sign our parts: the campaign, its workload and the link's expiry, and in a plain link the worker. A platform fills in
the ids of its worker and of the sitting, so an unknown worker gets in, but isn't paid until the platform's own list has
the worker. On Prolific, the link is a study's `external_study_url`. On MTurk, it is an ExternalQuestion: it opens in a
frame, and also as a preview without a worker's id, before the work is accepted. With a login here, the account is the
worker.
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
_PART_IS_MISSING = "The link has no {}. Open it from the platform's page, which fills it in."
_SIGNATURE_DIGITS = 32
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
    """Returns a logged-in person; `subject` is the hash of the account's number, `name` the user name.

    The person is ACCOUNT and the hash, which survives a wiped disk. No other worker can have such a name: ACCOUNT ends
    with a blank, which no platform's id has, and no plain name begins with ACCOUNT.
    """
    return Arrival(f"{ACCOUNT}{subject[:32]}", session=name)


def signature(key: bytes, *parts: object) -> str:
    """Returns a signature of parts, which are separated by line ends."""
    return hmac.digest(key, "\n".join(map(str, parts)).encode(), "sha256").hex()[:_SIGNATURE_DIGITS]


def is_signed(key: bytes, sent: str, *parts: object) -> bool:
    """Returns whether a signature that somebody sent is that of these parts."""
    expected = signature(key, *parts)
    return hmac.compare_digest(expected.encode(), sent.encode("utf-8", "replace"))


def made_link(key: bytes, spec: CampaignSpec, until: datetime, worker: str = "") -> str:
    """Returns the path and query of a link to a campaign, for any server's address. Raises CampaignLinkError."""
    name = tidy_name(worker) if spec.platform.kind == "plain" else ""
    if spec.platform.kind == "plain" and not is_name(name):
        raise CampaignLinkError(
            "{!r} can't be a worker's name. Use 1 to 64 visible letters, digits, signs and spaces, and don't begin "
            "with account or forgotten.",
            worker[:80],
        )
    expiry = str(int(until.timestamp()))
    query = {"n": str(spec.seat.votes), "until": expiry}
    if name:
        query["worker"] = name
    query["sig"] = signature(key, *_signed_parts(spec, expiry, name))
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
    is_ours = is_signed(key, query.get("sig", ""), *_signed_parts(spec, until, worker))
    # The signature is of the campaign's own number of votes, so a changed `n` would pass it.
    if query.get("n") != str(spec.seat.votes) or not is_ours:
        raise CampaignLinkError(
            "This link was changed. Open it exactly as you got it, or ask for a new one."
        )
    if at.timestamp() > int(until):  # A number, since it is signed.
        raise CampaignLinkError("This link has expired. Ask whoever sent it to you for a new one.")
    if kind == "login":
        if logged_in is None:
            raise LoginNeededError(
                "You need to log in for this work. Log in with Hugging Face, and you'll "
                "come back here."
            )
        return logged_in
    if kind == "prolific":
        return _prolific_arrival(spec, query)
    if kind == "mturk":
        return _mturk_arrival(query, hosts)
    return _plain_arrival(query)


def _signed_parts(spec: CampaignSpec, until: str, worker: str) -> tuple[str, str, str, str]:
    return spec.name, str(spec.seat.votes), until, worker


def _plain_arrival(query: Mapping[str, str]) -> Arrival:
    name = tidy_name(query.get("worker", ""))
    if not is_name(name):
        raise CampaignLinkError(_PART_IS_MISSING, "worker")
    return Arrival(name)


def _prolific_arrival(spec: CampaignSpec, query: Mapping[str, str]) -> Arrival:
    person = _id(query, "PROLIFIC_PID")
    session = _id(query, "SESSION_ID")
    if query.get("STUDY_ID") != spec.platform.study:
        raise CampaignLinkError(
            "This link belongs to another study. Open it from the study's page on Prolific."
        )
    return Arrival(person, session)


def _mturk_arrival(query: Mapping[str, str], hosts: Sequence[str]) -> Arrival:
    if query.get("assignmentId") == PREVIEW:
        return Arrival("")
    person = _id(query, "workerId")
    session = _id(query, "assignmentId")
    site = _site(query.get("turkSubmitTo", ""))
    if site not in hosts:
        raise CampaignLinkError("This link isn't from MTurk. Open it from the HIT's page there.")
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
        raise CampaignLinkError(_PART_IS_MISSING, name)
    return value


def key_bytes(text: str) -> bytes:
    """Returns the key of a campaign from its stored text."""
    return hashlib.sha256(text.encode()).digest()
