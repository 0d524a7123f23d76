"""Self-reference: a speaker that names itself is found, a topic of that name is not."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.live.identity_leaks import _MAKERS, _MODELS, _STEMS, names_itself
from tests.support.examples import examples

MODELS = ("Quxolotl-7B", "Sphexish Vision 2", "Otter")
OPENINGS = (
    "I am {}, a helpful assistant.",
    "I'm {} and I can see a cat.",
    "Hello! My name is {}.",
    "As {}, I cannot see faces.",
    "I am a model called {}.",
    "I am based on {}.",
    "I’m actually {}.",
    "You are talking to {}.",
    "We are {}, so we answer in one sentence.",
    "Je suis {}, un modèle de langage.",
    "Ich bin {}.",
    "Soy {}.",
    "我是{}，很高兴认识你。",
    "The picture shows a cat. I am **{}**.",
)
NAMES = (
    "GPT-4o",
    "ChatGPT",
    "Claude",
    "Gemini",
    "LLaVA",
    "Qwen-VL",
    "InternVL2",
    "Llama 3",
    "MiniCPM-V",
    "Quxolotl-7B",
)
MAKERS = (
    "OpenAI",
    "Anthropic",
    "Google",
    "Google DeepMind",
    "Meta AI",
    "Alibaba Cloud",
    "Mistral AI",
    "DeepSeek",
)
BY_MAKERS = (
    "I was developed by {}.",
    "As an AI model trained by {}, I cannot say.",
    "I am a large language model, trained by {}.",
    "As an {} model I have no opinion.",
    "I'm a vision-language model created by {}.",
    "{} created me.",
    "As a language model developed by {}, I can help.",
    "I've been built by the {} team by {}.",
)
TOPICS = (
    "The picture shows a palm tree and the Google logo.",
    "We are looking at a llama and at Gemini, and we're at Google.",
    "This is a llama. Llamas are from South America.",
    "An otter swims on its back; otters are mammals.",
    "The phone was made by Google, the laptop by Microsoft.",
    "A bard sings; next to him a monkey and an emu.",
    "Claude Monet painted this picture in 1899.",
    "The sign reads: Gemini, 21 May to 20 June.",
    "I am not sure who made the phone, but it looks like one by Meta.",
    "The chart compares GPT-4, Claude and Gemini; GPT-4 is highest.",
    "As an assistant I cannot identify people in pictures.",
    "As a large language model, I have no feelings.",
    "The model is trained by gradient descent, says the slide by Google.",
    "Otter",
    "Llama",
    "我是学生，这是百度的标志。",
    "",
)


def test_planted_self_references_are_found():
    planted = [opening.format(name) for opening in OPENINGS for name in NAMES]
    planted += [text.format(*[maker] * text.count("{}")) for text in BY_MAKERS for maker in MAKERS]
    missed = [text for text in planted if not names_itself(text, MODELS)]
    assert len(planted) >= 190
    assert len(missed) <= 0.05 * len(planted), missed[:10]


@pytest.mark.parametrize("text", TOPICS)
def test_topics_are_no_self_references(text):
    assert not names_itself(text, MODELS)


def test_a_bare_name_counts_where_it_is_no_ordinary_word():
    assert names_itself("Quxolotl-7B.", MODELS)
    assert names_itself("I am Sphexish Vision 2", MODELS)
    assert not names_itself("Otter.", MODELS)
    assert not names_itself("42.", [*MODELS, "42"]), "the answer to a question of a number"


@settings(max_examples=examples(500))
@given(st.from_regex(re.compile(f"(?:{_MAKERS}|{_MODELS})"), fullmatch=True))
def test_every_name_holds_a_part_by_which_answers_are_looked_through(name):
    assert any(stem in name.lower() for stem in _STEMS)


def test_real_answers_are_seldom_flagged(data):
    """LLaVA's answers to MM-Vet: nobody asked who it is."""
    answers = json.loads(
        (data / "mm-vet" / "llava_llama2_13b_chat.json").read_text("utf-8")
    ).values()
    flagged = [answer for answer in answers if names_itself(str(answer), MODELS)]
    assert len(answers) > 200
    assert len(flagged) <= 0.005 * len(answers), flagged
