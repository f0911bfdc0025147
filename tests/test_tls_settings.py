"""Which of the service's own names get certificates, and what the settings of TLS refuse."""

from pathlib import Path
from typing import Any

import pytest

from waypost.commands import serve
from waypost.kit.errors import Invalid, SettingsError
from waypost.settings import Settings, load


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("base_url", "shared_domain", "hosts"),
    [
        ("https://app.example.com", "go.example.com", ("app.example.com", "go.example.com")),
        ("https://app.example.com:8443", "", ("app.example.com",)),
        ("http://app.example.com", "go.example.com", ()),
        ("https://localhost", "go.example.com:8443", ("go.example.com",)),
        ("https://192.0.2.1", "intranet", ()),
    ],
)
def test_names_the_hosts_that_need_certificates(base_url: str, shared_domain: str, hosts: tuple[str, ...]) -> None:
    assert Settings(tls=True, base_url=base_url, shared_domain=shared_domain).certified_hosts == hosts
    assert Settings(tls=False, base_url=base_url, shared_domain=shared_domain).certified_hosts == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ACME_DIRECTORY", "http://acme.example/directory"),
        ("ACME_DIRECTORY", "https://user@acme.example/directory"),
        ("ACME_EMAIL", "ops@example.com,root@example.com"),
        ("ACME_EMAIL", "ops"),
        ("TLS_PORT", "0"),
        ("TLS", "perhaps"),
    ],
)
def test_refuses_invalid_values(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"WAYPOST_{name}", value)
    with pytest.raises(SettingsError, match=f"WAYPOST_{name}: "):
        load()


def test_options_become_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_BASE_URL", "https://app.example.com")
    for name in ("TLS", "TLS_PORT", "DATA_DIR"):
        monkeypatch.setenv(f"WAYPOST_{name}", "")
        monkeypatch.delenv(f"WAYPOST_{name}")
    settings = serve._settings(None, None, "all", tls=True, tls_port=8443)
    assert (settings.tls, settings.tls_port, settings.data_dir) == (True, 8443, Path("data"))


@pytest.mark.parametrize(
    ("tls", "role", "hosts"),
    [
        (False, "all", {"127.0.0.1"}),
        (True, "all", {"::", "0.0.0.0"}),
        (True, "redirect", {"::", "0.0.0.0"}),
        (True, "worker", {"127.0.0.1"}),
    ],
)
def test_listens_on_all_addresses_with_tls(tls: bool, role: str, hosts: set[str]) -> None:
    assert serve._default_host(Settings(tls=tls), role) in hosts


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"tls_port": 70_000}, {"--tls-port": "between 1 and 65535"}),
        (
            {"port": 0, "workers": 0, "host": ""},
            {"--host": "empty", "--port": "between", "--workers": "between 1 and 256"},
        ),
        ({"role": "worker", "workers": 1, "tls_port": 8443}, {"--workers": "no effect", "--tls-port": "no effect"}),
        ({"tls_port": 8443}, {"--tls-port": "no effect without --tls"}),
        ({"tls": True, "tls_port": 8443, "port": 8443}, {"--tls-port": "HTTP uses port 8443"}),
    ],
)
def test_options_without_effect_are_refused_together(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], reported: dict[str, str]
) -> None:
    for name in ("TLS", "TLS_PORT"):
        monkeypatch.setenv(f"WAYPOST_{name}", "")
        monkeypatch.delenv(f"WAYPOST_{name}")
    monkeypatch.setenv("WAYPOST_BASE_URL", "https://app.example.com")
    given = {"host": None, "port": None, "workers": None, "role": "all", "data_dir": None, **options}
    with pytest.raises(Invalid) as refused:
        serve.start(**given)
    assert refused.value.errors.keys() == reported.keys()
    for option, text in reported.items():
        assert text in refused.value.errors[option][0]
    assert list(Path.cwd().iterdir()) == []
