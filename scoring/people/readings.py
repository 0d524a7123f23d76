"""Readings: which option people say that an answer means, and how often an extractor says the same.

As MMBench measures it (section 4.3): of the answers that rules leave open, the share for which people and the judge
choose exactly the same. What differs is of two cases: in case I one of them says that the answer means no option, in
case II they choose two options.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import multimode
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.shares import Share, design_effects, shares
from arena.types import grouped
from scoring.multiple_choice.types import NONE, PASS, Decision
from scoring.report import answer_digest

NO_OPTION = "none"
"""What a person says in place of a letter: the answer means none of the options."""
ALL_MODELS = "all models"
Outcome = Literal["same", "one none", "other option", "unread"]


class AnswerKey(NamedTuple):
    """What tells an answer from all others; models that say the same of a question share it."""

    item: str
    """The question's index, with its pass."""
    sha256: str
    """Of the answer."""

    @classmethod
    def of(cls, item: str, answer: str) -> "AnswerKey":
        return cls(item, answer_digest(answer))

    @property
    def question(self) -> str:
        """The question's index without its pass."""
        return str(int(self.item) % PASS)


class PersonReading(NamedTuple):
    """Which option one person says that one answer means, in one round."""

    answer: AnswerKey
    reader: str
    option: str
    """A letter, or NO_OPTION."""
    round: int = 1
    note: str = ""

    @property
    def item(self) -> str:
        return self.answer.item


class PairedChoice(NamedTuple):
    """What people chose for one answer, and what somebody else did."""

    question: str
    """Of which several models' answers, or several passes, are alike."""
    people: str
    other: str | None
    """None: it could not be read, or a letter was only assigned."""

    @property
    def outcome(self) -> Outcome:
        if self.other is None:
            return "unread"
        if self.people == self.other:
            return "same"
        return "one none" if NO_OPTION in (self.people, self.other) else "other option"

    @property
    def is_apart(self) -> bool:
        return self.outcome in ("one none", "other option")


@dataclass(frozen=True)
class Alignment:
    """How often an extractor chooses what people choose."""

    extractor: str
    model: str
    """Whose answers; "" where nothing has to tell it."""
    same: Share
    one_none: Share
    """Case I."""
    other_option: Share
    """Case II."""
    chose: int | None
    """Of case I, how often the extractor chose an option where people say none; None of people themselves."""
    unread: int

    @property
    def answers(self) -> int:
        """Answers that both read: of these the shares are."""
        return self.same.n


def option_of(decision: Decision, options: Iterable[str]) -> str | None:
    """What an extractor chose; None where nobody read the answer, since an assigned letter is no choice."""
    if decision.letter is None or decision.step == "fallback":
        return None
    return NO_OPTION if decision.letter == NONE and NONE not in options else decision.letter


def align(extractor: str, model: str, pairs: Sequence[PairedChoice]) -> Alignment:
    """Compare an extractor's choices with people's; intervals count answers to one question as alike."""
    chose = sum(one.people == NO_OPTION and one.outcome == "one none" for one in pairs)
    return _alignment(extractor, model, pairs, chose)


def by_model(extractor: str, models: Mapping[str, Sequence[PairedChoice]]) -> list[Alignment]:
    """An extractor over all models' answers, where there are several, and then by model."""
    found = [align(extractor, model, pairs) for model, pairs in models.items()]
    if len(found) < 2:
        return found
    return [
        align(extractor, ALL_MODELS, [one for pairs in models.values() for one in pairs]),
        *found,
    ]


def _alignment(
    extractor: str, model: str, pairs: Sequence[PairedChoice], chose: int | None
) -> Alignment:
    read = [one for one in pairs if one.other is not None]
    return Alignment(
        extractor=extractor,
        model=model,
        same=_share(read, "same"),
        one_none=_share(read, "one none"),
        other_option=_share(read, "other option"),
        chose=chose,
        unread=len(pairs) - len(read),
    )


def _share(pairs: Sequence[PairedChoice], outcome: Outcome) -> Share:
    hit = np.array([one.outcome == outcome for one in pairs], bool)
    _, question = np.unique([one.question for one in pairs], return_inverse=True)
    effect = design_effects(hit, np.zeros(len(hit), int), 1, [question.astype(int)])
    (found,) = shares(np.array([hit.sum()]), np.array([len(hit)]), effect)
    return found


def last_readings(readings: Iterable[PersonReading]) -> dict[AnswerKey, list[PersonReading]]:
    """Each person's last reading of each answer, by the answer; who spoke last stands last."""
    by_answer: dict[AnswerKey, dict[str, PersonReading]] = {}
    for one in sorted(readings, key=lambda reading: reading.round):
        people = by_answer.setdefault(one.answer, {})
        people.pop(one.reader, None)  # so that it stands last
        people[one.reader] = one
    return {answer: [*people.values()] for answer, people in by_answer.items()}


def people_choose(readings: Iterable[PersonReading]) -> dict[AnswerKey, str]:
    """What most people say of each answer; of several such the one named last: where two differ, a third decides."""
    found = {}
    for answer, given in last_readings(readings).items():
        named = [one.option for one in given]
        most = multimode(named)
        found[answer] = next(option for option in reversed(named) if option in most)
    return found


def between_people(readings: Sequence[PersonReading]) -> list[Alignment]:
    """One person beside another on the same answers, and beside their own first reading, as far as there are such."""
    several = [
        PairedChoice(first.answer.question, first.option, second.option)
        for given in last_readings(readings).values()
        for first, second in combinations(given, 2)
    ]
    rounds = grouped(((one.answer, one.reader), one) for one in readings)
    again = [
        PairedChoice(first.answer.question, first.option, second.option)
        for first, *others in (sorted(own, key=lambda one: one.round) for own in rounds.values())
        for second in others[:1]
    ]
    pairs = {"People, one beside another": several, "People, the second time": again}
    return [_alignment(name, "", found, None) for name, found in pairs.items() if found]
