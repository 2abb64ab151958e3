"""Documents are read page by page, whoever made them; what cannot be read is said by its name."""

import os
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.files.html_text import read_html
from quintet.adapters.files.pdf_text import Pdf, clean
from quintet.domain.base.errors import DocumentUnreadable
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.features.library.read_document import documents_under, open_document, split
from tests.documents import epub, pdf, rewritten

PAGES = ["The first page\nspeaks of whales", "Page two: café (and ships)", "The third"]


def read(path: Path) -> tuple[str, str, list[str]]:
    reading = open_document(str(path))
    try:
        return reading.format, reading.title, list(reading.pages)
    finally:
        reading.close()


def written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


# ── PDF


@pytest.mark.parametrize(
    "data", [pdf(PAGES, "Whales"), rewritten(pdf(PAGES), title="Whales")], ids=["by hand", "pypdf"]
)
def test_a_pdf_is_its_pages_and_its_title(tmp_path: Path, data: bytes) -> None:
    assert read(written(tmp_path / "a.pdf", data)) == ("pdf", "Whales", PAGES)


@pytest.mark.parametrize("title", ["untitled", "(untitled)", "Untitled document", "<unspecified>"])
def test_a_pdf_whose_title_says_that_it_has_none_is_called_by_its_file(tmp_path: Path, title: str) -> None:
    assert read(written(tmp_path / "scan.pdf", rewritten(pdf(PAGES), title=title)))[1] == "scan"


def test_a_pdf_without_a_title_is_called_by_its_file(tmp_path: Path) -> None:
    assert read(written(tmp_path / "old ships.pdf", pdf(["x"])))[1] == "old ships"


@pytest.mark.system("chromium")
def test_a_pdf_that_chromium_printed(tmp_path: Path) -> None:
    page = "<title>Printed</title><p>Efficient whales</p><p style='break-before: page'>and the second page</p>"
    written(tmp_path / "a.html", page)
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={tmp_path}/u")
    argv = ["chromium", *flags, f"--print-to-pdf={tmp_path}/a.pdf", str(tmp_path / "a.html")]
    short = {**os.environ, "TMPDIR": "/tmp"}  # it puts a socket there, whose path may not be long
    subprocess.run(argv, check=True, capture_output=True, timeout=60, env=short)
    assert read(tmp_path / "a.pdf") == ("pdf", "Printed", ["Efficient whales", "and the second page"])


def test_a_pdf_that_pdfium_cannot_open_is_read_by_pypdf(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pdf", b"junk from a mail\n" * 100 + pdf(PAGES, "Whales"))
    import pypdfium2

    with pytest.raises(pypdfium2.PdfiumError):
        pypdfium2.PdfDocument(str(path))
    assert read(path) == ("pdf", "Whales", PAGES)


def test_a_table_of_places_that_is_wrong_is_mended(tmp_path: Path) -> None:
    data = pdf(PAGES)
    place = data.rindex(b"startxref\n") + len(b"startxref\n")
    assert read(written(tmp_path / "a.pdf", data[:place] + b"7\n%%EOF\n"))[2] == PAGES


def test_a_page_that_is_a_picture_is_an_empty_page_in_its_place(tmp_path: Path) -> None:
    assert read(written(tmp_path / "a.pdf", pdf(["one", None, "three"])))[2] == ["one", "", "three"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (rewritten(pdf(PAGES), "secret"), "encrypted; a password is needed"),
        (pdf(PAGES)[:60], "a PDF that cannot be read"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 20, "a PDF that cannot be read"),
        (b"", "a PDF that cannot be read"),
        (pdf([]), "it has no pages"),
    ],
    ids=["encrypted", "cut", "noise", "empty", "no pages"],
)
def test_a_pdf_that_cannot_be_read_says_its_name_and_why(tmp_path: Path, data: bytes, says: str) -> None:
    path = written(tmp_path / "bad.pdf", data)
    with pytest.raises(DocumentUnreadable, match=says) as raised:
        Pdf(str(path))
    assert raised.value.message.startswith(f"{path}: ")


def test_words_that_a_line_broke_are_whole_and_nothing_else_is_joined() -> None:
    assert clean("an exam-\nple of eﬃcient\r\ntext, well-\nKnown 10-\n20\x00") == (
        "an example of efficient\ntext, well-\nKnown 10-\n20"
    )


# ── EPUB


