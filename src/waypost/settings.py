"""Every setting, read once from the environment and `waypost.toml`, then handed down as arguments.

`read` reports every fault that the values themselves show, at once. What only the files and servers they name can show
is checked by `commands.checking`, which every command goes through; the processes of `serve` use `load`.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import (
    AnyUrl,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from waypost.kit.errors import SettingsError
from waypost.kit.smtp import sender_of, server_of
from waypost.kit.urls import BadUrl, canonical, origin

__all__ = ["CONFIG_FILE", "PREFIX", "Fault", "Network", "Settings", "SettingsError", "load", "read", "refuse"]

Network = IPv4Network | IPv6Network
PREFIX = "WAYPOST_"
CONFIG_FILE = Path("waypost.toml")


class Fault(NamedTuple):
    setting: str
    """Its field in Settings, or a name that is none; empty when no setting can be relied on."""
    text: str
    """A line for the operator, without the value of a secret."""


def _commas(value: object) -> object:
    """`a, b` of the environment; a list of the TOML file passes through."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _networks(value: object) -> object:
    parts = _commas(value)
    if not isinstance(parts, list):
        return parts
    return [ip_network(part, strict=False) if isinstance(part, str) else _no_network(part) for part in parts]


def _no_network(value: object) -> object:
    """Of the TOML file: `ip_network` would take a number for an address. A parsed network passes through."""
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    raise ValueError("must be networks in quotes, such as 10.0.0.0/8")


def _none_if_empty(value: object) -> object:
    """`WAYPOST_BLOCKLIST=` unsets it: the empty path would be the working directory."""
    return None if value == "" else value


Networks = Annotated[list[Network], BeforeValidator(_networks)]
Strings = Annotated[list[str], BeforeValidator(_commas)]
File = Annotated[Path | None, BeforeValidator(_none_if_empty)]
Secret = Annotated[SecretStr | None, BeforeValidator(_none_if_empty)]


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str = "http://localhost:8000"
    shared_domain: str = ""
    data_dir: Path = Path("./data")
    database_url: str = Field("", repr=False)  # may hold a password
    secret_key: Secret = None
    trusted_proxies: Networks = []
    outbound_allow: Networks = []
    outbound_ca_file: File = None
    dns_servers: Strings = []
    cname_target: str = ""
    tls: bool = False
    tls_port: int = Field(443, ge=1, le=65_535)
    acme_directory: AnyUrl = AnyUrl("https://acme-v02.api.letsencrypt.org/directory")
    acme_email: str = ""
    webhook_backoff: Annotated[list[Annotated[float, Field(ge=0, le=86_400)]], BeforeValidator(_commas)] = [
        10,
        30,
        60,
        300,
    ]
    webhook_timeout: float = Field(10, gt=0, le=60)
    smtp_url: Secret = None
    mail_from: str = ""
    signup: Literal["open", "invite", "closed"] = "open"
    trial_days: int = Field(14, ge=0, le=36_500)
    default_plan: Literal["trial", "lifetime", "none"] = "trial"
    safe_browsing_key: Secret = None
    safe_browsing_url: AnyUrl = AnyUrl("https://safebrowsing.googleapis.com")
    meta_url: AnyUrl = AnyUrl("https://graph.facebook.com")
    tiktok_url: AnyUrl = AnyUrl("https://business-api.tiktok.com")
    pinterest_url: AnyUrl = AnyUrl("https://api.pinterest.com")
    stripe_secret_key: Secret = None
    stripe_webhook_secret: Secret = None
    stripe_prices: Strings = []
    stripe_url: AnyUrl = AnyUrl("https://api.stripe.com")
    blocklist: File = None
    geoip_database: File = None
    ip_privacy: Literal["full", "truncated", "none"] = "full"
    click_retention_days: int | None = Field(None, ge=1, le=100_000)
    routes_in_memory: int = Field(250_000, ge=1_000)
    spool_limit_mb: int = Field(4_096, ge=64)

    @field_validator("data_dir", mode="before")
    @classmethod
    def _is_named(cls, value: object) -> object:
        if value == "":
            raise ValueError("is empty: name a directory, or remove the setting")
        return value

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

    @field_validator("safe_browsing_url", "meta_url", "tiktok_url", "pinterest_url", "stripe_url")
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
        _reworded(server_of, value.get_secret_value() if value else "")
        return value

    @field_validator("mail_from")
    @classmethod
    def _is_sender(cls, value: str) -> str:
        if value:
            _reworded(sender_of, value)
        return value

    @field_validator("database_url")
    @classmethod
    def _is_database(cls, value: str) -> str:
        scheme, _, rest = value.partition("://")
        if value and scheme not in {"sqlite", "postgresql", "postgres"}:
            raise ValueError("must start with postgresql:// or sqlite:///")
        if scheme == "sqlite" and rest.removeprefix("/") in {rest, "", ":memory:"}:
            raise ValueError("must name a file, such as sqlite:///waypost.db or sqlite:////srv/waypost.db")
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
    def own_hosts(self) -> tuple[str, str]:
        """`host[:port]` that the service itself is visited under, in contrast to custom domains."""
        return self.base_host, self.shared_domain

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


