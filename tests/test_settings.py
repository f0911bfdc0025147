"""Settings: where they come from, and that every problem is named."""

import contextlib
import os
import re
from functools import partial
from ipaddress import ip_network
from pathlib import Path

import pytest
from pydantic import SecretStr

from waypost.commands.settings_check import load_settings
from waypost.database.url import location_of
from waypost.secret_key import check_data_dir
from waypost.settings import SECRETS, Settings, SettingsError, load, read


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str) -> None:
    Path("waypost.toml").write_text(text)


def test_reads_the_environment_and_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_BASE_URL", "https://App.Example.com/")
    monkeypatch.setenv("WAYPOST_OUTBOUND_ALLOW", "10.0.0.0/8, ::1")
    settings = load(data_dir="/srv/waypost")
    assert (settings.base_url, settings.shared_domain) == ("https://app.example.com", "app.example.com")
    assert settings.outbound_allow == [ip_network("10.0.0.0/8"), ip_network("::1")]
    assert settings.database == "sqlite:////srv/waypost/waypost.db"


@pytest.mark.parametrize(
    ("text", "value"),
    [("none", "none"), (" all ", "all"), ("utm_*, gclid", '["utm_*", "gclid"]'), ("none, x", '["none", "x"]')],
)
def test_reads_what_is_forwarded(monkeypatch: pytest.MonkeyPatch, text: str, value: str) -> None:
    monkeypatch.setenv("WAYPOST_FORWARD_QUERY", text)
    assert load().forward_query == value


def test_defaults() -> None:
    settings = load()
    assert (settings.base_url, settings.shared_domain) == ("http://localhost:8000", "localhost:8000")
    assert (settings.data_dir, settings.trial_days, settings.default_plan) == (Path("data"), 14, "trial")
    assert settings.secret_key is None


def test_options_over_environment_over_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write('WAYPOST_TRIAL_DAYS = 1\nip_privacy = "none"\ndata_dir = "file"\n')
    monkeypatch.setenv("WAYPOST_TRIAL_DAYS", "2")
    monkeypatch.setenv("WAYPOST_DATA_DIR", "environment")
    settings = load(data_dir="option", base_url=None)
    assert (settings.ip_privacy, settings.trial_days, str(settings.data_dir)) == ("none", 2, "option")


def test_only_names_with_the_prefix_count(monkeypatch: pytest.MonkeyPatch) -> None:
    write('database_url = "postgresql://db/waypost"\n')
    monkeypatch.setenv("DATABASE_URL", "postgresql://other/program")
    assert load().database == "postgresql://db/waypost"


def test_names_are_case_insensitive(monkeypatch: pytest.MonkeyPatch) -> None:
    write("Trial_Days = 1\n")
    assert load().trial_days == 1
    monkeypatch.setenv("waypost_trial_days", "2")
    assert load().trial_days == 2
    monkeypatch.setenv("waypost_trial_dayz", "3")
    with pytest.raises(SettingsError, match="WAYPOST_TRIAL_DAYZ is not a setting"):
        load()


@pytest.mark.parametrize(
    ("base_url", "shared_domain", "stored"),
    [
        ("http://go.test:80", "", ("http://go.test", "go.test")),
        ("https://x:443", "", ("https://x", "x")),
        ("https://app.test", "Go.Test:443", ("https://app.test", "go.test")),
        ("http://app.test", "go.test:80", ("http://app.test", "go.test")),
        ("http://localhost:8000", "localhost:8000", ("http://localhost:8000", "localhost:8000")),
        ("http://[::1]:8000", "bücher.example", ("http://[::1]:8000", "xn--bcher-kva.example")),
    ],
)
def test_hosts_are_kept_as_browsers_send_them(
    monkeypatch: pytest.MonkeyPatch, base_url: str, shared_domain: str, stored: tuple[str, str]
) -> None:
    monkeypatch.setenv("WAYPOST_BASE_URL", base_url)
    monkeypatch.setenv("WAYPOST_SHARED_DOMAIN", shared_domain)
    settings = load()
    assert (settings.base_url, settings.shared_domain) == stored


def test_lists_of_the_file() -> None:
    write('trusted_proxies = ["10.0.0.0/8"]\ndns_servers = ["127.0.0.1:5353"]\n')
    settings = load()
    assert (settings.trusted_proxies, settings.dns_servers) == ([ip_network("10.0.0.0/8")], ["127.0.0.1:5353"])


