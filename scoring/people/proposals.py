"""Proposals: kinds of error that rules or a vision judge see in wrong answers, kept apart from people's labels.

Rules recognize refusals and empty answers at no cost. All other answers need their pictures: without them, nobody can
tell an error of perception from one of reasoning.
"""

import hashlib
import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from typing import Annotated, NamedTuple, NotRequired

import numpy as np
from pydantic import BeforeValidator, StringConstraints, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from arena.ratings.votes import Codes
from arena.reasoning import answer_of
from scoring.benchmarks.article import ScoredAnswer
from scoring.judges.injection import neutralise
from scoring.judges.run import Task
from scoring.judges.spec import Ask, JudgeSpec, Message, Reply, ShownImage, prompt_text
from scoring.multiple_choice.strict import refuses
from scoring.people.corrected_mean import CorrectedMean, MarkedScores, corrected_mean
from scoring.people.error_shares import LabelsError, merge_labels
from scoring.people.errors import (
    DECISION_ORDER,
    ERROR_KINDS,
    KEYS,
    ErrorKey,
    Label,
    kind_table,
)
from scoring.people.measures import kappa

RULES = "rules"
"""The labeller of kinds that rules propose."""
LEAST_LABELS = 50
"""People's labels from which proposals correct the shares of kinds."""
SHARE_PSEUDO = 1.0
"""Size of the pseudo-residuals of a share: 1, since a proposal is either right or wrong."""
_REPLY_TOKENS = 300
_REMINDER = "\nReply with the JSON object alone."
_KIND_LINES = [f"{kind.key}: {kind.title}. {kind.definition}" for kind in ERROR_KINDS.values()]
_ORDER_LINES = [
    f"{place}. {question} {key}" for place, (question, key) in enumerate(DECISION_ORDER, 1)
]
_PROMPT = prompt_text("error_kind.txt").format(
    kinds="\n".join(_KIND_LINES), order="\n".join(_ORDER_LINES)
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


_Kind = Annotated[ErrorKey, BeforeValidator(lambda kind: str(kind).strip().lower())]


class _KindReply(TypedDict):
    """A judge's reply."""

    main: _Kind
    further: NotRequired[list[_Kind] | None]
    evidence: Annotated[str, StringConstraints(max_length=2000)]


_KIND_REPLY = TypeAdapter(_KindReply)


class Proposal(NamedTuple):
    """The proposal for one wrong answer."""

    item: str
    label: Label | None
    """With the judge or RULES as its labeller, and the evidence as its note."""
    reason: str = ""
    """Why there is no label; "" with one."""


def label_by_rules(error: ScoredAnswer, group: str) -> Label | None:
    """The kind that follows from an answer's text alone; None if none does."""
    if not error.answer.strip():
        return Label(error.id, group, RULES, "instruction")
    if refuses(error.answer):
        return Label(error.id, group, RULES, "refuse")
    return None


def proposal_task(
    error: ScoredAnswer, group: str, pictures: tuple[ShownImage, ...], spec: JudgeSpec
) -> Task[Proposal]:
    """The task of asking a judge about one answer with its pictures; a reply that can't be read is asked for again."""

    def ask() -> Generator[Ask, Reply, Proposal]:
        schema = _SCHEMA if spec.json_schema else None
        question = _fenced_text(error)
        for text in (question, question + _REMINDER):
            messages = (Message("system", _PROMPT), Message("user", text, pictures))
            reply = yield Ask(messages, 0.0, _REPLY_TOKENS, schema=schema)
            kinds = _read_reply(reply.texts[0])
            if kinds:
                return Proposal(error.id, _reply_label(kinds, error.id, group, spec.model))
        return Proposal(error.id, None, "the judge's reply names no kind")

    def refuse(reason: str) -> Proposal:
        return Proposal(error.id, None, reason)

    return Task(0, ask, refuse, name=error.id, is_read=lambda proposed: proposed.label is not None)


def _reply_label(kinds: _KindReply, item: str, group: str, judge: str) -> Label:
    """A judge's reply as a label."""
    main = kinds["main"]
    others = kinds.get("further") or []
    further: tuple[ErrorKey, ...] = tuple(key for key in KEYS if key in others and key != main)
    return Label(item, group, judge, main, further, kinds["evidence"])


def _fenced_text(error: ScoredAnswer) -> str:
    """Question, truth and answer between two lines with a code that they can't contain: their own hash."""
    texts = [neutralise(text) for text in (error.question, error.truth, error.answer)]
    code = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
    question, truth, answer = texts
    lines = (
        f"BEGIN {code}",
        f"Question: {question}",
        f"Published answer: {truth}",
        f"Answer of the model: {answer}",
        f"END {code}",
    )
    return "\n".join(lines)


def _read_reply(text: str) -> _KindReply | None:
    """The JSON object in a judge's reply, or in its answer behind thoughts; None without a valid one."""
    for part in (text, answer_of(text).text):
        with suppress(ValidationError):
            return _KIND_REPLY.validate_json(part[part.find("{") : part.rfind("}") + 1])
    return None


class Confusion(NamedTuple):
    """Proposals beside people's labels of the same answers."""

    table: Codes
    """Answers by people's kind (row) and the proposed kind (column), in the order of the keys."""
    kappa: float | None
    """Cohen's; None where everything is one kind."""

    @property
    def answers(self) -> int:
        return int(self.table.sum())

    @property
    def same(self) -> int:
        return int(self.table.trace())


def confusion(labels: Iterable[Label], proposals: Mapping[str, Label]) -> Confusion:
    """Compares people's main kinds with the proposed kinds, by item."""
    pairs: list[tuple[ErrorKey, ErrorKey]] = [
        (label.main, proposals[label.item].main)
        for label in merge_labels(labels)
        if label.item in proposals
    ]
    table = kind_table(pairs)
    return Confusion(table, kappa(table))


def corrected_shares(
    labels: Iterable[Label], proposals: Mapping[str, Label]
) -> Mapping[ErrorKey, CorrectedMean]:
    """The share of each kind that people would name among all answers with a proposal.

    Raises LabelsError below LEAST_LABELS labels of such answers: a judge's shares alone don't count.
    """
    kinds = {label.item: label.main for label in merge_labels(labels) if label.item in proposals}
    if len(kinds) < LEAST_LABELS:
        raise LabelsError(
            f"Corrected shares need {LEAST_LABELS} answers with a label and a proposal, and have {len(kinds)}. "
            "Label more."
        )
    items = list(proposals)
    _, strata = np.unique([proposals[item].group for item in items], return_inverse=True)
    marked = np.array([place for place, item in enumerate(items) if item in kinds], int)

    def corrected_share(key: ErrorKey) -> CorrectedMean:
        scores = np.array([proposals[item].main == key for item in items], float)
        marks = np.array([kinds[items[place]] == key for place in marked], float)
        return corrected_mean(
            MarkedScores(scores, marked, marks, strata.astype(int)), pseudo=SHARE_PSEUDO
        )

    return {key: corrected_share(key) for key in KEYS}
