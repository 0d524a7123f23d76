"""Proposals: kinds of error that rules or a vision judge see in wrong answers, beside people's labels, not among them.

An answer that refuses or says nothing is told by rules and costs nothing. All others need their pictures: without them
nobody can tell an error of perception from one of reasoning.
"""

import hashlib
import json
from collections.abc import Generator, Iterable, Mapping
from typing import Annotated, NamedTuple, NotRequired

import numpy as np
from pydantic import BeforeValidator, StringConstraints, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from arena.ratings.votes import Codes
from scoring.benchmarks.article import ScoredAnswer
from scoring.judges.injection import neutralise
from scoring.judges.run import Task
from scoring.judges.spec import Ask, JudgeSpec, Message, Reply, ShownImage, prompt_text
from scoring.multiple_choice.strict import refuses
from scoring.people.corrected_mean import CorrectedMean, MarkedScores, corrected_mean
from scoring.people.error_shares import KEYS, LabelsError, merged
from scoring.people.errors import DECISION_ORDER, ERROR_KINDS, ErrorKey, Label
from scoring.people.published_errors import kappa

RULES = "rules"
"""Who proposes what a rule tells."""
LEAST_LABELS = 50
"""People's labels from which proposals correct the shares of kinds."""
WRONG_KIND = 1.0
"""Pseudo-residual of a share: a proposal is right or wrong, where scores of answers are near or far."""
_REPLY_TOKENS = 300
_REMINDER = "\nReply with the JSON object alone."
_PROMPT = prompt_text("error_kind.txt").format(
    kinds="\n".join(
        f"{kind.key}: {kind.title}. {kind.definition}" for kind in ERROR_KINDS.values()
    ),
    order="\n".join(
        f"{place}. {asked} {key}" for place, (asked, key) in enumerate(DECISION_ORDER, 1)
    ),
)
_KINDS = {"type": "string", "enum": KEYS}
_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "main": _KINDS,
            "further": {"type": "array", "items": _KINDS},
            "evidence": {"type": "string"},
        },
        "required": ["main", "further", "evidence"],
        "additionalProperties": False,
    }
)


_Kind = Annotated[ErrorKey, BeforeValidator(lambda said: str(said).strip().lower())]


class _Said(TypedDict):
    main: _Kind
    further: NotRequired[list[_Kind] | None]
    evidence: Annotated[str, StringConstraints(max_length=2000)]


_SAID = TypeAdapter(_Said)


class Proposed(NamedTuple):
    """What was proposed for one wrong answer."""

    item: str
    label: Label | None
    """Its labeller is who proposes it, its note the evidence."""
    reason: str = ""
    """Why there is none."""


def by_rules(error: ScoredAnswer, group: str) -> Label | None:
    """The kind that an answer's text alone tells; None if it tells none."""
    main: ErrorKey | None = (
        "instruction" if not error.answer.strip() else "refuse" if refuses(error.answer) else None
    )
    return main and Label(error.id, group, RULES, main)


def proposal_task(
    error: ScoredAnswer, group: str, pictures: tuple[ShownImage, ...], spec: JudgeSpec
) -> Task[Proposed]:
    """The task of asking a judge about one answer with its pictures."""

    def asking() -> Generator[Ask, Reply, Proposed]:
        told = _fenced(error)
        for text in (told, told + _REMINDER):
            messages = (Message("system", _PROMPT), Message("user", text, pictures))
            reply = yield Ask(
                messages, 0.0, _REPLY_TOKENS, schema=_SCHEMA if spec.json_schema else None
            )
            if said := _read(reply.texts[0]):
                main = said["main"]
                others = said.get("further") or []
                further: tuple[ErrorKey, ...] = tuple(
                    key for key in KEYS if key in others and key != main
                )
                return Proposed(
                    error.id, Label(error.id, group, spec.model, main, further, said["evidence"])
                )
        return Proposed(error.id, None, "the judge's reply names no kind")

    def refused(reason: str) -> Proposed:
        return Proposed(error.id, None, reason)

    return Task(0, asking, refused, name=error.id, is_read=lambda one: one.label is not None)


def _fenced(error: ScoredAnswer) -> str:
    """Question, truth and answer between two lines with a code that none can hold: a hash of them."""
    texts = [neutralise(text) for text in (error.question, error.truth, error.answer)]
    code = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
    parts = zip(("Question", "Published answer", "Answer of the model"), texts, strict=True)
    return "\n".join([f"BEGIN {code}", *(f"{name}: {text}" for name, text in parts), f"END {code}"])


def _read(said: str) -> _Said | None:
    try:
        return _SAID.validate_json(said[said.find("{") : said.rfind("}") + 1])
    except ValidationError:
        return None


class Confusion(NamedTuple):
    """Proposals beside people's labels of the same answers."""

    table: Codes
    """Answers by people's kind (row) and the proposed one (column), in the order of the keys."""
    kappa: float | None
    """Cohen's; None where everything is one kind."""

    @property
    def same(self) -> int:
        return int(self.table.trace())


def confusion(labels: Iterable[Label], proposals: Mapping[str, Label]) -> Confusion:
    """Compare people's main kinds with those proposed, by item."""
    both = [one for one in merged(labels) if one.item in proposals]
    pairs: list[tuple[ErrorKey, ErrorKey]] = [(one.main, proposals[one.item].main) for one in both]
    table = np.zeros((len(KEYS), len(KEYS)), int)
    for told, proposed in pairs:
        table[KEYS.index(told), KEYS.index(proposed)] += 1
    return Confusion(table, kappa(pairs))


def corrected_shares(
    labels: Iterable[Label], proposals: Mapping[str, Label]
) -> Mapping[ErrorKey, CorrectedMean]:
    """The share of each kind that people would name among all answers with a proposal.

    Raises LabelsError below LEAST_LABELS labels of such answers: a judge's shares alone are no shares.
    """
    told = {one.item: one.main for one in merged(labels) if one.item in proposals}
    if len(told) < LEAST_LABELS:
        raise LabelsError(
            f"{len(told)} answers have a label and a proposal; from {LEAST_LABELS} on, proposals correct the shares"
        )
    items = list(proposals)
    _, strata = np.unique([proposals[item].group for item in items], return_inverse=True)
    marked = np.array([place for place, item in enumerate(items) if item in told], int)

    def corrected(key: ErrorKey) -> CorrectedMean:
        scores = np.array([proposals[item].main == key for item in items], float)
        marks = np.array([told[items[place]] == key for place in marked], float)
        return corrected_mean(
            MarkedScores(scores, marked, marks, strata.astype(int)), pseudo=WRONG_KIND
        )

    return {key: corrected(key) for key in KEYS}
