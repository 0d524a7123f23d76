"""Answer extraction: an option's letter from free text, first by rules, then by a judge if they leave it open.

`extract` applies rules alone. `extract_with_judge` continues with the judge, up to three times with the prompt of
MMBench 4.2. Without a readable reply it ends by its protocol: MMBench assigns at random, MMT-Bench assigns none, ours
stays undecided.
"""

import hashlib
import re
from collections.abc import Callable, Generator, Mapping
from typing import Generic, Literal, NamedTuple, TypeVar

from arena.inference.messages import ending
from scoring.judges.injection import neutralise
from scoring.judges.replies import LIKELY, NO_OPTION, ROOM, quote_reply, read_letter
from scoring.judges.spec import Ask, JudgeSpec, Message, Reply, closed_schema, prompt_text
from scoring.multiple_choice.paper import mmbench_decision, mmt_decision
from scoring.multiple_choice.phrases import HAN
from scoring.multiple_choice.strict import strict_decision
from scoring.multiple_choice.types import (
    NONE,
    ChoiceQuestion,
    Clue,
    Decision,
    Protocol,
    Rule,
    none_of,
)

T = TypeVar("T")


class JudgeReading(NamedTuple, Generic[T]):
    """The reading of a judge's replies, asked until one could be read."""

    read: T | None
    """None if no reply could be read."""
    replies: tuple[str, ...]
    model: str
    """The judge's name, from the server."""
    finish: str
    """The finish reason of the last reply."""


Language = Literal["English", "Chinese"]

ATTEMPTS = 3
"""Most requests to the judge about one answer."""
SEED = 2680
"""Seed of MMBench's random assignment, the number that public tools use; reports print it."""
PARSERS: Mapping[Protocol, str] = {
    "strict": "judge letter 1",
    "mmbench-paper": "closed letter 1",
    "mmt-paper": "closed letter 1",
}
"""Name and version of each protocol's parser of the judge's replies."""

PROMPTS: Mapping[Language, str] = {
    "English": prompt_text("mmbench_extract.txt"),
    "Chinese": prompt_text("mmbench_extract_our_chinese.txt"),
}
"""The paper's prompt, and our own Chinese translation of it."""

_RULES: Mapping[Protocol, Callable[[str, Mapping[str, str]], Decision]] = {
    "strict": strict_decision,
    "mmbench-paper": mmbench_decision,
    "mmt-paper": mmt_decision,
}
_PAPER_TOKENS = 16
"""Tokens for a reply to the paper's prompt: one letter."""
_WORD = re.compile(r"\w+")
_LETTER_REPLY = re.compile(
    r"[\s\"'`*(\[]*+(?:(?:your )?(?:output|answer|choice|option)\s*+(?:is|:)?\s*+[\"'`*(\[]*+)?([A-Z])[\"'`*)\].\s]*+",
    re.IGNORECASE,
)
_JSON_REPLY = re.compile(
    r"\s*(?:```(?:json)?\s*)?\{\s*\"choice\"\s*:\s*\"([A-Z])\"\s*\}(?:\s*```)?\s*"
)


def extract(prediction: str, options: Mapping[str, str], protocol: Protocol = "strict") -> Decision:
    """The decision of the protocol's rules alone; its letter is an option's, `NONE`, or None if they are not sure."""
    return _RULES[protocol](prediction, options)


def extract_with_judge(
    question: ChoiceQuestion, prediction: str, protocol: Protocol, spec: JudgeSpec
) -> Generator[Ask, Reply, Decision]:
    """Extracts one letter, asking a judge if the rules are not sure.

    The caller sends each request to the judge, and raises the judge's failures.
    """
    decision = extract(prediction, question.options, protocol)
    if not decision.is_open:
        return decision
    return (yield from ask_for_letter(question, prediction, decision, protocol, spec))


def ask_for_letter(
    question: ChoiceQuestion,
    prediction: str,
    decision: Decision,
    protocol: Protocol,
    spec: JudgeSpec,
) -> Generator[Ask, Reply, Decision]:
    """Asks a judge about an answer that the rules left open with this decision."""
    is_strict = protocol == "strict"
    read_letter_of = read_strict if is_strict else read_reply
    reading = yield from ask_until_read(
        letter_request(question, prediction, is_strict, spec),
        lambda text, finish: read_letter_of(text, question.options, finish),
    )
    last_reply = reading.replies[-1]
    if reading.read is None:
        clue = _unread_clue(question, protocol, last_reply, reading.finish)
    else:
        clue = _judge_clue(decision, reading.read, last_reply, question)
    return Decision(clue.letter, (*decision.trail, clue), reading.replies, reading.model)


