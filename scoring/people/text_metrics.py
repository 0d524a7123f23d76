"""Text metrics of answers: random, length, BLEU-4 and ROUGE-L, and METEOR, CIDEr and BERTScore, which need an extra.

A metric scores many answers at once, higher being better; a metric that compares with a reference gives no score to an
answer without one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from arena.ratings.agreement import random_score

MetricName = Literal["random", "length", "BLEU-4", "ROUGE-L", "METEOR", "CIDEr", "BERTScore"]
_WORD = re.compile(r"[a-z0-9]+")
_ROUGE_WORDS = 4000
"""Words of a text that ROUGE-L reads, since its work grows with the product of two lengths."""


class TextMetricError(RuntimeError):
    """A metric needs something that is not installed; the message says what."""


class Candidate(NamedTuple):
    """A model's answer to an item, with the item's reference, if any."""

    item: str
    model: str
    text: str
    reference: str | None


class TextMetric(NamedTuple):
    """A metric's scoring function and requirements."""

    scores: Callable[[Sequence[Candidate]], Sequence[float]]
    backed: bool
    needs: str
    """What to install beside the app; empty if nothing."""


def score(name: MetricName, candidates: Sequence[Candidate]) -> dict[tuple[str, str], float]:
    """A metric's scores by (item, model). Raises TextMetricError if its requirements are not installed."""
    metric = METRICS[name]
    fit = [one for one in candidates if one.reference is not None or not metric.backed]
    if not fit:
        return {}
    try:
        scores = metric.scores(fit)
    except (ImportError, LookupError, OSError) as error:
        raise TextMetricError(
            f"{name} needs {metric.needs or 'what requirements.txt lists'}; install it"
        ) from error
    return {(one.item, one.model): float(value) for one, value in zip(fit, scores, strict=True)}


def words(text: str) -> list[str]:
    """Words as ROUGE's authors split them: lower case, runs of a-z and 0-9."""
    return _WORD.findall(text.lower())


# Installed with the app.
def _length(candidates: Sequence[Candidate]) -> list[float]:
    """Number of whitespace-separated tokens (VisIT-Bench, 4.3)."""
    return [float(len(one.text.split())) for one in candidates]


def _bleu(candidates: Sequence[Candidate]) -> list[float]:
    """sacrebleu's sentence BLEU with its default tokens and smoothing; short answers by the n-gram orders they have."""
    from sacrebleu import BLEU

    metric = BLEU(effective_order=True)
    return [metric.sentence_score(one.text, [one.reference or ""]).score for one in candidates]


def _rouge(candidates: Sequence[Candidate]) -> list[float]:
    """F-measure of the longest common subsequence of the first words (Lin 2004), unstemmed."""
    from rapidfuzz.distance import LCSseq

    scores = []
    for one in candidates:
        told = words(one.text)[:_ROUGE_WORDS]
        truth = words(one.reference or "")[:_ROUGE_WORDS]
        scores.append(
            2 * LCSseq.similarity(told, truth) / (len(told) + len(truth)) if told and truth else 0.0
        )
    return scores


# Installed by requirements-metrics.txt.
def _meteor(candidates: Sequence[Candidate]) -> list[float]:
    from nltk.translate.meteor_score import single_meteor_score  # pyright: ignore[reportMissingImports]

    return [single_meteor_score(words(one.reference or ""), words(one.text)) for one in candidates]


def _cider(candidates: Sequence[Candidate]) -> list[float]:
    """CIDEr of each model's answers; document frequencies come from the references of the items it answered."""
    from pycocoevalcap.cider.cider import Cider  # pyright: ignore[reportMissingImports]

    scores = [0.0] * len(candidates)
    for model in dict.fromkeys(one.model for one in candidates):
        places = [place for place, one in enumerate(candidates) if one.model == model]
        truth = {place: [" ".join(words(candidates[place].reference or ""))] for place in places}
        told = {place: [" ".join(words(candidates[place].text))] for place in places}
        for place, value in zip(places, Cider().compute_score(truth, told)[1], strict=True):
            scores[place] = value
    return scores


def _bert(candidates: Sequence[Candidate]) -> list[float]:
    from bert_score import score as bert_score  # pyright: ignore[reportMissingImports]

    texts = [one.text for one in candidates]
    references = [one.reference for one in candidates]
    return bert_score(texts, references, lang="en")[2].tolist()


METRICS: Mapping[MetricName, TextMetric] = {
    "random": TextMetric(
        lambda told: [random_score(one.item, one.model) for one in told], backed=False, needs=""
    ),
    "length": TextMetric(_length, backed=False, needs=""),
    "BLEU-4": TextMetric(_bleu, backed=True, needs=""),
    "ROUGE-L": TextMetric(_rouge, backed=True, needs=""),
    "METEOR": TextMetric(
        _meteor, True, "requirements-metrics.txt and WordNet (python -m nltk.downloader wordnet)"
    ),
    "CIDEr": TextMetric(_cider, True, "requirements-metrics.txt (pycocoevalcap, 100 MB, no Java)"),
    "BERTScore": TextMetric(
        _bert, True, "requirements-metrics.txt and roberta-large from the Hub (1.4 GB, PyTorch)"
    ),
}
KEPT: tuple[MetricName, ...] = ("random", "length", "BLEU-4", "ROUGE-L")
