"""What a page is told of a growing text: together what can be seen of it, each block rendered once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from arena.live.streaming import WordBuffer
from arena.markdown import visible_text
from arena.templates import macros
from arena.web.visitor_api import GrowingText
from tests.support.examples import examples

PIECES = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        [
            "\u200d",
            "\u200c",
            "\u0301" * 5,
            "\u200b",
            " ",
            "\u3000",
            "\n",
            "\n\n",
            "\r\n",
            "  \n",
            "\u2028",
            "\xa0",
        ]
    ),
    st.sampled_from(
        ["a", "word ", "é", "是", "\U0001f469", "\u0e34", "```\n", "~~~", "\ud800", "\x85"]
    ),
)


def told(parts: list[str], steps: list[int]) -> tuple[str, list[str]]:
    """Tell a text that comes in parts, some words at a time; return it as the page then shows it, and its blocks."""
    words, page = WordBuffer(), GrowingText()
    for part in parts:
        words.add(part)
    words.close()
    shown, blocks, last = 0, [], ""
    for step in [*steps, len(words)]:
        upto = min(len(words), shown + step)
        said = page.add(words.text(shown, upto))
        if "blocks" in said:
            blocks.append(said["blocks"])
        last = said["last"] if "last" in said else last + said["added"]
        shown = upto
    return last, blocks


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(PIECES, max_size=30), st.lists(st.integers(1, 4), max_size=30))
def test_what_is_told_is_what_can_be_seen(parts, steps):
    text = visible_text("".join(parts).rstrip())
    last, blocks = told(parts, steps)
    assert text.endswith(last)
    if not blocks:
        assert last == text


def test_each_block_is_rendered_once_and_code_is_whole():
    text = "# One\n\ntwo words\n\n\n```\nx\n\ny\n```\n\n    indented\n\nlast one"
    last, blocks = told([text], [1] * 40)
    whole = ["# One\n\n", "two words\n\n\n", "```\nx\n\ny\n```\n\n    indented\n\n"]
    assert (last, blocks) == ("last one", [macros("battle.html").side(block) for block in whole])
