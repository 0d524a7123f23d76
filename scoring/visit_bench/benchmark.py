"""VisIT-Bench: the judge's tasks for a report's matches, the report with their verdicts, and its downloads."""

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import mean
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from arena.ratings.shares import clustered_shares
from arena.ratings.votes import encode_columns
from arena.sheets import Sheet
from arena.types import grouped
from scoring.benchmarks.article import (
    Caveat,
    PublishedBoard,
    PublishedRow,
    ScoredAnswer,
    models_sheet,
)
from scoring.benchmarks.base import Benchmark, BenchmarkOptions, LazyFiles, read_table
from scoring.judges.run import Task
from scoring.judges.spec import Ask, JudgeSpec, Reply
from scoring.no_answers import AS_THEY_ARE, no_answer, no_answer_sentences, unscored_because
from scoring.report import ScoreLine
from scoring.score_sheets import sheet_files
from scoring.serialize import record_json
from scoring.specs.figure_values import share_line
from scoring.specs.file_columns import FileColumn
from scoring.visit_bench.leaderboard import AutomaticBoard, PlayedMatch, automatic_board
from scoring.visit_bench.matches import (
    REFERENCES,
    SAME_WINNER,
    Context,
    Match,
    MatchReport,
    Outcome,
    ReferenceUse,
    Verdict,
    steadiness,
    ungraded_note,
    with_listable_matches,
)
from scoring.visit_bench.prompts import ORDERS, Contest, judging
from scoring.visit_bench.sheets import board_sheet

_COLUMNS: tuple[str, ...] = ("Win rate", "Elo")
_LETTERS = {"a": "A", "b": "B", "tie": "Tie", None: None}
"""Winners as the authors' files write them."""
_SCORES: Mapping[Outcome, float | None] = {"won": 1.0, "tied": 0.5, "lost": 0.0, None: None}
NO_VERDICT = "Matches of such answers have no result and weren't sent to the judge."
_DATA_SETS = {
    "imagecode": "ImageCoDe",
    "irfl": "IRFL",
    "nlvr2": "NLVR2",
    "rcc": "RCC",
    "vasr": "VASR",
    "winogavil": "WinoGAViL",
}
"""Names of data sets that families come from, as their authors write them."""


@dataclass(frozen=True)
class PublishedRating:
    """A row of the paper's Table 4, by single or multiple images."""

    category: str
    model: str
    scores: Mapping[str, float | None]


@cache
def published_ratings() -> tuple[PublishedRating, ...]:
    """Table 4 without the reference's own row: win rates are against the reference."""
    return read_table(PublishedRating, "visit_bench_published.csv", _COLUMNS)


class VisitOptions(BenchmarkOptions):
    """Options of `score` for the owner of a submission."""

    stored: str | None = Field(
        None, description="a model whose answers the item bank has, instead of a file"
    )
    source: str | None = Field(
        None, description="the source of the stored answers' items; by default the newest"
    )
    opponents: Literal["all", "reference"] | Annotated[int, Field(ge=1)] = Field(
        "all", description="which models it meets; a number: that many, drawn for each item"
    )
    reference: ReferenceUse = Field("free", description="what the judge is shown")
    context: Context = Field("captions", description="what the judge reads; images: a vision judge")


