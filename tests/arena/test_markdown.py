"""Rendering: nothing that runs, loads, hides or marks comes through; what an answer says does."""

import html
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena.markdown import (
    _MARK,
    MOST_HTML,
    MOST_MARKS,
    answer_html,
    instruction_html,
    plain_html,
    visible_text,
)
from tests.support.examples import examples
from tests.support.markup import PAYLOADS, read
from tests.support.screens import PHONE, fresh_page
from tests.support.timing import work_seconds


def test_there_are_many_payloads():
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 60


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads(payload):
    for text in (
        payload,
        f"Yes.\n\n{payload}\n\nNo.",
        f"- {payload}",
        f"> {payload}",
        f"|a|\n|-|\n|{payload}|",
    ):
        for rendered in (answer_html(text), plain_html(text), instruction_html(text)):
            assert read(rendered).wrong == []


_PIECES = st.one_of(
    st.sampled_from(PAYLOADS),
    st.sampled_from(["<", ">", "\"", "'", "`", "```\n", "[", "](", ")", "![", "|", "\n|-|-|\n", "\n\n"]),
    st.sampled_from(["&#x", ";", "# ", "~~", "**", "://", "javascript:", "\\"]),
    st.text(max_size=6),
)  # fmt: skip


@st.composite
def mutations(draw) -> str:
    """Return a few pieces in a row with some characters cut out or doubled."""
    text = "".join(draw(st.lists(_PIECES, min_size=1, max_size=5)))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, max(0, len(text) - 1)))
        change = draw(st.sampled_from(["", text[place : place + 2] * 2, "\\", "\n", "<"]))
        text = text[:place] + change + text[place + 1 :]
    return text


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(mutations())
def test_mutations_of_payloads(text):
    rendered = answer_html(text)
    assert read(rendered).wrong == []
    assert rendered == answer_html(text)
    assert "<img" not in rendered and " src=" not in re.sub(r">[^<]*<", "><", rendered)


def _unseen(text: str) -> list[str]:
    controls, directions = (
        "\0-\x08\x0b-\x1f\x7f-\x9f",
        "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    )
    return re.findall(
        f"[{controls}{directions}\u200b\u2060\ufeff\ud800-\udfff\U000e0000-\U000e007f]", text
    )


_ODD = st.sampled_from(
    [*"\u200b\u200c\u200d\u202e\u2066\ufeff\u0301\u0489\xa0\u3000\xad\ufe0f\ud800\udc00"]
    + [*"\r\n\t \0aé👩\u0645\u2028\U000e0041"]
)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.one_of(st.text(_ODD, max_size=40), st.text(st.one_of(_ODD, st.characters()), max_size=30))
)
def test_visible_text_once_is_enough(text):
    once = visible_text(text)
    assert visible_text(once) == once
    assert _unseen(once) == []
    assert not re.search("[\u0301\u0489\u200c\u200d]{9}", once)
    assert not re.search("[ \t](?:\n|\\Z)", once)
    for rendered in (answer_html(text), plain_html(text), instruction_html(text)):
        assert _unseen(html.unescape(rendered)) == []
        rendered.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb\u2066c\u200fd", "abcd"),
        ("G\u200bP\u2060T\ufeff", "GPT"),
        ("hi\U000e0041\U000e007f", "hi"),
        ("a\x00b\x1b[31mc\x85d", "ab[31mcd"),
        ("a \t\nb  \n\n", "a\nb"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("a\xa0b\u202fc", "a b c"),
        ("👩\u200d👧 می\u200cخواهم ❤\ufe0f", "👩\u200d👧 می\u200cخواهم ❤\ufe0f"),
        ("a\u200db \u200c c\u200d\u200d\u200d", "ab  c"),
        ("👩\u200d\u200c\u200d👧", "👩\u200d👧"),
        ("Z" + "\u0301" * 10_000, "Z" + "\u0301" * 8),
        ("x\ud800y\udfff", "x\ufffdy\ufffd"),
        ("日本語　です", "日本語　です"),
        ("    code", "    code"),
    ],
)
def test_visible_text(text, seen):
    assert visible_text(text) == seen


def test_entities_cannot_bring_the_unseen_back():
    assert answer_html("a&#x200b;b&#8238;c&#xE0041;d&nbsp;e") == '<p dir="auto">abcd e</p>'
    assert answer_html("a&#x200b;b") == answer_html("ab")


@pytest.mark.parametrize(
    "words, direction",
    [(("المبلغ", "البند"), "rtl"), (("1", "שני"), "rtl"), (("Sum", "البند"), "ltr")],
)
def test_a_table_runs_as_its_words_do(browser, words, direction):
    with fresh_page(browser, PHONE) as page:
        page.set_content(answer_html("|{}|{}|\n|-|-|\n|3.40|A|".format(*words)))
        assert (
            page.evaluate("getComputedStyle(document.querySelector('td')).direction") == direction
        )


def test_what_an_answer_says_comes_through():
    text = "\n".join(
        ["# Title", "## Part", "**bold** *thin* ~~no~~ `x<y`", "", "- one", "- two", "", "3. three", "4. four", "",
         "> said", "", "|a|b|", "|:-|-:|", "|1|2|", "", "```python", "if a < b:", "    pass", "```", "", "---", "",
         "[site](https://e.example/?a=1&b=2 \"title\") and <http://f.example>", "", "one", "two"]
    )  # fmt: skip
    rendered = answer_html(text)
    rel = 'target="_blank" rel="nofollow noopener noreferrer"'
    for part in (
        '<h4 dir="auto">Title</h4>', '<h5 dir="auto">Part</h5>', "<strong>bold</strong> <em>thin</em>",
        "<s>no</s> <code>x&lt;y</code>",
        '<ul dir="auto">\n<li>one</li>\n<li>two</li>\n</ul>', '<ol start="3" dir="auto">',
        '<blockquote>\n<p dir="auto">said</p>', '<table dir="auto">', "<th>a</th>", "<td>2</td>",
        "<pre><code>if a &lt; b:\n    pass\n</code></pre>", "<hr>",
        f'<a href="https://e.example/?a=1&amp;b=2" {rel}>site</a>',
        f'<a href="http://f.example" {rel}>http://f.example</a>', '<p dir="auto">one<br>\ntwo</p>',
    ):  # fmt: skip
        assert part in rendered
    assert read(rendered).wrong == []


