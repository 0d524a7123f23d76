"""Gradio events: the settings of the tabs' events, and the check of the values that they get.

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

REFUSED = "The server refused this or can't be reached. Wait a moment, then reload the page."
"""The notice after an event that a proxy or the limits refused: Gradio hides its own."""

MOST_LISTED = 100
"""The most texts from a component with several choices."""
_LIST: tuple[str, tuple[type, ...]] = ("a list of texts", (list,))
_ACCEPTED: Mapping[str, tuple[str, tuple[type, ...]]] = {
    **dict.fromkeys(("textbox", "dropdown", "radio", "datetime"), ("text", (str,))),
    "checkbox": ("true or false", (bool,)),
    "number": ("a number", (int, float)),
}
"""The values of each kind of component, in words and as types."""


class Argument(NamedTuple):
    """The values that an event accepts from a component."""

    label: str
    accepted: str
    """The accepted values in words."""
    types: tuple[type, ...]
    most: float
    """The most characters, or the largest absolute number."""

    @classmethod
    def from_component(cls, component: Any) -> "Argument":
        """Returns the argument for a component of Gradio."""
        accepted, types = _ACCEPTED[component.get_block_name()]
        if getattr(component, "multiselect", False):
            accepted, types = _LIST
        label = getattr(component, "label", None) or "This event"
        default = MOST_NUMBER if types == (int, float) else MOST_TEXT
        most = getattr(component, "max_length", None) or default
        return cls(label, accepted, types, most)

    def misfit(self, value: object) -> str | None:
        """Returns the problem with a value, if any. The limits in the browser protect nothing."""
        if value is None:
            return None
        if self.types == (list,) and isinstance(value, list):
            return self._misfit_of_list(value)
        is_accepted = type(value) in self.types  # by isinstance, True would be a number
        if is_accepted and isinstance(value, str) and len(value) > self.most:
            limits = f"{len(value):,} characters, more than {self.most:,}"
            return f"{self.label} has {limits}. Shorten it."
        if isinstance(value, str) and "\0" in value:
            return f"{self.label} can't have the character NUL. Remove it."
        # "not <=" holds for NaN, too.
        is_too_large = isinstance(value, int | float) and not abs(value) <= self.most
        if not is_accepted or is_too_large:
            return f"{self.label} takes {self.accepted}."
        return None

    def _misfit_of_list(self, texts: Sequence[object]) -> str | None:
        """Returns the problem with a list of texts, if any."""
        if len(texts) > MOST_LISTED:
            return f"{self.label} has {len(texts):,} texts, more than {MOST_LISTED}. Remove some."
        text_argument = self._replace(types=(str,))
        for text in texts:
            if text is None:
                return f"{self.label} takes {self.accepted}."
            problem = text_argument.misfit(text)
            if problem:
                return problem
        return None


def misfit(arguments: Sequence[Argument], sent: object) -> str | None:
    """Returns the problem with the values that an event got, if any."""
    if not isinstance(sent, list) or len(sent) != len(arguments):
        count = f", and these are {len(sent)}" if isinstance(sent, list) else ""
        return f"This event takes a list of {len(arguments)} values{count}."
    for argument, value in zip(arguments, sent, strict=True):
        problem = argument.misfit(value)
        if problem:
            return problem
    return None


Updates = dict[Any, Any]
"""New values, by component."""


def shows_errors(
    errors: tuple[type[Exception], ...], html: Callable[..., str], component: str = "problem"
) -> Callable[[Callable[..., Updates]], Any]:
    """Makes a tab's handlers show these errors in a component. The page stays as it is, to try again.

    `html` gets the error and the handler's arguments. `component` names the tab's attribute with the component.
    """

    # Gradio shows the message of a gr.Error only for queued events, and these are not queued.
    def decorate(handler: Callable[..., Updates]) -> Callable[..., Updates]:
        @wraps(handler)
        def handle(tab: Any, *values: object) -> Updates:
            shown_in = getattr(tab, component)
            try:
                return {shown_in: "", **handler(tab, *values)}
            except errors as error:
                return {shown_in: html(error, *values)}

        return handle

    return decorate


def into_view(selector: str) -> str:
    """Returns JavaScript that scrolls the result of an event into view."""
    scroll = f"""document.querySelector("{selector}")?.scrollIntoView({{ block: "nearest" }})"""
    return f"() => setTimeout(() => {scroll}, 50)"


def still_there(request: Any) -> Callable[[], bool]:
    """Returns a check for handlers in a thread: whether the page still waits for the answer."""
    return lambda: not from_thread.run(request.is_disconnected)
