"""Rename a Python symbol: search, read, plan, edit, read back, run the tests; or refuse, or roll back."""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Mapping

from msgspec import Struct

from quintet.adapters.offline_rules.edits import evidence, line_change, make, prove, take_back
from quintet.adapters.offline_rules.intents import Rename, RunTests
from quintet.adapters.offline_rules.program_steps import (
    Program,
    SayStep,
    Steps,
    ask,
    listed,
    parsed,
    read_all,
    refused,
    shown_lines,
)
from quintet.adapters.offline_rules.python_names import (
    EXTERNAL,
    OTHER,
    RESULT,
    UNKNOWN,
    Module,
    Names,
    Symbol,
    Things,
    class_around,
)
from quintet.adapters.offline_rules.python_source import NamePlace, NameScope, ParsedSource
from quintet.domain.base.wording import counted

MOST_ROUNDS = 8  # of following imports into files that do not have the name themselves
MOST_MENTIONS = 20
HOW_TO_SAY = "Say which one: rename function X to Y, rename Owner.X to Y, or rename X in FILE to Y."


def rename(intent: Rename, tests_follow: RunTests | None) -> Program:
    word = rf"\b{intent.old}\b"
    found = yield from ask("grep", {"pattern": word, "glob": "*.py"})
    if refused(found):
        return SayStep(found, done=False)
    paths, all_there = listed(found)
    if not paths:
        there = yield from ask("grep", {"pattern": rf"\b{intent.new}\b", "glob": "*.py"})
        already = not refused(there) and bool(listed(there)[0])
        return SayStep(f"Nothing renamed: {intent.old} does not occur in a Python file of the project.", False, already)
    if not all_there:
        return SayStep(f"Nothing renamed: {intent.old} occurs in too many files.", done=False)
    plan, before = yield from _plan(intent, paths)
    if plan.refusal:
        return SayStep(plan.refusal, done=False)
    broken = [path for path, text in plan.texts.items() if not parsed(text)]
    if broken:
        return SayStep(f"Nothing renamed: {', '.join(broken)} would no longer compile as Python.", done=False)
    elsewhere = yield from ask("grep", {"pattern": word, "glob": "!*.py", "output_mode": "content"})
    changes = [line_change(path, before[path], text) for path, text in plan.texts.items()]
    made, problem = yield from make(changes)
    if not problem:
        again = yield from read_all(list(plan.texts))
        odd = [shown.path for shown in again if shown.text != plan.texts[shown.path]]
        problem = f"{', '.join(odd)} was not changed as planned" if odd else ""
    if problem:
        back = (yield from take_back(made)) if made else "No file was changed."
        return SayStep(f"Nothing renamed. {problem}\n{back}", done=False)
    proof = yield from prove(made, intent.old, intent.new, tests_follow)
    if proof.refuted:
        return SayStep(f"Not renamed: {plan.what} to {intent.new}. {proof.refuted}", done=False, failed=True)
    places = sum(plan.counts.values())
    head = f"Renamed {plan.what} to {intent.new}: {counted(places, 'place')} in {counted(len(made), 'file')}"
    rows = [f"  {path}  {count}" for path, count in plan.counts.items()]
    mentions = [f"  {line}" for line in (*plan.mentions, *listed(elsewhere)[0])]
    left = [f"not changed, in strings, comments and other files: {len(mentions)}"] if mentions else []
    report = "\n".join([head, *rows, *left, *([shown_lines(mentions, MOST_MENTIONS)] if left else [])])
    checked = evidence(["read back, only these places changed", "Python files compile"], proof)
    return SayStep(report + checked, tests=proof.tests)


