"""Templates: text is escaped, a value that nobody gave is an error, and what is compiled is kept where it can be."""

import re

import pytest
from jinja2 import UndefinedError

from arena.templates import ENVIRONMENT, CompiledTemplates, macros, plural
from tests.support.servers import ROOT


def test_text_of_strangers_is_escaped():
    assert (
        macros("parts.html").problem("<b>'\"&")
        == '<span class="problem">&lt;b&gt;&#39;&#34;&amp;</span>'
    )


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
