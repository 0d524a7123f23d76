"""The text of a question: what is nothing to answer."""

import pytest

from arena.live.queue import LiveError
from arena.live.sessions import checked_text


@pytest.mark.parametrize(
    "text",
    ["", " \n", "\u200b", "\u2060 \ufeff", "\u00a0\u3000", "\u3164", "\u2800\u115f", "\u034f"],
)
def test_a_text_that_nobody_sees_is_empty(text):
    with pytest.raises(LiveError, match="Write an instruction first"):
        checked_text(text)


@pytest.mark.parametrize("text", ["?", " what is it \n", "क्‍ष", "👩‍🚀", "\U0001fae8", "这是什么"])
def test_any_visible_text_is_taken_as_it_is_without_blanks_around_it(text):
    assert checked_text(text) == text.strip()


@pytest.mark.parametrize(("text", "plain"), [("a\vb\fc", "a\nb\nc"), ("\fa\tb\n", "a\tb")])
def test_breaks_of_other_programs_are_line_breaks(text, plain):
    """Nobody finds them in a text that was pasted, and then they are no fault of it."""
    assert checked_text(text) == plain


@pytest.mark.parametrize("text", ["a\x07b", "a\0b", "a\x1bb", "a\ud800b"])
def test_what_cannot_be_printed_is_refused(text):
    with pytest.raises(LiveError, match="invisible characters"):
        checked_text(text)
