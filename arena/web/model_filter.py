"""Model filter: which models of a board its page shows, by what is known of them; numbers stay those of all models.

What isn't known of a model never passes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from arena.model_facts import MOST_LETTERS, ModelFacts, licence_text, parse_size, size_text
from arena.templates import plural

FIELDS = ("open", "most", "organisation", "licence", "facts")
"""The parameters of an address, `facts` for the column."""
_UNKNOWN: Mapping[str, str] = {
    "open": "weights",
    "most": "size",
    "organisation": "maker",
    "licence": "licence",
}


class Filtered(NamedTuple):
    """What a filter leaves of a board's models."""

    shown: frozenset[str]
    notes: Sequence[str]
    unknown: Mapping[str, int]
    """Of each filter in use, how many models it leaves out because nobody knows."""


class ModelFilter(NamedTuple):
    """What an address asks of the models, as it was sent; what makes no sense is empty."""

    open: str = ""
    most: str = ""
    organisation: str = ""
    licence: str = ""
    facts: str = ""

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> "ModelFilter":
        sizes = asked.get("most", "")
        names = {
            field: asked[field].strip()
            for field in ("organisation", "licence")
            if len(asked.get(field, "")) <= MOST_LETTERS and field in asked
        }
        flags = {field: "1" for field in ("open", "facts") if asked.get(field) == "1"}
        return cls(most=sizes if parse_size(sizes) else "", **names, **flags)

    @property
    def query(self) -> dict[str, str]:
        """Return the parameters of an address."""
        return {field: value for field, value in self._asdict().items() if value}

    @property
    def in_use(self) -> list[str]:
        return [name for name in _UNKNOWN if getattr(self, name)]

    def apply(self, models: Sequence[str], facts: Mapping[str, ModelFacts]) -> Filtered | None:
        """Return what it leaves of models by name; None where it asks nothing."""
        if not self.in_use:
            return None
        passes = {
            name: {model: self._passes(name, facts.get(model)) for model in models}
            for name in self.in_use
        }
        shown = frozenset(
            model for model in models if all(found[model] for found in passes.values())
        )
        unknown = {
            name: sum(passed is None for passed in found.values()) for name, found in passes.items()
        }
        notes = [f"{len(shown)} of {plural(len(models), 'model')} shown; ratings are of all."]
        if not shown:
            notes = [self._nobody]
        gaps = [
            f"{_UNKNOWN[name]} of {plural(count, 'model')}"
            for name, count in unknown.items()
            if count
        ]
        if gaps:
            notes.append(f"Not shown because unknown: {', '.join(gaps)}.")
        return Filtered(shown, notes, unknown)

    def _passes(self, name: str, facts: ModelFacts | None) -> bool | None:
        """Whether a model passes one filter; None where that isn't known."""
        if facts is None:
            return None
        if name == "open":
            return facts.is_open
        if name == "most":
            size = facts.size and parse_size(facts.size)  # as it is shown
            return size <= (parse_size(self.most) or 0) if size else None
        known = facts.organisation if name == "organisation" else facts.licence
        asked = self.organisation if name == "organisation" else licence_text(self.licence)
        return known.casefold() == asked.casefold() if known else None

    @property
    def _nobody(self) -> str:
        """Say that no model passes."""
        said: Mapping[str, str] = {
            "open": "No model here is known to have open weights.",
            "most": f"No model here is known to have at most {size_text(parse_size(self.most) or 1)} parameters.",
            "organisation": f"No model here is known to be made by {self.organisation}.",
            "licence": f"No model here is known to have the licence {licence_text(self.licence)}.",
        }
        first, *others = self.in_use
        return "No model here is known to fit all these filters." if others else said[first]


class FilterMenu(NamedTuple):
    """The choices of one filter, by what they say: the value in an address."""

    field: str
    label: str
    values: Mapping[str, str]
    shown: str
    """What is chosen, in words; "" for all."""


_STEPS = ("1B", "3B", "8B", "14B", "34B", "80B", "250B")


def menus(asked: ModelFilter, facts: Sequence[ModelFacts]) -> Iterator[FilterMenu]:
    """Yield the filters that can choose among models with these facts, and the column of facts."""
    makers = _names(one.organisation for one in facts)
    licences = _names(one.licence for one in facts)
    sizes = [parse_size(one.size) or 0 for one in facts if one.size]
    steps = [step for step in _STEPS if sizes and min(sizes) <= (parse_size(step) or 0)]
    largest = [step for step in steps if max(sizes) <= (parse_size(step) or 0)]
    steps = steps[: len(steps) - len(largest)]
    if asked.organisation or makers:
        yield FilterMenu("organisation", "Maker", makers, asked.organisation)
    if asked.open or any(one.is_open is not None for one in facts):
        yield FilterMenu("open", "Weights", {"open": "1"}, "open" if asked.open else "")
    if asked.most or steps:
        values = {f"at most {step}": step for step in steps}
        shown = f"at most {size_text(parse_size(asked.most) or 1)}" if asked.most else ""
        yield FilterMenu("most", "Size", values, shown)
    if asked.licence or licences:
        yield FilterMenu("licence", "Licence", licences, licence_text(asked.licence))


def _names(found: Iterable[str | None]) -> dict[str, str]:
    return {name: name for name in sorted(set(filter(None, found)), key=str.casefold)}
