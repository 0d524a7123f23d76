"""Routes of the "Judges and people" tab: its figures and the table to fill in with a metric's scores, as downloads."""

from collections.abc import Callable, Mapping

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from arena.database import DatabaseError
from arena.io.tables import RowsError
from arena.web.cookies import cookie_hash, sent_cookie
from scoring.agreement.people_agreement import PeopleAgreement
from scoring.agreement.reader import agreement_json, measures_csv, scores_csv
from scoring.agreement.service import AgreementService
from scoring.jobs.uploads import UploadStoreError
from scoring.web.jobs_api import attachment

FIGURES: Mapping[str, Callable[[PeopleAgreement], str]] = {
    "measures.csv": measures_csv,
    "agreement.json": agreement_json,
}
SCORES = "scores.csv"


def routes(service: AgreementService) -> APIRouter:
    """Return the router; `own` is the token of an uploaded file, accepted from its owner only."""
    router = APIRouter()

    @router.get("/agreement/{name}")
    def download(request: Request, name: str, source: str = "", own: str = "") -> Response:
        try:
            if source not in service.sources() or name not in (*FIGURES, SCORES):
                return PlainTextResponse("There are no such items or file.", status_code=404)
            if name == SCORES:
                text = scores_csv(service.answers(source))
            else:
                cookie = sent_cookie(request.headers)
                found = service.beside(source, cookie_hash(cookie or ""), own) if own else service.of(source)
                text = FIGURES[name](found.people_agreement)
        except (UploadStoreError, RowsError) as error:
            return PlainTextResponse(str(error), status_code=400)
        except DatabaseError as error:
            return PlainTextResponse(str(error), status_code=503)
        return attachment(name, text)

    return router
