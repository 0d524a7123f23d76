"""The catalogue of models: every key of a card, what it may hold, and one clear line for anything else."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from arena.inference.catalogue import CatalogueError, Models, read_catalogue
from arena.inference.limits import check_limits, cost, most_usage, text_tokens
from arena.inference.local_process import LocalVLM
from arena.inference.offline import fingerprint
from arena.inference.openai_model import ApiVLM
from arena.settings import PRESETS, SettingError, secret
from arena.types import Generation, ModelCard, ModelError, Price, Secret, Turn

KEYS = {"SOME_KEY": "sk-0123456789"}
COMMIT = "7e3e67edbbed1bf9888184d9df282b700a323964"
API = 'name = "X"\nkind = "api"\nmodel = "m"\naddress = "https://api.example.org/v1"\n'
HUB = f'name = "X"\nkind = "local"\nhub = "owner/model"\nrevision = "{COMMIT}"\n'


def catalogue(folder: Path, *tables: str, text: str = "", keys: Mapping[str, str] = KEYS):
    path = folder / "models.toml"
    path.write_text(text + "".join(f"[[models]]\n{table}\n" for table in tables), "utf-8")
    return read_catalogue(path, lambda name: secret(name, keys))


def problem(folder: Path, *tables: str, text: str = "", keys: Mapping[str, str] = KEYS) -> str:
    with pytest.raises(CatalogueError) as caught:
        catalogue(folder, *tables, text=text, keys=keys)
    return str(caught.value)


def test_no_file_is_an_empty_catalogue():
    empty = read_catalogue(None, secret)
    assert empty.cards == () == empty.live
    with pytest.raises(CatalogueError, match="Set MODELS"):
        empty.card("X")


def test_every_key_is_read(tmp_path):
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "config.json").write_text("{}")
    api, local = catalogue(
        tmp_path,
        """
name = "Model A"
kind = "api"
model = "vendor/model-a"
address = "https://api.example.org/v1/"
key_from = "SOME_KEY"
images = 10
prompt_tokens = 4000
image_tokens = 1500
system = "Be short."
max_tokens = 300
temperature = 0.7
top_p = 0.9
seed = 1
prompt_price = 0.15
completion_price = 0.6
timeout = 20
at_once = 4
live = true
""",
        """
