"""Layout: the tuples of a campaign (a pair of models and an item), and the votes that each is to get."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from math import comb

import numpy as np

from arena.battles.store import ItemPair
from arena.campaign_battles.spec import BattleSpec
from arena.items.store import Bank
from arena.ratings.assignment import pair_number
from arena.seats.quality import is_overlap, lot
from arena.seats.spec import CampaignError
from arena.types import Contestant, Item

TupleName = tuple[str, ...]
"""A tuple's item by its key, then its two models by name, in alphabetical order."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Tuples by code: pairs of models x items."""

    models: tuple[int, ...]
    """Ids, by code."""
    items: tuple[Item, ...]
    wanted: np.ndarray
    """The votes wanted, pairs x items; 0 if a model has no answer, or the design leaves a tuple out."""
    tuples: np.ndarray = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """The tuples of a fixed design in its order, n x 3: lower model, higher model, item. Empty for other designs."""

    @cached_property
    def answers(self) -> tuple[Mapping[int, Contestant], ...]:
        """The answers to each item, by the model's id."""
        return tuple(
            {contestant.model: contestant for contestant in item.contestants} for item in self.items
        )

    @cached_property
    def model_code(self) -> Mapping[int, int]:
        """Codes by id."""
        return {model: code for code, model in enumerate(self.models)}

    @cached_property
    def item_code(self) -> Mapping[int, int]:
        """Codes by id."""
        return {item.id: code for code, item in enumerate(self.items)}

    def place(self, battle: ItemPair) -> tuple[int, int] | None:
        """Returns the row and the column of a tuple; None if the campaign doesn't have it."""
        low = self.model_code.get(battle.low)
        high = self.model_code.get(battle.high)
        column = self.item_code.get(battle.item)
        if low is None or high is None or column is None:
            return None
        return pair_number(min(low, high), max(low, high), len(self.models)), column


def check_names(spec: BattleSpec, bank: Bank, names: Mapping[int, str]) -> None:
    """Raises CampaignError for a family, a model or a tuple that a new campaign's source lacks.

    `names` are the models' by id.
    """
    source_items = _source_items(spec, bank)
    _check_known("families", spec.families, {item.family for item in source_items})
    items = [item for item in source_items if not spec.families or item.family in spec.families]
    models_by_item = {
        item.key: {names[contestant.model] for contestant in item.contestants} for item in items
    }
    all_models = set().union(*models_by_item.values())
    _check_known("models", spec.models, all_models)
    chosen = all_models.intersection(spec.models or all_models)
    for number, fixed in enumerate(spec.fixed, 1):
        _check_known(f"the item of tuple {number}", (fixed.item,), models_by_item)
        _check_known(f"a model of tuple {number}", (fixed.model_a, fixed.model_b), chosen)
        if fixed.model_a == fixed.model_b:
            raise CampaignError(f"Tuple {number} names {fixed.model_a!r} twice. Name two models.")
        if not {fixed.model_a, fixed.model_b} <= models_by_item[fixed.item]:
            raise CampaignError(
                f"Tuple {number}: a model has no answer to item {fixed.item!r}. Leave the tuple out."
            )
    tuples = sum(comb(len(models & chosen), 2) for models in models_by_item.values())
    if spec.tuples is not None and spec.tuples > tuples:
        raise CampaignError(
            f"tuples is {spec.tuples:,}, but these models have only {tuples:,}. Lower it."
        )


