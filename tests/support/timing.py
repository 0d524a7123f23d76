"""How long a piece of work takes, whatever else the machine and the test run are doing."""

import time
from collections.abc import Callable


def work_seconds(work: Callable[[], object]) -> float:
    """Return the least processor seconds of three runs of the work, of this thread alone.

    A collection of the test run's own garbage falls into any one run; no run is quicker than the work itself.
    """
    taken = []
    for _ in range(3):
        begun = time.thread_time()
        work()
        taken.append(time.thread_time() - begun)
    return min(taken)
