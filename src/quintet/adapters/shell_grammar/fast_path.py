"""Lines so plain that their grammar is regular: read at once, without a tree, at a fraction of the cost.

Plain and quoted words, `$x`, redirections to plain names, joined by `&&`, `||`, `|`, `;` and new lines, and the loops
and conditions over them. Anything else in the line, and it is not read here at all but by the grammar.
"""

from __future__ import annotations

import re

from quintet.adapters.shell_grammar.quoting import PLAIN
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.shell.syntax import Redirect, Script, ShellAssignment, ShellCommand, Word

_NAME = r"[A-Za-z_]\w*+"
_VALUE = rf"\$(?:{_NAME}|\{{{_NAME}\}}|[0-9@*?])"
_QUOTED = rf"'[^']*+'|\"(?:[^\"$`\\]++|{_VALUE})*+\""
_WORD = rf"(?:{PLAIN}++|{_QUOTED}|{_VALUE}|\{{\}}|\\;)++"
_TARGET = r"(?:[\w./-]++)(?=[ ;|\n]|$)"
_REDIRECT = rf"(?<= )\d?(?:&>>|&>|>>|>\||>&|<|>) ?{_TARGET}"
_TOKENS = regex(rf"(?:{_REDIRECT}|{_WORD}|&&|\|\||[;|\n]) *", re.ASCII)
_OPENED = regex(r"\d?([<>&|]+) ?(.+)")
_PIECES = regex(rf"{PLAIN}+|{_QUOTED}|{_VALUE}|\{{\}}|\\;", re.ASCII)
_VALUES = regex(rf"({_VALUE})", re.ASCII)
_ASSIGNMENT = regex(rf"({_NAME})=(.*)", re.ASCII | re.DOTALL)
_SEPARATORS = frozenset({"&&", "||", "|", ";", "\n"})
_MARKED = frozenset("'\"$\\*?")
# At the place of a command these mean something else, which the grammar knows to read.
_ELSEWHERE = word_set(
    "{} { } ! [ [[ ]] coproc function case esac select in export declare typeset local readonly unset"
)
_DUE = {"then": "then", "do": "do", "else": "fi", "elif": "fi", "fi": "fi", "done": "done"}
_NEXT = {"if": "then", "elif": "then", "while": "do", "until": "do", "then": "fi", "else": "fi", "do": "done"}
_USUAL = {
    "2>&1": Redirect(">&", Word("1")),
    "2>/dev/null": Redirect(">", Word("/dev/null")),
    ">/dev/null": Redirect(">", Word("/dev/null")),
}
_KEYWORDS = _DUE.keys() | _NEXT.keys()


def flat(line: str) -> Script | None:
    """The script, or None if the line is not that plain."""
    tokens = _TOKENS.findall(line)
    if sum(map(len, tokens)) != len(line):
        return None
    reading = _Flat("cd" in line or "pushd" in line or "popd" in line)
    if not reading.read(tokens):
        return None
    return Script(tuple(reading.commands), "", False, reading.expands)


