"""Side-by-side streaming: shows two live answers in step, so that the display does not reveal the faster model.

Both sides begin together, after a drawn delay, and grow by the same number of words, never beyond the slower stream,
until one is complete. The other then grows no faster than both did before, even if more words have arrived. Once both
streams have ended, everything is shown within two seconds. Pure asyncio.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Literal, NamedTuple

from arena.markdown import visible_text
from arena.thinking import (
    Loading,
    ShownAnswer,
    ThinkingStream,
    Thought,
    says_something,
    split_thinking,
)
from arena.types import SIDES, VLM, ModelError, ModelTrouble, Side, Usage

FRAME_SECONDS = 0.08
"""The least time between two frames."""
MOST_SECONDS = 300.0
"""The time after which an unfinished answer counts as failed."""
SURE_SECONDS = 0.5
SURE_WORDS = 5
UNSURE_PACE = 8.0
"""SURE_SECONDS, SURE_WORDS: the least time and words for a pace measured from the first words. With less, it is
measured from the question, and is at least UNSURE_PACE words a second, since one late short word is no pace."""
MOST_BLANK = 1_000
"""The consecutive invisible characters after which reading a side stops."""
PART = 1_000
"""The characters that are taken in at once, before other tasks on the loop get a turn."""
REST_SECONDS = 0.5
SLACK = 0.85
"""REST_SECONDS, SLACK: the remaining side rests first and is then a little slower than both were, so that it looks the
same if its words have arrived already or still come in bursts."""
LAST_SECONDS = 1.8
"""The time in which everything is shown once both streams have ended."""
ENOUGH_WORDS = 50
"""The least words of the longer answer for a choice, or all of it, beside the whole shorter one."""

Failing = ModelTrouble | Literal["empty"]
Ending = Literal["complete", "stopped", "void"]

# Languages without spaces grow by characters: Thai to Khmer, kana, Han and full-width forms.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
)
_WORD_END = re.compile(rf"(?<=[{_DENSE}])(?=[\s\S])|(?<=[^\s{_DENSE}])(?=[\s{_DENSE}])")

log = logging.getLogger(__name__)


class WordBuffer:
    """A growing text cut into words; a word counts once the next character, or the end, has arrived."""

    def __init__(self) -> None:
        self._words: list[str] = []
        """Words, each with the blanks before it."""
        self._rest: list[str] = []
        """The pieces of the unfinished word."""

    def __len__(self) -> int:
        return len(self._words)

    def add(self, piece: str) -> None:
        before = self._rest[-1][-1] if self._rest else ""
        begin = 0
        for word in _WORD_END.finditer(before + piece):
            end = word.start() - len(before)
            self._words.append("".join((*self._rest, piece[begin:end])))
            self._rest = []
            begin = end
        if begin < len(piece):
            self._rest.append(piece[begin:])

    def close(self) -> None:
        """Adds the last word, since no more text will come."""
        if (word := "".join(self._rest)).strip():
            self._words.append(word)

    def text(self, begin: int, end: int) -> str:
        return "".join(self._words[begin:end])


class SideText:
    """A model's answer in one turn: the text so far, and the number of words shown."""

    def __init__(self, vlm: VLM) -> None:
        self.vlm = vlm
        self.words = WordBuffer()
        self.ended = False
        self.words_shown = 0
        self.empty = True
        """Whether nothing visible has arrived."""
        self.tokens: int | None = None
        """The completion tokens, including hidden ones; None if the model does not report them."""
        self.cost: int | None = None
        """The cost in millionths of a US dollar; None if unknown."""
        self.cut = False
        """Whether the answer ended at the limit of tokens."""
        self.loading = False
        """Whether the model is being loaded."""
        self._thinking = ThinkingStream()
        self._blank = 0

    def note(self, usage: Usage) -> None:
        self.tokens = usage.completion
        self.cost = usage.cost
        self.cut = usage.cut

    def take(self, piece: str) -> str:
        """Takes in a piece; returns its text without thinking, for `add`."""
        self.loading = isinstance(piece, Loading)
        if isinstance(piece, Thought):
            self._thinking.think(piece)
            return ""
        return self._thinking.take(piece)

    def close(self) -> None:
        """Adds the last text, since no more will come. Raises ModelError as `add` does."""
        if text := self._thinking.end():
            self.add(text)
        self.words.close()

    def add(self, part: str) -> None:
        """Adds text. Raises ModelError when too many consecutive characters are invisible."""
        self.words.add(part)
        if visible_text(part).strip():
            self.empty = False
            self._blank = 0
        else:
            self._blank += len(part)
        if self._blank > MOST_BLANK:
            raise ModelError(
                "blank",
                f"over {MOST_BLANK:,} characters in a row show nothing, so we stopped reading",
            )

    @property
    def complete(self) -> bool:
        return self.ended and self.words_shown == len(self.words)

    @property
    def text(self) -> str:
        return self.words.text(0, self.words_shown)

    @property
    def says_nothing(self) -> bool:
        """Whether only thinking and invisible text have arrived."""
        whole = self.words.text(0, len(self.words))
        return self.empty or not says_something(whole)

    @property
    def answer(self) -> ShownAnswer:
        """The shown text, without the thinking in it."""
        thinking, text = split_thinking(self.text)
        thoughts = "\n\n".join(filter(None, (self._thinking.thinking, thinking)))
        return ShownAnswer(text, thoughts, self.cut and self.complete)

    def since(self, words: int) -> str:
        """Returns the shown text after this many words."""
        return self.words.text(words, self.words_shown)


