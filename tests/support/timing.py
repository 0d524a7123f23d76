"""How long a piece of work takes, whatever else the machine and the test run are doing."""

import time
from collections.abc import Callable


def work_seconds(work: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    """Return the least processor seconds of three runs of the work, by default of this thread alone.

    A collection of the test run's own garbage falls into any one run; no run is quicker than the work itself.
    """
    taken = []
    for _ in range(3):
        begun = clock()
        work()
        taken.append(clock() - begun)
    return min(taken)
