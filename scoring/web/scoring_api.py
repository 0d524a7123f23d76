"""Routes of scoring: upload a file; download a report, a judge's board, or how far people agree."""

import asyncio
from typing import NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse
from starlette.datastructures import UploadFile

from arena.drawing_png import png
from arena.drawings import Drawing, svg_file
from arena.io.aside import AsideError
from arena.io.tables import RowsError
from arena.locale import ENGLISH, speaking, translated
from arena.plots import Plot
from arena.sheets import as_csv
from arena.web.campaign_api import check_charset
from arena.web.cookies import NO_STORE, cookie_hash, owner_of, sent_cookie
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from scoring.jobs.owners import ReportOwners
from scoring.jobs.store import Jobs
from scoring.jobs.submissions import Submissions
from scoring.jobs.uploads import UploadStore, UploadStoreError
from scoring.people.agreement_files import agreement_json, scores_csv
from scoring.people.agreement_service import AgreementService
from scoring.people.agreement_sheets import measure_sheet
from scoring.registry import benchmark_of
from scoring.visit_bench.benchmark import VISIT_BENCH
from scoring.visit_bench.leaderboard import family_csv, leaderboard_tsv
from scoring.web.agreement_view import reproduction_plot
from scoring.web.article import wrong_answers_of
from scoring.web.judges_page import board_chart, family_plot
from scoring.web.question_pictures import QuestionPictures

UPLOADS = "/uploads"
AGREEMENT_FILES = {
    "measures.csv": lambda agreement: as_csv(measure_sheet(agreement)),
    "agreement.json": agreement_json,
    "figure.svg": lambda agreement: plot_file("figure.svg", reproduction_plot(agreement)),
    "figure.png": lambda agreement: plot_file("figure.png", reproduction_plot(agreement)),
}
BOARD_FILES = {
    "board.tsv": lambda board: leaderboard_tsv([board]),
    "chart.svg": lambda board: drawing_file("chart.svg", board_chart(board)),
    "chart.png": lambda board: drawing_file("chart.png", board_chart(board)),
    "families.csv": lambda board: family_csv([board]),
    "families.svg": lambda board: plot_file("families.svg", family_plot(board)),
    "families.png": lambda board: plot_file("families.png", family_plot(board)),
}


def plot_file(name: str, plot: Plot | None) -> bytes:
    """Returns a plot's drawing as a file; empty without a plot."""
    return drawing_file(name, plot.drawing if plot else None)


def drawing_file(name: str, drawing: Drawing | None) -> bytes:
    if drawing is None:
        return b""
    return png(drawing) if name.endswith(".png") else svg_file(drawing).encode()


def upload_routes(upload_store: UploadStore, owners: ReportOwners) -> APIRouter:
    """Returns the router; a file joins its owner's uploads, with `beside`, a token, those of that earlier upload."""
    router = APIRouter()

    @router.post(UPLOADS)
    async def upload(request: Request, name: str = "", beside: str = "") -> PlainTextResponse:
        cookie = sent_cookie(request.headers)
        if cookie is None:
            problem = translated("Your browser keeps no cookie for this page.")
            return PlainTextResponse(problem, status_code=403)
        owner = await asyncio.to_thread(owners.owner_of, cookie_hash(cookie))
        network = request.state.network
        try:
            upload = await upload_store.receive(owner, name, request.stream(), network, beside)
        except UploadStoreError as error:
            return PlainTextResponse(translated(error), status_code=400)
        return PlainTextResponse(upload.token)

    @router.get("/sample-predictions.json")
    def sample() -> FileResponse:
        return FileResponse(SAMPLE_PREDICTIONS)

    return router


def report_routes(jobs: Jobs, pictures: QuestionPictures) -> APIRouter:
    """Returns the router; anybody who may read a report, by link or slug, may have its files and pictures."""
    router = APIRouter()

    @router.get("/reports/{link}/{name}")
    def download(link: str, name: str) -> Response:
        report = jobs.readable_report(link)
        with speaking(ENGLISH):
            content = benchmark_of(report).files(report).get(name) if report else None
        if content is None:
            return PlainTextResponse("There is no such report or file.", status_code=404)
        return attachment(name, content)

    @router.get("/reports/{link}/pictures/{name}")
    def picture(link: str, name: str) -> Response:
        job = jobs.find(link)
        if job and (data := pictures.report_picture(job.link, name)):
            return Response(data, media_type="image/webp", headers=NO_STORE)
        report = jobs.readable_report(link)
        # a link to a report opens no other pictures than those on its page
        is_named = report is not None and any(
            name in answer.pictures for answer in wrong_answers_of(report)
        )
        path = pictures.path(name) if is_named else None
        if path is None:
            return PlainTextResponse("There is no such report or picture.", status_code=404)
        return FileResponse(path, headers=NO_STORE)

    return router


def board_routes(submissions: Submissions) -> APIRouter:
    router = APIRouter()

    @router.get("/automatic/{name}")
    def download(name: str, board: str = "") -> Response:
        board_keys = {board_key.key: board_key for board_key in submissions.store.board_keys()}
        key = board_keys.get(board)
        if key is None or name not in (*BOARD_FILES, "battles.jsonl"):
            return PlainTextResponse("There is no such board or file.", status_code=404)
        if name in BOARD_FILES:
            with speaking(ENGLISH):
                content = BOARD_FILES[name](submissions.store.standings(key).board)
        else:
            content = VISIT_BENCH.files(submissions.board_report(key))[name]
        headers = {
            "content-disposition": f"attachment; filename={name}",
            "cache-control": "no-store",
        }
        return Response(content, media_type="application/octet-stream", headers=headers)

    return router


def agreement_routes(service: AgreementService) -> APIRouter:
    """Returns the router; `own` is the token of an uploaded file, accepted from its owner only."""
    router = APIRouter()

    @router.get("/agreement/{name}")
    def download(request: Request, name: str, source: str = "", own: str = "") -> Response:
        try:
            if source not in service.sources() or name not in (*AGREEMENT_FILES, "scores.csv"):
                return PlainTextResponse("There are no such items or file.", status_code=404)
            if name not in AGREEMENT_FILES:
                return attachment(name, scores_csv(service.answers(source)))
            if own:
                agreement = service.compare_file(source, owner_of(request.headers), own).agreement
            else:
                agreement = service.agreement(source)
            with speaking(ENGLISH):
                content = AGREEMENT_FILES[name](agreement)
            return attachment(name, content)
        except (UploadStoreError, RowsError, AsideError) as error:
            return PlainTextResponse(str(error), status_code=400)

    return router


class SentFile(NamedTuple):
    """A file in a form; both are empty without one."""

    content: bytes
    name: str


async def sent_file(request: Request) -> SentFile:
    """Returns the one file of a form. Raises HTTPException."""
    check_charset(request)
    async with request.form(max_files=1, max_fields=1) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            return SentFile(b"", "")
        return SentFile(await file.read(), file.filename or "")


def attachment(name: str, content: bytes | str) -> Response:
    """Returns a file to save that neither caches nor search engines keep."""
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}", **NO_STORE}
    return Response(content, media_type="application/octet-stream", headers=headers)
