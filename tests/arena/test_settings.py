"""Settings: defaults, what each variable may hold, and one clear line for anything else."""

import pickle
import traceback
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from arena.settings import (
    PRESETS,
    BackupSettings,
    CountSettings,
    JudgeSettings,
    LiveSettings,
    OAuthSettings,
    SettingError,
    Settings,
    VoteLimits,
    known_secrets,
    secret,
    setting_values,
)
from arena.types import Secret

SECRET = "hunter2-secret"
LOGIN = {"OAUTH_CLIENT_ID": "id", "OAUTH_CLIENT_SECRET": SECRET}
CAMPAIGN = {"CAMPAIGNS": "spring"}


def test_defaults_need_no_variable():
    settings = Settings.from_env({})
    assert (settings.host, settings.port) == ("127.0.0.1", 7860)
    assert settings.data_dir == Path.home() / ".stereoscope"
    assert settings.database_url == f"sqlite:///{settings.data_dir / 'arena.db'}"
    assert settings.pictures_dir == settings.data_dir / "pictures"
    assert (settings.demo_bank, settings.image_hosts) == ("auto", ())
    assert settings.judge == JudgeSettings() and not settings.judge.key
    assert settings.mm_vet is None and settings.models is None
    assert (settings.local_models, settings.live) == (2, LiveSettings())
    assert not settings.space and settings.trusted_hops == 0


def test_blank_variables_are_as_if_absent():
    names = (
        "HOST PORT DATA_DIR DATABASE_URL DEMO_BANK IMAGE_HOSTS SPACE_ID OPENAI_API_KEY "
        "JUDGE_MODEL JUDGE_URL JUDGE_PRICES JUDGE_CONCURRENCY JUDGE_REQUESTS_PER_MINUTE "
        "JUDGE_TOKENS_PER_MINUTE JUDGE_JOB_BUDGET JUDGE_DAY_BUDGET JUDGE_TOTAL_BUDGET MM_VET_PATH "
        "MM_VET_V2_PATH MODELS LOCAL_MODELS LIVE_BATTLE_BUDGET LIVE_DAY_BUDGET LIVE_TOTAL_BUDGET "
        "OAUTH_CLIENT_ID OAUTH_CLIENT_SECRET OPENID_PROVIDER_URL SPACE_HOST OPERATORS COUNTS "
        "CAMPAIGNS VOTER_DAY_LIMIT NETWORK_DAY_LIMIT VOTER_ITEM_LIMIT VOTER_PAIR_LIMIT LIVE_AT_ONCE "
        "TRUSTED_HOPS SPACES_ZERO_GPU PUBLIC_URL"
    ).split()
    assert Settings.from_env(dict.fromkeys(names, "")) == Settings.from_env({})


