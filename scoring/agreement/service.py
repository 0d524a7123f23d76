"""Service of the "Judges and people" page: a source's agreement, with the metrics of a visitor's own file."""

from collections.abc import Sequence
from typing import NamedTuple

from arena.io.tables import PAGE
from arena.ratings.agreement import Reproduction
from scoring.agreement.people_agreement import PeopleAgreement, PeopleAgreements
from scoring.agreement.reader import read_scores
from scoring.jobs.uploads import UploadStore


class AgreementFound(NamedTuple):
    """A source's agreement as a visitor sees it."""

    people_agreement: PeopleAgreement
    own: tuple[Reproduction, ...] = ()
    """The visitor's own metrics, which also stand among the others and are not cached."""


class AgreementService:
    """The page's operations; an owner is the hash of a voter cookie."""

    def __init__(self, people_agreements: PeopleAgreements, upload_store: UploadStore) -> None:
        self._people_agreements, self._upload_store = people_agreements, upload_store

    def sources(self) -> tuple[str, ...]:
        """Names of the sources, in the order of their first import. Raises DatabaseError."""
        return self._people_agreements.sources()

    def answers(self, source: str) -> Sequence[tuple[str, str]]:
        """(item, model) of each answer that a metric has to score. Raises DatabaseError."""
        return self._people_agreements.answers(source)

    def of(self, source: str) -> AgreementFound:
        """A source's public agreement. Raises DatabaseError."""
        return AgreementFound(self._people_agreements.of(source))

    def beside(self, source: str, owner: str, token: str) -> AgreementFound:
        """The same with the metrics of an uploaded file. Raises DatabaseError, UploadStoreError, RowsError."""
        arrived = self._upload_store.find(owner, token)
        taken = {one.measure for one in self._people_agreements.of(source).reproductions}
        scores = read_scores(arrived.path, taken, PAGE, arrived.name)
        found = self._people_agreements.of(source, scores)
        return AgreementFound(found, tuple(one for one in found.reproductions if one.measure in scores))
