"""How models of 2026 answer, and what looks like an answer: boxes, lists, declining words, signed letters, languages.

A letter is what a careful reader reads; None where nothing is sure.
"""

import json

import pytest

from scoring.multiple_choice.extract import extract
from scoring.multiple_choice.types import NONE, Rule


def of(*texts):
    return dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", texts, strict=False))


ANIMALS = of("dog", "cat", "bird", "fish")
GROUPS = of("A+", "A-", "B+", "AB-")
GRADES = of("B", "B+", "A-", "A")
LANGUAGES = of("C++", "C", "C#", "Java")
METALS = of(*"iron copper gold silver zinc tin lead nickel cobalt chrome".split())
COUNTS = of("0", "1", "2", "3")
PEOPLE = of("the driver", "the passenger", "nobody", "both")
CHINESE = of("狗", "猫", "鸟", "鱼")
ALPHABET = of(*(f"thing {number}" for number in range(26)))

BOXES = [
    (r"The field is \boxed{E}.  **Answer: B**", "B"),
    (r"Answer: C. \boxed{E}", None),
    (r"\boxed{F} is the force. The answer is D", "D"),
    (r"\boxed{A} or \boxed{B}", None),
    (r"First \boxed{A}, corrected: \boxed{C}", "C"),
    (r"Thus \boxed{A}. Wait, the answer is B.", None),
    (r"\boxed{A, C}", None),
    (r"\boxed{\textbf{\text{(D)}}}", "D"),
    (r"\boxed{B. dog}", None),
    (r"\boxed{2}", None),
    (r"So \boxed{x=3}. Answer: C", "C"),
    (r"<answer>\boxed{A}</answer>", "A"),
    ('<answer>{"answer": "A"}</answer>', "A"),
    ("<answer>B</answer>. The answer is C.", None),
    ('{"answer": "A"} {"answer": "B"}', None),
    ("<answer>A</answer> wait <answer>B</answer>", "B"),
]
LISTS = [
    ("A. dog\nB. cat\nC. bird\nD. fish\n\n**C**", "C"),
    ("A. dog\nB. cat\nC. bird\nD. fish", None),
    ("A. dog\nB. cat\nC. bird\nD. fish\n\nThe right one is not C.", None),
    ("A. dog\nB. cat\nC. bird\nD. fish\n\nB or C", None),
]
WORDED = [
    (r"\boxed{\boxed{B}}", "B"),
    (r"If it barked it would be \boxed{A}", None),
    (r"If the fur were red, \boxed{B} would be right", None),
    (r"Suppose it is \boxed{B}", None),
    (r"Could it be \boxed{B}?", None),
    ("If it meows, the answer is B", None),
    ("Had it barked, the answer would be A", None),
    ("If I had to choose, I'd choose B", "B"),
    ("hot dog", None),
    ("It is a bird house", None),
    ("Definitely cat", "B"),
    ("A dog and a cat", None),
    ("A dog with a bird", None),
    ("A dog", "A"),
    ("The user chose B", None),
    ("Her answer is A", None),
    ("The user thinks the answer is B", None),
    ("We choose B", "B"),
    (":D", None),
    ("D:", "D"),
    (r"C:\Users", None),
    ("The answer is not A but B", "B"),
    ("Not only A but B", None),
    ("B, not A", "B"),
    ("The answer is B. Just kidding, C.", None),
    ("The answer is B... or is it?", None),
    ("third", "C"),
    ("the second dog", None),
    ('{"reasoning": "The answer is A", "answer": "B"}', "B"),
    ('{"reasoning": "The answer is A', None),
    ("I would go for option (A)", "A"),
    ("I would not go for B", None),
    ("Option D fits best", "D"),
    ("Option D fits worst.", None),
    ("Does B fit best?", None),
    ("the last one", "D"),
    ("not the last one", None),
    ("the second one from the left", None),
    ("Answer is option number 2", "B"),
    ("Answer is option number 2.5", None),
    ("Option 5", None),
    ("~~A~~ B", "B"),
    ("My answer: B. Wait, no. C.", None),
    ("Answer: B\n\nCorrection: C", None),
    ("The answer is B, no, C.", None),
    ("C. S. Lewis", None),
    ("The answer is E.", None),
    ('Answer: {"A": 0.1, "B": 0.7, "C": 0.2}', None),
    ("Answer: (A) dog: wrong\n(B) cat: right", None),
]
ABROAD = [
    ("Ich wähle B", "B"),
    ("Ich wähle nicht B", None),
    ("Option B ist richtig.", "B"),
    ("Option B ist falsch.", None),
    ("Antwort: B (falsch)", None),
    ("Wenn es bellt, ist die Antwort A", None),
    ("La bonne réponse est l'option B", "B"),
    ("Je ne choisis pas B", None),
    ("La opción B es correcta", "B"),
    ("La opción B no es correcta", None),
    ("No elijo B", None),
    ("A opção B está correta", "B"),
    ("L'opzione B è corretta", "B"),
    ("Non scelgo B", None),
    ("Правильный ответ — B.", "B"),
    ("B — неправильный ответ", None),
    ("Wybieram B", "B"),
    ("Odpowiedź B jest niepoprawna", None),
    ("Doğru cevap B", "B"),
    ("Tôi chọn B", "B"),
    ("Tôi không chọn B", None),
    ("B입니다", "B"),
    ("B가 정답입니다", "B"),
    ("B는 정답이 아니다", None),
    ("Bを選びます", "B"),
    ("Bを選ばない", None),
    ("الإجابة الصحيحة هي B", "B"),
    ("الجواب ليس هو B", None),
    ("विकल्प B सही है", "B"),
    ("विकल्प B सही नहीं है", None),
    ("Antwort: C", "C"),
    ("Die Antwort ist nicht B.", None),
    ("Die richtige Antwort ist (B).", "B"),
    ("Antwort: A oder B", None),
    ("Réponse : D", "D"),
    ("La réponse n'est pas B.", None),
    ("La respuesta es la B", "B"),
    ("La respuesta no es B", None),
    ("La respuesta A es incorrecta", None),
    ("A resposta correta é D) peixe", "D"),
    ("Правильный ответ: B", "B"),
    ("Ответ не B", None),
    ("С другой стороны, это кошка", None),
    ("정답: B", "B"),
    ("정답은 B입니다.", "B"),
    ("정답은 B가 아닙니다.", None),
    ("答えはCです。", "C"),
    ("答えはCではありません。", None),
    ("Cevap D değil", None),
    ("Đáp án là C", "C"),
    ("คำตอบ: B", "B"),
]
OBJECTS = [
    ('{"reasoning": {"steps": ["The answer is A."]}, "answer": "B"}', "B"),
    ('{"reasoning": "Let {x} be. The answer is A.", "answer": "B"}', "B"),
    ('{"reasoning": "\\boxed{A}? The answer is A.", "answer": "\\boxed{B}"}', "B"),
    ('{"reasoning": "By \\(x\\) the answer is A", "answer": "B"}', "B"),
    ('{"reason": "One line\nthe answer is A", "answer": "B"}', "B"),
    ('```json\n{"thought": "the answer is A {", "final answer": "B. cat"}\n```', "B"),
    ('{"thinking": "The answer is A.", "response": "B"}', "B"),
    ('{"reasoning": "The answer is A.", "selected_option": "B"}', "B"),
    ('{"analysis": "The answer is A.", "final": "B"}', "B"),
    ('{"steps": [{"answer": "A"}, {"answer": "B"}], "answer": "B"}', "B"),
    ('{"reasoning": "The answer is A.", "answer": {"letter": "B"}}', "B"),
    ('{"reasoning": "It is A", "answer": "B"', "B"),
    ('{"reasoning": "The answer is A.", "answer":', None),
    ('{"reasoning": "The answer is A.", "answer": null}', None),
    ('{"reasoning": "The answer is A.", "answer": ["B", "C"]}', None),
    ('{"answer": "B"}\n{"answer": "C"}', None),
]
TAKEN_UP_AGAIN = [
    ("The answer is A. Wait, no, the ears are", None),
    ("So the answer is A. But let me double-check the whiskers", None),
    ("The answer could be A. Hmm, the ears", None),
    ("答案是A。不对，让我再检查一下，", None),
    ("所以答案应该是A。但是，等等，图中的耳朵", None),
    ("\\boxed{A}\n\nWait, let me look at the ears again. They", None),
    ("The answer is B. Let me verify: whiskers, yes.", "B"),
    ("The answer is B. Let me verify: 3 + 4 = 7.", "B"),
    ("答案是B。让我再检查一下：有胡须。", "B"),
    ("The answer is A. Wait, no. The answer is B.", "B"),
    ("The format is \\boxed{A}, for instance. The picture shows", None),
    ("Here is my thought process:\nThe answer is A. It", None),
    ("Here is my thought process:\nThe answer is A?\n\nHere is my response:\nB", "B"),
]
IN_CHINESE = [
    ("第2个", "B"),
    ("最后一个", "D"),
    ("第5个", None),
    ("如果它会叫，答案是A", None),
    ("【答案】C", "C"),
    ("【答案】D【解析】A是狗", "D"),
    ("【答案】B或C", None),
    ("第二个", "B"),
    ("第二个不对", None),
    ("应该是D吧", "D"),
    ("应该是D吗？", None),
    ("答：鸟", "C"),
    ("答：不是狗", None),
    ("答案：B（错误）", None),
]


