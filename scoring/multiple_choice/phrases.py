"""Phrase patterns in answers: statements, denials, refusals, and instructions to the answer's reader.

Phrases are separated by commas, single words by blanks. They match as whole words, in any case. English and Chinese.
"""

import re
from collections.abc import Iterable
from string import ascii_lowercase
from typing import NamedTuple

from scoring.multiple_choice.abroad import (
    CALLED_RIGHT,
    STATED,
    STATED_BY,
    STATED_PARTS,
    STATED_WORDS,
)

IN_A_WORD = r"(?:(?-i:[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])|['’&+#])"
"""A character that makes an adjacent letter part of something longer; Chinese, Japanese and Korean characters do not.

The range of those is matched with case (`-i`), as they have none: `re` would look up the case of each of them, which
takes a third of a second for all patterns.
"""
CJK = r"\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
"""Chinese, Japanese and Korean characters, as ranges of a character class."""
HAN = re.compile(r"[\u4e00-\u9fff]")
_WORDS = re.compile(r"[a-z]+")
_BLANKS = str.maketrans(dict.fromkeys({*map(chr, range(128))} - {*ascii_lowercase}, " "))


def words_of(lower: str) -> frozenset[str]:
    """English words of a lower-case text, "外" for any character outside ASCII, and "汉" for any Chinese one.

    They decide which patterns are worth trying.
    """
    if lower.isascii():
        return frozenset(lower.translate(_BLANKS).split())
    words = [*_WORDS.findall(lower), "外"]
    if HAN.search(lower):
        words.append("汉")
    return frozenset(words)


class PatternWithStarts(NamedTuple):
    """A pattern with the words that its matches begin with, for texts without letters other than A to Z.

    Trying the pattern only at these words takes a tenth of the time of a search.
    """

    pattern: re.Pattern[str]
    words: frozenset[str]
    parts: frozenset[str]
    """Beginnings that may also occur inside a word."""


def places_of(lower: str, texts: Iterable[str]) -> list[int]:
    """Every place of one of these texts in a lower-case text, in order, also inside a longer word."""
    places = []
    for text in texts:
        place = lower.find(text)
        while place >= 0:
            places.append(place)
            place = lower.find(text, place + len(text))
    return sorted(places)


def one_of(phrases: str) -> str:
    """A pattern of comma-separated phrases, which may be patterns themselves.

    A lookahead at the first letter makes it several times faster.
    """
    alternatives = [phrase.strip() for phrase in phrases.split(",")]
    firsts = "".join(sorted({phrase[0] for phrase in alternatives}))
    lookahead = f"(?=[{firsts}])" if firsts.isalpha() else ""
    return f"(?:{lookahead}(?:{'|'.join(alternatives)}))"


def words(phrases: str) -> frozenset[str]:
    """The words of a list that are separated by blanks, unlike the phrases of `one_of`."""
    return frozenset(phrases.split())


