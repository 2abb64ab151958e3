"""Settings from their layers: defaults < the user's file < the project's file < QUINTET_* < flags.

An unknown key is a warning with the nearest name; a wrong value is an error that names file, line and key. A project's
file cannot loosen anything until its folder is trusted; what was ignored is said.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal, get_origin

import msgspec
from msgspec import Struct, field

from quintet.adapters.files.paths import Places
from quintet.adapters.settings.trust import gone_from, leads_out, read_own, scripts_of, trust_of
from quintet.domain.base.database_url import VARIABLE, secrets_in
from quintet.domain.base.errors import SettingsError
from quintet.domain.base.plain_kinds import plainly
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials.axes import INTERACTIVE, UNATTENDED
from quintet.domain.permission.trusted_content import SETTINGS, ProjectSetting, Trust, ignored
from quintet.domain.settings.settings import FREE, OWN, REPLAYED, ROUTES, TIGHTEN, Settings, is_tighter
from quintet.domain.settings.tables import SettingInfo
from quintet.features.registry import tables

PREFIX = "QUINTET_"
MOST_BYTES = 1_000_000
LARGEST = 10**18
FINITE = "expected a finite number, at most 10^18"
LONGEST_SHOWN = 200  # characters of a wrong value in an error
LONGEST_VALUE = 40  # cells that a column of values has
NOT_SETTINGS = frozenset({"QUINTET_VENV_DIR", "QUINTET_DEBUG", VARIABLE})


class Leaf(Struct, frozen=True):
    """One value somebody set: where, and what."""

    key: str
    raw: Any
    source: str  # file, variable or flag, as shown to the person
    where: str  # the same with a line number, for errors
    textual: bool = False  # came as text: "0.5", "true"


OTHER = "pydantic-ai"  # the wire that takes its provider from the model's name


class LoadedSettings(Struct):
    settings: Settings
    values: dict[str, tuple[Any, str]] = field(default_factory=dict)  # key → value, source; only what was set
    warnings: list[str] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)  # of the warnings, those about what is no setting
    trust: Trust = Trust()
    hook_problem: Callable[[str], str] = lambda command: ""  # why a hook may not be run as things are now

    @property
    def trusted(self) -> bool:
        return self.trust.trusted


def load(places: Places, flags: Mapping[str, Any] | None = None, user_text: str | None = None) -> LoadedSettings:
    """All layers; `user_text` stands in for the user's file, to see whether it would do."""
    trust = trust_of(places.trust_file, places.root)
    loaded = LoadedSettings(Settings(), trust=trust)
    path = places.user_settings
    user = _from_file(path) if user_text is None else from_text(user_text, path)
    project, covered = _of_project(places, loaded)
    variables = _from_environment(os.environ)
    given = [Leaf(key, value, "flag", "flag") for key, value in (flags or {}).items()]
    if not (user or project or variables or given):
        return loaded
    sections = {leaf.key.partition(".")[0] for leaf in (*user, *project, *variables, *given)}
    known = tables().catalogue(sections)
    _take(loaded, user, known)
    _take(loaded, project, known, untrusted="" if covered else _why(trust))
    _drop_homeless(loaded, places.project_settings)
    _take(loaded, variables, known)
    _take(loaded, given, known)
    loaded.settings = _built(loaded.values)
    return loaded


def _drop_homeless(loaded: LoadedSettings, path: str) -> None:
    """A project may name a model, not where it is: what leads to one that the user has no address for is left out."""
    values = {key: value for key, (value, _) in loaded.values.items()}
    dropped: dict[str, dict[str, None]] = {}  # model → what is left out
    for key in [key for key, (_, source) in loaded.values.items() if source == path]:
        if name := _homeless(key, values):
            dropped.setdefault(name, {})[f"models.{name}" if key.startswith("models.") else key] = None
            del loaded.values[key]
    for name, keys in dropped.items():
        loaded.warnings.append(f"{path}: {ignored(list(keys))}: your own settings set no address for {name}")


