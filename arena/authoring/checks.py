"""Checks of written texts: reasons to refuse one, and warnings for its author."""

import re
from collections.abc import Iterable, Mapping, Sequence
from unicodedata import category, normalize

from arena.authoring.choices import EMPTY_CELLS, MOST_OPTION, MOST_OPTIONS
from arena.authoring.events import Credit
from arena.authoring.known import SIGNS
from arena.authoring.spec import LEAST_CAPTION, LICENCES, UNFREE, ProjectSpec
from arena.errors import VoterError
from arena.seats.worker_names import UNSEEN
from arena.types import folded

SIMILAR_TEXT = 0.8
"""The least Jaccard index of the tokens of two similar instructions."""
SIMILAR_PICTURE = 6
"""The most bits, of 64, in which the hashes of two similar pictures differ."""
LONGEST = {
    "instruction": 2000,
    "caption": 5000,
    "answer": 5000,
    "option": MOST_OPTION,
    "note": 500,
    "credit": 500,
}
"""The most characters that a person may write in each field."""
_MARKS = "".join(sign for sign in map(chr, range(0x300, 0x1F000)) if category(sign)[0] == "M")
"""The accents and vowel signs of all scripts, which `\\w` leaves out."""
_TOKEN = re.compile(rf"[{SIGNS}]|[^\W{SIGNS}](?:[^\W{SIGNS}]|[{_MARKS}\u200c\u200d])*")
"""A sign of `SIGNS`, or a letter and what follows it in its word: letters, marks and the joiners of Indic scripts."""
_LINK = re.compile(r"https?://[!-~]{4,1000}")


class DraftError(VoterError):
    """A text or picture that is refused; the message says why and what to do."""


def tokens(text: str) -> list[str]:
    """Returns the words of a text in lower case; each sign of a script without blanks is one."""
    return _TOKEN.findall(normalize("NFC", text).lower())


def check_text(name: str, text: str, field: str) -> str:
    """Returns a text without blanks around it. Raises DraftError, which calls it `name`."""
    text = text.strip()
    if _is_blank(text):
        raise DraftError("The {} is empty. Write it.", name)
    if len(text) > LONGEST[field]:
        raise DraftError(
            "The {} has {} characters, and the limit is {}. Shorten it.",
            name,
            len(text),
            LONGEST[field],
        )
    return text


def _is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen."""
    return all(sign.isspace() or category(sign) == "Cf" for sign in UNSEEN.sub("", text))


def check_credit(number: int, credit: Credit, spec: ProjectSpec) -> None:
    """Raises DraftError for a picture that may not be used, or without stated rights."""
    if credit.licence not in LICENCES:
        raise DraftError(
            "Picture {} has no licence. Choose the one that its source states, or remove "
            "the picture.",
            number,
        )
    if spec.free_pictures and credit.licence in UNFREE:
        raise DraftError(
            "Picture {} is under {}, which forbids changes or commercial use. Use a free picture.",
            number,
            credit.licence,
        )
    if max(map(len, (credit.source, credit.creator, credit.statement))) > LONGEST["credit"]:
        raise DraftError(
            "The details of picture {} are too long. Use at most {} characters.",
            number,
            LONGEST["credit"],
        )
    if credit.licence == "own":
        return
    if not _LINK.fullmatch(credit.source):
        raise DraftError(
            "Picture {} has no link to its source. Copy the address of its page.", number
        )
    if credit.licence not in ("CC0", "PD") and _is_blank(credit.creator):
        raise DraftError(
            "Picture {} has no creator, and its licence requires one. Write the name.", number
        )


def check_caption(number: int, caption: str, answer: str, least: int = LEAST_CAPTION) -> str:
    """Returns a caption as it is stored. Raises DraftError.

    `answer`: the one that the instruction's author gave, or ""; `least`: the fewest words.
    """
    caption = check_text(f"caption of picture {number}", caption, "caption")
    words = tokens(caption)
    if answer and words and set(words) <= set(tokens(answer)):
        raise DraftError(
            "The caption of picture {} only gives the answer. Say what can be seen.", number
        )
    if len(words) < least:
        raise DraftError(
            "The caption of picture {} has {} words. Write {} or more, so that someone who "
            "can't see it knows what it shows.",
            number,
            len(words),
            least,
        )
    return caption


def check_options(right: str, wrong: Iterable[str]) -> list[str]:
    """Returns the options of a question, the right one first, without empty wrong ones. Raises DraftError."""
    options = [check_text("right answer", folded(right), "option")]
    options += [
        check_text("wrong answer", folded(text), "option") for text in wrong if text.strip()
    ]
    if len(options) < 2:
        raise DraftError("The question has no wrong answer. Write at least one.")
    if len(options) > MOST_OPTIONS:
        raise DraftError(
            "The question has {} answers. Keep {} at most.", len(options), MOST_OPTIONS
        )
    for option in options:
        if option in EMPTY_CELLS:
            raise DraftError(
                "Programs read the answer {} as an empty cell. Write it in other words.", option
            )
    option_of: dict[str, str] = {}
    for option in options:
        text = option.rstrip(".")  # Replies are read without it.
        if text in option_of:
            raise DraftError(
                "Two answers are the same: {}. Change one, so that only one is right.",
                option_of[text],
            )
        option_of[text] = option
    return options


def names_answer(instruction: str, answer: str) -> bool:
    """Returns whether an instruction has all the words of an answer, and so gives it away."""
    words = set(tokens(answer))
    return bool(words) and words <= set(tokens(instruction))


def similar_texts(text: str, others: Iterable[str]) -> list[str]:
    """Returns the other texts that have nearly the same words."""
    words = set(tokens(text))
    return [other for other in others if _jaccard(words, set(tokens(other))) >= SIMILAR_TEXT]


def _jaccard(first: set[str], second: set[str]) -> float:
    either = first | second
    return len(first & second) / len(either) if either else 0.0


def similar_pictures(
    hashes: Sequence[str], hashes_by_draft: Mapping[int, Sequence[str]]
) -> dict[int, list[int]]:
    """Returns, for each picture (its number, from 1) that resembles one in a draft, the drafts with such a picture.

    Hashes are those of `io.images.difference_hash`.
    """
    similar = {}
    for number, picture in enumerate(hashes, 1):
        drafts = [
            draft
            for draft, others in hashes_by_draft.items()
            if any(_look_alike(picture, other) for other in others)
        ]
        if drafts:
            similar[number] = drafts
    return similar


def _look_alike(first: str, second: str) -> bool:
    different_bits = int(first, 16) ^ int(second, 16)
    return different_bits.bit_count() <= SIMILAR_PICTURE