def letter_request(
    question: ChoiceQuestion, prediction: str, is_strict: bool, spec: JudgeSpec
) -> Ask:
    """The request for a letter, with the paper's prompt."""
    options = " ".join(f"{letter}. {text}" for letter, text in question.options.items())
    schema = None
    if spec.json_schema:
        letters = dict.fromkeys([*question.options, "X"])
        schema = closed_schema("choice", "string", [*letters])
    texts = {"question": question.text, "options": options}
    return judge_request(PROMPTS[language(question)], prediction, is_strict, schema, **texts)


def ask_until_read(
    ask: Ask, read: Callable[[str, str], T | None], attempts: int = ATTEMPTS
) -> Generator[Ask, Reply, JudgeReading[T]]:
    """Asks until `read` can read a reply and its finish reason, at most `attempts` times."""
    replies: list[str] = []
    reading = None
    model = ""
    finish = ""
    while reading is None and len(replies) < attempts:
        reply = yield ask
        replies.append(reply.texts[0] if reply.texts else "")
        finish = reply.finish[0] if reply.finish else "no reply"
        reading = read(replies[-1], finish)
        model = reply.model
    return JudgeReading(reading, tuple(replies), model, finish)


def read_strict(text: str, options: Mapping[str, str], finish: str = "stop") -> str | None:
    """The letter in a reply, in any wrapping: an option, or `NONE`; None if it can't be read."""
    letter = read_letter(text, options, finish)
    return none_of(options) if letter == NO_OPTION else letter


def read_reply(text: str, options: Mapping[str, str], finish: str = "stop") -> str | None:
    """The letter that is the judge's whole reply: an option, or `NONE` for X (the paper's) or Z.

    None if it can't be read.
    """
    match = _JSON_REPLY.fullmatch(text) or _LETTER_REPLY.fullmatch(text)
    if not match or ending(finish) == "filtered" or not match[1].isupper():
        return None
    letter = match[1]
    if letter in options:
        return letter
    return none_of(options) if letter in "XZ" else None


def random_letter(options: Mapping[str, str], index: int) -> str:
    """MMBench's last resort: an option or `NONE`, drawn by a seed and the question's index."""
    letters = [*options] if NONE in options else [*options, NONE]
    number = int.from_bytes(hashlib.sha256(f"{SEED}:{index}".encode()).digest()[:8], "big")
    return letters[number % len(letters)]


def language(question: ChoiceQuestion) -> Language:
    """The prompt's language: Chinese if the question has a Chinese character, as in public tools."""
    return "Chinese" if HAN.search(question.text) else "English"


def prompt_digest(language: Language = "English") -> str:
    """sha256 of a language's prompt; every report names it."""
    return hashlib.sha256(PROMPTS[language].encode()).hexdigest()


def judge_request(
    template: str, prediction: str, is_strict: bool, schema: str | None, **texts: object
) -> Ask:
    """The request for a letter or a copied answer, with the texts that the template names.

    A strict one has the prediction on one line, so that it cannot imitate an example.
    """
    text = neutralise(prediction) if is_strict else prediction
    message = Message("user", template.format(prediction=text, **texts))
    if is_strict:
        return Ask((message,), reply_tokens=ROOM, likely_tokens=LIKELY, schema=schema)
    return Ask((message,), reply_tokens=_PAPER_TOKENS)


def _judge_clue(decision: Decision, letter: str, reply: str, question: ChoiceQuestion) -> Clue:
    """The judge's letter as a clue, without the letter if the answer instructed the judge to give it."""
    is_demanded = letter in question.options and letter in _WORD.findall(decision.span)
    if decision.rule is Rule.SPEAKS and is_demanded:
        return Clue(Rule.OBEYED, None, reply[:200])
    return Clue(Rule.JUDGE, letter, reply[:200])


def _unread_clue(question: ChoiceQuestion, protocol: Protocol, last: str, finish: str) -> Clue:
    """The protocol's last clue if no reply of the judge could be read."""
    if protocol == "mmbench-paper":
        letter = random_letter(question.options, question.index)
        return Clue(Rule.RANDOM, letter, f"seed {SEED}; the judge said {last!r:.80}")
    if protocol == "mmt-paper":
        return Clue(Rule.ASSIGNED_NONE, none_of(question.options), f"the judge said {last!r:.80}")
    span = quote_reply(last, finish) if ending(finish) == "cut" else last[:200]
    return Clue(Rule.UNREAD, None, span)
