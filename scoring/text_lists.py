"""Lists of texts in one cell of a table, as JSON, Python or NumPy writes them: ["a", "b"], ['a', "b's"], ['a' 'b'].

And records of texts by name: {"A": "a", "B": "b"}.
"""

import ast
import json
import re
from collections.abc import Mapping

# Possessive repetitions (`*+`, `++`) give nothing back, so that the time stays linear in the cell's length.
_TEXT = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_NUMBER = r"-?\d{1,15}(?:\.\d{1,15})?"
_MEMBER = rf"(?:{_TEXT}|{_NUMBER})"
_LIST = re.compile(rf"\s*\[\s*{_MEMBER}(?:\s*+,\s*+{_MEMBER})*+\s*+,?\s*+\]\s*", re.DOTALL)
# The members of what _LIST has matched; below, _TEXTS are those of _NUMPY_LIST, and _PAIRS those of _RECORD.
_MEMBERS = re.compile(rf"(?<=[\s,\[]){_MEMBER}(?=[\s,\]])", re.DOTALL)
_NUMPY_LIST = re.compile(rf"\s*\[\s*(?:{_TEXT})(?:\s++(?:{_TEXT}))++\s*\]\s*", re.DOTALL)
_TEXTS = re.compile(rf"(?<=[\s\[])(?:{_TEXT})", re.DOTALL)
_PAIR = rf"(?:{_TEXT})\s*+:\s*+{_MEMBER}"
_RECORD = re.compile(rf"\s*\{{\s*{_PAIR}(?:\s*+,\s*+{_PAIR})*+\s*+,?\s*+\}}\s*", re.DOTALL)
_PAIRS = re.compile(rf"(?<=[\s,{{])({_TEXT})\s*+:\s*+({_MEMBER})", re.DOTALL)
_EMPTY = re.compile(r"\s*\[\s*\]\s*")


def listed_texts(cell: str) -> tuple[str, ...] | None:
    """Members of a list that is written as text; None if the cell holds no such list."""
    if _EMPTY.fullmatch(cell):
        return ()
    if _LIST.fullmatch(cell):
        return tuple(_unquote(match[0]) for match in _MEMBERS.finditer(cell))
    if _NUMPY_LIST.fullmatch(cell):
        return tuple(_unquote(match[0]) for match in _TEXTS.finditer(cell))
    return None


def named_texts(cell: str) -> Mapping[str, str] | None:
    """Texts of a record that is written as text, by name; None if the cell holds no such record."""
    if not _RECORD.fullmatch(cell):
        return None
    return {_unquote(match[1]): _unquote(match[2]) for match in _PAIRS.finditer(cell)}


def _unquote(literal: str) -> str:
    """Value of a quoted text or number; nothing else can be in it: no name, call or nesting.

    A text that neither JSON nor Python can read keeps its escapes.
    """
    if literal[0] not in "'\"":
        return literal
    for read in (_read_json, _read_python):
        try:
            return _storable(read(literal))
        except (ValueError, SyntaxError):
            continue
    return literal[1:-1]


def _read_json(literal: str) -> str:
    """Text in JSON, which writes an emoji as two escapes and may write a slash as an escape. Raises ValueError."""
    return str(json.loads(literal, strict=False))


def _read_python(literal: str) -> str:
    """Text in Python, also with line breaks in it, which Python would refuse. Raises ValueError and SyntaxError."""
    return str(ast.literal_eval(literal.replace("\n", "\\n")))


def _storable(text: str) -> str:
    """Text with a replacement character for signs that no database holds: NUL, and half of a pair of escapes."""
    # UTF-16 joins the two halves of a pair, and shows which have no other half.
    return (
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    )