@pytest.mark.parametrize(("prediction", "letter"), [*BOXES, *LISTS, *WORDED, *ABROAD])
def test_wrapped_listed_and_worded_answers(prediction, letter):
    decision = extract(prediction, ANIMALS)
    assert decision.letter == letter, decision.trail


@pytest.mark.parametrize(("prediction", "letter"), [*OBJECTS, *TAKEN_UP_AGAIN])
def test_thoughts_are_not_the_answer(prediction, letter):
    decision = extract(prediction, ANIMALS)
    assert decision.letter == letter, decision.trail


@pytest.mark.parametrize("form", ["{}", "<think>C</think>{}", "C</think><answer>{}</answer>"])
@pytest.mark.parametrize("options", [{"A": "D", "B": "A", "C": "B"}, {"A": "Why?", "B": "How?"}])
def test_a_label_before_its_own_text_is_read_alike_behind_thoughts(form, options):
    assert extract(form.format(f"A. {options['A']}"), options).letter == "A"


@pytest.mark.parametrize(("prediction", "letter"), IN_CHINESE)
def test_chinese_answers(prediction, letter):
    decision = extract(prediction, CHINESE)
    assert decision.letter == letter, decision.trail


@pytest.mark.parametrize(
    ("prediction", "options", "letter"),
    [
        ("No one", PEOPLE, "C"),
        ("neither", PEOPLE, "C"),
        ("I cannot tell", PEOPLE, None),
        ("none", COUNTS, "A"),
        ("There are none.", COUNTS, "A"),
        ("没有", COUNTS, "A"),
        ("not any", COUNTS, "A"),
        ("None of these", COUNTS, NONE),
        ("No, not sure", of("Yes", "No", "Not sure"), None),
        ("Yes/No", of("Yes", "No"), None),
        ("None of the above", COUNTS, NONE),
        ("None", of("0", "1", "None of the above"), None),
        ("none", of("two", "one", "zero"), "C"),
        ("Unanswerable", of("cat", "unanswerable"), "B"),
        ("Unanswerable", of("cat", "insufficient data"), None),
        ("No answer", of("cat", "blank"), None),
        ("None", ANIMALS, NONE),
        ("ANSWER: I don't know", ANIMALS, NONE),
        ("no idea", of("Yes", "No"), NONE),
        ("Nope", of("Yes", "No"), "B"),
        ("No. Yes, it is.", of("Yes", "No"), None),
        ("不对", of("对", "错"), "B"),
    ],
)
def test_words_that_decline_mean_an_option_where_there_is_one(prediction, options, letter):
    decision = extract(prediction, options)
    assert decision.letter == letter, decision.trail


