"""Pairing: a short code, shown where you sit and sent from the account that is to be heard. Pure.

A code holds for ten minutes and once. Wrong ones are counted by account. However many accounts try, they keep nobody
else from pairing: there are a million million codes, so that all that can come in ten minutes is not worth a look.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct, structs

MINUTES = 10
DIGITS, GROUP = 12, 4
TRIES_EACH = 3
MOST_COUNTED = 200  # accounts
_TRY = re.compile(r"/?(?:pair|start)[ \t]+([0-9][0-9 -]{5,24})", re.IGNORECASE)


class PairingCode(Struct, frozen=True):
    """A code that waits; of the code itself only a digest is kept."""

    channel: str
    digest: str
    expires: float
    address: str = ""  # where it has to come from, if that is known
    wrong: Mapping[str, int] = {}  # tries, by account


def digest(code: str, key: bytes) -> str:
    return hmac.new(key, f"pair {code}".encode(), sha256).hexdigest()


def shown(code: str) -> str:
    """As it is shown and typed: 1234-5678-9012."""
    return "-".join(code[start : start + GROUP] for start in range(0, DIGITS, GROUP))


def tried(text: str) -> str:
    """The code that a text tries; empty if it is no try."""
    found = _TRY.fullmatch(text.strip())
    return re.sub(r"\D", "", found[1]) if found else ""


def is_open(pairing: PairingCode | None, now: float) -> bool:
    return pairing is not None and now < pairing.expires


def judged(
    pairing: PairingCode | None, code: str, account: str, address: str, now: float, key: bytes
) -> bool | PairingCode:
    """Whether a try pairs the account; a wrong one gives the code with the try counted."""
    if pairing is None or not is_open(pairing, now):
        return False
    wrong = pairing.wrong.get(account, 0)
    right = hmac.compare_digest(digest(code, key), pairing.digest)
    if right and wrong < TRIES_EACH and pairing.address in ("", address):
        return True
    others = {one: tries for one, tries in pairing.wrong.items() if one != account}
    return structs.replace(pairing, wrong=dict([*others.items(), (account, wrong + 1)][-MOST_COUNTED:]))
