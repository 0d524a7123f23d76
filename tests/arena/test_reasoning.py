"""What is left of an answer without reasoning and special tokens, in every format of the table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.reasoning import ANSWERS, FORMATS, MOST_LAYERS, Answer, answer_of, wrapped_answers
from scoring.failures import ENDLESS, failure

MARKS = {
    "<|channel>thought": ("<|channel>thought\n", "<channel|>"),
    "<|im_start|>think": ("<|im_start|>think\n", "<|im_end|><|im_start|>answer\n"),
    "harmony": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    "<|begin_of_thought|>": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "<start_of_thought>": ("<start_of_thought>", "<end_of_thought>"),
    "<|think|>": ("<|think|>", "<|/think|>"),
    "<begin_of_thought>": ("<begin_of_thought>", "<end_of_thought>"),
    "<ctrl94>thought": ("<ctrl94>thought\n", "<ctrl95>"),
    "```thinking": ("```thinking\n", "\n```\n"),
    "a mark of thinking": ("<|new_thinking_start|>", "<|new_thinking_end|>"),
    "a bracket of thinking": ("[REASONING]", "[/REASONING]"),
    "<|START_THINKING|>": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "<unused94>": ("<unused94>thought\n", "<unused95>"),
    "[Start thinking]": ("[Start thinking]\n", "[End thinking]"),
    "[THINK]": ("[THINK]", "[/THINK]"),
    "◁think▷": ("◁think▷", "◁/think▷"),
    "<|begin_of_box|>": ("<|begin_of_box|>", "<|end_of_box|>"),
    "<|begin_of_solution|>": ("<|begin_of_solution|>", "<|end_of_solution|>"),
    "<|START_RESPONSE|>": ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    "[BEGIN FINAL RESPONSE]": ("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"),
}  # fmt: skip
WORDS = {
    "analysisIt is A. No.assistantfinalC": "C",
    "assistantanalysisIt is A.assistantfinal**C**": "**C**",
    "analysis: it is A\nfinal: C": "C",
    "Thinking: A or B\n...done thinking.\n\nC": "C",
    "> Thinking: it is A\n> or B\n\nC": "C",
    "### Thinking\nIt is A.\n### Response\nC": "C",
    "**Thinking:** It is A.\n\n**Answer:** C": "C",
    "Thought: it is A.\nAction: Finish[C]": "C",
    "Thought: it is A.\nAction: Finish[(C)]": "(C)",
    "Thought: it is A.\nAction: Finish([C])": "[C]",
    "Thought 1: look\nAction 1: crop[1]\nThought 2: A\nAction 2: Finish[C]": "C",
    "<think>A</think>so B</think>C": "C",
    "<THINK>A</THINK>\n<think>B</think>\nC": "C",
    "&lt;think&gt;A&lt;/think&gt;C": "C",
    "<think duration='3'>A</think>C": "C",
    "USER: <image>\nWhich? ASSISTANT: C</s>": "C",
    "C<|im_end|>\n<|im_start|>user\nAnd this?": "C",
    "<｜Assistant｜>C<｜end▁of▁sentence｜>": "C",
    "<think>A looks right.<answer>C</answer></think>": "<answer>C</answer>",
    "<think>A looks right.<answer>C</answer>": "<answer>C</answer>",
    "<think>It's in İstanbul.<answer>C</answer></think>": "<answer>C</answer>",
    "C <think>or is it": "C",
    "Is a < b and c > d? [A] or B": "Is a < b and c > d? [A] or B",
    "Analysis: the answer is C.": "Analysis: the answer is C.",
    "<ctrl94>thought A<ctrl95>C": "C",
    "‹思考›A‹/思考›C": "C",
    "【think】A【/think】C": "C",
    r"\u003cthink\u003eA\u003c/think\u003eC": "C",
    "< think >A</ think >C": "C",
    "<|thought|>A<|/thought|>C": "C",
    "<|begin_think|>A<|end_think|>C": "C",
    "<thought_process>A</thought_process>C": "C",
    "<|reasoning_start|>A<|reasoning_end|>C": "C",
    "```thinking\nA\n```\nC": "C",
    "```\nC\n```": "```\nC\n```",
    "[Thinking] A [Answer] C": "[Answer] C",
    "[Reasoning] A has fur. So C": "[Reasoning] A has fur. So C",
    "<nothink>C": "<nothink>C",
    "Thought: it is A\nAction: Look[A]\nThought: hm\nAction: Answer[C]": "C",
    "《思考》": "《思考》",
    '{"thought": "A", "choice": "C"}': '{"thought": "A", "choice": "C"}',
    '{\n  "thought": "A",\n  "choice": "C"\n}': '{\n  "thought": "A",\n  "choice": "C"\n}',
    '{  "thought": "A",  "choice": "C"}': '{  "thought": "A",  "choice": "C"}',
    '{"thought": "A", "choice (A-D)": "C"}': '{"thought": "A", "choice (A-D)": "C"}',
    "The [answer] is C <think>or A": "The [answer] is C",
    '{"reason": "A", "choice": "C", "reason 2": ""}': '{"reason": "A", "choice": "C", "reason 2": ""}',
    "The assistant finalised it": "The assistant finalised it",
    "The assistant final answer": "The assistant final answer",
    "analysisA or B?assistantfinalthe cat": "the cat",
}


def marks(form):
    word = form.name[1:-1]
    return MARKS.get(form.name, (form.name, f"</{word}>"))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_format_comes_off_whole_and_torn(form):
    opening, closing = marks(form)
    whole = answer_of(f"{opening}It is A.\n\nIs it? A.{closing}\nThe answer is C.")
    assert (whole.text, whole.is_endless) == ("The answer is C.", False)
    torn = answer_of(f"{opening}It is A.\n\nIs it? A.")
    assert (torn.text, torn.is_endless) == (
        ("", True) if not form.must_close else (torn.text, False)
    )
    headless = answer_of(f"It is A. No.{closing}\nC")
    if form.opens_in_prompt:
        assert headless.text == "C"


@pytest.mark.parametrize(
    "text",
    [
        "<ctrl94>thought\nThe answer is A",
        "【think】The answer is A",
        r"\u003cthink\u003eThe answer is A",
        "< think >The answer is A",
        "<|thought|>The answer is A",
        "<|reasoning|>The answer is A",
        "<|begin_think|>The answer is A",
        "```thinking\nThe answer is A",
        "Thought: it is A\nAction: Look[A]",
        "[Start thinking]\nThe answer is A",
        "%3Cthink%3EThe answer is A",
        '{"reasoning": "The answer is A',
    ],
)
def test_thinking_without_an_end_is_torn(text):
    assert answer_of(text) == Answer("", answer_of(text).cuts, True)
    assert failure(answer_of(text)) == ENDLESS


@pytest.mark.parametrize("form", ANSWERS, ids=lambda form: form.name)
def test_the_last_answer_of_a_format_is_the_answer(form):
    opening, closing = marks(form)
    assert answer_of(f"First {opening}A{closing}, no: {opening} C {closing}.").text == "C"
    assert answer_of(f"Then {opening}C").text == "C"


@pytest.mark.parametrize(("text", "left"), WORDS.items())
def test_formats_in_words(text, left):
    assert answer_of(text) == answer_of(text)
    assert answer_of(text).text == left


def test_cuts_are_named_once_and_in_order():
    answer = answer_of("<think>A</think><think>B</think>C<|im_end|>")
    assert answer.cuts == ("<think>", "special tokens")


def test_the_most_layers_may_be_around_an_answer_and_one_more_may_not():
    layer = "USER: which? ASSISTANT: "
    assert answer_of(MOST_LAYERS * layer + "C").text == "C"
    assert answer_of((MOST_LAYERS + 1) * layer + "C").is_endless


def test_an_answer_of_endless_layers_is_none():
    nested = "<thi" * 40 + "<think>A</think>" + "nk>" * 40 + "C"
    assert answer_of(answer_of(nested).text).text == answer_of(nested).text
    layers = "<output>" * (2 * MOST_LAYERS) + "C"
    assert answer_of(layers).text in ("C", "")


WORDS_OF_FORMATS = (
    "analysis assistantfinal final: Thought: Action: Finish[C] <answer> </answer> A B text \n ### > </s> USER:"
).split(" ")
PIECES = st.sampled_from(
    [mark for form in (*FORMATS, *ANSWERS) for mark in marks(form)] + WORDS_OF_FORMATS
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_is_left_has_nothing_to_take_off(text):
    answer = answer_of(text)
    assert answer_of(answer.text).text == answer.text
    assert not (answer.is_endless and answer.text)


def test_wrapped_answers_are_told_in_order():
    text = r"<answer>\boxed{5}</answer> or $\boxed{\frac{1}{2}}$, <final_answer>B"
    found = wrapped_answers(text)
    assert [(holder.name, holder.text) for holder in found] == [
        ("<answer>", r"\boxed{5}"),
        (r"\boxed", "5"),
        (r"\boxed", r"\frac{1}{2}"),
        ("<final_answer>", "B"),
    ]
    assert text[found[2].start : found[2].end] == r"\boxed{\frac{1}{2}}"


def test_a_box_is_told_by_its_braces():
    deep = r"\boxed{\text{\textbf{(C)}}}"
    assert [holder.text for holder in wrapped_answers(deep)] == [r"\text{\textbf{(C)}}"]
    assert wrapped_answers(r"\boxed{C") == () == wrapped_answers("boxed in {C}")
