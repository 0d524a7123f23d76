"""Failures: predictions that are no answer of a model, because its server failed or its reasoning never ended.

An answer that speaks of an error is an answer; one whose whole text is a client's or a server's error is none. A text
is an error in two cases: it begins with a known sentence of a server, or it is short and has nothing but an API's
words, one of which says that something failed.
"""

import re

from arena.reasoning import Answer

SERVER = "a server error"
NOTHING = "nothing"
ENDLESS = "reasoning without an end"
"""Reasons why a text is no answer, as people read them."""

LONGEST_ERROR = 2_000
"""Most characters of an error that is no traceback."""
_LONGEST_MESSAGE = 400
"""Most characters of an error in an API's words alone."""

_MARKS_BEFORE = r"[\s\"'`*\[({<#~!-]*+"
"""Marks and blanks before a text's first word."""
_HTTP_CODE = r"(?:40[0-35-9]|413|422|429|5[0-9][0-9])"
"""HTTP's error codes except 404, which the picture of a missing page may show."""


def _one_of(phrases: str) -> str:
    """Pattern of phrases, which are patterns themselves, one a line."""
    return "(?:" + "|".join(phrase.strip() for phrase in phrases.strip().splitlines()) + ")"


_ERROR_NAME = _one_of(
    r"""
    (?:\w{1,40}\.){0,6}\w{0,40}(?:error|exception|timeout)
    (?:an? )?(?:api|request|unexpected|inference|generation|server|runtime) (?:error|exception)(?: occurred)?
    (?:an )?(?:error|exception)(?: (?:occurred|code|calling the api|while \w{1,20} the (?:api|model|request)))?
    """
)
"""An error's name before its colon, as in `openai.APIError: rate limit reached`."""
_ERROR_KIND = _one_of(
    rf"""
    (?:http )?(?:status )?(?:code )?:?\s?\(?{_HTTP_CODE}\)?\s?(?:[-:{{(]|\Z)
    (?:api |the )?rate[- ]?limit (?:reached|exceeded)
    (?:you )?exceeded your (?:current )?quota|insufficient[ _](?:quota|balance)
    httpconnectionpool|httpsconnectionpool
    \(?'?connection aborted
    api (?:error|key|call|request|connection)
    failed to (?:\w{{1,20}} ){{1,4}}(?:api|request|response|server|completion|endpoint)\b
    (?:cuda |gpu )out of memory|cuda error
    max(?:imum)? retries
    (?:the )?(?:operation |request )?(?:was )?(?:timed? ?out)\W*\Z
    content[- ]?(?:filter|policy)
    maximum context length|this model's maximum
    server disconnected|remote end closed
    """
)
"""An error's kind behind the colon, such as `429` or `rate limit reached`."""
_CLIENT = (
    r"(?:openai|httpx|httpcore|requests|urllib3|aiohttp|anthropic|torch|botocore|litellm|vllm)"
)
_ERROR = re.compile(
    _MARKS_BEFORE
    + _one_of(
        rf"""
        {_ERROR_NAME}[*\])]*+\s*+(?:[:：-]|\()\s*+[\"'\[(]*+{_ERROR_KIND}
        (?:error|exception|failed)\]\s*+{_ERROR_KIND}
        {_CLIENT}(?:\.\w{{1,40}}){{0,5}}(?:error|exception|timeout|limit)\b
        failed to obtain answer\b
        cuda out of memory\b|cuda error:
        torch\.(?:cuda\.)?outofmemoryerror
        traceback \(most recent call last\)
        google\.(?:api_core|genai)[\w.]{{0,60}}:
        (?:type[\"']\s?:\s?[\"']error[\"'],\s?[\"'])?error[\"']\s?:
        (?:!?doctype )?html\b[^>]{{0,40}}>.{{0,200}}(?:error|bad gateway|unavailable|time-?out|too many requests)
        httpsconnectionpool\(|max retries exceeded with url
        this model's maximum context length is
        incorrect api key provided|you exceeded your current quota
        (?:rate limit (?:reached|exceeded)|quota exceeded) for
        the response was filtered due to the prompt triggering
        (?:invalid operation|valueerror): the `response\.\w{{1,10}}` quick accessor
        that model is currently overloaded with other requests
        upstream connect error or disconnect/reset before headers
        """
    ),
    re.IGNORECASE | re.DOTALL,
)
"""Start of a text that is an error: names of Python's errors, and sentences of vLLM, OpenAI, Azure, Google, Envoy
and urllib3; `Failed to obtain answer via API` is the public toolkit's (VLMEvalKit, vlmeval/api/base.py).

The first three lines are for errors such as `**APIError**: 429 - slow down`, `[ERROR] rate limit reached` and
`openai.RateLimitError`.
"""

