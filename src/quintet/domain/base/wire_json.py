"""JSON: read within bounds what a model, a server or a repository wrote, and the base of all that we write on a wire.

`decode` gives a value or a DecodeError, whatever the text is. Depth is measured before anything is parsed, in one pass:
what is read here may be walked by a recursive function.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import msgspec
from msgspec import Struct

from quintet.domain.base.lazy_regex import regex

T = TypeVar("T")
MOST_DEPTH = 100
# A text, closed or not, is one token: what stands in it nests nothing, and nothing is looked at twice.
_TOKENS = regex(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', 16)  # re.DOTALL


@overload
def decode(data: bytes | bytearray | str) -> Any: ...
@overload
def decode(data: bytes | bytearray | str, kind: type[T]) -> T: ...


def decode(data: bytes | bytearray | str, kind: Any = Any) -> Any:
    """What the JSON says, of the wanted kind; `msgspec.DecodeError`, which is a ValueError, whatever is wrong."""
    if deeper_than(data, MOST_DEPTH):
        raise msgspec.DecodeError(f"nested more than {MOST_DEPTH} deep")
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        raise
    except (ValueError, RecursionError) as error:  # half a character; a caller that is itself deep down
        raise msgspec.DecodeError(str(error)) from None


def deeper_than(data: bytes | bytearray | str, most: int) -> bool:
    """Whether brackets stand in each other more than `most` deep, closed or not."""
    if isinstance(data, str):
        opening = data.count("[") + data.count("{")
    else:
        opening = data.count(b"[") + data.count(b"{")
    if opening <= most:
        return False
    text = data if isinstance(data, str) else data.decode("latin-1")
    depth = 0
    for found in _TOKENS.finditer(text):
        token = found[0]
        if token in "[{":
            depth += 1
            if depth > most:
                return True
        elif token in "]}":
            depth -= 1
    return False


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class Tagged(Struct, frozen=True, tag_field="type", tag=_snake, kw_only=True, gc=False):
    """Base of everything that crosses a Session. Values that hold no cycle need no garbage collector (`gc=False`)."""
