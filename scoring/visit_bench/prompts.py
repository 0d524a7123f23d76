"""VisIT-Bench prompts: the questions to a judge about two responses, in both orders, and the reading of its verdict.

The paper (4.3, appendix F) prints the prompts; its code was never released. `paper` sends exactly these. A reply
without a verdict even after the extraction prompt, which goes to the same judge instead of ChatGPT, is a tie.
`hardened` fences the responses off, marks every verdict in them, reads the last line only, and leaves unreadable
replies unscored.
"""

import hashlib
import json
import re
from collections.abc import Generator, Mapping
from functools import cache
from typing import Literal, NamedTuple, cast, get_args

from arena.reasoning import answer_of
from scoring.judges.injection import neutralise
from scoring.judges.replies import read_letter
from scoring.judges.spec import Ask, Message, Reply, Role, prompt_text
from scoring.report import Protocol
from scoring.visit_bench.matches import NO_ANSWER, Context, Instance, ReferenceUse, Verdict

_HARDENED = prompt_text("visit_bench_hardened.txt").strip()
_ROLE = re.compile(r"^\[(system|user|assistant)\]\n", re.MULTILINE)
_REPLY_TOKENS = 1024
"""Most tokens of a judgement."""
_EXTRACT_TOKENS = 64
"""Most tokens of a reply to the extraction prompt."""
PARSERS: Mapping[Protocol, str] = {
    "paper": "visit-bench last verdict 3",
    "hardened": "visit-bench last line 3",
}
"""Name and version of each protocol's parser."""

Order = Literal["a first", "b first"]
ORDERS: tuple[Order, ...] = get_args(Order)
Place = Literal["first", "second"]
_PLACES: Mapping[str, Place] = {"A": "first", "B": "second"}
_RESPONSES: Mapping[str, str] = {"A": "Response A", "B": "Response B"}


class Contest(NamedTuple):
    """Two responses to judge, and the protocol and material to judge them by."""

    instance: Instance
    a: str
    b: str
    protocol: Protocol
    reference: ReferenceUse
    context: Context


def judging(contest: Contest, order: Order) -> Generator[Ask, Reply, Verdict]:
    """Asks which response is better, and asks again for the verdict alone if the reply has none in the wanted form."""
    is_a_first = order == "a first"
    first = contest.a if is_a_first else contest.b
    second = contest.b if is_a_first else contest.a
    reply = yield Ask(conversation(contest, first, second), 0.0, _REPLY_TOKENS)
    judgement = reply.texts[0]
    replies = [judgement]
    place = read_verdict(judgement, contest.protocol)
    if place is None:
        reply = yield Ask(extraction(judgement), 0.0, _EXTRACT_TOKENS)
        replies.append(reply.texts[0])
        place = read_extraction(reply.texts[0], contest.protocol)
    if place:
        winner = "a" if (place == "first") == is_a_first else "b"
        return Verdict(winner, "", tuple(replies), reply.model)
    if contest.protocol == "paper":
        reason = "no verdict, which the paper counts as a tie"
        return Verdict("tie", reason, tuple(replies), reply.model)
    reason = f"the judge gave no verdict; it ended {judgement[-60:]!r}"
    return Verdict(None, reason, tuple(replies), reply.model)


def conversation(contest: Contest, first: str, second: str) -> tuple[Message, ...]:
    """The messages that ask for a verdict on two responses, in this order."""
    instance = contest.instance
    is_hardened = contest.protocol == "hardened"
    texts = [_shown_response(response, is_hardened) for response in (first, second)]
    if is_hardened:
        content = json.dumps([instance.instruction, *texts])
        code = hashlib.sha256(content.encode()).hexdigest()[:16]
        texts = [_fenced_response(text, code) for text in texts]
    fields = {
        "context": _captions(instance),
        "instruction": instance.instruction,
        "a": texts[0],
        "b": texts[1],
    }
    if contest.reference == "backed":
        fields["reference"] = instance.reference or ""
    system, *others, last = _prompt_messages(contest.reference, contest.context)
    if is_hardened:
        system = Message("system", f"{system.text}\n\n{_HARDENED}")
    pictures = instance.pictures if contest.context == "images" else ()
    return (system, *others, Message("user", last.text.format(**fields), pictures))


def _shown_response(response: str, is_hardened: bool) -> str:
    """A response as the judge reads it: `hardened` leaves out its reasoning, and an empty one says so."""
    text = answer_of(response).text if is_hardened else response
    return text if text.strip() else NO_ANSWER


def extraction(judgement: str) -> tuple[Message, ...]:
    """The messages that ask for the verdict in a judge's reply."""
    *examples, last = _extraction_messages()
    return (*examples, Message("user", last.text.format(judgement=judgement)))


