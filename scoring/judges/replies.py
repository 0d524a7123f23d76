"""Judges' replies: the score on a scale, or the letter of an option, that a reply gives.

A judge may think aloud, explain itself, and wrap its answer in JSON, a fence, a box, a tag or bold type. All places
that claim to be the answer are collected, and a reply is read if they agree. A number or letter inside an explanation
is not a claim. Doubt makes a reply unreadable: a wrong score is worse than none.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

from arena.inference.messages import ending
from arena.reasoning import answer_of

T = TypeVar("T")

NO_OPTION = "none"
"""The letter of a reply that no option fits: `X` in MMBench's prompt, or `Z` in MMT-Bench's."""
ROOM = 256
"""Tokens for a judge's score or letter, enough for an explanation."""
LIKELY = 8
"""Tokens that most judges use."""


@dataclass(frozen=True)
class Scale:
    """Scores that a judge may give, both ends included."""

    low: float
    high: float
    step: float | None = None
    """The distance between scores, from the lowest on; None for any number between the ends."""

    def score(self, number: float, out_of: float | None = None) -> float | None:
        """The score of a number, or of a number out of a maximum; None outside the scale."""
        if not self.low <= number <= self.high or not self._is_step(number):
            return None
        if out_of is not None and out_of != self.high:
            return None
        return number + 0.0  # makes -0.0 a plain 0.0

    def _is_step(self, number: float) -> bool:
        if self.step is None:
            return True
        steps = (number - self.low) / self.step
        return abs(steps - round(steps)) < 1e-9


class _Claim(NamedTuple, Generic[T]):
    """A place of a reply that claims to be the answer."""

    value: T | None
    """None for an unreadable claim: out of the scale, or two values at once."""
    start: int
    end: int


def read_score(reply: str, scale: Scale, finish: str = "stop") -> float | None:
    """The score in a reply; None if it gives none, several, or a score outside the scale."""
    text = _plain_answer(reply, finish)
    return _common_value(text, list(_score_claims(text, scale)), finish)


def read_letter(reply: str, options: Mapping[str, str], finish: str = "stop") -> str | None:
    """The letter in a reply: an option's, or `NO_OPTION` for X or Z; None if it gives none, or several."""
    text = _plain_answer(reply, finish)
    plain_options = {letter: _plain_characters(option) for letter, option in options.items()}
    return _common_value(text, list(_letter_claims(text, plain_options)), finish)


def quote_reply(reply: str, finish: str = "stop") -> str:
    """The end of an unreadable reply in quotes, with a note if the reply was cut short."""
    is_cut = ending(finish) == "cut" or answer_of(reply).is_endless
    note = " (cut short: it used up its room)" if is_cut else ""
    return f"{reply[-_MOST_QUOTED:]!r}{note}"


# Full-width and typographic characters, by the ASCII character that patterns expect.
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_WIDE |= dict.fromkeys((0xA0, 0x2009, 0x202F, 0x3000), " ")
_WIDE |= dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2015, 0x2212), "-")
_WIDE |= dict.fromkeys((0x2044, 0x2215), "/")
_WIDE |= {0x3010: "[", 0x3011: "]", 0x301C: "~"}
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$", re.MULTILINE)
_LATEX = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|textrm)\s?\{([^{}\n]{0,80})\}")
_RETHINKS = re.compile(
    r"\b(?:wait|hmm|on second thought|on reflection|re-?consider|re-?evaluat\w{1,5}|correction|scratch that)\b"
    # "actually, it's B"
    r"|\bactually,?[ \t](?:it['’]s[ \t]|it[ \t]is[ \t])?(?-i:[A-Z])(?!\w)|等等|不对|重新考虑"
    # "Actually, 0.5 fits better." at the start of a sentence
    r"|(?:(?<=[.!?;]\s)|(?<=\n))actually,?[ \t](?:it['’]s[ \t]|it[ \t]is[ \t])?\.?[0-9]{1,20}+(?:[.,][0-9]{1,20}+)?+"
    r"(?=[ \t](?:is|seems|fits|would)\b|[.!,;]|[ \t]*+(?:\n|\Z))",
    re.IGNORECASE,
)
"""Words of second thoughts."""
_SUPPOSES = re.compile(
    r"^\W{0,4}(?:had|were)\b|\b(?:if|unless|otherwise|example|e\.g|perfect|ideal|would have|could have)\b"
    r"|如果|假如|例如",
    re.IGNORECASE,
)
"""Words that make a statement hypothetical."""
_DENIES = re.compile(
    r"\b(?:not|never|cannot|instead of|rather than|neither|nor)\b|n['’]t\b|不是|并非", re.IGNORECASE
)
"""Words that deny a statement."""
_REJECTS = re.compile(
    r"\b(?:wrong|incorrect|false|worst|other|previous|second[ -]best|least(?:[ \t]\w{1,20})?)[ \t]\Z"
    r"|不(?:应该?|能|会|要|可)?\Z",
    re.IGNORECASE,
)
"""Words that reject the answer after them."""
_CONCLUDES = re.compile(r"\b(?:so|therefore|thus|hence|accordingly)\b|因此|所以", re.IGNORECASE)
_CLAUSE_BREAK = re.compile(r"[,;，；]|\b(?:and|but)\b")
_MOST_QUOTED = 80
"""Characters of a reply's end that are quoted."""
_SENTENCE_BREAK = re.compile(r"[.!?。！？]\s|\n")
_BEFORE = 300
"""Characters before a claim to search for the start of its sentence."""


