"""Statements of an answer in languages other than English and Chinese: a table of words by language.

Words are separated by commas, and may be patterns. Models mix languages, so every answer is searched for every word.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple


class Language(NamedTuple):
    """The words of a language around an option."""

    answer: str
    """Before "is" or a colon: "Antwort"."""
    link: str
    """Between this word and the option: "ist"; "" if the language has none, as all fields below."""
    choose: str
    """Before the option: "ich wähle"."""
    right: str
    """Behind the option: "ist richtig"."""
    denials: str
    """Words that deny the words beside them."""


LANGUAGES: Mapping[str, Language] = {
    "German": Language(
        "antwort,lösung,option,auswahl,richtig", "ist,lautet", r"wähle,nehme,tippe auf,entscheide mich für",
        r"ist (?:die )?(?:richtig|korrekt)\w*,stimmt", r"nicht,kein\w*,falsch\w*,weder",
    ),
    "French": Language(
        "réponse,reponse,option,choix,solution", "est,est donc,serait", r"choisis,prends,choisirais,c'est",
        r"est (?:la )?(?:bonne|correcte?|exacte?|juste)\b", r"pas,n'est,ne,ni,non,faux,fausse",
    ),
    "Spanish": Language(
        "respuesta,opción,solución,alternativa", "es,sería,está", r"elijo,escojo,selecciono,elegiría,es la,es el",
        r"es (?:la |el )?(?:respuesta |opción )?(?:correct[ao]|verdader[ao]|adecuad[ao])", "nunca,no,ni,incorrecta",
    ),
    "Portuguese": Language(
        "resposta,opção,alternativa,solução", "é,seria,está", "escolho,seleciono,escolheria,é a",
        r"(?:é|está) (?:a )?(?:resposta |opção )?(?:corret[ao]|cert[ao]|adequad[ao])", "não,nao,nem,incorreta",
    ),
    "Italian": Language(
        "risposta,opzione,soluzione", "è,sarebbe", "scelgo,seleziono,sceglierei,è la",
        r"è (?:la )?(?:risposta |opzione )?(?:corrett[ao]|giust[ao]|esatt[ao])", "non,no,né,errata",
    ),
    "Russian": Language(
        "ответ,вариант,опция", "это,является,будет", "выбираю,выбрал,выбрала,выберу",
        r"(?:[-–—] |является |это )?(?:правильн|верн|верен|подходит)\w*", "не,нет,ни,неверн\\w*,неправильн\\w*",
    ),
    "Polish": Language(
        "odpowiedź,opcja,odpowiedzią", "to,jest,brzmi", "wybieram,wybrałbym,wybrałabym",
        r"(?:jest |to )?(?:poprawn|prawidłow|właściw)\w+", "nie,ani,błędn\\w*",
    ),
    "Turkish": Language("cevap,cevabı,yanıt,seçenek", "", "", r"(?:seçeneği |şıkkı )?doğru\w*", "değil,yanlış"),
    "Vietnamese": Language(
        "đáp án,câu trả lời,lựa chọn", "là", "chọn", r"là (?:đáp án )?(?:đúng|chính xác)", "không,sai",
    ),
    "Korean": Language(
        "정답,답,답안,옵션", "은,는", "",
        r"(?:가|이|은|는|번이)? ?(?:정답|답|맞|옳),(?:를|을) ?(?:선택|고르|고릅|택)", "",
    ),
    "Japanese": Language("答え,正解,回答,選択肢", "は", "", r"(?:が|は|を)(?:正解|正し|答え|最も|適切|選)", ""),
    "Arabic": Language("الإجابة,الجواب,الخيار", "هي,هو", "أختار", r"(?:هو |هي )?(?:الصحيح|صحيح)\w*", "ليس,ليست,لا"),
    "Hindi": Language("उत्तर,जवाब,विकल्प", "हैं?", "", r"(?:सही|ही सही)", "नहीं,गलत"),
    "Dutch": Language("antwoord,optie", "is", "kies", r"is (?:juist|goed)", "niet,geen"),
    "Scandinavian": Language(
        "svaret,svar", "är,er", "väljer,velger,vælger", r"(?:är|er) (?:rätt|riktig|rigtig)", "inte,ikke",
    ),
    "Indonesian": Language("jawaban,jawabannya", "adalah", "memilih,pilih", "adalah jawaban yang benar", "bukan,tidak"),
    "Thai": Language("คำตอบ,คําตอบ", "คือ", "", "", "ไม่"),
}  # fmt: skip
# A denial may stand behind the words that call an option right, as in Japanese, Korean and Turkish.
_NOT_DENIED_BEHIND = r"(?![^.!?。\n]{0,20}(?:ない|ません|아니|아닙|아닌|değil|नहीं|pas\b))"


def _word_pattern(phrases: str) -> str:
    """A pattern of comma-separated words, the longest first."""
    longest_first = sorted({*phrases.split(",")}, key=lambda word: (-len(word), word))
    return f"(?:{'|'.join(longest_first)})"


def _phrases(field: str) -> list[str]:
    """All languages' words and phrases of a field."""
    columns = [getattr(language, field) for language in LANGUAGES.values()]
    return [phrase for column in columns if column for phrase in column.split(",")]


