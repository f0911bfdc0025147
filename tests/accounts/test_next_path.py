"""Which page is opened after sign-in: never one of another site."""

import pytest

from waypost.accounts.sign_in.next_path import safe_next_path


@pytest.mark.parametrize(
    ("expected", "way_there"),
    [
        ("/links?page=2", "/links?page=2"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/links\\..", "/"),
        ("https://evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("/links\r\nX: 1", "/"),
        ("/logout", "/"),
        ("/adas", "/"),
        ("/api/v1/me", "/"),
        ("/links/../adas", "/"),
        ("/links/.%2E/adas?x", "/"),
        ("/links?q=../x#a", "/links?q=../x#a"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_only_dashboard_pages_are_safe_next_paths(expected: str, way_there: str) -> None:
    assert safe_next_path(expected) == way_there