def _plan(intent: Rename, paths: list[str]) -> Steps[tuple[RenamePlan, dict[str, str]]]:
    """Read what has the name, and what has to be known to follow it."""
    sources: dict[str, ParsedSource] = {}
    located: dict[str, list[str]] = {}
    wanted = paths
    for _ in range(MOST_ROUNDS):
        for shown in (yield from read_all(wanted)):
            if shown.problem or not shown.whole:
                why = shown.problem or f"{shown.path} has a line that is too long to read completely"
                return RenamePlan(f"Nothing renamed: {why}"), {}
            sources[shown.path] = ParsedSource(shown.path, shown.text, intent.old)
        plan = plan_rename(intent, sources, located)
        if stems := sorted(plan.wanted_stems):
            files = yield from ask(
                "glob", {"pattern": "{" + ",".join(f"{s}.py,{s}/__init__.py" for s in map(_unrooted, stems)) + "}"}
            )
            found, all_there = listed(files, "no files match")
            if refused(files) or not all_there:
                return RenamePlan(f"Nothing renamed: the imports could not be resolved. {files.splitlines()[-1]}"), {}
            for stem in stems:
                above = "" if stem.startswith("/") else "(?:.*/)?"
                file = re.compile(rf"{above}{re.escape(_unrooted(stem).removeprefix('**/'))}(?:/__init__)?\.py")
                located[stem] = [path for path in found if file.fullmatch(path)]
        wanted = sorted(plan.wanted_files - set(sources))
        if not stems and not wanted:
            return plan, {path: source.text for path, source in sources.items()}
    return RenamePlan(f"Nothing renamed: {intent.old} is imported through too many files."), {}


def _unrooted(stem: str) -> str:
    """A stem as a glob has it: a pattern with a slash in it counts from the project anyway."""
    return stem.removeprefix("/")


class Definition(Struct, frozen=True):
    kind: str  # function | class | variable | method | attribute
    symbol: Symbol  # of a method or attribute: its class
    line: int

    @property
    def is_member(self) -> bool:
        return self.kind in ("method", "attribute")


class RenamePlan(Struct):
    refusal: str = ""
    what: str = ""
    texts: dict[str, str] = {}  # the files as they are to be
    counts: dict[str, int] = {}
    mentions: list[str] = []  # strings and comments, which stay
    wanted_stems: set[str] = set()
    wanted_files: set[str] = set()


def plan_rename(intent: Rename, sources: Mapping[str, ParsedSource], located: Mapping[str, list[str]]) -> RenamePlan:
    names = Names(sources, located)
    plan = _Planner(intent, sources, names).plan()
    plan.wanted_stems, plan.wanted_files = names.wanted_stems, names.wanted_files
    return plan


