"""Settings: where they come from, and that every fault is named."""

from ipaddress import ip_network
from pathlib import Path

import pytest

from waypost.settings import SettingsError, load


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str) -> None:
    Path("waypost.toml").write_text(text)


def test_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_BASE_URL", "https://App.Example.com/")
    monkeypatch.setenv("WAYPOST_OUTBOUND_ALLOW", "10.0.0.0/8, ::1")
    settings = load(data_dir="/srv/waypost")
    assert (settings.base_url, settings.shared_domain) == ("https://app.example.com", "app.example.com")
    assert settings.outbound_allow == [ip_network("10.0.0.0/8"), ip_network("::1")]
    assert settings.database == "sqlite:////srv/waypost/waypost.db"


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


def test_case_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
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
        ("DEFAULT_PLAN", "gold"),
        ("IP_PRIVACY", "some"),
        ("ROUTES_IN_MEMORY", "10"),
    ],
)
def test_a_bad_value_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"WAYPOST_{name}", value)
    with pytest.raises(SettingsError, match=f"^WAYPOST_{name}: "):
        load()


def test_every_fault_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_TRIAL_DAYS", "two")
    monkeypatch.setenv("WAYPOST_IP_PRIVACY", "some")
    with pytest.raises(SettingsError) as told:
        load()
    assert {line.partition(":")[0] for line in str(told.value).splitlines()} == {
        "WAYPOST_TRIAL_DAYS",
        "WAYPOST_IP_PRIVACY",
    }


def test_no_message_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_SECRET_KEY", "very-secret")
    monkeypatch.setenv("WAYPOST_TRIAL_DAYS", "two")
    with pytest.raises(SettingsError) as told:
        load()
    assert "very-secret" not in str(told.value)
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
            with pytest.raises(SettingsError) as told:
                load()
            assert "very-secret" not in str(told.value)


@pytest.mark.parametrize("content", [b"a = ", b"\xff"])
def test_a_broken_file_is_named(content: bytes) -> None:
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
    assert load().sender == "Links <links@example.com>"
