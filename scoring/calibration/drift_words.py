"""Drift in words: what a report says of its judge, what the operators' page and the command line say."""

from collections.abc import Iterator
from datetime import datetime

from arena.admin.checklist import ChecklistEntry
from arena.inference.endpoint import place_of
from arena.templates import plural
from scoring.calibration.drift import BASELINE_RUNS, EVERY_DAYS
from scoring.calibration.drift_store import DriftHistory, DriftStore, JudgeKey, StoredLook
from scoring.calibration.frozen_answers import ways
from scoring.jobs.worker import Operator
from scoring.report import JudgeStamp

_ACCEPT = "python -m scoring drift accept (docs/score.md)"


def drift_line(store: DriftStore, judge: JudgeStamp, judged_at: datetime) -> str:
    """What looks until a report was judged say of its judge; and what a later one found, if it has moved since."""
    if judge.prompt not in ways():
        return "Drift: never looked at with this prompt; judges are looked at with MM-Vet's present ones."
    history = store.history(JudgeKey(judge.address, judge.model, judge.prompt), judged_at)
    if history is None:
        return "Drift: never looked at; whether this judge scores as it used to is not known."
    found = f"Drift: {_told(history, judged_at)}."
    later = next((look for look in history.looks if look.at > judged_at and look.found.has_moved), None)
    if later and history.at(judged_at).state != "moved":
        found += f" After this report, on {later.at:%Y-%m-%d}, it had {history.at(later.at)}."
    return found


def drift_list(store: DriftStore, at: datetime) -> Iterator[str]:
    """A line for each judge that was accepted."""
    for history in store.accepted():
        judge = history.baseline.judge
        way = ways().get(judge.prompt, "a prompt of another version")
        counted = f"{plural(len(history.looks), 'look')} since {history.baseline.accepted_at:%Y-%m-%d}"
        yield f"{judge.model} at {place_of(judge.address)} ({way}), {counted}: {_told(history, at)}"


def drift_checks(store: DriftStore, operator: Operator | None, at: datetime) -> Iterator[ChecklistEntry]:
    """Where the operator's judge stands, in each way that it was accepted in."""
    if operator is None:
        return
    keys = [JudgeKey(operator.address.shown, operator.spec.model, prompt) for prompt in ways()]
    accepted = [history for history in map(store.history, keys) if history]
    if not accepted:
        told = f"never accepted, so nobody sees when the judge changes. Accept it: {_ACCEPT}."
        yield ChecklistEntry("Judge's drift", False, told)
    for history in accepted:
        state, what = history.at(at).state, f"Judge's drift ({ways()[history.baseline.judge.prompt]})"
        fine = state != "moved" and (at - history.seen_at).days <= EVERY_DAYS
        mend = f"Mark answers anew, and accept it anew: {_ACCEPT}." if state == "moved" else "The log says why."
        yield ChecklistEntry(what, fine, f"{_told(history, at)}.{'' if fine else f' {mend}'}")


def _told(history: DriftHistory, at: datetime) -> str:
    state, looks = history.at(at), [look for look in history.looks if look.at <= at]
    answers = len(history.baseline.scores.runs[0])
    if not looks:
        runs = f"{BASELINE_RUNS} runs over {answers} frozen answers"
        return f"{state} since it was accepted on {history.baseline.accepted_at:%Y-%m-%d} ({runs})"
    if state.state == "moved":
        moved = next(look for look in looks if look.found.has_moved)
        return f"{state}, seen on {moved.at:%Y-%m-%d}{_named(history, moved)}; older scores of it are not comparable"
    last = looks[-1]
    if state.state == "not looked at":
        return f"{state}, and steady until then"
    return f"{state}, looked at on {last.at:%Y-%m-%d} over {answers} frozen answers{_named(history, last)}"


def _named(history: DriftHistory, look: StoredLook) -> str:
    """What the judge's server called the model and its machine, and what at its acceptance if that was another name."""
    named, before = look.scores.named, history.baseline.scores.named
    if not named:
        return ""
    return f", as {named}{f' (accepted as {before})' if before and before != named else ''}"
