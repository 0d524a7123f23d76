"""Failures: predictions that are no answer of a model, because its server failed or its reasoning never ended.

An answer that speaks of an error is an answer; one whose whole text is a client's or a server's error is none.
"""

import re

from scoring.reasoning import MARKED, answer_of

SERVER = "an error of the server"
NOTHING = "nothing"
ENDLESS = "reasoning without an end"

MOST = 2_000
"""Characters of an error that is no traceback at most."""

_OPEN = r"[\s\"'`*\[({<#~!-]*+"
_CLOSE = r"[\s\"'`*\])}>.!~]*+"
_CODE = r"(?:40[0-9]|413|422|429|5[0-9][0-9])"


def _one_of(phrases: str) -> str:
    """A pattern of phrases, which are patterns themselves, one a line."""
    return "(?:" + "|".join(phrase.strip() for phrase in phrases.strip().splitlines()) + ")"


_ERROR_NAME = _one_of(
    r"""
    (?:\w{1,40}\.){0,6}\w{0,40}(?:error|exception|timeout)
    (?:an? )?(?:api|request|unexpected|inference|generation|server|runtime) (?:error|exception)(?: occurred)?
    (?:an )?(?:error|exception)(?: (?:occurred|code|calling the api|while \w{1,20} the (?:api|model|request)))?
    """
)
_KIND = _one_of(
    rf"""
    (?:http )?(?:status )?(?:code )?:?\s?\(?{_CODE}\b
    (?:api |the )?rate[- ]?limit
    too many requests
    quota|insufficient[ _]quota|you exceeded your
    (?:the )?(?:api |server |request |connection |read |model )?(?:request |operation )?time[d]?[- ]?out
    httpconnectionpool|http(?:s)? request
    connection (?:error|aborted|refused|reset|failed|timed)
    (?:the )?(?:server|service|model|engine) (?:is|was|had|has) [^\n]{{0,60}}
    (?:temporarily )?overloaded|(?:service )?(?:temporarily )?unavailable
    bad gateway|gateway time-?out|internal server error
    unauthorized|authentication|permission denied
    (?:invalid|incorrect) api key|api (?:error|key|call|request|connection)
    failed to (?:connect|get|obtain|fetch|generate|call|parse the response|process the request)
    (?:cuda |gpu )?out of memory|cuda error|oom\b
    max(?:imum)? retries
    content[- ]?(?:filter|policy)
    (?:maximum )?context length|this model's maximum
    no response|empty response
    server disconnected|remote end closed|httpsconnectionpool
    """
)
_CLIENT = (
    r"(?:openai|httpx|httpcore|requests|urllib3|aiohttp|anthropic|torch|botocore|litellm|vllm)"
)
_ERROR = re.compile(
    _OPEN
    + _one_of(
        rf"""
        {_ERROR_NAME}[*\])]*+\s*+(?:[:：-]|\()\s*+[\"'\[(]*+{_KIND}
        (?:error|exception|failed)\]\s*+{_KIND}
        {_CLIENT}(?:\.\w{{1,40}}){{0,5}}(?:error|exception|timeout|limit)\b
        failed to obtain answer\b
        cuda out of memory\b|cuda error:
        torch\.(?:cuda\.)?outofmemoryerror
        traceback \(most recent call last\)
        (?:error code|status code|http error|http status|http status code)[ :/]{{1,3}}{_CODE}\b
        (?:http[ /]|error[\]:]?\s)?429:? too many requests
        (?:http[ /]|error[\]:]?\s)?50[0234]:? (?:service unavailable|bad gateway|gateway time|internal server error)
        api (?:request|call) failed\b
        google\.(?:api_core|genai)[\w.]{{0,60}}:
        \{{?[\s\"']{{0,9}}error[\"']\s?:
        (?:!doctype )?html\b[^>]{{0,40}}>.{{0,200}}(?:error|bad gateway|unavailable|too many requests)
        httpsconnectionpool\(|max retries exceeded with url
        this model's maximum context length is
        incorrect api key provided|you exceeded your current quota
        rate limit (?:reached|exceeded) for
        (?:请求|接口|调用|api)(?:调用|请求)?(?:失败|超时|错误|异常)
        服务器(?:内部)?(?:错误|异常|繁忙)
        """
    ),
    re.IGNORECASE | re.DOTALL,
)
"""The start of a text that is an error."""
_WHOLE = re.compile(
    _OPEN
    + _one_of(
        r"""
        request timed out\.
        connection error\.
        (?:api )?rate limit (?:exceeded|reached)
        internal server error\.
        too many requests
        (?:the )?(?:server|service|model|engine) is (?:currently |temporarily )?overloaded[^\n]{0,80}
        (?:the )?(?:server|service|model|engine) is (?:currently |temporarily )unavailable[^\n]{0,80}
        (?:api|request|inference|generation)[ _](?:error|failed|failure|timeout)
        error: (?:request )?failed
        """
    )
    + _CLOSE,
    re.IGNORECASE,
)
"""A short sentence that clients write into the place of an answer."""
_ANSWERS = re.compile(
    r"\banswer(?:\s?:|\s+is\b)|\boption \(?[a-z]\b|\\boxed|<answer>|答案"
    r"|\bthe (?:image|picture|photo|screen|sign|message)\b",
    re.IGNORECASE,
)
"""What an answer says that begins like an error."""


_MAY_FAIL = re.compile(
    rf"{MARKED.pattern}|analysis|thought|error|exception|fail|timed?.?out|cuda|memory|http|traceback|limit|quota"
    r"|too many|overload|unavail|incorrect api|google|context length|openai|requests|urllib3"
    r"|anthropic|torch|botocore|litellm|vllm|服务器|请求|接口|调用",
    re.IGNORECASE,
)
"""What every failure has that is not blank: most answers need no closer look."""


def failure(text: str) -> str | None:
    """A short name of why the text is no answer of a model; None for an answer.

    Whoever knows options or references asks first whether one of them says the same: a screen may show an error.
    """
    if text and not text.isspace() and not _MAY_FAIL.search(text):
        return None
    answer = answer_of(text)
    if answer.torn:
        return ENDLESS
    if not answer.text:
        return NOTHING
    return SERVER if is_error(answer.text) else None


def is_error(text: str) -> bool:
    """Whether an answer without reasoning is all an error of a server or a client."""
    start = text[:MOST]
    if not (_WHOLE.fullmatch(start) or _ERROR.match(start)):
        return False
    if start.lstrip().lower().startswith("traceback"):
        return True
    return len(text) <= MOST and not _ANSWERS.search(start)
