"""Validates all settings before a command starts, including the files and networks that they name.

Each part of the service checks its own setting, and is imported only if that is set.
"""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pydantic import SecretStr

from waypost import secret_key
from waypost.settings import SettingProblem, Settings, SettingsError, read_for_command, refuse


def load_settings(**overrides: Any) -> Settings:
    """Raise SettingsError with every problem."""
    settings, problems = read_settings(**overrides)
    refuse(problems)
    return settings


def read_settings(**overrides: Any) -> tuple[Settings, list[SettingProblem]]:
    """Return the settings, with the default for each invalid value, and every problem."""
    settings, problems = read_for_command(**overrides)
    invalid = {problem.setting for problem in problems}
    for name, check in _checks(settings):
        if name in invalid:
            continue
        try:
            check()
        except SettingsError as error:
            problems.append(SettingProblem(name, str(error)))
    return settings, problems


def _checks(settings: Settings) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "data_dir", partial(secret_key.check_data_dir, settings.data_dir)
    if settings.secret_key or os.access(settings.data_dir / secret_key.FILE, os.R_OK):  # the line above says why not
        yield "secret_key", partial(secret_key.check, settings)
    if settings.owner_password:
        yield "owner_password", partial(_check_owner_password, settings.owner_email, settings.owner_password)
    if settings.database_url.startswith("postgres"):
        from waypost.database.url import check_postgresql_url

        yield "database_url", partial(check_postgresql_url, settings.database_url)
    if settings.clickhouse_url:
        from waypost.resources.clicks.backends import check_clickhouse_settings

        yield "clickhouse_url", partial(check_clickhouse_settings, settings)
    if settings.dns_servers:
        from waypost.outbound.dns_records import parse_servers

        yield "dns_servers", partial(parse_servers, settings.dns_servers)
    if settings.outbound_ca_file:
        from waypost.outbound.client import tls_context

        yield "outbound_ca_file", partial(tls_context, settings.outbound_ca_file)
    if settings.blocklist:
        from waypost.outbound.blocklist import read_blocklist

        yield "blocklist", partial(read_blocklist, settings.blocklist)
    if settings.geoip_database:
        from waypost.visitors import countries

        yield "geoip_database", partial(countries.data_date, settings.geoip_database)


def _check_owner_password(email: str, password: SecretStr) -> None:
    from waypost.accounts.sign_in import passwords

    if problem := passwords.find_problem(password.get_secret_value(), email):
        raise SettingsError(f"WAYPOST_OWNER_PASSWORD: {problem}")
