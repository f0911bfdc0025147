"""Reads the settings from the environment and `waypost.toml`, and reports all invalid values at once.

`commands.settings_check` checks the files and servers that they name.
"""

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import (
    ValidationError,
)

from waypost.kit.errors import SettingsError
from waypost.settings.model import PREFIX, Settings

CONFIG_FILE = Path("waypost.toml")


class SettingFault(NamedTuple):
    setting: str
    """The field in Settings, or an unknown name; empty if no setting could be read."""
    text: str
    """A line for the operator, without secrets."""


def load(**overrides: Any) -> Settings:
    """Raise SettingsError with every fault that `read` finds."""
    settings, faults = read(**overrides)
    refuse(faults)
    return settings


def refuse(faults: Iterable[SettingFault]) -> None:
    if lines := [fault.text for fault in faults]:
        raise SettingsError("\n".join(lines))


def read(**overrides: Any) -> tuple[Settings, list[SettingFault]]:
    """Overrides take precedence over the environment, and that over the file. The default replaces a faulty value."""
    in_environment = {name: value for name, value in os.environ.items() if name.upper().startswith(PREFIX)}
    in_file, faults = _read_file(CONFIG_FILE)
    values = _by_setting(in_file, str(CONFIG_FILE), faults)
    values |= _by_setting(in_environment, "the environment", faults)
    values |= {name: value for name, value in overrides.items() if value is not None}
    try:
        settings = Settings(**values)
    except ValidationError as error:  # its text would print secrets
        found = list(_faults_of(error))
        settings = Settings(**{name: values[name] for name in values.keys() - {fault.setting for fault in found}})
        faults += found
    return settings, [*faults, *_contradictions(settings, {fault.setting for fault in faults})]


def _read_file(path: Path) -> tuple[dict[str, Any], list[SettingFault]]:
    try:
        return tomllib.loads(path.read_text()), []
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, [SettingFault("", f"{path}: {error}")]


def _by_setting(given: Mapping[str, Any], source: str, faults: list[SettingFault]) -> dict[str, Any]:
    """By field name, regardless of case and, in the file, of the prefix; without faulty values."""
    spellings: dict[str, list[str]] = {}
    for name in given:
        spellings.setdefault(name.upper().removeprefix(PREFIX).lower(), []).append(name)
    values = {}
    for setting, names in spellings.items():
        full = f"{PREFIX}{setting.upper()}"
        if setting not in Settings.model_fields:
            [near] = difflib.get_close_matches(setting, Settings.model_fields, n=1, cutoff=0)
            faults.append(SettingFault(setting, f"{full} is not a setting. Did you mean {PREFIX}{near.upper()}?"))
        elif len(names) > 1:
            faults.append(
                SettingFault(setting, f"{full}: {source} sets it as {' and as '.join(sorted(names))}: keep one")
            )
        elif not _is_text(given[names[0]]):
            faults.append(SettingFault(setting, f"{full}: is not UTF-8 text"))
        else:
            values[setting] = given[names[0]]
    return values


def _is_text(value: object) -> bool:
    """Bytes of the environment that are not UTF-8 arrive as lone surrogates, which cannot be encoded later."""
    if not isinstance(value, str):
        return True
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def _faults_of(error: ValidationError) -> Iterator[SettingFault]:
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        setting = str(each["loc"][0])
        text = each["msg"].removeprefix("Value error, ").replace("Input should", "must", 1)
        yield SettingFault(setting, f"{PREFIX}{setting.upper()}: {text}")


def _contradictions(settings: Settings, faulty: set[str]) -> Iterator[SettingFault]:
    """Settings that are valid alone but not together. A faulty one is not reported twice."""
    stripe = ("stripe_secret_key", "stripe_webhook_secret", "stripe_prices")
    missing = [name for name in stripe if not getattr(settings, name) and name not in faulty]
    if len(missing) < len(stripe):
        for name in missing:
            text = "is missing: set WAYPOST_STRIPE_SECRET_KEY, _WEBHOOK_SECRET and _PRICES, or none of them"
            yield SettingFault(name, f"{PREFIX}{name.upper()}: {text}")
