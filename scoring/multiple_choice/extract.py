"""Answer extraction: an option's letter from free text, first by rules, then by a judge if they leave it open.

`extract` applies rules alone. `extraction` goes on to the judge with the prompt of MMBench 4.2, up to three times, and
then ends as its protocol does: MMBench assigns at random, MMT-Bench assigns none, ours stays undecided.
"""

import hashlib
import re
from collections.abc import Callable, Generator, Mapping
from typing import Generic, Literal, NamedTuple, TypeVar

from arena.inference.messages import ending
from scoring.judges.injection import neutralise
from scoring.judges.replies import LIKELY, NO_OPTION, ROOM, read_letter, shown
from scoring.judges.spec import Ask, JudgeSpec, Message, Reply, closed_schema, prompt_text
from scoring.multiple_choice.paper import mmbench_paper, mmt_paper
from scoring.multiple_choice.phrases import HAN
from scoring.multiple_choice.strict import strict
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


class Asked(NamedTuple, Generic[T]):
    """What a judge was asked until a reply could be read."""

    read: T | None
    """None if no reply could be read."""
    replies: tuple[str, ...]
    model: str
    """Name that the server gave the judge."""
    finish: str
    """Why the last reply ended."""


Language = Literal["English", "Chinese"]

ATTEMPTS = 3
"""Times the judge is asked about one answer."""
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
"""The paper's prompt, and our own Chinese translation of it, which is in no paper."""

_READINGS: Mapping[Protocol, Callable[[str, Mapping[str, str]], Decision]] = {
    "strict": strict,
    "mmbench-paper": mmbench_paper,
    "mmt-paper": mmt_paper,
}
_WORD = re.compile(r"\w+")
_REPLY = re.compile(
    r"[\s\"'`*(\[]*+(?:(?:your )?(?:output|answer|choice|option)\s*+(?:is|:)?\s*+[\"'`*(\[]*+)?([A-Z])[\"'`*)\].\s]*+",
    re.IGNORECASE,
)
_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?\{\s*\"choice\"\s*:\s*\"([A-Z])\"\s*\}(?:\s*```)?\s*")


def extract(prediction: str, options: Mapping[str, str], protocol: Protocol = "strict") -> Decision:
    """The result of the protocol's rules alone: an option's letter, `NONE`, or None if they are not sure."""
    return _READINGS[protocol](prediction, options)


def extraction(
    question: ChoiceQuestion, prediction: str, protocol: Protocol, spec: JudgeSpec
) -> Generator[Ask, Reply, Decision]:
    """Extract one letter, asking a judge if the rules are not sure; the caller raises a judge's failure."""
    decision = extract(prediction, question.options, protocol)
    if not decision.open:
        return decision
    return (yield from judged_letter(question, prediction, decision, protocol, spec))


def judged_letter(
    question: ChoiceQuestion,
    prediction: str,
    decision: Decision,
    protocol: Protocol,
    spec: JudgeSpec,
) -> Generator[Ask, Reply, Decision]:
    """Ask a judge about an answer that the rules left open with this decision."""
    ask = letter_ask(question, prediction, protocol == "strict", spec)
    read = read_strict if protocol == "strict" else read_reply
    letter, replies, model, finish = yield from asked(
        ask, lambda text, finish: read(text, question.options, finish)
    )
    if letter is None:
        clue = _left_over(question, protocol, replies[-1], finish)
    else:
        clue = _judged(decision, letter, replies[-1], question)
    return Decision(clue.letter, (*decision.trail, clue), replies, model)


def letter_ask(question: ChoiceQuestion, prediction: str, strictly: bool, spec: JudgeSpec) -> Ask:
    """The request for a letter, with the paper's prompt."""
    options = " ".join(f"{letter}. {text}" for letter, text in question.options.items())
    schema = (
        closed_schema("choice", "string", [*question.options, "X"]) if spec.json_schema else None
    )
    texts = {"question": question.text, "options": options}
    return closed_ask(PROMPTS[language(question)], prediction, strictly, schema, **texts)


def asked(
    ask: Ask, read: Callable[[str, str], T | None], attempts: int = ATTEMPTS
) -> Generator[Ask, Reply, Asked[T]]:
    """Ask until a reply and its finish reason can be read."""
    replies: list[str] = []
    found = None
    model = ""
    finish = ""
    while found is None and len(replies) < attempts:
        reply = yield ask
        replies.append(reply.texts[0] if reply.texts else "")
        finish = reply.finish[0] if reply.finish else "no reply"
        found = read(replies[-1], finish)
        model = reply.model
    return Asked(found, tuple(replies), model, finish)


def read_strict(text: str, options: Mapping[str, str], finish: str = "stop") -> str | None:
    """The letter that a reply gives, however it is wrapped: an option, or `NONE`; else None."""
    letter = read_letter(text, options, finish)
    return none_of(options) if letter == NO_OPTION else letter


def read_reply(text: str, options: Mapping[str, str], finish: str = "stop") -> str | None:
    """The letter that is the judge's whole reply: an option, or `NONE` for X (the paper's) or Z; else None."""
    found = _OBJECT.fullmatch(text) or _REPLY.fullmatch(text)
    if not found or ending(finish) == "filtered" or not found[1].isupper():
        return None
    letter = found[1]
    return letter if letter in options else none_of(options) if letter in "XZ" else None


def assigned(options: Mapping[str, str], index: int) -> str:
    """MMBench's last resort: an option or `NONE`, drawn by a seed and the question's index."""
    letters = [*dict.fromkeys([*options, NONE])]
    number = int.from_bytes(hashlib.sha256(f"{SEED}:{index}".encode()).digest()[:8], "big")
    return letters[number % len(letters)]


def language(question: ChoiceQuestion) -> Language:
    """The prompt's language: Chinese if the question has a Chinese character, as in public tools."""
    return "Chinese" if HAN.search(question.text) else "English"


def prompt_digest(of: Language = "English") -> str:
    """sha256 of a prompt; every report names it."""
    return hashlib.sha256(PROMPTS[of].encode()).hexdigest()


def closed_ask(
    template: str, prediction: str, strictly: bool, schema: str | None, **texts: object
) -> Ask:
    """The request for a mark or letter; ours has the answer on one line, where it cannot write the next example."""
    said = neutralise(prediction) if strictly else prediction
    message = Message("user", template.format(prediction=said, **texts))
    if strictly:
        return Ask((message,), 0.0, reply_tokens=ROOM, likely_tokens=LIKELY, schema=schema)
    return Ask((message,), 0.0, reply_tokens=16)


def _judged(decision: Decision, letter: str, reply: str, question: ChoiceQuestion) -> Clue:
    """The judge's letter, unless it is the one that the answer told the judge to give."""
    if (
        decision.rule is Rule.SPEAKS
        and letter in question.options
        and letter in _WORD.findall(decision.span)
    ):
        return Clue(Rule.OBEYED, None, reply[:200])
    return Clue(Rule.JUDGE, letter, reply[:200])


def _left_over(question: ChoiceQuestion, protocol: Protocol, last: str, finish: str) -> Clue:
    if protocol == "mmbench-paper":
        drawn = assigned(question.options, question.index)
        return Clue(Rule.RANDOM, drawn, f"seed {SEED}; the judge said {last!r:.80}")
    if protocol == "mmt-paper":
        return Clue(Rule.ASSIGNED_NONE, none_of(question.options), f"the judge said {last!r:.80}")
    return Clue(Rule.UNREAD, None, shown(last, finish) if ending(finish) == "cut" else last[:200])
