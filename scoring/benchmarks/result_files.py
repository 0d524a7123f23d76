"""Files in which a toolkit keeps its own verdicts beside the answers: results, and no predictions.

Columns: VLMEvalKit's `*_result.xlsx` have `hit` and `log`, its judged MM-Vet files `score`; lmms-eval's samples have
`gpt_eval_score` where a judge was asked.
"""

import re
from pathlib import PurePath
from typing import Literal

from arena.io.tables import JSON, Record

Toolkit = Literal["VLMEvalKit", "lmms-eval"]
LMMS_SCORE = "gpt_eval_score"
_RESULT = re.compile(r"(.+?)_[^_]{1,40}_result")


def grades_toolkit(first: Record) -> Toolkit | None:
    """The toolkit whose grades a file with this first row holds beside its answers; None for another file."""
    cells = {name.strip().lower(): cell for name, cell in first.values.items()}
    if LMMS_SCORE in cells and lmms_score(cells[LMMS_SCORE]) is not None:
        return "lmms-eval"
    if {"prediction", "score"} <= cells.keys() and {"index", "log"} & cells.keys():
        return "VLMEvalKit"
    return None


def lmms_score(cell: JSON) -> JSON:
    """The score in lmms-eval's outcome of a question, a number or a record; None where there is none."""
    return cell.get("score") if isinstance(cell, dict) else cell


def result_told(first: Record, file: str) -> str:
    """What a file of verdicts is, and which file to choose instead; "" for a file of predictions."""
    names = {name.strip().lower() for name in first.values}
    if {"hit", "log"} <= names:
        path = PurePath(file)
        named = _RESULT.fullmatch(path.stem)
        other = f"{named[1]}{path.suffix}" if named else "the file of predictions"
        return (
            "is a result file of VLMEvalKit: hit and log are its verdicts, and rotated passes are left out. "
            f"Upload {other}, which the toolkit wrote before it"
        )
    toolkit = grades_toolkit(first)
    if toolkit == "VLMEvalKit" and "log" in names:
        return (
            "is a judged file of VLMEvalKit: the column score holds its judge's grades, which are read for MM-Vet "
            "only. Upload the file of predictions without the judge's name, which the toolkit wrote before it"
        )
    if toolkit == "lmms-eval":
        return (
            f"holds lmms-eval's samples with its judge's scores ({LMMS_SCORE}), which are read for MM-Vet only. "
            "Upload samples of a run with --predict_only"
        )
    return ""
