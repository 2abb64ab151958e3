"""Takes out of a text what is nobody else's business: secrets, and where things are on this machine.

A stand-in is as long as what it stands for, so that whatever counts characters counts the same, and a path stays one.
Where a secret stands as JSON in JSON, its stand-in is as long as the secret itself: that is what a reader gets. Where a
text was cut, which "…" says, half a secret may stand: that goes, too.

`forms` gives every form in which a secret may turn up: as it is, escaped for JSON or an address, in hexadecimal, in
base64. There it looks different at each of the three places a byte can have in a group; of each, the letters that
depend on nothing but the secret are taken.
"""

from __future__ import annotations

import binascii
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache, cached_property
from typing import Any, Literal, Protocol, TypeVar, get_args, get_origin
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import Struct, structs

from quintet.domain.base.lazy_regex import regex

T = TypeVar("T")
Span = tuple[int, int, str]  # from where to where, and what stands for it
CUT = "…"
SHORTEST = 8  # characters of a value that is taken for a secret
SHORTEST_LINE = 16  # of a secret of several lines, each as long as this is one of its own
_URL_SAFE = ("", "/", "!'()*~", ";,/?:@&=+$-_.!~*'()#")  # what quoting leaves alone: by habit, Python, browsers
_ALTPLACES = str.maketrans("+/", "-_")
LEAST_PART = 4  # letters of a secret that are taken out beside a cut; fewer say nothing
_NAMES = regex(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|DSN|_PAT$", re.I)
# What is a secret by its looks, whatever it is called.
_LOOKS = regex(
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}"
    r"|(?<=Bearer )[\w.~+/-]{16,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
    re.S,
)


class Redactor(Protocol):
    """What keeps secrets from leaving: as they are known now."""

    def fresh(self) -> None:
        """Take in what became a secret meanwhile."""

    @property
    def known(self) -> Redactor:
        """By what is known now, for good: another one once something else is."""

    def text(self, text: str) -> str: ...

    def clean(self, value: T) -> T:
        """The value with every text in it redacted; the very same if there was nothing to redact."""

    def in_json(self, data: bytes) -> bool:
        """Whether JSON holds a secret: one look at all of it, before its values are looked at one by one."""

    def texts(self) -> Stream:
        """For a text that comes in pieces."""

    def chunks(self) -> Chunks:
        """For bytes that come in pieces."""


