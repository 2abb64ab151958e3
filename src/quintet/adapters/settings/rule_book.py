"""The rules of the user, on disk: what is always allowed, and what is denied."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from quintet.adapters.files import private_files
from quintet.domain.base.errors import NotFound, SettingsError
from quintet.domain.base.plain_kinds import plainly
from quintet.domain.permission.rules import Rule


def one_rule(rules: Sequence[Rule], wanted: str) -> Rule:
    """The rule of this id, or of the only id that begins so."""
    whole = [rule for rule in rules if rule.id == wanted]
    found = whole or [rule for rule in rules if wanted and rule.id.startswith(wanted)]
    if len(found) != 1:
        many = "more than one rule begins" if found else "there is no rule that begins"
        raise NotFound(f'{many} with "{wanted}"', hint="`quintet rules list` shows them.")
    return found[0]


class FileRuleBook:
    """Port `RuleBook`: a file in the user's configuration, never in the project.

    Read anew for every decision, so that a rule revoked in one terminal stops working in all of them.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def rules(self) -> tuple[Rule, ...]:
        content = private_files.read_json(self._path, "until then no call that a rule could cover runs")
        try:
            return msgspec.convert([] if content is None else content, tuple[Rule, ...])
        except msgspec.ValidationError as error:
            raise SettingsError(
                f"{self._path}: not a list of rules: {plainly(error)}", hint="Fix or delete it."
            ) from None

    def add(self, rule: Rule) -> None:
        with private_files.locked(self._path):
            self._write((*self.rules(), rule))

    def revoke(self, wanted: str) -> Rule:
        """Remove a rule, named by its id or the beginning of one."""
        with private_files.locked(self._path):
            rules = self.rules()
            found = one_rule(rules, wanted)
            self._write(tuple(rule for rule in rules if rule is not found))
            return found

    def _write(self, rules: tuple[Rule, ...]) -> None:
        private_files.write_json(self._path, msgspec.to_builtins(rules))
