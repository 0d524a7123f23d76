"""Local models: what transformers is told, and a process that may crash, hang or grow without harm to the page."""

import asyncio
import base64
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import psutil
import pytest
from PIL import Image

from arena.inference import local_process
from arena.inference.local_process import LocalChooser, LocalVLM, ProcessPool
from arena.types import Alternatives, Generation, ModelCard, ModelError, Price, Turn, Usage
from tests.support.model_hub import ModelHub
from tests.support.tiny_vlm import TEMPLATE, build, build_smol

ROOT = Path(__file__).parents[3]
GREEDY = Generation(max_tokens=12, temperature=0.0)
ENDLESS = Generation(max_tokens=20_000, temperature=1.0, seed=5)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="module")
def card(tiny) -> ModelCard:
    return ModelCard("Tiny", "local", str(tiny), images=4, price=Price(1.0, 2.0), timeout=30.0)


@pytest.fixture(scope="module")
def process_pool() -> Iterator[ProcessPool]:
    opened = ProcessPool(2)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def inside() -> ModuleType:
    """The module of the process, with torch and transformers, which no other test has to wait for."""
    from arena.inference import local_model

    return local_model


@pytest.fixture(scope="module")
def model(inside, tiny):
    return inside.LocalModel(str(tiny), None, "float32", "cpu")


