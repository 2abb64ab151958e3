"""Where the prompts are: those that ship, and those a trusted project puts in their place."""

import os

PROMPTS = os.path.join(os.path.dirname(__file__), "prompts")
OVERRIDES = "{root}/.quintet/prompts"
