"""The routes of the automatic leaderboard: a board as the authors' table, and the battles that it rests on."""

from collections.abc import Callable, Mapping

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from scoring.jobs.submissions import Submissions
from scoring.visit_bench.benchmark import VisitBench
from scoring.visit_bench.leaderboard import family_table, table
from scoring.visit_bench.store import Shelf

FILES: Mapping[str, Callable[[Submissions, Shelf], bytes]] = {
    "board.tsv": lambda submissions, shelf: table([submissions.book.standings(shelf).board]).encode(),
    "families.csv": lambda submissions, shelf: family_table([submissions.book.standings(shelf).board]).encode(),
    "battles.jsonl": lambda submissions, shelf: VisitBench().files(submissions.shelf_report(shelf))["battles.jsonl"],
}


def routes(submissions: Submissions) -> APIRouter:
    """Return the routes; a board is public."""
    router = APIRouter()

    @router.get("/automatic/{name}")
    def download(name: str, board: str = "") -> Response:
        shelf = next((shelf for shelf in submissions.book.shelves() if shelf.key == board), None)
        if shelf is None or name not in FILES:
            return PlainTextResponse("There is no such board or file.", status_code=404)
        content = FILES[name](submissions, shelf)
        headers = {"content-disposition": f"attachment; filename={name}", "cache-control": "no-store"}
        return Response(content, media_type="application/octet-stream", headers=headers)

    return router