class _Flat:
    """One line being read; its methods say whether they understood."""

    def __init__(self, moving: bool) -> None:
        self.moving = moving
        self.commands: list[ShellCommand] = []
        self.expands = False
        self.due: list[str] = []  # the keyword that has to come next in each loop and condition that is open
        self.straight = True  # whether all of this chain so far holds for what comes after `&&`
        self.mentioned = False  # whether the last pipeline of it says to move
        self.moved = False  # whether the last of the chain may have moved in a shell of its own

    def read(self, tokens: list[str]) -> bool:
        before = ";"
        closed = False  # a loop or condition has ended, and nothing else has begun
        current: list[str] = []
        for token in tokens:
            if token[-1] == " ":
                token = token.rstrip(" ")
            if token in _SEPARATORS:
                if current:
                    if not self.statement(current, before):
                        return False
                    current = []
                elif not closed and (token != "\n" or before not in (";", "\n")):
                    return False
                closed = False
                before = token
            elif closed:
                if not _MARKED.isdisjoint(token) or ("<" not in token and ">" not in token):
                    return False
                self.commands.append(ShellCommand((), (), (_opened(token),)))
            elif not current and token in _KEYWORDS:
                if not self.keyword(token):
                    return False
                closed = token in ("fi", "done")
                before = ";"
            else:
                current.append(token)
        if current:
            return self.statement(current, before) and not self.due
        return not self.due and (closed or before in (";", "\n"))

    def keyword(self, token: str) -> bool:
        if token in _DUE and (not self.due or self.due.pop() != _DUE[token]):
            return False
        if token in _NEXT:
            self.due.append(_NEXT[token])
        return not self.moving

    def statement(self, tokens: list[str], before: str) -> bool:
        first = tokens[0]
        if first in _ELSEWHERE:
            return False
        if first == "for":
            return self.loop(tokens)
        words: list[Word] = []
        assignments: list[ShellAssignment] = []
        redirects: list[Redirect] = []
        for token in tokens:
            if not _MARKED.isdisjoint(token):
                if words or "=" not in token:
                    words.append(self.word(token))
                elif assigned := _ASSIGNMENT.fullmatch(token):
                    assignments.append(ShellAssignment(assigned[1], self.word(assigned[2])))
                else:
                    return False
            elif "<" in token or ">" in token:
                redirects.append(_USUAL.get(token) or _opened(token))
            elif not words and "=" in token:
                name, _, value = token.partition("=")
                if not name.isidentifier():
                    return False
                assignments.append(ShellAssignment(name, Word(value)))
            else:
                words.append(Word(token))
        follows = self.moving and self.follows(tokens, before, bool(redirects))
        if words and words[0].text == "for":
            return False  # quoted, and no loop
        self.commands.append(ShellCommand(tuple(words), tuple(assignments), tuple(redirects), follows))
        return True

    def loop(self, tokens: list[str]) -> bool:
        if len(tokens) < 3 or tokens[2] != "in" or not tokens[1].isidentifier() or self.moving:
            return False
        values = map(self.word, tokens[3:])
        self.commands.append(ShellCommand((Word("for"), *values), (ShellAssignment(tokens[1], Word("")),)))
        self.due.append("do")
        return True

    def follows(self, tokens: list[str], before: str, opens: bool) -> bool:
        moves = any("cd" in token or "pushd" in token or "popd" in token for token in tokens)
        if before == "|":
            self.mentioned = self.moved = self.mentioned or moves
            return False
        if before == "&&":
            self.straight = self.straight and not self.moved
        else:
            self.straight = before != "||"
        self.mentioned = moves
        self.moved = moves and opens
        return before == "&&" and self.straight

    def word(self, token: str) -> Word:
        """A word with quotes, variables or patterns in it."""
        mark, inner = token[:1], token[1:-1]
        if (mark == "'" or mark == '"') and mark not in inner and (mark == "'" or "$" not in inner):
            return Word(inner)
        if mark == '"' and inner[:1] == "$" and inner[1:].isidentifier():
            self.expands = True
            return Word("$", True, False, ("", inner[1:], ""))
        parts = [""]  # text, variable, text, …
        glob = False
        for piece in _PIECES.findall(token):
            if "$" in piece and piece[0] != "'":
                text, *others = _VALUES.split(piece[1:-1] if piece[0] == '"' else piece)
                parts[-1] += text
                parts += [part.strip("${}") if place % 2 == 0 else part for place, part in enumerate(others)]
            elif piece[0] in "'\"":
                parts[-1] += piece[1:-1]
            else:
                parts[-1] += piece.lstrip("\\")
                glob = glob or "*" in piece or "?" in piece
        if len(parts) == 1:
            return Word(parts[0], False, glob)
        self.expands = True
        return Word("$".join(parts[::2]), True, glob, tuple(parts))


def _opened(token: str) -> Redirect:
    operator, target = _OPENED.findall(token)[0]
    return Redirect(operator, Word(target))
