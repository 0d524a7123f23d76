"""What a judge's reply says: scores, marks and letters, however they are wrapped, and what is no answer."""

import pytest

from scoring.judges.replies import NO_OPTION, Scale, read_letter, read_score
from tests.support.growth import grows_too_fast

SCORE = Scale(0.0, 1.0)
MARK = Scale(1, 5, step=1)
ANIMALS = {"A": "dog", "B": "cat", "C": "bird", "D": "fish"}
TEN = dict(
    zip("ABCDEFGHIJ", "dog cat bird fish horse sheep cow bear zebra hen".split(), strict=True)
)

SEVENTENTHS = (
    "0.7",
    " 0.7\n",
    ".7",
    "0,7",
    "+0.7",
    "0.70",
    "０．７",
    "**0.7**",
    "`0.7`",
    "(0.7)",
    "[0.7]",
    "$0.7$",
    "| 0.7 |",
    "0.7.",
    "The correctness score is 0.7.",
    "Score: 0.7",
    "Score = 0.7",
    "**Score:** 0.7",
    "### Score\n\n0.7",
    "Score:\n0.7",
    "Correctness: 0.7",
    "correctness score: **0.7**",
    "My rating is 0.7.",
    "Score (0.0 to 1.0): 0.7",
    "Score: 0.7/1",
    "Score: 0.7/1.0",
    "0.7/1.0",
    "0.7 out of 1.0",
    "Score: 0.7 points",
    "Score: 0.7 (mostly right)",
    "0.7 (mostly right)",
    "0.7\n\nExplanation: the prediction names one of 2 cats.",
    "0.7 - it names one of 2 cats.",
    "0.7: names a cat",
    "0.7. The prediction names 3 of 4 animals.",
    "0.7 because it names one.",
    "0.7, as it names one.",
    "The prediction names 3 of the 4 animals.\n\n0.7",
    "The prediction names 3 of 4.\n\n**0.7**",
    "It names 3 of 4. The correctness score is 0.7.",
    "It names 3 of 4.\n\nFinal score: 0.7\n",
    "Final answer: 0.7",
    '{"score": 0.7}',
    '{"score": "0.7"}',
    '{"correctness_score": 0.7}',
    '{"value": 0.7}',
    "{'score': 0.7}",
    '```json\n{"score": 0.7}\n```',
    "```\n0.7\n```",
    '{"reason": "names 3 of 4", "score": 0.7}',
    '{\n  "score": 0.7,\n  "explanation": "It names 3 of 4."\n}',
    '{"score": 0.7, "max_score": 1.0}',
    "\\boxed{0.7}",
    "$\\boxed{0.7}$",
    "The score is $\\boxed{\\text{0.7}}$.",
    "<score>0.7</score>",
    "<answer>0.7</answer>",
    "<score> 0.7 </score>\n<reason>names 3 of 4</reason>",
    "I would give this prediction a score of 0.7.",
    "I'd rate it 0.7.",
    "The prediction deserves a correctness score of 0.7.",
    "Score: 0.7\n\nScore: 0.7",
    "评分：0.7",
    "得分：0.7分",
    "分数是0.7。",
    "正确性得分为 0.7",
    "输出：0.7",
    "0.7分",
    "Correctness of the prediction between BEGIN 12ab and END 12ab: 0.7",
    "The correctness of the prediction is 0.7",
    "It does not name the dog, so the score is 0.7.",
    "It isn't a dog. Therefore, the correctness score is 0.7.",
    "It would be perfect with a dog, thus the score is 0.7.",
    "On a scale from 0.0 to 1.0, the score is 0.7.",
    "On a scale from 0 to 1: 0.7",
    "Score 0.7",
    "Score - 0.7",
    "Score → 0.7",
    "Final score 0.7",
    "A score of 0.7 is appropriate.",
    "得分0.7",
    "Scale:\n0 - wrong\n1 - right\n\nScore: 0.7",
    "1 - right\n0 - wrong\nScore: 0.7",
    "0.7 - it names 3\n\n1. The dog\n2. The cat",
    "0,700",
    "<score>0.7 points</score>",
    "<score>0.7 (it names 3 of 4)</score>",
    "<answer>\n**0.7**\n</answer>",
    "<score>0.7/1</score>",
    "\\boxed{0.7 points}",
    "__0.7__",
    "_0.7_",
    "Score: _0.7_",
    "__Score:__ __0.7__",
    "___0.7___ (mostly right)",
    "Score\u202f: 0,7",
    "评分：0.7（满分1分）",
    "满分1分，得分：0.7",
    "Score: 0.7 points out of 1",
    "0.7. There are actually 3 animals.",
    "0.7. Actually, 3 of 4 animals are named.",
    "Score\u2009=\u20090.7",
)
NO_SCORE = (
    "",
    "well",
    "nan",
    "inf",
    "0_1",
    "<answer>1 dog</answer>",
    "<answer>0.7 of them</answer>",
    "<score>1 of 2 cats</score>",
    "<score>0.5 cats</score> <score>0.5</score>",
    "\\boxed{1 dog}",
    "\\boxed{0.7 degrees}",
    "0__1",
    "Score: 0.5\u20110.6",
    "0.5\u20100.6",
    "Score: 0.5\u20150.6",
    "0.5\u301c0.6",
    "Score: 1\u22152",
    "1\u20442",
    "评分：1（满分10分）",
    "评分：1分，满分10分",
    "评分：1 满分为5",
    "满分10分，得分：1",
    "Score: 1 point out of 10",
    "1 point / 10",
    "Score: 0.5. Actually, 0.7 is better.",
    "0.5\n\nActually 0.7",
    "0.5. Actually, it's 0.7, since it names 3.",
    "__0_7__",
    "0.7_cat",
    "_0.5_ or _0.7_",
    "Score: __0.5__, __0.7__",
    "1e-1",
    "70%",
    "Score: 70%",
    "0.7%",
    "1.1",
    "-0.5",
    "10",
    "7",
    "7/10",
    "Score: 7/10",
    "Score: 7 out of 10",
    "**7**/10",
    "3/4",
    "0.5 or 0.6",
    "0.5 to 0.6",
    "0.5-0.6",
    "0.5–0.6",
    "0.5, 0.6",
    "0.5 0.6",
    "0.5/0.6",
    "Score: 0.5 or 0.6",
    "Score: 0.5\nScore: 0.6",
    "0.5\n0.6",
    "0.5\n\nFinal score: 0.6",
    '{"score": 0.4, "score": 1.0}',
    '{"score": 0.5} or {"score": 0.6}',
    "\\boxed{0.5} \\boxed{0.6}",
    "Score: 0.5\n\n7/10",
    "Score: 1.7",
    '{"score": 7}',
    "The correctness score is not 0.7.",
    "The score cannot be 0.7",
    "The score could be 0.7",
    "Score: 0.7?",
    "A perfect answer would have a score of 1.0.",
    "If it named both, the score is 1.0.",
    "Score: 0.7 if it means cats",
    "The prediction names 0.7 of them.",
    "It names 1 of 2 cats",
    "1 cat",
    "1 of 2 cats",
    "1. The cat\n2. The dog",
    "The answer is 0.7 degrees",
    "Ground truth: 0.7",
    "Prediction: 0.7",
    "Answer: 1",
    "x = 0.7",
    "0.7x",
    "0.7.1",
    "v0.7",
    "Score: 0.5\n\nWait, it also names the dog.",
    "I'm sorry, I can't help with that.",
    "0.7²",
    "1.0 means totally right",
    "The final answer is 1",
    "The sum's result is 0.5 as in the truth",
    "The output is 1 dog",
    "Result: 1 dog",
    "Had it named both, the score is 1.0.",
    "I do not think that the score is 0.7",
    "Failed to obtain answer via API.",
    "Score: 0.5, but arguably 0.6",
    "max score: 1.0",
    "١",
    "½",
    "Score: high",
    "For example, the score is 1.0",
    "Score: -0.7",
    "> 0.7",
    "< 0.7",
    "≥0.7",
    "~0.7",
    "Score: >0.5",
    "Score: ~0.7",
    "<score>>0.7</score>",
    '{"score": ">0.7"}',
    "\\boxed{>0.7}",
    "Score: 0.7+",
    "Score: 0.7 or higher",
    "Score: 0.7 at most",
    "1 - correct\n0 - wrong",
    "0: wrong\n1: correct",
    "0.0: wrong\n0.5: half\n1.0: right",
    "1,000",
    "Score: 1,000",
    "1)",
    "#1",
    "Score (out of 10): 1",
    "Score (0-10): 1",
    "On a scale of 0 to 10, the score is 1.",
    "On a scale of 0 to 10: 1",
    "A score of 1.0 is appropriate if it names both.",
    "A score of 1.0 would be given if it named both.",
    "models that score 0.7 are good",
    "Score: 0·7",
    "The score: 0.7 (cat), 0.3 (dog)",
    "Score: 0.7 for the first, 0.3 for the second",
    "- 0.7",
)
FOURS = (
    "4",
    "4.0",
    "Your mark: 4",
    "**4**",
    '{"mark": 4}',
    "4/5",
    "4 out of 5",
    "Mark: 4/5",
    "I would rate this response a 4.",
    "4 stars",
    "4 stars out of 5",
    "评分：4（满分5分）",
    "4 - nearly the same",
    "4: nearly",
    "4 (nearly the same)",
    "4. The response is nearly the same.",
    "Mark 4",
    "The response names 3 of 4 animals.\n\nYour mark: 4",
    "Question: how many?\nAnswer: 3\nResponse: 3\nYour mark: 4",
    "Mark: 4\n\nThe response names 2 animals.",
    "标记：4\n\n评分：4",
    "4\n\n1. The answer is a cat.\n2. The response is one.",
)
NO_MARK = (
    "0",
    "6",
    "4.5",
    "4/10",
    "4 stars out of 10",
    "评分：4（满分10分）",
    "满分10分，评分：4",
    "45",
    "4 people",
    "3 of the people",
    "3-year-old",
    "four",
    "Answer: 4",
    "**4**/10",
    "4 or 5",
    "4-5",
    "Mark: 4\nMark: 5",
    '{"mark": 9}',
    "1. The answer is a cat.\n2. The response is one.",
    "Between 4 and 5",
    "5. perfect\n4. good\n3. fair",
)
BS = (
    "B",
    " B.",
    "(B)",
    "**B**",
    "`B`",
    '"B"',
    "[B]",
    "Ｂ",
    "（B）",
    "【B】",
    "B. cat",
    "B: cat",
    "(B) cat",
    "**B. cat**",
    "B cat",
    "B, cat",
    "B - cat",
    "Option B",
    "option (B)",
    "The answer is B",
    "The answer is B.",
    "The answer is (B) cat.",
    "Answer: B",
    "**Answer:** B",
    "Your output: B",
    "Output: B",
    "The correct option is B",
    "Answer: B. cat",
    "Answer:\n\nB",
    "The answer is option B.",
    "The answer is B because it is feline.",
    "B because it is feline.",
    "B, since it purrs.",
    "B\n\nThe response is feline.",
    "B. The response is a feline.",
    "The response is feline.\n\nB",
    "It purrs.\n\n**B**",
    "It purrs.\n\nB. cat",
    "The response is most similar to option B.",
    "It is closest to B.",
    "I would choose B.",
    "Option B is the most similar.",
    "Option A is a dog. The answer is B.",
    "A. dog\nB. cat\nC. bird\n\nAnswer: B",
    "A. dog\nB. cat\nC. bird\nD. fish\n\n**B**",
    '{"choice": "B"}',
    '{"answer": "B. cat"}',
    '{"letter": "B"}',
    '```json\n{"choice": "B"}\n```',
    '{"reason": "it purrs", "choice": "B"}',
    "\\boxed{B}",
    "$\\boxed{\\text{B}}$",
    "The answer is $\\boxed{B}$.",
    "\\boxed{B. cat}",
    "<answer>B</answer>",
    "<answer>\nB. cat\n</answer>",
    "<choice>B</choice>",
    "答案：B",
    "输出：B",
    "答案是B。",
    "选B",
    "正确答案为 B",
    "选项：B",
    "Antwort: B",
    "정답: B",
    "Réponse : B",
    "B\nB",
    "选择B",
    "选择 B",
    "我选择B",
    "应该选择B。",
    "故选：B",
    "The answer is B rather than A",
    "The answer is B, not A.",
    "The answer is B and not A",
    "B rather than A",
    "B, not A",
    "B;",
    "B. A feline.",
    "B. It is actually a cat.",
    "B，因为它是猫",
    "<answer>Option B</answer>",
    "<answer>B. A feline.</answer>",
    "<answer>(B)\n\nIt purrs.</answer>",
    "<answer>B, since it purrs.</answer>",
    "\\boxed{B: cat}",
    "\\boxed{B cat}",
    "__B__",
    "_B_",
    "Answer: __B__",
    "__B. cat__",
    "__B__, not __A__",
)
NO_LETTER = (
    "",
    "well",
    "b",
    "E",
    "AB",
    "B or C",
    "B/C",
    "A, B",
    "A and B",
    "A B",
    "Answer: B or C",
    "The answer is A or B.",
    "B\nC",
    "The answer is A. Output: B",
    "B. dog",
    "Answer: B. dog",
    "The answer is dog",
    "The answer is A cat",
    "A cat purrs.",
    "The answer is not B",
    "The answer is B, but it could be C",
    "The answer cannot be B",
    "If it purrs, the answer is B.",
    "A. dog\nB. cat\nC. bird\nD. fish",
    "X marks B",
    '{"choice": "E"}',
    '{"choice": "B", "answer": "C"}',
    "Answer: E",
    "\\boxed{B} or \\boxed{C}",
    "Option A and option B",
    "B. cat\n\nThe answer is C.",
    "The answer is B.\n\nWait, it barks.",
    "Answer: B?",
    "I'm sorry, I can't help with that.",
    "B+",
    "The answer is B's",
    "A is a dog and B is a cat.",
    "Neither A nor B",
    "A. dog B. cat C. bird D. fish",
    "Answer: A. dog B. cat C. bird D. fish",
    "(A) dog (B) cat",
    "A: dog, B: cat",
    "The answer is A, B",
    "The answer is B & C",
    "For example, the answer is B",
    "B and X",
    "B or X",
    "A/X",
    "Answer: B / X",
    '{"A": 1, "B": 0}',
    '{"A": 0, "B": 1}',
    '{"A": "dog"}',
    "Answer: A (dog) / B (cat)",
    "A (dog) or B (cat)",
    "A (dog), B (cat)",
    "A (dog) vs. B (cat)",
    "A–D",
    "A vs. B",
    "B over A",
    "不选B",
    "不应选择B",
    "选择A或B",
    "A not so clear B",
    "答案：A、B",
    "A: 30%, B: 70%",
    "A. B",
    "(A)(B)",
    "Answer: A. Actually B.",
    "<answer>A cat</answer>",
    "<answer>B. dog</answer>",
    "<answer>A is worse than B</answer>",
    "<choice>A. dog\nB. cat</choice>",
    "<answer>A cat</answer>\n\nB",
    "\\boxed{A small cat}",
    "\\boxed{B. dog}",
    "A_1",
    "Answer: B__cat",
    "Answer: __B__, __C__",
    "__B__ or __C__",
)