_FAILING_WORDS = _one_of(
    r"""
    error|exception|failed|failure|fails?|exceed(?:ed|s)|exhausted|timed[- ]?out|time-?out|overloaded|unavailable
    (?:(?<=limit )|(?<=retries ))reached|blocked|filter(?:ed)?|refused|reset|aborted|disconnected|forbidden|unauthorized
    invalid|unable|insufficient|oom|no healthy|(?<=finish reason: )(?:safety|recitation)|prohibited|violation
    throttl(?:ed|ing)|bad (?:gateway|request)|went wrong|too many requests|not (?:found|valid)
    empty(?= (?:response|output|completion)\b)|no(?= (?:response|output|completion) (?:from|was|received)\b)
    payment required|out of memory|econn(?:refused|reset)|could not(?= (?:get|generate|obtain|parse|connect|reach)\b)
    """
)
"""Words of failing. `No response` alone isn't one: it may answer a question about the people in a picture."""
_WORDS_OF_API = _one_of(
    rf"""
    api|requests?|server|endpoint|connection|responses?|retr(?:y|ies)|rate limit(?:s|ed)?|quota|finish reason
    openai|azure|gemini|google|anthropic|claude|gpt|vllm|llm|cuda|gpu|inference|generati(?:on|ng)|generate|completions?
    (?:service|model|engine)(?= (?:is |was )?(?:currently |temporarily )?(?:overloaded|unavailable|busy|not found)\b)
    (?:read|connect) time-?out|(?:time-?out|overloaded|out of memory|throttling)(?= (?:error|exception))
    resource(?= exhausted)|content(?= (?:filter|policy|blocked))|(?<=prohibited )content|data inspection
    safety(?= (?:filters?|settings|reasons)\b)
    econn(?:refused|reset)|context length|choices|upstream|backend|{_HTTP_CODE}
    """
)
"""Words of an API, some only beside others: `service`, `model` and `engine` may also be what a picture shows."""
_OTHER_WORDS = _one_of(
    r"""
    [0-9]{1,6}(?:s|ms)?|an?|the|there|this|that|it|i|we|you|your|our|some|something|other|all|any|is|was|were|be|been|has
    had|have|may|can|cannot|could|couldn|not|no|t|to|from|with|by|of|for|in|on|at|out|up|over|after|before|while|when|within
    about|due|or|and|but|if|than|more|many|large|high|few|please|sorry|again|later|try|trying|tried|wait|check|contact|pass
    retry|retrying|attempts?|attempting|times?|seconds?|minutes?|moment|occurr?ed|processing|process|parse|parsing
    calls?|called|calling|gett?ing|get|got|obtain|fetch|connect|reach|read|receive|received|returned|raised|respond|reset
    internal|unknown|unexpected|current|currently|temporarily|rate|limits?|limited|max|maximum|insufficient|code|status|https?
    url|type|value|key|model|message|service|system|runtime|client|network|peer|os|errno|argument|deadline|data|input|image
    inappropriate|stop|stream|asyncio|exceptions|candidate|contain|inspection|content|policy|management|settings
    finish|reasons?|plan|billing|details|support|problem
    persists?|tokens?|too|length|context|ssl|n|capacity|demand|load|busy|valid|gateway|answers?|output|json|memory
    """
)
"""Other words of such errors. Alone they say neither that something failed nor that an API is meant."""
_WORD_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_")
"""Boundary between the words of a name, as in RateLimitError and rate_limit_exceeded."""
_ADDRESSES_AND_MODELS = re.compile(
    r"https?://[^\s'\"]{1,300}+|\b[a-z]{1,20}-[a-z0-9.-]{0,40}[0-9][a-z0-9.-]{0,40}+", re.I
)
"""Addresses, and models as in gpt-4o."""
_NOT_BEHIND_LETTER = r"(?<![^\W_])"
_NOT_BEFORE_LETTER = r"(?![^\W_])"
"""No letter or digit before and after this place; an underscore may be there."""
_NOTHING_BUT_API_WORDS = re.compile(
    rf"(?:{_NOT_BEHIND_LETTER}(?:{_FAILING_WORDS}|{_WORDS_OF_API}|{_OTHER_WORDS}){_NOT_BEFORE_LETTER}|\W)*+",
    re.IGNORECASE,
)
"""Text of whole words that an API's error may have, and marks."""
_FAILING_WORD = re.compile(
    f"{_NOT_BEHIND_LETTER}{_FAILING_WORDS}{_NOT_BEFORE_LETTER}", re.IGNORECASE
)
_API_WORD = re.compile(f"{_NOT_BEHIND_LETTER}{_WORDS_OF_API}{_NOT_BEFORE_LETTER}", re.IGNORECASE)
_PAYLOAD = re.compile(
    r"[\s:-]{0,4}\{\s?[\"'](?:error|message|code|type|detail)[\"']\s?:", re.IGNORECASE
)
"""Object that a server sent, behind the words of its client."""
_CHINESE_ERROR = re.compile(
    r"(?=.{0,40}(?:失败|超时|错误|异常|繁忙|为空))(?=.{0,40}(?:API|请求|接口|调用|服务|模型|网络|连接|生成|推理))"
    r"(?:失败|超时|错误|异常|繁忙|为空|API|请求|接口|调用|服务器?|模型|网络|连接|生成|推理|返回|内部|响应|结果|系统|抱歉"
    r"|稍后|重试|再试|请|了|[0-9]{1,6}|\W)++",
    re.IGNORECASE,
)
"""Text of nothing but these words and marks, with a word of failing and one of an API near its start."""
_PLACEHOLDER = re.compile(
    r"(?:\[+|<+|\$+|\#{2,}|\{+|_{2,})\s?+(?:(?:api|model|request|response|inference|generation)[ _:-]{1,2}){0,2}"
    r"(?:error|fail(?:ed|ure)?|time-?out|timed out|blocked|filtered|content[ _]filter|oom"
    r"|(?:no|empty)[ _](?:response|output|completion))\s?+(?:\]+|>+|\$+|\#{2,}|\}+|_{2,})",
    re.IGNORECASE,
)
"""Placeholder of a program for an answer, between marks that no answer has."""
_PYTHON_RESPONSE = re.compile(r"<?response \[[45][0-9][0-9]\]>?", re.IGNORECASE)
"""Response of Python's requests, written as text."""
_NOTHING = re.compile(r"(?:nan|<na>|null|\[\s?\]|\{\s?\}|\"\"|'')", re.IGNORECASE)
"""Words of JSON and pandas for no text."""
_WORDS_OF_ANSWER = re.compile(
    r"\banswer[\"']?(?:\s?:|\s+is\b)|\boption \(?[a-z]\b|\\boxed|<answer>|答案"
    r"|\bthe (?:image|picture|photo|screen|sign|message)\b",
    re.IGNORECASE,
)
"""Words of an answer that begins like an error."""


