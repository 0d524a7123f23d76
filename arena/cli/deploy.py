"""Command `deploy`: upload this folder as a Hugging Face Space, with a private dataset for the backup of its votes.

What exists is kept and updated: running the command again changes nothing. Secrets are named, never sent; a Space whose
backup has no token does not start, so it takes no vote that would be lost.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import httpx2
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, SpaceCard, get_token
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from huggingface_hub.utils import logging
from typer import Option, Typer
from yaml import YAMLError

from arena.server.hub_requests import HubDownError, retry, retry_hub_requests, status_of

ROOT = Path(__file__).parents[2]
_TOP_FILES = ("LICENSE", "README.md", "app.py", "requirements.lock", "requirements.txt")
_FOLDERS = ("arena", "docs", "scoring")
_SUFFIXES = frozenset(
    ".py .html .css .js .md .txt .json .jsonl .csv .tsv .toml .yaml .bib .webp .png".split()
)
"""Suffixes of the files that are uploaded from _FOLDERS. Outside of these folders, only _TOP_FILES are uploaded."""
_CPU_TORCH = b"""# PyTorch for the processor alone: 0.2 GB instead of 2.7 GB with CUDA's libraries.
--extra-index-url https://download.pytorch.org/whl/cpu
"""
_OWN_FILE = "arena/settings.py"
"""A Space that contains this file is one of ours."""
_APP_FILES = (".py", "Dockerfile", "index.html")
"""A Space with a file that ends like this has an app: Gradio or Streamlit, a container, or a static page."""
_SPACE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,89}", re.ASCII)
_FREE = (
    "Free accounts can only create ZeroGPU Spaces. Make one at https://huggingface.co/new-space (Gradio, ZeroGPU) "
    "and run this command again. Its models must be of kind api. PRO and Team accounts can create any Space."
)
_AGAIN = "Try again. What is done so far is kept."


class DeployError(RuntimeError):
    """The Space cannot be written; the message says why and how to mend it."""


app = Typer(rich_markup_mode=None)


@app.command()
def deploy(
    space: Annotated[
        str, Option(metavar="USER/NAME", help="the Space, created if it doesn't exist")
    ],
    private: Annotated[
        bool, Option("--private", help="make a new Space private; an existing one stays as it is")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="show what would happen without sending anything")
    ] = False,
) -> Iterator[str]:
    """Upload this folder as a Hugging Face Space. You can safely run it again."""
    if not _SPACE_NAME.fullmatch(space):
        raise DeployError(f"--space is {space[:120]!r}. Write USER/NAME, as in ada/arena.")
    _check_card(ROOT / "README.md")
    files = shipped_files(ROOT)
    copy = f"{space}-votes"
    if dry_run:
        yield f"Nothing was sent. {space} would get these {len(files)} files, with {copy} as its private dataset:"
        yield from files
    else:
        if get_token() is None:
            raise DeployError("No Hub token found. Run `hf auth login`, or set HF_TOKEN.")
        logging.set_verbosity_error()  # it would report every attempt
        retry_hub_requests()
        write_space(HfApi(), space, copy, private)
        yield f"{space} has {len(files)} files. Its votes are copied to the private dataset {copy}."
    yield _FREE
    yield f"Set these at https://huggingface.co/spaces/{space}/settings (this command doesn't send secrets):"
    yield f"  secret    HF_TOKEN         needed: a fine-grained token that can write only to {copy}"
    yield "  variable  MODELS           hub by default: visitors compare models with their own credits"
    yield "  variable  OPERATORS        needed for the operators' page: Hugging Face names, separated by commas"
    yield "  variable  TRUSTED_HOPS     only if you add proxies in front of the Space, which counts as 1"
    yield "  variable  JUDGE_MODEL      only if you lend a judge. Then set the secret OPENAI_API_KEY too"
    yield "  secret    DATABASE_URL     only for PostgreSQL, which a Space can reach at port 443 or 8080"


def shipped_files(folder: Path) -> list[str]:
    """Returns the relative paths of the files that make up a Space, without links and hidden files."""
    paths = [folder / name for name in _TOP_FILES]
    for name in _FOLDERS:
        paths += [path for path in (folder / name).rglob("*") if path.suffix in _SUFFIXES]
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    names = [path.relative_to(folder).as_posix() for path in files]
    return sorted(name for name in names if not _is_hidden(name))


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__pycache__")) for part in name.split("/"))


def _check_card(readme: Path) -> None:
    """Raises DeployError if the README's front matter does not describe this app."""
    try:
        card = SpaceCard.load(readme).data.to_dict()
    except (OSError, ValueError, YAMLError) as error:
        raise DeployError(
            f"{readme} has no readable front matter. It must begin with ---."
        ) from error
    missing = [name for name in ("sdk_version", "python_version", "app_file") if not card.get(name)]
    if card.get("sdk") != "gradio" or missing:
        wrong = "sdk: gradio" if card.get("sdk") != "gradio" else missing[0]
        raise DeployError(f"{readme} has no {wrong} in its front matter. Add it: a Space needs it.")