@pytest.mark.parametrize(
    ("prediction", "options", "letter"),
    [
        ("A-", GROUPS, "B"),
        ("A−", GROUPS, "B"),
        ("The blood type is A-.", GROUPS, "B"),
        ("B-", GROUPS, None),
        ("A--", GROUPS, None),
        ("A positive", GROUPS, "A"),
        (r"\boxed{A^{-}}", GROUPS, "B"),
        ("C++11", LANGUAGES, None),
        ("C. C#", LANGUAGES, "C"),
        ("C. C++", LANGUAGES, None),
        ("A", GROUPS, None),
        ("A. A+", GROUPS, "A"),
        ("D", GROUPS, "D"),
        ("A-", GRADES, "C"),
        ("The grade is A-", GRADES, "C"),
        ("A*", of("A*", "A", "B", "C"), "A"),
        ("A", of("A*", "A", "B", "C"), None),
        ("C", LANGUAGES, None),
        ("The language is C.", LANGUAGES, None),
        ("C++", LANGUAGES, "A"),
        ("It is C#", LANGUAGES, "C"),
        ("Answer: A", GROUPS, None),
        ("C", of("D", "C", "B", "A"), "C"),
        ("Answer: the letter is B", of("D", "C", "B", "A"), None),
        ("Answer: cat", of("cat", "cat", "dog"), None),
    ],
)
def test_a_sign_behind_a_letter_belongs_to_the_answer(prediction, options, letter):
    decision = extract(prediction, options)
    assert decision.letter == letter, decision.trail


