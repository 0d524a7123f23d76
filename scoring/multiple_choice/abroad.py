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
    """Between this word and the option: "ist"."""
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
_DENIED_BEHIND = r"(?![^.!?。\n]{0,20}(?:ない|ません|아니|아닙|아닌|değil|नहीं|pas\b))"


def _words(phrases: str) -> str:
    """A pattern of comma-separated words, the longest first."""
    longest_first = sorted({*phrases.split(",")}, key=lambda word: (-len(word), word))
    return f"(?:{'|'.join(longest_first)})"


def _of_all(field: str) -> str:
    """A pattern of all languages' words of a field."""
    phrases = [getattr(language, field) for language in LANGUAGES.values()]
    return _words(",".join(words for words in phrases if words))


_PART = r"(?-i:[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
_DENIAL = rf"{_of_all('denials')}(?!\w)"
_LETTER = rf"[\"'“(\[*]*+(?-i:[A-Z])(?!{_PART}|['’+#-])"
_ARTICLE = (
    r"(?:(?-i:die|la|el|l'|le|a|o|den|das)|opción|opção|opzione|option|optie|вариант|буква|буквой"
    r"|letra|lettera|lettre|litera|harf)"
)
_ALONE = rf"\s(?={_LETTER}[\"'”)\]*]*+\s?(?:입니다|है)?\s?[.!。]?\s?$)"


def _frame(language: Language) -> str:
    """A pattern of a language's text before an option."""
    link = ""
    if language.link:
        link = rf"|\s?{_words(language.link)}(?:\s?:)?(?:(?<=(?-i:[\u3040-\ud7af]))|(?!{_PART}))"
    gap = rf"(?:\s(?!{_DENIAL})[^\W\d_]{{1,14}}){{0,2}}?"
    return rf"{_words(language.answer)}{gap}(?:\s?[:=→]|\s[-–—]\s{link}|{_ALONE})\s*+"


def _begins(field: str) -> str:
    """A lookahead at the first two characters, which few places pass: trying all languages everywhere is slow."""
    phrases = [getattr(language, field).split(",") for language in LANGUAGES.values()]
    words = [word for phrase in phrases for word in phrase if word]
    firsts = "".join(sorted({word[0] for word in words}))
    seconds = "".join(sorted({word[1] for word in words if len(word) > 1}))
    alone = "".join(f"|{word}" for word in words if len(word) == 1)
    return f"(?=[{firsts}][{seconds}]{alone})"


_FRAMES = "|".join(map(_frame, LANGUAGES.values()))
STATED = (
    rf"{_begins('answer')}(?:\b|(?<=[^\W\d_]))(?:{_FRAMES})(?:(?:{_ARTICLE}\s?){{1,2}}(?={_LETTER}))?"
    rf"|{_begins('choose')}(?<!\w){_of_all('choose')}\s(?:{_ARTICLE}\s?){{0,2}}(?={_LETTER})"
)
"""Text before an option: "Die Antwort ist", "Je choisis l'option"."""
CALLED_RIGHT = rf"\s?{_of_all('right')}{_DENIED_BEHIND}"
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


def _in_ascii(field: str) -> frozenset[str]:
    phrases = {
        phrase for language in LANGUAGES.values() for phrase in getattr(language, field).split(",")
    }
    return frozenset(phrase for phrase in phrases if phrase and phrase.isascii())


STATED_BY = frozenset(filter(str.isalpha, _in_ascii("choose")))
STATED_PARTS = _in_ascii("answer") | _in_ascii("choose") - STATED_BY
"""Beginnings of `STATED` in a text of ASCII letters: whole words, and parts of words or phrases."""
