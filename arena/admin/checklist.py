"""Checklist: the parts that a running arena has, and the missing ones with the way to add them."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection

from arena.battles.sampling import in_draw
from arena.items.store import load_bank, shown_text
from arena.settings import Settings
from arena.storage import no_room, votes_folders
from arena.templates import plural
from arena.types import OWN_KINDS

ATTENTION_TESTS = 20
"""The fewest check items with which a worker rarely meets the same ones again."""


class ChecklistEntry(NamedTuple):
    """A part that an arena can have."""

    what: str
    is_there: bool
    details: str
    """The details of the part, or the way to add it."""
    is_urgent: bool = False
    """Whether votes may be lost, or nobody can vote, until it is added."""


def checklist(
    settings: Settings, connection: Connection, live_models: int
) -> tuple[ChecklistEntry, ...]:
    """Returns the missing parts, then the others."""
    entries = [
        *_bank(settings, connection),
        *_copies(settings),
        *_people(settings),
        *_answering(settings, live_models),
    ]
    return tuple(sorted(entries, key=lambda entry: entry.is_there))


def _bank(settings: Settings, connection: Connection) -> Iterator[ChecklistEntry]:
    bank = load_bank(connection, settings.image_hosts)
    own = bank.states_of(OWN_KINDS)
    has_demo = any(len(item.contestants) > 1 for item in in_draw(bank, settings.demo_bank))
    mend = "Import your own: python -m arena items (docs/vote.md)."
    if own and own["ready"] == own.total():
        details = f"{plural(own.total(), 'item')} of your own."
    elif own["ready"]:
        details = shown_text(own)
    elif own:
        until = "voters see the demo items" if has_demo else "nobody can vote"
        details = f"{shown_text(own)} Until then, {until}."
    else:
        details = f"demo items only. {mend}" if has_demo else f"none, so nobody can vote. {mend}"
    yield ChecklistEntry("Items", own["ready"] > 0, details, is_urgent=not has_demo)
    checks = bank.states_of(["check"]).total()
    made = "a folder of them: python -m arena items checks DIR (docs/vote.md)"
    details = (
        f"{checks:,}."
        if checks >= ATTENTION_TESTS
        else f"{checks} of {ATTENTION_TESTS}. Import {made}."
    )
    yield ChecklistEntry("Attention tests", checks >= ATTENTION_TESTS, details)


def _copies(settings: Settings) -> Iterator[ChecklistEntry]:
    if settings.backup:
        yield ChecklistEntry("Copy", True, f"to {settings.backup.dataset}, within about a minute.")
    elif not settings.database_url.startswith("sqlite"):
        yield ChecklistEntry(
            "Copy",
            True,
            "PostgreSQL stores the votes. Back it up yourself.",
        )
    else:
        details = (
            "none. If this disk is lost, so are the votes. Set MIRROR (a private dataset on the Hub) and HF_TOKEN, or "
            "DATABASE_URL (PostgreSQL). See docs/host.md."
        )
        yield ChecklistEntry("Copy", False, details, is_urgent=True)
    problems = [problem for problem in map(no_room, votes_folders(settings)) if problem]
    if problems:
        full = problems[0]
        yield ChecklistEntry("Disk", False, f"{full[0].lower()}{full[1:]}.", is_urgent=True)


def _people(settings: Settings) -> Iterator[ChecklistEntry]:
    if settings.oauth:
        provider = settings.oauth.provider.partition("://")[2]
        yield ChecklistEntry("Login", True, f"with {provider}.")
    else:
        details = "none. Voters are known only by a cookie. Set OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET, or hf_oauth: "
        yield ChecklistEntry("Login", False, f"{details}true on a Space (docs/host.md).")
    if settings.operators:
        yield ChecklistEntry("Operators", True, f"{', '.join(sorted(settings.operators))}.")
    else:
        details = (
            "none by name. The link printed at start opens this page in one browser for a day. "
        )
        yield ChecklistEntry(
            "Operators", False, f"{details}Set up a login, and name them in OPERATORS."
        )
    campaigns = settings.counts.campaigns
    missing = "none. Name one in CAMPAIGNS to count its workers' votes (docs/vote.md)."
    details = f"{', '.join(campaigns)}." if campaigns else missing
    yield ChecklistEntry("Counted campaigns", bool(campaigns), details)


def _answering(settings: Settings, live_models: int) -> Iterator[ChecklistEntry]:
    if live_models >= 2:
        yield ChecklistEntry("Live models", True, f"{live_models} answer here.")
    else:
        details = "only one is ready, and battles need two" if live_models else "none is ready"
        if settings.models is None:
            details = "none. Start with MODELS=small, or set MODELS to a models file"
        yield ChecklistEntry("Live models", False, f"{details} (docs/vote.md).")
    judge = settings.judge
    lent = f"{judge.model}, for up to ${judge.total_budget / 1e6:,.2f} in all."
    missing = "none. People score with their own keys. Set JUDGE_MODEL and OPENAI_API_KEY (docs/score.md)."
    yield ChecklistEntry("Judge", bool(judge.model), lent if judge.model else missing)
    for name, path, variable in (
        ("MM-Vet", settings.mm_vet, "MM_VET_PATH"),
        ("MM-Vet v2", settings.mm_vet_v2, "MM_VET_V2_PATH"),
        ("Other benchmarks'", settings.questions, "QUESTIONS_PATH"),
    ):
        missing = f"missing, so their answers can't be scored here. Set {variable} to their folder (docs/host.md)."
        yield ChecklistEntry(f"{name} questions", path is not None, "here." if path else missing)
