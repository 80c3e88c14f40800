"""Where settings come from: a properties file, below the environment, below `--set`."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkless.core.errors import SettingError
from inkless.settings.checks import check
from inkless.settings.foreign import IGNORED, REFUSED, reason
from inkless.settings.model import DECLARED, Settings
from inkless.settings.properties import parse_properties
from inkless.settings.setting import Setting, environment_name

# Read by the tests, not by a broker.
NOT_SETTINGS = frozenset({"INKLESS_ROUNDS", "INKLESS_RECORDS"})


@dataclass(frozen=True, slots=True)
class Given:
    key: str
    text: str
    origin: str

    @property
    def place(self) -> str:
        return f"{self.key} ({self.origin})"


ATTRIBUTES = {setting.name: attribute for attribute, setting in DECLARED.items()}
SETTINGS = {key: setting for setting in DECLARED.values() for key in (*setting.aliases, setting.name)}
KEYS_OF_ENVIRONMENT = {environment_name(key): key for key in SETTINGS}


def load(config_file: Path | None, environment: Mapping[str, str], overrides: Sequence[str]) -> Settings:
    """Raises SettingError for what can't be meant; what may be harmless ends up in `Settings.warnings`."""
    warnings: list[str] = []
    given: dict[str, Given] = {}
    for layer in (_from_file(config_file), _from_environment(environment), _from_overrides(overrides)):
        given |= _by_name(layer, warnings)
    values: dict[str, Any] = {}
    for name, one in list(given.items()):
        setting = SETTINGS[name]
        if not one.text and setting.default is None:
            del given[name]
        else:
            values[ATTRIBUTES[name]] = _parse(setting, one)
    settings = Settings(**values, explicit=frozenset(given), warnings=tuple(warnings))
    return check(settings, {name: one.place for name, one in given.items()})


def _from_file(path: Path | None) -> Iterator[Given]:
    if path is None:
        return
    try:
        properties = parse_properties(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingError(f"can't read the configuration file {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingError(f"{path} is not UTF-8 text (byte {error.start})") from None
    except ValueError as error:
        raise SettingError(f"{path}:{error}") from None
    for found in properties:
        yield Given(found.key, found.value, f"{path}:{found.line}")


def _from_environment(environment: Mapping[str, str]) -> Iterator[Given]:
    for variable in sorted(environment):
        if not variable.startswith("INKLESS_") or variable in NOT_SETTINGS:
            continue
        text = environment[variable].strip()
        if (key := KEYS_OF_ENVIRONMENT.get(variable) or _foreign_key(variable)) is not None:
            yield Given(key, text, f"environment variable {variable}")
        else:
            yield Given(variable, text, "environment")


def _foreign_key(variable: str) -> str | None:
    key = variable.removeprefix("INKLESS_").lower().replace("_", ".")
    return next((one for one in (key, f"inkless.{key}") if reason(one, REFUSED) or reason(one, IGNORED)), None)


def _from_overrides(overrides: Sequence[str]) -> Iterator[Given]:
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            raise SettingError(f"--set needs KEY=VALUE, such as node.id=2; got {override!r}")
        yield Given(key.strip(), text.strip(), "--set")


def _by_name(layer: Iterable[Given], warnings: list[str]) -> dict[str, Given]:
    """The last of each setting in one source, by its own name."""
    known: dict[str, Given] = {}
    for one in layer:
        setting = SETTINGS.get(one.key)
        if setting is None:
            _judge_foreign(one, warnings)
            continue
        if (earlier := known.get(setting.name)) is not None and earlier.text != one.text:
            warnings.append(f"{setting.name} is set twice: {one.place} replaces {earlier.place}")
        known[setting.name] = one
    return known


def _judge_foreign(one: Given, warnings: list[str]) -> None:
    if (why := reason(one.key, REFUSED)) is not None:
        raise SettingError(f"{one.place}: {why}")
    if (why := reason(one.key, IGNORED)) is not None:
        warnings.append(f"{one.place} is ignored: {why}")
        return
    message = f"unknown setting {one.place}{_nearest(one.key)}"
    if one.origin == "--set":
        raise SettingError(message)
    warnings.append(message)


def _nearest(key: str) -> str:
    if key.startswith("INKLESS_"):
        matches = difflib.get_close_matches(key, KEYS_OF_ENVIRONMENT, n=1)
    else:
        matches = difflib.get_close_matches(key.lower(), SETTINGS, n=1)
    return f"; did you mean {matches[0]}?" if matches else ""


def _parse(setting: Setting, one: Given) -> Any:
    try:
        return setting.kind.parse(one.text)
    except ValueError as error:
        # Without the cause: a traceback must not show what `redact` hides.
        shown = setting.redact(one.text)
        raise SettingError(f"{one.key}={shown} ({one.origin}): expected {error}") from None
