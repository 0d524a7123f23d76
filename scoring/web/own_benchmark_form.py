"""Form of an own benchmark on "Score a model": the fields of a spec, and the check of the file by them."""

import base64
from dataclasses import replace
from typing import Any

import gradio as gr

from arena.locale import t, translated
from arena.templates import macros
from arena.web.events import Updates
from scoring.benchmarks.file_check import PRICED
from scoring.jobs.own_benchmarks import OwnCheck, OwnLook
from scoring.rules.prompted import LONGEST
from scoring.specs.own_fields import (
    JUDGE,
    LONGEST_NAME,
    MOST_GROUPS,
    RULES,
    OwnFields,
    in_fields_words,
    spec_of_fields,
)
from scoring.specs.problems import SpecError
from scoring.specs.schema import Spec
from scoring.web import scoring_forms as forms
from scoring.web.report_parts import MOST_PROBLEMS, REPORT, file_problems_html
from scoring.web.scoring_problems import problem_text

OWN_FORM = macros("own_benchmark.html")
COUNTED = "(count the rows)"
NONE = "(none)"
"""Choices beside the columns of a file."""


class OwnBenchmarkForm:
    """Components as attributes; methods return the spec in the fields, and the updates that show it."""

    def __init__(self) -> None:
        with gr.Column(visible=False, elem_id="own-benchmark") as self.fields:
            self.name = gr.Textbox(
                label=t("score.own.name"), elem_id="own-name", max_length=LONGEST_NAME
            )
            self.rule = gr.Dropdown(
                [(translated(rule.label), key) for key, rule in RULES.items()],
                value=None,
                label=t("score.own.rule"),
                info=t("score.own.rule_info"),
                elem_id="own-rule",
            )
            with gr.Row():
                self.id = _column(t("score.own.id"), "own-id")
                self.question = _column(t("score.own.question"), "own-question")
                self.truth = _column(t("score.own.truth"), "own-truth")
                self.answer = _column(t("score.own.answer"), "own-answer")
            self.groups = gr.Dropdown(
                [],
                multiselect=True,
                max_choices=MOST_GROUPS,
                label=t("score.own.groups"),
                info=t("score.own.groups_info"),
                elem_id="own-groups",
            )
            with gr.Row(visible=False) as self.grades:
                self.low = gr.Number(0, label=t("score.own.low"), elem_id="own-low")
                self.high = gr.Number(10, label=t("score.own.high"), elem_id="own-high")
            self.prompt = gr.Textbox(
                label=t("score.own.prompt"),
                info=t(
                    "score.own.prompt_info",
                    question="{question}",
                    truth="{truth}",
                    answer="{answer}",
                ),
                elem_id="own-prompt",
                lines=6,
                max_lines=16,
                max_length=LONGEST,
                visible=False,
            )
        self.check = gr.HTML(elem_id="own-check", padding=False)

    @property
    def inputs(self) -> list[Any]:
        return [*self._choice_fields, *self._typed_fields]

    @property
    def parts(self) -> list[Any]:
        """The components that an event may update."""
        return [self.fields, self.grades, self.check, *self.inputs]

    @property
    def _choice_fields(self) -> list[Any]:
        return [self.rule, self.id, self.question, self.truth, self.answer, self.groups]

    @property
    def _typed_fields(self) -> list[Any]:
        return [self.name, self.low, self.high, self.prompt]

    @property
    def changes(self) -> list[Any]:
        """The events that change the check."""
        return [
            *(field.input for field in self._choice_fields),
            *(field.blur for field in self._typed_fields),
        ]

    def spec(self, values: Any) -> Spec | None:
        """Returns the spec in the fields; None while they are hidden. Raises SpecError and JobServiceError."""
        if values[self.rule] is None:
            return None
        return spec_of_fields(self._fields(values))

    def field_values(self, look: OwnLook | None) -> dict[Any, Any]:
        """Returns the fields' values for a file; empty for a file with a spec, since the fields stay hidden."""
        if look is None:
            return {**dict.fromkeys(self.inputs), self.groups: []}
        fields = look.fields
        return {
            self.name: fields.name,
            self.rule: fields.rule,
            self.id: fields.id or COUNTED,
            self.question: fields.question or NONE,
            self.truth: fields.truth or NONE,
            self.answer: fields.answer or NONE,
            self.groups: [*fields.groups],
            self.low: fields.low,
            self.high: fields.high,
            self.prompt: fields.prompt,
        }

    def updates(self, look: OwnLook | None) -> Updates:
        """Returns the updates that fill the fields in, and empty the check."""
        columns = [*look.columns] if look else []
        no_column = (t("score.own.none"), NONE)
        choices = {
            self.id: [(t("score.own.counted"), COUNTED), *columns],
            **dict.fromkeys((self.question, self.truth, self.answer), [no_column, *columns]),
            self.groups: _group_columns(look, look.fields.answer) if look else [],
        }
        field_updates = {}
        for field, value in self.field_values(look).items():
            if field in choices:
                field_updates[field] = gr.update(value=value, choices=choices[field])
            else:
                field_updates[field] = gr.update(value=value)
        shown_for_judge = gr.update(visible=look is not None and look.fields.rule == JUDGE)
        prompt = look.fields.prompt if look else ""
        field_updates[self.prompt] = shown_for_judge | {"value": prompt}
        return {
            **field_updates,
            self.grades: shown_for_judge,
            self.fields: gr.update(visible=look is not None),
            self.check: "",
        }

    def hiding_updates(self) -> Updates:
        """Returns the updates that hide fields and check."""
        return self.updates(None)

    def dependent_updates(self, values: Any, look: OwnLook | None) -> Updates:
        """Returns the updates of the fields that depend on the chosen rule or column; typed text stays."""
        if values[self.rule] is None or look is None:
            return {}
        fields = self._fields(values)
        groups = gr.update(value=[*fields.groups], choices=_group_columns(look, fields.answer))
        shown_for_judge = gr.update(visible=fields.rule == JUDGE)
        # A prompt of ours is exchanged when the column of right answers changes; the user's own stays.
        is_prompt_kept = fields.judge_prompt == fields.prompt
        prompt_value = {} if is_prompt_kept else {"value": fields.judge_prompt}
        return {
            self.groups: groups,
            self.grades: shown_for_judge,
            self.prompt: shown_for_judge | prompt_value,
        }

    def problem_updates(self, error: Exception) -> Updates:
        """Returns the update that shows the problems of the fields or of the file."""
        lines = [translated(error)]
        if isinstance(error, SpecError):
            lines = [*map(problem_text, error.problems[:MOST_PROBLEMS])]
        problems = REPORT.problems("scoring", "alert", t("score.own.correct"), lines)
        return {self.check: OWN_FORM.refused(problems)}

    def check_updates(
        self, values: Any, spec: Spec, own_check: OwnCheck, is_named: bool
    ) -> Updates:
        """Returns the update that shows the check of a file; `is_named`: whether a judge is named.

        Problems name the page's fields. If the file has its own benchmark.yaml, they name the places in that instead.
        """
        problems = own_check.problems
        if values[self.rule] is not None:
            problems = [
                replace(problem, text=in_fields_words(problem.text)) for problem in problems
            ]
        price = _price_text(spec, own_check, is_named)
        # the page downloads the spec from a data address, without another request
        yaml = base64.b64encode(spec.yaml.encode()).decode()
        html = OWN_FORM.check(spec, own_check, price, file_problems_html(problems), yaml)
        return {self.check: html}

    def _fields(self, values: Any) -> OwnFields:
        """Returns the fields' values, which anybody may have sent; the model's answer is never a group."""
        answer = _column_name(values[self.answer])
        return OwnFields(
            name=_text(values[self.name]),
            rule=forms.check_choice(RULES, values[self.rule]),
            id=_column_name(values[self.id]),
            question=_column_name(values[self.question]),
            truth=_column_name(values[self.truth]),
            answer=answer,
            groups=tuple(name for name in _texts(values[self.groups]) if name != answer),
            low=_number(values[self.low]),
            high=_number(values[self.high]),
            prompt=_text(values[self.prompt]),
        )


