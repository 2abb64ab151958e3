"""Frontmatter by the YAML reader: as much as can be made of it, and as strictly as the standard's own validator."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from typing import Any

from quintet.adapters.files.located_yaml import NotReadable, page_fields, read_yaml
from quintet.features.skills.skill import OWN, STANDARD

MOST_NAME, MOST_DESCRIPTION, MOST_COMPATIBILITY = 64, 1024, 500


def fields_of(text: str, known: Collection[str]) -> tuple[dict[str, Any], str, str]:
    """The fields, the text below, and why the frontmatter is not YAML, where it is read all the same."""
    try:
        found, body, wrong = page_fields(text, known, ("name",))
    except NotReadable as error:
        raise ValueError(f"line {error.line}: {error.problem}") from None
    fields = found.value if isinstance(found.value, dict) else {}
    note = f"line {wrong.line}: {wrong.problem}; read line by line" if wrong else ""
    return {str(key): value for key, value in fields.items()}, body, note


def strict_errors(text: str, folder_name: str) -> list[str]:
    """What the Agent Skills standard does not take, our own fields aside."""
    try:
        fields = _strict_fields(text)
    except ValueError as error:
        return [str(error)]
    errors = []
    if extra := sorted(set(fields) - {*STANDARD, *OWN}):
        errors.append(f"fields that the standard does not have: {', '.join(extra)}")
    if "name" not in fields:
        errors.append("name is missing")
    else:
        errors += _name_errors(fields["name"], folder_name)
    description = fields.get("description")
    if description is None:
        errors.append("description is missing")
    elif not isinstance(description, str) or not description.strip():
        errors.append("description must be a text")
    elif len(description) > MOST_DESCRIPTION:
        errors.append(f"description has {len(description)} characters; at most {MOST_DESCRIPTION}")
    compatibility = fields.get("compatibility", "")
    if not isinstance(compatibility, str):
        errors.append("compatibility must be a text")
    elif len(compatibility) > MOST_COMPATIBILITY:
        errors.append(f"compatibility has {len(compatibility)} characters; at most {MOST_COMPATIBILITY}")
    return errors


def _name_errors(value: Any, folder_name: str) -> list[str]:
    if not isinstance(value, str) or not value.strip():
        return ["name must be a text"]
    name = unicodedata.normalize("NFKC", value.strip())
    errors = []
    if len(name) > MOST_NAME:
        errors.append(f"name has {len(name)} characters; at most {MOST_NAME}")
    if name != name.lower():
        errors.append("name must be lower case")
    if name.startswith("-") or name.endswith("-"):
        errors.append("name must neither begin nor end with -")
    if "--" in name:
        errors.append("name must not have two - in a row")
    if not all(char.isalnum() or char == "-" for char in name):
        errors.append("name may have letters, digits and - only")
    if unicodedata.normalize("NFKC", folder_name) != name:
        errors.append(f"the folder {folder_name} must have the name of the skill, {name}")
    return errors


def _strict_fields(text: str) -> dict[str, Any]:
    """By the simple part of YAML, and no key twice."""
    if not text.startswith("---"):
        raise ValueError("the page must begin with ---")
    parts = text.split("---", 2)
    if len(parts) < 3:
        raise ValueError("the frontmatter is not closed by ---")
    if not parts[1].strip():
        raise ValueError("the frontmatter is empty")
    try:
        value = read_yaml(parts[1], simple=True).value
    except NotReadable as error:
        raise ValueError(f"line {error.line}: {error.problem}") from None
    if not isinstance(value, dict):
        raise ValueError("the frontmatter must be fields, each `name: value`")
    return value
