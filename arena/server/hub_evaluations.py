"""Evaluation files: a score as model repositories on the Hub hold it, in `.eval_results` and in a card's `model-index`.

Both are written by the Hub's own library. `verifyToken` is never written: only runs in the Hub's own jobs get one.
"""

from dataclasses import dataclass
from typing import Any

from huggingface_hub import EvalResult, EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.repocard_data import eval_results_to_model_index

from arena.server.model_card import front_matter

SOURCE = "Stereoscope report"
TASK = "image-text-to-text"


@dataclass(frozen=True)
class HubScore:
    """A score of one model on one benchmark, in the Hub's words."""

    edition: str
    """Key of the benchmark's edition."""
    protocol: str
    name: str
    """The benchmark, as people write it."""
    dataset: str
    """Its dataset on the Hub."""
    task: str
    metric: str
    """Kind of metric: "mm-vet.score"."""
    figure: str
    """The number's own name: "total"."""
    value: float
    notes: str
    date: str
    """Day on which it was scored, in UTC."""
    url: str
    """Address of the report."""

    @property
    def path(self) -> str:
        """Where `.eval_results` has it: one file for each benchmark and protocol."""
        return f".eval_results/stereoscope_{self.edition}_{self.protocol}.yaml"


def eval_results(score: HubScore, user: str = "") -> bytes:
    """Returns the file for `.eval_results`; `user`: who hands it in."""
    entry = EvalResultEntry(
        dataset_id=score.dataset,
        task_id=score.task,
        value=score.value,
        date=score.date,
        source_url=score.url,
        source_name=SOURCE,
        source_user=user or None,
        notes=f"{score.figure}, {score.notes}",
    )
    return front_matter(eval_result_entries_to_yaml([entry])).encode()


def model_index(score: HubScore, model: str) -> bytes:
    """Returns the part of a model card's front matter that holds the score alone."""
    return front_matter({"model-index": _index(score, model)}).encode()


def card_result(score: HubScore) -> dict[str, Any]:
    """Returns the score as a result of a `model-index`."""
    return _index(score, "")[0]["results"][0]


def _index(score: HubScore, model: str) -> list[dict[str, Any]]:
    result = EvalResult(
        task_type=TASK,
        dataset_type=score.dataset,
        dataset_name=score.name,
        dataset_args={"task_id": score.task},
        metric_type=score.metric,
        metric_value=score.value,
        metric_name=score.figure,
        metric_args={"notes": score.notes},
        source_name=SOURCE,
        source_url=score.url,
    )
    return eval_results_to_model_index(model, [result])
