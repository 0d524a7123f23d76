"""Commands `models`: names, and what is known of models, also while the server runs."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationError
from typer import Argument, Option, Typer

from arena.cli.items import OpenBank
from arena.database import Database
from arena.inference.catalogue import model_tables
from arena.items.fact_store import FactError, FactStore
from arena.model_facts import ON_HUB, FactSource, ModelFacts, StatedFacts, is_repository
from arena.server.hub_facts import read_facts
from arena.settings import Settings
from arena.templates import plural
from arena.validation import one_line

SOURCE_WORDS: Mapping[FactSource, str] = {
    "operator": "stated",
    "router": "router",
    "card": "models file",
    "hub": "Hugging Face Hub",
}
app = Typer(rich_markup_mode=None)
models = Typer(rich_markup_mode=None)
app.add_typer(models, name="models")


@models.command("list")
def list_models() -> Iterator[str]:
    """List the models' names."""
    for model in OpenBank().items.models():
        display = f", shown as {model.display}" if model.display != model.name else ""
        yield f"{model.name}{display}{', retired' if model.retired else ''}"


@models.command()
def rename(model: str, display: str) -> Iterator[str]:
    """Show a model under another name."""
    OpenBank().ingest.rename(model, display)
    yield f"{model} is now shown as {display}."


@models.command()
def retire(model: str) -> Iterator[str]:
    """Take a model out of the draw."""
    OpenBank().ingest.retire(model)
    yield f"{model} is retired. Its votes stay."


@models.command()
def facts(
    file: Annotated[
        Path | None, Argument(help="a TOML file with a [[models]] table for each model")
    ] = None,
    export: Annotated[bool, Option("--export", help="print all known facts as a file")] = False,
) -> Iterator[str]:
    """Import facts about models from a file: maker, licence, size, date, price, link."""
    has_file = file is not None
    is_neither_or_both = has_file == export
    if is_neither_or_both:
        raise FactError("Name a file with facts, or add --export to print the known ones.")
    store = _fact_store()
    if file is None:
        yield from _fact_lines(store.by_model())
        return
    stated = read_stated(file)
    store.replace_stated(stated)
    count = sum(len(facts.values) for facts in stated.values())
    yield f"Imported {plural(count, 'fact')} about {plural(len(stated), 'model')}."


@models.command()
def link(model: str, repository: Annotated[str, Argument(metavar="OWNER/REPO")]) -> Iterator[str]:
    """Link a model to its repository on the Hugging Face Hub, and read its facts."""
    if not is_repository(repository):
        raise FactError(
            f"{repository[:120]!r} isn't a model on the Hub. Write OWNER/REPO, as in Qwen/Qwen3-VL-8B."
        )
    store = _fact_store()
    linked = store.find(model)._replace(repository=repository)
    hub_facts = read_facts(repository)
    store.link(linked, hub_facts)
    yield f"{model} is {repository}. The Hub shows {', '.join(_fact_names(hub_facts))}."


@models.command()
def unlink(model: str) -> Iterator[str]:
    """Drop a model's repository and the facts read from it."""
    store = _fact_store()
    store.unlink(store.find(model))
    yield f"The facts that the Hub showed about {model} are removed."
    remaining = store.find(model).repository
    if remaining:
        yield f"The models file still names {remaining}, so a running server reads it again."


def read_stated(file: Path) -> dict[str, StatedFacts]:
    """Reads a file's facts about models, by their names. Raises FactError, CatalogueError and OSError."""
    stated: dict[str, StatedFacts] = {}
    for number, table in enumerate(model_tables(file), 1):
        name = table.pop("name", None)
        if not isinstance(name, str):
            raise FactError(f"{file.name}, model {number}: name is missing. Add it.")
        if name in stated:
            raise FactError(f"{file.name}: two tables are about {name!r}. Merge them.")
        stated[name] = _validated_facts(table, f"{file.name}, model {number} ({name!r})")
    return stated


def _validated_facts(table: Mapping[str, Any], where: str) -> StatedFacts:
    try:
        return StatedFacts.model_validate(table)
    except ValidationError as error:
        unknown = f"isn't a fact. Facts: {', '.join(StatedFacts.model_fields)}."
        raise FactError(f"{where}: {one_line(error, unknown)}") from None


def _fact_store() -> FactStore:
    return FactStore(Database(Settings.from_env().database_url))


def _fact_lines(facts_by_model: Mapping[str, ModelFacts]) -> Iterator[str]:
    """Yields the lines of a file with all facts, each with its source."""
    for name, facts in sorted(facts_by_model.items()):
        yield "[[models]]"
        yield f"name = {_quoted(name)}"
        for field in StatedFacts.model_fields:
            if fact := facts.facts.get(field):
                source = SOURCE_WORDS[fact.source]
                yield f"{field} = {_toml_value(field, fact.value)}  # {source}, {fact.read_at:%Y-%m-%d}"
        if day := facts.text(ON_HUB):
            yield f"# on the Hub since {day}"
        yield ""


def _toml_value(field: str, text: str) -> str:
    """Returns a fact in TOML."""
    if field in ("open", "gated"):
        return "true" if text == "yes" else "false"
    is_number = field in ("parameters", "active", "prompt_price", "completion_price")
    return text if is_number else _quoted(text)


def _quoted(text: str) -> str:
    """Returns a text in quotes; JSON's quotes are TOML's, except for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _fact_names(facts: Mapping[str, str]) -> list[str]:
    return [field.replace("_", " ") for field in facts if field not in ("link", "repository")]
