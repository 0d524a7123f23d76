"""The process of a local model without weights: loaded at once, it says words until it is stopped.

It speaks the protocol of `arena.inference.local_model`, with requests side by side.
"""

import json
import sys
import threading
import time

WORD = " word"
PACE = 0.01
"""Seconds before each word."""


def main() -> None:
    lock = threading.Lock()
    stopped: set[int] = set()

    def say(**message: object) -> None:
        with lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    def answer(number: int, most: int) -> None:
        said = 0
        say(kind="started", id=number, prompt=1)
        while said < most and number not in stopped:
            time.sleep(PACE)
            said += 1
            say(kind="piece", id=number, text=WORD, tokens=said)
        say(kind="end", id=number, texts=[WORD * said], prompt=1, tokens=said)

    say(kind="loaded")
    for request in map(json.loads, sys.stdin):
        if "stop" in request:
            stopped.add(request["stop"])
        elif "id" in request:
            asked = (request["id"], request["settings"]["max_tokens"])
            threading.Thread(target=answer, args=asked, daemon=True).start()


if __name__ == "__main__":
    main()
