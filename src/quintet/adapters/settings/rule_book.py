"""The user's standing rules: a file in the user's configuration, never in the project.

Read anew for every decision, so that a rule revoked in one terminal stops working in all of them.
"""

from __future__ import annotations

import msgspec

from quintet.adapters.files import private_files
from quintet.domain.base.errors import NotFound, SettingsError
from quintet.domain.permission.rules import Rule


class FileRuleBook:
    def __init__(self, path: str) -> None:
        self._path = path

    def rules(self) -> tuple[Rule, ...]:
        content = private_files.read_json(self._path, "until then nothing that could be under a rule is run")
        try:
            return msgspec.convert([] if content is None else content, tuple[Rule, ...])
        except msgspec.ValidationError as error:
            raise SettingsError(f"{self._path}: not a list of rules ({error})", hint="Mend or delete it.") from None

    def add(self, rule: Rule) -> None:
        with private_files.locked(self._path):
            self._write((*self.rules(), rule))

    def revoke(self, wanted: str) -> Rule:
        """Remove a rule, named by its id or the beginning of one."""
        with private_files.locked(self._path):
            rules = self.rules()
            whole = [rule for rule in rules if rule.id == wanted]
            found = whole or [rule for rule in rules if wanted and rule.id.startswith(wanted)]
            if len(found) != 1:
                many = "more than one rule begins" if found else "there is no rule that begins"
                raise NotFound(f'{many} with "{wanted}"', hint="`quintet rules list` shows them.")
            self._write(tuple(rule for rule in rules if rule is not found[0]))
            return found[0]

    def _write(self, rules: tuple[Rule, ...]) -> None:
        private_files.write_json(self._path, msgspec.to_builtins(rules))
