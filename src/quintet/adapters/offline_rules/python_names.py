"""Which places in the project's Python files mean one symbol: through scopes, imports, re-exports and simple types.

Pure. What it would have to look up it asks for (`wanted_…`), and is made again with the answer. A use that cannot be
bound to one thing is reported, never guessed.
"""

from __future__ import annotations

import ast
import builtins
import posixpath
import sys
from collections.abc import Mapping

from msgspec import Struct

from quintet.adapters.offline_rules.python_source import Binding, ImportRef, NamePlace, NameScope, ParsedSource


class Symbol(Struct, frozen=True):
    """A name at the top of a module; `name` of a nested class is dotted."""

    path: str
    name: str


class Module(Struct, frozen=True):
    path: str


class NameKind(Struct, frozen=True):
    text: str


EXTERNAL = NameKind("external")  # something of another package
OTHER = NameKind("other")  # a value that is neither a module nor of a class in the project
RESULT = NameKind("result")  # what a function of another package returned
UNKNOWN = NameKind("unknown")
Thing = Symbol | Module | NameKind
Things = frozenset[Thing]
_UNKNOWN: Things = frozenset({UNKNOWN})
_LITERALS = (
    ast.Constant,
    ast.JoinedStr,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.Tuple,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
)
_ROOTS = ("", "src/", "lib/")
_PLAIN_BASES = frozenset({"ABC", "Protocol", "Generic"})