def _homeless(key: str, values: Mapping[str, Any]) -> str:
    """The model that a setting is of or routes to, if these settings have no address for it."""
    route = key.startswith("routing.") and key.removeprefix("routing.") in ROUTES
    name = str(values[key]) if route else _model_of(key)
    if name in ("", "builtin") or name.startswith(REPLAYED) or f"models.{name}.base_url" in values:
        return ""
    return "" if values.get(f"models.{name}.wire") == OTHER else name


def _model_of(key: str) -> str:
    """The model that a setting is of, by its name; empty for any other setting."""
    return key.removeprefix("models.").rpartition(".")[0] if key.startswith("models.") else ""


def _why(trust: Trust) -> str:
    if not trust.trusted:
        return "until you trust this folder (`quintet trust`)"
    return "because the file is new or changed since you trusted this folder (`quintet trust`)"


def _of_project(places: Places, loaded: LoadedSettings) -> tuple[list[Leaf], bool]:
    """What the project's file sets, and whether the user's yes covers the file; its hooks only with their scripts."""
    if leads_out(places.root, places.project_settings):
        loaded.warnings.append(f"{places.project_settings} is not loaded: a link leads out of the project")
        return [], False
    data = read_data(places.project_settings)
    leaves = from_text(_decoded(data, places.project_settings), places.project_settings)
    covered = loaded.trust.covers(SETTINGS, data)
    if not covered or not any(leaf.key.startswith("hooks.") for leaf in leaves):
        return leaves, covered
    commands = {text for leaf in leaves if leaf.key.startswith("hooks.") for text in leaf.raw if isinstance(text, str)}

    def problem(command: str) -> str:
        if command not in commands:
            return ""
        for script in (*scripts_of(places.root, [command]), *gone_from(places.root, command, loaded.trust)):
            if leads_out(places.root, os.path.join(places.root, script)):
                return f"{script} is a link out of the project: hook not run"
            if not loaded.trust.covers(script, read_own(places.root, script) or b""):
                return (
                    f"{script} is new, changed or deleted since you trusted this folder (`quintet trust`): hook not run"
                )
        return ""

    loaded.hook_problem = problem
    return leaves, covered


def _take(
    loaded: LoadedSettings, leaves: Iterable[Leaf], known: Mapping[str, SettingInfo], *, untrusted: str | None = None
) -> None:
    """`untrusted` is None for what is the user's; else why the project's file may not loosen anything, or empty."""
    left_out: list[Leaf] = []
    owned: list[Leaf] = []
    for leaf in leaves:
        info = known.get(tables().pattern(leaf.key))
        if info is None and leaf.key in tables().sections:
            raise SettingsError(f"{leaf.where}: {leaf.key} = {_shown(leaf.raw)}: expected a table, [{leaf.key}]")
        if info is None:
            warning = f"{leaf.where}: {leaf.key} is not a setting.{did_you_mean(leaf.key, tables().catalogue())}"
            loaded.warnings.append(warning)
            loaded.unknown.add(warning)
            continue
        if untrusted and info.reach != FREE and _only_out_of_bounds(leaf, info):  # it could not set this anyway
            (owned if info.reach == OWN else left_out).append(leaf)
            continue
        value = checked(leaf, info)
        before = loaded.values.get(leaf.key, (info.default, "default"))[0]
        if untrusted is not None and (info.reach == OWN or _picks_provider(leaf.key, value, loaded.values)):
            owned.append(leaf)
            continue
        if untrusted is not None and leaf.key == "protect.secrets":  # a project's never take the user's away
            value = tuple(dict.fromkeys((*before, *value)))
        if untrusted and not _may_set(info, value, before):
            left_out.append(leaf)
            continue
        source = leaf.source
        if leaf.key.startswith("hooks.") and before:  # hooks of one layer do not replace those of another
            value, source = (*before, *value), f"{loaded.values[leaf.key][1]}, {source}"
        loaded.values[leaf.key] = (value, source)
    for leaves, why in ((owned, ": only your own settings may set this"), (left_out, f" {untrusted}")):
        if leaves:
            where = leaves[0].where if len(leaves) == 1 else leaves[0].source
            loaded.warnings.append(f"{where}: {ignored([leaf.key for leaf in leaves])}{why}")