def write_space(api: HfApi, space: str, copy: str, private: bool) -> None:
    """Creates dataset and Space if they are missing, and updates the files in one commit. Raises DeployError."""
    try:
        existing = _space_files(api, space)
        api.create_repo(copy, repo_type="dataset", private=True, exist_ok=True)
        if not api.dataset_info(copy).private:
            raise DeployError(
                f"The dataset {copy} is public. Make it private, since it has votes and workers."
            )
        if not existing:
            api.create_repo(
                space, repo_type="space", space_sdk="gradio", private=private, exist_ok=True
            )
        api.add_space_variable(space, "MIRROR", copy)
        if "MODELS" not in api.get_space_variables(space):
            api.add_space_variable(space, "MODELS", "hub")
        retry(lambda: _update(api, space))
    except ValueError as error:  # the client's word for a card that the Hub didn't validate
        raise DeployError(
            f"The Hub refused README.md's front matter: {' '.join(str(error).split())[:300]}"
        ) from error
    except (HfHubHTTPError, httpx2.HTTPError, OSError) as error:
        raise DeployError(_error_text(error, space)) from error


def _update(api: HfApi, space: str) -> None:
    """Updates a Space's files in one commit; unchanged files are not sent."""
    existing = frozenset(api.list_repo_files(space, repo_type="space"))
    names = shipped_files(ROOT)
    # Files that somebody added at the top of the Space stay.
    removed = sorted(
        name for name in existing.difference(names) if name.partition("/")[0] in _FOLDERS
    )
    files: dict[str, Path | bytes] = {name: ROOT / name for name in names}
    if not _has_gpu(api, space):
        files["requirements.txt"] = _CPU_TORCH + (ROOT / "requirements.txt").read_bytes()
    changes = [
        *(CommitOperationAdd(name, content) for name, content in files.items()),
        *map(CommitOperationDelete, removed),
    ]
    api.create_commit(space, changes, commit_message="Stereoscope", repo_type="space")


def _has_gpu(api: HfApi, space: str) -> bool:
    """Returns whether the Space runs, or will run, on more than a processor; a new Space has a processor."""
    runtime = api.get_space_runtime(space)
    hardware = runtime.requested_hardware or runtime.hardware or "cpu-basic"
    return not hardware.startswith("cpu")


def _space_files(api: HfApi, space: str) -> frozenset[str]:
    """Returns the files of a Space, none if it does not exist. Raises DeployError if it holds another app."""
    try:
        files = frozenset(api.list_repo_files(space, repo_type="space"))
    except RepositoryNotFoundError:
        return frozenset()
    if any(name.endswith(_APP_FILES) for name in files) and _OWN_FILE not in files:
        raise DeployError(
            f"{space} has another app. Choose another name, or empty that Space first."
        )
    return files


def _error_text(error: Exception, space: str) -> str:
    """Returns a message without the server's own words, which may hold a token."""
    if isinstance(error, HubDownError):  # it begins with "the Hub"
        return f"The{str(error).removeprefix('the')}. {_AGAIN}"
    status = status_of(error)
    if status == 401:
        return "The Hub doesn't know this token. Run `hf auth login`, or set HF_TOKEN to one that can write."
    if status in (402, 403):
        return f"The Hub refused to write {space} (status {status}), because the token isn't allowed to. {_FREE}"
    if status:
        return f"The Hub answered {status}. {_AGAIN}"
    return f"The Hub can't be reached ({type(error).__name__}). {_AGAIN}"
