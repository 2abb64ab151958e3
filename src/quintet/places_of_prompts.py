"""Where the prompts are: those that ship, and those a trusted project puts in their place."""

import os

from quintet.adapters.project_pieces import leads_out
from quintet.domain.trusted_content import PROMPTS as OWN
from quintet.domain.trusted_content import Trust
from quintet.engine.prompting import Prompts

PROMPTS = os.path.join(os.path.dirname(__file__), "prompts")


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
