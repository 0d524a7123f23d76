"""Figures in a few words, for a list of benchmarks: "F1 of yes", "accuracy by whole pair"."""

from scoring.specs.figures import Figure
from scoring.specs.problems import either
from scoring.specs.schema import OVERALL, Spec


def headline_words(spec: Spec) -> str:
    """The figure that stands for a report under the first protocol, by its name and in a few words."""
    name = spec.headline_under(spec.protocols[0])
    words = _figure_words(spec, spec.figures[name]).replace("_", " ")
    is_named = name == OVERALL or words.casefold().startswith(name.casefold())
    return words if is_named else f"{name}: {words}"


def _figure_words(spec: Spec, figure: Figure) -> str:
    if figure.positive is not None:
        form = "share" if figure.form == "yes" else figure.form
        return f"{form.replace('f1', 'F1')} of {figure.positive.lower()}"
    if figure.all is not None:
        return f"accuracy by whole {either(figure.all, 'and')}"
    if figure.mean_of is not None:
        return f"mean over {figure.mean_of}"
    if figure.over is not None:
        return f"sum over {figure.over}"
    if figure.parts:
        return f"{figure.form} of {either(figure.parts, 'and')}"
    return _row_words(spec, figure)


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
    measures = dict.fromkeys(case.rule.measure for case in spec.rule)
    return measures.popitem()[0] if len(measures) == 1 else "mean score"
