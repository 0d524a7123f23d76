"""Markdown: turns untrusted model text into safe HTML, with the same subset for both sides.

Nothing in the HTML runs, loads, hides or identifies a model. Formulas are inserted after the cleaning, which removes
MathML from answers.
"""

import html
import re
import secrets
import unicodedata
from collections.abc import Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from arena.formulas import Formula, formula_at, mathml

MOST_TEXT = 20_000
"""Most characters of an answer that is rendered as Markdown; longer answers are shown as plain text."""
MOST_MARKS = 2_000
"""Most line ends and characters with a meaning within a line; an answer with more is shown as plain text.

Each of them may be compared with all others. The densest real answers have 140 in 1,000 characters.
"""
MOST_HTML = 200_000
"""Most characters of rendered HTML; an answer that needs more is shown as plain text."""
MOST_FORMULAS = 100
"""Most formulas of an answer; further ones are shown as their source."""
NO_ANSWER = Markup('<p class="empty">(no answer)</p>')
"""Placeholder for an empty answer."""

_TEXT_TAGS = ("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li")
_TABLE_TAGS = ("table", "thead", "tbody", "tr", "th", "td")
TAGS = frozenset((*_TEXT_TAGS, *_TABLE_TAGS, "h4", "h5", "h6", "a"))
"""Elements that `answer_html` can return, besides the `div class="plain"` around plain text."""

