"""Routes of scoring jobs: upload a file, download a report."""

from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse

from arena.web.cookies import cookie_hash, sent_cookie
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from scoring.jobs.store import Jobs
from scoring.jobs.uploads import UploadStore, UploadStoreError
from scoring.registry import BENCHMARKS

UPLOADS = "/uploads"


def routes(upload_store: UploadStore, jobs: Jobs) -> APIRouter:
    """Return the router; a file goes into its voter's upload store, a report to anybody who has its link."""
    router = APIRouter()

    @router.post(UPLOADS)
    async def upload(request: Request, name: str = "") -> PlainTextResponse:
        cookie = sent_cookie(request.headers)
        if cookie is None:
            return PlainTextResponse("Your browser keeps no cookie for this page.", status_code=403)
        try:
            arrived = await upload_store.receive(cookie_hash(cookie), name, request.stream(), request.state.network)
        except UploadStoreError as error:
            return PlainTextResponse(str(error), status_code=400)
        return PlainTextResponse(arrived.token)

    @router.get("/sample-predictions.json")
    def sample() -> FileResponse:
        return FileResponse(SAMPLE_PREDICTIONS)

    @router.get("/reports/{link}/{name}")
    def download(link: str, name: str) -> Response:
        report = jobs.report(link)
        content = BENCHMARKS[report.benchmark].files(report).get(name) if report else None
        if content is None:
            return PlainTextResponse("There is no such report or file.", status_code=404)
        return attachment(name, content)

    return router


def attachment(name: str, content: bytes | str) -> Response:
    """Return a file to save that neither caches nor search engines keep."""
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "cache-control": "private, no-store",
        "x-robots-tag": "noindex",
    }
    return Response(content, media_type="application/octet-stream", headers=headers)