@pytest.mark.parametrize("reply", SEVENTENTHS)
def test_a_score_is_read(reply):
    assert read_score(reply, SCORE) == 0.7


@pytest.mark.parametrize("reply", NO_SCORE)
def test_what_gives_no_score_or_two_is_unreadable(reply):
    assert read_score(reply, SCORE) is None


def test_both_ends_of_a_scale_are_scores():
    ends = ("0", "0.", "-0.0", "0.0 (totally wrong)", "1", "1.0", "1/1", "Score: 1")
    assert [read_score(reply, SCORE) for reply in ends] == [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("reply", FOURS)
def test_a_mark_is_read(reply):
    assert read_score(reply, MARK) == 4


@pytest.mark.parametrize("reply", NO_MARK)
def test_what_gives_no_mark_or_two_is_unreadable(reply):
    assert read_score(reply, MARK) is None


@pytest.mark.parametrize("reply", BS)
def test_a_letter_is_read(reply):
    assert read_letter(reply, ANIMALS) == "B"


@pytest.mark.parametrize("reply", NO_LETTER)
def test_what_gives_no_letter_or_two_is_unreadable(reply):
    assert read_letter(reply, ANIMALS) is None


@pytest.mark.parametrize("option", ["红（浅）", "ＣＤ", "5 \\text{cm}", "x−1"])
def test_an_option_in_wide_signs_or_latex_is_compared_in_the_form_of_the_reply(option):
    options = {"A": "dog", "B": option}
    assert read_letter(f"A. {option}", options) is None, "the text is another option's"
    assert read_letter(f"It fits.\nB. {option}", options) == "B"


def test_x_and_z_mean_no_option_unless_they_are_one():
    assert [read_letter(reply, ANIMALS) for reply in ("X", "Z", "Answer: X")] == [NO_OPTION] * 3
    letters = {letter: letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWX"}
    assert read_letter("Answer: X", letters) == "X"
    assert read_letter("B Z axis", {"A": "X axis", "B": "Z axis"}) == "B"


def test_the_tenth_option_is_read():
    assert [read_letter(reply, TEN) for reply in ("J", "J. hen", "The answer is J.")] == ["J"] * 3
    assert read_letter("I think it is a zebra", TEN) is None


THOUGHT = (
    "<think>0.2 or B?</think>{}",
    "{}<|im_end|>",
    "{}</s>",
    "<|channel|>analysis<|message|>0.2 or C?<|end|>"
    "<|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "[THINK]C[/THINK]{}",
    "<|begin_of_box|>{}<|end_of_box|>",
)


@pytest.mark.parametrize("form", THOUGHT)
def test_reasoning_and_end_tokens_are_taken_off(form):
    assert read_score(form.format("0.7"), SCORE) == 0.7
    assert read_letter(form.format("B"), ANIMALS) == "B"


def test_torn_reasoning_holds_no_answer():
    torn = "<think>The score is 0.7. The answer is B.\n\nB\n\n0.7"
    assert (read_score(torn, SCORE), read_letter(torn, ANIMALS)) == (None, None)


def test_a_reply_that_was_cut_is_read_where_it_began_with_its_answer():
    begun = (
        "0.7\n\nExplanation: the",
        "The correctness score is 0.7. The",
        '{"score": 0.7, "why',
    )
    assert [read_score(reply, SCORE, "length") for reply in begun] == [0.7, 0.7, 0.7]
    late = (
        "0",
        "1",
        "0.",
        "0.7",
        "Score: 0",
        "It names one. Score: 0.7. Or",
        "It names one.\n0.7\nBut",
    )
    assert [read_score(reply, SCORE, "length") for reply in late] == [None] * 7
    assert read_letter("B. cat\n\nThe", ANIMALS, "length") == "B"
    assert read_letter("The answer is B because the", ANIMALS, "length") == "B"
    cut = ("B", "The answer is B", "It purrs. The answer is B. But")
    assert [read_letter(reply, ANIMALS, "length") for reply in cut] == [None] * 3


@pytest.mark.parametrize("most", [32_000, pytest.param(400_000, marks=pytest.mark.soak)])
def test_the_work_of_a_long_reply_grows_with_it(most):
    made = (
        ("B\n", read_letter),
        ("B. cat\n", read_letter),
        ("A. dog ", read_letter),
        ("<answer>B", read_letter),
        ("<answer>B. \\boxed{B}</answer>", read_letter),
    )
    for unit, read in made:
        grown = grows_too_fast(
            lambda text, read=read: read(text, ANIMALS),
            lambda size, unit=unit: unit * (size // len(unit)),
            most,
        )
        assert grown is None
    assert read_letter("B\n" * 100_000, ANIMALS) == "B"


def test_a_filtered_reply_is_unreadable():
    assert read_score("0.7", SCORE, "content_filter") is None
    assert read_letter("B", ANIMALS, "content_filter") is None


@pytest.mark.parametrize(
    "reply",
    [
        "The wrong option is B", "The least similar option is B", "The other answer is B", "Answer: A (or B)",
        "A (or B)", "Answer: A, possibly B", "Answer: A; B", "Answer: A\nor B", "A - wrong", "A: wrong, B: right",
        '{"answer":"A"}{"answer":"B"}',
    ],
)  # fmt: skip
def test_a_letter_that_is_denied_or_one_of_two_is_unreadable(reply):
    assert read_letter(reply, ANIMALS) is None


@pytest.mark.parametrize(
    "reply",
    [
        "1 (out of 2)", "Score: 1 [out of 10]", "Score: 1:2", "Score: 1×10", "Score: 0.5 + 0.5 = 1",
        "Score: 1 minus 0.5", "Score: 1 → 0.5", "The previous score is 0.3.", '{"max_score": 1}', '{"confidence": 0.9}',
    ],
)  # fmt: skip
def test_another_number_behind_a_score_makes_it_unreadable(reply):
    assert read_score(reply, SCORE) is None


@pytest.mark.parametrize(
    "reply",
    [
        "Score: ~0.5/1",
        "The score is > 0.5 out of 1",
        "<score>~0.5/1</score>",
        "Score: 0.5/1 or 0.7/1",
        "Score: 0.5/1 to 0.7/1",
        "Score: 0.5 points or 0.7 points",
    ],
)
def test_doubt_about_a_score_counts_before_and_after_its_maximum_and_unit(reply):
    assert read_score(reply, SCORE) is None


def test_a_number_after_a_score_with_its_maximum_may_explain_it():
    assert read_score("Score: 0.5/1 - 2 of 4 animals are named.", SCORE) == 0.5
    assert read_score("Score: 0.5/1, or half of the points.", SCORE) == 0.5


@pytest.mark.parametrize(
    "reply",
    [
        "Option A: dog. Option B: cat.",
        "Option A: dog\tOption B: cat",
        "A. dog, or option B. cat",
        "选项A：dog 选项B：cat",
        "Option A: 50%, Option B: 50%",
        "A: 50%, option B: 50%",
    ],
)
def test_options_that_are_listed_on_one_line_with_the_word_are_no_choice(reply):
    assert read_letter(reply, ANIMALS) is None
