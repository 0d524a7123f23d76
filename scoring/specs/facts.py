"""Facts of a benchmark: what its spec says, in words, for the command line and the benchmark's page."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from arena.locale import t, translated
from scoring.specs.schema import Case, Spec, kind_of


class BenchmarkFact(NamedTuple):
    """One thing that is known of a benchmark. Several may have one name, as its protocols do."""

    name: str
    text: str


def spec_facts(spec: Spec, notes: Mapping[str, str]) -> Iterator[BenchmarkFact]:
    """Yields a spec's size, licence, citation, endings of file names, rules, protocols, question files and digest.

    `notes` are sentences by protocol.
    """
    if spec.size:
        yield BenchmarkFact(t("benchmarks.size"), translated(spec.size))
    yield BenchmarkFact(t("benchmarks.licence"), translated(spec.licence))
    if spec.cite:
        yield BenchmarkFact(t("benchmarks.cite"), spec.cite)
    if spec.called:
        endings = t("names.comma").join(f"..._{name}" for name in spec.called)
        yield BenchmarkFact(t("benchmarks.called"), endings)
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
    for file in spec.questions:
        parts = [
            file.name,
            t("benchmarks.rows", count=file.rows) if file.rows else "",
            t(f"benchmarks.answers_{file.answers}") if file.answers != "there" else "",
            f"md5 {file.md5}" if file.md5 else "",
            file.url or "",
            translated(file.note or ""),
        ]
        yield BenchmarkFact(t("benchmarks.questions"), " · ".join(filter(None, parts)))
    yield BenchmarkFact(t("benchmarks.digest"), spec.digest)


def _rule_facts(case: Case) -> Iterator[BenchmarkFact]:
    """Yields a rule with its parameters, and its prompt."""
    cells = t("names.comma").join(
        t("benchmarks.cell", column=name, cell=cell or t("benchmarks.empty"))
        for name, cell in (case.when or {}).items()
    )
    when = t("benchmarks.when", cells=cells) if cells else ""
    rule = case.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    prompt = rule.pop("prompt", "").strip()
    parameters = ", ".join(
        f"{name} {_value_text(value)}" for name, value in rule.items() if name != "kind"
    )
    parts = [kind_of(case.rule), parameters, when]
    yield BenchmarkFact(t("benchmarks.rule"), " · ".join(filter(None, parts)))
    if prompt:
        yield BenchmarkFact(t("benchmarks.prompt"), prompt)


def _value_text(value: Any) -> str:
    """A parameter as text: a pair as a range, lists and tables without their brackets, numbers without zeros."""
    if isinstance(value, list):
        joint = " to " if len(value) == 2 else ", "
        return joint.join(map(_value_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value_text(member)}" for name, member in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
