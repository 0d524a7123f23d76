"""Text metrics: hand-computed scores, rouge-score as an oracle, and the optional ones where they are installed."""

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from scoring.people.text_metrics import (
    INSTALLED,
    METRICS,
    Candidate,
    MetricName,
    TextMetricError,
    score,
)
from tests.support.servers import ROOT

ROUGE = RougeScorer(["rougeL"])
TEXT = st.lists(
    st.sampled_from(["the", "Cat", "sat,", "on", "a", "mat.", "don't", "42", "é", "猫", "-"]),
    max_size=12,
).map(" ".join)


def scored(
    name: MetricName, text: str, reference: str | None = "the cat sat on the mat"
) -> float | None:
    return score(name, [Candidate("i", "m", text, reference)]).get(("i", "m"))


def test_length_counts_tokens_between_white_space():
    assert scored("length", "Two  words,\nthen\t3 more!") == 5
    assert scored("length", " \n") == 0
    assert scored("length", "no reference needed", None) == 3


def test_random_knows_nothing_of_the_text():
    assert scored("random", "one text") == scored("random", "another", None) != 0


def test_bleu_is_the_hand_computed_one():
    """Four-grams of "the cat sat on a mat" in "the cat sat on the mat": 5/6 * 3/5 * 2/4 * 1/3, no brevity penalty."""
    assert scored("BLEU-4", "the cat sat on a mat") == pytest.approx(
        100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    )
    assert scored("BLEU-4", "the cat sat on the mat") == pytest.approx(100)
    assert scored("BLEU-4", "") == 0
    short = scored("BLEU-4", "the cat")
    assert short is not None and short > 0, (
        "an answer of two words is scored by its one- and two-grams"
    )


def test_rouge_is_the_hand_computed_one():
    """Longest common subsequence "cat sat on mat": 4 of 5 words, 4 of 6."""
    assert scored("ROUGE-L", "A cat sat on mat!") == pytest.approx(
        2 * 0.8 * (4 / 6) / (0.8 + 4 / 6)
    )
    assert scored("ROUGE-L", "") == scored("ROUGE-L", "something", "") == 0


@settings(max_examples=200, deadline=None)
@given(TEXT, TEXT)
@example("Don't", "don t")
def test_rouge_is_the_authors(text, reference):
    assert scored("ROUGE-L", text, reference) == pytest.approx(
        ROUGE.score(reference, text)["rougeL"].fmeasure, abs=1e-12
    )


def test_many_answers_at_once_are_scored_as_one_by_one():
    many = [Candidate(f"i{place}", "m", f"the cat {place}", "the cat sat") for place in range(20)]
    for name in INSTALLED:
        alone = {key: value for one in many for key, value in score(name, [one]).items()}
        assert score(name, many) == alone


def test_an_answer_without_reference_is_left_out_by_metrics_that_need_one():
    for name, metric in METRICS.items():
        if metric.needs_reference:
            assert score(name, [Candidate("i", "m", "text", None)]) == {}


@pytest.mark.parametrize(
    ("name", "library", "needed"),
    [
        ("METEOR", "nltk.translate.meteor_score", "WordNet"),
        ("CIDEr", "pycocoevalcap.cider.cider", "pycocoevalcap"),
        ("BERTScore", "bert_score", "roberta-large"),
    ],
)
def test_what_an_optional_metric_needs_is_said_in_one_line(monkeypatch, name, library, needed):
    monkeypatch.setitem(sys.modules, library, None)  # as where it is not installed
    with pytest.raises(
        TextMetricError,
        match=f"{name} needs packages that aren't here. Install requirements-metrics.txt.*{needed}",
    ) as told:
        scored(name, "text")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("error", [KeyError("cat"), IndexError("out of range")])
def test_a_fault_of_a_metric_is_not_told_as_a_missing_package(monkeypatch, error):
    def fail(_):
        raise error

    metric = METRICS["METEOR"]
    monkeypatch.setitem(METRICS, "METEOR", metric._replace(scores=fail))
    with pytest.raises(type(error)):
        scored("METEOR", "text")


def test_meteor_where_it_is_installed():
    """METEOR of a text with itself is 1 - 0.5 / n³ for n words in one chunk."""
    wordnet = pytest.importorskip("nltk.corpus").wordnet
    try:
        wordnet.ensure_loaded()
    except LookupError:
        pytest.skip("WordNet is not installed")
    assert scored("METEOR", "the cat sat on the mat") == pytest.approx(1 - 0.5 / 6**3)
    assert scored("METEOR", "seven blue cars") == 0


def test_cider_where_it_is_installed():
    """CIDEr of a text with itself is 10; of one without a common word 0."""
    pytest.importorskip("pycocoevalcap.cider.cider")
    answers = {
        "1": ("A red fox jumps over dogs.", "a red fox jumps over dogs"),
        "2": ("no such thing", "seven blue cars went"),
    }
    found = score("CIDEr", [Candidate(item, "m", *texts) for item, texts in answers.items()])
    assert found == pytest.approx({("1", "m"): 10.0, ("2", "m"): 0.0})


def test_bertscore_where_it_is_installed():
    pytest.importorskip("bert_score")
    try:
        same, other = (
            scored("BERTScore", "the cat sat on the mat"),
            scored("BERTScore", "seven blue cars"),
        )
    except TextMetricError:
        pytest.skip("roberta-large is not here")
    assert same == pytest.approx(1, abs=1e-3)
    assert other is not None and same is not None and other < same


def test_metrics_are_loaded_when_they_are_asked():
    """The page's process starts without them, and scores length and random without them."""
    program = (
        "import sys; from scoring.people.text_metrics import Candidate, score;"
        "score('length', [Candidate('i', 'm', 'a b', None)]);"
        "print([name for name in ('sacrebleu', 'rapidfuzz', 'nltk', 'torch', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
