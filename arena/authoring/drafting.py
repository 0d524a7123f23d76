"""Drafting: the operator's models answer an instruction from its captions, by VisIT-Bench's prompt (2.1), or blindly.

The paper prints the prompt for one image, with the quotes that the file has. For several images it mentions only
"appropriate modifications", so that wording, and the way captions are joined, is ours. The prompt by which a text-only
model chooses an option of a question without its picture is ours too (MMT-Bench, appendix I.2, prints none).
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from arena.authoring.choices import options_text
from arena.authoring.events import BlindAnswer, DraftAnswer, Failure, Instruction
from arena.authoring.spec import ProjectSpec, project_of
from arena.authoring.state import DraftState
from arena.authoring.store import Claim, DraftStore
from arena.budget import Budget, BudgetError, JobBudget, reserved
from arena.database import DatabaseError
from arena.inference.catalogue import CatalogueError
from arena.inference.limits import most_cost
from arena.seats.campaigns import Campaign
from arena.thinking import Thought, split_thinking
from arena.types import VLM, ModelError, Turn, Usage

PromptName = Literal["draft", "draft_our_images", "blind_our", "blind_our_choice"]
_FOLDER = Path(__file__).parent / "prompts"
_PLACEHOLDER = re.compile("<(caption|instruction|options)>")
RESERVE_SECONDS = 0.5
"""The wait before another try, while answers under way have reserved the rest of the budget."""
RENEW_SECONDS = 20
"""The interval at which a claim is renewed while models answer: a claim lasts a minute at least."""
NOBODY = "drafts"
"""The user to whom a project's budget charges its answers: no person, since the operator pays for all of them."""


def prompt_file(name: PromptName) -> bytes:
    return (_FOLDER / f"{name}.txt").read_bytes()


def prompt_digest(name: PromptName) -> str:
    return hashlib.sha256(prompt_file(name)).hexdigest()


class Prompt(NamedTuple):
    """A prompt, and the name of the file that it was made from."""

    text: str
    file: PromptName


def draft_prompt(instruction: str, captions: Sequence[str]) -> Prompt:
    """Returns the prompt for an answer from captions; without captions the blind one."""
    values = {"instruction": instruction}
    if not captions:
        return _fill("blind_our", values)
    if len(captions) == 1:
        return _fill("draft", {**values, "caption": captions[0]})
    lines = [f"Image {number}: {text}" for number, text in enumerate(captions, 1)]
    return _fill("draft_our_images", {**values, "caption": "\n".join(lines)})


def blind_prompt(instruction: Instruction) -> Prompt:
    """Returns the prompt for a model that sees no picture."""
    if not instruction.options:
        return draft_prompt(instruction.text, ())
    values = {"instruction": instruction.text, "options": options_text(instruction.options)}
    return _fill("blind_our_choice", values)


def _fill(file: PromptName, values: Mapping[str, str]) -> Prompt:
    text = prompt_file(file).decode().removesuffix("\n")
    return Prompt(_PLACEHOLDER.sub(lambda match: values[match[1]], text), file)


class DraftRequest(NamedTuple):
    """A prompt for a model, and the kind of event that its answer becomes."""

    kind: type[DraftAnswer] | type[BlindAnswer]
    model: str
    prompt: Prompt


class _PaidText(NamedTuple):
    """A model's answer."""

    text: str
    cost: int
    """Millionths of a US dollar."""


