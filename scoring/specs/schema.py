"""The schema of a spec: a benchmark as a YAML file. All its problems are reported at once."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from functools import cached_property
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    TypeAdapter,
    ValidationError,
)

from arena.cache import Cache
from scoring.rules.base import RuleKind, RuleProtocol
from scoring.rules.kinds import KINDS
from scoring.rules.prompted import BRACES
from scoring.specs.derived import Derived
from scoring.specs.figures import (
    PROTOCOLS,
    Conditions,
    Figure,
    Word,
    Words,
    as_list,
    as_name,
    figure_fields,
    figure_problems,
)
from scoring.specs.problems import SpecError, SpecProblem, either, none_of, quoted, spec_problems
from scoring.specs.yaml_text import YamlError, read_yaml, write_yaml

UNKNOWN = "unknown"
OVERALL = "Overall"
ASK_FIELDS = ("question", "options")
"""Names in braces that the prompt for a model, `ask`, may have."""
_HEADLINES = f"{{strict: {OVERALL}}}"
_EXAMPLE_CASE = "{when: {column: value}, rule: letter}"
_EXAMPLE_KIND = "{kind: letter, ...}"
_EXAMPLE_FIGURES = f"{{{OVERALL}: mean}}"
_MD5 = re.compile(r"[0-9a-fA-F]{32}")
_URL = re.compile(r"https://[a-z0-9.-]{1,200}(?::[0-9]{1,5})?/[!-~]{1,1000}", re.IGNORECASE)
_FILE_NAME = re.compile(r"[\w+@ -][\w.+@ -]{0,118}")


def _required_text(instruction: str) -> BeforeValidator:
    """Returns a validator of a text. It raises ValueError with the instruction if the text is missing or blank."""

    def check(value: Any) -> Any:
        if value is None or (isinstance(value, str) and not value.strip()):
            raise ValueError(instruction)
        return as_name(value)

    return BeforeValidator(check)


def _matching(pattern: re.Pattern[str], complaint: str) -> BeforeValidator:
    """Returns a validator of a text that a whole pattern must match. Its ValueError has the value and the complaint."""

    def check(value: Any) -> Any:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"{quoted(value)} {complaint}")
        return value

    return BeforeValidator(check)


_FileName = Annotated[str, _matching(_FILE_NAME, "isn't a file name. Write one without folders.")]
_Md5 = Annotated[
    str,
    _matching(_MD5, "isn't an md5. Write its 32 hexadecimal digits in quotes."),
    AfterValidator(str.lower),
]
_Address = Annotated[
    str, _matching(_URL, "isn't a web address. Write one that begins with https://.")
]


class Columns(BaseModel):
    """The file's columns by what they hold; a column with its default name is found under its usual spellings too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Word = "index"
    question: Word = "question"
    truth: Word | None = "answer"
    """None where nothing is right by itself, as with a rubric."""
    answer: Word = "prediction"
    """The model's answer."""
    options: Words | None = None
    """One column with a list, or a column for each option from A on; None: columns A, B, ... or `options`."""
    images: Words | None = None
    """Columns that name the question's pictures."""


class QuestionFile(BaseModel):
    """A question file that the benchmark's authors publish."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: _FileName
    url: _Address | None = None
    md5: _Md5 | None = None
    rows: int | None = Field(default=None, ge=1, le=10_000_000)
    split: Word | None = None
    answers: Literal["there", "hidden", "absent"] = "there"
    """Whether the file has right answers; hidden ones are on this server alone."""
    note: Word | None = None


class PublishedFigure(BaseModel):
    """A published number: a model's figure under a protocol, and its source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Word
    figure: Word
    score: float = Field(allow_inf_nan=False)
    protocol: RuleProtocol
    source: Word
    apart: Word | None = None
    """The difference from a report here, such as other questions or another judge."""


