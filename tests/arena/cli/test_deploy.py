"""Deployment: a Space and its dataset on a Hub of loopback, by the real client; and what the Dockerfile says."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
from huggingface_hub import HfApi, SpaceCard

from arena.cli import deploy
from arena.server.hub_requests import retry_hub_requests
from arena.settings import Settings
from tests.support.commands import Done, run
from tests.support.hub_server import HubServer, Space
from tests.support.servers import ROOT

TOKEN = "hf_canary0123456789"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as running:
        yield running


def command(*words: str, hub: HubServer | None = None, token: str = TOKEN) -> Done:
    environ = {
        **os.environ,
        "HF_ENDPOINT": hub.address if hub else "http://127.0.0.1:9",
        "HF_TOKEN": token,
        "HF_TOKEN_PATH": "/nowhere/token",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    line = [sys.executable, "-m", "arena", "deploy", *words]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120, env=environ)
    assert TOKEN not in done.stdout + done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_space_and_its_private_dataset_are_made(hub):
    done = command("--space", "ada/arena", hub=hub)
    assert done.code == 0, done.err
    space = hub.spaces["ada/arena"]
    assert (space.sdk, space.private, space.commits) == ("gradio", False, 1)
    assert hub.private is True, "the dataset holds votes and workers"
    assert space.variables == {"MIRROR": "ada/arena-votes", "MODELS": "hub"}
    assert set(space.files) == set(deploy.shipped_files(ROOT))
    assert space.files["app.py"] == (ROOT / "app.py").read_bytes()
    for name in (
        "HF_TOKEN",
        "OPERATORS",
        "TRUSTED_HOPS",
        "OPENAI_API_KEY",
        "DATABASE_URL",
        "ZeroGPU",
    ):
        assert name in done.out


def test_what_is_shipped_starts_and_nothing_else_leaves(tmp_path):
    names = deploy.shipped_files(ROOT)
    needed = {
        "app.py",
        "README.md",
        "requirements.txt",
        "arena/inference/presets/small.toml",
        "arena/web/page.css",
        "arena/web/templates/parts.html",
    }
    assert {*needed, "scoring/prompts/mm_vet.txt"} - {*names} == set()
    assert not [
        name for name in names if re.match(r"tests/|perf/|\.|.*__pycache__|.*\.pyc|Makefile", name)
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    for compiled in compiled_beside(names):  # compiling all of them anew takes half of the time
        shutil.copytree(ROOT / compiled, tmp_path / compiled)
    program = (
        "import os; from pathlib import Path; from app import AppContext, create_app; "
        "from arena.settings import Settings; "
        "create_app(AppContext(Settings.from_env({'DATA_DIR': os.environ['AT']}))); "
        "print('made', Path('app.py').absolute())"
    )
    environ = {**os.environ, "AT": str(tmp_path / "data")}
    line = [sys.executable, "-c", program]
    done = subprocess.run(
        line, cwd=tmp_path, capture_output=True, text=True, timeout=280, env=environ
    )
    assert done.stdout.strip() == f"made {tmp_path / 'app.py'}", done.stderr


def compiled_beside(names: list[str]) -> list[Path]:
    """Return the folders in which Python and Jinja keep these files compiled, as far as they have been used here."""
    folders = {Path(name).parent / "__pycache__" for name in names}
    return [folder for folder in sorted(folders) if (ROOT / folder).is_dir()]


def test_what_pages_and_readme_open_is_shipped_whatever_its_kind():
    """Each file that git knows in the shipped folders, and each picture and document that the README links."""
    folders = ["arena", "scoring", "docs"]
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    linked = re.findall(r"\]\((docs/[\w./-]+)\)", (ROOT / "README.md").read_text("utf-8"))
    assert linked and {*listed.stdout.split(), *linked} - {*deploy.shipped_files(ROOT)} == set()


def test_stray_files_stay_here(tmp_path):
    for name in (
        "arena/.env",
        "arena/votes.db",
        "arena/__pycache__/x.py",
        "arena/.hidden/x.py",
        "data/x.csv",
        "key.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "arena" / "link.py").symlink_to("/etc/passwd")
    (tmp_path / "arena" / "deep").mkdir()
    (tmp_path / "arena" / "deep" / "room.py").touch()
    assert deploy.shipped_files(tmp_path) == ["arena/deep/room.py"]


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    """A folder of a few of the files, to deploy: what is done with them depends on none of the others."""
    for name in ("app.py", "README.md", "requirements.txt", "arena/settings.py", "docs/vote.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    monkeypatch.setattr(deploy, "ROOT", tmp_path)
    return tmp_path


def write(hub: HubServer, private: bool = False, token: str | bool = TOKEN) -> Space:
    """Write the Space as the command does, without a process of its own."""
    deploy.write_space(
        HfApi(endpoint=hub.address, token=token), "ada/arena", "ada/arena-votes", private
    )
    return hub.spaces["ada/arena"]


def test_the_same_command_again_brings_the_files_up_to_date(hub, small):
    space = write(hub, private=True)
    space.files |= {"arena/gone.py": b"old", "notes.md": b"the owner's"}
    space.files["app.py"] = b"old"
    space.variables["MODELS"] = "models.toml"
    assert write(hub) is space and space.private is True, "what is there stays as it is"
    assert space.variables["MODELS"] == "models.toml"
    assert set(space.files) == {*deploy.shipped_files(small), "notes.md"}
    assert space.files["app.py"] == (ROOT / "app.py").read_bytes()


@pytest.mark.parametrize(
    ("hardware", "has_cuda"),
    [(None, False), ("cpu-basic", False), ("zero-a10g", True), ("t4-small", True)],
)
def test_a_space_without_a_gpu_installs_torch_without_cuda(hub, small, hardware, has_cuda):
    space = write(hub)
    space.hardware = hardware
    write(hub)
    own = (ROOT / "requirements.txt").read_bytes()
    sent = space.files["requirements.txt"]
    assert sent.endswith(own)
    added = sent.removesuffix(own)
    assert (added == b"") == has_cuda
    if added:
        comment, option = added.decode().splitlines()
        assert comment.startswith("#")
        assert option == "--extra-index-url https://download.pytorch.org/whl/cpu"


@pytest.mark.parametrize(
    "kind", ["429", "reset after", pytest.param("cut", marks=pytest.mark.soak)]
)
def test_requests_that_fail_are_sent_again(hub, small, kind):
    """Also the commit, which is made once although its answer is lost."""
    write(hub).files |= {"arena/gone.py": b"old", "app.py": b"old"}
    waits = []
    retry_hub_requests(waits.append)
    hub.faults.asked_wait = "0"
    hub.faults.planned = {
        f" /api/{part}": [kind]
        for part in ("spaces", "repos", "datasets", "spaces/ada/arena/commit")
    }
    assert write(hub).files["app.py"] == (ROOT / "app.py").read_bytes()
    assert set(hub.spaces["ada/arena"].files) == set(deploy.shipped_files(small))
    assert hub.spaces["ada/arena"].commits == 2 and len(waits) == 3
    assert not any(hub.faults.planned.values())


def test_a_dry_run_asks_nobody():
    done = run("arena", "deploy", "--space", "ada/arena", "--dry-run")
    assert done.code == 0, done.err
    assert set(deploy.shipped_files(ROOT)) <= set(done.out.splitlines())
    assert "Nothing was sent" in done.out and "HF_TOKEN" in done.out


@pytest.mark.parametrize(
    "name", ["arena", "ada/", "ada/a b", "https://hf.co/spaces/ada/arena", "../x", "a/b/c"]
)
def test_a_name_is_checked_before_anything_is_asked(name):
    done = run("arena", "deploy", "--space", name)
    assert done.code == 2 and "Write USER/NAME, as in ada/arena" in done.err


@pytest.mark.parametrize("name", ["app.py", "src/main.py", "Dockerfile", "index.html"])
def test_another_app_in_the_space_is_left_alone(name, hub):
    hub.spaces["ada/arena"] = Space(files={name: b"another"})
    with pytest.raises(deploy.DeployError, match="ada/arena has another app"):
        write(hub)
    assert hub.spaces["ada/arena"].files == {name: b"another"} and hub.private is None


@pytest.mark.parametrize("matter", ["sdk: [gradio", "- gradio", "sdk: gradio: x"])
def test_front_matter_that_is_no_record_is_named(matter, tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text(f"---\n{matter}\n---\nStereoscope")
    monkeypatch.setattr(deploy, "ROOT", tmp_path)
    with pytest.raises(deploy.DeployError, match="has no readable front matter"):
        list(deploy.deploy("ada/arena"))


def test_a_public_dataset_is_refused_before_the_space_is_made(hub):
    hub.private = False
    with pytest.raises(deploy.DeployError, match="ada/arena-votes is public. Make it private"):
        write(hub)
    assert hub.spaces == {}


@pytest.mark.parametrize("status", [402, 403])
def test_a_free_account_is_told_what_it_may_have(status, hub, small):
    hub.no_spaces = status
    with pytest.raises(
        deploy.DeployError,
        match="Free accounts can only create ZeroGPU Spaces. Make one",
    ):
        write(hub)
    hub.spaces["ada/arena"] = Space(files={".gitattributes": b"", "README.md": b"made on the site"})
    assert "app.py" in write(hub).files, "into the Space that was made there"


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "doesn't know this token. Run"), (418, "answered 418. Try again")],
)
def test_what_the_hub_refuses_is_said_without_its_words(status, words, hub):
    hub.status = status
    with pytest.raises(deploy.DeployError, match=words) as no:
        write(hub)
    assert "out of order" not in str(no.value) and "\n" not in str(no.value)


def test_no_token_is_one_line(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nowhere/token")
    done = run("arena", "deploy", "--space", "ada/arena", environ={"HF_TOKEN": ""})
    assert (done.code, done.out) == (2, "")
    assert done.err == "No Hub token found. Run `hf auth login`, or set HF_TOKEN.\n"


@pytest.mark.soak
def test_no_hub_is_one_line():
    """The client tries for half a minute."""
    done = command("--space", "ada/arena")
    assert (done.code, done.out) == (2, "")
    assert (
        done.err
        == "The Hub can't be reached (ConnectError). Try again. What is done so far is kept.\n"
    )


def test_the_front_matter_is_what_a_space_needs():
    card = SpaceCard.load(ROOT / "README.md").data.to_dict()
    pins = (ROOT / "requirements.txt").read_text("utf-8")
    least, below = re.search(r"^gradio>=([\d.]+),<([\d.]+)$", pins, re.MULTILINE).groups()
    version = [int(part) for part in card["sdk_version"].split(".")]
    assert (
        [int(part) for part in least.split(".")]
        <= version
        < [int(part) for part in below.split(".")]
    )
    assert (card["sdk"], card["python_version"], card["app_file"]) == ("gradio", "3.12", "app.py")
    assert card["license"] == "apache-2.0" and "leaderboard" in card["tags"]
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")
    assert (card["hf_oauth"], card["hf_oauth_scopes"]) == (
        True,
        ["write-discussions", "inference-api"],
    )


# The image. There is no Docker here: its file is read, and its commands are tried where they can be.


class Step(NamedTuple):
    word: str
    rest: str


def steps() -> list[Step]:
    """Return the instructions of the Dockerfile, continued lines joined."""
    text = re.sub(
        r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE
    ).replace("\\\n", " ")
    return [Step(*line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def of(word: str) -> list[str]:
    return [step.rest for step in steps() if step.word == word]


def test_the_image_runs_the_app_as_nobody_in_particular():
    words = [step.word for step in steps()]
    assert set(words) <= {
        *"FROM ARG WORKDIR COPY RUN USER ENV VOLUME EXPOSE HEALTHCHECK CMD".split()
    }
    assert words[0] == "FROM" and re.fullmatch(
        r"python:3\.12-slim@sha256:[0-9a-f]{64}", *of("FROM")
    )
    assert words.index("USER") > max(
        place for place, word in enumerate(words) if word in ("RUN", "COPY")
    )
    assert of("USER") == ["stereoscope"] and "useradd" in of("RUN")[-1]
    assert json.loads(of("CMD")[0]) == ["python", "app.py"], (
        "no shell stands between SIGTERM and the app"
    )
    environ = dict(part.split("=") for part in of("ENV")[0].split())
    assert of("VOLUME") == [environ["DATA_DIR"]] and of("EXPOSE") == [environ["PORT"]]
    chosen = Settings.from_env(environ)
    assert (chosen.host, str(chosen.data_dir), chosen.port) == ("0.0.0.0", "/data", 7860)


def test_the_image_holds_what_a_space_holds():
    copied = {name for line in of("COPY") for name in line.split()[:-1]}
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert [line for line in ignored if not line.startswith("#")][0] == "*", (
        "what is not named stays outside"
    )
    assert {line[1:] for line in ignored if line.startswith("!")} == copied
    assert {name.split("/")[0] for name in deploy.shipped_files(ROOT)} == copied


def test_the_image_installs_the_requirements():
    locked, install, compiled = map(shlex.split, of("RUN")[:3])
    assert compiled == ["python", "-c", "import app"], (
        "it starts from compiled modules and templates"
    )
    assert locked[:2] == ["pip", "install"] and locked[-3:] == [
        "--require-hashes",
        "-r",
        "requirements.lock",
    ]
    assert install[:2] == ["pip", "install"] and install[-2:] == ["-r", "requirements.txt"]
    line = [sys.executable, "-m", *install, "--dry-run", "--no-deps", "--no-index", "--quiet"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (
        f"the words of the command are pip's, and what it asks for is what runs here: {done}"
    )


def test_the_image_says_when_it_is_ready():
    probe = json.loads(re.search(r"CMD (\[.*\])", of("HEALTHCHECK")[0])[1])
    assert probe[0] == "python"
    asked = []

    class Ready(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200 if len(asked) == 1 else 503)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Ready) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        environ = {**os.environ, "PORT": str(server.server_port)}
        codes = [
            subprocess.run(
                [sys.executable, *probe[1:]], env=environ, capture_output=True
            ).returncode
            for _ in "12"
        ]
        server.shutdown()
    assert asked == ["/readyz"] * 2 and codes[0] == 0 and codes[1] != 0
