"""Words: every language says all that the Vote page says, with its values, and every error from below."""

import ast
import re
from collections.abc import Iterator
from string import Formatter

import pytest

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.lending import NotLentError
from arena.battles.quotas import LimitError
from arena.battles.sampling import NoBattle
from arena.live.queue import ElsewhereError
from arena.web.campaign_words import CAMPAIGN_WORDS
from arena.web.chinese import CHINESE
from arena.web.terms import Terms
from arena.web.visitor_api import NoVisitorError
from arena.web.words import ENGLISH, language_of, said, words_of
from arena.web.writing_words import WRITING_WORDS
from tests.support.servers import ROOT

SAID = {"ChoiceError", "LimitError", "LiveError", "LoginError", "OwnImageError", "PictureError"}
SAID |= {"VoterError", "CampaignLinkError", "QualificationError"}
FOLDERS = (
    "arena/battles",
    "arena/seats",
    "arena/campaign_battles",
    "arena/live",
    "arena/io",
    "arena/web",
)


def places(sentence: str) -> list[str]:
    return sorted(
        f"{name}{spec}" for _, name, spec, _ in Formatter().parse(sentence) if name is not None
    )


def sentences() -> Iterator[str]:
    """Yield the sentences of errors that voters read, as they are raised; a name stands for a constant of its file."""
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        assigned = [
            (node.targets[0], node.value) for node in tree.body if isinstance(node, ast.Assign)
        ]
        constants = {
            name.id: value.value for name, value in assigned if isinstance(value, ast.Constant)
        }
        for call in ast.walk(tree):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Name)
                and call.func.id in SAID
                and call.args
            ):
                sentence = call.args[0]
                assert not isinstance(sentence, ast.JoinedStr), (
                    f"{path}:{call.lineno}: values go beside the sentence"
                )
                found = (
                    sentence.value
                    if isinstance(sentence, ast.Constant)
                    else constants.get(ast.unparse(sentence))
                )
                if isinstance(found, str):
                    yield found


@pytest.mark.parametrize("word", ENGLISH)
def test_a_language_says_every_word_with_the_same_values(word):
    assert places(CHINESE[word]) == places(ENGLISH[word])


def test_a_template_reads_every_word_by_its_name():
    """`w.copy` would be a method of the table."""
    tables = (ENGLISH, CAMPAIGN_WORDS["en"], WRITING_WORDS["en"])
    assert [word for table in tables for word in table if hasattr(dict, word)] == []


def test_a_language_says_every_error_that_voters_read():
    raised = set(sentences())
    assert len(raised) > 50
    assert [one for one in raised if one not in CHINESE] == []
    fixed = [UnknownBattleError, NotLentError, ElsewhereError, NoVisitorError]
    assert [str(error()) for error in fixed if str(error()) not in CHINESE] == []
    assert [one.value for one in NoBattle if one.value not in CHINESE] == []
    for sentence in raised:
        assert places(CHINESE[sentence]) == places(sentence)


def test_no_translation_is_left_over():
    known = {*ENGLISH, *sentences(), *(one.value for one in NoBattle)}
    files = "".join(
        path.read_text("utf-8") for path in ROOT.glob("arena/**/*.py") if path.name != "chinese.py"
    )
    flat = re.sub(r'"\s*f?"', "", files)
    left = [
        one
        for one in CHINESE
        if one not in known and one not in flat and not any(c.isdigit() for c in one)
    ]
    assert [one for one in left if "log in above" not in one] == []


@pytest.mark.parametrize(
    "error",
    [
        ChoiceError("You already chose {} in this battle; that choice stands.", "{b}"),
        LimitError("New {}", 1),
    ],
)
def test_an_error_is_said_with_its_values_or_in_english(error):
    assert said(error, ENGLISH) == str(error)
    known = CHINESE.get(error.sentence, error.sentence)
    assert said(error, CHINESE) == known.format(*error.values)
    assert said(LimitError("{not a place}"), CHINESE) == "{not a place}"


@pytest.mark.parametrize(
    "cookie, accepted, language",
    [
        ("", "", "en"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "de-DE,de;q=0.9,zh;q=0.2", "zh"),
        ("a=b; language=en", "zh-CN", "en"),
        ("language=zh", "en-GB", "zh"),
        ("language=xx", "fr", "en"),
        ("x" * 100_000 + "; language=zh", "," * 100_000, "en"),
    ],
)
def test_the_switch_comes_before_the_browsers_languages(cookie, accepted, language):
    headers = {"cookie": cookie, "accept-language": accepted}
    assert language_of(headers) == language
    assert words_of(headers)["lead"] == {"en": ENGLISH, "zh": CHINESE}[language]["lead"]


def test_the_terms_are_there_in_every_language_under_one_version():
    texts = Terms.read().texts
    paragraphs = {language: text.body.count("\n\n") for language, text in texts.items()}
    assert paragraphs["zh"] == paragraphs["en"] + 1, "the translation says first that it is one"
    assert texts["zh"].title != texts["en"].title
