"""Hold the index to what language servers say, and to questions with known answers, on real packages.

scripts/check index [--from FOLDER] [--part right|useful]: installs django, flask, httpx and rich with pip into a
temporary folder (or a folder of yours, which the next run takes as it is), and basedpyright as the language server.

right: of what basedpyright says a file declares (classes, functions, methods, variables and constants of modules and
classes), how much the index has; of the files that it says refer to a symbol, how many the index finds.
useful: 60 questions, each with the file that answers it. In how many of them the file is among the first ten of the
index's search, of ripgrep on the question's words (files by how many of them they have), and of a map without rank.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quintet.app.machine_parts import find_ripgrep
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.features.index.build import Builder, Job
from quintet.features.index.search import find_references, search_code
from quintet.features.index.store import IndexStore
from quintet.features.index.words import asked

PACKAGES = ("django", "flask", "httpx", "rich")
REQUIRED = {"definitions": 0.98, "references": 0.90, "search": 0.85}
COMPARED = ("flask", "httpx", "rich")  # with the language server
REFERENCES = 40  # symbols of each package
SYMBOL_KINDS = {5, 6, 9, 12, 13, 14}  # class, method, constructor, function, variable, constant
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
    parser.add_argument("--part", choices=("right", "useful"), default="", help="only this")
    wanted = parser.parse_args()
    assert sum(map(len, QUESTIONS.values())) == 60
    with tempfile.TemporaryDirectory(prefix="quintet-check-") as temporary:
        folder = Path(wanted.folder or temporary).resolve()
        packages = _installed(folder)
        missed = []
        if wanted.part != "right":
            missed += _useful(packages, Path(temporary))
        if wanted.part != "useful":
            missed += _right(packages, folder, Path(temporary))
    for line in missed:
        print(f"MISSED: {line}")
    return 1 if missed else 0


def _installed(folder: Path) -> Path:
    packages = folder / "packages"
    if not packages.exists():
        pip = [sys.executable, "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "--no-deps", "-t", str(packages), *PACKAGES], check=True)
        subprocess.run([*pip, "-t", str(folder / "server"), "basedpyright"], check=True)
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


# ── the language server


class Server:
    """basedpyright over stdio, asked one thing at a time."""

    def __init__(self, folder: Path, root: Path) -> None:
        program = folder / "server" / "bin" / "basedpyright-langserver"
        environment = {**os.environ, "PYTHONPATH": str(folder / "server")}
        self._process = subprocess.Popen(
            [sys.executable, str(program), "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._number = 0
        capabilities = {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
        folders = [{"uri": root.as_uri(), "name": root.name}]
        start = {"processId": os.getpid(), "rootUri": root.as_uri(), "capabilities": capabilities}
        self.ask("initialize", {**start, "workspaceFolders": folders})
        self._send({"method": "initialized", "params": {}})

    def open(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == self._number and "method" not in message:
                return message.get("result")
            if "method" in message and "id" in message:  # it asks for settings and the like
                items = message.get("params", {}).get("items", []) if message["params"] else []
                self._send({"id": message["id"], "result": [{} for _ in items] or None})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        size = 0
        while (line := self._process.stdout.readline().strip()) or not size:
            if line.lower().startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
            elif not line and self._process.poll() is not None:
                raise SystemExit("basedpyright has ended")
        message: dict[str, Any] = json.loads(self._process.stdout.read(size))
        return message

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def _right(packages: Path, folder: Path, temporary: Path) -> list[str]:
    rows, missed = [], []
    for package in COMPARED:
        root = packages / package
        server = Server(folder, root)
        try:
            with _indexed(root, temporary) as store:
                definitions, references = _compared(server, store, root)
        finally:
            server.close()
        rows.append((package, definitions, references))
        missed += [f"{package}: definitions {definitions:.3f}"] if definitions < REQUIRED["definitions"] else []
        missed += [f"{package}: references {references:.3f}"] if references < REQUIRED["references"] else []
    print(f"{'package':<12}{'definitions':>12}{'references':>12}   against basedpyright")
    for package, definitions, references in rows:
        print(f"{package:<12}{definitions:>12.3f}{references:>12.3f}")
    return missed


def _compared(server: Server, store: IndexStore, root: Path) -> tuple[float, float]:
    there = have = 0
    candidates: list[tuple[Path, str, dict[str, Any]]] = []
    files = sorted(root.rglob("*.py"))
    for path in files:
        server.open(path)
    for path in files:
        place = str(path.relative_to(root))
        known = {(one.name, one.line) for one in store.outline(place)}
        symbols = server.ask("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}}) or []
        for name, at, top in _declared(symbols):
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
        asked_for = {"textDocument": {"uri": path.as_uri()}, "position": at, "context": {"includeDeclaration": True}}
        places = server.ask("textDocument/references", asked_for) or []
        expected = {one["uri"] for one in places if one["uri"].startswith(root.as_uri())}
        lines = find_references(store, str(root), name, 10_000).lines
        got = {(root / one.path).as_uri() for one in lines}
        wanted += len(expected)
        found_files += len(expected & got)
    return have / max(there, 1), found_files / max(wanted, 1)


def _declared(symbols: list[dict[str, Any]], inside: int = 0) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """What modules and classes declare; what is local to a function is not."""
    for symbol in symbols:
        kind = symbol["kind"]
        if kind in SYMBOL_KINDS and inside in (0, 5):
            yield symbol["name"], symbol["selectionRange"]["start"], inside == 0
        if kind == 5:
            yield from _declared(symbol.get("children") or [], 5)


if __name__ == "__main__":
    raise SystemExit(main())