def load(**overrides: Any) -> Settings:
    """Raises SettingsError with every fault that `read` finds."""
    settings, faults = read(**overrides)
    refuse(faults)
    return settings


def refuse(faults: Iterable[Fault]) -> None:
    if lines := [fault.text for fault in faults]:
        raise SettingsError("\n".join(lines))


def read(**overrides: Any) -> tuple[Settings, list[Fault]]:
    """Command line over environment over file; where a value is faulty, the default takes its place."""
    in_environment = {name: value for name, value in os.environ.items() if name.upper().startswith(PREFIX)}
    in_file, faults = _read_file(CONFIG_FILE)
    values = _by_setting(in_file, str(CONFIG_FILE), faults)
    values |= _by_setting(in_environment, "the environment", faults)
    values |= {name: value for name, value in overrides.items() if value is not None}
    try:
        settings = Settings(**values)
    except ValidationError as error:  # its own text would print secret values
        found = list(_faults_of(error))
        settings = Settings(**{name: values[name] for name in values.keys() - {fault.setting for fault in found}})
        faults += found
    return settings, [*faults, *_contradictions(settings, {fault.setting for fault in faults})]


def _is_public_name(host: str) -> bool:
    """No authority certifies `localhost`, or an address the way we ask for it."""
    try:
        return not canonical(f"https://{host}").is_ip
    except BadUrl:
        return False


def _reworded(check: Callable[[str], object], value: str) -> None:
    """A SettingsError as the ValueError that pydantic collects; the setting's name is put before it again."""
    try:
        check(value)
    except SettingsError as error:
        raise ValueError(str(error).partition(": ")[2]) from None


def _read_file(path: Path) -> tuple[dict[str, Any], list[Fault]]:
    try:
        return tomllib.loads(path.read_text()), []
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, [Fault("", f"{path}: {error}")]


def _by_setting(given: Mapping[str, Any], source: str, faults: list[Fault]) -> dict[str, Any]:
    """By field name: neither case nor, in the file, the prefix matters. Leaves out what is faulty."""
    spellings: dict[str, list[str]] = {}
    for name in given:
        spellings.setdefault(name.upper().removeprefix(PREFIX).lower(), []).append(name)
    values = {}
    for setting, names in spellings.items():
        full = f"{PREFIX}{setting.upper()}"
        if setting not in Settings.model_fields:
            [near] = difflib.get_close_matches(setting, Settings.model_fields, n=1, cutoff=0)
            faults.append(Fault(setting, f"{full} is not a setting. Did you mean {PREFIX}{near.upper()}?"))
        elif len(names) > 1:
            faults.append(Fault(setting, f"{full}: {source} sets it as {' and as '.join(sorted(names))}: keep one"))
        elif not _is_text(given[names[0]]):
            faults.append(Fault(setting, f"{full}: is not UTF-8 text"))
        else:
            values[setting] = given[names[0]]
    return values


def _is_text(value: object) -> bool:
    """Bytes of the environment that are not UTF-8 arrive as lone surrogates, which nothing can encode later on."""
    if not isinstance(value, str):
        return True
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def _faults_of(error: ValidationError) -> Iterator[Fault]:
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        setting = str(each["loc"][0])
        yield Fault(setting, f"{PREFIX}{setting.upper()}: {each['msg'].removeprefix('Value error, ')}")


def _contradictions(settings: Settings, faulty: set[str]) -> Iterator[Fault]:
    """Settings that are right by themselves and not together. A faulty one is not blamed twice."""
    stripe = ("stripe_secret_key", "stripe_webhook_secret", "stripe_prices")
    missing = [name for name in stripe if not getattr(settings, name) and name not in faulty]
    if len(missing) < len(stripe):
        for name in missing:
            text = "is missing: set WAYPOST_STRIPE_SECRET_KEY, _WEBHOOK_SECRET and _PRICES, or none of them"
            yield Fault(name, f"{PREFIX}{name.upper()}: {text}")
