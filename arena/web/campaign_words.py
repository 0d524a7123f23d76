"""Words of a campaign's pages, in each language; the operator's own instructions come as they were written."""

from collections.abc import Mapping

from arena.web.words import LANGUAGES, Words, language_of

_ENGLISH: Words = {
    "c_title": "{}",
    "c_votes": "Votes",
    "c_minutes": "Minutes for each at most",
    "c_pay": "Pay",
    "c_practice": "First there are {} questions with a known answer. {} must be right; there are {} tries.",
    "c_checks": "Some questions may have a known answer. You are not told which.",
    "c_consent": "I have read this and agree",
    "c_begin": "Begin",
    "c_preview": "This is a preview. Accept the HIT to begin.",
    "c_example": "The work looks like this: a picture, an instruction and two answers; you choose the better one.",
    "c_progress": "{} of {}",
    "c_took": "{} min",
    "c_exam": "Practice: question {} of {}",
    "c_try": "Try {} of {}",
    "c_read_again": "{} of {} were right, and {} are needed. Please read the instructions again, then try once more.",
    "c_right": "Right: {} is the better answer.",
    "c_wrong": "Not right: {} is the better answer. The other one does not answer the instruction.",
    "c_instructions": "Instructions",
    "c_task": "",
    "c_final": "Undo within {} seconds; then it is final.",
    "c_done": "Thank you, that was all.",
    "c_done_more": "Your answers are stored. Go back with this code, so that you are paid.",
    "c_waiting": "Full, waiting for the platform's list",
    "c_full": "The campaign has all its answers.",
    "c_full_more": "It ended while you were working. What you gave counts, and you are paid: go back with this code.",
    "c_away": "It ended while you were away, and there is no code. Please return this on your platform, or write to "
    "the people who run this.",
    "c_failed": "The practice questions were not passed.",
    "c_failed_more": "You are not asked to go on. This is no fault, and no rejection: go back with this code.",
    "c_withdrew": "You took your consent back.",
    "c_withdrew_more": "Your answers no longer count. To have them forgotten too, write to the people who run this; "
    "your seat is number {}.",
    "c_copy": "Copy",
    "c_copied": "Copied",
    "c_back": "Go back",
    "c_code": "Your code",
    "c_nothing": "There is nothing to do here at the moment",
    "c_nothing_more": "What is left is with others, or was skipped. Try again in a few minutes: then there is more, or "
    "it is over and you get your code. Or return this on your platform.",
    "c_again": "Try again",
    "c_broken": "This campaign cannot go on at the moment. Tell whoever sent you the link.",
    "c_no_entry": "This link does not open",
    "c_login": "Log in first",
    "c_stop": "Stop and take my consent back",
    "c_stop_sure": "What you gave no longer counts, and there is no code.",
    "c_terms": "What is stored and published",
}
_CHINESE: Words = {
    "c_title": "{}",
    "c_votes": "投票数",
    "c_minutes": "每题最多分钟数",
    "c_pay": "报酬",
    "c_practice": "首先有 {} 道答案已知的练习题，须答对 {} 道；共有 {} 次机会。",
    "c_checks": "有些题目的答案可能是已知的，不会告诉您是哪些。",
    "c_consent": "我已阅读并同意",
    "c_begin": "开始",
    "c_preview": "这是预览。请先接受 HIT 再开始。",
    "c_example": "任务如下：一张图片、一条指令和两个回答；请选出更好的一个。",
    "c_progress": "第 {} 题，共 {} 题",
    "c_took": "{} 分钟",
    "c_exam": "练习：第 {} 题，共 {} 题",
    "c_try": "第 {} 次，共 {} 次",
    "c_read_again": "答对了 {} 道，共 {} 道，需要 {} 道。请再读一遍说明，然后再试一次。",
    "c_right": "正确：{} 是更好的回答。",
    "c_wrong": "不正确：{} 是更好的回答。另一个没有回答指令。",
    "c_instructions": "说明",
    "c_task": "",
    "c_final": "{} 秒内可以撤回；之后不可更改。",
    "c_done": "谢谢，全部完成。",
    "c_done_more": "您的回答已保存。请带着这个代码返回，以便获得报酬。",
    "c_waiting": "名额已满，正在等待平台的名单",
    "c_full": "本活动已收齐所有回答。",
    "c_full_more": "活动在您工作期间结束。您已给出的回答有效，您将获得报酬：请带着这个代码返回。",
    "c_away": "活动在您离开期间结束，因此没有代码。请在您的平台上退还，或联系活动的负责人。",
    "c_failed": "练习题未通过。",
    "c_failed_more": "不再请您继续。这不是过错，也不是拒绝：请带着这个代码返回。",
    "c_withdrew": "您已撤回同意。",
    "c_withdrew_more": "您的回答不再计入。如需一并删除，请联系活动的负责人；您的席位编号是 {}。",
    "c_copy": "复制",
    "c_copied": "已复制",
    "c_back": "返回",
    "c_code": "您的代码",
    "c_nothing": "目前这里没有任务",
    "c_nothing_more": "剩下的任务在别人手中，或被您跳过了。请过几分钟再试：届时会有新任务，或活动已结束，您会得到代码。"
    "您也可以在平台上退还。",
    "c_again": "再试一次",
    "c_broken": "本活动目前无法继续。请告知给您发送链接的人。",
    "c_no_entry": "此链接无法打开",
    "c_login": "请先登录",
    "c_stop": "停止并撤回同意",
    "c_stop_sure": "您给出的回答不再计入，也没有代码。",
    "c_terms": "保存和发布的内容",
}
CAMPAIGN_WORDS: Mapping[str, Words] = {"en": _ENGLISH, "zh": _CHINESE}


def campaign_words(headers: Mapping[str, str]) -> Words:
    """The words of a campaign's page in the language of a request, with those of a battle."""
    language = language_of(headers)
    return {**LANGUAGES[language], **CAMPAIGN_WORDS[language]}
