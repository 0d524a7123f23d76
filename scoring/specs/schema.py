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
ASKED = ("question", "options")
"""Names in braces that a prompt may have."""
_BY_PROTOCOL = f"{{strict: {OVERALL}}}"
_CASE = "{when: {column: value}, rule: letter}"
_KIND = "{kind: letter, ...}"
_FIGURES = f"{{{OVERALL}: mean}}"
_MD5 = re.compile(r"[0-9a-f]{32}")
_URL = re.compile(r"https://[a-z0-9.-]{1,200}(?::[0-9]{1,5})?/[!-~]{1,1000}", re.IGNORECASE)
_PLAIN_FILE = re.compile(r"[\w+@ -][\w.+@ -]{0,118}")


def _filled(say: str) -> BeforeValidator:
    """A text that must be there; `say` is what to do without."""

    def check(value: Any) -> Any:
        if value is None or (isinstance(value, str) and not value.strip()):
            raise ValueError(say)
        return as_name(value)

    return BeforeValidator(check)


def _plain_file(value: Any) -> Any:
    if not isinstance(value, str) or not _PLAIN_FILE.fullmatch(value):
        raise ValueError(f"{quoted(value)} isn't a file name. Write one without folders.")
    return value


def _md5(value: Any) -> Any:
    if not isinstance(value, str) or not _MD5.fullmatch(value.lower()):
        raise ValueError(
            f"{quoted(value)} isn't an md5. Write its 32 hexadecimal digits in quotes."
        )
    return value.lower()


def _https(value: Any) -> Any:
    if not isinstance(value, str) or not _URL.fullmatch(value):
        raise ValueError(
            f"{quoted(value)} isn't a web address. Write one that begins with https://."
        )
    return value


_FileName = Annotated[str, BeforeValidator(_plain_file)]


class Columns(BaseModel):
    """The file's columns by what they hold; those that are not named are read under today's spellings too."""

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


class QuestionFile(BaseModel):
    """A question file that is known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: _FileName
    url: Annotated[str, BeforeValidator(_https)] | None = None
    md5: Annotated[str, BeforeValidator(_md5)] | None = None
    rows: int | None = Field(default=None, ge=1, le=10_000_000)
    split: Word | None = None
    answers: Literal["there", "hidden", "absent"] = "there"
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
    """A rule, and for which rows it is: those with these cells, "" being an empty or missing one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    when: Conditions | None = None
    rule: SerializeAsAny[RuleKind]


