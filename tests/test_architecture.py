"""The architecture's memory: layers, size, names, a pure domain, and imports that stay cheap."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "quintet"
FILES = sorted(SRC.rglob("*.py"))
MOST_LINES = 600

MOST_IN_A_ROOM = 20

# What each layer may import of quintet's own. `app` puts everything together and `cli` is its door; a feature
# is a leaf: it may use all of these, and what is to be known of it stands in the registry.
CORE = {"domain", "engine", "tools", "adapters", "surfaces"}
MAY_IMPORT = {
    "domain": {"domain"},
    "engine": {"engine", "domain"},
    "tools": {"tools", "domain"},
    "adapters": {"adapters", "domain"},
    "surfaces": {"surfaces", "engine", "domain"},
    "features": {*CORE, "app", "cli"},
    "app": {*CORE, "app"},
    "cli": {*CORE, "app", "cli"},
}
REGISTRY = {"quintet.features.registry", "quintet.features.feature"}
ASK_THE_REGISTRY = {"adapters", "app", "cli"}
FOR_ALL = {"package", "__version__"}
SURFACE_HELPERS = {"paint", "tables", "terminal", "transcript"}
IMPURE = {"os", "sys", "asyncio", "subprocess", "socket", "threading", "time", "random", "io", "tempfile", "shutil"}


def place(path: Path) -> str:
    return str(path.relative_to(SRC))


def layer(path: Path) -> str:
    parts = path.relative_to(SRC).parts
    return parts[0] if len(parts) > 1 else ""


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_a_file_imports_only_what_its_layer_may() -> None:
    wrong = [f"{path.relative_to(SRC)}: {name}" for path in FILES for name in imports(path) if not may(path, name)]
    assert wrong == [], "not for their layer, or of another surface"


def may(path: Path, name: str) -> bool:
    home = layer(path)
    _, target, part, *_ = f"{name}..".split(".")
    if not home or not name.startswith("quintet.") or target in FOR_ALL:
        return True
    if home == target == "surfaces" and path.relative_to(SRC).parts[1] != part:
        return part in SURFACE_HELPERS
    if name.startswith(tuple(REGISTRY)):
        return home in ASK_THE_REGISTRY or home == "features"
    if home == target == "features":
        return path.relative_to(SRC).parts[1] == part
    return target in MAY_IMPORT[home]


def test_a_public_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(place(path))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_no_room_is_too_full() -> None:
    counts = Counter(path.parent for path in FILES if path.name != "__init__.py")
    assert {str(room.relative_to(SRC)): count for room, count in counts.items() if count > MOST_IN_A_ROOM} == {}


def test_every_room_is_on_the_map() -> None:
    page = (SRC.parents[1] / "docs/architecture.md").read_text()
    rooms = {str(path.parent.relative_to(SRC)) for path in FILES if path.name != "__init__.py"} - {"."}
    assert [room for room in sorted(rooms) if f"| `{room}/` |" not in page] == []


def test_the_domain_is_pure() -> None:
    pure = (sys.stdlib_module_names | {"msgspec", "quintet"}) - IMPURE
    paths = sorted((SRC / "domain").rglob("*.py"))
    assert [f"{path.name}: {name}" for path in paths for name in imports(path) if name.split(".")[0] not in pure] == []


STARTS = {"run", "Popen", "check_output", "check_call", "call", "create_subprocess_exec", "create_subprocess_shell"}
LOOKS_ONLY = {  # whether something is there; or in folders that were chosen
    "adapters/tasks/health_look.py",
    "features/language_servers/registry.py",
    "surfaces/tour.py",
}


def test_programs_on_the_host_are_found_by_host_programs() -> None:
    """A bare name is looked for on PATH, where a project may stand first; so are `which` and a shell."""
    for path in FILES:
        assert place(path) in LOOKS_ONLY or not {"shutil.which", "webbrowser"} & set(imports(path)), path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert not (wrong := _by_a_bare_name(node, place(path))), f"{path}: {wrong}"


def _by_a_bare_name(node: ast.Call, file: str) -> str:
    """The call, if it has PATH or a shell look for a program."""
    assert isinstance(node.func, ast.Attribute)
    name, owner = node.func.attr, node.func.value
    of = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    if (of, name) == ("shutil", "which") and file in LOOKS_ONLY:
        return ""
    wrong = (of, name) in {
        ("os", "system"),
        ("os", "popen"),
        ("asyncio", "create_subprocess_shell"),
        ("shutil", "which"),
    }
    if of in ("subprocess", "asyncio") and name in STARTS and node.args:
        first = node.args[0]
        first = first.elts[0] if isinstance(first, ast.Tuple | ast.List) and first.elts else first
        wrong = any(word.arg == "shell" for word in node.keywords)
        wrong |= isinstance(first, ast.Constant) and not str(first.value).startswith("/")
    return ast.unparse(node) if wrong else ""


TEMPORARY = {
    "app/open.py": "the tour's project, which is a project like any other",
}


def test_temporary_folders_are_quintets_own() -> None:
    """The machine's temporary folder may lie in a project, where a command changes what we run or read."""
    named = {"tempfile", "mkdtemp", "mkstemp", "gettempdir", "NamedTemporaryFile", "TemporaryDirectory"}
    for path in FILES:
        found = [name for name in imports(path) if name.split(".")[0] == "tempfile"]
        assert not found or place(path) in TEMPORARY, f"{path}: {found}; use own_temporary"
        uses = {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)} & named
        assert not uses or place(path) in TEMPORARY, f"{path}: {uses}; use own_temporary"


