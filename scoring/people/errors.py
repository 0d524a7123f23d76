"""Kinds of error: MMT-Bench's six types (section 4.4, appendix G), and two that are not the model's error."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from arena.ratings.votes import Codes

ErrorKey = Literal[
    "perception",
    "reasoning",
    "knowledge",
    "capability",
    "refuse",
    "instruction",
    "annotation",
    "right",
]
"""Kinds in the order of the label screen's keys, 1 to 8."""
NO_ERRORS: frozenset[ErrorKey] = frozenset({"annotation", "right"})
"""Kinds in which the model is not at fault: the question or its scoring is."""


class ErrorKind(NamedTuple):
    """A kind of error as the label screen explains it."""

    key: ErrorKey
    title: str
    definition: str
    example: str


ERROR_KINDS: Mapping[ErrorKey, ErrorKind] = {
    kind.key: kind
    for kind in (
        ErrorKind(
            "perception",
            "Perception error",
            "It fails to recognise, classify or detect objects or content of the image.",
            "A picture of four dogs: “There are three dogs, so B.”",
        ),
        ErrorKind(
            "reasoning",
            "Reasoning error",
            "It sees what's in the image, but reasons wrongly from it.",
            "“Three red and two blue balls, so blue is more common: C.”",
        ),
        ErrorKind(
            "knowledge",
            "Lack of knowledge",
            "It lacks knowledge of the domain, such as where a landmark is or when a painting was made.",
            "“This is the Atomium. It stands in Antwerp.”",
        ),
        ErrorKind(
            "capability",
            "Lack of capability",
            "It can't do this kind of task, and often says so.",
            "“I am not able to give pixel coordinates.”",
        ),
        ErrorKind(
            "refuse",
            "Refuse to answer",
            "It refuses a question that concerns people or is sensitive.",
            "“I'm sorry, I can't help with questions about the person in this picture.”",
        ),
        ErrorKind(
            "instruction",
            "Fail to follow the instruction",
            "It misunderstands the stated conditions or ignores the instruction, such as by writing a caption instead.",
            "Asked which of four options fits: “A street in the rain, with people under umbrellas.”",
        ),
        ErrorKind(
            "annotation",
            "The question is wrong",
            "Annotation error: the question, its options or its published answer is wrong, or several are right.",
            "The published answer is “cat”; the picture shows a dog.",
        ),
        ErrorKind(
            "right",
            "The answer is right",
            "It says what the published answer says: it was read wrongly, or the published answer is too narrow.",
            "The published answer is “sofa”; it says “a couch”.",
        ),
    )
}
KEYS = tuple(ERROR_KINDS)
assert get_args(ErrorKey) == KEYS, "the order of the kinds is that of the keys"

DECISION_ORDER: tuple[tuple[str, ErrorKey], ...] = (
    ("Is the answer right after all?", "right"),
    ("Is the question, or its published answer, wrong?", "annotation"),
    ("Did it refuse?", "refuse"),
    ("Does it say it can't do this?", "capability"),
    ("Did it answer another question?", "instruction"),
    ("Is what it says about the picture false?", "perception"),
    ("Is a fact from outside the picture missing?", "knowledge"),
    ("None of these? Then it reasoned wrongly.", "reasoning"),
)
"""The questions that lead a labeller to a kind, in order: the first yes is the main kind."""


class Label(NamedTuple):
    """One person's label of one wrong answer, in one round."""

    item: str
    group: str
    """The stratum that the answer was drawn from: subtask, ability, set of capabilities."""
    labeller: str
    """The person: a name from a file, or the `Mark.person` of a stored label."""
    main: ErrorKey
    further: tuple[ErrorKey, ...] = ()
    """Other kinds that apply, without `main`, in the order of the keys."""
    note: str = ""
    round: int = 1
    """A person's later round replaces the earlier; the first two show how far the person agrees with themselves."""
    marker: str = ""
    """The labeller's name in files, for a stored label."""


def kind_table(pairs: Iterable[tuple[ErrorKey, ErrorKey]]) -> Codes:
    """The number of pairs with each first kind (row) and second kind (column), in the order of the keys."""
    table = np.zeros((len(KEYS), len(KEYS)), int)
    for row, column in pairs:
        table[KEYS.index(row), KEYS.index(column)] += 1
    return table