class Redaction:
    def __init__(
        self, secrets: Iterable[str] = (), places: Mapping[str, str] | None = None, *, by_looks: bool = False
    ) -> None:
        """`places` are paths with what stands for them; `by_looks` takes out what only looks like a secret, too."""
        words: dict[str, str] = {}
        for secret in secrets:
            words.update(forms(secret))
        self.secrets = frozenset(words)
        words.update({path: as_long_as(path, to) for path, to in (places or {}).items() if len(path) > 1})
        self._words = words
        self._in_json = tuple({_json(word) for word in words})
        self._by_looks = by_looks

    def fresh(self) -> None:
        """It knows what it was made with."""

    @property
    def known(self) -> Redaction:
        return self

    # A search for each word is faster than one for all: Python's expressions try every word at every letter.

    def text(self, text: str) -> str:
        # All are looked for before any is taken out: one may stand across another, or across half of one.
        found = _found(text, self._words)
        if self.secrets and CUT in text:
            found += self._halves(text)
        if found:
            covered, at = _covered(text, found)
            text = covered + text[at:]
        return _LOOKS.sub(lambda found: "*" * len(found[0]), text) if self._by_looks else text

    def _halves(self, text: str) -> Iterator[Span]:
        """What is left of a secret on either side of a cut."""
        begins, ends = self._parts
        at = 0
        pieces = text.split(CUT)
        for number, piece in enumerate(pieces):
            if number and (part := ends.at_end(piece.lstrip()[::-1])) >= LEAST_PART:
                start = at + len(piece) - len(piece.lstrip())
                yield start, start + part, "*" * part
            if number < len(pieces) - 1 and (part := begins.at_end(piece.rstrip())) >= LEAST_PART:
                end = at + len(piece.rstrip())
                yield end - part, end, "*" * part
            at += len(piece) + len(CUT)

    @cached_property
    def _parts(self) -> tuple[_Beginnings, _Beginnings]:
        return _Beginnings(self.secrets), _Beginnings(secret[::-1] for secret in self.secrets)

    def in_json(self, data: bytes) -> bool:
        return self._stands_in(data.decode("utf-8", "replace"))

    def _stands_in(self, json: str) -> bool:
        return any(map(json.__contains__, self._in_json))

    def _is_free(self, value: Struct) -> bool:
        """Whether there is nothing to redact, by one look at all of it: a walk through a request takes far longer."""
        if self._by_looks:
            return False
        try:
            text = msgspec.json.encode(value).decode()
        except (TypeError, ValueError, OverflowError):  # something that has no JSON form
            return False
        return not self._stands_in(text) and not (self.secrets and CUT in text)

    def clean(self, value: T) -> T:
        if not self._words and not self._by_looks:
            return value
        cleaned: T = self._clean(value)
        return cleaned

    def _clean(self, value: Any) -> Any:
        match value:
            case Enum():
                return value
            case str():
                return self.text(value)
            case Struct() if self._is_free(value):
                return value
            case Struct():
                found = {name: getattr(value, name) for name in _free_fields(type(value))}
                made = {name: new for name, old in found.items() if (new := self._clean(old)) is not old}
                return structs.replace(value, **made) if made else value
            case dict():
                pairs = {self._clean(key): self._clean(inner) for key, inner in value.items()}
                same = all(k is j and v is w for (k, v), (j, w) in zip(pairs.items(), value.items(), strict=False))
                return value if same and len(pairs) == len(value) else pairs
            case list() | tuple():
                items = [self._clean(inner) for inner in value]
                if all(new is old for new, old in zip(items, value, strict=True)):
                    return value
                return items if isinstance(value, list) else tuple(items)
        return value

    def texts(self) -> Stream:
        return Stream(self._words)

    def chunks(self) -> Chunks:
        return Chunks({_letters(_data(word)): to for word, to in self._words.items()})

    def pieces(self, pieces: list[str]) -> list[str]:
        """A text that came in pieces: what stands across two of them is found too."""
        whole, redacted, at = self.text("".join(pieces)), [], 0
        if len(whole) != sum(map(len, pieces)):
            return [self.text(piece) for piece in pieces]
        for piece in pieces:
            redacted.append(whole[at : at + len(piece)])
            at += len(piece)
        return redacted


def _found(text: str, words: Mapping[str, str]) -> list[Span]:
    """Wherever one of the words stands, also across another or itself."""
    return [span for word, to in words.items() if word in text for span in _places(text, word, to)]


def _places(text: str, word: str, stand_in: str) -> Iterator[Span]:
    at = text.find(word)
    while at >= 0:
        yield at, at + len(word), stand_in
        at = text.find(word, at + 1)


def _covered(text: str, spans: Iterable[Span], at: int = 0) -> tuple[str, int]:
    """The text from `at` to the end of the last span, with each one's stand-in for it, and that end.

    Where two overlap, the second's stands for what the first leaves.
    """
    out: list[str] = []
    for start, end, stand_in in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= at:
            out += text[at:start], stand_in
        elif end > at:
            out.append(stand_in[at - end :] if len(stand_in) == end - start else "*" * (end - at))
        at = max(at, end)
    return "".join(out), at


class _Beginnings:
    """Of words: finds the one that the end of a text may begin."""

    def __init__(self, words: Iterable[str]) -> None:
        self._sorted = sorted(words)
        self._first = frozenset(word[:1] for word in self._sorted)
        self._most = max(map(len, self._sorted), default=1) - 1

    def at_end(self, text: str) -> int:
        """How many letters at the end begin a word that would be longer."""
        for at in range(max(0, len(text) - self._most), len(text)):
            if text[at : at + 1] in self._first:
                tail = text[at:]
                place = bisect_left(self._sorted, tail)
                while place < len(self._sorted) and self._sorted[place].startswith(tail):
                    if len(self._sorted[place]) > len(tail):
                        return len(tail)
                    place += 1
        return 0