def _plain_answer(reply: str, finish: str) -> str:
    """The reply's text after its reasoning, in plain characters; "" for a filtered reply."""
    if ending(finish) == "filtered":
        return ""
    text = _plain_characters(answer_of(reply).text)
    return _FENCE.sub("", text).strip()


def _plain_characters(text: str) -> str:
    """The text with ASCII characters for wide ones, and without LaTeX's commands for fonts.

    Options are compared with the reply in this form.
    """
    return _LATEX.sub(r"\1", text.translate(_WIDE))


def _common_value(text: str, claims: list[_Claim[T]], finish: str) -> T | None:
    """The common value of all claims; None if they differ, one is unreadable, or the reply has second thoughts."""
    if not claims or any(claim.value is None for claim in claims):
        return None
    first = min(claims, key=lambda claim: claim.start)
    last = max(claim.end for claim in claims)
    if any(claim.value != first.value for claim in claims) or _RETHINKS.search(text, last):
        return None
    if ending(finish) != "whole" and not _is_whole(text, first):
        return None
    return first.value


def _claim_of_all(claim: _Claim[T], inside: str, claims: Iterator[_Claim[T]]) -> _Claim[T]:
    """The claim of a tag or box; unreadable unless all that is inside, read as a reply, says the same."""
    value = _common_value(inside, list(claims), "stop")
    return claim if claim.value == value else claim._replace(value=None)


def _is_whole(text: str, claim: _Claim[Any]) -> bool:
    """Whether a claim in a reply that was cut short is complete, and comes before any explanation."""
    before = text[: claim.start]
    after = text[claim.end :].strip(" .*_`")
    return bool(after) and len(before) <= _BEFORE and not _SENTENCE_BREAK.search(before)


def _is_denied_or_supposed(text: str, start: int) -> bool:
    """Whether a claim is hypothetical, denied or rejected by the words before it in its own sentence."""
    sentence = _SENTENCE_BREAK.split(text[max(0, start - _BEFORE) : start])[-1]
    argument = _CONCLUDES.split(sentence)[-1]
    clause = _CLAUSE_BREAK.split(argument)[-1]
    return bool(_SUPPOSES.search(argument) or _DENIES.search(clause) or _REJECTS.search(clause))