@pytest.mark.parametrize(
    ("prediction", "options", "letter"),
    [
        ("J", METALS, "J"),
        ("The answer is J (chrome).", METALS, "J"),
        ("(j) chrome", METALS, "J"),
        ("I or J", METALS, None),
        ("I don't know", METALS, NONE),
        ("I. cobalt", METALS, "I"),
        ("X", ALPHABET, "X"),
        ("Z. thing 25", ALPHABET, "Z"),
        ("I'm sorry, I can't help with that.", ALPHABET, None),
    ],
)
def test_more_than_nine_options(prediction, options, letter):
    decision = extract(prediction, options)
    assert decision.letter == letter, decision.trail


@pytest.mark.parametrize(
    ("prediction", "rule", "cuts"),
    [
        ("Error: 429 Too Many Requests", Rule.FAILED, []),
        ("<think>hm</think>Error: 429", Rule.FAILED, ["<think>"]),
        ("<think>It may be A", Rule.TORN, ["<think> without an end"]),
        ("<think>A</think>", Rule.EMPTY, ["<think>"]),
        ("", Rule.EMPTY, []),
    ],
)
def test_what_is_no_answer_is_unscored_under_its_own_name(prediction, rule, cuts):
    decision = extract(prediction, ANIMALS)
    assert (decision.rule, decision.letter, decision.step) == (rule, None, "failed")
    assert [clue.span for clue in decision.trail[:-1]] == cuts
    assert not decision.is_open, "no judge is asked what it means"


def test_an_error_that_is_an_option_is_an_answer():
    assert extract("Error: 429", of("Error: 404", "Error: 429")).letter == "B"


WRAPPERS = {
    "think": "<think>The answer is A. Or B?</think>{}",
    "Kimi": "◁think▷Maybe B◁/think▷\n{}",
    "Gemma": "<|channel>thought\nIt is B.<channel|>{}<turn|>",
    "harmony": "analysisIt is B.assistantfinal{}",
    "heading": "### Reasoning\nB has fur.\n### Final Answer\n{}",
    "GLM": "Look: A has fur. <|begin_of_box|>{}<|end_of_box|>",
    "LLaVA-CoT": "<REASONING>B?</REASONING><CONCLUSION>{}</CONCLUSION>",
    "end of turn": "{}<|im_end|>",
    "tags": "<answer>{}</answer>",
    "box": "\\boxed{{{}}}",
    "bold": "**{}**",
    "label": "Answer: {}",
    "sentence": "The answer is {}",
}


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_no_wrapper_makes_a_wrong_letter(data, wrapper, every):
    text = (data / "vectors" / "letters_2026.jsonl").read_text("utf-8")
    read = 0
    for row in map(json.loads, text.splitlines()[::every]):
        decision = extract(WRAPPERS[wrapper].format(row["prediction"]), row["options"])
        assert decision.letter in (None, NONE, row["letter"]), (row["id"], decision.trail)
        read += decision.letter == row["letter"] is not None
    assert read >= 350 // every