class SideFailure(NamedTuple):
    """A failure of a model: no answer, or an unfinished one."""

    model: str
    kind: Failing


class SideBySide:
    """A turn of a conversation, answered on every side at once; to be `run` once."""

    def __init__(
        self,
        vlms: Mapping[Side, VLM],
        ask_model: Callable[[Side, VLM], AsyncGenerator[str, None]],
        substitute: Callable[[Side], VLM | None] = lambda _: None,
        patience: float = MOST_SECONDS,
        delay: float = 0,
    ) -> None:
        """`ask_model` streams a model's answer to its side's conversation, `substitute` offers another model for a
        side.

        Nothing is shown for `delay` seconds.
        """
        self.side_texts: dict[Side, SideText] = {side: SideText(vlm) for side, vlm in vlms.items()}
        self.failures: list[SideFailure] = []
        self.ending: Ending | None = None
        self._ask_model = ask_model
        self._substitute = substitute
        self._patience = patience
        self._delay = delay
        self._news = asyncio.Event()

    @property
    def choosable(self) -> bool:
        """Whether enough is shown for a choice: one whole answer, and the other whole or ENOUGH_WORDS of it."""
        side_texts = self.side_texts.values()
        enough = all(
            side_text.complete or side_text.words_shown >= ENOUGH_WORDS for side_text in side_texts
        )
        return enough and any(side_text.complete for side_text in side_texts)

    @property
    def all_speak(self) -> bool:
        """Whether every side shows more than thinking, which is part of the text until its end has come."""
        return all(says_something(side_text.text) for side_text in self.side_texts.values())

    @property
    def can_be_chosen(self) -> bool:
        """Whether the answers can be ended here for a choice."""
        return self.choosable and self.all_speak

    @property
    def loading(self) -> bool:
        """Whether nothing is shown because a model is being loaded."""
        side_texts = self.side_texts.values()
        is_silent = not any(side_text.words_shown for side_text in side_texts)
        return is_silent and any(side_text.loading for side_text in side_texts)

    async def run(self, tell: Callable[[], None]) -> Ending:
        """Lets all sides answer and closes their streams; `tell` is called whenever more is shown."""
        listeners = [asyncio.create_task(self._follow(side)) for side in self.side_texts]
        for listener in listeners:
            listener.add_done_callback(self._on_end)
        try:
            await self._show(_FramePace(_now()), tell)
            self._end("complete")
        finally:
            for listener in listeners:
                listener.cancel()
            await asyncio.gather(*listeners, return_exceptions=True)
            self._end("void")
        return self.ending or "void"

    def stop(self) -> None:
        self._end("stopped")

    def _end(self, ending: Ending) -> None:
        self.ending = self.ending or ending
        self._news.set()

    def _on_end(self, listener: "asyncio.Task[None]") -> None:
        """Ends the turn if reading a side crashed, so that nobody waits for it."""
        if not listener.cancelled() and (error := listener.exception()) is not None:
            log.error("a live answer could not be heard", exc_info=error)
            self._end("void")

    async def _follow(self, side: Side) -> None:
        """Reads a side to its end; if it fails before a word is shown, reads a substitute, once."""
        failing = await self._read(side)
        if failing is not None and not self.side_texts[side].words_shown:
            other = self._substitute(side)
            if other is not None:
                self.side_texts[side] = SideText(other)
                failing = await self._read(side)
        if failing is not None:
            self._end("void")

    async def _read(self, side: Side) -> Failing | None:
        side_text = self.side_texts[side]
        failing: Failing | None = None
        try:
            async with (
                asyncio.timeout(self._patience),
                aclosing(self._ask_model(side, side_text.vlm)) as pieces,
            ):
                async for piece in pieces:
                    text = side_text.take(piece)
                    for start in range(0, len(text), PART):
                        side_text.add(text[start : start + PART])
                        self._news.set()
                        await asyncio.sleep(0)
                    self._news.set()
            side_text.close()
        except ModelError as error:
            log.warning(
                "%s failed in a live battle: %s (%s)", side_text.vlm.card.name, error.kind, error
            )
            failing = error.kind
        except TimeoutError:
            failing = "slow"
        if failing is None and side_text.says_nothing:
            failing = "empty"
        if failing is not None:
            self.failures.append(SideFailure(side_text.vlm.card.name, failing))
            return failing
        side_text.ended = True
        self._news.set()
        return None

    async def _show(self, pace: "_FramePace", tell: Callable[[], None]) -> None:
        begin = _now() + self._delay
        while self.ending is None and (left := begin - _now()) > 0:
            await self._more(left)
        was_loading = False
        while self.ending is None:
            if self.loading != was_loading:
                was_loading = self.loading
                tell()
            grew = self._grow(pace)
            if all(side_text.complete for side_text in self.side_texts.values()):
                return
            if grew:
                tell()
                await asyncio.sleep(FRAME_SECONDS)
            else:
                await self._more(None if pace.rate is None else FRAME_SECONDS)

    async def _more(self, seconds: float | None) -> None:
        """Waits for more words, at most `seconds`; None: without a limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
            self._news.clear()

    def _grow(self, pace: "_FramePace") -> bool:
        """Shows more words: as many as all sides have, or as the pace allows for the remaining side."""
        side_texts = self.side_texts.values()
        before = [side_text.words_shown for side_text in side_texts]
        least = min(len(side_text.words) for side_text in side_texts)
        if pace.rate is None:
            for side_text in side_texts:
                side_text.words_shown = least
            pace.count(least)
        else:
            for side_text in side_texts:
                side_text.words_shown = max(
                    side_text.words_shown, min(len(side_text.words), pace.allowed())
                )
        if any(side_text.complete for side_text in side_texts):
            pace.fix()
        if pace.rate is not None and all(side_text.ended for side_text in side_texts):
            longer = max(side_texts, key=lambda side_text: len(side_text.words))
            pace.finish(longer.words_shown, len(longer.words))
        return before != [side_text.words_shown for side_text in side_texts]


class _FramePace:
    """The common pace of all sides, which limits the remaining one; in words a second."""

    def __init__(self, began: float) -> None:
        self.rate: float | None = None
        """None while all grow together."""
        self._began = began
        self._grown: list[tuple[float, int]] = []
        """The times and numbers of words that all sides showed."""
        self._settled = (began, 0)
        self._finishes = False

    def count(self, words: int) -> None:
        """Notes the number of words that every side shows."""
        if words and (not self._grown or words > self._grown[-1][1]):
            self._grown.append((_now(), words))

    def fix(self) -> None:
        """Fixes the pace once a side is complete, without the last growth, since the end of a stream ends a word
        early.
        """
        if self.rate is not None or not self._grown:
            return
        now = _now()
        words = self._grown[-1][1]
        (first, at_first) = self._grown[0]
        (last, at_last) = self._grown[max(0, len(self._grown) - 2)]
        seconds = last - first
        grown = at_last - at_first
        if seconds < SURE_SECONDS or grown < SURE_WORDS:
            self.rate = SLACK * max(words / max(now - self._began, FRAME_SECONDS), UNSURE_PACE)
        else:
            self.rate = SLACK * grown / seconds
        self._settled = (now + REST_SECONDS, words)

    def finish(self, words_shown: int, words: int) -> None:
        """Sets the pace to show the rest of the remaining side within LAST_SECONDS, after both streams have ended."""
        if self._finishes or self.rate is None:
            return
        now = _now()
        begin = max(_now(), self._settled[0])
        self.rate = max(self.rate, (words - words_shown) / (LAST_SECONDS - (begin - now)))
        self._settled = (begin, words_shown)
        self._finishes = True

    def allowed(self) -> int:
        """Returns the number of words that the remaining side may show by now."""
        moment, words = self._settled
        return words + max(0, int((_now() - moment) * (self.rate or 0)))


def _now() -> float:
    return asyncio.get_running_loop().time()


def sides(a: VLM, b: VLM) -> dict[Side, VLM]:
    return dict(zip(SIDES, (a, b), strict=True))
