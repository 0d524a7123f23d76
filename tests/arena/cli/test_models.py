"""`python -m arena models`: facts from a file and back, and a repository of the Hub."""

from contextlib import closing

import pytest
from huggingface_hub import constants

from arena.database import Database
from arena.items.ingest import Ingest
from tests.support.commands import run
from tests.support.hub_server import HubServer
from tests.support.servers import drafts

FACTS = """
[[models]]
name = "m1"
organisation = 'The "Dodo" Laboratory'
parameters = "8B"
open = true
released = 2026-01-31
prompt_price = 0.1
completion_price = 1
"""


@pytest.fixture
def arena(tmp_path):
    environ = {"DATA_DIR": str(tmp_path / "data")}

    def command(*words: object):
        return run("arena", *words, environ=environ)

    with closing(Database(f"sqlite:///{tmp_path / 'data' / 'arena.db'}")) as database:
        Ingest(database).add_items("bank", "folder", drafts(2))
    return command


def test_what_is_exported_can_be_taken_in_again(arena, tmp_path):
    file = tmp_path / "facts.toml"
    file.write_text(FACTS, "utf-8")
    assert arena("models", "facts", file).out == "Imported 6 facts about 1 model.\n"
    exported = arena("models", "facts", "--export").out
    assert 'organisation = "The \\"Dodo\\" Laboratory"  # stated, ' in exported
    assert "parameters = 8000000000  #" in exported
    file.write_text(exported, "utf-8")
    assert arena("models", "facts", file).code == 0
    assert arena("models", "facts", "--export").out == exported


@pytest.mark.parametrize(
    "text, told",
    [
        (
            FACTS.replace("m1", "nobody"),
            "There's no model named 'nobody'. To see the models: python -m arena models list",
        ),
        (FACTS.replace("8B", "big"), "facts.toml, model 1 ('m1'): parameters is 'big'"),
        (FACTS.replace("open", "weights"), "'weights' isn't a fact. Facts: organisation,"),
        (FACTS.replace("name", "named", 1), "facts.toml, model 1: name is missing. Add it"),
        (FACTS + FACTS, "two tables are about 'm1'. Merge them."),
        ("models = 3", "must have [[models]] tables and nothing else"),
        ("[[models]", "facts.toml isn't valid TOML"),
        (FACTS.replace('"8B"', "8" * 5000), "facts.toml isn't valid TOML"),
        ("models = " + "[" * 20_000, "facts.toml isn't valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_whole(arena, tmp_path, text, told):
    file = tmp_path / "facts.toml"
    file.write_text(text, "utf-8")
    done = arena("models", "facts", file)
    assert done.code == 2 and told in done.err
    assert arena("models", "facts", "--export").out == ""


def test_a_model_is_linked_to_the_hub_and_back(arena, monkeypatch):
    with HubServer() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        hub.models["Dodo/dodo"] = {"author": "Dodo", "gated": "auto"}
        done = arena("models", "link", "m1", "Dodo/dodo")
        assert done.out == "m1 is Dodo/dodo. The Hub shows organisation, gated.\n"
        assert (
            'organisation = "Dodo"  # Hugging Face Hub, '
            in arena("models", "facts", "--export").out
        )
        assert arena("models", "unlink", "m1").code == 0
        assert arena("models", "facts", "--export").out == ""
        for wrong, told in (
            (("m1", "Dodo/none"), "The Hub has no public model Dodo/none"),
            (("m1", "dodo"), "Hub. Write OWNER/REPO"),
            (("nobody", "Dodo/dodo"), "There's no model named 'nobody'"),
        ):
            done = arena("models", "link", *wrong)
            assert done.code == 2 and told in done.err
        assert arena("models", "facts", "--export").out == "", "nothing is linked"
