"""What every room of multiple choice speaks of: a question with options, an answer, and the letter read out of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

LETTERS = "ABCDEFGHI"
"""The letters that options may have."""
NONE = "Z"
"""What stands for "none of the options" in a decision, whatever letter a benchmark writes for it."""

Protocol = Literal["strict", "mmbench-paper", "mmt-paper"]
"""strict: ours. mmbench-paper: whole words (MMBench 4.2). mmt-paper: OpenCompass' letters, then contents."""
PROTOCOLS: tuple[Protocol, ...] = ("strict", "mmbench-paper", "mmt-paper")

Step = Literal["letter", "content", "none", "judge", "fallback", "undecided"]
"""How a letter was come by: read as a letter, by an option's content, as "none of them", from a judge, or made up."""


class Rule(StrEnum):
    """What decided; the names that people read in the audit."""

    FAILED = "the model's API failed"
    """The answer is a toolkit's error text: the model said nothing, and nobody is asked what it means."""
    CUT = "taken off"
    """Reasoning, tokens or a wrapper, which the span names; it decides nothing."""
    EMPTY = "empty answer"
    ALONE = "letter alone"
    EXACT = "content alone"
    SPEAKS = "speaks to the extractor"
    """The answer tells its reader what to put out: no declaration."""
    STATEMENT = "last explicit statement"
    LABEL = "leading label"
    LINE = "letter on a line of its own"
    LABELLED = "label with its content"
    FILLERS = "letter among filler words"
    NAMED = "named content"
    REFUSAL = "refusal"
    OUTSIDE = "letter outside the options"
    CONFLICT = "conflict"
    """Two readings exclude each other."""
    UNDECIDED = "no rule"
    WORD = "word that is a letter"
    """MMBench's step 1."""
    TOKEN = "token that is a letter"
    """OpenCompass' first step."""
    SUBSTRING = "content as part of the text"
    """OpenCompass' second step."""
    JUDGE = "judge"
    OBEYED = "judge obeyed the answer"
    """The judge gave what an answer that speaks to the extractor demanded: nobody knows what the model meant."""
    UNREAD = "no reply of the judge is a letter"
    DECLINED = "judge declined"
    """The judge's server refuses this one prompt, and says why in the span."""
    RANDOM = "random assignment"
    """MMBench's step 3."""
    ASSIGNED_NONE = "none assigned"
    """MMT-Bench's last step."""


STEPS: Mapping[Rule, Step] = {
    **dict.fromkeys((Rule.ALONE, Rule.STATEMENT, Rule.LABEL, Rule.LINE, Rule.FILLERS, Rule.WORD, Rule.TOKEN), "letter"),
    **dict.fromkeys((Rule.EXACT, Rule.LABELLED, Rule.NAMED, Rule.SUBSTRING), "content"),
    **dict.fromkeys((Rule.EMPTY, Rule.REFUSAL, Rule.OUTSIDE), "none"),
    **dict.fromkeys(
        (
            *(Rule.FAILED, Rule.CUT, Rule.SPEAKS, Rule.CONFLICT, Rule.UNDECIDED),
            *(Rule.OBEYED, Rule.UNREAD, Rule.DECLINED),
        ),
        "undecided",
    ),
    **dict.fromkeys((Rule.RANDOM, Rule.ASSIGNED_NONE), "fallback"),
    Rule.JUDGE: "judge",
}


@dataclass(frozen=True, slots=True)
class Clue:
    """What one rule made of the answer."""

    rule: Rule
    letter: str | None
    """An option's letter, `NONE`, or None where the rule speaks against every reading."""
    span: str
    """The piece of the answer that it was read from."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The letter that was read out of an answer, and how."""

    letter: str | None
    """An option's letter, `NONE`, or None: undecided."""
    trail: tuple[Clue, ...]
    """What the rules found, in order; the last clue decided."""
    replies: tuple[str, ...] = ()
    """What the judge said, in order."""
    model: str = ""
    """What the server called the judge that replied last."""

    @property
    def rule(self) -> Rule:
        """Return the rule that decided."""
        return self.trail[-1].rule

    @property
    def span(self) -> str:
        """Return what the deciding rule read."""
        return self.trail[-1].span

    @property
    def step(self) -> Step:
        """Return how the letter was come by."""
        return STEPS[self.rule]

    @property
    def open(self) -> bool:
        """Tell whether rules leave it to a judge, and none was asked."""
        return self.rule in (Rule.SPEAKS, Rule.CONFLICT, Rule.UNDECIDED)


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """One row of a multiple-choice benchmark: in a circular file, one pass of a question."""

    index: int
    text: str
    options: Mapping[str, str]
    """Letter to text, in the order of letters; missing options are not there."""
    answer: str | None
    """The letter that is right; None in test splits and where the file's letter is no option."""
    category: str
    """MMBench's L-3 ability or MMT-Bench's subtask, as the file spells it; "" where it has none."""
    group: str
    """The file's `l2-category`: MMBench's L-2 ability or MMT-Bench's meta-task."""
    split: str
    hint: str = ""
    row: int = 0
    """Where it starts in its file."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with what the model said to it."""

    question: ChoiceQuestion
    prediction: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A question, what the model said to it and the letter that this is."""

    question: ChoiceQuestion
    prediction: str
    decision: Decision

    @property
    def right(self) -> bool | None:
        """Tell whether the letter is the answer; None where either is not known."""
        if self.decision.letter is None or self.question.answer is None:
            return None
        return self.decision.letter == self.question.answer
