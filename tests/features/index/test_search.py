"""What is found: symbols by name, lines that use a name, files that fit a question, and the map by rank."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quintet.features.index.ranks import homes_of, links_between, packed, page_ranks, seen_from, unpacked
from quintet.features.index.repo_map import CHARACTERS, drawn_map
from quintet.features.index.search import find_references, find_symbols, ranked_files, search_code
from quintet.features.index.store import IndexStore
from quintet.features.index.words import mark
from tests.features.index.made import FILES, opened, write


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write(folder, FILES)
    return folder


@pytest.fixture(scope="module")
def store(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexStore]:
    with opened(root, tmp_path_factory.mktemp("state") / "index.db") as (made, builder):
        builder.bring()
        yield made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Cart", "shop/cart.py:1 Cart"),
        ("cart", "shop/till.py:4 cart"),
        ("Cart.add_item", "shop/cart.py:2 Cart.add_item"),
        ("shop.price.total_price", "shop/price.py:3 total_price"),
        ("total_pr", "shop/price.py:3 total_price"),
        ("item_add", ""),
        ("CartV", "web/view.ts:1 CartView"),
        ("nothing", ""),
        ("...", ""),
    ],
)
def test_a_symbol_is_found_by_its_name_or_the_beginning_of_it(store: IndexStore, name: str, expected: str) -> None:
    found = find_symbols(store, name)
    assert [f"{one.path}:{one.line} {one.full_name}" for one in found[:1]] == ([expected] if expected else [])


def test_a_symbol_of_the_program_comes_before_one_of_its_tests(store: IndexStore) -> None:
    assert [one.path for one in find_symbols(store, "add")] == ["shop/cart.py"]
    assert [one.kind for one in find_symbols(store, "Cart", kind="class")] == ["class"]


def test_references_are_lines_by_file_without_comments(store: IndexStore, root: Path) -> None:
    found = find_references(store, str(root), "total_price")
    assert {(one.path, one.line, one.declares) for one in found.lines} == {
        ("shop/cart.py", 3, False),
        ("shop/price.py", 3, True),
        ("shop/till.py", 2, False),
    }
    assert (found.files, found.cut) == (3, False)
    few = find_references(store, str(root), "total_price", most=1)
    assert (len(few.lines), few.files, few.cut) == (1, 3, True)


def test_a_link_that_took_the_place_of_a_folder_since_shows_nothing_of_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, {"project/part/page.py": "canary = 1\n", "mine/page.py": "canary = 'yours'\n"})
    root = tmp_path / "project"
    with opened(root, tmp_path / "index.db") as (store, builder):
        builder.bring()
        (root / "part").rename(root / "before")
        (root / "part").symlink_to(tmp_path / "mine")
        assert find_references(store, str(root), "canary").lines == ()
        assert "yours" not in str(search_code(store, str(root), "yours"))


def test_a_question_finds_the_file_that_answers_it(store: IndexStore, root: Path) -> None:
    assert search_code(store, str(root), "how is the total price made")[0].path == "shop/price.py"
    assert search_code(store, str(root), "where are items added to the cart?")[0].path == "shop/cart.py"
    refund = search_code(store, str(root), "refund")[0]
    assert (refund.path, refund.line, refund.text) == ("notes.md", 3, "The refund of a customer takes a day.")
    assert search_code(store, str(root), "xyzzy") == []


def test_files_that_others_use_come_first(store: IndexStore) -> None:
    ranked = [one.path for one in ranked_files(store, 10)]
    assert set(ranked[:2]) == {"shop/cart.py", "shop/price.py"}
    near = [one.path for one in ranked_files(store, 10, touched=["web/view.ts"])]
    assert near[0] == "web/view.ts"


def test_the_map_keeps_to_its_budget(store: IndexStore) -> None:
    files = [one.path for one in ranked_files(store, 10)]
    whole, shown = drawn_map(files, store.outline, 1000)
    assert shown == 5
    assert "shop/price.py\n  3: def total_price(items)" in whole
    for tokens in (5, 10, 20, 40):
        cut, fewer = drawn_map(files, store.outline, tokens)
        assert len(cut) <= tokens * CHARACTERS
        assert fewer <= shown


def test_ranks_sum_to_one_and_a_name_of_many_homes_leads_nowhere() -> None:
    declarations = [(1, "alpha"), (2, "beta"), *((number, "common") for number in range(3, 12))]
    homes = homes_of(declarations)
    assert homes == {mark(b"alpha"): (1,), mark(b"beta"): (2,)}

    def uses(*names: bytes) -> bytes:
        return b"".join(mark(name).to_bytes(4, "little") for name in names)

    links = links_between(homes, [(1, uses(b"alpha")), (2, uses(b"alpha", b"beta")), (3, uses(b"alpha", b"common"))])
    assert links == {2: {1: 1.0}, 3: {1: 1.0}}
    ranks = page_ranks(links, range(1, 12))
    assert sum(ranks.values()) == pytest.approx(1.0)
    assert max(ranks, key=lambda file: ranks[file]) == 1
    near = seen_from({3: 1.0}, lambda file: links.get(file, {}))
    assert set(near) == {3, 1}
    assert unpacked(packed({7: 0.25, 9: 0.75})) == {7: 0.25, 9: 0.75}