def failure(answer: Answer) -> str | None:
    """Short name of the reason why a text is no answer of a model; None for an answer.

    Callers keep a text that equals an option or a reference as an answer: the picture may show an error message.
    """
    if answer.is_endless:
        return ENDLESS
    if is_nothing(answer.text):
        return NOTHING
    return SERVER if is_error(answer.text) else None


def is_nothing(text: str) -> bool:
    """Whether an answer without reasoning is empty, or a program's word for empty, such as `nan` or `[]`."""
    return not text or _NOTHING.fullmatch(text) is not None


def is_error(text: str) -> bool:
    """Whether an answer without reasoning is all an error of a server or a client."""
    if text.lstrip().lower().startswith("traceback"):
        return bool(_ERROR.match(text[:LONGEST_ERROR]))
    if len(text) > LONGEST_ERROR or _WORDS_OF_ANSWER.search(text):
        return False
    return bool(_ERROR.match(text)) or _is_error_message(text.strip())


def _is_error_message(text: str) -> bool:
    """Whether a text is a program's placeholder for an answer, or has only an API's words about a failure."""
    payload = _PAYLOAD.search(text)
    message = text[: payload.start()] if payload else text
    if len(message) > _LONGEST_MESSAGE:
        return False
    if (
        _PLACEHOLDER.fullmatch(message)
        or _PYTHON_RESPONSE.fullmatch(message)
        or _CHINESE_ERROR.fullmatch(message)
    ):
        return True
    words = _WORD_BOUNDARY.sub(" ", _ADDRESSES_AND_MODELS.sub(" ", message))
    if not _NOTHING_BUT_API_WORDS.fullmatch(words):
        return False
    if payload:
        # Its key may be the failing word, as in {"error": ...}. A server's object needs no word of an API.
        return bool(_FAILING_WORD.search(words + payload[0]))
    return bool(_FAILING_WORD.search(words) and _API_WORD.search(words))
