"""Local model process: transformers inference over JSON lines, run as `python -m arena.inference.local_model`.

Requests come in by stdin, answers go out by the original stdout. The first line names the weights to load. Only
safetensors are read, and code that comes with weights is never run. The end of stdin ends the process at once.
"""

import base64
import io
import json
import math
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jinja2
import torch
import transformers
from PIL import Image

JsonObject = Mapping[str, Any]
_SILENCE_SECONDS = 0.5
"""The silence of a generation after which its next token gives a sign of life."""
_CANNOT_SANITIZE = frozenset({"Idefics3Processor"})
"""Processors, such as SmolVLM's, that fail if transformers has to treat control tokens in user text as text."""
_REFERENCE_ANSWERS = ("\u07d0", "\ua500")
"""Two answers to compare a text with: it begins with its first token that they don't both share.

They are letters of N'Ko and Vai. Their first bytes differ, so no text begins like both.
"""
MODEL_ERRORS = (
    OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError,
    ImportError, MemoryError, jinja2.TemplateError,
)  # fmt: skip
"""Errors of transformers, and of a model's own template, for unusable input."""


class LoadError(RuntimeError):
    """Weights cannot be loaded; the message says why and how to fix it."""


class _TextLikelihoods(NamedTuple):
    """The likelihoods of texts as the answer to a conversation."""

    likelihoods: list[float | None]
    """None for a text without tokens."""
    tokens: int
    """The tokens read."""


