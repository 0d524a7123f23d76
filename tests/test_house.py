"""The laws of the house: which room may import which, who may touch what, and how long things may be."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted([ROOT / "app.py", *ROOT.glob("arena/**/*.py"), *ROOT.glob("scoring/**/*.py")])
COMMANDS = [path for path in FILES if "demo" not in path.parts]

# Floors from the ground up: a room imports rooms of lower floors only, or of its own floor where no circle comes of it.
FLOORS = (
    {
        "arena": "records ratings settings identity strict_json card_limits events",
        "arena.hosting": "limits",
        "arena.live": "control_tokens self_reference",
        "scoring": "stored results",
        "scoring.choice": "records phrases plain_answers",
    },
    {
        "arena": "database clock pictures rows spreadsheet render plots api_vlm local_vlm worker",
        "arena.bank": "fetching",
        "arena.hosting": "hub_requests logs serving stateless storage",
        "arena.rating": "bradley_terry clusters",
        "scoring": "spec",
        "scoring.choice": "named_options",
    },
    {
        "arena": "items ledger intervals exchange models",
        "arena.hosting": "health zero_gpu",
        "arena.live": "streams",
        "arena.rating": "compiled style",
        "arena.voters": "flags",
        "scoring": "questions",
        "scoring.choice": "statements",
        "scoring.judging": "disguises replies pace",
        "scoring.visit": "matches submission_files",
    },
    {
        "arena": "ballots agreement",
        "arena.bank": "intake asking",
        "arena.elsewhere": "imported_votes",
        "arena.live": "own_images stage ballots board",
        "arena.operators": "acts hiding pausing moderation",
        "arena.rating": "elo_draws resampling fragility",
        "arena.voters": "roll counting limits",
        "scoring": "uploads defence cache",
        "scoring.choice": "strict paper files downloads accuracies",
        "scoring.judging": "address",
        "scoring.visit": "joining",
    },
    {
        "arena": "store",
        "arena.bank": "importers",
        "arena.boards": "findings board tally",
        "arena.elsewhere": "polls polled",
        "arena.hosting": "outbox homes",
        "arena.rating": "report",
        "arena.voters": "flagging",
        "scoring": "text_metrics judge mm_vet multiple_choice visit_bench",
        "scoring.choice": "circular",
    },
    {
        "arena": "ballot_box mirror",
        "arena.boards": "votes shelf breakdowns",
        "arena.elsewhere": "imports",
        "arena.hosting": "copy_line",
        "arena.live": "store hall chats",
        "arena.operators": "forgetting",
        "arena.rating": "files",
        "arena.voters": "campaigns",
        "scoring": "answering marking mmbench mmt_bench vqa_marks",
        "scoring.choice": "reports uploads benchmarks lines",
        "scoring.judging": "driving batch",
        "scoring.people": "concordance",
        "scoring.visit": "answering matching board",
    },
    {
        "arena": "leaderboard matchmaking",
        "arena.boards": "choice",
        "arena.elsewhere": "stored_votes",
        "arena.operators": "export overview desk",
        "scoring": "benchmarks",
        "scoring.visit": "book",
    },
    {
        "arena": "guard battle_page",
        "arena.boards": "page notes plots files",
        "scoring": "inbox jobs submissions",
    },
    {
        "arena": "deploy",
        "arena.bank": "commands",
        "arena.boards": "routes",
        "arena.live": "page",
        "arena.operators": "commands page public_routes routes access",
        "arena.rating": "commands",
        "arena.voters": "visitors openid login",
        "scoring": "runner report_page scoring_page scoring_forms",
        "scoring.choice": "levels page plots audit faces head marks_page",
        "scoring.people": "files page",
        "scoring.visit": "routes match_page page",
    },
    {
        "arena": "operator_tab live_tab chat_tab battle_tab leaderboard_tab",
        "arena.live": "routes chat_routes",
        "scoring": "routes desk mm_vet_tab choice_tab marks_tab agreement_tab matches_tab submissions_tab",
        "scoring.people": "desk routes",
    },
    {
        "arena.live": "wing",
        "arena.operators": "wing",
        "scoring": "scoring_tab report_tab wing",
    },
    {
        "scoring.judging": "clerk",
    },
    {
        "arena.bank": "answer_commands",
        "scoring": "answer_commands mm_vet_commands",
        "scoring.choice": "commands",
        "scoring.people": "commands",
        "scoring.visit": "commands",
    },
    {
        "": "app",
        "arena": "__main__",
        "scoring": "__main__",
    },
)
FLOOR = {
    f"{folder}.{room}".strip("."): floor
    for floor, folders in enumerate(FLOORS)
    for folder, rooms in folders.items()
    for room in rooms.split()
}

# What scoring may use of the arena.
SHARED = frozenset(
    "records events ratings intervals rows strict_json render pictures plots settings database ledger models agreement "
    "identity guard exchange bank.fetching bank.asking elsewhere.polled hosting.storage rating.report "
    "voters.limits".split()
)
# Submissions answer from the item bank, and stand beside the people's boards.
SHARED_WITH_SUBMISSIONS = frozenset("store items leaderboard boards.board".split())

DOORS = {
    "gradio": r"app\.py|arena/hosting/(stateless|zero_gpu)\.py|arena/\w+_tab\.py|scoring/\w+_tab\.py",
    "sqlalchemy": (
        r"arena/(database|clock|items|ballots|store|leaderboard|ledger|mirror|bank/intake|hosting/(homes|outbox))\.py"
        r"|arena/boards/(choice|shelf|votes)\.py"
        r"|arena/elsewhere/(imported_votes|imports|polls|stored_votes)\.py"
        r"|arena/live/(ballots|board|own_images|store)\.py"
        r"|arena/operators/(acts|desk|export|forgetting|hiding|moderation|overview|pausing)\.py"
        r"|arena/voters/(campaigns|counting|flagging|limits|roll)\.py"
        r"|scoring/(cache|jobs|submissions|judging/batch|visit/book)\.py"
    ),
    "huggingface_hub": r"arena/(mirror|deploy|hosting/hub_requests)\.py",
    "torch": r"arena/local_vlm\.py",
    "transformers": r"arena/local_vlm\.py",
    "openai": r"scoring/judge\.py",
    "pandas": r"nowhere yet",
    "openpyxl": r"arena/spreadsheet\.py",
    "numba": r"arena/rating/compiled\.py",
    "PIL": r"arena/(pictures|local_vlm|demo/\w+)\.py",
    "nh3": r"arena/render\.py",
    "markdown_it": r"arena/render\.py",
    "tqdm": r"(arena/bank/commands|arena/bank/asking|scoring/judging/clerk)\.py",
}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports, anywhere in it, with the names that it takes from them."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def rooms_of(path: Path) -> set[str]:
    """Return the rooms of the house that a file imports."""
    return {room for room in map(room_named, imports(path)) if room in FLOOR} - {room_of(path)}


def room_of(path: Path) -> str:
    """Return the room that a file is, or is in."""
    return room_named(".".join(path.relative_to(ROOT).with_suffix("").parts))


def room_named(module: str) -> str:
    """Return the room of a module; the formats of `exchange` are one room."""
    return "arena.exchange" if module.startswith("arena.exchange.") else module


def wing_of(path: Path) -> str:
    """Return which of `arena` and `scoring` a file is in, or its own name."""
    return path.relative_to(ROOT).parts[0]


@pytest.mark.parametrize("path", [path for path in COMMANDS if path.name != "__init__.py"], ids=name_of)
def test_arrows_run_down(path):
    here = FLOOR[room_of(path)]
    upward = {room for room in rooms_of(path) if FLOOR[room] > here}
    assert not upward, f"{name_of(path)} imports {upward}, which stand above it"


def test_no_import_circle():
    arrows: dict[str, set[str]] = {}
    for path in COMMANDS:
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
    if wing_of(path) == "arena":
        assert not any(module.split(".")[0] == "scoring" for module in imports(path))


@pytest.mark.parametrize("path", [path for path in FILES if wing_of(path) == "scoring"], ids=name_of)
def test_scoring_uses_the_ground_rooms_of_the_arena_only(path):
    used = {room.removeprefix("arena.") for room in rooms_of(path) if room.startswith("arena.")}
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


COMPILE_INSIDE = {"arena/server/logs.py", "arena/live/identity_leaks.py", "scoring/judges/injection.py"}
"""Files that make a pattern of texts that are told: secrets, names of models, and the phrase file."""


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_patterns_are_compiled_where_their_growth_is_measured(path):
    """`tests/test_growth.py` measures the patterns that modules hold: none is written where it is used."""
    held = {id(part) for node in tree(path).body if not isinstance(node, ast.FunctionDef) for part in ast.walk(node)}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            held -= {id(part) for part in ast.walk(node)}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            name = ast.unparse(node.func)
            assert name in ("re.compile", "re.escape"), (
                f"line {node.lineno}: compile the pattern of {name} in the module"
            )
            inside = name == "re.compile" and id(node) not in held and name_of(path) not in COMPILE_INSIDE
            assert not inside, f"line {node.lineno}: compile the pattern in the module, not in a function"


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
