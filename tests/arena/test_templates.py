"""Templates: text is escaped, a value that nobody gave is an error, and what is compiled is kept where it can be."""

import re

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup, escape

from arena.templates import ENVIRONMENT, CompiledTemplates, macros, plural, with_names
from tests.support.servers import ROOT


def test_text_of_strangers_is_escaped():
    assert (
        macros("parts.html").problem("<b>'\"&")
        == '<span class="problem">&lt;b&gt;&#39;&#34;&amp;</span>'
    )


@pytest.mark.parametrize(
    ("sentence", "apart"),
    [
        ("alpha leads.", []),
        ("מ-1 leads, 2 share מ-1.", ["מ-1", "מ-1"]),
        ("מ-1-pro and מ-1 lead.", ["מ-1-pro", "מ-1"]),
        ("نم-7B", ["نم-7B"]),
        ("א <b> and א", ["א", "א"]),
    ],
)
def test_names_that_run_from_right_to_left_are_set_apart_in_a_sentence(sentence, apart):
    names = ["alpha", "מ-1", "מ-1-pro", "نم-7B", "א"]
    parts = with_names(sentence, names)
    assert "".join(part.text for part in parts) == sentence
    assert [part.text for part in parts if part.is_name] == apart
    html = macros("parts.html").sentence(sentence, names)
    assert re.findall("<bdi>(.+?)</bdi>", html) == apart and "<b>" not in html


def test_a_value_that_is_missing_is_an_error_and_no_blank():
    with pytest.raises(UndefinedError):
        macros("parts.html").problem()


def test_a_compiled_template_is_kept_for_the_next_start(tmp_path):
    ENVIRONMENT.overlay(bytecode_cache=CompiledTemplates(str(tmp_path))).get_template("parts.html")
    (kept,) = tmp_path.iterdir()
    before = kept.stat()
    ENVIRONMENT.overlay(bytecode_cache=CompiledTemplates(str(tmp_path))).get_template("parts.html")
    assert kept.stat() == before and list(tmp_path.iterdir()) == [kept], "read, not compiled again"


def test_where_nobody_may_write_templates_are_compiled_each_time(tmp_path):
    nowhere = ENVIRONMENT.overlay(bytecode_cache=CompiledTemplates(str(tmp_path / "nowhere")))
    assert nowhere.get_template("parts.html").module.problem("x") == macros("parts.html").problem(
        "x"
    )


def test_a_group_says_what_it_groups():
    groups = re.compile(r"<[^>]*\brole=\"group\"[^>]*>")
    found = {
        tag
        for path in ROOT.glob("*/web/templates/*.html")
        for tag in groups.findall(path.read_text("utf-8"))
    }
    assert found and [tag for tag in found if "aria-label" not in tag] == []


def test_nouns_have_their_plural():
    assert [plural(1, "person"), plural(2, "person"), plural(3, "other person")] == [
        "1 person",
        "2 people",
        "3 other people",
    ]


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("gpt-4", "gpt-4"),
        ("gpt-4\u200b", "gpt-4&lt;U+200B&gt;"),
        ("\u202e4-tpg", "&lt;U+202E&gt;4-tpg"),
        ("g\u2066p\u2069t", "g&lt;U+2066&gt;p&lt;U+2069&gt;t"),
        ("gp\u200dt\ufeff", "gp&lt;U+200D&gt;t&lt;U+FEFF&gt;"),
        ("a\u3164\u2800\xad", "a&lt;U+3164&gt;&lt;U+2800&gt;&lt;U+00AD&gt;"),
        ("می\u200cخواهم 👩\u200d🚀 ❤\ufe0f", "می\u200cخواهم 👩\u200d🚀 ❤\ufe0f"),
        ("模\u200d\u200d型", "模&lt;U+200D&gt;&lt;U+200D&gt;型"),
        ("模\u200d\u200b型", "模&lt;U+200D&gt;&lt;U+200B&gt;型"),
        ("two\r\nlines\tand\xa0more", "two\r\nlines\tand\xa0more"),
    ],
)
def test_what_cannot_be_seen_in_a_name_is_made_visible_wherever_a_template_shows_it(name, seen):
    assert shown_by("<b>{{ name }}</b>", name) == f"<b>{seen}</b>"
    assert shown_by('<input value="{{ name|e }}">', name) == f'<input value="{escape(name)}">'
    assert shown_by("{{ name }}", Markup(name)) == name, "answers are cleaned before"


def shown_by(template: str, name: str) -> str:
    return ENVIRONMENT.from_string(template).render(name=name)