# Statements: text that introduces an option, or calls it right.
_SUBJECT = one_of(
    "answer, ans, option, choice, selection, solution, conclusion, pick, guess, response, "
    r"letter(?!\s+(?:on|in|at|written|shown|printed|above|below|under))"
)
_IS = one_of(
    """is, are, was, would be, will be, should be, would have to be, must be, could be, might be, may be, has to be,
    seems to be,
    appears to be, becomes, remains"""
)
_SURE = one_of(
    """clearly, definitely, probably, most likely, likely, obviously, certainly, simply, just, actually, indeed,
    therefore, thus, hence, then, surely, undoubtedly, of course, still, also, indicated, labell?ed, as, represented,
    given, by, that, the, it'?s, it is, it must be, option, choice, letter, following, correct, one"""
)
_SURELY = rf"(?:\s*{_SURE}\b|\s*[:=→⇒]|\s*-+>|,(?=\s+(?:therefore|then|of course))){{0,20}}"
_NO_VERB = one_of(
    r"not\b, isn, aren, never, neither, (?:is|are|was|would|will|should|must|could|might|may)\b"
)
_GAP = rf"(?:\s+(?!{_NO_VERB})[\w'’/-]+){{0,9}}?"
_CHOOSE = one_of(
    "choose, chose, pick, picked, select, selected, opt for, vote for, settle on, go with, going with, went with, "
    "go for, going for, went for, answer with, say"
)
_SO = one_of("therefore, thus, hence, so, correct, finally, conclusion")
_FRAMES = re.compile(
    rf"\b(?:{_SUBJECT}s?\b(?:\s*\([^)\n]{{0,30}}\))?"
    rf"(?:{_GAP}\s+{_IS}\b|\s*[.:=]|\s*-+>|\s*[→⇒]|\s+[-–—]\s|\s*\n)\s*{_SURELY}"
    rf"|{_CHOOSE}\b{_SURELY}"
    rf"|(?:it|this|that|which)(?:'s|’s|\s+{_IS}){_SURELY}(?=[\s\"'“(\[*]*+(?:option\s+[\"'(\[*]*+)?(?-i:[A-Z])(?!\w))"
    rf"|{_SO}\b[,:]?\s+(?=[\"'(\[*]*(?-i:[A-Z])[\"')\]*]*[.!]?\s*$)"
    rf"|not\s(?!only\b|just\b|merely\b)[^.;!?\n]{{1,40}}?\bbut\s(?:rather\s|it\sis\s)?(?=[\s\"'“(\[*]*(?:option\s+[\"'(\[*]*+)?(?-i:[A-Z])(?!\w)))"
    rf"|(?P<abroad>{STATED})"
    r"|(?=[答正最选结選是])(?:(?:答案|正确选项|正确的选项|最佳选项|选项|结论|答)(?:应该|应当|应|就|可能|大概|肯定|确实|选择)*(?:是|为|选|選)?[:\s】\]]*(?:选项)?"
    r"|(?<![不挑可])(?<!不能)(?<!不要)(?<!不应)(?<!不该)(?<!不会)(?:选择|选擇|選擇|选|選)(?:的)?(?:是|为)?[:\s]*(?:选项)?"
    r"|(?<![不还可])是[:\s]*(?=[\"'(\[]*(?-i:[A-Z])(?![^\W\u3400-\u9fff])))",
    re.IGNORECASE | re.MULTILINE,
)
"""Text before the option in "the answer is B", "I'd go with B", "it is B", "so B.", "答案是B", "选B"."""
_FRAME_WORDS = words(
    """answer answers ans option options choice choices selection selections solution solutions
    conclusion conclusions letter letters pick picks guess guesses response responses choose chose picked
    select selected opt vote settle go going went say it this that which therefore thus hence so correct finally
    not"""
)
FRAMES = PatternWithStarts(_FRAMES, _FRAME_WORDS | STATED_BY, STATED_PARTS)
FRAME_WORDS = _FRAME_WORDS | STATED_WORDS | {"汉", "外"}
"""Words as `words_of` gives them; a text without any of them has no frame."""
_CALLED = one_of(
    "is, was, seems, appears, looks, would be, must be, should be, has to be, to be, being"
)
_MOST = one_of(
    """the, a, an, my, clearly, definitely, most, likely, probably, only, indeed, more, obviously, therefore, thus,
    best, final, one, to be"""
)
_GOOD = one_of(
    "correct, right, answer, best, accurate, true, appropriate, suitable, likely, choice, option, match, description, "
    "one"
)
RIGHT = re.compile(
    rf"(?:\s++{_CALLED}){{1,5}}(?:\s++{_MOST}){{0,9}}\s+{_GOOD}\b(?!\s+(?:if|only if|when))"
    r"|\s++(?:fits|matches|suits|describes)\s(?:it\s|this\s|the\s\w{1,20}\s)?best\b"
    r"|\s++best\s(?:fits|matches|suits|describes)\b|\s++is\sthe\sbest\s(?:fit|match)\b"
    r"|\s*+(?:选项\s*+)?(?:[是为]\s*+)?(?:正确|对的|正解|符合|最合适|最佳)"
    rf"|{CALLED_RIGHT}",
    re.IGNORECASE,
)
"""Text after the option in "B is the best answer"."""
_NUMBERED = """first 1st 一, second 2nd 二, third 3rd 三, fourth 4th 四, fifth 5th 五, sixth 6th 六, seventh 7th 七,
    eighth 8th 八, ninth 9th 九"""
ORDINALS = {
    word: place for place, names in enumerate(_NUMBERED.split(",")) for word in names.split()
}
"""Place of an option, from 0, by the word for it in "the second option" or 第二个."""
ORDINAL = re.compile(
    rf"\s*(?:the\s+)?\b({'|'.join(word for word in ORDINALS if word.isascii())}|last)\s+"
    r"(?:option|choice|answer|alternative|one)\b(?!\s+(?:from|in|is|on|of the (?:row|pic|image)))"
    r"|\s*第([一二三四五六七八九])(?:个|项)?(?:选项)?",
    re.IGNORECASE,
)

