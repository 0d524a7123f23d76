"""A list of ids as long and as mixed as the paper's Bard set.

It is made up: the authors' own list is part of no test.
"""

import json
from pathlib import Path

from scoring.benchmarks.mm_vet_questions import integrations
from scoring.report import QuestionSet


def made_up_bard_set(whole: QuestionSet, path: Path) -> Path:
    """Write the first questions of each capability integration, as many as the paper's set has."""
    wanted = {name: one.bard_set for name, one in integrations().items()}
    ids = []
    for question in whole.questions:
        integration = "_".join(question.groups)
        if wanted[integration]:
            wanted[integration] -= 1
            ids.append(question.id)
    path.write_text(json.dumps(ids))
    return path
