"""The eval cases of a skill, tried with it and without it."""