class LocalModel:
    """A model in memory."""

    def __init__(
        self, model: str, revision: str | None, dtype: str, device: str, max_side: int | None = None
    ) -> None:
        """Loads processor and weights. Raises LoadError."""
        if device == "cuda" and not torch.cuda.is_available():
            raise LoadError("device is cuda, but there is no GPU here. Set device to auto or cpu")
        self._device = "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"
        source = {
            "revision": revision or "main",
            "trust_remote_code": False,
            "local_files_only": revision is None,
        }
        self._processor = _processor(model, source)
        self._max_side: int | None = None
        """The longest side to which pictures are shrunk here; None if the processor shrinks them, or nobody does."""
        if max_side:
            self._max_side = _limit_side(self._processor.image_processor, max_side)
        self._tokenizer = self._processor.tokenizer
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._can_sanitize = type(self._processor).__name__ not in _CANNOT_SANITIZE
        try:
            loaded: Any = transformers.AutoModelForImageTextToText.from_pretrained(
                model, dtype=_precision(dtype, self._device), use_safetensors=True, **source
            )
            self._model: Any = loaded.to(self._device).eval()
        except MODEL_ERRORS as error:
            raise LoadError(f"the weights can't be loaded: {first_line(error)}") from error
        text_config = self._model.config.get_text_config()
        self._most_tokens: int | None = getattr(text_config, "max_position_embeddings", None)
        """The most tokens of a conversation with its answer; None if unknown."""

    def answers(
        self,
        conversations: Sequence[JsonObject],
        settings: JsonObject,
        stop: threading.Event,
        on_start: Callable[[int], None],
        on_piece: Callable[[str, int], None],
    ) -> JsonObject:
        """Answers a batch of conversations; returns the `texts`, and the numbers of tokens written (`tokens`) and
        read (`prompt`), each of the whole batch.

        `on_start` gets the number of tokens read; `on_piece` gets each new text of a single conversation (or "" as a
        sign of life) and the tokens so far. `stop` ends the generation at the next token. Raises ValueError for a
        conversation that is too long, and any of `MODEL_ERRORS` for one that the model cannot take.
        """
        chats = list(map(self._messages, conversations))
        inputs = self._apply_template(chats, processor_kwargs={"padding": True}).to(self._device)
        length = inputs["input_ids"].shape[1]
        self._check_room(length, settings["max_tokens"])
        prompt = int(inputs["attention_mask"].sum())
        on_start(prompt)
        sender = _TextSender(self._tokenizer, stop, on_piece, len(conversations))
        if settings["seed"] is not None:
            torch.manual_seed(settings["seed"])
        with torch.inference_mode():
            tokens = self._model.generate(
                **inputs,
                **_generate_arguments(settings),
                streamer=sender.streamer,
                stopping_criteria=transformers.StoppingCriteriaList([sender]),
            )[:, length:]
        texts = self._tokenizer.batch_decode(tokens, skip_special_tokens=True)
        padding = self._tokenizer.pad_token_id
        written = sum(int(token) != padding for row in tokens for token in row)
        return {"texts": texts, "prompt": prompt, "tokens": written}

    def likelihoods(
        self,
        conversations: Sequence[JsonObject],
        texts: Sequence[Sequence[str]],
        stop: threading.Event,
        on_weighed: Callable[[], None],
    ) -> JsonObject:
        """Weighs the texts that may answer each conversation; returns their `likelihoods`, and the tokens read.

        A likelihood is the mean natural logarithm over a text's tokens, None for a text without tokens. `on_weighed` is
        called after each conversation, and `stop` ends the batch there. Raises the same errors as `answers`.
        """
        likelihoods = []
        prompt = 0
        for conversation, options in zip(conversations, texts, strict=True):
            weighed = self._weigh(self._messages(conversation), options)
            likelihoods.append(weighed.likelihoods)
            prompt += weighed.tokens
            if stop.is_set():
                break
            on_weighed()
        return {"likelihoods": likelihoods, "prompt": prompt, "tokens": 0}

    def _weigh(self, messages: list[dict[str, Any]], texts: Sequence[str]) -> _TextLikelihoods:
        """Returns the likelihood of each text as the answer. Raises ValueError for one that is not finite.

        A tokenizer may join a text's first character with the space before it, so the prompt alone doesn't show where a
        text begins. It begins with the first token that it doesn't share with `_REFERENCE_ANSWERS`, which follow the
        same prompt. (An empty answer is no reference: templates that trim also lose their line break.) Rows are padded
        on the right, which no earlier token reads.
        """
        references = self._with_answers(messages, _REFERENCE_ANSWERS)["input_ids"].tolist()
        inputs = self._with_answers(messages, texts)
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        self._check_room(max(lengths))
        rows = [
            ids[:length] for ids, length in zip(inputs["input_ids"].tolist(), lengths, strict=True)
        ]
        starts = [min(_shared_length(reference, row) for reference in references) for row in rows]
        # The logits at a token predict the next one. So the first that are kept are those at the token before the
        # earliest start: they predict the token at `first_start`.
        first_start = min(starts)
        kept = inputs["input_ids"].shape[1] - first_start + 1
        keep_argument = {"logits_to_keep": kept} if self._model._supports_logits_to_keep() else {}
        with torch.inference_mode():
            logits = self._model(**inputs, **keep_argument, use_cache=False).logits[:, -kept:]
        likelihoods: list[float | None] = []
        for row, start, row_logits in zip(rows, starts, logits, strict=True):
            # place 0 of `row_logits` predicts the token at `first_start`
            text_logits = row_logits[start - first_start : len(row) - first_start]
            likelihoods.append(_mean_log_likelihood(row[start:], text_logits))
        return _TextLikelihoods(likelihoods, sum(lengths))

    def _with_answers(self, messages: list[dict[str, Any]], texts: Sequence[str]) -> Any:
        """Returns a conversation with each text as the beginning of its answer."""
        chats = [
            [
                *messages,
                {
                    "role": "assistant",
                    "content": [
                        _content_part({"text": text}, max_side=None, as_text=self._as_text)
                    ],
                },
            ]
            for text in texts
        ]
        padding = {"padding": True, "padding_side": "right"}
        return self._apply_template(chats, continues=True, processor_kwargs=padding).to(
            self._device
        )

    def _check_room(self, length: int, answer_length: int = 0) -> None:
        """Raises TooLong if a conversation and its longest answer don't fit together; both lengths are in tokens."""
        if self._most_tokens is not None and length + answer_length > self._most_tokens:
            raise TooLong(
                f"the model has room for {self._most_tokens} tokens, but the conversation has {length}"
            )

    def _messages(self, conversation: JsonObject) -> list[dict[str, Any]]:
        return chat_messages(conversation, self._max_side, self._as_text)

    def _as_text(self, text: str) -> str:
        """Returns a text without control tokens, if the processor cannot distinguish them from those of the
        template.
        """
        if not self._can_sanitize:
            for added_token in self._tokenizer.added_tokens_decoder.values():
                token = str(added_token)
                if token.strip():  # One of blanks alone controls nothing.
                    broken_token = f"{token[0]} {token[1:]}"
                    text = text.replace(token, broken_token)
        return text

    def _apply_template(self, chats: list[Any], continues: bool = False, **arguments: Any) -> Any:
        """Returns one or several lists of messages as the model takes them; control tokens in them count as text.

        The model's answer comes next, or, with `continues`, the rest of the last message.
        """
        return self._processor.apply_chat_template(
            chats,
            add_generation_prompt=not continues,
            continue_final_message=continues,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            sanitize_control_tokens=self._can_sanitize,
            **arguments,
        ).to(dtype=self._model.dtype)


