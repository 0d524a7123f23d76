"""The desk of "Judges and people": what is known of a source, with the metrics of a visitor's own file beside it."""

from collections.abc import Sequence
from typing import NamedTuple

from arena.io.tables import PAGE
from arena.ratings.agreement import Reproduction
from scoring.agreement.people_agreement import Concordance, Concordances
from scoring.agreement.reader import read_scores
from scoring.jobs.uploads import Inbox


class Found(NamedTuple):
    """What a visitor is shown of a source."""

    concordance: Concordance
    own: tuple[Reproduction, ...] = ()
    """Those of the visitor's metrics, which stand among the others and are kept for nobody."""


class AgreementDesk:
    """Serve people at the page; an owner is the hash of a voter cookie."""

    def __init__(self, concordances: Concordances, inbox: Inbox) -> None:
        self._concordances, self._inbox = concordances, inbox

    def sources(self) -> tuple[str, ...]:
        """Return the names of the sources, in the order of their first import. Raises DatabaseError."""
        return self._concordances.sources()

    def answers(self, source: str) -> Sequence[tuple[str, str]]:
        """Return the answers that a metric is to score: by item and model. Raises DatabaseError."""
        return self._concordances.answers(source)

    def of(self, source: str) -> Found:
        """Return what everybody may see of a source. Raises DatabaseError."""
        return Found(self._concordances.of(source))

    def beside(self, source: str, owner: str, token: str) -> Found:
        """Return the same with the metrics of an uploaded file. Raises DatabaseError, InboxError and RowsError."""
        arrived = self._inbox.find(owner, token)
        taken = {one.measure for one in self._concordances.of(source).reproductions}
        scores = read_scores(arrived.path, taken, PAGE, arrived.name)
        found = self._concordances.of(source, scores)
        return Found(found, tuple(one for one in found.reproductions if one.measure in scores))
