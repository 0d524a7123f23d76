"""Locales: each language has the texts that pages use, with their values, and no other; a request gets its own."""

import ast
import asyncio
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatch
from string import Formatter
from typing import NamedTuple, cast

import pytest
from jinja2 import nodes
from markupsafe import Markup
from starlette.types import Receive, Send

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.lending import NotLentError
from arena.battles.quotas import LimitError
from arena.battles.sampling import NoBattle
from arena.items.importers import DEMO_SOURCE
from arena.live.queue import ElsewhereError
from arena.live.votes import LIVE_SOURCES
from arena.locale import (
    CHINESE,
    ENGLISH,
    FOLDER,
    LOCALES,
    MOST_SENTENCE,
    Text,
    current_locale,
    locale_of,
    named,
    speaking,
    t,
    translated,
)
from arena.templates import ENVIRONMENT
from arena.types import REFERENCE
from arena.web.request_locale import RequestLocale
from arena.web.terms import Terms
from arena.web.visitor_api import NoVisitorError
from scoring.benchmarks.mm_vet_questions import CAPABILITY_NAMES
from scoring.benchmarks.mmbench import ABILITY_WORDS, L2_WORDS, MMBENCH
from scoring.benchmarks.mmt_bench import META_TASKS
from tests.support.servers import ROOT

FOLDERS = ("arena", "scoring")
SOURCES = {
    path: path.read_text("utf-8")
    for folder in FOLDERS
    for kind in ("py", "html")
    for path in sorted((ROOT / folder).rglob(f"*.{kind}"))
}
SCRIPTS = [
    path.read_text("utf-8")
    for folder in FOLDERS
    for path in sorted((ROOT / folder).glob("web/*.js"))
]
TASKS = ("choices", "labels", "marking", "marks", "readings", "writing")
"""Tables whose own tables say texts of other pages in their way."""
IN_SCRIPTS = {"taskmap.pair", "writing.words", "writing.more"}
"""Texts whose values a script fills in."""
KEY = re.compile(r"""["']([a-z_]+(?:\.\w+)+)["']""")
VOTER_ERRORS = {"ChoiceError", "LimitError", "LiveError", "LoginError", "OwnImageError"}
VOTER_ERRORS |= {"PictureError", "VoterError", "CampaignLinkError", "QualificationError"}
RAISING = ("battles", "seats", "campaign_battles", "live", "io", "web")


class Use(NamedTuple):
    """A call of `t`: a key, with `*` where it has a value, and the names of the text's values."""

    file: str
    key: str
    names: frozenset[str]

    @property
    def is_whole(self) -> bool:
        return "*" not in self.key


@pytest.fixture(scope="module")
def uses() -> list[Use]:
    """All calls of `t`."""
    return list(_uses())


def _uses() -> Iterator[Use]:
    for path, source in SOURCES.items():
        if " t(" not in source and "(t(" not in source and "{t(" not in source:
            continue
        file = str(path.relative_to(ROOT))
        found = _calls_in_python(source) if path.suffix == ".py" else _calls_in_template(source)
        for keys, names in found:
            yield from (Use(file, key, frozenset(names)) for key in keys)


def _calls_in_python(source: str) -> Iterator[tuple[list[str], list[str]]]:
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "t":
            yield _python_keys(call.args[0]), [str(keyword.arg) for keyword in call.keywords]


def _python_keys(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return _python_keys(node.body) + _python_keys(node.orelse)
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "*" for part in node.values]
        return ["".join(map(str, parts))]
    return []


def _calls_in_template(source: str) -> Iterator[tuple[list[str], list[str]]]:
    for call in ENVIRONMENT.parse(source).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "t":
            yield _template_keys(call.args[0]), [keyword.key for keyword in call.kwargs]


def _template_keys(node: nodes.Node) -> list[str]:
    if isinstance(node, nodes.CondExpr):
        assert node.expr2
        return _template_keys(node.expr1) + _template_keys(node.expr2)
    if isinstance(node, nodes.Const):
        return [node.value]
    if isinstance(node, nodes.Concat):
        parts = [part.value if isinstance(part, nodes.Const) else "*" for part in node.nodes]
        return ["".join(parts)]
    return []


def bare(key: str) -> str:
    """The key that is looked up where a task says its text in its own way."""
    task, _, rest = key.partition(".")
    return rest if task in TASKS and "." in rest else key


def places(text: Text) -> set[str]:
    """The placeholders of a text, of all its forms together."""
    forms = [text] if isinstance(text, str) else text.values()
    parsed = [place for form in forms for place in Formatter().parse(form)]
    return {f"{name}:{spec}" for _, name, spec, _ in parsed if name is not None}


