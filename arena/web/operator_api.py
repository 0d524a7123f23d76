"""Operator API: the operators' link, and the images that visitors agreed to keep."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse

from arena.live.images import OwnImages
from arena.web.admin_auth import DAY, OPERATOR_COOKIE, LinkError, Operators
from arena.web.cookies import NO_STORE, cookie_header, over_https


def routes(images: OwnImages, operators: Operators) -> APIRouter:
    router = APIRouter()

    @router.post("/operator", status_code=204)
    async def enter(request: Request) -> Response:
        """Bind the browser that sends the link's code, unless it is an operator's already."""
        if operators.of(request.headers):
            return Response(status_code=204)
        try:
            cookie = operators.redeem((await request.body()).decode(errors="replace"))
        except LinkError as error:
            return PlainTextResponse(
                str(error), status_code=429 if error.too_many else 403, headers=NO_STORE
            )
        https = over_https(request.scope, request.headers)
        kept = cookie_header(cookie, https, OPERATOR_COOKIE, DAY)
        return Response(status_code=204, headers={**NO_STORE, "set-cookie": kept})

    @router.get("/operators/uploads/{image}")
    def upload(image: str, request: Request) -> Response:
        """Return an image to an operator; anybody else gets 404."""
        number = int(image) if image.isascii() and image.isdigit() and len(image) < 10 else 0
        path = images.kept_path(number) if operators.of(request.headers) else None
        if path is None:
            return PlainTextResponse("There is no such image.", status_code=404)
        return FileResponse(path, headers=NO_STORE)

    return router
