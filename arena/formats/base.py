"""Vote format types: battles as aligned columns, and the definition of a format."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from arena.io.strict_json import RowsError
from arena.types import grouped

Winner = Literal["a", "b", "tie", "both_bad"]
BothBad = Literal["half", "out"]
"""Whether "both bad" counts half for each side, like a tie, or is left out."""
FormatName = Literal[
    "fastchat-log",
    "clean-battles",
    "visit-bench",
    "visit-battles",
    "three-columns",
    "wildvision",
    "comparia",
    "comparia-turns",
    "search-arena",
    "kaggle-arena",
    "label-studio",
    "evalica",
    "open-webui",
    "stereoscope",
]
Row: TypeAlias = Mapping[str, Any]
"""A row of a file: JSON values, and from Parquet also bytes and times."""
Columns: TypeAlias = Sequence[Sequence[Any]]
"""A portion of votes, transposed: a sequence for each column of `Vote`, or none at all for no votes."""


class Vote(NamedTuple):
    """A vote; None for facts that its format does not have."""

    model_a: str
    model_b: str
    winner: Winner
    item: str | None = None
    """The item that the models answered; votes with the same item and pair of models are one tuple."""
    voter: str | None = None
    """The voter by the file's name: a person, an address, a judge."""
    time: float | None = None
    """Seconds since 1970, UTC."""
    category: str | None = None
    language: str | None = None
    turns: int | None = None
    """The number of questions to both models before the vote."""
    images: int | None = None
    conversation: str | None = None
    """The file's own name for the battle."""
    blind: bool | None = None
    """Whether the names were hidden until the vote."""
    judge: bool | None = None
    """Whether a judge model chose, not a person."""
    picture: str | None = None
    """A key that items with the same first picture share, and near copies without pictures."""


class OtherRow(NamedTuple):
    """A row of a file without a vote, such as a chat turn of a log."""

    votes_before: int
    """The number of votes before it in the file."""
    row: Row


class VoteLine(NamedTuple):
    """A row of a file and its vote, None if it has no vote."""

    row: Row
    vote: Vote | None


class SkippedRow(NamedTuple):
    """The reason why a row is no vote, in words that follow "rows left out, "."""

    reason: str


@dataclass(frozen=True)
class Battles:
    """Votes of one file, in order, as columns of one length: those of `Vote`."""

    format: FormatName | None
    """None for an empty file."""
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
    picture: tuple[str | None, ...]
    rows: tuple[Row, ...]
    """Each vote's row as in its file, which preserves other columns."""
    others: tuple[OtherRow, ...] = ()
    """The rows without votes, in file order."""
    notices: tuple[str, ...] = ()
    """Notices about the reading, such as rows left out, or a torn last line."""

    @classmethod
    def of_columns(
        cls,
        format_name: FormatName | None,
        columns: Iterable[tuple[Any, ...]],
        rows: tuple[Row, ...],
        others: tuple[OtherRow, ...] = (),
        notices: tuple[str, ...] = (),
    ) -> "Battles":
        """Returns votes from their columns, in the order of `Vote`'s fields."""
        by_name = dict(zip(Vote._fields, columns, strict=True))
        return cls(format=format_name, **by_name, rows=rows, others=others, notices=notices)

    def __len__(self) -> int:
        return len(self.winner)

    def votes(self) -> Iterator[Vote]:
        """Yields the votes in file order."""
        columns = (getattr(self, column) for column in Vote._fields)
        return map(Vote, *columns)

    def lines(self) -> Iterator[VoteLine]:
        """Yields all rows in file order, also those without votes."""
        others_before = grouped(
            (other.votes_before, VoteLine(other.row, None)) for other in self.others
        )
        for number, (vote, row) in enumerate(zip(self.votes(), self.rows, strict=True)):
            yield from others_before.get(number, ())
            yield VoteLine(row, vote)
        yield from others_before.get(len(self), ())


def columns_of(votes: Iterable[Vote]) -> list[tuple[Any, ...]]:
    """Returns votes as the columns of `Battles`."""
    return join_portions([tuple(zip(*votes, strict=True))])


def join_portions(portions: Iterable[Columns]) -> list[tuple[Any, ...]]:
    """Concatenates portions of votes into the columns of `Battles`."""
    columns: list[list[Any]] = [[] for _ in Vote._fields]
    for portion in portions:
        if not portion:
            continue
        for column, values in zip(columns, portion, strict=True):
            column.extend(values)
    return list(map(tuple, columns))


def refuse_vote(vote: Vote) -> dict[str, Any]:
    """Raises RowsError, for a format that is only read."""
    raise RowsError("Votes can be read from this format but not written to it. Choose another.")


@dataclass(frozen=True)
class Format:
    """A vote format: recognises, reads and writes its rows. Its functions raise RowsError with the column."""

    name: FormatName
    fits: Callable[[Set[str]], bool]
    """Whether the first row's columns fit the format."""
    vote: Callable[[Row], Vote | SkippedRow]
    """Returns the vote of a row, or the reason why it has none."""
    row: Callable[[Vote], dict[str, Any]] = refuse_vote
    """Returns the row of a vote from another format."""
    holds: frozenset[str] = frozenset()
    """The columns of `Vote` that a row preserves."""
    suffixes: tuple[str, ...] = ()
    """The suffixes of its files for writing; none for a format that is only read."""
    losses: Callable[[Vote], Sequence[str]] = lambda vote: ()
    """Returns the facts about a vote that a row cannot express, although the format has the column."""
    split: Callable[[Row], Sequence[Row]] = lambda row: (row,)
    """Returns rows with one vote each from a row that may have several."""
    answers: Callable[[Row], Iterable[str]] = lambda row: ()
    """Returns the models' answers, for formats that have them."""
    is_duplicate: Callable[[Row], bool] = lambda row: False
    """Whether the publisher marks a row as a duplicate of others."""
    columns: Callable[[Sequence[Row]], Columns | None] = lambda rows: None
    """Returns the votes of many rows at once, or None if a row needs a closer look."""
    is_json_lines: bool = False
    """Whether its .json has an object on each line, the last of which may be torn."""