name = "Model B"
kind = "local"
folder = "weights"
dtype = "bfloat16"
device = "cpu"
memory_gb = 12.5
temperature = 0
""",
    ).cards
    assert api == ModelCard(
        *(
            "Model A",
            "api",
            "vendor/model-a",
            "https://api.example.org/v1",
            Secret("sk-0123456789"),
            None,
        ),
        *(10, 4000, 1500, "Be short.", Generation(300, 0.7, 0.9, 1)),
        price=Price(0.15, 0.6),
        timeout=20.0,
        at_once=4,
        live=True,
    )
    assert local == ModelCard(
        *("Model B", "local", str(tmp_path / "weights")),
        dtype="bfloat16",
        device="cpu",
        memory_gb=12.5,
        generation=Generation(temperature=0.0),
    )


def test_a_model_of_the_hub_has_its_commit(tmp_path):
    found = catalogue(tmp_path, HUB)
    assert (found.card("X").model, found.card("X").revision) == (
        "owner/model",
        COMMIT,
    ) and not found.live
    with pytest.raises(CatalogueError, match="'Y'. Models: 'X'"):
        found.card("Y")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (API.replace('"api"', '"vllm"'), "kind is 'vllm'. It must be one of api, local"),
        (API.replace('kind = "api"\n', ""), "kind is missing"),
        (API.replace('name = "X"\n', ""), "model 1: name is missing"),
        (API.replace('"m"', '" "'), "model is ' '"),
        (API.replace('model = "m"\n', ""), "model is missing"),
        (API + 'adress = "x"', "'adress' isn't a key of a model of kind api. Keys: name,"),
        (API + 'dtype = "float32"', "'dtype' isn't a key of a model of kind api"),
        (API + "images = 101", "images is '101'. It must be a whole number from 0 to 100"),
        (API + "images = true", "images is 'True'"),
        (API + "temperature = 2.5", "temperature is '2.5'. It must be a number from 0 to 2"),
        (API + "temperature = nan", "temperature is 'nan'"),
        (API + "seed = -1", "seed is '-1'"),
        (API + 'live = "yes"', "live is 'yes'. It must be true or false"),
        (API + "prompt_price = 1", "completion_price is missing"),
        (
            API.replace("https://api", "https://user:secret@api"),
            "the address must look like https://api",
        ),
        (API + 'key_from = "sk-abc"', "key_from must be the name of an environment variable"),
        (HUB.replace(COMMIT, "main"), "revision is 'main'. It must be the commit on the Hub"),
        (HUB.replace(f'revision = "{COMMIT}"', ""), "revision is missing"),
        (HUB.replace("owner/model", "../model"), "hub is '../model'"),
        (HUB + 'folder = "x"', "either folder or hub"),
        (
            HUB + 'dtype = "int4"',
            "dtype is 'int4'. It must be 'float32', 'bfloat16', 'float16' or 'auto'",
        ),
        ('name = "X"\nkind = "local"\nfolder = "nothing"', "There's no config.json"),
        ('name = "X"\nkind = "local"\nfolder = "~no-such-user/x"', "It can't be opened. Correct"),
        (f'name = "X"\nkind = "local"\nfolder = "{"x" * 300}"', "It can't be opened. Correct"),
    ],
)
def test_a_wrong_card_is_named_with_its_key_and_what_is_expected(tmp_path, table, words):
    said = problem(tmp_path, table)
    assert words in said and said.startswith("models.toml, model 1")
    assert "secret" not in said and "sk-abc" not in said


def test_a_byte_order_mark_is_what_some_editors_write(tmp_path):
    (path := tmp_path / "models.toml").write_text("models = []\n", "utf-8-sig")
    assert read_catalogue(path, secret).cards == ()


def test_a_wrong_file_is_told(tmp_path):
    assert "two models are named 'X'" in problem(tmp_path, API, API)
    for text in ("[[models", "a = " + "[" * 5_000 + "]" * 5_000, "a = " + "1" * 5_000):
        assert "isn't valid TOML" in problem(tmp_path, text=text)
    assert "Remove: model" in problem(tmp_path, text="[[model]]\nname = 1\n")
    with pytest.raises(CatalogueError, match="can't be read"):
        read_catalogue(tmp_path / "nowhere.toml", secret)


def test_a_key_that_is_not_set_is_told_by_its_name(tmp_path):
    with pytest.raises(SettingError, match="OTHER_KEY, which isn't set"):
        catalogue(tmp_path, API + 'key_from = "OTHER_KEY"')


def test_models_are_made_once_and_closed(tmp_path):
    models = Models(catalogue(tmp_path, API, HUB.replace('"X"', '"Y"')), 2)

    async def used() -> None:
        api, local = models.vlm("X"), models.vlm("Y")
        assert isinstance(api, ApiVLM) and isinstance(local, LocalVLM) and models.vlm("X") is api
        await models.aclose()
        with pytest.raises(ModelError, match="shut down"):
            await anext(local.stream([Turn("user", "?")], local.card.generation))

    asyncio.run(used())


def test_the_bound_of_a_cost_is_a_bound():
    card = ModelCard(
        "X", "api", "m", price=Price(3.0, 15.0), images=2, image_tokens=1000, system="Be short."
    )
    turns = [Turn("user", "Was ist das? 😀", (b"", b""))]
    usage = most_usage(card, turns, Generation(max_tokens=100))
    assert (
        usage.prompt >= len("Be short.Was ist das? 😀".encode()) + 2000 and usage.completion == 100
    )
    assert usage.cost == usage.prompt * 3 + 100 * 15 == cost(card.price, usage.prompt, 100)
    assert text_tokens(card, turns) <= usage.prompt
    assert cost(Price(0.15, 0.6), 1, 1) == 1 and cost(None, 10**6, 10**6) == 0
    check_limits(card, turns)
    with pytest.raises(ModelError, match="2 images, but the conversation has 3"):
        check_limits(card, [*turns, Turn("user", "And?", (b"",))])


def test_a_preset_is_a_catalogue_of_two_live_models_at_least():
    presets = {
        path.stem: read_catalogue(path, lambda name: Secret("")).live
        for path in PRESETS.glob("*.toml")
    }
    assert [name for name, cards in presets.items() if len(cards) < 2] == []
    small = presets["small"]
    assert {(card.dtype, card.max_side, card.kind) for card in small} == {("auto", 512, "local")}


def test_the_models_of_the_hub_are_asked_with_visitors_keys_at_its_router_alone(tmp_path):
    cards = read_catalogue(PRESETS / "hub.toml", lambda name: Secret("")).live
    assert {(card.address, card.visitor_key, card.images) for card in cards} == {
        ("https://router.huggingface.co/v1", True, 4)
    }
    elsewhere = API + 'key_from = "visitor"'
    assert "sent to Hugging Face. The" in problem(tmp_path, elsewhere, keys={"visitor": "x"})


def test_a_longest_side_belongs_to_an_offline_run(tmp_path):
    (plain,) = catalogue(tmp_path, HUB).cards
    (small,) = catalogue(tmp_path, HUB + "max_side = 512\n").cards
    assert fingerprint(plain, "q") != fingerprint(small, "q")
