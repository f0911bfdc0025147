"""The service's own origin, in the form that browsers send as `Host`."""

import pytest

from waypost.kit.urls import BadUrl, origin


def test_parses_an_origin() -> None:
    assert origin("https://App.Example.com/") == "https://app.example.com"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://go.test:80", "http://go.test"),
        ("https://x:443", "https://x"),
        ("https://go.test:80", "https://go.test:80"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://waypost", "http://waypost"),
        ("http://10.0.0.7:8000", "http://10.0.0.7:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_normalizes_as_a_browser_does(text: str, expected: str) -> None:
    assert origin(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "go.test",
        "ftp://go.test",
        "http://",
        "http://go.test/path",
        "http://go.test?query",
        "http://go.test/#fragment",
        "http://go.test:abc",
        "http://go.test:99999",
        "http://go.test:0",
        "http://go.test:6000",
        "http://go test",
        "http://go.test.",
        "http://name:password@go.test",
        "http://127.1",
    ],
)
def test_refuses_other_urls(text: str) -> None:
    with pytest.raises(BadUrl):
        origin(text)