def test_every_key_that_is_used_has_a_text_with_these_values(uses):
    known = set(map(bare, ENGLISH.texts))
    values = defaultdict(set)
    for key, text in ENGLISH.texts.items():
        values[bare(key)] |= {place.partition(":")[0] for place in places(text)}
        values[bare(key)] |= set() if isinstance(text, str) else {"count"}
    assert len(uses) > 200
    whole = [use for use in uses if use.is_whole]
    assert [use for use in whole if use.key not in known] == []
    assert [
        (use, values[use.key])
        for use in whole
        if use.names != values[use.key] and use.key not in IN_SCRIPTS
    ] == []
    asked = {name for script in SCRIPTS for name in re.findall(r'\bword\("(\w+)"', script)}
    assert {f"scripts.{name}" for name in asked} - known == set()


def test_every_text_is_used(uses):
    named = {key for source in SOURCES.values() for key in KEY.findall(source)}
    scripts = {name for script in SCRIPTS for name in re.findall(r'"(\w+)"', script)}
    named |= {f"scripts.{name}" for name in scripts}
    patterns = [use.key for use in uses if not use.is_whole]
    assert [
        key
        for key in sorted(set(map(bare, ENGLISH.texts)) - named)
        if not any(fnmatch(key, pattern) for pattern in patterns)
    ] == []


@pytest.mark.parametrize("locale", [locale for locale in LOCALES.values() if locale is not ENGLISH])
def test_a_language_has_the_same_texts_with_the_same_values(locale):
    assert locale.texts.keys() ^ ENGLISH.texts.keys() == set()
    assert [
        key for key in locale.texts if places(locale.texts[key]) != places(ENGLISH.texts[key])
    ] == []
    for key in ("writing.reasons", "writing.stages"):
        assert locale.text(key).count("|") == ENGLISH.text(key).count("|")


def test_a_task_says_texts_of_other_pages_in_its_way():
    for key in ENGLISH.texts:
        if bare(key) != key:
            assert bare(key) in ENGLISH.texts, f"{key} stands for no text"
    with speaking(CHINESE.with_tasks("choices", "writing")):
        assert t("writing.instruction") == "题目"
        assert t("worker.votes") == "步骤"
        assert t("worker.pay") == "报酬"


def sentences() -> Iterator[str]:
    """The sentences of errors that voters read, as they are raised; a name stands for a constant of its file."""
    for path in sorted(
        path for folder in RAISING for path in (ROOT / "arena" / folder).glob("*.py")
    ):
        tree = ast.parse(path.read_text("utf-8"))
        constants = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                name = node.targets[0]
                assert isinstance(name, ast.Name)
                constants[name.id] = node.value.value
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            if call.func.id not in VOTER_ERRORS or not call.args:
                continue
            raised = call.args[0]
            assert not isinstance(raised, ast.JoinedStr), (
                f"{path}:{call.lineno}: values go beside the sentence"
            )
            text = (
                raised.value
                if isinstance(raised, ast.Constant)
                else constants.get(ast.unparse(raised))
            )
            if isinstance(text, str) and text.strip("{}"):
                yield text


def test_a_language_says_every_error_that_voters_read():
    raised = set(sentences())
    assert len(raised) > 50
    fixed = [UnknownBattleError, NotLentError, ElsewhereError, NoVisitorError]
    raised |= {str(error()) for error in fixed} | {reason.value for reason in NoBattle}
    assert sorted(raised - CHINESE.sentences.keys()) == []


def test_a_sentence_has_the_values_of_its_english_which_is_still_said():
    def count(text: str) -> int:
        return len(re.findall(r"\{[^{}]*\}", text))

    assert [
        text for text, chinese in CHINESE.sentences.items() if count(text) != count(chinese)
    ] == []
    code = "".join(source for path, source in SOURCES.items() if path.suffix == ".py")
    tables = [*(ROOT / "scoring").rglob("*.yaml"), *(ROOT / "scoring/data").glob("*.csv")]
    data = "".join(path.read_text("utf-8") for path in tables)
    flat = re.sub(r'"\s*\n\s*f?"', "", code)
    said = re.sub(r"(\{[^{}]*\})+", "{}", flat)
    sentences = tomllib.loads((FOLDER / "zh.toml").read_text("utf-8"))["sentences"]
    left = [
        text
        for text in sentences
        if text not in flat
        and text not in data
        and re.sub(r"(\{[^{}]*\})+", "{}", text).removeprefix("{} ") not in said
    ]
    assert left == []


@pytest.mark.parametrize("locale", [locale for locale in LOCALES.values() if locale is not ENGLISH])
def test_every_sentence_is_said_with_all_its_values(locale):
    for pattern in locale.patterns:
        values = [f"<value {place}>" for place, _ in enumerate(pattern.kinds)]
        if not any("{!r}" in part for part in pattern.parts):
            said = pattern.translation.format(*values)
            assert [value for value in values if value not in said] == [], pattern.translation