def test_every_variable_is_read(tmp_path):
    settings = Settings.from_env(
        {
            "HOST": "0.0.0.0",
            "PORT": " 8080 ",
            "PUBLIC_URL": "https://arena.example",
            "DATA_DIR": str(tmp_path),
            "DATABASE_URL": "postgresql://u:p@host/arena",
            "DEMO_BANK": "off",
            "IMAGE_HOSTS": "images.example.org, CDN.Example.com ,",
            "SPACE_ID": "someone/space",
            "SPACES_ZERO_GPU": "true",
            "OPENAI_API_KEY": " sk-1 ",
            "JUDGE_MODEL": "gpt-4.1",
            "JUDGE_URL": "http://localhost:8000/v1",
            "JUDGE_PRICES": str(tmp_path),
            "JUDGE_CONCURRENCY": "4",
            "JUDGE_REQUESTS_PER_MINUTE": "500",
            "JUDGE_TOKENS_PER_MINUTE": "30000",
            "JUDGE_JOB_BUDGET": "2.50",
            "JUDGE_DAY_BUDGET": "3",
            "JUDGE_TOTAL_BUDGET": "0.000001",
            "MM_VET_PATH": str(tmp_path),
            "MM_VET_V2_PATH": str(tmp_path),
            "MODELS": str(tmp_path),
            "LOCAL_MODELS": "3",
            "LIVE_BATTLE_BUDGET": "0.1",
            "LIVE_DAY_BUDGET": "0.5",
            "LIVE_TOTAL_BUDGET": "7",
            "LIVE_AT_ONCE": "4",
            "MIRROR": "ada/votes",
            "HF_TOKEN": "hf_1",
            "TRUSTED_HOPS": "2",
            "OAUTH_CLIENT_ID": "our-id",
            "OAUTH_CLIENT_SECRET": "our-secret",
            "OPENID_PROVIDER_URL": "https://hub.example/",
            "SPACE_HOST": "someone-space.hf.space, votes.example.org",
            "OPERATORS": "Anna, ben-2 ,",
            "COUNTS": "campaign",
            "CAMPAIGNS": "spring,autumn",
            "VOTER_DAY_LIMIT": "1",
            "NETWORK_DAY_LIMIT": "2",
            "VOTER_ITEM_LIMIT": "3",
            "VOTER_PAIR_LIMIT": "4",
        }
    )
    assert settings == Settings(
        host="0.0.0.0",
        port=8080,
        public_url="https://arena.example",
        data_dir=tmp_path,
        database_url="postgresql://u:p@host/arena",
        demo_bank="off",
        image_hosts=("images.example.org", "cdn.example.com"),
        judge=JudgeSettings(
            model="gpt-4.1",
            base_url="http://localhost:8000/v1",
            key=Secret("sk-1"),
            prices=tmp_path,
            concurrency=4,
            requests_per_minute=500,
            tokens_per_minute=30000,
            job_budget=2_500_000,
            day_budget=3_000_000,
            total_budget=1,
        ),
        mm_vet=tmp_path,
        mm_vet_v2=tmp_path,
        models=tmp_path,
        local_models=3,
        live=LiveSettings(
            battle_budget=100_000, day_budget=500_000, total_budget=7_000_000, at_once=4
        ),
        backup=BackupSettings("ada/votes", Secret("hf_1")),
        space=True,
        zero_gpu=True,
        trusted_hops=2,
        oauth=OAuthSettings(
            "our-id",
            Secret("our-secret"),
            "https://hub.example",
            "someone-space.hf.space",
        ),
        operators=frozenset({"anna", "ben-2"}),
        counts=CountSettings("campaign", ("spring", "autumn"), "counted"),
        vote_limits=VoteLimits(voter_day=1, network_day=2, voter_item=3, voter_pair=4),
    )


LOCAL = {"127.0.0.1", "localhost", "::1", "[::1]"}


@pytest.mark.parametrize(
    ("environ", "hosts"),
    [
        ({}, LOCAL),
        ({"HOST": "::1"}, LOCAL),
        ({"PUBLIC_URL": "https://Arena.example:8443/"}, {*LOCAL, "arena.example"}),
        ({"PUBLIC_URL": "https://a.example", "TRUSTED_HOPS": "1"}, {*LOCAL, "a.example"}),
        ({"TRUSTED_HOPS": "1"}, set()),
        ({"HOST": "0.0.0.0"}, set()),
        ({"HOST": "192.168.1.5", "PUBLIC_URL": "https://a.example"}, set()),
        ({"SPACE_ID": "a/b"}, set()),
    ],
    ids=[
        "laptop",
        "ipv6",
        "tunnel",
        "proxy here",
        "proxy without",
        "container",
        "network",
        "space",
    ],
)
def test_bound_to_this_machine_alone_it_has_the_names_of_this_machine(environ, hosts):
    assert Settings.from_env(environ).hosts == hosts


def test_the_public_address_is_the_one_given_or_the_spaces():
    space = {"SPACE_ID": "a/b", "SPACE_HOST": "a-b.hf.space,other.example", "OAUTH_CLIENT_ID": "x"}
    assert Settings.from_env({}).public == ""
    assert Settings.from_env({"OAUTH_CLIENT_ID": "x"}).public == ""
    assert Settings.from_env(space).public == "https://a-b.hf.space"
    given = Settings.from_env({**space, "PUBLIC_URL": "https://arena.example/"})
    assert given.public == "https://arena.example"
    for wrong in (
        "http://arena.example",
        "https://arena.example/x",
        "arena.example",
        "https://a b.c",
    ):
        with pytest.raises(SettingError, match="PUBLIC_URL is .*an https address without a path"):
            Settings.from_env({"PUBLIC_URL": wrong})


