"""What every format is read into and written from: battles as aligned columns, and what a format is."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Winner = Literal["a", "b", "tie", "both_bad"]
BothBad = Literal["half", "out"]
"""Whether "both bad" counts half to each side, as a tie does, or its votes are left out."""
FormatName = Literal[
    "fastchat-log",
    "clean-battles",
    "visit-bench",
    "visit-battles",
    "three-columns",
    "wildvision",
    "comparia",
    "stereoscope",
]
Row: TypeAlias = Mapping[str, Any]
"""One row of a file: JSON values, and from Parquet also bytes and times."""
Columns: TypeAlias = Sequence[Sequence[Any]]
"""A portion of votes, turned: a sequence for each column of `Vote`, or nothing at all."""


class Vote(NamedTuple):
    """What one vote says in the words of this project; None is what its format does not tell."""

    model_a: str
    model_b: str
    winner: Winner
    item: str | None = None
    """What the models answered to: votes with the same item and pair of models are one tuple."""
    voter: str | None = None
    """Who chose, under the name that the file gives: a person, an address, a judge."""
    time: float | None = None
    """Seconds since 1970, UTC."""
    category: str | None = None
    language: str | None = None
    turns: int | None = None
    """Questions that were put to both models before the vote."""
    images: int | None = None
    conversation: str | None = None
    """The file's own name of the battle."""
    blind: bool | None = None
    """Whether the names were hidden until the vote."""
    judge: bool | None = None
    """Whether a judge model chose, and no person."""


class OtherRow(NamedTuple):
    """A row of a file that is no vote, such as a chat turn of a log."""

    before: int
    """How many votes stand before it in the file."""
    row: Row


class VoteLine(NamedTuple):
    """A row of a file, and the vote that it is."""

    row: Row
    vote: Vote | None


class SkippedRow(NamedTuple):
    """Say why a row is no vote, in words that follow "rows left out, "."""

    reason: str


@dataclass(frozen=True)
class Battles:
    """Votes of one file, in its order, as columns of one length: those of `Vote`."""

    format: FormatName | None
    """None for a file that holds nothing."""
    model_a: tuple[str, ...]
    model_b: tuple[str, ...]
    winner: tuple[Winner, ...]
    item: tuple[str | None, ...]
    voter: tuple[str | None, ...]
    time: tuple[float | None, ...]
    category: tuple[str | None, ...]
    language: tuple[str | None, ...]
    turns: tuple[int | None, ...]
    images: tuple[int | None, ...]
    conversation: tuple[str | None, ...]
    blind: tuple[bool | None, ...]
    judge: tuple[bool | None, ...]
    rows: tuple[Row, ...]
    """Each vote's row as its file has it, so that nothing is lost that no column names."""
    others: tuple[OtherRow, ...] = ()
    """The rows that are no votes, in the file's order."""
    notices: tuple[str, ...] = ()
    """What the person should know about the reading: rows left out, a torn last line."""

    def __len__(self) -> int:
        """Return the number of votes."""
        return len(self.winner)

    def votes(self) -> Iterator[Vote]:
        """Yield the votes one by one."""
        return map(Vote, *(getattr(self, column) for column in Vote._fields))

    def lines(self) -> Iterator[VoteLine]:
        """Yield the rows in the file's order, those that are no votes too."""
        beside: defaultdict[int, list[VoteLine]] = defaultdict(list)
        for before, row in self.others:
            beside[before].append(VoteLine(row, None))
        for number, (vote, row) in enumerate(zip(self.votes(), self.rows, strict=True)):
            yield from beside.get(number, ())
            yield VoteLine(row, vote)
        yield from beside.get(len(self), ())


def columns_of(votes: Iterable[Vote]) -> list[tuple[Any, ...]]:
    """Return votes as the columns of `Battles`."""
    return joined([tuple(zip(*votes, strict=True))])


def joined(parts: Iterable[Columns]) -> list[tuple[Any, ...]]:
    """Return the columns of several portions of votes, one below the other, as those of `Battles`."""
    columns: list[list[Any]] = [[] for _ in Vote._fields]
    for part in parts:
        for column, values in zip(columns, part, strict=bool(part)):
            column.extend(values)
    return list(map(tuple, columns))


@dataclass(frozen=True)
class Format:
    """One format: how its rows are told from others, read and written; they raise RowsError with the column."""

    name: FormatName
    fits: Callable[[Set[str]], bool]
    """Tell from the columns of the first row."""
    vote: Callable[[Row], Vote | SkippedRow]
    row: Callable[[Vote], dict[str, Any]]
    """Return the row of a vote that came from elsewhere."""
    holds: frozenset[str]
    """The columns of `Vote` that a row brings back."""
    suffixes: tuple[str, ...]
    """The files it is written to."""
    losses: Callable[[Vote], Sequence[str]] = lambda vote: ()
    """Name what of a vote its row cannot say, although the format holds the column."""
    columns: Callable[[Sequence[Row]], Columns | None] = lambda rows: None
    """Return many rows' votes at once where nothing about them needs a closer look, else None."""
    lines: bool = False
    """Whether its .json holds one object a line, and its last line may be torn."""
