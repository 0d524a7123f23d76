"""The cache: by digest, bounded in weight and time."""

import gc
import tracemalloc

from arena.cache import Cache, tidy


def test_a_value_is_made_once_for_what_it_is_made_of():
    made = list[str]()
    cache: Cache[str] = Cache(10)

    def make(text: str) -> str:
        made.append(text)
        return text.upper()

    for text in ("a", "b", "a"):
        assert cache.get(("x", text), lambda text=text: make(text)) == text.upper()
    assert made == ["a", "b"]
    cache.clear()
    cache.get(("x", "a"), lambda: make("a"))
    assert made == ["a", "b", "a"]


def test_the_least_recently_used_goes_and_what_is_heavier_than_all_is_not_kept():
    cache: Cache[str] = Cache(10, weigh=len)
    for text in ("aaaa", "bbbb", "aaaa", "cccc"):
        cache.get(text, lambda text=text: text)
    made = list[str]()
    for text in ("aaaa", "cccc", "bbbb", "d" * 11, "d" * 11):
        cache.get(text, lambda text=text: made.append(text) or text)
    assert made == ["bbbb", "d" * 11, "d" * 11]


def test_what_nobody_asks_for_goes_with_time():
    cache: Cache[int] = Cache(10, seconds=0)
    cache.get("a", lambda: 1)
    tidy()
    assert cache.get("a", lambda: 2) == 2


def test_no_text_stays_in_a_key():
    cache: Cache[int] = Cache(1_000)
    tracemalloc.start()
    for number in range(100):
        cache.get((f"{number}" * 200_000,), lambda: 1)
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < 1_000_000
    tracemalloc.stop()


def test_a_value_that_was_begun_before_all_were_dropped_is_not_kept():
    cache: Cache[int] = Cache(10)

    def make_while_cleared() -> int:
        cache.clear()
        return 1

    assert cache.get("a", make_while_cleared) == 1
    assert cache.get("a", lambda: 2) == 2
