"""The doctor: finds what is wrong, says what to do, changes nothing."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from connect_proxy import ConnectProxy
from identity_provider import CLIENT_ID, IdentityProvider, identity_provider
from people import new_person
from pydantic import SecretStr
from resources.imports.importing import Pages, new_deps
from sqlalchemy import insert, text, update

from waypost.audit import Actor
from waypost.commands import doctor
from waypost.commands.doctor import examine
from waypost.database import Database
from waypost.kit import clock
from waypost.outbound import Unreachable
from waypost.resources.clicks.model import click_retention
from waypost.resources.imports import lease, service
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import SourceError
from waypost.secret_key import FILE, with_secret_key
from waypost.settings import SettingProblem, Settings
from waypost.worker import jobs
from waypost.worker.jobs import jobs as table


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    settings = Settings(data_dir=tmp_path / "data", database_url=database_url, destination_check="lenient")
    with_secret_key(settings)
    return settings


async def found(settings: Settings, check: str):
    [finding] = [each for each in await examine(settings) if each.check == check]
    return finding


async def test_a_healthy_service_has_no_warnings(settings: Settings) -> None:
    findings = await examine(settings, now=lambda: datetime(2026, 12, 1, tzinfo=UTC))
    checks = "settings, base URL, sign-up, email, backup, internet, outbound, data directory, secret key, file modes"
    of_machine = "disk, spool, countries, clock, DNS"
    of_database = "schema, key of secrets, database, queue, imports, clicks"
    expected = dict.fromkeys(f"{checks}, {of_machine}, {of_database}".split(", "), "ok")
    assert {finding.check: finding.state for finding in findings} == expected


async def test_asks_the_proxy_for_a_host_outside(settings: Settings) -> None:
    async with ConnectProxy(credentials="waypost:hunter2", refuses={"example.com": 403}) as proxy:
        outside: dict[str, Any] = {"destination_check": "required"}
        for user, reason in (("", "requires a user name and password (407)"), ("waypost:hunter2", "(403)")):
            outside["outbound_proxy"] = SecretStr(proxy.url(user, "?resolve=proxy"))
            findings = await examine(settings.model_copy(update=outside))
            [internet] = [finding for finding in findings if finding.check == "internet"]
            assert internet.state == "warning"
            assert internet.message.startswith("example.com cannot be reached: the proxy re")
            assert internet.message.endswith(reason)
            assert f"through the proxy 127.0.0.3:{proxy.port}" in str(findings)
            assert "hunter2" not in str(findings)
    assert proxy.asked == ["example.com:443"] * 2


async def test_says_that_a_proxy_decides_where_names_lead(settings: Settings) -> None:
    for query, state in (("", "ok"), ("?resolve=proxy", "warning")):
        outbound_proxy = SecretStr(f"http://127.0.0.1:3128{query}")
        finding = await found(settings.model_copy(update={"outbound_proxy": outbound_proxy}), "outbound")
        assert (finding.state, "decides which addresses names lead to" in finding.message) == (state, bool(query))
        assert ("addresses only" in finding.message) is not bool(query)


async def test_reports_a_readable_secret_key(settings: Settings) -> None:
    (settings.data_dir / FILE).chmod(0o644)
    finding = await found(settings, "secret key")
    assert (finding.state, finding.advice) == ("failed", f"chmod 600 {settings.data_dir / FILE}")


async def test_warns_about_a_secret_file_that_everybody_can_read(settings: Settings, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).touch(0o640)
    files = {"smtp_url": tmp_path / "one", "secret_key": tmp_path / "two"}
    assert (await found(settings.with_secret_files(files), "secret files")).state == "ok"
    (tmp_path / "two").chmod(0o444)
    finding = await found(settings.with_secret_files(files), "secret files")
    assert (finding.state, finding.advice) == ("warning", f"chmod o= {tmp_path}/two")
    assert finding.message.startswith(f"WAYPOST_SECRET_KEY_FILE: {tmp_path}/two has mode 444")


async def test_reports_files_that_others_can_read(settings: Settings) -> None:
    directory = settings.data_dir
    image = directory / "media" / "image.png"
    image.parent.mkdir(0o700)
    image.touch(0o600)
    image.chmod(0o640)
    finding = await found(settings, "file modes")
    assert (finding.state, finding.advice) == ("warning", f"chmod -R go= {directory}")
    assert f"{image} (mode 640)" in finding.message
    directory.chmod(0o711)
    finding = await found(settings, "file modes")
    assert finding.state == "failed"
    assert finding.message.startswith("2 files or directories")
    assert f"{directory} (mode 711)" in finding.message


async def test_reports_an_old_schema(settings: Settings, db: Database) -> None:
    async with db.write() as tx:
        await tx.execute(text("UPDATE alembic_version SET version_num = '0054'"))
    assert "waypost migrate` of commit 2edbd7bb" in (await found(settings, "schema")).advice


async def test_offers_a_backup_before_a_migration(settings: Settings, db: Database) -> None:
    async with db.write() as tx:
        await tx.execute(text("UPDATE alembic_version SET version_num = '0055'"))
    offered = "waypost migrate --backup FILE" if db.dialect == "sqlite" else "pg_dump and waypost migrate"
    assert (await found(settings, "schema")).advice == f"Create a backup, then migrate: {offered}."


async def test_warns_about_rows_of_the_future(settings: Settings, db: Database) -> None:
    await new_person(db, "alice")
    findings = await examine(settings, now=lambda: clock.now() - timedelta(hours=30))
    assert [each.message for each in findings if each.check == "stored times"] == [
        "the newest row is 30 hours ahead of the clock"
    ]


@pytest.mark.parametrize("year", [2001, 2101])
async def test_reports_a_wrong_clock(settings: Settings, year: int) -> None:
    findings = await examine(settings, now=lambda: datetime(year, 1, 1, tzinfo=UTC))
    [finding] = [each for each in findings if each.check == "clock"]
    assert (finding.state, finding.advice[:6]) == ("failed", "Set it")


async def test_reports_an_unreachable_database(settings: Settings) -> None:
    gone = settings.model_copy(update={"database_url": "postgresql://waypost:hunter2@127.0.0.1:1/none"})
    finding = await found(gone, "database")
    assert finding.state == "failed"
    assert "127.0.0.1:1 cannot be used" in finding.message
    assert "hunter2" not in finding.message
    assert "\n" not in finding.message


async def test_skips_checks_that_depend_on_invalid_settings(settings: Settings) -> None:
    findings = await examine(settings, [SettingProblem("database_url", "WAYPOST_DATABASE_URL: is wrong")])
    assert [finding.message for finding in findings if finding.check == "settings"] == [
        "WAYPOST_DATABASE_URL: is wrong"
    ]
    checks = {finding.check for finding in findings}
    assert {"DNS", "disk", "countries"} < checks
    assert not {"schema", "database", "queue"} & checks
    assert {finding.check for finding in await examine(settings, [SettingProblem("", "waypost.toml: is wrong")])} == {
        "settings",
        "clock",
    }


async def test_warns_about_a_short_old_key(settings: Settings) -> None:
    former = settings.model_copy(update={"secret_key": SecretStr("k" * 32 + ",short")})
    assert (await found(former, "secret key")).state == "warning"
    assert "short" not in str(await found(former, "secret key")).replace("shorter", "")


async def test_reports_a_damaged_database(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"no database at all" * 100)
    broken = settings.model_copy(update={"database_url": f"sqlite:///{tmp_path}/broken.db"})
    finding = await found(broken, "database")
    assert (finding.state, "broken.db cannot be used: file is not a database" in finding.message) == ("failed", True)


async def test_reports_late_and_failed_jobs(settings: Settings, db: Database) -> None:
    async with db.write() as tx:
        await jobs.enqueue(tx, jobs.JobKind("links.check"), {}, now=clock.now() - timedelta(minutes=5))
    assert (await found(settings, "queue")).state == "failed"
    async with db.write() as tx:
        await tx.execute(update(table).values(failed_at=clock.now()))
    assert (await found(settings, "queue")).state == "warning"


async def test_warns_about_risky_settings(settings: Settings) -> None:
    daring = Settings(
        data_dir=settings.data_dir,
        database_url=settings.database_url,
        base_url="http://no-such-host.invalid",
        outbound_allow="10.0.0.0/8",
    )
    assert (await found(daring, "base URL")).state == "warning"
    for given, state in (({}, "ok"), ({"trusted_proxies": ""}, "warning"), ({"tls": True}, "ok")):
        behind = Settings(data_dir=settings.data_dir, base_url="https://app.test", **given)
        assert (await found(behind, "base URL")).state == state, given
    tls = settings.model_copy(update={"tls": True})
    assert (await found(tls, "base URL")).message == "WAYPOST_TLS obtains no certificate for http://localhost:8000"
    assert "10.0.0.0/8" in (await found(daring, "outbound")).message
    assert (await found(daring, "DNS")).state == "failed"


@pytest.mark.parametrize(
    ("status", "state", "text"),
    [
        (401, "ok", "https://localhost responds"),
        (400, "failed", "the API sees plain HTTP: no trusted proxy reports HTTPS"),
        (404, "warning", "https://localhost responds with 404, as another service would"),
        (502, "warning", "https://localhost responds with 502"),
        (None, "warning", "https://localhost cannot be reached from here: connection refused"),
    ],
)
async def test_asks_for_an_https_base_url(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, status: int | None, state: str, text: str
) -> None:
    async def answer(_url: str, **_: object) -> int:
        if status is None:
            raise Unreachable("connection refused")
        return status

    monkeypatch.setattr(doctor, "status_of", answer)
    finding = await found(settings.model_copy(update={"base_url": "https://localhost"}), "HTTPS")
    assert (finding.state, finding.message, bool(finding.advice)) == (state, text, state != "ok")


async def test_reports_a_spool_that_is_not_drained(settings: Settings) -> None:
    (settings.data_dir / "spool").mkdir()
    with (settings.data_dir / "spool" / "1.visits").open("wb") as file:
        file.truncate(40 << 20)
    full = settings.model_copy(update={"spool_limit_mb": 64})
    assert (await found(full, "spool")).state == "failed"


async def test_reports_stopped_imports(settings: Settings, db: Database) -> None:
    alice, deps = await new_person(db, "alice"), new_deps(db)
    import_ = await service.create(deps, Actor.system(alice.account_id), "dub", {})
    importer = ImportRun(deps, Pages([[]]), import_, lease.holder())
    await importer.start()
    assert (await found(settings, "imports")).state == "ok"
    await importer.stop(SourceError("The quota is used up."))
    finding = await found(settings, "imports")
    assert (finding.state, finding.message) == (
        "warning",
        "1 stopped and can be continued, the newest because: The quota is used up",
    )


@pytest.mark.parametrize(("days_ago", "state"), [(30, "ok"), (29, "warning"), (-1, "failed")])
async def test_reports_clicks_deleted_too_early(settings: Settings, db: Database, days_ago: int, state: str) -> None:
    async with db.write() as tx:
        await tx.execute(insert(click_retention).values(id=1, kept_since=20_000 - days_ago))
    keeping = settings.model_copy(update={"click_retention_days": 30})
    findings = await examine(keeping, now=lambda: clock.EPOCH + timedelta(days=20_000, hours=3))
    assert [finding.state for finding in findings if finding.check == "clicks"] == [state]


async def test_shows_the_date_of_the_country_database(settings: Settings) -> None:
    assert "bundled database of 20" in (await found(settings, "countries")).message


async def test_warns_about_an_old_country_database(settings: Settings) -> None:
    findings = await examine(settings, now=lambda: datetime(2040, 1, 1, tzinfo=UTC))
    [finding] = [each for each in findings if each.check == "countries"]
    assert (finding.state, finding.advice) == ("warning", "Update Waypost, or run make geo.")


async def test_reports_an_unreadable_country_database(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "x.mmdb").write_bytes(b"rubbish")
    wrong = settings.model_copy(update={"geoip_database": tmp_path / "x.mmdb"})
    finding = await found(wrong, "countries")
    assert finding.state == "failed"
    assert finding.message.startswith("WAYPOST_GEOIP_DATABASE: ")


@pytest.mark.parametrize(
    ("lines", "message"), [("", ""), ("no host\n", "1 line of "), ("no host\n" * 2, "2 lines of ")]
)
async def test_names_lines_of_the_blocklist_that_are_left_out(
    settings: Settings, tmp_path: Path, lines: str, message: str
) -> None:
    file = tmp_path / "list.txt"
    file.write_text(f"bad.example\n{lines}")
    finding = await found(settings.model_copy(update={"blocklist": file}), "blocklist")
    assert finding.state == ("warning" if lines else "ok")
    assert finding.message.startswith(message)
    assert str(file) in finding.message
    assert ("such as line 2: no host: " in finding.message) is bool(lines)


async def test_reports_a_missing_database(settings: Settings, tmp_path: Path) -> None:
    empty = settings.model_copy(update={"database_url": f"sqlite:///{tmp_path}/none.db"})
    assert (await found(empty, "database")).message.endswith("none.db is missing")
    assert not list(tmp_path.glob("none.db*"))


async def test_reports_a_missing_data_directory(settings: Settings, tmp_path: Path) -> None:
    lost = settings.model_copy(update={"data_dir": tmp_path / "lost"})
    assert (await found(lost, "data directory")).state == "failed"
    assert not (tmp_path / "lost").exists()


def with_oidc(settings: Settings, provider: IdentityProvider) -> Settings:
    given = {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT_ID, "oidc_client_secret": SecretStr("secret")}
    return settings.model_copy(update=given)


async def test_checks_the_provider_of_single_sign_on(settings: Settings) -> None:
    async with identity_provider(clock.now) as provider:
        here = with_oidc(settings, provider)
        assert (await found(here, "single sign-on")).state == "ok"
        provider.jwks = [{"kty": "oct", "k": "c2VjcmV0", "use": "sig"}]
        finding = await found(here, "single sign-on")
        assert (finding.state, finding.message) == ("failed", f"{provider.issuer} has no key for signatures")
        provider.metadata = {"issuer": f"{provider.issuer}/"}
        finding = await found(here, "single sign-on")
        assert finding.state == "failed"
        assert f"the issuer is “{provider.issuer}/”, and WAYPOST_OIDC_ISSUER must be the same" in finding.message


async def test_finds_that_nobody_can_join(settings: Settings, db: Database) -> None:
    async with identity_provider(clock.now) as provider:
        here = with_oidc(settings, provider).model_copy(update={"oidc_account": "Alice@example.com"})
        assert (await found(here, "single sign-on")).advice == "Create it: waypost account create Alice@example.com"
        await new_person(db, "alice")
        assert (await found(here, "single sign-on")).state == "ok"
