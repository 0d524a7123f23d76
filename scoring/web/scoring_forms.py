"""Forms of "Score a model": the choices of each setting, by label."""

from collections.abc import Mapping

from scoring.jobs.submissions import Opponents

VANILLA = "Score it as vanilla (free)"
"""Label of the button for a file that cannot be scored as circular."""
GRADED = "Make the report (free)"
"""Label of the button for a file of grades, which no judge reads."""
MISSING = {"Stop and tell me": "stop", "Leave them unscored": "unscored"}
RUNS = {"5 separate runs": (5, False), "5 samples of one call (cheaper)": (5, True), "1 run": (1, False)}
OPPONENTS: Mapping[str, Opponents] = {"All models": "all", "The reference alone": "reference", "3 an item, drawn": 3}
REFERENCES = {"Reference-free, as in the paper": "free", "Shown the reference": "backed"}
CONTEXTS = {"Captions": "captions", "The images (a vision judge)": "images"}
"""Judge's context by label."""
FILE = "The uploaded file"
"""Choice of the uploaded file's answers instead of a stored model's."""
