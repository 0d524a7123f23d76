"""Agreement with people: how far people agree, and how often each metric and judge reproduces their majority.

As in VisIT-Bench (4.3), only contests between two models count, not those with a reference; a metric prefers the answer
with the higher score, and a coin breaks ties.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from arena.ratings import agreement
from arena.types import DATASET_ANSWER, REFERENCE
from scoring.people.text_metrics import KEPT, Candidate, MetricName, score

REFERENCES = frozenset({REFERENCE, DATASET_ANSWER})

Scores = Mapping[tuple[str, str], float]
"""A metric's scores by (item, model)."""


@dataclass(frozen=True)
class PeopleAgreement:
    """Agreement among several people, and between them and the measures."""

    contests: int
    with_reference: int
    """Contests with several votes that are left out because one side is a reference."""
    people: agreement.People
    reproductions: tuple[agreement.Reproduction, ...]
    notices: tuple[str, ...]


def people_agreement(
    poll: agreement.Poll,
    scores: Mapping[str, Scores] = MappingProxyType({}),
    metrics: Collection[MetricName] = KEPT,
    scorer: Callable[[MetricName, Sequence[Candidate]], Scores] = score,
) -> PeopleAgreement:
    """Agreement of people with each other, judges, text metrics and own `scores` by name. Raises TextMetricError."""
    voted = agreement.several(poll.choices)
    between = between_models(poll)
    answers = poll.answers
    candidates = [
        Candidate(item, model, answers[item, model], answers.get((item, REFERENCE)))
        for item, model in answers_met(between)
        if (item, model) in answers
    ]
    found = {**{name: scorer(name, candidates) for name in metrics}, **scores}
    measures = [agreement.by_scores(name, given, between) for name, given in found.items()]
    return PeopleAgreement(
        contests=len(poll.choices),
        with_reference=len(voted) - len(between),
        people=agreement.people(between.values()),
        reproductions=agreement.reproductions(
            between, [*measures, *agreement.by_verdicts(poll.verdicts)]
        ),
        notices=poll.notices,
    )


def between_models(poll: agreement.Poll) -> dict[agreement.Contest, agreement.Choices]:
    """Contests between two models with votes of several people: what a measure has to reproduce."""
    voted = agreement.several(poll.choices)
    return {
        contest: chosen for contest, chosen in voted.items() if not REFERENCES & set(contest[1:])
    }


def answers_met(contests: Collection[agreement.Contest]) -> list[tuple[str, str]]:
    return list(
        dict.fromkeys((contest.item, model) for contest in contests for model in contest[1:])
    )
