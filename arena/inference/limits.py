"""Limits: the most images and text that a card allows in a conversation, and the most that an answer can cost."""

import math

from arena.types import Conversation, Generation, ModelCard, ModelError, Price, Usage

ATTEMPTS = 3
"""Attempts at a request; once the first word or thought of an answer has come, it isn't repeated."""
WHOLE_ANSWER_TIMEOUTS = 10
"""The most time of a whole answer, as a multiple of the card's time-out; errors say "ten times"."""
_PER_TURN = 16
"""The tokens that a chat template may put around a message."""


def check_limits(card: ModelCard, turns: Conversation) -> None:
    """Raises ModelError ("too big") for a conversation with more images or text than the card allows."""
    if (images := sum(len(turn.images) for turn in turns)) > card.images:
        allowed = f"{card.images} image{'' if card.images == 1 else 's'}"
        raise ModelError(
            "too big", f"the model takes {allowed}, but the conversation has {images}. Send fewer"
        )
    if (tokens := text_tokens(card, turns)) > card.prompt_tokens:
        raise ModelError(
            "too big",
            f"the model takes about {card.prompt_tokens} tokens of text, but the conversation has {tokens}. Shorten it",
        )


def text_tokens(card: ModelCard, turns: Conversation) -> int:
    """Returns the estimated tokens of the texts: one for four ASCII characters, or for any other character.

    The template's tokens around each message and the system prompt are added.
    """
    text = card.system + "".join(turn.text for turn in turns)
    wide = sum(not character.isascii() for character in text)
    return (len(text) - wide) // 4 + wide + _PER_TURN * (len(turns) + 1)


def cost(price: Price | None, prompt: int, completion: int) -> int:
    """Returns the cost of tokens in millionths of a US dollar, rounded up; 0 without a price."""
    if price is None:
        return 0
    exact = prompt * price.prompt + completion * price.completion
    return math.ceil(round(exact, 6))  # unrounded, a tiny error of the sum would cost 1 more


def most_usage(card: ModelCard, turns: Conversation, settings: Generation) -> Usage:
    """Returns an upper bound of an answer's usage: no token of text is shorter than a byte."""
    written = len(card.system.encode()) + sum(
        len(turn.text.encode("utf-8", "replace")) for turn in turns
    )
    images = sum(len(turn.images) for turn in turns)
    prompt = written + _PER_TURN * (len(turns) + 1) + card.image_tokens * images
    return Usage(prompt, settings.max_tokens, cost(card.price, prompt, settings.max_tokens))


def most_cost(card: ModelCard, turns: Conversation, settings: Generation) -> int:
    """Returns an upper bound of an answer's cost in millionths of a US dollar: every attempt costs its prompt."""
    most = most_usage(card, turns, settings)
    return cost(card.price, ATTEMPTS * most.prompt, most.completion)
