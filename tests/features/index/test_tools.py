"""The index's tools answer from the project as it is now, and what they started ends with the session."""

from pathlib import Path
from typing import Any

import pytest

from quintet.domain.turn.messages import Role
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.features.index.made import FILES, write

NEW = call("Write", file_path="shop/refund.py", content="def give_back(amount):\n    return total_price([amount])\n")


@pytest.fixture
def shop(repo: Path) -> Path:
    write(repo, FILES)
    return repo


def answers(root: Path, *calls: Any) -> list[str]:
    """What each call came to, in one turn."""
    model = ScriptedModel([*([one] for one in calls), "done"])

    async def script(driver: Driver) -> None:
        assert (await driver.turn("look around")).status == "done"

    drive(root, script, model)
    return [message.text for message in model.requests[-1].messages if message.role is Role.TOOL]


def test_the_tools_find_what_the_project_has_now(shop: Path) -> None:
    symbol, _, references, searched, mapped = answers(
        shop,
        call("find_symbol", name="Cart.add_item"),
        NEW,
        call("find_references", name="total_price"),
        call("search_code", query="give an amount back"),
        call("repo_map", tokens=500),
    )
    assert "shop/cart.py:2-3  method Cart.add_item  def add_item(self, item):" in symbol.splitlines()
    lines = references.splitlines()
    assert lines[0] == "4 lines in 4 files."
    assert "  3: def total_price(items):  (declares it)" in lines
    assert lines[lines.index("shop/refund.py") + 1] == "  2: return total_price([amount])"
    assert searched.splitlines()[1] == "shop/refund.py"
    assert "shop/price.py" in mapped


def test_a_wrong_argument_says_what_is_expected(shop: Path) -> None:
    kind, limit, tokens, name = answers(
        shop,
        call("find_symbol", name="add", kind="methods"),
        call("search_code", query="add", limit=0),
        call("repo_map", tokens=1),
        call("find_references", name=" "),
    )
    assert "not one of class" in kind and "method" in kind
    assert "expected 1 to 200" in limit
    assert "expected 100 to 20000" in tokens
    assert "expected a name" in name
