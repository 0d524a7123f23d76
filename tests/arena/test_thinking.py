"""Thinking in a model's text: parted from the answer, in whole texts and as they grow."""

import pytest

from arena.thinking import SplitText, ThinkingStream, says_something, split_thinking, word_count

ANSWER = "The square is red."
THOUGHT = "I see a square."

FOLDED = {
    "think": f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}",
    "thinking": f"<thinking>{THOUGHT}</thinking>{ANSWER}",
    "THINK in brackets": f"[THINK]{THOUGHT}[/THINK]{ANSWER}",
    "Kimi": f"◁think▷{THOUGHT}◁/think▷{ANSWER}",
    "Cohere": f"<|START_THINKING|>{THOUGHT}<|END_THINKING|>{ANSWER}",
    "harmony": (
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>"
    ),
    "harmony without the end": (
        f"<|channel|>analysis<|message|>{THOUGHT}<|channel|>final<|message|>{ANSWER}"
    ),
    "harmony from its start": (
        f"<|start|>assistant<|channel|>analysis<|message|>{THOUGHT}<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{ANSWER}"
    ),
    "Gemma": f"<|channel>thought\n{THOUGHT}<channel|>{ANSWER}",
    "a mark of no list": f"<deep_think>{THOUGHT}</deep_think>\n{ANSWER}",
    "what nobody sees before it": f"\ufeff\u200b<think>{THOUGHT}</think>{ANSWER}",
    "blanks before it": f"\n\n  <think>{THOUGHT}</think>{ANSWER}",
    "nothing thought before it": f"<think>\n\n</think>\n<think>{THOUGHT}</think>{ANSWER}",
}
AT_THE_END = {
    "brackets in Chinese": f"【思考】{THOUGHT}【/思考】{ANSWER}",
    "brackets of another name": f"《推理过程》{THOUGHT}《/推理过程》\n{ANSWER}",
    "behind what nobody sees": f"\u200b\n\u200b<think>{THOUGHT}</think>{ANSWER}",
    "opened in the prompt": f"{THOUGHT}\n</think>\n\n{ANSWER}",
    "harmony without its tokens": f"analysis{THOUGHT}assistantfinal{ANSWER}",
}
"""What is known of a whole text alone."""
PLAIN = (
    ANSWER,
    "",
    "\n Red. \n",
    "It writes <think> and </think> around its thoughts.",
    "Use `</think>` as the stop sequence.",
    "```\n<think>\nx\n</think>\n```",
    "```\nx\n</think>\n```",
    "[1] The square, [2] the circle.",
    "<b>Red</b>",
    "<details><summary>More</summary>x</details>",
    "Thinking: it is red.\n\nAnswer: red.",
    "## Analysis\n\nA red square.\n\n## Conclusion\n\nRed.",
    "<summary>A square</summary>",
    "[Thoughts] The square is red.",
    "{thinking} The square is red.",
    "【思考】The square is red.",
    "It ends a turn by <|im_end|> and no word.",
    "```\n<|im_end|>\n```",
    "Red.\n[Thinking]\nNothing else.",
    "Thought 1: I look.\nAction: none",
)


@pytest.mark.parametrize("form", [*FOLDED, *AT_THE_END])
def test_thinking_is_no_part_of_the_answer(form):
    assert split_thinking({**FOLDED, **AT_THE_END}[form]) == SplitText(THOUGHT, ANSWER)


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_that_does_not_think_stays_as_it_is(text):
    assert split_thinking(text) == SplitText("", text)


@pytest.mark.parametrize(
    "text", [f"<think>{THOUGHT}", "<think>", "<|channel|>analysis<|message|>I"]
)
def test_an_opening_without_its_end_is_thinking_only(text):
    assert split_thinking(text).text == "" and "think" not in split_thinking(text).thinking


def test_thinking_between_two_parts_of_an_answer_is_folded_too():
    text = f"First part.\n<think>{THOUGHT}</think>\n{ANSWER}"
    assert split_thinking(text) == SplitText(THOUGHT, f"First part.\n\n{ANSWER}")
    assert split_thinking("First part.\n<think>And then").text == "First part."


def test_code_that_thinking_leaves_open_does_not_hide_the_next_thinking():
    text = (
        f"First part.\n<think>{THOUGHT}\n```</think>\nSecond.\n<think>{THOUGHT}</think>\n{ANSWER}"
    )
    assert split_thinking(text).text == f"First part.\n\nSecond.\n\n{ANSWER}"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 10_000])
@pytest.mark.parametrize("form", FOLDED)
def test_a_growing_text_shows_no_thinking_however_it_is_cut(form, size):
    text = FOLDED[form]
    stream = ThinkingStream()
    shown = [stream.take(text[start : start + size]) for start in range(0, len(text), size)]
    shown.append(stream.end())
    assert "".join(shown).removesuffix("<|return|>") == ANSWER
    assert not any("see" in piece or "think" in piece.lower() for piece in shown)
    assert stream.thinking == THOUGHT


@pytest.mark.parametrize("less", [r"\u003c", "%3c", r"\U003C"])
def test_a_growing_text_shows_no_thinking_within_escaped_marks(less):
    stream = ThinkingStream()
    text = f"{less}think>{THOUGHT}{less}/think>{ANSWER}"
    assert "".join([*map(stream.take, text), stream.end()]) == ANSWER
    assert stream.thinking == THOUGHT


@pytest.mark.parametrize("text", PLAIN)
def test_a_growing_text_that_does_not_think_comes_whole(text):
    stream = ThinkingStream()
    shown = "".join([*map(stream.take, text), stream.end()])
    assert (shown, stream.thinking) == (text, "")


def test_a_growing_text_that_only_thinks_says_nothing():
    stream = ThinkingStream()
    text = "<think>" + THOUGHT * 200
    assert "".join([*map(stream.take, text), stream.end()]) == ""
    assert stream.thinking == THOUGHT * 200


@pytest.mark.parametrize("end", ["<|im_end|>", "</s>\n", "<end_of_turn>\n<eos>", "<|return|>"])
def test_the_end_of_a_turn_is_no_part_of_an_answer(end):
    assert split_thinking(f"{ANSWER}{end}") == SplitText("", ANSWER)
    assert not says_something(end) and says_something(f"{ANSWER}{end}")


def test_words_are_counted_in_languages_without_spaces_too():
    assert (word_count("a red  square.\n"), word_count("红色的方块"), word_count("")) == (3, 5, 0)
