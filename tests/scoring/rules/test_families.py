"""Every row of the shared families reads as the public toolkits' own functions read it, under each protocol."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from scoring.judges.spec import JudgeSpec, Reply
from scoring.rules.base import Item, Reading, RuleKind, RuleProtocol
from scoring.rules.kinds import KINDS
from scoring.rules.open import mmmu_answers
from scoring.rules.vqa_accuracy import normal_answer
from scoring.specs.files import OURS, load_spec

SPEC = JudgeSpec("judge", True, "max_tokens", True, True, True, 0, None)


def rule(kind: str, **parameters: str) -> RuleKind:
    return KINDS[kind].model_validate({"kind": kind, **parameters})


def item_of(row: Mapping[str, Any]) -> Item:
    truth = row.get("answer")
    return Item(
        id=str(row.get("index", row.get("id"))),
        question=row.get("question", ""),
        truth=json.dumps(truth) if isinstance(truth, list) else truth and str(truth),
        options={letter: row[letter] for letter in "ABCDEFGHIJ" if row.get(letter) is not None},
        cells=row,
    )


@dataclass(frozen=True)
class Expected:
    """What a family's rows must read as under a protocol: `key` of their expected values."""

    family: str
    key: str
    protocol: RuleProtocol
    rule: RuleKind | Callable[[Mapping[str, Any]], RuleKind]
    of: str = "score"
    """`score`, `read`, or `judged`: the score after the row's `reply` of a judge."""

    def rule_of(self, row: Mapping[str, Any]) -> RuleKind:
        return self.rule if isinstance(self.rule, RuleKind) else self.rule(row)


LETTER = rule("letter")
YES_NO = rule("yes_no")
CONTAINS = rule("text", compare="contains")
FORMULAS = rule("text", compare="contains", fold="spaces")
MMMU = rule("letter", open="Other Answers")
LAST_LINE = rule("letter", final_line="Answer:")


def naturalbench(row):
    return LETTER_OR_WORD[row["type"]]


LETTER_OR_WORD = {
    "multiple_choice": rule("letter", read="standing"),
    "yes_no": rule("yes_no", read="first"),
}


def ocrbench(row):
    return FORMULAS if row["category"].startswith("Handwritten Mathematical") else CONTAINS


def realworldqa(row):
    return LETTER if row["A"] else rule("text")


def mathvista(row):
    if row["question_type"] == "multi_choice":
        return rule("letter", truth="answer_option", options="choices", read="nearest")
    return {
        "integer": rule("number", **{"as": "integer"}),
        "float": rule("number", **{"as": "float", "places": "precision"}),
        "list": rule("text", **{"as": "list"}),
    }[row["answer_type"]]


def mathvision(row):
    if row["choices"] == "[]":
        return rule("number", **{"as": "formula"})
    return rule("letter", options="choices")


KIT: RuleProtocol = "vlmevalkit"
LMMS: RuleProtocol = "lmms-eval"
EXPECTED = [
    *(
        Expected(family, key, KIT, YES_NO, of)
        for family in ("amber", "pope", "hallusionbench", "mme")
        for key, of in (("read", "read"), ("hit", "score"))
    ),
    Expected("pope", "lmms_hit", LMMS, YES_NO),
    Expected("mme", "lmms_read", LMMS, rule("yes_no", read="start"), "read"),
    Expected("naturalbench", "read", KIT, naturalbench, "read"),
    Expected("naturalbench", "hit", KIT, naturalbench),
    Expected("chartqa", "score", KIT, rule("relaxed")),
    Expected("chartqa", "lmms_score", LMMS, rule("relaxed")),
    Expected("docvqa", "score", KIT, rule("anls")),
    Expected("docvqa", "lmms_score", LMMS, rule("anls")),
    Expected("gqa", "score", KIT, rule("text")),
    Expected("ocrbench", "score", KIT, ocrbench),
    Expected("ocrbench", "lmms_score", LMMS, ocrbench),
    Expected("textvqa", "score", KIT, rule("text", compare="consensus", fold="vqa")),
    Expected("mmstar", "letter_kit", KIT, LETTER, "read"),
    Expected("mmstar", "hit", KIT, LETTER),
    Expected("mmstar", "lmms_hit", LMMS, LETTER),
    Expected("mmvp", "letter_kit", KIT, LETTER, "read"),
    Expected("mmvp", "hit", KIT, LETTER),
    Expected("mmvp", "lmms_letter", LMMS, rule("letter", read="mmvp"), "read"),
    Expected("mmmu", "letter_kit", KIT, MMMU, "read"),
    Expected("mmmu", "hit", KIT, MMMU),
    Expected("mmmu_open", "right", "authors", MMMU),
    Expected("mmmu_open", "right", "authors", rule("open")),
    Expected("mmmu_pro", "letter_kit", KIT, LETTER, "read"),
    Expected("mmmu_pro", "hit", KIT, LETTER),
    Expected("mmmu_pro", "letter_kit_cot", KIT, LAST_LINE, "read"),
    Expected("mmmu_pro", "hit_cot", KIT, LAST_LINE),
    Expected("cv_bench", "hit", KIT, LETTER),
    Expected("cv_bench", "lmms_hit", LMMS, rule("letter", read="initial")),
    Expected("realworldqa", "hit", KIT, realworldqa),
    Expected("realworldqa", "lmms_hit", LMMS, realworldqa),
    Expected("letter_readings", "kit", KIT, LETTER, "read"),
    Expected("letter_readings", "lmms_shared", LMMS, LETTER, "read"),
    Expected("letter_readings", "lmms_first", LMMS, rule("letter", read="initial"), "read"),
    Expected("letter_readings", "lmms_mmmu", LMMS, rule("letter", read="mmmu"), "read"),
    Expected("letter_readings", "right_llava_scienceqa", LMMS, rule("letter", read="llava")),
    Expected("mathvista", "kit_rule", KIT, mathvista, "read"),
    Expected("mathvista", "kit", KIT, mathvista, "judged"),
    Expected("mathvista", "lmms", LMMS, mathvista, "judged"),
    Expected("mathvision", "kit_rule", KIT, mathvision, "read"),
    Expected("mathvision", "kit", KIT, mathvision, "judged"),
]
LLAVA = "llava_bench"
WILD = "wildvision"
VERDICTS = [
    (LLAVA, KIT, lambda told: (told["gpt4_score"], told["score"])),
    (LLAVA, "strict", lambda told: (told["gpt4_score"], told["score"]) if told["read"] else None),
    (WILD, KIT, lambda told: (told["verdict_kit"], told["kit_value"])),
    (WILD, LMMS, lambda told: told["lmms_value"]),
    (WILD, "strict", lambda told: None if told["verdict_kit"] == "Unknown" else told["kit_value"]),
    ("own_rubric", "strict", lambda told: told["grade"]),
]
UNREAD = (None, "Unknown", "other")
"""How the families write that a toolkit read nothing."""