# Quotes, brackets and emphasis around a number or letter. `_OPEN_IN_LINE` has no line break.
_OPEN = r"[\s*_`\"'“‘(\[{$>|#]"
_AHEAD = r"(?:[\s*_`\"'“‘(\[{$|]|#(?=[#\s]))"
"""The same before a number, without `>`, and with `#` only as the mark of a heading: "#1" is a place, not a score."""
_OPEN_IN_LINE = r"[ \t*_`\"'“‘(\[{$]"
_CLOSE = r"[*_`\"'”’)\]}$|]"
_NUMBER = (
    r"[+-]?(?:[0-9]{1,20}+(?:[.,][0-9]{1,20}+)?+|\.[0-9]{1,20}+)(?!_{0,4}[^\W_分]|[.,·'’][0-9])"
)
"""A complete number: "3rd" and "1.2.3" do not begin with one. Chinese for points, 分, may follow it."""
_VAGUE = rf"(?P<vague>[<>≤≥~≈]=?{_OPEN_IN_LINE}{{0,4}})?"
"""A sign that makes a number inexact."""
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_UNIT = r"(?:[ \t]?(?:points?|pts?|stars?|marks?|分)(?![A-Za-z]))"
_HIGHEST = r"满分(?:为|是|:)?"
_OUT_OF = rf"(?:[ \t]?[(\[]?(?:/|\bout[ \t]of\b|\bof\b)|[ \t]?[,(\[]?[ \t]?{_HIGHEST})"
"""The words and signs between a score and its maximum."""
_BEHIND_NUMBER = re.compile(
    # "0.5%"
    rf"{_CLOSE}{{0,6}}(?P<percent>[ \t]?(?:%|percent\b|‰))"
    # "0.5/1", "3 points out of 5"
    rf"|{_CLOSE}{{0,6}}{_UNIT}?{_OUT_OF}[ \t]?{_OPEN_IN_LINE}{{0,4}}(?P<most>{_NUMBER}){_UNIT}?"
    # "0.5-0.7", "0.5 or 0.7", "1:0"
    rf"|{_CLOSE}{{0,6}}[ \t]?(?P<other>(?:[-–—~,;&±+×→]|[=-]>|:(?=[0-9])"
    rf"|\bor\b|\bto\b|\band\b|\bminus\b|\bplus\b|或|至|到)?[ \t]?{_OPEN_IN_LINE}{{0,4}}{_NUMBER})"
    # "3 points"
    rf"|{_UNIT}",
    re.IGNORECASE,
)
"""The text after a number: a percent sign, the maximum, another number, or a unit."""
_OR_NUMBER = re.compile(
    rf"{_CLOSE}{{0,6}}[ \t]?(?:\bor\b|\bto\b|或|至|到)[ \t]?{_OPEN_IN_LINE}{{0,4}}{_NUMBER}",
    re.IGNORECASE,
)
"""Another number after a maximum or a unit: "0.5/1 or 0.7/1"."""
_RETRACTS = re.compile(
    # "0.5?", "0.5 if", "0.5 means"
    r"[*_`\"'”’)\]}$|,]{0,6}[ \t]?(?:\?|(?:if|unless|means?|when|would|but|however|although|though|maybe|perhaps"
    r"|represents?|indicates?)\b|如果|但|表示)"
    # "0.5+", "0.5 or so", "0.5 at most"
    r"|[*_`]{0,3}\+|[ \t](?:or[ \t](?:so|more|less|higher|lower|above|below)|at[ \t](?:most|least))\b",
    re.IGNORECASE,
)
"""Text that retracts a statement, or makes it one about the scale."""
_ANOTHER_SCORE = re.compile(rf"[^\n.;]{{0,60}}?[,;][ \t](?:and[ \t])?{_NUMBER}[ \t]?(?:for\b|\()")
"""Another score after a score, for something else."""
_LINE_END = re.compile(rf"{_UNIT}?{_CLOSE}{{0,8}}[ \t]*+[.。!;,]?{_CLOSE}{{0,8}}[ \t]*+(?:\n|\Z)")
_NOT_THE_HIGHEST = r"(?<!max[ _])(?<!imum[ _])(?<!full )(?<!perfect )(?<!highest )(?<!possible )(?<!lowest )(?<!total )"
"""Not after words for the highest score or for other scores."""
_SCORE_WORD = (
    rf"(?<![A-Za-z]){_NOT_THE_HIGHEST}(?:score|rating|grade|mark|correctness)(?![A-Za-z])"
    r"|评分|得分|分数|打分"
)
_OF_THE_ANSWER = (
    r"(?:[ \t](?:of|for)(?:[ \t][A-Za-z]{1,15}){1,3}"
    r"(?:[ \t]between[ \t]BEGIN[ \t]\w{1,32}[ \t]and[ \t]END[ \t]\w{1,32})?)?"
)
"""The graded thing, after the word "score": "of the answer between BEGIN and END"."""
_SCORE_IS = (
    rf"(?:{_SCORE_WORD}){_CLOSE}{{0,6}}(?:[ \t]?\((?P<scale>[^()\n]{{0,40}})\))?{_OF_THE_ANSWER}{_CLOSE}{{0,6}}"
    rf"[ \t]*+(?::|=|\bis\b|\bshould[ \t]be\b|\bmust[ \t]be\b|\bwill[ \t]be\b|应为|是|为):?"
    rf"(?:[ \t](?:therefore|thus|then|hence|exactly))?{_AHEAD}{{0,8}}"
)
"""The beginning of "The score is 0.5"."""
_GIVES_SCORE = (
    r"\bI(?:['’]d|['’]ll|[ \t]would|[ \t]will)?[ \t](?:give|assign|award|rate|score)(?:[ \t][A-Za-z]{1,15}){0,6}?"
    rf"[ \t](?:a|an|it|this|as|at|of){_AHEAD}{{1,6}}"
    r"|\b(?:deserves|gets|receives|earns|merits|warrants)(?:[ \t][A-Za-z]{1,15}){0,3}?"
    rf"[ \t](?:a|an|of){_AHEAD}{{1,6}}"
    rf"|\bI(?:['’]d|['’]ll|[ \t]would|[ \t]will)?[ \t](?:give|assign|award){_AHEAD}{{1,6}}"
)
"""The beginning of "I give it a 0.5" and "It deserves a 0.5"."""
_ON_A_SCALE = (
    rf"\bon[ \t]a[ \t]scale[ \t](?:of|from)[ \t]{_NUMBER}[ \t]?(?:to|-|–)[ \t]?{_NUMBER}{_CLOSE}{{0,4}}[ \t]?[:,]"
    rf"{_AHEAD}{{0,8}}"
)
"""The beginning of "On a scale of 0 to 1: 0.5"."""
_CLAIMED_SCORE = re.compile(
    rf"(?:{_SCORE_IS}|{_GIVES_SCORE}|{_ON_A_SCALE}){_VAGUE}(?P<number>{_NUMBER})", re.IGNORECASE
)
_HEADING = (
    rf"(?:(?:your|my)[ \t])?(?:final[ \t]answer|output|result|输出|结果){_CLOSE}{{0,6}}[ \t]*+[:=]"
    r"|(?:(?:your|my|the|final|overall)[ \t]){0,2}(?:(?:correctness[ \t])?(?:score|rating|grade|mark)|correctness"
    rf"|评分|得分|分数|打分){_CLOSE}{{0,6}}(?:[ \t]of)?(?:[ \t]?(?:[–—→]|-(?=[ \t])))?"
)
"""The heading of a score: "Final answer:", "Score"."""
_OUTPUT_SCORE = re.compile(
    rf"^{_AHEAD}{{0,8}}(?:{_HEADING}){_AHEAD}{{0,8}}{_VAGUE}(?P<number>{_NUMBER})",
    re.IGNORECASE | re.MULTILINE,
)
"""A score on a separate line: inside a sentence, a "result" may be that of a sum."""
_NAMED_SCORE = re.compile(
    rf"(?:{_SCORE_WORD})[ \t]{_AHEAD}{{0,6}}{_VAGUE}(?P<number>{_NUMBER})", re.IGNORECASE
)
"""A score right after its word, "a score 0.5", which counts at the end of a line.

It may also be one that a graded answer asks for. Then it differs from the reply's own, and the reply is unreadable.
"""
_FITTING_SCORE = re.compile(
    rf"\bscore[ \t]of{_AHEAD}{{1,6}}{_VAGUE}(?P<number>{_NUMBER}){_CLOSE}{{0,6}}[ \t](?:is|seems)[ \t]"
    r"(?:[a-z]{1,12}ly[ \t])?(?:appropriate|fair|fitting|justified|reasonable|suitable|warranted)"
    r"(?=[.!]|[ \t]?(?:\n|\Z)|,?[ \t](?:because|since|as|here)\b)",
    re.IGNORECASE,
)
"""A judgement of a score: "A score of 0.5 is appropriate."."""
_STATED_SCALE = re.compile(
    rf"(?:\b(?:scale|range)[ \t](?:(?:of|from)[ \t])?{_NUMBER}[ \t]?(?:to|-|–)|{_HIGHEST})[ \t]?(?P<most>{_NUMBER})",
    re.IGNORECASE,
)
"""The scale in a sentence, with its highest score."""
_LAST_NUMBER = re.compile(r"([0-9]{1,20}(?:[.,][0-9]{1,20})?)[^0-9]{0,40}\Z")
_NAMES = "score|rating|grade|mark|correctness|answer|final_answer|finalanswer|output|result"
_INSIDE_TAG = r"[^<]{0,500}"
_INSIDE_BOX = r"[^{}\n]{0,80}+"
_TAGGED_SCORE = re.compile(
    rf"<(?:{_NAMES})>(?P<inside>{_AHEAD}{{0,8}}{_VAGUE}(?P<number>{_NUMBER}){_INSIDE_TAG})",
    re.IGNORECASE,
)
_BOXED_SCORE = re.compile(
    rf"\\[df]?boxed\s?\{{(?P<inside>{_AHEAD}{{0,4}}{_VAGUE}(?P<number>{_NUMBER}){_INSIDE_BOX})\}}"
)
_OBJECT_SCORE = re.compile(
    rf"\{{\s*+[\"'](?!max|min|confidence|total)[^\"'\n]{{1,40}}[\"']\s*+:\s*+[\"']?{_VAGUE}(?P<number>{_NUMBER})[\"']?\s*+,?\s*+\}}"
)
_LINE_SCORE = re.compile(rf"^{_AHEAD}{{0,8}}{_VAGUE}(?P<number>{_NUMBER})", re.MULTILINE)
_EXPLANATION = re.compile(
    rf"{_UNIT}?{_CLOSE}{{0,6}}(?:[.:;,][ \t]|[ \t]?[(（—–]|[ \t]-[ \t]"
    r"|[ \t](?:because|since|as|for|due|the|this|it|explanation|reason|reasoning|rationale)\b|，|。|：)",
    re.IGNORECASE,
)
"""The text between a reply's first number and its explanation."""


