"""Which addresses the web tools may reach: those that everybody can, and what the user allowed; which are files.

An address is judged by what it leads to: one of IPv4 wrapped in IPv6 (mapped, compatible, 6to4, NAT64) by the one
inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import unquote, urlsplit


class Access(StrEnum):
    """What the pages of a browser's tab can reach."""

    WEB = "the web"
    PROJECT = "the project"
    BOTH = "the project and the web"


_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_UNROUTED = (
    IPv6Network("64:ff9b:1::/48"),
    IPv6Network("2001::/23"),
    IPv6Network("5f00::/16"),
    IPv6Network("3fff::/20"),
)


NO_ADDRESS = "not an address"


def private_kind(address: str) -> str:
    """What keeps an address from being anybody's to reach, in words; empty if nothing does."""
    try:
        found = _inside(ip_address(address.partition("%")[0]))
    except ValueError:
        return NO_ADDRESS
    if found.is_loopback:
        return "loopback"
    if found.is_link_local:
        return "link-local"
    if found.is_multicast:
        return "multicast"
    if found.is_unspecified:
        return "unspecified"
    if isinstance(found, IPv6Address) and (found.is_site_local or any(found in network for network in _UNROUTED)):
        return "private"
    if found.is_private:
        return "private"
    return "" if found.is_global and not found.is_reserved else "reserved"


def _inside(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address.sixtofour:
        return address.sixtofour
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):  # :: and ::1 are addresses of their own
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def allowed(patterns: Iterable[str], host: str, port: int, addresses: Iterable[str]) -> bool:
    """Whether a pattern of the user's covers this host: by its name, with or without a port, or by all it leads to."""
    found = list(addresses)
    return any(_names(pattern, host, port) or _holds(pattern, found) for pattern in patterns)


def _parted(pattern: str) -> tuple[str, str]:
    """Name and port; the latter empty where there is none."""
    name, colon, number = pattern.lower().rpartition(":")
    if not colon or (":" in name.strip("[]") and not name.endswith("]")):  # an address of IPv6 without a port
        return pattern.lower(), ""
    return name, number


def _names(pattern: str, host: str, port: int) -> bool:
    name, number = _parted(pattern)
    return fnmatchcase(host.lower(), name.strip("[]")) and number in ("", "*", str(port))


def _holds(pattern: str, addresses: list[str]) -> bool:
    try:
        network = ip_network(pattern, strict=False)
    except ValueError:
        return False
    held = [_inside(ip_address(address.partition("%")[0])) for address in addresses]
    return bool(held) and all(address.version == network.version and address in network for address in held)


def loopback_among(patterns: Iterable[str]) -> list[str]:
    """Those of the user's patterns that name this machine itself, in the form of a browser's list of exceptions."""
    found = []
    for pattern in patterns:
        name, number = _parted(pattern)
        if where := _near(name.strip("[]")):
            found.append(f"{where}:{number}" if number.isdecimal() else where)
    return found


def names_of_loopback(patterns: Iterable[str]) -> list[str]:
    """The hosts that a browser may look up by itself: none of these patterns holds a name that others could give.

    `127.*` would hold 127.example.com, and the question where that is would tell example.com what stands before it.
    """
    named = [_near(_parted(pattern)[0].strip("[]")) for pattern in patterns]
    return list(dict.fromkeys(("localhost", "*.localhost", "127.0.0.1", "[::1]", *filter(None, named))))


def _near(name: str) -> str:
    """A name or address of this machine itself as a browser writes it; empty if it is none, or stands for several."""
    if name == "localhost" or name.endswith(".localhost"):
        return name
    try:
        address = ip_address(name)
    except ValueError:
        return ""
    return "" if not address.is_loopback else f"[{address}]" if address.version == 6 else str(address)


def whole(written: str) -> str:
    """An address with its scheme: http for this machine and for numbers, https for names."""
    text = written.strip()
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d+(?:[/?#]|$))", text):
        return text
    host = re.split(r"[/:?#]", text)[0].lower()
    near = host == "localhost" or host.endswith(".localhost") or private_kind(host) != NO_ADDRESS
    return f"{'http' if near else 'https'}://{text}"


# A bare name that ends like this is a file; a host that does (`.md` is a country's) is written with https://.
_PAGES = (".html", ".htm", ".xhtml", ".md", ".txt", ".svg", ".pdf", ".json", ".csv")


def file_named(address: str) -> str:
    """The path of the file that is meant, by a path or a file: address; empty if something of the web is."""
    text = address.strip()
    if text.startswith(("/", "./", "../")):
        return text  # as it is: in a path, % and # are letters like any other
    if text[:5].lower() == "file:":
        return unquote(urlsplit(text).path) or "/"
    first, more, _ = text.partition("/")
    page = ":" not in text and text.lower().endswith(_PAGES)
    return text if page and ("." not in first or not more) else ""


def access_for(address: str, network: bool) -> Access:
    """What a page at an address can reach: one of the project has no network unless that was granted."""
    if not file_named(address):
        return Access.WEB
    return Access.BOTH if network else Access.PROJECT
