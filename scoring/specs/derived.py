"""Derived columns: what a spec makes of another column's cells."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from scoring.specs.figures import Cell, Word, as_text
from scoring.specs.problems import either
from scoring.text_lists import listed_texts

_MOST_DIGITS = 15
"""The most digits of a whole number that a float always holds exactly."""
_NUMBER_BOUND = 10**_MOST_DIGITS
_Sign = Annotated[str, BeforeValidator(as_text), Field(min_length=1, max_length=10)]
_OPERATIONS = ("part", "less", "div", "mod", "names", "split", "list")


class Derived(BaseModel):
    """A column made of another: its operations are done in the order of these fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True)

    source: Word = Field(alias="from")
    part: int | None = Field(default=None, ge=1, le=100)
    """The number of the part of the text that is taken, from 1."""
    by: _Sign | None = None
    """The sign between the parts."""
    less: int | None = Field(default=None, ge=-_NUMBER_BOUND, le=_NUMBER_BOUND)
    """Subtracted from a whole number."""
    div: int | None = Field(default=None, ge=1, le=_NUMBER_BOUND)
    """A whole number is divided by this, without the remainder."""
    mod: int | None = Field(default=None, ge=1, le=_NUMBER_BOUND)
    """The whole number, after `div`, becomes the remainder of its division by this."""
    names: Annotated[Mapping[Word, Cell], Field(min_length=1, max_length=2_000)] | None = None
    """New texts by cell."""
    others: Cell | None = None
    """The new text of all cells that aren't in `names`; None: they keep theirs."""
    split: _Sign | None = None
    """The sign between the members of a list. A row becomes a row for each member."""
    list: _Sign | None = None
    """The sign between the members of a list. A row stays one, and counts in the group of each member."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.part is not None and self.by is None:
            raise ValueError("`part` needs `by`. Add the sign between the parts.")
        if self.by is not None and self.part is None:
            raise ValueError("`by` needs `part`. Add the number of the part.")
        if self.others is not None and self.names is None:
            raise ValueError("`others` needs `names`. Add texts for the known cells.")
        if self.split is not None and self.list is not None:
            raise ValueError("`split` and `list` count in different ways. Keep one of them.")
        if all(getattr(self, name) is None for name in _OPERATIONS):
            raise ValueError(
                f"Nothing says what is made of {self.source!r}. Add {either(_OPERATIONS)}."
            )
        return self

    @property
    def needs_number(self) -> bool:
        return any(number is not None for number in (self.less, self.div, self.mod))

    def derive_cell(self, cell: str) -> str | tuple[str, ...]:
        """Returns the derived cell: a text, or with `split` or `list` the members.

        Raises ValueError where a number is needed and the cell has none.
        """
        text = cell
        if self.part is not None and self.by is not None:
            parts = text.split(self.by)
            text = parts[self.part - 1] if len(parts) >= self.part else ""
        if self.needs_number:
            text = self._compute_number(text)
        if self.names is not None:
            other = text if self.others is None else self.others
            text = self.names.get(text, other)
        sign = self.split or self.list
        if sign is None:
            return text
        stripped = [member.strip() for member in text.split(sign)]
        # A cell without members is in the group "", so that its row still counts.
        return tuple(member for member in stripped if member) or ("",)

    def _compute_number(self, text: str) -> str:
        bare = text.strip().removesuffix(".0")  # pandas makes 3.0 of 3 in a column with empty cells
        digits = bare.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
            raise ValueError(f"{text[:40]!r} isn't a whole number. Correct it.")
        number = int(bare) - (self.less or 0)
        if self.div is not None:
            number //= self.div
        if self.mod is not None:
            number %= self.mod
        return str(number)


def cell_text(cell: Any) -> str:
    """A cell of any file as text: None is "", and a list is written as JSON writes it."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _NUMBER_BOUND:
        return str(int(cell))  # pandas makes 3.0 of 3 in a column with empty cells
    if isinstance(cell, int | float):
        return str(cell)
    return json.dumps(cell, ensure_ascii=False)


def cell_members(cell: Any) -> tuple[str, ...]:
    """The groups that a cell puts its row in: the members of a list, also of one written as text, else its text."""
    if isinstance(cell, list | tuple):
        return tuple(cell_text(member) for member in cell) or ("",)
    text = cell_text(cell)
    listed = listed_texts(text) if text.startswith("[") else None
    if listed is None:
        return (text,)
    return listed or ("",)
