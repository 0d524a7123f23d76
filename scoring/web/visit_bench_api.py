"""Routes of the automatic leaderboard: a board as the authors' table, and its battles."""

from collections.abc import Callable, Mapping

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from scoring.jobs.submissions import Submissions
from scoring.visit_bench.benchmark import VISIT_BENCH
from scoring.visit_bench.leaderboard import family_table, table
from scoring.visit_bench.store import JudgeBoardKey

FILES: Mapping[str, Callable[[Submissions, JudgeBoardKey], bytes]] = {
    "board.tsv": lambda submissions, board_key: table([submissions.store.standings(board_key).board]).encode(),
    "families.csv": lambda submissions, board_key: family_table(
        [submissions.store.standings(board_key).board]
    ).encode(),
    "battles.jsonl": lambda submissions, board_key: VISIT_BENCH.files(submissions.board_report(board_key))[
        "battles.jsonl"
    ],
}


def routes(submissions: Submissions) -> APIRouter:
    """Return the router; boards are public."""
    router = APIRouter()

    @router.get("/automatic/{name}")
    def download(name: str, board: str = "") -> Response:
        board_key = next((board_key for board_key in submissions.store.board_keys() if board_key.key == board), None)
        if board_key is None or name not in FILES:
            return PlainTextResponse("There is no such board or file.", status_code=404)
        content = FILES[name](submissions, board_key)
        headers = {"content-disposition": f"attachment; filename={name}", "cache-control": "no-store"}
        return Response(content, media_type="application/octet-stream", headers=headers)

    return router
