"""A Hub on loopback that knows one dataset, Spaces, and as much of the protocol as the real client needs for them."""

import base64
import hashlib
import json
import threading
from dataclasses import dataclass, field
from urllib.parse import unquote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


@dataclass
class Space:
    """A Space as the Hub keeps it."""

    private: bool = False
    sdk: str = "gradio"
    files: dict[str, bytes] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    commits: int = 0


class HubServer:
    """Serve while entered; `status` other than 200 answers everything with it, `no_spaces` the making of Spaces."""

    def __init__(self, private: bool | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.private = private
        self.status = 200
        self.no_spaces: int | None = None
        self.spaces: dict[str, Space] = {}
        self.asked: list[str] = []
        """Methods and paths of all requests, in order."""
        routes = [
            Route("/api/validate-yaml", self._validate, methods=["POST"]),
            Route("/api/spaces/{owner}/{name}/tree/{revision}", self._space_tree),
            Route("/api/spaces/{owner}/{name}/preupload/{revision}", self._preupload, methods=["POST"]),
            Route("/api/spaces/{owner}/{name}/commit/{revision}", self._space_commit, methods=["POST"]),
            Route("/api/spaces/{owner}/{name}/variables", self._space_variable, methods=["POST"]),
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
        self.asked.append(f"{request.method} {request.url.path}")
        if self.status != 200:
            return JSONResponse({"error": "out of order"}, self.status)
        if json.loads(await request.body()).get("type") == "space":
            return await self._create_space(request)
        if self.private is not None:
            return JSONResponse({"error": "there", "url": f"{self.address}/datasets/ada/votes"}, 409)
        asked = json.loads(await request.body())
        self.private = bool(asked.get("private")) or asked.get("visibility") == "private"
        return JSONResponse({"url": f"{self.address}/datasets/{asked.get('organization', 'ada')}/{asked['name']}"})

    async def _create_space(self, request: Request) -> Response:
        asked = json.loads(await request.body())
        name = f"{asked['organization']}/{asked['name']}"
        if self.no_spaces is not None:
            return JSONResponse({"error": "You need PRO"}, self.no_spaces)
        if name in self.spaces:
            return JSONResponse({"error": "there", "url": f"{self.address}/spaces/{name}"}, 409)
        private = bool(asked.get("private")) or asked.get("visibility") == "private"
        self.spaces[name] = Space(private, asked["sdk"])
        return JSONResponse({"url": f"{self.address}/spaces/{name}"})

    async def _validate(self, request: Request) -> Response:
        asked = json.loads(await request.body())
        wrong = [] if asked["content"].startswith("---\ntitle: ") else [{"message": '"title" is required'}]
        return JSONResponse({"errors": wrong, "warnings": []}, 400 if wrong else 200)

    def _space(self, request: Request) -> Space | None:
        self.asked.append(f"{request.method} {request.url.path}")
        return self.spaces.get(f"{request.path_params['owner']}/{request.path_params['name']}")

    async def _space_tree(self, request: Request) -> Response:
        space = self._space(request)
        if self.status != 200:
            return JSONResponse({"error": "out of order"}, self.status)
        if space is None:
            return JSONResponse({"error": "not found"}, 404, {"x-error-code": "RepoNotFound"})
        return JSONResponse(_listed(space.files))

    async def _space_variable(self, request: Request) -> Response:
        space = self._space(request)
        asked = json.loads(await request.body())
        space.variables[asked["key"]] = asked["value"]
        return JSONResponse({key: {"value": value} for key, value in space.variables.items()})

    async def _space_commit(self, request: Request) -> Response:
        space = self._space(request)
        for line in (await request.body()).decode().splitlines():
            part = json.loads(line)
            if part["key"] == "file":
                space.files[part["value"]["path"]] = base64.b64decode(part["value"]["content"])
            if part["key"] == "deletedFile":
                del space.files[part["value"]["path"]]
        space.commits += 1
        return JSONResponse({"commitUrl": f"{self.address}/spaces/ada/arena/commit/1", "commitOid": "1" * 40})

    async def _info(self, _: Request) -> Response:
        if self.status != 200:
            return JSONResponse({"error": "out of order"}, self.status)
        return JSONResponse({"id": "ada/votes", "private": self.private, "sha": "0" * 40, "tags": [], "siblings": []})

    async def _tree(self, _: Request) -> Response:
        return JSONResponse(_listed(self.files))

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


def _listed(files: dict[str, bytes]) -> list[dict[str, object]]:
    return [
        {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
        for path, content in files.items()
    ]
