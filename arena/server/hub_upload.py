"""Hub upload: a folder as a dataset of its own on the Hub, by the token of who runs the command.

One commit replaces what the last upload brought, so that what was taken out goes. A dataset with files of others, as
that of the backup, is refused.
"""

from collections.abc import Collection
from pathlib import Path

import httpx2
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils import logging

from arena.server.hub_requests import HubError, repeat, send_again, status_of

_MADE_BY_THE_HUB = ".gitattributes"


def upload_dataset(
    folder: Path, name: str, private: bool, tops: Collection[str], hub: HfApi | None = None
) -> None:
    """Make the dataset `name` what a folder is; `tops`: what may stand at its top. Raises HubError."""
    if name.count("/") != 1:
        raise HubError(f"--push is {name[:120]!r}; it must be OWNER/NAME, as in ada/pets")
    if hub is None and get_token() is None:
        raise HubError("There is no token of the Hub here; run `hf auth login`, or set HF_TOKEN")
    logging.set_verbosity_error()  # it would report every attempt
    send_again()
    api = hub or HfApi()
    try:
        api.create_repo(name, repo_type="dataset", private=private, exist_ok=True)
        there = api.dataset_info(name)
        if there.private is not private:
            now, wanted = ("private", "public") if there.private else ("public", "private")
            raise HubError(
                f"The dataset {name} is {now}, not {wanted}: make it {wanted} on the Hub, or choose another"
            )
        paths = {file.rfilename for file in there.siblings or ()} - {_MADE_BY_THE_HUB}
        if others := sorted(path for path in paths if path.partition("/")[0] not in tops):
            raise HubError(
                f"The dataset {name} holds {others[0]}, which is no export; choose another name"
            )
        repeat(lambda: _replace(api, name, folder))
    except HubError:
        raise
    except (HfHubHTTPError, httpx2.HTTPError, OSError, ValueError) as error:
        raise HubError(_told(error, name)) from error


def _replace(api: HfApi, name: str, folder: Path) -> None:
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    gone = {*api.list_repo_files(name, repo_type="dataset")} - files.keys() - {_MADE_BY_THE_HUB}
    changes = [
        *(CommitOperationAdd(path, file) for path, file in sorted(files.items())),
        *map(CommitOperationDelete, sorted(gone)),
    ]
    api.create_commit(name, changes, commit_message="Items", repo_type="dataset")


def _told(error: Exception, name: str) -> str:
    """A message without the server's own words, which may hold a token."""
    status = status_of(error)
    if status in (401, 403):
        return f"The Hub refused to write {name} (status {status}): give HF_TOKEN a token that may write to it"
    if status:
        return f"The Hub answered {status} for {name}; please try again"
    return f"The Hub did not take {name} ({type(error).__name__}); look at the name, and try again"
