"""The docs: short paragraphs, links that lead somewhere, and commands that print what is printed there."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.main import get_group

import arena.__main__
import scoring.__main__
from arena.admin import seat_admin
from arena.database import Database
from arena.items.ingest import Ingest
from arena.settings import Settings
from arena.types import RIGHT, UNRELATED, Generation, ModelCard
from tests.support import changed_judge, docs
from tests.support.commands import run
from tests.support.offline_answers import serve
from tests.support.openai_server import OpenAIServer
from tests.support.servers import ROOT, drafts

COMMANDS = {"arena": arena.__main__.COMMANDS, "scoring": scoring.__main__.COMMANDS}
RUN = {
    "README.md": 2,
    "vote.md": 3,
    "study.md": 4,
    "score.md": 1,
    "add-a-benchmark.md": 4,
    "write-items.md": 1,
}
"""The number of examples of a page that run here."""
BY_HAND = ("fetch", "deploy", "publish", "participants")
"""Commands that ask the Hub or a benchmark's authors, or need workers: not run here."""


@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page.name)
def test_a_paragraph_has_at_most_four_sentences(page):
    assert [text for text in docs.prose(page) if docs.sentences(text) > 4] == []


@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for name, anchor in docs.links(page):
        target = ROOT / name
        assert target.exists(), name
        assert not anchor or anchor in docs.anchors(target), f"{name}#{anchor}"


@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page.name)
def test_tests_that_a_page_names_exist(page):
    for file, name in docs.named_tests(page):
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE), name


@pytest.mark.parametrize("name", ["add-a-format.md", "add-a-model-kind.md"])
def test_files_have_the_lines_that_a_page_changes(name):
    page = ROOT / "docs" / name
    named = re.findall(r"`((?:arena|tests)/[\w/]+\.py)`", page.read_text("utf-8"))
    texts = [(ROOT / file).read_text("utf-8") for file in named if (ROOT / file).exists()]
    changed = [*docs.changes(page)]
    assert changed
    for lines in changed:
        assert any(lines in text for text in texts), lines


def _subcommand(command: docs.Command) -> tuple[Any, list[str]]:
    """Returns a command as typer knows it, with the words after its name."""
    name, *words = command.words
    found: Any = get_group(import_module(COMMANDS[command.half][name].module).app).commands[name]
    if hasattr(found, "commands"):
        return found.commands[words[0].rstrip(",")], words[1:]
    return found, words


def test_commands_and_options_that_pages_name_exist():
    for page in docs.PAGES:
        for line in docs.mentioned(page):
            command = docs.command(line)
            if command is None or command.words[0] == "...":
                continue
            found, words = _subcommand(command)
            known = {
                name for option in found.params for name in (*option.opts, *option.secondary_opts)
            }
            named = {word for word in words if word.startswith("--")} - {"--help"}
            assert named <= known, f"{page.name}: {line}"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A new clone's folder, as far as commands read it, with a data folder of its own."""
    for name in ("docs", "scoring"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setattr(seat_admin, "is_lost_at_restart", lambda _: False)
    return tmp_path


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serve() as answering:
        yield answering


def _write_files(page: Path, folder: Path, server: OpenAIServer) -> None:
    """Writes the files that a page shows, and the pictures that its items name."""
    for block in docs.blocks(page):
        if not block.file or block.file.startswith("arena/"):
            continue
        target = folder / block.file
        target.parent.mkdir(exist_ok=True)
        text = block.text.replace("http://localhost:8000/v1", server.address)
        target.write_text(re.sub(r'^model = ".*"$', 'model = "test-vlm"', text, flags=re.MULTILINE))
        if target.name == "items.jsonl":
            for line in block.text.splitlines():
                Image.new("RGB", (64, 48)).save(target.parent / json.loads(line)["image"])


def _bring_items(folder: Path) -> None:
    """The items and the attention tests of the study."""
    with closing(Database(Settings.from_env().database_url)) as database:
        models = ("my-vlm", "baseline", "model-c", "model-d")
        Ingest(database).add_items("my-pictures", "folder", drafts(200, models))
    checks = folder / "my-checks"
    checks.mkdir()
    answers = {RIGHT: "It is red.", UNRELATED: "I like trains."}
    lines = []
    for number in range(20):
        Image.new("RGB", (64, 48), (10 * number, 0, 0)).save(checks / f"{number}.png")
        row = {"instruction": f"Which color is square {number}?", "family": "Colors"}
        lines.append(json.dumps({**row, "image": f"{number}.png", "answers": answers}))
    (checks / "items.jsonl").write_text("\n".join(lines))


@pytest.mark.parametrize("name", RUN)
def test_commands_print_what_the_page_shows(name, folder, server, monkeypatch):
    page = next(page for page in docs.FOR_USERS if page.name == name)
    _write_files(page, folder, server)
    if name == "study.md":
        _bring_items(folder)
    examples = 0
    for example in docs.examples(page):
        commands = [
            docs.command(line) for line in example.commands if not line.startswith("export ")
        ]
        if not all(command and not {*BY_HAND} & {*command.words} for command in commands):
            continue
        for line in example.commands:
            if line.startswith("export "):
                variable, _, value = line.removeprefix("export ").partition("=")
                monkeypatch.setenv(variable, value)
        printed = "".join(
            run(command.half, *command.words, environ=command.environ).out
            for command in commands
            if command
        )
        assert docs.is_shown(printed, example.printed), printed
        examples += 1
    assert examples == RUN[name]


def test_a_judge_that_has_changed_gives_the_numbers_of_the_page(folder):
    page = next(page for page in docs.FOR_USERS if page.name == "judges.md")
    examples = docs.examples(page)
    with OpenAIServer(changed_judge.june, models=("my-judge",)) as judge:
        for example in examples:
            printed = ""
            for line in example.commands:
                command = docs.command(line.replace("http://localhost:8000/v1", judge.address))
                if command is None:
                    _, source, target = line.split()
                    shutil.copy(source, target)
                    continue
                if command.environ.get("DATA_DIR") == "december-data":
                    judge.score = changed_judge.december
                done = run(command.half, *command.words, environ=command.environ)
                assert done.code == 0, done.err
                printed += done.out
            assert docs.is_shown(printed, example.printed), printed
    assert len(examples) == 2


def test_the_number_of_other_benchmarks_is_told():
    keys = {path.stem for path in (ROOT / "scoring" / "benchmarks").glob("*.yaml")}
    others = {key for key in keys if not key.endswith("_marks")} - {"mmbench", "mmt-bench"}
    named_alone = {"gqa", "okvqa", "textvqa"}
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"VisIT-Bench, {len(others)} more\n" in readme
    page = (ROOT / "docs" / "score.md").read_text("utf-8")
    assert f"**{len(others - named_alone)} others as YAML files**" in page


def test_the_models_file_has_the_defaults_that_its_page_names():
    table = (ROOT / "docs" / "vote.md").read_text("utf-8")
    defaults = {
        "images": ModelCard.images,
        "max_tokens": Generation.max_tokens,
        "timeout": ModelCard.timeout,
        "at_once": ModelCard.at_once,
        "prompt_tokens": ModelCard.prompt_tokens,
        "image_tokens": ModelCard.image_tokens,
    }
    for key, value in defaults.items():
        (line,) = re.findall(rf"^(?:\| `{key}` \||{key} = ).*unless you set it.*$", table, re.M)
        assert f" {value:,g} unless you set it" in line, line
