"""A task's file: front matter and a Markdown body. `read_page` and `write_page` are inverse. A plan is several of them.

The front matter is the part of YAML that such a page needs (words, quotes, lists in either form), read here so that the
domain stays pure and every flaw has its line and field. A page with a flaw gives no task; nothing is guessed. A field
that is nobody's here is no flaw: it is kept as it stands, and `notes` tells of it. What verifications found wrong is
appended to the body.

A planner answers with pages in fenced blocks; without any it adds nothing. Ids that are taken are given anew, with the
dependencies on them; a task that stands already, word for word, is left out, and who depends on it depends on the one
that stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct, structs

from quintet.domain.base.errors import UsageError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import did_you_mean
from quintet.domain.tasks.task import ID_FORM, Approval, Intent, Mutation, Risk, TaskText

FENCE = "---"
FINDINGS = "## Findings"
MOST_FINDINGS = 20_000  # characters of one failure's, in a page that may hold four and is read up to a megabyte
MOST_DIGITS = 9  # of a line number
_KEY = regex(r"([A-Za-z_][\w-]*)\s*:(?:\s+(.*)|\s*)$")
# src/a.py:10-50, src/a.py:10, src/a.py lines 10-50, src/a.py 10–50
_LINES = regex(r"(.+?)(?:(?::|\s+lines?\s+)(\d+)(?:\s*[-–]\s*(\d+))?|\s+(\d+)\s*[-–]\s*(\d+))", re.S)
_DECLARED = regex(r"(.+?)::((?:[^\W\d]|\$)[\w$]*(?:[.:]+(?:[^\W\d]|\$)[\w$]*)*)")
_ID_LINE = regex(r"(?m)^id[ \t]*:.*$")
_SPECIAL = tuple("[]{}&*!|>%@`\"'#,?-:")  # what a word that goes without quotes does not begin with


class Flaw(Struct, frozen=True, gc=False):
    """What is wrong with a page, and where."""

    line: int
    field: str  # empty: the page as a whole
    problem: str

    def __str__(self) -> str:
        return f"line {self.line}{f', {self.field}' if self.field else ''}: {self.problem}"


class _Wrong(Exception):
    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        super().__init__(problem)


class _Value(Struct, frozen=True):
    """A field's value: its words, whether they stood as a list, and the line each stands on."""

    line: int
    words: tuple[tuple[int, str], ...]
    is_list: bool = False


def read_page(page: str) -> tuple[TaskText | None, list[Flaw]]:
    """The task a page tells of, or everything that is wrong with the page."""
    lines = page.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != FENCE:
        return None, [Flaw(1, "", f"no front matter: the first line must be {FENCE}")]
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), 0)
    if not end:
        return None, [Flaw(1, "", f"the front matter does not end: a line {FENCE} is missing")]
    values: dict[str, Any] = {}
    flaws, kept = [], []
    for number, line, below in _entries([line.rstrip() for line in lines[1:end]]):
        match = _KEY.match(line)
        if match is None:
            flaws.append(Flaw(number, "", f'"{line.strip()[:40]}" is not a field; a field looks like `title: Do this`'))
            continue
        name = match[1]
        if name not in _READERS:
            last = below[-1][0] if below else number
            kept.append("\n".join(line.rstrip() for line in lines[number - 1 : last]))
            continue
        try:
            if name in values:
                raise _Wrong(number, "appears twice")
            values[name] = None
            values[name] = _READERS[name](_value(number, match[2] or "", below))
        except _Wrong as wrong:
            flaws.append(Flaw(wrong.line, name, str(wrong)))
    flaws += [Flaw(1, name, "is missing") for name in ("id", "title") if name not in values]
    if flaws:
        return None, sorted(flaws, key=lambda flaw: flaw.line)
    return TaskText(**values, kept=tuple(kept), body="\n".join(lines[end + 1 :])), []


def write_page(text: TaskText) -> str:
    """The page of a task; what is as usual is left out."""
    usual = TaskText(text.id, text.title)
    rows = [f"id: {_word(text.id)}", f"title: {_word(text.title)}"]
    for name in ("depends_on", "risk", "mutation", "verification", "approval", "intent", "cost_budget"):
        value = getattr(text, name)
        if value != getattr(usual, name):
            rows.append(f"{name}: {_written(value)}")
    return "\n".join([FENCE, *rows, *text.kept, FENCE, text.body])


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_word(str(item)) for item in value)}]"
    return repr(value) if isinstance(value, float) else _word(value)


def notes(text: TaskText) -> list[str]:
    """What of a page is not understood here, and kept."""
    names = [field.partition(":")[0].rstrip() for field in text.kept]
    about = "is not a field of a task; it stays in the file and has no effect."
    return [f"{name} {about}{did_you_mean(name, _READERS)}" for name in names]


def with_id(page: str, id: str) -> str:
    """The same page with another id; the rest of it stays as it was written."""
    return _ID_LINE.sub(lambda found: f"id: {_word(id)}", page, count=1)


