"""Words of the pages on which people mark answers and label errors, in each language; kinds of error are in English."""

from collections.abc import Mapping

from arena.web.words import Words
from scoring.marking.spec import MarkKind

_ENGLISH: Words = {
    **dict.fromkeys(("c_example", "c_minutes", "c_code"), ""),
    "terms": "What you say is stored without your name, and whoever has the report's link can read it.",
    "guidelines": "",
    "c_votes": "Answers",
    "c_checks": "Some answers come again, to you or to somebody else: so it is known how far people agree. "
    "You may stop at any time; the address of the next page brings you back.",
    "c_nothing_more": "All that is left is with others, or the report was deleted.",
    "c_done": "Thank you, that was all.",
    "c_done_more": "What you said is stored, and stands in the report.",
    "c_full": "Nothing is left here.",
    "c_full_more": "Others have done the rest, or the report was deleted. What you said is stored.",
    "c_stop": "Take back all that I said",
    "c_stop_sure": "What you said no longer counts, and this page closes.",
    "c_withdrew_more": "What you said no longer counts. To have it forgotten too, write to the people who run this; "
    "your seat is number {}.",
    "m_again": "This answer comes again.",
    "m_question": "Question",
    "m_truth": "Ground truth",
    "m_and": "and",
    "m_or": "or",
    "m_answer": "Answer",
    "m_no_picture": "Its picture is not on this server. If you need it, choose “Cannot be judged”.",
    "m_how_right": "How right is the answer?",
    "m_which_error": "What went wrong?",
    "m_no_note": "Anything else (may be left out)",
    "m_further": "Further kinds: Shift and the key",
    "m_cannot": "Cannot be judged",
    "m_picture": "the picture is missing or broken",
    "m_question_unclear": "question or truth are unclear",
    "m_dont_know": "I do not know enough",
    "m_undo": "Take back the last",
    "m_keys": "Keys: {}. S: cannot be judged. U: take back the last. I: enlarge the picture.",
    "m_keys_marks": "0 to 9, and T or Enter for 1.0",
    "m_keys_labels": "1 to 8, and Shift for a further kind",
}
_CHINESE: Words = {
    **dict.fromkeys(("c_example", "c_minutes", "c_code"), ""),
    "terms": "您的判断会被保存，不含您的姓名；持有报告链接的人可以看到。",
    "guidelines": "",
    "c_votes": "回答",
    "c_checks": "有些回答会再次出现，给您或给别人：这样可以知道人与人之间有多一致。"
    "您可以随时停下；用下一页的网址可以回来。",
    "c_nothing_more": "剩下的都在别人手中，或报告已被删除。",
    "c_done": "谢谢，全部完成。",
    "c_done_more": "您的判断已保存，并出现在报告中。",
    "c_full": "这里没有剩下的了。",
    "c_full_more": "其余的已由别人完成，或报告已被删除。您的判断已保存。",
    "c_stop": "撤回我的全部判断",
    "c_stop_sure": "您的判断不再计入，此页面将关闭。",
    "c_withdrew_more": "您的判断不再计入。如需一并删除，请联系负责人；您的席位编号是 {}。",
    "m_again": "这个回答再次出现。",
    "m_question": "问题",
    "m_truth": "标准答案",
    "m_and": "并且",
    "m_or": "或者",
    "m_answer": "回答",
    "m_no_picture": "本服务器没有这张图片。如果没有它无法判断，请选“无法判断”。",
    "m_how_right": "这个回答有多正确？",
    "m_which_error": "哪里出了错？",
    "m_no_note": "其他说明（可不填）",
    "m_further": "其他类型：Shift 加按键",
    "m_cannot": "无法判断",
    "m_picture": "图片缺失或损坏",
    "m_question_unclear": "问题或标准答案不清楚",
    "m_dont_know": "我的知识不够",
    "m_undo": "撤回上一个",
    "m_keys": "按键：{}。S：无法判断。U：撤回上一个。I：放大图片。",
    "m_keys_marks": "0 到 9；T 或 Enter 表示 1.0",
    "m_keys_labels": "1 到 8；Shift 加按键表示其他类型",
    "Nothing was marked: press one of the grades, from 0.0 to 1.0.": "没有打分：请按 0.0 到 1.0 中的一个。",
    "Nothing was labelled: press one of the kinds.": "没有标注：请按其中一种类型。",
    "Say why it cannot be judged.": "请说明为什么无法判断。",
    "There is nothing to take back yet.": "还没有可以撤回的内容。",
    "This is none of your answers. Open the page again.": "这不是您的回答。请重新打开页面。",
    "This answer was changed {} times; what was said last stands.": "这个回答已改动 {} 次；以最后一次为准。",
}
_TITLES: Mapping[MarkKind, Words] = {
    "marks": {"en": "Mark answers", "zh": "给回答打分"},
    "labels": {"en": "Label errors", "zh": "标注错误"},
}
MARKING_WORDS: Mapping[MarkKind, Mapping[str, Words]] = {
    kind: {"en": {**_ENGLISH, "c_title": titles["en"]}, "zh": {**_CHINESE, "c_title": titles["zh"]}}
    for kind, titles in _TITLES.items()
}
CANNOT_REASONS = ("m_picture", "m_question_unclear", "m_dont_know")
"""Reasons why an answer cannot be judged, by their words; the English ones are stored."""