@pytest.mark.parametrize(
    ("given", "trusted"),
    [
        ({}, []),
        ({"base_url": "http://go.example.com"}, []),
        ({"base_url": "https://go.example.com"}, [ip_network("127.0.0.1/32"), ip_network("::1/128")]),
        ({"base_url": "https://go.example.com", "tls": "true"}, []),
        ({"base_url": "https://go.example.com", "trusted_proxies": ""}, []),
        ({"base_url": "https://go.example.com", "trusted_proxies": "10.0.0.1"}, [ip_network("10.0.0.1/32")]),
    ],
)
def test_trusts_this_machine_only_where_a_proxy_is_needed(given: dict[str, str], trusted: list[object]) -> None:
    assert load(**given).trusted_proxies == trusted


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("WAYPOST_BASE_ULR", "WAYPOST_BASE_URL"), ("WAYPOST_DATABASE", "WAYPOST_DATABASE_URL"), ("WAYPOST_X", "WAYPOST_")],
)
def test_an_unknown_name_gets_the_nearest(monkeypatch: pytest.MonkeyPatch, wrong: str, near: str) -> None:
    monkeypatch.setenv(wrong, "x")
    with pytest.raises(SettingsError, match=rf"{wrong} is not a setting\. Did you mean {near}"):
        load()


def test_an_unknown_name_in_the_file() -> None:
    write('secret_kee = "x"')
    with pytest.raises(SettingsError, match="Did you mean WAYPOST_SECRET_KEY"):
        load()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FORWARD_QUERY", ""),
        ("FORWARD_QUERY", "*"),
        ("FORWARD_QUERY", "a*b"),
        ("FORWARD_PATH", "perhaps"),
        ("IGNORE_CASE", "perhaps"),
        ("BASE_URL", "app.example.com"),
        ("BASE_URL", "https://app.example.com/path"),
        ("BASE_URL", "ftp://app.example.com"),
        ("BASE_URL", "https://app.example.com:abc"),
        ("SHARED_DOMAIN", "https://go.example.com"),
        ("SHARED_DOMAIN", "go.example.com:99999"),
        ("SHARED_DOMAIN", "name@go.example.com"),
        ("SHARED_DOMAIN", "go.example.com/path"),
        ("DATABASE_URL", "mysql://host/db"),
        ("OUTBOUND_ALLOW", "10.0.0.0/33"),
        ("TRIAL_DAYS", "-1"),
        ("TRIAL_DAYS", "two"),
        ("TRIAL_DAYS", "36501"),
        ("CLICK_RETENTION_DAYS", "100001"),
        ("DATA_DIR", ""),
        ("DATABASE_URL", "sqlite://"),
        ("DATABASE_URL", "sqlite:///:memory:"),
        ("SAFE_BROWSING_URL", "http://localhost"),
        ("OIDC_ISSUER", "http://id.example.com"),
        ("OIDC_ISSUER", "https://id.example.com/.well-known/openid-configuration"),
        ("OIDC_ISSUER", "https://id.example.com/?realm=main"),
        ("OIDC_ROLES", "marketing"),
        ("OIDC_ROLES", "marketing=boss"),
        ("OIDC_ROLES", "=editor"),
        ("OIDC_ROLES", "it=editor, it = admin"),
        ("OIDC_GROUPS_CLAIM", ""),
        ("PASSWORD_SIGN_IN", "perhaps"),
        ("DEFAULT_PLAN", "gold"),
        ("IP_PRIVACY", "some"),
        ("ROUTES_IN_MEMORY", "10"),
    ],
)
def test_names_an_invalid_value(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"WAYPOST_{name}", value)
    with pytest.raises(SettingsError, match=f"^WAYPOST_{name}: "):
        load()


def test_reports_all_faults_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_TRIAL_DAYS", "two")
    monkeypatch.setenv("WAYPOST_IP_PRIVACY", "some")
    with pytest.raises(SettingsError) as error:
        load()
    assert set(str(error.value).splitlines()) == {
        "WAYPOST_TRIAL_DAYS: must be a valid integer",
        "WAYPOST_IP_PRIVACY: must be 'full', 'truncated' or 'none'",
    }


