"""Gradio events: how the tabs bind them, which values they accept, and what a late answer leaves alone.

While an event is being answered, Gradio drops further triggers (`trigger_mode="once"`), and an answer may arrive after
that of a newer event.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

from anyio import from_thread

MOST_TEXT = 8_000
"""Most characters of text from components without `max_length`."""
MOST_NUMBER = 1e300
"""Larger numbers are refused, as are infinity and NaN; handlers check whether an index exists."""

RAW: Mapping[str, Any] = {
    "queue": False,
    "api_visibility": "private",
    "show_progress": "hidden",
    "preprocess": False,
}
"""Not queued, so that a vote never waits behind other events; handlers check the browser's values themselves, since
Gradio would refuse a choice that an event added to a list."""
LATEST: Mapping[str, Any] = {**RAW, "trigger_mode": "always_last"}
"""For choosing, typing or sending: a trigger during an answer runs after it."""

REFUSED = "The server refused that or was not reached. Wait a moment, then load the page again."
"""What a page says after an event that a proxy or the limits refused: Gradio hides its own word for it."""

MOST_LISTED = 100
"""Most texts that a component with several choices sends."""
_LISTED: tuple[str, tuple[type, ...]] = ("a list of texts", (list,))
_TAKEN: Mapping[str, tuple[str, tuple[type, ...]]] = {
    **dict.fromkeys(("textbox", "dropdown", "radio", "datetime"), ("text", (str,))),
    "checkbox": ("true or false", (bool,)),
    "number": ("a number", (int, float)),
}
"""Values that a browser sends for each kind of component."""


class Argument(NamedTuple):
    """What an event accepts from one component, if anything; `most`: characters, or the largest absolute number."""

    label: str
    taken: str
    types: tuple[type, ...]
    most: float

    @classmethod
    def of(cls, component: Any) -> "Argument":
        """Return the argument for a component of Gradio."""
        taken, types = _TAKEN[component.get_block_name()]
        if getattr(component, "multiselect", False):
            taken, types = _LISTED
        label, most = (getattr(component, name, None) for name in ("label", "max_length"))
        return cls(
            label or "This event",
            taken,
            types,
            most or (MOST_NUMBER if types == (int, float) else MOST_TEXT),
        )

    def misfit(self, value: object) -> str | None:
        """Return what is wrong with a value, if anything: the browser's own limits do not protect."""
        if value is None:
            return None
        if self.types == (list,) and isinstance(value, list):
            return self._misfit_of_list(value)
        if type(value) in self.types and isinstance(value, str) and len(value) > self.most:
            most = f"at most {self.most:,} characters, and these are {len(value):,}"
            return f"{self.label} takes {most}. Make it shorter."
        if isinstance(value, str) and "\0" in value:
            return f"{self.label} takes no NUL, which PostgreSQL does not store."
        fits = type(value) in self.types and (
            not isinstance(value, int | float) or abs(value) <= self.most
        )
        return None if fits else f"{self.label} takes {self.taken}."

    def _misfit_of_list(self, texts: Sequence[object]) -> str | None:
        """Return what is wrong with a list of texts, if anything."""
        if len(texts) > MOST_LISTED:
            return f"{self.label} takes at most {MOST_LISTED} texts, and these are {len(texts):,}."
        text = self._replace(types=(str,))
        return next(filter(None, map(text.misfit, texts)), None)


def misfit(arguments: Sequence[Argument], sent: object) -> str | None:
    """Return what is wrong with the values sent to an event, if anything."""
    if not isinstance(sent, list) or len(sent) != len(arguments):
        count = f", and these are {len(sent)}" if isinstance(sent, list) else ""
        return f"This event takes a list of {len(arguments)} values{count}."
    return next(
        filter(
            None, (argument.misfit(value) for argument, value in zip(arguments, sent, strict=True))
        ),
        None,
    )


Updates = dict[Any, Any]
"""New values, by component."""


def shows_errors(
    errors: tuple[type[Exception], ...], html: Callable[..., str], at: str = "problem"
) -> Callable[[Callable[..., Updates]], Any]:
    """Decorate a tab's handlers to show these errors in a component; the page stays as it is and can try again.

    `html` gets the error and what the handler got; `at` is the component's attribute of the tab.
    """

    # Gradio shows the message of a gr.Error only for queued events, and these are not queued.
    def decorate(handler: Callable[..., Updates]) -> Callable[..., Updates]:
        @wraps(handler)
        def tried(tab: Any, *values: object) -> Updates:
            try:
                return {getattr(tab, at): "", **handler(tab, *values)}
            except errors as error:
                return {getattr(tab, at): html(error, *values)}

        return tried

    return decorate


def into_view(selector: str) -> str:
    """JavaScript after an event: what it showed comes into view."""
    scroll = f"""document.querySelector("{selector}")?.scrollIntoView({{ block: "nearest" }})"""
    return f"() => setTimeout(() => {scroll}, 50)"


def still_there(request: Any) -> Callable[[], bool]:
    """Return a check, for a handler in a thread, of whether the page still waits for its answer."""
    return lambda: not from_thread.run(request.is_disconnected)
