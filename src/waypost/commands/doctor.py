"""`waypost doctor`: runs diagnostics and reports what is wrong and what to do. It changes nothing."""

import asyncio
import socket
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from waypost import installation
from waypost.commands.clock_check import ClockWrong, check_clock
from waypost.commands.doctor_databases import check_clickhouse, check_database
from waypost.commands.doctor_files import check_files, check_secret_files
from waypost.installation import Finding
from waypost.kit import clock
from waypost.kit.clock import Clock
from waypost.kit.errors import SettingsError
from waypost.kit.urls import canonical
from waypost.outbound import Outbound, OutboundError, Unreachable
from waypost.outbound.own_url import status_of
from waypost.settings import SettingProblem, Settings
from waypost.visitors import countries

_OF_OUTBOUND = "dns_servers", "outbound_ca_file", "outbound_proxy"
_HOST, _DEADLINE = "example.com", 3.0
_MAX_SKEW = 5.0  # seconds
_MAX_DATA_AGE = timedelta(days=366)


async def examine(
    settings: Settings, problems: Sequence[SettingProblem] = (), *, now: Clock = clock.now
) -> list[Finding]:
    """Run all checks, except those that depend on an invalid setting: they would use its default."""
    invalid = {problem.setting for problem in problems}

    def is_valid(*names: str) -> bool:
        return not invalid & {"", *names}

    findings = [*_settings(problems)]
    findings += [check(settings, now) for names, check in installation.CHECKS if is_valid(*names)]
    if settings.destination_check == "required" and is_valid("destination_check", *_OF_OUTBOUND):
        findings = [*(each for each in findings if each.check != "internet"), await _internet(settings)]
    if is_valid("data_dir", "secret_key", "spool_limit_mb"):
        findings += check_files(settings)
    if is_valid("geoip_database"):
        findings.append(_countries(settings, now))
    if settings.blocklist and is_valid("blocklist"):
        findings.append(_blocklist(settings.blocklist))
    if settings.secret_files:
        findings.append(check_secret_files(settings.secret_files))
    findings.append(_clock(settings, now))
    if is_valid("base_url"):
        findings += await _reachability(settings, is_ca_file_valid=is_valid("outbound_ca_file"))
    if is_valid("data_dir", "database_url", "click_retention_days"):
        findings += await check_database(settings, now)
    return [*findings, *await _optional_servers(settings, is_valid, now)]


async def _optional_servers(settings: Settings, is_valid: Callable[..., bool], now: Clock) -> list[Finding]:
    findings = []
    if settings.clickhouse_url and is_valid("clickhouse_url", "outbound_ca_file"):
        findings += await check_clickhouse(settings, now)
    if settings.oidc_issuer and is_valid("oidc_issuer", "outbound_ca_file", "dns_servers", "database_url", "data_dir"):
        from waypost.commands.doctor_sign_in import check_oidc  # as in a service without it

        findings.append(await check_oidc(settings, now))
    return findings


def _settings(problems: Sequence[SettingProblem]) -> list[Finding]:
    failed = [Finding("settings", "failed", problem.text) for problem in problems]
    return failed or [Finding("settings", "ok", "all valid")]


async def _internet(settings: Settings) -> Finding:
    """Ask for a page as a check of a destination does."""
    outbound = Outbound(dns_servers=settings.dns_servers, ca_file=settings.outbound_ca_file, proxy=settings.proxy)
    try:
        await outbound.request("GET", canonical(f"https://{_HOST}/"), deadline=_DEADLINE, max_body=0)
    except OutboundError as error:
        reason = error.in_words if isinstance(error, Unreachable) else error
        verb = "Check" if settings.proxy else "Set"
        advice = f"{verb} WAYPOST_OUTBOUND_PROXY, or set WAYPOST_DESTINATION_CHECK=lenient to create links without it."
        return Finding("internet", "warning", f"{_HOST} cannot be reached: {reason}", advice)
    return Finding("internet", "ok", f"{_HOST} responds")


