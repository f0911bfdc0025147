"""The settings: names, types, defaults, and the validation of each value."""

import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AnyHttpUrl,
    AnyUrl,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    field_validator,
    model_validator,
)

from waypost.kit.errors import SettingsError
from waypost.kit.proxies import Network
from waypost.kit.smtp import parse_sender, parse_smtp_url
from waypost.kit.urls import BadUrl, canonical, origin

PREFIX = "WAYPOST_"
_THIS_MACHINE: list[Network] = [ip_network("127.0.0.1/32"), ip_network("::1/128")]
"""Without an own certificate, an https base URL needs a proxy; on another machine, its address must be set."""


ROLE_NAMES = "viewer", "editor", "admin", "owner"


def _commas(value: object) -> object:
    """Split `a, b` of the environment. A list of the TOML file is returned unchanged."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _networks(value: object) -> object:
    parts = _commas(value)
    if not isinstance(parts, list):
        return parts
    return [ip_network(part, strict=False) if isinstance(part, str) else _require_network(part) for part in parts]


def _require_network(value: object) -> object:
    """Return a parsed network. Raise ValueError for a number, which `ip_network` would take for an address."""
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    raise ValueError("must be networks in quotes, such as 10.0.0.0/8")


def _none_if_empty(value: object) -> object:
    """Treat `WAYPOST_BLOCKLIST=` as unset: an empty path would be the working directory."""
    return None if value == "" else value


Networks = Annotated[list[Network], BeforeValidator(_networks)]
Strings = Annotated[list[str], BeforeValidator(_commas)]
File = Annotated[Path | None, BeforeValidator(_none_if_empty)]
Secret = Annotated[SecretStr | None, BeforeValidator(_none_if_empty), Field(repr=False)]
UrlWithPassword = Annotated[str, Field(repr=False)]


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str = "http://localhost:8000"
    shared_domain: str = ""
    data_dir: Path = Path("./data")
    database_url: UrlWithPassword = ""
    clickhouse_url: UrlWithPassword = ""
    clickhouse_cluster: str = ""
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
    contact_email: str = ""
    signup: Literal["open", "invite", "closed"] = "open"
    trial_days: int = Field(14, ge=0, le=36_500)
    default_plan: Literal["trial", "lifetime", "none"] = "trial"
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: Secret = None
    oidc_groups_claim: str = Field("groups", min_length=1)
    oidc_roles: Strings = []
    oidc_account: str = ""
    password_sign_in: bool = True
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
    audit_days: int = Field(365, ge=0, le=100_000)
    click_retention_days: int | None = Field(None, ge=1, le=100_000)
    routes_in_memory: int = Field(250_000, ge=1_000)
    spool_limit_mb: int = Field(4_096, ge=64)
    docs_url: Annotated[AnyHttpUrl | None, BeforeValidator(_none_if_empty)] = AnyHttpUrl(
        "https://waypost.github.io/waypost/"
    )
    _secret_files: dict[str, Path] = PrivateAttr(default_factory=dict)

    @field_validator("data_dir", mode="before")
    @classmethod
    def _check_data_dir(cls, value: object) -> object:
        if value == "":
            raise ValueError("is empty: name a directory, or remove the setting")
        return value

    @field_validator("base_url")
    @classmethod
    def _check_origin(cls, value: str) -> str:
        try:
            return origin(value)
        except BadUrl as error:
            raise ValueError(f"{error} Write an origin such as https://app.example.com.") from None

    @field_validator("shared_domain")
    @classmethod
    def _check_host(cls, value: str) -> str:
        """Remove the default ports of http and https: short links work over both."""
        try:
            return origin(f"http://{value}").removeprefix("http://").removesuffix(":443") if value else ""
        except BadUrl as error:
            raise ValueError(f"{error} Write a host with an optional port, such as go.example.com.") from None

    @field_validator("cname_target")
    @classmethod
    def _check_cname_target(cls, value: str) -> str:
        try:
            host = canonical(f"http://{value}").host if value else ""
        except BadUrl as error:
            raise ValueError(f"{error} Write a host name such as go.example.com.") from None
        if host != value.lower():
            raise ValueError("must be a host name alone, such as go.example.com")
        return host

    @field_validator("safe_browsing_url", "meta_url", "tiktok_url", "pinterest_url", "stripe_url")
    @classmethod
    def _check_api_url(cls, value: AnyUrl) -> AnyUrl:
        canonical(str(value))  # fails at the start, not at each request
        return value

    @field_validator("acme_directory")
    @classmethod
    def _check_https_url(cls, value: AnyUrl) -> AnyUrl:
        canonical(str(value), schemes=("https",))
        return value

    @field_validator("acme_email", "contact_email")
    @classmethod
    def _check_email(cls, value: str) -> str:
        if value and not re.fullmatch(r"[!-;=?A-~]+@[!-;=?A-~]+", value):
            raise ValueError("must be an email address, such as ops@example.com")
        return value

    @field_validator("smtp_url")
    @classmethod
    def _check_mail_server(cls, value: SecretStr | None) -> SecretStr | None:
        _as_value_error(parse_smtp_url, value.get_secret_value() if value else "")
        return value

    @field_validator("mail_from")
    @classmethod
    def _check_sender(cls, value: str) -> str:
        if value:
            _as_value_error(parse_sender, value)
        return value

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, value: str) -> str:
        scheme, _, rest = value.partition("://")
        if value and scheme not in {"sqlite", "postgresql", "postgres"}:
            raise ValueError("must start with postgresql:// or sqlite:///")
        if scheme == "sqlite" and rest.removeprefix("/") in {rest, "", ":memory:"}:
            raise ValueError("must name a file, such as sqlite:///waypost.db or sqlite:////srv/waypost.db")
        return value

    @field_validator("clickhouse_url")
    @classmethod
    def _check_clickhouse_url(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must be http(s)://user:password@host:8123/database")
        return value

    @field_validator("clickhouse_cluster")
    @classmethod
    def _check_cluster(cls, value: str) -> str:
        if value and not re.fullmatch(r"[\w.-]+", value, re.ASCII):
            raise ValueError("must be the name of a cluster: letters, digits, . _ and -")
        return value

    @field_validator("secret_key")
    @classmethod
    def _check_no_empty_key(cls, value: SecretStr | None) -> SecretStr | None:
        text = value.get_secret_value() if value else ""
        if text and not all(part.strip() for part in text.split(",")):
            raise ValueError("has an empty key: remove the extra comma")
        return value

    @field_validator("webhook_backoff")
    @classmethod
    def _check_webhook_backoff(cls, value: list[float]) -> list[float]:
        if len(value) != 4:
            raise ValueError("must be four numbers of seconds: the waits after attempts 1 to 4")
        return value

    @field_validator("oidc_issuer")
    @classmethod
    def _check_issuer(cls, value: str) -> str:
        """Keep the text as it is: tokens contain the same."""
        url = canonical(value, is_public=False) if value else None
        if url and url.scheme != "https" and not is_loopback(url.host):
            raise ValueError("must be an https:// URL")
        if url and (value.endswith("/.well-known/openid-configuration") or "?" in value or "#" in value):
            raise ValueError("must be the issuer alone, such as https://id.example.com/realms/main")
        return value

    @field_validator("oidc_roles")
    @classmethod
    def _check_oidc_roles(cls, value: list[str]) -> list[str]:
        if not all(re.fullmatch(rf".*\S.*=\s*({'|'.join(ROLE_NAMES)})", entry) for entry in value):
            raise ValueError(f"must name groups and roles as in marketing=editor, it=admin ({', '.join(ROLE_NAMES)})")
        groups = [entry.rpartition("=")[0].strip() for entry in value]
        if repeated := next((group for group in groups if groups.count(group) > 1), None):
            raise ValueError(f"names the group {repeated} twice")
        return value

    @field_validator("stripe_prices")
    @classmethod
    def _check_prices(cls, value: list[str]) -> list[str]:
        if not all(re.fullmatch(r"[^=]*[^=\s][^=]*=\s*price_\w+", price) for price in value):
            raise ValueError("must name prices as in Monthly=price_123, Lifetime=price_456")
        return value

    @model_validator(mode="after")
    def _derive(self) -> Self:
        if not self.shared_domain:
            object.__setattr__(self, "shared_domain", urlsplit(self.base_url).netloc)
        if "trusted_proxies" not in self.model_fields_set and self.base_url.startswith("https://") and not self.tls:
            object.__setattr__(self, "trusted_proxies", _THIS_MACHINE)
        return self

    @property
    def role_by_group(self) -> dict[str, str]:
        """The role of each group of the identity provider. The name of a group may contain `=`."""
        pairs = (entry.rpartition("=") for entry in self.oidc_roles)
        return {group.strip(): role.strip() for group, _, role in pairs}

    @property
    def secret_files(self) -> dict[str, Path]:
        """The file of each secret that was read from one, by the name of its setting."""
        return self._secret_files

    def with_secret_files(self, files: dict[str, Path]) -> Self:
        settings = self.model_copy()
        settings._secret_files = files  # noqa: SLF001  # its own
        return settings

    @property
    def base_host(self) -> str:
        """`host[:port]` of the API and the dashboard."""
        return urlsplit(self.base_url).netloc

    @property
    def own_hosts(self) -> tuple[str, str]:
        """`host[:port]` of the service itself, in contrast to custom domains."""
        return self.base_host, self.shared_domain

    @property
    def sender(self) -> str:
        """The sender of mail."""
        return self.mail_from or f"Waypost <noreply@{urlsplit(self.base_url).hostname}>"

    @property
    def cname_host(self) -> str:
        """The target of custom domains' CNAME records."""
        return self.cname_target or urlsplit(f"//{self.shared_domain}").hostname or ""

    @property
    def certified_hosts(self) -> tuple[str, ...]:
        """Hosts of the service itself that need certificates: none if the base URL is plain HTTP."""
        if not (self.tls and self.base_url.startswith("https://")):
            return ()
        hosts = (urlsplit(f"//{netloc}").hostname or "" for netloc in (self.base_host, self.shared_domain))
        return tuple(dict.fromkeys(host for host in hosts if _is_public_name(host)))

    @property
    def database(self) -> str:
        """URL of the database; by default SQLite in the data directory."""
        return self.database_url or f"sqlite:///{self.data_dir / 'waypost.db'}"


SECRETS = frozenset(name for name, field in Settings.model_fields.items() if not field.repr)
"""Settings that hold a secret. Each can be in a file, which the setting with `_FILE` at the end names."""


def _is_public_name(host: str) -> bool:
    """Whether a certificate authority issues a certificate for the host: not for `localhost` and IP addresses."""
    try:
        return not canonical(f"https://{host}").is_ip
    except BadUrl:
        return False


def is_loopback(host: str) -> bool:
    return host in {"localhost", "::1"} or host.startswith("127.")


def _as_value_error(check: Callable[[str], object], value: str) -> None:
    """Turn a SettingsError into a ValueError for pydantic, without the setting's name, which is added again."""
    try:
        check(value)
    except SettingsError as error:
        raise ValueError(str(error).partition(": ")[2]) from None
