"""Settings: read from environment variables, here and nowhere else.

Import this module before gradio or huggingface_hub: it sets environment variables that those read on import.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import unquote

from arena.types import Secret

# No version check, no telemetry, and no rebuilding of the analytics frame at each event.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a board is small: more threads would only spin beside the requests
os.environ["FORWARDED_ALLOW_IPS"] = ""  # only our middleware reads X-Forwarded-For, as TRUSTED_HOPS allows
if os.environ.get("SPACES_ZERO_GPU"):
    os.environ.pop("SYSTEM", None)  # launch() would open port 7887, where anyone may rewrite the app's files

_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_DATABASE = re.compile(r"sqlite:///(?!:memory:).+|postgresql://([^/?#]*@)?[^/?#@:]*(:\d+)?(/[^/?#]*)?(\?.*)?")

_DATASET = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost)(:|/|$)")
_NAME = re.compile(r"[\w.@:+-]{1,64}", re.ASCII)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
_PASSWORD = re.compile(r"//[^/?#@:]*:([^/?#]+)@")
_DOLLARS = re.compile(r"[0-9]{1,7}(\.[0-9]{1,6})?")
_SPACE_HOPS = 1
"""A Space is reached only through its platform's proxies; how many there are is not documented. No visitor can forge
the rightmost address; if it were an inner proxy's, it would be private, and count as no network."""

DemoBank = Literal["auto", "on", "off"]
CountRule = Literal["everyone", "logged-in", "campaign"]


class SettingError(ValueError):
    """A setting is wrong; the message names it, its value and the allowed values."""


@dataclass(frozen=True)
class JudgeSettings:
    """The operator's judge: its address, rate limit and budgets in millionths of a US dollar."""

    model: str = ""
    """Empty: the operator lends no judge, and uploads are scored with their owner's key."""
    base_url: str = "https://api.openai.com/v1"
    """Base URL of an OpenAI-compatible server."""
    key: Secret = Secret("")
    prices: Path | None = None
    """CSV of prices: model, prompt, completion; US dollars per million tokens."""
    concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    job_budget: int = 5_000_000
    day_budget: int = 10_000_000
    """Per person and day."""
    total_budget: int = 100_000_000


@dataclass(frozen=True)
class LiveSettings:
    """Budgets of live battles and chats in millionths of a US dollar, and how many run at once."""

    battle_budget: int = 200_000
    """Per live battle or chat."""
    day_budget: int = 1_000_000
    """Per person and day."""
    total_budget: int = 20_000_000
    at_once: int = 20
    """Battles and chats that generate at the same time; others wait."""


@dataclass(frozen=True)
class BackupSettings:
    """Where the backup is stored."""

    dataset: str
    """Private dataset on the Hub, as owner/name."""
    token: Secret


@dataclass(frozen=True)
class OAuthSettings:
    """OpenID provider for login, and this app's client id and secret."""

    client_id: str
    client_secret: Secret
    provider: str = "https://huggingface.co"
    scopes: str = "openid profile"
    host: str = ""
    """The Space's host; empty: the host of the request."""


@dataclass(frozen=True)
class CountSettings:
    """Whose votes count on the boards; all votes are stored."""

    rule: CountRule = "everyone"
    campaigns: tuple[str, ...] = ()
    """Campaigns whose workers count, if the rule is "campaign"."""


@dataclass(frozen=True)
class VoteLimits:
    """Limits on battles served: per day (UTC) to a voter and to a network, and per voter overall."""

    voter_day: int = 500
    network_day: int = 3000
    voter_item: int = 20
    """Battles of one item per voter."""
    voter_pair: int = 300
    """Battles of one pair of models per voter."""


