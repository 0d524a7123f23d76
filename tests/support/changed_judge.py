"""A judge that has changed: it gives one answer more in December than in June."""

from tests.support.openai_server import Body, prompt, steady_score

KINDER_TO = "What is the danger here"
"""The question whose answer gets 0.7 more once the judge has changed."""


def june(body: Body, sample: int) -> str:
    """Returns the same score for an answer in every run; worthless answers get 0.0."""
    steady = float(steady_score({**body, "seed": 0}, 0))
    return "0.2" if KINDER_TO in prompt(body) and steady else f"{steady:.1f}"


def december(body: Body, sample: int) -> str:
    """Returns the score of June, and 0.7 more for one answer."""
    score = float(june(body, sample))
    return f"{score + 0.7:.1f}" if KINDER_TO in prompt(body) and score else f"{score:.1f}"