_MARKUP = r"[\s*_`\"'“”]"
_VERDICT = re.compile(
    rf"\boverall,{_MARKUP}*response{_MARKUP}+([AB]){_MARKUP}+is{_MARKUP}+better\b", re.IGNORECASE
)
"""The sentence that the prompt asks for."""
_FINAL_ANSWER = re.compile(rf"\bfinal answer:{_MARKUP}*(.*)", re.IGNORECASE)
_DENIAL = r"(?:\s+\w+){0,2}\s+(?:not|worse|inferior|less|wrong|incorrect)\b"
"""Words behind "is" that make a named response the worse one."""
_NAMED_FIRST = re.compile(
    rf"{_MARKUP}*response{_MARKUP}+([AB]){_MARKUP}*(?:[,.;:]|is\b(?!{_DENIAL}))", re.IGNORECASE
)
"""A text that begins with the better response: "Response A, as ..."."""
_ONLY_LETTER = re.compile(
    rf"{_MARKUP}*(?:response{_MARKUP}+)?([AB])(?:{_MARKUP}+is{_MARKUP}+better)?[\s*_`\"'“”.]*",
    re.IGNORECASE,
)
"""A text that is the better response alone, or "Response A is better."."""
_HEADING = re.compile(rf"\bresponse{_MARKUP}+([AB]){_MARKUP}*:", re.IGNORECASE)


def read_verdict(judgement: str, protocol: Protocol) -> Place | None:
    """The response named by the last "Overall, Response X is better."; `hardened` reads the last line alone."""
    if protocol == "hardened":
        judgement = answer_of(judgement).text.rpartition("\n")[2]
    verdicts = _VERDICT.findall(judgement)
    return _PLACES[verdicts[-1].upper()] if verdicts else None


def read_extraction(reply: str, protocol: Protocol) -> Place | None:
    """The response that an extraction names, alone or as the better one, as in the prompt's examples; else None.

    `hardened` also reads a letter with other words around it. Two readings that contradict each other are None.
    """
    if protocol == "paper":
        return _read_extraction(reply)
    answer = answer_of(reply).text
    place = _read_extraction(answer)
    if _has_both_headings(answer):  # the letters of headings are no verdict
        return place
    place_of_letter = _PLACES.get(read_letter(reply, _RESPONSES) or "")
    if place and place_of_letter and place != place_of_letter:
        return None
    return place or place_of_letter


def _read_extraction(text: str) -> Place | None:
    """The response that a text calls better, after its last "final answer:" if it has one."""
    final = _FINAL_ANSWER.findall(text)
    answer = final[-1] if final else text
    if _has_both_headings(answer):
        return None
    letter = _ONLY_LETTER.fullmatch(answer) or _NAMED_FIRST.match(answer)
    return _PLACES[letter[1].upper()] if letter else None


def _has_both_headings(text: str) -> bool:
    """Whether a text has headings for both responses, such as "Response A:"."""
    return len({letter.upper() for letter in _HEADING.findall(text)}) > 1


_LABELLED_LETTER = re.compile(
    r"\b((?:response|answer|option|candidate|choice|assistant|verdict|winner)s?(?:\s+is)?[^\w\n]{0,6})"
    r"([AB])\b(?!\s+(?!(?:is|was|wins?|better|beats)\b)[a-z])",
    re.IGNORECASE,
)
"""A letter after a word for a response, as in "Response A:" or "Response A wins".

Before any other word than "wins" and its like, it isn't marked: in "Response a dog", a is an article.
"""
_LETTER_AS_VERDICT = re.compile(
    r"(?<=\[)[AB](?=\])|\b[AB](?=\s+(?:is\s+better|wins)\b)", re.IGNORECASE
)


def mark_letters(text: str) -> str:
    """The text with each letter for a response marked, as "Response [letter A]", so that quoting it is no verdict."""
    return _LETTER_AS_VERDICT.sub(r"[letter \g<0>]", _LABELLED_LETTER.sub(r"\1[letter \2]", text))


def prompt_digest(protocol: Protocol, reference: ReferenceUse, context: Context) -> str:
    """sha256 of the texts of the prompts' files; every report names it."""
    texts = [
        message.text for message in (*_prompt_messages(reference, context), *_extraction_messages())
    ]
    texts.append(_HARDENED if protocol == "hardened" else "")
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _fenced_response(text: str, code: str) -> str:
    """A response between lines with a code, a hash that it can't contain. Each of its own lines is marked."""
    lines = [mark_letters(neutralise(line)) for line in text.splitlines()]
    return "\n".join([f"\nBEGIN {code}", *(f"> {line}" for line in lines), f"END {code}"])


def _captions(instance: Instance) -> str:
    """The captions as image context, joined in our way: the paper does not say how it joined several."""
    if not instance.multi:
        return instance.captions[0]
    return "\n".join(
        f"Image {number}: {caption}" for number, caption in enumerate(instance.captions, start=1)
    )


@cache
def _prompt_messages(reference: ReferenceUse, context: Context) -> tuple[Message, ...]:
    if context == "images":
        return _read_messages(f"visit_bench_images_{reference}.txt")
    return _read_messages(f"visit_bench_{reference}.txt")


@cache
def _extraction_messages() -> tuple[Message, ...]:
    return _read_messages("visit_bench_extract.txt")


def _read_messages(name: str) -> tuple[Message, ...]:
    """The messages of a prompt's file, each behind a line with its role in brackets."""
    _, *parts = _ROLE.split(prompt_text(name))  # roles and texts take turns
    roles = cast(list[Role], parts[::2])
    texts = [text.removesuffix("\n") for text in parts[1::2]]
    return tuple(map(Message, roles, texts))
