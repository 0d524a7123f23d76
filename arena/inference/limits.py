"""Limits: the most images and text that a card allows in a conversation, and the most that an answer can cost."""

import math

from arena.types import Conversation, Generation, ModelCard, ModelError, Price, Usage

ATTEMPTS = 3
"""Attempts at a request; none after the first word of its answer."""
WHOLE = 10
"""A whole answer may take so many times the card's time-out."""
_PER_TURN = 16
"""Tokens that a chat template may put around one message."""


def check_limits(card: ModelCard, turns: Conversation) -> None:
    """Raises ModelError ("too big") for a conversation with more images or text than the card allows."""
    if (images := sum(len(turn.images) for turn in turns)) > card.images:
        allowed = f"{card.images} image{'' if card.images == 1 else 's'}"
        raise ModelError(
            "too big", f"the model takes {allowed}, the conversation has {images}; send fewer"
        )
    if (tokens := text_tokens(card, turns)) > card.prompt_tokens:
        raise ModelError(
            "too big",
            f"the model takes about {card.prompt_tokens} tokens of text, the conversation has {tokens}",
        )


def text_tokens(card: ModelCard, turns: Conversation) -> int:
    """Estimated tokens of the texts: four ASCII characters are one, and so is any other character."""
    text = card.system + "".join(turn.text for turn in turns)
    wide = sum(not character.isascii() for character in text)
    return (len(text) - wide) // 4 + wide + _PER_TURN * (len(turns) + 1)


def cost(price: Price | None, prompt: int, completion: int) -> int:
    """Cost of tokens in millionths of a US dollar, rounded up; 0 without a price."""
    return (
        0
        if price is None
        else math.ceil(round(prompt * price.prompt + completion * price.completion, 6))
    )


def most_usage(card: ModelCard, turns: Conversation, settings: Generation) -> Usage:
    """Upper bound of an answer's usage: no token of text is shorter than a byte."""
    written = len(card.system.encode()) + sum(
        len(turn.text.encode("utf-8", "replace")) for turn in turns
    )
    images = sum(len(turn.images) for turn in turns)
    prompt = written + _PER_TURN * (len(turns) + 1) + card.image_tokens * images
    return Usage(prompt, settings.max_tokens, cost(card.price, prompt, settings.max_tokens))


def most_cost(card: ModelCard, turns: Conversation, settings: Generation) -> int:
    """Upper bound of an answer's cost in millionths of a US dollar: every attempt costs its prompt."""
    most = most_usage(card, turns, settings)
    return cost(card.price, ATTEMPTS * most.prompt, most.completion)
