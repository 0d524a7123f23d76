"""The laws of the house (CONTRIBUTING.md): each test lists its offenders."""

import ast
import gc
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from jinja2 import meta, nodes

from arena.templates import ENVIRONMENT, macros
from tests.support.forked_app import loaded_by_a_start

ROOT = Path(__file__).parents[1]
FILES = sorted([ROOT / "app.py", *ROOT.glob("arena/**/*.py"), *ROOT.glob("scoring/**/*.py")])

ARENA = """validation errors formulas network cache < locale <
    interval_text model_facts < types io markdown < reasoning <
    thinking templates < sheets drawings < drawing_png plots < settings < formats inference < ratings storage <
    database < clock < items budget < battles < seats < live fraud server < campaign_battles authoring < admin
    imports < leaderboard < context < web < cli < __main__"""
SCORING = """serialize text_lists intervals small_groups < failures < no_answers < report < judges < multiple_choice
    < rules < score_sheets < specs < benchmarks < visit_bench < registry < questions publish < jobs < people task_map
    < context < web < cli < __main__"""
LAYERS = (
    [{f"arena.{name}" for name in layer.split()} for layer in ARENA.split("<")]
    + [{f"scoring.{name}" for name in layer.split()} for layer in SCORING.split("<")]
    + [{"app"}]
)
LEVEL = {name: level for level, layer in enumerate(LAYERS) for name in layer}
"""The level of each folder, and of each file that stands in none: imports between them go down."""

DOORS = {
    "gradio": r"app\.py|arena/web/\w+\.py|arena/server/zero_gpu\.py|scoring/web/\w+\.py",
    "huggingface_hub": r"arena/server/hub_\w+\.py|arena/cli/deploy\.py|arena/inference/weights\.py",
    "torch": r"arena/inference/(local_model|adapter_training)\.py",
    "transformers": r"arena/inference/(local_model|adapter_training)\.py",
    "peft": r"arena/inference/adapter_training\.py",
    "openai": r"arena/inference/openai_client\.py",
    "openpyxl": r"arena/io/xlsx\.py",
    "html": r"arena/(markdown|formulas)\.py|scoring/.*",
    "jinja2": r"arena/(templates|inference/local_model|web/gradio_import)\.py",
    "markupsafe": r"arena/(locale|markdown|templates)\.py",
    "pyarrow": r"arena/(formats/parquet|io/parquet_rows)\.py",
    "PIL": r"arena/(drawing_png|io/(drawn_pictures|images|scaled_pictures))\.py|arena/inference/local_model\.py",
    "nh3": r"arena/markdown\.py",
    "latex2mathml": r"arena/formulas\.py",
    "markdown_it": r"arena/markdown\.py",
}
"""The files that may import a package; ruff's PLC0415 (pyproject.toml) says which may do it inside a function."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def folder_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


@pytest.fixture(autouse=True)
def nothing_ends_meanwhile() -> Iterator[None]:
    """What warns when it is collected within `ast.parse`, where pytest parses too, ends that with a SystemError."""
    gc.disable()
    yield
    gc.enable()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def walked(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(path)))


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules that a file imports, anywhere in it, with the names that it takes from them."""
    found = set()
    for node in walked(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        node for node in walked(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def classes(path: Path) -> Iterator[ast.ClassDef]:
    return (node for node in walked(path) if isinstance(node, ast.ClassDef))


def called(node: ast.AST) -> str:
    """Return the function of a module that a node calls, as in `re.compile`; an empty text for other nodes."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=function)):
            return f"{module}.{function}"
    return ""


def test_folders_are_layers():
    ours = {module_of(path) for path in FILES}
    homeless = [
        name_of(path)
        for path in FILES
        if folder_of(module_of(path)) not in {*LEVEL, "arena", "scoring"}
    ]
    upward = [
        f"{name_of(path)} imports {module}"
        for path in FILES
        for module in imports(path) & ours
        if folder_of(module) != (here := folder_of(module_of(path)))
        and LEVEL[folder_of(module)] >= LEVEL[here]
    ]
    assert (homeless, upward) == ([], [])


def test_no_import_circle():
    arrows = {module_of(path): imports(path) for path in FILES}
    done: set[str] = set()

    def walk(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"a circle: {' -> '.join([*way, module])}"
        if module not in done:
            for below in arrows[module] & arrows.keys():
                walk(below, (*way, module))
        done.add(module)

    for module in arrows:
        walk(module, ())


def test_a_package_has_one_door():
    offenders = [
        f"{name_of(path)} imports {package}"
        for path in FILES
        for package, door in DOORS.items()
        if any(module.split(".")[0] == package for module in imports(path))
        and not re.fullmatch(door, name_of(path))
    ]
    for path in FILES:
        text = path.read_text("utf-8")
        if path.name != "settings.py" and re.search(r"os\.(environ|getenv)", text):
            offenders.append(f"{name_of(path)} reads the environment, which settings.py does")
        if re.search(r"import_module\(f?[\"']", text):
            offenders.append(
                f"{name_of(path)} imports a literal name at run time; write an import statement"
            )
    assert offenders == []


def test_heavy_packages_stay_out_of_the_start():
    heavy = ("torch", "transformers", "peft", "openai", "openpyxl", "psycopg", "scipy")
    loaded = loaded_by_a_start()
    assert "app" in loaded and "gradio" in loaded
    assert [name for name in heavy if name in loaded] == []


def test_a_class_name_means_one_thing():
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in FILES:
        for node in classes(path):
            places[path.relative_to(ROOT).parts[0], node.name].append(name_of(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_files_and_functions_are_short():
    long = [
        f"{name_of(path)}: {n} lines"
        for path in FILES
        if (n := len(path.read_text("utf-8").splitlines())) > 600
    ]
    for path in FILES:
        long += [
            f"{name_of(path)}: {node.name}"
            for node in functions(path)
            if node.end_lineno - node.lineno >= 80
        ]
    assert long == []


def test_modules_and_classes_have_docstrings():
    bare = [name_of(path) for path in FILES if not ast.get_docstring(tree(path))]
    for path in FILES:
        bare += [
            f"{name_of(path)}: {node.name}"
            for node in classes(path)
            if not node.name.startswith("_") and not ast.get_docstring(node)
        ]
        if path.name == "__init__.py" and len(tree(path).body) > 1:
            bare.append(f"{name_of(path)} holds more than its docstring")
    assert bare == []


OWN_PATTERNS = {
    "arena/server/logs.py",
    "arena/live/identity_leaks.py",
    "scoring/judges/attack_rules.py",
}
"""Files that make patterns of texts they are given: secrets, names of models, the phrase file."""


def test_patterns_are_compiled_where_their_growth_is_measured():
    """`tests/test_growth.py` measures the patterns that modules hold: none is written where it is used."""
    offenders = []
    for path in FILES:
        inside = {id(part) for function in functions(path) for part in ast.walk(function)}
        for node in walked(path):
            call = called(node)
            compiled_late = (
                call == "re.compile" and id(node) in inside and name_of(path) not in OWN_PATTERNS
            )
            if compiled_late or (
                call.startswith("re.") and call not in ("re.compile", "re.escape")
            ):
                offenders.append(
                    f"{name_of(path)}, line {node.lineno}: compile the pattern in the module"
                )
    assert offenders == []


WAITERS = {
    "arena/admin/projects.py": "the pictures that an operator's project names",
    "arena/inference/offline.py": "a command",
    "arena/io/fetch.py": "what commands and operators call",
    "arena/items/importers.py": "a command",
    "arena/web/built_pages.py": "the app itself, at start",
    "scoring/cli/progress.py": "a command",
    "scoring/jobs/service.py": "the operator's judge, at start",
    "scoring/jobs/worker.py": "the job worker's own thread",
    "scoring/visit_bench/offline_answers.py": "a command",
}
"""Files that keep a thread until a server has answered, and which server."""


def test_no_page_waits_for_a_server_that_a_visitor_named():
    """It may take any time: what is asked of it is asked in the job worker's loop, or awaited."""
    waiting = {
        name_of(path)
        for path in FILES
        for node in walked(path)
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "run"
            and ast.unparse(node) == "asyncio.run"
        )
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "arena.io.fetch"
            and {"fetch", "fetch_all"} & {one.name for one in node.names}
        )
    }
    assert waiting == WAITERS.keys()


