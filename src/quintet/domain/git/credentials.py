"""Finds the credentials that stand in git's configuration: in addresses, in headers, and under names that say so.

Read as text, not as git would: what is found too much is starred, and what is missed leaves.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from urllib.parse import unquote

from quintet.domain.base.lazy_regex import regex

_ADDRESS = regex(r"[A-Za-z][A-Za-z0-9+.-]*://([^\s/\"'@]+(?:@[^\s/\"'@]+)*)@")
_HEADER = regex(r"extraheader\s*=\s*(.+)", re.I)
_NAMED = regex(r"^\s*\w*(?:token|pass|passwd|password|secret)\s*=\s*(.+)", re.I | re.M)
_FOLDED = regex(r"\\\r?\n\s*")  # a value that goes on in the next line
_TOKEN = regex(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[\w.~+=-]{16,}")  # no name of a person or an organisation
_NO_SECRETS = frozenset({"x-oauth-basic", "x-access-token", "x-token-auth", "oauth2", "basic", "bearer"})


def credentials_in(config: str) -> set[str]:
    """What in a configuration is nobody else's business; a short one also with the name before it."""
    config = _FOLDED.sub("", config)
    found: set[str] = set()
    for address in _ADDRESS.finditer(config):
        for form in {address[1], unquote(address[1])}:
            found.update(_of_user(form))
    for header in _HEADER.finditer(config):
        found.update(_of_header(header[1].strip().strip('"')))
    found.update(_plain(named[1]) for named in _NAMED.finditer(config))
    return {one for one in found if one and one.lower() not in _NO_SECRETS}


def _of_user(given: str) -> Iterator[str]:
    """Of `name:password`, `token`, `token:x-oauth-basic`."""
    name, colon, password = given.partition(":")
    if colon and password and password.lower() not in _NO_SECRETS:
        yield given
        yield password
    if _TOKEN.fullmatch(name):
        yield name


def _of_header(header: str) -> Iterator[str]:
    value = header.partition(":")[2].strip()
    yield value
    for word in value.split():
        yield word
        try:
            yield from _of_user(binascii.a2b_base64(word.encode()).decode())
        except (ValueError, UnicodeError):  # no base64
            continue


def _plain(value: str) -> str:
    """A value without its quotes, or the remark behind it."""
    value = value.strip()
    return value[1:].partition('"')[0] if value[:1] == '"' else re.split(r"\s[#;]", value)[0].strip()
