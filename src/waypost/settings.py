"""Every setting, read once from the environment and `waypost.toml`, then handed down as arguments.

Only `app.py` and `cli.py` read it. An unknown name is an error that names the nearest known one.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AnyUrl, BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from waypost.kit.errors import SettingsError
from waypost.kit.smtp import sender_of, server_of
from waypost.kit.urls import BadUrl, canonical, origin

__all__ = ["CONFIG_FILE", "PREFIX", "Network", "Settings", "SettingsError", "load"]

Network = IPv4Network | IPv6Network
PREFIX = "WAYPOST_"
CONFIG_FILE = Path("waypost.toml")


def _commas(value: object) -> object:
    """`a, b` of the environment; a list of the TOML file passes through."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _networks(value: object) -> object:
    parts = _commas(value)
    return [ip_network(part, strict=False) for part in parts] if isinstance(parts, list) else parts


Networks = Annotated[list[Network], NoDecode, BeforeValidator(_networks)]
Strings = Annotated[list[str], NoDecode, BeforeValidator(_commas)]


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    base_url: str = "http://localhost:8000"
    shared_domain: str = ""
    data_dir: Path = Path("./data")
    database_url: str = Field("", repr=False)  # may hold a password
    secret_key: SecretStr | None = None
    trusted_proxies: Networks = []
    outbound_allow: Networks = []
    outbound_ca_file: Path | None = None
    dns_servers: Strings = []
    cname_target: str = ""
    tls: bool = False
    tls_port: int = Field(443, ge=1, le=65_535)
    acme_directory: AnyUrl = AnyUrl("https://acme-v02.api.letsencrypt.org/directory")
    acme_email: str = ""
    webhook_backoff: Annotated[list[Annotated[float, Field(ge=0, le=86_400)]], NoDecode, BeforeValidator(_commas)] = [
        10,
        30,
        60,
        300,
    ]
    webhook_timeout: float = Field(10, gt=0, le=60)
    smtp_url: SecretStr | None = None
    mail_from: str = ""
    signup: Literal["open", "invite", "closed"] = "open"
    trial_days: int = Field(14, ge=0)
    default_plan: Literal["trial", "lifetime", "none"] = "trial"
    safe_browsing_key: SecretStr | None = None
    safe_browsing_url: AnyUrl = AnyUrl("https://safebrowsing.googleapis.com")
    meta_url: AnyUrl = AnyUrl("https://graph.facebook.com")
    tiktok_url: AnyUrl = AnyUrl("https://business-api.tiktok.com")
    pinterest_url: AnyUrl = AnyUrl("https://api.pinterest.com")
    stripe_secret_key: SecretStr | None = None
    stripe_webhook_secret: SecretStr | None = None
    stripe_prices: Strings = []
    stripe_url: AnyUrl = AnyUrl("https://api.stripe.com")
    blocklist: Path | None = None
    geoip_database: Path | None = None
    ip_privacy: Literal["full", "truncated", "none"] = "full"
    click_retention_days: int | None = Field(None, ge=1)
    routes_in_memory: int = Field(250_000, ge=1_000)
    spool_limit_mb: int = Field(4_096, ge=64)

    @field_validator("base_url")
    @classmethod
    def _is_origin(cls, value: str) -> str:
        try:
            return origin(value)
        except BadUrl as fault:
            raise ValueError(f"{fault} Write an origin such as https://app.example.com.") from None

    @field_validator("shared_domain")
    @classmethod
    def _is_host(cls, value: str) -> str:
        """Short links are visited over http and https alike: both default ports are left out."""
        try:
            return origin(f"http://{value}").removeprefix("http://").removesuffix(":443") if value else ""
        except BadUrl as fault:
            raise ValueError(f"{fault} Write a host with an optional port, such as go.example.com.") from None

    @field_validator("cname_target")
    @classmethod
    def _is_name(cls, value: str) -> str:
        try:
            host = canonical(f"http://{value}").host if value else ""
        except BadUrl as fault:
            raise ValueError(f"{fault} Write a host name such as go.example.com.") from None
        if host != value.lower():
            raise ValueError("must be a host name alone, such as go.example.com")
        return host

    @field_validator("meta_url", "tiktok_url", "pinterest_url", "stripe_url")
    @classmethod
    def _can_be_asked(cls, value: AnyUrl) -> AnyUrl:
        canonical(str(value))  # tells at the start what would otherwise fail at each event
        return value

    @field_validator("acme_directory")
    @classmethod
    def _is_asked_over_tls(cls, value: AnyUrl) -> AnyUrl:
        canonical(str(value), schemes=("https",))
        return value

    @field_validator("acme_email")
    @classmethod
    def _is_address(cls, value: str) -> str:
        if value and not re.fullmatch(r"[!-;=?A-~]+@[!-;=?A-~]+", value):
            raise ValueError("must be an e-mail address, such as ops@example.com")
        return value

    @field_validator("smtp_url")
    @classmethod
    def _is_mail_server(cls, value: SecretStr | None) -> SecretStr | None:
        server_of(value.get_secret_value() if value else "")
        return value

    @field_validator("mail_from")
    @classmethod
    def _is_sender(cls, value: str) -> str:
        if value:
            sender_of(value)
        return value

    @field_validator("database_url")
    @classmethod
    def _is_database(cls, value: str) -> str:
        if value and value.partition("://")[0] not in {"sqlite", "postgresql", "postgres"}:
            raise ValueError("must start with postgresql:// or sqlite://")
        return value

    @field_validator("secret_key")
    @classmethod
    def _has_no_empty_key(cls, value: SecretStr | None) -> SecretStr | None:
        text = value.get_secret_value() if value else ""
        if text and not all(part.strip() for part in text.split(",")):
            raise ValueError("has an empty key: remove the comma that is too much")
        return value

    @field_validator("webhook_backoff")
    @classmethod
    def _is_a_wait_for_each(cls, value: list[float]) -> list[float]:
        if len(value) != 4:
            raise ValueError("must be four numbers of seconds: the waits after attempts 1 to 4")
        return value

    @field_validator("stripe_prices")
    @classmethod
    def _are_prices(cls, value: list[str]) -> list[str]:
        if not all(re.fullmatch(r"[^=]*[^=\s][^=]*=\s*price_\w+", each) for each in value):
            raise ValueError("must name prices as in Monthly=price_123, Lifetime=price_456")
        return value

    @model_validator(mode="after")
    def _derive(self) -> Self:
        if not self.shared_domain:
            object.__setattr__(self, "shared_domain", urlsplit(self.base_url).netloc)
        return self

    @property
    def base_host(self) -> str:
        """`host[:port]` of the API and the dashboard."""
        return urlsplit(self.base_url).netloc

    @property
    def sender(self) -> str:
        """Who mail comes from."""
        return self.mail_from or f"Waypost <noreply@{urlsplit(self.base_url).hostname}>"

    @property
    def cname_host(self) -> str:
        """Where custom domains point."""
        return self.cname_target or urlsplit(f"//{self.shared_domain}").hostname or ""

    @property
    def certified_hosts(self) -> tuple[str, ...]:
        """The service's own names that are to have certificates: none where people visit it over plain HTTP."""
        if not (self.tls and self.base_url.startswith("https://")):
            return ()
        hosts = (urlsplit(f"//{netloc}").hostname or "" for netloc in (self.base_host, self.shared_domain))
        return tuple(dict.fromkeys(host for host in hosts if _is_public_name(host)))

    @property
    def database(self) -> str:
        """The database's URL; SQLite in the data directory unless another is set."""
        return self.database_url or f"sqlite:///{self.data_dir / 'waypost.db'}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings


