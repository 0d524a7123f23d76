"""Campaign spec: an operator's settings of a campaign of any task, from a TOML file or a form."""

import json
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arena.validation import must_be, number, one_line, whole

MOST_BYTES = 1_000_000
"""The most bytes of a campaign's file."""
NETWORK_SEATS = 10
"""The most seats of a network in a day, unless a spec says otherwise."""
PlatformKind = Literal["plain", "login", "prolific", "mturk"]
"""plain: a link for each worker; login: one link for all who log in here; others: one link, to which the platform adds
the worker's id."""


class CampaignError(ValueError):
    """A campaign cannot be made or found; the message says what to fix."""


class SpecPart(BaseModel):
    """A part of a campaign's spec: unknown keys are errors, and so are values of another type.

    A field with `strict=False` also takes a list for a tuple.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def text_rule(expected: str, most: int = 200) -> Any:
    """Returns the rule for a text that is not blank, for `Annotated`.

    `expected`: what the text is, for the error, such as "the text that workers read".
    """

    def is_valid(text: str) -> bool:
        return text.strip() != "" and len(text) <= most and "\0" not in text

    return must_be(f"{expected}, 1 to {most} characters long", is_valid)


Share = Annotated[float, number(0, 1)]
Name = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"),
    must_be(
        "1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-', beginning with a letter or digit"
    ),
]


class SeatSpec(SpecPart):
    """A worker's quota and pay."""

    votes: Annotated[int, whole(1, 1000)]
    """The pieces of work for a worker; checks come on top."""
    minutes: Annotated[int, whole(1, 24 * 60)] = 30
    """The minutes that a piece waits for its answer before somebody else gets it."""
    pay: Annotated[float, number(0, 10_000)]
    currency: Annotated[
        str, Field(pattern="^[A-Z]{3}$"), must_be("three capital letters, as in 'USD'")
    ] = "USD"


class QualifySpec(SpecPart):
    """The qualification: questions with a known answer, sample tasks, or both, before the work."""

    items: str = ""
    """The source of check items for the questions; empty: no questions."""
    asked: Annotated[int, whole(1, 50)] = 6
    """The number of questions, if there is a source."""
    samples: Annotated[int, whole(0, 20)] = 0
    """The number of a project's sample tasks after the questions."""
    passed: Annotated[int, Field(alias="pass"), whole(1, 70)] = 5
    """The right answers needed, of all questions and samples."""
    tries: Annotated[int, whole(1, 5)] = 2

    @property
    def question_count(self) -> int:
        """The number of questions with a known answer."""
        return self.asked if self.items else 0

    @property
    def total(self) -> int:
        """The number of questions and samples in a try."""
        return self.question_count + self.samples


class ChecksSpec(SpecPart):
    """Pieces with a known answer among the work."""

    items: str = ""
    """The source of check items; empty: all sources."""
    share: Annotated[float, number(0.01, 0.5)] = 0.1
    """The number of checks, as a share of a worker's pieces; at least one. Checks come on top of these pieces."""
    fail: Annotated[int, whole(1, 50)] = 2
    """The number of failed checks at which somebody else gets a worker's pieces."""


class PlatformSpec(SpecPart):
    """The workers' platform, and its completion codes."""

    kind: PlatformKind = "plain"
    study: str = ""
    """The id of Prolific's study: links from other studies are refused. It isn't used for other platforms."""
    done: str = ""
    failed: str = ""
    full: str = ""
    """`done`, `failed`, `full`: the completion codes, by the end of a worker's seat."""
    confirm_hours: Annotated[int, whole(1, 24 * 90)] = 24
    """The hours after arriving for which an unconfirmed worker's votes hold places."""
    network_seats: Annotated[int, whole(1, 100_000)] | None = None
    """The most seats of a network in a day; None: 10, or any number if each worker has a link."""

    @property
    def must_confirm(self) -> bool:
        """Whether the worker's id comes from the browser, and has to be confirmed by the platform's list."""
        return self.kind in ("prolific", "mturk")

    @property
    def most_of_network(self) -> int | None:
        """The most seats of a network in a day; None: any number."""
        if self.network_seats is None and self.kind != "plain":
            return NETWORK_SEATS
        return self.network_seats


class CampaignSpec(SpecPart):
    """The settings of every campaign; a task's own spec adds its items and its stop."""

    name: Name
    instructions: Annotated[str, text_rule("the text that workers read", 5000)] = (
        "Choose the better answer to each question."
    )
    seat: SeatSpec
    qualify: QualifySpec | None = None
    checks: ChecksSpec = ChecksSpec()
    platform: PlatformSpec = PlatformSpec()
    valid_days: Annotated[int, whole(1, 365)] = 30
    """The days that links are valid."""

    @property
    def sample_count(self) -> int:
        """The number of sample tasks for the qualification: none, unless a task's own spec has some."""
        return 0

    @property
    def is_read_first(self) -> bool:
        """Whether an operator reads sample tasks before a worker goes on: no, unless a task's own spec wants it."""
        return False

    def mistake(self) -> str:
        """Returns the contradiction between two settings; empty if there is none."""
        qualify_mistake = self._qualify_mistake(self.qualify) if self.qualify else ""
        if qualify_mistake:
            return qualify_mistake
        if self.platform.kind == "prolific":
            for name in ("study", "done", "failed", "full"):
                if not getattr(self.platform, name):
                    return f"platform.{name} is missing. Copy it from the study's page on Prolific."
        return ""

    def _qualify_mistake(self, qualify: QualifySpec) -> str:
        if not qualify.total:
            return "qualify has no questions. Set qualify.items to a source of check items."
        if qualify.samples > self.sample_count:
            return f"qualify.samples is {qualify.samples}, but the file has {self.sample_count} [[samples]]. Add some."
        if qualify.passed > qualify.total:
            return f"qualify.pass is {qualify.passed}, but only {qualify.total} questions are asked. Lower it."
        return ""


AnySpec = TypeVar("AnySpec", bound=CampaignSpec)


def read_spec(
    spec_type: type[AnySpec], content: bytes | Mapping[str, Any], **more_values: Any
) -> AnySpec:
    """Returns a spec from a TOML file's bytes or a form's values, and more values. Raises CampaignError."""
    if isinstance(content, bytes):
        if len(content) > MOST_BYTES:
            raise CampaignError(
                f"The file is over {MOST_BYTES:,} bytes, too large for a campaign. Choose another."
            )
        try:
            content = tomllib.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise CampaignError(
                f"The file isn't valid TOML in UTF-8: {str(error)[:200]}. Correct it."
            ) from None
    return _validated(spec_type, {**content, **more_values})


def stored_spec(spec_type: type[AnySpec], text: str) -> AnySpec:
    """Returns a stored spec. Raises CampaignError."""
    return _validated(spec_type, json.loads(text))


def spec_text(spec: CampaignSpec) -> str:
    """Returns a spec as JSON, for `stored_spec`."""
    return spec.model_dump_json(by_alias=True)


def _validated(spec_type: type[AnySpec], values: Mapping[str, Any]) -> AnySpec:
    try:
        spec = spec_type.model_validate(values)
    except ValidationError as error:
        raise CampaignError(one_line(error)) from None
    if mistake := spec.mistake():
        raise CampaignError(mistake)
    return spec