def _score_claims(text: str, scale: Scale) -> Iterator[_Claim[float]]:
    """Yields all claims of a score."""
    for pattern in (_CLAIMED_SCORE, _FITTING_SCORE):
        for match in pattern.finditer(text):
            is_supposed = _is_denied_or_supposed(text, match.start())
            claim = _score_claim(text, match, scale)
            yield claim._replace(value=None) if is_supposed else claim
    for match in chain(_TAGGED_SCORE.finditer(text), _BOXED_SCORE.finditer(text)):
        claim = _score_claim(text, match, scale)
        yield _claim_of_all(claim, match["inside"], _score_claims(match["inside"], scale))
    if whole := _OBJECT_SCORE.fullmatch(text):
        yield _score_claim(text, whole, scale)
    for pattern in (_OUTPUT_SCORE, _NAMED_SCORE):
        for match in pattern.finditer(text):
            claim = _score_claim(text, match, scale)
            if _LINE_END.match(text, claim.end):
                yield claim
    yield from _score_claims_of_lines(text, scale)


def _score_claims_of_lines(text: str, scale: Scale) -> Iterator[_Claim[float]]:
    """Yields numbers that are a whole line, and the number at the reply's start unless another line starts alike.

    Lines that start alike are a list, or describe the scale.
    """
    # How often each sign, such as ":", comes between a number at the start of a line and its explanation. The reply's
    # first line is counted too.
    sign_counts = Counter[str]()
    for match in _LINE_SCORE.finditer(text):
        claim = _score_claim(text, match, scale)
        if _LINE_END.match(text, claim.end):
            is_list_mark = text.startswith(")", match.end()) and "(" not in match[0]  # "1)"
            yield claim._replace(value=None) if is_list_mark else claim
        elif explanation := _EXPLANATION.match(text, claim.end):
            sign_counts[explanation[0].strip()] += 1
    first = _LINE_SCORE.match(text)
    if first is None:
        return
    claim = _score_claim(text, first, scale)
    is_list_item = first["number"] == "1" and text.startswith((". ", ") "), claim.end)
    explanation = _EXPLANATION.match(text, claim.end)
    no_line_starts_alike = explanation and sign_counts[explanation[0].strip()] == 1
    is_explained_score = no_line_starts_alike and not is_list_item
    # A number that is retracted is an unreadable claim, so that no other claim counts.
    if is_explained_score or _RETRACTS.match(text, claim.end):
        yield claim