def test_the_same_setting_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    write('base_url = "https://a.example.com"\nWAYPOST_BASE_URL = "https://b.example.com"\n')
    monkeypatch.setenv("WAYPOST_Signup", "closed")
    monkeypatch.setenv("WAYPOST_SIGNUP", "open")
    with pytest.raises(SettingsError) as error:
        load()
    assert str(error.value).splitlines() == [
        "WAYPOST_BASE_URL: waypost.toml sets it as WAYPOST_BASE_URL and as base_url: keep one",
        "WAYPOST_SIGNUP: the environment sets it as WAYPOST_SIGNUP and as WAYPOST_Signup: keep one",
    ]


def test_reports_all_unknown_names_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write('trial_dayz = 3\ncolour = "red"\n')
    monkeypatch.setenv("WAYPOST_BASE_ULR", "x")
    with pytest.raises(SettingsError) as error:
        load()
    assert [line.partition(" ")[0] for line in str(error.value).splitlines()] == [
        "WAYPOST_TRIAL_DAYZ",
        "WAYPOST_COLOUR",
        "WAYPOST_BASE_ULR",
    ]


@pytest.mark.parametrize("given", [["SECRET_KEY"], ["WEBHOOK_SECRET"], ["PRICES"], ["SECRET_KEY", "PRICES"]])
def test_half_of_stripe_is_refused(monkeypatch: pytest.MonkeyPatch, given: list[str]) -> None:
    values = {"SECRET_KEY": "sk_test_1", "WEBHOOK_SECRET": "whsec_1", "PRICES": "Monthly=price_1"}
    for name in given:
        monkeypatch.setenv(f"WAYPOST_STRIPE_{name}", values[name])
    with pytest.raises(SettingsError) as error:
        load()
    missing = {line.partition(":")[0] for line in str(error.value).splitlines()}
    assert missing == {f"WAYPOST_STRIPE_{name}" for name in values.keys() - set(given)}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"EMAIL": "ada@example.com"}, "WAYPOST_OWNER_PASSWORD: is missing"),
        ({"PASSWORD": "four plain words suffice"}, "WAYPOST_OWNER_EMAIL: is missing"),
        ({"EMAIL": "ada", "PASSWORD": "four plain words suffice"}, "WAYPOST_OWNER_EMAIL: must be"),
        ({"EMAIL": "ada@example.com", "PASSWORD": "short-one"}, "WAYPOST_OWNER_PASSWORD: The password must have at"),
        ({"EMAIL": "ada@example.com", "PASSWORD": "Password123"}, "WAYPOST_OWNER_PASSWORD: This password is too"),
        ({"EMAIL": "ada@example.com", "PASSWORD": "Ada@example.com"}, "WAYPOST_OWNER_PASSWORD: The password must not"),
        ({"EMAIL": "ada@example.com", "PASSWORD_FILE": "x"}, "WAYPOST_OWNER_PASSWORD_FILE: x cannot be read"),
    ],
)
def test_an_owner_who_could_not_sign_in_is_refused(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], problem: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"WAYPOST_OWNER_{name}", value)
    with pytest.raises(SettingsError) as error:
        load_settings()
    [line] = str(error.value).splitlines()
    assert line.startswith(problem)
    assert given.get("PASSWORD", "nothing") not in line


def test_an_empty_value_unsets_a_secret_and_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BLOCKLIST", "SECRET_KEY", "STRIPE_SECRET_KEY", "GEOIP_DATABASE"):
        monkeypatch.setenv(f"WAYPOST_{name}", "")
    settings = load()
    assert (settings.blocklist, settings.secret_key, settings.stripe_secret_key) == (None, None, None)


def test_refuses_bytes_that_are_not_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_SECRET_KEY", "\udcff" * 40)
    with pytest.raises(SettingsError, match=r"^WAYPOST_SECRET_KEY: is not UTF-8 text$"):
        load()


