"""Figures in a few words, for a list of benchmarks: "F1 of yes", "accuracy per pair, all or nothing"."""

from collections.abc import Iterable

from arena.locale import ENGLISH, speaking, t, translated
from scoring.specs.figures import Figure
from scoring.specs.problems import either
from scoring.specs.schema import OVERALL, Spec


def headline_words(spec: Spec) -> str:
    """The headline under the first protocol, by its name and in a few words."""
    name = spec.headline_under(spec.protocols[0])
    words = _headline_words(spec, name)
    # A spec's names are English, whatever the page's language.
    with speaking(ENGLISH):
        english_words = _headline_words(spec, name)
    # "Overall" says nothing, and "F1 of yes" already begins with F1.
    needs_no_name = name == OVERALL or english_words.casefold().startswith(name.casefold())
    if needs_no_name:
        return words
    return t("benchmarks.named_figure", name=translated(name), figure=words)


def _headline_words(spec: Spec, name: str) -> str:
    """The words for a figure, without its name."""
    return _figure_words(spec, spec.figures[name]).replace("_", " ")


def _figure_words(spec: Spec, figure: Figure) -> str:
    positive = figure.positive
    if positive is not None:
        is_letter = len(positive) == 1
        return _figure_of(figure, positive if is_letter else positive.lower())
    if figure.all is not None:
        # question_no is named by what it numbers: question.
        names = [name.removesuffix("_no") for name in figure.all]
        return t("benchmarks.figure_whole", group=_all_of(names))
    if figure.mean_of is not None:
        return t("benchmarks.figure_mean", group=figure.mean_of)
    if figure.over is not None:
        return t("benchmarks.figure_sum", group=figure.over)
    if figure.parts:
        return _figure_of(figure, _all_of(figure.parts))
    return translated(_row_words(spec, figure))


def _figure_of(figure: Figure, parts: str) -> str:
    return t("benchmarks.figure_of", form=t(f"benchmarks.form_{figure.form}"), parts=parts)


def _all_of(names: Iterable[str]) -> str:
    return either(names, t("benchmarks.and"))


def _row_words(spec: Spec, figure: Figure) -> str:
    """The words for a figure over single rows."""
    if figure.count is not None:
        return "right answers"
    if figure.above is not None:
        return f"share above {figure.above:g}"
    if figure.ratio is not None:
        return "ratio of marks"
    if figure.mark is not None:
        return "mean mark"
    measures = {case.rule.measure for case in spec.rule}
    if len(measures) != 1:
        return "mean score"
    [measure] = measures
    return measure
