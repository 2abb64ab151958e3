"""Which files the others use: PageRank over the graph of references, for all and seen from a few. Pure.

An edge leads from a file that uses a name to the files that declare it. A name that many files declare, or that nearly
every file uses, says little, and its edges weigh little.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import sqrt

from quintet.features.index.words import mark

MOST_HOMES = 6  # files that declare a name, beyond which it leads nowhere
MOST_LINKS = 24  # of one file that are kept
DAMPING = 0.85
ROUNDS = 10
Links = Mapping[int, Mapping[int, float]]


def homes_of(declarations: Iterable[tuple[int, str]]) -> dict[int, tuple[int, ...]]:
    """Of each name's mark, the files that declare it."""
    found: dict[int, set[int]] = defaultdict(set)
    for file, name in declarations:
        found[mark(name.encode())].add(file)
    return {name: tuple(files) for name, files in found.items() if len(files) <= MOST_HOMES}


def links_between(
    homes: Mapping[int, tuple[int, ...]], uses: Iterable[tuple[int, bytes]]
) -> dict[int, dict[int, float]]:
    """Of each file the files that it uses the most, with weights that sum to 1."""
    declared = set(homes)
    used: dict[int, set[int]] = {}
    users: dict[int, int] = defaultdict(int)
    for file, marks in uses:
        numbers = array("I")
        numbers.frombytes(marks)
        used[file] = found = declared.intersection(numbers)
        for name in found:
            users[name] += 1
    weights = {name: 1.0 / (len(homes[name]) * sqrt(count)) for name, count in users.items()}
    made: dict[int, dict[int, float]] = {}
    for file, names in used.items():
        to: dict[int, float] = defaultdict(float)
        for name in names:
            for home in homes[name]:
                if home != file:
                    to[home] += weights[name]
        best = sorted(to.items(), key=lambda one: -one[1])[:MOST_LINKS] if len(to) > MOST_LINKS else list(to.items())
        total = sum(weight for _, weight in best)
        if total:
            made[file] = {home: weight / total for home, weight in best}
    return made


def page_ranks(links: Links, files: Iterable[int]) -> dict[int, float]:
    """How much each file is used, directly and through others; they sum to 1."""
    everyone = list(files)
    if not everyone:
        return {}
    base = 1.0 / len(everyone)
    ranks = dict.fromkeys(everyone, base)
    flat = [(file, list(to.items())) for file, to in links.items() if file in ranks]
    loose = [file for file in everyone if file not in links]
    for _ in range(ROUNDS):
        spread = (1.0 - DAMPING + DAMPING * sum(ranks[file] for file in loose)) * base
        following = dict.fromkeys(everyone, spread)
        for file, to in flat:
            share = DAMPING * ranks[file]
            for home, weight in to:
                if home in following:
                    following[home] += share * weight
        ranks = following
    return ranks


def packed(to: Mapping[int, float]) -> bytes:
    return array("I", [number for home, weight in to.items() for number in (home, int(weight * 1_000_000))]).tobytes()


def unpacked(data: bytes) -> dict[int, float]:
    numbers = array("I")
    numbers.frombytes(data)
    return {numbers[at]: numbers[at + 1] / 1_000_000 for at in range(0, len(numbers), 2)}


def seen_from(
    seeds: Mapping[int, float], links: Callable[[int], Mapping[int, float]], least: float = 0.002
) -> dict[int, float]:
    """PageRank as seen from some files, by pushing their weight on until little is left: looks at few files."""
    total = sum(seeds.values()) or 1.0
    left = {file: weight / total for file, weight in seeds.items()}
    ranks: dict[int, float] = defaultdict(float)
    while left:
        file = max(left, key=left.__getitem__)
        weight = left.pop(file)
        if weight < least:
            break
        ranks[file] += (1 - DAMPING) * weight
        for home, share in links(file).items():
            left[home] = left.get(home, 0.0) + DAMPING * weight * share
    for file, weight in left.items():
        ranks[file] += (1 - DAMPING) * weight
    return dict(ranks)