def _picks_provider(key: str, value: Any, values: Mapping[str, tuple[Any, str]]) -> bool:
    """Whether a project's setting would say who gets the prompts: with pydantic-ai it is the wire and the model's name.

    Another model of the provider that the user's own settings name is a project's to choose.
    """
    name, _, field = key.removeprefix("models.").rpartition(".")
    wire = values.get(f"models.{name}.wire", ("", ""))[0]
    if not key.startswith("models.") or field not in ("wire", "model"):
        return False
    if field == "wire":
        return OTHER in (value, wire) and value != wire
    own = values.get(f"models.{name}.model", ("", ""))[0]
    return wire == OTHER and str(value).partition(":")[0] != str(own).partition(":")[0]


def _may_set(info: SettingInfo, value: Any, before: Any) -> bool:
    """Whether an untrusted project may set this."""
    return info.reach == FREE or (info.reach == TIGHTEN and is_tighter(info.key, value, before))


def would_change(places: Places, data: bytes) -> list[ProjectSetting]:
    """What a project's settings file with this content sets that it may not set untrusted."""
    known = tables().catalogue()
    user = LoadedSettings(Settings())
    _take(user, _from_file(places.user_settings), known)
    found = []
    leaves = from_text(_decoded(data, places.project_settings), places.project_settings)
    values = {key: value for key, (value, _) in user.values.items()}
    taken = [leaf for leaf in leaves if not _picks_provider(leaf.key, leaf.raw, user.values)]
    values |= {leaf.key: leaf.raw for leaf in taken if not leaf.key.endswith(".base_url")}
    for leaf in taken:
        if _homeless(leaf.key, values):
            continue
        info = known.get(tables().pattern(leaf.key))
        if info is None or info.reach == OWN or leaf.key == "protect.secrets":
            continue
        value = checked(leaf, info)
        before = user.values.get(leaf.key, (info.default, ""))[0]
        differs = value != before or leaf.key.startswith("hooks.")
        if differs and not _may_set(info, value, before):
            found.append(ProjectSetting(leaf.key, value, info.about))
    return found


def checked(leaf: Leaf, info: SettingInfo) -> Any:
    try:
        value = msgspec.convert(leaf.raw, info.bounded, strict=not leaf.textual)
        if not _countable(leaf.raw) or not _countable(value):
            raise SettingsError(f"{leaf.where}: {leaf.key} = {_shown(leaf.raw)}: {FINITE}")
        return value
    except msgspec.ValidationError as error:
        choices = choices_of(info.kind)
        if choices:
            hint = did_you_mean(str(leaf.raw), choices)
            raise SettingsError(
                f'{leaf.where}: {leaf.key} = "{leaf.raw}": not one of {", ".join(choices)}.{hint}'
            ) from None
        raise SettingsError(f"{leaf.where}: {leaf.key} = {_shown(leaf.raw)}: {plainly(error)}") from None


def _only_out_of_bounds(leaf: Leaf, info: SettingInfo) -> bool:
    """Whether a value is of the right kind, and wrong nevertheless."""
    try:
        msgspec.convert(leaf.raw, info.kind, strict=not leaf.textual)
    except msgspec.ValidationError:
        return False
    try:
        checked(leaf, info)
    except SettingsError:
        return True
    return False


def _countable(value: Any) -> bool:
    """Whether no number in it is infinite, none at all (nan), or longer than databases and APIs take."""
    match value:
        case float():
            return math.isfinite(value)
        case int():
            return abs(value) <= LARGEST
        case dict():
            return all(map(_countable, value.values()))
        case list() | tuple():
            return all(map(_countable, value))
    return True


