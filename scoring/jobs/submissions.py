"""Submissions: join answers to the item bank and draw the matches; only this reads the arena's bank and boards."""

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from sqlalchemy import select

from arena.battles.blindness import Blindness
from arena.battles.voters import NOBODY
from arena.database import Database, now
from arena.items.store import ANSWER, FAMILY, IMAGE, ITEM, MODEL, SOURCE
from arena.leaderboard.service import Leaderboard
from arena.templates import plural
from arena.types import REFERENCE, folded, grouped
from scoring.benchmarks.predictions import UploadError
from scoring.jobs.sealed_sets import SealedSets
from scoring.jobs.store import Job
from scoring.judges.spec import ShownImage
from scoring.no_answers import BEFORE_PROTOCOL, no_answer, no_answer_sentences
from scoring.report import NO_ANSWERS, AnyReport, JudgeStamp, Protocol, repeats
from scoring.visit_bench.matches import (
    ANOTHER,
    Context,
    Instance,
    Match,
    MatchReport,
    ReferenceUse,
    Response,
    ungraded_note,
    without_texts,
)
from scoring.visit_bench.prompts import PARSERS, prompt_digest
from scoring.visit_bench.reader import (
    UNKNOWN,
    ItemIndex,
    SubmissionFile,
    count_with_names,
    title_problems,
)
from scoring.visit_bench.sealed import SealedReport
from scoring.visit_bench.store import JudgeBoardKey, SubmissionStore

Opponents = Literal["all", "reference"] | int
""""all": every model with answers; "reference": the human-verified reference only; or that many, drawn for each
item."""
_NOT_OF_CHECKS = SOURCE.c.kind != "check"
_IN_USE = ANSWER.c.withdrawn_at.is_(None) & MODEL.c.retired_at.is_(None)
_USUAL_ANSWER = "word " * 120
"""As long as answers to instructions are."""


@dataclass(frozen=True)
class SubmissionRequest:
    """Settings of a submission."""

    opponents: Opponents = "all"
    protocol: Protocol = "hardened"
    reference: ReferenceUse = "free"
    context: Context = "captions"
    title: str = ""
    """Model name; if empty, the name in the file's column."""


class StoredModel(NamedTuple):
    """Model whose answers to a source's items are in the item bank."""

    model: str
    source: str

    def __str__(self) -> str:
        return f"{self.model} · {self.source}"


class Drafted(NamedTuple):
    """Report to judge, with notes for its owner."""

    report: MatchReport
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _BankItem:
    """Item of the bank with the models' answers."""

    instance: Instance
    source: str
    names: tuple[str, ...]
    """Of its images."""
    answers: Mapping[str, str]
    """By model."""


class _Contender(NamedTuple):
    """A model's answers to judge, from a file or from the item bank."""

    title: str
    file: str
    stored: bool
    """Whether the answers are from the item bank."""
    answers: Mapping[str, str]
    """By item."""
    rivals: Mapping[str, Mapping[str, str]]
    """Other models' answers by item and model."""
    left_out: Sequence[str] = ()
    """Answers to instances that are not in the item bank."""


