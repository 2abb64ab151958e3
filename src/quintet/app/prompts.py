"""Where the prompts are: those that ship, and those a trusted project puts in their place."""

import os

from quintet.adapters.settings.trust import leads_out
from quintet.domain.permission.trusted_content import PROMPTS as OWN
from quintet.domain.permission.trusted_content import Trust
from quintet.engine.turn.prompts import Prompts
from quintet.package import FOLDER

PROMPTS = os.path.join(FOLDER, "prompts")


def own_prompts(root: str, trust: Trust) -> Prompts:
    """With those pages of the project's that the user's yes covers; a link that leads out of it is none of its."""
    if not trust.trusted:
        return Prompts(PROMPTS)
    return Prompts(
        PROMPTS,
        os.path.join(root, OWN),
        covers=lambda name, data: trust.covers(f"{OWN}/{name}", data),
        is_page=lambda path: os.path.isfile(path) and not leads_out(root, path),
    )
