"""Benchmarks with a spec: it gives the facts about them, whether the spec or code scores them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scoring.benchmarks.base import FileBenchmark, R
from scoring.specs.facts import BenchmarkFact, spec_facts
from scoring.specs.figure_words import headline_words
from scoring.specs.file_columns import FileColumn, enough_with_questions, spec_columns
from scoring.specs.schema import QuestionFile, Spec


@dataclass(frozen=True, kw_only=True)
class SpecifiedBenchmark(FileBenchmark[R]):
    """A benchmark that takes the facts about itself and its files from its spec."""

    spec: Spec

    @property
    def kinds(self) -> Sequence[str]:
        return self.spec.kinds

    @property
    def size(self) -> str:
        return self.spec.size or ""

    @property
    def measure(self) -> str:
        return headline_words(self.spec)

    def columns(self) -> Sequence[FileColumn]:
        return spec_columns(self.spec)

    @property
    def columns_note(self) -> str:
        return enough_with_questions(self.spec)

    def facts(self) -> Iterator[BenchmarkFact]:
        return spec_facts(self.spec, self.notes)

    @property
    def question_files(self) -> Sequence[QuestionFile]:
        return self.spec.questions

    @property
    def file_names(self) -> Sequence[str]:
        return self.spec.called

    @property
    def licence(self) -> str:
        return self.spec.licence
