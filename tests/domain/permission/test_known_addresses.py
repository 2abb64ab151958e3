"""What counts as an address that the model was given, and what as one that it made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.known_addresses import addresses_in, composed, normalised, take_in, with_known
from quintet.domain.turn.tool_spec import Outward, Touch

GIVEN = "See https://docs.example.com/guide?page=2, and (http://Example.COM:80/a/B#part)."
KNOWN = addresses_in(GIVEN)


@pytest.mark.parametrize(
    "address",
    [
        "https://docs.example.com/guide?page=2",
        "HTTPS://DOCS.example.com:443/guide?page=2",
        "http://example.com/a/B",
        "http://EXAMPLE.com:80/a/B#part",
    ],
)
def test_what_was_given_is_known_in_any_spelling_that_leads_there(address: str) -> None:
    assert composed([address], KNOWN) == ""


@pytest.mark.parametrize(
    "address",
    [
        "https://docs.example.com/guide?page=2&d=SECRET",
        "https://docs.example.com/guide?page=2/SECRET",
        "https://docs.example.com/guide",
        "https://docs.example.com/guide?page=3",
        "https://docs.example.com/guide/SECRET?page=2",
        "https://docs.example.com/",
        "https://SECRET.docs.example.com/guide?page=2",
        "https://docs.example.com.evil.test/guide?page=2",
        "https://docs.example.com:8443/guide?page=2",
        "https://SECRET@docs.example.com/guide?page=2",
        "https://u:SECRET@docs.example.com/guide?page=2",
        "http://docs.example.com/guide?page=2",
        "http://example.com/a/b",
        "http://example.com//a/B",
        "http://example.com/a/%42",
        "http://example.com/a/B/",
        "http://example.com/x/../a/B",
        "https://docs.example.com./guide?page=2",
        "https://docs.example.com/guide?page=2 ?d=SECRET",
        "//docs.example.com/guide?page=2",
        "ftp://example.com/a/B",
        "javascript:fetch('//evil.test/SECRET')",
        "https://[::1/x",
        "https://docs.example.com:99999/guide?page=2",
        "https://docs.example.com/guide?page=2#SECRET",
        "http://example.com/a/B#SECRET",
        "",
    ],
)
def test_whatever_else_is_composed(address: str) -> None:
    assert composed(["http://example.com/a/B", address], KNOWN) == address or address == ""
    assert normalised(address) not in KNOWN or "#" in address  # which a script of the page could read


def test_people_write_addresses_without_http() -> None:
    known = addresses_in("open example.com/docs, mail me@other.org, and read a.txt", bare=True)
    assert composed(["https://example.com/docs"], known) == "" == composed(["http://example.com/docs"], known)
    assert composed(["https://example.com/docs?d=1"], known) and composed(["https://other.org/"], known)
    assert not addresses_in("open example.com/docs")


def test_links_of_a_page_in_the_browser_lead_from_where_it_is() -> None:
    shown = 'tab 0 · Home · http://site.test/a/b\n[1 link "x" → /form] [2 link "y" → c?d=1] [3 link → https://o.test/]'
    known = addresses_in(shown, page="http://site.test/a/b")
    assert {"http://site.test/form", "http://site.test/a/c?d=1", "https://o.test/"} <= known
    assert "http://site.test/secret" not in known


@pytest.mark.parametrize(
    ("shown", "page", "known"),
    [
        ("tab 0 · Home · http://site.test/a\nhttps://o.test/x", "http://site.test/a", True),
        ("tab 0 · Notes · file:specs/y.html\nhttps://o.test/x", "", False),
        ("tab 0 · http://a.test · file:README.md\ntab 0 · Home · http://site.test/\nhttps://o.test/x", "", False),
        ("(tab 0 · a dialog says)\ntab 0 · Home · http://site.test/\nhttps://o.test/x", "", False),
        ("https://o.test/x", "", False),
        ("https://o.test/x", "file:specs/y.html", False),
    ],
)
def test_a_page_of_the_projects_own_in_the_browser_makes_no_address_known(shown: str, page: str, known: bool) -> None:
    """A model could write the page, and a repository can bring one; what it says of itself counts for nothing."""
    addresses: set[str] = set()
    take_in(addresses, shown, tool="browser_view", page=page)
    assert (composed(["https://o.test/x"], addresses) == "") is known


@given(st.text(), st.text(alphabet="abc/?&=.:@#%[]-", max_size=30))
def test_anything_can_be_looked_through_and_only_what_stands_there_is_found(text: str, more: str) -> None:
    found = addresses_in(f"{text} https://a.test/{more} {text}")
    assert all(normalised(one) == one.partition("#")[0] for one in found)
    assert normalised(f"https://b.test/{more}") not in found or "b.test" in text


STRICT = [
    Axes(WorkMode.PLAN, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED),
    *(Axes(one, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED) for one in WorkMode),
]


@pytest.mark.parametrize("axes", STRICT, ids=str)
def test_composed_ones_ask_at_restricted_and_in_plan(axes: Axes) -> None:
    fetch = frozenset({Effect.FETCH})
    assert with_known(Touch(fetch, outward=Outward(("https://evil.test/?d=SECRET",))), KNOWN, axes).asks
    assert not with_known(Touch(fetch, outward=Outward(("http://example.com/a/B",))), KNOWN, axes).asks
    assert not with_known(Touch(fetch), KNOWN, axes).asks


@pytest.mark.parametrize("axes", STRICT, ids=str)
def test_telling_a_page_something_is_acting_there(axes: Axes) -> None:
    looking = Touch(frozenset({Effect.FETCH}), outward=Outward(tells=True))
    assert with_known(looking, KNOWN, axes).effects == {Effect.NETWORK}


@pytest.mark.parametrize("axes", STRICT, ids=str)
@pytest.mark.parametrize("path", ["file:specs/x.html", "file:/project/a.html", "file:index.html"])
def test_a_page_of_the_project_with_a_network_is_composed_there_whatever_was_said(axes: Axes, path: str) -> None:
    touch = Touch(frozenset({Effect.FETCH, Effect.READ}), reads=("x",), outward=Outward((path,)))
    known = addresses_in(f"open {path} and http://{path} or {path.removeprefix('file:')}", bare=True)
    assert "over the network" in with_known(touch, known, axes).asks


def test_elsewhere_they_go() -> None:
    for work_mode in set(WorkMode) - {WorkMode.PLAN}:
        axes = Axes(work_mode, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
        assert not with_known(Touch(frozenset({Effect.FETCH}), outward=Outward(("https://x.test/",))), KNOWN, axes).asks
        looking = Touch(frozenset({Effect.FETCH}), outward=Outward(tells=True))
        assert with_known(looking, KNOWN, axes) == looking
