"""Identity leaks: whether an answer reveals the model that wrote it.

Only a speaker that names itself counts ("I am ...", "as a model trained by ..."), never a maker or a model as the
topic: a palm tree, a Google logo and a llama in a picture do not identify the speaker."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from arena.cache import Cache

_MAKERS = (
    r"openai|anthropic|google(?: deepmind)?|deepmind|meta(?: ai)?|mistral(?: ai)?|x\.?ai|alibaba(?: cloud)?|deepseek"
    r"|microsoft|nvidia|hugging ?face|zhipu(?: ai)?|openbmb|opengvlab|shanghai ai lab(?:oratory)?|salesforce|cohere"
    r"|baidu|tencent|bytedance|moonshot(?: ai)?|01\.ai|allen (?:institute|ai)|ai2|stability(?: ai)?|reka|amazon"
    r"|阿里(?:巴巴|云)?|百度|腾讯|智谱|谷歌|字节跳动|月之暗面|深度求索|上海人工智能实验室"
)
_MODELS = (
    r"chat-?gpt|gpt[ -]?[345][\w.-]*|claude|gemini|bard|palm[ -]?2|(?:pali-?)?gemma|llama|llava|vicuna|alpaca"
    r"|qwen[\w.-]*|tongyi|mini-?gpt-?4|mini-?cpm[\w.-]*|instruct-?blip|blip-?2|m?plug-?owl\w*|otter|open-?flamingo"
    r"|idefics\w*|smolvlm|intern-?(?:vl|lm)\w*|cog-?vlm\w*|(?:chat-?)?glm[\w.-]*|deepseek[\w.-]*|pixtral|mi[sx]tral"
    r"|grok|molmo|fuyu|phi-?[34][\w.-]*|kosmos\S*|panda-?gpt|yi-?vl|emu\d|aya|command[ -]r|nova|ernie|doubao|kimi"
    r"|hunyuan|step-?1v|bunny|moondream\d?|florence-?2|通义千问|文心一言|豆包|混元"
)
_STEMS = (
    "openai anthropic google deepmind meta mistral xai x.ai alibaba deepseek microsoft nvidia hugging"
    " zhipu openbmb opengvlab shanghai salesforce cohere baidu tencent bytedance moonshot 01.ai allen"
    " ai2 stability reka amazon 阿里 百度 腾讯 智谱 谷歌 字节跳动 月之暗面 深度求索 上海人工智能实验室"
    " gpt claude gemini bard palm gemma llama llava vicuna alpaca qwen tongyi minicpm mini-cpm blip"
    " plugowl plug-owl otter flamingo idefics smolvlm internvl intern-vl internlm intern-lm vlm glm"
    " pixtral mixtral grok molmo fuyu phi kosmos yivl yi-vl emu aya command nova ernie doubao kimi"
    " hunyuan step1v step-1v bunny moondream florence 通义千问 文心一言 豆包 混元"
).split()
"""A part of each maker's and model's name. Few answers have one, and only these are searched with slow patterns."""
_TRAIT = r"(?:large|small|multi-?modal|visual|vision(?:-language)?|language|generative|artificial intelligence|ai|chat)"
_SPEAKER = rf"(?:{_TRAIT}[ -]){{0,4}}(?:model|assistant|chat-?bot|ai|vlm|llm|mllm|system)"
_MADE = r"(?:trained|made|created|developed|built|designed|fine-?tuned|powered|provided|released)"
_SELF = r"I(?: am|['\u2019]m)"
_TALKING = r"you(?: are|['\u2019]re) (?:talking|chatting|speaking) (?:to|with)"
_FOREIGN_I_AM = (
    r"je suis|je m['\u2019]appelle|soy|me llamo|ich bin|ich hei\u00dfe|mein name ist|eu sou|\u044f"
)
_WE = r"we(?: are|['\u2019]re)"
_I_AM = rf"(?:\b(?:{_SELF}|{_WE}|I was|my name is|call me|{_TALKING}|{_FOREIGN_I_AM})\b|我是|我叫|我的名字是|저는|私は)"
_CALLED = r"(?:[\w'-]{1,40}[\s,]{1,3}){0,4}?(?:called|named|based on|version of)"
_BETWEEN = rf"(?:(?:{_CALLED}|the|an?|just|actually|also|now)\s){{0,3}}"
_NEAR = rf"[\s,:\"'\u201c\u2014*_`-]{{0,8}}{_BETWEEN}[\"'\u201c*_`]{{0,4}}"
_BY = rf"\b{_MADE}\b[^.!?\n]{{0,30}}\b(?:by|at|from) (?:the )?(?:{_MAKERS})\b"
_MAKER_PATTERNS = (
    # I am a large language model trained by Google.
    rf"\b(?:{_SELF}|I was|I(?:['\u2019]ve| have) been)\b[^.!?\n]{{0,60}}{_BY}",
    # As an AI model trained by OpenAI
    rf"\bas (?:an?|the) {_SPEAKER}[\s,]+(?:(?:that|which|I) was )?{_BY}",
    # my creators at Anthropic
    rf"\bmy (?:creators?|developers?|makers?)[\s,]+(?:(?:at|is|are|from) )?(?:{_MAKERS})\b",
    # OpenAI created me
    rf"\b(?:{_MAKERS}) (?:has )?{_MADE} me\b",
    # 我是由阿里云开发的
    rf"我[^。\n]{{0,20}}由(?:{_MAKERS})[^。\n]{{0,12}}(?:开发|训练|研发|推出|创建)",
)
"""Patterns of a speaker that names its maker, whatever the names of the models here."""
_PART = 1_000
"""The characters in which one search looks for the start of a match. Long searches would block all other threads."""
_SPAN = 400
"""The characters by which a match may run over the end of its part; also the longest answer that is only a name."""
_NOTHING = "(?!)"
"""A pattern that never matches."""


class _Patterns(NamedTuple):
    """The patterns of answers that reveal one of some models."""

    speaker: re.Pattern[str]
    """Finds a speaker that names itself."""
    bare_name: re.Pattern[str]
    """Matches an answer that is only a model's name."""