class Spec(BaseModel):
    """A benchmark."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    name: Annotated[str, _filled("Give the benchmark a name."), Field(max_length=80)]
    about: Annotated[str, _filled("Say in a sentence what is measured."), Field(max_length=200)]
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
    """The first that fits a row decides."""
    protocols: Annotated[
        tuple[RuleProtocol, ...], BeforeValidator(as_list), Field(min_length=1)
    ] = ("strict",)
    figures: Annotated[Mapping[Word, Figure], Field(min_length=1, max_length=50)] = {
        OVERALL: Figure(mean="rows")
    }
    headline: Word | Mapping[RuleProtocol, Word] | None = None
    """The figure that stands for a report, or one for each protocol; Overall, else the first one, without."""
    questions: Annotated[tuple[QuestionFile, ...], Field(max_length=100)] = ()
    submission: Literal["json map", "json list", "tsv", "xlsx"] | None = None
    published: tuple[PublishedFigure, ...] = ()
    ask: Annotated[str, Field(min_length=1, max_length=4_000)] | None = None

    @cached_property
    def digest(self) -> str:
        """sha256 of the spec in normal form: reports carry it, and those of two specs are never mixed."""
        normal = json.dumps(self.plain, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(normal.encode()).hexdigest()

    @cached_property
    def plain(self) -> Mapping[str, Any]:
        """The spec in normal form: written out, without default values."""
        return {name: value for name, value in self._written() if value not in (None, {}, [])}

    def _written(self) -> Iterator[tuple[str, Any]]:
        dumped = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for name in type(self).model_fields:
            if name == "rule":
                yield name, _plain_rule(self.rule)
            elif name in dumped:
                yield name, dumped[name]

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
        known = [name for name, figure in figures.items() if not figure.is_guess]
        return OVERALL if OVERALL in known else known[0]

    def figures_under(
        self, protocol: str, columns: Container[str] | None = None
    ) -> Mapping[str, Figure]:
        """The figures of a protocol; with a file's `columns`, those that it has the columns for."""
        return {
            name: figure
            for name, figure in self.figures.items()
            if figure.belongs_to(protocol)
            and (
                columns is None
                or all(self.source_of(column) in columns for column in self.needs(name))
            )
        }

    def needs(self, figure: str) -> list[str]:
        """Returns the columns that a figure and its parts need."""
        columns = [*self.figures[figure].columns]
        for part in self.figures[figure].parts:
            columns += self.needs(part)
        return columns

    def source_of(self, column: str) -> str:
        """The file's column that a column is made of in the end."""
        for name in reversed([*self.derive]):
            if name == column:
                column = self.derive[name].source
        return column

    def names_of(self, column: str) -> Mapping[str, str]:
        """Returns a derived column's names for the cells that it is made of."""
        return self.derive[column].names or {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its rules, without doubles."""
        return tuple(dict.fromkeys(kind_of(case.rule) for case in self.rule))


def kind_of(rule: RuleKind) -> str:
    return str(rule.model_dump(include={"kind"})["kind"])


def _plain_rule(cases: tuple[Case, ...]) -> Any:
    """A rule for all rows alone, else its cases; a kind without parameters is a word."""
    plain = []
    for case in cases:
        dumped = case.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        kind = kind_of(case.rule)
        rule = {"kind": kind, **dumped} if dumped.keys() - {"kind"} else kind
        plain.append({"when": dict(case.when), "rule": rule} if case.when else {"rule": rule})
    return plain[0]["rule"] if len(cases) == 1 and cases[0].when is None else plain


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
"""The specs that were read last: an upload's file is opened again for each look at it."""


def spec_of(raw: Any) -> Spec:
    """The spec that a file's value is, read once for equal values. Raises SpecError with all its problems."""
    return _SPECS.get(raw, lambda: _spec_of(raw))


def _spec_of(raw: Any) -> Spec:
    if not isinstance(raw, Mapping):
        text = f"Write names with values, as in `name: Animals`, instead of {quoted(raw)}."
        raise SpecError([SpecProblem("", text)])
    fields = Spec.model_fields
    problems = [
        SpecProblem("", none_of(name, fields, is_optional=True))
        for name in raw
        if name not in fields
    ]
    read = {name: _read_part(name, raw, problems) for name in fields}
    known = {name: value for name, value in read.items() if value is not _WRONG}
    problems += _joint_problems(known)
    if problems:
        raise SpecError(sorted(problems, key=lambda problem: _place_of(problem, fields)))
    return Spec.model_construct(**read)


def _read_part(name: str, raw: Mapping[str, Any], problems: list[SpecProblem]) -> Any:
    """A field's value, its default where there is none, or `_WRONG` where it has a problem."""
    field = Spec.model_fields[name]
    if name not in raw and not field.is_required():
        return field.get_default(call_default_factory=True)
    if name == "rule":
        return _read_rule(raw.get(name), problems)
    if name == "figures":
        return _read_figures(raw.get(name), problems)
    return _read_field(name, raw.get(name), problems)


_WRONG = object()
"""In place of a field with a problem."""


def _place_of(problem: SpecProblem, fields: Mapping[str, Any]) -> int:
    names = ["", *fields]
    first = problem.place.partition(".")[0]
    return names.index(first) if first in names else 0


def _adapter(name: str) -> TypeAdapter[Any]:
    field = Spec.model_fields[name]
    kind: Any = field.annotation
    whole: Any = Annotated[kind, *field.metadata] if field.metadata else kind  # pyright: ignore
    return TypeAdapter(whole)


_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    name: _adapter(name) for name in Spec.model_fields if name != "rule"
}
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "columns": tuple(Columns.model_fields),
    "derive": ("from", *(name for name in Derived.model_fields if name != "source")),
    "questions": tuple(QuestionFile.model_fields),
    "published": tuple(PublishedFigure.model_fields),
}
"""Names that a field's parts may have."""


def _read_field(name: str, value: Any, problems: list[SpecProblem]) -> Any:
    try:
        return _ADAPTERS[name].validate_python(value)
    except ValidationError as error:
        if name == "headline":
            text = f"Write a figure's name, or one for each protocol as in {_BY_PROTOCOL}, instead of {quoted(value)}."
            problems.append(SpecProblem(name, text))
        else:
            problems += dict.fromkeys(spec_problems(error, name, _KNOWN.get(name, ())))
        return _WRONG