def read_pages(pages: Iterable[tuple[str, str]]) -> list[TaskText]:
    """What pages say, or one error that names every flaw of every page."""
    texts, wrong = [], []
    for name, page in pages:
        text, flaws = read_page(page)
        wrong += [f"{name}: {flaw}" for flaw in flaws]
        texts += [text] if text else []
    if wrong:
        raise UsageError("nothing was added:\n" + "\n".join(wrong))
    return texts


def request_of(body: str) -> str:
    """What a task asks for, without what verifications found wrong so far."""
    return body.partition(f"\n{FINDINGS}")[0].strip()


def findings_page(number: int, by: str, findings: str) -> str:
    """What is appended to the file of a task that failed; the end of what is too long is what tells why."""
    said = findings.strip()
    cut = f"… {len(said) - MOST_FINDINGS} characters before\n\n" if len(said) > MOST_FINDINGS else ""
    return f"{FINDINGS} {number}, {by}\n\n{cut}{said[-MOST_FINDINGS:] if cut else said}"


# ── the lines of the front matter


def _entries(lines: list[str]) -> Iterator[tuple[int, str, list[tuple[int, str]]]]:
    """Each line at the margin, with the lines below that belong to it; numbers are those of the page."""
    head: tuple[int, str] | None = None
    below: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if head and (line[0] in " \t" or line.startswith("- ") or line == "-"):
            below.append((number, line.strip()))
            continue
        if head:
            yield (*head, below)
        head, below = (number, line), []
    if head:
        yield (*head, below)


def _value(number: int, rest: str, below: list[tuple[int, str]]) -> _Value:
    rest = rest.strip()
    if rest[:1] in ("|", ">"):
        raise _Wrong(number, "block text is not supported; write it on one line, in quotes")
    if rest.startswith("["):
        return _Value(number, tuple((number, word) for word in _flow(number, rest)), True)
    if rest and not rest.startswith("#"):
        if below:
            raise _Wrong(below[0][0], "does not belong to the line above; write the value on one line, in quotes")
        word = _unquoted(number, rest)
        return _Value(number, () if word is None else ((number, word),))
    return _Value(number, tuple(_items(below)), True) if below else _Value(number, ())


def _items(below: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The items of a list; `- path: P` with `lines: 1-9` under it is one."""
    items: list[tuple[int, str]] = []
    for number, line in below:
        if line == "-" or line.startswith("- "):
            pair = _KEY.match(line[1:].strip())
            word = _unquoted(number, pair[2] or "" if pair and pair[1] == "path" else line[1:].strip())
            if not word:
                raise _Wrong(number, "an item is empty")
            items.append((number, word))
        elif items and (pair := _KEY.match(line)) and pair[1] == "lines" and (lines := re.findall(r"\d+", line)):
            items[-1] = (items[-1][0], f"{items[-1][1]}:{'-'.join(lines)}")
        else:
            raise _Wrong(number, f'"{line[:40]}" is not an item; an item begins with "- "')
    return items


def _flow(number: int, rest: str) -> Iterator[str]:
    """The items of `[a, "b, c"]`."""
    at, closed = 1, False
    while not closed:
        match = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,\]]*?)\s*([,\]])""").match(rest, at)
        if match is None:
            raise _Wrong(number, "the list is not closed: a ] is missing")
        at, closed = match.end(), match[2] == "]"
        if match[1]:
            yield _unquoted(number, match[1]) or ""
        elif not closed:
            raise _Wrong(number, "an item is empty")
    if rest[at:].strip() and not rest[at:].strip().startswith("#"):
        raise _Wrong(number, f'"{rest[at:].strip()}" after the list')


def _unquoted(number: int, word: str) -> str | None:
    """A word without its quotes and its comment; None if it stands for nothing."""
    if word[:1] == '"':
        match = re.match(r'("(?:[^"\\]|\\.)*")\s*(?:#.*)?$', word)
        try:
            return str(msgspec.json.decode(match[1].encode(), type=str)) if match else _unclosed(number)
        except msgspec.DecodeError as error:
            raise _Wrong(number, f"the text in quotes cannot be read: {error}") from None
    if word[:1] == "'":
        match = re.match(r"'((?:[^']|'')*)'\s*(?:#.*)?$", word)
        return match[1].replace("''", "'") if match else _unclosed(number)
    plain = re.split(r"\s+#", word, maxsplit=1)[0].strip()
    return None if plain in ("", "~", "null") else plain


def _unclosed(number: int) -> str:
    raise _Wrong(number, "a quote is not closed, or something follows it")


def _word(word: str) -> str:
    """A word as the front matter spells it, in quotes if it has to be."""
    plain = (
        word.isprintable()
        and word == word.strip()
        and word not in ("", "~", "null")
        and not word.startswith(_SPECIAL)
        and not any(sign in word for sign in (": ", " #", ",", "]", "["))
        and not word.endswith(":")
    )
    return word if plain else msgspec.json.encode(word).decode()


# ── what each field holds


def _one(value: _Value) -> str:
    if value.is_list:
        raise _Wrong(value.line, "one value is expected, not a list")
    return value.words[0][1] if value.words else ""


