"""Writes docs/words.txt: every text of the source that a person can read, one a line, behind the file it stands in.

What is listed: a string or f-string of two words or more. A placeholder stands as `{name}`, a line's end as `\\n`, so a
change of wording is one line of a diff. What is not listed, by `_Texts` and `_code`: docstrings (those of tools,
settings, events and errors are docs/reference), what is compared, searched for, split or parsed, and what is SQL, a
pattern, a style, a script or a list of names. One word alone is a name, not a text.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "quintet"
LIST = ROOT / "docs" / "words.txt"

# Methods and functions whose strings look for something, and functions whose strings are no prose.
LOOKS = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit", "find"}
    | {"index", "count", "strip"}
)
PATTERNS = frozenset(["compile", "match", "fullmatch", "search", "findall", "finditer", "sub", "subn"])
OTHERS = frozenset(["execute", "executemany", "executescript", "import_module", "getenv", "TypeVar", "NewType"])
LISTS = frozenset(["listed", "_set", "_each", "_open", "_words"])  # their strings are lists of names
# Files that hold tables of names, and no sentence.
TABLES = frozenset(
    {
        "adapters/offline_rules/phrasing.py",
        "domain/agents/words.py",
        "domain/models/known_models.py",
        "domain/shell/variables.py",
        "domain/turn/change_request.py",
    }
)
# Names of values that are no prose: style sheets, patterns, statements.
NAMES = re.compile(r"CSS|_SQL|SQL_|PATTERN|REGEX|GRAMMAR|__all__|__slots__")
SQL = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|WITH|VACUUM|ATTACH|REPLACE INTO) ")
SIGNS = re.compile(r"\\[bdswS(\[.]|\(\?[:=!<P]|\[\^|=> |;\n|\) \{|^#!|^(?:-\w|--\w[\w-]*) ")
TAG = re.compile(r"</?[a-z][^<>]*>|<!?[A-Za-z/][^<>]*$|^[^<>]*\">")
SPOKEN = re.compile(r'(?:aria-label|title|placeholder)="([^"{}]+)"')
WORD = re.compile(r"[^\W\d_]{2,}")


def texts(source: str) -> list[str]:
    """The texts of one file, in their order, each once."""
    finder = _Texts()
    finder.visit(ast.parse(source))
    return list(dict.fromkeys(finder.found))


def made() -> str:
    files = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    lines = [
        f"{name}: {text}"
        for name in sorted(files.keys() - TABLES)
        for text in texts(files[name].read_text(encoding="utf-8"))
    ]
    return "\n".join(lines) + "\n"


class _Texts(ast.NodeVisitor):
    """Walks a file and keeps what reads as text."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._take(node.value, node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        shown = plain = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                shown += str(part.value)
                plain += str(part.value)
            elif isinstance(part, ast.FormattedValue):
                shown += f"{{{_name(part.value)}}}"
                plain += "{}"
                self.visit(part.value)
        self._take(shown, plain)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # else a docstring
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for part in (node.left, *node.comparators):
            if not isinstance(part, ast.Constant | ast.Tuple | ast.Set | ast.List):
                self.visit(part)

    def visit_Call(self, node: ast.Call) -> None:
        name = _last(node.func)
        if name in LOOKS | PATTERNS | OTHERS | LISTS:
            if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Constant):
                self.visit(node.func.value)
            for argument in node.args:
                if not isinstance(argument, ast.Constant | ast.JoinedStr):
                    self.visit(argument)
            return
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(NAMES.search(_last(target)) for target in node.targets):
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value and not NAMES.search(_last(node.target)):
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """An annotation holds no text."""

    def visit_match_case(self, node: ast.match_case) -> None:
        for part in node.body:
            self.visit(part)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if _last(node.value) not in ("Literal", "Annotated"):
            self.generic_visit(node)

    def _take(self, shown: str, plain: str) -> None:
        if TAG.search(plain):  # of a page: the texts between its tags, and those that a reader's tools say
            for piece in (*SPOKEN.findall(shown), *TAG.split(shown)):
                self._take(piece, re.sub(r"\{[^}]*\}", "{}", piece))
        elif not _code(plain):
            self.found.append(shown.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").strip())


def _code(text: str) -> bool:
    """Whether a string is no text: no two words, or a pattern, a statement, a style."""
    words = WORD.findall(text.replace("{}", " "))
    held = text.count("{}")
    if not words or not re.search(r"\S\s+\S", text.strip()) or len(words) + held < 2:
        return True
    if any(not char.isprintable() and char not in "\n\t" for char in text):
        return True
    return bool(SQL.match(text) or SIGNS.search(text))


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _name(node: ast.expr) -> str:
    """What a placeholder is called: the last name of what it holds."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Attribute(value=value, attr="join")) if isinstance(value, ast.Constant):
            return _name(node.args[0]) if node.args else "…"
        case ast.Call(func=function, args=[first, *_]) if _last(function) in (
            "len",
            "str",
            "sorted",
            "visible",
            "repr",
        ):
            return _name(first)
        case ast.Call(func=function):
            return _last(function) or "…"
        case ast.Subscript(value=value):
            return _name(value)
    return "…"


def main(arguments: Sequence[str]) -> int:
    check = list(arguments) == ["--check"]
    if arguments and not check:
        print("usage: scripts/docs [--check]", file=sys.stderr)
        return 2
    text = made()
    if LIST.exists() and LIST.read_text(encoding="utf-8") == text:
        return 0
    if not check:
        LIST.write_text(text, encoding="utf-8")
    print(f"{'out of step' if check else 'written'}: docs/{LIST.name}")
    return 1 if check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
