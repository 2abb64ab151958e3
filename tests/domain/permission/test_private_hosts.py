"""Which addresses anybody may reach, in every way an address can be written."""

from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.permission.private_hosts import (
    Access,
    access_for,
    allowed,
    file_named,
    loopback_among,
    names_of_loopback,
    private_kind,
)


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::127.0.0.1", "loopback"),
        ("64:ff9b::127.0.0.1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("::ffff:192.168.1.1", "private"),
        ("64:ff9b::10.0.0.1", "private"),
        ("64:ff9b:1::1", "private"),
        ("fd00::1", "private"),
        ("fec0::1", "private"),
        ("2001:db8::1", "private"),
        ("2001:0:1::1", "private"),
        ("169.254.169.254", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("100.64.0.1", "reserved"),
        ("255.255.255.255", "private"),
        ("240.0.0.1", "private"),
        ("nowhere", "not an address"),
    ],
)
def test_what_is_not_everybodys_has_a_name(address: str, kind: str) -> None:
    assert private_kind(address) == kind


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"]
)
def test_what_is_everybodys_has_none(address: str) -> None:
    assert private_kind(address) == ""


@given(st.ip_addresses(v=4))
def test_an_address_wrapped_in_another_is_judged_as_itself(address: IPv4Address) -> None:
    number = int(address)
    wrapped = [
        IPv6Address(0xFFFF << 32 | number),
        IPv6Address(0x64FF9B << 96 | number),
        IPv6Address(0x2002 << 112 | number << 80),
    ]
    assert {private_kind(str(one)) for one in wrapped} == {private_kind(str(address))}


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("localhost", True),
        ("LOCALHOST:8080", True),
        ("localhost:80", False),
        ("local*", True),
        ("127.0.0.0/8", True),
        ("127.0.0.1", True),
        ("10.0.0.0/8", False),
        ("::1", False),
        ("example.com", False),
    ],
)
def test_the_user_allows_by_name_port_address_or_network(pattern: str, fits: bool) -> None:
    assert allowed([pattern], "localhost", 8080, ["127.0.0.1"]) is fits


def test_a_network_has_to_hold_every_address_of_a_host() -> None:
    assert not allowed(["127.0.0.0/8"], "both.test", 80, ["127.0.0.1", "10.0.0.1"])
    assert not allowed(["127.0.0.0/8"], "none.test", 80, [])
    assert allowed(["[::1]:80"], "::1", 80, ["::1"])


@pytest.mark.parametrize(
    ("address", "access"),
    [
        ("specs/x.html", Access.PROJECT),
        ("index.htm", Access.PROJECT),
        ("./README.md", Access.PROJECT),
        ("README.md", Access.PROJECT),
        ("docs/notes.txt", Access.PROJECT),
        ("https://example.md", Access.WEB),
        ("/project/a.svg", Access.PROJECT),
        ("file:a.html", Access.PROJECT),
        (" FILE:///project/a.html ", Access.PROJECT),
        ("file://elsewhere/a.html", Access.PROJECT),
        ("file:", Access.PROJECT),
        ("https://example.com/a.html", Access.WEB),
        ("example.com/a.html", Access.WEB),
        ("localhost:8000/a.html", Access.WEB),
        ("about:blank", Access.WEB),
    ],
)
def test_a_page_of_the_project_has_no_network_unless_it_is_granted(address: str, access: Access) -> None:
    assert access_for(address, network=False) is access
    assert access_for(address, network=True) is (Access.WEB if access is Access.WEB else Access.BOTH)


@given(st.text())
def test_whatever_is_a_file_has_no_network(address: str) -> None:
    assert (access_for(address, network=False) is Access.PROJECT) == bool(file_named(address))


ALLOWED = [
    "localhost:5173",
    "127.0.0.2:80",
    "[::1]:8000",
    "app.localhost",
    "127.0.0.0/8",
    "127.*",
    "10.0.0.1",
    "a.test",
]


@pytest.mark.parametrize("name", ["127.DATA.evil.test", "127.0.0.1.evil.test", "DATA.evil.test", "localhost.evil.test"])
def test_no_name_that_others_can_give_is_looked_up_by_the_browser_itself(name: str) -> None:
    assert not [one for one in names_of_loopback([*ALLOWED, f"{name[:6]}*"]) if fnmatchcase(name, one)]


def test_what_is_allowed_of_this_machine_by_name_needs_no_proxy() -> None:
    assert loopback_among(ALLOWED) == ["localhost:5173", "127.0.0.2:80", "[::1]:8000", "app.localhost"]
    assert {"127.0.0.1", "127.0.0.2", "localhost", "[::1]", "app.localhost"} <= set(names_of_loopback(ALLOWED))
