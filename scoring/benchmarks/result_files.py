"""Result files, in which a toolkit keeps its own verdicts beside the answers. People upload prediction files instead.

Columns: VLMEvalKit's `*_result.xlsx` have `hit` and `log`, its judged MM-Vet files `score`; lmms-eval's samples have
`gpt_eval_score` where a judge was asked.
"""

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Literal

from arena.io.tables import JSON, Record
from scoring.report import EMPTY_CELLS

Toolkit = Literal["VLMEvalKit", "lmms-eval"]
LMMS_SCORE = "gpt_eval_score"
_SAMPLE_COLUMNS = {"filtered_resps", "resps", LMMS_SCORE}
"""Columns of lmms-eval's samples."""
_NO_SCORE = ("", "None", *EMPTY_CELLS)
JUDGE = r"(?:chatgpt|gpt|o\d|deepseek|qwen|gemini|claude)[a-z\d.:-]{0,100}"
"""A judge's name, recognised by its beginning; any other word in a file's name is no judge."""
_RESULT = re.compile(rf"(.{{1,200}}?)_(?:openai|exact_matching|{JUDGE})_result", re.IGNORECASE)
"""For example m_MMStar_gpt4_result, made from the file of predictions m_MMStar."""


def toolkit_of_grades(rows: Iterable[Record]) -> Toolkit | None:
    """The toolkit whose grades a file of these rows holds beside its answers; None for another file.

    Any of lmms-eval's samples may be the first with a score. In a table the first row decides: it has all columns.
    """
    for row in rows:
        cells = {name.strip().lower(): cell for name, cell in row.values.items()}
        if lmms_score(cells.get(LMMS_SCORE)) is not None:
            return "lmms-eval"
        if {"prediction", "score"} <= cells.keys() and {"index", "log"} & cells.keys():
            return "VLMEvalKit"
        if not cells.keys() & _SAMPLE_COLUMNS:
            return None  # a table
    return None


def lmms_score(cell: JSON) -> JSON:
    """The score in lmms-eval's outcome of a question, a number or a record; None where there is none."""
    score = cell.get("score") if isinstance(cell, dict) else cell
    has_score = str(score).strip() not in _NO_SCORE and not isinstance(score, list | dict)
    return score if has_score else None


def result_file_problem(first: Record, file: str, toolkit: Toolkit | None = None) -> str:
    """Returns the kind of a file of verdicts and the file to choose instead; "" for a file of predictions.

    `toolkit` is what `toolkit_of_grades` returned for the file. The text follows the file's name in a sentence.
    """
    names = {name.strip().lower() for name in first.values}
    if {"hit", "log"} <= names:
        path = PurePath(file)
        match = _RESULT.fullmatch(path.stem)
        other = f"{match[1]}{path.suffix}" if match else "the file of predictions"
        return (
            "is a result file of VLMEvalKit: hit and log are its verdicts, and rotated passes are left out. "
            f"Upload {other}, which the toolkit wrote before it."
        )
    # Without a log, the column score may be the uploader's own.
    if toolkit == "VLMEvalKit" and "log" in names:
        return (
            "is a judged file of VLMEvalKit: the column score holds its judge's grades, which are read for MM-Vet "
            "only. Upload the file of predictions without the judge's name, which the toolkit wrote before it."
        )
    if toolkit == "lmms-eval":
        return (
            f"holds lmms-eval's samples with its judge's scores ({LMMS_SCORE}), which are read for MM-Vet only. "
            "Upload samples of a run with --predict_only."
        )
    return ""