def load(**overrides: Any) -> Settings:
    """Command line over environment over file. Raises SettingsError with every fault named."""
    in_environment = {_plain(name) for name in os.environ if name.upper().startswith(PREFIX)}
    _refuse_unknown(in_environment)
    from_file = _read_file(CONFIG_FILE)
    _refuse_unknown(from_file)
    given = {name: value for name, value in from_file.items() if name not in in_environment}
    given |= {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SettingsError(_told(error)) from None  # the error's own text would print secret values


def _is_public_name(host: str) -> bool:
    """No authority certifies `localhost`, or an address the way we ask for it."""
    try:
        return not canonical(f"https://{host}").is_ip
    except BadUrl:
        return False


def _told(error: ValidationError) -> str:
    """A line for each fault, with the setting's name and never its value."""
    lines = [(str(fault["loc"][0]).upper(), fault["msg"].removeprefix("Value error, ")) for fault in error.errors()]
    return "\n".join(f"{PREFIX}{name}: {message}" for name, message in lines)


def _read_file(path: Path) -> dict[str, Any]:
    """The file's keys are the settings' names, with or without prefix, in any case."""
    try:
        content = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from None
    return {_plain(key): value for key, value in content.items()}


def _plain(name: str) -> str:
    """The field's name: case counts neither in the environment nor in the file."""
    return name.upper().removeprefix(PREFIX).lower()


def _refuse_unknown(names: Iterable[str]) -> None:
    known = Settings.model_fields
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0)
            raise SettingsError(f"{PREFIX}{name.upper()} is not a setting. Did you mean {PREFIX}{near[0].upper()}?")
