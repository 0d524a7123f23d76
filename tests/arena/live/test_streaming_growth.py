"""Whatever strangers write, each step of what it passes through costs time in its own new text only."""

import pytest

from arena.inference.openai_model import neutralise
from arena.live.identity_leaks import names_itself
from arena.live.streaming import WordBuffer
from arena.markdown import answer_html, instruction_html, plain_html, visible_text
from arena.web.visitor_api import GrowingText
from tests.support.growth import slow

MODELS = ("Quxolotl-7B", "Sphexish Vision 2")


def cut(text: str) -> None:
    """Cut a text into words as it comes from a model."""
    words = WordBuffer()
    for start in range(0, len(text), 64):
        words.add(text[start : start + 64])
    words.close()


def tell(text: str) -> None:
    """Tell a page a text as it grows, by a word or a few characters."""
    told = GrowingText()
    for start in range(0, len(text), 50):
        told.add(text[start : start + 50])


def name_itself(text: str) -> None:
    """Look for a name in a text that begins to name itself."""
    names_itself(f"I am {text}", MODELS)


def slowly(text: str) -> None:
    """Cut a text into words as it comes in pieces of one character."""
    words = WordBuffer()
    for character in text:
        words.add(character)


STEPS = [
    cut,
    slowly,
    tell,
    name_itself,
    neutralise,
    visible_text,
    answer_html,
    plain_html,
    instruction_html,
]


@pytest.mark.parametrize("call", STEPS)
def test_work_grows_with_the_text(call):
    assert not slow(call)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("call", STEPS)
def test_work_grows_with_the_text_in_every_shape(call):
    assert not slow(call, soak=True)
