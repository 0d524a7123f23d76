"""Every Eval Ever: a report as a record of that shared format (schema 0.3.0), with a row for each scored answer.

Its own package needs another Python and another client of the Hub than this app, so the files are written by hand.
Nothing in them depends on the time of the download: a second download is the same to the byte.
"""

import hashlib
import io
import json
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from arena.model_facts import ModelFacts
from scoring.benchmarks.article import ScoredAnswer
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.benchmarks.mm_vet import MMVet, prompt_digest
from scoring.multiple_choice.extract import PROMPTS, language
from scoring.multiple_choice.types import PASS
from scoring.publish.editions import HubBenchmark, edition_of
from scoring.publish.hub_files import NOBODY_ELSE, PublishError, is_open, judge_name, scored_at
from scoring.publish.refusals import refusals, stopping_refusals
from scoring.registry import benchmark_of
from scoring.report import AnyReport, JudgeStamp, Report, ScoreLine
from scoring.specs.report import SpecReport, ruled_rows

Relationship = Literal["first_party", "third_party"]
"""Whether the model's makers scored it themselves."""
RELATIONSHIPS: tuple[Relationship, ...] = get_args(Relationship)

_VERSION = "0.3.0"
_LIBRARY = "Stereoscope"
_ALL = "all"
_UNKNOWN_PROMPT = "Not known: the grades were read from a file that does not hold the prompt."
_DIGITS = 6


@dataclass(frozen=True)
class Evaluation:
    """The parts of a record that the report doesn't have."""

    model: str
    """The model's repository on the Hub."""
    slug: str
    url: str
    """Address of the report."""
    relationship: Relationship = "third_party"
    with_texts: bool = False
    """Whether rows hold questions, answers and right answers; else only hashes of questions and answers."""
    facts: ModelFacts = ModelFacts({})

    @property
    def id(self) -> str:
        """A UUID of version 4, made from the slug."""
        digest = hashlib.sha256(self.slug.encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))


def every_eval_zip(report: AnyReport, about: Evaluation) -> bytes:
    """Returns a report's record and rows in folders as the shared store has them. Raises PublishError."""
    stopping = stopping_refusals(refusals(report), "hub")
    edition = edition_of(report)
    # There is a refusal for every report without an edition: the second half is for the type checker.
    if stopping or edition is None:
        raise PublishError(stopping[0].reason if stopping else "It has no score.")
    if not is_open(about.url):
        raise PublishError(NOBODY_ELSE)
    writer = _Writer(report, edition, about)
    made = scored_at(report)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in writer.files().items():
            entry = zipfile.ZipInfo(name, made.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            # Unix everywhere: the default depends on the system that writes the file.
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text)
    return content.getvalue()


def judge_prompt(report: AnyReport) -> str:
    """Returns the judge's prompts, each once, without the questions' texts; a sentence if they are unknown."""
    prompts: list[str] = []
    benchmark = benchmark_of(report)
    if isinstance(report, Report) and isinstance(benchmark, MMVet):
        wording = benchmark.wording
        if report.judge.prompt == prompt_digest(report.protocol, wording):
            prompts = [wording.paper if report.protocol == "paper" else wording.hardened]
    elif isinstance(report, ChoiceReport):
        judged = [row for row in report.rows if row.decision.replies]
        prompts = [PROMPTS[language(row.question)] for row in judged]
    elif isinstance(report, SpecReport):
        prompts = [
            ruled.rule.judge_prompt(ruled.item, report.protocol)
            for ruled in ruled_rows(report)
            if ruled.row.replies
        ]
    return "\n\n---\n\n".join(dict.fromkeys(prompts)) or _UNKNOWN_PROMPT


def _judged_ids(report: AnyReport) -> set[str]:
    """Returns the ids of the questions with an answer, to any of their passes, that a judge read."""
    if isinstance(report, Report):
        return {row.question.id for row in report.rows}
    if isinstance(report, ChoiceReport):
        return {str(row.question.index % PASS) for row in report.rows if row.decision.replies}
    if isinstance(report, SpecReport):
        return {row.row.id for row in report.rows if row.replies}
    return set()


