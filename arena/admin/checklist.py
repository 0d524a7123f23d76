"""Checklist: the parts that a running arena has, and the missing ones with the way to add them."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection, select

from arena.battles.sampling import in_draw
from arena.items.store import ItemState, load_bank, shown_text
from arena.seats.tables import CAMPAIGN
from arena.settings import Settings
from arena.storage import no_room, votes_folders
from arena.templates import plural
from arena.types import OWN_KINDS

ENOUGH_CHECKS = 20
"""The fewest check items with which a worker rarely meets the same ones again."""


class ChecklistEntry(NamedTuple):
    """A part that an arena can have."""

    what: str
    """The name of the part."""
    is_there: bool
    details: str
    """The details of the part, or the way to add it."""
    is_urgent: bool = False
    """Whether votes may be lost, or nobody can vote, until it is added."""


def checklist(
    settings: Settings, connection: Connection, live_models: int
) -> tuple[ChecklistEntry, ...]:
    """Returns the missing parts, then the others. `live_models`: the number of models that can answer."""
    entries = [
        *_item_entries(settings, connection),
        *_storage_entries(settings),
        *_people_entries(settings, connection),
        *_model_entries(settings, live_models),
    ]
    return tuple(sorted(entries, key=lambda entry: entry.is_there))


def _item_entries(settings: Settings, connection: Connection) -> Iterator[ChecklistEntry]:
    bank = load_bank(connection, settings.image_hosts)
    own_items = bank.states_of(OWN_KINDS)
    # Where the demo bank is off or has no battles, nobody can vote without own items.
    has_battles = any(len(item.contestants) > 1 for item in in_draw(bank, settings.demo_bank))
    details = _item_details(own_items, has_battles)
    yield ChecklistEntry("Items", own_items["ready"] > 0, details, is_urgent=not has_battles)
    checks = bank.states_of(["check"]).total()
    if checks >= ENOUGH_CHECKS:
        yield ChecklistEntry("Attention tests", True, f"{checks:,}.")
    else:
        details = (
            f"{checks} of {ENOUGH_CHECKS}. Import a folder of them: python -m arena items checks DIR "
            "(docs/vote.md)."
        )
        yield ChecklistEntry("Attention tests", False, details)


def _item_details(own_items: Counter[ItemState], has_battles: bool) -> str:
    """Returns a sentence on the items. `own_items`: the operator's, by state. `has_battles`: people can vote."""
    if own_items and own_items["ready"] == own_items.total():
        return f"{plural(own_items.total(), 'item')} of your own."
    if own_items["ready"]:
        return shown_text(own_items)
    if own_items:
        until = "voters see the demo items" if has_battles else "nobody can vote"
        return f"{shown_text(own_items)} Until then, {until}."
    import_own = "Import your own: python -m arena items (docs/vote.md)."
    if has_battles:
        return f"demo items only. {import_own}"
    return f"none, so nobody can vote. {import_own}"


def _storage_entries(settings: Settings) -> Iterator[ChecklistEntry]:
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
    for folder in votes_folders(settings):
        problem = no_room(folder)
        if problem:
            details = f"{problem[0].lower()}{problem[1:]}."
            yield ChecklistEntry("Disk", False, details, is_urgent=True)
            break


def _people_entries(settings: Settings, connection: Connection) -> Iterator[ChecklistEntry]:
    if settings.oauth:
        provider = settings.oauth.provider.partition("://")[2]
        yield ChecklistEntry("Login", True, f"with {provider}.")
    else:
        details = (
            "none. Voters are known only by a cookie. Set OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET, or "
            "hf_oauth: true on a Space (docs/host.md)."
        )
        yield ChecklistEntry("Login", False, details)
    if settings.operators:
        yield ChecklistEntry("Operators", True, f"{', '.join(sorted(settings.operators))}.")
    else:
        details = (
            "none by name. The link printed at start opens this page in one browser for a day. "
            "Set up a login, and name them in OPERATORS."
        )
        yield ChecklistEntry("Operators", False, details)
    campaigns = settings.counts.campaigns
    missing = sorted({*campaigns} - {*connection.scalars(select(CAMPAIGN.c.name))})
    if missing:
        details = (
            f"there's no {' and no '.join(missing)} yet. Check CAMPAIGNS, or make the campaign."
        )
    elif campaigns:
        details = f"{', '.join(campaigns)}."
    else:
        details = "none. Name one in CAMPAIGNS to count its workers' votes (docs/vote.md)."
    yield ChecklistEntry("Counted campaigns", bool(campaigns) and not missing, details)


def _model_entries(settings: Settings, live_models: int) -> Iterator[ChecklistEntry]:
    if live_models >= 2:
        yield ChecklistEntry("Live models", True, f"{live_models} answer here.")
    else:
        if settings.models is None:
            problem = "none. Start with MODELS=small, or set MODELS to a models file"
        elif live_models:
            problem = "only one is ready, and battles need two"
        else:
            problem = "none is ready"
        yield ChecklistEntry("Live models", False, f"{problem} (docs/vote.md).")
    judge = settings.judge
    if judge.model:
        details = f"{judge.model}, for up to ${judge.total_budget / 1e6:,.2f} in all."
        yield ChecklistEntry("Judge", True, details)
    else:
        details = "none. People score with their own keys. Set JUDGE_MODEL and OPENAI_API_KEY (docs/score.md)."
        yield ChecklistEntry("Judge", False, details)
    for name, path, variable in (
        ("MM-Vet", settings.mm_vet, "MM_VET_PATH"),
        ("MM-Vet v2", settings.mm_vet_v2, "MM_VET_V2_PATH"),
        ("Other benchmarks'", settings.questions, "QUESTIONS_PATH"),
    ):
        missing = f"missing, so their answers can't be scored here. Set {variable} to their folder (docs/host.md)."
        yield ChecklistEntry(f"{name} questions", path is not None, "here." if path else missing)