class Stream:
    """A text that comes in pieces: what may be the beginning of a secret is held back until it is known."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = words
        self._held = ""
        self._hidden = 0  # letters of what is held back that belong to a secret already handed on as its stand-in
        self._beginnings = _Beginnings(words)

    def feed(self, piece: str) -> str:
        """What may be handed on, of what was held back and this."""
        if not self._words:
            return piece
        text = self._held + piece
        return self._handed_on(text, len(text) - self._beginnings.at_end(text))

    def rest(self) -> str:
        """What is still held back, when nothing more comes."""
        return self._handed_on(self._held, len(self._held))

    def _handed_on(self, text: str, end: int) -> str:
        begun = [span for span in _found(text, self._words) if span[0] < end]
        out, at = _covered(text, begun, self._hidden)
        out += text[at:end]
        self._held, self._hidden = text[end:], max(at - end, 0)
        return out


class Chunks:
    """The same for bytes. They are searched as letters, which is several times faster."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._stream = Stream(words)

    def feed(self, piece: bytes) -> bytes:
        return self._stream.feed(_letters(piece)).encode("latin-1")

    def rest(self) -> bytes:
        return self._stream.rest().encode("latin-1")


@cache
def _free_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields that may hold any text: not those of a few fixed words, which are nobody's secret."""
    return tuple(field.name for field in structs.fields(kind) if not _is_fixed(field.type))


def _is_fixed(kind: Any) -> bool:
    return get_origin(kind) is Literal or any(_is_fixed(part) for part in get_args(kind) if part is not kind)


def _json(text: str) -> str:
    """As it stands in JSON of ours."""
    return msgspec.json.encode(text.encode("utf-8", "replace").decode())[1:-1].decode()


def _letters(data: bytes) -> str:
    """A letter for each byte."""
    return data.decode("latin-1")


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def as_long_as(text: str, stand_in: str) -> str:
    return (stand_in + "_" * len(text))[: len(text)]


def secrets_of(environment: Mapping[str, str], named: Iterable[str]) -> list[str]:
    """The values of variables that hold secrets: by their names, or because the settings say so."""
    wanted = set(named)
    return [value for name, value in environment.items() if name in wanted or _NAMES.search(name)]


def forms(secret: str) -> dict[str, str]:
    """Every form of a secret with what stands for it; as long as the form is, and as JSON as long as the secret."""
    found: dict[str, str] = {}
    for value in _secret_and_lines(secret):
        for form in _encoded(value):
            found[form] = "*" * len(form)
        for form in _json_forms(value):
            found[form] = "*" * len(value)
        found[value] = "*" * len(value)
    return found


def _secret_and_lines(secret: str) -> Iterator[str]:
    """The secret, and its lines if it has several: they are shown with numbers, and one at a time."""
    secret = secret.strip()
    if len(secret) >= SHORTEST:
        yield secret
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= SHORTEST_LINE and not line.startswith("-----"))


def _json_forms(value: str) -> Iterator[str]:
    """As JSON, in ASCII or not, with a slash or what HTML minds escaped; and as JSON in JSON."""
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield once.replace("/", "\\/")
        yield once.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]


def _encoded(value: str) -> Iterator[str]:
    data = value.encode("utf-8", "surrogateescape")
    yield data.hex()
    yield data.hex().upper()
    for quoted in (*(quote(data, safe=safe) for safe in _URL_SAFE), quote_plus(data), quote_plus(data, safe="*")):
        yield quoted
        yield _lower_escapes(quoted)
    for place in range(3):
        whole = binascii.b2a_base64(b"\0" * place + data, newline=False).decode()
        # The first letters mix with what stands before, and those after these with what stands behind.
        own = whole[(0, 2, 3)[place] : (place + len(data)) * 8 // 6]
        yield own
        yield own.translate(_ALTPLACES)


def _lower_escapes(quoted: str) -> str:
    first, *rest = quoted.split("%")
    return "%".join([first, *(piece[:2].lower() + piece[2:] for piece in rest)])