def layout_of(spec: BattleSpec, bank: Bank, names: Mapping[int, str]) -> Layout:
    """Returns the tuples of a campaign in this bank, without those that the bank has lost since the campaign was made.

    `names` are the models' by id. Raises CampaignError if the source or all but one of the models are gone.
    """
    source_items = _source_items(spec, bank)
    items = tuple(
        item for item in source_items if not spec.families or item.family in spec.families
    )
    models_of_items = [{contestant.model for contestant in item.contestants} for item in items]
    all_models = set().union(*models_of_items)
    chosen = [model for model in all_models if not spec.models or names[model] in spec.models]
    models = tuple(sorted(chosen))
    if len(models) < 2:
        raise CampaignError(
            f"{spec.source!r} has answers from {len(models)} of these models, but a battle needs two. Name more models."
        )
    has_answer = np.array([[model in ids for ids in models_of_items] for model in models])
    low, high = np.triu_indices(len(models), 1)
    has_both = has_answer[low] & has_answer[high]
    if spec.design == "fixed":
        return _fixed_layout(spec, models, items, has_both, names)
    if spec.tuples is None and not spec.overlap:
        return Layout(models, items, np.where(has_both, spec.per_tuple, 0).astype(np.int32))
    places: dict[TupleName, tuple[int, int]] = {}
    for pair, column in np.argwhere(has_both).tolist():
        pair_names = sorted((names[models[low[pair]]], names[models[high[pair]]]))
        places[items[column].key, *pair_names] = (pair, column)
    wanted = np.zeros(has_both.shape, np.int32)
    for name in _draw_tuples(spec, list(places)):
        wanted[places[name]] = _votes_wanted(spec, name)
    return Layout(models, items, wanted)


def _draw_tuples(spec: BattleSpec, tuples: list[TupleName]) -> list[TupleName]:
    """Draws the number of tuples that a campaign asks for, or all if there are fewer.

    The draw is uniform, and the same while the bank stays the same.
    """
    if spec.tuples is None:
        return tuples
    return nsmallest(spec.tuples, tuples, key=lambda name: lot(f"{spec.name} tuples", name))


def _votes_wanted(spec: BattleSpec, name: TupleName) -> int:
    """Returns the fewest votes that a tuple is to get."""
    if is_overlap(spec.name, spec.overlap, name):
        return max(spec.per_tuple, spec.overlap_per_tuple)
    return spec.per_tuple


def _source_items(spec: BattleSpec, bank: Bank) -> list[Item]:
    """Returns the items of the campaign's source. Raises CampaignError for an unknown one."""
    sources = {source.name: source for source in bank.sources}
    source = sources.get(spec.source)
    if source is None:
        raise CampaignError(
            f"There is no source {spec.source!r}. Sources: {', '.join(sources) or 'none'}."
        )
    if source.kind == "check":
        raise CampaignError(
            f"source is {spec.source!r}, which has check items. Name it in checks.items instead."
        )
    return [item for item in bank.items.values() if item.source == source.id]


def _fixed_layout(
    spec: BattleSpec,
    models: tuple[int, ...],
    items: tuple[Item, ...],
    has_both: np.ndarray,
    names: Mapping[int, str],
) -> Layout:
    """Returns the layout of the design `fixed`; `has_both` is the mask of pairs x items with both answers."""
    model_code = {names[model]: code for code, model in enumerate(models)}
    item_code = {item.key: code for code, item in enumerate(items)}
    wanted = np.zeros(has_both.shape, np.int32)
    places: dict[TupleName, tuple[int, int]] = {}
    tuples = []
    for fixed in spec.fixed:
        # The bank may have lost the item or an answer since the campaign was made.
        has_item = fixed.item in item_code
        if not has_item or not {fixed.model_a, fixed.model_b} <= model_code.keys():
            continue
        low, high = sorted((model_code[fixed.model_a], model_code[fixed.model_b]))
        item = item_code[fixed.item]
        place = (pair_number(low, high, len(models)), item)
        if not has_both[place]:
            continue
        wanted[place] += spec.per_tuple  # A tuple that is listed twice gets twice the votes.
        pair_names = sorted((fixed.model_a, fixed.model_b))
        places[fixed.item, *pair_names] = place
        tuples.append((low, high, item))
    for name, place in places.items():
        wanted[place] = max(wanted[place], _votes_wanted(spec, name))
    each_once = list(dict.fromkeys(tuples))
    return Layout(models, items, wanted, np.array(each_once, np.int64).reshape(-1, 3))


def _check_known(field: str, names: tuple[str, ...], known: Collection[str]) -> None:
    """Raises CampaignError for a name that is not known; the message begins with `field`."""
    for name in names:
        if name not in known:
            first_names = ", ".join(sorted(known)[:20])
            raise CampaignError(
                f"{field}: {name[:80]!r} isn't in this source. Choose from: {first_names}."
            )
