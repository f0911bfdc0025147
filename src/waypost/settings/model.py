"""The settings: names, formats and defaults, and what follows from them."""

from email.headerregistry import Address
from ipaddress import ip_network
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from waypost.kit.outbound_proxy import ProxyServer, parse_proxy_url
from waypost.kit.proxies import Network
from waypost.kit.slug_style import DEFAULT_SLUGS, LONGEST, SHORTEST, SlugAlphabet
from waypost.kit.urls import BadUrl, PrivateNames, canonical
from waypost.settings import formats
from waypost.settings.mail_server import SmtpServer, parse_sender, parse_smtp_url
from waypost.settings.reserved import INFRASTRUCTURE, RESERVED

PREFIX = "WAYPOST_"
_THIS_MACHINE: list[Network] = [ip_network("127.0.0.1/32"), ip_network("::1/128")]
"""Without an own certificate, an https base URL needs a proxy; on another machine, its address must be set."""


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: formats.Origin = "http://localhost:8000"
    shared_domain: formats.ShortLinkHost = ""
    ignore_case: bool = True
    forward_query: formats.ForwardedParameters = "none"
    forward_path: bool = False
    slug_length: int = Field(DEFAULT_SLUGS.length, ge=SHORTEST, le=LONGEST)
    slug_alphabet: SlugAlphabet = DEFAULT_SLUGS.alphabet
    data_dir: formats.Directory = Path("./data")
    database_url: formats.DatabaseUrl = ""
    clickhouse_url: formats.ClickHouseUrl = ""
    clickhouse_cluster: formats.ClusterName = ""
    secret_key: formats.SecretKeys = None
    trusted_proxies: formats.Networks = []
    destination_check: Literal["required", "lenient"] = "required"
    link_check_days: int = Field(7, ge=0, le=365)
    outbound_allow: formats.Allowed = []
    outbound_ca_file: formats.File = None
    outbound_proxy: formats.ProxyUrl = None
    dns_servers: formats.Strings = []
    cname_target: formats.HostName = ""
    tls: bool = False
    tls_port: int = Field(443, ge=1, le=65_535)
    acme_directory: formats.HttpsUrl = AnyUrl("https://acme-v02.api.letsencrypt.org/directory")
    acme_email: formats.EmailAddress = ""
    webhook_backoff: formats.Waits = [10, 30, 60, 300]
    webhook_timeout: float = Field(10, gt=0, le=60)
    smtp_url: formats.MailServer = None
    mail_from: formats.Sender = ""
    contact_email: formats.EmailAddress = ""
    owner_email: formats.EmailAddress = ""
    owner_password: formats.Secret = None
    signup: Literal["open", "invite", "closed"] = "open"
    trial_days: int = Field(14, ge=0, le=36_500)
    default_plan: Literal["trial", "lifetime", "none"] = "trial"
    oidc_issuer: formats.IssuerUrl = ""
    oidc_client_id: str = ""
    oidc_client_secret: formats.Secret = None
    oidc_groups_claim: str = Field("groups", min_length=1)
    oidc_roles: formats.GroupRoles = []
    oidc_account: str = ""
    password_sign_in: bool = True
    safe_browsing_key: formats.Secret = None
    safe_browsing_url: formats.ApiUrl = AnyUrl("https://safebrowsing.googleapis.com")
    meta_url: formats.ApiUrl = AnyUrl("https://graph.facebook.com")
    tiktok_url: formats.ApiUrl = AnyUrl("https://business-api.tiktok.com")
    pinterest_url: formats.ApiUrl = AnyUrl("https://api.pinterest.com")
    stripe_secret_key: formats.Secret = None
    stripe_webhook_secret: formats.Secret = None
    stripe_prices: formats.Prices = []
    stripe_url: formats.ApiUrl = AnyUrl("https://api.stripe.com")
    blocklist: formats.File = None
    geoip_database: formats.File = None
    ip_privacy: Literal["full", "truncated", "none"] = "full"
    audit_days: int = Field(365, ge=0, le=100_000)
    click_retention_days: int | None = Field(None, ge=1, le=100_000)
    routes_in_memory: int = Field(250_000, ge=1_000)
    spool_limit_mb: int = Field(4_096, ge=64)
    docs_url: formats.DocsUrl = "/help/"
    brand_color: formats.BrandColor = "#0f766e"
    brand_name: str = Field("Waypost", min_length=1, max_length=60)
    brand_logo: formats.BrandLogo = None
    _secret_files: dict[str, Path] = PrivateAttr(default_factory=dict)

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
    def allowed_networks(self) -> list[Network]:
        """The private networks that outbound requests may reach."""
        return [entry for entry in self.outbound_allow if not isinstance(entry, str)]

    @property
    def allowed_names(self) -> PrivateNames:
        """The hosts that may have private names and addresses."""
        return PrivateNames(tuple(entry for entry in self.outbound_allow if isinstance(entry, str)))

    @property
    def proxy(self) -> ProxyServer | None:
        """The proxy for outbound requests."""
        return parse_proxy_url(self.outbound_proxy.get_secret_value() if self.outbound_proxy else "")

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
    def own_hostnames(self) -> tuple[str, ...]:
        """The same without ports, and the target of custom domains."""
        own = {urlsplit(f"//{netloc}").hostname or "" for netloc in self.own_hosts}
        return tuple(sorted(own | {self.cname_host}))

    @property
    def reserved_slugs(self) -> frozenset[str]:
        """More of them if short links share the application's host."""
        return RESERVED if self.base_host == self.shared_domain else INFRASTRUCTURE

    @property
    def mail_server(self) -> SmtpServer | None:
        return parse_smtp_url(self.smtp_url.get_secret_value() if self.smtp_url else "")

    @property
    def sender(self) -> Address:
        """The sender of mail."""
        return parse_sender(self.mail_from or f"Waypost <noreply@{urlsplit(self.base_url).hostname}>")

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
