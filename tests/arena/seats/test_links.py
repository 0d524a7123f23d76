"""Links: only what we made opens a campaign, and only the platform's own sites get the worker back."""

import unicodedata
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.seats.links import (
    PREVIEW,
    Arrival,
    CampaignLinkError,
    account_arrival,
    arrival,
    is_signed,
    made_link,
    signature,
)
from arena.seats.spec import CampaignSpec, read_spec
from arena.seats.worker_names import is_name, tidy_name
from tests.support.toy_campaigns import MTURK, PROLIFIC

KEY, AT = b"k" * 32, datetime(2026, 11, 25, tzinfo=UTC)
UNTIL = AT + timedelta(days=1)
IDS = st.from_regex(r"[A-Za-z0-9.@:+_-]{1,64}", fullmatch=True)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
ANYTHING = st.text(max_size=300)
PEOPLE = st.text(max_size=64).map(tidy_name).filter(is_name)
"""Names of workers in any script."""


def spec(name: str = "pilot", votes: int = 20, **platform) -> CampaignSpec:
    return read_spec(
        CampaignSpec, {"name": name, "seat": {"votes": votes, "minutes": 5, "pay": 1}, **platform}
    )


def query_of(link: str, **changes: str | None) -> dict[str, str]:
    """The query of a link, with changes; None takes a parameter out."""
    query = {**dict(parse_qsl(urlsplit(link).query)), **changes}
    return {name: value for name, value in query.items() if value is not None}


PROLIFIC_IDS = {"PROLIFIC_PID": "5f0c", "STUDY_ID": "S1", "SESSION_ID": "sitting"}
MTURK_IDS = {
    "workerId": "A1",
    "assignmentId": "3X",
    "hitId": "H",
    "turkSubmitTo": "https://www.mturk.com/",
}


def open_(of: CampaignSpec, at: datetime = AT, link: str = "", **changes: str | None) -> Arrival:
    return arrival(KEY, of, query_of(link or made_link(KEY, of, UNTIL, "w1"), **changes), at)


# What holds for every link


@given(NAMES, st.integers(1, 1000), IDS | PEOPLE, st.integers(0, 10**9))
def test_a_link_opens_its_campaign_for_its_worker_until_it_expires(name, votes, worker, seconds):
    of, until = spec(name, votes), AT + timedelta(seconds=seconds)
    link = made_link(KEY, of, until, worker)
    assert urlsplit(link).path == f"/c/{name}"
    assert link.isascii()
    assert open_(of, link=link) == Arrival(worker)
    assert open_(of, until, link) == Arrival(worker)
    with pytest.raises(CampaignLinkError, match="expired"):
        open_(of, until + timedelta(seconds=1), link)


@given(st.sampled_from(["n", "until", "worker", "sig"]), ANYTHING)
def test_a_link_with_any_other_value_opens_nothing(name, value):
    link = made_link(KEY, spec(), UNTIL, "w1")
    if tidy_name(value) != query_of(link)[name]:
        with pytest.raises(CampaignLinkError, match="was changed"):
            open_(spec(), link=link, **{name: value})


@pytest.mark.parametrize("name", ["n", "until", "worker", "sig"])
def test_a_link_without_a_part_opens_nothing(name):
    with pytest.raises(CampaignLinkError, match="was changed"):
        open_(spec(), **{name: None})


@given(NAMES, NAMES)
def test_a_link_opens_no_other_campaign_and_no_other_workload(name, other):
    link = made_link(KEY, spec(name), UNTIL, "w1")
    for of in (spec(name, 21), *([] if name == other else [spec(other)])):
        with pytest.raises(CampaignLinkError, match="was changed"):
            open_(of, link=link)
    with pytest.raises(CampaignLinkError, match="was changed"):
        arrival(b"another key", spec(name), query_of(link), AT)


@given(
    st.lists(st.text("ab\n", max_size=4), min_size=1, max_size=3),
    st.lists(st.text("ab", max_size=4), max_size=4),
)
def test_signed_parts_do_not_run_into_one_another(parts, others):
    """Only the first part may hold a newline: others come from patterns without it."""
    fixed = [part.replace("\n", "") for part in parts]
    assert is_signed(KEY, signature(KEY, *fixed), *fixed)
    if fixed != others and others:
        assert not is_signed(KEY, signature(KEY, *fixed), *others)


# Workers of plain links


@given(PEOPLE, st.sampled_from(["NFC", "NFD"]), st.sampled_from(["NFC", "NFD"]))
def test_a_name_is_one_worker_however_it_is_written(name, made, opened):
    link = made_link(KEY, spec(), UNTIL, f"  {unicodedata.normalize(made, name)} ")
    assert link == made_link(KEY, spec(), UNTIL, name)
    typed = unicodedata.normalize(opened, name).replace(" ", "\u3000 ")
    assert open_(spec(), link=link, worker=typed) == Arrival(name)


@pytest.mark.parametrize(
    "worker, name",
    [
        ("Ada Lovelace", "Ada Lovelace"),
        ("  Ada \u00a0\u3000 Lovelace ", "Ada Lovelace"),
        ("Zoe\u0308", "Zoë"),
        ("李小龍", "李小龍"),
        ("Лев Толстой", "Лев Толстой"),
        ("عايدة", "عايدة"),
        ("O'Neil, Tip (2)", "O'Neil, Tip (2)"),
        ("=2+3", "=2+3"),
        ("accountant", "accountant"),
        ("ö" * 64, "ö" * 64),
        ("u\u0308" * 64, "ü" * 64),
        ("\u03b1\u0313\u0300\u0345" * 64, "\u1f82" * 64),
    ],
    ids=repr,
)
def test_a_worker_may_have_a_name_in_any_script(worker, name):
    assert open_(spec(), link=made_link(KEY, spec(), UNTIL, worker)) == Arrival(name)