def test_without_a_provider_nobody_can_log_in_and_everybody_counts():
    settings = Settings.from_env({})
    assert (settings.oauth, settings.operators) == (None, frozenset())
    assert (settings.counts, settings.vote_limits) == (CountSettings("everyone"), VoteLimits())


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"COUNTS": "logged-in"}, "but nobody can log in here"),
        (
            {"COUNTS": "logged-in", "SPACE_ID": "a/b"},
            "OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET, or hf_oauth: true",
        ),
        ({"OPERATORS": "anna"}, "Or use the link that is printed at start"),
        ({"COUNTS": "campaign"}, "COUNTS is campaign, but CAMPAIGNS is empty. Name"),
        ({"COUNTS": "counted"}, "nobody can be counted. Name CAMPAIGNS, or set OAUTH_CLIENT_ID"),
        (
            {"COUNTS": "logged-in", "CAMPAIGNS": "spring", **LOGIN},
            "CAMPAIGNS. Set COUNTS=counted to count both.",
        ),
        ({"COUNTS": "campaign", "CAMPAIGNS": "spring time"}, "CAMPAIGNS holds 'spring time'"),
        ({"OAUTH_CLIENT_SECRET": SECRET}, "without OAUTH_CLIENT_ID"),
    ],
)
def test_a_login_that_would_be_a_mock_is_refused(environ, told):
    with pytest.raises(SettingError, match=told) as refused:
        Settings.from_env(environ)
    assert SECRET not in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("environ", "rule", "official"),
    [
        ({}, "everyone", None),
        (LOGIN, "logged-in", None),
        (CAMPAIGN, "campaign", None),
        ({**LOGIN, **CAMPAIGN}, "counted", None),
        ({"COUNTS": "everyone", **LOGIN}, "logged-in", "everyone"),
        ({"COUNTS": "counted", **LOGIN, **CAMPAIGN}, "counted", "counted"),
        ({"COUNTS": "logged-in", **LOGIN}, "logged-in", "counted"),
        ({"COUNTS": "campaign", **LOGIN, **CAMPAIGN}, "campaign", "counted"),
    ],
)
def test_whose_votes_count_follows_from_who_can_be_known(environ, rule, official):
    counted = Settings.from_env(environ).counted
    assert (counted.rule, counted.official) == (rule, official)


@pytest.mark.parametrize(
    "address", ["http://hub.example", "https://user:pw@hub.example", "hub.example", "file:///etc"]
)
def test_a_login_goes_to_https_only(address):
    environ = {
        "OAUTH_CLIENT_ID": "id",
        "OAUTH_CLIENT_SECRET": "secret",
        "OPENID_PROVIDER_URL": address,
    }
    with pytest.raises(SettingError, match="OPENID_PROVIDER_URL"):
        Settings.from_env(environ)
    assert Settings.from_env({**environ, "OPENID_PROVIDER_URL": "http://127.0.0.1:9"}).oauth


def test_a_space_listens_on_all_addresses_unless_told_otherwise():
    assert Settings.from_env({"SPACE_ID": "a/b"}).host == "0.0.0.0"
    assert Settings.from_env({"SPACE_ID": "a/b", "HOST": "127.0.0.1"}).host == "127.0.0.1"


def test_on_a_space_its_proxy_is_believed_unless_told_otherwise():
    assert Settings.from_env({"SPACE_ID": "a/b"}).trusted_hops == 1
    for hops in (0, 2):
        assert (
            Settings.from_env({"SPACE_ID": "a/b", "TRUSTED_HOPS": str(hops)}).trusted_hops == hops
        )


def test_the_data_folder_is_absolute_with_the_home_filled_in(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert Settings.from_env({"DATA_DIR": "votes"}).data_dir == tmp_path / "votes"
    assert Settings.from_env({"DATA_DIR": "~/votes"}).data_dir == Path.home() / "votes"


def test_every_path_may_begin_at_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "questions").mkdir()
    (tmp_path / "models.toml").touch()
    settings = Settings.from_env({"QUESTIONS_PATH": "~/questions", "MODELS": "~/models.toml"})
    assert settings.questions == tmp_path / "questions"
    assert settings.models == tmp_path / "models.toml"
    with pytest.raises(SettingError, match="MM_VET_PATH .*no such file or folder"):
        Settings.from_env({"MM_VET_PATH": "~/questions/none"})


