"""Text metrics of answers: random, length, BLEU-4 and ROUGE-L, and METEOR, CIDEr and BERTScore, which need an extra.

A metric scores many answers at once, higher being better. A metric that compares with a reference gives no score to an
answer without a reference.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from arena.ratings.agreement import random_score

MetricName = Literal["random", "length", "BLEU-4", "ROUGE-L", "METEOR", "CIDEr", "BERTScore"]
_WORD = re.compile(r"[a-z0-9]+")
_ROUGE_WORDS = 4000
"""Words of a text that ROUGE-L reads: its time grows with the product of two lengths."""


class TextMetricError(RuntimeError):
    """A metric whose requirements are not installed; the message names them."""


class Candidate(NamedTuple):
    """A model's answer to an item, with the item's reference, if any."""

    item: str
    model: str
    text: str
    reference: str | None


class TextMetric(NamedTuple):
    """A metric's scoring function and requirements."""

    scores: Callable[[Sequence[Candidate]], Sequence[float]]
    needs_reference: bool
    needs: str
    """The packages to install beside the app; empty if none."""


def score(name: MetricName, candidates: Sequence[Candidate]) -> dict[tuple[str, str], float]:
    """A metric's scores by (item, model). Raises TextMetricError if its requirements are not installed."""
    metric = METRICS[name]
    scorable = [
        candidate
        for candidate in candidates
        if candidate.reference is not None or not metric.needs_reference
    ]
    if not scorable:
        return {}
    try:
        scores = metric.scores(scorable)
    except (IndexError, KeyError):  # faults; nltk raises their base LookupError for missing data
        raise
    except (ImportError, LookupError, OSError) as error:
        raise TextMetricError(
            f"{name} needs packages that aren't here. Install {metric.needs or 'requirements.txt'}."
        ) from error
    return {
        (candidate.item, candidate.model): float(value)
        for candidate, value in zip(scorable, scores, strict=True)
    }


def words(text: str) -> list[str]:
    """Words as ROUGE's authors split them: lower case, runs of a-z and 0-9."""
    return _WORD.findall(text.lower())


# These metrics need nothing beside the app.
def _length(candidates: Sequence[Candidate]) -> list[float]:
    """Number of whitespace-separated tokens (VisIT-Bench, 4.3)."""
    return [float(len(candidate.text.split())) for candidate in candidates]


def _bleu(candidates: Sequence[Candidate]) -> list[float]:
    """sacrebleu's sentence BLEU, default tokens and smoothing; short answers use only the n-gram orders they have."""
    from sacrebleu import BLEU

    metric = BLEU(effective_order=True)
    return [
        metric.sentence_score(candidate.text, [candidate.reference or ""]).score
        for candidate in candidates
    ]


def _rouge(candidates: Sequence[Candidate]) -> list[float]:
    """F-measure of the longest common subsequence of the first words (Lin 2004), unstemmed."""
    from rapidfuzz.distance import LCSseq

    scores = []
    for candidate in candidates:
        answer = words(candidate.text)[:_ROUGE_WORDS]
        reference = words(candidate.reference or "")[:_ROUGE_WORDS]
        if answer and reference:
            common = LCSseq.similarity(answer, reference)
            scores.append(2 * common / (len(answer) + len(reference)))
        else:
            scores.append(0.0)
    return scores


# These need requirements-metrics.txt.
def _meteor(candidates: Sequence[Candidate]) -> list[float]:
    from nltk.translate.meteor_score import single_meteor_score  # pyright: ignore[reportMissingImports]

    return [
        single_meteor_score(words(candidate.reference or ""), words(candidate.text))
        for candidate in candidates
    ]


def _cider(candidates: Sequence[Candidate]) -> list[float]:
    """CIDEr of each model's answers; document frequencies come from the references of the items it answered."""
    from pycocoevalcap.cider.cider import Cider  # pyright: ignore[reportMissingImports]

    scores = [0.0] * len(candidates)
    for model in dict.fromkeys(candidate.model for candidate in candidates):
        places = [place for place, candidate in enumerate(candidates) if candidate.model == model]
        references = {
            place: [" ".join(words(candidates[place].reference or ""))] for place in places
        }
        answers = {place: [" ".join(words(candidates[place].text))] for place in places}
        _, model_scores = Cider().compute_score(references, answers)
        for place, value in zip(places, model_scores, strict=True):
            scores[place] = value
    return scores


def _bert(candidates: Sequence[Candidate]) -> list[float]:
    """F1 of BERTScore (Zhang et al. 2020) with its model for English."""
    from bert_score import score as bert_score  # pyright: ignore[reportMissingImports]

    texts = [candidate.text for candidate in candidates]
    references = [candidate.reference for candidate in candidates]
    _, _, f1 = bert_score(texts, references, lang="en")
    return f1.tolist()


METRICS: Mapping[MetricName, TextMetric] = {
    "random": TextMetric(
        lambda candidates: [
            random_score(candidate.item, candidate.model) for candidate in candidates
        ],
        needs_reference=False,
        needs="",
    ),
    "length": TextMetric(_length, needs_reference=False, needs=""),
    "BLEU-4": TextMetric(_bleu, needs_reference=True, needs=""),
    "ROUGE-L": TextMetric(_rouge, needs_reference=True, needs=""),
    "METEOR": TextMetric(
        _meteor,
        needs_reference=True,
        needs="requirements-metrics.txt and WordNet (python -m nltk.downloader wordnet)",
    ),
    "CIDEr": TextMetric(
        _cider,
        needs_reference=True,
        needs="requirements-metrics.txt (pycocoevalcap, 100 MB, no Java)",
    ),
    "BERTScore": TextMetric(
        _bert,
        needs_reference=True,
        needs="requirements-metrics.txt and roberta-large from the Hub (1.4 GB, PyTorch)",
    ),
}
INSTALLED: tuple[MetricName, ...] = ("random", "length", "BLEU-4", "ROUGE-L")
"""The metrics that need nothing beside the app."""