def test_groups_of_benchmarks_have_names():
    groups = tomllib.loads((FOLDER / "zh.toml").read_text("utf-8"))["groups"].keys()
    mmbench = {MMBENCH.words(name) for name in (*ABILITY_WORDS, *L2_WORDS)} | {*L2_WORDS.values()}
    known = {*CAPABILITY_NAMES.values(), *mmbench, *META_TASKS.values()}
    subtasks = (ROOT / "scoring/benchmarks/mmt_bench_subtasks.csv").read_text("utf-8")
    assert known - groups == set()
    assert [group for group in groups - known if group not in subtasks] == []


@pytest.mark.parametrize(
    "error",
    [
        ChoiceError("You've already chosen {} in this battle. That choice stands.", "{b}"),
        LimitError("New {}", 1),
    ],
)
def test_an_error_is_said_with_its_values_or_in_english(error):
    assert ENGLISH.translated(error) == str(error)
    known = CHINESE.sentences.get(error.sentence, error.sentence)
    assert CHINESE.translated(error) == known.format(*error.values)
    assert CHINESE.translated(LimitError("{not a place}")) == "{not a place}"


def test_a_plain_sentence_is_found_by_its_fixed_parts():
    link = "The link has no PROLIFIC_PID. Open it from the platform's page, which fills it in."
    assert CHINESE.translated(link) == "链接缺少 PROLIFIC_PID。请从平台的页面打开，平台会自动填写。"
    assert (
        CHINESE.translated("This file is a video. {0.__class__}")
        == "此文件无法使用（视频）。{0.__class__}"
    )
    for unknown in (
        "",
        "{}",
        "The link has no",
        "x" * 10 * MOST_SENTENCE,
        "The {} must be" * 300,
    ):
        assert CHINESE.translated(unknown) == unknown


@pytest.mark.parametrize(
    "cookie, accepted, language",
    [
        ("", "", "en"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "de-DE,de;q=0.9,zh;q=0.2", "zh"),
        ("a=b; language=en", "zh-CN", "en"),
        ("language=zh", "en-GB", "zh"),
        ("language=xx", "fr", "en"),
        ("zh", "en-GB", "en"),
        ("x" * 100_000 + "; language=zh", "," * 100_000, "en"),
    ],
)
def test_the_switch_comes_before_the_browsers_languages(cookie, accepted, language):
    assert locale_of({"cookie": cookie, "accept-language": accepted}) is LOCALES[language]


def test_numbers_choose_a_form_and_html_escapes_the_text_around_it():
    assert t("pick.pictures", count=1) == "1 picture"
    assert t("pick.pictures", count=3) == "3 pictures"
    assert CHINESE.text("pick.pictures", count=1) == "1 张图片"
    assert t("reveal.you_chose", side="<A>", model="<i>") == "You chose <A>: <i>."
    told = t("reveal.you_chose", side="<A>", model=Markup("<b>x</b>"))
    assert told == Markup("You chose &lt;A&gt;: <b>x</b>.")
    shown = ENVIRONMENT.from_string('{{ t("reveal.you_chose", side="<A>", model="&") }}')
    assert shown.render() == "You chose &lt;A&gt;: &amp;."


def test_a_number_or_a_list_is_no_other_text_and_a_list_is_found_within_a_sentence_only():
    assert CHINESE.translated("1,200 runs") == "1,200 次运行"
    assert CHINESE.translated("Cross-country runs") == "Cross-country runs"
    assert CHINESE.translated("cats and dogs") == "cats and dogs"
    tables = "{} are 3 tables. Keep one with a model's answers, and one with the questions if they have their own file."
    assert CHINESE.translated(tables.format("a.csv, b.csv and c.csv")).startswith(
        "a.csv、b.csv和c.csv 是"
    )
    assert CHINESE.translated(tables.format("my own and c.csv")).startswith("my own and c.csv 是")


def test_a_name_of_the_app_is_said_and_no_other_name():
    ours = [DEMO_SOURCE, REFERENCE, *(source.label for source in LIVE_SOURCES)]
    with speaking(CHINESE):
        assert [name for name in ours if named(name) == name] == []
        assert named("unscored") == "unscored"
    assert [*map(named, ours)] == ours


def test_a_language_is_current_until_its_end():
    with pytest.raises(KeyError), speaking(CHINESE):
        assert (current_locale(), translated("empty")) == (CHINESE, "内容为空")
        t("vote.unknown")
    assert current_locale() is ENGLISH


@pytest.mark.parametrize("path", ["*", "", "/"])
def test_a_request_without_a_path_has_a_language_too(path):
    languages = []

    async def app(scope, receive, send):
        languages.append(current_locale())

    scope = {"type": "http", "path": path, "headers": [(b"accept-language", b"zh")]}
    asyncio.run(RequestLocale(app)(scope, cast(Receive, None), cast(Send, None)))
    assert languages == [CHINESE]


def test_the_terms_are_there_in_every_language_under_one_version():
    texts = Terms.read().texts
    paragraphs = {language: text.body.count("\n\n") for language, text in texts.items()}
    assert paragraphs["zh"] == paragraphs["en"] + 1, "the translation says first that it is one"
    assert texts["zh"].title != texts["en"].title
