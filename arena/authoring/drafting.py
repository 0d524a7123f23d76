"""Drafting: the operator's model answers an instruction from its captions, by VisIT-Bench's prompt (2.1), and blindly.

The paper prints the prompt for one image, its quotes as they are in the file, and says that several images had it with
"appropriate modifications", which are unknown: that wording, and how captions are joined, is ours.
"""

import asyncio
import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from arena.authoring.events import AnyValue, BlindAnswer, DraftAnswer, Failure
from arena.authoring.spec import ProjectSpec, project_of
from arena.authoring.state import DraftState
from arena.authoring.store import DraftStore
from arena.budget import Budget, BudgetError, JobBudget, reserved
from arena.inference.catalogue import CatalogueError
from arena.inference.limits import most_cost
from arena.seats.campaigns import Campaign
from arena.thinking import Thought, parted
from arena.types import VLM, ModelError, Turn, Usage

PromptName = Literal["draft", "draft_our_images", "blind_our"]
_FOLDER = Path(__file__).parent / "prompts"
_PLACE = re.compile("<(caption|instruction)>")
RESERVE_SECONDS = 0.5
"""How long an answer waits while others under way have reserved what is left of the budget."""
NOBODY = "drafts"
"""Who spends in a project's budget: the operator's models, whoever wrote what they answer."""


def prompt_file(name: PromptName) -> bytes:
    return (_FOLDER / f"{name}.txt").read_bytes()


def prompt_digest(name: PromptName) -> str:
    return hashlib.sha256(prompt_file(name)).hexdigest()


def draft_prompt(instruction: str, captions: Sequence[str]) -> tuple[str, PromptName]:
    """What a model is asked, and by which file; without captions blindly."""
    name: PromptName = (
        "draft_our_images" if len(captions) > 1 else "draft" if captions else "blind_our"
    )
    told = "\n".join(f"Image {number}: {text}" for number, text in enumerate(captions, 1))
    values = {
        "instruction": instruction,
        "caption": told if len(captions) > 1 else "".join(captions),
    }
    text = prompt_file(name).decode().removesuffix("\n")
    return _PLACE.sub(lambda place: values[place[1]], text), name


class DraftRequest(NamedTuple):
    """What a model is asked for a draft, and by which file."""

    model: str
    prompt: str
    file: PromptName


class Drafting:
    """Draft answers of one database's projects; `vlm` finds a catalogue's model, or raises CatalogueError."""

    def __init__(self, store: DraftStore, vlm: Callable[[str], VLM], budget: Budget) -> None:
        self._store = store
        self._vlm = vlm
        self.budget = budget

    def most_cost(self, spec: ProjectSpec, state: DraftState) -> int:
        """The most that a draft's answers may cost, in millionths of a US dollar. Raises CatalogueError."""
        return sum(self._most(request) for request in _requests(spec, state))

    def _most(self, request: DraftRequest) -> int:
        card = self._vlm(request.model).card
        return most_cost(card, [Turn("user", request.prompt)], card.generation)

    def due(self, campaign: Campaign) -> list[int]:
        """The drafts that wait for the project's model: those of a process that has ended, too."""
        model = project_of(campaign.spec).model
        return [
            draft.id for draft in self._store.drafts(campaign) if draft.state.is_for_model(model)
        ]

    async def answer(self, campaign: Campaign, draft: int) -> str:
        """Have a draft answered; return why there is no answer, so that a person writes it; empty if there is one.

        Does nothing, and returns "", for a draft that is not due, or that another server answers now.
        """
        claim = await asyncio.to_thread(self._store.claim_for_model, campaign, draft)
        found = claim and await asyncio.to_thread(self._store.find, campaign, draft)
        if claim is None or found is None:
            return ""
        values = [
            await self._value(campaign, request)
            for request in _requests(project_of(campaign.spec), found.state)
        ]
        why = next((one.why for one in values if isinstance(one, Failure)), "")
        await asyncio.to_thread(self._store.give_model, claim, [one for one in values if one])
        return why

    async def _value(self, campaign: Campaign, request: DraftRequest) -> AnyValue | None:
        """What a model gives to a draft; None for a blind answer that did not come: it is a control, and no more."""
        model = request.model
        kind = BlindAnswer if request.file == "blind_our" else DraftAnswer
        while True:
            try:
                text, cost = await self._say(campaign, request)
            except (ModelError, BudgetError, CatalogueError) as error:
                if isinstance(error, BudgetError) and error.passing:
                    await asyncio.sleep(RESERVE_SECONDS)
                    continue
                return Failure(model=model, why=str(error)) if kind is DraftAnswer else None
            return kind(text=text, model=model, prompt=prompt_digest(request.file), cost=cost)

    async def _say(self, campaign: Campaign, request: DraftRequest) -> tuple[str, int]:
        """A model's answer and its cost. Raises ModelError, BudgetError and CatalogueError."""
        vlm = self._vlm(request.model)
        turns = [Turn("user", request.prompt)]
        most = round(project_of(campaign.spec).budget * 1e6)
        budget: JobBudget = self.budget.for_job(f"drafts of {campaign.name}", NOBODY, most)
        costs: list[Usage] = []
        async with reserved(budget, self._most(request)) as held:
            try:
                stream = vlm.stream(turns, vlm.card.generation, costs.append)
                pieces = [piece async for piece in stream if not isinstance(piece, Thought)]
                text = parted("".join(pieces)).text
            finally:
                held.spent = sum(usage.cost for usage in costs)
        if not text.strip():
            raise ModelError("blank", "the model's answer is empty")
        return text.strip(), held.spent


def _requests(spec: ProjectSpec, state: DraftState) -> list[DraftRequest]:
    """Which models are asked what: the blind one once, whatever happens to the captions."""
    assert state.instruction, "an instruction stands before captions"
    told = state.instruction.text
    prompt, file = draft_prompt(told, state.captions)
    requests = [DraftRequest(model=spec.model, prompt=prompt, file=file)]
    if spec.blind_model and not state.blind:
        prompt, file = draft_prompt(told, ())
        requests.append(DraftRequest(model=spec.blind_model, prompt=prompt, file=file))
    return requests