def test_refuses_a_number_as_a_network() -> None:
    write("trusted_proxies = [10]\n")
    with pytest.raises(SettingsError, match="WAYPOST_TRUSTED_PROXIES: must be networks in quotes"):
        load()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://",
        "postgresql:///",
        "postgresql://waypost:hunter2@db:port/waypost",
        "postgresql://waypost:hunter2@db:99999/waypost",
        "postgresql://waypost:hun/ter2@db/waypost",
        "postgresql://waypost:hunter2@x@db/waypost",
        "postgresql://waypost:hunter2@db/waypost?colour=red",
        "postgresql://waypost:hunter2@[::1/waypost",
    ],
)
def test_refuses_ambiguous_database_urls(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("WAYPOST_DATABASE_URL", url)
    with pytest.raises(SettingsError, match=r"^WAYPOST_DATABASE_URL: ") as error:
        load_settings()
    assert "hun" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://waypost:p%40ss@db.example.com:5433/waypost?sslmode=require",
        "postgres://waypost:a#b?c@db/waypost",
        "postgresql://postgres@/waypost?host=/run/postgresql&port=5433",
        "postgresql:///waypost",
        "postgresql://waypost@[::1]:5432/waypost",
    ],
)
def test_accepts_database_urls(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("WAYPOST_DATABASE_URL", url)
    assert load_settings().database == url


def test_shows_the_database_without_its_password() -> None:
    assert location_of("postgresql://waypost:hunter2@db.example.com/waypost") == "db.example.com:5432"
    assert location_of("postgresql://postgres:hunter2@/waypost?host=/run/postgresql") == "/run/postgresql:5432"
    assert location_of("postgresql:///waypost") == "port 5432 of this machine"
    assert location_of("sqlite:////srv/waypost.db") == "/srv/waypost.db"


@pytest.mark.parametrize(("keys", "is_fine"), [("k" * 31, False), ("k" * 32, True), ("short," + "k" * 32, False)])
def test_refuses_a_short_first_key(monkeypatch: pytest.MonkeyPatch, keys: str, is_fine: bool) -> None:
    monkeypatch.setenv("WAYPOST_SECRET_KEY", keys)
    with contextlib.nullcontext() if is_fine else pytest.raises(SettingsError, match="fewer than 32") as error:
        load_settings()
    assert is_fine or "kkk" not in str(error.value)


def test_accepts_a_short_old_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_SECRET_KEY", "k" * 32 + ",short")
    load_settings()
    monkeypatch.delenv("WAYPOST_SECRET_KEY")
    Path("data").mkdir()
    Path("data/secret.key").write_text("short\n")
    with pytest.raises(SettingsError, match=r"data/secret.key the first key has fewer than 32"):
        load_settings()


@pytest.mark.parametrize("name", ["file", "file/data", "dangling", "dangling/data"])
def test_refuses_an_unusable_data_directory(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    Path("file").touch()
    Path("dangling").symlink_to("nowhere")
    monkeypatch.setenv("WAYPOST_DATA_DIR", name)
    with pytest.raises(SettingsError, match=r"^WAYPOST_DATA_DIR: .* is not a directory"):
        load_settings()


def test_a_data_directory_of_another_user_is_refused_with_the_command_that_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Simulated, because nothing is refused to root; tests/container/ has the real thing."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    user, data = f"{os.getuid()}:{os.getgid()}", tmp_path / "data"
    for command in (f"install -d -m 700 -o {os.getuid()} -g {os.getgid()} {data}", f"chown -R {user} {data}"):
        with pytest.raises(SettingsError, match=rf"^WAYPOST_DATA_DIR: .* As root, run: {command}$"):
            check_data_dir(data)
        data.mkdir(exist_ok=True)


def test_no_message_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_SECRET_KEY", "very-secret")
    monkeypatch.setenv("WAYPOST_TRIAL_DAYS", "two")
    with pytest.raises(SettingsError) as error:
        load()
    assert "very-secret" not in str(error.value)
    monkeypatch.delenv("WAYPOST_TRIAL_DAYS")
    monkeypatch.setenv("WAYPOST_DATABASE_URL", "postgresql://waypost:very-secret@db/waypost")
    assert "very-secret" not in repr(load())
    for name, value in (
        ("BASE_URL", "https://name:very-secret@app.example.com"),
        ("DATABASE_URL", "mysql://name:very-secret@db/waypost"),
        ("SAFE_BROWSING_URL", "very-secret"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(f"WAYPOST_{name}", value)
            with pytest.raises(SettingsError) as error:
                load()
            assert "very-secret" not in str(error.value)


@pytest.mark.parametrize("content", [b"a = ", b"\xff"])
def test_names_an_invalid_file(content: bytes) -> None:
    Path("waypost.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=r"waypost\.toml"):
        load()


def test_mail_is_checked_at_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, wrong in (
        ("SMTP_URL", "mail.example.com:secret"),
        ("SMTP_URL", "smtp://u:secret@mail.example.com?tls=1"),
        ("MAIL_FROM", "nobody-secret"),
        ("MAIL_FROM", "a@b@secret <"),
    ):
        with monkeypatch.context() as environment:
            environment.setenv(f"WAYPOST_{name}", wrong)
            with pytest.raises(SettingsError, match=f"WAYPOST_{name}: ") as refused:
                load()
        assert "secret" not in str(refused.value)
    monkeypatch.setenv("WAYPOST_SMTP_URL", "smtps://u:p@mail.example.com")
    monkeypatch.setenv("WAYPOST_MAIL_FROM", "Links <links@example.com>")
    assert str(load().sender) == "Links <links@example.com>"


VALUES = {
    "database_url": "postgresql://waypost:hunter2@db/waypost",
    "clickhouse_url": "http://waypost:hunter2@click/waypost",
    "smtp_url": "smtp://waypost:hunter2@mail.example.com",
    "outbound_proxy": "http://waypost:hunter2@proxy.example.com:3128",
}


def text_of(value: object) -> object:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def test_finds_the_settings_that_hold_secrets() -> None:
    hidden = {name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)}
    with_password = {name for name in Settings.model_fields if name in VALUES}
    named = {name for name in Settings.model_fields if re.search("key|secret|password$|token", name)}
    assert hidden | with_password | named == SECRETS
    assert not any(f"{name}_file" in Settings.model_fields for name in SECRETS)


@pytest.mark.parametrize("source", ["environment", "file"])
@pytest.mark.parametrize("name", sorted(SECRETS))
def test_reads_every_secret_from_a_file(monkeypatch: pytest.MonkeyPatch, name: str, source: str) -> None:
    value = VALUES.get(name, "k" * 32)
    Path("secret").write_text(f"{value}\n")
    if source == "environment":
        monkeypatch.setenv(f"WAYPOST_{name.upper()}_FILE", "secret")
    else:
        write(f'{name}_file = "secret"\n')
    settings, _ = read()
    assert text_of(getattr(settings, name)) == value
    assert settings.secret_files == {name: Path("secret")}
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(("content", "key"), [(b"k\n\n", "k\n"), (b"k\r\n", "k"), (b" k ", " k ")])
def test_removes_one_line_end_from_a_secret(monkeypatch: pytest.MonkeyPatch, content: bytes, key: str) -> None:
    Path("secret").write_bytes(content)
    monkeypatch.setenv("WAYPOST_SAFE_BROWSING_KEY_FILE", "secret")
    assert text_of(load().safe_browsing_key) == key


def test_the_environment_overrides_a_secret_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("one").write_text("1" * 32)
    write('secret_key_file = "one"\n')
    monkeypatch.setenv("WAYPOST_SECRET_KEY", "2" * 32)
    assert text_of(load().secret_key) == "2" * 32
    monkeypatch.setenv("WAYPOST_SECRET_KEY", "")
    assert load().secret_key is None
    monkeypatch.delenv("WAYPOST_SECRET_KEY")
    monkeypatch.setenv("WAYPOST_SECRET_KEY_FILE", "")
    assert (load().secret_key, load().secret_files) == (None, {})


def test_refuses_a_secret_and_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_SECRET_KEY", "very-secret")
    monkeypatch.setenv("WAYPOST_SECRET_KEY_FILE", "none")
    write('smtp_url = "smtp://very-secret"\nsmtp_url_file = "none"\nclickhouse_url_file = 5')
    with pytest.raises(SettingsError) as error:
        load()
    assert sorted(str(error.value).splitlines()) == [
        "WAYPOST_CLICKHOUSE_URL_FILE: must be the path of a file, in quotes",
        "WAYPOST_SECRET_KEY: the environment also sets WAYPOST_SECRET_KEY_FILE: keep one",
        "WAYPOST_SMTP_URL: waypost.toml also sets WAYPOST_SMTP_URL_FILE: keep one",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"very-secret" * 6000, "is larger than 64 KiB, which no secret is"),
        (b"very-secret\xff", "is not UTF-8 text"),
        (b"very-secret\0", "is not text: it contains a NUL byte"),
        (None, "cannot be read: No such file or directory"),
        ("directory", "cannot be read: Is a directory"),
        ("pipe", "is not a regular file, which several processes can read"),
    ],
)
def test_names_a_secret_file_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, content: bytes | str | None, problem: str
) -> None:
    path = Path("file")
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content:
        (path.mkdir if content == "directory" else partial(os.mkfifo, path))()
    monkeypatch.setenv("WAYPOST_DATABASE_URL_FILE", "file")
    with pytest.raises(SettingsError) as error:
        load()
    assert str(error.value) == f"WAYPOST_DATABASE_URL_FILE: file {problem}"


def test_an_invalid_value_in_a_file_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("url").write_text("mysql://very-secret")
    monkeypatch.setenv("WAYPOST_DATABASE_URL_FILE", "url")
    with pytest.raises(SettingsError, match=r"^WAYPOST_DATABASE_URL: must start with postgresql"):
        load()


def test_only_secrets_have_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_BASE_URL_FILE", "file")
    monkeypatch.setenv("WAYPOST_SECRETKEY_FILE", "file")
    with pytest.raises(SettingsError, match=r"SECRETKEY_FILE is not a setting\. Did you mean WAYPOST_SECRET_KEY_FILE"):
        load()


def test_ignores_the_key_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_API_KEY", "wp_live_key")
    assert read()[1] == []


def test_ignores_what_kubernetes_sets_for_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Service named waypost, and one named waypost-tls."""
    for name, value in (
        ("SERVICE_HOST", "10.96.0.1"),
        ("SERVICE_PORT", "80"),
        ("SERVICE_PORT_HTTP", "80"),
        ("PORT", "tcp://10.96.0.1:80"),
        ("PORT_80_TCP", "tcp://10.96.0.1:80"),
        ("PORT_80_TCP_ADDR", "10.96.0.1"),
        ("TLS_PORT", "tcp://10.96.0.1:443"),
        ("TLS_PORT_443_TCP_PROTO", "tcp"),
    ):
        monkeypatch.setenv(f"WAYPOST_{name}", value)
    assert load().tls_port == 443
    monkeypatch.setenv("WAYPOST_PORT", "80")
    with pytest.raises(SettingsError, match=r"^WAYPOST_PORT is not a setting\. Did you mean WAYPOST_TLS_PORT\?$"):
        load()


OIDC = {"oidc_issuer": "https://id.example.com/", "oidc_client_id": "waypost", "oidc_client_secret": "secret"}
JOINING = {"oidc_roles": "it = admin, cn=boss=owner", "oidc_account": "owner@example.com"}


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (OIDC, []),
        ({**OIDC, **JOINING, "password_sign_in": "false"}, []),
        ({"oidc_issuer": "http://127.0.0.1:9000", "oidc_client_id": "w", "oidc_client_secret": "s"}, []),
        ({"oidc_issuer": "https://id.example.com"}, ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"]),
        ({"oidc_client_secret": "secret"}, ["OIDC_ISSUER", "OIDC_CLIENT_ID"]),
        ({**OIDC, "oidc_roles": "it=admin"}, ["OIDC_ACCOUNT"]),
        ({**OIDC, "oidc_account": "owner@example.com"}, ["OIDC_ROLES"]),
        ({"password_sign_in": "false"}, ["PASSWORD_SIGN_IN"]),
        (JOINING, ["OIDC_ACCOUNT"]),
        ({**OIDC, "oidc_issuer": "http://id.example.com"}, ["OIDC_ISSUER"]),
    ],
)
def test_the_settings_of_single_sign_on_belong_together(given: dict[str, str], wrong: list[str]) -> None:
    _, problems = read(**given)
    assert [problem.setting.upper() for problem in problems] == wrong
    assert all(problem.text.startswith(f"WAYPOST_{name}: ") for problem, name in zip(problems, wrong, strict=True))


def test_a_group_may_contain_an_equals_sign() -> None:
    assert load(**OIDC, **JOINING).role_by_group == {"it": "admin", "cn=boss": "owner"}