def _id(value: _Value) -> str:
    id = _one(value)
    if not ID_FORM.fullmatch(id):
        raise _Wrong(
            value.line, f'"{id}" is not an id: use letters, digits, ".", "_" and "-", at most 80, a letter first'
        )
    return id


def _title(value: _Value) -> str:
    title = _one(value)
    if not title.strip() or "\n" in title:
        raise _Wrong(value.line, "expected one line that says what to do")
    return title


def _choice(kind: type[StrEnum]) -> Callable[[_Value], StrEnum]:
    def read(value: _Value) -> StrEnum:
        word = _one(value)
        try:
            return kind(word.lower())
        except ValueError:
            choices = [str(choice) for choice in kind]
            raise _Wrong(
                value.line, f'"{word}" is not one of {", ".join(choices)}.{did_you_mean(word, choices)}'
            ) from None

    return read


def _amount(value: _Value) -> float:
    word = _one(value)
    try:
        amount = float(word)
    except ValueError:
        amount = -1.0
    if not 0 < amount < float("inf"):
        raise _Wrong(value.line, f'"{word}" is not an amount of money: expected a number above 0, for example 0.50')
    return amount


def _ids(value: _Value) -> tuple[str, ...]:
    for line, word in value.words:
        if not ID_FORM.fullmatch(word):
            raise _Wrong(line, f'"{word}" is not the id of a task')
    return tuple(dict.fromkeys(word for _, word in value.words))


def _intents(value: _Value) -> tuple[Intent, ...]:
    return tuple(_intent(line, word) for line, word in value.words)


def _intent(line: int, word: str) -> Intent:
    declared = _DECLARED.fullmatch(word)
    word, symbol = (declared[1], declared[2]) if declared else (word, "")
    match = None if declared else _LINES.fullmatch(word)
    path, first, last = word, 0, 0
    if match:
        path, begins, ends = match[1], match[2] or match[4], match[3] or match[5] or ""
        if max(len(begins), len(ends)) > MOST_DIGITS:
            raise _Wrong(line, f'"{word[:80]}": a line number has at most {MOST_DIGITS} digits')
        first = int(begins)
        last = int(ends or first)
    if match and not 0 < first <= last:
        raise _Wrong(line, f'"{word}": line numbers start at 1, and the first must not be after the last')
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        raise _Wrong(line, f'"{path}" is outside the project; write it relative to the project\'s root')
    return Intent(path.removeprefix("./"), first, last, symbol)


_READERS: dict[str, Callable[[_Value], Any]] = {
    "id": _id,
    "title": _title,
    "depends_on": _ids,
    "risk": _choice(Risk),
    "mutation": _choice(Mutation),
    "verification": _one,
    "approval": _choice(Approval),
    "intent": _intents,
    "cost_budget": _amount,
}


BLOCK = "~~~~"
_FENCED = regex(r"(?ms)^(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<page>---\s*\n.*?)^(?P=fence)[`~]*[ \t]*$")
_NUMBERED = regex(r"task-(\d+)")


def pages_in(answer: str) -> list[tuple[str, str]]:
    """The pages of an answer, each with a name for messages; none if it holds none."""
    found = [match["page"] for match in _FENCED.finditer(answer)]
    if not found and answer.lstrip().startswith(f"{FENCE}\n"):
        found = [answer.lstrip()]
    return [(f"task {number} of the plan", page.rstrip("\n") + "\n") for number, page in enumerate(found, 1)]


NOTHING = "NOTHING TO DO"  # the last line of an answer that plans nothing since nothing is left


def without_nothing(answer: str) -> str | None:
    """The answer before the line that says that nothing is left to do; None if it does not end with that line."""
    before, _, last = answer.rstrip().rpartition("\n")
    return before.rstrip() if last.strip(" *_`#>.").upper() == NOTHING else None


def plan_text(texts: Iterable[TaskText]) -> str:
    return "\n\n".join(f"{BLOCK}task\n{write_page(text).rstrip()}\n{BLOCK}" for text in texts)


def new_tasks(texts: Sequence[TaskText], there: Iterable[TaskText], taken: Collection[str]) -> list[TaskText]:
    """The tasks of a plan that are not `there`, with ids that are not `taken`."""
    known = {_said(text): text.id for text in there}
    new = [text for text in texts if _said(text) not in known]
    named = {text.id: known[_said(text)] for text in texts if _said(text) in known}
    free = _first_free({*taken, *(text.id for text in new)})
    for text in new:
        if text.id in taken and text.id not in named:
            named[text.id] = f"task-{free:03}"
            free += 1
    return [renamed(text, named) for text in new] if named else new


def _said(text: TaskText) -> tuple[str, str, str]:
    return text.title, request_of(text.body), text.verification


def _first_free(ids: Iterable[str]) -> int:
    return max((int(found[1]) for id in ids if (found := _NUMBERED.fullmatch(id))), default=0) + 1


def renamed(text: TaskText, named: Mapping[str, str]) -> TaskText:
    needs = tuple(named.get(id, id) for id in text.depends_on)
    return structs.replace(text, id=named.get(text.id, text.id), depends_on=needs)
