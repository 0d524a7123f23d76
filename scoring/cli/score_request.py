"""Request to `score`, and the options of its benchmark, which the benchmark's record checks and describes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from typer import BadParameter

from arena.settings import Settings
from arena.types import grouped
from scoring.benchmarks.base import Benchmark, BenchmarkOptions, OpenedFile
from scoring.cli.progress import CommandJudge
from scoring.specs.problems import either

NO_FILE = "There is no file to score. Name one."
_HINT = "-o"


@dataclass(frozen=True)
class ScoreRequest:
    """Arguments of `score`, with its benchmark known."""

    answers: Path | None
    """File of answers, where there is one."""
    opened: OpenedFile | None
    """Opened file of answers, if it was read to recognise its benchmark."""
    questions: Path | None
    against: Path | None
    options: Any
    """Record of the benchmark's `options`."""
    protocol: str | None
    title: str
    out: Path
    judge: str
    """Model of the judge; "" for none."""
    no_judge: bool
    base_url: str | None
    batch: bool
    yes: bool
    budget: float | None

    @cached_property
    def settings(self) -> Settings:
        return Settings.from_env()

    @property
    def file(self) -> Path:
        """File of answers. Raises BadParameter without one."""
        if self.answers is None:
            raise BadParameter(NO_FILE, param_hint="FILE")
        return self.answers

    @property
    def input_paths(self) -> list[Path | None]:
        """Files that are read, and so must not be written over."""
        paths = [value for _, value in self.options if isinstance(value, Path)]
        return [self.answers, self.questions, self.against, *paths]

    def command_judge(self) -> CommandJudge:
        return CommandJudge(
            self.settings, self.judge, self.base_url, self.batch, self.yes, self.budget
        )


def read_options(benchmark: Benchmark[Any], words: Sequence[str]) -> BenchmarkOptions:
    """Record of the benchmark's options, from words NAME=VALUE. Raises BadParameter."""
    known = benchmark.options.model_fields
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise BadParameter(f"{word!r} isn't an option. Write NAME=VALUE.", param_hint=_HINT)
        if name not in known:
            advice = f"Choose {either(known)}." if known else "It has none, so leave out -o."
            raise BadParameter(
                f"{name!r} isn't an option of {benchmark.key}. {advice}", param_hint=_HINT
            )
        if name in values:
            raise BadParameter(f"{name} is given more than once. Keep one.", param_hint=_HINT)
        values[name] = value
    try:
        return benchmark.options.model_validate(values)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        expected = _values(benchmark.options)[name]
        raise BadParameter(
            f"{name} can't be {values[name]!r}. It must be {expected}.", param_hint=_HINT
        ) from None


def option_lines(benchmarks: Iterable[Benchmark[Any]]) -> Iterator[str]:
    """Options of every benchmark with their values, docs and defaults, from its record."""
    benchmarks_by_record = grouped((benchmark.options, benchmark) for benchmark in benchmarks)
    for record, benchmarks_of_record in benchmarks_by_record.items():
        if not record.model_fields:
            continue
        yield f"-o of {', '.join(benchmark.key for benchmark in benchmarks_of_record)}:"
        values = _values(record)
        for name, field in record.model_fields.items():
            default = "" if field.default in (None, False) else f" [default: {field.default}]"
            yield f"  {name}={values[name]}"
            yield f"      {field.description}{default}"


def _values(record: type[BenchmarkOptions]) -> Mapping[str, str]:
    """Values that each option of a record takes, in words."""
    properties = record.model_json_schema()["properties"]
    return {name: either(_words(properties[name])) for name in properties}


def _words(schema: Mapping[str, Any]) -> Iterator[str]:
    """Choices of a field, from its part of the record's JSON schema."""
    for part in schema.get("anyOf", [schema]):
        if "enum" in part:
            yield from part["enum"]
        elif part["type"] == "integer":
            upper = f" to {part['maximum']}" if "maximum" in part else " up"
            yield f"a number from {part['minimum']}{upper}"
        elif part["type"] == "boolean":
            yield from ("true", "false")
        elif part["type"] == "string":
            yield "a file" if part.get("format") == "path" else "a name"
