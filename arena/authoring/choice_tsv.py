"""Choice TSV: accepted multiple-choice questions as rows of VLMEvalKit's table, as in MMBench.

The columns are VLMEvalKit's, with `source` and `comment` for a picture's credit, and `text_only`, which the toolkit
ignores: whether a text-only model got the question right without its picture.
"""

from base64 import b64encode
from pathlib import Path

from arena.authoring.choices import LETTERS
from arena.authoring.events import Credit
from arena.authoring.spec import ProjectSpec
from arena.authoring.store import Draft

CHOICE_COLUMNS = (
    *("index", "question", "hint", *LETTERS, "answer", "category", "l2-category", "split"),
    *("source", "comment", "text_only", "image"),
)
"""The columns of the table; `hint` stays empty."""
TEXT_ONLY = {True: "right", False: "wrong", None: ""}
"""The text-only model's result as a word for tables; None: it wasn't asked, or named no option."""


def choice_row(draft: Draft, picture: Path, spec: ProjectSpec, with_keys: bool) -> dict[str, str]:
    """Returns a question as a row, with its picture in base64.

    With `with_keys`, also the right answer and the text-only model's result; without it, both are empty. The split is
    MMBench's: `test` if the project withholds its keys, otherwise `dev`.
    """
    question = draft.state.instruction
    assert question
    family = spec.by_name.get(draft.family)
    credit = question.pictures[0].credit
    options = dict(zip(LETTERS, question.options, strict=False))
    values = {
        "index": str(draft.id),
        "question": question.text,
        **options,
        "answer": question.answer if with_keys else "",
        "category": draft.family,
        "l2-category": family.group if family else "",
        "split": "test" if spec.visibility == "sealed" else "dev",
        "source": credit.source,
        "comment": _credit(credit, spec),
        "text_only": TEXT_ONLY[draft.state.blind_is_right] if with_keys else "",
        "image": b64encode(picture.read_bytes()).decode(),
    }
    return {column: values.get(column, "") for column in CHOICE_COLUMNS}


def _credit(credit: Credit, spec: ProjectSpec) -> str:
    """Returns a picture's creator, licence and statement; an author's own picture has the project's licence."""
    licence = spec.licence if credit.licence == "own" else (credit.licence or "")
    return ", ".join(filter(None, (credit.creator, licence, credit.statement)))
