"""No text of strangers freezes the server: four times the text takes at most six times the work."""

import ast
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arena import reasoning
from arena.authoring.known import lacking
from arena.formats import registry as vote_files
from arena.formats import visit_battles
from arena.formulas import MOST_FORMULA, Formula, formula_at, mathml
from arena.inference import trouble
from arena.inference.messages import ending
from arena.io import csv_text, data_urls
from arena.markdown import answer_html, instruction_html, plain_html
from arena.seats.worker_names import listed_name
from arena.server import logs
from arena.thinking import ThinkingStream, split_thinking, word_count
from arena.types import folded, grouped
from arena.web import cookies as identity
from scoring import report as results
from scoring.benchmarks import mm_vet
from scoring.benchmarks import predictions as uploads
from scoring.failures import failure
from scoring.judges import attack_rules, client, injection
from scoring.judges.replies import read_letter
from scoring.multiple_choice import named_options, phrases, plain_answers, statements, strict
from scoring.multiple_choice.extract import extract, read_reply
from scoring.people import text_metrics
from scoring.report import Question
from scoring.rules import short_answers, vqa_accuracy
from scoring.rules.base import Item
from scoring.rules.judging import copied_answer
from scoring.rules.kinds import KINDS
from scoring.rules.toolkit_letters import READERS as LETTER_READERS
from scoring.text_lists import listed_texts
from scoring.visit_bench import prompts as visit_bench
from tests.support.examples import examples
from tests.support.growth import A_LINE, MOST, grows_too_fast, slow, texts, units_of

ROOT = Path(__file__).parents[1]
ANCHORED = {"match", "fullmatch"}
SEARCHING = {"search", "findall", "finditer", "split", "sub", "subn"}
PARTS = 16
TORCH = ("arena.inference.adapter_training", "arena.inference.local_model")
"""Modules without patterns that load torch, which takes seconds in each process that collects these tests."""


@cache
def modules() -> tuple[ModuleType, ...]:
    files = [*ROOT.glob("arena/**/*.py"), *ROOT.glob("scoring/**/*.py")]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in sorted(files)]
    return tuple(
        importlib.import_module(name)
        for name in names
        if not name.endswith("__main__") and name not in TORCH
    )


