"""The fields of an own benchmark, by the handlers of the page: what they show, take and refuse."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scoring.specs.own_fields import JUDGE, NO_TRUTH_PROMPT
from scoring.specs.schema import read_spec
from scoring.web.own_benchmark_form import COUNTED, NONE
from tests.support.openai_server import OpenAIServer
from tests.support.own_benchmarks import table
from tests.support.scoring_person import Person

COLUMNS = "case request topic expected reply"


@pytest.fixture
def person(tmp_path) -> Iterator[Person]:
    with OpenAIServer() as judge:
        here = Person(tmp_path, judge)
        yield here
        here.bench.database.close()


def clinic(folder: Path, expected: str = "decline and name the nurse line") -> Path:
    rows = [(f"c{n}", f"May I, {n}?", "ab"[n % 2], expected, f"No, {n}.") for n in range(6)]
    return table(folder / "clinic.csv", COLUMNS, *rows)


def filled(person: Person, file: Path) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Drop a file that nothing recognises and take what is offered; return what is shown and what is sent then."""
    form, sent = person.reads(file)
    tab = person.tab
    assert form[tab.make_own]["visible"] and form[tab.problem]
    shown = person.in_thread(tab.on_own, sent, person.request)
    values = {field: shown[field]["value"] for field in sent if "value" in (shown.get(field) or ())}
    return shown, {**sent, **values, tab.prices: shown.get(tab.prices, "")}


def changed(person: Person, sent: dict[Any, Any], **fields: object) -> dict[Any, Any]:
    """Change fields by name; return what the page shows then."""
    form = person.tab.own_form
    sent.update({getattr(form, name): value for name, value in fields.items()})
    return person.in_thread(person.tab.on_change, sent, person.request)


def downloaded(check: str):
    (yaml,) = re.findall(r"base64,([\w+/=]+)", check)
    return read_spec(base64.b64decode(yaml))


def test_a_file_that_nothing_recognises_fills_the_fields_in_and_is_checked(person, tmp_path):
    shown, sent = filled(person, clinic(tmp_path))
    form = person.tab.own_form
    assert shown[form.fields]["visible"] and shown[form.prompt]["visible"]
    assert sent[form.rule] == JUDGE
    assert [sent[form.id], sent[form.question]] == ["case", "request"]
    assert [sent[form.truth], sent[form.answer]] == ["expected", "reply"]
    assert shown[form.truth]["choices"] == [(NONE, NONE), *COLUMNS.split()]
    assert sent[form.groups] == ["topic"]
    check = shown[form.check]
    assert "Your benchmark clinic: 6 answers; 6 can be scored" in check
    assert "a 3" in check and "b 3" in check and check.count("<li>") == 3
    assert "BEGIN " in check and "decline and name the nurse line" in check
    assert "100 answers like these cost about $0." in check
    spec = downloaded(check)
    assert (spec.name, spec.kinds, spec.groups) == ("clinic", ("rubric",), ("topic",))
    assert shown[person.tab.check]["interactive"] and shown[person.tab.offers]["visible"]
    assert sent[person.tab.settings.title] == "clinic"


def test_a_changed_field_changes_the_check_and_its_spec(person, tmp_path):
    _, sent = filled(person, clinic(tmp_path, "No"))
    form = person.tab.own_form
    shown = changed(person, sent, rule="contains", groups=[], name="Other")
    check = shown[form.check]
    assert not shown[form.prompt]["visible"] and not shown[form.grades]["visible"]
    assert "Read as" in check and "<dd>1.00</dd>" in check and "BEGIN" not in check
    assert not shown[person.tab.offers]["visible"]
    assert shown[person.tab.check]["value"] == "Score by rules (free)"
    assert (downloaded(check).name, downloaded(check).groups) == ("Other", ())
    link = person.tab.on_check(sent, person.request)[person.tab.link]
    assert "scores 100.0 on Other" in person.opened(link)


