"""Facts of a benchmark: all that a spec says, in words, for the command line and the benchmark's page."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from arena.templates import plural
from scoring.specs.schema import Case, Spec, kind_of


class BenchmarkFact(NamedTuple):
    """One thing that is known of a benchmark. Several may have one name, as its protocols do."""

    name: str
    text: str


def spec_facts(spec: Spec, notes: Mapping[str, str]) -> Iterator[BenchmarkFact]:
    """Yield what a spec says below its name and sentence; `notes` say what each protocol does."""
    if spec.size:
        yield BenchmarkFact("Size", spec.size)
    yield BenchmarkFact("Licence", spec.licence)
    if spec.cite:
        yield BenchmarkFact("Cite", spec.cite)
    if spec.called:
        named = ", ".join(f"..._{name}" for name in spec.called)
        yield BenchmarkFact("Files called", named)
    for case in spec.rule:
        yield from _rule_facts(case)
    for protocol in spec.protocols:
        figures = ", ".join(spec.figures_under(protocol))
        yield BenchmarkFact("Protocol", f"{protocol}: {notes[protocol]}. Figures: {figures}")
    for question in spec.questions:
        parts = [
            question.name,
            plural(question.rows, "row") if question.rows else "",
            f"answers {question.answers}" if question.answers != "there" else "",
            f"md5 {question.md5}" if question.md5 else "",
            question.url or "",
            question.note or "",
        ]
        yield BenchmarkFact("Questions", " · ".join(filter(None, parts)))
    yield BenchmarkFact("Spec (sha256)", spec.digest)


def _rule_facts(case: Case) -> Iterator[BenchmarkFact]:
    """Yield a rule with its parameters, and its prompt."""
    when = ", ".join(f"{name} is {cell or 'empty'}" for name, cell in (case.when or {}).items())
    rule = case.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    prompt = rule.pop("prompt", "").strip()
    written = ", ".join(
        f"{name} {_in_words(value)}" for name, value in rule.items() if name != "kind"
    )
    parts = [kind_of(case.rule), written, when and f"where {when}"]
    yield BenchmarkFact("Rule", " · ".join(filter(None, parts)))
    if prompt:
        yield BenchmarkFact("Prompt", prompt)


def _in_words(value: Any) -> str:
    """A parameter in words: lists and tables without their brackets, numbers without zeros."""
    if isinstance(value, list):
        return (
            " to ".join(map(_in_words, value))
            if len(value) == 2
            else ", ".join(map(_in_words, value))
        )
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_words(each)}" for name, each in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
