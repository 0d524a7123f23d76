"""Paper extraction: the rules of the papers' public tools for letters in free text, unchanged.

MMBench's step 1 takes a whole word that is a letter. OpenCompass, the tool that scored MMT-Bench, takes a token that is
a letter, then an option that is part of the text. Its toolkit of 2026 takes a token only near the end, and an option
only from a short text.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping

from scoring.multiple_choice.letters_alone import common_answer
from scoring.multiple_choice.named_options import AnswerText
from scoring.multiple_choice.plain_answers import without_long_runs
from scoring.multiple_choice.statements import instruction_to_reader, is_letter_denied
from scoring.multiple_choice.types import NONE, Clue, Decision, Rule, none_of

FAILURE = "Failed to obtain answer via API"
"""The public toolkit's text for a model's failed API."""
_WORD_MARKS = ".,:;!?()[]*\"'`"
"""MMBench 4.2 lists ".", "," and brackets, "etc."; braces, slashes and full-width marks are not stripped."""
_LETTERS_THAT_ARE_WORDS = ("A", "I")
"""Letters that are also words; the paper names only A: it has no option I."""
_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_WORD = re.compile(r"\S+")
_LAST_WORDS = 4
"""Words at the end of an answer that the toolkit of 2026 searches for a letter."""
_ANSWER_IS = re.compile(r"answer\s++is\s++\**+([A-D])", re.IGNORECASE)
_TOKEN_MARKS = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))


def mmbench_decision(prediction: str, options: Mapping[str, str]) -> Decision:
    """The only letter that is a word of the answer (MMBench, step 1); None leaves it to step 2.

    "A" and "I" count only alone. A letter that is denied, inside another option's content, or in an answer that
    addresses the reader is not extracted.
    """
    words = prediction.split()
    letters = {word.strip(_WORD_MARKS) for word in words} & options.keys()
    if len(letters) != 1:
        return _undecided(prediction)
    letter = letters.pop()
    if letter in _LETTERS_THAT_ARE_WORDS and len(words) > 1:
        return _undecided(prediction)
    span = next(word for word in words if word.strip(_WORD_MARKS) == letter)
    # The most common answers skip the slow checks, which would pass them.
    common = common_answer(prediction, options)
    is_sure = len(words) == 1 or (common is not None and common.letter == letter)
    if not is_sure and _is_excluded(AnswerText(without_long_runs(prediction), options), letter):
        return Decision(None, (Clue(Rule.CONFLICT, None, span),))
    return Decision(letter, (Clue(Rule.WORD, letter, span),))


def _is_excluded(answer: AnswerText, letter: str) -> bool:
    """Whether the letter is not the answer's choice: see `mmbench_decision`."""
    return (
        bool(instruction_to_reader(answer))
        or is_letter_denied(answer, letter)
        or _is_in_other_options(answer, letter)
    )


def _is_in_other_options(answer: AnswerText, letter: str) -> bool:
    """Whether the letter occurs only inside the texts of other options, as in "vitamin C"."""
    places = [
        word.start() + word[0].find(letter)
        for word in _WORD.finditer(answer.text)
        if word[0].strip(_WORD_MARKS) == letter
    ]
    if not places:
        # `AnswerText` has rewritten "B positive" as B+, since an option is a letter with a sign. B is no word any more,
        # and counts if its own option is affirmed.
        return letter not in answer.named_options.affirmed
    # A mention of one character is the letter itself.
    others = [
        mention
        for mention in answer.mentions
        if mention.letter != letter and mention.end - mention.start > 1
    ]
    for place in places:
        # Mentions are never nested: of those that start here or before, the last is also the last to end.
        started = bisect_right(others, place, key=lambda mention: mention.start)
        is_inside = started > 0 and place < others[started - 1].end
        if not is_inside:
            return False
    return True


def mmt_decision(prediction: str, options: Mapping[str, str]) -> Decision:
    """The letter by the OpenCompass tool that scored MMT-Bench, with its known errors."""
    clue = _token_clue(prediction, options) or _substring_clue(prediction, options)
    return Decision(clue.letter, (clue,)) if clue else _undecided(prediction)


def _token_clue(prediction: str, options: Mapping[str, str]) -> Clue | None:
    """The only option letter among the tokens; a known refusal, or else a lone Z, is none of the options."""
    if FAILURE in prediction:
        return None
    if refusal := _refusal(prediction):
        return Clue(Rule.REFUSAL, none_of(options), refusal)
    tokens = set(prediction.translate(_TOKEN_MARKS).split())
    letters = [letter for letter in options if letter in tokens]
    if not letters and NONE in tokens:
        return Clue(Rule.REFUSAL, NONE, NONE)
    if len(letters) != 1:
        return None
    return Clue(Rule.TOKEN, letters[0], letters[0])


def _refusal(prediction: str) -> str:
    """The first known refusal in an answer; "" without one."""
    return next((refusal for refusal in _REFUSALS if refusal in prediction), "")


def vlmevalkit_decision(prediction: str, options: Mapping[str, str]) -> Decision:
    """The letter by OpenCompass' tool since 2026 (VLMEvalKit e8e78f05), with its known errors.

    A letter after "answer is" is read inside words too: "the answer is because" is B.
    """
    clue = _late_token_clue(prediction, options)
    longest_text = 2 * sum(map(len, options.values()))
    # The toolkit measures the answer in lower case, where "İ" has two characters.
    if clue is None and len(prediction.lower()) <= longest_text:
        clue = _substring_clue(prediction, options)
    return Decision(clue.letter, (clue,)) if clue else _undecided(prediction)


def _late_token_clue(prediction: str, options: Mapping[str, str]) -> Clue | None:
    """The only option letter among the tokens if its first place is among the last four; else that of "answer is".

    A known refusal, or else a lone Z, is none of the options.
    """
    if FAILURE in prediction:
        return None
    if refusal := _refusal(prediction):
        return Clue(Rule.REFUSAL, NONE, refusal)  # the toolkit's Z, even if Z is an option
    tokens = prediction.translate(_TOKEN_MARKS).split()
    distinct_tokens = set(tokens)
    letters = [letter for letter in options if letter in distinct_tokens]
    if not letters and NONE in distinct_tokens:
        return Clue(Rule.REFUSAL, NONE, NONE)
    if len(letters) == 1 and tokens.index(letters[0]) >= len(tokens) - _LAST_WORDS:
        return Clue(Rule.TOKEN, letters[0], letters[0])
    statement = _ANSWER_IS.search(prediction)
    if statement and statement[1].upper() in options:
        return Clue(Rule.ANSWER_IS, statement[1].upper(), statement[0])
    return None


def _substring_clue(prediction: str, options: Mapping[str, str]) -> Clue | None:
    """The only option with its text anywhere in the answer, even inside a word."""
    lower = prediction.lower()
    letters = [letter for letter, text in options.items() if text.lower() in lower]
    if len(letters) != 1:
        return None
    return Clue(Rule.SUBSTRING, letters[0], options[letters[0]])


def _undecided(prediction: str) -> Decision:
    return Decision(None, (Clue(Rule.UNDECIDED, None, prediction[:200]),))
