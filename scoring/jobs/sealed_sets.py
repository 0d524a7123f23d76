"""Sealed sets: the items of projects that have ended and are sealed, and files of answers to them.

Only this module reads what people wrote for them. A set is answered whole, so that nobody can ask about single items.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from arena.authoring.events import ItemPicture
from arena.authoring.spec import KINDS, project_of
from arena.authoring.store import Draft, DraftStore
from arena.database import Database, now
from arena.items.importers import last_part
from arena.seats.campaigns import Campaign, CampaignStore
from arena.types import Secret, folded, item_key
from scoring.benchmarks.predictions import UploadError
from scoring.jobs.secret_days import SecretDays
from scoring.jobs.store import JobError
from scoring.no_answers import BEFORE_PROTOCOL, no_answer, no_answer_sentences
from scoring.report import JudgeStamp, Protocol
from scoring.small_groups import LEAST
from scoring.visit_bench.matches import REFERENCES
from scoring.visit_bench.prompts import PARSERS, prompt_digest
from scoring.visit_bench.reader import (
    UNKNOWN,
    ItemIndex,
    SubmissionFile,
    count_with_names,
    title_problems,
)
from scoring.visit_bench.sealed import (
    OpenedReport,
    SealedAnswer,
    SealedCount,
    SealedItem,
    SealedReport,
)

NO_SET = (
    "None of its items is in a sealed set of this site. Give their keys in a column item, or their instructions and "
    "images."
)


@dataclass(frozen=True)
class SealedSet:
    """The items of a sealed project, by their keys."""

    name: str
    items: Mapping[str, SealedItem]


@dataclass(frozen=True)
class _Joined:
    """A file's answers to a sealed set by item, and its problems."""

    sealed_set: SealedSet
    answers: Mapping[str, str]
    problems: tuple[str, ...]
    left_out: int
    """Answers to other items."""

    @property
    def missing(self) -> list[str]:
        """The set's items without an answer."""
        return [key for key in self.sealed_set.items if key not in self.answers]


