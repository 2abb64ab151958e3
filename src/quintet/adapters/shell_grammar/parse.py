"""Reads a shell line with tree-sitter's bash grammar, and trusts nothing that it does not see twice.

The tree says where commands, words and substitutions are; the text of each is then read again here by bash's own
rules of quoting. Where the two disagree, where a node is not known, or where a byte belongs to nothing that was looked
at, the line is not understood. Never raises, never recurses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quintet.adapters.shell_grammar.expansions import EXPANSIONS, NAMES, PATTERNS, WORDS, Insides, shown
from quintet.adapters.shell_grammar.fast_path import flat
from quintet.adapters.shell_grammar.quoting import Misread, braced, heredoc_problem, simple_words
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.shell.syntax import CommandSpan, Redirect, Script, ShellAssignment, ShellCommand, Word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node, Parser

LONGEST = 32_768
MOST_MARKS = 4_000  # of the shell's own characters: the grammar's time grows with their square
_MARKS = regex(r"[|&;<>(){}$`\[]")
_NO_TEXT = regex("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_REDIRECT = regex(r"\d?(&>>|&>|>>|>\||>&|>|<) ?([\w./-]+)", re.ASCII)

_DASH = regex(r"[^'\"\\$`#<>(){}\n]*[ \t](-)[ \t]+<<")

_JOINS = frozenset({"&&", "||"})
_STATEMENTS = word_set(
    "list pipeline redirected_statement for_statement c_style_for_statement while_statement do_group if_statement "
    "elif_clause else_clause case_statement case_item function_definition compound_statement subshell negated_command "
    "test_command declaration_command unset_command command variable_assignment variable_assignments"
)
_GROUPS = word_set("pipeline subshell do_group if_statement elif_clause else_clause while_statement negated_command")
_REPEATED = word_set("for_statement c_style_for_statement while_statement function_definition")
_TOKENS = word_set(
    "; ;; ;& ;;& & && || | |& ( ) { } ! for select in while until do done if then elif else fi case esac function "
    "$( ` <( >( comment"
)
# Words of the shell's own grammar: as the name of a command they mean that the tree has gone astray.
_RESERVED = word_set("{ } ! [[ ]] (( coproc do done then fi esac in function if else elif for while until case select")


class BashGrammar:
    def __init__(self) -> None:
        self._parser: Parser | None = None

    def parse(self, line: str) -> Script:
        if len(line) > LONGEST:
            return Script(problem="a line of this length")
        if len(line) > MOST_MARKS and len(_MARKS.findall(line)) > MOST_MARKS:
            return Script(problem="this part of the shell's grammar")
        if not line.isprintable() and _NO_TEXT.search(line):
            return Script(problem="a byte that is not text")
        try:
            return flat(line) or self.parse_tree(line)
        except Exception as error:  # a fault of ours: what cannot be read is not understood
            return Script(problem=f"an internal error of Quintet ({type(error).__name__})")

    def parse_tree(self, line: str) -> Script:
        """The same by way of the grammar's tree, which knows all there is to a line."""
        if self._parser is None:
            import tree_sitter  # most lines take the fast path
            import tree_sitter_bash

            self._parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
        if "<<" in line and (dash := _DASH.match(line)):  # the tree leaves a `-` before a here-document out
            line = f"{line[: dash.start(1)]}'-'{line[dash.end(1) :]}"
        source = line.encode()
        root = self._parser.parse(source).root_node
        if root.has_error:
            return Script(problem="the syntax")
        # The tree counts bytes: of a line that is not ASCII each byte is read as one character, and words are decoded.
        reading = _Reading(line if line.isascii() else source.decode("latin-1"))
        problem = ""
        try:
            reading.read(root)
        except Misread as misread:
            problem = str(misread)
        return reading.script(problem)