CHANGES_BATTLES = {"arena/battles/choices.py", "arena/live/store.py", "arena/admin/erasure.py"}
"""Files that change a battle's row, where no key would stop a second choice from taking the place of the first."""
FINAL = {"IS_FINAL", "IS_RANKED"}
WITHOUT_PUBLISHING = {
    "arena/battles/tables.py",
    "arena/campaign_battles/votes.py",
    "arena/live/exported_votes.py",
}
"""Files that name final votes for others to read."""


def test_battles_are_changed_in_few_places():
    changing = {
        name_of(path)
        for path in FILES
        for node in walked(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "update"
        and ast.unparse(node) == "update(BATTLE)"
    }
    assert changing == CHANGES_BATTLES


def test_who_reads_final_votes_numbers_them_first():
    """Without `publish_votes`, a reader would see the final votes of a while ago."""
    late = set()
    for path in FILES:
        names = {node.id for node in walked(path) if isinstance(node, ast.Name)}
        if names & FINAL and "publish_votes" not in names:
            late.add(name_of(path))
    assert late == WITHOUT_PUBLISHING


EXACT_CSV = {
    "arena/formats/registry.py",
    "arena/authoring/exports.py",
    "scoring/multiple_choice/downloads.py",
}
EXACT_CSV |= {f"scoring/benchmarks/{name}_answers.py" for name in ("offline", "spec")}
EXACT_CSV.add("scoring/visit_bench/offline_answers.py")
EXACT_CSV |= {"scoring/benchmarks/kit_table.py", "scoring/benchmarks/submission.py"}
EXACT_CSV.add("scoring/questions/fetch.py")
"""Files whose CSV another program reads back: votes, items, questions and answers to be scored, letters for the
official servers."""


def test_csv_goes_through_the_one_writer():
    """`arena/io/csv_text.py` keeps spreadsheets from running strangers' text."""
    offenders = []
    for path in FILES:
        calls = [node for node in walked(path) if isinstance(node, ast.Call)]
        names = {ast.unparse(node.func) for node in calls}
        if name_of(path) != "arena/io/csv_text.py":
            offenders += [
                f"{name_of(path)} calls {name}"
                for name in names
                if name in ("csv.writer", "csv.DictWriter") or name.endswith(".to_csv")
            ]
        if name_of(path) not in EXACT_CSV and any(
            word.arg == "exact" for node in calls for word in node.keywords
        ):
            offenders.append(f"{name_of(path)} writes cells as they are")
    assert offenders == []


TEMPLATES = sorted(ROOT.glob("*/web/templates/*.html"))


KNOWS_TAGS = {
    "arena/markdown.py",
    "arena/formats/fastchat_log.py",
    "scoring/multiple_choice/plain_answers.py",
    "arena/reasoning.py",
}
KNOWS_TAGS |= {"scoring/benchmarks/mm_vet_v2.py", "arena/web/built_pages.py"}
"""Files that make HTML of Markdown, read tags in what others wrote, change Gradio's document, or send a judge
those of a benchmark's authors."""
TAG = re.compile(
    r"</?(a|b|body|br|button|caption|code|d[dlt]|details|div|em|fig\w+|foot\w*|form|g|h[1-6r]|head\w*|html|i|img|input|label"
    r"|li|link|main|meta|nav|ol|option|p|path|pre|rect|s|script|section|select|small|span|strong|style|su[bp]|summary|svg"
    r"|t[drh]|table|tbody|text\w*|thead|time|title|ul)[\s/>]"
)


def test_html_lives_in_templates():
    """Templates escape every value but what `arena.markdown` made, and scripts of our own."""
    offenders = []
    for path in FILES:
        docstrings = {id(node.value) for node in walked(path) if isinstance(node, ast.Expr)}
        offenders += [
            f"{name_of(path)}, line {node.lineno}: put the HTML into a template"
            for node in walked(path)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and TAG.search(node.value)
            if id(node) not in docstrings and name_of(path) not in KNOWS_TAGS
        ]
    unescaped = re.compile(r"\|\s*safe\b|autoescape")
    offenders += [
        f"{name_of(path)} switches escaping off"
        for path in TEMPLATES
        if unescaped.search(path.read_text())
    ]
    assert offenders == []


def test_templates_compile_and_know_every_name():
    unknown = []
    for path in TEMPLATES:
        macros(path.name)
        parsed = ENVIRONMENT.parse(path.read_text("utf-8"))
        unknown += [
            f"{name_of(path)}: {name}"
            for name in meta.find_undeclared_variables(parsed) - ENVIRONMENT.globals.keys()
        ]
        for node in parsed.find_all(nodes.FromImport):
            made = macros(node.template.value)
            unknown += [
                f"{name_of(path)} imports {name}"
                for name in node.names
                if not hasattr(made, str(name))
            ]
    assert unknown == []


OTHER_TESTS = re.compile(
    r"^\s*(?:from|import)\s+tests(?:\.| import )(?!support\b)[\w.]+", re.MULTILINE
)


def test_tests_share_by_support_alone():
    """A script that a test runs may import the test's own file."""
    offenders = [
        f"{name_of(path)}: {line.strip()}"
        for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("perf/*.py")]
        for line in OTHER_TESTS.findall(path.read_text("utf-8"))
        if ".".join(path.relative_to(ROOT).with_suffix("").parts) not in line
    ]
    assert offenders == []


