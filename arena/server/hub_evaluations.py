"""Evaluation files: a score for a model repository on the Hub, in `.eval_results` or in a card's `model-index`.

The Hub's own library writes both. `verifyToken` is never written: only runs in the Hub's own jobs get one.
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
    """A score of a model on a benchmark, in the Hub's terms."""

    edition: str
    """The key of the benchmark's edition."""
    protocol: str
    name: str
    """The name of the benchmark in texts."""
    dataset: str
    """The benchmark's dataset on the Hub."""
    task: str
    metric: str
    """The kind of metric, such as "mm-vet.score"."""
    figure: str
    """The name of the number, such as "total"."""
    value: float
    notes: str
    date: str
    """The day of the scoring, in UTC."""
    url: str
    """The address of the report."""

    @property
    def path(self) -> str:
        """The path of the file in `.eval_results`, one for each benchmark and protocol."""
        return f".eval_results/stereoscope_{self.edition}_{self.protocol}.yaml"


def eval_results(score: HubScore, user: str = "") -> bytes:
    """Returns the file for `.eval_results`. `user`: the person who offers it."""
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
    """Returns the `model-index` of a model card with this score alone."""
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