def test_our_prompt_follows_the_column_of_right_answers_and_yours_stays(person, tmp_path):
    _, sent = filled(person, clinic(tmp_path))
    form = person.tab.own_form
    assert changed(person, sent, truth=NONE)[form.prompt]["value"] == NO_TRUTH_PROMPT
    shown = changed(person, sent, prompt="Is this kind? {answer}")
    assert "value" not in shown[form.prompt] and "Is this kind?" in shown[form.check]


def test_the_models_answer_groups_nothing(person, tmp_path):
    shown, sent = filled(person, clinic(tmp_path))
    form = person.tab.own_form
    assert shown[form.groups]["choices"] == ["case", "request", "topic", "expected"]
    shown = changed(person, sent, answer="topic", groups=["expected", "topic"])
    assert shown[form.groups]["choices"] == ["case", "request", "expected", "reply"]
    assert shown[form.groups]["value"] == ["expected"]
    assert downloaded(shown[form.check]).groups == ("expected",)


def test_a_brought_spec_is_told_of_by_its_places(person, tmp_path):
    spec = tmp_path / "benchmark.yaml"
    spec.write_text(
        "name: Z\nabout: Z.\ncolumns: {id: case, truth: x, answer: reply}\nrule: text\n"
    )
    shown, _ = person.reads(clinic(tmp_path), spec)
    assert "columns.truth: The file has no &#39;x&#39;" in shown[person.tab.own_form.check]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"answer": NONE, "name": ""}, ["Name: Give the", "Model&#39;s answer: Choose the"]),
        ({"prompt": "Grade it"}, ["Prompt: The prompt has no {answer}"]),
        ({"prompt": "{answer} {nurse}"}, ["Prompt: The file has no column &#39;nurse&#39;"]),
        ({"answer": "no such column"}, ["Model&#39;s answer: The file has no"]),
        ({"id": "topic"}, ["3 rows have the id a"]),
    ],
)
def test_what_is_wrong_with_fields_is_told_in_their_words(person, tmp_path, fields, told):
    _, sent = filled(person, clinic(tmp_path))
    shown = changed(person, sent, **fields)
    assert all(text in shown[person.tab.own_form.check] for text in told)
    assert shown[person.tab.check]["visible"] == ("nurse" in told[0])


def test_a_grade_beyond_all_numbers_is_a_problem(person, tmp_path):
    _, sent = filled(person, clinic(tmp_path))
    check = changed(person, sent, high=10**400)[person.tab.own_form.check]
    assert "Grades: Enter the lowest and the highest grade." in check


def test_rows_without_ids_are_counted(person, tmp_path):
    _, sent = filled(person, clinic(tmp_path))
    check = changed(person, sent, id=COUNTED)[person.tab.own_form.check]
    assert "its rows are counted from 0" in check and "<b>0</b> May I, 0?" in check


@pytest.mark.parametrize("sent_rule", ["no rule", 7, ["x"]])
def test_a_rule_that_the_form_does_not_offer_is_refused(person, tmp_path, sent_rule):
    _, sent = filled(person, clinic(tmp_path))
    assert "Choose one of: letter" in changed(person, sent, rule=sent_rule)[person.tab.problem]


def test_an_own_judge_is_named_before_its_price_is_told(person, tmp_path):
    _, sent = filled(person, clinic(tmp_path))
    form = person.tab.own_form
    sent[person.tab.settings.judge] = "own key"
    assert "Name your judge below" in changed(person, sent)[form.check]
    sent[person.tab.settings.model] = "gpt-4o"
    assert "100 answers like these cost about $0." in changed(person, sent)[form.check]


def test_another_file_takes_the_fields_away(person, tmp_path):
    filled(person, clinic(tmp_path))
    rows = [(n, "q", "cat", "dog", "A", "A") for n in range(4)]
    other = table(tmp_path / "m.csv", "index question A B answer prediction", *rows)
    form, sent = person.reads(other)
    own = person.tab.own_form
    assert not form[own.fields]["visible"] and form[own.check] == "" and sent[own.rule] is None
