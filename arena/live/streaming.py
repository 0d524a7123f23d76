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
LEAST_PACE_SECONDS = 0.5
LEAST_PACE_WORDS = 5
"""LEAST_PACE_SECONDS, LEAST_PACE_WORDS: the least time and words for a pace measured from the first words. With less,
it is measured from the question."""
LEAST_WHOLE_PACE = 8.0
"""Words a second, the least pace measured from the question: one late short word says nothing about the pace."""
MOST_BLANK = 1_000
"""The consecutive invisible characters after which reading a side stops."""
PART_CHARACTERS = 1_000
"""The characters that are taken in at once, before other tasks on the loop get a turn."""
PAUSE_SECONDS = 0.5
"""The pause of the remaining side once the other is complete."""
SLACK = 0.85
"""The pace of the remaining side after its pause, as a share of the pace of both before. Pause and slower pace make
words that have arrived already look like those that still come in bursts."""
LAST_SECONDS = 1.8
"""The time in which everything is shown once both streams have ended."""
ENOUGH_WORDS = 50
"""The words that one answer must show, unless it is whole, before people can choose; the other one must be whole."""

FailureKind = ModelTrouble | Literal["empty"]
Ending = Literal["complete", "stopped", "void"]

# Languages without spaces grow by characters: Thai to Khmer, kana, Han and full-width forms.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
)
_WORD_END = re.compile(
    rf"(?<=[{_DENSE}])(?=[\s\S])"  # after a dense character
    rf"|(?<=[^\s{_DENSE}])(?=[\s{_DENSE}])"  # after another word, before a blank or a dense character
)
"""The end of a word, if more text follows."""

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
        """Adds text, and cuts it at the ends of words."""
        # An end of a word depends on the character before it.
        before = self._rest[-1][-1] if self._rest else ""
        begin = 0
        for word_end in _WORD_END.finditer(before + piece):
            end = word_end.start() - len(before)
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
        """Returns the words from `begin` up to `end`, as one text."""
        return "".join(self._words[begin:end])


class SideText:
    """A model's answer in one turn: the text so far, and the number of words shown."""

    def __init__(self, vlm: VLM) -> None:
        self.vlm = vlm
        self.words = WordBuffer()
        self.is_ended = False
        self.words_shown = 0
        self.is_empty = True
        """Whether nothing visible has arrived."""
        self.tokens: int | None = None
        """The completion tokens, including hidden ones; None if the model does not report them."""
        self.cost: int | None = None
        """The cost in millionths of a US dollar; None if unknown."""
        self.is_cut = False
        """Whether the answer ended at the limit of tokens."""
        self.is_loading = False
        """Whether the model is being loaded."""
        self._thinking = ThinkingStream()
        self._blank_characters = 0

    def add_usage(self, usage: Usage) -> None:
        """Adds the tokens and the cost of an attempt; the last attempt says whether the answer was cut."""
        self.tokens = (self.tokens or 0) + usage.completion
        self.cost = (self.cost or 0) + usage.cost
        self.is_cut = usage.cut

    def take(self, piece: str) -> str:
        """Takes in a piece; returns its text without thinking, for `add`."""
        self.is_loading = isinstance(piece, Loading)
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
            self.is_empty = False
            self._blank_characters = 0
        else:
            self._blank_characters += len(part)
        if self._blank_characters > MOST_BLANK:
            raise ModelError(
                "blank",
                f"over {MOST_BLANK:,} characters in a row show nothing, so we stopped reading",
            )

    @property
    def is_complete(self) -> bool:
        return self.is_ended and self.words_shown == len(self.words)

    @property
    def text(self) -> str:
        return self.words.text(0, self.words_shown)

    @property
    def says_nothing(self) -> bool:
        """Whether only thinking and invisible text have arrived."""
        whole = self.words.text(0, len(self.words))
        return self.is_empty or not says_something(whole)

    @property
    def answer(self) -> ShownAnswer:
        """The shown text, without the thinking in it."""
        thinking, text = split_thinking(self.text)
        thoughts = "\n\n".join(filter(None, (self._thinking.thinking, thinking)))
        return ShownAnswer(text, thoughts, self.is_cut and self.is_complete)

    def since(self, words: int) -> str:
        """Returns the shown text after this many words."""
        return self.words.text(words, self.words_shown)


