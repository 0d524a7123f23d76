"""Layout: the tuples of a campaign, which are pairs of models on items, and the votes that each is to get."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest

import numpy as np

from arena.battles.store import Seen
from arena.campaign_battles.spec import BattleSpec
from arena.items.store import Bank
from arena.ratings.assignment import pair_number
from arena.seats.overlap import is_overlap, lot
from arena.seats.spec import CampaignError
from arena.types import Contestant, Item


@dataclass(frozen=True, eq=False)
class Layout:
    """Tuples by code: pairs of models x items."""

    models: tuple[int, ...]
    """Ids, by code."""
    items: tuple[Item, ...]
    wanted: np.ndarray
    """Votes wanted: pairs x items; 0 where a model has no answer, or the design leaves a tuple out."""
    tuples: tuple[tuple[int, int, int], ...]
    """Of a fixed design: (lower model, higher model, item), in its order."""

    @cached_property
    def answers(self) -> tuple[Mapping[int, Contestant], ...]:
        """Of each item: what each model, by id, answered."""
        return tuple({one.model: one for one in item.contestants} for item in self.items)

    @cached_property
    def model_code(self) -> Mapping[int, int]:
        return {model: code for code, model in enumerate(self.models)}

    @cached_property
    def item_code(self) -> Mapping[int, int]:
        return {item.id: code for code, item in enumerate(self.items)}

    def place(self, seen: Seen) -> tuple[int, int] | None:
        """Row and column of a tuple; None if it is none of the campaign's."""
        codes = (self.model_code.get(seen.low), self.model_code.get(seen.high))
        column = self.item_code.get(seen.item)
        if column is None or None in codes:
            return None
        first, second = sorted(code for code in codes if code is not None)
        return pair_number(first, second, len(self.models)), column


def layout_of(spec: BattleSpec, bank: Bank, names: Mapping[int, str]) -> Layout:
    """The tuples of a campaign in this bank; `names` are the models' by id. Raises CampaignError."""
    items = _items(spec, bank)
    who = [{one.model for one in item.contestants} for item in items]
    there = {model for answering in who for model in answering}
    _check_known("models", spec.models, {names[model] for model in there})
    models = tuple(
        sorted(model for model in there if not spec.models or names[model] in spec.models)
    )
    if len(models) < 2:
        raise CampaignError(
            f"{spec.source!r} has answers of {len(models)} of these models; a battle takes two"
        )
    answered = np.array([[model in answering for answering in who] for model in models])
    low, high = np.triu_indices(len(models), 1)
    both = answered[low] & answered[high]
    if spec.design == "fixed":
        return _fixed(spec, models, items, both, names)
    if spec.tuples is None and not spec.overlap:
        return Layout(models, items, np.where(both, spec.per_tuple, 0).astype(np.int32), ())
    wanted = np.zeros(both.shape, np.int32)
    named = {}
    for row, column in np.argwhere(both).tolist():
        pair = sorted((names[models[low[row]]], names[models[high[row]]]))
        named[items[column].key, *pair] = (row, column)
    for name in _drawn(spec, list(named)):
        wanted[named[name]] = _votes(spec, name)
    return Layout(models, items, wanted, ())


def _drawn(spec: BattleSpec, tuples: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Draws so many of these tuples uniformly as a campaign asks for; in a bank that stays, always the same ones.

    Raises CampaignError.
    """
    if spec.tuples is None:
        return tuples
    if spec.tuples > len(tuples):
        raise CampaignError(f"tuples is {spec.tuples:,}; there are {len(tuples):,} of these models")
    return nsmallest(spec.tuples, tuples, key=lambda one: lot(f"{spec.name} tuples", one))


def _votes(spec: BattleSpec, name: tuple[str, ...]) -> int:
    """The votes that a tuple gets at least; its name is the item's key and the models' names."""
    if is_overlap(spec.name, spec.overlap, name):
        return max(spec.per_tuple, spec.overlap_per_tuple)
    return spec.per_tuple


def _items(spec: BattleSpec, bank: Bank) -> tuple[Item, ...]:
    source = next((one for one in bank.sources if one.name == spec.source), None)
    if source is None:
        there = ", ".join(one.name for one in bank.sources) or "none"
        raise CampaignError(f"source is {spec.source!r}; there are: {there}")
    if source.kind == "check":
        raise CampaignError(
            f"source is {spec.source!r}, which holds check items; name it in checks.items"
        )
    of_source = [item for item in bank.items.values() if item.source == source.id]
    _check_known("families", spec.families, {item.family for item in of_source})
    return tuple(item for item in of_source if not spec.families or item.family in spec.families)


def _fixed(
    spec: BattleSpec,
    models: tuple[int, ...],
    items: tuple[Item, ...],
    both: np.ndarray,
    names: Mapping[int, str],
) -> Layout:
    code = {names[model]: number for number, model in enumerate(models)}
    column = {item.key: number for number, item in enumerate(items)}
    wanted = np.zeros(both.shape, np.int32)
    named = {}
    tuples = []
    for number, one in enumerate(spec.fixed, 1):
        _check_known(f"the item of tuple {number}", (one.item,), column)
        _check_known(f"a model of tuple {number}", (one.model_a, one.model_b), code)
        if one.model_a == one.model_b:
            raise CampaignError(
                f"tuple {number} names {one.model_a!r} twice; a battle takes two models"
            )
        low, high = sorted((code[one.model_a], code[one.model_b]))
        row = pair_number(low, high, len(models))
        if not both[row, column[one.item]]:
            raise CampaignError(f"tuple {number}: a model has no answer to item {one.item!r}")
        wanted[row, column[one.item]] += spec.per_tuple
        pair = sorted((one.model_a, one.model_b))
        named[one.item, *pair] = (row, column[one.item])
        tuples.append((low, high, column[one.item]))
    for name, place in named.items():
        wanted[place] = max(wanted[place], _votes(spec, name))
    return Layout(models, items, wanted, tuple(dict.fromkeys(tuples)))


def _check_known(what: str, given: tuple[str, ...], there) -> None:
    for name in given:
        if name not in there:
            some = ", ".join(sorted(there)[:20])
            raise CampaignError(
                f"{what}: {name[:80]!r} is none of this source's; there are: {some}"
            )