PERCENT = of("5%", "50%", "0.5%", "0.05%")
SIGNED = of("-3", "3", "0", "30")


@pytest.mark.parametrize(
    ("prediction", "options", "letter"),
    [
        (r"The answer is \boxed{B}, not \boxed{A}.", ANIMALS, "B"),
        (r"Not \boxed{A}", ANIMALS, None),
        (r"I do not think it is \boxed{A}.", ANIMALS, None),
        (r"\boxed{B} is wrong", ANIMALS, None),
        (r"-\boxed{3}", SIGNED, None),
        (r"\boxed{3}^2", SIGNED, None),
        (r"\sqrt{3}", SIGNED, None),
        ("10^{-3}", SIGNED, None),
        ("-(3)", SIGNED, None),
        ("log 3", SIGNED, None),
        ("3億", SIGNED, None),
        ("moins 3", SIGNED, "A"),
        ("menos 3", SIGNED, "A"),
        ("минус 3", SIGNED, "A"),
        ("マイナス3", SIGNED, "A"),
        ("5‰", PERCENT, None),
        ("1/2", PERCENT, None),
        ("0.5", PERCENT, None),
        ("0.05", PERCENT, None),
        ("5", PERCENT, "A"),
    ],
)
def test_what_is_denied_or_another_number_is_not_read(prediction, options, letter):
    assert extract(prediction, options).letter == letter


@pytest.mark.parametrize(
    "opening_and_closing",
    [
        ("<think>", r"<\/think>"),
        ("<thought_process>", "</thought_process>"),
        ("<chain_of_thought>", "</chain_of_thought>"),
        ("<begin_of_thought>", "<end_of_thought>"),
        ("<|thinking_start|>", "<|thinking_end|>"),
        ("[THOUGHT]", "[/THOUGHT]"),
        ("Thinking...\n", "\n...done thinking.\n"),
    ],
)
def test_more_reasoning_is_taken_off(opening_and_closing):
    opening, closing = opening_and_closing
    assert extract(f"{opening}The answer is A.{closing}B", ANIMALS).letter == "B"
    assert extract(f"{opening}The answer is A. Let me", ANIMALS).rule is Rule.TORN


YES_NO = of("Yes", "No")
TRUE_FALSE = of("True", "False")
COLOURS = of("Red", "Blue", "Green", "Yellow")
SIDES = of("left", "right", "in front", "behind")
WEATHER = of("sunny", "rainy", "cloudy", "snowy")
NUMBERS = of("1", "2", "3", "4")


@pytest.mark.parametrize(
    ("prediction", "options", "letter"),
    [
        ("Yes\n\nThe truck is larger.", YES_NO, "A"),
        ("**No**\n\nThe car is parked.", YES_NO, "B"),
        ("No — the lane is closed.", YES_NO, "B"),
        ("Yes (the bus is closer)", YES_NO, "A"),
        ("Based on the image, yes, there is one.", YES_NO, "A"),
        ("Yes\nNo", YES_NO, None),
        ("Yes, but no", YES_NO, None),
        ("No. 5", YES_NO, None),
        ("The statement is **false**.", TRUE_FALSE, "B"),
        ("It's true that the statement is false.", TRUE_FALSE, None),
        ("It's on the right", SIDES, "B"),
        ("turning to the right", of("Left", "Right"), "B"),
        ("Is that right?", SIDES, None),
        ("A black cat", ANIMALS, "B"),
        ("dog food", ANIMALS, None),
        ("hot dog", ANIMALS, None),
        ("Red color", COLOURS, "A"),
        ("red herring", COLOURS, None),
        ("less red", COLOURS, None),
        ("left side", SIDES, "A"),
        ("It is a sunny day.", WEATHER, "A"),
        ("There are four chairs.", NUMBERS, "D"),
        ("Three people.", NUMBERS, "C"),
        ("Only one.", NUMBERS, "A"),
        ("One of them is old.", NUMBERS, None),
        ("There are two dogs. One is brown.", NUMBERS, "B"),
        ("There appears to be one cat.", NUMBERS, "A"),
        ("Right lane", of("Left", "Right", "Straight"), "B"),
        ("Straight ahead.", of("Left", "Right", "Straight"), "C"),
        ("the one on the left", NUMBERS, None),
        ("two or three", NUMBERS, None),
        ("two hundred", NUMBERS, None),
        ("a three-legged dog", NUMBERS, None),
        ("One cup and two plates", NUMBERS, None),
    ],
)
def test_a_word_in_its_usual_phrase_is_read(prediction, options, letter):
    decision = extract(prediction, options)
    assert decision.letter == letter, decision.trail