class TooLong(ValueError):
    """A conversation has more tokens than the model has room for."""


class _TextSender:
    """Sends each token's text as it comes, and ends the generation on request."""

    def __init__(
        self,
        tokenizer: Any,
        stop: threading.Event,
        on_piece: Callable[[str, int], None],
        conversations: int,
    ) -> None:
        self._stop = stop
        self._on_piece = on_piece
        self._conversations = conversations
        self._tokens = 0
        self._last_sent = time.monotonic()
        self.streamer = None
        if conversations == 1:  # The library streams no batch of several.
            self.streamer = transformers.TextStreamer(
                tokenizer, skip_prompt=True, skip_special_tokens=True
            )
            self.streamer.on_finalized_text = self._send  # in place of printing

    def __call__(self, input_ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        """Counts a step; returns for each conversation whether to stop."""
        self._tokens += self._conversations
        if time.monotonic() - self._last_sent > _SILENCE_SECONDS:
            self._send("")
        return torch.full(
            (input_ids.shape[0],), self._stop.is_set(), device=input_ids.device, dtype=torch.bool
        )

    def _send(self, text: str, stream_end: bool = False) -> None:
        """Sends a text, or "" as a sign of life; the parameters are those of `on_finalized_text`.

        The library gives "" while it holds back part of a word, which is a sign of life too. A "" at the end is not.
        """
        if text or not stream_end:
            self._last_sent = time.monotonic()
            self._on_piece(text, self._tokens)


def _processor(model: str, source: Mapping[str, Any]) -> Any:
    try:
        processor = transformers.AutoProcessor.from_pretrained(model, **source)
    except MODEL_ERRORS as error:
        if "torchvision" in str(error).lower():
            raise LoadError(
                "the model's processor needs torchvision: pip install torchvision"
            ) from error
        if "trust_remote_code" in str(error) or "custom code" in str(error):
            raise LoadError(
                "the model needs its own code, which we never run. Choose one that transformers supports"
            ) from error
        raise LoadError(f"the processor can't be loaded: {first_line(error)}") from error
    if (
        getattr(processor, "tokenizer", None) is None
        or getattr(processor, "image_processor", None) is None
    ):
        raise LoadError("this isn't a model for images and text. It has no processor for both")
    if not processor.chat_template:
        raise LoadError("the model has no chat template. Choose one made for conversations")
    return processor


def _precision(dtype: str, device: str) -> torch.dtype:
    """Returns the type of the weights; a CPU without native bfloat16 computes float32 much faster."""
    if dtype != "auto":
        return getattr(torch, dtype)
    is_fast = (
        torch.cuda.is_bf16_supported(including_emulation=False)
        if device == "cuda"
        else torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )
    return torch.bfloat16 if is_fast else torch.float32


def _limit_side(image_processor: Any, max_side: int) -> int | None:
    """Sets a processor's limit of a picture's longer side; returns `max_side` if we have to shrink them ourselves.

    A processor with a longest edge of its own would enlarge our shrunk pictures.
    """
    if "longest_edge" not in dict(image_processor.size):
        return max_side
    image_processor.size = {"longest_edge": max_side}
    return None


def chat_messages(
    conversation: JsonObject, max_side: int | None = None, as_text: Callable[[str], str] = str
) -> list[dict[str, Any]]:
    """Returns a conversation as chat templates take it; images are pixels, never URLs, shrunk to `max_side`."""
    messages: list[dict[str, Any]] = []
    if conversation["system"]:
        messages.append(
            {
                "role": "system",
                "content": [{"type": "text", "text": as_text(conversation["system"])}],
            }
        )
    for turn in conversation["turns"]:
        content = [_content_part(part, max_side, as_text) for part in turn["parts"]]
        messages.append({"role": turn["role"], "content": content})
    return messages


def _content_part(
    part: Mapping[str, str], max_side: int | None, as_text: Callable[[str], str]
) -> dict[str, Any]:
    if "text" in part:
        return {"type": "text", "text": as_text(part["text"])}
    pixels = Image.open(io.BytesIO(base64.b64decode(part["image"]))).convert("RGB")
    if max_side:
        pixels.thumbnail((max_side, max_side))
    return {"type": "image", "image": pixels}


def _generate_arguments(settings: JsonObject) -> dict[str, Any]:
    """Returns the arguments of `generate`; without a temperature, the model's own settings apply."""
    arguments: dict[str, Any] = {"max_new_tokens": settings["max_tokens"]}
    if settings["temperature"] == 0:
        return {**arguments, "do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    if settings["temperature"] is not None:
        arguments |= {"do_sample": True, "temperature": settings["temperature"]}
    if settings["top_p"] is not None:
        arguments["top_p"] = settings["top_p"]
    return arguments


def _shared_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Returns the number of equal tokens at the beginning of two rows."""
    length = 0
    for token, other in zip(first, second, strict=False):
        if token != other:
            break
        length += 1
    return length


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message, up to 300 characters, or else the error's name."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


def _mean_log_likelihood(tokens: Sequence[int], logits: torch.Tensor) -> float | None:
    """Returns the mean natural logarithm of tokens' likelihoods; None without tokens.

    `logits` has a row for each token: those of the token before it. Raises ValueError if the mean is not finite.
    """
    if not tokens:
        return None
    ids = torch.tensor(tokens, device=logits.device, dtype=torch.long)
    mean = logits.float().log_softmax(dim=-1).gather(1, ids[:, None]).mean().item()
    if not math.isfinite(mean):
        raise ValueError("the model gives a text no finite likelihood")
    return mean


class _RequestLoop:
    """Takes requests in and hands answers out, one generation at a time."""

    def __init__(self, say: Callable[..., None]) -> None:
        self._say = say
        self._requests: queue.SimpleQueue[JsonObject] = queue.SimpleQueue()
        self._stops: dict[int, threading.Event] = {}
        """Set to end the generation of a request, by its number."""

    def listen(self) -> None:
        """Reads requests until stdin ends, then ends the process."""
        try:
            for line in sys.stdin:
                self._take(json.loads(line))
        finally:  # also after a line that was torn when the parent was killed
            os._exit(0)

    def _take(self, message: JsonObject) -> None:
        """Stops a request, or puts one into the queue."""
        if "stop" in message:
            stop = self._stops.get(message["stop"])
            if stop:  # Without one, the request has ended in the meantime.
                stop.set()
            return
        if "id" in message:  # The first message, with the weights, has none.
            self._stops[message["id"]] = threading.Event()
        self._requests.put(message)

    def serve(self) -> None:
        """Loads the model of the first request, then answers the others in order of arrival."""
        try:
            model = LocalModel(**self._requests.get())
        except LoadError as error:
            self._say(kind="unloadable", text=str(error))
            return
        self._say(kind="loaded")
        while True:
            self._handle(model, self._requests.get())

    def _handle(self, model: LocalModel, request: JsonObject) -> None:
        """Answers a request, or says why it can't be answered."""
        number = request["id"]
        try:
            self._say(kind="end", id=number, **self._answer(model, request))
        except MODEL_ERRORS as error:
            sys.stderr.write(f"the generation failed: {first_line(error)}\n")
            is_too_big = isinstance(error, TooLong | torch.OutOfMemoryError | MemoryError)
            trouble = "too big" if is_too_big else "refused"
            text = "the model can't take this conversation"
            if isinstance(error, TooLong):
                text = str(error)
            self._say(kind="failed", id=number, trouble=trouble, text=text)
        finally:
            del self._stops[number]

    def _answer(self, model: LocalModel, request: JsonObject) -> JsonObject:
        """Returns the model's answers, or its likelihoods of texts. Raises the same errors as `LocalModel.answers`."""
        number = request["id"]
        stop = self._stops[number]

        def send_piece(text: str, tokens: int) -> None:
            self._say(kind="piece", id=number, text=text, tokens=tokens)

        if "texts" in request:
            return model.likelihoods(
                request["conversations"],
                request["texts"],
                stop,
                on_weighed=lambda: send_piece("", 0),
            )
        return model.answers(
            request["conversations"],
            request["settings"],
            stop,
            on_start=lambda prompt: self._say(kind="started", id=number, prompt=prompt),
            on_piece=send_piece,
        )


def line_to_parent() -> Callable[..., None]:
    """Returns a function that sends messages to the parent process by stdout, from any thread.

    Whatever libraries print to stdout goes to stderr instead.
    """
    original_stdout = os.dup(1)
    out = os.fdopen(original_stdout, "w", encoding="utf-8")
    lock = threading.Lock()
    os.dup2(2, 1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

    def say(**message: Any) -> None:
        with lock:
            out.write(json.dumps(message) + "\n")
            out.flush()

    return say


def main() -> None:
    """Serves the parent process."""
    loop = _RequestLoop(line_to_parent())
    threading.Thread(target=loop.listen, daemon=True).start()
    loop.serve()


if __name__ == "__main__":
    main()
