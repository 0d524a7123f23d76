"""Bounded reader: runs the reader of one file format in this process, with memory, time and output bounded.

`tables.py` runs this file, as `bounded_reader.py READER ORDER < FILE`. READER is a file with a function `rows`, which
yields row number and cells; they are written as lines of JSON, `[row, cells]`. ORDER is a JSON object: `memory` (bytes)
and `seconds` (of CPU time) bound the process, `unpacked` the characters that it writes. The reader gets it too, with
the other limits, the columns to `skip` and those `digested`, and this file's function as `digest`.

An error with a `message`, the fields of `strict_json.RowsError`, is written as the last line. Any other error ends the
process with a traceback that nobody sees; the parent process then raises an error of its own.
"""

import contextlib
import hashlib
import json
import os
import runpy
import sys
from typing import Any

try:
    import resource
except ImportError:  # Windows
    resource = None


SHORT = 64
"""Most characters of a text that is its own digest."""
DIGEST = "sha256:"
"""Start of a digest that is a hash."""


def digest(cell: Any) -> str:
    """Returns a short text as it is, a number as text, "" for None, and of any other cell its sha256."""
    if isinstance(cell, str) and len(cell) <= SHORT and cell.isprintable():
        return cell
    if cell is None:
        return ""
    if isinstance(cell, int | float):
        return str(cell)
    whole = cell if isinstance(cell, bytes) else json.dumps(cell, default=str).encode("ascii")
    return f"{DIGEST}{hashlib.sha256(whole).hexdigest()[:32]}"


def bound_process(memory: int, seconds: int) -> None:
    """Bounds this process's address space and CPU time, where the system can."""
    if resource is None:
        return
    for kind, bound in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS does not bound address space
            resource.setrlimit(kind, (bound, bound))


def main(reader: str, order: dict) -> None:
    bound_process(order["memory"], order["seconds"])
    remaining = order["unpacked"]
    try:
        read_rows = runpy.run_path(reader)["rows"]
        for row, cells in read_rows({**order, "digest": digest}):
            line = json.dumps([row, cells], default=str)
            remaining -= len(line)
            if remaining < 0:
                problem = "The file has more text than we can read at once. Split it, or save it as .csv or .jsonl."
                sys.stdout.write(json.dumps({"problem": problem, "row": row}) + "\n")
                return
            sys.stdout.write(line + "\n")
    except ValueError as error:
        message = getattr(error, "message", None)
        if message is None:
            raise
        sys.stdout.write(json.dumps(message) + "\n")


if __name__ == "__main__":
    # Blocks imports that the readers' libraries do not need here: numpy's threads alone can fill the address space.
    sys.modules |= {"numpy": None, "PIL": None}
    main(sys.argv[1], json.loads(sys.argv[2]))
    sys.stdout.flush()
    os._exit(0)  # pyarrow's threads, cut off at an ordinary end, abort one process in a hundred
