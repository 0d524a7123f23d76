"""TEMP"""

from typing import Any, Literal

from pydantic import Field

from scoring.rules.base import *

ALLP = frozenset(("strict", "vlmevalkit", "lmms-eval", "authors", "mmbench-paper", "mmt-paper"))


class _T(RuleKind):
    model_config = ConfigDict(frozen=True, extra="allow")

    def protocols(self):
        return ALLP

    def reading(self, item, answer, protocol):
        from scoring.multiple_choice.extract import extract

        if item.options:
            d = extract(answer, item.options, "strict")
            if d.letter is None:
                return Reading(None if protocol == "strict" else 0.0, "", str(d.rule), d.open)
            return Reading(float(d.letter == item.truth), d.letter, str(d.rule))
        ok = (item.truth or "").casefold() == answer.strip().casefold()
        return Reading(float(ok), answer.strip()[:20], "equal")


class L(_T):
    kind: Literal["letter"] = "letter"


class Y(_T):
    kind: Literal["yes_no"] = "yes_no"


class N(_T):
    kind: Literal["number"] = "number"


class R(_T):
    kind: Literal["relaxed"] = "relaxed"


class A(_T):
    kind: Literal["anls"] = "anls"


class T(_T):
    kind: Literal["text"] = "text"


class O(_T):
    kind: Literal["open"] = "open"


KINDS = {c.model_fields["kind"].default: c for c in (L, Y, N, R, A, T, O)}