@pytest.mark.parametrize(
    "worker",
    [
        *("", "  ", "\u3000", "x" * 65, "ö" * 65, "x" * 1000, " " * 1000),
        *("a\tb", "a\nb", "a\rb", "a\n", "\0", "a\x1bb", "a\x7f", "a\x85b", "a\u2028b", "a\u2029b"),
        *("a\u202eb", "a\u2066b", "a\u200fb", "a\u061cb"),
        *(
            "a\u200bb",
            "a\u200cb",
            "a\u200db",
            "a\u2060b",
            "\ufeffa",
            "a\u00adb",
            "a\u034fb",
            "a\ufe0f",
        ),
        *("\u3164", "\u115f", "\uffa0", "\u2800", "a\U000e0041", "a\U000e0100"),
        *("\U0001d159", "a\U00016fe4", "a\U00013441", "a\U00013442b"),
        *("\ud800", "\ue000", "\uffff", "\U000110bd"),
        *(
            "account 0123",
            "account  0123",
            "account\u00a00123",
            f"account {'0' * 32}",
            "forgotten x",
        ),
        *("'=1", "'+x", "'@x"),
    ],
    ids=ascii,
)
def test_a_plain_link_is_made_for_a_name_that_can_be_seen_and_is_nobody_elses(worker):
    with pytest.raises(CampaignLinkError, match="can't be a worker's name"):
        made_link(KEY, spec(), UNTIL, worker)


@given(st.text(max_size=80) | st.from_regex(r"[0-9a-f]{64}", fullmatch=True))
def test_no_name_is_an_accounts(subject):
    assert not is_name(account_arrival(subject, "ada").person)


def test_a_signed_name_that_is_none_opens_nothing():
    """A link of ours has none such; a key that is known elsewhere might."""
    ends = str(int(UNTIL.timestamp()))
    for name in ("", "a\tb", f"account {'0' * 32}"):
        sig = signature(KEY, "pilot", "20", ends, name)
        with pytest.raises(CampaignLinkError, match="has no worker"):
            arrival(KEY, spec(), {"n": "20", "until": ends, "worker": name, "sig": sig}, AT)


# Platforms


def test_prolifics_link_has_its_placeholders_and_takes_what_prolific_fills_in():
    of = spec(**PROLIFIC)
    link = made_link(KEY, of, UNTIL)
    assert link.endswith(
        "&PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    assert open_(of, **PROLIFIC_IDS) == Arrival("5f0c", "sitting")
    with pytest.raises(CampaignLinkError, match="another study"):
        open_(of, **{**PROLIFIC_IDS, "STUDY_ID": "S2"})


@given(IDS, IDS)
def test_mturk_fills_in_a_worker_and_a_preview_has_none(worker, assignment):
    of, link = spec(**MTURK), made_link(KEY, spec(**MTURK), UNTIL)
    ids = {**MTURK_IDS, "workerId": worker, "assignmentId": assignment}
    found = open_(of, link=link, **ids)
    assert found == Arrival(worker, assignment, "https://www.mturk.com/mturk/externalSubmit")
    preview = open_(of, link=link, assignmentId=PREVIEW, hitId="H")
    assert preview.is_preview
    assert preview.reply_to == ""


@pytest.mark.parametrize("name", ["PROLIFIC_PID", "SESSION_ID", "workerId", "assignmentId"])
@pytest.mark.parametrize(
    "value", [None, "", "{{%PROLIFIC_PID%}}", "x" * 65, "a b", "<b>", "\0", "a\n", "ü", "\ud800"]
)
def test_an_id_that_is_missing_or_no_id_opens_nothing(name, value):
    ids, of = (
        (PROLIFIC_IDS, spec(**PROLIFIC)) if name in PROLIFIC_IDS else (MTURK_IDS, spec(**MTURK))
    )
    with pytest.raises(CampaignLinkError, match=f"has no {name}"):
        open_(of, **{**ids, name: value})


@pytest.mark.parametrize(
    "back",
    [
        *(
            "",
            "https://evil.example",
            "https://www.mturk.com.evil.example",
            "https://www.mturk.com@evil.example",
        ),
        *(
            "http://www.mturk.com",
            "//www.mturk.com",
            "javascript:alert(1)//www.mturk.com",
            "https://[",
            "https://www.mturk.com:444",
        ),
        *(
            "https://WWW.MTURK.COM\\@evil.example",
            "https://www.mturk.com\\.evil.example",
            "x" * 200,
            "https://evil.example#https://www.mturk.com",
        ),
    ],
)
def test_the_work_goes_back_to_mturk_alone(back):
    with pytest.raises(CampaignLinkError, match="isn't from MTurk"):
        open_(spec(**MTURK), **{**MTURK_IDS, "turkSubmitTo": back})


@pytest.mark.parametrize(
    "back", ["https://workersandbox.mturk.com", "https://www.mturk.com/anything?x#y"]
)
def test_the_path_that_mturk_is_said_to_have_is_not_believed(back):
    host = f"https://{urlsplit(back).netloc}"
    assert (
        open_(spec(**MTURK), **{**MTURK_IDS, "turkSubmitTo": back}).reply_to
        == f"{host}/mturk/externalSubmit"
    )


@given(
    st.dictionaries(
        st.sampled_from([*PROLIFIC_IDS, *MTURK_IDS, "n", "until", "sig", "worker"]), ANYTHING
    )
)
def test_any_query_at_all_opens_nothing_or_says_why(query):
    for platform in ({}, PROLIFIC, MTURK):
        with pytest.raises(CampaignLinkError):
            arrival(KEY, spec(**platform), query, AT)
