"""The forms in which a secret may turn up: as it is, escaped for JSON or an address, in hexadecimal, in base64.

In base64 it looks different at each of the three places a byte can have in a group; of each, the letters that depend on
nothing but the secret are taken.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 8  # characters of a value that is taken for a secret
SHORTEST_LINE = 16  # of a secret of several lines, each as long as this is one of its own
_URL_SAFE = ("", "/", "!'()*~", ";,/?:@&=+$-_.!~*'()#")  # what quoting leaves alone: by habit, Python, browsers
_ALTPLACES = str.maketrans("+/", "-_")


def forms(secret: str) -> dict[str, str]:
    """Every form of a secret with what stands for it; as long as the form is, and as JSON as long as the secret."""
    found: dict[str, str] = {}
    for value in _parts(secret):
        for form in _encoded(value):
            found[form] = "*" * len(form)
        for form in _json(value):
            found[form] = "*" * len(value)
        found[value] = "*" * len(value)
    return found


def _parts(secret: str) -> Iterator[str]:
    """The secret, and its lines if it has several: they are shown with numbers, and one at a time."""
    secret = secret.strip()
    if len(secret) >= SHORTEST:
        yield secret
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= SHORTEST_LINE and not line.startswith("-----"))


def _json(value: str) -> Iterator[str]:
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
