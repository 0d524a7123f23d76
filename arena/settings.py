"""Settings, read from environment variables by this module alone.

Import this module before gradio and huggingface_hub: it sets environment variables that they read on import.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_type_hints
from urllib.parse import unquote

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
)
from pydantic.fields import FieldInfo

from arena.types import Secret
from arena.validation import must_be, one_line, whole

# No version check, no telemetry, and no rebuilding of the analytics frame at each event.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
# a board is small: more threads would only spin beside the requests
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# only our middleware reads X-Forwarded-For, as TRUSTED_HOPS allows
os.environ["FORWARDED_ALLOW_IPS"] = ""
if os.environ.get("SPACES_ZERO_GPU"):
    # Gradio sees by SYSTEM that this is a Space. Then its launch() opens port 7887, where anyone may rewrite the app's
    # files.
    os.environ.pop("SYSTEM", None)

_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_DATABASE = re.compile(
    r"sqlite:///(?!:memory:).+|postgresql://([^/?#@]*@)?[^/?#@:]*(:\d+)?(/[^/?#]*)?(\?.*)?"
)
_DATASET = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
_DATABASE_FORMS = "postgresql://user:password@host:port/name or sqlite:////path/to/file.db"
_ADDRESS_FORM = "an address like https://api.example.org/v1, without user, password or query"
_ORIGIN = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?")
_SITE = re.compile(r"https?://[\w.-]+(:\d{1,5})?", re.ASCII)
_PROVIDER = re.compile(
    r"(https://[^\s/?#@]+|http://(127\.0\.0\.1|localhost)(:[^\s/?#@]*)?)(/[^\s?#]*)?"
)
"""The address of a login provider: https, or http on this machine."""
_NAME = re.compile(r"[\w.@:+-]{1,64}", re.ASCII)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
_PASSWORD = re.compile(r"//[^/?#@:]*:([^/?#]+)@|[?&](?:ssl)?password=([^&#]+)")
"""A password in a database's address: the user's, or in the query."""
_PRIVATE_PARTS = re.compile(r"(?<=://)[^/?#@]*@|\?.*", re.DOTALL)
"""Parts of a database's address that may hold a password."""
_DIGITS = re.compile(r"[0-9]{1,9}")
_DOLLARS = re.compile(r"[0-9]{1,7}(\.[0-9]{1,6})?")
_QUOTED = re.compile(r"([\"']).*\1", re.DOTALL)
_PRESET = re.compile(r"[a-z0-9-]{1,40}")
PRESETS = Path(__file__).parent / "inference/presets"
"""Folder of the model catalogues that come with the program."""
_SPACE_HOPS = "1"
"""Trusted proxies of a Space, whose number isn't documented. One is safe: a visitor can't forge the rightmost address.
If a second proxy put it there, it is a private address, which counts as no network."""

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine for itself."""

DemoBank = Literal["auto", "on", "off"]
MTURK_HOSTS = ("https://www.mturk.com", "https://workersandbox.mturk.com")
"""Sites of MTurk to which a worker's browser posts the finished work."""
MTURK_FRAMES = ("https://worker.mturk.com", "https://workersandbox.mturk.com")
"""Sites of MTurk that may show a campaign's page in a frame."""
CountRule = Literal["everyone", "logged-in", "campaign", "counted"]
BoardVoters = Literal["counted", "everyone"]
"""The voters of a board: those whose votes count, or everyone."""
_RULE_BY_KNOWN_VOTERS: Mapping[tuple[bool, bool], CountRule] = {
    (True, True): "counted",
    (True, False): "logged-in",
    (False, True): "campaign",
    (False, False): "everyone",
}
"""The rule by whether people can log in, and whether campaigns are named."""


class SettingError(ValueError):
    """A setting is wrong; the message names it, its value and the allowed values."""


def _millionths(text: str) -> int:
    """Returns US dollars in millionths."""
    if not _DOLLARS.fullmatch(text):
        raise ValueError("no dollars")
    return round(float(text) * 1_000_000)


