"""Control tokens in a person's text: what would end a turn, begin another or stand for an image becomes plain text."""

import re

_JOINER = "\u2060"
"""Word joiner: invisible, and part of no tokenizer's control token."""
_CONTROL = re.compile(
    r"<\|?/?[A-Za-z_][\w ./:-]{0,40}\|>|<\|[^<>|\n]{1,40}\|?>"  # <|im_end|>, <|user|>, <|eot_id|>
    r"|<｜[^<>\n]{1,40}｜>"  # DeepSeek
    r"|</?(?:s|bos|eos|pad|unk|image|img|video|audio|image_soft_token|fake_token_around_image|end_of_utterance"
    r"|start_of_turn|end_of_turn|start_of_image|end_of_image|IMG_CONTEXT|image_placeholder|global-img|row_\d+_col_\d+)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|IMG|IMG_BREAK|IMG_END)\]|<</?SYS>>",
    re.IGNORECASE,
)


def neutralised(text: str) -> str:
    """The text with each control token broken after its first character, for a server whose tokenizer we cannot see.

    It reads the same; a local model's own processor does this by its own list of tokens.
    """
    return _CONTROL.sub(lambda match: match[0][0] + _JOINER + match[0][1:], text)