def _pattern_of_all_languages(field: str) -> str:
    return _word_pattern(",".join(_phrases(field)))


# Japanese, Chinese and Korean characters don't count: those languages don't separate words.
_WORD_CHARACTER = r"(?-i:[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
_DENIAL = rf"{_pattern_of_all_languages('denials')}(?!\w)"
_OPTION_LETTER = rf"[\"'“(\[*]*+(?-i:[A-Z])(?!{_WORD_CHARACTER}|['’+#-])"
_ARTICLE = (
    r"(?:(?-i:die|la|el|l'|le|a|o|den|das)|opción|opção|opzione|option|optie|вариант|буква|буквой"
    r"|letra|lettera|lettre|litera|harf)"
)
_LETTER_AT_END = rf"\s(?={_OPTION_LETTER}[\"'”)\]*]*+\s?(?:입니다|है)?\s?[.!。]?\s?$)"


def _frame_pattern(language: Language) -> str:
    """A pattern of a language's text before an option."""
    link = ""
    if language.link:
        # A link ends where a word does, or with a Japanese, Chinese or Korean character.
        link = rf"|\s?{_word_pattern(language.link)}(?:\s?:)?(?:(?<=(?-i:[\u3040-\ud7af]))|(?!{_WORD_CHARACTER}))"
    gap = rf"(?:\s(?!{_DENIAL})[^\W\d_]{{1,14}}){{0,2}}?"
    return (
        rf"{_word_pattern(language.answer)}{gap}(?:\s?[:=→]|\s[-–—]\s{link}|{_LETTER_AT_END})\s*+"
    )


def _first_characters(field: str) -> str:
    """A lookahead at the first two characters of a field's words.

    Few places in a text pass it, and trying all languages at every place is slow.
    """
    words = _phrases(field)
    first_characters = "".join(sorted({word[0] for word in words}))
    second_characters = "".join(sorted({word[1] for word in words if len(word) > 1}))
    single_characters = "".join(f"|{word}" for word in words if len(word) == 1)
    return f"(?=[{first_characters}][{second_characters}]{single_characters})"


_FRAMES = "|".join(map(_frame_pattern, LANGUAGES.values()))
STATED = (
    rf"{_first_characters('answer')}(?:\b|(?<=[^\W\d_]))(?:{_FRAMES})(?:(?:{_ARTICLE}\s?){{1,2}}(?={_OPTION_LETTER}))?"
    rf"|{_first_characters('choose')}(?<!\w){_pattern_of_all_languages('choose')}\s(?:{_ARTICLE}\s?){{0,2}}(?={_OPTION_LETTER})"
)
"""Text before an option: "Die Antwort ist", "Je choisis l'option"."""
CALLED_RIGHT = rf"\s?{_pattern_of_all_languages('right')}{_NOT_DENIED_BEHIND}"
"""Text behind an option: "ist richtig", 가 정답입니다."""
CALLED_WRONG = (
    r"(?:falsch|faux|fausse|falso|falsa|incorrect[oae]|incorret[oa]|errad[oa]|errat[oa]|sbagliat[oa]|неверн\w{0,3}"
    r"|неправильн\w{0,3}|błędn\w|yanlış|fout|गलत)"
)
IF = r"(?:wenn|falls|si|если|jeśli|eğer|nếu|如果|假如|若|もし|만약|यदि|अगर)"
"""Words that make a condition of the clause after them; "se" is left out because it is also a pronoun."""
NOT_BEFORE = re.compile(rf"(?<!\w){_DENIAL}\s(?:\w{{1,12}}\s)?\Z", re.IGNORECASE)
"""A denial of the statement after it: "no elijo", "nie wybieram"."""
_ASCII_WORD = re.compile(r"[a-z]+")
STATED_WORDS = frozenset(
    word
    for language in LANGUAGES.values()
    for word in _ASCII_WORD.findall(f"{language.answer} {language.choose}")
)
"""ASCII words of these languages, which decide whether a text is worth a closer look."""


def _ascii_phrases(field: str) -> frozenset[str]:
    """All languages' words and phrases of a field that are ASCII."""
    return frozenset(phrase for phrase in _phrases(field) if phrase.isascii())


STATED_BY = frozenset(phrase for phrase in _ascii_phrases("choose") if phrase.isalpha())
"""Whole words that begin `STATED` in a text of ASCII letters."""
STATED_PARTS = _ascii_phrases("answer") | (_ascii_phrases("choose") - STATED_BY)
"""Other beginnings of `STATED` in a text of ASCII letters: parts of words, and phrases."""