def _score_claim(text: str, match: re.Match[str], scale: Scale) -> _Claim[float]:
    """The claim of a number, by the text around it."""
    start, end = match.span("number")
    number = _number_value(match["number"])
    tail = _BEHIND_NUMBER.match(text, end)
    if tail and tail["most"] is not None:
        score = scale.score(number, _number_value(tail["most"]))
    elif tail and (tail["percent"] or tail["other"]):
        score = None
    else:
        score = scale.score(number) if _allows_score(text, match, scale) else None
    end = tail.end() if tail else end
    is_unsure = (
        match["vague"]
        or _OR_NUMBER.match(text, end)
        or _RETRACTS.match(text, end)
        or _ANOTHER_SCORE.match(text, end)
    )
    return _Claim(None if is_unsure else score, start, end)


def _allows_score(text: str, match: re.Match[str], scale: Scale) -> bool:
    """Whether the text before a number allows it to be a score of this scale."""
    scale_text = match.groupdict().get("scale")
    highest = _LAST_NUMBER.search(scale_text) if scale_text else None
    if highest and _number_value(highest[1]) != scale.high:
        return False
    place = match.start("number")
    sentence = _SENTENCE_BREAK.split(text[max(0, place - _BEFORE) : place])[-1]
    return all(
        _number_value(scales["most"]) == scale.high for scales in _STATED_SCALE.finditer(sentence)
    )


