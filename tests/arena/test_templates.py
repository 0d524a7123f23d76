"""Templates: text is escaped, and a value that nobody gave is an error."""

import pytest
from jinja2 import UndefinedError

from arena.templates import macros


def test_text_of_strangers_is_escaped():
    assert macros("parts.html").problem("<b>'\"&") == '<span class="problem">&lt;b&gt;&#39;&#34;&amp;</span>'


def test_a_value_that_is_missing_is_an_error_and_no_blank():
    with pytest.raises(UndefinedError):
        macros("parts.html").problem()