class VisitBench(Benchmark[MatchReport]):
    """The benchmark, with one task for each order of each match."""

    @property
    def kinds(self) -> Sequence[str]:
        return ("pairwise",)

    @property
    def measure(self) -> str:
        return "win rate and Elo"

    @property
    def licence(self) -> str:
        return "CC BY 4.0"

    def columns(self) -> Sequence[FileColumn]:
        return (
            FileColumn("instruction", "The item's instruction", "Describe the animal."),
            FileColumn("image", "The name or address of its picture", "cat.jpg"),
            FileColumn("vlm-7b prediction", "The answer of the model vlm-7b", "A cat on a sofa."),
        )

    def tasks(self, report: MatchReport, spec: JudgeSpec) -> Sequence[Task[Verdict]]:
        """Both orders of every match. A match with its sides swapped has the same two calls, which are then cached."""
        refused = partial(Verdict, None)
        tasks = []
        for match, contest in zip(report.matches, _contests(report), strict=True):
            begin_without_call = _begin_without_call(contest)
            for order in ORDERS:
                task = Task(
                    run=0,
                    begin=begin_without_call or partial(judging, contest, order),
                    refused=refused,
                    name=f"{match.a} (A) or {match.b} (B)",
                    is_read=lambda verdict: not verdict.reason,
                )
                tasks.append(task)
        return tasks

    def with_outcomes(self, report: MatchReport, outcomes: Sequence[Verdict]) -> MatchReport:
        with_a_first = outcomes[::2]  # tasks take a match's two orders in turn
        with_b_first = outcomes[1::2]
        pairs = zip(with_a_first, with_b_first, strict=True)
        matches = tuple(
            replace(match, verdicts=pair) for match, pair in zip(report.matches, pairs, strict=True)
        )
        return replace(
            report,
            judge=report.judge.with_versions(verdict.model for verdict in outcomes),
            matches=matches,
        )

    def outcome_text(self, outcome: Verdict) -> str:
        return _LETTERS[outcome.winner] or "no verdict"

    def ungraded_note(self, report: MatchReport) -> str:
        return ungraded_note(report)

    def edition(self, report: MatchReport) -> str:
        name = self.name
        return f"{name}, multiple images" if _is_multi(report) else f"{name}, single images"

    def headline(self, report: MatchReport) -> ScoreLine:
        """The share of decided matches won, ties left out (Table 4): against the reference if it met the reference."""
        against = "the human-verified reference" if _meets_reference(report) else "other models"
        name = f"% of decided matches won against {against}"
        [line] = _win_lines(report, {name: _headline_matches(report)})
        if ungraded_note(report):
            return replace(line, mean=None, low=None, high=None)
        return line

    def groups(self, report: MatchReport) -> Sequence[ScoreLine]:
        families = grouped(
            (family_words(report.by_item[match.item].family), match)
            for match in _headline_matches(report)
        )
        return _win_lines(report, families)

    def sheets(self, report: MatchReport) -> Sequence[Sheet]:
        """The report's own boards, of single and of multiple images."""
        sheets = []
        for board in boards(report):
            images = "Multiple images" if board.multi else "Single image"
            sheets.append(
                board_sheet(
                    name=images.lower().replace(" ", "-"),
                    title=f"{images}, this report's matches",
                    board=board,
                )
            )
        return sheets

    def caveats(self, report: MatchReport) -> Sequence[Caveat]:
        caveats = [*super().caveats(report)]
        if not report.complete:
            caveats.append(
                Caveat(
                    "Partial",
                    "partial: not every item has an answer from the model, so it's on no public board",
                )
            )
        answers = {
            response.item: response.text
            for response in report.responses
            if response.model == report.title
        }
        reasons = {item: no_answer(text) for item, text in answers.items()}
        effect = NO_VERDICT if report.protocol == "hardened" else AS_THEY_ARE
        sentences = no_answer_sentences(reasons, len(answers), effect)
        return [*caveats, *(Caveat("", sentence) for sentence in sentences)]

    def published_sheets(self) -> Sequence[Sheet]:
        categories = grouped((row.category, row) for row in published_ratings())
        return [
            models_sheet(
                f"published-{category}",
                f"The paper's Table 4, {category} images",
                _COLUMNS,
                [PublishedRow(row.model, row.scores) for row in rows],
            )
            for category, rows in categories.items()
        ]

    def published(self, report: MatchReport) -> PublishedBoard | None:
        """Table 4, of the automatic ratings on 25 September 2023."""
        if not _meets_reference(report):
            return None
        multi = _is_multi(report)
        category = "multiple" if multi else "single"
        rows = tuple(
            PublishedRow(row.model, row.scores)
            for row in published_ratings()
            if row.category == category
        )
        reasons = [f"GPT-4 judged the table in 2023, {report.judge.model} this report"]
        if report.reference != "free" or report.context != "captions" or report.protocol != "paper":
            reasons.append(
                "the table's judge read captions, saw no reference and had the paper's prompt"
            )
        own = {"Win rate": self.headline(report).mean, "Elo": _own_elo(report, multi)}
        return PublishedBoard("the paper's Table 4", _COLUMNS, rows, own, tuple(reasons))

    def scored_answers(self, report: MatchReport) -> Sequence[ScoredAnswer]:
        """Every public match as an answer, with the reference as the truth."""
        public = with_listable_matches(report)
        answers = []
        for match in public.matches:
            instance = public.by_item[match.item]
            opponent = match.b if match.a == public.title else match.a
            outcome = match.outcome(public.title)
            answers.append(
                ScoredAnswer(
                    id=f"{match.item}, {opponent}",
                    question=instance.instruction,
                    truth=instance.reference or "",
                    answer=public.texts[match.item, public.title],
                    grade=_outcome_words(outcome, opponent),
                    score=_SCORES[outcome],
                    groups=(family_words(instance.family),),
                    pictures=tuple(picture.name for picture in instance.pictures),
                )
            )
        return answers

    def answers_by_item(self, report: MatchReport) -> Sequence[ScoredAnswer]:
        """Every public answer once, with the mean score of its matches.

        Its id leaves out the opponent: that name depends on what voters may still see.
        """
        matches = with_listable_matches(report).matches
        answers = zip(matches, self.scored_answers(report), strict=True)
        by_item = grouped((match.item, answer) for match, answer in answers)
        merged = []
        for item, answers_of_item in by_item.items():
            scores = [answer.score for answer in answers_of_item if answer.score is not None]
            score = mean(scores) if scores else None
            merged.append(answers_of_item[0]._replace(id=item, grade="", score=score))
        return merged

    def checks(self, report: MatchReport) -> Sequence[str]:
        shares = steadiness(match.winners for match in report.matches if match.verdicts)
        same = shares[SAME_WINNER]
        return [f"The same winner in both orders: {same.part:,} of {same.total:,} matches."]

    def methods(self, report: MatchReport) -> Mapping[str, str]:
        has_captions = report.context == "captions"
        methods = {
            "Items": report.source,
            "The judge read": "captions of the pictures" if has_captions else "the pictures",
            "Reference": "shown" if report.reference == "backed" else "not shown",
        }
        if report.protocol == "paper" and report.context == "images":
            methods["Protocol"] = "As in the paper, but for pictures in place of their captions"
        return methods

    def files(self, report: MatchReport) -> Mapping[str, bytes]:
        steadiness_shares = steadiness(match.winners for match in report.matches)
        shares = "".join(
            f"{name},{part.part},{part.total}\n" for name, part in steadiness_shares.items()
        )
        public = with_listable_matches(report)
        battles = "".join(json.dumps(battle) + "\n" for battle in battle_rows(public))
        return {
            **LazyFiles(sheet_files("visit-bench", self.sheets(report))),
            "battles.jsonl": battles.encode("ascii"),
            "steadiness.csv": f"share,part,of\n{shares}".encode("ascii"),
            "report.json": record_json(replace(public, judge=public.judge.public)).encode("ascii"),
        }