def picture(color: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(stream, "PNG")
    return stream.getvalue()


ONE = [Turn("user", "What is this?", (picture("red"),))]
TWO = [Turn("user", "Which is older?", (picture("red"), picture("blue")))]
NONE = [Turn("user", "Say something.")]
LONG = [
    Turn("user", "One?", (picture("red"),)),
    Turn("assistant", " the dog"),
    Turn("user", "And?", (picture("green"),)),
]


async def said(vlm: LocalVLM, turns: list[Turn], settings: Generation) -> str:
    return "".join([piece async for piece in vlm.stream(turns, settings)])


async def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something; fail where it does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        await asyncio.sleep(0.01)


# The process


def test_it_streams_what_it_answers_in_a_batch_and_tells_its_usage(card, process_pool):
    async def all_ways() -> tuple[list[str], tuple[str, ...], list[Usage]]:
        vlm, usage = LocalVLM(card, process_pool), []
        singles = [await said(vlm, turns, GREEDY) for turns in (ONE, TWO, NONE, LONG)]
        batch = await vlm.answers([ONE, TWO, NONE, LONG], GREEDY, usage.append)
        pieces = []
        async for piece in vlm.stream(ONE, GREEDY, usage.append):
            pieces.append(piece)
        assert len(pieces) > 3 and "".join(pieces) == singles[0]
        return singles, batch, usage

    singles, batch, (whole, first) = asyncio.run(all_ways())
    assert list(batch) == singles and len(set(singles)) == 4
    assert first.completion == GREEDY.max_tokens
    assert (
        first.cost == first.prompt * 1 + first.completion * 2
        and whole.completion == 4 * GREEDY.max_tokens
    )


def test_an_image_is_read_at_its_place_in_the_text(card, process_pool):
    texts = [
        Turn("user", "the dog or the cat", (picture("red"),), places)
        for places in ((), (0,), (7,), (18,))
    ]
    answers = asyncio.run(LocalVLM(card, process_pool).answers([[turn] for turn in texts], GREEDY))
    assert answers[0] == answers[1] and len(set(answers)) == 3


def test_it_weighs_texts_with_each_question_s_own_pictures_in_a_batch(card, process_pool):
    texts = (" the dog", " red")

    async def weighed() -> tuple[list[str], tuple[str, ...], Usage]:
        chooser, usage = LocalChooser(card, process_pool), []
        asked = [Alternatives(turns, texts) for turns in (ONE, TWO, NONE)]
        asked.append(Alternatives([Turn("user", ONE[0].text, (picture("blue"),))], texts))
        singles = [(await chooser.answers([one], GREEDY))[0] for one in asked]
        batch = await chooser.answers(asked, GREEDY, usage.append)
        with pytest.raises(ModelError, match="room for 32768 tokens"):
            await chooser.answers([Alternatives(NONE, (" red" * 33_000,))], GREEDY)
        return singles, batch, *usage

    singles, batch, usage = asyncio.run(weighed())
    assert list(batch) == singles and len(set(singles)) == 4
    assert all(len(json.loads(one)) == 2 for one in batch)
    assert usage.prompt > 0 and usage.completion == 0 and not usage.cut
    assert usage.cost == usage.prompt


def test_a_seed_makes_sampling_repeat_itself(card, process_pool):
    async def sampled(seed: int) -> str:
        return await said(
            LocalVLM(card, process_pool), ONE, Generation(max_tokens=30, temperature=1.0, seed=seed)
        )

    first, again, other = (asyncio.run(sampled(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_it_stops_within_three_tokens(card, process_pool):
    async def after_stop() -> int:
        worker = await process_pool.worker(card)
        task = await worker.start([NONE], ENDLESS)
        while task.tokens < 20:
            await task.get()
        worker.stop(task)
        at_stop = task.tokens
        while (message := await task.get())["kind"] != "end":
            continue
        return message["tokens"] - at_stop

    assert min(asyncio.run(after_stop()) for _ in range(5)) <= 3


def test_a_stream_that_is_closed_runs_no_more(card, process_pool):
    async def closed() -> list[Usage]:
        usage: list[Usage] = []
        async with aclosing(
            LocalVLM(card, process_pool).stream(NONE, ENDLESS, usage.append)
        ) as pieces:
            await anext(pieces)
        worker = await process_pool.worker(card)
        await until(lambda: not worker.request_count)
        return usage

    (usage,) = asyncio.run(closed())
    assert 0 < usage.completion < 1000


def test_a_batch_that_is_stopped_tells_what_it_took(card, process_pool):
    async def stopped() -> list[Usage]:
        usage: list[Usage] = []
        vlm, worker = LocalVLM(card, process_pool), await process_pool.worker(card)
        assert await said(vlm, NONE, GREEDY), "it is loaded"
        process = psutil.Process(worker.pid)
        before = process.cpu_times().user
        batch = asyncio.create_task(vlm.answers([NONE], ENDLESS, usage.append))
        await until(lambda: process.cpu_times().user > before + 0.5)
        batch.cancel()
        await asyncio.gather(batch, return_exceptions=True)
        return usage

    (usage,) = asyncio.run(stopped())
    assert usage.prompt > 0 and usage.completion > 0


def test_one_that_is_cancelled_before_its_turn_never_runs(card, process_pool):
    async def cancelled() -> None:
        vlm, worker = LocalVLM(card, process_pool), await process_pool.worker(card)
        first = vlm.stream(NONE, ENDLESS)
        await anext(first)
        waiting = asyncio.create_task(said(vlm, NONE, ENDLESS))
        await until(lambda: worker.request_count == 2)
        waiting.cancel()
        await first.aclose()
        await until(lambda: not worker.request_count)

    asyncio.run(cancelled())


def test_a_stop_that_crosses_the_end_of_its_request_leaves_nothing(inside, monkeypatch):
    loop = inside._RequestLoop(print)
    lines = [{"model": "x"}, {"id": 2}, {"stop": 1}, {"stop": 2}]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(map(json.dumps, lines))))
    monkeypatch.setattr(os, "_exit", lambda _: None)
    loop.listen()
    assert {number: stop.is_set() for number, stop in loop._stops.items()} == {2: True}


def test_a_conversation_beyond_card_or_model_is_refused_in_words(card, process_pool):
    async def refused(turns: list[Turn], settings: Generation) -> ModelError:
        with pytest.raises(ModelError) as caught:
            await said(LocalVLM(card, process_pool), turns, settings)
        return caught.value

    five = asyncio.run(refused([Turn("user", "All?", (picture("red"),) * 5)], GREEDY))
    room = asyncio.run(refused(NONE, Generation(max_tokens=40_000)))
    assert (five.kind, room.kind) == ("too big", "too big") and "32768 tokens" in str(room)
    assert asyncio.run(said(LocalVLM(card, process_pool), NONE, GREEDY)), "the process goes on"


@pytest.mark.soak
def test_models_that_load_at_once_wait_for_each_other(card):
    """The pool holds one: the second doesn't end the first while that is being loaded."""
    pool = ProcessPool(1)
    other = replace(card, name="Other")
    try:
        with ThreadPoolExecutor() as threads:
            for loaded in [threads.submit(pool.load, one) for one in (card, other)]:
                loaded.result(60)
    finally:
        pool.close()


def test_a_process_ends_with_its_page_in_mid_answer(card, process_pool):
    """The page's end of the pipe is closed, as the system does when the page dies."""

    async def orphaned() -> None:
        worker = await process_pool.worker(card)
        assert worker._process.stdin
        with pytest.raises(ModelError, match="ended by itself"):
            async for _ in LocalVLM(card, process_pool).stream(NONE, ENDLESS):
                worker._process.stdin.close()
        await until(lambda: not psutil.pid_exists(worker.pid))

    asyncio.run(orphaned())


def test_a_process_that_fetches_weights_itself_sends_no_token(tmp_path, monkeypatch):
    """As for a command whose model is not in the cache; the Hub has no such model."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_TOKEN", "hf_canary0123456789")
    absent = ModelCard("Absent", "local", "ada/absent", revision="0" * 40)
    process_pool = ProcessPool(1)
    with ModelHub({}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        try:
            with pytest.raises(ModelError, match="can.t be loaded"):
                process_pool.load(absent)
        finally:
            process_pool.close()
    assert hub.asked and not [asked for asked in hub.asked if "authorization" in asked.headers]


@pytest.mark.parametrize("last", ["", '{"id": 3, "conver', "3", '{"stop": []}'])
def test_the_end_of_what_is_read_ends_the_process(inside, monkeypatch, last):
    ended: list[int] = []
    lines = [json.dumps({"model": "x"}), json.dumps({"id": 2}), last]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    monkeypatch.setattr(os, "_exit", ended.append)
    with suppress(ValueError, TypeError):
        inside._RequestLoop(print).listen()
    assert ended == [0]


def test_a_process_that_cannot_be_started_is_told(card, monkeypatch):
    def refuse(_: str) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(local_process, "line_process", refuse)
    process_pool = ProcessPool(1)
    words = r"the model.s process can.t be started \(Resource temporarily unavailable\)"
    with pytest.raises(ModelError, match=words):
        process_pool.load(card)
    with pytest.raises(ModelError, match=words) as caught:
        asyncio.run(said(LocalVLM(card, process_pool), NONE, GREEDY))
    assert caught.value.kind == "down"
    process_pool.close()


@pytest.fixture
def stand_ins(monkeypatch) -> None:
    """Processes that hold no weights: what the pool does with them does not depend on those."""
    start = local_process.line_process
    monkeypatch.setattr(
        local_process, "line_process", lambda _: start("tests.support.stand_in_model")
    )


def test_a_killed_process_fails_its_stream_and_the_next_one_starts_anew(card, stand_ins):
    process_pool = ProcessPool(1)

    async def killed() -> tuple[ModelError, int, int]:
        vlm, worker = LocalVLM(card, process_pool), await process_pool.worker(card)
        with pytest.raises(ModelError) as caught:
            async for _ in vlm.stream(NONE, ENDLESS):
                os.kill(worker.pid, signal.SIGKILL)
        assert await said(vlm, NONE, GREEDY)
        return caught.value, worker.pid, (await process_pool.worker(card)).pid

    try:
        error, old, new = asyncio.run(killed())
    finally:
        process_pool.close()
    assert error.kind == "down" and old != new and not psutil.pid_exists(old)


@pytest.mark.soak
def test_a_process_that_hangs_is_ended(card, process_pool, tiny):
    impatient = ModelCard("Hanging", "local", str(tiny), timeout=3.0)

    async def hung() -> tuple[ModelError, int]:
        vlm = LocalVLM(impatient, process_pool)
        assert await said(vlm, NONE, GREEDY)
        worker = await process_pool.worker(impatient)
        with pytest.raises(ModelError) as caught:
            async for _ in vlm.stream(NONE, ENDLESS):
                os.kill(worker.pid, signal.SIGSTOP)
        await until(lambda: not psutil.pid_exists(worker.pid))
        return caught.value, worker.pid

    error, _ = asyncio.run(hung())
    assert error.kind == "slow"


def test_a_process_that_takes_too_much_memory_is_ended(tiny):
    greedy, process_pool = ModelCard("Greedy", "local", str(tiny), memory_gb=0.1), ProcessPool(1)
    try:
        with pytest.raises(ModelError, match=r"0\.1 GB") as caught:
            asyncio.run(said(LocalVLM(greedy, process_pool), NONE, GREEDY))
        assert caught.value.kind == "down"
    finally:
        process_pool.close()


def test_a_process_that_is_ended_just_before_it_has_loaded_stays_ended(
    card, stand_ins, monkeypatch
):
    with monkeypatch.context() as before_the_kill:
        before_the_kill.setattr(subprocess.Popen, "kill", lambda _: None)
        worker = local_process.Worker(card)
        worker.end()
        try:
            with pytest.raises(ModelError, match="the model was unloaded"):
                worker.wait()
        finally:
            before_the_kill.undo()
            worker.end()
            worker.reader.join()


def test_the_least_recently_used_is_unloaded_and_a_busy_one_never(tiny, stand_ins, monkeypatch):
    monkeypatch.setattr(
        local_process, "WHOLE_ANSWER_TIMEOUTS", 0.01
    )  # of the card's time-out: the patience
    cards = [ModelCard(name, "local", str(tiny), timeout=30.0) for name in "abc"]
    process_pool = ProcessPool(2)

    async def loaded(*cards: ModelCard) -> None:
        await asyncio.gather(*(asyncio.to_thread(process_pool.load, card) for card in cards))

    async def hired() -> None:
        await loaded(*cards[:2])
        second, first = [await process_pool.worker(card) for card in cards[1::-1]]
        assert await process_pool.worker(cards[0]) is first, "used last"
        third = await process_pool.worker(cards[2])
        await loaded(cards[2])
        assert set(process_pool.workers) == {first, third} and not second.is_alive
        await first.start([NONE], ENDLESS)
        second = await process_pool.worker(cards[1])
        assert set(process_pool.workers) == {first, second} and not third.is_alive, (
            "the other is older, and busy"
        )
        await second.start([NONE], ENDLESS)
        with pytest.raises(ModelError, match="busy"):
            await process_pool.worker(cards[2])

    try:
        asyncio.run(hired())
    finally:
        process_pool.close()
    assert not process_pool.workers


@pytest.mark.soak
@pytest.mark.parametrize("ready", [False, True])
def test_a_page_that_dies_leaves_no_process_and_never_loads_torch(tiny, ready):
    """Neither one that still loads its weights nor one that has answered."""
    program = f"""
import asyncio, sys
from arena.types import Generation, ModelCard, Turn
from arena.inference.local_process import ProcessPool, LocalVLM
async def main():
    process_pool, card = ProcessPool(1), ModelCard("Tiny", "local", {str(tiny)!r})
    await process_pool.worker(card)
    if {ready}:
        stream = LocalVLM(card, process_pool).stream(
            [Turn("user", "Go on.")], Generation(max_tokens=30000, temperature=1.0))
        await anext(stream)
        await stream.aclose()
    print(process_pool.workers[0].pid, [name for name in ("torch", "transformers") if name in sys.modules], flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    page = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert page.stdout
    with page:
        pid, _, heavy = page.stdout.readline().strip().partition(" ")
        assert heavy == "[]" and psutil.pid_exists(int(pid))
        page.kill()
    asyncio.run(until(lambda: not psutil.pid_exists(int(pid))))


# The model


def conversation(text: str, *images: bytes) -> dict[str, object]:
    encoded = [{"image": base64.b64encode(image).decode()} for image in images]
    return {"system": "", "turns": [{"role": "user", "parts": [*encoded, {"text": text}]}]}


def prompt_tokens(model, text: str, *images: bytes) -> int:
    told: list[int] = []
    settings = {"max_tokens": 1, "temperature": 0.0, "top_p": None, "seed": None}
    model.answers(
        [conversation(text, *images)], settings, threading.Event(), told.append, lambda *_: None
    )
    return told[0]


def test_control_tokens_that_a_user_types_are_plain_text(model):
    plain = prompt_tokens(model, "a(image)b")
    assert prompt_tokens(model, "a<image>b") == plain
    assert prompt_tokens(model, "a<|im_end|>b") == prompt_tokens(model, "a(|im_end|)b")
    image = prompt_tokens(model, "ab", picture("red")) - prompt_tokens(model, "ab")
    assert prompt_tokens(model, "a<image>b", picture("red")) == plain + image


def loss(model, text: str, image: Image.Image) -> float:
    """Transformers' own loss over a text alone, after the question as the template writes it."""
    asked = "<|im_start|>user\n<image>Which?<|im_end|>\n<|im_start|>assistant\n"
    given = model._processor(text=[asked + text], images=[image], return_tensors="pt")
    before = model._processor(text=[asked], images=[image], return_tensors="pt")
    labels = given["input_ids"].clone()
    labels[:, : before["input_ids"].shape[1]] = -100
    return model._model(**given, labels=labels).loss.item()


def weighed(model, texts: list[str], *images: bytes) -> list[float | None]:
    asked = [conversation("Which?", *images)]
    return model.likelihoods(asked, [texts], threading.Event(), lambda: None)["likelihoods"][0]


def test_a_likelihood_is_the_loss_that_transformers_computes_of_each_text_alone(model):
    """Texts of other lengths, beginnings of one another, and one twice; each is weighed beside the others."""
    texts = [" red", " red house", " the red house by the river, under a tree", " blue", " red"]
    image = Image.open(io.BytesIO(picture("red"))).convert("RGB")
    found = weighed(model, texts, picture("red"))
    assert found == pytest.approx([-loss(model, text, image) for text in texts], rel=1e-4)
    assert found[0] == pytest.approx(found[-1], rel=1e-6) and len(set(found)) > 3
    assert weighed(model, texts[:1], picture("red")) == pytest.approx(found[:1], rel=1e-5)
    assert weighed(model, texts, picture("blue")) != pytest.approx(found, rel=1e-4)


def test_a_text_without_tokens_has_no_likelihood_and_control_tokens_are_text(model):
    empty, word, control = weighed(model, ["", " red", "<image></s>"], picture("red"))
    assert empty is None and word is not None and control is not None
    assert weighed(model, [""]) == [None]


def test_a_template_s_own_space_before_an_answer_is_not_weighed_twice(inside, tiny, tmp_path):
    """A first word that is one token with the space before it counts whole, reasoning left empty not at all."""
    turned = TEMPLATE.replace(
        "<|im_start|>{{ message['role'] }}\n",
        "<|im_start|>{{ message['role'] }}:{% if message['role'] == 'assistant' %}<think></think>{% endif %} ",
    )
    folder = Path(changed(tiny, tmp_path / "spaced"))
    (folder / "chat_template.jinja").write_text(turned)
    spaced = inside.LocalModel(str(folder), None, "float32", "cpu")
    tokens: list[int] = []
    forward = spaced._model.forward

    def counted(*, logits_to_keep: int, **inputs):
        tokens.append(logits_to_keep - 1)
        return forward(logits_to_keep=logits_to_keep, **inputs)

    spaced._model.forward = counted
    assert None not in weighed(spaced, ["red"])
    assert tokens == [1]


def test_a_template_that_trims_answers_keeps_its_line_break_to_itself(
    inside, model, tiny, tmp_path
):
    """Gemma 3's template is such: of an empty answer it would leave no line break either."""
    folder = Path(changed(tiny, tmp_path / "trimming"))
    trimmed = TEMPLATE.replace("{{ part['text'] }}", "{{ part['text'] | trim }}")
    (folder / "chat_template.jinja").write_text(trimmed)
    trimming = inside.LocalModel(str(folder), None, "float32", "cpu")
    texts = ["red", "\u07d0", "\ua500", "\u07d0 red"]
    found = weighed(trimming, texts, picture("red"))
    assert found == pytest.approx(weighed(model, texts, picture("red")), rel=1e-5)
    image = Image.open(io.BytesIO(picture("red"))).convert("RGB")
    assert found == pytest.approx([-loss(model, text, image) for text in texts], rel=1e-4)


def test_a_stop_ends_the_generation_at_the_next_token(model):
    stop, pieces = threading.Event(), []

    def piece(text: str, tokens: int) -> None:
        pieces.append(tokens)
        if tokens >= 10:
            stop.set()

    settings = {"max_tokens": 500, "temperature": 1.0, "top_p": 0.9, "seed": 1}
    answers = model.answers([conversation("Go on.")], settings, stop, lambda _: None, piece)
    assert 10 <= answers["tokens"] <= 13


def test_a_conversation_longer_than_the_model_is_too_long(inside, model):
    settings = {"max_tokens": 32_760, "temperature": 0.0, "top_p": None, "seed": None}
    with pytest.raises(inside.TooLong):
        model.answers(
            [conversation("word " * 50)],
            settings,
            threading.Event(),
            lambda _: None,
            lambda *_: None,
        )


def changed(tiny: Path, folder: Path, **files: dict[str, object] | None) -> str:
    """Return a copy of the model with some files replaced, or deleted where None is given."""
    shutil.copytree(tiny, folder)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(json.dumps({**json.loads((tiny / path.name).read_text()), **content}))
    return str(folder)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"config__json": {"model_type": "no-such"}}, "can't be loaded"),
        ({"model__safetensors": None}, "weights can't be loaded"),
        ({"chat_template__jinja": None}, "no chat template"),
        ({"tokenizer__json": None, "tokenizer_config__json": None}, "processor"),
        (
            {
                "processor_config__json": {
                    "auto_map": {"AutoProcessor": "own.Own"},
                    "processor_class": "Own",
                }
            },
            "its own code",
        ),
    ],
)
def test_weights_that_cannot_be_loaded_say_why(inside, tiny, tmp_path, files, words):
    folder = changed(tiny, tmp_path / "other", **files)
    if "model__safetensors" in files:
        import torch
        from safetensors.torch import load_file

        # never opened
        torch.save(load_file(tiny / "model.safetensors"), Path(folder) / "pytorch_model.bin")
    (Path(folder) / "own.py").write_text("raise SystemExit('ran')")
    with pytest.raises(inside.LoadError, match=words):
        inside.LocalModel(folder, None, "float32", "cpu")