@pytest.mark.parametrize("second", [False, True], ids=["EPUB 3", "EPUB 2"])
def test_an_epub_is_its_chapters_in_reading_order(tmp_path: Path, second: bool) -> None:
    chapters = ["<h1>One</h1><p>Call me <b>Ishmael</b>.</p>", "<p>Two</p><script>no()</script>"]
    path = epub(tmp_path / "a.epub", chapters, "Moby &amp; Dick", second=second)
    assert read(path) == ("epub", "Moby & Dick", ["# One\n\nCall me Ishmael.", "Two"])


def test_a_long_chapter_is_several_pages_and_a_new_one_begins_a_page(tmp_path: Path) -> None:
    long = "".join(f"<p>{'word ' * 100}{number}.</p>" for number in range(20))
    pages = read(epub(tmp_path / "a.epub", [long, "<p>the next</p>"]))[2]
    assert len(pages) > 3
    assert max(map(len, pages)) <= 3000
    assert pages[-1] == "the next"


def test_a_book_without_text_is_one_empty_page(tmp_path: Path) -> None:
    assert read(epub(tmp_path / "a.epub", []))[2] == [""]
    assert read(epub(tmp_path / "b.epub", ["<img src='x.png'/>"]))[2] == [""]


@pytest.mark.parametrize("how", ["locked", "cut", "no book"])
def test_an_epub_that_cannot_be_read_says_why(tmp_path: Path, how: str) -> None:
    path = epub(tmp_path / "a.epub", ["x"], locked=how == "locked")
    if how == "cut":
        path.write_bytes(path.read_bytes()[:100])
    if how == "no book":
        import zipfile

        with zipfile.ZipFile(path, "w") as other:
            other.writestr("hello.txt", "hello")
    with pytest.raises(DocumentUnreadable, match="encrypted" if how == "locked" else "cannot be read"):
        open_document(str(path))


# ── the rest


def test_markdown_html_and_text_are_pages_of_text(tmp_path: Path) -> None:
    assert read(written(tmp_path / "a.md", "Intro\n\n# The Title #\n\nwords"))[:2] == ("markdown", "The Title")
    html = (
        "<html><head><title>A\n page</title><style>x</style></head><body><p>One<br>two</p><pre>a  b</pre></body></html>"
    )
    assert read(written(tmp_path / "a.html", html)) == ("html", "A page", ["One\ntwo\n\na  b"])
    assert read(written(tmp_path / "notes.txt", "caf\xe9".encode("latin-1"))) == ("text", "notes", ["café"])
    assert read(written(tmp_path / "wide.txt", "weit".encode("utf-16")))[2] == ["weit"]
    assert read(written(tmp_path / "empty.txt", ""))[2] == [""]
    russian = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>Привет'
    assert read(written(tmp_path / "r.html", russian.encode("cp1251")))[2] == ["Привет"]
    unknown = written(tmp_path / "u.html", b'<meta charset="klingon"><p>caf\xe9')
    assert read(unknown)[2] == ["café"]


def test_what_is_no_document_is_said(tmp_path: Path) -> None:
    with pytest.raises(DocumentUnreadable, match=r"x\.bin: not text, and neither a PDF nor an EPUB$"):
        open_document(str(written(tmp_path / "x.bin", b"\0\1\2")))
    with pytest.raises(DocumentUnreadable, match="No such file"):
        open_document(str(tmp_path / "nowhere.pdf"))


def test_a_text_is_cut_between_paragraphs_and_nothing_is_lost() -> None:
    text = "\n\n".join(f"{number} " + "word " * 90 for number in range(50)) + "\fthe next page" + "x" * 7000
    pages = split(text)
    assert "".join("".join(pages).split()) == "".join(text.split())
    assert all(len(page) <= 3000 for page in pages)
    assert pages[0].endswith("word") and pages[1][0].isdigit()


def test_html_that_is_never_closed_is_still_read() -> None:
    assert read_html("<head><title>T<body><p>one<p>two <li>three")[1].split() == ["one", "two", "-", "three"]


def test_a_folder_gives_its_documents_and_neither_secrets_nor_what_is_hidden(tmp_path: Path) -> None:
    for name in ("a.md", "sub/b.pdf", "sub/c.py", ".hidden/d.md", "node_modules/e.md", ".env.md", ".ssh/f.txt"):
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text("x")
    found = documents_under([str(tmp_path / "docs"), str(tmp_path / "docs/sub/c.py")], PROTECTION)
    assert [path.removeprefix(f"{tmp_path}/docs/") for path in found] == ["a.md", "sub/b.pdf", "sub/c.py"]
