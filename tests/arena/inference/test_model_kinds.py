"""A model kind is one file and one line of the registry: a toy kind answers live and offline, with no other change."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from arena.context import ArenaContext
from arena.inference.base import CardTable, ModelKind
from arena.inference.catalogue import KINDS, CatalogueError, Models, read_catalogue
from arena.inference.offline import AnswerFile, Task, ask_all, fingerprint
from arena.live.sessions import LiveRequest
from arena.settings import Settings, secret
from arena.types import SIDES, Conversation, Generation, ModelCard, Turn, Usage, pass_over
from tests.support.live_visitor import picture


@dataclass(frozen=True)
class ToyCard(ModelCard):
    """A card with a setting of the toy's own."""

    loud: bool = False


class ToyTable(CardTable):
    """Keys of a toy."""

    card_type = ToyCard

    model: str
    loud: bool = False


class ToyVLM:
    """A model that says the question back."""

    def __init__(self, card: ModelCard) -> None:
        assert isinstance(card, ToyCard)
        self.card = card
        self.batches: list[int] = []
        self.closed = False

    async def stream(
        self, turns: Conversation, settings: Generation, note: Callable[[Usage], None] = pass_over
    ) -> AsyncGenerator[str, None]:
        text = turns[-1].text.upper() if self.card.loud else turns[-1].text
        for word in text.split():
            yield f"{word} "
        note(Usage(1, len(text.split()), 0))

    async def answers(
        self,
        conversations: Sequence[Conversation],
        settings: Generation,
        note: Callable[[Usage], None] = pass_over,
    ) -> tuple[str, ...]:
        self.batches.append(len(conversations))
        return tuple(
            [
                "".join([piece async for piece in self.stream(turns, settings, note)])
                for turns in conversations
            ]
        )

    async def aclose(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def kinds(monkeypatch):
    monkeypatch.setitem(
        KINDS, "toy", ModelKind(ToyTable, lambda card, _: ToyVLM(card), batched=True)
    )


@pytest.fixture
def models(tmp_path) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(
        '[[models]]\nname = "Toy"\nkind = "toy"\nmodel = "t"\nloud = true\nlive = true\nat_once = 3\n'
    )
    return path


def test_a_toy_kind_has_its_keys_and_errors(models):
    assert read_catalogue(models, secret).cards == (
        ToyCard("Toy", "toy", "t", live=True, at_once=3, loud=True),
    )
    models.write_text('[[models]]\nname = "Toy"\nkind = "toy"\nmodel = "t"\nhub = "a/b"\n')
    with pytest.raises(
        CatalogueError, match="'hub' isn't a key of a model of kind toy. Keys: .*, model, loud\\.$"
    ):
        read_catalogue(models, secret)
    models.write_text('[[models]]\nname = "Toy"\nkind = "toys"\n')
    with pytest.raises(CatalogueError, match="kind is 'toys'. It must be one of api, local, toy.$"):
        read_catalogue(models, secret)


def test_a_toy_kind_answers_in_batches(models, tmp_path):
    async def run() -> tuple[dict[str, str], ToyVLM]:
        ready = Models(read_catalogue(models, secret), 1)
        toy = ready.vlm("Toy")
        assert isinstance(toy, ToyVLM)
        tasks = [
            Task(str(number), lambda number=number: [Turn("user", f"number {number}")])
            for number in range(5)
        ]
        with AnswerFile(tmp_path / "kept", fingerprint(toy.card, "numbers")) as file:
            outcome = await ask_all(toy, [lambda _: tasks], file, lambda _: None)
            assert (outcome.answered, outcome.completion) == (5, 10)
            kept = dict(file.answers)
        await ready.aclose()
        return kept, toy

    kept, toy = asyncio.run(run())
    assert kept == {str(number): f"NUMBER {number} " for number in range(5)}
    assert toy.batches == [3, 2] and toy.closed


def test_a_setting_of_the_toys_own_makes_another_run(models):
    (card,) = read_catalogue(models, secret).cards
    assert fingerprint(card, "numbers") != fingerprint(replace(card, loud=False), "numbers")


def test_a_toy_kind_streams_live(models, tmp_path):
    models.write_text(models.read_text() + models.read_text().replace('"Toy"', '"Toy too"'))
    environ = {"DATA_DIR": str(tmp_path / "data"), "MODELS": str(models), "DEMO_BANK": "off"}
    context = ArenaContext(Settings.from_env(environ))
    voter = context.voters.voter("a visitor")
    sessions = context.live_sessions

    async def upload() -> AsyncIterator[bytes]:
        yield picture()

    async def run() -> list[str]:
        async with context.running():
            assert [vlm.card.name for vlm in context.live_models.usable] == ["Toy", "Toy too"]
            image = await context.live_images.receive(voter, upload())
            battle = await sessions.begin(
                voter, LiveRequest("What is it?", (image.token,)), None, ()
            )
            states = [state async for state in sessions.watch(voter, battle.token)]
            return [answer for side in SIDES for _, answer in states[-1].battle.history(side)]

    assert asyncio.run(run()) == ["WHAT IS IT?"] * 2
    context.database.close()