def _number_value(number: str) -> float:
    """The number; its comma is a decimal comma unless it can separate thousands."""
    return float(number.replace(",", "" if _THOUSANDS.fullmatch(number) else "."))


_ALONE = r"(?!_{0,4}[^\W_])"
"""Before no other letter or digit; underscores may make it bold."""
_LETTER = rf"(?P<letter>[A-Z]){_ALONE}(?![+#&]|['’]\w)"
_OPTION = r"(?:(?:option|choice|letter|response|选项)[ \t]?)"
_BEFORE_LETTER = rf"{_OPEN}{{0,8}}(?i:{_OPTION})?{_OPEN}{{0,4}}"
"""The wrapping and the word before a letter: "**Option A"."""
_ANSWER_WORD = (
    r"(?<![A-Za-z])(?:answer|output|choice|option|letter|selection|match|verdict|antwort|réponse|respuesta|resposta)"
    r"(?![A-Za-z])|答案|输出|选项|选择|정답|답|答え|ответ"
)
_CLAIMED_LETTER = re.compile(
    # "The answer is B"
    rf"(?:(?i:{_ANSWER_WORD}){_CLOSE}{{0,6}}(?:[ \t]?\([^()\n]{{0,40}}\))?[ \t]*+"
    rf"(?::|=|(?i:\bis\b|\bshould[ \t]be\b|\bmust[ \t]be\b|\bwill[ \t]be\b|\bwould[ \t]be\b|\bist\b|\best\b|\bes\b)"
    rf"|应该是|应为|是|为|는|은|は):?"
    # "most similar to B", "matches option B", "I'd choose B"
    rf"|(?i:\b(?:most|closest|more)[ \t](?:similar|close)(?:[ \t]in[ \t]meaning)?[ \t]to\b|\bclosest[ \t]to\b)"
    r"|(?i:\b(?:matches|selects?|choose|pick|corresponds[ \t]to|go[ \t](?:with|for))(?:[ \t]the)?"
    r"[ \t](?:option|choice)\b)"
    rf"|(?i:\bI(?:['’]d|['’]ll|[ \t]would|[ \t]will)?[ \t](?:choose|select|pick|output|go[ \t](?:with|for)))"
    rf"|选择?(?!项|择|[：:])(?:了|的是)?|选[：:]){_BEFORE_LETTER}{_LETTER}"
)
_BEST_LETTER = re.compile(
    rf"\b(?i:option|choice|response)[ \t]{_OPEN}{{0,4}}{_LETTER}(?={_CLOSE}{{0,6}}[ \t](?i:is|best|most|matches|fits))"
    rf"{_CLOSE}{{0,6}}[ \t](?i:is[ \t](?:the[ \t])?(?:slightly[ \t]|clearly[ \t]|much[ \t])?"
    rf"(?:most[ \t](?:similar|suitable)|closest|correct|best|right|better)|best[ \t](?:matches|fits)|matches[ \t]best"
    rf"|fits[ \t]best)\b"
)
_TAGGED_LETTER = re.compile(
    rf"<(?i:{_NAMES}|choice|option|letter)>(?P<inside>{_BEFORE_LETTER}{_LETTER}{_INSIDE_TAG})"
)
_BOXED_LETTER = re.compile(
    rf"\\[df]?boxed\s?\{{(?P<inside>{_BEFORE_LETTER}{_LETTER}{_INSIDE_BOX})\}}"
)
_OBJECT_LETTER = re.compile(
    rf"\{{\s*+[\"'][^\"'\n]{{1,40}}[\"']\s*+:\s*+[\"']?\(?{_LETTER}\)?[\"']?\s*+,?\s*+\}}"
)
_LINE_LETTER = re.compile(rf"^{_BEFORE_LETTER}{_LETTER}(?![\"']\s?:)", re.MULTILINE)
"""A letter at the start of a line, unless it is a key of an object, as in {"A": 1, "B": 0}."""
_LETTER_END = re.compile(rf"{_CLOSE}{{0,8}}[ \t]*+[.。!,;]?{_CLOSE}{{0,8}}[ \t]*+(?:\n|\Z)")
_BEFORE_OPTION = re.compile(
    rf"{_CLOSE}{{0,8}}(?:[.,:、。][ \t]?|[ \t]?\(|[ \t]-[ \t]|[ \t]?[–—][ \t]?|\)[ \t]?)?{_CLOSE}{{0,4}}[ \t]?"
)
"""What may stand between a letter and its option's text."""
_NOT_ANOTHER = rf",?[ \t](?i:rather[ \t]than|instead[ \t]of|(?:and[ \t])?not)[ \t]{_BEFORE_LETTER}[A-Z]{_ALONE}"
"""Words that reject another letter: "rather than B"."""
_BEHIND_LETTER = re.compile(
    rf"{_CLOSE}{{0,8}}(?:[ \t]*+(?:\Z|\n)|[.,;:!。，、；)]|[ \t]?[(（—–]|[ \t]-[ \t]"
    rf"|[ \t](?i:because|since|as|for|which|with|due)[ \t]\S|<|\{{|{_NOT_ANOTHER})"
)
"""The text after a letter that words introduce: not a word that would make `A` an article."""
_BEHIND_LETTER_OF_LINE = re.compile(
    rf"{_CLOSE}{{0,8}}(?:[.:)][ \t]|[、：]|[ \t]?[(（—–]|[ \t]-[ \t]|,?[ \t](?i:because|since|as)[ \t]\S|,?[ \t]?因为"
    rf"|{_NOT_ANOTHER})"
)
"""The text after a letter at the start of a line, if the letter is stated."""
_TWO_LETTERS = re.compile(
    rf"{_CLOSE}{{0,6}}[ \t]?(?:[,;][ \t]?|[/|]|&|\+"
    rf"|(?i:,?\s?\(?\b(?:or|and|possibly|maybe|perhaps|to|through|over|vs\.?|versus)(?!\w))"
    rf"|[-–—~→>]|、|或|和|还是|[ \t])[ \t]?{_BEFORE_LETTER}"
    rf"(?P<other>[A-Z]){_ALONE}(?!['’-])"
)
"""Another letter beside a letter: "A or B"."""
_TWO_ALONE = re.compile(
    rf"{_CLOSE}{{0,4}}(?:[.:][ \t]|(?=[(\[])){_BEFORE_LETTER}(?P<other>[A-Z]){_CLOSE}{{0,4}}[.]?[ \t]*+(?:\n|\Z)"
)
"""Another letter behind a letter and a full stop, at the end of the line: "A. B"."""
_NEXT_LABEL = re.compile(r"[\s,;/|(]\(?(?P<letter>[A-Z])(?:[.):]|[ \t]\()")
"""A letter before the text of an option."""
_JOINS = re.compile(r"[\s,;/|&]{0,4}(?:\b(?:or|and|vs\.?|versus))?[\s/|&]{0,4}\Z", re.IGNORECASE)
"""The text between two options."""
_WORD_OF_NEXT = re.compile(rf"{_OPTION}\Z", re.IGNORECASE)
"""The word before the next letter: "Option A: dog. Option B: cat"."""
_WRONG_BEHIND = re.compile(
    rf"{_CLOSE}{{0,6}}[ \t]?[:(–—-]?[ \t]?(?:wrong|incorrect|false)\b", re.IGNORECASE
)
"""Words that call a letter wrong."""
_NONE_LETTERS = "XZ"
"""Letters of no option: see `NO_OPTION`."""
_MOST_OPTION = 500
"""Most characters of an option's text after its letter."""


