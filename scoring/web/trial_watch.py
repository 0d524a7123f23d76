"""Trial watch: the page asks again while a visitor's judge is tried out, then continues the pressed button's act."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr

from arena.locale import translated
from arena.web.events import Updates
from scoring.jobs.trials import TrialRuns
from scoring.web.scoring_settings import Values
from scoring.web.scoring_view import SCORING

ASK_SECONDS = 1.5
Handler = Callable[..., Updates]


class TrialWatch:
    """Hidden components that know which handler waits for a trial."""

    def __init__(self) -> None:
        self.handler = gr.Textbox(visible="hidden", elem_id="trial-handler", max_length=40)
        self.clock = gr.Timer(ASK_SECONDS, active=False)

    @property
    def parts(self) -> list[Any]:
        return [self.handler, self.clock]

    def over(self) -> Updates:
        """Returns the updates that end the watch."""
        return {self.handler: "", self.clock: gr.Timer(active=False)}

    def begun(self, handler: str) -> Updates:
        """Returns the updates that begin the watch for a handler, by its name."""
        return {self.handler: handler, self.clock: gr.Timer(active=True)}

    def waiting(self, handlers: dict[str, Handler], values: Values) -> Handler | None:
        """Returns the one of these handlers, by name, that waits for a trial; None if none does."""
        return handlers.get(str(values[self.handler]))


def waits_for_trial(handler: Handler) -> Handler:
    """Decorates a handler, so that it is called again when the trial that it needs is over; its tab has a `watch`."""

    @wraps(handler)
    def tried(tab: Any, *values: Any) -> Updates:
        try:
            return {**tab.watch.over(), **handler(tab, *values)}
        except TrialRuns as runs:
            return {
                **tab.watch.begun(handler.__name__),
                tab.problem: SCORING.trying(translated(runs)),
            }

    return tried
