"""What a program consists of, as CycloneDX: each package with version, licence and the hashes it was installed by."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any


def bill(packages: Iterable[Distribution], requirements: str, version: str, epoch: int) -> str:
    """The bill of materials for Quintet with these packages; the same input gives the same text."""
    hashes = pinned(requirements)
    components = sorted((_component(one, hashes) for one in packages), key=lambda one: one["purl"])
    made: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "component": {"type": "application", "bom-ref": "quintet", "name": "quintet", "version": version},
        },
        "components": components,
        "dependencies": [{"ref": "quintet", "dependsOn": [one["bom-ref"] for one in components]}],
    }
    made["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(made, sort_keys=True))}"
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def packages_in(folder: Path) -> list[Distribution]:
    return [one for one in distributions(path=[str(folder)]) if _name(one) != "quintet"]


def pinned(requirements: str) -> dict[str, list[str]]:
    """The hashes of each package, by its name and version."""
    entries = re.split(r"^(?=[\w.-]+==)", requirements, flags=re.M)
    return {
        f"{_plain(found[1])}@{found[2]}": re.findall(r"sha256:([0-9a-f]{64})", entry)
        for entry in entries
        if (found := re.match(r"([\w.-]+)==([^\s;\\]+)", entry))
    }


def _component(one: Distribution, hashes: dict[str, list[str]]) -> dict[str, Any]:
    key = f"{_name(one)}@{one.version}"
    said = one.metadata.get("License-Expression") or one.metadata.get("License") or ""
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": key,
        "name": _name(one),
        "version": one.version,
        "purl": f"pkg:pypi/{key}",
    }
    if said and len(said) < 100:
        made["licenses"] = [{"license": {"name": said.splitlines()[0]}}]
    if hashes.get(key):
        made["properties"] = [{"name": "quintet:sha256", "value": one} for one in sorted(hashes[key])]
    return made


def _name(one: Distribution) -> str:
    return _plain(one.metadata["Name"])


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
