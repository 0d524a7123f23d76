"""Search Arena battles: `messages_a` and `messages_b` of models that search the web, with a time in ISO 8601.

Source: the card of huggingface.co/datasets/lmarena-ai/search-arena-24k. Half of its rows are conversations without a
vote, which have no winner.
"""

from arena.formats import cells, conversations
from arena.formats.base import Format, Row, SkippedRow, Vote
from arena.formats.clean_battles import vote_of


def _vote(row: Row) -> Vote | SkippedRow:
    if row.get("winner") in (None, ""):
        return SkippedRow("no vote was cast")
    vote = vote_of(row, None, conversation="messages_a")
    return vote._replace(language=_language(row), category=cells.text(row, "primary_intent"))


def _language(row: Row) -> str | None:
    """Returns the only entry of `languages`. Without one, or with several, returns `language`; None if absent."""
    languages = cells.listed(row.get("languages"))
    if len(languages) == 1:
        return str(languages[0])
    return cells.text(row, "language")


SEARCH_ARENA = Format(
    name="search-arena",
    fits=lambda columns: {"model_a", "model_b", "winner", "messages_a"} <= columns,
    vote=_vote,
    answers=lambda row: conversations.answers_in(row, "messages_a", "messages_b"),
)
