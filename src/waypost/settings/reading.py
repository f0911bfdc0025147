"""Reads the settings from the environment and `waypost.toml`, and reports all invalid values at once.

`commands.settings_check` checks the files and servers that they name.
"""

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from waypost.kit.errors import SettingsError
from waypost.settings.model import PREFIX, SECRETS, Settings
from waypost.settings.running import find_running

CONFIG_FILE = Path("waypost.toml")
_NAMES = {*Settings.model_fields, *(f"{name}_file" for name in SECRETS)}
_MAX_SECRET = 65_536  # bytes
_OF_KUBERNETES = re.compile(r"(\w+_)?(SERVICE_(HOST|PORT\w*)=.*|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?=.*|=\w+://.*))")
"""What Kubernetes adds to the environment for a Service whose name begins with `waypost`, without the prefix."""

_OF_CLIENTS = "API_KEY"
"""What `waypost --remote` and other clients read."""


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
    in_environment = {name: value for name, value in os.environ.items() if _is_ours(name.upper(), value)}
    in_file, problems = _read_file(CONFIG_FILE)
    values = _by_setting(in_file, str(CONFIG_FILE), problems)
    values |= _by_setting(in_environment, "the environment", problems)
    values |= {name: value for name, value in overrides.items() if value is not None}
    files = {name: value for name, value in values.items() if name in SECRETS and isinstance(value, Path)}
    values |= _read_secrets(files, problems)
    try:
        settings = Settings(**values)
    except ValidationError as error:  # its text would print secrets
        new_problems = list(_problems_of(error))
        settings = Settings(
            **{name: values[name] for name in values.keys() - {problem.setting for problem in new_problems}}
        )
        problems += new_problems
    found = [*problems, *_contradictions(settings, {problem.setting for problem in problems})]
    return settings.with_secret_files(files), found


def read_for_command(**overrides: Any) -> tuple[Settings, list[SettingProblem]]:
    """As `read`, but without WAYPOST_BASE_URL, use the URLs of the service that runs in the data directory."""
    settings, problems = read(**overrides)
    if "base_url" in {*settings.model_fields_set, *(problem.setting for problem in problems)}:
        return settings, problems
    running = find_running(settings.data_dir)
    unset = running.keys() - settings.model_fields_set
    return read(**overrides, **{name: running[name] for name in unset}) if running else (settings, problems)


def _is_ours(name: str, value: str) -> bool:
    own = name.removeprefix(PREFIX)
    return own not in {name, _OF_CLIENTS} and not _OF_KUBERNETES.fullmatch(f"{own}={value}")


def _read_file(path: Path) -> tuple[dict[str, Any], list[SettingProblem]]:
    try:
        return tomllib.loads(path.read_text()), []
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        return {}, [SettingProblem("", f"{path}: {error.strerror}")]
    except UnicodeDecodeError:
        return {}, [SettingProblem("", f"{path}: is not UTF-8 text")]
    except tomllib.TOMLDecodeError as error:
        return {}, [SettingProblem("", f"{path}: {error}")]


def _by_setting(variables: Mapping[str, Any], source: str, problems: list[SettingProblem]) -> dict[str, Any]:
    """Return values by field name, without regard to case and, in the file, to the prefix.

    The value of a secret that is in a file is the path of the file.
    """
    spellings: dict[str, list[str]] = {}
    for name in variables:
        spellings.setdefault(name.upper().removeprefix(PREFIX).lower(), []).append(name)
    values = {}
    for setting, names in spellings.items():
        full = f"{PREFIX}{setting.upper()}"
        if setting not in _NAMES:
            [near] = difflib.get_close_matches(setting, _NAMES, n=1, cutoff=0)
            problems.append(SettingProblem(setting, f"{full} is not a setting. Did you mean {PREFIX}{near.upper()}?"))
        elif len(names) > 1:
            problems.append(
                SettingProblem(setting, f"{full}: {source} sets it as {' and as '.join(sorted(names))}: keep one")
            )
        elif not _is_text(variables[names[0]]):
            problems.append(SettingProblem(setting, f"{full}: is not UTF-8 text"))
        else:
            values[setting] = variables[names[0]]
    for setting in SECRETS:
        _use_file(values, setting, source, problems)
    return values


