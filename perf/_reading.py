"""Pages to read, measured over the slow line of `perf.page`: a report, the results, a model and a finished battle.

The measurements are the seconds until a page is painted and shows its words, and its requests and bytes. Another
process makes the content with the code of the measured revision: `python perf/_reading.py DATA_DIR` prints the path and
the words of each page as JSON.
"""

import json
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

VOTES = 600
TITLE = "A model of ours"
SECONDS = 1.0
REQUESTS = 12
SHIFT = 0.02
"""Most seconds, requests and layout shift of a page."""
SHOWN = """() => document.querySelector('main')?.innerText.includes(%s)
  && performance.getEntriesByName('first-contentful-paint').length && performance.now()"""


def fill_with(app: Path, data: Path) -> Mapping[str, tuple[str, str]]:
    """Fills the database of a revision's running app with that revision's code; returns path and words of each page."""
    printed = subprocess.run(
        [sys.executable, __file__, str(data)],
        cwd=app.parent,
        env={"PYTHONPATH": str(app.parent), "PATH": ""},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(printed.stdout)


def ready(words: str) -> str:
    """Returns the script that gives the time once a page shows these words."""
    return SHOWN % json.dumps(words)


def fill(data: Path) -> Mapping[str, tuple[str, str]]:
    """Fills the database in a data folder, with the code of this process; returns as `fill_with`."""
    from arena.database import Database
    from arena.items.store import ItemBank
    from scoring.jobs.store import Jobs
    from tests.support.mmt_reports import mmt_report
    from tests.support.planting import Planted, plant

    database = Database(f"sqlite:///{data / 'arena.db'}")
    coin = random.Random(3)
    bank = ItemBank(database)
    # The ids of models count from 1.
    names = {place: model.name for place, model in enumerate(bank.models(), 1)}
    items = [item for item in bank.bank().items.values() if len(item.contestants) > 1]
    votes = []
    for _ in range(VOTES):
        item = coin.choice(items)
        pair = sorted(coin.sample([names[contestant.model] for contestant in item.contestants], 2))
        winner, loser = pair if coin.random() < 0.7 else pair[::-1]
        votes.append(Planted(item.id, winner, loser, left=coin.random() < 0.5))
    plant(database, votes)
    job = Jobs(database).add_done("somebody", mmt_report(TITLE, 0.6))
    database.close()
    first = votes[0]
    return {
        "report": (f"/report/{job.link}", TITLE),
        "results": ("/results", first.winner),
        "model": (f"/model/{first.winner}", first.winner),
        "battle": ("/battle/planted-1", first.winner),
    }


if __name__ == "__main__":
    print(json.dumps(fill(Path(sys.argv[1]))))