class _Writer:
    """Writes the record of a report."""

    def __init__(self, report: AnyReport, edition: HubBenchmark, about: Evaluation) -> None:
        self._report = report
        self._benchmark = benchmark_of(report)
        self._edition = edition
        self._about = about
        made_at = scored_at(report)
        self._collection = f"stereoscope-{edition.edition}"
        self._made_at = made_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._made_at_seconds = str(int(made_at.timestamp()))
        self._id = f"{self._collection}/{about.model}/{self._made_at_seconds}"
        self._judged_ids = _judged_ids(report)

    def files(self) -> dict[str, bytes]:
        """Returns the record and its rows by their paths in the store."""
        place = f"data/{self._collection}/{self._about.model}/{self._about.id}"
        lines = [_json(row) for row in self._rows()]
        rows = _bytes("".join(f"{line}\n" for line in lines))
        detailed = {
            "format": "jsonl",
            "file_path": f"{place}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(rows).hexdigest(),
            "total_rows": len(lines),
        }
        record = {
            "schema_version": _VERSION,
            "evaluation_id": self._id,
            "evaluation_timestamp": self._made_at,
            "retrieved_timestamp": self._made_at_seconds,
            "source_metadata": self._source_metadata(),
            "eval_library": {"name": _LIBRARY, "version": "unknown"},
            "model_info": self._model(),
            "evaluation_results": list(self._results()),
            "detailed_evaluation_results": detailed,
        }
        text = json.dumps(record, indent=2, ensure_ascii=False)
        return {f"{place}.json": _bytes(f"{text}\n"), f"{place}_samples.jsonl": rows}

    def _source_metadata(self) -> dict[str, Any]:
        parts = urlsplit(self._about.url)
        return {
            "source_name": "Stereoscope report",
            "source_type": "evaluation_run",
            "source_organization_name": _LIBRARY,
            "source_organization_url": f"{parts.scheme}://{parts.netloc}",
            "evaluator_relationship": self._about.relationship,
            "additional_details": {"report": self._about.url},
        }

    def _model(self) -> dict[str, Any]:
        is_open_model = self._about.facts.is_open
        known = {True: "open_weights", False: "closed_weights", None: "unknown"}
        return {
            "name": self._report.title,
            "id": self._about.model,
            "developer": self._about.model.partition("/")[0],
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": known[is_open_model],
            },
        }

    def _results(self) -> Iterator[dict[str, Any]]:
        """Yields the headline, then the scores of the benchmark's groups."""
        head = self._benchmark.headline(self._report)
        assert head is not None, "a report without a score was refused"
        yield self._result(head, _ALL, self._edition.name)
        for line in self._benchmark.groups(self._report):
            if line.mean is not None:
                yield self._result(line, line.name, f"{self._edition.name}: {line.name}")

    def _result(self, line: ScoreLine, figure: str, name: str) -> dict[str, Any]:
        return {
            "evaluation_result_id": self._result_id(figure),
            "evaluation_name": name,
            "source_data": self._source_data(),
            "evaluation_timestamp": self._made_at,
            "metric_config": self._metric(line),
            "score_details": self._score(line),
        }

    def _result_id(self, figure: str) -> str:
        return f"{self._edition.edition}/{figure}"

    def _source_data(self) -> dict[str, Any]:
        edition = self._edition
        return {
            "dataset_name": edition.name,
            "source_type": "hf_dataset",
            "hf_repo": edition.dataset,
            "additional_details": {
                "edition": edition.edition,
                "question_file": edition.file,
                "hf_repo_checked_on": edition.checked or "never",
            },
        }

    def _metric(self, line: ScoreLine) -> dict[str, Any]:
        edition = self._edition
        unit = "proportion" if edition.is_percent else "points"
        metric = {
            "evaluation_description": self._benchmark.note(self._report),
            "metric_id": f"{edition.benchmark}.{edition.metric}",
            "metric_name": line.name,
            "metric_kind": edition.metric,
            "metric_unit": unit,
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": self._scaled(edition.lowest),
            "max_score": self._scaled(edition.highest),
            "additional_details": {"protocol": self._report.protocol},
        }
        if self._report.judge is not None:
            metric["llm_scoring"] = self._judging(self._report.judge)
        return metric

    def _judging(self, judge: JudgeStamp) -> dict[str, Any]:
        name = judge_name(judge)
        details = {"deployment_type": "unknown", "model_availability": "unknown"}
        model_info = {"name": name, "id": name, "additional_details": details}
        runs = self._report.runs if isinstance(self._report, Report) else 1
        return {
            "judges": [{"model_info": model_info}],
            "input_prompt": judge_prompt(self._report),
            "aggregation_method": "average",
            "additional_details": {
                "runs": str(runs),
                "prompt_sha256": judge.prompt or "unknown",
                "reply_parser": judge.parser,
            },
        }

    def _score(self, line: ScoreLine) -> dict[str, Any]:
        # `_results` passes on only lines with a mean.
        score: dict[str, Any] = {
            "score": self._scaled(line.mean or 0.0),
            "details": {"questions": str(line.n), "unscored_grades": str(line.unscored)},
        }
        if line.low is not None and line.high is not None:
            interval = {
                "lower": self._scaled(line.low),
                "upper": self._scaled(line.high),
                "confidence_level": 0.95,
            }
            score["uncertainty"] = {"confidence_interval": interval, "num_samples": line.n}
        return score

    def _scaled(self, value: float) -> float:
        """Returns a percentage as a proportion, and points as they are."""
        return round(value / 100 if self._edition.is_percent else value, _DIGITS)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for answer in self._benchmark.scored_answers(self._report):
            if answer.score is not None:
                yield self._row(answer, answer.score)

    def _row(self, answer: ScoredAnswer, score: float) -> dict[str, Any]:
        has_texts = self._about.with_texts
        sample = f"{answer.question}{answer.truth}"
        answer_text = answer.answer if has_texts else _hashed(answer.answer)
        attribution = {
            "turn_idx": 0,
            "source": "output.raw",
            "extracted_value": answer.grade if has_texts else "",
            "extraction_method": "llm_judge" if answer.id in self._judged_ids else "rules",
            "is_terminal": True,
        }
        return {
            "schema_version": _VERSION,
            "evaluation_id": self._id,
            "model_id": self._about.model,
            "evaluation_name": self._edition.name,
            "evaluation_result_id": self._result_id(_ALL),
            "sample_id": answer.id,
            "sample_hash": hashlib.sha256(_bytes(sample)).hexdigest(),
            "interaction_type": "single_turn",
            "input": {
                "raw": answer.question if has_texts else _hashed(answer.question),
                "reference": [answer.truth] if has_texts and answer.truth else [],
            },
            "output": {"raw": [answer_text]},
            "answer_attribution": [attribution],
            "evaluation": {"score": round(score, _DIGITS), "is_correct": score >= 1.0},
            "metadata": _metadata(answer.groups),
        }


def _metadata(groups: Sequence[str]) -> dict[str, str]:
    return {"groups": "; ".join(filter(None, groups))} if any(groups) else {}


def _hashed(text: str) -> str:
    return f"sha256:{hashlib.sha256(_bytes(text)).hexdigest()}"


def _bytes(text: str) -> bytes:
    """Returns a text as UTF-8. An answer may hold a lone surrogate, which becomes a question mark."""
    return text.encode("utf-8", "replace")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