def _use_file(values: dict[str, Any], setting: str, source: str, problems: list[SettingProblem]) -> None:
    """Replace the setting with `_FILE` by the secret's own one. An empty value unsets both."""
    name = f"{PREFIX}{setting.upper()}"
    file = values.pop(f"{setting}_file", None)
    if file is None:
        return
    if not isinstance(file, str):
        problems.append(SettingProblem(setting, f"{name}_FILE: must be the path of a file, in quotes"))
    elif file and values.get(setting):
        problems.append(SettingProblem(setting, f"{name}: {source} also sets {name}_FILE: keep one"))
    elif file:
        values[setting] = Path(file)
    else:
        values.setdefault(setting, "")


def _read_secrets(files: dict[str, Path], problems: list[SettingProblem]) -> dict[str, str]:
    """Return the content of each file; empty, with a problem, if it cannot be a secret."""
    secrets = {}
    for setting, path in files.items():
        try:
            secrets[setting] = _read_secret(path)
        except (OSError, ValueError) as error:
            reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else error
            problems.append(SettingProblem(setting, f"{PREFIX}{setting.upper()}_FILE: {path} {reason}"))
            secrets[setting] = ""
    return secrets


def _read_secret(path: Path) -> str:
    """Raise OSError, or ValueError without any content."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # opening a pipe would wait for its writer
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("is not a regular file, which several processes can read")
        content = file.read(_MAX_SECRET + 1)
    if len(content) > _MAX_SECRET:
        raise ValueError(f"is larger than {_MAX_SECRET // 1024} KiB, which no secret is")
    try:
        text = content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    if not text:
        raise ValueError("is empty")
    if not _is_text(text):
        raise ValueError("is not text: it contains a NUL byte")
    return text


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


_TOGETHER = {
    ("owner_email", "owner_password"): (
        "set WAYPOST_OWNER_EMAIL and WAYPOST_OWNER_PASSWORD or _PASSWORD_FILE, or none of them"
    ),
    ("stripe_secret_key", "stripe_webhook_secret", "stripe_prices"): (
        "set WAYPOST_STRIPE_SECRET_KEY, _WEBHOOK_SECRET and _PRICES, or none of them"
    ),
    ("oidc_issuer", "oidc_client_id", "oidc_client_secret"): (
        "set WAYPOST_OIDC_ISSUER, _CLIENT_ID and _CLIENT_SECRET, or none of them"
    ),
    ("oidc_roles", "oidc_account"): (
        "set WAYPOST_OIDC_ROLES and _ACCOUNT, or none of them: new users join the account with the role of their groups"
    ),
}
_NEED_ISSUER = {
    "oidc_account": "needs WAYPOST_OIDC_ISSUER, _CLIENT_ID and _CLIENT_SECRET",
    "password_sign_in": "false needs WAYPOST_OIDC_ISSUER: otherwise only links of the command line sign in",
}


def _contradictions(settings: Settings, invalid: set[str]) -> Iterator[SettingProblem]:
    """Yield problems of settings that are valid alone but not together. None is reported twice."""
    for names, advice in _TOGETHER.items():
        missing = [name for name in names if not getattr(settings, name) and name not in invalid]
        if len(missing) < len(names):
            for name in missing:
                yield SettingProblem(name, f"{PREFIX}{name.upper()}: is missing: {advice}")
    if not settings.oidc_issuer and "oidc_issuer" not in invalid:
        set_without = {"oidc_account": settings.oidc_account, "password_sign_in": not settings.password_sign_in}
        for name, is_set in set_without.items():
            if is_set and name not in invalid:
                yield SettingProblem(name, f"{PREFIX}{name.upper()}: {_NEED_ISSUER[name]}")
