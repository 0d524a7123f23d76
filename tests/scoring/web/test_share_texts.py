"""Share texts and badges: what a report says elsewhere, with anybody's words in it and a warning where it needs one."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from arena.drawing_png import png
from arena.drawings import svg_file
from scoring.report import Grade, Report
from scoring.web.article import preview_drawing, shared_drawing
from scoring.web.badges import WITHDRAWN, Badge, badge_svg
from scoring.web.share_texts import SHARE, badge_markdown, latex, markdown, share_record
from tests.support.markup import PAYLOADS
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.mmt_reports import mmt_report

HOST = "https://arena.example"
SVG = "{http://www.w3.org/2000/svg}"


def texts(report, slug: str = "llava-mm-vet-3f2a") -> list[str]:
    shown = replace(share_record(report, slug), base=HOST)
    return [badge_markdown(shown), markdown(shown), latex(shown), str(SHARE.frame(shown))]


def with_unscored(report: Report, every: int) -> Report:
    rows = [
        replace(row, grades=(Grade(row.question.id, 0, None, reason="unread"),))
        if place % every == 0
        else row
        for place, row in enumerate(report.rows)
    ]
    return replace(report, rows=tuple(rows))


def test_a_report_says_the_same_in_every_form():
    assert texts(mm_vet_report(0.2, title="LLaVA-1.5-13B")) == [
        f"[![MM-Vet 32.5]({HOST}/badge/llava-mm-vet-3f2a.svg)]({HOST}/r/llava-mm-vet-3f2a)",
        "LLaVA-1.5-13B: **32.5** on MM-Vet [29.8, 36.3] (as in the paper; judge gpt-4-0613, 1 run; n 60). "
        f"[Report]({HOST}/r/llava-mm-vet-3f2a)",
        "LLaVA-1.5-13B & $32.5_{\\,[29.8,\\,36.3]}$ \\\\ % MM-Vet, as in the paper, gpt-4-0613, 1 run, "
        f"{HOST}/r/llava-mm-vet-3f2a",
        f'<iframe src="{HOST}/embed/llava-mm-vet-3f2a" width="640" height="420" loading="lazy" '
        'title="LLaVA-1.5-13B on MM-Vet"></iframe>',
    ]


def test_without_a_judge_none_is_named():
    sentence = texts(mmt_report("m", 0.5))[1]
    assert "(strict protocol; n " in sentence and "judge" not in sentence


def test_a_score_that_is_not_trusted_stands_nowhere_alone():
    report = mm_vet_report(0.2, title="m", canaries=(Grade("canary", 0, 0.8),))
    badge, sentence, row, _ = texts(report)
    assert "MM-Vet judge not trusted" in badge and "32.5" not in badge
    assert sentence.startswith("Don't trust this score: its judge gave points to answers")
    assert row.startswith("m (judge not trusted) & $32.5")
    assert "Judge not trusted" in {
        mark.text for mark in preview_drawing(report).marks if mark.kind == "text"
    }
    assert shared_drawing(report) == preview_drawing(report), "the paper's table has no room for it"


def test_what_is_unscored_brings_the_worst_and_the_best_case():
    report = with_unscored(mm_vet_report(0.2, title="m"), 10)
    badge, sentence, row, _ = texts(report)
    assert "MM-Vet 10.0% unscored" in badge
    assert sentence.startswith("10.0% are unscored. The limit is 5%. m: **")
    assert " counting unscored answers)" in sentence and " counting unscored answers" in row
    drawn = [mark.text for mark in preview_drawing(report).marks if mark.kind == "text"]
    assert "10.0% unscored" in {*drawn}
    assert any(text.endswith(" counting unscored answers") for text in drawn)
    assert len(png(preview_drawing(report), 0)) > 10_000


@pytest.mark.parametrize(
    "title",
    [*PAYLOADS, "a | b\n& $x_1$ % {c} \\d ~e ^f #g", "[x](http://y) `z` *w*", "a\ufffe\uffffb"],
)
def test_a_title_is_one_line_of_text_in_every_form(title):
    badge, sentence, row, frame = texts(mm_vet_report(0.2, title=title))
    assert "\n" not in badge + sentence + row
    assert "MM-Vet 32.5" in badge
    bare = sentence.replace("\\\\", "").partition(": **32.5**")[0]
    for sign in "*_`[]<>|":
        assert bare.count(sign) == bare.count(f"\\{sign}"), "Markdown reads none of its signs"
    model = row.partition(" & $32.5")[0].replace("\\\\", "")
    for sign in "&%$#_":
        assert model.count(sign) - model.count("$<$") == model.count(f"\\{sign}"), sign
    ElementTree.fromstring(svg_file(shared_drawing(mm_vet_report(0.2, title=title))))
    element = ElementTree.fromstring(frame)
    assert element.tag == "iframe" and len(element) == 0
    assert element.get("title", "").endswith(" on MM-Vet") and element.get("srcdoc") is None


@pytest.mark.parametrize(
    "words",
    [*PAYLOADS, "多" * 60, "&" * 60, '"' * 60, "\x00\u202e\ud800", "\ufffe\uffff", "MM-Vet"],
)
def test_a_badge_is_small_and_its_words_are_text(words):
    content = badge_svg(Badge(words, words, words))
    assert len(content) < 500
    root = ElementTree.fromstring(content)
    assert root.get("height") == "20"
    assert [one.tag.removeprefix(SVG) for one in root.iter()] == [
        *("svg", "title", "rect", "rect", "text", "text")
    ]
    assert not any(len(text) for text in root.iter(f"{SVG}text")), "one text node"
    assert b"withdrawn" in badge_svg(WITHDRAWN)
