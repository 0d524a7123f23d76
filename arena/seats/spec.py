"""Campaign spec: what an operator asks of a campaign, as a TOML file or a form says it, whatever its task is."""

import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arena.validation import must_be, number, one_line, whole

MOST_BYTES = 1_000_000
NETWORK_SEATS = 10
PlatformKind = Literal["plain", "login", "prolific", "mturk"]
"""plain: a link for each worker; login: one for all who log in here; the others are one that the platform fills in."""


class CampaignError(ValueError):
    """A campaign that cannot be made or found; the message says what to mend."""


class SpecPart(BaseModel):
    """A part of a campaign's spec: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def worded(expected: str, most: int = 200) -> Any:
    """A text that is not blank, for `Annotated`."""
    return must_be(
        f"{expected}, of 1 to {most} letters",
        lambda text: 0 < len(text.strip()) <= most and "\0" not in text,
    )


Share = Annotated[float, Field(strict=False), number(0, 1)]
Name = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"),
    must_be("1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-', and begin with a letter or digit"),
]


class SeatSpec(SpecPart):
    """What one worker does, and for how much."""

    votes: Annotated[int, whole(1, 1000)]
    """Pieces that a worker takes; checks come on top."""
    minutes: Annotated[int, whole(1, 24 * 60)] = 30
    """How long a piece waits for its answer before it is given to somebody else."""
    pay: Annotated[float, Field(strict=False), number(0, 10_000)]
    currency: Annotated[
        str, Field(pattern="^[A-Z]{3}$"), must_be("three capital letters, as in 'USD'")
    ] = "USD"


class QualifySpec(SpecPart):
    """The qualification: questions with a known answer, sample tasks, or both, before the work."""

    items: str = ""
    """Source of check items, of which `asked` are questions; empty: none is."""
    asked: Annotated[int, whole(1, 50)] = 6
    samples: Annotated[int, whole(0, 20)] = 0
    """How many of a project's sample tasks come after them."""
    passed: Annotated[int, Field(alias="pass"), whole(1, 70)] = 5
    """Of all together."""
    tries: Annotated[int, whole(1, 5)] = 2

    @property
    def choices(self) -> int:
        return self.asked if self.items else 0

    @property
    def total(self) -> int:
        return self.choices + self.samples


class ChecksSpec(SpecPart):
    """Pieces with a known answer among the work."""

    items: str = ""
    """Source of check items; empty: every one."""
    share: Annotated[float, Field(strict=False), number(0.01, 0.5)] = 0.1
    """Of a seat's pieces: at least one, outside the quota."""
    fail: Annotated[int, whole(1, 50)] = 2
    """Failed checks with which what a worker gave is asked of somebody else."""


class PlatformSpec(SpecPart):
    """Where the workers come from, and the codes with which they go back."""

    kind: PlatformKind = "plain"
    study: str = ""
    """Prolific's study, or MTurk's HIT type; others are refused."""
    done: str = ""
    failed: str = ""
    full: str = ""
    confirm_hours: Annotated[int, whole(1, 24 * 90)] = 24
    """How long a worker whom the platform's list has not confirmed holds places, from the arrival on."""
    network_seats: Annotated[int, whole(1, 100_000)] | None = None
    """Most seats that one network may take in a day; None: 10, and any number where each worker has a link."""

    @property
    def must_confirm(self) -> bool:
        """Whether a link's worker is whoever the browser says, until the platform's list tells."""
        return self.kind in ("prolific", "mturk")

    @property
    def most_of_network(self) -> int | None:
        """Most seats that one network may take in a day; None: any number."""
        if self.network_seats is None and self.kind != "plain":
            return NETWORK_SEATS
        return self.network_seats


class CampaignSpec(SpecPart):
    """What every campaign has; a task's own spec adds what it draws from, and when it stops."""

    name: Name
    instructions: Annotated[str, worded("what a worker is told", 5000)] = (
        "Choose the better answer to each question."
    )
    seat: SeatSpec
    qualify: QualifySpec | None = None
    checks: ChecksSpec = ChecksSpec()
    platform: PlatformSpec = PlatformSpec()
    valid_days: Annotated[int, whole(1, 365)] = 30
    """How long the links hold."""

    @property
    def sample_count(self) -> int:
        """How many sample tasks there are for the qualification."""
        return 0

    @property
    def is_read_first(self) -> bool:
        """Whether an operator reads sample tasks before a worker goes on."""
        return False

    def mistake(self) -> str:
        """What two settings say against each other; empty if nothing."""
        if self.qualify and (told := self._mistake_of(self.qualify)):
            return told
        if self.platform.kind == "prolific":
            for name in ("study", "done", "failed", "full"):
                if not getattr(self.platform, name):
                    return f"platform.{name} is missing: Prolific shows it on the study's page"
        return ""

    def _mistake_of(self, qualify: QualifySpec) -> str:
        if not qualify.total:
            return "qualify asks nothing: name a source of check items, qualify.items"
        if qualify.samples > self.sample_count:
            return f"qualify.samples is {qualify.samples}, and the file has {self.sample_count} [[samples]]"
        if qualify.passed > qualify.total:
            return (
                f"qualify.pass is {qualify.passed}, more than the {qualify.total} questions asked"
            )
        return ""


AnySpec = TypeVar("AnySpec", bound=CampaignSpec)


def read_spec(kind: type[AnySpec], content: bytes | Mapping[str, Any], **more: Any) -> AnySpec:
    """A spec out of a TOML file's bytes or a form's values; `more` are others beside them. Raises CampaignError."""
    if isinstance(content, bytes):
        if len(content) > MOST_BYTES:
            raise CampaignError(
                f"The file has over {MOST_BYTES:,} bytes; a campaign's has a few lines"
            )
        try:
            content = tomllib.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise CampaignError(f"The file isn't TOML in UTF-8: {str(error)[:200]}") from None
    return _checked(lambda: kind.model_validate({**content, **more}))


def stored_spec(kind: type[AnySpec], text: str) -> AnySpec:
    """A spec as the database keeps it. Raises CampaignError."""
    return _checked(lambda: kind.model_validate(json.loads(text)))


def spec_text(spec: CampaignSpec) -> str:
    return spec.model_dump_json(by_alias=True)


def _checked(read: Callable[[], AnySpec]) -> AnySpec:
    try:
        spec = read()
    except ValidationError as error:
        raise CampaignError(one_line(error)) from None
    if mistake := spec.mistake():
        raise CampaignError(mistake)
    return spec