def _read_rule(value: Any, problems: list[SpecProblem]) -> Any:
    before = len(problems)
    entries = value if isinstance(value, list | tuple) else [{"rule": value}]
    is_list = isinstance(value, list | tuple)
    if not entries:
        problems.append(SpecProblem("rule", f"The list is empty. Choose {either(KINDS)}."))
    cases = []
    for number, entry in enumerate(entries, start=1):
        place = f"rule.{number}" if is_list else "rule"
        if not isinstance(entry, Mapping) or "rule" not in entry:
            text = f"Write a case, as in {_CASE}, instead of {quoted(entry)}."
            problems.append(SpecProblem(place, text))
            continue
        kind = _read_kind(entry["rule"], f"{place}.rule" if is_list else place, problems)
        if kind is None:
            continue
        try:
            cases.append(Case.model_validate({**entry, "rule": kind}))
        except ValidationError as error:
            problems += spec_problems(error, place, Case.model_fields)
    for number, case in enumerate(cases[:-1], start=1):
        if case.when is None:
            text = "It fits every row, so the cases below are never used. Give it a `when`."
            problems.append(SpecProblem(f"rule.{number}", text))
    return tuple(cases) if len(problems) == before else _WRONG


def _read_kind(value: Any, place: str, problems: list[SpecProblem]) -> RuleKind | None:
    """A kind of rule, which is a word or a mapping with `kind`."""
    written = {"kind": value} if isinstance(value, str) else value
    if not isinstance(written, Mapping) or "kind" not in written:
        text = f"{quoted(value)} isn't a rule. Choose {either(KINDS)}, or write {_KIND}."
        problems.append(SpecProblem(place, text))
        return None
    kind = written["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        problems.append(SpecProblem(place, none_of(kind, KINDS)))
        return None
    known = [name for name in KINDS[kind].model_fields if name != "kind"]
    try:
        return KINDS[kind].model_validate(written)
    except ValidationError as error:
        problems += spec_problems(error, place, known)
        return None


def _read_figures(value: Any, problems: list[SpecProblem]) -> Any:
    if not isinstance(value, Mapping) or not value:
        text = f"Write figures by name, as in {_FIGURES}, instead of {quoted(value)}."
        problems.append(SpecProblem("figures", text))
        return _WRONG
    before = len(problems)
    figures: dict[str, Figure] = {}
    for name, form in value.items():
        place = f"figures.{name}"[:80]
        try:
            figures[str(name)] = Figure.model_validate(figure_fields(form))
        except ValidationError as error:
            problems += spec_problems(error, place, Figure.model_fields)
        except ValueError as error:
            problems.append(SpecProblem(place, str(error)))
    if len(problems) > before:
        return _WRONG
    return _read_field("figures", figures, problems)


def _joint_problems(read: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Problems of fields with one another; a field with a problem of its own is not there."""
    yield from _column_problems(read.get("columns", Columns()))
    yield from _answer_problems(read)
    yield from _rule_problems(read)
    if "figures" in read:
        yield from figure_problems(read["figures"])
        yield from _mark_problems(read)
        yield from _positive_problems(read)
        yield from _headline_problems(read)
        yield from _published_problems(read)
    unknown = [name for name in BRACES.findall(read.get("ask") or "") if name not in ASKED]
    asked = either(f"{{{known}}}" for known in ASKED)
    for name in dict.fromkeys(unknown):
        place = f"{{{name}}}"
        text = f"{place} can't be filled in. Use {asked}."
        yield SpecProblem("ask", text)
    for field in ("called", "groups", "protocols"):
        for word, times in Counter(read.get(field, ())).items():
            if times > 1:
                yield SpecProblem(field, f"{word!r} is there {times} times. Keep one of them.")
    files = read.get("questions", ())
    if read.get("submission") and not any(file.answers != "there" for file in files):
        text = "Every question file has answers, so there's nothing to submit. Mark one with `answers: absent`."
        yield SpecProblem("submission", text)


_ROLES: Mapping[str, str] = {
    "id": "id",
    "question": "question",
    "truth": "right answer",
    "answer": "model's answer",
}


def _column_problems(columns: Columns) -> Iterator[SpecProblem]:
    roles: dict[str, str] = {}
    for role in _ROLES:
        column = getattr(columns, role)
        if column is None:
            continue
        if column in roles:
            text = f"{column!r} is already the column of the {_ROLES[roles[column]]}. Name another."
            yield SpecProblem(f"columns.{role}", text)
        roles.setdefault(column, role)


def _answer_problems(read: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Yields a problem where questions are grouped by the model's answer."""
    answer = read.get("columns", Columns()).answer
    columns_by_place = {"groups": read.get("groups", ()), "splits": [read.get("splits")]}
    columns_by_place |= {
        f"derive.{name}": [derived.source] for name, derived in read.get("derive", {}).items()
    }
    columns_by_place |= {
        f"figures.{name}": figure.columns for name, figure in read.get("figures", {}).items()
    }
    for place, columns in columns_by_place.items():
        if answer in columns:
            text = f"{answer!r} is the model's answer, which can't group questions. Name another column."
            yield SpecProblem(place, text)


def _published_problems(read: Mapping[str, Any]) -> Iterator[SpecProblem]:
    for number, row in enumerate(read.get("published", ()), start=1):
        if row.figure not in read["figures"]:
            yield SpecProblem(f"published.{number}.figure", none_of(row.figure, read["figures"]))


def _rule_problems(read: Mapping[str, Any]) -> Iterator[SpecProblem]:
    has_truth = read.get("columns", Columns()).truth is not None
    for case in read.get("rule", ()):
        if not (case.rule.is_compared or has_truth) and "truth" in case.rule.needed:
            text = "The prompt has {truth}, but columns.truth is null. Name the column there."
            yield SpecProblem("rule", text)
        for protocol in read.get("protocols", ()):
            known = case.rule.protocols()
            if protocol not in known:
                has = either([name for name in PROTOCOLS if name in known], "and")
                text = f"The rule {kind_of(case.rule)} has no protocol {protocol!r}. Choose from {has}."
                yield SpecProblem("protocols", text)


def _mark_problems(read: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Figures of marks that no rule gives."""
    most = max((case.rule.mark_count for case in read.get("rule", ())), default=2)
    for name, figure in read["figures"].items():
        if figure.mark_count > most:
            needed = "two marks" if figure.mark_count == 2 else "marks"
            marks = " with `marks: 2`" if figure.mark_count == 2 else ""
            text = (
                f"It's made of {needed}, which only a rubric{marks} gives. Change rule or figure."
            )
            yield SpecProblem(f"figures.{name}", text)


def _positive_problems(read: Mapping[str, Any]) -> Iterator[SpecProblem]:
    """Figures of an answer that no rule reads."""
    rules = [case.rule for case in read.get("rule", ())]
    for name, figure in read["figures"].items():
        positive = figure.positive
        if positive is not None and rules and not any(rule.reads(positive) for rule in rules):
            kinds = either(dict.fromkeys(map(kind_of, rules)))
            text = (
                f"{figure.form} counts {positive!r}, which the rule {kinds} never reads. "
                "Use the rule yes_no with Yes or No."
            )
            yield SpecProblem(f"figures.{name}", text)


def _headline_problems(read: Mapping[str, Any]) -> Iterator[SpecProblem]:
    figures: Mapping[str, Figure] = read["figures"]
    protocols = read.get("protocols", ())
    headline = read.get("headline")
    for protocol in protocols:
        of_protocol = [figure for figure in figures.values() if figure.belongs_to(protocol)]
        if not of_protocol:
            yield SpecProblem("figures", f"There is none under the protocol {protocol}. Add one.")
        elif all(figure.is_guess for figure in of_protocol):
            text = f"Under the protocol {protocol}, all of them are guesses. Add one that isn't."
            yield SpecProblem("figures", text)
    by_protocol = (
        dict.fromkeys(protocols, headline) if isinstance(headline, str) else headline or {}
    )
    texts = [_headline_problem(figures, name, protocol) for protocol, name in by_protocol.items()]
    texts += [
        f"{protocol!r} isn't a protocol of this spec. Choose from {', '.join(protocols)}."
        for protocol in by_protocol
        if protocol not in protocols
    ]
    yield from (SpecProblem("headline", text) for text in dict.fromkeys(filter(None, texts)))


def _headline_problem(figures: Mapping[str, Figure], name: str, protocol: str) -> str:
    if name not in figures:
        return none_of(name, figures)
    if figures[name].is_guess:
        return f"{name!r} is a guess, not a model's score. Choose another figure."
    if not figures[name].belongs_to(protocol):
        return (
            f"{name!r} doesn't exist under the protocol {protocol}. Choose another figure for it."
        )
    return ""


def is_called(spec: Spec, file: str) -> str:
    """The name in `called` that ends a file's name; "" if none does."""
    stem = PurePath(file).stem.casefold()
    fitting = [name for name in spec.called if ends_with(stem, name.casefold())]
    return max(fitting, key=len, default="")


def ends_with(stem: str, name: str) -> bool:
    """Whether a file's name ends with this one, on its own or behind a sign."""
    before = stem.removesuffix(name)
    return stem.endswith(name) and not before[-1:].isalnum()
