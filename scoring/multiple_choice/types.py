"""Multiple-choice types: question with options, prediction, extracted letter, and the rules that can decide it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from string import ascii_uppercase
from typing import Literal, get_args

from pydantic import StrictBool, StrictInt

LETTERS = ascii_uppercase
"""Letters that options may have."""
USUAL_LETTERS = LETTERS[:9]
"""The usual letters of options. A file may lack some; a later letter is an option only if none before it is missing."""
NONE = "Z"
""""None of the options" in a decision, whatever letter a benchmark uses for it: see `none_of`."""
NO_CATEGORY = "(no category)"
PASS = 1_000_000
"""Pass k of question i has index i + k * PASS."""

Protocol = Literal["strict", "mmbench-paper", "mmt-paper"]
"""strict: ours. mmbench-paper: whole words (MMBench 4.2). mmt-paper: OpenCompass' letters, then contents."""
PROTOCOL_WORDS: Mapping[Protocol, str] = {
    "strict": "Strict (ours)",
    "mmbench-paper": "MMBench's paper",
    "mmt-paper": "MMT-Bench's paper",
}

Mode = Literal[
    "as-is",
    "multi-inline",
    "multi-first",
    "one-image",
    "pixel",
    "normalised",
    "normalised-1000",
    "mark",
    "text-box",
    "mark+text",
    "blind",
    "no-image",
]
"""The form of a question for a model (MMT-Bench, 4.3); as-is: as in the question file."""
MODES: tuple[Mode, ...] = get_args(Mode)

ChosenBy = Literal["text", "likelihood"]
"""The way in which a model's options were chosen. text: by the model's text. likelihood: the option with the highest
mean log-likelihood of its tokens after the question, as for Kosmos-2 in MMBench (Tables 4 to 6)."""
BY_LIKELIHOOD = "options chosen by likelihood, not by generated text"
CHOICE_WORDS: Mapping[ChosenBy, str] = {
    "text": "options read from generated text",
    "likelihood": f"{BY_LIKELIHOOD} (the highest mean log-likelihood of an option's tokens)",
}

Step = Literal["letter", "content", "none", "judge", "fallback", "failed", "undecided"]
"""The origin of a letter: a letter, an option's content, "none of them", a judge, or a fallback.

"failed" is not an answer of the model, and unscored under `strict`.
"""


class Rule(StrEnum):
    """The rule that decided; the audit shows the values."""

    FAILED = "the model's API failed"
    """The prediction is an error of a server or client, not the model's text: no judge reads it."""
    TORN = "reasoning without an end"
    CUT = "taken off"
    """Removed reasoning, tokens or a wrapper, named in the span; it decides nothing."""
    EMPTY = "empty answer"
    LIKELIEST = "likeliest option"
    TIED = "equally likely options"
    """Options were chosen by likelihood, and the best are equal."""
    ALONE = "letter alone"
    EXACT = "content alone"
    SPEAKS = "speaks to the extractor"
    """The answer instructs the extractor, which is not a choice of an option."""
    STATEMENT = "last explicit statement"
    LABEL = "leading label"
    LINE = "letter on a line of its own"
    LABELLED = "label with its content"
    FILLERS = "letter among filler words"
    NAMED = "named content"
    REFUSAL = "refusal"
    OUTSIDE = "letter outside the options"
    ELSEWHERE = "statement of no option"
    """"The answer is E" without an option E: it may be a letter in the picture."""
    REPETITION = "endless repetition"
    CONFLICT = "conflict"
    """Two readings exclude each other."""
    UNDECIDED = "no rule"
    WORD = "word that is a letter"
    """MMBench's step 1."""
    TOKEN = "token that is a letter"
    """OpenCompass' first step."""
    ANSWER_IS = '"answer is" before a letter'
    """OpenCompass' step since 2026."""
    SUBSTRING = "content as part of the text"
    """OpenCompass' second step."""
    JUDGE = "judge"
    OBEYED = "judge obeyed the answer"
    """The judge gave the letter that the answer instructed it to give: the model's choice is unknown."""
    UNREAD = "no reply of the judge is a letter"
    DECLINED = "judge declined"
    """The judge's server refused this prompt; the span has the reason."""
    RANDOM = "random assignment"
    """MMBench's step 3."""
    ASSIGNED_NONE = "none assigned"
    """MMT-Bench's last step."""


