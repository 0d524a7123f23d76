"""Figures of a spec: the named numbers of a report, as the spec writes them.

Their values over rows are computed in `scoring/specs/figure_values.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from arena.markdown import visible_name
from scoring.rules.base import RuleProtocol
from scoring.specs.problems import SpecProblem, either, quoted

Rows = Literal["rows"]
PROTOCOLS: tuple[RuleProtocol, ...] = get_args(RuleProtocol)
PERCENT = 100.0
_EXAMPLE_FIGURE = "{all: [pair]}"
FORMS = (
    "mean",
    "count",
    "all",
    "mean_of",
    "f1",
    "precision",
    "recall",
    "yes",
    "sum",
    "above",
    "ratio",
    "mark",
)
"""The fields of which a figure has exactly one: how it is computed."""


def as_text(value: Any) -> Any:
    """Returns a number as text, since YAML reads unquoted digits as a number; any other value unchanged."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def as_name(value: Any) -> Any:
    """Returns a text that people see. Raises ValueError for an invisible sign: two names could look the same."""
    text = as_text(value)
    if not isinstance(text, str):
        return text
    visible = visible_name(text)
    if visible != text:
        raise ValueError(f"{visible[:60]!r} has an invisible sign. Delete it.")
    return text


def as_list(value: Any) -> Any:
    """Returns a list as it is, and any other value as a list of it alone."""
    return value if isinstance(value, list | tuple) else [value]


Word = Annotated[str, BeforeValidator(as_name), Field(min_length=1, max_length=200)]
Cell = Annotated[str, BeforeValidator(lambda cell: "" if cell is None else as_text(cell))]
"""The text that a cell is compared with; "" is an empty or missing cell."""
Words = Annotated[tuple[Word, ...], BeforeValidator(as_list), Field(min_length=1, max_length=1_000)]
Conditions = Annotated[Mapping[Word, Cell], Field(min_length=1, max_length=20)]


