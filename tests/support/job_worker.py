"""A job worker at work on a database of its own."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scoring.jobs.store import Job
from tests.support.judging_process import Bench, state


def wait_for(what: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def ended(bench: Bench, link: str) -> Job:
    """Return a job when it is no longer under way."""
    wait_for(lambda: state(bench, link) not in ("waiting", "judging"))
    job = bench.jobs.find(link)
    assert job
    return job


@contextmanager
def running(*benches: Bench) -> Iterator[None]:
    for bench in benches:
        bench.worker.start()
    try:
        yield
    finally:
        for bench in benches:
            bench.worker.stop()
