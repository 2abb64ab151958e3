"""What is taken out of a file: the symbols of 20 languages; and whatever a file holds, it goes in with what it has."""

import os
import time
from pathlib import Path

import pytest

from quintet.features.index.entries import Extract
from quintet.features.index.extract import MOST_BYTES, Extractor, taken_out
from quintet.features.index.languages import LANGUAGES, missing
from quintet.features.index.words import asked, parts, stems
from tests.features.index.samples import INTERFACE, SAMPLES


def extract(path: str, content: str | bytes) -> Extract:
    data = content.encode() if isinstance(content, str) else content
    return taken_out(path, data, (len(data), 1), b"d")


def told(made: Extract) -> str:
    return ", ".join(f"{one.kind} {one.container + '.' if one.container else ''}{one.name}" for one in made.symbols)


def test_there_are_twenty_languages_each_with_a_sample() -> None:
    assert len(LANGUAGES) == 20
    assert set(SAMPLES) == set(LANGUAGES)
    assert missing() == []


@pytest.mark.parametrize("language", SAMPLES)
def test_a_file_says_what_it_declares(language: str) -> None:
    name, content, declared = SAMPLES[language]
    made = extract(name, content)
    assert (made.language, made.broken, told(made)) == (language, False, declared)


def test_an_interface_of_ocaml_has_a_grammar_of_its_own() -> None:
    name, content, declared = INTERFACE
    assert told(extract(name, content)) == declared


def test_a_symbol_has_its_lines_and_its_first_line() -> None:
    made = extract("a.py", "\n\nclass Cart:\n    def add(self, item):\n        return item\n")
    assert [(one.name, one.line, one.end, one.text) for one in made.symbols] == [
        ("Cart", 3, 5, "class Cart:"),
        ("add", 4, 5, "def add(self, item):"),
    ]


def test_a_header_is_c_or_cpp_by_what_is_in_it() -> None:
    assert extract("a.h", "int add(int x);").language == "c"
    assert extract("a.h", "namespace shop {\nint add(int x);\n}").language == "cpp"


def test_python_has_what_slots_name_and_what_is_set_in_branches_and_at_once() -> None:
    text = """\
class Cart:
    __slots__ = ["size", "items"]
    def pack(self):
        (self.left, self.right) = (1, 2)
if __name__ == "__main__":
    for one in range(3):
        total = one
    with open("x") as file:
        text = file.read()
"""
    assert [f"{one.kind} {one.name} {one.line}" for one in extract("a.py", text).symbols] == [
        *("class Cart 1", "field __slots__ 2", "field size 2", "field items 2", "method pack 3"),
        *("field left 4", "field right 4"),
        *("variable one 6", "variable total 7", "variable file 8", "variable text 9"),
    ]


def test_c_has_its_variables_and_functions_behind_macros_and_in_what_may_be_left_out() -> None:
    text = """\
#if defined(__cplusplus)
extern "C" {
#endif
static const float kEdge = 1.5f;
LIB_INTERNAL const uint32_t kMask[33] = { 1 };
LIB_API const Dictionary* LibDictionary(void);
static LIB_NOINLINE LIB_BOOL Warm(Reader* r) { int local = 1; return local; }
LIB_BOOL plain(void);
#if X
int first, second = 2;
#else
int *third;
#endif
#if defined(__cplusplus)
}
#endif
"""
    assert [f"{one.kind} {one.name} {one.line}" for one in extract("a.c", text).symbols] == [
        *("variable kEdge 4", "variable kMask 5", "function LibDictionary 6", "function Warm 7", "function plain 8"),
        *("variable first 10", "variable second 10", "variable third 12"),
    ]
    assert extract("a.c", text).symbols[2].text == "LIB_API const Dictionary* LibDictionary(void);"


@pytest.mark.parametrize(
    ("content", "extent", "names"),
    [
        (b"x = = 1\n)\ndef whole(): pass\n", "whole", ["whole"]),
        (b"\x7fELF\0\0def f(): pass", "name", []),
        ("def größe(): pass".encode("latin-1") + b"\ndef plain(): pass", "whole", ["plain"]),
        ("\ufeffdef wide(): pass\n".encode("utf-16"), "whole", ["wide"]),
        (b"def f(): pass\nx = '" + b"a" * 30_000 + b"'\n", "whole", []),
        (b"", "whole", []),
        (b"(" * 50_000, "whole", []),
        (b"\xff\xfe", "whole", []),
    ],
    ids=["syntax error", "binary", "latin-1", "utf-16", "generated", "empty", "deep", "only a mark"],
)
def test_whatever_a_file_holds_it_goes_in(content: bytes, extent: str, names: list[str]) -> None:
    made = extract("a.py", content)
    assert made.extent == extent
    assert [one.name for one in made.symbols if one.name.isascii()][-1:] == names


def test_links_pipes_and_folders_are_not_read_and_a_huge_file_has_only_a_name(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "link.py").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    with open(tmp_path / "huge.js", "wb") as file:
        file.truncate(50_000_000)
    extractor = Extractor(str(tmp_path))
    assert [extractor.extract(name, b"").gone for name in ("link.py", "pipe.py", "folder.py", "none.py")] == [True] * 4
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/there.py").write_text("def canary(): ...\n")
    (tmp_path / "swapped").symlink_to(tmp_path / "outside")  # since the files were listed
    assert extractor.extract("swapped/there.py", b"").gone
    huge = extractor.extract("huge.js", b"")
    assert (huge.extent, huge.stamp[0]) == ("name", 50_000_000)
    assert MOST_BYTES < 50_000_000


def test_what_was_just_written_is_looked_at_again(tmp_path: Path) -> None:
    """A second change within the same moment may leave time and size as they were."""
    (tmp_path / "new.py").write_text("a = 1")
    (tmp_path / "old.py").write_text("a = 1")
    long_ago = time.time_ns() - 10_000_000_000
    os.utime(tmp_path / "old.py", ns=(long_ago, long_ago))
    extractor = Extractor(str(tmp_path))
    assert extractor.extract("new.py", b"").stamp == (5, 0)
    old = extractor.extract("old.py", b"")
    assert old.stamp == (5, long_ago)
    assert extractor.extract("old.py", old.digest).same


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("RetryPolicy", ["retry", "policy"]),
        ("retry_policy", ["retry", "policy"]),
        ("HTTPServer", ["http", "server"]),
        ("plain", []),
        ("XMLHttpRequest2", ["xml", "http", "request"]),
    ],
)
def test_an_identifier_has_parts(identifier: str, expected: list[str]) -> None:
    assert parts(identifier) == expected


def test_a_question_is_the_words_that_say_something() -> None:
    assert asked("Where are the retries of a model request decided?") == ["retries", "model", "request", "decided"]
    assert asked("what is it") == ["what", "is", "it"]
    assert "retry" in stems("retries")
    assert "decide" in stems("decided")