def _countries(settings: Settings, now: Clock) -> Finding:
    file = settings.geoip_database
    try:
        day = countries.data_date(file)
    except SettingsError as error:
        advice = "Set it to a readable country database in MaxMind format, or remove the setting."
        return Finding("countries", "failed", str(error), advice)
    message = f"{file or 'bundled database'} of {day}"
    if now().date() - day > _MAX_DATA_AGE:
        advice = "Get a newer file." if file else "Update Waypost, or run make geo."
        return Finding("countries", "warning", message, advice)
    return Finding("countries", "ok", message)


def _blocklist(file: Path) -> Finding:
    from waypost.outbound.blocklist import read_blocklist  # as in a service without it

    rules = read_blocklist(file)
    if not rules.problems:
        return Finding("blocklist", "ok", str(file))
    count = "1 line" if rules.problems == 1 else f"{rules.problems} lines"
    message = f"{count} of {file} left out, such as {rules.first_problem}"
    return Finding("blocklist", "warning", message, "Correct or remove what it names. All other lines are in use.")


def _clock(settings: Settings, now: Clock) -> Finding:
    """Check that existing files are not in the future, as they are after the clock was set back."""
    try:
        check_clock(now())
    except ClockWrong as error:
        problem, _, advice = error.details.partition(". ")
        return Finding("clock", "failed", problem, advice)
    newest = max((path.stat().st_mtime for path in [settings.data_dir, Path(__file__)] if path.exists()), default=0.0)
    ahead = newest - time.time()
    if ahead > _MAX_SKEW:
        return Finding("clock", "failed", f"{ahead:.0f} s behind a file of this service", "Synchronize it (NTP).")
    return Finding("clock", "ok", clock.timestamp(clock.now()))


async def _reachability(settings: Settings, *, is_ca_file_valid: bool) -> list[Finding]:
    resolved = await _dns(settings)
    if resolved.state == "ok" and settings.base_url.startswith("https://") and is_ca_file_valid:
        return [resolved, await _https(settings)]
    return [resolved]


async def _dns(settings: Settings) -> Finding:
    host = urlsplit(settings.base_url).hostname or ""
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        advice = "Create its DNS record, or correct WAYPOST_BASE_URL."
        return Finding("DNS", "failed", f"{host} does not resolve: {error.strerror}", advice)
    return Finding("DNS", "ok", f"{host} is {', '.join(sorted({str(address[4][0]) for address in addresses}))}")


async def _https(settings: Settings) -> Finding:
    """Ask for a page of the API without a key: 401 shows that the request arrived, and that HTTPS was recognized."""
    try:
        status = await status_of(f"{settings.base_url}/api/v1/me", ca_file=settings.outbound_ca_file)
    except Unreachable as error:
        start = "Start waypost serve --tls" if settings.tls else "Start waypost serve and its TLS proxy"
        advice = f"{start}, and open the ports 80 and 443 in the firewall. Visitors may still reach it: try a browser."
        return Finding("HTTPS", "warning", f"{settings.base_url} cannot be reached from here: {error.reason}", advice)
    if status == HTTPStatus.UNAUTHORIZED:
        return Finding("HTTPS", "ok", f"{settings.base_url} responds")
    if status == HTTPStatus.BAD_REQUEST:
        advice = "Let the proxy send X-Forwarded-Proto, and add its address to WAYPOST_TRUSTED_PROXIES."
        return Finding("HTTPS", "failed", "the API sees plain HTTP: no trusted proxy reports HTTPS", advice)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        advice = "Start waypost serve, and check that the proxy passes requests on to its host and port."
        return Finding("HTTPS", "warning", f"{settings.base_url} responds with {status}", advice)
    advice = "Check that the proxy passes requests for this host on to waypost serve, with their Host header."
    return Finding("HTTPS", "warning", f"{settings.base_url} responds with {status}, as another service would", advice)