class Drafting:
    """The draft answers of one database's projects; `vlm` returns a catalogue's model, or raises CatalogueError."""

    def __init__(self, store: DraftStore, vlm: Callable[[str], VLM], budget: Budget) -> None:
        self._store = store
        self._find_vlm = vlm
        self.budget = budget

    def most_cost(self, spec: ProjectSpec, state: DraftState) -> int:
        """Returns the most that a draft's answers may cost, in millionths of a US dollar. Raises CatalogueError."""
        return sum(self._request_cost(request) for request in _requests(spec, state))

    def unpriced(self, spec: ProjectSpec) -> list[str]:
        """Returns the project's models without a price in the models file. Raises CatalogueError."""
        models = dict.fromkeys(filter(None, (spec.model, spec.blind_model)))
        return [model for model in models if self._bounded_vlm(model).card.price is None]

    def spent(self, campaign: Campaign) -> int:
        """Returns what a project's answers have cost, also failed ones, in millionths of a US dollar."""
        return self.budget.spent(_job_of(campaign))

    def _request_cost(self, request: DraftRequest) -> int:
        """Returns the most that a request may cost, in millionths of a US dollar. Raises CatalogueError."""
        card = self._bounded_vlm(request.model).card
        return most_cost(card, [Turn("user", request.prompt.text)], card.generation)

    def _bounded_vlm(self, name: str) -> VLM:
        """Returns a model that a budget can bound. Raises CatalogueError."""
        vlm = self._find_vlm(name)
        if vlm.card.visitor_key and vlm.card.price is None:
            raise CatalogueError(
                f"{name} has its router's price, which a budget can't limit. Give it prompt_price and "
                "completion_price in the models file, or choose another model."
            )
        return vlm

    def due(self, campaign: Campaign) -> list[int]:
        """Returns the drafts that wait for the project's model, also those of a process that has ended."""
        spec = project_of(campaign.spec)
        return [
            draft.id for draft in self._store.drafts(campaign) if draft.state.is_for_model(spec)
        ]

    async def answer(self, campaign: Campaign, draft: int) -> str:
        """Answers a draft; returns the reason if the model has no answer and a person has to write it, otherwise "".

        Does nothing, and returns "", for a draft that is not due, or that another server is answering.
        """
        claim = await asyncio.to_thread(self._store.claim_for_model, campaign, draft)
        if claim is None:
            return ""
        claimed = await asyncio.to_thread(self._store.find, campaign, draft)
        if claimed is None:
            return ""
        requests = _requests(project_of(campaign.spec), claimed.state)
        async with self._renewing(claim):
            awaited, *controls = [await self._ask(campaign, request) for request in requests]
        # People wait for the first answer only. The others are controls, and a failed one is dropped.
        controls = [value for value in controls if not isinstance(value, Failure)]
        await asyncio.to_thread(self._store.give_model, claim, [awaited, *controls])
        return awaited.why if isinstance(awaited, Failure) else ""

    @asynccontextmanager
    async def _renewing(self, claim: Claim) -> AsyncIterator[None]:
        """Keeps a claim from lapsing while models answer, since another server would ask them again."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(RENEW_SECONDS)
                with suppress(DatabaseError):  # the next renewal may succeed
                    await asyncio.to_thread(self._store.renew, claim)

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()

    async def _ask(
        self, campaign: Campaign, request: DraftRequest
    ) -> DraftAnswer | BlindAnswer | Failure:
        """Returns a model's answer to a draft, or its failure."""
        model = request.model
        while True:
            try:
                answer = await self._call(campaign, request)
            except (ModelError, BudgetError, CatalogueError) as error:
                if isinstance(error, BudgetError) and error.is_temporary:
                    await asyncio.sleep(RESERVE_SECONDS)
                    continue
                return Failure(model=model, why=str(error))
            digest = prompt_digest(request.prompt.file)
            return request.kind(text=answer.text, model=model, prompt=digest, cost=answer.cost)

    async def _call(self, campaign: Campaign, request: DraftRequest) -> _PaidText:
        """Calls a model within the project's budget. Raises ModelError, BudgetError and CatalogueError."""
        vlm = self._bounded_vlm(request.model)
        turns = [Turn("user", request.prompt.text)]
        limit = round(project_of(campaign.spec).budget * 1e6)  # millionths of a US dollar
        budget: JobBudget = self.budget.for_job(_job_of(campaign), NOBODY, limit)
        usages: list[Usage] = []
        async with reserved(budget, self._request_cost(request)) as held:
            try:
                stream = vlm.stream(turns, vlm.card.generation, usages.append)
                pieces = [piece async for piece in stream if not isinstance(piece, Thought)]
                text = split_thinking("".join(pieces)).text
            finally:
                held.spent = sum(usage.cost for usage in usages)
        if not text.strip():
            raise ModelError("blank", "the model's answer is empty")
        return _PaidText(text.strip(), held.spent)


def _job_of(campaign: Campaign) -> str:
    """Returns the name of a project's budget."""
    return f"drafts of {campaign.name}"


def _requests(spec: ProjectSpec, state: DraftState) -> list[DraftRequest]:
    """Returns the requests to the models, first the one that people wait for; the blind model answers a draft once."""
    assert state.instruction, "captions come after an instruction"
    requests = []
    if not spec.is_choice:
        prompt = draft_prompt(state.instruction.text, state.captions)
        requests.append(DraftRequest(DraftAnswer, spec.model, prompt))
    if spec.blind_model and not state.blind:
        prompt = blind_prompt(state.instruction)
        requests.append(DraftRequest(BlindAnswer, spec.blind_model, prompt))
    return requests
