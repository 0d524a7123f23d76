"""Base of the kinds of models: the keys that all `[[models]]` tables share, and the record that a kind consists of."""

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeAlias

from pydantic import BaseModel, StringConstraints, model_validator

from arena.inference.local_process import ProcessPool
from arena.model_facts import NOTHING_STATED, StatedFacts
from arena.types import VLM, Alternatives, Answerer, Generation, ModelCard, Price, Secret
from arena.validation import must_be, number, whole

Stripped: TypeAlias = Annotated[
    str, StringConstraints(strip_whitespace=True), must_be("text in quotes")
]
Text: TypeAlias = Annotated[Stripped, must_be("text in quotes", bool)]
"""A text that isn't empty."""
_Dollars: TypeAlias = Annotated[float, number(0, 1_000_000)]


class CardTable(BaseModel, frozen=True, extra="forbid", strict=True):
    """The keys that tables of all kinds share; a key named like a field of the card sets it."""

    card_type: ClassVar[type[ModelCard]] = ModelCard
    """The card's class; a kind with settings of its own keeps them in a subclass."""

    name: Text
    kind: str
    images: Annotated[int, whole(0, 100)] = ModelCard.images
    prompt_tokens: Annotated[int, whole(1, 10_000_000)] = ModelCard.prompt_tokens
    image_tokens: Annotated[int, whole(1, 1_000_000)] = ModelCard.image_tokens
    system: Stripped = ""
    max_tokens: Annotated[int, whole(1, 1_000_000)] = Generation.max_tokens
    temperature: Annotated[float, number(0, 2)] | None = None
    top_p: Annotated[float, number(0, 1)] | None = None
    seed: Annotated[int, whole(0, 2**31 - 1)] | None = None
    prompt_price: _Dollars | None = None
    completion_price: _Dollars | None = None
    timeout: Annotated[float, number(0.1, 3600)] = ModelCard.timeout
    at_once: Annotated[int, whole(1, 1000)] = ModelCard.at_once
    live: Annotated[bool, must_be("true or false")] = False
    facts: StatedFacts = NOTHING_STATED

    @model_validator(mode="after")
    def _check_prices(self) -> Self:
        if (self.prompt_price is None) != (self.completion_price is None):
            missing = "prompt_price" if self.prompt_price is None else "completion_price"
            raise ValueError(
                f"{missing} is missing. Give it in US dollars per million tokens, like the other price."
            )
        return self

    def other_fields(self, secret: Callable[[str], Secret]) -> dict[str, Any]:
        """Returns the card's fields that the table has under other names.

        `secret` returns the secret in an environment variable.
        """
        return {}

    def card(self, secret: Callable[[str], Secret]) -> ModelCard:
        """Returns the table's card. Raises the error of `secret` for a variable that is not set."""
        names = {field.name for field in fields(self.card_type)}
        table_fields = iter(self)  # pydantic yields each field's name and value
        card_fields = {name: value for name, value in table_fields if name in names}
        price = None
        if self.prompt_price is not None and self.completion_price is not None:
            price = Price(self.prompt_price, self.completion_price)
        card_fields["price"] = price
        card_fields["generation"] = Generation(
            self.max_tokens, self.temperature, self.top_p, self.seed
        )
        card_fields |= self.other_fields(secret)
        return self.card_type(**card_fields)


class ModelKind(NamedTuple):
    """A kind of models: how its tables become cards, and cards become models."""

    table: type[CardTable]
    vlm: Callable[[ModelCard, ProcessPool], VLM]
    """Makes a card's model; one that runs on this machine takes its process from the pool."""
    batched: bool = False
    """Whether a model answers one request at a time: an offline run sends `at_once` conversations in one batch, and
    live battles wait for each other. Otherwise `at_once` calls run in parallel.
    """
    chooser: Callable[[ModelCard, ProcessPool], Answerer[Alternatives]] | None = None
    """Makes an answerer that weighs texts by their likelihood; its answers are JSON lists, as from `LocalChooser`.
    None: the kind has no likelihoods.
    """