def _shown(raw: Any) -> str:
    if isinstance(raw, int) and abs(raw) > LARGEST:
        return "a very long number"  # it may be too long to be written out
    text = repr(raw) if _countable(raw) or isinstance(raw, float) else "…"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def choices_of(kind: Any) -> list[str]:
    kinds = getattr(kind, "__args__", (kind,))
    if get_origin(kind) is Literal:
        return list(kinds)
    return [str(value) for k in kinds if isinstance(k, type) and issubclass(k, StrEnum) for value in k]


def _from_file(path: str) -> list[Leaf]:
    return from_text(read_text(path), path)


def read_text(path: str) -> str:
    """A settings file as it is; empty if there is none."""
    return _decoded(read_data(path), path)


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 text (byte {error.start})") from None


def read_data(path: str) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_size > MOST_BYTES:
                raise SettingsError(
                    f"{path}: cannot be read (not a regular file, or larger than {MOST_BYTES // 1000} kB)"
                )
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror})") from error


def from_text(text: str, path: str) -> list[Leaf]:
    if not text:
        return []
    import tomllib  # most projects have no settings of their own

    try:
        leaves = list(_leaves(tomllib.loads(text)))
    except RecursionError:
        raise SettingsError(f"{path}: nested too deeply") from None
    except SettingsError as error:
        raise SettingsError(f"{path}: {error.message}", hint="Use a dash instead, or a table for each part.") from None
    except tomllib.TOMLDecodeError as error:
        problem, _, place = str(error).rpartition(" (at ")
        line = next((w for w in place.replace(",", " ").split() if w.isdigit()), str(len(text.splitlines())))
        raise SettingsError(f"{path}:{line}: not valid TOML: {problem or error}") from None
    except ValueError:  # Python reads no number of thousands of digits
        lines = enumerate(text.splitlines(), 1)
        number, written = max(lines, key=lambda one: max(map(len, re.findall(r"[\d_]+", one[1])), default=0))
        raise SettingsError(
            f"{path}:{number}: {written.partition('=')[0].strip()[:80]}: the number is too long"
        ) from None
    return [Leaf(key, value, path, f"{path}:{_line_of(text, key)}") for key, value in leaves]


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in table.items():
        if "." in key:  # it would pass for a key of another table
            raise SettingsError(f'"{key}": a name in settings may not contain a dot')
        if isinstance(value, dict) and not _is_value(prefix + key):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _is_value(key: str) -> bool:
    """Whether a table is the value of one setting, not a table of settings."""
    pattern = tables().pattern(key)
    info = tables().catalogue((key.partition(".")[0],)).get(pattern) if pattern != key else None
    return info is not None and get_origin(info.kind) is dict


def _line_of(text: str, key: str) -> int:
    """The line that sets a key, found by the section it stands in and the words before its equals sign."""
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            section = _bare(stripped.strip("[").partition("]")[0]) + "."
        elif "=" in stripped:
            written = section + _bare(stripped.partition("=")[0])
            if key == written or key.startswith(written + "."):
                return number
    return 1


def _bare(name: str) -> str:
    return "".join(c for c in name if c not in "\"' \t")


def _from_environment(environment: Mapping[str, str]) -> list[Leaf]:
    """QUINTET_LIMITS_MAX_COST=5 sets limits.max_cost."""
    leaves = []
    for variable, value in sorted(environment.items()):
        if variable.startswith(PREFIX) and variable not in NOT_SETTINGS:
            section, _, name = variable[len(PREFIX) :].lower().partition("_")
            leaves.append(Leaf(f"{section}.{name}", value, variable, variable, textual=True))
    return leaves


