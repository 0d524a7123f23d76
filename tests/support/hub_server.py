"""A Hub on loopback: one dataset, Spaces, models, and as much of the protocol as the real client needs for them."""

import asyncio
import base64
import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.hub_models import ModelRepositories


class Faults:
    """Let requests fail: the kinds that `planned` has for an ending of a path, and else a share, drawn from a seed."""

    KINDS = ("500", "502", "503", "504", "429", "reset before", "reset after", "cut", "slow")

    def __init__(self, app: ASGIApp) -> None:
        self.share = 0.0
        self.rng = random.Random(1)
        self.planned: dict[str, list[str]] = {}
        """By a part of a request's method and path, as in "POST /api/datasets/ada/votes/commit"."""
        self.asked_wait = "2"
        """What Retry-After says with a 429."""
        self.made: Counter[str] = Counter()
        self.note: Callable[[str, str, str], None] = lambda method, address, authorization: None
        """Told of every request, also of those that fail."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let it fail."""
        kind = self._drawn(f"{scope['method']} {scope['path']}") if scope["type"] == "http" else ""
        if scope["type"] == "http":
            request = Request(scope)
            query = f"?{request.url.query}" if request.url.query else ""
            token = request.headers.get("authorization", "")
            self.note(scope["method"], f"{request.url.path}{query}", token)
        self.made[kind] += 1
        if kind.isdigit():
            headers = {"retry-after": self.asked_wait} if kind == "429" else {}
            await JSONResponse({"error": "out of order"}, int(kind), headers)(scope, receive, send)
        elif kind == "reset before":
            await _reset(receive)
        elif kind == "silent":
            await _gone(receive)
        elif kind in ("reset after", "cut"):
            await self._torn(kind, scope, receive, send)
        else:
            await asyncio.sleep(0.05 if kind == "slow" else 0)
            await self._app(scope, receive, send)

    def _drawn(self, request: str) -> str:
        for part, kinds in self.planned.items():
            if kinds and part in request:
                return kinds.pop(0)
        return self.rng.choice(self.KINDS) if self.rng.random() < self.share else ""

    async def _torn(self, kind: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Do what is asked, and send nothing of the answer, or half of it."""
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, keep)
        body = b"".join(message.get("body", b"") for message in messages)
        if kind == "cut" and len(body) > 1:
            await send(messages[0])
            await send(
                {"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True}
            )
            await asyncio.sleep(0.01)
        await _reset(receive)


async def _reset(receive: Receive) -> None:
    """Drop the connection: uvicorn gives no other way than the transport of the request's own cycle."""
    receive.__self__.transport.abort()
    await _gone(receive)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@dataclass
class Space:
    """A Space as the Hub keeps it."""

    private: bool = False
    sdk: str = "gradio"
    hardware: str | None = None
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
        self.models: dict[str, dict[str, object]] = {}
        """What the Hub shows of models, by repository."""
        self.asked: list[str] = []
        """Methods and paths of all requests, in order."""
        self.large = ""
        """How paths of files begin that are to come by Git LFS."""
        self.commits: list[list[str]] = []
        """Paths of the files in each commit to the dataset."""
        self.missing: set[str] = set()
        """Paths of files that are listed and not there."""
        self.hub_models = ModelRepositories()
        self._large: dict[str, bytes] = {}
        """By their hash, files that came by Git LFS."""
        routes = [
            *self.hub_models.routes,
            Route("/api/validate-yaml", self._validate, methods=["POST"]),
            Route("/api/spaces/{owner}/{name}/tree/{revision}", self._space_tree),
            Route(
                "/api/spaces/{owner}/{name}/preupload/{revision}", self._preupload, methods=["POST"]
            ),
            Route(
                "/api/spaces/{owner}/{name}/commit/{revision}", self._space_commit, methods=["POST"]
            ),
            Route("/api/spaces/{owner}/{name}/revision/{revision}", self._space_info),
            Route("/api/spaces/{owner}/{name}/runtime", self._space_runtime),
            Route("/api/spaces/{owner}/{name}/variables", self._space_variables),
            Route("/api/spaces/{owner}/{name}/variables", self._space_variable, methods=["POST"]),
            Route("/api/models/{owner}/{name}", self._model),
            Route("/api/repos/create", self._create, methods=["POST"]),
            Route("/api/datasets/{owner}/{name}", self._info),
            Route("/api/datasets/{owner}/{name}/revision/{revision}", self._info),
            Route("/api/datasets/{owner}/{name}/tree/{revision}", self._tree),
            Route(
                "/api/datasets/{owner}/{name}/preupload/{revision}",
                self._preupload,
                methods=["POST"],
            ),
            Route("/api/datasets/{owner}/{name}/commit/{revision}", self._commit, methods=["POST"]),
            Route(
                "/datasets/{owner}/{name}/resolve/{revision}/{path:path}",
                self._resolve,
                methods=["GET", "HEAD"],
            ),
            Route(
                "/datasets/{owner}/{name}.git/info/lfs/objects/batch", self._batch, methods=["POST"]
            ),
            Route("/lfs/{oid}", self._upload, methods=["PUT"]),
        ]
        self.faults = Faults(Starlette(routes=routes))
        self.faults.note = self.hub_models.note
        config = uvicorn.Config(self.faults, port=0, log_level="error", lifespan="off", http="h11")
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
            return JSONResponse(
                {"error": "there", "url": f"{self.address}/datasets/ada/votes"}, 409
            )
        asked = json.loads(await request.body())
        self.private = bool(asked.get("private")) or asked.get("visibility") == "private"
        return JSONResponse(
            {"url": f"{self.address}/datasets/{asked.get('organization', 'ada')}/{asked['name']}"}
        )

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
        start = {"space": "---\ntitle: ", "dataset": "---\nlicense: ", "model": "---\n"}[
            asked["repoType"]
        ]
        wrong = [] if asked["content"].startswith(start) else [{"message": '"title" is required'}]
        return JSONResponse({"errors": wrong, "warnings": []}, 400 if wrong else 200)

    def _space(self, request: Request) -> Space | None:
        self.asked.append(f"{request.method} {request.url.path}")
        return self.spaces.get(f"{request.path_params['owner']}/{request.path_params['name']}")

    async def _model(self, request: Request) -> Response:
        """Show what `models` has of a model, or that there is a repository with files."""
        name = f"{request.path_params['owner']}/{request.path_params['name']}"
        self.asked.append(f"{name} {request.headers.get('authorization', 'without a token')}")
        if self.status != 200:
            return JSONResponse({"error": "out of order"}, self.status)
        if name not in self.models and name not in self.hub_models.repositories:
            return JSONResponse({"error": "not found"}, 401)
        return JSONResponse({"id": name, **self.models.get(name, {})})

    async def _space_tree(self, request: Request) -> Response:
        space = self._space(request)
        if self.status != 200:
            return JSONResponse({"error": "out of order"}, self.status)
        if space is None:
            return JSONResponse({"error": "not found"}, 404, {"x-error-code": "RepoNotFound"})
        return JSONResponse(_listed(space.files))

    async def _space_info(self, _: Request) -> Response:
        return JSONResponse(
            {"id": "ada/arena", "private": False, "sha": "0" * 40, "tags": [], "siblings": []}
        )

    async def _space_runtime(self, request: Request) -> Response:
        hardware = {"current": None, "requested": self._space(request).hardware}
        return JSONResponse({"stage": "BUILDING", "hardware": hardware})

    async def _space_variable(self, request: Request) -> Response:
        space = self._space(request)
        asked = json.loads(await request.body())
        space.variables[asked["key"]] = asked["value"]
        return await self._space_variables(request)

    async def _space_variables(self, request: Request) -> Response:
        space = self._space(request)
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
        return JSONResponse(
            {"commitUrl": f"{self.address}/spaces/ada/arena/commit/1", "commitOid": "1" * 40}
        )

    async def _info(self, _: Request) -> Response:
        if self.status != 200:
            return JSONResponse({"error": "out of order"}, self.status)
        there = [{"rfilename": path} for path in self.files]
        return JSONResponse(
            {
                "id": "ada/votes",
                "private": self.private,
                "sha": "0" * 40,
                "tags": [],
                "siblings": there,
            }
        )

    async def _tree(self, _: Request) -> Response:
        return JSONResponse(_listed(self.files))

    async def _preupload(self, request: Request) -> Response:
        if self.status != 200:
            return JSONResponse({"error": "out of order"}, self.status)
        space = self.spaces.get(f"{request.path_params['owner']}/{request.path_params['name']}")
        there = space.files if space and request.url.path.startswith("/api/spaces/") else self.files
        files = json.loads(await request.body())["files"]
        return JSONResponse({"files": [self._mode(file["path"], there) for file in files]})

    def _mode(self, path: str, there: dict[str, bytes]) -> dict[str, object]:
        """Return how a file is to come, and by which hash the Hub knows the one that it has."""
        large = bool(self.large) and path.startswith(self.large)
        mode = {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}
        if (content := there.get(path)) is None:
            return mode
        plain = hashlib.sha1(b"blob %d\0" % len(content) + content)
        return mode | {"oid": (hashlib.sha256(content) if large else plain).hexdigest()}

    async def _batch(self, request: Request) -> Response:
        objects = json.loads(await request.body())["objects"]
        for one in objects:
            if one["oid"] not in self._large:
                one["actions"] = {"upload": {"href": f"{self.address}/lfs/{one['oid']}"}}
        return JSONResponse({"transfer": "basic", "objects": objects})

    async def _upload(self, request: Request) -> Response:
        content = await request.body()
        if hashlib.sha256(content).hexdigest() != request.path_params["oid"]:
            return JSONResponse({"error": "other content than was announced"}, 422)
        self._large[request.path_params["oid"]] = content
        return Response()

    async def _commit(self, request: Request) -> Response:
        parts = [json.loads(line) for line in (await request.body()).decode().splitlines()]
        files = {
            part["value"]["path"]: part["value"]
            for part in parts
            if part["key"] in ("file", "lfsFile")
        }
        for path, file in files.items():
            large = self._large.get(file.get("oid", ""))
            self.files[path] = base64.b64decode(file["content"]) if large is None else large
        for path in [part["value"]["path"] for part in parts if part["key"] == "deletedFile"]:
            del self.files[path]
        self.commits.append(list(files))
        return JSONResponse(
            {"commitUrl": f"{self.address}/datasets/ada/votes/commit/1", "commitOid": "1" * 40}
        )

    async def _resolve(self, request: Request) -> Response:
        path = unquote(request.path_params["path"])
        content = self.files.get(path)
        if content is None or path in self.missing:
            return JSONResponse(
                {"error": "Entry not found"}, 404, {"x-error-code": "EntryNotFound"}
            )
        headers = {"etag": f'"{hashlib.sha1(content).hexdigest()}"', "x-repo-commit": "0" * 40}
        return Response(content, headers=headers)


def _listed(files: dict[str, bytes]) -> list[dict[str, object]]:
    return [
        {
            "type": "file",
            "path": path,
            "size": len(content),
            "oid": hashlib.sha1(content).hexdigest(),
        }
        for path, content in files.items()
    ]