class Submissions:
    """Reports of submissions, in one database."""

    def __init__(self, database: Database, blindness: Blindness | None) -> None:
        """`blindness` is None for operators on their own machine, who may see every text."""
        self._database = database
        self._blindness = blindness
        self._draw_key = database.secret_key("opponents") if blindness else b""
        """The key of the draw of opponents, which is secret like the texts; empty for operators."""
        self.store = SubmissionStore(database, self._blind_keys)
        self.sealed = SealedSets(database)

    def has_any(self) -> bool:
        """Whether anything was submitted, or a model of the bank was judged, yet. Raises DatabaseError."""
        return bool(self.store.submissions() or self.store.board_keys())

    def redact(self, report: AnyReport) -> AnyReport:
        """Returns a report as anybody may read it: without the bank's answers that voters may still be shown.

        Raises DatabaseError.
        """
        if not isinstance(report, MatchReport):
            return report
        return without_texts(report, self._blind_items(report))

    def draft_to_price(self, report: AnyReport) -> AnyReport:
        """Returns a report to price, with secret texts of equal length, so that the price reveals none.

        Raises DatabaseError and JobError.
        """
        if isinstance(report, SealedReport):
            return self.sealed.open_to_price(report)
        if not isinstance(report, MatchReport):
            return report
        blind = self._blind_items(report)
        owners_model = None if report.stored else report.title
        responses = []
        for place, response in enumerate(report.responses):
            is_secret = response.item in blind and response.model != owners_model
            # of one length, but no two alike: equal calls are made once
            text = f"{_USUAL_ANSWER}{10_000 + place}"
            responses.append(replace(response, text=text) if is_secret else response)
        instances = []
        for instance in report.instances:
            is_secret = instance.item in blind and instance.reference
            instances.append(replace(instance, reference=_USUAL_ANSWER) if is_secret else instance)
        return replace(report, instances=tuple(instances), responses=tuple(responses))

    def open_draft(self, report: AnyReport) -> AnyReport:
        """Returns a draft as this site's judge reads it, with its sealed texts. Raises DatabaseError and JobError."""
        return self.sealed.open(report) if isinstance(report, SealedReport) else report

    def is_blind(self, report: AnyReport) -> bool:
        """Whether a report is judged beside texts that its owner may not read: sealed ones, or answers of the bank that
        voters may still be shown. Raises DatabaseError."""
        if isinstance(report, SealedReport):
            return True
        return isinstance(report, MatchReport) and bool(self._blind_items(report))

    def _blind_items(self, report: MatchReport) -> frozenset[str]:
        return self._blind_keys(report.by_item)

    def _blind_keys(self, keys: Container[str]) -> frozenset[str]:
        """Returns the keys of items that voters may still be shown, out of these. Raises DatabaseError."""
        if self._blindness is None:
            return frozenset()
        bank = self._blindness.items.bank()
        items = [item for item in bank.items.values() if item.key in keys]
        return frozenset(
            item.key for item in items if not self._blindness.may_show(NOBODY, item.id)
        )

    def draft(
        self, owner: str, file: SubmissionFile, request: SubmissionRequest, judge: str, address: str
    ) -> Drafted:
        """Joins a file to the item bank and draws its opponents. Raises UploadError with all problems at once."""
        bank = self._bank()
        index = ItemIndex(
            {key: (item.instance.instruction, item.names) for key, item in bank.items()}
        )
        answers: dict[str, str] = {}
        names_by_problem: dict[str, list[str]] = {}
        for entry in file.entries:
            # The template has a gap for the names. Without a problem, the answer is in `answers` now.
            problem_template = index.add_answer(entry, answers)
            if problem_template:
                names_by_problem.setdefault(problem_template, []).append(entry.name)
        left_out = names_by_problem.pop(UNKNOWN, [])
        problems = list(file.problems)
        for problem_template, names in names_by_problem.items():
            problems.append(problem_template.format(count_with_names(names)))
        sources = Counter(bank[item].source for item in answers)
        if len(sources) > 1:
            counts = ", ".join(f"{count:,} of {source!r}" for source, count in sources.items())
            problems.append(
                f"The instances are from several sources: {counts}. Submit a file for each."
            )
        title = " ".join((request.title or file.model).split())
        source = next(iter(sources), "")
        problems += self._name_problems(owner, title, source)
        if left_out and (problems or not answers):
            problems.append(UNKNOWN.format(count_with_names(left_out)))
        rivals = self._rivals(bank, answers, owner, title, source)
        contender = _Contender(
            title, file.file, stored=False, answers=answers, rivals=rivals, left_out=left_out
        )
        return self._draft_report(
            contender, source, bank, request, _stamp(request, judge, address), problems
        )

    def draft_stored(
        self, model: str, source: str, request: SubmissionRequest, judge: str, address: str
    ) -> Drafted:
        """Draws opponents of a model of the bank, among its other models and the submissions.

        On items that voters may still be shown, submissions are left out: they may be copies of the bank's answers.
        """
        bank = self._bank()
        answers = {
            key: item.answers[model]
            for key, item in bank.items()
            if item.source == source and model in item.answers
        }
        problems = []
        if not answers:
            problems.append(
                f"There are no answers of {model!r} to items of {source!r} here. Name another model."
            )
        public_items = answers.keys() - self._blind_keys(answers)
        rivals = {key: dict(bank[key].answers) for key in answers}
        rivals |= self._rivals(bank, public_items, owner="", title=model, source=source)
        for rival_answers in rivals.values():
            del rival_answers[model]
        contender = _Contender(model, "(item bank)", stored=True, answers=answers, rivals=rivals)
        return self._draft_report(
            contender, source, bank, request, _stamp(request, judge, address), problems
        )

    def stored_models(self) -> tuple[StoredModel, ...]:
        """Returns the models with answers in the item bank, newest source first, then by name."""
        query = (
            select(MODEL.c.name, SOURCE.c.name.label("source"), SOURCE.c.id)
            .distinct()
            .where(_IN_USE, _NOT_OF_CHECKS)
            .join(ANSWER, ANSWER.c.model_id == MODEL.c.id)
            .join(ITEM, ITEM.c.id == ANSWER.c.item_id)
            .join(SOURCE, SOURCE.c.id == ITEM.c.source_id)
        )
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(SOURCE.c.id.desc(), MODEL.c.name)).all()
        return tuple(StoredModel(row.name, row.source) for row in rows)

    def board_report(self, board_key: JudgeBoardKey) -> MatchReport:
        """Returns a report of all matches of a public board, as anybody may read it; withdrawn texts are empty."""
        bank = self._bank()
        submitted = self.store.answers(board_key.source)
        matches = [match for match in self.store.matches(board_key) if match.item in bank]
        judging = board_key.judging
        items = sorted({match.item for match in matches})
        played = sorted({(match.item, model) for match in matches for model in (match.a, match.b)})
        responses = []
        for item, model in played:
            text = submitted.get(model, {}).get(item) or bank[item].answers.get(model, "")
            responses.append(Response(item, model, text))
        report = MatchReport(
            benchmark="visit-bench",
            protocol=judging.protocol,
            title=board_key.title,
            file="",
            created=now().isoformat(timespec="seconds"),
            judge=JudgeStamp(
                judging.model, (), judging.address, judging.prompt, PARSERS[judging.protocol]
            ),
            reference=judging.reference,
            context=judging.context,
            source=board_key.source,
            complete=True,
            stored=True,
            instances=tuple(bank[item].instance for item in items),
            responses=tuple(responses),
            matches=tuple(matches),
        )
        return without_texts(report, self._blind_items(report))

    def publish_if_complete(self, job: Job, report: AnyReport) -> None:
        """Adds a report to the public board if it is a complete submission graded by the operator's judge."""
        if job.own_key or not isinstance(report, MatchReport):
            return
        if report.complete and not ungraded_note(report):
            self.store.enter(job.owner, report)

    def sources(self) -> tuple[str, ...]:
        """Returns the names of the item bank's sources, the oldest first."""
        with self._database.read() as connection:
            return tuple(
                connection.scalars(
                    select(SOURCE.c.name).where(_NOT_OF_CHECKS).order_by(SOURCE.c.id)
                )
            )

    def _bank(self) -> Mapping[str, _BankItem]:
        """Returns every item by its key, also those without stored images: a judge may read captions."""
        image_query = select(IMAGE).order_by(IMAGE.c.item_id, IMAGE.c.position)
        answers: dict[int, dict[str, str]] = {}
        answer_query = select(ANSWER.c.item_id, MODEL.c.name, ANSWER.c.text).join(
            MODEL, MODEL.c.id == ANSWER.c.model_id
        )
        items = select(ITEM, FAMILY.c.name.label("family"), SOURCE.c.name.label("source"))
        items = items.join(FAMILY, FAMILY.c.id == ITEM.c.family_id).join(
            SOURCE, SOURCE.c.id == ITEM.c.source_id
        )
        items = items.where(_NOT_OF_CHECKS)
        with self._database.read() as connection:
            images = grouped((row.item_id, row) for row in connection.execute(image_query))
            for row in connection.execute(answer_query.where(_IN_USE)):
                answers.setdefault(row.item_id, {})[row.name] = row.text
            rows = connection.execute(items.order_by(ITEM.c.id)).all()
        return {row.key: _bank_item(row, images[row.id], answers.get(row.id, {})) for row in rows}

    def _name_problems(self, owner: str, title: str, source: str) -> list[str]:
        """Returns what keeps a model's name from the board of a source."""
        if problems := title_problems(title):
            return problems
        with self._database.read() as connection:
            models = connection.execute(select(MODEL.c.name, MODEL.c.display)).all()
        others = [entered for entered in self.store.submissions(source) if entered.owner != owner]
        taken_names = [name for row in models for name in (row.name, row.display)]
        taken_names += [ANOTHER]
        taken_names += [name for entered in others for name in (entered.title, entered.name)]
        if folded(title).casefold() in {folded(name).casefold() for name in taken_names}:
            return [f"A model named {title!r} is on the board already. Choose another name."]
        return []

    def _rivals(
        self,
        bank: Mapping[str, _BankItem],
        items: Iterable[str],
        owner: str,
        title: str,
        source: str,
    ) -> Mapping[str, dict[str, str]]:
        """Returns others' answers by item and model, without the owner's earlier variants of the same model."""
        own_names = {
            entered.name
            for entered in self.store.submissions(source)
            if entered.owner == owner and entered.title == title
        }
        rivals = {item: dict(bank[item].answers) for item in items}
        for name, texts in self.store.answers(source).items():
            if name in own_names:
                continue
            for item in texts.keys() & rivals.keys():
                rivals[item][name] = texts[item]
        return rivals

    def _draft_report(
        self,
        contender: _Contender,
        source: str,
        bank: Mapping[str, _BankItem],
        request: SubmissionRequest,
        judge: JudgeStamp,
        problems: list[str],
    ) -> Drafted:
        """Returns the report with its matches. Raises UploadError with these and all further problems."""
        opponents_by_item = {
            item: _opponents(contender.rivals[item], self._draw_key + item.encode(), request)
            for item in sorted(contender.answers)
        }
        instances = [bank[item].instance for item in opponents_by_item]
        all_problems = [*problems, *_fit_problems(instances, request)]
        if contender.answers and not any(opponents_by_item.values()):
            all_problems.append(
                "No other model has answered these items. Choose other opponents, or import answers."
            )
        if all_problems:
            raise UploadError(contender.file, tuple(all_problems))
        matches = []
        responses = []
        for item, opponents in opponents_by_item.items():
            responses.append(Response(item, contender.title, contender.answers[item]))
            responses += [Response(item, name, text) for name, text in opponents.items()]
            matches += [
                Match(item, min(contender.title, name), max(contender.title, name))
                for name in opponents
            ]
        missing = _count_missing(contender.answers, source, bank)
        has_no_answers = any(map(no_answer, contender.answers.values()))
        has_failed = request.protocol == "hardened" and has_no_answers
        report = MatchReport(
            benchmark="visit-bench",
            protocol=request.protocol,
            title=contender.title,
            file=contender.file,
            created=now().isoformat(timespec="seconds"),
            judge=judge,
            reference=request.reference,
            context=request.context,
            source=source,
            complete=not missing and not has_failed,
            stored=contender.stored,
            instances=tuple(instances),
            responses=tuple(responses),
            matches=tuple(matches),
        )
        return Drafted(report, tuple(_draft_lines(contender, missing, report)))