def _letter_claims(text: str, options: Mapping[str, str]) -> Iterator[_Claim[str]]:
    """Yields all claims of a letter."""
    for pattern in (_CLAIMED_LETTER, _BEST_LETTER):
        for match in pattern.finditer(text):
            claim = _letter_claim(text, match, options)
            if pattern is _CLAIMED_LETTER and not _is_stated(text, match, options):
                continue
            is_supposed = _is_denied_or_supposed(text, match.start())
            yield claim._replace(value=None) if is_supposed else claim
    for match in chain(_TAGGED_LETTER.finditer(text), _BOXED_LETTER.finditer(text)):
        claim = _letter_claim(text, match, options)
        yield _claim_of_all(claim, match["inside"], _letter_claims(match["inside"], options))
    if whole := _OBJECT_LETTER.fullmatch(text):
        yield _letter_claim(text, whole, options)
    yield from _letter_claims_of_lines(text, options)


def _letter_claims_of_lines(text: str, options: Mapping[str, str]) -> Iterator[_Claim[str]]:
    """Yields letters that are a whole line, the letter at the reply's start, and letters before their option's text.

    If lines start with several letters, they list the options.
    """
    line_starts: list[re.Match[str]] = []
    for match in _LINE_LETTER.finditer(text):
        end = match.end("letter")
        if _LETTER_END.match(text, end):
            yield _letter_claim(text, match, options)
        elif _BEHIND_LETTER_OF_LINE.match(text, end) or _option_with_text(text, match, options):
            line_starts.append(match)
        elif _TWO_LETTERS.match(text, end) and match.start() == 0:
            # Two options make it unreadable.
            yield _letter_claim(text, match, options)
    if len({match["letter"] for match in line_starts}) != 1:
        return
    for match in line_starts:
        if match.start() == 0 or _option_with_text(text, match, options) == match["letter"]:
            yield _letter_claim(text, match, options)