def test_no_source_file_is_too_long() -> None:
    long = {
        str(path.relative_to(SRC)): lines
        for path in FILES
        if (lines := len(path.read_text().splitlines())) > MOST_LINES
    }
    assert long == {}


def test_nothing_of_ours_is_named_mode() -> None:
    found = [f"{path.relative_to(SRC)}:{line}" for path in FILES for line in named_mode(path)]
    assert found == [], "say which: work_mode, model_mode, …"


def named_mode(path: Path) -> Iterator[int]:
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
            if not isinstance(node, ast.ClassDef):
                names += [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names = [node.id]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        else:
            continue
        if "mode" in names:
            yield node.lineno


def test_every_module_says_what_it_is_for() -> None:
    bare = [
        str(path) for path in FILES if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert bare == []


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_command_line_imports_nothing_heavy_to_say_its_version() -> None:
    loaded = loaded_by("from quintet.cli.main import main; main(['--version'])")
    assert not loaded & {"msgspec", "apsw", "asyncio", "argparse", "h11", "typing"}


def test_looking_something_up_needs_no_event_loop() -> None:
    loaded = loaded_by("import quintet.cli.sessions")
    assert not loaded & {
        "asyncio",
        "h11",
        "ssl",
        "tomllib",
        "hashlib",
        "shutil",
        "quintet.app.open",
        "quintet.domain.journal.protocol",
        "quintet.domain.permission.gate",
        "quintet.domain.ports.ports",
    }


def test_opening_a_session_loads_nothing_of_the_browser() -> None:
    loaded = loaded_by("import quintet.app.open")
    assert not [name for name in loaded if name.startswith("playwright")]
    assert {name for name in loaded if name.startswith("quintet.features.browser.")} <= {
        "quintet.features.browser.page_view",
        "quintet.features.browser.tools",
        "quintet.features.browser.values",
    }


def test_opening_a_session_loads_no_model_no_settings_parser_and_no_client_of_language_servers() -> None:
    loaded = loaded_by("import quintet.app.open")
    assert not loaded & {
        "h11",
        "tomllib",
        "difflib",
        "yaml",
        "quintet.adapters.offline_rules.model",
        "quintet.features.language_servers.registry",
        "quintet.features.language_servers.client",
        "quintet.adapters.agents.agents",
        "quintet.adapters.shell_grammar.parse",
        "quintet.domain.permission.trust_words",
        "pypdf",
        "pypdfium2",
    }