class PeoplesBoards:
    """People's ratings of the same models."""

    def __init__(self, leaderboard: Leaderboard, database: Database) -> None:
        self._leaderboard = leaderboard
        self._database = database

    def ratings(self, source: str, multi: bool) -> Mapping[str, float]:
        """Returns the ratings on a source's official board by model; `multi`: for items with several images."""
        with self._database.read() as connection:
            models = {
                row.id: row.name for row in connection.execute(select(MODEL.c.id, MODEL.c.name))
            }
            code = connection.scalar(select(SOURCE.c.id).where(SOURCE.c.name == source))
        key = None if code is None else self._leaderboard.official_key(code, multi)
        standings = self._leaderboard.board(key).standings if key else ()
        return {
            models[line.code]: line.rating.value for line in standings if line.rating is not None
        }


def _bank_item(row, images: Sequence, answers: Mapping[str, str]) -> _BankItem:
    pictures = tuple(ShownImage(image.sha256, image.suffix) for image in images if image.sha256)
    instance = Instance(
        item=row.key,
        family=row.family,
        instruction=row.instruction,
        captions=tuple(image.caption for image in images),
        pictures=pictures,
        sources=tuple(image.key for image in images),
        reference=answers.get(REFERENCE),
    )
    return _BankItem(instance, row.source, tuple(image.name for image in images), answers)