RESISTORS = of("R", "R/2", "2R", "R/3")
POWERS = of("x", "2x", "x^2", "1/x")
SPEEDS = of("4 m/s", "8 m/s", "2 m/s", "16 m/s")
PLAIN_NUMBERS = of("5", "6", "8", "27")
ORDERS = of("O(n)", "O(n^2)", "O(log n)", "O(n log n)")
INTERVALS = of("[2, 5]", "(2, 5)", "[2, 5)", "(2, 5]")


@pytest.mark.parametrize(
    ("prediction", "options", "letter"),
    [
        (r"The resistance is $\frac{R}{2}$.", RESISTORS, "B"),
        (r"\boxed{\frac{R}{3}}", RESISTORS, "D"),
        (r"$\frac{2R}{3}$", RESISTORS, None),
        (r"The speed is $4 \cdot v$.", of("v", "2v", "v/2", "4v"), "D"),
        (r"\frac{1}{x}", POWERS, "D"),
        (r"$\sqrt{x}$", POWERS, None),
        (r"\ln x", POWERS, None),
        ("x + 1", POWERS, None),
        ("The answer is x + 1", POWERS, None),
        ("Answer: x + 1", of("x+1", "x-1", "x", "1"), None),
        ("|x|", POWERS, None),
        ("sin(x)", POWERS, None),
        ("The answer is x.", POWERS, "A"),
        ("B) 2x", POWERS, "B"),
        ("n(n-1)/2", of("n", "2n", "n^2", "n/2"), None),
        ("x - y", of("x", "y"), None),
        ("f'(x)", POWERS, None),
        ("negative x", POWERS, None),
        ("2 H2O", of("H2O", "CO2"), None),
        ("f(2, 3)", of("(2, 3)", "(3, 2)"), None),
        ("The point is (3, 2).", of("(2, 3)", "(3, 2)"), "B"),
        (r"\left(x\right)", POWERS, "A"),
        ("4 + 1 + 3 = 8", PLAIN_NUMBERS, "C"),
        ("There are 2 + 6 = 8 dogs.", PLAIN_NUMBERS, "C"),
        ("5 works: 6 + 2 = 8", PLAIN_NUMBERS, None),
        ("6 + 2 = 8 + x", PLAIN_NUMBERS, None),
        (r"\frac{1}{2} x", of("1/2", "1/4"), None),
        ("1/2 of 1/2", of("1/2", "1/4"), None),
        ("n!", of("n", "2n", "n^2", "n/2"), None),
        (r"\boxed{2\sqrt2}", of(r"\sqrt{2}", "2", r"2\sqrt{2}", "4"), "C"),
        ("1 - P(A)", of("P(A)", "P(B)"), None),
        ("α", of(r"\alpha", r"\beta"), "A"),
        (r"\boxed{30^\circ}", of("30°", "45°"), "A"),
        (r"\frac{16}{t}", SPEEDS, None),
        ("8 - x", SPEEDS, None),
        (r"8 \sin\theta", SPEEDS, None),
        ("8 m/s^2", SPEEDS, None),
        ("The speed is 8 m/s.", SPEEDS, "B"),
        ("9.8", of("9.8 kg/m^3", "98 kg/m^3"), "A"),
        ("log_3 27", PLAIN_NUMBERS, None),
        ("triple 5", PLAIN_NUMBERS, None),
        ("a third of 6", PLAIN_NUMBERS, None),
        ("f(5)", PLAIN_NUMBERS, None),
        ("8 (eight)", PLAIN_NUMBERS, "C"),
        (r"\boxed{O(n \log n)}", ORDERS, "D"),
        ("It runs in O(n) time.", ORDERS, "A"),
        ("[2,5)", INTERVALS, "C"),
        ("The interval is $(2, 5]$.", INTERVALS, "D"),
    ],
)
def test_an_operand_is_not_what_a_formula_says(prediction, options, letter):
    decision = extract(prediction, options)
    assert decision.letter == letter, decision.trail


