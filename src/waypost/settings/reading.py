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


class SettingProblem(NamedTuple):
    setting: str
    """The field in Settings, or an unknown name; empty if no setting could be read."""
    text: str
    """A line for the operator, without secrets."""


def load(**overrides: Any) -> Settings:
    """Raise SettingsError with every problem that `read` finds."""
    settings, problems = read(**overrides)
    refuse(problems)
    return settings


def refuse(problems: Iterable[SettingProblem]) -> None:
    if lines := [problem.text for problem in problems]:
        raise SettingsError("\n".join(lines))


def read(**overrides: Any) -> tuple[Settings, list[SettingProblem]]:
    """Read overrides, the environment and the file, in this order. The default replaces an invalid value."""
    in_environment = {name: value for name, value in os.environ.items() if name.upper().startswith(PREFIX)}
    in_file, problems = _read_file(CONFIG_FILE)
    values = _by_setting(in_file, str(CONFIG_FILE), problems)
    values |= _by_setting(in_environment, "the environment", problems)
    values |= {name: value for name, value in overrides.items() if value is not None}
    try:
        settings = Settings(**values)
    except ValidationError as error:  # its text would print secrets
        new_problems = list(_problems_of(error))
        settings = Settings(
            **{name: values[name] for name in values.keys() - {problem.setting for problem in new_problems}}
        )
        problems += new_problems
    return settings, [*problems, *_contradictions(settings, {problem.setting for problem in problems})]


def _read_file(path: Path) -> tuple[dict[str, Any], list[SettingProblem]]:
    try:
        return tomllib.loads(path.read_text()), []
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, [SettingProblem("", f"{path}: {error}")]


def _by_setting(variables: Mapping[str, Any], source: str, problems: list[SettingProblem]) -> dict[str, Any]:
    """Return values by field name, without regard to case and, in the file, to the prefix."""
    spellings: dict[str, list[str]] = {}
    for name in variables:
        spellings.setdefault(name.upper().removeprefix(PREFIX).lower(), []).append(name)
    values = {}
    for setting, names in spellings.items():
        full = f"{PREFIX}{setting.upper()}"
        if setting not in Settings.model_fields:
            [near] = difflib.get_close_matches(setting, Settings.model_fields, n=1, cutoff=0)
            problems.append(SettingProblem(setting, f"{full} is not a setting. Did you mean {PREFIX}{near.upper()}?"))
        elif len(names) > 1:
            problems.append(
                SettingProblem(setting, f"{full}: {source} sets it as {' and as '.join(sorted(names))}: keep one")
            )
        elif not _is_text(variables[names[0]]):
            problems.append(SettingProblem(setting, f"{full}: is not UTF-8 text"))
        else:
            values[setting] = variables[names[0]]
    return values


def _is_text(value: object) -> bool:
    """Return False for lone surrogates: these are bytes of the environment that are not UTF-8."""
    if not isinstance(value, str):
        return True
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def _problems_of(error: ValidationError) -> Iterator[SettingProblem]:
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        setting = str(detail["loc"][0])
        text = detail["msg"].removeprefix("Value error, ").replace("Input should", "must", 1).partition(", unable")[0]
        yield SettingProblem(setting, f"{PREFIX}{setting.upper()}: {text}")


def _contradictions(settings: Settings, invalid: set[str]) -> Iterator[SettingProblem]:
    """Yield problems of settings that are valid alone but not together. None is reported twice."""
    stripe = ("stripe_secret_key", "stripe_webhook_secret", "stripe_prices")
    missing = [name for name in stripe if not getattr(settings, name) and name not in invalid]
    if len(missing) < len(stripe):
        for name in missing:
            text = "is missing: set WAYPOST_STRIPE_SECRET_KEY, _WEBHOOK_SECRET and _PRICES, or none of them"
            yield SettingProblem(name, f"{PREFIX}{name.upper()}: {text}")
