"""Admin API: the route that shows stored visitor images to the operators who moderate them."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse

from arena.database import DatabaseError
from arena.live.images import OwnImages
from arena.web.admin_auth import Operators
from arena.web.cookies import NO_STORE


def routes(images: OwnImages, operators: Operators) -> APIRouter:
    """Return the route; anyone but an operator gets 404."""
    router = APIRouter()

    @router.get("/operators/uploads/{image}", response_model=None)
    def upload(image: str, request: Request) -> Response:
        number = int(image) if image.isascii() and image.isdigit() and len(image) < 10 else 0
        try:
            path = images.kept_path(number) if operators.of(request.headers) else None
        except DatabaseError as error:
            return PlainTextResponse(str(error), status_code=503)
        if path is None:
            return PlainTextResponse("There is no such image.", status_code=404)
        return FileResponse(path, headers=NO_STORE)

    return router
