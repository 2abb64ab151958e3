"""A project with an index."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quintet.app.machine_parts import find_ripgrep
from quintet.domain.permission.protected_paths import PROTECTION, Protection
from quintet.features.index.build import Brought, Builder, Job
from quintet.features.index.store import IndexStore

FILES = {
    "shop/cart.py": "class Cart:\n    def add_item(self, item):\n        return total_price([item])\n",
    "shop/price.py": "LIMIT = 3\n\ndef total_price(items):\n    # total_price adds\n    return sum(items)\n",
    "shop/till.py": "from shop.cart import Cart\nfrom shop.price import total_price\n\ncart = Cart()\n",
    "web/view.ts": "export class CartView { render(): string { return 'cart' } }\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\ndef test_add_item():\n    Cart().add_item(1)\n",
    "notes.md": "# Notes\n\nThe refund of a customer takes a day.\n",
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@contextmanager
def opened(root: Path, path: Path, protection: Protection = PROTECTION) -> Iterator[tuple[IndexStore, Builder]]:
    store = IndexStore(str(path))
    builder = Builder(Job(os.path.realpath(root), protection, find_ripgrep()), store, polite=False)
    try:
        yield store, builder
    finally:
        builder.close()
        store.close()


def bring(root: Path, path: Path, protection: Protection = PROTECTION) -> Brought:
    with opened(root, path, protection) as (_, builder):
        return builder.bring()