class SideFailure(NamedTuple):
    """A failure of a model: no answer, or an unfinished one."""

    model: str
    kind: FailureKind


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
    def is_enough_shown(self) -> bool:
        """Whether enough is shown for a choice: one whole answer, and the other whole or ENOUGH_WORDS of it."""
        side_texts = self.side_texts.values()
        if not any(side_text.is_complete for side_text in side_texts):
            return False
        return all(
            side_text.is_complete or side_text.words_shown >= ENOUGH_WORDS
            for side_text in side_texts
        )

    @property
    def all_speak(self) -> bool:
        """Whether every side shows more than thinking, which is part of the text until its end tag has come."""
        return all(says_something(side_text.text) for side_text in self.side_texts.values())

    @property
    def can_be_chosen(self) -> bool:
        """Whether the answers can be ended here for a choice."""
        return self.is_enough_shown and self.all_speak

    @property
    def is_loading(self) -> bool:
        """Whether nothing is shown because a model is being loaded."""
        side_texts = self.side_texts.values()
        is_silent = not any(side_text.words_shown for side_text in side_texts)
        return is_silent and any(side_text.is_loading for side_text in side_texts)

    async def run(self, on_change: Callable[[], None]) -> Ending:
        """Lets all sides answer and closes their streams.

        `on_change` is called whenever more is shown, except at the end, which the caller shows.
        """
        listeners = [
            asyncio.create_task(self._read_with_substitute(side)) for side in self.side_texts
        ]
        for listener in listeners:
            listener.add_done_callback(self._on_end)
        try:
            await self._show(_FramePace(_now()), on_change)
            self._end("complete")
        finally:
            for listener in listeners:
                listener.cancel()
            await asyncio.gather(*listeners, return_exceptions=True)
            self._end("void")  # after a crash or a cancellation
        return self.ending or "void"

    def stop(self) -> None:
        self._end("stopped")

    def _end(self, ending: Ending) -> None:
        """Ends the turn. The first ending stays, any further one changes nothing."""
        self.ending = self.ending or ending
        self._news.set()

    def _on_end(self, listener: "asyncio.Task[None]") -> None:
        """Ends the turn if reading a side crashed, so that nobody waits for it."""
        if not listener.cancelled() and (error := listener.exception()) is not None:
            log.error("a live answer could not be heard", exc_info=error)
            self._end("void")

    async def _read_with_substitute(self, side: Side) -> None:
        """Reads a side to its end; if it fails before a word is shown, reads a substitute, once."""
        failure = await self._read(side)
        if failure is not None and not self.side_texts[side].words_shown:
            other = self._substitute(side)
            if other is not None:
                self.side_texts[side] = SideText(other)
                failure = await self._read(side)
        if failure is not None:
            self._end("void")

    async def _read(self, side: Side) -> FailureKind | None:
        """Reads a side's stream to its end, and notes a failure; returns its kind, None if there was none."""
        side_text = self.side_texts[side]
        failure: FailureKind | None = None
        try:
            async with (
                asyncio.timeout(self._patience),
                aclosing(self._ask_model(side, side_text.vlm)) as pieces,
            ):
                async for piece in pieces:
                    text = side_text.take(piece)
                    for start in range(0, len(text), PART_CHARACTERS):
                        side_text.add(text[start : start + PART_CHARACTERS])
                        self._news.set()
                        await asyncio.sleep(0)
                    self._news.set()  # a piece without text is news too, such as Loading
            side_text.close()
        except ModelError as error:
            log.warning(
                "%s failed in a live battle: %s (%s)", side_text.vlm.card.name, error.kind, error
            )
            failure = error.kind
        except TimeoutError:
            failure = "slow"
        if failure is None and side_text.says_nothing:
            failure = "empty"
        if failure is not None:
            self.failures.append(SideFailure(side_text.vlm.card.name, failure))
            return failure
        side_text.is_ended = True
        self._news.set()
        return None

    async def _show(self, pace: "_FramePace", on_change: Callable[[], None]) -> None:
        """Shows both answers in step until they are complete, or the turn ends."""
        begin = _now() + self._delay
        while self.ending is None and (left := begin - _now()) > 0:
            await self._wait_for_news(left)
        was_loading = False
        while self.ending is None:
            if self.is_loading != was_loading:
                was_loading = self.is_loading
                on_change()
            has_grown = self._grow(pace)
            if all(side_text.is_complete for side_text in self.side_texts.values()):
                return  # the caller shows the end
            if has_grown:
                on_change()
                await asyncio.sleep(FRAME_SECONDS)
            else:
                await self._wait_for_news(None if pace.rate is None else FRAME_SECONDS)

    async def _wait_for_news(self, seconds: float | None) -> None:
        """Waits for more words, at most `seconds`; None: without a limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
            self._news.clear()

    def _grow(self, pace: "_FramePace") -> bool:
        """Shows more words: as many as all sides have, or as the pace allows for the remaining side.

        Returns whether there are more than before.
        """
        side_texts = self.side_texts.values()
        before = [side_text.words_shown for side_text in side_texts]
        least = min(len(side_text.words) for side_text in side_texts)
        if pace.rate is None:
            for side_text in side_texts:
                side_text.words_shown = least
            pace.count(least)
        else:
            for side_text in side_texts:
                allowed = min(len(side_text.words), pace.allowed_words())
                side_text.words_shown = max(side_text.words_shown, allowed)
        if any(side_text.is_complete for side_text in side_texts):
            pace.fix()
        if pace.rate is not None and all(side_text.is_ended for side_text in side_texts):
            longer = max(side_texts, key=lambda side_text: len(side_text.words))
            pace.finish(longer.words_shown, len(longer.words))
        return before != [side_text.words_shown for side_text in side_texts]


class _Growth(NamedTuple):
    """A number of words at a time of the loop's clock."""

    moment: float
    words: int