class _Planner:
    def __init__(self, intent: Rename, sources: Mapping[str, ParsedSource], names: Names) -> None:
        self._intent = intent
        self._sources = sources
        self._names = names

    def plan(self) -> RenamePlan:
        old, new = self._intent.old, self._intent.new
        if old.startswith("__") and old.endswith("__"):
            return RenamePlan(f"Nothing renamed: Python itself uses the name {old}.")
        broken = [path for path, source in self._sources.items() if source.tree is None]
        if broken:
            return RenamePlan(
                f"Nothing renamed: {', '.join(broken)} does not compile as Python, so the uses of {old} "
                "cannot be found."
            )
        found = self._chosen(self._definitions())
        if isinstance(found, str):
            return RenamePlan(found)
        family: set[Symbol] = set()
        if found.is_member:
            family, refusal = self._family(found)
            if refusal:
                return RenamePlan(refusal)
        hits: list[tuple[ParsedSource, NamePlace]] = []
        unsure: list[tuple[ParsedSource, NamePlace]] = []
        for source in self._sources.values():
            for place in source.places:
                verdict = self._verdict(source, place, found, family)
                if verdict is None or (verdict and place.offset < 0):
                    unsure.append((source, place))
                elif verdict:
                    hits.append((source, place))
        if unsure:
            return RenamePlan(
                f"Nothing renamed: {counted(len(unsure), 'use')} of {old} may not refer to the {found.kind} "
                f"in {found.symbol.path}:{found.line}\n{_listed(unsure)}"
            )
        if taken := self._taken({source.path for source, _ in hits}, family):
            return RenamePlan(f"Nothing renamed: {new} is already used there\n{shown_lines(taken)}")
        return self._edited(f"{found.kind} {self._called(found)}", hits)

    def _called(self, found: Definition) -> str:
        return f"{found.symbol.name}.{self._intent.old}" if found.is_member else self._intent.old

    # ── which definition

    def _definitions(self) -> list[Definition]:
        old = self._intent.old
        found: list[Definition] = []
        for path, source in self._sources.items():
            own = [binding for binding in source.module.bound.get(old, []) if binding.kind != "import"]
            if own:
                kinds = {binding.kind for binding in own}
                kind = next((kind for kind in ("class", "function") if kind in kinds), "variable")
                found.append(Definition(kind, Symbol(path, old), own[0].node.lineno))
            members = {name: scope.bound[old] for name, scope in source.classes.items() if old in scope.bound}
            for name, bindings in members.items():
                kind = "method" if any(binding.kind == "function" for binding in bindings) else "attribute"
                found.append(Definition(kind, Symbol(path, name), bindings[0].node.lineno))
            for place in source.places:
                owner = class_around(place.scope) if place.kind == "member" else None
                if owner and owner.name not in members:
                    members[owner.name] = []
                    found.append(Definition("attribute", Symbol(path, owner.name), place.line))
        return found

    def _chosen(self, found: list[Definition]) -> Definition | str:
        old, kind, owner, where = self._intent.old, self._intent.kind, self._intent.owner, self._intent.where
        fits = [
            one
            for one in found
            if (not kind or one.kind == kind or (kind == "method" and one.is_member))
            and (not owner or (one.is_member and f".{one.symbol.name}".endswith(f".{owner}")))
            and (not where or f"/{one.symbol.path}".endswith(f"/{where.removeprefix('./')}"))
        ]
        if not fits:
            said = f"{kind or 'function, class, method or module variable'} {owner + '.' if owner else ''}{old}"
            place = f" in {where}" if where else ""
            others = f". There is:\n{self._places_of(found)}" if found else ", only uses or local names."
            return f"Nothing renamed: the project defines no {said}{place}{others}"
        kin = self._names.family(fits[0].symbol)[0] if fits[0].is_member else set()
        if len(fits) > 1 and not all(one.is_member and one.symbol in kin for one in fits):
            return f"Nothing renamed: {old} is defined in {len(fits)} places\n{self._places_of(fits)}\n{HOW_TO_SAY}"
        if any(one.kind == "attribute" for one in fits):
            listed = self._places_of(fits)
            return f"Nothing renamed: {old} is an attribute; in a class, only methods can be renamed\n{listed}"
        return fits[0]

    def _places_of(self, found: list[Definition]) -> str:
        rows = []
        for one in found:
            called = f"{one.kind} {self._called(one)}"
            rows.append(f"  {one.symbol.path}:{one.line}: {called}: {self._sources[one.symbol.path].line(one.line)}")
        return shown_lines(rows)

    def _family(self, found: Definition) -> tuple[set[Symbol], str]:
        family, unseen = self._names.family(found.symbol)
        if unseen:
            return family, (
                f"Nothing renamed: {', '.join(unseen)} has a base class outside the project, which may use "
                f"{self._intent.old}"
            )
        for symbol in family:
            scope = self._names.class_scope(symbol)
            for base in scope.node.bases if scope else []:
                kind = getattr(builtins, getattr(base, "id", ""), None)
                if kind is not None and hasattr(kind, self._intent.old):
                    return (
                        family,
                        f"Nothing renamed: {self._intent.old} is a method of {base.id}, a base of {symbol.name}",
                    )
        return family, ""

    # ── which places

    def _verdict(self, source: ParsedSource, place: NamePlace, found: Definition, family: set[Symbol]) -> bool | None:
        """Whether a place means the definition; None if that is not certain."""
        if place.kind in ("attribute", "member"):
            things = self._names.value(source.path, place.scope, place.base)
            votes = {self._attribute_means(thing, found, family) for thing in things}
            return votes.pop() if len(votes) == 1 else None
        home = place.scope.lookup(source.name) if place.kind == "name" else None
        if home and _may_be_global(source.name, place, home):
            mine = Symbol(source.path, home.name) in family or found.symbol in self._names.origin(
                source.path, source.name
            )
            return None if mine else False
        if found.is_member:
            return bool(home and home.kind == "class" and Symbol(source.path, home.name) in family)
        if home and home.kind != "module" and not any(b.kind == "import" for b in home.bound[source.name]):
            return False
        return _among(self._names.of_place(source, place), found.symbol)

    def _attribute_means(self, thing: object, found: Definition, family: set[Symbol]) -> bool | None:
        if found.is_member:
            return thing in family if thing in (EXTERNAL, OTHER) or isinstance(thing, Symbol | Module) else None
        if isinstance(thing, Module):
            return _among(self._names.member(thing, self._intent.old), found.symbol)
        return None if thing is UNKNOWN else False

    # ── the new name

    def _taken(self, paths: set[str], family: set[Symbol]) -> list[str]:
        new = self._intent.new
        rows: list[tuple[tuple[str, int], str]] = []
        for path in sorted(paths):
            source = self._sources[path]
            assert source.tree
            members = {id(node) for scope in source.classes.values() for node in scope.node.body}
            for node in ast.walk(source.tree):
                if _is_own_attribute(node, new) if family else new in _identifiers(node) and id(node) not in members:
                    line = getattr(node, "lineno", 1)
                    rows.append(((path, line), f"  {path}:{line}: {source.line(line)}"))
        for symbol in sorted(family, key=lambda one: (one.path, one.name)):
            scope = self._names.class_scope(symbol)
            if scope and new in scope.bound:
                line = scope.bound[new][0].node.lineno
                text = f"  {symbol.path}:{line}: {self._sources[symbol.path].line(line)}"
                rows.append(((symbol.path, line), text))
        return list(dict.fromkeys(text for _, text in sorted(rows)))

    def _edited(self, what: str, hits: list[tuple[ParsedSource, NamePlace]]) -> RenamePlan:
        old, new = self._intent.old, self._intent.new
        plan = RenamePlan(what=what, texts={}, counts={}, mentions=[])
        for path, source in self._sources.items():
            offsets = sorted({place.offset for owner, place in hits if owner is source}, reverse=True)
            text = source.text
            for offset in offsets:
                text = text[:offset] + new + text[offset + len(old) :]
            if offsets:
                plan.texts[path], plan.counts[path] = text, len(offsets)
            plan.mentions += [
                f"{path}:{line}: {text.split(chr(10))[line - 1].strip()}" for line in mentioned(text, old)
            ]
        return plan