COMPASS = of("north", "south", "east", "west")
COUPLE = of("the boy", "the girl", "the teacher", "both of them")
CHANGES = of("-5", "5", "10", "-10")
PAINTERS = of("Claude Monet", "Paul Cézanne", "Edgar Degas", "Auguste Renoir")


@pytest.mark.parametrize(
    ("prediction", "options", "letter"),
    [
        ("T", TRUE_FALSE, "A"),
        ("**F**", TRUE_FALSE, "B"),
        ("Answer: Y", YES_NO, "A"),
        ("n", YES_NO, "B"),
        ("E", COMPASS, "C"),
        ("N", of("north", "northeast", "east", "south"), None),
        ("S", of("Iron", "Gold", "Silver", "Copper"), None),
        ("B", COMPASS, "B"),
        ("E", ANIMALS, NONE),
        ("The car is red. Wait, no.", COLOURS, None),
        ("A green car is parked. The answer isn't green.", COLOURS, None),
        ("Red. I'm kidding.", COLOURS, None),
        ("The car is red. It waits.", COLOURS, "A"),
        ("The car is not red. It was red.", COLOURS, "A"),
        ("both the boy and a man", COUPLE, None),
        ("The boy. Both shoes are his.", of("the boy", "the girl"), "A"),
        ("the opposite of red", COLOURS, None),
        ("far from red", COLOURS, None),
        ("It used to be red.", COLOURS, None),
        ("the car next to the red one", COLOURS, None),
        ("The blue car is behind a green one.", COLOURS, None),
        ("It fell by 10.", CHANGES, None),
        ("It shrank by 10.", CHANGES, None),
        ("It rose by 10.", CHANGES, "C"),
        ("The result is 10.", CHANGES, "C"),
        ("It is red. That's wrong.", COLOURS, None),
        ("No, it isn't.", YES_NO, "B"),
        ("previously red", COLOURS, None),
        ("D", of("cat", "dog"), None),
        ("The temperature dropped to -10.", CHANGES, "D"),
        ("It fell by 10.", of("5", "10"), "B"),
        ("A. Renoir", PAINTERS, "D"),
        ("B. Renoir", PAINTERS, None),
        ("A. Monet", PAINTERS, "A"),
        ("A. Bear", of("bear", "Asiatic bear"), "A"),
        ("B. Left", of("top left", "left"), "B"),
        ("A. van Dyck", of("Titian", "Rubens", "Anthony van Dyck"), "C"),
        ("Route 27", PLAIN_NUMBERS, None),
        ("World War Two", NUMBERS, None),
        ("iPhone 4", NUMBERS, None),
        ("a one in four chance", NUMBERS, None),
        ("The second half of 6", PLAIN_NUMBERS, None),
        ("The car is red. Or is it blue?", COLOURS, None),
        ("Is the car red? I think so.", COLOURS, None),
        ("The bus stops in Room 8.", PLAIN_NUMBERS, None),
        ("Only 8 are left in Lane 3.", PLAIN_NUMBERS, "C"),
        ("Between 8 and 27", PLAIN_NUMBERS, None),
        ("Image A shows a red car; the car in image B is blue.", COLOURS, None),
        ("没有", YES_NO, "B"),
        ("没有", COUNTS, "A"),
        ("はい", YES_NO, "A"),
        ("Nein", YES_NO, "B"),
    ],
)
def test_what_means_something_else_is_not_read(prediction, options, letter):
    decision = extract(prediction, options)
    assert decision.letter == letter, decision.trail