VISIT_BENCH = VisitBench(
    key="visit-bench",
    cited="bitton2023visitbench",
    name="VisIT-Bench",
    about="Instructions about pictures. A judge says which of two models' answers is better.",
    holds="a table or JSONL with item, or instruction and image, and the answers in prediction or "
    "“<model name> prediction”",
    report=MatchReport,
    way="compare",
    protocols={"Hardened": "hardened", "As in the paper": "paper"},
    start="Start",
    unit="verdict",
    parts=frozenset({"stored", "opponents", "reference", "context"}),
    options=VisitOptions,
    why_unpictured="this server doesn't have these items",
    notes={
        "paper": "Paper protocol: the authors' prompt, with verdicts read as they do",
        "hardened": "Hardened protocol: answers are fenced off from the judge's instructions, and an unreadable "
        "verdict gives no result",
    },
)


def _begin_without_call(contest: Contest) -> Callable[[], Generator[Ask, Reply, Verdict]] | None:
    """The beginning of a task that asks no judge, if a response is no answer of a model; None if both are answers.

    The paper's protocol sends every response.
    """
    if contest.protocol == "paper":
        return None
    reason = no_answer(contest.a) or no_answer(contest.b)
    if not reason:
        return None
    return partial(_no_verdict, unscored_because(reason))


def _no_verdict(reason: str) -> Generator[Ask, Reply, Verdict]:
    yield from ()
    return Verdict(None, reason)


def _is_multi(report: MatchReport) -> bool:
    """Whether most of the matches are on several images, which have their own board."""
    multi_count = sum(report.by_item[match.item].multi for match in report.matches)
    return multi_count > len(report.matches) / 2


