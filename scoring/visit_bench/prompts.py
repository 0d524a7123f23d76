"""VisIT-Bench prompts: what a judge is asked about two responses, in both orders, and how its verdict is read.

The paper (4.3, appendix F) prints the prompts; its code was never released. `paper` asks exactly that, and a reply
without a verdict even after the extraction prompt, which goes to the same judge not ChatGPT, is a tie. `hardened`
fences the responses off, marks every verdict in them, reads the last line only, and leaves the unreadable unscored.
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
_EXTRACT_TOKENS = 64
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
    """Two responses to judge, and how."""

    instance: Instance
    a: str
    b: str
    protocol: Protocol
    reference: ReferenceUse
    context: Context


def judging(contest: Contest, order: Order) -> Generator[Ask, Reply, Verdict]:
    """Ask which response is better, and once more what was meant if the reply has no verdict in the wanted form."""
    first, second = (contest.a, contest.b) if order == "a first" else (contest.b, contest.a)
    reply = yield Ask(conversation(contest, first, second), 0.0, _REPLY_TOKENS)
    said = reply.texts[0]
    replies = [said]
    place = read_verdict(said, contest.protocol)
    if place is None:
        reply = yield Ask(extraction(said), 0.0, _EXTRACT_TOKENS)
        replies.append(reply.texts[0])
        place = read_extraction(reply.texts[0], contest.protocol)
    if place:
        winner = "a" if (place == "first") == (order == "a first") else "b"
        return Verdict(winner, "", tuple(replies), reply.model)
    if contest.protocol == "paper":
        return Verdict(
            "tie", "no verdict, which the paper counts as a tie", tuple(replies), reply.model
        )
    return Verdict(
        None, f"the judge gave no verdict; it ended {said[-60:]!r}", tuple(replies), reply.model
    )


def conversation(contest: Contest, first: str, second: str) -> tuple[Message, ...]:
    instance = contest.instance
    hardened = contest.protocol == "hardened"
    if hardened:
        first = answer_of(first).text
        second = answer_of(second).text
    first, second = (text if text.strip() else NO_ANSWER for text in (first, second))
    if hardened:
        code = hashlib.sha256(
            json.dumps([instance.instruction, first, second]).encode()
        ).hexdigest()[:16]
        first = _fenced(first, code)
        second = _fenced(second, code)
    filled = {
        "context": _captions(instance),
        "instruction": instance.instruction,
        "a": first,
        "b": second,
    }
    if contest.reference == "backed":
        filled["reference"] = instance.reference or ""
    system, *others, last = _prompt(contest.reference, contest.context)
    if hardened:
        system = Message("system", f"{system.text}\n\n{_HARDENED}")
    shown = instance.pictures if contest.context == "images" else ()
    return (system, *others, Message("user", last.text.format(**filled), shown))


def extraction(said: str) -> tuple[Message, ...]:
    *before, last = _extraction()
    return (*before, Message("user", last.text.format(judgement=said)))


_MARKUP = r"[\s*_`\"'“”]"
_VERDICT = re.compile(
    rf"\boverall,{_MARKUP}*response{_MARKUP}+([AB]){_MARKUP}+is{_MARKUP}+better\b", re.IGNORECASE
)
_FINAL = re.compile(rf"\bfinal answer:{_MARKUP}*(.*)", re.IGNORECASE)
_BEHIND = r"(?:\s+\w+){0,2}\s+(?:not|worse|inferior|less|wrong|incorrect)\b"
_NAMED = re.compile(
    rf"{_MARKUP}*response{_MARKUP}+([AB]){_MARKUP}*(?:[,.;:]|is\b(?!{_BEHIND}))", re.IGNORECASE
)
_BARE = re.compile(
    rf"{_MARKUP}*(?:response{_MARKUP}+)?([AB])(?:{_MARKUP}+is{_MARKUP}+better)?[\s*_`\"'“”.]*",
    re.IGNORECASE,
)
_HEADED = re.compile(rf"\bresponse{_MARKUP}+([AB]){_MARKUP}*:", re.IGNORECASE)


def read_verdict(said: str, protocol: Protocol) -> Place | None:
    """The response named by the last "Overall, Response X is better."; `hardened` reads the last line alone."""
    if protocol == "hardened":
        said = answer_of(said).text.rpartition("\n")[2]
    found = _VERDICT.findall(said)
    return _PLACES[found[-1].upper()] if found else None


def read_extraction(said: str, protocol: Protocol) -> Place | None:
    """The response that an extraction calls better, as in the prompt's examples, or names alone; None for any other.

    `hardened` also reads a letter however it is wrapped.
    """
    if protocol == "paper":
        return _read_extraction(said)
    answer = answer_of(said).text
    named = _read_extraction(answer)
    several = len({letter.upper() for letter in _HEADED.findall(answer)}) > 1
    letter = None if several else _PLACES.get(read_letter(said, _RESPONSES) or "")
    return (named or letter) if None in (named, letter) or named == letter else None


def _read_extraction(said: str) -> Place | None:
    final = _FINAL.findall(said)
    answer = final[-1] if final else said
    if len({letter.upper() for letter in _HEADED.findall(answer)}) > 1:
        return None
    found = _BARE.fullmatch(answer) or _NAMED.match(answer)
    return _PLACES[found[1].upper()] if found else None


_LABEL = re.compile(
    r"\b((?:response|answer|option|candidate|choice|assistant|verdict|winner)s?(?:\s+is)?[^\w\n]{0,6})"
    r"([AB])\b(?!\s+(?!(?:is|was|wins?|better|beats)\b)[a-z])",
    re.IGNORECASE,
)
"""A letter after a word for a response; "Response a dog" has an article."""
_ALONE = re.compile(r"(?<=\[)[AB](?=\])|\b[AB](?=\s+(?:is\s+better|wins)\b)", re.IGNORECASE)


def marked(text: str) -> str:
    """The response with each letter that names a response marked as a letter: quoted, it is no verdict. Words stay."""
    return _ALONE.sub(r"[letter \g<0>]", _LABEL.sub(r"\1[letter \2]", text))


def prompt_digest(protocol: Protocol, reference: ReferenceUse, context: Context) -> str:
    """sha256 of all fixed text that is asked; every report names it."""
    fixed = [message.text for message in (*_prompt(reference, context), *_extraction())]
    return hashlib.sha256(
        "\0".join([*fixed, _HARDENED if protocol == "hardened" else ""]).encode()
    ).hexdigest()


def _fenced(text: str, code: str) -> str:
    """A response between lines with a code that it cannot contain, since its hash is the code; each line is marked."""
    lines = [marked(neutralise(line)) for line in text.splitlines()]
    return "\n".join([f"\nBEGIN {code}", *(f"> {line}" for line in lines), f"END {code}"])


def _captions(instance: Instance) -> str:
    """The captions as image context; the paper does not say how it joined several."""
    if not instance.multi:
        return instance.captions[0]
    return "\n".join(
        f"Image {number}: {caption}" for number, caption in enumerate(instance.captions, start=1)
    )


@cache
def _prompt(reference: ReferenceUse, context: Context) -> tuple[Message, ...]:
    return _conversation(f"visit_bench_{'images_' if context == 'images' else ''}{reference}.txt")


@cache
def _extraction() -> tuple[Message, ...]:
    return _conversation("visit_bench_extract.txt")


def _conversation(name: str) -> tuple[Message, ...]:
    _, *parts = _ROLE.split(prompt_text(name))
    roles = cast(list[Role], parts[::2])
    texts = (text.removesuffix("\n") for text in parts[1::2])
    return tuple(map(Message, roles, texts))