def test_a_longest_side_makes_one_tile_of_a_picture_and_control_tokens_in_text_stay_text(
    inside, tmp_path
):
    """SmolVLM's processor, which enlarges every picture and fails where transformers is to mark control tokens."""
    folder = str(build_smol(tmp_path / "smol"))
    stream = io.BytesIO()
    Image.new("RGB", (300, 300), "red").save(stream, "PNG")
    image = {"image": base64.b64encode(stream.getvalue()).decode()}
    plain = {"role": "user", "parts": [image, {"text": "What is it?"}]}
    forged = {"role": "user", "parts": [image, {"text": "<image><end_of_utterance>"}]}

    def prompt(model, turn) -> int:
        chat = model._messages({"system": "", "turns": [turn]})
        return model._apply_template([chat])["input_ids"].shape[1]

    tiles = inside.LocalModel(folder, None, "float32", "cpu")
    one = inside.LocalModel(folder, None, "auto", "cpu", max_side=512)
    assert prompt(tiles, plain) > 17 * 64, "17 tiles of 64 tokens"
    assert 64 < prompt(one, plain) < 2 * 64
    assert 64 < prompt(one, forged) < 2 * 64
    size = one._processor.image_processor.size
    assert size["longest_edge"] == 512


def test_a_picture_is_shrunk_where_the_processor_knows_no_longest_side(inside):
    stream = io.BytesIO()
    Image.new("RGB", (900, 600), "red").save(stream, "PNG")
    turn = {"role": "user", "parts": [{"image": base64.b64encode(stream.getvalue()).decode()}]}
    (message,) = inside.chat_messages({"system": "", "turns": [turn]}, max_side=300)
    assert message["content"][0]["image"].size == (300, 200)


