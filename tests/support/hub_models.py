"""Model repositories of a Hub on loopback: their cards, pull requests and what is in them."""

import base64
import json
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOKENS = {"hf_ada_token": "ada", "hf_eve_token": "eve"}
"""Who a token belongs to; that of a login says it itself."""


@dataclass
class Pull:
    """A pull request: who opened it, under which title, and the files that it has."""

    author: str
    title: str
    description: str
    files: dict[str, bytes]
    status: str = "open"


@dataclass
class Repository:
    """A model's repository."""

    files: dict[str, bytes] = field(default_factory=dict)
    pulls: list[Pull] = field(default_factory=list)


class ModelRepositories:
    """The part of the protocol that pull requests to models need; `tokens`: what each request was sent with."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.benchmarks: dict[str, bytes] = {}
        """The `eval.yaml` of each dataset that is a benchmark."""
        self.requests: list[str] = []
        """Methods and addresses, without the server's own."""
        self.tokens: set[str] = set()
        self.bodies: list[bytes] = []
        """Of all commits."""

    @property
    def routes(self) -> list[Route]:
        model = "/api/models/{owner}/{name}"
        return [
            Route("/api/whoami-v2", self._whoami),
            Route("/api/datasets", self._official),
            Route(f"{model}/discussions", self._discussions),
            Route(f"{model}/preupload/{{revision:path}}", self._preupload, methods=["POST"]),
            Route(f"{model}/commit/{{revision:path}}", self._commit, methods=["POST"]),
            Route("/{owner}/{name}/resolve/main/{path:path}", self._file),
            Route("/datasets/{owner}/{name}/resolve/main/eval.yaml", self._eval_yaml),
        ]

    def note(self, method: str, address: str, authorization: str) -> None:
        """Keep what a request was."""
        self.requests.append(f"{method} {address}")
        self.tokens.add(authorization.removeprefix("Bearer "))

    def _user(self, request: Request) -> str:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        by_login = token.partition("-")[2] if token.startswith("hf_oauth_") else ""
        return TOKENS.get(token, by_login)

    def _named(self, request: Request) -> tuple[str, Repository | None]:
        name = f"{request.path_params['owner']}/{request.path_params['name']}"
        return name, self.repositories.get(name)

    async def _whoami(self, request: Request) -> Response:
        user = self._user(request)
        if not user:
            return JSONResponse({"error": "Invalid username or password."}, 401)
        return JSONResponse({"name": user, "type": "user"})

    async def _official(self, request: Request) -> Response:
        assert request.query_params["filter"] == "benchmark:official"
        return JSONResponse([{"id": name} for name in self.benchmarks])

    async def _eval_yaml(self, request: Request) -> Response:
        name, _ = self._named(request)
        content = self.benchmarks.get(name)
        return Response(content or b"", 200 if content is not None else 404)

    async def _file(self, request: Request) -> Response:
        _, repository = self._named(request)
        content = repository.files.get(request.path_params["path"]) if repository else None
        return Response(content or b"", 200 if content is not None else 404)

    async def _discussions(self, request: Request) -> Response:
        name, repository = self._named(request)
        asked = request.query_params
        assert (asked["type"], asked["status"], asked["p"]) == ("pull_request", "open", "0")
        assert repository is not None
        shown = [
            {
                "title": pull.title,
                "num": number,
                "author": {"name": pull.author},
                "createdAt": "2026-11-29T12:00:00.000Z",
                "status": pull.status,
                "isPullRequest": True,
                "repo": {"name": name, "type": "model"},
            }
            for number, pull in enumerate(repository.pulls, 1)
            if pull.author == asked["author"] and pull.status == "open"
        ]
        return JSONResponse({"count": len(shown), "start": 0, "discussions": shown})

    async def _preupload(self, request: Request) -> Response:
        files = json.loads(await request.body())["files"]
        modes = [
            {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files
        ]
        return JSONResponse({"files": modes})

    async def _commit(self, request: Request) -> Response:
        name, repository = self._named(request)
        assert repository is not None
        body = await request.body()
        self.bodies.append(body)
        head, *files = [json.loads(line) for line in body.splitlines()]
        content = {
            file["value"]["path"]: base64.b64decode(file["value"]["content"]) for file in files
        }
        address = str(request.base_url)
        answer = {"commitUrl": f"{address}{name}/commit/{'1' * 40}", "commitOid": "1" * 40}
        revision = request.path_params["revision"]
        if request.query_params.get("create_pr"):
            summary = head["value"]["summary"]
            description = head["value"]["description"]
            repository.pulls.append(Pull(self._user(request), summary, description, content))
            number = len(repository.pulls)
            answer["pullRequestUrl"] = f"{address}{name}/discussions/{number}"
        else:
            number = int(revision.removeprefix("refs/pr/"))
            repository.pulls[number - 1].files.update(content)
        return JSONResponse(answer)
