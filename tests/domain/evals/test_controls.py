"""Hidden tests changed so that they fail: what is expected, and nothing else."""

import ast

import pytest

from quintet.domain.evals.controls import changed_tests, longer_tests

UNITTEST = """
import unittest

from double import double


class Doubles(unittest.TestCase):
    def helper(self):
        return 1 == 2

    @unittest.skip("not here")
    def test_other(self):
        self.assertEqual(double(1), 2)

    def test_numbers(self):
        self.assertEqual([double(3), double(21)], [6, 42])
"""


def changed(text: str, chance: int = 0, path: str = "test_double.py") -> str:
    found = changed_tests({path: text.encode()}, lambda below: chance % below)
    return found[path].decode() if found else ""


@pytest.mark.parametrize(("chance", "wanted"), [(0, "[8, 42]"), (1, "[6, 45]"), (2, "[10, 42]")])
def test_one_number_that_a_test_expects_is_another(chance: int, wanted: str) -> None:
    assert changed(UNITTEST, chance) == UNITTEST.replace("[6, 42]", wanted)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("assert f() == 'é' and g()", ""),
        ("assert f('é') == 'tea'", "assert f('é') == 'atea'"),
        ("assert True == f()", "assert False == f()"),
        ("assert f() == {'a': (1.5, g(7))}", "assert f() == {'a': (3.5, g(7))}"),
        ("assert f() > 3", ""),
        ("assert f(3)", ""),
        ("assert f() == -3", ""),
        ("assert f() == f'{x}'", ""),
    ],
)
def test_only_what_stands_there_as_such_is_changed(line: str, wanted: str) -> None:
    assert changed(f"def test_it():\n    {line}\n") == (f"def test_it():\n    {wanted}\n" if wanted else "")


@pytest.mark.parametrize("chance", range(5))
def test_what_was_expected_before_is_not_what_is_changed(chance: int) -> None:
    more = "\n    def test_more(self):\n        self.assertEqual(double(5), 10)\n"
    tests = {"test_double.py": (UNITTEST + more).encode(), "test_other.py": UNITTEST.encode()}
    before = {"test_double.py": UNITTEST.encode(), "test_other.py": UNITTEST.encode()}
    found = changed_tests(tests, lambda below: chance % below, before)
    assert found["test_other.py"] == tests["test_other.py"]
    assert found["test_double.py"].startswith(UNITTEST.encode()) and found["test_double.py"] != tests["test_double.py"]
    assert changed_tests(before, lambda below: chance % below, before) != before, "nothing is new: any will do"


@pytest.mark.parametrize("text", ["def test_(:", "\0", "", "x = 1\nassert x == 1\n"])
def test_what_holds_no_test_is_not_changed(text: str) -> None:
    assert changed(text) == ""


def test_files_beside_the_tests_stay_and_other_languages_get_a_test_more() -> None:
    tests = {"test_double.py": UNITTEST.encode(), "data.json": b"[6, 42]"}
    found = changed_tests(tests, lambda below: 0)
    assert found["data.json"] == b"[6, 42]" and ast.parse(found["test_double.py"])
    assert changed("test('x', () => {})", path="x.test.js") == ""
    assert b"tabc" in longer_tests({"x.test.js": b""}, "tabc", 1)["x.test.js"]
    assert longer_tests({"x.rb": b""}, "tabc", 1) == {}
