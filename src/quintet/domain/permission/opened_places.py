"""What the user shows or gives to sandboxed programs by `sandbox.show` and `sandbox.give`. Pure.

`opened` adds it to a grant. Everything that is started in a sandbox gets it in this way, so that each question and
event that shows the grant shows it. What is refused of the settings, and why, is judged in `judged_places`.
"""

from __future__ import annotations

from msgspec import Struct, structs

from quintet.domain.permission.effects import Grant


class OpenedPlaces(Struct, frozen=True):
    """Absolute paths; `refused` holds settings, each with its entry and the reason."""

    shown: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    refused: tuple[tuple[str, str, str], ...] = ()

    def words(self) -> str:
        """What sandboxed programs get beside the project, in a line; empty if nothing."""
        parts = [f"shows {', '.join(self.shown)}"] if self.shown else []
        return " · ".join([*parts, *([f"gives {', '.join(self.given)}"] if self.given else [])])

    def warnings(self) -> list[str]:
        return [f'{name} = ["{entry}"] is not followed: {why}' for name, entry, why in self.refused]


NOTHING_OPENED = OpenedPlaces()


def opened(grant: Grant, places: OpenedPlaces, *, writes: bool) -> Grant:
    """A grant with what the user's settings show and give; what is given is only read by what `writes` nothing."""
    if not (places.shown or places.given):
        return grant
    given, read = (places.given, ()) if writes else ((), places.given)
    return structs.replace(
        grant,
        write_roots=tuple(dict.fromkeys((*grant.write_roots, *given))),
        read_roots=tuple(dict.fromkeys((*grant.read_roots, *places.shown, *read))),
    )