class _FramePace:
    """The common pace of all sides, which limits the remaining one; in words a second."""

    def __init__(self, began: float) -> None:
        self.rate: float | None = None
        """None while all grow together."""
        self._began = began
        self._growth: list[_Growth] = []
        """The numbers of words that all sides showed, whenever they grew."""
        self._start = _Growth(began, 0)
        """The words from which the remaining side grows, and the time when it begins to."""
        self._is_finishing = False

    def count(self, words: int) -> None:
        """Notes the number of words that every side shows."""
        words_before = self._growth[-1].words if self._growth else 0
        if words > words_before:
            self._growth.append(_Growth(_now(), words))

    def fix(self) -> None:
        """Fixes the pace once a side is complete.

        The last growth is left out: a word counts once the next character has arrived, but at the end of a stream the
        last one counts at once.
        """
        if self.rate is not None or not self._growth:
            return
        now = _now()
        words = self._growth[-1].words
        first = self._growth[0]
        last_counted = self._growth[-2] if len(self._growth) > 1 else first
        seconds = last_counted.moment - first.moment
        grown = last_counted.words - first.words
        if seconds < LEAST_PACE_SECONDS or grown < LEAST_PACE_WORDS:
            seconds_from_question = max(now - self._began, FRAME_SECONDS)
            whole_pace = max(words / seconds_from_question, LEAST_WHOLE_PACE)
            self.rate = SLACK * whole_pace
        else:
            self.rate = SLACK * grown / seconds
        self._start = _Growth(now + PAUSE_SECONDS, words)

    def finish(self, words_shown: int, words: int) -> None:
        """Sets the pace to show the rest of the remaining side within LAST_SECONDS, after both streams have ended."""
        if self._is_finishing or self.rate is None:
            return
        now = _now()
        begin = max(now, self._start.moment)
        seconds_left = LAST_SECONDS - (begin - now)
        self.rate = max(self.rate, (words - words_shown) / seconds_left)
        self._start = _Growth(begin, words_shown)
        self._is_finishing = True

    def allowed_words(self) -> int:
        """Returns the number of words that the remaining side may show by now."""
        seconds = _now() - self._start.moment
        return self._start.words + max(0, int(seconds * (self.rate or 0)))


def _now() -> float:
    return asyncio.get_running_loop().time()


def sides(a: VLM, b: VLM) -> dict[Side, VLM]:
    """Returns two models by their sides."""
    return dict(zip(SIDES, (a, b), strict=True))