_MARK = re.compile(r"[\n!$&*<\[\\\]_`~]")
_LINK = re.compile(r"https?://[^/\s]", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*+>")
_JOINERS = re.compile("[\u200c\u200d]+")
_LINE_END = re.compile("(?<![ \t\u3000\u200c\u200d])[ \t\u3000\u200c\u200d]++(?=\n|\\Z)")
_FORMULA_PLACE = re.compile(r"formula([0-9a-f]{16})n([0-9]{1,3})e")
_MOST_FORMULA_LINES = 40
_TAGS_WITH_DIRECTION = frozenset(("p", "h4", "h5", "h6", "ul", "ol", "table"))
_MOST_COMBINING_MARKS = 8
"""Most combining marks on one character."""
_MOST_CELLS = 20_000
"""Most cells of tables; more would exceed MOST_HTML."""

# Cc except \n and \t; soft hyphen, grapheme joiner, bidi controls, fillers, zero widths, format controls, variation
# selectors except emoji's two, byte order mark, interlinear notes, shorthand and musical controls, tags.
_INVISIBLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SPACES = re.compile("[\xa0\u2000-\u200a\u202f\u205f\u2800]")
_NEWLINES = re.compile("\r\n?|[\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_INVISIBLE_IN_NAME = re.compile(
    # A name keeps \r, which is a line break.
    f"(?!\r)(?:{_INVISIBLE.pattern}|[\u2028\u2029\u2800\ud800-\udfff\ufffe\uffff])"
)
_MAY_CHANGE = re.compile(f"(?:{_INVISIBLE.pattern}|{_SPACES.pattern}|[\\s\u200c\u200d])*+")


def answer_html(text: str) -> Markup:
    """Returns an answer as HTML: CommonMark with tables and strikethrough, no images, links to http and https only.

    An answer of more than 20,000 characters or 2,000 marks, with tables of more than 20,000 cells, with more than
    200,000 characters of HTML, or with empty HTML is shown as plain text, since rendering takes unbounded time. Equal
    text gives equal HTML.
    """
    visible = visible_text(text)
    if not visible.strip():
        return NO_ANSWER
    if (
        len(visible) > MOST_TEXT
        or _count_marks(visible) > MOST_MARKS
        or _most_cells(visible) > _MOST_CELLS
    ):
        return plain_html(visible)
    formulas = _Formulas()
    # again, since Markdown turns &#x200b; into the character
    rendered = visible_text(_render(visible, formulas))
    if len(rendered) > MOST_HTML:
        return plain_html(visible)
    clean = nh3.clean(
        rendered,
        tags=set(TAGS),
        attributes={
            "*": set(),
            "a": {"href"},
            **dict.fromkeys(_TAGS_WITH_DIRECTION, {"dir"}),
            "ol": {"start", "dir"},
        },
        attribute_filter=_valid_attribute,
        url_schemes={"http", "https"},
        link_rel="nofollow noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    ).strip()
    if not _TAG.sub("", clean).strip():
        return plain_html(visible)
    return Markup(formulas.put_into(clean))


class _Formulas:
    """The formulas of one text; each has a placeholder in the HTML with a random name that an answer cannot guess."""

    def __init__(self) -> None:
        self._name = secrets.token_hex(8)
        self._htmls: list[str] = []
        self._length = 0

    def placeholder(self, formula: Formula, source: str) -> str:
        """Returns the placeholder of a formula, or its source if there are too many or it cannot be converted."""
        converted = None
        if len(self._htmls) < MOST_FORMULAS and self._length < MOST_HTML:
            converted = mathml(formula)
        if converted is None:
            return html.escape(source)
        kind = "formula display" if formula.display else "formula"
        converted = visible_text(converted)  # the conversion turns &#x3164; into the character
        self._htmls.append(f'<span class="{kind}">{converted}</span>')
        self._length += len(converted)
        return f"formula{self._name}n{len(self._htmls) - 1}e"

    def put_into(self, clean: str) -> str:
        """Returns cleaned HTML with the placeholders replaced by formulas."""
        return _FORMULA_PLACE.sub(self._html_at, clean)

    def _html_at(self, place: re.Match[str]) -> str:
        """Returns the formula of a placeholder; text that merely looks like one stays as it is."""
        if place[1] != self._name:
            return place[0]
        return self._htmls[int(place[2])]


def _valid_attribute(tag: str, attribute: str, value: str) -> str | None:
    """Drops an invalid link address: `[a]()` passes Markdown's own check."""
    if attribute == "href" and not _LINK.match(value):
        return None
    return value


def plain_html(text: str) -> Markup:
    """Returns the text escaped in `<div class="plain">`, which the page shows with `white-space: pre-wrap`."""
    visible = visible_text(text)
    if not visible.strip():
        return NO_ANSWER
    return Markup(f'<div class="plain" dir="auto">{html.escape(visible)}</div>')


def instruction_html(text: str) -> Markup:
    """Returns an instruction escaped, with its line breaks; it is never rendered as Markdown."""
    return Markup(html.escape(visible_text(text)).replace("\n", "<br>"))


def visible_text(text: str) -> str:
    """Removes invisible characters, which could identify a model. Idempotent.

    Removes controls, bidi controls, zero widths, fillers, tag characters, spaces at line ends, and combining marks
    after the eighth. ZWJ and ZWNJ stay between non-ASCII characters (emoji, Persian). Odd spaces become a space, lone
    surrogates U+FFFD.
    """
    text = _NEWLINES.sub("\n", text)
    if not text.isascii():
        text = _SURROGATES.sub("\ufffd", text)
        text = _SPACES.sub(" ", text)
    text = _INVISIBLE.sub("", text)
    if not text.isascii():
        text = _JOINERS.sub(_kept_joiner, _limit_combining_marks(text))
    return _LINE_END.sub("", text).strip("\n")


def visible_name(text: str) -> str:
    """Replaces invisible characters in a title or a name by codes, as in `gpt-4<U+200B>`. Idempotent.

    They could reverse letters or imitate another name, and drawings can't hold some of them. A single joiner stays
    between two characters that aren't ASCII, as in `visible_text`.
    """
    if text.isascii() and text.isprintable():
        return text
    # Joiners come last, since the codes are ASCII.
    with_joiners = _INVISIBLE_IN_NAME.sub(_codes_of, text)
    return _JOINERS.sub(_joiner_in_name, with_joiners)


def seen_length(text: str) -> int:
    """Returns the length of a growing text without trailing blanks and invisible characters, which may still change."""
    backwards = text[::-1]
    may_change = _MAY_CHANGE.match(backwards)
    return len(text) - len(may_change[0])  # type: ignore[index]


def _limit_combining_marks(text: str) -> str:
    characters = []
    marks = 0
    for character in text:
        # Cf: a joiner between marks doesn't begin a new count
        is_mark = unicodedata.category(character) in ("Mn", "Me", "Cf")
        marks = marks + 1 if is_mark else 0
        if marks <= _MOST_COMBINING_MARKS:
            characters.append(character)
    return "".join(characters)


def _codes_of(invisible: re.Match[str]) -> str:
    return "".join(f"<U+{ord(character):04X}>" for character in invisible[0])


def _joiner_in_name(joiners: re.Match[str]) -> str:
    is_kept = len(joiners[0]) == 1 and _kept_joiner(joiners)
    return joiners[0] if is_kept else _codes_of(joiners)


def _kept_joiner(joiners: re.Match[str]) -> str:
    """Returns the first of some joiners if they are between two characters that aren't ASCII; else ""."""
    text = joiners.string
    before = text[max(0, joiners.start() - 1) : joiners.start()]
    after = text[joiners.end() : joiners.end() + 1]
    is_at_edge = not before or not after
    if is_at_edge or before.isascii() or after.isascii():
        return ""
    return joiners[0][0]


def _count_marks(text: str) -> int:
    return sum(1 for _ in _MARK.finditer(text))


def _most_cells(text: str) -> int:
    """Returns an upper bound on the cells of all tables.

    Short rows are padded to the width of a table's delimiter row, which has only `|`, `:` and `-`.
    """
    lines = text.split("\n")
    delimiter_rows = [line for line in lines if not line.strip(" \t>|:-")]
    widths = [row.count("|") + 1 for row in delimiter_rows]
    return len(lines) * max(widths, default=0)


def _render(text: str, formulas: _Formulas) -> str:
    """Returns Markdown as HTML that isn't cleaned yet, with placeholders for its formulas."""
    env: dict = {"formulas": formulas}
    tokens = _MARKDOWN.parse(text, env)
    for index, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            # below the headings of the page
            token.tag = f"h{min(6, int(token.tag[1]) + 3)}"
        # an empty corner is not a heading; its tokens are the opening, the content and the closing
        if token.type == "th_open" and not tokens[index + 1].content.strip():
            token.tag = "td"
            tokens[index + 2].tag = "td"
        if token.nesting == 1 and token.tag in _TAGS_WITH_DIRECTION:
            token.attrSet("dir", "auto")
    return _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, env)


def _inline_formula(state: StateInline, silent: bool) -> bool:
    formula = formula_at(state.src, state.pos, state.posMax)
    if formula is None:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = state.src[state.pos : formula.end]
        token.meta = {"formula": formula}
    state.pos = formula.end
    return True


def _block_formula(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Parses a formula of several lines, so that no line of it becomes a heading, a list or a table."""
    if not state.src.startswith(("$$", "\\["), state.bMarks[first] + state.tShift[first]):
        return False
    lines = []
    for line in range(first, min(end, first + _MOST_FORMULA_LINES)):
        if line > first and (state.isEmpty(line) or state.sCount[line] < state.blkIndent):
            return False
        content = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        lines.append(content)
        # in the first line, the opening mark may be all there is; both marks together have 4 characters
        has_formula = line > first or len(content.strip()) > 4
        if has_formula and content.rstrip().endswith(("$$", "\\]")):
            break
    text = "\n".join(lines).rstrip()
    formula = formula_at(text, 0, len(text))
    if formula is None or formula.end != len(text):
        return False
    if not silent:
        state.line = first + len(lines)
        state.push("paragraph_open", "p", 1)
        token = state.push("formula", "", 0)
        token.content = text
        token.meta = {"formula": formula}
        state.push("paragraph_close", "p", -1)
    return True


def _show_formula(_self: Any, tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    return env["formulas"].placeholder(tokens[index].meta["formula"], tokens[index].content)


_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(
    ["table", "strikethrough"]
)
_MARKDOWN.inline.terminator_re = _MARK  # plain text also ends at the $ of a formula
_MARKDOWN.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
_MARKDOWN.add_render_rule(
    "image", lambda _self, tokens, index, _options, _env: html.escape(tokens[index].content)
)
_MARKDOWN.add_render_rule("formula", _show_formula)
_MARKDOWN.inline.ruler.before("escape", "formula", _inline_formula)
# alt: the blocks that a formula may interrupt
_MARKDOWN.block.ruler.before(
    "fence", "formula", _block_formula, {"alt": ["paragraph", "blockquote", "list"]}
)
