"""YAML and JSON read as plain values together with the line each stands on.

Strict and bounded: no tags, no second document, no key twice, and what aliases would multiply is counted before it is
built. `NotReadable` says what is wrong and on which line. `CheckedFields` reads the fields of such a document and
notes what is wrong with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

import yaml
from msgspec import Struct

from quintet.domain.agents.agent import AgentProblem
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import did_you_mean

MOST_NODES = 20_000  # values in a document, those that aliases repeat counted each time
MOST_DEPTH = 50
MOST_TEXT = 100_000  # characters of one field
_KINDS = {dict: "fields", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}

Place = tuple[str | int, ...]  # keys and positions, from the outermost inwards


class NotReadable(Exception):
    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


class NotParsed(NotReadable):
    """Not even YAML or JSON; other NotReadable is, and has more in it than is read here."""


class Located(Struct):
    value: Any
    lines: dict[Place, int]

    def line(self, place: Place) -> int:
        """The line of a value, or of the nearest thing around one that is missing."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


class _Open(Struct):
    """A collection that is being read."""

    value: Any
    place: Place
    anchor: str | None
    weight: int = 1
    key: str | None = None


def read_yaml(text: str, first_line: int = 1, *, twice: bool = False, simple: bool = False) -> Located:
    """`twice`: a key may stand twice, and the last one holds.

    `simple`: every value is a text, and there are no brackets, anchors or tags.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(first_line, twice, simple).build(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + first_line if mark else first_line
        raise NotParsed(line, f"not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise NotParsed(first_line, f"not valid YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise NotReadable(first_line, "nested too deeply") from None


_PAIR = regex(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)


def read_json(text: str) -> Located:
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise NotReadable(error.lineno, f"not valid JSON: {error.msg}") from None
    except UnicodeEncodeError:
        raise NotReadable(1, "not valid JSON: an incomplete character") from None
    except (RecursionError, ValueError):
        raise NotReadable(1, "not valid JSON: nested too deeply, or a number too long") from None
    try:
        return Located(value, read_yaml(_PAIR.sub(_character, text)).lines)
    except NotParsed:  # JSON that YAML does not read has its values and no lines; what is too much has none
        return Located(value, {})


def _character(pair: re.Match[str]) -> str:
    high, low = int(pair[2], 16), int(pair[3], 16)
    return pair[1] + chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def frontmatter(text: str) -> tuple[Located, str]:
    """The YAML between `---` lines at the top of a page, and the page below it; no frontmatter is an empty one."""
    lines, body = _parted(text)
    return (_fields(lines) if lines is not None else Located({}, {})), body


def page_fields(text: str, known: Collection[str], needed: Collection[str]) -> tuple[Located, str, NotReadable | None]:
    """As `frontmatter`, for pages that others wrote by hand: what is not YAML is read as lines of `name: value`.

    Of the names that open a line, the known ones and those whose value stands below begin a field; all else goes on
    with the one before. A description may be any text; of the others a needed one has to be YAML by itself. The third
    value is what keeps the frontmatter from being YAML.
    """
    lines, body = _parted(text)
    if lines is None:
        return Located({}, {}), body, None
    try:
        return _fields(lines), body, None
    except NotReadable as error:
        found = _by_lines(lines, known, needed)
        if found is None or not found.value:
            raise
        return found, body, error


def _parted(text: str) -> tuple[list[str] | None, str]:
    head, *lines = text.split("\n")
    if head.rstrip() != "---":
        return None, text
    end = next((number for number, line in enumerate(lines) if line.rstrip() == "---"), None)
    if end is None:
        raise NotReadable(1, "the frontmatter is not closed by a line of ---")
    return lines[:end], "\n".join(lines[end + 1 :])


def _fields(lines: list[str]) -> Located:
    found = read_yaml("\n".join(lines), first_line=2, twice=True)  # pages in the wild repeat keys
    if found.value is None:
        found.value = {}
    if not isinstance(found.value, dict):
        raise NotReadable(2, "the frontmatter must be fields, each `name: value`")
    return found


_FIELD = regex(r"([A-Za-z][\w-]*):(\s|\Z)")
_BLOCK = regex(r"[a-z][\w-]*:\s*[|>]?[-+]?\s*\Z")  # a field whose value stands on the lines below
_PROSE = "description"


def _by_lines(lines: list[str], known: Collection[str], needed: Collection[str]) -> Located | None:
    found = Located({}, {(): 2})
    parts: list[tuple[str, list[str]]] = []
    for number, line in enumerate(lines, 2):
        opening = _FIELD.match(line)
        if opening and (opening[1],) not in found.lines and (opening[1] in known or _BLOCK.match(line)):
            parts.append((opening[1], [line]))
            found.lines[(opening[1],)] = number
        elif parts:
            parts[-1][1].append(line)
    for name, own in parts:
        try:
            value = read_yaml("\n".join(own), first_line=found.lines[(name,)], twice=True).value
        except NotReadable:
            value = None
        if isinstance(value, dict) and name in value:
            found.value |= value
        elif name == _PROSE:
            text = "\n".join(own)[len(name) + 1 :].strip()
            found.value[name] = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
        elif name in needed:
            return None
    return found


class _Builder:
    """Values from the parser's events, without recursion."""

    def __init__(self, first_line: int, twice: bool, simple: bool) -> None:
        self.first_line = first_line
        self.twice = twice
        self.simple = simple
        self.open: list[_Open] = []
        self.lines: dict[Place, int] = {}
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.nodes = 0
        self.documents = 0
        self.result: Any = None

    def build(self, events: Any) -> Located:
        for event in events:
            line = event.start_mark.line + self.first_line
            if self.simple:
                self._keep_simple(event, line)
            if isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    raise NotReadable(line, "a second document begins; only one is allowed in a file")
            elif isinstance(event, yaml.ScalarEvent):
                self._scalar(event, line)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event.anchor or "", line)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start({} if isinstance(event, yaml.MappingStartEvent) else [], event, line)
            elif isinstance(event, yaml.CollectionEndEvent):
                done = self.open.pop()
                if done.anchor:
                    self.anchors[done.anchor] = (done.value, done.weight)
                self._weigh(done.weight)
        return Located(self.result, self.lines)

    def _keep_simple(self, event: Any, line: int) -> None:
        if getattr(event, "anchor", None):  # of an alias, too
            raise NotReadable(line, "anchors and aliases are not allowed here")
        if getattr(event, "tag", None):
            raise NotReadable(line, "tags are not allowed here")
        if getattr(event, "flow_style", False):
            raise NotReadable(line, "lists and fields in brackets are not allowed here: put each on its own line")

    def _weigh(self, weight: int) -> None:
        if self.open:
            self.open[-1].weight += weight

    def _count(self, nodes: int, line: int) -> None:
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            raise NotReadable(line, f"more than {MOST_NODES} values, aliases counted each time")

    def _scalar(self, event: Any, line: int) -> None:
        if event.tag and event.tag not in ("!", "tag:yaml.org,2002:str"):
            raise NotReadable(line, f"the tag {event.tag} is not supported; write a plain value")
        self._count(1, line)
        if self.open and isinstance(self.open[-1].value, dict) and self.open[-1].key is None:
            self._key(event.value, line)
            return
        typed = event.implicit[0] and not event.tag and not self.simple
        value = _plain(event.value) if typed else event.value
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        self._add(value, line)
        self._weigh(1)

    def _key(self, name: str, line: int) -> None:
        mapping = self.open[-1]
        if name in mapping.value and not self.twice:
            raise NotReadable(line, f"{name} appears twice")
        mapping.key = name
        self.lines[(*mapping.place, name)] = line

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self.anchors:
            raise NotReadable(line, f"*{anchor} refers to nothing before it")
        value, weight = self.anchors[anchor]
        self._count(weight, line)
        self._add(value, line)
        self._weigh(weight)

    def _start(self, value: Any, event: Any, line: int) -> None:
        if event.tag and event.tag != "!":
            raise NotReadable(line, f"the tag {event.tag} is not supported; write a plain value")
        if len(self.open) >= MOST_DEPTH:
            raise NotReadable(line, "nested too deeply")
        self._count(1, line)
        self.open.append(_Open(value, self._add(value, line), event.anchor))

    def _add(self, value: Any, line: int) -> Place:
        if not self.open:
            self.result = value
            self.lines[()] = line
            return ()
        holder = self.open[-1]
        if isinstance(holder.value, list):
            place: Place = (*holder.place, len(holder.value))
            holder.value.append(value)
        elif holder.key is None:
            raise NotReadable(line, "a key must be a plain word")
        else:
            place = (*holder.place, holder.key)
            holder.value[holder.key] = value
            holder.key = None
        self.lines.setdefault(place, line)
        return place


