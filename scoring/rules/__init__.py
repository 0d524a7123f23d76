"""TEMP"""

from typing import Literal

from pydantic import ConfigDict

from scoring.multiple_choice.extract import extract
from scoring.rules.base import Reading, RuleKind, unread

ALLP = frozenset(("strict", "vlmevalkit", "lmms-eval", "authors", "mmbench-paper", "mmt-paper"))


class _T(RuleKind):
    model_config = ConfigDict(frozen=True, extra="allow")

    def protocols(self):
        return ALLP

    def _read(self, item, answer, protocol):
        truth = self.truth_of(item)
        if item.options:
            d = extract(answer, item.options, "strict")
            if d.letter is None:
                return unread(protocol, str(d.rule), d.open)
            return Reading(float(d.letter == truth), d.letter, str(d.rule))
        ok = (truth or "").casefold() == answer.strip().casefold()
        return Reading(float(ok), answer.strip()[:20], "equal")


def _kind(name):
    return type(name, (_T,), {"__annotations__": {"kind": Literal[name]}, "kind": name})


KINDS = {n: _kind(n) for n in ("letter", "yes_no", "number", "relaxed", "anls", "text", "open")}
