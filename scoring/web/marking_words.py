"""Words of the pages on which people mark answers, label errors and say what answers mean, in each language."""

from collections.abc import Iterable, Mapping

from arena.web.words import Words
from scoring.people.errors import DECISION_ORDER, ERROR_KINDS, ErrorKey
from scoring.people.spec import MarkKind
from scoring.report import DATA

_CHINESE_KINDS: Mapping[ErrorKey, tuple[str, str, str]] = {
    "perception": (
        "感知错误",
        "未能识别、分类或检测出图中的物体或内容。",
        "图中有四只狗：“有三只狗，所以选 B。”",
    ),
    "reasoning": (
        "推理错误",
        "正确看出了图中内容，但由此推理时出错。",
        "“三个红球，两个蓝球，所以蓝球更多：C。”",
    ),
    "knowledge": (
        "缺乏知识",
        "缺少该领域应知的内容，例如地标在哪里、画作于何时。",
        "“这是原子球塔，位于安特卫普。”",
    ),
    "capability": ("缺乏能力", "没有完成该任务的能力，往往自己说明。", "“我无法给出像素坐标。”"),
    "refuse": (
        "拒绝回答",
        "拒绝涉及人物或敏感内容的问题。",
        "“抱歉，我不能回答有关图中人物的问题。”",
    ),
    "instruction": (
        "未遵循指令",
        "不理解题目给出的条件，或不理会指令，例如只描述图片。",
        "题目要求从四个选项中选择：“雨中的街道，人们打着伞。”",
    ),
    "annotation": (
        "题目有误",
        "标注错误：题目、选项或公布的答案有误，或有多个正确答案。",
        "公布的答案是“猫”，图中却是一只狗。",
    ),
    "right": (
        "回答正确",
        "与公布的答案意思相同：被读错了，或公布的答案过窄。",
        "公布的答案是“sofa”，它说“a couch”。",
    ),
}


def _kinds(told: Mapping[ErrorKey, tuple[str, str, str]]) -> Words:
    """Title, definition and example of each kind of error, as words of a page."""
    names = ("title", "definition", "example")
    return {
        f"{key}_{name}": text
        for key, texts in told.items()
        for name, text in zip(names, texts, strict=True)
    }


_RUBRIC = (
    (DATA.parent / "prompts" / "mm_vet.txt")
    .read_text("utf-8")
    .split("\n\n", 1)[1]
    .strip()
    .replace("<AND>", "*and*")
    .replace("<OR>", "*or*")
)
"""The table of seven examples that MM-Vet's judge is shown (its Table 1)."""


def _order(questions: Iterable[str], words: Words) -> str:
    """The questions of DECISION_ORDER as a list, each with the kind that a yes means."""
    pairs = zip(questions, DECISION_ORDER, strict=True)
    return "\n".join(f"1. {asked} *{words[f'{key}_title']}*" for asked, (_, key) in pairs)


