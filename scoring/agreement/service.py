"""The desk of "Judges and people": what is known of a source, with the metrics of a visitor's own file beside it."""

from collections.abc import Sequence
from typing import NamedTuple

from arena.io.tables import PAGE
from arena.ratings.agreement import Reproduction
from scoring.agreement.people_agreement import PeopleAgreement, PeopleAgreements
from scoring.agreement.reader import read_scores
from scoring.jobs.uploads import UploadStore


class AgreementFound(NamedTuple):
    """What a visitor is shown of a source."""

    people_agreement: PeopleAgreement
    own: tuple[Reproduction, ...] = ()
    """Those of the visitor's metrics, which stand among the others and are kept for nobody."""


class AgreementService:
    """Serve people at the page; an owner is the hash of a voter cookie."""

    def __init__(self, people_agreements: PeopleAgreements, upload_store: UploadStore) -> None:
        self._people_agreements, self._upload_store = people_agreements, upload_store

    def sources(self) -> tuple[str, ...]:
        """Return the names of the sources, in the order of their first import. Raises DatabaseError."""
        return self._people_agreements.sources()

    def answers(self, source: str) -> Sequence[tuple[str, str]]:
        """Return the answers that a metric is to score: by item and model. Raises DatabaseError."""
        return self._people_agreements.answers(source)

    def of(self, source: str) -> AgreementFound:
        """Return what everybody may see of a source. Raises DatabaseError."""
        return AgreementFound(self._people_agreements.of(source))

    def beside(self, source: str, owner: str, token: str) -> AgreementFound:
        """Return the same with the metrics of an uploaded file. Raises DatabaseError, UploadStoreError, RowsError."""
        arrived = self._upload_store.find(owner, token)
        taken = {one.measure for one in self._people_agreements.of(source).reproductions}
        scores = read_scores(arrived.path, taken, PAGE, arrived.name)
        found = self._people_agreements.of(source, scores)
        return AgreementFound(found, tuple(one for one in found.reproductions if one.measure in scores))
