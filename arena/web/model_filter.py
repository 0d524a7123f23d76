"""Model filter: the models that a board's page lists, by their facts. Ratings stay those of all models.

A model whose fact is unknown doesn't pass.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from arena.locale import t
from arena.model_facts import MOST_LETTERS, ModelFacts, licence_text, parse_size, size_text

FIELDS = ("open", "most", "organisation", "licence", "facts")
"""The parameters of an address. `most`: the largest size, such as "8B"; `facts`: "1" to show the column of facts."""
_UNKNOWN: Mapping[str, str] = {
    "open": "filter.unknown_open",
    "most": "filter.unknown_most",
    "organisation": "filter.unknown_organisation",
    "licence": "filter.unknown_licence",
}
"""The keys of the texts for unknown facts, by each field that leaves out models."""


class Filtered(NamedTuple):
    """The models that pass a filter."""

    models: frozenset[str]
    notes: Sequence[str]
    unknown: Mapping[str, int]
    """The number of models that each field leaves out because the fact is unknown."""


class ModelFilter(NamedTuple):
    """The filter in an address, as it was sent. A field without a valid value is empty."""

    open: str = ""
    most: str = ""
    organisation: str = ""
    licence: str = ""
    facts: str = ""

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> "ModelFilter":
        """Reads the parameters of an address; values that aren't valid are dropped."""

        def name(field: str) -> str:
            value = query.get(field, "")
            return value.strip() if len(value) <= MOST_LETTERS else ""

        def flag(field: str) -> str:
            return "1" if query.get(field) == "1" else ""

        size = query.get("most", "")
        return cls(
            open=flag("open"),
            most=size if parse_size(size) else "",
            organisation=name("organisation"),
            licence=name("licence"),
            facts=flag("facts"),
        )

    @property
    def query(self) -> dict[str, str]:
        """The parameters of an address."""
        return {field: value for field, value in self._asdict().items() if value}

    @property
    def in_use(self) -> list[str]:
        """The fields that leave out models."""
        return [field for field in _UNKNOWN if getattr(self, field)]

    def apply(self, models: Sequence[str], facts: Mapping[str, ModelFacts]) -> Filtered | None:
        """Returns the models that pass every field in use; None if no field is in use."""
        if not self.in_use:
            return None
        passing = set(models)
        unknown = {}
        for field in self.in_use:
            passes = {model: self._passes(field, facts.get(model)) for model in models}
            passing &= {model for model in models if passes[model]}
            unknown[field] = list(passes.values()).count(None)
        notes = [t("filter.shown", shown=len(passing), count=len(models))]
        if not passing:
            notes = [self._nobody_sentence]
        gaps = [t(_UNKNOWN[field], count=count) for field, count in unknown.items() if count]
        if gaps:
            notes.append(t("filter.gaps", gaps=t("names.comma").join(gaps)))
        return Filtered(frozenset(passing), notes, unknown)

    def _passes(self, field: str, facts: ModelFacts | None) -> bool | None:
        """Whether a model passes a field; None if the fact is unknown."""
        if facts is None:
            return None
        if field == "open":
            return facts.is_open
        if field == "most":
            # The rounded size, as the page shows it.
            size = parse_size(facts.size) if facts.size else None
            return size <= _parameters(self.most) if size else None
        if field == "organisation":
            fact = facts.organisation
            wanted = self.organisation
        else:
            fact = facts.licence
            wanted = licence_text(self.licence)
        return fact.casefold() == wanted.casefold() if fact else None

    @property
    def _nobody_sentence(self) -> str:
        """The sentence that no model passes."""
        sentences: Mapping[str, str] = {
            "open": t("filter.none_open"),
            "most": t("filter.none_most", size=size_text(parse_size(self.most) or 1)),
            "organisation": t("filter.none_organisation", maker=self.organisation),
            "licence": t("filter.none_licence", licence=licence_text(self.licence)),
        }
        return sentences[self.in_use[0]] if len(self.in_use) == 1 else t("filter.none_all")


class FilterMenu(NamedTuple):
    """The menu of a field."""

    field: str
    label: str
    values: Mapping[str, str]
    """Each choice's value in an address, by its label."""
    chosen: str
    """The label of the choice; "" for all."""


_STEPS = ("1B", "3B", "8B", "14B", "34B", "80B", "250B")
"""The sizes in the menu of the most parameters."""


def menus(chosen: ModelFilter, facts: Sequence[ModelFacts]) -> Iterator[FilterMenu]:
    """Yields the menus that can tell models with these facts apart."""
    makers = _names(model.organisation for model in facts)
    licences = _names(model.licence for model in facts)
    sizes = [parse_size(model.size) or 0 for model in facts if model.size]
    # A step with all models on one side tells none apart.
    steps = []
    if sizes:
        steps = [step for step in _STEPS if min(sizes) <= _parameters(step) < max(sizes)]
    if chosen.organisation or makers:
        yield FilterMenu("organisation", t("facts.maker"), makers, chosen.organisation)
    if chosen.open or any(model.is_open is not None for model in facts):
        open_label = t("facts.open")
        chosen_label = open_label if chosen.open else ""
        yield FilterMenu("open", t("facts.weights"), {open_label: "1"}, chosen_label)
    if chosen.most or steps:
        values = {t("filter.at_most", size=step): step for step in steps}
        chosen_label = ""
        if chosen.most:
            chosen_label = t("filter.at_most", size=size_text(_parameters(chosen.most)))
        yield FilterMenu("most", t("filter.size"), values, chosen_label)
    if chosen.licence or licences:
        yield FilterMenu("licence", t("facts.licence"), licences, licence_text(chosen.licence))


def _parameters(size: str) -> int:
    """Returns the number of parameters in a valid size."""
    return parse_size(size) or 0


def _names(values: Iterable[str | None]) -> dict[str, str]:
    """Returns the known values as the choices of a menu."""
    known = {value for value in values if value}
    return {name: name for name in sorted(known, key=str.casefold)}
