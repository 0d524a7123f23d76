"""Words of the pages on which people write multiple-choice questions, where they differ from those of other items."""

from collections.abc import Mapping

from arena.authoring.spec import Kind
from arena.web.words import Words
from arena.web.writing_words import WRITING_WORDS

_ENGLISH: Words = {
    "c_example": "You write questions about a picture, each with its right answer and some wrong ones. You also answer "
    "questions that others wrote, without knowing which answer they marked as right.",
    "c_checks": "Each question is answered by somebody else. It counts if both of you choose the same answer.",
    "c_full": "All questions are written.",
    "i_family": "Category",
    "i_example": "An example of its questions",
    "i_example_answer": "Its right answer",
    "i_example_others": "Its wrong answers",
    "i_instruction": "Question",
    "i_write": "Write a question of this category that nobody can answer without the picture",
    "i_pictures": "Its picture",
    "i_bring": "Bring this picture",
    "i_files": "Choose a file, drop it here, or paste a picture",
    "i_right": "The right answer",
    "i_wrong": "Wrong answers, 1 to {}",
    "i_wrong_of": "Wrong answer {}",
    "i_wrong_help": "Make them plausible and about as long as the right one. All answers are shown in a random order, so "
    "none can point at others, like “both” or “none of these”.",
    "i_pick": "Which answer is right?",
    "i_fault": "Or is something wrong with the question?",
    "i_note": "A note for the operator (optional)",
    "i_said_instruction": "No answer is right, or more than one is",
    "i_said_picture": "The picture is unusable, or may not be used",
    "i_said_harm": "It is harmful or offensive",
}
_CHINESE: Words = {
    "c_example": "您就一张图片写一道题，包括一个正确答案和若干错误答案。您也回答别人写的题，但不知道作者认为哪个答案正确。",
    "c_checks": "每道题都会由另一个人回答。两人选择相同的答案，这道题才算数。",
    "c_full": "所有题目都已写完。",
    "i_family": "类别",
    "i_example": "这一类别的例题",
    "i_example_answer": "它的正确答案",
    "i_example_others": "它的错误答案",
    "i_instruction": "题目",
    "i_write": "写一道这一类别的题，不看图片就无法回答",
    "i_pictures": "它的图片",
    "i_bring": "添加这张图片",
    "i_files": "选择文件，拖到这里，或粘贴图片",
    "i_right": "正确答案",
    "i_wrong": "错误答案，1 到 {} 个",
    "i_wrong_of": "错误答案 {}",
    "i_wrong_help": "错误答案要像是对的，长度与正确答案相近。答案会以随机顺序显示，所以不能互相指代，例如“两者都是”或“以上都不是”。",
    "i_pick": "哪个答案正确？",
    "i_fault": "还是题目有问题？",
    "i_note": "给运营者的说明（可不填）",
    "i_said_instruction": "没有正确答案，或者不止一个",
    "i_said_picture": "图片无法使用，或不允许使用",
    "i_said_harm": "内容有害或冒犯",
    "question": "题目",
    "right answer": "正确答案",
    "wrong answer": "错误答案",
    "The question has no wrong answer. Write at least one.": "这道题没有错误答案。请至少写一个。",
    "The question has {} answers. Keep {} at most.": "这道题有 {} 个答案。最多保留 {} 个。",
    "Two answers are the same: {}. Change one, so that only one is right.": "有两个答案相同：{}。请改掉一个，使正确答案只有一个。",
    "Programs read the answer {} as an empty cell. Write it in other words.": "程序会把答案 {} 当作空单元格。请换一种写法。",
    "A question has one picture, not {}. Bring one, or untick the others.": "一道题要有一张图片，而不是 {} 张。请添加一张，或取消勾选其余图片。",
    "Choose an answer, or say what is wrong with the question.": "请选择一个答案，或说明题目有什么问题。",
}
CHOICE_WORDS: Mapping[str, Words] = {
    "en": {**WRITING_WORDS["en"], **_ENGLISH},
    "zh": {**WRITING_WORDS["zh"], **_CHINESE},
}
PROJECT_WORDS: Mapping[Kind, Mapping[str, Words]] = {
    "captions": WRITING_WORDS,
    "multiple choice": CHOICE_WORDS,
}
"""By kind of items, then by language."""