_ENGLISH: Words = {
    **_kinds({key: kind[1:] for key, kind in ERROR_KINDS.items()}),
    **dict.fromkeys(("c_example", "c_limit", "c_code"), ""),
    "terms": "What you say is stored without your name, and whoever has the report's link can read it.",
    "guidelines": "",
    "c_votes": "Answers",
    "c_checks": "Some answers come again, to you or to somebody else: so it is known how far people agree. "
    "You may stop at any time; the address of the next page brings you back.",
    "c_nothing_more": "All that is left is with others, or the report was deleted.",
    "c_done": "All done, thank you.",
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
    "m_which_option": "Which option does the answer mean?",
    "m_no_option": "None of these, or several alike",
    "m_unclear": "the question or its options are unclear",
    "m_keys_readings": "the option's letter or its number, and 0 for none",
}
_CHINESE: Words = {
    **_kinds(_CHINESE_KINDS),
    **dict.fromkeys(("c_example", "c_limit", "c_code"), ""),
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
    "m_which_option": "这个回答指的是哪个选项？",
    "m_no_option": "都不是，或同时指几个选项",
    "m_unclear": "问题或选项不清楚",
    "m_keys_readings": "选项的字母或序号；0 表示都不是",
    "Nothing was marked: press one of the grades, from 0.0 to 1.0.": "没有打分：请按 0.0 到 1.0 中的一个。",
    "Nothing was labelled: press one of the kinds.": "没有标注：请按其中一种类型。",
    "Nothing was matched: press one of the options.": "没有匹配：请按其中一个选项。",
    "Say why it cannot be judged.": "请说明为什么无法判断。",
    "There is nothing to take back yet.": "还没有可以撤回的内容。",
    "This is none of your answers. Open the page again.": "这不是您的回答。请重新打开页面。",
    "This answer was changed {} times; what was said last stands.": "这个回答已改动 {} 次；以最后一次为准。",
}
_CHINESE_ORDER = (
    "回答其实是正确的吗？",
    "题目或公布的答案有误吗？",
    "它拒绝回答了吗？",
    "它说自己做不到吗？",
    "它回答了另一个问题吗？",
    "它对图片的描述是错的吗？",
    "它缺少图片以外的知识吗？",
    "以上都不是：推理有误。",
)
_TASKS: Mapping[MarkKind, Mapping[str, Words]] = {
    "marks": {
        "en": {
            "c_title": "Mark answers",
            "c_task": "Say how right the answer is, by the ground truth: 0.0 is totally wrong, 1.0 totally right. "
            "Where elements are joined by *and*, it is totally right only with all of them; where by *or*, "
            "any one is enough. You are not told which model answered, nor what a judge said. The examples that a "
            f"judge is shown:\n\n{_RUBRIC}",
        },
        "zh": {
            "c_title": "给回答打分",
            "c_task": "请对照标准答案说明回答有多正确：0.0 完全错误，1.0 完全正确。"
            "以 *and* 相连的各项都说到才完全正确；以 *or* 相连的说到任意一项即可。"
            f"您不会知道是哪个模型的回答，也不会知道评判者的分数。评判者看到的例子：\n\n{_RUBRIC}",
        },
    },
    "labels": {
        "en": {
            "c_title": "Label errors",
            "c_task": "The answer did not count as right. Say what went wrong; you are not told which model answered. "
            "Ask in this order; the first yes is the main kind, and others may be added:\n\n"
            + _order((asked for asked, _ in DECISION_ORDER), _ENGLISH),
        },
        "zh": {
            "c_title": "标注错误",
            "c_task": "这个回答未被算作正确。请说明错在哪里；您不会知道是哪个模型的回答。请按以下顺序提问；"
            "第一个“是”就是主要类型，还可以添加其他类型：\n\n" + _order(_CHINESE_ORDER, _CHINESE),
        },
    },
    "readings": {
        "en": {
            "c_title": "Match answers to options",
            "c_task": "Say which option the answer means. It doesn't matter whether that option is right, so you see "
            "no picture. An answer means an option if it names it, or says the same in other words. If it fits no "
            "option, or fits several equally well, choose *None of these*. You are not told which model answered, "
            "nor what a program read.",
            "m_keys": "Keys: {}. S: cannot be judged. U: take back the last.",
        },
        "zh": {
            "c_title": "把回答对应到选项",
            "c_task": "请说明这个回答指的是哪个选项。选项正确与否无关紧要，所以不显示图片。回答说出了某个选项，"
            "或用别的话表达了同样的意思，就是指它。如果不符合任何选项，或同样符合几个选项，请选“都不是”。"
            "您不会知道是哪个模型的回答，也不会知道程序读出了什么。",
            "m_keys": "按键：{}。S：无法判断。U：撤回上一个。",
        },
    },
}
MARKING_WORDS: Mapping[MarkKind, Mapping[str, Words]] = {
    kind: {"en": {**_ENGLISH, **task["en"]}, "zh": {**_CHINESE, **task["zh"]}}
    for kind, task in _TASKS.items()
}
CANNOT_REASONS: Mapping[MarkKind, tuple[str, ...]] = {
    "marks": ("m_picture", "m_question_unclear", "m_dont_know"),
    "labels": ("m_picture", "m_question_unclear", "m_dont_know"),
    "readings": ("m_unclear", "m_dont_know"),
}
"""Reasons why an answer cannot be judged, by their words; the English ones are stored."""