def test_a_key_is_read_by_the_name_of_its_variable():
    assert secret("SOME_KEY", {"SOME_KEY": f" {SECRET} "}) == Secret(SECRET)
    for environ in ({}, {"SOME_KEY": " "}):
        with pytest.raises(SettingError, match="SOME_KEY, which isn't set"):
            secret("SOME_KEY", environ)


def test_settings_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Settings.from_env({}).port = 1  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("PORT", value)
            for value in (
                "0",
                "65536",
                "-1",
                "+80",
                "80.0",
                "1e3",
                "http",
                "²",
                "٣",
                "80 80",
                "9" * 5000,
            )
        ),
        *(("COUNTS", value) for value in ("nobody", "Everyone", "logged_in")),
        *(
            (f"{name}_LIMIT", value)
            for name in ("VOTER_DAY", "NETWORK_DAY", "VOTER_ITEM")
            for value in ("0", "-1", "x")
        ),
        *(("LOCAL_MODELS", value) for value in ("0", "101", "all")),
        *(("LIVE_AT_ONCE", value) for value in ("0", "10001", "-1")),
        *(
            (f"LIVE_{name}_BUDGET", value)
            for name in ("BATTLE", "DAY", "TOTAL")
            for value in ("$1", "-1", "free")
        ),
        ("MODELS", "/nowhere/models.toml"),
        ("MODELS", "/" + "x" * 5000),
        # the last one without a token
        *(
            ("MIRROR", value)
            for value in ("votes", "a/b/c", "https://hub.example/a/b", "a/b\nc", "ada/votes")
        ),
        *(("JUDGE_CONCURRENCY", value) for value in ("0", "257", "many")),
        *(("JUDGE_REQUESTS_PER_MINUTE", value) for value in ("0", "-1", "1.5")),
        *(
            ("JUDGE_JOB_BUDGET", value)
            for value in ("-1", "five", "$5", "1e3", "0.0000001", "nan", "1,50")
        ),
        ("JUDGE_PRICES", "/no/such/file.csv"),
        ("MM_VET_PATH", "/no/such/folder"),
        *(("DEMO_BANK", value) for value in ("yes", "ON", "Auto", "off,on", "0")),
        *(
            ("IMAGE_HOSTS", value)
            for value in (
                "https://a.example",
                "a.example/pictures",
                "a.example:443",
                "*.example.org",
                "localhost",
                "a.example,,b",
                "a example.org",
                "a.example\nb.example",
                "a.example; script-src b.example",
                "someone@a.example",
                "'unsafe.inline'",
            )
        ),
        *(
            ("DATABASE_URL", value)
            for value in (
                "arena.db",
                "mysql://u:p@host/db",
                "sqlite://",
                "postgres://host/db",
                "file:arena.db",
            )
        ),
        ("MTURK_HOSTS", "x y"),
        ("MTURK_FRAMES", "https://x.org;script-src"),
        ("DATABASE_URL", "sqlite:///:memory:"),
        ("DATABASE_URL", "sqlite:///"),
        ("DATABASE_URL", "postgresql://host:port/db"),
        ("DATA_DIR", "~no-such-person-here/votes"),
        ("DATA_DIR", f"/var/{'x' * 256}/votes"),
        ("DATA_DIR", "ä" * 128),
    ],
)
def test_a_wrong_value_gives_one_clear_line_that_names_its_variable(name, value):
    with pytest.raises(SettingError) as caught:
        Settings.from_env({name: value})
    line = str(caught.value)
    assert name in line
    assert "\n" not in line
    assert 20 < len(line) < 300, "long enough to say what is expected, short enough to read"


QUOTED = {
    "DATA_DIR": "/data",
    "HOST": "127.0.0.1",
    "OPENAI_API_KEY": SECRET,
    "OAUTH_CLIENT_SECRET": SECRET,
}


@pytest.mark.parametrize(("name", "value"), QUOTED.items())
@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_value_in_quotes_is_refused_and_not_shown(name, value, quote):
    """As Docker's --env-file hands it on: votes would lie in a folder of that name, on the container's own disk."""
    with pytest.raises(
        SettingError, match=f"^{name} is in quotes.* Write it without quotes"
    ) as caught:
        Settings.from_env({**LOGIN, name: f"{quote}{value}{quote}"})
    assert SECRET not in str(caught.value)
    with pytest.raises(SettingError, match="SOME_KEY is in quotes"):
        secret("SOME_KEY", {"SOME_KEY": f"{quote}{SECRET}{quote}"})
    Settings.from_env({"PROMPT": '"anything"'})