def _stamp(request: SubmissionRequest, judge: str, address: str) -> JudgeStamp:
    prompt = prompt_digest(request.protocol, request.reference, request.context)
    return JudgeStamp(judge, (), address, prompt, PARSERS[request.protocol])


def _opponents(rivals: Mapping[str, str], key: bytes, request: SubmissionRequest) -> dict[str, str]:
    """Returns the opponents' answers by name; the draw depends only on the key and the names."""

    def lot(name: str) -> bytes:
        return hashlib.sha256(key + f"\0{name}".encode()).digest()

    names = sorted(rivals)
    if request.reference == "backed":  # the judge is shown it, so it is no opponent (paper, 4.3)
        names = [name for name in names if name != REFERENCE]
    if request.opponents == "reference":
        names = [name for name in names if name == REFERENCE]
    elif request.opponents != "all":
        names = sorted(names, key=lot)[: request.opponents]
    return {name: rivals[name] for name in sorted(names)}


def _fit_problems(instances: Sequence[Instance], request: SubmissionRequest) -> list[str]:
    """Returns what the items lack for the chosen prompt."""
    problems = []
    if request.reference == "backed":
        without_reference = [instance for instance in instances if instance.reference is None]
        problems += _lack_problems(
            "without a reference", without_reference, "Judge them reference-free."
        )
        if request.opponents == "reference":
            problems.append(
                "A judge that sees the reference can't judge it. Choose other opponents."
            )
    if request.context == "captions":
        without_caption = [
            instance
            for instance in instances
            if not all(caption.strip() for caption in instance.captions)
        ]
        problems += _lack_problems(
            "without a caption", without_caption, "Have a vision judge look at the images."
        )
    else:
        without_images = [
            instance for instance in instances if len(instance.pictures) != len(instance.captions)
        ]
        problems += _lack_problems(
            "whose images aren't here", without_images, "Import them again with their images."
        )
    return problems