def _own_elo(report: MatchReport, multi: bool) -> float | None:
    """The Elo of the report's model on its board of single or multiple images."""
    for board in boards(report):
        for line in board.lines:
            if board.multi == multi and line.row.model == report.title:
                return line.row.elo_median
    return None


def family_words(family: str) -> str:
    """A family's name for readers, from its key in the authors' files, such as `spot_the_diff`."""
    first, *others = family.split("_")
    return " ".join([_DATA_SETS.get(first, first.capitalize()), *others])


def _outcome_words(outcome: Outcome, opponent: str) -> str:
    grades: Mapping[Outcome, str] = {
        "won": f"won against {opponent}",
        "lost": f"lost to {opponent}",
        "tied": f"tied with {opponent}",
        None: f"no verdict against {opponent}",
    }
    return grades[outcome]


def _meets_reference(report: MatchReport) -> bool:
    return any(REFERENCES & {match.a, match.b} for match in report.matches)


def _headline_matches(report: MatchReport) -> list[Match]:
    """The matches that the headline counts: on the report's own board, and against the reference if it met it."""
    multi = _is_multi(report)
    matches = [match for match in report.matches if report.by_item[match.item].multi == multi]
    if not _meets_reference(report):
        return matches
    return [match for match in matches if REFERENCES & {match.a, match.b}]


def _win_lines(report: MatchReport, groups: Mapping[str, Sequence[Match]]) -> list[ScoreLine]:
    """The share of decided matches won in each group; intervals count an item's matches as a cluster."""
    lines: dict[str, ScoreLine] = {}
    decided: list[_DecidedMatch] = []
    for name, matches in groups.items():
        results: list[bool | None] = []
        for match in matches:
            outcome = match.outcome(report.title)
            if outcome == "tied":
                continue
            is_won = None if outcome is None else outcome == "won"
            results.append(is_won)
            if is_won is not None:
                decided.append(_DecidedMatch(name, match.item, is_won))
        lines[name] = share_line(name, results)
    group_names, [group_codes] = encode_columns([match.group for match in decided])
    _, [item_codes] = encode_columns([match.item for match in decided])
    hits = np.array([match.is_won for match in decided], bool)
    rates = clustered_shares(hits, group_codes, len(group_names), [item_codes])
    for name, rate in zip(group_names, rates, strict=True):
        lines[name] = replace(lines[name], low=100 * rate.low, high=100 * rate.high)
    return list(lines.values())


class _DecidedMatch(NamedTuple):
    """A match that the report's model won or lost."""

    group: str
    item: str
    is_won: bool


def battle_rows(report: MatchReport) -> Iterator[dict[str, Any]]:
    """Yields the matches in the layout of the authors' battle file; the fields from `item` to `reasons` are ours."""
    for match in report.matches:
        instance = report.by_item[match.item]
        addresses = list(instance.sources)
        yield {
            "A_model": match.a,
            "B_model": match.b,
            "A": report.texts[match.item, match.a],
            "B": report.texts[match.item, match.b],
            "image_url": addresses if instance.multi else addresses[0],
            "instruction": instance.instruction,
            "instruction_category": instance.family,
            "engine": report.judge.model,
            "evaluated_with_reference": report.reference == "backed",
            "auto_evaluation_result": [_LETTERS[verdict.winner] for verdict in match.verdicts],
            "auto_evaluation_cot": [
                verdict.replies[0] if verdict.replies else "" for verdict in match.verdicts
            ],
            "A_model_in_cot": [match.a, match.b],
            "B_model_in_cot": [match.b, match.a],
            "item": match.item,
            "protocol": report.protocol,
            "context": report.context,
            "reasons": [verdict.reason for verdict in match.verdicts],
        }


def boards(report: MatchReport) -> list[AutomaticBoard]:
    """The boards of the report's matches: single images, then multiple images, where there are results."""
    played = []
    for match in report.matches:
        instance = report.by_item[match.item]
        played.append(
            PlayedMatch(match.item, instance.family, instance.multi, match.a, match.b, match.winner)
        )
    return [
        automatic_board(played, multi)
        for multi in sorted({match.multi for match in played if match.winner})
    ]


def _contests(report: MatchReport) -> Iterator[Contest]:
    for match in report.matches:
        yield Contest(
            instance=report.by_item[match.item],
            a=report.texts[match.item, match.a],
            b=report.texts[match.item, match.b],
            protocol=report.protocol,
            reference=report.reference,
            context=report.context,
        )