STEPS: Mapping[Rule, Step] = {
    **dict.fromkeys(Rule, "undecided"),
    **dict.fromkeys(
        (
            Rule.LIKELIEST,
            Rule.ALONE,
            Rule.STATEMENT,
            Rule.LABEL,
            Rule.LINE,
            Rule.FILLERS,
            Rule.WORD,
            Rule.TOKEN,
            Rule.ANSWER_IS,
        ),
        "letter",
    ),
    **dict.fromkeys((Rule.EXACT, Rule.LABELLED, Rule.NAMED, Rule.SUBSTRING), "content"),
    **dict.fromkeys((Rule.REFUSAL, Rule.OUTSIDE), "none"),
    **dict.fromkeys((Rule.FAILED, Rule.TORN, Rule.EMPTY, Rule.TIED), "failed"),
    **dict.fromkeys((Rule.RANDOM, Rule.ASSIGNED_NONE), "fallback"),
    Rule.JUDGE: "judge",
}
JUDGE_UNREAD = frozenset((Rule.UNREAD, Rule.RANDOM, Rule.ASSIGNED_NONE))
"""Rules at the end of a protocol if none of the judge's replies could be read."""
JUDGED = JUDGE_UNREAD | {Rule.JUDGE, Rule.OBEYED, Rule.DECLINED}
"""Rules at the end of a judge's reading."""


def none_of(options: Mapping[str, str]) -> str | None:
    """`NONE`, or None if that letter is an option: "none of the options" would look the same."""
    return None if NONE in options else NONE


@dataclass(frozen=True, slots=True)
class Clue:
    """A rule's reading of the answer."""

    rule: Rule
    letter: str | None
    """An option's letter, `NONE`, or None if the rule chooses none of them."""
    span: str
    """The part of the answer behind the reading."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The letter extracted from an answer, with the rules' clues."""

    letter: str | None
    """An option's letter, `NONE`, or None if undecided."""
    trail: tuple[Clue, ...]
    """Clues of the rules, in order; the last one decided."""
    replies: tuple[str, ...] = ()
    """The judge's replies, in order."""
    model: str = ""
    """The name of the judge of the last reply, from the server."""

    @property
    def rule(self) -> Rule:
        return self.trail[-1].rule

    @property
    def span(self) -> str:
        return self.trail[-1].span

    @property
    def step(self) -> Step:
        return STEPS[self.rule]

    @property
    def is_open(self) -> bool:
        """Whether the rules leave the answer to a judge, and no judge has read it."""
        return self.rule in (
            Rule.SPEAKS,
            Rule.REPETITION,
            Rule.CONFLICT,
            Rule.ELSEWHERE,
            Rule.UNDECIDED,
        )

    @property
    def was_open(self) -> bool:
        """Whether the rules left the answer to a judge, read or not."""
        return self.is_open or self.rule in JUDGED


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """A row of a multiple-choice benchmark; in a circular file, one pass of a question."""

    index: StrictInt
    text: str
    options: Mapping[str, str]
    """Text by letter, in the order of letters; missing options are absent."""
    answer: str | None
    """The right letter; None in test splits, and if the file's letter is not an option."""
    category: str
    """MMBench's L-3 ability or MMT-Bench's subtask, as spelled in the file; "" if it has none."""
    group: str
    """The file's `l2-category`: MMBench's L-2 ability or MMT-Bench's meta-task."""
    split: str
    hint: str = ""
    row: StrictInt = 0
    """The row where it starts in its file."""
    one_pass: StrictBool = False
    """Whether the base row is the whole question: the toolkit that wrote the file does not rotate such options."""
    picture: str = ""
    """The identity of its picture among those of the file; "" if unknown."""

    @property
    def named_category(self) -> str:
        return self.category or NO_CATEGORY


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with the model's prediction."""

    question: ChoiceQuestion
    prediction: str


@dataclass(frozen=True, slots=True)
class Decided(Answered):
    """A question with the model's prediction and the letter extracted from it."""

    decision: Decision

    @property
    def right(self) -> bool | None:
        """Whether the letter is the right one; None if either is unknown."""
        if self.decision.letter is None or self.question.answer is None:
            return None
        return self.decision.letter == self.question.answer