def names_itself(text: str, models: Sequence[str]) -> bool:
    """Returns whether an answer reveals its model; `models` are the names of the models here.

    An answer that is only such a name counts too, unless the name has only letters or none: it may then be an
    ordinary word ("Otter") or a number.
    """
    line = " ".join(text.split())
    names = tuple(models)
    if not _mentions(line.lower(), names):
        return False
    patterns = _CACHE.get(names, lambda: _patterns(names))
    if len(line) <= _SPAN and patterns.bare_name.fullmatch(line):
        return True
    for start in range(0, len(line), _PART):
        end = start + _PART
        match = patterns.speaker.search(line, start, end + _SPAN)
        if match and match.start() < end:  # the next search sees the whole of a later match
            return True
    return False


def _mentions(text: str, names: Sequence[str]) -> bool:
    """Returns whether a text in lower case contains a part of any name; without one it cannot reveal a model."""
    return any(stem in text for stem in _STEMS) or any(name.lower() in text for name in names)


_CACHE: Cache[_Patterns] = Cache(8)


def _patterns(models: tuple[str, ...]) -> _Patterns:
    names = "|".join([*(re.escape(name) for name in models if len(name) > 2), _MODELS])
    distinctive_names = [
        name for name in models if not name.isalpha() and any(map(str.isalpha, name))
    ]
    bare_names = "|".join(map(re.escape, distinctive_names)) or _NOTHING
    patterns = (
        *_MAKER_PATTERNS,
        # I am actually called "LLaVA"
        rf"{_I_AM}{_NEAR}(?:{names})(?![a-z0-9_])",
        # as a Google-trained language model
        rf"\b(?:as|{_SELF}) (?:an?|the) (?:{_MAKERS}|{names})(?:['\u2019]s)?(?:[- ]{_MADE})?[ -]{_SPEAKER}",
        # As GPT-4, I
        rf"\bas (?:{names}), I\b",
    )
    any_pattern = "|".join(f"(?:{pattern})" for pattern in patterns)
    return _Patterns(
        speaker=re.compile(any_pattern, re.IGNORECASE),
        bare_name=re.compile(rf"\W*(?:{bare_names})\W*", re.IGNORECASE),
    )
