"""Source code as spans, by the language its fence names: line by line while it streams, whole when it is there."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from quintet.surfaces.tui.transcript.rows import Span

MOST_WHOLE = 500  # lines that are read as one piece; of more, each by itself
CODE = "code"
_ROLES = (
    ("Token.Comment", "dim"),
    ("Token.Keyword", "accent"),
    ("Token.Literal.String", "success"),
    ("Token.Literal.Number", "warning"),
    ("Token.Name.Function", "info"),
    ("Token.Name.Class", "info"),
    ("Token.Name.Decorator", "info"),
    ("Token.Name.Tag", "accent"),
    ("Token.Name.Builtin", "info"),
    ("Token.Operator.Word", "accent"),
    ("Token.Generic.Inserted", "success"),
    ("Token.Generic.Deleted", "error"),
    ("Token.Generic.Subheading", "info"),
)


@lru_cache(64)
def _lexer(language: str) -> Any:
    """The lexer of a language, or None; the library is loaded when the first fence with a language is shown."""
    if not language:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(256)
def _role(kind: Any) -> str:
    name = str(kind)
    return next((f"{CODE} {role}" for prefix, role in _ROLES if name.startswith(prefix)), CODE)


def code_line(language: str, line: str) -> list[Span]:
    return code_lines(language, [line])[0]


def code_lines(language: str, lines: list[str]) -> list[list[Span]]:
    """Each line's spans. A multi-line string is recognised only where its lines are given together."""
    lexer = _lexer(language.lower())
    if lexer is None:
        return [[(line, CODE)] for line in lines]
    if len(lines) > MOST_WHOLE:
        return [code_lines(language, [line])[0] for line in lines]
    out: list[list[Span]] = [[]]
    for kind, text in lexer.get_tokens("\n".join(lines)):
        role = _role(kind)
        for number, piece in enumerate(text.split("\n")):
            if number:
                out.append([])
            if piece:
                out[-1].append((piece, role))
    out += [[] for _ in range(len(lines) - len(out))]
    return [spans or [("", CODE)] for spans in out[: len(lines)]]
