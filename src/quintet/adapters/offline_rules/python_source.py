"""One Python file as scopes, bindings, and the places where one name stands.

Places are offsets into the text. What stands in a string or a comment is no place, with two exceptions that are code:
the fields of an f-string, and an entry of `__all__`.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from msgspec import Struct, structs

from quintet.adapters.offline_rules.program_steps import parsed
from quintet.domain.base.lazy_regex import regex


class ImportRef(Struct, frozen=True):
    """What an import names: a module, or one thing of a module."""

    module: str
    level: int = 0
    name: str = ""


class Binding(Struct, frozen=True):
    kind: str  # function | class | variable | import | alias | parameter
    node: Any
    value: Any = None  # the expression assigned
    annotation: Any = None
    source: ImportRef | None = None


class NameScope:
    def __init__(self, kind: str, node: Any, parent: NameScope | None, name: str = "") -> None:
        self.kind = kind  # module | class | function
        self.node = node
        self.parent = parent
        self.name = name  # of a class: its qualified name
        self.bound: dict[str, list[Binding]] = {}
        self.globals: set[str] = set()
        self.outer: set[str] = set()  # declared nonlocal

    def lookup(self, name: str) -> NameScope | None:
        """The scope a name is bound in, as Python finds it."""
        scope: NameScope | None = self
        while scope:
            if name in scope.globals:
                return scope.root
            seen = scope.kind != "class" or scope is self
            if seen and name in scope.bound and name not in scope.outer:
                return scope
            scope = scope.parent
        return None

    @property
    def root(self) -> NameScope:
        return self.parent.root if self.parent else self

    def method_of(self, name: str) -> NameScope | None:
        """The class whose method this scope is, if `name` is what the method calls itself by."""
        if self.kind != "function" or self.parent is None or self.parent.kind != "class":
            return None
        node = self.node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        first = [*node.args.posonlyargs, *node.args.args][:1]
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
        return self.parent if first and first[0].arg == name and not static else None


class NamePlace(Struct, frozen=True):
    """Where the name stands, and as what."""

    kind: str  # name | attribute | imported | member (an attribute assigned on self) | export
    offset: int  # -1 if it is not known
    line: int
    scope: Any
    base: Any = None  # of an attribute: what it is taken from
    source: ImportRef | None = None
    read: bool = False  # a bare name that is read, not bound


class ParsedSource:
    """A parsed file. `tree` is None if it does not compile."""

    def __init__(self, path: str, text: str, name: str) -> None:
        self.path = path
        self.text = text
        self.name = name
        self.tree = parsed(text)
        self.module = NameScope("module", self.tree, None)
        self.places: list[NamePlace] = []
        self.stars: list[ImportRef] = []
        self.classes: dict[str, NameScope] = {}
        if self.tree:
            _Reader(self).read()

    def line(self, number: int) -> str:
        return self.text.split("\n")[number - 1].strip()


class _Reader(ast.NodeVisitor):
    def __init__(self, source: ParsedSource) -> None:
        self._source = source
        self._name = source.name
        self._scope = source.module
        self._in_fstring: list[NamePlace] | None = None
        self._starts = [0]
        for line in source.text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._lines = source.text.split("\n")

    def read(self) -> None:
        assert self._source.tree
        for statement in self._source.tree.body:
            self.visit(statement)

    # ── where things stand

    def _offset(self, line: int, column: int) -> int:
        shown = self._lines[line - 1].encode()[:column].decode(errors="replace")
        return self._starts[line - 1] + len(shown)

    def _span(self, node: Any) -> tuple[int, int]:
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _within(self, node: Any, before: str) -> int:
        """The offset of the name inside a node, behind a pattern; -1 if it is not there."""
        first, last = self._span(node)
        found = re.compile(rf"{before}\b({re.escape(self._name)})\b", re.S).search(self._source.text, first, last)
        return found.start(1) if found else -1

    def _add(
        self,
        kind: str,
        offset: int,
        node: Any,
        base: Any = None,
        source: ImportRef | None = None,
        *,
        read: bool = False,
    ) -> None:
        end = offset + len(self._name)
        if self._in_fstring is None and self._source.text[offset:end] != self._name:
            offset = -1
        place = NamePlace(kind, offset, node.lineno, self._scope, base, source, read)
        (self._source.places if self._in_fstring is None else self._in_fstring).append(place)

    def _bind(self, name: str, binding: Binding) -> None:
        scope = self._scope.root if name in self._scope.globals else self._scope
        if name not in self._scope.outer:
            scope.bound.setdefault(name, []).append(binding)

    # ── definitions

    def visit_FunctionDef(self, node: Any) -> None:
        self._bind(node.name, Binding("function", node))
        if node.name == self._name:
            self._add("name", self._within(node, r"\bdef\s+"), node)
        for part in (*node.decorator_list, node.returns):
            self._visit(part)
        self._function(node, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node, [node.body])

    def _function(self, node: Any, body: list[Any]) -> None:
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
        parameters = [parameter for parameter in named if parameter]
        for part in (*arguments.defaults, *arguments.kw_defaults, *(p.annotation for p in parameters)):
            self._visit(part)
        outside, self._scope = self._scope, NameScope("function", node, self._scope)
        for parameter in parameters:
            self._bind(parameter.arg, Binding("parameter", parameter, annotation=parameter.annotation))
        for part in body:
            self.visit(part)
        self._scope = outside

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name, Binding("class", node))
        if node.name == self._name:
            self._add("name", self._within(node, r"\bclass\s+"), node)
        for part in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self._visit(part)
        outside = self._scope
        name = f"{outside.name}.{node.name}" if outside.kind == "class" else node.name
        self._scope = NameScope("class", node, outside, name)
        if outside.kind != "function":
            self._source.classes[name] = self._scope
        for statement in node.body:
            self.visit(statement)
        self._scope = outside

    def _comprehension(self, node: Any) -> None:
        first = node.generators[0]
        self._visit(first.iter)
        outside, self._scope = self._scope, NameScope("function", node, self._scope)
        for generator in node.generators:
            self._visit(generator.target)
            if generator is not first:
                self._visit(generator.iter)
            for condition in generator.ifs:
                self._visit(condition)
        for part in ("elt", "key", "value"):
            self._visit(getattr(node, part, None))
        self._scope = outside

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._visit(node.value)
        inside = self._scope
        while isinstance(self._scope.node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            assert self._scope.parent
            self._scope = self._scope.parent
        self._visit(node.target)
        self._scope = inside

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._bind(target.id, Binding("variable", target, value=node.value))
                self._stands(target)
                if target.id == "__all__":
                    self._exports(node.value)
            else:
                self._visit(target)
        self._visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._bind(node.target.id, Binding("variable", node.target, annotation=node.annotation))
            self._stands(node.target)
        else:
            self._visit(node.target)
        self._visit(node.annotation)
        self._visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and node.target.id == "__all__":
            self._exports(node.value)
        self.generic_visit(node)

    def _exports(self, value: Any) -> None:
        for entry in getattr(value, "elts", []):
            if isinstance(entry, ast.Constant) and entry.value == self._name:
                self._add("export", self._within(entry, r"[\"']"), entry)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self._bind(alias.asname, Binding("alias", alias, source=ImportRef(alias.name)))
                if alias.asname == self._name:
                    self._add("name", self._within(alias, r"\bas\s+"), alias)
            else:
                self._bind(alias.name.partition(".")[0], Binding("import", alias, source=ImportRef(alias.name)))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            ref = ImportRef(node.module or "", node.level, alias.name)
            if alias.name == "*":
                self._source.stars.append(ImportRef(node.module or "", node.level))
                continue
            renamed = alias.asname is not None and alias.asname != alias.name
            self._bind(alias.asname or alias.name, Binding("alias" if renamed else "import", alias, source=ref))
            if alias.name == self._name:
                self._add("imported", self._offset(alias.lineno, alias.col_offset), alias, source=ref)
            if alias.asname == self._name:
                self._add("name", self._within(alias, r"\bas\s+"), alias)

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.globals.update(node.names)
        if self._name in node.names:
            self._add("name", self._within(node, ""), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.outer.update(node.names)
        if self._name in node.names:
            self._add("name", self._within(node, ""), node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name, Binding("variable", node))
        if node.name == self._name:
            self._add("name", self._within(node, r"\bas\s+"), node)
        self.generic_visit(node)

    def _pattern(self, node: Any) -> None:
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if name:
            self._bind(name, Binding("variable", node))
        if name == self._name:
            self._add("name", -1, node)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _pattern  # noqa: N815

    # ── uses

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id, Binding("variable", node))
        self._stands(node)

    def _stands(self, node: ast.Name) -> None:
        if node.id == self._name:
            offset = self._span(node)[0] if self._in_fstring is None else -1
            self._add("name", offset, node, read=isinstance(node.ctx, ast.Load))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._visit(node.value)
        if node.attr == self._name:
            own = isinstance(node.value, ast.Name) and bool(self._scope.method_of(node.value.id))
            kind = "member" if own and isinstance(node.ctx, ast.Store) else "attribute"
            offset = self._span(node)[1] - len(self._name) if self._in_fstring is None else -1
            self._add(kind, offset, node, base=node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        if self._in_fstring is not None:
            self.generic_visit(node)
            return
        self._in_fstring = []
        self.generic_visit(node)
        found, self._in_fstring = self._in_fstring, None
        if not found:
            return
        first, last = self._span(node)
        offsets = [first + offset for offset in named_in_fields(self._source.text[first:last], self._name)]
        # Before Python 3.12 the tree does not say where the parts of an f-string stand, so they are counted off.
        told = offsets if len(offsets) == len(found) else [-1] * len(found)
        for place, offset in zip(found, told, strict=True):
            self._source.places.append(structs.replace(place, offset=offset, line=node.lineno))

    def _visit(self, node: Any) -> None:
        if node is not None:
            self.visit(node)


_LITERAL = regex(r"([A-Za-z]{0,2})('''|\"\"\"|'|\")")


def named_in_fields(literal: str, name: str) -> list[int]:
    """Where a name stands as code in the f-strings of a (perhaps joined) string literal."""
    word = re.compile(rf"(?<![\w'\"]){re.escape(name)}\b")
    found: list[int] = []
    position = 0
    while opening := _LITERAL.search(literal, position):
        quote, is_f, raw = opening[2], "f" in opening[1].lower(), "r" in opening[1].lower()
        position = opening.end()
        depth = began = 0
        while position < len(literal):
            char = literal[position]
            if not depth and literal.startswith(quote, position):
                break
            escaped = char == "\\" and not raw
            doubled = is_f and literal[position : position + 2] in ("{{", "}}")
            if not depth and (escaped or doubled):
                position += 1
            elif is_f and char == "{":
                began = began if depth else position
                depth += 1
            elif is_f and char == "}" and depth:
                depth -= 1
                if not depth:
                    found += [hit.start() for hit in word.finditer(literal, began, position)]
            position += 1
        position += len(quote)
    return found
