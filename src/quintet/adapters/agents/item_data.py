"""A menu item's data, parsed by its ending and given in a form that a model reads: JSON, or the text itself."""

from __future__ import annotations

import csv
import io
import json

from quintet.adapters.files.located_yaml import NotReadable, read_json, read_yaml

FORMATS = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".csv": "csv",
    ".md": "md",
    ".markdown": "md",
    ".txt": "txt",
}


def parsed(format: str, text: str) -> str:
    """The data; NotReadable if it is not what its ending says."""
    match format:
        case "yaml":
            value = read_yaml(text).value
        case "json":
            value = read_json(text).value
        case "csv":
            value = _rows(text)
        case _:
            return text
    return json.dumps(value, ensure_ascii=False, indent=1)


def _rows(text: str) -> list[dict[str, str]]:
    try:
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise NotReadable(1, f"not valid CSV: {error}") from None
    heading, *lines = [row for row in rows if row] or [[]]
    for number, line in enumerate(lines, 2):
        if len(line) != len(heading):
            raise NotReadable(number, f"not valid CSV: {len(line)} values under {len(heading)} headings")
    return [dict(zip(heading, line, strict=True)) for line in lines]
