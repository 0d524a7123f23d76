"""VisIT-Bench benchmark: judge tasks for a report's matches, the report with their verdicts, and its downloads."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from scoring.benchmarks.base import Benchmark
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.serialize import record_json
from scoring.visit_bench.leaderboard import AutomaticBoard, PlayedMatch, automatic_board
from scoring.visit_bench.matches import MatchReport, Verdict, steadiness, ungraded
from scoring.visit_bench.prompts import ORDERS, Contest, judging

_LETTERS = {"a": "A", "b": "B", "tie": "Tie", None: None}


class VisitBench(Benchmark[MatchReport]):
    """The benchmark, with one task for each order of each match."""

    def tasks(self, report: MatchReport, spec: JudgeSpec) -> Sequence[Task[Verdict]]:
        """Both orders of every match: a match with its sides swapped asks for, and caches, the same two calls."""
        refused = partial(Verdict, None)
        return [Task(0, partial(judging, one, order), refused) for one in _contests(report) for order in ORDERS]

    def graded(self, report: MatchReport, outcomes: Sequence[Verdict]) -> MatchReport:
        pairs = zip(outcomes[::2], outcomes[1::2], strict=True)
        matches = tuple(replace(match, verdicts=pair) for match, pair in zip(report.matches, pairs, strict=True))
        return replace(report, judge=report.judge.answered(verdict.model for verdict in outcomes), matches=matches)

    def ungraded(self, report: MatchReport) -> str:
        return ungraded(report)

    def files(self, report: MatchReport) -> Mapping[str, bytes]:
        steady = steadiness(match.winners for match in report.matches)
        shares = "".join(f"{name},{part.part},{part.of}\n" for name, part in steady.items())
        battles = "".join(json.dumps(battle) + "\n" for battle in battle_rows(report))
        return {
            "battles.jsonl": battles.encode("ascii"),
            "steadiness.csv": f"share,part,of\n{shares}".encode("ascii"),
            "report.json": record_json(report).encode("ascii"),
        }


VISIT_BENCH = VisitBench(
    key="visit-bench",
    cited="bitton2023visitbench",
    name="VisIT-Bench",
    report=MatchReport,
    way="compare",
    protocols={"Hardened": "hardened", "As in the paper": "paper"},
    check="Check the file and show the cost",
    unit="verdict",
    parts=frozenset({"stored", "opponents", "reference", "context"}),
)


def battle_rows(report: MatchReport) -> Iterator[dict[str, Any]]:
    """The matches in the layout of the authors' battle file, by order; `item` to `reasons` are our fields."""
    instances = {instance.item: instance for instance in report.instances}
    texts = {(response.item, response.model): response.text for response in report.responses}
    for match in report.matches:
        instance = instances[match.item]
        addresses = list(instance.sources)
        yield {
            "A_model": match.a,
            "B_model": match.b,
            "A": texts[match.item, match.a],
            "B": texts[match.item, match.b],
            "image_url": addresses if instance.multi else addresses[0],
            "instruction": instance.instruction,
            "instruction_category": instance.family,
            "engine": report.judge.model,
            "evaluated_with_reference": report.reference == "backed",
            "auto_evaluation_result": [_LETTERS[verdict.winner] for verdict in match.verdicts],
            "auto_evaluation_cot": [verdict.replies[0] if verdict.replies else "" for verdict in match.verdicts],
            "A_model_in_cot": [match.a, match.b],
            "B_model_in_cot": [match.b, match.a],
            "item": match.item,
            "protocol": report.protocol,
            "context": report.context,
            "reasons": [verdict.reason for verdict in match.verdicts],
        }


def boards(report: MatchReport) -> list[AutomaticBoard]:
    instances = {instance.item: instance for instance in report.instances}
    played = []
    for match in report.matches:
        instance = instances[match.item]
        played.append(PlayedMatch(match.item, instance.family, instance.multi, match.a, match.b, match.winner))
    return [automatic_board(played, multi) for multi in sorted({match.multi for match in played if match.winner})]


def _contests(report: MatchReport) -> Iterator[Contest]:
    instances = {instance.item: instance for instance in report.instances}
    texts = {(response.item, response.model): response.text for response in report.responses}
    for match in report.matches:
        sides = (texts[match.item, match.a], texts[match.item, match.b])
        yield Contest(instances[match.item], *sides, report.protocol, report.reference, report.context)