_WHOLE = regex(r"[-+]?[0-9]{1,18}")
_REAL = regex(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def _plain(text: str) -> Any:
    """An unquoted value as YAML 1.2 reads it; dates, `yes` and `no` stay words."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if len(text) < 40 and _REAL.fullmatch(text) else text


def field_name(place: Place) -> str:
    """As a person writes it: `agent.menu[2].trigger`."""
    name = ""
    for part in place:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name


class CheckedFields:
    """The fields of a document. What is wrong is noted with its line and reads as an empty value, and reading goes on.

    Whoever reads looks at `problems` at the end.
    """

    def __init__(self, file: str, document: Located) -> None:
        self.file = file
        self.document = document
        self.problems: list[AgentProblem] = []
        self.remarks: list[AgentProblem] = []

    @property
    def findings(self) -> list[AgentProblem]:
        return [*self.problems, *self.remarks]

    def remark(self, place: Place, problem: str) -> None:
        """What does not make the file mean something else: it is said, and the file is read."""
        line = self.document.line(place)
        self.remarks.append(AgentProblem(self.file, line, field_name(place), problem, noted=True))

    def note(self, place: Place, problem: str) -> None:
        self.problems.append(AgentProblem(self.file, self.document.line(place), field_name(place), problem))

    def get(self, place: Place) -> Any:
        value = self.document.value
        for part in place:
            if isinstance(part, int):
                value = value[part] if isinstance(value, list) and part < len(value) else None
            else:
                value = value.get(part) if isinstance(value, dict) else None
        return value

    def fields(self, place: Place, known: Collection[str] = (), *, required: bool = True) -> dict[str, Any]:
        """A set of fields; of those that are not among `known` it is noted that nothing here uses them."""
        value = self.get(place)
        if value is None and not required:
            return {}
        if not isinstance(value, dict):
            self._wanted(place, "fields", value)
            return {}
        for name in value if known else ():
            if name not in known:
                self.remark((*place, name), f"is not a field here, and is not used.{did_you_mean(str(name), known)}")
        return value

    def items(self, place: Place, *, required: bool = True, least: int = 0) -> range:
        """The positions of a list."""
        value = self.get(place)
        if value is None and not required:
            return range(0)
        if not isinstance(value, list):
            self._wanted(place, "a list", value)
            return range(0)
        if len(value) < least:
            self.note(place, "needs at least one entry")
        return range(len(value))

    def text(self, place: Place, *, required: bool = True) -> str:
        value = self.get(place)
        if value is None and not required:
            return ""
        if not isinstance(value, str):
            self._wanted(place, "text", value)
            return ""
        if not value.strip():
            self.note(place, "is empty")
        elif len(value) > MOST_TEXT:
            self.note(place, f"is longer than {MOST_TEXT} characters")
        return value.strip()

    def texts(self, place: Place, *, required: bool = True, least: int = 0) -> tuple[str, ...]:
        return tuple(self.text((*place, number)) for number in self.items(place, required=required, least=least))

    def flag(self, place: Place) -> bool:
        value = self.get(place)
        if value is not None and not isinstance(value, bool):
            self._wanted(place, "true or false", value)
        return value is True

    def _wanted(self, place: Place, kind: str, value: Any) -> None:
        if value is None:
            self.note(place, "is missing")
        else:
            self.note(place, f"must be {kind}, not {_KINDS.get(type(value), 'a number')}")
