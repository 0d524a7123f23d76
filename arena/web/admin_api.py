"""Admin API: the operators' link, and the stored visitor images that they moderate."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse, RedirectResponse

from arena.database import DatabaseError
from arena.live.images import OwnImages
from arena.web.admin_auth import DAY, OPERATOR_COOKIE, LinkError, Operators
from arena.web.cookies import NO_STORE, cookie_header, over_https


def routes(images: OwnImages, operators: Operators) -> APIRouter:
    router = APIRouter()

    @router.get("/operator")
    async def enter(request: Request, code: str = "") -> Response:
        try:
            cookie = operators.redeem(code)
        except LinkError as error:
            return PlainTextResponse(str(error), status_code=429 if error.too_many else 403, headers=NO_STORE)
        answer = RedirectResponse("/", status_code=303, headers=NO_STORE)
        answer.headers.append("set-cookie", cookie_header(cookie, over_https(request), OPERATOR_COOKIE, DAY))
        return answer

    @router.get("/operators/uploads/{image}")
    def upload(image: str, request: Request) -> Response:
        """Return an image to an operator; anybody else gets 404."""
        number = int(image) if image.isascii() and image.isdigit() and len(image) < 10 else 0
        try:
            path = images.kept_path(number) if operators.of(request.headers) else None
        except DatabaseError as error:
            return PlainTextResponse(str(error), status_code=503)
        if path is None:
            return PlainTextResponse("There is no such image.", status_code=404)
        return FileResponse(path, headers=NO_STORE)

    return router