# Denials and suppositions: text that cancels a statement.
TAKEN_BACK = re.compile(
    r"(?:[\s\"')\]*]|_(?!ly\s))*+(?:(?:is|was|would be|be|looks|seems)\s+)?(?:\w+ly\s+)?"
    + one_of(
        r"not\b, n't, wrong, incorrect, false, ruled out, eliminated, excluded, out\b, unlikely, impossible, inaccurate"
    )
    + r"|(?:选项)?(?:是)?(?:不对|错|不正确|不是|不符)|\((?:错误?|不对|wrong|incorrect|false)\)"
    r"|(?:가|이|은|는)?\s?(?:아니|아닙|아닌|틀[리렸])"
    r"|(?:では|じゃ|は)(?:な[いく]|あり|違|誤|間違|正しく)|でない|で(?:は)?ありません"
    r"|\s?(?:değil|nicht|no es|non è|não é|n'est pas|не|ist falsch|est fausse|est faux|es incorrecta|è errata)\b",
    re.IGNORECASE,
)
"""Text after an option that is wrong."""
DENIED = re.compile(
    r"\b"
    + one_of(
        r"""not, never, no one, nobody, neither, nor, cannot, hardly, least likely, least probable, worst, disagree,
        if, unless, whether, suppos\w*, assum\w*, doubt, wrong, incorrect, false, instead of, rather than, except,
        initially, originally, previous(?:ly)?, earlier, at first, first thought,
        might (?:think|say|assume), could (?:think|say),
        would (?:think|say|be tempted), may (?:think|say), some(?:one)? (?:people )?(?:think|say), tempt\w*,
        which, why, what, is the, unlike, my second, (?:people|others) (?:would|might|may|could)"""
    )
    + r"\b|n't\b|不|非|若|如果|假如",
    re.IGNORECASE,
)
"""Text before a statement that is denied, supposed or later retracted."""
NOT = re.compile(
    r"\b"
    + one_of(
        "not, never, no, except, neither, nor, no longer, rather than, instead of, unlike, wrong, incorrect, false"
    )
    + r"\b|\b(?:cannot|if|unless|or)\b|n't\b|不|非|没|或",
    re.IGNORECASE,
)
"""Words of a sentence in which a named option may be denied or supposed."""
PLAIN_NOT = re.compile(
    r"\b"
    + one_of("not, never, except, neither, nor, no longer, rather than, instead of, unlike")
    + r"\b|n't\b",
    re.IGNORECASE,
)
"""Words that deny a letter named later in the same clause; words that only suppose it are left out."""
_UNSURE = re.compile(
    r"\b"
    + one_of(
        r"""not, never, no, nor, neither, none, nothing, without, cannot, unlike, except, instead, rather, excluding,
        excluded?s?, absent, lacks?, lacking, wrong, incorrect, false, unlikely, rul(?:e|ed|ing) out, eliminat\w*,
        discard\w*, hardly, barely, were it, had it, if,
        whether, unless, similar, resembl\w*, different, differs?, compared?, versus,
        vs, than, but, or, either, although, though, however, while, whereas, confus\w*, mistak\w*, initially,
        (?:at )?first, looks? like, reminiscent, could have, would have, opposed, apart from, besides"""
    )
    + r"\b|n't\b|不|没|非|无|未|除|别|或|还是|如果|虽|但|而是|像|似",
    re.IGNORECASE,
)
UNSURE = PatternWithStarts(
    _UNSURE,
    words(
        """not never no nor neither none nothing without cannot unlike except instead rather excluding exclude excluded
        excludes excludeds absent lack lacks lacking wrong incorrect false unlikely hardly barely were had if whether
        unless similar different differ differs compare compared versus vs than but or either although though however
        while whereas initially at first look looks reminiscent could would opposed apart besides"""
    ),
    frozenset(("rul", "eliminat", "discard", "resembl", "confus", "mistak", "n't")),
)
"""Words that keep a sentence from affirming the option that it names."""
CLAUSE_START = re.compile(
    r"[.!?\n,;:。;]|\b(?:but|however|so|therefore|thus|hence|and|because)\b|但|所以|因此", re.I
)
SECOND_THOUGHTS = re.compile(
    r"\b"
    + one_of(
        """wait, actually, correction, just kidding, joking, my mistake, make that,
        on second thought, on reflection, scratch that, i mean, rather, instead"""
    )
    + r"\b|\b(?:changed? my mind|sorry|hmm+|oops|no(?=,))\b|不对|更正",
    re.IGNORECASE,
)
CORRECTED = re.compile(
    rf"(?:[.!?;\n–—-]|\bor)\s?(?:(?:oh|but|and|well|uh|um|or)\b,?\s)?(?:{SECOND_THOUGHTS.pattern})"
    r"|[.!?;,\n–—-]\s?(?:wait\b|oops|no\b(?=[.!\s]*\Z)|i['’]?m (?:just )?(?:kidding|joking))"
    r"|[.!?]\s?or\b|\b(?:that|this|it|which)(?:['’]s| is|n['’]t| is)? not (?:an option|listed|among)",
    re.IGNORECASE,
)
"""A later clause that starts with second thoughts."""
CALLED_FALSE = re.compile(
    r"\b(?:that|this|it)(?:['’]s| is| was) (?:wrong|incorrect|false|not (?:right|correct|true))\b"
    r"|\bignore (?:that|this)\b|\bit (?:isn|wasn)['’]t[.!\s]*\Z",
    re.IGNORECASE,
)
"""A retraction of the sentence before it."""