@pytest.mark.parametrize("name", ["PORT", "DEMO_BANK", "IMAGE_HOSTS"])
def test_the_line_quotes_the_wrong_value(name):
    with pytest.raises(SettingError, match="'wrong'"):
        Settings.from_env({name: "wrong"})


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://someone:{SECRET}@host/db",
        f"postgres://someone:{SECRET}@host/db",
        f" POSTGRESQL://someone:{SECRET}@host/db",
        f"postgresql://someone:{SECRET}@host:port/db",
        SECRET,
    ],
)
def test_the_line_never_holds_a_secret_of_the_database_url(url):
    with pytest.raises(SettingError) as caught:
        Settings.from_env({"DATABASE_URL": url})
    assert SECRET not in str(caught.value)
    assert "someone" not in str(caught.value)


@pytest.mark.parametrize(
    "url", [f"https://{SECRET}@h/v1", f"https://h/v1?key={SECRET}", f"ftp://h/{SECRET}", SECRET]
)
def test_the_line_never_holds_a_secret_of_the_judges_address(url):
    with pytest.raises(SettingError) as caught:
        Settings.from_env({"JUDGE_URL": url})
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("name", "value"),
    [("MIRROR", f"hf_{SECRET}"), ("OPENID_PROVIDER_URL", f"https://ada:{SECRET}@hub.example")],
)
def test_the_line_names_the_variable_and_not_what_may_be_a_secret(name, value):
    environ = {"OAUTH_CLIENT_ID": "id", "HF_TOKEN": "ada/votes", name: value}
    with pytest.raises(SettingError, match=f"^{name} must be ") as caught:
        Settings.from_env(environ)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_logs_know_every_password_of_the_database_url(monkeypatch):
    url = "postgresql://ada:hunter%32@h/votes?sslmode=require&password=hunter3&sslpassword=hunter4"
    monkeypatch.setenv("DATABASE_URL", url)
    told = {one.reveal() for one in known_secrets()}
    assert {"hunter2", "hunter%32", "hunter3", "hunter4"} <= told


def test_a_key_is_never_shown():
    settings = Settings.from_env({"OPENAI_API_KEY": SECRET})
    assert settings.judge.key.reveal() == SECRET
    for shown in (repr(settings), str(settings.judge.key), f"{settings.judge.key:>40}"):
        assert SECRET not in shown
    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(settings)


def test_settings_are_told_as_read_with_their_origin_and_without_secrets():
    environ = {
        "DATABASE_URL": "postgresql://ada:hunter22@db.example.org:443/votes?password=hunter33",
        "OPENAI_API_KEY": "sk-hunter44",
        "JUDGE_JOB_BUDGET": "2.5",
        "COUNTS": "campaign",
        "CAMPAIGNS": "pilot, main",
        "PORT": " ",
    }
    told = {one.name: one[1:] for one in setting_values(Settings.from_env(environ), environ)}
    assert told["DATABASE_URL"] == ("postgresql://db.example.org:443/votes", True)
    assert told["OPENAI_API_KEY"] == ("set", True) and told["HF_TOKEN"] == ("none", False)
    assert told["JUDGE_JOB_BUDGET"] == ("$2.50", True) and told["PORT"] == ("7860", False)
    assert told["COUNTS"] == ("campaign", True) and told["CAMPAIGNS"] == ("main, pilot", True)
    assert "hunter" not in repr(told)


def test_models_is_a_file_or_the_name_of_a_preset_which_hides_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Settings.from_env({"MODELS": "small"}).models == PRESETS / "small.toml"
    for wrong in ("smal", "small.toml", "./small", "presets/small", "../presets/small"):
        with pytest.raises(SettingError, match="There is no such file"):
            Settings.from_env({"MODELS": wrong})
    with pytest.raises(SettingError, match="file or preset. Presets: .*small"):
        Settings.from_env({"MODELS": "smal"})
    (tmp_path / "small").touch()
    assert Settings.from_env({"MODELS": "small"}).models == tmp_path / "small"
