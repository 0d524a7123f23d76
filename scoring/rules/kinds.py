"""The kinds of rule by name: each has its own file and a line here."""

from collections.abc import Mapping

from scoring.rules.anls import AnlsRule
from scoring.rules.base import RuleKind
from scoring.rules.letter import LetterRule
from scoring.rules.number import NumberRule
from scoring.rules.open import OpenRule
from scoring.rules.pairwise import PairwiseRule
from scoring.rules.relaxed import RelaxedRule
from scoring.rules.rubric import RubricRule
from scoring.rules.text import TextRule
from scoring.rules.yes_no import YesNoRule

KINDS: Mapping[str, type[RuleKind]] = {
    "letter": LetterRule,
    "yes_no": YesNoRule,
    "number": NumberRule,
    "relaxed": RelaxedRule,
    "anls": AnlsRule,
    "text": TextRule,
    "open": OpenRule,
    "rubric": RubricRule,
    "pairwise": PairwiseRule,
}
"""All kinds, by their names in a benchmark's rule."""
