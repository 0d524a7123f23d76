"""Hugging Face's router on loopback: it lists models with providers and prices, and refuses what it is told to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.live_visitor import card, catalogue
from tests.support.oidc_server import OidcServer
from tests.support.openai_server import Body, OpenAIServer
from tests.support.servers import AppServer

MODELS = {"org/one": "Quxolotl 7B", "org/two": "Vellichor XL", "org/three": "Oblomov Large"}
TEXT = "The picture shows a red square on a white page, and nothing else is to be seen in it."
NO_PROVIDER = "no provider"
"""A model that no provider of the visitor's serves, which the router answers with 400."""
OPERATOR = "hf_canary-of-the-operator-and-the-copy"
"""The server's own token, which belongs to its copy on the Hub."""


def offer(provider: str = "nova", status: str = "live", **pricing: float) -> dict[str, Any]:
    """Return a provider as the router lists it."""
    return {
        "provider": provider,
        "status": status,
        "context_length": 32_768,
        "pricing": pricing or {"input": 0.3, "output": 1.0},
        "supports_tools": True,
    }


def listed(
    model: str, *offers: Mapping[str, Any], inputs: tuple[str, ...] = ("text", "image")
) -> dict[str, Any]:
    """Return a model as the router lists it."""
    architecture = {"input_modalities": list(inputs), "output_modalities": ["text"]}
    return {
        "id": model,
        "object": "model",
        "architecture": architecture,
        "providers": list(offers or [offer()]),
    }


class RouterServer(OpenAIServer):
    """A router of three models."""

    def __init__(self, score: Callable[[Body, int], str] = lambda body, _: TEXT) -> None:
        super().__init__(score, models=tuple(f"{model}:cheapest" for model in MODELS))
        self.list: list[dict[str, Any]] = [listed(model) for model in MODELS]
        self.refuses: dict[str, int | str] = {}
        """By model: the status with which it is refused, or NO_PROVIDER."""

    def listing(self) -> Mapping[str, Any]:
        return {"object": "list", "data": self.list}

    def refusal(self, body: Body) -> tuple[int, Mapping[str, Any]] | None:
        model = body["model"].partition(":")[0]
        status = self.refuses.get(model)
        if status == NO_PROVIDER:
            message = (
                f"The requested model '{model}' is not supported by any provider you have enabled."
            )
            return 400, {"error": {"message": message, "code": "model_not_supported"}}
        if isinstance(status, int):
            return status, {"error": f"{model} was refused"}
        return None

    def asked_by(self) -> set[tuple[str, str]]:
        """The last line of what was asked, with the key that asked it."""
        found = set()
        for headers, body in zip(self.counts.headers, self.counts.bodies, strict=True):
            parts = body["messages"][0]["content"]
            text = next(part["text"] for part in parts if part["type"] == "text")
            found.add((text, headers.get("authorization", "").removeprefix("Bearer ")))
        return found


class CreditsApp(NamedTuple):
    """An app whose models are asked with visitors' credits, the router, and where visitors log in."""

    app: AppServer
    router: RouterServer
    provider: OidcServer


@contextmanager
def credits_app(
    folder: Path, names: Mapping[str, str] = MODELS, own: Sequence[str] = (), **environ: str
) -> Iterator[CreditsApp]:
    """Run such an app. It has a token of its own, as a Space has whose votes are copied.

    `names` has its models' names by their ids, `own` tables of models that need no key of a visitor.
    """
    provider = OidcServer()
    with RouterServer() as router:
        tables = [
            card(name, f"{model}:cheapest", router, key_from="visitor", images=4)
            for model, name in names.items()
        ]
        app = AppServer(
            folder / "data",
            MODELS=catalogue(folder, *tables, *own),
            HF_TOKEN=OPERATOR,
            LIVE_SOON="yes",
            **provider.environ(),
            **environ,
        )
        try:
            yield CreditsApp(app, router, provider)
        finally:
            app.stop()
            provider.close()
