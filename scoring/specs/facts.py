"""Facts of a benchmark: all that a spec says, in words, for the command line and the benchmark's page."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from arena.locale import t, translated
from scoring.specs.schema import Case, Spec, kind_of


class BenchmarkFact(NamedTuple):
    """One thing that is known of a benchmark. Several may have one name, as its protocols do."""

    name: str
    text: str


def spec_facts(spec: Spec, notes: Mapping[str, str]) -> Iterator[BenchmarkFact]:
    """Yield what a spec says below its name and sentence; `notes` say what each protocol does."""
    if spec.size:
        yield BenchmarkFact(t("benchmarks.size"), translated(spec.size))
    yield BenchmarkFact(t("benchmarks.licence"), translated(spec.licence))
    if spec.cite:
        yield BenchmarkFact(t("benchmarks.cite"), spec.cite)
    if spec.called:
        named = t("names.comma").join(f"..._{name}" for name in spec.called)
        yield BenchmarkFact(t("benchmarks.called"), named)
    for case in spec.rule:
        yield from _rule_facts(case)
    for protocol in spec.protocols:
        figures = t("names.comma").join(spec.figures_under(protocol))
        text = t(
            "benchmarks.protocol_figures",
            name=protocol,
            note=translated(notes[protocol]),
            figures=figures,
        )
        yield BenchmarkFact(t("benchmarks.protocol"), text)
    for question in spec.questions:
        parts = [
            question.name,
            t("benchmarks.rows", count=question.rows) if question.rows else "",
            t(f"benchmarks.answers_{question.answers}") if question.answers != "there" else "",
            f"md5 {question.md5}" if question.md5 else "",
            question.url or "",
            translated(question.note or ""),
        ]
        yield BenchmarkFact(t("benchmarks.questions"), " · ".join(filter(None, parts)))
    yield BenchmarkFact(t("benchmarks.digest"), spec.digest)


def _rule_facts(case: Case) -> Iterator[BenchmarkFact]:
    """Yield a rule with its parameters, and its prompt."""
    when = t("names.comma").join(
        t("benchmarks.cell", column=name, cell=cell or t("benchmarks.empty"))
        for name, cell in (case.when or {}).items()
    )
    rule = case.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    prompt = rule.pop("prompt", "").strip()
    written = ", ".join(
        f"{name} {_in_words(value)}" for name, value in rule.items() if name != "kind"
    )
    parts = [kind_of(case.rule), written, when and t("benchmarks.when", cells=when)]
    yield BenchmarkFact(t("benchmarks.rule"), " · ".join(filter(None, parts)))
    if prompt:
        yield BenchmarkFact(t("benchmarks.prompt"), prompt)


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
