"""Live answers: both panes grow in step, what is shown tells nothing of speed, and every end is one of three."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from arena.live.streaming import ENOUGH_WORDS, SideBySide, SideText, WordBuffer, sides
from arena.types import SIDES, ModelError, Usage
from tests.support.scripted_vlm import ScriptedVLM
from tests.support.virtual_time import now, run

WORDS = " ".join(f"word{number}" for number in range(30))


class Watcher:
    """Notes how many words each side shows whenever more is shown."""

    def __init__(self, round_: SideBySide) -> None:
        self.round = round_
        self.frames: list[tuple[float, int, int]] = []
        self.choosable: list[bool] = []

    def tell(self) -> None:
        side_texts = self.round.side_texts
        self.choosable.append(self.round.is_enough_shown)
        self.frames.append((now(), side_texts["a"].words_shown, side_texts["b"].words_shown))


def play(
    a: ScriptedVLM,
    b: ScriptedVLM,
    *others: ScriptedVLM,
    stop_after: float | None = None,
    patience: float = 60,
    delay: float = 0,
    watcher: type[Watcher] = Watcher,
) -> Watcher:
    """Run one round between two models; `others` stand in."""

    async def played() -> Watcher:
        waiting = iter(others)
        round_ = SideBySide(
            sides(a, b),
            lambda _, vlm: vlm.stream([], vlm.card.generation),
            lambda _: next(waiting, None),
            patience,
            delay,
        )
        watching = watcher(round_)
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, round_.stop)
        await round_.run(watching.tell)
        return watching

    done = run(played())
    assert ScriptedVLM.running == 0, "no stream is left open"
    return done


@given(st.lists(st.text(max_size=8)), st.data())
def test_words_are_the_text_whatever_pieces_it_came_in(parts, data):
    whole, pieced = WordBuffer(), WordBuffer()
    whole.add("".join(parts))
    for part in parts:
        pieced.add(part)
    assert len(whole) == len(pieced)
    for words in (whole, pieced):
        words.close()
    counts = list(range(len(whole) + 1))
    shown = [whole.text(0, count) for count in counts]
    assert shown == [pieced.text(0, count) for count in counts]
    assert all("".join(parts).startswith(text) for text in shown)
    assert shown[-1].split() == "".join(parts).split()


def test_languages_without_spaces_grow_by_characters():
    words = WordBuffer()
    words.add("图中有一只猫 and a dog")
    assert [words.text(0, count) for count in (1, 6, 7)] == [
        "图",
        "图中有一只猫",
        "图中有一只猫 and",
    ]


def test_a_word_is_shown_when_it_is_whole():
    words = WordBuffer()
    words.add("a ca")
    assert words.text(0, len(words)) == "a"
    words.add("t")
    words.close()
    assert words.text(0, len(words)) == "a cat"


@pytest.mark.parametrize("blank", [" ", "\n", "\u3000", "\u200b", "\xad \u202e\n", "\u2800"])
@pytest.mark.parametrize("said", ["", "A cat. "])
def test_a_side_that_goes_on_with_blanks_is_read_no_further(blank, said):
    endless = ScriptedVLM("endless", said + (blank * 64 + " ") * 1_000, seconds=0.0)
    watched = play(endless, ScriptedVLM("other", WORDS, seconds=0.01))
    assert watched.round.ending == "void"
    assert [(failure.model, failure.kind) for failure in watched.round.failures] == [
        ("endless", "blank")
    ]
    assert endless.closed == 1


def test_blanks_within_an_answer_are_no_failure():
    gap = "A" + " " * 900 + "B" + " \n" * 400 + "C"
    assert play(ScriptedVLM("gaps", gap), ScriptedVLM("other", WORDS)).round.ending == "complete"


def test_both_sides_grow_in_step_and_never_beyond_the_slower():
    watched = play(ScriptedVLM("fast", WORDS), ScriptedVLM("slow", WORDS, seconds=0.02))
    assert watched.round.ending == "complete"
    assert len(watched.frames) > 3, "it grew bit by bit"
    assert all(a == b for _, a, b in watched.frames)
    assert [side_text.text for side_text in watched.round.side_texts.values()] == [WORDS, WORDS]


@pytest.mark.parametrize("slow_side", ["a", pytest.param("b", marks=pytest.mark.soak)])
def test_the_longer_side_runs_on_no_faster_than_both_grew(slow_side):
    """Whether it is the slow model or the fast one that has more to say: the pace stays the same."""
    short = " ".join(WORDS.split()[:15])
    slow, fast = ScriptedVLM("slow", WORDS, seconds=0.02), ScriptedVLM("fast", short)
    short_slow, long_fast = ScriptedVLM("slow", short, seconds=0.02), ScriptedVLM("fast", WORDS)
    paces = []
    for pair in ((slow, fast), (short_slow, long_fast)):
        watched = play(*(pair if slow_side == "a" else pair[::-1]))
        run_on = [(at, max(a, b)) for at, a, b in watched.frames if a != b]
        paces.append((run_on[-1][1] - run_on[0][1]) / (run_on[-1][0] - run_on[0][0]))
    assert paces[1] < 60, "what is here already is held back"
    assert 0.6 < paces[0] / paces[1] < 1.7


def test_a_whole_answer_at_once_does_not_make_the_other_run_away():
    watched = play(
        ScriptedVLM("at once", "short", first=0.3), ScriptedVLM("fast", WORDS), stop_after=1.0
    )
    assert watched.frames[0][1:] == (1, 1)
    assert watched.round.side_texts["b"].words_shown < 10


def test_a_long_answer_is_shown_whole_soon_after_both_streams_have_ended():
    """At the pace of the short one it would take half a minute; both streams have ended after half a second."""
    short = ScriptedVLM("short", " ".join(["word"] * 8), seconds=0.06)
    watched = play(short, ScriptedVLM("long", " ".join(["word"] * 600)), stop_after=10)
    assert watched.round.ending == "complete"
    rest = [b for _, a, b in watched.frames if b > 8]
    assert len(rest) > 5, "not all at once"


def test_one_can_choose_when_one_answer_is_whole_and_fifty_words_of_the_other_are_there():
    short, long = (
        ScriptedVLM(name, " ".join(["word"] * words), 0.01)
        for name, words in (("s", 20), ("l", 120))
    )
    watched = play(short, long)
    for (_, a, b), choosable in zip(watched.frames, watched.choosable, strict=True):
        assert choosable == (a == 20 and b >= ENOUGH_WORDS), (a, b)
    assert False in watched.choosable and True in watched.choosable[:-1], (
        "before the longer one has ended"
    )


def test_one_cannot_choose_while_a_side_shows_thinking_alone():
    """The prompt opened it, so that it stands in the text until its end has come."""
    thought = " ".join(["word"] * ENOUGH_WORDS)
    thinker = ScriptedVLM("t", f"{thought}\n</think> \n {WORDS}", 0.01)
    seen = []

    class Chooser(Watcher):
        def tell(self) -> None:
            thinks = self.round.side_texts["b"].text.rstrip().endswith("</think>")
            seen.append((thinks, self.round.is_enough_shown, self.round.can_be_chosen))

    play(ScriptedVLM("s", "One two three."), thinker, watcher=Chooser)
    assert (True, True, False) in seen
    assert all(can == choosable for thinks, choosable, can in seen if not thinks)


def test_two_short_answers_can_be_chosen_from_when_both_are_whole():
    watched = play(ScriptedVLM("one", WORDS), ScriptedVLM("two", f"{WORDS} and more"))
    assert watched.round.is_enough_shown


def test_both_begin_together_after_a_delay_however_soon_their_words_are_there():
    watched = play(ScriptedVLM("one", WORDS), ScriptedVLM("two", WORDS, seconds=0.03), delay=0.4)
    first, a, b = watched.frames[0]
    assert first >= 0.4
    assert a == b > 5


def test_a_lost_attempt_is_in_the_cost_of_its_side():
    side_text = SideText(ScriptedVLM("one"))
    side_text.add_usage(Usage(10, 0, 20))
    side_text.add_usage(Usage(10, 13, 124, cut=True))
    assert (side_text.tokens, side_text.cost, side_text.is_cut) == (13, 144, True)


def test_an_answer_that_fails_before_its_words_are_shown_is_replaced_once():
    stand_in = ScriptedVLM("other", WORDS)
    watched = play(
        ScriptedVLM("bad", WORDS, fails=(3, "cut")), ScriptedVLM("good", WORDS, first=0.2), stand_in
    )
    assert watched.round.ending == "complete"
    assert watched.round.side_texts["a"].vlm is stand_in
    assert [tuple(failure) for failure in watched.round.failures] == [("bad", "cut")]


@pytest.mark.parametrize("empty", ["", " \n ", "\u200b\u2060"])
def test_an_empty_answer_is_replaced(empty):
    watched = play(ScriptedVLM("good"), ScriptedVLM("empty", empty), ScriptedVLM("other"))
    assert watched.round.ending == "complete"
    assert watched.round.side_texts["b"].vlm.card.name == "other"
    assert [tuple(failure) for failure in watched.round.failures] == [("empty", "empty")]


def test_it_is_void_when_the_stand_in_fails_too_or_there_is_none():
    bad = [ScriptedVLM(f"bad{number}", fails=(0, "down")) for number in range(2)]
    assert play(bad[0], ScriptedVLM("good"), bad[1]).round.ending == "void"
    watched = play(ScriptedVLM("bad", fails=(0, "down")), ScriptedVLM("good"))
    assert watched.round.ending == "void"
    assert not watched.frames


def test_it_is_void_when_a_side_fails_after_its_words_were_shown():
    stand_in = ScriptedVLM("other", WORDS)
    bad = ScriptedVLM("bad", WORDS, seconds=0.02, fails=(20, "cut"))
    watched = play(bad, ScriptedVLM("good", WORDS), stand_in)
    assert watched.round.ending == "void"
    assert watched.frames
    assert stand_in.asked == []


def test_both_sides_may_be_replaced():
    bad = [ScriptedVLM(f"bad{number}", fails=(0, "down")) for number in range(2)]
    watched = play(*bad, ScriptedVLM("one"), ScriptedVLM("two"))
    assert watched.round.ending == "complete"
    assert {side_text.vlm.card.name for side_text in watched.round.side_texts.values()} == {
        "one",
        "two",
    }


def test_stop_ends_both_and_keeps_what_is_shown():
    one, two = (ScriptedVLM(name, WORDS, seconds=0.05) for name in ("one", "two"))
    watched = play(one, two, stop_after=0.5)
    assert watched.round.ending == "stopped"
    texts = {side_text.text for side_text in watched.round.side_texts.values()}
    assert len(texts) == 1
    assert 0 < len(texts.pop().split()) < 15
    assert one.closed == two.closed == 1


def test_a_model_that_speaks_for_ever_is_slow():
    watched = play(
        ScriptedVLM("endless", "word " * 1000, seconds=0.05), ScriptedVLM("good"), patience=0.2
    )
    assert watched.round.ending == "void"
    assert [tuple(failure) for failure in watched.round.failures] == [("endless", "slow")]


def test_a_stream_that_breaks_in_an_unknown_way_leaves_nobody_waiting():
    class Broken(ScriptedVLM):
        async def stream(self, turns, settings, note=None):
            yield "word"
            raise ZeroDivisionError

    assert play(Broken("broken"), ScriptedVLM("good", WORDS, seconds=0.05)).round.ending == "void"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.sampled_from((0.0, 0.003, 0.01)), st.integers(-1, 12)),
        min_size=2,
        max_size=2,
    )
)
def test_every_pair_of_streams_ends_in_step(scripts):
    """Whatever the lengths, speeds and failures: in step until one is complete, and an end of the right kind."""
    vlms = [
        ScriptedVLM(
            f"m{number}",
            " ".join(["w"] * words),
            pause,
            fails=None if fails < 0 else (fails, "cut"),
        )
        for number, (words, pause, fails) in enumerate(scripts)
    ]
    watched = play(*vlms)
    good = all(words and fails < 0 for words, _, fails in scripts)
    assert watched.round.ending == ("complete" if good else "void")
    least = min(words for words, _, _ in scripts)
    for _, a, b in watched.frames:
        assert a == b or min(a, b) == least


def timings(watched: Watcher) -> dict[str, list[float]]:
    """Return for each side the times between its growths, and its whole time."""
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for place, side in enumerate(SIDES, 1):
        grown = [
            after[0]
            for before, after in zip(watched.frames, watched.frames[1:], strict=False)
            if after[place] > before[place]
        ]
        times[side] += [later - earlier for earlier, later in zip(grown, grown[1:], strict=False)]
    return times


async def crowd(battles: int) -> tuple[list[float], list[float]]:
    """Let a fast and a five times slower model meet often; return the timing of the sides of either."""
    coin = random.Random(5)
    line = asyncio.Semaphore(40)

    async def battle() -> tuple[list[float], list[float]]:
        lengths = [coin.randint(8, 40) for _ in SIDES]
        fast, slow = (
            ScriptedVLM(name, " ".join(["word"] * length), pause, coin=coin)
            for name, length, pause in zip(("fast", "slow"), lengths, (0.01, 0.05), strict=True)
        )
        pair = sides(fast, slow) if coin.random() < 0.5 else sides(slow, fast)
        async with line:
            round_ = SideBySide(pair, lambda _, vlm: vlm.stream([], vlm.card.generation))
            watcher = Watcher(round_)
            await round_.run(watcher.tell)
        times = timings(watcher)
        of_fast = next(side for side in SIDES if pair[side] is fast)
        return times[of_fast], times["b" if of_fast == "a" else "a"]

    played = await asyncio.gather(*(battle() for _ in range(battles)))
    return [one for fast, _ in played for one in fast], [one for _, slow in played for one in slow]


def test_the_timing_of_a_side_tells_nothing_about_its_model():
    """Many battles, one model five times slower: the pauses between the growths of both look the same."""
    fast, slow = run(crowd(200))
    assert min(len(fast), len(slow)) > 1000
    assert ks_2samp(fast, slow).pvalue > 0.01


def test_a_page_that_shows_words_as_they_come_would_be_told_apart():
    """The same measure sees the difference where nothing holds the words back."""

    async def pauses(seconds: float) -> list[float]:
        at = []
        async for _ in ScriptedVLM("one", WORDS, seconds).stream(
            [], ScriptedVLM("one").card.generation
        ):
            at.append(now())
        return [later - earlier for earlier, later in zip(at, at[1:], strict=False)]

    fast, slow = (run(pauses(seconds)) for seconds in (0.01, 0.05))
    assert ks_2samp(fast, slow).pvalue < 0.01


def test_scripted_failures_are_failures():
    async def hear() -> None:
        async for _ in ScriptedVLM("bad", fails=(1, "cut")).stream(
            [], ScriptedVLM("bad").card.generation
        ):
            pass

    with pytest.raises(ModelError):
        run(hear())