# Instructions to the reader of the answer, which an answer never needs.
_READER = one_of(
    "you, extractor, grader, judge, evaluator, scorer, parser, matcher, chatgpt, gpt, assistant, system, ai"
)
_MUST = one_of("must, should, have to, need to, shall, are to, will, please")
_PUT_OUT = one_of(
    """output, extract, choose, select, mark, grade, score, return, respond, reply, give, print, pick, treat, accept,
    count, answer, match"""
)
_THINGS = one_of(
    """options?, instructions?, questions?, previous, above, prompts?, rules?, choices?, context, everything, all,
    guidelines, examples?"""
)
_NEW_LINE = r"(?<!\s)[^\S\n]*+\n"
"""The first line break among blanks: a start from later ones would read all following blanks again."""
_ADDRESSES = re.compile(
    r"\b(?:your (?:final )?(?:output|mark|score|reply|decision|verdict|grade|extraction)\b"
    r"|your (?:final )?(?:answer|response|choice)\s*(?:is|:|=|must|should)"
    rf"|(?:ignore|disregard|forget|override|bypass|skip|overlook|never mind)\b.{{0,50}}\b{_THINGS}\b"
    rf"|{_READER}\b[^.\n]{{0,30}}\b{_MUST}\b[^.\n]{{0,40}}\b{_PUT_OUT}\b"
    r"|example\s*\d+\s*:|question\s*:(?:(?!\bquestion\s*:).){0,2000}\boptions?\s*:"
    rf"|(?:note|message|instruction|hint)s?\s+(?:to|for)\s+(?:the\s+)?{_READER}\b"
    rf"|for (?:the )?(?:grading|scoring|extraction|evaluation|{_READER})\b"
    rf"|(?:dear|hey|hi|hello|attention)\s+(?:the\s+)?{_READER}\b|extraction\b"
    r"|(?:count|treat|accept|consider|regard|mark|grade|score|match)\s+"
    r"(?:this|it|that|me|my (?:answer|response)|any\w*|everything)\b.{0,40}\b(?:as|correct|with|to)\b"
    r"|most similar (?:option|to (?:this|the|my) answer)|(?:new|updated) instructions?\b"
    r"|system (?:prompt|message|override)\b)"
    r"|<\|?(?:system|user|im_start)"
    r"|(?=[忽无不请只输你评提新])(?:忽略|无视|不要管|请输出|请直接输出|只输出|输出[:\s]*[\"'(\[]*[A-Z]"
    r"|你(?:的输出|的答案|应该|必须|需要)|评(?:分|判|审)(?:者|人|员)|提取器|新指令)",
    re.IGNORECASE | re.DOTALL,
)
ORDERS = re.compile(
    rf"(?:^|{_NEW_LINE}|[.!,]|\b(?:and|then|please|just|now|simply))\s*+"
    r"(?:output|print|return|extract|reply with|respond with|answer only|emit|write|give)\b\s*"
    r"(?:only\s+|the\s+|just\s+|letter\s+|option\s+|choice\s+|single\s+|character\s+|:\s*)*[\"'(\[*]*(?-i:[A-Z])\b"
    rf"|(?:^|{_NEW_LINE})\s*+(?:system|user|human|instruction)\s*:",
    re.IGNORECASE,
)
"""Text that orders an extractor, a judge or a chat to output something, or imitates the next part of its prompt."""
ORDER_WORDS = words(
    "output print return extract reply respond emit write give system user human instruction 外"
)
"""Words of these orders as `words_of` gives them. "answer only" is sought apart, since most texts contain "answer"."""
SPEAK_WORDS = words(
    """your ignore disregard forget override bypass skip overlook never you extractor grader judge evaluator scorer
    parser matcher chatgpt gpt assistant system ai output print return extract reply respond answer emit write give
    example question user im human instruction note message hint notes messages hints instructions for count treat
    accept consider regard mark grade score match most similar new updated dear hey hi hello attention extraction 汉"""
)
"""Words as `words_of` gives them; a text without any of them neither addresses its reader nor gives an order."""
ADDRESSES = PatternWithStarts(_ADDRESSES, SPEAK_WORDS, frozenset("<"))
"""Text that addresses an extractor, a judge or a chat."""

