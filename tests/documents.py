"""Documents as different producers make them: PDFs written by hand and by pypdf, EPUBs of both generations."""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pypdf

HEAD = b"%PDF-1.4\n"


def pdf(pages: Sequence[str | None], title: str = "") -> bytes:
    """A PDF with one line of Helvetica for each line of a page; None is a page that is a picture."""
    objects: dict[int, bytes] = {1: b"<</Type/Catalog/Pages 2 0 R>>"}
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(pages)))
    objects[2] = f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode()
    objects[3] = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    picture = b"\x80" * 64
    objects[4] = _stream(
        b"/Type/XObject/Subtype/Image/Width 8/Height 8/ColorSpace/DeviceGray/BitsPerComponent 8", picture
    )
    for number, text in enumerate(pages):
        drawn = b"q 400 0 0 600 50 100 cm /Im0 Do Q" if text is None else _drawn(text)
        objects[5 + 2 * number] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {6 + 2 * number} 0 R"
            "/Resources<</Font<</F1 3 0 R>>/XObject<</Im0 4 0 R>>>>>>"
        ).encode()
        objects[6 + 2 * number] = _stream(b"", drawn)
    info = 5 + 2 * len(pages)
    objects[info] = f"<</Title({title})>>".encode("latin-1")
    out = bytearray(HEAD)
    places = []
    for number in sorted(objects):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + objects[number] + b"\nendobj\n"
    table = len(out)
    out += f"xref\n0 {info + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    out += f"trailer<</Size {info + 1}/Root 1 0 R/Info {info} 0 R>>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(out)


def _stream(fields: bytes, data: bytes) -> bytes:
    return b"<<" + fields + f"/Length {len(data)}>>stream\n".encode() + data + b"\nendstream"


def _drawn(text: str) -> bytes:
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    lines = "".join(f"({line}) Tj T*\n" for line in escaped.split("\n"))
    return f"BT /F1 10 Tf 12 TL 50 780 Td\n{lines}ET".encode("cp1252", "replace")


def rewritten(data: bytes, password: str = "", title: str = "") -> bytes:
    """The same PDF as pypdf writes it, its pages packed; encrypted if there is a password."""
    writer = pypdf.PdfWriter()
    writer.append(pypdf.PdfReader(io.BytesIO(data)))
    for page in writer.pages:
        page.compress_content_streams()
    writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def epub(
    path: Path, chapters: Sequence[str], title: str = "A Book", *, second: bool = False, locked: bool = False
) -> Path:
    """An EPUB 3, or one of the second generation with prefixed names and its chapters in a folder with a space."""
    folder = "OEBPS/the text" if second else "EPUB"
    opf = "OEBPS/content.opf" if second else "EPUB/package.opf"
    names = [f"c{number}.xhtml" for number in range(len(chapters))]
    prefix = "the%20text/" if second else ""
    colon = "opf:" if second else ""
    declared = 'xmlns:opf="http://www.idpf.org/2007/opf"' if second else 'xmlns="http://www.idpf.org/2007/opf"'
    items = "".join(
        f'<{colon}item id="i{n}" href="{prefix}{name}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(names)
    )
    items += f'<{colon}item id="pic" href="cover.png" media-type="image/png"/>'
    spine = "".join(f'<{colon}itemref idref="i{n}"/>' for n in range(len(names)))
    package = (
        f'<?xml version="1.0"?><{colon}package {declared} version="{"2.0" if second else "3.0"}">'
        f'<{colon}metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></{colon}metadata>'
        f"<{colon}manifest>{items}</{colon}manifest><{colon}spine>{spine}</{colon}spine></{colon}package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        f'<rootfile full-path="{opf}" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        book.writestr("META-INF/container.xml", container)
        book.writestr(opf, package)
        for name, text in zip(names, chapters, strict=True):
            page = f"<html><head><title>t</title><style>p {{}}</style></head><body>{text}</body></html>"
            book.writestr(f"{folder}/{name}", page)
        if locked:
            method = '<e:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/>'
            declared = 'xmlns:e="http://www.w3.org/2001/04/xmlenc#"'
            book.writestr("META-INF/encryption.xml", f"<encryption {declared}>{method}</encryption>")
    return path


def without_page_two(data: bytes) -> bytes:
    """A PDF of `pdf` in which a number stands in the place of its second page."""
    start = data.index(b"7 0 obj\n") + len(b"7 0 obj\n")
    end = data.index(b"\nendobj", start)
    return data[:start] + b"42".ljust(end - start) + data[end:]


def packed(path: Path, *, method: int = zipfile.ZIP_DEFLATED, flags: int = 0) -> None:
    """An EPUB whose first chapter says that it is packed by this method, and has these flags."""
    data = bytearray(path.read_bytes())
    for name in (data.index(b"c0.xhtml"), data.rindex(b"c0.xhtml")):
        head = max(data.rfind(b"PK\x03\x04", 0, name), data.rfind(b"PK\x01\x02", 0, name))
        at = head + (6 if data[head + 2] == 3 else 8)
        data[at] |= flags
        data[at + 2] = method
    path.write_bytes(data)
