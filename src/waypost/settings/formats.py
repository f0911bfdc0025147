"""The formats of settings: how text becomes a value, and what is refused.

A message follows the name of the setting: `WAYPOST_CNAME_TARGET: must be a host name alone, such as go.example.com`.
"""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AnyUrl, BeforeValidator, Field, SecretStr

from waypost.kit.colors import parse_color
from waypost.kit.forward_query import MAX_NAMES, find_name_problem, to_text
from waypost.kit.outbound_proxy import parse_proxy_url
from waypost.kit.proxies import Network, is_loopback
from waypost.kit.urls import ANY_NAME, BadUrl, canonical, origin
from waypost.settings.mail_server import parse_sender, parse_smtp_url

ROLE_NAMES = "viewer", "editor", "admin", "owner"


def _split_commas(value: object) -> object:
    """Split `a, b` of the environment. A list of the TOML file is returned unchanged."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _parse_networks(value: object) -> object:
    parts = _split_commas(value)
    if not isinstance(parts, list):
        return parts
    return [ip_network(part, strict=False) if isinstance(part, str) else _require_network(part) for part in parts]


def _parse_allowed(value: object) -> object:
    parts = _split_commas(value)
    return [_parse_network_or_name(part) for part in parts] if isinstance(parts, list) else parts


def _parse_network_or_name(part: object) -> Network | str:
    if not isinstance(part, str):
        return _require_network(part)
    try:
        return ip_network(part, strict=False)
    except ValueError:
        wildcard, name = ("*.", part[2:]) if part.startswith("*.") else ("", part)
    try:
        host = canonical(f"http://{name}", private=ANY_NAME).host
    except BadUrl:
        host = ""
    if not host or "/" in name or ":" in name:
        raise ValueError("must be networks and host names, such as 10.0.0.0/8, wiki, *.corp.internal")
    return wildcard + host


def _check_proxy(value: SecretStr | None) -> SecretStr | None:
    parse_proxy_url(value.get_secret_value() if value else "")
    return value


def _require_network(value: object) -> Network:
    """Return a parsed network. Raise ValueError for a number, which `ip_network` would take for an address."""
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    raise ValueError("must be networks in quotes, such as 10.0.0.0/8")


def _none_if_empty(value: object) -> object:
    """Treat `WAYPOST_BLOCKLIST=` as unset: an empty path would be the working directory."""
    return None if value == "" else value


def _check_directory(value: object) -> object:
    if value == "":
        raise ValueError("is empty: name a directory, or remove the setting")
    return value


def _check_origin(value: str) -> str:
    try:
        return origin(value)
    except BadUrl as error:
        raise ValueError(f"{error} Write an origin such as https://app.example.com.") from None


def _check_short_link_host(value: str) -> str:
    """Remove the default ports of http and https: short links work over both."""
    try:
        return origin(f"http://{value}").removeprefix("http://").removesuffix(":443") if value else ""
    except BadUrl as error:
        raise ValueError(f"{error} Write a host with an optional port, such as go.example.com.") from None


def _check_host_name(value: str) -> str:
    try:
        host = canonical(f"http://{value}").host if value else ""
    except BadUrl as error:
        raise ValueError(f"{error} Write a host name such as go.example.com.") from None
    if host != value.lower():
        raise ValueError("must be a host name alone, such as go.example.com")
    return host


def _check_api_url(value: AnyUrl) -> AnyUrl:
    canonical(str(value))  # fails at the start, not at each request
    return value


def _check_https_url(value: AnyUrl) -> AnyUrl:
    canonical(str(value), schemes=("https",), private=ANY_NAME)
    return value


def _check_color(value: str) -> str:
    try:
        return parse_color(value)
    except ValueError:
        raise ValueError("must be a hex color, such as #0f766e") from None


def _check_logo(value: Path | None) -> Path | None:
    if value and not (value.suffix in (".svg", ".png") and value.is_file()):
        raise ValueError("must be the path of an SVG or PNG file that exists")
    return value


def _check_docs_url(value: str) -> str:
    """Return the URL or path with a slash at its end. Empty stays empty."""
    if value and not value.startswith("/"):
        canonical(value, private=ANY_NAME)
    return f"{value.rstrip('/')}/" if value else ""


def _check_email(value: str) -> str:
    if value and not re.fullmatch(r"[!-;=?A-~]+@[!-;=?A-~]+", value):
        raise ValueError("must be an email address, such as ops@example.com")
    return value


def _check_mail_server(value: SecretStr | None) -> SecretStr | None:
    parse_smtp_url(value.get_secret_value() if value else "")
    return value


def _check_sender(value: str) -> str:
    if value:
        parse_sender(value)
    return value


def _check_database_url(value: str) -> str:
    scheme, _, rest = value.partition("://")
    if value and scheme not in {"sqlite", "postgresql", "postgres"}:
        raise ValueError("must start with postgresql:// or sqlite:///")
    if scheme == "sqlite" and rest.removeprefix("/") in {rest, "", ":memory:"}:
        raise ValueError("must name a file, such as sqlite:///waypost.db or sqlite:////srv/waypost.db")
    return value


def _check_clickhouse_url(value: str) -> str:
    if value and not value.startswith(("http://", "https://")):
        raise ValueError("must be http(s)://user:password@host:8123/database")
    return value


def _check_cluster(value: str) -> str:
    if value and not re.fullmatch(r"[\w.-]+", value, re.ASCII):
        raise ValueError("must be the name of a cluster: letters, digits, . _ and -")
    return value


def _check_no_empty_key(value: SecretStr | None) -> SecretStr | None:
    text = value.get_secret_value() if value else ""
    if text and not all(part.strip() for part in text.split(",")):
        raise ValueError("has an empty key: remove the extra comma")
    return value


def _check_waits(value: list[float]) -> list[float]:
    if len(value) != 4:
        raise ValueError("must be four numbers of seconds: the waits after attempts 1 to 4")
    return value


def _check_issuer(value: str) -> str:
    """Keep the text as it is: tokens contain the same."""
    url = canonical(value, private=ANY_NAME) if value else None
    if url and url.scheme != "https" and not is_loopback(url.host):
        raise ValueError("must be an https:// URL")
    if url and (value.endswith("/.well-known/openid-configuration") or "?" in value or "#" in value):
        raise ValueError("must be the issuer alone, such as https://id.example.com/realms/main")
    return value


def _check_group_roles(value: list[str]) -> list[str]:
    if not all(re.fullmatch(rf".*\S.*=\s*({'|'.join(ROLE_NAMES)})", entry) for entry in value):
        raise ValueError(f"must name groups and roles as in marketing=editor, it=admin ({', '.join(ROLE_NAMES)})")
    groups = [entry.rpartition("=")[0].strip() for entry in value]
    if repeated := next((group for group in groups if groups.count(group) > 1), None):
        raise ValueError(f"names the group {repeated} twice")
    return value


def _check_prices(value: list[str]) -> list[str]:
    if not all(re.fullmatch(r"[^=]*[^=\s][^=]*=\s*price_\w+", price) for price in value):
        raise ValueError("must name prices as in Monthly=price_123, Lifetime=price_456")
    return value


def _check_forward_query(value: object) -> object:
    parts = _split_commas(value)
    if not isinstance(parts, list) or not parts or not all(isinstance(part, str) for part in parts):
        raise ValueError("must be none, all, or names of parameters as in utm_*, gclid")
    if parts in (["none"], ["all"]):
        return parts[0]
    if len(parts) > MAX_NAMES or any(find_name_problem(part) for part in parts):
        raise ValueError(f"must be none, all, or 1 to {MAX_NAMES} names of parameters as in utm_*, gclid")
    return to_text(parts)


ForwardedParameters = Annotated[str, BeforeValidator(_check_forward_query)]
Strings = Annotated[list[str], BeforeValidator(_split_commas)]
GroupRoles = Annotated[Strings, AfterValidator(_check_group_roles)]
Prices = Annotated[Strings, AfterValidator(_check_prices)]
Networks = Annotated[list[Network], BeforeValidator(_parse_networks)]
Allowed = Annotated[list[Network | str], BeforeValidator(_parse_allowed)]
_Wait = Annotated[float, Field(ge=0, le=86_400)]
Waits = Annotated[list[_Wait], BeforeValidator(_split_commas), AfterValidator(_check_waits)]

Directory = Annotated[Path, BeforeValidator(_check_directory)]
File = Annotated[Path | None, BeforeValidator(_none_if_empty)]

Secret = Annotated[SecretStr | None, BeforeValidator(_none_if_empty), Field(repr=False)]
SecretKeys = Annotated[Secret, AfterValidator(_check_no_empty_key)]
ProxyUrl = Annotated[Secret, AfterValidator(_check_proxy)]
MailServer = Annotated[Secret, AfterValidator(_check_mail_server)]
Sender = Annotated[str, AfterValidator(_check_sender)]
EmailAddress = Annotated[str, AfterValidator(_check_email)]

Origin = Annotated[str, AfterValidator(_check_origin)]
ShortLinkHost = Annotated[str, AfterValidator(_check_short_link_host)]
HostName = Annotated[str, AfterValidator(_check_host_name)]
BrandColor = Annotated[str, AfterValidator(_check_color)]
BrandLogo = Annotated[Path | None, BeforeValidator(_none_if_empty), AfterValidator(_check_logo)]
ApiUrl = Annotated[AnyUrl, AfterValidator(_check_api_url)]
DocsUrl = Annotated[str, AfterValidator(_check_docs_url)]
HttpsUrl = Annotated[AnyUrl, AfterValidator(_check_https_url)]
IssuerUrl = Annotated[str, AfterValidator(_check_issuer)]

UrlWithPassword = Annotated[str, Field(repr=False)]
DatabaseUrl = Annotated[UrlWithPassword, AfterValidator(_check_database_url)]
ClickHouseUrl = Annotated[UrlWithPassword, AfterValidator(_check_clickhouse_url)]
ClusterName = Annotated[str, AfterValidator(_check_cluster)]
