"""A voter over HTTP: sends the page's acts and events as the browser does, and keeps every byte it was sent."""

import html
import re
import secrets
from typing import Any

import httpx


class EventError(RuntimeError):
    """The page's answer to an event that it refused."""


class Voter:
    """One visitor with a cookie of its own; `network` is an address to come from, where a proxy is trusted."""

    def __init__(self, address: str, timeout: float = 30, network: str = "") -> None:
        self.client = httpx.Client(base_url=address, timeout=timeout)
        if network:
            self.client.headers["x-forwarded-for"] = network
        self.session = secrets.token_hex(8)
        self.received: list[str] = []
        self.token = ""
        self.parts: dict[str, str] = {}
        """What the page shows of the battle, as HTML."""
        self.scene: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self._get("/")
        config = self._get("/config").json()
        ids = {part["id"]: part["props"].get("elem_id") for part in config["components"]}
        self.events = {event["api_name"]: event for event in config["dependencies"]}
        self._outputs = {
            name: [ids[part] for part in event["outputs"]] for name, event in self.events.items()
        }

    def close(self) -> None:
        self.client.close()

    def __enter__(self) -> "Voter":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _get(self, path: str) -> httpx.Response:
        answer = self.client.get(path)
        answer.raise_for_status()
        self.received.append(str(answer.headers) + answer.text)
        return answer

    def call(self, event: str, *data: Any) -> dict[str, Any]:
        """Call an event and return its outputs by elem_id; raises EventError if the page refuses."""
        body = {
            "data": list(data),
            "fn_index": self.events[event]["id"],
            "session_hash": self.session,
        }
        answer = self.client.post("/gradio_api/run/predict", json=body)
        self.received.append(str(answer.headers) + answer.text)
        if answer.status_code != 200:
            raise EventError(answer.text)
        outputs = dict(zip(self._outputs[event], answer.json()["data"], strict=True))
        problem = re.search(
            r'class="problem">([^<]*)', f"{outputs.get('problem')}{outputs.get('board')}"
        )
        if problem:
            raise EventError(html.unescape(problem[1]))
        self.values.update(outputs)
        if isinstance(outputs.get("token"), str):
            self.token = outputs["token"]
        return outputs

    def act(self, name: str, **sent: str) -> dict[str, Any]:
        """Do something in a battle and return the scene; raises EventError if the page refuses."""
        answer = self.client.post(f"/battle/{name}", json=sent)
        self.received.append(str(answer.headers) + answer.text)
        if answer.status_code != 200:
            raise EventError(answer.text)
        self.scene = answer.json()
        self.parts |= self.scene["parts"]
        if name not in ("hold", "search"):
            self.token = self.scene["battle"]
        if self.scene.get("problem"):
            raise EventError(self.scene["problem"])
        return self.scene

    def load(self, item: str = "") -> dict[str, Any]:
        """Open the page, or that of an item by its key."""
        return self.act("next", item=item)

    def pictures(self) -> list[str]:
        """Fetch the battle's pictures and return their addresses."""
        found = re.findall(r'src="(/pictures/[^"]+)"', self.parts.get("subject", ""))
        for path in found:
            self._get(path)
        return found

    def choose(self, side: str, token: str | None = None) -> dict[str, Any]:
        return self.act("choose", battle=self.token if token is None else token, value=side)

    def undo(self) -> dict[str, Any]:
        return self.act("undo", battle=self.token)

    def wait_out_undo(self) -> dict[str, Any]:
        """Do what the page does when the undo time is over: ask for the names."""
        return self.act("names", battle=self.token)

    def next(self, family: str = "") -> dict[str, Any]:
        return self.act("next", family=family)

    def skip(self, reason: str = "cannot judge", family: str = "") -> dict[str, Any]:
        return self.act("skip", battle=self.token, value=reason, family=family)
