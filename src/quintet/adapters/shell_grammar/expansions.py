"""What stands inside words and tests of a shell line: expansions, patterns, arithmetic, assignments.

The part of a reading that knows nothing of statements. Whatever it finds that runs by itself goes on the stack, to be
looked at in its turn.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quintet.adapters.shell_grammar.quoting import PLAIN, Misread, spelled
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.shell.syntax import ShellAssignment, ShellCommand, Word

if TYPE_CHECKING:
    from tree_sitter import Node

_UNSPACED = regex(rf"{PLAIN}+", re.ASCII)
_ACTIVE = regex(r"[`\\]|\$[^\s\"')|]")
_IDENTIFIER = regex(r"[A-Za-z_]\w*", re.ASCII)


SUBSTITUTIONS = word_set("command_substitution process_substitution")
EXPRESSIONS = word_set(
    "unary_expression binary_expression postfix_expression parenthesized_expression ternary_expression"
)
EXPANSIONS = SUBSTITUTIONS | {"expansion", "arithmetic_expansion"}
WORDS = EXPANSIONS | word_set(
    "word number string raw_string ansi_c_string concatenation simple_expansion brace_expression"
)
PATTERNS = frozenset({"regex", "extglob_pattern"})
NAMES = frozenset({"variable_name", "special_variable_name"})
_EXPANSION_TOKENS = word_set("${ } # ## % %% / // /# /% : :- - :+ + :? ? , ,, ^ ^^ [ ]")
_KEEPS = word_set("} :- - := = :+ + :? ?") | {""}  # operators of `${x…}` that leave the value as it is
_COMPARES = word_set("-eq -ne -lt -le -gt -ge -v")


class Insides:
    """One line being read. `stack` holds what is still to be looked at, with whether they follow on success."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ascii = text.isascii()
        self.commands: list[ShellCommand] = []
        self.evaluates = False
        self.expands = False
        self.defaults: list[ShellAssignment] = []
        self.stack: list[tuple[Node | ShellCommand, bool]] = []

    def gap(self, start: int, end: int, *, newline: bool = True) -> None:
        """What stands between two things that were looked at has to be blank."""
        between = self.text[start:end]
        if between == " ":
            return
        kept = between.replace("\\\n", "")
        if kept.strip(" \t\n" if newline else " \t") or not kept:
            raise Misread("a line that continues inside a word" if not kept else "the syntax")

    def spaced(self, node: Node) -> None:
        """Between the children of a node nothing but blanks."""
        start = node.start_byte
        for child in node.children:
            if child.start_byte != start:
                self.gap(start, child.start_byte)
            start = child.end_byte
        if start != node.end_byte:
            self.gap(start, node.end_byte)

    def word(self, node: Node) -> Word:
        start, end = node.start_byte, node.end_byte
        raw = self.text[start:end]
        if self.ascii and _UNSPACED.fullmatch(raw):
            return Word(raw, False, "*" in raw or "?" in raw)
        skips: list[tuple[int, int, str, str]] = []
        inner = [node]
        while inner:
            child = inner.pop()
            kind = child.type
            if kind in EXPANSIONS or kind == "simple_expansion":
                skips.append((child.start_byte - start, child.end_byte - start, kind, self.variable(child)))
                if kind != "simple_expansion":
                    self.stack.append((child, False))
            else:
                inner += child.children
        word = spelled(raw, sorted(skips))
        self.expands = self.expands or bool(skips)
        if self.ascii:
            return word
        return Word(_decoded(word.text), word.dynamic, word.glob, tuple(map(_decoded, word.parts)))

    def variable(self, node: Node) -> str:
        """The name under which the value of an expansion may be known; empty if it is not."""
        children = node.children
        if node.type == "command_substitution":
            return f"({node.start_byte}"
        if node.type == "arithmetic_expansion" or len(children) < 2:
            return ""
        name, operator = children[1], children[2].type if len(children) > 2 else ""
        if name.type == "subscript":
            name = name.children[0]
        if operator not in _KEEPS or name.type not in NAMES:
            return ""
        return self.text[name.start_byte : name.end_byte]

    def pattern(self, node: Node) -> None:
        """A pattern or regular expression: what runs in it has to be what the tree says."""
        start = node.start_byte
        for child in node.children:
            if child.type in EXPANSIONS:
                self.stack.append((child, False))
            elif child.type not in WORDS:
                raise Misread("a pattern")
            self.inert(start, child.start_byte)
            start = child.end_byte
        self.inert(start, node.end_byte)

    def inert(self, start: int, end: int) -> None:
        if _ACTIVE.search(self.text[start:end].replace("\\", "")):
            raise Misread("a pattern")

    def expansion(self, node: Node) -> None:
        """`${…}`: what may stand in it, and what in that is run."""
        name = ""
        self.spaced(node)
        for child in node.children:
            kind = child.type
            raw = self.text[child.start_byte : child.end_byte]
            if kind in NAMES:
                name = name or raw
            elif kind == "subscript":
                self.subscript(child)
            elif kind in ("=", ":="):
                self.commands.append(ShellCommand((), (ShellAssignment(name, Word("$", True)),)))
            elif kind == "number" or kind in _EXPANSION_TOKENS:
                self.evaluates = self.evaluates or kind == ":"
            elif kind == "raw_string" and _ACTIVE.search(raw):
                raise Misread("quotes inside an expansion")  # inside double quotes they would not quote
            elif kind in WORDS:
                self.defaults.append(ShellAssignment(name, self.word(child)))
            elif kind in PATTERNS:
                self.pattern(child)
            else:
                raise Misread("an indirect expansion" if kind in ("!", "@") else shown(kind))

    def subscript(self, node: Node) -> None:
        self.spaced(node)
        name, opened, *index, closed = node.children
        if opened.type != "[" or closed.type != "]" or len(index) != 1 or name.type != "variable_name":
            raise Misread("a subscript")
        raw = self.text[index[0].start_byte : index[0].end_byte]
        if raw in ("@", "*") or raw.isdigit():
            return
        self.evaluates = True
        if index[0].type in WORDS:
            self.word(index[0])
        elif index[0].type not in EXPRESSIONS or _ACTIVE.search(raw):
            raise Misread("a subscript")

    def arithmetic(self, node: Node) -> None:
        """Numbers and operators; a name makes it run whatever the variable holds."""
        self.spaced(node)
        inner = list(node.children)
        while inner:
            child = inner.pop()
            kind = child.type
            if kind in EXPRESSIONS or kind == "variable_assignment":
                self.spaced(child)
                inner += child.children
            elif kind in EXPANSIONS or kind == "do_group" or kind == "compound_statement":
                self.stack.append((child, False))
                self.evaluates = self.evaluates or kind in EXPANSIONS
            elif kind == "subscript":
                self.subscript(child)
                self.evaluates = True
            elif kind in ("variable_name", "simple_expansion") or (
                kind == "word" and _IDENTIFIER.fullmatch(self.text, child.start_byte, child.end_byte)
            ):
                self.evaluates = True
            elif kind == "number":
                if not self.text[child.start_byte : child.end_byte].replace("#", "").isalnum():
                    raise Misread("arithmetic")
            elif child.children or child.is_named:
                raise Misread("arithmetic")

    def test(self, node: Node, follows: bool) -> None:
        """`[ … ]`, `[[ … ]]` and `(( … ))`: their words, as those of `test`."""
        double = self.text.startswith("[[", node.start_byte)
        if not double and not self.text.startswith("[ ", node.start_byte):
            self.arithmetic(node)
            return
        words: list[Word] = [Word("test")]
        inner = [node]
        while inner:
            child = inner.pop()
            kind = child.type
            if kind == "test_command" or kind in EXPRESSIONS:
                self.spaced(child)
                inner += reversed(child.children)
            elif kind in WORDS:
                words.append(self.word(child))
            elif kind in PATTERNS:
                self.pattern(child)
            elif kind == "test_operator" or (not child.is_named and (double or not set(kind) & set("<>&|()"))):
                if kind not in ("[", "]", "[[", "]]"):
                    operator = self.text[child.start_byte : child.end_byte]
                    words.append(Word(operator))
                    self.evaluates = self.evaluates or (double and operator in _COMPARES) or operator == "-v"
            else:
                raise Misread(shown(kind))
        self.commands.append(ShellCommand(tuple(words), (), (), follows))

    def array(self, node: Node) -> Word:
        elements: list[Word] = []
        start = node.start_byte
        for child in node.children:
            if child.start_byte != start:
                self.gap(start, child.start_byte)
            start = child.end_byte
            if child.type in WORDS:
                elements.append(self.word(child))
            elif child.type not in "()":
                raise Misread("an array")
        return Word(" ".join(e.text for e in elements), any(e.dynamic for e in elements), any(e.glob for e in elements))

    def assignment(self, node: Node) -> ShellAssignment:
        name, *rest = node.children
        variable = name
        if name.type == "subscript":
            self.subscript(name)
            variable = name.children[0]
        if not rest or rest[0].type not in ("=", "+=") or len(rest) > 2 or rest[-1].end_byte != node.end_byte:
            raise Misread("an assignment")
        if rest[0].start_byte != name.end_byte or rest[-1].start_byte not in (rest[0].start_byte, rest[0].end_byte):
            raise Misread("an assignment")
        value = Word("")
        if len(rest) == 2:
            value = self.array(rest[1]) if rest[1].type == "array" else self.word(rest[1])
        named = self.text[variable.start_byte : variable.end_byte]
        if rest[0].type == "+=":
            self.expands = True
            value = Word(value.text, value.dynamic, value.glob, ("", named, *(value.parts or (value.text,))))
        return ShellAssignment(named, value)


def _decoded(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "replace")


def shown(kind: str) -> str:
    return kind.replace("_", " ")
