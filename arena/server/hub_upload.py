"""Hub upload: writes a folder to a dataset on the Hub, with the token of the person who runs the command.

One commit replaces the last upload, so that removed files go. A dataset with other files, such as the backup's, is
refused.
"""

from collections.abc import Collection
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
from huggingface_hub.utils import logging

from arena.server.hub_requests import FAILURES, HubError, retry, retry_hub_requests, status_of

_HUB_FILE = ".gitattributes"
"""A file that the Hub adds by itself."""


def upload_dataset(
    folder: Path, name: str, private: bool, top_names: Collection[str], hub: HfApi | None = None
) -> None:
    """Makes the dataset `name` equal to a folder. Raises HubError.

    `top_names`: the only files and folders that the dataset may have at its top.
    """
    if name.count("/") != 1:
        raise HubError(f"--push is {name[:120]!r}. Write OWNER/NAME, as in ada/pets.")
    if hub is None and get_token() is None:
        raise HubError("No Hub token found. Run `hf auth login`, or set HF_TOKEN.")
    logging.set_verbosity_error()  # it would report every attempt
    retry_hub_requests()
    api = hub or HfApi()
    try:
        api.create_repo(name, repo_type="dataset", private=private, exist_ok=True)
        dataset = api.dataset_info(name)
        if dataset.private is not private:
            current = "private" if dataset.private else "public"
            wanted = "private" if private else "public"
            raise HubError(
                f"The dataset {name} is {current}, not {wanted}. Make it {wanted} on the Hub, or choose another."
            )
        paths = {file.rfilename for file in dataset.siblings or ()} - {_HUB_FILE}
        others = sorted(path for path in paths if path.partition("/")[0] not in top_names)
        if others:
            raise HubError(
                f"The dataset {name} has {others[0]}, which isn't from an export. Choose another name."
            )
        retry(lambda: _replace(api, name, folder))
    except HubError:  # which is an OSError
        raise
    except FAILURES as error:
        raise HubError(_error_text(error, name)) from error


def _replace(api: HfApi, name: str, folder: Path) -> None:
    """Commits all files of a folder, and deletes all others of the dataset."""
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    deleted = {*api.list_repo_files(name, repo_type="dataset")} - files.keys() - {_HUB_FILE}
    changes = [
        *(CommitOperationAdd(path, file) for path, file in sorted(files.items())),
        *map(CommitOperationDelete, sorted(deleted)),
    ]
    api.create_commit(name, changes, commit_message="Items", repo_type="dataset")


def _error_text(error: Exception, name: str) -> str:
    """Returns a message without the server's own words, which may hold a token."""
    status = status_of(error)
    if status in (401, 403):
        return f"The Hub refused to write {name} (status {status}). Set HF_TOKEN to a token that can write to it."
    if status:
        return f"The Hub answered {status} for {name}. Try again."
    return f"The Hub didn't accept {name} ({type(error).__name__}). Check the name and try again."