def _is_stated(text: str, match: re.Match[str], options: Mapping[str, str]) -> bool:
    """Whether a letter after introducing words is a letter, not an article or the start of a name."""
    end = match.end("letter")
    alone = (
        _BEHIND_LETTER.match(text, end)
        or _TWO_LETTERS.match(text, end)
        or _RETRACTS.match(text, end)
    )
    return bool(alone) or _option_with_text(text, match, options) == match["letter"]


def _letter_claim(text: str, match: re.Match[str], options: Mapping[str, str]) -> _Claim[str]:
    """The claim of a letter; unreadable if another option's text, or another letter, follows it."""
    start, end = match.span("letter")
    letter = match["letter"]
    behind = _option_with_text(text, match, options)
    rivals = {*options, *_NONE_LETTERS}
    if behind == letter:
        rivals = {*options}  # an X or Z here is the beginning of the option's text: "B Z axis"
    other = _TWO_LETTERS.match(text, end) or _TWO_ALONE.match(text, end)
    is_unclear = (
        (other is not None and other["other"] in rivals - {letter})
        or (behind and behind != letter)
        or _has_next_option(text, match, options)
        or _WRONG_BEHIND.match(text, end)
        or _RETRACTS.match(text, end)
    )
    value = None
    if not is_unclear and letter in options:
        value = letter
    elif not is_unclear and letter in _NONE_LETTERS:
        value = NO_OPTION
    return _Claim(value, start, end)


def _has_next_option(text: str, match: re.Match[str], options: Mapping[str, str]) -> bool:
    """Whether another letter with its option follows a letter's option on the same line."""
    separator = _BEFORE_OPTION.match(text, match.end("letter"))
    rest = _rest_of_line(text, separator.end()) if separator else ""
    next_label = _NEXT_LABEL.search(rest)
    if next_label is None or next_label["letter"] not in options:
        return False
    before_label = rest[: next_label.start()]
    text_between = _plain_option(_JOINS.sub("", before_label))
    without_word = _plain_option(_JOINS.sub("", _WORD_OF_NEXT.sub("", before_label)))
    # Between the letters is nothing, a number such as a share ("A 50%, B 50%"), or the first letter's option.
    is_number = bool(without_word) and not any(sign.isalpha() for sign in without_word)
    option = _plain_option(options.get(match["letter"], ""))
    is_option = bool(option) and option in (text_between, without_word)
    return not text_between or is_number or is_option


def _option_with_text(text: str, match: re.Match[str], options: Mapping[str, str]) -> str:
    """The letter of the option with exactly the text after a letter on its line; "" if there is none."""
    separator = _BEFORE_OPTION.match(text, match.end("letter"))
    if separator is None:
        return ""
    rest = _plain_option(_rest_of_line(text, separator.end()))
    letters = [
        letter for letter, option in options.items() if rest and _plain_option(option) == rest
    ]
    if match["letter"] in letters:
        return match["letter"]
    return letters[0] if letters else ""


def _rest_of_line(text: str, start: int) -> str:
    return text[start : start + _MOST_OPTION].partition("\n")[0]


def _plain_option(text: str) -> str:
    return text.strip().strip("*_`\"'”’.。)]}$,").strip().casefold()
