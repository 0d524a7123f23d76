"""Chinese: the words of the Vote page, and the sentences that come from below it, by their English."""

from collections.abc import Mapping

CHINESE: Mapping[str, str] = {
    "title": "Stereoscope：两个匿名模型，一张图片，由您选择",
    "lead": "两个匿名模型看了这张图片，哪一个的回答更有帮助？",
    "instruction": "问题",
    "guidelines": "请比较准确性、帮助程度和细节。没有平局：即使差别很小，也请选出更好的一个。",
    "link": "本题链接",
    "picture": "图片",
    "picture_of": "图片 {}，共 {} 张",
    "enlarge": "放大图片",
    "broken": "图片无法加载",
    "gap": "",
    "broken_skip": "换一题",
    "broken_costs": "这不计入您的跳过次数。",
    "answer": "回答",
    "wait_pictures": "所有图片加载完成后即可选择。",
    "not_stored": "尚未保存：无法连接服务器。一旦连上就会发送您的选择，请不要关闭此页面。",
    "wait_answers": "请先看完两个回答，再选择。",
    "terms": "您的选择将以 CC BY 4.0 许可保存并公开，不含您的姓名。",
    "terms_undo": "您可以在 {} 秒内撤回一次。",
    "terms_link": "保存和公开的内容",
    "votes": "您的投票：{}",
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
    "plain": "纯文本",
    "keys_on": "快捷键",
    "chose": "您选择了 {}。",
    "undo_once": "{} 秒内可以撤回；之后显示名称，选择不可更改。",
    "taken_back": "已撤回。请重新选择：第二次选择不可更改。",
    "your_choice": "您的选择",
    "you_chose": "您选择了 {}：{}。",
    "other_is": "{} 是 {}。",
    "rank": "第 {} 名，共 {} 名",
    "places": "第 {} 至 {} 名",
    "level": "95% 置信区间",
    "provisional": "票数尚不足",
    "first": "您是第一个在此选择的人。",
    "others_later": "其他人在此如何选择，将在活动结束后公布。",
    "alike": "{} 的人（共 {} 人）与您选择相同。",
    "alike_few": "{} 人（共 {} 人）与您选择相同。",
    "alike_one": "另外一位在此选择的人与您选择相同。",
    "unlike_one": "另外一位在此选择的人与您选择不同。",
    "cost_one": "此回答约 {}",
    "cost_many": "共约 {}（{} 个回答）",
    "reference": "参考答案",
    "battle_link": "本场对比的链接",
    "mine": "到目前为止您更喜欢的模型",
    "mine_row": "{} / {}",
    "one_step": "还差一步",
    "new_tab": "在新标签页中打开",
    "enough": "今天到此为止",
    "nothing": "没有可比较的内容",
    "nothing_yet": "暂时没有可投票的内容。",
    "none_fits": "没有符合的题目。请换一个类别或减少关键词。",
    "more": "还有 {} 个：请用搜索缩小范围。",
    "keys_a_b": "选择",
    "keys_n": "下一题",
    "keys_s": "跳过",
    "keys_z": "撤回",
    "keys_i": "放大",
    "enlarged": "放大的图片",
    "previous": "上一张",
    "following": "下一张",
    "close": "关闭（Esc）",
    "pick": "挑选题目",
    "family": "类别",
    "any_family": "全部类别",
    "search": "搜索问题",
    "one_picture": "1 张图片",
    "pictures": "{} 张图片",
    "pages": "页面",
    "skip_link": "跳到内容",
    "scriptless": "投票需要运行脚本，而此浏览器没有运行。请允许本页运行脚本，然后重新加载。",
    "door_vote": "投票",
    "door_own": "用您自己的图片",
    "door_results": "结果",
    "door_score": "为模型评分",
    "run": "运营",
    "login": "用 Hugging Face 登录",
    "logout": "退出登录",
    "login_failed": "登录",
    "back": "返回",
    "counts_later": "您的投票计入所有人的榜单；登录后也计入认证榜单。",
    "counts_framed": "您的投票计入所有人的榜单；要同时计入认证榜单，请登录：登录会打开单独的页面。",
    "counts_invited": "您的投票计入所有人的榜单；认证榜单只有受邀者的投票。",
    "you": "关于您保存了什么",
    "you_code": """此浏览器在这里以一个代码识别：

`{}`

如需删除您的数据，请把此代码发给本站的运营者。他们会删除您的图片、文字以及能表明您身份的一切；您的投票会保留，但不再与人关联。持有此代码的人都可以提出删除：请不要给其他人看。

您提交评分的结果报告会保留在各自的链接下，并且不再有所有者：不想保留的报告，请您事先在提交评分的页面（“为模型评分”）自行删除。如果您用代码关联了多台设备，删除会涵盖所有这些设备的报告和上传的文件，但只涵盖此设备的投票。""",
    "you_none": "此浏览器没有代码，也没有保存关于您的任何内容。如果您在这里投过票，请先打开投票页面。",
    "reports_elsewhere": "在其他设备上查看您的报告",
    "reports_code": "用一个代码即可在另一个浏览器中打开您的评分报告。代码 10 分钟内有效，只能用一次。输入代码的人可以查看、修改和删除您的报告。",
    "reports_show": "显示代码",
    "reports_enter": "另一台设备上的代码",
    "reports_open": "打开报告",
    "reports_code_use": "请在另一台设备的“关于您保存了什么”页面输入此代码。代码 10 分钟内有效，只能用一次。请不要给其他人看。",
    "reports_code_wrong": "此代码无效：可能已用过、已超过 10 分钟或输入有误。请在另一台设备上重新显示代码。",
    "copy_code": "复制",
    "copied_now": "已复制",
    "saved": "已保存；{}。",
    "saved_late": "已保存；备份延迟：{}。",
    "copied": "{}前的投票已备份",
    "copied_only": "仅{}前的投票已备份",
    "copied_none": "尚未备份",
    "s": "{} 秒",
    "min": "{} 分钟",
    "h": "{} 小时",
    "days": "{} 天",
    "live_lead": "两个匿名模型并排回答。您先选择，然后就知道它们是谁。",
    "live_send": "比较两个模型",
    "live_keep": "我的图片可以保留用于研究。不勾选则在显示名称时删除，最迟 24 小时后删除。",
    "live_terms": "投票即表示您同意：您的选择将以 CC BY 4.0 许可保存并公开，不含您的姓名。",
    "live_more": "再问两个模型一次",
    "add": "选择图片",
    "photo": "拍照",
    "take_item": "从题库取一题",
    "take_another": "换一题",
    "drop": "或拖放、粘贴到这里；最多 {} 张",
    "enter": "回车发送，Shift+回车换行。",
    "stop": "停止",
    "again": "重试",
    "new": "新的对比",
    "ask": "提问",
    "yours": "您的问题",
    "your_picture": "，您的图片",
    "take_out": "移除",
    "checking": "检查中……",
    "still": "这是动画：使用它的第一帧。",
    "most": "最多 {} 张图片；其余 {} 张未加入。",
    "the_picture": "图片",
    "no_answer": "服务器没有回应。请检查网络连接，然后重试。",
    "asked_again": "服务器没有回应，正在自动重试。",
    "slow": "还没有收到回应。请再等等，或再发送一次：不会重复计入。",
    "refused": "服务器拒绝了请求（{}）。请重试。",
    "lost": "连接中断，正在重试……",
    "stopped_both": "（两个回答都结束之前已停止）",
    "cut_off": "（达到长度上限，已截断）",
    "thought": "思考了 {} 个词",
    "thought_one": "思考了 1 个词",
    "loading": "有一个模型正在加载，就绪后两个回答一起开始。",
    "answering": "两个模型正在回答。",
    "in_line_one": "排队中：您前面有 1 人。",
    "in_line": "排队中：您前面有 {} 人。",
    "choose_now": "现在就可以选择，也可以等回答结束。",
    "which": "哪个回答更好？请选择。",
    "which_more": "哪个回答更好？请选择，或再问两个模型一次（还可问 {} 次）。",
    "which_stopped": "已停止。请按已显示的内容选择；这样的投票不计入排名。",
    "was_taken_back": "已撤回。",
    "outside_stopped": "回答被停止，因此不计入排名。",
    "outside_named": "有回答透露了模型的身份，因此不计入排名。",
    "undo_live": "{} 秒内可以撤回；之后显示名称。",
    # What stands in the errors below
    "Save it as PNG, JPEG, WEBP or GIF and try again.": "请保存为 PNG、JPEG、WEBP 或 GIF 后重试。",
    "no picture that we know": "不是我们认识的图片",
    "empty": "空文件",
    "an SVG drawing": "SVG 图形",
    "a web page or XML file": "网页或 XML 文件",
    "a HEIC photo": "HEIC 照片",
    "an AVIF picture": "AVIF 图片",
    "a video": "视频",
    "a TIFF picture": "TIFF 图片",
    "a BMP picture": "BMP 图片",
    # Errors and sentences from below the pages, by what they are in English
    "This battle is not yours or does not exist. Press Next, or reload the page.": "这场对比不属于您或不存在。请按“下一题”，或重新加载页面。",
    "Your browser keeps no cookie for this page. Open the page in a tab of its own.": (
        "您的浏览器没有为本页保存 Cookie。请在单独的标签页中打开本页。"
    ),
    "Not stored: the database refused it. Please try again in a moment.": "未保存：数据库拒绝了写入。请稍后再试。",
    "The database cannot be read at the moment. Please try again.": "暂时无法读取数据库。请重试。",
    "The database does not answer at the moment. Please try again.": "数据库暂时没有响应。请重试。",
    "There is no choice to take back yet.": "还没有可以撤回的选择。",
    "Choose A or B first; the names appear after that.": "请先选择 A 或 B；之后才会显示名称。",
    "The names appear after your choice.": "您选择之后才会显示名称。",
    "That choice was taken back in another tab; reload the page to choose again.": "该选择已在另一个标签页中撤回；请重新加载页面再选择。",
    "You already chose {} in this battle; that choice stands.": "您在这场对比中已经选择了 {}；该选择有效。",
    "The {} must be one of: {}.": "{} 必须是以下之一：{}。",
    "A choice can be taken back once; this one is final.": "选择只能撤回一次；这次选择不可更改。",
    "The names have been shown; the choice is final.": "名称已经显示；选择不可更改。",
    "A choice can be taken back for {} seconds; this one is final.": "选择可在 {} 秒内撤回；这次选择不可更改。",
    "You already chose in this battle; press Next for another.": "您在这场对比中已经选择；请按“下一题”。",
    "You skipped this battle; press Next for another.": "您跳过了这场对比；请按“下一题”。",
    "You have used today's {} skips. Please choose the better answer, even if it is close.": (
        "您今天的 {} 次跳过已用完。即使差别很小，也请选出更好的回答。"
    ),
    "You have compared these items and models as often as one voter may here. Thank you!": "您在这里比较这些题目和模型的次数已达上限。谢谢！",
    "You have compared these models as often as one voter may here. Thank you!": "您在这里比较这些模型的次数已达上限。谢谢！",
    "Your network has had its battles for today. There are more from midnight (UTC).": "您所在网络今天的对比次数已用完。午夜（UTC）后可以继续。",
    (
        "That was the last battle for today: one voter has at most {} a day. Thank you! There are more from "
        "midnight (UTC)."
    ): "今天的对比到此为止：每位投票者每天最多 {} 场。谢谢！午夜（UTC）后可以继续。",
    "You have had as many battles about this item as one voter may; take another item.": "您对本题的对比次数已达上限；请换一题。",
    "Your network has brought its images for today. There is room from midnight (UTC).": (
        "您所在网络今天的图片数量已用完。午夜（UTC）后可以继续。"
    ),
    (
        "Your network has opened {} links of this campaign today, the most for one network. Go on under a link that you "
        "opened before, or come again tomorrow."
    ): "您所在网络今天已打开本活动的 {} 个链接，这是每个网络的上限。请在先前打开的链接中继续，或明天再来。",
    (
        "Every question is answered or being answered. Some may come back once the platform's list has told who took "
        "part: try again later, or return this on your platform."
    ): "所有题目都已回答或正在回答。平台的名单确认参与者之后，部分题目可能会重新开放：请稍后再试，或在您的平台上退还。",
    "Please come back later.": "请稍后再来。",
    "There is no such item here, or it has no two answers to compare.": "这里没有这道题，或它没有两个可比较的回答。",
    "You have compared everything there is here. Thank you!": "您已经比较了这里的全部内容。谢谢！",
    "Too many requests at the moment. Please come again in {} s.": "目前请求过多。请在 {} 秒后再来。",
    "There is nothing to vote on in this battle; start another.": "这场对比没有可投票的内容；请开始新的对比。",
    "The answers are still coming; choose when both have ended, or press Stop.": "回答尚未结束；请等两个回答都结束后选择，或按“停止”。",
    "The answers are still coming; ask when both have ended.": "回答尚未结束；请等两个回答都结束后再提问。",
    "You have chosen; start another battle to ask more.": "您已经选择；要继续提问，请开始新的对比。",
    "A battle has at most 5 turns. Choose A or B.": "一场对比最多 5 轮。请选择 A 或 B。",
    "This battle was stopped; choose A or B, or start another.": "这场对比已停止；请选择 A 或 B，或开始新的对比。",
    "One of the two models failed, so there is nothing to vote on; it counts for neither. Please try again.": (
        "两个模型之一出现故障，因此没有可投票的内容；对双方都不计分。请重试。"
    ),
    "It was stopped before both had said a word, so there is nothing to vote on.": "在双方都作答之前已停止，因此没有可投票的内容。",
    "The answers were lost before both had ended, so there is nothing to vote on. Please try again.": (
        "回答在结束之前丢失，因此没有可投票的内容。请重试。"
    ),
    "A battle takes at most {} images, these are {}; take some out": "一场对比最多 {} 张图片，现在有 {} 张；请移除一些",
    "Add an image first: the models are to look at something": "请先添加图片：模型需要有图可看",
    "A model of this battle is no longer here; choose A or B, or start another battle": (
        "这场对比的一个模型已不在；请选择 A 或 B，或开始新的对比"
    ),
    "With this the conversation is too long for the models; make it shorter, or choose A or B": (
        "加上这句，对话对模型来说太长；请缩短，或选择 A 或 B"
    ),
    "Live battles need two models; the operator can add some to the catalogue that MODELS names": (
        "实时对比需要两个模型；运营者可以在 MODELS 指定的目录中添加"
    ),
    "Two models that take {} images are not here; use at most {}": "这里没有两个能接受 {} 张图片的模型；请最多使用 {} 张",
    "The instruction is too long for the models here; make it shorter": "问题对这里的模型来说太长；请缩短",
    "Write an instruction first: what should the models do?": "请先写下问题：模型应该做什么？",
    "The text has {:,} characters; at most {:,} are taken. Make it shorter": "文本有 {:,} 个字符；最多接受 {:,} 个。请缩短",
    "The text holds characters that nobody can see; write it without them": "文本含有不可见的字符；请去掉它们",
    "{} others of your network wait for answers; please come back in a few minutes": "您所在网络还有 {} 人在等待回答；请过几分钟再来",
    "{} others are waiting for answers; please come back in a few minutes": "还有 {} 人在等待回答；请过几分钟再来",
    (
        "The operators have paused live answers. Battles that are open can still be chosen in; please come "
        "back later, or compare items of the bank."
    ): "运营者已暂停实时回答。已打开的对比仍可选择；请稍后再来，或比较题库中的题目。",
    "The bank has no item with its pictures yet; bring images of your own": "题库中还没有带图片的题目；请使用您自己的图片",
    "The item of this battle is no longer here; choose A or B, or start another battle": "这场对比的题目已不在；请选择 A 或 B，或开始新的对比",
    "There is no such item here; take another": "这里没有这道题；请换一题",
    "A picture of this item is not here; take another item": "本题缺少图片；请换一题",
    (
        "This battle runs on another server, which this request did not reach; reload the page, or ask "
        "the operator for session affinity."
    ): "这场对比在另一台服务器上，本次请求没有到达那里；请重新加载页面，或请运营者启用会话亲和。",
    "This is lent to people who log in, since it costs the operator money; log in above": (
        "这项功能会花费运营者的钱，因此只提供给登录的人；请在上方登录"
    ),
    "An image is no longer here; take it out and add it again": "有一张图片已不在；请移除后重新添加",
    "You have {} images here that no battle uses; take some out first": "您有 {} 张图片未被任何对比使用；请先移除一些",
    "There are too many images here at the moment; try again in an hour": "目前这里的图片太多；请一小时后再试",
    "This server's disk takes no file at the moment; try again later, or tell its operator": (
        "服务器磁盘暂时无法保存文件；请稍后再试，或告知运营者"
    ),
    "The picture has over {} MB. Make it smaller.": "图片超过 {} MB。请缩小。",
    "The picture has over {} MB, the most that is read. Make it smaller.": "图片超过 {} MB 的读取上限。请缩小。",
    "A web page is hidden in this {} picture. {}": "这张 {} 图片中藏有网页。{}",
    "This {} picture has {} pixels; over {} million. Make it smaller.": "这张 {} 图片有 {} 像素，超过 {} 百万。请缩小。",
    "This {} picture has {} pixels, too long to stay readable. Cut it into parts.": (
        "这张 {} 图片有 {} 像素，过长，缩小后无法看清。请裁成几部分。"
    ),
    "This {} picture has too many pixels. Make it smaller.": "这张 {} 图片像素过多。请缩小。",
    "This {} picture is broken or cut short. Open it, save it again and retry.": "这张 {} 图片已损坏或不完整。请打开后重新保存再试。",
    "This GIF picture has over {} parts before a frame. {}": "这张 GIF 图片在一帧之前有超过 {} 个部分。{}",
    "This JPEG picture has over {} bytes between its parts. {}": "这张 JPEG 图片的各部分之间有超过 {} 个字节。{}",
    "This PNG picture has over {} parts. {}": "这张 PNG 图片有超过 {} 个部分。{}",
    "This JPEG picture has over {} scans or {} parts. {}": "这张 JPEG 图片有超过 {} 次扫描或 {} 个部分。{}",
    "This login was begun in another browser or tab. Please log in again.": "这次登录是在另一个浏览器或标签页中开始的。请重新登录。",
    "You were not logged in. You can vote as a guest, or log in again.": "您没有登录。您可以以访客身份投票，或重新登录。",
    "This login took too long, or was begun in another browser. Please log in again.": (
        "这次登录用时过长，或是在另一个浏览器中开始的。请重新登录。"
    ),
    "Hugging Face did not say who you are. Please log in again.": "Hugging Face 没有告知您是谁。请重新登录。",
    "What Hugging Face answered does not belong to this login. Please log in again.": (
        "Hugging Face 的回应不属于这次登录。请重新登录。"
    ),
    "Hugging Face cannot be reached as it should be. Please try again later.": "无法正常连接 Hugging Face。请稍后再试。",
    "Hugging Face does not answer. You can vote as a guest; try again later.": (
        "Hugging Face 没有响应。您可以以访客身份投票；请稍后再试。"
    ),
    "Hugging Face refused this login. Please log in again.": "Hugging Face 拒绝了这次登录。请重新登录。",
    "Hugging Face answered something else than JSON. Please try again later.": "Hugging Face 的回应无法读取。请稍后再试。",
    (
        "{!r} can't be a worker's name. Use 1 to 64 visible letters, digits, signs and spaces, and don't begin "
        "with account or forgotten."
    ): "{!r} 不能作参与者的名字。请用 1 至 64 个可见的字母、汉字、数字、符号或空格，且不以 account 或 forgotten 开头。",
    "This work is for people who log in. Log in with Hugging Face, and you come back here.": (
        "此任务面向已登录的人。请用 Hugging Face 登录，随后会回到这里。"
    ),
    "A practice question was taken out. Tell whoever sent you the link.": "一道练习题已被移除。请告知给您发送链接的人。",
    "Nothing was chosen; press A or B.": "尚未选择；请按 A 或 B。",
    "Choose one of the answers.": "请选择一个回答。",
    "The practice is over; nothing more can be sent.": "练习已结束，不能再发送。",
    "The link lacks its {}. Open it from the platform's page, which fills it in.": "链接缺少 {}。请从平台的页面打开，平台会自动填写。",
    "There is no such campaign. Open the link exactly as you got it.": "没有这个活动。请按收到的链接原样打开。",
    "There is no such seat. Open the link exactly as you got it.": "没有这个席位。请按收到的链接原样打开。",
    "This campaign cannot begin: its qualification asks {} questions, and {!r} has {}.": (
        "本活动无法开始：资格练习需要 {} 道题，而 {!r} 只有 {} 道。"
    ),
    "This campaign has all its answers. Thank you; please return it on your platform.": "本活动已收齐所有回答。谢谢；请在您的平台上退还。",
    "This is a preview. Accept the HIT to begin.": "这是预览。请先接受 HIT 再开始。",
    "This link belongs to another study. Open it from the study's page at Prolific.": (
        "此链接属于另一项研究。请从 Prolific 上该研究的页面打开。"
    ),
    "This link does not come from MTurk. Open it from the HIT's page there.": "此链接不是来自 MTurk。请从那里的 HIT 页面打开。",
    "This link has expired. Ask whoever sent it to you for a new one.": "此链接已过期。请向发送者索取新的链接。",
    "This link was changed on its way. Open it exactly as you got it, or ask for it again.": (
        "此链接在途中被改动过。请按收到的原样打开，或重新索取。"
    ),
    "Tick the box to begin; without your consent nothing is stored.": "请勾选方框后开始；没有您的同意，什么都不会保存。",
    "You have done this campaign. It takes each person once; please return this one.": "您已完成本活动。每人只能参加一次；请退还这一份。",
    "You were away for long, and others were asked this meanwhile. Here is another.": "您离开了较长时间，这道题已交给别人。下面是另一道。",
    "Your work here is done; nothing more can be sent.": "您在这里的任务已经结束，不能再提交。",
    "What you send comes too slowly. Please try again on a better line.": "您发送的内容到达得太慢。请在更好的网络下重试。",
    "At most {} are taken; send less.": "最多接受 {}，请减少发送的内容。",
    "This file is {}. {}": "此文件无法使用（{}）。{}",
}