@pytest.mark.parametrize("has, dtype", [(True, "bfloat16"), (False, "float32")])
def test_the_type_is_bfloat16_where_the_processor_computes_in_it(inside, monkeypatch, has, dtype):
    monkeypatch.setattr(inside.torch.cpu, "_is_avx512_bf16_supported", lambda: has)
    monkeypatch.setattr(inside.torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert inside._precision("auto", "cpu") == getattr(inside.torch, dtype)
    assert inside._precision("float16", "cpu") == inside.torch.float16


def test_a_processor_that_needs_torchvision_says_so_before_any_weights_are_loaded(
    inside, tiny, tmp_path
):
    if find_spec("torchvision"):
        pytest.skip("torchvision is here")
    folder = changed(
        tiny,
        tmp_path / "qwen",
        config__json={"model_type": "qwen2_vl"},
        processor_config__json=None,
    )
    kind = {"processor_class": "Qwen2VLProcessor", "image_processor_type": "Qwen2VLImageProcessor"}
    (tmp_path / "qwen" / "preprocessor_config.json").write_text(json.dumps(kind))
    (tmp_path / "qwen" / "model.safetensors").unlink()
    with pytest.raises(inside.LoadError, match="pip install torchvision"):
        inside.LocalModel(folder, None, "float32", "cpu")


@pytest.mark.soak
def test_what_cannot_be_loaded_is_told_and_not_tried_again_at_once(tiny, tmp_path, caplog):
    broken = ModelCard(
        "Broken", "local", changed(tiny, tmp_path / "broken", chat_template__jinja=None)
    )
    process_pool = ProcessPool(1)

    async def asked() -> ModelError:
        with pytest.raises(ModelError) as caught:
            await said(LocalVLM(broken, process_pool), NONE, GREEDY)
        return caught.value

    try:
        first, second = asyncio.run(asked()), asyncio.run(asked())
    finally:
        process_pool.close()
    assert first.kind == second.kind == "down" and "no chat template" in str(second)
    assert caplog.text.count("the process of Broken ended") == 1
