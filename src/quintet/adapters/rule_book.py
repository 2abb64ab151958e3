"""The user's standing rules: a file in the user's configuration, never in the project.

Read again whenever the file has changed, so that a rule revoked in one terminal stops working in all of them.
"""

from __future__ import annotations

import os

import msgspec

from quintet.adapters import user_files
from quintet.domain.errors import NotFound, SettingsError
from quintet.domain.rules import Rule


class FileRuleBook:
    def __init__(self, path: str) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._rules: tuple[Rule, ...] = ()

    def rules(self) -> tuple[Rule, ...]:
        try:
            info = os.stat(self._path)
        except OSError:
            self._stamp, self._rules = None, ()
            return ()
        stamp = (info.st_mtime_ns, info.st_ino)
        if stamp != self._stamp:
            self._rules = self._read()
            self._stamp = stamp
        return self._rules

    def _read(self) -> tuple[Rule, ...]:
        content = user_files.read(self._path, "nothing is allowed by rule until then")
        try:
            return msgspec.convert([] if content is None else content, tuple[Rule, ...])
        except msgspec.ValidationError as error:
            raise SettingsError(f"{self._path}: not a list of rules ({error})", hint="Mend or delete it.") from None

    def add(self, rule: Rule) -> None:
        self._write((*self._read(), rule))

    def revoke(self, wanted: str) -> Rule:
        """Remove a rule, named by its id or the beginning of one."""
        rules = self._read()
        found = [rule for rule in rules if rule.id == wanted] or [rule for rule in rules if rule.id.startswith(wanted)]
        if len(found) != 1:
            many = "more than one rule begins" if found else "there is no rule that begins"
            raise NotFound(f"{many} with {wanted}", hint="`quintet rules list` shows them.")
        self._write(tuple(rule for rule in rules if rule is not found[0]))
        return found[0]

    def _write(self, rules: tuple[Rule, ...]) -> None:
        user_files.write(self._path, msgspec.to_builtins(rules))
