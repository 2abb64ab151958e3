"""The frame of a page of results, which needs nothing else and runs no script, and how it draws a pass rate."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape as e

from quintet.domain.evals.rates import PassRate
from quintet.package import FOLDER

STYLE = os.path.join(FOLDER, "pages", "evals.css")
WIDTH, BAR = 480, 18  # of a bar, in pixels
ABOUT_BARS = (
    "The bars show how many trials passed; the line over each is the interval that holds the true rate in 95 of 100 "
    "cases (Wilson)."
)


def framed(title: str, pieces: Iterable[str]) -> str:
    with open(STYLE, encoding="utf-8") as file:
        style = file.read()
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{e(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{e(title)}</h1>\n{''.join(pieces)}</main>\n</body>\n</html>\n"
    )


def rate_bar(rate: PassRate) -> str:
    share = rate.passed / rate.graded if rate.graded else 0.0
    low, high = rate.low * WIDTH, rate.high * WIDTH
    return (
        f'<svg width="{WIDTH}" height="{BAR * 2}" role="img" aria-label="{e(str(rate))}">'
        f'<rect class="whole" width="{WIDTH}" height="{BAR}" y="{BAR // 2}"/>'
        f'<rect class="passed" width="{share * WIDTH:.1f}" height="{BAR}" y="{BAR // 2}"/>'
        f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{BAR}" y2="{BAR}"/></svg>\n'
    )


def data_table(heading: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """`rows` are cells of HTML."""
    top = "".join(f"<th>{e(name)}</th>" for name in heading)
    body = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
