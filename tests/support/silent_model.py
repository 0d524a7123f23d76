"""The process of a local model that is loaded at once and answers nothing: enough for a pool of them."""

import json
import sys

if __name__ == "__main__":
    sys.stdout.write(json.dumps({"kind": "loaded"}) + "\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        continue