def _lack_problems(lack: str, instances: Sequence[Instance], remedy: str) -> list[str]:
    if not instances:
        return []
    return [
        f"Instances {lack}: {count_with_names([instance.item for instance in instances])}. {remedy}"
    ]


def _count_missing(answers: Mapping[str, str], source: str, bank: Mapping[str, _BankItem]) -> int:
    """Returns the number of a source's items without an answer.

    Items with several images count only if one of them has an answer, and those with one image likewise.
    """
    kinds = {bank[item].instance.multi for item in answers}
    return sum(
        item.source == source and item.instance.multi in kinds and key not in answers
        for key, item in bank.items()
    )


def _draft_lines(contender: _Contender, missing: int, report: MatchReport) -> list[str]:
    """Returns notes for the owner; for stored answers only their counts, since voters may still be asked about them."""
    reasons = {item: no_answer(text) for item, text in contender.answers.items()}
    rivals = {response.model for response in report.responses} - {contender.title}
    lines = [
        f"{contender.title}: {plural(len(contender.answers), 'answer')} to {report.source}, "
        f"{plural(len(rivals), 'opponent')}. {plural(len(report.matches), 'pair')} × 2 orders = "
        f"{2 * len(report.matches):,} verdicts."
    ]
    if contender.stored:
        return lines
    lines += no_answer_sentences(reasons, len(contender.answers), BEFORE_PROTOCOL)
    literal = [text for text in contender.answers.values() if text.strip() in NO_ANSWERS]
    if literal:
        lines.append(
            f"Answers that are NA or None, which count as the model's words: {len(literal):,}. Where it gave no "
            "answer, empty the cell."
        )
    if contender.left_out:
        lines.append(
            f"Answers to instances that aren't here, left out: {count_with_names(contender.left_out)}"
        )
    echoes = sum(
        repeats(contender.answers[instance.item], instance.instruction)
        for instance in report.instances
    )
    if echoes:
        lines.append(
            f"{echoes:,} answers repeat their instruction. If the prompt was written into the file, cut it off."
        )
    if missing:
        lines.append(
            f"Items without an answer: {missing:,}. A partial submission gets a report, but no place on the board."
        )
    return lines
