"""Words: every string that the Vote screen shows, in one place, by language."""

from collections.abc import Mapping

Words = Mapping[str, str]

ENGLISH: Words = {
    # Before the choice
    "lead": "Two hidden models looked at this picture. Which one helped more?",
    "instruction": "Instruction",
    "guidelines": "Judge by accuracy, helpfulness and detail. No ties: choose the better one even if it is close.",
    "link": "Link to this item",
    "picture": "Picture",
    "picture_of": "Picture {} of {}",
    "enlarge": "Enlarge picture",
    "broken": "The picture does not load",
    "broken_skip": "Take another battle",
    "broken_costs": "It does not count as one of your skips.",
    "answer": "Answer",
    "wait_pictures": "You can choose as soon as every picture is here.",
    "wait_answers": "Look at both answers, then choose.",
    "terms": "Your choice is stored and published under CC BY 4.0, without your name.",
    "terms_undo": "You can take it back once, within {} seconds.",
    "terms_link": "What is stored and published",
    "votes": "Your votes: {}",
    "votes_of": "{} of {} votes",
    "demo": "demo bank",
    # Controls
    "choose_a": "A is better",
    "choose_b": "B is better",
    "undo": "Undo",
    "reveal": "Show the names",
    "next": "Next",
    "skip": "Skip",
    "skip_judge": "I cannot judge this",
    "skip_broken": "The picture does not load",
    "skip_rude": "It is offensive",
    "skip_not": "Do not skip",
    "plain": "Plain text",
    "keys_on": "Keys",
    # Where a battle stands
    "chose": "You chose {}.",
    "undo_once": "Undo within {} seconds; then the names appear and it is final.",
    "taken_back": "Taken back. Choose again: the second choice is final.",
    "your_choice": "your choice",
    # The reveal
    "you_chose": "You chose {}:",
    "other_is": "{} is",
    "rank": "rank {} of {}",
    "provisional": "still gathering votes",
    "first": "You are the first to choose here.",
    "alike": "{} of {} people chose as you.",
    "alike_few": "{} of {} others chose as you.",
    "reference": "The reference's answer",
    "battle_link": "Link to this battle",
    "mine": "The models you preferred so far",
    "mine_row": "{} of {}",
    # No battle
    "one_step": "One step more",
    "new_tab": "Open in a new tab",
    "bad_link": "This link does not work",
    "thanks": "Thank you!",
    "code": "You have given all {} votes. Your completion code: {}",
    "enough": "Enough for now",
    "nothing": "Nothing to compare",
    # Picking an item
    "none_fits": "No item fits. Try another family or fewer words.",
    "more": "{} more: search to narrow them down.",
}

CHINESE: Words = {
    "lead": "两个匿名模型看了这张图片，哪一个的回答更有帮助？",
    "instruction": "问题",
    "guidelines": "请比较准确性、帮助程度和细节。没有平局：即使差别很小，也请选出更好的一个。",
    "link": "本题链接",
    "picture": "图片",
    "picture_of": "图片 {}，共 {} 张",
    "enlarge": "放大图片",
    "broken": "图片无法加载",
    "broken_skip": "换一题",
    "broken_costs": "这不计入您的跳过次数。",
    "answer": "回答",
    "wait_pictures": "所有图片加载完成后即可选择。",
    "wait_answers": "请先看完两个回答，再选择。",
    "terms": "您的选择将以 CC BY 4.0 许可保存并公开，不含您的姓名。",
    "terms_undo": "您可以在 {} 秒内撤回一次。",
    "terms_link": "保存和公开的内容",
    "votes": "您的投票：{}",
    "votes_of": "{} / {} 票",
    "demo": "演示题库",
    "choose_a": "A 更好",
    "choose_b": "B 更好",
    "undo": "撤回",
    "reveal": "显示模型名称",
    "next": "下一题",
    "skip": "跳过",
    "skip_judge": "我无法判断",
    "skip_broken": "图片无法加载",
    "skip_rude": "内容令人反感",
    "skip_not": "不跳过",
    "plain": "纯文本",
    "keys_on": "快捷键",
    "chose": "您选择了 {}。",
    "undo_once": "{} 秒内可以撤回；之后显示名称，选择不可更改。",
    "taken_back": "已撤回。请重新选择：第二次选择不可更改。",
    "your_choice": "您的选择",
    "you_chose": "您选择了 {}：",
    "other_is": "{} 是",
    "rank": "第 {} 名，共 {} 名",
    "provisional": "票数尚不足",
    "first": "您是第一个在此选择的人。",
    "alike": "{} 的人（共 {} 人）与您选择相同。",
    "alike_few": "{} 人（共 {} 人）与您选择相同。",
    "reference": "参考答案",
    "battle_link": "本场对比的链接",
    "mine": "到目前为止您更喜欢的模型",
    "mine_row": "{} / {}",
    "one_step": "还差一步",
    "new_tab": "在新标签页中打开",
    "bad_link": "此链接无效",
    "thanks": "谢谢！",
    "code": "您已完成全部 {} 票。您的完成码：{}",
    "enough": "今天到此为止",
    "nothing": "没有可比较的内容",
    "none_fits": "没有符合的题目。请换一个类别或减少关键词。",
    "more": "还有 {} 个：请用搜索缩小范围。",
}

LANGUAGES: Mapping[str, Words] = {"en": ENGLISH, "zh": CHINESE}
NAMES = (("en", "English"), ("zh", "中文"))
"""The languages as their speakers call them."""


def words_of(headers: Mapping[str, str]) -> Words:
    """Return the words of a request's language: that of the page's switch, else the first the browser asks for."""
    chosen = [pair.strip().removeprefix("language=") for pair in headers.get("cookie", "")[:8000].split(";")]
    asked = [part.partition(";")[0].strip()[:2].lower() for part in headers.get("accept-language", "")[:200].split(",")]
    return next((LANGUAGES[name] for name in (*chosen, *asked) if name in LANGUAGES), ENGLISH)
