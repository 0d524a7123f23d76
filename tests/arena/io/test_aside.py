"""Work aside: what comes back, what bounds it, and that nothing of it stays when nobody waits any more."""

import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from arena.io.aside import _LENGTH, Aside, AsideError, ProcessBounds, _receive, while_waited
from arena.io.strict_json import RowsError
from scoring.benchmarks.predictions import UploadError
from tests.support import aside_work
from tests.support.servers import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
SMALL = ProcessBounds(memory=400_000_000, seconds=1, at_once=1, waiting=3, of_network=2)


@pytest.fixture(scope="module")
def aside() -> Iterator[Aside]:
    running = Aside(["tests.support.aside_work"], SMALL)
    yield running
    running.stop()


def test_it_returns_what_was_computed_in_a_process_of_low_priority(aside):
    assert aside.run(aside_work.niceness, 1_000) >= 1_015
    assert aside.run(aside_work.takes, 20) == 20_000_000


def test_errors_arrive_as_they_were_raised(aside):
    with pytest.raises(RowsError) as rows:
        aside.run(aside_work.refuses_a_row)
    assert str(rows.value) == "x.csv, row 7, column 'answer': expected another"
    with pytest.raises(UploadError) as upload:
        aside.run(aside_work.refuses_an_upload)
    assert (str(upload.value), upload.value.problems) == ("x.csv: one two", ("one", "two"))
    with pytest.raises(ZeroDivisionError) as broken:
        aside.run(aside_work.breaks)
    assert "aside_work.py" in "".join(broken.value.__notes__)


@pytest.mark.parametrize(
    ("work", "given"), [(aside_work.takes, 600), (aside_work.computes, 5), (os._exit, 3)]
)
def test_what_takes_too_much_is_ended_and_the_next_is_served(aside, work, given):
    with pytest.raises(AsideError, match="too much time or memory"):
        aside.run(work, given)
    assert aside.run(aside_work.takes, 1) == 1_000_000


def processes_of(told: Path) -> list[int]:
    deadline = time.monotonic() + 60
    while not told.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return [int(one) for one in told.read_text().split()]


def gone_within(seconds: float, numbers: list[int]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(map(lives, numbers)):
            return True
        time.sleep(0.02)
    return False


def lives(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_work_whose_caller_has_left_ends_within_a_second_and_so_does_what_it_started(
    aside, tmp_path
):
    told = tmp_path / "pids"
    left = threading.Event()
    ended = list[BaseException]()

    def call() -> None:
        with while_waited(lambda: not left.is_set()):
            try:
                aside.run(aside_work.sleeps_with_a_child, told)
            except AsideError as error:
                ended.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    numbers = processes_of(told)
    assert all(map(lives, numbers))
    left.set()
    assert gone_within(1.5, numbers)
    caller.join(5)
    assert "Nobody is waiting" in str(ended)


def test_few_wait_and_of_one_network_fewer(aside, tmp_path):
    left = threading.Event()
    refused = list[str]()

    def call(network: str, number: int) -> None:
        with while_waited(lambda: not left.is_set()):
            try:
                told = tmp_path / str(number)
                aside.run(aside_work.sleeps_with_a_child, told, network=network)
            except AsideError as error:
                refused.append(str(error))

    callers = []
    for number, network in enumerate(["one", "one", "one", "two", "three"]):
        callers.append(threading.Thread(target=call, args=(network, number)))
        callers[-1].start()
        time.sleep(0.1)
    assert len([one for one in refused if "Too many" in one]) == 2
    left.set()
    for one in callers:
        one.join(5)
    assert len(refused) == 5
    assert aside.run(aside_work.takes, 1) == 1_000_000


def test_a_server_that_is_killed_leaves_nothing_behind(tmp_path):
    told = tmp_path / "pids"
    code = (
        "import sys; from pathlib import Path; from arena.io.aside import Aside; "
        "from tests.support.aside_work import sleeps_with_a_child as work; "
        "Aside(['tests.support.aside_work']).run(work, Path(sys.argv[1]))"
    )
    server = subprocess.Popen([sys.executable, "-c", code, str(told)], cwd=ROOT)
    numbers = processes_of(told)
    helpers = [one.pid for one in psutil.Process(server.pid).children()]
    server.kill()
    server.wait()
    assert len(helpers) == 1
    assert gone_within(3, [*numbers, *helpers])


def test_a_helper_that_died_is_started_again(aside):
    aside.run(aside_work.takes, 1)
    assert aside._helper
    aside._helper.kill()
    aside._helper.wait()
    assert aside.run(aside_work.takes, 1) == 1_000_000


def test_an_answer_that_is_cut_off_is_none():
    ours, theirs = socket.socketpair()
    data = pickle.dumps("a" * 1_000)
    with ours:
        with theirs:
            theirs.sendall(_LENGTH.pack(len(data)) + data[:500])
        with pytest.raises(EOFError):
            _receive(ours)


def test_a_helper_that_cannot_start_takes_no_call_however_large():
    broken = Aside(["tests.support.no_such_module"], SMALL)
    try:
        with pytest.raises(AsideError):
            broken.run(len, bytes(10_000_000))
    finally:
        broken.stop()


def test_upload_errors_can_be_sent():
    error = pickle.loads(pickle.dumps(UploadError("x.csv", ("one",))))
    assert (error.file, error.problems) == ("x.csv", ("one",))