def judged(rule: RuleKind, item: Item, answer: str, protocol: RuleProtocol, reply: str) -> Reading:
    """The reading of an answer after a judge that replies this to every question, if one is asked."""
    reading = rule.reading(item, answer, protocol)
    if not reading.is_open:
        return reading
    asking = rule.judging(item, answer, protocol, SPEC)
    next(asking)
    try:
        while True:
            asking.send(Reply((reply,), ("stop",), 0, 0, "judge"))
    except StopIteration as end:
        return end.value.reading


def test_every_expected_value_comes_out(data):
    wrong: dict[str, list[Any]] = {}
    for expected in EXPECTED:
        for line in rows(data, expected.family):
            value = line["expected"].get(expected.key, "absent")
            found = value_of(expected, line["row"])
            if value != "absent" and not is_same(value, found):
                name = f"{expected.family} {expected.key} {expected.protocol}"
                wrong.setdefault(name, []).append((line["row"]["prediction"], value, found))
    assert wrong == {}


@pytest.mark.parametrize(("family", "protocol", "wanted"), VERDICTS)
def test_a_judges_reply_is_read_as_in_the_family(data, family, protocol, wanted):
    folder = data / "specs" if family == "own_rubric" else OURS
    (case,) = load_spec(folder / f"{family}.yaml").rule
    for line in rows(data, family):
        item = Item("1", "What?", "a cat", {}, {"claude3_sonnet": "a cat"})
        reading = judged(case.rule, item, "a dog", protocol, line["row"]["judge_reply"])
        told = wanted(line["expected"])
        assert verdict(family, protocol, reading, told) == told, line


def verdict(family: str, protocol: str, reading: Reading, told: Any) -> Any:
    """What was read, in the family's own words."""
    if family == LLAVA:
        return reading.marks or None
    if family == WILD:
        return (
            (reading.read or "Unknown", reading.score) if isinstance(told, tuple) else reading.score
        )
    return None if reading.score is None else 2 * reading.score


def value_of(expected: Expected, row: Mapping[str, Any]) -> float | str | None:
    rule = expected.rule_of(row)
    item = item_of(row)
    answer = row["prediction"]
    if expected.of == "judged":
        return judged(rule, item, answer, expected.protocol, row["reply"]).score
    reading = rule.reading(item, answer, expected.protocol)
    return reading.read if expected.of == "read" else reading.score


def is_same(value: Any, found: float | str | None) -> bool:
    if isinstance(found, str):
        return found.casefold() == ("" if value in UNREAD else str(value).strip().casefold())
    return found is not None and abs(found - float(value)) < 1e-6


def rows(data, family: str) -> Sequence[Mapping[str, Any]]:
    lines = (data / "families" / f"{family}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("family", ["textvqa", "mmmu_open"])
def test_what_is_compared_is_what_the_toolkits_compare(data, family):
    for line in rows(data, family):
        answer = line["row"]["prediction"]
        if family == "textvqa":
            assert normal_answer(answer, as_kit=True) == line["expected"]["normal"]
        else:
            assert {*map(str, mmmu_answers(answer))} == {*line["expected"]["read"]}