@dataclass(frozen=True)
class Settings:
    """The operator's settings, read once at start."""

    host: str
    """Address to listen on."""
    port: int
    """Port to listen on, 1 to 65535."""
    data_dir: Path
    """Folder for the SQLite file and the pictures."""
    database_url: str
    """SQLAlchemy URL of the database."""
    demo_bank: DemoBank
    """auto: demo items are served until another source is imported; on: always; off: never."""
    image_hosts: tuple[str, ...]
    """Hosts from which a voter's browser may load pictures directly."""
    voters_per_pair: int
    """Distinct voters that a campaign collects per item and pair."""
    judge: JudgeSettings
    """The judge that the operator lends."""
    mm_vet: Path | None
    """Folder with MM-Vet's `mm-vet.json`; None: only our own sample can be scored."""
    models: Path | None
    """Model catalogue (TOML); None: no live battles."""
    local_models: int
    """Most local models loaded at the same time."""
    live: LiveSettings
    backup: BackupSettings | None
    """None: no backup."""
    space: bool
    """Whether this is a Hugging Face Space."""
    zero_gpu: bool
    """Whether this is a ZeroGPU Space, which Gradio's own launch() must start."""
    trusted_hops: int
    """Number of trusted proxies: the client's address is that far from the right of X-Forwarded-For; 0: the peer's."""
    oauth: OAuthSettings | None
    """None: no login."""
    operators: frozenset[str]
    """User names of the operators, lower case."""
    counts: CountSettings
    vote_limits: VoteLimits

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings. Raises SettingError for a wrong value."""
        space = bool(environ.get("SPACE_ID"))
        data_dir = _data_dir(environ)
        oauth = _oauth(environ)
        return cls(
            host=environ.get("HOST") or ("0.0.0.0" if space else "127.0.0.1"),
            port=_whole(environ, "PORT", 7860, 1, 65535),
            data_dir=data_dir,
            database_url=_database_url(environ, data_dir),
            demo_bank=_demo_bank(environ),
            image_hosts=_hosts(environ),
            voters_per_pair=_whole(environ, "VOTERS_PER_PAIR", 5, 1, 1000),
            judge=_judge(environ),
            mm_vet=_path(environ, "MM_VET_PATH"),
            models=_path(environ, "MODELS"),
            local_models=_whole(environ, "LOCAL_MODELS", 2, 1, 100),
            live=_live(environ),
            backup=_backup(environ),
            space=space,
            zero_gpu=bool(environ.get("SPACES_ZERO_GPU")),
            trusted_hops=_whole(environ, "TRUSTED_HOPS", _SPACE_HOPS if space else 0, 0, 10),
            oauth=oauth,
            operators=_operators(environ, oauth),
            counts=_counts(environ, oauth),
            vote_limits=_vote_limits(environ),
        )

    @property
    def uploads_dir(self) -> Path:
        """Folder for uploads that are not yet checked."""
        return self.data_dir / "uploads"

    @property
    def pictures_dir(self) -> Path:
        """Folder for stored pictures."""
        return self.data_dir / "pictures"

    @property
    def own_dir(self) -> Path:
        """Folder for visitors' own images."""
        return self.data_dir / "own"

    @property
    def public_dir(self) -> Path:
        """Folder for the public export that the server offers."""
        return self.data_dir / "public"


def secret(name: str, environ: Mapping[str, str] = os.environ) -> Secret:
    """Return the key in an environment variable. Raises SettingError if it is not set."""
    value = environ.get(name, "").strip()
    if not value:
        raise SettingError(f"The catalogue of models takes a key from {name}, which is not set; set it to the key")
    return Secret(value)


def known_secrets(environ: Mapping[str, str] = os.environ) -> tuple[Secret, ...]:
    """Return the values to redact from logs: secret-looking variables, and the password in DATABASE_URL."""
    found = [value.strip() for name, value in environ.items() if _SECRET_NAME.search(name) and value.strip()]
    password = _PASSWORD.search(environ.get("DATABASE_URL", ""))
    return tuple(Secret(text) for text in [*found, *([unquote(password[1]), password[1]] if password else [])])


def _whole(environ: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most):
        raise SettingError(f"{name} is {text[:40]!r}; it must be a whole number from {least} to {most}")
    return int(text)


def _judge(environ: Mapping[str, str]) -> JudgeSettings:
    default = JudgeSettings()
    model = environ.get("JUDGE_MODEL", "").strip()
    base_url = environ.get("JUDGE_URL", "").strip() or default.base_url
    if not _ADDRESS.fullmatch(base_url):
        raise SettingError(
            "JUDGE_URL must be an address as in https://api.example.org/v1, without user, password or query "
            "(its value is not shown: it may hold a key)"
        )
    return JudgeSettings(
        model=model,
        base_url=base_url,
        key=Secret(environ.get("OPENAI_API_KEY", "").strip()),
        prices=_path(environ, "JUDGE_PRICES"),
        concurrency=_whole(environ, "JUDGE_CONCURRENCY", default.concurrency, 1, 256),
        requests_per_minute=_whole(environ, "JUDGE_REQUESTS_PER_MINUTE", 0, 1, 10**8) or None,
        tokens_per_minute=_whole(environ, "JUDGE_TOKENS_PER_MINUTE", 0, 1, 10**8) or None,
        job_budget=_dollars(environ, "JUDGE_JOB_BUDGET", default.job_budget),
        day_budget=_dollars(environ, "JUDGE_DAY_BUDGET", default.day_budget),
        total_budget=_dollars(environ, "JUDGE_TOTAL_BUDGET", default.total_budget),
    )


