"""Addresses that came from somebody else than the model: the user's words, a search, a page that was read, a server.

Whatever else is fetched is composed: its path or its query may carry a file out, and so may what comes after #, which
a script of the page reads. An address is known as it stands, but for what makes no difference: the case of scheme and
host, and the usual port. One that is known is known without what comes after # too.

Resources of MCP servers are known where the server listed them itself, for that server alone, or where the user named
them; a template's filled places are composed.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from urllib.parse import urljoin, urlsplit

from msgspec import structs

from quintet.domain.base import wire_json
from quintet.domain.base.lazy_regex import regex
from quintet.domain.dials.axes import Axes, PermissionProfile, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.private_hosts import file_named
from quintet.domain.turn.tool_spec import Touch

MOST_KNOWN = 20_000  # of a session; what comes later counts as composed
MOST_LENGTH = 4_000  # of one address
_PORTS = {"http": 80, "https": 443}
_ADDRESS = regex(r"https?://[^\s<>\"\'`\\\x00-\x1f\x7f]{1,4000}", 2)  # re.IGNORECASE
_BARE = regex(r"(?<![\w@/.:-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:/[^\s<>\"\'`]*)?", 2)
_LINK = regex(r"→ ([^\s\]]+)")
_ENDS = ".,;:!?)]}*_|\u2026"


def normalised(address: str) -> str:
    """The one spelling of an address, without what comes after #; empty if it is no such, or has a password in it."""
    try:
        parts = urlsplit(address.strip())
        port, host = parts.port, (parts.hostname or "").lower()
    except ValueError:
        return ""
    if parts.scheme not in _PORTS or not host or "@" in parts.netloc or len(address) > MOST_LENGTH:
        return ""
    where = f"[{host}]" if ":" in host else host
    where += f":{port}" if port and port != _PORTS[parts.scheme] else ""
    return f"{parts.scheme}://{where}{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"


def addresses_in(text: str, *, bare: bool = False, page: str = "") -> set[str]:
    """The addresses that stand in a text, each with and without the marks of punctuation at its end.

    `bare`: those without http too, as people write them. `page`: the address of a page in the browser that the text
    shows; its links lead from there.
    """
    if "://" not in text and not bare:
        return set()
    written = [match[0] for match in _ADDRESS.finditer(text)] if "://" in text else []
    if bare:
        written += [f"{scheme}://{match[0]}" for match in _BARE.finditer(text) for scheme in _PORTS]
    if page:
        written += [_joined(page, match[1]) for match in _LINK.finditer(text)]
    found = set()
    for one in written:
        while one:
            found |= {normalised(one), _whole(one)}
            shorter = one[:-1] if one[-1] in _ENDS else ""
            one = shorter
    return found - {""}


def _whole(address: str) -> str:
    """The same with what comes after #."""
    _, mark, rest = address.strip().partition("#")
    plain = normalised(address)
    return f"{plain}#{rest}" if plain and mark and rest else plain


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return ""


def take_in(known: set[str], text: str, *, bare: bool = False, tool: str = "", asked: str = "", page: str = "") -> None:
    """Know the addresses of a text from now on; of what a browser tool shows, only those of a page of the web's.

    `bare`: the text is the user's. `asked`: what a tool was called with. `page`: the address of the page it shows.
    """
    if len(known) >= MOST_KNOWN:
        return
    if tool == "mcp_tool":
        known |= listed_in(asked, text)
    elif not tool.startswith("browser_") or normalised(page):
        known |= addresses_in(text, bare=bare, page=page) | (named_by_user(text) if bare else set())


def composed(addresses: Iterable[str], known: Set[str]) -> str:
    """The first address that stands in nothing the model was given; empty if there is none."""
    return next((one for one in addresses if _whole(one) not in known), "")


def with_known(touch: Touch, known: Set[str], axes: Axes) -> Touch:
    """What a call touches, asked where it fetches a composed address at profile restricted or in plan.

    There, telling a page something that the model chose is acting on it: the page can pass it on.
    """
    strict = axes.permission_profile is PermissionProfile.RESTRICTED or axes.work_mode is WorkMode.PLAN
    outward = touch.outward
    if outward is None or not strict:
        return touch
    if outward.tells:
        acting = touch.effects - {Effect.FETCH} | {Effect.NETWORK}
        return structs.replace(touch, effects=acting, why="the page sees it, and can send it elsewhere")
    if outward.resource and not is_known(touch.server or "", outward.resource, known):
        one = outward.resource
    else:
        one = composed(outward.addresses, known)
    if not one:
        return touch
    shown = one if len(one) <= 200 else f"{one[:200]}\u2026"
    why = f"{shown} occurs in nothing you wrote and in no search result, and may send data out"
    if file_named(one) and not outward.resource:
        why = f"{shown} is a page of the project, which could send data out over the network"
    return structs.replace(touch, asks=why)


TEMPLATE = " (template)"
_ANY = "*"
_URI = regex(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"'`]+")
_URI_ENDS = ".,;:!?)]}"


def _key(server: str, uri: str) -> str:
    return f"{server}\n{uri}"  # no address has a line break in it


def listed_in(arguments: str, answer: str) -> set[str]:
    """What an answer of mcp_tool makes known, if it was asked for a server's offer."""
    try:
        asked = wire_json.decode(arguments)
    except ValueError:
        return set()
    if not isinstance(asked, dict) or asked.get("command") != "list_tools" or asked.get("tool_name"):
        return set()
    server = asked.get("server") or answer.partition(":")[0]
    _, _, rest = answer.partition("\n\nresources\n")
    lines = [line[2:].partition(": ")[0] for line in rest.splitlines() if line.startswith("- ")]
    uris = [line.removesuffix(":") for line in lines if not line.endswith(TEMPLATE)]
    return {_key(name, uri) for uri in uris for name in (str(server), "")}  # named, or the only one there is


def named_by_user(text: str) -> set[str]:
    """What stands in the user's own words."""
    found = set()
    for match in _URI.finditer(text) if ":" in text else ():
        found |= {_key(_ANY, match[0]), _key(_ANY, match[0].rstrip(_URI_ENDS))}
    return found


def is_known(server: str, uri: str, known: Set[str]) -> bool:
    return _key(server, uri) in known or _key(_ANY, uri) in known