def test_headings_cannot_outshout():
    rendered = answer_html(
        "\n\n".join(f"{'#' * level} t" for level in range(1, 7)) + "\n\nbig\n===\n"
    )
    assert re.findall(r"<(h\d)", rendered) == ["h4", "h5", "h6", "h6", "h6", "h6", "h4"]


def test_pictures_become_their_text():
    assert (
        answer_html("see ![a *red* car](https://e.example/x.png)")
        == '<p dir="auto">see a *red* car</p>'
    )
    assert (
        answer_html("![](https://e.example/x.png)")
        == '<div class="plain" dir="auto">![](https://e.example/x.png)</div>'
    )


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u200b\ufeff", "\x00"])
def test_no_answer(text):
    assert answer_html(text) == plain_html(text) == '<p class="empty">(no answer)</p>'
    assert instruction_html(text).strip() == ""


def test_an_answer_that_would_vanish_is_shown_as_it_is():
    assert (
        answer_html("[a]: https://e.example")
        == '<div class="plain" dir="auto">[a]: https://e.example</div>'
    )


def test_instructions_are_no_markdown():
    assert instruction_html('# a <b>\n*c* & "d"') == "# a &lt;b&gt;<br>*c* &amp; &quot;d&quot;"


BOMBS = {
    "wide": "|a" * 100 + "\n" + "|-" * 100 + "\n" + "|\n" * 9000,
    "wider": "|a" * 300 + "\n" + "|-" * 300 + "\n" + "|\n" * 8000,
    "full": "|a" * 20 + "\n" + "|-" * 20 + "\n" + ("|b" * 20 + "\n") * 470,
    "tall": "|a\n|-\n" + "|\n" * 9990,
    "brackets": "[" * 20_000,
    "pictures": "![" * 10_000,
    "links": "[a](" * 5000,
    "stars": "*a_" * 6600,
    "quotes": ">" * 20_000,
    "lists": "- " * 10_000,
    "ticks": "".join("`" * width + " " for width in range(190)),
    "angles": "<a " * 6600,
    "paragraphs": "a\n\n" * 6600,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_stay_small(name):
    rendered = answer_html(BOMBS[name])
    assert len(rendered) <= MOST_HTML
    assert read(rendered).wrong == []


@pytest.mark.soak
@pytest.mark.parametrize("bomb", [*BOMBS.values(), "**word** <b> " * 8000])
def test_bombs_are_quick(bomb):
    assert work_seconds(lambda: answer_html(bomb)) < 1


def test_long_answers_are_shown_whole():
    text = "**word** <b> " * 8000
    rendered = answer_html(text)
    assert rendered.startswith('<div class="plain" dir="auto">**word** &lt;b&gt;')
    assert "".join(read(rendered).text) == text.rstrip()
    assert answer_html("a" * 20_000).startswith("<p ")
    assert answer_html("a" * 20_001).startswith('<div class="plain" dir="auto">')
    accents = "é" * 50_000 + "\u0301" * 50_000
    assert len(answer_html(accents)) < 51_000


@pytest.mark.parametrize("sign", ["![", "[", "*a", "_", "~~a", "`a", "<a", "&", "$a", "\\", "a\n"])
def test_a_text_of_hardly_anything_but_marks_is_shown_as_it_is(sign):
    text = (sign * 20_000)[:20_000]
    assert answer_html(text) == plain_html(text)


def test_the_marks_of_a_long_answer_are_read():
    text = "**bold** `code` [a](https://e.example) and some more of the words\n\n" * 200
    assert answer_html(text).count("<strong>bold</strong> <code>code</code> <a ") == 200
    assert answer_html(f"{text}{'[' * 1000}") == plain_html(f"{text}{'[' * 1000}")


def test_a_text_is_read_as_far_as_the_next_mark():
    text = "1. a - b + c: d = e > f @ g ^ h {i} % # j; 5 - 3\n2. **k**#l"
    assert answer_html(text) == (
        '<ol dir="auto">\n<li>a - b + c: d = e &gt; f @ g ^ h {i} % # j; 5 - 3</li>\n'
        "<li><strong>k</strong>#l</li>\n</ol>"
    )


def test_an_answer_with_a_few_marks_more_is_shown_as_it_is():
    assert answer_html("[" * MOST_MARKS).startswith("<p ")
    assert answer_html("[" * (MOST_MARKS + 1)).startswith('<div class="plain" ')


@pytest.mark.soak
@pytest.mark.parametrize(
    "sign", ["![", "[", "![a](", "[!", "*a", "_*a", "x\n$$a\n", "# a\n", "- a\n", "|-|\n"]
)
def test_an_answer_of_the_most_marks_is_quick(sign):
    marks = len(_MARK.findall(sign))
    text = sign * (MOST_MARKS // marks)
    assert work_seconds(lambda: answer_html(text)) < 0.5
    assert work_seconds(lambda: answer_html(text * 20)) < 0.05