def _group_columns(look: OwnLook, answer: str) -> list[str]:
    """The columns by which questions can be grouped."""
    return [column for column in look.columns if column != answer]


def _column(label: str, elem_id: str) -> gr.Dropdown:
    return gr.Dropdown([], label=label, elem_id=elem_id, min_width=150)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _column_name(value: object) -> str:
    """Returns a chosen column; "" for none."""
    text = _text(value)
    return "" if text in (NONE, COUNTED) else text


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(_text, value)) if isinstance(value, list) else ()


def _number(value: object) -> float | None:
    """Returns a typed number; None for no number, and for one that is too large for a float."""
    if not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _price_text(spec: Spec, own_check: OwnCheck, is_named: bool) -> str:
    """Returns a sentence on the answers that are left to a judge; "" if none is.

    If rules read first, it is the number of those answers, which a judge can read later. Otherwise it is the price.
    """
    check = own_check.check
    if check is None or not check.left:
        return ""
    if any(case.rule.is_compared for case in spec.rule):
        return t("score.own.left", left=check.left, count=check.answers)
    if not is_named:
        return t("score.own.name_judge", count=PRICED)
    if check.dollars is None:
        return t("score.own.cost_unknown")
    return t("score.own.cost", count=PRICED, dollars=forms.dollars_text(check.dollars))