def _whole_number(text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueError("no whole number")
    return int(text)


def _folder_path(text: str) -> Path:
    """Returns an absolute path, which need not exist. Raises ValueError if looking for it fails."""
    try:
        path = Path(text).expanduser().absolute()
        path.exists()  # for its errors
    except RuntimeError as error:
        raise ValueError("there is no such home folder here") from error
    except OSError as error:  # a folder that this user may not enter, a name that is too long
        raise ValueError(f"it can't be opened: {error.strerror}") from error
    return path


def _existing_path(text: str) -> Path:
    path = _folder_path(text)
    if not path.exists():
        raise ValueError("there is no such file or folder")
    return path


def _catalogue_path(text: str) -> Path:
    """Returns the file of a model catalogue, by its path or a preset's name. Raises ValueError if there is none.

    A file named like a preset comes before the preset.
    """
    preset = PRESETS / f"{text}.toml"
    if not _PRESET.fullmatch(text) or Path(text).exists():
        return _existing_path(text)
    if not preset.is_file():
        names = ", ".join(sorted(path.stem for path in PRESETS.glob("*.toml")))
        raise ValueError(f"there is no such file or preset. Presets: {names}")
    return preset


_Count: TypeAlias = Annotated[int, BeforeValidator(_whole_number)]
_Rate: TypeAlias = Annotated[_Count, whole(1, 10**8)]
_Dollars: TypeAlias = Annotated[
    int, BeforeValidator(_millionths), must_be("US dollars, as in 5 or 2.50")
]
_Existing: TypeAlias = Annotated[Path, BeforeValidator(_existing_path)]
_Flag: TypeAlias = Annotated[bool, BeforeValidator(bool)]
_Key: TypeAlias = Annotated[Secret, PlainValidator(Secret)]
_Commas = BeforeValidator(
    lambda text: tuple(part.strip() for part in text.split(",") if part.strip())
)
_Dataset: TypeAlias = Annotated[
    str, must_be("a dataset on the Hub, as in owner/name", _DATASET.fullmatch, hidden="a token")
]
_Name: TypeAlias = Annotated[
    str, must_be("names separated by commas, as in anna,ben-2", _NAME.fullmatch)
]
_Operator: TypeAlias = Annotated[_Name, AfterValidator(str.lower)]
_Site: TypeAlias = Annotated[
    str, must_be("addresses separated by commas, as in https://www.mturk.com", _SITE.fullmatch)
]
_Origin: TypeAlias = Annotated[
    str,
    BeforeValidator(lambda url: url.lower().removesuffix("/")),
    must_be("an https address without a path, as in https://arena.example.org", _ORIGIN.fullmatch),
]
_Host: TypeAlias = Annotated[
    str,
    BeforeValidator(str.lower),
    must_be("host names separated by commas, as in images.example.org", _HOST.fullmatch),
]


@dataclass(frozen=True)
class JudgeSettings:
    """The operator's judge: its address, rate limit and budgets in millionths of a US dollar."""

    model: Annotated[str, Field(alias="JUDGE_MODEL")] = ""
    """If empty, there is no operator's judge, and uploads are scored with their owner's key."""
    base_url: Annotated[
        str, must_be(_ADDRESS_FORM, _ADDRESS.fullmatch, hidden="a key"), Field(alias="JUDGE_URL")
    ] = "https://api.openai.com/v1"
    """Base URL of an OpenAI-compatible server."""
    key: Annotated[_Key, Field(alias="OPENAI_API_KEY")] = Secret("")
    prices: Annotated[_Existing | None, Field(alias="JUDGE_PRICES")] = None
    """CSV of prices: model, prompt, completion; US dollars per million tokens."""
    concurrency: Annotated[_Count, whole(1, 256), Field(alias="JUDGE_CONCURRENCY")] = 16
    requests_per_minute: Annotated[_Rate | None, Field(alias="JUDGE_REQUESTS_PER_MINUTE")] = None
    tokens_per_minute: Annotated[_Rate | None, Field(alias="JUDGE_TOKENS_PER_MINUTE")] = None
    job_budget: Annotated[_Dollars, Field(alias="JUDGE_JOB_BUDGET")] = 5_000_000
    day_budget: Annotated[_Dollars, Field(alias="JUDGE_DAY_BUDGET")] = 10_000_000
    """Most cost per person and day."""
    total_budget: Annotated[_Dollars, Field(alias="JUDGE_TOTAL_BUDGET")] = 100_000_000


@dataclass(frozen=True)
class LiveSettings:
    """Budgets of live battles in millionths of a US dollar, and how many run at once."""

    battle_budget: Annotated[_Dollars, Field(alias="LIVE_BATTLE_BUDGET")] = 200_000
    """Most cost of one live battle."""
    day_budget: Annotated[_Dollars, Field(alias="LIVE_DAY_BUDGET")] = 1_000_000
    """Most cost per person and day."""
    total_budget: Annotated[_Dollars, Field(alias="LIVE_TOTAL_BUDGET")] = 20_000_000
    at_once: Annotated[_Count, whole(1, 10_000), Field(alias="LIVE_AT_ONCE")] = 20
    """Battles that generate at the same time; others wait."""


@dataclass(frozen=True)
class BackupSettings:
    """Place of the backup."""

    dataset: Annotated[_Dataset, Field(alias="MIRROR")]
    """Private dataset on the Hub, as owner/name."""
    token: Annotated[_Key, Field(alias="HF_TOKEN")]


@dataclass(frozen=True)
class OAuthSettings:
    """OpenID provider for login, and this app's client id, with its secret if it has one."""

    client_id: Annotated[str, Field(alias="OAUTH_CLIENT_ID")]
    client_secret: Annotated[_Key, Field(alias="OAUTH_CLIENT_SECRET")] = Secret("")
    """If empty, this is a public app, for instance on a laptop, and PKCE alone protects its logins."""
    provider: Annotated[
        str,
        BeforeValidator(lambda url: url.rstrip("/")),
        must_be(
            "an https address, as in https://huggingface.co",
            _PROVIDER.fullmatch,
            hidden="a password",
        ),
        Field(alias="OPENID_PROVIDER_URL"),
    ] = "https://huggingface.co"
    host: Annotated[
        str, BeforeValidator(lambda hosts: hosts.split(",")[0].strip()), Field(alias="SPACE_HOST")
    ] = ""
    """The Space's host; if empty, the host of the request."""


@dataclass(frozen=True)
class CountSettings:
    """The voters of the counted board. There is also a board of everyone's votes, and all votes are stored."""

    rule: Annotated[CountRule, Field(alias="COUNTS")] = "everyone"
    """The voters whose votes count. "everyone": there is one board; "counted": logged-in people and the campaigns'
    workers; "logged-in", "campaign": one of these groups only.
    """
    campaigns: Annotated[tuple[_Name, ...], _Commas, Field(alias="CAMPAIGNS")] = ()
    """Campaigns whose workers count, if the rule is "campaign" or "counted"."""
    official: Annotated[
        BoardVoters | None,
        BeforeValidator(lambda rule: rule if rule == "everyone" else "counted"),
        Field(alias="COUNTS"),
    ] = None
    """The board that opens first, if COUNTS is set; None: the one that the database names."""


@dataclass(frozen=True)
class VoteLimits:
    """Most battles served per day (UTC) to a voter and to a network, and per voter in all."""

    voter_day: Annotated[_Count, whole(1, 10**6), Field(alias="VOTER_DAY_LIMIT")] = 500
    network_day: Annotated[_Count, whole(1, 10**8), Field(alias="NETWORK_DAY_LIMIT")] = 3000
    voter_item: Annotated[_Count, whole(1, 10**6), Field(alias="VOTER_ITEM_LIMIT")] = 20
    """Battles of one item per voter."""
    voter_pair: Annotated[_Count, whole(1, 10**6), Field(alias="VOTER_PAIR_LIMIT")] = 300
    """Battles of one pair of models per voter."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The operator's settings, read once at start."""

    host: Annotated[str, Field(alias="HOST")] = "127.0.0.1"
    port: Annotated[_Count, whole(1, 65535), Field(alias="PORT")] = 7860
    public_url: Annotated[_Origin, Field(alias="PUBLIC_URL")] = ""
    """Public address of this server; if empty, the Space's address, or unknown."""
    data_dir: Annotated[Path, BeforeValidator(_folder_path), Field(alias="DATA_DIR")]
    """Folder for the SQLite file and the pictures."""
    database_url: Annotated[
        str,
        must_be(_DATABASE_FORMS, _DATABASE.fullmatch, hidden="a password"),
        Field(alias="DATABASE_URL", default_factory=lambda values: _sqlite_url(values["data_dir"])),
    ]
    demo_bank: Annotated[DemoBank, Field(alias="DEMO_BANK")] = "auto"
    """auto: demo items are served until an imported item can be served; on: always; off: never."""
    image_hosts: Annotated[tuple[_Host, ...], _Commas, Field(alias="IMAGE_HOSTS")] = ()
    """Hosts from which a voter's browser may load pictures directly."""
    judge: JudgeSettings
    mm_vet: Annotated[_Existing | None, Field(alias="MM_VET_PATH")] = None
    """Folder with MM-Vet's `mm-vet.json`; None: only our own sample can be scored."""
    mm_vet_v2: Annotated[_Existing | None, Field(alias="MM_VET_V2_PATH")] = None
    """Folder with MM-Vet v2's `mm-vet-v2.json`, or that file."""
    questions: Annotated[_Existing | None, Field(alias="QUESTIONS_PATH")] = None
    """Folder with benchmarks' question files, needed for uploads that have answers alone."""
    models: Annotated[
        Annotated[Path, BeforeValidator(_catalogue_path)] | None, Field(alias="MODELS")
    ] = None
    """Model catalogue: a TOML file, or the name of a preset; None: no live battles."""
    local_models: Annotated[_Count, whole(1, 100), Field(alias="LOCAL_MODELS")] = 2
    """Most local models loaded at the same time."""
    live: LiveSettings
    backup: BackupSettings | None
    """None: no backup."""
    space: Annotated[_Flag, Field(alias="SPACE_ID")] = False
    """Whether this is a Hugging Face Space."""
    zero_gpu: Annotated[_Flag, Field(alias="SPACES_ZERO_GPU")] = False
    """Whether this is a ZeroGPU Space, which only Gradio's launch() can start."""
    trusted_hops: Annotated[_Count, whole(0, 10), Field(alias="TRUSTED_HOPS")] = 0
    """Number of trusted proxies, as in `network.client_address`; 0: the client is the peer."""
    mturk_hosts: Annotated[tuple[_Site, ...], _Commas, Field(alias="MTURK_HOSTS")] = MTURK_HOSTS
    """Sites to which a worker's browser may post finished work of a campaign; others only for tests."""
    mturk_frames: Annotated[tuple[_Site, ...], _Commas, Field(alias="MTURK_FRAMES")] = MTURK_FRAMES
    oauth: OAuthSettings | None
    """None: no login."""
    operators: Annotated[frozenset[_Operator], _Commas, Field(alias="OPERATORS")] = frozenset()
    """User names of the operators, lower case."""
    counts: CountSettings
    """COUNTS and CAMPAIGNS as they are set; the rule that follows from them is in `counted`."""
    vote_limits: VoteLimits

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Reads the settings; a blank variable counts as absent. Raises SettingError for a wrong value."""
        variables = {name: text.strip() for name, text in environ.items() if text.strip()}
        names = [setting.name for setting in _setting_values(cls, None, variables)]
        for name in names:
            _refuse_quotes(name, variables.get(name, ""))
        variables.setdefault("DATA_DIR", "~/.stereoscope")
        if "SPACE_ID" in variables:
            variables.setdefault("HOST", "0.0.0.0")
            variables.setdefault("TRUSTED_HOPS", _SPACE_HOPS)
        if "MIRROR" in variables and "HF_TOKEN" not in variables:
            raise SettingError(
                "MIRROR is set without HF_TOKEN. Set HF_TOKEN to a Hub token that may write to that dataset."
            )
        if "OAUTH_CLIENT_SECRET" in variables and "OAUTH_CLIENT_ID" not in variables:
            raise SettingError(
                "OAUTH_CLIENT_SECRET is set without OAUTH_CLIENT_ID. Set both, or hf_oauth: true on a Space."
            )
        # each group of settings is read from the same variables
        groups: dict[str, Mapping[str, str] | None] = {
            "judge": variables,
            "live": variables,
            "counts": variables,
            "vote_limits": variables,
            "backup": variables if "MIRROR" in variables else None,
            "oauth": variables if "OAUTH_CLIENT_ID" in variables else None,
        }
        try:
            settings = _adapter().validate_python(variables | groups)
        except ValidationError as error:
            message = one_line(error)
            for group in groups:
                # the operator knows the variable, not our group
                message = message.removeprefix(f"{group}.")
            raise SettingError(message) from None
        settings._check_logins()
        return settings

    def _check_logins(self) -> None:
        """Raises SettingError if a setting needs a login or a campaign and there is none."""
        how_to_log_in = "set OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET, or hf_oauth: true on a Space"
        advice = f"{how_to_log_in[0].upper()}{how_to_log_in[1:]}."
        if self.operators and self.oauth is None:
            why = "OPERATORS names people who log in with Hugging Face, but nobody can log in here"
            raise SettingError(f"{why}. {advice} Or use the link that is printed at start.")
        if self.counts.rule == "logged-in" and self.oauth is None:
            raise SettingError(f"COUNTS is logged-in, but nobody can log in here. {advice}")
        if self.counts.rule == "campaign" and not self.counts.campaigns:
            raise SettingError(
                "COUNTS is campaign, but CAMPAIGNS is empty. Name the campaigns whose workers count."
            )
        if self.counts.rule == "logged-in" and self.counts.campaigns:
            raise SettingError(
                "COUNTS=logged-in leaves out the workers of CAMPAIGNS. Set COUNTS=counted to count both."
            )
        nobody_is_known = self.counted.rule == "everyone"
        if self.counts.rule == "counted" and nobody_is_known:
            raise SettingError(
                f"COUNTS is counted, but nobody can be counted. Name CAMPAIGNS, or {how_to_log_in}."
            )

    @property
    def counted(self) -> CountSettings:
        """The counted board, as it follows from `counts` and from the voters who can be known.

        With COUNTS unset, "everyone" or "counted", all known voters count: "everyone" only chooses the board that opens
        first. If nobody can log in and no campaign is named, everyone counts.
        """
        if self.counts.rule not in ("everyone", "counted"):
            return self.counts
        has_login = self.oauth is not None
        has_campaigns = bool(self.counts.campaigns)
        return replace(self.counts, rule=_RULE_BY_KNOWN_VOTERS[has_login, has_campaigns])

    @property
    def public(self) -> str:
        """The address at which the world reaches this server; empty if it is not known."""
        if self.public_url:
            return self.public_url
        space_host = self.oauth.host if self.oauth else ""
        return f"https://{space_host}" if space_host else ""

    @property
    def hosts(self) -> frozenset[str]:
        """The host names that requests may be sent to; empty: any.

        They are limited if the server listens on this machine alone: a page elsewhere could reach it by a name that
        leads here (DNS rebinding). A proxy on this machine passes on the public name, which only PUBLIC_URL tells us.
        """
        is_behind_unknown_name = self.trusted_hops and not self.public_url
        if self.host not in _LOOPBACK or is_behind_unknown_name:
            return frozenset()
        public_host = self.public.removeprefix("https://").partition(":")[0]
        names = _LOOPBACK | {"[::1]"}
        return names | {public_host} if public_host else names

    @property
    def uploads_dir(self) -> Path:
        """Folder for uploads before they are checked."""
        return self.data_dir / "uploads"

    @property
    def pictures_dir(self) -> Path:
        return self.data_dir / "pictures"

    @property
    def scaled_dir(self) -> Path:
        """Folder for pictures at the width of screens, which can be rebuilt."""
        return self.data_dir / "scaled"

    @property
    def own_dir(self) -> Path:
        """Folder for visitors' own images."""
        return self.data_dir / "own"

    @property
    def public_dir(self) -> Path:
        """Folder for the public export that can be downloaded."""
        return self.data_dir / "public"


@cache
def _adapter() -> TypeAdapter[Settings]:
    return TypeAdapter(Settings)


class SettingValue(NamedTuple):
    """The value of a setting in the running app."""

    name: str
    value: str
    """For a secret, only whether it is set."""
    is_set: bool
    """Whether the environment sets it; otherwise the value is the default."""


def setting_values(
    settings: Settings, environ: Mapping[str, str] = os.environ
) -> tuple[SettingValue, ...]:
    """Returns the value of every setting, one for each variable.

    COUNTS is read into two fields. The first, `rule`, is returned if COUNTS is set. Otherwise it is the second,
    `official`, which is None: then the database names the board that opens first.
    """
    by_name: dict[str, SettingValue] = {}
    for setting in _setting_values(Settings, settings, environ):
        if setting.name not in by_name or not setting.is_set:
            by_name[setting.name] = setting
    return tuple(by_name.values())


def _setting_values(
    group: Any, values: object, environ: Mapping[str, str]
) -> Iterator[SettingValue]:
    """Yields the settings of a dataclass and of the dataclasses in it; `values`: an instance of it, or None."""
    for field, hint in get_type_hints(group, include_extras=True).items():
        rules = getattr(hint, "__metadata__", ())
        value = getattr(values, field, None)
        names = [str(rule.alias) for rule in rules if isinstance(rule, FieldInfo)]
        if not names:
            # a dataclass, or a choice of one and None
            inner_group = next(filter(is_dataclass, (hint, *get_args(hint))))
            yield from _setting_values(inner_group, value, environ)
            continue
        is_dollars = any(getattr(rule, "func", None) is _millionths for rule in rules)
        text = f"${(value or 0) / 1e6:,.2f}" if is_dollars else _value_text(value)
        is_set = bool(environ.get(names[0], "").strip())
        yield SettingValue(names[0], text, is_set)


def _refuse_quotes(name: str, text: str) -> None:
    """Raises SettingError for a value in quotes, which a shell removes and Docker's --env-file does not."""
    if _QUOTED.fullmatch(text):
        raise SettingError(
            f"{name} is in quotes, which would become part of its value. Write it without quotes."
        )


def _value_text(value: object) -> str:
    if isinstance(value, Secret):
        return "set" if value else "none"
    if isinstance(value, tuple | frozenset):
        return ", ".join(sorted(value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return "none"
    return _PRIVATE_PARTS.sub("", str(value))


def secret(name: str, environ: Mapping[str, str] = os.environ) -> Secret:
    """Returns the key in an environment variable. Raises SettingError if it is not set."""
    value = environ.get(name, "").strip()
    if not value:
        raise SettingError(
            f"The models file takes a key from {name}, which isn't set. Set it to the key."
        )
    _refuse_quotes(name, value)
    return Secret(value)


def environ_without_hub_token() -> dict[str, str]:
    """Returns the environment for a process whose requests to the Hub must not have the operator's token.

    huggingface_hub otherwise sends the token in HF_TOKEN, or that of `hf auth login`, by itself.
    """
    return {**os.environ, "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}


def known_secrets() -> tuple[Secret, ...]:
    """Returns the values to redact from logs: secret-looking variables, and the password in DATABASE_URL."""
    values = [
        value.strip()
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and value.strip()
    ]
    for match in _PASSWORD.finditer(os.environ.get("DATABASE_URL", "")):
        password = match[1] or match[2]
        values += [unquote(password), password]
    return tuple(map(Secret, values))


def _sqlite_url(data_dir: Path) -> str:
    path = str(data_dir / "arena.db").replace("%", "%25").replace("?", "%3F")
    return f"sqlite:///{path}"
