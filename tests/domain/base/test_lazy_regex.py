"""Regular expressions that wait for their first use behave as compiled ones do, and every one of ours compiles."""

import re
from importlib import import_module

import pytest

from quintet.domain.base.lazy_regex import LazyRegex, regex
from tests.places import ROOT

SRC = ROOT / "src"
HOLDERS = [
    ".".join(path.relative_to(SRC).with_suffix("").parts)
    for path in sorted(SRC.rglob("*.py"))
    if " = regex(" in path.read_text(encoding="utf-8")
]


def test_it_has_the_methods_of_a_pattern() -> None:
    word = regex(r"(?P<first>[a-z])\w*", re.I)
    plain = re.compile(r"(?P<first>[a-z])\w*", re.I)
    for text in ("Alpha beta", "12", ""):
        assert word.findall(text) == plain.findall(text)
        assert word.sub("_", text) == plain.sub("_", text)
        assert bool(word.fullmatch(text)) == bool(plain.fullmatch(text))
    found = word.search("12 Alpha")
    assert found and found["first"] == "A" and word.pattern == plain.pattern and word.flags == plain.flags


def test_nothing_is_compiled_before_it_is_used() -> None:
    broken = regex("(")
    with pytest.raises(re.error):
        broken.search("")


@pytest.mark.parametrize("name", HOLDERS)
def test_every_expression_compiles(name: str) -> None:
    held = [value for value in vars(import_module(name)).values() if isinstance(value, LazyRegex)]
    assert held and all(re.compile(late.pattern, late.flags) for late in held)