class Figure(BaseModel):
    """One number: exactly one of the forms, over all rows or some, under all protocols or some."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)

    mean: Rows | Words | None = None
    """Mean of the rows' scores, or of these figures."""
    count: Rows | None = None
    """The sum of the rows' scores."""
    all: Words | None = None
    """Share of units with every row right. The rows with equal cells in these columns are a unit."""
    mean_of: Word | None = None
    """Mean of the means of a column's groups."""
    f1: Word | None = None
    """F1 of this positive answer, such as Yes."""
    precision: Word | None = None
    """Precision of this positive answer."""
    recall: Word | None = None
    """Recall of this positive answer."""
    yes: Word | None = None
    """Share of rows whose answer is this one."""
    sum: Words | None = None
    """Sum of these figures; with `over`, of one figure over a column's groups."""
    over: Word | None = None
    """The column of these groups."""
    among: Words | None = None
    """The groups to sum over; None: all."""
    above: float | None = Field(default=None, allow_inf_nan=False)
    """Share of rows with a score above this one."""
    ratio: Literal["marks"] | None = None
    """Mean of the second mark over the mean of the first."""
    mark: Literal[1, 2] | None = None
    """Mean of the first or of the second mark, as it is."""
    where: Conditions | None = None
    """Only the rows with these cells."""
    without: Conditions | None = None
    """Only the rows that don't have all of these cells."""
    chance: Literal["options"] | None = None
    """The score of a random guess among each row's options, in place of the answers'."""
    frequent: Word | None = None
    """The score of the most frequent right answer in each of this column's groups, in place of the answers'."""
    scale: float | None = Field(default=None, gt=0, le=1e6, allow_inf_nan=False)
    """The factor instead of the form's own: see `factor`."""
    protocol: (
        Annotated[tuple[RuleProtocol, ...], BeforeValidator(as_list), Field(min_length=1)] | None
    ) = None
    """Only under these protocols."""

    @property
    def form(self) -> str:
        """The one field of `FORMS` that is set."""
        return next(name for name in FORMS if getattr(self, name) is not None)

    @property
    def positive(self) -> str | None:
        """The answer that it counts; None where it counts scores."""
        return self.f1 or self.precision or self.recall or self.yes

    @property
    def parts(self) -> tuple[str, ...]:
        """The figures that this one is made of."""
        if self.sum is not None:
            return self.sum
        return self.mean if isinstance(self.mean, tuple) else ()

    @property
    def factor(self) -> float:
        """The factor of its shares, means and sums: 100 for percents, 1 for counts, for marks, and where it is made of
        other figures.
        """
        if self.scale is not None:
            return self.scale
        if self.count is not None or self.mark is not None or self.parts:
            return 1.0
        return PERCENT

    @property
    def mark_count(self) -> int:
        """The number of marks of an answer that it needs."""
        if self.ratio is not None:
            return 2
        return self.mark or 0

    @property
    def places(self) -> int:
        """Digits behind the point, as people read it: two where its unit is a mark of a judge."""
        return 2 if self.mark is not None and self.factor == 1 else 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs; a condition's may be missing, which is an empty cell."""
        needed = (*(self.all or ()), self.mean_of, self.over, self.frequent)
        return tuple(column for column in needed if column is not None)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns whose groups it is made of."""
        return tuple(column for column in (self.mean_of, self.over) if column is not None)

    @property
    def is_percent(self) -> bool:
        """Whether it is between 0 and 100, if the figures that it is made of are."""
        other_forms = (self.count, self.ratio, self.mark, self.sum)
        largest_factor = 1.0 if self.parts else PERCENT
        return all(form is None for form in other_forms) and self.factor <= largest_factor

    @property
    def is_guess(self) -> bool:
        """Whether it is the score of a guess, a baseline that no answer changes."""
        return self.chance is not None or self.frequent is not None

    @property
    def condition_columns(self) -> tuple[str, ...]:
        """The columns whose cells decide which rows it is over; none where it is over all rows."""
        return (*(self.where or ()), *(self.without or ()))

    def belongs_to(self, protocol: str) -> bool:
        return self.protocol is None or protocol in self.protocol

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        forms = [name for name in FORMS if getattr(self, name) is not None]
        if not forms:
            raise ValueError(f"Nothing says how it is computed. Add {either(FORMS)}.")
        if len(forms) > 1:
            raise ValueError(f"{either(forms, 'and')} are separate figures. Keep one of them here.")
        if self.among is not None and self.over is None:
            raise ValueError("`among` needs `over`. Add the column whose groups are summed.")
        if self.over is not None and (self.sum is None or len(self.sum) != 1):
            raise ValueError(
                "`over` goes only with the sum of one figure. Write it as in {sum: score, over: task}."
            )
        if self.chance is not None and self.frequent is not None:
            raise ValueError("`chance` and `frequent` are separate guesses. Keep one of them here.")
        if self.is_guess and (self.form not in ("mean", "mean_of") or self.parts):
            raise ValueError(f"A guess has no {self.form}. Use mean or mean_of.")
        return self


def figure_fields(value: Any) -> Any:
    """Returns a figure's fields from what a spec has: a mapping, or `mean` or `count` alone. Raises ValueError."""
    if isinstance(value, str):
        if value not in ("mean", "count"):
            raise ValueError(
                f"{quoted(value)} isn't mean or count. Write other figures as in {_EXAMPLE_FIGURE}."
            )
        return {value: "rows"}
    if isinstance(value, Mapping):
        # Read as a list it would be the mean of a figure named rows.
        if value.get("mean") == ["rows"]:
            return {**value, "mean": "rows"}
        return dict(value)
    raise ValueError(
        f"{quoted(value)} isn't a figure. Write mean or count, or other figures as in {_EXAMPLE_FIGURE}."
    )


def figure_problems(figures: Mapping[str, Figure]) -> Iterator[SpecProblem]:
    """Yields the problems of figures with a part that isn't above them, is a guess, or lacks one of their protocols."""
    names_above: list[str] = []
    for name, figure in figures.items():
        for part in figure.parts:
            for text in _part_problems(figure, part, names_above, figures):
                yield SpecProblem(f"figures.{name}", text)
        names_above.append(name)


def _part_problems(
    figure: Figure, part: str, names_above: Sequence[str], figures: Mapping[str, Figure]
) -> Iterator[str]:
    if part not in names_above:
        yield f"It's made of {part!r}, which isn't a figure above it. Name one that is."
        return
    if figures[part].is_guess:
        yield f"It's made of {part!r}, which is a guess. Name figures of answers."
    part_protocols = figures[part].protocol or PROTOCOLS
    protocols = figure.protocol or PROTOCOLS
    if not {*protocols} <= {*part_protocols}:
        yield (
            f"It's made of {part!r}, which exists only under {either(part_protocols, 'and')}. "
            "Give it the same `protocol`."
        )
