"""The laws of the house: which room may import which, who may touch what, and how long things may be."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted([ROOT / "app.py", *ROOT.glob("arena/**/*.py"), *ROOT.glob("scoring/**/*.py")])
ROOMS = [path for path in FILES if "demo" not in path.parts]

# Floors from the ground up: a room imports rooms of lower floors only, or of its own floor where no circle comes of it.
FLOORS = (
    (
        *(
            "records",
            "ratings",
            "settings",
            "identity",
            "limits",
            "strict_json",
            "card_limits",
            "control_tokens",
            "self_reference",
        ),
        *("stored", "results", "choice_records", "phrases", "plain_answers"),
    ),
    (
        *("database", "pictures", "rows", "spreadsheet", "render", "fetching", "plots", "bradley_terry", "clusters"),
        *("logs", "serving", "stateless"),
        *("spec", "named_options", "api_vlm", "local_vlm", "worker", "storage"),
    ),
    (
        *(
            "items",
            "ledger",
            "intervals",
            "compiled",
            "style",
            "exchange",
            "voter_flags",
            "health",
            "live",
            "live_ballots",
            "live_board",
        ),
        *("models", "zero_gpu", "questions", "disguises", "replies", "pace", "choice_statements"),
        *("matches", "submission_files"),
    ),
    (
        *("intake", "ballots", "elo_draws", "resampling", "fragility", "agreement", "imported_votes"),
        *("voters", "counting", "vote_limits"),
        *("own_images", "live_stage", "acts", "hiding", "pausing", "moderation"),
        *(
            "asking",
            "address",
            "uploads",
            "joining",
            "defence",
            "cache",
            "strict_choice",
            "paper_choice",
            "choice_files",
            "choice_downloads",
            "accuracies",
        ),
    ),
    (
        *("store", "importers", "rating_report", "findings", "boards", "tally", "flagging"),
        *("polls", "polled", "text_metrics", "outbox"),
        *("judge", "mm_vet", "multiple_choice", "circular", "visit_bench"),
    ),
    (
        *("campaigns", "ballot_box", "rating_files", "board_votes", "shelf", "breakdowns", "imports"),
        *("live_store", "live_hall", "chats"),
        *("concordance", "mirror", "copy_line", "forgetting"),
        *("answering", "visit_answering", "driving", "batch", "marking", "mmbench", "mmt_bench", "vqa_marks"),
        *("matching", "automatic_board"),
        *("choice_reports", "choice_uploads", "choice_benchmarks", "choice_lines"),
    ),
    (
        *("board_choice", "public_export", "overview", "operator_desk", "leaderboard", "stored_votes", "matchmaking"),
        *("benchmarks", "book"),
    ),
    (
        "guard",
        "battle_page",
        "leaderboard_page",
        "board_notes",
        "board_plots",
        "board_files",
        "inbox",
        "jobs",
        "submissions",
    ),
    (
        *(
            *("bank_commands", "operator_commands", "operator_page", "public_routes", "operator_routes"),
            "deploy",
            "visitors",
            "openid",
            "login",
            "operators",
            "live_page",
            "rating_commands",
            "automatic_routes",
            "match_page",
            "leaderboard_routes",
            "runner",
            "report_page",
            "scoring_page",
            "scoring_forms",
            "agreement_files",
            "agreement_page",
        ),
        *(
            "levels",
            "choice_page",
            "choice_plots",
            "choice_audit",
            "choice_faces",
            "choice_head",
            "marks_page",
            "automatic_page",
        ),
    ),
    (
        "operator_tab",
        *("live_routes", "live_tab", "chat_routes", "chat_tab"),
        "battle_tab",
        "leaderboard_tab",
        "routes",
        "desk",
        "mm_vet_tab",
        "choice_tab",
        "marks_tab",
        "agreement_desk",
        "agreement_routes",
        "agreement_tab",
        "matches_tab",
        "submissions_tab",
    ),
    ("scoring_tab", "report_tab", "wing", "live_wing", "operator_wing"),
    ("clerk",),
    ("answer_commands", "mm_vet_commands", "choice_commands", "visit_commands", "agreement_commands"),
    ("__main__", "app"),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# What scoring may use of the arena.
SHARED = frozenset(
    "records ratings intervals rows strict_json render pictures plots settings database ledger models agreement "
    "fetching identity guard exchange asking polled rating_report".split()
)
# Submissions answer from the item bank, and stand beside the people's boards.
SHARED_WITH_SUBMISSIONS = frozenset("store items leaderboard boards".split())

DOORS = {
    "gradio": r"app\.py|arena/(stateless|zero_gpu)\.py|arena/\w+_tab\.py|scoring/\w+_tab\.py",
    "sqlalchemy": (
        r"arena/(database|items|intake|ballots|voters|counting|vote_limits|polls|store|campaigns|leaderboard|board_votes|shelf|imported_votes|imports|stored_votes|ledger|outbox|mirror)\.py"
        r"|arena/(live_ballots|live_board|live_store|own_images)\.py"
        r"|arena/(flagging|board_choice)\.py"
        r"|arena/(acts|hiding|pausing|moderation|forgetting|overview|operator_desk|public_export)\.py"
        r"|scoring/(cache|batch|jobs|book|submissions)\.py"
    ),
    "huggingface_hub": r"arena/(mirror|deploy)\.py",
    "torch": r"arena/local_vlm\.py",
    "transformers": r"arena/local_vlm\.py",
    "openai": r"scoring/judge\.py",
    "pandas": r"nowhere yet",
    "openpyxl": r"arena/spreadsheet\.py",
    "numba": r"arena/compiled\.py",
    "PIL": r"arena/(pictures|local_vlm|demo/\w+)\.py",
    "nh3": r"arena/render\.py",
    "markdown_it": r"arena/render\.py",
    "tqdm": r"(arena/bank_commands|arena/asking|scoring/clerk)\.py",
}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def rooms_of(path: Path) -> set[str]:
    """Return the rooms of the house that a file imports; a folder of the arena is one room."""
    return {module.split(".")[1] for module in imports(path) if re.match(r"(arena|scoring)\.\w", module)} - {
        room_of(path)
    }


def room_of(path: Path) -> str:
    """Return the room that a file is, or is in."""
    return path.parent.name if path.parent.parent.name == "arena" else path.stem


@pytest.mark.parametrize("path", [path for path in ROOMS if path.name != "__init__.py"], ids=name_of)
def test_arrows_run_down(path):
    here = FLOOR[room_of(path)]
    upward = {room for room in rooms_of(path) if FLOOR[room] > here}
    assert not upward, f"{name_of(path)} imports {upward}, which stand above it"


def test_no_import_circle():
    arrows: dict[str, set[str]] = {}
    for path in ROOMS:
        if path.name not in ("__init__.py", "__main__.py", "app.py"):
            arrows.setdefault(room_of(path), set()).update(rooms_of(path))

    def walk(room: str, way: tuple[str, ...]) -> None:
        assert room not in way, f"a circle: {' -> '.join([*way, room])}"
        for below in arrows.get(room, ()):
            walk(below, (*way, room))

    for room in arrows:
        walk(room, ())


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_arena_never_imports_scoring(path):
    if path.parent.name != "scoring" and path.name != "app.py":
        assert not any(module.split(".")[0] == "scoring" for module in imports(path))


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "scoring"], ids=name_of)
def test_scoring_uses_the_ground_rooms_of_the_arena_only(path):
    used = {module.split(".")[1] for module in imports(path) if module.startswith("arena.")}
    shared = SHARED | SHARED_WITH_SUBMISSIONS if path.stem == "submissions" else SHARED
    assert used <= shared, f"{name_of(path)} imports {used - shared}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_one_outside_package_has_one_door(path):
    for package, door in DOORS.items():
        if any(module.split(".")[0] == package for module in imports(path)):
            assert re.fullmatch(door, name_of(path)), f"{package} is imported outside its door ({door})"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_environment_and_stdout_have_one_door(path):
    text = path.read_text("utf-8")
    if path.name != "settings.py":
        assert not re.search(r"os\.(environ|getenv)", text), "the environment is read in settings.py only"
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert path.name == "__main__.py", "only __main__.py prints"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_import_inside_a_function(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [part for part in ast.walk(node) if isinstance(part, ast.Import | ast.ImportFrom)]
            assert not inside, f"{node.name} imports inside"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_short_and_documented(path):
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) <= 400, f"{len(lines)} lines"
    assert ast.get_docstring(tree(path)), "a file begins with its docstring"
    if path.name == "__init__.py":
        assert len(tree(path).body) == 1, "an __init__.py holds a docstring and nothing else"
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 60, f"{node.name} is {node.end_lineno - node.lineno + 1} lines long"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_public_things_have_docstrings(path):
    for node in [
        *tree(path).body,
        *(part for kind in tree(path).body if isinstance(kind, ast.ClassDef) for part in kind.body),
    ]:
        public = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith(
            "_"
        )
        if public:
            assert ast.get_docstring(node), f"{node.name} (line {node.lineno}) has no docstring"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_names_have_no_suffixes(path):
    assert not re.search(r"_(new|old|v\d+|utils|helpers?|manager)$|^(common|utils|helpers|misc)$", path.stem)


def test_heavy_packages_stay_out_of_the_start():
    """Torch, transformers, openai and plotly are not loaded by the page's process."""
    heavy = ("torch", "transformers", "openai", "plotly", "openpyxl", "psycopg", "numba", "scipy")
    program = f"import sys, app; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_ruff_finds_nothing():
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_nothing_is_left_undone():
    for path in FILES:
        assert not re.search(r"TODO|FIXME|XXX|NotImplementedError", path.read_text("utf-8")), name_of(path)
