"""Agreement with people: how far people agree, and how often each metric and judge reproduces their majority.

As in VisIT-Bench (4.3), only contests between two models count, not those with a reference. A metric prefers the answer
with the higher score, and a coin breaks ties.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from arena.ratings import agreement
from arena.types import DATASET_ANSWER, REFERENCE
from scoring.people.text_metrics import INSTALLED, Candidate, MetricName, score

REFERENCES = frozenset({REFERENCE, DATASET_ANSWER})

Scores = Mapping[tuple[str, str], float]
"""A metric's scores by (item, model); only their order within an item counts."""


@dataclass(frozen=True)
class PeopleAgreement:
    """Agreement among several people, and between them and the measures."""

    contests: int
    """Number of contests with votes, including those with votes of one person only."""
    with_reference: int
    """Contests with several votes that are left out because one side is a reference."""
    people: agreement.People
    reproductions: tuple[agreement.Reproduction, ...]
    notices: tuple[str, ...]


def people_agreement(
    poll: agreement.Poll,
    scores: Mapping[str, Scores] = MappingProxyType({}),
    metrics: Collection[MetricName] = INSTALLED,
    scorer: Callable[[MetricName, Sequence[Candidate]], Scores] = score,
) -> PeopleAgreement:
    """Agreement of people with each other, with the poll's judges and with metrics.

    `scores` are further metrics' scores, by the metric's name. `scorer` computes the scores of the text metrics in
    `metrics`. Raises TextMetricError.
    """
    with_several_votes = agreement.with_several_votes(poll.choices)
    contests = between_models(poll)
    answers = poll.answers
    candidates = [
        Candidate(item, model, answers[item, model], answers.get((item, REFERENCE)))
        for item, model in answers_met(contests)
        if (item, model) in answers
    ]
    scores_by_name = {name: scorer(name, candidates) for name in metrics}
    scores_by_name |= scores
    measures = [
        agreement.by_scores(name, by_answer, contests) for name, by_answer in scores_by_name.items()
    ]
    measures += agreement.by_verdicts(poll.verdicts)
    return PeopleAgreement(
        contests=len(poll.choices),
        with_reference=len(with_several_votes) - len(contests),
        people=agreement.people(contests.values()),
        reproductions=agreement.reproductions(contests, measures),
        notices=poll.notices,
    )


def between_models(poll: agreement.Poll) -> dict[agreement.Contest, agreement.Choices]:
    """The contests between two models with votes of several people, which a measure has to reproduce."""
    return {
        contest: choices
        for contest, choices in agreement.with_several_votes(poll.choices).items()
        if not REFERENCES & {contest.first, contest.second}
    }


def answers_met(contests: Collection[agreement.Contest]) -> list[tuple[str, str]]:
    """The answers in these contests, each once, as (item, model)."""
    answers = []
    for contest in contests:
        answers += [(contest.item, contest.first), (contest.item, contest.second)]
    return list(dict.fromkeys(answers))
