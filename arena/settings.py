"""Settings: the only reader of the environment.

Import this module before gradio or huggingface_hub: it sets the switches that those read when they are imported.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

# No version check, no telemetry, and no rebuilt analytics frame at each event.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_DATABASE = re.compile(r"sqlite:///(?!:memory:).+|postgresql://([^/?#]*@)?[^/?#@:]*(:\d+)?(/[^/?#]*)?(\?.*)?")

DemoBank = Literal["auto", "on", "off"]


class SettingError(ValueError):
    """Say which setting is wrong, what it holds and what it may hold."""


@dataclass(frozen=True)
class Settings:
    """What an operator can choose, read once at start."""

    host: str
    """Address to listen on."""
    port: int
    """Port to listen on, 1 to 65535."""
    data_dir: Path
    """Folder for the SQLite file and the pictures."""
    database_url: str
    """SQLAlchemy address of the database."""
    demo_bank: DemoBank
    """auto: the demo bank is drawn from until another source is imported; on: always; off: never."""
    image_hosts: tuple[str, ...]
    """Hosts whose pictures a voter's browser may load by itself."""
    voters_per_pair: int
    """Distinct voters that a campaign collects for one item and pair."""
    space: bool
    """Whether this is a Hugging Face Space."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings; raise SettingError with one clear line for a wrong value."""
        space = bool(environ.get("SPACE_ID"))
        data_dir = _data_dir(environ)
        return cls(
            host=environ.get("HOST") or ("0.0.0.0" if space else "127.0.0.1"),
            port=_whole(environ, "PORT", 7860, 1, 65535),
            data_dir=data_dir,
            database_url=_database_url(environ, data_dir),
            demo_bank=_demo_bank(environ),
            image_hosts=_hosts(environ),
            voters_per_pair=_whole(environ, "VOTERS_PER_PAIR", 5, 1, 1000),
            space=space,
        )

    @property
    def pictures_dir(self) -> Path:
        """Folder of the kept pictures."""
        return self.data_dir / "pictures"


def _whole(environ: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most):
        raise SettingError(f"{name} is {text[:40]!r}; it must be a whole number from {least} to {most}")
    return int(text)


def _demo_bank(environ: Mapping[str, str]) -> DemoBank:
    text = environ.get("DEMO_BANK", "").strip() or "auto"
    for choice in get_args(DemoBank):
        if text == choice:
            return choice
    raise SettingError(f"DEMO_BANK is {text!r}; it must be one of {', '.join(get_args(DemoBank))}")


def _data_dir(environ: Mapping[str, str]) -> Path:
    text = environ.get("DATA_DIR", "").strip()
    try:
        return Path(text).expanduser().absolute() if text else Path.home() / ".stereoscope"
    except RuntimeError as error:
        raise SettingError(f"DATA_DIR is {text!r}; there is no such person's home folder here") from error


def _database_url(environ: Mapping[str, str], data_dir: Path) -> str:
    url = environ.get("DATABASE_URL", "").strip()
    if not url:
        return "sqlite:///" + str(data_dir / "arena.db").replace("%", "%25").replace("?", "%3F")
    if not _DATABASE.fullmatch(url):
        raise SettingError(
            "DATABASE_URL must be postgresql://user:password@host:port/name or sqlite:////path/to/file.db "
            "(its value is not shown: it may hold a password)"
        )
    return url


def _hosts(environ: Mapping[str, str]) -> tuple[str, ...]:
    hosts = tuple(part.strip().lower() for part in environ.get("IMAGE_HOSTS", "").split(",") if part.strip())
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise SettingError(
                f"IMAGE_HOSTS holds {host!r}; it must be host names with commas, as in images.example.org"
            )
    return hosts