class Case(BaseModel):
    """A rule for the rows with the cells in `when`, where "" is an empty or missing cell; for all rows without it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    when: Conditions | None = None
    rule: SerializeAsAny[RuleKind]


class Spec(BaseModel):
    """A benchmark."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    name: Annotated[str, _required_text("Give the benchmark a name."), Field(max_length=80)]
    about: Annotated[
        str, _required_text("Say in a sentence what is measured."), Field(max_length=200)
    ]
    licence: Word = UNKNOWN
    cite: Word | None = None
    size: Word | None = None
    called: Annotated[Words, Field(max_length=50)] = ()
    """Names that toolkits put at the end of a file's name."""
    columns: Columns = Columns()
    derive: Annotated[Mapping[Word, Derived], Field(max_length=20)] = {}
    groups: Annotated[Words, Field(max_length=20)] = ()
    """Columns whose values are groups, with every figure for each."""
    splits: Word | None = None
    """The column whose values are reported apart."""
    rule: tuple[Case, ...]
    """The first case that fits a row decides."""
    protocols: Annotated[
        tuple[RuleProtocol, ...], BeforeValidator(as_list), Field(min_length=1)
    ] = ("strict",)
    figures: Annotated[Mapping[Word, Figure], Field(min_length=1, max_length=50)] = {
        OVERALL: Figure(mean="rows")
    }
    headline: Word | Mapping[RuleProtocol, Word] | None = None
    """The figure that stands for a report, or one for each protocol. None: Overall, else the first that is no guess."""
    questions: Annotated[tuple[QuestionFile, ...], Field(max_length=100)] = ()
    submission: Literal["json map", "json list", "tsv", "xlsx"] | None = None
    """The form of a file of answers that the authors' server scores."""
    published: tuple[PublishedFigure, ...] = ()
    ask: Annotated[str, Field(min_length=1, max_length=4_000)] | None = None
    """The prompt for a model, with the names of `ASK_FIELDS` in braces."""

    @cached_property
    def digest(self) -> str:
        """sha256 of the spec in normal form: reports carry it, and those of two specs are never mixed."""
        normal = json.dumps(self.plain, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(normal.encode()).hexdigest()

    @cached_property
    def plain(self) -> Mapping[str, Any]:
        """The spec in normal form: written out, without default values."""
        dumped = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        dumped["rule"] = _plain_rule(self.rule)
        fields = type(self).model_fields
        return {name: dumped[name] for name in fields if dumped.get(name) not in (None, {}, [])}

    @property
    def yaml(self) -> str:
        return write_yaml(self.plain)

    @property
    def json_text(self) -> str:
        """The spec as a report keeps it."""
        return json.dumps(self.plain)

    def headline_under(self, protocol: str) -> str:
        """Returns the name of the headline figure under a protocol."""
        if isinstance(self.headline, str):
            return self.headline
        by_protocol: Mapping[Any, str] = self.headline or {}
        if protocol in by_protocol:
            return by_protocol[protocol]
        figures = self.figures_under(protocol)
        names = [name for name, figure in figures.items() if not figure.is_guess]
        return OVERALL if OVERALL in names else names[0]

    def figures_under(
        self, protocol: str, columns: Container[str] | None = None
    ) -> Mapping[str, Figure]:
        """The figures of a protocol; with a file's `columns`, those that it has the columns for."""
        figures = {
            name: figure for name, figure in self.figures.items() if figure.belongs_to(protocol)
        }
        if columns is None:
            return figures
        return {
            name: figure
            for name, figure in figures.items()
            if all(self.source_of(column) in columns for column in self.needed_columns(name))
        }

    def needed_columns(self, figure: str) -> list[str]:
        """Returns the columns that a figure and its parts need."""
        columns = [*self.figures[figure].columns]
        for part in self.figures[figure].parts:
            columns += self.needed_columns(part)
        return columns

    def source_of(self, column: str) -> str:
        """The file's column that a column is made of, also by way of other derived columns."""
        source = column
        for name in reversed([*self.derive]):  # a derived column is made of those above it
            if name == source:
                source = self.derive[name].source
        return source

    def names_of(self, column: str) -> Mapping[str, str]:
        """Returns a derived column's names for the cells that it is made of."""
        return self.derive[column].names or {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its rules, without doubles."""
        return tuple(dict.fromkeys(kind_of(case.rule) for case in self.rule))


def kind_of(rule: RuleKind) -> str:
    """The word for a rule's kind, a field that each kind defines for itself."""
    return str(rule.model_dump(include={"kind"})["kind"])


def _plain_rule(cases: tuple[Case, ...]) -> Any:
    """A rule for all rows alone, else its cases; a kind without parameters is a word."""
    if len(cases) == 1 and cases[0].when is None:
        return _plain_kind(cases[0].rule)
    plain_cases = []
    for case in cases:
        rule = _plain_kind(case.rule)
        plain_cases.append({"when": dict(case.when), "rule": rule} if case.when else {"rule": rule})
    return plain_cases


def _plain_kind(rule: RuleKind) -> Any:
    kind = kind_of(rule)
    dumped = rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    has_parameters = bool(dumped.keys() - {"kind"})
    return {"kind": kind, **dumped} if has_parameters else kind


def read_spec(content: bytes) -> Spec:
    """The spec of a YAML file. Raises SpecError with all its problems."""
    try:
        return spec_of(read_yaml(content))
    except YamlError as error:
        raise SpecError([SpecProblem("", str(error))]) from None


def spec_from_json(text: str) -> Spec:
    """The spec that a report keeps. Raises SpecError."""
    return spec_of(json.loads(text))


_SPECS: Cache[Spec] = Cache(200)
"""The specs that were read last: a page opens an upload's files anew each time."""


def spec_of(raw: Any) -> Spec:
    """The spec that parsed YAML holds, read once for equal values. Raises SpecError with all its problems."""
    return _SPECS.get(raw, lambda: _read_new_spec(raw))


def _read_new_spec(raw: Any) -> Spec:
    if not isinstance(raw, Mapping):
        text = f"Write names with values, as in `name: Animals`, instead of {quoted(raw)}."
        raise SpecError([SpecProblem("", text)])
    fields = Spec.model_fields
    unknown = [name for name in raw if name not in fields]
    problems = [SpecProblem("", none_of(name, fields, is_optional=True)) for name in unknown]
    values = {name: _read_value(name, raw, problems) for name in fields}
    right_values = {name: value for name, value in values.items() if value is not _WRONG}
    problems += _joint_problems(right_values)
    if problems:
        positions = {name: position for position, name in enumerate(fields, start=1)}
        problems.sort(key=lambda problem: positions.get(problem.place.partition(".")[0], 0))
        raise SpecError(problems)
    return Spec.model_construct(**values)


def _read_value(name: str, raw: Mapping[str, Any], problems: list[SpecProblem]) -> Any:
    """A field's value, its default where there is none, or `_WRONG` where it has problems, which are added."""
    field = Spec.model_fields[name]
    if name not in raw and not field.is_required():
        return field.get_default(call_default_factory=True)
    if name == "rule":
        return _read_rule(raw.get(name), problems)
    if name == "figures":
        return _read_figures(raw.get(name), problems)
    return _read_field(name, raw.get(name), problems)


_WRONG = object()
"""In place of the value of a field with a problem."""


def _adapter(name: str) -> TypeAdapter[Any]:
    """A validator of one field alone, so that problems of all fields are found."""
    field = Spec.model_fields[name]
    annotation: Any = field.annotation
    if field.metadata:
        annotation = Annotated[annotation, *field.metadata]  # pyright: ignore
    return TypeAdapter(annotation)


_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    name: _adapter(name) for name in Spec.model_fields if name != "rule"
}
_MEMBER_FIELDS: Mapping[str, tuple[str, ...]] = {
    "columns": tuple(Columns.model_fields),
    "derive": ("from", *(name for name in Derived.model_fields if name != "source")),
    "questions": tuple(QuestionFile.model_fields),
    "published": tuple(PublishedFigure.model_fields),
}
"""Names that the members of a field may have."""


def _read_field(name: str, value: Any, problems: list[SpecProblem]) -> Any:
    try:
        return _ADAPTERS[name].validate_python(value)
    except ValidationError as error:
        if name == "headline":
            text = f"Write a figure's name, or one for each protocol as in {_HEADLINES}, instead of {quoted(value)}."
            problems.append(SpecProblem(name, text))
        else:
            problems += dict.fromkeys(spec_problems(error, name, _MEMBER_FIELDS.get(name, ())))
        return _WRONG


def _read_rule(value: Any, problems: list[SpecProblem]) -> Any:
    """The cases of a rule, or `_WRONG`, with its problems added."""
    count_before = len(problems)
    is_list = isinstance(value, list | tuple)
    entries = value if is_list else [{"rule": value}]
    if not entries:
        problems.append(SpecProblem("rule", f"The list is empty. Choose {either(KINDS)}."))
    cases: dict[int, Case] = {}
    for number, entry in enumerate(entries, start=1):
        place = f"rule.{number}" if is_list else "rule"
        if not isinstance(entry, Mapping) or "rule" not in entry:
            text = f"Write a case, as in {_EXAMPLE_CASE}, instead of {quoted(entry)}."
            problems.append(SpecProblem(place, text))
            continue
        kind = _read_kind(entry["rule"], f"{place}.rule" if is_list else place, problems)
        if kind is None:
            continue
        try:
            cases[number] = Case.model_validate({**entry, "rule": kind})
        except ValidationError as error:
            problems += spec_problems(error, place, Case.model_fields)
    for number, case in cases.items():
        if case.when is None and number < len(entries):
            text = "It fits every row, so the cases below are never used. Give it a `when`."
            problems.append(SpecProblem(f"rule.{number}", text))
    return tuple(cases.values()) if len(problems) == count_before else _WRONG


def _read_kind(value: Any, place: str, problems: list[SpecProblem]) -> RuleKind | None:
    """A rule from a word or a mapping with `kind`; None if it has problems, which are added."""
    fields = {"kind": value} if isinstance(value, str) else value
    if not isinstance(fields, Mapping) or "kind" not in fields:
        text = f"{quoted(value)} isn't a rule. Choose {either(KINDS)}, or write {_EXAMPLE_KIND}."
        problems.append(SpecProblem(place, text))
        return None
    kind = fields["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        problems.append(SpecProblem(place, none_of(kind, KINDS)))
        return None
    try:
        return KINDS[kind].model_validate(fields)
    except ValidationError as error:
        model_fields = KINDS[kind].model_fields
        parameters = [field.alias or name for name, field in model_fields.items() if name != "kind"]
        problems += spec_problems(error, place, parameters)
        return None


def _read_figures(value: Any, problems: list[SpecProblem]) -> Any:
    if not isinstance(value, Mapping) or not value:
        text = f"Write figures by name, as in {_EXAMPLE_FIGURES}, instead of {quoted(value)}."
        problems.append(SpecProblem("figures", text))
        return _WRONG
    count_before = len(problems)
    figures: dict[str, Figure] = {}
    for name, form in value.items():
        place = f"figures.{name}"[:80]
        try:
            figures[str(name)] = Figure.model_validate(figure_fields(form))
        except ValidationError as error:
            problems += spec_problems(error, place, Figure.model_fields)
        except ValueError as error:
            problems.append(SpecProblem(place, str(error)))
    if len(problems) > count_before:
        return _WRONG
    return _read_field("figures", figures, problems)


def _joint_problems(values: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Yields problems between fields; `values` lacks the fields that have problems of their own."""
    if "columns" in values:
        yield from _repeated_column_problems(values["columns"])
        yield from _answer_column_problems(values)
    yield from _rule_problems(values)
    if "figures" in values:
        yield from figure_problems(values["figures"])
        yield from _mark_problems(values)
        yield from _positive_problems(values)
        yield from _headline_problems(values)
        yield from _published_problems(values)
    yield from _ask_problems(values.get("ask") or "")
    for field in ("called", "groups", "protocols"):
        for word, times in Counter(values.get(field, ())).items():
            if times > 1:
                yield SpecProblem(field, f"{word!r} is there {times} times. Keep one of them.")
    files = values.get("questions")
    has_only_answered_files = files is not None and all(file.answers == "there" for file in files)
    if values.get("submission") and has_only_answered_files:
        text = "Every question file has answers, so there's nothing to submit. Mark one with `answers: absent`."
        yield SpecProblem("submission", text)


def _ask_problems(ask: str) -> Iterator[SpecProblem]:
    allowed = either(f"{{{name}}}" for name in ASK_FIELDS)
    for name in dict.fromkeys(BRACES.findall(ask)):
        if name not in ASK_FIELDS:
            yield SpecProblem("ask", f"{{{name}}} can't be filled in. Use {allowed}.")


_ROLES: Mapping[str, str] = {
    "id": "id",
    "question": "question",
    "truth": "right answer",
    "answer": "model's answer",
}
"""Words for the columns that must differ."""


def _repeated_column_problems(columns: Columns) -> Iterator[SpecProblem]:
    words_of_column: dict[str, str] = {}
    for role, words in _ROLES.items():
        column = getattr(columns, role)
        if column is None:
            continue
        if column in words_of_column:
            text = (
                f"{column!r} is already the column of the {words_of_column[column]}. Name another."
            )
            yield SpecProblem(f"columns.{role}", text)
        words_of_column.setdefault(column, words)


def _answer_column_problems(values: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Yields a problem where questions are grouped by the model's answer."""
    answer = values["columns"].answer
    columns_by_place = {"groups": values.get("groups", ()), "splits": [values.get("splits")]}
    columns_by_place |= {
        f"derive.{name}": [derived.source] for name, derived in values.get("derive", {}).items()
    }
    columns_by_place |= {
        f"figures.{name}": figure.columns for name, figure in values.get("figures", {}).items()
    }
    for place, columns in columns_by_place.items():
        if answer in columns:
            text = f"{answer!r} is the model's answer, which can't group questions. Name another column."
            yield SpecProblem(place, text)


def _published_problems(values: Mapping[str, Any]) -> Iterator[SpecProblem]:
    for number, row in enumerate(values.get("published", ()), start=1):
        if row.figure not in values["figures"]:
            yield SpecProblem(f"published.{number}.figure", none_of(row.figure, values["figures"]))


def _rule_problems(values: Mapping[str, Any]) -> Iterator[SpecProblem]:
    has_truth = values.get("columns", Columns()).truth is not None
    for case in values.get("rule", ()):
        is_prompted = not case.rule.is_compared
        if is_prompted and not has_truth and "truth" in case.rule.required:
            text = "The prompt has {truth}, but columns.truth is null. Name the column there."
            yield SpecProblem("rule", text)
        for protocol in values.get("protocols", ()):
            rule_protocols = case.rule.protocols()
            if protocol not in rule_protocols:
                names = either([name for name in PROTOCOLS if name in rule_protocols], "and")
                text = f"The rule {kind_of(case.rule)} has no protocol {protocol!r}. Choose from {names}."
                yield SpecProblem("protocols", text)


def _mark_problems(values: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Yields a problem for each figure that needs more marks than any rule gives."""
    mark_counts = [case.rule.mark_count for case in values.get("rule", ())]
    most = max(mark_counts, default=2)  # no rule could be read, which is reported already
    for name, figure in values["figures"].items():
        if figure.mark_count > most:
            needed = "two marks" if figure.mark_count == 2 else "marks"
            marks = " with `marks: 2`" if figure.mark_count == 2 else ""
            text = (
                f"It's made of {needed}, which only a rubric{marks} gives. Change rule or figure."
            )
            yield SpecProblem(f"figures.{name}", text)


def _positive_problems(values: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Yields a problem for each figure that counts an answer which no rule can give."""
    rules = [case.rule for case in values.get("rule", ())]
    for name, figure in values["figures"].items():
        positive = figure.positive
        if positive is not None and rules and not any(rule.can_yield(positive) for rule in rules):
            kinds = either(dict.fromkeys(map(kind_of, rules)))
            text = (
                f"{figure.form} counts {positive!r}, which the rule {kinds} never reads. "
                "Use the rule yes_no with Yes or No."
            )
            yield SpecProblem(f"figures.{name}", text)


def _headline_problems(values: Mapping[str, Any]) -> Iterator[SpecProblem]:
    figures: Mapping[str, Figure] = values["figures"]
    protocols = values.get("protocols", ())
    headline = values.get("headline")
    for protocol in protocols:
        of_protocol = [figure for figure in figures.values() if figure.belongs_to(protocol)]
        if not of_protocol:
            yield SpecProblem("figures", f"There is none under the protocol {protocol}. Add one.")
        elif all(figure.is_guess for figure in of_protocol):
            text = f"Under the protocol {protocol}, all of them are guesses. Add one that isn't."
            yield SpecProblem("figures", text)
    by_protocol = headline or {}
    if isinstance(headline, str):
        by_protocol = dict.fromkeys(protocols, headline)
    texts = [_headline_problem(figures, name, protocol) for protocol, name in by_protocol.items()]
    texts += [
        f"{protocol!r} isn't a protocol of this spec. Choose from {', '.join(protocols)}."
        for protocol in by_protocol
        if protocols and protocol not in protocols
    ]
    yield from (SpecProblem("headline", text) for text in dict.fromkeys(filter(None, texts)))


def _headline_problem(figures: Mapping[str, Figure], name: str, protocol: str) -> str:
    """Why a figure can't be the headline under a protocol; "" if it can."""
    if name not in figures:
        return none_of(name, figures)
    if figures[name].is_guess:
        return f"{name!r} is a guess, not a model's score. Choose another figure."
    if not figures[name].belongs_to(protocol):
        return (
            f"{name!r} doesn't exist under the protocol {protocol}. Choose another figure for it."
        )
    return ""


def name_ending(spec: Spec, file: str) -> str:
    """The longest name in `called` that ends a file's name; "" if none does."""
    stem = PurePath(file).stem.casefold()
    endings = [name for name in spec.called if ends_with(stem, name.casefold())]
    return max(endings, key=len, default="")


def ends_with(stem: str, name: str) -> bool:
    """Whether a file's name is this one, or ends with it behind a character that is no letter or digit."""
    if not stem.endswith(name):
        return False
    before = stem.removesuffix(name)
    return not before[-1:].isalnum()
