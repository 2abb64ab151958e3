"""The languages whose symbols are known: how a file's is told, and the grammar and query of each.

A grammar is a package of its own and is loaded when the first file of its language is read. One that is missing leaves
its files without symbols; their words are found all the same.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import import_module

from msgspec import Struct
from tree_sitter import Language, Parser, Query

QUERIES = os.path.join(os.path.dirname(__file__), "queries")
IMPLEMENTATION_ONLY = "; implementation only"  # what follows in a query does not fit a grammar of interfaces
_SHEBANG = re.compile(rb"#!.*?(\w+?)[\d.]*(?:\s|$)(?:-\S+\s+)*(\w*)")


class Grammar(Struct, frozen=True):
    """How a language is parsed: a function of a package, and the query for what a file declares."""

    language: str
    module: str
    function: str
    query: str


def _of(language: str, module: str = "", function: str = "language", query: str = "") -> Grammar:
    return Grammar(language, f"tree_sitter_{module or language}", function, query or language)


_GRAMMARS: dict[str, tuple[Grammar, str]] = {
    "python": (_of("python"), "py pyi pyw"),
    "javascript": (_of("javascript"), "js mjs cjs jsx"),
    "typescript": (_of("typescript", function="language_typescript"), "ts mts cts"),
    "tsx": (_of("typescript", function="language_tsx"), "tsx"),
    "go": (_of("go"), "go"),
    "rust": (_of("rust"), "rs"),
    "c": (_of("c"), "c h"),
    "cpp": (_of("cpp"), "cc cpp cxx c++ hh hpp hxx h++ ipp tpp cu cuh"),
    "java": (_of("java"), "java"),
    "ruby": (_of("ruby"), "rb rake gemspec ru"),
    "php": (_of("php", function="language_php"), "php phtml"),
    "csharp": (_of("csharp", "c_sharp"), "cs csx"),
    "bash": (_of("bash"), "sh bash"),
    "kotlin": (_of("kotlin"), "kt kts"),
    "scala": (_of("scala"), "scala sc sbt"),
    "lua": (_of("lua"), "lua"),
    "swift": (_of("swift"), "swift"),
    "haskell": (_of("haskell"), "hs"),
    "elixir": (_of("elixir"), "ex exs"),
    "julia": (_of("julia"), "jl"),
    "ocaml": (_of("ocaml", function="language_ocaml"), "ml"),
    "ocaml_interface": (_of("ocaml", function="language_ocaml_interface"), "mli"),
}
LANGUAGES: tuple[str, ...] = tuple(dict.fromkeys(grammar.language for grammar, _ in _GRAMMARS.values()))
_BY_ENDING = {ending: name for name, (_, endings) in _GRAMMARS.items() for ending in endings.split()}
_BY_NAME = {"rakefile": "ruby", "gemfile": "ruby", "vagrantfile": "ruby", "sconstruct": "python", "wscript": "python"}
_BY_PROGRAM = {
    "python": "python",
    "node": "javascript",
    "bash": "bash",
    "sh": "bash",
    "dash": "bash",
    "zsh": "bash",
    "ruby": "ruby",
    "php": "php",
    "lua": "lua",
    "elixir": "elixir",
    "julia": "julia",
}
_CPP_IN_HEADER = re.compile(rb"^\s*(?:class\s+\w+|namespace\b|template\s*<|using\s+\w+|public:|private:)", re.MULTILINE)


def grammar_name(path: str, content: bytes) -> str:
    """The key of the grammar for a file, by its name or, where that says too little, its content; empty if none is."""
    name = path.rpartition("/")[2].lower()
    ending = name.rpartition(".")[2] if "." in name else ""
    found = _BY_ENDING.get(ending) or _BY_NAME.get(name, "")
    if found == "c" and ending == "h" and _CPP_IN_HEADER.search(content):
        return "cpp"
    if not found and not ending and content.startswith(b"#!"):
        told = _SHEBANG.match(content[:200])
        words = [word.decode() for word in told.groups()] if told else []
        return next(
            (_BY_PROGRAM[word.rstrip("0123456789")] for word in words if word.rstrip("0123456789") in _BY_PROGRAM), ""
        )
    return found


def language_of(grammar: str) -> str:
    return _GRAMMARS[grammar][0].language if grammar else ""


class LoadedGrammar(Struct, frozen=True):
    """A grammar that was loaded."""

    parser: Parser
    query: Query


@cache
def reader(name: str) -> LoadedGrammar | None:
    """None where the grammar's package is missing or does not fit."""
    grammar = _GRAMMARS[name][0]
    try:
        language = Language(getattr(import_module(grammar.module), grammar.function)())
    except (ImportError, AttributeError, ValueError):
        return None
    with open(os.path.join(QUERIES, f"{grammar.query}.scm"), encoding="utf-8") as file:
        text = file.read()
    if name.endswith("_interface"):
        text = text.partition(IMPLEMENTATION_ONLY)[0]
    return LoadedGrammar(Parser(language), Query(language, text))


def missing() -> list[str]:
    """The languages whose grammar is not installed."""
    return [name for name in LANGUAGES if reader(name) is None]
