"""Where the text of a prompt came from. Only what was typed key by key counts as typed; everything else taints it.

A source stays until the prompt is empty again: which characters came from where is not told apart.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.base.wording import listed


class TextSource(StrEnum):
    TYPED = "typed"
    PASTED = "pasted"  # also dropped, and keys that came faster than anybody types
    PREFILLED = "prefilled"  # a draft, a template, a completion
    RECALLED = "recalled"  # a past input, what was undone, or killed and yanked
    EDITED = "edited in another program"


class Provenance(Struct, frozen=True):
    """Of the text of one prompt: the sources it has beside typed keys."""

    others: frozenset[TextSource] = frozenset()

    @property
    def typed(self) -> bool:
        """Whether every character was typed."""
        return not self.others

    def changed(self, text: str, source: TextSource) -> Provenance:
        """After something from a source was put in, or taken out as if typed, and the prompt reads `text`."""
        if not text:
            return ALL_TYPED
        return self if source is TextSource.TYPED else Provenance(self.others | {source})

    def described(self) -> str:
        return listed(sorted(self.others)) if self.others else str(TextSource.TYPED)


ALL_TYPED = Provenance()
NOT_TYPED = Provenance(frozenset({TextSource.PREFILLED}))
