"""The architecture's memory: layers, size, names, a pure domain, and imports that stay cheap."""

import ast
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "quintet"
DATA = SRC / "skills"  # the scripts and workspaces of skills that ship
FILES = sorted(path for path in SRC.rglob("*.py") if DATA not in path.parents)
MOST_LINES = 600

MOST_IN_A_ROOM = 20
MOST_FIELDS = 16

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
SURFACE_HELPERS = {"paint", "streamed_markdown", "tables", "terminal", "transcript", "typed_line"}
IMPURE = {"os", "sys", "asyncio", "subprocess", "socket", "threading", "time", "random", "io", "tempfile", "shutil"}


def place(path: Path) -> str:
    return str(path.relative_to(SRC))


def layer(path: Path) -> str:
    parts = path.relative_to(SRC).parts
    return parts[0] if len(parts) > 1 else ""


@dataclass(frozen=True)
class Source:
    """What the tests ask of a file. Its tree is not kept: a million objects slow down every test that comes after."""

    text: str
    docstring: str | None
    imports: tuple[str, ...]
    public_classes: tuple[str, ...]
    attributes: frozenset[str]
    fields: tuple[tuple[str, int], ...]  # classes that declare too many
    by_a_bare_name: tuple[str, ...]
    named_mode: tuple[int, ...]
    late_imports: int  # inside a function


@cache
def source(path: Path) -> Source:
    text, name = path.read_text(), place(path)
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    at_the_top = _outside_functions(tree)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return Source(
        text,
        ast.get_docstring(tree),
        imports=tuple(imported for node in imports for imported in _imported(node)),
        public_classes=tuple(node.name for node in classes if not node.name.startswith("_")),
        attributes=frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute)),
        fields=tuple((node.name, count) for node in classes if (count := fields(node)) > MOST_FIELDS),
        by_a_bare_name=tuple(wrong for node in nodes if (wrong := _by_a_bare_name(node, name))),
        named_mode=tuple(line for node in nodes if (line := _named_mode(node))),
        late_imports=len(imports) - at_the_top,
    )


def fields(node: ast.ClassDef) -> int:
    return sum(isinstance(one, ast.AnnAssign) for one in node.body)