# Refusals: text that chooses none of the options.
_CANNOT = one_of("cannot, can't, can not, could not, couldn't, am unable to, am not able to")
REFUSALS = re.compile(
    r"(?:(?:i'?m|i am|we are|we're)?\s*(?:very |so |really )?sorry|(?:i )?apologi[sz]e|my apologies|unfortunately"
    rf"|抱歉|对不起|很抱歉)(?:\W+but)?(?:\W+i)?(?:\W+{_CANNOT})?[^.]{{0,120}}"
    rf"|(?:i|we) (?:{_CANNOT}|don'?t|do not|have no|am not sure|'m not sure|wouldn't|would not)\b[^.]{{0,120}}"
    r"|(?:can|could|would) you (?:please )?(?:provide|clarify|share|upload|give|specify)\b[^.]{0,160}"
    r"|please (?:provide|clarify|share)\b[^.]{0,160}"
    r"|(?:i'm|i am) (?:not sure|unsure|unable|uncertain|not able)\b[^.]{0,120}"
    r"|(?:the |an? )?(?:correct |right )?(?:answer|question|it|this|that|choice|option)?\s*(?:is |it )?"
    r"(?:cannot|can't|can not|could not|impossible to|not possible to|unable to) (?:be )?"
    + one_of(
        "determin, answer, identif, tell, say, know, infer, decid, see, view, process, assist, help, provid"
    )
    + r"\w*\b[^.]{0,100}|(?:the answer is )?"
    + one_of(
        """not sure, unsure, unknown, uncertain, unanswerable, undetermined, no idea, not enough information,
        insufficient information, unclear, (?:i )?(?:really )?(?:don'?t|do not) know, no answer, n/?a"""
    )
    + r"\b[^.]{0,60}|(?:the (?:correct )?answer is )?(?:none|neither|no one|not any)(?: of)?"
    r"(?: (?:the|these|those|them))?"
    r"(?: (?:above|options?|choices?|given|answers?|listed|provided|following|alternatives))*"
    r"(?: (?:is|are|seems?) (?:correct|right|true|suitable|applicable|appropriate|valid|match\w*))?"
    r"|(?:there is )?no (?:(?:correct|right|valid|suitable|matching) )?(?:answer|option|choice)s?"
    r"(?: (?:is|are|here|given|listed))*"
    r"|(?:我)?(?:无法|不能|没法|难以)(?:确定|判断|回答|识别|提供|得出|看到|辨认).{0,40}|(?:我)?(?:不知道|不确定|不清楚)"
    r"|(?:以上|这些|选项)?(?:都|均|全)?(?:不是|不对|不正确|没有)|没有(?:正确|合适)(?:的)?(?:答案|选项)"
    r"|以上(?:都|皆|均)(?:不是|不对|非|不正确)",
    re.IGNORECASE,
)
"""A complete sentence that refuses."""
STILL_ANSWERS = re.compile(
    r"\b"
    + one_of(
        """though, however, appears?, seems?, looks?, shows?, likely, probably, would be, guess, most, best, closest,
        possibly, maybe, perhaps, might, suggests?, based on"""
    )
    + r"\b|\bso\b(?! sorry)|\byes\b|\b(?<!sorry, )(?<!sorry )but\b|但|可能|应该",
    re.IGNORECASE,
)
"""Words that don't occur in a pure refusal."""
NONE_LIKE = re.compile(
    r"\b"
    + one_of(
        r"""none, neither, nothing, no (?=\w), not, nor, cannot, can't, unknown, unclear, unsure, uncertain,
        undetermined, impossible, unable, other, n/a, nobody, zero, nil, blank, empty, insufficient, unanswerable,
        absent, missing, unspecified, indeterminate, null, inconclusive"""
    )
    + r"\b|n't\b|不|没|无|未|否|其他",
    re.IGNORECASE,
)
"""Words of an option that a refusal could mean."""
FILLERS = words(
    """i i'm i'd i'll think believe guess say choose pick go with would will for it it's its is be the a my final answer
    option choice letter correct right best probably likely maybe perhaps definitely clearly certainly obviously surely
    sure so thus therefore hence of course yes ok okay well hmm um most simply just that's that this must should here
    and then"""
)
"""Words without a meaning beside a letter."""
COMMON = words(
    """yes no not none true false right one it this that can may will other both neither either all any i a an the on
    in up of is to or and same well like so most more less good there here correct wrong incorrect some many first
    second real fact sure image picture question answer option choice"""
)
"""Options that can occur in any sentence: they count as named only at the start of the answer."""
ABBREVIATED = words("yes no true false north south east west male female left right")
"""Options that are often written as their first letter."""
SYNONYMS: tuple[frozenset[str], ...] = tuple(
    frozenset(phrase.strip() for phrase in phrases.split(","))
    for phrases in (
        "no, nope, nah, non, nein, não, nao, nie, нет, いいえ, 아니요, 아니오, 否, 不, 不是, 不是的, 没有",
        "yes, yep, yeah, yup, sí, si, oui, ja, sim, tak, да, はい, 네, 예, 是, 是的, 有",
        "对, 对的",
        "错, 不对, 错的",
        "n/a, na, not applicable",
    )
)
"""Whole answers with the same meaning as an option."""
NOBODY = frozenset(
    (
        "nobody,no one,no-one,noone,none,none of them,none at all,neither,"
        "neither of them,not any,not any of them,zero,没有,没有人,一个也没有,一个都没有"
    ).split(",")
)
"""Whole answers and options that mean that there is none, as 0 does."""
NONE_OF_THE_OPTIONS = frozenset(
    f"{no} of {the}{options}"
    for no in ("none", "neither")
    for the in ("the ", "these ", "the given ", "the above ", "above ")
    for options in ("above", "options", "choices", "answers", "these")
) | {"none", "none of these", "none of the above options", "none of the above choices"}
ARTICLE = re.compile(r"\A(?:an?|the)\s")
INTRODUCED = re.compile(
    r"(?:(?:the\s)?(?:final\s|correct\s)?answer(?:\s?[:=]|\sis)|ans\s?[:.]|there\s(?:is|are|was|were))\s*+",
    re.IGNORECASE,
)
"""An introduction without a meaning before the answer."""
PLACE_ALONE = re.compile(
    r"(?:it'?s\s|it\sis\s|the\sanswer\sis\s)?(?:the\s)?(?:(?:option|choice|answer)\s?(?:number|no\.?|\#)?\s?(?P<number>\d{1,2})"
    r"|\#\s?(?P<hash>\d{1,2})|(?P<word>first|second|third|fourth|fifth|last)(?:\s(?:one|option|choice|answer))?"
    r"|第(?:(?P<han>[一二三四五六七八九])|(?P<digit>\d{1,2}))(?:个|项)?(?:选项)?|(?P<end>最后一?[个项])(?:选项)?)",
    re.IGNORECASE,
)
"""A whole answer with an option's place: "Option 3", "#2", "the last one", 第二个."""
COUNTED = re.compile(
    r"\s?(?:option\s|choice\s)?(?:number\s|no\.\s?|\#\s?)(\d{1,2})(?![\w%])(?![.,]\d)", re.I
)
"""An option's number in a statement."""
PLACE_WORDS = re.compile(
    r"\d|\b(?:first|second|third|fourth|fifth|last|one|two|three|four|five|option|1st|2nd|3rd)\b|[一二三四五六七八九]|第",
    re.IGNORECASE,
)
"""Numbers and places in an option's text. With one, a number in an answer may mean that text, not an option's place."""