@pytest.mark.parametrize("name", TORCH)
def test_modules_that_are_not_looked_through_have_no_patterns(name):
    imported = set()
    for node in ast.walk(ast.parse((ROOT / f"{name.replace('.', '/')}.py").read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
    assert "re" not in imported
    assert {one for one in imported if one.split(".")[0] in ("arena", "scoring")} <= {*TORCH}


def held(value: object, seen: set[int]) -> Iterator[re.Pattern]:
    """Yield the patterns that a value is, or holds in containers, records and classes."""
    if id(value) in seen:
        return
    seen.add(id(value))
    inner: list[object] = []
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inner = [*value]
    elif isinstance(value, type) and value.__module__.split(".")[0] in ("arena", "scoring"):
        inner = [*vars(value).values()]
    elif is_dataclass(value):
        inner = [getattr(value, field.name, None) for field in fields(value)]
    for one in inner:
        yield from held(one, seen)


@cache
def patterns() -> Mapping[str, re.Pattern]:
    """Return every pattern of the app by its module and name."""
    found: dict[re.Pattern, str] = {}
    seen: set[int] = set()  # of what modules import from each other
    for module in modules():
        for name, value in list(vars(module).items()):
            if id(value) in seen:
                continue
            seen.add(id(value))
            for number, pattern in enumerate(held(value, set())):
                found.setdefault(pattern, f"{module.__name__}.{name}{number or ''}")
    for family, pattern in attack_families().items():
        found.setdefault(pattern, f"scoring.judges.attack_rules {family}")
    return {name: pattern for pattern, name in found.items()}


def attack_families() -> Mapping[str, re.Pattern]:
    """Return all rules of each family as one pattern, which grows as the slowest of them does."""
    rules = attack_rules._rules()
    looked_up = {rule for group in rules.by_beginning.values() for rule in group}
    parts = grouped(
        (rule.family, rule.pattern.pattern)
        for rule in (*sorted(looked_up, key=str), *rules.in_ascii, *rules.in_other_letters)
    )
    joined = {family: re.compile("|".join(each), re.MULTILINE) for family, each in parts.items()}
    return {**joined, "run together": rules.together, "says nothing": rules.nothing}


@cache
def uses() -> Mapping[re.Pattern, set[str]]:
    """Return by which of their methods the code calls the patterns that have a name."""
    found: dict[re.Pattern, set[str]] = {}
    for module in modules():
        if not any(isinstance(value, re.Pattern) for value in vars(module).values()):
            continue
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                value = vars(module).get(node.value.id)
                if isinstance(value, re.Pattern):
                    found.setdefault(value, set()).add(node.attr)
    return found


def ways(pattern: re.Pattern) -> list[Callable[[str], object]]:
    """Return how a pattern is tried: as the code calls it, in every way where that is not seen."""
    used = uses().get(pattern, ANCHORED | SEARCHING)
    calls: list[Callable] = [getattr(pattern, name) for name in sorted(used & ANCHORED)]
    if used & SEARCHING:
        calls.append(lambda text: [None for _ in pattern.finditer(text)])
    if isinstance(pattern.pattern, bytes):
        return [lambda text, call=call: call(_bytes(text)) for call in calls]
    return calls


def _bytes(text: str) -> bytes:
    """The bytes of a text; of one that `units_of` made of a pattern's own bytes, these."""
    return text.encode("latin-1" if max(text, default="") <= "\xff" else "utf-8")


def slow_ways(name: str, soak: bool) -> list[str]:
    pattern = patterns()[name]
    units = units_of(pattern)
    return [
        found for call in ways(pattern) for found in slow(call, units if soak else units[::2], soak)
    ]


def test_the_work_of_every_pattern_grows_with_the_text():
    """All in one test: a test for each would load every module in each process that collects them."""
    assert {name: ways for name in patterns() if (ways := slow_ways(name, soak=False))} == {}


def test_no_pattern_takes_long_on_a_line():
    """Work that doubles with each repeat, which long texts would never end: here all texts of a pattern's own."""
    for name, pattern in patterns().items():
        for call in ways(pattern):
            for make in texts(units_of(pattern)):
                assert grows_too_fast(call, make, A_LINE) is None, name


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_the_work_of_every_pattern_grows_with_the_text_in_every_shape(part):
    """In parts, so that several processes share the hours."""
    names = sorted(patterns())[part::PARTS]
    assert {name: ways for name in names if (ways := slow_ways(name, soak=True))} == {}


ANIMALS = {"A": "dog", "B": "cat", "C": "bird", "D": "5"}
NUMBERS = {"A": "5", "B": "7", "C": "yes", "D": "a"}
QUESTION = Question("1", "What is it?", "cat <OR> dog", ())


def metric(name):
    return lambda text: text_metrics.score(
        name, [text_metrics.Candidate("i", "m", text, text[::-1])]
    )


PLAIN_RULES = ("letter", "yes_no", "number", "relaxed", "anls", "text", "open")


def rules(protocol, *kinds, **parameters):
    """These kinds of rule with these parameters, as far as they have the protocol."""
    given = [KINDS[kind].model_validate({"kind": kind, **parameters}) for kind in kinds]
    item = Item("1", "What is it?", "['12.5', 'cat']", ANIMALS, {})
    return lambda text: [
        rule.reading(item, text, protocol) for rule in given if protocol in rule.protocols()
    ]


READERS: dict[str, Callable[[str], object]] = {
    "an answer as HTML": answer_html,
    "a text as HTML": lambda text: plain_html(text) + instruction_html(text),
    "strict": lambda text: extract(text, ANIMALS),
    "strict, numbers": lambda text: extract(text, NUMBERS),
    "strict, an option": lambda text: extract("It is B", {"A": text, "B": "cat"}),
    "mmbench-paper": lambda text: extract(text, ANIMALS, "mmbench-paper"),
    "mmbench-paper, a letter": lambda text: extract(f"B {text}", ANIMALS, "mmbench-paper"),
    "mmbench-paper, numbers": lambda text: extract(f"5 B {text}", NUMBERS, "mmbench-paper"),
    "mmt-paper": lambda text: extract(text, ANIMALS, "mmt-paper"),
    "an answer without reasoning": reasoning.answer_of,
    "the thinking of a text": split_thinking,
    "a failure": lambda text: failure(reasoning.answer_of(text)),
    "a judge's letter": lambda text: (read_reply(text, ANIMALS), read_letter(text, ANIMALS)),
    "a judge's score": lambda text: (mm_vet.read_paper(text), mm_vet.read_strict(text)),
    "a judge's verdict": lambda text: [
        visit_bench.read_verdict(text, "paper"),
        visit_bench.read_verdict(text, "hardened"),
        visit_bench.read_extraction(text, "hardened"),
    ],
    "a judge's reply": lambda text: client.read_answer(text.encode("utf-8")),
    "a judge's refusal": lambda text: trouble.refusal(400, {}, text),
    "a server that loads": lambda text: trouble.refusal(503, {}, {"error": text}),
    "a finish reason": ending,
    "words of thinking": word_count,
    "neutralise": injection.neutralise,
    "names in a caption": lambda text: lacking(text, (f"{text} b", f"b|{text}")),
    "attacks": lambda text: injection.flags(text, QUESTION),
    "another truth": lambda text: injection.with_swapped_truth(
        QUESTION, text, [Question("2", "", text, ())]
    ),
    "a marked response": visit_bench.mark_letters,
    "reference answers": listed_texts,
    "VQA answers unwrapped": short_answers.unwrap_answer,
    "VQA accuracy": lambda text: vqa_accuracy.consensus_accuracy(text, (text, "cat")),
    "two short answers": lambda text: short_answers.short_answer(text, ("cat",)),
    "letters of toolkits": lambda text: [read(text, ANIMALS) for read in LETTER_READERS.values()],
    "rules of vlmevalkit": rules("vlmevalkit", *PLAIN_RULES),
    "rules of lmms-eval": rules("lmms-eval", *PLAIN_RULES),
    "rules of authors": rules("authors", *PLAIN_RULES),
    "our rules": rules("strict", *PLAIN_RULES[1:]),
    "our formulas": rules("strict", "number", **{"as": "formula"}),
    "formulas of vlmevalkit": rules("vlmevalkit", "number", **{"as": "formula"}),
    "our parts of a text": rules("strict", "text", compare="contains"),
    "a judge's short answer": copied_answer,
    "ids": lambda text: uploads._normal(text) + folded(text),
    "a cell of a CSV": csv_text.safe_cell,
    "a message": data_urls.without_data_urls,
    "a name in a message": data_urls.shown_name,
    "a name of a file": results.file_stem,
    "a worker's name": listed_name,
    "ROUGE-L": metric("ROUGE-L"),
    "a log": logs.Redaction([]).clean,
    "a cookie": lambda text: identity.sent_cookie({"cookie": text}),
    "a torn line": vote_files._ends_too_early,
    "a VisIT-Bench vote": visit_battles._CONCLUSION.search,
    "formulas in a text": lambda text: [
        formula_at(text, place, len(text)) for place in range(len(text))
    ],
    "a formula": lambda text: mathml(Formula(text[:MOST_FORMULA], True, 0)),
}


@pytest.mark.parametrize("reader", READERS)
def test_the_work_of_every_reader_grows_with_the_text(reader):
    assert not slow(READERS[reader])


@pytest.mark.parametrize(
    "sign",
    [
        *("<", "<|", "[", "`", "&lt;", "<think"),
        *(pytest.param(one, marks=pytest.mark.soak) for one in ("< ", "</", "【", r"\u003c")),
    ],
)
def test_signs_of_marks_cost_little_where_no_mark_follows(sign):
    for read in (reasoning.answer_of, split_thinking, grown):
        assert not grows_too_fast(read, lambda n: sign * (n // len(sign)), MOST)


def grown(text: str) -> None:
    """Read a text that comes in pieces."""
    stream = ThinkingStream()
    for start in range(0, len(text), 3):
        stream.take(text[start : start + 3])


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("reader", [*READERS, "BLEU-4"])
def test_the_work_of_every_reader_grows_with_the_text_in_every_shape(reader):
    assert not slow(READERS.get(reader) or metric("BLEU-4"), soak=True)


# Where a rule was written so that its work grows with the text, it finds what its plain form finds.
PIECES = (
    "A B C D a Option option choice letter answer is be was not never cannot suppose supposing might think but so "
    "therefore wrong unlikely exactly _ly ly no. figure 5 12 # ## : ; . , ! ? - / * _ __ ** ' \" ( [ ) ] & + ’ “ "
    "question: options: Question q user system output print extract please and <think> </think> <cot x> </cot> [THINK] "
    "[/THINK] ◁think▷ ◁/think▷ <|channel>thought <channel|> \\text{ } 但 不 答案 是 选项 汉 assistant:"
).split()
TEXTS = st.lists(
    st.tuples(
        st.sampled_from(PIECES), st.sampled_from(["", " ", "  ", "\n", "\n\n", " \n ", "\t"])
    ),
    max_size=24,
).map(lambda pairs: "".join(piece + gap for piece, gap in pairs))
IN_A_WORD = phrases.IN_A_WORD
STANDING = re.compile(
    rf"(?<!{IN_A_WORD})(?<![-/])[\"'(\[*]*(?:[Oo]ption\s+|[Cc]hoice\s+)?[\"'(\[*]*(?<!{IN_A_WORD})([A-Z])(?!{IN_A_WORD})"
)
STRICT_STANDING = re.compile(
    rf"(?<!{IN_A_WORD})(?<![-/.])(?:option|choice)?\s*([B-HJ-Z])(?!{IN_A_WORD}|-\w)"
)
TAKEN_BACK = re.compile(
    phrases.TAKEN_BACK.pattern.replace(r"(?:[\s\"')\]*]|_(?!ly\s))*+", r"[\s\"')\]*_]*"), re.I
)
ADDRESSES = re.compile(
    phrases.ADDRESSES.pattern.pattern.replace(r"(?:(?!\bquestion\s*:).)", "."),
    phrases.ADDRESSES.pattern.flags,
)
ORDERS = re.compile(phrases.ORDERS.pattern.replace(phrases._NEW_LINE, r"\n"), phrases.ORDERS.flags)
NEXT_QUESTION = re.compile(
    r"(?<=\S)\s*\n\s*(?:#+\s*)?(?:question|q|user|human|问题)\s*\d*\s*:", re.IGNORECASE
)
MARKUP = re.compile(
    plain_answers._MARKUP.pattern.replace(
        r"^#++\s+|\A\s*+#++\s+|((?<!\s)[^\S\n]*+\n)\s*+#++\s+", r"^\s*#+\s+()"
    ),
    plain_answers._MARKUP.flags,
)
REASONING = re.compile(
    "|".join(f"{form.opening}.*?{form.closing}" for form in reasoning.FORMATS),
    re.DOTALL | re.IGNORECASE,
)
NAME_OF_NUMBER = re.compile(named_options._NAME_OF_NUMBER.pattern.replace("*+", "*") + "$")


@given(TEXTS)
@example("_ly not")
@settings(max_examples=examples(300))
def test_linear_rules_find_what_their_plain_forms_find(text):
    found = [
        (one.start("all"), one["letter"], one.end())
        for one in statements._LETTER_ALONE.finditer(text)
    ]
    assert found == [(one.start(), one[1], one.end()) for one in STANDING.finditer(text)]
    letters = [one.start(1) for one in strict._SEPARATE_LETTER.finditer(text)]
    assert letters == [one.start(1) for one in STRICT_STANDING.finditer(text)]
    assert bool(phrases.ADDRESSES.pattern.search(text)) == bool(ADDRESSES.search(text))
    assert bool(phrases.ORDERS.search(text)) == bool(ORDERS.search(text))
    assert reasoning.without_pairs(text).text == REASONING.sub(" ", text)
    marked = plain_answers._MARKUP.sub(plain_answers._content, text)
    assert marked == MARKUP.sub(lambda mark: mark[1] or "", text)
    question, plainly = plain_answers._NEXT_QUESTION.search(text), NEXT_QUESTION.search(text)
    assert (question and question.start()) == (plainly and plainly.start())
    named = {one.end() for one in named_options._NAME_OF_NUMBER.finditer(text)}
    for place in range(len(text)):
        back, plain_back = phrases.TAKEN_BACK.match(text, place), TAKEN_BACK.match(text, place)
        assert (back and back.end()) == (plain_back and plain_back.end())
        if text[place].isdigit():
            assert (place in named) == bool(NAME_OF_NUMBER.search(text, 0, place))


@given(TEXTS, st.sampled_from([phrases.DENIED, phrases.PLAIN_NOT]))
@settings(max_examples=examples(150))
def test_a_denial_is_found_in_its_clause_whatever_was_asked_before(text, denials):
    places = [found.start("all") for found in statements._LETTER_ALONE.finditer(text)]
    in_clause = statements._ClauseDenials(text, denials)
    for place in places:
        first = max(
            (found.end() for found in phrases.CLAUSE_START.finditer(text, 0, place)), default=0
        )
        assert in_clause.is_before(place) == bool(denials.search(text[first:place]))
