"""The docs as tests read them: blocks, paragraphs and headings, and commands beside what they print."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.servers import ROOT

FOR_USERS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PAGES = (*FOR_USERS, ROOT / "CONTRIBUTING.md")
LEFT_OUT = "..."
"""The word that stands for printed words which a page leaves out."""
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w./-]+)`:\n\n?\Z")
_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
_SENTENCE_END = re.compile(r"[.?!][)*\"'”]*(?=\s+[A-Z0-9*`\"'“(\[]|\s*$)")
_LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    file: str
    """The file that the line before it names, as in "`animals.yaml`:"; or empty."""
    before: str
    """What is between the block before it and this one."""


class Example(NamedTuple):
    """Commands of a page, and all that they print."""

    commands: tuple[str, ...]
    printed: str


class Command(NamedTuple):
    """A command line of `python -m arena` or `python -m scoring`."""

    half: str
    words: tuple[str, ...]
    environ: dict[str, str]
    out: str
    """The file that it is redirected to, or empty."""


def blocks(page: Path) -> list[Block]:
    """Returns a page's blocks, in order."""
    text = page.read_text("utf-8")
    found = []
    end = 0
    for fence in _FENCE.finditer(text):
        before = text[end : fence.start()]
        file = _FILE.search(before) if fence[1] != "diff" else None
        found.append(Block(fence[1], fence[2], file[1] if file else "", before.strip()))
        end = fence.end()
    return found


def command_lines(block: Block) -> tuple[str, ...]:
    """Returns the commands of an `sh` block, without comments."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return tuple(line.partition("  #")[0].strip() for line in lines if line.strip())


def examples(page: Path) -> list[Example]:
    """Returns the `sh` blocks that a `text` block follows at once: what they print."""
    all_blocks = blocks(page)
    return [
        Example(command_lines(block), following.text)
        for block, following in zip(all_blocks, all_blocks[1:], strict=False)
        if block.language == "sh" and following.language == "text" and not following.before
    ]


def mentioned(page: Path) -> set[str]:
    """Returns the commands of ours that a page's text and tables name."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    named = re.findall(r"`((?:[A-Z_]+=\S+ )*python -m (?:arena|scoring) [^`]+)`", text)
    in_blocks = [
        line for block in blocks(page) if block.language == "sh" for line in command_lines(block)
    ]
    return {re.sub(r"[\[\]]", "", " ".join(line.split())) for line in (*named, *in_blocks)}


def command(line: str) -> Command | None:
    """Returns a command of ours; None for any other program."""
    words = shlex.split(line)
    environ = {}
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        name, _, value = words.pop(0).partition("=")
        environ[name] = value
    out = ""
    if ">" in words:
        place = words.index(">")
        out = words[place + 1]
        words = words[:place]
    is_ours = len(words) > 3 and words[0].endswith("python") and words[1] == "-m"
    if not is_ours or words[2] not in ("arena", "scoring"):
        return None
    return Command(words[2], tuple(words[3:]), environ, out)


def changes(page: Path) -> Iterator[str]:
    """Yields what the `diff` blocks of a page change: the lines that a file has before."""
    for block in blocks(page):
        if block.language == "diff":
            lines = [line for line in block.text.splitlines() if not line.startswith("+")]
            yield "\n".join(line[1:] for line in lines)


def prose(page: Path) -> Iterator[str]:
    """Yields a page's paragraphs and list items; tables, headings, quotes and blocks are none."""
    text = _FENCE.sub("", _FRONT_MATTER.sub("", page.read_text("utf-8")))
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        begins_anew = bool(_LIST_ITEM.match(line))
        is_no_prose = not line.strip() or line.startswith(("|", "#", ">", "    ", "![", "<"))
        if (begins_anew or is_no_prose) and paragraph:
            yield " ".join(paragraph)
            paragraph = []
        if not is_no_prose:
            paragraph.append(_LIST_ITEM.sub("", line).strip())


def sentences(paragraph: str) -> int:
    """Returns the number of sentences; code and addresses count as words."""
    plain = re.sub(r"`[^`]*`", "code", paragraph)
    plain = re.sub(r"\]\([^)]*\)", "]", plain)
    return len(_SENTENCE_END.findall(plain))


def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub makes them."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    names: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        names.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return names


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Yields the files of this project that a page links to, from its root, each with an anchor or an empty text."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        yield str(path.relative_to(ROOT)), anchor


def named_tests(page: Path) -> list[tuple[str, str]]:
    """Returns the tests that a page names, as file and function."""
    return re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", page.read_text("utf-8"))


def is_shown(printed: str, shown: str) -> bool:
    """Whether a page shows what was printed, spaces and line breaks apart.

    `...` stands for any words, and at the end of a word for the rest of it.
    """
    words = printed.split()
    parts = _split(shown.split())
    first = parts.pop(0)
    if not _begins(words, first):
        return False
    place = len(first)
    if not parts:
        return place == len(words)
    last = parts.pop()
    for part in parts:
        place = _after(words, part, place)
        if place < 0:
            return False
    end = len(words) - len(last)
    return end >= place and _begins(words[end:], last)


def _split(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _begins(words: list[str], part: list[str]) -> bool:
    return len(words) >= len(part) and all(
        word == wanted or (wanted.endswith(LEFT_OUT) and word.startswith(wanted[: -len(LEFT_OUT)]))
        for word, wanted in zip(words, part, strict=False)
    )


def _after(words: list[str], part: list[str], place: int) -> int:
    """Returns the place after the next words that are a part; -1 if there are none."""
    for start in range(place, len(words) - len(part) + 1):
        if _begins(words[start:], part):
            return start + len(part)
    return -1