def _may_be_global(name: str, place: NamePlace, home: NameScope) -> bool:
    """Whether a class body reads a name before it binds it: Python takes the module's then, or a builtin."""
    return home.kind == "class" and place.read and place.line <= home.bound[name][0].node.lineno


def _among(things: Things, symbol: Symbol) -> bool | None:
    if symbol in things:
        return True if len(things) == 1 else None
    return None if things & {UNKNOWN, RESULT} else False


def _listed(places: list[tuple[ParsedSource, NamePlace]]) -> str:
    rows = dict.fromkeys(f"  {source.path}:{place.line}: {source.line(place.line)}" for source, place in places)
    return shown_lines(list(rows))


def _is_own_attribute(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(attr=attr, value=ast.Name(id="self" | "cls")):
            return attr == name
    return False


def _identifiers(node: ast.AST) -> tuple[str, ...]:
    """The names a node binds or uses, attributes and keywords aside."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.alias(name=name, asname=asname):
            return (asname or name.partition(".")[0],)
        case ast.ExceptHandler(name=str(name)):
            return (name,)
    return ()


def mentioned(text: str, name: str) -> list[int]:
    """The lines where a name stands in a string or a comment."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    lines: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE"):
                for hit in word.finditer(token.string):
                    lines.add(token.start[0] + token.string.count("\n", 0, hit.start()))
    except (tokenize.TokenError, SyntaxError):
        return []
    return sorted(lines)