def _built(values: Mapping[str, tuple[Any, str]]) -> Settings:
    tree: dict[str, Any] = {}
    for key, (value, _) in values.items():
        *path, name = key.split(".")
        table = tree
        for part in path:
            table = table.setdefault(part, {})
        table[name] = value
    for name, table in tree.get("models", {}).items():
        if table.get("wire") == OTHER:
            table.setdefault("base_url", "")
        for needed in ("base_url", "model"):
            if needed not in table:
                source = next(source for key, (_, source) in values.items() if key.startswith(f"models.{name}."))
                raise SettingsError(f"{source}: models.{name} has no {needed}")
    _add_direct_models(tree)
    settings = tables().build(tree)
    names = [*settings.models, "builtin"]
    for model_mode in ROUTES:
        routed = getattr(settings.routing, model_mode)
        if routed and routed not in names and not routed.startswith(REPLAYED):
            source = values[f"routing.{model_mode}"][1]
            hint = did_you_mean(routed, names)
            raise SettingsError(
                f'{source}: routing.{model_mode} = "{routed}": not one of {", ".join(names)}.{hint}',
                hint="`quintet models` shows what you can use; PRESET/MODEL names a model of a provider.",
            )
    if secrets_in(settings.database.url):
        raise SettingsError(
            f"{values['database.url'][1]}: database.url holds a password",
            hint=f"Leave it out of the URL and put it into ~/.pgpass, or give the whole URL in {VARIABLE}.",
        )
    for name, table in settings.features.items():
        for at, problem in _problems(name, table, settings):
            source = next(source for key, (_, source) in values.items() if key.startswith(f"{at}."))
            raise SettingsError(f"{source}: {problem}")
    return settings


def _add_direct_models(tree: dict[str, Any]) -> None:
    """PRESET/MODEL in the place of a configured model's name is that model, where the preset's variables say it is."""
    for routed in {name for name in tree.get("routing", {}).values() if isinstance(name, str) and "/" in name}:
        if routed not in tree.get("models", {}) and not routed.startswith(REPLAYED):
            from quintet.domain.models.presets import direct_model  # few name one

            if table := direct_model(routed, os.environ):
                tree.setdefault("models", {})[routed] = table


def _problems(at: str, table: Any, settings: Settings) -> Iterator[tuple[str, str]]:
    """What a feature's own tables say is wrong with them, each with its place."""
    if isinstance(table, dict):
        for name, one in table.items():
            yield from _problems(f"{at}.{name}", one, settings)
        return
    if not isinstance(table, Struct):
        return
    check = getattr(table, "problem", None)
    if check and (problem := check(at, settings)):
        yield at, problem
    for name in table.__struct_fields__:
        yield from _problems(f"{at}.{name}", getattr(table, name), settings)


def shown(loaded: LoadedSettings) -> list[tuple[str, Any, str]]:
    """Every setting with its value and where it came from."""
    named = tuple(f"{table}." for table in tables().named)
    rows = []
    for key, info in tables().catalogue().items():
        if not key.startswith(named):
            value, source = loaded.values.get(key, (info.default, "default"))
            rows.append((key, value, source))
    return rows + [
        (key, _told(value), source) for key, (value, source) in loaded.values.items() if key.startswith(named)
    ]


def _told(value: Any) -> Any:
    """Of variables and headers only the names: their values may be secrets."""
    return dict.fromkeys(value, "…") if isinstance(value, dict) else value


def as_lines(loaded: LoadedSettings) -> list[str]:
    """The same as an aligned table."""
    rows = [(key, written(key, value), source) for key, value, source in shown(loaded)]
    widths = [min(max(len(row[column]) for row in rows), LONGEST_VALUE) for column in (0, 1)]
    return [f"{key:<{widths[0]}}  {value:<{widths[1]}}  {source}" for key, value, source in rows]


def written(key: str, value: Any) -> str:
    """A dial that nobody set has the value of a new session."""
    table, _, name = key.partition(".")
    if value is None and table == "dials":
        first, alone = (getattr(axes, name) for axes in (INTERACTIVE, UNATTENDED))
        return first if first == alone else f"{first}; with -p {alone}"
    return as_toml(value)


def as_toml(value: Any) -> str:
    if value is None:
        return "(default)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple | set | frozenset):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {as_toml(one)}' for key, one in value.items())}}}"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
