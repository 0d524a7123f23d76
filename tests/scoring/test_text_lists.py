"""Lists of texts in one cell, as JSON and Python write them."""

import json

import pytest

from scoring.text_lists import listed_texts, named_texts


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        (json.dumps(["😀 smile", "天坛"]), ("😀 smile", "天坛")),
        (r'["km\/h", "m\/s"]', ("km/h", "m/s")),
        (r'["\ud83d"]', ("\ufffd",)),
        (r'["a\u0000"]', ("a\ufffd",)),
        (str(["dog's", 'a "cat"', "😀"]), ("dog's", 'a "cat"', "😀")),
        (r"""["it's \x41"]""", ("it's A",)),
        ("['a\nb', 2.50]", ("a\nb", "2.50")),
        ('["a", "b"', None),
        ("['dog' \"it's\"\n 'a b']", ("dog", "it's", "a b")),
        ("['a' 'b', 'c']", None),
        ("[1 2]", None),
    ],
)
def test_texts_are_those_that_were_written(cell, texts):
    found = listed_texts(cell)
    assert found == texts
    assert all(text.encode() for text in found or ())


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ('{"A": "dog", "B": "a, \\"b\\": c"}', {"A": "dog", "B": 'a, "b": c'}),
        ("{'A': 'dog', 'B': 2.5}", {"A": "dog", "B": "2.5"}),
        ("{'A': 'dog', 'B'}", None),
        ('{"A": {"B": "c"}}', None),
        ("{}", None),
    ],
)
def test_texts_by_name_are_those_that_were_written(cell, texts):
    assert named_texts(cell) == texts