class _Reading(Insides):
    """The statements of one line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.moving = "cd" in text or "pushd" in text or "popd" in text  # else the order of commands does not matter
        self.open: list[tuple[str, int, int]] = []  # spans: name, first command, what was on the stack before
        self.spans: list[CommandSpan] = []
        self.repeats = False

    def script(self, problem: str) -> Script:
        return Script(
            tuple(self.commands),
            problem,
            self.evaluates,
            self.expands,
            tuple(self.defaults),
            tuple(self.spans),
            self.repeats and self.moving,
        )

    def read(self, root: Node) -> None:
        self.group(root.children, 0, len(self.text), False)
        stack = self.stack
        while stack:
            if self.open:
                self.close(len(stack))
            node, follows = stack.pop()
            if isinstance(node, ShellCommand):
                self.commands.append(node)
                continue
            kind = node.type
            self.repeats = self.repeats or kind in _REPEATED
            if kind == "command":
                self.commands.append(self.command(node, follows, ()))
            elif kind in _GROUPS:
                self.group(node.children, node.start_byte, node.end_byte, follows)
            elif kind == "list":
                self.chain(node, follows)
            elif kind == "redirected_statement":
                self.redirected(node, follows)
            elif kind in ("declaration_command", "unset_command"):
                self.commands.append(self.pieces(node, follows, (), ()))
            elif kind == "variable_assignment":
                self.commands.append(ShellCommand((), (self.assignment(node),), (), follows))
            elif kind == "test_command":
                self.test(node, follows)
            elif kind == "expansion":
                self.expansion(node)
            elif kind == "for_statement":
                self.loop(node)
            elif kind in ("arithmetic_expansion", "c_style_for_statement") or self.text.startswith(
                "((", node.start_byte
            ):
                self.arithmetic(node)
            else:
                raw = self.text[node.start_byte : node.end_byte]
                if raw[0] == "`" and "\\" in raw:
                    raise Misread("a backslash inside backquotes")
                if kind == "command_substitution":
                    self.open.append((f"({node.start_byte}", len(self.commands), len(stack)))
                elif kind == "function_definition":
                    name = next(child for child in node.children if child.type == "word")
                    self.open.append((self.text[name.start_byte : name.end_byte], len(self.commands), len(stack)))
                self.group(node.children, node.start_byte, node.end_byte, follows)

        self.close(0)

    def close(self, left: int) -> None:
        """End the spans of which nothing is left on the stack."""
        while self.open and self.open[-1][2] >= left:
            name, first, _ = self.open.pop()
            self.spans.append(CommandSpan(name, first, len(self.commands)))

    def group(self, children: Iterable[Node], start: int, end: int, follows: bool) -> None:
        """Statements one after the other, with the tokens around them."""
        text = self.text
        found: list[tuple[Node, bool]] = []
        for child in children:
            begins = child.start_byte
            if begins != start and text[start:begins] != " ":
                self.gap(start, begins)
            start = child.end_byte
            kind = child.type
            if kind in _STATEMENTS:
                found.append((child, follows))
                follows = False
            elif kind in _TOKENS:
                if kind == "comment" and (
                    text[begins - 1 : begins] not in " \t\n;&|()" or text[start : start + 1] not in "\n"
                ):
                    raise Misread("a comment")
            elif kind in WORDS:
                self.word(child)
            elif kind in PATTERNS:
                self.pattern(child)
            elif kind == "file_redirect":
                redirect, extra = self.redirect(child)
                if extra:
                    raise Misread("a word after a redirection")
                self.commands.append(ShellCommand((), (), (redirect,)))
            elif kind not in NAMES:
                raise Misread(shown(kind))
        if start != end:
            self.gap(start, end)
        self.stack += reversed(found)

    def chain(self, node: Node, follows: bool) -> None:
        """`a && b || c` is a left-deep tree; here it is flat. A folder entered holds along `&&` alone."""
        text = self.text
        parts: list[Node] = []
        operators: list[str] = []
        while True:
            children = node.children
            if len(children) != 3:
                raise Misread("the syntax")
            left, operator, right = children
            for start, end in ((left.end_byte, operator.start_byte), (operator.end_byte, right.start_byte)):
                if start != end and text[start:end] != " ":
                    self.gap(start, end)
            parts.append(right)
            operators.append(operator.type)
            if left.type != "list":
                break
            node = left
        if not _JOINS.issuperset(operators):
            raise Misread("the syntax")
        stack = self.stack
        if not self.moving:
            stack += [(part, False) for part in parts]
            stack.append((left, follows))
            return
        found = [(left, follows)]
        straight = True
        before = left
        while parts:
            part = parts.pop()
            straight = straight and operators.pop() == "&&" and not self.moves(before)
            found.append((part, straight))
            before = part
        stack += reversed(found)

    def moves(self, node: Node) -> bool:
        """Whether it may change the folder in a way that does not hold for what comes after it."""
        raw = self.text[node.start_byte : node.end_byte]
        if node.type == "command" and "(" not in raw and "`" not in raw:
            return False
        return "cd" in raw or "pushd" in raw or "popd" in raw

    def command(
        self, node: Node, follows: bool, more: tuple[Redirect, ...], extra: tuple[Word, ...] = ()
    ) -> ShellCommand:
        start = node.start_byte
        raw = self.text[start : node.end_byte]
        words = simple_words(raw) if self.ascii else ()
        if words and "=" not in words[0].text and words[0].text not in _RESERVED:
            return ShellCommand(words + extra, (), more, follows)
        return self.pieces(node, follows, more, extra)

    def pieces(self, node: Node, follows: bool, more: tuple[Redirect, ...], extra: tuple[Word, ...]) -> ShellCommand:
        """A command that has more in it than plain words."""
        words: list[Word] = []
        assignments: list[ShellAssignment] = []
        redirects: list[Redirect] = []
        start = node.start_byte
        glued = False
        for child in node.children:
            begins = child.start_byte
            if begins != start:
                self.gap(start, begins, newline=False)
            elif glued and child.type != "file_redirect" and child.type != "herestring_redirect":
                raise Misread("words without a space between")
            start = child.end_byte
            glued = True
            kind = child.type
            if kind == "command_name":
                inner = child.children
                if len(inner) != 1 or inner[0].start_byte != begins or inner[0].end_byte != start:
                    raise Misread("the name of a command")
                words.append(self.word(inner[0]))
                if self.text[begins:start] in _RESERVED:
                    raise Misread(self.text[begins:start])
            elif kind in WORDS:
                alternatives = braced(self.text[begins:start]) if kind == "concatenation" and words else []
                words += [Word(text, False, True) for text in alternatives] or [self.word(child)]
            elif kind == "variable_assignment":
                assignments.append(self.assignment(child))
            elif kind == "file_redirect":
                redirect, after = self.redirect(child)
                redirects.append(redirect)
                words += after
            elif kind == "herestring_redirect":
                redirects.append(self.herestring(child))
            elif kind in NAMES or (not child.is_named and node.type != "command" and kind.isalpha()):
                words.append(Word(self.text[begins:start]))  # export, unset and the names they take
            else:
                raise Misread(shown(kind))
        if start != node.end_byte:
            self.gap(start, node.end_byte, newline=False)
        words += extra
        return ShellCommand(tuple(words), tuple(assignments), (*redirects, *more), follows)

    def redirect(self, node: Node) -> tuple[Redirect, list[Word]]:
        """A redirection, and the words of the command that the tree has put into it."""
        if plain := _REDIRECT.fullmatch(self.text, node.start_byte, node.end_byte):
            operator, target = plain.groups()
            return Redirect(operator, Word(target)), []
        operator = ""
        words: list[Word] = []
        start = node.start_byte
        for child in node.children:
            if child.start_byte != start:
                self.gap(start, child.start_byte, newline=False)
            elif words:
                raise Misread("words without a space between")
            start = child.end_byte
            if child.type == "file_descriptor":
                continue
            if child.type in WORDS and operator:
                words.append(self.word(child))
            elif not child.is_named and not operator and set(child.type) <= set("<>&|-"):
                operator = child.type
            else:
                raise Misread("a redirection")
        if not words and not operator.endswith("&-"):
            raise Misread("a redirection")
        return Redirect(operator, words[0] if words else Word("-")), words[1:]

    def herestring(self, node: Node) -> Redirect:
        last = node.children[-1]
        if len(node.children) != 2 or last.type not in WORDS:
            raise Misread("a here-string")
        if node.children[0].end_byte != last.start_byte:
            self.gap(node.children[0].end_byte, last.start_byte, newline=False)
        return Redirect("<<<", self.word(last))

    def redirected(self, node: Node, follows: bool) -> None:
        children = node.children
        body = children[0] if children[0].type in _STATEMENTS else None
        redirects: list[Redirect] = []
        extra: list[Word] = []
        later: list[tuple[Node | ShellCommand, bool]] = []
        start = node.start_byte
        for child in children:
            if child.start_byte != start:
                self.gap(start, child.start_byte, newline=False)
            start = child.end_byte
            if child.type == "file_redirect":
                redirect, after = self.redirect(child)
                redirects.append(redirect)
                extra += after
            elif child.type == "herestring_redirect":
                redirects.append(self.herestring(child))
            elif child.type == "heredoc_redirect":
                self.heredoc(child, redirects, extra, later)
            elif child is not body:
                raise Misread("a redirection")
        if body is not None and body.type == "command":
            self.commands.append(self.command(body, follows, tuple(redirects), tuple(extra)))
        else:
            if extra:
                raise Misread("a word after a redirection")
            opens = ShellCommand((), (), tuple(redirects), follows)
            if body is not None and body.type in ("list", "pipeline"):
                # The tree gives it to all of them, bash to the last: it is opened where that one runs.
                raw = self.text[body.start_byte : body.end_byte]
                opens = ShellCommand((), (), tuple(redirects), "(" not in raw and "`" not in raw)
                later = [(body, follows), (opens, False), *later]
            else:
                self.commands.append(opens)
                later = [(body, follows), *later] if body is not None else later
        self.stack += reversed(later)

    def heredoc(
        self, node: Node, redirects: list[Redirect], extra: list[Word], later: list[tuple[Node | ShellCommand, bool]]
    ) -> None:
        """`<<END`, the rest of its line, and its body, in which expansions run unless END is quoted."""
        opened: Node | None = None
        body: Node | None = None
        closed: Node | None = None
        start = node.start_byte
        for child in node.children:
            kind = child.type
            if kind != "heredoc_body" and kind != "heredoc_end" and child.start_byte != start:
                self.gap(start, child.start_byte, newline=False)
            start = child.end_byte
            if kind == "heredoc_start":
                opened = child
            elif kind == "heredoc_body":
                body = child
            elif kind == "heredoc_end":
                closed = child
            elif kind == "file_redirect":
                redirect, after = self.redirect(child)
                redirects.append(redirect)
                extra += after
            elif kind in _STATEMENTS:
                later.append((child, False))
            elif kind in WORDS:
                extra.append(self.word(child))
            elif kind not in ("<<", "<<-", "&&", "||", "file_descriptor"):
                raise Misread(shown(kind))
        if opened is None or body is None or closed is None:
            raise Misread("a here-document")
        inner = [child for child in body.children if child.type != "heredoc_content"]
        if any(child.type not in WORDS for child in inner):
            raise Misread("a here-document")
        starts = frozenset(child.start_byte for child in inner)
        heredoc_problem(self.text, (opened.start_byte, opened.end_byte), (closed.start_byte, closed.end_byte), starts)
        self.stack += [(child, False) for child in inner if child.type in EXPANSIONS]
        redirects.append(Redirect("<<", Word(self.text[body.start_byte : body.end_byte], bool(inner))))

    def loop(self, node: Node) -> None:
        """`for x in words`: its words are values that a command may be given later."""
        values = [self.word(child) for child in node.children if child.type in WORDS]
        names = [self.text[child.start_byte : child.end_byte] for child in node.children if child.type in NAMES]
        sets = tuple(ShellAssignment(name, Word("")) for name in names)
        self.commands.append(ShellCommand((Word("for"), *values), sets))
        self.spaced(node)
        for child in node.children:
            if child.type in _STATEMENTS:
                self.stack.append((child, False))
            elif child.type not in WORDS and child.type not in _TOKENS and child.type not in NAMES:
                raise Misread(shown(child.type))