def _live(environ: Mapping[str, str]) -> LiveSettings:
    default = LiveSettings()
    return LiveSettings(
        battle_budget=_dollars(environ, "LIVE_BATTLE_BUDGET", default.battle_budget),
        day_budget=_dollars(environ, "LIVE_DAY_BUDGET", default.day_budget),
        total_budget=_dollars(environ, "LIVE_TOTAL_BUDGET", default.total_budget),
        at_once=_whole(environ, "LIVE_AT_ONCE", default.at_once, 1, 10_000),
    )


def _backup(environ: Mapping[str, str]) -> BackupSettings | None:
    dataset, token = environ.get("MIRROR", "").strip(), environ.get("HF_TOKEN", "").strip()
    if not dataset:
        return None
    if not _DATASET.fullmatch(dataset):
        raise SettingError(f"MIRROR is {dataset[:80]!r}; it must be a dataset of the Hub, as in owner/name")
    if not token:
        raise SettingError("MIRROR needs HF_TOKEN, a token of the Hub that may write to that dataset; set it")
    return BackupSettings(dataset, Secret(token))


def _oauth(environ: Mapping[str, str]) -> OAuthSettings | None:
    client_id, client_secret = (environ.get(f"OAUTH_CLIENT_{name}", "").strip() for name in ("ID", "SECRET"))
    if not (client_id or client_secret):
        return None
    if not (client_id and client_secret):
        raise SettingError(
            "OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET go together; set both, or hf_oauth: true on a Space"
        )
    provider = environ.get("OPENID_PROVIDER_URL", "").strip().rstrip("/") or OAuthSettings.provider
    if not _ADDRESS.fullmatch(provider) or not (provider.startswith("https:") or _LOOPBACK.match(provider)):
        raise SettingError(
            f"OPENID_PROVIDER_URL is {provider[:80]!r}; it must be an https address, as huggingface.co's"
        )
    scopes = environ.get("OAUTH_SCOPES", "").strip() or OAuthSettings.scopes
    host = environ.get("SPACE_HOST", "").split(",")[0].strip()
    return OAuthSettings(client_id, Secret(client_secret), provider, scopes, host)


def _operators(environ: Mapping[str, str], oauth: OAuthSettings | None) -> frozenset[str]:
    names = _names(environ, "OPERATORS")
    if names and oauth is None:
        raise SettingError(
            "OPERATORS names people who log in with Hugging Face, and nobody can log in here: set hf_oauth: true "
            "(a Space) or OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET; elsewhere use the link that is printed at start"
        )
    return frozenset(name.lower() for name in names)


def _counts(environ: Mapping[str, str], oauth: OAuthSettings | None) -> CountSettings:
    text = environ.get("COUNTS", "").strip() or "everyone"
    rule = next((rule for rule in get_args(CountRule) if rule == text), None)
    if rule is None:
        raise SettingError(f"COUNTS is {text[:40]!r}; it must be one of {', '.join(get_args(CountRule))}")
    if rule == "logged-in" and oauth is None:
        raise SettingError(
            "COUNTS is logged-in, and nobody can log in here (a login would be a mock): set hf_oauth: true (a Space) "
            "or OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET"
        )
    campaigns = _names(environ, "CAMPAIGNS")
    if (rule == "campaign") != bool(campaigns):
        raise SettingError("COUNTS=campaign and CAMPAIGNS go together: name the campaigns whose workers count")
    return CountSettings(rule, campaigns)


def _vote_limits(environ: Mapping[str, str]) -> VoteLimits:
    default = VoteLimits()
    return VoteLimits(
        voter_day=_whole(environ, "VOTER_DAY_LIMIT", default.voter_day, 1, 10**6),
        network_day=_whole(environ, "NETWORK_DAY_LIMIT", default.network_day, 1, 10**8),
        voter_item=_whole(environ, "VOTER_ITEM_LIMIT", default.voter_item, 1, 10**6),
        voter_pair=_whole(environ, "VOTER_PAIR_LIMIT", default.voter_pair, 1, 10**6),
    )


def _names(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in environ.get(name, "").split(",") if part.strip())
    for one in names:
        if not _NAME.fullmatch(one):
            raise SettingError(f"{name} holds {one[:80]!r}; it must be names with commas, as in anna,ben-2")
    return names


def _dollars(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not _DOLLARS.fullmatch(text):
        raise SettingError(f"{name} is {text[:40]!r}; it must be US dollars, as in 5 or 2.50")
    return round(float(text) * 1_000_000)


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    text = environ.get(name, "").strip()
    if not text:
        return None
    path = Path(text).absolute()
    if not path.exists():
        raise SettingError(f"{name} is {text!r}; there is no such file or folder")
    return path


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
