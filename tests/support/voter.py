"""A voter over HTTP: calls the page's events as the browser does, and keeps every byte it was sent."""

import html
import re
import secrets
from typing import Any

import httpx

SKIPS = {
    "cannot judge": "on_skip_judge",
    "image broken": "on_skip_broken",
    "offensive": "on_skip_rude",
}


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

    def load(self, query: str = "", before: str = "") -> dict[str, Any]:
        """Open the page under a query, as in `?item=...`, or again where it showed a chosen battle `before`."""
        return self.call("on_load", query, before)

    def pictures(self) -> list[str]:
        """Fetch the battle's pictures and return their addresses."""
        found = re.findall(r'src="(pictures/[^"]+)"', str(self.values.get("item", "")))
        for path in found:
            self._get(f"/{path}")
        return found

    def choose(self, side: str, token: str | None = None) -> dict[str, Any]:
        return self.call(f"on_choose_{side}", self.token if token is None else token)

    def undo(self) -> dict[str, Any]:
        return self.call("on_undo", self.token)

    def wait_out_undo(self) -> dict[str, Any]:
        """Do what the page does when the undo time is over: ask for the names."""
        return self.call("on_reveal", self.token)

    def next(self, family: str = "Any family") -> dict[str, Any]:
        return self.call("on_next", family, "")

    def skip(self, reason: str = "cannot judge", family: str = "Any family") -> dict[str, Any]:
        return self.call(SKIPS[reason], family, self.token)