def _outside_functions(node: ast.AST) -> int:
    """How many imports stand where they run with the module."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return 1
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.expr):
        return 0
    return sum(map(_outside_functions, ast.iter_child_nodes(node)))


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def test_a_file_imports_only_what_its_layer_may() -> None:
    wrong = [
        f"{path.relative_to(SRC)}: {name}" for path in FILES for name in source(path).imports if not may(path, name)
    ]
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


# Where an import may stand inside a function, and why. Elsewhere `load("module:name")` of `quintet.package` names what
# a registry, a table of commands or a surface's door loads.
LATE_IMPORTS = {
    "adapters/models/errors.py": "redaction, which only a server that fails needs",
    "cli/main.py": "the program's door: its version is told before anything else is loaded",
    "features/registry.py": "a start without plugins or tools does without what they need",
    "features/browser/chromium.py": "Playwright takes half a second, and may not be installed",
    "features/browser/page_view.py": "difflib, which only a page that has changed needs",
    "features/mcp/serving/command.py": "the SDK of MCP may not be installed, which is reported first",
    "features/mcp/serving/surface.py": "uvicorn, which only a server over HTTP needs",
    "features/otel/observer.py": "OpenTelemetry may not be installed",
    "features/web_search/page_child.py": "trafilatura may not be installed",
    "features/acp/cli.py": "the SDK may not be installed, which is reported first",
    "features/web_ui/cli.py": "Starlette and uvicorn may not be installed, which is reported first",
    "adapters/files/loose_json.py": "json, for a reply that is not right",
    "adapters/files/paths.py": "git's settings, which only a folder of another user's asks for",
    "adapters/files/pdf_text.py": "the reader of PDF files",
    "adapters/http/client.py": "email.utils, for an answer that says when to come again",
    "adapters/models/discovery.py": "http.client, for a look at servers of this machine",
    "adapters/processes/python_environment.py": "importlib.metadata takes 15 ms",
    "engine/cycle/doctor_checks.py": "asyncio, which `quintet status` looks at health without",
    "adapters/processes/system.py": "commands that only look have no event loop",
    "adapters/protected/left_behind.py": "for a project that a killed process left something in",
    "adapters/sandbox/__init__.py": "the door of the sandboxes: one of them is loaded",
    "adapters/sandbox/containment.py": "for a sandbox that has to watch the project",
    "adapters/sandbox/project_watch.py": "for a command that runs git",
    "adapters/sandbox/user_network.py": "runs apart, and starts with little",
    "adapters/secrets/store.py": "keyring takes long, and may not be installed",
    "adapters/settings/file.py": "tomlkit, to change a settings file",
    "adapters/settings/model_tables.py": "tomlkit, to change a settings file",
    "adapters/settings/layers.py": "tomllib, where there is a settings file",
    "adapters/settings/trust.py": "tomllib, where a project brings settings",
    "adapters/shell_grammar/parse.py": "tree-sitter, at the first line that is parsed",
    "adapters/sqlite/contents.py": "hashlib, for the first long text that is written",
    "adapters/sqlite/database.py": "shutil, for a database that is put aside",
    "adapters/sqlite/rows.py": "the journal's events, which a list of sessions does without",
    "app/lookups.py": "the keys of models, which a look at sessions does without",
    "domain/base/wording.py": "difflib, for a name that is not there",
    "domain/journal/file_changes.py": "difflib, for /diff",
    "domain/permission/trusted_content.py": "difflib and hashlib, where a project brings something",
    "domain/edits/match.py": "difflib, for text that is not there to the letter",
    "domain/edits/edit.py": "difflib, for text that is not there at all",
    "engine/commands/table.py": "the door of the slash commands",
    "engine/session/input_runner.py": "for a cycle, or the run of an agent",
    "engine/turn/toolbox.py": "for a shell line",
    "surfaces/tui/keys.py": "dialogs, when the first one opens",
    "surfaces/tui/transcript/highlight.py": "Pygments, at the first code that is shown",
    "domain/edits/file_diff.py": "difflib, once a file is changed",
}


def test_imports_stand_at_the_top() -> None:
    found = {place(path) for path in FILES if source(path).late_imports}
    assert found - LATE_IMPORTS.keys() == set(), "import it at the top, or say in LATE_IMPORTS why not"
    listed = {name for name in LATE_IMPORTS if (SRC / name).exists()}  # a feature may have been taken out
    assert listed - found == set(), "they have none any more: take them off the list"


def test_a_public_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for name in source(path).public_classes:
            homes.setdefault(name, []).append(place(path))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


MANY_FIELDS = {
    "CallEntry": "wire format: quintet forensics --json",
    "CycleRecord": "wire format: the record of a cycle's run",
    "ExecutorEnded": "wire format: an event",
    "Header": "wire format: the first line of a recording",
    "KeySettings": "a settings table",
    "ModelSettings": "a settings table",
    "RequestLine": "wire format: quintet logs --json",
    "SessionSummary": "wire format: a row of the store",
    "Settings": "the settings, by table",
    "StatusAnswer": "wire format: quintet status --json",
    "ToolResult": "wire format: the result of a call in a recording",
}


def test_a_value_has_few_fields() -> None:
    found = {name for path in FILES for name, _ in source(path).fields}
    assert found - MANY_FIELDS.keys() == set(), f"more than {MOST_FIELDS}: cut it by who needs what"
    assert MANY_FIELDS.keys() - found == set(), "they have fewer now: take them off the list"


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
    assert [
        f"{path.name}: {name}" for path in paths for name in source(path).imports if name.split(".")[0] not in pure
    ] == []


STARTS = {"run", "Popen", "check_output", "check_call", "call", "create_subprocess_exec", "create_subprocess_shell"}
LOOKS_ONLY = {  # whether something is there; or in folders that were chosen
    "adapters/shell_grammar/programs.py",
    "features/language_servers/registry.py",
    "surfaces/tour.py",
}


def test_programs_on_the_host_are_found_by_host_programs() -> None:
    """A bare name is looked for on PATH, where a project may stand first; so are `which` and a shell."""
    for path in FILES:
        assert place(path) in LOOKS_ONLY or not {"shutil.which", "webbrowser"} & set(source(path).imports), path
        assert source(path).by_a_bare_name == (), path


def _by_a_bare_name(node: ast.AST, file: str) -> str:
    """The call, if it has PATH or a shell look for a program."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
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
    "app/tour.py": "the tour's project, which is a project like any other",
}


def test_temporary_folders_are_quintets_own() -> None:
    """The machine's temporary folder may lie in a project, where a command changes what we run or read."""
    named = {"tempfile", "mkdtemp", "mkstemp", "gettempdir", "NamedTemporaryFile", "TemporaryDirectory"}
    for path in FILES:
        found = [name for name in source(path).imports if name.split(".")[0] == "tempfile"]
        assert not found or place(path) in TEMPORARY, f"{path}: {found}; use temporary_folders"
        uses = source(path).attributes & named
        assert not uses or place(path) in TEMPORARY, f"{path}: {uses}; use temporary_folders"


def test_no_source_file_is_too_long() -> None:
    long = {
        str(path.relative_to(SRC)): lines
        for path in FILES
        if (lines := len(source(path).text.splitlines())) > MOST_LINES
    }
    assert long == {}


def test_nothing_of_ours_is_named_mode() -> None:
    found = [f"{path.relative_to(SRC)}:{line}" for path in FILES for line in source(path).named_mode]
    assert found == [], "say which: work_mode, model_mode, …"


def _named_mode(node: ast.AST) -> int:
    """The line that gives something this name."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        names = [node.name, *(argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))]
    elif isinstance(node, ast.ClassDef):
        names = [node.name]
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        names = [node.id]
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        names = [node.target.id]
    else:
        return 0
    return node.lineno if "mode" in names else 0


def test_every_module_says_what_it_is_for() -> None:
    assert [str(path) for path in FILES if source(path).text.strip() and not source(path).docstring] == []


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_command_line_imports_nothing_heavy_to_say_its_version() -> None:
    loaded = loaded_by("from quintet.cli.main import main; main(['--version'])")
    assert not loaded & {"msgspec", "apsw", "asyncio", "argparse", "h11", "typing"}


def test_the_help_is_written_without_settings_and_values() -> None:
    loaded = loaded_by("from quintet.cli.commands import main_parser; main_parser().format_help()")
    assert not loaded & {"msgspec", "asyncio", "inspect", "quintet.domain.settings.settings"}


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
        "quintet.domain.permission.trust_summary",
        "pypdf",
        "pypdfium2",
    }