def test_nothing_is_left_undone():
    marks = re.compile(r"TODO|FIXME|XXX|NotImplementedError")
    names = re.compile(r"_(new|old|v\d+|utils|helpers?|manager)$|^(common|utils|helpers|misc)$")
    # a benchmark's own name
    stems = {path: "" if path.stem == "mm_vet_v2" else path.stem for path in FILES}
    undone = [
        path for path in FILES if marks.search(path.read_text("utf-8")) or names.search(stems[path])
    ]
    assert [name_of(path) for path in undone] == []


@pytest.mark.parametrize("words", [("check",), ("format", "--check")])
def test_ruff_finds_nothing(words):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *words, "."], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_caches_take_no_text():
    """Text of strangers would stay in memory as their key: `arena/cache.py` keeps by digest, in bounds."""
    offenders = []
    for path in FILES:
        for node in functions(path):
            kinds = {ast.unparse(one).partition("(")[0] for one in node.decorator_list}
            if not kinds & {"cache", "lru_cache"}:
                continue
            taken = [ast.unparse(one.annotation or ast.Name("Any")) for one in node.args.args]
            texts = [one for one in taken if re.search(r"\b(str|Any|object|self)\b", one)]
            if texts:
                offenders.append(f"{name_of(path)}: {node.name}({', '.join(taken)})")
    assert offenders == []


def test_lru_caches_are_of_functions_alone():
    """One made of a method inside `__init__` tells no reader what its keys are."""
    called = re.compile(r"\blru_cache\([^)]*\)\(")
    assert [name_of(path) for path in FILES if called.search(path.read_text("utf-8"))] == []
