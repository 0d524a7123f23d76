"""A Hub on loopback that knows one dataset, and as much of the protocol as the real client needs for a mirror."""

import base64
import hashlib
import json
import threading
from urllib.parse import unquote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class HubServer:
    """Serve while entered; `status` other than 200 answers everything with it."""

    def __init__(self, private: bool | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.private = private
        self.status = 200
        routes = [
            Route("/api/repos/create", self._create, methods=["POST"]),
            Route("/api/datasets/{owner}/{name}", self._info),
            Route("/api/datasets/{owner}/{name}/revision/{revision}", self._info),
            Route("/api/datasets/{owner}/{name}/tree/{revision}", self._tree),
            Route("/api/datasets/{owner}/{name}/preupload/{revision}", self._preupload, methods=["POST"]),
            Route("/api/datasets/{owner}/{name}/commit/{revision}", self._commit, methods=["POST"]),
            Route("/datasets/{owner}/{name}/resolve/{revision}/{path:path}", self._resolve, methods=["GET", "HEAD"]),
        ]
        config = uvicorn.Config(Starlette(routes=routes), port=0, log_level="error")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> "HubServer":
        self._thread.start()
        while not self._server.started:
            pass
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    async def _create(self, request: Request) -> Response:
        if self.private is not None:
            return JSONResponse({"error": "there", "url": f"{self.address}/datasets/ada/votes"}, 409)
        asked = json.loads(await request.body())
        self.private = bool(asked.get("private")) or asked.get("visibility") == "private"
        return JSONResponse({"url": f"{self.address}/datasets/{asked.get('organization', 'ada')}/{asked['name']}"})

    async def _info(self, _: Request) -> Response:
        return JSONResponse({"id": "ada/votes", "private": self.private, "sha": "0" * 40, "tags": [], "siblings": []})

    async def _tree(self, _: Request) -> Response:
        return JSONResponse(
            [
                {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for path, content in self.files.items()
            ]
        )

    async def _preupload(self, request: Request) -> Response:
        if self.status != 200:
            return JSONResponse({"error": "out of order"}, self.status)
        files = json.loads(await request.body())["files"]
        return JSONResponse(
            {"files": [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]}
        )

    async def _commit(self, request: Request) -> Response:
        for line in (await request.body()).decode().splitlines():
            part = json.loads(line)
            if part["key"] == "file":
                self.files[part["value"]["path"]] = base64.b64decode(part["value"]["content"])
        return JSONResponse({"commitUrl": f"{self.address}/datasets/ada/votes/commit/1", "commitOid": "1" * 40})

    async def _resolve(self, request: Request) -> Response:
        content = self.files[unquote(request.path_params["path"])]
        headers = {"etag": f'"{hashlib.sha1(content).hexdigest()}"', "x-repo-commit": "0" * 40}
        return Response(content, headers=headers)