class Names:
    """`sources` are the files read so far; `located` maps a module's stem to the files that could be it."""

    def __init__(self, sources: Mapping[str, ParsedSource], located: Mapping[str, list[str]]) -> None:
        self._sources = sources
        self._located = located
        self.wanted_stems: set[str] = set()
        self.wanted_files: set[str] = set()
        self._busy: set[tuple[str, str]] = set()

    # ── modules

    def _file_of(self, importer: str, ref: ImportRef, name: str = "") -> Module | NameKind:
        """The file of an imported module (and of `name` below it); EXTERNAL if the project has none."""
        parts = [part for part in (*ref.module.split("."), *name.split(".")) if part]
        if ref.level:
            folder = posixpath.dirname(importer)
            for _ in range(ref.level - 1):
                folder = posixpath.dirname(folder)
            stem = posixpath.join("/", folder, *parts)
        else:
            stem = "**/" + "/".join(parts)
        if stem not in self._located:
            self.wanted_stems.add(stem)
            return UNKNOWN
        found = self._located[stem]
        if ref.level:
            return Module(found[0]) if found else UNKNOWN
        ends = ("/".join(parts) + ".py", "/".join(parts) + "/__init__.py")
        here = posixpath.dirname(importer)
        above = {f"{here}/"[: place + 1] for place in range(len(here) + 1) if f"{here}/"[place] == "/"}
        roots = (
            _ROOTS
            if parts and parts[0] in sys.stdlib_module_names
            else (*_ROOTS, *sorted(above, key=len, reverse=True))
        )
        for root in roots:
            for end in ends:
                if root + end in found:
                    return Module(root + end)
        return EXTERNAL if not found or parts[0] in sys.stdlib_module_names else UNKNOWN

    def _source(self, path: str) -> ParsedSource | None:
        if path not in self._sources:
            self.wanted_files.add(path)
        return self._sources.get(path)

    # ── which symbol a name is

    def origin(self, path: str, name: str) -> Things:
        """What a name at the top of a module is; empty if the module does not have it."""
        source = self._source(path)
        if source is None:
            return _UNKNOWN
        if (path, name) in self._busy:
            return frozenset()
        self._busy.add((path, name))
        try:
            if name in source.module.bound:
                return self._bound(path, source.module, name)
            found: set[Thing] = set()
            for star in source.stars:
                file = self._file_of(path, star)
                if isinstance(file, Module):
                    found |= self.origin(file.path, name)
                elif file is UNKNOWN:
                    found.add(UNKNOWN)
            return frozenset(found)
        finally:
            self._busy.discard((path, name))

    def member(self, module: Module, name: str) -> Things:
        """What a module has under a name: something of its own, something imported, or a module below it."""
        if found := self.origin(module.path, name):
            return found
        folder, _, file = module.path.rpartition("/")
        below = self._file_of(module.path, ImportRef(name, level=1)) if file == "__init__.py" and folder else UNKNOWN
        return frozenset({below}) if isinstance(below, Module) else _UNKNOWN

    def _bound(self, path: str, scope: NameScope, name: str) -> Things:
        found: set[Thing] = set()
        for binding in scope.bound[name]:
            if binding.source and binding.kind == "import":
                found |= self._imported(path, _at_hand(binding.source))
            else:
                found.add(Symbol(path, name) if scope.kind == "module" else OTHER)
        return frozenset(found)

    def _imported(self, path: str, ref: ImportRef) -> Things:
        file = self._file_of(path, ref)
        if not ref.name:
            return frozenset({file})
        below = self._file_of(path, ref, ref.name)
        if isinstance(file, Module):
            found = self.origin(file.path, ref.name)
            return found or (frozenset({below}) if isinstance(below, Module) else _UNKNOWN)
        return frozenset({below}) if isinstance(below, Module) else frozenset({file})

    def of_place(self, source: ParsedSource, place: NamePlace) -> Things:
        """What a bare name or an imported name means."""
        if place.kind == "imported":
            assert place.source
            return self._imported(source.path, place.source)
        if place.kind == "export":
            return self.origin(source.path, source.name)
        return self._named(source.path, place.scope, source.name)

    def _named(self, path: str, scope: NameScope, name: str) -> Things:
        home = scope.lookup(name)
        if home is None:
            found = self.origin(path, name)
            return found or frozenset({OTHER if hasattr(builtins, name) else UNKNOWN})
        return self.origin(path, name) if home.kind == "module" else self._bound(path, home, name)

    # ── what an expression is, as far as that is plain

    def value(self, path: str, scope: NameScope, node: ast.expr | None) -> Things:
        """Modules and classes an expression can be; an instance counts as its class."""
        match node:
            case ast.Name(id=name):
                return self._value_of_name(path, scope, name)
            case ast.Attribute():
                return self._value_of_attribute(path, scope, node)
            case ast.Call(func=ast.Name(id="super")):
                owner = class_around(scope)
                return frozenset({Symbol(path, owner.name)}) if owner else _UNKNOWN
            case ast.Call(func=called):
                return frozenset(self._returned(thing, called) for thing in self.value(path, scope, called))
            case ast.IfExp(body=body, orelse=orelse):
                return self.value(path, scope, body) | self.value(path, scope, orelse)
        return frozenset({OTHER}) if isinstance(node, _LITERALS) else _UNKNOWN

    def _returned(self, thing: Thing, called: ast.expr) -> Thing:
        if isinstance(thing, Symbol):
            return thing if self.class_scope(thing) else UNKNOWN
        if thing is EXTERNAL:
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in ("import_module", "reload"):
                return UNKNOWN
            return EXTERNAL if name[:1].isupper() else RESULT
        if thing is OTHER and isinstance(called, ast.Name):
            return OTHER if isinstance(getattr(builtins, called.id, None), type) else UNKNOWN
        return RESULT if thing is RESULT else UNKNOWN

    def _value_of_name(self, path: str, scope: NameScope, name: str) -> Things:
        home = scope.lookup(name)
        if home is None:
            return frozenset(v for thing in self._named(path, scope, name) for v in self._value_of(thing))
        if owner := home.method_of(name):
            bindings = home.bound[name]
            return frozenset({Symbol(path, owner.name)}) if len(bindings) == 1 else _UNKNOWN
        found: set[Thing] = set()
        for binding in home.bound[name]:
            found |= self._value_of_binding(path, home, name, binding)
        return frozenset(found)

    def _value_of_binding(self, path: str, home: NameScope, name: str, binding: Binding) -> Things:
        if binding.source:
            ref = binding.source if binding.kind == "alias" else _at_hand(binding.source)
            return frozenset(v for thing in self._imported(path, ref) for v in self._value_of(thing))
        if binding.kind == "class":
            local = home.kind == "function"
            return frozenset({OTHER if local else Symbol(path, f"{home.name}.{name}" if home.name else name)})
        if binding.kind == "function":
            return frozenset({OTHER})
        if binding.annotation is not None:
            return self._annotated(path, home, binding.annotation)
        key = (path, f"{id(home)} {name}")
        if binding.value is None or key in self._busy:
            return _UNKNOWN
        self._busy.add(key)
        try:
            return self.value(path, home, binding.value)
        finally:
            self._busy.discard(key)

    def _annotated(self, path: str, scope: NameScope, node: ast.expr) -> Things:
        """An annotation that plainly names a class; anything more is not followed."""
        found = self.value(path, scope, node) if isinstance(node, ast.Name | ast.Attribute) else _UNKNOWN
        plain = {thing for thing in found if isinstance(thing, Symbol) or thing in (EXTERNAL, OTHER)}
        return frozenset(plain) if plain == found else _UNKNOWN

    def _value_of(self, thing: Thing) -> Things:
        if not isinstance(thing, Symbol) or self.class_scope(thing):
            return frozenset({thing})
        source = self._source(thing.path)
        if source is None or thing.name not in source.module.bound:
            return _UNKNOWN
        found: set[Thing] = set()
        for binding in source.module.bound[thing.name]:
            found |= self._value_of_binding(thing.path, source.module, thing.name, binding)
        return frozenset(found)

    def _value_of_attribute(self, path: str, scope: NameScope, node: ast.Attribute) -> Things:
        if (dotted := _dotted(node)) and (home := scope.lookup(dotted.partition(".")[0])):
            refs = [b.source for b in home.bound[dotted.partition(".")[0]] if b.kind == "import" and b.source]
            if any(not ref.name and f"{ref.module}.".startswith(f"{dotted}.") for ref in refs):
                file = self._file_of(path, ImportRef(dotted))
                if file is not EXTERNAL:
                    return frozenset({file})
        found: set[Thing] = set()
        for thing in self.value(path, scope, node.value):
            if isinstance(thing, Module):
                found |= {value for one in self.member(thing, node.attr) for value in self._value_of(one)}
            elif isinstance(thing, Symbol):
                nested = Symbol(thing.path, f"{thing.name}.{node.attr}")
                found.add(nested if self.class_scope(nested) else UNKNOWN)
            else:
                found.add(thing if thing is EXTERNAL else UNKNOWN)
        return frozenset(found)

    # ── classes

    def class_scope(self, symbol: Symbol) -> NameScope | None:
        source = self._source(symbol.path)
        return source.classes.get(symbol.name) if source else None

    def bases(self, symbol: Symbol) -> Things:
        scope = self.class_scope(symbol)
        if scope is None:
            return _UNKNOWN
        found: set[Thing] = set()
        for base in scope.node.bases:
            node = base.value if isinstance(base, ast.Subscript) else base
            named = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
            if named not in _PLAIN_BASES and named != "object":
                found |= self.value(symbol.path, scope.parent or scope, node)
        return frozenset(found)

    def family(self, symbol: Symbol) -> tuple[set[Symbol], list[str]]:
        """The classes related to one by inheritance, and those among them with a base that cannot be seen."""
        known = [Symbol(path, name) for path, source in self._sources.items() for name in source.classes]
        links = {one: self.bases(one) for one in known}
        family = {symbol}
        while True:
            more = {one for one in known if links[one] & family} | {
                base for one in family for base in links.get(one, frozenset()) if isinstance(base, Symbol)
            }
            if more <= family:
                break
            family |= more
        unseen = [
            f"{one.name} in {one.path}"
            for one in sorted(family, key=lambda one: (one.path, one.name))
            if links.get(one, _UNKNOWN) & {EXTERNAL, UNKNOWN, RESULT}
        ]
        return family, unseen


def _at_hand(ref: ImportRef) -> ImportRef:
    """What `import a.b` puts at hand is `a`."""
    return ref if ref.name else ImportRef(ref.module.partition(".")[0], ref.level)


def class_around(scope: NameScope | None) -> NameScope | None:
    while scope and scope.kind != "class":
        scope = scope.parent
    return scope


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""
