"""Readings: which option people say that an answer means, and how often an extractor says the same.

MMBench's measure (section 4.3) is the share of open answers for which people and the judge choose exactly the same.
Differences are of two cases: in case I one side says that the answer means no option, in case II they choose two
different options.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from statistics import multimode
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.shares import Share, clustered_shares
from arena.types import grouped
from scoring.multiple_choice.types import NONE, PASS, Decision
from scoring.report import answer_digest

NO_OPTION = "none"
"""A person's choice in place of a letter: the answer means none of the options."""
ALL_MODELS = "all models"
Outcome = Literal["same", "one none", "other option", "unread"]


class AnswerKey(NamedTuple):
    """The key of an answer; models that give the same answer to a question share it."""

    item: str
    """The question's index, with its pass."""
    sha256: str
    """sha256 of the answer."""

    @classmethod
    def from_answer(cls, item: str, answer: str) -> "AnswerKey":
        return cls(item, answer_digest(answer))

    @property
    def question(self) -> str:
        """The question's index without its pass."""
        return str(int(self.item) % PASS)


class PersonReading(NamedTuple):
    """One person's choice of the option that an answer means, in one round."""

    answer: AnswerKey
    reader: str
    """The person: a name from a file, or the `Mark.person` of a stored reading."""
    option: str
    """A letter, or NO_OPTION."""
    round: int = 1
    note: str = ""
    marker: str = ""
    """The reader's name in files, for a stored reading."""

    @property
    def item(self) -> str:
        return self.answer.item


class PairedChoice(NamedTuple):
    """People's choice for one answer, and another choice: an extractor's or a second person's."""

    question: str
    """The cluster for intervals: several models' answers to a question, or several passes, are alike."""
    people: str
    other: str | None
    """None: the answer could not be read, or a letter was only assigned."""

    @property
    def outcome(self) -> Outcome:
        if self.other is None:
            return "unread"
        if self.people == self.other:
            return "same"
        if NO_OPTION in (self.people, self.other):
            return "one none"
        return "other option"

    @property
    def is_differing(self) -> bool:
        return self.outcome in ("one none", "other option")


@dataclass(frozen=True)
class Alignment:
    """Agreement of an extractor's choices with people's."""

    extractor: str
    model: str
    """The model that gave the answers; "" for people beside people."""
    same: Share
    one_none: Share
    """Case I."""
    other_option: Share
    """Case II."""
    chose: int | None
    """Times in case I that the extractor chose an option and people none; None for people beside people."""
    unread: int
    """Answers that the extractor could not read, in no share."""

    @property
    def answers(self) -> int:
        """Answers that both read: the number behind the shares."""
        return self.same.n


def option_of(decision: Decision, options: Iterable[str]) -> str | None:
    """An extractor's choice; None where the answer was not read: an assigned letter is not a choice."""
    if decision.letter is None or decision.step == "fallback":
        return None
    if decision.letter == NONE and NONE not in options:
        return NO_OPTION
    return decision.letter


def align(extractor: str, model: str, pairs: Sequence[PairedChoice]) -> Alignment:
    """Compares an extractor's choices with people's; intervals count answers to one question as a cluster."""
    chosen_by_extractor = [
        pair for pair in pairs if pair.people == NO_OPTION and pair.outcome == "one none"
    ]
    return _alignment(extractor, model, pairs, chose=len(chosen_by_extractor))


def align_by_model(
    extractor: str, pairs_by_model: Mapping[str, Sequence[PairedChoice]]
) -> list[Alignment]:
    """An extractor's alignment over all models' answers, if there are several models, and then by model."""
    alignments = [align(extractor, model, pairs) for model, pairs in pairs_by_model.items()]
    if len(alignments) < 2:
        return alignments
    every_pair = list(chain.from_iterable(pairs_by_model.values()))
    return [align(extractor, ALL_MODELS, every_pair), *alignments]


def _alignment(
    extractor: str, model: str, pairs: Sequence[PairedChoice], chose: int | None
) -> Alignment:
    read = [pair for pair in pairs if pair.other is not None]
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
    hit = np.array([pair.outcome == outcome for pair in pairs], bool)
    _, question = np.unique([pair.question for pair in pairs], return_inverse=True)
    one_cell = np.zeros(len(hit), int)
    (share,) = clustered_shares(hit, one_cell, cells=1, clusterings=[question.astype(int)])
    return share


def last_readings(readings: Iterable[PersonReading]) -> dict[AnswerKey, list[PersonReading]]:
    """Each person's last reading of each answer, by the answer, the latest at the end."""
    by_answer: dict[AnswerKey, dict[str, PersonReading]] = {}
    for reading in sorted(readings, key=_round):
        people = by_answer.setdefault(reading.answer, {})
        people.pop(reading.reader, None)  # moves the reading to the end
        people[reading.reader] = reading
    return {answer: [*people.values()] for answer, people in by_answer.items()}


def _round(reading: PersonReading) -> int:
    return reading.round


def peoples_choices(readings: Iterable[PersonReading]) -> dict[AnswerKey, str]:
    """The option that most people chose, by answer; in a tie the one of them chosen last: a third person decides."""
    choices = {}
    for answer, last in last_readings(readings).items():
        options = [reading.option for reading in last]
        most_chosen = multimode(options)
        choices[answer] = next(option for option in reversed(options) if option in most_chosen)
    return choices


def align_people(readings: Sequence[PersonReading]) -> list[Alignment]:
    """Agreement of people with each other, and of each with their own first reading, as far as there are pairs."""
    pairs_of_people = []
    for last in last_readings(readings).values():
        for first, second in combinations(last, 2):
            pairs_of_people.append(_pair(first, second))
    rounds = grouped(((reading.answer, reading.reader), reading) for reading in readings)
    pairs_of_rounds = []
    for readings_of_person in rounds.values():
        if len(readings_of_person) > 1:
            first, second = sorted(readings_of_person, key=_round)[:2]
            pairs_of_rounds.append(_pair(first, second))
    pairs_by_name = {
        "People, compared with each other": pairs_of_people,
        "People, second time": pairs_of_rounds,
    }
    return [
        _alignment(name, "", pairs, chose=None) for name, pairs in pairs_by_name.items() if pairs
    ]


def _pair(first: PersonReading, second: PersonReading) -> PairedChoice:
    return PairedChoice(first.answer.question, first.option, second.option)