class SealedSets:
    """The sealed sets of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._projects = CampaignStore(database, KINDS)
        self._drafts = DraftStore(database)
        self._days = SecretDays(database, "sealed")

    def __reduce__(self) -> tuple[object, ...]:
        """Opens the same sets in a child process, which reads large files."""
        return SealedSets, (self._database,)

    def all(self) -> list[SealedSet]:
        """Every set with `LEAST` items or more, the newest first: smaller ones never get a score."""
        sets = [
            self._sealed_set(project)
            for project in self._projects.all()
            if project.ended_at and project_of(project.spec).is_held_out
        ]
        return [sealed for sealed in sets if len(sealed.items) >= LEAST]

    def describe(self, owner: str, file: SubmissionFile) -> tuple[str, ...]:
        """Describes a file in lines of text; empty if it answers no sealed item."""
        joined = self._best_join(file)
        if joined is None:
            return ()
        name = joined.sealed_set.name
        items = len(joined.sealed_set.items)
        lines = [
            f"{name}: answers to {len(joined.answers):,} of {items:,} sealed items",
            "Only the judge sees the sealed reference that each answer is compared with. The report shows scores of "
            f"{LEAST} items or more.",
            self._days.allowance(owner),
            *no_answer_sentences(_no_answer_reasons(joined), len(joined.answers), BEFORE_PROTOCOL),
        ]
        if joined.left_out:
            lines.append(f"Answers to other items, left out: {joined.left_out:,}")
        return tuple(lines)

    def draft(
        self, file: SubmissionFile, protocol: Protocol, title: str, judge: str, address: str
    ) -> SealedReport:
        """Drafts the report of a file's answers to a sealed set. Raises UploadError with all problems at once."""
        joined = self._best_join(file)
        if joined is None:
            raise UploadError(file.file, (NO_SET,))
        model_title = " ".join((title or file.model).split())
        problems = [*file.problems, *joined.problems, *title_problems(model_title)]
        if folded(model_title).casefold() in {name.casefold() for name in REFERENCES}:
            problems.append(f"{model_title!r} is the name of the other side. Choose another name.")
        if joined.missing:
            problems.append(
                f"{joined.sealed_set.name} is scored whole, and these items have no row: "
                f"{count_with_names(joined.missing)}. Give each item a row, empty where the model gave no answer."
            )
        if problems:
            raise UploadError(file.file, tuple(problems))
        answers = tuple(
            SealedAnswer(key, item.family, joined.answers[key])
            for key, item in joined.sealed_set.items.items()
        )
        answer_texts = json.dumps([(answer.item, answer.text) for answer in answers])
        prompt = prompt_digest(protocol, "free", "captions")
        return SealedReport(
            benchmark="sealed-items",
            protocol=protocol,
            title=model_title,
            file=file.file,
            created=now().isoformat(timespec="seconds"),
            judge=JudgeStamp(
                model=judge,
                versions=(),
                address=address,
                prompt=prompt,
                parser=PARSERS[protocol],
            ),
            project=joined.sealed_set.name,
            digest=hashlib.sha256(answer_texts.encode()).hexdigest(),
            answers=answers,
            total=SealedCount("", won=0, lost=0, tied=0, unscored=0),
            groups=(),
            unread=0,
            replies=0,
            steady=0,
            both=0,
        )

    def open(self, report: SealedReport) -> OpenedReport:
        """Returns a draft with the sealed texts that its judge reads. Raises JobError if the set has changed since."""
        project = self._projects.find(report.project)
        items = self._sealed_set(project).items if project else {}
        if items.keys() != {answer.item for answer in report.answers}:
            raise JobError(
                f"The sealed items of {report.project} have changed since you uploaded your file. Upload it again."
            )
        return _opened_report(report, items)

    def open_to_price(self, report: SealedReport) -> OpenedReport:
        """Returns a draft to price: every sealed text has the average length, so no price reveals the length of one."""
        items = self.open(report).items
        captions = [caption for item in items.values() for caption in item.captions]
        caption = _average(captions)
        reference = _average([item.reference for item in items.values()])
        average_items = {}
        for place, (key, item) in enumerate(items.items()):
            # no two alike, as equal calls are made once; five digits each, so that all are equally long
            item_reference = Secret(f"{reference.reveal()} {10_000 + place}")
            average_items[key] = replace(
                item, captions=(caption,) * len(item.captions), reference=item_reference
            )
        return _opened_report(report, average_items)

    def _sealed_set(self, project: Campaign) -> SealedSet:
        items: dict[str, SealedItem] = {}
        for draft in self._drafts.drafts(project):
            if draft.state.step == "accepted":
                item = _item(draft)
                items.setdefault(item.key, item)
        return SealedSet(project.name, items)

    def _best_join(self, file: SubmissionFile) -> _Joined | None:
        """Returns a file joined to the set of which it answers most items; None if it answers no set."""
        joins = [_join(file, sealed_set) for sealed_set in self.all()]
        with_answers = [joined for joined in joins if joined.answers]
        return max(with_answers, key=lambda joined: len(joined.answers), default=None)


def _join(file: SubmissionFile, sealed_set: SealedSet) -> _Joined:
    index = ItemIndex(
        {key: (item.instruction, item.names) for key, item in sealed_set.items.items()}
    )
    answers: dict[str, str] = {}
    names_by_problem: dict[str, list[str]] = {}
    for entry in file.entries:
        # The template has a gap for the names. Without a problem, the answer is in `answers` now.
        problem_template = index.add_answer(entry, answers)
        if problem_template:
            names_by_problem.setdefault(problem_template, []).append(entry.name)
    left_out = len(names_by_problem.pop(UNKNOWN, []))
    problems = tuple(
        problem_template.format(count_with_names(names))
        for problem_template, names in names_by_problem.items()
    )
    return _Joined(sealed_set, answers, problems, left_out)


def _item(draft: Draft) -> SealedItem:
    state = draft.state
    assert state.instruction and state.answer
    text = state.instruction.text
    pictures = state.instruction.pictures
    return SealedItem(
        key=draft.origin or item_key(text, [picture.sha256 or picture.url for picture in pictures]),
        family=draft.family,
        instruction=text,
        names=tuple(map(_picture_name, pictures)),
        captions=tuple(map(Secret, state.captions)),
        reference=Secret(state.answer.text),
    )


def _picture_name(picture: ItemPicture) -> str:
    return picture.name or last_part(picture.url)


def _opened_report(report: SealedReport, items: Mapping[str, SealedItem]) -> OpenedReport:
    values = {field.name: getattr(report, field.name) for field in fields(SealedReport)}
    return OpenedReport(**values, items=items)


def _average(texts: list[Secret]) -> Secret:
    """Words as long as these texts are on average."""
    letters = sum(len(text.reveal()) for text in texts) // len(texts)
    return Secret(("word " * (letters // 5 + 1))[:letters])


def _no_answer_reasons(joined: _Joined) -> Mapping[str, str]:
    return {item: no_answer(text) for item, text in joined.answers.items()}
